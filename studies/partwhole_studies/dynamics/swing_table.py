"""Where the error on an unseen combination swings back: signals, initial scale and correlation."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole._types import Real
from partwhole.flows import tied_flow
from partwhole.flows.swing_diagram import swing_diagram
from partwhole.flows.two_concepts import swing_forecast
from partwhole.measures.extrema import extrema
from partwhole.measures.learning import learning_times
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole_studies.dynamics import _swing_table_numbers as numbers
from partwhole_studies.dynamics._random_starts import LAWS, QUANTITIES, WIDTHS, starts
from partwhole_studies.dynamics._swing_table_numbers import (
    CORRELATIONS,
    DIGIT,
    RATIOS,
    RUNS,
    SAME,
    SCALES,
    SMALL,
    TABLE,
    forecast,
    start,
    tabulated,
)
from partwhole_studies.dynamics.drawing import heat

QUESTION = (
    "While a tied two-layer network learns two concepts, when does its error on their unseen "
    "combination rise again before it falls for good, and how far?"
)
SOURCE = (
    "Yang et al. (ICLR 2025), section 4 and appendix E.2; the conditions and formulas are derived"
    " here"
)
ANSWER = (
    "When one signal is well below the other and the rows of the initial matrix point the same "
    "way: then the larger its entries, the further, though at the edge only small ones rise at "
    "all. With unrelated or opposed rows it only falls."
)
CAPTION = (
    "Top: how far the error swings back, in units of the plateau at which only the strong concept "
    "is known, for large and small initial entries. White: where it falls below .001; orange "
    "dashes: where the formulas put its end; circles: tabulated points. Middle left: the error "
    "over time for four correlations ρ of the initial rows; triangles: its turns as forecast "
    "without integrating. Middle right: the swing against the initial scale ω, for three ratios r "
    "of the weak to the strong signal; lines have the slopes that theory gives. Bottom: the "
    "tabulated swings as found here; where a number told before differs in more than its last "
    "digit it stands beneath in brackets, on orange."
)

SEEN = 1e-3  # of the plateau: swings above it are shown as swings
MAPPED = (0.1, 0.001)  # the initial scales of the two maps
STARTS = ("ratio", "scale", "correlation")
READ = ("strong", "peak time", "peak", "weak", "least time", "least", "most time", "most")
# Flows, and times at which they are read, in one call: of one size they are compiled once.
FLOWS, COUNT = 84, 800
TIMES = 0.005 * np.arange(4 * COUNT)  # read in four calls


def _cells(ratios: np.ndarray, points: int, draws: int) -> list[Config]:
    grid = {
        "ratios": ratios.round(4).tolist(),
        "correlations": np.linspace(-0.28, 0.98, points).round(4).tolist(),
    }
    return [
        {"part": "table"},
        {"part": "small"},
        {"part": "map", **grid},
        {"part": "runs"},
        *({"part": "starts", "law": law, "draws": draws, "seed": 0} for law in LAWS),
    ]


PRESETS: dict[str, list[Config]] = {
    # With two scales and two correlations, 21 ratios are the flows of a call; from a ratio of .02
    # on they would be read at more times.
    "quick": _cells(np.linspace(0.025, 0.725, 21), 22, 400_000),
    "laptop": _cells(np.linspace(0.02, 0.72, 43), 43, 2_000_000),
    "paper": _cells(np.linspace(0.02, 0.72, 85), 85, 8_000_000),
}


def cell(config: Config) -> Arrays:
    parts = {"table": _table, "small": _small, "map": _map, "runs": _runs, "starts": _starts}
    return parts[config["part"]](config)


def _table(config: Config) -> Arrays:
    asked = (np.array(RATIOS), np.array(SCALES), np.array(CORRELATIONS))
    opposed = swing_diagram(np.array(RATIOS), np.array(SCALES), np.array([-0.9, -0.5, -0.1, 0.0]))
    return {
        "table": _closely(*asked),
        "formula": swing_diagram(*asked, method="formula").amplitude.values,
        "opposed": opposed.amplitude.values,
        "rises": np.array(
            [[[_rise(r, w, rho) for rho in CORRELATIONS] for w in SCALES] for r in RATIOS]
        ),
    }


def _closely(ratios: np.ndarray, scales: np.ndarray, correlations: np.ndarray) -> np.ndarray:
    """Return the swings read a second time, more closely, about the turns found at first."""
    asked = ratios, scales, correlations
    first = swing_diagram(*asked)
    turns = np.concatenate([first.minimum_time, first.maximum_time], axis=None)
    turns = turns[np.isfinite(turns)]
    # Neighbouring times differ by 1.2 % at first: their spacing is parted evenly.
    each = (COUNT - 1) // len(turns)
    near = np.unique(turns[:, None] * np.linspace(0.988, 1.012, each))
    more = near[-1] * np.linspace(1.01, 1.1, COUNT - 1 - len(near))
    second = swing_diagram(*asked, times=np.concatenate([[0.0], near, more]))
    return second.amplitude.values


def _small(config: Config) -> Arrays:
    ratios, scales, correlations = (np.array(each) for each in SMALL)
    return {"small": swing_diagram(ratios, scales, correlations).amplitude.values}


def _map(config: Config) -> Arrays:
    ratios, scales, rho = (np.array(v) for v in (config["ratios"], MAPPED, config["correlations"]))
    each = max(1, FLOWS // (len(ratios) * len(scales)))
    found = [
        swing_diagram(ratios, scales, rho[i : i + each]).amplitude.values
        for i in range(0, len(rho), each)
    ]
    edge = [[_edge(ratio, scale) for ratio in config["ratios"]] for scale in MAPPED]
    return {"map": np.concatenate(found, axis=2), "edge": np.array(edge)}


def _edge(ratio: float, scale: float) -> float:
    """Return the correlation above which the forecast has the error rise; 1 if there is none."""
    low, high = 0.0, 1.0
    for _ in range(9):
        middle = (low + high) / 2
        low, high = (low, middle) if _rise(ratio, scale, middle) else (middle, high)
    return high


def _rise(ratio: float, scale: float, rho: float) -> bool:
    """Return whether the forecast has the error rise, without integrating."""
    w0 = scale * np.array([[1.0, rho], [rho, 1.0]])
    return swing_forecast(w0, np.diag([1.0, ratio]), np.array([1.0, np.sqrt(ratio)])).occurs


def _starts(config: Config) -> Arrays:
    return {"starts": starts(config["law"], config["draws"], config["seed"])}


def _runs(config: Config) -> Arrays:
    starts = [start(run) for run in RUNS]
    # Repeated, to be as many as elsewhere.
    w0, a = (np.resize([each[i] for each in starts], (FLOWS, 2, 2)) for i in (0, 1))
    parts = [tied_flow(w0, a, times).states[: len(RUNS)] for times in TIMES.reshape(-1, COUNT)]
    read = np.full((len(RUNS), len(READ)), np.nan)
    losses, turns = [], []
    for row, states, (_, _, means) in zip(read, np.concatenate(parts, axis=1), starts, strict=True):
        loss = 0.5 * ((states @ means - means) ** 2).sum(axis=1)
        half = learning_times(TIMES, np.diagonal(states, axis1=1, axis2=2).copy())
        peak = extrema(np.abs(states[:, 0, 1]), TIMES)
        turn = extrema(loss, TIMES)
        row[[0, 3]] = half
        if len(peak):
            row[1:3] = peak.times[0], peak.values[0]
        if len(turn) == 2:
            row[4:] = turn.times[0], turn.values[0], turn.times[1], turn.values[1]
        losses.append(loss)
        turns.append(len(turn))
    return {"read": read, "loss": np.array(losses), "turns": np.array(turns)}


def gather(cells: Cells) -> xr.Dataset:
    by = {(config["part"], config.get("law")): (config, found) for config, found in cells}
    table, small, run = (by[part, None][1] for part in ("table", "small", "runs"))
    config, mapped = by["map", None]
    drawn = [by["starts", law][1]["starts"] for law in LAWS]
    amplitude = {"long_name": "rise of the error / error without the weak concept", "units": "1"}
    data = xr.Dataset(
        {
            "table": (STARTS, table["table"], amplitude),
            "formula": (STARTS, table["formula"], amplitude),
            "rises": (STARTS, table["rises"]),
            "opposed": (("ratio", "scale", "opposed_correlation"), table["opposed"], amplitude),
            "small": (
                ("small_ratio", "small_scale", "small_correlation"),
                small["small"],
                amplitude,
            ),
            "map": (("map_ratio", "map_scale", "map_correlation"), mapped["map"], amplitude),
            "edge": (("map_scale", "map_ratio"), mapped["edge"]),
            "read": (("run", "reading"), run["read"]),
            "loss": (("run", "time"), run["loss"], {"long_name": "error on the combination"}),
            "turns": ("run", run["turns"]),
            "starts": (("law", "width", "quantity", "statistic"), np.stack(drawn)),
        },
        coords={
            "ratio": list(RATIOS),
            "scale": list(SCALES),
            "correlation": list(CORRELATIONS),
            "opposed_correlation": [-0.9, -0.5, -0.1, 0.0],
            "small_ratio": list(SMALL[0]),
            "small_scale": list(SMALL[1]),
            "small_correlation": list(SMALL[2]),
            "map_ratio": config["ratios"],
            "map_scale": list(MAPPED),
            "map_correlation": config["correlations"],
            "reading": list(READ),
            "run": [f"strong mean {m:g}, scale {w:g}, correlation {c:g}" for m, w, c in RUNS],
            "time": ("time", TIMES, {"units": "paper time"}),
            "law": list(LAWS),
            "width": list(WIDTHS),
            "quantity": list(QUANTITIES),
            "statistic": ["mean", "standard error"],
        },
    )
    draws = by["starts", LAWS[0]][0]["draws"]
    return data.assign_attrs(draws=draws)


def claims(data: xr.Dataset) -> list[Claim]:
    return numbers.claims(data)


def figure(data: xr.Dataset) -> Figure:
    drawn = Figure(figsize=(plots.WIDTH, 9.2), layout="constrained")
    parts: Any = drawn.subfigures(3, 1, hspace=0.04, height_ratios=(2.9, 2.9, 3.4))
    top, bottom, last = parts
    maps: Any = top.subplots(1, 2, sharey=True)
    curves: Any = bottom.subplots(1, 2)
    for ax, scale, highest in zip(maps, MAPPED, (0.8, 0.2), strict=True):
        _draw_map(ax, data, scale, highest)
    maps[0].set_ylabel("correlation of rows, ρ")
    _draw_runs(curves[0], data)
    _draw_small(curves[1], data)
    _draw_table(last.subplots(), data)
    return drawn


def _draw_map(ax: Axes, data: xr.Dataset, scale: float, highest: float) -> None:
    values = data["map"].sel(map_scale=scale).transpose("map_correlation", "map_ratio").values
    x, y = data.map_ratio.values, data.map_correlation.values
    heat(ax, x, y, values, limits=(0, highest), label="swing / plateau")
    ax.contour(x, y, values, levels=[SEEN], colors="white", linewidths=1.6)
    edge = data.edge.sel(map_scale=scale).values
    ax.plot(x[edge < 1], edge[edge < 1], color="#E69F00", linestyle=(0, (4, 1.5)), linewidth=1.6)
    for rho, tabled in TABLE:
        if tabled == scale and rho < y[-1]:
            style = {"color": "white", "markersize": 3.2, "markerfacecolor": "none"}
            ax.plot(RATIOS, [rho] * len(RATIOS), "o", **style)
    ax.set(title=f"Initial entries of {_short(scale)}", xlabel="weak / strong signal")
    ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), xticks=[0.2, 0.4, 0.6])
    plots.name(ax, 0.42, -0.14, "no swing", "white", ha="center")


def _draw_runs(ax: Axes, data: xr.Dataset) -> None:
    places = {-0.5: (2.65, 0.56), 0.5: (3.05, 0.405), 0.9: (7.0, 0.36), 0.99: (6.25, 0.42)}
    for i, (rho, place) in enumerate(places.items()):
        run = (2.0, 1e-3, rho)
        ax.plot(TIMES, data.loss[RUNS.index(run)], **plots.look(i))
        told = forecast(run)
        for time, value, marker in (
            (told.minimum_time, told.minimum_loss, "v"),
            (told.maximum_time, told.maximum_loss, "^"),
        ):
            if told.occurs:
                ax.plot([time], [value], **plots.look(i, line=False, marker=marker), zorder=3)
        plots.name(ax, *place, f"ρ = {rho:g}", plots.COLOURS[i])
    ax.axhline(0.5, color=plots.QUIET, linewidth=0.8, linestyle=":", zorder=0)
    plots.name(ax, 8.8, 0.515, "plateau", plots.QUIET, ha="right")
    ax.set(title="Means 2 and 1, entries of .001", xlabel="paper time", ylabel="error")
    ax.set(xlim=(1.7, 8.9), ylim=(0.3, 0.62))


def _draw_small(ax: Axes, data: xr.Dataset) -> None:
    scales = data.small_scale.values
    for i, ratio in enumerate(SMALL[0]):
        found = data.small.sel(small_ratio=ratio, small_correlation=SAME).values
        slope = 4 * (1 - ratio) / (7 + ratio)
        ax.plot(scales, found[-1] * (scales / scales[-1]) ** slope, **plots.look(i))
        ax.plot(scales, found, **plots.look(i, line=False))
        plots.name(ax, 6e-10, found[-1], f"r = {ratio:g}", plots.COLOURS[i], ha="right")
    ax.set(
        xscale="log", yscale="log", title=f"Small entries, ρ = {_short(SAME)}", xlim=(5e-13, 3e-3)
    )
    ax.set(xlabel="initial scale ω", ylabel="swing / plateau", xticks=[1e-9, 1e-6, 1e-3])


def _draw_table(ax: Axes, data: xr.Dataset) -> None:
    found, told = tabulated(data)
    rows, columns = (np.arange(n, dtype=float) for n in found.shape)
    heat(ax, columns, rows, found, limits=(0, 1), label="swing / plateau")
    for i, j in np.ndindex(found.shape):
        value = float(found[i, j])
        ink = "black" if value > 0.5 else "white"
        text = _cell_text(value)
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "color": ink}
        if abs(value - told[i, j]) > DIGIT:
            text += f"\n({_cell_text(float(told[i, j]))})"
            style |= {"color": "black", "fontsize": 6.5, "bbox": {"facecolor": "#E69F00", "pad": 1}}
        ax.text(j, i, text, **style)
    names = [f"{_short(rho)}, {_short(scale)}" for rho, scale in TABLE]
    ax.set_yticks(rows, names)
    ax.set_xticks(columns, [_short(ratio) for ratio in RATIOS])
    ax.tick_params(length=0)
    ax.invert_yaxis()
    ax.set(
        title="Swings as tabulated", xlabel="weak / strong signal", ylabel="correlation ρ, scale ω"
    )


def _short(value: Real) -> str:
    return f"{value:g}".removeprefix("0")


def _cell_text(value: Real) -> str:
    return f"{value:.4f}".removeprefix("0") if value > 0 else "0"
