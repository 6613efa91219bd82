"""Intervals over runs, against SciPy's and by leaving runs out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from partwhole import measures, tasks
from partwhole._checks import InputError
from partwhole.measures.runs import over_runs
from partwhole.measures.slope import item_values


def numbers(found):
    return np.stack([np.asarray(each) for each in (found.mean, found.low, found.high)])


@given(
    st.integers(2, 9), st.lists(st.integers(1, 4), max_size=2), st.floats(0.5, 0.99),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_intervals_are_those_of_a_t_test(runs, shape, confidence, seed):
    values = 3.0 + np.random.default_rng(seed).normal(size=(runs, *shape))
    found = over_runs(values, confidence=confidence)
    test = stats.ttest_1samp(values, 0.0).confidence_interval(confidence)
    np.testing.assert_allclose(found.mean, values.sum(axis=0) / runs, rtol=1e-12)
    np.testing.assert_allclose(found.low, test.low, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.high, test.high, rtol=1e-9, atol=1e-12)
    assert (found.n, found.n_dropped, found.confidence) == (runs, 0, confidence)
    assert np.shape(found.mean) == np.shape(found.low) == tuple(shape)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_runs_that_are_nan_are_left_out_and_counted(shape):
    values = np.random.default_rng(0).normal(size=(6, *shape))
    values[[1, 4]] = np.nan
    given_values = values.copy()
    found, without = over_runs(values), over_runs(values[[0, 2, 3, 5]])
    np.testing.assert_array_equal(numbers(found), numbers(without))
    assert (found.n, found.n_dropped) == (4, 2)
    assert (without.n, without.n_dropped) == (4, 0)
    np.testing.assert_array_equal(values, given_values)
    np.testing.assert_allclose(numbers(over_runs(values[::-1])), numbers(found), rtol=1e-12)


def test_one_run_has_a_mean_and_no_interval():
    found = over_runs(np.array([[1.0, 2.0], [np.nan, np.nan]]))
    assert found.mean.tolist() == [1.0, 2.0]
    assert np.isnan([found.low, found.high]).all()
    assert (found.n, found.n_dropped) == (1, 1)
    alone = over_runs(np.array([0.5]))
    assert alone.mean == 0.5
    assert np.isnan([alone.low, alone.high]).all()


def test_no_run_that_counts_has_nothing():
    found = over_runs(np.full((3, 2), np.nan))
    assert np.isnan(numbers(found)).all()
    assert (found.n, found.n_dropped) == (0, 3)
    assert np.isnan(over_runs(np.array([np.nan])).mean)


def test_anchors_stay_unknown_beside_items():
    # Runs of slopes m and items m v: Student's interval of m, times v.
    task = tasks.symbolic_addition(range(-2, 3), [0])
    slopes = np.array([0.4, 0.7, 0.55])
    answers = [m * task.targets for m in slopes]
    found = over_runs(np.stack([item_values(task, f)[0] for f in answers]))
    one = over_runs(np.array([measures.slope(task, f).value for f in answers]))
    assert found.n_dropped == 0
    values = np.array([-2.0, -1.0, np.nan, 1.0, 2.0])
    np.testing.assert_allclose(found.mean, one.mean * values, atol=1e-12)
    reach = 0.5 * (one.high - one.low)
    np.testing.assert_allclose(found.high - found.mean, reach * np.abs(values), atol=1e-12)


def test_runs_without_spread_have_an_interval_of_no_width():
    found = over_runs(np.full((4, 2), 0.25))
    np.testing.assert_array_equal(numbers(found), 0.25)


def test_frame_has_a_row_for_each_number():
    values = np.random.default_rng(1).normal(size=(5, 2, 3))
    values[2] = np.nan
    found = over_runs(values)
    frame = found.to_frame()
    assert frame.columns.tolist() == ["axis 1", "axis 2", "mean", "low", "high", "n", "n_dropped"]
    assert len(frame) == 6
    for _, row in frame.iterrows():
        assert row["low"] == found.low[int(row["axis 1"]), int(row["axis 2"])]
    assert set(frame["n"]) == {4}
    assert over_runs(np.array([1.0, 2.0])).to_frame()["mean"].tolist() == [1.5]


def test_errors_say_rule_got_remedy():
    with pytest.raises(InputError) as caught:
        over_runs(np.array(1.0))
    assert str(caught.value) == (
        "values is an array of numbers of shape (runs, ...); got shape (); pass shape (runs, ...)"
    )
    with pytest.raises(InputError, match=r"not empty; got shape \(0, 2\); pass at"):
        over_runs(np.zeros((0, 2)))
    with pytest.raises(InputError) as caught:
        over_runs(np.array([[1.0, np.nan], [1.0, 2.0], [np.nan, np.nan]]))
    assert str(caught.value) == (
        "every run that counts has the same numbers; got 1 of 2 that are NaN in some of 2 runs; "
        "set a run to NaN throughout to leave it out, or leave those numbers out"
    )
    with pytest.raises(InputError) as caught:
        over_runs(np.array([1.0, np.inf]))
    assert str(caught.value) == (
        "values are finite, or NaN in runs that do not count; got 1 infinite; set those runs to NaN"
    )
    for confidence in (0.0, 1.0):
        with pytest.raises(InputError, match=r"confidence is .* above 0 and below 1; got .*; pass"):
            over_runs(np.array([1.0, 2.0]), confidence=confidence)
