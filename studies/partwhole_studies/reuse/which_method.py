"""Which way to learn a main task: a map of the best method over overlap, sparsity and samples."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from partwhole.limits import DiagonalWeights
from partwhole.recommendation import predict_losses
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole.tasks import SparseTeachers
from partwhole.training import train_diagonal, train_multitask
from partwhole_studies.reuse import _paths as paths
from partwhole_studies.reuse._method_claims import (
    ACTIVE_AUX,
    DIMENSION,
    METHODS,
    MULTI,
    PROBING,
    SINGLE,
    best,
    finetuning,
    needed,
)
from partwhole_studies.reuse._method_claims import claims as claims

QUESTION = (
    "A main task shares features with an auxiliary one that is known: is it best learned alone, "
    "together with it, by probing what was learned before, or by finetuning, and with which c?"
)
SOURCE = "Lippl & Lindsey (NeurIPS 2024), figures 2 and 3; the predictions are derived here"
ANSWER = (
    "Alone where nothing is shared; by probing where all is. With half or three quarters shared "
    "and up to 128 samples no way is ahead by over 25 %. A subset of 5 of 40 features: finetuning "
    "with c = .01, 12 times ahead or more."
)
CAPTION = (
    "Top: the method with the least predicted test loss when learning has ended, against samples "
    "of the main task and (left) how many of its 40 features the auxiliary task has too, "
    "(right) how many features of the auxiliary task a main task reuses, nothing else being "
    "active. Single: single-task learning, small from weights of .00001; probe: linear probing; "
    "c: finetuning with this rescaling. Numbers: how many times larger the second best loss is "
    "(another method, or another c); the darker, the larger; hatched: the best loss is no better "
    "than nine tenths of that of answering 0. Bottom: "
    "samples needed for a loss, in units of that of answering 0, with three quarters and with all "
    "features shared; where a line ends, no more samples were tried. Multi-task learning is left "
    "out on the right, except in the paper preset."
)

INIT = READOUT = 1e-3
LITTLE = 1e-5  # initial weights of single-task learning as small as finetuning's at c = .01
RESCALINGS = (10.0, 1.0, 0.1, 0.01)
_COLOURS = ["#E69F00", "#F0E442", "#009E73", "#CC79A7", "#56B4E9", "#0072B2", "#5B4B9A", "#D55E00"]
COLOUR = dict(zip(METHODS, _COLOURS, strict=True))
SHORT = dict(
    zip(
        METHODS,
        ("single", "single\nsmall", "multi", "probe", "c = 10", "c = 1", "c = .1", "c = .01"),
        strict=True,
    )
)


def _cells(
    overlaps: tuple[int, ...],
    sparse: tuple[int, ...],
    sizes: tuple[int, ...],
    seeds: int,
    trained: list[Config],
    together: tuple[str, ...] = ("overlap",),
) -> list[Config]:
    """Return a cell for each row of both maps; together: where multi-task learning is asked for."""
    rows = [("overlap", ACTIVE_AUX, o) for o in overlaps] + [("sparsity", a, a) for a in sparse]
    predicted = [
        {
            "map": name,
            "active": active,
            "overlap": overlap,
            "sizes": list(sizes),
            "seeds": list(range(seeds)),
            "multitask": name in together,
        }
        for name, active, overlap in rows
    ]
    return [*predicted, *trained]


def _trained(cases: dict[tuple[int, int], tuple[str, ...]], seeds: int, steps: int) -> list[Config]:
    return [
        {
            "map": "trained",
            "active": ACTIVE_AUX,
            "overlap": overlap,
            "n": n,
            "method": method,
            "seeds": list(range(seeds)),
            "max_steps": steps,
        }
        for (overlap, n), methods in cases.items()
        for method in methods
    ]


FIRST = (SINGLE, PROBING, finetuning(1.0), finetuning(0.01))
FEWER = (SINGLE, finetuning(1.0), finetuning(0.01))
PRESETS: dict[str, list[Config]] = {
    "quick": _cells(
        (0, 20, 30, 40),
        (5, 10, 20),
        (32, 64, 128),
        3,
        _trained(dict.fromkeys(((0, 64), (20, 64)), FEWER), 3, 30_000),
    ),
    "laptop": _cells(
        (0, 10, 20, 30, 40),
        (5, 10, 20, 30),
        (16, 32, 64, 128, 256),
        4,
        _trained({(0, 64): FIRST, (30, 64): FIRST}, 4, 30_000),
    ),
    "paper": _cells(
        (0, 5, 10, 15, 20, 25, 30, 35, 40),
        (1, 2, 5, 10, 20, 30),
        (16, 24, 32, 48, 64, 96, 128, 192, 256, 384),
        24,
        _trained(
            {(o, n): (*FIRST, MULTI) for o in (0, 20, 30, 40) for n in (32, 64, 128)}, 6, 100_000
        ),
        together=("overlap", "sparsity"),
    ),
}


def task(config: Config) -> SparseTeachers:
    """Return the teachers of a cell: entries are 1/sqrt(40) in one map, 1/a in the other."""
    scale: Any = 1.0 / sqrt(ACTIVE_AUX) if config["map"] != "sparsity" else "1/a"
    return SparseTeachers(
        DIMENSION, ACTIVE_AUX, config["active"], config["overlap"], main_scale=scale
    )


def cell(config: Config) -> Arrays:
    """Return test losses over that of answering 0, shape (methods, sizes, seeds) if predicted."""
    teachers = task(config)
    nothing = config["active"] * teachers.main_amplitude**2
    if config["map"] == "trained":
        return {"final": _train(config, teachers) / nothing}
    sizes, seeds = config["sizes"], config["seeds"]
    together, stopped = _together(config, teachers)
    found = [
        predict_losses(
            teachers,
            sizes,
            methods=methods,
            rescalings=RESCALINGS,
            init_scale=alpha,
            seeds=seeds,
            progress=False,
        )
        for methods, alpha in (([SINGLE, PROBING, "finetuning"], INIT), ([SINGLE], LITTLE))
    ]
    usual, little = (each.losses for each in found)
    losses = [usual[:1], little, together, usual[1:]]  # in the order of METHODS
    return {
        "losses": np.concatenate(losses) / nothing,
        "stopped": np.array(stopped + sum(len(each.notes) for each in found)),
    }


def _together(config: Config, teachers: SparseTeachers) -> tuple[np.ndarray, int]:
    """Return where multi-task learning ends, NaN if it isn't asked for, and how many stop early."""
    sizes, seeds = config["sizes"], config["seeds"]
    losses, stopped = np.full((1, len(sizes), len(seeds)), np.nan), 0
    for at, seed in enumerate(seeds if config["multitask"] else ()):
        sample = teachers.sample(seed, max(sizes))
        for row, n in enumerate(sizes):
            losses[0, row, at], early = paths.multitask_error(sample, n)
            stopped += early
    return losses, stopped


def _train(config: Config, teachers: SparseTeachers) -> np.ndarray:
    """Return the final loss of trained networks, one for each seed."""
    method, n = config["method"], config["n"]
    options = {"max_steps": config["max_steps"], "progress": False}
    if method == MULTI:
        sample = teachers.samples(config["seeds"], n, 1024)
        runs = train_multitask(
            [sample.aux_inputs, sample.inputs],
            [sample.aux_targets, sample.targets],
            DiagonalWeights.constant(DIMENSION, INIT, n_tasks=2),
            teachers=[sample.auxiliary, sample.main],
            **options,
        )
        return runs.final_loss[:, 1]
    sample = teachers.samples(config["seeds"], n)
    weights = DiagonalWeights.constant(DIMENSION, INIT)
    if method != SINGLE:
        c = 1.0 if method == PROBING else float(method.rpartition(" ")[2])
        weights = DiagonalWeights.pretrained(sample.auxiliary, INIT)
        weights = weights.for_finetuning(rescale=c, readout_scale=c * READOUT)
    runs = train_diagonal(
        sample.inputs,
        sample.targets,
        weights,
        teachers=sample.main,
        train="readout" if method == PROBING else "all",
        **options,
    )
    return runs.final_loss


def gather(cells: Cells) -> xr.Dataset:
    """Lay losses over both maps, methods, sizes and seeds; trained networks beside them."""
    maps = {
        name: [(c, found) for c, found in cells if c["map"] == name]
        for name in ("overlap", "sparsity", "trained")
    }
    first = maps["overlap"][0][0]
    over, sparse = maps["overlap"], maps["sparsity"]
    dims = ("way", "n", "seed")
    words = {"long_name": "loss / loss of answering 0"}
    trained = [
        {key: config[key] for key in ("overlap", "n", "method")} for config, _ in maps["trained"]
    ]
    final = np.array([found["final"] for _, found in maps["trained"]])
    data = xr.Dataset(
        {
            "overlapping": (("overlap", *dims), np.stack([f["losses"] for _, f in over]), words),
            "subset": (("active", *dims), np.stack([f["losses"] for _, f in sparse]), words),
            "final": (("network", "trained_seed"), final, words),
            "trained_overlap": ("network", [each["overlap"] for each in trained]),
            "trained_n": ("network", [each["n"] for each in trained]),
            "trained_method": ("network", [each["method"] for each in trained]),
        },
        coords={
            "overlap": [c["overlap"] for c, _ in over],
            "active": [c["active"] for c, _ in sparse],
            "way": list(METHODS),
            "n": first["sizes"],
            "seed": first["seeds"],
        },
    )
    return data.assign_attrs(stopped=int(sum(f["stopped"] for _, f in over + sparse)))


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AB;CD", 6.4, height_ratios=(1.15, 1.0))
    _draw_map(axes["A"], data.overlapping, "overlap")
    axes["A"].set(title="Tasks of 40 features", ylabel="features in both tasks")
    _draw_map(axes["B"], data.subset, "active")
    axes["B"].set(title="Subsets of the auxiliary task", ylabel="features in the main task")
    for letter, overlap, title in (("C", 30, "30 of 40 shared"), ("D", 40, "All 40 shared")):
        _draw_needed(axes[letter], data, overlap)
        axes[letter].set_title(title)
    axes["D"].set_ylabel("")
    return drawn


def _draw_map(ax: Axes, losses: xr.DataArray, along: str) -> None:
    mean = losses.mean("seed")
    rows, sizes = losses[along].values, losses.n.values
    for i, row in enumerate(rows):
        for j, n in enumerate(sizes):
            method, margin, loss = best(mean.sel({along: row, "n": n}))
            depth = 0.25 + 0.75 * min(np.log10(margin), 1.0)
            colour = 1 - depth * (1 - np.array(to_rgb(COLOUR[method])))
            hatch = "////" if loss >= 0.9 else None
            ax.bar(j, 1, 1, i - 0.5, color=colour, edgecolor="white", linewidth=1, hatch=hatch)
            ink = "white" if colour @ (0.3, 0.59, 0.11) < 0.5 else "black"
            text = f"{SHORT[method]}\n×{margin:.3g}" if margin < 100 else f"{SHORT[method]}\n≫"
            ax.text(j, i, text, ha="center", va="center", fontsize=6.5, color=ink, linespacing=1.0)
    ax.set_xticks(range(len(sizes)), [str(n) for n in sizes])
    ax.set_yticks(range(len(rows)), [str(row) for row in rows])
    ax.tick_params(length=0)
    ax.set(xlabel="samples", xlim=(-0.5, len(sizes) - 0.5), ylim=(-0.5, len(rows) - 0.5))


def _draw_needed(ax: Axes, data: xr.Dataset, overlap: int) -> None:
    errors = np.geomspace(0.5, 1e-4, 25)
    shown = (SINGLE, MULTI, PROBING, finetuning(1.0), finetuning(0.1), finetuning(0.01))
    samples = np.array([[needed(data, overlap, method, e)[0] for e in errors] for method in shown])
    for i, (method, line) in enumerate(zip(shown, samples, strict=True)):
        colour = COLOUR[method]
        ax.plot(errors, line, color=colour, linestyle=plots.DASHES[i % len(plots.DASHES)])
        there = np.flatnonzero(np.isfinite(line))
        if len(there):
            at = there[-1]
            ax.plot(errors[at], line[at], "o", color=colour, markersize=3)
    ax.set(xscale="log", yscale="log", xlabel="loss to reach", ylabel="samples needed")
    ax.set(xlim=(0.6, 7e-5), ylim=(14, 300))
    ax.minorticks_off()
    ax.set_xticks([1e-1, 1e-2, 1e-3, 1e-4])
    ax.yaxis.set_ticks((16, 32, 64, 128, 256), labels=["16", "32", "64", "128", "256"])
    if overlap == 30:
        for k, method in enumerate(shown):
            words = SHORT[method].replace("\n", " ")
            at = {"transform": ax.transAxes, "fontsize": 8}
            plots.name(ax, 0.7, 0.45 - 0.075 * k, words, COLOUR[method], **at)
