"""Two layers in 64 dimensions, linear and ReLU: an answer may retreat while its error falls."""

from __future__ import annotations

from typing import Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

from partwhole.networks import Architecture
from partwhole.study import Arrays, Cells, Config
from partwhole.study import plots as plots
from partwhole.training import IdentityRuns, Protocol, train_identity
from partwhole_studies.dynamics import _small_networks as small
from partwhole_studies.dynamics import _wide as wide
from partwhole_studies.dynamics._two_layer_numbers import (
    NETWORKS,
    RETREATS,
    SEED_ERRORS,
    SHORT,
    retreats,
    runs,
)
from partwhole_studies.dynamics._two_layer_numbers import claims as claims
from partwhole_studies.dynamics._wide import AS_RUN, BATCHES, CAPTIONED, EPOCHS, MAIN, SETTINGS
from partwhole_studies.dynamics.drawing import concept_space

QUESTION = (
    "In 64 dimensions, does the answer of a two-layer network to an unseen combination retreat "
    "along the weak concept while it learns, and does its error rise again?"
)
SOURCE = "Yang et al. (ICLR 2025), figures 11 and 12"
ANSWER = (
    "Of 24 ReLU networks the answers of 9 retreat along the weak concept by more than 2 % of its "
    "mean as run, and of 14 as captioned; of 24 linear ones 0 and 1. The error falls all the same."
)
CAPTION = (
    "Linear networks left, ReLU right. Top: answers to the unseen combination (star) as a path "
    "through concept space; markers: one network after each epoch; lines: left gradient flow on "
    "the population from its own initial weights, right the network itself. Middle: the weak "
    "concept in all networks (means 1 and 2, variances 0.05; thick orange "
    "where it retreats by more than 2 % of its mean). Bottom: the error of the same networks; "
    "circles: the published one. All with the spreads read as variances, as the published "
    "networks were run; the lower count in the middle is of networks with deviations of .05, as "
    "the published captions have it."
)

SPREAD = "means 1 and 2, variance 2"
OTHER = "means 3 and 2, variance 0.05"
SHOWN = (MAIN, SPREAD, OTHER)
EVERY = (0, 4, 8, 12)


def _cells(seeds: dict[str, dict[str, int]], long: list[tuple[str, str]] | None) -> list[Config]:
    """List networks; those of some settings, or all, are trained as long as the published ones."""
    return [
        wide.network(
            setting,
            EPOCHS if long is None or (kind, setting) in long else SHORT,
            seed,
            nonlinearity=kind,
        )
        for kind in NETWORKS
        for setting, n in seeds[kind].items()
        for seed in range(n)
    ]


def _all(n: int) -> dict[str, dict[str, int]]:
    return {kind: dict.fromkeys(SETTINGS, n) for kind in NETWORKS}


# What a quick run trains one network of: to see that nothing depends on the setting.
FEW = {
    "linear": ("means 1 and 2, variance 0.5", "means 2 and 2, variance 0.05", OTHER),
    "relu": tuple(name for name in AS_RUN if name not in (MAIN, SPREAD)),
}
PRESETS: dict[str, list[Config]] = {
    "quick": _cells(
        {
            "linear": {MAIN: 4, SPREAD: 4, CAPTIONED: 3} | dict.fromkeys(FEW["linear"], 1),
            "relu": {MAIN: 8, SPREAD: 4, CAPTIONED: 8} | dict.fromkeys(FEW["relu"], 1),
        },
        [("linear", MAIN)],
    ),
    "laptop": _cells(_all(8), None),
    "paper": _cells(_all(24), None),
}


def cell(config: Config) -> Arrays:
    """Train one network; a linear one beside the flow from its own initial weights."""
    kind: Literal["linear", "relu"] = config["nonlinearity"]
    setting, epochs = config["setting"], config["epochs"]
    steps = wide.records(epochs)
    networks = train_identity(
        wide.task(setting),
        Architecture(layers=2, nonlinearity=kind),
        Protocol(epochs=epochs),
        seeds=[config["seed"]],
        record=steps,
        progress=False,
    )
    means = SETTINGS[setting].means
    trained = wide.answers(networks)
    found = {
        "trained": trained,
        "error": networks.losses[0, 0, :, 0],
        "learned": wide.learned(steps, trained, means),
    }
    if kind == "linear":
        found["theory"] = _flow(networks)
    return found


def _flow(networks: IdentityRuns) -> np.ndarray:
    """Follow the flow on the population from a network's own initial weights.

    Inputs differ along the two concepts alone, so that the first layer's other columns neither
    move nor matter. That small a flow is over before `beside_theory`, which gives the same, would
    be compiled.
    """
    task = networks.tasks[0]
    (first, second), (shift, offset) = (
        [layer[0] for layer in each] for each in small.in_concepts(networks.initial, task, [0])
    )
    moment = np.diag([*task.signals[:2], 1.0])
    moment[:2, 2] = moment[2, :2] = task.mean()[:2]
    wanted = np.eye(len(first), 3)
    wanted[2] = 0.0
    n = second.size

    def apart(state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        below, above = state[: 3 * len(first)], state[3 * len(first) :]
        return below.reshape(-1, 3), above[:n].reshape(second.shape), above[n:]

    def map_of(state: np.ndarray) -> np.ndarray:
        below, above, bias = apart(state)
        whole = above @ below
        whole[:, 2] += bias
        return whole

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        below, above, _bias = apart(state)
        push = (wanted - map_of(state)) @ moment
        return np.concatenate([(above.T @ push).ravel(), (push @ below.T).ravel(), push[:, 2]])

    start = np.concatenate([np.column_stack([first[:, :2], shift]).ravel(), second.ravel(), offset])
    times = networks.times[0]
    path = solve_ivp(
        velocity, (0.0, times[-1]), start, method="DOP853", t_eval=times, rtol=1e-8, atol=1e-10
    )
    answers = [map_of(state) @ [*task.means, 1.0] for state in path.y.T]
    return np.array(answers)[:, :2]


def gather(cells: Cells) -> xr.Dataset:
    """Lay networks over kind, setting, seed and epoch; NaN where none was trained."""
    steps = wide.records(EPOCHS)
    by = {(c["nonlinearity"], c["setting"], c["seed"]): found for c, found in cells}
    names = [name for name in SETTINGS if any(name == key[1] for key in by)]
    seeds = sorted({key[2] for key in by})
    like: dict[str, tuple[int, ...]] = {
        "trained": (len(steps), 2),
        "theory": (len(steps), 2),
        "error": (len(steps),),
    }
    like |= {"learned": (len(wide.THRESHOLDS), 2)}
    run = (len(NETWORKS), len(names), len(seeds))
    laid: dict[str, np.ndarray] = {
        what: np.full((*run, *shape), np.nan) for what, shape in like.items()
    }
    for (kind, name, seed), found in by.items():
        at = NETWORKS.index(kind), names.index(name), seeds.index(seed)
        for what, values in found.items():
            laid[what][at][: len(values)] = values
    dims = ("network", "setting", "seed")
    data = xr.Dataset(
        {
            "trained": ((*dims, "epoch", "concept"), laid["trained"]),
            "theory": ((*dims, "epoch", "concept"), laid["theory"]),
            "error": ((*dims, "epoch"), laid["error"]),
            "learned": ((*dims, "threshold", "concept"), laid["learned"]),
        },
        coords={
            "network": list(NETWORKS),
            "setting": names,
            "seed": seeds,
            "epoch": steps / BATCHES,
            "concept": ["first", "second"],
            "threshold": list(wide.THRESHOLDS),
        },
    )
    words = {
        "trained": "answers of trained networks to the unseen combination",
        "theory": "answers by gradient flow on the population from their initial weights",
        "error": "half the squared distance to the unseen combination",
        "learned": "epochs until concepts are learned",
    }
    for variable, long_name in words.items():
        data[variable].attrs["long_name"] = long_name
    return data


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AB;CD;EF", 7.6)
    for kind, letters, title in zip(
        NETWORKS, ("ACE", "BDF"), ("Two linear layers", "Two layers, ReLU"), strict=True
    ):
        above, middle, below = (axes[letter] for letter in letters)
        _draw_paths(above, data, kind)
        above.set_title(title)
        _draw_weak(middle, data, kind)
        _draw_errors(below, data, kind)
    for one, other in ("CD", "EF"):
        axes[one].sharey(axes[other])
        axes[other].set_ylabel("")
    axes["B"].set_ylabel("")
    return drawn


def _draw_paths(ax: Axes, data: xr.Dataset, kind: str) -> None:
    seed = data.seed.values[0]
    whole = np.arange(EPOCHS + 1.0)
    for i, setting in enumerate(SHOWN):
        one = data.sel(network=kind, setting=setting, seed=seed)
        line = one.theory if kind == "linear" else one.trained
        line = line.values[np.isfinite(line.values).all(axis=1)]
        times = data.epoch.values[: len(line)]
        concept_space(ax, times, line, SETTINGS[setting].means, index=i)
        marks = one.trained.sel(epoch=whole).values
        ax.plot(*marks.T, **plots.look(i, line=False, markersize=3, markeredgewidth=0.8))
    words = ("variance 0.05", "variance 2", "first mean 3")
    for i, (x, y, word) in enumerate(zip((1.2, 1.2, 1.6), (1.7, 1.35, 0.28), words, strict=True)):
        plots.name(ax, x, y, word, plots.COLOURS[i], fontsize=8)


def _draw_weak(ax: Axes, data: xr.Dataset, kind: str) -> None:
    answers = runs(data, kind, MAIN)
    epochs = data.epoch.values[: answers.shape[1]]
    back = retreats(data, kind) > RETREATS
    for answer, retreated in zip(answers, back, strict=True):
        colour = plots.COLOURS[1] if retreated else plots.QUIET
        ax.plot(epochs, answer[:, 0], color=colour, linewidth=1.8 if retreated else 0.8)
    ax.set(ylabel="weak concept", xlim=(0, SHORT), xticks=EVERY, ylim=(-0.35, 0.8))
    words = f"{back.sum()} of {len(back)} retreat"
    plots.name(ax, 0.97, 0.2, words, transform=ax.transAxes, ha="right")
    there = retreats(data, kind, setting=CAPTIONED) > RETREATS
    words = f"as captioned, {there.sum()} of {len(there)}"
    plots.name(ax, 0.97, 0.08, words, transform=ax.transAxes, ha="right")


def _draw_errors(ax: Axes, data: xr.Dataset, kind: str) -> None:
    errors = runs(data, kind, MAIN, "error")
    epochs = data.epoch.values[: errors.shape[1]]
    for error in errors:
        ax.plot(epochs, error, color=plots.QUIET, linewidth=0.8)
    told = SEED_ERRORS[kind]
    ax.plot(range(len(told)), told, **plots.look(0, line=False, markersize=4))
    ax.set(xlabel="epoch", ylabel="error", yscale="log", xlim=(-0.2, SHORT))
    ax.set(ylim=(0.13, 4), xticks=EVERY)
    ax.minorticks_off()
    ax.set_yticks([0.2, 0.5, 1, 2], labels=["0.2", "0.5", "1", "2"])
    plots.name(ax, 3.3, 1.6, "○ published seed", plots.COLOURS[0])
