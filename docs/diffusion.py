"""Draw the picture of a diffusion model on its way: python docs/diffusion.py (minutes)"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import partwhole as pw
from partwhole.measures.concepts import RAW
from partwhole.networks.diffusion import diffusion_model
from partwhole.study.figure import STYLE
from partwhole.study.plots import COLOURS
from partwhole.tasks import circles
from partwhole.tasks.shapes.splits import leave_out
from partwhole.training.diffusion.records import DiffusionRecords

SIDE, SEED = 16, 0
AT = (100, 200, 400, 700, 1000, 1400, 1900, 2500)
UNSEEN = "blue small"
NEAR = 0.06  # in concept space: what is named together
ASKED = ("red small", "blue big", UNSEEN)


def train() -> DiffusionRecords:
    """Train a model on three of four classes of circles, and ask it for the fourth on the way."""
    space = circles(0.689)
    shown = space.sample(1024, is_train=leave_out(space, UNSEEN), side=SIDE, seed=SEED)
    told = shown.conditions().astype(np.float32)
    mean = space.class_conditions().astype(np.float32)
    prompts = {
        name: pw.training.Prompt(conditions=np.repeat(mean[[space.index(name)]], 64, axis=0))
        for name in ASKED
    }
    all_classes = space.sample(1024, side=SIDE, seed=SEED + 1)
    classifier = pw.training.train_concept_classifier(
        all_classes.images, all_classes.components, seed=SEED
    )
    goal = np.array([1, 1])
    runs = pw.train(
        diffusion_model("small16", condition=told.shape[1], seed=SEED),
        (shown.images, told),
        pw.Training.published("diffusion", steps=AT[-1], clip=1.0, record=AT, seed=SEED),
        read=pw.training.Sampling(
            prompts,
            lambda images: classifier.coordinates(images, goal),
            steps=25,
            denoise=True,
            keep=True,
        ),
    )
    assert runs.diffusion is not None
    return runs.diffusion


def draw(records: DiffusionRecords) -> Figure:
    """Return samples along training beside the path of those of the combination not shown."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.4, 3.3), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[1.45, 1])
        _draw_samples(left, records)
        coordinates = records.coordinates[UNSEEN][0]
        path = pw.measures.concepts.concept_path(records.steps, coordinates, smoothing=RAW)
        _draw_path(right, path.mean)
    return figure


def _draw_path(ax: Axes, path: np.ndarray) -> None:
    ax.plot(*path.T, "o-", color=COLOURS[0], mfc="white", ms=4)
    named: list[tuple[np.ndarray, list[int]]] = []
    for step, place in zip(AT, path, strict=True):
        near = [steps for other, steps in named if np.linalg.norm(other - place) < NEAR]
        if near:
            near[0].append(step)
        else:
            named.append((place, [step]))
    for place, steps in named:
        left = place[0] > 0.5
        ax.annotate(
            ", ".join(map(str, steps)), (float(place[0]), float(place[1])), fontsize=7.5,
            xytext=(-6, -9) if left else (6, 4), textcoords="offset points",
            ha="right" if left else "left",
        )  # fmt: skip
    corners = {"red small": (0, 1), "blue big": (1, 0), UNSEEN: (1, 1)}
    for name, place in corners.items():
        ax.plot(*place, "*" if name == UNSEEN else ".", color="black", ms=9, zorder=0)
        ax.annotate(
            name, place, xytext=(0, 7 if place[1] else -7), textcoords="offset points",
            ha="center", va="bottom" if place[1] else "top", fontsize=8,
        )  # fmt: skip
    ax.set(xlabel="blue", ylabel="small", xlim=(-0.2, 1.2), ylim=(-0.2, 1.2))
    ax.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], title="The mean of 64 small blue ones")


def _draw_samples(ax: Axes, records: DiffusionRecords) -> None:
    rows = []
    for name in ASKED:
        for each in range(2):
            drawn = np.clip(records.samples[name][0, :, each].astype(float), 0.0, 1.0)
            rows.append(np.concatenate(list(drawn), axis=1))
    ax.imshow(np.concatenate(rows, axis=0), interpolation="nearest", aspect="equal")
    ax.set_xticks((np.arange(len(AT)) + 0.5) * SIDE, labels=map(str, AT))
    names = [name + ("\nnot shown" if name == UNSEEN else "") for name in ASKED]
    ax.set_yticks((2 * np.arange(len(ASKED)) + 1) * SIDE, labels=names)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set(xlabel="steps", title="What it draws when it is asked for")


if __name__ == "__main__":
    with mpl.rc_context({"svg.hashsalt": "partwhole"}):
        path = Path(__file__).with_suffix(".svg")
        draw(train()).savefig(path, bbox_inches="tight", metadata={"Date": None})
