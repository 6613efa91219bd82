"""Features shared with an auxiliary task: which way of learning needs fewer samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from partwhole.limits import linear_probing
from partwhole.recommendation import predict_losses
from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import _networks as networks
from partwhole_studies.reuse import _paths as paths
from partwhole_studies.reuse._shared_claims import claims as claims
from partwhole_studies.reuse._tables import (
    ACTIVE,
    METHODS,
    OVERLAPS,
    SCRATCH,
    SHARED,
    SIZES,
    by_overlap,
    by_sparsity,
)

QUESTION = (
    "A main task shares some of its features with an auxiliary task: when do multi-task learning, "
    "finetuning and linear probing need fewer samples than learning it alone?"
)
SOURCE = "Lippl & Lindsey (NeurIPS 2024), figures 2a, 2c and 2e, and their published errors"
ANSWER = (
    "With all 40 features shared and 64 samples, finetuning has under 1/1000 of the single-task "
    "error; with none, 1.5 to 10 times it. With half and 32 samples it ends 1.2 times as high, "
    "though it was lower on the way."
)
CAPTION = (
    "Test error against samples of the main task. Lines: where learning ends, by theory; hollow "
    "markers: ends of trained networks; crosses: published means of six seeds. Top left: main "
    "tasks of 5 (long dashes), 20 (dots) and 40 features (solid), none of which the auxiliary "
    "task shares. The others: 40 features, of which none, 20 or all are shared. Bottom: few "
    "samples closely; dots: the least error along learning, read at every 50th step; published "
    "errors, black there, lie on these and not on the lines."
)

EXACT = [SINGLE, FINETUNING, PROBING, SCRATCH]
DRAWN = (SINGLE, MULTI, FINETUNING, PROBING)
FLOWING = [SINGLE, FINETUNING]
ENDING = [SINGLE, FINETUNING, PROBING]


def _ends(overlap: int, sizes: list[int], seeds: int, methods: Sequence[str]) -> Config:
    return {
        "part": "ends",
        "overlap": overlap,
        "sizes": sizes,
        "methods": list(methods),
        "seeds": list(range(seeds)),
    }


def _sparse(
    active: int, shared: str, sizes: list[int], seeds: int, methods: Sequence[str] = ENDING
) -> Config:
    return _ends(active * (shared == "all"), sizes, seeds, methods) | {
        "part": "sparse",
        "active": active,
        "shared": shared,
    }


def _paths(overlap: int, n: int, seeds: int, methods: Sequence[str]) -> Config:
    return {
        "part": "paths",
        "overlap": overlap,
        "n": n,
        "methods": list(methods),
        "seeds": list(range(seeds)),
    }


def _trained(overlap: int, n: int, method: str, seeds: int, steps: int) -> Config:
    return {
        "part": "networks",
        "overlap": overlap,
        "n": n,
        "method": method,
        "seeds": list(range(seeds)),
        "max_steps": steps,
    }


PRESETS: dict[str, list[Config]] = {
    "quick": [
        *(_ends(overlap, [16, 32, 64, 128], 6, ENDING) for overlap in OVERLAPS),
        *(_ends(overlap, [256], 3, FLOWING) for overlap in (0, 20, 40)),
        *(
            _sparse(*case, [16, 32, 64, 128], 3, FLOWING)
            for case in ((5, "none"), (20, "none"), (5, "all"))
        ),
        *(_paths(overlap, n, 3, ENDING) for overlap in (0, 30, 40) for n in (16, 32, 64)),
        *(_paths(20, n, seeds, ENDING) for n, seeds in ((16, 3), (32, 6), (64, 3))),
        _paths(20, 512, 3, [SCRATCH]),
        _ends(20, [512], 3, [SCRATCH]),
        _paths(20, 32, 3, [MULTI]),
        _paths(40, 64, 3, [MULTI]),
        *(_trained(o, 32, method, 6, 100_000) for method in FLOWING for o in (0, 20, 40)),
    ],
    "laptop": [
        *(_ends(overlap, [16, 32, 64, 128, 256], 6, EXACT) for overlap in OVERLAPS),
        *(_ends(overlap, [512], 2, EXACT) for overlap in OVERLAPS),
        *(
            _sparse(active, shared, [16, 32, 64, 128, 256], 3)
            for active in ACTIVE
            for shared in SHARED
        ),
        *(_paths(overlap, n, 6, EXACT) for overlap in OVERLAPS for n in (16, 32, 64)),
        *(_paths(overlap, 128, 3, EXACT) for overlap in OVERLAPS),
        *(_paths(overlap, 512, 2, [PROBING, SCRATCH]) for overlap in (0, 30, 40)),
        _paths(20, 512, 6, [PROBING, SCRATCH]),
        _ends(20, [512], 6, [PROBING, SCRATCH]),
        *(_paths(o, n, 3, [MULTI]) for o in (0, 20, 40) for n in (32, 64, 128)),
        *(_trained(o, n, m, 6, 100_000) for m in FLOWING for o in (0, 20, 40) for n in (32, 64)),
        _trained(0, 32, PROBING, 6, 20_000),
        _trained(40, 32, PROBING, 6, 20_000),
    ],
    "paper": [
        *(_ends(overlap, list(SIZES), 6, EXACT) for overlap in OVERLAPS),
        *(_sparse(active, shared, list(SIZES), 6) for active in ACTIVE for shared in SHARED),
        *(_paths(overlap, n, 6, METHODS) for overlap in OVERLAPS for n in SIZES),
        *(
            _trained(overlap, n, method, 6, paths.LONGEST)
            for overlap in OVERLAPS
            for n in SIZES
            for method in METHODS
        ),
    ],
}


def cell(config: Config) -> Arrays:
    """Return errors of several methods; arrays of shape (methods, sizes, seeds)."""
    if config["part"] in ("ends", "sparse"):
        return {"end": ends(config)}
    task, n = SparseTeachers(overlap=config["overlap"]), config["n"]
    if config["part"] == "networks":
        return networks.train(
            task, n, config["method"], config["seeds"], max_steps=config["max_steps"]
        )
    found = [
        [paths.learn(method, task.sample(seed, n)) for seed in config["seeds"]]
        for method in config["methods"]
    ]
    return {
        "best": np.array([[each.best for each in row] for row in found]),
        "last": np.array([[each.last for each in row] for row in found]),
    }


def ends(config: Config) -> np.ndarray:
    """Return where learning ends, by theory, shape (methods, sizes, seeds)."""
    task = SparseTeachers(overlap=config["overlap"])
    if config["part"] == "sparse":
        active = config["active"]
        task = SparseTeachers(active_main=active, overlap=config["overlap"], main_scale="1/a")
    sizes, seeds = config["sizes"], config["seeds"]
    found = np.full((len(config["methods"]), len(sizes), len(seeds)), np.nan)
    known = [method for method in config["methods"] if method != SCRATCH]
    places = [config["methods"].index(method) for method in known]
    if known:
        found[places] = predict_losses(
            task, sizes, methods=known, rescalings=[1.0], seeds=seeds, progress=False
        ).losses
    if SCRATCH in config["methods"]:
        place = config["methods"].index(SCRATCH)
        for at, n in enumerate(sizes):
            for row, seed in enumerate(seeds):
                sample = task.sample(seed, n)
                weights = paths.initial(SCRATCH, sample.auxiliary)
                limit = linear_probing(sample.inputs, sample.targets, weights)
                found[place, at, row] = sample.test_error(limit.coefficients)
    return found


def gather(cells: Cells) -> xr.Dataset:
    """Lay errors over overlap, method, size and seed; NaN where none was computed."""
    seeds = sorted({seed for config, _ in cells for seed in config["seeds"]})
    shape = (len(OVERLAPS), len(METHODS), len(SIZES), len(seeds))
    names = ("end", "best", "last", "trained_best", "trained_last", "trained_loss")
    laid = {name: np.full(shape, np.nan) for name in names}
    sparse = np.full((len(ACTIVE), len(SHARED), *shape[1:]), np.nan)
    for config, found in cells:
        rows = [seeds.index(seed) for seed in config["seeds"]]
        if config["part"] == "sparse":
            at = ACTIVE.index(config["active"]), SHARED.index(config["shared"])
            _lay(sparse[at], config, rows, found["end"])
            continue
        overlap = OVERLAPS.index(config["overlap"])
        if config["part"] == "ends":
            _lay(laid["end"][overlap], config, rows, found["end"])
        elif config["part"] == "paths":
            size = SIZES.index(config["n"])
            for method, best, last in zip(
                config["methods"], found["best"], found["last"], strict=True
            ):
                at = overlap, METHODS.index(method), size
                laid["best"][at][rows], laid["last"][at][rows] = best, last
        else:
            at = overlap, METHODS.index(config["method"]), SIZES.index(config["n"])
            for name in ("best", "last", "loss"):
                laid[f"trained_{name}"][at][rows] = found[name]
    # Multi-task learning has no closed form: it ends where its flow does.
    multi = METHODS.index(MULTI)
    laid["end"][:, multi] = laid["last"][:, multi]
    dims = ("overlap", "learner", "n", "seed")
    words = {
        "end": "expected squared error where learning ends, by theory",
        "best": "least expected squared error along learning at every 50th step, by theory",
        "last": "expected squared error where training stops, by theory",
        "trained_best": "least expected squared error of trained networks at every 50th step",
        "trained_last": "expected squared error of trained networks",
        "trained_loss": "training loss of trained networks",
    }
    data = xr.Dataset(
        {name: (dims, laid[name], {"long_name": words[name]}) for name in names}
        | {
            "sparse": (("active", "shared", *dims[1:]), sparse, {"long_name": words["end"]}),
            "published": (dims[:3], by_overlap(), {"long_name": "published mean error"}),
            "published_sparse": (
                ("active", "shared", "known_learner", "n"),
                by_sparsity(DRAWN),
                {"long_name": "published mean error"},
            ),
        },
        coords={
            "overlap": list(OVERLAPS),
            "learner": list(METHODS),
            "known_learner": list(DRAWN),
            "n": list(SIZES),
            "seed": seeds,
            "active": list(ACTIVE),
            "shared": list(SHARED),
        },
    )
    return data


def _lay(into: np.ndarray, config: Config, rows: list[int], found: np.ndarray) -> None:
    methods = [METHODS.index(method) for method in config["methods"]]
    sizes = [SIZES.index(n) for n in config["sizes"]]
    into[np.ix_(methods, sizes, rows)] = found


LABELS = dict(zip(DRAWN, ("single-task", "multi-task", "finetuning", "probing"), strict=True))


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AB;CD;EF", 9.0)
    _draw_sparse(axes["A"], data)
    for letter, overlap, title in (
        ("B", 0, "None of 40 shared"),
        ("C", 20, "20 of 40 shared"),
        ("D", 40, "All 40 shared"),
        ("E", 0, "None shared, few samples"),
        ("F", 20, "20 shared, few samples"),
    ):
        ax, one = axes[letter], data.sel(overlap=overlap)
        _draw_overlap(ax, one, closely=letter in "EF")
        ax.set_title(title)
    for ax in axes.values():
        ax.set(xscale="log", yscale="log")
        ax.minorticks_off()
        ax.set_xticks(SIZES, labels=[str(n) for n in SIZES])
    for letter in "EF":
        axes[letter].set_xlim(13.5, 146)
        axes[letter].set(ylim=(0.6, 8.0), xlabel="samples of the main task")
        axes[letter].set_yticks([0.7, 1, 2, 5], labels=["0.7", "1", "2", "5"])
    for letter in "CE":
        axes[letter].set_ylabel("test error")
    axes["A"].set_ylabel("test error / that of answering 0")
    handles = [Line2D([], [], **plots.look(i), label=LABELS[m]) for i, m in enumerate(DRAWN)]
    cross: dict[str, Any] = {"color": plots.QUIET, "linestyle": "none", "markersize": 4}
    handles += [Line2D([], [], marker="x", label="published", **cross)]
    axes["B"].legend(handles=handles, loc="lower left", fontsize=8)
    return drawn


def _draw_overlap(ax: Axes, data: xr.Dataset, *, closely: bool) -> None:
    n = data.n.values
    for i, method in enumerate(DRAWN):
        one = data.sel(learner=method)
        end = one.end.mean("seed").values
        known = np.isfinite(end)
        few = known.sum() < 2
        style = plots.look(i, line=False, markersize=3) if few else plots.look(i)
        ax.plot(n[known], end[known], **style)
        beside = n * (1.06 ** (i - 1.5) if closely else 1.0)
        if closely:
            ax.plot(beside, one.best.mean("seed"), ".", color=plots.COLOURS[i], markersize=9)
        else:
            ax.plot(n, one.trained_last.mean("seed"), **plots.look(i, line=False))
        crosses = {"color": plots.COLOURS[i], "markersize": 5, "markeredgewidth": 1}
        if closely:
            crosses["color"] = "black"
        ax.plot(beside, one.published, "x", **crosses)


def _draw_sparse(ax: Axes, data: xr.Dataset) -> None:
    drawn = set()
    for i, method in ((0, SINGLE), (2, FINETUNING)):
        for dashes, active in zip((1, 2, 0), ACTIVE, strict=True):
            end = active * data.sparse.sel(active=active, shared="none", learner=method)
            end = end.mean("seed").values
            known = np.isfinite(end)
            n = data.n.values
            style = {"color": plots.COLOURS[i], "linestyle": plots.DASHES[dashes]}
            ax.plot(n[known], end[known], **style)
            drawn |= {active} if known.any() else set()
            told = active * data.published_sparse.sel(
                active=active, shared="none", known_learner=method
            )
            ax.plot(n, told, "x", color=plots.COLOURS[i], markersize=5, markeredgewidth=1)
    words = ("long dashes: 5", "dots: 20", "solid: 40")
    for y, active, told in zip((1e-5, 1.5e-6, 2.3e-7), ACTIVE, words, strict=True):
        if active in drawn:
            plots.name(ax, 15.0, y, told, plots.QUIET, fontsize=8)
    ax.set_title("None shared, by sparsity")
