r"""Copies: rows of training that are alike because they were repeated, not because they were drawn.

Rows of one combination and one target may be draws (images of a red cube) or copies of one row. If
the values v of some components and the values r of all others are related through the target y
alone, as in a shortcut, a row that was drawn has about
:math:`(n_{vy} - 1)(n_{ry} - 1) / (n_y - 1)` others of its group, from the numbers of training
rows with these values. A copied row has more, unless its values occur with all others. A target
that a single combination has is compared over all rows, as it says nothing of others; where a
combination has several such targets, rows with the same one are copies.

Where a component is the target, as in images of objects to be named, repeats differ in what the
table does not show, and are no copies. Derived here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.audit.case import Case
from partwhole.features.conjunctions import Dictionary

# Rows of a group that count as copies have this many times the others expected of draws, or more;
# and those of all groups together this many times, and more by this many standard errors.
AS_MANY, OF_ALL, ERRORS = 1.5, 1.1, 3.0


@dataclass(frozen=True, eq=False)
class Copies:
    """Groups of training rows with the same combination and the same target.

    Parameters
    ----------
    group : int array, shape (t,)
        The group of each training row.
    components : int array, shape (g, C)
    stratum : int array, shape (g,)
        The target, as a number; 0 for all of the targets that a single combination has, which say
        nothing of the others.
    differ : bool array, shape (g,)
        Whether the combination has several targets that no other combination has.
    size, weight : float array, shape (g,)
        How many rows the rows of the group stand for, and their weight.
    n_values : tuple of int, length C
    is_asked_for : bool
        Whether a component is the target.
    """

    group: Int[np.ndarray, " t"]
    components: Int[np.ndarray, "g C"]
    stratum: Int[np.ndarray, " g"]
    differ: Bool[np.ndarray, " g"]
    size: Float[np.ndarray, " g"]
    weight: Float[np.ndarray, " g"]
    n_values: tuple[int, ...]
    is_asked_for: bool

    @classmethod
    def of(
        cls,
        case: Case,
        train: Int[np.ndarray, " t"],
        answer: Int[np.ndarray, " t"],
        sizes: Float[np.ndarray, " n"],
        weights: Float[np.ndarray, " n"],
    ) -> Copies:
        """Group the rows of training.

        Parameters
        ----------
        case : Case
        train : int array, shape (t,)
            Rows of the table.
        answer : int array, shape (t,)
            Their targets as numbers from 0.
        sizes, weights : float array, shape (n,)
            How many rows each row of the table stands for, and its weight.
        """
        n_answers = int(answer.max(initial=0)) + 1
        coded = case.row_combination[train].astype(np.int64) * n_answers + answer
        keys, first, group = np.unique(coded, return_index=True, return_inverse=True)
        of_group = keys % n_answers
        is_alone = np.bincount(of_group, minlength=n_answers)[of_group] == 1
        of_combination = np.unique(keys // n_answers, return_inverse=True)[1]
        n_alone = np.bincount(of_combination, is_alone)[of_combination]
        components = case.table.components[train[first]]
        return cls(
            group,
            components,
            np.where(is_alone, 0, of_group + 1),
            is_alone & (n_alone > 1),
            np.bincount(group, sizes[train]),
            np.bincount(group, weights[train]),
            case.table.n_values,
            any(_is_target(values, of_group) for values in components.T),
        )

    def among(self, subset: tuple[int, ...]) -> Int[np.ndarray, " c"]:
        """Return the groups whose rows are copies, where these components predict the target."""
        repeated = self.size > 1.0
        if self.is_asked_for or not repeated.any():
            return np.flatnonzero(repeated)[:0]
        others = tuple(c for c in range(len(self.n_values)) if c not in subset)
        parts = [Dictionary.of(self.components, s, self.n_values) for s in (subset, others)]
        expected = self._expected(parts, self.stratum)
        alone = self.stratum == 0
        if alone.any():
            expected = np.where(alone, self._expected(parts, np.zeros_like(self.stratum)), expected)
        are_many = self.size - 1.0 >= AS_MANY * expected
        # Some draws coincide too.
        pairs, of_draws = float(self.size @ (self.size - 1.0)), float(self.size @ expected)
        if pairs < max(OF_ALL * of_draws, of_draws + ERRORS * np.sqrt(2.0 * of_draws)):
            are_many[:] = False
        return np.flatnonzero(repeated & (are_many | self.differ))

    def _expected(
        self,
        parts: list[tuple[Dictionary, Int[np.ndarray, " g"]]],
        stratum: Int[np.ndarray, " g"],
    ) -> Float[np.ndarray, " g"]:
        """Return how many other rows of its group a row has, if parts go together by chance."""
        expected = 1.0 / np.maximum(np.bincount(stratum, self.size)[stratum] - 1.0, 1.0)
        for dictionary, index in parts:
            coded = stratum.astype(np.int64) * dictionary.size + index
            _, cell = np.unique(coded, return_inverse=True)
            expected = expected * np.maximum(np.bincount(cell, self.size)[cell] - 1.0, 0.0)
        return expected


def _is_target(values: Int[np.ndarray, " g"], answer: Int[np.ndarray, " g"]) -> bool:
    """Return whether values and answers are the same but for their names; most recur."""
    n_values, n_answers = (np.count_nonzero(np.bincount(part)) for part in (values, answer))
    if n_values != n_answers or len(values) < 2 * n_values:
        return False
    of_value = np.empty(int(values.max()) + 1, dtype=np.int64)
    of_value[values] = answer
    return bool((of_value[values] == answer).all())
