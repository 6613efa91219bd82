"""Whether what `solve` returns is right, by oracles that share nothing with it."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from concave import descent
from conic import Optimum, least
from feasibility import feasible
from formulas import misfits, rounding_felt, row_sizes, total, unit_of_cost, without_left_out
from problems import CONCAVE, ORDINARY, Problem
from several import as_one

import partwhole as pw
from partwhole._checks import InputError
from partwhole.limits import Limit, Outcome

VALUE = 1e-6  # relative, between the value and the least cost
RECOMPUTED = 1e-8  # relative, between the value and the objective at the coefficients
GAP = 1e-8  # relative: by so much a gap may lie below 0, and above what it bounds
VIOLATION = (
    1e-6  # of the bounds of a row without slack, or of its features at coefficients of usual size
)
ROUNDING = 1e-11  # of the unit of cost
CONDITION = 1e-14  # of each row's numbers: to move them by so much moves the cost by v times it
DECIDED = 1e-7  # relative distance of the oracle's bounds


class Verdict(Enum):
    """What is said of one result, the failures first."""

    WRONG = "wrong"
    FALSE_INFEASIBLE = "false infeasible"
    RAW = "raw error"
    REFUSED = "refused"
    GAVE_UP = "gave up"
    UNDECIDED = "oracle undecided"
    RIGHT = "right"


FAILURES = (Verdict.WRONG, Verdict.FALSE_INFEASIBLE, Verdict.RAW)


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason and the time the library took."""

    name: str
    verdict: Verdict
    reason: str = ""
    seconds: float = 0.0


def solve(problem: Problem) -> Limit:
    """Give the problem to the library; warnings are errors."""
    given = problem if problem.posed is None else problem.posed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        limit = pw.solve(
            (given.design(), given.targets.copy()),
            cost=given.library_cost(),
            fit=given.library_fit(),
            intercept=given.intercept,
        )
    return limit if problem.posed is None else as_one(problem, limit)


def judge(problem: Problem) -> Judgement:
    """Solve a problem and judge the result."""
    begin = time.perf_counter()
    try:
        limit = solve(problem)
    except InputError as error:
        spent = time.perf_counter() - begin
        sentence = str(error)
        is_sentence = "\n" not in sentence and sentence.count(";") >= 2
        verdict = Verdict.REFUSED if is_sentence else Verdict.RAW
        return Judgement(problem.name, verdict, f"InputError: {sentence}", spent)
    except Exception as error:
        spent = time.perf_counter() - begin
        return Judgement(problem.name, Verdict.RAW, f"{type(error).__name__}: {error}", spent)
    spent = time.perf_counter() - begin
    try:
        judgement = judge_limit(problem, limit)
    except Exception as error:  # one problem must not end a long run
        judgement = Judgement(
            problem.name, Verdict.UNDECIDED, f"oracle: {type(error).__name__}: {error}"
        )
    return replace(judgement, seconds=spent)


def judge_limit(problem: Problem, limit: Limit) -> Judgement:
    """Judge a limit of a problem."""

    def say(verdict: Verdict, reason: str = "") -> Judgement:
        return Judgement(problem.name, verdict, reason)

    if limit.outcome in (Outcome.INACCURATE, Outcome.MAX_STEPS):
        return say(Verdict.GAVE_UP, limit.outcome.name)
    posed = without_left_out(problem)
    fits = feasible(posed)
    if limit.outcome is Outcome.INFEASIBLE:
        return (
            say(Verdict.FALSE_INFEASIBLE, "INFEASIBLE, but a function fits")
            if fits
            else say(Verdict.RIGHT, "infeasible" if fits is False else "at the edge")
        )
    concave = problem.cost in CONCAVE
    if (limit.outcome is Outcome.STATIONARY) is not concave:
        return say(Verdict.WRONG, f"outcome {limit.outcome.name} for the cost {problem.cost}")
    numbers = [limit.coefficients, limit.intercept, limit.value, limit.gap, limit.violation]
    if not all(np.all(np.isfinite(number)) for number in numbers):
        return say(Verdict.WRONG, "numbers that are not finite")
    c, b = np.asarray(limit.coefficients, dtype=float), float(limit.intercept)
    missed = np.where(problem.slack > 0, 0.0, np.abs(misfits(problem, c, b)).astype(float))
    sizes = row_sizes(problem, c, b)
    bound = row_sizes(problem, 0 * c, 0.0)
    row = np.abs(problem.matrix).max(axis=1, initial=0.0 if problem.intercept == "none" else 1.0)
    largest = np.max(bound / np.where(row > 0, row, np.inf), initial=0.0)
    allowed = VIOLATION * np.maximum(bound, largest * row) + 1e-13 * sizes
    if np.any(missed > allowed):
        worst = int(np.argmax(missed - allowed))
        return say(
            Verdict.WRONG,
            f"{limit.outcome.name}, but row {worst} is missed by {missed[worst]:.1e} "
            f"where {allowed[worst]:.1e} is allowed",
        )
    if fits is False:
        return say(Verdict.WRONG, f"{limit.outcome.name}, but nothing fits")
    unit = unit_of_cost(posed)
    floor = max(ROUNDING * unit, 1e-200)
    value = float(total(problem, c, b))
    felt = RECOMPUTED * abs(value) + rounding_felt(problem, c, b) + floor
    if not abs(limit.value - value) <= felt:
        return say(Verdict.WRONG, f"value {limit.value:.9g}, at its coefficients {value:.9g}")
    if concave:
        lower = descent(problem, c, b)
        if value - lower > VALUE * value + floor:
            return say(Verdict.WRONG, f"STATIONARY at {value:.9g}, descent reaches {lower:.9g}")
        if problem.name.split(" / ")[-2] in ORDINARY:
            # The library begins its descent at its own solution of two layers.
            convex = "group" if problem.cost == "chain" else "nuclear"
            limit_of_two = solve(replace(problem, cost=convex))
            start = float(total(problem, limit_of_two.coefficients, float(limit_of_two.intercept)))
            if limit_of_two.outcome is Outcome.SOLVED and value > start * (1 + VALUE) + floor:
                return say(Verdict.WRONG, f"STATIONARY at {value:.9g}, began at {start:.9g}")
        return say(Verdict.RIGHT)
    judged = _against(posed, limit, least(posed, floor), floor)
    if fits is None and judged.verdict is Verdict.UNDECIDED:
        return say(Verdict.RIGHT, "at the edge")
    return judged


def _against(problem: Problem, limit: Limit, best: Optimum, floor: float) -> Judgement:
    """Judge a solution beside the least cost."""

    def say(verdict: Verdict, reason: str = "") -> Judgement:
        return Judgement(problem.name, verdict, reason)

    c, b = np.asarray(limit.coefficients, dtype=float), float(limit.intercept)
    v = np.abs(best.multipliers)
    condition = CONDITION * float((v * row_sizes(problem, best.coefficients, best.intercept)).sum())
    condition += CONDITION * float((v * row_sizes(problem, c, b)).sum())
    scale = best.above if np.isfinite(best.above) else best.below
    close = VALUE * abs(scale) + floor + condition
    values = f"value {limit.value:.9g}, least cost {best.below:.9g}..{best.above:.9g}"
    if best.below > best.above + close:
        return say(Verdict.UNDECIDED, f"bounds that contradict each other: {values}")
    if not best.below - close <= limit.value <= best.above + close:
        return say(Verdict.WRONG, f"{values}, gap {limit.gap:.1e}")
    if best.width >= DECIDED and best.above - best.below >= floor:
        # The library's own point may meet the rows, at a cost that is the bound from below.
        missed = np.where(problem.slack > 0, 0.0, np.abs(misfits(problem, c, b)).astype(float))
        if limit.value - best.below + float((v * missed).sum()) > close:
            return say(Verdict.UNDECIDED, values)
        # How near within that is known no better than the bounds are.
        if limit.gap < -close:
            return say(Verdict.WRONG, f"{values}, negative gap {limit.gap:.1e}")
        return say(Verdict.RIGHT)
    # Bounds in the wrong order are as uncertain as they are apart.
    fine = GAP * abs(best.above) + floor + condition + abs(best.above - best.below)
    if limit.value - best.above > limit.gap + fine:
        return say(Verdict.WRONG, f"{values}, but the gap is {limit.gap:.1e}")
    if limit.gap < -fine:
        return say(Verdict.WRONG, f"{values}, negative gap {limit.gap:.1e}")
    return say(Verdict.RIGHT)
