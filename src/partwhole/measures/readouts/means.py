"""Condition means as a readout uses them: measured, or known by their overlap alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole.measures._rows import averaging, coordinates
from partwhole.measures.readouts.levels import Levels
from partwhole.measures.readouts.noise import NoiseSpectrum
from partwhole.measures.readouts.resolvent import (
    Between,
    Covariance,
    Estimate,
    Functions,
    Known,
    Shifted,
    Spectrum,
)

# Share of the variance of features below which noise is rounding.
ROUNDING = 1e-24


@dataclass(frozen=True, eq=False)
class Products:
    """Products of means with functions of the noise between them, and traces of these.

    Parameters
    ----------
    grams : float array, shape (2, A, A)
        With R and R Sigma R between means.
    functions : Functions
    further : callable
        Returns those with R Sigma R Sigma R.
    are_positive : bool, default False
        Whether the first two have no negative eigenvalues.
    """

    grams: Float[np.ndarray, "2 A A"]
    functions: Functions
    further: Callable[[], Float[np.ndarray, "A A"]]
    are_positive: bool = False

    @cached_property
    def with_r(self) -> Float[np.ndarray, "A A"]:
        """Return those with R, without negative eigenvalues, which are of chance."""
        return self.grams[0] if self.are_positive else _positive(self.grams[0])

    @cached_property
    def with_noise(self) -> Float[np.ndarray, "A A"]:
        """Return those with R Sigma R, without negative eigenvalues."""
        return self.grams[1] if self.are_positive else _positive(self.grams[1])

    @cached_property
    def with_noise_twice(self) -> Float[np.ndarray, "A A"]:
        """Return those with R Sigma R Sigma R."""
        return self.further()

    @property
    def kappa(self) -> float:
        """Return the penalty in units of the noise that R has."""
        return self.functions.kappa

    @property
    def noise_traces(self) -> Float[np.ndarray, " 2"]:
        """Return the traces of Sigma R and Sigma R Sigma R."""
        return self.functions.noise_traces


def _positive(gram: Float[np.ndarray, "A A"]) -> Float[np.ndarray, "A A"]:
    """Return a symmetric matrix without its negative eigenvalues."""
    scale = np.abs(np.diag(gram)).max()
    try:
        # Quicker than eigenvalues, and most often these are positive.
        np.linalg.cholesky(gram + 1e-12 * scale * np.eye(len(gram)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(gram)
        return (vectors * np.maximum(values, 0.0)) @ vectors.T
    return gram


@dataclass(frozen=True, eq=False)
class MeasuredMeans:
    r"""Means along the directions of the noise and beside them.

    Products of means that are estimated from m trials have errors of known variance,
    :math:`(\mu_t B \Sigma B \mu_t + \mu_u B \Sigma B \mu_u + \mathrm{tr}\, (\Sigma B)^2 / m) / m`
    for a pair of conditions, and more where B is estimated, too (`resolvent`).
    Deviations from the mean over pairs with the same overlap are therefore drawn to 0 by the share
    that errors have in them (`levels`); without this they would pass for memory of single
    conditions. Errors of estimated noise are left as they are: a readout that is trained on these
    trials has them too.

    Parameters
    ----------
    along : float array, shape (A, q)
    beside : float array, shape (A, A)
        Products of what is left of them beside these directions.
    error : float array, shape (A,)
        Variance of the estimated means in units of that of a trial; 0 if they are known.
    covariance : Covariance
        Of the noise.
    levels : Levels or None
        Of products of conditions; None to leave these as they are.
    shares : float array, shape (A,)
        Of each condition in the training trials, whose mean is subtracted; 0 to subtract none.
    shrunk : callable or None
        Returns them with Ledoit and Wolf's estimate of the noise, where it is estimated.
    """

    along: Float[np.ndarray, "A q"]
    beside: Float[np.ndarray, "A A"]
    error: Float[np.ndarray, " A"]
    covariance: Covariance
    levels: Levels | None
    shares: Float[np.ndarray, " A"]
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
        spectrum, levels = noise.spectrum, None
        if trials is not None and conditions is not None:
            levels = Levels.of(conditions, along @ along.T + beside, error)
        return cls(along, beside, error, Known(spectrum), levels, np.zeros(len(means)))

    @property
    def spectrum(self) -> Spectrum:
        """Return that of the noise, or of its estimate."""
        return self.covariance.spectrum

    def training(self, counts: Int[np.ndarray, " A"]) -> MeasuredMeans:
        """Return means less their mean over training trials."""
        return replace(self, shares=counts / counts.sum())

    def by_overlap(self, products: Float[np.ndarray, "A A"]) -> OverlapMeans:
        """Return means with the same noise, of which only products by overlap are known.

        Saliences of these are not negative.
        """
        return OverlapMeans(_centred(products, self.shares), self.covariance, self.shrunk)

    def at(self, kappa: float) -> Products:
        """Return products with functions of the noise, without bias of estimates."""
        return self._products(self.covariance.at(kappa, 2))

    def through(self, inverse: Shifted) -> Products:
        """Return products with the functions for which a resolvent of the noise stands."""
        return self._products(self.covariance.through(inverse, 2))

    def _products(self, functions: Functions) -> Products:
        rows = Between(functions.inverse, self.along, self.beside)
        grams, kept = self._unbiased(functions, rows), None
        if self.levels is not None:
            parts = self.levels.parts(grams[0])
            error = self._squared_error(grams, functions)
            kept = self.levels.kept(parts, error, self._noise)
            second = self.levels.parts(grams[1])
            grams = np.stack([parts.drawn(kept), second.drawn(kept)])

        def further() -> Float[np.ndarray, "A A"]:
            gram = self._unbiased(functions.all_three(), rows)[2]
            if self.levels is not None and kept is not None:
                gram = self.levels.parts(gram).drawn(kept)
            return _centred(gram, self.shares)

        return Products(_centred(grams, self.shares), functions, further)

    def _unbiased(self, functions: Functions, rows: Between) -> Float[np.ndarray, "count A A"]:
        """Return products without what noise adds to those of a condition with itself."""
        grams = functions.of(rows)
        diagonal = np.einsum("caa->ca", grams)
        diagonal -= functions.noise_traces[:, None] * self.error
        return grams

    def plain(self) -> Float[np.ndarray, "A A"]:
        """Return products of means with nothing between them."""
        products = self.along @ self.along.T + self.beside - np.diag(self._noise * self.error)
        return _centred(products, self.shares)

    @property
    def _noise(self) -> float:
        """Return the variance of a trial, summed over features."""
        return self.spectrum.n_features * self.spectrum.mean_variance

    def _squared_error(self, grams: Float[np.ndarray, "count A A"], functions: Functions) -> float:
        """Return the mean squared error of the first products, summed over pairs."""
        error, square = self.error, functions.noise_traces[1]
        along = np.maximum(np.diag(grams[1]), 0.0)
        # A condition's product with itself has both errors at once.
        linear = error.sum() * along.sum() + error @ along
        return functions.inflation * float(
            2.0 * linear + square * (error.sum() ** 2 + error @ error)
        )


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
        Values of components, of which products of means have levels.
    beside : int, default 0
        Features beside these p, in which nothing is: of more features than trials, p are
        coordinates of the trials.
    columns : int array, shape (p,), or None
        Of the residuals of more features, those of these p.
    known_scatter : float array, shape (p, p), or None
        Products of the residuals of features, where they are known.
    """

    means: Float[np.ndarray, "A p"]
    residuals: Float[np.ndarray, "n all"]
    index: Int[np.ndarray, " n"]
    conditions: Int[np.ndarray, "A C"]
    beside: int = 0
    columns: Int[np.ndarray, " p"] | None = None
    known_scatter: Float[np.ndarray, "p p"] | None = None

    @classmethod
    def of(
        cls,
        features: Float[np.ndarray, "n p"],
        index: Int[np.ndarray, " n"],
        conditions: Int[np.ndarray, "A C"],
        beside: int = 0,
    ) -> Trials:
        """Return the trials of features.

        Parameters
        ----------
        features, index, conditions
        beside : int, default 0
            Features beside, whose number alone counts.

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
        p = features.shape[1] + beside
        if features.shape[1] > len(features):
            features = coordinates(features - features.mean(axis=0))
        means = averaging(index, counts) @ features
        residuals = features - means[index]
        trials = cls(means, residuals, index, conditions, p - features.shape[1])
        between = float(counts @ np.sum((means - counts @ means / len(index)) ** 2, axis=1))
        require(
            trials.mean_variance > ROUNDING * between / (len(index) * p),
            "trials of a condition differ",
            "the same features in all of them",
            "pass single trials, or use partwhole.solve for features without noise",
        )
        return trials

    @property
    def features(self) -> Float[np.ndarray, "n p"]:
        """Return the features of trials, or rows with the same inner products but for the mean."""
        return self.means[self.index] + self.residuals_of(np.ones(len(self.index), dtype=bool))

    @property
    def n_features(self) -> int:
        """Return their number."""
        return self.means.shape[1] + self.beside

    def residuals_of(self, trials: Bool[np.ndarray, " n"]) -> Float[np.ndarray, "m p"]:
        """Return what is left of some trials."""
        rows = self.residuals if trials.all() else self.residuals[trials]
        return rows if self.columns is None else rows[:, self.columns]

    def without(self, features: Int[np.ndarray, " g"]) -> Trials:
        """Return the trials without some features, which are no more than trials."""
        kept = np.delete(np.arange(self.means.shape[1]), features)
        columns = kept if self.columns is None else self.columns[kept]
        scatter = self.scatter[np.ix_(kept, kept)]
        return replace(self, means=self.means[:, kept], columns=columns, known_scatter=scatter)

    @cached_property
    def scatter(self) -> Float[np.ndarray, "p p"]:
        """Return the products of the residuals of features."""
        if self.known_scatter is not None:
            return self.known_scatter
        residuals = self.residuals_of(np.ones(len(self.index), dtype=bool))
        return residuals.T @ residuals

    @cached_property
    def counts(self) -> Int[np.ndarray, " A"]:
        """Return the number of trials of each condition."""
        return np.bincount(self.index)

    @cached_property
    def mean_variance(self) -> float:
        """Return the mean variance of a feature over trials of a condition."""
        degrees = len(self.index) - len(self.counts)
        if self.known_scatter is None:
            square = np.vdot(self.residuals, self.residuals)
        else:
            square = np.trace(self.known_scatter)
        return float(square) / (degrees * self.n_features)

    def training(self, counts: Int[np.ndarray, " A"]) -> MeasuredMeans:
        """Return means less their mean over training trials, with the noise of these conditions.

        Where these have hardly more than a trial each, the noise is that of all conditions.
        """
        chosen, degrees = self._chosen(counts)
        left_out = ~chosen[self.index]
        whole = self._whole
        if 2 * left_out.sum() >= len(whole.variances):
            noise = NoiseSpectrum.unbiased(self.residuals_of(~left_out), degrees, self.beside)
            estimate = Estimate(noise.spectrum, degrees)
            return self._described(counts, estimate, *_parts(self.means, noise.directions))
        spectrum = whole.spectrum
        if left_out.any():
            # All squares of residuals less those of the trials that are left out.
            scale = (len(self.index) - len(self.counts)) / degrees
            removed = self.residuals_of(left_out) @ whole.directions.T / np.sqrt(degrees)
            spectrum = Spectrum(scale * whole.variances, 0.0, spectrum.n_rest, removed)
        return self._described(counts, Estimate(spectrum, degrees), *self._whole_parts)

    def _with_shrunk_noise(self, counts: Int[np.ndarray, " A"]) -> MeasuredMeans:
        chosen, degrees = self._chosen(counts)
        residuals = self.residuals_of(chosen[self.index])
        noise = NoiseSpectrum.of_residuals(residuals, degrees, self.beside)
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
        error, shares = 1.0 / self.counts, counts / counts.sum()
        return MeasuredMeans(along, beside, error, covariance, self._levels, shares, shrunk)

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
        degrees = len(self.index) - len(self.counts)
        if self.means.shape[1] <= len(self.index):
            return NoiseSpectrum.of_matrix(self.scatter / degrees, self.beside)
        return NoiseSpectrum.unbiased(self.residuals, degrees, self.beside)

    @cached_property
    def _whole_parts(self) -> tuple[Float[np.ndarray, "A q"], Float[np.ndarray, "A A"]]:
        return _parts(self.means, self._whole.directions)

    @cached_property
    def _levels(self) -> Levels:
        centred = self.means - self.means.mean(axis=0)
        return Levels.of(self.conditions, centred @ centred.T, 1.0 / self.counts)


@dataclass(frozen=True, eq=False)
class OverlapMeans:
    """Means of which only the products by overlap are known, in directions unlike the noise's.

    Parameters
    ----------
    products : float array, shape (A, A)
        Of means less their mean over training trials.
    covariance : Covariance
        Of the noise.
    with_shrunk : callable or None
        Returns measured means with Ledoit and Wolf's estimate of the noise, as `MeasuredMeans` has.
    """

    products: Float[np.ndarray, "A A"]
    covariance: Covariance
    with_shrunk: Callable[[], MeasuredMeans] | None = None

    @property
    def shrunk(self) -> Callable[[], OverlapMeans] | None:
        """Return what leads to them with shrunk noise, or None where noise is known."""
        if (measured := self.with_shrunk) is None:
            return None
        return lambda: OverlapMeans(self.products, measured().covariance)

    @property
    def spectrum(self) -> Spectrum:
        """Return that of the noise, or of its estimate."""
        return self.covariance.spectrum

    def at(self, kappa: float) -> Products:
        """Return products with functions of the noise, on average over its rotations."""
        return self._products(self.covariance.at(kappa, 2))

    def through(self, inverse: Shifted) -> Products:
        """Return products with the functions for which a resolvent of the noise stands."""
        return self._products(self.covariance.through(inverse, 2))

    def _products(self, functions: Functions) -> Products:
        def times(traces: Float[np.ndarray, " c"]) -> Float[np.ndarray, "c A A"]:
            means = np.maximum(traces / self.spectrum.n_features, 0.0)
            return means[:, None, None] * self.products

        def further() -> Float[np.ndarray, "A A"]:
            return times(functions.all_three().traces)[2]

        return Products(times(functions.traces), functions, further, are_positive=True)

    def plain(self) -> Float[np.ndarray, "A A"]:
        """Return products with nothing between them."""
        return self.products


def _parts(
    means: Float[np.ndarray, "A p"], directions: Float[np.ndarray, "q p"]
) -> tuple[Float[np.ndarray, "A q"], Float[np.ndarray, "A A"]]:
    """Return means along some directions, and products of what is left of them."""
    # An offset of all means costs digits, and changes no readout with an intercept.
    centred = means - means.mean(axis=0)
    along = centred @ directions.T
    return along, centred @ centred.T - along @ along.T


def _centred(
    grams: Float[np.ndarray, "*count A A"], shares: Float[np.ndarray, " A"]
) -> Float[np.ndarray, "*count A A"]:
    """Return products of means less their mean with these shares."""
    with_mean = grams @ shares
    grams = grams - with_mean[..., :, None] - with_mean[..., None, :]
    return grams + (with_mean @ shares)[..., None, None]


Means = MeasuredMeans | OverlapMeans
