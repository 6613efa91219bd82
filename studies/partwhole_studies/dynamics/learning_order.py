"""The concept that a one-layer network learns first: that of larger mean, or larger signal."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import brentq

from partwhole.flows import OneLayer, flow
from partwhole.measures import learning_times
from partwhole.measures.learning import slowing
from partwhole.networks import Architecture
from partwhole.study import (
    Arrays,
    Cells,
    Config,
    Estimate,
    key,
    layout,
    mean,
    proportion,
    series,
)
from partwhole.study.plots import look, mosaic
from partwhole.tasks import StructuredIdentity
from partwhole.training import Runs
from partwhole_studies.dynamics import wide_networks as wide
from partwhole_studies.dynamics.drawing import concept_space
from partwhole_studies.dynamics.wide_networks import AS_RUN, EPOCHS, MAIN, SETTINGS

NO_BIAS = "means 1 and 2, variance 0.05, no bias"
SWEEP = {name: setting.spread for name, setting in AS_RUN.items() if setting.means == (1.0, 2.0)}
MEANS = [name for name, setting in AS_RUN.items() if setting.spread == 0.05]
# A third of the published number of epochs: by then most concepts are learned to 90 %.
SHORT = 14
WHOLE = np.arange(EPOCHS + 1.0)


def _cells(seeds: int, settings: list[str], short: int) -> list[Config]:
    epochs = dict.fromkeys(settings, short) | {MAIN: EPOCHS, NO_BIAS: max(short, 20)}
    return [
        {"part": "population", "variances": np.geomspace(0.0025, 4, 33).tolist()},
        *(wide.network(name, epochs[name], seed) for name in epochs for seed in range(seeds)),
    ]


PRESETS = {
    "quick": _cells(6, [*AS_RUN, wide.CAPTIONED, "means 1 and 2, deviation 2"], SHORT),
    "laptop": _cells(8, list(SETTINGS), EPOCHS),
    "paper": _cells(24, list(SETTINGS), EPOCHS),
}


def cell(config: Config) -> Arrays:
    return _population(config) if config["part"] == "population" else _network(config)


def _flow(spread: float, epochs: np.ndarray, reading: wide.Reading, *, bias: bool) -> np.ndarray:
    """Return exact answers from zero weights; the axes beyond the concepts don't matter."""
    task = StructuredIdentity((1.0, 2.0), (spread, wide.SECOND), origin=True, scales_are=reading)
    start, times, centre = np.zeros((2, 2)), wide.EPOCH * epochs, task.mean() if bias else None
    return flow(OneLayer(start, task.second_moment(), mean=centre), times).outputs(task.probe)


def _population(config: Config) -> Arrays:
    fine = np.linspace(0, 60, 12_001)

    def times(spread: float, threshold: float, reading: wide.Reading, *, bias: bool) -> np.ndarray:
        fractions = _flow(spread, fine, reading, bias=bias) / np.array([1.0, 2.0])
        return learning_times(fine, fractions, threshold)

    def lead(spread: float, reading: wide.Reading, bias: bool) -> float:
        first, second = times(spread, 0.5, reading, bias=bias)
        return first - second

    flips = [
        [brentq(lead, 0.3, 1.9, args=(reading, bias), xtol=1e-6) for bias in (True, False)]
        for reading in wide.READINGS
    ]
    sweep = [times(v, 0.9, "variances", bias=True) for v in config["variances"]]
    answers = [_flow(0.05, WHOLE, "variances", bias=bias) for bias in (True, False)]
    return {"answers": np.stack(answers), "sweep": np.stack(sweep), "flip": np.array(flips)}


def _network(config: Config) -> Arrays:
    bias, epochs = config["setting"] != NO_BIAS, config["epochs"]
    setting = config["setting"] if bias else MAIN
    task, steps = wide.task(setting), wide.records(epochs)
    runs = wide.trained(task, Architecture(bias=bias), epochs, config["seed"])
    trained, theory = wide.answers(runs), _theory(task, runs)
    routes = (trained, theory[: len(steps)])
    learned = [wide.learned(steps, route, SETTINGS[setting].means) for route in routes]
    return {"trained": wide.padded(trained), "theory": theory, "learned": np.stack(learned)}


def _theory(task: StructuredIdentity, runs: Runs) -> np.ndarray:
    """Return the exact answers from a network's own initial weights, over all epochs."""
    turn = task.rotation_matrix  # row p: where the learner sees axis p
    weights = np.asarray(runs.start.weights[0], dtype=float)
    options = {}
    if runs.start.biases is not None:
        bias = np.asarray(runs.start.biases[0], dtype=float)
        options = {"mean": task.mean(), "bias": turn @ bias}
    times = wide.STEP * wide.records(EPOCHS)
    path = flow(OneLayer(turn @ weights @ turn.T, task.second_moment(), **options), times)
    return path.outputs(task.probe)[:, :2]


def gather(cells: Cells) -> xr.Dataset:
    (variances,) = (c["variances"] for c, _ in cells if c["part"] == "population")
    return layout(
        cells,
        {
            "trained": "epoch concept", "theory": "epoch concept",
            "learned": "route threshold concept", "answers": "bias whole_epoch concept",
            "sweep": "variance concept", "flip": "reading bias",
        },
        over=["setting", "seed"],
        coords={
            "epoch": wide.records(EPOCHS) / wide.BATCHES, "concept": ["first", "second"],
            "route": ["trained", "theory"], "threshold": list(wide.THRESHOLDS),
            "reading": list(wide.READINGS), "bias": ["with a bias", "without a bias"],
            "whole_epoch": WHOLE, "variance": variances,
        },
        labels={"learned": "epochs to 90 %", "trained": "first concept"},
    )  # fmt: skip


def numbers(data: xr.Dataset) -> dict[str, float | int | Estimate | np.ndarray]:
    trained = [name for name in data.setting.values if name in SETTINGS]
    leaders = {name: wide.stronger(name) for name in trained if wide.stronger(name) is not None}
    learned = data.learned.sel(route="trained", threshold=0.9, setting=[*leaders])
    first_leads = learned.sel(concept="first") < learned.sel(concept="second")
    leading = xr.DataArray([concept == 0 for concept in leaders.values()], dims="setting")
    right = int((first_leads == leading).all("setting").sum())
    scale = [SETTINGS.get(name, SETTINGS[MAIN]).means for name in data.setting.values]
    gap = np.abs(data.trained - data.theory) / xr.DataArray(scale, dims=("setting", "concept"))
    paths = data.trained.sel(setting=MAIN, epoch=WHOLE).values
    equal = xr.DataArray([1.05, np.sqrt(1 + wide.SECOND**2)], dims="reading")
    return {
        "flip": float(data.flip.sel(reading="variances", bias="with a bias")),
        "order": proportion(right, data.sizes["seed"]),
        "right": right,
        "n": data.sizes["seed"],
        "gap": mean(gap.max(["setting", "epoch", "concept"])),
        "slowing": mean(np.array([slowing(WHOLE, path).ratio for path in paths])),
        "flips": (data.flip - equal).values,
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CD", 6.2)
    _draw_paths(axes["A"], data, MEANS, "First mean 1, 2 or 3")
    _draw_paths(axes["B"], data, [*SWEEP], "First variance 0.05 to 2")
    words = {"theory": "exact theory", "measured": "networks"}
    sweep = data.learned.sel(setting=[*SWEEP], route="trained", threshold=0.9)
    sweep = sweep.rename(setting="variance").assign_coords(variance=[*SWEEP.values()])
    names = {"first": "first concept", "second": "second concept"}
    options = {"by": "concept", "names": names, "words": words}
    series(axes["C"], "variance", theory=data["sweep"], measured=sweep, **options)
    axes["C"].set(xlabel="variance of the first concept", xscale="log", yscale="log")
    axes["C"].set_yticks([2, 5, 10, 20, 40], ["2", "5", "10", "20", "40"])
    axes["C"].minorticks_off()
    weak = data.trained.sel(setting=[MAIN, NO_BIAS], concept="first", epoch=WHOLE[::2])
    weak = weak.rename(setting="bias").assign_coords(bias=data.bias.values)
    exact = data.answers.sel(concept="first").rename(whole_epoch="epoch")
    series(axes["D"], "epoch", by="bias", theory=exact, measured=weak, words=words, shift=2)
    axes["D"].set(title="Effect of a bias", ylim=(-0.1, 1.1))
    return key(drawn, 3)


def _draw_paths(ax: Axes, data: xr.Dataset, settings: list[str], title: str) -> None:
    for i, name in enumerate(settings):
        run = data.sel(setting=name).isel(seed=0)
        concept_space(ax, run.epoch.values, run.theory.values, SETTINGS[name].means, index=i)
        marks = run.trained.sel(epoch=WHOLE).values
        ax.plot(*marks.T, **look(i, line=False, markersize=3, markeredgewidth=0.8))
    ax.set_title(title)
