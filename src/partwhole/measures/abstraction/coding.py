r"""Coding vectors of a component, and the forms in condition means whose ratio is their score.

A coding vector :math:`d_x` leads from one value of a component to another in a context x, the
values of all other components.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import nan, sqrt

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from partwhole.measures._graded import coding_contrasts
from partwhole.measures._means import Means, degrees_of

# Squared lengths that are fewer standard errors above 0 leave their ratios with a bias.
PRECISE = 3.0
# Share of a sum of products that is rounding.
FEW_DIGITS = 1e-12


@dataclass(frozen=True, eq=False)
class CodingVectors:
    """Coding vectors of all pairs of values of a component.

    Parameters
    ----------
    contrasts : sparse matrix, shape (k, T)
        A row for each vector, of the conditions between which it leads.
    pair : int array, shape (k,)
        The pair of values of each.
    counts : int array, shape (P,)
        Contexts of each pair of values.
    """

    contrasts: sparse.csr_matrix
    pair: Int[np.ndarray, " k"]
    counts: Int[np.ndarray, " P"]

    @classmethod
    def of(cls, conditions: Int[np.ndarray, "T C"], component: int) -> CodingVectors:
        """Return the coding vectors between the conditions that there are."""
        codes = np.unique(conditions[:, component]).tolist()
        contrasts, pair = coding_contrasts(conditions, component, codes)
        return cls(contrasts, pair, np.bincount(pair, minlength=1))

    @property
    def n_comparisons(self) -> int:
        """Return the number of ordered pairs of vectors that are compared."""
        return int(np.sum(self.counts * (self.counts - 1)))

    @cached_property
    def sums(self) -> sparse.csr_matrix:
        """Return sums over the contexts of each pair of values, shape (P, T)."""
        entries = (np.ones(len(self.pair)), (self.pair, np.arange(len(self.pair))))
        of_pair = sparse.csr_matrix(entries, shape=(len(self.counts), len(self.pair)))
        return sparse.csr_matrix(of_pair @ self.contrasts)

    @cached_property
    def others(self) -> Float[np.ndarray, " k"]:
        """Return the number of vectors that each is compared with."""
        return (self.counts - 1.0)[self.pair]

    @cached_property
    def forms(self) -> Float[np.ndarray, "2 T T"]:
        """Return the quadratic forms in means that are the inner products and squared lengths."""
        d, s = self.contrasts, self.sums
        # Squared sums have all products of two vectors, and their squared lengths.
        inner = s.T @ s - d.T @ d
        lengths = d.T @ sparse.diags(self.others) @ d
        return np.stack([inner.toarray(), lengths.toarray()])

    def score(self, products: Float[np.ndarray, "T T"]) -> float:
        """Return the score of means with these products; NaN if no squared length is positive."""
        inner, lengths = np.einsum("kst,st->k", self.forms, products)
        rounding = FEW_DIGITS * np.sum(np.abs(self.forms[1] * products))
        return float(inner / lengths) if lengths > rounding else nan

    def mean_cosine(self, means: Float[np.ndarray, "T q"]) -> float:
        """Return the mean cosine of two vectors in different contexts."""
        vectors = self.contrasts @ means
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not self.n_comparisons or not np.all(lengths[self.others > 0] > 0.0):
            return nan
        units = vectors / np.where(lengths > 0.0, lengths, 1.0)
        sums = np.zeros((len(self.counts), units.shape[1]))
        np.add.at(sums, self.pair, units)
        compared = self.counts > 1
        squares = np.sum(sums[compared] ** 2, axis=1) - self.counts[compared]
        return float(squares.sum()) / self.n_comparisons

    def error(self, means: Means, score: float, lengths: float) -> tuple[float, float]:
        """Return the standard error of the score and its degrees of freedom.

        Both are NaN if squared lengths are hardly above noise.
        """
        y = means.means
        inner_form, length_form = self.forms
        if lengths <= PRECISE * _size(means.influence(2.0 * length_form @ y)):
            return nan, nan
        gradient = 2.0 * (inner_form - score * length_form) @ y
        influence = means.influence(gradient)
        variance = _size(influence) ** 2
        rows = sparse.csr_matrix(sparse.vstack([self.sums, self.contrasts]))
        weights = np.concatenate([np.ones(len(self.counts)), -1.0 - score * self.others])
        # Influences count products of noise twice, and what these contribute is the least.
        noise = float(means.excess_covariance(rows, sparse.csr_matrix(weights))[0, 0])
        return sqrt(max(variance - noise, noise, 0.0)) / lengths, degrees_of(means, gradient)


def _size(influence: np.ndarray) -> float:
    return float(np.linalg.norm(influence))
