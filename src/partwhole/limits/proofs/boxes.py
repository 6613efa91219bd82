"""Boxes: combinations at the corners of a box, over which conjunctions of few components cancel."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64

from partwhole.features.conjunctions import Dictionary
from partwhole.limits.proofs._budget import Budget
from partwhole.limits.proofs._indicators import distinct
from partwhole.tasks import Task

Groups = tuple[tuple[int, ...], ...]
PAIRS = 200_000
CHOICES = 400
# Work of looking up the corners of a pair, in comparisons for each component.
CORNER = 16
# Of the table of keys, for one in 16 of the keys of other combinations to be near a known one.
SPARE_BITS = 4


def groupings(members: tuple[int, ...], n_groups: int) -> Iterator[Groups]:
    """Yield every division of the members into the given number of groups, none empty.

    Examples
    --------
    >>> len(list(groupings((0, 1, 2, 3), 2)))
    7
    """
    if len(members) < n_groups or n_groups == 0:
        if not members and n_groups == 0:
            yield ()
        return
    first, rest = members[0], members[1:]
    for groups in groupings(rest, n_groups - 1):
        yield ((first,), *groups)
    for groups in groupings(rest, n_groups):
        for place in range(n_groups):
            joined = (first, *groups[place])
            yield (joined, *groups[:place], *groups[place + 1 :])


def box_groups(n_components: int, order: int) -> Iterator[Groups]:
    """Yield the K + 1 groups of components that a box may have, groups of one component first.

    Every conjunction of at most K components sums to 0 over the corners of such a box, signed by
    parity, because it contains no component of some group, whose two settings then cancel.

    Parameters
    ----------
    n_components : int
        C; components in no group are the same at all corners.
    order : int
        K.

    Examples
    --------
    >>> list(box_groups(2, 1))
    [((0,), (1,))]
    >>> len(list(box_groups(4, 2)))
    10
    """
    members = tuple(range(n_components))
    for chosen in combinations(members, order + 1):
        yield tuple((c,) for c in chosen)
    if n_components > order + 1:
        yield from groupings(members, order + 1)


class Corners:
    """Boxes whose corners are all among some rows.

    A row is known by the sum of a random whole number for each component, times its value, modulo
    2**64: that of a corner is the sum of those of its groups. Rows of equal sums are compared.

    Parameters
    ----------
    components : int array, shape (n, C)
        Rows at opposite corners of boxes.
    n_known : int, optional
        The first rows of these, all different, are those that other corners may have; all by
        default.
    """

    def __init__(self, components: Int[np.ndarray, "n C"], n_known: int | None = None):
        rng = np.random.default_rng(0)
        numbers = rng.integers(0, 1 << 63, components.shape[1], dtype=np.uint64)
        self.components = components
        self._terms = components.astype(np.uint64) * (2 * numbers + 1)
        self._keys = self._terms.sum(axis=1, dtype=np.uint64)
        self._rows = np.argsort(self._keys[:n_known])
        self._sorted = self._keys[self._rows]
        # Few of the keys of other combinations are near one in this table.
        n_bits = max(len(self._rows) << SPARE_BITS, 1).bit_length()
        self._shift = np.uint64(64 - n_bits)
        self._near = np.zeros(1 << n_bits, dtype=bool)
        self._near[self._sorted >> self._shift] = True

    def keys_of(self, group: tuple[int, ...]) -> UInt64[np.ndarray, " n"]:
        """Return a number for each row, the same for the same values of these components."""
        return self._terms[:, list(group)].sum(axis=1, dtype=np.uint64)

    def steps(
        self, bases: Int[np.ndarray, " q"], opposites: Int[np.ndarray, " q"], groups: Groups
    ) -> UInt64[np.ndarray, "g q"]:
        """Return the change of a corner's key where a group has its other setting, 0 for equal."""
        steps = np.empty((len(groups), len(bases)), dtype=np.uint64)
        for step, group in zip(steps, groups, strict=True):
            key = self.keys_of(group)
            np.subtract(key[opposites], key[bases], out=step)
        return steps

    def boxes(
        self,
        bases: Int[np.ndarray, " q"],
        opposites: Int[np.ndarray, " q"],
        groups: Groups,
        steps: UInt64[np.ndarray, "g q"],
        labels: Int[np.ndarray, " n"] | None = None,
    ) -> tuple[Int[np.ndarray, "r c"], Float[np.ndarray, " c"]]:
        """Return the boxes with all corners among the known rows, from pairs of opposite corners.

        Parameters
        ----------
        bases, opposites : int arrays, shape (q,)
            Pairs of rows that differ in every group and in no other component.
        groups : tuple of tuples of int
        steps : int array, shape (groups, q)
            As `steps` returns them.
        labels : int array, shape (n,), optional
            Return only boxes with one label at even corners and another at odd ones.

        Returns
        -------
        int array, shape (r, 2**groups)
            Rows at the corners, those of `bases` first.
        float array, shape (2**groups,)
            Their parity, +1 or -1.
        """
        choices = list(product((False, True), repeat=len(groups)))
        signs = np.array([(-1.0) ** sum(choice) for choice in choices])
        place = bases[:, None]
        for choice in choices[1:]:
            even = sum(choice) % 2 == 0
            key = self._keys[place[:, 0]] + steps[list(choice)].sum(axis=0, dtype=np.uint64)
            complete = np.flatnonzero(self._near[key >> self._shift])
            at = np.searchsorted(self._sorted, key[complete])
            at[at == len(self._sorted)] = 0
            is_known = self._sorted[at] == key[complete]
            complete, corner_rows = complete[is_known], self._rows[at[is_known]]
            if labels is not None:
                # The second corner is odd, so its label must be that of all odd corners.
                first = place[complete, 0]
                second = place[complete, 1] if place.shape[1] > 1 else corner_rows
                same_label = labels[corner_rows] == labels[first if even else second]
                same_label &= labels[second] != labels[first]
                complete, corner_rows = complete[same_label], corner_rows[same_label]
            steps, opposites = steps[:, complete], opposites[complete]
            place = np.column_stack([place[complete], corner_rows])
            if len(place) == 0:
                return np.empty((0, len(choices)), dtype=np.int64), signs
        return place[self._are_boxes(place, opposites, groups, choices)], signs

    def _are_boxes(
        self,
        place: Int[np.ndarray, "r c"],
        opposites: Int[np.ndarray, " r"],
        groups: Groups,
        choices: list[tuple[bool, ...]],
    ) -> Bool[np.ndarray, " r"]:
        """Return which of these rows are at the corners of boxes."""
        fits = np.ones(len(place), dtype=bool)
        for choice, rows in zip(choices, place.T, strict=True):
            corner = self.components[place[:, 0]]
            for group, flipped in zip(groups, choice, strict=True):
                if flipped:
                    corner[:, list(group)] = self.components[opposites][:, list(group)]
            fits &= np.all(self.components[rows] == corner, axis=1)
        return fits


def find_box(
    task: Task,
    rows: Int[np.ndarray, " n"],
    order: int,
    budget: Budget,
    *,
    targets: Float[np.ndarray, " n"] | None = None,
    labels: Int[np.ndarray, " n"] | None = None,
    least: float = 0.0,
) -> tuple[Int[np.ndarray, " c"], Float[np.ndarray, " c"], Groups] | None:
    """Return a box of these rows that no sum of conjunctions up to an order can produce, or None.

    Pairs of rows are tried as opposite corners: all pairs if there are at most 200,000, otherwise
    200,000 random ones (with a fixed seed), for each of the first 400 choices of groups.

    Parameters
    ----------
    task : Task
    rows : int array, shape (n,)
        Distinct combinations.
    order : int
        K, from 1; below C.
    budget : Budget
    targets : float array, shape (n,), keyword-only, optional
        The signed sum over the box must exceed `least`; among the boxes of the first groups that
        have one, that of the largest sum is returned.
    labels : int array, shape (n,), keyword-only, optional
        Instead of targets: the box must have one label at even corners, another at odd ones.

    Returns
    -------
    tuple or None
        Positions in `rows`, parities and groups.
    """
    if not 1 <= order < task.n_components or len(rows) < 1 << (order + 1):
        return None
    _, first, _ = distinct(task, rows)
    place = np.searchsorted(rows, first) if np.all(np.diff(rows) > 0) else None
    if place is None:
        arranged = np.argsort(rows)
        place = arranged[np.searchsorted(rows[arranged], first)]
    components = task.components[first]
    box_labels = None if labels is None else labels[place]
    rng = np.random.default_rng(0)
    n, corners = len(first), Corners(components)
    everything = np.triu_indices(n, 1) if n * (n - 1) // 2 <= PAIRS else None
    for number, groups in enumerate(box_groups(task.n_components, order)):
        if number >= CHOICES or budget.over:
            return None
        rest = tuple(c for c in range(task.n_components) if not any(c in g for g in groups))
        if everything is not None:
            bases, opposites = everything
            key = corners.keys_of(rest)
            agree = key[bases] == key[opposites]
            bases, opposites = bases[agree], opposites[agree]
        else:
            bases, opposites = _pairs_within(components, rest, task.n_values, rng)
        steps = corners.steps(bases, opposites, groups)
        apart = np.flatnonzero(steps.all(axis=0))
        bases, opposites, steps = bases[apart], opposites[apart], steps[:, apart]
        # Every component of a pair is compared, and every component of a corner is looked up.
        n_pairs = len(everything[0]) if everything is not None else PAIRS
        budget.spend(task.n_components * (n_pairs + CORNER * len(bases)))
        if len(bases) == 0:
            continue
        boxes, signs = corners.boxes(bases, opposites, groups, steps, box_labels)
        if targets is not None and len(boxes):
            contrast = np.abs(targets[place][boxes] @ signs)
            boxes = boxes[[contrast.argmax()]] if contrast.max() > least else boxes[:0]
        if len(boxes):
            return place[boxes[0]], signs, groups
    return None


def _pairs_within(
    components: Int[np.ndarray, "n C"],
    rest: tuple[int, ...],
    n_values: tuple[int, ...],
    rng: np.random.Generator,
) -> tuple[Int[np.ndarray, " q"], Int[np.ndarray, " q"]]:
    """Return random pairs of rows that agree in the given components."""
    _, part = Dictionary.of(components, rest, n_values)
    arranged = np.argsort(part, kind="stable")
    size = np.bincount(part)
    start = np.cumsum(size) - size
    bases = rng.integers(len(components), size=PAIRS)
    of_base = part[bases]
    within = (rng.random(PAIRS) * size[of_base]).astype(np.int64)
    return bases, arranged[start[of_base] + within]
