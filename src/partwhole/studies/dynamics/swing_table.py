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
from partwhole.flows.two_concepts import SwingForecast, minor_peak, swing_forecast
from partwhole.measures.extrema import extrema
from partwhole.measures.learning import learning_times
from partwhole.studies import Arrays, Cells, Claim, Config
from partwhole.studies import _plots as plots
from partwhole.studies.dynamics import _random_starts
from partwhole.studies.dynamics._random_starts import LAWS, QUANTITIES, WIDTHS, starts
from partwhole.studies.dynamics.drawing import heat

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
    "dashes: where the formulas put its end; circles: tabulated points. Bottom left: the error "
    "over time for four correlations ρ of the initial rows; triangles: its turns as forecast "
    "without integrating. Bottom right: the swing against the initial scale ω, for three ratios r "
    "of the weak to the strong signal; lines have the slopes that theory gives."
)
REVISION = 1
BUDGET = 5.0

RATIOS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)
SCALES = (0.001, 0.01, 0.1)
CORRELATIONS = (0.3, 0.7, 0.95, 0.999)
# Relative amplitudes integrated with a fixed step, for (correlation, scale): one for each ratio.
TABLE = {
    (0.3, 0.1): (0.1492, 0.0413, 0, 0, 0, 0, 0),
    (0.3, 0.001): (0.0279, 0.0187, 0.0034, 0, 0, 0, 0),
    (0.7, 0.1): (0.5056, 0.3118, 0.1039, 0.0147, 0, 0, 0),
    (0.7, 0.01): (0.2441, 0.1763, 0.0834, 0.0178, 0, 0, 0),
    (0.7, 0.001): (0.0803, 0.0675, 0.0470, 0.0201, 0, 0, 0),
    (0.95, 0.1): (0.8054, 0.6504, 0.4067, 0.2286, 0.1107, 0.0414, 0),
    (0.95, 0.01): (0.3650, 0.3091, 0.2444, 0.1739, 0.1012, 0.0398, 0),
    (0.999, 0.1): (0.9081, 0.8364, 0.7411, 0.6270, 0.4840, 0.3328, 0.0957),
    (0.999, 0.01): (0.3934, 0.3534, 0.3508, 0.3551, 0.3357, 0.2848, 0.1185),
}
SINGLE = ((0.7, 0.1, 0.05), (0.7, 0.01, 0.2), (0.95, 0.01, 0.3), (0.999, 0.1, 0.5))
SAME = 0.9999  # rows that are nearly alike
SEEN = 1e-3  # of the plateau: swings above it are shown as swings
MAPPED = (0.1, 0.001)  # the initial scales of the two maps
# As many as in the table, so that they are compiled once.
SMALL = ((0.1, 0.2, 0.3), tuple(10.0**-k for k in range(3, 10)), (0.3, 0.7, 0.95, SAME))
# Strong mean, initial scale, correlation; the weak mean is 1 and the deviations are .05.
RUNS = (
    *((2.0, 1e-3, rho) for rho in (-0.5, 0.0, 0.5, 0.9, 0.99)),
    (3.0, 1e-1, 0.5),
    (3.0, 1e-2, 0.5),
    (3.0, 1e-3, 0.5),
    (3.0, 1e-4, 0.5),
    (2.0, 1e-2, 0.5),
    (1.5, 1e-3, 0.5),
)
# For mean 2 and scale 1e-3: correlation, then time and error at the minimum and the maximum.
TURNS = {
    0.5: (2.535, 0.453752, 3.225, 0.458303),
    0.9: (2.405, 0.426489, 4.335, 0.467114),
    0.99: (2.390, 0.420320, 5.660, 0.486456),
}
TIMES = np.linspace(0.0, 16.0, 3201)
STARTS = ("ratio", "scale", "correlation")
READ = ("strong", "peak time", "peak", "weak", "least time", "least", "most time", "most")


def _cells(points: int, draws: int) -> list[Config]:
    grid = {
        "ratios": np.linspace(0.02, 0.72, points).round(4).tolist(),
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
    "quick": _cells(22, 400_000),
    "laptop": _cells(43, 2_000_000),
    "paper": _cells(85, 8_000_000),
}


def cell(config: Config) -> Arrays:
    parts = {"table": _table, "small": _small, "map": _map, "runs": _runs, "starts": _starts}
    return parts[config["part"]](config)


def _table(config: Config) -> Arrays:
    asked = (np.array(RATIOS), np.array(SCALES), np.array(CORRELATIONS))
    opposed = swing_diagram(np.array(RATIOS), np.array(SCALES), np.array([-0.9, -0.5, -0.1, 0.0]))
    return {
        "table": swing_diagram(*asked).amplitude.values,
        "formula": swing_diagram(*asked, method="formula").amplitude.values,
        "opposed": opposed.amplitude.values,
        "rises": np.array(
            [[[_rise(r, w, rho) for rho in CORRELATIONS] for w in SCALES] for r in RATIOS]
        ),
    }


def _small(config: Config) -> Arrays:
    ratios, scales, correlations = (np.array(each) for each in SMALL)
    return {"small": swing_diagram(ratios, scales, correlations).amplitude.values}


def _map(config: Config) -> Arrays:
    asked = np.array(config["ratios"]), np.array(MAPPED), np.array(config["correlations"])
    edge = [[_edge(ratio, scale) for ratio in config["ratios"]] for scale in MAPPED]
    return {"map": swing_diagram(*asked).amplitude.values, "edge": np.array(edge)}


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


def _start(run: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the initial matrix, the second moment and the means of a run."""
    strong, scale, rho = run
    w0 = scale * np.array([[1.0, rho], [rho, 1.0]])
    means = np.array([strong, 1.0])
    return w0, np.diag(means**2 / 2 + 0.05**2), means


def _starts(config: Config) -> Arrays:
    return {"starts": starts(config["law"], config["draws"], config["seed"])}


def _runs(config: Config) -> Arrays:
    starts = [_start(run) for run in RUNS]
    path = tied_flow(
        np.stack([w0 for w0, _, _ in starts]), np.stack([a for _, a, _ in starts]), TIMES
    )
    read = np.full((len(RUNS), len(READ)), np.nan)
    losses, turns = [], []
    for row, states, (_, _, means) in zip(read, path.states, starts, strict=True):
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
    return [
        *_on_the_table(data),
        *_on_conditions(data),
        *_on_correlation(data),
        *_on_forecasts(data),
        *_random_starts.claims(data.starts, data.attrs["draws"]),
    ]


def _here(statement: str, reference: Real, found: Real, tolerance: Real, **more: Any) -> Claim:
    return Claim(statement, "derived here", reference, found, tolerance, **more)


def _on_the_table(data: xr.Dataset) -> list[Claim]:
    found = []
    for (rho, scale), told in TABLE.items():
        row = data.table.sel(correlation=rho, scale=scale).values
        found.append(
            _here(
                f"Swings tabulated for correlation {rho:g} and initial scale {scale:g}, at 7 "
                "ratios of the signals: largest difference from the flow.",
                0.0,
                float(np.abs(row - told).max()),
                0.002,
                relation="at most",
            )
        )
    for rho, scale, ratio in SINGLE:
        told = TABLE[rho, scale][RATIOS.index(ratio)]
        found.append(
            _here(
                f"Swing at correlation {rho:g}, initial scale {scale:g} and a weak signal of "
                f"{ratio:g} times the strong, in units of the plateau.",
                told,
                float(data.table.sel(correlation=rho, scale=scale, ratio=ratio)),
                0.002,
            )
        )
    small = {"scale": [0.001, 0.01], "ratio": [0.05, 0.1, 0.2, 0.3]}
    apart = np.abs(data.formula - data.table).sel(small)
    found.append(
        _here(
            "The closed form gives the swing within 4 % of the plateau for initial scales up to "
            ".01 and ratios up to .3: largest difference from the flow.",
            0.0,
            float(apart.max()),
            0.04,
            relation="at most",
        )
    )
    return found


def _on_conditions(data: xr.Dataset) -> list[Claim]:
    corner = data.small.sel(small_ratio=0.3, small_correlation=0.3)
    found = [
        _here(
            "Rows of the initial matrix that are uncorrelated or opposed give no swing: the "
            "largest of 84 settings with correlations from -.9 to 0.",
            0.0,
            float(data.opposed.max()),
            0.0,
        ),
        _here(
            "The error rises when the forecast time of its minimum comes before that of its "
            "maximum: share of 84 tabulated settings in which the flow agrees.",
            0.95,
            float((data.rises == (data.table > 0)).mean()),
            0.0,
            relation="at least",
            note="The formulas are for small initial entries, and err at the boundary.",
        ),
        _here(
            "A smaller start can make a swing appear: at ratio .3 and correlation .3 there is one "
            "from an initial scale of 1e-6.",
            1e-5,
            float(corner.sel(small_scale=1e-6, method="nearest")),
            0.0,
            relation="at least",
            note="From .001 there is none. Any positive correlation and unequal signals give one "
            "in the end, though a small one.",
        ),
    ]
    for ratio in SMALL[0]:
        low, high = data.small.sel(small_ratio=ratio, small_correlation=SAME).values[[-1, -2]]
        theory = 4 * (1 - ratio) / (7 + ratio)
        found.append(
            _here(
                f"As the initial scale ω vanishes the swing vanishes like ω to the power "
                f"4 (1 - r) / (7 + r), at r = {ratio:g}, correlation {SAME:g}: slope between "
                "ω = 1e-9 and 1e-8.",
                theory,
                float(np.log10(high / low)),
                0.01 * theory,
                note="The entry that causes it shrinks more slowly, by (1 - r) / 2; by the time of "
                "the minimum it has already decayed.",
            )
        )
    weak, strong = _start((3.0, 1e-3, 0.5))[1].diagonal()[::-1]
    heights = data.read.sel(reading="peak").values
    rows = [RUNS.index((3.0, scale, 0.5)) for scale in (1e-4, 1e-3)]
    found.append(
        _here(
            "The entry between the concepts, at its peak, shrinks like ω to the power (1 - r) / 2: "
            "slope between ω = 1e-4 and 1e-3, means 3 and 1, correlation .5.",
            (1 - weak / strong) / 2,
            float(np.log10(heights[rows[1]] / heights[rows[0]])),
            0.005,
        )
    )
    return found


def _on_correlation(data: xr.Dataset) -> list[Claim]:
    where = "means 2 and 1, initial scale .001"
    found = []
    for rho in (-0.5, 0.0):
        run = RUNS.index((2.0, 1e-3, rho))
        found.append(
            _here(
                f"With correlation {rho:g} the error never turns: number of turns, {where}.",
                0,
                int(data.turns[run]),
                0,
            )
        )
    for rho, (_, least, time, most) in TURNS.items():
        row = data.read[RUNS.index((2.0, 1e-3, rho))]
        found += [
            _here(
                f"With correlation {rho:g} the error is largest again at this paper time, {where}.",
                time,
                float(row.sel(reading="most time")),
                0.01,
            ),
            _here(
                f"With correlation {rho:g} the error rises by this much, {where}.",
                most - least,
                float(row.sel(reading="most") - row.sel(reading="least")),
                1e-4,
            ),
        ]
    return found


def _forecast(run: tuple[float, float, float]) -> SwingForecast:
    return swing_forecast(*_start(run))


def _on_forecasts(data: xr.Dataset) -> list[Claim]:
    run = (3.0, 1e-3, 0.5)
    told, row = _forecast(run), data.read[RUNS.index(run)]
    where = "means 3 and 1, initial scale .001, correlation .5"
    peak = minor_peak(*_start(run)[:2])
    numbers = {
        "The strong concept is half learned": ("strong", told.strong_half_time, 0.007),
        "The weak concept is half learned": ("weak", told.weak_half_time, 0.007),
        "The entry between the concepts peaks": ("peak time", peak.time, 0.007),
        "The error turns up": ("least time", told.minimum_time, 0.05),
        "The error turns down again": ("most time", told.maximum_time, 0.007),
    }
    found = [
        _here(
            f"{what} at this paper time by the formula; found by integrating, {where}.",
            formula,
            float(row.sel(reading=reading)),
            within * formula,
        )
        for what, (reading, formula, within) in numbers.items()
    ]
    found += [
        _here(
            f"The error at its second maximum by the formula; found by integrating, {where}.",
            told.maximum_loss,
            float(row.sel(reading="most")),
            0.007 * told.maximum_loss,
        ),
        _here(
            "The formulas are for small starts: their error in the time of the maximum shrinks at "
            "each step from an initial scale of .1 to .0001 (number of steps out of 3).",
            3,
            int((np.diff(_misses(data)) < 0).sum()),
            0,
        ),
    ]
    merged = (1.5, 1e-3, 0.5)
    found.append(
        _here(
            "Means 1.5 and 1 are too close for a swing at correlation .5, and the formulas say so: "
            "turns of the error, against 0 where the forecast has none.",
            2 * _forecast(merged).occurs,
            int(data.turns[RUNS.index(merged)]),
            0,
        )
    )
    return found


def _misses(data: xr.Dataset) -> np.ndarray:
    runs = [(3.0, scale, 0.5) for scale in (1e-1, 1e-2, 1e-3, 1e-4)]
    times = data.read.sel(reading="most time").values
    return np.array([abs(_forecast(run).maximum_time / times[RUNS.index(run)] - 1) for run in runs])


def figure(data: xr.Dataset) -> Figure:
    drawn = Figure(figsize=(plots.WIDTH, 5.8), layout="constrained")
    parts: Any = drawn.subfigures(2, 1, hspace=0.06)
    top, bottom = parts
    maps: Any = top.subplots(1, 2, sharey=True)
    curves: Any = bottom.subplots(1, 2)
    for ax, scale, highest in zip(maps, MAPPED, (0.8, 0.2), strict=True):
        _draw_map(ax, data, scale, highest)
    maps[0].set_ylabel("correlation of rows, ρ")
    _draw_runs(curves[0], data)
    _draw_small(curves[1], data)
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
    ax.set(title=f"Initial entries of {scale:g}", xlabel="weak / strong signal")
    ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), xticks=[0.2, 0.4, 0.6])
    plots.name(ax, 0.42, -0.14, "no swing", "white", ha="center")


def _draw_runs(ax: Axes, data: xr.Dataset) -> None:
    places = {-0.5: (2.65, 0.56), 0.5: (3.05, 0.405), 0.9: (7.0, 0.36), 0.99: (6.25, 0.42)}
    for i, (rho, place) in enumerate(places.items()):
        run = (2.0, 1e-3, rho)
        ax.plot(TIMES, data.loss[RUNS.index(run)], **plots.look(i))
        told = _forecast(run)
        for time, value, marker in (
            (told.minimum_time, told.minimum_loss, "v"),
            (told.maximum_time, told.maximum_loss, "^"),
        ):
            if told.occurs:
                ax.plot([time], [value], **plots.look(i, line=False, marker=marker), zorder=3)
        plots.name(ax, *place, f"ρ = {rho:g}", plots.COLOURS[i])
    ax.axhline(0.5, color=plots.QUIET, linewidth=0.8, linestyle=":", zorder=0)
    plots.name(ax, 8.4, 0.515, "plateau", plots.QUIET, ha="right")
    ax.set(title="Means 2 and 1, entries of .001", xlabel="paper time", ylabel="error")
    ax.set(xlim=(1.7, 8.5), ylim=(0.3, 0.62))


def _draw_small(ax: Axes, data: xr.Dataset) -> None:
    scales = data.small_scale.values
    for i, ratio in enumerate(SMALL[0]):
        found = data.small.sel(small_ratio=ratio, small_correlation=SAME).values
        slope = 4 * (1 - ratio) / (7 + ratio)
        ax.plot(scales, found[-1] * (scales / scales[-1]) ** slope, **plots.look(i))
        ax.plot(scales, found, **plots.look(i, line=False))
        plots.name(ax, 6e-10, found[-1], f"r = {ratio:g}", plots.COLOURS[i], ha="right")
    ax.set(xscale="log", yscale="log", title=f"Vanishing entries, ρ = {SAME:g}", xlim=(5e-13, 3e-3))
    ax.set(xlabel="initial scale ω", ylabel="swing / plateau", xticks=[1e-9, 1e-6, 1e-3])
