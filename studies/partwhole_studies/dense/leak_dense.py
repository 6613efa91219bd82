"""Leak of dense networks on unseen sums, from lazy to rich and from one hidden layer to four."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole._types import Real
from partwhole.features import OverlapKernel
from partwhole.limits import memorization_leak
from partwhole.measures import additivity, item_values, slope
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole_studies.dense import _runs as runs
from partwhole_studies.dense._leak_claims import claims as claims
from partwhole_studies.dense._runs import LAYOUTS

QUESTION = (
    "Dense networks learn sums of which they have seen few: from how large weights do they leak "
    "as their kernel says, and what do they do from small ones?"
)
SOURCE = (
    "Lippl & Stachenfeld (ICLR 2025), appendix on dense networks from rich to lazy, and on depth"
)
ANSWER = (
    "From weights of scale 1 they leak as their kernel says, single networks to .007 of their "
    "own; from small weights they leak less with two anchors, though not as little as the "
    "features they learn would allow."
)
CAPTION = (
    "Top left: slope of unseen sums against initial scale, mean and standard deviation over "
    "networks; dotted: theory of random features. Top right: what items add to unseen sums, from "
    "the smallest weights (filled) and from the largest. Below, ten networks of each layout "
    "beside what their own tangent kernels say before training, from large weights; and those "
    "from smaller ones beside what the salience of the hidden layer says that they have learned. "
    "Bottom, where it was run: networks of one to four hidden layers of 100 units."
)

WIDE: Config = {"depth": 1, "width": 1000, "optimizer": "sgd", "rate": 1e-3, "stop": 1e-4}
DEEP: Config = {"width": 100, "scale": 0.1, "optimizer": "adam", "rate": 1e-4, "stop": 1e-4}


KEPT = 1e-3
KERNELS = 10  # networks of a cell whose tangent kernels are taken


def _cells(
    layouts: Sequence[str],
    scales: dict[Real, int],
    depths: Sequence[int],
    seeds: int,
    steps: int = 100_000,
    **changes: Any,
) -> list[Config]:
    """Return the cells of each layout: seeds for each scale, and for each depth."""
    common: Config = {"loss": "squared", "steps": steps}
    wide = [
        common
        | WIDE
        | {
            "task": task,
            "scale": scale,
            "seeds": list(range(count)),
            "kernels": KERNELS if scale == 1.0 else 0,
        }
        | changes
        for task in layouts
        for scale, count in scales.items()
    ]
    deep = [
        common | DEEP | {"task": task, "depth": depth, "seeds": list(range(seeds)), "kernels": 0}
        for task in layouts
        for depth in depths
    ]
    return wide + deep


SCALES = tuple(float(f"1e{k}") for k in range(-6, 1))
PRESETS = {
    "quick": _cells(("extrapolation", "both"), {1e-3: 3, 1.0: 40}, (), 0),
    "laptop": _cells(
        tuple(LAYOUTS), {1e-6: 6, 1e-3: 6, 1e-2: 6, 0.1: 6, 1.0: 100}, (1, 2, 3, 4), 6
    ),
    "paper": _cells(
        tuple(LAYOUTS), {scale: 100 if scale == 1.0 else 6 for scale in SCALES}, (1, 2, 3, 4), 6
    ),
}


def cell(config: Config) -> Arrays:
    """Train the networks of one layout, initial scale and depth."""
    return runs.train(config).found


def gather(cells: Cells) -> xr.Dataset:
    """Lay slopes over layouts, scales or depths, and seeds; NaN where there are none."""
    layouts = list(dict.fromkeys(config["task"] for config, _ in cells))
    wide = [(config, found) for config, found in cells if config["width"] == WIDE["width"]]
    deep = [(config, found) for config, found in cells if config["width"] == DEEP["width"]]
    parts = [_laid(wide, layouts, "scale", ""), _laid(deep, layouts, "depth", "deep_")]
    data = xr.merge(parts, join="outer")
    nngp = OverlapKernel.random_network("relu", 2, 1).salience[0]
    theory = [memorization_leak(float(nngp), len(LAYOUTS[layout])) for layout in layouts]
    data["theory"] = ("layout", theory, {"long_name": "slope of random features, infinitely wide"})
    items, values = _item_curves(wide, layouts)
    data["item"] = ("item", items, {"long_name": "item"})
    data["value"] = (("layout", "scale", "item"), values, {"long_name": "value of an item"})
    counted = [_counts(found) for _, found in cells]
    return data.assign_attrs(
        networks=int(sum(map(len, counted))),
        not_learned=int(sum(np.sum(~each) for each in counted)),
        width=WIDE["width"],
    )


def _read(config: Config, found: Arrays) -> dict[str, np.ndarray]:
    """Return what networks that have learned show, and NaN for the others."""
    task, anchors = runs.make_task(config["task"]), len(LAYOUTS[config["task"]])
    read = {
        "slope": runs.of_learned(found, lambda each: slope(task, each).value),
        "offset": runs.of_learned(found, lambda each: slope(task, each).intercept),
        "additivity": runs.of_learned(found, lambda each: additivity(task, each).value),
        "before": [_leak(each[-1, 0], anchors) for each in found["salience_before"]],
        "after": [_leak(each[-1, 0], anchors) for each in found["salience_after"]],
    }
    if "regime" in found:
        read["regime"] = [slope(task, each).value for each in found["regime"]]
        read["drift"] = list(found["drift"])
    kept = _counts(found)
    return {name: np.where(kept[: len(each)], each, np.nan) for name, each in read.items()}


def _counts(found: Arrays) -> np.ndarray:
    """Return which networks count; as published, their training loss came down to a thousandth."""
    return found["learned"] & (found["loss"] <= KEPT)


def _leak(salience: float, anchors: int) -> float:
    """Return the slope at a measured salience; a hair above one half it is one half."""
    return float(memorization_leak(min(max(salience, 0.0), 0.5), anchors))


WORDS = {
    "slope": "slope of unseen sums",
    "offset": "intercept of unseen sums",
    "additivity": "share of the variance of unseen sums that is additive",
    "before": "slope that the last hidden layer's salience says before training",
    "after": "slope that the last hidden layer's salience says after training",
    "regime": "slope of the network's own tangent kernel before training",
    "drift": "how far the tangent kernel moved",
}


def _laid(cells: Cells, layouts: list[str], axis: str, prefix: str) -> xr.Dataset:
    places = sorted({config[axis] for config, _ in cells})
    most = max((len(config["seeds"]) for config, _ in cells), default=0)
    laid = {name: np.full((len(layouts), len(places), most), np.nan) for name in WORDS}
    for config, found in cells:
        at = (layouts.index(config["task"]), places.index(config[axis]))
        for name, each in _read(config, found).items():
            laid[name][at][: len(each)] = each
    dims = ("layout", axis, "seed")
    return xr.Dataset(
        {
            f"{prefix}{name}": (dims, each, {"long_name": WORDS[name]})
            for name, each in laid.items()
        },
        coords={"layout": layouts, axis: places, "seed": range(most)},
    )


def _item_curves(cells: Cells, layouts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return items, and each one's value by its first component, averaged over networks."""
    scales = sorted({config["scale"] for config, _ in cells})
    items = np.arange(-4, 5)
    found = np.full((len(layouts), len(scales), len(items)), np.nan)
    for config, arrays in cells:
        task = runs.make_task(config["task"])
        kept = arrays["predictions"][arrays["learned"]]
        if len(kept):
            at = (layouts.index(config["task"]), scales.index(config["scale"]))
            found[at] = item_values(task, kept.mean(axis=0))[0]
    return items, found


def figure(data: xr.Dataset) -> Figure:
    """Draw slopes against scale and depth, items' values, and each network beside its kernel."""
    rows = 3 if data.sizes["depth"] else 2
    drawn, axes = plots.panels(rows, 2, 2.7 * rows)
    _draw_scales(axes[0, 0], data)
    _draw_items(axes[0, 1], data)
    _draw_regime(axes[1, 0], data)
    _draw_learned(axes[1, 1], data)
    if rows == 3:
        _draw_depths(axes[2, 0], data, "deep_slope")
        axes[2, 0].set(title="Several layers", ylabel="slope of unseen sums")
        _draw_depths(axes[2, 1], data, "deep_additivity")
        axes[2, 1].set(title="Several layers", ylabel="additive share")
    return drawn


def _names(data: xr.Dataset) -> list[str]:
    return [str(name) for name in data.layout.values]


def _draw_scales(ax: Axes, data: xr.Dataset) -> None:
    for i, layout in enumerate(_names(data)):
        part = data.sel(layout=layout)
        ax.axhline(float(part.theory), color=plots.COLOURS[i], linewidth=0.8, linestyle=":")
        mean = part.slope.mean("seed")
        spread = part.slope.std("seed", ddof=1)
        style = plots.look(i, line=False) | {"linestyle": plots.DASHES[i], "linewidth": 1}
        ax.errorbar(data.scale, mean, yerr=spread, elinewidth=1, capsize=2, **style)
    ax.set(xscale="log", xlabel="initial scale", ylabel="slope of unseen sums")
    ax.set(title="Rich to lazy", ylim=(0.3, 1.05))


def _draw_items(ax: Axes, data: xr.Dataset) -> None:
    ax.plot(data.item, data.item, color=plots.QUIET, linewidth=0.8)
    for i, layout in enumerate(_names(data)):
        for scale, filled in ((data.scale.values[0], True), (data.scale.values[-1], False)):
            style = plots.look(i, line=False)
            if filled:
                style["markerfacecolor"] = style["color"]
            style["label"] = layout if filled else None
            ax.plot(data.item, data.value.sel(layout=layout, scale=scale), **style)
    ax.set(xlabel="item", ylabel="its value in unseen sums", title="Items (filled: rich)")
    ax.legend(fontsize=7, loc="upper left", frameon=False, handletextpad=0.1)


def _draw_regime(ax: Axes, data: xr.Dataset) -> None:
    lazy = data.sel(scale=data.scale.values[-1])
    ends = (0.5, 1.0)
    ax.plot(ends, ends, color=plots.QUIET, linewidth=0.8)
    for i, layout in enumerate(_names(data)):
        part = lazy.sel(layout=layout)
        ax.plot(part.regime, part.slope, **plots.look(i, line=False, markersize=4))
    ax.set(xlabel="its tangent kernel's slope", ylabel="network's slope", title="Lazy networks")
    ax.set(xlim=ends, ylim=ends, aspect="equal")


def _draw_learned(ax: Axes, data: xr.Dataset) -> None:
    ends = (0.5, 1.05)
    ax.plot(ends, ends, color=plots.QUIET, linewidth=0.8)
    for i, layout in enumerate(_names(data)):
        part = data.sel(layout=layout, scale=data.scale.values[:-1])
        style = plots.look(i, line=False, markersize=4)
        ax.plot(part.after.values.ravel(), part.slope.values.ravel(), **style)
    ax.set(xlabel="slope at its learned salience", ylabel="network's slope")
    ax.set(xlim=ends, ylim=ends, aspect="equal", title="Richer networks")


def _draw_depths(ax: Axes, data: xr.Dataset, name: str) -> None:
    for i, layout in enumerate(_names(data)):
        part = data[name].sel(layout=layout)
        style = plots.look(i, line=False) | {"linestyle": plots.DASHES[i], "linewidth": 1}
        ax.errorbar(data.depth, part.mean("seed"), yerr=part.std("seed", ddof=1), **style)
    ax.set(xlabel="hidden layers", xticks=data.depth.values)
