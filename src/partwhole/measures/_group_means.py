"""Means of conditions whose trials share noise within groups; see `TrialMeans`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.linalg import helmert

from partwhole.measures._trial_means import Form


@dataclass(frozen=True, eq=False)
class GroupMeans:
    """Means of conditions whose trials may share noise with all trials of their group.

    Parameters
    ----------
    conditions : int array, shape (T, C)
    groups : float array, shape (R, T, q)
        Mean of each condition in each set of groups, in units of `scale`, less the mean over
        conditions if `center`.
    columns : float array, shape (R, T, p)
        The same by neuron.
    scale : float
    center : bool
    trial_noise : float
    notes : tuple of str
    """

    conditions: Int[np.ndarray, "T C"]
    groups: Float[np.ndarray, "R T q"]
    columns: Float[np.ndarray, "R T p"]
    scale: float
    center: bool
    trial_noise: float
    notes: tuple[str, ...]

    @cached_property
    def means(self) -> Float[np.ndarray, "T q"]:
        """Return the mean of each condition, with the same weight of each set of groups."""
        return self.groups.mean(axis=0)

    @cached_property
    def deviations(self) -> Float[np.ndarray, "R T q"]:
        """Return differences of groups from their mean."""
        return self.groups - self.means

    @property
    def degrees(self) -> int:
        """Return the degrees of freedom of the noise."""
        return len(self.groups) - 1

    @property
    def _pairs(self) -> int:
        return len(self.groups) * (len(self.groups) - 1)

    @property
    def noise_rows(self) -> Float[np.ndarray, "m q"]:
        """Return rows whose squares estimate those of the noise of all means, by coordinate."""
        return self.deviations.reshape(-1, self.means.shape[1]) / np.sqrt(self._pairs)

    @property
    def by_neuron(self) -> GroupMeans:
        """Return the same with a coordinate for each neuron."""
        return replace(self, groups=self.columns)

    def ordered(self, order: np.ndarray) -> GroupMeans:
        """Return the same with conditions in another order."""
        groups, columns = self.groups[:, order], self.columns[:, order]
        return replace(self, conditions=self.conditions[order], groups=groups, columns=columns)

    @property
    def diagonal(self) -> Float[np.ndarray, " T"]:
        """Return the noise-free similarity of each condition with itself."""
        return np.diagonal(self._similarities).copy()

    def quadratic(self, form: Form, diagonal: np.ndarray) -> float:
        """Return the noise-free trace of M'AM, for a symmetric A; its diagonal is not used."""
        noise = sum(float(np.sum(rows * form(rows))) for rows in self.deviations)
        return float(np.sum(self.means * form(self.means))) - noise / self._pairs

    def quadratic_by_neuron(self, form: Form, diagonal: np.ndarray) -> Float[np.ndarray, " p"]:
        """Return each neuron's part in that trace."""
        means = self.columns.mean(axis=0)
        deviations = self.columns - means
        noise = np.sum([np.sum(rows * form(rows), axis=0) for rows in deviations], axis=0)
        return np.sum(means * form(means), axis=0) - noise / self._pairs

    def similarity_times(self, values: Float[np.ndarray, "T k"]) -> Float[np.ndarray, "T k"]:
        """Return the product of the noise-free similarities of conditions with a matrix."""
        return self._similarities @ values

    @cached_property
    def _similarities(self) -> Float[np.ndarray, "T T"]:
        noise = sum(rows @ rows.T for rows in self.deviations)
        return self.means @ self.means.T - noise / self._pairs

    def squares(self, contrasts: sparse.csr_matrix) -> Float[np.ndarray, " k"]:
        """Return the noise-free squared lengths of sums over conditions, a row for each."""
        lengths = np.sum((contrasts @ self.means) ** 2, axis=1)
        noise = np.sum(
            [np.sum((contrasts @ rows) ** 2, axis=1) for rows in self.deviations], axis=0
        )
        return lengths - noise / self._pairs

    def influences(self, contrasts: sparse.csr_matrix) -> sparse.csr_matrix:
        """Return each set's part in the error of each of those squares, shape (R, k)."""
        along = contrasts @ self.means
        rows = [np.sum((contrasts @ rows) * along, axis=1) for rows in self.deviations]
        return sparse.csr_matrix(2.0 * np.stack(rows) / np.sqrt(self._pairs))

    def excess_covariance(
        self, contrasts: sparse.csr_matrix, averaging: sparse.csr_matrix
    ) -> Float[np.ndarray, "P P"]:
        """Return by how much influences overstate the covariance of averages of those squares.

        From products of independent combinations of the groups' deviations, of which two sets of
        groups have none.
        """
        independent = np.tensordot(helmert(len(self.groups)), self.deviations, axes=1)
        along = [contrasts @ rows for rows in independent]
        products = [averaging @ np.sum(a * b, axis=1) for a, b in combinations(along, 2)]
        if not products:
            return np.zeros((len(averaging.indptr) - 1,) * 2)
        squares = np.stack(products).T @ np.stack(products) / len(products)
        return 2.0 * (1.0 - 2.0 / len(self.groups)) / self._pairs * squares

    def influence(self, gradient: Float[np.ndarray, "T q"]) -> Float[np.ndarray, " R"]:
        """Return each set's part in the error of a function of the means.

        The sum of their squares estimates the variance of the function.
        """
        return np.einsum("ij,rij->r", gradient, self.deviations) / np.sqrt(self._pairs)
