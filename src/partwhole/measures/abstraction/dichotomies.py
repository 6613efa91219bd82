"""Dichotomies of conditions: which there are, which component they are, what they hold out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from jaxtyping import Int

from partwhole.recordings import Recording

# Lists of dichotomies up to this many times as long as asked for are written out and drawn from.
WRITTEN_OUT = 20


@dataclass(frozen=True, eq=False)
class Dichotomies:
    """Conditions split in two sides.

    Parameters
    ----------
    labels : int array, shape (D, T)
        -1 and +1 for the two sides, 0 for conditions that are left out.
    component : int array, shape (D,)
        The component whose values the sides are, -1 for none.
    total : int
        Balanced dichotomies of these conditions, of which those here may be a sample.
    """

    labels: Int[np.ndarray, "D T"]
    component: Int[np.ndarray, " D"]
    total: int

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a note where balanced dichotomies are a sample."""
        if len(self.labels) == self.total:
            return ()
        return (f"{len(self.labels)} of {self.total:,} balanced dichotomies drawn at random",)

    def texts(self, recording: Recording) -> list[str]:
        """Return each dichotomy in words: two values, or the conditions of the side of +1."""
        return [
            self._of_component(row, int(c), recording)
            if c >= 0
            else "; ".join(recording.label(int(t)) for t in np.flatnonzero(row > 0))
            for row, c in zip(self.labels, self.component, strict=True)
        ]

    def _of_component(self, row: np.ndarray, component: int, recording: Recording) -> str:
        column, values = recording.conditions[:, component], recording.values[component]
        sides = (values[column[row == side][0]] for side in (-1, 1))
        return " / ".join(map(str, sides))


def component_dichotomies(recording: Recording) -> Dichotomies:
    """Return the dichotomies of two values of a component; conditions of others are left out."""
    rows, component = [], []
    for c, column in enumerate(recording.conditions.T):
        for first, second in combinations(np.unique(column), 2):
            rows.append((column == second).astype(np.int64) - (column == first))
            component.append(c)
    labels = np.array(rows).reshape(-1, recording.n_conditions)
    return Dichotomies(labels, np.array(component, dtype=np.int64), n_balanced(len(labels.T)))


def balanced_dichotomies(recording: Recording, most: int, seed: int) -> Dichotomies:
    """Return balanced dichotomies of all conditions, up to `most` of them, and which components."""
    labels = balanced_labels(recording.n_conditions, most, seed)
    parts = component_dichotomies(recording)
    known = {row.tobytes(): c for row, c in zip(parts.labels, parts.component, strict=True)}
    # A dichotomy is the same with its sides exchanged.
    known |= {(-row).tobytes(): c for row, c in zip(parts.labels, parts.component, strict=True)}
    component = np.array([known.get(row.tobytes(), -1) for row in labels], dtype=np.int64)
    return Dichotomies(labels, component, parts.total)


def with_components(balanced: Dichotomies, parts: Dichotomies) -> Dichotomies:
    """Return all dichotomies of components, and after them the others that are balanced."""
    others = balanced.component < 0
    return Dichotomies(
        np.concatenate([parts.labels, balanced.labels[others]]),
        np.concatenate([parts.component, balanced.component[others]]),
        balanced.total,
    )


def n_balanced(n_conditions: int) -> int:
    """Return the number of dichotomies in halves, or in halves as nearly as may be."""
    total = comb(n_conditions, n_conditions // 2)
    return total // 2 if n_conditions % 2 == 0 else total


def balanced_labels(n_conditions: int, most: int, seed: int) -> Int[np.ndarray, "D T"]:
    """Return all balanced labellings up to sign, or a sample of them without replacement."""
    half, total = n_conditions // 2, n_balanced(n_conditions)
    rng = np.random.default_rng(seed)
    chosen: Iterator[tuple[int, ...]] | list[tuple[int, ...]]
    if total <= WRITTEN_OUT * most:
        # Of complements that have the same size, the side without the first condition.
        start = 1 if n_conditions % 2 == 0 else 0
        chosen = list(combinations(range(start, n_conditions), half))
        if total > most:
            chosen = [chosen[i] for i in np.sort(rng.permutation(total)[:most])]
    else:
        sides: dict[tuple[int, ...], None] = {}
        while len(sides) < most:
            side = np.sort(rng.permutation(n_conditions)[:half])
            if n_conditions % 2 == 0 and side[0] == 0:
                side = np.setdiff1d(np.arange(n_conditions), side)
            sides[tuple(side.tolist())] = None
        chosen = list(sides)
    labels = np.full((len(chosen), n_conditions), -1, dtype=np.int64)
    for row, side in zip(labels, chosen, strict=True):
        row[list(side)] = 1
    return labels


@dataclass(frozen=True, eq=False)
class Near:
    """Pairs of conditions that differ in few components.

    Parameters
    ----------
    conditions : int array, shape (T, C)
    most : int
        Components in which they may differ.
    """

    conditions: Int[np.ndarray, "T C"]
    most: int

    def pairs(self, first: list[int], second: list[int]) -> list[tuple[int, ...]]:
        """Return the pairs of a condition of one list and one of another, each in order."""
        apart = np.zeros((len(first), len(second)), dtype=np.int64)
        for column in self.conditions.T:
            apart += column[first][:, None] != column[second]
        near = np.argwhere(apart <= self.most).tolist()
        return [tuple(sorted((first[i], second[j]))) for i, j in near]


def held_out_sets(
    labels: Int[np.ndarray, " T"],
    size: int,
    most: int,
    seed: int,
    near: Near | None = None,
) -> list[tuple[int, ...]]:
    """Return sets of `size` conditions of each side: all of them, or `most` that are drawn.

    Dichotomies of the same conditions draw from one list, so that they share decoders. With `near`,
    for a `size` of 1, only these pairs are held out.
    """
    sides = [np.flatnonzero(labels == side).tolist() for side in (-1, 1)]
    if min(map(len, sides)) <= size:
        return []
    if near is not None:
        pairs = near.pairs(*sides)
        if len(pairs) > most:
            chosen = np.random.default_rng(seed).permutation(len(pairs))[:most]
            pairs = [pairs[i] for i in np.sort(chosen)]
        return pairs
    if comb(len(sides[0]), size) * comb(len(sides[1]), size) <= most:
        lists = [list(combinations(side, size)) for side in sides]
        return [tuple(sorted(a + b)) for a in lists[0] for b in lists[1]]
    included = np.flatnonzero(labels)
    rng = np.random.default_rng(seed)
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < most:
        held = np.sort(rng.permutation(included)[: 2 * size])
        if labels[held].sum() == 0:
            drawn[tuple(held.tolist())] = None
    return list(drawn)
