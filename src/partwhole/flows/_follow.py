"""Follow a flow step by step: to given times, or until a loss is reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._types import Real
from partwhole.flows._inputs import grid
from partwhole.flows._path import FlowOutcome

State = Float[np.ndarray, "*y"]


@dataclass(frozen=True)
class Step:
    """One step of an integrator, and how to reach a time within it.

    `gradients` counts those evaluated up to its end, where that is counted.
    """

    start: float
    end: float
    state: State
    within: Callable[[float], State]
    gradients: int = 0

    def at(self, time: float) -> State:
        """Return the state at a time from the start to the end of this step."""
        return self.state if time == self.end else self.within(time)


@dataclass(frozen=True)
class Stops:
    """Times to record, the loss at which to stop, and bounds on the work."""

    times: Float[np.ndarray, " T"]
    until: float | None
    last: float
    max_steps: int
    max_gradients: int | None = None

    @classmethod
    def checked(
        cls,
        times: Float[np.ndarray, " T"] | None,
        until: Real | None,
        max_time: Real,
        max_steps: int,
        floor: float,
        max_gradients: int | None = None,
    ) -> Stops:
        """Return validated stops; `floor` is the least loss that any state has."""
        require(
            times is not None or until is not None,
            "a flow is followed to given times, or until a training loss",
            "neither",
            "pass times=np.linspace(0, 100, 50) or until=1e-12, say",
        )
        if until is not None:
            require(
                until > floor,
                f"until is a training loss above the least that is possible, {floor:.3g}",
                repr(until),
                "ask for a larger loss, such as 1e-12; the flow comes near 0, but not to it"
                if floor == 0
                else "ask for a larger loss; no coefficients come nearer to all targets at once",
            )
        records = np.zeros(1) if times is None else grid(times)
        last = float(max_time) if times is None else min(float(records[-1]), float(max_time))
        level = None if until is None else float(until)
        return cls(records[records <= last], level, last, int(max_steps), max_gradients)


def follow(
    start: State, steps: Iterator[Step], stops: Stops, loss: Callable[[State], float]
) -> tuple[Float[np.ndarray, " T"], Float[np.ndarray, "T *y"], FlowOutcome]:
    """Return the recorded times, the states there, and how the flow ended.

    The last time is where the flow stopped, even if that is none of `times`.
    """
    pending, records = list(stops.times), []

    def record(step: Step, upto: float) -> None:
        while pending and pending[0] <= upto:
            time = pending.pop(0)
            records.append((time, step.at(time)))

    step, end, count = Step(0.0, 0.0, start, lambda _: start), 0.0, 0
    ending = _ending(start, end, stops, loss)
    record(step, end)
    while ending is None:
        following = next(steps, None) if count < stops.max_steps else None
        if following is None:
            ending = FlowOutcome.STUCK if count < stops.max_steps else FlowOutcome.MAX_STEPS
            break
        step, count = following, count + 1
        end = min(step.end, stops.last)
        ending = _ending(step.at(end), end, stops, loss)
        if ending is FlowOutcome.FITTED:
            end = _crossing(step, end, stops.until or 0.0, loss)
        record(step, end)
        if ending is None and stops.max_gradients and step.gradients >= stops.max_gradients:
            ending = FlowOutcome.MAX_GRADIENTS
    if not records or records[-1][0] < end:
        records.append((end, step.at(end)))
    times, states = zip(*records, strict=True)
    return np.array(times), np.array(states), ending


def _ending(
    state: State, time: float, stops: Stops, loss: Callable[[State], float]
) -> FlowOutcome | None:
    if stops.until is not None and loss(state) <= stops.until:
        return FlowOutcome.FITTED
    if time < stops.last:
        return None
    return FlowOutcome.REACHED if stops.until is None else FlowOutcome.NOT_FITTED


def _crossing(step: Step, end: float, until: float, loss: Callable[[State], float]) -> float:
    """Return when, within a step, the loss has just fallen to a level, by bisection."""
    low, high = step.start, end
    for _ in range(12):
        middle = 0.5 * (low + high)
        if loss(step.at(middle)) <= until:
            high = middle
        else:
            low = middle
    return high
