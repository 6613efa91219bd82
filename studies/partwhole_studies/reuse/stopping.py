"""The least error along learning beside the last: how an oracle hides that transfer hurts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from partwhole.measures import negative_transfer
from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import _networks as networks
from partwhole_studies.reuse import _paths as paths
from partwhole_studies.reuse._stopping_claims import claims as claims
from partwhole_studies.reuse._tables import BY_OVERLAP, SIZES

QUESTION = (
    "Published errors of diagonal networks are the least along learning, not the last: where do "
    "the two differ, and what does that hide?"
)
SOURCE = "Lippl & Lindsey (NeurIPS 2024), published errors of figure 2; the comparison is ours"
ANSWER = (
    "Where transfer hurts. Without shared features and with 32 samples finetuning ends at 2.37 "
    "and linear probing at 5.15, single-task learning at 1.03; their least errors, 1.00, are at "
    "step 0, and 1.00 is published."
)
CAPTION = (
    "Top: test error along learning, mean of the seeds, by theory; dots: its least value at a "
    "published record, every 50 steps; open markers: where trained networks end; crosses at the "
    "right: published means. Step 0 is drawn at 0.7. Left no feature is shared, "
    "right 20 of 40. Bottom: error over that of single-task learning with the same seeds, with "
    "95 % intervals, at the end (hollow) and at the least (filled); above 1 the auxiliary task "
    "hurt."
)

METHODS = (SINGLE, MULTI, FINETUNING, PROBING)
EXACT = (SINGLE, FINETUNING, PROBING)
OVERLAPS = (0, 20, 40)
SEEDS = list(range(100, 112))
SHOWN = ((0, 32), (20, 64))  # overlap and samples of the curves
READINGS = ("start", "best", "early", "last")


def _cell(part: str, overlap: int, n: int, method: str, count: int, **more: int) -> Config:
    found = {"part": part, "overlap": overlap, "n": n, "method": method}
    return found | {"seeds": SEEDS[:count]} | more


def _paths(cases: Sequence[tuple[int, int]], methods: Sequence[str], count: int) -> list[Config]:
    return [_cell("paths", *case, method, count) for case in cases for method in methods]


def _trained(overlap: int, n: int, method: str, count: int, steps: int) -> Config:
    return _cell("networks", overlap, n, method, count, max_steps=steps)


PRESETS: dict[str, list[Config]] = {
    "quick": [
        *_paths([(0, 16), *SHOWN, (0, 64), (20, 16), (20, 32)], EXACT, 6),
        *_paths([(40, 64)], [FINETUNING, PROBING], 6),
        _cell("paths", 40, 64, SINGLE, 12),
        *_paths([SHOWN[0]], [MULTI], 3),
        *(_trained(0, 32, method, 6, 20_000) for method in EXACT),
        _trained(20, 64, FINETUNING, 6, 20_000),
    ],
    "laptop": [
        *_paths([(o, n) for o in (0, 20) for n in (16, 32, 64, 128)], EXACT, 6),
        _cell("paths", 40, 64, SINGLE, 12),
        *_paths([(40, 64)], [FINETUNING, PROBING], 6),
        *_paths([*SHOWN, (40, 64)], [MULTI], 6),
        *(_trained(0, 32, method, 6, 20_000) for method in EXACT),
        *(_trained(20, 64, method, 6, 20_000) for method in (SINGLE, FINETUNING)),
        _trained(20, 64, PROBING, 6, 100_000),
        _trained(40, 64, SINGLE, 6, 100_000),
        _trained(40, 64, FINETUNING, 6, 200_000),
    ],
    "paper": [
        *_paths([(o, n) for o in OVERLAPS for n in SIZES], METHODS, 12),
        *(_trained(*case, m, 6, paths.LONGEST) for case in [*SHOWN, (40, 64)] for m in METHODS),
    ],
}


def cell(config: Config) -> Arrays:
    """Return one method's errors along learning, or those of trained networks; by seed."""
    task, n = SparseTeachers(overlap=config["overlap"]), config["n"]
    method, seeds = config["method"], config["seeds"]
    if config["part"] == "networks":
        return networks.train(task, n, method, seeds, max_steps=config["max_steps"])
    found = [paths.learn(method, task.sample(seed, n)) for seed in seeds]
    return {
        "errors": np.stack([each.errors for each in found]),
        "best": np.array([each.best for each in found]),
        "early": np.array([each.best_of_all for each in found]),
    }


def gather(cells: Cells) -> xr.Dataset:
    """Lay errors over overlap, size, learner and seed; NaN where none was computed."""
    seeds = sorted({seed for config, _ in cells for seed in config["seeds"]})
    shape = (len(OVERLAPS), len(SIZES), len(METHODS), len(seeds))
    errors = np.full((*shape, len(paths.STEPS)), np.nan)
    read = np.full((*shape, len(READINGS)), np.nan)
    trained = np.full((*shape, 2), np.nan)
    for config, found in cells:
        rows = [seeds.index(seed) for seed in config["seeds"]]
        at = (
            OVERLAPS.index(config["overlap"]),
            SIZES.index(config["n"]),
            METHODS.index(config["method"]),
        )
        if config["part"] == "networks":
            trained[at][rows] = np.stack([found["best"], found["last"]], axis=-1)
            continue
        errors[at][rows] = found["errors"]
        path = found["errors"]
        every = [path[:, 0], found["best"], found["early"], path[:, -1]]
        read[at][rows] = np.stack(every, axis=-1)
    published = np.array(
        [[[BY_OVERLAP[o, m][i] for m in METHODS] for i in range(len(SIZES))] for o in OVERLAPS]
    )
    dims = ("overlap", "n", "learner", "seed")
    return xr.Dataset(
        {
            "errors": ((*dims, "step"), errors, {"long_name": "expected squared error, theory"}),
            "read": ((*dims, "reading"), read, {"long_name": "readings of these errors"}),
            "trained": ((*dims, "end"), trained, {"long_name": "errors of trained networks"}),
            "published": (dims[:3], published, {"long_name": "published mean error"}),
        },
        coords={
            "overlap": list(OVERLAPS),
            "n": list(SIZES),
            "learner": list(METHODS),
            "seed": seeds,
            "step": paths.STEPS,
            "reading": list(READINGS),
            "end": ["best", "last"],
        },
    )


LABELS = dict(zip(METHODS, ("single-task", "multi-task", "finetuning", "probing"), strict=True))


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AB;CD", 6.4)
    for letter, (overlap, n) in zip("AB", SHOWN, strict=True):
        _draw_curves(axes[letter], data.sel(overlap=overlap, n=n))
        axes[letter].set_title(f"{'None' if overlap == 0 else '20'} of 40 shared, {n} samples")
    for letter, overlap in zip("CD", (0, 20), strict=True):
        _draw_transfer(axes[letter], data.sel(overlap=overlap))
        axes[letter].set_xlabel("samples of the main task")
    axes["A"].set_ylabel("test error")
    axes["C"].set_ylabel("error / single-task error")
    handles = [Line2D([], [], **plots.look(i), label=LABELS[m]) for i, m in enumerate(METHODS)]
    cross: dict[str, Any] = {"color": plots.QUIET, "marker": "x", "linestyle": "none"}
    handles += [Line2D([], [], label="published", **cross)]
    axes["A"].legend(handles=handles, loc="upper left", fontsize=8)
    black: dict[str, Any] = {"color": "black", "marker": "o", "linestyle": "none", "markersize": 5}
    marks = [
        Line2D([], [], **black, markerfacecolor="white", label="end"),
        Line2D([], [], **black, label="least"),
    ]
    axes["C"].legend(handles=marks, loc="upper right", fontsize=8)
    return drawn


def _draw_curves(ax: Axes, data: xr.Dataset) -> None:
    steps = np.maximum(data.step.values, 0.7)
    for i, method in enumerate(METHODS):
        one = data.sel(learner=method)
        curve = one.errors.mean("seed").values
        ax.plot(steps, curve, **plots.look(i))
        recorded = np.where(data.step % paths.RECORDED == 0, curve, np.inf)
        if np.isfinite(curve).all():
            least = int(recorded.argmin())
            ax.plot(steps[least], curve[least], "o", color=plots.COLOURS[i], markersize=5, zorder=4)
        last = float(one.trained.sel(end="last").mean())
        ax.plot([4e5], [last], **plots.look(i, line=False))
        cross = {"color": plots.COLOURS[i], "markersize": 6, "clip_on": False}
        ax.plot([2.5e6], [float(one.published)], "x", **cross)
    ax.set(xscale="log", yscale="log", xlabel="step", xlim=(0.6, 2.5e6))
    ax.minorticks_off()
    ax.set_xticks([1, 100, 10_000, 1_000_000])
    ax.set_yticks([0.7, 1, 2, 5], labels=["0.7", "1", "2", "5"])
    ax.set_ylim(0.65, 9)


def _draw_transfer(ax: Axes, data: xr.Dataset) -> None:
    alone = data.read.sel(learner=SINGLE)
    for i, method in enumerate(METHODS[1:], start=1):
        for reading, side in (("last", 1.03), ("best", 1 / 1.03)):
            for n in SIZES:
                one, other = (
                    each.sel(n=n, reading=reading).values
                    for each in (data.read.sel(learner=method), alone)
                )
                use = np.isfinite(one) & np.isfinite(other)
                if use.sum() < 2:
                    continue
                told = negative_transfer(one[use], other[use])
                x = n * 1.12 ** (i - 2) * side
                look = plots.look(i, line=False)
                if reading == "best":
                    look["markerfacecolor"] = plots.COLOURS[i]
                ends = [[told.ratio - told.low], [told.high - told.ratio]]
                ax.errorbar([x], [told.ratio], ends, **look, elinewidth=1)
    ax.axhline(1.0, color=plots.QUIET, linewidth=0.8, linestyle=":", zorder=0)
    shown = [n for n in SIZES if np.isfinite(alone.sel(n=n).values).any()]
    ax.set(xscale="log", yscale="log", xlim=(shown[0] / 1.4, shown[-1] * 1.4))
    ax.minorticks_off()
    ax.set_xticks(shown, labels=[str(n) for n in shown])
    ax.set_yticks([0.5, 1, 2, 5, 10], labels=["0.5", "1", "2", "5", "10"])
