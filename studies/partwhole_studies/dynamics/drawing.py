"""Drawings of concept learning, from plain arrays into given axes.

`concept_space` draws outputs as a path with markers at equal times, `cube` the combinations of
binary concepts in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from partwhole._checks import require
from partwhole._types import Real
from partwhole.study.plots import QUIET, look


def concept_space(
    ax: Axes,
    times: Float[np.ndarray, " T"],
    outputs: Float[np.ndarray, "T 2"],
    means: Sequence[Real],
    *,
    every: Real | None = None,
    index: int = 0,
    label: str = "",
) -> None:
    """Draw the answers to the unseen combination as a path through concept space.

    Parameters
    ----------
    ax : matplotlib Axes
    times : float array, shape (T,)
    outputs : float array, shape (T, 2)
        Answers in the frame of the two concepts.
    means : two floats
        Training means lie on the axes at these; the unseen combination is their corner (star).
    every : float, keyword-only, default None
        Time between markers, so that slow stretches show as crowded ones; None leaves them out.
    index : int, keyword-only, default 0
        Which look of the series.
    label : str, keyword-only, default ""

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax, t = Figure().subplots(), np.linspace(0, 3, 50)
    >>> concept_space(ax, t, np.stack([1 - np.exp(-t), 2 - 2 * np.exp(-3 * t)], 1), [1, 2], every=1)
    >>> len(ax.lines)
    4
    """
    x, y = (float(mean) for mean in means)
    times, outputs = np.asarray(times, dtype=float), np.asarray(outputs, dtype=float)
    ax.plot(*outputs.T, **look(index, label=label))
    if every is not None:
        at = np.arange(times[0], times[-1] + 1e-9 * every, float(every))
        marks = np.stack([np.interp(at, times, coordinate) for coordinate in outputs.T])
        style = look(index, line=False, markersize=3.5, markeredgewidth=0.9)
        ax.plot(*marks, **style)
    ax.plot([x, 0], [0, y], "s", color=QUIET, markersize=6, clip_on=False, zorder=3)
    ax.plot([x], [y], "*", color="black", markersize=11, clip_on=False, zorder=4)
    # A margin around the box of the two means, which the path may leave.
    ax.set(
        xlim=_reach(outputs[:, 0], x),
        ylim=_reach(outputs[:, 1], y),
        xlabel="first concept",
        ylabel="second concept",
    )


def _reach(answers: np.ndarray, mean: float) -> tuple[float, float]:
    low, high = min(0.0, mean, np.nanmin(answers)), max(0.0, mean, np.nanmax(answers))
    room = 0.07 * (high - low)
    return low - room, high + room


def cube(
    ax: Axes,
    binary: Int[np.ndarray, "n s"],
    values: Float[np.ndarray, " n"],
    *,
    format: str = "{:.2g}",
    limits: tuple[Real, Real] | None = None,
) -> ScalarMappable:
    """Draw the combinations of binary concepts as the corners of a cube, low order at the bottom.

    Edges join combinations that differ in one concept. Where the value falls from the lower to
    the higher combination, against the order, the edge is red and dashed.

    Parameters
    ----------
    ax : matplotlib Axes
    binary : int array, shape (2^s, s)
        All combinations, in any order; s from 1 to 4.
    values : float array, shape (2^s,)
        The error at each.
    format : str, keyword-only, default "{:.2g}"
        How a value is written beside its corner.
    limits : two floats, keyword-only, default None
        Ends of the colours; None takes the extremes of the values.

    Returns
    -------
    matplotlib ScalarMappable
        For a colour bar.

    Raises
    ------
    InputError
        For more than four concepts, or not one value for each combination.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> binary = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> _ = cube(ax, binary, np.array([0.0, 0.2, 0.1, 0.15]))
    >>> len(ax.lines), sum(line.get_linestyle() == "--" for line in ax.lines)
    (4, 1)
    """
    n, s = binary.shape
    require(
        1 <= s <= 4 and n == 2**s == len(np.unique(binary, axis=0)),
        "a cube shows all 2^s combinations of 1 to 4 concepts",
        f"{n} rows of {s} concepts",
        "pass task.combinations().binary",
    )
    rank = binary.sum(axis=1)
    # Within a rank, lexically: the first concept first.
    order = sorted(range(n), key=lambda i: (rank[i], *(-binary[i])))
    place = {}
    for k in range(s + 1):
        row = [i for i in order if rank[i] == k]
        for j, i in enumerate(row):
            place[i] = (j - (len(row) - 1) / 2, k)
    for i, j in combinations(range(n), 2):
        if np.abs(binary[i] - binary[j]).sum() != 1:
            continue
        low, high = (i, j) if rank[i] < rank[j] else (j, i)
        against = values[high] < values[low]
        ax.plot(
            *np.transpose([place[low], place[high]]),
            linestyle="--" if against else "-",
            color="#B00020" if against else "#b8b8b8",
            linewidth=1.4 if against else 1.0,
            zorder=1,
        )
    ends = limits if limits is not None else (float(np.min(values)), float(np.max(values)))
    colours = ScalarMappable(Normalize(*ends), "cividis")
    points = np.array([place[i] for i in range(n)], dtype=float)
    ax.scatter(
        *points.T, c=colours.to_rgba(values), s=130, edgecolors="black", linewidths=0.8, zorder=2
    )
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}  # edges pass behind the words
    text: dict[str, Any] = {"ha": "center", "fontsize": 7, "bbox": box}
    for i, (x, y) in enumerate(points):
        ax.text(x, y + 0.2, "".join(map(str, binary[i])), va="bottom", **text)
        ax.text(x, y - 0.2, format.format(values[i]), va="top", **text)
    width = np.abs(points[:, 0]).max() + 0.6
    ax.set(xlim=(-width, width), ylim=(-0.6, s + 0.6))
    ax.set_axis_off()
    return colours
