"""Draw the picture of a swing-by: python docs/swing_by.py"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import partwhole as pw
from partwhole.study.figure import STYLE
from partwhole.study.plots import COLOURS

SEEDS = range(24)


def draw() -> Figure:
    """Return answers to the unseen combination, predicted and trained, and their error."""
    task = pw.tasks.StructuredIdentity(means=[2, 4], scales=[0.2, 0.2], origin=True)
    networks = pw.networks.Architecture(layers=4, width=4).networks(2, seeds=SEEDS)
    training = pw.Training.published("identity", learning_rate=0.005)
    runs = pw.train(networks, task, training, progress=False)
    comparison = pw.training.beside_theory(runs)
    # One network stands out: that whose error rises most.
    times, errors = comparison.times, comparison.trained_losses
    shown = int(np.argmax(pw.measures.swing(times, errors).amplitude))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 3.2))
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.35))
        for k in range(len(SEEDS)):
            left.plot(*comparison.trained[k].T, color="#c9c9c9", linewidth=0.8)
            right.plot(times, errors[k], color="#c9c9c9", linewidth=0.7)
        for ax, theory, trained in (
            (left, comparison.outputs[shown].T, comparison.trained[shown].T),
            (right, (times, comparison.losses[shown]), (times, errors[shown])),
        ):
            ax.plot(*trained, color=COLOURS[1], linewidth=2.4)
            ax.plot(*theory, color="black", linestyle=(0, (4, 2)), linewidth=1.3)
        left.plot([2, 0], [0, 4], "s", color=COLOURS[0], markersize=7, clip_on=False)
        left.plot([2], [4], "*", color=COLOURS[0], markersize=14, clip_on=False)
        left.text(1.93, 0.25, "seen", ha="right", color=COLOURS[0])
        left.text(0.1, 4.25, "seen", color=COLOURS[0])
        left.text(2.0, 4.35, "unseen", ha="center", color=COLOURS[0])
        left.set(
            xlim=(-0.6, 2.4), ylim=(-0.4, 4.75), xlabel="first concept", ylabel="second concept"
        )
        left.set_title("Answers to the unseen combination")
        right.set(xscale="log", xlim=(0.05, 25), ylim=(-0.1, 6.5), xlabel="time of gradient flow")
        right.set_ylabel("error at the unseen combination")
        right.set_title("The error falls, rises, falls again")
        peak = errors[shown]
        top = int(peak[np.searchsorted(times, 0.5) :].argmax()) + np.searchsorted(times, 0.5)
        right.annotate(
            "theory (dashed)\nand training",
            (times[top], peak[top]),
            (4.5, 3.8),
            arrowprops={"arrowstyle": "-", "color": "#767676"},
        )
    return figure


def main() -> None:
    """Write the picture beside this file."""
    with mpl.rc_context(STYLE):
        path = Path(__file__).with_name("swing-by.svg")
        draw().savefig(path, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
