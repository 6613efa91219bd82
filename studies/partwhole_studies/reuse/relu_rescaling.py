"""Few hidden units or many, reused or new, in ReLU networks finetuned after rescaling."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole._types import Real
from partwhole.recommendation.methods import MULTI, SINGLE
from partwhole.study import (
    Arrays,
    Cells,
    Config,
    geometric_mean,
    key,
    layout,
    mean,
    published,
    series,
)  # fmt: skip
from partwhole.study.plots import mosaic
from partwhole_studies.reuse.relu_networks import FULL, MEDIUM, SMALL, by_run, learned, tuned

UNITS = (1, 3, 6)
RESCALINGS = (10.0, 1.0, 0.1)
TITLES = {SINGLE: "Single-task", MULTI: "Multi-task"}
TITLES |= {tuned(c): f"Finetuning, c = {c:g}" for c in RESCALINGS}


def _cells(
    scale: Config,
    seeds: int,
    sizes: Sequence[int],
    units: Sequence[int] = UNITS,
    rate: Real | None = None,
) -> list[Config]:
    """Return a cell for each task and number of samples."""
    # Readouts of the main task are one over the number of its units.
    tasks = [
        {"task": f"{k} {which}", "correlations": [c] * k, "magnitude": 1.0 / sqrt(k)}
        for which, c in (("reused", 1), ("new", 0))
        for k in units
    ]
    shared = {"seeds": list(range(seeds)), "ways": [*TITLES], "rate": rate or scale["rate"]}
    return [scale | task | shared | {"n": n} for task in tasks for n in sizes]


PRESETS = {
    "quick": _cells(SMALL, 5, (32, 64), (UNITS[0], UNITS[-1])),
    "laptop": _cells(MEDIUM, 3, (32, 64, 128)),
    # As published: steps of .1 in learning few units.
    "paper": _cells(FULL, 6, (16, 32, 64, 128, 256, 512), rate=0.1),
}


def cell(config: Config) -> Arrays:
    """Return errors over the variance of the targets, shape (ways, seeds)."""
    return learned(config)


def gather(cells: Cells) -> xr.Dataset:
    data = layout(by_run(cells), {"final": "", "left": ""}, over=["task", "n", "way", "seed"])
    return data.sortby("n").assign_attrs(hidden=cells[0][0]["hidden"])


def numbers(data: xr.Dataset) -> dict[str, Any]:
    errors = data.final.sel(n=64)

    def ratio(over: str, under: str, way: str) -> xr.DataArray:
        return errors.sel(task=over, way=way) / errors.sel(task=under, way=way)

    usual, small = tuned(1.0), tuned(0.1)
    gain, gain_small = (ratio("1 new", "1 reused", way) for way in (usual, small))
    more = ratio("6 reused", "1 reused", usual)
    return {
        "hidden": int(data.attrs["hidden"]),
        "small_left": mean(100 * errors.sel(task="1 reused", way=small), within=(0.0, np.inf)),
        "units_small": geometric_mean(ratio("6 reused", "1 reused", small)),
        "nested": geometric_mean(more / ratio("6 reused", "1 reused", MULTI)),
        "gain": geometric_mean(gain),
        "gain_small": geometric_mean(gain_small),
        "reuse": geometric_mean(gain_small / gain),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB.;CDE", 5.8, sharey=True, sharex=True)
    n = data.n.values
    paper = published(__file__, ["task", "way", "n"]).error.sel(n=n)
    paper = paper.assign_coords(n=1.1 * paper.n)  # beside our errors, not on them
    names = {f"{k} {which}": f"{k} {which} unit{'s' * (k > 1)}" for k in UNITS
             for which in ("reused", "new")}  # fmt: skip
    for letter, (way, title) in zip("ABCDE", TITLES.items(), strict=True):
        series(
            axes[letter], "n", by="task", measured=data.final.sel(way=way),
            published=paper.sel(way=way), names=names, words={"measured": "reproduced"},
        )  # fmt: skip
        axes[letter].set_title(title)
    for letter, ax in axes.items():
        ax.set(xscale="log", yscale="log", xlim=(n[0] / 1.3, n[-1] * 1.4), ylim=(None, 4))
        ax.set_xticks([], minor=True)
        ax.set_xticks(n, labels=[str(size) for size in n])
        ax.set_xlabel("samples" if letter in "CDE" else "")
        ax.set_ylabel("test error / variance" if letter in "AC" else "")
    return key(drawn)
