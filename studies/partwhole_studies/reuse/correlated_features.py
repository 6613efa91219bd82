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
FAR, NEAR = 0.8, (0.9, 0.95, 0.99, 1.0)  # correlations of main units with auxiliary ones
MAGNITUDES = (1.0, 0.1, 0.01)  # of main units over auxiliary ones
TUNED = tuned(1.0)
ALL = [SINGLE, MULTI, TUNED]
# Training loss over the variance that counts as fitted: a tenth of the errors that are compared.
UNFITTED = 0.005


def _methods(scale: Config, seeds: int, sizes: Sequence[int]) -> list[Config]:
    """Return cells of tasks as large as the auxiliary one."""
    return [
        scale
        | {"part": "methods", "correlations": [0.9] * UNITS, "magnitude": 1.0, "n": n}
        | {"aux_magnitude": 1.0, "ways": ALL, "seeds": list(range(seeds))}
        for n in sizes
    ]


def _pairs(
    scale: Config, seeds: int, sizes: Sequence[int], magnitude: float, ways: Sequence[str],
    correlation: float = FAR,
) -> list[Config]:  # fmt: skip
    """Return cells of main tasks whose units are `magnitude` times as large as auxiliary ones."""
    # Both teachers are means over their units, the main one times the magnitude. A small task
    # makes single-task learning slow, so that its steps are the larger, and units slow to turn.
    average = 1.0 / sqrt(UNITS)
    task = scale | {"part": "magnitudes", "correlations": [correlation] * UNITS}
    task |= {"magnitude": magnitude * average, "aux_magnitude": average}
    task |= {"ways": list(ways), "seeds": list(range(seeds))}
    if magnitude < 1:
        task |= {"rate": scale["rate_if_small"], "epochs": scale["epochs_if_small"]}
        task |= {"rate_single": scale["rate"] / task["magnitude"], "epochs_single": scale["epochs"]}
    if MULTI in ways:
        task |= {"rate_together": 1.0, "epochs_together": scale["epochs_of_pairs"][magnitude < 1]}
    return [task | {"n": n} for n in sizes]


def _near(scale: Config, seeds: int, sizes: Sequence[int], among: Sequence[float]) -> list[Config]:
    """Return cells of finetuning on small units that are nearer to auxiliary ones."""
    return [cell for c in among for cell in _pairs(scale, seeds, sizes, 0.01, [TUNED], c)]


QUICK = SMALL | {"epochs": 4_000, "rate_if_small": 4.0, "epochs_if_small": 7_000}
QUICK |= {"epochs_of_pairs": [600, 2_500]}  # of multi-task learning; the second if small
LAPTOP = SMALL | {
    "hidden": 300, "epochs": 12_000, "epochs_together": 600, "threshold": 1e-6,
    "pretrain_steps": 4_000, "records": 50, "rate_if_small": 2.0, "epochs_if_small": 24_000,
    "epochs_of_pairs": [1_000, 4_000],
}  # fmt: skip
PAPER = FULL | {"rate_if_small": 1.0, "epochs_if_small": FULL["epochs"]}
PAPER |= {"epochs_of_pairs": [FULL["epochs"]] * 2}
PUBLISHED = (32, 64, 128, 256, 512, 1024)
PRESETS = {
    "quick": _methods(QUICK, 5, (32, 64))
    + _pairs(QUICK, 5, (64, 256), 1.0, [TUNED])
    + _pairs(QUICK, 5, (256,), 1.0, [MULTI])
    + _pairs(QUICK, 5, (256,), 0.1, [MULTI, TUNED])
    + _pairs(QUICK, 5, (64, 256), 0.01, [SINGLE, TUNED])
    + _near(QUICK, 5, (64,), (0.99,)),
    "laptop": _methods(LAPTOP, 3, (32, 64, 128, 256))
    + _pairs(LAPTOP, 3, (64, 256), 1.0, [MULTI, TUNED])
    + _pairs(LAPTOP, 3, (64, 256), 0.1, ALL)
    + _pairs(LAPTOP, 3, (64, 256), 0.01, [SINGLE, TUNED])
    + _near(LAPTOP, 3, (64, 256), NEAR),
    "paper": _methods(PAPER, 6, (16, 32, 64, 128, 256, 512))
    + [cell for m in MAGNITUDES for cell in _pairs(PAPER, 1, PUBLISHED, m, ALL)]
    + _near(PAPER, 1, PUBLISHED, NEAR),
}


def cell(config: Config) -> Arrays:
    """Return errors over the variance of the targets, shape (ways, seeds)."""
    return learned(config)


def gather(cells: Cells) -> xr.Dataset:
    runs = []
    for config, errors in by_run(cells):
        at = {"magnitude": round(config["magnitude"] / config["aux_magnitude"], 9)}
        runs.append((config | at | {"correlation": config["correlations"][0]}, errors))
    over = ["part", "correlation", "magnitude", "n", "way", "seed"]
    data = layout(runs, {"final": "", "left": ""}, over=over).sortby(["n", "correlation"])
    return data.assign_attrs(hidden=cells[0][0]["hidden"])


def dependence(before: float | np.ndarray, correlation: float) -> np.ndarray:
    """Return the feature dependence of a unit of strength 1, by its pretrained strength."""
    return np.asarray(relu_penalty(1.0, before, correlation).feature_dependence)


def fitted(data: xr.Dataset) -> xr.DataArray:
    """Return the errors of networks that fit their samples."""
    return data.final.where(data.left <= UNFITTED)


def numbers(data: xr.Dataset) -> dict[str, Any]:
    near = data.final.sel(part="methods", correlation=0.9, magnitude=1.0, n=64)
    far = fitted(data.sel(part="magnitudes", correlation=FAR, n=256))
    small = data.sel(part="magnitudes", magnitude=0.01)
    alone = data.final.sel(part="magnitudes", correlation=FAR, magnitude=0.01, way=SINGLE)
    nearer = fitted(small.sel(way=TUNED, n=64)) / alone.sel(n=64)
    multi = far.sel(way=MULTI) / far.sel(way=TUNED)
    return {
        "hidden": int(data.attrs["hidden"]),
        "single": mean(100 * near.sel(way=SINGLE), within=(0.0, np.inf)),
        "tuned": mean(100 * near.sel(way=TUNED), within=(0.0, np.inf)),
        "tuned_gain": geometric_mean(near.sel(way=TUNED) / near.sel(way=SINGLE)),
        "over_multi": geometric_mean(near.sel(way=TUNED) / near.sel(way=MULTI)),
        "gain_small": geometric_mean(far.sel(magnitude=0.01, way=TUNED) / alone.sel(n=256)),
        "gain_99": geometric_mean(nearer.sel(correlation=0.99)),
        "multi_large": geometric_mean(multi.sel(magnitude=1.0)),
        "multi_tenth": geometric_mean(multi.sel(magnitude=0.1)),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CD;EE", 8.4)
    paper = published(__file__, ["part", "correlation", "magnitude", "way", "n"]).error
    methods = {"part": "methods", "correlation": 0.9, "magnitude": 1.0, "way": ALL}
    pairs = {"part": "magnitudes", "correlation": FAR}
    alone = pairs | {"magnitude": 0.01, "way": [SINGLE]}
    finetuned = pairs | {"magnitude": [1.0, 0.01], "way": TUNED}
    titles = {"A": "Correlated .9, as large", "B": "Correlated .8"}
    names = {TUNED: "finetuning", 1.0: "finetuning, as large", 0.01: "finetuning, 1/100 as large"}
    words = {"measured": "reproduced"}
    drawings = ("A", methods, "way", 0), ("B", alone, "way", 0), ("B", finetuned, "magnitude", 3)
    for letter, at, by, shift in drawings:
        ax = axes[letter]
        measured = data.final.sel(at).dropna("n", how="all")
        sizes = measured.n.values
        papers = paper.sel(at | {"n": np.intersect1d(sizes, paper.n)})
        papers = papers.assign_coords(n=1.08 * papers.n)  # beside our errors, not on them
        series(ax, "n", by=by, measured=measured, published=papers, names=names, words=words,
               shift=shift)  # fmt: skip
        ax.set(xscale="log", yscale="log", xlim=(sizes[0] / 1.3, sizes[-1] * 1.4))
        ax.set_xticks([], minor=True)
        ax.set_xticks(sizes, labels=[str(n) for n in sizes])
        ax.set(title=titles[letter], ylim=(None, 1.5), xlabel="samples")
    sizes = pairs | {"n": 256, "way": ALL}
    papers = paper.sel(sizes | {"way": [SINGLE, TUNED]})
    series(
        axes["C"], "magnitude", by="way", measured=fitted(data).sel(sizes),
        published=papers.reindex(way=ALL).assign_coords(magnitude=1.12 * papers.magnitude),
        names=names, words=words,
    )  # fmt: skip
    axes["C"].set(title="Correlated .8, n = 256", xscale="log", xlabel="main / auxiliary size")
    at = {"part": "magnitudes", "magnitude": 0.01, "way": TUNED, "n": 64}
    angles = [
        errors.sel(at).assign_coords(correlation=np.degrees(np.arccos(errors.correlation)) + aside)
        for errors, aside in ((fitted(data), 0.0), (paper, 0.8))
    ]
    measured, papers = (e.rename(correlation="angle").expand_dims(way=[TUNED]) for e in angles)
    series(axes["D"], "angle", by="way", measured=measured, published=papers, names=names,
           words=words, shift=2)  # fmt: skip
    axes["D"].set(title="1/100 as large, n = 64", xlabel="degrees between units")
    for letter in "ABCD":
        axes[letter].set_ylabel("test error / variance" if letter in "AC" else "")
    for letter in "CD":
        axes[letter].set_yscale("log")
    before, drawn_at = np.geomspace(1e-2, 1e3, 301), [1.0, FAR]
    curves = [dependence(before, correlation) for correlation in drawn_at]
    curves = xr.DataArray(curves, {"correlation": drawn_at, "before": before})
    angles = {1.0: "same direction", 0.8: "correlated .8"}
    series(axes["E"], "before", by="correlation", theory=curves, names=angles, shift=5)
    axes["E"].axhline(0, color=QUIET, linewidth=0.8)
    for magnitude in (1, 100):
        axes["E"].axvline(magnitude, color=QUIET, linewidth=0.8, linestyle=":")
    axes["E"].set(xscale="log", xlabel="pretrained strength / strength of the main unit")
    axes["E"].set_ylabel("feature dependence")
    return key(drawn, columns=3)
