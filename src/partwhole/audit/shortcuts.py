r"""Shortcuts: components that predict the target in training, and may not do so in the test split.

A component (or a pair) alone predicts a label as the most probable one among the training rows of
its value; a number as the mean of these rows. Training rows are left out of their own prediction.
Labels are weighted to their shares q in the test split, so that a shift of labels alone is no
shortcut: with :math:`p(v \mid y)` in training, the accuracy there is
:math:`\sum_v \max_y q(y)\,p(v \mid y)`. If the test split has a single label, labels have their
shares of training, and the accuracy is that in rows with the values of test. For numbers the mean
may shift: what counts is the slope of targets on predictions. Derived here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._types import Real
from partwhole.audit.case import TRAIN, Case
from partwhole.audit.evidence import RareGroup, ShiftedValue, Shortcut
from partwhole.features.conjunctions import Dictionary

# Share of its advantage in training that a predictor must keep in test.
KEPT = 0.5
# Standard errors by which a prediction in test must be worse.
ERRORS = 3.0
# Components of which pairs are searched too.
MOST_PAIRED = 20
N_EXAMPLES = 3
# Of the training rows, those with combinations that differ in a component alone, for a verdict on
# whether it matters; and the gain in accuracy, or explained variance, up to which it does not.
COMPARED, MATTERS = 0.2, 0.01
# Expected rows of a group below which its number is not judged.
LEAST_EXPECTED = 5.0


def shortcuts(case: Case, *, effect: Real = 0.1, group_share: Real = 0.2) -> tuple[Shortcut, ...]:
    """Return the components and pairs that alone predict the target in training.

    Parameters
    ----------
    case : Case
    effect : float, keyword-only, default 0.1
        Smallest gain in accuracy over the commonest label, in training or in its rows with the
        values of test, or share of variance explained.
    group_share : float, keyword-only, default 0.2
        Of a component that the others make superfluous: a group of rows with one of its values
        and one label is rare if it has less than this share of the rows expected without a
        correlation.

    Returns
    -------
    tuple of Shortcut
        Those that fail in test, and those that the other components make superfluous; the largest
        loss first. The rows compared are the held-out ones, or all of the test split if none is
        held out. A pair is listed if it predicts training better than either of its components
        by `effect`.

    Examples
    --------
    >>> from partwhole.audit.case import AuditTable
    >>> grid = np.array([(s, c, k) for s in range(2) for c in range(2) for k in range(5)])
    >>> table = AuditTable(
    ...     grid, 2.0 * grid[:, :1] - 1, grid[:, 0], (grid[:, 0] != grid[:, 1]).astype(int),
    ...     np.ones(20), ("shape", "colour", "copy"), ((0, 1), (0, 1), tuple(range(5))),
    ...     ("name",), ("cube", "ball"), ("train", "test"))
    >>> for item in shortcuts(table.case(1, 1)):
    ...     print(item.components, item.train, item.test, item.misleads)
    (1,) 1.0 0.0 True
    """
    compare = comparison(case)
    if compare is None:
        return ()
    n = case.table.n_components
    listed: dict[tuple[int, ...], float] = {}
    reported: list[Shortcut] = []
    for subset in _sets(n):
        score = compare.score(subset)
        if score is None or score.gain < effect:
            continue
        alone = max((listed.get((c,), 0.0) for c in subset), default=0.0)
        if len(subset) > 1 and score.gain - alone < effect:
            continue
        listed[subset] = score.gain
        others = tuple(c for c in range(n) if c not in subset)
        superfluous = len(subset) == 1 and compare.is_superfluous(subset, others)
        if not (score.misleads or superfluous):
            continue
        rare = tuple(compare.rare(subset, float(group_share))) if superfluous else ()
        examples = tuple(compare.examples(subset)) if score.misleads else ()
        reported.append(
            Shortcut(
                subset,
                score.train,
                score.test,
                score.guess,
                score.misleads,
                superfluous,
                examples,
                rare,
            )
        )
    reported.sort(key=lambda item: (not item.misleads, item.test - item.train, item.components))
    return tuple(reported)


def comparison(case: Case) -> LabelScores | NumberScores | None:
    """Return the scores of training against test; None if nothing can be compared.

    Parameters
    ----------
    case : Case
    """
    table = case.table
    train = np.flatnonzero(table.split == TRAIN)
    test = case.rows_of(case.held_out)
    if not len(test):
        test = np.flatnonzero(table.split == case.split)
    if table.label is not None:
        # Labels that training lacks have a rule of their own.
        test = test[np.isin(table.label[test], table.label[train])]
    if not len(train) or not len(test):
        return None
    return (LabelScores if case.has_labels else NumberScores).of(case, train, test)


def _sets(n: int) -> Iterator[tuple[int, ...]]:
    yield from combinations(range(n), 1)
    # A pair of two components is the whole combination.
    if 2 < n <= MOST_PAIRED:
        yield from combinations(range(n), 2)


@dataclass(frozen=True)
class Score:
    """Accuracy (or share explained, and slope) of a set of components alone."""

    train: float
    test: float
    guess: float
    gain: float
    misleads: bool


def _error(rate: float, n: int) -> float:
    """Return the standard error of a rate, with 2 successes and 2 failures more.

    Agresti and Coull (The American Statistician, 1998).
    """
    rate = (rate * n + 2.0) / (n + 4.0)
    return float(np.sqrt(rate * (1.0 - rate) / (n + 4.0)))


def _ranked(weight: np.ndarray) -> np.ndarray:
    return np.argsort(-weight, kind="stable")


@dataclass(frozen=True, eq=False)
class LabelScores:
    """Rows of training and test, with their labels and weights.

    `q` is the share of each label in test, `prior` the one with which labels are predicted.
    """

    case: Case
    train: Int[np.ndarray, " t"]
    test: Int[np.ndarray, " s"]
    label: Int[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"]
    q: Float[np.ndarray, " k"]
    prior: Float[np.ndarray, " k"]
    per_label: Float[np.ndarray, " k"]

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
        prior = q if np.count_nonzero(q) > 1 else per_label
        return cls(
            case, train, test, table.label, weights, q / q.sum(), prior / prior.sum(), per_label
        )

    def _cells(self, subset: tuple[int, ...]) -> _Cells:
        table = self.case.table
        rows = np.concatenate([self.train, self.test])
        dictionary, index = Dictionary.of(table.components[rows], subset, table.n_values)
        k, t = len(self.q), len(self.train)
        coded = index.astype(np.int64) * k + self.label[rows]
        keys, cell, count = np.unique(coded[:t], return_inverse=True, return_counts=True)
        weight = np.bincount(cell, self.weights[self.train])
        value, label = np.divmod(keys, k)
        score = self.prior[label] * weight / self.per_label[label]
        return _Cells.of(dictionary, value, label, weight, count, score, index[t:], self.guessed)

    @property
    def guessed(self) -> Float[np.ndarray, " k"]:
        """Return the credit of each label when the most probable one is guessed."""
        best = self.prior >= self.prior.max() * (1.0 - 1e-12)
        return best / best.sum()

    def score(self, subset: tuple[int, ...]) -> Score:
        cells = self._cells(subset)
        right = cells.left_out_credit()
        weights = self.weights[self.test]
        # In all of training, and in its rows with the values of test, which may be few.
        at_values = float(weights @ cells.accuracy(right) / weights.sum())
        gain = float(max(cells.score @ right, at_values) - self.prior.max())
        train = float(cells.score @ right) if np.count_nonzero(self.q) > 1 else at_values
        credit = cells.credit(self.label[self.test])
        test = float(weights @ credit / weights.sum())
        guess = float(self.q.max())
        error = np.hypot(_error(train, len(self.train)), _error(test, len(self.test)))
        # With a single label in test every guess of it would be right: its share of hits counts.
        lead, left = (train, test) if guess == 1.0 else (train - guess, test - guess)
        misleads = left < KEPT * lead and train - test > ERRORS * error
        return Score(train, test, guess, gain, bool(misleads))

    def is_superfluous(self, subset: tuple[int, ...], others: tuple[int, ...]) -> bool:
        table, rows = self.case.table, self.train
        compared = _compared(table.components[rows], subset, others, table.n_values)
        if self.weights[rows][compared].sum() < COMPARED * self.weights[rows].sum():
            return False
        rows = rows[compared]
        right = [self._majority(rows, s) for s in (others, tuple(sorted((*subset, *others))))]
        return right[1] - right[0] <= MATTERS

    def _majority(self, rows: Int[np.ndarray, " r"], subset: tuple[int, ...]) -> float:
        table, k = self.case.table, len(self.q)
        _, index = Dictionary.of(table.components[rows], subset, table.n_values)
        keys, cell = np.unique(index.astype(np.int64) * k + self.label[rows], return_inverse=True)
        weight = np.bincount(cell, self.weights[rows])
        starts = np.flatnonzero(np.diff(keys // k, prepend=-1))
        return float(np.maximum.reduceat(weight, starts).sum() / weight.sum())

    def examples(self, subset: tuple[int, ...]) -> Iterator[ShiftedValue]:
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
        for i in _ranked(np.abs(gap) * of_value[1][value]):
            if len(taken) == N_EXAMPLES or gap[i] == 0.0:
                return
            if value[i] not in taken:
                taken.add(int(value[i]))
                values = tuple(int(v) for v in dictionary.values()[value[i]])
                yield ShiftedValue(values, int(label[i]), float(shares[0][i]), float(shares[1][i]))

    def rare(self, subset: tuple[int, ...], share: float) -> Iterator[RareGroup]:
        """Yield the groups of a value and a label that training has, but seldom."""
        table, k = self.case.table, len(self.q)
        (component,) = subset
        size = table.n_values[component] * k
        coded = table.components[:, component].astype(np.int64) * k + self.label
        seen, in_test = (
            np.bincount(coded[rows], minlength=size).reshape(-1, k)
            for rows in (self.train, self.test)
        )
        expected = seen.sum(axis=1)[:, None] * seen.sum(axis=0) / len(self.train)
        is_rare = (seen > 0) & (in_test > 0) & (seen < share * expected)
        is_rare &= expected >= LEAST_EXPECTED
        for value, label in np.argwhere(is_rare):
            yield RareGroup(
                int(value),
                int(label),
                int(seen[value, label]),
                float(expected[value, label]),
                int(in_test[value, label]),
            )


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of a value and a label in training, sorted by value.

    `score` is the joint probability with labels weighted to test; `first` and `second` are the two
    largest scores of each value, `ties` how many cells have the largest; `at` is the value of each
    test row, and `guessed` the credit of each label for a value without rows.
    """

    value: Int[np.ndarray, " c"]
    label: Int[np.ndarray, " c"]
    weight: Float[np.ndarray, " c"]
    count: Int[np.ndarray, " c"]
    score: Float[np.ndarray, " c"]
    first: Float[np.ndarray, " d"]
    second: Float[np.ndarray, " d"]
    ties: Float[np.ndarray, " d"]
    at: Int[np.ndarray, " s"]
    guessed: Float[np.ndarray, " k"]

    @classmethod
    def of(
        cls,
        dictionary: Dictionary,
        value: Int[np.ndarray, " c"],
        label: Int[np.ndarray, " c"],
        weight: Float[np.ndarray, " c"],
        count: Int[np.ndarray, " c"],
        score: Float[np.ndarray, " c"],
        at: Int[np.ndarray, " s"],
        guessed: Float[np.ndarray, " k"],
    ) -> _Cells:
        first, second = np.zeros(dictionary.size), np.zeros(dictionary.size)
        np.maximum.at(first, value, score)
        is_first = score >= first[value] * (1.0 - 1e-12)
        ties = np.bincount(value, is_first, dictionary.size)
        np.maximum.at(second, value[~is_first], score[~is_first])
        second = np.where(ties > 1, first, second)
        return cls(value, label, weight, count, score, first, second, ties, at, guessed)

    def left_out_credit(self) -> Float[np.ndarray, " c"]:
        """Return the credit of a cell's rows, each predicted from the others; a tie counts half."""
        left_out = self.score * (1.0 - 1.0 / self.count)
        is_first = self.score >= self.first[self.value] * (1.0 - 1e-12)
        rival = np.where(is_first, self.second[self.value], self.first[self.value])
        credit = np.where(left_out > rival * (1.0 + 1e-12), 1.0, 0.0)
        credit = np.where(np.isclose(left_out, rival, rtol=1e-12, atol=0.0), 0.5, credit)
        return np.where((left_out == 0.0) & (rival == 0.0), self.guessed[self.label], credit)

    def accuracy(self, credit: Float[np.ndarray, " c"]) -> Float[np.ndarray, " s"]:
        """Return the credit of the training rows with the value of each test row, 0 without any."""
        size = len(self.first)
        of_value = np.bincount(self.value, self.score * credit, size)
        whole = np.bincount(self.value, self.score, size)
        return np.divide(of_value, whole, out=np.zeros(size), where=whole > 0)[self.at]

    def credit(self, label: Int[np.ndarray, " s"]) -> Float[np.ndarray, " s"]:
        """Return the credit of test rows with these labels; a tie counts half."""
        k = len(self.guessed)
        keys = self.value * k + self.label
        place = np.minimum(np.searchsorted(keys, self.at * k + label), len(keys) - 1)
        known = keys[place] == self.at * k + label
        is_first = known & (self.score[place] >= self.first[self.at] * (1.0 - 1e-12))
        credit = np.where(is_first, np.where(self.ties[self.at] > 1, 0.5, 1.0), 0.0)
        return np.where(self.first[self.at] > 0.0, credit, self.guessed[label])


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
        cls, case: Case, train: Int[np.ndarray, " t"], test: Int[np.ndarray, " s"]
    ) -> NumberScores:
        targets, weights = case.table.targets, case.table.weights
        # In units of the largest, so that squares neither overflow nor vanish.
        size = float(np.abs(targets).max(initial=0.0)) or 1.0
        targets, share = targets / size, weights[train] / weights[train].sum()
        centre = share @ targets[train]
        spread = float(share @ ((targets[train] - centre) ** 2).sum(axis=1))
        return cls(case, train, test, targets, weights, centre, spread)

    def _means(
        self, rows: Int[np.ndarray, " r"], index: Int[np.ndarray, " r"], size: int
    ) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, "d k"]]:
        weights = self.weights[rows]
        total = np.bincount(index, weights, size)
        sums = [np.bincount(index, weights * y, size) for y in self.targets[rows].T]
        means = np.stack(sums, axis=1) / np.maximum(total, 1e-300)[:, None]
        return total, np.where(total[:, None] > 0, means, self.centre)

    def score(self, subset: tuple[int, ...]) -> Score | None:
        table, t = self.case.table, len(self.train)
        rows = np.concatenate([self.train, self.test])
        dictionary, index = Dictionary.of(table.components[rows], subset, table.n_values)
        total, means = self._means(self.train, index[:t], dictionary.size)
        if self.spread == 0.0:
            return None
        row_share = self.weights[self.train] / total[index[:t]]
        # Without its own row a mean is farther away; a lone row has only the mean of all.
        left_out = (self.targets[self.train] - means[index[:t]]) / np.maximum(
            1.0 - row_share, 1e-9
        )[:, None]
        alone = row_share > 1.0 - 1e-9
        left_out[alone] = self.targets[self.train][alone] - self.centre
        share = self.weights[self.train] / self.weights[self.train].sum()
        train = 1.0 - float(share @ (left_out**2).sum(axis=1)) / self.spread
        known = total[index[t:]] > 0
        slope, error = self._slope(means[index[t:]][known], self.test[known])
        if np.isnan(slope):
            return None
        return Score(train, slope, 0.0, train, bool(slope + ERRORS * error < KEPT))

    def _slope(
        self, predicted: Float[np.ndarray, "s k"], rows: Int[np.ndarray, " s"]
    ) -> tuple[float, float]:
        """Return the slope of targets on predictions over all outputs, and its standard error."""
        if len(rows) < 3:
            return float("nan"), float("nan")
        share = self.weights[rows] / self.weights[rows].sum()
        x = predicted - share @ predicted
        y = self.targets[rows] - share @ self.targets[rows]
        square = float(share @ (x**2).sum(axis=1))
        if square <= 1e-3 * self.spread:
            return float("nan"), float("nan")
        slope = float(share @ (x * y).sum(axis=1)) / square
        left = float(share @ ((y - slope * x) ** 2).sum(axis=1))
        return slope, float(np.sqrt(left / square / (len(rows) - 2)))

    def is_superfluous(self, subset: tuple[int, ...], others: tuple[int, ...]) -> bool:
        table, rows = self.case.table, self.train
        compared = _compared(table.components[rows], subset, others, table.n_values)
        if self.weights[rows][compared].sum() < COMPARED * self.weights[rows].sum():
            return False
        rows = rows[compared]
        left = [self._left(rows, s) for s in (others, tuple(sorted((*subset, *others))))]
        return left[0] - left[1] <= MATTERS * self.spread

    def _left(self, rows: Int[np.ndarray, " r"], subset: tuple[int, ...]) -> float:
        table = self.case.table
        dictionary, index = Dictionary.of(table.components[rows], subset, table.n_values)
        _, means = self._means(rows, index, dictionary.size)
        share = self.weights[rows] / self.weights[rows].sum()
        return float(share @ ((self.targets[rows] - means[index]) ** 2).sum(axis=1))

    def examples(self, subset: tuple[int, ...]) -> Iterator[ShiftedValue]:
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
        gap = np.where(in_both, gap - total[in_both] @ gap[in_both] / total[in_both].sum(), 0.0)
        size = float(np.abs(table.targets).max(initial=0.0)) or 1.0
        for i in _ranked(np.abs(gap) * total)[:N_EXAMPLES]:
            if gap[i] == 0.0:
                return
            values = tuple(int(v) for v in dictionary.values()[i])
            yield ShiftedValue(values, None, size * float(train[i, 0]), size * float(test[i, 0]))

    def rare(self, subset: tuple[int, ...], share: float) -> Iterator[RareGroup]:
        """Yield nothing: groups are those of labels."""
        yield from ()


def _compared(
    components: Int[np.ndarray, "r C"],
    subset: tuple[int, ...],
    others: tuple[int, ...],
    n_values: tuple[int, ...],
) -> Bool[np.ndarray, " r"]:
    """Return the rows of combinations of the others that occur with several values."""
    dictionary, index = Dictionary.of(components, others, n_values)
    _, value = Dictionary.of(components, subset, n_values)
    low = np.full(dictionary.size, np.iinfo(value.dtype).max, dtype=value.dtype)
    high = np.full(dictionary.size, -1, dtype=value.dtype)
    np.minimum.at(low, index, value)
    np.maximum.at(high, index, value)
    return (low < high)[index]
