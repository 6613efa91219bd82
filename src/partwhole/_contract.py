"""What an object of a user's own must keep to: checks that report every breach at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class CheckFailed(AssertionError):
    """An object breaks what it must keep to; the text has a sentence for each breach."""


class Contract:
    """The breaches of one object so far.

    Parameters
    ----------
    subject : str
        The object, as sentences name it.
    """

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.breaches: list[str] = []

    def keeps(self, condition: object, rule: str, got: object) -> bool:
        """Note a breach unless the condition is true, and return whether it is."""
        if not condition:
            self.breaches.append(f"{rule}; got {got}")
        return bool(condition)

    def agrees(self, rule: str, got: object, wanted: object, tolerance: float) -> bool:
        """Note a breach unless two arrays agree to a share of the larger one's largest entry."""
        got, wanted = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
        if not self.keeps(got.shape == wanted.shape, rule, f"shapes {got.shape}, {wanted.shape}"):
            return False
        size = max(float(np.abs(each).max(initial=0.0)) for each in (got, wanted))
        apart = float(np.abs(got - wanted).max(initial=0.0))
        share = apart / size if size > 0.0 else 0.0
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

    def pure(self, rule: str, function: Callable[..., T], *given: object) -> T:
        """Return a function's result; note it where it changes what it is given."""
        before = [np.array(each) if isinstance(each, np.ndarray) else None for each in given]
        result = function(*given)
        same = all(
            np.array_equal(each, kept, equal_nan=True)
            for each, kept in zip(given, before, strict=True)
            if isinstance(each, np.ndarray) and kept is not None
        )
        self.keeps(same, f"{rule} leaves its arguments as they are", "another array after the call")
        return result

    def close(self) -> None:
        """Raise what was noted.

        Raises
        ------
        CheckFailed
            With a sentence for each breach, one a line.
        """
        if self.breaches:
            lines = "\n".join(f"- {each}" for each in dict.fromkeys(self.breaches))
            raise CheckFailed(f"{self.subject} breaks its contract:\n{lines}")
