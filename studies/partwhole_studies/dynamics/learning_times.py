"""When each concept is learned: read off the initial matrix, and measured along the flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.flows import learning_clocks, tied_flow
from partwhole.measures.learning import learning_times
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole_studies.dynamics import _published
from partwhole_studies.dynamics.drawing import heat

QUESTION = (
    "When does a tied two-layer network learn each concept, can that be read off its initial "
    "matrix, and is it always the stronger signal that comes first?"
)
SOURCE = (
    "Yang et al. (ICLR 2025), section 4 and figures 5, 8, 9 and 10; the clocks are derived here"
)
ANSWER = (
    "A concept is learned at a time inverse to its signal, and out of what its initial entry holds "
    "beyond the concepts learned before it; a much larger initial entry can put a weaker signal "
    "first."
)
CAPTION = (
    "Top: when the weak of two concepts is half learned, measured (colours, white contours) and by "
    "the clock (orange dashes), for initial entries of .001. Bottom left: the clock against the "
    "flow for the published settings and some of the upper panel; triangles: with the concept's "
    "own entry in the place of the pivot. Bottom right: both concepts against the strong "
    "one's initial entry; markers: flow, lines: clocks, upright line: where the order turns."
)

SETTINGS = {
    setting.name: setting
    for setting in (
        _published.CENTRAL,
        _published.TRIPLE_CAPTION,
        _published.TRIPLE_CODE,
        _published.FAILURE,
        _published.QUADRUPLE_CAPTION,
        _published.QUADRUPLE_CODE,
    )
}
POWERS = (1, 2)
MOST = 4  # concepts of a setting
SCALE = 1e-3
# Where the order turns: the weak signal and its initial entry; the strong signal is 1.
WEAK, ENTRY = 0.6, 1e-2
TURNS = (0.0, 0.5, 0.9)
RUNS = (0.5, 0.9, 0.99)  # correlations, for means 2 and 1 and initial entries of .001
# Flows, and times at which they are read, in one call: of one size they are compiled once.
FLOWS, COUNT = 41, 800
TIMES = 0.005 * np.arange(4 * COUNT)  # read in four calls


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


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(16, 12, 17),
    "laptop": _cells(31, 23, 41),
    "paper": _cells(61, 45, 81),
}


def cell(config: Config) -> Arrays:
    parts = {"two": _two, "published": _settings, "runs": _runs}
    return parts[config["part"]](config)


def half_times(w0: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """Integrate many flows, each over its own time; return when the concepts are half learned."""
    last = np.array(
        [clocks(w, a)[np.diag(a) > 1e-4 * a.max()].max() for w, a in zip(w0, moments, strict=True)]
    )
    asked = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, COUNT - 1)])
    # A flow under c A is the flow under A at c times the pace: so each has its own horizon.
    horizon = 1.6 * last
    states = _flows(w0, moments * horizon[:, None, None], asked, rtol=1e-8, atol=1e-11)
    entries = np.diagonal(states, axis1=-2, axis2=-1)
    return np.array([learning_times(asked, each) for each in entries]) * horizon[:, None]


def _flows(w0: np.ndarray, moments: np.ndarray, times: np.ndarray, **options: Any) -> np.ndarray:
    """Integrate many flows, in calls of one size of matrix and one number of flows."""
    n, d = w0.shape[:2]
    # What starts at 0 stays there.
    w0, moments = (np.pad(each, ((0, 0), *((0, MOST - d),) * 2)) for each in (w0, moments))
    calls = -(-n // FLOWS)
    # Repeated from the first on, to fill the last call.
    w0, moments = (np.resize(each, (calls, FLOWS, MOST, MOST)) for each in (w0, moments))
    found = [tied_flow(w, a, times, **options).states for w, a in zip(w0, moments, strict=True)]
    return np.concatenate(found)[:n, :, :d, :d]


def clocks(w0: np.ndarray, second_moment: np.ndarray) -> np.ndarray:
    """Return the clock of each concept, in the concepts' own order."""
    told = learning_clocks(w0, second_moment)
    times = np.full(len(w0), np.inf)
    times[told.order] = told.times
    return times


def clocks_by_signal(w0: np.ndarray, second_moment: np.ndarray) -> np.ndarray:
    """Return the clocks with pivots in the order of falling signals, which must be given so."""
    pivots = np.diag(np.linalg.cholesky(w0)) ** 2
    return np.log(1 / pivots - 1) / (2 * np.diag(second_moment))


def _pair(strong: float, weak: float, rho: float) -> np.ndarray:
    both = rho * np.sqrt(strong * weak)
    return np.array([[strong, both], [both, weak]])


def _two(config: Config) -> Arrays:
    grid = [(r, rho) for r in config["ratios"] for rho in config["correlations"]]
    turns = [(entry, rho) for rho in TURNS for entry in config["entries"]]
    w0 = [_pair(SCALE, SCALE, rho) for _, rho in grid]
    w0 += [_pair(entry, ENTRY, rho) for entry, rho in turns]
    moments = [np.diag([1.0, r]) for r, _ in grid] + [np.diag([1.0, WEAK])] * len(turns)
    found = half_times(np.stack(w0), np.stack(moments))
    told = np.array([clocks(w, a) for w, a in zip(w0, moments, strict=True)])
    shape = (len(config["ratios"]), len(config["correlations"]), 2)
    n = len(grid)
    return {
        "grid": found[:n].reshape(shape),
        "grid_told": told[:n].reshape(shape),
        "turn": found[n:].reshape(len(TURNS), -1, 2),
        "turn_told": told[n:].reshape(len(TURNS), -1, 2),
        "turn_signal": np.array([clocks_by_signal(w, moments[-1]) for w in w0[n:]]).reshape(
            len(TURNS), -1, 2
        ),
    }


def _settings(config: Config) -> Arrays:
    """Return measured half times, clocks, naive clocks and 1/a, concepts as they are learned."""
    own = list(SETTINGS.values())
    moments = [np.linalg.matrix_power(each.second_moment, p) for each in own for p in POWERS]
    w0 = [each.w0 for each in own for _ in POWERS]
    found = half_times(*(np.stack([_padded(m) for m in each]) for each in (w0, moments)))
    rows = np.full((len(w0), 4, MOST), np.nan)
    for row, w, a, half in zip(rows, w0, moments, found, strict=True):
        told = learning_clocks(w, a)
        # The weakest coordinate of the first setting is no concept: hardly any signal.
        order = told.order[told.signals > 1e-4 * told.signals.max()]
        n = len(order)
        pace = 2 * told.signals[:n]
        row[:, :n] = (
            half[order],
            told.times[:n],
            np.log(1 / np.diag(w)[order]) / pace,
            1 / told.signals[:n],
        )
    return {"rows": rows.reshape(len(own), len(POWERS), 4, MOST)}


def _padded(matrix: np.ndarray) -> np.ndarray:
    return np.pad(matrix, (0, MOST - len(matrix)))


def _runs(config: Config) -> Arrays:
    a = np.array([4.0, 1.0]) / 2 + 0.05**2
    w0 = np.stack([_pair(SCALE, SCALE, rho) for rho in RUNS])
    moments = np.stack([np.diag(a)] * len(RUNS))
    parts = [_flows(w0, moments, times) for times in TIMES.reshape(-1, COUNT)]
    states = np.concatenate(parts, axis=1)
    half = [learning_times(TIMES, np.diagonal(w, axis1=1, axis2=2).copy()) for w in states]
    trace = states[..., 0, 0] * a[0] + states[..., 1, 1] * a[1]
    steps = np.diff(TIMES) * (trace[:, 1:] + trace[:, :-1]) / 2
    area = np.concatenate([np.zeros((len(RUNS), 1)), np.cumsum(steps, axis=1)], axis=1)
    grown = np.linalg.slogdet(states)[1] - np.linalg.slogdet(w0)[1][:, None]
    gap = grown - 2 * TIMES * a.sum() + 2 * area
    return {"run": np.array(half), "gap": np.abs(gap).max(axis=1)}


def gather(cells: Cells) -> xr.Dataset:
    (config, two), (_, published), (_, run) = cells
    time = {"units": "paper time"}
    grid, turn = ("ratio", "correlation", "concept"), ("turn_correlation", "entry", "concept")
    return xr.Dataset(
        {
            "grid": (grid, two["grid"], time | {"long_name": "half learned, by the flow"}),
            "grid_told": (
                grid,
                two["grid_told"],
                time | {"long_name": "half learned, by the clock"},
            ),
            "turn": (turn, two["turn"], time),
            "turn_told": (turn, two["turn_told"], time),
            "turn_signal": (turn, two["turn_signal"], time),
            "published": (("setting", "power", "what", "place"), published["rows"], time),
            "run": (("run_correlation", "concept"), run["run"], time),
            "gap": ("run_correlation", run["gap"]),
        },
        coords={
            "ratio": config["ratios"],
            "correlation": config["correlations"],
            "concept": ["strong", "weak"],
            "turn_correlation": list(TURNS),
            "entry": config["entries"],
            "setting": list(SETTINGS),
            "power": list(POWERS),
            "what": ["flow", "clock", "naive", "apart"],
            "run_correlation": list(RUNS),
        },
    )


def claims(data: xr.Dataset) -> list[Claim]:
    return [*_on_clocks(data), *_on_pivots(data), *_on_settings(data), *_on_order(data)]


def _on_clocks(data: xr.Dataset) -> list[Claim]:
    apart = data.sel(ratio=slice(0, 0.4))
    miss = np.abs(apart.grid_told / apart.grid - 1)
    found = [
        Claim(
            f"The clock ln(1/p - 1)/2a tells when the {concept} concept is half learned: largest "
            "relative difference from the flow, weak signals up to .4 of the strong, entries .001.",
            "derived here",
            0.0,
            float(miss.sel(concept=concept).max()),
            0.007,
            relation="at most",
        )
        for concept in ("strong", "weak")
    ]
    weak = apart.grid.sel(concept="weak").interp(correlation=0.5)
    slope = np.polyfit(np.log(weak.ratio), np.log(weak), 1)[0]
    found += [
        Claim(
            "A concept's time is inverse to its signal: slope of its logarithm against that of the "
            "signal, correlation .5.",
            "derived here",
            -1.0,
            float(slope),
            0.007,
        ),
        Claim(
            "The determinant of W obeys ln det W = ln det W(0) + 2 t tr A - 2 ∫ tr(AW): largest "
            "gap along the flow, means 2 and 1, correlation .9.",
            "derived here",
            0.0,
            float(data.gap.sel(run_correlation=0.9)),
            2e-5,
            relation="at most",
        ),
    ]
    return found


def _on_pivots(data: xr.Dataset) -> list[Claim]:
    weak = 0.5 + 0.05**2
    naive = np.log(1 / SCALE - 1) / (2 * weak)
    found = []
    for rho in RUNS:
        half = float(data.run.sel(run_correlation=rho, concept="weak"))
        found.append(
            Claim(
                "The weak concept is later than its own entry tells by ln(1/(1 - ρ²))/2a of paper "
                f"time, within 2 % of that delay, at correlation ρ = {rho:g}, means 2 and 1 and "
                "entries of .001.",
                "derived here",
                -np.log1p(-(rho**2)) / (2 * weak),
                half - naive,
                -0.02 * np.log1p(-(rho**2)) / (2 * weak),
            )
        )
    return found


def _on_settings(data: xr.Dataset) -> list[Claim]:
    found = []
    for power in POWERS:
        with_power = "the second moment" if power == 1 else "its square"
        for name in data.setting.values:
            row = data.published.sel(setting=name, power=power)
            flow, clock, apart = (row.sel(what=what).values for what in ("flow", "clock", "apart"))
            separate = bool(np.nanmin(np.diff(clock) - apart[1:]) > 0)
            found.append(
                Claim(
                    f"The clocks ln(1/p - 1)/2a hold within 8 % for the published setting of "
                    f"{name}, trained with {with_power}: largest relative difference from the "
                    "flow.",
                    "derived here",
                    0.0,
                    float(np.nanmax(np.abs(clock / flow - 1))),
                    0.08,
                    applies=separate,
                    relation="at most",
                    note="The bound was set after seeing these settings: it sums up, it does not "
                    "test."
                    if separate
                    else "Two concepts are learned at once, less than 1/a of the later one apart.",
                )
            )
    return found


def _on_order(data: xr.Dataset) -> list[Claim]:
    flow = data.published.sel(what="flow").values
    rising = (np.diff(flow) > 0) | np.isnan(np.diff(flow))
    first = float((data.grid.sel(concept="strong") < data.grid.sel(concept="weak")).mean())
    found = [
        Claim(
            "The stronger signal is learned first: share of settings with equal initial entries in "
            f"which it is, {data.grid[..., 0].size} settings.",
            "Yang et al. (ICLR 2025), section 4",
            1.0,
            first,
            0.0,
        ),
        Claim(
            "The concepts of the published matrix figures are learned in the order of their "
            f"signals: share of {len(rising.reshape(-1, MOST - 1))} runs.",
            "Yang et al. (ICLR 2025), figures 5, 8, 9 and 10",
            1.0,
            float(rising.all(axis=-1).mean()),
            0.0,
        ),
        Claim(
            "The stronger signal is learned first even from a smaller initial entry: share of "
            f"{data.turn[..., 0].size} settings, weak signal {WEAK:g} of the strong, its entry "
            "larger by up to ten thousand times.",
            "derived here",
            1.0,
            float((data.turn.sel(concept="strong") < data.turn.sel(concept="weak")).mean()),
            0.0,
            applies=False,
            note="The paper's theorem has initial entries of like size.",
        ),
    ]
    before = data.turn.sel(concept="weak") < data.turn.sel(concept="strong")
    misses = [
        float(np.abs(told / data.turn - 1).where(before).max())
        for told in (data.turn_told, data.turn_signal)
    ]
    found.append(
        Claim(
            "Where the weak signal is first, pivots in the order of learning tell the times better "
            "than pivots in the order of the signals: largest relative difference from the flow, "
            f"{int(before.sum())} settings.",
            "derived here",
            misses[1],
            misses[0],
            0.0,
            relation="at most",
        )
    )
    for rho in TURNS:
        rule, by_pivot = turning(rho, own=True), turning(rho, own=False)
        note = ""
        if rho:
            note = (
                "Who is first grows out of its own entry. With what is left of the weak entry "
                f"beside the strong one it would turn at {np.log10(by_pivot):.2f}."
            )
        found.append(
            Claim(
                "The order turns where ln(1/w - 1)/a of both initial entries w are equal: the "
                "strong entry at which it turns is that of the rule within 17 % (logarithm to "
                f"base 10, ± .067), correlation {rho:g}, weak entry {ENTRY:g} and signal "
                f"{WEAK:g}.",
                "derived here",
                np.log10(rule),
                _turned(data, rho),
                0.02 * abs(np.log10(rule)),
                note=note,
            )
        )
    return found


def turning(rho: float, *, own: bool) -> float:
    """Return the strong entry at which both clocks agree, by the weak entry or its pivot."""
    weak = ENTRY if own else ENTRY * (1 - rho**2)
    return float(1 / (1 + np.exp(np.log(1 / weak - 1) / WEAK)))


def _turned(data: xr.Dataset, rho: float) -> float:
    """Return the logarithm of the strong entry at which both concepts are measured at once."""
    times = data.turn.sel(turn_correlation=rho)
    behind = (times.sel(concept="strong") - times.sel(concept="weak")).values
    return float(np.interp(0.0, -behind, np.log10(data.entry.values)))


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AA;BC", 6.6, height_ratios=[1, 1.1])
    _draw_map(axes["A"], data)
    _draw_clocks(axes["B"], data)
    _draw_order(axes["C"], data)
    return drawn


def _draw_map(ax: Axes, data: xr.Dataset) -> None:
    x, y = data.ratio.values, data.correlation.values
    flow, clock = (each.sel(concept="weak").values.T for each in (data.grid, data.grid_told))
    levels = [5, 7, 10, 20, 40]
    heat(ax, x, y, np.log10(flow), label="log10 of the time")
    shown = ax.contour(x, y, flow, levels=levels, colors="white", linewidths=2.2)
    ax.contour(x, y, clock, levels=levels, colors="#E69F00", linewidths=1.4, linestyles="--")
    ax.clabel(shown, fmt="%g", fontsize=8)
    ax.set(title="When the weak concept is half learned (paper time, strong signal 1)")
    ax.set(xlabel="weak / strong signal", ylabel="correlation of rows, ρ")


def _draw_clocks(ax: Axes, data: xr.Dataset) -> None:
    ends = np.array([0.15, 250.0])
    ax.plot(ends, ends, color=plots.QUIET, linewidth=1)
    flow = data.grid.isel(ratio=slice(1, None, 4)).sel(concept="weak").values.ravel()
    clock = data.grid_told.isel(ratio=slice(1, None, 4)).sel(concept="weak").values.ravel()
    filled = {"markersize": 4.0, "markeredgewidth": 0.6, "markeredgecolor": "white"}
    ax.plot(
        flow,
        clock,
        **plots.look(0, line=False, marker="s", markerfacecolor=plots.COLOURS[0], **filled),
    )
    rows = data.published.transpose("what", ...).values.reshape(4, -1)
    ax.plot(rows[0], rows[2], **plots.look(6, line=False, marker="^", markersize=4.5))
    ax.plot(
        rows[0],
        rows[1],
        **plots.look(1, line=False, marker="o", markerfacecolor=plots.COLOURS[1], **filled),
    )
    ax.set(xscale="log", yscale="log", title="Clock against flow", xlim=ends, ylim=ends)
    ax.set(xlabel="measured (paper time)", ylabel="predicted")
    plots.name(ax, 0.2, 120.0, "● published", plots.COLOURS[1])
    plots.name(ax, 0.2, 60.0, "■ upper panel", plots.COLOURS[0])
    plots.name(ax, 3.0, 0.7, "△ own entry,\n    too early")


def _draw_order(ax: Axes, data: xr.Dataset) -> None:
    rho = TURNS[-1]
    x = data.entry.values
    for i, concept in enumerate(("strong", "weak")):
        flow, clock = (
            each.sel(turn_correlation=rho, concept=concept) for each in (data.turn, data.turn_told)
        )
        ax.plot(x, clock, **plots.look(i))
        ax.plot(x, flow, **plots.look(i, line=False, markersize=4.5))
    ax.axvline(turning(rho, own=True), color=plots.QUIET, linewidth=1, zorder=0)
    ax.set(xscale="log", title=f"Who is first, ρ = {rho:g}", ylim=(0, 8.5))
    ax.set(xlabel="initial entry of the strong", ylabel="half learned (paper time)")
    plots.name(ax, 4e-6, 7.8, "strong", plots.COLOURS[0], ha="left")
    plots.name(ax, 1.2e-6, 3.1, "weak", plots.COLOURS[1], ha="left")
