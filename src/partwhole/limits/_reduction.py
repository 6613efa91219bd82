r"""Equalities rewritten so that neither their units, nor their angles, nor their number matter.

The problem

.. math:: \min_{c,\, b,\, \xi}\; R(c) + \tfrac12 \sum_i \xi_i^2 / s_i
          \quad\text{such that}\quad A c + b + \xi = y, \quad \xi_i = 0 \text{ where } s_i = 0,

keeps its solution c for every cost R under three changes, made in this order (derived here):

1. A free intercept is read off the exact row k of the smallest features,
   :math:`b = y_k - A_k c`, which is subtracted from all others. Without exact rows a reflection
   turns the rows with slack, divided by :math:`\sqrt{s_i}`, until one alone sees the intercept;
   that row is then met without cost and leaves. A penalised intercept is a free one beside the
   row :math:`b + \xi = 0` of slack :math:`1/\lambda`.
2. Exact rows become orthonormal, unless they are far apart: with rows of length 1 and a pivoted
   factorisation :math:`A^T = Q R`, the same is asked by :math:`Q^T c = R^{-T} y`. Where rows are
   nearly alike :math:`R^{-T} A` and :math:`R^{-T} y` are computed in extended precision, with R
   as it is: so rounding alters what is asked by less.
3. Rows with slack, divided by :math:`\sqrt{s_i}`, become the rank's number of rows of slack 1:
   with :math:`A = Q R`, the part of y outside of Q costs the same whatever c is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Float
from scipy.linalg import get_lapack_funcs, qr, solve_triangular

# Entries of a design that is written out as a matrix, to be turned or to prove what is infeasible.
ENTRIES = 4_000_000
EPS = float(np.finfo(float).eps)
# Of a row of length 1: what stands out of the span of the others by less is rounding.
INDEPENDENT = 64.0 * EPS
# Of the largest target: what a row that was left out may ask for beyond what the others say.
DISAGREES = 1e-12

# Reciprocal condition of the products of rows of length 1 that loses few digits.
WELL = 1e-4
# Of rows of length 1, what others leave: below this they are turned in extended precision.
APART = 1e-5
PRODUCTS = 10**8  # in extended precision, about a second

Vector = np.ndarray


@dataclass(frozen=True, eq=False)
class Reduction:
    """Rows that ask for the same coefficients as the equalities they came from.

    Parameters
    ----------
    rows : float array, shape (m, p)
    targets : float array, shape (m,) or (m, k)
    slack : float array, shape (m,)
        0 for the exact rows, which come first, and 1 for the others.
    intercept : callable
        From coefficients to the intercept.
    multipliers : callable
        From multipliers of these rows to those of the rows as given.
    dropped : bool
        Whether exact rows that depend on others were left out although they ask for more.
    rest : float
        What the rows with slack cost whatever the coefficients are.
    precision : float
        Relative, of the arithmetic by which exact rows were turned.
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
        """Return what rounding of these rows is felt in a value, by their multipliers."""
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
    """Rewrite equalities with any slack and any intercept.

    Parameters
    ----------
    matrix : float array, shape (n, p)
        A.
    targets : float array, shape (n,) or (n, k)
        y.
    slack : float array, shape (n,)
        s, 0 for rows that are to be met exactly.
    intercept : {"free", "none"} or float
        As in `Problem`.
    orthonormal : bool, keyword-only, default True
        False lets exact rows be of length 1 alone where they are far apart, in a third of the time.

    Returns
    -------
    Reduction
        Dependent exact rows leave; whether the others then meet them is for the caller to see.
    """
    n = len(matrix)
    penalised = not isinstance(intercept, str)
    if penalised:
        # One more row: the intercept itself, with a target of 0.
        matrix = np.vstack([matrix, np.zeros((1, matrix.shape[1]))])
        targets = np.concatenate([targets, np.zeros((1, *targets.shape[1:]))])
        slack = np.append(slack, 1.0 / float(intercept))
    hard, soft = np.flatnonzero(slack == 0), np.flatnonzero(slack > 0)
    sees = np.ones(len(matrix)) if intercept != "none" else np.zeros(len(matrix))
    exact, exact_targets = (matrix[hard], targets[hard]) if len(soft) else (matrix, targets)
    root = np.sqrt(slack[soft])
    loose, loose_targets = _divided(matrix[soft], root), _divided(targets[soft], root)
    sees_loose = sees[soft] / root

    nothing = np.zeros(targets.shape[1:])
    row, level, first, first_target = np.zeros(matrix.shape[1]), nothing, matrix[:0], nothing
    pivot, others = -1, np.arange(len(hard))
    if intercept != "none" and len(hard):
        pivot = int(np.abs(exact).max(axis=1, initial=0.0).argmin())
        others = np.delete(np.arange(len(hard)), pivot)
        row, level = exact[pivot], np.asarray(exact_targets[pivot])
        loose = loose - np.multiply.outer(sees_loose, row)
        loose_targets = loose_targets - np.multiply.outer(sees_loose, level)
        exact, exact_targets = exact[others], exact_targets[others]
    turn = None
    if intercept != "none" and not len(hard):
        turn = _Reflection(sees_loose)
        loose, loose_targets = turn(loose), turn(loose_targets)
        first, first_target = loose[0], loose_targets[0]
        loose, loose_targets = loose[1:], loose_targets[1:]
    turned = None if orthonormal or row.any() else _of_unit_length(exact, exact_targets - level)
    turned = turned or _orthonormal(exact, exact_targets, row, level)
    # Orthonormal exact rows say what they share with rows of slack, which lose it: what is left
    # of a column that is far larger than the others is as small as they are.
    shares = np.zeros((len(loose), 0))
    if turned.is_orthonormal and len(loose) and len(turned.rows):
        shares = np.zeros((len(loose), len(turned.rows)))
        for _ in range(2):
            share = loose @ turned.rows.T
            loose, shares = loose - share @ turned.rows, shares + share
        loose_targets = loose_targets - shares @ turned.targets
    compressed = _compressed(loose, loose_targets)
    m = len(turned.rows)

    def constant(c: Vector) -> Vector | float:
        if pivot >= 0:
            return level - row @ c
        if turn is not None:
            return (first_target - first @ c) / turn.length
        return 0.0 if targets.ndim == 1 else np.zeros(targets.shape[1:])

    def multipliers(v: Vector) -> Vector:
        out = np.zeros((len(matrix), *v.shape[1:]))
        back = compressed.multipliers(v[m:])
        exact_part = v[:m] - shares.T @ back if shares.size else v[:m]
        if turn is not None:
            back = turn(np.concatenate([np.zeros((1, *v.shape[1:])), back]))
        out[soft] = _divided(back, root)
        given = turned.multipliers(exact_part)
        if pivot >= 0:
            out[hard[others]] = given
            out[hard[pivot]] = -out.sum(axis=0)
        else:
            out[hard] = given
        return out[:n]

    several = len(compressed.rows) > 0
    return Reduction(
        np.vstack([turned.rows, compressed.rows]) if several else turned.rows,
        np.concatenate([turned.targets, compressed.targets]),
        np.repeat([0.0, 1.0], [m, len(compressed.rows)]),
        constant,
        multipliers,
        turned.dropped,
        compressed.rest,
        turned.precision,
    )


def _divided(rows: np.ndarray, by: np.ndarray) -> np.ndarray:
    return rows / by.reshape(-1, *[1] * (rows.ndim - 1))


class _Reflection:
    """A Householder reflection that turns a vector into its length along the first axis."""

    def __init__(self, vector: Vector) -> None:
        size = float(np.abs(vector).max())
        unit = vector / size
        norm = float(np.linalg.norm(unit))
        self.length = -norm * size  # all entries are positive: no cancellation
        self.normal = unit.copy()
        self.normal[0] += norm
        self.square = float(self.normal @ self.normal)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        along = np.tensordot(self.normal, rows, axes=1) * (2.0 / self.square)
        return rows - np.multiply.outer(self.normal, along)


@dataclass(frozen=True, eq=False)
class _Rows:
    rows: np.ndarray
    targets: np.ndarray
    multipliers: Callable[[Vector], Vector]
    dropped: bool = False
    rest: float = 0.0
    precision: float = EPS
    is_orthonormal: bool = False


def _orthonormal(given: np.ndarray, asked: np.ndarray, row: np.ndarray, level: np.ndarray) -> _Rows:
    """Rewrite exact rows, less one of them, as orthonormal ones without those that depend."""
    rows, targets = given - row, asked - level
    n, p = rows.shape
    lengths = _lengths(rows)
    present = np.flatnonzero(lengths > 0.0)
    if not len(present):
        nothing = np.zeros((0, *targets.shape[1:]))
        return _Rows(
            rows[:0], nothing, lambda v: np.zeros((n, *v.shape[1:])), bool(targets.any())
        )  # fmt: skip
    unit = rows[present] / lengths[present, None]
    order = _by_size(rows)
    basis, triangle, places = _pivoted(unit[:, order].T)
    pivots = np.abs(np.diagonal(triangle))
    rank = int(np.sum(pivots > INDEPENDENT))
    kept, square = present[places[:rank]], triangle[:rank, :rank]
    turned = np.empty((rank, p))
    turned[:, order] = basis[:, :rank].T

    def multipliers(v: Vector) -> Vector:
        out = np.zeros((n, *v.shape[1:]))
        out[kept] = _divided(solve_triangular(square, v), lengths[kept])
        return out

    wanted = solve_triangular(square, _divided(targets[kept], lengths[kept]), trans=1)
    dropped = False
    if rank < n:
        missed = np.abs(targets - rows @ (turned.T @ wanted))
        dropped = bool((missed > DISAGREES * np.abs(targets).max(initial=0.0)).any())
    precision = EPS
    # What is left of each row, once the row of the intercept and those before it are taken off.
    left = pivots[:rank] * lengths[kept]
    near = bool((left < APART * np.maximum(_lengths(given[kept]), _lengths(row[None]))).any())
    if near and rank * rank * p <= PRODUCTS:
        turned = _substituted(square, given[kept], row, lengths[kept])
        wanted = _substituted(square, asked[kept], level, lengths[kept])
        precision = float(np.finfo(np.longdouble).eps)
    return _Rows(turned, wanted, multipliers, dropped, precision=precision, is_orthonormal=True)


def _substituted(
    triangle: np.ndarray, given: np.ndarray, less: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Solve with the triangle's transpose for rows less one of them, in extended precision."""
    out = _divided(given.astype(np.longdouble) - less, lengths)
    for i in range(len(out)):
        out[i] = (out[i] - triangle[:i, i].astype(np.longdouble) @ out[:i]) / triangle[i, i]
    return out.astype(float)


def _compressed(rows: np.ndarray, targets: np.ndarray) -> _Rows:
    """Rewrite rows of slack 1 as so many as their rank, less what no coefficients change."""
    n, p = rows.shape
    if not n or not rows.any():
        left, square = targets, 0.5 * float(np.sum(targets**2))
        return _Rows(rows[:0], targets[:0], lambda v: np.array(left), rest=square)
    # Rows and columns from large to small: so the factorisation keeps the digits of small rows.
    down = np.argsort(-np.abs(rows).max(axis=1), kind="stable")
    basis, triangle, places = _pivoted(rows[down])
    size = np.abs(np.diagonal(triangle))
    rank = int(np.sum(size > INDEPENDENT * size[0]))
    basis = basis[:, :rank]
    turned = np.empty((rank, p))
    turned[:, places] = triangle[:rank]
    sorted_targets = targets[down]
    wanted = basis.T @ sorted_targets
    rest = sorted_targets - basis @ wanted
    rest -= basis @ (basis.T @ rest)

    def multipliers(v: Vector) -> Vector:
        out = np.empty((n, *v.shape[1:]))
        out[down] = basis @ v + rest
        return out

    return _Rows(turned, wanted, multipliers, rest=0.5 * float(np.sum(rest**2)))


def _of_unit_length(rows: np.ndarray, targets: np.ndarray) -> _Rows | None:
    """Bring rows to length 1; return None where they are not far from depending on each other."""
    n, p = rows.shape
    lengths = _lengths(rows)
    if not 0 < n <= p or not lengths.all():
        return None
    unit = rows / lengths[:, None]
    # Single precision tells a condition of 1e4 from a larger one, in half the time.
    single = unit.astype(np.float32)
    products = single @ single.T
    factorise, condition = get_lapack_funcs(("potrf", "pocon"), (products,))
    lower, failed = factorise(products, lower=1)
    if failed or condition(lower, np.linalg.norm(products, 1), uplo="L")[0] < WELL:
        return None
    return _Rows(unit, _divided(targets, lengths), lambda v: _divided(v, lengths))


def _pivoted(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Factorise a matrix with its columns in the order of their pivots."""
    return cast(
        "tuple[np.ndarray, np.ndarray, np.ndarray]", qr(matrix, mode="economic", pivoting=True)
    )


def _lengths(rows: np.ndarray) -> np.ndarray:
    """Return the rows' Euclidean lengths, without overflow."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
    if len(squares) and squares.min() > 1e-200 and squares.max() < 1e200:
        return np.sqrt(squares)
    largest = np.abs(rows).max(axis=1, initial=0.0)
    unit = rows / np.where(largest > 0, largest, 1.0)[:, None]
    return largest * np.linalg.norm(unit, axis=1)


def _by_size(rows: np.ndarray) -> np.ndarray:
    """Return the columns' order from large to small, for a factorisation of the transpose."""
    return np.argsort(-np.abs(rows).max(axis=0, initial=0.0), kind="stable")
