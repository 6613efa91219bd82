"""Sums over groups of tuples: distances by exact overlap, without a tuples x tuples matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from partwhole.features.conjunctions import Dictionary
from partwhole.features.subsets import moebius, set_of
from partwhole.measures._rows import AT_ONCE, averaging


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

    def means(self, samples: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "T q"]:
        """Return the mean of each tuple's samples."""
        return self._averaging @ samples

    def mean_squares(self, samples: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "T q"]:
        """Return the mean of each tuple's squared samples."""
        total = np.zeros((len(self.counts), samples.shape[1]))
        for start in range(0, len(samples), AT_ONCE):
            of = slice(start, start + AT_ONCE)
            total += averaging(self.index[of], self.counts) @ samples[of] ** 2
        return total

    def weighted_products(
        self, samples: Float[np.ndarray, "n q"], weights: Float[np.ndarray, " T"]
    ) -> Float[np.ndarray, "q q"]:
        """Return products of features, summed over samples with the weights of their tuples."""
        total, roots = np.zeros((samples.shape[1], samples.shape[1])), np.sqrt(weights)
        for start in range(0, len(samples), AT_ONCE):
            of = slice(start, start + AT_ONCE)
            scaled = samples[of] * roots[self.index[of], None]
            total += scaled.T @ scaled
        return total

    @cached_property
    def _averaging(self) -> sparse.csr_matrix:
        return averaging(self.index, self.counts)

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
        samples: Float[np.ndarray, "T q"],
        means: Float[np.ndarray, "T q"],
        noise: Float[np.ndarray, " q"],
    ) -> Float[np.ndarray, "T q"]:
        """Return squares of the tuples' means from products of different samples.

        Of a single sample it is its square less the variance of the noise.

        Parameters
        ----------
        samples, means : float arrays, shape (T, q)
            Mean squares of samples, and squares of their means.
        noise : float array, shape (q,)
        """
        counts = self.counts[:, None].astype(float)
        products = (counts * means - samples) / np.maximum(counts - 1.0, 1.0)
        return np.where(counts > 1, products, means - noise)


def over_supersets(numbers: np.ndarray) -> np.ndarray:
    """Invert the sum over supersets along the first axis (the Möbius form, with complements)."""
    flat = np.moveaxis(numbers[::-1], 0, -1)
    return np.moveaxis(moebius(flat), -1, 0)[::-1]
