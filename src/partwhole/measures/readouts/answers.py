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
    error : float array, shape (A, k, k), default None
        Covariance of the errors of `mean`, as far as it is over these training sets and trials,
        too; None where mean answers have no such errors.
    """

    mean: Float[np.ndarray, "A k"]
    between: Float[np.ndarray, "A k k"]
    within: Float[np.ndarray, "k k"]
    loss: Float[np.ndarray, "k k"] | None = None
    error: Float[np.ndarray, "A k k"] | None = None

    @property
    def of_a_trial(self) -> Float[np.ndarray, "A k k"]:
        """Return the covariance of the answer to a fresh trial, but for what `mean` has of it.

        With it around `mean`, squared errors and accuracies are right on average.
        """
        whole = self.between + self.within
        return whole if self.error is None else whole - self.error

    def mapped(self, weights: Float[np.ndarray, "k j"], offset: Float[np.ndarray, " j"]) -> Answers:
        """Return weighted sums of the answers, plus an offset.

        Examples
        --------
        >>> answers = Answers(np.ones((1, 1)), np.ones((1, 1, 1)), np.ones((1, 1)))
        >>> answers.mapped(np.array([[2.0]]), np.array([1.0])).between.item()
        4.0
        """
        between, within = (weights.T @ part @ weights for part in (self.between, self.within))
        error = None if self.error is None else weights.T @ self.error @ weights
        return Answers(self.mean @ weights + offset, between, within, error=error)
