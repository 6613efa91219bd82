"""Scores of components that alone predict targets, and what judging them has in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.audit.case import Case
from partwhole.audit.evidence import RareGroup
from partwhole.features.conjunctions import Dictionary

# Share of its advantage in training that a predictor must keep in test.
KEPT = 0.5
# Standard errors by which a prediction of single components in test must be worse; see `errors_of`.
ERRORS = 3.0
# Components of which pairs are searched too.
MOST_PAIRED = 20
# Sets of three times rows, up to which sets of three are: two seconds.
MOST_TRIPLED = 5e6
N_EXAMPLES = 3
# Of the training rows, those with combinations that differ in a component alone, for a verdict on
# whether it matters; and the gain in accuracy, or explained variance, up to which it does not.
COMPARED, MATTERS = 0.2, 0.01
# The same with each combination counted once, as a share of errors or variance: a combination that
# is repeated often says little of the others.
MATTERS_ONCE = 0.1
# Expected rows of a group below which its number is not judged.
LEAST_EXPECTED = 5.0


@dataclass(frozen=True)
class Score:
    """Accuracy (or share explained, and slope) of a set of components alone.

    `lost` is the gain over guessing, or the share explained, in training times the part of it that
    is lost in test. `drop` is by how much the accuracy, or slope, in test is below that expected
    from training, and `allowed` what errors allow; it misleads if less than half is kept too. With
    `at_values`, `train` is that of the training rows with the values of test.
    """

    train: float
    test: float
    guess: float
    gain: float
    is_halved: bool
    lost: float
    drop: float
    allowed: float
    at_values: bool = False

    def misleads(self, by_chance: float = 0.0) -> bool:
        """Return whether it is worse in test, by more than where it is drawn at random."""
        return self.is_halved and self.drop - by_chance > self.allowed


def errors_of(case: Case, subset: tuple[int, ...]) -> float:
    """Return the standard errors by which a prediction in test must be worse.

    More where there are more sets of that size, of which more would fail by chance.
    """
    n = case.table.n_components
    return float(np.sqrt(ERRORS**2 + 2.0 * np.log(max(comb(n, len(subset)) / n, 1.0))))


def rate_error(rate: float, n: int) -> float:
    """Return the standard error of a rate, with 2 successes and 2 failures more.

    Agresti and Coull (The American Statistician, 1998).
    """
    rate = (rate * n + 2.0) / (n + 4.0)
    return float(np.sqrt(rate * (1.0 - rate) / (n + 4.0)))


def draws(case: Case, rows: Int[np.ndarray, " r"]) -> Int[np.ndarray, " r"]:
    """Return numbers of what was drawn when rows became those of test.

    Rows of a held-out combination were drawn together, others each alone.
    """
    alone = is_seen(case, rows)
    combination = np.where(alone, len(case.table.split) + rows, case.row_combination[rows])
    return np.unique(combination, return_inverse=True)[1]


def is_seen(case: Case, rows: Int[np.ndarray, " r"]) -> Bool[np.ndarray, " r"]:
    """Return whether training has the combination of each row."""
    return case.task.is_train[case.row_combination[rows]]


def n_draws(case: Case, rows: Int[np.ndarray, " r"]) -> float:
    """Return how many combinations and rows were drawn; see `draws`.

    A row that stands for several has as many draws.
    """
    seen = is_seen(case, rows)
    sizes = numbers_of_rows(case.table.weights)[rows]
    return float(sizes[seen].sum()) + len(np.unique(case.row_combination[rows[~seen]]))


def numbers_of_rows(weights: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return how many rows each row stands for: whole weights are numbers of rows."""
    return weights if (weights == np.round(weights)).all() else np.ones(len(weights))


def rare_groups(
    case: Case,
    subset: tuple[int, ...],
    label: Int[np.ndarray, " n"],
    train: Int[np.ndarray, " t"],
    test: Int[np.ndarray, " s"],
    share: float,
) -> Iterator[RareGroup]:
    """Yield the groups of a value of a component and a label that training has, but seldom."""
    table, k, sizes = case.table, int(label.max()) + 1, numbers_of_rows(case.table.weights)
    (component,) = subset
    size = table.n_values[component] * k
    coded = table.components[:, component].astype(np.int64) * k + label
    seen, in_test = (
        np.bincount(coded[rows], sizes[rows], size).reshape(-1, k) for rows in (train, test)
    )
    expected = seen.sum(axis=1)[:, None] * seen.sum(axis=0) / seen.sum()
    is_rare = (seen > 0) & (in_test > 0) & (seen < share * expected)
    is_rare &= expected >= LEAST_EXPECTED
    for value, label_of_group in np.argwhere(is_rare):
        group = value, label_of_group
        yield RareGroup(
            int(value),
            int(label_of_group),
            round(float(seen[group])),
            float(expected[group]),
            round(float(in_test[group])),
        )


def counted_once(
    weights: Float[np.ndarray, " n"],
    combination: Int[np.ndarray, " n"],
    rows: Int[np.ndarray, " r"],
) -> Float[np.ndarray, " n"]:
    """Return the weights with which each combination of these rows counts once."""
    once, of_rows = weights.copy(), combination[rows]
    once[rows] /= np.bincount(of_rows, weights[rows])[of_rows]
    return once


def ranked(weight: np.ndarray) -> np.ndarray:
    return np.argsort(-weight, kind="stable")


def compared_rows(
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
