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
    cost_of: Callable[[Limit], float],
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
    cost_of : callable
        Of a limit: its whole cost, by the cost that is not convex.
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
    touching, before, last = cost.touching(design, start), start, np.inf
    best, rests = None, 0
    for step in range(1, max_steps + 1):
        limit = solve(touching)
        solved = limit.outcome is Outcome.SOLVED
        if not solved and (best is None or step % 2 == 1):
            return replace(limit, steps=step)
        value = cost_of(limit) if solved else np.inf
        if best is None or value <= best[0]:
            best = value, limit
        else:
            # A second turn that is not decided changes nothing; the first alone must rest then.
            # What rounding adds to directions that were at 0 is not kept.
            value, limit = best
        now = limit.coefficients
        still = before is not None and _close(before, now, tolerance)
        rests = rests + 1 if still or last - value <= FALLS * value else 0
        # At rest by both turns.
        still = rests == 2
        if still or step == max_steps:
            return replace(
                limit,
                value=value,
                steps=step,
                outcome=Outcome.STATIONARY if still else Outcome.MAX_STEPS,
                assumptions=(*limit.assumptions, NOTE),
            )
        before, last, touching = now, value, cost.touching(design, now, step)
    raise AssertionError  # unreachable: the last round returns


def _close(one: np.ndarray, other: np.ndarray, tolerance: float) -> bool:
    size = float(np.abs(other).max(initial=0.0))
    return bool(np.abs(one - other).max(initial=0.0) <= tolerance * size)
