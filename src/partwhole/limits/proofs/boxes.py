"""Boxes: combinations at the corners of a box, whose signed sum no conjunction of few parts has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
from jaxtyping import Float, Int

from partwhole.features.conjunctions import Dictionary
from partwhole.limits.proofs._budget import Budget
from partwhole.limits.proofs._indicators import distinct
from partwhole.tasks import Task

Groups = tuple[tuple[int, ...], ...]
PAIRS = 200_000
CHOICES = 400
# Comparisons that looking up the corners of a pair costs, for each component.
CORNER = 16


def groupings(members: tuple[int, ...], n_groups: int) -> Iterator[Groups]:
    """Yield every way to divide members into so many groups, none empty.

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
    """Yield the K + 1 groups of components that a box may have: single ones first.

    Over the corners of such a box, signed by parity, every conjunction of at most K components
    adds up to 0, because some group is free of it and its two settings cancel.

    Parameters
    ----------
    n_components : int
        C; components in no group stay as they are.
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


def corners(
    components: Int[np.ndarray, "n C"],
    known: Dictionary,
    one: Int[np.ndarray, " q"],
    other: Int[np.ndarray, " q"],
    groups: Groups,
    labels: Int[np.ndarray, " n"] | None = None,
) -> tuple[Int[np.ndarray, "r c"], Float[np.ndarray, " c"]]:
    """Return the boxes all of whose corners are known, given two opposite corners each.

    Parameters
    ----------
    components : int array, shape (n, C)
    known : Dictionary
        Numbers these rows: row i is combination i.
    one, other : int arrays, shape (q,)
        Rows that differ in every group and nowhere else.
    groups : tuple of tuples of int
    labels : int array, shape (n,), optional
        Keep only boxes with one label at even corners and another at odd ones.

    Returns
    -------
    int array, shape (r, 2**groups)
        Rows at the corners, `one` first.
    float array, shape (2**groups,)
        Their parity, +1 or -1.
    """
    taken = list(product((False, True), repeat=len(groups)))
    place = one[:, None]
    signs = np.array([(-1.0) ** sum(choice) for choice in taken])
    for choice in taken[1:]:
        even = sum(choice) % 2 == 0
        corner = components[one]
        for group, flipped in zip(groups, choice, strict=True):
            if flipped:
                corner[:, list(group)] = components[other][:, list(group)]
        found = known.columns(corner).astype(np.int64)
        kept = found >= 0
        if labels is not None:
            # The first odd corner is the second one looked at; it fixes the other label.
            second = place[:, 1] if place.shape[1] > 1 else found
            alike = labels[found] == labels[place[:, 0] if even else second]
            kept &= alike & (labels[second] != labels[place[:, 0]])
        one, other = one[kept], other[kept]
        place = np.column_stack([place[kept], found[kept]])
        if len(one) == 0:
            return np.empty((0, len(taken)), dtype=np.int64), signs
    return place, signs


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
    """Search a box among these rows that no sum of conjunctions up to an order can produce.

    Pairs of rows are tried as opposite corners: all of them where there are at most 200,000,
    else so many at random (with a fixed seed), for each of the first 400 choices of groups.

    Parameters
    ----------
    task : Task
    rows : int array, shape (n,)
        Distinct combinations.
    order : int
        K, from 1; below C.
    budget : Budget
    targets : float array, shape (n,), keyword-only, optional
        The box's signed sum of these must exceed `least`; the largest of the first ones is taken.
    labels : int array, shape (n,), keyword-only, optional
        Instead: one label at even corners, another at odd ones.

    Returns
    -------
    tuple or None
        Positions in `rows`, parities and groups.
    """
    if not 1 <= order < task.n_components or len(rows) < 1 << (order + 1):
        return None
    known, first, _ = distinct(task, rows)
    place = np.searchsorted(rows, first) if np.all(np.diff(rows) > 0) else None
    if place is None:
        arranged = np.argsort(rows)
        place = arranged[np.searchsorted(rows[arranged], first)]
    components = task.components[first]
    own = None if labels is None else labels[place]
    rng = np.random.default_rng(0)
    n = len(first)
    everything = np.triu_indices(n, 1) if n * (n - 1) // 2 <= PAIRS else None
    for number, groups in enumerate(box_groups(task.n_components, order)):
        if number >= CHOICES or budget.over:
            return None
        rest = tuple(c for c in range(task.n_components) if not any(c in g for g in groups))
        if everything is not None:
            one, other = everything
            same = np.ones(len(one), dtype=bool)
            for c in rest:
                same &= components[one, c] == components[other, c]
            one, other = one[same], other[same]
        else:
            one, other = _pairs_within(components, rest, task.n_values, rng)
        for group in groups:
            apart = np.zeros(len(one), dtype=bool)
            for c in group:
                apart |= components[one, c] != components[other, c]
            one, other = one[apart], other[apart]
        # Each component of a pair is compared, each of a corner looked up.
        n_pairs = len(everything[0]) if everything is not None else PAIRS
        budget.spend(task.n_components * (n_pairs + CORNER * len(one)))
        if len(one) == 0:
            continue
        found, signs = corners(components, known, one, other, groups, own)
        if targets is not None and len(found):
            contrast = np.abs(targets[place][found] @ signs)
            found = found[[contrast.argmax()]] if contrast.max() > least else found[:0]
        if len(found):
            return place[found[0]], signs, groups
    return None


def _pairs_within(
    components: Int[np.ndarray, "n C"],
    rest: tuple[int, ...],
    n_values: tuple[int, ...],
    rng: np.random.Generator,
) -> tuple[Int[np.ndarray, " q"], Int[np.ndarray, " q"]]:
    """Draw pairs of rows that agree in some components."""
    _, part = Dictionary.of(components, rest, n_values)
    arranged = np.argsort(part, kind="stable")
    size = np.bincount(part)
    start = np.cumsum(size) - size
    one = rng.integers(len(components), size=PAIRS)
    within = (rng.random(PAIRS) * size[part[one]]).astype(np.int64)
    return one, arranged[start[part[one]] + within]
