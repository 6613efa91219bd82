r"""Costs that are defined by their convex conjugate alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.features.design import Design, dense_features, weighted_gram
from partwhole.limits.costs._cost import DualTerm

# Largest error of a slope from Newton's method, relative to the largest coefficient. The error of
# the value is its square.
SLOPE_TOLERANCE = 1e-7
DOUBLINGS = 1000
ROOT_TOLERANCE = 1e-10  # largest relative error of u; the error of the value is its square


@dataclass(frozen=True, eq=False)
class Conjugate:
    r"""A convex conjugate :math:`R^*(u)` at one point, to second order.

    Parameters
    ----------
    value : float
        Infinite outside the domain.
    gradient : float array, shape (p,)
        NaN or infinite in the entries that are outside the domain.
    curvature : float array, shape (p,) or (p, p)
        The second derivatives: their diagonal if all others are 0, or the whole matrix.
    trusted : float, default inf
        The largest change of an entry of u over which the quadratic model is accurate, such as 3
        for an exponential of u.
    """

    value: float
    gradient: Float[np.ndarray, " p"]
    curvature: Float[np.ndarray, "p *p"]
    trusted: float = np.inf


class ConjugateCost(ABC):
    r"""Cost defined by its conjugate :math:`R^*(u) = \max_c\, \langle u, c\rangle - R(c)`.

    A subclass defines `conjugate`; the rest follows by Fenchel's duality. The coefficients that
    belong to multipliers v are :math:`c = \nabla R^*(A^T v)`, and the cost of coefficients is
    :math:`R(c) = \max_u\, \langle u, c\rangle - R^*(u)`. The maximum is computed for each
    coefficient alone if the curvature is diagonal, and otherwise by Newton's method in p
    dimensions; a subclass that has a formula for the value defines `value` as well.

    Notes
    -----
    The conjugate must be convex, and differentiable inside its domain. It may be flat, like that
    of the elastic net near 0. Check a new cost with `check_cost`.

    Examples
    --------
    The elastic net, :math:`\sum_d |c_d| + \tfrac12 c_d^2`:

    >>> from partwhole import solve
    >>> from partwhole.limits.checking import check_cost
    >>> class ElasticNet(ConjugateCost):
    ...     def conjugate(self, design, u):
    ...         excess = np.maximum(np.abs(u) - 1.0, 0.0)
    ...         curvature = (excess > 0.0).astype(float)
    ...         return Conjugate(0.5 * np.sum(excess**2), np.sign(u) * excess, curvature)
    >>> check_cost(ElasticNet())
    >>> inputs, targets = np.array([[1.0, 3.0]]), np.array([3.0])
    >>> limit = solve((inputs, targets), cost=ElasticNet(), intercept="none")
    >>> limit.coefficients.round(6).tolist(), round(limit.value, 6), limit.outcome.name
    ([0.0, 1.0], 1.5, 'SOLVED')
    """

    @abstractmethod
    def conjugate(self, design: Design, u: Float[np.ndarray, " p"]) -> Conjugate:
        """Return the conjugate at u, which has one number for each column of the design."""

    def value(self, design: Design, coefficients: Float[np.ndarray, " p"]) -> float:
        """Return the cost of coefficients."""
        at = self.conjugate(design, np.zeros(design.shape[1]))
        find = self._separable if np.ndim(at.curvature) == 1 else self._joint
        u = find(design, coefficients)
        return float(u @ coefficients - self.conjugate(design, u).value)

    def dual(self, design: Design, multipliers: Float[np.ndarray, " n"]) -> DualTerm:
        """Return the conjugate as a function of the multipliers."""
        n = design.shape[0]
        at = self.conjugate(design, design.adjoint(multipliers))
        if not np.isfinite(at.value):
            return DualTerm(np.inf, np.zeros(n), lambda: np.zeros((n, n)))

        def hessian() -> np.ndarray:
            if at.curvature.ndim == 1:
                return weighted_gram(design, at.curvature)
            features = dense_features(design)
            return features @ at.curvature @ features.T

        def reach(direction: np.ndarray) -> float:
            change = float(np.abs(design.adjoint(direction)).max(initial=0.0))
            return at.trusted / change if change > 0.0 else np.inf

        return DualTerm(float(at.value), design @ at.gradient, hessian, reach)

    def primal(
        self, design: Design, multipliers: Float[np.ndarray, " n"], prices: np.ndarray | None = None
    ) -> Float[np.ndarray, " p"]:
        """Return the gradient of the conjugate."""
        return self.conjugate(design, design.adjoint(multipliers)).gradient

    def _separable(self, design: Design, coefficients: np.ndarray) -> np.ndarray:
        """Return u at which the gradient equals the coefficients, solved for each entry alone.

        The gradient is monotone, so an interval around the root is found by doubling.
        """
        p = len(coefficients)

        def residual(u: np.ndarray, place: np.ndarray) -> np.ndarray:
            trial = np.zeros(p)
            trial[place] = u
            with np.errstate(all="ignore"):
                gradient = self.conjugate(design, trial).gradient[place]
            beyond = np.copysign(np.inf, u)
            return np.where(np.isfinite(gradient), gradient, beyond) - coefficients[place]

        place, low, high = np.arange(p), np.full(p, -1.0), np.ones(p)
        below = above = np.ones(p, dtype=bool)
        for _ in range(DOUBLINGS):
            below, above = residual(low, place) > 0.0, residual(high, place) < 0.0
            if not (below | above).any():
                break
            low, high = np.where(below, 2.0 * low, low), np.where(above, 2.0 * high, high)
        require(
            not (below | above).any(),
            "every coefficient is the slope of its cost's conjugate somewhere",
            f"{int(np.sum(below | above))} of {p} coefficients that are not",
            "write value for this cost",
        )
        from scipy.optimize import elementwise

        return elementwise.find_root(
            residual, (low, high), args=(place,), tolerances={"xrtol": ROOT_TOLERANCE}
        ).x

    def _joint(self, design: Design, coefficients: np.ndarray) -> np.ndarray:
        """Return u at which the gradient equals the coefficients, by Newton's method."""
        size = float(np.abs(coefficients).max(initial=0.0)) or 1.0

        def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
            at = self.conjugate(design, u)
            value = (float(at.value) - float(u @ coefficients)) / size
            return value, (at.gradient - coefficients) / size

        from scipy.optimize import minimize

        best = minimize(
            objective, np.zeros(len(coefficients)), jac=True, method="trust-exact",
            hess=lambda u: self.conjugate(design, u).curvature / size, options={"gtol": 1e-12},
        )  # fmt: skip
        missed = float(np.abs(best.jac).max(initial=0.0))
        require(
            missed <= SLOPE_TOLERANCE,
            "the coefficients are the slope of their cost's conjugate somewhere",
            f"a slope that is {missed:.1g} of the largest coefficient off",
            "write value for this cost",
        )
        return best.x
