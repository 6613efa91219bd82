"""Leak slope of ReLU networks: random features, the tangent kernel, and trained networks."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.features import OverlapKernel
from partwhole.limits import effective_salience, interpolate, memorization_leak
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.tasks import symbolic_addition
from partwhole.tasks._build import full_grid
from partwhole_studies.overlap import _sampling as sampling
from partwhole_studies.overlap._answers import held_out_line

QUESTION = (
    "Real networks shrink unseen sums too. Does the salience of their features say by how much?"
)
SOURCE = (
    "Lippl & Stachenfeld (ICLR 2025), propositions 4.1 and 5.1, the slopes of figure 5 and of the "
    "appendix's figures on trained networks"
)
ANSWER = (
    "For networks that keep their random features it does, to about .01; for published trained "
    "networks one salience fits all layouts only to about .03."
)
CAPTION = (
    "Top: slopes of unseen sums of one-layer ReLU networks, published (trained from large "
    "weights), with a ridge readout from sampled random features (95 % interval over seeds), and "
    "by theory for their features and their tangent kernel. Bottom: the salience read back from "
    "the slopes of published ConvNets agrees between layouts within about .03."
)

VALUES = tuple(range(-4, 5))
ANCHORS = {1: (0,), 2: (-2, 2)}
# Slopes read off the published figures, by layout.
LAZY = {"extrapolation": (1, 0.746), "interpolation": (2, 0.848), "both": (2, 0.858)}
DISTANCES = (0, 5, 10, 15, 20)
CONVNET = {
    "extrapolation": (1, (0.553, 0.606, 0.690, 0.748, 0.775)),
    "interpolation": (2, (0.653, 0.690, 0.763, 0.809, 0.835)),
    "both": (2, (0.658, 0.700, 0.774, 0.821, 0.836)),
}


def _preset(seeds: int, width: int) -> list[Config]:
    theory: Config = {"part": "theory"}
    return [theory, *({"part": "features", "seed": s, "width": width} for s in range(seeds))]


PRESETS = {
    "quick": _preset(20, 4_000),
    "laptop": _preset(50, 40_000),
    "paper": _preset(200, 400_000),
}


def cell(config: Config) -> Arrays:
    return _features(config["seed"], config["width"]) if config["part"] == "features" else _theory()


def _theory() -> Arrays:
    """Solve the tasks with the kernels of an infinitely wide ReLU layer."""
    kernels = [OverlapKernel.random_network("relu", 2, 1, kind) for kind in ("nngp", "ntk")]
    slopes = np.empty((2, 2))
    for j, anchors in enumerate(ANCHORS.values()):
        task = symbolic_addition(VALUES, anchors)
        for i, kernel in enumerate(kernels):
            solved = interpolate(task, kernel, intercept="free")
            slopes[i, j] = held_out_line(task, solved.predictions)[0].mean()
    return {"slopes": slopes, "salience": np.array([kernel.salience[0] for kernel in kernels])}


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
    return {"slopes": np.array(slopes)}


def gather(cells: Cells) -> xr.Dataset:
    theory = next(found for config, found in cells if config["part"] == "theory")
    sampled = [(config, found) for config, found in cells if config["part"] == "features"]
    data = xr.Dataset(
        {
            "network": (("kind", "anchors"), theory["slopes"]),
            "salience": ("kind", theory["salience"]),
            "features": (("seed", "anchors"), np.stack([found["slopes"] for _, found in sampled])),
            "published": (("layout", "distance"), [slopes for _, slopes in CONVNET.values()]),
            "read_back": (
                ("layout", "distance"),
                [effective_salience(np.array(m), p) for p, m in CONVNET.values()],
            ),
        },
        coords={
            "kind": ["nngp", "ntk"],
            "anchors": list(ANCHORS),
            "seed": [config["seed"] for config, _ in sampled],
            "layout": list(CONVNET),
            "distance": list(DISTANCES),
        },
        attrs={"width": sampled[0][0]["width"]},
    )
    words = {
        "network": "held-out slope with the kernel of a one-layer ReLU network",
        "salience": "salience S(1;2) of that kernel",
        "features": "held-out slope of a ridge readout from random ReLU features",
        "published": "slope of published ConvNets, read off the figure",
        "read_back": "salience S(1;2) read back from the published slope",
    }
    for variable, long_name in words.items():
        data[variable].attrs |= {"long_name": long_name, "units": "1"}
    data["distance"].attrs |= {"long_name": "distance of the digits", "units": "pixel"}
    return data


def claims(data: xr.Dataset) -> list[Claim]:
    found = []
    figure = "Lippl & Stachenfeld (ICLR 2025), appendix, lazily trained dense networks"
    untrained = (
        "No network was trained here: the number claimed is read off the published figure, the "
        "number found is what theory says at infinite width."
    )
    for p in ANCHORS:
        mean, low, high = plots.mean_interval(data.features.sel(anchors=p).values)
        found.append(
            Claim(
                f"A ridge readout from {data.attrs['width']:,} random ReLU features leaks as the "
                f"closed form says at their salience .4264 ({p} anchor{'s' * (p > 1)}).",
                "Lippl & Stachenfeld (ICLR 2025), propositions 4.1 and 5.1",
                memorization_leak(float(data.salience.sel(kind="nngp")), p),
                mean,
                0.005,
                (low, high),
            )
        )
    for layout, (p, slope) in LAZY.items():
        found.append(
            Claim(
                f"Trained from large weights, a one-layer ReLU network leaks like its random "
                f"features: leak slope, {layout} ({p} anchor{'s' * (p > 1)}).",
                figure,
                slope,
                float(data.network.sel(kind="nngp", anchors=p)),
                0.01,
                note=untrained,
            )
        )
    found.append(
        Claim(
            "Trained from large weights, a one-layer ReLU network leaks like its tangent kernel: "
            "leak slope, extrapolation (1 anchor).",
            figure,
            LAZY["extrapolation"][1],
            float(data.network.sel(kind="ntk", anchors=1)),
            0.01,
            note=f"{untrained} In the standard parametrisation at width 1,000 the readout makes "
            "up about "
            "40 times as much of the tangent kernel as the layer below, so lazy means random "
            "features. This tangent kernel weighs both alike.",
        )
    )
    gap = np.abs(data.read_back - data.read_back.sel(layout="extrapolation"))
    found.append(
        Claim(
            "One salience explains published ConvNets with 1 and with 2 anchors within about .03: "
            "largest difference between layouts, 5 distances.",
            "derived here from the slopes of Lippl & Stachenfeld (ICLR 2025), figure 5 and "
            "appendix",
            0.03,
            float(gap.max()),
            0.005,
            relation="at most",
            note="No network was trained here: both saliences come from slopes read off the "
            "figure. A slope is read to .01, which is up to .005 of salience.",
        )
    )
    found.append(
        Claim(
            "One salience explains published ConvNets with 1 and with 2 anchors as closely as the "
            "figures can be read: largest difference between layouts, 5 distances.",
            "derived here",
            0.009,
            float(gap.max()),
            0.0,
            relation="at most",
            note="No network was trained here. At every distance one anchor gives the larger "
            "salience, by .02 to .03: judged by "
            "their slope with two anchors, trained networks leak too little with one.",
        )
    )
    return found


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.panels(2, 1, 6.4)
    _draw_networks(axes[0, 0], data)
    _draw_read_back(axes[1, 0], data)
    return drawn


def _draw_networks(ax: Axes, data: xr.Dataset) -> None:
    rows = ["published", "random\nfeatures", "theory,\nfeatures", "theory,\ntangent"]
    for i, p in enumerate(ANCHORS):
        mean, low, high = plots.mean_interval(data.features.sel(anchors=p).values)
        marks = plots.look(i, line=False, markersize=6)
        for count, slope in LAZY.values():
            if count == p:
                ax.plot(slope, 3, **marks)
        ax.errorbar(mean, 2, xerr=[[mean - low], [high - mean]], elinewidth=3, **marks)
        for y, kind in ((1, "nngp"), (0, "ntk")):
            salience = float(data.salience.sel(kind=kind))
            ax.plot(
                memorization_leak(salience, p),
                y,
                **(marks | {"marker": "|", "markersize": 14, "markeredgewidth": 2}),
            )
        features = memorization_leak(float(data.salience.sel(kind="nngp")), p)
        ax.axvline(features, color=plots.COLOURS[i], linewidth=0.8, linestyle=":")
        words = ("1 anchor", "2 anchors")[i]
        plots.name(ax, features + 0.004, 3.55, words, plots.COLOURS[i])
    ax.set_yticks(range(4), rows[::-1])
    ax.set(title="One ReLU layer", xlabel="slope of unseen sums", ylim=(-0.5, 3.9))
    ax.set_xlim(0.55, 0.95)


def _draw_read_back(ax: Axes, data: xr.Dataset) -> None:
    for i, layout in enumerate(CONVNET):
        curve = data.read_back.sel(layout=layout)
        marks = plots.look(i, line=False) | {"linestyle": plots.DASHES[i], "linewidth": 1}
        ax.plot(data.distance, curve, **marks)
    plots.name(ax, 0.0, 0.40, "extrapolation\n(1 anchor)", plots.COLOURS[0])
    plots.name(ax, 20.5, 0.363, "both (2 anchors)", plots.COLOURS[2], ha="right")
    plots.name(ax, 20.5, 0.343, "interpolation\n(2 anchors)", plots.COLOURS[1], ha="right")
    ax.set(title="Read back, published ConvNets", xlabel="distance of the digits (pixels)")
    ax.set(ylabel="salience S(1;2)", xticks=DISTANCES, ylim=(0.3, 0.45))
