"""Indicators of seen conjunctions as sparse matrices, and proofs tidied to whole numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from partwhole._checks import require
from partwhole.features.conjunctions import ConjunctionDesign, Dictionary
from partwhole.tasks import Task

MOST_DENOMINATOR = 12


def as_sparse(design: ConjunctionDesign) -> sparse.csr_array:
    """Return a design as a sparse matrix of 0 and 1, shape (n, p)."""
    width = len(design.index)
    columns = np.full((design.n_rows, width), -1, dtype=np.int32)
    for place, (block, index) in enumerate(zip(design.blocks, design.index, strict=True)):
        columns[:, place] = np.where(index >= 0, index + block.start, -1)
    present = columns >= 0
    n_entries = int(present.sum())
    edges = np.zeros(design.n_rows + 1, dtype=np.int64 if n_entries >= 1 << 31 else np.int32)
    np.cumsum(present.sum(axis=1), out=edges[1:])
    return sparse.csr_array((np.ones(n_entries), columns[present], edges), design.shape)


def require_same_task(
    task: Task, rows: Sequence[int] = (), values: Iterable[tuple[int, int]] = ()
) -> None:
    """Refuse a task without these rows, or these values of components: a proof is of one task."""
    there = all(row < len(task.targets) for row in rows) and all(
        c < task.n_components and v < task.n_values[c] for c, v in values
    )
    require(
        there,
        "task is the one that this was found for",
        f"one of {len(task.targets)} rows, without some that are named",
        "pass that task",
    )


def whole_multiples(weights: Float[np.ndarray, " n"], unit: float) -> list[Int[np.ndarray, " n"]]:
    """List the whole-number vectors that weights are a multiple of, to 1e-6, smallest first.

    Parameters
    ----------
    weights : float array, shape (n,)
    unit : float
        What 1, 2, .. 12 parts of it are tried as the size of 1.
    """
    found = []
    for parts in range(1, MOST_DENOMINATOR + 1):
        scaled = weights / unit * parts
        whole = np.round(scaled)
        if np.abs(scaled - whole).max() < 1e-6 and np.any(whole):
            found.append(whole.astype(np.int64))
    return found


def distinct(
    task: Task, rows: Int[np.ndarray, " n"]
) -> tuple[Dictionary, Int[np.ndarray, " d"], Int[np.ndarray, " n"]]:
    """Number the combinations among these rows of a task.

    Returns
    -------
    Dictionary
        Of full combinations.
    int array, shape (d,)
        For each combination, in the dictionary's order, its first row.
    int array, shape (n,)
        Each row's combination.
    """
    whole = tuple(range(task.n_components))
    dictionary, index = Dictionary.of(task.components[rows], whole, task.n_values)
    first = np.empty(dictionary.size, dtype=np.int64)
    first[index[::-1]] = rows[::-1]
    return dictionary, first, index
