"""Validation of the arguments of penalties: numbers that broadcast, within their ranges."""

from __future__ import annotations

import numpy as np

from partwhole._checks import require
from partwhole._types import Number


def at_least_zero(name: str, number: Number) -> np.ndarray:
    """Return numbers as float64; refuse any below 0."""
    values = np.asarray(number, dtype=float)
    low = values.min(initial=0.0)
    require(low >= 0, f"{name} is at least 0", f"{low:g}", "pass its magnitude")
    return values


def above_zero(name: str, number: Number) -> np.ndarray:
    """Return numbers as float64; refuse any that is not above 0."""
    values = np.asarray(number, dtype=float)
    low = values.min(initial=np.inf)
    require(low > 0, f"{name} is above 0", f"{low:g}", "pass 1 to leave weights as they are")
    return values


def together(*numbers: Number) -> tuple[np.ndarray, ...]:
    """Return numbers as float64 arrays, broadcast against each other."""
    arrays = [np.asarray(number, dtype=float) for number in numbers]
    try:
        return np.broadcast_arrays(*arrays)
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        require(False, "arguments broadcast against each other", shapes, "align their axes")
        raise
