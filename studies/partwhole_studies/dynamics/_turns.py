"""Grids on which stages show, and where an error turns on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import SupportsFloat

import numpy as np
from jaxtyping import Float

from partwhole._types import Real
from partwhole.measures import extrema

# One number of records for all flows of these figures, so that each size of matrix compiles once.
RECORDS = 2001


def log_times(last: Real, records: int = RECORDS) -> Float[np.ndarray, " T"]:
    """Return 0 and times spaced evenly in their logarithm, over four decades up to the last."""
    return np.concatenate([[0.0], np.geomspace(1e-4 * last, last, records - 1)])


def turns(
    values: Float[np.ndarray, " T"], times: Float[np.ndarray, " T"] | None = None
) -> Float[np.ndarray, "2 m"]:
    """Return the times of a smooth curve's inner minima and maxima, and its values there.

    Without times they are the numbers of the records, and values are the recorded ones.
    """
    found = extrema(values, times, refine=times is not None)
    return np.stack([found.times, found.values])


def worst(found: Iterable[SupportsFloat], stated: Sequence[Real]) -> float:
    """Return the largest difference from the stated numbers; infinite if there are more or fewer.

    Examples
    --------
    >>> round(worst([1.0, 2.5], [1.1, 2.5]), 3), worst([1.0], [1.0, 2.0])
    (0.1, inf)
    """
    each = [float(number) for number in found]
    if len(each) != len(stated):
        return float("inf")
    return float(np.max(np.abs(np.subtract(each, stated)), initial=0.0))


def written(found: Iterable[SupportsFloat], format: str = ".4g") -> str:
    """Write numbers in a row, for a note."""
    return ", ".join(f"{float(each):{format}}" for each in found)
