"""Similarities by overlap from products of different samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int

from partwhole.measures._groups import TupleGroups
from partwhole.measures._rows import averaging, coordinates, squares_by_column


@dataclass(frozen=True, eq=False)
class Samples:
    """Features that were measured in the same trials.

    Parameters
    ----------
    features : float array, shape (n, p)
    components : int array, shape (n, C)
    groups : int array, shape (n,), or None
        Where given, products of samples of one group don't count.
    """

    features: Float[np.ndarray, "n p"]
    components: Int[np.ndarray, "n C"]
    groups: Int[np.ndarray, " n"] | None

    def reduced(self) -> Samples:
        """Return samples with at most n features and the same inner products."""
        return Samples(coordinates(self.features), self.components, self.groups)


@dataclass(frozen=True, eq=False)
class Products:
    """Sums of products of different samples, of R pairs of groups, or of all samples at once.

    Parameters
    ----------
    half : float array, shape (R, sets) or (R, sets, p)
        Half the squared distances of tuples, summed over pairs with that overlap.
    n_pairs : int array, shape (R, sets)
    squared : float array, shape (R,) or (R, p)
        Squared lengths, summed over tuples.
    n_tuples : int array, shape (R,)
    groups : int array, shape (R, 2)
        The pair of groups, both 0 if there are none.
    """

    half: Float[np.ndarray, "R sets *p"]
    n_pairs: Int[np.ndarray, "R sets"]
    squared: Float[np.ndarray, "R *p"]
    n_tuples: Int[np.ndarray, " R"]
    groups: Int[np.ndarray, "R 2"]

    def kappa(self, weights: Float[np.ndarray, " R"] | None = None) -> Float[np.ndarray, "sets *p"]:
        """Return similarities by overlap set: the mean over pairs, of pairs of groups weighted."""
        chosen = np.ones(len(self.squared)) if weights is None else weights
        counts = chosen @ self.n_pairs
        counts[-1] = 1.0
        total = np.tensordot(chosen, self.half, axes=1)
        counts = counts.reshape(-1, *(1,) * (total.ndim - 1))
        half = np.divide(total, counts, out=np.full_like(total, np.nan), where=counts > 0)
        tuples = float(chosen @ self.n_tuples)
        squared = (
            chosen @ self.squared / tuples
            if tuples > 0
            else np.full(self.squared.shape[1:], np.nan)
        )
        return squared - half

    def summed(self) -> Products:
        """Return the sums over features."""
        return replace(self, half=self.half.sum(axis=-1), squared=self.squared.sum(axis=-1))


def of_trials(
    samples: Samples,
    *,
    groups: TupleGroups,
    self_pairs: bool = False,
    by_feature: bool = False,
) -> Products:
    """Return the products of all samples."""
    means = groups.means(samples.features)
    squares = _squares(means, by_feature)
    if not self_pairs:
        variance, features = noise_by_feature(samples, groups), samples.features
        if by_feature:
            of_samples = groups.mean_squares(features)
        else:
            variance = variance.sum(keepdims=True)
            of_samples = groups.means(_squares(features, by_feature))
        squares = groups.squares(of_samples, squares, variance)
    half = groups.half_distances(means, means, squares)
    squared = squares.sum(axis=0)
    if not by_feature:
        half, squared = half[:, 0], squared[0]
    return Products(
        half[None],
        groups.n_pairs[None],
        np.array([squared]),
        np.array([len(means)]),
        np.zeros((1, 2), dtype=int),
    )


def _squares(rows: Float[np.ndarray, "n p"], by_feature: bool) -> Float[np.ndarray, "n q"]:
    """Return squares, by feature or their sum."""
    return rows**2 if by_feature else np.einsum("ij,ij->i", rows, rows)[:, None]


def of_groups(samples: Samples, *, by_feature: bool = False) -> Products:
    """Return the products of samples of different groups, for every pair of groups."""
    assert samples.groups is not None
    tuples, index = np.unique(samples.components, axis=0, return_inverse=True)
    _, group = np.unique(samples.groups, return_inverse=True)
    n_groups, n_tuples = int(group.max()) + 1, len(tuples)
    cell = group * n_tuples + index.ravel()
    counts = np.bincount(cell, minlength=n_groups * n_tuples).reshape(n_groups, n_tuples)
    means = averaging(cell, np.maximum(counts.ravel(), 1)) @ samples.features
    means = means.reshape(n_groups, n_tuples, -1)
    known: dict[bytes, TupleGroups] = {}
    halves, n_pairs, squared_lengths, sizes, pairs = [], [], [], [], []
    for a, b in combinations(range(n_groups), 2):
        both = (counts[a] > 0) & (counts[b] > 0)
        if both.sum() < 2:
            continue
        if both.tobytes() not in known:
            known[both.tobytes()] = TupleGroups.of(tuples[both])
        overlaps = known[both.tobytes()]
        # These number tuples in their order, in which they are sorted.
        first, second = means[a][both], means[b][both]
        product = first * second
        squares = product if by_feature else product.sum(axis=1, keepdims=True)
        half, squared = overlaps.half_distances(first, second, squares), squares.sum(axis=0)
        halves.append(half if by_feature else half[:, 0])
        n_pairs.append(overlaps.n_pairs)
        squared_lengths.append(squared if by_feature else squared[0])
        sizes.append(int(both.sum()))
        pairs.append((a, b))
    n_sets = 1 << samples.components.shape[1]
    extra = (samples.features.shape[1],) if by_feature else ()
    return Products(
        np.array(halves).reshape(-1, n_sets, *extra),
        np.array(n_pairs, dtype=int).reshape(-1, n_sets),
        np.array(squared_lengths).reshape(-1, *extra),
        np.array(sizes, dtype=int),
        np.array(pairs, dtype=int).reshape(-1, 2),
    )


def noise_by_feature(samples: Samples, groups: TupleGroups) -> Float[np.ndarray, " p"]:
    """Return the variance within tuples of each feature, mean over tuples; NaN without repeats."""
    repeated = groups.counts >= 2
    if not repeated.any():
        return np.full(samples.features.shape[1], np.nan)
    freedom = np.where(repeated, groups.counts - 1.0, 1.0)
    means, weights = groups.means(samples.features), 1.0 / freedom[groups.index]
    total = squares_by_column(samples.features, means, groups.index, weights)
    return total / repeated.sum()
