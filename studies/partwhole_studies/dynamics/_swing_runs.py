"""One network, or one law of initial weights, from many seeds: with samples and without."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from partwhole.flows import deep_linear_descent, deep_linear_flow
from partwhole.measures.learning import learning_times
from partwhole.networks import Architecture
from partwhole.study import Arrays, Config
from partwhole.tasks import StructuredIdentity
from partwhole.training import IdentityRuns, train_identity
from partwhole_studies.dynamics import _small_networks as small
from partwhole_studies.dynamics._small_networks import LOW, WIDE, Network

NETWORKS = {
    "1 layer, d = 3": Network(1, 3, 3, (1.0, 2.0), 0.01),
    "2 layers, d = 3": Network(2, 3, 3, (1.0, 2.0), 0.01),
    "3 layers, d = 3": Network(3, 3, 3, (1.0, 2.0), 0.01),
    "1 layer, d = 2": Network(1, 2, 4, (2.0, 4.0), 0.01, rotated=True),
    "4 layers, d = 2": LOW,
    "4 layers, d = 64": WIDE,
}
LAWS: dict[Literal["uniform", "normal"], str] = {
    "uniform": "between 0 and .3",
    "normal": "Gaussian of deviation .3",
}
STEP, STEPS = 0.005, 6000
PROBE = np.array([1.0, 2.0, 0.0])


def network_cell(config: Config) -> Arrays:
    """Train one network from some seeds on samples, and from the same weights without samples."""
    network, epochs = NETWORKS[config["network"]], config["epochs"]
    task = network.task()
    protocol = network.protocol(epochs)
    seeds = config["seeds"]
    runs = train_identity(task, network.architecture, protocol, seeds=seeds, progress=False)
    curves = {"samples": (runs.losses[0, :, :, 0], runs.fractions[0, :, :, 0, 0])}
    curves |= {how: _population(runs, how) for how in config["also"]}
    found: Arrays = {}
    for route, (loss, weak) in curves.items():
        for key, values in _read(runs.times[0], loss, weak, network.plateau).items():
            found[f"{key}_{route}"] = values
        if route != "samples":
            gap = np.abs(curves["samples"][0] - loss)
            found[f"apart_{route}"] = gap.max(axis=1) / loss[:, 0]
    every = protocol.batches(task.n_samples)
    at = np.arange(0, runs.steps[-1] + 1, every)
    seen = np.stack([np.interp(at, runs.steps, loss) for loss in curves["samples"][0]])
    return found | {"rises_by_epoch": small.swings_back(seen).astype(float)}


def _population(runs: IdentityRuns, how: str) -> tuple[np.ndarray, np.ndarray]:
    """Return error and weak coordinate on the population, in the runs' steps or as a flow."""
    task, protocol = runs.tasks[0], runs.protocols[0]
    weights, biases = small.in_concepts(runs.initial, task, range(len(runs.seeds)))
    given: dict[str, Any] = {"biases": biases, "mean": task.mean()}
    if how == "flow":
        path = deep_linear_flow(
            weights, task.second_moment(), runs.times[0], rtol=1e-6, atol=1e-8, **given
        )
    else:
        path = deep_linear_descent(
            weights,
            task.second_moment(),
            steps=int(runs.steps[-1]),
            step_size=protocol.rate(task.n_dimensions),
            record=runs.steps,
            **given,
        )
    return path.loss(task.probe), path.outputs(task.probe)[..., 0] / task.means[0]


def _read(times: np.ndarray, loss: np.ndarray, weak: np.ndarray, plateau: float) -> Arrays:
    return {
        "rises": small.swings_back(loss).astype(float),
        "amplitude": small.rise(loss, plateau),
        "retreat": small.rise(-weak),
        "weak_time": learning_times(times, weak[..., None])[..., 0],
    }


def law_cell(config: Config) -> Arrays:
    """Train deep networks without biases on the population, from both laws of initial weights."""
    found: Arrays = {}
    for law in LAWS:
        architecture = Architecture(config["layers"], 3, bias=False, initial=law, scale=0.3)
        initial = architecture.networks(3, seeds=config["seeds"])
        record = np.concatenate([[0], np.unique(np.geomspace(1, STEPS, 260).astype(int))])
        path = deep_linear_descent(
            [np.asarray(each, dtype=float) for each in initial.weights],
            StructuredIdentity((1.0, 2.0), (0.05, 0.05), dimension=3).second_moment(),
            steps=STEPS,
            step_size=STEP,
            record=record,
        )
        loss = path.loss(PROBE)
        rises = small.swings_back(loss)
        # The top of the largest rise.
        rise = loss - np.minimum.accumulate(loss, axis=1)
        top = np.take_along_axis(loss, rise.argmax(axis=1)[:, None], axis=1)[:, 0]
        found[f"rises_{law}"] = rises.astype(float)
        found[f"amplitude_{law}"] = rise.max(axis=1)
        found[f"top_{law}"] = np.where(rises, top, np.nan)
        found[f"end_{law}"] = loss[:, -1]
    return found
