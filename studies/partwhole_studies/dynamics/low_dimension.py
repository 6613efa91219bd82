"""Three layers in three dimensions: the rise of the error, with and without nearby samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from partwhole.study import Arrays, Cells, Config, Estimate, layout, mean, proportion, published
from partwhole.study.chart import key
from partwhole.study.plots import COLOURS, QUIET, look, panels
from partwhole_studies.dynamics import small_networks as small
from partwhole_studies.dynamics.small_networks import Network

NETWORKS = {
    "means 1 and 2": Network(3, 3, 3, (1.0, 2.0), 0.01),
    "means 2 and 4": Network(3, 3, 3, (2.0, 4.0), 0.01),
}
SAMPLES = ("all", "truncated")
# The scale of .05 is a variance in the reference implementation, a deviation in the captions.
SCALES: tuple[Literal["variances", "deviations"], ...] = ("variances", "deviations")
NEVER = 8.0  # deviations beyond which no sample lies: a chance of 1e-15 for each
SHOWN = 8
DOTS = 120  # training points drawn for each cluster


def _preset(seeds: int, parts: int = 1) -> list[Config]:
    return [
        {"seeds": list(range(part * seeds, (part + 1) * seeds)), "epochs": 40}
        for part in range(parts)
    ]


PRESETS: dict[str, list[Config]] = {
    "quick": _preset(80),
    "laptop": _preset(500),
    "paper": _preset(500, parts=8),
}


def clearance(network: Network) -> float:
    """Return the distance of the circle from the nearest training mean, in deviations."""
    scale = 0.05 if network.scales_are == "deviations" else 0.05**0.5
    return 0.5 * min(network.means) / scale


def cell(config: Config) -> Arrays:
    """Train networks of all tasks, on all samples and on truncated ones, from the same seeds."""
    networks = [replace(network, scales_are=s) for s in SCALES for network in NETWORKS.values()]
    full, cut = ([network.task(truncated=t) for network in networks] for t in (False, True))
    near = [i for i, network in enumerate(networks) if clearance(network) < NEVER]
    tasks = [*full, *(cut[i] for i in near)]
    runs = [networks[0].train(task, config["epochs"], config["seeds"]) for task in tasks]
    # Where truncating changes no sample, one run serves as both.
    rows = [
        len(full) + near.index(i) if truncated and i in near else i
        for i in range(len(full))
        for truncated in (False, True)
    ]
    shape = (len(SCALES), len(NETWORKS), len(SAMPLES), len(config["seeds"]), len(runs[0].steps))
    changed = [
        (first.sample(0).inputs != second.sample(0).inputs).any(axis=1).sum()
        for first, second in zip(full, cut, strict=True)
    ]
    outputs = np.stack([runs[row].concepts.outputs[:, :, 0, :2] for row in rows])
    outputs = outputs.reshape(*shape, 2)
    losses = np.stack([runs[row].concepts.losses[:, :, 0] for row in rows]).reshape(shape)
    return {
        "loss": np.moveaxis(losses, 3, 0),
        "outputs": np.moveaxis(outputs, 3, 0),
        "steps": runs[0].steps,
        "moved": np.array(changed).reshape(shape[:2]),
    }


def gather(cells: Cells) -> xr.Dataset:
    shared = {"steps": "step", "moved": "scales task"}
    dims = "scales task samples step"
    return layout(
        small.by_seed(cells, shared),
        {"loss": dims, "outputs": f"{dims} concept"} | shared,
        over=["seed"],
        coords={"scales": list(SCALES), "task": list(NETWORKS), "samples": list(SAMPLES)},
    )


def losses(
    data: xr.Dataset, task: str, scales: str = "variances", samples: str = "all"
) -> np.ndarray:
    return data.loss.sel(task=task, scales=scales, samples=samples).values


def rises(data: xr.Dataset, task: str, **selection: str) -> np.ndarray:
    """Return the rise of the error of each seed, in plateaus."""
    return small.rise(losses(data, task, **selection), NETWORKS[task].plateau)


def numbers(data: xr.Dataset) -> dict[str, int | str | Estimate]:
    first = next(iter(NETWORKS))
    swings = small.swings_back(losses(data, first))
    rise, without = rises(data, first), rises(data, first, samples="truncated")
    truncated = mean(without - rise)
    return {
        "verdict": "No" if abs(truncated.value) < 0.01 else "In part",
        "moved": int(data.moved.sel(scales="variances", task=first)),
        "samples": NETWORKS[first].task().n_samples,
        "share_first": proportion(int(swings.sum()), len(swings)),
        "rise": mean(rise),
        "rise_without": mean(without),
        "truncated": truncated,
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(2, 2, 5.8)
    lines = {
        "all samples": ("variances", "all"),
        "no samples inside the circle": ("variances", "truncated"),
        "as captioned": ("deviations", "all"),
    }
    for (upper, lower), (task, network) in zip(axes.T, NETWORKS.items(), strict=True):
        part, (x, y) = data.sel(task=task), network.means
        order = np.argsort(-rises(data, task))[:SHOWN]
        points = network.task().sample(0).inputs.reshape(3, -1, 3)[:, :DOTS, :2].reshape(-1, 2)
        upper.plot(*points.T, ".", color="#bbbbbb", markersize=1.5, zorder=0)
        radius = 0.5 * min(network.means)
        upper.add_patch(Circle((x, y), radius, fill=False, color=QUIET, linewidth=0.8))
        for seed in order[1:]:
            run = part.sel(scales="variances", samples="all").isel(seed=seed)
            thin = {"color": COLOURS[5], "linewidth": 0.7, "label": "other seeds"}
            upper.plot(*run.outputs.values.T, **thin)
            lower.plot(data.steps, run.loss, **thin)
        for k, (label, (scales, samples)) in enumerate(lines.items()):
            run = part.sel(scales=scales, samples=samples).isel(seed=order[0])
            upper.plot(*run.outputs.values.T, **look(k))
            lower.plot(data.steps, run.loss, **look(k, label=label))
        upper.plot([x, 0], [0, y], "s", color="black", markersize=4, zorder=3)
        upper.plot([x], [y], "*", color="black", markersize=10, zorder=4)
        upper.set(title=task.capitalize(), xlabel="first concept", ylabel="second concept")
        upper.set(xlim=(-0.35 * x, 1.65 * x), ylim=(-0.2 * y, 1.35 * y), aspect="equal")
        seed = published(__file__, ["step"], task=task).error
        lower.plot(seed.step, seed, "x", color="black", label="published seed", zorder=4)
        lower.axhline(network.plateau, color=QUIET, linestyle=":", label="plateau", zorder=0)
        lower.set(xscale="log", xlim=(10, data.steps[-1]), ylim=(0, 2.6 * network.plateau))
        lower.set(xlabel="step", ylabel="error")
    return key(drawn, 3)
