"""Flows run in float64, whatever the caller's settings are."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax

Given = ParamSpec("Given")
Found = TypeVar("Found")


def in_float64(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """Run a function with 64-bit numbers, and leave the user's own setting as it was.

    What it returns should be NumPy arrays: a 64-bit array of JAX would be cut to 32 bits by the
    next operation outside.
    """

    @wraps(function)
    def run(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return run
