"""Losses of margins, by the force that they exert on answers, and means of such forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, ndtr, xlog1py, xlogy


@dataclass(frozen=True)
class MarginLoss:
    """A loss by the force that it exerts on answers.

    Parameters
    ----------
    softness : float
        r, the inverse of the loss's curvature where the force is not clipped.
    least, largest : float
        Bounds of the force towards the label.
    """

    softness: float
    least: float
    largest: float

    @classmethod
    def hinge(cls, C: float) -> MarginLoss:
        """Return C max(0, 1 - y f)."""
        return cls(0.0, 0.0, C)

    @classmethod
    def squared_hinge(cls, C: float) -> MarginLoss:
        """Return C max(0, 1 - y f)^2."""
        return cls(0.5 / C, 0.0, np.inf)

    @classmethod
    def squared_error(cls) -> MarginLoss:
        """Return (1 - y f)^2 / 2."""
        return cls(1.0, -np.inf, np.inf)

    def force(
        self, margin: np.ndarray, variance: np.ndarray, room: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the mean force, its mean square, and how often it is not clipped.

        Parameters
        ----------
        margin, variance : float arrays, shape (T,)
            Of y f without the trial, which is normal.
        room : float array, shape (T,)
            V.
        """
        stiff = self.softness + room
        return clipped_normal((1.0 - margin) / stiff, np.sqrt(variance) / stiff, self.bounds)

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the bounds of the force."""
        return self.least, self.largest


def clipped_normal(
    mean: np.ndarray, deviation: np.ndarray, bounds: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean and mean square of a clipped normal number, and how often it isn't clipped.

    Examples
    --------
    >>> mean, square, inside = clipped_normal(np.zeros(1), np.ones(1), (0.0, np.inf))
    >>> print(round(mean.item(), 4), round(square.item(), 4), round(inside.item(), 4))
    0.3989 0.5 0.5
    """
    total, total_square, inside = np.zeros_like(mean), np.zeros_like(mean), np.ones_like(mean)
    density = []
    for bound, side in zip(bounds, (1.0, -1.0), strict=True):
        if not np.isfinite(bound):
            density.append((np.zeros_like(mean), np.zeros_like(mean)))
            continue
        z = (bound - mean) / deviation
        beyond = ndtr(side * z)
        height = side * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
        density.append((height, z * height))
        inside = inside - beyond
        total, total_square = total + bound * beyond, total_square + bound**2 * beyond
    height = density[0][0] + density[1][0]
    tail = density[0][1] + density[1][1]
    inside = np.maximum(inside, 0.0)
    square = (mean**2 + deviation**2) * inside + 2.0 * mean * deviation * height
    return (
        total + mean * inside + deviation * height,
        np.maximum(total_square + square + deviation**2 * tail, 0.0),
        inside,
    )


def mean_inverse(
    offset: Float[np.ndarray, " T"], trials: Float[np.ndarray, " T"], share: Float[np.ndarray, " T"]
) -> Float[np.ndarray, " T"]:
    """Return the mean of 1 / (offset + X) for binomial X.

    Examples
    --------
    >>> mean_inverse(np.array([1.0]), np.array([2.0]), np.array([0.5])).round(4).item()
    0.5833
    """
    x = np.arange(trials.max() + 1.0)
    n, p = trials[:, None], share[:, None]
    possible = x <= n
    rest = np.where(possible, n - x, 0.0)
    choices = gammaln(n + 1.0) - gammaln(x + 1.0) - gammaln(rest + 1.0)
    chance = np.where(possible, np.exp(choices + xlogy(x, p) + xlog1py(rest, -p)), 0.0)
    return np.sum(chance / (offset[:, None] + x), axis=1)
