"""Draw the picture of gated networks: python docs/gated.py (half a minute)"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import partwhole as pw
from partwhole.study.figure import STYLE
from partwhole.study.plots import COLOURS
from partwhole.training.margin_ascent import ascend_margin

SHOWN = (450, 3200)
REACH = 1.15


class Found(NamedTuple):
    """Hold what is drawn: a network on its way, and where theory says that it ends."""

    inputs: np.ndarray
    labels: np.ndarray
    limit: pw.limits.Limit
    early: tuple[pw.networks.GatedNetwork, ...]
    late: pw.networks.GatedNetwork
    descent: pw.training.Runs
    flow: pw.training.Runs


def compute() -> Found:
    """Train a gated network on a disc within a ring, and solve for its end."""
    rng = np.random.default_rng(2)
    angle = rng.uniform(0, 2 * np.pi, 60)
    radius = np.where(np.arange(60) < 24, rng.uniform(0.1, 0.35, 60), rng.uniform(0.65, 1.0, 60))
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    inputs, labels = np.column_stack([points, np.ones(60)]), np.where(np.arange(60) < 24, 1.0, -1.0)
    gates = pw.features.HalfspaceGates.random(
        3, n_units=40, thresholds="median", inputs=inputs, seed=1
    )
    limit = pw.solve((inputs, labels), gates, fit="margin", intercept="none")
    start = pw.networks.GatedNetwork.draw(3, [gates, 1], seed=0, initial="normal", scale=0.1)
    sample, long = (inputs, labels), pw.Training(steps=60_000, loss="logistic", learning_rate=0.1)
    early = tuple(
        pw.train([start], sample, replace(long, steps=steps)).networks[0] for steps in SHOWN
    )
    descent = pw.train([start], sample, long)
    follow = pw.Training(steps=60_000, loss="exponential", optimiser="normalised flow")
    flow = pw.train([start], sample, follow)
    late = ascend_margin(flow.networks[0], inputs, labels)
    return Found(inputs, labels, limit, early, late, descent, flow)


def draw(found: Found) -> Figure:
    """Return decisions along training over those of the limit, and margins along it."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 3.1), layout="constrained")
        axes = figure.subplots(1, 4, width_ratios=[1, 1, 1, 1.25])
        grid = np.linspace(-REACH, REACH, 201)
        x, y = np.meshgrid(grid, grid)
        plane = np.column_stack([x.ravel(), y.ravel(), np.ones(x.size)])
        end = found.limit.predict(plane).reshape(x.shape)
        learners = (*found.early, found.late)
        titles = (f"{SHOWN[0]} steps", f"{SHOWN[1]:,} steps", "the end")
        for ax, learner, title in zip(axes, learners, titles, strict=False):
            answers = learner.predict(plane).reshape(x.shape)
            colours = [COLOURS[0], COLOURS[1]]
            ax.contourf(x, y, answers, levels=[-1e9, 0, 1e9], colors=colours, alpha=0.18)
            ax.contour(x, y, end, levels=[0], colors="black", linewidths=1.4)
            for side, colour in ((-1.0, COLOURS[0]), (1.0, COLOURS[1])):
                rows = found.labels == side
                ax.plot(*found.inputs[rows, :2].T, ".", color=colour, markersize=5)
            ax.set(aspect="equal", xticks=[], yticks=[], title=title)
            ax.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH))
        ax = axes[3]
        for i, (runs, name) in enumerate(((found.flow, "logarithm"), (found.descent, "loss"))):
            share = runs.fraction_of(found.limit)[0]
            at = runs.steps > 0
            ax.plot(runs.steps[at], np.maximum(share[at], 0), color=COLOURS[2 + i])
            ax.text((1.5, 900)[i], (0.62, 0.42)[i], name, color=COLOURS[2 + i], va="center")
        ax.axhline(1.0, color="black", linewidth=1.4)
        ax.text(1.2, 1.03, "theory", va="bottom")
        ax.set(
            xscale="log",
            xlabel="steps, on the loss or its logarithm",
            ylabel="margin",
            ylim=(0, 1.15),
        )
        ax.set_yticks([0, 0.5, 1])
    return figure


def main() -> None:
    """Write the picture beside this file."""
    found = compute()
    print(found.limit.describe())
    with mpl.rc_context(STYLE):
        path = Path(__file__).with_name("gated.svg")
        draw(found).savefig(path, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
