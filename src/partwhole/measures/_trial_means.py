"""Means of conditions whose trials are independent, and what products of different trials say.

`TrialMeans` and `GroupMeans` have the same attributes. With means y of shape (T, q), products of
different trials estimate the products y y' of the true means without bias, as the products of the
measured ones less a term of noise. For independent trials that term is diagonal; where trials share
groups it comes from differences between groups, and only products across groups remain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from partwhole.measures._rows import averaging

Form = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class TrialMeans:
    """Means of conditions whose trials are independent.

    Parameters
    ----------
    conditions : int array, shape (T, C)
        Conditions with two trials or more, as value indices.
    trials : float array, shape (n, q)
        Coordinates of the responses that keep all their inner products, in units of `scale`, less
        the mean over conditions if `center`.
    index : int array, shape (n,)
        The condition of each trial.
    columns : float array, shape (n, p)
        The same responses by neuron.
    scale : float
    center : bool
    notes : tuple of str
    """

    conditions: Int[np.ndarray, "T C"]
    trials: Float[np.ndarray, "n q"]
    index: Int[np.ndarray, " n"]
    columns: Float[np.ndarray, "n p"]
    scale: float
    center: bool
    notes: tuple[str, ...]

    @cached_property
    def counts(self) -> Int[np.ndarray, " T"]:
        """Return the number of trials of each condition."""
        return np.bincount(self.index)

    @cached_property
    def means(self) -> Float[np.ndarray, "T q"]:
        """Return the mean of each condition."""
        return averaging(self.index, self.counts) @ self.trials

    @cached_property
    def deviations(self) -> Float[np.ndarray, "n q"]:
        """Return trials less the mean of their condition."""
        return self.trials - self.means[self.index]

    @cached_property
    def noise(self) -> Float[np.ndarray, " T"]:
        """Return the variance of each mean, summed over neurons."""
        squares = np.einsum("ij,ij->i", self.deviations, self.deviations)
        return np.bincount(self.index, squares) / self._pairs

    @cached_property
    def noise_by_neuron(self) -> Float[np.ndarray, "T p"]:
        """Return the variance of each mean, by neuron."""
        average = averaging(self.index, self.counts)
        deviations = self.columns - (average @ self.columns)[self.index]
        return (average @ deviations**2) / (self.counts - 1.0)[:, None]

    @property
    def means_by_neuron(self) -> Float[np.ndarray, "T p"]:
        """Return the mean response of each neuron."""
        return averaging(self.index, self.counts) @ self.columns

    @property
    def trial_noise(self) -> float:
        """Return the variance of a trial, summed over neurons: the mean over conditions."""
        return float(np.mean(self.noise * self.counts))

    @property
    def degrees(self) -> int:
        """Return the degrees of freedom of the noise."""
        return len(self.index) - len(self.counts)

    @property
    def _pairs(self) -> np.ndarray:
        return self.counts * (self.counts - 1.0)

    @property
    def noise_rows(self) -> Float[np.ndarray, "m q"]:
        """Return rows whose squares estimate those of the noise of all means, by coordinate."""
        share = 1.0 - self.center / len(self.counts)
        return self.deviations * np.sqrt(share / self._pairs)[self.index, None]

    @property
    def by_neuron(self) -> TrialMeans:
        """Return the same with a coordinate for each neuron."""
        return replace(self, trials=self.columns)

    def ordered(self, order: np.ndarray) -> TrialMeans:
        """Return the same with conditions in another order."""
        place = np.argsort(order)
        return replace(self, conditions=self.conditions[order], index=place[self.index])

    @property
    def diagonal(self) -> Float[np.ndarray, " T"]:
        """Return the noise-free similarity of each condition with itself."""
        noise, share = self.noise, self.center / len(self.counts)
        centred = noise * (1.0 - 2.0 * share) + share**2 * noise.sum()
        return np.einsum("ij,ij->i", self.means, self.means) - centred

    def quadratic(self, form: Form, diagonal: np.ndarray) -> float:
        """Return the noise-free trace of M'AM, for a symmetric A with this diagonal."""
        return float(np.sum(self.means * form(self.means)) - diagonal @ self.noise)

    def quadratic_by_neuron(self, form: Form, diagonal: np.ndarray) -> Float[np.ndarray, " p"]:
        """Return each neuron's part in that trace."""
        means = self.means_by_neuron
        return np.sum(means * form(means), axis=0) - diagonal @ self.noise_by_neuron

    def similarity_times(self, values: Float[np.ndarray, "T k"]) -> Float[np.ndarray, "T k"]:
        """Return the product of the noise-free similarities of conditions with a matrix."""
        if self.center:
            values = values - values.mean(axis=0)
        noise = self.noise[:, None] * values
        if self.center:
            noise -= noise.mean(axis=0)
        y = self.means
        if y.shape[1] > len(y):
            return (y @ y.T) @ values - noise
        return y @ (y.T @ values) - noise

    def squares(self, contrasts: sparse.csr_matrix) -> Float[np.ndarray, " k"]:
        """Return the noise-free squared lengths of sums over conditions, a row for each."""
        lengths = np.sum((contrasts @ self.means) ** 2, axis=1)
        return lengths - contrasts.multiply(contrasts) @ self.noise

    def influences(self, contrasts: sparse.csr_matrix) -> sparse.csr_matrix:
        """Return each trial's part in the error of each of those squares, shape (n, k)."""
        along = contrasts @ self.means
        by_condition = sparse.csc_matrix(contrasts)
        order = np.argsort(self.index, kind="stable")
        starts = np.cumsum(self.counts) - self.counts
        parts = []
        for c, (start, m) in enumerate(zip(starts, self.counts, strict=True)):
            entries = slice(by_condition.indptr[c], by_condition.indptr[c + 1])
            rows, weights = by_condition.indices[entries], by_condition.data[entries]
            trials = order[start : start + m]
            values = 2.0 * (self.deviations[trials] @ along[rows].T) * weights
            values /= np.sqrt(self._pairs[c])
            parts.append((values.ravel(), np.repeat(trials, len(rows)), np.tile(rows, m)))
        values, trials, rows = map(np.concatenate, zip(*parts, strict=True))
        return sparse.csr_matrix((values, (trials, rows)), shape=(len(order), len(along)))

    def excess_covariance(
        self, contrasts: sparse.csr_matrix, averaging: sparse.csr_matrix
    ) -> Float[np.ndarray, "P P"]:
        """Return by how much influences overstate the covariance of averages of those squares.

        Noise times noise of two conditions is in the influences of both; of one condition, it is
        there once for every trial, not for every two.
        """
        m, squared = self.counts.astype(float), contrasts.multiply(contrasts)
        spread = contrasts @ sparse.diags(1.0 / m) @ contrasts.T
        alone = squared @ sparse.diags(1.0 / (m**2 * (m - 1.0))) @ squared.T
        excess = averaging @ (spread.multiply(spread) - alone) @ averaging.T
        return 2.0 * self.noise_square * np.asarray(excess.todense())

    @cached_property
    def noise_square(self) -> float:
        """Return the trace of the square of a trial's covariance, mean over conditions."""
        rows = self.deviations
        order = np.argsort(self.index, kind="stable")
        parts = np.split(rows[order], np.cumsum(self.counts)[:-1])
        within = sum(squares_of_product(part, part) for part in parts)
        degrees = self.degrees**2 - np.sum((self.counts - 1.0) ** 2)
        return max((squares_of_product(rows, rows) - within) / float(degrees), 0.0)

    def influence(self, gradient: Float[np.ndarray, "T q"]) -> Float[np.ndarray, " n"]:
        """Return each trial's part in the error of a function of the means.

        The sum of their squares estimates the variance of the function.
        """
        along = np.einsum("ij,ij->i", gradient[self.index], self.deviations)
        return along / np.sqrt(self._pairs)[self.index]


def squares_of_product(a: np.ndarray, b: np.ndarray) -> float:
    """Return the sum of the squared entries of A B', by the smaller matrices."""
    if a.shape[1] ** 2 < len(a) * len(b):
        gram = a.T @ a
        return float(np.sum(gram * (gram if a is b else b.T @ b)))
    return float(np.sum((a @ b.T) ** 2))
