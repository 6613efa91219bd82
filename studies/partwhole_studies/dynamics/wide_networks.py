"""Two concepts in 64 dimensions: the published settings, and the records of networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole.measures import learning_times
from partwhole.networks import Architecture
from partwhole.study import Config
from partwhole.tasks import StructuredIdentity
from partwhole.training import Runs, Training, train

DIMENSION = 64
EPOCHS = 40
BATCHES = 118  # of an epoch: 15,000 samples in batches of 128
# In the time of flows, which descend half the squared error. The published rate is 0.1, for the
# mean over outputs.
STEP = 2.0 * 0.1 / DIMENSION
EPOCH = BATCHES * STEP  # .36875
THRESHOLDS = (0.5, 0.9)
SECOND = 0.05  # the spread of the second concept, in all settings
Reading = Literal["variances", "deviations"]
READINGS: tuple[Reading, ...] = ("variances", "deviations")  # as run, as captioned


@dataclass(frozen=True)
class Setting:
    """Two concepts: their means, the spread of the first, and the measure of that spread."""

    means: tuple[float, float]
    spread: float
    scales_are: Reading = "variances"

    @property
    def name(self) -> str:
        """Name in cells and on the page: "means 1 and 2, variance 0.05"."""
        first, second = self.means
        return f"means {first:g} and {second:g}, {self.scales_are[:-1]} {self.spread:g}"


# The captions call the spreads deviations; the published code ran the same numbers as variances.
_PUBLISHED = (
    *[((1.0, 2.0), spread) for spread in (0.05, 0.1, 0.5, 1.0, 2.0)],
    *[((mean, 2.0), 0.05) for mean in (2.0, 3.0)],
)
AS_RUN = {setting.name: setting for setting in (Setting(*row, "variances") for row in _PUBLISHED)}
AS_CAPTIONED = {
    setting.name: setting for setting in (Setting(*row, "deviations") for row in _PUBLISHED)
}
SETTINGS = AS_RUN | AS_CAPTIONED
MAIN, CAPTIONED = next(iter(AS_RUN)), next(iter(AS_CAPTIONED))


def task(setting: str) -> StructuredIdentity:
    """Return the task of a published setting; as in the published runs, one cluster is at 0."""
    law = SETTINGS[setting]
    return StructuredIdentity(
        law.means,
        (law.spread, SECOND),
        dimension=DIMENSION,
        origin=True,
        rotation=0,
        scales_are=law.scales_are,
    )


def stronger(setting: str) -> int | None:
    """Return the concept with the larger signal; None where signals are nearly equal."""
    first, second = task(setting).signals[:2].tolist()
    return None if abs(first - second) < 0.1 else int(second > first)


def records(epochs: int) -> Int[np.ndarray, " T"]:
    """Return the steps to record: each epoch, and within the first three more densely.

    Those of a shorter training are the first ones of a longer.
    """
    early = np.geomspace(1, 3 * BATCHES, 40).round().astype(int)
    return np.unique(np.concatenate([[0], early, np.arange(epochs + 1) * BATCHES]))


def network(setting: str, epochs: int, seed: int, **options: Any) -> Config:
    """Return the configuration of a cell that trains one network."""
    return {"part": "network", "setting": setting, "epochs": epochs, "seed": seed} | options


def trained(task: StructuredIdentity, architecture: Architecture, epochs: int, seed: int) -> Runs:
    """Train a network as published, recorded as `records` says."""
    training = Training.published("identity", epochs=epochs, record=records(epochs), seed=seed)
    network = architecture.network(DIMENSION, seed=seed)
    return train(network, task, training, progress=False)


def answers(runs: Runs) -> Float[np.ndarray, "T 2"]:
    """Return the outputs of the only network of the runs at the unseen combination."""
    return runs.concepts.outputs[0, :, 0, :2]


def learned(
    steps: Int[np.ndarray, " T"], outputs: Float[np.ndarray, "T 2"], means: tuple[float, float]
) -> Float[np.ndarray, "thresholds 2"]:
    """Return the epochs after which each concept is half learned, and learned to 90 %."""
    fractions = outputs / np.array(means)
    return np.stack(
        [learning_times(steps / BATCHES, fractions, threshold) for threshold in THRESHOLDS]
    )


def padded(values: Float[np.ndarray, "t *k"]) -> Float[np.ndarray, "T *k"]:
    """Return the records of a training with NaN where one of all epochs goes on."""
    missing = np.full((len(records(EPOCHS)) - len(values), *values.shape[1:]), np.nan)
    return np.concatenate([values, missing])
