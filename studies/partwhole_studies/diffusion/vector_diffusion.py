"""A diffusion model of points beside the exact flow of a linear network on the same task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.ndimage import gaussian_filter1d

from partwhole.flows import OneLayer, flow
from partwhole.measures import learning_times
from partwhole.measures.swing import retreat
from partwhole.networks.diffusion import diffusion_model
from partwhole.study import Arrays, Cells, Config, geometric_mean, key, layout, mean
from partwhole.study.plots import COLOURS, QUIET, look, panels
from partwhole.tasks import StructuredIdentity
from partwhole.training import Prompt, Sampling, Training, train

SECOND, SPREAD = 2.0, 0.05
MEANS = (0.5, 1.0, 2.0)
WEAK = MEANS[0]
HALF = 0.5
MARKED = (10, 100, 1000)  # steps
SMALL: Config = {"n": 500, "batch": 128, "samples": 200, "sampling_steps": 50, "checkpoints": 32}


def _cells(seeds: int, steps: int, means: Sequence[float] = MEANS) -> list[Config]:
    settings = [{"mean": mean, "seed": seed} for seed in range(seeds) for mean in means]
    return [SMALL | setting | {"steps": steps} for setting in settings]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(1, 400, MEANS[:1]),
    "laptop": _cells(20, 4000),
    "paper": _cells(20, 4000),
}


def steps_of(config: Config) -> np.ndarray:
    return np.unique(np.geomspace(5, config["steps"], config["checkpoints"]).round().astype(int))


def cell(config: Config) -> Arrays:
    """Train one model; return its mean answers to three prompts, relative to the prompted point."""
    task = task_of(config["mean"], config["n"])
    points = task.sample(config["seed"]).inputs.astype(np.float32)
    requests = {"unseen": task.probe, "first": task.probe * [1, 0], "second": task.probe * [0, 1]}
    prompts = {
        name: Prompt(conditions=np.tile(point, (config["samples"], 1)).astype(np.float32))
        for name, point in requests.items()
    }
    training = Training.published(
        "diffusion", steps=config["steps"], batch=config["batch"], clip=1.0,
        record=steps_of(config).tolist(), seed=config["seed"],
    )  # fmt: skip
    runs = train(
        diffusion_model("vector", condition=2, seed=config["seed"]), (points, points), training,
        read=Sampling(prompts, lambda samples: samples, steps=config["sampling_steps"]),
        progress=False,
    )  # fmt: skip
    assert runs.diffusion is not None
    coordinates = runs.diffusion.coordinates
    unseen, first, second = (
        (coordinates[name][0] / task.probe.astype(np.float32)).astype(float) for name in requests
    )
    return {
        "answer": np.stack([unseen[:, half::2].mean(axis=1) for half in (0, 1)]),
        "trained": np.array([first[-1, :, 0].mean(), second[-1, :, 1].mean()]),
    }


def task_of(first_mean: float, samples: int = 5000) -> StructuredIdentity:
    return StructuredIdentity((first_mean, SECOND), (SPREAD, SPREAD), samples=samples)


def gather(cells: Cells) -> xr.Dataset:
    """Lay out mean answers of each half of the samples, and those for training means."""
    data = layout(
        cells,
        {"answer": "half step concept", "trained": "concept"},
        over=["mean", "seed"],
        coords={"half": ["even", "odd"], "step": steps_of(cells[0][0]),
                "concept": ["first", "second"]},
        labels={"answer": "answer / prompted value", "step": "training steps"},
    )  # fmt: skip
    return data.rename(mean="first_mean")


def exact_flow(first_mean: float, times: np.ndarray) -> np.ndarray:
    """Return the exact answers of a one-layer network from zero weights, over their targets."""
    task = task_of(first_mean)
    exact = flow(OneLayer(np.zeros((2, 2)), task.second_moment()), times)
    return exact.outputs(task.probe) / task.probe


def flow_lag(first_mean: float) -> float:
    """Return the ratio of learning times, first over second concept, in the exact flow."""
    first, second = task_of(first_mean).signals
    return float(second / first)


def answers_of(data: xr.Dataset, first_mean: float) -> np.ndarray:
    """Return mean answers, shape (seed, step, concept)."""
    answers = data.answer.sel(first_mean=first_mean).mean("half")
    return answers.transpose("seed", "step", "concept").values


def lags(data: xr.Dataset, first_mean: float) -> np.ndarray:
    """Return the ratio of half times, first over second concept; the last step if never reached."""
    steps = data.step.values.astype(float)
    times = learning_times(steps, answers_of(data, first_mean), HALF, hold=3)
    times = np.minimum(times, steps[-1])
    return times[:, 0] / times[:, 1]


def retreats(data: xr.Dataset, first_mean: float) -> np.ndarray:
    """Return the drop of the first concept in each model.

    One half of the samples chooses the time, the other half measures the loss, and vice versa, so
    that noise adds nothing on average.
    """
    steps = data.step.values.astype(float)
    halves = data.answer.sel(first_mean=first_mean).transpose("seed", "half", "step", "concept")
    losses = np.zeros(len(halves))
    for seed, (even, odd) in enumerate(halves.values):
        measured = []
        for choosing, measuring in ((even, odd), (odd, even)):
            loss = retreat(steps, choosing, np.ones(2))
            if loss.occurs[0]:
                ends = loss.minimum_time[0], loss.maximum_time[0]
                start, end = np.searchsorted(steps, ends)
                measured.append(measuring[start, 0] - measuring[end, 0])
        losses[seed] = np.mean(measured) if measured else 0.0
    return losses


def numbers(data: xr.Dataset) -> dict[str, Any]:
    return {
        "equal": _of_equal_means(lags(data, SECOND)) if SECOND in data.first_mean else "",
        "lag": geometric_mean(lags(data, WEAK)),
        "flow_lag": flow_lag(WEAK),
        "loss": mean(retreats(data, WEAK)),
    }


def _of_equal_means(ratios: np.ndarray) -> str:
    """Return a sentence on which concept lags, and by how much."""
    apart = geometric_mean(np.maximum(ratios, 1 / ratios)).value
    later = f"{np.sum(ratios > 1)} of {len(ratios)} models"
    times = f"the later takes {apart:.1f} times as long"
    return f" With equal means the first is later in {later}; {times}."


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(2, data.sizes["first_mean"], 5.0, sharey="row", sharex="row")
    for j, first_mean in enumerate(map(float, data.first_mean.values)):
        answers = answers_of(data, first_mean)
        _draw_path(axes[0, j], first_mean, data.step.values, answers)
        _draw_time(axes[1, j], data.step.values, answers)
        axes[0, j].set(title=f"means {first_mean:g} and {SECOND:g}", xlabel="first concept")
    axes[0, 0].set_ylabel("second concept")
    axes[1, 0].set_ylabel("share of the answer")
    return key(drawn, columns=3)


def _draw_path(ax: Axes, first_mean: float, steps: np.ndarray, answers: np.ndarray) -> None:
    exact = exact_flow(first_mean, np.geomspace(1e-3, 1e3, 300))
    ax.plot(*exact.T, color=QUIET, label="exact flow of one layer")
    path = gaussian_filter1d(answers.mean(axis=0), 2.0, axis=0, mode="nearest")
    ax.plot(*path.T, color=COLOURS[2], label="mean path, smoothed")
    for step in MARKED:
        k = int(abs(np.log(steps) - np.log(step)).argmin())
        ax.plot(*path[k], "o", color=COLOURS[2], markersize=4)
        below = {"xytext": (5, -3), "textcoords": "offset points", "fontsize": 8, "va": "top"}
        ax.annotate(f"{step:,}", path[k], **below)
    ax.plot(1.0, 1.0, "k*", markersize=9, linestyle="none", label="prompted point")


def _draw_time(ax: Axes, steps: np.ndarray, answers: np.ndarray) -> None:
    ax.axhline(1.0, color=QUIET, linewidth=0.8)
    for k, name in enumerate(("first concept", "second concept")):
        ax.plot(steps, answers[..., k].T, color=COLOURS[k], linewidth=0.6, alpha=0.45)
        ax.plot(steps, answers[..., k].mean(axis=0), label=name, **look(k))
    ax.set(xscale="log", xlabel="training steps")
