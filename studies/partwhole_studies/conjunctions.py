"""Kinds of conjunctions in context dependence, and the size of their terms."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from partwhole.measures.additivity import conjunction_coefficients
from partwhole.tasks import Task

KINDS = ("right pair", "wrong pair", "features only", "context", "memorization")


def kind_of(subset: tuple[int, ...], values: Int[np.ndarray, "m S"]) -> Int[np.ndarray, " m"]:
    """Return the kind of each conjunction of one set of components (context, features 1 and 2)."""
    if len(subset) == 3:
        kind = "memorization"
    elif 0 not in subset:
        kind = "features only"
    elif subset == (0,):
        kind = "context"
    else:
        relevant = values[:, 0] == subset[1] - 1
        return np.where(relevant, KINDS.index("right pair"), KINDS.index("wrong pair"))
    return np.full(len(values), KINDS.index(kind))


def sizes(task: Task, predictions: Float[np.ndarray, " n"]) -> Float[np.ndarray, " kinds"]:
    """Return the mean absolute coefficient of each kind, least-norm, as published."""
    terms = conjunction_coefficients(task, predictions)
    kind = np.concatenate([kind_of(subset, values) for subset, values in terms.values.items()])
    size = np.abs(np.concatenate(list(terms.coefficients.values())))
    return np.array([size[kind == k].mean() for k in range(len(KINDS))])
