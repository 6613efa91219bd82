"""What readouts answer to held-out conditions, in words: right or not, trials enough or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from partwhole.audit.page.words import number
from partwhole.measurement.verdicts import percent
from partwhole.measures.readouts import HeldOutReadouts
from partwhole.measures.readouts.held_out_result import NORMAL
from partwhole.measures.readouts.predicted import SURE

RIGHT, WRONG = "right", "wrong"
NO_CHANCE = (
    "One over the number of values is not chance: without any information a readout is right less "
    "often where values are equally frequent, as that of a held-out condition is rarer in training."
)
FEW_TRIALS, SMALL_PENALTY, OPEN = "too few trials", "penalty too small", "not determined"
CONFOUNDED = "maybe by group"
# Difference of answers to labels of -1 and +1 that is rounding.
ROUNDING = 1e-9
# Difference of shares of right trials, and standard errors of it, above which predictions are off.
OFF, ERRORS = 0.05, 3.0


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What a readout will answer to each held-out condition, R rows.

    Parameters
    ----------
    words : tuple of tuples of str, shape (R, labels)
        "right" and "wrong" are those of the mean answer to as many trials as were recorded, if its
        predicted probability in another recording is at least .975; "not determined" stands where
        training lacks the value, or leaves sums of parts open although it has all values of the
        condition; "maybe by group" where values depend on the group, of which readouts could answer
        by what its trials share; "penalty too small" where the answer would be right with a larger
        one; else there are too few trials to say.
    lacking : bool array, shape (R, labels)
        Whether the condition's value is in no training condition, so that no readout answers it.
    """

    words: tuple[tuple[str, ...], ...]
    lacking: Bool[np.ndarray, "R labels"]

    def of(self, label: int) -> list[str]:
        """Return the verdicts on one component."""
        return [row[label] for row in self.words]


def verdicts_of(readouts: HeldOutReadouts) -> Verdicts:
    """Return the verdicts on all held-out conditions and components."""
    lacking = _lacking(readouts)
    of_labels = lacking[:, [readouts.recording.names.index(name) for name in readouts.labels]]
    # Where only another component has a new value, the answer is as predictable as any.
    known = readouts.determined[:, None] | (lacking.any(axis=1, keepdims=True) & ~of_labels)
    words = np.where(readouts.certainty >= SURE, RIGHT, FEW_TRIALS).astype(object)
    words[readouts.certainty <= 1.0 - SURE] = WRONG
    if readouts.larger_certainty is not None:
        words[(words == FEW_TRIALS) & (readouts.larger_certainty >= SURE)] = SMALL_PENALTY
    words[:, [name in readouts.confounded for name in readouts.labels]] = CONFOUNDED
    words[of_labels | ~known] = OPEN
    return Verdicts(tuple(map(tuple, words.tolist())), of_labels)


def _lacking(readouts: HeldOutReadouts) -> Bool[np.ndarray, "R C"]:
    """Return whether training has no condition with a row's value of each component."""
    conditions, training = readouts.recording.conditions, ~readouts.held_out
    columns = []
    for column in conditions.T:
        counts = training.astype(float) @ np.eye(int(column.max()) + 1)[column]
        columns.append(counts[readouts.set_of_row, column[readouts.condition]] == 0.0)
    return np.stack(columns, axis=1)


def sets_in_words(readouts: HeldOutReadouts) -> str:
    """Return how many conditions are held out together."""
    sizes = readouts.held_out.sum(axis=1)
    if sizes.max() == 1:
        return "a condition"
    if len(sizes) == 1:
        return f"{sizes[0]} conditions"
    return "two conditions" if sizes.min() == sizes.max() == 2 else "a set of conditions"


def named_in_words(readouts: HeldOutReadouts, label: int) -> str:
    """Return a component, and of how many values a readout chooses one."""
    name, n_values = readouts.labels[label], round(1.0 / float(readouts.chance[label]))
    return f"{name}, one of {n_values} values" if n_values > 1 else name


def readout_in_words(readouts: HeldOutReadouts, verdicts: Verdicts, label: int) -> str:
    """Return how well a component is read out at held-out conditions, without its full stop."""
    name = named_in_words(readouts, label)
    lacking, words = verdicts.lacking[:, label], verdicts.of(label)
    if lacking.all():
        return (
            f"{name}: training lacks every value that is held out, so that no readout can answer "
            "with it"
        )
    of = len(lacking)
    measured = percent(float(readouts.measured_accuracy[~lacking, label].mean()))
    predicted = percent(float(readouts.accuracy[~lacking, label].mean()))
    sentence = f"{name}: right in {measured} of trials, predicted {predicted}"
    if CONFOUNDED in words:
        return f"{sentence}, but values depend on the group: perhaps by what its trials share"
    sentence += f"; right at {words.count(RIGHT)}, wrong at {words.count(WRONG)}"
    if few := words.count(FEW_TRIALS):
        sentence += f", too few trials to say at {few}"
    sentence += f" of {of}"
    if small := words.count(SMALL_PENALTY):
        sentence += (
            f"; undecided at {small} of {of} with this ridge penalty, which a larger one settles"
        )
    coarse = too_coarse(readouts)
    if coarse is not None and (n := int((coarse[:, label] & ~lacking).sum())):
        sentence += f"; saliences alone predict another answer at {n} of {of}"
    if lack := int(lacking.sum()):
        others = "other" if readouts.held_out.sum(axis=1).max() == 1 else "training"
        this = "this value" if lack == 1 else "their value"
        sentence += f"; {lack} of {of} cannot be tested, as no {others} condition has {this}"
    if left_open := words.count(OPEN) - lack:
        sentence += f"; {left_open} not determined by the others"
    return sentence


def budget_in_words(readouts: HeldOutReadouts) -> str:
    """Return the sources of error of answers, without a full stop."""
    parts = [
        f"{words} {number(readouts.budget[name], 2)}"
        for name, words in (
            ("training trials", "sampling of training trials"),
            ("test trials", "sampling of test trials"),
            ("neurons", "sampling of neurons"),
            ("saliences", "predictions from saliences in place of all means"),
        )
        if name in readouts.budget
    ]
    if "neurons" not in readouts.budget and readouts.classifier is None:
        parts.append("sampling of neurons unknown, as fewer than ten vary")
    difference = readouts.budget["difference"]
    if difference < ROUNDING:
        compared = (
            "predicted mean answers are the measured ones, as training conditions outnumber neurons"
        )
    else:
        compared = f"measured answers are off from predicted ones by {number(difference, 2)}"
    return f"Sources of error of answers, root mean square: {', '.join(parts)}; {compared}"


def from_saliences(readouts: HeldOutReadouts) -> tuple[np.ndarray, np.ndarray] | None:
    """Return predicted answers for the right value, from saliences alone and from all means.

    Each of shape (R, labels), with 1 for the target; None where there are none from saliences.
    """
    if readouts.from_saliences is None:
        return None
    # A single output of two values has the sign of the value.
    signed = np.where(_of_right_value(readouts), readouts.targets, 0.0)
    alone, means = (
        _by_label(readouts, answers * signed)
        for answers in (readouts.from_saliences, readouts.predicted)
    )
    return alone, means


def too_coarse(readouts: HeldOutReadouts) -> Bool[np.ndarray, "R labels"] | None:
    """Return where saliences alone predict another answer for the right value than all means.

    By more than 95 % of such answers differ from their mean; None without those from saliences.
    """
    if (both := from_saliences(readouts)) is None:
        return None
    deviation = _by_label(readouts, np.where(_of_right_value(readouts), readouts.deviation, 0.0))
    return np.abs(both[0] - both[1]) > NORMAL * deviation


def _of_right_value(readouts: HeldOutReadouts) -> Bool[np.ndarray, "R k"]:
    """Return the output of each component that stands for the right value."""
    widths = [part.stop - part.start for part in readouts.outputs_of_labels]
    single = np.repeat(np.equal(widths, 1), widths)
    return single | (readouts.targets > 0.0)


def _by_label(readouts: HeldOutReadouts, outputs: Float[np.ndarray, "R k"]) -> np.ndarray:
    """Return the sums of outputs of each component."""
    starts = [part.start for part in readouts.outputs_of_labels]
    return np.add.reduceat(outputs, starts, axis=1)


def penalty_in_words(readouts: HeldOutReadouts) -> str:
    """Return which penalty would do better, or an empty sentence."""
    verdicts = verdicts_of(readouts)
    small = sum(row.count(SMALL_PENALTY) for row in verdicts.words)
    if not small:
        return ""
    held_out = readouts.held_out @ np.bincount(readouts.recording.condition_of_trial)
    n_train = readouts.recording.n_trials - float(np.mean(held_out))
    return (
        f"{readouts.recording.n_neurons:,} neurons are about as many as {n_train:,.0f} training "
        "trials, where readouts with a small penalty do worst: of answers that are open with "
        f"ridge={readouts.ridge:.2g}, {small} would be right with ridge={readouts.larger_ridge:.3g}"
    )


def off_in_words(readouts: HeldOutReadouts) -> list[str]:
    """Return of which components shares of right trials are not as predicted, on average.

    By more than test trials explain: where noise was the same at all conditions, no component of
    160 was, in recordings of 4 to 20 conditions with 8 to 40 trials of each.
    """
    lacking, notes = verdicts_of(readouts).lacking, []
    for j, name in enumerate(readouts.labels):
        tested = ~lacking[:, j]
        if not tested.any():
            continue
        measured, predicted = (
            shares[tested, j] for shares in (readouts.measured_accuracy, readouts.accuracy)
        )
        share = 0.5 * (measured + predicted)
        variances = share * (1.0 - share) / readouts.n_trials[tested]
        off = float(np.mean(measured - predicted))
        if abs(off) > max(OFF, ERRORS * float(np.sqrt(variances.sum())) / len(share)):
            notes.append(
                f"readouts of {name} are right in {percent(float(measured.mean()))} of trials and "
                f"not in the predicted {percent(float(predicted.mean()))}, by more than chance: "
                "noise may grow with responses or differ between conditions, which predictions of "
                "shares follow only in part; verdicts rest on mean answers"
            )
    return notes
