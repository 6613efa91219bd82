r"""Sums of training answers that equal held-out answers, around a reference.

Factors are parted into blocks, by default of one factor each. Sums of conjunctions of at most K
factors are sums of conjunctions of at most K blocks, so with d blocks in which x differs from the
reference,

.. math:: f(x) = \sum_{S \subseteq D(x),\, |S| \le K} (-1)^{K - |S|} \binom{d - |S| - 1}{K - |S|}
          f(x_S),

where :math:`x_S` has the values of x in the blocks S and those of the reference elsewhere. Larger
blocks make fewer terms, which is worth it where few combinations are held out. Derived here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
from jaxtyping import Int

Blocks = tuple[tuple[int, ...], ...]


def codes(rows: Int[np.ndarray, "n C"], n_values: tuple[int, ...]) -> Int[np.ndarray, " n"]:
    """Return a number for each combination, in the order of the grid."""
    return np.atleast_1d(np.ravel_multi_index(tuple(rows.T), n_values))


def n_dimensions(n_values: tuple[int, ...], order: int) -> int:
    """Return the number of dimensions of sums of conjunctions of at most so many factors."""
    elementary = [1] + [0] * order
    for n in n_values:
        for k in range(order, 0, -1):
            elementary[k] += elementary[k - 1] * (n - 1)
    return sum(elementary)


def blocks_apart(
    rows: Int[np.ndarray, "n C"], reference: Int[np.ndarray, " C"], blocks: Blocks
) -> Int[np.ndarray, " n"]:
    """Return in how many blocks each combination differs from the reference."""
    differs = rows != reference
    return np.sum([differs[:, list(block)].any(axis=1) for block in blocks], axis=0)


def coefficient(d: int, k: int, order: int) -> int:
    """Return the weight of a point that takes k of the d blocks from x."""
    if d <= order:
        return int(k == d)
    return (-1) ** (order - k) * comb(d - k - 1, order - k)


def terms_of(
    rows: Int[np.ndarray, "n C"],
    reference: Int[np.ndarray, " C"],
    order: int,
    blocks: Blocks,
) -> Iterator[tuple[Int[np.ndarray, " m"], Int[np.ndarray, "m C"], Int[np.ndarray, " m"]]]:
    """Yield, for each set of blocks, rows that have a term with it, the terms and their weights."""
    differs = rows != reference
    apart = np.stack([differs[:, list(block)].any(axis=1) for block in blocks], axis=1)
    d = apart.sum(axis=1)
    for k in range(min(order, len(blocks)) + 1):
        weight = np.array([coefficient(n, k, order) for n in range(len(blocks) + 1)])
        for subset in combinations(range(len(blocks)), k):
            which = np.flatnonzero(apart[:, list(subset)].all(axis=1) & (weight[d] != 0))
            factors = [c for b in subset for c in blocks[b]]
            points = np.tile(reference, (len(which), 1))
            points[:, factors] = rows[which][:, factors]
            yield which, points, weight[d[which]]


def needed(
    rows: Int[np.ndarray, "n C"],
    n_values: tuple[int, ...],
    reference: Int[np.ndarray, " C"],
    order: int,
    blocks: Blocks,
) -> Int[np.ndarray, "m C"]:
    """Return the combinations of which these are sums."""
    terms = terms_of(rows, reference, order, blocks)
    parts = [np.unique(codes(points, n_values)) for _, points, _ in terms]
    distinct = np.unique(np.concatenate(parts))
    return np.stack(np.unravel_index(distinct, n_values), axis=1)


def weight_matrix(
    rows: Int[np.ndarray, "n C"],
    train: Int[np.ndarray, "m C"],
    n_values: tuple[int, ...],
    reference: Int[np.ndarray, " C"],
    order: int,
    blocks: Blocks,
) -> Int[np.ndarray, "n m"]:
    """Return the weight of each training combination in each row's sum."""
    train_codes = codes(train, n_values)
    sorting = np.argsort(train_codes)
    matrix = np.zeros((len(rows), len(train)), dtype=np.int64)
    for which, points, weights in terms_of(rows, reference, order, blocks):
        places = np.searchsorted(train_codes, codes(points, n_values), sorter=sorting)
        matrix[which, sorting[places]] = weights
    return matrix


def random_blocks(n: int, least: int, rng: np.random.Generator, times: int) -> set[Blocks]:
    """Return partitions of n factors into at least so many blocks, other than into one each."""
    drawn: set[Blocks] = set()
    for _ in range(times):
        labels = rng.integers(rng.integers(least, n) if least < n else n, size=n).tolist()
        blocks = tuple(
            tuple(i for i in range(n) if labels[i] == label) for label in sorted(set(labels))
        )
        if least <= len(blocks) < n:
            drawn.add(tuple(sorted(blocks)))
    return drawn
