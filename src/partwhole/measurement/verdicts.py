"""What a measurement says, in words: compositional or not, trials enough or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from partwhole._types import Real
from partwhole.audit.page.words import number
from partwhole.measurement.abstraction import Abstraction
from partwhole.measures._shares import quantiles, shares_of
from partwhole.measures.graded_similarity import GradedSimilarity
from partwhole.measures.readouts import HeldOutReadouts
from partwhole.measures.readouts.predicted import SURE
from partwhole.measures.recorded_dimensions import RecordedDimensions
from partwhole.measures.salience import Salience

if TYPE_CHECKING:
    from partwhole.measurement.measurement import Measurement

SMALL_PENALTY = "penalty too small"
# Structure from which saliences describe a representation, and below which they are too coarse.
OVERLAP, COARSE = 0.9, 0.5
# Share of orders of values that explain as much, from which an order may be chance.
BY_CHANCE = 0.05


def trials_in_words(counts: np.ndarray) -> str:
    """Return how many trials a condition has.

    Examples
    --------
    >>> trials_in_words(np.array([5, 5])), trials_in_words(np.array([5, 7]))
    ('5 trials of each', '5 to 7 trials of each')
    """
    low, high = int(counts.min()), int(counts.max())
    return f"{low} trials of each" if low == high else f"{low} to {high} trials of each"


def set_in_words(names: Sequence[str], members: Sequence[int]) -> str:
    """Return a set of components in words.

    Examples
    --------
    >>> set_in_words(["shape", "colour"], [0, 1])
    'shape × colour'
    """
    return " × ".join(names[c] for c in members)


def headline(measurement: Measurement) -> str:
    """Return how compositional the recording is, in a sentence or two."""
    result = measurement.saliences
    if np.isnan(list(result.saliences.values())).any():
        return "How compositional these responses are cannot be said from these trials."
    share, (low, high) = parts_of(result)
    if np.isnan(low):
        return (
            "How compositional these responses are cannot be said from so few trials: parts by "
            f"themselves would make up {_percent(min(share, 1.0))} of what separates conditions, "
            "without an interval."
        )
    # Without its noise a share can lie above 1 by chance.
    share, low, high = (min(value, 1.0) for value in (share, low, high))
    sentence = (
        f"Parts by themselves make up {_percent(share)} of what separates conditions "
        f"({_percent(low)} to {_percent(high)})."
    )
    if result.structure < COARSE:
        sentence += " That is a mean over values of which some look alike."
    return sentence


def parts_of(result: Salience) -> tuple[float, tuple[float, float]]:
    """Return the salience of all single components together, and its interval."""
    single = [(1 << c) - 1 for c in range(result.n_components)]
    share = float(shares_of(result.centred)[single].sum())
    if np.isnan(list(result.saliences_interval.values())).any():
        return share, (np.nan, np.nan)
    drawn = shares_of(result.replicates)[:, single].sum(axis=1)
    low, high = quantiles(drawn[:, None], result.confidence)[0]
    return share, (float(low), float(high))


def structure_in_words(measurement: Measurement) -> str:
    """Return how far saliences describe the representation."""
    structure = measurement.saliences.structure
    if np.isnan(structure):
        return "Whether similarity depends on shared parts alone was not measured."
    # Without its noise a share can lie above 1 by chance.
    explained = _percent(min(structure, 1.0))
    if structure >= OVERLAP:
        return (
            f"Shared parts explain {explained} of how similar conditions are, so that "
            "saliences describe the representation."
        )
    if structure >= COARSE:
        return (
            f"Shared parts explain {explained} of how similar conditions are: saliences "
            "describe the representation in part."
        )
    return (
        f"Shared parts explain only {explained} of how similar conditions are: some "
        "values look alike, and saliences are too coarse for this representation."
    )


def grading_in_words(grading: GradedSimilarity) -> str:
    """Return how the values of a component differ, in a sentence without its full stop."""
    name = grading.component
    if grading.kind == "flat":
        return f"{name}: no two values are measurably more alike than others"
    if grading.kind == "irregular":
        return f"{name}: some values are more alike than others, in no order of their steps"
    line = grading.kind == "ordered"
    share, chance = (
        (grading.ordered, grading.p_ordered) if line else (grading.circular, grading.p_circular)
    )
    # Without their noise shares can lie above 1 by chance.
    explained = f"steps {'along' if line else 'around'} it explain {_percent(min(share, 1.0))}"
    shape = "on a line" if line else "on a circle"
    if chance >= BY_CHANCE:
        return (
            f"{name}: some values are more alike than others, perhaps as {shape} ({explained}, but "
            f"{_percent(chance)} of all orders of the values explain as much)"
        )
    nearest = grading.nearest_steps
    alike = "values near one another are" if nearest == 1 else f"values {nearest} steps apart are"
    return f"{name}: {alike} more alike, as {shape} ({explained})"


def dimensions_in_words(dimensions: RecordedDimensions) -> str:
    """Return the number of dimensions that conditions use, in a sentence without its full stop."""
    if np.isnan(dimensions.value):
        return "The dimensions of condition means are not above their noise"
    low, high = (round(end, 1) for end in dimensions.interval)
    return (
        f"Condition means use {number(round(dimensions.value, 1))} dimensions "
        f"({interval_in_words(low, high)}), noise taken out"
    )


def abstraction_in_words(abstraction: Abstraction) -> list[str]:
    """Return sentences on each component and on all conditions, without their full stops."""
    parallel, general = abstraction.parallelism, abstraction.generalization
    sentences = []
    present = parallel if parallel is not None else general
    for c, name in enumerate(present.names if present is not None else ()):
        parts = []
        if parallel is not None and np.isfinite(parallel.score[c]):
            ends = interval_in_words(*(round(float(end), 2) for end in parallel.interval[c]))
            parts.append(
                f"parallelism {number(round(float(parallel.score[c]), 2))} "
                f"({ends}; {p_in_words(parallel.p[c])})"
            )
        if general is not None and np.isfinite(general.by_component[name]):
            chance = float(general.null_by_component[:, c].mean())
            parts.append(
                f"two of its values are decoded in {_percent(general.by_component[name])} of "
                f"trials of unseen conditions (at random positions {_percent(chance)}; "
                f"{p_in_words(general.p_by_component[name])})"
            )
        if parts:
            sentences.append(f"{name}: {'; '.join(parts)}")
    shattered = abstraction.shattering
    if shattered is not None:
        sentences.append(
            f"Conditions divided in halves in any way are told apart in "
            f"{_percent(shattered.value)} of trials (shattering dimensionality; labels permuted "
            f"{_percent(shattered.chance)}, conditions at random positions "
            f"{_percent(shattered.ceiling)})"
        )
    return sentences


def p_in_words(p: Real) -> str:
    """Return a p-value of repetitions.

    Examples
    --------
    >>> p_in_words(0.01), p_in_words(0.4321)
    ('p = 0.01', 'p = 0.43')
    """
    return f"p = {number(round(float(p), 3), 2)}"


def sets_in_words(readouts: HeldOutReadouts) -> str:
    """Return how many conditions are held out together."""
    sizes = readouts.held_out.sum(axis=1)
    if sizes.max() == 1:
        return "a condition"
    if len(sizes) == 1:
        return f"{sizes[0]} conditions"
    return "two conditions" if sizes.min() == sizes.max() == 2 else "a set of conditions"


def readout_in_words(readouts: HeldOutReadouts, label: int) -> str:
    """Return how well a component is read out at held-out conditions, in a sentence."""
    name = readouts.labels[label]
    open_rows = int(np.sum(~readouts.determined))
    sentence = (
        f"{name}: right in {_percent(readouts.measured_accuracy[:, label].mean())} of "
        f"trials, predicted {_percent(readouts.accuracy[:, label].mean())}, chance "
        f"{_percent(readouts.chance[label])}"
    )
    n_rows = len(readouts.condition)
    verdicts = [verdict_of(readouts, row, label) for row in range(n_rows)]
    if small := verdicts.count(SMALL_PENALTY):
        sentence += f"; the penalty is too small at {small} of {n_rows}"
    if few := verdicts.count("too few trials"):
        sentence += f"; too few trials to say at {few} of {n_rows}"
    if open_rows and label == 0:
        sentence += f"; {open_rows} not determined by the others"
    return sentence


def verdict_of(readouts: HeldOutReadouts, row: int, label: int) -> str:
    """Return what a readout will answer to a held-out condition.

    "right" and "wrong" are those of the mean answer to as many trials as were recorded, if its
    predicted probability is at least .975; "not determined" stands where other conditions leave
    sums of parts open, and "penalty too small" where it would be right with a larger penalty; else
    there are too few trials to say.
    """
    if not readouts.determined[row]:
        return "not determined"
    certainty = readouts.certainty[row, label]
    if certainty >= SURE:
        return "right"
    if certainty <= 1.0 - SURE:
        return "wrong"
    larger = readouts.larger_certainty
    return SMALL_PENALTY if larger is not None and larger[row, label] >= SURE else "too few trials"


def penalty_in_words(readouts: HeldOutReadouts) -> str:
    """Return which penalty would do better, or an empty sentence."""
    rows = range(len(readouts.condition))
    pairs = [(row, label) for row in rows for label in range(len(readouts.labels))]
    small = sum(verdict_of(readouts, row, label) == SMALL_PENALTY for row, label in pairs)
    if not small:
        return ""
    held_out = readouts.held_out @ np.bincount(readouts.recording.condition_of_trial)
    n_train = readouts.recording.n_trials - float(np.mean(held_out))
    return (
        f"{readouts.recording.n_neurons:,} neurons are about as many as {n_train:,.0f} training "
        "trials, where readouts with a small penalty do worst: of answers that are open with "
        f"ridge={readouts.ridge:.2g}, {small} would be right with ridge={readouts.larger_ridge:.3g}"
    )


def interval_in_words(low: float, high: float) -> str:
    """Return an interval, or that there is none.

    Examples
    --------
    >>> interval_in_words(0.1, 0.25), interval_in_words(float("nan"), 1.0)
    ('0.1 to 0.25', 'no interval')
    """
    if np.isnan(low) or np.isnan(high):
        return "no interval"
    return f"{number(round(low, 3))} to {number(round(high, 3))}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %".replace("-", "−")
