"""How unequal the gains of neurons are, which nulls of random positions take to be equal."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np

from partwhole._types import Seed
from partwhole.measures._rows import averaging
from partwhole.recordings import Recording

# In simulations of conjunctive codes of 30 and 100 neurons in 2 x 2 and 4 x 4 conditions of 6
# trials, p of parallelism was below .05 in .03 to .06 of cases with equal gains, in .05 to .14 with
# log-normal ones of deviation .4, whose median variation is .5 to .7, and in .20 to .31 with
# deviation 1. Equal gains are above .6 in at most .05 of cases, of any code. With deviation 1
# neurons divided by their standard deviation over all trials bring p below .05 in .04 to .08 of
# cases; the rotation null of ccgp, which permutes the neurons of each condition, leaves .19.
UNEQUAL = 0.6


def gain_variation(recording: Recording, seed: Seed = 0) -> float:
    r"""Return how much the variances of neurons across conditions differ beyond chance.

    Their coefficient of variation c, without what neurons of equal gains would have: with normal
    responses in D dimensions of conditions (a participation ratio) the variances of neurons with
    gains g scatter by

    .. math:: 1 + c^2 = (1 + 2 / D) (1 + \mathrm{cv}(g^2)^2).

    Condition means are taken with their noise, as the nulls take them. NaN where they are equal.

    Parameters
    ----------
    recording : Recording
        Without time.
    seed : int, default 0
        For pseudo-trials.
    """
    whole = recording.pseudo_trials(seed)
    index = whole.condition_of_trial
    means = averaging(index, np.bincount(index)) @ whole.responses
    means = means - means.mean(axis=0)
    variances = np.sum(means**2, axis=0)
    variances = variances[variances > 0.0]
    total = float(variances.sum())
    if not total > 0.0:
        return nan
    products = means @ means.T
    dimensions = total**2 / float(np.sum(products**2))
    squared = float(np.mean(variances**2)) / float(np.mean(variances)) ** 2
    return sqrt(max(squared / (1.0 + 2.0 / dimensions) - 1.0, 0.0))
