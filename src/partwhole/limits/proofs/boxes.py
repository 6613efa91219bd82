"""Boxes: combinations at the corners of a box, over which conjunctions of few components cancel."""

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
# Work of looking up the corners of a pair, in comparisons for each component.
CORNER = 16


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


def corners(
    components: Int[np.ndarray, "n C"],
    dictionary: Dictionary,
    bases: Int[np.ndarray, " q"],
    opposites: Int[np.ndarray, " q"],
    groups: Groups,
    labels: Int[np.ndarray, " n"] | None = None,
) -> tuple[Int[np.ndarray, "r c"], Float[np.ndarray, " c"]]:
    """Return the boxes with all corners among these rows, from pairs of opposite corners.

    Parameters
    ----------
    components : int array, shape (n, C)
    dictionary : Dictionary
        Contains these rows: row i is combination i.
    bases, opposites : int arrays, shape (q,)
        Pairs of rows that differ in every group and in no other component.
    groups : tuple of tuples of int
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
    place = bases[:, None]
    signs = np.array([(-1.0) ** sum(choice) for choice in choices])
    for choice in choices[1:]:
        even = sum(choice) % 2 == 0
        corner = components[bases]
        for group, flipped in zip(groups, choice, strict=True):
            if flipped:
                corner[:, list(group)] = components[opposites][:, list(group)]
        corner_rows = dictionary.columns(corner).astype(np.int64)
        complete = corner_rows >= 0
        if labels is not None:
            # The second corner is odd, so its label must be that of all odd corners.
            second = place[:, 1] if place.shape[1] > 1 else corner_rows
            same_label = labels[corner_rows] == labels[place[:, 0] if even else second]
            complete &= same_label & (labels[second] != labels[place[:, 0]])
        bases, opposites = bases[complete], opposites[complete]
        place = np.column_stack([place[complete], corner_rows[complete]])
        if len(bases) == 0:
            return np.empty((0, len(choices)), dtype=np.int64), signs
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
    dictionary, first, _ = distinct(task, rows)
    place = np.searchsorted(rows, first) if np.all(np.diff(rows) > 0) else None
    if place is None:
        arranged = np.argsort(rows)
        place = arranged[np.searchsorted(rows[arranged], first)]
    components = task.components[first]
    box_labels = None if labels is None else labels[place]
    rng = np.random.default_rng(0)
    n = len(first)
    everything = np.triu_indices(n, 1) if n * (n - 1) // 2 <= PAIRS else None
    for number, groups in enumerate(box_groups(task.n_components, order)):
        if number >= CHOICES or budget.over:
            return None
        rest = tuple(c for c in range(task.n_components) if not any(c in g for g in groups))
        if everything is not None:
            bases, opposites = everything
            agree = np.ones(len(bases), dtype=bool)
            for c in rest:
                agree &= components[bases, c] == components[opposites, c]
            bases, opposites = bases[agree], opposites[agree]
        else:
            bases, opposites = _pairs_within(components, rest, task.n_values, rng)
        for group in groups:
            apart = np.zeros(len(bases), dtype=bool)
            for c in group:
                apart |= components[bases, c] != components[opposites, c]
            bases, opposites = bases[apart], opposites[apart]
        # Every component of a pair is compared, and every component of a corner is looked up.
        n_pairs = len(everything[0]) if everything is not None else PAIRS
        budget.spend(task.n_components * (n_pairs + CORNER * len(bases)))
        if len(bases) == 0:
            continue
        boxes, signs = corners(components, dictionary, bases, opposites, groups, box_labels)
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
    within = (rng.random(PAIRS) * size[part[bases]]).astype(np.int64)
    return bases, arranged[start[part[bases]] + within]
