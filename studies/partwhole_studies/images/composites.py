"""Results of networks on composed images as one dataset, with a composite at each distance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import SubFigure

from partwhole.study import Arrays, Cells, Config, layout, published
from partwhole.tasks import compose_images
from partwhole_studies.images import networks
from partwhole_studies.images.networks import SAMPLES
from partwhole_studies.network_tasks import make_task

DIMS = ["network", "task", "distance", "seed"]
WIDTHS = {"digits": 8, "mnist": 28, "cifar-10": 32}  # of an image, in pixels
APART = "distance (image widths)"


def lay_out(
    cells: Cells,
    read: Callable[[Config, Arrays], dict[str, Any]],
    variables: Mapping[str, str],
    coords: Mapping[str, Iterable[Any]],
    labels: Mapping[str, str],
) -> xr.Dataset:
    """Lay out what `read` returns over networks, tasks, distances in image widths, and seeds.

    Beside it are scores after some epochs: accuracies, or errors as shares of the variance of sums.
    A network that has not learned has NaN everywhere.
    """
    epochs = sorted({int(epoch) for _, arrays in cells for epoch in arrays["epochs"]})
    variables = {**variables, "along": "side epoch"}
    axes = {name: list(values) for name, values in coords.items()}
    axes |= {"side": list(SAMPLES), "epoch": epochs}
    shapes = {name: [len(axes[dim]) for dim in dims.split()] for name, dims in variables.items()}
    blank = {name: np.full(shape, np.nan) for name, shape in shapes.items()}
    rows = []
    for config, arrays in cells:
        values = dict(blank)
        if arrays["learned"]:
            along = np.full(shapes["along"], np.nan)
            along[:, np.isin(epochs, arrays["epochs"])] = arrays["quality"]
            values = {**read(config, arrays), "along": along}
        distance = config["distance"] / WIDTHS[config["images"]]
        place = config | {"distance": distance}
        rows.append((place, {name: np.asarray(value, float) for name, value in values.items()}))
    data = layout(rows, variables, over=DIMS, coords=axes, labels={"distance": APART, **labels})
    data = data.sortby("distance").assign(example=_examples(cells))
    learned = [bool(arrays["learned"]) for _, arrays in cells]
    failed = f"{learned.count(False) or 'none'} of {len(learned)}"
    return data.assign_attrs(not_learned=failed)


def published_over_widths(study: str, over: list[str], **rows: Any) -> xr.Dataset:
    """Read a study's published numbers, over distances in widths of MNIST images."""
    data = published(study, over, **rows)
    return data.assign_coords(distance=data.distance / WIDTHS["mnist"])


def _examples(cells: Cells) -> xr.DataArray:
    """Return a composite for each distance in pixels: the brightest channel of each pixel."""
    examples: dict[int, np.ndarray] = {}
    for config, arrays in sorted(cells, key=lambda cell: cell[0]["distance"]):
        if config["distance"] in examples:
            continue
        if "example" in arrays:
            examples[config["distance"]] = arrays["example"]
            continue
        composed = compose_images(
            make_task(config["task"]), *networks.pictures(config["images"]),
            distance=config["distance"], seed=1,
        )  # fmt: skip
        examples[config["distance"]] = composed.draw(1)[:1][0].max(axis=-1)
    high, wide = np.max([picture.shape for picture in examples.values()], axis=0)
    padded = [
        np.pad(
            picture, ((0, high - picture.shape[0]), (0, wide - picture.shape[1])),
            constant_values=np.nan,
        )
        for picture in examples.values()
    ]  # fmt: skip
    return xr.DataArray(padded, coords={"pixels": list(examples)}, dims=["pixels", "high", "wide"])


def draw_examples(place: SubFigure, data: xr.Dataset) -> None:
    """Draw the composite of each distance."""
    pictures = [picture.dropna("wide", how="all") for picture in data.example]
    widths = [picture.sizes["wide"] for picture in pictures]
    axes = np.atleast_1d(place.subplots(1, len(widths), width_ratios=widths))
    for ax, picture in zip(axes, pictures, strict=True):
        ax.imshow(picture, cmap="Greys")
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"{int(picture.pixels)} pixels apart", fontsize=9)
