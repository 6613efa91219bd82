"""What a cost must offer: its value, its dual, and the way back from the dual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from partwhole.features.design import Design


def anywhere(direction: np.ndarray) -> float:
    """Trust the quadratic model at any distance."""
    return np.inf


@dataclass(frozen=True, eq=False)
class Bounds:
    r"""Hold the domain of a norm's conjugate about multipliers v, to second order.

    The norm is a sum over G groups of coefficients, each seen as a matrix of R rows. With
    :math:`M_g` the group's part of :math:`A^T v` the domain is where all

    .. math:: Q_g(v) = \tfrac12 (I - M_g M_g^T)

    are positive semidefinite: no singular value above 1. With prices :math:`S_g \succeq 0` the
    coefficients are :math:`S_g M_g`.

    Parameters
    ----------
    room : float array, shape (G, R, R)
        :math:`Q_g(v)`.
    outputs : callable
        From prices (G, R, R) to the outputs (n,) of their coefficients, the slope of
        :math:`-\sum_g \langle S_g, Q_g \rangle` in v.
    moved : callable
        From a direction (n,) to the slope of the room along it, (G, R, R).
    curvature : callable
        From prices S and scalings W, both (G, R, R), to the second derivatives, (n, n), of
        :math:`-\sum_g \langle S_g, Q_g \rangle` and the sum of
        :math:`\langle \partial_i Q_g, W_g\, \partial_j Q_g\, W_g \rangle`.
    reach : callable
        From a direction (n,) to how many times its length leaves the domain.
    """

    room: Float[np.ndarray, "G R R"]
    outputs: Callable[[np.ndarray], Float[np.ndarray, " n"]]
    moved: Callable[[np.ndarray], Float[np.ndarray, "G R R"]]
    curvature: Callable[[np.ndarray, np.ndarray], Float[np.ndarray, "n n"]]
    reach: Callable[[np.ndarray], float]


@dataclass(frozen=True, eq=False)
class DualTerm:
    r"""Hold the conjugate :math:`R^*(A^T v)` as a function of v, to second order.

    Parameters
    ----------
    value : float
        Infinite outside the domain.
    gradient : float array, shape (n,)
    hessian : callable
        Returns the second derivatives, shape (n, n); a search along a line does without.
    reach : callable, optional
        Takes a direction, shape (n,), and returns how many times its length the quadratic model
        may be trusted; any number by default.
    is_quadratic : bool, default False
        The Hessian does not depend on v, so one call tells all.
    bounds : Bounds, optional
        The domain, where the cost is a norm: its conjugate is 0 there and infinite elsewhere.
    """

    value: float
    gradient: Float[np.ndarray, " n"]
    hessian: Callable[[], Float[np.ndarray, "n n"]]
    reach: Callable[[np.ndarray], float] = anywhere
    is_quadratic: bool = False
    bounds: Bounds | None = None

    @classmethod
    def of_kernel(
        cls, kernel: Float[np.ndarray, "n n"], multipliers: Float[np.ndarray, " n"]
    ) -> DualTerm:
        """Return half a kernel's quadratic form."""
        gradient = kernel @ multipliers
        half = 0.5 * float(multipliers @ gradient)
        return cls(half, gradient, lambda: kernel, is_quadratic=True)


@runtime_checkable
class Cost(Protocol):
    """Say what the learner prefers: a convex cost on coefficients."""

    def value(self, design: Design, coefficients: np.ndarray) -> float:
        """Return R(c)."""
        ...

    def dual(self, design: Design, multipliers: np.ndarray) -> DualTerm:
        """Return the conjugate of R at A'v."""
        ...

    def primal(
        self, design: Design, multipliers: np.ndarray, prices: np.ndarray | None
    ) -> np.ndarray:
        """Return the coefficients that belong to the multipliers; with the bounds' prices."""
        ...


@runtime_checkable
class Squares(Cost, Protocol):
    r"""A quadratic cost as half the squared length of other coefficients.

    With features B and coefficients x of them, :math:`B x` are the outputs and the cost is
    :math:`\tfrac12 \|x\|^2`.
    """

    def features(self, design: Design) -> Float[np.ndarray, "n q"] | None:
        """Return B, or None where the cost is no such square."""
        ...

    def from_features(self, design: Design, x: np.ndarray) -> np.ndarray:
        """Return the coefficients of the design that belong to x."""
        ...


@runtime_checkable
class Concave(Protocol):
    """Say what the learner prefers where that is not convex: a concave function of norms.

    Stationary points are found by convex costs that touch it from above.
    """

    def value(self, design: Design, coefficients: np.ndarray) -> float:
        """Return R(c)."""
        ...

    def touching(self, design: Design, coefficients: np.ndarray | None, turn: int = 0) -> Cost:
        """Return a convex cost that lies above R, but for a constant, and touches it at c.

        Without coefficients, the one to begin with. A cost that has several takes turns.
        """
        ...

    def within(self, design: Design, coefficients: np.ndarray, used: np.ndarray) -> np.ndarray:
        """Return the coefficients nearest to these that leave unused what others leave unused."""
        ...
