"""The small linear networks of Yang et al. (ICLR 2025), and the rise of their errors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from partwhole.flows import Deep
from partwhole.measures.extrema import extrema
from partwhole.measures.swing import swing
from partwhole.networks import MLP, Architecture
from partwhole.study import Cells, Estimate
from partwhole.tasks import StructuredIdentity
from partwhole.training import Runs, Training, train
from partwhole.training.concepts import in_concept_frame

# A rise counts when it is this large, and this share of the error at its top.
LEAST, SHARE = 1e-3, 5e-3
CLEAR = 0.05  # of the plateau; sampling noise causes no larger rises


@dataclass(frozen=True)
class Network:
    """A network of the published figures, with the task it learns.

    Parameters
    ----------
    layers, dimension, width : int
    means : tuple of two floats
        The weak concept first.
    learning_rate : float
    rotated : bool, default False
        Whether the learner sees the concepts in a random orientation.
    scales_are : {"variances", "deviations"}, default "variances"
        What the scale of .05 of both concepts is: a variance in the reference implementation, a
        standard deviation in the captions.
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
        """The error of a learner that has learned only the strong concept."""
        return 0.5 * self.means[0] ** 2

    def train(self, task: StructuredIdentity, epochs: int, seeds: Sequence[int]) -> Runs:
        """Train a network of each seed on a sample of its own."""
        rate = self.learning_rate / self.dimension  # published for the mean over outputs
        training = Training.published("identity", epochs=epochs, learning_rate=rate, seed=seeds)
        networks = self.architecture.networks(self.dimension, seeds=seeds)
        return train(networks, task, training, progress=False)


LOW = Network(4, 2, 4, (2.0, 4.0), 0.01, rotated=True)
WIDE = Network(4, 64, 64, (2.0, 4.0), 0.1, rotated=True)


def by_seed(cells: Cells, shared: Collection[str] = ()) -> Cells:
    """Return a cell for each seed of cells that have several along the first axis of their arrays.

    Arrays that are `shared` by the seeds are taken from the first cell. All are floats.
    """
    split = []
    for config, arrays in cells:
        common = {key: value for key, value in config.items() if key != "seeds"}
        for i, seed in enumerate(config["seeds"]):
            single = {k: np.asarray(v[i], float) for k, v in arrays.items() if k not in shared}
            split.append((common | {"seed": seed}, single))
    if shared:
        config, arrays = cells[0]
        common = {key: value for key, value in config.items() if key != "seeds"}
        split.append((common, {name: np.asarray(arrays[name], float) for name in shared}))
    return split


def swings_back(losses: Float[np.ndarray, "n T"]) -> Bool[np.ndarray, " n"]:
    """Return whether errors fall, and then rise by at least .001 and half a percent."""
    records = np.arange(losses.shape[-1])
    turns = (extrema(records, loss, threshold=LEAST, relative=SHARE) for loss in losses)
    return np.array(["minimum" in turn.kinds for turn in turns], dtype=bool)


def rise(losses: Float[np.ndarray, "n T"], unit: float = 1.0) -> Float[np.ndarray, " n"]:
    """Return the largest rise of each error, in a unit such as the plateau."""
    return np.asarray(swing(np.arange(losses.shape[-1]), losses).amplitude) / unit


def difference(first: Estimate, second: Estimate) -> Estimate:
    """Return the difference of two independent estimates, its interval from both of theirs.

    For two proportions this is Newcombe's interval.
    """
    value = first.value - second.value
    below = np.hypot(first.value - first.low, second.high - second.value)
    above = np.hypot(first.high - first.value, second.value - second.low)
    return Estimate(value, float(value - below), float(value + above), min(first.n, second.n))


def population_system(networks: MLP, task: StructuredIdentity) -> Deep:
    """Return networks on the population, without samples, in the concept frame."""
    weights, biases = in_concept_frame(networks, task)
    return Deep(weights, task.second_moment(), biases=biases, mean=task.mean())


def gradient_time(runs: Runs) -> float:
    """Return the length of a step in the time of flows, which descend half the squared error."""
    assert runs.learning_rates is not None
    return 2.0 * float(runs.learning_rates[0])
