"""Scores of components that alone predict labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

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
    errors_of,
    n_draws,
    numbers_of_rows,
    ranked,
    rare_groups,
    rate_error,
)
from partwhole.features.conjunctions import Dictionary


@dataclass(frozen=True, eq=False)
class LabelScores:
    """Rows of training and test, with their labels and weights.

    `q` is the share of each label in test, `prior` the one with which labels are predicted. With
    `as_in_training` it is that of training, and accuracy there is that in rows with the values of
    test.
    `sizes` is how many rows each row stands for.
    """

    case: Case
    train: Int[np.ndarray, " t"]
    test: Int[np.ndarray, " s"]
    label: Int[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"]
    sizes: Float[np.ndarray, " n"]
    q: Float[np.ndarray, " k"]
    prior: Float[np.ndarray, " k"]
    per_label: Float[np.ndarray, " k"]
    as_in_training: bool
    copies: Copies

    @classmethod
    def of(
        cls, case: Case, train: Int[np.ndarray, " t"], test: Int[np.ndarray, " s"]
    ) -> LabelScores:
        table = case.table
        assert table.label is not None
        assert table.labels is not None
        k, weights = len(table.labels), table.weights
        q = np.bincount(table.label[test], weights[test], k)
        per_label = np.bincount(table.label[train], weights[train], k)
        single = bool(np.count_nonzero(q) < 2)
        prior = per_label if single else q
        q, prior = q / q.sum(), prior / prior.sum()
        sizes = numbers_of_rows(weights)
        copies = Copies.of(case, train, table.label[train], sizes, weights)
        return cls(
            case, train, test, table.label, weights, sizes, q, prior, per_label, single, copies
        )

    def _cells(self, subset: tuple[int, ...]) -> _Cells:
        table = self.case.table
        rows = np.concatenate([self.train, self.test])
        dictionary, index = Dictionary.of(table.components[rows], subset, table.n_values)
        k, t = len(self.q), len(self.train)
        coded = index.astype(np.int64) * k + self.label[rows]
        keys, cell = np.unique(coded[:t], return_inverse=True)
        count = np.bincount(cell, self.sizes[self.train])
        weight = np.bincount(cell, self.weights[self.train])
        value, label = np.divmod(keys, k)
        score = self.prior[label] * weight / self.per_label[label]
        copied = self.copies.among(subset)
        of_group = np.empty(len(self.copies.size), dtype=np.int64)
        of_group[self.copies.group] = cell
        return _Cells.of(
            dictionary,
            value,
            label,
            weight,
            count,
            score,
            index[t:],
            self.guessed,
            of_group[copied],
            self.copies.weight[copied],
            self.copies.size[copied],
        )

    @property
    def n_draws(self) -> int:
        """Return the number of held-out combinations and of other rows."""
        return round(n_draws(self.case, self.test))

    @property
    def guessed(self) -> Float[np.ndarray, " k"]:
        """Return the credit of each label when the most probable one is guessed."""
        best = self.prior >= self.prior.max() * (1.0 - 1e-12)
        return best / best.sum()

    def scores(self, subset: tuple[int, ...]) -> Iterator[Score]:
        """Yield the scores in all of training, and in its rows with the values of test if better.

        Then that with labels as in training, if the values of test predict some that it lacks.
        """
        cells = self._cells(subset)
        score = self._score(subset, cells, self.as_in_training)
        yield score
        if not score.at_values:
            there = self._score(subset, cells, at_values=True)
            if there.train > score.train:
                yield there
        lacking = (self.q == 0.0) & (self.per_label > 0.0)
        if np.count_nonzero(self.q) < 2 or not lacking.any():
            return
        prior = self.per_label / self.per_label.sum()
        as_in_training = replace(self, prior=prior, as_in_training=True)
        cells, weights = as_in_training._cells(subset), self.weights[self.test]
        predicted = cells.predicted(lacking)
        # Labels that test lacks are predicted more often than if only their shares had changed.
        scale = self.q[cells.label] / self.per_label[cells.label]
        expected = float((scale * cells.weight) @ predicted[cells.value])
        actual = float(weights @ predicted[cells.at] / weights.sum())
        error = np.hypot(rate_error(expected, cells.n_train), rate_error(actual, self.n_draws))
        if actual - expected > errors_of(self.case, subset) * error:
            yield as_in_training._score(subset, cells, at_values=True)

    def _score(self, subset: tuple[int, ...], cells: _Cells, at_values: bool) -> Score:
        """Return the score in all of training, or in its rows with the values of test."""
        right = cells.left_out_credit()
        weights = self.weights[self.test]
        train, n_train = float(cells.score @ right), cells.n_train
        if at_values:
            # They may be few.
            train = float(weights @ cells.accuracy(right) / weights.sum())
            n_train = cells.n_at_values()
        gain = train - float(self.prior.max())
        credit = cells.credit(self.label[self.test])
        test = float(weights @ credit / weights.sum())
        guess = float(self.q.max())
        error = np.hypot(rate_error(train, n_train), rate_error(test, self.n_draws))
        # With a single label in test every guess of it would be right: its share of hits counts.
        lead, left = (train, test) if guess == 1.0 else (train - guess, test - guess)
        drop, allowed = train - test, float(errors_of(self.case, subset) * error)
        return Score(train, test, guess, gain, left < KEPT * lead, drop, drop, allowed, at_values)

    def is_superfluous(self, subset: tuple[int, ...], others: tuple[int, ...]) -> bool:
        table, rows = self.case.table, self.train
        compared = compared_rows(table.components[rows], subset, others, table.n_values)
        if self.weights[rows][compared].sum() < COMPARED * self.weights[rows].sum():
            return False
        rows = rows[compared]
        weights = counted_once(self.weights, self.case.row_combination, self.train)
        once = replace(self, weights=weights)
        shares = (
            np.bincount(self.label[self.train], weights[self.train]) / weights[self.train].sum()
        )
        for scores, least in ((self, MATTERS), (once, MATTERS_ONCE * (1.0 - shares.max()))):
            right = [scores._majority(rows, s) for s in (others, tuple(sorted((*subset, *others))))]
            if right[1] - right[0] > least:
                return False
        return True

    def _majority(self, rows: Int[np.ndarray, " r"], subset: tuple[int, ...]) -> float:
        table, k = self.case.table, len(self.q)
        _, index = Dictionary.of(table.components[rows], subset, table.n_values)
        keys, cell = np.unique(index.astype(np.int64) * k + self.label[rows], return_inverse=True)
        weight = np.bincount(cell, self.weights[rows])
        starts = np.flatnonzero(np.diff(keys // k, prepend=-1))
        return float(np.maximum.reduceat(weight, starts).sum() / weight.sum())

    def examples(self, subset: tuple[int, ...], score: Score) -> Iterator[ShiftedValue]:
        """Yield the values whose labels differ most between training and test."""
        table, k = self.case.table, len(self.q)
        rows = np.concatenate([self.train, self.test])
        dictionary, index = Dictionary.of(table.components[rows], subset, table.n_values)
        coded = index.astype(np.int64) * k + self.label[rows]
        keys, cell = np.unique(coded, return_inverse=True)
        value, label = np.divmod(keys, k)
        t = len(self.train)
        parts = [slice(None, t), slice(t, None)]
        seen, in_test = (
            np.bincount(cell[part], self.weights[rows[part]], len(keys)) for part in parts
        )
        of_value = [np.bincount(value, part) for part in (seen, in_test)]
        in_both = (of_value[0] > 0) & (of_value[1] > 0)
        shares = [
            part / np.maximum(n, 1e-300)[value]
            for part, n in zip((seen, in_test), of_value, strict=True)
        ]
        gap = np.where(in_both[value], shares[1] - shares[0], 0.0)
        taken: set[int] = set()
        for i in ranked(np.abs(gap) * of_value[1][value]):
            if len(taken) == N_EXAMPLES or gap[i] == 0.0:
                return
            if value[i] not in taken:
                taken.add(int(value[i]))
                values = tuple(int(v) for v in dictionary.values()[value[i]])
                yield ShiftedValue(values, int(label[i]), float(shares[0][i]), float(shares[1][i]))

    def rare(self, subset: tuple[int, ...], share: float) -> Iterator[RareGroup]:
        """Yield the groups of a value and a label that training has, but seldom."""
        yield from rare_groups(self.case, subset, self.label, self.train, self.test, share)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of a value and a label in training, sorted by value.

    `score` is the joint probability with labels weighted to test; `first` and `second` are the two
    largest scores of each value, `ties` how many cells have the largest; `at` is the value of each
    test row, and `guessed` the credit of each label for a value without rows. `copied` is the cell
    of each group of copies; `copied_weight` and `copied_size` are its weight and number of rows.
    """

    value: Int[np.ndarray, " c"]
    label: Int[np.ndarray, " c"]
    weight: Float[np.ndarray, " c"]
    count: Float[np.ndarray, " c"]
    score: Float[np.ndarray, " c"]
    first: Float[np.ndarray, " d"]
    second: Float[np.ndarray, " d"]
    ties: Float[np.ndarray, " d"]
    at: Int[np.ndarray, " s"]
    guessed: Float[np.ndarray, " k"]
    copied: Int[np.ndarray, " g"]
    copied_weight: Float[np.ndarray, " g"]
    copied_size: Float[np.ndarray, " g"]

    @classmethod
    def of(
        cls,
        dictionary: Dictionary,
        value: Int[np.ndarray, " c"],
        label: Int[np.ndarray, " c"],
        weight: Float[np.ndarray, " c"],
        count: Float[np.ndarray, " c"],
        score: Float[np.ndarray, " c"],
        at: Int[np.ndarray, " s"],
        guessed: Float[np.ndarray, " k"],
        copied: Int[np.ndarray, " g"],
        copied_weight: Float[np.ndarray, " g"],
        copied_size: Float[np.ndarray, " g"],
    ) -> _Cells:
        first, second = np.zeros(dictionary.size), np.zeros(dictionary.size)
        np.maximum.at(first, value, score)
        is_first = score >= first[value] * (1.0 - 1e-12)
        ties = np.bincount(value, is_first, dictionary.size)
        np.maximum.at(second, value[~is_first], score[~is_first])
        second = np.where(ties > 1, first, second)
        return cls(
            value,
            label,
            weight,
            count,
            score,
            first,
            second,
            ties,
            at,
            guessed,
            copied,
            copied_weight,
            copied_size,
        )

    def left_out_credit(self) -> Float[np.ndarray, " c"]:
        """Return the credit of a cell's rows, each predicted from the others; a tie counts half.

        Copies are left out together.
        """
        cells = np.arange(len(self.value))
        credit = self._credit_without(cells, 1.0 / self.count)
        if not len(self.copied):
            return credit
        left_out = self._credit_without(self.copied, self.copied_weight / self.weight[self.copied])
        of_copies = np.bincount(self.copied, self.copied_weight, len(cells))
        right = np.bincount(self.copied, self.copied_weight * left_out, len(cells))
        rest = np.maximum(self.weight - of_copies, 0.0)
        return (rest * credit + right) / (rest + of_copies)

    def _credit_without(
        self, cells: Int[np.ndarray, " r"], share: Float[np.ndarray, " r"]
    ) -> Float[np.ndarray, " r"]:
        """Return the credit of rows of these cells, without a share of their cell."""
        left_out = self.score[cells] * np.maximum(1.0 - share, 0.0)
        value, score = self.value[cells], self.score[cells]
        is_first = score >= self.first[value] * (1.0 - 1e-12)
        rival = np.where(is_first, self.second[value], self.first[value])
        # A remainder of rounding is nothing.
        left_out = np.where(share > 1.0 - 1e-12, 0.0, left_out)
        credit = np.where(left_out > rival * (1.0 + 1e-12), 1.0, 0.0)
        credit = np.where(np.isclose(left_out, rival, rtol=1e-12, atol=0.0), 0.5, credit)
        return np.where((left_out == 0.0) & (rival == 0.0), self.guessed[self.label[cells]], credit)

    @property
    def n_train(self) -> int:
        """Return the number of rows of training; copies count once."""
        return round(float(self._drawn().sum()))

    def _drawn(self) -> Float[np.ndarray, " c"]:
        """Return the number of rows of each cell; copies count once."""
        return self.count - np.bincount(self.copied, self.copied_size - 1.0, len(self.count))

    def accuracy(self, credit: Float[np.ndarray, " c"]) -> Float[np.ndarray, " s"]:
        """Return the credit of the training rows with the value of each test row, 0 without any."""
        size = len(self.first)
        of_value = np.bincount(self.value, self.score * credit, size)
        whole = np.bincount(self.value, self.score, size)
        return np.divide(of_value, whole, out=np.zeros(size), where=whole > 0)[self.at]

    def n_at_values(self) -> int:
        """Return how many training rows have a value of the test rows; copies count once."""
        drawn = np.bincount(self.value, self._drawn(), len(self.first))
        return int(drawn[np.unique(self.at)].sum())

    def predicted(self, labels: Bool[np.ndarray, " k"]) -> Float[np.ndarray, " d"]:
        """Return how often each value predicts one of these labels: a share if there are ties."""
        is_first = self.score >= self.first[self.value] * (1.0 - 1e-12)
        one_of = np.bincount(self.value, is_first & labels[self.label], len(self.first))
        return one_of / np.maximum(self.ties, 1.0)

    def credit(self, label: Int[np.ndarray, " s"]) -> Float[np.ndarray, " s"]:
        """Return the credit of test rows with these labels; a tie counts half."""
        k = len(self.guessed)
        keys = self.value * k + self.label
        place = np.minimum(np.searchsorted(keys, self.at * k + label), len(keys) - 1)
        known = keys[place] == self.at * k + label
        is_first = known & (self.score[place] >= self.first[self.at] * (1.0 - 1e-12))
        credit = np.where(is_first, np.where(self.ties[self.at] > 1, 0.5, 1.0), 0.0)
        return np.where(self.first[self.at] > 0.0, credit, self.guessed[label])
