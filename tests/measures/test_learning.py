"""When concepts are learned, and how the pace slackens."""

from __future__ import annotations

import dynamics_oracles as published
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.measures import learning_times
from partwhole.measures.diagnosis import diagnose
from partwhole.measures.learning import learning_order, slowing

LEVELS = st.lists(st.integers(0, 20).map(lambda x: x / 20), min_size=1, max_size=10)


def first_held(values: list[float], threshold: float, hold: int) -> int | None:
    """Return the first record of a long enough run of records at the threshold or above."""
    for i in range(len(values) - hold + 1):
        if all(value >= threshold for value in values[i : i + hold]):
            return i
    return None


@given(LEVELS, st.integers(1, 4), st.sampled_from([0.25, 0.5, 0.9]))
def test_learning_times_against_a_plain_search(values, hold, threshold):
    hold = min(hold, len(values))
    times = np.linspace(1.0, 2.0, len(values)) ** 3
    fractions = np.array(values)[:, None]
    expected = first_held(values, threshold, hold)
    later = learning_times(times, fractions, threshold, hold=hold, interpolate=False)[0]
    between = learning_times(times, fractions, threshold, hold=hold)[0]
    if expected is None:
        assert later == between == np.inf
        return
    assert later == times[expected]
    if expected == 0:
        assert between == times[0]
        return
    assert times[expected - 1] < between <= later
    level = np.interp(between, times, fractions[:, 0])
    assert level == pytest.approx(threshold, abs=1e-9)


def test_learning_times_of_one_layer_in_closed_form():
    signals, t = np.array([0.5, 2.0]), np.linspace(0.0, 8.0, 8001)
    fractions = 1 - np.exp(-np.outer(t, signals))
    for threshold in (0.5, 0.9):
        found = learning_times(t, fractions, threshold)
        # -ln(1 - q) / a; a line through records .001 apart errs by its square.
        assert found == pytest.approx(-np.log(1 - threshold) / signals, abs=1e-6)


def test_half_times_of_the_published_central_run():
    states = published.rk4(published.CENTRAL.u0, published.CENTRAL.signals(2), 0.01, 800)
    times = 0.01 * np.arange(801)
    fractions = np.stack([states[:, 0, 0], states[:, 1, 1]], axis=1)
    before = fractions.copy()
    found = learning_times(times, fractions)
    assert found == pytest.approx([7.3199, 1.8857], abs=0.002)
    assert learning_order(times, fractions).order == (1, 0)
    np.testing.assert_array_equal(fractions, before)


def test_seeds_are_kept_and_concepts_may_be_permuted():
    rng = np.random.default_rng(0)
    t, fractions = np.arange(12.0), rng.uniform(size=(5, 12, 3))
    found = learning_times(t, fractions, 0.8, hold=2)
    assert found.shape == (5, 3)
    for one, run in zip(found, fractions, strict=True):
        np.testing.assert_array_equal(one, learning_times(t, run, 0.8, hold=2))
        np.testing.assert_array_equal(
            one[[2, 0, 1]], learning_times(t, run[:, [2, 0, 1]], 0.8, hold=2)
        )
    assert np.isinf(found).any()
    assert np.isfinite(found).any()


def test_ties_and_failures_are_named():
    t = np.linspace(0.0, 4.0, 401)
    rates = np.array([0.5, 2.0, 0.5, 0.1, 0.52])
    fractions = 1 - np.exp(-np.outer(t, rates))
    exact = learning_order(t, fractions)
    assert exact.groups == ((1,), (4,), (0, 2))
    assert exact.order == (1, 4, 0, 2)
    assert exact.ties == ((0, 2),)
    assert exact.unlearned == (3,)
    # ln 2 / .5 - ln 2 / .52 = .0533
    near = learning_order(t, fractions, tolerance=0.06)
    assert near.groups == ((1,), (4, 0, 2))
    assert learning_order(t, fractions, tolerance=0.05).groups == exact.groups
    assert learning_order(t, fractions, 0.99).unlearned == (0, 2, 3, 4)
    table = near.to_frame()
    assert table.concept.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(table.time, near.times)
    assert table.place.isna().tolist() == [False, False, False, True, False]
    assert table.place.dropna().tolist() == [2, 1, 2, 2]


@pytest.mark.parametrize("times", [np.linspace(0.0, 6.0, 61), np.geomspace(0.1, 6.0, 61)])
def test_an_exponential_slows_at_its_rate(times):
    outputs = np.outer(1 - np.exp(-1.5 * times), [1.0, 2.0])
    found = slowing(times, outputs)
    even = np.ptp(np.diff(times)) < 1e-12
    # Central differences on an even grid scale every speed alike.
    assert found.rate == pytest.approx(1.5, abs=1e-9 if even else 0.02)
    assert found.rate_r2 > 0.9999
    assert found.exponent_r2 < found.rate_r2
    first, last = (np.exp(-1.5 * times[i]) - np.exp(-1.5 * times[i + 1]) for i in (0, -2))
    spacing = (times[1] - times[0]) / (times[-1] - times[-2])
    assert found.ratio == pytest.approx(first / last / spacing, rel=1e-9)
    middle = slice(1, -1)
    exact = np.sqrt(5) * 1.5 * np.exp(-1.5 * times)
    # (1.5 * spacing)^2 / 6, and as much for the growing spacing.
    bound = (1.5 * np.diff(times)[1:]) ** 2 / 3
    assert (np.abs(found.speed / exact - 1)[middle] < bound).all()
    assert found.n == 30
    assert found.since == times[30]
    assert slowing(times, outputs, share=1).n == 59  # all but the two ends
    table = found.to_frame()
    assert np.flatnonzero(table.fitted).tolist() == list(range(30, 60))
    np.testing.assert_array_equal(table.speed[table.fitted], found.speed[30:60])


def test_a_power_slows_with_its_exponent():
    t = np.geomspace(1.0, 1e4, 200)
    outputs = (t ** (1 - 1.7))[:, None]
    found = slowing(t, outputs)
    # The spacing grows with time, so that every speed errs by the same factor.
    assert found.exponent == pytest.approx(1.7, abs=1e-9)
    assert found.exponent_r2 == pytest.approx(1.0, abs=1e-9)
    assert found.rate_r2 < 0.95
    assert slowing(t, outputs, share=0.25).n == 49
    assert slowing(3 * t, outputs).exponent == pytest.approx(found.exponent, abs=1e-9)
    assert slowing(3 * t, outputs).ratio == pytest.approx(found.ratio)


def test_what_has_converged_is_not_fitted():
    t = np.linspace(0.0, 60.0, 601)
    found = slowing(t, (1 - np.exp(-2 * t))[:, None])
    # Speeds reach 1e-9 of the first at t = ln(1e9) / 2 = 10.4, later ones are rounding.
    assert found.since + (found.n - 1) * 0.1 == pytest.approx(10.3, abs=0.15)
    assert found.rate == pytest.approx(2.0, abs=1e-4)


def test_pace_at_the_edges():
    t = np.arange(10.0)
    even = slowing(t, t[:, None])
    assert (even.ratio, even.rate, even.exponent) == pytest.approx((1.0, 0.0, 0.0), abs=1e-12)
    assert np.isnan([even.rate_r2, even.exponent_r2]).all()
    resting = slowing(t, np.ones((10, 2)))
    assert resting.n == 0
    assert not resting.to_frame().fitted.any()
    assert np.isnan([resting.ratio, resting.rate, resting.since]).all()
    halted = slowing(t, np.minimum(t, 2.0)[:, None])
    assert halted.ratio == np.inf
    assert np.isnan(halted.rate)  # two records are no line


def test_refusals_say_rule_got_and_remedy():
    t, f = np.arange(4.0), np.zeros((4, 2))
    loss = np.zeros(4)
    cases = [
        (lambda: learning_times(t[::-1], f), "times increase from record to record; got 3 before"),
        (lambda: learning_times(t[:3], f), "times and fractions have equal length along T; got 3"),
        (lambda: learning_times(t, t), r"of shape \(\.\.\., T, s\); got shape \(4,\); pass shape"),
        (lambda: learning_times(t, f * np.nan), r"got 8 that are NaN, the first at \(0, 0\); drop"),
        (lambda: learning_times(t, f, np.nan), "threshold is a finite number; got nan; pass one"),
        (lambda: learning_times(t, f, hold=5), r"consecutive records among 1\.\.4; got 5; use 1"),
        (lambda: learning_times(t, f, hold=1.5), "hold is a whole number; got 1.5; pass one"),
        (lambda: learning_times(t, f, hold=True), "hold is a whole number; got True; pass one"),
        (lambda: learning_order(t, f[None]), r"got shape \(1, 4, 2\); pass shape \(T, s\)"),
        (lambda: learning_order(t, f, tolerance=-1), "tolerance is .* of at least 0; got -1; p"),
        (
            lambda: slowing(t[:2], f[:2]),
            "a speed is read off at least 3 records; got 2; record",
        ),
        (lambda: slowing(t - 1, f), "times count from the start of learning; got -1; start at 0"),
        (lambda: slowing(t, f, share=0), "share is a finite number above 0 and at most 1; got 0;"),
        (lambda: diagnose(t, loss[:3], f), "times and training_loss have equal length along T;"),
        (
            lambda: diagnose(t, loss, f, least_eigenvalue=f),
            r"got shape \(4, 2\); pass shape \(T,\)",
        ),
        (lambda: diagnose(t, loss, f[0]), r"got shape \(2,\); pass shape \(T, s\)"),
        *(
            (
                lambda clocks=clocks: diagnose(t, loss, f, clocks=clocks),
                "fractions and clocks have equal length along s; got 2 and .; pass both",
            )
            for clocks in (np.ones(3), np.ones(1))
        ),
        (lambda: diagnose(t[:1], loss[:1], f[:1]), "needs at least 2 records; got 1; record mor"),
        (lambda: diagnose(t, loss, f, threshold=1), "threshold .* above 0 and below 1; got 1;"),
        (lambda: diagnose(t, loss, f, noise=-1), "noise is .* of at least 0; got -1; pass"),
        (lambda: diagnose(t, loss, f, rise=np.nan), "rise is a number of at least 0; got nan;"),
    ]
    for refused, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            refused()
