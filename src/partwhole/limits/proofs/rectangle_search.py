"""Rectangles: four held-out combinations over which each sum of seen conjunctions cancels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt
from scipy import sparse

from partwhole.features.conjunctions import Dictionary
from partwhole.limits.proofs._budget import Budget
from partwhole.limits.proofs.certificates import TOLERANCE, Certificate, annihilated, signed
from partwhole.tasks import Task

# Weights of the corners (a, c), (a, d), (b, c), (b, d).
RECTANGLE = np.array([1.0, -1.0, -1.0, 1.0])
DIVISIONS = 400
PAIRS = 200_000
# Work of a division that does not depend on its rows: the function calls.
OVERHEAD = 100_000


def find_rectangle(
    task: Task,
    rows: np.ndarray,
    y: np.ndarray,
    phi: sparse.csr_array,
    signs: bool,
    budget: Budget,
    **facts: Any,
) -> Certificate | None:
    """Return the proof of a rectangle: two settings of some components times two of the others.

    There are 2**(C - 1) - 1 ways to divide C components in two. Up to 400 of them are all tried. If
    there are more, up to 632 rows are searched for all of them at once, by pairs of rows; for more
    rows the first 400 are tried, which have the fewest components on one side.
    """
    components, keys = task.components[rows], _keys(phi)
    n_components, n = task.n_components, len(rows)
    if 1 << (n_components - 1) > DIVISIONS + 1 and n * (n - 1) // 2 <= PAIRS:
        budget.spend(8 * n * n * n_components)
        crossed = _rectangle_by_pairs(components, y, keys, phi, signs)
        if crossed is None:
            return None
        rectangle, sides = crossed
        return signed(rows, y, rectangle, RECTANGLE, groups=sides, **facts)
    for first_side, second_side in islice(_divisions(n_components), DIVISIONS):
        if budget.over:
            return None
        budget.spend(OVERHEAD + 8 * n * n_components)
        _, a = Dictionary.of(components, first_side, task.n_values)
        _, b = Dictionary.of(components, second_side, task.n_values)
        rectangle = _rectangle_in_grid(a, b, y, keys, phi, signs, budget)
        if rectangle is not None:
            return signed(rows, y, rectangle, RECTANGLE, groups=(first_side, second_side), **facts)
    return None


def _divisions(n_components: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield every division of the components into two sides, the most uneven first."""
    for k in range(1, n_components // 2 + 1):
        for side in combinations(range(n_components), k):
            if 2 * k < n_components or 0 in side:
                yield side, tuple(c for c in range(n_components) if c not in side)


def _rectangle_by_pairs(
    components: Int[np.ndarray, "n C"],
    y: Float[np.ndarray, " n"],
    keys: UInt[np.ndarray, " n"],
    phi: sparse.csr_array,
    signs: bool,
) -> tuple[Int[np.ndarray, " c"], tuple[tuple[int, ...], tuple[int, ...]]] | None:
    """Return the rows of a rectangle for any division of the components, and its two sides.

    A rectangle has two pairs of opposite corners, and both pairs have the same two values in every
    component. So pairs are grouped by these values; of each group the pairs with the largest and
    the smallest sum of targets are tried.
    """
    first_row, second_row = np.triu_indices(len(y), 1)
    kind = _kinds(components, first_row, second_row)
    total = y[first_row] + y[second_row]
    arranged = np.lexsort((total, kind))
    ends = np.append(np.flatnonzero(np.diff(kind[arranged])), len(arranged) - 1)
    low, high = arranged[np.append(0, ends[:-1] + 1)], arranged[ends]
    gap = total[high] - total[low]
    promising = gap == 4.0 if signs else gap > _least_contrast(y)
    high, low = high[promising], low[promising]
    corners = np.stack([first_row[high], first_row[low], second_row[low], second_row[high]], axis=1)
    rectangle = _first_that_cancels(corners, keys, phi)
    if rectangle is None:
        return None
    return rectangle, _sides(components, rectangle)


def rectangle_of_labels(
    task: Task,
    rows: Int[np.ndarray, " n"],
    label: Int[np.ndarray, " n"],
    phi: sparse.csr_array,
    is_binary: bool,
    budget: Budget,
) -> Certificate | None:
    """Return the proof of a rectangle with one label at two opposite corners, another at the rest.

    All divisions of the components and all labels are searched at once, by the pairs of rows of
    one label; there should be at most 200,000 of these (`pairs_of_labels`).

    Parameters
    ----------
    task : Task
    rows : int array, shape (n,)
        Distinct held-out rows of the task.
    label : int array, shape (n,)
        Of each row.
    phi : sparse array, shape (n, p)
        Indicators of the seen conjunctions.
    is_binary : bool
        Whether there is one output, positive for label 1; otherwise each label has its own.
    budget : Budget
    """
    if pairs_of_labels(label) < 2:
        return None
    arranged = np.argsort(label, kind="stable")
    _, first, count = np.unique(label[arranged], return_index=True, return_counts=True)
    pairs = [np.stack(np.triu_indices(n, 1)) + i for i, n in zip(first, count, strict=True)]
    first_row, second_row = arranged[np.hstack(pairs)]
    budget.spend(8 * len(first_row) * task.n_components)
    kind, keys = _kinds(task.components[rows], first_row, second_row), _keys(phi)
    # The other two corners have the same two values in every component, and the same sum of keys.
    total, of_pair = keys[first_row] + keys[second_row], label[first_row]
    order = np.lexsort((of_pair, total, kind))
    before, after = order[:-1], order[1:]
    crossed = (kind[before] == kind[after]) & (total[before] == total[after])
    places = np.flatnonzero(crossed & (of_pair[before] != of_pair[after]))
    if is_binary:
        before, after = after, before
    corners = np.stack(
        [first_row[before], first_row[after], second_row[after], second_row[before]], axis=1
    )
    rectangle = _first_that_cancels(corners[places], keys, phi)
    if rectangle is None:
        return None
    even, odd = label[rectangle[:2]].tolist()
    facts = {} if is_binary else {"labels": (even, odd)}
    sign = np.where(label == even, 1.0, -1.0)
    groups = _sides(task.components[rows], rectangle)
    return signed(rows, sign, rectangle, RECTANGLE, groups=groups, **facts)


def pairs_of_labels(label: Int[np.ndarray, " n"]) -> int:
    """Return the number of pairs of rows that have the same label.

    Examples
    --------
    >>> pairs_of_labels(np.array([0, 1, 1, 2, 2, 2]))
    4
    """
    count = np.bincount(label)
    return int((count * (count - 1) // 2).sum())


def _kinds(
    components: Int[np.ndarray, "n C"], first: Int[np.ndarray, " m"], second: Int[np.ndarray, " m"]
) -> Int[np.ndarray, " m"]:
    """Return a number for each pair of rows, the same if each component has the same two values."""
    values = np.sort(np.stack([components[first], components[second]]), axis=0)
    size = components.max(axis=0).astype(np.int64) + 1
    everything = tuple(range(components.shape[1]))
    return Dictionary.of(values[0] * size + values[1], everything, (size**2).tolist())[1]


def _sides(
    components: Int[np.ndarray, "n C"], rectangle: Int[np.ndarray, " 4"]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the components that vary along the two sides of a rectangle."""
    i, k, _, j = rectangle
    differs = components[i] != components[j]
    along = differs & (components[i] == components[k])
    sides = (np.flatnonzero(q).tolist() for q in (along, differs & ~along))
    first, second = map(tuple, sides)
    return first, second


def _keys(phi: sparse.csr_array) -> UInt[np.ndarray, " n"]:
    """Return for each row the sum of random whole numbers of its columns, modulo 2**64.

    Rows whose weighted sum is 0 in every column have keys whose weighted sum is 0. Other rows have
    such keys with a probability of 2**-64.
    """
    _, n_columns = phi.shape  # pyright: ignore[reportGeneralTypeIssues]
    numbers = np.random.default_rng(0).integers(0, 2**64, n_columns, dtype=np.uint64)
    return phi.astype(np.uint64) @ numbers


def _first_that_cancels(
    corners: Int[np.ndarray, "m 4"], keys: UInt[np.ndarray, " n"], phi: sparse.csr_array
) -> Int[np.ndarray, " 4"] | None:
    """Return the first of these rectangles over which every sum of seen conjunctions cancels."""
    a, b, c, d = keys[corners].T
    for rectangle in corners[a + d == b + c]:
        weights = np.zeros(len(keys))
        weights[rectangle] = RECTANGLE
        if annihilated(phi, weights):
            return rectangle
    return None


def _least_contrast(y: Float[np.ndarray, " n"]) -> float:
    """Return the smallest contrast of targets that is not rounding."""
    return float(TOLERANCE * np.ptp(y) + 64.0 * np.finfo(float).eps * np.abs(y).max())


def _rectangle_in_grid(
    a: np.ndarray,
    b: np.ndarray,
    y: np.ndarray,
    keys: UInt[np.ndarray, " n"],
    phi: sparse.csr_array,
    signs: bool,
    budget: Budget,
) -> np.ndarray | None:
    """Return the rows of a rectangle whose contrast no sum of seen conjunctions can have."""
    n_a, n_b = int(a.max()) + 1, int(b.max()) + 1
    if n_a < 2 or n_b < 2 or n_a * n_b > 4_000_000:
        return None
    place = np.full((n_a, n_b), -1)
    place[a, b] = np.arange(len(y))
    # A difference of which one target is missing is neither the smallest nor the largest.
    target_or_high = np.where(place >= 0, y[place], np.inf)
    target_or_low = np.where(place >= 0, y[place], -np.inf)
    key = keys[place]
    least = _least_contrast(y)
    for i in range(n_a):
        if budget.over:
            return None
        budget.spend(6 * (n_a - i) * n_b)
        differences = target_or_high[i] - target_or_low[i + 1 :]
        low, places = differences.argmin(axis=1), np.arange(len(differences))
        smallest = differences[places, low]
        differences = target_or_low[i] - target_or_high[i + 1 :]
        high = differences.argmax(axis=1)
        gap = differences[places, high] - smallest
        j = np.flatnonzero(gap == 4.0 if signs else gap > least)
        high, low, j = high[j], low[j], j + i + 1
        crossed = key[i, high] + key[j, low] == key[i, low] + key[j, high]
        if not crossed.any():
            continue
        corners = np.stack([place[i, high], place[i, low], place[j, high], place[j, low]], axis=1)
        rectangle = _first_that_cancels(corners[crossed], keys, phi)
        if rectangle is not None:
            return rectangle
    return None
