"""Two layers in 64 dimensions, linear and ReLU: an answer may retreat while its error falls."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole._types import Real
from partwhole.measures import retreat, slowing, swing_amplitude
from partwhole.networks import Architecture
from partwhole.studies import Arrays, Cells, Claim, Config
from partwhole.studies import _plots as plots
from partwhole.studies.dynamics import _wide as wide
from partwhole.studies.dynamics._wide import BATCHES, EPOCHS, MAIN, SETTINGS
from partwhole.studies.dynamics.drawing import concept_space
from partwhole.training import Protocol, beside_theory, train_identity

QUESTION = (
    "In 64 dimensions, does the answer of a two-layer network to an unseen combination retreat "
    "along the weak concept while it learns, and does its error rise again?"
)
SOURCE = "Yang et al. (ICLR 2025), figures 11 and 12"
ANSWER = (
    "With ReLU units the answer of some networks retreats along the weak concept, by more than "
    "2 % of its mean; no linear network's does. The error falls all the same."
)
CAPTION = (
    "Linear networks left, ReLU right. Top: answers to the unseen combination (star) as a path "
    "through concept space; markers: one network after each epoch; lines: left gradient flow on "
    "the population from its own initial weights, right the network itself. Middle: the weak "
    "concept in all networks (means 1 and 2, variances 0.05; thick orange "
    "where it retreats by more than 2 % of its mean). Bottom: the error of the same networks; "
    "circles: the published one. As run, with variances of .05; as captioned, with deviations of "
    ".05, not run here."
)
REVISION = 1
BUDGET = 7.0

NETWORKS = ("linear", "relu")
SPREAD = "means 1 and 2, variance 2"
OTHER = "means 3 and 2, variance 0.05"
SHOWN = (MAIN, SPREAD, OTHER)
SHORT = 12  # epochs; the published network has retreated by the ninth
EVERY = (0, 4, 8, 12)
# In units of the mean. The order of the batches alone moves an answer by about .01.
RETREATS = 0.02
FORESEEN = 0.005  # how far the flow may be from a retreat
RISES = 0.005  # of the plateau, half the squared mean of the weak concept
# One seed's errors after each epoch from the start, and at the end; where its answer turns back.
SEED_ERRORS = {
    "linear": (3.223, 1.222, 0.603, 0.397, 0.326, 0.2935, 0.2718),
    "relu": (3.240, 2.033, 1.398, 0.968, 0.695, 0.543, 0.467, 0.430, 0.411, 0.399),
}
SEED_END = {"linear": 0.0042, "relu": 0.0657}
SEED_RETREAT = {"linear": 0.367 - 0.361, "relu": 0.226 - 0.181}
CALLED = {"linear": "two-layer linear networks", "relu": "two-layer ReLU networks"}
FIGURES = {
    "linear": "Yang et al. (ICLR 2025), figure 11",
    "relu": "Yang et al. (ICLR 2025), figure 12",
}


def _cells(seeds: dict[str, dict[str, int]], epochs: dict[str, int]) -> list[Config]:
    return [
        wide.network(setting, epochs[kind], seed, nonlinearity=kind)
        for kind in NETWORKS
        for setting, n in seeds[kind].items()
        for seed in range(n)
    ]


def _all(n: int) -> dict[str, dict[str, int]]:
    return {kind: dict.fromkeys(SETTINGS, n) for kind in NETWORKS}


WHOLE: dict[str, int] = {kind: EPOCHS for kind in NETWORKS}
PRESETS: dict[str, list[Config]] = {
    "quick": _cells(
        {
            "linear": {MAIN: 8, SPREAD: 4, OTHER: 1},
            "relu": {MAIN: 8, SPREAD: 4, OTHER: 1},
        },
        {"linear": EPOCHS, "relu": SHORT},
    ),
    "laptop": _cells(_all(8), WHOLE),
    "paper": _cells(_all(24), WHOLE),
}


def cell(config: Config) -> Arrays:
    """Train one network; a linear one beside the flow from its own initial weights."""
    kind: Literal["linear", "relu"] = config["nonlinearity"]
    setting, epochs = config["setting"], config["epochs"]
    steps = wide.records(epochs)
    runs = train_identity(
        wide.task(setting),
        Architecture(layers=2, nonlinearity=kind),
        Protocol(epochs=epochs),
        seeds=[config["seed"]],
        record=steps,
        progress=False,
    )
    means = SETTINGS[setting][0]
    trained = wide.answers(runs)
    found = {
        "trained": trained,
        "error": runs.losses[0, 0, :, 0],
        "learned": wide.learned(steps, trained, means),
    }
    if kind == "linear":
        found["theory"] = beside_theory(runs).outputs[0, 0, :, :2]
    return found


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


def _runs(data: xr.Dataset, kind: str, setting: str, what: str = "trained") -> np.ndarray:
    """Return what was recorded of the networks that were trained, shape (n, T, ...)."""
    values = data[what].sel(network=kind, setting=setting).values
    values = values[np.isfinite(values[:, 0]).reshape(len(values), -1).all(axis=1)]
    # Shorter training leaves NaN behind in all of them alike.
    return values[:, np.isfinite(values).reshape(*values.shape[:2], -1).all(axis=(0, 2))]


def _retreats(data: xr.Dataset, kind: str, what: str = "trained") -> np.ndarray:
    """Return how far each network's answer goes back along the weak concept, in its mean."""
    return np.array(
        [
            retreat(data.epoch.values[: len(each)], each, np.array(SETTINGS[MAIN][0])).amounts[0]
            for each in _runs(data, kind, MAIN, what)
        ]
    )


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_beside_flow(data),
        *_on_retreats(data),
        *_on_the_error(data),
        *_on_order(data),
        *_on_one_seed(data),
        *_on_slowing(data),
    ]


def _here(statement: str, reference: Real, found: Real, tolerance: Real, **more: Any) -> Claim:
    return Claim(statement, "derived here", reference, found, tolerance, **more)


def _beside_flow(data: xr.Dataset) -> list[Claim]:
    scale = xr.DataArray(
        [SETTINGS[name][0] for name in data.setting.values], dims=("setting", "concept")
    )
    gap = (np.abs(data.trained - data.theory) / scale).sel(network="linear")
    each = gap.max(["setting", "epoch", "concept"]).values
    mean, low, high = plots.mean_interval(each).tolist()
    apart = np.abs(_retreats(data, "linear") - _retreats(data, "linear", "theory"))
    return [
        _here(
            "Gradient flow on the population from a linear network's own initial weights is met "
            "all along its training, within 2 % of the means: largest difference in any setting, "
            f"mean of {len(each)} seeds.",
            0.0,
            mean,
            0.02,
            interval=(low, high),
            relation="at most",
            note="The flow knows neither the sample nor the batches, whose order alone moves an "
            f"answer by about 1 %.{wide.left_out(data.setting.values.tolist())}",
        ),
        _here(
            "The flow foresees how far a linear network retreats along the weak concept: largest "
            f"difference in {len(apart)} networks, in units of its mean.",
            0.0,
            float(apart.max()),
            FORESEEN,
            relation="at most",
        ),
    ]


def _on_retreats(data: xr.Dataset) -> list[Claim]:
    found = []
    backs = {kind: _retreats(data, kind) > RETREATS for kind in NETWORKS}
    shares = {kind: wide.share(back) for kind, back in backs.items()}
    for kind in NETWORKS:
        number, interval = shares[kind]
        told = SEED_RETREAT[kind]
        found.append(
            Claim(
                f"That the published network retreats along the weak concept is typical of "
                f"{CALLED[kind]}: most do, by more than {100 * RETREATS:g} % of its mean (share "
                f"of {len(backs[kind])} seeds; means 1 and 2, variances 0.05).",
                f"{FIGURES[kind]}, one seed",
                0.5,
                number,
                0.0,
                interval=interval,
                applies=told > RETREATS,
                relation="at least",
                note=f"The published network retreats by {100 * told:.1f} % of the mean; of ours, "
                f"{int((_retreats(data, kind) >= told).sum())} of {len(backs[kind])} retreat as "
                "far."
                if told > RETREATS
                else f"The published retreat of {100 * told:.1f} % is below what the order of "
                "batches does.",
            )
        )
    (a, (a_low, a_high)), (b, (b_low, b_high)) = shares["relu"], shares["linear"]
    # Newcombe's interval of a difference, from Wilson's of each share.
    low = a - b - np.hypot(a - a_low, b_high - b)
    high = a - b + np.hypot(a_high - a, b - b_low)
    found.append(
        _here(
            "ReLU networks retreat more often than linear ones with the same initial weights: "
            f"difference of the shares ({len(backs['relu'])} and {len(backs['linear'])} seeds).",
            0.0,
            a - b,
            0.0,
            interval=(float(low), float(high)),
            relation="at least",
        )
    )
    return found


def _on_the_error(data: xr.Dataset) -> list[Claim]:
    found = []
    for kind in NETWORKS:
        errors = _runs(data, kind, MAIN, "error")
        rises = swing_amplitude(errors) > RISES * 0.5 * SETTINGS[MAIN][0][0] ** 2
        number, interval = wide.share(np.asarray(rises))
        last = data.epoch.values[errors.shape[1] - 1]
        found.append(
            Claim(
                f"The error of most {CALLED[kind]} only falls: share of {len(errors)} seeds in "
                f"which it rises by more than 0.5 % of its plateau within {last:g} epochs.",
                FIGURES[kind],
                0.5,
                number,
                0.0,
                interval=interval,
                relation="at most",
                note="An answer may retreat while its error falls, since the strong concept gains "
                "more.",
            )
        )
    return found


def _on_order(data: xr.Dataset) -> list[Claim]:
    found = []
    for kind in NETWORKS:
        for setting in data.setting.values:
            means, variance = SETTINGS[setting]
            learned = data.learned.sel(network=kind, setting=setting, threshold=0.5).values
            learned = learned[~np.isnan(learned).any(axis=1)]
            signals = wide.task(setting).signals[:2]
            if len(learned) < 4 or abs(signals[0] - signals[1]) < 0.1:
                continue
            stronger = int(signals.argmax())
            number, interval = wide.share(learned[:, stronger] < learned[:, 1 - stronger])
            found.append(
                Claim(
                    f"Most {CALLED[kind]} half learn the {('first', 'second')[stronger]} concept, "
                    f"whose signal is larger, before the other (means {means[0]:g} and "
                    f"{means[1]:g}, variances {variance:g} and 0.05; share of {len(learned)} "
                    "seeds).",
                    FIGURES[kind],
                    0.5,
                    number,
                    0.0,
                    interval=interval,
                    relation="at least",
                )
            )
    return found


def _on_one_seed(data: xr.Dataset) -> list[Claim]:
    found = []
    for kind, told in SEED_ERRORS.items():
        epochs = [*range(len(told))]
        ours = data.error.sel(network=kind, setting=MAIN, epoch=[*epochs, EPOCHS]).values
        whole = bool(np.isfinite(ours).all())
        numbers = np.array([*told, SEED_END[kind]] if whole else told)
        found.append(
            Claim(
                f"The published network is not ruled out as one like our {CALLED[kind]} by its "
                "error after 0 to "
                f"{epochs[-1]}{f' and {EPOCHS}' if whole else ''} epochs: largest distance from "
                f"the mean of {len(ours)} seeds in half widths of their 95 % prediction interval.",
                f"{FIGURES[kind]}, one seed",
                1.0,
                wide.apart(numbers, ours[:, : len(numbers)]),
                0.0,
                relation="at most",
                note=wide.within(numbers, ours[:, : len(numbers)]),
            )
        )
    return found


def _slowing(data: xr.Dataset, kind: str, what: str = "trained") -> np.ndarray:
    """Return how many times slower the last of 40 epochs is than the first, if there are 40."""
    whole = np.arange(EPOCHS + 1.0)
    runs = data[what].sel(network=kind, setting=MAIN, epoch=whole).values
    return np.array([slowing(whole, each).ratio for each in runs if np.isfinite(each).all()])


def _on_slowing(data: xr.Dataset) -> list[Claim]:
    linear, relu = (_slowing(data, kind) for kind in NETWORKS)
    flow = _slowing(data, "linear", "theory")
    mean, low, high = plots.mean_interval(linear).tolist()
    found = [
        Claim(
            "Two linear layers slow down towards the end: in the first of 40 epochs answers move "
            f"at least 100 times faster than in the last (mean of {len(linear)} seeds).",
            FIGURES["linear"],
            100.0,
            mean,
            0.0,
            interval=(low, high),
            relation="at least",
        ),
        _here(
            f"The flow foresees how much each of {len(flow)} linear networks slows down: largest "
            "difference as a share.",
            0.0,
            float(np.abs(linear / flow - 1).max()),
            0.1,
            relation="at most",
        ),
    ]
    if len(relu):
        mean, low, high = plots.mean_interval(linear / relu).tolist()
        found.append(
            _here(
                "ReLU networks slow down less than linear ones with the same initial weights, "
                "since after 40 epochs they are still learning the weak concept: how many times "
                f"less (mean of {len(relu)} seeds).",
                1.0,
                mean,
                0.0,
                interval=(low, high),
                relation="at least",
            )
        )
    return found


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
        concept_space(ax, times, line, SETTINGS[setting][0], index=i)
        marks = one.trained.sel(epoch=whole).values
        ax.plot(*marks.T, **plots.look(i, line=False, markersize=3, markeredgewidth=0.8))
    words = ("variance 0.05", "variance 2", "first mean 3")
    for i, (x, y, word) in enumerate(zip((1.2, 1.2, 1.6), (1.7, 1.35, 0.28), words, strict=True)):
        plots.name(ax, x, y, word, plots.COLOURS[i], fontsize=8)


def _draw_weak(ax: Axes, data: xr.Dataset, kind: str) -> None:
    runs = _runs(data, kind, MAIN)
    epochs = data.epoch.values[: runs.shape[1]]
    back = _retreats(data, kind) > RETREATS
    for run, retreats in zip(runs, back, strict=True):
        colour = plots.COLOURS[1] if retreats else plots.QUIET
        ax.plot(epochs, run[:, 0], color=colour, linewidth=1.8 if retreats else 0.8)
    ax.set(ylabel="weak concept", xlim=(0, SHORT), xticks=EVERY, ylim=(-0.35, 0.8))
    words = f"{back.sum()} of {len(back)} retreat"
    plots.name(ax, 0.97, 0.1, words, transform=ax.transAxes, ha="right")


def _draw_errors(ax: Axes, data: xr.Dataset, kind: str) -> None:
    runs = _runs(data, kind, MAIN, "error")
    epochs = data.epoch.values[: runs.shape[1]]
    for run in runs:
        ax.plot(epochs, run, color=plots.QUIET, linewidth=0.8)
    told = SEED_ERRORS[kind]
    ax.plot(range(len(told)), told, **plots.look(0, line=False, markersize=4))
    ax.set(xlabel="epoch", ylabel="error", yscale="log", xlim=(-0.2, SHORT))
    ax.set(ylim=(0.13, 4), xticks=EVERY)
    ax.minorticks_off()
    ax.set_yticks([0.2, 0.5, 1, 2], labels=["0.2", "0.5", "1", "2"])
    plots.name(ax, 3.3, 1.6, "○ published seed", plots.COLOURS[0])
