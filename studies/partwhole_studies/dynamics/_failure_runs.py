"""The runs behind the published failure of learning, each as plain arrays."""

from __future__ import annotations

import numpy as np

from partwhole.flows import Outcome, Path, learning_clocks, tied_descent, tied_flow
from partwhole.measures import Progress, diagnose, learning_times
from partwhole.study import Arrays
from partwhole.tasks import StructuredIdentity
from partwhole_studies.dynamics._published import FAILURE, STEP
from partwhole_studies.dynamics._turns import RECORDS, log_times

POWERS = (2, 1)
LAST = 200.0
UPDATES = 17_500
SHOWN = 10_000  # updates that the published figure shows
ENOUGH = 160.0  # paper time within which smaller steps learn the concept
WEAK, STRONG = 0, 2
# A start that holds one direction only, in the frame of three so that nothing compiles anew.
ONE_DIRECTION = StructuredIdentity(means=(3.0, 1.0), scales=(0.05, 0.05), dimension=3)
PROGRESS = tuple(Progress)


def flow(power: int) -> Arrays:
    path = tied_flow(FAILURE.w0, FAILURE.second_moment, log_times(LAST), power=power)
    clocks = learning_clocks(FAILURE.w0, FAILURE.second_moment, power=power)
    expected = np.empty(3)
    expected[clocks.order] = clocks.times
    found = {
        "error": path.loss(FAILURE.probe),
        "training_error": path.training_loss(FAILURE.second_moment),
        "major": _major(path),
        "least": _least(path),
        "clock": expected,
    }
    for how, last in (("whole", LAST), ("cut", STEP * SHOWN)):
        part = path.times <= last
        told = diagnose(
            path.times[part],
            found["training_error"][part],
            found["major"][part],
            least_eigenvalue=found["least"][part],
            clocks=expected,
        )
        when = path.times[part][-1] + told.remaining[WEAK]
        found[how] = np.array([PROGRESS.index(told.run), when])
    return found


def recurrence() -> Arrays:
    w0, a = FAILURE.w0, FAILURE.second_moment
    wrong, right = (
        tied_descent(w0, a, steps=UPDATES, step_size=STEP, on=on, power=2)
        for on in ("matrix", "factor")
    )
    # Numbers grow beyond all bounds before they are no numbers.
    with np.errstate(over="ignore", invalid="ignore"):
        error, training = wrong.loss(FAILURE.probe), wrong.training_loss(a)
    part = slice(SHOWN + 1)
    told = diagnose(
        wrong.times[part], training[part], _major(wrong)[part], least_eigenvalue=_least(wrong)[part]
    )
    return {
        "error": np.stack([error, right.loss(FAILURE.probe)]),
        "training_error": np.stack([training, right.training_loss(a)]),
        "major": np.stack([_major(wrong), _major(right)]),
        "least": np.stack([_least(wrong), _least(right)]),
        "told": np.array([PROGRESS.index(told.run), told.breakdown_time]),
    }


def one_direction() -> Arrays:
    task, times = ONE_DIRECTION, np.linspace(0.0, 20.0, RECORDS)
    w0 = np.zeros((3, 3))
    w0[:2, :2] = 0.01
    path = tied_flow(w0, task.second_moment(), times)
    error = path.loss(task.probe)
    clocks = learning_clocks(w0, task.second_moment()).times
    told = diagnose(
        times, path.training_loss(task.second_moment()), _major(path)[:, :2], clocks=clocks
    )
    at = np.searchsorted(times, [2.0, 5.0, 20.0])
    return {"error": error[at], "told": np.array([PROGRESS.index(told.run), np.inf])}


def smaller(step: float) -> Arrays:
    steps = round(ENOUGH / step)
    path = tied_descent(
        FAILURE.w0, FAILURE.second_moment, steps=steps, step_size=step, on="matrix", power=2
    )
    when = learning_times(path.times, _major(path))[WEAK]
    return {"learned": np.array(when), "least": np.array(_least(path).min())}


def largest_step() -> float:
    """Bisect for the largest step with which the recurrence stays positive semidefinite."""
    low, high = 0.5 * STEP, STEP
    while high - low > 1e-3 * STEP:
        step = 0.5 * (low + high)
        path = tied_descent(
            FAILURE.w0, FAILURE.second_moment, steps=UPDATES, step_size=step, on="matrix", power=2
        )
        low, high = (step, high) if path.outcome is Outcome.REACHED else (low, step)
    return low


def _major(path: Path) -> np.ndarray:
    return np.diagonal(path.states, axis1=1, axis2=2)


def _least(path: Path) -> np.ndarray:
    """Return the least eigenvalue at every time, NaN from where numbers are not finite."""
    finite = np.asarray(np.isfinite(path.states).all(axis=(1, 2)))
    stop = len(finite) if finite.all() else int(np.argmin(finite))
    found = np.full(len(finite), np.nan)
    found[:stop] = np.linalg.eigvalsh(path.states[:stop])[:, 0]
    return found
