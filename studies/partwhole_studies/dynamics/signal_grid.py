"""Learning times of two concepts over a grid of their signals: deep linear networks of points."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from matplotlib.figure import Figure

from partwhole.study import (
    Arrays,
    Cells,
    Config,
    Estimate,
    geometric_mean,
    key,
    layout,
    series,
)
from partwhole.study.plots import panels
from partwhole.tasks import StructuredIdentity
from partwhole.training.order import geometric_steps
from partwhole_studies.dynamics import batch_training as training
from partwhole_studies.dynamics import small_networks as small
from partwhole_studies.dynamics.small_networks import LOW

COLOURS, SIZES = (0.2, 0.4, 0.6, 0.8), (0.1, 0.2, 0.3, 0.4)  # the published separations
UNIT = 5.0  # of the means in which points lie apart; it sets the pace alone
EPOCHS = 40
STEP = 2.0 * LOW.learning_rate / LOW.dimension  # in gradient time
LEARNED = 0.8  # the published threshold

PRESETS: dict[str, list[Config]] = {
    "quick": [{"seeds": list(range(20))}],
    "laptop": [{"seeds": list(range(50))}],
    "paper": [{"seeds": list(range(first, first + 50))} for first in range(0, 500, 50)],
}


def task(colour: float, size: float) -> StructuredIdentity:
    """Return points as far apart as the concepts' values, without the combination of both."""
    return StructuredIdentity((UNIT * colour, UNIT * size), (0.05, 0.05), origin=True)


def cell(config: Config) -> Arrays:
    """Train networks of all settings from the same seeds, on samples and on the population."""
    tasks, seeds = [task(*pair) for pair in product(COLOURS, SIZES)], config["seeds"]
    networks = LOW.architecture.networks(LOW.dimension, seeds=seeds)
    layers = [np.tile(w, (len(tasks), 1, 1)) for w in training.layers_of(networks, tasks[0])]
    moments = np.concatenate([training.batch_moments(problem, seeds) for problem in tasks])
    exact = np.repeat(
        [training.population_moment(problem) for problem in tasks], len(seeds), axis=0
    )
    steps = geometric_steps(EPOCHS * training.EPOCH)
    probes = np.repeat([np.append(problem.probe, 1.0) for problem in tasks], len(seeds), axis=0)
    maps = {
        "trained": training.descend(layers, moments, steps, STEP),
        "theory": training.flow(layers, exact, STEP * steps),
    }
    arrays: Arrays = {}
    for route, path in maps.items():
        shares = np.einsum("tnij,nj->nti", path, probes) / probes[:, None, :-1]
        times = settled(steps, shares).reshape(len(COLOURS), len(SIZES), len(seeds), 2)
        arrays[route] = np.moveaxis(times, 2, 0)
    return arrays


def settled(
    steps: Int[np.ndarray, " T"], shares: Float[np.ndarray, "n T d"]
) -> Float[np.ndarray, "n d"]:
    """Return the step after which each share stays above 80 %; the last step if it does not.

    Initial answers may exceed a small mean by chance, so that the first time says little.
    """
    below, end = shares < LEARNED, len(steps) - 1
    last = end - below[:, ::-1].argmax(axis=1)
    following = np.minimum(last + 1, end)
    before, after = (
        np.take_along_axis(shares, k[:, None], axis=1)[:, 0] for k in (last, following)
    )
    part = np.divide(LEARNED - before, after - before, out=0 * after, where=following > last)
    times = steps[last] + part * (steps[following] - steps[last])
    return np.where(below.any(axis=1), times, 1.0)


def gather(cells: Cells) -> xr.Dataset:
    grid = "colour size concept"
    return layout(
        small.by_seed(cells), {"trained": grid, "theory": grid}, over=["seed"],
        coords={"colour": list(COLOURS), "size": list(SIZES), "concept": ["colour", "size"]},
        labels={"trained": "steps", "colour": "separation of colours",
                "size": "separation of sizes"},
    )  # fmt: skip


def delays(times: xr.DataArray) -> np.ndarray:
    """Return the ratio of colour's times, size .4 over .2, of each seed, mean over colours."""
    of_colour = times.sel(concept="colour")
    ratio = of_colour.sel(size=0.4) / of_colour.sel(size=0.2)
    return np.exp(np.log(ratio.transpose("seed", "colour").values).mean(axis=1))


def numbers(data: xr.Dataset) -> dict[str, float | Estimate | np.ndarray]:
    logs = np.log(data.trained.sel(concept="colour", size=0.4)).mean("colour")
    gaps = np.abs(np.log(data.trained / data.theory)).median(["seed", "colour", "size"])
    return {
        "delay": geometric_mean(delays(data.trained)),
        "flow_delay": float(np.exp(np.log(delays(data.theory)).mean())),
        "steps": geometric_mean(np.exp(logs)),
        "gap": gaps.values,
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(1, 2, 3.8, sharey=True)
    logs = np.log10(data)
    for ax, concept, second in zip(axes[0], ("colour", "size"), ("size", "colour"), strict=True):
        part = logs.sel(concept=concept).isel({second: [0, 1, 3]})
        names = {value: f"{second} {value:g} apart" for value in part[second].values.tolist()}
        theory = part.theory.mean("seed")
        words = {"theory": "gradient flow", "measured": "networks"}
        shift = 0 if concept == "colour" else 3
        options = {"names": names, "words": words, "shift": shift}
        series(ax, concept, by=second, theory=theory, measured=part.trained, **options)
        ax.set(title=f"Learning of {concept}", xlabel=f"separation of the {concept}s", ylabel="")
    axes[0, 0].set(ylabel="training steps (log10)")
    return key(drawn, 3)
