"""Mean and spread of a readout's answers at each condition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Answers:
    """Mean and spread of a readout's answers at each condition.

    Parameters
    ----------
    mean : float array, shape (A, k)
        Mean answers, over training sets and trials.
    between : float array, shape (A, k, k)
        Covariance of the answer at a condition's mean, over training sets.
    within : float array, shape (k, k)
        Covariance of the answer over trials of a condition, of a mean training set.
    loss : float array, shape (k, k), default None
        Of ridge: the smallest sum of squared errors and penalty, and its products of outputs.
    """

    mean: Float[np.ndarray, "A k"]
    between: Float[np.ndarray, "A k k"]
    within: Float[np.ndarray, "k k"]
    loss: Float[np.ndarray, "k k"] | None = None

    def mapped(self, weights: Float[np.ndarray, "k j"], offset: Float[np.ndarray, " j"]) -> Answers:
        """Return weighted sums of the answers, plus an offset.

        Examples
        --------
        >>> answers = Answers(np.ones((1, 1)), np.ones((1, 1, 1)), np.ones((1, 1)))
        >>> answers.mapped(np.array([[2.0]]), np.array([1.0])).between.item()
        4.0
        """
        between = weights.T @ self.between @ weights
        return Answers(self.mean @ weights + offset, between, weights.T @ self.within @ weights)
