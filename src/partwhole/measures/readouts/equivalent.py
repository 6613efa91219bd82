r"""The deterministic equivalent of ridge regression on noisy trials of a few conditions.

Trials :math:`x = M_c + z` of T training conditions, :math:`m_c` of each and n in all, with noise of
covariance :math:`\Sigma`, and the readout that minimises
:math:`\sum_i (y_i - w x_i - b)^2 + \rho |w|^2`. For many trials and features its mean answer at any
condition is that of a kernel ridge on condition means:

.. math::
    K = M G^{-1} M', \qquad G = \rho I + \tilde d \Sigma, \qquad
    Q = [(1 + d) I + D^{1/2} K D^{1/2}]^{-1}, \qquad D = \mathrm{diag}(m_c),

with means and targets centred over the training trials. Noise enters in two scalars,

.. math::
    d = \mathrm{tr}\, \Sigma \tilde T, \qquad \tilde d = \frac{n - T}{1 + d} + \mathrm{tr}\, Q
    - \frac{1}{1 + d}, \qquad \tilde T = [G + M' D M / (1 + d)]^{-1},

the last term of the second for the intercept. Variances follow from the derivative of the smallest
loss, :math:`y' T y`, with respect to the penalty: for any B,

.. math::
    E\, w' B w = \mu' B \mu + \tilde d_B\, \mu' \Sigma \mu - d_B\, r,

where :math:`\mu` are the mean weights, :math:`r = y_D' Q^2 y_D`, and :math:`(d_B, \tilde d_B)` the
derivatives of the scalars, which solve two linear equations.

Source: Hachem, Loubaton and Najim (Ann. Appl. Probab. 2007) for matrices with a mean; reduction to
conditions, intercept and variances derived here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import brentq

from partwhole._checks import InputError
from partwhole.measures._side_by_side import side_by_side
from partwhole.measures.readouts.answers import Answers
from partwhole.measures.readouts.closed_form import closed_answers, has_closed_form
from partwhole.measures.readouts.means import Means, MeasuredMeans, Products, Trials
from partwhole.measures.readouts.noise import NoiseSpectrum

# Shares of a step, and the number of steps, before Newton's method: few, or many short ones.
DAMPED = ((0.5, 60), (0.1, 600))
NEWTON_STEPS = 40
HALVINGS = 12
# Of the logarithms.
LONGEST_MOVE = 3.0
FEW_DIGITS = 1e-12
# Change of the logarithms from which Newton's steps lead to the fixed point.
NEAR = 0.05
TOLERANCE = 1e-9
FINITE_STEP = 1e-6
NEARBY_STEPS = 12
# Of the scalars, so that their exponentials are numbers.
LARGEST_LOG = 300.0
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Scalars:
    """The scalars d and d~ at the fixed point.

    Parameters
    ----------
    d, d_tilde : float
    logs : float array, shape (2,)
        Logarithms of d and of the shift of the noise's resolvent, from which d~ follows.
    slope : float array, shape (2, 2)
        Of the change of both scalars in a step, by `logs`.
    """

    d: float
    d_tilde: float
    logs: Float[np.ndarray, "2"]
    slope: Float[np.ndarray, "2 2"]


def ridge_answers(
    means: Float[np.ndarray, "A p"],
    noise: NoiseSpectrum,
    counts: Int[np.ndarray, " A"],
    targets: Float[np.ndarray, "A k"],
    ridge: float,
    *,
    trials: Int[np.ndarray, " A"] | None = None,
    conditions: Int[np.ndarray, "A C"] | None = None,
) -> Answers:
    """Return the answers of a ridge readout, trained on trials of some conditions.

    Parameters
    ----------
    means : float array, shape (A, p)
        Means of all conditions, those of training and others.
    noise : NoiseSpectrum
        Of single trials, the same at all conditions.
    counts : int array, shape (A,)
        Training trials of each condition; 0 for those that are held out.
    targets : float array, shape (A, k)
    ridge : float
        Penalty, above 0.
    trials : int array, shape (A,), keyword-only, optional
        The trials from which each mean was estimated; by default means are exact.
    conditions : int array, shape (A, C), keyword-only, optional
        Of estimated means, whose products are then drawn towards those by overlap.

    Returns
    -------
    Answers

    Raises
    ------
    InputError
        If the two scalars can't be found, which can happen near as many features as trials.
    """
    described = MeasuredMeans.of(means, noise, trials, conditions)
    return answers_of(described.training(counts), counts, targets, ridge)[0]


def answers_of(
    means: Means,
    counts: Int[np.ndarray, " A"],
    targets: Float[np.ndarray, "A k"],
    ridge: float,
    *,
    start: Scalars | None = None,
) -> tuple[Answers, Scalars | None]:
    """Return the answers of a readout, and the scalars of its training set if they are needed.

    Parameters
    ----------
    means : Means
        Centred over the training trials.
    counts, targets, ridge
        As in `ridge_answers`.
    start : Scalars, keyword-only, optional
        Those of a training set that differs in a few conditions, from which they are near.
    """
    if isinstance(means, MeasuredMeans) and has_closed_form(means, counts):
        return closed_answers(means, counts, targets, ridge), None
    train = counts > 0
    of_training = counts[train].astype(np.float64)
    mean_target = of_training / counts.sum() @ targets[train]
    least = np.inf
    # Near as many features as trials estimated noise may leave no solution; shrunk noise does.
    for described in (lambda: means, means.shrunk):
        if described is None:
            continue
        system = _System(described(), train, of_training, ridge)
        point, change = system.fixed_point(start)
        least, start = min(least, change), None
        if point is not None:
            answers = system.answers(point, targets - mean_target, mean_target)
            if answers is not None:
                return answers, point.scalars
    raise InputError(
        "the answers of a readout follow from two numbers that reproduce themselves; got a change "
        f"by {least:.1e} of them; raise ridge, or add trials"
    )


def answers_without(
    trials: Trials,
    sets: Bool[np.ndarray, "F A"],
    counts: Int[np.ndarray, " A"],
    targets: Float[np.ndarray, "A k"],
    ridge: float,
    read: Callable[[Bool[np.ndarray, " A"], list[Answers]], T],
    products: Float[np.ndarray, "A A"] | None = None,
    threads: int = 1,
) -> Iterator[T]:
    """Yield what is read of the answers of a readout trained on all conditions but a set's.

    Parameters
    ----------
    trials, sets, counts, targets, ridge
    read : callable
        Of the set and a list of answers.
    products : float array, shape (A, A), optional
        Of means of which their overlap alone is known; then the list has answers for these, too.
    threads : int, default 1
        In which sets are read, as in `side_by_side`.
    """

    def solve(
        members: Bool[np.ndarray, " A"], starts: list[Scalars | None] | None
    ) -> tuple[T, list[Scalars | None]]:
        left = np.where(members, 0, counts)
        measured = trials.training(left)
        means: list[Means] = [measured]
        if products is not None:
            means.append(measured.by_overlap(products))
        solved = [
            answers_of(of, left, targets, ridge, start=start)
            for of, start in zip(means, starts or [None, None], strict=False)
        ]
        return read(members, [answers for answers, _ in solved]), [at for _, at in solved]

    # All others are near the first.
    first, starts = solve(sets[0], None)
    yield first
    yield from side_by_side(lambda members: solve(members, starts)[0], sets[1:], threads)


@dataclass(frozen=True, eq=False)
class _Point:
    """Scalars, the products of means that belong to them, and the change in a step."""

    d: float
    d_tilde: float
    products: Products
    logs: Float[np.ndarray, "2"]
    change: Float[np.ndarray, "2"]
    slope: Float[np.ndarray, "2 2"] | None = None

    @property
    def size(self) -> float:
        """Return the larger change; infinite where one is no number."""
        size = float(np.abs(self.change).max())
        return size if np.isfinite(size) else np.inf

    @property
    def scalars(self) -> Scalars:
        assert self.slope is not None
        return Scalars(self.d, self.d_tilde, self.logs, self.slope)


@dataclass(frozen=True, eq=False)
class _System:
    """The equations of one training set."""

    means: Means
    train: Bool[np.ndarray, " A"]
    counts: Float[np.ndarray, " T"]
    ridge: float

    def _scaled(self, gram: Float[np.ndarray, "A A"]) -> Float[np.ndarray, "T T"]:
        """Return D^1/2 of a Gram matrix of training conditions D^1/2."""
        root_counts = np.sqrt(self.counts)
        return root_counts[:, None] * gram[np.ix_(self.train, self.train)] * root_counts

    def _resolvent(self, d: float, kernel: Float[np.ndarray, "A A"]) -> Float[np.ndarray, "T T"]:
        return np.linalg.inv((1.0 + d) * np.eye(len(self.counts)) + self._scaled(kernel))

    def _change(self, d: float, products: Products) -> tuple[float, Float[np.ndarray, "2"]]:
        """Return d~, and by how much the logarithms of both scalars change in a step."""
        d_tilde = self.ridge / products.kappa
        resolvent = self._resolvent(d, products.with_r / d_tilde)
        noisy = self._scaled(products.grams[1]) / d_tilde**2
        new_d = products.noise_traces[0] / d_tilde - np.sum(resolvent * noisy)
        n_within = self.counts.sum() - len(self.counts) - 1.0
        new_d_tilde = n_within / (1.0 + d) + np.trace(resolvent)
        new = np.log(np.maximum([new_d, new_d_tilde], np.exp(-LARGEST_LOG)))
        return d_tilde, new - np.log([d, d_tilde])

    def _at(self, logs: Float[np.ndarray, "2"]) -> _Point:
        d, shift = np.exp(np.clip(logs, -LARGEST_LOG, LARGEST_LOG)).tolist()
        inverse = self.means.spectrum.shifted(shift)
        products = self.means.through(inverse)
        d_tilde, change = self._change(d, products)
        return _Point(d, d_tilde, products, logs, change)

    def fixed_point(self, start: Scalars | None = None) -> tuple[_Point | None, float]:
        """Return the scalars that reproduce themselves, or None, and the change that was left."""
        if start is not None and (near := self._from_nearby(start)) is not None:
            return near, 0.0
        first, least = self._without_means(), np.inf
        for share, steps in DAMPED:
            logs = np.log(first)
            # Part of the way in logarithms, since without a penalty d grows without bound.
            for _ in range(steps):
                d, d_tilde = np.exp(np.clip(logs, -LARGEST_LOG, LARGEST_LOG)).tolist()
                products = self.means.at(self.ridge / d_tilde)
                change = self._change(d, products)[1]
                logs = logs + share * change
                if np.abs(change).max() < NEAR:
                    break
            shift = self.means.covariance.at(float(self.ridge / np.exp(logs[1])), 2).shift
            point, left = self._newton(np.array([logs[0], np.log(shift)]))
            least = min(least, left)
            if point is not None:
                return point, least
        return None, least

    def _newton(self, logs: Float[np.ndarray, "2"]) -> tuple[_Point | None, float]:
        """Return the scalars by Newton's method, halving steps that lead further off."""
        point = self._at(logs)
        for _ in range(NEWTON_STEPS):
            slope = np.column_stack([
                (self._at(point.logs + step).change - point.change) / FINITE_STEP
                for step in FINITE_STEP * np.eye(2)
            ])  # fmt: skip
            if point.size < TOLERANCE:
                return replace(point, slope=slope), point.size
            if not np.isfinite(slope).all() or abs(np.linalg.det(slope)) < FEW_DIGITS:
                break
            move = np.linalg.solve(slope, -point.change)
            move *= min(1.0, LONGEST_MOVE / np.abs(move).max())
            for _ in range(HALVINGS):
                tried = self._at(point.logs + move)
                if tried.size < point.size:
                    break
                move *= 0.5
            else:
                break
            point = tried
        return None, point.size

    def _from_nearby(self, start: Scalars) -> _Point | None:
        """Return the scalars by Newton's steps with the slope of another set; None if not near."""
        logs = start.logs
        for _ in range(NEARBY_STEPS):
            point = self._at(logs)
            if point.size > 1.0:
                return None
            if point.size < TOLERANCE:
                return replace(point, slope=start.slope)
            logs = logs - np.linalg.solve(start.slope, point.change)
        return None

    def _without_means(self) -> tuple[float, float]:
        """Return both scalars for noise alone, from one equation with a single root."""
        spectrum, n = self.means.spectrum, self.counts.sum()
        s, s_rest = spectrum.variances, spectrum.rest

        def trace(per_trial: float) -> float:
            shares = s / (self.ridge + per_trial * s)
            return shares.sum() + spectrum.n_rest * s_rest / (self.ridge + per_trial * s_rest)

        def excess(log_d: float) -> float:
            return np.log(trace(n / (1.0 + np.exp(log_d)))) - log_d

        highest = float(np.log(trace(0.0)))
        d = np.exp(brentq(excess, highest - 100.0, highest + 1.0))  # pyright: ignore[reportCallIssue, reportArgumentType]
        return float(d), float(n / (1.0 + d))

    def answers(
        self,
        point: _Point,
        targets: Float[np.ndarray, "A k"],
        mean_target: Float[np.ndarray, " k"],
    ) -> Answers | None:
        """Return the answers at the scalars, for centred targets; None if variances have none."""
        d, d_tilde = point.d, point.d_tilde
        products = point.products
        kernel = products.with_r / d_tilde
        noisy = products.with_noise / d_tilde**2
        twice = products.with_noise_twice / d_tilde**3
        q = self._resolvent(d, kernel)
        root_counts = np.sqrt(self.counts)
        y = root_counts[:, None] * targets[self.train]
        at = kernel[:, self.train] * root_counts @ q
        noisy_train, twice_train = self._scaled(noisy), self._scaled(twice)
        # Traces of products of the noise with both resolvents.
        a = (
            products.noise_traces[1] / d_tilde**2
            - 2.0 * np.sum(q * twice_train)
            + np.sum((q @ noisy_train) * (q @ noisy_train).T)
        )
        inside = np.sum(q @ noisy_train * q)
        within = (self.counts.sum() - len(self.counts) - 1.0) / (1.0 + d) ** 2 + np.sum(q**2)
        determinant = (1.0 - inside) ** 2 - a * within
        if not (inside < 1.0 and determinant > 0.0):
            return None
        weights = q @ y
        residual, carried = weights.T @ weights, weights.T @ noisy_train @ weights
        alpha = (
            np.diag(noisy)
            - 2.0 * np.sum(at * (noisy[:, self.train] * root_counts), axis=1)
            + np.sum(at @ noisy_train * at, axis=1)
        )
        beta = np.sum(at**2, axis=1)
        between = (
            ((1.0 - inside) * beta + within * alpha)[:, None, None] * carried
            + ((1.0 - inside) * alpha + a * beta)[:, None, None] * residual
        ) / determinant
        of_trials = ((1.0 - inside) * carried + a * residual) / determinant
        # Features are centred by the mean of the training trials, which has noise of its own.
        between = between + of_trials / self.counts.sum()
        return Answers(at @ y + mean_target, between, of_trials, y.T @ weights)
