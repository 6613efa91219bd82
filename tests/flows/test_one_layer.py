"""The one-layer closed form against the matrix exponential, an integration and recorded values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from partwhole._checks import InputError
from partwhole.flows import OneLayer, flow
from partwhole.flows.one_layer import relaxation_time

EPOCH = 0.36875  # 118 steps of 0.1, two 64ths of each
TIMES = np.array([0.0, 0.5, 1.0, 3.0])


def published(first_variance, epochs, *, bias):
    """Return the outputs of the two concepts, 64 dimensions, clusters on two axes and at 0."""
    means, variances = np.array([1.0, 2.0]), np.array([first_variance, 0.05])
    a, mean = np.zeros(64), np.zeros(64)
    a[:2], mean[:2] = means**2 / 3 + variances, means / 3
    probe = np.concatenate([means, np.zeros(62)])
    path = flow(
        OneLayer(np.zeros((64, 64)), np.diag(a), mean=mean if bias else None),
        EPOCH * np.asarray(epochs),
    )
    return path.outputs(probe)[:, :2]


def drawn(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(6, 3)) + rng.normal(size=3)
    return rng.normal(size=(3, 3)), x.T @ x / 6, x.mean(axis=0), rng.normal(size=3)


def test_recorded_outputs():
    w0 = np.array([[0.1, -0.2, 0.05], [0.03, 0.2, 0.1], [0, 0.1, -0.1]])
    path = flow(OneLayer(w0, np.diag([0.5025, 2.0025, 0.0])), TIMES)
    told = [
        (-0.285, 0.46, 0.17),
        (0.16798695, 1.46546303, 0.04348398),
        (0.41648645, 1.83215470, -0.00300053),
        (0.81469926, 2.03270752, -0.02950795),
    ]
    np.testing.assert_allclose(path.outputs(np.array([1, 2, 0.3])), told, rtol=0, atol=1e-7)
    assert path.clock == "gradient"


@pytest.mark.parametrize(
    ("variance", "bias", "told"),
    [
        (0.05, True, [(0.6252, 1.8621), (0.9323, 1.9747)]),
        (0.05, False, [(0.7567, 1.9878), (0.9965, 2.0000)]),
        (0.5, True, [(0.8949, 1.9092), (0.9978, 1.9980)]),
        (2.0, True, [(0.9875, 1.9452), (0.9999, 1.9997)]),
    ],
)
def test_recorded_outputs_with_and_without_a_bias(variance, bias, told):
    np.testing.assert_allclose(published(variance, [10, 40], bias=bias), told, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("variance", "bias", "half", "most"),
    [
        (0.05, True, (6, 2), (34, 6)),
        (0.05, False, (5, 2), (17, 5)),
        (0.5, True, (2, 2), (11, 6)),
        (2.0, True, (1, 2), (3, 5)),
    ],
)
def test_recorded_epochs(variance, bias, half, most):
    shares = published(variance, np.arange(41), bias=bias) / [1, 2]
    assert tuple((shares > 0.5).argmax(axis=0)) == half
    assert tuple((shares > 0.9).argmax(axis=0)) == most


@given(seed=st.integers(0, 2**32 - 1))
def test_the_matrix_exponential_gives_the_same(seed):
    w0, a, mean, bias = drawn(seed)
    plain = flow(OneLayer(w0, a), TIMES)
    path = flow(OneLayer(w0, a, mean=mean, bias=bias), TIMES)
    joint = np.block([[a, mean[:, None]], [mean[None], np.ones((1, 1))]])
    ideal = np.eye(3, 4)
    for i, t in enumerate(TIMES):
        told = np.eye(3) - (np.eye(3) - w0) @ expm(-a * t)
        np.testing.assert_allclose(plain.states[i], told, atol=1e-11)
        told = ideal + (np.column_stack([w0, bias]) - ideal) @ expm(-joint * t)
        np.testing.assert_allclose(path.states[i], told[:, :3], atol=1e-11)
        np.testing.assert_allclose(path.offsets[i], told[:, 3], atol=1e-11)


def test_gradient_descent_on_a_sample_follows_the_flow():
    # Steps of 1e-4 differ from the flow by 1e-4 of what they move.
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, 2)) * [1.0, 0.5] + [0.7, -0.4]
    w, b = np.array([[0.2, -0.1], [0.3, 0.0]]), np.array([0.1, -0.2])
    times = np.array([2.0])
    path = flow(OneLayer(w, x.T @ x / 50, mean=x.mean(axis=0), bias=b), times)
    for _ in range(20_000):
        gap = x @ w.T + b - x
        w, b = w - 1e-4 * gap.T @ x / 50, b - 1e-4 * gap.mean(axis=0)
    np.testing.assert_allclose(path.states[0], w, atol=2e-4)
    np.testing.assert_allclose(path.offsets[0], b, atol=2e-4)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), factor=st.floats(0.1, 10))
def test_a_larger_second_moment_is_a_faster_clock(seed, factor):
    w0, a, _, _ = drawn(seed)
    fast = flow(OneLayer(w0, factor * a), TIMES / factor)
    np.testing.assert_allclose(fast.states, flow(OneLayer(w0, a), TIMES).states, atol=1e-11)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_rotated_inputs_give_the_rotated_path(seed):
    w0, a, mean, bias = drawn(seed)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    straight = flow(OneLayer(w0, a, mean=mean, bias=bias), TIMES)
    turned = flow(
        OneLayer(turn @ w0 @ turn.T, turn @ a @ turn.T, mean=turn @ mean, bias=turn @ bias), TIMES
    )
    np.testing.assert_allclose(turned.states, turn @ straight.states @ turn.T, atol=1e-10)
    np.testing.assert_allclose(turned.offsets, straight.offsets @ turn.T, atol=1e-10)


def test_from_zero_the_loss_is_a_sum_of_decays():
    a, probe, times = np.array([0.5, 2.0]), np.array([1.0, 2.0]), np.linspace(0, 9, 40)
    path = flow(OneLayer(np.zeros((2, 2)), np.diag(a)), times)
    told = 0.5 * (probe**2 * np.exp(-2 * np.outer(times, a))).sum(axis=1)
    np.testing.assert_allclose(path.probe_losses(probe), told, atol=1e-14)


def test_what_the_inputs_lack_stays():
    w0 = np.array([[0.3, 0.7], [-0.2, 0.4]])
    path = flow(OneLayer(w0, np.diag([1.0, 0.0])), np.array([1.0, 1e6]))
    np.testing.assert_array_equal(path.states[:, :, 1], [w0[:, 1]] * 2)
    np.testing.assert_array_equal(path.states[1, :, 0], [1, 0])


def test_inputs_of_mean_zero_leave_the_bias_alone():
    w0, a, _, bias = drawn(1)
    path = flow(OneLayer(w0, a, mean=np.zeros(3), bias=bias), TIMES)
    np.testing.assert_allclose(path.states, flow(OneLayer(w0, a), TIMES).states, atol=1e-12)
    np.testing.assert_allclose(path.offsets, np.exp(-TIMES)[:, None] * bias, atol=1e-12)


def test_relaxation_times_are_those_of_the_path():
    a, q = np.array([0.5025, 2.0025]), np.array([0.9, 0.5])
    times = relaxation_time(a, q)
    for k in range(2):
        path = flow(OneLayer(np.zeros((2, 2)), np.diag(a)), times[[k]])
        assert path.states[0, k, k] == pytest.approx(q[k], abs=1e-12)
    assert relaxation_time(0.0, 0.5) == np.inf
    assert relaxation_time(0.0, 0.0) == 0.0


def test_lists_do_as_well_as_arrays():
    w0, a, mean, bias = drawn(3)
    told = flow(OneLayer(w0, a, mean=mean, bias=bias), TIMES)
    lists = flow(OneLayer(w0.tolist(), a.tolist(), mean=mean.tolist(), bias=bias.tolist()), TIMES)
    np.testing.assert_array_equal(lists.states, told.states)
    np.testing.assert_array_equal(lists.offsets, told.offsets)
    whole = flow(OneLayer([[0, 1], [1, 0]], np.eye(2), mean=[0, 0], bias=[1, 2]), TIMES)
    assert whole.states.dtype == np.float64
    np.testing.assert_allclose(whole.offsets[:, 1], 2 * np.exp(-TIMES), atol=1e-12)


def test_refusals():
    w0, a, mean, bias = drawn(0)
    with pytest.raises(InputError, match=r"learns through the mean of the inputs; got a bias and"):
        flow(OneLayer(w0, a, bias=bias), TIMES)
    with pytest.raises(
        InputError, match=r"the mean goes with the second moment: A - m m' has no n"
    ):
        flow(OneLayer(w0, a, mean=mean + 10), TIMES)
    with pytest.raises(InputError, match=r"w0 and bias have equal length along e; got 3 and 2"):
        flow(OneLayer(w0, a, mean=mean, bias=bias[:2]), TIMES)
    with pytest.raises(InputError, match=r"times start at 0 or later and increase"):
        flow(OneLayer(w0, a), TIMES[::-1].copy())
    with pytest.raises(InputError, match=r"a signal is at least 0; got -1; pass"):
        relaxation_time(-1.0, 0.5)
    with pytest.raises(InputError, match=r"lies in \[0, 1\), since the whole .*; got 1; ask"):
        relaxation_time(1.0, 1.0)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_mean_beyond_its_second_moment_is_refused_in_any_unit(unit):
    moment, mean = np.eye(2) * unit**2, np.array([3.0, 0.0]) * unit
    with pytest.raises(InputError, match="the mean goes with the second moment"):
        flow(OneLayer(np.zeros((2, 2)), moment, mean=mean), np.ones(1))
    flow(OneLayer(np.zeros((2, 2)), moment, mean=mean / 3.0), np.ones(1))
