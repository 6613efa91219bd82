"""Learning times of concepts: predicted from the initial matrix, and measured along the flow."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.flows import learning_clocks
from partwhole.measures.learning import learning_times
from partwhole.study import Arrays, Cells, Config, key, layout, series
from partwhole.study.plots import COLOURS, QUIET, look, mosaic
from partwhole_studies.dynamics import published_settings as figures
from partwhole_studies.dynamics.many_flows import RECORDS, clocks, half_times, integrate

SETTINGS = {setting.name: setting for setting in (
    figures.CENTRAL, figures.TRIPLE_CAPTION, figures.TRIPLE_CODE, figures.FAILURE,
    figures.QUADRUPLE_CAPTION, figures.QUADRUPLE_CODE,
)}  # fmt: skip
POWERS = (1, 2)
MOST = 4  # concepts of a setting
SCALE = 1e-3
# Where the order turns: the weak signal and its initial entry; the strong signal is 1.
WEAK, ENTRY = 0.6, 1e-2
TURNS = (0.0, 0.5, 0.9)
RUNS = (0.5, 0.9, 0.99)  # correlations, for means 2 and 1 and initial entries of .001
SIGNALS = np.array([4.0, 1.0]) / 2 + 0.05**2  # of these means
BATCH = {"batch": 41, "size": MOST}
TIMES = 0.005 * np.arange(4 * RECORDS)  # read in four calls


def _cells(ratios: int, correlations: int, entries: int) -> list[Config]:
    return [
        {
            "part": "two",
            "ratios": np.linspace(0.05, 0.8, ratios).round(4).tolist(),
            # Closer together towards 1, where times change fast.
            "correlations": np.sin(np.linspace(0.0, 1.43, correlations)).round(4).tolist(),
            "entries": np.geomspace(1e-6, 1e-2, entries).tolist(),
        },
        {"part": "published"},
        {"part": "runs"},
    ]


PRESETS = {
    "quick": _cells(16, 12, 17),
    "laptop": _cells(31, 23, 41),
    "paper": _cells(61, 45, 81),
}


def cell(config: Config) -> Arrays:
    return {"two": _two, "published": _settings, "runs": _runs}[config["part"]](config)


def _pair(strong: float, weak: float, rho: float) -> np.ndarray:
    joint = rho * np.sqrt(strong * weak)
    return np.array([[strong, joint], [joint, weak]])


def _two(config: Config) -> Arrays:
    grid = [(r, rho) for r in config["ratios"] for rho in config["correlations"]]
    turns = [(entry, rho) for rho in TURNS for entry in config["entries"]]
    w0 = [_pair(SCALE, SCALE, rho) for _, rho in grid]
    w0 += [_pair(entry, ENTRY, rho) for entry, rho in turns]
    moments = [np.diag([1.0, r]) for r, _ in grid] + [np.diag([1.0, WEAK])] * len(turns)
    measured = half_times(np.stack(w0), np.stack(moments), **BATCH)
    predicted = np.array([clocks(w, a) for w, a in zip(w0, moments, strict=True)])
    shape, n = (len(config["ratios"]), len(config["correlations"]), 2), len(grid)
    return {
        "grid": measured[:n].reshape(shape),
        "grid_clock": predicted[:n].reshape(shape),
        "turn": measured[n:].reshape(len(TURNS), -1, 2),
        "turn_clock": predicted[n:].reshape(len(TURNS), -1, 2),
    }


def _settings(config: Config) -> Arrays:
    """Return measured half times, clocks, naive clocks and 1/a, concepts as they are learned."""
    settings = list(SETTINGS.values())
    moments = [
        np.linalg.matrix_power(setting.second_moment, p) for setting in settings for p in POWERS
    ]
    w0 = [setting.w0 for setting in settings for _ in POWERS]
    padded = (
        np.stack([np.pad(m, (0, MOST - len(m))) for m in matrices]) for matrices in (w0, moments)
    )
    rows = np.full((len(w0), 4, MOST), np.nan)
    for row, w, a, half in zip(rows, w0, moments, half_times(*padded, **BATCH), strict=True):
        clock = learning_clocks(w, a)
        # The weakest coordinate of the first setting is no concept: hardly any signal.
        order = clock.order[clock.signals > 1e-4 * clock.signals.max()]
        n = len(order)
        naive = np.log(1 / np.diag(w)[order]) / (2 * clock.signals[:n])
        row[:, :n] = half[order], clock.times[:n], naive, 1 / clock.signals[:n]
    return {"published": rows.reshape(len(settings), len(POWERS), 4, MOST)}


def _runs(config: Config) -> Arrays:
    w0 = np.stack([_pair(SCALE, SCALE, rho) for rho in RUNS])
    moments = np.stack([np.diag(SIGNALS)] * len(RUNS))
    parts = [integrate(w0, moments, t, **BATCH) for t in TIMES.reshape(-1, RECORDS)]
    states = np.concatenate(parts, axis=1)
    majors = np.diagonal(states, axis1=2, axis2=3)
    return {"run": np.array([learning_times(TIMES, major) for major in majors])}


def gather(cells: Cells) -> xr.Dataset:
    turn, grid = "turn_correlation entry concept", "ratio correlation concept"
    return layout(
        cells,
        {
            "grid": grid, "grid_clock": grid, "turn": turn, "turn_clock": turn,
            "published": "setting power what place", "run": "run_correlation concept",
        },
        coords={
            "ratio": cells[0][0]["ratios"], "correlation": cells[0][0]["correlations"],
            "concept": ["strong", "weak"], "turn_correlation": list(TURNS),
            "entry": cells[0][0]["entries"], "setting": list(SETTINGS), "power": list(POWERS),
            "what": ["flow", "clock", "naive", "apart"], "run_correlation": list(RUNS),
        },
        labels={"entry": "initial entry of the strong", "turn": "half learned (paper time)"},
    )  # fmt: skip


def turning_entry() -> float:
    """Return the strong entry w at which ln(1/w - 1)/a of both concepts agree."""
    return float(1 / (1 + np.exp(np.log(1 / ENTRY - 1) / WEAK)))


def numbers(data: xr.Dataset) -> dict[str, float]:
    small = np.abs(data.grid_clock / data.grid - 1).sel(ratio=slice(0, 0.4))
    pace = 2 * SIGNALS[1]
    delays = data.run.sel(concept="weak") - np.log(1 / SCALE - 1) / pace
    predicted = -np.log1p(-(data.run_correlation**2)) / pace
    flow = data.published.sel(what="flow")
    ordered = ~(flow.diff("place") < 0).any("place").values.ravel()
    strong_first = data.grid.sel(concept="strong") < data.grid.sel(concept="weak")
    # The logarithm of the strong entry at which both concepts are half learned at once.
    leads, entries = data.turn.diff("concept")[..., 0].values, np.log10(data.entry.values)
    turned = np.array([np.interp(0.0, lead, entries) for lead in leads])
    return {
        "clock_error": float(small.max()),
        "correlation": RUNS[1],
        "delay": float(delays[1]),
        "delay_error": float(np.abs(delays / predicted - 1).max()),
        "in_order": float(np.append(strong_first, ordered).mean()),
        "turning_error": float(np.abs(turned - np.log10(turning_entry())).max()),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AA;BC", 6.6, height_ratios=[1, 1.1])
    _draw_map(axes["A"], data)
    _draw_clocks(axes["B"], data)
    rho = TURNS[-1]
    times = data.sel(turn_correlation=rho)
    series(
        axes["C"], "entry", by="concept", theory=times.turn_clock, measured=times.turn,
        names={"strong": "strong concept", "weak": "weak concept"},
        words={"theory": "predicted", "measured": "measured"},
    )  # fmt: skip
    axes["C"].axvline(turning_entry(), color=QUIET, linewidth=1, zorder=0)
    axes["C"].set(xscale="log", title=f"Order of learning, ρ = {rho:g}", ylim=(0, 8.5))
    return key(drawn, 3)


def _draw_map(ax: Axes, data: xr.Dataset) -> None:
    x, y = data.ratio.values, data.correlation.values
    flow, clock = (times.sel(concept="weak").values.T for times in (data.grid, data.grid_clock))
    levels = [5, 7, 10, 20, 40]
    mesh = ax.pcolormesh(x, y, np.log10(flow), shading="nearest", rasterized=True)
    assert ax.figure is not None
    bar = ax.figure.colorbar(mesh, ax=ax, label="log10 of the time")
    bar.outline.set_visible(False)  # type: ignore[operator]
    contours = ax.contour(x, y, flow, levels=levels, colors="white", linewidths=2.2)
    ax.contour(x, y, clock, levels=levels, colors="#E69F00", linewidths=1.4, linestyles="--")
    ax.clabel(contours, fmt="%g", fontsize=8)
    ax.set(title="When the weak concept is half learned (paper time)")
    ax.set(xlabel="weak / strong signal", ylabel="correlation of rows, ρ")


def _draw_clocks(ax: Axes, data: xr.Dataset) -> None:
    ends = np.array([0.15, 250.0])
    ax.plot(ends, ends, color=QUIET, linewidth=1)
    small = data.isel(ratio=slice(1, None, 4)).sel(concept="weak")
    rows = data.published.transpose("what", ...).values.reshape(4, -1)
    for i, x, y, label in (
        (3, small.grid.values.ravel(), small.grid_clock.values.ravel(), "upper panel"),
        (6, rows[0], rows[2], "entry instead of pivot"),
        (4, rows[0], rows[1], "published settings"),
    ):
        colour = COLOURS[i % len(COLOURS)]
        filled = {"markersize": 4.5, "markeredgewidth": 0.6, "markeredgecolor": "white"}
        ax.plot(x, y, **look(i, line=False, markerfacecolor=colour, **filled), label=label)
    ax.set(xscale="log", yscale="log", title="Times of all concepts", xlim=ends, ylim=ends)
    ax.set(xlabel="measured (paper time)", ylabel="predicted")
