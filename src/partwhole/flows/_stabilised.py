r"""An explicit integrator for stiff gradient flows: Runge-Kutta-Chebyshev steps of order 2.

The Jacobian of a gradient flow is symmetric, minus a Hessian, so what makes it stiff are rates on
the real axis. A step of s stages is stable for :math:`h \rho \lesssim 0.65\,s^2`, with
:math:`\rho` the fastest rate, where s steps of an ordinary method get no further than about
:math:`3 s`; and it needs no matrix, so that thousands of weights cost a few products each.
Sommeijer, Shampine & Verwer, "RKC: an explicit solver for parabolic PDEs", Journal of
Computational and Applied Mathematics 88 (1998).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from math import sqrt
from typing import NamedTuple

import numpy as np

from partwhole.flows._follow import State, Step

Velocity = Callable[[State], State]

DAMPING = 2.0 / 13.0
MAX_STAGES = 400
SAFETY = 1.25  # on the fastest rate, which a power iteration finds from below
RENEW = 10  # steps between two looks at it


def stabilised_steps(
    velocity: Velocity, start: State, *, rtol: float, atol: float
) -> Iterator[Step]:
    """Yield the accepted steps of a gradient flow from time 0, without end.

    Tolerances are relative and absolute, on the error of a step. It ends only where the step
    size has fallen to nothing. Each step holds how many gradients were evaluated up to its end.
    """
    gradient = _Counted(velocity)
    state, time = start, 0.0
    slope = gradient(state)
    fastest = _FastestRate(gradient, state.shape)
    rate = fastest.at(state, slope)
    step = 0.1 / max(rate, 1e-300)
    age = 0
    while step > 1e-14 * time:
        if age >= RENEW:
            rate, age = fastest.at(state, slope), 0
        step = min(step, 0.65 * (MAX_STAGES**2 - 1) / rate)
        with np.errstate(over="ignore", invalid="ignore"):
            reached = _advance(gradient, state, slope, step, rate)
            slope_there = gradient(reached)
            gap = 0.8 * (state - reached) + 0.4 * step * (slope + slope_there)
            size = atol + rtol * np.maximum(np.abs(state), np.abs(reached))
            error = float(np.sqrt(np.mean((gap / size) ** 2)))
        if not error <= 1.0:  # NaN too
            step *= max(0.1, 0.8 * error ** (-1 / 3)) if np.isfinite(error) else 0.1
            age = RENEW
            continue
        within = _within(velocity, state, slope, time, rate)
        yield Step(time, time + step, reached, within, gradient.calls)
        state, slope, time = reached, slope_there, time + step
        step *= min(5.0, 0.8 * max(error, 1e-12) ** (-1 / 3))
        age += 1


class _Counted:
    """A velocity that counts its evaluations."""

    def __init__(self, velocity: Velocity) -> None:
        self.velocity, self.calls = velocity, 0

    def __call__(self, state: State) -> State:
        self.calls += 1
        return self.velocity(state)


def _within(
    velocity: Velocity, state: State, slope: State, time: float, rate: float
) -> Callable[[float], State]:
    """Return how to reach any time within a step: by a shorter one."""

    def at(t: float) -> State:
        return state if t <= time else _advance(velocity, state, slope, t - time, rate)

    return at


def _advance(velocity: Velocity, state: State, slope: State, step: float, rate: float) -> State:
    stages = max(2, 1 + int(sqrt(1.0 + 1.54 * step * rate)))
    table = _coefficients(stages)
    before, stage = state, state + table.first * step * slope
    for share, mu, nu, fresh, initial in table.stages:
        before, stage = (
            stage,
            share * state
            + mu * stage
            + nu * before
            + step * (fresh * velocity(stage) + initial * slope),
        )
    return stage


class _Table(NamedTuple):
    first: float
    stages: list[list[float]]


@cache
def _coefficients(stages: int) -> _Table:
    """Return the coefficients of all stages, from Chebyshev polynomials and their derivatives."""
    w0 = 1.0 + DAMPING / stages**2
    t, dt, ddt = ([1.0, w0], [0.0, 1.0], [0.0, 0.0])
    for _ in range(stages - 1):
        ddt.append(2 * w0 * ddt[-1] - ddt[-2] + 4 * dt[-1])
        dt.append(2 * w0 * dt[-1] - dt[-2] + 2 * t[-1])
        t.append(2 * w0 * t[-1] - t[-2])
    w1 = dt[-1] / ddt[-1]
    b = [ddt[j] / dt[j] ** 2 for j in range(2, stages + 1)]
    b = [b[0], b[0], *b]
    rows = []
    for j in range(2, stages + 1):
        mu, nu = 2 * b[j] * w0 / b[j - 1], -b[j] / b[j - 2]
        fresh = 2 * b[j] * w1 / b[j - 1]
        rows.append([1 - mu - nu, mu, nu, fresh, -(1 - b[j - 1] * t[j - 1]) * fresh])
    return _Table(b[1] * w1, rows)


class _FastestRate:
    """Largest rate of a flow, by a power iteration that continues from its last direction."""

    def __init__(self, velocity: Velocity, shape: tuple[int, ...]) -> None:
        self.velocity, self.fresh = velocity, True
        direction = np.random.default_rng(0).standard_normal(shape)
        self.direction = direction / np.linalg.norm(direction)

    def at(self, state: State, slope: State) -> float:
        reach = 1e-6 * max(float(np.linalg.norm(state)), 1e-12)
        rate = 0.0
        for _ in range(12 if self.fresh else 4):
            change = (self.velocity(state + reach * self.direction) - slope) / reach
            rate = float(np.linalg.norm(change))
            if rate < 1e-300:
                return 1e-300
            self.direction = change / rate
        self.fresh = False
        return SAFETY * rate
