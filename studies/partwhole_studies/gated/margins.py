"""How far training comes to the largest margin, by which way, and which limits there are."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from partwhole.features import HalfspaceGates
from partwhole.limits import ChainNorm, GatedLimit, gated_limit
from partwhole.networks import GatedNetwork, LearnedGates, path_weights
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole.training import (
    GatedRuns,
    ascend_margin,
    normalised_flow,
    stationarity,
    train_gated,
)
from partwhole_studies.gated import _drawn as drawn
from partwhole_studies.gated._margins_claims import DATA, LARGEST, alike, ends
from partwhole_studies.gated._margins_claims import claims as claims

QUESTION = (
    "How near does training bring gated networks to the largest margin, and do all starts end in "
    "one limit?"
)
SOURCE = (
    "Lippl, Abbott & Chung (2022) for the networks and the published training; limits and ways to "
    "them derived here"
)
ANSWER = (
    "The normalised flow comes to .98 of it in 5,000 steps where two layers have one limit. "
    "Chains of three layers end in 3 limits from 6 starts, costing 2.21, 3.94 and 4.34, and were "
    "recorded on their way."
)
CAPTION = (
    "Top left: normalised margin as a share of the largest, against steps, two layers, mean and "
    "range of the starts; cross: after implicit steps from the end of the flow. Top right: limits "
    "of chains of three layers: norms of their units at margin 1, and how many starts end there. "
    "Bottom: shares at the end, each mark a start: two layers, the same on other data, with a "
    "linear layer between, with one unit that starts at 0, with gates in both layers, chains, and "
    "ReLU networks (the preset quick has the first and the chains, and no crosses). * of the "
    "largest found, as the largest possible is not known; † of the limit with the gates it ended "
    "with."
)

SCALES = {"far": 0.3, "chains": 0.3, "both": 0.3, "relu": 0.3}  # of starts; .05 for others
TINY = 1e-4  # of its largest possible size: a sum that small is 0, at a gate's edge
HIDDEN = 30
FIRST = 30  # of the recorded steps; margins are below 0 before


def _case(name: str, seeds: int, flow: int, **more: Any) -> Config:
    """Return a configuration; descent 0 and published or ascend False leave these out."""
    ways = {"descent": 0, "published": False, "ascend": False, "records": 50}
    return {"case": name, "seeds": list(range(seeds)), "flow": flow} | ways | more


PRESETS: dict[str, list[Config]] = {
    "quick": [_case("far", 2, 5000, records=25), _case("chains", 6, 5000, records=10)],
    "laptop": [
        _case("far", 4, 60_000, descent=100_000, published=True, ascend=True),
        _case("near", 2, 60_000),
        _case("other", 2, 60_000, published=True),
        _case("three", 2, 60_000, published=True, ascend=True),
        _case("dead", 1, 60_000, ascend=True),
        _case("chains", 8, 60_000, ascend=True),
        _case("both", 2, 20_000, ascend=True),
        _case("relu", 3, 20_000),
    ],
    "paper": [
        _case("far", 12, 400_000, descent=100_000, published=True, ascend=True),
        _case("near", 4, 400_000, ascend=True),
        _case("other", 4, 400_000, published=True),
        _case("three", 6, 400_000, published=True, ascend=True),
        _case("dead", 4, 400_000, ascend=True),
        _case("chains", 24, 60_000, published=True, ascend=True),
        _case("both", 6, 60_000, published=True, ascend=True),
        _case("relu", 8, 60_000),
    ],
}


def cell(config: Config) -> Arrays:
    """Return margins along each way of training, and what the networks end as."""
    case = config["case"]
    inputs, labels, gates = drawn.draw(DATA.get(case, "D1"))
    starts = [_start(case, gates, seed) for seed in config["seeds"]]
    known = None if case == "relu" else gated_limit(gates, inputs, labels)
    flow = normalised_flow(
        starts, inputs, labels, max_steps=config["flow"], record=_records(config, config["flow"]),
        progress=False,
    )  # fmt: skip
    told = _along("flow", flow)
    if config["descent"]:
        plain = train_gated(
            starts, inputs, labels, max_steps=config["descent"], learning_rate=0.1,
            late_factor=1.0, batch=None, record=_records(config, config["descent"]), progress=False,
        )  # fmt: skip
        told |= _along("descent", plain) | {"descent_loss": plain.log_loss}
    if config["published"]:
        published = train_gated(
            starts,
            inputs,
            labels,
            record=_records(config, 3200),
            seeds=config["seeds"],
            progress=False,
        )
        told |= _along("published", published)
    networks = flow.networks
    if config["ascend"]:
        networks = tuple(ascend_margin(each, inputs, labels) for each in networks)
        last = [stationarity(each, inputs, labels) for each in networks]
        told["ended"] = np.array([each.margin for each in last])
        told["residual"] = np.array([each.residual for each in last])
    return told | _ends(case, flow, networks, known)


def _start(case: str, gates: HalfspaceGates, seed: int) -> GatedNetwork:
    d, scale = gates.normals.shape[2], SCALES.get(case, 0.05)
    if case == "relu":
        layers = [LearnedGates(HIDDEN), 1]
        return GatedNetwork.draw(d, layers, seed=seed, initial="he", scale=scale)
    above = HalfspaceGates.random(d, n_units=4, seed=2) if case == "both" else None
    layers = {
        "three": [gates, 5, 1],
        "chains": [gates, gates.n_units, 1],
        "both": [gates, above, 1],
    }.get(case, [gates, 1])
    network = GatedNetwork.draw(
        d, layers, seed=seed, initial="normal", scale=scale, parallel=case == "chains"
    )
    if case != "dead":
        return network
    with jax.enable_x64(False):
        hidden, readout = network.weights
        weights = (hidden.at[4].set(0.0), readout.at[0, 0, 4].set(0.0))
    return GatedNetwork(weights, network.gates)


def _records(config: Config, last: int) -> list[int]:
    """Return steps about evenly spaced by their logarithms, powers of ten among them."""
    spaced = np.geomspace(FIRST, last, config["records"]).round().astype(int)
    tens = 10 ** np.arange(2, int(np.log10(last)) + 1)
    return np.union1d(spaced, tens).tolist()


def _along(way: str, runs: GatedRuns) -> Arrays:
    return {f"{way}_steps": runs.steps, f"{way}_margins": runs.margins}


def _ends(
    case: str, flow: GatedRuns, networks: tuple[GatedNetwork, ...], known: GatedLimit | None
) -> Arrays:
    """Return what a case asks of the networks at the end of the flow, or after it."""
    inputs, labels = flow.inputs, flow.labels
    if case == "three":
        middle = [np.asarray(each.weights[1])[:, 0] for each in flow.networks]
        sizes = np.array([np.linalg.svd(each, compute_uv=False) for each in middle])
        units = [
            np.linalg.norm(path_weights(each).reshape(6, -1), axis=1).sum()
            / (each.squared_norm / 3) ** 1.5
            for each in flow.networks
        ]
        return {"singular": sizes[:, 1] / sizes[:, 0], "balance": np.array(units)}
    if case == "dead":
        left = [float(np.asarray(each.weights[1])[0, 0, 4]) for each in flow.networks]
        return {"left": np.abs(left)}
    if case == "chains" and known is not None:
        return _chains(flow, networks, known)
    if case == "relu":
        return _learned(flow)
    if case == "both":
        outputs = [each.predict(inputs) for each in networks]
        return {"outputs": np.array([each / (labels * each).min() for each in outputs])}
    return {}


def _chains(flow: GatedRuns, networks: tuple[GatedNetwork, ...], group: GatedLimit) -> Arrays:
    """Return units and costs of chains at margin 1, by their weights and by the cost of paths."""
    inputs, labels = flow.inputs, flow.labels
    cost, design = ChainNorm(3), group.design

    def paths(network: GatedNetwork) -> np.ndarray:
        return path_weights(network) / (labels * network.predict(inputs)).min()

    solved = [
        gated_limit(group.gates, inputs, labels, cost, start=paths(each), max_steps=2000)
        for each in networks
    ]
    return {
        "on_the_way": np.array([cost.value(design, paths(each).ravel()) for each in flow.networks]),
        "value": np.array([each.limit.value for each in solved]),
        "units": np.array([each.unit_norms for each in solved]),
        "outputs": np.array([each.predict(inputs) for each in solved]),
        "of_group": np.array(cost.value(design, group.limit.coefficients)),
    }


def _learned(flow: GatedRuns) -> Arrays:
    """Return the limits with the gates that ReLU networks end with, and sums at gates' edges."""
    inputs, labels = flow.inputs, flow.labels
    found = {"largest": [], "edges": [], "residual": [], "flipped": flow.flipped()[:, 0]}
    for network in flow.networks:
        limit = gated_limit(network.with_frozen_gates().gates[0], inputs, labels)
        found["largest"].append(limit.largest_margin)
        found["residual"].append(stationarity(network, inputs, labels).residual)
        hidden, readout = (np.asarray(each)[:, 0] for each in network.weights)
        sizes = np.linalg.norm(hidden, axis=1)
        cosines = inputs @ hidden.T / sizes / np.linalg.norm(inputs, axis=1)[:, None]
        present = np.abs(readout[0]) * sizes > 1e-3 * (np.abs(readout[0]) * sizes).max()
        found["edges"].append(float((np.abs(cosines[:, present]) < TINY).mean()))
    return {name: np.array(values) for name, values in found.items()}


LONG = {
    "margins": "normalised margin",
    "loss": "logarithm of the mean loss",
    "ended": "normalised margin after implicit steps",
    "units": "norms of units at margin 1",
    "value": "cost of the limit",
    "on_the_way": "cost at the end of the flow",
}


def gather(cells: Cells) -> xr.Dataset:
    """Lay what was found by case; each has runs and recorded steps of its own."""
    data: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    for config, found in cells:
        case = config["case"]
        for name, values in found.items():
            way = name.partition("_")[0]
            full = f"{case}_{name}"
            if name.endswith("_steps"):
                coords[full] = values
                continue
            along = (f"{case}_{way}_steps",) if name.endswith(("_margins", "_loss")) else ()
            dims = (f"{case}_run", *along) if values.ndim else ()
            dims += tuple(f"{full}_{i}" for i in range(len(dims), values.ndim))
            told = next((LONG[end] for end in LONG if name.endswith(end)), name.replace("_", " "))
            data[full] = (dims, values, {"long_name": told})
    return xr.Dataset(data, coords=coords)


NAMES = {
    "far": "two layers",
    "other": "other data",
    "three": "three layers",
    "dead": "one unit 0",
    "both": "two gated*",
    "chains": "chains*",
    "relu": "ReLU†",
}
WAYS = {"published": "published descent", "descent": "plain descent", "flow": "normalised flow"}
CROSS: dict[str, Any] = {"color": "black", "marker": "x", "linestyle": "none"}


def figure(data: xr.Dataset) -> Figure:
    rows = sum(f"{case}_flow_margins" in data for case in NAMES)
    drawn_, axes = plots.mosaic("AB;CC", 4.4 + 0.28 * rows, height_ratios=[3.2, 0.9 + 0.28 * rows])
    _draw_shares(axes["A"], data)
    _draw_limits(axes["B"], data)
    _draw_ends(axes["C"], data)
    return drawn_


def _draw_shares(ax: Axes, data: xr.Dataset) -> None:
    for i, way in enumerate(WAYS):
        name = f"far_{way}_margins"
        if name not in data:
            continue
        share = data[name].values / LARGEST["far"]
        steps = data[f"far_{way}_steps"].values
        look = plots.look(i)
        ax.plot(steps, share.mean(axis=0), **look)
        ax.fill_between(steps, share.min(axis=0), share.max(axis=0), color=look["color"], alpha=0.2)
        last = share.mean(axis=0)[-1]
        plots.name(ax, steps[-1] * 1.3, last - 0.03 * (way == "flow"), WAYS[way].split()[0],
                   look["color"], fontsize=8)  # fmt: skip
    if "far_ended" in data:
        end = data["far_flow_steps"].values[-1]
        ax.plot([end], [data["far_ended"].values.mean() / LARGEST["far"]], **CROSS)
    ax.axhline(1.0, color=plots.QUIET, linewidth=0.8, linestyle=":", zorder=0)
    ax.set(xscale="log", ylim=(0, 1.06), xlim=(30, 4e6), xlabel="step",
           title="share of the largest margin")  # fmt: skip
    ax.minorticks_off()


def _draw_limits(ax: Axes, data: xr.Dataset) -> None:
    units, value = data["chains_units"].values, data["chains_value"].values
    groups = alike(data["chains_outputs"].values, value)
    for row, runs in enumerate(groups):
        left = 0.0
        for unit, size in enumerate(units[runs[0]]):
            ax.barh(row, size, 0.55, left=left, color=plots.COLOURS[unit], edgecolor="white")
            left += size
        words = f"cost {value[runs[0]]:.3f}: {len(runs)} of {len(value)} starts"
        ax.text(0.0, row - 0.42, words, fontsize=8, va="center")
    there = [u for u in range(units.shape[1]) if (units[:, u] > 1e-6 * units.max()).any()]
    handles = [Patch(color=plots.COLOURS[u], label=f"{u + 1}") for u in there]
    ax.legend(handles=handles, title="unit", fontsize=8, title_fontsize=8, ncols=len(there),
              loc="lower center", columnspacing=0.8, handlelength=1.0)  # fmt: skip
    ax.set(
        ylim=(len(groups) + 0.45, -0.7), yticks=[], xlabel="unit norms", title="limits of chains"
    )
    ax.spines["left"].set_visible(False)


def _draw_ends(ax: Axes, data: xr.Dataset) -> None:
    shown = [case for case in NAMES if f"{case}_flow_margins" in data]
    for row, case in enumerate(shown):
        for way, shares in ends(data, case).items():
            marks = CROSS if way == "ended" else plots.look(list(WAYS).index(way), line=False)
            ax.plot(shares, np.full(len(shares), row), **marks)
    ax.axvline(1.0, color=plots.QUIET, linewidth=0.8, linestyle=":", zorder=0)
    ax.set_yticks(range(len(shown)), labels=[NAMES[case] for case in shown])
    ax.set(ylim=(len(shown) - 0.4, -1.9), xlim=(0, 1.04), xlabel="share at the end")
    used = [way for way in WAYS if any(f"{case}_{way}_margins" in data for case in shown)]
    handles = [
        Line2D([], [], **plots.look(list(WAYS).index(way), line=False), label=WAYS[way])
        for way in used
    ]
    if any(f"{case}_ended" in data for case in shown):
        handles.append(Line2D([], [], **CROSS, label="implicit steps"))
    ax.legend(handles=handles, fontsize=8, ncols=2, loc="upper left", columnspacing=1.0,
              handletextpad=0.2, borderaxespad=0.0)  # fmt: skip
