"""What readouts will answer to conditions that are held out, for every one that could be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import NonNegative, Seed
from partwhole.features.subsets import overlap_sets
from partwhole.measures._rows import averaging
from partwhole.measures._side_by_side import one_thread_each
from partwhole.measures.readouts.answers import Answers
from partwhole.measures.readouts.equivalent import answers_without
from partwhole.measures.readouts.labels import credit, label_indices
from partwhole.measures.readouts.leaving_out import LeavingOut
from partwhole.measures.readouts.means import Trials
from partwhole.measures.readouts.noise import LEAST_RIDGE, penalty_of
from partwhole.measures.readouts.over_neurons import variance_over_neurons
from partwhole.measures.readouts.predicted import larger_penalty, predicted_rows, training_trials
from partwhole.measures.readouts.sets import Sets, sets_of
from partwhole.measures.readouts.spread import (
    accuracy_intervals,
    notes_on_spread,
    steadier_penalty,
)
from partwhole.measures.readouts.targets import Labelled, targets_of
from partwhole.measures.salience import Salience
from partwhole.recordings import Recording

if TYPE_CHECKING:
    import pandas as pd

FEW_SETS = 12


@dataclass(frozen=True, eq=False)
class HeldOutReadouts:
    """Readouts' answers to held-out conditions, predicted and measured; R rows.

    A row is a condition in a set that was held out together. Readouts answer with the value of each
    component, by a column of -1 and +1 for two values, or a column for each of more; or with the
    targets that were passed.

    Parameters
    ----------
    recording : Recording
        In which every neuron has a response in every trial.
    held_out : bool array, shape (F, T)
        The conditions of each set.
    outputs : tuple of str, length k
    targets, predicted, measured : float arrays, shape (R, k)
        Predicted: mean answer, over training sets and trials. Measured: mean answer of the readout
        that was trained on the trials of all other conditions.
    from_saliences : float array, shape (R, k), or None
        Predicted with the overlap kernel of measured saliences in place of measured means.
    labels : tuple of str
        The components whose values the readouts answer with; none for other targets.
    accuracy, measured_accuracy : float arrays, shape (R, labels)
        Share of a condition's trials that get the right value.
    chance : float array, shape (labels,)
        One over the number of values.
    certainty : float array, shape (R, labels)
        Predicted probability that the mean answer to as many trials as were recorded has the right
        value: near 1 or 0 there are trials enough to say so, between them there are not.
    determined : bool array, shape (R,)
        Whether the other conditions determine any sum of parts at this one.
    between : float array, shape (R, k, k)
        Covariance of the answer to the condition's mean, over training sets.
    within : float array, shape (R, k, k)
        Covariance of the answer over trials.
    ridge : float
    larger_ridge : float or None
        Where neurons are half to twice as many as training trials: a larger penalty with which open
        answers, whose `certainty` is between .025 and .975, are more probably right. None
        elsewhere, and if there is none.
    larger_certainty : float array, shape (R, labels), or None
        With this penalty; NaN for sets without open answers.
    over_neurons : float, default NaN
        Variance of predicted answers over populations of neurons, a mean; NaN if not asked for.
    notes : tuple of str
        Whether answers with numbers vary much between training sets, and which penalty would help.
    """

    recording: Recording
    held_out: Bool[np.ndarray, "F T"]
    outputs: tuple[str, ...]
    targets: Float[np.ndarray, "R k"]
    predicted: Float[np.ndarray, "R k"]
    measured: Float[np.ndarray, "R k"]
    from_saliences: Float[np.ndarray, "R k"] | None
    labels: tuple[str, ...]
    accuracy: Float[np.ndarray, "R labels"]
    measured_accuracy: Float[np.ndarray, "R labels"]
    chance: Float[np.ndarray, " labels"]
    certainty: Float[np.ndarray, "R labels"]
    determined: Bool[np.ndarray, " R"]
    between: Float[np.ndarray, "R k k"]
    within: Float[np.ndarray, "R k k"]
    ridge: float
    larger_ridge: float | None = None
    larger_certainty: Float[np.ndarray, "R labels"] | None = None
    over_neurons: float = np.nan
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the sizes, and how far predictions and readouts differ."""
        return (
            f"HeldOutReadouts({len(self.held_out)} sets of held-out conditions, "
            f"{len(self.outputs)} outputs: predicted to {self.error:.2g})"
        )

    @property
    def set_of_row(self) -> Int[np.ndarray, " R"]:
        """Return the set of each row."""
        return np.nonzero(self.held_out)[0]

    @property
    def condition(self) -> Int[np.ndarray, " R"]:
        """Return the condition of each row, as a row of `recording.conditions`."""
        return np.nonzero(self.held_out)[1]

    @property
    def n_trials(self) -> Int[np.ndarray, " R"]:
        """Return the number of trials of each row's condition."""
        return np.bincount(self.recording.condition_of_trial)[self.condition]

    @property
    def deviation(self) -> Float[np.ndarray, "R k"]:
        """Return the standard deviation of the mean answer to as many trials as were recorded.

        Over training sets and trials.
        """
        between, within = (_variances(part) for part in (self.between, self.within))
        return np.sqrt(between + within / self.n_trials[:, None])

    @cached_property
    def accuracy_interval(self) -> Float[np.ndarray, "R labels 2"]:
        """Return ends between which 95 % of shares of right trials lie.

        Over training sets and as many trials as were recorded; of labels.
        """
        ends, start = [], 0
        for name in self.labels:
            values = self.recording.conditions[:, self.recording.names.index(name)]
            n_values = len(np.unique(values))
            part = slice(start, start + (n_values if n_values > 2 else 1))
            start = part.stop
            ends.append(
                accuracy_intervals(
                    self.predicted[:, part], self.between[:, part, part],
                    self.within[:, part, part], self.n_trials,
                    label_indices(self.targets[:, part]),
                )
            )  # fmt: skip
        return np.stack(ends, axis=1) if ends else np.empty((len(self.condition), 0, 2))

    @property
    def error(self) -> float:
        """Return the root mean square difference between predicted and measured answers."""
        return float(np.sqrt(np.mean((self.predicted - self.measured) ** 2)))

    @property
    def budget(self) -> dict[str, float]:
        """Return root mean squares of what parts answers from their predictions and targets.

        "training trials", "test trials": sampling of either, predicted. "difference": between
        predicted and measured answers; it can be smaller than both, as predictions rest on the
        means and the noise of the same trials. "saliences": between predictions from saliences and
        from means, the misfit of the overlap kernel. "neurons": sampling of neurons, with that part
        of the noise which is independent between them.
        """
        parts = {
            "training trials": np.mean(_variances(self.between)),
            "test trials": np.mean(_variances(self.within) / self.n_trials[:, None]),
            "difference": self.error**2,
        }
        if self.from_saliences is not None:
            parts["saliences"] = np.mean((self.from_saliences - self.predicted) ** 2)
        if not np.isnan(self.over_neurons):
            parts["neurons"] = self.over_neurons
        return {name: float(np.sqrt(square)) for name, square in parts.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each held-out condition.

        Returns
        -------
        pandas.DataFrame
            Number of the set, values of the components, trials, whether it is determined; for each
            component the predicted accuracy with the ends of its interval (`accuracy_interval`),
            the measured one and chance; for each output the target, predicted answer, its deviation
            and the measured answer, and where saliences were passed the answer from them.
        """
        import pandas as pd

        rows = self.recording.conditions[self.condition]
        columns: dict[str, object] = {"set": self.set_of_row}
        for name, values, index in zip(
            self.recording.names, self.recording.values, rows.T, strict=True
        ):
            columns[name] = [values[i] for i in index]
        columns |= {"trials": self.n_trials, "determined": self.determined}
        for j, name in enumerate(self.labels):
            columns |= {
                f"accuracy of {name}, predicted": self.accuracy[:, j],
                f"accuracy of {name}, low": self.accuracy_interval[:, j, 0],
                f"accuracy of {name}, high": self.accuracy_interval[:, j, 1],
                f"accuracy of {name}, measured": self.measured_accuracy[:, j],
                f"accuracy of {name}, chance": np.full(len(rows), self.chance[j]),
            }
        for j, name in enumerate(self.outputs):
            columns |= {
                f"{name}, target": self.targets[:, j],
                f"{name}, predicted": self.predicted[:, j],
                f"{name}, deviation": self.deviation[:, j],
                f"{name}, measured": self.measured[:, j],
            }
            if self.from_saliences is not None:
                columns[f"{name}, from saliences"] = self.from_saliences[:, j]
        return pd.DataFrame(columns)


@door
def held_out_readouts(
    recording: Recording,
    targets: str | Float[np.ndarray, " n"] | Float[np.ndarray, "n k"] | None = None,
    *,
    held_out: Sets = "each",
    ridge: NonNegative | None = None,
    saliences: Salience | None = None,
    over_neurons: bool = False,
    seed: Seed = 0,
    progress: bool = False,
) -> HeldOutReadouts:
    """Predict and measure what ridge readouts answer to each condition that could be held out.

    The prediction is that of `predict_readout`, from condition means and the covariance of noise.
    Beside it stands the answer of a readout that was trained on the trials of all other conditions.

    Parameters
    ----------
    recording : Recording
        Averaged over time; of neurons of several sessions, trials are combined at random.
    targets : str; or float array, shape (n,) or (n, k), default None
        What to answer with: the name of a component, for its values; or numbers, the same for all
        trials of a condition. None is the value of each component.
    held_out : {"each", "pairs"} or bool array, keyword-only, default "each"
        Hold out every condition by itself, or every two of them together; or the conditions whose
        trials are marked, shape (n,), or (F, n) for several sets.
    ridge : float, keyword-only, default None
        The penalty on squared weights, as in `predict_readout`, in squared units of responses. None
        is the mean variance of a neuron, as of a penalty of 1 on standardized responses.
    saliences : Salience, keyword-only, default None
        For answers predicted from saliences alone, beside the others.
    over_neurons : bool, keyword-only, default False
        Whether to estimate how much predictions would vary over populations of as many neurons, by
        leaving out each fifth of them in up to twelve sets.
    seed : int, keyword-only, default 0
        For the combination of trials, and the fifths of neurons.
    progress : bool, keyword-only, default False
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    HeldOutReadouts

    Raises
    ------
    InputError
        If no condition is repeated, for fewer than three conditions, for targets that differ within
        a condition or name no component, for masks that mark a part of a condition, none, or leave
        fewer than two, and for more than 20,000 sets.

    Notes
    -----
    Left-out answers are those of single fits without the set, in closed form. Groups are not used:
    what the trials of a run have in common counts as noise that is independent between trials, so
    that answers vary more than is predicted where it is large. Close to as many neurons as training
    trials answers vary most, and less with a larger penalty: `larger_ridge` names one. Where
    training conditions outnumber neurons, predicted answers are the measured ones, and only their
    deviations and accuracies are predicted (`closed_form`).

    Examples
    --------
    >>> from partwhole.recordings import from_trials
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[a, b] for a in range(3) for b in range(3)], 20, axis=0)
    >>> clean = np.eye(3)[rows[:, 0]] @ rng.normal(size=(3, 40))
    >>> clean += np.eye(3)[rows[:, 1]] @ rng.normal(size=(3, 40))
    >>> recording = from_trials(clean + 2.5 * rng.normal(size=clean.shape), rows)
    >>> readouts = held_out_readouts(recording)
    >>> readouts.accuracy.mean(axis=0).round(1).tolist()
    [0.6, 0.8]
    >>> readouts.measured_accuracy.mean(axis=0).round(1).tolist()
    [0.6, 0.8]
    """
    with one_thread_each() as threads:
        return _held_out(
            recording, targets, held_out, ridge, saliences, over_neurons, seed, progress, threads
        )


def _held_out(
    recording: Recording,
    targets: str | np.ndarray | None,
    held_out: Sets,
    ridge: float | None,
    saliences: Salience | None,
    over_neurons: bool,
    seed: int,
    progress: bool,
    threads: int,
) -> HeldOutReadouts:
    whole = recording.averaged().pseudo_trials(seed)
    index, conditions = whole.condition_of_trial, whole.conditions
    require(
        len(conditions) >= 3,
        "a readout is trained on two conditions or more beside those that are held out",
        f"{len(conditions)} conditions",
        "add conditions",
    )
    answered = targets_of(targets, recording, conditions)
    by_condition, labelled = answered.by_condition, answered.labelled
    of_conditions = Trials.of(whole.responses, index, conditions)
    penalty = penalty_of(ridge, whole.responses)
    sets = sets_of(held_out, recording, conditions)
    trials = of_conditions.counts
    products = None
    if saliences is not None:
        products = saliences.kernel.nonnegative().kappa[overlap_sets(conditions, conditions)]
    least = max(penalty, LEAST_RIDGE * of_conditions.mean_variance)
    fit = LeavingOut(whole.responses, by_condition[index], least)

    def read(members: Bool[np.ndarray, " T"], answers: list[Answers]) -> tuple[np.ndarray, ...]:
        left_out = members[index]
        measured = _measured(fit.answers(left_out), index[left_out], labelled)
        predicted = predicted_rows(answers[0], members, trials[members], labelled)
        return *predicted, *measured, answers[-1].mean[members]

    rows: list[tuple[np.ndarray, ...]] = []
    with bar("held-out conditions", len(sets), shown=progress) as advance:
        for row in answers_without(
            of_conditions, sets, trials, by_condition, least, read, products, threads
        ):
            rows.append(row)
            advance(1)
    predicted, between, within, accuracy, certainty, measured, right, from_saliences = (
        np.concatenate(part) for part in zip(*rows, strict=True)
    )
    unit = penalty_of(None, whole.responses)
    larger = larger_penalty(
        of_conditions, sets, trials, by_condition, labelled, least, unit, certainty, threads
    )
    notes: tuple[str, ...] = ()
    if not labelled:

        def error_with(ridge: float) -> float:
            few = _few(sets)
            means = answers_without(
                of_conditions, few, trials, by_condition, ridge, _squares_of(by_condition),
                threads=threads,
            )  # fmt: skip
            return float(np.sqrt(np.concatenate(list(means)).mean()))

        notes = notes_on_spread(
            _variances(between), by_condition, whole.n_neurons, training_trials(sets, trials),
            lambda: steadier_penalty(least, unit, error_with),
        )  # fmt: skip
    spread = np.nan
    if over_neurons:
        spread = variance_over_neurons(of_conditions, sets, by_condition, least, seed, threads)
    return HeldOutReadouts(
        whole,
        sets,
        answered.outputs,
        by_condition[np.nonzero(sets)[1]],
        predicted,
        measured,
        from_saliences if saliences is not None else None,
        answered.labels,
        accuracy,
        right,
        np.array([1.0 / len(np.unique(values)) for _, values in labelled]),
        certainty,
        _determined(conditions, sets),
        between,
        within,
        penalty,
        *(larger or (None, None)),
        over_neurons=spread,
        notes=notes,
    )


def _variances(covariances: Float[np.ndarray, "R k k"]) -> Float[np.ndarray, "R k"]:
    return np.einsum("rjj->rj", covariances)


def _few(sets: Bool[np.ndarray, "F T"]) -> Bool[np.ndarray, "few T"]:
    """Return a few of many sets, at equal distances."""
    return sets[np.unique(np.linspace(0, len(sets) - 1, FEW_SETS).astype(int))]


def _squares_of(
    targets: Float[np.ndarray, "T k"],
) -> Callable[[np.ndarray, list[Answers]], np.ndarray]:
    """Return what gives the expected squared errors of answers to held-out conditions."""

    def squares(members: Bool[np.ndarray, " T"], answers: list[Answers]) -> np.ndarray:
        mean, between = answers[0].mean[members], answers[0].between[members]
        return (mean - targets[members]) ** 2 + _variances(between)

    return squares


def _measured(
    answers: Float[np.ndarray, "m k"], conditions: Int[np.ndarray, " m"], labelled: Labelled
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean answer and the shares of right labels at each of some conditions."""
    index, counts = np.unique(conditions, return_inverse=True, return_counts=True)[1:]
    mean_of = averaging(index, counts)
    right = [credit(answers[:, columns], values[conditions]) for columns, values in labelled]
    shares = mean_of @ np.stack(right, axis=1) if right else np.empty((len(counts), 0))
    return mean_of @ answers, shares


def _determined(
    conditions: Int[np.ndarray, "T C"], sets: Bool[np.ndarray, "F T"]
) -> Bool[np.ndarray, " R"]:
    """Return whether sums of parts at a held-out condition follow from those at all others."""
    columns = [np.eye(int(column.max()) + 1)[column] for column in conditions.T]
    design = np.hstack(columns)
    left = np.linalg.svd(design, full_matrices=False)
    basis = left[0][:, left[1] > 1e-9 * left[1].max()]
    determined = []
    for members in sets:
        rows = basis[members]
        # A direction that only held-out rows have is an eigenvector of rows rows' at 1.
        values, vectors = np.linalg.eigh(rows @ rows.T)
        only = vectors[:, values > 1.0 - 1e-9]
        determined.append((only**2).sum(axis=1) < 1e-9)
    return np.concatenate(determined)
