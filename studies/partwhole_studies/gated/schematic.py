"""The published schematic, solved: two gated units, their sum, and joint contexts alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from partwhole.features import JointGates
from partwhole.limits import (
    FunctionSpaceL2,
    GatedLimit,
    GroupNorm,
    Margin,
    Outcome,
    Quadratic,
    gated_limit,
    least_cost,
)
from partwhole.measures import accuracy
from partwhole.networks import GatedNetwork
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole.training import ascend_margin, normalised_flow
from partwhole_studies.gated import _drawn as drawn
from partwhole_studies.gated._schematic_claims import claims as claims

QUESTION = (
    "Two units choose their weights by the side of an axis: what does each learn, which norm "
    "decides, and what is answered in a joint context without data?"
)
SOURCE = "Lippl, Abbott & Chung (2022), figure 1; solved here, and with a context left out"
ANSWER = (
    "All three norms choose one function: 9 of 16 points fix it. Units share it as 3.08 and 4.59. "
    "In a context left out joint contexts answer 0; the sum adds sizes, right if sizes are alike."
)
CAPTION = (
    "Answers of the limits on the sixteen published points (filled: +1, hollow: -1, ringed: at the "
    "margin); colour is their sign and size, black lines are decisions, dotted lines the gates. "
    "Top: what each unit adds under the group norm. Middle: the sum, the same for all three "
    "norms; and each joint context on its own. Bottom left: sizes of the units by norm; that of "
    "the function leaves them open. Bottom right: more points of the rule |x₁| + |x₂| > 1 in "
    "three contexts; accuracy in the fourth, ties half, with 95 % intervals. Points keep a "
    "distance of .2 from the rule's boundary, or none."
)

NORMS = ("group", "l2", "function l2", "joint contexts")
COSTS = (GroupNorm(), Quadratic(), FunctionSpaceL2(), Quadratic())
SIDE = 60  # points along an edge of the grid on which answers are compared
UNSEEN = 500  # points of the rule in the context that is left out


def _sizes(seeds: int, sizes: list[int], norms: list[str]) -> list[Config]:
    return [
        {"part": "rule", "gap": gap, "n": n, "seeds": list(range(seeds)), "norms": norms}
        for gap in (0.2, 0.0)
        for n in sizes
    ]


def _trained(seeds: int) -> Config:
    return {"part": "trained", "seeds": list(range(seeds)), "max_steps": 5000}


SOLVED: list[Config] = [{"part": "limits"}, {"part": "left out"}]
PRESETS: dict[str, list[Config]] = {
    "quick": [*SOLVED, *_sizes(6, [25, 200], ["group", "joint contexts"])],
    "laptop": [*SOLVED, _trained(8), *_sizes(12, [25, 50, 100, 200], list(NORMS))],
    "paper": [*SOLVED, _trained(20), *_sizes(20, [25, 50, 100, 200], list(NORMS))],
}


def cell(config: Config) -> Arrays:
    """Return one part: the limits, trained networks, or what is said in a context left out."""
    match config["part"]:
        case "limits":
            return _limits()
        case "left out":
            return _left_out()
        case "trained":
            return _train(config["seeds"], config["max_steps"])
        case _:
            return _by_rule(config)


def _solve(name: str, inputs: np.ndarray, labels: np.ndarray) -> GatedLimit:
    gates = drawn.axes_gates()
    own = JointGates.of(gates, inputs) if name == "joint contexts" else gates
    return gated_limit(own, inputs, labels, COSTS[NORMS.index(name)])


def grid() -> Float[np.ndarray, "m 3"]:
    """Return points all over the square, none of them on a gate."""
    along = (np.arange(SIDE) + 0.5) * 2.0 / SIDE - 1.0
    first, second = np.meshgrid(along, along)
    return np.column_stack([first.ravel(), second.ravel(), np.ones(SIDE**2)])


def _limits() -> Arrays:
    inputs, labels, gates = drawn.schematic()
    found = [_solve(name, inputs, labels) for name in NORMS]
    points = grid()
    sides = gates.contexts(points)
    linear = least_cost(inputs, labels, Quadratic(), Margin(), intercept="none")
    support = np.zeros((len(NORMS), len(inputs)), dtype=int)
    for row, each in zip(support, found, strict=True):
        row[each.support] = 1
    weights = found[0].weights
    return {
        "value": np.array([each.limit.value for each in found]),
        "answers": np.stack([each.predict(points) for each in found]),
        "parts": np.stack([(weights[h][sides[:, h]] * points).sum(axis=1) for h in range(2)]),
        "unit_norms": np.stack([each.unit_norms for each in found[:2]]),
        "support": support,
        "multipliers": np.array([np.abs(each.limit.multipliers).sum() for each in found]),
        "linear": np.array(linear.outcome is not Outcome.INFEASIBLE),
    }


def _train(seeds: list[int], max_steps: int) -> Arrays:
    inputs, labels, gates = drawn.schematic()
    starts = [
        GatedNetwork.draw(3, [gates, 1], seed=seed, initial="normal", scale=0.1) for seed in seeds
    ]
    runs = normalised_flow(
        starts, inputs, labels, max_steps=max_steps, record=[max_steps], progress=False
    )
    ended = [ascend_margin(network, inputs, labels) for network in runs.networks]
    points = grid()

    def margin(network: GatedNetwork) -> float:
        return float((labels * network.predict(inputs)).min() / (0.5 * network.squared_norm))

    return {
        "followed": runs.margins[:, -1],
        "ended": np.array([margin(network) for network in ended]),
        "followed_sides": np.sign([network.predict(points) for network in runs.networks]),
        "ended_sides": np.sign([network.predict(points) for network in ended]),
    }


def _left_out() -> Arrays:
    """Leave each joint context out in turn."""
    inputs, labels, gates = drawn.schematic()
    place = gates.contexts(inputs) @ [2, 1]
    counts, differs, seen = np.zeros((4, 4, 3), dtype=int), np.zeros((4, 4)), np.zeros((4, 4))
    points = grid()
    where = gates.contexts(points) @ [2, 1]
    for out in range(4):
        for i, name in enumerate(NORMS):
            found = _solve(name, inputs[place != out], labels[place != out])
            told = accuracy(labels[place == out], found.predict(inputs[place == out]))
            counts[out, i] = told.right, told.wrong, told.ties
            answers = found.predict(points)
            maps = np.stack([np.linalg.lstsq(points[where == c], answers[where == c])[0]
                             for c in range(4)])  # fmt: skip
            # 0 and 3 differ in both gates, as do 1 and 2: each unit has both in both pairs.
            added = maps[out ^ 1] + maps[out ^ 2] - maps[out ^ 3]
            differs[out, i] = np.abs(points[where == out] @ (maps[out] - added)).max()
            seen[out, i] = found.seen(inputs[place == out]).mean()
    return {"counts": counts, "differs": differs, "seen": seen}


def _by_rule(config: Config) -> Arrays:
    """Train on three joint contexts, and test on the one where both coordinates are above 0."""
    n, found = config["n"], np.full((len(config["seeds"]), len(config["norms"])), np.nan)
    for row, seed in zip(found, config["seeds"], strict=True):
        points, labels = drawn.by_rule(seed, 4 * (n + UNSEEN), config["gap"])
        out = (points[:, :2] > 0).all(axis=1)
        inputs, given = points[~out][:n], labels[~out][:n]
        for i, name in enumerate(config["norms"]):
            answers = _solve(name, inputs, given).predict(points[out][:UNSEEN])
            row[i] = accuracy(labels[out][:UNSEEN], answers).value
    return {"accuracy": found}


def gather(cells: Cells) -> xr.Dataset:
    """Lay answers over the grid and accuracies over gap, size and seed."""
    told = {config["part"]: found for config, found in cells}
    rule = [(config, found["accuracy"]) for config, found in cells if config["part"] == "rule"]
    gaps, sizes = ([each for each in (0.2, 0.0) if any(c["gap"] == each for c, _ in rule)],
                   sorted({config["n"] for config, _ in rule}))  # fmt: skip
    seeds = sorted({seed for config, _ in rule for seed in config["seeds"]})
    right = np.full((len(gaps), len(sizes), len(NORMS), len(seeds)), np.nan)
    for config, found in rule:
        at = right[gaps.index(config["gap"]), sizes.index(config["n"])]
        for name, values in zip(config["norms"], found.T, strict=True):
            at[NORMS.index(name), [seeds.index(seed) for seed in config["seeds"]]] = values
    limits, left = told["limits"], told["left out"]
    points = {"long_name": "answer on a grid of the square"}
    shape = (-1, SIDE, SIDE)
    data = {
        "value": (("norm",), limits["value"], {"long_name": "least cost at margin 1"}),
        "answers": (("norm", "y", "x"), limits["answers"].reshape(shape), points),
        "parts": (("unit", "y", "x"), limits["parts"].reshape(shape), points),
        "unit_norms": (("sum_norm", "unit"), limits["unit_norms"], {"long_name": "unit norm"}),
        "support": (("norm", "point"), limits["support"], {"long_name": "at the margin"}),
        "multipliers": (("norm",), limits["multipliers"], {"long_name": "sum of multipliers"}),
        "linear": ((), limits["linear"].astype(int), {"long_name": "a plane separates"}),
        "counts": (("out", "norm", "told"), left["counts"], {"long_name": "right, wrong, ties"}),
        "differs": (("out", "norm"), left["differs"], {"long_name": "distance from additivity"}),
        "seen": (("out", "norm"), left["seen"], {"long_name": "share of units that saw theirs"}),
        "accuracy": (("gap", "n", "norm", "seed"), right, {"long_name": "accuracy, ties half"}),
    }
    if "trained" in told:
        for name, values in told["trained"].items():
            dims = ("run", "y", "x") if name.endswith("sides") else ("run",)
            shaped = values.reshape(shape) if name.endswith("sides") else values
            data[name] = (dims, shaped, {"long_name": f"trained networks: {name}"})
    coords = {"norm": list(NORMS), "sum_norm": list(NORMS[:2]), "gap": gaps, "n": sizes,
              "seed": seeds, "told": ["right", "wrong", "ties"]}  # fmt: skip
    return xr.Dataset(data, coords=coords)


SIGNS = LinearSegmentedColormap.from_list("signs", [plots.COLOURS[1], "#ffffff", plots.COLOURS[0]])


def figure(data: xr.Dataset) -> Figure:
    drawn_, axes = plots.mosaic("AB;CD;EF", 8.2)
    both = {"group": "sum of both", "joint contexts": "each joint context alone"}
    _draw_map(axes["A"], data.parts.values[0], None, "unit 1: left or right")
    _draw_map(axes["B"], data.parts.values[1], None, "unit 2: above or below")
    for letter, (name, words) in zip("CD", both.items(), strict=True):
        one = data.sel(norm=name)
        _draw_map(axes[letter], one.answers.values, one.support.values, words)
    _draw_norms(axes["E"], data)
    _draw_accuracy(axes["F"], data)
    return drawn_


def _draw_map(ax: Axes, answers: np.ndarray, support: np.ndarray | None, title: str) -> None:
    ax.imshow(
        np.tanh(0.5 * answers), origin="lower", extent=(-1, 1, -1, 1), cmap=SIGNS, vmin=-1.3,
        vmax=1.3,
    )  # fmt: skip
    along = (np.arange(SIDE) + 0.5) * 2.0 / SIDE - 1.0
    half = SIDE // 2
    # Answers jump at the gates: a decision is drawn in each joint context on its own.
    for rows in (slice(0, half), slice(half, None)):
        for columns in (slice(0, half), slice(half, None)):
            part = answers[rows, columns]
            if part.min() < 0 < part.max():
                ax.contour(along[columns], along[rows], part, [0.0], colors="black", linewidths=1.3)
    ax.axhline(0.0, color=plots.QUIET, linestyle=":", linewidth=1)
    ax.axvline(0.0, color=plots.QUIET, linestyle=":", linewidth=1)
    inputs, labels, _ = drawn.schematic()
    for side, fill in ((1.0, "black"), (-1.0, "white")):
        use = labels == side
        look: dict[str, Any] = {"color": "black", "markersize": 4.5, "linestyle": "none"}
        ax.plot(*inputs[use, :2].T, marker="o", markerfacecolor=fill, **look)
    if support is not None:
        ring: dict[str, Any] = {"color": "black", "linestyle": "none", "markersize": 9}
        ax.plot(*inputs[support == 1, :2].T, marker="o", markerfacecolor="none", **ring)
    ax.set(xlim=(-1, 1), ylim=(-1, 1), xticks=[-1, 0, 1], yticks=[-1, 0, 1], title=title)


def _draw_norms(ax: Axes, data: xr.Dataset) -> None:
    at = np.arange(2)
    for unit in range(2):
        values = data.unit_norms.values[:, unit]
        places = at + 0.38 * (unit - 0.5)
        ax.bar(places, values, 0.34, color=plots.COLOURS[(5, 0)[unit]])
        for x, value in zip(places, values, strict=True):
            ax.text(x, value + 0.08, f"{value:.2f}", ha="center", fontsize=8)
        inside = {"ha": "center", "rotation": 90, "fontsize": 8}
        ax.text(places[0], 0.2, f"unit {unit + 1}", color=("black", "white")[unit], **inside)
    ax.text(2.0, 0.2, "any share", color=plots.QUIET, ha="center", fontsize=8)
    ax.set(ylim=(0, 5.6), xlim=(-0.6, 2.6), ylabel="unit norm", title="who does how much, by norm")
    ax.set_xticks([0, 1, 2], labels=["group", "l2", "function l2"])


def _draw_accuracy(ax: Axes, data: xr.Dataset) -> None:
    known = [(0.2, "group", 0), (0.0, "group", 1), (0.2, "joint contexts", 6)]
    words = ("sum, gap .2", "sum, no gap", "each context alone")
    for shift, (gap, norm, i) in zip((0.96, 1.04, 1.0), known, strict=True):
        told = data.accuracy.sel(gap=gap, norm=norm).transpose("seed", "n").values
        centre, low, high = plots.mean_interval(told)
        ends = np.clip(np.stack([centre - low, high - centre]), 0.0, None)
        look = plots.look(i, line=False, linestyle="-", linewidth=1.2)
        ax.errorbar(data.n.values * shift, centre, ends, **look, elinewidth=1)
    ax.set(xscale="log", ylim=(0.12, 1.08), xlabel="points in the other three contexts",
           title="accuracy in an unseen one")  # fmt: skip
    ax.minorticks_off()
    ax.set_xticks(data.n.values, labels=[str(n) for n in data.n.values])
    handles = [
        Line2D([], [], **plots.look(i, line=False, linestyle="-"), label=each)
        for each, (_, _, i) in zip(words, known, strict=True)
    ]
    ax.legend(handles=handles, loc="lower right", fontsize=8)
