"""Where the error on an unseen combination rises again: signals, initial scale and correlation."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.flows.swing_diagram import swing_diagram
from partwhole.flows.two_concepts import swing_forecast
from partwhole.study import Arrays, Cells, Config, Estimate, key, layout, series
from partwhole.study.plots import COLOURS, look, mosaic, name
from partwhole_studies.dynamics import random_starts
from partwhole_studies.dynamics.many_flows import RECORDS, integrate

RATIOS = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7]
SCALES = [0.001, 0.01, 0.1]
CORRELATIONS = [0.3, 0.7, 0.95, 0.999]
OPPOSED = (-0.9, -0.5, -0.1, 0.0)
SAME = 0.9999  # rows that are nearly alike
# As many as in the table, so that they are compiled once.
SMALL = ([0.1, 0.2, 0.3], [10.0**-k for k in range(3, 10)], [0.3, 0.7, 0.95, SAME])
MAPPED = [0.1, 0.001]  # the initial scales of the two maps
# Correlations of the runs with means 2 and 1, deviations of .05 and initial entries of .001.
RUNS = [-0.5, 0.5, 0.9, 0.99]
MEANS = np.array([2.0, 1.0])
TIMES = 0.005 * np.arange(4 * RECORDS)  # read in four calls


def _cells(ratios: np.ndarray, points: int, draws: int) -> list[Config]:
    correlations = np.linspace(-0.28, 0.98, points).round(4).tolist()
    return [
        {"part": "table"},
        {"part": "small"},
        {"part": "map", "ratios": ratios.round(4).tolist(), "correlations": correlations},
        {"part": "runs"},
        *({"part": "starts", "law": law, "draws": draws, "seed": 0} for law in random_starts.LAWS),
    ]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(np.linspace(0.025, 0.725, 21), 22, 400_000),
    "laptop": _cells(np.linspace(0.02, 0.72, 43), 43, 2_000_000),
    "paper": _cells(np.linspace(0.02, 0.72, 85), 85, 8_000_000),
}


def cell(config: Config) -> Arrays:
    part = config["part"]
    if part == "starts":
        return {"starts": random_starts.starts(config["law"], config["draws"], config["seed"])}
    if part in ("small", "map"):
        grid = SMALL if part == "small" else (config["ratios"], MAPPED, config["correlations"])
        return {part: swing_diagram(*map(np.array, grid)).amplitude.values}
    return _table() if part == "table" else _runs()


def _table() -> Arrays:
    grid = (np.array(RATIOS), np.array(SCALES), np.array(CORRELATIONS))
    rises = [[[_rises(r, w, rho) for rho in CORRELATIONS] for w in SCALES] for r in RATIOS]
    return {
        "table": swing_diagram(*grid).amplitude.values,
        "formula": swing_diagram(*grid, method="formula").amplitude.values,
        "opposed": swing_diagram(*grid[:2], np.array(OPPOSED)).amplitude.values,
        "forecast": np.array(rises),
    }


def _rises(ratio: float, scale: float, rho: float) -> bool:
    """Return whether the forecast has the error rise, without integrating."""
    w0 = scale * np.array([[1.0, rho], [rho, 1.0]])
    return swing_forecast(w0, np.diag([1.0, ratio]), np.array([1.0, np.sqrt(ratio)])).occurs


def start(rho: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the initial matrix and the second moment of a run."""
    return 1e-3 * np.array([[1.0, rho], [rho, 1.0]]), np.diag(MEANS**2 / 2 + 0.05**2)


def _runs() -> Arrays:
    w0, moments = (np.stack(matrices) for matrices in zip(*map(start, RUNS), strict=True))
    parts = [integrate(w0, moments, t, batch=84, size=2) for t in TIMES.reshape(-1, RECORDS)]
    gap = np.concatenate(parts, axis=1) @ MEANS - MEANS
    return {"loss": 0.5 * (gap**2).sum(axis=2)}


def gather(cells: Cells) -> xr.Dataset:
    grid = "ratio scale correlation"
    (mapped,) = (config for config, _ in cells if config["part"] == "map")
    return layout(
        cells,
        {
            "table": grid, "formula": grid, "forecast": grid,
            "opposed": "ratio scale opposed_correlation",
            "small": "small_ratio small_scale small_correlation",
            "map": "map_ratio map_scale map_correlation",
            "loss": "run time", "starts": "width quantity statistic",
        },
        over=["law"],
        coords={
            "ratio": RATIOS, "scale": SCALES, "correlation": CORRELATIONS, "run": RUNS,
            "small_ratio": SMALL[0], "small_scale": SMALL[1], "small_correlation": SMALL[2],
            "map_ratio": mapped["ratios"], "map_correlation": mapped["correlations"],
            "map_scale": MAPPED, "time": TIMES, "width": list(random_starts.WIDTHS),
            "quantity": list(random_starts.QUANTITIES), "statistic": ["mean", "error"],
        },
        labels={
            "width": "columns of the initial factor", "small_scale": "initial entries",
            "small": "rise / plateau",
        },
    )  # fmt: skip


def swings(data: xr.Dataset, law: str) -> tuple[Estimate, Estimate]:
    """Return the mean rise from random factors, in narrow and in wide networks."""
    rows = data.starts.sel(law=law, width=[3, 256], quantity="swing").values.tolist()
    narrow, wide = (
        Estimate(m, m - 1.96 * se, m + 1.96 * se, random_starts.SWINGS) for m, se in rows
    )
    return narrow, wide


def numbers(data: xr.Dataset) -> dict[str, float | Estimate | np.ndarray]:
    narrow, wide = swings(data, "Gaussian")
    _, positive_wide = swings(data, "uniform")
    faded = narrow.value - wide.value
    error = float(np.hypot(narrow.high - narrow.value, wide.high - wide.value))
    small = data.small.sel(small_correlation=SAME).values
    slopes = np.log10(small[:, -2] / small[:, -1])
    formula = (data.formula - data.table).sel(scale=[1e-3, 1e-2], ratio=slice(0, 0.3))
    correlations = data.starts.sel(quantity="correlation", statistic="mean")
    return {
        "opposed": float(data.opposed.max()),
        "most": float(data["map"].max()),
        "exponent": float(np.abs(slopes / exponent(data.small_ratio) - 1).max()),
        "narrow": narrow,
        "fading": Estimate(faded, faded - error, faded + error, random_starts.SWINGS),
        "positive_wide": positive_wide,
        "formula": formula.values,
        "correlations": (correlations - random_starts.mean_correlations()).values,
    }


def exponent(ratio: xr.DataArray) -> xr.DataArray:
    """Return the power of the initial scale with which the rise vanishes."""
    return 4 * (1 - ratio) / (7 + ratio)


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CD;EF", 8.0)
    for letter, scale in zip("AB", MAPPED, strict=True):
        rise = data["map"].sel(map_scale=scale).transpose("map_correlation", ...)
        x, y, ax = data.map_ratio, data.map_correlation, axes[letter]
        ax.pcolormesh(x, y, rise, cmap="cividis", rasterized=True)
        lines = ax.contour(x, y, rise, levels=[0.001, 0.05, 0.1, 0.2, 0.4, 0.6], colors="white")
        ax.clabel(lines, fmt="%g", fontsize=7)
        ax.set(title=f"Initial entries of {scale:g}", xlabel="weak / strong signal")
        name(ax, 0.42, -0.14, "no rise", "white", ha="center")
    axes["A"].set_ylabel("correlation of rows, ρ")
    _draw_runs(axes["C"], data)
    small = data.small.sel(small_correlation=SAME)
    last = small.isel(small_scale=-1)
    law = last * (data.small_scale / last.small_scale) ** exponent(data.small_ratio)
    words = {"theory": "closed form", "measured": "computed"}
    series(
        axes["D"], "small_scale", by="small_ratio", theory=law, measured=small,
        names={ratio: f"signal ratio {ratio:g}" for ratio in SMALL[0]}, words=words,
    )  # fmt: skip
    axes["D"].set(xscale="log", yscale="log", title=f"Small entries, ρ = {SAME:g}")
    correlation, swing = (
        data.starts.sel(quantity=q, statistic="mean") for q in ("correlation", "swing")
    )
    theory = correlation.copy(data=random_starts.mean_correlations())
    names = {"uniform": "uniform factors", "Gaussian": "Gaussian factors"}
    look_of_laws = {"by": "law", "shift": 4, "words": words, "names": names}
    series(axes["E"], "width", theory=theory, measured=correlation, **look_of_laws)
    series(axes["F"], "width", measured=swing, **look_of_laws)
    axes["E"].set(xscale="log", ylabel="correlation of rows", ylim=(0, 1))
    axes["F"].set(xscale="log", ylabel="rise / plateau", ylim=(-0.01, 0.3))
    return key(drawn, 3)


def _draw_runs(ax: Axes, data: xr.Dataset) -> None:
    places = [(2.75, 0.56), (2.6, 0.39), (7.2, 0.34), (6.6, 0.505)]
    for i, (rho, place) in enumerate(zip(RUNS, places, strict=True)):
        ax.plot(TIMES, data.loss.sel(run=rho), **look(i))
        name(ax, *place, f"ρ = {rho:g}", COLOURS[i])
        predicted = swing_forecast(*start(rho), MEANS)
        if predicted.occurs:
            times = [predicted.minimum_time, predicted.maximum_time]
            errors = [predicted.minimum_loss, predicted.maximum_loss]
            ax.plot(times, errors, **look(i, line=False, marker="^"), zorder=3)
    ax.set(title="Means 2 and 1, entries of 0.001", xlabel="time (paper)", ylabel="error")
    ax.set(xlim=(1.7, 8.9), ylim=(0.3, 0.62))
