"""Agreement beyond chance, against sums over inputs and resamples of them."""

from inspect import unwrap

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.measures import accuracy
from partwhole.measures.agreement import decision_agreement, inconsistency

RNG = np.random.default_rng(0)
LABELS = np.sign(RNG.normal(size=300))
NETWORK = LABELS + 0.9 * RNG.normal(size=300)
LIMIT = NETWORK + 0.5 * RNG.normal(size=300)
LINEAR = LABELS + 1.2 * RNG.normal(size=300)


def test_numbers_are_counts():
    told = decision_agreement(NETWORK, LIMIT, LABELS, linear=LINEAR)
    p, q = (np.mean(np.sign(each) != LABELS) for each in (NETWORK, LIMIT))
    apart = np.mean(np.sign(NETWORK) != np.sign(LIMIT))
    assert told.error == pytest.approx(p)
    assert told.other_error == pytest.approx(q)
    assert told.inconsistency == pytest.approx(apart)
    assert inconsistency(NETWORK, LIMIT) == pytest.approx(apart)
    assert told.by_chance == pytest.approx(p * (1 - q) + q * (1 - p))
    assert told.agreement == pytest.approx(1 - apart / told.by_chance)
    assert told.above_linear == pytest.approx(told.agreement - told.linear_agreement)
    assert 1 - told.error == pytest.approx(accuracy(LABELS, NETWORK).value)
    table = told.to_frame()
    assert table["of"].tolist() == ["limit", "linear"]
    assert table["agreement"].tolist() == [told.agreement, told.linear_agreement]


def test_intervals_are_those_of_resampled_inputs():
    """2,000 resamples place an end of an interval to some 3 % of its length."""
    told = decision_agreement(NETWORK, LIMIT, LABELS, linear=LINEAR)
    rng, found = np.random.default_rng(1), []
    for _ in range(2000):
        rows = rng.integers(0, 300, 300)
        a, b, y = np.sign(NETWORK[rows]), np.sign(LIMIT[rows]), LABELS[rows]
        p, q = np.mean(a != y), np.mean(b != y)
        found.append(1 - np.mean(a != b) / (p * (1 - q) + q * (1 - p)))
    low, high = np.quantile(found, (0.025, 0.975))
    width = high - low
    np.testing.assert_allclose(told.agreement_interval, (low, high), atol=0.1 * width)
    assert told.agreement_interval[0] < told.agreement < told.agreement_interval[1]


def test_independent_errors_agree_by_chance_and_copies_wholly():
    rng = np.random.default_rng(3)
    labels = np.sign(rng.normal(size=100_000))
    one, other = (labels * np.where(rng.random(100_000) < p, -1.0, 1.0) for p in (0.1, 0.2))
    told = decision_agreement(one, other, labels, linear=one)
    # The standard error of a share .26 of 100,000 is .0014, of A four times that.
    assert abs(told.agreement) < 0.02
    assert told.linear_agreement == 1.0
    low, high = told.agreement_interval
    assert low < 0.0 < high


def test_ties_count_half():
    labels = np.array([1.0, 1.0, -1.0, -1.0])
    network, limit = np.array([1.0, 1.0, -1.0, 1.0]), np.array([1.0, 0.0, -1.0, -1.0])
    told = decision_agreement(network, limit, labels, linear=limit)
    assert told.error == 0.25
    assert told.other_error == 0.125
    assert told.inconsistency == 0.375
    assert told.other_ties == 0.25
    assert "Ties, half right: 0.0000 (network) and 0.2500 (limit)." in told.describe()
    assert inconsistency(np.zeros(3), np.zeros(3)) == 0.5


def test_without_errors_there_is_nothing_to_agree_on():
    told = decision_agreement(LABELS, LABELS, LABELS, linear=LABELS)
    assert np.isnan(told.agreement)
    assert all(np.isnan(told.agreement_interval))
    assert told.inconsistency == 0.0


def test_signs_are_what_counts():
    one = decision_agreement(NETWORK, LIMIT, LABELS, linear=LINEAR)
    other = decision_agreement(5 * NETWORK, LIMIT / 3, LABELS, linear=LINEAR)
    turned = decision_agreement(-NETWORK, -LIMIT, -LABELS, linear=-LINEAR)
    assert one == other == turned


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: decision_agreement(NETWORK, LIMIT, 0 * LABELS, linear=LINEAR),
            "labels are -1 and +1, one for each of some inputs; got 300 in 0..0; recode labels 0 "
            "and 1 as 2 y - 1",
        ),
        (
            lambda: unwrap(decision_agreement)(NETWORK[:9], LIMIT, LABELS, linear=LINEAR),
            "network are one number for each input; got shape (9,) for 300 inputs; pass the "
            "learners' answers to the same inputs",
        ),
        (
            lambda: decision_agreement(NETWORK, np.nan * LIMIT, LABELS, linear=LINEAR),
            "limit is an array of numbers of shape (n,); got 300 that are NaN, the first at 0",
        ),
        (
            lambda: decision_agreement(NETWORK, LIMIT, LABELS, linear=LINEAR, resamples=10),
            "resamples is a whole number of at least 100; got 10; pass a whole number of",
        ),
        (
            lambda: decision_agreement(NETWORK, LIMIT, LABELS, linear=LINEAR, seed=-1),
            "seed is a whole number of at least 0; got -1; pass a whole number of at least 0",
        ),
        (
            lambda: unwrap(inconsistency)(np.ones(2), np.ones(3)),
            "outputs are one number for each input; got shape (3,) for 2 inputs",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value).startswith(sentence)
