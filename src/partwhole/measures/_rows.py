"""Means of rows by index, and fewer columns with the same inner products."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

# Rows whose differences from others are taken at once: with all, memory takes longer than sums.
AT_ONCE = 1024


def averaging(index: Int[np.ndarray, " n"], counts: Int[np.ndarray, " T"]) -> sparse.csr_matrix:
    """Return the matrix that takes means of rows with one index, of which there are counts."""
    rows = (1.0 / counts[index], (index, np.arange(len(index))))
    return sparse.csr_matrix(rows, shape=(len(counts), len(index)))


def squares_by_column(
    rows: Float[np.ndarray, "n p"],
    means: Float[np.ndarray, "T p"],
    index: Int[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " p"]:
    """Return weighted sums of squared differences of rows from their mean, by column."""
    total = np.zeros(rows.shape[1])
    for start in range(0, len(rows), AT_ONCE):
        of = slice(start, start + AT_ONCE)
        left = rows[of] - means[index[of]]
        total += np.einsum("i,ij,ij->j", weights[of], left, left)
    return total


def products_with(
    rows: Float[np.ndarray, "n p"], others: Float[np.ndarray, "T p"], index: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return the product of each row with that of others which has its index."""
    return np.concatenate([
        np.einsum("ij,ij->i", rows[start : start + AT_ONCE], others[index[start : start + AT_ONCE]])
        for start in range(0, len(rows), AT_ONCE)
    ])  # fmt: skip


def coordinates(rows: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n q"]:
    """Return rows with the same inner products in at most n dimensions."""
    n, p = rows.shape
    return rows if p <= n else coordinates_of(rows @ rows.T)


def coordinates_of(products: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """Return rows with these inner products."""
    values, vectors = np.linalg.eigh(products)
    return vectors * np.sqrt(np.maximum(values, 0.0))
