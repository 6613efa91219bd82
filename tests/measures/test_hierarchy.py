"""Violations of the order among combinations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.measures.hierarchy import order_violations
from partwhole.tasks.structured_identity import StructuredIdentity

TASK = StructuredIdentity(means=[1, 2, 3, 4], scales=[0.5] * 4, scales_are="variances")
CUBE = TASK.combinations()


def loss(outputs):
    return 0.5 * ((outputs - CUBE.points) ** 2).sum(axis=-1)


def test_a_diagonal_map_has_no_violations():
    # One layer from zero: coordinate p answers (1 - exp(-a_p t)) of its mean, at any time.
    times = np.linspace(0, 3, 20)[:, None, None]
    losses = loss((1 - np.exp(-TASK.signals * times)) * CUBE.points)
    found = order_violations(losses, CUBE.pairs)
    np.testing.assert_array_equal(found.count, np.zeros(20))
    np.testing.assert_array_equal(found.rate, np.zeros(20))


def test_the_constant_answer_violates_every_pair():
    found = order_violations(loss(np.tile(TASK.probe, (16, 1))), CUBE.pairs)
    assert (found.count, found.rate) == (65, 1.0)
    # 15 pairs have the origin below.
    without = found.without_origin
    assert (without.count, without.rate) == (50, 1.0)
    assert not (without.pairs == 0).any()


def test_a_bias_violates_at_the_origin_alone():
    # The identity but for an offset that the origin alone shows.
    losses = np.append(0.5, np.zeros(15))
    found = order_violations(losses, CUBE.pairs)
    assert (found.count, found.without_origin.count) == (15, 0)
    assert found.rate == 15 / 65
    assert found.without_origin.rate == 0.0
    assert set(CUBE.pairs[found.violated, 0]) == {0}


@given(
    st.lists(st.integers(0, 9), min_size=8, max_size=8),
    st.integers(0, 3),
    st.permutations(range(8)),
)
def test_against_the_claim_spelt_out(losses, tolerance, order):
    cube = StructuredIdentity([1, 2, 3], [0.1] * 3).combinations()
    expected, at_origin = set(), 0
    for u in range(8):
        for v in range(8):
            below = all(a <= b for a, b in zip(cube.binary[u], cube.binary[v], strict=True))
            if below and losses[u] - losses[v] > tolerance:
                expected.add((u, v))
                at_origin += u == 0
    array = np.array(losses, dtype=float)
    before, pairs_before = array.copy(), cube.pairs.copy()
    found = order_violations(array, cube.pairs, tolerance=tolerance)
    assert {(u, v) for u, v in cube.pairs[found.violated].tolist()} == expected
    assert found.count == len(expected)
    assert found.rate == pytest.approx(len(expected) / 19)
    assert found.without_origin.count == len(expected) - at_origin
    assert found.without_origin.rate == pytest.approx((len(expected) - at_origin) / 12)
    np.testing.assert_array_equal(array, before)
    np.testing.assert_array_equal(cube.pairs, pairs_before)
    # The combinations listed in another order give the same numbers.
    place = np.argsort(order)
    moved = order_violations(
        array[list(order)], place[cube.pairs], tolerance=tolerance, origin=int(place[0])
    )
    assert moved.count == found.count
    assert moved.without_origin.count == found.without_origin.count


def test_leading_axes_are_kept():
    losses = np.random.default_rng(0).random((5, 3, 16))
    found = order_violations(losses, CUBE.pairs, tolerance=0.1)
    assert found.violated.shape == (5, 3, 65)
    single = [[order_violations(row, CUBE.pairs, tolerance=0.1) for row in rows] for rows in losses]
    np.testing.assert_array_equal(found.count, [[one.count for one in row] for row in single])
    np.testing.assert_array_equal(
        found.without_origin.rate, [[one.without_origin.rate for one in row] for row in single]
    )


def test_the_table_names_the_worst_first():
    cube = StructuredIdentity([1, 2], [0.1, 0.1]).combinations()
    found = order_violations(np.array([0.3, 0.1, 0.25, 0.2]), cube.pairs)
    table = found.to_frame()
    assert list(zip(table.lower, table.upper, strict=True)) == [(0, 1), (0, 3), (0, 2), (2, 3)]
    np.testing.assert_allclose(table.excess, [0.2, 0.1, 0.05, 0.05])
    with pytest.raises(InputError, match=r"holds the pairs of one list of losses; got leading a"):
        order_violations(np.ones((2, 4)), cube.pairs).to_frame()


def test_without_pairs_there_is_no_rate():
    found = order_violations(np.array([1.0, 0.5]), np.array([[0, 1]]))
    assert (found.count, found.rate) == (1, 1.0)
    assert found.without_origin.count == 0
    assert np.isnan(found.without_origin.rate)


@pytest.mark.parametrize(
    ("losses", "pairs", "options", "sentence"),
    [
        (
            np.array([1.0, np.nan]), [[0, 1]], {},
            "losses is an array of finite numbers of shape (..., n); got 1 that is NaN, at 1; "
            "drop or fill missing numbers first",
        ),
        (
            np.ones((4, 3)), [[0, 3]], {},
            "pairs are among the combinations on the last axis of the losses; got indices 0..3 "
            "for 3 losses; put time first and combinations last",
        ),
        (
            np.ones(4), [[-1, 1]], {},
            "pairs are among the combinations on the last axis of the losses; got indices -1..1 "
            "for 4 losses; put time first and combinations last",
        ),
        (
            np.ones(4), [[2, 2]], {},
            "pairs are of two different combinations; got one paired with itself; leave it out",
        ),
        (
            np.ones(4), [[0, 1]], {"origin": 4},
            "the origin is one of the combinations; got 4 for 4 losses; pass its index, 0 in a "
            "task's list",
        ),
        (
            np.ones(4), [[0, 1]], {"origin": 0.5},
            "origin is a whole number; got 0.5; pass one whole number, or leave it out for 0",
        ),
        (
            np.ones(4), [[0, 1]], {"tolerance": -0.1},
            "tolerance is a finite number of at least 0; got -0.1; pass a number of at least 0, or "
            "leave it out for 0",
        ),
    ],
)  # fmt: skip
def test_errors_say_rule_got_remedy(losses, pairs, options, sentence):
    with pytest.raises(InputError) as caught:
        order_violations(losses, np.array(pairs), **options)
    assert str(caught.value) == sentence
