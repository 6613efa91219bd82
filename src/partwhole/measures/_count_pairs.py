"""Pairs of tuples by the number of components that they share, without listing sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole.measures._rows import averaging
from partwhole.measures._samples import grid_weights
from partwhole.measures._similarity import Samples

CHUNK = 256


@dataclass(frozen=True, eq=False)
class CountedTuples:
    """Samples by tuple, and the tuples whose pairs are compared.

    Parameters
    ----------
    rows : int array, shape (T, C)
    index : int array, shape (n,)
        The tuple of each sample.
    counts : int array, shape (T,)
    features : float array, shape (n, p)
    groups : int array, shape (n,), or None
    drawn : int array, shape (d,)
    """

    rows: Int[np.ndarray, "T C"]
    index: Int[np.ndarray, " n"]
    counts: Int[np.ndarray, " T"]
    features: Float[np.ndarray, "n p"]
    groups: Int[np.ndarray, " n"] | None
    drawn: Int[np.ndarray, " d"]

    @classmethod
    def of(cls, samples: Samples, most: int, seed: int) -> CountedTuples:
        """Return the tuples of samples, and at most so many to compare."""
        rows, index, counts = np.unique(
            samples.components, axis=0, return_inverse=True, return_counts=True
        )
        require(len(rows) >= 2, "pairs need two tuples", len(rows), "add others")
        drawn = np.arange(len(rows))
        if len(rows) > most:
            drawn = np.sort(np.random.default_rng(seed).choice(len(rows), most, replace=False))
        return cls(rows, index.ravel(), counts, samples.features, samples.groups, drawn)

    @property
    def means(self) -> Float[np.ndarray, "T p"]:
        """Return the mean of each tuple's samples."""
        return averaging(self.index, self.counts) @ self.features

    def half_distances(
        self, squared: Float[np.ndarray, " T"]
    ) -> tuple[Float[np.ndarray, " orders"], Int[np.ndarray, " orders"]]:
        """Return half the squared distances of ordered pairs, summed by count, and the pairs.

        Parameters
        ----------
        squared : float array, shape (T,)
            Squared lengths of tuples.
        """
        means, lengths = self.means[self.drawn], squared[self.drawn]

        def distances(i: np.ndarray) -> Float[np.ndarray, "m d"]:
            return 0.5 * (lengths[i, None] + lengths) - means[i] @ means.T

        total, _, pairs = by_count(self.rows[self.drawn], distances)
        return total, pairs

    def across_groups(
        self,
    ) -> tuple[float, Float[np.ndarray, " orders"], Int[np.ndarray, " orders"]]:
        """Return the mean square of tuples, and half distances with pairs, of all pairs of groups.

        Raises
        ------
        InputError
            If no two groups have two tuples in common.
        """
        assert self.groups is not None
        n_tuples, n_orders = len(self.rows), self.rows.shape[1] + 1
        group = np.unique(self.groups, return_inverse=True)[1].ravel()
        n_groups = int(group.max()) + 1
        cell = group * n_tuples + self.index
        counts = np.bincount(cell, minlength=n_groups * n_tuples)
        centre = grid_weights(self.rows) @ self.means
        means = averaging(cell, np.maximum(counts, 1)) @ (self.features - centre)
        means = means.reshape(n_groups, n_tuples, -1)
        present = (counts > 0).reshape(n_groups, n_tuples)
        half, pairs = np.zeros(n_orders), np.zeros(n_orders, dtype=np.int64)
        total, n_squares = 0.0, 0
        for a, b in combinations(range(n_groups), 2):
            both = present[a] & present[b]
            if both.sum() < 2:
                continue
            squares = np.einsum("ij,ij->i", means[a], means[b])
            total += float(squares[both].sum())
            n_squares += int(both.sum())
            kept = self.drawn[both[self.drawn]]
            first, second, lengths = means[a, kept], means[b, kept], squares[kept]

            def distances(
                i: np.ndarray,
                f: np.ndarray = first,
                g: np.ndarray = second,
                q: np.ndarray = lengths,
            ) -> Float[np.ndarray, "m d"]:
                return 0.5 * (q[i, None] + q - f[i] @ g.T - g[i] @ f.T)

            more, _, count = by_count(self.rows[kept], distances)
            half, pairs = half + more, pairs + count
        require(
            n_squares > 0,
            "products across groups need two tuples that are in the same two groups",
            "none",
            "leave groups out, or spread the repeats of tuples over groups",
        )
        level = float(centre @ (2.0 * self.means.mean(axis=0) - centre))
        return total / n_squares + level, half, pairs

    @property
    def structure(self) -> float:
        """Return the share of the variance of similarity that the number of shared parts explains.

        Of different tuples, centred; NaN where nothing varies.
        """
        means = self.means
        means = (means - grid_weights(self.rows) @ means)[self.drawn]
        total, square, pairs = (
            sums[:-1] for sums in by_count(self.rows[self.drawn], lambda i: means[i] @ means.T)
        )
        mean = total.sum() / pairs.sum()
        spread = square.sum() - pairs.sum() * mean**2
        present = pairs > 0
        explained = np.sum(pairs[present] * (total[present] / pairs[present] - mean) ** 2)
        return float(explained / spread) if spread > 1e-12 * square.sum() else float("nan")


def by_count(
    rows: Int[np.ndarray, "T C"], values: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values of ordered pairs, their squares and ones, summed by shared components.

    Parameters
    ----------
    rows : int array, shape (T, C)
    values : callable
        From m numbers of tuples to their values with all tuples, shape (m, T).
    """
    n_orders = rows.shape[1] + 1
    total, square = np.zeros(n_orders), np.zeros(n_orders)
    pairs = np.zeros(n_orders, dtype=np.int64)
    for start in range(0, len(rows), CHUNK):
        chunk = np.arange(start, min(start + CHUNK, len(rows)))
        shared = np.zeros((len(chunk), len(rows)), dtype=np.int64)
        for column in rows.T:
            shared += column[chunk, None] == column[None, :]
        flat, of_pairs = shared.ravel(), values(chunk).ravel()
        pairs += np.bincount(flat, minlength=n_orders)
        total += np.bincount(flat, of_pairs, n_orders)
        square += np.bincount(flat, of_pairs**2, n_orders)
    return total, square, pairs
