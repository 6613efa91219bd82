"""Leak slope of ReLU networks: random features, the tangent kernel, and trained networks."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.limits.addition import effective_salience
from partwhole.study import Arrays, Cells, Config, key, layout, published, series
from partwhole.study.plots import panels
from partwhole.tasks import symbolic_addition
from partwhole.tasks._build import full_grid
from partwhole_studies.overlap import random_networks as sampling
from partwhole_studies.overlap.held_out import held_out_line

VALUES = tuple(range(-4, 5))
ANCHORS = {1: (0,), 2: (-2, 2)}
N_ANCHORS = {"extrapolation": 1, "interpolation": 2, "both": 2}
KERNELS = ("nngp", "ntk")


def _preset(seeds: int, width: int) -> list[Config]:
    return [{}, *({"seed": seed, "width": width} for seed in range(seeds))]


PRESETS = {
    "quick": _preset(20, 4_000),
    "laptop": _preset(50, 40_000),
    "paper": _preset(200, 400_000),
}


def cell(config: Config) -> Arrays:
    """Return slopes for the kernels of a layer, or for one sample of its random features."""
    return _features(config["seed"], config["width"]) if config else _kernels()


def _kernels() -> Arrays:
    """Solve the tasks with the kernels of an infinitely wide ReLU layer."""
    kernels = [OverlapKernel.random_network("relu", 2, 1, kind) for kind in KERNELS]
    tasks = [symbolic_addition(VALUES, anchors) for anchors in ANCHORS.values()]
    slopes = [
        [
            held_out_line(task, solve(task, kernel, intercept="free").predictions)[0].mean()
            for task in tasks
        ]
        for kernel in kernels
    ]
    saliences = [kernel.salience[0] for kernel in kernels]
    return {"kernel_slope": np.array(slopes), "salience": np.array(saliences)}


def _features(seed: int, width: int) -> Arrays:
    """Fit the readout of a random ReLU layer by ridge regression; return the held-out slopes."""
    rng = np.random.default_rng(seed)
    components = full_grid([len(VALUES)] * 2)
    inputs = sampling.one_hot(components, len(VALUES))
    gram = np.zeros((len(inputs), len(inputs)))
    for block in np.array_split(np.arange(width), max(1, width // 20_000)):
        units = np.maximum(rng.standard_normal((len(block), inputs.shape[1])) @ inputs.T, 0.0)
        gram += units.T @ units
    slopes = []
    for anchors in ANCHORS.values():
        task = symbolic_addition(VALUES, anchors)
        seen, n = task.is_train, task.n_train
        ridge = 1e-8 * np.trace(gram) / len(gram)
        system = np.ones((n + 1, n + 1))
        system[:n, :n] = gram[np.ix_(seen, seen)] + ridge * np.eye(n)
        system[n, n] = 0.0
        solved = np.linalg.solve(system, np.append(task.train_targets, 0.0))
        predictions = gram[:, seen] @ solved[:-1] + solved[-1]
        slopes.append(held_out_line(task, predictions)[0].mean())
    return {"slope": np.array(slopes)}


def gather(cells: Cells) -> xr.Dataset:
    data = layout(
        cells,
        {"kernel_slope": "kernel anchors", "salience": "kernel", "slope": "anchors"},
        over=["seed"],
        coords={"kernel": list(KERNELS), "anchors": list(ANCHORS)},
        labels={"slope": "slope of unseen sums", "anchors": "number of anchors"},
    )
    convnet = published(__file__, ["layout", "distance"], network="convnet").slope
    saliences = [
        effective_salience(convnet.sel(layout=at).values, n) for at, n in N_ANCHORS.items()
    ]
    data["convnet_salience"] = convnet.copy(data=np.array(saliences))
    data["convnet_salience"].attrs["long_name"] = "salience S(1;2) read back from the slope"
    data["distance"].attrs["long_name"] = "distance of the digits (pixels)"
    return data


def numbers(data: xr.Dataset) -> dict[str, float | str]:
    lazy = published(__file__, ["layout"], network="lazy").slope
    predicted = {n: float(data.kernel_slope.sel(kernel="nngp", anchors=n)) for n in ANCHORS}
    misses = [abs(predicted[n] - float(lazy.sel(layout=at))) for at, n in N_ANCHORS.items()]
    tangent = data.kernel_slope.sel(kernel="ntk", anchors=1) - lazy.sel(layout="extrapolation")
    gap = data.convnet_salience - data.convnet_salience.sel(layout="extrapolation")
    miss, largest_gap = max(misses), float(abs(gap).max())
    reading = 0.01  # to which a published slope can be read
    return {
        "does": "does" if miss <= reading else "does not",
        "lazy_miss": miss,
        "tangent_miss": float(abs(tangent)),
        "some": "one" if largest_gap <= reading else "no single",
        "convnet_gap": largest_gap,
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(1, 2, 3.8)
    lazy = published(__file__, ["layout"], network="lazy").slope
    anchors = [N_ANCHORS[at] for at in lazy.layout.values]
    lazy = lazy.rename(layout="anchors").assign_coords(anchors=anchors)
    kernels = {"nngp": "random features", "ntk": "tangent kernel"}
    series(
        axes[0, 0], "anchors", by="kernel", theory=data.kernel_slope,
        measured=data.slope.expand_dims(kernel=["nngp"]), names=kernels,
        published=lazy.expand_dims(kernel=["nngp"]), words={"theory": "infinite width"},
    )  # fmt: skip
    axes[0, 0].set(title="One ReLU layer", xticks=list(ANCHORS), ylim=(0.5, 1), xlim=(0.7, 2.3))
    series(axes[0, 1], "distance", by="layout", published=data.convnet_salience, shift=2)
    axes[0, 1].set(title="ConvNets", ylim=(0.3, 0.5))
    return key(drawn)
