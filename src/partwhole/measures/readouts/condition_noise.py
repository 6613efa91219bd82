r"""How much noise each condition has, as far as its trials say.

Where noise is even the variance of a condition of T trials, summed over neurons, scatters by
:math:`c / (T - 1)` of its square, with :math:`c = 2 / D` and D the dimensions of the noise, a
participation ratio. What variances scatter beyond it, a squared coefficient of variation
:math:`\tau^2`, is a difference between conditions. The best linear estimate of a variance is then

.. math:: v_t = v [1 + w_t (\hat v_t / v - 1)], \qquad w_t = \tau^2 / (\tau^2 + c / (T_t - 1)).

For normal noise; derived here.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

# Neurons from which dimensions of the noise are taken; fewer than there are make chance larger.
MOST_NEURONS = 2000


def noise_of_conditions(
    residuals: Float[np.ndarray, "n p"], index: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " T"]:
    """Return the noise variance of each condition over that of all trials, drawn towards 1.

    Parameters
    ----------
    residuals : float array, shape (n, p)
        Responses less the mean of their condition; of some condition with two trials or more.
    index : int array, shape (n,)
        The condition of each trial, from 0.

    Returns
    -------
    float array, shape (T,)
        1 of conditions with one trial, and of all where variances scatter no more than by chance.
    """
    degrees = np.bincount(index) - 1
    scales = np.ones(len(degrees))
    repeated = degrees > 0
    if repeated.sum() < 2:
        return scales
    degrees = degrees[repeated]
    squares = np.bincount(index, np.einsum("np,np->n", residuals, residuals))[repeated]
    variances, nu = squares / degrees, int(degrees.sum())
    some = residuals[:, :: -(-residuals.shape[1] // MOST_NEURONS)]
    products = some @ some.T if len(some) < some.shape[1] else some.T @ some
    trace = float(np.trace(products))
    if not trace > 0.0:
        return scales
    # Without the part of sample covariances that is chance.
    square = (float(np.sum(products**2)) - trace**2 / nu) / ((nu - 1) * (nu + 2))
    by_chance = 2.0 * square / (trace / nu) ** 2 / degrees
    beyond = np.var(variances, ddof=1) / np.mean(variances) ** 2 - np.mean(by_chance)
    if beyond > 0.0:
        ratio = variances / (squares.sum() / nu)
        scales[repeated] = 1.0 + beyond / (beyond + by_chance) * (ratio - 1.0)
    return scales


def relative_noise(
    scales: Float[np.ndarray, " T"], held_out: Bool[np.ndarray, " T"], trials: Int[np.ndarray, " T"]
) -> Float[np.ndarray, " h"]:
    """Return the noise variance of held-out conditions over that of the others' trials."""
    # The noise of training trials is measured by degrees of freedom.
    degrees = np.where(held_out, 0, trials - 1)
    if degrees.sum() <= 1:
        degrees = trials - 1
    return scales[held_out] / np.average(scales, weights=degrees)
