"""The path of a diffusion model through concept space, to a combination it was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.study import Cells, Config, key, mean, proportion
from partwhole.study.estimates import by_seed
from partwhole.study.plots import look, mosaic
from partwhole_studies.costs import of_model, seconds_of
from partwhole_studies.diffusion import concept_readings as readings
from partwhole_studies.diffusion.concept_models import IMAGES, PAPER, POINTS, UNCLIPPED
from partwhole_studies.diffusion.concept_models import train as train
from partwhole_studies.diffusion.memorised_classes import memorised
from partwhole_studies.diffusion.training_sets import UNSEEN, classes

OVER = 0.25
LEVELS = (0.137, 0.247, 0.358, 0.468, 0.579, 0.689)


def _cells(kind: Config, colours: Sequence[float], seeds: int) -> list[Config]:
    kind = kind | {"over": [OVER]}
    return [kind | {"colour": c, "seed": seed} for seed in range(seeds) for c in colours]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, (LEVELS[0], LEVELS[-1]), 1),
    "laptop": _cells(IMAGES, (LEVELS[0], LEVELS[-1]), 8),
    "paper": _cells(PAPER, LEVELS, 5),
    "unclipped": _cells(UNCLIPPED, LEVELS, 5),
}
seconds = seconds_of(of_model)
ON_GPU = True
cell = train


def gather(cells: Cells) -> xr.Dataset:
    return readings.gather(cells, "colour", pictures=True)


def bumps(data: xr.Dataset) -> list[bool]:
    """Return for each model of one setting whether its error rises again, by more than noise.

    The first tenth of training is left out: samples have no shape yet.
    """
    formed = data.sel(step=data.step >= 0.1 * data.step.max())
    paths = [readings.path_of(formed.sel(seed=[seed]), UNSEEN) for seed in data.seed.values]
    return [path.bump().clear for path in paths if path is not None]


def numbers(data: xr.Dataset) -> dict[str, Any]:
    runs = readings.learned(data)
    weak = runs.isel(colour=0)
    memory = memorised(weak)
    path = readings.means(weak, UNSEEN)
    lead = path.sel(concept="size") - path.sel(concept="colour")
    lead = mean(by_seed(lead.mean("step", skipna=False)), within=(-1.0, 1.0))
    clear = bumps(weak)
    return {
        "lead": lead,
        "bumps": proportion(sum(clear), len(clear)),
        "memorised": proportion(int(memory.sum()), len(memory)),
        "misread": 0.0 if "scores" not in data
        else 1.0 - data.scores.sel(score="accuracy").mean("seed").values,
        "order": "before" if lead.value > 0 else "no earlier than",
        "ahead": abs(lead.value),
        "side": "larger" if lead.value > 0 else "smaller",
        "weakest": float(data.colour[0]),
        "rising": sum(clear),
        "weak_models": len(clear),
        "unreadable": readings.unreadable(data),
        **readings.counts(runs),
    }  # fmt: skip


def figure(data: xr.Dataset) -> Figure:
    pictures = "pictures" in data
    runs = readings.learned(data)
    drawn, axes = mosaic("AB;AB;CC" if pictures else "AB", 5.0 if pictures else 3.4)
    _draw_paths(axes["A"], runs)
    for k, colour in enumerate(data.colour.values):
        if k in (0, data.sizes["colour"] - 1):
            accuracy = readings.accuracy(runs.isel(colour=k), UNSEEN)
            readings.curves(axes["B"], accuracy, k, f"separation {colour:g}")
    axes["B"].set(xlabel=data.step.long_name, ylabel="accuracy, blue and small", ylim=(-0.03, 1.03))
    if pictures:
        _draw_pictures(axes["C"], runs)
    return key(drawn)


def _draw_paths(ax: Axes, data: xr.Dataset) -> None:
    for k, colour in enumerate(map(float, data.colour.values)):
        path = readings.path_of(data.isel(colour=k), UNSEEN)
        if path is not None:
            ax.plot(*path.mean.T, label=f"separation {colour:g}", **look(k))
            ax.plot(*path.mean[-1], **look(k, line=False))
    for name, corner in classes().items():
        up = corner[1] > 0.5
        ax.annotate(
            name, (corner[0], corner[1]), xytext=(0, 6 if up else -6), textcoords="offset points",
            ha="center", va="bottom" if up else "top", fontsize=8,
        )  # fmt: skip
        ax.plot(*corner, "*" if name == UNSEEN else ".", color="black")
    ax.set(xlim=(-0.3, 1.3), ylim=(-0.2, 1.2), xlabel="blue", ylabel="small")


def _draw_pictures(ax: Axes, data: xr.Dataset) -> None:
    """Draw samples of the first model of the weakest and of the strongest signal."""
    indices = np.unique(np.linspace(0, data.sizes["step"] - 1, 12).round().astype(int))
    data = data.isel(step=indices)
    side = data.sizes["row"]
    ends = [data.isel(colour=k).transpose("seed", "step", ...) for k in (0, -1)]
    strips = [np.concatenate(list(part.pictures.values[0]), axis=1) for part in ends]
    ax.imshow(np.concatenate(strips), interpolation="nearest")
    ax.set_xticks((np.arange(len(indices)) + 0.5) * side, labels=map(str, data.step.values))
    names = [f"{float(part.colour):g}" for part in ends]
    ax.set_yticks([0.5 * side, 1.5 * side], labels=names)
    ax.tick_params(length=0, labelsize=7)
    ax.set(xlabel=f"{data.step.long_name}, seed {int(data.seed[0])}", ylabel="separation")
