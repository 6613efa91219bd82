"""Context dependence on composed images: on which side of the phase boundary do networks lie?"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.features import OverlapKernel
from partwhole.limits import max_margin
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole_studies._conjunctions import KINDS, sizes
from partwhole_studies.images import _runs as runs
from partwhole_studies.images._laid import draw_examples, lay
from partwhole_studies.images._runs import (
    CIFAR,
    CONTEXTS,
    DIGITS,
    FEW,
    MNIST,
    PLACES,
    STAGES,
    cells_of,
)
from partwhole_studies.images._shortcut_claims import claims as claims

QUESTION = (
    "One image of a digit says which of two others decides. Do networks learn that, or take the "
    "context itself for the answer, and do the saliences measured in them say which?"
)
SOURCE = "Lippl & Stachenfeld (ICLR 2025), figure 5e and appendix on vision networks"
ANSWER = (
    "ConvNets learn the easier tasks and take the shortcut on the hardest, the more the farther "
    "digits lie apart; vision transformers hardly do. By saliences before training all would take "
    "it."
)
CAPTION = (
    "Top: composites at each distance. Middle: share of unseen composites that is right, mean "
    "(line) and single networks (dots); grey is chance. Bottom left: saliences measured in a late "
    "layer before training, and the boundary above which the largest margin solves CD-3. Bottom "
    "right: how large each kind of term is in what networks answer."
)

ENDS = ("CD-1", "CD-3")
PRESETS = {
    "quick": cells_of(FEW, "convnet-small", "logistic", CONTEXTS[2:], (0,), 1, epochs=10),
    "laptop": cells_of(DIGITS, "convnet-small", "logistic", CONTEXTS, (0, 4, 8), 3, epochs=20)
    + cells_of(DIGITS, "resnet-small", "logistic", ENDS, (0, 4, 8), 3, epochs=40)
    + cells_of(DIGITS, "vit-small", "logistic", ENDS[1:], (0, 4, 8), 3),
    "paper": cells_of(
        MNIST | {"samples": 30_000}, "convnet", "logistic", CONTEXTS, (0, 5, 10, 15, 20), 10
    )
    + cells_of(CIFAR, "resnet", "logistic", CONTEXTS, (0,), 10)
    + cells_of(CIFAR, "vit", "logistic", CONTEXTS, (0,), 10),
}

WORDS = {
    "unseen": "share of unseen composites that is right",
    "theory": "largest margin's margin at the measured saliences [stage] [place]",
    "salience": "measured salience [stage] [place] [order]",
    "terms": "mean size of conjunctions of a kind, of the largest answer [kind]",
}


def cell(config: Config) -> Arrays:
    """Train one network on one task at one distance."""
    return runs.cell(config)


def gather(cells: Cells) -> xr.Dataset:
    """Lay accuracy over networks, tasks, distances and seeds; NaN where none has learned."""
    axes = {"stage": STAGES, "place": PLACES, "order": (1, 2, 3), "kind": KINDS}
    return lay(cells, _read, axes, WORDS)


def _read(config: Config, found: Arrays) -> dict[str, Any]:
    task = runs.make_task(config["task"])
    answered = found["answered"] / np.abs(found["answered"]).max()
    return {
        "unseen": found["quality"][2],
        "terms": sizes(task, answered),
        "salience": found["salience"],
        "theory": np.array([
            [_margin(config["task"], *map(float, each[:2])) for each in stage]
            for stage in found["salience"]
        ]),
    }  # fmt: skip


@cache
def _margin(name: str, order_1: float, order_2: float) -> float:
    """Return the unseen margin of the largest-margin kernel machine at measured saliences.

    Those a hair below 0, by noise, are 0.
    """
    task = runs.make_task(name)
    order_1, order_2 = max(order_1, 0.0), max(order_2, 0.0)
    total = 3.0 * (order_1 + order_2)
    shrink = min(1.0, 0.995 / total) if total > 0 else 1.0
    kernel = OverlapKernel.from_salience((order_1 * shrink, order_2 * shrink))
    return float(max_margin(task, kernel, intercept="free").test_margins.mean())


def figure(data: xr.Dataset) -> Figure:
    """Draw examples, accuracy against distance, saliences in the phase diagram, and terms."""
    drawn = Figure(figsize=(plots.WIDTH, 7.8), layout="constrained")
    rows: Any = drawn.subfigures(3, 1, height_ratios=[0.6, 2.2, 2.4])
    draw_examples(rows[0], data)
    networks = list(map(str, data.network.values))
    for ax, network in zip(
        np.atleast_1d(rows[1].subplots(1, len(networks), sharey=True)), networks, strict=True
    ):
        _draw_accuracy(ax, data.sel(network=network))
        ax.set_title(network.removesuffix("-small"))
        if network == networks[0]:
            ax.set_ylabel("right, unseen composites")
    below = rows[2].subplots(1, 2)
    _draw_phases(below[0], data)
    _draw_terms(below[1], data.sel(network=networks[0]))
    below[1].set_title(f"Terms, {networks[0].removesuffix('-small')}")
    return drawn


def _draw_accuracy(ax: Axes, data: xr.Dataset) -> None:
    ax.axhline(0.5, color=plots.QUIET, linewidth=0.8)
    for i, task in enumerate(map(str, data.task.values)):
        part = data.unseen.sel(task=task).dropna("distance", how="all")
        if not part.size:
            continue
        style = plots.look(i, line=False) | {"linestyle": plots.DASHES[i], "linewidth": 1}
        ax.plot(part.distance, part.mean("seed"), label=task, **style)
        for one in part.transpose("seed", "distance").values:
            ax.plot(part.distance, one, ".", color=style["color"], markersize=3)
    ax.set(xlabel="distance", ylim=(-0.03, 1.03), xticks=data.distance.values)
    ax.legend(fontsize=7, frameon=False, loc="lower left")


def _draw_phases(ax: Axes, data: xr.Dataset) -> None:
    """Draw measured saliences of the late layer, and the boundary of CD-3."""
    order_1 = np.linspace(0.02, 0.32, 40)
    boundary = [_boundary(each) for each in order_1]
    ax.plot(order_1, boundary, color=plots.QUIET, linewidth=1)
    ax.text(0.05, 0.2, "solved", fontsize=8, color=plots.QUIET)
    ax.text(0.15, 0.01, "shortcut", fontsize=8, color=plots.QUIET)
    measured = data.salience.sel(task="CD-3", place="late", stage="before")
    for i, network in enumerate(map(str, data.network.values)):
        x, y = (measured.sel(network=network, order=k).values.ravel() for k in (1, 2))
        label = network.removesuffix("-small")
        ax.plot(x, y, **plots.look(i, line=False, markersize=4), label=label)
    ax.plot([0, 1 / 3], [1 / 3, 0], color=plots.QUIET, linewidth=0.6, linestyle=":")
    ax.set(xlabel="S(1;3), late layer before", ylabel="S(2;3)", xlim=(0, 0.34), ylim=(0, 0.34))
    ax.set_title("Phase diagram of CD-3")
    ax.legend(fontsize=7, frameon=False, loc="upper right")


def _boundary(order_1: float) -> float:
    """Return the S(2;3) from which the largest margin solves CD-3, by the closed form."""
    from scipy.optimize import brentq

    from partwhole.limits import shortcut_margin

    top = (1.0 - 3.0 * order_1) / 3.0 - 1e-9

    def margin(order_2: float) -> float:
        return float(shortcut_margin(order_1, order_2, values_per_half=3, fit="margin"))

    if top <= 0 or margin(top) < 0:
        return float("nan")
    return float(brentq(margin, 1e-9, top))  # type: ignore[arg-type]


def _draw_terms(ax: Axes, data: xr.Dataset) -> None:
    tasks = [t for t in map(str, data.task.values) if np.isfinite(data.terms.sel(task=t)).any()]
    for i, task in enumerate(tasks):
        size = data.terms.sel(task=task).mean(("distance", "seed"))
        share = (size / size.sum()).values
        place = np.arange(len(KINDS)) + 0.2 * (i - 0.5 * (len(tasks) - 1))
        ax.plot(place, share, label=task, **plots.look(i, line=False))
    words = [kind.replace(" ", "\n").replace("memorization", "memory") for kind in KINDS]
    ax.set_xticks(range(len(KINDS)), words, fontsize=7)
    ax.margins(x=0.1)
    ax.set(ylabel="share of mean sizes", ylim=(0, None))
    ax.legend(fontsize=7, frameon=False)
