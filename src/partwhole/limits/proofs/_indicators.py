"""Indicators of seen conjunctions as sparse matrices, and proofs tidied to whole numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from partwhole._checks import require
from partwhole.features.conjunctions import ConjunctionDesign, Dictionary
from partwhole.tasks import Task

MOST_DENOMINATOR = 12
# Sums of a few thousand of such numbers are exact in double precision.
MOST_WHOLE = 10**9


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
    """Refuse a task without these rows or values of components: a proof belongs to one task."""
    has_entries = all(row < len(task.targets) for row in rows) and all(
        c < task.n_components and v < task.n_values[c] for c, v in values
    )
    require(
        has_entries,
        "task must be the one that the proof is of",
        f"a task of {len(task.targets)} rows that lacks rows or values of the proof",
        "pass the task that was analysed",
    )


def whole_multiples(weights: Float[np.ndarray, " n"], unit: float) -> list[Int[np.ndarray, " n"]]:
    """Return the whole-number vectors that are multiples of the weights, to 1e-6, smallest first.

    Parameters
    ----------
    weights : float array, shape (n,)
    unit : float
        The weight that 1, 2, .. 12 in a vector may stand for.
    """
    multiples = []
    for parts in range(1, MOST_DENOMINATOR + 1):
        scaled = weights / unit * parts
        whole = np.round(scaled)
        if np.abs(scaled - whole).max() < 1e-6 and np.any(whole):
            multiples.append(whole.astype(np.int64))
    return multiples


def whole_proportions(weights: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"] | None:
    """Return the whole numbers in the proportions of the weights; None if there are no such.

    Proportions to the smallest weight are taken for fractions of denominators up to 1,000 if they
    agree to 1e-7, and the whole numbers are at most 1e9.

    Parameters
    ----------
    weights : float array, shape (n,)
        Not all zero.
    """
    smallest = np.abs(weights[weights != 0]).min()
    fractions = [Fraction(ratio).limit_denominator(1000) for ratio in (weights / smallest).tolist()]
    nearest = np.array([float(fraction) for fraction in fractions])
    if np.any(np.abs(nearest * smallest - weights) > 1e-7 * np.abs(weights)):
        return None
    factor = 1
    for fraction in fractions:
        factor = lcm(factor, fraction.denominator)
        if factor > MOST_WHOLE:
            return None
    whole = [int(fraction * factor) for fraction in fractions]
    if max(map(abs, whole)) > MOST_WHOLE:
        return None
    return np.array(whole, dtype=np.int64)


def distinct(
    task: Task, rows: Int[np.ndarray, " n"]
) -> tuple[Dictionary, Int[np.ndarray, " d"], Int[np.ndarray, " n"]]:
    """Return the distinct combinations among these rows of a task.

    Returns
    -------
    Dictionary
        The distinct combinations.
    int array, shape (d,)
        The first row of each combination, in the dictionary's order.
    int array, shape (n,)
        The combination of each row.
    """
    whole = tuple(range(task.n_components))
    dictionary, index = Dictionary.of(task.components[rows], whole, task.n_values)
    first = np.empty(dictionary.size, dtype=np.int64)
    first[index[::-1]] = rows[::-1]
    return dictionary, first, index
