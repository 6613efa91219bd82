"""Which combinations could be added to training."""

from __future__ import annotations

from math import prod

import numpy as np
from jaxtyping import Int

from partwhole.audit.case import Case
from partwhole.features.conjunctions import Dictionary

MOST_GRID = 1 << 24
MOST_DRAWS = 20


def unseen_combinations(case: Case, *, most: int, seed: int) -> tuple[Int[np.ndarray, "c C"], int]:
    """Return unseen combinations of known values, and how many there are.

    Parameters
    ----------
    case : Case
    most : int, keyword-only
        Return at most so many.
    seed : int, keyword-only
        Of the sample.

    Returns
    -------
    int array, shape (c, C)
        The held-out combinations first, in the task's order, or a sample of them where they
        are more than `most`; then others of values that training or the held-out combinations
        have, a random sample where they are too many.
    int
        How many unseen combinations of such values there are.
    """
    task = case.task
    held_out = task.test_components
    known = [np.unique(column) for column in task.components.T]
    of = prod(len(values) for values in known) - task.n_train
    rng = np.random.default_rng(seed)
    if len(held_out) >= most:
        kept = np.sort(rng.choice(len(held_out), most, replace=False))
        return held_out[kept], of
    wanted = min(most, of) - len(held_out)
    sizes = [len(values) for values in known]
    # In terms of places among the known values, so that codes are as small as can be.
    here = np.stack(
        [np.searchsorted(v, column) for v, column in zip(known, task.components.T, strict=True)],
        axis=1,
    )
    if prod(sizes) <= MOST_GRID:
        unseen = np.ones(prod(sizes), dtype=bool)
        unseen[np.ravel_multi_index(tuple(here.T), sizes)] = False
        codes = np.flatnonzero(unseen)
        if len(codes) > wanted:
            codes = np.sort(rng.choice(codes, wanted, replace=False))
        others = np.stack(np.unravel_index(codes, sizes), axis=1)
    else:
        whole = tuple(range(task.n_components))
        others = np.zeros((0, len(sizes)), dtype=np.int64)
        taken = here
        for _ in range(MOST_DRAWS):
            drawn = rng.integers(0, sizes, size=(wanted, len(sizes)))
            _, code = Dictionary.of(np.concatenate([taken, drawn]), whole, sizes)
            _, first = np.unique(code, return_index=True)
            new = drawn[np.sort(first[first >= len(taken)]) - len(taken)]
            others = np.concatenate([others, new])[:wanted]
            taken = np.concatenate([here, others])
            if len(others) == wanted:
                break
    columns = [values[column] for values, column in zip(known, others.T, strict=True)]
    return np.concatenate([held_out, np.stack(columns, axis=1)]), of
