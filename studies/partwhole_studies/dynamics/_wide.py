"""Two concepts in 64 dimensions: the published settings, their clock, and one seed among many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import stats

from partwhole.measures import learning_times
from partwhole.study import Config
from partwhole.tasks import StructuredIdentity
from partwhole.training import IdentityRuns, Protocol

DIMENSION = 64
EPOCHS = 40
BATCHES = 118  # of an epoch: 15,000 samples in batches of 128
EPOCH = BATCHES * Protocol().rate(DIMENSION)  # in gradient time, .36875
THRESHOLDS = (0.5, 0.9)
SECOND = 0.05  # the spread of the second concept, whatever that of the first
Reading = Literal["variances", "deviations"]
READINGS: tuple[Reading, ...] = ("variances", "deviations")  # as run, as captioned


@dataclass(frozen=True)
class Setting:
    """Two concepts: their means, the spread of the first, and which measure of spread it is."""

    means: tuple[float, float]
    spread: float
    scales_are: Reading = "variances"

    @property
    def name(self) -> str:
        """What a cell and a reader call it: "means 1 and 2, variance 0.05"."""
        return f"{self._means}, {self.scales_are[:-1]} {self.spread:g}"

    @property
    def words(self) -> str:
        """The same with both spreads: "means 1 and 2, variances 0.05 and 0.05"."""
        return f"{self._means}, {self.scales_are} {self.spread:g} and {SECOND:g}"

    @property
    def variance(self) -> float:
        """The variance of the first concept, whichever way its spread is read."""
        return self.spread if self.scales_are == "variances" else self.spread**2

    @property
    def _means(self) -> str:
        return f"means {self.means[0]:g} and {self.means[1]:g}"


# The captions call the spreads deviations; the published code ran the same numbers as variances.
_PUBLISHED = (
    *[((1.0, 2.0), spread) for spread in (0.05, 0.1, 0.5, 1.0, 2.0)],
    *[((mean, 2.0), 0.05) for mean in (2.0, 3.0)],
)
AS_RUN = {each.name: each for each in (Setting(*one, "variances") for one in _PUBLISHED)}
AS_CAPTIONED = {each.name: each for each in (Setting(*one, "deviations") for one in _PUBLISHED)}
SETTINGS = AS_RUN | AS_CAPTIONED
MAIN, CAPTIONED = next(iter(AS_RUN)), next(iter(AS_CAPTIONED))


def task(setting: str, *, rotation: int = 0) -> StructuredIdentity:
    """Return a published setting, its spreads read as run or as captioned; one cluster is at 0.

    The published networks had that cluster in either reading: only the spreads are told apart.
    """
    known = SETTINGS[setting]
    return StructuredIdentity(
        known.means,
        (known.spread, SECOND),
        dimension=DIMENSION,
        origin=True,
        rotation=rotation,
        scales_are=known.scales_are,
    )


def left_out(trained: Iterable[str]) -> str:
    """Say which of the published settings are not among those trained, in either reading."""
    missing = [setting for setting in SETTINGS if setting not in set(trained)]
    return f" Not trained in this preset: {'; '.join(missing)}." if missing else ""


def records(epochs: int) -> Int[np.ndarray, " T"]:
    """Return the steps to record: each epoch, and within the first three more densely.

    Those of a shorter training are the first ones of a longer.
    """
    early = np.geomspace(1, 3 * BATCHES, 40).round().astype(int)
    return np.unique(np.concatenate([[0], early, np.arange(epochs + 1) * BATCHES]))


def network(setting: str, epochs: int, seed: int, **more: Any) -> Config:
    """Return the configuration of a cell that trains one network."""
    return {"part": "network", "setting": setting, "epochs": epochs, "seed": seed} | more


def answers(runs: IdentityRuns) -> Float[np.ndarray, "T 2"]:
    """Return what the only network of the runs answers to the unseen combination."""
    return runs.outputs[0, 0, :, 0, :2]


def learned(
    steps: Int[np.ndarray, " T"], outputs: Float[np.ndarray, "T 2"], means: tuple[float, float]
) -> Float[np.ndarray, "thresholds 2"]:
    """Return the epochs after which each concept is half learned, and learned to 90 %."""
    fractions = outputs / np.array(means)
    return np.stack([learning_times(steps / BATCHES, fractions, each) for each in THRESHOLDS])


def padded(values: Float[np.ndarray, "t *k"], length: int) -> Float[np.ndarray, "T *k"]:
    """Return the values of a shorter training with NaN where a longer one goes on."""
    missing = np.full((length - len(values), *values.shape[1:]), np.nan)
    return np.concatenate([values, missing])


def share(happened: Bool[np.ndarray, " n"]) -> tuple[float, tuple[float, float]]:
    """Return in which share of seeds something happened, with Wilson's 95 % interval."""
    found = stats.binomtest(int(happened.sum()), len(happened))
    ends = found.proportion_ci(method="wilson")
    return float(found.statistic), (float(ends.low), float(ends.high))


def apart(
    published: Float[np.ndarray, " k"],
    ours: Float[np.ndarray, "n k"],
    *,
    uncertain: float = 0.0,
) -> float:
    """Return how far a published seed lies from ours, at most 1 where it may be one of them.

    The unit is half the width of the interval in which all k numbers of a further seed lie with
    a probability of at least 95 %. A published number may be up to `uncertain` too large.
    """
    n, k = ours.shape
    # Bonferroni: each number may miss with a k-th of 5 %.
    reach = stats.t.ppf(1 - 0.025 / k, n - 1) * ours.std(axis=0, ddof=1) * np.sqrt(1 + 1 / n)
    centre = ours.mean(axis=0)
    nearest = np.clip(centre, published - uncertain, published)
    return float((np.abs(nearest - centre) / reach).max())


def within(
    published: Float[np.ndarray, " k"],
    ours: Float[np.ndarray, "n k"],
    *,
    uncertain: float = 0.0,
) -> str:
    """Say how many numbers of a published seed lie beyond the least or the most of ours."""
    inside = (ours.min(axis=0) <= published) & (published - uncertain <= ours.max(axis=0))
    k, n = len(published), len(ours)
    outside = k - int(inside.sum())
    return (
        f"{outside} of its {k} numbers {'lies' if outside == 1 else 'lie'} outside the "
        f"range of our seeds; with {n} seeds this test sees only gross differences."
    )
