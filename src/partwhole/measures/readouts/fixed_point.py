"""A vector that a map reproduces, by Anderson's acceleration of damped steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

MEMORY = 8
MOST_STEPS = 1000
TOLERANCE = 1e-8
# Of the smallest change, where rounding leaves no smaller one.
LARGEST_CHANGE = 1e-5
PLAIN_STEPS = 10
# Of the change, beyond which an accelerated step is refused.
LARGEST_GROWTH = 10.0


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Result of the iteration.

    Parameters
    ----------
    value : float array, shape (u,)
        The iterate that changes least.
    change : float
        Largest change of an entry in another step.
    converged : bool
    steps : int
    """

    value: Float[np.ndarray, " u"]
    change: float
    converged: bool
    steps: int


def fixed_point(
    step: Callable[[np.ndarray], np.ndarray],
    start: Float[np.ndarray, " u"],
    *,
    damping: float = 0.5,
    longest: Float[np.ndarray, " u"] | float = np.inf,
    enough: Callable[[np.ndarray], bool] = lambda x: False,
) -> FixedPoint:
    """Return the vector that a step leaves as it is.

    Each iterate is the combination of the last ones whose changes cancel best, plus a share of its
    change (Anderson, J. ACM 1965; Walker and Ni, SIAM J. Numer. Anal. 2011). Where the change grows
    instead, earlier iterates are dropped, and some steps are plain.

    Parameters
    ----------
    step : callable
        From and to vectors.
    start : float array, shape (u,)
    damping : float, keyword-only, default 0.5
        The share.
    longest : float or float array, shape (u,), keyword-only, default inf
        The largest move of an entry in a step.
    enough : callable, keyword-only
        Whether to stop at an iterate, as converged.

    Returns
    -------
    FixedPoint

    Examples
    --------
    >>> solution = fixed_point(np.cos, np.array([1.0]))
    >>> print(solution.converged, solution.value.round(4).item())
    True 0.7391
    """
    x, change = start, step(start) - start
    moves: list[np.ndarray] = []
    changes: list[np.ndarray] = []
    plain = PLAIN_STEPS
    size = least = float(np.abs(change).max())
    best = x
    for steps in range(MOST_STEPS):
        if size < TOLERANCE or enough(x):
            return FixedPoint(x, size, True, steps)
        move = damping * change
        accelerated = bool(moves) and plain <= 0
        if accelerated:
            before = np.column_stack(changes)
            weights = np.linalg.lstsq(before, change, rcond=1e-10)[0]
            move = move - (np.column_stack(moves) + damping * before) @ weights
        new = x + np.clip(move, -longest, longest)
        new_change = step(new) - new
        new_size = float(np.abs(new_change).max())
        if not new_size < LARGEST_GROWTH * size:
            if accelerated:
                moves, changes, plain = [], [], PLAIN_STEPS
                continue
            if not np.isfinite(new_size):
                break
        plain -= 1
        moves = [*moves[1 - MEMORY :], new - x]
        changes = [*changes[1 - MEMORY :], new_change - change]
        x, change, size = new, new_change, new_size
        if size < least:
            best, least = x, size
    return FixedPoint(best, least, least < LARGEST_CHANGE, MOST_STEPS)
