"""Argument types that many rooms share; `door` checks them where they annotate an argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Bounds:
    """Bounds of a number, in its annotation: ``Annotated[float, Bounds(least=0, below=1)]``.

    Parameters
    ----------
    least, most : float, default None
        Bounds that belong to the range.
    above, below : float, default None
        Bounds that don't.

    Examples
    --------
    >>> print(Bounds(above=0), Bounds(least=1), Bounds(least=0, most=1), sep=", ")
    above 0, of at least 1, from 0 to 1
    """

    least: float | int | None = None
    most: float | int | None = None
    above: float | int | None = None
    below: float | int | None = None

    def contain(self, number: float | int) -> bool:
        """Return whether a number lies within."""
        return (
            (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.most is None or number <= self.most)
            and (self.below is None or number < self.below)
        )

    def __str__(self) -> str:
        if self.least is not None and self.most is not None:
            return f"from {self.least:g} to {self.most:g}"
        bounds = {
            "at least": self.least, "above": self.above, "at most": self.most, "below": self.below
        }  # fmt: skip
        text = " and ".join(f"{word} {n:g}" for word, n in bounds.items() if n is not None)
        return f"of {text}" if text.startswith("at") else text


Real = float | int
Number = Real | Float[np.ndarray, "..."]
Positive = Annotated[Real, Bounds(above=0)]
NonNegative = Annotated[Real, Bounds(least=0)]
Fraction = Annotated[Real, Bounds(least=0, most=1)]
ProperFraction = Annotated[Real, Bounds(above=0, below=1)]
Count = Annotated[int, Bounds(least=1)]
Index = Annotated[int, Bounds(least=0)]
Seed = Index
Seeds = Sequence[Seed]
