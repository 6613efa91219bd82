"""The least error along learning beside the last: early stopping by an oracle hides harm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE
from partwhole.study import Arrays, Cells, Config, geometric_mean, key, mean, published
from partwhole.study.plots import COLOURS, QUIET, look, mosaic
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import diagonal_runs as runs
from partwhole_studies.reuse.diagonal_runs import LABELS

SIZES, OVERLAPS = (16, 32, 64, 128, 256, 512), (0, 20, 40)
EXACT = (SINGLE, FINETUNING, PROBING)
SEEDS = list(range(100, 112))
SHOWN = ((0, 32), (20, 64))  # overlap and samples of the curves
PUBLISHED = Path(__file__).with_name("shared_features.csv")


def _cell(part: str, overlap: int, n: int, learner: str, count: int, **options: int) -> Config:
    config = {"part": part, "overlap": overlap, "n": n, "learner": learner}
    return config | {"seeds": SEEDS[:count]} | options


def _paths(cases: Sequence[tuple[int, int]], learners: Sequence[str], count: int) -> list[Config]:
    return [_cell("paths", *case, learner, count) for case in cases for learner in learners]


def _trained(overlap: int, n: int, learner: str, count: int, steps: int) -> Config:
    return _cell("networks", overlap, n, learner, count, max_steps=steps)


PRESETS: dict[str, list[Config]] = {
    "quick": [
        *_paths([(0, 16), *SHOWN, (0, 64), (20, 16), (20, 32)], EXACT, 6),
        *_paths([(40, 64)], [FINETUNING, PROBING], 6),
        _cell("paths", 40, 64, SINGLE, 12),
        *_paths([SHOWN[0]], [MULTI], 3),
        *(_trained(0, 32, learner, 6, 20_000) for learner in EXACT),
        _trained(20, 64, FINETUNING, 6, 20_000),
    ],
    "laptop": [
        *_paths([(o, n) for o in (0, 20) for n in (16, 32, 64, 128)], EXACT, 6),
        _cell("paths", 40, 64, SINGLE, 12),
        *_paths([(40, 64)], [FINETUNING, PROBING], 6),
        *_paths([*SHOWN, (40, 64)], [MULTI], 6),
        *(_trained(0, 32, learner, 6, 20_000) for learner in EXACT),
        *(_trained(20, 64, learner, 6, 20_000) for learner in (SINGLE, FINETUNING)),
        _trained(20, 64, PROBING, 6, 100_000),
        _trained(40, 64, SINGLE, 6, 100_000),
        _trained(40, 64, FINETUNING, 6, 200_000),
    ],
    "paper": [
        *_paths([(o, n) for o in OVERLAPS for n in SIZES], [*LABELS], 12),
        *(_trained(*case, m, 6, runs.LONGEST) for case in [*SHOWN, (40, 64)] for m in LABELS),
    ],
}


def cell(config: Config) -> Arrays:
    """Return one learner's errors along learning, or those of trained networks; by seed."""
    task, n = SparseTeachers(overlap=config["overlap"]), config["n"]
    learner, seeds = config["learner"], config["seeds"]
    if config["part"] == "networks":
        trained = runs.train(task, n, learner, seeds, max_steps=config["max_steps"])
        return {f"trained_{name}": trained[name] for name in ("best", "last")}
    learned = [runs.learn(learner, task.sample(seed, n)) for seed in seeds]
    return {
        "errors": np.stack([run.errors for run in learned]),
        "best": np.array([run.best for run in learned]),
    }


def gather(cells: Cells) -> xr.Dataset:
    names = ("best", "trained_best", "trained_last")
    variables = {"errors": "step"} | dict.fromkeys(names, "")
    data = runs.run_table(cells, variables, ["overlap", "n", "learner", "seed"])
    data = data.sortby(["overlap", "n"]).assign_coords(step=runs.STEPS)
    return data.assign(last=data.errors.isel(step=-1, drop=True))


def numbers(data: xr.Dataset) -> dict[str, Any]:
    disjoint = data.sel(overlap=0, n=32)
    ratio = disjoint / disjoint.sel(learner=SINGLE)
    means = published(PUBLISHED, ["learner"], set="overlap", overlap=0, n=32).error
    tuned = ratio.sel(learner=FINETUNING)
    networks = np.append(data.trained_last / data["last"], data.trained_best / data.best) - 1
    return {
        "published": float(means.sel(learner=FINETUNING)),
        "best": mean(disjoint.best.sel(learner=FINETUNING), within=(0.0, np.inf)),
        "last": mean(disjoint["last"].sel(learner=FINETUNING), within=(0.0, np.inf)),
        "hurts": geometric_mean(tuned["last"]),
        "hidden": geometric_mean(tuned.best),
        "networks": networks[np.isfinite(networks)],
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CD", 6.6)
    for letter, (overlap, n) in zip("AB", SHOWN, strict=True):
        _draw_curves(axes[letter], data.sel(overlap=overlap, n=n), overlap, n)
        axes[letter].set_title(f"{overlap} of 40 shared, {n} samples")
    for letter, overlap in zip("CD", (0, 20), strict=True):
        _draw_transfer(axes[letter], data.sel(overlap=overlap))
        axes[letter].set(title=f"{overlap} of 40 shared", xlabel="samples of the main task")
    axes["A"].set_ylabel("test error")
    axes["C"].set_ylabel("error / single-task error")
    grey: dict[str, Any] = {"color": "0.25", "linestyle": "none"}
    axes["C"].plot([], [], marker="o", **grey, label="minimum, theory")
    axes["C"].plot([], [], marker="o", **grey, markerfacecolor="white", label="end")
    axes["C"].plot([], [], marker="x", **grey, label="published")
    return key(drawn)


def _draw_curves(ax: Axes, data: xr.Dataset, overlap: int, n: int) -> None:
    means = published(PUBLISHED, ["learner"], set="overlap", overlap=overlap, n=n).error
    steps = np.maximum(data.step.values, 0.7)
    for i, learner in enumerate(LABELS):
        run = data.sel(learner=learner)
        curve = run.errors.mean("seed").values
        if np.isfinite(curve).all():
            ax.plot(steps, curve, label=LABELS[learner], **look(i))
            recorded = np.where(data.step % runs.RECORDED == 0, curve, np.inf)
            lowest = int(recorded.argmin())
            ax.plot(steps[lowest], curve[lowest], "o", color=COLOURS[i], zorder=4)
        ax.plot([4e5], run.trained_last.mean(), **look(i, line=False))
        ax.plot([3e6], means.sel(learner=learner), **look(i, line=False, marker="x"))
    ax.set(xscale="log", yscale="log", xlabel="step", xlim=(0.5, 8e6), ylim=(0.65, 9))
    ax.minorticks_off()
    ax.set_xticks([1, 100, 10_000, 1_000_000])
    ax.set_yticks([0.7, 1, 2, 5], labels=["0.7", "1", "2", "5"])


def _draw_transfer(ax: Axes, data: xr.Dataset) -> None:
    ratio = data[["last", "best"]] / data[["last", "best"]].sel(learner=SINGLE)
    for i, learner in enumerate(LABELS):
        if learner == SINGLE:
            continue
        for reading, face in (("last", "white"), ("best", COLOURS[i])):
            samples = ratio[reading].sel(learner=learner).dropna("n", how="all")
            for n, values in zip(samples.n.values, samples.transpose("n", ...), strict=True):
                estimate = geometric_mean(values)
                ends = [[estimate.value - estimate.low], [estimate.high - estimate.value]]
                style = look(i, line=False, markerfacecolor=face)
                ax.errorbar(n * 1.12 ** (i - 2), estimate.value, ends, **style)
    ax.axhline(1.0, color=QUIET, linewidth=0.8, linestyle=":", zorder=0)
    sizes = data["last"].dropna("n", how="all").n.values
    ax.set(xscale="log", yscale="log", xlim=(sizes[0] / 1.4, sizes[-1] * 1.4), ylim=(0.5, 11))
    ax.minorticks_off()
    ax.set_xticks(sizes, labels=[str(n) for n in sizes])
    ax.set_yticks([0.5, 1, 2, 5, 10], labels=["0.5", "1", "2", "5", "10"])
