"""Transitive equivalence: networks that learn features solve what no overlap kernel can."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole._types import Real
from partwhole.measures import accuracy
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole_studies.dense import _runs as runs
from partwhole_studies.dense._equivalence_claims import claims as claims

QUESTION = (
    "No overlap kernel can work out which items belong together. Can networks that learn their "
    "features, and how do their hidden units do it?"
)
SOURCE = (
    "Lippl & Stachenfeld, first arXiv version, figure 4, and appendix on deep dense networks; "
    "units: its figure 4b and c"
)
ANSWER = (
    "From small weights all of them can: each hidden unit weighs items of one class alike and "
    "those of the other oppositely, unseen pairs included. From large weights accuracy stays at "
    "chance."
)
CAPTION = (
    "Top: share of unseen pairs that is right against initial scale, mean (line) and single "
    "networks. Below: hidden units of one network, by how differently they weigh the anchor A of "
    "one class and D of the other in first and in second place, by the sign of their readout. "
    "Grown from small weights, units that say alike lie on one diagonal and those that say "
    "different on the other; from large weights they lie anywhere."
)

LOSSES = ("squared", "logistic")
STOP = 1e-6
SHOWN = 400  # units of one network that the figure shows
# The hidden classes are {0, 1} and {2, 3}; 0 and 2 were seen with all others.
ALIKE, UNLIKE = ((0, 1), (2, 3)), ((0, 2), (0, 3), (1, 2), (1, 3))


def _cells(
    width: int, scales: Sequence[Real], depths: Sequence[int], steps: int, lazy: int
) -> list[Config]:
    """Return cells of six networks each, and of more from scale 1, where accuracy scatters."""
    common: Config = {"task": runs.EQUIVALENCE, "seeds": list(range(6)), "stop": STOP}
    wide = [
        common
        | {
            "seeds": list(range(lazy if scale == 1.0 else 6)),
            "loss": loss,
            "scale": scale,
            "depth": 1,
            "width": width,
            "optimizer": "sgd",
        }
        | {"rate": 0.1, "steps": steps, "kernels": 0}
        for loss in LOSSES
        for scale in scales
    ]
    deep = [
        common
        | {"loss": "squared", "scale": 0.1, "depth": depth, "width": 100, "optimizer": "adam"}
        | {"rate": 1e-4, "steps": 100_000, "kernels": 0}
        for depth in depths
    ]
    return wide + deep


SCALES = tuple(float(f"1e{k}") for k in range(-6, 1))
PRESETS = {
    "quick": _cells(1000, (1e-6, 1.0), (), 3000, 24),
    "laptop": _cells(10_000, SCALES, (1, 2, 3, 4), 10_000, 24),
    "paper": _cells(10_000, SCALES, (1, 2, 3, 4), 10_000, 100),
}


def cell(config: Config) -> Arrays:
    """Train networks on one loss, initial scale and depth, and read their hidden units."""
    trained = runs.train(config)
    found = dict(trained.found)
    if config["depth"] == 1:
        hidden, readout = (np.asarray(weights, float) for weights in trained.end.weights)
        found |= _units(hidden, readout[:, 0])
    return found


def _units(hidden: np.ndarray, readout: np.ndarray) -> Arrays:
    r"""Read what hidden units (seeds, h, 8) with readouts (seeds, h) tell apart.

    With :math:`x = w \cdot (e_0 - e_2)` in the first place and y in the second, a unit that says
    "alike" has x and y of one sign, one that says "different" of two. And items of one class have
    equal weights in every unit, those of two opposite ones once their mean is taken off.
    """
    x, y = hidden[..., 0] - hidden[..., 2], hidden[..., 4] - hidden[..., 6]
    mass = np.abs(readout) * np.linalg.norm(hidden, axis=-1)
    sided = np.sum(mass * np.sign(x * y * readout), axis=-1) / np.sum(mass, axis=-1)
    places = np.stack([hidden[..., :4], hidden[..., 4:]], axis=-2)
    centred = places - places.mean(axis=-1, keepdims=True)
    gram = np.einsum("sh,shpi,shpj->spij", np.abs(readout), centred, centred)
    size = np.sqrt(np.einsum("spii->spi", gram))
    cosine = gram / (size[..., :, None] * size[..., None, :])
    largest = np.argsort(-mass[0])[:SHOWN]
    return {
        "sided": sided,
        "alike": np.mean([cosine[..., i, j] for i, j in ALIKE], axis=(0, 2)),
        "unlike": np.mean([cosine[..., i, j] for i, j in UNLIKE], axis=(0, 2)),
        "units": np.stack([x[0], y[0], readout[0]], axis=-1)[largest],
    }


def gather(cells: Cells) -> xr.Dataset:
    """Lay accuracy and units over losses and scales, or depths, and seeds; NaN if not learned."""
    losses = list(dict.fromkeys(config["loss"] for config, _ in cells))
    wide = [(config, found) for config, found in cells if "units" in found and _is_wide(config)]
    deep = [(config, found) for config, found in cells if not _is_wide(config)]
    scales = sorted({config["scale"] for config, _ in wide})
    most = max(len(config["seeds"]) for config, _ in cells)
    laid = {name: np.full((len(losses), len(scales), most), np.nan) for name in WORDS}
    units = np.full((len(losses), len(scales), SHOWN, 3), np.nan)
    for config, found in wide:
        at = (losses.index(config["loss"]), scales.index(config["scale"]))
        right, worst = _judged(found)
        for name, each in {"accuracy": right, "worst": worst, **found}.items():
            if name in laid:
                kept = np.where(found["learned"], each, np.nan)
                laid[name][at][: len(kept)] = kept
        units[at][: len(found["units"])] = found["units"]
    depths = [config["depth"] for config, _ in deep]
    by_depth = np.full((len(deep), most), np.nan)
    for place, (_, found) in enumerate(deep):
        right = _judged(found)[0]
        by_depth[place, : len(right)] = right
    counted = [found["learned"] for _, found in cells]
    return xr.Dataset(
        {
            name: (("loss", "scale", "seed"), each, {"long_name": WORDS[name]})
            for name, each in laid.items()
        }
        | {
            "units": (("loss", "scale", "unit", "reading"), units),
            "deep_accuracy": (
                ("depth", "seed"),
                by_depth,
                {"long_name": WORDS["accuracy"]},
            ),
        },
        coords={
            "loss": losses,
            "scale": scales,
            "seed": range(most),
            "depth": depths,
            "reading": ["first", "second", "readout"],
        },
        attrs={
            "networks": int(sum(map(len, counted))),
            "not_learned": int(sum(np.sum(~each) for each in counted)),
            "width": wide[0][0]["width"],
        },
    )


WORDS = {
    "accuracy": "share of unseen pairs that is right",
    "worst": "least margin of an unseen pair",
    "sided": "weight of units whose two sides agree as their readout asks, less that of others",
    "alike": "cosine of the weights of items of one class",
    "unlike": "cosine of the weights of items of two classes",
}


def _is_wide(config: Config) -> bool:
    return config["optimizer"] == "sgd"


def _judged(found: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Return each network's accuracy on unseen pairs, and its least margin there."""
    task = runs.make_task(runs.EQUIVALENCE)
    held_out = ~task.is_train
    return (
        runs.of_learned(found, lambda each: accuracy(task.test_targets, each[held_out]).value),
        runs.of_learned(found, lambda each: float((each * task.targets)[held_out].min())),
    )


def figure(data: xr.Dataset) -> Figure:
    """Draw accuracy against scale, and units of a rich and of a lazy network."""
    drawn, axes = plots.mosaic("AA;BC", 5.6)
    _draw_accuracy(axes["A"], data)
    loss = str(data.loss.values[0])
    for letter, scale, title in (
        ("B", data.scale.values[0], "From small weights"),
        ("C", data.scale.values[-1], "From large weights"),
    ):
        _draw_units(axes[letter], data.units.sel(loss=loss, scale=scale).values, title)
    axes["B"].set_ylabel("in second place")
    return drawn


def _draw_accuracy(ax: Axes, data: xr.Dataset) -> None:
    for i, loss in enumerate(map(str, data.loss.values)):
        each = data.accuracy.sel(loss=loss)
        style = plots.look(i)
        ax.plot(data.scale, each.mean("seed"), label=f"{loss} loss", **style)
        aside = 1.12 ** (2 * i - 1)
        for one in each.transpose("seed", "scale").values:
            ax.plot(data.scale * aside, one, **plots.look(i, line=False, markersize=4))
    ax.axhline(0.5, color=plots.QUIET, linewidth=0.8)
    ax.set(xscale="log", xlabel="initial scale", ylabel="unseen pairs right", ylim=(-0.03, 1.06))
    ax.legend(fontsize=8, frameon=False, loc="lower left")


def _draw_units(ax: Axes, units: np.ndarray, title: str) -> None:
    size = np.nanmax(np.abs(units[:, :2]))
    for i, (sign, word) in enumerate(((1, "says alike"), (-1, "says different"))):
        chosen = units[np.sign(units[:, 2]) == sign]
        style = plots.look(i, line=False, markersize=3.5, markeredgewidth=0.7)
        ax.plot(chosen[:, 0] / size, chosen[:, 1] / size, label=word, **style)
    ax.axhline(0, color=plots.QUIET, linewidth=0.6)
    ax.axvline(0, color=plots.QUIET, linewidth=0.6)
    ax.set(title=title, xlabel="A less D in first place", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
    ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], aspect="equal")
    if title == "From small weights":
        ax.legend(fontsize=7, loc="upper center", handletextpad=0.1, frameon=False)
