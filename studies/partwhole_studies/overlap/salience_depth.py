"""Salience against depth: how random networks weight parts and their conjunctions."""

from __future__ import annotations

from math import comb
from typing import Literal

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.features import OverlapKernel
from partwhole.features.overlap import deep_limit
from partwhole.study import Arrays, Cells, Config, Estimate, key, layout, mean, series
from partwhole.study.plots import COLOURS, QUIET, look, name, panels
from partwhole_studies.overlap import random_networks as sampling

NETWORKS = sampling.NETWORKS | sampling.SMOOTH
SIZES = (2, 3, 4)
FIRST = (0.1, 0.3, 0.4, 0.5)
DEPTH = 20
DEEP = (1000, 2000)
SHOWN = (1, 2, 3, 5, 10)  # layers at which sampled networks are drawn
# Height and layer of the peak of S(2;3), read off the published curves.
PEAKS = {
    "relu": (0.105, 6),
    "leaky_relu": (0.100, 9),
    "step": (0.036, 2),
    "rectified_quadratic": (0.141, 2),
    "gaussian": (0.190, 1),
}


def _preset(seeds: int, width: int, features: int) -> list[Config]:
    theory: list[Config] = [{"part": "theory", "nonlinearity": n} for n in NETWORKS]
    sampled: list[Config] = [
        {"part": "sampled", "seed": seed, "width": width, "features": features}
        for seed in range(seeds)
    ]
    return theory + sampled


PRESETS = {
    "quick": _preset(12, 30_000, 100_000),
    "laptop": _preset(20, 40_000, 400_000),
    "paper": _preset(50, 100_000, 400_000),
}


def cell(config: Config) -> Arrays:
    if config["part"] == "theory":
        return _theory(config["nonlinearity"])
    rng = np.random.default_rng(config["seed"])
    layers = [sampling.layers(network, config["width"], SHOWN[-1], rng) for network in NETWORKS]
    return {"layers": np.stack(layers), "one": sampling.one_layer(config["features"], rng)}


def _theory(nonlinearity: str) -> Arrays:
    """Iterate the recursion for infinite width; absent orders and kernels are NaN."""
    dual = sampling.dual(nonlinearity)

    def saliences(
        n_components: int, depth: int, kind: Literal["nngp", "ntk"] = "nngp"
    ) -> np.ndarray:
        kernel = OverlapKernel.random_network(dual, n_components, depth, kind)
        return np.pad(kernel.salience, (0, 4 - n_components), constant_values=np.nan)

    layers = range(DEPTH + 1)
    kinds = ("nngp",) if nonlinearity == "step" else ("nngp", "ntk")
    equal = np.full((2, len(SIZES), len(layers), 4), np.nan)
    for k, kind in enumerate(kinds):
        equal[k] = [[saliences(c, depth, kind) for depth in layers] for c in SIZES]
    unequal = np.empty((len(FIRST), len(layers), 3))
    for i, first in enumerate(FIRST):
        inputs = OverlapKernel.from_salience({(0,): first, (1,): 1.0 - first})
        for depth in layers:
            kernel = OverlapKernel.random_network(dual, 2, depth, inputs=inputs)
            unequal[i, depth] = list(kernel.saliences.values())
    limits = [deep_limit(dual, c).salience for c in SIZES]
    return {
        "equal": equal,
        "unequal": unequal,
        "deep": np.array([[saliences(c, depth) for depth in DEEP] for c in SIZES]),
        "limit": np.array([np.pad(s, (0, 4 - len(s)), constant_values=np.nan) for s in limits]),
    }


def gather(cells: Cells) -> xr.Dataset:
    return layout(
        cells,
        {
            "equal": "kind size layer order",
            "unequal": "first layer set",
            "deep": "size depth order",
            "limit": "size order",
            "layers": "network early order3",
            "one": "what",
        },
        over=["nonlinearity", "seed"],
        coords={
            "network": list(NETWORKS),
            "kind": ["nngp", "ntk"],
            "what": ["features", "tangent kernel", "unequal inputs"],
            "size": list(SIZES),
            "layer": np.arange(DEPTH + 1),
            "early": np.arange(SHOWN[-1] + 1),
            "order": np.arange(1, 5),
            "order3": np.arange(1, 4),
            "first": list(FIRST),
            "set": ["first", "second", "pair"],
            "depth": list(DEEP),
        },
        labels={"equal": "salience", "layer": "layer"},
    )


def gaussian_plateau(n_components: int) -> float:
    r"""Return the limit of the salience S(C; C) in deep Gaussian networks, in closed form.

    The layer map :math:`x \to \sqrt{5 / (9 - 4 x^2)}` is a Möbius map of :math:`x^2` with fixed
    points 1 and 5/4, so :math:`h(x) = (1 - x^2) / (5 - 4 x^2)` shrinks by exactly 4/5 in each
    layer (Koenigs' function). Similarities approach :math:`1 - h(o/C) / h(0)` once scaled to
    start at 0; derived here.
    """
    shared = np.arange(n_components + 1) / n_components
    h = (1.0 - shared**2) / (5.0 - 4.0 * shared**2)
    return float(OverlapKernel.from_similarity((1.0 - h / h[0]).tolist()).salience[-1])


def numbers(data: xr.Dataset) -> dict[str, int | float | Estimate | np.ndarray]:
    theory = data.equal.sel(kind="nngp", size=3)
    sampled = data.layers.sel(early=3, order3=3)
    gaps = [
        mean(sampled.sel(network=network) - theory.sel(nonlinearity=network, layer=3, order=3))
        for network in NETWORKS
    ]
    pairs = theory.sel(order=2).sel(nonlinearity=list(PEAKS))
    published = np.array(list(PEAKS.values()))
    height_gaps = pairs.max("layer").to_numpy() - published[:, 0]
    layer_gaps = pairs.argmax("layer").to_numpy() - published[:, 1]
    deepest = data.deep.isel(depth=-1)
    full = deepest.sel(size=3, order=3)
    plateaus = [
        float(deepest.sel(nonlinearity="gaussian", size=c, order=c)) - gaussian_plateau(c)
        for c in SIZES
    ]
    unequal = data.unequal.sel(first=[salience for salience in FIRST if salience < 0.5])
    one_layer = data.equal.sel(nonlinearity="relu", size=2, layer=1, order=1)
    first = data.unequal.sel(nonlinearity="relu", first=0.3, layer=1, set="first")
    infinite = [*one_layer.sel(kind=["nngp", "ntk"]).values.tolist(), float(first)]
    return {
        "structure": max(gaps, key=lambda gap: abs(gap.value)),
        "peak_gap": float(np.abs(height_gaps).max()),
        "peaks": layer_gaps,
        "deep": DEEP[-1],
        "least_full": float(full.drop_sel(nonlinearity="gaussian").min(skipna=False)),
        "gaussian_full": float(full.sel(nonlinearity="gaussian")),
        "ratio": float((unequal.sel(set="second") / unequal.sel(set="first")).min(skipna=False)),
        "plateau": np.array(plateaus),
        "one_layer": data.one.mean("seed").to_numpy() - infinite,
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(3, 2, 8.0)
    theory = data.equal.sel(kind="nngp")
    words = {"theory": "infinite width", "measured": "sampled"}
    sampled = data.layers.rename(network="nonlinearity", early="layer").sel(layer=list(SHOWN))
    titles = ("S(1;3), single parts", "S(2;3), pairs", "S(3;3), full conjunction")
    for order, ax, title in zip((1, 2, 3), axes.flat, titles, strict=False):
        series(
            ax, "layer", by="nonlinearity", theory=theory.sel(size=3, order=order),
            measured=sampled.sel(order3=order), names=NETWORKS, words=words,
        )  # fmt: skip
        ax.axhline(1 / comb(3, order), color=QUIET, linestyle=":", linewidth=1, label="largest")
        ax.set(title=title)
    for ax, size, order in ((axes[1, 1], 2, 1), (axes[2, 1], 4, 4)):
        selection = theory.sel(size=size, order=order)
        series(ax, "layer", by="nonlinearity", theory=selection, names=NETWORKS, words=words)
        parts = "two" if size == 2 else "four"
        ax.set(title=f"S({order};{size}), {parts} components")
    for i, first in enumerate(FIRST):
        pair = data.unequal.sel(nonlinearity="relu", first=first)
        for salience, label in ((1 - first, "second"), (first, "first")):
            axes[2, 0].plot(data.layer, pair.sel(set=label), **look(i))
            name(axes[2, 0], -0.6, salience, f"{salience:g}", COLOURS[i], ha="right")
    axes[2, 0].set(title="ReLU, unequal inputs", xlim=(-4, 21), xlabel="layer")
    for ax in axes.flat:
        ax.set(ylim=(0, None), xticks=[0, 5, 10, 15, 20], ylabel="salience")
    return key(drawn)
