"""Context dependence in dense networks: the loss decides whether the shortcut is taken."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole._types import Real
from partwhole.features import OverlapKernel
from partwhole.limits import interpolate, max_margin
from partwhole.measures import accuracy
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole_studies._conjunctions import KINDS, sizes
from partwhole_studies.dense import _runs as runs
from partwhole_studies.dense._runs import CONTEXTS
from partwhole_studies.dense._shortcut_claims import claims as claims

QUESTION = (
    "A context says which feature decides. Do dense networks learn that, or the shortcut from the "
    "context itself, and does theory say which?"
)
SOURCE = "Lippl & Stachenfeld (ICLR 2025), appendix, context dependence in dense networks"
ANSWER = (
    "On the hardest task, CD-3, the loss decides: after the squared loss networks solve it, after "
    "the logistic loss they take the context for the answer, just as regression and largest "
    "margins do in theory."
)
CAPTION = (
    "Mean margin of unseen combinations against initial scale, after either loss: mean and "
    "standard deviation over networks; after the logistic loss in units of the least margin of a "
    "seen one. Bars at the right: theory of infinitely wide random features. Below, where it was "
    "run: mean size of each kind of term in what networks of several layers answer, on the "
    "easiest and the hardest task."
)

LOSSES = ("squared", "logistic")


def _cells(
    tasks: Sequence[str], scales: Sequence[Real], depths: Sequence[int], seeds: int, kernels: int
) -> list[Config]:
    common: Config = {"seeds": list(range(seeds)), "stop": 1e-4}
    wide = [
        common
        | {"task": task, "loss": loss, "scale": scale, "depth": 1, "width": 1000}
        | {"optimizer": "sgd", "rate": 0.1, "steps": 5000}
        | {"kernels": kernels if scale == 1.0 else 0}
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
    "quick": _cells(("CD-3",), (1e-3, 1.0), (), 6, 3),
    "laptop": _cells(CONTEXTS, (1e-6, 1e-3, 1e-2, 0.1, 1.0), (1, 2, 3, 4), 6, 6),
    "paper": _cells(CONTEXTS, SCALES, (1, 2, 3, 4), 6, 6),
}


def cell(config: Config) -> Arrays:
    """Train the networks of one task, loss, initial scale and depth."""
    return runs.train(config).found


def gather(cells: Cells) -> xr.Dataset:
    """Lay margins over tasks, losses, scales or depths, and seeds; NaN where there are none."""
    tasks = list(dict.fromkeys(config["task"] for config, _ in cells))
    wide = [(config, found) for config, found in cells if config["optimizer"] == "sgd"]
    deep = [(config, found) for config, found in cells if config["optimizer"] == "adam"]
    scales = sorted({config["scale"] for config, _ in wide})
    depths = sorted({config["depth"] for config, _ in deep})
    seeds = len(cells[0][0]["seeds"])
    lazy = (len(tasks), len(LOSSES), len(scales), seeds)
    laid = {name: np.full(lazy, np.nan) for name in WORDS}
    kinds = np.full((len(tasks), len(depths), len(KINDS), seeds), np.nan)
    right = np.full((len(tasks), len(depths), seeds), np.nan)
    for config, found in wide:
        at = (
            tasks.index(config["task"]),
            LOSSES.index(config["loss"]),
            scales.index(config["scale"]),
        )
        for name, each in _read(config, found).items():
            laid[name][at][: len(each)] = each
    for config, found in deep:
        at = tasks.index(config["task"]), depths.index(config["depth"])
        task = runs.make_task(config["task"])
        for seed in np.flatnonzero(found["learned"]):
            kinds[*at, :, seed] = sizes(task, found["predictions"][seed])
        right[at] = _read(config, found)["accuracy"]
    kernel = OverlapKernel.random_network("relu", 3, 1)
    solved = [
        [
            float(verb(runs.make_task(task), kernel, intercept="free").test_margins.mean())
            for verb in (interpolate, max_margin)
        ]
        for task in tasks
    ]
    counted = [found["learned"] for _, found in cells]
    return xr.Dataset(
        {
            name: (("task", "loss", "scale", "seed"), each, {"long_name": WORDS[name]})
            for name, each in laid.items()
        }
        | {
            "theory": (("task", "loss"), solved, {"long_name": "margin of random features"}),
            "deep_accuracy": (("task", "depth", "seed"), right, {"long_name": WORDS["accuracy"]}),
            "size": (
                ("task", "depth", "kind", "seed"),
                kinds,
                {"long_name": "mean size of conjunctions of a kind"},
            ),
        },
        coords={
            "task": tasks, "loss": list(LOSSES), "scale": scales, "depth": depths,
            "kind": list(KINDS), "seed": range(seeds),
        },
        attrs={
            "networks": int(sum(map(len, counted))),
            "not_learned": int(sum(np.sum(~each) for each in counted)),
        },
    )  # fmt: skip


WORDS = {
    "accuracy": "share of unseen combinations that is right",
    "margin": "mean margin of unseen combinations, the least of the seen ones being 1",
    "regime": "the same for the network's own tangent kernel before training",
    "drift": "how far the tangent kernel moved",
}


def _read(config: Config, found: Arrays) -> dict[str, np.ndarray]:
    task, learned = runs.make_task(config["task"]), found["learned"]
    read = {
        "accuracy": runs.of_learned(
            found, lambda each: accuracy(task.test_targets, each[~task.is_train]).value
        ),
        "margin": _margins(config, found["predictions"]),
    }
    if "regime" in found:
        read["regime"] = _margins(config, found["regime"])
        read["drift"] = found["drift"]
    return {name: np.where(learned[: len(each)], each, np.nan) for name, each in read.items()}


def _margins(config: Config, predictions: np.ndarray) -> np.ndarray:
    """Return mean margins on unseen tuples; after the logistic loss for a least seen one of 1."""
    task = runs.make_task(config["task"])
    margins = predictions * task.targets
    found = margins[:, ~task.is_train].mean(axis=1)
    return found / margins[:, task.is_train].min(axis=1) if config["loss"] == "logistic" else found


def figure(data: xr.Dataset) -> Figure:
    """Draw margins against scale for either loss, and conjunctions of deep networks."""
    rows = 2 if data.sizes["depth"] else 1
    drawn, axes = plots.panels(rows, 2, 3.1 * rows, sharey="row")
    for j, loss in enumerate(LOSSES):
        _draw_margins(axes[0, j], data.sel(loss=loss))
        axes[0, j].set_title(f"{loss} loss".capitalize())
    axes[0, 0].set_ylabel("mean margin, unseen")
    axes[0, 0].legend(fontsize=8, frameon=False, loc="lower left")
    if rows == 2:
        for j, task in enumerate((data.task.values[0], data.task.values[-1])):
            _draw_sizes(axes[1, j], data.sel(task=task))
            axes[1, j].set_title(str(task))
        axes[1, 0].set_ylabel("mean size of its terms")
        axes[1, 0].legend(fontsize=7, frameon=False, loc="center right", bbox_to_anchor=(1, 0.68))
    return drawn


def _draw_margins(ax: Axes, data: xr.Dataset) -> None:
    ax.axhline(0, color=plots.QUIET, linewidth=0.8)
    for i, task in enumerate(map(str, data.task.values)):
        part = data.sel(task=task)
        style = plots.look(i, line=False) | {"linestyle": plots.DASHES[i], "linewidth": 1}
        spread = part.margin.std("seed", ddof=1)
        ax.errorbar(data.scale, part.margin.mean("seed"), yerr=spread, label=task, **style)
        marks = style | {"marker": "_", "markersize": 16, "markeredgewidth": 2}
        ax.plot(data.scale.values[-1] * 3, float(part.theory), **marks)
    ax.set(xscale="log", xlabel="initial scale (bars: theory)", ylim=(-1.2, 1.2))


def _draw_sizes(ax: Axes, data: xr.Dataset) -> None:
    for i, kind in enumerate(map(str, data.kind.values)):
        style = plots.look(i, line=False) | {"linestyle": plots.DASHES[i], "linewidth": 1}
        ax.plot(data.depth, data["size"].sel(kind=kind).mean("seed"), label=kind, **style)
    ax.set(xlabel="hidden layers", xticks=data.depth.values)
