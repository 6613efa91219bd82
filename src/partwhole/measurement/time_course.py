"""How far the conditions of a recording are apart at each time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from partwhole._progress import bar
from partwhole._types import Real, Seed
from partwhole.features.subsets import over_subsets
from partwhole.measures._samples import Whiten
from partwhole.measures.salience import saliences_over
from partwhole.recordings import Recording


@dataclass(frozen=True, eq=False)
class TimeCourse:
    """How far conditions are apart at each time, by sets of components.

    Parameters
    ----------
    times : float array, shape (t,)
    parts, low, high : float arrays, shape (t, sets)
        Part of half the mean squared distance between conditions that share nothing which goes back
        to every set of components but the empty one, by bitmask, in squared units of responses,
        with the ends of its interval. Over their sum they are saliences; where conditions are not
        separated they are near 0.
    margin : float array, shape (t, sets)
        Half the width of intervals that hold for all times and sets together: with the probability
        of a single interval no part is off by more. NaN where there is none.

    Examples
    --------
    >>> import partwhole as pw
    >>> rng = np.random.default_rng(0)
    >>> rows = np.tile(np.stack(np.unravel_index(range(9), (3, 3)), axis=1), (8, 1))
    >>> of_first = rng.normal(size=(3, 40))[rows[:, 0]]           # and of nothing else
    >>> movie = np.stack([0 * of_first, of_first], axis=2) + rng.normal(size=(72, 40, 2))
    >>> recording = pw.recordings.from_trials(movie, rows, times=[0.0, 0.1])
    >>> course = pw.measure(recording, held_out="none", bootstrap=20).time_course
    >>> course.parts[:, 0].round(), bool((np.abs(course.parts[:, 1:]) < 2).all())
    (array([ 0., 35.]), True)
    """

    times: Float[np.ndarray, " t"]
    parts: Float[np.ndarray, "t sets"]
    low: Float[np.ndarray, "t sets"]
    high: Float[np.ndarray, "t sets"]
    margin: Float[np.ndarray, "t sets"]

    @property
    def is_above(self) -> Bool[np.ndarray, "t sets"]:
        """Return which parts are above 0, by the interval of all times and sets together."""
        return np.greater(self.parts, self.margin)

    @property
    def clearest(self) -> tuple[float, int]:
        """Return the time at which a part is furthest above 0, and how many have one above it.

        Furthest in units of its margin; (nan, 0) where no part is above 0 at any time.
        """
        if not self.is_above.any():
            return np.nan, 0
        ratio = np.where(self.is_above, self.parts / self.margin, -np.inf).max(axis=1)
        return float(self.times[ratio.argmax()]), int(np.isfinite(ratio).sum())


def time_course_of(
    recording: Recording, whiten: Whiten, bootstrap: int, seed: Seed, progress: bool
) -> TimeCourse | None:
    """Return how far conditions are apart at each time; None for a recording without time."""
    if recording.responses.ndim == 2:
        return None
    n_times = recording.responses.shape[2]
    parts, low, high, drawn = ([] for _ in range(4))
    confidence = 0.95
    with bar("responses over time", n_times, shown=progress) as advance:
        for t in range(n_times):
            now = recording.at(t)
            (result,) = saliences_over(now, [None], whiten, bootstrap, int(seed), noted=False)
            confidence = result.confidence
            tail = 0.5 * (1.0 - confidence)
            replicates = over_subsets("replicates", result.replicates, -1.0)[:, 1:]
            parts.append(over_subsets("parts", result.centred, -1.0)[1:])
            ends = np.quantile(replicates, [tail, 1.0 - tail], axis=0)
            low.append(ends[0])
            high.append(ends[1])
            drawn.append(replicates)
            advance(1)
    margin = _margin(np.array(parts), np.stack(drawn, axis=1), confidence)
    return TimeCourse(_times(recording), np.array(parts), np.array(low), np.array(high), margin)


def note_on_times(recording: Recording, window: tuple[Real, Real] | None) -> list[str]:
    """Return that all else is an average, where it is one over several times."""
    if recording.responses.ndim == 2:
        return []
    times = _times(recording)
    start, stop = (-np.inf, np.inf) if window is None else window
    inside = times[(times >= start) & (times <= stop)]
    if len(inside) < 2 and (window is None or recording.times is not None):
        return []
    counted = ""
    if recording.times is None and window is not None:
        counted = f", counted from 0 to {len(times) - 1}, as responses came without times"
    over = f"an average over {len(inside)} times ({inside[0]:g} to {inside[-1]:g}"
    if len(inside) == 1:
        over = f"of one of {len(times)} times ({inside[0]:g}"
    return [f"all but the time course is {over}{counted}); choose others with window=(start, stop)"]


def _times(recording: Recording) -> Float[np.ndarray, " t"]:
    n_times = recording.responses.shape[2]
    return np.arange(n_times, dtype=float) if recording.times is None else recording.times


def _margin(
    parts: Float[np.ndarray, "t sets"],
    replicates: Float[np.ndarray, "B t sets"],
    confidence: Real,
) -> Float[np.ndarray, "t sets"]:
    """Return half the width of intervals that hold for all times and sets together.

    As many deviations as the largest of all deviations of replicates rarely exceeds: times share
    their trials, so that a share of .05 for each of them would be too strict.
    """
    deviation = np.std(replicates, axis=0)
    present = np.isfinite(deviation) & (deviation > 0.0)
    if not present.any():
        return np.full_like(parts, np.nan)
    off = np.abs(replicates - parts)[:, present] / deviation[present]
    return np.where(present, deviation * np.quantile(off.max(axis=1), confidence), np.nan)
