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
    is_barrier : bool, default False
        The conjugate only bounds the domain (the cost is a norm); value, gradient and Hessian
        are those of a barrier for that bound, which the solver lets vanish.
    """

    value: float
    gradient: Float[np.ndarray, " n"]
    hessian: Callable[[], Float[np.ndarray, "n n"]]
    reach: Callable[[np.ndarray], float] = anywhere
    is_quadratic: bool = False
    is_barrier: bool = False


@runtime_checkable
class Cost(Protocol):
    """Say what the learner prefers: a convex cost on coefficients."""

    def value(self, design: Design, coefficients: np.ndarray) -> float:
        """Return R(c)."""
        ...

    def dual(self, design: Design, multipliers: np.ndarray) -> DualTerm:
        """Return the conjugate of R at A'v, or its barrier."""
        ...

    def primal(self, design: Design, multipliers: np.ndarray, barrier: float) -> np.ndarray:
        """Return the coefficients that belong to the multipliers, at this barrier weight."""
        ...
