"""Invariance and partial exposure: the smallest tasks whose solution depends on saliences."""

from __future__ import annotations

from typing import Literal

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.optimize import brentq

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.limits.toys import invariance_margin, partial_exposure_margin
from partwhole.study import Arrays, Cells, Config, key, layout, series
from partwhole.study.plots import QUIET, panels
from partwhole.tasks.toys import invariance, partial_exposure

TASKS = {"invariance": invariance, "partial exposure": partial_exposure}
LEARNERS = {"interpolation": "equal", "hard margin": "margin"}  # and their fits
INTERCEPTS = ("none", "free")


def _cells(points: int) -> list[Config]:
    saliences = np.linspace(0.0, 0.5, points).round(10).tolist()
    return [
        {"task": task, "intercept": intercept, "saliences": saliences}
        for task in TASKS
        for intercept in INTERCEPTS
    ]


PRESETS: dict[str, list[Config]] = {"quick": _cells(21), "laptop": _cells(51), "paper": _cells(101)}


def margin(task: str, intercept: Literal["none", "free"], learner: str, salience: float) -> float:
    """Return the mean margin on held-out combinations."""
    kernel = OverlapKernel.from_salience([salience])
    limit = solve(TASKS[task](), kernel, fit=LEARNERS[learner], intercept=intercept)
    return float(limit.test_margins.mean())


def cell(config: Config) -> Arrays:
    """Solve one task over the saliences in both ways, and find where its margin changes sign."""
    task, intercept, saliences = config["task"], config["intercept"], config["saliences"]
    margins = [[margin(task, intercept, learner, k) for k in saliences] for learner in LEARNERS]
    low, high = (margin(task, intercept, "interpolation", k) for k in (0.01, 0.49))
    zero = np.nan
    if low < 0 < high:
        zero = brentq(lambda k: margin(task, intercept, "interpolation", k), 0.01, 0.49)
    return {"margin": np.array(margins), "zero": np.array(zero)}


def gather(cells: Cells) -> xr.Dataset:
    return layout(
        cells,
        {"margin": "learner salience", "zero": ""},
        over=["task", "intercept"],
        coords={"learner": list(LEARNERS), "salience": cells[0][0]["saliences"]},
        labels={
            "margin": "margin on unseen combinations",
            "salience": "salience of single parts, S(1;2)",
        },
    )


def law(data: xr.Dataset) -> xr.DataArray:
    """Return the closed form of each task over the same saliences."""
    salience = data.salience.to_numpy()
    free = np.asarray(partial_exposure_margin(salience, intercept="free"))
    none = np.asarray(partial_exposure_margin(salience, intercept="none"))
    invariant = np.asarray(invariance_margin(salience))
    margins = np.array([[invariant, invariant], [none, free]])
    return data.margin.isel(learner=0, drop=True).copy(data=margins)


def numbers(data: xr.Dataset) -> dict[str, float | str | np.ndarray]:
    margins = data.margin.sel(learner="interpolation")
    partial = margins.sel(task="partial exposure")
    without = margins.sel(intercept="none").min("task")
    lowest = float(without.min())
    least_free = float(partial.sel(intercept="free").min())
    threshold = float(data.zero.sel(task="partial exposure", intercept="free"))
    rounding = 1e-9  # at a salience of 0 margins are 0
    reversed_below = f"a part changes its meaning below a salience of {threshold:.2f}"
    return {
        "verdict": "both are true"
        if lowest > rounding
        else "both are true but for a tie"
        if lowest >= -rounding
        else "both can fail",
        "least": round(lowest, 9) + 0.0,  # no sign of a rounded -0
        "least_at": float(without.idxmin("salience")),
        "free": "this is so too" if least_free >= -rounding else reversed_below,
        "least_without": float(partial.sel(intercept="none").min()),
        "least_free": least_free,
        "law": (data.margin - law(data)).to_numpy(),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(1, 2, 3.6, sharey=True)
    names = {"none": "no intercept", "free": "free intercept"}
    for ax, task in zip(axes[0], TASKS, strict=True):
        ax.axhline(0, color=QUIET, linewidth=1)
        margins = data.margin.sel(task=task, learner="interpolation").isel(
            salience=slice(0, None, 2)
        )
        series(
            ax, "salience", by="intercept", theory=law(data).sel(task=task), measured=margins,
            names=names, words={"theory": "closed form", "measured": "solved"},
        )  # fmt: skip
        equal = np.allclose(*(margins.sel(intercept=intercept) for intercept in INTERCEPTS))
        ax.set(title=f"{task}{', both equal' * equal}", ylim=(-0.45, 1.05))
    axes[0, 1].set_ylabel("")
    return key(drawn)
