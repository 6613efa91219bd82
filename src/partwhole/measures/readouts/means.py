"""Condition means as a readout uses them: measured, or known by their overlap alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from partwhole.features.subsets import overlap_sets
from partwhole.measures.readouts.noise import NoiseSpectrum


@dataclass(frozen=True, eq=False)
class MeasuredMeans:
    r"""Means along the directions of the noise and beside them.

    Products of means that are estimated from m trials have errors of known variance,
    :math:`(\mu_t B \mu_t + \mu_u B \mu_u + \mathrm{tr}\, B^2 / m) / m` for a pair of conditions.
    Each is therefore drawn towards the mean over pairs with the same overlap, by the share that
    errors have in the deviations from it (James and Stein, 1961); without this they would pass for
    memory of single conditions.

    Parameters
    ----------
    along : float array, shape (A, q)
    beside : float array, shape (A, A)
        Products of what is left of them beside these directions.
    error : float array, shape (A,)
        Variance of the estimated means in units of that of a trial; 0 if they are known.
    noise : NoiseSpectrum
    overlap : int array, shape (A, A), or None
        The overlap set of each pair of conditions; None to leave products as they are.
    centring : float array, shape (A, A)
        What subtracts the mean over training trials.
    """

    along: Float[np.ndarray, "A q"]
    beside: Float[np.ndarray, "A A"]
    error: Float[np.ndarray, " A"]
    noise: NoiseSpectrum
    overlap: Int[np.ndarray, "A A"] | None
    centring: Float[np.ndarray, "A A"]

    @classmethod
    def of(
        cls,
        means: Float[np.ndarray, "A p"],
        noise: NoiseSpectrum,
        trials: Int[np.ndarray, " A"] | None = None,
        conditions: Int[np.ndarray, "A C"] | None = None,
    ) -> MeasuredMeans:
        """Return means with the directions of the noise; exact ones, or of so many trials."""
        # An offset of all means costs digits, and changes no readout with an intercept.
        centred = means - means.mean(axis=0)
        along = centred @ noise.directions.T
        error = np.zeros(len(means)) if trials is None else 1.0 / trials
        overlap = None
        if trials is not None and conditions is not None:
            overlap = overlap_sets(conditions, conditions)
        beside = centred @ centred.T - along @ along.T
        return cls(along, beside, error, noise, overlap, np.eye(len(means)))

    def centred(self, counts: Int[np.ndarray, " A"]) -> MeasuredMeans:
        """Return means less their mean over training trials."""
        return replace(self, centring=_centring(counts))

    def gram(self, values: np.ndarray, rest: float) -> Float[np.ndarray, "A A"]:
        """Return M f(Sigma) M', without the bias of estimated means."""
        products = self._products(values, rest)
        if self.overlap is not None:
            products = self._towards(self.overlap, products, values, rest)
        return self.centring @ products @ self.centring.T

    def _products(self, values: np.ndarray, rest: float) -> Float[np.ndarray, "A A"]:
        noise = self.noise
        bias = noise.trace(values * noise.variances, rest * noise.rest)
        products = (self.along * values) @ self.along.T + rest * self.beside
        return products - np.diag(bias * self.error)

    def _towards(
        self,
        overlap: Int[np.ndarray, "A A"],
        products: Float[np.ndarray, "A A"],
        values: np.ndarray,
        rest: float,
    ) -> Float[np.ndarray, "A A"]:
        noise, error = self.noise, self.error
        s, s_rest = noise.variances, noise.rest
        along = (self.along**2) @ (values**2 * s) + rest**2 * s_rest * np.diag(self.beside)
        along = np.maximum(
            along - error * noise.trace((values * s) ** 2, (rest * s_rest) ** 2), 0.0
        )
        square = noise.trace((values * s) ** 2, (rest * s_rest) ** 2)
        variance = np.outer(along, error) + np.outer(error, along) + square * np.outer(error, error)
        # A condition's product with itself has both errors at once.
        np.fill_diagonal(variance, 2.0 * np.diag(variance))
        flat = overlap.ravel()
        counts = np.maximum(np.bincount(flat), 1)
        mean = (np.bincount(flat, products.ravel()) / counts)[overlap]
        deviation = products - mean
        total = float(np.sum(deviation**2))
        errors = float(np.sum(variance * (1.0 - 1.0 / counts[overlap])))
        share = min(errors / total, 1.0) if total > 0 else 0.0
        return products - share * deviation


@dataclass(frozen=True, eq=False)
class OverlapMeans:
    """Means of which only the products by overlap are known, in directions unlike the noise's."""

    products: Float[np.ndarray, "A A"]
    noise: NoiseSpectrum

    def centred(self, counts: Int[np.ndarray, " A"]) -> OverlapMeans:
        """Return means less their mean over training trials."""
        centring = _centring(counts)
        return OverlapMeans(centring @ self.products @ centring.T, self.noise)

    def gram(self, values: np.ndarray, rest: float) -> Float[np.ndarray, "A A"]:
        """Return M f(Sigma) M', on average over rotations of the noise."""
        return self.products * (self.noise.trace(values, rest) / self.noise.n_features)


def _centring(counts: Int[np.ndarray, " A"]) -> Float[np.ndarray, "A A"]:
    return np.eye(len(counts)) - counts / counts.sum()


Means = MeasuredMeans | OverlapMeans
