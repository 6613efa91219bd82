"""The order of the penalty of finetuning in D layers, and the width of its nested regime."""

from __future__ import annotations

from functools import cache

import numpy as np
from jaxtyping import Float

from partwhole.features import DenseDesign
from partwhole.limits.costs import DeepEntropy

RATIOS = np.logspace(-8, 3, 111)  # of pretrained to new coefficients
SMALLEST, HALVINGS = 1e-9, 60
NESTED = (1.1, 1.9)  # orders between which features are reused and few new ones taken


def _small(depth: int, n: int) -> tuple[DeepEntropy, DenseDesign]:
    """Return the cost of n pretrained features of size 1 for small initial weights."""
    weights = np.ones((depth, n))
    weights[-1] = 0.0
    return DeepEntropy(weights, np.full((depth, n), SMALLEST)), DenseDesign(np.eye(n))


@cache
def order(depth: int) -> Float[np.ndarray, " r"]:
    r"""Return the order of the penalty at each ratio, for small initial weights.

    It is :math:`d \log R / d \log \beta = \beta u / (\beta u - R^*(u))`, with the force u at which
    the conjugate's slope is the coefficient.
    """
    n, coefficients = len(RATIOS), 1.0 / RATIOS
    (cost, design), (single, alone) = _small(depth, n), _small(depth, 1)
    low, high = np.full(n, -60.0), np.full(n, 20.0)  # logs of forces
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        with np.errstate(all="ignore"):  # infinite beyond the end of a flow
            is_below = cost.conjugate(design, np.exp(middle)).gradient < coefficients
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    forces = np.exp(low)
    conjugates = np.array([single.conjugate(alone, forces[i : i + 1]).value for i in range(n)])
    products = forces * coefficients
    return products / (products - conjugates)


def nested(depth: int) -> float:
    """Return the width of the nested regime: decades of the ratio with an order in between."""
    low, high = np.interp(NESTED, order(depth), np.log10(RATIOS))
    return float(high - low)
