"""Errors of one sentence: the rule, the value that was got, and the remedy."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TypeGuard


class InputError(ValueError):
    """An input that breaks a stated rule; `partwhole.InputError` in code of users."""


def require(condition: object, rule: str, actual: object, remedy: str) -> None:
    """Raise an `InputError` of one sentence unless `condition` is true.

    Parameters
    ----------
    condition : object
        The condition, by its truth value.
    rule : str
        The rule, as a clause without its full stop.
    actual : object
        The value or description that stands after "got".
    remedy : str
        The remedy, as an imperative.

    Raises
    ------
    InputError
        If `condition` is false.

    Examples
    --------
    >>> require(7 in range(-4, 5), "anchors must be among the values", 7, "choose from -4..4")
    Traceback (most recent call last):
    ...
    partwhole._checks.InputError: anchors must be among the values; got 7; choose from -4..4
    """
    if not condition:
        raise InputError(f"{rule}; got {actual}; {remedy}")


def whole(name: str, number: object, minimum: int, remedy: str) -> None:
    """Require a whole number of at least a minimum.

    Examples
    --------
    >>> whole("layers", 2.5, 1, "pass 1 or more")
    Traceback (most recent call last):
    ...
    partwhole._checks.InputError: layers is a whole number of at least 1; got 2.5; pass 1 or more
    """
    rule = f"{name} is a whole number of at least {minimum}"
    require(is_whole(number) and int(number) >= minimum, rule, repr(number), remedy)


def seed_list(
    values: object, rule: str = "seeds are whole numbers of at least 0"
) -> tuple[int, ...]:
    """Validate one or more seeds and return them as a tuple."""
    try:
        seeds = tuple(values)  # pyright: ignore[reportArgumentType]
    except TypeError:
        seeds = ()
    valid = len(seeds) > 0 and all(is_whole(seed) and seed >= 0 for seed in seeds)
    plain = getattr(values, "tolist", lambda: values)()
    text = " ".join(repr(plain).split()) if len(seeds) < 9 else f"{len(seeds)} of them"
    require(valid, rule, text, "pass range(24), say")
    return tuple(int(seed) for seed in seeds)


def is_whole(number: object) -> TypeGuard[int]:
    """Return whether this is a whole number, NumPy's included."""
    # Python counts True as an integer, and NumPy its durations.
    excluded = isinstance(number, bool) or type(number).__name__ == "timedelta64"
    return isinstance(number, Integral) and not excluded


def is_finite(number: object) -> TypeGuard[float]:
    """Return whether this is a finite number, NumPy's included."""
    if not isinstance(number, Real) or isinstance(number, bool):
        return False
    if type(number).__name__ == "timedelta64":
        return False
    try:
        return math.isfinite(float(number))
    except OverflowError:  # a whole number above the largest float
        return False
