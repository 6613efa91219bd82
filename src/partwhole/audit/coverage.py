"""Held-out values, and the graph of values that occur together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
from jaxtyping import Int
from scipy import sparse
from scipy.sparse import csgraph

from partwhole.audit.case import Case
from partwhole.audit.evidence import Coverage, UnseenValue, ValueCoverage
from partwhole.features.conjunctions import Dictionary


def coverage(case: Case) -> Coverage:
    """Return the values of held-out combinations, with their counts in training.

    The graph joins two values if a training combination has both; its connected components
    decide which combinations a sum of single values determines (Lippl & Stachenfeld, ICLR 2025,
    theorem 4.2; the graph is derived here).

    Parameters
    ----------
    case : Case

    Returns
    -------
    Coverage
        Counts of distinct combinations; a combination of the test split that occurs in training
        belongs to training. Rows of unseen values are rows of the table.

    Examples
    --------
    >>> from partwhole.audit.case import AuditTable
    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]])
    >>> table = AuditTable(rows, np.zeros((5, 1)), None, np.array([0, 0, 0, 1, 1]), np.ones(5),
    ...                    ("shape", "colour"), ((0, 1, 2), (0, 1)), ("y",), None,
    ...                    ("train", "test"))
    >>> found = coverage(table.case(1, 1))
    >>> [(v.component, v.value, v.rows.tolist()) for v in found.unseen_values]
    [(0, 2, [4])]
    >>> found.n_graph_components
    1
    """
    task = case.task
    n_values = task.n_values
    train, held_out = task.train_components, task.test_components
    counts = [
        (np.bincount(seen, minlength=n), np.bincount(in_test, minlength=n))
        for seen, in_test, n in zip(train.T, held_out.T, n_values, strict=True)
    ]
    partners, graph, n_graph = _graph(train, n_values)
    unseen = tuple(
        UnseenValue(c, value, rows)
        for c, (seen, in_test) in enumerate(counts)
        for value, rows in _rows_with(case, c, np.flatnonzero((in_test > 0) & (seen == 0)))
    )
    values = tuple(
        ValueCoverage(c, value, int(n_train), int(n_test), int(met), int(place))
        for c, (seen, in_test) in enumerate(counts)
        for value, (n_train, n_test, met, place) in enumerate(
            zip(seen, in_test, partners[c], graph[c], strict=True)
        )
    )
    return Coverage(
        unseen,
        values,
        n_graph,
    )


def _rows_with(
    case: Case, component: int, values: Int[np.ndarray, " v"]
) -> Iterator[tuple[int, Int[np.ndarray, " r"]]]:
    """Yield each of these values with the rows of held-out combinations that have it."""
    rows = case.rows_of(case.held_out) if len(values) else np.zeros(0, dtype=np.int64)
    # Sort once: a search through all rows for each value would cost rows times values.
    column = case.table.components[rows, component]
    rows = rows[np.argsort(column, kind="stable")]
    column = np.sort(column)
    ends = zip(
        np.searchsorted(column, values).tolist(),
        np.searchsorted(column, values, side="right").tolist(),
        strict=True,
    )
    for value, (first, last) in zip(values.tolist(), ends, strict=True):
        yield value, rows[first:last]


def _graph(
    train: Int[np.ndarray, "m C"], n_values: tuple[int, ...]
) -> tuple[list[np.ndarray], list[np.ndarray], int]:
    """Return the partners and the graph component of each value, and the number of components."""
    start = np.concatenate([[0], np.cumsum(n_values)])
    partners = np.zeros(start[-1], dtype=np.int64)
    starts, ends = [], []
    for a, b in combinations(range(len(n_values)), 2):
        pairs = Dictionary.of(train, (a, b), n_values)[0].values() + start[[a, b]]
        partners += np.bincount(pairs.ravel(), minlength=start[-1])
        # A row joins all its values, so those of the first component reach every other.
        if a == 0:
            starts.append(pairs[:, 0])
            ends.append(pairs[:, 1])
    tails, heads = (
        np.concatenate([*pieces, np.zeros(0, dtype=np.int64)]) for pieces in (starts, ends)
    )
    edges = sparse.csr_array((np.ones(len(tails)), (tails, heads)), shape=(start[-1],) * 2)
    _, place = csgraph.connected_components(edges, directed=False)
    seen = np.zeros(start[-1], dtype=bool)
    seen[(train + start[:-1]).ravel()] = True
    # Numbered by their first value; unseen values belong to no component of the training graph.
    labels, first, place = np.unique(
        np.where(seen, place, -1), return_index=True, return_inverse=True
    )
    rank = np.empty(len(labels), dtype=np.int64)
    rank[np.argsort(np.where(labels < 0, -1, first), kind="stable")] = np.arange(len(labels))
    if labels[0] < 0:
        rank -= 1
    split = [slice(i, j) for i, j in pairwise(start)]
    return [partners[s] for s in split], [rank[place[s]] for s in split], int(rank.max()) + 1
