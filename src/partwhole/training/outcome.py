"""Outcomes of training, for any network."""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """Outcome of the training of a network; the value names the remedy.

    Examples
    --------
    >>> import numpy as np
    >>> from partwhole.networks import mlp
    >>> from partwhole.training import Training, train
    >>> x = np.eye(3)
    >>> rates = (0.1, 1e6)
    >>> trainings = [Training(steps=10, learning_rate=rate) for rate in rates]
    >>> [train(mlp(3, 2, 8, seed=0), (x, x), training).outcomes[0].name for training in trainings]
    ['RAN_ALL_STEPS', 'DIVERGED']
    """

    REACHED_THRESHOLD = "reached the threshold"
    RAN_ALL_STEPS = "ran all steps"
    REACHED_MAX_STEPS = (
        "ran all steps and stayed above the threshold; train longer or raise the threshold, or, "
        'where the loss of a small network no longer falls, take precision="float64"'
    )
    NOT_SEPARATED = (
        "ran all steps, and its training set is not separated, so that no maximum-margin limit "
        "exists; train longer, or take more units, or smaller initial weights"
    )
    DIVERGED = (
        "diverged: the training loss grew out of bounds or is not a number; take a smaller "
        "learning rate, or restarts=3 of a Training to divide it by ten where needed"
    )
