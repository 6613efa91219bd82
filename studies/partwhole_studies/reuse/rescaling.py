"""Rescaling pretrained weights before finetuning: sparse main tasks gain, dense ones lose."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import exp, hypot, log, sqrt

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.stats import t as student

from partwhole import solve
from partwhole.limits import DiagonalWeights, HyperbolicEntropy
from partwhole.study import Arrays, Cells, Config, Estimate, key, layout, mean, published, series
from partwhole.study.estimates import finite_values
from partwhole.study.plots import mosaic
from partwhole.tasks import SparseTeachers
from partwhole.tasks.sparse_teachers import TeacherSample
from partwhole.training import Training, train

SCALE = 1e-3
DIMENSION, ACTIVE_AUX = 1000, 40
ACTIVE = (5, 20, 40)
RESCALINGS = (1.0, 0.1, 0.01, 0.001, 0.0001)
# Features of the main task; their entries are one over their number, or as large as auxiliary ones.
REUSED, SAME, NEW, SINGLE = "reused", "reused, of one size", "new", "single-task"
FEW = (16, 24, 32, 48, 64)
LEVEL = 0.01  # of the variance of the targets
Sizes = dict[int, int]  # seeds by the number of samples


def _curve(
    features: str, active: int, c: float, sizes: Sizes, trained: Sizes, steps: int = 100_000
) -> list[Config]:
    """Return a cell for each size; `sizes` and `trained` are numbers of seeds."""
    return [
        {"features": features, "active": active, "rescale": c, "n": n, "max_steps": steps}
        | {"seeds": list(range(count)), "trained": min(trained.get(n, 0), count)}
        for n, count in sizes.items()
    ]


def _quick() -> list[Config]:
    sizes = dict.fromkeys(FEW, 8) | {96: 6, 128: 6}
    cells = []
    for c in RESCALINGS:
        for a in ACTIVE:
            more = {192: 6} if a == 40 and c < 0.001 else {}  # 128 samples are too few
            cells += _curve(REUSED, a, c, sizes | more, {32: 2} if c in (1.0, 0.01) else {}, 20_000)
        cells += _curve(SINGLE, 5, c, {n: sizes[n] for n in sizes if n != 24}, {})
        cells += _curve(NEW, 5, c, {n: sizes[n] for n in sizes if n > 24}, {})
    for a in (5, 40):
        cells += _curve(SAME, a, 1.0, dict.fromkeys((16, 32, 48, 64, 96, 128), 6), {})
    return cells


def _whole(seeds: int, large: int, maximum: int, trained: Sizes) -> list[Config]:
    cells = []
    for c, a, features in product(RESCALINGS, ACTIVE, (REUSED, SAME, NEW, SINGLE)):
        largest = maximum if features in (NEW, SINGLE) else maximum // 2
        sizes = dict.fromkeys(FEW, seeds)
        sizes |= {n: large for n in (96, 128, 192, 256, 512) if n <= largest}
        cells += _curve(features, a, c, sizes, {} if features == SAME else trained)
    return cells


PRESETS = {
    "quick": _quick(),
    "laptop": _whole(16, 6, 256, {16: 2, 32: 2, 64: 2}),
    "paper": _whole(240, 12, 1024, dict.fromkeys((16, 32, 64, 128, 256, 512), 6)),
}


def start(config: Config, auxiliary: np.ndarray) -> DiagonalWeights:
    """Return the weights from which a network of a cell learns the main task."""
    c = config["rescale"]
    if config["features"] == SINGLE:  # as published, its first layer is multiplied by c twice
        weights = DiagonalWeights.constant(len(auxiliary), c * SCALE)
    else:
        weights = DiagonalWeights.pretrained(auxiliary, SCALE)
    return weights.for_finetuning(rescale=c, readout_scale=c * SCALE)


def cell(config: Config) -> Arrays:
    """Return losses over the variance of the targets: of the limit, and of some networks."""
    active, features = config["active"], config["features"]
    entry = 1.0 / (sqrt(ACTIVE_AUX) if features == SAME else active)
    overlap = 0 if features == NEW else active
    task = SparseTeachers(DIMENSION, ACTIVE_AUX, active, overlap, main_scale=entry)
    sample = _samples(task, tuple(config["seeds"]), config["n"])
    starts = [start(config, auxiliary) for auxiliary in sample.auxiliary]
    limits = [
        solve((x, y), cost=HyperbolicEntropy.from_weights(weights), intercept="none")
        for x, y, weights in zip(sample.inputs, sample.targets, starts, strict=True)
    ]
    variance, violation = active * entry**2, np.array([limit.violation for limit in limits])
    error = np.asarray(sample.test_error(np.stack([limit.coefficients for limit in limits])))
    arrays = {"limit": error / variance, "violation": violation}
    if count := config["trained"]:
        weights = DiagonalWeights(*map(np.stack, zip(*starts[:count], strict=True)))
        how = Training(steps=config["max_steps"], learning_rate=0.1, threshold=1e-10, record=50)
        data, teachers = (sample.inputs[:count], sample.targets[:count]), sample.main[:count]
        runs = train(weights, data, how, teachers=teachers, progress=False)
        arrays["trained"] = runs.final_loss / variance
    return arrays


@lru_cache(maxsize=16)  # rescalings of one main task learn from the same samples
def _samples(task: SparseTeachers, seeds: tuple[int, ...], n: int) -> TeacherSample:
    return task.samples(seeds, n)


def gather(cells: Cells) -> xr.Dataset:
    runs = [
        (
            config | {"task": f"{config['active']} {config['features']}", "seed": seed},
            {name: values[i, ...] for name, values in arrays.items() if i < len(values)},
        )
        for config, arrays in cells
        for i, seed in enumerate(config["seeds"])
    ]
    dims = {"limit": "", "violation": "", "trained": ""}
    return layout(runs, dims, over=["task", "rescale", "n", "seed"]).sortby("n")


def samples_needed(data: xr.Dataset, task: str, rescale: float) -> Estimate:
    """Return the samples at which the mean loss falls to LEVEL, with a jackknife over seeds."""
    losses = data.limit.sel(task=task, rescale=rescale).dropna("n", how="all")
    sizes = losses.n.values
    samples = crossing(sizes, losses.mean("seed").values)
    near = losses.isel(n=slice(np.searchsorted(sizes, samples) + 2)).dropna("seed", how="any")
    count = near.seed.size
    if np.isnan(samples) or count < 3:
        return Estimate(samples, np.nan, np.nan, count)
    jackknife = [near.drop_sel(seed=seed).mean("seed") for seed in near.seed]
    logs = np.log([crossing(near.n.values, means.values) for means in jackknife])
    error = float(student.ppf(0.975, count - 1)) * sqrt((count - 1) * np.var(logs))
    return Estimate(samples, samples * exp(-error), samples * exp(error), count)


def crossing(sizes: np.ndarray, means: np.ndarray) -> float:
    """Return where mean losses fall to LEVEL, linearly in both logarithms; NaN if nowhere."""
    above = np.flatnonzero(means > LEVEL)
    if len(above) in (0, len(sizes)) or above[-1] == len(sizes) - 1:
        return np.nan
    pair = slice(above[-1], above[-1] + 2)
    x, y = np.log(sizes[pair]), np.log(means[pair])
    return float(np.exp(x[0] + (y[0] - log(LEVEL)) / (y[0] - y[1]) * (x[1] - x[0])))


def ratio(over: Estimate, under: Estimate) -> Estimate:
    """Return the ratio of two independent estimates."""
    value, n = over.value / under.value, min(over.n, under.n)
    error = hypot(log(over.high / over.value), log(under.high / under.value))
    return Estimate(value, value * exp(-error), value * exp(error), n)


def numbers(data: xr.Dataset) -> dict[str, str | np.ndarray | Estimate]:
    sparse, sparse_small = (samples_needed(data, "5 reused", c) for c in (1.0, 0.01))
    dense, dense_small = (samples_needed(data, "40 reused", c) for c in (1.0, 0.01))
    new, new_small = (samples_needed(data, "5 new", c) for c in (1.0, 0.001))
    smallest = samples_needed(data, "5 reused", 0.001)
    return {
        "sparse": sparse, "sparse_small": sparse_small,
        "sparse_word": "fewer" if sparse_small.value < sparse.value else "more",
        "dense": dense, "dense_small": dense_small,
        "dense_word": "fewer" if dense_small.value < dense.value else "more",
        "alike": ratio(dense, sparse),
        "sparse_first": ratio(dense_small, sparse_small),
        "gain_ratio": ratio(ratio(new_small, smallest), ratio(new, sparse)),
        "new_at_end": mean(data.limit.sel(task="5 new", rescale=1.0, n=32)),
        "violation": finite_values(data.violation),
        "networks": finite_values((data.trained / data.limit - 1).where(data.limit > LEVEL)),
    }  # fmt: skip


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CC", 6.0)
    tasks = {f"{a} reused": f"{a} reused features" for a in ACTIVE}
    tasks |= {"5 new": "5 new features", "5 single-task": "5 features, not pretrained"}
    words = {"theory": "end of gradient flow", "measured": "trained networks"}
    paper = published(__file__, ["task", "rescale", "n"]).loss
    for ax, c in ((axes["A"], 1.0), (axes["B"], 0.01)):
        losses = data.sel(task=list(tasks)[:4], rescale=c)
        series(
            ax, "n", by="task", theory=losses.limit.mean("seed"),
            measured=losses.trained, published=paper.sel(rescale=c), names=tasks, words=words,
        )  # fmt: skip
        ax.set(title=f"c = {c:g}", xscale="log", yscale="log", xlim=(14, 150), ylim=(1e-6, 5))
        ax.set_xticks([], minor=True)
        ax.set_xticks([16, 32, 64, 128], labels=["16", "32", "64", "128"])
        ax.set(xlabel="samples of the main task", ylabel="test loss / variance")
    needed = [[samples_needed(data, task, c).value for c in RESCALINGS] for task in tasks]
    needed = xr.DataArray(needed, {"task": list(tasks), "rescale": list(RESCALINGS)})
    series(axes["C"], "rescale", by="task", theory=needed, names=tasks, words=words)
    axes["C"].set(xscale="log", xlim=(1.2, 8e-5), ylim=(0, None))
    axes["C"].set(xlabel="rescaling c", ylabel="samples for a loss of 1 %")
    return key(drawn, columns=3)
