r"""Costs, conjugates and bounds, from their definitions and in extended precision.

Every problem is :math:`\min R(c) + \sum_i \xi_i^2 / (2 s_i) + \tfrac\lambda2 b^2` such that
:math:`l \le A c + b + \xi \le u`, with :math:`l = u = y` for equalities, one side infinite for
margins. For any multipliers v (positive where l binds, negative where u does)

.. math:: \sum_i \max(v_i, 0)\, l_i + \min(v_i, 0)\, u_i - R^*(A^T v)
          - \tfrac12 \sum_i s_i v_i^2 - (\sum_i v_i)^2 / (2 \lambda)

is at most the least cost, by weak duality; with a free intercept, if :math:`\sum_i v_i = 0`.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from problems import Problem

LONG = np.longdouble


def joint_weights(problem: Problem) -> np.ndarray:
    """Return the matrix from a gated design's coefficients to the weights in joint contexts."""
    assert problem.gates is not None
    inputs, contexts, count = problem.gates
    units, d = contexts.shape[1], inputs.shape[1]
    rows = []
    for joint in itertools.product(range(count), repeat=units):
        for k in range(d):
            row = np.zeros((units, count, d))
            for unit, context in enumerate(joint):
                row[unit, context, k] = 1.0
            rows.append(row.ravel())
    return np.array(rows)


def left_out(problem: Problem) -> np.ndarray:
    """Return the columns whose coefficients must be 0."""
    if problem.cost == "quadratic":
        return (problem.weights == 0)[problem.labels]
    if problem.cost == "weighted group":
        return np.isinf(problem.weights)[problem.labels]
    return np.zeros(problem.matrix.shape[1], dtype=bool)


def without_left_out(problem: Problem) -> Problem:
    """Return the problem whose columns that must have coefficients of 0 are 0 themselves."""
    out = left_out(problem)
    if not out.any():
        return problem
    weights = np.where(np.isfinite(problem.weights) & (problem.weights > 0), problem.weights, 1.0)
    return replace(problem, matrix=np.where(out, 0.0, problem.matrix), weights=weights)


def block_norms(problem: Problem, vector: np.ndarray) -> np.ndarray:
    """Return the Euclidean norm of each block, in the vector's precision."""
    largest = np.abs(vector).max(initial=0.0)
    unit = vector / largest if largest > 0 else vector
    return np.sqrt(np.add.reduceat(unit**2, problem.starts)) * largest


def singular_values(problem: Problem, vector: np.ndarray) -> np.ndarray:
    """Return the singular values of each block as a matrix of rows."""
    blocks = vector.astype(float).reshape(len(problem.sizes), problem.rows, -1)
    return np.linalg.svd(blocks, compute_uv=False)


def price(problem: Problem, coefficients: np.ndarray) -> np.longdouble:
    """Return R(c)."""
    c = coefficients.astype(LONG)
    out = left_out(problem)
    if out.any():
        if np.any(c[out]):
            return LONG(np.inf)
        weights = np.where(np.isfinite(problem.weights) & (problem.weights > 0), problem.weights, 1)
        problem = replace(problem, weights=weights)
    match problem.cost:
        case "quadratic":
            return (c**2 / (2 * problem.weights.astype(LONG)[problem.labels])).sum()
        case "l1":
            return np.abs(c).sum()
        case "group":
            return block_norms(problem, c).sum()
        case "weighted group":
            return (problem.weights.astype(LONG) * block_norms(problem, c)).sum()
        case "nuclear":
            return LONG(singular_values(problem, c).sum())
        case "function":
            return ((joint_weights(problem).astype(LONG) @ c) ** 2).sum() / 2
        case "chain":
            return (block_norms(problem, c) ** (LONG(2) / problem.layers)).sum()
        case "schatten":
            # Matrices of floating-point numbers have no singular values of 0 but rounded ones.
            size = singular_values(problem, c).astype(LONG)
            in_use = size > 1e-12 * size.max(initial=0.0)
            return (size[in_use] ** (LONG(2) / problem.layers)).sum()
    # The Bregman divergence of sum b asinh(2 b / k) - sqrt(b^2 + k^2 / 4), halved, from its start:
    # k / 4 [d sinh(a) - cosh(a) + cosh(tilt)] with a = asinh(2 b / k) and d = a - tilt.
    k, tilt = problem.width.astype(LONG), problem.tilt.astype(LONG)
    return (k / 4 * _curved(np.arcsinh(2 * c / k) - tilt, tilt)).sum()


def _curved(d: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    """Return d sinh(t + d) - cosh(t + d) + cosh(t), by its series where d is small.

    It is sinh t (d cosh d - sinh d) + cosh t (d sinh d - cosh d + 1), and the brackets are the
    sums of (m - 1) d^m / m! over odd and over even m.
    """
    is_small = np.abs(d) < 0.5
    term = np.where(is_small, d, 0.0)
    e, sums = term, [np.zeros_like(term), np.zeros_like(term)]
    for m in range(2, 26):
        term = term * e / m
        sums[m % 2] = sums[m % 2] + (m - 1) * term
    with np.errstate(over="ignore"):
        large = d * np.sinh(tilt + d) - np.cosh(tilt + d) + np.cosh(tilt)
    return np.where(is_small, np.sinh(tilt) * sums[1] + np.cosh(tilt) * sums[0], large)


def outputs(problem: Problem, c: np.ndarray, b: float) -> np.ndarray:
    """Return A c + b."""
    return problem.matrix.astype(LONG) @ c.astype(LONG) + LONG(b)


def misfits(
    problem: Problem, c: np.ndarray, b: float, shift: np.ndarray | None = None
) -> np.ndarray:
    """Return by how much each row misses its bounds, which a shift lowers."""
    low, high = problem.bounds()
    out = outputs(problem, c, b) + (0 if shift is None else shift)
    return np.maximum(0, low - out) - np.maximum(0, out - high)


def total(
    problem: Problem, c: np.ndarray, b: float, shift: np.ndarray | None = None
) -> np.longdouble:
    """Return the whole objective: cost, slack used and a penalised intercept."""
    missed, soft = misfits(problem, c, b, shift), problem.slack > 0
    value = price(problem, c) + (missed[soft] ** 2 / (2 * problem.slack[soft].astype(LONG))).sum()
    if not isinstance(problem.intercept, str):
        value += LONG(problem.intercept) * LONG(b) ** 2 / 2
    return value


def rounding_felt(problem: Problem, c: np.ndarray, b: float) -> float:
    """Return by how much slack and the price would grow if coefficients were rounded once more.

    Of the prices that of entropy alone is 0 at coefficients that are not 0, nor exact numbers.
    """
    soft = problem.slack > 0
    slack = problem.slack[soft].astype(LONG)
    missed = np.abs(misfits(problem, c, b))[soft]
    blur = (np.finfo(float).eps * row_sizes(problem, c, b))[soft]
    felt = float(((missed * blur + blur**2 / 2) / slack).sum())
    if problem.cost == "entropy":
        k, c = problem.width.astype(LONG), c.astype(LONG)
        slope = np.abs(np.arcsinh(2 * c / k) - problem.tilt) / 2
        rounding = np.finfo(float).eps * np.abs(c)
        felt += float((slope * rounding + rounding**2 / np.sqrt(k**2 + 4 * c**2)).sum())
    return felt


def row_sizes(problem: Problem, c: np.ndarray, b: float) -> np.ndarray:
    """Return the size of the numbers that are added in each row."""
    low, high = problem.bounds()
    bound = np.maximum(np.where(np.isfinite(low), np.abs(low), 0),
                       np.where(np.isfinite(high), np.abs(high), 0))  # fmt: skip
    return (bound + np.abs(problem.matrix) @ np.abs(c) + abs(b)).astype(float)


def lower_bound(problem: Problem, multipliers: np.ndarray) -> np.longdouble:
    """Return a bound from below, from any multipliers: they are first made admissible."""
    low, high = (side.astype(LONG) for side in problem.bounds())
    v = multipliers.astype(LONG)
    v = np.where((v > 0) & ~np.isfinite(low) | (v < 0) & ~np.isfinite(high), 0, v)
    for _ in range(3 if problem.intercept == "free" else 0):
        whole = np.abs(v).sum()
        v = v * (1 - np.sign(v) * v.sum() / whole) if whole > 0 else v
    gain = np.where(v > 0, v * np.where(np.isfinite(low), low, 0), 0).sum()
    gain += np.where(v < 0, v * np.where(np.isfinite(high), high, 0), 0).sum()
    square = (problem.slack.astype(LONG) * v**2).sum() / 2
    if not isinstance(problem.intercept, str):
        square += v.sum() ** 2 / (2 * LONG(problem.intercept))
    pull = problem.matrix.T.astype(LONG) @ v
    largest = LONG(0)
    match problem.cost:
        case "entropy":
            k, tilt = problem.width.astype(LONG), problem.tilt.astype(LONG)
            with np.errstate(over="ignore", invalid="ignore"):
                rise = 2 * np.sinh(pull + tilt) * np.sinh(pull)
                return gain - square - (k / 4 * rise).sum()
        case "quadratic":
            square += (problem.weights.astype(LONG)[problem.labels] * pull**2).sum() / 2
        case "function":
            joint = joint_weights(problem)
            root = np.linalg.pinv(joint.T) @ pull.astype(float)
            square += (root.astype(LONG) ** 2).sum() / 2
        case "l1":
            largest = np.abs(pull).max(initial=0)
        case "group":
            largest = block_norms(problem, pull).max(initial=0)
        case "weighted group":
            largest = (block_norms(problem, pull) / problem.weights).max(initial=0)
        case "nuclear":
            largest = LONG(singular_values(problem, pull).max(initial=0.0)) * (1 + LONG(1e-15))
        case other:
            raise ValueError(f"no conjugate of {other}")
    # The best multiple t v that is admissible: t gain - t^2 square, t <= 1 / largest.
    if gain <= 0:
        return LONG(0)
    t = 1 / largest if largest > 0 else LONG(np.inf)
    if square > 0:
        t = min(t, gain / (2 * square))
    return t * gain - t**2 * square if np.isfinite(t) else LONG(np.inf)


def unit_of_cost(problem: Problem) -> float:
    """Return the least cost at which one means alone gives outputs as large as the largest bound.

    The means are a feature, the slack of all rows, and a penalised intercept. It has the unit of
    the objective, so that a small share of it is rounding.
    """
    low, high = problem.bounds()
    finite = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
    size = float(np.abs(finite).max(initial=0.0))
    sizes = np.abs(problem.matrix).max(axis=0, initial=0.0)
    level = replace(problem, tilt=np.zeros_like(problem.tilt))
    costs = []
    for j in np.flatnonzero(sizes):
        c = np.zeros(problem.matrix.shape[1])
        c[j] = size / sizes[j]
        costs.append(float(price(level, c)))
    if problem.slack.all():
        costs.append(float((size**2 / (2 * problem.slack)).sum()))
    if not isinstance(problem.intercept, str):
        costs.append(problem.intercept * size**2 / 2)
    return min(costs, default=1.0)
