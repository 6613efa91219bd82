r"""Stationary points of costs that are not convex, by convex costs that touch them from above.

Each round solves for the least of a convex cost that lies above the cost and touches it at the
coefficients of the round before, so that the cost never rises. Such rounds may follow a valley
in small steps. What several of them moved says where they would come to rest (Anderson 1965), and
the next one touches there; where that does not lower the cost it is taken again without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from partwhole.features.design import Design
from partwhole.limits.costs import Concave, Cost
from partwhole.limits.limit import Limit, Outcome

FALLS = 1e-13  # of the cost: less is rounding
MEMORY = 5  # rounds before the last
CARRIED = 1e-8  # of the largest singular value: differences of rounds that are not rounding
UNEVEN = 0.01  # of the coefficients: by so much they are shaken where they rest
SHAKES = 3
LEAVES = 1e-9  # of the cost: a shaken round that lowers it by less leaves no saddle
PROMISE = 1e-7  # of the cost: what a turn that was not decided may seem to lower it by
FELT = 1e-6  # of the cost: by so much may rounding of exact rows alter it
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
    best, value, steps = None, np.inf, 0
    point, ahead, history, shaken = start, False, [], False
    shakes, promised = 0, np.inf
    while True:
        limit, reached, undecided = _turns(solve, cost_of, design, cost, point)
        steps += 2
        if not ahead:
            promised = undecided
        if not np.isfinite(reached) and not ahead:
            return replace(limit, steps=steps)
        close = point is not None and _close(point, limit.coefficients, tolerance)
        least = LEAVES if shaken else FALLS
        # In other units the largest coefficient may rest while smaller ones still lower the cost.
        least_of_close = LEAVES if close else least
        still = (shaken or not ahead) and value - reached <= least_of_close * reached
        # Multipliers are those of where a round began. So they stay those of a round that began
        # at the coefficients it ends at, though another that began aside ends as low.
        if not ahead:
            better = reached <= (1.0 + FALLS) * value
        else:
            better = reached <= (1.0 - least) * value if shaken else reached < value
        if best is None or better:
            best, value = limit, min(value, reached)
            if point is not None:
                history = [*history[-MEMORY:], (point, limit.coefficients)]
        # What was touched ahead counts for nothing unless it lowers the cost.
        elif ahead:
            history = history[-2:]
        if still and not shaken and shakes < SHAKES and steps < max_steps:
            # Coefficients that share evenly what features alike could do alone rest at a saddle.
            shaken, ahead, shakes = True, True, shakes + 1
            point = best.coefficients * (1.0 + UNEVEN * np.cos(np.arange(len(best.coefficients))))
            continue
        if still or steps >= max_steps:
            outcome = Outcome.STATIONARY if still else Outcome.MAX_STEPS
            # Where a turn that was not decided might lower the cost, nothing is known, and what
            # exact rows miss by rounding alters the cost by their multipliers.
            felt = float(np.abs(best.multipliers).sum()) * best.violation
            if still and not (promised >= (1.0 - PROMISE) * value and felt <= FELT * value):
                outcome = Outcome.INACCURATE
            return replace(
                best,
                value=value,
                steps=steps,
                outcome=outcome,
                assumptions=(*best.assumptions, NOTE),
            )
        point, shaken = best.coefficients, False
        ahead = len(history) > 1 and limit is best and not close
        if ahead:
            point = cost.within(design, _ahead(history), point)


def _turns(
    solve: Callable[[Cost], Limit],
    cost_of: Callable[[Limit], float],
    design: Design,
    cost: Concave,
    point: np.ndarray | None,
) -> tuple[Limit, float, float]:
    """Return what one round of each turn ends at, and its cost; infinite if none is solved.

    And the cost of a turn that was not decided, which may miss the rows.
    """
    best, value, undecided = None, np.inf, np.inf
    for turn in range(2):
        limit = solve(cost.touching(design, point, turn))
        # A turn that is not decided changes nothing; the other alone must rest then.
        # What rounding adds to directions that were at 0 is not kept.
        if limit.outcome is Outcome.SOLVED and (after := cost_of(limit)) <= value:
            best, value, point = limit, after, limit.coefficients
            continue
        if limit.outcome is not Outcome.SOLVED and point is not None:
            undecided = float(np.minimum(undecided, cost_of(limit)))  # keeps NaN
        if best is None:
            best = limit
            if point is None:
                break
    assert best is not None
    return best, value, undecided


def _ahead(history: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return where rounds would come to rest if what they move were linear in where they begin."""
    begins, ends = (np.array(each).T for each in zip(*history, strict=True))
    moves = ends - begins
    shares = np.linalg.lstsq(np.diff(moves), moves[:, -1], rcond=CARRIED)[0]
    return ends[:, -1] - np.diff(ends) @ shares


def _close(one: np.ndarray, other: np.ndarray, tolerance: float) -> bool:
    size = float(np.abs(other).max(initial=0.0))
    return bool(np.abs(one - other).max(initial=0.0) <= tolerance * size)
