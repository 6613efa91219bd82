"""The combinations that could be added to training."""

from __future__ import annotations

from math import prod

import numpy as np
from jaxtyping import Int

from partwhole._types import Seed
from partwhole.audit.case import Case
from partwhole.features.conjunctions import Dictionary

MOST_GRID = 1 << 24
MOST_DRAWS = 20


def unseen_combinations(
    case: Case, *, limit: int, seed: Seed
) -> tuple[Int[np.ndarray, "c C"], int]:
    """Return unseen combinations of known values, and their total number.

    Parameters
    ----------
    case : Case
    limit : int, keyword-only
        Largest number of combinations returned.
    seed : int, keyword-only
        Of the sample.

    Returns
    -------
    int array, shape (c, C)
        The held-out combinations first, in the task's order, or a sample of them if there are
        more than `limit`; then others of values that occur in training or in held-out
        combinations, a random sample if there are too many.
    int
        The number of all unseen combinations of such values.
    """
    task = case.task
    held_out = task.test_components
    seen_values = [np.unique(column) for column in task.components.T]
    of = prod(len(values) for values in seen_values) - task.n_train
    rng = np.random.default_rng(seed)
    if len(held_out) >= limit:
        sample = np.sort(rng.choice(len(held_out), limit, replace=False))
        return held_out[sample], of
    n_others = min(limit, of) - len(held_out)
    sizes = [len(values) for values in seen_values]
    # Indices among the known values keep the codes as small as possible.
    places = np.stack(
        [
            np.searchsorted(v, column)
            for v, column in zip(seen_values, task.components.T, strict=True)
        ],
        axis=1,
    )
    if prod(sizes) <= MOST_GRID:
        unseen = np.ones(prod(sizes), dtype=bool)
        unseen[np.ravel_multi_index(tuple(places.T), sizes)] = False
        codes = np.flatnonzero(unseen)
        if len(codes) > n_others:
            codes = np.sort(rng.choice(codes, n_others, replace=False))
        other_places = np.stack(np.unravel_index(codes, sizes), axis=1)
    else:
        whole = tuple(range(task.n_components))
        other_places = np.zeros((0, len(sizes)), dtype=np.int64)
        taken_places = places
        for _ in range(MOST_DRAWS):
            drawn = rng.integers(0, sizes, size=(n_others, len(sizes)))
            _, code = Dictionary.of(np.concatenate([taken_places, drawn]), whole, sizes)
            _, first = np.unique(code, return_index=True)
            new = drawn[np.sort(first[first >= len(taken_places)]) - len(taken_places)]
            other_places = np.concatenate([other_places, new])[:n_others]
            taken_places = np.concatenate([places, other_places])
            if len(other_places) == n_others:
                break
    columns = [values[column] for values, column in zip(seen_values, other_places.T, strict=True)]
    return np.concatenate([held_out, np.stack(columns, axis=1)]), of
