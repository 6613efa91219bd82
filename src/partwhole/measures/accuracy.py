"""Share of right labels, with ties counted separately."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._types import NonNegative
from partwhole.tasks import Task
from partwhole.tasks._labels import are_labels, label_margins

TIE = 1e-9  # outputs no larger have no sign


@dataclass(frozen=True)
class Accuracy:
    """Numbers of right, wrong and undecided labels.

    Parameters
    ----------
    right, wrong, ties : int
        A tie is a prediction too small to have a sign, or a right class whose prediction is as
        large as the largest of the others.
    """

    right: int
    wrong: int
    ties: int

    @property
    def value(self) -> float:
        """Return the share that is right, half of each tie; NaN without rows."""
        total = self.right + self.wrong + self.ties
        return (self.right + 0.5 * self.ties) / total if total else np.nan

    @property
    def strict(self) -> float:
        """Return the share that is right, ties counted as wrong; NaN without rows."""
        total = self.right + self.wrong + self.ties
        return self.right / total if total else np.nan


@door(infinite=("predictions",), empty=("targets", "predictions"))
def accuracy(
    targets: Float[np.ndarray, "n *k"] | Task,
    predictions: Float[np.ndarray, "n *outputs"],
    *,
    tie: NonNegative = TIE,
) -> Accuracy:
    """Count how often predictions have the right label.

    Signs: a prediction is right where it has the sign of its label; with k columns of labels
    every entry counts, so all outputs are pooled. Classes (k columns, in each row a single 1 and
    otherwise 0, or otherwise -1): a row is right where its largest prediction is that of its
    class.

    Parameters
    ----------
    targets : float array, shape (n,) or (n, k)
        Labels -1 and +1, or classes, such as ``task.test_targets``; a whole task is refused,
        because it does not say which split is meant.
    predictions : float array, shape (n,) or (n, k)
        For the same rows, such as ``limit.test_predictions``.
    tie : float, keyword-only, default 1e-9
        A prediction of at most this size has no sign: a learner that returns 0 up to rounding
        is undecided. For classes, the largest difference between the right class and another
        that counts as a tie, in units of the difference between a 1 and another target.

    Returns
    -------
    Accuracy

    Raises
    ------
    InputError
        When shapes differ, targets are neither signs nor classes, a prediction is NaN, or `tie`
        is negative.

    Examples
    --------
    >>> score = accuracy(np.array([1.0, 1.0, -1.0]), np.array([2.0, 1e-16, 3.0]))
    >>> score.value, round(score.strict, 4), score.ties
    (0.5, 0.3333, 1)
    >>> accuracy(np.eye(3), np.array([[0.9, 0.2, 0.1], [0.5, 0.4, 0.1], [0.3, 0.3, 0.3]]))
    Accuracy(right=1, wrong=1, ties=1)
    """
    if isinstance(targets, Task):
        remedy = "pass task.test_targets and limit.test_predictions"
        raise InputError(f"targets are an array; got a Task; {remedy}")
    strange = targets[np.abs(targets) != 1.0]
    require(
        predictions.shape == targets.shape,
        f"predictions have the shape of the targets, {targets.shape}",
        f"shape {predictions.shape}",
        "pass one prediction for each target",
    )
    several = targets.ndim > 1
    require(
        are_labels(targets),
        "targets are labels -1 and +1" + ", or one-hot rows of classes" * several,
        strange[:1].tolist(),
        "pass np.eye(k)[classes] for classes 0..k-1" if several else "take their signs",
    )
    return count_labels(label_margins(targets, predictions), float(tie))


def count_labels(margins: Float[np.ndarray, "n *k"], tie: float = TIE) -> Accuracy:
    """Count the labels whose margin is above, below and within a tie of 0."""
    tied = np.abs(margins) <= tie
    right = ~tied & (margins > 0)
    return Accuracy(int(right.sum()), int(np.sum(~tied & ~right)), int(tied.sum()))
