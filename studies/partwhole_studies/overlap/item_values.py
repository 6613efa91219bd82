"""Item values: what each item adds to a sum, for the learner and in truth."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.limits import memorization_leak
from partwhole.limits.addition import addition_law
from partwhole.study import Arrays, Cells, Config, key, layout, series
from partwhole.study.plots import COLOURS, QUIET, look, mosaic, name
from partwhole.tasks import symbolic_addition

VALUES = tuple(range(-4, 5))
LAYOUTS = {"extrapolation": (0,), "interpolation": (-4, 4), "both": (-2, 2)}
WORDS = {"extrapolation": "anchor 0", "interpolation": "anchors ±4", "both": "anchors ±2"}
# Slopes that are written in the published figure, by salience.
PUBLISHED = {0.3: 0.43, 0.35: 0.54, 0.4: 0.67, 0.45: 0.82, 0.5: 1.0}
SALIENCE = 0.3  # at which anchors are compared with the other items


def _preset(saliences: list[float]) -> list[Config]:
    return [{"layout": at, "salience": salience} for at in LAYOUTS for salience in saliences]


PRESETS = {
    "quick": _preset([0.1, 0.2, *PUBLISHED]),
    "laptop": _preset([step / 40 for step in range(1, 21)]),
    "paper": _preset([step / 100 for step in range(1, 51)]),
}


def cell(config: Config) -> Arrays:
    """Solve one task; return the value that each item adds, and the error on unseen sums."""
    task = symbolic_addition(VALUES, LAYOUTS[config["layout"]])
    kernel = OverlapKernel.from_salience([config["salience"]])
    solved = solve(task, kernel, intercept="free")
    # Each item beside itself: rows (v, v) of the grid, whose parts are read component by component.
    pairs = np.arange(len(VALUES))[:, None].repeat(2, axis=1)
    parts = solved.parts(pairs)
    return {
        "value": np.stack([parts[(c,)] + parts["intercept"] / 2 for c in (0, 1)]),
        "error": np.array(solved.test_error),
    }


def gather(cells: Cells) -> xr.Dataset:
    return layout(
        cells,
        {"value": "component item", "error": ""},
        over=["layout", "salience"],
        coords={"component": ["first", "second"], "item": list(VALUES)},
        labels={
            "value": "value it adds",
            "error": "mean squared error on unseen sums",
            "salience": "salience S(1;2)",
        },
    )


def slope(curve: xr.DataArray, items: list[int]) -> float:
    """Return the least-squares slope of values over the given items, both components together."""
    values = curve.sel(item=items)
    x = np.broadcast_to(values["item"].values, values.shape)
    return float(np.polyfit(x.ravel(), values.values.ravel(), 1)[0])


def not_anchors(at: str) -> list[int]:
    return [item for item in VALUES if item not in LAYOUTS[at]]


def two_anchor_law(salience: float) -> tuple[float, float]:
    """Return the slope of the anchors -2 and 2, and that of the other items, in closed form."""
    kernel = OverlapKernel.from_salience([salience])
    law = addition_law([VALUES] * 2, [LAYOUTS["both"]] * 2, kernel, intercept="free")
    return float(law.anchor_slopes[0]), float(law.slopes[0])


def error_law(saliences: np.ndarray) -> xr.DataArray:
    """Return (1 - m)^2 times the mean square of the unseen sums, m the leak slope."""
    errors = []
    for at, anchors in LAYOUTS.items():
        unseen = np.array(not_anchors(at))
        square = np.mean((unseen[:, None] + unseen[None, :]) ** 2)
        errors.append((1 - memorization_leak(saliences, len(anchors))) ** 2 * square)
    coords = {"layout": list(LAYOUTS), "salience": saliences}
    return xr.DataArray(np.array(errors), coords, ("layout", "salience"))


def numbers(data: xr.Dataset) -> dict[str, float | str | np.ndarray]:
    values = data.value.sel(layout="extrapolation")
    slopes = {s: slope(values.sel(salience=s), not_anchors("extrapolation")) for s in PUBLISHED}
    lines = memorization_leak(data.salience.to_numpy(), 1)[:, None, None] * data["item"].values
    curve = data.value.sel(layout="both", salience=SALIENCE)
    anchors, others = slope(curve, list(LAYOUTS["both"])), slope(curve, not_anchors("both"))
    return {
        "salience": SALIENCE,
        "anchors": anchors,
        "rest": others,
        "compared": "more than" if anchors > others else "no more than",
        "advantage": anchors / others,
        "published_gap": max(abs(slopes[s] - PUBLISHED[s]) for s in PUBLISHED),
        "lines": values.transpose("salience", "component", "item").to_numpy() - lines,
        "two_slopes": np.array([anchors, others]) - two_anchor_law(SALIENCE),
        "errors": (data.error - error_law(data.salience.to_numpy())).to_numpy(),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CC", 6.6, height_ratios=[1.15, 1])
    _draw_one_anchor(axes["A"], data)
    _draw_two_anchors(axes["B"], data)
    series(
        axes["C"], "salience", by="layout", theory=error_law(np.linspace(0, 0.5, 101)),
        measured=data.error, names=WORDS, words={"theory": "closed form", "measured": "solved"},
    )  # fmt: skip
    axes["C"].set(title="Error on unseen sums", ylabel="mean squared error", xlim=(0, 0.51))
    axes["C"].set(ylim=(-0.3, 15.5))
    return key(drawn)


def _draw_one_anchor(ax: Axes, data: xr.Dataset) -> None:
    ends = np.array([-4.0, 4.0])
    for i, salience in enumerate(PUBLISHED):
        leak = memorization_leak(salience, 1)
        ax.plot(ends, leak * ends, **look(i, linewidth=1.4))
        curve = data.value.sel(layout="extrapolation", salience=salience).mean("component")
        ax.plot(curve["item"], curve, **look(i, line=False, markersize=4.5))
        # Names are spread a little: lines of small salience end close together.
        name(ax, 4.5, 1.42 + 0.65 * i, f"{leak:.2f}, S = {salience:g}", COLOURS[i])
    ax.set(title="One anchor, 0", xlabel="item", ylabel="value it adds", xlim=(-4.6, 9.8))
    ax.set(xticks=[-4, -2, 0, 2, 4], ylim=(-4.4, 4.4))


def _draw_two_anchors(ax: Axes, data: xr.Dataset) -> None:
    anchors = list(LAYOUTS["both"])
    curve = data.value.sel(layout="both", salience=SALIENCE).mean("component")
    steep, shallow = two_anchor_law(SALIENCE)
    ends = np.array([-4.0, 4.0])
    ax.plot(ends, ends, color=QUIET, linestyle=":", linewidth=1)
    ax.plot(ends, shallow * ends, **look(0, linewidth=1.4))
    ax.plot(ends, steep * ends, **look(1, linewidth=1.4))
    others = curve.sel(item=not_anchors("both"))
    ax.plot(others["item"], others, **look(0, line=False))
    filled = look(1, line=False, markersize=7, markerfacecolor=COLOURS[1])
    ax.plot(anchors, curve.sel(item=anchors), **filled)
    name(ax, -4.1, 2.9, f"anchors\n{steep:.2f}", COLOURS[1])
    name(ax, 1.2, -1.6, f"other items\n{shallow:.2f}", COLOURS[0])
    ax.set(title=f"Two anchors, ±2, S = {SALIENCE:g}", xlabel="item", xlim=(-4.6, 4.6))
    ax.set(xticks=[-4, -2, 0, 2, 4], ylim=(-4.4, 4.4))
