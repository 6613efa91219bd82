"""A linear readout of measured features: its answers to the rows of held-out combinations.

They are predicted by `predict_readout` from means and noise of the rows where it applies. Elsewhere
the readout is trained on the training rows and answers the held-out ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import InputError
from partwhole._types import Real
from partwhole.audit.case import TRAIN, Case

if TYPE_CHECKING:
    from partwhole.measures.readouts import Readout

# A prediction within these takes at most about 10 s of one core (15 s for a margin), and 250 MB
# beside seven times the memory of the features: combinations of a ridge readout (1,156: 8 s) or of
# a support vector machine (784: 14 s), combinations times squared outputs (144 times 300 labels
# squared: 5 s), and rows times features times the smaller of the two (20,000 by 1,000: 6 s; 2,000
# by 5,000: 13 s, and 21 s for a margin).
MOST_COMBINATIONS, MOST_OF_MARGIN, MOST_SQUARES, LARGEST = 1200, 650, 5e6, 1.5e10
# The last of these for training a ridge readout by its normal equations (60,000 by 1,000: 3 s).
LARGEST_TRAINED = 1e11
# Seconds for which these are; with fewer they are smaller, with more they are not larger.
SECONDS = 10.0
# Share of the features' variance below which noise is rounding.
ROUNDING = 1e-24


@dataclass(frozen=True)
class _Sizes:
    """Largest sizes of a readout that takes so many seconds."""

    seconds: float

    @property
    def _share(self) -> float:
        return min(1.0, self.seconds / SECONDS)

    @property
    def squares(self) -> float:
        return MOST_SQUARES * self._share

    @property
    def predicted(self) -> float:
        return LARGEST * self._share

    @property
    def trained(self) -> float:
        return LARGEST_TRAINED * self._share

    def combinations(self, most: int) -> int:
        """Return how many combinations there may be, which take time as their cube."""
        return int(most * self._share ** (1.0 / 3.0))


@dataclass(frozen=True, eq=False)
class MeasuredReadout:
    """Answers of a readout of a table's features, in the order of a case's held-out combinations.

    Parameters
    ----------
    outputs : float array, shape (h,) or (h, k)
        Mean answers to the rows of a combination.
    squares : float array, shape (h,)
        Mean squared error of the answers to single rows.
    right : float array, shape (h, L), or None
        Share of right answers to single rows of a combination that have a label; None for numbers.
    trained : float array, shape (h,) or (h, k), or None
        Of a prediction: mean answers of the readout that is trained on the same training rows.
    trained_right : float array, shape (h, L), or None
        Its share of right answers; None for numbers, and where rows of a combination differ.
    remark : str
        Why it was trained, and what it ignores; empty for a prediction that ignores nothing.
    """

    outputs: Float[np.ndarray, "h *k"]
    squares: Float[np.ndarray, " h"]
    right: Float[np.ndarray, "h L"] | None
    trained: Float[np.ndarray, "h *k"] | None = None
    trained_right: Float[np.ndarray, "h L"] | None = None
    remark: str = ""

    @property
    def difference(self) -> float:
        """Return the root mean square of the difference from the trained readout; NaN of one."""
        if self.trained is None:
            return float("nan")
        return float(np.sqrt(np.mean((self.outputs - self.trained) ** 2)))

    @property
    def origin(self) -> Literal["predicted", "trained"]:
        """Return how its answers are known."""
        return "trained" if self.trained is None else "predicted"


@dataclass(frozen=True)
class NoReadout:
    """Reason why a readout of noisy features was neither predicted nor trained."""

    remark: str


def measured_readout(
    case: Case,
    fit: Literal["regression", "margin"] = "regression",
    time_limit: Real = SECONDS,
) -> MeasuredReadout | NoReadout | None:
    """Return what a readout of the features of a case's rows answers to held-out rows.

    A ridge readout has a penalty of the mean variance of a feature, and takes weights of training
    rows relative to their mean. In place of a margin it is a linear support vector machine for two
    labels, with squared hinge loss and the inverse of that variance as C, which gives all training
    rows the same weight.

    Parameters
    ----------
    case : Case
        With held-out combinations.
    fit : {"regression", "margin"}, default "regression"
    time_limit : float, default 10
        Seconds of processor time; below 10 the sizes named here are smaller.

    Returns
    -------
    MeasuredReadout, NoReadout or None
        Trained, and not predicted, for more than 1,200 combinations (650 of a margin), for more
        than 5,000,000 combinations times squared outputs, for large features (20,000 rows of 850,
        say), for ridge with unequal weights of training rows, where rows of a combination differ in
        their targets, and where the prediction does not converge. NoReadout for larger ones, and
        for margins of several labels. None without features or target, and where features of a
        combination never differ, so that there is no noise.
    """
    table = case.table
    if table.features is None or not table.has_target:
        return None
    rows = np.flatnonzero(np.isin(table.split, (TRAIN, case.split)))
    index = case.row_combination[rows]
    if len(np.unique(index)) == len(rows) or not _has_noise(table.features[rows], index):
        return None
    if fit == "margin":
        return _margin(case, rows, _Sizes(float(time_limit)))
    return _ridge(case, rows, _Sizes(float(time_limit)))


def _has_noise(features: Float[np.ndarray, "n p"], index: Int[np.ndarray, " n"]) -> bool:
    """Return whether features of a combination differ between its rows."""
    order = np.argsort(index, kind="stable")
    again = np.flatnonzero(np.diff(index[order]) == 0)
    least = ROUNDING * float(np.mean(np.var(features, axis=0)))
    return any(
        float(np.mean((features[order[i]] - features[order[i + 1]]) ** 2)) > least for i in again
    )


def _size(features: Float[np.ndarray, "N p"], n_rows: int) -> float:
    p = features.shape[1]
    return float(n_rows) * p * min(n_rows, p)


def _ridge(case: Case, rows: Int[np.ndarray, " n"], most: _Sizes) -> MeasuredReadout | NoReadout:
    table = case.table
    features, weights = table.features, table.weights
    assert features is not None
    targets = case.task.targets.reshape(len(case.weights), -1)
    size = _size(features, len(rows))
    is_train = table.split[rows] == TRAIN
    if case.conflict.any():
        reason = "rows of a combination differ in their targets"
    elif np.ptp(weights[rows[is_train]]) > 0:
        reason = "training rows have unequal weights"
    elif len(targets) > (n := most.combinations(MOST_COMBINATIONS)):
        reason = f"there are more than {n:,} combinations"
    elif len(targets) * targets.shape[1] ** 2 > most.squares:
        reason = f"{targets.shape[1]:,} outputs are too many for a prediction"
    elif size > most.predicted:
        reason = f"{len(rows):,} rows of {features.shape[1]:,} features are too many for it"
    else:
        from partwhole.measures.readouts import predict_readout  # see `representation`

        index = case.row_combination[rows]
        try:
            readout = predict_readout(
                features[rows], table.components[rows], targets[index], is_train
            )
        except InputError:
            reason = "its equations were not solved for these rows"
        else:
            return _of_prediction(case, readout)
    if size > most.trained:
        return NoReadout(
            f"the measured point takes the noise of single rows as a ridge, since {len(rows):,} "
            f"rows of {features.shape[1]:,} features are too many to predict or train a readout "
            "here; that holds only for far more features than rows, and trained readouts may "
            "answer much less: train one, or audit fewer rows or features"
        )
    from partwhole.measures.readouts.noise import penalty_of
    from partwhole.measures.readouts.trained import ridge_readout

    train, test = rows[is_train], case.rows_of(case.held_out)
    penalty = penalty_of(None, features[rows])
    readout = ridge_readout(features[train], table.targets[train], penalty, weights[train])
    return _of_answers(case, test, readout(features[test]), _why_trained("ridge readout", reason))


def _why_trained(learner: str, reason: str) -> str:
    return (
        f"the measured point is the answers of a {learner} that was trained on the training rows, "
        f"not a prediction, since {reason}; other samples of rows will give somewhat different ones"
    )


def _margin(case: Case, rows: Int[np.ndarray, " n"], most: _Sizes) -> MeasuredReadout | NoReadout:
    table, label = case.table, case.label
    features = table.features
    assert features is not None
    assert label is not None
    assert table.labels is not None
    if len(table.labels) > 2:
        return NoReadout(
            "the measured point is left out: a margin of several labels ignores the noise of "
            "single rows, with which classifiers may answer much worse; use fit 'regression', "
            "which counts it"
        )
    from partwhole.measures.readouts import SVM, predict_readout  # see `representation`
    from partwhole.measures.readouts.noise import penalty_of

    is_train, index = table.split[rows] == TRAIN, case.row_combination[rows]
    learner = "linear support vector machine"
    if _size(features, len(rows)) > most.predicted:
        return NoReadout(
            f"the measured point is left out: {len(rows):,} rows of {features.shape[1]:,} features "
            f"are too many to predict or train a {learner} here, and a margin ignores the noise of "
            "single rows, with which classifiers may answer much worse; train one, or audit fewer "
            "rows or features"
        )
    train, test = rows[is_train], case.rows_of(case.held_out)
    if len(np.unique(table.targets[train])) < 2:
        return NoReadout(
            f"the measured point is left out: a {learner} is trained on rows of both labels, and "
            "training has one alone"
        )
    classifier = SVM(C=1.0 / penalty_of(None, features[rows]), loss="squared_hinge")
    is_weighted = np.ptp(table.weights[train]) > 0
    note = "a support vector machine gives all training rows the same weight" if is_weighted else ""
    if np.any(case.conflict & case.task.is_train):
        reason = "training rows of a combination differ in their labels"
    elif len(label) > (n := most.combinations(MOST_OF_MARGIN)):
        reason = f"there are more than {n:,} combinations"
    else:
        signs = np.where(label == 0, -1.0, 1.0)
        try:
            readout = predict_readout(
                features[rows],
                table.components[rows],
                signs[index],
                is_train,
                classifier=classifier,
            )
        except InputError:
            reason = "its equations were not solved for these rows"
        else:
            return _of_prediction(case, readout, note)
    trained = classifier.train(features[train], table.targets[train])
    assert trained is not None
    remark = _why_trained(learner, reason)
    return _of_answers(case, test, trained(features[test]), f"{remark}; {note}" if note else remark)


def _of_prediction(case: Case, readout: Readout, remark: str = "") -> MeasuredReadout:
    """Return what is predicted for held-out combinations."""
    task = case.task
    places = readout.rows_of(task.test_components)
    predicted, trained = readout.predicted[places], readout.trained[places]
    targets = task.test_targets.reshape(predicted.shape)
    of_a_trial = readout.between + readout.within - readout.error
    variances = np.einsum("ajj->aj", of_a_trial[places])
    right = trained_right = None
    if case.has_labels:
        assert case.table.labels is not None
        right = np.zeros((len(places), len(case.table.labels)))
        if not case.conflict.any():
            # Rows of a combination have one label, so that shares of others don't count.
            trained_right = np.repeat(
                readout.trained_accuracy[places, None], right.shape[1], axis=1
            )
        of_label = readout.accuracy[places]
        if predicted.shape[1] == 1:
            # Rows that differ in their label are as far from the margin as others.
            positive = np.where(readout.targets[places, 0] > 0, of_label, 1.0 - of_label)
            right[:, 0], right[:, 1] = 1.0 - positive, positive
        else:
            right[np.arange(len(places)), targets.argmax(axis=1)] = of_label
    return MeasuredReadout(
        predicted.reshape(task.test_targets.shape),
        np.mean((predicted - targets) ** 2 + variances, axis=1),
        right,
        trained.reshape(task.test_targets.shape),
        trained_right,
        remark,
    )


def _of_answers(
    case: Case, rows: Int[np.ndarray, " t"], answers: Float[np.ndarray, "t k"], remark: str
) -> MeasuredReadout:
    """Return means of the answers to single rows, by their weights."""
    task, table = case.task, case.table
    place = np.searchsorted(case.held_out, case.row_combination[rows])
    weights, h = table.weights[rows], len(case.held_out)
    total = np.bincount(place, weights, h)
    targets = task.test_targets.reshape(h, -1)
    means = [np.bincount(place, weights * column, h) / total for column in answers.T]
    squares = np.mean((answers - targets[place]) ** 2, axis=1)
    right = None
    if table.label is not None and table.labels is not None:
        right = _right_shares(place, table.label[rows], weights, answers, (h, len(table.labels)))
    return MeasuredReadout(
        np.column_stack(means).reshape(task.test_targets.shape),
        np.bincount(place, weights * squares, h) / total,
        right,
        remark=remark,
    )


def _right_shares(
    place: Int[np.ndarray, " t"],
    label: Int[np.ndarray, " t"],
    weights: Float[np.ndarray, " t"],
    answers: Float[np.ndarray, "t k"],
    shape: tuple[int, int],
) -> Float[np.ndarray, "h L"]:
    from partwhole.measures.readouts.labels import credit

    cell = place * shape[1] + label
    size = shape[0] * shape[1]
    right = np.bincount(cell, weights * credit(answers, label), size)
    total = np.bincount(cell, weights, size)
    return np.divide(right, total, out=np.zeros(size), where=total > 0).reshape(shape)
