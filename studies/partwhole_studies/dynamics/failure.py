"""The published failure of learning: the effect of the step size, and a failure without it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure
from scipy.optimize import root_scalar

from partwhole.flows import FlowOutcome, Path, Tied, descend, flow
from partwhole.flows.field import tied_field
from partwhole.flows.tied import PositivityWarning
from partwhole.measures import learning_times
from partwhole.study import Arrays, Cells, Config, key, layout
from partwhole.study.plots import QUIET, look, mosaic
from partwhole_studies.dynamics.published_settings import FAILURE, STEP, log_times

LAST = 200.0  # paper time
UPDATES = 17_500
SHOWN = 10_000  # updates that the published figure shows
UNLEARNED = f"does not learn the concept by t = {LAST:.0f}"
ENOUGH = 160.0  # paper time within which the recurrence with smaller steps learns the concept


def _cells(*steps: float) -> list[Config]:
    flows = [{"run": "flow", "power": power} for power in (2, 1)]
    cases = [{"run": run} for run in ("recurrence", "largest step")]
    return [*flows, *cases, *({"run": "smaller", "step": step} for step in steps)]


# Every run has the published scale; the presets differ in how small the steps become.
PRESETS: dict[str, list[Config]] = {
    "quick": _cells(0.005, 0.002, 0.001),
    "laptop": _cells(0.005, 0.002, 0.001, 0.0005),
    "paper": _cells(0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001),
}


def cell(config: Config) -> Arrays:
    """Train from the published initial map in one way."""
    with warnings.catch_warnings():
        # The loss of positive semidefiniteness is what is studied.
        warnings.simplefilter("ignore", PositivityWarning)
        return RUNS[config["run"]](**{k: v for k, v in config.items() if k != "run"})


def _flow(power: Literal[1, 2]) -> Arrays:
    path = flow(Tied(FAILURE.w0, FAILURE.second_moment, power), log_times(LAST))
    return {"weak": _weak(path), "least": _lowest(path)}


def _recurrence() -> Arrays:
    paths = [_descent(on, STEP, UPDATES) for on in ("matrix", "factor")]
    weak, lowest = (np.stack([read(path) for path in paths]) for read in (_weak, _lowest))
    return {"stepped_weak": weak, "stepped_least": lowest}


def _smaller(step: float) -> Arrays:
    path = _descent("matrix", step, round(ENOUGH / step))
    return {"learned": np.array(learned(path.times, _weak(path)))}


def _largest_step() -> Arrays:
    """Bisect for the largest step with which the recurrence stays positive semidefinite."""
    low, high = 0.5 * STEP, STEP
    while high - low > 1e-3 * STEP:
        step = 0.5 * (low + high)
        stays = _descent("matrix", step, UPDATES).outcome is FlowOutcome.REACHED
        low, high = (step, high) if stays else (low, step)
    return {"largest_step": np.array(low)}


RUNS: dict[str, Callable[..., Arrays]] = {
    "flow": _flow, "recurrence": _recurrence,
    "largest step": _largest_step, "smaller": _smaller,
}  # fmt: skip


def _descent(on: Literal["matrix", "factor"], step: float, steps: int) -> Path:
    a = FAILURE.second_moment
    return descend(Tied(FAILURE.w0, a, power=2), steps, step, on=on)


def learned(times: np.ndarray, entry: np.ndarray) -> float:
    """Return the time at which an entry of the map reaches one half."""
    return float(learning_times(times, entry[:, None])[0])


def _weak(path: Path) -> np.ndarray:
    return path.states[:, 0, 0]


def _lowest(path: Path) -> np.ndarray:
    """Return the smallest eigenvalue at every time; NaN once numbers are not finite."""
    finite = np.asarray(np.isfinite(path.states).all(axis=(1, 2)))
    lowest = np.full(len(finite), np.nan)
    lowest[finite] = np.linalg.eigvalsh(path.states[finite])[:, 0]
    return lowest


def predicted_step(w0: Float[np.ndarray, "d d"], signals: Float[np.ndarray, " d"]) -> float:
    r"""Predict the largest step that keeps the recurrence positive semidefinite.

    While the map grows, each step multiplies its entry ij by :math:`1 + \eta (a_i + a_j)`, until
    the strongest entry would reach 1; the correlations at that time must form a positive
    semidefinite matrix. Steps end at 1 over the largest signal, beyond which the learned map is
    unstable. Derived here.
    """
    major, limit, strong = np.diagonal(w0), 1.0 / float(signals.max()), int(np.argmax(signals))

    def lowest(step: float) -> float:
        alone = 1.0 + 2.0 * step * signals
        growth = (1.0 + step * (signals[:, None] + signals)) / np.sqrt(np.outer(alone, alone))
        steps = np.log(1.0 / major[strong]) / np.log(alone[strong])
        correlations = w0 / np.sqrt(np.outer(major, major)) * growth**steps
        return float(np.linalg.eigvalsh(correlations)[0])

    stays = lowest(limit) >= 0
    return limit if stays else float(root_scalar(lowest, bracket=(1e-6 * limit, limit)).root)


def speed() -> Float[np.ndarray, "d d"]:
    """Return the initial velocity of gradient flow on the loss over the published, by entry."""
    u, a, step = np.array(FAILURE.factor), FAILURE.second_moment, 1e-5

    def loss(change: np.ndarray) -> float:
        gap = (u + change) @ (u + change).T - np.eye(len(u))
        return 0.5 * float(np.trace(gap @ a @ gap))

    changes = step * np.eye(u.size).reshape(u.size, *u.shape)
    slopes = [(loss(change) - loss(-change)) / (2 * step) for change in changes]
    push = -np.reshape(slopes, u.shape) @ u.T
    return (push + push.T) / tied_field(FAILURE.w0, a)


def gather(cells: Cells) -> xr.Dataset:
    return layout(
        cells,
        {
            "weak": "time", "least": "time", "stepped_weak": "route update",
            "stepped_least": "route update", "learned": "", "largest_step": "",
        },
        over=["power", "step"],
        coords={"time": log_times(LAST), "route": ["matrix", "factor"]},
    ).assign_coords(update=np.arange(UPDATES + 1))  # fmt: skip


def numbers(data: xr.Dataset) -> dict[str, float | str]:
    weak = data.weak.sel(power=2).values
    flow_time, largest = learned(data.time.values, weak), float(data.largest_step)
    predicted = predicted_step(FAILURE.w0, np.diagonal(FAILURE.second_moment) ** 2)
    learns = weak.max() > 0.5
    return {
        "answer": "No" if learns else "Yes",
        "outcome": f"learns the concept at t = {flow_time:.0f}" if learns else UNLEARNED,
        "entry": float(weak.max()),
        "flow": flow_time,
        "factor": learned(STEP * data["update"].values, data.stepped_weak.values[1]) / flow_time,
        "step_ratio": largest / predicted,
        "speed": float(speed().mean()),
        "step": STEP,
        "compared": "above" if largest < STEP else "not above",
        "largest": largest,
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AA;BC", 5.2)
    squared, time = data.sel(power=2).isel(time=slice(1, None)), STEP * data["update"]
    ax, least, times = (axes[panel] for panel in "ABC")
    ax.axvspan(STEP * SHOWN, LAST, color="#eeeeee", linewidth=0, zorder=0)
    ax.plot(squared.time, squared.weak, **look(0, label="gradient flow"))
    ax.plot(time[1:], data.stepped_weak[0, 1:], **look(1, label="published recurrence on W"))
    marked = np.searchsorted(time, np.geomspace(2.2, time[-1], 26))
    marks = look(2, line=False, label="gradient descent on the factor U")
    ax.plot(time[marked], data.stepped_weak[1, marked], **marks)
    unsquared = data.sel(power=1).isel(time=slice(1, None))
    ax.plot(unsquared.time, unsquared.weak, **look(3, label="gradient flow, second moment itself"))
    ax.set(xscale="log", xlim=(2, LAST), ylim=(-0.3, 1.05), title="Entry of the weakest concept")
    ax.set_xticks([2, 5, 10, 20, 50, 100, 200], ["2", "5", "10", "20", "50", "100", "200"])
    ax.set(xlabel="time (paper)", ylabel="$w_{11}$")
    least.plot(squared.time, squared.least, **look(0))
    least.plot(time[1 : SHOWN + 1], data.stepped_least[0, 1 : SHOWN + 1], **look(1))
    least.set_xscale("log")
    least.set_yscale("symlog", linthresh=1e-4)
    least.set(xlim=(0.02, LAST), ylim=(-0.5, 1.5), title="Least eigenvalue", xlabel="time (paper)")
    least.set_yticks([-1e-2, 0, 1e-2, 1], ["−0.01", "0", "0.01", "1"])
    for panel in (ax, least):
        panel.axhline(0, color=QUIET, linewidth=0.8, zorder=1)
    times.axvspan(float(data.largest_step), 1.05 * STEP, color="#eeeeee", linewidth=0)
    times.axhline(learned(squared.time.values, squared.weak.values), **look(0))
    times.plot(data.step, data.learned, **look(1, line=False, clip_on=False))
    times.set(xlim=(0, 1.05 * STEP), ylim=(140, 165), xticks=[0, 0.005, 0.01])
    times.set(title="Time of learning", xlabel="step of the recurrence", ylabel="time (paper)")
    return key(drawn, 2)
