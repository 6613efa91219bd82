r"""Equalities rewritten so that units, angles and number of the rows do not affect accuracy.

The problem

.. math:: \min_{c,\, b,\, \xi}\; R(c) + \tfrac12 \sum_i \xi_i^2 / s_i
          \quad\text{such that}\quad A c + b + \xi = y, \quad \xi_i = 0 \text{ where } s_i = 0,

keeps its solution c for every cost R under three changes, made in this order (derived here):

1. The intercept is eliminated. If there are exact rows, the one with the smallest features, row
   k, gives :math:`b = y_k - A_k c`, and it is subtracted from all other rows. If there are none,
   a reflection of the rows with slack, divided by :math:`\sqrt{s_i}`, leaves the intercept in a
   single row; b can meet this row at no cost for any c, so the row is dropped. A penalised
   intercept is a free intercept with the additional row :math:`b + \xi = 0` of slack
   :math:`1/\lambda`.
2. Exact rows become orthonormal, unless they are well-conditioned already. With rows of length 1
   and a pivoted factorisation :math:`A^T = Q R`, the equations :math:`Q^T c = R^{-T} y` have the
   same solutions. Where rows are nearly dependent, :math:`R^{-T} A` and :math:`R^{-T} y` are
   computed in extended precision with the same R. The new equations are then those of the given
   rows up to a much smaller error; that R itself is rounded does not matter, because any
   invertible R gives equivalent equations.
3. Rows with slack, divided by :math:`\sqrt{s_i}`, become as many rows of slack 1 as their rank.
   With :math:`A = Q R`, the part of y orthogonal to Q costs the same for every c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Float
from scipy.linalg import get_lapack_funcs, qr, solve_triangular

from partwhole.limits._units import euclidean_lengths

# Most entries of a design that is stored as a dense matrix for a reduction or a proof.
ENTRIES = 4_000_000
EPS = float(np.finfo(float).eps)
# A row of length 1 is independent of the others if its distance from their span is larger.
INDEPENDENT = 64.0 * EPS
# A dependent row contradicts the others if its misfit is larger, relative to the largest target.
CONTRADICTING = 1e-12

# Rows of length 1 whose inner products have a larger reciprocal condition lose few digits.
WELL_CONDITIONED = 1e-4
SQUARED = 1e-100  # rows that are shorter, or longer than its inverse, are not squared
# Rows of length 1 closer to the span of the others are rewritten in extended precision,
NEARLY_DEPENDENT = 1e-5
EXTENDED_PRODUCTS = 10**8  # if that takes at most so many products, about a second

Vector = np.ndarray


@dataclass(frozen=True, eq=False)
class Reduction:
    """Rewritten rows that have the same solution as the equalities they come from.

    Parameters
    ----------
    rows : float array, shape (m, p)
    targets : float array, shape (m,) or (m, k)
    slack : float array, shape (m,)
        0 for the exact rows, which come first, and 1 for the others.
    intercept : callable
        From coefficients to the intercept.
    multipliers : callable
        From multipliers of these rows to those of the original rows.
    dropped : bool
        Whether an exact row that depends on others was dropped although it contradicts them.
    rest : float
        The part of the cost of slack that does not depend on the coefficients.
    precision : float
        Relative precision of the arithmetic by which exact rows were rewritten.
    """

    rows: Float[np.ndarray, "m p"]
    targets: Float[np.ndarray, "m *k"]
    slack: Float[np.ndarray, " m"]
    intercept: Callable[[Vector], Vector | float]
    multipliers: Callable[[Vector], Vector]
    dropped: bool
    rest: float
    precision: float

    def rounding(self, v: Vector, coefficients: Vector) -> float:
        """Return the error of the value from rounding of these rows, by their multipliers."""
        size = np.abs(self.rows) @ np.abs(coefficients) + np.abs(self.targets)
        return float(np.sum(np.abs(v) * size)) * EPS


def reduced(
    matrix: Float[np.ndarray, "n p"],
    targets: Float[np.ndarray, "n *k"],
    slack: Float[np.ndarray, " n"],
    intercept: str | float,
    *,
    orthonormal: bool = True,
) -> Reduction:
    """Return equalities with any slack and any intercept, rewritten without intercept.

    Parameters
    ----------
    matrix : float array, shape (n, p)
        A.
    targets : float array, shape (n,) or (n, k)
        y.
    slack : float array, shape (n,)
        s, 0 for rows that must be met exactly.
    intercept : {"free", "none"} or float
        As in `Problem`.
    orthonormal : bool, keyword-only, default True
        False leaves well-conditioned exact rows as they are, which is faster.

    Returns
    -------
    Reduction
        Dependent exact rows are dropped; `dropped` tells whether one of them is not met.
    """
    n = len(matrix)
    penalised = not isinstance(intercept, str)
    if penalised:
        # The penalty is that of one more row with slack: the intercept itself, of target 0.
        matrix = np.vstack([matrix, np.zeros((1, matrix.shape[1]))])
        targets = np.concatenate([targets, np.zeros((1, *targets.shape[1:]))])
        slack = np.append(slack, 1.0 / float(intercept))
    hard, soft = np.flatnonzero(slack == 0), np.flatnonzero(slack > 0)
    intercept_column = np.ones(len(matrix)) if intercept != "none" else np.zeros(len(matrix))
    exact, exact_targets = (matrix[hard], targets[hard]) if len(soft) else (matrix, targets)
    root = np.sqrt(slack[soft])
    loose, loose_targets = _divided(matrix[soft], root), _divided(targets[soft], root)
    loose_column = intercept_column[soft] / root

    zero_target = np.zeros(targets.shape[1:])
    pivot_row, pivot_target, first, first_target = (
        np.zeros(matrix.shape[1]),
        zero_target,
        matrix[:0],
        zero_target,
    )
    pivot, remaining = -1, np.arange(len(hard))
    if intercept != "none" and len(hard):
        pivot = int(np.abs(exact).max(axis=1, initial=0.0).argmin())
        remaining = np.delete(np.arange(len(hard)), pivot)
        pivot_row, pivot_target = exact[pivot], np.asarray(exact_targets[pivot])
        loose = loose - np.multiply.outer(loose_column, pivot_row)
        loose_targets = loose_targets - np.multiply.outer(loose_column, pivot_target)
        exact, exact_targets = exact[remaining], exact_targets[remaining]
    reflection = None
    if intercept != "none" and not len(hard):
        reflection = _Reflection(loose_column)
        loose, loose_targets = reflection(loose), reflection(loose_targets)
        first, first_target = loose[0], loose_targets[0]
        loose, loose_targets = loose[1:], loose_targets[1:]
    rewritten = (
        None if orthonormal or pivot_row.any() else _as_given(exact, exact_targets - pivot_target)
    )
    rewritten = rewritten or _orthonormal(exact, exact_targets, pivot_row, pivot_target)
    # What rows of slack share with orthonormal exact rows is known from these, and is subtracted:
    # what remains of a column far larger than the others is as small as they are.
    shares = np.zeros((len(loose), 0))
    if rewritten.is_orthonormal and len(loose) and len(rewritten.rows):
        shares = np.zeros((len(loose), len(rewritten.rows)))
        for _ in range(2):
            share = loose @ rewritten.rows.T
            loose, shares = loose - share @ rewritten.rows, shares + share
        loose_targets = loose_targets - shares @ rewritten.targets
    compressed = _compressed(loose, loose_targets)
    m = len(rewritten.rows)

    def constant(c: Vector) -> Vector | float:
        if pivot >= 0:
            return pivot_target - pivot_row @ c
        if reflection is not None:
            return (first_target - first @ c) / reflection.length
        return 0.0 if targets.ndim == 1 else np.zeros(targets.shape[1:])

    def multipliers(v: Vector) -> Vector:
        out = np.zeros((len(matrix), *v.shape[1:]))
        back = compressed.multipliers(v[m:])
        exact_part = v[:m] - shares.T @ back if shares.size else v[:m]
        if reflection is not None:
            back = reflection(np.concatenate([np.zeros((1, *v.shape[1:])), back]))
        out[soft] = _divided(back, root)
        exact_multipliers = rewritten.multipliers(exact_part)
        if pivot >= 0:
            out[hard[remaining]] = exact_multipliers
            out[hard[pivot]] = -out.sum(axis=0)
        else:
            out[hard] = exact_multipliers
        return out[:n]

    several = len(compressed.rows) > 0
    return Reduction(
        np.vstack([rewritten.rows, compressed.rows]) if several else rewritten.rows,
        np.concatenate([rewritten.targets, compressed.targets]),
        np.repeat([0.0, 1.0], [m, len(compressed.rows)]),
        constant,
        multipliers,
        rewritten.dropped,
        compressed.rest,
        rewritten.precision,
    )


def _divided(rows: np.ndarray, by: np.ndarray) -> np.ndarray:
    return rows / by.reshape(-1, *[1] * (rows.ndim - 1))


class _Reflection:
    """Householder reflection that maps a vector to a multiple of the first axis."""

    def __init__(self, vector: Vector) -> None:
        size = float(np.abs(vector).max())
        unit = vector / size
        norm = float(np.linalg.norm(unit))
        self.length = -norm * size  # of this sign, nothing cancels: all entries are positive
        self.normal = unit.copy()
        self.normal[0] += norm
        self.square = float(self.normal @ self.normal)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        along = np.tensordot(self.normal, rows, axes=1) * (2.0 / self.square)
        return rows - np.multiply.outer(self.normal, along)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rewritten rows of one kind, exact or with slack; the fields are those of `Reduction`."""

    rows: np.ndarray
    targets: np.ndarray
    multipliers: Callable[[Vector], Vector]
    dropped: bool = False
    rest: float = 0.0
    precision: float = EPS
    is_orthonormal: bool = False


def _orthonormal(
    exact_rows: np.ndarray,
    exact_targets: np.ndarray,
    pivot_row: np.ndarray,
    pivot_target: np.ndarray,
) -> _Rows:
    """Return exact rows, minus the pivot row, as orthonormal rows; dependent rows are dropped."""
    rows, targets = exact_rows - pivot_row, exact_targets - pivot_target
    n, p = rows.shape
    lengths = euclidean_lengths(rows)
    present = np.flatnonzero(lengths > 0.0)
    if not len(present):
        no_targets = np.zeros((0, *targets.shape[1:]))
        return _Rows(
            rows[:0], no_targets, lambda v: np.zeros((n, *v.shape[1:])), bool(targets.any())
        )  # fmt: skip
    unit = rows[present] / lengths[present, None]
    order = _columns_by_size(rows)
    basis, triangle, places = _pivoted(unit[:, order].T)
    pivots = np.abs(np.diagonal(triangle))
    rank = int(np.sum(pivots > INDEPENDENT))
    chosen, square = present[places[:rank]], triangle[:rank, :rank]
    orthonormal = np.empty((rank, p))
    orthonormal[:, order] = basis[:, :rank].T

    def multipliers(v: Vector) -> Vector:
        out = np.zeros((n, *v.shape[1:]))
        out[chosen] = _divided(solve_triangular(square, v), lengths[chosen])
        return out

    orthonormal_targets = solve_triangular(
        square, _divided(targets[chosen], lengths[chosen]), trans=1
    )
    dropped = False
    if rank < n:
        missed = np.abs(targets - rows @ (orthonormal.T @ orthonormal_targets))
        dropped = bool((missed > CONTRADICTING * np.abs(targets).max(initial=0.0)).any())
    precision = EPS
    # The distance of each row from the span of those before it. It is compared with the rows
    # before the pivot row was subtracted, since that subtraction may cancel digits as well.
    remainders = pivots[:rank] * lengths[chosen]
    nearly_dependent = bool(
        (
            remainders
            < NEARLY_DEPENDENT
            * np.maximum(euclidean_lengths(exact_rows[chosen]), euclidean_lengths(pivot_row[None]))
        ).any()
    )
    if nearly_dependent and rank * rank * p <= EXTENDED_PRODUCTS:
        orthonormal = _substituted_in_extended(
            square, exact_rows[chosen], pivot_row, lengths[chosen]
        )
        orthonormal_targets = _substituted_in_extended(
            square, exact_targets[chosen], pivot_target, lengths[chosen]
        )
        precision = float(np.finfo(np.longdouble).eps)
    return _Rows(
        orthonormal, orthonormal_targets, multipliers, dropped,
        precision=precision, is_orthonormal=True,
    )  # fmt: skip


def _substituted_in_extended(
    triangle: np.ndarray, right: np.ndarray, subtracted: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Return the solution with the triangle's transpose for scaled differences.

    All of it is in extended precision, the differences too: in double precision they would lose
    the digits in which nearly equal rows differ.
    """
    out = _divided(right.astype(np.longdouble) - subtracted, lengths)
    for i in range(len(out)):
        out[i] = (out[i] - triangle[:i, i].astype(np.longdouble) @ out[:i]) / triangle[i, i]
    return out.astype(float)


def _compressed(rows: np.ndarray, targets: np.ndarray) -> _Rows:
    """Return rows of slack 1 as rows of full rank, and the cost that no coefficients change."""
    n, p = rows.shape
    if not n or not rows.any():
        left, square = targets, 0.5 * float(np.sum(targets**2))
        return _Rows(rows[:0], targets[:0], lambda v: np.array(left), rest=square)
    # Rows and columns in falling order of size, so the factorisation keeps the digits of small
    # rows (Powell & Reid 1969).
    down = np.argsort(-np.abs(rows).max(axis=1), kind="stable")
    basis, triangle, places = _pivoted(rows[down])
    size = np.abs(np.diagonal(triangle))
    # A pivot is compared with its own column, so that the rank does not depend on the units of
    # features.
    significant = size > INDEPENDENT * euclidean_lengths(rows.T)[places[: len(size)]]
    rank = int(np.flatnonzero(significant)[-1]) + 1
    basis = basis[:, :rank]
    compressed_rows = np.empty((rank, p))
    compressed_rows[:, places] = triangle[:rank]
    sorted_targets = targets[down]
    compressed_targets = basis.T @ sorted_targets
    residual = sorted_targets - basis @ compressed_targets
    residual -= basis @ (basis.T @ residual)

    def multipliers(v: Vector) -> Vector:
        out = np.empty((n, *v.shape[1:]))
        out[down] = basis @ v + residual
        return out

    return _Rows(
        compressed_rows, compressed_targets, multipliers, rest=0.5 * float(np.sum(residual**2))
    )


def _as_given(rows: np.ndarray, targets: np.ndarray) -> _Rows | None:
    """Return the rows themselves, or None where these are not well-conditioned at length 1."""
    n, p = rows.shape
    if not 0 < n <= p:
        return None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        products = rows @ rows.T
        lengths = np.sqrt(np.diagonal(products))
        if not (lengths > SQUARED).all() or not (lengths < 1.0 / SQUARED).all():
            return None
        cosines = products / np.multiply.outer(lengths, lengths)
    factorise, condition = get_lapack_funcs(("potrf", "pocon"), (cosines,))
    lower, failed = factorise(cosines, lower=1)
    if failed or condition(lower, np.linalg.norm(cosines, 1), uplo="L")[0] < WELL_CONDITIONED:
        return None
    return _Rows(rows, targets, lambda v: v)


def _pivoted(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return basis, triangle and column order of a QR factorisation with column pivoting."""
    return cast(
        "tuple[np.ndarray, np.ndarray, np.ndarray]", qr(matrix, mode="economic", pivoting=True)
    )


def _columns_by_size(rows: np.ndarray) -> np.ndarray:
    """Return the order of the columns by falling size, for a factorisation of the transpose."""
    return np.argsort(-np.abs(rows).max(axis=0, initial=0.0), kind="stable")
