"""Hidden units shared with an auxiliary task: ReLU networks that reuse them, or do not."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole._types import Real
from partwhole.recommendation.methods import MULTI, PROBING, SINGLE
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

NONE, HALF, ALL = "none shared", "half shared", "all shared"
CORRELATIONS = {NONE: [0] * 6, HALF: [1, 1, 1, 0, 0, 0], ALL: [1] * 6}
TUNED = tuned(1.0)
METHODS = [SINGLE, MULTI, TUNED, PROBING]
RESCALINGS = (1.0, 0.1, 10.0)


def _cells(
    scale: Config, seeds: int, sizes: Sequence[int], rate_if_reused: Real | None = None
) -> list[Config]:
    """Return a cell for each task and number of samples."""
    shared = scale | {"seeds": list(range(seeds))}
    mixes = [
        {"task": task, "correlations": correlations, "magnitude": 1.0, "ways": METHODS}
        for task, correlations in CORRELATIONS.items()
    ]
    # Readouts are one over the number of units here, one over its root above.
    reused = [
        {"task": f"{count} reused", "correlations": [1] * count, "magnitude": 1.0 / sqrt(count)}
        | {"ways": [tuned(c) for c in RESCALINGS], "rate": rate_if_reused or scale["rate"]}
        for count in (1, 6)
    ]
    return [shared | task | {"n": n} for task in mixes + reused for n in sizes]


PRESETS = {
    "quick": _cells(SMALL, 5, (32, 64)),
    "laptop": _cells(MEDIUM, 3, (32, 64, 128)),
    # As published: steps of .1 in finetuning on few units.
    "paper": _cells(FULL, 6, (16, 32, 64, 128, 256, 512), rate_if_reused=0.1),
}


def cell(config: Config) -> Arrays:
    """Return errors over the variance of the targets, shape (ways, seeds)."""
    return learned(config)


def gather(cells: Cells) -> xr.Dataset:
    data = layout(by_run(cells), {"final": "", "left": ""}, over=["task", "n", "way", "seed"])
    return data.sortby("n").assign_attrs(hidden=cells[0][0]["hidden"])


def numbers(data: xr.Dataset) -> dict[str, Any]:
    errors = data.final.sel(n=64)
    none, half, full = (errors.sel(task=task) for task in CORRELATIONS)
    six, single_unit = (errors.sel(task=task, way=tuned(0.1)) for task in ("6 reused", "1 reused"))
    return {
        "hidden": int(data.attrs["hidden"]),
        "single": mean(100 * full.sel(way=SINGLE), within=(0.0, np.inf)),
        "tuned": mean(100 * full.sel(way=TUNED), within=(0.0, np.inf)),
        "none_gain": geometric_mean(none.sel(way=TUNED) / none.sel(way=SINGLE)),
        "all_gain": geometric_mean(full.sel(way=TUNED) / full.sel(way=SINGLE)),
        "half_probing": geometric_mean(half.sel(way=PROBING) / half.sel(way=TUNED)),
        "units_small": geometric_mean(six / single_unit),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("ABC;DEF", 5.8, sharey=True, sharex=True)
    n = data.n.values
    paper = published(__file__, ["task", "way", "n"]).error.sel(n=n)
    # Beside our errors, not on them.
    paper = paper.assign_coords(n=1.1 * paper.n)
    names = {TUNED: "finetuning", "1 reused": "1 unit", "6 reused": "6 units"}
    words = {"measured": "reproduced"}
    titles = {NONE: "No unit shared", HALF: "Three of six", ALL: "All six"}
    for letter, (task, title) in zip("ABC", titles.items(), strict=True):
        at = {"task": task, "way": METHODS}
        series(
            axes[letter], "n", by="way", measured=data.final.sel(at), published=paper.sel(at),
            names=names, words=words,
        )  # fmt: skip
        axes[letter].set_title(title)
    for letter, c in zip("DEF", RESCALINGS, strict=True):
        at = {"task": ["1 reused", "6 reused"], "way": tuned(c)}
        series(
            axes[letter], "n", by="task", measured=data.final.sel(at), published=paper.sel(at),
            names=names, words=words, shift=4,
        )  # fmt: skip
        axes[letter].set_title(f"Reused, c = {c:g}")
    for letter, ax in axes.items():
        ax.set(xscale="log", yscale="log", xlim=(n[0] / 1.3, n[-1] * 1.4), ylim=(None, 4))
        ax.set_xticks([], minor=True)
        ax.set_xticks(n, labels=[str(size) for size in n])
        ax.set_xlabel("samples" if letter in "DEF" else "")
        ax.set_ylabel("test error / variance" if letter in "AD" else "")
    return key(drawn)
