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
from partwhole.training.order import geometric_steps
from partwhole_studies.dynamics import batch_training as training
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
STEP = 2.0 * LOW.learning_rate / LOW.dimension  # in gradient time
SHOWN = 12


# 40 epochs are published; small initial weights delay learning beyond them.
PRESETS: dict[str, list[Config]] = {
    "quick": [{"seeds": list(range(40)), "epochs": 40}],
    "laptop": [{"seeds": list(range(100)), "epochs": 400}],
    "paper": [{"seeds": list(range(1000)), "epochs": 400}],
}


def cell(config: Config) -> Arrays:
    """Train networks of all variants from the same seeds, on samples and on the population."""
    task, (layers, penalty) = LOW.task(), initial(config["seeds"])
    moments = np.tile(training.batch_moments(task, config["seeds"]), (len(VARIANTS), 1, 1, 1))
    steps = geometric_steps(config["epochs"] * training.EPOCH)
    exact = training.flow(layers, training.population_moment(task), STEP * steps, penalty)
    maps = {"trained": training.descend(layers, moments, steps, STEP, penalty), "theory": exact}
    shape = (len(steps), len(VARIANTS), len(config["seeds"]), LOW.dimension)
    answers = {name: (m @ np.append(task.probe, 1.0)).reshape(shape) for name, m in maps.items()}
    return {name: path.transpose(2, 1, 0, 3) for name, path in answers.items()} | {"steps": steps}


def initial(seeds: list[int]) -> tuple[training.Layers, Float[np.ndarray, "n 1 1"]]:
    """Return the initial layers of all variants and seeds, and penalties that act as weight decay.

    Those are factors of half the squared parameters beside half the squared error.
    """
    networks = LOW.architecture.networks(LOW.dimension, seeds=seeds)
    layers = training.layers_of(networks, LOW.task())
    scales, decays = np.array(list(VARIANTS.values())).T
    # The published rate and decay are of the error's mean over outputs, this one of half its sum.
    penalty = np.repeat(0.5 * LOW.dimension * decays, len(seeds))[:, None, None]
    return [np.concatenate([scale * layer for scale in scales]) for layer in layers], penalty


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
    apart = abs(error - exact).max("step") / exact.isel(step=0, drop=True)
    return {
        "order": proportion(int(first.sum()), first.size),
        "rise": rises[0],
        "rise_decayed": rises[2],
        "learned": learned[0],
        "learned_small": learned[1],
        "apart": apart.median("seed").values,
        "epochs": round(float(data.steps[-1]) / training.EPOCH),
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
