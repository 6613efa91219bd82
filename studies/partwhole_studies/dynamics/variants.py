"""Deep linear networks from small initial weights and with weight decay, beside gradient flow."""

from __future__ import annotations

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.measures import learning_times
from partwhole.study import Arrays, Cells, Config, Estimate, key, layout, mean, proportion
from partwhole.study.plots import COLOURS, QUIET, panels
from partwhole.training.concepts import in_concept_frame
from partwhole.training.order import batch_order, geometric_steps
from partwhole_studies.dynamics import small_networks as small
from partwhole_studies.dynamics.small_networks import LOW

# Factor of all initial parameters, and weight decay: a step shrinks parameters by its product with
# the learning rate. The published variants are the second and the third.
VARIANTS = {
    "as published": (1.0, 0.0),
    "initial scale 0.1": (0.1, 0.0),
    "weight decay 0.05": (1.0, 0.05),
    "both": (0.1, 0.05),
}
BATCH, EPOCH = 128, 118  # samples, and batches of 15,000
STEP = 2.0 * LOW.learning_rate / LOW.dimension  # in gradient time
LONGEST = 0.05  # step of Runge-Kutta in gradient time; the largest signal is 5.4
SHOWN = 12

Layers = list[Float[np.ndarray, "n _ _"]]


# 40 epochs are published; small initial weights delay learning beyond them.
PRESETS: dict[str, list[Config]] = {
    "quick": [{"seeds": list(range(40)), "epochs": 40}],
    "laptop": [{"seeds": list(range(100)), "epochs": 400}],
    "paper": [{"seeds": list(range(1000)), "epochs": 400}],
}


def cell(config: Config) -> Arrays:
    """Train networks of all variants from the same seeds, on samples and on the population."""
    layers, penalty = initial(config["seeds"])
    moments = batch_moments(config["seeds"])
    steps = geometric_steps(config["epochs"] * moments.shape[1])
    trained = descend(layers, moments, penalty, steps)
    shape, order = (len(steps), len(VARIANTS), len(config["seeds"]), LOW.dimension), (2, 1, 0, 3)
    routes = {"trained": trained, "theory": flow(layers, penalty, STEP * steps)}
    return {k: v.reshape(shape).transpose(order) for k, v in routes.items()} | {"steps": steps}


def initial(seeds: list[int]) -> tuple[Layers, Float[np.ndarray, "n 1 1"]]:
    """Return the initial layers of all variants and seeds, and penalties that act as weight decay.

    Layers are in the concepts' frame, with biases as last columns; penalties are factors of half
    the squared parameters beside half the squared error.
    """
    networks = LOW.architecture.networks(LOW.dimension, seeds=seeds)
    parts = zip(*in_concept_frame(networks, LOW.task()), strict=True)
    layers = [np.concatenate([w, b[..., None]], axis=-1).astype(float) for w, b in parts]
    scales, decays = np.array(list(VARIANTS.values())).T
    # The published rate and decay are of the error's mean over outputs, this one of half its sum.
    penalty = np.repeat(0.5 * LOW.dimension * decays, len(seeds))[:, None, None]
    return [np.concatenate([scale * layer for scale in scales]) for layer in layers], penalty


def batch_moments(seeds: list[int]) -> Float[np.ndarray, "n batches 3 3"]:
    """Return the second moments of (x, 1) of each seed's batches, which repeat in every epoch."""
    task, rows = LOW.task(), []
    for seed in seeds:
        inputs = task.sample(seed).inputs @ task.rotation_matrix.T
        order, weights = batch_order(BATCH, seed, len(inputs), 1, "once")
        points = np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1)[order]
        rows.append(np.einsum("bi,bij,bik->bjk", weights, points, points))
    return np.array(rows)


def descend(
    layers: Layers, moments: np.ndarray, penalty: np.ndarray, steps: np.ndarray
) -> Float[np.ndarray, "T n d"]:
    """Return the answers to the unseen combination after steps of stochastic gradient descent.

    The gradient of a linear network needs no more of a batch than its second moment.
    """
    answers, moments = [], np.tile(moments, (len(VARIANTS), 1, 1, 1))
    for step in range(int(steps[-1]) + 1):
        if step in steps:
            answers.append(answer(layers))
        slopes = velocity(layers, moments[:, step % moments.shape[1]], penalty)
        layers = [layer + STEP * slope for layer, slope in zip(layers, slopes, strict=True)]
    return np.array(answers)


def flow(layers: Layers, penalty: np.ndarray, times: np.ndarray) -> Float[np.ndarray, "T n d"]:
    """Return the same answers along gradient flow on the population, by Runge-Kutta."""
    task, answers = LOW.task(), []
    mean = task.mean()
    moment = np.block([[task.second_moment(), mean[:, None]], [mean[None], np.ones((1, 1))]])
    for span in np.diff(times, prepend=0.0):
        n = int(np.ceil(span / LONGEST))
        for _ in range(n):
            layers = _runge_kutta(layers, moment, penalty, span / n)
        answers.append(answer(layers))
    return np.array(answers)


def answer(layers: Layers) -> Float[np.ndarray, "n d"]:
    """Return the answers to the unseen combination."""
    return _below(layers)[-1] @ np.append(LOW.task().probe, 1.0)


def _below(layers: Layers) -> list[np.ndarray]:
    """Return the maps from (x, 1) to the input of each layer, with its 1, and to the output."""
    n, size = len(layers[0]), layers[0].shape[-1]
    constant = np.broadcast_to(np.eye(size)[-1:], (n, 1, size))
    maps = [np.broadcast_to(np.eye(size), (n, size, size))]
    for layer in layers:
        maps.append(np.concatenate([layer @ maps[-1], constant], axis=1))
    return [*maps[:-1], maps[-1][:, :-1]]


def velocity(layers: Layers, moment: np.ndarray, penalty: np.ndarray) -> Layers:
    """Return minus the gradient of half the squared error and its penalty, for each layer."""
    below = _below(layers)
    back = (np.eye(LOW.dimension, LOW.dimension + 1) - below[-1]) @ moment
    slopes = []
    for layer, under in zip(layers[::-1], below[-2::-1], strict=True):
        slopes.append(back @ under.swapaxes(1, 2) - penalty * layer)
        back = layer[..., :-1].swapaxes(1, 2) @ back
    return slopes[::-1]


def _runge_kutta(layers: Layers, moment: np.ndarray, penalty: np.ndarray, step: float) -> Layers:
    total, slopes = [np.zeros_like(layer) for layer in layers], layers
    for reach, weight in ((0.0, 1), (0.5, 2), (0.5, 2), (1.0, 1)):
        there = [layer + reach * step * s for layer, s in zip(layers, slopes, strict=True)]
        slopes = velocity(there, moment, penalty)
        total = [sum_ + weight / 6 * s for sum_, s in zip(total, slopes, strict=True)]
    return [layer + step * slope for layer, slope in zip(layers, total, strict=True)]


def gather(cells: Cells) -> xr.Dataset:
    paths = "variant step concept"
    return layout(
        small.by_seed(cells, {"steps"}), {"trained": paths, "theory": paths, "steps": "step"},
        over=["seed"], coords={"variant": list(VARIANTS), "concept": ["weak", "strong"]},
    )  # fmt: skip


def errors(answers: xr.DataArray) -> xr.DataArray:
    """Return the error at the unseen combination."""
    means = xr.DataArray(np.array(LOW.means), {"concept": answers.concept.values})
    return 0.5 * ((answers - means) ** 2).sum("concept")


def half_times(answers: xr.DataArray, steps: xr.DataArray) -> Float[np.ndarray, "2 n"]:
    """Return the steps after which the weak and the strong concept are half learned, by seed."""
    shares = answers.transpose("seed", "step", "concept").values / np.array(LOW.means)
    return learning_times(steps.values, shares, 0.5).T


def numbers(data: xr.Dataset) -> dict[str, float | Estimate | np.ndarray]:
    error, exact = errors(data.trained), errors(data.theory)
    rows = error.transpose("variant", "seed", "step").values
    rises = [mean(small.rise(row, LOW.plateau)) for row in rows]
    halves = [half_times(data.trained.sel(variant=name), data.steps) for name in VARIANTS]
    weak, strong = np.stack(halves, axis=1)
    learned = [proportion(int(row.sum()), row.size) for row in np.isfinite(weak)]
    first = (strong < weak)[1:3].all(axis=0)
    apart = np.abs(error - exact).max("step") / exact.isel(step=0, drop=True)
    return {
        "order": proportion(int(first.sum()), first.size),
        "rise": rises[0],
        "rise_decayed": rises[2],
        "learned": learned[0],
        "learned_small": learned[1],
        "apart": apart.median("seed").values,
        "epochs": round(float(data.steps[-1]) / EPOCH),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(2, 2, 5.4, sharex=True, sharey=True)
    for ax, name in zip(axes.ravel(), VARIANTS, strict=True):
        _draw(ax, data.sel(variant=name).isel(seed=slice(SHOWN)))
        ax.set(title=name.capitalize(), xlabel="step", ylabel="error")
        ax.label_outer()
    return key(drawn, 3)


def _draw(ax: Axes, data: xr.Dataset) -> None:
    ax.axhline(LOW.plateau, color=QUIET, linestyle=":", label="plateau", zorder=0)
    networks = {"color": COLOURS[5], "linewidth": 0.8, "label": "networks"}
    ax.plot(data.steps, errors(data.trained).transpose("step", "seed"), **networks)
    exact = {"color": "black", "linewidth": 0.7, "linestyle": "--", "label": "gradient flow"}
    ax.plot(data.steps, errors(data.theory).transpose("step", "seed"), **exact)
    ax.set(xscale="log", xlim=(5, float(data.steps[-1])), ylim=(0, 3.2 * LOW.plateau))
