"""Lay what cells found over networks, tasks, distances and seeds, with a picture of composites."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from partwhole.study import Arrays, Cells, Config
from partwhole.tasks import compose_images
from partwhole_studies.images import _runs as runs

DIMS = ("network", "task", "distance", "seed")
SETS = ("trained", "seen", "unseen")
# What a cell says beyond its scores: a number, or an array with the names of its axes.
Read = Callable[[Config, Arrays], dict[str, Any]]


def lay(
    cells: Cells, read: Read, axes: dict[str, Sequence[Any]], words: dict[str, str]
) -> xr.Dataset:
    """Return a dataset; NaN where no network has learned.

    `axes` names the axes of arrays that `read` returns, and `words` says what is what and, where
    a name ends in axes in brackets, which these are.
    """
    coords: dict[str, list[Any]] = {
        name: sorted({config[name] for config, _ in cells})
        if name in ("distance", "seed")
        else list(dict.fromkeys(config[name] for config, _ in cells))
        for name in DIMS
    }
    shape = tuple(map(len, coords.values()))
    axes = {"set": SETS} | axes
    words = {"quality": "error or accuracy [set]"} | words
    inner = {name: [axis for axis in axes if f"[{axis}]" in told] for name, told in words.items()}
    learned = np.zeros(shape, dtype=int)
    laid = {
        name: np.full((*shape, *(len(axes[axis]) for axis in inner[name])), np.nan)
        for name in words
    }
    for config, found in cells:
        at = tuple(coords[name].index(config[name]) for name in DIMS)
        learned[at] = 1 if found["learned"] else -1
        if found["learned"]:
            for name, each in (read(config, found) | {"quality": found["quality"]}).items():
                laid[name][at] = each
    held = {
        name: ((*DIMS, *inner[name]), each, {"long_name": words[name].split(" [")[0]})
        for name, each in laid.items()
    }
    return xr.Dataset(
        held
        | {
            "learned": (DIMS, learned, {"long_name": "1 learned, -1 not, 0 not run"}),
            "example": (("distance", "high", "wide"), _examples(cells, coords["distance"])),
        },
        coords=coords | {name: list(axis) for name, axis in axes.items()},
        attrs={
            "images": cells[0][0]["images"],
            "networks": len(cells),
            "not_learned": int(sum(not found["learned"] for _, found in cells)),
        },
    )


def _examples(cells: Cells, distances: Sequence[int]) -> np.ndarray:
    """Return one composite at each distance, the brightest of its channels in each pixel."""
    shown = []
    for distance in distances:
        config, found = next(each for each in cells if each[0]["distance"] == distance)
        if "example" in found:
            shown.append(found["example"])
            continue
        composed = compose_images(
            runs.make_task(config["task"]), *runs.pictures(config["images"]), distance=distance,
            seed=1,
        )  # fmt: skip
        shown.append(composed.draw(1)[:1][0].max(axis=-1))
    high, wide = (max(each.shape[axis] for each in shown) for axis in (0, 1))
    return np.stack([
        np.pad(
            page, ((0, high - page.shape[0]), (0, wide - page.shape[1])), constant_values=np.nan
        )
        for page in shown
    ])  # fmt: skip


def draw_examples(row: Any, data: xr.Dataset) -> None:
    """Draw a composite at each distance."""
    wide = [int((~np.isnan(each).all(axis=0)).sum()) for each in data.example.values]
    axes = np.atleast_1d(row.subplots(1, len(wide), width_ratios=wide))
    for ax, distance, picture, width in zip(
        axes, data.distance.values, data.example.values, wide, strict=True
    ):
        ax.imshow(picture[:, :width], cmap="Greys")
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"distance {distance}", fontsize=9)
