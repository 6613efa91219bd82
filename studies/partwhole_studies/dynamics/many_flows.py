"""Many small flows, integrated in calls of one size, so that they are compiled once."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from partwhole.flows import Tied, flow, learning_clocks
from partwhole.measures.learning import learning_times

RECORDS = 800  # times at which flows are read in one call


def integrate(
    w0: Float[np.ndarray, "n d d"],
    moments: Float[np.ndarray, "n d d"],
    times: Float[np.ndarray, " T"],
    *,
    batch: int,
    size: int,
    **options: Any,
) -> Float[np.ndarray, "n T d d"]:
    """Return the maps along many flows, in calls of `batch` flows of size x size maps."""
    n, d = w0.shape[:2]
    calls = -(-n // batch)
    pad = ((0, 0), (0, size - d), (0, size - d))  # what starts at 0 stays there
    # Repeated from the first on, to fill the last call.
    w0, moments = (np.resize(np.pad(m, pad), (calls, batch, size, size)) for m in (w0, moments))
    states = [flow(Tied(w, a), times, **options).states for w, a in zip(w0, moments, strict=True)]
    return np.concatenate(states)[:n, :, :d, :d]


def half_times(
    w0: Float[np.ndarray, "n d d"], moments: Float[np.ndarray, "n d d"], *, batch: int, size: int
) -> Float[np.ndarray, "n d"]:
    """Integrate many flows, each over its own time; return when the concepts are half learned."""
    pairs = zip(w0, moments, strict=True)
    last = np.array([clocks(w, a)[np.diag(a) > 1e-4 * a.max()].max() for w, a in pairs])
    times = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, RECORDS - 1)])
    # A flow under c A is the flow under A at c times the pace: so each has its own horizon.
    horizon = 1.6 * last
    scaled = moments * horizon[:, None, None]
    states = integrate(w0, scaled, times, batch=batch, size=size, rtol=1e-8, atol=1e-11)
    majors = np.diagonal(states, axis1=-2, axis2=-1)
    return np.array([learning_times(times, each) for each in majors]) * horizon[:, None]


def clocks(w0: Float[np.ndarray, "d d"], second_moment: Float[np.ndarray, "d d"]) -> np.ndarray:
    """Return the predicted time of each concept, in the concepts' own order."""
    predicted = learning_clocks(w0, second_moment)
    times = np.full(len(w0), np.inf)
    times[predicted.order] = predicted.times
    return times
