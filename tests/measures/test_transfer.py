"""Negative transfer: paired logarithms, Wilson's interval, and which seeds count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from partwhole._checks import InputError
from partwhole.measures.transfer import negative_transfer

LOSSES = st.lists(
    st.tuples(st.floats(1e-9, 1e3), st.floats(1e-9, 1e3)), min_size=3, max_size=9
).map(lambda pairs: np.array(pairs).T)


def wilson(k, n, z):
    """Return Wilson's interval from its formula."""
    centre = (k + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * np.sqrt(k * (n - k) / n + z**2 / 4)
    return centre - half, centre + half


@given(LOSSES, st.sampled_from([0.95, 0.8]))
def test_paired_logarithms(losses, confidence):
    loss, single = losses
    before = losses.copy()
    found = negative_transfer(loss, single, confidence=confidence)
    logs = np.log(loss / single)
    # Rounding of the mean, and of two logarithms up to 20.
    close = {"rel": 1e-9}
    assert found.ratio == pytest.approx(stats.gmean(loss) / stats.gmean(single), **close)
    if np.ptp(logs) > 1e-6:
        interval = stats.ttest_1samp(logs, 0.0).confidence_interval(confidence)
        assert (found.low, found.high) == pytest.approx(
            (np.exp(interval.low), np.exp(interval.high)), **close
        )
    k, n = int(np.sum(loss > single)), len(loss)
    assert (found.share, found.n, found.confidence) == (k / n, n, confidence)
    low, high = wilson(k, n, stats.norm.ppf(0.5 + confidence / 2))
    assert (found.share_low, found.share_high) == pytest.approx((low, high), abs=1e-12)
    np.testing.assert_array_equal(losses, before)


@given(LOSSES, st.floats(1e-3, 1e3), st.randoms(use_true_random=False))
def test_invariances(losses, scale, random):
    loss, single = losses
    found = negative_transfer(loss, single)
    swapped = negative_transfer(single, loss)
    order = list(range(len(loss)))
    random.shuffle(order)
    close = {"rel": 1e-9}
    assert found.low <= found.ratio <= found.high
    assert (1 / swapped.ratio, 1 / swapped.high, 1 / swapped.low) == pytest.approx(
        (found.ratio, found.low, found.high), **close
    )
    for other in (
        negative_transfer(scale * loss, scale * single),
        negative_transfer(loss[order], single[order]),
    ):
        assert (other.ratio, other.low, other.high) == pytest.approx(
            (found.ratio, found.low, found.high), **close
        )
    assert negative_transfer(scale * loss, single).ratio == pytest.approx(
        scale * found.ratio, **close
    )


def test_pairing_narrows_the_interval():
    rng = np.random.default_rng(0)
    draw = np.exp(rng.standard_normal(6))
    loss, single = 1.5 * draw * np.exp(0.01 * rng.standard_normal(6)), draw
    paired, shuffled = (negative_transfer(each, single) for each in (loss, np.roll(loss, 1)))
    assert paired.low > 1.4
    assert paired.high < 1.6
    assert shuffled.low < 1 < shuffled.high
    assert shuffled.ratio == pytest.approx(paired.ratio, rel=1e-12)


def test_equal_losses_are_no_negative_transfer():
    found = negative_transfer(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    assert (found.ratio, found.low, found.high, found.share) == (1.0, 1.0, 1.0, 0.0)
    assert found.share_low == 0.0
    assert found.share_high == pytest.approx(wilson(0, 2, stats.norm.ppf(0.975))[1], rel=1e-12)
    table = found.to_frame()
    assert table.shape == (1, 8)
    assert table.share_high[0] == found.share_high


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(1)
    truth = 1.3
    hits = []
    for _ in range(1000):
        single = np.exp(rng.standard_normal(6))
        found = negative_transfer(truth * single * np.exp(0.5 * rng.standard_normal(6)), single)
        hits.append(found.low <= truth <= found.high)
    # Five standard errors of a share of .95 in 1000.
    assert abs(np.mean(hits) - 0.95) < 5 * np.sqrt(0.95 * 0.05 / 1000)


@pytest.mark.parametrize(
    ("loss", "single", "sentence"),
    [
        ([1.0], [1.0], "an interval needs at least 2 seeds; got 1; run more seeds"),
        (
            [1.0, 0.0],
            [1.0, -1.0],
            "losses are above 0; got 2 that are not; add the smallest loss that is "
            "distinguishable from 0 to all of them",
        ),
    ],
)
def test_errors_say_rule_got_remedy(loss, single, sentence):
    with pytest.raises(InputError) as caught:
        negative_transfer(np.array(loss), np.array(single))
    assert str(caught.value) == sentence


def test_errors_of_pairs_and_levels():
    sentence = "loss and single_task_loss have equal length along n; got 3 and 2; pass both"
    with pytest.raises(InputError, match=sentence):
        negative_transfer(np.ones(3), np.ones(2))
    for wrong in (0.0, 1.0, 95):
        with pytest.raises(InputError, match=f"confidence .* above 0 and below 1; got {wrong}; p"):
            negative_transfer(np.ones(3), np.ones(3), confidence=wrong)


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (["a", "b"], "text; convert the text to numbers first"),
        ([1.0, np.inf], "1 that is infinite, at 1; drop or limit infinite numbers first"),
    ],
)
def test_losses_are_numbers(given, got):
    with pytest.raises(InputError) as caught:
        negative_transfer(given, [1.0, 1.0])
    assert str(caught.value) == f"loss is an array of finite numbers of shape (n,); got {got}"
