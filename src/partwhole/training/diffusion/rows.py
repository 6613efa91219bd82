"""Pictures of samples, in rows with names."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

import numpy as np
from jaxtyping import Float

from partwhole.tasks.shapes.pictures import image_grid

SCALE = 4  # pixels of a picture to a side of a pixel of a sample
GAP = 1  # pixels of a sample between samples
GREY = 0.5  # of what is no number
LETTERS = 24  # in a line of a name
POINT, DPI = 8.0, 100.0
MARGIN = 8  # pixels around a name


def labelled_rows(
    samples_of: Mapping[str, Float[np.ndarray, "n h w c"]],
) -> Float[np.ndarray, "high wide 3"]:
    """Return samples as a picture, with a row for each name, which stands on its left.

    Names need the extra "plot", and are left out without it. Rows may differ in length. Numbers
    that are not finite are grey.
    """
    longest = max(map(len, samples_of.values()))
    rows = []
    for samples in samples_of.values():
        finite = np.where(np.isfinite(samples), samples, GREY)
        row = np.pad(finite, [(0, longest - len(samples))] + [(0, 0)] * 3, constant_values=1.0)
        rows.append(row)
    page = image_grid(np.concatenate(rows), longest, gap=GAP)
    page = page.repeat(SCALE, axis=0).repeat(SCALE, axis=1)
    if find_spec("matplotlib") is None:
        return page
    height = rows[0].shape[1]
    middles = [SCALE * (i * (height + GAP) + height / 2) for i in range(len(rows))]
    return np.concatenate([_names(list(samples_of), middles, len(page)), page], axis=1)


def _names(
    names: Sequence[str], middles: Sequence[float], height: int
) -> Float[np.ndarray, "height wide 3"]:
    """Return names in black on white, each at the middle of its row, in pixels from the top."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width = int(LETTERS * POINT * DPI / 72.0)
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    for name, middle in zip(names, middles, strict=True):
        lines = "\n".join(textwrap.wrap(name, LETTERS))
        figure.text(
            1.0, 1.0 - middle / height, lines, ha="right", va="center", color="black",
            fontsize=POINT, parse_math=False,
        )  # fmt: skip
    with warnings.catch_warnings():  # of letters that the font lacks
        warnings.simplefilter("ignore", UserWarning)
        canvas.draw()
    levels = np.asarray(canvas.buffer_rgba())[:height, :, :3] / 255.0
    inked = np.flatnonzero((levels < 1.0).any(axis=(0, 2)))
    first = inked[0] if inked.size else width
    margin = np.ones((height, MARGIN, 3))
    return np.concatenate([margin, levels[:, first:], margin], axis=1)
