"""One gated unit with more and more contexts: what it gains, and where it has seen nothing."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from partwhole.features import HalfspaceGates, JointGates
from partwhole.limits import Margin, Outcome, Quadratic, gated_limit, least_cost
from partwhole.measures import accuracy, inconsistency
from partwhole.networks import GatedNetwork, load_network, save_network
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.training import train_gated
from partwhole_studies.gated import _context_claims as on_digits
from partwhole_studies.gated import _context_published as published
from partwhole_studies.gated._as_published import reloaded
from partwhole_studies.gated._digits import Digits, answers, digits, gates_of
from partwhole_studies.gated._mnist import VALIDATION, published_split, require_files

QUESTION = (
    "A unit with k hyperplanes has a weight vector for each of 2^k contexts: how many contexts "
    "are best, and what does it answer where it has seen nothing?"
)
SOURCE = (
    "Lippl, Abbott & Chung (2022), shallow networks of figure 2; here on scikit-learn's digits, "
    "0 to 4 against 5 to 9, and with the preset mnist on MNIST"
)
ANSWER = (
    "Few: with 200 of scikit-learn's digits 3 hyperplanes err least (published for MNIST: 2 with "
    "500 images). With 9, 41 % of those digits' test images are in unseen contexts; ties counted "
    "as wrong turn an error of .33 into .54."
)
CAPTION = (
    "With 200 of scikit-learn's digits, or the most images of MNIST. Top: test error of the limit, "
    "ties counted half (line) and wrong (dotted), mean of the splits and draws that can be "
    "separated, and of networks trained for 3,200 steps, with 95 % intervals. Bottom left: share "
    "of test images in contexts without training images, where the limit is tied; right: share of "
    "all images in the largest context, which would be 2 to the minus k were contexts alike."
)

SIZES = (200, 800)
THRESHOLDS = ("median", "zero")
HYPERPLANES = tuple(range(10))
SELECTION = 400
SEPARATE = 2  # hyperplanes at which each context is also solved alone
PARTS = ("report", "selection")
# What a cell holds of every split and number of hyperplanes.
NUMBERS = {
    "separable": "1 where the training set can be separated",
    "limit": "error of the limit, ties half",
    "limit_strict": "error of the limit, ties wrong",
    "limit_selection": "error of the limit on images for selection, ties half",
    "tied": "share of test images on which the limit is tied",
    "unseen": "share of test images in contexts without training images",
    "largest": "share of all images in the largest context",
    "occupied": "contexts in which there are images",
    "separate": "relative difference of the norm from that of contexts solved alone",
    "network": "error of the trained network",
    "network_selection": "error of the trained network on images for selection",
    "network_training": "error of the trained network on the training set",
    "network_unseen": "its wrong decisions in contexts without training images",
    "number_unseen": "test images there",
    "apart": "share of test images on which network and limit decide differently",
    "apart_reloaded": "the same, of the network with thresholds drawn anew",
    "apart_loaded": "largest difference of answers after saving and loading here",
}


def _cell(
    thresholds: str,
    hyperplanes: list[int],
    seeds: int,
    *,
    first: int = 0,
    n: int = 200,
    steps: int = 3200,
) -> Config:
    return {
        "n": n, "thresholds": thresholds, "hyperplanes": hyperplanes,
        "seeds": list(range(first, seeds)), "max_steps": steps,
    }  # fmt: skip


PRESETS: dict[str, list[Config]] = {
    "quick": [
        _cell("median", [0, 2, 4, 6], 3),
        _cell("median", [0, 2, 4, 6], 6, first=3, steps=0),
        _cell("median", [1, 3, 5, 7, 8, 9], 6, steps=0),
        _cell("zero", [1, 2, 4, 6, 9], 6, steps=0),
    ],
    "laptop": [
        *(_cell("median", each, 6) for each in ([0, 1, 2, 3, 4], [5, 6], [7], [8])),
        _cell("median", [9], 6, steps=0),
        *(_cell("zero", each, 6) for each in ([1, 2, 3, 4], [5, 6])),
        _cell("zero", [7, 8, 9], 6, steps=0),
        *(_cell("median", each, 3, n=800) for each in ([0, 1, 2, 3, 4], [5, 6])),
        _cell("median", [7, 8, 9], 3, n=800, steps=0),
    ],
    "paper": [
        _cell(kind, each, 10, n=n)
        for n in SIZES
        for kind in THRESHOLDS
        for each in ([0, 1, 2, 3, 4], [5, 6], [7], [8], [9])
    ],
    "mnist": [
        {"images": "mnist", "n_test": VALIDATION} | _cell(kind, [k], seed + 1, first=seed, n=n)
        for n in published.SIZES
        for kind in THRESHOLDS
        for k in HYPERPLANES
        for seed in (1, 2, 3)
        if k or kind == "median"  # without hyperplanes there are no thresholds
    ],
}


def cell(config: Config) -> Arrays:
    """Return errors of limits and networks, by hyperplanes and seed; of MNIST also its mark."""
    ks, seeds = config["hyperplanes"], config["seeds"]
    found = {name: np.full((len(ks), len(seeds)), np.nan) for name in NUMBERS}
    marks: Arrays = {}
    for i, k in enumerate(ks):
        for j, seed in enumerate(seeds):
            if "images" in config:
                data = published_split(seed, config["n"], config["n_test"])
                marks = {"mark": np.asarray(data.every.mean())}
            else:
                data = digits(seed, config["n"], SELECTION)
            gates = gates_of(data, 1, k, config["thresholds"])
            told, outputs = _limit(data, gates)
            if config["max_steps"]:
                # Contexts that never occur give all of a cell one shape, compiled once.
                wide = _padded(gates, max(ks))
                told |= _network(data, wide, outputs, seed, config["max_steps"])
            for name, value in told.items():
                found[name][i, j] = value
    return found | marks


def _padded(gates: HalfspaceGates, hyperplanes: int) -> HalfspaceGates:
    """Add hyperplanes that no input is beyond."""
    more, d = hyperplanes - gates.normals.shape[1], gates.normals.shape[2]
    normals = np.concatenate([np.zeros((1, more, d)), gates.normals], axis=1)
    return HalfspaceGates(normals, np.concatenate([np.ones((1, more)), gates.thresholds], axis=1))


def _limit(
    data: Digits, gates: HalfspaceGates
) -> tuple[dict[str, float], Float[np.ndarray, " m"] | None]:
    """Solve for the largest margin, a support vector machine in each joint context."""
    everywhere = gates.contexts(data.every)[:, 0]
    sizes = np.bincount(everywhere)
    joint = JointGates.of(gates, data.inputs)
    found = gated_limit(joint, data.inputs, data.labels, Quadratic())
    told = {
        "separable": float(found.outcome is Outcome.SOLVED),
        "largest": float(sizes.max() / len(everywhere)),
        "occupied": float((sizes > 0).sum()),
        "unseen": float(np.mean(joint.contexts(data.test_inputs) < 0)),
    }
    if found.outcome is not Outcome.SOLVED:
        return told, None
    outputs = found.predict(data.test_inputs)
    scored = accuracy(data.test_labels, outputs)
    chosen = accuracy(data.selection_labels, found.predict(data.selection_inputs))
    told |= {
        "limit": 1.0 - scored.value,
        "limit_strict": 1.0 - scored.strict,
        "limit_selection": 1.0 - chosen.value,
        "tied": scored.ties / len(outputs),
    }
    if gates.normals.shape[1] == SEPARATE:
        own = joint.contexts(data.inputs)[:, 0]
        alone = sum(
            least_cost(
                data.inputs[own == context], data.labels[own == context], Quadratic(), Margin(),
                intercept="none",
            ).value
            for context in range(joint.n_contexts)
        )  # fmt: skip
        told["separate"] = abs(alone / found.limit.value - 1.0)
    return told, outputs


def _network(
    data: Digits,
    gates: HalfspaceGates,
    limit: Float[np.ndarray, " m"] | None,
    seed: int,
    steps: int,
) -> dict[str, float]:
    """Train a network, and read it, also as if its thresholds had not been saved."""
    start = GatedNetwork.draw(gates.normals.shape[2], [gates], seed=seed)
    runs = train_gated(
        [start], data.inputs, data.labels, max_steps=steps, record=[steps], seeds=[seed],
        progress=False,
    )  # fmt: skip
    network = runs.networks[0]
    outputs = answers(network, data.test_inputs)
    unseen = ~np.isin(gates.contexts(data.test_inputs), gates.contexts(data.inputs))[:, 0]
    with TemporaryDirectory() as folder:
        save_network(network, Path(folder) / "network.npz")
        again = load_network(Path(folder) / "network.npz")
    assert isinstance(again, GatedNetwork)
    told = {
        "network": 1.0 - accuracy(data.test_labels, outputs).value,
        "network_selection": 1.0
        - accuracy(data.selection_labels, answers(network, data.selection_inputs)).value,
        "network_training": float(runs.training_error[0, -1]),
        "network_unseen": float(np.sum(outputs[unseen] * data.test_labels[unseen] <= 0)),
        "number_unseen": float(unseen.sum()),
        "apart_loaded": float(np.abs(answers(again, data.test_inputs) - outputs).max()),
    }
    if limit is not None:
        told["apart"] = inconsistency(outputs, limit)
        other = answers(reloaded(network, seed), data.test_inputs)
        told["apart_reloaded"] = inconsistency(other, limit)
    return told


def gather(cells: Cells) -> xr.Dataset:
    """Lay numbers over size, thresholds, hyperplanes and seed; NaN where none was computed."""
    of_mnist = "images" in cells[0][0]
    sizes = SIZES
    if of_mnist:
        require_files({float(found["mark"]) for _, found in cells}, "gated.contexts")
        sizes = tuple(sorted({config["n"] for config, _ in cells}))
    seeds = sorted({seed for config, _ in cells for seed in config["seeds"]})
    shape = (len(sizes), len(THRESHOLDS), len(HYPERPLANES), len(seeds))
    laid = {name: np.full(shape, np.nan) for name in NUMBERS}
    for config, found in cells:
        at = sizes.index(config["n"]), THRESHOLDS.index(config["thresholds"])
        rows = [HYPERPLANES.index(k) for k in config["hyperplanes"]]
        columns = [seeds.index(seed) for seed in config["seeds"]]
        for name in NUMBERS:
            laid[name][at][np.ix_(rows, columns)] = found[name]
    # Without hyperplanes there are no thresholds.
    for values in laid.values():
        values[:, 1, 0] = values[:, 0, 0]
    dims = ("n", "thresholds", "hyperplanes", "seed")
    return xr.Dataset(
        {name: (dims, laid[name], {"long_name": told}) for name, told in NUMBERS.items()},
        coords={
            "n": list(sizes),
            "thresholds": list(THRESHOLDS),
            "hyperplanes": list(HYPERPLANES),
            "seed": seeds,
        },
        attrs={"images": "mnist"} if of_mnist else None,
    )


def claims(data: xr.Dataset) -> list[Claim]:
    return published.claims(data) if _of_mnist(data) else on_digits.claims(data)


def _of_mnist(data: xr.Dataset) -> bool:
    return data.attrs.get("images") == "mnist"


def figure(data: xr.Dataset) -> Figure:
    """Draw what was found with 200 digits, or with the most images of MNIST."""
    drawn, axes = plots.mosaic("AB;CD", 6.0)
    small = data.isel(n=-1) if _of_mnist(data) else data.sel(n=200)
    for letter, kind in zip("AB", THRESHOLDS, strict=True):
        _draw_errors(axes[letter], small.sel(thresholds=kind))
        words = "at the median" if kind == "median" else "0"
        axes[letter].set(title=f"Thresholds {words}", ylim=(0, 0.62))
    axes["A"].set_ylabel("test error")
    handles = [
        Line2D([], [], **plots.look(0), label="limit, ties half"),
        Line2D([], [], **plots.look(0, linestyle=":"), label="limit, ties wrong"),
        Line2D([], [], **plots.look(1, line=False), label="trained network"),
    ]
    axes["A"].legend(handles=handles, loc="upper left", fontsize=8)
    for i, kind in enumerate(THRESHOLDS):
        own = small.sel(thresholds=kind)
        _line(axes["C"], own.unseen, plots.look(i, marker=plots.MARKERS[i], markersize=4))
        _line(axes["D"], own.largest, plots.look(i, marker=plots.MARKERS[i], markersize=4))
    every = np.array(HYPERPLANES)
    axes["D"].plot(every, 2.0**-every, color=plots.QUIET, linestyle=":", linewidth=1)
    plots.name(axes["D"], 3.1, 0.066, "$2^{-k}$", plots.QUIET, ha="right")
    axes["C"].set(ylabel="test images in\nunseen contexts", ylim=(0, 0.5))
    axes["D"].set(ylabel="images in the\nlargest context", yscale="log", ylim=(1e-3, 1.4))
    labels = ("at the median", "0")
    kinds = [
        Line2D([], [], **plots.look(i, marker=plots.MARKERS[i], markersize=4), label=words)
        for i, words in enumerate(labels)
    ]
    axes["C"].legend(handles=kinds, loc="upper left", fontsize=8, title="thresholds")
    for ax in axes.values():
        ax.set(xticks=HYPERPLANES, xlim=(-0.4, 9.4))
    for letter in "CD":
        axes[letter].set_xlabel("hyperplanes k (contexts: $2^k$)")
    return drawn


def _draw_errors(ax: Axes, data: xr.Dataset) -> None:
    _line(ax, data.limit, plots.look(0))
    _line(ax, data.limit_strict, plots.look(0, linestyle=":"))
    for k in HYPERPLANES:
        values = data.network.sel(hyperplanes=k).values
        values = values[np.isfinite(values)]
        if len(values) > 1:
            centre, low, high = plots.mean_interval(values)
            ends = [[centre - low], [high - centre]]
            ax.errorbar([k], [centre], ends, **plots.look(1, line=False), elinewidth=1)


def _line(ax: Axes, values: xr.DataArray, look: dict) -> None:
    """Draw the mean over the splits that have a value."""
    counted = values.notnull().sum("seed").values > 0
    mean = values.isel(hyperplanes=counted).mean("seed")
    ax.plot(mean.hyperplanes.values, mean.values, **look)
