"""The share of seeds whose error rises again, with and without samples."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.flows import Deep, descend, flow
from partwhole.networks import Architecture
from partwhole.study import Arrays, Cells, Config, Estimate, layout, mean, proportion, published
from partwhole.study.chart import key
from partwhole.study.estimates import finite_values
from partwhole.study.plots import QUIET, look, mosaic
from partwhole.tasks import StructuredIdentity
from partwhole.training import Runs
from partwhole_studies.dynamics import small_networks as small
from partwhole_studies.dynamics.small_networks import CLEAR, LOW, WIDE, Network

NETWORKS = {
    "1 layer, d = 3": Network(1, 3, 3, (1.0, 2.0), 0.01),
    "2 layers, d = 3": Network(2, 3, 3, (1.0, 2.0), 0.01),
    "3 layers, d = 3": Network(3, 3, 3, (1.0, 2.0), 0.01),
    "1 layer, d = 2": Network(1, 2, 4, (2.0, 4.0), 0.01, rotated=True),
    "4 layers, d = 2": LOW,
    "4 layers, d = 64": WIDE,
}
SHALLOW, DEEP = list(NETWORKS)[3:5]
# What the quick preset trains on the population as well; the others train all but the largest.
QUICK = ("3 layers, d = 3", SHALLOW, DEEP)
# Initial weights: uniform between 0 and .3, or Gaussian of deviation .3.
LAWS = ("uniform", "normal")
STEP, STEPS = 0.005, 6000


def _preset(seeds: int, low: int, wide: int, starts: int, *, quick: bool = False) -> list[Config]:
    networks = []
    for name, network in NETWORKS.items():
        count = {LOW: low, WIDE: wide}.get(network, seeds)
        whole = name in QUICK if quick else network is not WIDE
        by_flow = network is LOW and not quick
        networks += [
            {
                "part": "network",
                "network": name,
                "seeds": list(range(first, first + min(500, count))),
                "epochs": 4 if network is WIDE else 40,
                "also": ["population"] * whole + ["flow"] * by_flow,
            }
            for first in range(0, count, 500)
        ]
    laws = [{"part": "law", "layers": k, "seeds": list(range(starts))} for k in (1, 2, 3, 4)]
    return [*networks, *laws]


PRESETS: dict[str, list[Config]] = {
    "quick": _preset(60, 80, 8, 50, quick=True),
    "laptop": _preset(500, 1000, 80, 200),
    "paper": _preset(4000, 4000, 500, 1000),
}


def cell(config: Config) -> Arrays:
    """Train a network on samples and on the population, or from two laws of initial weights."""
    return _laws(config) if config["part"] == "law" else _network(config)


def _network(config: Config) -> Arrays:
    network = NETWORKS[config["network"]]
    runs = network.train(network.task(), config["epochs"], config["seeds"])
    stochastic = runs.concepts.losses[:, :, 0]
    curves = {"samples": stochastic}
    curves |= {route: _population(runs, route) for route in config["also"]}
    arrays: Arrays = {}
    for route, loss in curves.items():
        arrays[f"rises_{route}"] = small.swings_back(loss).astype(float)
        arrays[f"amplitude_{route}"] = small.rise(loss, network.plateau)
        arrays[f"apart_{route}"] = np.abs(stochastic - loss).max(axis=1) / loss[:, 0]
    return arrays


def _population(runs: Runs, route: str) -> np.ndarray:
    """Return the error on the population, in the runs' steps or as a flow."""
    task, size = runs.concepts.task, small.gradient_time(runs)
    system = small.population_system(runs.start, task)
    if route == "flow":
        path = flow(system, size * runs.steps, rtol=1e-6, atol=1e-8)
    else:
        path = descend(system, int(runs.steps[-1]), size, record=runs.steps)
    return path.probe_losses(task.probe)


def _laws(config: Config) -> Arrays:
    """Train deep networks without biases on the population, from both laws of initial weights."""
    task = StructuredIdentity((1.0, 2.0), (0.05, 0.05), dimension=3)
    record = np.concatenate([[0], np.unique(np.geomspace(1, STEPS, 260).astype(int))])
    arrays: Arrays = {}
    for law in LAWS:
        architecture = Architecture(config["layers"], 3, bias=False, initial=law, scale=0.3)
        initial = architecture.networks(3, seeds=config["seeds"])
        weights = [np.asarray(layer, dtype=float) for layer in initial.weights]
        path = descend(Deep(weights, task.second_moment()), STEPS, STEP, record=record)
        arrays[f"rises_{law}"] = small.swings_back(path.probe_losses(task.probe)).astype(float)
    return arrays


def gather(cells: Cells) -> xr.Dataset:
    variables = {name: "" for _, arrays in cells for name in arrays}
    data = layout(small.by_seed(cells), variables, over=["network", "layers", "seed"])
    data.amplitude_samples.attrs["long_name"] = "rise, in plateaus, stochastic"
    data.amplitude_population.attrs["long_name"] = "whole population"
    return data


def share(happened: xr.DataArray | np.ndarray) -> Estimate:
    """Return the share of seeds with a value of 1; NaN is not counted."""
    values = finite_values(happened)
    return proportion(int(values.sum()), len(values))


def clear(sizes: xr.DataArray) -> xr.DataArray:
    """Return which rises are above 5 % of the plateau; NaN where unknown."""
    return (sizes > CLEAR).where(sizes.notnull())


def numbers(data: xr.Dataset) -> dict[str, str | Estimate | np.ndarray]:
    deep = data.sel(network=DEEP)
    stochastic, population = clear(deep.amplitude_samples), clear(deep.amplitude_population)
    shallow = clear(data.amplitude_samples.sel(network=SHALLOW))
    agreement = share((stochastic == population).where(stochastic.notnull()))
    apart = [data[f"apart_{r}"] for r in ("population", "flow") if f"apart_{r}" in data]
    return {
        "deep": share(stochastic),
        "shallow": share(shallow),
        "depth": small.difference(share(stochastic), share(shallow)),
        "batches": mean(deep.rises_samples - deep.rises_population),
        "agreement": agreement,
        "matters": "hardly matters" if agreement.value > 0.9 else "matters",
        "uniform": share(data.rises_uniform.sel(layers=3)),
        "apart": np.concatenate([finite_values(distances.median("seed")) for distances in apart]),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AAABB", 4.2)
    left, right = axes["A"], axes["B"]
    rows = {
        "stochastic": data.rises_samples,
        "whole population": data.rises_population,
        "stochastic, above 5 % of the plateau": clear(data.amplitude_samples),
    }
    names = list(NETWORKS)[::-1]
    for k, (label, happened) in enumerate(rows.items()):
        shares = {name: share(happened.sel(network=name)) for name in happened.network.values}
        for name, estimate in shares.items():
            below, above = estimate.value - estimate.low, estimate.high - estimate.value
            height = names.index(name) + 0.2 * (1 - k)
            ends = np.abs([[below], [above]])
            left.errorbar(estimate.value, height, xerr=ends, **look(k, line=False))
        left.plot([], [], **look(k, line=False, label=label))
    counted = published(__file__, ["network"])
    heights = [names.index(name) + 0.4 for name in counted.network.values]
    left.plot(counted.swings / counted.seeds, heights, "kx", label="counted independently")
    left.set_yticks(range(len(names)), names)
    left.set(title="Seeds that swing back", xlabel="share of seeds", xlim=(-0.03, 1.0))
    right.plot([0, 0.8], [0, 0.8], color=QUIET, linewidth=0.8, linestyle=":")
    for k, name in enumerate(("3 layers, d = 3", DEEP), start=3):
        part = data.sel(network=name)
        marks = look(k, line=False, markersize=3.5, label=name)
        right.plot(part.amplitude_population, part.amplitude_samples, **marks)
    right.set(title="Rise, in plateaus", xlabel="whole population", ylabel="stochastic")
    return key(drawn, 2)
