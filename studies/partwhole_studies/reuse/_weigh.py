"""How errors are compared: paired ratios, and what the mean of six other seeds would be."""

from __future__ import annotations

import numpy as np
import xarray as xr
from jaxtyping import Float

from partwhole.measures import negative_transfer

PUBLISHED = "Lippl & Lindsey (NeurIPS 2024), published errors of figure 2"
FACTOR = float(np.log10(4.0))
BAND = "a factor of 4, within which reruns with six other seeds have come"


def ratio(
    over: Float[np.ndarray, " n"], under: Float[np.ndarray, " n"]
) -> tuple[float, tuple[float, float]]:
    """Return the geometric mean of paired ratios with its 95 % interval."""
    found = negative_transfer(over, under)
    return found.ratio, (found.low, found.high)


def paired(
    over: xr.DataArray, under: xr.DataArray
) -> tuple[float, tuple[float, float] | None, int]:
    """Return the ratio over the seeds that have both, and their number; NaN below two."""
    both = np.isfinite(over.values) & np.isfinite(under.values)
    if both.sum() < 2:
        return float("nan"), None, int(both.sum())
    return *ratio(over.values[both], under.values[both]), int(both.sum())


def known(values: xr.DataArray) -> np.ndarray:
    """Return the values that were computed."""
    return values.values[np.isfinite(values.values)]


def mean_of_six(errors: Float[np.ndarray, " n"]) -> tuple[float, tuple[float, float]]:
    """Return log10 of the mean, and 95 % of such means of six errors drawn from these."""
    drawn = np.random.default_rng(0).choice(errors, (4000, 6)).mean(axis=1)
    low, high = np.log10(np.quantile(drawn, (0.025, 0.975)))
    return float(np.log10(errors.mean())), (float(low), float(high))
