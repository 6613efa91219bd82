"""Errors that say the rule, what was got, and the remedy."""

from __future__ import annotations


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
