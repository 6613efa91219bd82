"""Units near those of an auxiliary task, but not the same: when ReLU networks gain from them."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.limits import relu_penalty
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
from partwhole.study.plots import QUIET, mosaic
from partwhole_studies.reuse.relu_networks import FULL, SMALL, by_run, learned, tuned

UNITS = 6
ONE = tuned(1.0)
# Training loss over the variance that counts as fitted: a tenth of the errors that are compared.
UNFITTED = 0.005


def _methods(scale: Config, seeds: int, sizes: Sequence[int]) -> list[Config]:
    """Return cells of tasks as large as the auxiliary one."""
    return [
        scale
        | {"part": "methods", "correlations": [0.9] * UNITS, "magnitude": 1.0, "n": n}
        | {"aux_magnitude": 1.0, "ways": [SINGLE, MULTI, ONE], "seeds": list(range(seeds))}
        for n in sizes
    ]


def _magnitudes(
    scale: Config, seeds: int, tasks: dict[float, dict[float, tuple[int, ...]]]
) -> list[Config]:
    """Return cells of tasks of some magnitudes and, for each, correlations and sizes."""
    # Both teachers are means over their units, the main one times the magnitude. A small task
    # makes single-task learning slow, so that its steps are the larger, and units slow to turn.
    average = 1.0 / sqrt(UNITS)
    return [
        scale
        | {"part": "magnitudes", "correlations": [correlation] * UNITS, "n": n}
        | {"magnitude": magnitude * average, "aux_magnitude": average}
        | {"rate": scale["rate"] if magnitude == 1 else scale["rate_if_small"]}
        | {"epochs": scale["epochs"] if magnitude == 1 else scale["epochs_if_small"]}
        # Steps in proportion make all magnitudes alike where no unit is pretrained.
        | {"rate_single": scale["rate"] / (magnitude * average), "epochs_single": scale["epochs"]}
        | {"ways": [SINGLE, ONE], "seeds": list(range(seeds))}
        for magnitude, correlations in tasks.items()
        for correlation, sizes in correlations.items()
        for n in sizes
    ]


QUICK = SMALL | {"hidden": 100, "epochs": 4_000, "rate_if_small": 4.0, "epochs_if_small": 8_000}
LAPTOP = SMALL | {
    "hidden": 300, "epochs": 12_000, "epochs_together": 600, "threshold": 1e-6,
    "pretrain_steps": 4_000, "records": 50, "rate_if_small": 2.0, "epochs_if_small": 24_000,
}  # fmt: skip
PAPER = FULL | {"rate_if_small": 1.0, "epochs_if_small": FULL["epochs"]}
SIZES, LARGER = (16, 32, 64, 128, 256, 512), (32, 64, 128, 256, 512, 1024)
PRESETS = {
    "quick": _methods(QUICK, 3, (32, 64))
    + _magnitudes(QUICK, 3, {1.0: {0.8: (64, 256)}, 0.01: {1.0: (64,), 0.8: (64, 256)}}),
    "laptop": _methods(LAPTOP, 3, (32, 64, 128, 256))
    + _magnitudes(
        LAPTOP, 3,
        {
            1.0: {0.9: (64, 256), 0.8: (64, 256)},
            0.01: {1.0: (64,), 0.9: (64, 256), 0.8: (64, 256)},
        },
    ),
    "paper": _methods(PAPER, 6, SIZES)
    + _magnitudes(
        PAPER, 1, {m: dict.fromkeys((1.0, 0.9, 0.8), LARGER) for m in (1.0, 0.5, 0.1, 0.05, 0.01)}
    ),
}  # fmt: skip


def cell(config: Config) -> Arrays:
    """Return errors over the variance of the targets, shape (ways, seeds)."""
    return learned(config)


def gather(cells: Cells) -> xr.Dataset:
    runs = [
        (
            config
            | {"magnitude": round(config["magnitude"] / config["aux_magnitude"], 9)}
            | {"correlation": config["correlations"][0]},
            arrays,
        )
        for config, arrays in by_run(cells)
    ]
    over = ["part", "magnitude", "correlation", "n", "way", "seed"]
    data = layout(runs, {"final": "", "best": "", "left": ""}, over=over).sortby("n")
    return data.assign_attrs(hidden=cells[0][0]["hidden"])


def dependence(before: float | np.ndarray, correlation: float) -> np.ndarray:
    """Return the feature dependence of a unit of strength 1, by its pretrained strength."""
    return np.asarray(relu_penalty(1.0, before, correlation).feature_dependence)


def numbers(data: xr.Dataset) -> dict[str, Any]:
    near = data.final.sel(part="methods", magnitude=1.0, correlation=0.9, n=64)
    near = {way: near.sel(way=way) for way in (SINGLE, MULTI, ONE)}
    turned = data.sel(part="magnitudes", correlation=0.8, n=256)
    gain = turned.final.sel(way=ONE) / turned.final.sel(way=SINGLE)
    gain = gain.where(turned.left.sel(way=ONE) <= UNFITTED)
    percent = {
        name: mean(100 * near[way], within=(0.0, np.inf))
        for name, way in (("single", SINGLE), ("multi", MULTI), ("tuned", ONE))
    }
    return percent | {
        "hidden": int(data.attrs["hidden"]),
        "tuned_gain": geometric_mean(near[ONE] / near[SINGLE]),
        "over_multi": geometric_mean(near[ONE] / near[MULTI]),
        "multi_gain": geometric_mean(near[MULTI] / near[SINGLE]),
        "gain_alike": geometric_mean(gain.sel(magnitude=1.0)),
        "gain_small": geometric_mean(gain.sel(magnitude=0.01)),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CC", 6.0)
    paper = published(__file__, ["part", "magnitude", "correlation", "way", "n"]).error
    methods = {"part": "methods", "magnitude": 1.0, "correlation": 0.9, "way": [SINGLE, MULTI, ONE]}
    turned = {"part": "magnitudes", "correlation": 0.8}
    alone = turned | {"magnitude": 0.01, "way": [SINGLE]}
    tuned_ones = turned | {"magnitude": [1.0, 0.01], "way": ONE}
    names = {ONE: "finetuning", 1.0: "finetuning, as large", 0.01: "finetuning, 1/100 as large"}
    for ax, at, by, shift in (
        (axes["A"], methods, "way", 0),
        (axes["B"], alone, "way", 0),
        (axes["B"], tuned_ones, "magnitude", 3),
    ):
        measured = data.final.sel(at).dropna("n", how="all")
        sizes = measured.n.values
        papers = paper.sel(at | {"n": np.intersect1d(sizes, paper.n)})
        papers = papers.assign_coords(n=1.08 * papers.n)  # beside our errors, not on them
        series(
            ax, "n", by=by, measured=measured, published=papers, names=names,
            words={"measured": "reproduced"}, shift=shift,
        )  # fmt: skip
        ax.set(xscale="log", yscale="log", xlim=(sizes[0] / 1.3, sizes[-1] * 1.4))
        ax.set_xticks([], minor=True)
        ax.set_xticks(sizes, labels=[str(n) for n in sizes])
        ax.set(xlabel="samples", ylabel="test error / variance")
    axes["A"].set(title="Correlated .9, as large", ylim=(None, 1.5))
    axes["B"].set(title="Correlated .8", ylim=(None, 1.5))
    before = np.geomspace(1e-2, 1e3, 301)
    curves = xr.DataArray(
        [dependence(before, correlation) for correlation in (1.0, 0.8)],
        {"correlation": [1.0, 0.8], "before": before},
    )
    angles = {1.0: "same direction", 0.8: "correlated .8"}
    series(axes["C"], "before", by="correlation", theory=curves, names=angles, shift=5)
    axes["C"].axhline(0, color=QUIET, linewidth=0.8)
    for magnitude in (1, 100):
        axes["C"].axvline(magnitude, color=QUIET, linewidth=0.8, linestyle=":")
    axes["C"].set(xscale="log", xlabel="pretrained strength / strength of the main unit")
    axes["C"].set_ylabel("feature dependence")
    return key(drawn, columns=3)
