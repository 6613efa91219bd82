"""What it costs to change a feature: penalties, their order, and what they depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.flows import diagonal_flow, multitask_flow
from partwhole.limits import DiagonalWeights, Equal, HyperbolicEntropy, least_cost
from partwhole.limits.penalties import (
    PenaltyProfile,
    finetuning_penalty,
    finetuning_price,
    multitask_penalty,
    relu_penalty,
)
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import _penalty_routes as routes
from partwhole_studies.reuse._penalty_claims import claims as claims
from partwhole_studies.reuse._penalty_tables import PRICES

QUESTION = (
    "What does a coefficient cost a learner, given what it learned before: does it reuse features, "
    "prefer few of them, or both?"
)
SOURCE = "Lippl & Lindsey (NeurIPS 2024), figures 1a to 1c, 3a and 3d"
ANSWER = (
    "Order and feature dependence add up to 1, so reuse is paid for in sparsity. Finetuning has "
    "some of both over 4.5 decades of the pretrained coefficient, multi-task learning over 1.3, a "
    "ReLU unit over 2.0."
)
CAPTION = (
    "Top: penalty of a coefficient for three sizes of the auxiliary coefficient, by closed form "
    "(lines) and by numerical minima or sums (markers); the ReLU unit of 1000 for four "
    "cosines between its input weights before and after. Middle: order of the penalty at a "
    "coefficient of 1, and feature dependence, which is 1 less the order; shades: lazy (order "
    "above 1.9), nested and rich (below 1.1). Bottom left: price of a coefficient of 0.2 after "
    "rescaling, for features that were pretrained or not, by theory and in a network. Bottom "
    "right: distance of solutions that penalties predict from those of gradient flow."
)

SIZES = (1e-3, 1.0, 1e3)
READOUT = 1e-3
COSINES = (1.0, 0.99, 0.95, 0.9, 0.5, 0.0)
SHOWN_COSINES = (1.0, 0.99, 0.9, 0.0)
KINDS = ("multitask", "finetuning", "finetuning, readout 0.001")
LEARNED = 1 / np.sqrt(40)
PRICED = 0.2
FORMULAS = ("exact", "without tilt", "published", "saved norms")
# Size of pretrained coefficients, readout scale, rescaling and initial scale; of normal teachers.
DRAWN = (
    (1.0, 1e-3, 1.0, 1e-3),
    (1.0, 0.1, 1.0, 1e-3),
    (1.0, 0.5, 1.0, 1e-3),
    (1.0, 0.1, 0.3, 0.1),
    (0.05, 0.1, 1.0, 1e-3),
)
PLACES = ((8.0, 1.82), (4.5, 1.6), (6.5, 0.75), (0.012, 1.22), (0.55, 0.45), (0.06, 0.87))
ORDER_NAMES = (
    ("finetuning", 1.5e-4, 1.27, 1),
    ("ReLU", 1.6, 1.5, 2),
    ("multi-task", 6e-3, 0.95, 0),
)
OVERLAPS = (40, 20)  # of 40 active features of 1,000, as published


def _preset(seeds: int) -> list[Config]:
    chosen = list(range(seeds))
    return [
        {"part": "penalties"},
        {"part": "orders"},
        {"part": "prices"},
        *({"part": "drawn", "setting": i, "seeds": chosen} for i in range(len(DRAWN))),
        *({"part": "published", "overlap": overlap, "seeds": chosen} for overlap in OVERLAPS),
    ]


PRESETS: dict[str, list[Config]] = {
    "quick": _preset(8),
    "laptop": _preset(16),
    "paper": _preset(100),
}


def cell(config: Config) -> Arrays:
    part = config["part"]
    if part == "penalties":
        return _penalties()
    if part == "orders":
        return _orders()
    if part == "prices":
        return _prices()
    if part == "drawn":
        return {"distance": np.array([_drawn(config["setting"], s) for s in config["seeds"]])}
    return {"distance": np.array([_sparse(config["overlap"], s) for s in config["seeds"]])}


def _closed(kind: str, coefficient: np.ndarray, before: np.ndarray) -> PenaltyProfile:
    if kind == "multitask":
        return multitask_penalty(coefficient, before)
    readout = 0.0 if kind == "finetuning" else READOUT
    return finetuning_penalty(coefficient, before, readout_scale=readout, formula="published")


def _numerical(kind: str) -> routes.Penalty:
    if kind == "multitask":
        return routes.multitask
    square = 0.0 if kind == "finetuning" else READOUT**2
    return lambda coefficient, before: routes.finetuning(coefficient, 2.0 * (before + square))


def _penalties() -> Arrays:
    """Return penalties at the published grids, by closed form and by the other route."""
    beta, before = np.logspace(-2, 2, 401), np.array(SIZES)[:, None]
    fine = np.logspace(-2, 2, 100)
    cosines = np.array(COSINES)[:, None, None]
    return {
        "penalty": np.stack([_closed(kind, beta, before).penalty for kind in KINDS]),
        "order": np.stack([_closed(kind, beta, before).order for kind in KINDS]),
        "penalty_again": np.stack([_numerical(kind)(beta, before) for kind in KINDS]),
        "relu": relu_penalty(fine, before, cosines).penalty,
        "relu_again": routes.relu(fine, before, cosines),
    }


def _orders() -> Arrays:
    """Return both powers at a coefficient of 1, and where the order crosses its bounds."""
    before = np.logspace(-4, 2, 601)
    found: dict[str, list] = {"powers": [], "powers_again": []}
    one = np.ones_like(before)
    profiles = [_closed(kind, one, before) for kind in KINDS[:2]]
    profiles += [relu_penalty(one, before, cosine) for cosine in COSINES]
    again = [_numerical(kind) for kind in KINDS[:2]]
    again += [lambda x, b, c=cosine: routes.relu(x, b, c) for cosine in COSINES]
    for profile, other in zip(profiles, again, strict=True):
        found["powers"].append(np.stack([profile.order, profile.feature_dependence]))
        found["powers_again"].append(np.stack(routes.powers(other, one, before)))
    widths = [
        [routes.decades(other, low, high) for low, high in ((1.1, 1.9), (1.05, 1.95))]
        for other in again[:3]
    ]
    return {name: np.array(values) for name, values in found.items()} | {"width": np.array(widths)}


def _prices() -> Arrays:
    """Return prices by theory, and what gradients add up to in a network of one feature."""
    theory, network, starts = [], [], []
    for rescale in PRICES:
        readout = rescale * 1e-3
        for before in (LEARNED, 0.0):
            price = finetuning_price(
                PRICED, before, readout_scale=readout, init_scale=1e-3, rescale=rescale
            )
            theory.append(float(price))
            weights = DiagonalWeights.pretrained(np.array([before]), 1e-3)
            w, v, x, y = weights.for_finetuning(rescale=rescale, readout_scale=readout)
            cost = HyperbolicEntropy.from_weights(DiagonalWeights(w, v, x, y))
            starts.append([float(np.squeeze(each)) for each in (cost.width, cost.tilt)])
            path = multitask_flow(
                DiagonalWeights(w, v[None], x, y[None]),
                [(np.ones((1, 1)), np.array([PRICED]))],
                until=1e-14,
                rtol=1e-7,
                atol=1e-9 * readout,
            )
            end = path.weights
            # The sum of both layers' weights grows by exp(s).
            grown = (end.hidden_plus[-1] + end.readout_plus[-1, 0]) / (w + v)
            network.append(float(np.log(grown)[0]))
    shape = (len(PRICES), 2)
    return {
        "price": np.reshape(theory, shape),
        "price_again": np.reshape(network, shape),
        "start": np.reshape(starts, (*shape, 2)),
    }


def _drawn(setting: int, seed: int) -> list[float]:
    """Draw a small problem of normal teachers; return how far each formula's solution is."""
    size, readout, rescale, init = DRAWN[setting]
    rng = np.random.default_rng(seed)
    inputs, before = rng.normal(size=(10, 30)), size * rng.normal(size=30)
    scales = {"readout_scale": readout, "init_scale": init, "rescale": rescale}
    return _distances(inputs, inputs @ rng.normal(size=30), before, scales)


def _sparse(overlap: int, seed: int) -> list[float]:
    """The same at the published size."""
    drawn = SparseTeachers(overlap=overlap).sample(seed, 64)
    scales = {"readout_scale": 1e-3, "init_scale": 1e-3, "rescale": 1.0}
    return _distances(drawn.inputs, drawn.targets, drawn.auxiliary, scales)


def _distances(
    inputs: np.ndarray, targets: np.ndarray, before: np.ndarray, scales: dict[str, Any]
) -> list[float]:
    weights = DiagonalWeights.pretrained(before, scales["init_scale"]).for_finetuning(
        rescale=scales["rescale"], readout_scale=scales["readout_scale"]
    )
    end = diagonal_flow(weights, inputs, targets, until=1e-14).coefficients[-1]
    exact = HyperbolicEntropy.after_finetuning(before, **scales)
    published = HyperbolicEntropy.after_finetuning(before, **scales, formula="published")
    # The norms saved beside the published runs lack a factor of 2 in the argument of q.
    costs = (
        exact,
        HyperbolicEntropy(exact.width),
        published,
        HyperbolicEntropy(2 * published.width),
    )
    solved = [
        least_cost(inputs, targets, cost, Equal(), intercept="none").coefficients for cost in costs
    ]
    return [float(np.linalg.norm(each - end) / np.linalg.norm(end)) for each in solved]


def gather(cells: Cells) -> xr.Dataset:
    by: dict[str, list[Arrays]] = {}
    for config, found in cells:
        by.setdefault(config["part"], []).append(found)
    (curves,), (orders,), (prices,) = by["penalties"], by["orders"], by["prices"]
    grid = ("kind", "before", "coefficient")
    units = ("cosine", "before", "strength")
    series = [*KINDS[:2], *(f"relu, cosine {cosine:g}" for cosine in COSINES)]
    settings = [
        *(f"size {b:g}, readout {g:g}, rescaled {c:g}, start {a:g}" for b, g, c, a in DRAWN),
        *(f"published size, {overlap} of 40 shared" for overlap in OVERLAPS),
    ]
    distance = [found["distance"] for part in ("drawn", "published") for found in by[part]]
    data = xr.Dataset(
        {
            "penalty": (grid, curves["penalty"]),
            "penalty_again": (grid, curves["penalty_again"]),
            "order": (grid, curves["order"]),
            "relu": (units, curves["relu"]),
            "relu_again": (units, curves["relu_again"]),
            "powers": (("series", "power", "ratio"), orders["powers"]),
            "powers_again": (("series", "power", "ratio"), orders["powers_again"]),
            "width": (("rising", "bounds"), orders["width"]),
            "price": (("rescale", "feature"), prices["price"]),
            "price_again": (("rescale", "feature"), prices["price_again"]),
            "start": (("rescale", "feature", "parameter"), prices["start"]),
            "distance": (("setting", "seed", "formula"), np.stack(distance)),
        },
        coords={
            "kind": list(KINDS),
            "before": list(SIZES),
            "coefficient": np.logspace(-2, 2, 401),
            "cosine": list(COSINES),
            "strength": np.logspace(-2, 2, 100),
            "series": series,
            "power": ["order", "feature dependence"],
            "ratio": np.logspace(-4, 2, 601),
            "rising": ["multitask", "finetuning", "relu"],
            "bounds": ["1.1 to 1.9", "1.05 to 1.95"],
            "rescale": list(PRICES),
            "feature": ["pretrained", "new"],
            "parameter": ["width", "tilt"],
            "setting": settings,
            "formula": list(FORMULAS),
        },
    )
    words = {
        "penalty": "penalties of multi-task learning and finetuning, closed form",
        "penalty_again": "the same as numerical minima and sums",
        "relu": "penalty of a ReLU unit, closed form",
        "powers": "order and feature dependence at a coefficient of 1, closed form",
        "width": "decades of the auxiliary coefficient over which the order rises, numerically",
        "price": "what gradients must add up to, by theory",
        "price_again": "the same in a network of one feature",
        "distance": "relative distance of predicted solutions from those of gradient flow",
    }
    for variable, long_name in words.items():
        data[variable].attrs["long_name"] = long_name
    return data


def figure(data: xr.Dataset) -> Figure:
    # Rows of their own: columns of unlike widths leave no room for labels.
    drawn = Figure(figsize=(plots.WIDTH, 8.0), layout="constrained")
    above, middle, below = np.ravel(np.asarray(drawn.subfigures(3, 1)))
    drawn_axes = [
        *above.subplots(1, 3),
        *middle.subplots(1, 2),
        *below.subplots(1, 2, width_ratios=(2, 3)),
    ]
    axes: dict[str, Axes] = dict(zip("ABCDEFG", drawn_axes, strict=True))
    titled = {"A": (KINDS[0], "Multi-task"), "B": (KINDS[2], "Finetuning")}
    for letter, (kind, title) in titled.items():
        _draw_penalty(axes[letter], data.sel(kind=kind))
        axes[letter].set_title(title)
    _draw_relu(axes["C"], data)
    axes["A"].set_ylabel("penalty")
    axes["B"].set_xlabel("coefficient")
    for letter in "ABC":
        axes[letter].set(ylim=(1e-8, 1e4), yticks=[1e-8, 1e-4, 1, 1e4], xticks=[0.01, 1, 100])
        axes[letter].minorticks_off()
    for text, y, colour in (("0.001", 10.0, 0), ("1", 3e-3, 1), ("1000", 3e-6, 2)):
        plots.name(axes["A"], 0.4 if colour else 0.02, y, text, plots.COLOURS[colour], fontsize=8)
    for letter in "BC":
        axes[letter].tick_params(labelleft=False)
    _draw_orders(axes["D"], data, [KINDS[0], KINDS[1], "relu, cosine 1"])
    axes["D"].set(title="Order", ylabel="1 − feature dependence")
    for text, x, y, colour in ORDER_NAMES:
        plots.name(axes["D"], x, y, text, plots.COLOURS[colour], fontsize=8)
    _draw_orders(axes["E"], data, [f"relu, cosine {c:g}" for c in COSINES])
    axes["E"].set_title("ReLU unit, by cosine")
    _draw_prices(axes["F"], data)
    _draw_distances(axes["G"], data)
    return drawn


def _draw_penalty(ax: Axes, data: xr.Dataset) -> None:
    for i, before in enumerate(SIZES):
        some = data.sel(before=before)
        ax.plot(data.coefficient, some.penalty, **plots.look(i))
        marks = some.isel(coefficient=slice(0, None, 50))
        ax.plot(marks.coefficient, marks.penalty_again, **_small(i))
    ax.set(xscale="log", yscale="log")


def _draw_relu(ax: Axes, data: xr.Dataset) -> None:
    for i, cosine in enumerate(SHOWN_COSINES):
        some = data.sel(before=1e3, cosine=cosine)
        ax.plot(data.strength, some.relu, **plots.look(i + 2))
        marks = some.isel(strength=slice(0, None, 14))
        ax.plot(marks.strength, marks.relu_again, **_small(i + 2))
        colour = plots.COLOURS[i + 2]
        plots.name(ax, 0.012, (1e-5, 4.0, 50.0, 5e3)[i], f"{cosine:g}", colour, fontsize=8)
    ax.set(xscale="log", yscale="log", title="ReLU unit")


def _draw_orders(ax: Axes, data: xr.Dataset, names: list[str]) -> None:
    for low, high, word, shade in (
        (1.9, 2.1, "lazy", 0.16),
        (1.1, 1.9, "nested", 0.08),
        (-0.1, 1.1, "rich", 0.0),
    ):
        ax.axhspan(low, high, color="#888888", alpha=shade, linewidth=0)
        if len(names) == 3:
            x, y = (1.3e-4, 2.0) if word == "lazy" else (9.0, high - 0.08)
            plots.name(ax, x, y, word, plots.QUIET, fontsize=8)
    for i, each in enumerate(names):
        some = data.sel(series=each)
        ax.plot(data.ratio, some.powers.sel(power="order"), **plots.look(i))
        marks = some.isel(ratio=slice(25, None, 75)).powers_again.sel(power="order")
        ax.plot(marks.ratio, marks, **_small(i))
        if len(names) > 3:
            x, y = PLACES[i]
            cosine = each.rpartition(" ")[2]
            plots.name(ax, x, y, cosine, plots.COLOURS[i], fontsize=8)
    low = 0.9 if len(names) == 3 else -0.05
    ax.set(xscale="log", ylim=(low, 2.05), xlabel="auxiliary coefficient")


def _draw_prices(ax: Axes, data: xr.Dataset) -> None:
    for i, feature in enumerate(data.feature.values.tolist()):
        some = data.sel(feature=feature)
        ax.plot(data.rescale, some.price, **plots.look(i))
        ax.plot(data.rescale, some.price_again, **plots.look(i, line=False))
        plots.name(ax, 0.02 if i else 1.1e-3, 11.4 if i else 2.2, feature, plots.COLOURS[i])
    ax.set(xscale="log", xlabel="rescaling", ylabel="price", title="Price of 0.2", ylim=(0, 14))
    ax.set_xticks([1e-3, 1e-1])
    ax.minorticks_off()


def _draw_distances(ax: Axes, data: xr.Dataset) -> None:
    short = ["γ = .001", "γ = .1", "γ = .5", "γ = .1, c = .3", "γ = .1, small"]
    short += ["all shared", "half shared"]
    place = np.arange(len(short))[::-1]
    for i, formula in enumerate(("exact", "without tilt", "published")):
        some = data.distance.sel(formula=formula).transpose("seed", "setting").values
        mean, low, high = plots.mean_interval(some)
        at = place + 0.2 * (1 - i)
        look = plots.look(i, line=False, markersize=4)
        ax.errorbar(
            mean, at, xerr=[np.minimum(mean - low, 0.9 * mean), high - mean], **look, elinewidth=1
        )
    ax.set_yticks(place, labels=short, fontsize=8)
    ax.set(xscale="log", xlabel="distance from the flow", title="Solutions predicted")
    for i, (x, text) in enumerate(((1.5e-7, "exact"), (1e-5, "no tilt"), (1e-5, "published"))):
        plots.name(ax, x, (5.5, 3.5, 2.5)[i], text, plots.COLOURS[i], fontsize=8)


def _small(index: int) -> dict[str, Any]:
    return plots.look(index, line=False, markersize=3.5, markeredgewidth=0.9)
