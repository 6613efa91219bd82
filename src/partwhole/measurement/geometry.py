"""What is measured by the means of conditions: parallelism, graded similarity, dimensions."""

from __future__ import annotations

from functools import cache

from partwhole._checks import InputError
from partwhole._types import Seed
from partwhole.measurement.abstraction import Part, parallelism_of
from partwhole.measures._means import condition_means
from partwhole.measures.abstraction import Parallelism
from partwhole.measures.graded_similarity import AS_MUCH, FLAT, GradedSimilarity, graded
from partwhole.measures.recorded_dimensions import RecordedDimensions, recorded_dimensions
from partwhole.recordings import Recording

# In a note on shares that steps explain.
IMPRECISE = "shares are imprecise"


def dimensions_of(recording: Recording, seed: Seed) -> tuple[RecordedDimensions | None, list[str]]:
    """Return dimensions, with notes on them or the reason why there are none."""
    try:
        dimensions = recorded_dimensions(recording, seed=seed)
    except InputError as error:
        return None, [f"dimensions were not measured: {error}"]
    return dimensions, list(dimensions.notes)


def by_means(
    recording: Recording, seed: Seed
) -> tuple[Part[Parallelism], tuple[GradedSimilarity, ...], list[str]]:
    """Return what is measured by the same means: parallelism, and graded similarities with notes.

    Of a large recording, deviations from means are as large as itself.
    """
    means_of = cache(lambda: condition_means(recording, seed=seed))
    gradings, reasons = [], []
    for name, values in zip(recording.names, recording.values, strict=True):
        if len(values) < 3:
            continue
        try:
            grading = graded(recording, name, means_of, seed=seed)
            gradings.append(grading)
            # Those on means are among notes on dimensions, others in the sentence on it.
            further = [note for note in grading.notes if note not in means_of().notes]
            further = [note for note in further if note != FLAT and AS_MUCH not in note]
            if grading.kind == "irregular":
                # That sentence has no shares.
                further = [note for note in further if IMPRECISE not in note]
            reasons += [f"{name}: {note}" for note in further if note not in reasons]
        except InputError as error:
            reasons.append(f"how values of {name} differ was not measured: {error}")
    return parallelism_of(recording, means_of, seed), tuple(gradings), reasons
