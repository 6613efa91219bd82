"""Penalties by a second route: numerical minima and integrals.

Nothing here uses the closed forms of penalties or of their powers. No term is negative, so that
small penalties keep their digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline

from partwhole._types import Number

STEP = 0.01  # in the logarithm, of differences
GAUSS = np.polynomial.legendre.leggauss(80)
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)

Penalty = Callable[[np.ndarray, np.ndarray], np.ndarray]


def multitask(coefficient: Number, auxiliary: Number) -> np.ndarray:
    r"""Return the cost of a unit's weights beyond the cost that the auxiliary task needs.

    .. math:: \min_w \tfrac12 \left[ w^2 + (\beta^2 + b^2)/w^2 \right] - b
              = \min_w \tfrac12 \left[ (w - b/w)^2 + \beta^2/w^2 \right]
    """
    beta, b = np.broadcast_arrays(coefficient, auxiliary)

    def weights(log_hidden: np.ndarray) -> np.ndarray:
        w = np.exp(log_hidden)
        return np.asarray(0.5 * ((w - b / w) ** 2 + (beta / w) ** 2))

    edge = np.asarray(0.5 * np.log(beta + b))
    return minimum(weights, np.asarray(edge - 2.0), np.asarray(edge + 2.0))


def finetuning(coefficient: Number, width: Number) -> np.ndarray:
    r"""Return four times the accumulated gradients on the path from 0 to a coefficient.

    Gradient flow is at :math:`\tfrac{k}{2} \sinh 2s` when they have added up to s, so that
    :math:`R = 4 \int s\, k \cosh 2s\, ds`, by Gauss's rule.
    """
    beta, k = np.broadcast_arrays(coefficient, width)
    end = 0.5 * np.arcsinh(2.0 * beta / k)
    nodes, weights = GAUSS
    s = 0.5 * end[..., None] * (1.0 + nodes)
    added = (s * np.cosh(2.0 * s)) @ weights
    return np.asarray(2.0 * k * end * added)


def relu(coefficient: Number, pretrained: Number, cosine: Number = 1.0) -> np.ndarray:
    """Return the least squared change of a unit's weights, over the splits of its strength."""
    beta, b, theta = np.broadcast_arrays(coefficient, pretrained, cosine)
    along = np.sqrt(b) * theta
    turned = b * (1.0 - theta) * (1.0 + theta)

    def way(log_norm: np.ndarray) -> np.ndarray:
        m = np.exp(log_norm)
        return np.asarray((beta / m) ** 2 + (m - along) ** 2 + turned)

    low = 0.5 * np.log(np.minimum(beta, beta**2 / np.maximum(b, beta)))
    return minimum(way, np.asarray(low - 1.0), np.asarray(0.5 * np.log(beta + b) + 1.0))


def minimum(
    of: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Return the least value of functions with one minimum each, by golden section."""
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    best = np.minimum(of(low), of(high))
    for _ in range(90):
        span = GOLDEN * (high - low)
        left, right = of(np.asarray(high - span)), of(np.asarray(low + span))
        best = np.minimum(best, np.minimum(left, right))
        below = left < right
        low, high = np.where(below, low, high - span), np.where(below, low + span, high)
    return np.asarray(best)


def powers(penalty: Penalty, coefficient: Number, pretrained: Number) -> tuple[np.ndarray, ...]:
    """Return order and feature dependence, by differences of fourth order in logarithms."""
    beta, b = np.broadcast_arrays(coefficient, pretrained)

    def slope(move: Callable[[float], np.ndarray]) -> np.ndarray:
        near, far = (np.log(move(h) / move(-h)) for h in (STEP, 2.0 * STEP))
        return np.asarray((8.0 * near - far) / (12.0 * STEP))

    return (
        slope(lambda h: penalty(np.asarray(beta * np.exp(h)), b)),
        slope(lambda h: penalty(beta, np.asarray(b * np.exp(h)))),
    )


def decades(penalty: Penalty, low: float, high: float) -> float:
    """Return the decades of the second argument in which the order rises from low to high."""

    # Read from cubics through orders a hundredth of a decade apart, which are good to 1e-9.
    grid = np.linspace(-12.0, 3.0, 1501)
    orders = CubicSpline(grid, powers(penalty, 1.0, 10.0**grid)[0])
    (start,), (end,) = (orders.solve(order, extrapolate=False) for order in (low, high))
    return float(end - start)
