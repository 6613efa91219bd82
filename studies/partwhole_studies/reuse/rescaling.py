"""Rescaling pretrained weights before finetuning: which features are reused, and by which tasks."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole._types import Real
from partwhole.limits import DiagonalWeights, Equal, HyperbolicEntropy, least_costs
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole.tasks import SparseTeachers, TeacherSample
from partwhole.training import train_diagonal
from partwhole_studies.reuse._rescaling_claims import claims as claims
from partwhole_studies.reuse._rescaling_claims import samples_needed, told
from partwhole_studies.reuse._rescaling_tables import ACTIVE, RESCALINGS

QUESTION = (
    "If pretrained weights are multiplied by c before finetuning, which main tasks are learned "
    "from fewer samples, and which from more?"
)
SOURCE = "Lippl & Lindsey (NeurIPS 2024), figures 3b, 3c and 9a; the exact limits are derived here"
ANSWER = (
    "Sparse ones from fewer: with 5 of the 40 features, 41 samples reach 1 % of the variance at "
    "c = 1 and 28 at c = .01. Dense ones from more: with all 40, 38 and 103. Only c < 1 tells "
    "sparse from dense."
)
CAPTION = (
    "Top four: test loss after finetuning, over that of answering 0, for main tasks that reuse 5, "
    "20 or all 40 features of the auxiliary task, at four rescalings c. Lines: where gradient flow "
    "ends, mean over seeds; hollow markers: single trained networks at their end; "
    "crosses: published means of the least loss along training. Bottom left: samples needed for a "
    "loss of 1 %, after finetuning (solid, filled) and by single-task learning from weights scaled "
    "alike (dashed). Bottom right: how many times more samples 5 features need that the auxiliary "
    "task lacks, or that are learned without it, than 5 that are reused."
)

INIT = READOUT = 1e-3
DIMENSION, ACTIVE_AUX = 1000, 40
SAME = 1.0 / sqrt(ACTIVE_AUX)  # entries of the auxiliary teacher
FINETUNING, SINGLE = LEARNERS = ("finetuning", "single-task")
REUSED, NEW = FEATURES = ("reused", "new")
ENTRIES = ("1/a", "same")
BY = ("learner", "features", "entries", "active", "rescale", "n")
FEW = (16, 24, 32, 48, 64)


def _curve(
    sizes: dict[int, int],
    active: int,
    c: float,
    learner: str = FINETUNING,
    features: str = REUSED,
    entries: str = "1/a",
    trained: dict[int, int] | None = None,
    steps: int = 100_000,
) -> list[Config]:
    """Return a cell for each size; sizes and trained say how many seeds."""
    curve = {
        "learner": learner,
        "features": features,
        "entries": entries,
        "active": active,
        "rescale": c,
    }
    return [
        curve
        | {
            "n": n,
            "seeds": list(range(count)),
            "trained": min((trained or {}).get(n, 0), count),
            "max_steps": steps,
        }
        for n, count in sizes.items()
    ]


def _quick() -> list[Config]:
    sizes = dict.fromkeys(FEW, 8) | {96: 6, 128: 6}
    cells = []
    for a in ACTIVE:
        for c in RESCALINGS:
            trained = {32: 2} if c in (1.0, 0.01) else {}
            cells += _curve(sizes, a, c, trained=trained, steps=20_000)
        if a == 5:
            # What isn't reused is not learned from 24 samples.
            for c in RESCALINGS:
                cells += _curve({n: sizes[n] for n in sizes if n != 24}, a, c, SINGLE)
                cells += _curve({n: sizes[n] for n in sizes if n > 24}, a, c, features=NEW)
    for a in (5, 40):
        for c in (1.0, 0.01):
            cells += _curve(dict.fromkeys((16, 32, 48, 64, 96, 128), 6), a, c, entries="same")
    for c in (1.0, 0.001):
        cells += _curve(dict.fromkeys((64, 96, 128, 192), 6), 20, c, SINGLE)
    return cells


def _whole(seeds: int, large: int, most: int, trained: dict[int, int]) -> list[Config]:
    cells = []
    for c in RESCALINGS:
        for a in ACTIVE:
            for learner, features, entries in (
                (FINETUNING, REUSED, "1/a"),
                (FINETUNING, REUSED, "same"),
                (FINETUNING, NEW, "1/a"),
                (SINGLE, REUSED, "1/a"),
            ):
                alone = learner == SINGLE or features == NEW
                larger = [
                    n for n in (96, 128, 192, 256, 512) if n <= (most if alone else most // 2)
                ]
                asked = dict.fromkeys(FEW, seeds) | dict.fromkeys(larger, large)
                shown = trained if entries == "1/a" else {}
                cells += _curve(asked, a, c, learner, features, entries, shown)
    return cells


PRESETS: dict[str, list[Config]] = {
    "quick": _quick(),
    "laptop": _whole(16, 6, 256, {16: 2, 32: 2, 64: 2}),
    "paper": _whole(240, 12, 1024, dict.fromkeys((16, 32, 64, 128, 256, 512), 6)),
}


def start(config: Config, auxiliary: np.ndarray) -> DiagonalWeights:
    """Return the weights from which a network of a cell learns the main task."""
    c = config["rescale"]
    if config["learner"] == FINETUNING:
        pretrained = DiagonalWeights.pretrained(auxiliary, INIT)
        return pretrained.for_finetuning(rescale=c, readout_scale=c * READOUT)
    # As published: weights begin at c alpha, and the first layer is multiplied by c once more.
    weights = DiagonalWeights.constant(len(auxiliary), c * INIT)
    return weights.for_finetuning(rescale=c, readout_scale=c * READOUT)


def cell(config: Config) -> Arrays:
    """Return losses over that of answering 0: of the limit, and of a few trained networks."""
    active, reused = config["active"], config["features"] == REUSED
    scale: Any = config["entries"] if config["entries"] == "1/a" else SAME
    task = SparseTeachers(DIMENSION, ACTIVE_AUX, active, active if reused else 0, main_scale=scale)
    sample = _samples(task, tuple(config["seeds"]), config["n"])
    starts = [start(config, auxiliary) for auxiliary in sample.auxiliary]
    costs = [HyperbolicEntropy.from_weights(weights) for weights in starts]
    limits = least_costs(sample.inputs, sample.targets, costs, Equal(), intercept="none")
    nothing = active * task.main_amplitude**2
    ends = np.stack([limit.coefficients for limit in limits])
    missed = max(limit.violation for limit in limits)
    found: Arrays = {
        "theory": np.asarray(sample.test_error(ends)) / nothing,
        "missed": np.array(missed),
    }
    count = config["trained"]
    if count:
        weights = DiagonalWeights(*(np.stack(each) for each in zip(*starts[:count], strict=True)))
        runs = train_diagonal(
            sample.inputs[:count],
            sample.targets[:count],
            weights,
            teachers=sample.main[:count],
            max_steps=config["max_steps"],
            record=50,
            progress=False,
        )
        found |= {
            "final": runs.final_loss / nothing,
            "best": runs.best_loss / nothing,
            "left": runs.training_loss[:, -1] / nothing,
        }
    return found


# Rescalings of one main task learn from the same samples.
@lru_cache(maxsize=16)
def _samples(task: SparseTeachers, seeds: tuple[int, ...], n: int) -> TeacherSample:
    return task.samples(seeds, n)


def gather(cells: Cells) -> xr.Dataset:
    """Lay losses over curves, sizes and seeds; NaN where there are none."""
    ends: dict[str, list[Any]] = {
        "learner": list(LEARNERS),
        "features": list(FEATURES),
        "entries": list(ENTRIES),
        "active": list(ACTIVE),
        "rescale": list(RESCALINGS),
        "n": sorted({config["n"] for config, _ in cells}),
        "seed": sorted({seed for config, _ in cells for seed in config["seeds"]}),
    }
    shape = tuple(len(each) for each in ends.values())
    words = {
        "theory": "loss where gradient flow ends / loss of answering 0",
        "final": "loss of trained networks at their end / loss of answering 0",
        "best": "least loss of trained networks along training / loss of answering 0",
        "left": "training loss of trained networks at their end / loss of answering 0",
    }
    laid = {name: np.full(shape, np.nan) for name in words}
    for config, found in cells:
        at = tuple(ends[name].index(config[name]) for name in BY)
        for name in words:
            if name in found:
                laid[name][at][: len(found[name])] = found[name]
    data = xr.Dataset(
        {name: (tuple(ends), laid[name], {"long_name": told}) for name, told in words.items()},
        coords=ends,
    )
    return data.assign_attrs(missed=max(float(found["missed"]) for _, found in cells))


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AB;CD;EF", 8.2)
    for letter, c in zip("ABCD", RESCALINGS, strict=True):
        _draw_losses(axes[letter], data, c)
    for letter in "BD":
        axes[letter].set_ylabel("")
    _draw_needed(axes["E"], data)
    _draw_benefit(axes["F"], data)
    return drawn


def _draw_losses(ax: Axes, data: xr.Dataset, c: float) -> None:
    one = data.sel(learner=FINETUNING, features=REUSED, entries="1/a", rescale=c)
    for i, active in enumerate(ACTIVE):
        losses = one.sel(active=active)
        mean = losses.theory.mean("seed")
        ax.plot(data.n, mean.where(np.isfinite(mean)), **plots.look(i))
        for final in losses.final.transpose("seed", "n"):
            ax.plot(data.n, final, **plots.look(i, line=False, markersize=4, markeredgewidth=0.9))
        published = told((REUSED, active), c)
        ax.plot(list(published), list(published.values()), "x", color=plots.COLOURS[i], ms=5)
        if c == 0.1:
            x, y, side = ((34.0, 2e-4, "right"), (57.0, 3e-3, "right"), (84.0, 1e-2, "left"))[i]
            words = f"{active} features" if active == 5 else f"{active}"
            plots.name(ax, x, y, words, plots.COLOURS[i], ha=side)
    ax.set(xscale="log", yscale="log", xlim=(14.5, 145), ylim=(1e-6, 2), title=f"c = {_short(c)}")
    ax.set(xlabel="samples of the main task", ylabel="loss / that of answering 0")
    _powers_of_two(ax, (16, 32, 64, 128))


def _draw_needed(ax: Axes, data: xr.Dataset) -> None:
    for i, active in enumerate(ACTIVE):
        for learner, style in (
            (FINETUNING, {"linestyle": "-", "marker": plots.MARKERS[i], "markersize": 5}),
            (SINGLE, {"linestyle": (0, (5, 2)), "marker": plots.MARKERS[i], "mfc": "white"}),
        ):
            needed = [samples_needed(data, active, c, learner=learner)[0] for c in RESCALINGS]
            shown = [(c, n) for c, n in zip(RESCALINGS, needed, strict=True) if np.isfinite(n)]
            if shown:
                ax.plot(*zip(*shown, strict=True), color=plots.COLOURS[i], **style)
    ax.set(xscale="log", yscale="log", title="Samples for a loss of 1 %", ylim=(20, 330))
    ax.set(xlabel="rescaling c", ylabel="samples")
    ax.invert_xaxis()
    _powers_of_two(ax, (32, 64, 128, 256))


def _draw_benefit(ax: Axes, data: xr.Dataset) -> None:
    reused = [samples_needed(data, 5, c)[0] for c in RESCALINGS]
    for i, (words, others) in enumerate(
        (
            ("new features", [samples_needed(data, 5, c, features=NEW)[0] for c in RESCALINGS]),
            ("single-task", [samples_needed(data, 5, c, learner=SINGLE)[0] for c in RESCALINGS]),
        )
    ):
        ratio = np.array(others) / np.array(reused)
        style = plots.look(3 + i, markerfacecolor="white", marker=plots.MARKERS[3 + i])
        ax.plot(RESCALINGS, ratio, **style)
        at = (0.6, ratio[0] + (0.2 if i == 0 else -0.25))
        plots.name(ax, *at, words, plots.COLOURS[3 + i])
    ax.axhline(1.0, color=plots.QUIET, linewidth=0.8, linestyle=":")
    ax.set(xscale="log", title="Gain by reuse, 5 features", xlabel="rescaling c")
    ax.set(ylabel="samples / those if reused", ylim=(0.9, 3.2))
    ax.invert_xaxis()


def _powers_of_two(ax: Axes, sizes: tuple[int, ...]) -> None:
    axis = ax.yaxis if ax.get_ylabel() == "samples" else ax.xaxis
    axis.set_ticks(sizes, labels=[str(n) for n in sizes])
    axis.set_ticks([], minor=True)


def _short(value: Real) -> str:
    return f"{value:g}".removeprefix("0")
