"""Transitive equivalence: networks that learn features solve what no overlap kernel can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.measures import accuracy
from partwhole.study import Arrays, Cells, Config, Estimate, geometric_mean, key, mean, series
from partwhole.study.plots import QUIET, look, mosaic
from partwhole_studies import along
from partwhole_studies.dense import networks, similarities
from partwhole_studies.network_tasks import make_task

LOSSES = ("squared", "logistic")
RICH, LAZY = 1e-6, 1.0
# Share of unseen pairs that is right after the squared loss; read off the figure, six networks.
PUBLISHED = xr.DataArray([1.0, 0.417], coords={"scale": [RICH, LAZY]}, dims="scale")
SHOWN = 400  # units of one network that the figure shows
# The hidden classes are {0, 1} and {2, 3}; 0 and 2 were seen with all others.
READ = ("sided", "alike", "unlike", "right", "similarity_before", "similarity_after")
WITHIN = {"units": "unit reading"} | networks.WITHIN
ALIKE, UNLIKE = ((0, 1), (2, 3)), ((0, 2), (0, 3), (1, 2), (1, 3))


def _cells(
    width: int, scales: Sequence[Any], depths: Sequence[int], steps: int, lazy: int
) -> list[Config]:
    """Return cells of six networks each, and of more from scale 1, where accuracy scatters."""
    common: Config = {"task": "equivalence", "seeds": list(range(6)), "stop": 1e-6, "kernels": 0}
    wide = [
        common
        | {"seeds": list(range(lazy if scale == LAZY else 6)), "loss": loss, "scale": scale}
        | {"depth": 1, "width": width, "optimizer": "sgd", "rate": 0.1, "steps": steps}
        for loss in LOSSES
        for scale in scales
    ]
    deep = [
        common
        | {"loss": "squared", "scale": 0.1, "depth": depth, "width": 100, "optimizer": "adam"}
        | {"rate": 1e-4, "steps": 100_000}
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
    trained = networks.train(config)
    if config["depth"] > 1:
        return trained.arrays
    hidden, readout = (np.asarray(weights, float) for weights in trained.networks.weights)
    return trained.arrays | read_units(hidden, readout[:, 0])


def read_units(hidden: np.ndarray, readout: np.ndarray) -> Arrays:
    r"""Measure what hidden units (seeds, h, 8) with readouts (seeds, h) distinguish.

    With :math:`x = w \cdot (e_0 - e_2)` in the first place and y in the second, a unit that signals
    "same" has x and y of one sign, one that signals "different" of two. And items of one class have
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
    wide = [(config, arrays) for config, arrays in cells if config["optimizer"] == "sgd"]
    deep = [(config, arrays) for config, arrays in cells if config["optimizer"] == "adam"]
    separated = networks.separate(wide, ("loss", "scale"), _read)
    separated += networks.separate(deep, ("depth",), _read_deep)
    separated += [
        ({name: config[name] for name in ("loss", "scale")}, {"units": arrays["units"]})
        for config, arrays in wide
    ]
    data = networks.lay_out(
        separated,
        WITHIN,
        over=["loss", "scale", "depth", "seed"],
        coords={"reading": ["first", "second", "readout"]} | networks.coords_of(wide, deep),
        labels={"accuracy": "unseen pairs right", "scale": "initial scale"},
    )
    return data.assign_attrs(not_learned=networks.not_learned(cells))


def _read(config: Config, network: Arrays) -> dict[str, Any]:
    read = {name: network[name] for name in READ}
    return read | {"accuracy": _accuracy(config, network)}


def _read_deep(config: Config, network: Arrays) -> dict[str, Any]:
    return {"deep_accuracy": _accuracy(config, network), "deep_right": network["right"]}


def _accuracy(config: Config, network: Arrays) -> float:
    task = make_task(config["task"])
    return accuracy(task.test_targets, network["predictions"][~task.is_train]).value


def numbers(data: xr.Dataset) -> dict[str, str | Estimate]:
    rich = data.sel(scale=RICH).mean("loss")
    solved = mean(rich.accuracy, within=(0.0, 1.0))
    lazy = mean(data.accuracy.sel(scale=LAZY, loss="squared"), within=(0.0, 1.0))
    steps = along.settled(data.right.sel(scale=RICH, loss="squared")).clip(min=1)
    return {
        "solved": solved,
        "lazy": lazy,
        "sided": mean(rich.sided, within=(-1.0, 1.0)),
        "unlike": mean(rich.unlike, within=(-1.0, 1.0)),
        "can": "They can" if solved.value > 0.9 else "Not reliably",
        "chance": "not distinguishable from chance" if lazy.low < 0.5 < lazy.high
        else "above chance" if lazy.value > 0.5 else "below chance",
        "lag": geometric_mean(steps.sel(side="unseen") / steps.sel(side="seen")),
        "not_learned": data.attrs["not_learned"],
    }  # fmt: skip


def figure(data: xr.Dataset) -> Figure:
    deep = "deep_accuracy" in data
    layout = "AAAABB;EEEFFF;CCCDDD;GGGGGG" if deep else "AAAAAA;EEEFFF;CCCDDD"
    drawn, axes = mosaic(layout, 11.0 if deep else 8.4)
    _draw_accuracy(axes["A"], data)
    if deep:
        series(axes["B"], "depth", measured=data.deep_accuracy, within=(0.0, 1.0))
        axes["B"].set(xlabel="hidden layers", ylabel="", ylim=(0, 1.06), title="Scale 0.1")
        axes["B"].set_xticks(data.depth)
        right = data.deep_right.rename(deep_step="step")
        along.draw(axes["G"], right, "depth", lambda depth: f"{depth} hidden layers", 3)
        axes["G"].set_title("Along training, scale 0.1")
    squared = data.sel(loss="squared", scale=[RICH, LAZY])
    along.draw(axes["E"], squared.right, "scale", lambda scale: f"unseen, scale {scale:g}", 4)
    axes["E"].set_title("Along training, squared loss")
    rich = squared.sel(scale=RICH)
    similarities.draw(axes["F"], rich.similarity_before, rich.similarity_after)
    axes["F"].set_title(f"Pairs of inputs, scale {RICH:g}")
    units = data.units.sel(loss="squared")
    _draw_units(axes["C"], units.sel(scale=RICH).values, f"Units, scale {RICH:g}")
    _draw_units(axes["D"], units.sel(scale=LAZY).values, f"Units, scale {LAZY:g}")
    axes["C"].set_ylabel("A less D in second place")
    return key(drawn, columns=3)


def _draw_accuracy(ax: Axes, data: xr.Dataset) -> None:
    ax.axhline(0.5, color=QUIET, linewidth=0.8)
    for i, loss in enumerate(LOSSES):
        beside = {"scale": data.scale * (0.75, 1.33)[i]}
        crosses = PUBLISHED.assign_coords(scale=0.4 * PUBLISHED.scale).expand_dims(loss=[loss])
        series(
            ax, "scale", by="loss", measured=data.accuracy.sel(loss=[loss]).assign_coords(beside),
            published=crosses if loss == "squared" else None, names={loss: f"{loss} loss"},
            within=(0.0, 1.0), shift=i,
        )  # fmt: skip
    ax.set(xscale="log", ylim=(0, 1.06), xlim=(0.15 * data.scale.min(), 6))
    ax.set_xticks(data.scale)
    ax.minorticks_off()


def _draw_units(ax: Axes, units: np.ndarray, title: str) -> None:
    size = np.nanmax(np.abs(units[:, :2]))
    for i, (sign, word) in enumerate(((1, "unit signals same"), (-1, "unit signals different"))):
        group = units[np.sign(units[:, 2]) == sign] / size
        style = look(i + 2, line=False, markersize=3.5, markeredgewidth=0.7)
        ax.plot(group[:, 0], group[:, 1], label=word, **style)
    ax.axhline(0, color=QUIET, linewidth=0.6, zorder=0)
    ax.axvline(0, color=QUIET, linewidth=0.6, zorder=0)
    ax.set(title=title, xlabel="A less D in first place", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
    ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], aspect="equal")
