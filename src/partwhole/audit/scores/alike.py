"""Whether a test split is alike to training in its components, as rows of one source are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from jaxtyping import Float

from partwhole.audit.case import TRAIN, Case
from partwhole.audit.scores.score import ERRORS, MOST_PAIRED, numbers_of_rows
from partwhole.features.conjunctions import Dictionary

# Largest association of components with the split, as Cramer's V: a small effect.
MOST_ASSOCIATED = 0.1


def is_alike(case: Case) -> bool:
    """Return whether training and all of the test split have components in the same shares.

    Values, pairs of values and whole combinations are compared. They differ if the association of
    one of these with the split, as Cramer's V without its bias, is above 0.1 and above what three
    standard errors of a random split allow. Whole weights are numbers of rows; rows with others
    count as so many as would have the same errors (Kish, 1965).

    Parameters
    ----------
    case : Case

    Notes
    -----
    Bergsma (Journal of the Korean Statistical Society, 2013) for the bias, and Wilson and Hilferty
    (PNAS, 1931) for the errors.
    """
    table = case.table
    parts = [np.flatnonzero(table.split == part) for part in (TRAIN, case.split)]
    rows = np.concatenate(parts)
    weights = [table.weights[part] for part in parts]
    # A row that stands for several has their weight together.
    sizes = [numbers_of_rows(table.weights)[part] for part in parts]
    effective = [
        float(w.sum() ** 2 / (w @ (w / size))) for w, size in zip(weights, sizes, strict=True)
    ]
    for subset in _sets(table.n_components):
        dictionary, index = Dictionary.of(table.components[rows], subset, table.n_values)
        of_parts = np.split(index, [len(parts[0])])
        counts = np.stack(
            [
                n / w.sum() * np.bincount(values, w, dictionary.size)
                for n, w, values in zip(effective, weights, of_parts, strict=True)
            ]
        )
        if _differ(counts):
            return False
    return True


def _sets(n: int) -> Iterator[tuple[int, ...]]:
    yield from combinations(range(n), 1)
    if n <= MOST_PAIRED:
        yield from combinations(range(n), 2)
    yield tuple(range(n))


def _differ(counts: Float[np.ndarray, "2 v"]) -> bool:
    """Return whether two rows of counts differ in their shares."""
    counts = counts[:, counts.sum(axis=0) > 0]
    total, freedom = float(counts.sum()), counts.shape[1] - 1
    if freedom == 0:
        return False
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    square = float(np.sum((counts - expected) ** 2 / expected))
    spread = 2.0 / (9.0 * freedom)
    errors = ((square / freedom) ** (1.0 / 3.0) - 1.0 + spread) / np.sqrt(spread)
    association = square / total - freedom / max(total - 1.0, 1.0)
    return bool(errors > ERRORS and association > MOST_ASSOCIATED**2)
