"""Draw the picture of feature reuse: python docs/reuse.py (a quarter of an hour)"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import partwhole as pw
from partwhole.recommendation.trained import TrainedLosses
from partwhole.study.figure import STYLE
from partwhole.study.plots import COLOURS

SIZES = (8, 12, 16, 24, 32, 48, 64)
# Where each name stands, and at which end of it.
NAMES = {
    "single-task": (67, 7e-3, "left"),
    "multi-task": (67, 2.2e-5, "left"),
    "linear probing": (67, 1e-7, "left"),
    "finetuning, c = 1": (67, 6e-7, "left"),
    "finetuning, c = 0.01": (23, 4e-4, "right"),
}
MARKERS = ("o", "s", "^", "D", "v")


def compute(sizes: tuple[int, ...] = SIZES, seeds: int = 3) -> TrainedLosses:
    """Predict and train a main task of 5 of the 40 features that were pretrained."""
    task = pw.tasks.SparseTeachers(active_main=5, overlap=5, main_scale="1/a")
    predicted = pw.recommendation.predict_losses(
        task, sizes, rescalings=(1.0, 0.01), seeds=range(seeds)
    )
    return pw.recommendation.trained.trained_losses(predicted, max_steps=30_000)


def draw(found: TrainedLosses) -> Figure:
    """Return predicted errors as lines and trained networks as markers: geometric means."""
    told = found.predicted
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 3.6))
        ax = figure.subplots()
        for i, method in enumerate(told.methods):
            theory, trained = (
                np.exp(np.log(losses[i]).mean(axis=-1)) for losses in (told.losses, found.final)
            )
            colour = COLOURS[i % len(COLOURS)]
            ax.plot(told.sizes, theory, color=colour)
            ax.plot(
                told.sizes, trained, MARKERS[i], color=colour, markerfacecolor="white", markersize=6
            )
            x, y, side = NAMES[method.label]
            ax.text(x, y, method.label, color=colour, ha=side, va="center")
        ax.set(xscale="log", yscale="log", xlabel="samples of the main task", ylabel="test error")
        ax.set(xlim=(7.5, 100), ylim=(1e-9, 1))
        ax.set_xticks(told.sizes, labels=[str(n) for n in told.sizes])
        ax.minorticks_off()
        ax.set_title("Lines: theory, without training. Markers: trained networks", loc="left")
    return figure


def main() -> None:
    """Write the picture beside this file."""
    found = compute()
    print(found.describe())
    with mpl.rc_context(STYLE):
        path = Path(__file__).with_name("reuse.svg")
        draw(found).savefig(path, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
