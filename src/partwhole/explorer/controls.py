"""Controls of a panel: what the page offers for an argument, and what it may send for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partwhole._checks import require

EXAMPLE = str(Path(__file__).with_name("example.csv"))  # a table, until there is one of the reader


@dataclass(frozen=True)
class Slider:
    """A control for one of some numbers.

    Parameters
    ----------
    label : str
    values : tuple of float or int
        From left to right.
    """

    label: str
    values: tuple[float | int, ...]

    def read(self, name: str, value: Any) -> float | int:
        """Return a value that a page sent for an argument, if it is one of the slider's.

        Raises
        ------
        InputError
        """
        require(
            value in self.values,
            f"{name} is from {self.values[0]:g} to {self.values[-1]:g}, as the slider has it",
            repr(value),
            "move the slider",
        )
        return self.values[self.values.index(value)]


@dataclass(frozen=True)
class Column:
    """A control for a column of the table, or for several.

    Parameters
    ----------
    label : str
    several : bool, default False
    """

    label: str
    several: bool = False

    def read(self, name: str, value: Any) -> Any:
        """Return what a page sent for an argument, if it is the name of a column, or several.

        Raises
        ------
        InputError
        """
        names = value if self.several else [value]
        require(
            isinstance(names, list)
            and bool(names)
            and all(n and isinstance(n, str) for n in names),
            f"{name} {'are columns' if self.several else 'is a column'} of the table",
            repr(value) if value else "none",
            "choose by name",
        )
        return value


def even(low: float, high: float, step: float, *, decades: bool = False) -> tuple[float, ...]:
    """Return evenly spaced values, or ten to the power of them with two digits.

    Examples
    --------
    >>> even(0.0, 0.3, 0.1), even(-1.0, 0.0, 0.5, decades=True)
    ((0.0, 0.1, 0.2, 0.3), (0.1, 0.32, 1.0))
    """
    values = np.round(np.arange(low, high + step / 2, step), 6)
    return tuple(float(f"{10**x:.2g}") for x in values) if decades else tuple(values.tolist())
