r"""Second routes to the same optima, by linear algebra and by Newton's method, for checking.

Quadratic costs with equalities: in units in which every coefficient, slack and penalised
intercept costs half its square, the least-norm solution of linear equations. Hyperbolic entropy
with equalities: Newton's method on the dual, in extended precision.
"""

from __future__ import annotations

import numpy as np
from exact import orthonormal
from formulas import LONG, lower_bound
from problems import Problem


def least_squares(problem: Problem) -> float:
    """Return the least quadratic cost of equalities with linear algebra alone."""
    assert problem.cost == "quadratic"
    assert problem.fit == "equal"
    n = len(problem.targets)
    features = problem.matrix.astype(LONG) * np.sqrt(problem.weights.astype(LONG))[problem.labels]
    parts = [features, np.diag(np.sqrt(problem.slack.astype(LONG)))]
    if not isinstance(problem.intercept, str):
        parts.append(np.full((n, 1), 1 / np.sqrt(LONG(problem.intercept))))
    whole, targets = np.hstack(parts), problem.targets.astype(LONG)
    if problem.intercept == "free":
        # Differences of the rows from the first are blind to a constant.
        whole, targets = whole[1:] - whole[0], targets[1:] - targets[0]
        if not len(targets):
            return 0.0
    _, turn = orthonormal(whole)
    # The least-norm solution of Q u = T y is Q^T T y.
    return float(((turn @ targets) ** 2).sum() / 2)


def newton_dual(problem: Problem, steps: int = 500) -> float:
    """Return the least hyperbolic entropy of equalities, by ascent in the dual.

    The rows are orthonormal where none has slack.
    """
    assert problem.cost == "entropy"
    assert problem.fit == "equal"
    k, tilt = problem.width.astype(LONG), problem.tilt.astype(LONG)
    n = len(problem.targets)
    ones = np.ones((n, 1), dtype=LONG)
    basis, turn = problem.matrix.astype(LONG), np.eye(n, dtype=LONG)
    if problem.intercept == "free":
        turn = (np.eye(n) - np.eye(n)[:1])[1:].astype(LONG)
        basis = turn @ basis
    if not problem.slack.any():
        whole = basis if isinstance(problem.intercept, str) else np.hstack([basis, turn @ ones])
        turn = orthonormal(whole)[1] @ turn
        basis = turn @ problem.matrix.astype(LONG)
    targets = turn @ problem.targets.astype(LONG)
    soft = turn @ np.diag(problem.slack.astype(LONG)) @ turn.T
    if not isinstance(problem.intercept, str):
        soft = soft + turn @ ones @ ones.T @ turn.T / LONG(problem.intercept)
    v = np.zeros(len(targets), dtype=LONG)

    def value(v: np.ndarray) -> np.longdouble:
        pull = basis.T @ v
        with np.errstate(over="ignore"):
            rise = 2 * np.sinh(pull + tilt) * np.sinh(pull)
        return targets @ v - (k / 4 * rise).sum() - v @ soft @ v / 2

    for _ in range(steps):
        a = 2 * (basis.T @ v) + tilt
        slope = targets - basis @ (k / 2 * np.sinh(a)) - soft @ v
        curve = (basis * (k * np.cosh(a))) @ basis.T + soft
        unit = 1 / np.sqrt(np.diag(curve))
        step = unit * solved(curve * unit * unit[:, None], unit * slope)
        promise, share = slope @ step, LONG(1)
        if promise <= LONG(1e-17) * abs(value(v)):
            break
        while share > 1e-12 and not value(v + share * step) >= value(v) + share * promise / 10:
            share /= 2
        v = v + share * step
    return float(lower_bound(problem, turn.T @ v))


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve linear equations in extended precision: by elimination, the largest entry first."""
    rows = np.hstack([matrix, right[:, None]])
    n = len(matrix)
    for i in range(n):
        best = i + int(np.argmax(np.abs(rows[i:, i])))
        rows[[i, best]] = rows[[best, i]]
        rows[i] = rows[i] / rows[i, i]
        other_rows = np.arange(n) != i
        rows[other_rows] -= rows[other_rows, i : i + 1] * rows[i]
    return rows[:, n]
