"""How far the conditions of a recording are apart at each time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._progress import bar
from partwhole._types import Seed
from partwhole.features.subsets import over_subsets
from partwhole.measures._samples import Whiten
from partwhole.measures.salience import salience
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


def time_course_of(
    recording: Recording, whiten: Whiten, bootstrap: int, seed: Seed, progress: bool
) -> TimeCourse | None:
    """Return how far conditions are apart at each time; None for a recording without time."""
    if recording.responses.ndim == 2:
        return None
    n_times = recording.responses.shape[2]
    times = np.arange(n_times, dtype=float) if recording.times is None else recording.times
    parts, low, high = ([] for _ in range(3))
    with bar("responses over time", n_times, shown=progress) as advance:
        for t in range(n_times):
            result = salience(recording.at(t), whiten=whiten, bootstrap=bootstrap, seed=seed)
            tail = 0.5 * (1.0 - result.confidence)
            replicates = over_subsets("replicates", result.replicates, -1.0)[:, 1:]
            parts.append(over_subsets("parts", result.centred, -1.0)[1:])
            ends = np.quantile(replicates, [tail, 1.0 - tail], axis=0)
            low.append(ends[0])
            high.append(ends[1])
            advance(1)
    return TimeCourse(times, np.array(parts), np.array(low), np.array(high))
