"""How far training comes to the largest margin, and which limits it ends in."""

from __future__ import annotations

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure

from partwhole import Training, limits, solve
from partwhole.features import HalfspaceGates
from partwhole.limits.costs import ChainNorm
from partwhole.networks import GatedNetwork, LearnedGates
from partwhole.networks.paths import path_weights
from partwhole.study import Arrays, Cells, Config, key, mean
from partwhole.study.declaration import Number
from partwhole.study.plots import COLOURS, look, panels
from partwhole.training import Runs
from partwhole.training.margin_ascent import ascend_margin
from partwhole.training.stationarity import stationarity
from partwhole_studies.gated.descent import FLOW, FULL_BATCH, PUBLISHED, trained
from partwhole_studies.gated.point_sets import random_points

WAYS = {"published": "published descent", "descent": "full-batch descent",
        "flow": "normalised flow"}  # fmt: skip
EDGE = 1e-4  # of its largest possible size: a sum that small lies at the edge of its gate
SAME = 1e-3  # relative difference of training outputs below which two limits are the same
DIMS = {"steps": "step", "margins": "run step", "cost": "run", "units": "run unit",
        "outputs": "run point", "largest": "run", "edges": "run", "ended": "run"}  # fmt: skip


def _cells(two_layers: int, chains: int, relu: int, steps: list[int], ascend: bool) -> list[Config]:
    counts = {"two layers": two_layers, "chains": chains, "ReLU": relu}
    return [
        {"case": case, "seeds": list(range(n)), "flow": flow, "descents": case == "two layers",
         "ascend": ascend and case != "ReLU"}
        for (case, n), flow in zip(counts.items(), steps, strict=True)
    ]  # fmt: skip


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(5, 6, 5, [5000, 5000, 20_000], False),
    "laptop": _cells(5, 8, 5, [60_000, 60_000, 20_000], True),
    "paper": _cells(12, 24, 8, [400_000, 60_000, 60_000], True),
}


def cell(config: Config) -> Arrays:
    """Return margins along each way of training, and the limits that are known or reached."""
    case, seeds = config["case"], config["seeds"]
    inputs, labels, gates = random_points("D1")
    relu, chains = case == "ReLU", case == "chains"
    layers = [LearnedGates(30), 1] if relu else [gates, *[gates.n_units] * chains, 1]
    starts = [
        GatedNetwork.draw(inputs.shape[1], layers, seed=seed, initial="he" if relu else "normal",
                          scale=0.3, parallel=chains)
        for seed in seeds
    ]  # fmt: skip

    def records(last: int) -> list[int]:
        spaced = np.geomspace(30, last, 30).round().astype(int)
        return np.union1d(spaced, 10 ** np.arange(2, int(np.log10(last)) + 1)).tolist()

    def run(training: Training, steps: int, seed: list[int] | int = 0) -> Runs:
        record = records(steps)
        return trained(starts, inputs, labels, training, steps=steps, record=record, seed=seed)

    ways = {"flow": run(FLOW, config["flow"])}
    if config["descents"]:
        ways["published"] = run(PUBLISHED, 3200, seeds)
        ways["descent"] = run(FULL_BATCH, 100_000)
    arrays = {f"{way}_steps": runs.steps for way, runs in ways.items()}
    arrays |= {f"{way}_margins": np.asarray(runs.margins, float) for way, runs in ways.items()}
    networks = followed = ways["flow"].networks
    if config["ascend"]:
        networks = tuple(ascend_margin(net, inputs, labels) for net in networks)
        arrays["ended"] = np.array([stationarity(net, inputs, labels).margin for net in networks])
    if relu:
        return arrays | _learned_gates(followed, inputs, labels)
    limit = solve((inputs, labels), gates, fit="margin", intercept="none")
    if chains:
        return arrays | _chains((inputs, labels), networks, gates, limit)
    return arrays | {"largest": np.full(len(seeds), limit.normalised_margin)}


def _chains(
    sample: tuple[np.ndarray, np.ndarray], networks: tuple[GatedNetwork, ...],
    gates: HalfspaceGates, group: limits.Limit,
) -> Arrays:  # fmt: skip
    """Return units and costs of the limits of chains at margin 1, near where the flow ends."""
    (inputs, labels), cost = sample, ChainNorm(3)

    def paths(network: GatedNetwork) -> np.ndarray:
        return path_weights(network) / (labels * network.predict(inputs)).min()

    solved = [
        solve((inputs, labels), gates, cost=cost, fit="margin", intercept="none",
              start=paths(network), max_steps=2000)
        for network in networks
    ]  # fmt: skip
    return {
        "cost": np.array([limit.value for limit in solved]),
        "units": np.array([limit.block_norms for limit in solved]),
        "outputs": np.array([limit.predict(inputs) for limit in solved]),
        "group_cost": np.array(cost.value(group.design, group.coefficients)),
    }


def _learned_gates(
    networks: tuple[GatedNetwork, ...], inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
) -> Arrays:  # fmt: skip
    """Return the margins with the gates that ReLU networks end with, and sums at gates' edges."""
    largest, edges = [], []
    for network in networks:
        gates = network.with_frozen_gates().gates[0]
        limit = solve((inputs, labels), gates, fit="margin", intercept="none")
        largest.append(limit.normalised_margin)
        hidden, readout = (np.asarray(weights)[:, 0] for weights in network.weights)
        sizes = np.linalg.norm(hidden, axis=1)
        cosines = inputs @ hidden.T / sizes / np.linalg.norm(inputs, axis=1)[:, None]
        present = np.abs(readout[0]) * sizes > 1e-3 * (np.abs(readout[0]) * sizes).max()
        edges.append(float((np.abs(cosines[:, present]) < EDGE).mean()))
    return {"largest": np.array(largest), "edges": np.array(edges)}


def gather(cells: Cells) -> xr.Dataset:
    """Lay the arrays of each case out; each has runs and recorded steps of its own."""
    data = {}
    for config, arrays in cells:
        case = config["case"].replace(" ", "_")
        for name, values in arrays.items():
            way, _, kind = name.rpartition("_")
            dims = DIMS[kind].replace("step", f"{way}_step").split()[: values.ndim]
            data[f"{case}_{name}"] = ([f"{case}_{dim}" for dim in dims], values)
    return xr.Dataset(data)


def shares(data: xr.Dataset, case: str, way: str) -> Float[np.ndarray, "runs steps"]:
    """Return margins along one way of training as shares of the largest."""
    return data[f"{case}_{way}_margins"].values / data[f"{case}_largest"].values[:, None]


def limits_of_chains(data: xr.Dataset) -> list[list[int]]:
    """Return which runs end in the same limit, in the order of their costs."""
    outputs, groups = data.chains_outputs.values, []
    for run in np.argsort(data.chains_cost.values, kind="stable").tolist():
        for group in groups:
            size = np.linalg.norm(outputs[group[0]])
            if np.linalg.norm(outputs[run] - outputs[group[0]]) <= SAME * size:
                group.append(run)
                break
        else:
            groups.append([run])
    return groups


def numbers(data: xr.Dataset) -> dict[str, Number]:
    two_layers = {way: shares(data, "two_layers", way) for way in WAYS}
    margins = np.concatenate([values[:, -1] for values in two_layers.values()])
    bound = np.append(margins, shares(data, "ReLU", "flow")[:, -1]) - 1.0
    ended = data.get("two_layers_ended", xr.DataArray(np.zeros(0))).values
    groups, cost = limits_of_chains(data), data.chains_cost.values
    flow = mean(two_layers["flow"][:, -1])
    return {
        "flow": flow,
        "reaches": "nearly reaches" if flow.value > 0.95 else "falls short of",
        "unique": "not unique" if len(groups) > 1 else "the same here",
        "limits": len(groups),
        "runs": len(cost),
        "costs": ", ".join(f"{cost[runs[0]]:.2f}" for runs in groups),
        "edges": mean(data.ReLU_edges, within=(0.0, 1.0)),
        "chance": 2 * EDGE * 15 / 16,  # of random directions in 7 dimensions
        "bound": np.append(np.maximum(bound, 0), ended / data.two_layers_largest[: len(ended)] - 1),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(1, 2, 3.8)
    curves = {name: ("two_layers", way) for way, name in WAYS.items()}
    for i, (name, (case, way)) in enumerate((curves | {"ReLU, flow": ("ReLU", "flow")}).items()):
        share, steps = shares(data, case, way), data[f"{case}_{way}_steps"].values
        axes[0, 0].plot(steps, share.mean(axis=0), label=name, **look(i))
        axes[0, 0].fill_between(steps, share.min(0), share.max(0), alpha=0.2, color=COLOURS[i])
    axes[0, 0].set(xscale="log", ylim=(0, 1.05), xlabel="step", title="Share of the largest margin")
    costs, units, groups = data.chains_cost.values, data.chains_units.values, limits_of_chains(data)
    for row, runs in enumerate(groups):
        left = np.cumsum(units[runs[0]]) - units[runs[0]]
        axes[0, 1].barh(row, units[runs[0]], 0.5, left=left, color="0.8", edgecolor="black")
        words = f"cost {costs[runs[0]]:.2f}: {len(runs)} of {len(costs)} starts"
        axes[0, 1].text(0.0, row - 0.4, words, fontsize=8, va="center")
        for unit in np.flatnonzero(units[runs[0]] > 0.05 * units.max()):
            place = left[unit] + units[runs[0], unit] / 2
            axes[0, 1].text(place, row, unit + 1, fontsize=8, ha="center", va="center")
    axes[0, 1].set(ylim=(len(groups) - 0.5, -0.6), yticks=[], xlabel="unit norms")
    axes[0, 1].set_title("Limits of chains")
    return key(drawn)
