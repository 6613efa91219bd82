"""What is not in the initial matrix is never learned, however long and however it was rounded."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.flows import Deep, Tied, descend, flow, learning_clocks

SIGNALS = np.diag([2.0, 1.5, 1.0])


@pytest.fixture(scope="module")
def path():
    """Return the flows of five starts that lack rank, and of one that has it.

    To times at which rounding of the start, grown like a concept, would long have been learned.
    """
    drawn = [np.random.default_rng(seed).uniform(0, 0.1, (3, 2)) for seed in range(4)]
    # One vector that starts near the weak axis, and an axis on which nothing is.
    vector = np.array([[1e-3], [1e-1], [0.0]])
    starts = [*(u @ u.T for u in (*drawn, vector)), 0.1 * np.eye(3)]
    signals = [*[SIGNALS] * 4, np.diag([1.0, 0.5, 0.0]), SIGNALS]
    return flow(Tied(np.stack(starts), np.stack(signals)), np.array([0.0, 10.0, 200.0]))


@pytest.mark.parametrize("seed", range(4))
def test_a_direction_that_is_not_in_the_start_never_comes(path, seed):
    end = path.states[seed, -1]
    assert np.linalg.matrix_rank(end, tol=1e-6) == 2
    np.testing.assert_allclose(end, np.diag([1.0, 1.0, 0.0]), atol=1e-5)


@pytest.mark.parametrize(("d", "rank"), [(3, 2), (3, 1), (8, 3), (64, 8)])
def test_a_random_start_without_rank_never_learns_the_weakest(d, rank):
    a = np.linspace(2.0, 1.0, d)
    for seed in range(60):
        u = np.random.default_rng(seed).uniform(0, 0.1, (d, rank))
        times = learning_clocks(u @ u.T, np.diag(a)).by_concept()
        assert np.isinf(times).tolist() == [False] * rank + [True] * (d - rank)


def test_without_rank_the_stronger_signal_takes_over(path):
    # The flow of one vector that starts near the weak axis still ends on the strong one.
    u = np.array([1e-3, 1e-1])
    told = learning_clocks(np.outer(u, u), np.diag([1.0, 0.5]))
    assert told.order.tolist() == [0, 1]
    assert np.isinf(told.times[1])
    np.testing.assert_allclose(path.states[4, -1], np.diag([1.0, 0.0, 0.0]), atol=1e-6)


def test_notes_of_many_flows_name_the_members(path):
    np.testing.assert_allclose(path.states[5, -1], np.eye(3), atol=1e-6)
    assert path.notes == (
        "5 of 6 initial matrices lack rank, the first at index 0: concept 3 (counted from 1) is "
        "never learned",
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("free", [False, True])
def test_deep_layers_that_share_too_few_directions_never_gain_one(seed, free):
    """Layers of three units whose weights meet in two: rounding alone could add a third."""
    rng = np.random.default_rng(seed)
    shared = np.linalg.qr(rng.normal(size=(3, 2)))[0]
    first, last = shared @ rng.normal(size=(2, 3)), rng.normal(size=(3, 2)) @ shared.T
    a, times = np.diag([2.0, 1.5, 1.0]), np.array([0.0, 10.0, 400.0])
    extra = {"biases": [shared @ rng.normal(size=2), np.zeros(3)], "mean": np.zeros(3)}
    path = flow(Deep([first, last], a, **extra if free else {}), times)
    assert np.linalg.matrix_rank(path.states[-1], tol=1e-6) == 2
    np.testing.assert_allclose(path.states[0], last @ first, rtol=0, atol=1e-12)
    # The best map of rank 2: what is left is the weakest signal, half of it.
    left = path.states[-1] - np.eye(3)
    assert 0.5 * np.trace(left @ a @ left.T) == pytest.approx(0.5, abs=1e-6)
    told = "the initial weights lack rank: 1 direction(s) of the inputs are never learned"
    assert path.notes == (told,)


def test_notes_of_many_deep_networks_name_the_first():
    v = np.array([[0.1, 0.07]])
    w = np.stack([0.1 * np.eye(2), v.T @ v])
    path = descend(Deep([w, w], np.diag([2.0, 1.0])), 10, 0.01)
    assert path.notes == (
        "1 of 2 lack rank: 1 direction(s) of the inputs are never learned, for the first of "
        "them, at index 1",
    )
    zeros = [np.zeros((3, 3))] * 2
    path = flow(Deep(zeros, np.diag([2.0, 1.5, 1.0])), np.array([0.0, 9.0]))
    assert "3 direction(s) of the inputs are never learned" in path.notes[0]
    assert descend(Deep(zeros[:1], np.eye(3)), 1, 0.01).notes == ()


def test_descent_that_overflows_says_so():
    path = descend(Tied(np.diag([30.0, 30.0]), np.diag([4.0, 0.5])), 30, 0.2)
    assert path.outcome.name == "DIVERGED"
    assert "W is not finite from update" in path.notes[0]
