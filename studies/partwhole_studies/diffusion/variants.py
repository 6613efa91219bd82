"""Diffusion models from small initial weights and with more weight decay, as published ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.study import Cells, Config, key, proportion
from partwhole.study.plots import panels
from partwhole_studies.costs import of_model, seconds_of
from partwhole_studies.diffusion import concept_readings as readings
from partwhole_studies.diffusion.concept_models import PAPER, POINTS
from partwhole_studies.diffusion.concept_models import train as train
from partwhole_studies.diffusion.training_sets import UNSEEN

# Factor of the initial weights, and weight decay.
VARIANTS = {
    "published": (1.0, 0.01),
    "initial scale 0.1": (0.1, 0.01),
    "weight decay 0.05": (1.0, 0.05),
}
# Separations of colours, and the concept that has the weaker signal then; sizes lie .4 apart.
WEAKER = {0.247: "colour", 0.689: "size"}
STRONGER = {0.247: "size", 0.689: "colour"}


def _cells(kind: Config, seeds: int) -> list[Config]:
    return [
        kind | {"variant": name, "initial_scale": scale, "colour": colour, "seed": seed}
        | {"recipe": kind["recipe"] | {"weight_decay": decay}}
        for seed in range(seeds)
        for colour in WEAKER
        for name, (scale, decay) in VARIANTS.items()
    ]  # fmt: skip


LONGER: Config = POINTS | {"steps": 1600, "checkpoints": 24}  # than from larger weights
PRESETS: dict[str, list[Config]] = {
    "quick": _cells(LONGER, 1),
    "laptop": _cells(LONGER, 10),
    "paper": _cells(PAPER, 5),
}
seconds = seconds_of(of_model)
ON_GPU = True
cell = train


def gather(cells: Cells) -> xr.Dataset:
    return readings.averaged(readings.gather(cells, "variant", "colour"))


def times(runs: xr.Dataset) -> xr.DataArray:
    """Return the steps to half of each concept of the unseen combination, by setting and model.

    Along "side", the concepts with the weaker and the stronger signal.
    """
    settled = readings.settled(readings.means(runs, UNSEEN))
    colours = list(WEAKER)
    sides = [
        settled.sel(colour=colours, concept=xr.DataArray(names, dims="colour"))
        for names in ([*WEAKER.values()], [*STRONGER.values()])
    ]
    side = xr.DataArray(["weaker", "stronger"], dims="side", name="side")
    return xr.concat([times.drop_vars("concept") for times in sides], side)


def changed(logs: xr.DataArray, variant: str) -> xr.DataArray:
    """Return what a variant adds to logs of the published recipe, mean over colours, by seed."""
    published = logs.sel(variant="published", drop=True)
    return (logs.sel(variant=variant, drop=True) - published).mean("colour", skipna=False)


def numbers(data: xr.Dataset) -> dict[str, Any]:
    runs = readings.learned(data)
    _, small, decayed = VARIANTS
    weaker, stronger = reached = times(runs)
    in_order = (weaker > stronger).sel(variant=[small, decayed])
    learned = weaker.notnull().sel(variant=[small, decayed])
    weaker, stronger = np.log(readings.capped(reached, data))
    return {
        "order": proportion(int((in_order & learned).sum()), int(learned.sum())),
        "apart": readings.ratio(changed(weaker - stronger, small)),
        "later": readings.ratio(changed(weaker, small)),
        "decayed": readings.ratio(changed(weaker, decayed)),
        **readings.counts(runs),
    }


def figure(data: xr.Dataset) -> Figure:
    runs = readings.learned(data)
    drawn, axes = panels(len(WEAKER), len(VARIANTS), 4.8, sharex=True, sharey=True)
    for row, colour in zip(axes, WEAKER, strict=True):
        for ax, variant in zip(row, VARIANTS, strict=True):
            path = readings.means(runs.sel(variant=variant, colour=colour), UNSEEN)
            for k, concept in enumerate(("colour", "size")):
                readings.curves(ax, path.sel(concept=concept).dropna("seed"), k, concept)
            ax.set(xscale="log", ylim=(-0.03, 1.03), xlabel=data.step.long_name)
        row[0].set(ylabel=f"colours {colour:g} apart")
    for ax, variant in zip(axes[0], VARIANTS, strict=True):
        ax.set(title=variant.capitalize(), xlabel="")
    return key(drawn, columns=2)
