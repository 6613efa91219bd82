"""Three layers in three dimensions: the rise of the error, with and without nearby samples."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from partwhole.studies import Arrays, Cells, Claim, Config
from partwhole.studies import _plots as plots
from partwhole.studies.dynamics import _small_networks as small
from partwhole.studies.dynamics._small_networks import Network
from partwhole.training import train_identity

QUESTION = (
    "Small linear networks answer the unseen combination better, then worse, then right. Is that "
    "because some training samples lie near it?"
)
SOURCE = "Yang et al. (ICLR 2025), figures 13 to 16"
ANSWER = (
    "No: at means 1 and 2, where samples do lie near it, seeds learn as before with those drawn "
    "again elsewhere; at means 2 and 4 hardly any lie there. About half of the seeds swing back at "
    "all."
)
CAPTION = (
    "Top: outputs at the unseen combination (star) through training, for the eight seeds that "
    "rise most; squares: training means; grey dots: training samples. Bottom: the error of the "
    "same seeds; thick: the one that rises most; dashed, over it: the same without samples inside "
    "the circle, within half the smaller mean of the unseen combination; hollow dots: its first "
    "epochs; dotted line: the plateau at which only the strong concept is known. As run, with "
    "variances of .05; as captioned, with deviations of .05, not run here."
)
REVISION = 1
BUDGET = 3.0

NETWORKS = {
    "means 1 and 2": Network(3, 3, 3, (1.0, 2.0), 0.01),
    "means 2 and 4": Network(3, 3, 3, (2.0, 4.0), 0.01),
}
SAMPLES = ("all", "truncated")
# One published seed: minimum (step, error), then maximum.
PUBLISHED = {
    "means 1 and 2": ((500, 0.2886), (930, 0.4284)),
    "means 2 and 4": ((110, 1.0334), (250, 1.7521)),
}
SHOWN = 8
DOTS = 120  # training points drawn for each cluster


def _preset(seeds: int, parts: int = 1) -> list[Config]:
    return [{"seeds": small.some(part, seeds), "epochs": 40} for part in range(parts)]


PRESETS: dict[str, list[Config]] = {
    "quick": _preset(100),
    "laptop": _preset(500),
    "paper": _preset(500, parts=8),
}


def cell(config: Config) -> Arrays:
    """Train networks of both tasks, on all samples and on truncated ones, from the same seeds."""
    first = next(iter(NETWORKS.values()))
    tasks = [each.task(truncated=t == "truncated") for each in NETWORKS.values() for t in SAMPLES]
    runs = train_identity(
        tasks,
        first.architecture,
        first.protocol(config["epochs"]),
        seeds=config["seeds"],
        progress=False,
    )
    shape = (len(NETWORKS), len(SAMPLES), len(config["seeds"]), len(runs.steps))
    moved = [
        (each.task().sample(0).inputs != each.task(truncated=True).sample(0).inputs)
        .any(axis=1)
        .sum()
        for each in NETWORKS.values()
    ]
    return {
        "loss": runs.losses[..., 0].reshape(shape),
        "outputs": runs.outputs[..., 0, :2].reshape(*shape, 2),
        "steps": runs.steps,
        "moved": np.array(moved),
    }


def gather(cells: Cells) -> xr.Dataset:
    """Lay errors and outputs over task, samples, seed and step."""
    config, first = cells[0]
    where = ("task", "samples", "seed", "step")
    count = sum(len(config["seeds"]) for config, _ in cells)
    return xr.Dataset(
        {
            "loss": (where, np.concatenate([found["loss"] for _, found in cells], axis=2)),
            "outputs": (
                (*where, "concept"),
                np.concatenate([found["outputs"] for _, found in cells], axis=2),
            ),
            "moved": ("task", first["moved"]),
        },
        coords={
            "task": list(NETWORKS),
            "samples": list(SAMPLES),
            "seed": np.arange(count),
            "step": first["steps"],
        },
        attrs={"epochs": config["epochs"]},
    )


def claims(data: xr.Dataset) -> list[Claim]:
    return [claim for name in NETWORKS for claim in _claims(data, name)]


def _claims(data: xr.Dataset, name: str) -> list[Claim]:
    network, n = NETWORKS[name], data.sizes["seed"]
    loss = data.loss.sel(task=name)
    full, cut = (loss.sel(samples=each).values for each in SAMPLES)
    rises = [small.rise(each, network.plateau) for each in (full, cut)]
    share, interval = small.fraction(small.swings_back(full))
    same, agreed = small.fraction(small.swings_back(full) == small.swings_back(cut))
    total, moved = network.task().n_samples, int(data.moved.sel(task=name))
    untested = (
        ""
        if moved
        else "At these means hardly any sample lies within the circle: nothing is tested."
    )
    difference, within = small.mean(rises[1] - rises[0])
    (start, least), (end, most) = PUBLISHED[name]
    rise = (most - least) / network.plateau
    extreme, band = small.tail(rises[0], rise)
    figures = "Yang et al. (ICLR 2025), figures 13 and 14"
    nearby = "Yang et al. (ICLR 2025), figures 15 and 16"
    return [
        Claim(
            "Whether the error on the unseen combination rises again is up to the seed: share of "
            f"{n} for which it does, three linear layers, {name}.",
            "derived here",
            0.9,
            share,
            0.0,
            interval,
            relation="at most",
            note=f"{small.COUNTS} The published figures show one seed, for which it does.",
        ),
        Claim(
            f"Some seeds swing back clearly, by more than 5 % of the plateau: share of {n} seeds, "
            f"{name}.",
            "derived here",
            0.1,
            *_of(rises[0] > small.CLEAR),
            relation="at least",
        ),
        Claim(
            f"The published seed's rise of {rise:.2g} plateaus is no outlier: share of {n} seeds "
            f"that rise at least as far, {name}.",
            figures,
            0.025,
            extreme,
            0.0,
            band,
            relation="at least",
            note=f"Computed for the published seed: from {least:g} at step {start} to {most:g} at "
            f"step {end}.",
        ),
        Claim(
            "Without training samples within half the smaller mean of the unseen combination the "
            f"error rises as far: mean difference of the rise in plateaus, {n} pairs of runs from "
            f"the same seed, {name}.",
            nearby,
            0.0,
            difference,
            0.01,
            within,
            applies=moved > 0,
            note=f"Of {total:,} samples {moved} are drawn again, for seed 0. {untested}".strip(),
        ),
        Claim(
            "Whether a seed swings back does not rest on those samples: share of "
            f"{n} seeds for which it stays the same, {name}.",
            nearby,
            0.9,
            same,
            0.0,
            agreed,
            applies=moved > 0,
            note=untested,
            relation="at least",
        ),
        Claim(
            "With and without those samples each seed's error is the same throughout: largest "
            f"difference in plateaus, the median of {n} seeds, {name}.",
            nearby,
            0.0,
            float(np.median(np.abs(full - cut).max(axis=1)) / network.plateau),
            0.05,
            applies=moved > 0,
            relation="at most",
            note=untested,
        ),
    ]


def _of(hit: np.ndarray) -> tuple[float, float, tuple[float, float]]:
    """Return what a claim takes after its reference: share, no tolerance, interval."""
    share, interval = small.fraction(hit)
    return share, 0.0, interval


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.panels(2, 2, 5.2)
    for column, name in enumerate(NETWORKS):
        full = data.loss.sel(task=name, samples="all").values
        order = np.argsort(-small.rise(full))[:SHOWN]
        _draw_paths(axes[0, column], data, name, order)
        _draw_errors(axes[1, column], data, name, order)
    axes[0, 0].set_ylabel("second concept")
    axes[1, 0].set_ylabel("error, unseen combination")
    return drawn


def _draw_paths(ax: Axes, data: xr.Dataset, name: str, order: np.ndarray) -> None:
    network = NETWORKS[name]
    x, y = network.means
    points = network.task().sample(0).inputs.reshape(3, -1, network.dimension)[:, :DOTS, :2]
    ax.plot(*points.reshape(-1, 2).T, ".", color="#bbbbbb", markersize=1.5, zorder=0)
    radius = 0.5 * min(network.means)
    ax.add_patch(Circle((x, y), radius, fill=False, color=plots.QUIET, linewidth=0.8))
    outputs = data.outputs.sel(task=name)
    for seed in order[1:]:
        path = outputs.sel(samples="all", seed=seed).values
        ax.plot(*path.T, color=plots.COLOURS[5], linewidth=0.7, zorder=1)
    top = outputs.sel(seed=order[0])
    ax.plot(*top.sel(samples="all").values.T, **plots.look(0), zorder=2)
    ax.plot(*top.sel(samples="truncated").values.T, **plots.look(1, zorder=3))
    ax.plot([x, 0], [0, y], "s", color="black", markersize=4, zorder=3)
    ax.plot([x], [y], "*", color="black", markersize=10, zorder=4)
    ax.set(title=name.capitalize(), xlabel="first concept", aspect="equal")
    ax.set(xlim=(-0.35 * x, 1.65 * x), ylim=(-0.2 * y, 1.35 * y))


def _draw_errors(ax: Axes, data: xr.Dataset, name: str, order: np.ndarray) -> None:
    network = NETWORKS[name]
    loss = data.loss.sel(task=name)
    steps = data.step.values[1:]
    for seed in order[1:]:
        ax.plot(
            steps,
            loss.sel(samples="all", seed=seed).values[1:],
            color=plots.COLOURS[5],
            linewidth=0.7,
        )
    top = loss.sel(seed=order[0])
    full = top.sel(samples="all").values
    ax.plot(steps, full[1:], **plots.look(0))
    ax.plot(steps, top.sel(samples="truncated").values[1:], **plots.look(1))
    every = network.protocol(data.attrs["epochs"]).batches(network.task().n_samples)
    at = np.arange(every, 16 * every, every)
    seen = np.interp(at, data.step.values, full)
    ax.plot(at, seen, **plots.look(0, line=False, markersize=3.5, markeredgewidth=0.9), zorder=4)
    ax.axhline(network.plateau, color=plots.QUIET, linewidth=0.8, linestyle=":", zorder=0)
    ax.set(xscale="log", xlabel="step", xlim=(10, steps[-1]), ylim=(0, 2.6 * network.plateau))
    if name == next(iter(NETWORKS)):
        end = {"ha": "right", "va": "bottom"}
        plots.name(ax, 4400.0, 1.03 * network.plateau, "plateau", plots.QUIET, **end)
    else:
        plots.name(ax, 4400.0, 4.7, "all samples", plots.COLOURS[0], ha="right")
        plots.name(ax, 4400.0, 4.2, "none inside the circle", plots.COLOURS[1], ha="right")
