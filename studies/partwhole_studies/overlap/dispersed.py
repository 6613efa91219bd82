"""Dispersed addition: every item is seen, but only with two partners."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.limits import Tube
from partwhole.study import Arrays, Cells, Config, Estimate, key, layout, mean, series
from partwhole.study.plots import COLOURS, DASHES, QUIET, look, mosaic, name
from partwhole.tasks import Task, dispersed_addition, symbolic_addition
from partwhole_studies.overlap.held_out import held_out_line

VALUES = tuple(range(-4, 5))
SALIENCES = tuple(step / 100 for step in range(51))
FEW = (0.1, 0.3, 0.4, 0.49)
# Computed independently of this package: mean error of exact interpolation over seeds 1 to 50, that
# of seed 1 alone, and the error of seed 1 with the regression of the reference implementation.
MEANS = {0.1: 9.563902, 0.2: 7.052914, 0.3: 5.063567, 0.4: 3.079513, 0.49: 0.243260}
EXACT = {0.1: 8.737095, 0.3: 3.792571, 0.4: 2.010020, 0.45: 1.081716}
TUBE = {0.1: 8.8197, 0.3: 3.9378, 0.4: 2.1559, 0.45: 1.2359, 0.5: 0.1539}
# Anchors and salience, with the slope of the reference implementation's regression.
LEAKS = {((0,), 0.4): 0.644444, ((-2, 2), 0.3): 0.581549}


def _preset(tube: list[float]) -> list[Config]:
    leak: Config = {"part": "leak"}
    return [leak, *({"part": "layout", "seed": seed, "tube": tube} for seed in range(1, 51))]


PRESETS = {
    "quick": _preset([0.0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5]),
    "laptop": _preset(sorted([0.45, *(step / 50 for step in range(26))])),
    "paper": _preset(list(SALIENCES)),
}


def cell(config: Config) -> Arrays:
    """Solve one layout of seen sums at every salience, or addition with anchors."""
    if config["part"] == "leak":
        return {"slope": leak_slopes()}
    task = dispersed_addition(VALUES, 2, seed=config["seed"])
    kernel = OverlapKernel.from_salience
    limits = solve(task, [kernel([s]) for s in SALIENCES], intercept="free")
    answers = limits.test_predictions
    tube = [
        solve(task, kernel([s]), fit=Tube(0.1), intercept="free").test_error for s in config["tube"]
    ]
    ridge = np.array([additive_ridge(task, (1 - 2 * s) / s) for s in FEW])
    indices = [SALIENCES.index(s) for s in FEW]
    return {
        "error": limits.test_error,
        "tube_error": np.array(tube),
        "difference": np.abs(answers[indices] - ridge).max(axis=1),
        "item_value": np.array([_item_values(task, s) for s in FEW]),
        "seen": task.is_train.reshape(len(VALUES), len(VALUES)),
    }


def leak_slopes() -> np.ndarray:
    """Fit addition with anchors by regression with a tube and exactly; return the slopes."""
    slopes = []
    for anchors, salience in LEAKS:
        task = symbolic_addition(VALUES, anchors)
        kernel = OverlapKernel.from_salience([salience])
        solved = (
            solve(task, kernel, fit=Tube(0.1), intercept="free"),
            solve(task, kernel, intercept="free"),
        )
        slopes.append([held_out_line(task, limit.predictions)[0].mean() for limit in solved])
    return np.array(slopes)


def additive_ridge(task: Task, penalty: float) -> np.ndarray:
    """Return held-out answers of ridge regression on single items, by its normal equations."""
    n = len(VALUES)
    columns = np.hstack([np.eye(n)[task.components[:, c]] for c in (0, 1)] + [np.ones((n * n, 1))])
    seen = columns[task.is_train]
    weights = penalty * np.append(np.ones(2 * n), 0.0)
    coefficients = np.linalg.solve(seen.T @ seen + np.diag(weights), seen.T @ task.train_targets)
    return columns[~task.is_train] @ coefficients


def _item_values(task: Task, salience: float) -> np.ndarray:
    solved = solve(task, OverlapKernel.from_salience([salience]), intercept="free")
    parts = solved.parts(np.arange(len(VALUES))[:, None].repeat(2, axis=1))
    return (parts[(0,)] + parts[(1,)] + parts["intercept"]) / 2


def gather(cells: Cells) -> xr.Dataset:
    tube = next(config["tube"] for config, _ in cells if "tube" in config)
    return layout(
        cells,
        {
            "error": "salience",
            "tube_error": "tube",
            "difference": "few",
            "item_value": "few item",
            "seen": "row column",
            "slope": "anchors fit",
        },
        over=["seed"],
        coords={
            "salience": list(SALIENCES),
            "tube": tube,
            "few": list(FEW),
            "item": list(VALUES),
            "fit": ["tube", "exact"],
        },
        labels={"error": "mean squared error", "salience": "salience S(1;2)"},
    )


def numbers(data: xr.Dataset) -> dict[str, int | float | Estimate | np.ndarray]:
    error, tube = data.error, data.tube_error.sel(seed=1)
    first = error.sel(seed=1)
    reference = np.array(
        [[tube, s / (1 + (len(a) - 2) * s) * len(a)] for (a, s), tube in LEAKS.items()]
    )
    return {
        "layouts": data.sizes["seed"],
        "none": mean(error.sel(salience=0)),
        "middle": mean(error.sel(salience=0.3)),
        "strong": mean(error.sel(salience=0.49)),
        "tube_error": mean(data.tube_error.sel(tube=0.5) - error.sel(salience=0.5)),
        "ridge": data.difference.to_numpy(),
        "means": error.mean("seed").sel(salience=list(MEANS)).to_numpy() - list(MEANS.values()),
        "first": first.sel(salience=list(EXACT)).to_numpy() - list(EXACT.values()),
        "half": error.sel(salience=0.5).to_numpy(),
        "reference": np.append(
            tube.sel(tube=list(TUBE)).to_numpy() - list(TUBE.values()),
            data.slope.to_numpy() - reference,
        ),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("1234;EEEE;LLMM", 7.6, height_ratios=[0.62, 1.1, 1.1])
    for i, seed in enumerate((1, 2, 3, 4)):
        _draw_layout(axes[str(seed)], data.seen.sel(seed=seed).values, i)
        curve = data.item_value.sel(seed=seed, few=0.3)
        marks = look(i, line=False, markersize=4) | {"linestyle": DASHES[i]}
        axes["L"].plot(data["item"], curve, **marks, linewidth=1.2)
    _draw_error(axes["E"], data)
    axes["L"].set(title="Layouts 1 to 4, S = 0.3", xlabel="item", ylabel="value it adds")
    for i, salience in enumerate(FEW):
        curves = data.item_value.isel(few=i).transpose("item", "seed").values
        estimates = [mean(samples) for samples in curves]
        low, high = [e.low for e in estimates], [e.high for e in estimates]
        axes["M"].fill_between(VALUES, low, high, color=COLOURS[i], alpha=0.2, linewidth=0)
        axes["M"].plot(VALUES, [e.value for e in estimates], **look(i, linewidth=1.4))
        name(axes["M"], 4.2, estimates[-1].value, f"{salience:g}", COLOURS[i])
    axes["M"].set(title="Mean over layouts, by S", xlabel="item", xlim=(-4.6, 6.0))
    for ax in (axes["L"], axes["M"]):
        ax.plot([-4, 4], [-4, 4], color=QUIET, linestyle=":", linewidth=1)
        ax.set(xticks=[-4, -2, 0, 2, 4], ylim=(-4.4, 4.4))
    return key(drawn)


def _draw_layout(ax: Axes, seen: np.ndarray, index: int) -> None:
    ax.pcolormesh(seen, cmap="Greys", vmin=0, vmax=1.4, edgecolor="#d0d0d0", linewidth=0.3)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.invert_yaxis()
    ax.set_title(f"layout {index + 1}", color=COLOURS[index], fontsize=9)
    ax.spines[["right", "top"]].set_visible(True)


def _draw_error(ax: Axes, data: xr.Dataset) -> None:
    tube = data.tube_error.rename(tube="salience")
    words = {"theory": "exact interpolation", "measured": "published regression"}
    series(ax, "salience", theory=data.error.mean("seed"), measured=tube, words=words)
    ax.set(title=f"Error on unseen sums, {data.sizes['seed']} layouts", xlim=(0, 0.51))
    ax.set(xlabel=data.salience.attrs["long_name"], ylabel="mean squared error", ylim=(0, 15))
    inset = ax.inset_axes((0.66, 0.58, 0.32, 0.34))
    series(inset, "salience", measured=tube - data.error.sel(salience=tube.salience), words=words)
    inset.set(xlim=(-0.01, 0.52), ylim=(0, None), xticks=[0, 0.5], xlabel="", ylabel="")
    inset.xaxis.label.set_visible(False)
    inset.tick_params(labelsize=8.5)
    inset.set_title("difference of the two", fontsize=8.5)
