"""Scores of outputs on held-out combinations: error, accuracy, slope, worst values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.audit.case import TRAIN, Case
from partwhole.audit.evidence import ROUNDING
from partwhole.audit.predicted import WorstItem

WORST = 10
# Outputs this close are equal: an output of 0, or two labels with one score, is a tie.
TIE = 1e-9


class Scorer:
    """Comparison of outputs with the targets of held-out combinations.

    Every combination is weighted by the sum of its rows' sample weights; accuracies count rows,
    each with its own label. Outputs within 1e-9 of 0 for two labels, or of the highest for more,
    are ties, which count in equal parts.

    Parameters
    ----------
    case : Case
        With at least one held-out combination.

    Examples
    --------
    >>> from partwhole.audit.case import AuditTable
    >>> grid = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> table = AuditTable(
    ...     grid, np.array([[-1.0], [1.0], [1.0], [-1.0]]), np.array([0, 1, 1, 0]),
    ...     np.array([0, 0, 1, 1]), np.ones(4), ("row", "column"), ((0, 1), (0, 1)), ("y",),
    ...     ("no", "yes"), ("train", "test"))
    >>> Scorer(table.case(1, 1)).accuracies(np.array([0.5, 0.0]))
    (0.75, 0.75)
    """

    def __init__(self, case: Case):
        task = case.task
        self.case = case
        self.targets = task.test_targets
        self.components = task.test_components
        self.weights = case.weights[case.held_out]
        self.labelled = None if case.table.labels is None else _LabelledRows.of(case)
        remarks = []
        if np.any(case.conflict[case.held_out]):
            remarks.append(
                "where rows of a held-out combination differ, errors refer to their mean target"
                + ("" if self.labelled is None else ", and accuracies to each row")
            )
        self.remarks = tuple(remarks)

    @property
    def chance(self) -> float:
        """Return the balanced accuracy of a constant answer."""
        labels = self.case.table.labels
        if self.labelled is None or labels is None:
            return float("nan")
        present = len(np.unique(self.labelled.label))
        return 1.0 / (present if present > 1 else max(len(labels), 1))

    @property
    def ceiling(self) -> float:
        """Return the largest possible accuracy: training lacks some labels, rows may differ."""
        if self.labelled is None:
            return float("nan")
        return float(self._possible().sum() / self.labelled.weight.sum())

    @property
    def balanced_ceiling(self) -> float:
        """Return the balanced accuracy of the answers that are most often right.

        They are the commonest label of each combination, among those of training.
        """
        if self.labelled is None or self.case.table.labels is None:
            return float("nan")
        labelled = self.labelled
        weight = np.zeros((len(self.weights), len(self.case.table.labels)))
        weight[labelled.place, labelled.label] = labelled.weight * labelled.in_training
        best = (weight >= weight.max(axis=1, keepdims=True)) & (weight > 0)
        return self.shares(best / np.maximum(best.sum(axis=1, keepdims=True), 1))[1]

    @property
    def commonest(self) -> float:
        """Return the share of rows with the commonest label of those that training has."""
        if self.labelled is None:
            return float("nan")
        labelled = self.labelled
        of_label = np.bincount(labelled.label, labelled.weight * labelled.in_training)
        return float(of_label.max() / labelled.weight.sum())

    def _possible(self) -> Float[np.ndarray, " h"]:
        """Return the weight of each combination's rows that one label of training can answer."""
        assert self.labelled is not None
        labelled, most = self.labelled, np.zeros(len(self.weights))
        np.maximum.at(most, labelled.place, np.where(labelled.in_training, labelled.weight, 0.0))
        return most

    def errors(self, outputs: Float[np.ndarray, "h *k"]) -> Float[np.ndarray, " h"]:
        """Return each combination's squared error, the mean over outputs."""
        return ((outputs - self.targets) ** 2).reshape(len(outputs), -1).mean(axis=1)

    def error(self, outputs: Float[np.ndarray, "h *k"]) -> float:
        """Return the weighted mean squared error."""
        return float(np.average(self.errors(outputs), weights=self.weights))

    def credit(self, outputs: Float[np.ndarray, "h *k"]) -> Float[np.ndarray, " q"]:
        """Return 1 where the label of rows has the highest output, its share of a tie, or 0."""
        assert self.labelled is not None
        top = _top(outputs)
        return top[self.labelled.place, self.labelled.label] / top.sum(axis=1)[self.labelled.place]

    def ties(self, outputs: Float[np.ndarray, "h *k"]) -> int:
        """Return the number of held-out combinations with several highest outputs."""
        return 0 if self.labelled is None else int(np.sum(_top(outputs).sum(axis=1) > 1))

    def right(self, outputs: Float[np.ndarray, "h *k"]) -> Float[np.ndarray, " h"]:
        """Return the share of each combination's rows with a correct label."""
        return self._right(self.credit(outputs))

    def _right(self, credit: Float[np.ndarray, " q"]) -> Float[np.ndarray, " h"]:
        assert self.labelled is not None
        credit, place = credit * self.labelled.weight, self.labelled.place
        return np.bincount(place, credit, len(self.weights)) / self.weights

    def accuracies(self, outputs: Float[np.ndarray, "h *k"]) -> tuple[float, float]:
        """Return the weighted share of rows with a correct label, and its mean over labels."""
        if self.labelled is None:
            return float("nan"), float("nan")
        return self._shares(self.credit(outputs))

    def shares(self, right: Float[np.ndarray, "h L"]) -> tuple[float, float]:
        """Return the same from the shares of each combination's rows with a label, by label."""
        assert self.labelled is not None
        return self._shares(right[self.labelled.place, self.labelled.label])

    def _shares(self, credit: Float[np.ndarray, " q"]) -> tuple[float, float]:
        assert self.labelled is not None
        label, weight = self.labelled.label, self.labelled.weight
        by_label, of = np.bincount(label, weight * credit), np.bincount(label, weight)
        present = of > 0
        balanced = float(np.mean(by_label[present] / of[present]))
        return float(weight @ credit / weight.sum()), balanced

    def slope(self, outputs: Float[np.ndarray, "h *k"]) -> float:
        """Return the slope of outputs on targets, about their means; below 1e-9 it is 0."""
        y, f = (q.reshape(len(q), -1) for q in (self.targets, outputs))
        if np.all(y == y[0]):
            return float("nan")
        # Scaled, because the squares of small targets might underflow.
        scale = np.abs(y).max()
        y, f = (q / scale - np.average(q / scale, axis=0, weights=self.weights) for q in (y, f))
        spread = float(np.sum(self.weights @ (y * y)))
        slope = float(np.sum(self.weights @ (y * f)) / spread) if spread else float("nan")
        # Rounding is no slope.
        return 0.0 if abs(slope) < ROUNDING else slope

    def worst(
        self,
        outputs: Float[np.ndarray, "h *k"],
        squares: Float[np.ndarray, " h"] | None = None,
        shares: Float[np.ndarray, "h L"] | None = None,
    ) -> tuple[WorstItem, ...]:
        """Return the values whose held-out combinations are predicted worst, at most ten.

        Values of which as many rows are predicted right as labels of training allow are left out,
        if these are not all.

        Parameters
        ----------
        outputs : float array, shape (h,) or (h, k)
        squares : float array, shape (h,), optional
            The squared error of each combination's rows; by default that of the outputs.
        shares : float array, shape (h, L), optional
            The share of its rows with a label that are answered right; likewise.
        """
        task = self.case.task
        errors = self.errors(outputs) if squares is None else squares
        right = by_mean = None
        possible = np.ones(len(errors))
        if self.labelled is not None:
            possible = self._possible() / self.weights
            right = by_mean = self.right(outputs)
            if shares is not None:
                right = self._right(shares[self.labelled.place, self.labelled.label])
        items = []
        for c, n in enumerate(task.n_values):
            column = self.components[:, c]
            n_test = np.bincount(column, minlength=n)
            n_train = np.bincount(task.train_components[:, c], minlength=n)
            error = _means(column, errors, self.weights, n)
            accuracy, of_mean = np.full((2, n), np.nan)
            listed = n_test > 0
            if right is not None and by_mean is not None:
                accuracy = _means(column, right, self.weights, n)
                of_mean = _means(column, by_mean, self.weights, n)
                most = _means(column, possible, self.weights, n)
                short = np.minimum(accuracy, of_mean) < most - ROUNDING
                listed &= short | (most > 1.0 - ROUNDING)
            items += [
                WorstItem(
                    c,
                    v,
                    int(n_test[v]),
                    int(n_train[v]),
                    float(error[v]),
                    float(accuracy[v]),
                    float(of_mean[v]),
                )
                for v in np.flatnonzero(listed).tolist()
            ]
        if right is None:
            items.sort(key=lambda item: -item.error)
        else:
            items.sort(key=lambda item: (item.accuracy, -item.error))
        return tuple(items[:WORST])


@dataclass(frozen=True, eq=False)
class _LabelledRows:
    """Held-out rows by combination and label.

    Parameters
    ----------
    place : int array, shape (q,)
        Of the combination, among the held-out ones.
    label : int array, shape (q,)
    weight : float array, shape (q,)
        Sum over the rows.
    in_training : bool array, shape (q,)
        Whether training has the label.
    """

    place: Int[np.ndarray, " q"]
    label: Int[np.ndarray, " q"]
    weight: Float[np.ndarray, " q"]
    in_training: Bool[np.ndarray, " q"]

    @classmethod
    def of(cls, case: Case) -> _LabelledRows:
        table = case.table
        assert table.label is not None
        assert table.labels is not None
        k = len(table.labels)
        rows = case.rows_of(case.held_out)
        place = np.searchsorted(case.held_out, case.row_combination[rows])
        keys, cell = np.unique(place * k + table.label[rows], return_inverse=True)
        place, label = np.divmod(keys, k)
        in_training = np.isin(label, table.label[table.split == TRAIN])
        return cls(place, label, np.bincount(cell, table.weights[rows]), in_training)


def _top(outputs: Float[np.ndarray, "h *k"]) -> Bool[np.ndarray, "h j"]:
    """Return which labels have the highest output."""
    if outputs.ndim == 1:
        return np.stack([outputs <= TIE, outputs >= -TIE], axis=1)
    return outputs >= outputs.max(axis=1, keepdims=True) - TIE


def _means(
    column: Int[np.ndarray, " h"],
    numbers: Float[np.ndarray, " h"],
    weights: Float[np.ndarray, " h"],
    n: int,
) -> Float[np.ndarray, " n"]:
    """Return the weighted mean of the numbers at each value, NaN without rows."""
    total = np.bincount(column, weights, n)
    sums = np.bincount(column, weights * numbers, n)
    return np.divide(sums, total, out=np.full(n, np.nan), where=total > 0)
