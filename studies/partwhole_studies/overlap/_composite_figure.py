"""Read the rungs of composite digits out of the study's dataset, and draw them."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.study import COLOURS
from partwhole.study import plots as plots
from partwhole_studies.overlap._composites import FIXED, KINDS

DISTANCES = (0, 2, 4, 6, 8)
PER_TUPLE = 20  # the number of images a tuple that figure and claims show
NAMES = {
    "salience": "overlap saliences",
    "noise": "saliences, noise as ridge",
    "means": "kernel of tuple means",
    "images": "ridge on the images",
    "blind": "saliences, order-blind",
    "apart": "tuple means, sides told apart",
    "same classes": "tuple means, same classes in both",
    "means + noise": "tuple means, noise as ridge",
    "isotropic": "images, noise made isotropic",
    "rotated": "images, noise turned at random",
    "averaged": "images, each an average of 20",
}


def values(data: xr.Dataset, rung: str, per_tuple: int = PER_TUPLE, **where: Any) -> xr.DataArray:
    """Return a rung's slopes (or margins), by whatever `where` leaves open and by seed."""
    if rung in FIXED:
        return computed(data.fixed_value.sel(rung=rung, **where))
    return computed(data.counted_value.sel(counted_rung=rung, per_tuple=per_tuple, **where))


def computed(array: xr.DataArray) -> xr.DataArray:
    """Leave out seeds and distances that a task was not given; presets differ between tasks."""
    for dim in {"seed", "distance"} & set(map(str, array.dims)):
        array = array.dropna(dim, how="all")
    return array


def draw(data: xr.Dataset) -> Figure:
    """Draw examples, rungs against distance, and the controls between the rungs."""
    shown = [d for d in DISTANCES if d in data.distance]
    drawn = Figure(figsize=(plots.WIDTH, 9.4), layout="constrained")
    rows: Any = drawn.subfigures(4, 1, height_ratios=[0.66, 1.75, 1.75, 2.4])
    examples = rows[0].subplots(1, len(shown), width_ratios=[8 + d for d in shown])
    for ax, distance in zip(np.atleast_1d(examples), shown, strict=True):
        picture = data.example.sel(distance=distance).values
        ax.imshow(picture[:, : 8 + distance], cmap="Greys", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"distance {distance}" if distance == shown[0] else f"{distance}", fontsize=9)
        ax.spines[["right", "top"]].set_visible(True)
    for row, task, label in ((rows[1], "p = 1", "slope"), (rows[2], "CD-3", "mean margin")):
        axes = row.subplots(1, 2, sharey=True)
        for ax, kind in zip(axes, KINDS, strict=True):
            _draw_rungs(ax, data, task, kind)
            ax.set_title(f"{'Sums, one anchor' if task == 'p = 1' else 'CD-3'}: {kind}")
            ax.set_xlabel("distance between digits, pixels")
        axes[0].set_ylabel(label)
        if task == "p = 1":
            axes[1].legend(fontsize=8, loc="lower right", handlelength=2.6, labelspacing=0.25)
    _draw_ladder(rows[3].subplots(), data)
    return drawn


def _draw_rungs(ax: Axes, data: xr.Dataset, task: str, kind: str) -> None:
    names = {
        "salience": "saliences",
        "noise": "with noise as ridge",
        "means": "tuple means",
        "images": "images",
    }
    ax.axhline(0 if task == "CD-3" else 1, color=plots.QUIET, linestyle=":", linewidth=1)
    for i, (rung, name) in enumerate(names.items()):
        one = values(data, rung, task=task, kind=kind).transpose("seed", "distance")
        found, x = one.values, one.distance.values + 0.22 * (i - 1.5)
        for single in found:
            ax.plot(x, single, ".", color=COLOURS[i], markersize=3, alpha=0.45)
        style: dict[str, Any] = plots.look(i)
        if rung == "images":
            style = plots.look(i, line=False) | {"linestyle": "-"}
        ax.plot(x, found.mean(axis=0), **style, label=name)
    low, high = (-1.25, 1.25) if task == "CD-3" else (-0.1, 1.2)
    ax.set(ylim=(low, high), xticks=[d for d in DISTANCES if d in data.distance])
    _tell_beyond(ax, low, high)


def _tell_beyond(ax: Axes, low: float, high: float) -> None:
    """Mark dots that lie beyond the axis by an arrow at its edge, and say how many there are."""
    count = 0
    for line in [line for line in ax.lines if line.get_marker() == "."]:
        x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
        for outside, edge, arrow in ((y < low, low, "v"), (y > high, high, "^")):
            if outside.any():
                look = {"color": line.get_color(), "markersize": 3.5, "clip_on": False}
                ax.plot(x[outside], np.full(outside.sum(), edge), arrow, **look)
                count += int(outside.sum())
    if count:
        words = f"arrows: {count} dot{'s' * (count > 1)} beyond"
        place: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "in_layout": False}
        ax.text(0.99, 0.04, words, fontsize=8, color=plots.QUIET, **place)


LADDER = (
    "salience", "blind", "apart", "same classes", "means", "means + noise", "isotropic",
    "rotated", "averaged", "images",
)  # fmt: skip


def _draw_ladder(ax: Axes, data: xr.Dataset) -> None:
    """Draw slopes of rungs and controls for ReLU features, a row for each."""
    y = np.arange(len(LADDER))[::-1]
    for i, distance in enumerate((0, 4)):
        height = y + (0.15 if i == 0 else -0.15)
        for row, rung in zip(height, LADDER, strict=True):
            if rung == "blind" and distance:
                continue  # digits side by side are not order-blind
            found = values(data, rung, task="p = 1", kind="ReLU", distance=distance).values
            ax.plot(found, np.full(len(found), row), ".", color=COLOURS[i], markersize=3, alpha=0.5)
            label = f"distance {distance}" if rung == "salience" else None
            ax.plot(found.mean(), row, **plots.look(i, line=False), label=label)
    bold = ("salience", "means", "images")
    ax.set_yticks(y, [NAMES[rung] for rung in LADDER], fontsize=8.5)
    for label, rung in zip(ax.get_yticklabels(), LADDER, strict=True):
        label.set_fontweight("bold" if rung in bold else "normal")
    ax.grid(color="#e8e8e8", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set(xlim=(-0.1, 1.2), xlabel="slope", title="Between the rungs: ReLU, one anchor")
    ax.legend(
        fontsize=8, loc="upper right", bbox_to_anchor=(-0.02, 0.0), handletextpad=0.2, ncols=2
    )
