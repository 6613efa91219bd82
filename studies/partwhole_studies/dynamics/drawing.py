"""Pictures of concept learning, from plain arrays into axes of your own.

`concept_space` draws outputs as a path with markers at equal times, `entries` the entries of the
input-output map with the stages shaded, `cube` the combinations in their order, `heat` a quantity
over two settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from partwhole._checks import require
from partwhole._types import Real
from partwhole.flows import Path, Stage
from partwhole.study.plots import COLOURS, QUIET, look

SHADES = ("#eef3f8", "#dfe8f1")


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
    """Draw what a learner answers at the unseen combination as a path through concept space.

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
    # A little room about the box of the two means, whatever the path does.
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


def entries(
    ax: Axes, path: Path, stages: Iterable[Stage] = (), *, concepts: int | None = None
) -> None:
    """Draw the entries of the input-output map over time, its stages shaded behind them.

    Parameters
    ----------
    ax : matplotlib Axes
    path : Path
        Of one learner.
    stages : iterable of Stage, default ()
    concepts : int, keyword-only, default None
        How many leading coordinates to draw; None draws all.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from partwhole.flows import tied_flow
    >>> w0 = 0.01 * np.array([[1, 0.5], [0.5, 1]])
    >>> path = tied_flow(w0, np.diag([4.5, 0.5]), np.linspace(0, 8, 50))
    >>> ax = Figure().subplots()
    >>> entries(ax, path)
    >>> [line.get_label() for line in ax.lines]
    ['w11', 'w22', 'w12']
    """
    size = path.states.shape[-1] if concepts is None else concepts
    shade(ax, stages)
    for i in range(size):
        name = f"w{i + 1}{i + 1}"
        ax.plot(path.times, path.states[:, i, i], **look(0, color=COLOURS[i % 7], label=name))
    for k, (i, j) in enumerate(combinations(range(size), 2)):
        style = look(1 + k % 4, color=COLOURS[(size + k) % 7], linewidth=1.5)
        ax.plot(path.times, path.states[:, i, j], **style, label=f"w{i + 1}{j + 1}")
    ax.set(xlabel=f"time ({path.clock})", ylabel="entry of the input-output map")


def shade(ax: Axes, stages: Iterable[Stage]) -> None:
    """Shade stages behind whatever an axes shows, in two tints by turns."""
    for k, stage in enumerate(stages):
        ax.axvspan(stage.start, stage.stop, color=SHADES[k % 2], linewidth=0, zorder=0)


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


def heat(
    ax: Axes,
    x: Float[np.ndarray, " m"],
    y: Float[np.ndarray, " n"],
    values: Float[np.ndarray, "n m"],
    *,
    levels: Sequence[Real] = (),
    limits: tuple[Real, Real] | None = None,
    label: str = "",
    format: str = "%g",
) -> None:
    """Draw a quantity over two settings as colours, with a colour bar and labelled contours.

    Parameters
    ----------
    ax : matplotlib Axes
    x, y : float arrays, shapes (m,) and (n,)
    values : float array, shape (n, m)
        NaN is left white.
    levels : sequence of floats, keyword-only, default ()
        Where to draw contours.
    limits : two floats, keyword-only, default None
        Ends of the colours; None takes the extremes of the values.
    label : str, keyword-only, default ""
        What the colours are.
    format : str, keyword-only, default "%g"
        How a contour's level is written.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> heat(figure.subplots(), np.arange(3.0), np.arange(2.0), np.ones((2, 3)), label="times")
    >>> len(figure.axes)
    2
    """
    low, high = (None, None) if limits is None else limits
    drawn = ax.pcolormesh(x, y, values, shading="nearest", rasterized=True, vmin=low, vmax=high)
    assert ax.figure is not None
    bar = ax.figure.colorbar(drawn, ax=ax, label=label)
    bar.outline.set_visible(False)  # type: ignore[operator]
    if len(levels):
        shown = ax.contour(x, y, values, levels=list(levels), colors="white", linewidths=0.9)
        ax.clabel(shown, fmt=format, fontsize=7)
