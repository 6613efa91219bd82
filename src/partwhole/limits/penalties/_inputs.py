"""What penalties accept: numbers that broadcast, strengths and scales of at least 0."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from partwhole._checks import require
from partwhole._types import Number

FORMULAS = ("exact", "published")


def at_least_zero(name: str, given: Number) -> np.ndarray:
    """Return numbers of at least 0 as float64."""
    values = np.asarray(given, dtype=float)
    low = values.min(initial=0.0)
    require(low >= 0, f"{name} is at least 0", f"{low:g}", "pass its magnitude")
    return values


def above_zero(name: str, given: Number) -> np.ndarray:
    """Return numbers above 0 as float64."""
    values = np.asarray(given, dtype=float)
    low = values.min(initial=np.inf)
    require(low > 0, f"{name} is above 0", f"{low:g}", "pass 1 to leave weights as they are")
    return values


def together(*numbers: Number) -> tuple[np.ndarray, ...]:
    """Broadcast numbers against each other, as float64."""
    arrays = [np.asarray(each, dtype=float) for each in numbers]
    try:
        return np.broadcast_arrays(*arrays)
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        require(False, "arguments broadcast against each other", shapes, "align their axes")
        raise


def one_of(name: str, given: str, known: Collection[str]) -> None:
    """Refuse an unknown name."""
    require(given in known, f"{name} is one of {', '.join(known)}", repr(given), "choose one")
