"""Draw the picture of docs/your-images.md: ``python docs/your_images.py`` (minutes)."""

from __future__ import annotations

import doctest
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from partwhole.study.figure import STYLE
from partwhole.study.plots import COLOURS

PAGE = Path(__file__).with_name("your-images.md")
IN_A_ROW = 7  # samples of a step


def run() -> dict[str, Any]:
    """Run all lines of the page in a folder of their own; return its variables."""
    page = PAGE.read_text("utf-8")
    examples = doctest.DocTestParser().get_examples(page)
    (lines,) = re.findall(r"```python\n(from .*?)```", page, re.DOTALL)
    code = "".join(example.source for example in examples) + lines
    variables: dict[str, Any] = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            exec(compile(code, PAGE.name, "exec"), variables)
        finally:
            os.chdir(before)
    return variables


def draw(variables: dict[str, Any]) -> Figure:
    """Return the pictures, samples of the model on its way, and what the classifier reads."""
    pictures, diffusion = variables["pictures"], variables["runs"].diffusion
    asked, steps = variables["asked"], variables["runs"].steps
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.4, 2.9), layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=[0.95, 1.1, 1.1])
        _draw_pictures(left, pictures)
        _draw_samples(middle, diffusion.samples[asked][0], steps)
        _draw_readings(right, variables["path"].means[0], asked, steps)
    return figure


def _draw_pictures(ax: Axes, pictures: Any) -> None:
    space, side = pictures.space, pictures.shape[0]
    first = [pictures.images[np.argmax(pictures.classes == k)] for k in range(space.n_classes)]
    n_down, n_across = space.n_values[0], space.n_values[1] * space.n_values[2]
    rows = np.reshape(first, (n_down, n_across, side, side, 3))
    ax.imshow(rows.transpose(0, 2, 1, 3, 4).reshape(n_down * side, n_across * side, 3))
    held_out = pictures.table["split"].to_numpy() == "test"
    for k in np.unique(pictures.classes[held_out]):
        down, across = divmod(int(k), n_across)
        place = (across * side - 0.5, down * side - 0.5)
        ax.add_patch(Rectangle(place, side, side, fill=False, ec="black", lw=1.2))
    ax.set(xticks=[], yticks=[], title="Framed: held out")
    ax.spines[:].set_visible(False)


def _draw_samples(ax: Axes, samples: np.ndarray, steps: np.ndarray) -> None:
    drawn = np.clip(samples[:, :IN_A_ROW].astype(float), 0.0, 1.0)
    n_steps, n, side = drawn.shape[:3]
    ax.imshow(drawn.transpose(0, 2, 1, 3, 4).reshape(n_steps * side, n * side, 3))
    ax.set_yticks((np.arange(n_steps) + 0.5) * side, labels=map(str, steps))
    ax.set(xticks=[], ylabel="steps", title="Asked for a striped red disc")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _draw_readings(ax: Axes, means: np.ndarray, asked: str, steps: np.ndarray) -> None:
    for column, word, colour in zip(means.T, asked.split(), COLOURS, strict=False):
        ax.plot(steps, column, "o-", color=colour, mfc="white", ms=4, label=word)
    ax.legend(loc="lower right", frameon=False)
    ax.set(xlabel="steps", ylabel="probability", ylim=(-0.03, 1.05), xlim=(0, None))
    ax.set(title="Read by the classifier", xticks=[0, 1000, 2000])


if __name__ == "__main__":
    variables = run()
    print(variables["path"].means[0].round(2), variables["path"].describe(), sep="\n")
    print(variables["able"].describe())
    draw(variables).savefig(
        PAGE.with_suffix(".png"), dpi=150, bbox_inches="tight", metadata={"Software": None}
    )
