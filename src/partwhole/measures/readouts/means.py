"""Condition means as a readout uses them: measured, or known by their overlap alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole.features.subsets import overlap_sets
from partwhole.measures._rows import averaging
from partwhole.measures.readouts.noise import NoiseSpectrum
from partwhole.measures.readouts.resolvent import Covariance, Estimate, Functions, Known, Spectrum

# Share of the variance of features below which noise is rounding.
ROUNDING = 1e-24


@dataclass(frozen=True, eq=False)
class Products:
    """Products of means with functions of the noise between them, and traces of these.

    Parameters
    ----------
    grams : float array, shape (2 or 3, A, A)
        With R, R Sigma R and R Sigma R Sigma R between means.
    noise_traces : float array, shape (3,)
        Of Sigma R, and of its second and third power.
    """

    grams: Float[np.ndarray, "count A A"]
    noise_traces: Float[np.ndarray, "3"]


@dataclass(frozen=True, eq=False)
class MeasuredMeans:
    r"""Means along the directions of the noise and beside them.

    Products of means that are estimated from m trials have errors of known variance,
    :math:`(\mu_t B \Sigma B \mu_t + \mu_u B \Sigma B \mu_u + \mathrm{tr}\, (\Sigma B)^2 / m) / m`
    for a pair of conditions, and more where B is estimated, too (`resolvent`).
    Each is therefore drawn towards the mean over pairs with the same overlap, by the share that
    errors have in the deviations from it (James and Stein, 1961); without this they would pass for
    memory of single conditions. Errors of estimated noise are left as they are: a readout that is
    trained on these trials has them too.

    Parameters
    ----------
    along : float array, shape (A, q)
    beside : float array, shape (A, A)
        Products of what is left of them beside these directions.
    error : float array, shape (A,)
        Variance of the estimated means in units of that of a trial; 0 if they are known.
    covariance : Covariance
        Of the noise.
    overlap : int array, shape (A, A), or None
        The overlap set of each pair of conditions; None to leave products as they are.
    centring : float array, shape (A, A)
        What subtracts the mean over training trials.
    shrunk : callable or None
        Returns them with Ledoit and Wolf's estimate of the noise, where it is estimated.
    """

    along: Float[np.ndarray, "A q"]
    beside: Float[np.ndarray, "A A"]
    error: Float[np.ndarray, " A"]
    covariance: Covariance
    overlap: Int[np.ndarray, "A A"] | None
    centring: Float[np.ndarray, "A A"]
    shrunk: Callable[[], MeasuredMeans] | None = None

    @classmethod
    def of(
        cls,
        means: Float[np.ndarray, "A p"],
        noise: NoiseSpectrum,
        trials: Int[np.ndarray, " A"] | None = None,
        conditions: Int[np.ndarray, "A C"] | None = None,
    ) -> MeasuredMeans:
        """Return means with noise that is known; exact ones, or of so many trials."""
        along, beside = _parts(means, noise.directions)
        error = np.zeros(len(means)) if trials is None else 1.0 / trials
        overlap = None
        if trials is not None and conditions is not None:
            overlap = overlap_sets(conditions, conditions)
        return cls(along, beside, error, Known(noise.spectrum), overlap, np.eye(len(means)))

    @property
    def spectrum(self) -> Spectrum:
        """Return that of the noise, or of its estimate."""
        return self.covariance.spectrum

    def training(self, counts: Int[np.ndarray, " A"]) -> MeasuredMeans:
        """Return means less their mean over training trials."""
        return replace(self, centring=_centring(counts))

    def at(self, kappa: float, count: int = 3) -> Products:
        """Return products of means with functions of the noise, without the bias of estimates."""
        functions = self.covariance.at(kappa)
        grams = functions.between(self.along, self.beside, max(count, 2))
        bias = functions.noise_traces[: len(grams), None] * self.error
        grams = grams - np.eye(len(self.error)) * bias[:, None, :]
        if self.overlap is not None:
            grams = self._towards(self.overlap, grams, functions)
        return Products(self.centring @ grams @ self.centring.T, functions.noise_traces)

    def plain(self) -> Float[np.ndarray, "A A"]:
        """Return products of means with nothing between them."""
        total = self.spectrum.n_features * self.spectrum.mean_variance
        products = self.along @ self.along.T + self.beside - np.diag(total * self.error)
        return self.centring @ products @ self.centring.T

    def _towards(
        self,
        overlap: Int[np.ndarray, "A A"],
        grams: Float[np.ndarray, "count A A"],
        functions: Functions,
    ) -> Float[np.ndarray, "count A A"]:
        error, square = self.error, functions.noise_traces[1]
        along = np.maximum(np.diag(grams[1]), 0.0)
        variance = np.outer(along, error) + np.outer(error, along) + square * np.outer(error, error)
        # A condition's product with itself has both errors at once.
        np.fill_diagonal(variance, 2.0 * np.diag(variance))
        variance = functions.inflation * variance
        flat = overlap.ravel()
        counts = np.maximum(np.bincount(flat), 1)
        deviations = np.stack([
            gram - (np.bincount(flat, gram.ravel(), len(counts)) / counts)[overlap]
            for gram in grams
        ])  # fmt: skip
        total = float(np.sum(deviations[0] ** 2))
        errors = float(np.sum(variance * (1.0 - 1.0 / counts[overlap])))
        share = min(errors / total, 1.0) if total > 0 else 0.0
        return grams - share * deviations


@dataclass(frozen=True, eq=False)
class Trials:
    """Trials of conditions, by the means of these and what is left.

    Parameters
    ----------
    means : float array, shape (A, p)
    residuals : float array, shape (n, p)
    index : int array, shape (n,)
        The condition of each trial, from 0.
    conditions : int array, shape (A, C)
        Values of components; products of means are drawn towards those by overlap.
    """

    means: Float[np.ndarray, "A p"]
    residuals: Float[np.ndarray, "n p"]
    index: Int[np.ndarray, " n"]
    conditions: Int[np.ndarray, "A C"]

    @classmethod
    def of(
        cls,
        features: Float[np.ndarray, "n p"],
        index: Int[np.ndarray, " n"],
        conditions: Int[np.ndarray, "A C"],
    ) -> Trials:
        """Return the trials of features.

        Raises
        ------
        InputError
            If no condition is repeated, or trials of a condition don't differ.
        """
        counts = np.bincount(index)
        require(
            len(index) - len(counts) > 1,
            "the noise of trials shows in conditions with several of them",
            f"{len(index)} trials of {len(counts)} conditions",
            "add trials",
        )
        means = averaging(index, counts) @ features
        residuals = features - means[index]
        spread = float(np.mean((features - features.mean(axis=0)) ** 2))
        noise = float(np.sum(residuals**2)) / ((len(index) - len(counts)) * features.shape[1])
        require(
            noise > ROUNDING * spread,
            "trials of a condition differ",
            "the same features in all of them",
            "pass single trials, or use partwhole.solve for features without noise",
        )
        return cls(means, residuals, index, conditions)

    @cached_property
    def counts(self) -> Int[np.ndarray, " A"]:
        """Return the number of trials of each condition."""
        return np.bincount(self.index)

    @property
    def mean_variance(self) -> float:
        """Return the mean variance of a feature over trials of a condition."""
        degrees = len(self.index) - len(self.counts)
        return float(np.sum(self.residuals**2)) / (degrees * self.residuals.shape[1])

    def training(self, counts: Int[np.ndarray, " A"]) -> MeasuredMeans:
        """Return means less their mean over training trials, with the noise of these conditions.

        Where these have hardly more than a trial each, the noise is that of all conditions.
        """
        noise = self.noise_of(counts)
        along, beside = self._whole_parts
        if noise.directions is not self._whole.directions:
            along, beside = _parts(self.means, noise.directions)
        return self._described(counts, noise.covariance, along, beside)

    def noise_of(self, counts: Int[np.ndarray, " A"]) -> EstimatedNoise:
        """Return the noise of the conditions of training trials."""
        chosen, degrees = self._chosen(counts)
        left_out = ~chosen[self.index]
        whole = self._whole
        if not left_out.any():
            return EstimatedNoise(whole.directions, Estimate(whole.spectrum, degrees))
        if 2 * left_out.sum() >= len(whole.variances):
            noise = NoiseSpectrum.unbiased(self.residuals[~left_out], degrees)
            return EstimatedNoise(noise.directions, Estimate(noise.spectrum, degrees))
        # All squares of residuals less those of the trials that are left out.
        scale = (len(self.index) - len(self.counts)) / degrees
        removed = self._residuals_along[left_out] / np.sqrt(degrees)
        spectrum = Spectrum(scale * whole.variances, 0.0, whole.spectrum.n_rest, removed)
        return EstimatedNoise(whole.directions, Estimate(spectrum, degrees))

    def _with_shrunk_noise(self, counts: Int[np.ndarray, " A"]) -> MeasuredMeans:
        chosen, degrees = self._chosen(counts)
        noise = NoiseSpectrum.of_residuals(self.residuals[chosen[self.index]], degrees)
        return self._described(counts, Known(noise.spectrum), *_parts(self.means, noise.directions))

    def _described(
        self,
        counts: Int[np.ndarray, " A"],
        covariance: Covariance,
        along: Float[np.ndarray, "A q"],
        beside: Float[np.ndarray, "A A"],
    ) -> MeasuredMeans:
        shrunk = None
        if isinstance(covariance, Estimate):
            shrunk = partial(self._with_shrunk_noise, counts)
        error, centring = 1.0 / self.counts, _centring(counts)
        return MeasuredMeans(along, beside, error, covariance, self._overlap, centring, shrunk)

    def _chosen(self, counts: Int[np.ndarray, " A"]) -> tuple[Bool[np.ndarray, " A"], int]:
        """Return the conditions whose noise is used, and its degrees of freedom."""
        chosen = counts > 0
        degrees = int(np.sum(self.counts[chosen] - 1))
        if degrees > 1:
            return chosen, degrees
        return np.ones_like(chosen), len(self.index) - len(self.counts)

    @cached_property
    def _whole(self) -> NoiseSpectrum:
        """Return the noise of all conditions."""
        return NoiseSpectrum.unbiased(self.residuals, len(self.index) - len(self.counts))

    @cached_property
    def _whole_parts(self) -> tuple[Float[np.ndarray, "A q"], Float[np.ndarray, "A A"]]:
        return _parts(self.means, self._whole.directions)

    @cached_property
    def _residuals_along(self) -> Float[np.ndarray, "n q"]:
        return self.residuals @ self._whole.directions.T

    @cached_property
    def _overlap(self) -> Int[np.ndarray, "A A"]:
        return overlap_sets(self.conditions, self.conditions)


@dataclass(frozen=True, eq=False)
class EstimatedNoise:
    """Noise that is estimated, with the directions of its spectrum."""

    directions: Float[np.ndarray, "q p"]
    covariance: Estimate


@dataclass(frozen=True, eq=False)
class OverlapMeans:
    """Means of which only the products by overlap are known, in directions unlike the noise's.

    Parameters
    ----------
    products : float array, shape (A, A)
    covariance : Covariance
        Of the noise.
    shrunk : callable or None
        As of `MeasuredMeans`.
    """

    products: Float[np.ndarray, "A A"]
    covariance: Covariance
    shrunk: Callable[[], OverlapMeans] | None = None

    @property
    def spectrum(self) -> Spectrum:
        """Return that of the noise, or of its estimate."""
        return self.covariance.spectrum

    def at(self, kappa: float, count: int = 3) -> Products:
        """Return products with functions of the noise, on average over its rotations."""
        functions = self.covariance.at(kappa)
        means = functions.traces[:count] / self.spectrum.n_features
        return Products(means[:, None, None] * self.products, functions.noise_traces)

    def plain(self) -> Float[np.ndarray, "A A"]:
        """Return products with nothing between them."""
        return self.products


@dataclass(frozen=True, eq=False)
class OverlapTrials:
    """Trials of which means are known by their overlap alone, and the noise by measured trials."""

    products: Float[np.ndarray, "A A"]
    trials: Trials

    def training(self, counts: Int[np.ndarray, " A"]) -> OverlapMeans:
        """Return means less their mean over training trials."""
        centring = _centring(counts)
        products = centring @ self.products @ centring.T

        def shrunk() -> OverlapMeans:
            measured = self.trials.training(counts)
            assert measured.shrunk is not None
            return OverlapMeans(products, measured.shrunk().covariance)

        return OverlapMeans(products, self.trials.noise_of(counts).covariance, shrunk)


def _parts(
    means: Float[np.ndarray, "A p"], directions: Float[np.ndarray, "q p"]
) -> tuple[Float[np.ndarray, "A q"], Float[np.ndarray, "A A"]]:
    """Return means along some directions, and products of what is left of them."""
    # An offset of all means costs digits, and changes no readout with an intercept.
    centred = means - means.mean(axis=0)
    along = centred @ directions.T
    return along, centred @ centred.T - along @ along.T


def _centring(counts: Int[np.ndarray, " A"]) -> Float[np.ndarray, "A A"]:
    return np.eye(len(counts)) - counts / counts.sum()


Means = MeasuredMeans | OverlapMeans
