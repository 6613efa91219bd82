"""Context dependence in dense networks: the loss decides whether they use the shortcut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.limits import shortcut_margin
from partwhole.measures import accuracy
from partwhole.study import Arrays, Cells, Config, Estimate, key, mean, series
from partwhole.study.plots import QUIET, look, panels
from partwhole_studies import along
from partwhole_studies.conjunctions import KINDS, sizes
from partwhole_studies.dense import networks, similarities
from partwhole_studies.network_tasks import CONTEXTS, make_task

LOSSES = {"squared": "equal", "logistic": "margin"}  # and the fit that each ends in
LAZY, RICH = 1.0, 1e-3
READ = ("right", "similarity_before", "similarity_after")
# Mean sizes of the terms of networks with 1 to 4 layers, read off an appendix figure of the paper.
PUBLISHED_SIZES = {
    ("CD-3", "context"): (2.3, 2.7),
    ("CD-3", "memorization"): (1.4, 2.1),
    ("CD-3", "right pair"): (0.4, 0.65),
    ("CD-1", "right pair"): (2.3, 2.9),
    ("CD-1", "context"): (0.0, 0.25),
}


def _cells(
    tasks: Sequence[str], scales: Sequence[Any], depths: Sequence[int], seeds: int, kernels: int
) -> list[Config]:
    common: Config = {"seeds": list(range(seeds)), "stop": 1e-4}
    wide = [
        common
        | {"task": task, "loss": loss, "scale": scale, "depth": 1, "width": 1000}
        | {"optimizer": "sgd", "rate": 0.1, "steps": 5000}
        | {"kernels": kernels if scale == LAZY else 0}
        for task in tasks
        for loss in LOSSES
        for scale in scales
    ]
    deep = [
        common
        | {"task": task, "loss": "logistic", "scale": 0.1, "depth": depth, "width": 100}
        | {"optimizer": "adam", "rate": 1e-4, "steps": 100_000, "kernels": 0}
        for task in tasks
        for depth in depths
    ]
    return wide + deep


SCALES = tuple(float(f"1e{k}") for k in range(-6, 1))
PRESETS = {
    "quick": _cells(("CD-3",), (1e-3, 1.0), (), 5, 2),
    "laptop": _cells(CONTEXTS, (1e-6, 1e-3, 1e-2, 0.1, 1.0), (1, 2, 3, 4), 6, 6),
    "paper": _cells(CONTEXTS, SCALES, (1, 2, 3, 4), 6, 6),
}


def cell(config: Config) -> Arrays:
    """Train the networks of one task, loss, initial scale and depth."""
    return networks.train(config).arrays


def gather(cells: Cells) -> xr.Dataset:
    wide = [(config, arrays) for config, arrays in cells if config["optimizer"] == "sgd"]
    deep = [(config, arrays) for config, arrays in cells if config["optimizer"] == "adam"]
    separated = networks.separate(wide, ("task", "loss", "scale"), _read_wide)
    separated += networks.separate(deep, ("task", "depth"), _read_deep)
    data = networks.lay_out(
        separated,
        {"size": "kind"} | networks.WITHIN,
        over=["task", "loss", "scale", "depth", "seed"],
        coords={"kind": list(KINDS)} | networks.coords_of(wide, deep),
        labels={"scale": "initial scale"},
    )
    kernel = OverlapKernel.random_network("relu", 3, 1)
    data["theory"] = xr.DataArray(
        [
            [solve(make_task(task), kernel, fit=fit, intercept="free").test_margins.mean()
             for fit in LOSSES.values()]
            for task in data.task.values
        ],
        coords={"task": data.task, "loss": list(LOSSES)},
        dims=["task", "loss"],
    )  # fmt: skip
    return data.assign_attrs(not_learned=networks.not_learned(cells))


def _read_wide(config: Config, network: Arrays) -> dict[str, Any]:
    task = make_task(config["task"])
    read = {
        "accuracy": accuracy(task.test_targets, network["predictions"][~task.is_train]).value,
        "margin": margin(config, network["predictions"]),
    } | {name: network[name] for name in READ}
    if "regime" in network:
        read["regime"] = margin(config, network["regime"])
    return read


def margin(config: Config, predictions: np.ndarray) -> float:
    """Return the mean unseen margin; after the logistic loss, over the least seen one."""
    task = make_task(config["task"])
    margins = predictions * task.targets
    unit = margins[task.is_train].min() if config["loss"] == "logistic" else 1.0
    return float(margins[~task.is_train].mean() / unit)


def _read_deep(config: Config, network: Arrays) -> dict[str, Any]:
    size = sizes(make_task(config["task"]), network["predictions"])
    return {"size": size, "deep_right": network["right"]}


def numbers(data: xr.Dataset) -> dict[str, float | str | Estimate | np.ndarray]:
    hard = data.sel(task="CD-3")
    right = {
        (name, loss): mean(hard.accuracy.sel(loss=loss, scale=scale), within=(0.0, 1.0))
        for name, scale in (("lazy", LAZY), ("rich", RICH))
        for loss in LOSSES
    }
    right_along = hard.right.sel(loss="logistic", scale=RICH)
    unseen = right_along.sel(side="unseen").where(right_along.sel(side="seen") >= 1)
    theory = {loss: float(hard.theory.sel(loss=loss)) for loss in LOSSES}
    solved = [right[name, "squared"].value > 0.5 for name in ("lazy", "rich")]
    failed = [right[name, "logistic"].value < 0.5 for name in ("lazy", "rich")]
    signs = solved[0] == (theory["squared"] > 0) and failed[0] == (theory["logistic"] < 0)
    saliences = OverlapKernel.random_network("relu", 3, 1).salience[:2]
    law = [shortcut_margin(*saliences, values_per_half=3, fit=f) for f in ("regression", "margin")]
    return {
        "lazy_squared": right["lazy", "squared"],
        "lazy_logistic": right["lazy", "logistic"],
        "rich_logistic": right["rich", "logistic"],
        "decides": "the loss decides" if all(solved + failed) else "the loss alone does not decide",
        "predicted": "as theory predicts" if signs else "unlike what theory predicts",
        "law": hard.theory.to_numpy() - np.array(law, dtype=float),
        "best": mean(unseen.max("step"), within=(0.0, 1.0)),
        "not_learned": data.attrs["not_learned"],
    }


def figure(data: xr.Dataset) -> Figure:
    deep = "size" in data
    drawn, axes = panels(5 if deep else 3, 2, 15.0 if deep else 9.0, sharey="row")
    hard = data.sel(task="CD-3")
    for row, loss in zip(axes[:2].T, LOSSES, strict=True):
        _draw_margins(row[0], data.sel(loss=loss))
        row[0].set(title=f"{loss} loss".capitalize(), ylabel="")
        right = hard.right.sel(loss=loss, scale=[RICH, LAZY])
        along.draw(row[1], right, "scale", lambda scale: f"unseen, scale {scale:g}", 3)
        row[1].set_title("CD-3 along training")
    axes[0, 0].set_ylabel("mean margin, unseen combinations")
    for ax, scale in zip(axes[2], (LAZY, RICH), strict=True):
        pairs = hard.sel(loss="logistic", scale=scale)
        similarities.draw(ax, pairs.similarity_before, pairs.similarity_after)
        ax.set_title(f"Pairs of inputs, scale {scale:g}")
    for column, task in zip(axes[3:].T, ("CD-1", "CD-3"), strict=True) if deep else ():
        _draw_sizes(column[0], task, data["size"].sel(task=task))
        right = data.deep_right.sel(task=task).rename(deep_step="step")
        along.draw(column[1], right, "depth", lambda depth: f"{depth} hidden layers")
        column[1].set_title(f"{task} along training")
    return key(drawn, columns=3)


def _draw_margins(ax: Axes, data: xr.Dataset) -> None:
    ax.axhline(0, color=QUIET, linewidth=0.8)
    about = xr.DataArray([1.0, 1.0], dims="scale", coords={"scale": [0.3 * LAZY, 3 * LAZY]})
    series(
        ax, "scale", by="task", theory=data.theory * about, measured=data.margin,
        words={"theory": "theory, random features"},
    )  # fmt: skip
    ax.set(xscale="log", xlim=(data.scale.min() / 4, 4), ylim=(-1.2, 1.2))
    ax.set_xticks(data.scale)
    ax.tick_params(axis="x", labelsize=8)
    ax.minorticks_off()


def _draw_sizes(ax: Axes, task: str, size: xr.DataArray) -> None:
    series(ax, "depth", by="kind", measured=size)
    for (setting, kind), (low, high) in PUBLISHED_SIZES.items():
        if setting == task:
            ax.axhspan(low, high, color=look(KINDS.index(kind))["color"], alpha=0.12, linewidth=0)
    ax.set(title=f"{task}, logistic loss", xlabel="hidden layers", ylabel="mean size of its terms")
    ax.set_xticks(size.depth)
