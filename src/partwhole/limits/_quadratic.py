"""The quadratic cost with the fit Equal: linear systems, in the columns or through the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwhole.features.design import DenseDesign, Design
from partwhole.limits._certificate import Intercept, certified, slack_of
from partwhole.limits.costs import Cost
from partwhole.limits.fits import Fit
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.solvers import sparse_primal
from partwhole.limits.solvers.dual_newton import Border
from partwhole.limits.solvers.minimum_norm import solve_minimum_norm


def border_of(intercept: Intercept, n: int) -> Border:
    if intercept == "none":
        return Border(np.zeros((n, 0)))
    return Border(np.ones((n, 1)), 0.0 if intercept == "free" else float(intercept))


def out_of_reach(rest: np.ndarray, targets: np.ndarray, intercept: Intercept) -> bool:
    """Decide whether what is left of the targets is more than rounding."""
    free = targets - targets.mean(axis=0) if intercept == "free" else targets
    rounding = 64.0 * np.finfo(float).eps * float(np.abs(targets).max(initial=0.0))
    return bool(np.abs(rest).max(initial=0.0) > 1e-8 * np.abs(free).max(initial=0.0) + rounding)


def through_columns(
    design: Any,
    targets: np.ndarray,
    cost: Any,
    fit: Fit,
    intercept: Intercept,
    max_steps: int,
    tolerance: float,
) -> Limit:
    """Solve the quadratic cost with equality in the columns, never forming an n x n matrix."""
    cost.require_nonnegative(design)
    n = len(targets)
    weights = [cost.weight(block.label) for block in design.blocks]
    free, penalised = intercept == "free", not isinstance(intercept, str)
    if penalised and 1e13 * float(intercept) * (sum(weights) + np.mean(slack_of(fit, n))) < 1.0:
        # So small a penalty can't be told from none in double precision.
        free, penalised = True, False
    wide = design
    if penalised:
        # A penalised intercept is the conjunction of no components.
        weights = [1.0 / float(intercept), *weights]
        wide = design.with_constant()
    used = [i for i, weight in enumerate(weights) if weight > 0]
    sizes = [block.stop - block.start for block in wide.blocks]
    steps, outcome = 0, Outcome.SOLVED
    if np.all(slack_of(fit, n) > 0):
        found = sparse_primal.solve_ridge(
            [wide.index[i] for i in used],
            [sizes[i] for i in used],
            [weights[i] for i in used],
            targets,
            fit.slack if np.ndim(fit.slack) else float(np.asarray(fit.slack)),
            free_intercept=free,
            tolerance=max(tolerance, 1e-13),
            max_steps=100 * max_steps,
        )
        packed, constant, v, steps = (
            found.coefficients, found.intercept, found.multipliers, found.steps,
        )  # fmt: skip
        outcome = Outcome.SOLVED if found.converged else Outcome.MAX_STEPS
        keep = np.repeat(np.asarray(weights) > 0, sizes)
        coefficients = np.zeros((len(keep), *targets.shape[1:]))
        coefficients[keep] = packed
    else:
        root = np.repeat(np.sqrt(np.asarray(weights, dtype=float)), sizes)
        columns = targets.reshape(n, -1)
        exact = solve_minimum_norm(wide, root, columns, free_intercept=free)
        v = exact.multipliers
        if out_of_reach(exact.rest, columns, intercept):
            outcome, v = Outcome.INFEASIBLE, exact.rest
        shape = targets.shape[1:]
        coefficients, constant = (
            exact.coefficients.reshape(-1, *shape),
            exact.intercept.reshape(shape),
        )
        v = v.reshape(targets.shape)
    if penalised:
        constant, coefficients = coefficients[0], coefficients[1:]
    return certified(
        design, targets, cost, fit, intercept, coefficients, constant, v, steps, outcome
    )


def through_kernel(
    design: Design, targets: np.ndarray, cost: Cost, fit: Fit, intercept: Intercept
) -> Limit:
    """Solve the quadratic cost with equality through the kernel: one Newton step, exact."""
    n = design.shape[0]
    border = border_of(intercept, n)
    q = border.columns.shape[1]
    system = np.zeros((n + q, n + q))
    system[:n, :n] = cost.dual(design, np.zeros(n)).hessian() + np.diag(slack_of(fit, n))
    system[:n, n:], system[n:, :n] = border.columns, border.columns.T
    system[n:, n:] = -border.penalty * np.eye(q)
    right = np.concatenate([targets, np.zeros((q, *targets.shape[1:]))])
    size, basis = np.linalg.eigh(system)
    keep = np.abs(size) > 1e-13 * np.abs(size).max() * np.sqrt(n)
    if keep.all():
        solved = np.linalg.solve(system, right)
    else:
        shares = basis[:, keep].T @ right
        solved = basis[:, keep] @ (shares / size[keep].reshape(-1, *[1] * (targets.ndim - 1)))
    v, rest = solved[:n], right - system @ solved
    outcome = Outcome.SOLVED
    if out_of_reach(rest, targets, intercept):
        # Squared in the kernel, small features can fall below its rounding.
        missed = left_over(design, targets, border)
        if missed is None or out_of_reach(missed, targets, intercept):
            outcome, v = Outcome.INFEASIBLE, rest[:n] if missed is None else missed
        else:
            outcome = Outcome.INACCURATE
    constant = solved[n] if q else np.zeros(targets.shape[1:])
    coefficients = cost.primal(design, v, None)
    return certified(design, targets, cost, fit, intercept, coefficients, constant, v, 1, outcome)


def left_over(design: Design, targets: np.ndarray, border: Border) -> np.ndarray | None:
    """Return what least squares over all features leaves of the targets, for dense designs."""
    if not isinstance(design, DenseDesign):
        return None
    columns = np.hstack([design.matrix, border.columns])
    return targets - columns @ np.linalg.lstsq(columns, targets, rcond=None)[0]
