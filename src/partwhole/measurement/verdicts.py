"""What a measurement says of the representation, in words: compositional or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from partwhole._types import Real
from partwhole.audit.page.words import number
from partwhole.measurement.abstraction import Abstraction
from partwhole.measurement.notes import followers, labels_in_words, lacks_combinations, listed
from partwhole.measurement.separation import COARSE, is_coarse, not_apart
from partwhole.measures._shares import quantiles, shares_of
from partwhole.measures.abstraction import CrossConditionGeneralization
from partwhole.measures.graded_similarity import GradedSimilarity
from partwhole.measures.salience import Salience
from partwhole.recordings import Recording

if TYPE_CHECKING:
    from partwhole.measurement.measurement import Measurement

# Structure from which saliences describe a representation.
OVERLAP = 0.9
# Share of orders of values that explain as much, from which an order may be chance.
BY_CHANCE = 0.05
TOGETHER = "in squared units; intervals hold for all times and sets of components together"
SHUFFLED = "where each neuron's condition means are shuffled"
MOST_VALUES = 6  # of a component that a sentence lists


def trials_in_words(recording: Recording, of: str = "each condition") -> str:
    """Return how many trials a condition has, with each neuron where sessions have other neurons.

    Examples
    --------
    >>> responses, rows = np.arange(10.0).reshape(5, 2), np.array([0, 0, 0, 1, 1])[:, None]
    >>> trials_in_words(Recording(responses, rows, ("shape",), (("disc", "square"),)))
    '2 to 3 trials of each condition'
    """
    index, several = recording.condition_of_trial, len(recording.blocks) > 1
    counts = np.bincount(index)
    if several:
        recorded = [np.bincount(index[block.trials]) for block in recording.blocks]
        counts = np.concatenate([part[part > 0] for part in recorded])
    low, high = int(counts.min()), int(counts.max())
    words = f"{low} trials" if low == high else f"{low} to {high} trials"
    return f"{words} of {of}{' with each neuron' * several}"


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
    result, names = measurement.saliences, measurement.recording.names
    if reason := not_apart(result):
        return _at_a_time(measurement) or (
            f"These trials do not show that conditions differ: {reason}."
        )
    if len(names) == 1:
        return f"With {names[0]} alone there is nothing to combine: add a second column."
    if followed := followers(measurement.recording):
        c, leader = followed[0]
        return (
            f"How compositional these responses are cannot be said of {names[c]} beside "
            f"{names[leader]}, from which it follows."
        )
    if np.isnan(list(result.saliences.values())).any():
        return "How compositional these responses are cannot be said from these trials."
    share, (low, high) = parts_of(result)
    if low > 1.0 and lacks_combinations(measurement.recording):
        return (
            "What share parts have of what separates conditions cannot be said: their saliences "
            f"add up to {percent(share)} ({percent(low)} to {percent(high)}), as combinations are "
            "missing and values differ by unlike amounts."
        )
    if np.isnan(low):
        units = "groups" if result.resampled == "groups" else "trials"
        return (
            f"How compositional these responses are cannot be said from so few {units}: parts by "
            f"themselves would make up {percent(min(share, 1.0))} of what separates conditions, "
            "without an interval."
        )
    # Without its noise a share can lie above 1 by chance.
    share, low, high = (min(value, 1.0) for value in (share, low, high))
    sentence = _of_alone(measurement) or (
        f"Parts by themselves make up {percent(share)} of what separates conditions "
        f"({percent(low)} to {percent(high)})."
    )
    if is_coarse(measurement.structure_interval):
        sentence += (
            " That is a mean over values of which some look alike."
            if _some_alike(measurement)
            else " That is a mean over conditions: their similarity depends on more than parts."
        )
    return sentence


def _at_a_time(measurement: Measurement) -> str:
    """Return that conditions differ at a time though their mean does not; empty if at none."""
    course, window = measurement.time_course, measurement.settings["window"]
    if course is None or not course.clearest[1]:
        return ""
    time, n_times = course.clearest
    others = f" and {n_times - 1} other time{'s' * (n_times > 2)}" if n_times > 1 else ""
    averaged = "all times" if window is None else f"times from {window[0]:g} to {window[1]:g}"
    return (
        f"Averaged over {averaged} these trials do not show that conditions differ; at "
        f"{number(time)}{others} they do: see the time course."
    )


def alone(result: Salience) -> int | None:
    """Return the only component whose salience has an interval above 0, if there is just one."""
    above = [c for c in range(result.n_components) if result.saliences_interval[c,][0] > 0.0]
    return above[0] if len(above) == 1 else None


def _of_alone(measurement: Measurement) -> str:
    """Return the share of the only component that has a measurable one; empty if several have."""
    result, names = measurement.saliences, measurement.recording.names
    if (c := alone(result)) is None:
        return ""
    share, *ends = (
        percent(min(value, 1.0)) for value in (result.saliences[c,], *result.saliences_interval[c,])
    )
    others = [name for name in names if name != names[c]]
    combined = any(
        interval[0] > 0.0
        for members, interval in result.saliences_interval.items()
        if len(members) > 1
    )
    return (
        f"{names[c]} by itself makes up {share} of what separates conditions "
        f"({' to '.join(ends)}); {listed(others)} {'has' if len(others) == 1 else 'have'} no "
        f"measurable share{' but in combination' * combined}."
    )


def peaks_in_words(measurement: Measurement) -> list[str]:
    """Return the largest part over time of each set of components that is above 0 at a time."""
    course, lines = measurement.time_course, []
    assert course is not None
    for column, members in enumerate(measurement.saliences.saliences):
        above = course.is_above[:, column]
        if not above.any():
            continue
        values, margin = course.parts[:, column], course.margin[:, column]
        place = int(np.argmax(np.where(above, values, -np.inf)))
        ends = [f"{end:.3g}" for end in values[place] + margin[place] * np.array([-1.0, 1.0])]
        lines.append(
            f"{set_in_words(measurement.recording.names, members)}: largest, {values[place]:.3g} "
            f"({' to '.join(ends)}), at {number(float(course.times[place]))}"
        )
    if np.isnan(course.margin).all():
        return ["no intervals"]
    return lines or ["no part is above 0 at any time"]


def _of_one(measurement: Measurement) -> str:
    """Return what a single component lacks, and what is measured of it."""
    measured = [
        words
        for words, present in (
            ("how its values differ", measurement.gradings),
            ("how many dimensions they use", measurement.dimensions),
            ("how well they are decoded", measurement.abstraction),
        )
        if present
    ]
    also = f" Measured here: {listed(measured)}." if measured else ""
    return f"How compositional responses are can be said of two components or more.{also}"


def _some_alike(measurement: Measurement) -> bool:
    """Return whether some values of a component are measurably more alike than others."""
    return any(grading.kind != "flat" for grading in measurement.gradings)


def parts_of(result: Salience) -> tuple[float, tuple[float, float]]:
    """Return the salience of all single components together, and its interval."""
    single = [(1 << c) - 1 for c in range(result.n_components)]
    share = float(shares_of(result.centred)[single].sum())
    if np.isnan(list(result.saliences_interval.values())).any():
        return share, (np.nan, np.nan)
    drawn = shares_of(result.replicates)[:, single].sum(axis=1)
    low, high = quantiles(drawn[:, None], result.confidence)[0]
    return share, (float(low), float(high))


def shown_saliences(measurement: Measurement) -> dict[tuple[int, ...], float]:
    """Return saliences, NaN where these trials do not show that conditions differ."""
    saliences = measurement.saliences.saliences
    return dict.fromkeys(saliences, np.nan) if not_apart(measurement.saliences) else saliences


def shown_intervals(
    measurement: Measurement,
) -> dict[tuple[int, ...], tuple[tuple[float, float], tuple[float, float]]]:
    """Return intervals over trials or groups, and over neurons; NaN where saliences are."""
    unknown = bool(not_apart(measurement.saliences))
    none = (np.nan, np.nan)
    both = (measurement.saliences.saliences_interval, measurement.population.saliences_interval)
    return {
        members: (none, none) if unknown else (both[0][members], both[1][members])
        for members in both[0]
    }


def missing_in_words(measurement: Measurement) -> str:
    """Return why some saliences are not there, or an empty sentence."""
    if not np.isnan(list(shown_saliences(measurement).values())).any():
        return ""
    if not_apart(measurement.saliences):
        return "–: no share, as what separates conditions is not measurably above 0"
    return "–: not measured (see notes)"


def structure_in_words(measurement: Measurement) -> str:
    """Return how far saliences describe the representation, empty where there is none."""
    if not_apart(measurement.saliences):
        return ""
    if measurement.recording.n_components == 1:
        return _of_one(measurement)
    structure = measurement.saliences.structure
    if np.isnan(structure):
        return "Whether similarity depends on shared parts alone was not measured."
    # Without its noise a share can lie outside 0 to 1 by chance.
    low, high = (min(max(end, 0.0), 1.0) for end in measurement.structure_interval)
    explained = percent(min(max(structure, 0.0), 1.0))
    of = "of how similar conditions are"
    few = f"too few {'groups' if measurement.saliences.resampled == 'groups' else 'trials'} to say"
    if np.isnan(measurement.structure_interval).any():
        return (
            f"Shared parts would explain {explained} {of}, without an interval: {few} whether "
            "saliences describe the representation."
        )
    explained += f" ({100 * low:.0f} to {percent(high)})"
    if low >= OVERLAP:
        return (
            f"Shared parts explain {explained} {of}, so that saliences describe the representation."
        )
    if low >= COARSE:
        return (
            f"Shared parts explain {explained} {of}: saliences describe the representation at "
            "least in part."
        )
    if high >= OVERLAP:
        return (
            f"Shared parts explain {explained} {of}: {few} whether saliences describe the "
            "representation."
        )
    if high >= COARSE:
        return (
            f"Shared parts explain {explained} {of}: saliences describe the representation at "
            "most in part."
        )
    if _some_alike(measurement):
        return (
            f"Shared parts explain only {explained} {of}: some values look alike, and "
            "saliences are too coarse for this representation."
        )
    return (
        f"Shared parts explain only {explained} {of}: saliences are too coarse for this "
        "representation."
    )


def grading_in_words(grading: GradedSimilarity) -> str:
    """Return how the values of a component differ, in a sentence without its full stop."""
    name = grading.component
    # Text has no order but that of the alphabet, or of a category.
    is_text = any(isinstance(value, str) for value in grading.values)
    if grading.kind == "flat":
        return f"{name}: no two values are measurably more alike than others"
    if grading.kind == "irregular":
        order = ", ".join(labels_in_words(grading.values)[:MOST_VALUES])
        more = ", \u2026" * (len(grading.values) > MOST_VALUES)
        remedy = " (numbers as labels have an order of their own)" * is_text
        return (
            f"{name}: in these neurons some values are more alike than others, but not in the "
            f"order {order}{more}{remedy}"
        )
    line = grading.kind == "ordered"
    share, chance = (
        (grading.ordered, grading.p_ordered) if line else (grading.circular, grading.p_circular)
    )
    # Without their noise shares can lie above 1 by chance.
    explained = f"steps {'along' if line else 'around'} it explain {percent(min(share, 1.0))}"
    shape = "on a line" if line else "on a circle"
    if chance >= BY_CHANCE and is_text:
        return f"{name}: some values are more alike than others, in no order that these trials show"
    if chance >= BY_CHANCE:
        return (
            f"{name}: some values are more alike than others, perhaps as {shape} ({explained}, but "
            f"{percent(chance)} of all orders of the values explain as much)"
        )
    nearest = grading.nearest_steps
    if line and nearest > 1:
        return f"{name}: values {nearest} steps apart are more alike than nearer ones"
    alike = "values near one another are" if nearest == 1 else f"values {nearest} steps apart are"
    return f"{name}: {alike} more alike, as {shape} ({explained})"


def dimensions_in_words(measurement: Measurement) -> str:
    """Return the number of dimensions that conditions use, in a sentence without its full stop."""
    dimensions = measurement.dimensions
    if dimensions is None:
        return ""
    if np.isnan(dimensions.value) or not_apart(measurement.saliences):
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
        if parallel is not None and abstraction.has_parallelism[c]:
            ends = interval_in_words(*(round(float(end), 2) for end in parallel.interval[c]))
            parts.append(
                f"parallelism {number(round(float(parallel.score[c]), 2))} "
                f"({ends}; {p_in_words(parallel.p[c], parallel.null[:, c])})"
            )
        elif parallel is not None and parallel.n_contexts[c]:
            parts.append("no parallelism, as differences of its values are hardly above noise")
        if general is not None and np.isfinite(general.by_component[name]):
            null = general.null_by_component[:, c]
            chance = float(null.mean())
            parts.append(
                f"two of its values are decoded in {percent(general.by_component[name])} of "
                f"trials of unseen contexts ({percent(chance)} {SHUFFLED}; "
                f"{p_in_words(general.p_by_component[name], null)})" + _below_chance(general, c)
            )
        if parts:
            sentences.append(f"{name}: {'; '.join(parts)}")
    shattered = abstraction.shattering
    if shattered is not None:
        sentences.append(
            "Over splits of the conditions into two halves, decoders are right in "
            f"{percent(shattered.value)} of trials (shattering dimensionality; "
            f"{percent(shattered.chance)} with labels of trials permuted, "
            f"{percent(shattered.ceiling)} {SHUFFLED})"
        )
    return sentences


def _below_chance(general: CrossConditionGeneralization, component: int) -> str:
    """Return why decoders are right less often than in any draw of the null; empty if not.

    Decoders without a signal are right by chance: in training both sides have the same contexts, if
    all combinations were recorded.
    """
    null = general.null_by_component[:, component]
    if not len(null) or general.by_component[general.names[component]] >= null.min():
        return ""
    return ", below chance: what decoders learn is reversed there"


def p_in_words(p: Real, null: Float[np.ndarray, " B"]) -> str:
    """Return a p-value of repetitions: a bound where it is the least that these can give.

    Examples
    --------
    >>> p_in_words(0.01, np.zeros(99)), p_in_words(0.01, np.zeros(199))
    ('p ≤ 0.01', 'p = 0.01')
    >>> p_in_words(0.4321, np.zeros(99))
    'p = 0.43'
    """
    # Repetitions without a value do not count.
    sign = "≤" if p <= 1.000001 / (1.0 + np.isfinite(null).sum()) else "="
    return f"p {sign} {number(round(float(p), 3), 2)}"


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


def percent(value: float) -> str:
    """Return a share in whole percent."""
    return f"{100 * value:.0f} %".replace("-", "−")
