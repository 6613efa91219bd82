"""Stabilised steps on a linear flow, whose answer is a matrix exponential."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest

from partwhole.flows._stabilised import _advance, stabilised_steps


def rates(fastest: float, n: int = 40) -> np.ndarray:
    return np.geomspace(1.0, fastest, n)


@pytest.mark.parametrize("rate", [1.0, 40.0, 4000.0])
def test_steps_are_of_order_2_whatever_their_stages(rate):
    start = np.array([1.0])
    errors = []
    for step in (0.1, 0.05):
        # The rate only sets the number of stages; what is solved has rate 1.
        found = _advance(lambda y: -y, start, -start, step, rate)
        errors.append(abs(float(found[0]) - np.exp(-step)))
    assert errors[0] / errors[1] == pytest.approx(8, rel=0.2)


@pytest.mark.parametrize("fastest", [10.0, 1e5])
def test_a_stiff_flow_is_its_exponential(fastest):
    rate = rates(fastest)
    calls = 0

    def velocity(y):
        nonlocal calls
        calls += 1
        return -rate * (y - 1.0)

    start = np.zeros(40)
    steps = stabilised_steps(velocity, start, rtol=1e-6, atol=1e-9)
    step = next(each for each in islice(steps, 2000) if each.end >= 3.0)
    told = 1.0 - np.exp(-3.0 * rate)
    # Errors of 1e-6 a step of which the flow forgets all but the last few hundred.
    np.testing.assert_allclose(step.at(3.0), told, rtol=0, atol=1e-4)
    # An ordinary method of order 4 takes four calls for each step of at most 2.8 / fastest.
    assert fastest < 1e3 or calls < 0.1 * 4 * 3.0 * fastest / 2.8


def test_steps_follow_each_other_and_reach_times_within():
    def velocity(y):
        return -rates(1e3) * y

    steps = list(islice(stabilised_steps(velocity, np.ones(40), rtol=1e-7, atol=1e-9), 50))
    assert steps[0].start == 0.0
    for one, other in pairwise(steps):
        assert one.end == other.start
        np.testing.assert_allclose(other.at(other.start), one.state, rtol=0, atol=0)
    late = steps[-1]
    middle = 0.5 * (late.start + late.end)
    np.testing.assert_allclose(late.at(middle), np.exp(-rates(1e3) * middle), atol=1e-5)


def test_a_flow_at_rest_stays():
    step = next(stabilised_steps(lambda y: 0.0 * y, np.ones(3), rtol=1e-6, atol=1e-9))
    assert step.end > 0
    np.testing.assert_array_equal(step.state, np.ones(3))
