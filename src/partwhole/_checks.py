"""Errors that say the rule, what was got, and the remedy."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TypeGuard


class InputError(ValueError):
    """An input that breaks a stated rule."""


def require(condition: object, rule: str, got: object, remedy: str) -> None:
    """Raise an `InputError` of one sentence unless `condition` is true.

    Parameters
    ----------
    condition : object
        What must be true.
    rule : str
        The rule, as a clause without its full stop.
    got : object
        What was found instead, as it should be read.
    remedy : str
        What to do about it.

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
        raise InputError(f"{rule}; got {got}; {remedy}")


def whole(name: str, number: object, least: int, remedy: str) -> None:
    """Require a whole number of at least some size.

    Examples
    --------
    >>> whole("layers", 2.5, 1, "pass 1 or more")
    Traceback (most recent call last):
    ...
    partwhole._checks.InputError: layers is a whole number of at least 1; got 2.5; pass 1 or more
    """
    rule = f"{name} is a whole number of at least {least}"
    require(is_whole(number) and int(number) >= least, rule, repr(number), remedy)


def switch(name: str, given: object) -> None:
    """Require True or False: any other text, "no" too, would count as True."""
    require(isinstance(given, bool), f"{name} is True or False", repr(given), "choose one of them")


def seed_list(
    given: object, rule: str = "seeds are whole numbers of at least 0"
) -> tuple[int, ...]:
    """Return one or more seeds, once they are seen to be whole numbers of at least 0."""
    try:
        found = tuple(given)  # pyright: ignore[reportArgumentType]
    except TypeError:
        found = ()
    good = len(found) > 0 and all(is_whole(seed) and seed >= 0 for seed in found)
    listed = getattr(given, "tolist", lambda: given)()
    shown = " ".join(repr(listed).split()) if len(found) < 9 else f"{len(found)} of them"
    require(good, rule, shown, "pass range(24), say")
    return tuple(int(seed) for seed in found)


def is_whole(number: object) -> TypeGuard[int]:
    """Return whether this is a whole number, NumPy's included."""
    # A bool is an int too, but seed=True is no seed; durations of NumPy are counted as integers.
    strange = isinstance(number, bool) or type(number).__name__ == "timedelta64"
    return isinstance(number, Integral) and not strange


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
