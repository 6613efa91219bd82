"""What the readers of concept space share: their checks, smoothing, and the bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._types import Bounds, Real
from partwhole.measures.extrema import increasing
from partwhole.measures.learning import learning_times

# Probabilities in single precision may be this far outside 0..1.
ROUNDING = 1e-6
NO_SMOOTHING = 0.02  # records: at this deviation the weight of a neighbour is 0
WIDEST = 1_000_000  # smoothing, in records: a wider kernel takes memory, and is flat already

Width = Annotated[Real, Bounds(at_least=0, at_most=WIDEST)]
Share = Annotated[Real, Bounds(at_least=0, below=1)]
Resamples = Annotated[int, Bounds(at_least=100)]


def unit_readings(coordinates: np.ndarray, name: str = "coordinates") -> np.ndarray:
    """Check readings in 0..1 and return them in double precision."""
    readings = np.asarray(coordinates, dtype=float)
    require(
        readings.size > 0,
        f"{name} hold a reading or more",
        f"shape {readings.shape}",
        "pass one checkpoint or more",
    )
    low, high = readings.min(), readings.max()
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
    from checkpoint to checkpoint keep what they have in common.
    """
    n_runs, _, n_images, _ = readings.shape
    for _ in range(resamples):
        drawn_runs = rng.integers(n_runs, size=n_runs) if runs else np.arange(n_runs)
        share = rng.multinomial(n_images, np.full(n_images, 1 / n_images), size=n_runs) / n_images
        yield np.einsum("ri,rtic->rtc", share, readings[drawn_runs])


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
