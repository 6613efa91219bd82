"""How strongly concepts show in pictures of circles, from the pictures alone."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.tasks.shapes import (
    CONCEPT_SIGNALS,
    CONCEPT_SIGNALS_SHOWN,
    circles,
    clean_images,
    concept_signal,
    image_grid,
    pixel_distances,
)

QUESTION = (
    "Pictures of circles differ in colour and in size. Which of the two shows more, and how far "
    "apart must colours be to show as much as sizes?"
)
SOURCE = "The data of Yang et al. (ICLR 2025) and Park et al. (NeurIPS 2024)"
ANSWER = (
    "Size, nearly always. What colours add to the distance between pictures grows with the square "
    "of their separation, and passes that of size only for big circles, beyond .64; for small "
    "ones never."
)
CAPTION = (
    "Left: mean squared difference between pictures of class means, in colour for big and "
    "small circles and in size, over how far colours are apart. Right: the four "
    "class means at six separations; the last row is not shown to models."
)

PAIRS = {"small": "colour, small circles", "big": "colour, big circles", "size": "size"}
SIDE = 32

PRESETS: dict[str, list[Config]] = {
    name: [{"side": SIDE, "colour": c} for c in CONCEPT_SIGNALS]
    for name in ("quick", "laptop", "paper")
}


def cell(config: Config) -> Arrays:
    """Measure the distances between pictures of class means, and what a concept changes."""
    space = circles(config["colour"])
    table, told = pixel_distances(space, config["side"]), concept_signal(space, config["side"])
    apart = {
        (row["first"], row["concepts"]): row["mse"]
        for row in table.to_dict("records")
        if row["distance"] == 1
    }
    sense = {
        row["at"]: row["signal"] for row in told.to_dict("records") if row["concept"] == "colour"
    }
    small, big = "red small circle", "red big circle"
    return {
        "distance": np.array([apart[small, "colour"], apart[big, "colour"], apart[big, "size"]]),
        "signal": np.array([sense[small], sense[big]]),
        "pictures": clean_images(space.mean_attributes(), config["side"]),
    }


def gather(cells: Cells) -> xr.Dataset:
    """Lay distances and pictures over separations."""
    return xr.Dataset(
        {
            "distance": (
                ("colour", "pair"), np.stack([each["distance"] for _, each in cells]),
                {"long_name": "mean square between pictures of class means"},
            ),
            "signal": (
                ("colour", "circle"), np.stack([each["signal"] for _, each in cells]),
                {"long_name": "what a step from red to blue changes, root of mean square"},
            ),
            "pictures": (
                ("colour", "class", "row", "column", "channel"),
                np.stack([each["pictures"] for _, each in cells]),
                {"long_name": "class means"},
            ),
        },
        coords={
            "colour": [config["colour"] for config, _ in cells], "pair": list(PAIRS),
            "circle": ["small", "big"],
        },
    )  # fmt: skip


def crossing(data: xr.Dataset, circle: str) -> float:
    """Return how far apart colours show as much as sizes; infinite where they never do."""
    lead = np.log(data.distance.sel(pair=circle) / data.distance.sel(pair="size")).values
    above = np.flatnonzero(lead > 0)
    if not len(above):
        return float("inf")
    k = int(above[0])
    return float(np.interp(0.0, lead[k - 1 : k + 1], data.colour.values[k - 1 : k + 1]))


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh how distances grow, and where colours show as much as sizes."""
    log = np.log(data.colour.values)
    steep = max(
        abs(np.polyfit(log, np.log(data.distance.sel(pair=pair).values), 1)[0] - 2.0)
        for pair in ("small", "big")
    )
    derivative = np.sqrt(data.distance.sel(pair=["small", "big"]).values) - data.signal.values
    small, big = (crossing(data, circle) for circle in ("small", "big"))
    ahead = float((data.distance.sel(pair="small") / data.distance.sel(pair="size")).max())
    return [
        Claim(
            "The distance between pictures grows with the square of how far colours are apart: "
            "error of the exponent, big and small circles.",
            "derived here",
            0.0,
            float(steep),
            1e-9,
        ),
        Claim(
            "The concept signal of a colour, a derivative, is the root of that distance: largest "
            "difference.",
            "Park et al. (NeurIPS 2024), the concept signal",
            0.0,
            float(np.abs(derivative).max()),
            1e-9,
        ),
        Claim(
            "Colour shows more than size only where colours are far apart: separation from which "
            "it does, big circles.",
            "derived here",
            0.64,
            big,
            0.02,
            note=f"Of the separations that models are trained on, up to {CONCEPT_SIGNALS[-1]:g}, "
            f"{int((data.distance.sel(pair='big') > data.distance.sel(pair='size')).sum())} of "
            f"{data.sizes['colour']} are beyond.",
        ),
        Claim(
            "In small circles colour never shows as much as size: largest ratio of distances.",
            "derived here",
            0.5,
            ahead,
            0.0,
            relation="at most",
            note="No separation that fits into the pictures' range is enough."
            if np.isinf(small)
            else f"It does from {small:.3f} on.",
        ),
    ]


def figure(data: xr.Dataset) -> Figure:
    """Draw distances over separations, and the class means."""
    drawn, axes = plots.mosaic("AB", 3.2, width_ratios=[1.0, 1.1])
    _draw_distances(axes["A"], data)
    _draw_pictures(axes["B"], data)
    return drawn


def _draw_distances(ax: Axes, data: xr.Dataset) -> None:
    for k, (pair, label) in enumerate(PAIRS.items()):
        ax.plot(data.colour, data.distance.sel(pair=pair), label=label, **plots.look(k))
    ax.set(
        xscale="log", yscale="log", xlabel="how far colours are apart",
        ylabel="mean square between pictures",
    )  # fmt: skip
    ticks = [CONCEPT_SIGNALS_SHOWN[0], CONCEPT_SIGNALS_SHOWN[2], CONCEPT_SIGNALS_SHOWN[-1]]
    ax.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.legend(fontsize=7, frameon=False)


def _draw_pictures(ax: Axes, data: xr.Dataset) -> None:
    shown = data.pictures.sel(colour=list(CONCEPT_SIGNALS_SHOWN)).values
    side, n = shown.shape[2], len(CONCEPT_SIGNALS_SHOWN)
    rows = np.concatenate(list(np.moveaxis(shown, 0, 1)))
    ax.imshow(image_grid(rows, n), interpolation="nearest")
    places = (side + 1) * np.arange(n) + 0.5 * side
    ax.set_xticks(places, labels=[f"{c:g}" for c in CONCEPT_SIGNALS_SHOWN], fontsize=6.5)
    names = [name.removesuffix(" circle") for name in map(circles().label, range(4))]
    ax.set_yticks(places[:4], labels=names, fontsize=7)
    ax.tick_params(length=0)
    ax.set_xlabel("how far colours are apart")
