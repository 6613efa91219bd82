"""Combinations of three concepts, by how many of them set each apart from what was shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.measures.concepts import EmergenceFit, fit_emergence
from partwhole.study import Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole_studies.diffusion import _reading as reading
from partwhole_studies.diffusion._runs import IMAGES, PAPER, POINTS, STEADY, classes
from partwhole_studies.diffusion._runs import train as train

QUESTION = (
    "A diffusion model has seen big red shapes on light grounds, and what differs from them in one "
    "of the three concepts. Does it draw the others the later, the more concepts they differ in?"
)
SOURCE = "Okawa et al. (NeurIPS 2023), multiplicative emergence"
ANSWER = (
    "Yes: what differs in two concepts comes later than what was shown, and what differs in all "
    "three last. Small models of images that are asked in words draw mostly empty grounds for that."
)
CAPTION = (
    "Left: how right all three concepts are at once (product), by how many of them a class differs "
    "in from big red on light (0 and 1 are shown in training); for the farthest class also the "
    "mean over concepts. Right: the product of the concepts that differ, and the law of "
    "independent concepts with one rate (thin). Means of the models that learned what they were "
    "shown."
)

CONCEPTS = 3
CHANCE, LATER = 0.5, float(np.log(1.1))
COLOUR, BACKGROUND = 0.6, 0.25


LAPTOP: Config = IMAGES | STEADY | {"words": True, "samples": 32, "steps": 1700, "checkpoints": 10}


def _cells(kind: Config, seeds: int) -> list[Config]:
    told = kind | {"colour": COLOUR, "background": BACKGROUND}
    return [told | {"seed": seed} for seed in range(seeds)]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, 3),
    "laptop": _cells(LAPTOP, 3),
    "paper": _cells(PAPER | {"words": True}, 5),
}
cell = train


def gather(cells: Cells) -> xr.Dataset:
    """Lay what every sample was read as over seeds, steps and classes."""
    return reading.gather(cells, "colour")


def of_distance(n: int) -> list[tuple[str, tuple[int, ...]]]:
    """Return the classes that so many concepts set apart from the first, and their corners."""
    return [(name, corner) for name, corner in classes(CONCEPTS).items() if sum(corner) == n]


def accuracies(data: xr.Dataset) -> xr.DataArray:
    """Return the multiplicative accuracy of each distance, (distance, seed, step)."""
    return _by_distance(lambda name, corner: reading.accuracy(data, name, corner))


def sums(data: xr.Dataset) -> xr.DataArray:
    """Return the mean over concepts instead of their product, (distance, seed, step)."""

    def right(name: str, corner: tuple[int, ...]) -> xr.DataArray:
        goal = xr.DataArray(np.array(corner, float), dims="concept")
        return (1.0 - abs(reading.means(data, name) - goal)).mean("concept", skipna=False)

    return _by_distance(right)


def _by_distance(read: Callable[[str, tuple[int, ...]], xr.DataArray]) -> xr.DataArray:
    """Return the mean over the classes of each distance."""
    found = []
    for n in range(CONCEPTS + 1):
        each = [read(name, corner) for name, corner in of_distance(n)]
        found.append(xr.concat(each, "class").mean("class", skipna=False))
    laid = xr.concat(found, xr.DataArray(np.arange(CONCEPTS + 1), dims="distance"))
    return laid.isel(colour=0).transpose("distance", "seed", "step")


def differing(data: xr.Dataset) -> xr.DataArray:
    """Return the product over the concepts that set a class apart alone, as `accuracies`."""

    def right(name: str, corner: tuple[int, ...]) -> xr.DataArray:
        own = [concept for concept, v in zip(data.concept.values, corner, strict=True) if v]
        return reading.means(data, name).sel(concept=own).prod("concept", skipna=False)

    return _by_distance(right)


def law(found: xr.DataArray) -> EmergenceFit:
    """Fit one rate to the mean of `differing` for the distances 1, 2, 3, with these numbers."""
    there = found.isel(distance=slice(1, None)).mean("seed")
    return fit_emergence(
        found.step.values.astype(float), np.clip(there.values, 0.0, 1.0),
        n=there.distance.values.astype(float), chance=CHANCE,
    )  # fmt: skip


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh the order of distances, the suddenness, and the law."""
    kept, trained = reading.trained(data)
    found = accuracies(kept).dropna("seed")
    if found.sizes["seed"] == 0:
        return [trained]
    when, fitted = reading.settled(found), law(differing(kept).sel(seed=found.seed))
    orders = []
    for n in (2, 3):
        far, near = (when.sel(distance=each, drop=True) for each in (n, n - 1))
        never = int(np.isinf(far.values).sum())
        orders.append(
            reading.at_least(
                f"Classes {n} concepts from the first are drawn later than those {n - 1} from it: "
                "log of how many times later they stay above one half.",
                SOURCE,
                LATER,
                reading.later(far, near, data),
                f"{never} of {far.size} models never draw them.",
            )
        )
    products, additive = (each.sel(distance=CONCEPTS) for each in (found, sums(kept)))
    sharper = _sharpness(products) - _sharpness(additive.sel(seed=found.seed))
    return [
        trained,
        *orders,
        reading.at_least(
            "What looks sudden is a product: largest rise between two checkpoints as a share of "
            "the whole rise, of the product over concepts less that of their mean, farthest class.",
            SOURCE,
            0.02,
            sharper,
            "",
        ),
        Claim(
            "Accuracies follow the law of independent concepts with one rate for all distances: "
            "least share of variance that it explains, over distances, of the product of the "
            "concepts that set classes apart.",
            "Okawa et al. (NeurIPS 2023), the law; fitted here",
            0.5,
            float(np.nanmin(fitted.r2)),
            0.0,
            relation="at least",
            note=f"Rate {fitted.rate:.2g} a step; by distance "
            + ", ".join(f"{r2:.2f}" for r2 in fitted.r2)
            + ". Chance is one half of each concept. Concepts that don't set a class apart are "
            "left out.",
        ),
        *reading.readers(data),
    ]


def _sharpness(found: xr.DataArray) -> xr.DataArray:
    """Return the largest rise between checkpoints as a share of the whole one, for each run."""
    values = found.transpose("seed", "step").values
    whole = values.max(axis=1) - values[:, 0]
    rises = np.diff(values, axis=1).max(axis=1)
    share = np.divide(rises, whole, out=np.full(len(whole), np.nan), where=whole > 0.05)
    return xr.DataArray(share, dims="seed")


def figure(data: xr.Dataset) -> Figure:
    """Draw accuracies by distance, and products beside the law."""
    drawn, axes = plots.mosaic("AB", 3.0, sharey=True)
    kept, _ = reading.trained(data)
    found = accuracies(kept).dropna("seed")
    if found.sizes["seed"]:
        _draw_distances(axes["A"], found, sums(kept).sel(seed=found.seed))
        _draw_law(axes["B"], differing(kept).sel(seed=found.seed))
    for ax in axes.values():
        ax.set(xlabel="steps", ylim=(-0.03, 1.03))
        reading.legend(
            ax, title="concepts that differ", title_fontsize=7, ncols=5, columnspacing=1.0,
            handlelength=1.6, loc="lower center", bbox_to_anchor=(0.5, 0.98),
        )  # fmt: skip
    axes["A"].set_ylabel("all concepts right")
    return drawn


def _draw_distances(ax: Axes, found: xr.DataArray, additive: xr.DataArray) -> None:
    for n in range(CONCEPTS + 1):
        ax.plot(found.step, found.sel(distance=n).mean("seed"), label=f"{n}", **plots.look(n))
    farthest = additive.sel(distance=CONCEPTS).mean("seed")
    style: dict[str, Any] = plots.look(CONCEPTS) | {"linestyle": ":", "linewidth": 0.9}
    ax.plot(found.step, farthest, label=f"{CONCEPTS}, mean", **style)


def _draw_law(ax: Axes, found: xr.DataArray) -> None:
    fitted = law(found).fitted
    for n in range(1, CONCEPTS + 1):
        look = plots.look(n)
        ax.plot(found.step, found.sel(distance=n).mean("seed"), label=f"{n}", **look)
        ax.plot(found.step, fitted[n - 1], color=look["color"], linewidth=0.7, alpha=0.8)
