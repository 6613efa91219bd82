"""Swings of the loss and retreats of the answer: in flows, in closed form, over all pairs."""

from __future__ import annotations

import dynamics_oracles as published
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.measures.extrema import extrema, noise_threshold
from partwhole.measures.swing import retreat, swing

CURVES = st.lists(st.floats(-4, 4).map(lambda x: round(x, 3)), min_size=1, max_size=12).map(
    np.array
)


def amplitude_of(losses):
    """Return the amplitude of curves whose times don't matter."""
    return swing(np.arange(losses.shape[-1]), losses).amplitude


def largest_rise(values: np.ndarray) -> float:
    """Return the largest rise over all pairs of records."""
    pairs = [values[j] - values[i] for j in range(len(values)) for i in range(j + 1)]
    return float(max(pairs))


@pytest.fixture(scope="module")
def flow():
    """Integrate the example with means 3 and 1 at scale .01, correlation 1/2, in paper time."""
    step, steps = 0.005, 1000
    u0 = np.linalg.cholesky(published.two_concepts(0.01, 0.5))
    states = published.rk4(u0, published.two_signals(3.0, 1.0), step, steps)
    return step * np.arange(steps + 1), states, np.array([3.0, 1.0])


def test_the_swing_of_two_concepts(flow):
    times, states, means = flow
    loss = published.probe_loss(states, means)
    found = swing(times, loss, plateau=0.5)
    assert found.occurs
    assert found.amplitude == pytest.approx(0.0439678, abs=2e-5)
    assert found.relative == pytest.approx(0.0879356, abs=2e-5)
    assert (found.minimum_time, found.maximum_time) == pytest.approx((0.8453, 1.660), abs=0.005)
    assert (found.minimum, found.maximum) == pytest.approx((0.400980, 0.444947), abs=2e-5)
    turns = extrema(times, loss)
    assert turns.times == pytest.approx([0.8453, 1.660], abs=0.005)
    assert turns.values == pytest.approx([0.400980, 0.444947], abs=2e-5)
    assert amplitude_of(loss) == found.amplitude
    table = found.to_frame()
    assert table.shape == (1, 7)
    assert table.maximum_time[0] == found.maximum_time
    assert table.occurs[0]


@pytest.mark.parametrize(
    ("correlation", "scale", "ratio", "expected"),
    [(0.7, 0.1, 0.05, 0.5056), (0.95, 0.01, 0.3, 0.1739), (0.999, 0.1, 0.5, 0.3328)],
)
def test_relative_amplitudes_of_the_table(correlation, scale, ratio, expected):
    means, signals = np.array([1.0, np.sqrt(ratio)]), np.array([1.0, ratio])
    u0 = np.linalg.cholesky(published.two_concepts(scale, correlation))
    states = published.rk4(u0, signals, 0.02, round(5 / ratio / 0.02))
    times = 0.02 * np.arange(len(states))
    found = swing(times, published.probe_loss(states, means), plateau=ratio / 2)
    assert found.relative == pytest.approx(expected, abs=0.002)


def test_no_swing_where_the_rows_are_not_correlated():
    states = published.rk4(0.1 * np.eye(2), published.two_signals(3.0, 1.0), 0.01, 1000)
    times = 0.01 * np.arange(1001)
    found = swing(times, published.probe_loss(states, np.array([3.0, 1.0])), plateau=0.5)
    assert not found.occurs
    assert found.amplitude < 1e-9
    assert np.isnan([found.minimum_time, found.minimum, found.maximum_time, found.maximum]).all()


def test_a_known_bump():
    # l = cos t + t / 2 turns at pi/6 (top), 5 pi/6 (bottom), 13 pi/6 (top) up to 7.
    t = np.linspace(0.0, 7.0, 70001)
    loss = np.cos(t) + 0.5 * t
    before = t.copy(), loss.copy()
    found = swing(t, loss, plateau=2.0)
    # Twice sqrt(3)/2 from the cosines, and 8 pi / 6 half times.
    exact = np.sqrt(3) + 2 * np.pi / 3
    assert found.amplitude == pytest.approx(exact, abs=1e-8)  # the spacing squared
    assert found.relative == pytest.approx(exact / 2, abs=1e-8)
    assert (found.minimum_time, found.maximum_time) == pytest.approx(
        (5 * np.pi / 6, 13 * np.pi / 6), abs=1e-4
    )
    np.testing.assert_array_equal(t, before[0])
    np.testing.assert_array_equal(loss, before[1])


@given(CURVES)
def test_the_amplitude_is_the_largest_rise_of_all_pairs(loss):
    times = np.arange(len(loss), dtype=float) ** 2
    found = swing(times, loss, threshold=0)
    assert found.amplitude == largest_rise(loss)
    assert found.occurs == (found.amplitude > 0)
    if found.occurs:
        assert found.maximum - found.minimum == found.amplitude
        assert found.minimum_time < found.maximum_time
        start, end = (
            np.flatnonzero(times == t)[0] for t in (found.minimum_time, found.maximum_time)
        )
        assert (loss[start], loss[end]) == (found.minimum, found.maximum)
    assert np.isnan(found.relative)


@given(CURVES, st.sampled_from([0.5, 4.0]), st.sampled_from([-2.0, 8.0]))
def test_scale_shift_and_reversal(loss, scale, shift):
    amplitude = amplitude_of(loss)
    # Rounding of numbers up to 24.
    assert amplitude_of(scale * loss + shift) == pytest.approx(scale * amplitude, abs=1e-13)
    assert amplitude_of(-loss[::-1]) == amplitude
    assert amplitude_of(np.sort(loss)[::-1].copy()) == 0.0
    assert amplitude_of(np.sort(loss)) == np.ptp(loss)


def test_leading_axes_are_kept():
    loss = np.random.default_rng(0).standard_normal((2, 3, 7))
    found = np.asarray(amplitude_of(loss))
    assert found.shape == (2, 3)
    each = [[largest_rise(curve) for curve in rows] for rows in loss]
    np.testing.assert_array_equal(found, each)


def test_rounding_and_noise_are_no_swing():
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 20.0, 400)
    converged = np.exp(-4 * t) + 1e-20 * rng.uniform(size=400)
    assert not swing(t, converged).occurs
    assert swing(t, converged, threshold=0).occurs
    found = []
    for _ in range(200):
        noisy = np.exp(-t) + 0.1 * rng.standard_normal(400)
        found.append(swing(t, noisy, threshold=noise_threshold(noisy)).occurs)
        assert swing(t, noisy).occurs
        bump = noisy + 1.5 * np.exp(-((t - 8) ** 2))
        assert swing(t, bump, threshold=noise_threshold(bump)).occurs
    # At a rate of .05 the count of 200 exceeds 20 in one case of 1000.
    assert sum(found) <= 20


def test_the_weak_concept_retreats_while_the_loss_swings(flow):
    times, states, means = flow
    outputs = states @ means
    found = retreat(times, outputs, means)
    assert found.occurs.tolist()[1] is True
    weak = outputs[:, 1] / means[1]
    assert found.amplitude[1] == pytest.approx(largest_rise(-weak[::5]), abs=1e-4)
    start, end = (
        int(np.flatnonzero(times == t[1])[0]) for t in (found.minimum_time, found.maximum_time)
    )
    assert weak[start] - weak[end] == pytest.approx(found.amplitude[1], abs=1e-15)
    assert start < end


@given(CURVES, st.sampled_from([-2.0, 0.5, 3.0]))
def test_retreats_are_the_largest_falls_of_all_pairs(fraction, target):
    times = np.arange(len(fraction), dtype=float)
    outputs = np.stack([target * fraction, np.full(len(fraction), 7.0)], axis=1)
    found = retreat(times, outputs, np.array([target, 1.0]))
    assert found.amplitude == pytest.approx([largest_rise(-fraction), 0.0], abs=1e-14)
    assert found.occurs.tolist() == [found.amplitude[0] > 1e-3, False]
    assert np.isnan(found.minimum_time).tolist() == (~found.occurs).tolist()
    swapped = retreat(times, outputs[:, ::-1].copy(), np.array([1.0, target]))
    np.testing.assert_array_equal(found.amplitude, swapped.amplitude[::-1])
    np.testing.assert_array_equal(found.maximum_time, swapped.maximum_time[::-1])
    assert found.to_frame().amplitude.tolist() == found.amplitude.tolist()


def test_an_answer_may_retreat_without_a_bump_of_the_loss():
    outputs = np.array([[0.0, 0.0], [0.3, 1.0], [0.2, 1.9], [0.9, 2.0]])
    targets = np.array([1.0, 2.0])
    loss = 0.5 * ((outputs - targets) ** 2).sum(axis=1)
    assert not swing(np.arange(4.0), loss).occurs
    found = retreat(np.arange(4.0), outputs, targets)
    assert found.occurs.tolist() == [True, False]
    assert (found.minimum_time[0], found.maximum_time[0]) == (1.0, 2.0)
    assert not retreat(np.arange(4.0), outputs, targets, threshold=0.2).occurs.any()


def test_refusals_say_rule_got_and_remedy():
    t, mu = np.arange(3.0), np.ones(2)
    f = np.zeros((3, 2))
    cases = [
        (lambda: swing(t, np.array([1, np.nan, 0.0])), "got 1 that is NaN, at 1; drop or fill"),
        (lambda: swing(t[::-1], t), "times increase from record to record; got 2 before 1; sort"),
        (lambda: swing(t, t[:2]), "times and losses have equal length along T; got 3 and 2; pass"),
        (lambda: swing(t, f), "times and losses have equal length along T; got 3 and 2; pass"),
        (lambda: swing(t, t, plateau=0), "plateau is a finite number above 0; got 0"),
        (lambda: swing(t, t, threshold=-1), "threshold is .* of at least 0; got -1; p"),
        (lambda: amplitude_of(np.full((2, 2), np.nan)), "got 4 that are NaN, the first at "),
        (lambda: amplitude_of(np.zeros((2, 0))), r"is not empty; got shape \(0,\); p"),
        (lambda: retreat(t, f, np.array([1.0, 0])), "which is not 0; got 0 at coordinate 1; pass"),
        (lambda: retreat(t, f, np.ones(3)), "outputs and targets have equal length along s; got 2"),
        (lambda: retreat(t[:2], f, mu), "times and outputs have equal length along T; got 2 and 3"),
        (lambda: retreat(t, t, mu), r"outputs is .*; got shape \(3,\); pass shape \(T, s\)"),
        (lambda: retreat(t, f * np.nan, mu), r"got 6 that are NaN, the first at \(0, 0\);"),
        (lambda: retreat(t, f, mu, threshold=-1), "threshold is .* of at least 0; got"),
    ]
    for refused, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            refused()
