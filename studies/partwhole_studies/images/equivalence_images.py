"""Transitive equivalence on composed images: networks that learn features rise above chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.limits import rectangles
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole_studies.images import _runs as runs
from partwhole_studies.images._equivalence_claims import claims as claims
from partwhole_studies.images._laid import draw_examples, lay
from partwhole_studies.images._runs import DIGITS, EQUIVALENCES, FEW, MNIST, cells_of

QUESTION = (
    "Told of pairs of images whether they belong together, do networks work it out for pairs they "
    "have not seen, which no overlap kernel can?"
)
SOURCE = "Lippl & Stachenfeld, first arXiv version, figures 4d and 5f"
ANSWER = (
    "Where images lie apart, for most pairs: networks rise well above chance on pairs they have "
    "not seen, as no learner with a fixed kernel of overlaps can. Where they lie on each other, "
    "not."
)
CAPTION = (
    "Top: composites at each distance. Below: share of composites that is right, of unseen pairs "
    "and of seen ones shown by new images; mean (line) and single networks (dots). Grey is "
    "chance."
)

PRESETS = {
    # Of 20 images a class, since networks take long to tell all of them apart.
    "quick": cells_of(
        FEW | {"training_images": 20},
        "convnet-small",
        "logistic",
        ("4 anchors",),
        (8,),
        1,
        epochs=16,
    ),
    "laptop": cells_of(
        DIGITS, "convnet-small", "logistic", tuple(EQUIVALENCES), (0, 4, 8), 3, epochs=20
    ),
    "paper": cells_of(
        MNIST, "convnet", "logistic", tuple(EQUIVALENCES), (0, 5, 10, 15, 20), 10, epochs=150
    ),
}

WORDS = {
    "unseen": "share of unseen composites that is right",
    "seen": "share of composites of seen pairs, of new images, that is right",
    "contrast": "rms contrast of contradictory rectangles, of the rms answer",
}


def cell(config: Config) -> Arrays:
    """Train one network on one task at one distance."""
    return runs.cell(config)


def gather(cells: Cells) -> xr.Dataset:
    """Lay accuracy over networks, tasks, distances and seeds; NaN where none has learned."""
    return lay(cells, _read, {}, WORDS)


def _read(config: Config, found: Arrays) -> dict[str, Any]:
    task, answered = runs.make_task(config["task"]), found["answered"]
    corners = rectangles(task)
    corners = corners[np.abs(task.targets[corners] @ [1, -1, -1, 1]) == 4]
    contrast = answered[corners] @ [1, -1, -1, 1]
    scale = np.sqrt(np.mean(answered[~task.is_train] ** 2))
    return {
        "unseen": found["quality"][2],
        "seen": found["quality"][1],
        "contrast": float(np.sqrt(np.mean(contrast**2)) / scale),
    }


def figure(data: xr.Dataset) -> Figure:
    """Draw examples, and accuracy on unseen and on seen pairs against distance."""
    drawn = Figure(figsize=(plots.WIDTH, 3.9), layout="constrained")
    rows: Any = drawn.subfigures(2, 1, height_ratios=[0.6, 2.2])
    draw_examples(rows[0], data)
    tasks = list(map(str, data.task.values))
    axes = np.atleast_1d(rows[1].subplots(1, len(tasks), sharey=True))
    for ax, task in zip(axes, tasks, strict=True):
        _draw_accuracy(ax, data.sel(task=task))
        ax.set_title(f"{task} in each class of 5")
    axes[0].set_ylabel("right, composites")
    return drawn


def _draw_accuracy(ax: Axes, data: xr.Dataset) -> None:
    ax.axhline(0.5, color=plots.QUIET, linewidth=0.8)
    part = data.isel(network=0)
    for i, (name, words) in enumerate((("unseen", "unseen pairs"), ("seen", "seen pairs"))):
        style = plots.look(i, line=False) | {"linestyle": plots.DASHES[i], "linewidth": 1}
        ax.plot(part.distance, part[name].mean("seed"), label=words, **style)
        for one in part[name].transpose("seed", "distance").values:
            ax.plot(part.distance, one, ".", color=style["color"], markersize=3)
    ax.set(xlabel="distance", ylim=(-0.03, 1.03), xticks=part.distance.values)
    ax.legend(fontsize=7, frameon=False, loc="lower right")
