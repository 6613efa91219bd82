"""Hidden units shared with an auxiliary task: ReLU networks that reuse them, or do not."""

from __future__ import annotations

from collections.abc import Sequence
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
from partwhole_studies.reuse.relu_networks import (
    FULL,
    LONG,
    MEDIUM,
    ROOT,
    SCRATCH,
    SMALL,
    TANGENT,
    UNIT,
    by_run,
    learned,
    of_unit_readouts,
    tuned,
)  # fmt: skip

NONE, HALF, ALL = (0, 0, 0, 0, 0, 0), (1, 1, 1, 0, 0, 0), (1, 1, 1, 1, 1, 1)
MIXED = (
    (0.9, 0.9, 0.9, 0.9, 0.9, 0.9), (1, 1, 0.9, 0.9, 0, 0), (1, 1, 1, 0.9, 0.9, 0),
    (1, 1, 1, 1, 1, 0.9), (1, 1, 1, 1, 1, 0),
)  # fmt: skip
SIZES = (16, 32, 64, 128, 256, 512)
ONE = tuned(1.0)
METHODS = [SINGLE, MULTI, ONE, PROBING, TANGENT, SCRATCH]


def _mixes(
    scale: Config, seeds: int, mixes: Sequence[Sequence[Real]], sizes: Sequence[int]
) -> list[Config]:
    """Return a cell for each main task of six units and number of samples."""
    steps_of_one = [LONG] if scale["rate"] < 1 else []
    return [
        scale
        | {"entries": ROOT, "correlations": list(mix), "magnitude": 1.0, "n": n}
        | {"ways": METHODS + steps_of_one if mix == ALL else METHODS, "seeds": list(range(seeds))}
        for mix in mixes
        for n in sizes
    ]


def _units(
    scale: Config,
    seeds: int,
    counts: Sequence[int],
    rescalings: Sequence[Real],
    sizes: Sequence[int],
    ways: Sequence[str] = (SINGLE,),
    correlations: Sequence[int] = (1,),
) -> list[Config]:
    """Return a cell for each number of units, all reused or all new, and number of samples."""
    every = [*ways, *map(tuned, rescalings), PROBING]
    return [
        scale
        | {"entries": UNIT, "correlations": [correlation] * count, "n": n, "ways": every}
        | {"magnitude": of_unit_readouts(count), "seeds": list(range(seeds))}
        for correlation in correlations
        for count in counts
        for n in sizes
    ]


PRESETS = {
    "quick": _mixes(SMALL, 3, (NONE, HALF, ALL), (32, 64))
    + _units(SMALL, 3, (1, 6), (0.1, 1.0, 10.0), (32, 64)),
    "laptop": _mixes(MEDIUM, 3, (NONE, HALF, ALL), (32, 64, 128))
    + _units(MEDIUM, 3, (1, 6), (0.1, 1.0, 10.0), (32, 64, 128)),
    # As published: steps of .1 in finetuning on few units.
    "paper": _mixes(FULL, 6, (NONE, *MIXED, HALF, ALL), SIZES)
    + _units(
        FULL | {"rate": 0.1}, 6, (1, 2, 3, 4, 5, 6), (0.01, 0.1, 1.0, 10.0, 100.0), SIZES,
        (SINGLE, MULTI), (1, 0),
    ),
}  # fmt: skip


def cell(config: Config) -> Arrays:
    """Return errors over the variance of the targets, shape (ways, seeds)."""
    return learned(config)


def _task(config: Config) -> str:
    correlations = config["correlations"]
    if config["entries"] == ROOT:
        return _mix(correlations)
    return f"{len(correlations)} {'reused' if correlations[0] else 'new'}"


def _mix(correlations: Sequence[Real]) -> str:
    return " ".join(f"{correlation:g}" for correlation in correlations)


def gather(cells: Cells) -> xr.Dataset:
    runs = [(config | {"task": _task(config)}, arrays) for config, arrays in by_run(cells)]
    names = {"final": "", "best": "", "left": ""}
    data = layout(runs, names, over=["task", "n", "way", "seed"]).sortby("n")
    return data.assign_attrs(hidden=cells[0][0]["hidden"])


def numbers(data: xr.Dataset) -> dict[str, Any]:
    errors = data.final.sel(n=64)
    none, half, every = (errors.sel(task=_mix(mix)) for mix in (NONE, HALF, ALL))
    sparse, dense = errors.sel(task="1 reused"), errors.sel(task="6 reused")
    small, large = ((dense / sparse).sel(way=tuned(c)) for c in (0.1, 10.0))
    # The published networks take steps of 1; so does finetuning in the paper preset.
    steps_of_one = data.sel(task=_mix(ALL), n=32, way=LONG if LONG in data.way else ONE)
    percent = {
        f"{method}_{shared}": mean(100 * task.sel(way=way), within=(0.0, np.inf))
        for method, way in (("single", SINGLE), ("multi", MULTI), ("tuned", ONE))
        for shared, task in (("none", none), ("all", every))
    }
    return percent | {
        "hidden": int(data.attrs["hidden"]),
        "none_gain": geometric_mean(none.sel(way=ONE) / none.sel(way=SINGLE)),
        "all_gain": geometric_mean(every.sel(way=ONE) / every.sel(way=SINGLE)),
        "half_probing": geometric_mean(half.sel(way=PROBING) / half.sel(way=ONE)),
        "units_small": geometric_mean(small),
        "units_large": geometric_mean(large),
        "steps_end": mean(steps_of_one.final, within=(0.0, np.inf)),
        "steps_least": mean(steps_of_one.best, within=(0.0, np.inf)),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("ABC;DEF", 5.8, sharey=True, sharex=True)
    paper = published(__file__, ["task", "way", "n"]).error
    paper = paper.sel(n=[n for n in SIZES if n in data.n])
    # Beside our errors, not on them.
    paper = paper.assign_coords(n=1.1 * paper.n)
    names = {ONE: "finetuning", "1 reused": "1 unit", "6 reused": "6 units"}
    words = {"measured": "reproduced"}
    ways = [SINGLE, MULTI, ONE, PROBING]
    shared = {"A": (NONE, "No unit shared"), "B": (HALF, "Three of six"), "C": (ALL, "All six")}
    for letter, (mix, title) in shared.items():
        at = {"task": _mix(mix), "way": ways}
        series(
            axes[letter], "n", by="way", measured=data.final.sel(at), published=paper.sel(at),
            names=names, words=words,
        )  # fmt: skip
        axes[letter].set_title(title)
    for letter, c in (("D", 1.0), ("E", 0.1), ("F", 10.0)):
        at = {"task": ["1 reused", "6 reused"], "way": tuned(c)}
        series(
            axes[letter], "n", by="task", measured=data.final.sel(at), published=paper.sel(at),
            names=names, words=words, shift=4,
        )  # fmt: skip
        axes[letter].set_title(f"Reused, c = {c:g}")
    n = data.n.values
    for letter, ax in axes.items():
        ax.set(xscale="log", yscale="log", xlim=(n[0] / 1.3, n[-1] * 1.4), ylim=(None, 4))
        ax.set_xticks([], minor=True)
        ax.set_xticks(n, labels=[str(size) for size in n])
        ax.set_xlabel("samples" if letter in "DEF" else "")
        ax.set_ylabel("test error / variance" if letter in "AD" else "")
    return key(drawn)
