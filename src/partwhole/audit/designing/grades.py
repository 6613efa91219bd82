r"""Held-out combinations in grades of proved difficulty.

Combinations that differ from a reference in at most K factors are a basis: the answer at each other
combination is one weighted sum of theirs, with whole weights,
:math:`f(x_i) = \sum_j T_{ij} f(t_j)`. Exchanging :math:`t_c` for an :math:`x_r` with
:math:`T_{rc} = \pm 1` leaves a basis and whole weights, and makes longer sums of some. As training
is a basis, the weights are unique: no learner that answers every sum of conjunctions of K values
rightly has others, so its answer has the variance :math:`\sum_j T_{ij}^2` if each training answer
has independent noise of variance 1. Derived here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Int

from partwhole.audit.designing.parts import even_parts
from partwhole.audit.designing.pull import Pull
from partwhole.audit.designing.sums import codes, weight_matrix

# Weights of a table that is exchanged.
MOST_WEIGHTS = 500_000
# Of larger weights none is exchanged.
LARGEST_WEIGHT = 1000
# The noise of a grade is at least this many times that of the one before, the first if it can be.
RATIOS = (1.25, 1.0)


@dataclass
class Exchange:
    """A basis of combinations, and the sums of it that others are.

    Parameters
    ----------
    basis : int array, shape (m, C)
    others : int array, shape (p, C)
    table : int array, shape (p, m)
        T.
    is_kept : bool array, shape (m,)
        Combinations of the basis that stay.
    largest : int
        The weights are at most as large.
    """

    basis: Int[np.ndarray, "m C"]
    others: Int[np.ndarray, "p C"]
    table: Int[np.ndarray, "p m"]
    is_kept: Bool[np.ndarray, " m"]
    largest: int

    def at(self, i: int, j: int) -> None:
        """Exchange the i-th other combination, whose j-th weight is 1 or -1, for the j-th."""
        sign, row = self.table[i, j], self.table[i].copy()
        column = self.table[:, j] * sign
        used, which = np.flatnonzero(row), np.flatnonzero(column)
        block = self.table[np.ix_(which, used)] - column[which][:, None] * row[used]
        self.table[np.ix_(which, used)] = block
        self.largest = max(self.largest, int(np.abs(block).max()))
        self.table[:, j] = column
        self.table[i] = -sign * row
        self.table[i, j] = sign
        self.basis[j], self.others[i] = self.others[i].copy(), self.basis[j].copy()

    def places(self, i: int) -> Int[np.ndarray, " q"]:
        """Return for which combinations of the basis the i-th other one can be exchanged."""
        return np.flatnonzero((np.abs(self.table[i]) == 1) & ~self.is_kept)

    def exchange(self, rng: np.random.Generator, times: int) -> None:
        """Exchange so many combinations at random."""
        for _ in range(times):
            i = int(rng.integers(len(self.others)))
            places = self.places(i)
            if len(places) and self.largest <= LARGEST_WEIGHT:
                self.at(i, int(rng.choice(places)))

    def keep_shortcut(self, pull: Pull, rng: np.random.Generator) -> bool:
        """Keep for each target a combination that goes with it and one that does not, if it can."""
        for label in range(pull.n_values[pull.target]):
            for goes in (True, False):
                if not self._keep(pull, label, goes, rng):
                    return False
        return True

    def _keep(self, pull: Pull, label: int, goes: bool, rng: np.random.Generator) -> bool:
        fits = (self.basis[:, pull.target] == label) & (pull.goes(self.basis) == goes)
        if not fits.any():
            of = (self.others[:, pull.target] == label) & (pull.goes(self.others) == goes)
            for i in rng.permutation(np.flatnonzero(of)).tolist():
                places = self.places(i)
                if len(places):
                    self.at(i, int(rng.choice(places)))
                    break
            else:
                return False
            fits = (self.basis[:, pull.target] == label) & (pull.goes(self.basis) == goes)
        if not (fits & self.is_kept).any():
            self.is_kept[int(np.argmax(fits))] = True
        return True

    def is_beyond(self, order: int, n_values: tuple[int, ...]) -> Bool[np.ndarray, " p"]:
        """Return whether sums of conjunctions of one more value are seen not to be determined.

        The weights are unique, and one of those conjunctions does not have them. Where sums of
        order K + 1 agree, they do on 2**(K + 2) combinations or more.
        """
        beyond = np.count_nonzero(self.table, axis=1) + 1 < 2 ** (order + 2)
        for subset in combinations(range(len(n_values)), order + 1):
            rest = np.flatnonzero(~beyond)
            sizes = tuple(n_values[c] for c in subset)
            these = codes(self.others[rest][:, list(subset)], sizes)
            theirs = codes(self.basis[:, list(subset)], sizes)
            totals = np.sum(self.table[rest] * (these[:, None] == theirs), axis=1)
            beyond[rest] = totals != 1
        return beyond


def start(
    grid: Int[np.ndarray, "N C"],
    n_values: tuple[int, ...],
    reference: Int[np.ndarray, " C"],
    order: int,
    rng: np.random.Generator,
) -> Exchange:
    """Return the combinations near the reference as a basis, and others at random."""
    near = np.sum(grid != reference, axis=1) <= order
    basis, far = grid[near], np.flatnonzero(~near)
    most = MOST_WEIGHTS // len(basis)
    if len(far) > most:
        far = np.sort(rng.permutation(far)[:most])
    others = grid[far]
    single = tuple((c,) for c in range(len(n_values)))
    table = weight_matrix(others, basis, n_values, reference, order, single)
    largest = int(np.abs(table).max(initial=0))
    return Exchange(basis.copy(), others, table, np.zeros(len(basis), dtype=bool), largest)


def windows(
    noise: Int[np.ndarray, " p"], h: int, grades: int
) -> tuple[float, list[tuple[Int[np.ndarray, " q"], int]]] | None:
    """Return for each grade the combinations that may be drawn, and how many of them.

    Grades are equally large but for one combination; where no levels of noise part so many, they
    are as equal as may be, none below half of an equal share.

    Parameters
    ----------
    noise : int array, shape (p,)
        Sum of squared weights of each combination.
    h : int
        Combinations to be held out.
    grades : int

    Returns
    -------
    ratio : float
        The noise of each grade is at least this many times that of the one before, and above it.
    windows : list of (int array, int)
        None if there are no such grades.
    """
    levels, counts = np.unique(noise, return_counts=True)
    equal = h // grades
    best, best_key = None, (np.inf, 0.0)
    for least in np.linspace(equal, max(1, equal / 2), 8).round().astype(int).tolist():
        for ratio in RATIOS:
            spans = _spans(levels, counts, least, ratio, grades)
            sizes = even_parts([int(counts[a:b].sum()) for a, b in spans], h)
            if len(spans) < grades or not sizes:
                continue
            # As equal as grades can be of a number that they do not divide.
            key = (max(1, max(sizes) - min(sizes)), -ratio)
            if min(sizes) >= least and key < best_key:
                best_key = key
                best = (
                    ratio,
                    [
                        (np.flatnonzero((noise >= levels[a]) & (noise <= levels[b - 1])), size)
                        for (a, b), size in zip(spans, sizes, strict=True)
                    ],
                )
    return best


def _spans(
    levels: Int[np.ndarray, " l"],
    counts: Int[np.ndarray, " l"],
    least: int,
    ratio: float,
    grades: int,
) -> list[tuple[int, int]]:
    """Return runs of levels with so many combinations each, from the lowest."""
    spans: list[tuple[int, int]] = []
    at = 0
    while at < len(levels) and len(spans) < grades:
        first, n = at, 0
        while at < len(levels) and n < least:
            n += int(counts[at])
            at += 1
        if n < least:
            return []
        spans.append((first, at))
        high = levels[at - 1]
        while at < len(levels) and levels[at] < ratio * high:
            at += 1
    return spans
