"""What is not in the initial matrix is never learned, however long and however it was rounded."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.flows import learning_clocks, tied_descent, tied_flow


@pytest.mark.parametrize("seed", range(4))
def test_a_direction_that_is_not_in_the_start_never_comes(seed):
    # To times at which rounding of the start, grown like a concept, would long have been learned.
    u = np.random.default_rng(seed).uniform(0, 0.1, (3, 2))
    path = tied_flow(u @ u.T, np.diag([2.0, 1.5, 1.0]), np.array([0.0, 10.0, 100.0]))
    assert np.linalg.matrix_rank(path.states[-1], tol=1e-6) == 2
    np.testing.assert_allclose(path.states[-1], np.diag([1.0, 1.0, 0.0]), atol=1e-5)
    assert "concept 3 (counted from 1) is never learned" in path.notes[0]


@pytest.mark.parametrize(("d", "rank"), [(3, 2), (3, 1), (8, 3), (64, 8)])
def test_a_random_start_without_rank_never_learns_the_weakest(d, rank):
    a = np.linspace(2.0, 1.0, d)
    for seed in range(60):
        u = np.random.default_rng(seed).uniform(0, 0.1, (d, rank))
        times = learning_clocks(u @ u.T, np.diag(a)).by_concept()
        assert np.isinf(times).tolist() == [False] * rank + [True] * (d - rank)


def test_without_rank_the_stronger_signal_takes_over():
    # The flow of one vector that starts near the weak axis still ends on the strong one.
    u = np.array([1e-3, 1e-1])
    told = learning_clocks(np.outer(u, u), np.diag([1.0, 0.5]))
    assert told.order.tolist() == [0, 1]
    assert np.isinf(told.times[1])
    path = tied_flow(np.outer(u, u), np.diag([1.0, 0.5]), np.array([0.0, 5.0, 200.0]))
    np.testing.assert_allclose(path.states[-1], np.diag([1.0, 0.0]), atol=1e-6)


def test_notes_of_many_flows_name_the_members():
    v = np.array([0.1, 0.07])
    w0 = np.stack([np.eye(2), np.outer(v, v), np.outer(v, v)])
    path = tied_flow(w0, np.diag([2.0, 1.0]), np.array([0.0, 1.0]))
    assert path.notes == (
        "2 of 3 initial matrices lack rank, the first at index 1: concept 2 (counted from 1) is "
        "never learned",
    )


def test_descent_that_overflows_says_so():
    path = tied_descent(np.diag([30.0, 30.0]), np.diag([4.0, 0.5]), steps=30, step_size=0.2)
    assert path.outcome.name == "DIVERGED"
    assert "W is not finite from update" in path.notes[0]
