"""Outputs that stand for labels, and the share of trials with the right one."""

from __future__ import annotations

from functools import cache

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr, ndtri

# Normal points for the probability that one of several outputs is the largest.
DRAWS = 4096


def label_columns(labels: Int[np.ndarray, " n"], n_labels: int) -> Float[np.ndarray, "n k"]:
    """Return a column of -1 and +1 for two labels, or a column for each of more.

    Examples
    --------
    >>> label_columns(np.array([0, 1]), 2).ravel().tolist()
    [-1.0, 1.0]
    """
    if n_labels == 2:
        return (2.0 * labels - 1.0)[:, None]
    return 2.0 * np.eye(n_labels)[labels] - 1.0


def are_labels(targets: Float[np.ndarray, "a k"]) -> bool:
    """Return whether targets are -1 and +1, with a single +1 if there are several columns.

    Examples
    --------
    >>> are_labels(np.array([[1.0], [-1.0]])), are_labels(np.array([[1.0, 1.0]]))
    (True, False)
    """
    single = targets.shape[1] == 1 or bool(np.all(np.sum(targets == 1.0, axis=1) == 1))
    return single and bool(np.all(np.abs(targets) == 1.0))


def label_indices(targets: Float[np.ndarray, "a k"]) -> Int[np.ndarray, " a"]:
    """Return which label each row of targets stands for.

    Examples
    --------
    >>> label_indices(np.array([[1.0], [-1.0]])).tolist()
    [1, 0]
    """
    if targets.shape[1] == 1:
        return (targets[:, 0] > 0).astype(int)
    return targets.argmax(axis=1)


def right_shares(
    means: Float[np.ndarray, "a k"],
    covariances: Float[np.ndarray, "a k k"],
    labels: Int[np.ndarray, " a"],
) -> Float[np.ndarray, " a"]:
    """Return how often normal answers are those of the label: by sign, or the largest."""
    k = means.shape[1]
    if k == 1:
        signed = (2 * labels - 1) * means[:, 0]
        spread = np.sqrt(np.maximum(covariances[:, 0, 0], 0.0))
        # Without spread the answer is the same in all trials.
        certain = 0.5 * (1.0 + np.sign(signed))
        ratio = np.divide(signed, spread, out=np.zeros_like(signed), where=spread > 0)
        return np.where(spread > 0, ndtr(ratio), certain)
    points = _normal_points(k)
    right = np.empty(len(labels))
    for i, covariance in enumerate(covariances):
        values, vectors = np.linalg.eigh(covariance)
        answers = means[i] + (points * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        right[i] = np.mean(answers.argmax(axis=1) == labels[i])
    return right


@cache
def _normal_points(k: int) -> Float[np.ndarray, "n k"]:
    from scipy.stats import qmc  # half of the time of every import of the room

    return ndtri(qmc.Sobol(k, scramble=False).random(DRAWS) + 0.5 / DRAWS)


def credit(
    answers: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return 1 for a trial with the right label, 0 for another, and a half for a tie."""
    if answers.shape[1] == 1:
        signed = (2 * labels - 1) * answers[:, 0]
        return np.where(signed == 0, 0.5, (signed > 0).astype(float))
    return (answers.argmax(axis=1) == labels).astype(float)
