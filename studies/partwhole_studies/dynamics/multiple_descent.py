"""Three and four concepts: how often the error on the unseen combination falls."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import binomtest

from partwhole.flows import cholesky_path, tied_descent, tied_flow
from partwhole.measures import descents, swing_amplitude
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study.claim import Relation
from partwhole.study.plots import COLOURS, QUIET, look, name, panels
from partwhole_studies.dynamics import _descent_numbers as numbers
from partwhole_studies.dynamics._descent_numbers import POWERS, SETTINGS
from partwhole_studies.dynamics._published import STEP, TRIPLE_CAPTION
from partwhole_studies.dynamics._turns import log_times, turns, worst, written

QUESTION = (
    "With more than two concepts, how often does the error on the unseen combination fall and "
    "rise, and what decides it?"
)
SOURCE = "Yang et al. (ICLR 2025), figures 8 and 9"
ANSWER = (
    "At most once for each concept. With the square of the second moment, as published, three and "
    "four times; with the second moment as defined two (three as captioned) and three times. Four "
    "times also takes a lucky start."
)
CAPTION = (
    "Error at the unseen combination over the logarithm of time, for three concepts (top) and four "
    "(bottom), with the square of the second moment (left, as the figures were run) and with the "
    "second moment itself (right). Lines: the flow; dashes: closed form without integration; thin "
    "lines: half the squared means of the concepts not yet learned, where a rise would end if "
    "initial entries were tiny."
)

FIGURE = {"triple": "figure 8", "quadruple": "figure 9"}
WITH = {2: "with the square of the second moment", 1: "with the second moment as defined"}
WORDS = {2: "two", 3: "three", 4: "four"}
LAST = 200.0
UPDATES = 10_000
SHRUNKEN = 1e-8  # of the published initial map, for the plateaus
SPREAD = 0.1  # initial factors are uniform between 0 and this, as published
DRAWN = ("triple, as captioned", "quadruple, as run")


def _cells(seeds: int) -> list[Config]:
    runs: list[Config] = [{"setting": s, "power": p} for s in SETTINGS for p in POWERS]
    return [*runs, {"shrunken": SHRUNKEN}, *({"seed": seed} for seed in range(seeds))]


# The figures' own scale takes seconds; the presets differ in how many other starts they try.
PRESETS: dict[str, list[Config]] = {
    "quick": _cells(30),
    "laptop": _cells(300),
    "paper": _cells(3000),
}


def cell(config: Config) -> Arrays:
    """Train one setting at one power, from the published start, a tiny one or other starts."""
    times = log_times(LAST)
    if "seed" in config:
        return {"descents": np.array([_counts(s, config["seed"], times) for s in DRAWN])}
    if "shrunken" in config:
        one = TRIPLE_CAPTION
        path = tied_flow(config["shrunken"] * one.w0, one.second_moment, times, power=2)
        return {"error": path.loss(one.probe)}
    one, power = SETTINGS[config["setting"]], config["power"]
    flow = tied_flow(one.w0, one.second_moment, times, power=power)
    formula = cholesky_path(one.w0, one.second_moment, times, power=power)
    found = {
        "error": flow.loss(one.probe),
        "major": np.diagonal(flow.states, axis1=1, axis2=2),
        "formula": formula.loss(one.probe),
        "valid": np.array(formula.valid),
        "training_error": flow.training_loss(one.second_moment),
    }
    if power == 2:
        path = tied_descent(
            one.w0, one.second_moment, steps=UPDATES, step_size=STEP, on="matrix", power=2
        )
        # Records are counted from 0 after each update, as published.
        states = path.states[1:]
        top = np.abs(states).argmax(axis=0)
        found |= {
            "recurrence_error": path.loss(one.probe)[1:],
            "recurrence_training_error": path.training_loss(one.second_moment)[1:],
            "recurrence_half": (np.diagonal(states, axis1=1, axis2=2) >= 0.5).argmax(axis=0),
            "recurrence_top": top,
            "recurrence_height": np.take_along_axis(states, top[None], axis=0)[0],
        }
    return found


def _counts(setting: str, seed: int, times: np.ndarray) -> list[int]:
    """Count the descents from a drawn start at both powers."""
    one = SETTINGS[setting]
    size = len(one.w0)
    u = np.random.default_rng(seed).uniform(0.0, SPREAD, (size, size))
    paths = [
        tied_flow(u @ u.T, one.second_moment, times, power=power, rtol=1e-7, atol=1e-10)
        for power in POWERS
    ]
    # Rounding of the looser tolerances is not a descent.
    return [descents(path.loss(one.probe), threshold=1e-5) for path in paths]


def gather(cells: Cells) -> xr.Dataset:
    """Lay errors over setting, power and time, and the recurrence over its updates."""
    runs = {(c["setting"], c["power"]): a for c, a in cells if "setting" in c}
    (tiny,) = (arrays["error"] for config, arrays in cells if "shrunken" in config)
    drawn = {config["seed"]: arrays["descents"] for config, arrays in cells if "seed" in config}
    over = ("setting", "power", "time")

    def grid(what: str, axes: int = 0) -> np.ndarray:
        return np.stack([[_wide(runs[s, p][what], axes) for p in POWERS] for s in SETTINGS])

    def recurrence(what: str, axes: int = 0) -> np.ndarray:
        return np.stack([_wide(runs[s, 2][f"recurrence_{what}"], axes) for s in SETTINGS])

    updates, pair = ("setting", "update"), ("setting", "row", "column")
    data = xr.Dataset(
        {
            "error": (over, grid("error")),
            "formula": (over, grid("formula")),
            "training_error": (over, grid("training_error")),
            "major": ((*over, "concept"), grid("major", 1)),
            "valid": (("setting", "power"), grid("valid")),
            "recurrence_error": (updates, recurrence("error")),
            "recurrence_training_error": (updates, recurrence("training_error")),
            "recurrence_half": (("setting", "concept"), recurrence("half", 1)),
            "recurrence_top": (pair, recurrence("top", 2)),
            "recurrence_height": (pair, recurrence("height", 2)),
            "shrunken_error": ("time", tiny),
            "descents": (("seed", "drawn", "power"), np.stack(list(drawn.values()))),
        },
        coords={
            "setting": list(SETTINGS),
            "power": list(POWERS),
            "time": ("time", log_times(LAST), {"units": "paper time"}),
            "update": np.arange(UPDATES),
            "drawn": list(DRAWN),
            "seed": list(drawn),
        },
    )
    words = {
        "error": "error at the unseen combination, flow",
        "formula": "error at the unseen combination, closed form",
        "training_error": "error over the training population, flow",
        "major": "diagonal of the input-output map, flow",
        "valid": "whether the closed form's conditions are met",
        "recurrence_error": "error at the unseen combination, published recurrence",
        "recurrence_training_error": "error over the training population, published recurrence",
        "recurrence_half": "record at which a concept is half learned, published recurrence",
        "recurrence_top": "record at which an entry is largest, published recurrence",
        "recurrence_height": "largest value of an entry, published recurrence",
        "shrunken_error": "error at the unseen combination from a tiny start",
        "descents": "descents of the error from drawn starts",
    }
    for variable, long_name in words.items():
        data[variable].attrs["long_name"] = long_name
    return data


def _wide(array: np.ndarray, axes: int) -> np.ndarray:
    """Fill the last axes up to four concepts with NaN."""
    if not axes:
        return array
    sides = [(0, 0)] * (array.ndim - axes) + [(0, 4 - array.shape[-1])] * axes
    return np.pad(array.astype(float), sides, constant_values=np.nan)


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_counted(data),
        *_drawn(data),
        *_plateaus(data),
        *_formula(data),
        *numbers.beside_independent(data),
    ]


def _counted(data: xr.Dataset) -> list[Claim]:
    """Weigh how often the error falls, as published and otherwise."""
    found = []
    for setting, one in SETTINGS.items():
        kind, how = setting.split(", ")
        times = len(one.w0)
        for power in POWERS:
            count = descents(data.error.sel(setting=setting, power=power).values)
            stated = len(numbers.FLOW[setting, power][0]) // 2 + 1
            lost = "" if power == 2 else "The figure was run with the square of the second moment."
            found.append(
                Claim(
                    f"With {WORDS[times]} concepts the error at the unseen combination falls "
                    f"{WORDS[times]} times: settings {how}, the flow {WITH[power]}.",
                    f"Yang et al. (ICLR 2025), {FIGURE[kind]}",
                    times,
                    count,
                    0,
                    note="" if count == times else lost,
                )
            )
            if stated != times:
                found.append(
                    Claim(
                        f"With the settings of {numbers.named(setting)}, and the second moment as "
                        f"defined it falls {WORDS[stated]} times.",
                        "derived here; reference by Runge-Kutta on the map",
                        stated,
                        count,
                        0,
                    )
                )
    rises = [
        float(np.max(swing_amplitude(data[what].values)))
        for what in ("training_error", "recurrence_training_error")
    ]
    found.append(
        Claim(
            "Meanwhile the training error only falls (largest rise over all flows and "
            "recurrences).",
            "derived here",
            0.0,
            max(rises),
            1e-12,
            relation="at most",
        )
    )
    return found


def _drawn(data: xr.Dataset) -> list[Claim]:
    """Weigh how often starts drawn as the published one was do the same."""
    found = []
    relations: tuple[Relation, Relation] = ("at least", "at most")
    words = (
        "Most starts drawn as the published one was show triple descent",
        "Quadruple descent takes a lucky start: fewer than half of those drawn so show it",
    )
    for setting, relation, word in zip(DRAWN, relations, words, strict=True):
        full = (data.descents.sel(drawn=setting) >= len(SETTINGS[setting].w0)).values
        n = len(full)
        square, itself = (int(each) for each in full.sum(axis=0))
        ends = binomtest(square, n).proportion_ci(method="wilson")
        found.append(
            Claim(
                f"{word}, {WITH[2]} ({numbers.named(setting)}; share of {n} uniform initial "
                "factors).",
                "derived here",
                0.5,
                square / n,
                0.0,
                (float(ends.low), float(ends.high)),
                relation=relation,
                note=f"{WITH[1].capitalize()} {itself} of {n} do.",
            )
        )
    return found


def _plateaus(data: xr.Dataset) -> list[Claim]:
    """Weigh where the rises end: half the squared means of what is not learned."""
    highs = []
    for setting in SETTINGS:
        for power in POWERS:
            found = turns(data.error.sel(setting=setting, power=power).values)[1][1::2]
            levels = plateaus(setting)[-len(found) :] if len(found) else np.zeros(0)
            highs.extend((found / levels).tolist())
    found = turns(data.shrunken_error.values)[1][1::2]
    levels = plateaus("triple, as captioned")
    return [
        Claim(
            "No rise ends above half the squared means of the concepts not yet learned (largest "
            f"ratio of {len(highs)} maxima, from the last backwards).",
            "derived here",
            1.0,
            max(highs),
            0.0,
            relation="at most",
            note=f"Between {min(highs):.2f} and {max(highs):.2f} of it.",
        ),
        Claim(
            "From a tiny start both rises of triple descent end there: largest difference from "
            f"{written(levels, '.4g')}, initial map shrunk to {SHRUNKEN:g} of the published one.",
            "derived here",
            0.0,
            worst(found, levels.tolist()),
            1e-4,
            note=f"Found {written(found, '.6f')}.",
        ),
    ]


def plateaus(setting: str) -> np.ndarray:
    """Return half the squared means of the concepts not yet learned: after the first, second, ...

    Examples
    --------
    >>> plateaus("triple, as captioned")
    array([1.625, 0.5  ])
    """
    one = SETTINGS[setting]
    weakest = np.argsort(np.diagonal(one.second_moment))
    return 0.5 * np.cumsum(one.probe[weakest] ** 2)[-2::-1]


def _formula(data: xr.Dataset) -> list[Claim]:
    """Weigh the closed form, by its own numbers and against the flow."""
    found = []
    for (setting, power), stated in numbers.FORMULA.items():
        at, height = turns(data.formula.sel(setting=setting, power=power).values, data.time.values)
        found += [
            Claim(
                f"Closed form, {what} ({numbers.named(setting)}, {WITH[power]}; largest difference "
                f"from {written(reference)}).",
                "derived here; reference: the same formula, outside this package",
                0.0,
                worst(each, reference),
                tolerance,
            )
            for what, reference, each, tolerance in (
                ("when the error turns", stated[0], at, 4e-3),
                ("the error there", stated[1], height, 3e-4),
            )
        ]
    one = {"setting": "triple, as captioned", "power": 2}
    away = _apart(data.sel(one))
    four = data.sel(setting="quadruple, as run")
    others = _apart(four.sel(power=2))
    found += [
        Claim(
            f"Without integrating, the closed form tells {what}, within "
            f"{100 * within:.0f} % (three concepts, as captioned, {WITH[2]}; largest relative "
            "difference from the flow).",
            "derived here",
            0.0,
            each,
            within,
            relation="at most",
            note=f"For four concepts, as run, it is {100 * other:.0f} %, at the first turns.",
        )
        for what, each, within, other in (
            ("when each turn of triple descent is", away[0], 0.02, others[0]),
            ("how large the error is at each turn of triple descent", away[1], 0.01, others[1]),
        )
    ]
    for power in POWERS:
        formula, flow = (
            descents(four[route].sel(power=power).values) for route in ("formula", "error")
        )
        valid = bool(four.valid.sel(power=power))
        found.append(
            Claim(
                f"The closed form has as many descents as the flow: four concepts, {WITH[power]}.",
                "derived here",
                flow,
                formula,
                0,
                applies=valid,
                note=""
                if valid
                else "Two concepts are learned at nearly the same time: minor entries grow too "
                "large for the formula, which flags it.",
            )
        )
    return found


def _apart(one: xr.Dataset) -> list[float]:
    """Return how far times and errors at the turns are, by the closed form, from the flow's."""
    formula, flow = (turns(one[what].values, one.time.values) for what in ("formula", "error"))
    if formula.shape != flow.shape:
        return [np.inf, np.inf]
    return np.abs(formula / flow - 1).max(axis=1).tolist()


def figure(data: xr.Dataset) -> Figure:
    """Draw the error over log time, with the square and without it."""
    drawn, axes = panels(2, 2, 5.2, sharex=True, sharey=True)
    for row, setting in zip(axes, ("triple, as run", "quadruple, as run"), strict=True):
        for ax, power in zip(row, POWERS, strict=True):
            _draw(ax, data, setting, power)
        row[0].set_ylabel("error at the\nunseen combination")
    for ax in axes[1]:
        ax.set_xlabel("time (paper)")
    name(axes[1, 0], 0.62, 2.6, "closed\nform", COLOURS[1], ha="right")
    name(axes[1, 0], 0.88, 2.6, "flow", COLOURS[0])
    return drawn


def _draw(ax: Axes, data: xr.Dataset, setting: str, power: int) -> None:
    one = data.sel(setting=setting, power=power)
    levels = plateaus(setting)
    for level, left in zip(levels[::-1], ("one left", "two left"), strict=False):
        ax.axhline(level, color=QUIET, linewidth=0.8, zorder=0)
        name(ax, 115.0, level + 0.09, left, "#555555", fontsize=8, ha="right")
    valid = bool(one.valid)
    ax.plot(one.time[1:], one.error[1:], **look(0))
    ax.plot(
        one.time[1:],
        one.formula[1:],
        **look(1, color=COLOURS[1] if valid else QUIET, linewidth=1.4),
    )
    at, height = turns(one.error.values, one.time.values)
    ax.plot(at, height, **look(0, line=False, color="black", markersize=3.5))
    head = {2: "square of the second moment", 1: "second moment itself"}[power]
    size = len(SETTINGS[setting].w0)
    counted = f"{WORDS[size]} concepts: {WORDS[len(at) // 2 + 1]} descents"
    ax.set_title(f"{head}\n{counted}" if size == 3 else counted, fontsize=10)
    ax.set(xscale="log", xlim=(0.2, 120), ylim=(-0.08, 3.0))
    if not valid:
        name(ax, 3.2, 1.05, "closed form,\noutside its\nconditions", QUIET)
