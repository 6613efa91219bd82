"""Outcomes of training, for any network."""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """Outcome of the training of a network; the value names the remedy."""

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
