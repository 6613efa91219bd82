"""Draw the README's picture: which sums are seen, and what is predicted for the others."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import partwhole as pw
from partwhole.study.figure import STYLE
from partwhole.study.plots import COLOURS

BLUE, ORANGE = COLOURS[:2]


def draw() -> Figure:
    values = np.arange(-4, 5)
    task = pw.tasks.symbolic_addition(values=range(-4, 5), anchors=[0])
    kernel = pw.features.OverlapKernel.from_salience([0.4], n_components=2)
    predictions = pw.solve(task, kernel, intercept="free").predictions
    leak = pw.limits.memorization_leak(salience=0.4, n_anchors=1)
    unseen = ~task.is_train

    figure = Figure(figsize=(7.6, 3.5))
    grid, scatter = figure.subplots(1, 2)
    for (first, second), is_train in zip(values[task.components], task.is_train, strict=True):
        face, edge = (BLUE, BLUE) if is_train else ("none", "#b9b4a8")
        corner = (first - 0.42, second - 0.42)
        grid.add_patch(Rectangle(corner, 0.84, 0.84, facecolor=face, edgecolor=edge, clip_on=False))
    grid.set(xlim=(-4.6, 4.6), ylim=(-4.6, 4.6), aspect="equal", xticks=values, yticks=values)
    grid.set(xlabel="first number", ylabel="second number", title="17 sums are seen")
    grid.spines[["left", "bottom"]].set_visible(False)
    grid.tick_params(length=0)

    ends = np.array([-8.0, 8.0])
    scatter.plot(ends, ends, color="#8a8578", linewidth=1, linestyle=(0, (4, 3)))
    scatter.plot(ends, leak * ends, color=ORANGE)
    sums, rows = np.unique(task.targets[unseen], return_index=True)
    scatter.plot(sums, predictions[unseen][rows], "o", color=BLUE, markersize=4.5)
    scatter.annotate("right", (7.4, 7.4), (4.3, 7.2), color="#6b665b")
    scatter.annotate(f"theory: slope {leak:.3f}", (8, 5.3), (-0.6, -3.4), color=ORANGE)
    scatter.set(xlabel="true sum", ylabel="predicted sum", aspect="equal")
    scatter.set_title("the other 64 are shrunk to two thirds")
    return figure


if __name__ == "__main__":
    with mpl.rc_context(STYLE):
        draw().savefig(
            Path(__file__).with_name("first-result.svg"),
            bbox_inches="tight",
            metadata={"Date": None, "Title": "A first result of partwhole"},
        )
