r"""Covariance of trials within conditions, by its spectrum, so that p x p is never formed.

The shrinkage of Ledoit and Wolf (J. Multivariate Anal. 2004) towards a multiple of the identity
leaves the eigenvectors of the residuals and moves their variances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._types import Real
from partwhole.measures._rows import averaging

FEW_DIGITS = 1e-12
# In place of no penalty at all, in units of the mean variance of a feature.
LEAST_RIDGE = 1e-8
# Share of the variance of features below which noise is rounding.
ROUNDING = 1e-24


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
        Variance along each of the p - q other directions.
    """

    directions: Float[np.ndarray, "q p"]
    variances: Float[np.ndarray, " q"]
    rest: float

    @property
    def n_features(self) -> int:
        """Return the number of features p."""
        return self.directions.shape[1]

    @property
    def n_rest(self) -> int:
        """Return the number of directions with the variance `rest`."""
        return self.directions.shape[1] - len(self.variances)

    @property
    def mean_variance(self) -> float:
        """Return the mean variance of a feature."""
        return self.trace(self.variances, self.rest) / self.n_features

    @classmethod
    def of_matrix(cls, covariance: Float[np.ndarray, "p p"]) -> NoiseSpectrum:
        """Return the spectrum of a covariance matrix."""
        variances, directions = np.linalg.eigh(covariance)
        return cls(directions.T, np.maximum(variances, 0.0), 0.0)

    @classmethod
    def of_residuals(cls, residuals: Float[np.ndarray, "n p"], degrees: int) -> NoiseSpectrum:
        """Return the shrunk covariance of residuals from condition means.

        Parameters
        ----------
        residuals : float array, shape (n, p)
        degrees : int
            n - T, the degrees of freedom that T means leave.
        """
        n, p = residuals.shape
        if p <= n:
            variances, directions = np.linalg.eigh(residuals.T @ residuals / n)
            directions = directions.T
        else:
            variances, left = np.linalg.eigh(residuals @ residuals.T / n)
            kept = variances > FEW_DIGITS * variances.max()
            variances = variances[kept]
            directions = (left[:, kept].T @ residuals) / np.sqrt(n * variances)[:, None]
        variances = np.maximum(variances, 0.0)
        weight = _shrinkage(residuals, variances)
        mean = float(variances.sum()) / p
        scale = n / degrees
        return cls(
            directions,
            scale * ((1.0 - weight) * variances + weight * mean),
            scale * weight * mean,
        )

    def trace(self, values: Float[np.ndarray, " q"], rest: float) -> float:
        """Return the sum of a function of the covariance over all directions."""
        return float(values.sum()) + self.n_rest * rest


def means_and_noise(
    features: Float[np.ndarray, "n p"], index: Int[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "A p"], NoiseSpectrum]:
    """Return the mean of each condition and the noise of trials.

    Parameters
    ----------
    features : float array, shape (n, p)
    index : int array, shape (n,)
        The condition of each trial, from 0.

    Raises
    ------
    InputError
        If no condition is repeated, or trials of a condition don't differ.
    """
    counts = np.bincount(index)
    degrees = len(index) - len(counts)
    require(
        degrees > 1,
        "the noise of trials shows in conditions with several of them",
        f"{len(index)} trials of {len(counts)} conditions",
        "add trials",
    )
    means = averaging(index, counts) @ features
    noise = NoiseSpectrum.of_residuals(features - means[index], degrees)
    spread = float(np.mean((features - features.mean(axis=0)) ** 2))
    require(
        noise.mean_variance > ROUNDING * spread,
        "trials of a condition differ",
        "the same features in all of them",
        "pass single trials, or use partwhole.solve for features without noise",
    )
    return means, noise


def penalty_of(ridge: Real | None, features: Float[np.ndarray, "n p"]) -> float:
    """Return the penalty of a ridge readout: by default the mean variance of a feature."""
    if ridge is None:
        return float(np.mean(np.var(features, axis=0)))
    return float(ridge)


def _shrinkage(residuals: Float[np.ndarray, "n p"], variances: Float[np.ndarray, " q"]) -> float:
    """Return Ledoit and Wolf's weight of the identity.

    The dispersion of the sample covariance around its expectation, over its distance from a
    multiple of the identity.
    """
    n, p = residuals.shape
    squares = float(np.sum(variances**2))
    distance = squares / p - (float(variances.sum()) / p) ** 2
    if distance <= FEW_DIGITS * squares / p:
        return 1.0
    fourth = float(np.sum(np.einsum("ij,ij->i", residuals, residuals) ** 2))
    dispersion = (fourth / n - squares) / (n * p)
    return min(max(dispersion / distance, 0.0), 1.0)
