"""The best way to learn a main task: a map over overlap, sparsity and samples."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from partwhole.recommendation import predict_losses
from partwhole.recommendation.methods import MULTI, PROBING, SINGLE
from partwhole.study import Arrays, Cells, Config, geometric_mean, key, layout
from partwhole.study.plots import look, mosaic
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import diagonal_runs as runs

DIMENSION, ACTIVE = 1000, 40  # features, and those of the auxiliary task
INIT = 1e-3
LITTLE = 1e-5  # initial weights of single-task learning as small as finetuning's at c = .01
RESCALINGS = (10.0, 1.0, 0.1, 0.01)
SMALL = "single-task, small weights"
TUNED = tuple(f"finetuning, c = {c:g}" for c in RESCALINGS)
# Each method in a sentence, on the map, and its colour.
STYLES = {
    SINGLE: ("single-task learning", "single", "#E69F00"),
    SMALL: ("single-task learning from small weights", "single\nsmall", "#F0E442"),
    MULTI: ("multi-task learning", "multi", "#009E73"),
    PROBING: ("linear probing", "probe", "#CC79A7"),
    TUNED[0]: ("finetuning after rescaling by 10", "c = 10", "#56B4E9"),
    TUNED[1]: ("finetuning", "c = 1", "#0072B2"),
    TUNED[2]: ("finetuning after rescaling by 0.1", "c = .1", "#5B4B9A"),
    TUNED[3]: ("finetuning after rescaling by 0.01", "c = .01", "#D55E00"),
}
METHODS = tuple(STYLES)


def _predicted(
    overlaps: dict[int, int], subsets: tuple[int, ...], sizes: tuple[int, ...], seeds: int,
    together: int = 0,
) -> list[Config]:  # fmt: skip
    """Return a cell for each row of both maps.

    Seeds of multi-task learning, whose flow takes longest, are given by overlap; or `together`.
    """
    rows = [{"overlap": overlap, "multitask": count} for overlap, count in overlaps.items()]
    rows += [{"active": active, "multitask": together} for active in subsets]
    return [row | {"sizes": list(sizes), "seeds": list(range(seeds))} for row in rows]


def _trained(
    points: list[tuple[int, int]], methods: tuple[str, ...], seeds: int, steps: int
) -> list[Config]:
    shared = {"seeds": list(range(seeds)), "max_steps": steps}
    return [
        {"trained_overlap": overlap, "trained_n": n, "trained_way": method} | shared
        for overlap, n in points
        for method in methods
    ]


FEWER = (SINGLE, TUNED[1], TUNED[3])
PRESETS = {
    # Claims on multi-task learning have half of the features shared.
    "quick": _predicted({0: 1, 20: 5, 40: 1}, (5, 10, 20), (32, 64, 128), 5)
    + _trained([(20, 64)], FEWER, 2, 30_000),
    "laptop": _predicted(
        dict.fromkeys(range(0, 41, 10), 4), (5, 10, 20, 30), (16, 32, 64, 128, 256), 4)
    + _trained([(0, 64), (30, 64)], (*FEWER, PROBING), 4, 30_000),
    "paper": _predicted(
        dict.fromkeys((0, 5, 10, 15, 20, 25, 30, 35, 40), 24), (1, 2, 5, 10, 20, 30),
        (16, 24, 32, 48, 64, 96, 128, 192, 256, 384), 24, 24,
    )
    + _trained(
        [(o, n) for o in (0, 20, 30, 40) for n in (32, 64, 128)],
        (*FEWER, PROBING, MULTI), 6, 100_000,
    ),
}  # fmt: skip


def teachers(overlap: int = ACTIVE, active: int = ACTIVE) -> SparseTeachers:
    """Return teachers whose entries are 1/sqrt(40), or 1/a for a subset of a features."""
    scale: Any = "1/a" if active < ACTIVE else 1.0 / sqrt(ACTIVE)
    return SparseTeachers(DIMENSION, ACTIVE, active, min(overlap, active), main_scale=scale)


def cell(config: Config) -> Arrays:
    """Return test losses relative to an answer of 0, (methods, sizes, seeds) if predicted."""
    if "trained_way" in config:
        return {"final": _train(config, teachers(config["trained_overlap"]))}
    options = {at: config[at] for at in ("overlap", "active") if at in config}
    task, sizes, seeds = teachers(**options), config["sizes"], config["seeds"]
    usual, little = (
        predict_losses(
            task, sizes, methods=methods, rescalings=RESCALINGS, init_scale=scale, seeds=seeds,
            progress=False,
        ).losses
        for methods, scale in (([SINGLE, PROBING, "finetuning"], INIT), ([SINGLE], LITTLE))
    )  # fmt: skip
    together = np.full((1, len(sizes), len(seeds)), np.nan)
    for run, seed in enumerate(seeds[: config["multitask"]]):
        sample = task.sample(seed, max(sizes))
        together[0, :, run] = [runs.multitask_error(sample, n)[0] for n in sizes]
    losses = np.concatenate([usual[:1], little, together, usual[1:]])  # in the order of METHODS
    name = "subset" if "active" in config else "overlapping"
    return {name: losses / (task.active_main * task.main_amplitude**2)}


def _train(config: Config, task: SparseTeachers) -> np.ndarray:
    """Return the final loss of trained networks, one for each seed."""
    method = config["trained_way"]
    trained = runs.trained(
        task, config["trained_n"], method, config["seeds"], max_steps=config["max_steps"],
        rescale=float(method.rpartition(" ")[2]) if method in TUNED else 1.0,
    )  # fmt: skip
    return trained.final_loss[:, 1] if method == MULTI else trained.final_loss


def gather(cells: Cells) -> xr.Dataset:
    first, last = cells[0][0], cells[-1][0]
    return layout(
        cells,
        {"overlapping": "way n seed", "subset": "way n seed", "final": "trained_seed"},
        over=["overlap", "active", "trained_overlap", "trained_n", "trained_way"],
        coords={"way": list(METHODS), "n": first["sizes"], "seed": first["seeds"],
                "trained_seed": last["seeds"]},
    )  # fmt: skip


def numbers(data: xr.Dataset) -> dict[str, Any]:
    small, middle, large = (data.overlapping.sel(n=n) for n in (32, 64, 128))
    overlaps = {"none": 0, "half": 20, "full": ACTIVE}
    winners = {name: best(middle.sel(overlap=o).mean("seed")) for name, o in overlaps.items()}
    predicted = data.overlapping.sel(
        overlap=data.trained_overlap, n=data.trained_n, way=data.trained_way,
        seed=data.trained_seed.values,
    ).rename(seed="trained_seed")  # fmt: skip
    networks = np.ravel((data.final / predicted - 1).where(predicted > 0.01))

    def ratio(losses: xr.DataArray, way: str, reference: str) -> Any:
        return geometric_mean(losses.sel(way=way) / losses.sel(way=reference))

    return {name: STYLES[method][0] for name, (method, _, _) in winners.items()} | {
        "half_loss": winners["half"][2],
        "few": ratio(small.sel(overlap=20), TUNED[1], MULTI),
        "many": ratio(large.sel(overlap=20), TUNED[1], MULTI),
        "probing": ratio(middle.sel(overlap=ACTIVE), PROBING, TUNED[1]),
        "networks": networks[np.isfinite(networks)],
    }


def best(losses: xr.DataArray) -> tuple[str, float, float]:
    """Return the method with the least loss, the ratio of the second least to it, and that loss."""
    order = np.argsort(losses.values)  # NaN, a method without predictions, comes last
    values = losses.values[order]
    return str(losses.way.values[order[0]]), float(values[1] / values[0]), float(values[0])


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CD", 6.8, height_ratios=(1.15, 1.0))
    _draw_map(axes["A"], data.overlapping, "overlap")
    axes["A"].set(title="Tasks of 40 features", ylabel="features in both tasks")
    _draw_map(axes["B"], data.subset, "active")
    axes["B"].set(title="Subsets of the auxiliary task", ylabel="features in the main task")
    for letter, overlap in (("C", 20), ("D", ACTIVE)):
        mean = data.overlapping.sel(overlap=overlap).mean("seed")
        for i, (way, (_, _, colour)) in enumerate(STYLES.items()):
            style = look(i) | look(i, line=False, color=colour, markersize=4)
            style["linestyle"] = look(i)["linestyle"]
            axes[letter].plot(mean.n, mean.sel(way=way), label=way, **style)
        axes[letter].set(xscale="log", yscale="log", xlabel="samples")
        axes[letter].set_title(f"{overlap} of 40 features shared")
        axes[letter].minorticks_off()
        axes[letter].set_xticks(mean.n.values, labels=[str(n) for n in mean.n.values])
    axes["C"].set_ylabel("loss / loss of answering 0")
    return key(drawn, 3)


def _draw_map(ax: Axes, losses: xr.DataArray, along: str) -> None:
    mean = losses.mean("seed").transpose(along, "n", "way")
    for i, j in np.ndindex(mean.shape[:2]):
        method, margin, loss = best(mean[i, j])
        _, label, hue = STYLES[method]
        depth = 0.25 + 0.75 * min(np.log10(margin), 1.0)
        colour = 1 - depth * (1 - np.array(to_rgb(hue)))
        hatch = "////" if loss >= 0.9 else None
        ax.bar(j, 1, 1, i - 0.5, color=colour, edgecolor="white", linewidth=1, hatch=hatch)
        ink = "white" if colour @ (0.3, 0.59, 0.11) < 0.5 else "black"
        text = f"{label}\n" + (f"×{margin:.3g}" if margin < 100 else "≫")
        ax.text(j, i, text, ha="center", va="center", fontsize=6.5, color=ink, linespacing=1.0)
    sizes, rows = mean.n.values, mean[along].values
    ax.set_xticks(range(len(sizes)), [str(n) for n in sizes])
    ax.set_yticks(range(len(rows)), [str(row) for row in rows])
    ax.tick_params(length=0)
    ax.set(xlabel="samples", xlim=(-0.5, len(sizes) - 0.5), ylim=(-0.5, len(rows) - 0.5))
