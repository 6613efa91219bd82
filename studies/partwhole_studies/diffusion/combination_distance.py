"""Combinations of three or six concepts, by the number of concepts in which they are new."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.study import Cells, Config, key, mean
from partwhole.study.plots import look, mosaic
from partwhole_studies.costs import of_model, seconds_of
from partwhole_studies.diffusion import concept_readings as readings
from partwhole_studies.diffusion.concept_models import PAPER, POINTS
from partwhole_studies.diffusion.concept_models import train as train
from partwhole_studies.diffusion.training_sets import classes

# Separations of colour, of size and of further concepts: the published three, and six as far apart.
THREE: Config = {"colour": 0.6, "size": 0.4, "further": {"background": 0.25}}
SIX: Config = {
    "colour": 0.4, "size": 0.4,
    "further": {"background": 0.4, "kind": 0.4, "row": 0.4, "column": 0.4},
}  # fmt: skip


def _cells(kind: Config, seeds: int) -> list[Config]:
    return [kind | space | {"seed": seed} for space in (THREE, SIX) for seed in range(seeds)]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, 1),
    "laptop": _cells(POINTS, 20),
    "paper": _cells(PAPER | {"words": True}, 5),
}
seconds = seconds_of(of_model)
ON_GPU = True
cell = train


def gather(cells: Cells) -> xr.Dataset:
    """Return accuracies by distance from the first class, of models that learned their classes."""
    spaces = [[c for c in cells if c[0]["further"] == s["further"]] for s in (THREE, SIX)]
    read = [readings.gather(part, "colour").isel(colour=0, drop=True) for part in spaces if part]
    concepts = xr.DataArray([data.sizes["concept"] for data in read], dims="concepts")
    learned = [xr.Dataset({"accuracy": by_distance(readings.learned(data))}) for data in read]
    data = xr.concat(learned, concepts.rename("concepts"), join="outer")
    data.step.attrs["long_name"] = read[0].step.long_name
    return data.assign_attrs(
        kind="images" if "scores" in read[0] else "points",
        unreadable="".join(map(readings.unreadable, read[:1])),
    )


def by_distance(runs: xr.Dataset) -> xr.DataArray:
    """Return the means over the classes at each distance from the first.

    By measure: the product of the accuracies of all concepts, their mean, and the product over
    those concepts alone in which a class differs from the first.
    """
    named = classes(runs.sizes["concept"])
    corners = xr.DataArray(
        np.array(list(named.values())),
        {"prompt": list(named), "concept": runs.concept.values},
    )
    accuracy = 1.0 - abs(runs.coordinates.mean("sample") - corners)
    measures = {
        "product": accuracy.prod("concept", skipna=False),
        "mean": accuracy.mean("concept", skipna=False),
        "changed": accuracy.where(corners == 1, 1.0).prod("concept", skipna=False),
    }
    measure = xr.DataArray(list(measures), dims="measure", name="measure")
    stacked = xr.concat(list(measures.values()), measure)
    grouped = stacked.assign_coords(distance=corners.sum("concept")).groupby("distance")
    return grouped.mean("prompt", skipna=False).transpose("measure", "distance", "seed", "step")


def of(data: xr.Dataset, n: int, measure: str = "product") -> xr.DataArray:
    """Return accuracies with n concepts, (distance, seed, step), of models that learned."""
    values = data.accuracy.sel(concepts=n, measure=measure, drop=True).isel(distance=slice(n + 1))
    return values.dropna("seed")


def times(data: xr.Dataset, n: int) -> xr.DataArray:
    """Return the steps from which products stay above one half, (distance, seed)."""
    return readings.settled(of(data, n))


def independent(data: xr.Dataset, n: int) -> xr.DataArray:
    """Return what accuracies were if concepts were learned independently of one another.

    It is the accuracy of one changed concept, in training classes, to the power of the distance.
    """
    changed = of(data, n, "changed")
    return changed.sel(distance=1, drop=True) ** changed.distance


def sharpness(accuracy: xr.DataArray) -> np.ndarray:
    """Return the largest rise between two checkpoints over the total rise, for each model."""
    values = accuracy.transpose("seed", "step").values
    whole = values.max(axis=1) - values[:, 0]
    rises = np.diff(values, axis=1).max(axis=1)
    return np.divide(rises, whole, out=np.full(len(whole), np.nan), where=whole > 0.05)


def numbers(data: xr.Dataset) -> dict[str, Any]:
    three, six = (times(data, n) for n in (3, 6))
    logs = xr.apply_ufunc(np.log, readings.capped(six, data)).mean("seed")
    typical = np.exp(logs.values).tolist()
    in_order = all(a < b for a, b in pairwise(typical[2:]))
    unlearned = (six == np.inf).any("seed").values
    predicted = readings.settled(independent(data, 6)).sel(distance=6)
    product, average = (of(data, 6, name).sel(distance=6) for name in ("product", "mean"))
    return {
        "third": readings.later(three.sel(distance=3), three.sel(distance=2), data),
        "sharper": mean(sharpness(product) - sharpness(average), within=(-1.0, 1.0)),
        "independent": readings.later(six.sel(distance=6), predicted, data),
        "order": "learned later" if in_order else "not always learned later",
        **{
            f"time_{n}": f"at least {typical[n]:.0f}" if unlearned[n] else typical[n]
            for n in (2, 6)
        },
        "learned": three.sizes["seed"] + six.sizes["seed"],
        "models": 2 * data.sizes["seed"],
        "kind": data.kind,
        "unreadable": data.unreadable,
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB", 3.9, sharey=True)
    for n, panel in zip((3, 6), "AB", strict=True):
        ax, runs = axes[panel], of(data, n)
        if runs.sizes["seed"]:
            _draw(ax, runs.mean("seed"), independent(data, n).mean("seed"))
        ax.set(title=f"{n} concepts", xlabel=data.step.long_name, ylim=(-0.03, 1.03))
    axes["A"].set(ylabel="product of accuracies")
    return key(drawn, columns=4)


def _draw(ax: Axes, accuracy: xr.DataArray, predicted: xr.DataArray) -> None:
    for n in accuracy.distance.values:
        ax.plot(accuracy.step, accuracy.sel(distance=n), label=f"{n} changed", **look(int(n)))
    thin = {"color": "0.25", "linewidth": 0.9, "label": "if independent"}
    ax.plot(accuracy.step, predicted.isel(distance=-1), **thin)
