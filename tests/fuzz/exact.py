"""Rows as orthonormal ones, and points moved until they meet rows exactly, in extended precision.

Rows that are nearly alike say what one of them and their difference say; what they cost can't be
read from a point that misses them by rounding.
"""

from __future__ import annotations

import numpy as np
from formulas import LONG, misfits, row_sizes
from problems import Problem

DEPENDENT = 1e-13  # of a row's length: what stands out of the span of others by less is rounding


def orthonormal(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Q = T A with orthonormal rows, and T; rows of A that depend on others are left out."""
    rest = matrix.astype(LONG)
    n, p = rest.shape
    turn = np.eye(n, dtype=LONG)
    lengths = np.sqrt((rest**2).sum(axis=1))
    free = lengths > 0
    safe = np.where(free, lengths, 1)
    rest, turn = rest / safe[:, None], turn / safe[:, None]
    basis, turns = np.zeros((0, p), dtype=LONG), np.zeros((0, n), dtype=LONG)
    while free.any():
        heights = np.where(free, np.sqrt((rest**2).sum(axis=1)), 0)
        i = int(np.argmax(heights))
        if heights[i] < DEPENDENT:
            break
        q, t = rest[i] / heights[i], turn[i] / heights[i]
        for _ in range(2):
            share = basis @ q
            q, t = q - share @ basis, t - share @ turns
            size = np.sqrt((q**2).sum())
            q, t = q / size, t / size
        basis, turns = np.vstack([basis, q]), np.vstack([turns, t])
        free[i] = False
        share = rest @ q
        rest, turn = rest - share[:, None] * q, turn - share[:, None] * t
    return basis, turns


def repaired(
    problem: Problem,
    c: np.ndarray,
    b: float,
    columns: np.ndarray,
    shift: np.ndarray | None = None,
) -> tuple[np.ndarray, np.longdouble, bool]:
    """Return a near point, in given units of the columns, that meets the rows without slack.

    Also return whether it does. Equalities are always in use; of the other rows, the one that is
    missed most joins them in turn.
    """
    hard = problem.slack == 0
    c, b = c.astype(LONG), LONG(b)
    low, high = (side.astype(LONG) for side in problem.bounds())
    out_of = LONG(0) if shift is None else shift
    whole = problem.matrix.astype(LONG)
    if problem.intercept != "none":
        whole = np.hstack([whole, np.ones((len(whole), 1), dtype=LONG)])
    whole = whole * columns.astype(LONG)
    exact, p = hard & (low == high), len(c)
    spare = np.zeros(len(hard), dtype=bool)
    widest = np.abs(whole).max(axis=1, initial=0)
    for _ in range(2 * len(hard) + 3):
        coefficients = np.append(c, b)[: len(columns)] / columns
        sizes = row_sizes(problem, c, b) + widest * np.abs(coefficients).max(initial=0)
        missed = misfits(problem, c, b, shift)
        # Rows that depend on others may be missed by the rounding of the numbers given.
        left = np.where(
            hard, np.abs(missed) / np.where(spare, 1e-13, 1e-17) / sizes.clip(1e-300), 0
        )
        if left.max(initial=0.0) <= 1:
            return c, b, True
        exact[int(np.argmax(left))] = True
        basis, turn = orthonormal(whole[exact])
        spare[:] = False
        spare[np.flatnonzero(exact)[np.all(turn == 0, axis=0)]] = True
        out = (problem.matrix.astype(LONG) @ c + b + out_of)[exact]
        below = np.abs(out - low[exact]) <= np.abs(out - high[exact])
        step = columns * (basis.T @ (turn @ (np.where(below, low[exact], high[exact]) - out)))
        c = c + step[:p]
        b = b + (step[p] if problem.intercept != "none" else 0)
    return c, b, False
