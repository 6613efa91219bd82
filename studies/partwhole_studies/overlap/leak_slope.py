"""Leak slope against salience: how much of a sum survives in combinations never seen."""

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
from partwhole.study.plots import QUIET, look, mosaic, name
from partwhole.tasks import Task, symbolic_addition
from partwhole_studies.overlap.held_out import held_out_line

VALUES = tuple(range(-4, 5))
ANCHORS = {1: (0,), 2: (-2, 2), 3: (-3, 0, 3), 4: (-4, -1, 1, 4), 5: (-4, -2, 0, 2, 4)}
SALIENCE = 0.3  # of the claims
OFF_CENTRE = 0.4  # salience at which anchors off centre are shown
FIVE = (-2, -1, 0, 1, 2)
THREE_SUMMANDS = ((0.2, 0.05), (0.3, 0.02))  # saliences of single parts and of pairs
INTERCEPTS = ("free", "none")
COLUMNS = ("first", "second", "offset", "residual", "error")
PRESETS: dict[str, list[Config]] = {
    "quick": [{"saliences": [0.05, 0.1, 0.15, 0.3, 0.4, 0.45, 0.5]}],
    "laptop": [{"saliences": [step / 50 for step in range(1, 26)]}],
    "paper": [{"saliences": [step / 100 for step in range(1, 51)]}],
}


def line(task: Task, kernel: OverlapKernel, intercept: str = "free") -> list[float]:
    """Solve the task; return the held-out slopes, the offset, the residual and the error."""
    solved = solve(task, kernel, intercept=intercept)
    slopes, offset, residual = held_out_line(task, solved.predictions)
    return [*slopes, offset, residual, solved.test_error]


def cell(config: Config) -> Arrays:
    """Solve addition with each layout of anchors, and the variants of the task."""
    saliences = config["saliences"]
    kernel = OverlapKernel.from_salience
    tasks = {p: symbolic_addition(VALUES, anchors) for p, anchors in ANCHORS.items()}
    edges, off = symbolic_addition(VALUES, [-4, 4]), symbolic_addition(VALUES, [-4])
    uneven = symbolic_addition(VALUES, [[0], [-2, 2]])
    cubes = symbolic_addition(FIVE, [0], n_components=3)
    solved = [solve(off, kernel([OFF_CENTRE]), intercept=each) for each in INTERCEPTS]
    variants = [
        *line(uneven, kernel([0.3]))[:2],
        *line(tasks[2], kernel({(0,): 0.3, (1,): 0.45}))[:2],
        *(line(cubes, kernel(each))[0] for each in THREE_SUMMANDS),
    ]
    return {
        "line": np.array([[line(task, kernel([s])) for s in saliences] for task in tasks.values()]),
        "edges": np.array([line(edges, kernel([s])) for s in saliences]),
        "off_centre": np.array([line(off, kernel([OFF_CENTRE]), each) for each in INTERCEPTS]),
        "off_answers": np.array([limit.test_predictions for limit in solved]),
        "off_targets": off.test_targets,
        "variants": np.array(variants),
    }


def predicted_variants() -> dict[str, float]:
    """Return the slope of each variant by the generalised closed forms."""
    cubes = [
        addition_law(
            [FIVE] * 3, [[0]] * 3, OverlapKernel.from_salience(saliences), intercept="free"
        ).slopes[0]
        for saliences in THREE_SUMMANDS
    ]
    return {
        "other part: 2 anchors": memorization_leak(0.3, 2),
        "other part: 1 anchor": memorization_leak(0.3, 1),
        "S = .3 beside .45": memorization_leak(0.3, 2, memorization=0.25),
        "S = .45 beside .3": memorization_leak(0.45, 2, memorization=0.25),
        "3 summands, S = .2": float(cubes[0]),
        "3 summands, S = .3": float(cubes[1]),
    }


def off_centre_law(intercept: str) -> tuple[float, float, float]:
    """Return slope, offset and error with the one anchor -4 by the closed form."""
    kernel = OverlapKernel.from_salience([OFF_CENTRE])
    closed = addition_law([VALUES] * 2, [[-4]] * 2, kernel, intercept=intercept)
    task = symbolic_addition(VALUES, [-4])
    values = np.array(VALUES, dtype=float)[task.test_components]
    error = np.mean((closed(values) - task.test_targets) ** 2)
    return float(closed.slopes[0]), closed.intercept, float(error)


def gather(cells: Cells) -> xr.Dataset:
    return layout(
        cells,
        {
            "line": "anchors salience column",
            "edges": "salience column",
            "off_centre": "intercept column",
            "off_answers": "intercept combination",
            "off_targets": "combination",
            "variants": "variant",
        },
        coords={
            "anchors": list(ANCHORS),
            "salience": cells[0][0]["saliences"],
            "column": list(COLUMNS),
            "intercept": list(INTERCEPTS),
            "variant": list(predicted_variants()),
        },
        labels={
            "line": "slope of unseen sums",
            "salience": "salience S(1;2)",
            "off_answers": "answer",
            "off_targets": "true sum",
        },
    )


def law(saliences: np.ndarray) -> xr.DataArray:
    """Return the closed form of the slope for each number of anchors."""
    slopes = [memorization_leak(saliences, p) for p in ANCHORS]
    coords = {"anchors": list(ANCHORS), "salience": saliences}
    return xr.DataArray(slopes, coords, ("anchors", "salience"))


def numbers(data: xr.Dataset) -> dict[str, float | np.ndarray]:
    slopes = data.line.sel(column=["first", "second"])
    first = data.line.sel(column="first", salience=SALIENCE)
    layouts = data.line.sel(anchors=2, column="first") - data.edges.sel(column="first")
    off = data.off_centre.sel(column=["first", "offset", "error"])
    return {
        "salience": SALIENCE,
        "one_anchor": float(first.sel(anchors=1)),
        "predicted": SALIENCE / (1 - SALIENCE),
        "layout_gap": float(np.abs(layouts).max()),
        "law": (slopes - law(data.salience.to_numpy())).to_numpy(),
        "residual": data.line.sel(column="residual").to_numpy(),
        "variants": data.variants.to_numpy() - list(predicted_variants().values()),
        "off_law": off.to_numpy() - [off_centre_law(intercept) for intercept in INTERCEPTS],
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AA;BC", 6.6, height_ratios=[1.1, 1])
    series(
        axes["A"], "salience", by="anchors", theory=law(np.linspace(0, 0.5, 101)),
        measured=data.line.sel(column="first"), names={p: f"p = {p}" for p in ANCHORS},
        words={"theory": "closed form", "measured": "solved"},
    )  # fmt: skip
    axes["A"].set(title="Slope, p = 1 to 5 anchors", xlim=(0, 0.51), ylim=(0, 1.03))
    _draw_off_centre(axes["B"], data)
    _draw_variants(axes["C"], data)
    return key(drawn)


def _draw_off_centre(ax: Axes, data: xr.Dataset) -> None:
    sums = np.array([-6.0, 8.0])
    ax.plot(sums, sums, color=QUIET, linestyle=":", linewidth=1)
    for i, (intercept, x, y) in enumerate((("free", -0.6, -5.6), ("none", -7.0, 3.6)), start=1):
        slope, offset, _ = off_centre_law(intercept)
        ax.plot(sums, slope * sums + offset, **look(i))
        solved = data.off_answers.sel(intercept=intercept)
        ax.plot(data.off_targets, solved, **look(i, line=False, markersize=4))
        text = f"{'free' if intercept == 'free' else 'no'} intercept"
        name(ax, x, y, text, str(look(i)["color"]))
    name(ax, 4.6, 6.9, "truth", QUIET, ha="right")
    ax.set(title=f"Anchor −4, S = {OFF_CENTRE:g}", xlabel="true sum", ylabel="answer")
    ax.set(xticks=[-4, 0, 4, 8], yticks=[-8, -4, 0, 4, 8], xlim=(-7.4, 8.4))


def _draw_variants(ax: Axes, data: xr.Dataset) -> None:
    predicted = predicted_variants()
    rows = np.arange(len(predicted))[::-1]
    ax.hlines(rows, 0, 1.05, color="#e4e4e4", linewidth=1, zorder=0)
    bars = look(0, line=False, marker="|", markersize=14, color="0.25")
    ax.plot(list(predicted.values()), rows, **bars)
    ax.plot(data.variants, rows, **look(0, line=False, markersize=4.5))
    ax.set_yticks(rows, list(predicted), fontsize=8.5)
    ax.set(title="Variants", xlabel="slope of unseen sums", xlim=(0, 1.05))
