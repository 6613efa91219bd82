"""Prediction of the answers of linear readouts of measured trials."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import NonNegative, Seed
from partwhole.measures.readouts.answers import Answers
from partwhole.measures.readouts.equivalent import answers_of
from partwhole.measures.readouts.labels import are_labels
from partwhole.measures.readouts.lda import LDA
from partwhole.measures.readouts.means import Trials
from partwhole.measures.readouts.noise import LEAST_RIDGE, penalty_of, varying
from partwhole.measures.readouts.result import Readout
from partwhole.measures.readouts.spread import near, notes_on_spread, steadier_penalty
from partwhole.measures.readouts.svm import SVM
from partwhole.measures.readouts.trained import Linear, by_condition, ridge_readout
from partwhole.measures.readouts.trials import trials_of_arrays, trials_of_recording
from partwhole.recordings import Recording


@door
def predict_readout(
    features: Recording | Float[np.ndarray, "n p"],
    components: Int[np.ndarray, "n C"] | None = None,
    targets: str | Float[np.ndarray, " n"] | Float[np.ndarray, "n k"] | None = None,
    is_train: Bool[np.ndarray, " n"] | None = None,
    *,
    ridge: NonNegative | None = None,
    classifier: LDA | SVM | None = None,
    seed: Seed = 0,
) -> Readout:
    r"""Predict what a linear readout of noisy trials answers at every condition, held out or not.

    A ridge readout minimises the sum of squared errors over training trials plus a penalty, with a
    free intercept; classifiers are linear discriminant analysis and support vector machines. The
    prediction needs each condition's mean and the covariance of the noise, and says how both shape
    the answer: noise that is shared by features is avoided, other noise shrinks the answer, more so
    the more features there are for each trial.

    Parameters
    ----------
    features : Recording; or float array, shape (n, p)
        Trials of known conditions, averaged over time; of neurons of several sessions, trials are
        combined at random. Or a row for each trial: neurons, voxels or units.
    components : int array, shape (n, C), default None
        Of an array, the condition of each trial, as values of its components.
    targets : str; or float array, shape (n,) or (n, k); default None
        Numbers, the same for all trials of a condition. Labels as -1 and +1: one column for two, a
        column each for more. Of a recording also the name of a component, for its values as labels,
        or None for those of all components.
    is_train : bool array, shape (n,)
        The trials on which the readout is trained. Conditions without any are held out. Of neurons
        of several sessions, all trials of a condition or none.
    ridge : float, keyword-only, default None
        The penalty on squared weights, in squared units of features: that of scikit-learn's Ridge.
        0 is least squares, of the smallest norm where features outnumber trials. None is the mean
        variance of features that vary, as of a penalty of 1 on standardized features; classifiers
        have parameters of their own.
    classifier : LDA or SVM, keyword-only, default None
        In place of a ridge readout, for labels: `LDA` for two and more, `SVM` for two.
    seed : int, keyword-only, default 0
        For the combination of trials of several sessions.

    Returns
    -------
    Readout
        With the answers of the readout that is trained on these trials.

    Raises
    ------
    InputError
        If no condition is repeated, so that noise can't be told from conditions, if targets of a
        condition differ, if training has a single condition or none, for a classifier with other
        targets than labels, where its equations can't be solved, for components beside a recording,
        and for an array without them.

    Notes
    -----
    Deterministic equivalent of Hachem, Loubaton and Najim (Ann. Appl. Probab. 2007), reduced to
    conditions here; functions of the noise's covariance from residuals of the training conditions,
    at Silverstein's shifted penalty (`resolvent`); products of means without the bias of their
    noise, and drawn towards their means by overlap, and by values of single components, as far as
    that noise explains what they deviate (`levels`). Noise has the same covariance at all training
    conditions. Because it is theirs, a prediction follows the readout of these trials more closely
    than `between` says, which is over training sets. Close to as many features as trials the
    answers themselves vary most, and by far less with a larger ridge; there predicted accuracies
    are too low by up to .07. Where training conditions outnumber features, and have repeated
    training trials, answers of ridge and LDA to held-out conditions are those of the readout of
    these trials, at measured means, and only deviations and accuracies are predicted, without a
    fixed point (`closed_form`).

    LDA follows from ridge regression by optimal scoring (`lda`), SVMs from equations of the same
    kind for other losses (`margins`); both are approximate where trials are few. The scale of all
    answers of an LDA, or of an SVM whose penalty hardly counts (large C, many trials that overlap),
    varies between training sets more than `between` says; accuracies don't depend on it. From
    trials, the error of a predicted accuracy is mostly that of the condition's mean: from m trials,
    up to 0.4 / sqrt(m).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[a, b] for a in range(3) for b in range(3)], 20, axis=0)
    >>> clean = np.eye(3)[rows[:, 0]] @ rng.normal(size=(3, 40))
    >>> clean += np.eye(3)[rows[:, 1]] @ rng.normal(size=(3, 40))
    >>> noisy = clean + 2.0 * rng.normal(size=clean.shape)
    >>> readout = predict_readout(noisy, rows, rows.sum(axis=1), rows.min(axis=1) < 2)
    >>> readout.conditions[readout.held_out].tolist(), readout.targets[readout.held_out].tolist()
    ([[2, 2]], [[4.0]])
    >>> np.round([readout.predicted[-1, 0], readout.trained[-1, 0]], 1).tolist()
    [3.0, 3.0]

    Whether the sum is 2 or more, by a linear support vector machine, with more noise:

    >>> label = np.where(rows.sum(axis=1) > 1, 1.0, -1.0)
    >>> noisy = clean + 5.0 * rng.normal(size=clean.shape)
    >>> readout = predict_readout(noisy, rows, label, rows.min(axis=1) < 2, classifier=SVM(C=0.01))
    >>> np.round([readout.accuracy[-1], readout.trained_accuracy[-1]], 1).tolist()
    [0.9, 0.9]

    Of a recording, the value of a component:

    >>> from partwhole.recordings import from_trials
    >>> noisy = clean + 2.0 * rng.normal(size=clean.shape)
    >>> recording = from_trials(noisy, {"shape": rows[:, 0], "size": rows[:, 1]})
    >>> readout = predict_readout(recording, targets="size", is_train=rows.min(axis=1) < 2)
    >>> np.round([readout.accuracy[-1], readout.trained_accuracy[-1]], 1).tolist()
    [0.8, 0.8]
    """
    if isinstance(features, Recording):
        of = trials_of_recording(features, components, targets, is_train, seed)
    else:
        of = trials_of_arrays(features, components, targets, is_train)
    index, train, y = of.index, of.is_train, of.targets[of.index]
    trials = np.bincount(index)
    counts = np.bincount(index, train, minlength=len(trials)).astype(np.int64)
    n_conditions = len(trials)
    require(
        int(np.sum(counts > 0)) > 1,
        "a readout is trained on two conditions or more",
        int(np.sum(counts > 0)),
        "mark trials of others in is_train",
    )
    require(
        classifier is None or ridge is None,
        "ridge is the penalty of a ridge readout",
        f"ridge={ridge} with {classifier}",
        "leave one of them out",
    )
    require(
        classifier is None or are_labels(y),
        "classifiers are for labels, targets of -1 and +1 with one +1 of several",
        "other targets",
        "pass labels, or leave classifier out",
    )
    x = varying(of.features)
    used = np.ones_like(train)
    repeats, n_trained = np.maximum(counts - 1, 0).sum(), np.count_nonzero(counts)
    if n_trained - 1 > x.shape[1] and repeats > 1 and not isinstance(classifier, SVM):
        # The closed form is of all trials of the training conditions.
        used = train | (counts == 0)[index]
    measured = Trials.of(x[used], index[used], of.conditions)
    described = measured.training(counts)
    trained: Linear | None
    notes: tuple[str, ...] = ()
    if classifier is not None:
        answers = classifier.answers(described, counts, of.targets)
        trained = classifier.train(x[train], y[train])
    else:
        penalty = penalty_of(ridge, x)
        least = max(penalty, LEAST_RIDGE * measured.mean_variance)
        answers, _ = answers_of(described, counts, of.targets, least)
        trained = ridge_readout(x[train], y[train], penalty)
        held_out = counts == 0

        def error_with(ridge: float) -> float:
            mean, spread = _held_out(answers_of(described, counts, of.targets, ridge)[0], held_out)
            return float(np.sqrt(np.mean((mean - of.targets[held_out]) ** 2 + spread)))

        # Of labels shares vary less than answers, but where features are about as many as trials.
        if not are_labels(y) or near(x.shape[1], float(train.sum())):
            notes += notes_on_spread(
                _held_out(answers, held_out)[1], of.targets, x.shape[1], float(train.sum()),
                lambda: steadier_penalty(least, penalty_of(None, x), error_with),
            )  # fmt: skip
    of_others = np.full((n_conditions, y.shape[1]), np.nan), np.full(n_conditions, np.nan)
    if trained is not None:
        others = ~train
        of_others = by_condition(trained(x[others]), y[others], index[others], n_conditions)
    return Readout(
        of.conditions,
        counts,
        trials,
        of.targets,
        answers.mean,
        answers.between,
        answers.within,
        *of_others,
        np.zeros_like(answers.between) if answers.error is None else answers.error,
        of.names,
        of.values,
        of.outputs,
        notes,
    )


def _held_out(
    answers: Answers, held_out: Bool[np.ndarray, " A"]
) -> tuple[Float[np.ndarray, "h k"], Float[np.ndarray, "h k"]]:
    """Return mean and variance over training sets of answers to held-out conditions."""
    return answers.mean[held_out], np.einsum("ajj->aj", answers.between[held_out])
