"""Draw the picture of dense networks: python docs/networks.py (a quarter of a minute)"""

from __future__ import annotations

from pathlib import Path

import jax
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import partwhole as pw
from partwhole.study.figure import STYLE
from partwhole.study.plots import COLOURS


def lazy(anchors: list[int], seeds: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Return slopes of unseen sums of lazy networks, and those of their own tangent kernels."""
    task = pw.tasks.symbolic_addition(range(-4, 5), anchors)
    x, seen = task.one_hot(), task.is_train
    built = pw.networks.Architecture(2, 1000, "relu", initial="he", scale=1.0)
    start = built.networks(18, seeds=range(seeds), outputs=1)
    training = pw.Training(steps=20_000, learning_rate=1e-3, threshold=1e-4, record=20_000)
    runs = pw.train(start, (x[seen], task.train_targets), training, read=x)
    assert runs.answers is not None
    slopes, own = [], []
    for seed, answers in enumerate(runs.answers[:, -1, :, 0]):
        network = jax.tree.map(lambda leaf, s=seed: leaf[s], start)
        kernel = pw.training.kernel_regime(network, x, task.targets, seen)
        slopes.append(pw.measures.slope(task, answers.astype(float)).value)
        own.append(pw.measures.slope(task, kernel.predictions).value)
    return np.array(slopes), np.array(own)


def units(scale: float) -> np.ndarray:
    """Return what units weigh A less D by in either place, and their readout, shape (h, 3)."""
    task = pw.tasks.transitive_equivalence((2, 2), (1, 1))
    x, seen = task.one_hot(), task.is_train
    start = pw.networks.Architecture(2, 1000, "relu", initial="he", scale=scale).networks(
        8, seeds=[0], outputs=1
    )
    training = pw.Training(steps=3000, learning_rate=0.1, threshold=1e-6, restarts=3)
    runs = pw.train(start, (x[seen], task.train_targets), training)
    hidden, readout = (np.asarray(weights[0]) for weights in runs.networks.weights)
    mass = np.abs(readout[0]) * np.linalg.norm(hidden, axis=1)
    found = np.column_stack([hidden[:, 0] - hidden[:, 2], hidden[:, 4] - hidden[:, 6], readout[0]])
    return found[np.argsort(-mass)[:300]]


def draw() -> Figure:
    """Return lazy networks beside their kernels, and hidden units from small and large weights."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 3.4), layout="constrained")
        axes = figure.subplots(1, 3)
        axes[0].plot([0.65, 0.95], [0.65, 0.95], color="#767676", linewidth=0.8)
        for i, (anchors, told) in enumerate((([0], "one anchor"), ([-2, 2], "two anchors"))):
            slopes, own = lazy(anchors)
            axes[0].plot(own, slopes, "os"[i], color=COLOURS[i], mfc="white", label=told)
        axes[0].set(xlabel="slope of its tangent kernel", ylabel="slope of the network")
        axes[0].set(title="Unseen sums, large weights", aspect="equal")
        axes[0].legend(frameon=False)
        for ax, scale, title in zip(axes[1:], (1e-3, 1.0), ("small", "large"), strict=True):
            shown = units(scale)
            shown = shown / np.abs(shown[:, :2]).max()
            for i, sign in enumerate((1, -1)):
                each = shown[np.sign(shown[:, 2]) == sign]
                told = ("says alike", "says different")[i]
                ax.plot(each[:, 0], each[:, 1], "os"[i], color=COLOURS[i], mfc="white", ms=4,
                        mew=0.8, label=told)  # fmt: skip
            ax.axhline(0, color="#767676", linewidth=0.6)
            ax.axvline(0, color="#767676", linewidth=0.6)
            ax.set(title=f"Hidden units, {title} weights", xlabel="A less D, first place")
            ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), xticks=[-1, 0, 1], yticks=[-1, 0, 1])
            ax.set_aspect("equal")
        axes[1].set_ylabel("A less D, second place")
        axes[1].legend(loc="upper center", frameon=False, fontsize=8)
    return figure


if __name__ == "__main__":
    with mpl.rc_context({"svg.hashsalt": "partwhole"}):
        path = Path(__file__).with_suffix(".svg")
        draw().savefig(path, bbox_inches="tight", metadata={"Date": None})
