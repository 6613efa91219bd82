"""Three layers in three dimensions: the rise of the error, with and without nearby samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.training import train_identity
from partwhole_studies.dynamics import _small_networks as small
from partwhole_studies.dynamics._small_networks import Network

Scales = Literal["variances", "deviations"]

QUESTION = (
    "Small linear networks answer the unseen combination better, then worse, then right. Is that "
    "because some training samples lie near it?"
)
SOURCE = "Yang et al. (ICLR 2025), figures 13 to 16"
ANSWER = (
    "No: at means 1 and 2 and variances of .05, where samples do lie near it, seeds learn as "
    "before with those drawn again elsewhere; in the other settings hardly any lie there, or none. "
    "About half of the seeds swing back in each."
)
CAPTION = (
    "Top: outputs at the unseen combination (star) through training, for the eight seeds that "
    "rise most; squares: training means; grey dots: training samples. Bottom: the error of the "
    "same seeds; thick: the one that rises most; dashed, over it: the same without samples inside "
    "the circle, within half the smaller mean of the unseen combination; hollow dots: its first "
    "epochs; horizontal dotted line: the plateau at which only the strong concept is known. All "
    "as run, with variances of .05; dotted green: the thick seed as captioned, with deviations of "
    ".05."
)

NETWORKS = {
    "means 1 and 2": Network(3, 3, 3, (1.0, 2.0), 0.01),
    "means 2 and 4": Network(3, 3, 3, (2.0, 4.0), 0.01),
}
SAMPLES = ("all", "truncated")
# The scale of .05 is a variance as run, a standard deviation as captioned.
SCALES: dict[Scales, str] = {
    "variances": "variances of .05, as run",
    "deviations": "deviations of .05, as captioned",
}
NEVER = 8.0  # deviations beyond which no sample is met: a chance of 1e-15 for each
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
    "quick": _preset(80),
    "laptop": _preset(500),
    "paper": _preset(500, parts=8),
}


def clearance(network: Network) -> float:
    """Return how many deviations the circle lies from the nearest training mean."""
    scale = 0.05 if network.scales_are == "deviations" else 0.05**0.5
    return 0.5 * min(network.means) / scale


def cell(config: Config) -> Arrays:
    """Train networks of all tasks, on all samples and on truncated ones, from the same seeds."""
    networks = [replace(each, scales_are=s) for s in SCALES for each in NETWORKS.values()]
    full, cut = ([each.task(truncated=t) for each in networks] for t in (False, True))
    apart = [i for i, each in enumerate(networks) if clearance(each) < NEVER]
    runs = train_identity(
        [*full, *(cut[i] for i in apart)],
        networks[0].architecture,
        networks[0].protocol(config["epochs"]),
        seeds=config["seeds"],
        progress=False,
    )
    # Where truncating changes no sample, one run is both.
    rows = [
        len(full) + apart.index(i) if truncated and i in apart else i
        for i in range(len(full))
        for truncated in (False, True)
    ]
    shape = (len(SCALES), len(NETWORKS), len(SAMPLES), len(config["seeds"]), len(runs.steps))
    moved = [
        (one.sample(0).inputs != other.sample(0).inputs).any(axis=1).sum()
        for one, other in zip(full, cut, strict=True)
    ]
    return {
        "loss": runs.losses[rows, ..., 0].reshape(shape),
        "outputs": runs.outputs[rows, ..., 0, :2].reshape(*shape, 2),
        "steps": runs.steps,
        "moved": np.array(moved).reshape(shape[:2]),
    }


def gather(cells: Cells) -> xr.Dataset:
    """Lay errors and outputs over reading of the scales, task, samples, seed and step."""
    config, first = cells[0]
    where = ("scales", "task", "samples", "seed", "step")
    count = sum(len(config["seeds"]) for config, _ in cells)
    return xr.Dataset(
        {
            "loss": (where, np.concatenate([found["loss"] for _, found in cells], axis=3)),
            "outputs": (
                (*where, "concept"),
                np.concatenate([found["outputs"] for _, found in cells], axis=3),
            ),
            "moved": (("scales", "task"), first["moved"]),
        },
        coords={
            "scales": list(SCALES),
            "task": list(NETWORKS),
            "samples": list(SAMPLES),
            "seed": np.arange(count),
            "step": first["steps"],
        },
        attrs={"epochs": config["epochs"]},
    )


def claims(data: xr.Dataset) -> list[Claim]:
    tasks: list[tuple[Scales, str]] = [(scales, name) for scales in SCALES for name in NETWORKS]
    return [
        *(claim for scales, name in tasks for claim in _on_rises(data, scales, name)),
        *(claim for name in NETWORKS for claim in _on_the_published_seed(data, name)),
        *(claim for scales, name in tasks for claim in _on_samples(data, scales, name)),
        *(claim for name in NETWORKS for claim in _on_scales(data, name)),
    ]


def _on_rises(data: xr.Dataset, scales: Scales, name: str) -> list[Claim]:
    full, _ = _losses(data, scales, name)
    n, words = len(full), _words(scales, name)
    return [
        Claim(
            "Whether the error on the unseen combination rises again is up to the seed: share of "
            f"{n} for which it does, three linear layers, {words}.",
            "derived here",
            0.9,
            *_of(small.swings_back(full)),
            relation="at most",
            note=f"{small.COUNTS} The published figures show one seed, for which it does.",
        ),
        Claim(
            f"Some seeds swing back clearly, by more than 5 % of the plateau: share of {n} seeds, "
            f"{words}.",
            "derived here",
            0.1,
            *_of(small.rise(full, NETWORKS[name].plateau) > small.CLEAR),
            relation="at least",
        ),
    ]


def _on_the_published_seed(data: xr.Dataset, name: str) -> list[Claim]:
    full, _ = _losses(data, "variances", name)
    plateau = NETWORKS[name].plateau
    (start, least), (end, most) = PUBLISHED[name]
    rise = (most - least) / plateau
    extreme, band = small.tail(small.rise(full, plateau), rise)
    return [
        Claim(
            f"The published seed's rise of {rise:.2g} plateaus is no outlier: share of {len(full)} "
            f"seeds that rise at least as far, {_words('variances', name)}.",
            "Yang et al. (ICLR 2025), figures 13 and 14",
            0.025,
            extreme,
            0.0,
            band,
            relation="at least",
            note=f"Computed for the published seed: from {least:g} at step {start} to {most:g} at "
            f"step {end}.",
        ),
    ]


def _on_samples(data: xr.Dataset, scales: Scales, name: str) -> list[Claim]:
    full, cut = _losses(data, scales, name)
    network = _network(scales, name)
    rises = [small.rise(each, network.plateau) for each in (full, cut)]
    n, words = len(full), _words(scales, name)
    same, agreed = small.fraction(small.swings_back(full) == small.swings_back(cut))
    difference, within = small.mean(rises[1] - rises[0])
    total, moved = network.task().n_samples, int(data.moved.sel(scales=scales, task=name))
    far = clearance(network)
    untested = (
        ""
        if moved
        else f"The circle begins {far:.2g} deviations from the nearest training mean, and hardly "
        "any sample lies within it: nothing is tested."
        if far < NEVER
        else f"The circle begins {far:.2g} deviations from the nearest training mean: no sample "
        "lies within it, both runs are one, and nothing is tested."
    )
    nearby = "Yang et al. (ICLR 2025), figures 15 and 16"
    return [
        Claim(
            "Without training samples within half the smaller mean of the unseen combination the "
            f"error rises as far: mean difference of the rise in plateaus, {n} pairs of runs from "
            f"the same seed, {words}.",
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
            f"{n} seeds for which it stays the same, {words}.",
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
            f"difference in plateaus, the median of {n} seeds, {words}.",
            nearby,
            0.0,
            float(np.median(np.abs(full - cut).max(axis=1)) / network.plateau),
            0.05,
            applies=moved > 0,
            relation="at most",
            note=untested,
        ),
    ]


def _on_scales(data: xr.Dataset, name: str) -> list[Claim]:
    plateau = NETWORKS[name].plateau
    as_run, captioned = (small.rise(_losses(data, each, name)[0], plateau) for each in SCALES)
    difference, within = small.mean(captioned - as_run)
    n = len(as_run)
    return [
        Claim(
            "Whether .05 is a variance or a deviation matters little: mean rise as captioned less "
            f"that as run, in plateaus, {n} pairs of runs from the same seed, {name}.",
            "derived here",
            0.0,
            difference,
            small.CLEAR,
            within,
        ),
        Claim(
            "Which seeds rise by more than 5 % of the plateau is the same by variances and by "
            f"deviations: share of {n} seeds, {name}.",
            "derived here",
            0.9,
            *_of((as_run > small.CLEAR) == (captioned > small.CLEAR)),
            relation="at least",
        ),
    ]


def _network(scales: Scales, name: str) -> Network:
    return replace(NETWORKS[name], scales_are=scales)


def _words(scales: Scales, name: str) -> str:
    return f"{name}, {SCALES[scales]}"


def _losses(data: xr.Dataset, scales: Scales, name: str) -> list[np.ndarray]:
    """Return the errors on all samples, and on truncated ones."""
    loss = data.loss.sel(scales=scales, task=name)
    return [loss.sel(samples=each).values for each in SAMPLES]


def _of(hit: np.ndarray) -> tuple[float, float, tuple[float, float]]:
    """Return what a claim takes after its reference: share, no tolerance, interval."""
    share, interval = small.fraction(hit)
    return share, 0.0, interval


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.panels(2, 2, 5.2)
    for column, name in enumerate(NETWORKS):
        full, _ = _losses(data, "variances", name)
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
    outputs = data.outputs.sel(task=name, scales="variances")
    for seed in order[1:]:
        path = outputs.sel(samples="all", seed=seed).values
        ax.plot(*path.T, color=plots.COLOURS[5], linewidth=0.7, zorder=1)
    top = outputs.sel(seed=order[0])
    ax.plot(*top.sel(samples="all").values.T, **plots.look(0), zorder=2)
    ax.plot(*top.sel(samples="truncated").values.T, **plots.look(1, zorder=3))
    other = data.outputs.sel(task=name, scales="deviations", samples="all", seed=order[0])
    ax.plot(*other.values.T, **plots.look(2, zorder=3))
    ax.plot([x, 0], [0, y], "s", color="black", markersize=4, zorder=3)
    ax.plot([x], [y], "*", color="black", markersize=10, zorder=4)
    ax.set(title=name.capitalize(), xlabel="first concept", aspect="equal")
    ax.set(xlim=(-0.35 * x, 1.65 * x), ylim=(-0.2 * y, 1.35 * y))


def _draw_errors(ax: Axes, data: xr.Dataset, name: str, order: np.ndarray) -> None:
    network = NETWORKS[name]
    loss = data.loss.sel(task=name, scales="variances")
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
    other = data.loss.sel(task=name, scales="deviations", samples="all", seed=order[0])
    ax.plot(steps, other.values[1:], **plots.look(2))
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
        plots.name(ax, 4400.0, 4.25, "none inside the circle", plots.COLOURS[1], ha="right")
        plots.name(ax, 4400.0, 3.8, "deviations of .05", plots.COLOURS[2], ha="right")
