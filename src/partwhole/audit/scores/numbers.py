"""Scores of components that alone predict numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from partwhole.audit.case import Case
from partwhole.audit.evidence import RareGroup, ShiftedValue
from partwhole.audit.scores.copies import Copies
from partwhole.audit.scores.score import (
    COMPARED,
    KEPT,
    MATTERS,
    MATTERS_ONCE,
    N_EXAMPLES,
    Score,
    compared_rows,
    counted_once,
    draws,
    errors_of,
    is_seen,
    n_draws,
    numbers_of_rows,
    ranked,
    rare_groups,
)
from partwhole.features.conjunctions import Dictionary

# Share of the variance of training that predictions must have in test for a slope.
LEAST_VARIED = 1e-3
# Slopes below it, reversed as strongly as training has them, count as it: weak predictors have
# steep ones.
LEAST_SLOPE = -1.0


@dataclass(frozen=True, eq=False)
class NumberScores:
    """Rows of training and test with their numbers."""

    case: Case
    train: Int[np.ndarray, " t"]
    test: Int[np.ndarray, " s"]
    targets: Float[np.ndarray, "n k"]
    weights: Float[np.ndarray, " n"]
    centre: Float[np.ndarray, " k"]
    spread: float

    @classmethod
    def of(
        cls,
        case: Case,
        train: Int[np.ndarray, " t"],
        test: Int[np.ndarray, " s"],
        weights: Float[np.ndarray, " n"] | None = None,
    ) -> NumberScores:
        targets = case.table.targets
        weights = case.table.weights if weights is None else weights
        # In units of the largest, so that squares neither overflow nor vanish.
        size = float(np.abs(targets).max(initial=0.0)) or 1.0
        targets, share = targets / size, weights[train] / weights[train].sum()
        centre = share @ targets[train]
        spread = float(share @ ((targets[train] - centre) ** 2).sum(axis=1))
        return cls(case, train, test, targets, weights, centre, spread)

    @cached_property
    def _copies(self) -> Copies:
        targets = self.targets[self.train]
        columns = [np.unique(column, return_inverse=True)[1] for column in targets.T]
        answer = columns[0]
        if len(columns) > 1:
            _, answer = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        sizes = numbers_of_rows(self.case.table.weights)
        return Copies.of(self.case, self.train, answer.reshape(-1), sizes, self.weights)

    def _means(
        self, rows: Int[np.ndarray, " r"], index: Int[np.ndarray, " r"], size: int
    ) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, "d k"]]:
        weights = self.weights[rows]
        total = np.bincount(index, weights, size)
        sums = [np.bincount(index, weights * y, size) for y in self.targets[rows].T]
        means = np.stack(sums, axis=1) / np.maximum(total, 1e-300)[:, None]
        return total, np.where(total[:, None] > 0, means, self.centre)

    def scores(self, subset: tuple[int, ...]) -> Iterator[Score]:
        """Yield the score by slope; or by means, where test has too few predictions for one.

        By means of single components alone: where predictions are all the same, many sets have it.
        """
        score = self.score(subset)
        if score is None and len(subset) == 1:
            score = self._score_of_means(subset)
        if score is not None:
            yield score

    def score(self, subset: tuple[int, ...]) -> Score | None:
        if self.spread == 0.0:
            return None
        means, index, left = self._predicted(subset)
        share = self.weights[self.train] / self.weights[self.train].sum()
        train = 1.0 - float(share @ left) / self.spread
        at = index[len(self.train) :]
        known = np.isin(at, index[: len(self.train)])
        slope, error = self._slope(means[at][known], self.test[known])
        if np.isnan(slope):
            return None
        return self._judged(subset, train, slope, error)

    def _judged(
        self,
        subset: tuple[int, ...],
        train: float,
        slope: float,
        error: float,
        *,
        at_values: bool = False,
    ) -> Score:
        allowed = float(errors_of(self.case, subset) * error)
        # Slopes have long tails, and are below 1 where means are of few rows.
        is_halved = slope + allowed < KEPT
        lost = train * (1.0 - max(slope, LEAST_SLOPE))
        return Score(train, slope, 0.0, train, is_halved, lost, 1.0 - slope, allowed, at_values)

    def _predicted(
        self, subset: tuple[int, ...]
    ) -> tuple[Float[np.ndarray, "d k"], Int[np.ndarray, " r"], Float[np.ndarray, " t"]]:
        """Return the mean of each value, the value of each row, and squared errors of training."""
        table, t = self.case.table, len(self.train)
        rows = np.concatenate([self.train, self.test])
        dictionary, index = Dictionary.of(table.components[rows], subset, table.n_values)
        total, means = self._means(self.train, index[:t], dictionary.size)
        row_share = self.weights[self.train] / total[index[:t]]
        row_share = row_share / numbers_of_rows(self.case.table.weights)[self.train]
        # Copies are left out together.
        copies = self._copies
        is_copied = np.zeros(len(copies.size), dtype=bool)
        is_copied[copies.among(subset)] = True
        of_copies = copies.weight[copies.group] / total[index[:t]]
        row_share = np.where(is_copied[copies.group], of_copies, row_share)
        # Without its own row a mean is farther away; a lone row has only the mean of all.
        left_out = (self.targets[self.train] - means[index[:t]]) / np.maximum(
            1.0 - row_share, 1e-9
        )[:, None]
        alone = row_share > 1.0 - 1e-9
        left_out[alone] = self.targets[self.train][alone] - self.centre
        return means, index, (left_out**2).sum(axis=1)

    def _score_of_means(self, subset: tuple[int, ...]) -> Score | None:
        """Compare differences from the mean of training, of predictions and of targets in test.

        With a single prediction they are those of means. The standard error counts combinations of
        test: rows of one have the same other parts.
        """
        if self.spread == 0.0:
            return None
        means, index, left = self._predicted(subset)
        at_train, at = index[: len(self.train)], index[len(self.train) :]
        known = np.isin(at, at_train)
        if not known.any():
            return None
        rows, at = self.test[known], at[known]
        share = self.weights[rows] / self.weights[rows].sum()
        x, y = means[at] - self.centre, self.targets[rows] - self.centre
        square = float(share @ (x**2).sum(axis=1))
        if square <= LEAST_VARIED * self.spread:
            return None
        per_value = np.bincount(at_train, self.weights[self.train], len(means))
        whole = ((self.targets[self.train] - self.centre) ** 2).sum(axis=1)
        left, whole = (
            float(share @ (np.bincount(at_train, self.weights[self.train] * e, len(means))
                           / np.maximum(per_value, 1e-300))[at])
            for e in (left, whole)
        )  # fmt: skip
        train, slope = 1.0 - left / whole, float(share @ (x * y).sum(axis=1)) / square
        varies = float(share @ ((y - slope * x) ** 2).sum(axis=1))
        n_test = len(np.unique(self.case.row_combination[rows]))
        variance = left / np.isin(at_train, at).sum() + max(left, varies) / n_test
        error = float(np.sqrt(variance / square))
        return self._judged(subset, train, slope, error, at_values=True)

    def _slope(
        self, predicted: Float[np.ndarray, "s k"], rows: Int[np.ndarray, " s"]
    ) -> tuple[float, float]:
        """Return the slope of targets on predictions over all outputs, and its standard error."""
        drawn = draws(self.case, rows)
        if drawn.max(initial=-1) < 2:
            return float("nan"), float("nan")
        share = self.weights[rows] / self.weights[rows].sum()
        x = predicted - share @ predicted
        y = self.targets[rows] - share @ self.targets[rows]
        square = float(share @ (x**2).sum(axis=1))
        if square <= LEAST_VARIED * self.spread:
            return float("nan"), float("nan")
        slope = float(share @ (x * y).sum(axis=1)) / square
        # Residuals of rows that were drawn together are not independent.
        pulls = share * (x * (y - slope * x)).sum(axis=1)
        # A row that stands for several has as many draws, all alike.
        sizes = np.sqrt(numbers_of_rows(self.case.table.weights)[rows])
        pulls, n = pulls / np.where(is_seen(self.case, rows), sizes, 1.0), n_draws(self.case, rows)
        pulls = np.bincount(drawn, pulls)
        return slope, float(np.sqrt(pulls @ pulls * n / (n - 2))) / square

    def is_superfluous(self, subset: tuple[int, ...], others: tuple[int, ...]) -> bool:
        table, rows = self.case.table, self.train
        compared = compared_rows(table.components[rows], subset, others, table.n_values)
        if self.weights[rows][compared].sum() < COMPARED * self.weights[rows].sum():
            return False
        rows = rows[compared]
        once = NumberScores.of(
            self.case,
            self.train,
            self.test,
            counted_once(self.weights, self.case.row_combination, self.train),
        )
        for scores, least in ((self, MATTERS), (once, MATTERS_ONCE)):
            left = [scores._left(rows, s) for s in (others, tuple(sorted((*subset, *others))))]
            if left[0] - left[1] > least * scores.spread:
                return False
        return True

    def _left(self, rows: Int[np.ndarray, " r"], subset: tuple[int, ...]) -> float:
        table = self.case.table
        dictionary, index = Dictionary.of(table.components[rows], subset, table.n_values)
        _, means = self._means(rows, index, dictionary.size)
        share = self.weights[rows] / self.weights[rows].sum()
        return float(share @ ((self.targets[rows] - means[index]) ** 2).sum(axis=1))

    def examples(self, subset: tuple[int, ...], score: Score) -> Iterator[ShiftedValue]:
        """Yield the values whose means differ most, apart from the shift of all."""
        table, t = self.case.table, len(self.train)
        if self.targets.shape[1] > 1:
            return
        rows = np.concatenate([self.train, self.test])
        dictionary, index = Dictionary.of(table.components[rows], subset, table.n_values)
        seen, train = self._means(self.train, index[:t], dictionary.size)
        total, test = self._means(self.test, index[t:], dictionary.size)
        in_both = (seen > 0) & (total > 0)
        gap = np.where(in_both, test[:, 0] - train[:, 0], 0.0)
        # With a single prediction in test the shift of all is what is compared.
        shift = 0.0 if score.at_values else total[in_both] @ gap[in_both] / total[in_both].sum()
        gap = np.where(in_both, gap - shift, 0.0)
        size = float(np.abs(table.targets).max(initial=0.0)) or 1.0
        for i in ranked(np.abs(gap) * total)[:N_EXAMPLES]:
            if gap[i] == 0.0:
                return
            values = tuple(int(v) for v in dictionary.values()[i])
            yield ShiftedValue(values, None, size * float(train[i, 0]), size * float(test[i, 0]))

    def rare(self, subset: tuple[int, ...], share: float) -> Iterator[RareGroup]:
        """Yield the groups of a value and a number that training has, but seldom.

        Only of two numbers, which are labels by another name.
        """
        names = self.case.table.two_numbers
        if names is not None:
            label = (self.case.table.targets[:, 0] == names[1]).astype(np.int64)
            yield from rare_groups(self.case, subset, label, self.train, self.test, share)
