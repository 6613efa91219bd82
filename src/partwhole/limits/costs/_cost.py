"""The protocols of a cost: its value, its conjugate, and its coefficients from the dual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from partwhole.features.design import Design


def anywhere(direction: np.ndarray) -> float:
    """Return infinity: the quadratic model is trusted at any distance."""
    return np.inf


@dataclass(frozen=True, eq=False)
class Bounds:
    r"""Domain of the conjugate of a norm near multipliers v, to second order.

    The norm is a sum over G groups of coefficients, each seen as a matrix of R rows. With
    :math:`M_g` the group's part of :math:`A^T v` the domain is where all

    .. math:: Q_g(v) = \tfrac12 (I - M_g M_g^T)

    are positive semidefinite: no singular value of :math:`M_g` is above 1. :math:`Q_g` is called
    the room of the group. Its multipliers, the prices :math:`S_g \succeq 0`, give the
    coefficients :math:`S_g M_g`.

    Parameters
    ----------
    room : float array, shape (G, R, R)
        :math:`Q_g(v)`.
    outputs : callable
        From prices (G, R, R) to the outputs (n,) of their coefficients, the slope of
        :math:`-\sum_g \langle S_g, Q_g \rangle` in v.
    shares : callable
        Returns the outputs (n, G) of each group alone, where all prices are the identity.
    slope : callable
        From a direction (n,) to the derivative of the room along it, (G, R, R).
    curvature : callable
        From prices S and scalings W, both (G, R, R), to the second derivatives, (n, n), of
        :math:`-\sum_g \langle S_g, Q_g \rangle` and the sum of
        :math:`\langle \partial_i Q_g, W_g\, \partial_j Q_g\, W_g \rangle`.
    reach : callable
        From a direction (n,) to the largest multiple of it that stays in the domain.
    """

    room: Float[np.ndarray, "G R R"]
    outputs: Callable[[np.ndarray], Float[np.ndarray, " n"]]
    shares: Callable[[], Float[np.ndarray, "n G"]]
    slope: Callable[[np.ndarray], Float[np.ndarray, "G R R"]]
    curvature: Callable[[np.ndarray, np.ndarray], Float[np.ndarray, "n n"]]
    reach: Callable[[np.ndarray], float]


@dataclass(frozen=True, eq=False)
class DualTerm:
    r"""Conjugate :math:`R^*(A^T v)` as a function of v, to second order.

    Parameters
    ----------
    value : float
        Infinite outside the domain.
    gradient : float array, shape (n,)
    hessian : callable
        Returns the second derivatives, shape (n, n). A callable, because a line search needs
        only values and gradients.
    reach : callable, optional
        From a direction, shape (n,), to the largest multiple of it over which the quadratic
        model is accurate; infinite by default.
    is_quadratic : bool, default False
        Whether the Hessian is the same for all v, so that it is computed once.
    bounds : Bounds, optional
        The domain, if the cost is a norm: its conjugate is 0 there and infinite elsewhere.
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
        """Return half the quadratic form of a kernel."""
        gradient = kernel @ multipliers
        half = 0.5 * float(multipliers @ gradient)
        return cls(half, gradient, lambda: kernel, is_quadratic=True)


@runtime_checkable
class Cost(Protocol):
    """Protocol of a convex cost on coefficients."""

    def value(self, design: Design, coefficients: np.ndarray) -> float:
        """Return R(c)."""
        ...

    def dual(self, design: Design, multipliers: np.ndarray) -> DualTerm:
        """Return the conjugate of R at A'v."""
        ...

    def primal(
        self, design: Design, multipliers: np.ndarray, prices: np.ndarray | None
    ) -> np.ndarray:
        """Return the coefficients that belong to multipliers and, for a norm, to prices."""
        ...


@runtime_checkable
class Squares(Cost, Protocol):
    r"""Protocol of a quadratic cost: half the squared length of transformed coefficients.

    With features B and coefficients x of them, :math:`B x` are the outputs and the cost is
    :math:`\tfrac12 \|x\|^2`.
    """

    def features(self, design: Design) -> Float[np.ndarray, "n q"] | None:
        """Return B, or None where the cost has no such form."""
        ...

    def from_features(self, design: Design, x: np.ndarray) -> np.ndarray:
        """Return the coefficients of the design that belong to the coefficients x of B."""
        ...


@runtime_checkable
class Concave(Protocol):
    """Protocol of a cost that is not convex: a concave function of norms.

    Its stationary points are computed by convex costs that touch it from above.
    """

    def value(self, design: Design, coefficients: np.ndarray) -> float:
        """Return R(c)."""
        ...

    def touching(self, design: Design, coefficients: np.ndarray | None, turn: int = 0) -> Cost:
        """Return a convex cost that, up to a constant, lies above R and touches it at c.

        Without coefficients, the convex cost of the first round. If several convex costs touch R
        at c, `turn` chooses among them.
        """
        ...

    def within(self, design: Design, coefficients: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return the nearest coefficients that use no block or rank that the reference lacks."""
        ...
