"""What penalties accept: finite numbers that broadcast, strengths and scales of at least 0."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from partwhole._checks import InputError, require
from partwhole._types import Number

FORMULAS = ("exact", "published")


def numbers(name: str, given: object) -> np.ndarray:
    """Return numbers as float64."""
    rule, remedy = f"{name} is a number or an array of them", "pass a float or a NumPy array"
    try:
        return np.asarray(given, dtype=float)  # pyright: ignore[reportArgumentType,reportCallIssue]
    except (TypeError, ValueError):
        raise InputError(f"{rule}; got {given!r:.40}; {remedy}") from None


def finite(name: str, given: object) -> np.ndarray:
    """Return finite numbers as float64."""
    values = numbers(name, given)
    bad = values[~np.isfinite(values)]
    require(bad.size == 0, f"{name} is finite", f"{bad[:1].sum():g}", "replace it")
    return values


def at_least_zero(name: str, given: Number) -> np.ndarray:
    """Return finite numbers of at least 0."""
    values = finite(name, given)
    low = values.min(initial=0.0)
    require(low >= 0, f"{name} is at least 0", f"{low:g}", "pass its magnitude")
    return values


def above_zero(name: str, given: Number) -> np.ndarray:
    """Return finite numbers above 0."""
    values = finite(name, given)
    low = values.min(initial=np.inf)
    require(low > 0, f"{name} is above 0", f"{low:g}", "pass 1 to leave weights as they are")
    return values


def together(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Broadcast arrays against each other."""
    try:
        return np.broadcast_arrays(*arrays)
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        require(False, "arguments broadcast against each other", shapes, "align their axes")
        raise


def one_of(name: str, given: str, known: Collection[str]) -> None:
    """Refuse an unknown name."""
    require(given in known, f"{name} is one of {', '.join(known)}", repr(given), "choose one")
