"""Transitive equivalence on composed images: networks that learn features rise above chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from partwhole.limits.proofs.certificates import rectangles
from partwhole.study import Arrays, Cells, Config, Estimate, key, mean, series
from partwhole.study.plots import QUIET, WIDTH
from partwhole_studies import along
from partwhole_studies.costs import of_images, seconds_of
from partwhole_studies.images import networks
from partwhole_studies.images.composites import draw_examples, lay_out, published_over_widths
from partwhole_studies.images.networks import DIGITS, FEW, MNIST, cells_of
from partwhole_studies.images.squares import both_losses, by_loss
from partwhole_studies.network_tasks import make_task

TASKS = ("1 anchor", "4 anchors")
ITEMS = 10
# Of 20 images a class, since networks take long to distinguish all of them.
FEWEST = FEW | {"training_images": 20}
PRESETS = {
    "quick": cells_of(FEWEST, "convnet-small", "logistic", TASKS[1:], (8,), 1, epochs=16),
    "laptop": cells_of(DIGITS, "convnet-small", "logistic", TASKS, (0, 4, 8), 5, epochs=20)
    + cells_of(DIGITS, "convnet-small", "squared", TASKS, (0, 4, 8), 5),
    "paper": [
        cell
        for loss in ("logistic", "squared")
        for cell in cells_of(MNIST, "convnet", loss, TASKS, (0, 5, 10, 15, 20), 10, epochs=150)
    ],
}
VARIABLES = {"right": "pairs", "contrast": "", "answer": "first second"}
COORDS = {"pairs": ("unseen", "seen"), "first": range(ITEMS), "second": range(ITEMS)}
seconds = seconds_of(of_images)
ON_GPU = True


def cell(config: Config) -> Arrays:
    """Train one network on one task at one distance."""
    return networks.train(config)


def gather(cells: Cells) -> xr.Dataset:
    labels = {"right": "composites answered correctly"}
    return lay_out(by_loss(cells), _read, VARIABLES, COORDS, labels)


def _read(config: Config, arrays: Arrays) -> dict[str, Any]:
    task, answered = make_task(config["task"]), arrays["answered"]
    corners = rectangles(task)
    corners = corners[np.abs(task.targets[corners] @ [1, -1, -1, 1]) == 4]
    contrast = answered[corners] @ [1, -1, -1, 1]
    size = np.sqrt(np.mean(answered[~task.is_train] ** 2))
    matrix = np.full((ITEMS, ITEMS), np.nan)
    matrix[tuple(task.components.T)] = answered
    return {
        "right": arrays["quality"][[2, 1], -1],
        "contrast": np.sqrt(np.mean(contrast**2)) / size,
        "answer": matrix,
    }


def numbers(data: xr.Dataset) -> dict[str, float | str | Estimate]:
    far = data.isel(network=0, distance=-1).right.mean("task", skipna=False)
    unseen, seen = (mean(far.sel(pairs=pairs), within=(0.0, 1.0)) for pairs in COORDS["pairs"])
    contrast = mean(data.isel(network=0).contrast.mean(["task", "distance"]))
    far_apart = both_losses(data.right).isel(network=1, distance=-1)
    squares = far_apart.sel(pairs="unseen").mean("task", skipna=False)
    return {
        "unseen": unseen,
        "seen": seen,
        "contrast": contrast,
        "squares": mean(squares, within=(0.0, 1.0)),
        "n": unseen.n,
        "chance": "better than" if unseen.value > 0.5 else "no better than",
        "not_learned": data.attrs["not_learned"],
    }


def figure(data: xr.Dataset) -> Figure:
    tasks = list(map(str, data.task.values))
    several = len(tasks) > 1
    drawn = Figure(figsize=(WIDTH, 7.6 if several else 4.6), layout="constrained")
    rows: Any = drawn.subfigures(2, 1, height_ratios=[0.6, 5.6 if several else 2.6])
    draw_examples(rows[0], data)
    axes = rows[1].subplot_mosaic("AB;CD" if several else "AC")
    for letter, task in zip("AB", tasks, strict=False):
        _draw_accuracy(axes[letter], task, data.isel(network=0).sel(task=task).right)
        after = data.isel(network=slice(1, None)).sel(task=task, pairs="unseen").right
        names = {network: "unseen pairs, squared loss" for network in after.network.values}
        series(axes[letter], "distance", by="network", measured=after, within=(0.0, 1.0),
               names=names, shift=2)  # fmt: skip
    network = data.isel(network=0, distance=-1, seed=0).sel(task=tasks[-1])
    _draw_answers(axes["C"], tasks[-1], network)
    if several:
        far = data.along.isel(network=0, distance=-1)
        along.draw(axes["D"], far, "task", lambda task: f"unseen, {task}", 3, over="epoch")
        axes["D"].set_title("Along training, farthest apart")
    return key(drawn, columns=3)


def _draw_accuracy(ax: Axes, task: str, right: xr.DataArray) -> None:
    ax.axhline(0.5, color=QUIET, linewidth=0.8)
    published = None
    if task == "4 anchors":
        published = published_over_widths(__file__, ["pairs", "distance"], task=task).right
    series(
        ax, "distance", by="pairs", measured=right, published=published, within=(0.0, 1.0),
        names={pairs: f"{pairs} pairs" for pairs in COORDS["pairs"]},
        words={"published": "published, MNIST"},
    )  # fmt: skip
    ax.set(ylim=(0.4, 1.03), xlim=(-0.1, 1.1), title=f"{task} a class")


def _draw_answers(ax: Axes, name: str, data: xr.Dataset) -> None:
    """Draw a network's mean answer to each pair; frames are around unseen ones."""
    largest = float(np.nan_to_num(abs(data.answer).max())) or 1.0
    shades = {"cmap": "PuOr_r", "vmin": -largest, "vmax": largest}
    image = ax.imshow(data.answer.transpose("first", "second"), **shades)
    task = make_task(name)
    for first, second in task.components[~task.is_train]:
        frame = Rectangle((second - 0.5, first - 0.5), 1, 1, fill=False, linewidth=1.2)
        ax.add_patch(frame)
    ax.set(xlabel="second item", ylabel="first item", title="Answers of one network")
    ax.set(xticks=[0, 4, 5, 9], yticks=[0, 4, 5, 9])
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, ticks=[-largest, 0, largest])
    bar.ax.set_yticklabels(["different", "0", "same"], fontsize=8)
