"""Noise of predictions whose combination is repeated: its variance, by combination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

# Of the range of predictions: differences of less are rounding, in 32 bits too.
ROUNDING = 1e-5

# What differences between rows of one combination are.
Differences = Literal["signal", "noise"]
COUNTED = (
    "predictions differ between rows of a combination, which counts as part of them that no sum "
    'explains; pass repeats="noise" if the rows are noisy trials'
)


@dataclass(frozen=True, eq=False)
class Repeats:
    """Means of the predictions of each combination, and their noise.

    Parameters
    ----------
    combinations : int array, shape (u, C)
    counts : int array, shape (u,)
        Rows of each.
    means : float array, shape (u, k)
        Mean prediction of each, by output.
    variances : float array, shape (u, k)
        Variance of a row; of combinations with a single row, that of all others together.
    n_single : int
        Combinations with a single row.
    """

    combinations: Int[np.ndarray, "u C"]
    counts: Int[np.ndarray, " u"]
    means: Float[np.ndarray, "u k"]
    variances: Float[np.ndarray, "u k"]
    n_single: int

    @property
    def of_means(self) -> Float[np.ndarray, "u k"]:
        """Return the variance of each combination's mean."""
        return self.variances / self.counts[:, None]

    @property
    def note(self) -> str:
        """Return what was done about the noise, in a sentence."""
        text = (
            "predictions differ between rows of a combination: what their noise adds to squares is "
            "taken away, as if independent between rows"
        )
        if self.n_single:
            text += f"; {self.n_single} combinations with one row have the noise of the others"
        return text


def repeats_of(
    components: Int[np.ndarray, "n C"], predictions: Float[np.ndarray, "n *k"]
) -> Repeats | None:
    """Return the repeats among rows, or None if predictions of a combination never differ."""
    rows, index, counts = np.unique(components, axis=0, return_inverse=True, return_counts=True)
    index = index.ravel()
    if counts.max(initial=0) < 2:
        return None
    values = predictions.reshape(len(predictions), -1)
    means = _totals(index, values) / counts[:, None]
    deviations = values - means[index]
    if np.all(np.abs(deviations).max(axis=0) <= ROUNDING * np.ptp(values, axis=0)):
        return None
    squares = _totals(index, deviations**2)
    degrees = (counts - 1.0)[:, None]
    pooled = np.broadcast_to(squares.sum(axis=0) / degrees.sum(), squares.shape).copy()
    variances = np.divide(squares, degrees, out=pooled, where=degrees > 0)
    return Repeats(rows, counts, means, variances, int(np.sum(counts == 1)))


def noise_free_share(
    columns: Float[np.ndarray, "u d"], repeats: Repeats, notes: list[str]
) -> tuple[float, int]:
    """Return R² of the fit of noise-free means by columns, and the rank of these."""
    # A mean counts as often as it has rows, and its noise then with the variance of one row.
    root = np.sqrt(repeats.counts)[:, None]
    left, sizes, _ = np.linalg.svd(root * columns, full_matrices=False)
    basis = left[:, sizes > sizes.max() * max(columns.shape) * np.finfo(float).eps]
    share = repeats.counts[:, None] / repeats.counts.sum()
    spread = repeats.means - np.sum(share * repeats.means, axis=0)
    residual = root * spread - basis @ (basis.T @ (root * spread))
    kept = 1.0 - np.sum(basis**2, axis=1, keepdims=True)
    missed = float(np.sum(residual**2) - np.sum(kept * repeats.variances))
    total = float(np.sum((root * spread) ** 2) - np.sum((1.0 - share) * repeats.variances))
    if total <= 0:
        notes.append("predictions of different held-out tuples do not differ beyond noise")
        return np.nan, basis.shape[1]
    return 1.0 - missed / total, basis.shape[1]


def _totals(index: np.ndarray, values: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "u k"]:
    return np.stack([np.bincount(index, column) for column in values.T], axis=1)
