"""The published schematic, solved: two gated units, their sum, and joint contexts alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from partwhole import limits, solve
from partwhole.features.gates.joint import JointGates
from partwhole.limits.costs import FunctionSpaceL2
from partwhole.measures import accuracy
from partwhole.networks import GatedNetwork
from partwhole.study import Arrays, Cells, Config, key, layout, mean, series
from partwhole.study.declaration import Number
from partwhole.study.plots import COLOURS, QUIET, mosaic
from partwhole.training.margin_ascent import ascend_margin
from partwhole.training.stationarity import stationarity
from partwhole_studies.gated.descent import FLOW, trained
from partwhole_studies.gated.point_sets import schematic, square_rule

L2 = limits.Quadratic()
COSTS = {"group": limits.GroupNorm(), "l2": L2, "function l2": FunctionSpaceL2()}
NORMS = (*COSTS, "joint contexts")
SIDE = 60  # points along an edge of the grid on which answers are compared
ALONG = (np.arange(SIDE) + 0.5) * 2.0 / SIDE - 1.0
UNSEEN = 500  # points of the rule in the context that is left out
LIMITS = {
    "value": "norm", "answers": "norm y x", "parts": "unit y x", "unit_norms": "weight_norm unit",
    "support": "norm point", "multipliers": "norm", "plane": "", "left_out": "out norm place",
    "accuracy": "seed learner",
}  # fmt: skip


def _rule(seeds: int, sizes: list[int], norms: list[str]) -> list[Config]:
    return [
        {"part": "rule", "gap": gap, "n": n, "seeds": list(range(seeds)), "norms": norms}
        for gap in (0.2, 0.0)
        for n in sizes
    ]


SOLVED: list[Config] = [{"part": "limits"}, {"part": "left out"}]
TRAINED: Config = {"part": "trained", "max_steps": 5000}
PRESETS: dict[str, list[Config]] = {
    "quick": [*SOLVED, *_rule(6, [25, 200], ["group", "joint contexts"])],
    "laptop": [
        *SOLVED,
        TRAINED | {"seeds": list(range(8))},
        *_rule(12, [25, 50, 100, 200], list(NORMS)),
    ],
    "paper": [
        *SOLVED,
        TRAINED | {"seeds": list(range(20))},
        *_rule(20, [25, 50, 100, 200], list(NORMS)),
    ],
}


def cell(config: Config) -> Arrays:
    """Return the limits, margins of trained networks, or answers in a context left out."""
    parts = {"limits": _limits, "left out": _left_out, "trained": _train, "rule": _by_rule}
    return parts[config["part"]](config)


def _solve(name: str, inputs: np.ndarray, labels: np.ndarray) -> limits.Limit:
    gates = schematic().gates
    used = gates if name in COSTS else JointGates.of(gates, inputs)
    return solve((inputs, labels), used, cost=COSTS.get(name, L2), fit="margin", intercept="none")


def grid() -> Float[np.ndarray, "m 3"]:
    """Return points all over the square, none of them on a gate."""
    first, second = np.meshgrid(ALONG, ALONG)
    return np.column_stack([first.ravel(), second.ravel(), np.ones(SIDE**2)])


def _limits(_: Config) -> Arrays:
    inputs, labels, gates = schematic()
    solved = [_solve(name, inputs, labels) for name in NORMS]
    points = grid()
    sides = gates.contexts(points)
    plane = solve((inputs, labels), cost=L2, fit="margin", intercept="none")
    weights = solved[0].coefficients.reshape(2, 2, -1)
    parts = [(weights[h][sides[:, h]] * points).sum(axis=1) for h in range(2)]
    return {
        "value": np.array([limit.value for limit in solved]),
        "answers": np.stack([limit.predict(points).reshape(SIDE, SIDE) for limit in solved]),
        "parts": np.reshape(parts, (2, SIDE, SIDE)),
        "unit_norms": np.stack([limit.block_norms for limit in solved[:2]]),
        "support": 1.0 * np.array([np.isin(range(16), limit.support) for limit in solved]),
        "multipliers": np.array([np.abs(limit.multipliers).sum() for limit in solved]),
        "plane": np.array(float(plane.outcome is not limits.Outcome.INFEASIBLE)),
    }


def _train(config: Config) -> Arrays:
    """Return margins of networks followed to their stationary points."""
    inputs, labels, gates = schematic()
    starts = [
        GatedNetwork.draw(3, [gates, 1], seed=seed, initial="normal", scale=0.1)
        for seed in config["seeds"]
    ]
    runs = trained(starts, inputs, labels, FLOW, steps=config["max_steps"], record=[5000])
    networks = [ascend_margin(network, inputs, labels) for network in runs.networks]
    return {"margin": np.array([stationarity(net, inputs, labels).margin for net in networks])}


def _left_out(_: Config) -> Arrays:
    """Leave each joint context out in turn; return what the limits answer at its four points."""
    inputs, labels, gates = schematic()
    out = gates.contexts(inputs) @ [2, 1] == np.arange(4)[:, None]
    answers = [
        [_solve(name, inputs[~o], labels[~o]).predict(inputs[o]) for name in NORMS] for o in out
    ]
    return {"left_out": np.array(answers)}


def _by_rule(config: Config) -> Arrays:
    """Train on three joint contexts, and test on the one where both coordinates are above 0."""
    n, scores = config["n"], np.full((len(config["seeds"]), len(config["norms"])), np.nan)
    for row, seed in zip(scores, config["seeds"], strict=True):
        points, labels = square_rule(seed, 4 * (n + UNSEEN), config["gap"])
        out = (points[:, :2] > 0).all(axis=1)
        for i, name in enumerate(config["norms"]):
            answers = _solve(name, points[~out][:n], labels[~out][:n]).predict(points[out][:UNSEEN])
            row[i] = accuracy(labels[out][:UNSEEN], answers).value
    return {"accuracy": scores}


def gather(cells: Cells) -> xr.Dataset:
    trained = any(config["part"] == "trained" for config, _ in cells)
    rule = next(config for config, _ in cells if config["part"] == "rule")
    return layout(
        cells, LIMITS | ({"margin": "run"} if trained else {}), over=["gap", "n"],
        coords={"norm": list(NORMS), "learner": rule["norms"], "seed": rule["seeds"]},
    )  # fmt: skip


def numbers(data: xr.Dataset) -> dict[str, Number]:
    group = data.sel(norm="group")
    size = np.abs(group.answers).max()
    difference = float(np.abs(data.answers[:3] - group.answers).max() / size)
    gap, near = data.accuracy.sel(learner="group", gap=[0.2, 0.0]).isel(n=-1)
    margins = data.margin.to_numpy() if "margin" in data else np.zeros(0)
    return {
        "planes": int(data.plane),
        "apart": difference,
        "gap": mean(gap, within=(0.0, 1.0)),
        "near": mean(near, within=(0.0, 1.0)),
        "points": int(data.n[-1]),
        "duality": np.append(margins, 1 / group.multipliers) * float(group.value) - 1,
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CD;EE", 8.2)
    _map(axes["A"], data.parts[0], "Unit 1: left or right")
    _map(axes["B"], data.parts[1], "Unit 2: above or below")
    _map(axes["C"], data.answers[0], "Sum of both units", data.support[0])
    _map(axes["D"], data.answers[3], "Each joint context alone", data.support[3])
    scores = {"sum, gap .2": data.accuracy.sel(gap=0.2, learner="group"),
              "sum, no gap": data.accuracy.sel(gap=0.0, learner="group"),
              "contexts alone": data.accuracy.sel(gap=0.2, learner="joint contexts")}  # fmt: skip
    for i, (name, values) in enumerate(scores.items()):
        values = values.expand_dims(curve=[name]).assign_coords(n=data.n.values * 1.08 ** (i - 1))
        series(axes["E"], "n", by="curve", measured=values, shift=i + 1, within=(0.0, 1.0),
               words={"measured": "mean, 95 % interval"})  # fmt: skip
    axes["E"].set(xscale="log", ylim=(0.3, 1.05), xlabel="training points", title="Unseen context")
    axes["E"].minorticks_off()
    axes["E"].set_xticks(data.n.values, labels=data.n.values)
    return key(drawn)


def _map(ax: Axes, answers: xr.DataArray, title: str, support: xr.DataArray | None = None) -> None:
    colours = LinearSegmentedColormap.from_list("signs", [COLOURS[1], "#ffffff", COLOURS[0]])
    square: dict[str, Any] = {"origin": "lower", "extent": (-1, 1, -1, 1), "cmap": colours}
    ax.imshow(np.tanh(0.5 * answers), vmin=-1.3, vmax=1.3, **square)
    # Answers jump at the gates: a decision is drawn in each joint context by itself.
    for rows, columns in np.ndindex(2, 2):
        y, x = (slice(side * SIDE // 2, (side + 1) * SIDE // 2) for side in (rows, columns))
        if answers[y, x].min() < 0 < answers[y, x].max():
            ax.contour(ALONG[x], ALONG[y], answers[y, x], [0.0], colors="black", linewidths=1.3)
    ax.axhline(0.0, color=QUIET, linestyle=":", linewidth=1)
    ax.axvline(0.0, color=QUIET, linestyle=":", linewidth=1)
    inputs, labels, _ = schematic()
    look: dict[str, Any] = {"color": "black", "marker": "o", "linestyle": "none"}
    for label, fill in {1.0: "black", -1.0: "white"}.items():
        ax.plot(*inputs[labels == label, :2].T, markerfacecolor=fill, markersize=4.5, **look)
    if support is not None:
        ax.plot(*inputs[support == 1, :2].T, markerfacecolor="none", markersize=9, **look)
    ax.set(xlim=(-1, 1), ylim=(-1, 1), xticks=[-1, 0, 1], yticks=[-1, 0, 1], title=title)
