"""Abstraction of a recording: whether components are encoded alike in all contexts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from partwhole._checks import InputError
from partwhole._progress import bar
from partwhole._types import Seed
from partwhole.measures.abstraction import (
    CrossConditionGeneralization,
    Parallelism,
    Shattering,
    ccgp,
    parallelism,
    shattering_dimensionality,
)
from partwhole.recordings import Recording

# Multiplications of a few seconds for decoders.
LARGEST = 2e10
REPETITIONS, SPLITS, DICHOTOMIES = 99, 32, 100
T = TypeVar("T", Parallelism, CrossConditionGeneralization, Shattering)


@dataclass(frozen=True, eq=False)
class Abstraction:
    """Measures of abstraction; None for one that could not be measured.

    Parameters
    ----------
    parallelism : Parallelism or None
    generalization : CrossConditionGeneralization or None
        Of two values of a component at a time.
    shattering : Shattering or None
    """

    parallelism: Parallelism | None
    generalization: CrossConditionGeneralization | None
    shattering: Shattering | None


def abstraction_of(
    recording: Recording, seed: Seed, progress: bool
) -> tuple[Abstraction | None, list[str]]:
    """Return the measures, None if there are none, and why some are not there.

    Parameters
    ----------
    recording : Recording
        Without time.
    seed : int
    progress : bool
        Whether to show a bar once this takes over two seconds.
    """
    reasons: list[str] = []

    def measured(what: str, measure: Callable[[], T]) -> T | None:
        try:
            result = measure()
        except InputError as error:
            reasons.append(f"{what} was not measured: {error}")
            return None
        reasons.extend(result.notes)
        return result

    general = shattered = None
    with bar("abstraction", 3, shown=progress) as advance:
        parallel = measured("parallelism", lambda: parallelism(recording, seed=seed))
        advance(1)
        if _work(recording) > LARGEST:
            reasons.append(
                "decoders of unseen conditions are left out, as they would take long: "
                "measures.ccgp and measures.shattering_dimensionality have them"
            )
        else:
            general = measured(
                "generalization across conditions",
                lambda: ccgp(
                    recording,
                    dichotomies="components",
                    repetitions=REPETITIONS,
                    max_splits=SPLITS,
                    seed=seed,
                ),
            )
            advance(1)
            shattered = measured(
                "shattering dimensionality",
                lambda: shattering_dimensionality(
                    recording, repetitions=REPETITIONS, max_dichotomies=DICHOTOMIES, seed=seed
                ),
            )
            advance(1)
    if parallel is None and general is None and shattered is None:
        return None, reasons
    return Abstraction(parallel, general, shattered), reasons


def _work(recording: Recording) -> float:
    """Return about how many multiplications decoders of unseen conditions take."""
    n, p = recording.responses.shape[:2]
    fits = 0
    for column in recording.conditions.T:
        counts = np.unique(column, return_counts=True)[1]
        larger = np.outer(counts, counts)[np.triu_indices(len(counts), 1)]
        fits += int(np.minimum(larger, SPLITS).sum())
    return float(fits) * n * min(n, p) ** 2
