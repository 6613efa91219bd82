"""Where multi-task learning ends: not at the least group norm, unless weights decay."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.flows import multitask_flow
from partwhole.limits import DiagonalWeights
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import _bias_runs as bias
from partwhole_studies.reuse._bias_claims import claims as claims
from partwhole_studies.reuse._bias_claims import distances

QUESTION = (
    "Which of all solutions does multi-task learning end at: the one of least group norm, as the "
    "published penalty has it, or another?"
)
SOURCE = "Lippl & Lindsey (NeurIPS 2024), section 3 and the penalty of multi-task learning"
ANSWER = (
    "By gradient flow at another, .41 to .75 of its size away with half of the features shared, "
    "and farther the smaller the initial weights. With weight decay it does: at a decay of 1e-5 "
    "the distance is below 0.001."
)
CAPTION = (
    "Top left: distance of the main task's coefficients from those of least group norm, relative "
    "to their size: after gradient flow (line), after gradient descent (markers) and after "
    "finetuning with readouts reset to the initial weights (dashed), mean over tasks with its 95 % "
    "interval, half of the active features shared. Top right: the same with weight decay, by "
    "theory (line), of the least of weights (circles) and after gradient descent (squares). "
    "Bottom: coefficients of all tasks against those of least group norm, after gradient flow "
    "from the smallest weights, and with the least weight decay."
)

MAIN_OVERLAP = 4  # of 8 active features
TIMES = [1e4, 1e5, 1e6]  # of 1e5 and 1e6 published steps, and of ten times as many


def _preset(
    overlaps: list[int],
    seeds: int,
    scales: list[float],
    decays: list[float],
    rows: list[int],
    times: list[float] = TIMES,
) -> list[Config]:
    chosen = list(range(seeds))
    return [
        {"part": "formula"},
        *(
            {"part": "flow", "overlap": overlap, "scale": scale, "seeds": chosen}
            for overlap in overlaps
            for scale in scales
        ),
        *(
            {"part": "decay", "overlap": overlap, "decay": decay, "seeds": chosen}
            for overlap in overlaps
            for decay in decays
        ),
        *({"part": "published", "n_main": n, "times": times, "seed": 0} for n in rows),
    ]


DECAYS = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5]
PRESETS: dict[str, list[Config]] = {
    "quick": _preset([4], 5, [1e-1, 1e-2, 1e-3], [1e-1, 1e-2, 1e-5], [64], TIMES[:2]),
    "laptop": _preset([0, 4, 8], 8, [1e-1, 1e-2, 1e-3, 1e-4], DECAYS, [256]),
    "paper": _preset([0, 4, 8], 24, [1e-1, 1e-2, 1e-3, 1e-4], DECAYS, [16, 64, 256]),
}
# Below this decay the weights of features that aren't needed take too many steps to fade.
TRAINED_DECAY = 1e-3


def cell(config: Config) -> Arrays:
    if config["part"] == "formula":
        return _formula()
    if config["part"] == "published":
        return _published(config["n_main"], config["times"], config["seed"])
    drawn = bias.samples(config["overlap"], config["seeds"])
    if config["part"] == "flow":
        found = bias.flow_ends(config["overlap"], config["seeds"], config["scale"])
        stepped, losses = bias.steps_end(drawn, config["scale"], 200_000)
        return found | {"stepped": stepped[:, 1], "stepped_loss": losses}
    least = np.array([bias.least_of(config["overlap"], seed) for seed in config["seeds"]])
    return _decayed(drawn, config["decay"], config["seeds"]) | {"least": least}


def _formula() -> Arrays:
    """Solve the pair of tasks whose inputs are written as formulas."""
    row, column = np.arange(1, 41)[:, None], np.arange(1, 15)[None]
    inputs = [
        np.sqrt(2) * np.sin(0.37 * row * column + 0.11 * column**2 + 0.5 * row),
        np.sqrt(2) * np.sin(0.7 * row * column + 0.31 * column**2)[:6],
    ]
    auxiliary, main = np.zeros((2, 14))
    auxiliary[:5] = 1, -1, 0.5, 2, -0.25
    main[[0, 1, 8]] = 0.8, -0.4, 0.6
    targets = [inputs[0] @ auxiliary, inputs[1] @ main]
    path = multitask_flow(
        DiagonalWeights.constant(14, 0.01, n_tasks=2),
        list(zip(inputs, targets, strict=True)),
        until=1e-14,
        rtol=1e-6,
        atol=1e-9,
    )
    end, least = path.coefficients[-1, 1], bias.least_group_norm(inputs[1], targets[1], auxiliary)
    values = [bias.group_norm(each, auxiliary) for each in (least, end)]
    return {"formula": np.array([*values, bias.apart(end, least)])}


def _published(n_main: int, times: list[float], seed: int) -> Arrays:
    """Follow the flow at the published size, to times of which 1e5 is that of the last step."""
    drawn = SparseTeachers().sample(seed, n_main, 1024)
    path = multitask_flow(
        DiagonalWeights.constant(1000, 1e-3, n_tasks=2),
        [(drawn.aux_inputs, drawn.aux_targets), (drawn.inputs, drawn.targets)],
        np.array(times),
        rtol=1e-4,
        atol=1e-7,
    )
    share = 1024 / (1024 + n_main) * path.task_losses[:, 0] / path.loss
    return {
        "training_loss": path.loss,
        "auxiliary_share": share,
        "test_loss": np.asarray(drawn.test_error(path.coefficients[:, 1])),
    }


def _decayed(drawn: bias.TeacherSample, decay: float, seeds: list[int]) -> Arrays:
    """Minimise with weight decay: over coefficients, over weights, and by gradient descent."""
    if decay >= TRAINED_DECAY:
        # A hundred times as long as weights take to fade.
        stepped, reached = bias.steps_end(drawn, 0.1, round(500 / decay), decay)
    else:
        stepped, reached = np.full((len(seeds), 2, bias.DIMENSION), np.nan), np.full(len(seeds), 0)
    rows = []
    for run, seed in enumerate(seeds):
        inputs, targets, _ = bias.one(drawn, run)
        value, lasso = bias.least_decay(inputs, targets, decay)
        lowest, weights = bias.least_weights(inputs, targets, decay, seed)
        trained = decay >= TRAINED_DECAY
        rows.append(
            {
                "lasso": lasso[1],
                "weights": weights[1],
                "stepped": stepped[run, 1],
                "weights_excess": lowest / value - 1.0,
                "stepped_excess": reached[run] / value - 1.0 if trained else np.nan,
            }
        )
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


FLOW = ("ends", "tuned", "least", "stepped")
DECAYED = ("lasso", "weights", "stepped", "least")


def gather(cells: Cells) -> xr.Dataset:
    """Lay coefficients over overlap, scale or decay, seed and feature; NaN where none."""
    by: dict[str, Cells] = {}
    for config, found in cells:
        by.setdefault(config["part"], []).append((config, found))
    seeds = by["flow"][0][0]["seeds"]
    overlaps = sorted({config["overlap"] for config, _ in by["flow"]})
    rows = [config["n_main"] for config, _ in by["published"]]
    data: dict = {"formula": ("quantity", by["formula"][0][1]["formula"])}
    coords: dict = {
        "quantity": ["least norm", "norm after flow", "distance"],
        "overlap": overlaps,
        "seed": seeds,
        "feature": np.arange(bias.DIMENSION),
        "n_main": rows,
        "time": by["published"][0][0]["times"],
    }
    for part, axis, prefix in (("flow", "scale", ""), ("decay", "decay", "decayed_")):
        values = sorted({config[axis] for config, _ in by[part]}, reverse=True)
        coords[axis] = values
        for name in by[part][0][1]:
            like = by[part][0][1][name]
            laid = np.full((len(overlaps), len(values), *like.shape), np.nan)
            for config, found in by[part]:
                laid[overlaps.index(config["overlap"]), values.index(config[axis])] = found[name]
            dims = ("overlap", axis, "seed", "feature")[: laid.ndim]
            data[prefix + name] = (dims, laid)
    for name in by["published"][0][1]:
        laid = np.array([found[name] for _, found in by["published"]])
        data[f"published_{name}"] = (("n_main", "time"), laid)
    gathered = xr.Dataset(data, coords=coords)
    words = {
        "ends": "coefficients of the main task after gradient flow",
        "tuned": "the same after finetuning with readouts reset to the initial weights",
        "least": "the same at the least group norm",
        "stepped": "the same after gradient descent",
        "excess": "group norm after gradient flow over the least, less 1",
        "decayed_lasso": "coefficients of least error and group norm together",
        "decayed_weights": "the same from the least error and squared weights",
        "published_training_loss": "training loss by the flow at the published size",
    }
    for variable, long_name in words.items():
        gathered[variable].attrs["long_name"] = long_name
    return gathered


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AB;CD", 5.8)
    shown = data.sel(overlap=MAIN_OVERLAP)
    _draw_flow(axes["A"], shown)
    _draw_decay(axes["B"], shown)
    axes["B"].set_ylabel("")
    least = float(data.scale.min())
    _draw_scatter(axes["C"], shown.least.sel(scale=least), shown.ends.sel(scale=least))
    axes["C"].set(title=f"Flow from {least:g}", ylabel="coefficient, main task")
    weak = float(data.decay.min())
    found = shown.sel(decay=weak)
    _draw_scatter(axes["D"], found.decayed_least, found.decayed_weights)
    axes["D"].set(title=f"Weight decay {weak:g}")
    return drawn


def _draw_flow(ax: Axes, data: xr.Dataset) -> None:
    scales = data.scale.values
    for i, name in enumerate(("ends", "tuned")):
        mean, low, high = plots.mean_interval(distances(data[name], data.least))
        look = plots.look(i)
        ax.plot(scales, mean, **look)
        ax.fill_between(scales, low, high, color=look["color"], alpha=0.15, linewidth=0)
    mean, *_ = plots.mean_interval(distances(data.stepped, data.least))
    ax.plot(scales, mean, **plots.look(0, line=False))
    ax.set(xscale="log", xlabel="size of initial weights", ylabel="distance")
    ax.set(title="Without weight decay", ylim=(0, None))
    words = {"fontsize": 9, "transform": ax.transAxes, "ha": "right"}
    ax.text(0.97, 0.93, "finetuning", color=plots.COLOURS[1], **words)
    ax.text(0.62, 0.25, "multi-task", color=plots.COLOURS[0], **words)


def _draw_decay(ax: Axes, data: xr.Dataset) -> None:
    decays = data.decay.values
    for i, name in enumerate(("lasso", "weights", "stepped")):
        away = distances(data[f"decayed_{name}"], data.decayed_least)
        if i == 0:
            ax.plot(decays, away.mean(axis=0), **plots.look(2))
        else:
            index, marker = (2, "o") if i == 1 else (3, "s")
            look = plots.look(index, line=False, marker=marker, markersize=9 if i == 2 else 5)
            look["markerfacecolor"] = "none"
            ax.plot(decays, away.mean(axis=0), **look)
    ax.set(xscale="log", yscale="log", xlabel="weight decay", ylabel="distance")
    ax.set_title("With weight decay")
    words = {"fontsize": 9, "transform": ax.transAxes, "ha": "right"}
    ax.text(0.97, 0.36, "□ gradient descent", color=plots.COLOURS[3], **words)
    ax.text(0.97, 0.25, "○ least of weights", color=plots.COLOURS[2], **words)
    ax.text(0.97, 0.14, "… theory", color=plots.COLOURS[2], **words)


def _draw_scatter(ax: Axes, least: xr.DataArray, found: xr.DataArray) -> None:
    x, y = least.values.ravel(), found.values.ravel()
    edge = 1.08 * float(np.abs(np.concatenate([x, y])).max())
    ax.plot([-edge, edge], [-edge, edge], color=plots.QUIET, linewidth=0.8, linestyle=":")
    ax.plot(x, y, "o", color=plots.COLOURS[0], markersize=2.5, alpha=0.6, markeredgewidth=0)
    ax.set(xlim=(-edge, edge), ylim=(-edge, edge), aspect="equal")
    ax.set_xlabel("at the least group norm")
