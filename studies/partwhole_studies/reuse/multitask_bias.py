"""The end of multi-task learning: not the least group norm, unless weights decay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.study import Arrays, Cells, Config, key, layout, mean, series
from partwhole.study.plots import COLOURS, QUIET, mosaic
from partwhole_studies.reuse import multitask_ends as ends

MAIN_OVERLAP = 4  # of 8 active features
SCALE, DECAY = 1e-3, 1e-5  # initial weights and weight decay of the claims
# Below this decay the weights of features that aren't needed take too many steps to fade.
TRAINED_DECAY = 1e-3


def _preset(
    overlaps: list[int],
    seeds: int,
    scales: list[float],
    decays: list[float],
) -> list[Config]:
    tasks = [{"overlap": overlap, "seeds": list(range(seeds))} for overlap in overlaps]
    return [
        *({"part": "flow", "scale": scale} | task for task in tasks for scale in scales),
        *({"part": "decay", "decay": decay} | task for task in tasks for decay in decays),
    ]


DECAYS = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5]
PRESETS: dict[str, list[Config]] = {
    "quick": _preset([4], 5, [1e-1, 1e-2, 1e-3], [1e-1, 1e-2, 1e-5]),
    "laptop": _preset([0, 4, 8], 8, [1e-1, 1e-2, 1e-3, 1e-4], DECAYS),
    "paper": _preset([0, 4, 8], 24, [1e-1, 1e-2, 1e-3, 1e-4], DECAYS),
}


def cell(config: Config) -> Arrays:
    sample = ends.samples(config["overlap"], config["seeds"])
    if config["part"] == "flow":
        flow = ends.flow_ends(config["overlap"], config["seeds"], config["scale"])
        stepped, _ = ends.steps_end(sample, config["scale"], 200_000)
        return flow | {"stepped": stepped[:, 1]}
    minimum = np.array([ends.least_of(config["overlap"], seed) for seed in config["seeds"]])
    return _decayed(sample, config["decay"], config["seeds"]) | {"decayed_least": minimum}


def _decayed(sample: ends.TeacherSample, decay: float, seeds: list[int]) -> Arrays:
    """Minimise with weight decay: over coefficients, over weights, and by gradient descent."""
    stepped = np.full((len(seeds), 2, ends.DIMENSION), np.nan)
    if decay >= TRAINED_DECAY:
        # A hundred times as long as weights take to fade.
        stepped, _ = ends.steps_end(sample, 0.1, round(500 / decay), decay)
    lasso, weights, excess = [], [], []
    for run, seed in enumerate(seeds):
        inputs, targets, _ = ends.task_pair(sample, run)
        value, coefficients = ends.least_decay(inputs, targets, decay)
        lowest, by_weights = ends.least_weights(inputs, targets, decay, seed)
        lasso.append(coefficients[1])
        weights.append(by_weights[1])
        excess.append(lowest / value - 1.0)
    return {
        "lasso": np.array(lasso),
        "decayed": np.array(weights),
        "decayed_stepped": stepped[:, 1],
        "decayed_excess": np.array(excess),
    }


def gather(cells: Cells) -> xr.Dataset:
    per_task = ("ends", "tuned", "least", "stepped")
    per_task += ("lasso", "decayed", "decayed_stepped", "decayed_least")
    per_seed = ("excess", "loss", "drift", "decayed_excess")
    return layout(
        cells,
        dict.fromkeys(per_task, "seed feature") | {name: "seed" for name in per_seed},
        over=["overlap", "scale", "decay"],
        coords={"seed": cells[0][0]["seeds"]},
        labels={"scale": "size of initial weights", "decay": "weight decay"},
    )


def distance(coefficients: xr.DataArray, reference: xr.DataArray) -> xr.DataArray:
    """Return the distance of coefficients relative to the size of the reference."""
    away, size = (
        (vectors**2).sum("feature", skipna=False)
        for vectors in (coefficients - reference, reference)
    )
    return (away / size) ** 0.5


def numbers(data: xr.Dataset) -> dict[str, Any]:
    main = data.sel(overlap=MAIN_OVERLAP)
    away = distance(main.ends, main.least)
    far = mean(away.sel(scale=SCALE), within=(0.0, np.inf))
    with_decay = distance(main.decayed, main.decayed_least).sel(decay=DECAY)
    stepped = distance(data.decayed_stepped, data.lasso)
    return {
        "far": far,
        "place": "elsewhere" if far.value > 0.01 else "close to it",
        "excess": 100 * float(main.excess.sel(scale=SCALE).mean()),
        "approach": mean(away.sel(scale=SCALE) - away.sel(scale=1e-2)),
        "decayed": mean(with_decay, within=(0.0, np.inf)),
        "descent": distance(data.stepped, data.ends).to_numpy(),
        "drift": data.drift.to_numpy(),
        "minima": data.decayed_excess.to_numpy(),
        "decayed_descent": stepped.to_numpy()[np.isfinite(stepped)],
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CD", 6.6)
    main = data.sel(overlap=MAIN_OVERLAP)
    words = {"measured": "gradient descent"}
    flow = [distance(end, main.least).mean("seed") for end in (main.ends, main.tuned)]
    learners = pd.Index(["multi-task", "finetuning"], name="learner")
    series(
        axes["A"], "scale", by="learner", theory=xr.concat(flow, learners), words=words,
        measured=distance(main.stepped, main.least).expand_dims(learner=learners[:1]),
    )  # fmt: skip
    axes["A"].set(xscale="log", ylim=(0, None), ylabel="distance", title="Without weight decay")
    lasso, weights, stepped = (
        distance(end, main.decayed_least).expand_dims(learner=learners[:1])
        for end in (main.lasso, main.decayed, main.decayed_stepped)
    )
    series(
        axes["B"], "decay", by="learner", theory=lasso.mean("seed"), words=words,
        measured=stepped.dropna("decay"), within=(0.0, np.inf),
    )  # fmt: skip
    squares = {"color": COLOURS[2], "markerfacecolor": "none", "markersize": 9}
    label = "least error and squared weights"
    axes["B"].plot(data.decay, weights.mean("seed")[0], "s", label=label, **squares)
    axes["B"].set(xscale="log", yscale="log", ylabel="", title="With weight decay")
    flow_end, minimum = main.ends.sel(scale=SCALE), main.least.sel(scale=SCALE)
    _draw_coefficients(axes["C"], minimum, flow_end, f"Flow from {SCALE:g}")
    weak = main.sel(decay=DECAY)
    _draw_coefficients(axes["D"], weak.decayed_least, weak.decayed, f"Weight decay {DECAY:g}")
    axes["C"].set_ylabel("coefficient, main task")
    return key(drawn, 3)


def _draw_coefficients(ax: Axes, minimum: xr.DataArray, learned: xr.DataArray, title: str) -> None:
    edge = 1.08 * float(max(abs(minimum).max(), abs(learned).max()))
    ax.plot([-edge, edge], [-edge, edge], color=QUIET, linewidth=0.8, linestyle=":")
    dots = {"color": COLOURS[0], "markersize": 2.5, "alpha": 0.6, "markeredgewidth": 0}
    ax.plot(np.ravel(minimum), np.ravel(learned), "o", **dots)
    ax.set(xlim=(-edge, edge), ylim=(-edge, edge), aspect="equal", title=title)
    ax.set_xlabel("at the least group norm")
