"""Salience against depth: what a random network makes of parts and their conjunctions."""

from __future__ import annotations

from math import comb

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.features import OverlapKernel, deep_limit
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole_studies.overlap import random_networks as sampling

QUESTION = (
    "Does a deeper random network represent the parts of what it sees, or only the whole, "
    "each combination for itself?"
)
SOURCE = (
    "Lippl & Stachenfeld (ICLR 2025), figure 2, propositions 4.1 and B.2, and the appendix's "
    "figure on unequal inputs"
)
ANSWER = (
    "Deeper networks represent more and more of the whole and less of its parts; only with the "
    "Gaussian nonlinearity does some of the parts remain at any depth."
)
CAPTION = (
    "Salience of single components, pairs and full conjunctions after each layer of a random "
    "network. Lines: the recursion for infinite width. Markers: sampled networks of finite width, "
    "mean over seeds. Dotted: the largest salience possible. With depth the full conjunction "
    "takes over, except for the Gaussian nonlinearity, which reaches a plateau."
)

SIZES = (2, 3, 4)
FIRST = (0.1, 0.3, 0.4, 0.5)
DEPTH = 20
DEEP = (1000, 2000)
SHOWN = (1, 2, 3, 5, 10)  # layers at which sampled networks are drawn
# Height and layer of the peak of S(2; 3), read off the published curves.
PEAKS = {
    "relu": (0.105, 6),
    "leaky_relu": (0.100, 9),
    "step": (0.036, 2),
    "rectified_quadratic": (0.141, 2),
    "gaussian": (0.190, 1),
}


def _preset(seeds: int, width: int, features: int) -> list[Config]:
    theory: list[Config] = [{"part": "theory", "nonlinearity": n} for n in sampling.NETWORKS]
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
    layers = [sampling.layers(name, config["width"], SHOWN[-1], rng) for name in sampling.NETWORKS]
    return {"layers": np.stack(layers), "one": sampling.one_layer(config["features"], rng)}


def _theory(nonlinearity: str) -> Arrays:
    """Follow the recursion for infinite width; absent orders and kernels are NaN."""

    def saliences(n_components: int, depth: int, kind: str = "nngp") -> np.ndarray:
        kernel = OverlapKernel.random_network(nonlinearity, n_components, depth, kind)
        return np.pad(kernel.salience, (0, 4 - n_components), constant_values=np.nan)

    layers = range(DEPTH + 1)
    kinds = ["nngp"] if nonlinearity == "step" else ["nngp", "ntk"]
    equal = np.full((2, len(SIZES), len(layers), 4), np.nan)
    for k, kind in enumerate(kinds):
        equal[k] = [[saliences(c, depth, kind) for depth in layers] for c in SIZES]
    unequal = np.empty((len(FIRST), len(layers), 3))
    for i, first in enumerate(FIRST):
        inputs = OverlapKernel.from_salience({(0,): first, (1,): 1.0 - first})
        for depth in layers:
            kernel = OverlapKernel.random_network(nonlinearity, 2, depth, inputs=inputs)
            unequal[i, depth] = list(kernel.saliences.values())
    limits = [deep_limit(nonlinearity, c).salience for c in SIZES]
    return {
        "equal": equal,
        "unequal": unequal,
        "deep": np.array([[saliences(c, depth) for depth in DEEP] for c in SIZES]),
        "limit": np.array([np.pad(s, (0, 4 - len(s)), constant_values=np.nan) for s in limits]),
    }


def gather(cells: Cells) -> xr.Dataset:
    theory = {c["nonlinearity"]: found for c, found in cells if c["part"] == "theory"}
    sampled = [(config, found) for config, found in cells if config["part"] == "sampled"]
    names = list(sampling.NETWORKS)

    def together(key: str) -> np.ndarray:
        return np.stack([theory[name][key] for name in names])

    data = xr.Dataset(
        {
            "salience": (("network", "kind", "size", "layer", "order"), together("equal")),
            "unequal": (("network", "first", "layer", "set"), together("unequal")),
            "deep": (("network", "size", "depth", "order"), together("deep")),
            "limit": (("network", "size", "order"), together("limit")),
            "sampled": (
                ("seed", "network", "early", "order3"),
                np.stack([found["layers"] for _, found in sampled]),
            ),
            "sampled_one": (("seed", "what"), np.stack([found["one"] for _, found in sampled])),
        },
        coords={
            "network": names,
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
            "seed": [config["seed"] for config, _ in sampled],
        },
        attrs={"width": sampled[0][0]["width"], "features": sampled[0][0]["features"]},
    )
    words = {
        "salience": "salience of conjunctions of each order, infinite width, equal inputs",
        "unequal": "salience, two components, inputs of unequal salience",
        "deep": "salience after very many layers",
        "limit": "salience that depth approaches",
        "sampled": "salience measured in sampled networks of finite width, three components",
        "sampled_one": "salience measured with random ReLU features, one layer, two components",
    }
    for variable, long_name in words.items():
        data[variable].attrs |= {"long_name": long_name, "units": "1"}
    return data


def gaussian_plateau(n_components: int) -> float:
    r"""Return the salience S(C; C) that deep Gaussian networks end at, in closed form.

    The layer map :math:`x \to \sqrt{5 / (9 - 4 x^2)}` is a Möbius map of :math:`x^2` with fixed
    points 1 and 5/4, so :math:`h(x) = (1 - x^2) / (5 - 4 x^2)` shrinks by exactly 4/5 in each
    layer (Koenigs' function). Similarities approach :math:`1 - h(o/C) / h(0)` once scaled to
    start at 0; derived here.
    """
    shared = np.arange(n_components + 1) / n_components
    h = (1.0 - shared**2) / (5.0 - 4.0 * shared**2)
    return float(OverlapKernel.from_similarity((1.0 - h / h[0]).tolist()).salience[-1])


def claims(data: xr.Dataset) -> list[Claim]:
    source = "Lippl & Stachenfeld (ICLR 2025)"
    found: list[Claim] = []
    one = data.salience.sel(network="relu", size=2, layer=1, order=1)
    theory = {
        "features": ("S(1;2) of {} random ReLU features", one.sel(kind="nngp")),
        "tangent kernel": ("S(1;2) of the tangent kernel of {} ReLU units", one.sel(kind="ntk")),
        "unequal inputs": (
            "The salience of the first component for {} random ReLU features, where it is .3 "
            "in the inputs,",
            data.unequal.sel(network="relu", first=0.3, layer=1, set="first"),
        ),
    }
    for what, (subject, number) in theory.items():
        mean, low, high = plots.mean_interval(data.sampled_one.sel(what=what).values)
        found.append(
            Claim(
                f"{subject.format(format(data.attrs['features'], ','))} is what the recursion for "
                "infinite width says.",
                f"{source}, proposition 4.1; the number derived here",
                float(number),
                mean,
                0.001,
                (low, high),
            )
        )
    for name, label in sampling.NETWORKS.items():
        mean, low, high = plots.mean_interval(data.sampled.sel(network=name, early=3).values)
        theory = data.salience.sel(network=name, kind="nngp", size=3, layer=3, order=3)
        found.append(
            Claim(
                f"Three layers of a random {label} network of {data.attrs['width']:,} units keep "
                "the structure: S(3;3) is what the recursion says.",
                f"{source}, proposition 4.1; the number derived here",
                float(theory),
                mean[2],
                0.01,
                (low[2], high[2]),
            )
        )
    pairs = data.salience.sel(kind="nngp", size=3, order=2)
    for name, label in sampling.NETWORKS.items():
        found.append(
            Claim(
                f"The salience of pairs, S(2;3), rises with depth and then falls: its peak for "
                f"{label}.",
                f"{source}, figure 2",
                PEAKS[name][0],
                float(pairs.sel(network=name).max()),
                0.01,
            )
        )
    agree = [
        int(np.argmax(pairs.sel(network=n).values)) == layer for n, (_, layer) in PEAKS.items()
    ]
    found.append(
        Claim(
            "S(2;3) peaks at layers 6, 9, 2, 2 and 1 (ReLU, leaky ReLU, step, rectified "
            "quadratic, Gaussian): networks for which that is so.",
            f"{source}, figure 2",
            len(PEAKS),
            sum(agree),
            0,
        )
    )
    deepest = data.deep.isel(depth=-1)
    for name, label in sampling.NETWORKS.items():
        plateau = float(data.limit.sel(network=name, size=3, order=3))
        found.append(
            Claim(
                f"The saliences of deep {label} networks concentrate on the full conjunction: "
                f"S(3;3) after {DEEP[-1]:,} layers.",
                f"{source}, proposition B.2",
                1.0,
                float(deepest.sel(network=name, size=3, order=3)),
                0.02,
                note=""
                if plateau == 1.0
                else "Each layer draws similar inputs together in proportion (slope 4/5 at "
                f"identity, below 1): saliences stop at a plateau of {plateau:.6f}, which the "
                "published curve shows too.",
            )
        )
    for size in SIZES:
        found.append(
            Claim(
                f"With {size} components deep Gaussian networks end at a plateau, "
                f"S({size};{size}) of "
                + ("7/8." if size == 2 else "the value that Koenigs' function gives."),
                "derived here",
                gaussian_plateau(size),
                float(deepest.sel(network="gaussian", size=size, order=size)),
                1e-6,
            )
        )
    rest = 1.0 - data.deep.sel(network="relu", size=3, order=3).values
    found.append(
        Claim(
            "A deep ReLU network turns to the full conjunction slowly: what is not in it falls as "
            "1/depth (exponent).",
            "derived here",
            -1.0,
            float(np.log(rest[1] / rest[0]) / np.log(DEEP[1] / DEEP[0])),
            0.02,
        )
    )
    parts = data.unequal.sel(first=[f for f in FIRST if f < 0.5])
    ratio = parts.sel(set="second") / parts.sel(set="first")
    found.append(
        Claim(
            "When two components' inputs differ in salience, the larger stays the larger in every "
            "layer: smallest ratio of the two.",
            f"{source}, appendix",
            1.0,
            float(ratio.min()),
            0.0,
            relation="at least",
        )
    )
    return found


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.panels(3, 2, 7.6)
    layers = data.layer.values
    mean, low, high = (
        xr.zeros_like(data.sampled.isel(seed=0)) + part
        for part in plots.mean_interval(data.sampled.values)
    )
    shown = list(SHOWN)
    for order, ax in zip((1, 2, 3), (axes[0, 0], axes[0, 1], axes[1, 0]), strict=True):
        for i, name in enumerate(sampling.NETWORKS):
            curve = data.salience.sel(network=name, kind="nngp", size=3, order=order)
            ax.plot(layers, curve, **plots.look(i))
            at = {"network": name, "order3": order, "early": shown}
            middle = mean.sel(at).values
            reach = np.abs(np.stack([low.sel(at).values, high.sel(at).values]) - middle)
            marks = plots.look(i, line=False, markersize=4.5, elinewidth=1, clip_on=False)
            ax.errorbar(shown, middle, reach, **marks)
        ax.axhline(1 / comb(3, order), color=plots.QUIET, linestyle=":", linewidth=1)
        what = ("single components", "pairs", "full conjunction")[order - 1]
        ax.set_title(f"S({order};3), {what}")
    for i, name in enumerate(sampling.NETWORKS):
        single = data.salience.sel(network=name, kind="nngp", size=2, order=1)
        axes[1, 1].plot(layers, single, **plots.look(i))
        full = data.salience.sel(network=name, kind="nngp", size=4, order=4)
        axes[2, 1].plot(layers, full, **plots.look(i))
    tangent = data.salience.sel(network="relu", kind="ntk", size=2, order=1)
    axes[1, 1].plot(layers, tangent, color="black", linewidth=1)
    axes[1, 1].set_title("S(1;2), two components")
    axes[2, 1].set_title("S(4;4), four components")
    for i, first in enumerate(FIRST):
        pair = data.unequal.sel(network="relu", first=first)
        for at_input, which in ((1 - first, "second"), (first, "first")):
            axes[2, 0].plot(layers, pair.sel(set=which), **plots.look(i))
            label = f"{at_input:g}"
            plots.name(axes[2, 0], -0.6, at_input, label, plots.COLOURS[i], ha="right")
    axes[2, 0].set_title("ReLU, unequal inputs")
    axes[2, 0].set_xlim(-3.5, 21)
    _name_networks(*axes.flat)
    for ax in axes.flat:
        ax.set_ylim(0, None)
        ax.set_xticks([0, 5, 10, 15, 20])
    for ax in axes[:, 0]:
        ax.set_ylabel("salience")
    for ax in axes[-1]:
        ax.set_xlabel("layer")
    return drawn


def _name_networks(single: Axes, pairs: Axes, full: Axes, two: Axes, *_: Axes) -> None:
    places = {
        "relu": (single, 4.2, 0.125),
        "leaky_relu": (single, 6.2, 0.20),
        "step": (pairs, 5.0, 0.030),
        "rectified_quadratic": (pairs, 5.2, 0.138),
        "gaussian": (pairs, 2.4, 0.185),
    }
    for i, (name, (ax, x, y)) in enumerate(places.items()):
        plots.name(ax, x, y, sampling.NETWORKS[name], plots.COLOURS[i])
    plots.name(full, 20.5, 0.16, "lines: infinite width\nmarkers: sampled", ha="right")
    plots.name(two, 6.0, 0.42, "black: tangent\nkernel of ReLU")
