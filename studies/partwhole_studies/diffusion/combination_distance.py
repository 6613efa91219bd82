"""Combinations of three concepts, by the number of concepts in which they are new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.measures.concepts import fit_emergence
from partwhole.measures.concepts.law import EmergenceFit
from partwhole.study import Cells, Config, key, mean
from partwhole.study.plots import look, mosaic
from partwhole_studies.costs import of_model, seconds_of
from partwhole_studies.diffusion import concept_readings as readings
from partwhole_studies.diffusion.concept_models import PAPER, POINTS
from partwhole_studies.diffusion.concept_models import train as train
from partwhole_studies.diffusion.training_sets import classes

CONCEPTS = 3
CHANCE = 0.5
COLOUR, BACKGROUND = 0.6, 0.25


def _cells(kind: Config, seeds: int) -> list[Config]:
    kind = kind | {"colour": COLOUR, "background": BACKGROUND}
    return [kind | {"seed": seed} for seed in range(seeds)]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, 1),
    "laptop": _cells(POINTS, 20),
    "paper": _cells(PAPER | {"words": True}, 5),
}
seconds = seconds_of(of_model)
ON_GPU = True
cell = train


def gather(cells: Cells) -> xr.Dataset:
    return readings.gather(cells, "colour").isel(colour=0)


def by_distance(accuracy: Callable[[str, tuple[int, ...]], xr.DataArray]) -> xr.DataArray:
    """Return the mean over the classes at each distance from the first, (distance, seed, step)."""
    distances = []
    for n in range(CONCEPTS + 1):
        names = {name: c for name, c in classes(CONCEPTS).items() if sum(c) == n}
        values = [accuracy(name, corner) for name, corner in names.items()]
        distances.append(xr.concat(values, "class").mean("class", skipna=False))
    stacked = xr.concat(distances, xr.DataArray(np.arange(CONCEPTS + 1), dims="distance"))
    return stacked.transpose("distance", "seed", "step")


def products(data: xr.Dataset) -> xr.DataArray:
    """Return multiplicative accuracies."""
    return by_distance(lambda name, corner: readings.accuracy(data, name))


def averages(data: xr.Dataset) -> xr.DataArray:
    """Return the mean accuracy over concepts instead of the product."""

    def average(name: str, corner: tuple[int, ...]) -> xr.DataArray:
        errors = abs(readings.means(data, name) - readings.corner_of(data, corner))
        return (1.0 - errors).mean("concept", skipna=False)

    return by_distance(average)


def differing(data: xr.Dataset) -> xr.DataArray:
    """Return products over those concepts alone in which a class differs from the first."""

    def product(name: str, corner: tuple[int, ...]) -> xr.DataArray:
        new = [concept for concept, v in zip(data.concept.values, corner, strict=True) if v]
        return readings.means(data, name).sel(concept=new).prod("concept", skipna=False)

    return by_distance(product)


def law(accuracy: xr.DataArray) -> EmergenceFit:
    """Fit one rate of the law of independent concepts to (distance, step), distances 1 to 3."""
    return fit_emergence(
        accuracy.step.values.astype(float),
        np.clip(accuracy.isel(distance=slice(1, None)).values, 0.0, 1.0),
        n=np.arange(1.0, CONCEPTS + 1), chance=CHANCE,
    )  # fmt: skip


def sharpness(accuracy: xr.DataArray) -> np.ndarray:
    """Return the largest rise between two checkpoints over the total rise, for each model."""
    values = accuracy.transpose("seed", "step").values
    whole = values.max(axis=1) - values[:, 0]
    rises = np.diff(values, axis=1).max(axis=1)
    return np.divide(rises, whole, out=np.full(len(whole), np.nan), where=whole > 0.05)


def numbers(data: xr.Dataset) -> dict[str, Any]:
    runs = readings.learned(data)
    complete = runs.dropna("seed")
    accuracy = products(runs)
    times = readings.settled(accuracy)
    logs = xr.apply_ufunc(np.log, readings.capped(times, data)).mean("seed")
    typical = np.exp(logs.values).tolist()
    in_order = typical[1] < typical[2] < typical[3]
    unlearned = (times == np.inf).any("seed")
    farthest = {"distance": CONCEPTS}
    sharper = sharpness(accuracy.sel(farthest)) - sharpness(averages(runs).sel(farthest))
    explained = [
        float(np.nanmin(law(differing(complete).isel(seed=k)).r2))
        for k in range(complete.sizes["seed"])
    ]

    farther, nearer = (times.sel(distance=n, drop=True) for n in (3, 2))
    return {
        "third": readings.later(farther, nearer, data),
        "sharper": mean(sharper, within=(-1.0, 1.0)),
        "explained": mean(np.array(explained), within=(-np.inf, 1.0)),
        "order": "learned later" if in_order else "not always learned later",
        **{
            f"time_{n}": f"at least {typical[n]:.0f}" if unlearned[n] else typical[n]
            for n in range(2, CONCEPTS + 1)
        },
        "unreadable": readings.unreadable(data),
        **readings.counts(runs),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB", 3.5, sharey=True)
    complete = readings.learned(data).dropna("seed")
    if complete.sizes["seed"]:
        accuracy = products(complete)
        for n in range(CONCEPTS + 1):
            readings.curves(axes["A"], accuracy.sel(distance=n), n, f"{n} changed")
        _draw_law(axes["B"], differing(complete).mean("seed"))
    axes["A"].set(title="All concepts", ylabel="product of accuracies")
    axes["B"].set(title="Changed concepts")
    for ax in axes.values():
        ax.set(xlabel=data.step.long_name, ylim=(-0.03, 1.03))
    return key(drawn, columns=5)


def _draw_law(ax: Axes, accuracy: xr.DataArray) -> None:
    fitted = law(accuracy).fitted
    for n in range(1, CONCEPTS + 1):
        style = look(n)
        ax.plot(accuracy.step, accuracy.sel(distance=n), **style)
        ax.plot(accuracy.step, fitted[n - 1], color=style["color"], linewidth=0.8)
    ax.plot([], [], color="0.25", linewidth=0.8, label="law")
