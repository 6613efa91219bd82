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
        self.targets = targets
        # Rows z with products z z' = x (x'x + ridge)^-1 x'.
        values, vectors = np.linalg.eigh(x.T @ x if p <= n else x @ x.T)
        values = np.maximum(values, 0.0)
        if p <= n:
            self._rows = (x @ vectors) / np.sqrt(values + ridge)
        else:
            self._rows = vectors * np.sqrt(values / (values + ridge))
        mean = targets.mean(axis=0)
        self._residuals = targets - mean - self._rows @ (self._rows.T @ (targets - mean))

    def answers(self, trials: Bool[np.ndarray, " n"]) -> Float[np.ndarray, "m k"]:
        """Return the answers to some trials of the readout that was fitted to all others."""
        rows = self._rows[trials]
        free = np.eye(len(rows)) - rows @ rows.T - 1.0 / len(self.targets)
        return self.targets[trials] - np.linalg.solve(free, self._residuals[trials])
