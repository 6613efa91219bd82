"""Hidden units shared with an auxiliary task: ReLU networks that reuse them, or do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.recommendation.methods import MULTI, PROBING, SINGLE
from partwhole.study import (
    Arrays,
    Cells,
    Config,
    Estimate,
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
    KERNEL,
    MEDIUM,
    RANDOM,
    SMALL,
    TANGENT,
    by_run,
    learned,
    tuned,
)  # fmt: skip

NONE, HALF, MOST, ALL = "none shared", "half shared", "five shared", "all shared"
CORRELATIONS = {NONE: [0] * 6, HALF: [1, 1, 1, 0, 0, 0], MOST: [1] * 5 + [0], ALL: [1] * 6}
TUNED = tuned(1.0)
METHODS = [SINGLE, MULTI, TUNED, PROBING, TANGENT]
# What does without an auxiliary task does so whatever is shared: it is fitted once, to more seeds.
ALONE, KERNELS = "alone", [RANDOM, KERNEL]


def _cells(scale: Config, seeds: int, kernel_seeds: int, sizes: Sequence[int]) -> list[Config]:
    """Return a cell for each task and number of samples."""
    tasks = [
        {"task": task, "correlations": correlations, "ways": METHODS, "seeds": list(range(seeds))}
        for task, correlations in CORRELATIONS.items()
    ]
    alone = {"task": ALONE, "correlations": [0] * 6, "ways": KERNELS}
    tasks.append(alone | {"seeds": list(range(kernel_seeds))})
    return [scale | task | {"magnitude": 1.0, "n": n} for task in tasks for n in sizes]


PRESETS = {
    "quick": _cells(SMALL, 5, 20, (32, 64)),
    "laptop": _cells(MEDIUM, 3, 20, (32, 64, 128)),
    "paper": _cells(FULL, 6, 20, (16, 32, 64, 128, 256, 512)),
}


def cell(config: Config) -> Arrays:
    """Return errors over the variance of the targets, shape (ways, seeds)."""
    return learned(config)


def gather(cells: Cells) -> xr.Dataset:
    names = {"final": "", "left": "", "least": ""}
    data = layout(by_run(cells), names, over=["task", "n", "way", "seed"]).sortby("n")
    # Of regression, the least over penalties, as published.
    error = data.least.fillna(data.final)
    return data.assign(error=error).assign_attrs(hidden=cells[0][0]["hidden"])


def kernel_ratio(data: xr.Dataset, n: int) -> Estimate:
    """Return the error of the initial tangent kernel over that published, a mean over tasks."""
    paper = published(__file__, ["task", "way", "n"]).error.sel(way=RANDOM, n=n).mean("task")
    return mean(data.error.sel(task=ALONE, way=KERNEL, n=n) / float(paper), within=(0.0, np.inf))


def numbers(data: xr.Dataset) -> dict[str, Any]:
    errors = data.error.sel(n=64)
    none, half, full = (errors.sel(task=task) for task in (NONE, HALF, ALL))
    least = data.least.mean("seed")
    tangents = [least.sel(way=TANGENT) / least.sel(way=PROBING) - 1]
    tangents.append(least.sel(way=KERNEL) / least.sel(way=RANDOM) - 1)
    return {
        "hidden": int(data.attrs["hidden"]),
        "single": mean(100 * full.sel(way=SINGLE), within=(0.0, np.inf)),
        "tuned": mean(100 * full.sel(way=TUNED), within=(0.0, np.inf)),
        "kernel_left": mean(100 * errors.sel(task=ALONE, way=KERNEL), within=(0.0, np.inf)),
        "none_gain": geometric_mean(none.sel(way=TUNED) / none.sel(way=SINGLE)),
        "all_gain": geometric_mean(full.sel(way=TUNED) / full.sel(way=SINGLE)),
        "half_probing": geometric_mean(half.sel(way=PROBING) / half.sel(way=TUNED)),
        "kernel": kernel_ratio(data, 64),
        "tangents": np.concatenate([ratio.values[np.isfinite(ratio)] for ratio in tangents]),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CD", 5.8, sharey=True, sharex=True)
    n = data.n.values
    # Beside our errors, not on them.
    paper = published(__file__, ["task", "way", "n"]).error.sel(n=n)
    paper = paper.assign_coords(n=1.1 * paper.n)
    titles = {NONE: "No unit shared", HALF: "Three of six", MOST: "Five of six", ALL: "All six"}
    kernel = data.error.sel(task=ALONE, way=[KERNEL])
    # Published errors of regression on initial hidden units stand for those of the kernel.
    kernel_paper = paper.sel(way=[RANDOM]).assign_coords(way=[KERNEL])
    names = {TUNED: "finetuning", KERNEL: "single-task kernel"}
    for letter, (task, title) in zip("ABCD", titles.items(), strict=True):
        at = {"task": task, "way": METHODS[:-1]}
        for measured, reference, shift in (
            (data.error.sel(at), paper.sel(at), 0),
            (kernel, kernel_paper.sel(task=task), len(METHODS) - 1),
        ):
            series(
                axes[letter], "n", by="way", measured=measured, published=reference, names=names,
                words={"measured": "reproduced"}, shift=shift,
            )  # fmt: skip
        axes[letter].set_title(title)
    for letter, ax in axes.items():
        ax.set(xscale="log", yscale="log", xlim=(n[0] / 1.3, n[-1] * 1.4), ylim=(None, 4))
        ax.set_xticks([], minor=True)
        ax.set_xticks(n, labels=[str(size) for size in n])
        ax.set_xlabel("samples" if letter in "CD" else "")
        ax.set_ylabel("test error / variance" if letter in "AC" else "")
    return key(drawn, columns=3)
