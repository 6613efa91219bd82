"""Scores of outputs on held-out combinations: error, accuracy, slope, worst values."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from partwhole.audit.case import Case
from partwhole.audit.evidence import WorstItem

WORST = 10
# Outputs this close are equal: an output of 0, or two labels with one score, is a tie.
TIE = 1e-9


class Scorer:
    """Comparison of outputs with the targets of held-out combinations.

    Every combination is weighted by the sum of its rows' sample weights. Outputs within 1e-9 of 0
    for two labels, or of the highest for more, are ties, which count in equal parts.

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
        self.label = None if case.label is None else case.label[case.held_out]
        remarks = []
        if self.label is not None:
            divided = int(np.sum(self.label < 0))
            if divided:
                remarks.append(
                    f"{divided} held-out combinations whose rows are evenly divided between "
                    "labels are excluded from the accuracy"
                )
        if np.any(case.conflict[case.held_out]):
            remarks.append(
                "where rows of a held-out combination differ, errors refer to their mean target"
                + ("" if self.label is None else ", and accuracies to the majority label")
            )
        self.remarks = tuple(remarks)

    @property
    def chance(self) -> float:
        """Return the balanced accuracy of a constant answer."""
        labels = self.case.table.labels
        if self.label is None or labels is None:
            return float("nan")
        present = len(np.unique(self.label[self.label >= 0]))
        return 1.0 / (present if present > 1 else max(len(labels), 1))

    def errors(self, outputs: Float[np.ndarray, "h *k"]) -> Float[np.ndarray, " h"]:
        """Return each combination's squared error, the mean over outputs."""
        return ((outputs - self.targets) ** 2).reshape(len(outputs), -1).mean(axis=1)

    def error(self, outputs: Float[np.ndarray, "h *k"]) -> float:
        """Return the weighted mean squared error."""
        return float(np.average(self.errors(outputs), weights=self.weights))

    def right(self, outputs: Float[np.ndarray, "h *k"]) -> Float[np.ndarray, " h"]:
        """Return 1 for a correct label, its share of a tie, and NaN without a label."""
        assert self.label is not None
        if outputs.ndim == 1:
            sign = 2.0 * self.label - 1.0
            right = np.where(np.abs(outputs) <= TIE, 0.5, np.where(sign * outputs > 0, 1.0, 0.0))
        else:
            top = outputs >= outputs.max(axis=1, keepdims=True) - TIE
            mine = np.take_along_axis(top, np.maximum(self.label, 0)[:, None], axis=1)[:, 0]
            right = mine / top.sum(axis=1)
        return np.where(self.label < 0, np.nan, right)

    def accuracies(self, outputs: Float[np.ndarray, "h *k"]) -> tuple[float, float]:
        """Return the weighted share of correct labels, and its mean over labels."""
        if self.label is None or not np.any(self.label >= 0):
            return float("nan"), float("nan")
        decided = self.label >= 0
        label, weights = self.label[decided], self.weights[decided]
        right = self.right(outputs)[decided]
        by_label, of = np.bincount(label, weights * right), np.bincount(label, weights)
        present = of > 0
        balanced = float(np.mean(by_label[present] / of[present]))
        return float(np.average(right, weights=weights)), balanced

    def slope(self, outputs: Float[np.ndarray, "h *k"]) -> float:
        """Return the slope of outputs on targets, about their means, over all outputs."""
        y, f = (q.reshape(len(q), -1) for q in (self.targets, outputs))
        if np.all(y == y[0]):
            return float("nan")
        # Scaled, because the squares of small targets might underflow.
        scale = np.abs(y).max()
        y, f = (q / scale - np.average(q / scale, axis=0, weights=self.weights) for q in (y, f))
        spread = float(np.sum(self.weights @ (y * y)))
        return float(np.sum(self.weights @ (y * f)) / spread) if spread else float("nan")

    def worst(self, outputs: Float[np.ndarray, "h *k"]) -> tuple[WorstItem, ...]:
        """Return the values whose held-out combinations are predicted worst, at most ten."""
        task = self.case.task
        errors = self.errors(outputs)
        right = None if self.label is None else self.right(outputs)
        items = []
        for c, n in enumerate(task.n_values):
            column = self.components[:, c]
            n_test = np.bincount(column, minlength=n)
            n_train = np.bincount(task.train_components[:, c], minlength=n)
            error = _means(column, errors, self.weights, n)
            accuracy = np.full(n, np.nan)
            if right is not None:
                accuracy = _means(column, right, self.weights, n)
            items += [
                WorstItem(
                    c, v, int(n_test[v]), int(n_train[v]), float(error[v]), float(accuracy[v])
                )
                for v in np.flatnonzero(n_test).tolist()
            ]
        if right is None:
            items.sort(key=lambda item: -item.error)
        else:
            items.sort(key=lambda item: (np.nan_to_num(item.accuracy, nan=2.0), -item.error))
        return tuple(items[:WORST])


def _means(
    column: Int[np.ndarray, " h"],
    numbers: Float[np.ndarray, " h"],
    weights: Float[np.ndarray, " h"],
    n: int,
) -> Float[np.ndarray, " n"]:
    """Return the weighted mean of the numbers at each value, without NaN."""
    present = ~np.isnan(numbers)
    column, numbers, weights = column[present], numbers[present], weights[present]
    total = np.bincount(column, weights, n)
    sums = np.bincount(column, weights * numbers, n)
    return np.divide(sums, total, out=np.full(n, np.nan), where=total > 0)
