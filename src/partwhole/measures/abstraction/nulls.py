"""Null models of abstraction: permuted labels of trials, and permuted means of neurons."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

# Scores that are equal on paper differ by rounding.
ROUNDING = 1e-9


def permuted_means(
    means: Float[np.ndarray, "T p"], repetitions: int, rng: np.random.Generator
) -> Iterator[Float[np.ndarray, "T p"]]:
    """Yield means of conditions with those of each neuron permuted, independently of the others.

    What neurons respond to is then unrelated, while each varies as much over conditions as it does.
    """
    for _ in range(repetitions):
        yield rng.permuted(means, axis=0)


def permuted_labels(
    index: Int[np.ndarray, " n"], within: Int[np.ndarray, " n"], rng: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """Return the trials' conditions permuted within folds or groups."""
    permuted = index.copy()
    for part in np.unique(within):
        rows = np.flatnonzero(within == part)
        permuted[rows] = rng.permutation(index[rows])
    return permuted


def p_values(
    scores: Float[np.ndarray, "*k"], null: Float[np.ndarray, "B *k"]
) -> Float[np.ndarray, "*k"]:
    """Return the share of a null that is at least as high, the measurement counted with it.

    NaN without repetitions, and for scores that are NaN; repetitions that are NaN are left out.
    """
    if not len(null):
        return np.full(np.shape(scores), np.nan)
    valid = np.isfinite(null)
    higher = np.sum(valid & (null >= np.asarray(scores) - ROUNDING), axis=0)
    return np.where(np.isnan(scores), np.nan, (1.0 + higher) / (1.0 + valid.sum(axis=0)))


def values_of_other_groups(
    value: Int[np.ndarray, " n"], group: Int[np.ndarray, " n"], rng: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """Return trials' values exchanged as those of other groups are, drawn without replacement.

    The most frequent value of a group becomes that of another group, the second the second of it,
    and so on: what trials of a group share stays with them, and as many groups have a value.
    """
    counts = np.zeros((int(group.max()) + 1, int(value.max()) + 1))
    np.add.at(counts, (group, value), 1.0)
    order = np.argsort(-counts, axis=1, kind="stable")
    rank = np.argsort(order, axis=1)
    return order[rng.permutation(len(counts))[group], rank[group, value]]
