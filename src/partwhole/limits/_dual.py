"""Convex costs, solved in the dual: equalities in reduced rows, inequalities by interior points.

The dual has one variable for each training row, however many features there are. Its solution is
polished, so that exact rows are met up to rounding, and then certified.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from partwhole.features.design import DenseDesign, Design, dense_features
from partwhole.limits._certificate import EPS, MISFIT, certified, dual_bound
from partwhole.limits._contradiction import contradiction, separated
from partwhole.limits._polish import missing_of_inequalities, polish
from partwhole.limits._quadratic import through_kernel
from partwhole.limits._reduction import ENTRIES, reduced
from partwhole.limits._units import Units, row_lengths
from partwhole.limits.costs import Cost, DualTerm, Quadratic
from partwhole.limits.fits import Equal, Margin, Tube
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.problem import Problem
from partwhole.limits.solvers.active_set import solve_one_sided
from partwhole.limits.solvers.dual_newton import Border, DualSolution, Term, smooth_newton
from partwhole.limits.solvers.primal_dual import primal_dual
from partwhole.limits.solvers.smooth_interior import smooth_interior_point

# Largest shortfall, relative to the margin or target, that is corrected by scaling the solution or
# by solving for a narrower tube.
LARGEST_CORRECTION = 1e-7
LEAST_EXCESS = 1e-9  # of the largest bound: a smaller excess of a constant fit is rounding


def equalities(problem: Problem, max_steps: int, tolerance: float) -> Limit:
    """Return the limit of a convex cost with the fit Equal.

    Where the cost is quadratic this is a linear system. Otherwise rows are first rewritten, if the
    features fit into memory: so nearly dependent rows lose no digits in the dual.
    """
    design, targets, cost = problem.design, problem.targets, problem.convex_cost
    several = targets.ndim > 1 or isinstance(cost, Quadratic)
    if several or cost.dual(design, np.zeros(len(targets))).is_quadratic:
        return through_kernel(problem)
    n, p = design.shape
    slack = problem.slack
    if n * p <= ENTRIES and problem.constants is None:
        rows = reduced(dense_features(design), targets, slack, problem.intercept, orthonormal=False)
        if rows.dropped and (proved := contradiction(problem)) is not None:
            return proved
        inner = DenseDesign(rows.rows, design.blocks)
        solution = _dual_solution(
            inner, rows.targets, cost, rows.slack, Border(np.zeros((len(rows.slack), 0))),
            max_steps, tolerance,
        )  # fmt: skip
        solved = solution.multipliers[0]
        coefficients, v, _ = polish(
            inner, cost, solved, solution.prices, rows.slack,
            lambda out: rows.targets - out, Border(np.zeros((len(rows.slack), 0))), np.zeros(0),
        )  # fmt: skip
        v, bound = dual_bound(inner, rows.targets, cost, rows.slack, coefficients, v)
        if solution.prices is not None:
            # Polishing may move multipliers out of a norm's bounds. The solver's may then give
            # the better lower bound once both are scaled back into the bounds.
            unpolished = dual_bound(inner, rows.targets, cost, rows.slack, coefficients, solved)
            v, bound = max((v, bound), unpolished, key=lambda candidate: candidate[1])
        bound += rows.rest
        row_rounding, precision = rows.rounding(v, coefficients), rows.precision
        v, constant = rows.multipliers(v), rows.intercept(coefficients)
    else:
        at_zero = cost.dual(design, np.zeros(n))
        level = _level(problem, at_zero.gradient)
        if level is not None:
            return certified(problem, _cheapest(problem, at_zero), level, np.zeros(n), 0)
        bound, border = None, Border(problem.columns, problem.penalty)
        row_rounding, precision = 0.0, EPS
        solution = _dual_solution(design, targets, cost, slack, border, max_steps, tolerance)
        v, constants = solution.multipliers[0], solution.border_coefficients[0]
        coefficients, v, constants = polish(
            design, cost, v, solution.prices, slack, lambda out: targets - out, border, constants
        )
        constant = problem.constant(constants)
    limit = certified(
        problem, coefficients, constant, v, solution.steps,
        exhausted=solution.steps >= max_steps, bound=bound, precision=precision,
        row_rounding=row_rounding,
    )  # fmt: skip
    if limit.outcome is Outcome.SOLVED or np.all(slack > 0):
        return limit
    proved = contradiction(problem)
    return limit if proved is None else replace(proved, steps=limit.steps)


def _dual_solution(
    design: Design,
    targets: np.ndarray,
    cost: Cost,
    slack: np.ndarray,
    border: Border,
    max_steps: int,
    tolerance: float,
) -> DualSolution:
    """Return the dual solution of equalities, computed in units in which numbers are about 1."""
    n = len(targets)
    at_zero = cost.dual(design, np.zeros(n))
    if n == 0:
        return _without_steps(np.zeros(0), at_zero, border)
    if at_zero.bounds is not None and np.all(slack > 0) and not border.columns.size:
        # With coefficients of 0 the multipliers are targets over slack. Where these are in the
        # domain of the conjugate, primal and dual values agree, so the solution is reached.
        slack_multipliers = targets / slack
        if at_zero.bounds.reach(slack_multipliers) >= 1.0:
            return _without_steps(slack_multipliers, at_zero, border)
    # The outputs at v = 0 (those of a pretrained network, say) may be larger than the targets.
    size = np.maximum(np.abs(targets), np.abs(at_zero.gradient))
    units = Units.of(row_lengths(design), slack, size)
    term, scaled_targets, columns = (
        units.term(_with_slack(cost, design, slack)), units.targets(targets), units.columns(border),
    )  # fmt: skip
    options = {"max_steps": max_steps, "tolerance": tolerance}
    # A trial step may overflow and is then shortened. The result is certified independently.
    with np.errstate(all="ignore"):
        if at_zero.bounds is not None:
            return units.unscaled(primal_dual(term, scaled_targets, None, columns, **options))
        return units.unscaled(smooth_newton(term, scaled_targets, columns, **options))


def _without_steps(multipliers: np.ndarray, at_zero: DualTerm, border: Border) -> DualSolution:
    """Return the dual solution at which the coefficients are the cheapest of all."""
    prices = None if at_zero.bounds is None else 0.0 * at_zero.bounds.room
    return DualSolution(
        multipliers[None], np.zeros((1, border.columns.shape[1])), 0, np.ones(1, dtype=bool),
        np.zeros(1, dtype=bool), prices=prices,
    )  # fmt: skip


def inequalities(problem: Problem, max_steps: int, tolerance: float) -> Limit:
    """Return the limit of a convex cost with the fit Margin or Tube."""
    design, targets, cost, fit = problem.design, problem.targets, problem.convex_cost, problem.fit
    assert not isinstance(fit, Equal)
    n, slack = design.shape[0], problem.slack
    at_zero = cost.dual(design, np.zeros(n))
    border = Border(problem.columns, problem.penalty)
    constraints = fit.one_sided(targets)
    cheapest = _cheapest(problem, at_zero)
    level = _level(problem, at_zero.gradient)
    if level is not None:
        return certified(problem, cheapest, level, np.zeros(n), 0)
    if at_zero.bounds is not None and np.all(slack > 0):
        # With coefficients of 0 the multipliers minimise the cost of slack alone. Where these are
        # in the domain of the conjugate, the solution is reached.
        squares = replace(at_zero, bounds=None, is_quadratic=True)
        v, constants, steps = _quadratic_inequalities(
            squares, targets, fit, slack, border, max_steps, tolerance
        )
        if at_zero.bounds.reach(v) >= 1.0:
            return certified(problem, cheapest, problem.constant(constants), v, steps)
    prices = None
    if at_zero.is_quadratic:
        v, constants, steps = _quadratic_inequalities(
            at_zero, targets, fit, slack, border, max_steps, tolerance
        )
    else:
        size = np.maximum(_largest_bounds(constraints, n), np.abs(at_zero.gradient))
        units = Units.of(row_lengths(design), slack, size)
        columns, sides = units.columns(border), units.one_sided(constraints)
        term = units.term(_with_slack(cost, design, slack))
        options = {"max_steps": max_steps, "tolerance": tolerance}
        with np.errstate(all="ignore"):
            if at_zero.bounds is not None:
                solution = primal_dual(term, units.targets(targets), sides, columns, **options)
            else:
                solution = smooth_interior_point(term, sides, columns, **options)
        solution = units.unscaled(solution)
        v, steps, prices = solution.multipliers[0], solution.steps, solution.prices
        constants = solution.border_coefficients[0]
    coefficients, polished, constants = polish(
        design, cost, v, prices, slack, missing_of_inequalities(targets, fit, v), border, constants
    )
    if isinstance(fit, Tube):
        # Rows that are nearly dependent may still miss the tube by a little. Solving for a tube
        # that is narrower by twice the shortfall puts all outputs inside the real one.
        outputs = design @ coefficients + border.columns @ constants
        shortfall = _largest_shortfall(fit, targets, outputs, slack)
        if (
            0.0 < shortfall <= LARGEST_CORRECTION * float(np.abs(targets).max())
            and fit.width > 2.0 * shortfall
        ):
            inner = missing_of_inequalities(
                targets, replace(fit, width=fit.width - 2.0 * shortfall), v
            )
            coefficients, polished, constants = polish(
                design, cost, v, prices, slack, inner, border, constants
            )
    if isinstance(fit, Margin):
        # Exact margins that rounding left slightly below 1 are restored by scaling the function.
        outputs = design @ coefficients + border.columns @ constants
        shortfall = _largest_shortfall(fit, targets, outputs, slack)
        factor = 1.0 + 2.0 * min(shortfall, LARGEST_CORRECTION)
        coefficients, constants = factor * coefficients, factor * constants
    exhausted, constant = steps >= max_steps, problem.constant(constants)
    limit = certified(problem, coefficients, constant, polished, steps, exhausted=exhausted)
    if limit.outcome is not Outcome.SOLVED:
        unpolished = certified(problem, coefficients, constant, v, steps, exhausted=exhausted)
        limit = min(
            limit, unpolished, key=lambda limit: (limit.outcome is not Outcome.SOLVED, limit.gap)
        )
    if limit.outcome is Outcome.SOLVED or np.all(slack > 0):
        return limit
    proved = separated(problem)
    return limit if proved is None else replace(proved, steps=limit.steps)


def _cheapest(problem: Problem, at_zero: DualTerm) -> np.ndarray:
    """Return the coefficients of multipliers of 0, the cheapest of all."""
    prices = None if at_zero.bounds is None else 0.0 * at_zero.bounds.room
    return problem.convex_cost.primal(problem.design, np.zeros(len(problem.targets)), prices)


def _level(problem: Problem, outputs: np.ndarray) -> np.ndarray | float | None:
    """Return a free intercept that, added to the outputs, fits all rows; None where none does."""
    targets, fit, columns = problem.targets, problem.fit, problem.constants
    if problem.intercept != "free":
        return None
    if columns is None:
        return None if isinstance(fit, Equal) else fit.constant(targets, outputs)
    if isinstance(fit, Equal):
        level = np.linalg.lstsq(columns, targets - outputs, rcond=None)[0]
        misfit = np.abs(targets - outputs - columns @ level).max(initial=0.0)
        return level if misfit <= MISFIT * np.abs(targets).max(initial=0.0) else None
    sides = fit.one_sided(targets)
    signed = sides.signs[:, None] * columns[sides.rows]
    bounds = sides.bounds - sides.signs * outputs[sides.rows]
    unit = float(np.abs(bounds).max(initial=0.0)) or 1.0
    # The level whose least excess over a bound is largest, up to the bounds' own size.
    from scipy.optimize import linprog

    q = columns.shape[1]
    program = linprog(
        np.append(np.zeros(q), -1.0),
        A_ub=np.hstack([-signed, np.ones((len(bounds), 1))]),
        b_ub=-bounds / unit,
        bounds=[(None, None)] * q + [(None, 1.0)],
        method="highs",
    )
    if program.status != 0 or program.x[q] <= LEAST_EXCESS:
        return None
    return unit * program.x[:q]


def _largest_shortfall(
    fit: Margin | Tube, targets: np.ndarray, outputs: np.ndarray, slack: np.ndarray
) -> float:
    """Return the largest misfit of a row without slack."""
    return float(np.abs(fit.misfit(targets, outputs))[slack == 0].max(initial=0.0))


def _quadratic_inequalities(
    term: DualTerm,
    targets: np.ndarray,
    fit: Margin | Tube,
    slack: np.ndarray,
    border: Border,
    max_steps: int,
    tolerance: float,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return multipliers, constants and steps of a one-sided fit whose conjugate is quadratic."""
    n, constraints = len(targets), fit.one_sided(targets)
    kernel = term.hessian() + np.diag(slack)
    units = Units.of_kernel(kernel, _largest_bounds(constraints, n))
    scaled = units.objective * (units.rows[:, None] * kernel * units.rows)
    solution = solve_one_sided(
        scaled[None], units.one_sided(constraints), units.columns(border),
        max_steps=max_steps, tolerance=tolerance,
    )  # fmt: skip
    solution = units.unscaled(solution)
    return solution.multipliers[0], solution.border_coefficients[0], solution.steps


def _largest_bounds(constraints: object, n: int) -> np.ndarray:
    """Return the largest absolute bound of each row."""
    out = np.zeros(n)
    np.maximum.at(out, constraints.rows, np.abs(constraints.bounds))  # pyright: ignore
    return out


def _with_slack(cost: Cost, design: Design, slack: np.ndarray) -> Term:
    """Return the conjugate plus the slack's term, as a function of the multipliers."""
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
