r"""Products of condition means by level: their overlap, the values of single components, the rest.

Products of estimated means have errors. Their projections on nested levels are drawn to 0, each by
the share that errors have in it (James and Stein, 1961): pairs with the same overlap have one mean,
which is left as it is; pairs of values of a single component have means of their own, which is how
near values of graded codes are more alike; what is left is memory of single conditions.

With means :math:`m_a` of errors :math:`e_a`, of covariance :math:`\epsilon_a \Sigma`, a projection
P of the pairs has on average the squared error

.. math::
    4 \sum_{abd} P_{ab, ad}\, \epsilon_a\, m_b \Sigma m_d
    + 2\, \mathrm{tr}\, \Sigma^2 \sum_{ab} P_{ab, ab}\, \epsilon_a \epsilon_b.

The shares of levels in the errors of all pairs are those of noise that is alike in all directions,
for which these are linear in its variance. Derived here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from partwhole.features.subsets import overlap_sets

# Columns of a level, above which components with many values are left to the rest.
MOST_COLUMNS = 1500
# Conditions, at equal distances, from which errors are summed.
MOST_ROWS = 128
FEW_DIGITS = 1e-10


@dataclass(frozen=True, eq=False)
class Projection:
    """Least squares of pairs of conditions by columns of ones, for each of which pairs say one.

    Parameters
    ----------
    columns : list of int arrays, shape (A, A)
        For each pair, its columns.
    inverse : float array, shape (q, q)
        Pseudo-inverse of the columns' products.
    """

    columns: list[Int[np.ndarray, "A A"]]
    inverse: Float[np.ndarray, "q q"]

    @classmethod
    def of(cls, codes: Sequence[Int[np.ndarray, "A A"]]) -> Projection:
        """Return the projection on indicators of each of some codes, from 0."""
        sizes = [int(code.max()) + 1 for code in codes]
        starts = np.cumsum([0, *sizes])
        products = np.block([
            [
                np.bincount((code * width + other).ravel(), minlength=size * width).reshape(
                    size, width
                )
                for other, width in zip(codes, sizes, strict=True)
            ]
            for code, size in zip(codes, sizes, strict=True)
        ]).astype(float)  # fmt: skip
        columns = [code + start for code, start in zip(codes, starts[:-1], strict=True)]
        return cls(columns, np.linalg.pinv(products, rcond=FEW_DIGITS, hermitian=True))

    def of_pairs(self, gram: Float[np.ndarray, "A A"]) -> Float[np.ndarray, "A A"]:
        """Return the projection of products of pairs."""
        flat, size = gram.ravel(), len(self.inverse)
        sums = sum(np.bincount(column.ravel(), flat, size) for column in self.columns)
        means = self.inverse @ sums
        projected = means[self.columns[0]]
        for column in self.columns[1:]:
            projected += means[column]
        return projected

    def errors(
        self, products: Float[np.ndarray, "A A"], error: Float[np.ndarray, " A"]
    ) -> Float[np.ndarray, " 2"]:
        """Return squared errors of projected products, summed over pairs.

        For noise that is alike in all directions: without its own products, and for each unit of
        its variance over features, by which products of estimated means are too large.
        """
        n, sums = len(error), np.zeros(2)
        rows = np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(int))
        for row in rows:
            along = [column[row] for column in self.columns]
            halves = np.sum([self.inverse[chosen] for chosen in along], axis=0)
            of_row = np.sum([halves[:, chosen] for chosen in along], axis=0)
            linear, of_noise = np.vdot(of_row, products), np.diag(of_row) @ error
            sums += error[row] * np.array([4.0 * linear, -2.0 * of_noise])
        return sums * n / len(rows)


class Parts(NamedTuple):
    """Products of conditions by level, which add up to them.

    Parameters
    ----------
    mean, single, rest : float arrays, shape (A, A)
        By overlap; in single components beyond it; and what is left.
    """

    mean: Float[np.ndarray, "A A"]
    single: Float[np.ndarray, "A A"]
    rest: Float[np.ndarray, "A A"]

    def drawn(self, kept: tuple[float, float]) -> Float[np.ndarray, "A A"]:
        """Return products of which so much is kept in single components and in the rest."""
        return self.mean + kept[0] * self.single + kept[1] * self.rest


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels of products of conditions, and the errors in each.

    Parameters
    ----------
    by_overlap, by_values : Projection
        By overlap alone, and by pairs of values of each component, too.
    errors : float array, shape (3, 2)
        `Projection.errors` of products in single components beyond the overlap, in the rest, and
        in all.
    """

    by_overlap: Projection
    by_values: Projection
    errors: Float[np.ndarray, "3 2"]

    @classmethod
    def of(
        cls,
        conditions: Int[np.ndarray, "A C"],
        products: Float[np.ndarray, "A A"],
        error: Float[np.ndarray, " A"],
    ) -> Levels:
        """Return the levels of conditions.

        Parameters
        ----------
        conditions : int array, shape (A, C)
            Values of components.
        products : float array, shape (A, A)
            Of estimated means.
        error : float array, shape (A,)
            Variance of the means in units of that of a trial.
        """
        overlap = _codes(overlap_sets(conditions, conditions))
        codes = [overlap]
        for values in sorted(conditions.T, key=lambda values: len(np.unique(values))):
            low, high = (f(values[:, None], values) for f in (np.minimum, np.maximum))
            code = _codes(low * (int(values.max()) + 1) + high)
            if sum(int(code.max()) + 1 for code in (*codes, code)) <= MOST_COLUMNS:
                codes.append(code)
        by_overlap, by_values = Projection.of([overlap]), Projection.of(codes)
        first, second = (
            projection.errors(products, error) for projection in (by_overlap, by_values)
        )
        # Of all pairs, each with its transposed.
        lengths = np.diag(products)
        linear = 2.0 * (error.sum() * lengths.sum() + error @ lengths)
        total = np.array([linear, -(error.sum() ** 2) - error @ error])
        return cls(by_overlap, by_values, np.array([second - first, total - second, total]))

    def shares(self, noise: float) -> Float[np.ndarray, " 2"]:
        """Return the shares of squared errors in single components and in the rest.

        Noise is the variance of a trial, summed over features.
        """
        *parts, total = self.errors @ [1.0, noise]
        return np.clip(np.array(parts) / total, 0.0, 1.0) if total > 0 else np.zeros(2)

    def parts(self, gram: Float[np.ndarray, "A A"]) -> Parts:
        """Return the levels of products."""
        mean, fit = self.by_overlap.of_pairs(gram), self.by_values.of_pairs(gram)
        return Parts(mean, fit - mean, gram - fit)

    def kept(self, parts: Parts, error: float, noise: float) -> tuple[float, float]:
        """Return what is no error of products in single components, and of the rest.

        Parameters
        ----------
        parts : Parts
        error : float
            Squared errors of the products, summed over pairs.
        noise : float
            Variance of a trial, summed over features.
        """
        kept = []
        for part, share in zip((parts.single, parts.rest), self.shares(noise), strict=True):
            square = float(np.sum(part**2))
            kept.append(1.0 - min(share * error / square, 1.0) if square > 0 else 0.0)
        return kept[0], kept[1]


def _codes(labels: Int[np.ndarray, "A A"]) -> Int[np.ndarray, "A A"]:
    """Return labels of pairs, numbered from 0."""
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)
