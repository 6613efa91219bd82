"""The cost of a coefficient: penalties, their order, and the end of finetuning under them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from partwhole import solve
from partwhole.flows import Diagonal, flow
from partwhole.limits import DiagonalWeights, HyperbolicEntropy
from partwhole.limits.penalties import finetuning_penalty, multitask_penalty, relu_penalty
from partwhole.study import Arrays, Cells, Config, key, layout, mean, series
from partwhole.study.plots import look, mosaic
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import numerical_penalties as numerical

SIZES = (1e-3, 1.0, 1e3)
READOUT = 1e-3
COSINES = (1.0, 0.99, 0.95, 0.9, 0.5, 0.0)
LEARNED = 1 / np.sqrt(40)  # published coefficient of a pretrained feature
GRID, RATIOS = np.logspace(-2, 2, 401), np.logspace(-4, 2, 601)
FORMULAS = ("exact", "without tilt", "published")
# Size of pretrained coefficients, readout scale, rescaling and initial scale; of normal teachers.
SETTINGS = (
    (1.0, 1e-3, 1.0, 1e-3),
    (1.0, 0.1, 1.0, 1e-3),
    (1.0, 0.5, 1.0, 1e-3),
    (1.0, 0.1, 0.3, 0.1),
    (0.05, 0.1, 1.0, 1e-3),
)
NAMES = ("γ = .001", "γ = .1", "γ = .5", "γ = .1, c = .3", "γ = .1, small")
OVERLAPS = (40, 20)  # of 40 active features of 1,000, as published


def _preset(seeds: int) -> list[Config]:
    seed_list = list(range(seeds))
    return [
        {"part": "penalties"},
        *({"part": "normal", "setting": i, "seeds": seed_list} for i in range(len(SETTINGS))),
        *({"part": "sparse", "overlap": overlap, "seeds": seed_list} for overlap in OVERLAPS),
    ]


PRESETS = {"quick": _preset(8), "laptop": _preset(16), "paper": _preset(100)}


def _finetuning(readout: float) -> tuple[Callable, numerical.Penalty]:
    return (
        lambda x, b: finetuning_penalty(x, b, readout_scale=readout, formula="published"),
        lambda x, b: numerical.finetuning(x, 2.0 * (b + readout**2)),
    )


def _relu(cosine: float) -> tuple[Callable, numerical.Penalty]:
    return lambda x, b: relu_penalty(x, b, cosine), lambda x, b: numerical.relu(x, b, cosine)


# Closed form and numerical penalty of a coefficient after an auxiliary one.
PENALTIES = {
    "multi-task": (multitask_penalty, numerical.multitask),
    "finetuning": _finetuning(0.0),
    **{f"ReLU, cosine {cosine:g}": _relu(cosine) for cosine in COSINES},
    "finetuning, γ = .001": _finetuning(READOUT),
}
HOMOGENEOUS = list(PENALTIES)[:-1]  # of degree 1 in both coefficients together
RISING = ("multi-task", "finetuning", "ReLU, cosine 1")


def cell(config: Config) -> Arrays:
    if config["part"] == "penalties":
        return _penalties()
    if config["part"] == "normal":
        return {"distance": np.array([_normal(config["setting"], s) for s in config["seeds"]])}
    return {"sparse_distance": np.array([_sparse(config["overlap"], s) for s in config["seeds"]])}


def _penalties() -> Arrays:
    """Return penalties and their powers, by closed form and numerically."""
    before, ones = np.array(SIZES)[:, None], np.ones_like(RATIOS)
    powers = [closed(ones, RATIOS) for closed, _ in PENALTIES.values()]
    return {
        "penalty": np.array([closed(GRID, before).penalty for closed, _ in PENALTIES.values()]),
        "penalty_again": np.array([numeric(GRID, before) for _, numeric in PENALTIES.values()]),
        "powers": np.array([(power.order, power.feature_dependence) for power in powers]),
        "powers_again": np.array(
            [numerical.powers(numeric, ones, RATIOS) for _, numeric in PENALTIES.values()]
        ),
        "decades": np.array([numerical.decades(PENALTIES[name][1], 1.1, 1.9) for name in RISING]),
    }


def _normal(setting: int, seed: int) -> list[float]:
    """Return the distances for a small problem of normal teachers."""
    size, readout, rescale, init = SETTINGS[setting]
    rng = np.random.default_rng(seed)
    inputs, before = rng.normal(size=(10, 30)), size * rng.normal(size=30)
    scales = {"readout_scale": readout, "init_scale": init, "rescale": rescale}
    return _distances(inputs, inputs @ rng.normal(size=30), before, scales)


def _sparse(overlap: int, seed: int) -> list[float]:
    """Return the distances for a problem of the published size."""
    drawn = SparseTeachers(overlap=overlap).sample(seed, 64)
    scales = {"readout_scale": READOUT, "init_scale": 1e-3, "rescale": 1.0}
    return _distances(drawn.inputs, drawn.targets, drawn.auxiliary, scales)


def _distances(
    inputs: np.ndarray, targets: np.ndarray, before: np.ndarray, scales: dict[str, Any]
) -> list[float]:
    """Return the relative distance of each formula's solution from the end of gradient flow."""
    weights = DiagonalWeights.pretrained(before, scales["init_scale"]).for_finetuning(
        rescale=scales["rescale"], readout_scale=scales["readout_scale"]
    )
    end = flow(Diagonal(weights, inputs, targets), until=1e-14).end.coefficients
    exact = HyperbolicEntropy.after_finetuning(before, **scales)
    published = HyperbolicEntropy.after_finetuning(before, **scales, formula="published")
    solved = [
        solve((inputs, targets), cost=cost, intercept="none").coefficients
        for cost in (exact, HyperbolicEntropy(exact.width), published)
    ]
    return [float(np.linalg.norm(solution - end) / np.linalg.norm(end)) for solution in solved]


def gather(cells: Cells) -> xr.Dataset:
    penalty, powers = "kind before coefficient", "kind power ratio"
    return layout(
        cells,
        {"penalty": penalty, "penalty_again": penalty, "powers": powers, "powers_again": powers,
         "decades": "rising", "distance": "seed formula", "sparse_distance": "seed formula"},
        over=["setting", "overlap"],
        coords={"kind": list(PENALTIES), "before": list(SIZES), "coefficient": GRID,
                "power": ["order", "dependence"], "ratio": RATIOS, "rising": list(RISING),
                "formula": list(FORMULAS), "seed": cells[-1][0]["seeds"]},
        labels={"ratio": "auxiliary coefficient", "penalty_again": "penalty"},
    )  # fmt: skip


def numbers(data: xr.Dataset) -> dict[str, Any]:
    multitask, finetuning = data.decades.sel(rising=["multi-task", "finetuning"]).to_numpy()
    pretrained = DiagonalWeights.pretrained(np.array([LEARNED]), 1e-3)
    start = HyperbolicEntropy.from_weights(pretrained.for_finetuning(readout_scale=READOUT))
    half_shared = data.sparse_distance.sel(formula="published", overlap=20)
    small, sparse = (data[name].sel(formula="exact") for name in ("distance", "sparse_distance"))
    return {
        "multitask": multitask,
        "finetuning": finetuning,
        "sum": float(abs(data.powers_again.sel(kind=HOMOGENEOUS).sum("power") - 1).max()),
        "wider": finetuning / multitask,
        "width": float(np.squeeze(start.width)) / (2 * (LEARNED + READOUT**2)),
        "half_shared": mean(half_shared, within=(0.0, np.inf)),
        "penalties": (data.penalty / data.penalty_again - 1).to_numpy(),
        "powers": (data.powers - data.powers_again).to_numpy(),
        "ends": np.append(small, sparse),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CC;DD", 8.4)
    words = {"theory": "closed form", "measured": "numerical"}
    for letter, kind in (("A", "multi-task"), ("B", "finetuning, γ = .001")):
        curves = data.sel(kind=kind)
        series(
            axes[letter], "coefficient", by="before", theory=curves.penalty,
            measured=curves.penalty_again[:, ::50], words=words,
            names={size: f"auxiliary {size:g}" for size in SIZES},
        )  # fmt: skip
        axes[letter].set(xscale="log", yscale="log", ylim=(1e-8, 1e4), title=kind.capitalize())
    orders = data.sel(power="order", kind=[*RISING, "ReLU, cosine 0.9"])
    for low, grey in ((1.1, "0.95"), (1.9, "0.85")):
        axes["C"].axhspan(low, low + 0.8, color=grey, linewidth=0, zorder=0)
    series(
        axes["C"], "ratio", by="kind", theory=orders.powers,
        measured=orders.powers_again[:, 25::75], words=words, shift=3,
    )  # fmt: skip
    axes["C"].set(xscale="log", ylabel="1 − feature dependence", ylim=(-0.1, 2.1), title="Order")
    _draw_distances(axes["D"], data)
    return key(drawn)


def _draw_distances(ax: Axes, data: xr.Dataset) -> None:
    rows = [*data.distance.transpose("setting", ...), *data.sparse_distance]
    names = [*NAMES, *(f"{o} of 40 shared" for o in data.overlap.values)]
    for i, formula in enumerate(FORMULAS):
        for at, row in enumerate(rows):
            distances = row.sel(formula=formula)
            height = np.full(distances.size, at + 0.22 * (i - 1))
            ax.plot(distances, height, **look(i, line=False, markersize=3))
    marks = [Line2D([], [], label=name, **look(i, line=False)) for i, name in enumerate(FORMULAS)]
    ax.legend(handles=marks, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, fontsize=8.5)
    ax.set(xscale="log", xlabel="relative distance from the end of gradient flow")
    ax.set_yticks(range(len(rows)), labels=names, fontsize=8.5)
    ax.invert_yaxis()
    ax.set_title("Solutions by formula", x=-0.27)
