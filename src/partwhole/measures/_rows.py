"""Means of rows by index, and fewer columns with the same inner products."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse


def averaging(index: Int[np.ndarray, " n"], counts: Int[np.ndarray, " T"]) -> sparse.csr_matrix:
    """Return the matrix that takes means of rows with one index, of which there are counts."""
    rows = (1.0 / counts[index], (index, np.arange(len(index))))
    return sparse.csr_matrix(rows, shape=(len(counts), len(index)))


def coordinates(rows: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n q"]:
    """Return rows with the same inner products in at most n dimensions."""
    n, p = rows.shape
    if p <= n:
        return rows
    values, vectors = np.linalg.eigh(rows @ rows.T)
    return vectors * np.sqrt(np.maximum(values, 0.0))
