"""Clocks from pivots against integrated half times and the recorded facts."""

from __future__ import annotations

import numpy as np
import pytest
from dynamics_oracles import (
    CENTRAL,
    FAIL,
    QUAD_CODE,
    TRIPLE_CODE,
    crossing,
    two_concepts,
    two_signals,
)
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.flows import Tied, flow, learning_clocks
from partwhole.flows.clocks import cholesky, cholesky_pivots

TWO = np.diag(two_signals(3, 1))


def half_time(w0: np.ndarray, a: np.ndarray, concept: int, until: float) -> float:
    times = np.linspace(0, until, 3201)
    return crossing(times, flow(Tied(w0, a), times).states[:, concept, concept])


def test_the_weak_clock_is_read_from_the_pivot_and_not_from_the_entry():
    w0 = two_concepts(0.01, 0.5)
    clocks = learning_clocks(w0, TWO)
    assert clocks.order.tolist() == [0, 1]
    np.testing.assert_allclose(clocks.pivots, [0.01, 0.0075], rtol=1e-12)
    schur = np.log(1 / clocks.pivots[1]) / (2 * 0.5025)
    naive = np.log(99) / (2 * 0.5025)
    assert schur == pytest.approx(4.8685, abs=1e-4)
    assert naive == pytest.approx(4.5723, abs=1e-4)
    measured = half_time(w0, TWO, 1, 10.0)
    assert measured == pytest.approx(4.8515, abs=0.002)
    assert abs(measured - clocks.times[1]) < abs(measured - naive)
    # ln(1/p - 1) in the place of ln(1/p) is earlier by p to first order.
    assert clocks.times[1] == pytest.approx(schur, abs=1.01 * 0.0075 / (2 * 0.5025))


def test_clocks_at_a_small_start():
    w0 = two_concepts(1e-3, 0.5)
    clocks = learning_clocks(w0, TWO)
    assert clocks.times[0] == pytest.approx(0.7669911, abs=1e-6)
    formula = np.log(1 / clocks.pivots[1]) / (2 * clocks.signals[1])
    assert formula == pytest.approx(7.1596393, abs=1e-6)
    assert half_time(w0, TWO, 0, 10.0) == pytest.approx(0.7672, abs=0.005)
    measured = half_time(w0, TWO, 1, 10.0)
    assert measured == pytest.approx(7.1574, abs=0.005)
    assert clocks.times[1] == pytest.approx(measured, rel=0.01)


def test_the_clock_of_correlated_rows():
    clocks = learning_clocks(two_concepts(1e-3, 0.9), np.diag(two_signals(2, 1)))
    formula = np.log(1 / clocks.pivots[1]) / (2 * clocks.signals[1])
    assert formula == pytest.approx(8.5259, abs=1e-4)


# Pivots, and half times with the square of A and with A, of the published initial matrices.
PIVOTS = {
    "triple": (TRIPLE_CODE, (0.0231683, 0.00300018, 0.000353620)),
    "quadruple": (QUAD_CODE, (0.00404622, 0.00604475, 0.00452926, 0.000936905)),
    "central": (CENTRAL, (0.0103991, 0.0206309)),
}
HALF_TIMES = {
    "triple": {2: (0.6244, 2.7490, 11.5973), 1: (1.1159, 2.8515, 6.7031)},
    "quadruple": {2: (0.8891, 1.6597, 8.3508, 54.4763), 1: (1.7573, 1.8613, 4.7527, 13.6300)},
    "central": {2: (1.8857, 7.3199), 1: (2.2467, 3.5140)},
}


@pytest.mark.parametrize("name", PIVOTS)
def test_recorded_pivots(name):
    run, told = PIVOTS[name]
    found = learning_clocks(run.w0, np.diag(run.a))
    # The recorded ones hold to five digits; exact rational arithmetic gives 3.5362473e-4.
    np.testing.assert_allclose(found.pivots[: len(told)], told, rtol=2e-5)
    np.testing.assert_array_equal(found.signals, np.sort(run.a)[::-1])


PREDICTED = {
    ("triple", 2): (0.6147, 2.7601, 11.678),
    ("triple", 1): (1.0757, 2.8314, 6.8119),
    ("quadruple", 2): (0.8272, 1.7374, 8.4536, 54.684),
    ("central", 2): (1.7959, 7.6849),
}


@pytest.mark.parametrize(("name", "power"), PREDICTED)
def test_published_examples_are_within_the_told_eight_per_cent(name, power):
    run, _ = PIVOTS[name]
    found = learning_clocks(run.w0, np.diag(run.a), power=power)
    told = PREDICTED[name, power]
    plain = np.log(1 / found.pivots) / (2 * found.signals)
    np.testing.assert_allclose(plain[: len(told)], told, rtol=1e-4)
    measured = HALF_TIMES[name][power]
    np.testing.assert_allclose(found.times[: len(told)], measured, rtol=0.08)


def test_the_clock_of_the_published_failure():
    clocks = learning_clocks(FAIL.w0, np.diag(FAIL.a), power=2)
    assert clocks.order.tolist() == [2, 1, 0]
    assert clocks.pivots[2] == pytest.approx(3.5362e-4, rel=1e-4)
    formula = np.log(1 / clocks.pivots[2]) / (2 * clocks.signals[2])
    assert formula == pytest.approx(144.492, abs=0.002)


@given(st.integers(0, 2**32 - 1))
def test_diagonal_starts_are_exact(seed):
    rng = np.random.default_rng(seed)
    size, a = rng.uniform(1e-4, 0.4, size=3), rng.uniform(0.5, 3.0, size=3)
    clocks = learning_clocks(np.diag(size), np.diag(a))
    # The logistic curve of w' = 2 a w (1 - w) is 1/2 at its clock.
    start, pace = size[clocks.order], 2 * clocks.signals * clocks.times
    np.testing.assert_allclose(1 / (1 + (1 / start - 1) * np.exp(-pace)), 0.5, rtol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_concepts_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    u, a = rng.uniform(0, 0.2, size=(4, 4)), rng.uniform(0.5, 3.0, size=4)
    order = rng.permutation(4)
    one = learning_clocks(u @ u.T, np.diag(a))
    other = learning_clocks(u[order] @ u[order].T, np.diag(a[order]))
    np.testing.assert_array_equal(order[other.order], one.order)
    np.testing.assert_allclose(other.times, one.times, rtol=1e-8)


def test_true_gradient_flow_is_exactly_twice_as_fast():
    w0, a = TRIPLE_CODE.w0, np.diag(TRIPLE_CODE.a)
    paper = learning_clocks(w0, a).times
    np.testing.assert_array_equal(paper / learning_clocks(w0, a, clock="gradient").times, 2.0)


def test_pivots_agree_with_linear_algebra():
    w, a = QUAD_CODE.w0, np.diag(QUAD_CODE.a[::-1])
    np.testing.assert_allclose(cholesky(w), np.linalg.cholesky(w), rtol=1e-9)
    last = learning_clocks(w, a).pivots[-1]
    assert last == pytest.approx(1 / np.linalg.inv(w)[-1, -1], rel=1e-9)


def test_a_concept_without_rank_is_never_learned_and_one_without_signal_is_left_out():
    clocks = learning_clocks(0.01 * np.ones((2, 2)), TWO)
    assert clocks.pivots[1] == 0
    assert np.isinf(clocks.times[1])
    assert cholesky_pivots(np.zeros((2, 2))).tolist() == [0, 0]
    silent = learning_clocks(two_concepts(0.01, 0.5), np.diag([0.0, 2.0]))
    assert silent.order.tolist() == [1]


def test_a_concept_that_starts_learned_has_clock_zero():
    assert learning_clocks(0.7 * np.eye(2), TWO).times.tolist() == [0, 0]


def test_the_table_is_in_the_order_of_learning():
    # The quadruple's second clock lies before its first: the pivots outweigh the signals.
    w0 = np.diag([1e-6, 0.2])
    table = learning_clocks(w0, np.diag([1.2, 1.0])).to_frame()
    assert table["concept"].tolist() == [1, 0]
    assert table["time"].is_monotonic_increasing


def test_refusals():
    w0 = two_concepts(0.01, 0.5)
    with pytest.raises(InputError, match=r'clock is "paper" or "gradient"; got .steps.; choose'):
        learning_clocks(w0, TWO, clock="steps")
    with pytest.raises(InputError, match=r"concepts are read off a diagonal second moment"):
        learning_clocks(w0, np.array([[2.0, 0.5], [0.5, 1.0]]))
    with pytest.raises(InputError, match=r"power is 1 or 2; got 3; choose one of them"):
        learning_clocks(w0, TWO, power=3)


def test_a_weaker_concept_that_begins_far_ahead_is_first():
    # Diagonal: exact, whatever the order. Its flow is logistic, entry by entry.
    told = learning_clocks(np.diag([1e-9, 1e-2]), np.diag([1.0, 0.5]))
    assert told.order.tolist() == [1, 0]
    np.testing.assert_allclose(told.times, [np.log(99) / 1.0, np.log(1e9 - 1) / 2.0])


def test_a_start_of_hugely_different_entries_keeps_its_small_ones():
    # Exact for a diagonal start; the smallest entry is far below the rounding of the largest.
    told = learning_clocks(np.diag([1e-2, 1e-10, 1e-14]), np.diag([3.0, 2.0, 1.0]))
    np.testing.assert_allclose(told.pivots, [1e-2, 1e-10, 1e-14])


def test_clocks_in_the_concepts_own_order():
    told = learning_clocks(np.diag([1e-9, 0.0, 1e-2]), np.diag([1.0, 0.0, 0.5]))
    assert told.order.tolist() == [2, 0]
    np.testing.assert_array_equal(told.by_concept(), [told.times[1], np.inf, told.times[0]])
