"""How much the noise of conditions differs, which predicted accuracies take to be the same."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np

from partwhole._types import Seed
from partwhole.measures._rows import averaging
from partwhole.recordings import Recording

# In simulations of 60 neurons in 4 x 4 conditions of 20 trials, accuracies of single conditions
# were off by .07 (root mean square) with even noise, by .10 with a variation of .4, by .15 with .8
# and by .20 with 1.2. With 5 trials they are off by .2 in any case.
UNEVEN = 0.5
# Neurons from which dimensions of the noise are taken; fewer than there are make chance larger.
MOST_NEURONS = 2000


def noise_variation(recording: Recording, seed: Seed = 0) -> float:
    r"""Return how much the noise variances of conditions differ beyond chance.

    Their coefficient of variation, without what equal noise would leave: the variance of a
    condition of T trials, summed over neurons, scatters by :math:`2 / D (T - 1)` of its square,
    with D the dimensions of the noise, a participation ratio. NaN with fewer than two conditions
    of two trials, and without noise.

    Parameters
    ----------
    recording : Recording
        Without time.
    seed : int, default 0
        For pseudo-trials.

    Notes
    -----
    For normal noise; derived here.
    """
    whole = recording.pseudo_trials(seed)
    index = whole.condition_of_trial
    left = whole.responses - (averaging(index, np.bincount(index)) @ whole.responses)[index]
    degrees = np.bincount(index) - 1
    squares = np.bincount(index, np.einsum("np,np->n", left, left))
    repeated = degrees > 0
    nu, total = int(degrees.sum()), float(squares.sum())
    if repeated.sum() < 2 or not total > 0.0:
        return nan
    some = left[:, :: -(-left.shape[1] // MOST_NEURONS)]
    products = some @ some.T if len(some) < some.shape[1] else some.T @ some
    trace = float(np.trace(products))
    if not trace > 0.0:
        return nan
    # Without the part of sample covariances that is chance.
    square = (float(np.sum(products**2)) - trace**2 / nu) / ((nu - 1) * (nu + 2))
    by_chance = 2.0 * square / (trace / nu) ** 2 * float(np.mean(1.0 / degrees[repeated]))
    variances = squares[repeated] / degrees[repeated]
    squared = float(np.var(variances, ddof=1)) / float(np.mean(variances)) ** 2
    return sqrt(max(squared - by_chance, 0.0))


def noise_in_words(variation: float) -> str:
    """Return what uneven noise means for predictions; empty if it is even, or unknown."""
    if not variation > UNEVEN:
        return ""
    return (
        "noise differs between conditions (its variance by a coefficient of variation of "
        f"{variation:.2g}): accuracies of single conditions are predicted for equal noise and can "
        "be .1 to .2 off, too high where noise is large; mean answers are not affected"
    )
