"""The common look of figures: lines, markers and panels."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.study.figure import COLOURS as COLOURS

WIDTH = 5.6  # inches; narrow enough that 10 pt type is still read on a phone
QUIET = "#767676"
# Series differ by marker and dashes too, so that they can be told apart in grey.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (5, 1.5, 1.2, 1.5)),
    (0, (8, 3)),
)


def look(index: int, *, line: bool = True, **changes: Any) -> dict[str, Any]:
    """Return keywords of the look of a series: a line for theory, or hollow markers."""
    colour = COLOURS[index % len(COLOURS)]
    if line:
        return {"color": colour, "linestyle": DASHES[index % len(DASHES)]} | changes
    marks = {
        "color": colour,
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": "none",
        "markersize": 5,
        "markerfacecolor": "white",
        "markeredgewidth": 1.2,
    }
    return marks | changes


def panels(rows: int, columns: int, height: float | int, **grid: Any) -> tuple[Figure, Any]:
    """Return a figure of the common width, and its grid of axes, shape (rows, columns)."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **grid)


def mosaic(layout: str, height: float | int, **grid: Any) -> tuple[Figure, dict[str, Axes]]:
    """Return a figure of the common width, and its axes, from a layout such as "AA;BC"."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplot_mosaic(layout, **grid)


def name(ax: Axes, x: float, y: float, text: str, colour: str = "black", **changes: Any) -> None:
    """Write the name of a series beside it, in its colour."""
    size = {"color": colour, "fontsize": 9, "va": "center"}
    ax.text(x, y, text, **(size | changes))
