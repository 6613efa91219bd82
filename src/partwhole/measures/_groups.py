"""Sums over groups of tuples: distances by exact overlap, without a tuples x tuples matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from partwhole.features.conjunctions import Dictionary
from partwhole.features.subsets import moebius, set_of


@dataclass(frozen=True, eq=False)
class TupleGroups:
    """Samples grouped by tuple, and tuples grouped by shared conjunction."""

    index: Int[np.ndarray, " n"]
    counts: Int[np.ndarray, " T"]
    order: Int[np.ndarray, " n"]
    sharing: tuple[sparse.csr_matrix, ...]
    n_pairs: Int[np.ndarray, " sets"]

    @classmethod
    def of(cls, components: np.ndarray) -> TupleGroups:
        n_components = components.shape[1]
        n_values = [int(column.max()) + 1 for column in components.T]
        dictionary, index = Dictionary.of(components, tuple(range(n_components)), n_values)
        counts = np.bincount(index, minlength=dictionary.size)
        tuples = dictionary.values()
        sharing = []
        for mask in range((1 << n_components) - 1):
            _, group = Dictionary.of(tuples, set_of(mask), n_values)
            sharing.append(
                sparse.csr_matrix((np.ones(len(tuples)), (group, np.arange(len(tuples)))))
            )
        at_least = [
            int(np.sum(np.asarray(shared.sum(axis=1)).ravel() ** 2)) - len(tuples)
            for shared in sharing
        ]
        # Ordered pairs of different tuples; each is counted twice.
        pairs = np.rint(over_supersets(np.array([*at_least, 0.0])) / 2).astype(int)
        return cls(index, counts, np.argsort(index, kind="stable"), tuple(sharing), pairs)

    def averaging(self, weights: np.ndarray) -> sparse.csr_matrix:
        """Return the (T, n) matrix that takes weighted means within tuples."""
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        totals = np.bincount(self.index, weights)
        return sparse.csr_matrix(
            ((weights / totals[self.index])[self.order], self.order, starts),
            shape=(len(self.counts), len(self.index)),
        )

    def half_distances(
        self,
        first: Float[np.ndarray, "T p"],
        second: Float[np.ndarray, "T p"],
        squares: Float[np.ndarray, "T q"],
    ) -> Float[np.ndarray, "sets q"]:
        r"""Return half the squared distances of tuples, summed over their pairs by exact overlap.

        A pair's is :math:`(q_t + q_u - f_t g_u - f_u g_t) / 2`, with two estimates f and g of the
        tuples' means and an estimate q of their squares, by feature or summed over features; 0 for
        equal tuples.
        """
        whole = squares.shape[1] < first.shape[1]
        product = (first * second).sum(axis=0)
        at_least = []
        for shared in self.sharing:
            size = np.asarray(shared.T @ shared.sum(axis=1)).ravel()
            crossed = ((shared @ first) * (shared @ second)).sum(axis=0) - product
            at_least.append((size - 1.0) @ squares - (crossed.sum() if whole else crossed))
        at_least.append(np.zeros_like(at_least[0]))
        return 0.5 * over_supersets(np.array(at_least))

    def squares(
        self,
        samples: Float[np.ndarray, "n q"],
        means: Float[np.ndarray, "T q"],
        weights: Float[np.ndarray, " n"],
        noise: Float[np.ndarray, " q"],
    ) -> Float[np.ndarray, "T q"]:
        """Return squares of the tuples' means from products of different samples.

        Of a single sample it is its square less the variance of the noise.

        Parameters
        ----------
        samples, means : float arrays, shapes (n, q) and (T, q)
            Squares of samples and of their plain means.
        weights : float array, shape (n,)
        noise : float array, shape (q,)
        """
        total, self_weight = np.bincount(self.index, weights), np.bincount(self.index, weights**2)
        left = total**2 - self_weight
        usable = left > 0.5
        products = total[:, None] ** 2 * means - self_weight[:, None] * (
            self.averaging(weights**2) @ samples
        )
        products = products / np.where(usable, left, 1.0)[:, None]
        return np.where(usable[:, None], products, means - noise)

    def resampled(self, rng: np.random.Generator) -> np.ndarray:
        """Return how often each sample is drawn when every tuple resamples its samples."""
        starts = np.cumsum(self.counts) - self.counts
        place = (rng.random(len(self.index)) * self.counts[self.index]).astype(int)
        drawn = self.order[starts[self.index] + place]
        return np.bincount(drawn, minlength=len(self.index)).astype(float)


def over_supersets(numbers: np.ndarray) -> np.ndarray:
    """Invert the sum over supersets along the first axis (the Möbius form, with complements)."""
    flat = np.moveaxis(numbers[::-1], 0, -1)
    return np.moveaxis(moebius(flat), -1, 0)[::-1]
