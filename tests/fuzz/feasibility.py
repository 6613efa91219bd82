"""Whether rows without slack can be met, with the distance from the edge at which that changes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from exact import orthonormal
from formulas import LONG
from problems import Problem
from scipy.optimize import linprog, nnls

EDGE = 1e-9  # of numbers of size 1: nearer the edge either answer is right
ROUNDING = 1e-12
BLURRED = 1e-3  # of the largest: beside smaller singular values rounding exceeds `ROUNDING`


def equilibrated(matrix: np.ndarray, rounds: int = 20) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return E A D with largest entries of 1 in every row and column, and E and D."""
    rows, columns = np.ones(matrix.shape[0]), np.ones(matrix.shape[1])
    sizes = np.abs(matrix).astype(float)
    for _ in range(rounds):
        for axis, factors in ((1, rows), (0, columns)):
            largest = sizes.max(axis=axis, initial=0.0)
            step = np.where(largest > 0, 1 / np.sqrt(np.where(largest > 0, largest, 1.0)), 1.0)
            factors *= step
            sizes = sizes * (step[:, None] if axis == 1 else step)
    return matrix * rows[:, None] * columns, rows, columns


def feasible(problem: Problem) -> bool | None:
    """Return whether some function meets all rows without slack; None within `EDGE` of the edge."""
    hard = problem.slack == 0
    if not hard.any():
        return True
    matrix = problem.matrix[hard]
    if problem.intercept != "none":
        matrix = np.hstack([matrix, np.ones((len(matrix), 1))])
    low, high = (side[hard] for side in problem.bounds())
    scaled, rows, _ = equilibrated(matrix)
    if problem.fit == "margin":
        return _separable(scaled * problem.targets[hard, None])
    low, high = low * rows, high * rows
    empty = np.abs(scaled).max(axis=1, initial=0.0) == 0
    if np.any(empty & ((low > 0) | (high < 0))):
        return False
    scaled, low, high = scaled[~empty], low[~empty], high[~empty]
    if not len(scaled):
        return True
    size = np.abs(low + high).max() / 2
    if problem.tube == 0:
        return _solvable(scaled, low / size if size > 0 else low)
    return _reachable(scaled, low, high)


def _separable(signed: np.ndarray) -> bool | None:
    """Return whether B c > 0 has a solution: no convex combination of rows of B is 0."""
    lengths = np.linalg.norm(signed, axis=1)
    if np.any(lengths == 0):
        return False
    unit = signed / lengths[:, None]
    system = np.vstack([unit.T, np.ones(len(unit))])
    distance = nnls(system, np.append(np.zeros(unit.shape[1]), 1.0), maxiter=10_000)[1]
    return False if distance < ROUNDING else True if distance > EDGE else None


def _solvable(matrix: np.ndarray, right: np.ndarray) -> bool | None:
    """Return whether A c = y, by what is left of y outside the span of A's columns."""
    basis, sizes, _ = np.linalg.svd(matrix, full_matrices=True)
    sizes = np.append(sizes, np.zeros(len(matrix) - len(sizes))) / sizes[0]
    inside, rounding = basis.T @ right, 1e-14 * len(matrix)
    # Rows 1e-10 apart with equal targets contradict the others by 1e-12, which is no rounding.
    if np.linalg.norm(inside[sizes < EDGE]) < rounding:
        return True
    if np.linalg.norm(inside[sizes < rounding]) <= EDGE:
        return None
    # Small singular values next to none blur which of the outputs no coefficients reach.
    has_small = np.any((sizes > rounding) & (sizes < BLURRED))
    return None if has_small and not _contradicted_exactly(matrix, right) else False


def _contradicted_exactly(matrix: np.ndarray, right: np.ndarray) -> bool:
    """Return whether rows that sum to 0 in rational numbers have targets that do not."""
    n = len(matrix)
    rows = [
        [Fraction(x) for x in row] + [Fraction(i == k) for k in range(n)]
        for i, row in enumerate(matrix.tolist())
    ]
    rank = 0
    for column in range(matrix.shape[1]):
        best = max(range(rank, n), key=lambda i: abs(rows[i][column]), default=n)
        if best == n or rows[best][column] == 0:
            continue
        rows[rank], rows[best] = rows[best], rows[rank]
        for i in range(rank + 1, n):
            if rows[i][column] != 0:
                factor = rows[i][column] / rows[rank][column]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    for row in rows[rank:]:
        shares = row[-n:]
        terms = [a * Fraction(y) for a, y in zip(shares, right.tolist(), strict=True)]
        if abs(sum(terms)) > EDGE * max(map(abs, shares)):
            return True
    return False


def _reachable(matrix: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool | None:
    """Return whether l <= A c <= u, by the least t with which l - t <= A c <= u + t."""
    size = max(np.abs(low).max(), np.abs(high).max())
    n, p = matrix.shape
    column = np.ones((n, 1))
    system = np.vstack([np.hstack([matrix, -column]), np.hstack([-matrix, -column])])
    bounds = np.concatenate([high, -low]) / size
    width = float(np.min(high - low)) / size
    for reach, answer in ((1e6, True), (None, False)):
        solved = linprog(
            np.append(np.zeros(p), 1.0),
            A_ub=system,
            b_ub=bounds,
            bounds=[(None if reach is None else -reach, reach)] * p + [(-width, None)],
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if solved.status == 0 and answer and solved.fun < -EDGE:
            return True
        if solved.status == 0 and not answer and solved.fun > EDGE:
            shares = -solved.ineqlin.marginals
            return False if _contradicted(matrix, low, high, shares[n:] - shares[:n]) else None
    return None


def _contradicted(matrix: np.ndarray, low: np.ndarray, high: np.ndarray, v: np.ndarray) -> bool:
    """Return whether the multipliers nearest to these that no column sees prove that nothing fits.

    The program counts rows 1e-10 apart as equal, which coefficients of 1e10 tell apart.
    """
    basis, _ = orthonormal(matrix.T)
    unseen = v.astype(LONG)
    for _ in range(2):
        unseen = unseen - basis.T @ (basis @ unseen)
    gain = np.where(unseen > 0, unseen * low, unseen * high).sum()
    return bool(gain > EDGE * np.maximum(np.abs(v * low), np.abs(v * high)).sum())
