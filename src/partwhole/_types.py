"""Argument types that many rooms share; `door` checks them where they annotate an argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Bounds:
    """Bounds of a number, in its annotation: ``Annotated[float, Bounds(at_least=0, below=1)]``.

    Parameters
    ----------
    at_least, at_most : float, default None
        Bounds that belong to the range.
    above, below : float, default None
        Bounds that don't.

    Examples
    --------
    >>> print(Bounds(above=0), Bounds(at_least=1), Bounds(at_least=0, at_most=1), sep=", ")
    above 0, of at least 1, from 0 to 1
    """

    at_least: float | int | None = None
    at_most: float | int | None = None
    above: float | int | None = None
    below: float | int | None = None

    def contain(self, number: float | int) -> bool:
        """Return whether a number lies within."""
        return (
            (self.at_least is None or number >= self.at_least)
            and (self.above is None or number > self.above)
            and (self.at_most is None or number <= self.at_most)
            and (self.below is None or number < self.below)
        )

    def __str__(self) -> str:
        if self.at_least is not None and self.at_most is not None:
            return f"from {self.at_least:g} to {self.at_most:g}"
        words = ("at least", "above", "at most", "below")
        bounds = zip(words, (self.at_least, self.above, self.at_most, self.below), strict=True)
        text = " and ".join(f"{word} {n:g}" for word, n in bounds if n is not None)
        return f"of {text}" if text.startswith("at") else text


Real = float | int
Number = Real | Float[np.ndarray, "..."]
Positive = Annotated[Real, Bounds(above=0)]
NonNegative = Annotated[Real, Bounds(at_least=0)]
Fraction = Annotated[Real, Bounds(at_least=0, at_most=1)]
ProperFraction = Annotated[Real, Bounds(above=0, below=1)]
Count = Annotated[int, Bounds(at_least=1)]
Index = Annotated[int, Bounds(at_least=0)]
Seed = Index
Seeds = Sequence[Seed]
