"""Equalities rewritten in orthonormal rows, so that neither their sizes nor their angles matter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import qr, solve_triangular

from partwhole.features.design import DenseDesign, Design
from partwhole.limits.solvers.dual_newton import Border

# Of a row of length 1: what stands out of the span of others by less is rounding.
INDEPENDENT = 64.0 * float(np.finfo(float).eps)
# As few digits as this are lost to rows that are no more unlike in size, and lean no closer.
ALIKE, APART = 1e3, 1e-2


@dataclass(frozen=True, eq=False)
class OrthonormalRows:
    r"""Hold equalities :math:`A c + Z b = y` as :math:`Q^T c + Z' b = y'`, with :math:`Q^T Q = I`.

    With the rows of A divided by their lengths and taken in the order of a pivoted factorisation,
    :math:`A^T = Q R`, so that :math:`y' = R^{-T} y`. Rows that depend on others say nothing new
    and are left out.

    Parameters
    ----------
    design : DenseDesign
        Shape (r, p), r the rank.
    targets : float array, shape (r,)
    border : Border
    triangle : float array, shape (r, r)
        R.
    kept : int array, shape (r,)
        The rows that stand for all.
    lengths : float array, shape (r,)
        Of those rows.
    """

    design: DenseDesign
    targets: Float[np.ndarray, " r"]
    border: Border
    triangle: Float[np.ndarray, "r r"]
    kept: Int[np.ndarray, " r"]
    lengths: Float[np.ndarray, " r"]

    def multipliers(self, found: Float[np.ndarray, " r"], n: int) -> Float[np.ndarray, " n"]:
        """Return the multipliers of all rows as they were given."""
        out = np.zeros(n)
        out[self.kept] = solve_triangular(self.triangle, found) / self.lengths
        return out


def orthonormal_rows(
    design: Design, targets: Float[np.ndarray, " n"], border: Border
) -> OrthonormalRows | None:
    """Rewrite equalities; None for designs that are no matrix, and where there is no need.

    There is none where rows are of like size and far from depending on each other, which their
    inner products tell at a fraction of the work. With rows that depend on each other an intercept
    may still tell them apart, and they stay as they are, too.
    """
    if not isinstance(design, DenseDesign):
        return None
    lengths = np.linalg.norm(design.matrix, axis=1)
    there = np.flatnonzero(lengths > 0.0)
    if not len(there):
        return None
    unit = design.matrix[there] / lengths[there, None]
    if len(there) == len(lengths) and lengths.max() < ALIKE * lengths.min() and _apart(unit):
        return None
    basis, triangle, order = cast(
        "tuple[np.ndarray, np.ndarray, np.ndarray]", qr(unit.T, mode="economic", pivoting=True)
    )
    rank = int(np.sum(np.abs(np.diagonal(triangle)) > INDEPENDENT))
    if border.columns.shape[1] and rank < len(targets):
        return None
    kept = there[order[:rank]]
    square = triangle[:rank, :rank]

    def turned(columns: np.ndarray) -> np.ndarray:
        scaled = columns[kept] / lengths[kept].reshape(-1, *[1] * (columns.ndim - 1))
        return solve_triangular(square, scaled, trans=1)

    return OrthonormalRows(
        DenseDesign(np.ascontiguousarray(basis[:, :rank].T), design.blocks),
        turned(targets),
        replace(border, columns=turned(border.columns)) if border.columns.size else border_of(rank),
        square,
        kept,
        lengths[kept],
    )


def _apart(unit: Float[np.ndarray, "n p"]) -> bool:
    """Return whether every row stands well out of the span of those before it."""
    try:
        heights = np.diagonal(np.linalg.cholesky(unit @ unit.T))
    except np.linalg.LinAlgError:
        return False
    return bool(heights.min() > APART)


def border_of(n: int) -> Border:
    """Return no columns at all, for n rows."""
    return Border(np.zeros((n, 0)))
