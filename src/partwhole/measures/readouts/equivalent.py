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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import brentq, root

from partwhole._checks import InputError
from partwhole.measures.readouts.answers import Answers
from partwhole.measures.readouts.means import Means, MeasuredMeans
from partwhole.measures.readouts.noise import NoiseSpectrum

DAMPED_STEPS = 60
# Change of the logarithms from which Newton's steps lead to the fixed point.
NEAR = 0.05
TOLERANCE = 1e-9
FINITE_STEP = 1e-6
NEARBY_STEPS = 12
# Of the scalars, so that their exponentials are numbers.
LARGEST_LOG = 300.0


@dataclass(frozen=True, eq=False)
class Scalars:
    """Logarithms of d and d~, and the slope of their change in a step at the fixed point."""

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
    return answers_of(described.centred(counts), counts, targets, ridge)[0]


def answers_of(
    means: Means,
    counts: Int[np.ndarray, " A"],
    targets: Float[np.ndarray, "A k"],
    ridge: float,
    *,
    start: Scalars | None = None,
) -> tuple[Answers, Scalars]:
    """Return the answers of a readout, and the scalars of its training set.

    Parameters
    ----------
    means : Means
        Centred over the training trials.
    counts, targets, ridge
        As in `ridge_answers`.
    start : Scalars, keyword-only, optional
        Those of a training set that differs in a few conditions, from which they are near.
    """
    train = counts > 0
    mean_target = counts[train] / counts.sum() @ targets[train]
    system = _System(means, train, counts[train].astype(np.float64), ridge)
    scalars = system.fixed_point(start)
    d, d_tilde = np.exp(scalars.logs).tolist()
    return system.answers(d, d_tilde, targets - mean_target, mean_target), scalars


def answers_without(
    means: Means,
    sets: Iterable[Bool[np.ndarray, " A"]],
    trials: Int[np.ndarray, " A"],
    targets: Float[np.ndarray, "A k"],
    ridge: float,
) -> Iterator[Answers]:
    """Yield the answers of a readout trained on all conditions but those of each set."""
    start: Scalars | None = None
    for members in sets:
        counts = np.where(members, 0, trials)
        answers, scalars = answers_of(means.centred(counts), counts, targets, ridge, start=start)
        start = start or scalars
        yield answers


@dataclass(frozen=True, eq=False)
class _System:
    """The equations of one training set."""

    means: Means
    train: Bool[np.ndarray, " A"]
    counts: Float[np.ndarray, " T"]
    ridge: float

    def _inverse(self, d_tilde: float) -> tuple[np.ndarray, float]:
        """Return 1 / G along the directions of the noise, and beside them."""
        noise = self.means.noise
        return (
            1.0 / (self.ridge + d_tilde * noise.variances),
            1.0 / (self.ridge + d_tilde * noise.rest),
        )

    def _scaled(self, gram: Float[np.ndarray, "A A"]) -> Float[np.ndarray, "T T"]:
        """Return D^1/2 of a Gram matrix of training conditions D^1/2."""
        root_counts = np.sqrt(self.counts)
        return root_counts[:, None] * gram[np.ix_(self.train, self.train)] * root_counts

    def _resolvent(self, d: float, kernel: Float[np.ndarray, "A A"]) -> Float[np.ndarray, "T T"]:
        return np.linalg.inv((1.0 + d) * np.eye(len(self.counts)) + self._scaled(kernel))

    def step(self, d: float, d_tilde: float) -> tuple[float, float]:
        """Return both scalars from both."""
        noise = self.means.noise
        g, rest = self._inverse(d_tilde)
        resolvent = self._resolvent(d, positive(self.means.gram(g, rest)))
        noisy = self._scaled(self.means.gram(g**2 * noise.variances, rest**2 * noise.rest))
        new_d = noise.trace(g * noise.variances, rest * noise.rest) - np.sum(resolvent * noisy)
        n_within = self.counts.sum() - len(self.counts) - 1.0
        new_d_tilde = n_within / (1.0 + d) + np.trace(resolvent)
        return max(float(new_d), 0.0), float(new_d_tilde)

    def fixed_point(self, start: Scalars | None = None) -> Scalars:
        """Return the scalars that reproduce themselves."""
        if start is not None and (near := self._from_nearby(start)) is not None:
            return near
        logs = np.log(self._without_means())
        # Halfway in logarithms, since without a penalty d grows and d~ shrinks without bound.
        for _ in range(DAMPED_STEPS):
            change = self._change(logs)
            logs = logs + 0.5 * change
            if np.abs(change).max() < NEAR:
                break
        solved = root(self._change, logs, tol=1e-13)
        change = self._change(solved.x)
        if not float(np.abs(change).max()) < TOLERANCE:
            raise InputError(
                "the answers of a readout follow from two numbers that reproduce themselves; got "
                f"a change by {np.abs(change).max():.1e} of them; raise ridge, or add trials"
            )
        slope = np.column_stack([
            (self._change(solved.x + step) - change) / FINITE_STEP
            for step in FINITE_STEP * np.eye(2)
        ])  # fmt: skip
        return Scalars(solved.x, slope)

    def _from_nearby(self, start: Scalars) -> Scalars | None:
        """Return the scalars by Newton's steps with the slope of another set; None if not near."""
        logs = start.logs
        for _ in range(NEARBY_STEPS):
            change = self._change(logs)
            if not np.isfinite(change).all() or np.abs(change).max() > 1.0:
                return None
            if np.abs(change).max() < TOLERANCE:
                return Scalars(logs, start.slope)
            logs = logs - np.linalg.solve(start.slope, change)
        return None

    def _change(self, logs: Float[np.ndarray, "2"]) -> Float[np.ndarray, "2"]:
        """Return by how much the logarithms of both scalars change in a step."""
        bounded = np.clip(logs, -LARGEST_LOG, LARGEST_LOG)
        new = self.step(*np.exp(bounded).tolist())
        return np.log(np.maximum(new, np.exp(-LARGEST_LOG))) - logs

    def _without_means(self) -> tuple[float, float]:
        """Return both scalars for noise alone, from one equation with a single root."""
        noise, n = self.means.noise, self.counts.sum()
        s, s_rest = noise.variances, noise.rest

        def excess(log_d: float) -> float:
            g = self.ridge + n / (1.0 + np.exp(log_d)) * s
            g_rest = self.ridge + n / (1.0 + np.exp(log_d)) * s_rest
            return np.log(noise.trace(s / g, s_rest / g_rest)) - log_d

        highest = float(np.log(noise.trace(s, s_rest) / self.ridge))
        d = np.exp(brentq(excess, highest - 100.0, highest + 1.0))  # pyright: ignore[reportCallIssue, reportArgumentType]
        return float(d), float(n / (1.0 + d))

    def answers(
        self,
        d: float,
        d_tilde: float,
        targets: Float[np.ndarray, "A k"],
        mean_target: Float[np.ndarray, " k"],
    ) -> Answers:
        """Return the answers at the scalars, for centred targets."""
        noise, means = self.means.noise, self.means
        g, rest = self._inverse(d_tilde)
        s, s_rest = noise.variances, noise.rest
        kernel = positive(means.gram(g, rest))
        noisy = positive(means.gram(g**2 * s, rest**2 * s_rest))
        twice = means.gram(g**3 * s**2, rest**3 * s_rest**2)
        q = self._resolvent(d, kernel)
        root_counts = np.sqrt(self.counts)
        y = root_counts[:, None] * targets[self.train]
        at = kernel[:, self.train] * root_counts @ q
        noisy_train, twice_train = self._scaled(noisy), self._scaled(twice)
        # Traces of products of the noise with both resolvents.
        a = (
            noise.trace((g * s) ** 2, (rest * s_rest) ** 2)
            - 2.0 * np.sum(q * twice_train)
            + np.sum((q @ noisy_train) * (q @ noisy_train).T)
        )
        inside = np.sum(q @ noisy_train * q)
        within = (self.counts.sum() - len(self.counts) - 1.0) / (1.0 + d) ** 2 + np.sum(q**2)
        determinant = (1.0 - inside) ** 2 - a * within
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


def positive(gram: Float[np.ndarray, "A A"]) -> Float[np.ndarray, "A A"]:
    """Return a symmetric matrix without its negative eigenvalues, which are of chance."""
    scale = np.abs(np.diag(gram)).max()
    try:
        # Quicker than eigenvalues, and most often these are positive.
        np.linalg.cholesky(gram + 1e-12 * scale * np.eye(len(gram)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(gram)
        return (vectors * np.maximum(values, 0.0)) @ vectors.T
    return gram
