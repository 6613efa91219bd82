"""Abstraction of a recording: whether components are encoded alike in all contexts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import TypeVar

import numpy as np
from jaxtyping import Bool

from partwhole._checks import InputError
from partwhole._types import Seed
from partwhole.measures._confounded import dependence
from partwhole.measures._means import Means
from partwhole.measures.abstraction import (
    CrossConditionGeneralization,
    Parallelism,
    Shattering,
    ccgp,
    shattering_dimensionality,
)
from partwhole.measures.abstraction.generalization import CONFOUNDED
from partwhole.measures.abstraction.parallelism import parallelism_by
from partwhole.measures.abstraction.splits import MOST_FOLDS
from partwhole.recordings import Recording

# Multiplications of some six seconds, for decoders of two values and of halves.
LARGEST = 3e10
# Of a large recording fewer contexts are held out, and fewer dichotomies, down to these.
REPETITIONS, SPLITS, DICHOTOMIES = 99, 32, 100
LEAST_SPLITS, LEAST_DICHOTOMIES = 4, 25
# Share of the dimensions of unrelated neurons, below which a small p of parallelism is questioned:
# simulated independent codes have .9 or more, sums of codes of two components .46 or more up to
# 4 x 4 conditions, codes of rank 3 in 50 neurons .47 or less from 2 x 4 conditions on.
FEW_DIMENSIONS, SMALL = 0.45, 0.05
FOLDS = 5  # of shattering_dimensionality
T = TypeVar("T", Parallelism, CrossConditionGeneralization, Shattering)
# A measure with notes on it, or None and the reason.
Part = tuple[T | None, list[str]]


@dataclass(frozen=True, eq=False)
class Abstraction:
    """Measures of abstraction; None for one that could not be measured.

    Parameters
    ----------
    parallelism : Parallelism or None
    generalization : CrossConditionGeneralization or None
        Of two values of a component at a time, in one context, of decoders trained in all others.
    shattering : Shattering or None
    """

    parallelism: Parallelism | None
    generalization: CrossConditionGeneralization | None
    shattering: Shattering | None

    @property
    def has_parallelism(self) -> Bool[np.ndarray, " C"]:
        """Return which components have a score that coding vectors longer than noise support.

        Without an interval, it is a ratio to a length that may be 0.
        """
        assert self.parallelism is not None
        return np.isfinite(self.parallelism.score) & np.isfinite(self.parallelism.interval[:, 0])


def together(
    parallel: Part[Parallelism],
    general: Part[CrossConditionGeneralization],
    shattered: Part[Shattering],
) -> tuple[Abstraction | None, list[str]]:
    """Return the measures, None if there are none, and notes on all."""
    notes = [*parallel[1], *general[1], *shattered[1]]
    if parallel[0] is None and general[0] is None and shattered[0] is None:
        return None, notes
    return Abstraction(parallel[0], general[0], shattered[0]), notes


def parallelism_of(
    recording: Recording, means_of: Callable[[], Means], seed: Seed
) -> Part[Parallelism]:
    """Return how parallel coding vectors are, by means of conditions."""
    result, notes = _measured("parallelism", lambda: parallelism_by(recording, means_of, seed=seed))
    # Nothing is said of a p-value that supports nothing.
    if result is not None and np.any(result.p < SMALL):
        notes += few_dimensions(means_of())
    return result, notes


def few_dimensions(means: Means) -> list[str]:
    """Return that p of parallelism takes neurons to be unrelated, where they are not.

    Means of T conditions in q unrelated neurons, which vary alike, use about
    :math:`(T - 1) q / (T - 1 + q)` dimensions, the participation ratio.
    """
    n = len(means.conditions) - 1
    products = means.similarity_times(np.eye(n + 1))
    varies = np.var(means.by_neuron.means, axis=0)
    if np.trace(products) <= 0.0 or not varies.any():
        return []
    dimensions = float(np.trace(products) ** 2 / np.sum(products**2))
    neurons = float(varies.sum() ** 2 / np.sum(varies**2))
    if dimensions >= FEW_DIMENSIONS * n * neurons / (n + neurons):
        return []
    return [
        f"condition means use {dimensions:.1f} dimensions, fewer than those of unrelated neurons: "
        "p of parallelism takes neurons to be unrelated, and is too small where they are not"
    ]


def generalization_of(recording: Recording, seed: Seed) -> Part[CrossConditionGeneralization]:
    """Return how two values are decoded in unseen contexts."""
    splits, contexts = int(min(LARGEST / _work_of_split(recording), SPLITS)), _n_contexts(recording)
    if splits < min(LEAST_SPLITS, contexts):
        return None, [_left_out("decoders of two values in unseen contexts", "ccgp")]
    result, notes = _measured(
        "generalization across conditions",
        lambda: ccgp(
            recording,
            dichotomies="components",
            # Where two values of two components are held out in any way, training confounds both.
            differing=1,
            repetitions=REPETITIONS,
            max_splits=splits,
            seed=seed,
        ),
    )
    if result is not None:
        notes = [note for note in result.notes if "dichotom" not in note]
        notes += _few_contexts(recording, result)
    if splits < min(SPLITS, contexts):
        notes = [f"up to {splits} contexts are held out for two values, drawn at random", *notes]
    return result, notes


def shattering_of(recording: Recording, seed: Seed) -> Part[Shattering]:
    """Return how halves of the conditions are decoded."""
    dichotomies = int(min(LARGEST / _work_of_dichotomy(recording), DICHOTOMIES))
    if dichotomies < LEAST_DICHOTOMIES:
        what = "decoders of conditions divided in halves"
        return None, [_left_out(what, "shattering_dimensionality")]
    return _measured(
        "shattering dimensionality",
        lambda: shattering_dimensionality(
            recording, repetitions=REPETITIONS, max_dichotomies=dichotomies, seed=seed
        ),
    )


def _measured(what: str, measure: Callable[[], T]) -> Part[T]:
    try:
        result = measure()
    except InputError as error:
        return None, [f"{what} was not measured: {error}"]
    return result, list(result.notes)


def _left_out(what: str, measure: str) -> str:
    where = f"measures.abstraction.{measure}"
    return f"{what} are left out, as they would take long: in Python {where} has them"


def _few_contexts(recording: Recording, result: CrossConditionGeneralization) -> list[str]:
    """Return of which components pairs of values have no decoder that is tested."""
    notes = []
    for c, column in enumerate(recording.conditions.T):
        total = comb(len(np.unique(column)), 2)
        lack = total - int(np.sum(result.component == c))
        of_groups = f"values of {recording.names[c]!r} need two groups"
        if lack and not any(note.startswith(of_groups) for note in result.notes):
            notes.append(
                f"{recording.names[c]}: {lack} of {total} pairs of values lack a context in which "
                "both were recorded, or others to train decoders in"
            )
    return notes


def _n_contexts(recording: Recording) -> int:
    """Return the largest number of contexts of a component: values of all others."""
    rows = recording.conditions
    others = (np.delete(rows, c, axis=1) for c in range(rows.shape[1]))
    return max(len(np.unique(of, axis=0)) for of in others)


def _work_of_split(recording: Recording) -> float:
    """Return about how many multiplications a held-out context takes, of all pairs of values."""
    n, p = recording.responses.shape
    work, folds, noises = 0.0, 1, 1
    if (group := recording.groups) is not None:
        folds = min(len(np.unique(group)), MOST_FOLDS)
        confounded = [dependence(group, of) < CONFOUNDED for of in recording.components.T]
        # Where values move between groups, every repetition has noise of its own.
        noises += REPETITIONS * any(confounded)
    for column in recording.conditions.T:
        counts = np.unique(column, return_counts=True)[1]
        of_pair = np.add.outer(counts, counts)[np.triu_indices(len(counts), 1)]
        trials = n * of_pair / len(column)
        work += float(np.sum(noises * trials + REPETITIONS * of_pair)) * min(n, p) ** 2
        # A system of equations at each place of the null.
        work += REPETITIONS * float(np.sum(of_pair.astype(float) ** 3))
    return max(folds * work, 1.0)


def _work_of_dichotomy(recording: Recording) -> float:
    """Return about how many multiplications a division of all conditions in halves takes."""
    n, p = recording.responses.shape
    n_conditions = recording.n_conditions
    shared = (n + REPETITIONS * n_conditions) * min(n, p) ** 2 / DICHOTOMIES
    # Halves of as many conditions have the same weights, and one system of equations.
    alone = n_conditions % 2 or np.ptp(np.bincount(recording.condition_of_trial)) > 0
    systems = 1.0 if alone else 1.0 / DICHOTOMIES
    return FOLDS * (shared + systems * REPETITIONS * n_conditions**3)
