"""Convex costs in the dual: equalities in reduced rows, inequalities by interior points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from partwhole.features.design import DenseDesign, Design
from partwhole.limits._certificate import EPS, certified, dual_bound
from partwhole.limits._contradiction import contradiction, separated
from partwhole.limits._polish import met, sided
from partwhole.limits._quadratic import border_of, through_kernel
from partwhole.limits._reduction import ENTRIES, reduced
from partwhole.limits._units import Units, row_lengths
from partwhole.limits.costs import Cost, DualTerm, Quadratic
from partwhole.limits.costs._matrices import dense_features
from partwhole.limits.fits import Equal, Margin, Tube
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.problem import Problem
from partwhole.limits.solvers.active_set import solve_one_sided
from partwhole.limits.solvers.dual_newton import Border, DualSolution, Term, smooth_newton
from partwhole.limits.solvers.primal_dual import primal_dual
from partwhole.limits.solvers.smooth_interior import smooth_interior_point

ROUNDED = 1e-7  # of a margin or target: what a scale or a narrower tube may take up


def equalities(problem: Problem, max_steps: int, tolerance: float) -> Limit:
    """Solve any convex cost with the fit Equal: as a linear system where the cost is quadratic."""
    design, targets, cost = problem.design, problem.targets, problem.cost
    assert isinstance(cost, Cost)
    several = targets.ndim > 1 or isinstance(cost, Quadratic)
    if several or cost.dual(design, np.zeros(len(targets))).is_quadratic:
        return through_kernel(problem)
    n, p = design.shape
    slack = problem.slack
    if n * p <= ENTRIES:
        rows = reduced(dense_features(design), targets, slack, problem.intercept, orthonormal=False)
        if rows.dropped and (proved := contradiction(problem)) is not None:
            return proved
        inner = DenseDesign(rows.rows, design.blocks)
        solution = _solved(
            inner, rows.targets, cost, rows.slack, Border(np.zeros((len(rows.slack), 0))),
            max_steps, tolerance,
        )  # fmt: skip
        solved = solution.multipliers[0]
        coefficients, v, _ = met(
            inner, cost, solved, solution.prices, rows.slack,
            lambda out: rows.targets - out, Border(np.zeros((len(rows.slack), 0))), 0.0,
        )  # fmt: skip
        v, bound = dual_bound(inner, rows.targets, cost, rows.slack, coefficients, v)
        if solution.prices is not None:
            # Of a norm's polished multipliers and the solver's, those that bound the cost better.
            unpolished = dual_bound(inner, rows.targets, cost, rows.slack, coefficients, solved)
            v, bound = max((v, bound), unpolished, key=lambda candidate: candidate[1])
        bound += rows.rest
        turned, precision = rows.rounding(v, coefficients), rows.precision
        v, constant = rows.multipliers(v), rows.intercept(coefficients)
    else:
        bound, border = None, border_of(problem.intercept, n)
        turned, precision = 0.0, EPS
        solution = _solved(design, targets, cost, slack, border, max_steps, tolerance)
        v, constant = solution.multipliers[0], float(solution.border_coefficients[0].sum())
        coefficients, v, constant = met(
            design, cost, v, solution.prices, slack, lambda out: targets - out, border, constant
        )
    limit = certified(
        problem, coefficients, constant, v, solution.steps,
        exhausted=solution.steps >= max_steps, bound=bound, precision=precision, turned=turned,
    )  # fmt: skip
    if limit.outcome is Outcome.SOLVED or np.all(slack > 0):
        return limit
    proved = contradiction(problem)
    return limit if proved is None else replace(proved, steps=limit.steps)


def _solved(
    design: Design,
    targets: np.ndarray,
    cost: Cost,
    slack: np.ndarray,
    border: Border,
    max_steps: int,
    tolerance: float,
) -> DualSolution:
    """Solve equalities in units of their own."""
    n = len(targets)
    first = cost.dual(design, np.zeros(n))
    if n == 0:
        return _still(np.zeros(0), first, border)
    if first.bounds is not None and np.all(slack > 0) and not border.columns.size:
        # What slack alone would cost; where it stays in the bounds, coefficients of 0 are best.
        alone = targets / slack
        if first.bounds.reach(alone) >= 1.0:
            return _still(alone, first, border)
    # Outputs at the start may be larger than the targets.
    size = np.maximum(np.abs(targets), np.abs(first.gradient))
    units = Units.of(row_lengths(design), slack, size)
    term, wanted, columns = (
        units.term(_with_slack(cost, design, slack)), units.wanted(targets), units.columns(border),
    )  # fmt: skip
    limits = {"max_steps": max_steps, "tolerance": tolerance}
    # A step may go beyond all numbers; what it ends at is certified by itself.
    with np.errstate(all="ignore"):
        if first.bounds is not None:
            return units.back(primal_dual(term, wanted, None, columns, **limits))
        return units.back(smooth_newton(term, wanted, columns, **limits))


def _still(multipliers: np.ndarray, first: DualTerm, border: Border) -> DualSolution:
    """Return multipliers that need no steps and leave the coefficients at their cheapest."""
    prices = None if first.bounds is None else 0.0 * first.bounds.room
    return DualSolution(
        multipliers[None], np.zeros((1, border.columns.shape[1])), 0, np.ones(1, dtype=bool),
        np.zeros(1, dtype=bool), prices=prices,
    )  # fmt: skip


def inequalities(problem: Problem, max_steps: int, tolerance: float) -> Limit:
    """Solve any convex cost with a one-sided fit."""
    design, targets, cost, fit = problem.design, problem.targets, problem.cost, problem.fit
    assert isinstance(cost, Cost)
    assert not isinstance(fit, Equal)
    n, slack = design.shape[0], problem.slack
    first, border = cost.dual(design, np.zeros(n)), border_of(problem.intercept, n)
    constraints = fit.one_sided(targets)
    nothing = None if first.bounds is None else 0.0 * first.bounds.room
    cheapest = cost.primal(design, np.zeros(n), nothing)
    level = fit.constant(targets, first.gradient) if problem.intercept == "free" else None
    if level is not None:
        return certified(problem, cheapest, level, np.zeros(n), 0)
    if first.bounds is not None and np.all(slack > 0):
        # What slack alone would cost; where it stays in the bounds, coefficients of 0 are best.
        squares = replace(first, bounds=None, is_quadratic=True)
        v, constant, steps = _quadratic(squares, targets, fit, slack, border, max_steps, tolerance)
        if first.bounds.reach(v) >= 1.0:
            return certified(problem, cheapest, constant, v, steps)
    prices = None
    if first.is_quadratic:
        v, constant, steps = _quadratic(first, targets, fit, slack, border, max_steps, tolerance)
    else:
        size = np.maximum(_bounds(constraints, n), np.abs(first.gradient))
        units = Units.of(row_lengths(design), slack, size)
        columns, sides = units.columns(border), units.one_sided(constraints)
        term = units.term(_with_slack(cost, design, slack))
        limits = {"max_steps": max_steps, "tolerance": tolerance}
        with np.errstate(all="ignore"):
            if first.bounds is not None:
                solution = primal_dual(term, units.wanted(targets), sides, columns, **limits)
            else:
                solution = smooth_interior_point(term, sides, columns, **limits)
        solution = units.back(solution)
        v, steps, prices = solution.multipliers[0], solution.steps, solution.prices
        constant = float(solution.border_coefficients[0].sum())
    coefficients, polished, constant = met(
        design, cost, v, prices, slack, sided(targets, fit, v), border, constant
    )
    if isinstance(fit, Tube):
        # What rows that are nearly alike still miss, a tube narrower by as much takes up.
        short = _short(fit, targets, design @ coefficients + constant, slack)
        if 0.0 < short <= ROUNDED * float(np.abs(targets).max()) and fit.width > 2.0 * short:
            inner = sided(targets, replace(fit, width=fit.width - 2.0 * short), v)
            coefficients, polished, constant = met(
                design, cost, v, prices, slack, inner, border, constant
            )
    if isinstance(fit, Margin):
        # What is left of exact margins by rounding, a scale takes up.
        short = _short(fit, targets, design @ coefficients + constant, slack)
        factor = 1.0 + 2.0 * min(short, ROUNDED)
        coefficients, constant = factor * coefficients, factor * constant
    exhausted = steps >= max_steps
    limit = certified(problem, coefficients, constant, polished, steps, exhausted=exhausted)
    if limit.outcome is not Outcome.SOLVED:
        other = certified(problem, coefficients, constant, v, steps, exhausted=exhausted)
        limit = min(
            limit, other, key=lambda limit: (limit.outcome is not Outcome.SOLVED, limit.gap)
        )
    if limit.outcome is Outcome.SOLVED or np.all(slack > 0):
        return limit
    proved = separated(problem)
    return limit if proved is None else replace(proved, steps=limit.steps)


def _short(
    fit: Margin | Tube, targets: np.ndarray, outputs: np.ndarray, slack: np.ndarray
) -> float:
    """Return the most by which an exact row falls short."""
    return float(np.abs(fit.misfit(targets, outputs))[slack == 0].max(initial=0.0))


def _quadratic(
    term: DualTerm,
    targets: np.ndarray,
    fit: Margin | Tube,
    slack: np.ndarray,
    border: Border,
    max_steps: int,
    tolerance: float,
) -> tuple[np.ndarray, float, int]:
    """Return multipliers, intercept and steps of a one-sided fit with a quadratic conjugate."""
    n, constraints = len(targets), fit.one_sided(targets)
    kernel = term.hessian() + np.diag(slack)
    units = Units.of_kernel(kernel, _bounds(constraints, n))
    scaled = units.objective * (units.rows[:, None] * kernel * units.rows)
    solution = solve_one_sided(
        scaled[None], units.one_sided(constraints), units.columns(border),
        max_steps=max_steps, tolerance=tolerance,
    )  # fmt: skip
    solution = units.back(solution)
    constant = float(solution.border_coefficients[0].sum())
    return solution.multipliers[0], constant, solution.steps


def _bounds(constraints: object, n: int) -> np.ndarray:
    """Return the largest bound of each row."""
    out = np.zeros(n)
    np.maximum.at(out, constraints.rows, np.abs(constraints.bounds))  # pyright: ignore
    return out


def _with_slack(cost: Cost, design: Design, slack: np.ndarray) -> Term:
    """Return the cost's conjugate with the slack's part, as a function of the multipliers."""
    if not slack.any():
        return lambda v: cost.dual(design, v)

    def term(v: np.ndarray) -> DualTerm:
        at = cost.dual(design, v)
        return replace(
            at,
            value=at.value + 0.5 * float(slack @ v**2),
            gradient=at.gradient + slack * v,
            hessian=lambda: at.hessian() + np.diag(slack),
        )

    return term
