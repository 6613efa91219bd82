r"""Whether a point is stationary for a cost that is not convex.

With p = 2 / L below 1, :math:`x^p` lies below its tangent in x, so that at c the cost lies below
:math:`\sum_g p \|c_g\|^{p-1} \|c'_g\|` and a constant, for blocks that are not 0; and the sum of
:math:`\sigma_i^p` below :math:`\tfrac{p}{2} \mathrm{tr}(M_g C' C'^T)` and a constant,
:math:`M_g = (C_g C_g^T)^{p/2 - 1}`. Both touch it at c. A point is stationary if and only if it
minimises what touches there; and a step to that minimum lowers the cost.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from conic import least
from formulas import block_norms, total
from problems import Problem

SOLVED = 1e-5  # largest relative distance of the bounds of a least cost
NOTHING = 1e-7  # of the largest norm: a block that is 0 stays 0


def descent(problem: Problem, c: np.ndarray, b: float, rounds: int = 3) -> float:
    """Return the least objective that some rounds of descent from a point reach."""
    lowest = float(total(problem, c, b))
    current = c
    for _ in range(rounds):
        if not np.any(current):
            break
        touched = _touching(problem, current)
        if touched is None:
            break
        reduced, back = touched
        optimum = least(reduced, 1e-9 * lowest)
        candidate = back(optimum.coefficients)
        value = total(problem, candidate, optimum.intercept)
        # What an oracle did not solve may lie anywhere, in the valley of another minimum too.
        if optimum.width > SOLVED or float(value) >= lowest:
            break
        lowest, current = float(value), candidate.astype(float)
    return lowest


def _touching(problem: Problem, c: np.ndarray):
    """Return the convex problem that touches at c, in the blocks in use, and the way back."""
    power = 2.0 / problem.layers
    p = len(c)
    if problem.cost == "chain":
        norms = block_norms(problem, c)
        in_use = norms > NOTHING * norms.max()
        columns = in_use[problem.labels]
        reduced = replace(
            problem,
            cost="weighted group",
            matrix=problem.matrix[:, columns],
            sizes=tuple(np.array(problem.sizes)[in_use].tolist()),
            weights=power * norms[in_use] ** (power - 1.0),
            gates=None,
            tuples=None,
        )

        def back(found: np.ndarray) -> np.ndarray:
            out = np.zeros(p, dtype=found.dtype)
            out[columns] = found
            return out

        return reduced, back
    # C = U B with U the left singular vectors in use: a quadratic cost in rows of B.
    blocks = c.reshape(len(problem.sizes), problem.rows, -1)
    largest = np.linalg.svd(blocks, compute_uv=False).max()
    maps, weights = [], []
    width = blocks.shape[2]
    for block in blocks:
        left, sizes, _ = np.linalg.svd(block, full_matrices=False)
        in_use = sizes > NOTHING * largest
        maps.append(np.kron(left[:, : len(sizes)][:, in_use], np.eye(width)))
        # p / 2 sigma^(p-2) |B_i|^2 = |B_i|^2 / (2 weight)
        weights.append(np.repeat(sizes[in_use] ** (2.0 - power) / power, width))
    mapping = np.zeros((p, sum(map_.shape[1] for map_ in maps)))
    row = column = 0
    for map_ in maps:
        mapping[row : row + map_.shape[0], column : column + map_.shape[1]] = map_
        row, column = row + map_.shape[0], column + map_.shape[1]
    if not mapping.shape[1]:
        return None
    flat = np.concatenate(weights)
    reduced = replace(
        problem,
        cost="quadratic",
        matrix=problem.matrix @ mapping,
        sizes=(1,) * len(flat),
        weights=flat,
        gates=None,
        tuples=None,
    )
    return reduced, lambda found: mapping @ found
