"""Components that others determine, and that therefore add nothing to a combination."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Int

from partwhole.features.conjunctions import Dictionary

# Distinct combinations for each value of a component before what it determines is left out: a
# component with a value for nearly every combination determines everything.
LEAST_REPEATED = 2
# Distinct pairs, in number and as a share of the possible ones, from which something follows.
LEAST_PAIRS, FILLED = 4, 0.5
# Components of which all pairs are compared.
MOST_COMPARED = 20


def redundant(
    components: Int[np.ndarray, "n C"],
    n_values: Sequence[int],
    *,
    least_left: int = 2,
    least_repeated: int = LEAST_REPEATED,
) -> dict[int, tuple[int, ...]]:
    """Return the components to leave out, each with those that determine it.

    A component is left out if it merely numbers the combinations of coarser ones, wherever it is
    named; and if a single other one determines it: sums of conjunctions of any order are the same
    without it. Of components that determine each other the first remains.

    Parameters
    ----------
    components : int array, shape (n, C)
        Value indices of the rows of training and of all test splits.
    n_values : sequence of int, length C
    least_left : int, keyword-only, default 2
        How many components remain at least.
    least_repeated : int, keyword-only, default 2
        Distinct combinations for each value of a component that alone determines another.

    Returns
    -------
    dict from int to tuple of int

    Notes
    -----
    Derived here. With R a function of A, the conjunction of R = r and others is the sum of those
    of A = a and these others, over the values a that go with r. A component that numbers the
    combinations of others is their conjunction, which the order counts as several parts.

    Examples
    --------
    >>> grid = np.array([(a, b) for a in range(4) for b in range(5)])
    >>> rows = np.column_stack([5 * grid[:, 0] + grid[:, 1], grid, grid[:, 0] // 2])
    >>> redundant(rows, (20, 4, 5, 2))
    {0: (1, 2), 3: (1,)}
    """
    n = components.shape[1]
    whole = _size(components, tuple(range(n)), n_values)
    distinct = [len(np.unique(column)) for column in components.T]
    left_out: dict[int, tuple[int, ...]] = {}

    def determines(first: tuple[int, ...], other: int) -> bool:
        size = distinct[first[0]] if len(first) == 1 else _size(components, first, n_values)
        return _size(components, (*first, other), n_values) == size

    finest_first = sorted(range(n), key=lambda c: (-distinct[c], -c))
    for last in finest_first:
        # Of two that determine each other the first remains.
        named = tuple(
            c
            for c in range(n)
            if c not in left_out
            and (distinct[c], c) < (distinct[last], last)
            and determines((last,), c)
        )
        if len(named) > 1 and determines(named, last):
            for c in finest_first:
                fewer = tuple(name for name in named if name != c)
                if len(fewer) < len(named) and fewer and determines(fewer, last):
                    named = fewer
            left_out[last] = named
    for last in range(n - 1, -1, -1):
        others = [c for c in range(n) if c != last and c not in left_out]
        if last in left_out or len(others) < least_left:
            continue
        single = next(
            (
                c
                for c in others
                if (c < last or distinct[c] > distinct[last])
                and distinct[c] >= distinct[last]
                and whole >= least_repeated * distinct[c]
                and determines((c,), last)
            ),
            None,
        )
        if single is not None:
            left_out[last] = (single,)
    return dict(sorted(left_out.items()))


def distinguishing(components: Int[np.ndarray, "n C"], n_values: Sequence[int]) -> list[int]:
    """Return the components that suffice to tell the combinations of all of them apart.

    These are all but the constant ones and those that others determine, however rare repetitions
    are. A component that is a function of another one does not change them.

    Examples
    --------
    >>> grid = np.array([(a, b) for a in range(4) for b in range(5)])
    >>> distinguishing(np.column_stack([grid, grid[:, 0] // 2]), (4, 5, 2))
    [0, 1]
    """
    _, coded = Dictionary.of(components, tuple(range(components.shape[1])), n_values)
    rows = components[np.unique(coded, return_index=True)[1]]
    vary = np.flatnonzero((rows != rows[0]).any(axis=0)).tolist() or [0]
    left_out = redundant(rows[:, vary], [n_values[c] for c in vary], least_left=1, least_repeated=0)
    return [c for place, c in enumerate(vary) if place not in left_out]


def dependent(
    components: Int[np.ndarray, "n C"], n_values: Sequence[int]
) -> dict[int, tuple[int, int]]:
    """Return the components that follow from two others in every row, each with these two.

    Such a component is not redundant: no single other one determines it, nor does it number their
    combinations. In a Latin square each of three parts follows from the other two; the last one
    of the coarsest is listed.

    Parameters
    ----------
    components : int array, shape (n, C)
        Value indices of the rows, without components that are redundant.
    n_values : sequence of int, length C

    Returns
    -------
    dict from int to pair of int

    Examples
    --------
    >>> grid = np.array([(a, b) for a in range(4) for b in range(4)])
    >>> dependent(np.column_stack([grid, grid.sum(axis=1) % 2]), (4, 4, 2))
    {2: (0, 1)}
    """
    n = components.shape[1]
    if n > MOST_COMPARED:
        return {}
    distinct = [len(np.unique(column)) for column in components.T]
    listed: dict[int, tuple[int, int]] = {}
    for pair in combinations(range(n), 2):
        size = _size(components, pair, n_values)
        # In few of the possible pairs anything follows from them by chance.
        possible = distinct[pair[0]] * distinct[pair[1]]
        if size < max(LEAST_PAIRS, FILLED * possible):
            continue
        for c in range(n):
            coarsest = all((distinct[c], -c) < (distinct[of], -of) for of in pair)
            if c in pair or c in listed or not coarsest:
                continue
            needs_both = all(_size(components, (of, c), n_values) > distinct[of] for of in pair)
            if needs_both and _size(components, (*pair, c), n_values) == size:
                listed[c] = pair
    return dict(sorted(listed.items()))


def _size(
    components: Int[np.ndarray, "n C"], subset: tuple[int, ...], n_values: Sequence[int]
) -> int:
    return Dictionary.of(components, tuple(sorted(subset)), n_values)[0].size
