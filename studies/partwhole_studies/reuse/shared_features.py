"""Features shared with an auxiliary task: the samples that each way of learning needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.recommendation import predict_losses
from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE
from partwhole.study import Arrays, Cells, Config, geometric_mean, key, published, series
from partwhole.study.plots import look, mosaic
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import diagonal_runs as runs
from partwhole_studies.reuse.diagonal_runs import LABELS

SIZES, OVERLAPS = (16, 32, 64, 128, 256, 512), (0, 20, 30, 40)
ACTIVE, SHARED = (5, 20, 40), ("none", "all")
WORDS = {"theory": "end, theory", "measured": "least, theory"}
FLOWING, ENDING = (SINGLE, FINETUNING), (SINGLE, FINETUNING, PROBING)


def _config(part: str, methods: Sequence[str], seeds: int, **options: Any) -> Config:
    return {"part": part, "methods": list(methods), "seeds": list(range(seeds))} | options


def _ends(overlap: int, sizes: Sequence[int], seeds: int, methods: Sequence[str]) -> Config:
    return _config("ends", methods, seeds, overlap=overlap, sizes=list(sizes))


def _sparse(
    active: int, shared: str, sizes: Sequence[int], seeds: int, methods: Sequence[str] = ENDING
) -> Config:
    return _config("sparse", methods, seeds, active=active, shared=shared, sizes=list(sizes))


def _paths(overlap: int, n: int, seeds: int, methods: Sequence[str]) -> Config:
    return _config("paths", methods, seeds, overlap=overlap, n=n)


def _trained(overlap: int, n: int, method: str, seeds: int, steps: int) -> Config:
    return _config("networks", [method], seeds, overlap=overlap, n=n, max_steps=steps)


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
        _paths(20, 32, 3, [MULTI]),
        _paths(40, 64, 3, [MULTI]),
        *(_trained(o, 32, method, 6, 100_000) for method in FLOWING for o in (0, 20, 40)),
    ],
    "laptop": [
        *(_ends(overlap, [16, 32, 64, 128, 256], 6, ENDING) for overlap in OVERLAPS),
        *(_ends(overlap, [512], 2, ENDING) for overlap in OVERLAPS),
        *(
            _sparse(active, shared, [16, 32, 64, 128, 256], 3)
            for active in ACTIVE
            for shared in SHARED
        ),
        *(_paths(overlap, n, 6, ENDING) for overlap in OVERLAPS for n in (16, 32, 64)),
        *(_paths(overlap, 128, 3, ENDING) for overlap in OVERLAPS),
        *(_paths(overlap, 512, 2, [PROBING]) for overlap in (0, 30, 40)),
        _paths(20, 512, 6, [PROBING]),
        _ends(20, [512], 6, [PROBING]),
        *(_paths(o, n, 3, [MULTI]) for o in (0, 20, 40) for n in (32, 64, 128)),
        *(_trained(o, n, m, 6, 100_000) for m in FLOWING for o in (0, 20, 40) for n in (32, 64)),
        _trained(0, 32, PROBING, 6, 20_000),
        _trained(40, 32, PROBING, 6, 20_000),
    ],
    "paper": [
        *(_ends(overlap, SIZES, 6, ENDING) for overlap in OVERLAPS),
        *(_sparse(active, shared, SIZES, 6) for active in ACTIVE for shared in SHARED),
        *(_paths(overlap, n, 6, [*LABELS]) for overlap in OVERLAPS for n in SIZES),
        *(
            _trained(overlap, n, method, 6, runs.LONGEST)
            for overlap in OVERLAPS
            for n in SIZES
            for method in LABELS
        ),
    ],
}


def cell(config: Config) -> Arrays:
    """Return errors of several methods; arrays of shape (methods, seeds) or with sizes between."""
    if config["part"] == "ends":
        return {"end": ends(config, SparseTeachers(overlap=config["overlap"]))}
    if config["part"] == "sparse":
        active = config["active"]
        shared = active if config["shared"] == "all" else 0
        task = SparseTeachers(active_main=active, overlap=shared, main_scale="1/a")
        return {"sparse_end": ends(config, task)}
    task, n, seeds = SparseTeachers(overlap=config["overlap"]), config["n"], config["seeds"]
    if config["part"] == "networks":
        (method,) = config["methods"]
        trained = runs.train(task, n, method, seeds, max_steps=config["max_steps"])
        return {f"trained_{name}": trained[name][None] for name in ("best", "last")}
    learned = [[runs.learn(m, task.sample(seed, n)) for seed in seeds] for m in config["methods"]]
    read = np.array([[(end.best, end.last) for end in row] for row in learned])
    return {"best": read[..., 0], "last": read[..., 1]}


def ends(config: Config, task: SparseTeachers) -> np.ndarray:
    """Return errors where learning ends, by theory, shape (methods, sizes, seeds)."""
    return predict_losses(
        task, config["sizes"], methods=config["methods"], rescalings=[1.0],
        seeds=config["seeds"], progress=False,
    ).losses  # fmt: skip


def gather(cells: Cells) -> xr.Dataset:
    names = ("end", "sparse_end", "best", "last", "trained_best", "trained_last")
    over = ["overlap", "active", "shared", "learner", "n", "seed"]
    data = runs.run_table(cells, dict.fromkeys(names, ""), over)
    data["best"].attrs["long_name"] = "test error"
    # Multi-task learning has no closed form: it ends where its flow does.
    return data.assign(end=data.end.where(data.learner != MULTI, data["last"]))


def numbers(data: xr.Dataset) -> dict[str, Any]:
    means = published(__file__, ["overlap", "learner", "n"], set="overlap").error
    best, last = (data[name].sel(learner=FINETUNING).mean("seed") for name in ("best", "last"))
    ends = {
        "none": data.end.sel(overlap=0, n=64),
        "half": data.end.sel(overlap=20, n=32),
        "all": data.end.sel(overlap=40, n=64),
    }
    transfer: dict[str, Any] = {}
    for shared, errors in ends.items():
        single, finetuning = (errors.sel(learner=learner) for learner in FLOWING)
        ratio = geometric_mean(finetuning / single)
        effect = "helps" if ratio.high < 1 else "hurts" if ratio.low > 1 else "has no clear effect"
        transfer |= {shared: ratio, f"{shared}_effect": effect}
    # Below this, the threshold on the training loss and single precision decide.
    large = data.where(data.best > 1e-4)
    networks = np.append(large.trained_best / large.best, large.trained_last / large["last"]) - 1
    lowest = (means.sel(learner=FINETUNING) / best).where(best < 0.95 * last)
    half = ends["half"].mean("seed")
    return transfer | {
        "half_single": float(half.sel(learner=SINGLE)),
        "half_finetuning": float(half.sel(learner=FINETUNING)),
        "least": geometric_mean(lowest),
        "networks": networks[np.isfinite(networks)],
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CD;EF", 8.6)
    alone = (data.active * data.sparse_end.mean("seed")).sel(shared="none", learner=SINGLE)
    alone = alone.dropna("active", how="all")
    means = published(__file__, ["active", "learner", "n"], set="sparsity").error
    means = (means.active * means).sel(learner=SINGLE, active=alone.active)
    names = {active: f"{active} features" for active in alone.active.values}
    series(
        axes["A"], "n", by="active", theory=alone, published=means, names=names, shift=4,
        words=WORDS,
    )  # fmt: skip
    axes["A"].set(title="Single-task, by sparsity", ylabel="relative test error")
    for letter, overlap in {"B": 0, "C": 20, "D": 40, "E": 0, "F": 20}.items():
        _draw_overlap(axes[letter], data.sel(overlap=overlap), overlap, letter in "EF")
        axes[letter].set_title(f"{overlap} of 40 shared")
    for letter, ax in axes.items():
        ax.set(xscale="log", yscale="log", xlabel="samples of the main task" * (letter in "EF"))
        ax.minorticks_off()
        ax.set_xticks(SIZES, labels=[str(n) for n in SIZES])
        if letter in "EF":
            ax.set(xlim=(13.5, 146), ylim=(0.6, 8.0))
            ax.set_yticks([0.7, 1, 2, 5], labels=["0.7", "1", "2", "5"])
    return key(drawn)


def _draw_overlap(ax: Axes, data: xr.Dataset, overlap: int, closely: bool) -> None:
    mean = data[["end", "best"]].mean("seed", keep_attrs=True)
    means = published(__file__, ["learner", "n"], set="overlap", overlap=overlap).error
    for i, learner in enumerate(LABELS):
        aside = 1.07 ** (i - 1.5) if closely else 1.0
        theory, lowest, paper = (
            values.sel(learner=[learner]).assign_coords(n=values.n * aside)
            for values in (mean.end, mean.best, means)
        )
        if learner == MULTI:  # computed at some sizes only, where no line would be seen
            ax.plot(theory.n, theory[0], **look(i), marker="_", markersize=11)
        series(
            ax, "n", by="learner", theory=None if learner == MULTI else theory, measured=lowest,
            published=paper, names=LABELS, shift=i, words=WORDS,
        )  # fmt: skip
