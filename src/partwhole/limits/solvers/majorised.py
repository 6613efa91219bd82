r"""Stationary points of costs that are not convex, by convex costs that touch them from above.

Each round solves for the least of a convex cost that lies above the cost and touches it at the
coefficients of the round before, so that the cost never rises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from partwhole._checks import whole
from partwhole.features.design import Design
from partwhole.limits.costs import Concave, Cost
from partwhole.limits.limit import Limit, Outcome

FALLS = 1e-13  # of the cost: less is rounding
NOTE = "the cost is not convex: other starts may end elsewhere"


def majorised(
    solve: Callable[[Cost], Limit],
    design: Design,
    cost: Concave,
    start: Float[np.ndarray, " p"] | None,
    *,
    max_steps: int,
    tolerance: float,
) -> Limit:
    """Follow touching costs until coefficients stay where they are, or the cost.

    Parameters
    ----------
    solve : callable
        Solves the problem with a convex cost.
    design : Design
    cost : Concave
    start : float array, shape (p,), or None
    max_steps : int, keyword-only
        Rounds.
    tolerance : float, keyword-only
        Largest change of a round, of the largest coefficient.

    Returns
    -------
    Limit
        Its gap is that of the last touching cost, which is 0 at a stationary point; `steps`
        counts rounds.
    """
    whole("max_steps", max_steps, 1, "allow more rounds")
    found, before, last = solve(cost.touching(design, start)), start, np.inf
    for step in range(1, max_steps + 1):
        if found.outcome not in (Outcome.SOLVED, Outcome.INACCURATE):
            return replace(found, steps=step)
        now = found.coefficients
        value = cost.value(design, now)
        still = before is not None and _close(before, now, tolerance)
        still = still or last - value <= FALLS * value
        if still or step == max_steps:
            return replace(
                found,
                value=value,
                steps=step,
                outcome=Outcome.STATIONARY if still else Outcome.MAX_STEPS,
                assumptions=(*found.assumptions, NOTE),
            )
        before, last, found = now, value, solve(cost.touching(design, now))
    raise AssertionError  # unreachable: the last round returns


def _close(one: np.ndarray, other: np.ndarray, tolerance: float) -> bool:
    size = float(np.abs(other).max(initial=0.0))
    return bool(np.abs(one - other).max(initial=0.0) <= tolerance * size)
