"""Turns of a curve: by the longest alternating chain, in closed form, in flows and in noise."""

from __future__ import annotations

import dynamics_oracles as published
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from partwhole._checks import InputError
from partwhole.measures.extrema import extrema, noise_threshold

CURVES = st.lists(st.integers(0, 12), min_size=1, max_size=14).map(
    lambda heights: np.array(heights, dtype=float)
)
STEPS = st.sampled_from([0.5, 1.0, 2.0, 3.5, 6.0])


def turns_of(values, **options):
    """Return the turns of a curve whose times don't matter."""
    return extrema(np.arange(len(values)), values, **options)


def longest_chain(values: np.ndarray, threshold: float) -> int:
    """Return the most moves of at least the threshold that alternate, by dynamic programming."""
    n = len(values)
    best = {+1: [0] * n, -1: [0] * n}  # the most moves that end at a record, the last up or down
    for j in range(n):
        for i in range(j):
            if abs(values[j] - values[i]) >= threshold:
                sign = 1 if values[j] > values[i] else -1
                best[sign][j] = max(best[sign][j], best[-sign][i] + 1)
    return max(best[+1] + best[-1])


@given(CURVES, STEPS)
def test_turns_are_those_of_the_longest_alternating_chain(values, threshold):
    found = turns_of(values, threshold=threshold)
    moves = longest_chain(values, threshold)
    assert len(found) == max(moves - 1, 0)
    assert not found.refined
    np.testing.assert_array_equal(found.values, values[found.indices])
    ends = values[[0, *found.indices, -1]]
    signs = {"minimum": -1, "maximum": 1}
    for i, kind in enumerate(found.kinds):
        assert kind != found.kinds[i - 1] or i == 0
        if i > 0:
            assert (ends[i + 1] - ends[i]) * signs[kind] >= threshold
    for index, kind in zip(found.indices, found.kinds, strict=True):
        assert (values[index] - values[index - 1]) * signs[kind] > 0


@given(CURVES, STEPS)
def test_the_reversed_curve_has_the_same_turns(values, threshold):
    forth, back = (turns_of(v, threshold=threshold, relative=0.1) for v in (values, values[::-1]))
    assert forth.kinds == back.kinds[::-1]
    np.testing.assert_array_equal(forth.values, back.values[::-1])
    # Of records that tie each direction takes its first.
    again = len(values) - 1 - back.indices[::-1]
    assert (forth.indices <= again).all()
    if len({*values.tolist()}) == len(values):
        np.testing.assert_array_equal(forth.indices, again)


@given(CURVES, STEPS, st.sampled_from([0.25, 4.0]), st.sampled_from([-8.0, 3.0]))
def test_scale_shift_and_sign(values, threshold, scale, shift):
    found = turns_of(values, threshold=threshold)
    other = turns_of(scale * values + shift, threshold=scale * threshold)
    np.testing.assert_array_equal(found.indices, other.indices)
    upside_down = turns_of(-values, threshold=threshold)
    np.testing.assert_array_equal(found.indices, upside_down.indices)
    assert all(one != two for one, two in zip(found.kinds, upside_down.kinds, strict=True))
    share, scaled = (turns_of(v, relative=0.3) for v in (values, scale * values))
    np.testing.assert_array_equal(share.indices, scaled.indices)


@given(CURVES, STEPS)
def test_a_loss_that_starts_and_ends_by_falling_has_one_descent_more_than_bumps(values, threshold):
    loss = np.concatenate([[40.0], values, [-40.0]])
    found = turns_of(loss, threshold=threshold)
    assert turns_of(loss, threshold=threshold).descents == found.kinds.count("maximum") + 1
    rising = turns_of(-loss, threshold=threshold).descents
    assert rising == found.kinds.count("maximum")


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.0], 0), ([1.0, 1.0, 1.0], 0), ([0.0, 1.0, 2.0], 0), ([2.0, 1.0], 1), ([2, 1, 2], 1)],
)
def test_descents_of_the_plainest_curves(values, expected):
    assert turns_of(np.array(values, dtype=float)).descents == expected
    turns = 1 if values == [2, 1, 2] else 0
    assert len(turns_of(np.array(values, dtype=float))) == turns


def test_parabolas_are_found_exactly_on_uneven_grids():
    rng = np.random.default_rng(0)
    for _ in range(20):
        t = np.sort(rng.uniform(0.0, 4.0, 9))
        centre = rng.uniform(t[1], t[-2])
        values = 3.0 + 2.0 * (t - centre) ** 2
        before = t.copy(), values.copy()
        found = extrema(t, values)
        assert found.kinds == ("minimum",)
        assert found.refined
        # Exact but for rounding, enlarged where two times lie close together.
        assert found.times[0] == pytest.approx(centre, abs=1e-9)
        assert found.values[0] == pytest.approx(3.0, abs=1e-9)
        raw = extrema(t, values, refine=False)
        assert raw.times[0] == t[raw.indices[0]]
        np.testing.assert_array_equal(t, before[0])
        np.testing.assert_array_equal(values, before[1])


@pytest.mark.parametrize("records", [41, 81, 161, 321])
def test_refined_times_err_by_the_square_of_the_spacing(records):
    t = np.linspace(0.1, 3.0, records) ** 2  # further and further apart
    found = extrema(t, np.exp(-0.3 * t) * np.cos(t))
    exact = np.arange(1, 3) * np.pi - np.arctan(0.3)
    # The parabola's slope errs by the third derivative times h^2 / 6, and where this curve turns
    # its third derivative is .6 of its second; a tenth is left for higher orders.
    bound = 1.1 * 0.6 / 6 * (t[found.indices + 1] - t[found.indices]) ** 2
    assert (np.abs(found.times - exact) < bound).all()
    raw = extrema(t, np.exp(-0.3 * t) * np.cos(t), refine=False)
    assert (np.abs(raw.times - exact) > bound).any()


def test_which_curves_are_refined():
    t = np.linspace(0.0, 6.0, 20)
    assert extrema(t, np.cos(t)).refined
    assert not extrema(t, np.cos(t), threshold=0.1).refined
    assert not extrema(t, np.cos(t), relative=0.1).refined
    assert extrema(t, np.cos(t), threshold=0.1, refine=True).refined
    table = extrema(t, np.cos(t)).to_frame()
    assert table.kind.tolist() == ["minimum"]
    assert table.time[0] == pytest.approx(np.pi, abs=0.01)
    assert len(turns_of(t).to_frame()) == 0


def test_a_converged_loss_has_no_turns():
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 40.0, 2000)
    loss = np.exp(-2 * t) * (1 + 0.2 * rng.uniform(size=2000) * (t > 14)) + 1e-28 * rng.uniform(
        size=2000
    )
    assert len(extrema(t, loss)) == 0
    assert turns_of(loss).descents == 1
    assert len(extrema(t, loss, floor=0.0)) > 100


def test_a_relative_threshold_is_a_share_of_the_larger_value():
    values = np.array([100.0, 50.0, 50.24, 20.0, 20.11, 1.0])
    assert turns_of(values, relative=0.005).values.tolist() == [20.0, 20.11]
    assert turns_of(values, relative=0.005, threshold=0.2).values.tolist() == []
    assert turns_of(values, threshold=0.2).values.tolist() == [50.0, 50.24]
    for values in (np.array([10.0, 5.0, 9.0, 0.0]), np.array([-9.0, -5.0, -9.0, 1.0])):
        # From 5 to 9 is 4/9 of the larger.
        assert len(turns_of(values, relative=0.45)) == 0
        assert len(turns_of(values, relative=0.44)) > 0


def flow_loss(run: published.Published, power: int, until: float, step: float):
    steps = round(until / step)
    states = published.rk4(run.u0, run.signals(power), step, steps)
    return step * np.arange(steps + 1), published.probe_loss(states, run.means)


@pytest.mark.parametrize(
    ("power", "turns"),
    [
        (2, [(2.5344, 0.183454), (4.3507, 0.252828)]),
        (1, [(3.2518, 0.031715), (3.6171, 0.032439)]),
    ],
)
def test_the_central_example_turns_twice(power, turns):
    times, loss = flow_loss(published.CENTRAL, power, 6.0, 0.01)
    found = extrema(times, loss)
    assert found.kinds == ("minimum", "maximum")
    np.testing.assert_allclose(found.times, [t for t, _ in turns], atol=0.002)
    np.testing.assert_allclose(found.values, [v for _, v in turns], atol=1e-5)
    assert turns_of(loss).descents == 2


@pytest.mark.parametrize(
    ("power", "until", "turns"),
    [
        (2, 18, [(1.0604, 1.16562), (2.3454, 1.376923), (7.0905, 0.415061), (15.9298, 0.474602)]),
        (1, 10, [(1.7948, 0.8358), (2.3037, 0.85909), (5.1472, 0.279438), (7.6288, 0.321726)]),
    ],
)
def test_triple_descent(power, until, turns):
    times, loss = flow_loss(published.TRIPLE_CAPTION, power, until, 0.01)
    found = extrema(times, loss)
    assert found.kinds == ("minimum", "maximum") * 2
    np.testing.assert_allclose(found.times, [t for t, _ in turns], atol=0.003)
    np.testing.assert_allclose(found.values, [v for _, v in turns], atol=2e-5)
    assert turns_of(loss).descents == 3


@pytest.mark.parametrize(
    ("power", "until", "count", "values"),
    [
        (2, 28, 4, [1.363531, 1.478187, 1.215839, 1.313153, 0.37116, 0.453346]),
        (1, 10, 3, [0.512312, 0.636368, 0.21937, 0.252656]),
    ],
)
def test_quadruple_descent_needs_the_square(power, until, count, values):
    times, loss = flow_loss(published.QUAD_CODE, power, until, 0.01)
    assert turns_of(loss).descents == count
    np.testing.assert_allclose(extrema(times, loss).values, values, atol=5e-5)


def turned(curves: np.ndarray) -> float:
    """Return the share of curves that are given a turn at their own threshold."""
    return float(np.mean([len(turns_of(y, threshold=noise_threshold(y))) > 0 for y in curves]))


@pytest.mark.parametrize("records", [20, 100, 300])
def test_noise_on_a_flat_or_falling_curve_turns_no_more_often_than_stated(records):
    # At a rate of .05 the share of 200 curves exceeds .1 in one case of 1000.
    noise = np.random.default_rng(0).standard_normal((200, records))
    assert turned(noise) <= 0.1
    assert turned(np.linspace(6.0, 0.0, records) + noise) <= 0.1
    # A fifth of the threshold is far too little: the bound is no empty one.
    fifth = [len(turns_of(y, threshold=noise_threshold(y) / 5)) > 0 for y in noise]
    assert np.mean(fifth) > 0.5


def test_the_threshold_is_that_of_known_noise():
    rng = np.random.default_rng(0)
    for deviation in (0.01, 3.0):
        y = np.linspace(2.0, 0.0, 4000) ** 2 + deviation * rng.standard_normal(4000)
        # With many records the quantile is that of the normal law.
        expected = np.sqrt(2) * norm.isf(0.05 / (4000 * 3999)) * deviation
        # The estimate varies by 2.2 %.
        assert noise_threshold(y) == pytest.approx(expected, rel=0.08)
        assert noise_threshold(y, rate=0.5) < noise_threshold(y)


def test_outliers_hardly_raise_the_threshold():
    y = np.random.default_rng(0).standard_normal(1000)
    spoilt = y.copy()
    spoilt[::50] += 100.0
    # 3 in 50 second differences are lost, which moves their median by that share of its slope.
    assert noise_threshold(spoilt) == pytest.approx(noise_threshold(y), rel=0.15)


@pytest.mark.parametrize("unit", [1.0, 0.1, 1e-6])
def test_noise_is_not_read_off_rounded_or_constant_values(unit):
    rng = np.random.default_rng(0)
    rounded = unit * np.round(0.3 * rng.standard_normal(200))
    assert len(turns_of(rounded)) > 10 or unit < 1e-6
    halted = unit * np.concatenate([rng.standard_normal(60), np.zeros(140)])
    for y in (rounded, halted, halted + 5 * unit, unit * np.linspace(0.0, 1.0, 50)):
        with pytest.raises(
            InputError, match=r"at most half are equal; got .* of .* that are; pass"
        ):
            noise_threshold(y)
    # Finer rounding, and a curve that rests for less than half of the time, are read.
    fine = unit * np.round(3 * rng.standard_normal(200))
    expected = unit * 3 * np.sqrt(2) * 5.5
    assert noise_threshold(fine) == pytest.approx(expected, rel=0.4)
    assert noise_threshold(halted[:110]) > 0


def test_a_planted_bump_is_found_and_its_noise_is_not():
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 1.0, 400)
    # Falls by 1 on either side of a rise of 1.2 between t = .4 and t = .6; noise of .06, whose
    # threshold is .06 * sqrt 2 * t-quantile = .43.
    curve = np.interp(t, [0.0, 0.4, 0.6, 1.0], [1.0, 0.0, 1.2, 0.2])
    for _ in range(50):
        y = curve + 0.06 * rng.standard_normal(400)
        found = extrema(t, y, threshold=noise_threshold(y))
        assert found.kinds == ("minimum", "maximum")
        np.testing.assert_allclose(found.times, [0.4, 0.6], atol=0.06)
        assert turns_of(y, threshold=noise_threshold(y)).descents == 2
        assert len(extrema(t, y)) > 100


def test_refusals_say_rule_got_and_remedy():
    y = np.arange(4.0)
    cases = [
        (lambda: extrema(y[::-1], y), "times increase from record to record; got 3 before 2; sort"),
        (lambda: extrema(np.zeros(4), y), "times increase from record to record; got 0 before 0;"),
        (
            lambda: extrema(y[:3], y),
            "times and values have equal length along T; got 3 and 4; pass both",
        ),
        (
            lambda: turns_of(np.array([0.0, np.nan, np.inf])),
            "got 1 that is NaN, at 1; drop or fill",
        ),
        (lambda: extrema(np.array([0, 1, 2, np.nan]), y), "times is an array of finite numbers"),
        (lambda: turns_of(np.array([])), r"is not empty; got shape \(0,\); pass at least one"),
        (lambda: turns_of(y, threshold=-1), "threshold is a finite number of at least 0; got -1"),
        (lambda: turns_of(y, floor=-1), "floor is a finite number of at least 0; got -1; pass"),
        (
            lambda: turns_of(y, relative=1).descents,
            "relative is a finite number of at least 0 and below 1; got 1;",
        ),
        (lambda: noise_threshold(y), "noise is read off at least 8 records; got 4; record more"),
        (lambda: noise_threshold(np.arange(9.0), rate=1), "above 0 and below 1; got 1; pass a"),
    ]
    for refused, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            refused()
