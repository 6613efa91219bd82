"""The exactly solved cousin against its integration, the printed inverse and the tied flow."""

from __future__ import annotations

from inspect import unwrap

import numpy as np
import pytest
from dynamics_oracles import crossing, extrema, probe_loss, two_concepts, two_signals
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from partwhole._checks import InputError
from partwhole.flows import Tied, flow
from partwhole.flows.field import tied_field
from partwhole.flows.one_sided import OneSided, one_sided_field

SIGNALS = np.diag(two_signals(3, 1))
SHORT = np.linspace(0.0, 4.0, 21)


def drawn(seed, rank=3):
    rng = np.random.default_rng(seed)
    u, x = rng.normal(size=(3, rank)) * 0.3, rng.normal(size=(4, 3))
    return u, x.T @ x / 4


def integrated(u, a, step, steps):
    """Integrate one factor, the other held, by the classical method; return W."""

    def slope(u):
        return (np.eye(3) - u @ u.T) @ a @ u

    found = [u @ u.T]
    for _ in range(steps):
        k1 = slope(u)
        k2 = slope(u + 0.5 * step * k1)
        k3 = slope(u + 0.5 * step * k2)
        k4 = slope(u + step * k3)
        u = u + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        found.append(u @ u.T)
    return np.array(found)


def test_recorded_state():
    path = flow(OneSided(two_concepts(0.01, 0.5), SIGNALS), np.array([1.0]))
    told = [[0.98793814, 0.00893135], [0.00893135, 0.02030732]]
    np.testing.assert_allclose(path.states[0], told, rtol=0, atol=1e-7)


def test_recorded_swing():
    times = np.linspace(0, 10, 2001)
    path = flow(OneSided(two_concepts(0.01, 0.5), SIGNALS), times)
    found = extrema(times, path.probe_losses(np.array([3.0, 1.0])))
    assert [each[0] for each in found] == ["min", "max"]
    np.testing.assert_allclose([each[1] for each in found], [0.845, 1.340], rtol=0, atol=0.005)
    np.testing.assert_allclose(
        [each[2] for each in found], [0.4441284, 0.4654791], rtol=0, atol=1e-5
    )


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), rank=st.integers(1, 3))
def test_the_formula_is_the_integral_of_the_field(seed, rank):
    u, a = drawn(seed, rank)
    # The classical method's error, (|A| step)^4 over 400 steps, is 1e-6 for the largest A drawn.
    states = integrated(u, a, 0.01, 400)
    path = flow(OneSided(u @ u.T, a), np.linspace(0, 4, 401))
    np.testing.assert_allclose(path.states, states, atol=2e-6)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_formula_is_the_printed_inverse(seed):
    u, a = drawn(seed)
    w0 = u @ u.T + 0.01 * np.eye(3)
    path = flow(OneSided(w0, a), SHORT)
    for t, w in zip(SHORT, path.states, strict=True):
        left = expm(-a * t)
        told = np.linalg.inv(np.eye(3) + left @ (np.linalg.inv(w0) - np.eye(3)) @ left)
        np.testing.assert_allclose(w, told, atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1))
def test_the_field_is_what_the_held_factor_gives(seed):
    u, a = drawn(seed)
    w = u @ u.T
    moved = (np.eye(3) - w) @ a @ u
    np.testing.assert_allclose(one_sided_field(w, a), moved @ u.T + u @ moved.T, atol=1e-12)


def test_the_field_of_many_matrices():
    stack = np.stack([drawn(seed)[0] @ drawn(seed)[0].T for seed in range(4)])
    a = drawn(9)[1]
    told = np.stack([one_sided_field(w, a) for w in stack])
    np.testing.assert_allclose(one_sided_field(stack, a), told, atol=1e-15)


def test_commuting_matrices_move_as_the_tied_network_without_a_swing():
    w0 = np.diag([0.01, 0.02])
    np.testing.assert_allclose(one_sided_field(w0, SIGNALS), tied_field(w0, SIGNALS), atol=1e-15)
    path = flow(OneSided(w0, SIGNALS), SHORT)
    tied = flow(Tied(w0, SIGNALS), SHORT)
    np.testing.assert_allclose(path.states, tied.states, atol=1e-8)
    for loss in (path.probe_losses(np.array([3.0, 1.0])), tied.probe_losses(np.array([3.0, 1.0]))):
        assert np.all(np.diff(loss) < 0)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), factor=st.floats(0.1, 10))
def test_a_larger_second_moment_is_a_faster_clock(seed, factor):
    u, a = drawn(seed)
    fast = flow(OneSided(u @ u.T, factor * a), SHORT / factor)
    np.testing.assert_allclose(fast.states, flow(OneSided(u @ u.T, a), SHORT).states, atol=1e-9)


def test_it_learns_on_the_clock_of_the_schur_complement():
    # Half times of the weak concept: 8.526 from what is left of its entry, 6.872 from the entry.
    a = np.diag(two_signals(2, 1))
    times = np.linspace(0, 12, 2401)
    path = flow(OneSided(two_concepts(1e-3, 0.9), a), times)
    assert crossing(times, path.states[:, 1, 1]) == pytest.approx(8.5259, rel=0.01)


def test_minor_entries_decay_at_the_difference_of_the_signals():
    # Twice the tied network's rate; from 2 to 4 the strong concept is learned, the weak one not.
    path = flow(OneSided(two_concepts(1e-4, 0.5), SIGNALS), np.array([2.0, 4.0]))
    rate = np.log(path.states[0, 0, 1] / path.states[1, 0, 1]) / 2.0
    assert rate == pytest.approx(4.5025 - 0.5025, rel=0.01)


def test_late_times_and_matrices_without_full_rank():
    late = np.array([1.0, 1e3, 1e6])
    full = flow(OneSided(two_concepts(0.01, 0.5), SIGNALS), late)
    np.testing.assert_allclose(full.states[1:], [np.eye(2)] * 2, atol=1e-12)
    flat = flow(OneSided(two_concepts(0.01, 1.0), SIGNALS), late)
    np.testing.assert_allclose(flat.states[1:], [np.diag([1.0, 0.0])] * 2, atol=1e-12)
    assert flat.probe_losses(np.array([3.0, 1.0]))[-1] == pytest.approx(0.5)
    assert flat.notes == (
        "the initial matrix lacks rank: concept 2 (counted from 1) is never learned",
    )
    np.testing.assert_array_equal(flow(OneSided(np.zeros((2, 2)), SIGNALS), late).states, 0.0)


def test_a_coordinate_without_a_signal():
    # The inverse of W then keeps its entry for that coordinate.
    w0 = np.array([[0.02, 0.01], [0.01, 0.03]])
    path = flow(OneSided(w0, np.diag([1.0, 0.0])), np.array([0.0, 100.0]))
    np.testing.assert_allclose(path.states[0], w0, atol=1e-15)
    kept = 1.0 / np.linalg.inv(w0)[1, 1]
    np.testing.assert_allclose(path.states[1], np.diag([1.0, kept]), atol=1e-12)


def test_states_are_the_answers_of_a_network():
    u, a = drawn(5)
    path = flow(OneSided(u @ u.T, a), SHORT)
    assert np.linalg.eigvalsh(path.states).min() > 0
    np.testing.assert_array_equal(path.states, np.swapaxes(path.states, 1, 2))
    np.testing.assert_allclose(
        path.probe_losses(np.ones(3)), probe_loss(path.states, np.ones(3)), atol=1e-15
    )


def test_lists_do_as_well_as_arrays_and_shapes_that_do_not_fit_are_told():
    u, a = drawn(2)
    w = u @ u.T
    np.testing.assert_array_equal(one_sided_field(w.tolist(), a.tolist()), one_sided_field(w, a))
    with pytest.raises(InputError, match=r"of the states, \(3, 3\).*; got shape \(2, 3, 3\)"):
        unwrap(one_sided_field)(w, np.stack([a, a]))


def test_refusals():
    with pytest.raises(InputError, match=r"positive semidefinite; got an eigenvalue of -0.5"):
        flow(OneSided(two_concepts(1.0, 1.5), SIGNALS), SHORT)
