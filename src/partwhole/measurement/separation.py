"""Whether trials show that conditions differ, and that more than parts makes them similar."""

from __future__ import annotations

import numpy as np

from partwhole.measures._shares import quantiles
from partwhole.measures.salience import Salience

# Structure below which saliences are too coarse for a representation.
COARSE = 0.5


def separation_of(result: Salience) -> tuple[float, tuple[float, float]]:
    """Return half the noise-free squared distance of conditions that share nothing.

    In squared units of responses, with the interval of `result`; NaN where it has none.
    """
    centred, drawn = result.centred, result.replicates
    total = float(centred[-1] - centred[0])
    if not len(drawn):
        return total, (np.nan, np.nan)
    low, high = quantiles((drawn[:, -1] - drawn[:, 0])[:, None], result.confidence)[0]
    return total, (float(low), float(high))


def not_apart(result: Salience) -> str:
    """Return why these trials do not show that conditions differ; empty where they do.

    Also empty where distances have no interval, unless they are no larger than noise.
    """
    total, (low, _) = separation_of(result)
    if total <= 0.0:
        return "trials of one condition are no more alike than those of others"
    if low <= 0.0:
        confidence = f"{100 * result.confidence:g}"
        return f"the {confidence} % interval of the squared distance between them includes 0"
    return ""


def is_coarse(interval: tuple[float, float]) -> bool:
    """Return whether structure is measurably too low for saliences; not without an interval.

    Examples
    --------
    >>> is_coarse((0.1, 0.4)), is_coarse((0.1, 0.6)), is_coarse((np.nan, np.nan))
    (True, False, False)
    """
    return interval[1] < COARSE
