"""Runs that learned, are slow, failed or broke down are told apart."""

from __future__ import annotations

import math

import dynamics_oracles as published
import numpy as np
import pytest

from partwhole.flows import learning_clocks
from partwhole.measures.diagnosis import Diagnosis, diagnose

LEARNED, SLOW, FAILED, BROKE_DOWN = Diagnosis


def fail_by_euler(updates: int):
    """Step the published recurrence on the matrix; return its record, every tenth update."""
    a = np.diag(published.FAIL.a)
    w, eta, moment, kept = published.FAIL.w0, 0.01, a @ a, []
    for update in range(updates):
        w = w + eta * published.velocity(w, moment)
        if not np.isfinite(w).all():
            kept.append((update + 1, np.full((3, 3), np.nan)))
            break
        if update % 10 == 9 or update < 60:
            kept.append((update + 1, w))
    times = np.array([eta * update for update, _ in kept])
    return times, np.array([w for _, w in kept])


def watch(times, states, means, a):
    """Return what a diagnosis reads: training loss and fractions."""
    gap = states - np.eye(len(means))
    loss = 0.5 * np.einsum("tij,jk,tik->t", gap, np.diag(a), gap)
    return times, loss, states @ means / means


def test_the_published_failure_is_a_breakdown():
    times, states = fail_by_euler(10_000)
    means, a = published.FAIL.means, published.FAIL.a
    read = watch(times, states, means, a)
    # The published record after 10,000 updates, to 2 %.
    assert states[-1, 0, 0] == pytest.approx(-0.018943, rel=0.02)
    seen = diagnose(*read, least_eigenvalue=np.linalg.eigvalsh(states)[:, 0])
    assert seen.run is BROKE_DOWN
    # Negative from the update with index 31 on, counted from 0, give or take one.
    assert seen.breakdown_time == pytest.approx(0.32, abs=0.0101)
    assert "least eigenvalue" in seen.evidence
    # The strongest concept is half way at .2103; by the logistic law it is at .86 then.
    assert seen.concepts == (BROKE_DOWN, BROKE_DOWN, BROKE_DOWN)
    lenient = diagnose(*read, least_eigenvalue=np.linalg.eigvalsh(states)[:, 0], threshold=0.75)
    assert lenient.concepts == (BROKE_DOWN, BROKE_DOWN, LEARNED)
    assert np.isnan(seen.remaining).all()
    blind = diagnose(*read)
    assert blind.run is BROKE_DOWN
    assert "training loss has risen" in blind.evidence
    assert blind.breakdown_time > 1.0
    assert blind.concepts == (BROKE_DOWN, LEARNED, LEARNED)


def test_numbers_that_overflow_are_a_breakdown():
    with np.errstate(over="ignore", invalid="ignore"):
        times, states = fail_by_euler(17_500)
    read = watch(times, states, published.FAIL.means, published.FAIL.a)
    found = diagnose(*read, rise=math.inf)
    assert found.run is BROKE_DOWN
    assert found.evidence == "a number is no longer finite"
    assert found.breakdown_time == times[-1]
    assert found.breakdown_time == pytest.approx(172.65, abs=0.02)


def test_the_same_task_cut_short_is_slow():
    # Learned at 144.0; half time by integration of the factor.
    means, a = published.FAIL.means, published.FAIL.a
    states = published.rk4(published.FAIL.u0, published.FAIL.signals(2), 0.02, 5000)[::10]
    times = 0.2 * np.arange(len(states))
    found = diagnose(*watch(times, states, means, a))
    assert found.run is SLOW
    assert found.concepts == (SLOW, LEARNED, LEARNED)
    # From half to .9 it takes another ln 9 / (2 * .0275007).
    expected = 144.038 + np.log(9) / (2 * 0.0275007) - 100
    assert found.remaining == pytest.approx([expected, 0, 0], rel=0.05)


@pytest.mark.parametrize(("until", "named"), [(5.0, SLOW), (20.0, FAILED)])
def test_a_start_of_low_rank_fails_for_good(until, named):
    means, a = np.array([3.0, 1.0]), published.two_signals(3.0, 1.0)
    u0 = np.sqrt(0.01 / 2) * np.ones((2, 2))
    states = published.rk4(u0, a, 0.01, round(100 * until))
    loss = published.probe_loss(states, means)
    assert loss[200] == pytest.approx(0.480248, abs=2e-6)
    read = watch(0.01 * np.arange(len(states)), states, means, a)
    found = diagnose(*read)
    # At t = 5 the weak concept still retreats; afterwards it rests.
    assert found.concepts == (LEARNED, named)
    assert found.remaining.tolist() == [0.0, np.inf]
    told = diagnose(*read, clocks=np.array([0.5, np.inf]))
    assert told.concepts == (LEARNED, FAILED)
    later = diagnose(*read, clocks=np.array([0.5, 100.0]))
    assert later.concepts == (LEARNED, SLOW)
    assert later.run is SLOW


def test_the_rest_of_the_time_is_extrapolated():
    t = np.linspace(0.0, 10.0, 201)
    logistic = 1 / (1 + np.exp(-1.2 * (t - 14)))
    overshoot = 1 + np.exp(-0.1 * t)
    fractions = np.stack([logistic, 1 - np.exp(-0.1 * t), overshoot, 0.4 - 0.02 * t], axis=1)
    found = diagnose(t, np.exp(-t), fractions)
    assert found.run is SLOW
    assert set(found.concepts) == {SLOW}
    # Logistic: at .9 at t = 14 + ln 9 / 1.2. Exponential: at a tenth at ln 10 / .1.
    left = [4 + np.log(9) / 1.2, 10 * np.log(10) - 10, 10 * np.log(10) - 10, np.inf]
    assert found.remaining == pytest.approx(left, rel=1e-9)
    scaled = diagnose(5 * t, np.exp(-t), fractions)
    assert scaled.remaining == pytest.approx(5 * found.remaining, rel=1e-9)
    backwards = diagnose(t, np.exp(-t), fractions[:, ::-1].copy())
    np.testing.assert_array_equal(backwards.remaining, found.remaining[::-1])
    table = found.to_frame()
    assert table.diagnosis.tolist() == ["slow"] * 4
    assert found.evidence == "the largest residual at the end is 0.992 of its target"


def test_batches_make_noise():
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 10.0, 301)
    loss = np.exp(-t) + 0.01 * rng.standard_normal(301)
    fractions = np.stack([1 - np.exp(-t), np.full(301, 0.3), 1 - np.exp(-0.1 * t)], axis=1)
    fractions += rng.uniform(-0.01, 0.01, fractions.shape)
    assert diagnose(t, loss, fractions).run is BROKE_DOWN
    found = diagnose(t, loss, fractions, noise=0.02, rise=0.1)
    assert found.concepts == (LEARNED, FAILED, SLOW)
    assert found.run is FAILED
    # A rise of the loss within its noise is none.
    assert diagnose(t, loss, fractions, noise=0.02, rise=math.inf).concepts == found.concepts


def test_clocks_of_theory_are_in_the_order_of_the_concepts():
    # The published failure run, whose concepts are learned last to first, cut short at 20 while
    # nothing has moved of the first and the second is on its way.
    means, a = published.FAIL.means, published.FAIL.a
    clocks = learning_clocks(published.FAIL.w0, np.diag(a), power=2)
    assert clocks.order.tolist() == [2, 1, 0]
    states = published.rk4(published.FAIL.u0, published.FAIL.signals(2), 0.02, 100)
    read = watch(0.02 * np.arange(101), states, means, a)
    assert diagnose(*read, noise=0.2).concepts == (FAILED, FAILED, LEARNED)
    told = diagnose(*read, noise=0.2, clocks=clocks.by_concept())
    assert told.concepts == (SLOW, SLOW, LEARNED)
    # In the order of learning the clock of the first concept would be that of the last.
    assert diagnose(*read, noise=0.2, clocks=clocks.times).concepts == (FAILED, SLOW, LEARNED)


def test_a_run_that_starts_broken_or_ends_learned():
    t, f = np.arange(3.0), np.ones((3, 1))
    found = diagnose(t, np.array([np.nan, 1, 1]), f)
    assert (found.breakdown_time, found.concepts) == (0.0, (BROKE_DOWN,))
    found = diagnose(t, np.array([1, np.inf, 1]), f)
    assert (found.breakdown_time, found.concepts) == (1.0, (LEARNED,))
    found = diagnose(t, np.zeros(3), f)
    assert (found.run, np.isnan(found.breakdown_time)) == (LEARNED, True)
