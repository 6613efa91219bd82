"""The figure of the calibration of saliences and readouts, and what it counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.study import Estimate, key, mean, series
from partwhole.study.plots import COLOURS, QUIET, WIDTH, look
from partwhole_studies.recordings.estimates import SETTINGS

NAMES = {
    "trials": "resampled trials",
    "correlated": "trials, correlated noise",
    "Poisson": "trials, Poisson noise",
    "unequal": "trials, unequal numbers",
    "runs": "runs with offsets",
    "neurons": "neurons",
}
LARGEST_BIAS, COVERAGE, LARGEST_ERROR = 0.01, (0.93, 0.97), 0.2
GOAL = "#e8e8e8"
NEURONS = [20, 60, 200, 1000]


def farthest(
    samples: xr.DataArray,
    centre: float,
    over: list[str],
    within: tuple[float, float] = (-np.inf, np.inf),
) -> Estimate:
    """Return the mean over seeds of the setting that is farthest from a number.

    Around 0 it is the size of that mean. Bounds are those of a sample.
    """
    means = samples.mean("seed").stack(setting=over)
    place = means.isel(setting=int(np.nanargmax(abs(means.to_numpy() - centre))))
    chosen = samples.sel({name: place[name].item() for name in over})
    sign = 1.0 if centre else np.sign(float(chosen.mean()))
    return mean(sign * chosen, within=within)


def errors_of(data: xr.Dataset) -> xr.DataArray:
    """Return the root mean square over held-out conditions of each simulated recording."""
    difference = data.answer.sel(way="predicted") - data.answer.sel(way="trained")
    return np.sqrt((difference**2).mean("corner"))


def drawn_calibration(data: xr.Dataset) -> Figure:
    """Draw answers, errors and accuracies of readouts, and bias and coverage of saliences."""
    drawn = Figure(figsize=(WIDTH, 11.5), layout="constrained")
    rows: Any = drawn.subfigures(3, 1, height_ratios=[4.2, 2.7, 4.6])
    for ax, name in zip(
        rows[0].subplots(2, 3, sharex=True, sharey=True).flat, SETTINGS, strict=True
    ):
        _draw_answers(ax, name, data)
    _draw_left_out(rows[1].subplots(1, 3), data)
    axes = rows[2].subplots(2, 3, sharex=True, sharey="row")
    for (upper, lower), repeats in zip(axes.T, (2, 5, 20), strict=True):
        for ax, name, goal in (
            (upper, "bias", (-LARGEST_BIAS, LARGEST_BIAS)), (lower, "coverage", COVERAGE)
        ):  # fmt: skip
            ax.axhspan(*goal, color=GOAL, zorder=0)
            values = data[name].sel(repeats=repeats).mean("noise")
            if name == "bias":
                _draw_kinds(ax, values.rename(kind="interval"))
            else:
                _draw_kinds(ax, values, (0.0, 1.0))
            ax.set(xlabel="neurons", ylabel="")
            ax.label_outer()
        upper.set_title(f"{repeats} trials a condition", fontsize=8.5)
    axes[0, 0].set(ylabel="bias of the conjunction", ylim=(-0.02, 0.02))
    axes[1, 0].set(ylabel="coverage", ylim=(0.85, 1.01))
    return key(drawn, 2)


def _draw_answers(ax: Axes, name: str, data: xr.Dataset) -> None:
    answers = data.answer.sel(setting=name)[:50]
    ax.plot([-2, 5], [-2, 5], color=QUIET, linewidth=1, zorder=0)
    values = (answers.sel(way=way).to_numpy().ravel() for way in ("trained", "predicted"))
    ax.plot(*values, ".", color=COLOURS[0], markersize=3, alpha=0.6)
    error = float(errors_of(data).sel(setting=name).mean())
    ax.text(0.04, 0.95, f"error {error:.2f}", transform=ax.transAxes, va="top", fontsize=9)
    neurons, trials, related = SETTINGS[name]
    title = f"{neurons} neurons, {trials} trials{', correlated' * related}"
    ax.set_title(title.replace("trials, ", "trials,\n"), fontsize=8.5)
    ax.set(xlim=(-1.4, 3.6), ylim=(-1.4, 3.6), xlabel="trained readout", ylabel="predicted")
    ax.label_outer()


def _draw_left_out(axes: Any, data: xr.Dataset) -> None:
    for ax, trials in zip(axes, (60, 240), strict=False):
        ax.axhspan(0.01, LARGEST_ERROR, color=GOAL, zorder=0)
        for i, noise in enumerate(data.noise.values):
            values = data.left_out.sel(trials=trials, noise=noise).mean(["correlated", "seed"])
            ax.plot(values.neurons, values, **look(i + 7, line=False))
            ax.plot([], [], label=f"noise × {noise:g}", **look(i + 7, line=False))
        ax.set(yscale="log", ylim=(0.02, 12), xlabel="neurons")
        _over_neurons(ax)
        ax.set_title(f"Each left out, {trials} trials", fontsize=8.5)
    axes[0].set_ylabel("root mean square error")
    ends = np.array([0.25, 1.0])
    axes[2].plot(ends, ends, color=QUIET, linewidth=1, zorder=0)
    pairs = (data[name].mean("seed").to_numpy() for name in ("measured_accuracy", "accuracy"))
    axes[2].plot(*(pair.ravel() for pair in pairs), ".", color=COLOURS[0])
    axes[2].set(xlabel="measured", ylabel="predicted")
    axes[2].set_title("Accuracy of four values", fontsize=8.5)


def _draw_kinds(
    ax: Axes, values: xr.DataArray, within: tuple[float, float] = (-np.inf, np.inf)
) -> None:
    for k, (kind, label) in enumerate(NAMES.items()):
        part = values.sel(interval=kind)
        moved = part.assign_coords(neurons=part.neurons * 1.08 ** (k - 2.5))
        series(
            ax, "neurons", by="interval", measured=moved.expand_dims(interval=[kind]),
            names={kind: label}, words={"measured": "mean, 95 % interval"}, shift=k,
            within=within,
        )  # fmt: skip
    _over_neurons(ax)


def _over_neurons(ax: Axes) -> None:
    ax.set(xscale="log", xlim=(14, 1400), xticks=NEURONS, xticklabels=map(str, NEURONS))
    ax.minorticks_off()
