"""What the readers of concept space share: their checks, smoothing, and the bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Float

from partwhole._checks import require
from partwhole._types import Bounds, Real
from partwhole.measures.extrema import increasing
from partwhole.measures.learning import learning_times

# Probabilities in single precision may be this far outside 0..1.
ROUNDING = 1e-6
NO_SMOOTHING = 0.02  # records: at this deviation the weight of a neighbour is 0
WIDEST = 1_000_000  # smoothing, in records: a wider kernel takes memory, and is flat already

MOST_ABSTAINED = 0.5  # of the images of a checkpoint; and of the checkpoints

Width = Annotated[Real, Bounds(at_least=0, at_most=WIDEST)]
Share = Annotated[Real, Bounds(at_least=0, below=1)]
Resamples = Annotated[int, Bounds(at_least=100)]


class PathOutcome(Enum):
    """Whether readings could be followed although some images have none; the value says how."""

    FOLLOWED = "followed at every checkpoint"
    FOLLOWED_IN_PART = (
        "followed at the checkpoints at which at most half of the images are abstained on, in "
        "every run; the others are left out"
    )
    NOT_FOLLOWED = (
        "cannot be followed: at more than half of the checkpoints over half of the images are "
        "abstained on; read them by a classifier of concepts, or record later checkpoints"
    )

    @classmethod
    def of(cls, is_read: Bool[np.ndarray, " T"]) -> PathOutcome:
        """Return the outcome for the checkpoints that are read."""
        if is_read.all():
            return cls.FOLLOWED
        few = 1.0 - is_read.mean() > MOST_ABSTAINED
        return cls.NOT_FOLLOWED if few else cls.FOLLOWED_IN_PART


def image_means(readings: Float[np.ndarray, "*axes I C"]) -> Float[np.ndarray, "*axes C"]:
    """Return the mean over the images that are not abstained on; NaN where there are none."""
    is_missing = np.isnan(readings)
    if not is_missing.any():
        return readings.mean(axis=-2)
    counts = (~is_missing).sum(axis=-2)
    sums = np.where(is_missing, 0.0, readings).sum(axis=-2)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def abstained_shares(readings: Float[np.ndarray, "*axes I C"]) -> Float[np.ndarray, "*axes"]:
    """Return the share of the images that are abstained on."""
    return np.isnan(readings[..., 0]).mean(axis=-1)


def unit_readings(
    coordinates: np.ndarray, name: str = "coordinates", *, abstentions: bool = False
) -> np.ndarray:
    """Check readings in 0..1 and return them in double precision.

    With `abstentions` they may be NaN: an image without one coordinate is one without any.
    """
    readings = np.asarray(coordinates, dtype=float)
    require(
        readings.size > 0,
        f"{name} hold a reading or more",
        f"shape {readings.shape}",
        "pass one checkpoint or more",
    )
    if abstentions and readings.ndim > 1:
        readings = np.where(np.isnan(readings).any(axis=-1, keepdims=True), np.nan, readings)
    present = readings[~np.isnan(readings)]
    low, high = (present.min(), present.max()) if present.size else (0.0, 1.0)
    require(
        low >= -ROUNDING and high <= 1 + ROUNDING,
        f"{name} are in 0..1",
        f"{low:g}..{high:g}",
        "pass probabilities, or places between the means of a concept's two values",
    )
    return np.clip(readings, 0.0, 1.0)


def steps_of(steps: np.ndarray, n_checkpoints: int, shapes: str) -> Float[np.ndarray, " T"]:
    """Check the steps of checkpoints, T in what shapes coordinates may have, and return them."""
    require(
        np.shape(steps) == (n_checkpoints,),
        f"there is one step for each of the T checkpoints of coordinates, {shapes}",
        f"{np.size(steps)} steps for {n_checkpoints} checkpoints",
        "pass the steps of all checkpoints, or move the axis of coordinates",
    )
    return increasing(steps)


def corner(target: np.ndarray | None, n_concepts: int) -> Float[np.ndarray, " C"]:
    """Check the target's coordinates and return them; all 1 by default."""
    if target is None:
        return np.ones(n_concepts)
    coordinates = np.asarray(target, dtype=float)
    require(
        coordinates.shape == (n_concepts,),
        "target has one coordinate for each concept",
        f"shape {coordinates.shape} for {n_concepts} concepts",
        "pass 0 or 1 for each",
    )
    require(
        bool(((coordinates >= 0) & (coordinates <= 1)).all()),
        "target is in 0..1",
        coordinates.tolist(),
        "pass 0 or 1 for each concept",
    )
    return coordinates


def smooth(curve: np.ndarray, deviation: Real, truncate: Real = 6.0, axis: int = 0) -> np.ndarray:
    """Return a curve smoothed by a Gaussian over its records, mirrored at the ends."""
    if deviation < NO_SMOOTHING:
        return np.asarray(curve, dtype=float)
    from scipy.ndimage import gaussian_filter1d

    return gaussian_filter1d(curve, float(deviation), axis=axis, truncate=float(truncate))


def require_enough(consecutive: int, n_checkpoints: int) -> None:
    """Require so many consecutive checkpoints among those that there are."""
    require(
        1 <= consecutive <= n_checkpoints,
        f"consecutive is a number of checkpoints among 1..{n_checkpoints}",
        consecutive,
        f"pass consecutive={max(n_checkpoints, 1)} or less, or record more often",
    )


def resampled_means(
    readings: Float[np.ndarray, "R T I C"],
    resamples: int,
    rng: np.random.Generator,
    *,
    runs: bool,
) -> Iterator[Float[np.ndarray, "R T C"]]:
    """Yield each run's mean over resampled images, and resampled runs with `runs`.

    An image is drawn with its readings at all checkpoints, so that images which share their noise
    from checkpoint to checkpoint keep what they have in common. Images that are abstained on are
    left out; where none else is drawn, the mean is that of all.
    """
    has_gaps = bool(np.isnan(readings).any())
    n_runs, _, n_images, _ = readings.shape
    for _ in range(resamples):
        drawn_runs = rng.integers(n_runs, size=n_runs) if runs else np.arange(n_runs)
        share = rng.multinomial(n_images, np.full(n_images, 1 / n_images), size=n_runs) / n_images
        if not has_gaps:
            yield np.einsum("ri,rtic->rtc", share, readings[drawn_runs])
            continue
        of_runs = readings[drawn_runs]
        is_missing = np.isnan(of_runs)
        weights = np.einsum("ri,rtic->rtc", share, (~is_missing).astype(float))
        sums = np.einsum("ri,rtic->rtc", share, np.where(is_missing, 0.0, of_runs))
        drawn = sums / np.where(weights > 0, weights, 1.0)
        yield np.where(weights > 0, drawn, image_means(of_runs))


def product_of(means: Float[np.ndarray, "*batch C"], target: Float[np.ndarray, " C"]) -> np.ndarray:
    """Return the product over concepts of 1 less the distance from the target."""
    return np.prod(1.0 - np.abs(means - target), axis=-1)


def first_steps(
    steps: Float[np.ndarray, " T"],
    accuracy: Float[np.ndarray, "*batch T"],
    threshold: Real,
    consecutive: int,
) -> np.ndarray:
    """Return the first step that opens so many values above the threshold, infinite if none."""
    # The published rule is strict where `learning_times` counts a value at the threshold.
    above = float(np.nextafter(float(threshold), np.inf))
    return learning_times(steps, accuracy[..., None], above, hold=consecutive, interpolate=False)[
        ..., 0
    ]


def quantile(values: np.ndarray, q: float) -> float:
    """Return a quantile of values that may be infinite: always one of them; NaN of none."""
    if not len(values):
        return float("nan")
    # Not by interpolation, which between infinite values is no number.
    place = int(np.ceil(q * len(values))) - 1
    return float(np.sort(values)[max(place, 0)])


def number(value: float, digits: int = 3) -> str:
    """Return a number as it should be read."""
    if np.isnan(value):
        return "unknown"
    return "never" if np.isinf(value) else f"{value:.{digits}f}"


def step_text(value: float) -> str:
    """Return a step as it should be read."""
    return "unknown" if np.isnan(value) else "never" if np.isinf(value) else f"{value:g}"
