"""Invariance and partial exposure: the smallest tasks on which saliences decide."""

from __future__ import annotations

from typing import Literal

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.optimize import brentq

from partwhole.features import OverlapKernel
from partwhole.limits import (
    interpolate,
    invariance_margin,
    max_margin,
    partial_exposure_margin,
)
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study.plots import COLOURS, QUIET, look, name, panels
from partwhole.tasks import invariance, partial_exposure

QUESTION = (
    "How surely does an answer learned beside one background carry over to another, and does one "
    "part keep its meaning when half of its combinations were never seen?"
)
SOURCE = "Lippl & Stachenfeld (ICLR 2025), figure of invariance and partial exposure"
ANSWER = (
    "The more salient the parts, the more surely; a part seen in half of its combinations keeps"
    " its meaning, but with a free intercept only if its salience is above 1/4."
)
CAPTION = (
    "Margin on the unseen combinations against the salience of single parts. Lines: closed form. "
    "Hollow circles: minimum-norm interpolation; filled diamonds: hard margin; each is drawn at "
    "every fourth salience solved. With a free intercept, partial exposure fails below a salience "
    "of 1/4."
)

TASKS = {"invariance": invariance, "partial exposure": partial_exposure}
VERBS = {"interpolation": interpolate, "hard margin": max_margin}
INTERCEPTS = ("none", "free")
MARKS = {"interpolation": "o", "hard margin": "D"}
STATED = {
    ("invariance", "none"): (0.25, 0.428571, 0.666667),
    ("invariance", "free"): (0.25, 0.428571, 0.666667),
    ("partial exposure", "none"): (0.086957, 0.219512, 0.470588),
    ("partial exposure", "free"): (-0.090909, 0.111111, 0.428571),
}
AT = (0.2, 0.3, 0.4)


def _cells(points: int) -> list[Config]:
    saliences = np.linspace(0.0, 0.5, points).round(10).tolist()
    return [
        {"task": task, "intercept": intercept, "saliences": saliences}
        for task in TASKS
        for intercept in INTERCEPTS
    ]


PRESETS: dict[str, list[Config]] = {"quick": _cells(21), "laptop": _cells(51), "paper": _cells(101)}


def margin(task: str, intercept: Literal["none", "free"], verb: str, salience: float) -> float:
    """Solve one task with one kernel; return the mean margin on what is held out."""
    kernel = OverlapKernel.from_salience([salience])
    return float(VERBS[verb](TASKS[task](), kernel, intercept=intercept).test_margins.mean())


def law(task: str, intercept: str, salience: np.ndarray) -> np.ndarray:
    """Return the closed form of a task."""
    if task == "invariance":
        return np.asarray(invariance_margin(salience))
    return np.asarray(partial_exposure_margin(salience, intercept=intercept))


def cell(config: Config) -> Arrays:
    """Solve one task over the saliences in both ways, and find where its margin changes sign."""
    task, intercept, saliences = config["task"], config["intercept"], config["saliences"]
    solved = [[margin(task, intercept, verb, k) for k in saliences] for verb in VERBS]
    ends = (
        margin(task, intercept, "interpolation", 0.01),
        margin(task, intercept, "interpolation", 0.49),
    )
    zero = np.nan
    if ends[0] < 0 < ends[1]:
        zero = brentq(lambda k: margin(task, intercept, "interpolation", k), 0.01, 0.49)
    return {"margin": np.array(solved), "zero": np.array(zero)}


def gather(cells: Cells) -> xr.Dataset:
    """Lay the solved margins over task, intercept, learner and salience."""
    saliences = np.array(cells[0][0]["saliences"])
    shape = (len(TASKS), len(INTERCEPTS))
    solved = np.stack([arrays["margin"] for _, arrays in cells])
    zeros = np.stack([arrays["zero"] for _, arrays in cells])
    return xr.Dataset(
        {
            "margin": (
                ("task", "intercept", "learner", "salience"),
                solved.reshape(*shape, *solved.shape[1:]),
                {"long_name": "margin on unseen combinations"},
            ),
            "zero": (("task", "intercept"), zeros.reshape(shape)),
        },
        coords={
            "task": list(TASKS),
            "intercept": list(INTERCEPTS),
            "learner": list(VERBS),
            "salience": ("salience", saliences, {"long_name": "salience S(1;2)"}),
        },
    )


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh the closed forms, the stated values and what the intercept changes."""
    source = "figure of invariance and partial exposure"
    weighed = []
    for (task, intercept), stated in STATED.items():
        found = data.margin.sel(task=task, intercept=intercept)
        how = "without an intercept" if intercept == "none" else "with a free intercept"
        away = np.abs(found - law(task, intercept, data.salience.to_numpy()))
        weighed.append(
            Claim(
                f"Closed form and solved margins agree: {task}, {how} (largest difference).",
                source if intercept == "none" else "derived here",
                0,
                float(away.max(skipna=False)),
                1e-6,
            )
        )
        solved = found.sel(learner="interpolation").sel(salience=list(AT), method="nearest")
        for k, value, number in zip(AT, stated, solved.to_numpy(), strict=True):
            weighed.append(
                Claim(
                    f"Margin of {task} at S(1;2) = {k:g}, {how}.",
                    "derived here",
                    value,
                    float(number),
                    1e-5,
                )
            )
    for intercept in INTERCEPTS:
        least = data.margin.sel(task="partial exposure", intercept=intercept).min()
        weighed.append(
            Claim(
                "A part seen in half of its combinations is never answered wrongly in the others "
                "(partial exposure): its margin is at least 0 ("
                + ("no intercept)." if intercept == "none" else "free intercept)."),
                source,
                0,
                float(least),
                1e-9,
                relation="at least",
                note=""
                if intercept == "none"
                else "Below a salience of 1/4 it is. The published curve has no intercept; common "
                "classifiers always have one.",
            )
        )
    weighed.append(
        Claim(
            "Salience above which partial exposure is answered rightly with a free intercept.",
            "derived here",
            0.25,
            float(data.zero.sel(task="partial exposure", intercept="free")),
            1e-6,
        )
    )
    shift = data.margin.sel(task="invariance", intercept="free") - data.margin.sel(
        task="invariance", intercept="none"
    )
    weighed.append(
        Claim(
            "An intercept changes nothing in invariance (largest difference).",
            "derived here",
            0,
            float(np.abs(shift).max(skipna=False)),
            1e-6,
        )
    )
    return weighed


def figure(data: xr.Dataset) -> Figure:
    """Draw margins against salience for both tasks."""
    drawn, axes = panels(1, 2, 3.3, sharey=True)
    fine = np.linspace(0, 0.5, 201)
    for ax, task in zip(axes[0], TASKS, strict=True):
        ax.axhline(0, color=QUIET, linewidth=1)
        for i, intercept in enumerate(INTERCEPTS):
            ax.plot(fine, law(task, intercept, fine), **look(i))
            one = data.margin.sel(task=task, intercept=intercept)
            # Each learner at every fourth salience, so that no marker hides another.
            for j, (learner, marker) in enumerate(MARKS.items()):
                some = one.sel(learner=learner)[2 * i + j :: 4]
                marks = look(i, line=False, marker=marker, markersize=6 - j, clip_on=False)
                filled = {"markerfacecolor": COLOURS[i]} if j else {}
                ax.plot(some.salience, some, **(marks | filled))
        ax.set(title=task, xlabel="salience of single parts, S(1;2)", ylim=(-0.45, 1.05))
    axes[0, 0].set_ylabel("margin on unseen combinations")
    name(axes[0, 0], 0.02, 0.62, "with or without\nan intercept")
    name(axes[0, 1], 0.13, 0.30, "no intercept", ha="left")
    name(axes[0, 1], 0.19, -0.30, "free intercept:\nwrong below 1/4", ha="left")
    return drawn
