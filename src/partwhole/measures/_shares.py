"""Saliences from similarities by overlap, and intervals from their replicates."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.features.subsets import over_subsets


def shares_of(kappa: np.ndarray) -> np.ndarray:
    """Return saliences by set, NaN where identical inputs are no more similar than others."""
    sigma = over_subsets("kappa", kappa, -1.0)[..., 1:]
    total = kappa[..., -1:] - kappa[..., :1]
    return np.divide(sigma, total, out=np.full_like(sigma, np.nan), where=total > 0)


def quantiles(replicates: Float[np.ndarray, "B s"], confidence: float) -> np.ndarray:
    """Return intervals; replicates without a value count beyond both ends.

    An end that falls among them is NaN: the interval is not bounded.
    """
    tail = 0.5 * (1.0 - confidence)
    ends = []
    for beyond, share in ((-np.inf, tail), (np.inf, 1.0 - tail)):
        filled = np.where(np.isnan(replicates), beyond, replicates)
        with np.errstate(invalid="ignore"):
            end = np.quantile(filled, share, axis=0)
        ends.append(np.where(np.isfinite(end), end, np.nan))
    unbounded = np.isnan(ends).any(axis=0)
    return np.where(unbounded, np.nan, ends).T


def bias_of(
    centred: Float[np.ndarray, " sets"], replicates: Float[np.ndarray, "B sets"]
) -> Float[np.ndarray, " shares"]:
    r"""Return how far saliences are off on average, as ratios of numbers with errors.

    To second order that is :math:`-\mathrm{cov}(a, b) / b^2 + a \, \mathrm{var}(b) / b^3` for a
    ratio a / b.
    """
    both = np.vstack([centred, replicates])
    parts = over_subsets("kappa", both, -1.0)[:, 1:]
    total = both[:, -1] - both[:, 0]
    errors, of_total = parts[1:] - parts[0], total[1:] - total[0]
    covariance, variance = of_total @ errors / len(errors), of_total @ of_total / len(errors)
    return -covariance / total[0] ** 2 + parts[0] * variance / total[0] ** 3
