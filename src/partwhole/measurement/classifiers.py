"""Classifiers in place of ridge readouts: which they are, and whether they can be trained."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

import numpy as np

from partwhole._checks import require
from partwhole._types import Real, Seed
from partwhole.measures._offsets import pseudo_trials
from partwhole.measures.readouts import LDA, SVM, HeldOutReadouts
from partwhole.measures.readouts.classified import Classifiers
from partwhole.measures.readouts.noise import penalty_of
from partwhole.measures.readouts.sets import Sets, sets_of
from partwhole.measures.readouts.targets import targets_of
from partwhole.recordings import Recording

# Of LDA: neurons may outnumber trials.
SHRINKAGE = 0.1


def classifier_of(
    name: Literal["lda", "svm"],
    recording: Recording,
    held_out: Sets | Literal["none"],
    ridge: Real | None,
    seed: Seed,
) -> LDA | SVM:
    """Return a classifier of a recording without time, once it can be trained.

    Raises
    ------
    InputError
        With a ridge; for an SVM of more than two values, or without scikit-learn; and for a set of
        conditions without which a value has no trials.
    """
    require(
        ridge is None,
        "ridge is the penalty of ridge readouts",
        f"ridge={ridge} with classifier={name!r}",
        "leave one of them out",
    )
    conditions = recording.conditions
    kind: LDA | SVM = LDA(shrinkage=SHRINKAGE)
    if name == "svm":
        values = zip(recording.names, recording.values, strict=True)
        many = [component for component, labels in values if len(labels) > 2]
        require(
            not many,
            'classifier="svm" separates two values of each component',
            f"more of {', '.join(many)}",
            'use classifier="lda"',
        )
        require(
            find_spec("sklearn") is not None,
            'classifier="svm" needs scikit-learn',
            "a Python without it",
            'run pip install "partwhole[digits]", or use classifier="lda"',
        )
        responses = pseudo_trials(recording, seed).responses
        kind = SVM(C=1.0 / penalty_of(None, responses))
    if not isinstance(held_out, str) or held_out != "none":
        answered = targets_of(None, recording, conditions)
        nothing = np.zeros((0, recording.n_neurons)), np.zeros(0, dtype=int)
        classifiers = Classifiers(kind, *nothing, answered.by_condition, answered.labelled)
        classifiers.require_labels_without(sets_of(held_out, recording, conditions))
    return kind


def readouts_in_words(readouts: HeldOutReadouts) -> str:
    """Return what kind of readouts they are, as a sentence begins with them."""
    kind = readouts.classifier
    if kind is None:
        return "Ridge readouts"
    if isinstance(kind, LDA):
        return f"Linear discriminants (LDA with a shrinkage of {float(kind.shrinkage):g})"
    return f"Linear support vector machines (C = {float(kind.C):.3g})"
