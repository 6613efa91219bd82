r"""Answers of ridge readouts to trials that were left out, all from a single fit.

With the hat matrix H of the fit to all trials, intercept included, a fit without the trials of a
set gives them the answers :math:`y - (I - H_{SS})^{-1} (y - H y)_S`, exactly.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float


class LeavingOut:
    """Ridge readout with a free intercept, fitted to all trials.

    Parameters
    ----------
    features : float array, shape (n, p)
    targets : float array, shape (n, k)
    ridge : float
        Above 0.
    """

    def __init__(
        self, features: Float[np.ndarray, "n p"], targets: Float[np.ndarray, "n k"], ridge: float
    ) -> None:
        n, p = features.shape
        x = features - features.mean(axis=0)
        mean = targets.mean(axis=0)
        self.targets = targets
        # Rows z whose products are H without the intercept, or, as little may be left of I - H
        # where features are many, I - H itself.
        self._is_remainder = p >= n
        if self._is_remainder:
            gram = x @ x.T
            # All ones are then the eigenvector of the largest eigenvalue.
            values, vectors = np.linalg.eigh(gram + np.trace(gram) / n)
            values, vectors = np.maximum(values[:-1], 0.0), vectors[:, :-1]
            self._rows = vectors * np.sqrt(ridge / (values + ridge))
        else:
            values, vectors = np.linalg.eigh(x.T @ x)
            self._rows = (x @ vectors) / np.sqrt(np.maximum(values, 0.0) + ridge)
        product = self._rows @ (self._rows.T @ (targets - mean))
        self._residuals = product if self._is_remainder else targets - mean - product

    def answers(self, trials: Bool[np.ndarray, " n"]) -> Float[np.ndarray, "m k"]:
        """Return the answers to some trials of the readout that was fitted to all others."""
        rows = self._rows[trials]
        free = rows @ rows.T
        if not self._is_remainder:
            free = np.eye(len(rows)) - free - 1.0 / len(self.targets)
        return self.targets[trials] - np.linalg.solve(free, self._residuals[trials])
