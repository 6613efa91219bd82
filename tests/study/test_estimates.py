"""Intervals have the confidence that they claim, and respect what a number can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from partwhole._checks import InputError
from partwhole.study import Estimate, geometric_mean, mean, proportion
from partwhole.study.estimates import median

RUNS = 1000
# Of 1,000 trials at 95 %: three standard deviations, 3 sqrt(.05 * .95 / 1000).
LEAST = 0.95 - 0.0207


def coverage(estimates, truth: float) -> float:
    return float(np.mean([e.low <= truth <= e.high for e in estimates]))


def test_the_interval_of_a_mean_is_students():
    samples = np.random.default_rng(0).standard_normal(7)
    estimate = mean(samples)
    expected = stats.ttest_1samp(samples, 0).confidence_interval()
    np.testing.assert_allclose(estimate.interval, expected, rtol=1e-12)
    assert (estimate.value, estimate.n) == (samples.mean(), 7)


@pytest.mark.parametrize("n", [5, 20])
def test_intervals_cover_the_truth(n):
    rng = np.random.default_rng(1)
    normal = rng.standard_normal((RUNS, n))
    assert coverage([mean(row) for row in normal], 0) > LEAST
    assert coverage([geometric_mean(np.exp(row)) for row in normal], 1) > LEAST


def test_intervals_of_shares_and_medians_cover_the_truth():
    rng = np.random.default_rng(1)
    shares = [proportion(k, 20) for k in range(21)]
    assert coverage([shares[k] for k in rng.binomial(20, 0.4, RUNS)], 0.4) > 0.93
    skewed = rng.exponential(size=(RUNS, 12))
    assert coverage([median(row) for row in skewed], np.log(2)) > LEAST


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_no_interval_leaves_the_bounds(samples):
    estimate = mean(np.array(samples), within=(0, 1))
    assert 0 <= estimate.low <= estimate.value + 1e-12
    assert estimate.value - 1e-12 <= estimate.high <= 1
    free = mean(np.array(samples))
    assert estimate.low == max(free.low, 0)
    assert estimate.high == min(free.high, 1)


def test_unknown_samples_do_not_count():
    assert mean(np.array([1.0, np.nan, 3.0])).n == 2
    assert mean(np.array([2.0])).interval is None
    assert np.isnan(mean(np.array([])).value)
    assert median(np.arange(5.0)).interval is None
    assert proportion(0, 0).interval is None


def test_a_share_of_all_is_not_certain():
    assert proportion(5, 5).low == pytest.approx(5 / (5 + stats.norm.ppf(0.975) ** 2))


def test_a_geometric_mean_needs_positive_samples():
    with pytest.raises(InputError, match=r"above 0; got 0.0; use `mean`"):
        geometric_mean(np.array([1.0, 0.0]))


def test_samples_beyond_their_bounds_are_refused():
    with pytest.raises(InputError, match=r"within 0 and 1; got 0.5..1.5; widen `within`"):
        mean(np.array([0.5, 1.5]), within=(0, 1))
    assert mean(np.array([0, 1, 1])).value == pytest.approx(2 / 3)


def test_an_estimate_without_ends_has_no_interval():
    assert Estimate(1.0, np.nan, np.nan, 1).interval is None
