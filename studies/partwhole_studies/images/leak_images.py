"""Leak on unseen sums of composed images, beside the saliences measured in the networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.limits import memorization_leak
from partwhole.measures import additivity, slope
from partwhole.measures.slope import item_values
from partwhole.study import Arrays, Cells, Config, Estimate, key, mean, series
from partwhole.study.plots import QUIET, WIDTH, look
from partwhole_studies import along
from partwhole_studies.costs import of_images, seconds_of
from partwhole_studies.images import networks
from partwhole_studies.images.composites import APART, draw_examples, lay_out, published_over_widths
from partwhole_studies.images.networks import CIFAR, DIGITS, FEW, MNIST, PLACES, STAGES, cells_of
from partwhole_studies.network_tasks import LAYOUTS, make_task

ONE = ("extrapolation",)
FEWER = DIGITS | {"samples": FEW["samples"]}
FEWEST = FEW | {"samples": 1020}
EVERY = tuple(LAYOUTS)
PRESETS = {
    "quick": cells_of(FEWEST, "convnet-small", "squared", ONE, (0, 8), 1, epochs=18),
    "laptop": cells_of(DIGITS, "convnet-small", "squared", EVERY, (0, 4, 8), 5)
    + cells_of(DIGITS, "resnet-small", "squared", ONE, (0, 4, 8), 3)
    + cells_of(FEWER, "vit-small", "squared", ONE, (0, 4, 8), 3, epochs=60),
    "paper": cells_of(MNIST, "convnet", "squared", EVERY, (0, 5, 10, 15, 20), 10)
    + cells_of(CIFAR, "resnet", "squared", EVERY, (0,), 10)
    + cells_of(CIFAR, "vit", "squared", EVERY, (0,), 10),
}
VARIABLES = {
    "slope": "",
    "seen": "",
    "additivity": "",
    "regime": "",
    "readout": "",
    "theory": "stage place",
    "value": "item",
}
LABELS = {"slope": "slope of unseen sums", "value": "value in unseen sums"}
ROUTES = {
    "before": "salience\nbefore,\nlate layer",
    "after": "salience\nafter,\nlast layer",
    "readout": "readout of\nlast layer,\npredicted",
    "regime": "readout of\nlast layer,\ntrained",
    "relative": "salience\nbefore,\nseen sums = 1",
}
seconds = seconds_of(of_images)
ON_GPU = True


def cell(config: Config) -> Arrays:
    """Train one network on one layout at one distance."""
    return networks.train(config)


def gather(cells: Cells) -> xr.Dataset:
    coords = {"stage": STAGES, "place": PLACES, "item": np.arange(-4, 5)}
    return lay_out(cells, _read, VARIABLES, coords, LABELS)


def _read(config: Config, arrays: Arrays) -> dict[str, Any]:
    task, answered = make_task(config["task"]), arrays["answered"]
    saliences = arrays["salience"][..., 0].clip(0.0, 0.5)
    return {
        "slope": slope(task, answered).value,
        "seen": np.polyfit(task.train_targets, answered[task.is_train], 1)[0],
        "additivity": additivity(task, answered).value,
        "regime": slope(task, np.where(task.is_train, 0.0, arrays["regime"])).value,
        "readout": slope(task, arrays["predicted"]).value,
        "theory": memorization_leak(saliences, len(LAYOUTS[config["task"]])),
        "value": np.mean(item_values(task, answered), axis=0),
    }


def differences(data: xr.Dataset) -> xr.DataArray:
    """Return by how much each prediction of the slope exceeds that of the trained network."""
    before = data.theory.sel(stage="before", place="late", drop=True)
    after = data.theory.sel(stage="after", place="last", drop=True)
    gaps = [
        before - data.slope,
        after - data.slope,
        data.readout - data.slope,
        data.regime - data.slope,
        before - data.slope / data.seen,
    ]
    return xr.concat(gaps, "route").assign_coords(route=list(ROUTES))


def by_seed(values: xr.DataArray) -> xr.DataArray:
    """Return the mean over all that was trained from one seed."""
    return values.mean([dim for dim in values.dims if dim not in ("seed", "route")])


def numbers(data: xr.Dataset) -> dict[str, float | str | Estimate]:
    first = data.isel(network=0)
    near, far = (mean(by_seed(first.slope.isel(distance=end))) for end in (0, -1))
    gaps = by_seed(differences(data))
    before, regime = (mean(gaps.sel(route=route)) for route in ("before", "regime"))
    return {
        "near": near,
        "far": far,
        "gain": mean(by_seed(first.slope.isel(distance=-1) - first.slope.isel(distance=0))),
        "additivity": mean(by_seed(first.additivity), within=(-np.inf, 1.0)),
        "before": before,
        "off_before": _difference(before.value),
        "off_regime": _difference(regime.value),
        "readout": mean(gaps.sel(route="readout") - gaps.sel(route="regime")),
        "not_learned": data.attrs["not_learned"],
    }


def _difference(value: float) -> str:
    return f"{abs(value):.2f} too {'high' if value > 0 else 'low'}"


def figure(data: xr.Dataset) -> Figure:
    drawn = Figure(figsize=(WIDTH, 7.6), layout="constrained")
    rows: Any = drawn.subfigures(3, 1, height_ratios=[0.7, 2.2, 1.8])
    draw_examples(rows[0], data)
    middle = rows[1].subplots(1, 3, width_ratios=[1.25, 1.0, 1.0])
    _draw_slopes(middle[0], data)
    _draw_items(middle[1], data)
    _draw_along(middle[2], data)
    _draw_differences(rows[2].subplots(), data)
    return key(drawn, columns=3)


def _groups(data: xr.Dataset) -> list[tuple[str, str]]:
    """Return the networks and layouts that were trained together."""
    run = data.slope.notnull().any(["distance", "seed"])
    return [
        (str(network), str(task))
        for network in data.network.values
        for task in data.task.values
        if bool(run.sel(network=network, task=task))
    ]


def _draw_slopes(ax: Axes, data: xr.Dataset) -> None:
    published = published_over_widths(__file__, ["task", "distance"], network="convnet").slope
    for i, (network, task) in enumerate(_groups(data)):
        part = data.sel(network=network, task=task).dropna("distance", subset=["slope"], how="all")
        name = f"{network.removesuffix('-small')}, {task}"
        crosses = network.startswith("convnet") and task in published.task
        series(
            ax, "distance", by="group", names={i: name}, shift=i,
            measured=part.slope.expand_dims(group=[i]),
            published=published.sel(task=task).expand_dims(group=[i]) if crosses else None,
            words={"published": "published, MNIST"},
        )  # fmt: skip
        predicted = part.theory.sel(stage="before", place="late").mean("seed")
        bar = look(i, line=False, marker="_", markersize=14, markeredgewidth=2)
        ax.plot(part.distance, predicted, **bar)
    ax.plot([], [], "_", color="0.25", markersize=14, markeredgewidth=2, label="theory, salience")
    ax.set(ylim=(0, 1.02), xlim=(-0.1, 1.1), title="Unseen sums", xlabel=APART)


def _draw_items(ax: Axes, data: xr.Dataset) -> None:
    ax.plot(data.item, data.item, color=QUIET, linewidth=0.8)
    for i, (network, task) in enumerate(_groups(data)):
        if task != "extrapolation":
            continue
        values = data.value.sel(network=network, task=task).mean("seed")
        values = values.dropna("distance", how="all").isel(distance=[0, -1])
        for distance, fill in zip(values.distance, ("white", look(i)["color"]), strict=True):
            style = look(i, line=False, markersize=4.5, markerfacecolor=fill)
            ax.plot(data.item, values.sel(distance=distance), **style)
    ax.set(xlabel="item", ylabel=LABELS["value"], title="One anchor (filled: far)")
    ax.set_xticks([-4, -2, 0, 2, 4])


def _draw_along(ax: Axes, data: xr.Dataset) -> None:
    for i, (network, task) in enumerate(_groups(data)):
        if task == "extrapolation":
            part = data.along.isel(distance=0).sel(network=[network], task=task)
            along.draw_means(ax, part, "network", lambda _: None, i, over="epoch")
    ax.set(title="One anchor, near", ylabel="error, share of variance", ylim=(0, None))


def _draw_differences(ax: Axes, data: xr.Dataset) -> None:
    ax.axhline(0, color=QUIET, linewidth=0.8)
    gaps = differences(data)
    for i, (network, task) in enumerate(_groups(data)):
        part = gaps.sel(network=network, task=task)
        for place, route in enumerate(ROUTES):
            values = part.sel(route=route).values.ravel()
            at = np.full(len(values), place + 0.08 * (i - (len(_groups(data)) - 1) / 2))
            ax.plot(at, values, **look(i, line=False, markersize=4))
    ax.set_xticks(range(len(ROUTES)), list(ROUTES.values()), fontsize=8)
    ax.margins(x=0.1)
    ax.set(title="Predictions of single networks", ylabel="predicted less measured slope")
