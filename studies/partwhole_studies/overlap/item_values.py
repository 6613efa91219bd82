"""Item values: what each item adds to a sum, for the learner and in truth."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.features import OverlapKernel
from partwhole.limits import addition_law, interpolate, memorization_leak
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.tasks import symbolic_addition

QUESTION = (
    "When a learner answers a sum it has never seen, how much does each item count, and are the "
    "anchors, seen with every partner, different?"
)
SOURCE = "Lippl & Stachenfeld (ICLR 2025), figure 3b, and the theory of theorem 4.2"
ANSWER = (
    "Each item counts for its true value times one slope; anchors, met with every partner, keep"
    " more of theirs than the other items do."
)
CAPTION = (
    "Top: the value an item adds to unseen sums. With one anchor the values are compressed in "
    "proportion, by the slopes written beside the lines; with anchors -2 and 2 (filled), the "
    "anchors' own values are compressed less. Bottom: error on unseen sums. Lines: closed form; "
    "markers: solved."
)

VALUES = tuple(range(-4, 5))
LAYOUTS = {"extrapolation": (0,), "interpolation": (-4, 4), "both": (-2, 2)}
WORDS = {"extrapolation": "anchor 0", "both": "anchors ±2", "interpolation": "anchors ±4"}
SHOWN = (0.3, 0.35, 0.4, 0.45, 0.5)
# Slopes written in the published figure, at these saliences.
PUBLISHED = (0.43, 0.54, 0.67, 0.82, 1.0)
BESIDE = 0.3  # salience at which anchors are shown beside the other items


def _preset(saliences: list[float]) -> list[Config]:
    return [
        {"layout": layout, "salience": salience} for layout in LAYOUTS for salience in saliences
    ]


PRESETS = {
    "quick": _preset([0.1, 0.2, *SHOWN]),
    "laptop": _preset([step / 40 for step in range(1, 21)]),
    "paper": _preset([step / 100 for step in range(1, 51)]),
}


def cell(config: Config) -> Arrays:
    task = symbolic_addition(VALUES, LAYOUTS[config["layout"]])
    kernel = OverlapKernel.from_salience([config["salience"]])
    solved = interpolate(task, kernel, intercept="free")
    # Each item beside itself: rows (v, v) of the grid, whose parts are read component by component.
    both = np.arange(len(VALUES))[:, None].repeat(2, axis=1)
    parts = solved.parts(both)
    return {
        "value": np.stack([parts[(c,)] + parts[()] / 2 for c in (0, 1)]),
        "error": np.array(solved.test_error),
    }


def gather(cells: Cells) -> xr.Dataset:
    saliences = sorted({config["salience"] for config, _ in cells})
    value = np.full((len(LAYOUTS), len(saliences), 2, len(VALUES)), np.nan)
    error = np.full((len(LAYOUTS), len(saliences)), np.nan)
    for config, found in cells:
        at = list(LAYOUTS).index(config["layout"]), saliences.index(config["salience"])
        value[at], error[at] = found["value"], found["error"]
    data = xr.Dataset(
        {
            "value": (("layout", "salience", "component", "item"), value),
            "error": (("layout", "salience"), error),
        },
        coords={
            "layout": list(LAYOUTS),
            "salience": saliences,
            "component": ["first", "second"],
            "item": list(VALUES),
        },
    )
    data.value.attrs |= {"long_name": "value the item adds, half the intercept each", "units": "1"}
    data.error.attrs |= {"long_name": "mean squared error on unseen sums", "units": "1"}
    return data


def _slope(curve: xr.DataArray, items: list[int]) -> float:
    """Return the least-squares slope of values over the given items, both components together."""
    chosen = curve.sel(item=items)
    x = np.broadcast_to(chosen["item"].values, chosen.shape)
    return float(np.polyfit(x.ravel(), chosen.values.ravel(), 1)[0])


def _others(layout: str) -> list[int]:
    return [item for item in VALUES if item not in LAYOUTS[layout]]


def _error(layout: str, salience: np.ndarray) -> np.ndarray:
    """Return the closed form (1 - m)^2 times the mean square of the unseen sums."""
    leak = memorization_leak(salience, len(LAYOUTS[layout]))
    own = np.array(_others(layout))
    return (1.0 - leak) ** 2 * np.mean((own[:, None] + own[None, :]) ** 2)


def claims(data: xr.Dataset) -> list[Claim]:
    published = "Lippl & Stachenfeld (ICLR 2025), figure 3b"
    found = []
    for salience, slope in zip(SHOWN, PUBLISHED, strict=True):
        curve = data.value.sel(layout="extrapolation", salience=salience)
        found.append(
            Claim(
                f"With one anchor an item's value is its true value times a slope, S = {salience}.",
                published,
                slope,
                _slope(curve, _others("extrapolation")),
                0.01,
            )
        )
    bend = 0.0
    for salience in SHOWN:
        curve = data.value.sel(layout="extrapolation", salience=salience)
        line = memorization_leak(salience, 1) * curve["item"]
        bend = max(bend, float(np.abs(curve - line).max()))
    found.append(
        Claim(
            "With one anchor the items' values lie on a line through 0: largest distance, 5 "
            "saliences, "
            "both components.",
            "Lippl & Stachenfeld (ICLR 2025), proposition 5.1",
            0.0,
            bend,
            1e-9,
            relation="at most",
        )
    )
    anchors = list(LAYOUTS["both"])
    kernel = OverlapKernel.from_salience([BESIDE])
    law = addition_law([VALUES] * 2, [anchors] * 2, kernel, intercept="free")
    curve = data.value.sel(layout="both", salience=BESIDE)
    found += [
        Claim(
            "Anchors, seen with all n = 9 partners, are compressed less: slope nS / (1 + (n - 2) "
            "S) "
            "of the anchors ±2, S = .3.",
            "derived here",
            float(law.anchor_slopes[0]),
            _slope(curve, anchors),
            1e-6,
        ),
        Claim(
            "Items beside p = 2 anchors keep the slope pS / (1 + (p - 2) S), S = .3.",
            "Lippl & Stachenfeld (ICLR 2025), proposition 5.1",
            memorization_leak(BESIDE, len(anchors)),
            _slope(curve, _others("both")),
            1e-6,
        ),
    ]
    for layout in LAYOUTS:
        saliences = np.array([0.3, 0.4])
        for salience, error in zip(saliences, _error(layout, saliences), strict=True):
            found.append(
                Claim(
                    "The error on unseen sums is (1 - m)^2 times their mean square, m the leak "
                    "slope: "
                    f"{WORDS[layout]}, "
                    f"S = {salience}.",
                    "derived here from proposition 5.1",
                    float(error),
                    float(data.error.sel(layout=layout, salience=salience)),
                    1e-6,
                )
            )
    return found


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AB;CC", 6.4, height_ratios=[1.25, 1])
    _draw_one_anchor(axes["A"], data)
    _draw_two_anchors(axes["B"], data)
    _draw_errors(axes["C"], data)
    return drawn


def _draw_one_anchor(ax: Axes, data: xr.Dataset) -> None:
    ends = np.array([-4.0, 4.0])
    for i, salience in enumerate(SHOWN):
        leak = memorization_leak(salience, 1)
        ax.plot(ends, leak * ends, **plots.look(i, linewidth=1.4))
        curve = data.value.sel(layout="extrapolation", salience=salience).mean("component")
        ax.plot(curve["item"], curve, **plots.look(i, line=False, markersize=4.5))
        # Names are spread a little: lines of small salience end close together.
        plots.name(ax, 4.5, 1.42 + 0.65 * i, f"{leak:.2f}, S = {salience:g}", plots.COLOURS[i])
    plots.name(ax, -4.1, 2.9, "slopes\nbeside")
    ax.set(title="One anchor, 0", xlabel="item", ylabel="value it adds", xlim=(-4.6, 9.4))
    ax.set(xticks=[-4, -2, 0, 2, 4], ylim=(-4.4, 4.4))


def _draw_two_anchors(ax: Axes, data: xr.Dataset) -> None:
    anchors = list(LAYOUTS["both"])
    curve = data.value.sel(layout="both", salience=BESIDE).mean("component")
    kernel = OverlapKernel.from_salience([BESIDE])
    law = addition_law([VALUES] * 2, [anchors] * 2, kernel, intercept="free")
    ends = np.array([-4.0, 4.0])
    ax.plot(ends, ends, color=plots.QUIET, linestyle=":", linewidth=1)
    ax.plot(ends, law.slopes[0] * ends, **plots.look(0, linewidth=1.4))
    ax.plot(ends, law.anchor_slopes[0] * ends, **plots.look(1, linewidth=1.4))
    others = curve.sel(item=_others("both"))
    ax.plot(others["item"], others, **plots.look(0, line=False))
    filled = plots.look(1, line=False, markersize=7, markerfacecolor=plots.COLOURS[1])
    ax.plot(anchors, curve.sel(item=anchors), **filled)
    plots.name(ax, -4.1, 2.9, f"anchors\n{law.anchor_slopes[0]:.2f}", plots.COLOURS[1])
    plots.name(ax, 1.4, -1.4, f"other items\n{law.slopes[0]:.2f}", plots.COLOURS[0])
    ax.set(title=f"Two anchors, ±2, S = {BESIDE:g}", xlabel="item", xlim=(-4.6, 4.6))
    ax.set(xticks=[-4, -2, 0, 2, 4], ylim=(-4.4, 4.4))


def _draw_errors(ax: Axes, data: xr.Dataset) -> None:
    fine = np.linspace(0, 0.5, 101)
    for i, layout in enumerate(LAYOUTS):
        ax.plot(fine, _error(layout, fine), **plots.look(i))
        solved = data.error.sel(layout=layout)
        ax.plot(data.salience, solved, **plots.look(i, line=False, clip_on=False))
    places = {"extrapolation": (0.21, 8.9), "both": (0.045, 7.9), "interpolation": (0.02, 3.6)}
    for i, layout in enumerate(LAYOUTS):
        plots.name(ax, *places[layout], WORDS[layout], plots.COLOURS[i])
    ax.set(title="Error on unseen sums", xlabel="salience S(1;2)", ylabel="mean squared error")
    ax.set(xlim=(0, 0.5), ylim=(0, None))
