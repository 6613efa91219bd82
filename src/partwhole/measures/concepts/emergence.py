"""When a combination emerges: the step, and how well images and runs fix it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import ProperFraction, Real, Seed
from partwhole.measures.concepts._readings import (
    Resamples,
    Share,
    Width,
    corner,
    first_steps,
    product_of,
    quantile,
    require_enough,
    resampled_means,
    smooth,
    step_text,
    steps_of,
    unit_readings,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Emergence:
    """Step from which an accuracy stays above a threshold.

    A step that is not reached within the run is infinite: all that is known of it is that it is
    later than the last checkpoint, and an interval may end there.

    Parameters
    ----------
    step : float
        Of the mean over runs.
    by_run : float array, shape (runs,)
        Of each run's own accuracy.
    median, low, high : float
        Of the bootstrap; NaN where each checkpoint has a single reading.
    share_unreached : float
        Share of the bootstrap in which the threshold is not reached; NaN likewise.
    threshold, consecutive, confidence : float, int, float
        Of the rule and the interval.
    drawn : float array, shape (resamples,)
        The bootstrap's steps.
    """

    step: float
    by_run: Float[np.ndarray, " R"]
    median: float
    low: float
    high: float
    share_unreached: float
    threshold: float
    consecutive: int
    confidence: float
    drawn: Float[np.ndarray, " B"]

    @property
    def spread(self) -> float:
        """Return the deviation of the step over runs; NaN unless two or more have one, all do."""
        has_spread = len(self.by_run) > 1 and bool(np.isfinite(self.by_run).all())
        return float(self.by_run.std(ddof=1)) if has_spread else float("nan")

    def describe(self) -> str:
        """Return the rule and the step, in a sentence."""
        rule = f"above {self.threshold:g} for {self.consecutive} checkpoints"
        text = f"{rule}: step {step_text(self.step)}"
        if np.isnan(self.share_unreached):
            return f"{text}; single readings have no interval."
        ends = f"{step_text(self.low)} to {step_text(self.high)}"
        return f"{text} ({ends}); never in {self.share_unreached:.3f} of the resamples."

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row: the step with its interval, and the rule."""
        import pandas as pd

        names = ("step", "median", "low", "high", "share_unreached", "threshold", "consecutive")
        return pd.DataFrame([{name: getattr(self, name) for name in names}])


@door
def emergence(
    steps: Float[np.ndarray, " T"] | Int[np.ndarray, " T"],
    accuracy: Float[np.ndarray, "*axes"],
    *,
    target: Float[np.ndarray, " C"] | None = None,
    threshold: Share = 0.8,
    consecutive: int = 3,
    smoothing: Width = 0.0,
    resamples: Resamples = 1000,
    confidence: ProperFraction = 0.95,
    seed: Seed = 0,
) -> Emergence:
    r"""Find the first checkpoint that opens enough consecutive accuracies above a threshold.

    Of coordinates, the accuracy is the multiplicative one,
    :math:`\prod_i (1 - |g_i - \bar C_i|)` with the mean over a run's images, averaged over runs.
    The interval is that of the bootstrap over images, and over runs where there are several: the
    quantiles of the steps with resampled images (and runs).

    Parameters
    ----------
    steps : float array, shape (T,)
        Increasing.
    accuracy : float array, shape (T,), (T, images, C) or (runs, T, images, C)
        An accuracy at each checkpoint, or the concept coordinates of every image, all in 0..1.
        Where a decoder abstains on images, pass `product_accuracy` of a `concept_path`.
    target : float array, shape (C,), keyword-only, default None
        The combination's coordinates; all 1 by default. Only for coordinates.
    threshold : float, keyword-only, default 0.8
    consecutive : int, keyword-only, default 3
    smoothing : float, keyword-only, default 0.0
        Deviation of a Gaussian over checkpoints, as in `concept_path`.
    resamples : int, keyword-only, default 1000
    confidence : float, keyword-only, default 0.95
    seed : int, keyword-only, default 0

    Returns
    -------
    Emergence

    Raises
    ------
    InputError
        For numbers that are not finite or outside 0..1, another number of axes, steps that don't
        increase, a target that doesn't fit, or options out of range.

    Notes
    -----
    The rule is that of the published code of Yang et al. (ICLR 2025) and of Park et al. (NeurIPS
    2024), the interval derived here. A step is one of the checkpoints, so that no interval is
    narrower than they are apart. Of few runs the bootstrap makes too little: with one run of 64
    binary readings, intervals of 0.95 covered the true step in 0.98 of 150 cases; with 3, 5 and 10
    runs that differ in their onset they covered that of all such runs in 0.82, 0.88 and 0.94 of
    100. Read `by_run` along.

    Examples
    --------
    >>> steps = np.arange(30.0) * 100
    >>> level = 1 / (1 + np.exp(-(steps - 1200) / 200))
    >>> chance = np.random.default_rng(0).uniform(size=(30, 64, 2))
    >>> onset = emergence(steps, (chance < level[:, None, None]).astype(float))
    >>> onset.low <= onset.step <= onset.high, onset.share_unreached
    (True, 0.0)
    >>> float(steps[level**2 > 0.8][0]), emergence(steps, level**2).step
    (1700.0, 1700.0)
    """
    array = unit_readings(accuracy, "accuracies and coordinates")
    require(
        array.ndim in (1, 3, 4),
        "accuracies have one axis, coordinates have three, or four with runs",
        f"{array.ndim} axes",
        "pass coordinates of shape (T, images, C), or the product over concepts",
    )
    require(
        target is None or array.ndim > 1,
        "a target belongs to coordinates",
        "one for accuracies",
        "leave it out",
    )
    readings = array[:, None, None] if array.ndim == 1 else array
    readings = readings[None] if readings.ndim == 3 else readings
    times = steps_of(steps, readings.shape[1], "(T,), (T, images, C) or (runs, T, images, C)")
    require_enough(consecutive, len(times))
    goal = corner(target, readings.shape[3])
    by_run = smooth(product_of(readings.mean(axis=2), goal), smoothing, axis=1)
    drawn = np.empty((0, len(times)))
    if readings.shape[2] > 1:
        means = resampled_means(
            readings, resamples, np.random.default_rng(seed), runs=len(readings) > 1
        )
        drawn = np.stack([product_of(run_means, goal).mean(axis=0) for run_means in means])
        drawn = smooth(drawn, smoothing, axis=1)
    return emergence_of(times, by_run, drawn, threshold, consecutive, confidence)


def emergence_of(
    steps: Float[np.ndarray, " T"],
    by_run: Float[np.ndarray, "R T"],
    drawn: Float[np.ndarray, "B T"],
    threshold: Real,
    consecutive: int,
    confidence: Real,
) -> Emergence:
    """Return when accuracies emerge, given those of each run and of each resample."""
    step, *run_steps = first_steps(
        steps, np.concatenate([by_run.mean(axis=0)[None], by_run]), threshold, consecutive
    )
    drawn_steps = first_steps(steps, drawn, threshold, consecutive) if len(drawn) else np.empty(0)
    tail = 0.5 * (1.0 - float(confidence))
    share_unreached = float(np.isinf(drawn_steps).mean()) if len(drawn_steps) else float("nan")
    return Emergence(
        float(step),
        np.array(run_steps, dtype=float),
        quantile(drawn_steps, 0.5),
        quantile(drawn_steps, tail),
        quantile(drawn_steps, 1.0 - tail),
        share_unreached,
        float(threshold),
        int(consecutive),
        float(confidence),
        drawn_steps,
    )
