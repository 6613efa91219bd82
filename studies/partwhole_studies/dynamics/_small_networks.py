"""The small linear networks of the published figures, and how often seeds swing back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

from partwhole.measures.extrema import extrema
from partwhole.measures.swing import swing_amplitude
from partwhole.networks import MLP, Architecture
from partwhole.tasks import StructuredIdentity
from partwhole.training import Protocol

# A rise counts when it is this large, and this share of the error at its top.
LEAST, SHARE = 1e-3, 5e-3
COUNTS = "A rise counts when it is at least .001 and half a percent of the error at its top."
CLEAR = 0.05  # of the plateau: rises above it are no matter of noise
Z = float(stats.norm.ppf(0.975))
Interval = tuple[float, float]


@dataclass(frozen=True)
class Network:
    """State a network of the published figures and the task it learns.

    Parameters
    ----------
    layers, dimension, width : int
    means : tuple of two floats
        The weak concept first.
    learning_rate : float
    rotated : bool, default False
        Whether the learner sees the concepts in a random orientation.
    scales_are : {"variances", "deviations"}, default "variances"
        What the scale of .05 of both concepts is: the published code takes it as a variance, the
        captions as a standard deviation.
    """

    layers: int
    dimension: int
    width: int
    means: tuple[float, float]
    learning_rate: float
    rotated: bool = False
    scales_are: Literal["variances", "deviations"] = "variances"

    def task(self, *, truncated: bool = False) -> StructuredIdentity:
        """Return the task: both concepts with a scale of .05, a cluster at the origin."""
        return StructuredIdentity(
            self.means,
            (0.05, 0.05),
            dimension=self.dimension,
            origin=True,
            rotation=0 if self.rotated else None,
            truncation=0.5 * min(self.means) if truncated else None,
            scales_are=self.scales_are,
        )

    @property
    def architecture(self) -> Architecture:
        return Architecture(layers=self.layers, width=self.width)

    @property
    def plateau(self) -> float:
        """The error of a learner that knows the strong concept alone."""
        return 0.5 * self.means[0] ** 2

    def protocol(self, epochs: int) -> Protocol:
        return Protocol(self.learning_rate, epochs=epochs)


LOW = Network(4, 2, 4, (2.0, 4.0), 0.01, rotated=True)
WIDE = Network(4, 64, 64, (2.0, 4.0), 0.1, rotated=True)


def some(part: int, count: int) -> list[int]:
    """Return the seeds of one part of several that each have so many."""
    return list(range(part * count, (part + 1) * count))


def swings_back(losses: Float[np.ndarray, "n T"]) -> Bool[np.ndarray, " n"]:
    """Return which errors fall, and then rise by at least .001 and half a percent."""
    found = (extrema(each, threshold=LEAST, relative=SHARE) for each in losses)
    return np.array(["minimum" in each.kinds for each in found])


def rise(losses: Float[np.ndarray, "n T"], unit: float = 1.0) -> Float[np.ndarray, " n"]:
    """Return the largest rise of each error, in units of the plateau where it is passed."""
    return np.asarray(swing_amplitude(losses)) / unit


def wilson(hits: int, n: int) -> Interval:
    """Return the 95 % interval of a fraction."""
    low, high = stats.binomtest(hits, n).proportion_ci(method="wilson")
    return float(low), float(high)


def fraction(hit: np.ndarray) -> tuple[float, Interval]:
    """Return the share of the seeds that are hit, and its 95 % interval."""
    return float(np.mean(hit)), wilson(int(np.sum(hit)), len(hit))


def excess(one: np.ndarray, other: np.ndarray) -> tuple[float, Interval]:
    """Return by how much one share is larger than another, with Newcombe's 95 % interval."""
    (p, (low, high)), (q, (lower, higher)) = fraction(one), fraction(other)
    below, above = np.hypot(p - low, higher - q), np.hypot(high - p, q - lower)
    return p - q, (p - q - float(below), p - q + float(above))


def fisher(hit: np.ndarray, hits: int, n: int) -> float:
    """Return Fisher's two-sided probability that seeds and n counted runs differ as much."""
    table = [[hits, n - hits], [int(np.sum(hit)), int(len(hit) - np.sum(hit))]]
    return float(stats.fisher_exact(table)[1])  # type: ignore[index]


def tail(samples: np.ndarray, value: float) -> tuple[float, Interval]:
    """Return the smaller of the shares of samples above and below a value, and its interval."""
    above, below = samples >= value, samples <= value
    return fraction(above if above.sum() <= below.sum() else below)


def mean(samples: np.ndarray) -> tuple[float, Interval]:
    """Return the mean and its 95 % interval by Student."""
    half = stats.t.ppf(0.975, len(samples) - 1) * samples.std(ddof=1) / np.sqrt(len(samples))
    centre = float(samples.mean())
    return centre, (centre - float(half), centre + float(half))


def in_concepts(
    initial: MLP, task: StructuredIdentity, seeds: Sequence[int]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return weights and biases as they act in the concept frame, the rotation undone."""
    turn, at = task.rotation_matrix, list(seeds)
    weights = [np.asarray(each, dtype=float)[at] for each in initial.weights]
    biases = [np.asarray(each, dtype=float)[at] for each in initial.biases or ()]
    weights[0] = weights[0] @ turn.T
    weights[-1] = turn @ weights[-1]
    biases[-1] = biases[-1] @ turn.T
    return weights, biases
