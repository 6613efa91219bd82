"""Readouts that are trained, and their answers to other trials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole.measures.readouts.labels import are_labels, credit, label_indices

# Of all squares of features, up to which a penalty is too small for normal equations.
FEW_DIGITS = 1e-7


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear readout.

    Parameters
    ----------
    centre : float array, shape (p,)
        Subtracted from features.
    weights : float array, shape (p, k)
    intercept : float array, shape (k,)
    """

    centre: Float[np.ndarray, " p"]
    weights: Float[np.ndarray, "p k"]
    intercept: Float[np.ndarray, " k"]

    def __call__(self, features: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n k"]:
        """Return the answers."""
        return (features - self.centre) @ self.weights + self.intercept


def ridge_readout(
    features: Float[np.ndarray, "n p"],
    targets: Float[np.ndarray, "n k"],
    ridge: float,
    weights: Float[np.ndarray, " n"] | None = None,
) -> Linear:
    """Return the ridge readout with a free intercept; without a penalty that of smallest norm.

    Parameters
    ----------
    features, targets : float arrays, shapes (n, p) and (n, k)
    ridge : float
        Penalty on squared weights.
    weights : float array, shape (n,), optional
        Of trials, in proportion; their mean counts as 1.
    """
    share = np.full(len(features), 1.0 / len(features))
    if weights is not None:
        share = weights / weights.sum()
    centre, mean_target = share @ features, share @ targets
    root = np.sqrt(len(features) * share)[:, None]
    x, y = root * (features - centre), root * (targets - mean_target)
    if ridge <= FEW_DIGITS * float(np.vdot(x, x)):
        left, values, right = np.linalg.svd(x, full_matrices=False)
        kept = values > values.max() * np.finfo(float).eps * max(x.shape)
        gain = np.zeros_like(values)
        gain[kept] = values[kept] / (values[kept] ** 2 + ridge)
        solution = right.T @ (gain[:, None] * (left.T @ y))
    elif x.shape[1] <= len(x):
        solution = np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ y)
    else:
        solution = x.T @ np.linalg.solve(x @ x.T + ridge * np.eye(len(x)), y)
    return Linear(centre, solution, mean_target)


def by_condition(
    answers: Float[np.ndarray, "n k"],
    targets: Float[np.ndarray, "n k"],
    index: Int[np.ndarray, " n"],
    n_conditions: int,
) -> tuple[Float[np.ndarray, "A k"], Float[np.ndarray, " A"]]:
    """Return the mean answer and the accuracy at each condition, NaN where there are no trials.

    Parameters
    ----------
    answers, targets : float arrays, shape (n, k)
    index : int array, shape (n,)
        The condition of each trial.
    n_conditions : int
    """
    right = np.full(len(answers), np.nan)
    if are_labels(targets):
        right = credit(answers, label_indices(targets))
    total = np.zeros((n_conditions, answers.shape[1] + 1))
    np.add.at(total, index, np.column_stack([answers, right]))
    counts = np.bincount(index, minlength=n_conditions)[:, None]
    mean = np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
    return mean[:, :-1], mean[:, -1]
