"""Means with intervals over what is known; NaN stands for what was not computed or not solved."""

from __future__ import annotations

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy.stats import binomtest

from partwhole.study import plots as plots


def known(values: xr.DataArray | np.ndarray) -> Float[np.ndarray, " k"]:
    """Return the finite numbers in a row."""
    numbers = np.asarray(values).ravel()
    return numbers[np.isfinite(numbers)]


def by_seed(values: xr.DataArray) -> Float[np.ndarray, " S"]:
    """Return the mean of each seed over all else that was solved."""
    kept = values.transpose("seed", ...).values.reshape(values.sizes["seed"], -1)
    return np.array([np.nanmean(each) for each in kept if np.isfinite(each).any()])


def average(samples: np.ndarray) -> float:
    """Return the mean, or NaN of nothing."""
    return float(np.mean(samples)) if len(samples) else float("nan")


def rms(samples: np.ndarray) -> float:
    """Return the root mean square, or NaN of nothing."""
    return float(np.sqrt(average(samples**2)))


def estimate(samples: Float[np.ndarray, " n"]) -> tuple[float, tuple[float, float] | None]:
    """Return the mean with its 95 % interval, which takes two samples; NaN of none."""
    if len(samples) < 2:
        return (float(samples[0]) if len(samples) else float("nan")), None
    centre, low, high = (float(each) for each in plots.mean_interval(samples))
    return centre, (low, high)


def estimate_of_several(
    samples: Float[np.ndarray, " n"],
) -> tuple[float, tuple[float, float] | None]:
    """Return the mean with its 95 % interval; NaN of one sample, which decides nothing."""
    return estimate(samples) if len(samples) > 1 else (float("nan"), None)


def estimate_by_seed(values: xr.DataArray) -> tuple[float, tuple[float, float] | None]:
    """Return the mean of the seeds' means with its interval."""
    return estimate(by_seed(values))


def share(hits: int, n: int) -> tuple[float, tuple[float, float] | None]:
    """Return the share of n that hit, with Wilson's 95 % interval; NaN of none."""
    if n == 0:
        return float("nan"), None
    ends = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    return hits / n, (float(ends.low), float(ends.high))
