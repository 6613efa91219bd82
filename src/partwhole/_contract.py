"""Checks of an object that a user supplies; they report every breach at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class CheckFailed(AssertionError):
    """An object breaks its contract; the text has a sentence for each breach."""


class Contract:
    """The contract of an object, with the breaches noted so far.

    Parameters
    ----------
    subject : str
        The object, as it is named in the sentences.
    """

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.breaches: list[str] = []

    def keeps(self, condition: object, rule: str, actual: object) -> bool:
        """Note a breach unless the condition is true, and return whether it is."""
        if not condition:
            self.breaches.append(f"{rule}; got {actual}")
        return bool(condition)

    def agrees(self, rule: str, actual: object, expected: object, tolerance: float) -> bool:
        """Note a breach unless two arrays agree, relative to the largest entry of both."""
        actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
        shapes = f"shapes {actual.shape}, {expected.shape}"
        if not self.keeps(actual.shape == expected.shape, rule, shapes):
            return False
        size = max(float(np.abs(array).max(initial=0.0)) for array in (actual, expected))
        difference = float(np.abs(actual - expected).max(initial=0.0))
        share = difference / size if size > 0.0 else 0.0
        return self.keeps(
            share <= tolerance, rule, f"a difference of {share:.2g} of the largest entry"
        )

    @contextmanager
    def trying(self, rule: str) -> Iterator[None]:
        """Note an error as a breach of the rule."""
        try:
            yield
        except Exception as error:
            text = " ".join(str(error).split())
            self.breaches.append(f"{rule}; got {type(error).__name__}: {text}")

    def pure(self, rule: str, function: Callable[..., T], *values: object) -> T:
        """Return a function's result; note a breach if it changes its arguments."""
        copies = [np.array(value) if isinstance(value, np.ndarray) else None for value in values]
        result = function(*values)
        same = all(
            np.array_equal(value, copy, equal_nan=True)
            for value, copy in zip(values, copies, strict=True)
            if isinstance(value, np.ndarray) and copy is not None
        )
        self.keeps(same, f"{rule} leaves its arguments as they are", "another array after the call")
        return result

    def close(self) -> None:
        """Raise an error if breaches were noted.

        Raises
        ------
        CheckFailed
            With a sentence for each breach, one a line.
        """
        if self.breaches:
            lines = "\n".join(f"- {breach}" for breach in dict.fromkeys(self.breaches))
            raise CheckFailed(f"{self.subject} breaks its contract:\n{lines}")
