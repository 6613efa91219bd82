"""What readouts will answer to conditions that are held out, for every one that could be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import NonNegative, Seed
from partwhole.features.subsets import overlap_sets
from partwhole.measures._confounded import confounded, groups_beside_values
from partwhole.measures._offsets import pseudo_trials
from partwhole.measures._rows import averaging
from partwhole.measures._side_by_side import one_thread_each, side_by_side
from partwhole.measures.readouts.answers import Answers
from partwhole.measures.readouts.by_saliences import answers_by_saliences
from partwhole.measures.readouts.classified import Classifiers
from partwhole.measures.readouts.condition_noise import noise_of_conditions, relative_noise
from partwhole.measures.readouts.equivalent import answers_without
from partwhole.measures.readouts.held_out_result import HeldOutReadouts, variances
from partwhole.measures.readouts.labels import are_labels, credit, label_indices
from partwhole.measures.readouts.lda import LDA
from partwhole.measures.readouts.leaving_out import LeavingOut
from partwhole.measures.readouts.means import Trials
from partwhole.measures.readouts.noise import LEAST_RIDGE, penalty_of, varying
from partwhole.measures.readouts.over_neurons import variance_over_neurons
from partwhole.measures.readouts.predicted import (
    larger_penalty,
    predicted_rows,
    training_trials,
)
from partwhole.measures.readouts.sets import Sets, sets_of
from partwhole.measures.readouts.spread import (
    notes_on_spread,
    steadier_penalty,
)
from partwhole.measures.readouts.svm import SVM
from partwhole.measures.readouts.targets import Labelled, targets_of
from partwhole.measures.salience import Salience
from partwhole.recordings import Recording

FEW_SETS = 12
OF_GROUPS = "predictions of readouts take noise as independent, also within a group"
OF_LDA = (
    "intervals of answers of LDA are too short, with 59 to 88 % of answers in them: the scale of "
    "all answers varies between training sets; accuracies don't depend on it"
)
OF_SVM = "intervals of answers of SVMs hold about 92 % of answers in other recordings, not 95 %"


@door
def held_out_readouts(
    recording: Recording,
    targets: str | Float[np.ndarray, " n"] | Float[np.ndarray, "n k"] | None = None,
    *,
    held_out: Sets = "each",
    ridge: NonNegative | None = None,
    classifier: LDA | SVM | None = None,
    saliences: Salience | None = None,
    over_neurons: bool = False,
    seed: Seed = 0,
    progress: bool = False,
) -> HeldOutReadouts:
    """Predict and measure what readouts answer to each condition that could be held out.

    The prediction is that of `predict_readout`, from condition means and the covariance of noise.
    Beside it stands the answer of a readout that was trained on the trials of all other conditions.

    Parameters
    ----------
    recording : Recording
        Averaged over time; of neurons of several sessions, trials are combined at random.
    targets : str; or float array, shape (n,) or (n, k), default None
        What to answer with: the name of a component, for its values; or numbers, the same for all
        trials of a condition, labels as -1 and +1. None is the value of each component.
    held_out : {"each", "pairs"} or bool array, keyword-only, default "each"
        Hold out every condition by itself, or every two of them together; or the conditions whose
        trials are marked, shape (n,), or (F, n) for several sets.
    ridge : float, keyword-only, default None
        The penalty on squared weights, as in `predict_readout`, in squared units of responses. None
        is the mean variance of neurons that vary, as of a penalty of 1 on standardized responses.
    classifier : LDA or SVM, keyword-only, default None
        In place of ridge readouts, for labels, one for each component: `LDA` for two values and
        more, `SVM` for two. It is trained anew without each set, which takes as long as that takes.
    saliences : Salience, keyword-only, default None
        For answers predicted from saliences alone, beside the others.
    over_neurons : bool, keyword-only, default False
        Whether to estimate how much predictions would vary over populations of as many neurons, by
        leaving out each fifth of them in up to six sets.
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
        fewer than two, and for more than 20,000 sets. For a classifier also as `predict_readout`,
        with ridge or over_neurons, and for a set without which a label has no trials.

    Notes
    -----
    Left-out answers of ridge readouts are those of single fits without the set, in closed form.
    `accuracy` and `within` follow how much noise each condition has; its correlations are taken to
    be the same in all, as `predict_readout` takes its variance, too.
    Groups are not used: what the trials of a run have in common counts as noise that is independent
    between trials, so that answers vary more than is predicted where it is large. Where a component
    is the same in all trials of a group, a readout may answer by what its trials share, and so may
    the prediction of it; a note says so. Close to as many
    neurons as training trials answers vary most, and less with a larger penalty: `larger_ridge`
    names one. Where training conditions outnumber neurons, predicted answers of ridge and LDA are
    the measured ones, and only their deviations and accuracies are predicted (`closed_form`).

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
    [0.7, 0.8]
    >>> readouts.measured_accuracy.mean(axis=0).round(1).tolist()
    [0.6, 0.8]
    """
    with one_thread_each() as threads:
        return _held_out(
            recording, targets, held_out, ridge, classifier, saliences, over_neurons, seed,
            progress, threads,
        )  # fmt: skip


def _held_out(
    recording: Recording,
    targets: str | np.ndarray | None,
    held_out: Sets,
    ridge: float | None,
    classifier: LDA | SVM | None,
    saliences: Salience | None,
    over_neurons: bool,
    seed: int,
    progress: bool,
    threads: int,
) -> HeldOutReadouts:
    whole = pseudo_trials(recording.averaged(), seed)
    responses = varying(whole.responses)
    index, conditions = whole.condition_of_trial, whole.conditions
    require(
        len(conditions) >= 3,
        "a readout is trained on two conditions or more beside those that are held out",
        f"{len(conditions)} conditions",
        "add conditions",
    )
    answered = targets_of(targets, recording, conditions)
    by_condition, labelled, labels = answered.by_condition, answered.labelled, answered.labels
    if not labelled and are_labels(by_condition):
        labelled = [(slice(0, by_condition.shape[1]), label_indices(by_condition))]
        labels = ("answer",)
    _require_readout_of(classifier, ridge, over_neurons, labelled)
    of_conditions = Trials.of(responses, index, conditions)
    unit = penalty_of(None, responses)
    penalty = unit if ridge is None else float(ridge)
    sets = sets_of(held_out, recording, conditions)
    trials = of_conditions.counts
    products = None
    if saliences is not None:
        products = saliences.kernel.nonnegative().kappa[overlap_sets(conditions, conditions)]
    least = max(penalty, LEAST_RIDGE * of_conditions.mean_variance)

    def fitted() -> LeavingOut | Classifiers:
        if classifier is None:
            return LeavingOut(of_conditions, by_condition, least)
        classifiers = Classifiers(classifier, responses, index, by_condition, labelled)
        classifiers.require_labels_without(sets)
        return classifiers

    stages: list[Callable[[], Any]] = [
        # Trials keep the spectrum of their noise, once it is needed.
        lambda: of_conditions.training(trials),
        fitted,
        lambda: noise_of_conditions(of_conditions.residuals, index),
    ]
    _, fit, scales = side_by_side(lambda stage: stage(), stages, threads)

    def read(members: Bool[np.ndarray, " T"], answers: list[Answers]) -> tuple[np.ndarray, ...]:
        left_out = members[index]
        measured = _measured(fit.answers(left_out), index[left_out], labelled)
        uneven = relative_noise(scales, members, trials)
        predicted = predicted_rows(answers[0], members, uneven, labelled)
        return *predicted, *measured, answers[-1].mean[members]

    if isinstance(fit, Classifiers):
        predictions = fit.predicted(of_conditions, sets, read, products, threads)
    else:
        predictions = answers_without(
            of_conditions, sets, trials, by_condition, least, read, threads=threads
        )
    rows: list[tuple[np.ndarray, ...]] = []
    with bar("held-out conditions", len(sets), shown=progress) as advance:
        for row in predictions:
            rows.append(row)
            advance(1)
    predicted, between, within, accuracy, measured, right, from_saliences = (
        np.concatenate(part) for part in zip(*rows, strict=True)
    )
    if products is not None and classifier is None:
        from_saliences = answers_by_saliences(
            of_conditions, products, sets, answered, least, threads
        )
    notes = tuple(groups_beside_values(recording))
    if not labelled:

        def error_with(ridge: float) -> float:
            few = _few(sets)
            means = answers_without(
                of_conditions, few, trials, by_condition, ridge, _squares_of(by_condition),
                threads=threads,
            )  # fmt: skip
            return float(np.sqrt(np.concatenate(list(means)).mean()))

        notes += notes_on_spread(
            variances(between), by_condition, responses.shape[1], training_trials(sets, trials),
            lambda: steadier_penalty(least, unit, error_with),
        )  # fmt: skip
    if isinstance(classifier, LDA):
        notes += (OF_LDA,)
    elif isinstance(classifier, SVM):
        notes += (OF_SVM,)
    # Pseudo-trials of several sessions have no groups.
    if recording.groups is not None and len(recording.blocks) == 1:
        notes += (OF_GROUPS,)
    spread = np.nan
    if over_neurons:
        spread = variance_over_neurons(
            of_conditions, responses, sets, by_condition, least, seed, threads
        )
    readouts = HeldOutReadouts(
        whole,
        sets,
        answered.outputs,
        by_condition[np.nonzero(sets)[1]],
        predicted,
        measured,
        from_saliences if saliences is not None else None,
        labels,
        accuracy,
        right,
        np.array([1.0 / len(np.unique(values)) for _, values in labelled]),
        _determined(conditions, sets),
        between,
        within,
        penalty if classifier is None else np.nan,
        over_neurons=spread,
        notes=notes,
        classifier=classifier,
        confounded=tuple(name for name in confounded(recording) if name in labels),
    )
    if classifier is not None:
        return readouts
    excess = 1.0 + readouts.prediction_variance
    larger = larger_penalty(
        of_conditions, sets, trials, scales, by_condition, labelled, least, unit,
        readouts.certainty, excess, threads,
    )  # fmt: skip
    if larger is None:
        return readouts
    return replace(readouts, larger_ridge=larger[0], larger_certainty=larger[1])


def _require_readout_of(
    classifier: LDA | SVM | None, ridge: float | None, over_neurons: bool, labelled: Labelled
) -> None:
    if classifier is None:
        return
    option = "over_neurons" if over_neurons else f"ridge={ridge}"
    require(
        ridge is None and not over_neurons,
        "ridge is the penalty of a ridge readout, over_neurons the spread of its answers",
        f"{option} with {classifier}",
        "leave one of them out",
    )
    require(
        bool(labelled),
        "classifiers are for labels, targets of -1 and +1 with one +1 of several",
        "other targets",
        "pass labels or the name of a component, or leave classifier out",
    )


def _few(sets: Bool[np.ndarray, "F T"]) -> Bool[np.ndarray, "few T"]:
    """Return a few of many sets, at equal distances."""
    return sets[np.unique(np.linspace(0, len(sets) - 1, FEW_SETS).astype(int))]


def _squares_of(
    targets: Float[np.ndarray, "T k"],
) -> Callable[[np.ndarray, list[Answers]], np.ndarray]:
    """Return what gives the expected squared errors of answers to held-out conditions."""

    def squares(members: Bool[np.ndarray, " T"], answers: list[Answers]) -> np.ndarray:
        mean, between = answers[0].mean[members], answers[0].between[members]
        return (mean - targets[members]) ** 2 + variances(between)

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
