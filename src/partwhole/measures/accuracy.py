"""Sign agreement, with ties told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._types import Real
from partwhole.tasks import Task

TIE = 1e-9  # outputs no larger have no sign


@dataclass(frozen=True)
class Accuracy:
    """Count right, wrong and undecided signs.

    Parameters
    ----------
    right, wrong, ties : int
        A tie is a prediction too small to have a sign.
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
    targets: Float[np.ndarray, " n"] | Task,
    predictions: Float[np.ndarray, " n"],
    *,
    tie: Real = TIE,
) -> Accuracy:
    """Compare the signs of predictions with labels.

    Parameters
    ----------
    targets : float array, shape (n,)
        Labels -1 and +1, such as ``task.test_targets``; a whole task is refused, since only
        one of its splits can be meant.
    predictions : float array, shape (n,)
        For the same rows, such as ``limit.test_predictions``.
    tie : float, keyword-only, default 1e-9
        A prediction of at most this size has no sign: a learner that returns 0 up to rounding
        is undecided, not half right by luck.

    Returns
    -------
    Accuracy

    Raises
    ------
    InputError
        When lengths differ, a target is not -1 or +1, a prediction is NaN, or `tie` is
        negative.

    Examples
    --------
    >>> found = accuracy(np.array([1.0, 1.0, -1.0]), np.array([2.0, 1e-16, 3.0]))
    >>> found.value, round(found.strict, 4), found.ties
    (0.5, 0.3333, 1)
    """
    if isinstance(targets, Task):
        remedy = "pass task.test_targets and limit.test_predictions"
        raise InputError(f"targets are an array; got a Task; {remedy}")
    strange = targets[np.abs(targets) != 1.0]
    require(
        not len(strange), "targets are labels -1 and +1", strange[:1].tolist(), "take their signs"
    )
    require(tie >= 0, "tie is a size of at least 0", tie, "use 0 for exact zeros only")
    tied = np.abs(predictions) <= tie
    right = ~tied & (targets * predictions > 0)
    return Accuracy(int(right.sum()), int(np.sum(~tied & ~right)), int(tied.sum()))
