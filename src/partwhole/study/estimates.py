"""Estimates with 95 % intervals; NaN marks samples that were not computed or not solved."""

from __future__ import annotations

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy.special import stdtrit

from partwhole._checks import require
from partwhole._types import Real
from partwhole.study.claim import Estimate as Estimate


def mean(
    samples: xr.DataArray | np.ndarray, *, within: tuple[Real, Real] = (-np.inf, np.inf)
) -> Estimate:
    """Estimate a mean, with Student's interval, clipped to the bounds of the samples.

    Clipping keeps the confidence, because the mean is certain to lie within the bounds.

    Parameters
    ----------
    samples : float array, any shape
        Independent samples; a NaN is not counted.
    within : tuple of two floats, default unbounded
        The smallest and the largest possible value of a sample, such as (0, 1) for an accuracy.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError
        For samples beyond their bounds.

    Examples
    --------
    >>> estimate = mean(np.array([0.9, 1.0, 1.0, 1.0, 0.95]), within=(0, 1))
    >>> round(estimate.value, 3), round(estimate.low, 3), estimate.high
    (0.97, 0.914, 1.0)
    """
    finite = finite_values(samples)
    n = len(finite)
    if n < 2:
        return Estimate(float(finite[0]) if n else np.nan, np.nan, np.nan, n)
    low, high = float(within[0]), float(within[1])
    inside = low <= finite.min() and finite.max() <= high
    span = f"{finite.min():g}..{finite.max():g}"
    require(inside, f"samples lie within {low:g} and {high:g}", span, "widen `within`")
    centre = float(finite.mean())
    half = float(stdtrit(n - 1, 0.975) * finite.std(ddof=1) / np.sqrt(n))
    return Estimate(centre, max(low, centre - half), min(high, centre + half), n)


def geometric_mean(samples: xr.DataArray | np.ndarray) -> Estimate:
    """Estimate the geometric mean of positive samples, such as ratios, with Student's interval.

    The interval is that of the mean logarithm.

    Raises
    ------
    InputError
        If a sample is not above 0.

    Examples
    --------
    >>> round(geometric_mean(np.array([1.0, 2.0, 4.0, 2.0, 2.0])).value, 6)
    2.0
    """
    samples = np.asarray(samples, dtype=float)
    lowest = float(np.nanmin(samples, initial=np.inf))
    require(lowest > 0, "samples of a geometric mean are above 0", lowest, "use `mean`")
    logs = mean(np.log(samples))
    value, low, high = np.exp([logs.value, logs.low, logs.high]).tolist()
    return Estimate(value, low, high, logs.n)


def median(samples: xr.DataArray | np.ndarray) -> Estimate:
    """Estimate a median, with the interval of order statistics, which needs six samples.

    Its confidence is at least 95 %, whatever the distribution.

    Raises
    ------
    ValueError
        For samples that cannot be converted to floats.

    Examples
    --------
    >>> median(np.arange(9.0))
    Estimate(value=4.0, low=1.0, high=7.0, n=9)
    """
    from scipy.stats import binom  # half of the time in which a process that computes cells starts

    ordered = np.sort(finite_values(samples))
    n = len(ordered)
    value = float(np.median(ordered)) if n else np.nan
    # The largest k with P(fewer than k of n below the median) <= 2.5 %.
    k = int(binom.ppf(0.025, n, 0.5)) if n else 0
    if k < 1:
        return Estimate(value, np.nan, np.nan, n)
    return Estimate(value, float(ordered[k - 1]), float(ordered[n - k]), n)


def proportion(successes: int, n: int) -> Estimate:
    """Estimate a proportion, with Wilson's interval.

    Raises
    ------
    ValueError
        For a number of successes below 0, or above an `n` of 1 or more, and for an `n` below 0.
    TypeError
        For numbers that are not integers.

    Examples
    --------
    >>> estimate = proportion(20, 20)
    >>> estimate.value, round(estimate.low, 3), estimate.high
    (1.0, 0.839, 1.0)
    """
    from scipy.stats import binomtest  # see `median`

    if n == 0:
        return Estimate(np.nan, np.nan, np.nan, 0)
    ends = binomtest(successes, n).proportion_ci(0.95, method="wilson")
    return Estimate(successes / n, float(ends.low), float(ends.high), n)


def finite_values(values: xr.DataArray | np.ndarray) -> Float[np.ndarray, " k"]:
    """Return the finite numbers of an array, flattened."""
    numbers = np.asarray(values, dtype=float).ravel()
    return numbers[np.isfinite(numbers)]


def by_seed(values: xr.DataArray) -> Float[np.ndarray, " S"]:
    """Return the mean of each seed over the finite numbers of its other dimensions."""
    rows = values.transpose("seed", ...).values
    return np.array([np.nanmean(row) for row in rows if np.isfinite(row).any()], float)
