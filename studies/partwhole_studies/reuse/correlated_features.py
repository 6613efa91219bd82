"""Units near those of an auxiliary task: conditions under which ReLU networks gain from them."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.limits.penalties.relu import relu_penalty
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
TUNED = tuned(1.0)
# Training loss over the variance that counts as fitted: a tenth of the errors that are compared.
UNFITTED = 0.005


def _methods(scale: Config, seeds: int, sizes: Sequence[int]) -> list[Config]:
    """Return cells of tasks as large as the auxiliary one."""
    return [
        scale
        | {"part": "methods", "correlations": [0.9] * UNITS, "magnitude": 1.0, "n": n}
        | {"aux_magnitude": 1.0, "ways": [SINGLE, MULTI, TUNED], "seeds": list(range(seeds))}
        for n in sizes
    ]


def _magnitudes(scale: Config, seeds: int, sizes: Sequence[int]) -> list[Config]:
    """Return cells of main tasks as large as the auxiliary one, and a hundredth as large."""
    # Both teachers are means over their units, the main one times the magnitude. A small task
    # makes single-task learning slow, so that its steps are the larger, and units slow to turn.
    average = 1.0 / sqrt(UNITS)
    shared = scale | {"part": "magnitudes", "correlations": [0.8] * UNITS}
    shared |= {"aux_magnitude": average, "seeds": list(range(seeds))}
    large = {"magnitude": average, "ways": [TUNED]}
    small = {"magnitude": 0.01 * average, "ways": [SINGLE, TUNED]}
    small |= {"rate": scale["rate_if_small"], "rate_single": scale["rate"] / (0.01 * average)}
    small |= {"epochs": scale["epochs_if_small"], "epochs_single": scale["epochs"]}
    return [shared | task | {"n": n} for task in (large, small) for n in sizes]


QUICK = SMALL | {"epochs": 4_000, "rate_if_small": 4.0, "epochs_if_small": 7_000}
LAPTOP = SMALL | {
    "hidden": 300, "epochs": 12_000, "epochs_together": 600, "threshold": 1e-6,
    "pretrain_steps": 4_000, "records": 50, "rate_if_small": 2.0, "epochs_if_small": 24_000,
}  # fmt: skip
PAPER = FULL | {"rate_if_small": 1.0, "epochs_if_small": FULL["epochs"]}
PRESETS = {
    "quick": _methods(QUICK, 5, (32, 64)) + _magnitudes(QUICK, 5, (64, 256)),
    "laptop": _methods(LAPTOP, 3, (32, 64, 128, 256)) + _magnitudes(LAPTOP, 3, (64, 256)),
    "paper": _methods(PAPER, 6, (16, 32, 64, 128, 256, 512))
    + _magnitudes(PAPER, 1, (32, 64, 128, 256, 512, 1024)),
}


def cell(config: Config) -> Arrays:
    """Return errors over the variance of the targets, shape (ways, seeds)."""
    return learned(config)


def gather(cells: Cells) -> xr.Dataset:
    runs = [
        (config | {"magnitude": round(config["magnitude"] / config["aux_magnitude"], 9)}, errors)
        for config, errors in by_run(cells)
    ]
    data = layout(
        runs, {"final": "", "left": ""}, over=["part", "magnitude", "n", "way", "seed"]
    ).sortby("n")
    return data.assign_attrs(hidden=cells[0][0]["hidden"])


def dependence(before: float | np.ndarray, correlation: float) -> np.ndarray:
    """Return the feature dependence of a unit of strength 1, by its pretrained strength."""
    return np.asarray(relu_penalty(1.0, before, correlation).feature_dependence)


def numbers(data: xr.Dataset) -> dict[str, Any]:
    near = data.final.sel(part="methods", magnitude=1.0, n=64)
    small = data.sel(part="magnitudes", magnitude=0.01, n=256)
    gain = small.final.sel(way=TUNED) / small.final.sel(way=SINGLE)
    gain = gain.where(small.left.sel(way=TUNED) <= UNFITTED)
    return {
        "hidden": int(data.attrs["hidden"]),
        "single": mean(100 * near.sel(way=SINGLE), within=(0.0, np.inf)),
        "tuned": mean(100 * near.sel(way=TUNED), within=(0.0, np.inf)),
        "tuned_gain": geometric_mean(near.sel(way=TUNED) / near.sel(way=SINGLE)),
        "over_multi": geometric_mean(near.sel(way=TUNED) / near.sel(way=MULTI)),
        "gain_small": geometric_mean(gain),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CC", 6.0)
    paper = published(__file__, ["part", "magnitude", "way", "n"]).error
    methods = {"part": "methods", "magnitude": 1.0, "way": [SINGLE, MULTI, TUNED]}
    alone = {"part": "magnitudes", "magnitude": 0.01, "way": [SINGLE]}
    finetuned = {"part": "magnitudes", "magnitude": [1.0, 0.01], "way": TUNED}
    names = {TUNED: "finetuning", 1.0: "finetuning, as large", 0.01: "finetuning, 1/100 as large"}
    for ax, at, by, shift in (
        (axes["A"], methods, "way", 0),
        (axes["B"], alone, "way", 0),
        (axes["B"], finetuned, "magnitude", 3),
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
