"""The published failure of learning: what the step did, and what fails without it."""

from __future__ import annotations

import warnings

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.flows import PositivityWarning
from partwhole.measures import Progress, learning_times, swing_amplitude
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study.plots import COLOURS, QUIET, look, mosaic, name
from partwhole_studies.dynamics import _failure_runs as runs
from partwhole_studies.dynamics._failure_numbers import FLOW, LEARNED_WITH, beside_independent
from partwhole_studies.dynamics._failure_runs import (
    LAST,
    ONE_DIRECTION,
    POWERS,
    PROGRESS,
    SHOWN,
    STRONG,
    UPDATES,
    WEAK,
)
from partwhole_studies.dynamics._positivity import determinant_after, foretold_step
from partwhole_studies.dynamics._published import FAILURE, STEP
from partwhole_studies.dynamics._turns import log_times, worst

QUESTION = (
    "Does an entry that grew too far keep a concept from ever being learned, as the published "
    "failure mode shows?"
)
SOURCE = "Yang et al. (ICLR 2025), figure 10 and appendix E.3"
ANSWER = (
    "No: the published recurrence takes steps so large that its map stops being one that a network "
    "can have; smaller steps, descent on the factor and the flow all learn the concept, late."
)
CAPTION = (
    "Top: the weakest concept's entry of the input-output map from one start, by the published "
    "recurrence (dashes), by gradient descent on the factor with the same step (markers) and by "
    "the flow (line), shown from t = 2; grey: beyond the published figure. Bottom left: the map's "
    "least eigenvalue (symmetric logarithmic axis), never negative for a network. Bottom right: "
    "when the recurrence learns the concept with smaller steps, and the flow's time (line); grey: "
    "steps with which it gets a negative eigenvalue."
)

ENDINGS = {
    "the flow": Progress.LEARNED,
    "the flow, cut where the figure ends": Progress.SLOW,
    "a start of one direction": Progress.FAILED,
    "the published recurrence": Progress.BROKE_DOWN,
}


def _cells(*steps: float) -> list[Config]:
    return [
        {"run": "flow", "power": 2},
        {"run": "flow", "power": 1},
        {"run": "recurrence"},
        {"run": "one direction"},
        {"run": "largest step"},
        *({"run": "smaller", "step": step} for step in steps),
    ]


# The figure's own scale takes seconds; the presets differ in how small the steps become.
PRESETS: dict[str, list[Config]] = {
    "quick": _cells(0.005, 0.002, 0.001),
    "laptop": _cells(0.005, 0.002, 0.001, 0.0005),
    "paper": _cells(0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001),
}


def cell(config: Config) -> Arrays:
    """Train from the published start in one way, or from a start that lacks a direction."""
    run = config["run"]
    if run == "flow":
        return runs.flow(config["power"])
    if run == "one direction":
        return runs.one_direction()
    with warnings.catch_warnings():
        # Losing positive semidefiniteness is what is studied.
        warnings.simplefilter("ignore", PositivityWarning)
        if run == "recurrence":
            return runs.recurrence()
        if run == "smaller":
            return runs.smaller(config["step"])
        return {"largest": np.array(runs.largest_step())}


def gather(cells: Cells) -> xr.Dataset:
    """Lay flows over power and time, the recurrence and descent over updates."""
    powers = {config["power"]: arrays for config, arrays in cells if config["run"] == "flow"}
    smaller = {config["step"]: arrays for config, arrays in cells if config["run"] == "smaller"}
    one = {
        config["run"]: arrays
        for config, arrays in cells
        if config["run"] not in ("flow", "smaller")
    }
    steps = sorted(smaller, reverse=True)

    def flows(what: str) -> np.ndarray:
        return np.stack([powers[power][what] for power in POWERS])

    walked, over = ("route", "update"), ("power", "time")
    told = [powers[2]["whole"], powers[2]["cut"]]
    told += [one["one direction"]["told"], one["recurrence"]["told"]]
    data = xr.Dataset(
        {
            "error": (over, flows("error")),
            "training_error": (over, flows("training_error")),
            "major": ((*over, "concept"), flows("major")),
            "least": (over, flows("least")),
            "clock": (("power", "concept"), flows("clock")),
            "stepped_error": (walked, one["recurrence"]["error"]),
            "stepped_training_error": (walked, one["recurrence"]["training_error"]),
            "stepped_major": ((*walked, "concept"), one["recurrence"]["major"]),
            "stepped_least": (walked, one["recurrence"]["least"]),
            "one_direction": ("late", one["one direction"]["error"]),
            "learned": ("step", np.stack([smaller[step]["learned"] for step in steps])),
            "stays": ("step", np.stack([smaller[step]["least"] for step in steps])),
            "largest_step": one["largest step"]["largest"],
            "progress": ("ending", np.array([int(each[0]) for each in told])),
            "when": ("ending", np.array([each[1] for each in told])),
        },
        coords={
            "power": list(POWERS),
            "time": ("time", log_times(LAST), {"units": "paper time"}),
            "route": ["matrix", "factor"],
            "update": np.arange(UPDATES + 1),
            "late": [2.0, 5.0, 20.0],
            "step": steps,
            "ending": list(ENDINGS),
        },
    )
    words = {
        "error": "error at the unseen combination, flow",
        "training_error": "error over the training population, flow",
        "major": "diagonal of the input-output map, flow",
        "least": "least eigenvalue of the input-output map, flow",
        "clock": "predicted time at which a concept is half learned",
        "stepped_error": "error at the unseen combination, in steps",
        "stepped_training_error": "error over the training population, in steps",
        "stepped_major": "diagonal of the input-output map, in steps",
        "stepped_least": "least eigenvalue of the input-output map, in steps",
        "one_direction": "error at the unseen combination from a start of one direction",
        "learned": "when the recurrence half learns the weakest concept",
        "stays": "least eigenvalue ever reached by the recurrence",
        "largest_step": "largest step that keeps the recurrence positive semidefinite",
        "progress": "how the run ended, as a place in partwhole.measures.Progress",
        "when": "when the weakest concept is foreseen, or the run broke down",
    }
    for variable, long_name in words.items():
        data[variable].attrs["long_name"] = long_name
    return data


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_learned(data),
        *_broken(data),
        *_why(data),
        *_genuine(data),
        *beside_independent(data),
    ]


def _learned(data: xr.Dataset) -> list[Claim]:
    """Weigh whether the weakest concept is learned, and when."""
    figure10 = "Yang et al. (ICLR 2025), figure 10"
    weak = data.major.sel(power=2).values[:, WEAK]
    half = {
        power: learning_times(data.time.values, data.major.sel(power=power).values)
        for power in POWERS
    }
    factor = data.stepped_major.sel(route="factor").values
    walked = learning_times(STEP * data["update"].values, factor)[WEAK]
    stated = FLOW[2][2][WEAK]
    by_rule = "derived here; reference: NumPy Runge-Kutta or recurrence, outside this package"
    found = [
        Claim(
            "The weakest concept is never learned: its entry of the map stays below 1/2 for good "
            "(largest entry on the flow, up to time 200).",
            figure10,
            0.5,
            float(weak.max()),
            0.0,
            relation="at most",
            note=f"The flow learns it at t = {half[2][WEAK]:.2f}; the figure ends at "
            f"{STEP * SHOWN:g}. It follows the recurrence on the map, which stops being one that "
            "a network can have.",
        ),
        Claim(
            "The flow learns that concept, late (paper time at which its entry is 1/2).",
            by_rule,
            stated,
            float(half[2][WEAK]),
            0.05,
        ),
        Claim(
            "Gradient descent on the factor with the published step learns it then too (paper "
            "time).",
            by_rule,
            144.06,
            float(walked),
            0.1,
        ),
        Claim(
            "The initial map alone foretells it, within .7 % (paper time).",
            "derived here; reference by Runge-Kutta on the map",
            stated,
            float(data.clock.sel(power=2)[WEAK]),
            0.007 * stated,
        ),
        Claim(
            "With the second moment as the paper defines it the flow learns the concept six times "
            "sooner (paper time).",
            by_rule,
            FLOW[1][2][WEAK],
            float(half[1][WEAK]),
            0.05,
        ),
    ]
    for step, when in LEARNED_WITH.items():
        found.append(
            Claim(
                f"The published recurrence learns it with a step of {step:g} in place of "
                f"{STEP:g} (paper time).",
                by_rule,
                when,
                float(data.learned.sel(step=step)),
                0.05,
                note=f"Least eigenvalue never below {float(data.stays.sel(step=step)):.2g}.",
            )
        )
    (large, small), (late, soon) = data.step.values[-2:], data.learned.values[-2:]
    found.append(
        Claim(
            f"For steps towards 0 the recurrence learns it when the flow does, within .5 % "
            f"(extrapolated from {large:g} and {small:g}).",
            "derived here",
            float(half[2][WEAK]),
            float(soon - (late - soon) * small / (large - small)),
            0.005 * stated,
        )
    )
    return found


def _broken(data: xr.Dataset) -> list[Claim]:
    """Weigh what becomes of the published recurrence."""
    by_rule = "derived here; reference: NumPy recurrence, outside this package"
    least = data.stepped_least.sel(route="matrix").values
    weak = data.stepped_major.sel(route="matrix").values[:, WEAK]
    training = data.stepped_training_error.values[:, : SHOWN + 1]
    rises = [float(each) for each in np.atleast_1d(swing_amplitude(training))]
    finite = np.isfinite(weak)
    return [
        Claim(
            "The map of the published recurrence gets a negative eigenvalue, which no network has, "
            "at record 31 (counted from 0: after 32 updates).",
            by_rule,
            31,
            int(np.argmax(least < 0)) - 1 if (least < 0).any() else np.nan,
            1,
            note=f"The eigenvalue is {least[np.argmax(least < 0)]:.2g} there.",
        ),
        Claim(
            "From then on the weakest concept's entry falls instead of growing: its value after "
            "10 000 updates, where the figure ends.",
            by_rule,
            -0.018943,
            float(weak[SHOWN]),
            0.02 * 0.018943,
        ),
        Claim(
            "In the end the recurrence has no finite numbers: record at which they are lost.",
            by_rule,
            UPDATES,
            int(np.argmin(finite)) - 1 if not finite.all() else np.inf,
            0,
            relation="at most",
            note="The reference loses them at record 17264.",
        ),
        Claim(
            "The published recurrence trains: its training error only falls, as under gradient "
            "descent with a small step (largest rise, first 10 000 updates).",
            "Yang et al. (ICLR 2025), figure 10, taken as training",
            0.0,
            rises[0],
            1e-12,
            relation="at most",
            note="The recurrence is not gradient descent: it lacks a term of second order in the "
            "step, without which the map does not stay positive semidefinite.",
        ),
        Claim(
            "In gradient descent on the factor with the same step it does (largest rise).",
            "derived here",
            0.0,
            rises[1],
            1e-12,
            relation="at most",
        ),
        Claim(
            "Along the flow no eigenvalue is ever negative (least one).",
            "derived here",
            0.0,
            float(data.least.sel(power=2).min()),
            0.0,
            relation="at least",
        ),
    ]


def _why(data: xr.Dataset) -> list[Claim]:
    """Weigh why the recurrence leaves the semidefinite matrices, and from which step on."""
    w, a, step = np.array([[0.02, 0.0195], [0.0195, 0.0195]]), np.array([9.0, 1.0]), STEP
    grown = w + step * (np.diag(a) @ w + w @ np.diag(a))
    signals = np.diagonal(FAILURE.second_moment) ** 2
    largest = float(data.largest_step)
    own = FAILURE.w0[STRONG, STRONG]
    square = FAILURE.w0[WEAK, STRONG] ** 2 / (own * FAILURE.w0[WEAK, WEAK])
    rough = (1 / square - 1) * 2 * signals[STRONG]
    rough /= (signals[STRONG] - signals[WEAK]) ** 2 * np.log(1 / own)
    foretold = foretold_step(FAILURE.w0, signals)
    return [
        Claim(
            "Every step of the recurrence takes (step x joining entry x difference of signals) "
            "squared from the determinant: after one step of an example it is 9.3015e-6.",
            "derived here",
            determinant_after(w, a, step),
            float(np.linalg.det(grown)),
            1e-10,
        ),
        Claim(
            "The largest step that keeps the map one that a network can have follows from the "
            "initial map and the signals, within 5 %.",
            "derived here",
            foretold,
            largest,
            0.05 * foretold,
            note=f"The published step is {STEP:g}; found by bisection over {UPDATES} updates.",
        ),
        Claim(
            "Looking only at the strongest and the weakest concept tells that step within a factor "
            f"of two (binary logarithm of {rough:.3g} over the step found).",
            "derived here",
            0.0,
            abs(float(np.log2(rough / largest))),
            1.0,
            relation="at most",
        ),
    ]


def _genuine(data: xr.Dataset) -> list[Claim]:
    """Weigh failures that are none of the step's, and whether they are told apart."""
    named = [PROGRESS[int(k)] for k in data.progress]
    right = sum(a is b for a, b in zip(named, ENDINGS.values(), strict=True))
    cut = float(data.when.sel(ending="the flow, cut where the figure ends"))
    major = data.major.sel(power=2).values
    nine = learning_times(data.time.values, major, 0.9)[WEAK]
    two, five, last = data.one_direction.values.tolist()
    return [
        Claim(
            "A start that holds only one direction of two concepts fails for good: the error ends "
            "at half the squared mean of the weak one.",
            "derived here",
            0.5 * ONE_DIRECTION.means[1] ** 2,
            last,
            1e-6,
        ),
        Claim(
            "On the way the error of that start is .480248 at time 2 and .499951 at time 5 "
            "(largest difference).",
            "derived here; reference: NumPy Runge-Kutta or recurrence, outside this package",
            0.0,
            worst([two, five], [0.480248, 0.499951]),
            1e-6,
        ),
        Claim(
            "From its curves and clocks a run is told to have learned, to be slow, to have failed "
            "or to have broken down: four runs, how many rightly.",
            "derived here",
            4,
            right,
            0,
            note="; ".join(
                f"{run}: {each.name.lower().replace('_', ' ')}"
                for run, each in zip(ENDINGS, named, strict=True)
            )
            + ".",
        ),
        Claim(
            "Cut where the published figure ends, the flow foretells when the concept will be nine "
            "tenths learned, within 1 % (paper time).",
            "derived here",
            float(nine),
            cut,
            0.01 * float(nine),
        ),
    ]


def figure(data: xr.Dataset) -> Figure:
    """Draw the weakest concept's entry, the least eigenvalue, and what smaller steps do."""
    drawn, axes = mosaic("AA;BC", 5.6, height_ratios=[1.1, 1])
    _draw_entry(axes["A"], data)
    _draw_least(axes["B"], data)
    _draw_steps(axes["C"], data)
    return drawn


def _draw_entry(ax: Axes, data: xr.Dataset) -> None:
    times = STEP * data["update"].values
    wrong, right = (
        data.stepped_major.sel(route=route).values[:, WEAK] for route in ("matrix", "factor")
    )
    ax.axhline(0, color=QUIET, linewidth=0.8)
    ax.axvspan(STEP * SHOWN, LAST, color="#eeeeee", linewidth=0, zorder=0)
    ax.plot(data.time[1:], data.major.sel(power=2)[1:, WEAK], **look(0))
    some = np.searchsorted(times, np.geomspace(2.2, times[-1], 26))
    ax.plot(times[some], right[some], **look(2, line=False, markersize=4))
    seen = np.isfinite(wrong) & (wrong > -0.35)
    ax.plot(times[1:][seen[1:]], wrong[1:][seen[1:]], **look(1))
    ax.set(xscale="log", xlim=(2, LAST), ylim=(-0.3, 1.05))
    ax.set_xticks([2, 5, 10, 20, 50, 100, 200], ["2", "5", "10", "20", "50", "100", "200"])
    ax.set_xticks([], minor=True)
    ax.set(title="Entry of the weakest concept", xlabel="time (paper)", ylabel="entry $w_{11}$")
    name(ax, 118.0, 0.55, "flow", COLOURS[0], ha="right")
    name(ax, 2.6, 0.12, "gradient descent on the factor", COLOURS[2])
    name(ax, 90.0, -0.12, "published recurrence", COLOURS[1], ha="right")
    name(ax, 96.0, 0.98, "the published figure ends", "#555555", fontsize=8, ha="right")


def _draw_least(ax: Axes, data: xr.Dataset) -> None:
    times = STEP * data["update"].values
    least = data.stepped_least.sel(route="matrix").values
    part = slice(1, SHOWN + 1)
    ax.axhline(0, color=QUIET, linewidth=0.8)
    ax.plot(data.time[1:], data.least.sel(power=2)[1:], **look(0))
    ax.plot(times[part], least[part], **look(1))
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=1e-4)
    ax.set(xlim=(0.02, LAST), ylim=(-0.5, 1.5), title="Least eigenvalue", xlabel="time (paper)")
    ax.set_yticks([-1e-2, 0, 1e-2, 1], ["-0.01", "0", "0.01", "1"])
    name(ax, 0.9, 2e-3, "flow", COLOURS[0])
    name(ax, 0.03, -3e-3, "published\nrecurrence", COLOURS[1])


def _draw_steps(ax: Axes, data: xr.Dataset) -> None:
    flow = learning_times(data.time.values, data.major.sel(power=2).values)[WEAK]
    ax.axhline(flow, **look(0))
    ax.plot(data.step, data.learned, **look(1, line=False, clip_on=False))
    ax.axvspan(float(data.largest_step), 1.05 * STEP, color="#eeeeee", linewidth=0, zorder=0)
    ax.set(xlim=(0, 1.05 * STEP), ylim=(140, 165), title="When it is learned")
    ax.set_xticks([0, 0.005, 0.01], ["0", "0.005", "0.01"])
    ax.set(xlabel="step of the recurrence", ylabel="time (paper)")
    name(ax, 0.0003, flow - 1.4, "flow", COLOURS[0])
    name(
        ax,
        0.0096,
        152.5,
        "never: the map is\nno network's",
        "#555555",
        rotation=90,
        ha="center",
        fontsize=8,
    )
