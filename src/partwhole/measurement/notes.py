"""Notes of a measurement: of its columns, and those of measures as they are printed."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import pairwise, permutations
from math import prod
from numbers import Real

import numpy as np
from jaxtyping import Float

from partwhole._checks import InputError
from partwhole.measures._confounded import groups_beside_values
from partwhole.measures._rows import averaging
from partwhole.measures._samples import Whiten
from partwhole.measures.graded_similarity import GradedSimilarity
from partwhole.measures.salience import Salience
from partwhole.recordings import Recording
from partwhole.recordings.building import one_value

# Columns that seldom are a part of a condition, and what stands beside such a word in a name.
MARKS = {
    "block", "chunk", "fold", "part", "participant", "run", "ses", "sess", "session", "split",
    "sub", "subj", "subject", "trial",
}  # fmt: skip
BESIDE = {"id", "idx", "index", "label", "n", "name", "no", "nr", "num", "number"}
# Share of the variance of all neurons, of three or more, above which one may be in other units.
FEW_NEURONS, MOST_OF_VARIANCE = 3, 0.5
# Of squared deviations from condition means, above which a trial may be an artefact.
FEW_TRIALS, SHARE_OF_ARTEFACT, TIMES_MEDIAN = 20, 0.2, 25.0
# Relative to the larger of two labels, as after single precision, and to the largest of all.
ROUNDING, ROUNDING_OF_ALL = 1e-7, 1e-12
# Numbers of an array that are copied at once.
PART = 500_000
# Width of the interval of a share from which it says nothing.
WIDEST = 2.0
# Numbers from which digits are left out.
MANY = 1e9
_DICHOTOMIES = re.compile(r"(?<= of )[\d,]+(?= balanced dichotomies)")


def marks(name: str) -> bool:
    """Return whether a column of this name seldom is a part of a condition.

    Examples
    --------
    >>> [marks(name) for name in ("run", "Trial_ID", "sessionNumber", "blocks", "colour", "party")]
    [True, True, True, True, False, False]
    """
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
    left = [word for word in map(str.lower, words) if word not in BESIDE]
    return bool(left) and all({word, word.removesuffix("s")} & MARKS for word in left)


def varying(recording: Recording) -> tuple[Recording, list[str]]:
    """Return the recording without components of a single value, and a note for each of these."""
    constant = np.ptp(recording.components, axis=0) == 0
    names = [name for name, alone in zip(recording.names, constant, strict=True) if alone]
    for name in names:
        recording = recording.split_off(name)[0]
    return recording, [one_value(name) for name in names]


def notes_on(recording: Recording, whiten: Whiten) -> list[str]:
    """Return what in columns, labels, neurons and trials may be an oversight."""
    return [
        *notes_on_columns(recording), *groups_beside_values(recording),
        *notes_on_labels(recording), *notes_on_neurons(recording),
        *notes_on_scale(recording, whiten), *notes_on_trials(recording),
    ]  # fmt: skip


def notes_on_missing(
    recording: Recording, saliences: Salience, gradings: Sequence[GradedSimilarity]
) -> list[str]:
    """Return that saliences may be off where combinations are missing and values differ unlike.

    Conditions that share a part then differ by other steps than those that share none: of a sum of
    two parts with values on a line, the salience of both together is not 0.
    """
    below = any(high < 0.0 for _, high in saliences.saliences_interval.values())
    uneven = below or any(grading.kind != "flat" for grading in gradings)
    if not uneven or not lacks_combinations(recording):
        return []
    return [
        "combinations are missing and some values are more alike than others, so that conditions "
        "which share a part differ by other steps than those that share none: saliences can be "
        "off, also below 0; measures.marginal_variances does not depend on such steps"
    ]


def lacks_combinations(recording: Recording) -> bool:
    """Return whether some combinations of the values that are present have no trial."""
    present = [len(np.unique(column)) for column in recording.conditions.T]
    return recording.n_conditions < prod(present)


def notes_on_width(intervals: Iterable[tuple[float, float]], units: str) -> list[str]:
    """Return that intervals are wider than the whole of which saliences are shares."""
    widest = max((high - low for low, high in intervals), default=0.0)
    if not widest > WIDEST:
        return []
    return [
        f"intervals over {units} reach beyond any share, with a width of up to {widest:.2g}: there "
        f"are too few {units} for them"
    ]


def notes_on_columns(recording: Recording) -> list[str]:
    """Return which components may be none, and which follow from another."""
    marked = [name for name in recording.names if marks(name)]
    notes = []
    if marked:
        is_one = len(marked) == 1
        notes.append(
            f"{listed(marked)} {'was' if is_one else 'were'} read as "
            f"{'a component' if is_one else 'components'} of the condition; if "
            f"{'it marks' if is_one else 'they mark'} runs, sessions or a split, pass --groups, "
            "--sessions or --split, or name all components by --components (in Python groups, "
            "sessions and components of from_trials)"
        )
    for follower, leader in followers(recording):
        name = recording.names[follower]
        notes.append(
            f"{name} follows from {recording.names[leader]}: no two conditions differ in {name} "
            "alone, so that these two cannot be told apart as parts; leave one of them out"
        )
    return notes


def notes_on_labels(recording: Recording) -> list[str]:
    """Return labels that may be one value: numbers but for rounding, text but for blanks or case.

    Only labels that some trial has.
    """
    notes = []
    columns = zip(recording.names, recording.values, recording.components.T, strict=True)
    for name, values, column in columns:
        present = [values[index] for index in np.unique(column)]
        if alike := _equal_to_rounding(present):
            words = listed([repr(float(value)) for value in alike])
            notes.append(f"{name} has values equal to within rounding, {words}: round them")
        if alike := _equal_but_for_form(present):
            words = listed(list(map(repr, alike)))
            notes.append(
                f"{name} has values that differ in blanks or case alone, {words}: are they one "
                "value?"
            )
    return notes


def _equal_to_rounding(values: Sequence[Hashable]) -> list[float]:
    """Return the first numbers that are equal to within rounding; empty if none are."""
    numbers = sorted(float(v) for v in values if isinstance(v, Real) and not isinstance(v, bool))
    least = ROUNDING_OF_ALL * max(map(abs, numbers), default=0.0)
    alike: list[float] = []
    for low, high in pairwise(numbers):
        if high - low <= max(ROUNDING * max(abs(low), abs(high)), least):
            alike += [high] if alike else [low, high]
        elif alike:
            break
    return alike


def _equal_but_for_form(values: Sequence[Hashable]) -> list[str]:
    """Return the first texts that differ in blanks or case alone; empty if none do."""
    by_form: dict[str, list[str]] = {}
    for value in values:
        if isinstance(value, str):
            by_form.setdefault(" ".join(value.split()).casefold(), []).append(value)
    return next((texts for texts in by_form.values() if len(texts) > 1), [])


def labels_in_words(values: Sequence[Hashable]) -> list[str]:
    """Return labels as they are printed: numbers with six digits if these keep all apart.

    Examples
    --------
    >>> labels_in_words((0.1 + 0.2, 0.5, "all")), labels_in_words((0.3, 0.1 + 0.2))
    (['0.3', '0.5', 'all'], ['0.3', '0.30000000000000004'])
    """
    short = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return short if len({*short}) == len(short) else list(map(str, values))


def notes_on_neurons(recording: Recording) -> list[str]:
    """Return how many neurons are constant: they tell no conditions apart."""
    # Where a neuron was not recorded its responses are NaN, which fmax and fmin leave out.
    low, high = (f.reduce(recording.responses, axis=0) for f in (np.fmin, np.fmax))
    constant = np.flatnonzero((low == high).reshape(len(low), -1).all(axis=1))
    if not len(constant):
        return []
    which = "1 neuron has" if len(constant) == 1 else f"{len(constant):,} neurons have"
    return [
        f"{which} the same response in all trials, the first in column {constant[0]} (from 0): "
        "leave out what was not recorded"
    ]


def notes_on_scale(recording: Recording, whiten: Whiten) -> list[str]:
    """Return the neuron that has most of the variance over trials, of three neurons or more."""
    if recording.n_neurons < FEW_NEURONS:
        return []
    columns = recording.responses.T
    variance = np.concatenate([np.nanvar(columns[part], axis=1) for part in _parts(columns)])
    loudest = int(variance.argmax())
    share = float(variance[loudest] / variance.sum())
    if share <= MOST_OF_VARIANCE:
        return []
    remedy = ", or whiten with whiten='diagonal'" * (whiten == "none")
    return [
        f"neuron {loudest} (from 0) has {_percent_below(share)} of the variance of all responses: "
        f"see whether it is in other units{remedy}"
    ]


def notes_on_trials(recording: Recording) -> list[str]:
    """Return trials that are so far from others of their condition that they may be artefacts.

    Of twenty trials or more, those with over a fifth of the squared deviations from condition
    means, and 25 times the median: of few trials of a single neuron one can have a fifth by
    chance. With two trials of a condition both are as far from their mean.
    """
    if recording.n_trials < FEW_TRIALS:
        return []
    index, responses = recording.condition_of_trial, recording.responses
    average = averaging(index, np.bincount(index))
    if (present := np.isfinite(responses)).all():
        means = average @ responses
    else:
        shares = average @ present.astype(float)
        sums = average @ np.where(present, responses, 0.0)
        means = np.divide(sums, shares, out=np.zeros_like(sums), where=shares > 0.0)
    squared = np.concatenate([
        np.nansum((responses[rows] - means[index[rows]]) ** 2, axis=1) for rows in _parts(responses)
    ])  # fmt: skip
    far = squared > max(SHARE_OF_ARTEFACT * squared.sum(), TIMES_MEDIAN * np.median(squared))
    if not far.any():
        return []
    trials, share = np.flatnonzero(far), float(squared[far].sum() / squared.sum())
    is_single = len(trials) == 1
    return [
        f"trial{'s' * (not is_single)} {listed(list(map(str, trials)))} (from 0) "
        f"{'has' if is_single else 'have'} {_percent_below(share)} of the squared deviations from "
        f"condition means: {'is it an artefact' if is_single else 'are they artefacts'}?"
    ]


def _parts(rows: Float[np.ndarray, "n p"]) -> Iterator[slice]:
    """Yield slices of rows whose copies take little memory."""
    step = max(1, PART // rows.shape[1])
    yield from (slice(start, start + step) for start in range(0, len(rows), step))


def _percent_below(share: float) -> str:
    """Return a share in whole percent that it reaches: less than all is below 100 %."""
    return f"{np.floor(100.0 * share):.0f} %"


def followers(recording: Recording) -> list[tuple[int, int]]:
    """Return components whose value is a function of that of another, with that other one.

    Of two that follow from each other the later one counts as the follower. Each is named once.
    """
    rows = recording.conditions
    n_values = [len(np.unique(column)) for column in rows.T]
    leaders: dict[int, int] = {}
    for c, leader in permutations(range(recording.n_components), 2):
        together = len(np.unique(rows[:, [c, leader]], axis=0))
        equal = n_values[c] == n_values[leader]
        if n_values[c] > 1 and together == n_values[leader] and not (equal and c < leader):
            leaders.setdefault(c, leader)
    return sorted(leaders.items())


def printed(notes: Iterable[str]) -> tuple[str, ...]:
    """Return notes once each, with large numbers in short, and without names of other results.

    Examples
    --------
    >>> printed(["100 of 11,975,573,020 balanced dichotomies drawn", "few trials", "few trials"])
    ('100 of 1.2e10 balanced dichotomies drawn', 'few trials')
    """
    plain = (note.replace("from `kernel`", "from saliences") for note in notes)
    return tuple(dict.fromkeys(_DICHOTOMIES.sub(_in_short, note) for note in plain))


def in_conditions(error: InputError) -> InputError:
    """Return the error with conditions and trials in place of tuples and samples."""
    text = str(error)
    for word, plain in (("tuple", "condition"), ("sample", "trial")):
        text = re.sub(rf"\b{word}(s?)\b", rf"{plain}\1", text)
    return InputError(text)


def _in_short(match: re.Match[str]) -> str:
    digits = int(match[0].replace(",", ""))
    return match[0] if digits < MANY else f"{float(digits):.1e}".replace("e+", "e")


def listed(words: Sequence[str]) -> str:
    """Return words in a list.

    Examples
    --------
    >>> listed(["red", "green", "blue"]), listed(["red"])
    ('red, green and blue', 'red')
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
