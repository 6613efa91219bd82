"""Leak on unseen sums of composed images, beside the saliences measured in the networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.limits import memorization_leak
from partwhole.measures import additivity, item_values, slope
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole_studies.images import _runs as runs
from partwhole_studies.images._laid import draw_examples, lay
from partwhole_studies.images._leak_claims import claims as claims
from partwhole_studies.images._runs import (
    CIFAR,
    DIGITS,
    FEW,
    LAYOUTS,
    MNIST,
    PLACES,
    STAGES,
    cells_of,
)

QUESTION = (
    "Networks learn sums of composed images of digits. How much of an unseen sum is left in what "
    "they answer, and do the saliences measured in them say so?"
)
SOURCE = "Lippl & Stachenfeld (ICLR 2025), figure 5a to d and appendix on vision networks"
ANSWER = (
    "A third to five sixths of it, more where digits lie apart. Saliences before training say "
    "where networks keep more, but they keep less than these say, also beside what they answer to "
    "seen sums."
)
CAPTION = (
    "Top: composites at each distance. Middle left: slope of unseen sums against distance, mean "
    "(line) and single networks (dots). Middle right: what items add to unseen sums, one anchor, "
    "where digits lie on each other and farthest apart (filled). Bottom: each network's slope "
    "beside what theory says of it from the salience of a late layer before training; at the "
    "right over its slope of seen sums shown by new images, which would be 1 if images of a digit "
    "were alike."
)

TWO = ("extrapolation", "both")
FEWER = DIGITS | {"samples": FEW["samples"]}
EVERY = tuple(LAYOUTS)
PRESETS = {
    "quick": cells_of(
        FEW | {"samples": 1020}, "convnet-small", "squared", TWO[:1], (0, 8), 1, epochs=18
    ),
    "laptop": cells_of(DIGITS, "convnet-small", "squared", EVERY, (0, 4, 8), 3)
    + cells_of(DIGITS, "resnet-small", "squared", TWO[:1], (0, 4, 8), 3)
    + cells_of(FEWER, "vit-small", "squared", TWO[:1], (0, 4, 8), 3, epochs=60),
    "paper": cells_of(MNIST, "convnet", "squared", EVERY, (0, 5, 10, 15, 20), 10)
    + cells_of(CIFAR, "resnet", "squared", EVERY, (0,), 10)
    + cells_of(CIFAR, "vit", "squared", EVERY, (0,), 10),
}


def cell(config: Config) -> Arrays:
    """Train one network on one layout at one distance."""
    return runs.cell(config)


WORDS = {
    "slope": "slope of unseen sums",
    "offset": "intercept of unseen sums",
    "seen": "slope of seen sums shown by new images",
    "relative": "slope of unseen sums over that of seen ones",
    "additivity": "share of the variance of unseen sums that is additive",
    "regime": "slope of a readout of the last layer before training",
    "theory": "slope that the measured salience says [stage] [place]",
    "value": "value of an item in unseen sums [item]",
}


def gather(cells: Cells) -> xr.Dataset:
    """Lay slopes over networks, layouts, distances and seeds; NaN where none has learned."""
    items = np.arange(-4, 5)
    axes = {"stage": STAGES, "place": PLACES, "item": items}
    return lay(cells, _read, axes, WORDS)


def _read(config: Config, found: Arrays) -> dict[str, Any]:
    task, anchors = runs.make_task(config["task"]), len(LAYOUTS[config["task"]])
    line = slope(task, found["answered"])
    seen = float(np.polyfit(task.train_targets, found["answered"][task.is_train], 1)[0])
    return {
        "slope": line.value,
        "offset": line.intercept,
        "seen": seen,
        "relative": line.value / seen,
        "additivity": additivity(task, found["answered"]).value,
        "regime": slope(task, np.where(task.is_train, 0.0, found["regime"])).value,
        "theory": memorization_leak(found["salience"][..., 0].clip(0.0, 0.5), anchors),
        "value": np.mean(item_values(task, found["answered"]), axis=0),
    }


def figure(data: xr.Dataset) -> Figure:
    """Draw examples, slopes against distance, items' values, and theory against networks."""
    drawn = Figure(figsize=(plots.WIDTH, 7.0), layout="constrained")
    rows: Any = drawn.subfigures(3, 1, height_ratios=[0.6, 2.1, 2.1])
    draw_examples(rows[0], data)
    middle = rows[1].subplots(1, 2)
    _draw_slopes(middle[0], data)
    _draw_items(middle[1], data)
    below = rows[2].subplots(1, 2)
    said = data.theory.sel(stage="before", place="late")
    for ax, name in zip(below, ("slope", "relative"), strict=True):
        _draw_predicted(ax, data, said, data[name])
        ax.set_xlabel("slope at its salience before")
    below[0].set_ylabel("slope of unseen sums")
    below[1].set_ylabel("over that of seen sums")
    return drawn


def _draw_slopes(ax: Axes, data: xr.Dataset) -> None:
    for i, network in enumerate(map(str, data.network.values)):
        for j, layout in enumerate(map(str, data.task.values)):
            part = data.slope.sel(network=network, task=layout).dropna("distance", how="all")
            if not part.size or layout == "asymmetric":
                continue
            style = plots.look(i, line=False) | {"linestyle": plots.DASHES[j], "linewidth": 1}
            style["marker"] = plots.MARKERS[j]
            label = f"{network.removesuffix('-small')}, {layout}"
            ax.plot(part.distance, part.mean("seed"), label=label, **style)
            for one in part.transpose("seed", "distance").values:
                ax.plot(part.distance, one, ".", color=style["color"], markersize=2.5)
    ax.set(xlabel="distance (pixels)", ylabel="slope of unseen sums", xticks=data.distance.values)
    ax.set_ylim(0, 1)
    if ax.lines:
        ax.legend(fontsize=6, frameon=False, loc="lower right")


def _draw_items(ax: Axes, data: xr.Dataset) -> None:
    ax.plot(data.item, data.item, color=plots.QUIET, linewidth=0.8)
    at = data.value.sel(task="extrapolation").mean("seed")
    for i, network in enumerate(map(str, data.network.values)):
        part = at.sel(network=network).dropna("distance", how="all")
        if not part.size:
            continue
        for distance, filled in zip(part.distance.values[[0, -1]], (False, True), strict=True):
            style = plots.look(i, line=False, markersize=4.5)
            if filled:
                style["markerfacecolor"] = style["color"]
            ax.plot(data.item, part.sel(distance=distance), **style)
    ax.set(xlabel="item", ylabel="its value in unseen sums")
    ax.set_title("Extrapolation; filled: far apart", fontsize=9)


def _draw_predicted(ax: Axes, data: xr.Dataset, said: xr.DataArray, trained: xr.DataArray) -> None:
    ends = (0.15, 1.05)
    ax.plot(ends, ends, color=plots.QUIET, linewidth=0.8)
    for i, network in enumerate(map(str, data.network.values)):
        x, y = (each.sel(network=network).values.ravel() for each in (said, trained))
        label = network.removesuffix("-small")
        ax.plot(x, y, **plots.look(i, line=False, markersize=4), label=label)
    ax.set(xlim=ends, ylim=ends, aspect="equal")
    ax.legend(fontsize=7, frameon=False, loc="upper left", handletextpad=0.1)
