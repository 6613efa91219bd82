r"""Covariance of trials within conditions, by its spectrum, so that p x p is never formed.

The shrinkage of Ledoit and Wolf (J. Multivariate Anal. 2004) towards a multiple of the identity
leaves the eigenvectors of the residuals and moves their variances. `unbiased` leaves these too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._types import Real
from partwhole.measures.readouts.resolvent import Spectrum

FEW_DIGITS = 1e-12
# In place of no penalty at all, in units of the mean variance of a feature.
LEAST_RIDGE = 1e-8


@dataclass(frozen=True, eq=False)
class NoiseSpectrum:
    """Covariance with a few directions of their own, and one variance in all others.

    Parameters
    ----------
    directions : float array, shape (q, p)
        Orthonormal rows.
    variances : float array, shape (q,)
        Along them.
    rest : float
        Variance along each other direction.
    beside : int, default 0
        Number of features beside these p, none of which is part of a direction.
    """

    directions: Float[np.ndarray, "q p"]
    variances: Float[np.ndarray, " q"]
    rest: float
    beside: int = 0

    @property
    def spectrum(self) -> Spectrum:
        """Return it without the directions."""
        n_rest = self.directions.shape[1] + self.beside - len(self.variances)
        return Spectrum(self.variances, self.rest, n_rest)

    @classmethod
    def of_matrix(cls, covariance: Float[np.ndarray, "p p"], beside: int = 0) -> NoiseSpectrum:
        """Return the spectrum of a covariance matrix."""
        variances, directions = np.linalg.eigh(covariance)
        return cls(directions.T, np.maximum(variances, 0.0), 0.0, beside)

    @classmethod
    def of_residuals(
        cls, residuals: Float[np.ndarray, "n p"], degrees: int, beside: int = 0
    ) -> NoiseSpectrum:
        """Return the shrunk covariance of residuals from condition means.

        Parameters
        ----------
        residuals : float array, shape (n, p)
        degrees : int
            n - T, the degrees of freedom that T means leave.
        beside : int, default 0
            Features beside, in which there are no residuals.
        """
        sample = cls.unbiased(residuals, degrees, beside)
        return sample.shrunk(residuals, degrees)

    @classmethod
    def unbiased(
        cls, residuals: Float[np.ndarray, "n p"], degrees: int, beside: int = 0
    ) -> NoiseSpectrum:
        """Return the covariance of residuals from condition means, as it is."""
        n, p = residuals.shape
        if p <= n:
            return cls.of_matrix(residuals.T @ residuals / degrees, beside)
        variances, left = np.linalg.eigh(residuals @ residuals.T / degrees)
        kept = variances > FEW_DIGITS * variances.max()
        variances = variances[kept]
        directions = (left[:, kept].T @ residuals) / np.sqrt(degrees * variances)[:, None]
        return cls(directions, variances, 0.0, beside)

    def shrunk(self, residuals: Float[np.ndarray, "n p"], degrees: int) -> NoiseSpectrum:
        """Return the covariance of residuals, shrunk; its own is unbiased."""
        n, p = len(residuals), residuals.shape[1] + self.beside
        weight = _shrinkage(residuals, self.variances * degrees / n, p)
        mean = float(self.variances.sum()) / p
        variances = (1.0 - weight) * self.variances + weight * mean
        return NoiseSpectrum(self.directions, variances, weight * mean, self.beside)


def penalty_of(ridge: Real | None, features: Float[np.ndarray, "n p"]) -> float:
    """Return the penalty of a ridge readout: by default the mean variance of varying features."""
    if ridge is None:
        return float(np.mean(np.var(varying(features), axis=0)))
    return float(ridge)


def varying(features: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n q"]:
    """Return the features that differ between rows: readouts have no use for the others.

    All of them where none differs.
    """
    differs = (features != features[:1]).any(axis=0)
    return features if differs.all() or not differs.any() else features[:, differs]


def _shrinkage(
    residuals: Float[np.ndarray, "n c"], variances: Float[np.ndarray, " q"], p: int
) -> float:
    """Return Ledoit and Wolf's weight of the identity, of p features.

    The dispersion of the sample covariance around its expectation, over its distance from a
    multiple of the identity.
    """
    n = len(residuals)
    squares = float(np.sum(variances**2))
    distance = squares / p - (float(variances.sum()) / p) ** 2
    if distance <= FEW_DIGITS * squares / p:
        return 1.0
    fourth = float(np.sum(np.einsum("ij,ij->i", residuals, residuals) ** 2))
    dispersion = (fourth / n - squares) / (n * p)
    return min(max(dispersion / distance, 0.0), 1.0)
