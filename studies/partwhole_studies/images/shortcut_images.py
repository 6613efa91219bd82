"""Context dependence on composed images: the side of the phase boundary of trained networks."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import brentq

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.limits import shortcut_margin
from partwhole.study import (
    Arrays,
    Cells,
    Config,
    Estimate,
    geometric_mean,
    key,
    mean,
    proportion,
    published,
    series,
)
from partwhole.study.plots import QUIET, WIDTH, look
from partwhole_studies import along
from partwhole_studies.conjunctions import KINDS, sizes
from partwhole_studies.costs import of_images, seconds_of
from partwhole_studies.images import networks
from partwhole_studies.images.composites import draw_examples, lay_out, published_over_widths
from partwhole_studies.images.networks import CIFAR, DIGITS, FEW, MNIST, PLACES, STAGES, cells_of
from partwhole_studies.images.squares import after_logistic, both_losses, by_loss
from partwhole_studies.network_tasks import CONTEXTS, make_task

HARDEST = ("CD-3",)
ENDS = ("CD-1", "CD-3")
LARGER = MNIST | {"samples": 30_000}
FITS = {"logistic": "margin", "squared": "equal"}  # where training ends after each loss
PRESETS = {
    "quick": cells_of(FEW, "convnet-small", "logistic", HARDEST, (0,), 1, epochs=8),
    "laptop": cells_of(DIGITS, "convnet-small", "logistic", CONTEXTS, (0, 4, 8), 5, epochs=20)
    + cells_of(DIGITS, "resnet-small", "logistic", ENDS, (0, 4, 8), 3, epochs=40)
    + cells_of(DIGITS, "vit-small", "logistic", HARDEST, (0, 4, 8), 3)
    + cells_of(DIGITS, "convnet-small", "squared", CONTEXTS, (0, 4, 8), 5),
    "paper": [
        cell
        for loss in ("logistic", "squared")
        for cell in cells_of(LARGER, "convnet", loss, CONTEXTS, (0, 5, 10, 15, 20), 10)
    ]
    + cells_of(CIFAR, "resnet", "logistic", CONTEXTS, (0,), 10)
    + cells_of(CIFAR, "vit", "logistic", CONTEXTS, (0,), 10),
}
VARIABLES = {"unseen": "", "theory": "stage place", "salience": "stage place order",
             "terms": "kind"}  # fmt: skip
seconds = seconds_of(of_images)
ON_GPU = True


def cell(config: Config) -> Arrays:
    """Train one network on one task at one distance."""
    return networks.train(config)


def gather(cells: Cells) -> xr.Dataset:
    coords = {"stage": STAGES, "place": PLACES, "order": (1, 2, 3), "kind": KINDS}
    labels = {"unseen": "unseen combinations right", "terms": "share of mean sizes"}
    return lay_out(by_loss(cells), _read, VARIABLES, coords, labels)


def _read(config: Config, arrays: Arrays) -> dict[str, Any]:
    task, salience = make_task(config["task"]), arrays["salience"]
    size, fit = sizes(task, arrays["answered"]), FITS[config["training"]["loss"]]
    theory = [[margin(config["task"], *at[:2], fit) for at in stage] for stage in salience]
    return {
        "unseen": arrays["quality"][2, -1],
        "terms": size / size.sum(),
        "salience": salience,
        "theory": theory,
    }


@cache
def margin(name: str, order_1: float, order_2: float, fit: str = "margin") -> float:
    """Return a kernel machine's mean margin on unseen tuples at two saliences.

    Those a hair below 0, by noise, are 0.
    """
    orders = np.maximum((order_1, order_2), 0.0)
    orders *= min(1.0, 0.995 / max(3.0 * orders.sum(), 1e-9))
    kernel = OverlapKernel.from_salience(tuple(orders))
    return float(solve(make_task(name), kernel, fit=fit, intercept="free").test_margins.mean())


def boundary(order_1: float) -> float:
    """Return the S(2;3) from which the largest margin solves CD-3; NaN where none does."""
    top = (1.0 - 3.0 * order_1) / 3.0 - 1e-9

    def of(order_2: float) -> float:
        return float(shortcut_margin(order_1, order_2, values_per_half=3, fit="margin"))

    if top <= 0 or of(top) < 0:
        return np.nan
    return float(brentq(of, 1e-9, top))  # type: ignore[arg-type]


def agreement(data: xr.Dataset, stage: str, place: str) -> tuple[Estimate, float]:
    """Return the share of networks on the predicted side of chance, and that of the larger side."""
    predicted, unseen = data.theory.sel(stage=stage, place=place).values, data.unseen.values
    trained = np.isfinite(predicted) & np.isfinite(unseen)
    above = unseen[trained] > 0.5
    share = proportion(int(np.sum((predicted[trained] > 0) == above)), int(trained.sum()))
    return share, float(max(above.mean(), 1 - above.mean())) if trained.any() else 0.5


def numbers(data: xr.Dataset) -> dict[str, Any]:
    hard = data.isel(network=0).sel(task="CD-3")
    right = mean(hard.unseen.mean("distance"), within=(0.0, 1.0))
    logs = np.log(hard.terms.sel(kind="context")) - np.log(hard.terms.sel(kind="right pair"))
    before, larger = agreement(after_logistic(data), "before", "late")
    losses = both_losses(data.unseen.sel(task="CD-3")).mean("distance")
    after = mean(losses.isel(network=1))
    return {
        "right": right,
        "ratio": geometric_mean(np.exp(logs.mean("distance"))),
        "before": before,
        "larger": larger,
        "squares": mean(losses.diff("network")),
        "after_squares": f", and {after.value:.0%} after squared loss" if after.n else "",
        "chance": "below chance" if right.value < 0.5 else "not below chance",
        "not_learned": data.attrs["not_learned"],
    }


def figure(data: xr.Dataset) -> Figure:
    drawn = Figure(figsize=(WIDTH, 7.4), layout="constrained")
    rows: Any = drawn.subfigures(3, 1, height_ratios=[0.6, 2.4, 2.0])
    draw_examples(rows[0], data)
    upper, lower = rows[1].subplots(1, 2), rows[2].subplots(1, 2)
    _draw_accuracy(upper[0], data)
    _draw_phases(upper[1], after_logistic(data))
    _draw_terms(lower[0], data.isel(network=0))
    right = data.along.isel(network=0).mean("distance").reindex(task=list(CONTEXTS))
    along.draw(lower[1], right, "task", lambda _: None, over="epoch")
    lower[1].set_title("ConvNets along training")
    return key(drawn, columns=3)


def _draw_accuracy(ax: Axes, data: xr.Dataset) -> None:
    ax.axhline(0.5, color=QUIET, linewidth=0.8)
    series(
        ax, "distance", by="task",
        measured=data.unseen.isel(network=0).reindex(task=list(CONTEXTS)),
        published=published_over_widths(__file__, ["task", "distance"], quantity="accuracy").value,
    )  # fmt: skip
    trained = data.unseen.isel(network=slice(1, None)).stack(kind=["network", "task"])
    kinds = trained.dropna("kind", how="all").kind.values
    kinds = [(n, task) for n, task in kinds if task == "CD-3" or not n.endswith("squares")]
    for i, (network, task) in enumerate(kinds):
        part = data.unseen.sel(network=[network], task=task).dropna("distance", how="all")
        names = {network: f"{network.replace('-small', '')}, {task}"}
        series(ax, "distance", by="network", measured=part, names=names, shift=len(CONTEXTS) + i)
    ax.set(ylim=(0, 1.03), xlim=(-0.1, 1.1), title="Unseen combinations")


def _draw_phases(ax: Axes, data: xr.Dataset) -> None:
    """Draw measured saliences of the late layer, and the boundary of CD-3."""
    order_1 = np.linspace(0.02, 0.32, 60)
    ax.plot(order_1, [boundary(k) for k in order_1], color=QUIET, linewidth=1.2)
    ax.plot([0, 1 / 3], [1 / 3, 0], color=QUIET, linewidth=0.6, linestyle=":")
    ax.text(0.03, 0.19, "solved", fontsize=8, color=QUIET)
    ax.text(0.2, 0.01, "shortcut", fontsize=8, color=QUIET)
    salience = data.salience.sel(task="CD-3")
    for i, network in enumerate(data.network.values):
        for stage, place, fill in (("before", "late", "white"), ("after", "last", None)):
            at = salience.sel(network=network, stage=stage, place=place)
            style = look(i + 3, line=False)
            style["markerfacecolor"] = fill or style["color"]
            name = f"{str(network).removesuffix('-small')}, {place} layer {stage}"
            ax.plot(at.sel(order=1).values.ravel(), at.sel(order=2).values.ravel(),
                    label=name, **style)  # fmt: skip
    ax.set(xlabel="salience S(1;3)", ylabel="S(2;3)", xlim=(0, 0.34), ylim=(0, 0.34))
    ax.set_title("Phases of CD-3")


def _draw_terms(ax: Axes, data: xr.Dataset) -> None:
    crosses = published(__file__, ["task", "kind"], quantity="share").value.sel(kind=list(KINDS))
    measured = data.terms.mean("distance").reindex(task=list(CONTEXTS))
    for i, task in enumerate(CONTEXTS):
        places = np.arange(len(KINDS)) + 0.24 * (i - 1)
        series(
            ax, "kind", by="task", shift=i,
            measured=measured.sel(task=[task]).assign_coords(kind=places),
            published=crosses.sel(task=[task]).assign_coords(kind=places + 0.1),
        )  # fmt: skip
    ax.set(title="Terms of their answers", xlabel="", ylabel="share of mean sizes", ylim=(0, 0.65))
    ax.set_xticks(range(len(KINDS)), KINDS, fontsize=8, rotation=25, ha="right")
