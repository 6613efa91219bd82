r"""Answers of ridge readouts to trials that were left out, all from a single fit.

With the hat matrix H of the fit to all trials, intercept included, a fit without the trials of a
set gives them the answers :math:`y - (I - H_{SS})^{-1} (y - H y)_S`, exactly. Of fewer features
than trials, H follows from products of features, which are those of means and of what is left.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from partwhole.measures.readouts.means import Trials


class LeavingOut:
    """Ridge readout with a free intercept, fitted to all trials.

    Parameters
    ----------
    trials : Trials
    targets : float array, shape (A, k)
        Of each condition.
    ridge : float
        Above 0.
    """

    def __init__(self, trials: Trials, targets: Float[np.ndarray, "A k"], ridge: float) -> None:
        counts, n = trials.counts, len(trials.index)
        self._trials, self._targets = trials, targets
        self._centre = counts @ trials.means / n
        self._mean_target = counts @ targets / n
        self._is_remainder = trials.means.shape[1] >= n
        if self._is_remainder:
            x = trials.features - self._centre
            gram = x @ x.T
            # All ones are then the eigenvector of the largest eigenvalue.
            values, vectors = np.linalg.eigh(gram + np.trace(gram) / n)
            values, vectors = np.maximum(values[:-1], 0.0), vectors[:, :-1]
            # Rows whose products are I - H itself, as little may be left of it.
            self._rows = vectors * np.sqrt(ridge / (values + ridge))
            self._residuals = self._rows @ (self._rows.T @ targets[trials.index])
        else:
            means = trials.means - self._centre
            values, vectors = np.linalg.eigh(trials.scatter + (means.T * counts) @ means)
            # From features to rows whose products are H without the intercept.
            self._to_rows = vectors / np.sqrt(np.maximum(values, 0.0) + ridge)
            pulled = (means.T * counts) @ (targets - self._mean_target)
            self._fit = self._to_rows.T @ pulled

    def answers(self, trials: Bool[np.ndarray, " n"]) -> Float[np.ndarray, "m k"]:
        """Return the answers to some trials of the readout that was fitted to all others."""
        index = self._trials.index[trials]
        targets = self._targets[index]
        if self._is_remainder:
            rows, residuals = self._rows[trials], self._residuals[trials]
            free = rows @ rows.T
        else:
            features = self._trials.means[index] + self._trials.residuals_of(trials)
            rows = (features - self._centre) @ self._to_rows
            residuals = targets - self._mean_target - rows @ self._fit
            free = np.eye(len(rows)) - rows @ rows.T - 1.0 / len(self._trials.index)
        return targets - np.linalg.solve(free, residuals)
