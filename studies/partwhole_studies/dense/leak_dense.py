"""Leak of dense networks on unseen sums, from lazy to rich and from one hidden layer to four."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.features import OverlapKernel
from partwhole.limits import memorization_leak
from partwhole.measures import additivity, slope
from partwhole.measures.slope import item_values
from partwhole.study import Arrays, Cells, Config, Estimate, key, mean, published, series
from partwhole.study.plots import QUIET, look, panels
from partwhole_studies.dense import networks, similarities
from partwhole_studies.dense.slopes import leak, slope_of_ends
from partwhole_studies.network_tasks import LAYOUTS, make_task

WIDE: Config = {"depth": 1, "width": 1000, "optimizer": "sgd", "rate": 1e-3, "stop": 1e-4}
DEEP: Config = {"width": 100, "scale": 0.1, "optimizer": "adam", "rate": 1e-4, "stop": 1e-4}
LARGEST_LOSS = 1e-3  # of a network that counts, as published
KERNELS = 10  # networks of a cell whose tangent kernels are taken
LAZY, RICH = 1.0, 1e-3
SIMILARITIES = ("similarity_before", "similarity_after")
PAIRS = ("pairs_before", "pairs_after")
NAMES = {
    "extrapolation": "one anchor, 0",
    "interpolation": "two anchors, −4 and 4",
    "both": "two anchors, −2 and 2",
    "asymmetric": "one anchor, −4",
}


def _cells(
    layouts: Sequence[str], scales: dict[Any, int], depths: Sequence[int], seeds: int
) -> list[Config]:
    """Return the cells of each layout: seeds for each scale, and for each depth."""
    common: Config = {"loss": "squared", "steps": 100_000}
    wide = [
        common
        | WIDE
        | {"task": task, "scale": scale, "seeds": list(range(count))}
        | {"kernels": KERNELS if scale == LAZY else 0}
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
DEPTHS = (1, 2, 3, 4)
PRESETS = {
    "quick": _cells(("extrapolation", "both"), {1e-3: 5, 1.0: 16}, (), 0),
    "laptop": _cells(tuple(LAYOUTS), {1e-6: 6, 1e-3: 6, 1e-2: 6, 0.1: 6, 1.0: 100}, DEPTHS, 6),
    "paper": _cells(
        tuple(LAYOUTS), {scale: 100 if scale == LAZY else 6 for scale in SCALES}, DEPTHS, 6
    ),
}


def cell(config: Config) -> Arrays:
    """Train the networks of one layout, initial scale and depth."""
    return networks.train(config).arrays


def gather(cells: Cells) -> xr.Dataset:
    counted = [
        (config, arrays | {"learned": arrays["learned"] & (arrays["loss"] <= LARGEST_LOSS)})
        for config, arrays in cells
    ]
    wide = [(config, arrays) for config, arrays in counted if config["width"] == WIDE["width"]]
    deep = [(config, arrays) for config, arrays in counted if config["width"] == DEEP["width"]]
    separated = networks.separate(wide, ("task", "scale"), _read_wide)
    separated += networks.separate(deep, ("task", "depth"), _read_deep)
    data = networks.lay_out(
        separated,
        {"value": "item"}
        | dict.fromkeys(SIMILARITIES, "shared quantile")
        | dict.fromkeys(PAIRS, "shared bin"),
        over=["task", "scale", "depth", "seed"],
        coords={
            "item": np.arange(-4, 5), "shared": range(3), "quantile": similarities.QUANTILES,
            "bin": similarities.EDGES[:-1],
        },
        labels={"ends": "slope from first to last item", "scale": "initial scale"},
    )  # fmt: skip
    salience = float(OverlapKernel.random_network("relu", 2, 1).salience[0])
    theory = [memorization_leak(salience, len(LAYOUTS[t])) for t in data.task.values]
    data["theory"] = ("task", np.array(theory, dtype=float))
    return data.assign_attrs(not_learned=networks.not_learned(counted))


def _read_wide(config: Config, network: Arrays) -> dict[str, Any]:
    """Return measures of a network with one hidden layer, and their predictions."""
    task, anchors = make_task(config["task"]), len(LAYOUTS[config["task"]])
    values = item_values(task, network["predictions"])
    read = {
        "slope": slope(task, network["predictions"]).value, "ends": slope_of_ends(values),
        "additivity": additivity(task, network["predictions"]).value, "value": values[0],
        "after": leak(network["salience_after"][-1, 0], anchors),
    } | {name: network[name] for name in (*SIMILARITIES, *PAIRS)}  # fmt: skip
    if "regime" in network:
        read["regime"] = slope(task, network["regime"]).value
    return read


def _read_deep(config: Config, network: Arrays) -> dict[str, Any]:
    task, predictions = make_task(config["task"]), network["predictions"]
    share = additivity(task, predictions).value
    return {"deep_ends": slope_of_ends(item_values(task, predictions)), "deep_additivity": share}


def numbers(data: xr.Dataset) -> dict[str, float | str | Estimate]:
    single, paired = (data.sel(task=task) for task in ("extrapolation", "both"))
    lazy, rich = (mean(paired.slope.sel(scale=scale)) for scale in (LAZY, RICH))
    theory, learned = float(paired.theory), float(paired.after.sel(scale=RICH).mean())
    gap = abs(data.slope - data.regime).sel(scale=LAZY)
    spans = [mean(similarities.span(paired.similarity_after.sel(scale=s))) for s in (LAZY, RICH)]
    return {
        "lazy_two": lazy,
        "theory_two": theory,
        "kernel_gap": mean(gap.mean("task")),
        "rich_one": mean(single.slope.sel(scale=RICH)), "rich_two": rich,
        "ends_one": mean(single.ends.sel(scale=RICH)),
        "ends_two": mean(paired.ends.sel(scale=RICH)),
        "predicts": "predicts" if abs(lazy.value - theory) <= 0.02 else "does not predict",
        "less": "less than" if rich.value < learned else "no less than",
        "lazy_span": spans[0], "rich_span": spans[1],
        "not_learned": data.attrs["not_learned"],
    }  # fmt: skip


def figure(data: xr.Dataset) -> Figure:
    deep = "deep_ends" in data
    drawn, axes = panels(4 if deep else 3, 2, 11 if deep else 8.6)
    _draw_scales(axes[0, 0], data)
    _draw_items(axes[0, 1], data)
    lazy, rich = data.sel(scale=LAZY), data.sel(scale=data.scale.values[:-1])
    _draw_predicted(axes[1, 0], lazy.regime, lazy.slope)
    axes[1, 0].set(title=f"Scale {LAZY:g}", xlabel="slope by its own tangent kernel")
    _draw_predicted(axes[1, 1], rich.after, rich.slope)
    axes[1, 1].set(title="Smaller scales", xlabel="slope by its learned salience", ylabel="")
    for ax, scale in zip(axes[2], (LAZY, data.scale.values[0]), strict=True):
        similar = data.sel(task="both", scale=scale)
        similarities.draw_shares(ax, similar.pairs_before, similar.pairs_after)
        ax.set_title(f"Pairs of inputs, scale {scale:g}")
    if deep:
        _draw_depths(axes[3], data)
    return key(drawn, columns=3)


def _draw_scales(ax: Axes, data: xr.Dataset) -> None:
    about = xr.DataArray([0.3 * LAZY, 3 * LAZY], dims="scale", coords={"scale": [0.3, 3.0]})
    crosses = published(__file__, ["task", "scale"], network="wide").slope
    crosses = crosses.sel(task=[task for task in data.task.values if task in crosses.task])
    crosses = crosses.assign_coords(scale=1.7 * crosses.scale)  # beside the measured slopes
    series(
        ax, "scale", by="task", theory=data.theory * xr.ones_like(about), measured=data.ends,
        published=crosses, names=NAMES, words={"theory": "theory, random features"},
    )  # fmt: skip
    ax.set(xscale="log", title="Initial scale", ylim=(0.65, 1.03), xlim=(data.scale.min() / 4, 4))
    ax.set_xticks(data.scale)
    ax.tick_params(axis="x", labelsize=8)
    ax.minorticks_off()


def _draw_items(ax: Axes, data: xr.Dataset) -> None:
    ax.plot(data.item, data.item, color=QUIET, linewidth=0.8)
    for i, task in enumerate(data.task.values):
        for scale, filled in ((data.scale.values[0], True), (LAZY, False)):
            style = look(i, line=False) | ({"markerfacecolor": look(i)["color"]} if filled else {})
            ax.plot(data.item, data.value.sel(task=task, scale=scale).mean("seed"), **style)
    ax.set(xlabel="item", ylabel="its value in unseen sums")
    ax.set_title(f"Scale {data.scale.values[0]:g} (filled) and {LAZY:g}")


def _draw_predicted(ax: Axes, predicted: xr.DataArray, measured: xr.DataArray) -> None:
    ends = (0.6, 1.02)
    ax.plot(ends, ends, color=QUIET, linewidth=0.8)
    for i, task in enumerate(measured.task.values):
        x, y = (values.sel(task=task).values.ravel() for values in (predicted, measured))
        ax.plot(x, y, **look(i, line=False, markersize=4))
    ax.set(xlim=ends, ylim=ends, ylabel="slope of the network", aspect="equal")


def _draw_depths(row: Any, data: xr.Dataset) -> None:
    deep = published(__file__, ["task", "depth"], network="deep").slope
    series(row[0], "depth", by="task", measured=data.deep_ends, published=deep, names=NAMES)
    series(row[1], "depth", by="task", measured=data.deep_additivity, names=NAMES)
    row[0].set(ylabel="slope, first to last item", xlabel="hidden layers", title="Several layers")
    row[1].set(ylabel="additive share", xlabel="hidden layers", ylim=(0.85, 1.02))
