"""Later rise of the error in concept space, compared with its noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from partwhole._types import Real, Seed
from partwhole.measures.concepts._readings import (
    image_means,
    number,
    resampled_means,
    smooth,
    step_text,
)
from partwhole.measures.swing import Swing, swing

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Bump:
    """Largest later rise of an error, and the rise that noise of the images alone would give.

    Parameters
    ----------
    swing : Swing
        Its amplitude, and between which checkpoints it lies.
    low, high : float
        Bootstrap interval of the rise between those two checkpoints; NaN where each checkpoint
        has a single reading.
    noise : float
        The amplitude that an error which never rises would reach, from the choice of images
        alone, with probability 1 - confidence; NaN for single readings.
    clear : bool
        Whether the amplitude is above the noise; False where the noise is not known.
    confidence : float
    """

    swing: Swing
    low: float
    high: float
    noise: float
    clear: bool
    confidence: float

    @classmethod
    def unknown(cls, confidence: float) -> Bump:
        """Return the bump of a path that cannot be followed."""
        nan = float("nan")
        return cls(Swing(nan, nan, False, nan, nan, nan, nan), nan, nan, nan, False, confidence)

    @property
    def amplitude(self) -> float:
        """Return the rise."""
        return self.swing.amplitude

    def describe(self) -> str:
        """Return the rise and its noise, in a sentence."""
        swing = self.swing
        if np.isnan(swing.amplitude):
            return "The error cannot be followed."
        if not swing.occurs:
            return "The error never rises."
        interval = f"from {swing.minimum:.3f} at step {step_text(swing.minimum_time)}"
        interval += f" to {swing.maximum:.3f} at step {step_text(swing.maximum_time)}"
        text = f"The error rises by {swing.amplitude:.3f}, {interval}"
        if np.isnan(self.noise):
            return f"{text}; single readings have no estimate of the noise."
        side = "above" if self.clear else "within"
        ends = f"{number(self.low)} to {number(self.high)}"
        return f"{text} ({ends}): {side} the {self.noise:.3f} that images alone would give."

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row: the swing's fields, low, high, noise and clear."""
        table = self.swing.to_frame()
        ends = {"low": self.low, "high": self.high, "noise": self.noise, "clear": self.clear}
        return table.assign(**ends)


def find_bump(
    steps: Float[np.ndarray, " T"],
    readings: Float[np.ndarray, "R T I C"],
    target: Float[np.ndarray, " C"],
    *,
    smoothing: Real,
    truncate: Real,
    resamples: int = 1000,
    confidence: Real = 0.95,
    seed: Seed = 0,
) -> Bump:
    r"""Find the largest later rise of the error of the mean, and compare it with its noise.

    A maximum over pairs of checkpoints is never negative, so a path without a bump has one too.
    It is compared with a quantile of what the falling curve nearest to the error gives (its
    isotonic regression) once the deviations by images drawn again are added to it.
    """

    def error(path: np.ndarray) -> np.ndarray:
        return ((path - target) ** 2).mean(axis=-1)

    path = smooth(image_means(readings).mean(axis=0), smoothing, truncate)
    curve = error(path)
    rise = swing(steps, curve, threshold=1e-12)
    n_images = readings.shape[2]
    unknown = float("nan")
    if n_images < 2:
        return Bump(rise, unknown, unknown, unknown, False, float(confidence))
    from scipy.optimize import isotonic_regression

    falling = isotonic_regression(curve, increasing=False).x
    drawn = resampled_means(readings, resamples, np.random.default_rng(seed), runs=False)
    paths = np.stack([means.mean(axis=0) for means in drawn])
    # Means of images drawn again vary less than those of new images do.
    widen = np.sqrt(n_images / (n_images - 1))
    curves = error(path + widen * (smooth(paths, smoothing, truncate, axis=1) - path))
    alone = swing(steps, falling + curves - curve).amplitude
    noise = float(np.quantile(alone, confidence))
    low = high = unknown
    if rise.occurs:
        start, end = (
            int(np.flatnonzero(steps == at)[0]) for at in (rise.minimum_time, rise.maximum_time)
        )
        rises = curves[:, end] - curves[:, start]
        tail = 0.5 * (1.0 - float(confidence))
        low, high = (float(end) for end in np.quantile(rises, (tail, 1.0 - tail)))
    return Bump(rise, low, high, noise, bool(rise.amplitude > noise), float(confidence))
