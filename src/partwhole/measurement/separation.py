"""Whether trials show that conditions differ at all, without which they have no shares."""

from __future__ import annotations

import numpy as np

from partwhole.measures._shares import quantiles
from partwhole.measures.salience import Salience


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
