r"""Functions of a covariance that answers of readouts depend on, known or estimated from residuals.

With :math:`R = (\Sigma + \kappa I)^{-1}` these are :math:`R`, :math:`R \Sigma R` and
:math:`R \Sigma R \Sigma R`, between means of conditions, and their traces with and without
:math:`\Sigma`. Of a known covariance they follow from its spectrum. Those of an unbiased estimate S
with :math:`\nu` degrees of freedom, from residuals of normal trials, follow from its resolvent
:math:`X = (S + \lambda I)^{-1}` at a smaller penalty (Silverstein, J. Multivariate Anal. 1995):

.. math::
    R \simeq \frac{\lambda}{\kappa} X, \qquad
    \lambda = \kappa \left(1 - \frac{\mathrm{tr}\, S X}{\nu}\right), \qquad
    \mathrm{tr}\, \Sigma R \simeq \mathrm{tr}\, S X,

where :math:`\simeq` holds between any vectors that S does not depend on, to the order of
:math:`1 / \sqrt\nu`. The others are derivatives of R by :math:`\kappa`:

.. math::
    R \Sigma R = R + \kappa R' \simeq \lambda' X S X, \qquad
    R \Sigma R \Sigma R = R + 2 \kappa R' + \tfrac12 \kappa^2 R'' \simeq
    \left(\lambda' + \tfrac12 \kappa \lambda'' - \frac{\kappa \lambda'^2}{\lambda}\right) X S X
    + \frac{\kappa \lambda'^2}{\lambda} X S X S X.

An estimated R on both sides of the covariance is larger than its square, by
:math:`1 / \lambda'`.

With as many features as degrees of freedom or more, the trace of SX reaches :math:`\nu` at some
:math:`\kappa`, and S says nothing of R below it; near it, chance in S passes for structure of the
means. From the :math:`\kappa_1` where it is :math:`.7 \nu` downwards, R is therefore taken as
linear in
:math:`u = 1 / (\sigma + \kappa)`, with the slope that it has there,

.. math:: R = R_1 + \frac{u - u_1}{u_1^2} R_1^2, \qquad u_1 = \mathrm{tr}\, R_1 / p,

which is exact for noise of one variance :math:`\sigma`. Derivatives and continuation: derived here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq

# Of the degrees of freedom, up to which the trace of an estimate's resolvent is used: with .9 the
# answers of readouts vary by up to twice too much near as many features as trials, with .5 and less
# they are too large in layers of networks, whose noise has directions of its own.
MOST_OF_DEGREES = 0.7
NEWTON_STEPS = 60
FEW_DIGITS = 1e-13
STEP_TO_EDGE = 2.0


@dataclass(frozen=True, eq=False)
class Shifted:
    """The inverse X of a matrix S plus a multiple of the identity.

    Parameters
    ----------
    shift : float
    of : Spectrum
    """

    shift: float
    of: Spectrum

    @cached_property
    def _diagonal(self) -> Float[np.ndarray, " q"]:
        return 1.0 / (self.of.variances + self.shift)

    @cached_property
    def _change(self) -> Float[np.ndarray, "q m"] | None:
        """Return W, with X = diagonal + W W' by Woodbury's formula."""
        if self.of.removed is None:
            return None
        scaled = self._diagonal[:, None] * self.of.removed.T
        left = np.linalg.cholesky(np.eye(len(self.of.removed)) - self.of.removed @ scaled)
        # Not by SciPy's solver, whose threads and those of NumPy's products wait for one another.
        return scaled @ np.linalg.inv(left).T

    @cached_property
    def _squares(self) -> Float[np.ndarray, "m m"]:
        assert self._change is not None
        return self._change.T @ self._change

    @cached_property
    def _two_traces(self) -> tuple[float, float]:
        """Return the traces of S X and its square, in half the time of all three."""
        first, second = self._plain_trace(1), self._plain_trace(2)
        if (w := self._change) is not None:
            along = self.of.variances * self._diagonal @ w**2
            first -= self.shift * float(np.trace(self._squares))
            second += self.shift * float(self.shift * np.sum(self._squares**2) - 2.0 * along.sum())
        return first, second

    @cached_property
    def _third_trace(self) -> float:
        third = self._plain_trace(3)
        if (w := self._change) is not None:
            noisy, squares = (self.of.variances * self._diagonal)[:, None] * w, self._squares
            third -= self.shift * float(
                3.0 * np.sum(noisy**2)
                - 3.0 * self.shift * np.sum((w.T @ noisy) * squares)
                + self.shift**2 * np.sum((squares @ squares) * squares)
            )
        return third

    def _plain_trace(self, power: int) -> float:
        """Return the trace of a power of S X but for what is removed from S."""
        rest = self.of.rest / (self.of.rest + self.shift)
        along = np.sum((self.of.variances * self._diagonal) ** power)
        return float(along + self.of.n_rest * rest**power)

    def noise_traces(self, count: int = 3) -> Float[np.ndarray, " count"]:
        """Return the traces of the first two or three powers of S X."""
        return np.array(self._two_traces if count == 2 else (*self._two_traces, self._third_trace))

    def traces(self, count: int = 3) -> Float[np.ndarray, " count"]:
        """Return the traces of X, X S X and, as the third, X S X S X."""
        plain = np.sum(self._diagonal) + self.of.n_rest / (self.of.rest + self.shift)
        if (w := self._change) is not None:
            plain += np.sum(w**2)
        of_noise = self.noise_traces(count)
        return np.array([plain, *(of_noise[:-1] - of_noise[1:]) / self.shift])

    def times(self, rows: Float[np.ndarray, "A q"]) -> Float[np.ndarray, "A q"]:
        """Return the product with rows along the directions."""
        product = rows * self._diagonal
        if (w := self._change) is not None:
            product = product + (rows @ w) @ w.T
        return product


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A symmetric matrix: variances along some directions, one beside them, less some squares.

    Parameters
    ----------
    variances : float array, shape (q,)
    rest : float
    n_rest : int
        Directions beside.
    removed : float array, shape (m, q), or None
        Rows whose outer products are subtracted.
    """

    variances: Float[np.ndarray, " q"]
    rest: float
    n_rest: int
    removed: Float[np.ndarray, "m q"] | None = None

    @property
    def n_features(self) -> int:
        """Return the number of rows."""
        return len(self.variances) + self.n_rest

    @property
    def mean_variance(self) -> float:
        """Return the mean of the diagonal."""
        total = float(self.variances.sum()) + self.n_rest * self.rest
        if self.removed is not None:
            total -= float(np.sum(self.removed**2))
        return total / self.n_features

    def shifted(self, shift: float) -> Shifted:
        """Return the inverse of the matrix plus a multiple of the identity."""
        return Shifted(shift, self)

    def times(self, rows: Float[np.ndarray, "A q"]) -> Float[np.ndarray, "A q"]:
        """Return the product with rows along the directions."""
        product = rows * self.variances
        if self.removed is not None:
            product = product - (rows @ self.removed.T) @ self.removed
        return product


@dataclass(frozen=True, eq=False)
class Between:
    """M X M', M X S X M' and M X S X S X M', each computed on its first use.

    Parameters
    ----------
    inverse : Shifted
        X.
    along, beside : float arrays, shapes (A, q) and (A, A)
        M along the directions of the spectrum, and products of what is left of it.
    """

    inverse: Shifted
    along: Float[np.ndarray, "A q"]
    beside: Float[np.ndarray, "A A"]

    @cached_property
    def _right(self) -> Float[np.ndarray, "A q"]:
        return self.inverse.times(self.along)

    @cached_property
    def _noisy(self) -> Float[np.ndarray, "A q"]:
        return self.inverse.of.times(self._right)

    @property
    def _rest(self) -> tuple[float, float]:
        """Return the variance beside the directions, and what X is there."""
        rest = self.inverse.of.rest
        return rest, 1.0 / (rest + self.inverse.shift)

    @cached_property
    def _first(self) -> Float[np.ndarray, "A A"]:
        return self._right @ self.along.T + self._rest[1] * self.beside

    @cached_property
    def _second(self) -> Float[np.ndarray, "A A"]:
        noise, rest = self._rest
        return self._right @ self._noisy.T + noise * rest**2 * self.beside

    @cached_property
    def _third(self) -> Float[np.ndarray, "A A"]:
        noise, rest = self._rest
        twice = self.inverse.times(self._noisy)
        return self._noisy @ twice.T + noise**2 * rest**3 * self.beside

    def first(self, count: int) -> Float[np.ndarray, "count A A"]:
        """Return the first two, or all three."""
        both = self._first, self._second
        return np.stack(both if count == 2 else (*both, self._third))


@dataclass(frozen=True, eq=False)
class Functions:
    """R, R Sigma R and, as the third, R Sigma R Sigma R at some kappa.

    Parameters
    ----------
    kappa : float
    shift : float
        What leads to it, see `Estimate.through`.
    inverse : Shifted
    weights : float array, shape (count, 3)
        Of X, X S X and X S X S X in each of them.
    traces : float array, shape (count,)
        Of each of them.
    noise_traces : float array, shape (count,)
        Of each of them times Sigma.
    all_three : callable
        Returns all three at the same kappa.
    inflation : float, default 1.0
        By how much R Sigma R is larger on average with an estimated R on both sides.
    """

    kappa: float
    shift: float
    inverse: Shifted
    weights: Float[np.ndarray, "count 3"]
    traces: Float[np.ndarray, " count"]
    noise_traces: Float[np.ndarray, " count"]
    all_three: Callable[[], Functions]
    inflation: float = 1.0

    def of(self, rows: Between) -> Float[np.ndarray, "count A A"]:
        """Return each of them between rows; what these say of `inverse` is computed once."""
        count = len(self.weights)
        return np.tensordot(self.weights[:, :count], rows.first(count), axes=1)


@dataclass(frozen=True, eq=False)
class Known:
    """A covariance that is known."""

    spectrum: Spectrum

    def at(self, kappa: float, count: int = 3) -> Functions:
        """Return two or three functions of the covariance at some kappa."""
        return self.through(self.spectrum.shifted(kappa), count)

    def through(self, inverse: Shifted, count: int = 3) -> Functions:
        """Return the functions at the shift of an inverse."""
        traces, noise = inverse.traces(count), inverse.noise_traces(count)
        return Functions(
            inverse.shift, inverse.shift, inverse, np.eye(count, 3), traces, noise,
            partial(self.through, inverse),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Estimate:
    """A covariance of which an unbiased estimate is known, with so many degrees of freedom."""

    spectrum: Spectrum
    degrees: int

    def at(self, kappa: float, count: int = 3) -> Functions:
        """Return two or three functions of the covariance at some kappa."""
        inverse = self._inverse(kappa)
        return self._beyond(kappa, count) if inverse is None else self._of(kappa, inverse, count)

    def through(self, inverse: Shifted, count: int = 3) -> Functions:
        """Return the functions for which a resolvent of the estimate stands.

        Where kappa is an unknown itself, its shift is one that needs no equation to be solved.
        Below the edge both are in proportion.
        """
        share = inverse.noise_traces(2)[0] / self.degrees
        if share <= MOST_OF_DEGREES:
            return self._of(inverse.shift / (1.0 - float(share)), inverse, count)
        kappa_1, edge = self._edge
        return self._beyond(kappa_1 * inverse.shift / edge.shift, count)

    def _beyond(self, kappa: float, count: int) -> Functions:
        kappa_1, inverse = self._edge
        weights, at_edge = self._weights(kappa_1, inverse, 2), inverse.traces()
        u_1 = float(weights[0] @ at_edge) / self.spectrum.n_features
        u = 1.0 / (1.0 / u_1 + kappa - kappa_1)
        # R_1^2, and its share in each of the functions.
        square, inflation = (weights[0] - weights[1]) / kappa_1, 1.0 / float(weights[1, 1])
        moved = (u - u_1) / u_1**2 - kappa * (u / u_1) ** 2 * np.array([0.0, 1.0, 2.0])
        moved[2] += kappa**2 * u**3 / u_1**2
        weights = weights[0] + moved[:count, None] * square
        traces = weights @ at_edge
        noise = self.spectrum.n_features - kappa * np.cumsum(traces)
        shift = inverse.shift * kappa / kappa_1
        return Functions(
            kappa, shift, inverse, weights, traces, noise, partial(self._beyond, kappa, 3),
            inflation,
        )  # fmt: skip

    def _of(self, kappa: float, inverse: Shifted, count: int) -> Functions:
        weights = self._weights(kappa, inverse, count)
        traces = weights[:, :count] @ inverse.traces(count)
        t_1, t_2 = inverse.noise_traces(2) / self.degrees
        # The second from fewer digits lost than as a difference of traces.
        second = (t_2 - t_1**2) / (1.0 - 2.0 * t_1 + t_2)
        noise = self.degrees * np.array([t_1, second])
        if count > 2:
            noise = np.append(noise, noise[1] - kappa * traces[2])
        inflation = 1.0 / float(weights[1, 1])
        return Functions(
            kappa, inverse.shift, inverse, weights, traces, noise,
            partial(self._of, kappa, inverse, 3), inflation,
        )  # fmt: skip

    def _weights(self, kappa: float, inverse: Shifted, count: int) -> Float[np.ndarray, "count 3"]:
        """Return what R, R Sigma R and R Sigma R Sigma R have of X, X S X and X S X S X."""
        shift = inverse.shift
        t_1, t_2 = inverse.noise_traces(2) / self.degrees
        slope = (1.0 - t_1) ** 2 / (1.0 - 2.0 * t_1 + t_2)
        weights = [[shift / kappa, 0.0, 0.0], [0.0, slope, 0.0]]
        if count > 2:
            t_3 = inverse.noise_traces()[2] / self.degrees
            curvature = (
                2.0 * slope
                * ((t_1 - t_2) / shift - kappa / shift**2 * (t_1 - 2.0 * t_2 + t_3) * slope)
                / (1.0 - kappa * (t_1 - t_2) / shift)
            )  # fmt: skip
            bend = kappa * slope**2 / shift
            weights.append([0.0, slope + 0.5 * kappa * curvature - bend, bend])
        return np.array(weights)

    def _inverse(self, kappa: float) -> Shifted | None:
        """Return the resolvent of the estimate that stands for R; None beyond the edge."""
        inverse = self.spectrum.shifted(kappa)
        # Newton's method for a convex function, downwards to its largest root.
        for _ in range(NEWTON_STEPS):
            shift = inverse.shift
            t_1, t_2 = inverse.noise_traces(2) / self.degrees
            excess, slope = shift - kappa * (1.0 - t_1), 1.0 - kappa * (t_1 - t_2) / shift
            if abs(excess) <= FEW_DIGITS * kappa:
                break
            if slope <= 0.0 or t_1 > 0.5 * (1.0 + MOST_OF_DEGREES):
                return None
            inverse = self.spectrum.shifted(max(shift - excess / slope, 1e-3 * shift))
        return inverse if inverse.noise_traces(2)[0] <= MOST_OF_DEGREES * self.degrees else None

    @cached_property
    def _edge(self) -> tuple[float, Shifted]:
        """Return the smallest kappa for which the estimate is used, and its resolvent."""

        def excess(log_shift: float) -> float:
            inverse = self.spectrum.shifted(float(np.exp(log_shift)))
            return float(inverse.noise_traces(2)[0]) - MOST_OF_DEGREES * self.degrees

        mean = self.spectrum.n_features * self.spectrum.mean_variance / self.degrees
        top = float(np.log(mean)) + 1.0
        # Not far below the edge, where squares that are removed leave no digits.
        while excess(top - STEP_TO_EDGE) < 0.0:
            top -= STEP_TO_EDGE
        log_shift: float = brentq(excess, top - STEP_TO_EDGE, top, xtol=1e-10)  # pyright: ignore[reportAssignmentType]
        inverse = self.spectrum.shifted(float(np.exp(log_shift)))
        return inverse.shift / (1.0 - MOST_OF_DEGREES), inverse


Covariance = Known | Estimate
