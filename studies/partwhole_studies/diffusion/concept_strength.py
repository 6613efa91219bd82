"""How much the colour and the size of a circle change its image."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.study import Arrays, Cells, Config, key, layout
from partwhole.study.plots import look, mosaic
from partwhole.tasks import circles
from partwhole.tasks.shapes.pictures import image_grid
from partwhole.tasks.shapes.published import CONCEPT_SIGNALS, CONCEPT_SIGNALS_SHOWN
from partwhole.tasks.shapes.renderer import clean_images
from partwhole.tasks.shapes.sensitivity import concept_signal, pixel_distances

CHANGES = {"small": "colour, small circles", "big": "colour, big circles", "size": "size"}
EXAMPLE = 0.358
SIDE = 32

PRESETS: dict[str, list[Config]] = {
    name: [{"side": SIDE, "colour": c} for c in CONCEPT_SIGNALS]
    for name in ("quick", "laptop", "paper")
}


def cell(config: Config) -> Arrays:
    """Return distances between the images of class means, and the concept signal of colour."""
    space = circles(config["colour"])
    distances = {
        (row["first"], row["concepts"]): row["mse"]
        for row in pixel_distances(space, config["side"]).to_dict("records")
        if row["distance"] == 1
    }
    signals = {
        row["at"]: row["signal"]
        for row in concept_signal(space, config["side"]).to_dict("records")
        if row["concept"] == "colour"
    }
    small, big = "red small circle", "red big circle"
    changes = [(small, "colour"), (big, "colour"), (big, "size")]
    return {
        "distance": np.array([distances[change] for change in changes]),
        "signal": np.array([signals[small], signals[big]]),
        "pictures": clean_images(space.mean_attributes(), config["side"]),
    }


def gather(cells: Cells) -> xr.Dataset:
    return layout(
        cells,
        {"distance": "change", "signal": "circle", "pictures": "class row column channel"},
        over=["colour"],
        coords={"change": list(CHANGES), "circle": ["small", "big"]},
        labels={
            "distance": "mean squared difference of pixels",
            "colour": "separation of the colours",
        },
    )


def crossing(data: xr.Dataset, circle: str) -> float:
    """Return the separation above which colour changes more than size; infinite if it never does.

    It is interpolated between separations.
    """
    distance = data.distance.sel(change=[circle, "size"]).transpose("change", "colour").values
    lead = np.log(distance[0] / distance[1])
    above = np.flatnonzero(lead > 0)
    if not len(above):
        return float("inf")
    k = int(above[0])
    return float(np.interp(0.0, lead[k - 1 : k + 1], data.colour.values[k - 1 : k + 1]))


def numbers(data: xr.Dataset) -> dict[str, Any]:
    colour = data.distance.sel(change=["small", "big"]).transpose("colour", "change")
    exponents = np.polyfit(np.log(data.colour.values), np.log(colour.values), 1)[0]
    ratio = data.distance.sel(change="small") / data.distance.sel(change="size")
    example = data.distance.sel(colour=EXAMPLE) ** 0.5
    start = crossing(data, "big")
    return {
        "crossing": start,
        "small_ratio": float(ratio.max()),
        "exponents": exponents - 2.0,
        "signal": np.sqrt(colour.values) - data.signal.transpose("colour", "circle").values,
        "example": EXAMPLE,
        "size_change": float(example.sel(change="size")),
        "big_change": float(example.sel(change="big")),
        "big_where": f"from a separation of {start:.2f} on"
        if np.isfinite(start)
        else "at no separation",
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB", 3.1, width_ratios=[1.0, 1.25])
    for k, (change, label) in enumerate(CHANGES.items()):
        axes["A"].plot(data.colour, data.distance.sel(change=change), label=label, **look(k))
    axes["A"].set(
        xscale="log", yscale="log", xlabel=data.colour.long_name, ylabel=data.distance.long_name
    )
    axes["A"].set_xticks([0.1, 0.2, 0.4, 0.8], labels=["0.1", "0.2", "0.4", "0.8"])
    axes["A"].minorticks_off()
    _draw_pictures(axes["B"], data)
    return key(drawn)


def _draw_pictures(ax: Axes, data: xr.Dataset) -> None:
    pictures = data.pictures.sel(colour=list(CONCEPT_SIGNALS_SHOWN)).values
    side, n = pictures.shape[2], len(CONCEPT_SIGNALS_SHOWN)
    rows = np.concatenate(list(np.moveaxis(pictures, 0, 1)))
    ax.imshow(image_grid(rows, n), interpolation="nearest")
    places = (side + 1) * np.arange(n) + 0.5 * side
    ax.set_xticks(places, labels=[f"{c:g}" for c in CONCEPT_SIGNALS_SHOWN], fontsize=6.5)
    names = [name.removesuffix(" circle") for name in map(circles().label, range(4))]
    ax.set_yticks(places[:4], labels=names, fontsize=7)
    ax.tick_params(length=0)
    ax.set_xlabel(data.colour.long_name)
