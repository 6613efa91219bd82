"""Quadratic costs with the fit Equal: linear systems in columns, a kernel or orthonormal rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr

from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.features.design import Design
from partwhole.limits._certificate import certified, infeasible
from partwhole.limits._contradiction import contradiction
from partwhole.limits._reduction import ENTRIES, reduced
from partwhole.limits.costs import Cost, Quadratic, Squares
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.problem import Intercept, Problem
from partwhole.limits.solvers import sparse_primal
from partwhole.limits.solvers.minimum_norm import solve_minimum_norm

# Smallest pivot of a kernel with ones on its diagonal at which a Cholesky factor keeps ten digits.
SMALLEST_PIVOT = 1e-6
# Eigenvalues of such a kernel below this share of the largest, for each row, are rounding.
SMALLEST_EIGENVALUE = 1e-13


def through_columns(problem: Problem, max_steps: int, tolerance: float) -> Limit:
    """Return the limit of a quadratic cost and equalities, without forming an n x n matrix."""
    design, targets, cost = problem.design, problem.targets, problem.cost
    fit, intercept = problem.fit, problem.intercept
    assert isinstance(design, ConjunctionDesign)
    assert isinstance(cost, Quadratic)
    cost.require_nonnegative(design)
    n, p = design.shape
    features = cost.features(design) if n * p <= ENTRIES and not problem.slack.any() else None
    if features is not None:
        limit = _through_rows(problem, features)
        return limit if limit.outcome is Outcome.SOLVED else contradiction(problem) or limit
    weights = [cost.weight(block.label) for block in design.blocks]
    free, penalised = intercept == "free", not isinstance(intercept, str)
    if penalised and 1e13 * float(intercept) * (sum(weights) + np.mean(problem.slack)) < 1.0:
        # In double precision so small a penalty is the same as none.
        free, penalised = True, False
    extended = design
    if penalised:
        # A penalised intercept is the conjunction of no components.
        weights = [1.0 / float(intercept), *weights]
        extended = design.with_constant()
    positive = [i for i, weight in enumerate(weights) if weight > 0]
    sizes = [block.stop - block.start for block in extended.blocks]
    steps, exhausted, proof = 0, False, None
    if not problem.is_exact:
        ridge = sparse_primal.solve_ridge(
            [extended.index[i] for i in positive],
            [sizes[i] for i in positive],
            [weights[i] for i in positive],
            targets,
            fit.slack if np.ndim(fit.slack) else float(np.asarray(fit.slack)),
            free_intercept=free,
            tolerance=max(tolerance, 1e-13),
            max_steps=100 * max_steps,
        )
        constant, v, steps = ridge.intercept, ridge.multipliers, ridge.steps
        exhausted = not ridge.converged
        keep = np.repeat(np.asarray(weights) > 0, sizes)
        coefficients = np.zeros((len(keep), *targets.shape[1:]))
        coefficients[keep] = ridge.coefficients
    else:
        root = np.repeat(np.sqrt(np.asarray(weights, dtype=float)), sizes)
        columns = targets.reshape(n, -1)
        exact = solve_minimum_norm(extended, root, columns, free_intercept=free)
        shape = targets.shape[1:]
        coefficients = exact.coefficients.reshape(-1, *shape)
        constant = exact.intercept.reshape(shape)
        v, proof = exact.multipliers.reshape(targets.shape), exact.rest.reshape(targets.shape)
    if penalised:
        constant, coefficients = coefficients[0], coefficients[1:]
    limit = certified(problem, coefficients, constant, v, steps, exhausted=exhausted)
    if limit.outcome is not Outcome.SOLVED and proof is not None:
        return infeasible(problem, proof, steps) or limit
    return limit


def through_kernel(problem: Problem) -> Limit:
    """Return the limit of a quadratic cost and equalities by a factorisation of its kernel.

    The kernel contains products of features and loses half of their digits where rows are nearly
    dependent. Small pivots show this; the features are then made orthonormal instead, where a
    dense matrix of them fits into memory.
    """
    design, targets, cost = problem.design, problem.targets, problem.convex_cost
    n, slack = len(targets), problem.slack
    kernel = cost.dual(design, np.zeros(n)).hessian()
    sums = np.diagonal(kernel) + slack
    if problem.constants is not None:
        limit = _through_eigenvectors(problem, kernel)
        return limit if limit.outcome is Outcome.SOLVED else contradiction(problem) or limit
    solution = None
    if (sums > 0).all():
        size = 1.0 / np.sqrt(sums)
        unit = size[:, None] * kernel * size
        unit[np.diag_indices(n)] = 1.0
        solution = _factored(unit, size, targets, problem.intercept)
    if solution is not None:
        v, constant = solution
        limit = certified(problem, cost.primal(design, v, None), constant, v, 1)
        if limit.outcome is Outcome.SOLVED:
            return limit
    features = _features(design, cost)
    if features is not None and isinstance(cost, Squares):
        limit = _through_rows(problem, features)
    else:
        limit = _through_eigenvectors(problem, kernel)
    if limit.outcome is Outcome.SOLVED or np.all(slack > 0):
        return limit
    return contradiction(problem) or limit


def _factored(
    unit: np.ndarray, size: np.ndarray, targets: np.ndarray, intercept: Intercept
) -> tuple[np.ndarray, np.ndarray | float] | None:
    """Return multipliers and intercept by a Cholesky factor; None where its pivots are small."""
    try:
        factor = cho_factor(unit, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    if float(np.diagonal(factor[0]).min()) ** 2 < SMALLEST_PIVOT:
        return None
    column = size if intercept != "none" else None
    solved_column = None if column is None else cho_solve(factor, column, check_finite=False)
    penalty = 0.0 if isinstance(intercept, str) else float(intercept)

    def solved(right: np.ndarray, missing: np.ndarray | float) -> tuple[np.ndarray, Any]:
        plain = cho_solve(factor, right, check_finite=False)
        if solved_column is None or column is None:
            return plain, 0.0 * plain[0]
        constant = (column @ plain - missing) / (column @ solved_column + penalty)
        return plain - np.multiply.outer(solved_column, constant), constant

    scaled_targets = (targets.T * size).T
    w, constant = solved(scaled_targets, 0.0)
    residual = scaled_targets - unit @ w
    missing: np.ndarray | float = 0.0
    if column is not None:
        residual = residual - np.multiply.outer(column, constant)
        missing = penalty * constant - column @ w
    correction, shift = solved(residual, missing)
    v = ((w + correction).T * size).T
    constant = constant + shift
    return v, float(constant) if targets.ndim == 1 else constant


def _features(design: Design, cost: Cost) -> np.ndarray | None:
    """Return features B whose inner products are the kernel; None if there are too many."""
    n, p = design.shape
    return cost.features(design) if n * p <= ENTRIES and isinstance(cost, Squares) else None


def _through_rows(problem: Problem, features: np.ndarray) -> Limit:
    """Return the limit by orthonormal rows, refined as long as the residual of rounding shrinks."""
    design, targets, cost = problem.design, problem.targets, problem.cost
    assert isinstance(cost, Squares)
    nonzero, slack = features.any(axis=0), problem.slack
    x, v, constant, bound, precision, row_rounding = _in_rows(
        features[:, nonzero], targets, slack, problem.intercept
    )
    best = None
    for _ in range(3):
        whole = np.zeros((features.shape[1], *targets.shape[1:]))
        whole[nonzero] = x
        coefficients = cost.from_features(design, whole)
        limit = certified(
            problem, coefficients, constant, v, 1, bound=bound, precision=precision,
            row_rounding=row_rounding,
        )  # fmt: skip
        # Beside rows that are nearly alike the residual may be rounding that grows.
        if best is not None and not limit.violation < 0.5 * best.violation:
            break
        best = limit
        if limit.outcome is Outcome.SOLVED:
            break
        residual = targets - design @ coefficients - constant - (slack * v.T).T
        correction = _in_rows(features[:, nonzero], residual, slack, problem.intercept)
        x, v, constant = x + correction[0], v + correction[1], constant + correction[2]
    assert best is not None
    return best


def _in_rows(
    features: np.ndarray, targets: np.ndarray, slack: np.ndarray, intercept: Intercept
) -> tuple[np.ndarray, np.ndarray, np.ndarray | float, float, float, float]:
    """Return coefficients of the features, multipliers, intercept and the least cost.

    The last two values are the precision of the rewritten rows, and the error of the least cost
    from their rounding.
    """
    rows = reduced(features, targets, slack, intercept)
    soft = np.flatnonzero(rows.slack > 0)
    # Slack is one more feature that only its row has; all rows are exact then.
    private = np.zeros((len(rows.slack), len(soft)))
    private[soft, np.arange(len(soft))] = 1.0
    exact = reduced(
        np.hstack([rows.rows, private]), rows.targets, np.zeros(len(rows.slack)), "none"
    )
    x = (exact.rows.T @ exact.targets)[: features.shape[1]]
    # For orthonormal rows the multipliers are the targets.
    w = exact.multipliers(exact.targets)
    least = 0.5 * float(np.sum(exact.targets**2)) + rows.rest
    row_rounding = rows.rounding(w, x)
    return x, rows.multipliers(w), rows.intercept(x), least, rows.precision, row_rounding


def _through_eigenvectors(problem: Problem, kernel: np.ndarray) -> Limit:
    """Return the limit by the kernel's eigenvectors, if no features of it are available."""
    targets, columns = problem.targets, problem.columns
    n, slack, penalty = len(targets), problem.slack, problem.penalty
    full = kernel + np.diag(slack)
    if penalty:
        full = full + columns @ columns.T / penalty
    sums = np.diagonal(full)
    size = 1.0 / np.sqrt(np.where(sums > 0, sums, 1.0))
    scaled_targets = (targets.T * size).T
    basis = np.eye(n)
    if columns.size and not penalty:
        # A free intercept requires multipliers orthogonal to its columns.
        basis = np.asarray(qr(size[:, None] * columns)[0])[:, columns.shape[1] :]
    inner = basis.T @ (size[:, None] * full * size) @ basis
    values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
    carried = values > SMALLEST_EIGENVALUE * n * max(float(values[-1]), 0.0)
    vectors = basis @ vectors[:, carried]

    def solved(right: np.ndarray) -> np.ndarray:
        return vectors @ ((vectors.T @ right).T / values[carried]).T

    w = solved(scaled_targets)
    w = w + solved(scaled_targets - (size[:, None] * full * size) @ w)
    v = (w.T * size).T
    rest = scaled_targets - (size[:, None] * full * size) @ w
    if penalty:
        constant = problem.constant(columns.T @ v / penalty)
    else:
        scaled_columns = size[:, None] * columns
        constants = np.linalg.lstsq(scaled_columns, rest, rcond=None)[0]
        constant, rest = problem.constant(constants), rest - scaled_columns @ constants
    limit = certified(problem, problem.convex_cost.primal(problem.design, v, None), constant, v, 1)
    if limit.outcome is not Outcome.SOLVED:
        return infeasible(problem, (rest.T / size).T, 1) or limit
    return limit
