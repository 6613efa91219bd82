r"""Stationary points of costs that are not convex, by convex costs that touch them from above.

Each round minimises a convex cost that lies above the cost and touches it at the coefficients of
the round before, so that the cost never rises (majorise and minimise). Such rounds may follow a
valley in small steps. The changes of several rounds are therefore extrapolated to the point where
they would end (Anderson 1965), and the next convex cost touches there. If this does not lower the
cost, the round is repeated without extrapolation.

When the rounds are at rest, the coefficients are perturbed a few times, because a saddle point is
also at rest: a perturbed round leaves it, and returns to a minimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from partwhole.features.design import Design
from partwhole.limits.costs import Concave, Cost
from partwhole.limits.limit import Limit, Outcome

LEAST_FALL = 1e-13  # relative to the cost: a smaller fall is rounding
MEMORY = 5  # rounds before the last that enter the extrapolation
SMALLEST_SINGULAR = 1e-8  # of the largest singular value, for differences of rounds
SHAKE_SIZE = 0.01  # relative perturbation of coefficients at rest
SHAKES = 3  # most perturbations of one solve
LEAST_ESCAPE = 1e-9  # relative to the cost: after a smaller fall, the point was no saddle
UNDECIDED_GAIN = 1e-7  # relative to the cost: fall by an undecided turn that is disregarded
LARGEST_RISE = 1e-7  # relative to the cost: a larger rise of a round is an error of its solver
LARGEST_ROUNDING = 1e-6  # relative to the cost: largest effect of the misfits of exact rows
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
    """Return a stationary point: the coefficients at which the rounds come to rest.

    Parameters
    ----------
    solve : callable
        Solves the problem with a convex cost.
    cost_of : callable
        From a limit to its whole cost, with the cost that is not convex.
    design : Design
    cost : Concave
    start : float array, shape (p,), or None
    max_steps : int, keyword-only
        Largest number of rounds.
    tolerance : float, keyword-only
        Largest change of a round at rest, relative to the largest coefficient.

    Returns
    -------
    Limit
        Its gap is that of the last touching cost, which is 0 at a stationary point; `steps`
        counts rounds.
    """
    best, value, steps = None, np.inf, 0
    point, extrapolated, history, shaken = start, False, [], False
    shakes, promised, rose = 0, np.inf, False
    while True:
        limit, reached, undecided = _round(solve, cost_of, design, cost, point)
        steps += 2
        if not extrapolated:
            # From this point a round cannot raise the cost, except by rounding.
            promised, rose = undecided, reached > (1.0 + LARGEST_RISE) * value
        if not np.isfinite(reached) and not extrapolated:
            return replace(limit, steps=steps)
        close = point is not None and _is_close(point, limit.coefficients, tolerance)
        least = LEAST_ESCAPE if shaken else LEAST_FALL
        # The largest coefficient may be at rest while smaller ones, of features in other units,
        # still lower the cost; so the fall of the cost is checked as well.
        least_of_close = LEAST_ESCAPE if close else least
        at_rest = (shaken or not extrapolated) and value - reached <= least_of_close * reached
        # The multipliers of a limit belong to the convex cost that touches where its round began.
        # They certify a stationary point only if the round also ended there, so such a limit is
        # preferred to one of equal cost from an extrapolated start.
        if not extrapolated:
            better = reached <= (1.0 + LEAST_FALL) * value
        else:
            better = reached <= (1.0 - least) * value if shaken else reached < value
        if best is None or better:
            best, value = limit, min(value, reached)
            if point is not None:
                history = [*history[-MEMORY:], (point, limit.coefficients)]
        # An extrapolated round that does not lower the cost is dropped, with the older history.
        elif extrapolated:
            history = history[-2:]
        if at_rest and not shaken and shakes < SHAKES and steps < max_steps:
            # If equal features share a coefficient evenly, where one alone would cost less, the
            # rounds are at rest at a saddle. Unequal factors break the symmetry.
            shaken, extrapolated, shakes = True, True, shakes + 1
            point = best.coefficients * (
                1.0 + SHAKE_SIZE * np.cos(np.arange(len(best.coefficients)))
            )
            continue
        if at_rest or steps >= max_steps:
            outcome = Outcome.STATIONARY if at_rest else Outcome.MAX_STEPS
            # The point is not certified if an undecided turn might still lower the cost, if a round
            # from it raised the cost, or if the misfits of exact rows, times their multipliers,
            # change the cost noticeably.
            rounding_cost = float(np.abs(best.multipliers).sum()) * best.violation
            if at_rest and not (
                promised >= (1.0 - UNDECIDED_GAIN) * value
                and not rose
                and rounding_cost <= LARGEST_ROUNDING * value
            ):
                outcome = Outcome.INACCURATE
            return replace(
                best,
                value=value,
                steps=steps,
                outcome=outcome,
                assumptions=(*best.assumptions, NOTE),
            )
        point, shaken = best.coefficients, False
        extrapolated = len(history) > 1 and limit is best and not close
        if extrapolated:
            point = cost.within(design, _extrapolated(history), point)


def _round(
    solve: Callable[[Cost], Limit],
    cost_of: Callable[[Limit], float],
    design: Design,
    cost: Concave,
    point: np.ndarray | None,
) -> tuple[Limit, float, float]:
    """Return the limit after both turns of a round, its cost, and the cost of undecided turns.

    The cost is infinite if no turn is solved. That of undecided turns is infinite if there are
    none; their coefficients may miss the rows.
    """
    best, value, undecided = None, np.inf, np.inf
    for turn in range(2):
        limit = solve(cost.touching(design, point, turn))
        # An undecided turn changes nothing, and neither does one that only adds rounding in
        # directions of 0, because this raises the cost.
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


def _extrapolated(history: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the point where rounds would rest if their changes were linear in their starts."""
    begins, ends = (np.array(points).T for points in zip(*history, strict=True))
    moves = ends - begins
    shares = np.linalg.lstsq(np.diff(moves), moves[:, -1], rcond=SMALLEST_SINGULAR)[0]
    return ends[:, -1] - np.diff(ends) @ shares


def _is_close(previous: np.ndarray, current: np.ndarray, tolerance: float) -> bool:
    size = float(np.abs(current).max(initial=0.0))
    return bool(np.abs(previous - current).max(initial=0.0) <= tolerance * size)
