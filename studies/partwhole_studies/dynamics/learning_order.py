"""Which of two concepts a one-layer network learns first: the larger mean, or the larger signal."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import brentq

from partwhole.flows import one_layer_flow
from partwhole.measures import learning_times
from partwhole.networks import Architecture
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole.tasks import StructuredIdentity
from partwhole.training import IdentityRuns, Protocol, train_identity
from partwhole_studies.dynamics import _wide as wide
from partwhole_studies.dynamics._order_numbers import FIRST_EPOCHS, FLIP, NO_BIAS
from partwhole_studies.dynamics._order_numbers import claims as claims
from partwhole_studies.dynamics._wide import (
    AS_CAPTIONED,
    AS_RUN,
    BATCHES,
    CAPTIONED,
    EPOCH,
    EPOCHS,
    MAIN,
    READINGS,
    SECOND,
    SETTINGS,
    THRESHOLDS,
    Reading,
)
from partwhole_studies.dynamics.drawing import concept_space

QUESTION = (
    "Of two concepts, which does a one-layer network learn first: the one with the larger mean, "
    "or the one with the larger signal?"
)
SOURCE = "Yang et al. (ICLR 2025), theorem on the one-layer model and figures 2a and 2b"
ANSWER = (
    "The one with the larger signal, variance plus a third of the squared mean: with means 1 and 2 "
    "the first leads from a variance of 1.05 as run, a deviation of 1.001 as captioned. At nearly "
    "equal signals the initial weights decide."
)
CAPTION = (
    "Top: answers to the unseen combination (star) as a path through concept space, for three "
    "first means and for several variances of the first concept. Lines: exact theory from the "
    "initial weights of one network; markers: that network after each epoch. Bottom left: "
    "epochs until each concept is learned to 90 %, theory from zero weights (lines) and trained "
    "networks, where they got there (hollow markers); dotted: equal signals as run. Thin lines "
    "and filled markers there: the spreads of both concepts read as the published captions have "
    "them, as standard deviations. All else is as the published networks were run, with "
    "variances, of .05 where none is told. Bottom right: the weak concept with and without a "
    "bias, theory (lines) and the mean of the networks (markers)."
)

SWEEP = [name for name, known in AS_RUN.items() if known.means == (1.0, 2.0)]
CAPTIONED_SWEEP = [name for name, known in AS_CAPTIONED.items() if known.means == (1.0, 2.0)]
MEANS = [name for name, known in AS_RUN.items() if known.spread == 0.05]
# A third of the published number of epochs: by then most concepts are learned to 90 %.
SHORT = 14


def _cells(seeds: int, settings: list[str], short: int) -> list[Config]:
    long = [MAIN, NO_BIAS]
    trained = [
        wide.network(name, EPOCHS if name == MAIN else max(short, 20), seed)
        for name in long
        for seed in range(seeds)
    ]
    trained += [
        wide.network(name, short, seed)
        for name in settings
        if name != MAIN
        for seed in range(seeds)
    ]
    return [{"part": "population", "variances": np.geomspace(0.0025, 4, 33).tolist()}, *trained]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(4, [*AS_RUN, CAPTIONED, CAPTIONED_SWEEP[-1]], SHORT),
    "laptop": _cells(8, list(SETTINGS), EPOCHS),
    "paper": _cells(24, list(SETTINGS), EPOCHS),
}


def cell(config: Config) -> Arrays:
    return _population(config) if config["part"] == "population" else _network(config)


def _flow(spread: float, epochs: np.ndarray, reading: Reading, *, bias: bool) -> np.ndarray:
    """Return exact answers from zero weights; the axes beyond the concepts don't matter."""
    asked = StructuredIdentity((1.0, 2.0), (spread, SECOND), origin=True, scales_are=reading)
    path = one_layer_flow(
        np.zeros((2, 2)),
        asked.second_moment(),
        EPOCH * epochs,
        mean=asked.mean() if bias else None,
    )
    return path.outputs(asked.probe)


def _population(config: Config) -> Arrays:
    whole = np.arange(EPOCHS + 1.0)
    fine = np.linspace(0, 60, 12_001)

    def times(spread: float, threshold: float, reading: Reading, *, bias: bool) -> np.ndarray:
        answers = _flow(spread, fine, reading, bias=bias)
        return learning_times(fine, answers / np.array([1.0, 2.0]), threshold)

    def lead(spread: float, threshold: float, reading: Reading, bias: bool) -> float:
        first, second = times(spread, threshold, reading, bias=bias)
        return first - second

    first = [
        [
            learning_times(
                whole, _flow(variance, whole, "variances", bias=bias) / [1, 2], q, interpolate=False
            )
            for q in THRESHOLDS
        ]
        for bias, variance in FIRST_EPOCHS
    ]
    return {
        "answers": np.stack([_flow(0.05, whole, "variances", bias=bias) for bias in (True, False)]),
        "first": np.array(first),
        "sweep": np.stack(
            [
                [times(v, 0.9, "variances", bias=True) for v in config["variances"]],
                [times(v**0.5, 0.9, "deviations", bias=True) for v in config["variances"]],
            ]
        ),
        "flip": np.array(
            [
                [
                    [brentq(lead, 0.3, 1.9, args=(q, reading, bias), xtol=1e-6) for q in THRESHOLDS]
                    for bias in (True, False)
                ]
                for reading in READINGS
            ]
        ),
    }


def _network(config: Config) -> Arrays:
    bias, epochs = config["setting"] != NO_BIAS, config["epochs"]
    asked = wide.task(config["setting"] if bias else MAIN)
    steps = wide.records(epochs)
    runs = train_identity(
        asked,
        Architecture(bias=bias),
        Protocol(epochs=epochs),
        seeds=[config["seed"]],
        record=steps,
        progress=False,
    )
    trained, theory = wide.answers(runs), _theory(asked, runs)
    means = SETTINGS[config["setting"] if bias else MAIN].means
    both = (trained, theory[: len(steps)])
    return {
        "trained": trained,
        "theory": theory,
        "error": runs.losses[0, 0, :, 0],
        "learned": np.stack([wide.learned(steps, each, means) for each in both]),
    }


def _theory(asked: StructuredIdentity, runs: IdentityRuns) -> np.ndarray:
    """Return the exact answers from a network's own initial weights, over all epochs."""
    turn = asked.rotation_matrix  # row p: where the learner sees axis p
    weights = np.asarray(runs.initial.weights[0][0], dtype=float)
    biases, mean = runs.initial.biases, None
    start = None
    if biases is not None:
        start, mean = turn @ np.asarray(biases[0][0], dtype=float), asked.mean()
    times = Protocol().rate(wide.DIMENSION) * wide.records(EPOCHS)
    path = one_layer_flow(
        turn @ weights @ turn.T, asked.second_moment(), times, mean=mean, bias=start
    )
    return path.outputs(asked.probe)[:, :2]


def gather(cells: Cells) -> xr.Dataset:
    steps = wide.records(EPOCHS)
    population = next((c, found) for c, found in cells if c["part"] == "population")
    trained = {(c["setting"], c["seed"]): found for c, found in cells if c["part"] == "network"}
    names = [name for name in [*SETTINGS, NO_BIAS] if any(name == key for key, _ in trained)]
    seeds = sorted({seed for _, seed in trained})

    def stacked(what: str, length: int | None = None) -> np.ndarray:
        rows = [[trained[name, seed][what] for seed in seeds] for name in names]
        if length is None:
            return np.array(rows)
        return np.array([[wide.padded(each, length) for each in row] for row in rows])

    run = ("setting", "seed")
    config, exact = population
    data = xr.Dataset(
        {
            "trained": ((*run, "epoch", "concept"), stacked("trained", len(steps))),
            "theory": ((*run, "epoch", "concept"), stacked("theory")),
            "error": ((*run, "epoch"), stacked("error", len(steps))),
            "learned": ((*run, "route", "threshold", "concept"), stacked("learned")),
            "answers": (("bias", "whole_epoch", "concept"), exact["answers"]),
            "first": (("case", "threshold", "concept"), exact["first"]),
            "sweep": (("reading", "variance", "concept"), exact["sweep"]),
            "flip": (("reading", "bias", "threshold"), exact["flip"]),
        },
        coords={
            "setting": names,
            "seed": seeds,
            "epoch": steps / BATCHES,
            "concept": ["first", "second"],
            "route": ["trained", "theory"],
            "threshold": list(THRESHOLDS),
            "reading": list(READINGS),
            "bias": ["with", "without"],
            "whole_epoch": np.arange(EPOCHS + 1),
            "case": [f"{'bias' if b else 'no bias'}, variance {v:g}" for b, v in FIRST_EPOCHS],
            "variance": config["variances"],
        },
    )
    words = {
        "trained": "answers of trained networks to the unseen combination",
        "theory": "answers by exact theory from their initial weights",
        "error": "half the squared distance to the unseen combination",
        "learned": "epochs until concepts are learned",
        "answers": "exact answers from zero weights",
        "first": "first whole epoch at which concepts are learned, from zero weights",
        "sweep": "epochs until concepts are learned to 90 %, from zero weights",
        "flip": "variance or deviation of the first concept at which the order flips",
    }
    for variable, long_name in words.items():
        data[variable].attrs["long_name"] = long_name
    return data


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AB;CD", 6.0)
    _draw_paths(axes["A"], data, MEANS)
    axes["A"].set_title("First mean 1, 2 or 3")
    _draw_paths(axes["B"], data, SWEEP)
    axes["B"].set_title("First variance 0.05 to 2")
    plots.name(axes["B"], 0.4, 1.72, "0.05", plots.COLOURS[0], ha="right")
    last = sum(name in data.setting for name in SWEEP) - 1
    plots.name(axes["B"], 0.9, 1.1, "2", plots.COLOURS[last])
    _draw_sweep(axes["C"], data)
    _draw_bias(axes["D"], data)
    return drawn


def _draw_paths(ax: Axes, data: xr.Dataset, settings: list[str]) -> None:
    seed = data.seed.values[0]
    whole = np.arange(EPOCHS + 1.0)
    shown = [name for name in settings if name in data.setting]
    for i, name in enumerate(shown):
        one = data.sel(setting=name, seed=seed)
        concept_space(ax, data.epoch.values, one.theory.values, SETTINGS[name].means, index=i)
        marks = one.trained.sel(epoch=whole).values
        ax.plot(*marks.T, **plots.look(i, line=False, markersize=3, markeredgewidth=0.8))


def _draw_sweep(ax: Axes, data: xr.Dataset) -> None:
    ax.axvline(FLIP, color=plots.QUIET, linewidth=0.9, linestyle=":")
    sweeps = [name for name in [*SWEEP, *CAPTIONED_SWEEP] if name in data.setting]
    for i, concept in enumerate(("first", "second")):
        run, captioned = data["sweep"].sel(concept=concept, reading=list(READINGS))
        ax.plot(data.variance, run, **plots.look(i))
        ax.plot(data.variance, captioned, **plots.look(i, linewidth=0.8, alpha=0.7))
        found = data.learned.sel(route="trained", threshold=0.9, concept=concept)
        for name in sweeps:
            epochs = found.sel(setting=name).values
            epochs = epochs[np.isfinite(epochs)]
            where = np.full(len(epochs), SETTINGS[name].variance)
            look = plots.look(i, line=False, markersize=4)
            if name in AS_CAPTIONED:
                look["markerfacecolor"] = look["color"]
            ax.plot(where, epochs, **look)
    ax.set(xscale="log", yscale="log", xlabel="variance of the first concept")
    ax.set(ylabel="epochs to 90 %", title="The order flips")
    ax.set_xticks([0.0025, 0.05, 0.5, 4], labels=["0.0025", "0.05", "0.5", "4"])
    ax.set_yticks([2, 5, 10, 20, 40], labels=["2", "5", "10", "20", "40"])
    ax.minorticks_off()
    plots.name(ax, 0.2, 27.0, "first", plots.COLOURS[0])
    plots.name(ax, 0.004, 3.6, "second", plots.COLOURS[1])


def _draw_bias(ax: Axes, data: xr.Dataset) -> None:
    whole = np.arange(0, EPOCHS + 1, 2)
    for i, (name, bias) in enumerate(((MAIN, "with"), (NO_BIAS, "without"))):
        ax.plot(data.whole_epoch, data.answers.sel(bias=bias, concept="first"), **plots.look(i))
        found = data.trained.sel(setting=name, concept="first", epoch=whole.astype(float))
        ax.plot(whole, found.mean("seed"), **plots.look(i, line=False, markersize=4))
    ax.axhline(1, color=plots.QUIET, linewidth=0.8, linestyle=":")
    ax.set(xlabel="epoch", ylabel="first concept", title="What a bias does", ylim=(-0.1, 1.1))
    plots.name(ax, 11.0, 0.9, "no bias", plots.COLOURS[1], ha="right")
    plots.name(ax, 20.0, 0.68, "bias", plots.COLOURS[0])
