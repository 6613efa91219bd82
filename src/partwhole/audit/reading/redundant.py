"""Components that others determine, and that therefore add nothing to a combination."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from partwhole.features.conjunctions import Dictionary

# Distinct combinations for each value of a component before what it determines is left out: a
# component with a value for nearly every combination determines everything.
LEAST_REPEATED = 2


def redundant(
    components: Int[np.ndarray, "n C"], n_values: Sequence[int]
) -> dict[int, tuple[int, ...]]:
    """Return the components to leave out, each with those that determine it.

    A component is left out if a single other one determines it: sums of conjunctions of any order
    are the same without it. It is also left out if it merely numbers the combinations of some
    that are named before it, or of all others. At least two components remain.

    Parameters
    ----------
    components : int array, shape (n, C)
        Value indices of the rows of training and of all test splits.
    n_values : sequence of int, length C

    Returns
    -------
    dict from int to tuple of int

    Notes
    -----
    Derived here. With R a function of A, the conjunction of R = r and others is the sum of those
    of A = a and these others, over the values a that go with r.

    Examples
    --------
    >>> grid = np.array([(a, b) for a in range(4) for b in range(5)])
    >>> rows = np.column_stack([grid, grid[:, 0] // 2, 5 * grid[:, 0] + grid[:, 1]])
    >>> redundant(rows, (4, 5, 2, 20))
    {2: (0,), 3: (0, 1, 2)}
    """
    n = components.shape[1]
    whole = Dictionary.of(components, tuple(range(n)), n_values)[0].size
    distinct = [len(np.unique(column)) for column in components.T]
    left_out: dict[int, tuple[int, ...]] = {}

    def determines(first: tuple[int, ...], other: int) -> bool:
        size = distinct[first[0]] if len(first) == 1 else _size(components, first, n_values)
        return _size(components, (*first, other), n_values) == size

    for last in range(n - 1, -1, -1):
        others = [c for c in range(n) if c != last and c not in left_out]
        if len(others) < 2:
            continue
        earlier = [c for c in others if c < last]
        single = next(
            (
                c
                for c in others
                # Of two that determine each other the first remains.
                if (c < last or distinct[c] > distinct[last])
                and distinct[c] >= distinct[last]
                and whole >= LEAST_REPEATED * distinct[c]
                and determines((c,), last)
            ),
            None,
        )
        if single is not None:
            left_out[last] = (single,)
            continue
        for among in (earlier, others if distinct[last] == whole else []):
            named = tuple(c for c in among if determines((last,), c))
            if len(named) > 1 and determines(named, last):
                left_out[last] = named
                break
    return dict(sorted(left_out.items()))


def _size(
    components: Int[np.ndarray, "n C"], subset: tuple[int, ...], n_values: Sequence[int]
) -> int:
    return Dictionary.of(components, tuple(sorted(subset)), n_values)[0].size
