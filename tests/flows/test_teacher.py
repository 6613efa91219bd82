"""Linear teachers against SciPy's LSODA, least squares, closed forms and the identity.

LSODA asks for 1e-12 a step and the flow for 1e-11; their paths agree to 1e-8.
"""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from dynamics_oracles import rk4
from scipy.integrate import quad, solve_ivp

from partwhole._checks import InputError
from partwhole.flows import Deep, OneLayer, Tied, descend, flow
from partwhole.flows.stability import stability_limit

TIMES = np.array([0.0, 0.3, 1.0, 3.0, 10.0])
TIGHT = {"rtol": 1e-11, "atol": 1e-14}
RNG = np.random.default_rng(0)
# 40 points of four inputs with unequal spread and a mean, and two targets with noise.
X = RNG.normal(size=(40, 4)) @ np.diag([1.0, 0.8, 0.5, 0.3]) + np.array([0.3, 0.0, -0.2, 0.1])
TEACHER = np.array([[1.0, -0.5, 0.3, 0.0], [0.2, 0.8, 0.0, -0.6]])
Y = X @ TEACHER.T + 0.4 + 0.1 * RNG.normal(size=(40, 2))
A, C, MEAN, TARGET_MEAN = X.T @ X / 40, Y.T @ X / 40, X.mean(axis=0), Y.mean(axis=0)
BEST = np.linalg.lstsq(X, Y)[0].T
WITH_BIAS = np.linalg.lstsq(np.column_stack([X, np.ones(40)]), Y)[0].T
SHAPES = [(5, 4), (3, 5), (3, 3), (2, 3)]


def drawn(seed: int, scale: float = 0.6) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return weights and biases of four layers, 4 -> 5 -> 3 -> 3 -> 2."""
    rng = np.random.default_rng(seed)
    weights = [scale * rng.normal(size=shape) for shape in SHAPES]
    return weights, [scale * rng.normal(size=shape[0]) for shape in SHAPES]


def slopes(weights, biases):
    """Return the gradients of half the mean square error over the points, layer by layer."""
    layers = [X.T]
    for w, b in zip(weights, biases, strict=True):
        layers.append(w @ layers[-1] + b[:, None])
    back, gradients = (layers[-1] - Y.T) / len(X), []
    for w, below in zip(weights[::-1], layers[-2::-1], strict=True):
        gradients.append((back @ below.T, back.sum(axis=1)))
        back = w.T @ back
    return [w for w, _ in gradients[::-1]], [b for _, b in gradients[::-1]]


def lsoda(weights, biases, trained: bool):
    """Return the maps and offsets of a network that is followed on the points themselves."""
    parts = [*weights, *biases]
    ends = np.cumsum([part.size for part in parts])[:-1]

    def split(theta):
        cut = [v.reshape(p.shape) for v, p in zip(np.split(theta, ends), parts, strict=True)]
        return cut[: len(weights)], cut[len(weights) :]

    def velocity(_, theta):
        w, b = slopes(*split(theta))
        return -np.concatenate([g.ravel() for g in [*w, *(trained * g for g in b)]])

    start = np.concatenate([part.ravel() for part in parts])
    path = solve_ivp(
        velocity, (0, TIMES[-1]), start, "LSODA", t_eval=TIMES, rtol=1e-12, atol=1e-14
    ).y.T
    states, offsets = [], []
    for theta in path:
        state, offset = np.eye(4), np.zeros(4)
        for w, b in zip(*split(theta), strict=True):
            state, offset = w @ state, w @ offset + b
        states.append(state)
        offsets.append(offset)
    return np.array(states), np.array(offsets)


@pytest.mark.parametrize("seed", [0, 1])
def test_deep_networks_follow_a_teacher(seed):
    weights, _ = drawn(seed)
    states, _ = lsoda(weights, [np.zeros(len(w)) for w in weights], trained=False)
    path = flow(Deep(weights, A, C), TIMES, **TIGHT)
    np.testing.assert_allclose(path.states, states, rtol=0, atol=1e-8)
    assert np.abs(path.states[-1] - path.states[0]).max() > 0.3


def test_deep_networks_with_biases_follow_a_teacher():
    weights, biases = drawn(2)
    states, offsets = lsoda(weights, biases, trained=True)
    system = Deep(weights, A, C, biases=biases, mean=MEAN, target_mean=TARGET_MEAN)
    path = flow(system, TIMES, **TIGHT)
    np.testing.assert_allclose(path.states, states, rtol=0, atol=1e-8)
    np.testing.assert_allclose(path.offsets, offsets, rtol=0, atol=1e-8)


@pytest.mark.parametrize("biased", [False, True])
def test_one_layer_follows_a_teacher_and_ends_at_least_squares(biased):
    w0, b0 = RNG.normal(size=(2, 4)), RNG.normal(size=2)
    more = {"mean": MEAN, "bias": b0, "target_mean": TARGET_MEAN} if biased else {}
    states, offsets = lsoda([w0], [b0 if biased else np.zeros(2)], trained=biased)
    system = OneLayer(w0, A, C, **more)
    path = flow(system, TIMES)
    np.testing.assert_allclose(path.states, states, rtol=0, atol=1e-8)
    end = flow(system, np.array([1e6]))
    np.testing.assert_allclose(end.states[0], WITH_BIAS[:, :4] if biased else BEST, atol=1e-10)
    if biased:
        np.testing.assert_allclose(path.offsets, offsets, rtol=0, atol=1e-8)
        np.testing.assert_allclose(end.offsets[0], WITH_BIAS[:, 4], atol=1e-10)


def test_the_identity_is_the_teacher_whose_cross_covariance_is_the_second_moment():
    weights = [RNG.normal(size=(3, 4)), RNG.normal(size=(4, 3))]
    one, other = (descend(Deep(weights, A, c), 200, 0.02) for c in (None, A))
    np.testing.assert_allclose(one.states, other.states, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.losses, other.losses, rtol=0, atol=1e-9)
    w0, bias = RNG.normal(size=(4, 4)), RNG.normal(size=4)
    one = flow(OneLayer(w0, A, mean=MEAN, bias=bias), TIMES)
    other = flow(OneLayer(w0, A, A, mean=MEAN, bias=bias, target_mean=MEAN), TIMES)
    np.testing.assert_allclose(one.states, other.states, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.offsets, other.offsets, rtol=0, atol=1e-12)


@pytest.mark.parametrize("biased", [False, True])
def test_losses_are_those_of_the_points_above_least_squares(biased):
    weights, biases = drawn(3)
    more = {"biases": biases, "mean": MEAN, "target_mean": TARGET_MEAN} if biased else {}
    path = flow(Deep(weights, A, C, **more), TIMES)
    errors = 0.5 * ((path.outputs(X) - Y) ** 2).sum(axis=-1).mean(axis=-1)
    fit = X @ WITH_BIAS[:, :4].T + WITH_BIAS[:, 4] if biased else X @ BEST.T
    least = 0.5 * ((fit - Y) ** 2).sum(axis=-1).mean()
    np.testing.assert_allclose(path.losses, errors - least, rtol=0, atol=1e-12)
    # Probes have the best map's answers as targets, unless others are given.
    away = 0.5 * ((path.outputs(X) - fit) ** 2).sum(axis=-1)
    np.testing.assert_allclose(path.probe_losses(X), away, rtol=0, atol=1e-12)
    given = 0.5 * ((path.outputs(X[0]) - Y[0]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(path.probe_losses(X[0], Y[0]), given, rtol=0, atol=1e-12)


def strength(s, start, time):
    """Return a mode of two balanced layers on white inputs (Saxe et al. 2014), gradient time."""
    return s * np.exp(2 * s * time) / (np.exp(2 * s * time) - 1 + s / start)


def aligned(shapes: list, start: np.ndarray) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return balanced layers along the first modes of a teacher, and their singular vectors."""
    rank, sizes = len(start), [shapes[0][1], *(shape[0] for shape in shapes)]
    turns = [np.linalg.qr(RNG.normal(size=(n, n)))[0][:, :rank] for n in sizes]
    root = np.diag(start ** (1 / len(shapes)))
    layers = [above @ root @ below.T for below, above in itertools.pairwise(turns)]
    return layers, turns[-1], turns[0]


# Of shapes that are compiled above, as are paths of up to 16 records.
def test_modes_of_two_layers_are_those_of_saxe():
    strengths, start = np.array([3.0, 2.0, 0.5]), np.array([1e-3, 0.05, 2.0])
    layers, u, v = aligned([(3, 4), (4, 3)], start)
    times = np.linspace(0.0, 5.0, 16)
    path = flow(Deep(layers, np.eye(4), u @ np.diag(strengths) @ v.T), times)
    modes = np.einsum("ik,tij,jk->tk", u, path.states, v)
    np.testing.assert_allclose(modes, strength(strengths, start, times[:, None]), atol=1e-8)
    # Of noise on the targets nothing is seen; of longer inputs the time is shorter.
    scaled = Deep(layers, 4.0 * np.eye(4), 4.0 * u @ np.diag(strengths) @ v.T)
    np.testing.assert_allclose(flow(scaled, times / 4).states, path.states, atol=1e-8)


def test_balanced_layers_of_a_commuting_start_are_the_tied_network():
    # W1 = W2' stays so only where W and A commute; the tied flow is then twice as fast.
    root, a, times = np.diag([0.3, 0.2, 0.0, 0.0]), np.diag([2.0, 0.5, 1.0, 1.0]), TIMES[:4]
    path = flow(Deep([root[:3], root[:, :3]], a, a), times)
    tied = rk4(root, a, 1 / 200, 600)  # paper time, in which untied balanced layers move
    places = (200 * times).round().astype(int)
    np.testing.assert_allclose(path.states, tied[places], rtol=0, atol=1e-6)


@pytest.mark.parametrize("start", [1e-12, 1e-20, 1e-30])
def test_small_starts_are_followed_to_relative_accuracy(start):
    """Two balanced layers are the tied network: logistic curves in gradient time."""
    times = np.log(1 / start) / 2 * np.array([0.25, 0.5, 1.0])
    grown = start * np.exp(2 * np.outer(times, [2.0, 1.0]))
    root = np.sqrt(start) * np.diag([1.0, 1.0, 0.0, 0.0])
    a = np.diag([2.0, 1.0, 1.0, 1.0])
    path = flow(Deep([root[:3], root[:, :3]], a, a), times)
    found = np.diagonal(path.states, axis1=1, axis2=2)
    np.testing.assert_allclose(found[:, :2], grown / (1 - start + grown), rtol=1e-7)


def test_modes_of_more_layers_wait_longer():
    strengths, start = np.array([2.0, 0.5]), np.array([0.05, 0.2])
    (layers, u, v), depth = aligned(SHAPES, start), len(SHAPES)
    for mode, s in enumerate(strengths):
        # When the mode is half learned, from the integral of its equation.
        wait, _ = quad(
            lambda x, s=s: 1 / (depth * x ** (2 - 2 / depth) * (s - x)), start[mode], s / 2
        )
        path = flow(Deep(layers, np.eye(4), u @ np.diag(strengths) @ v.T), np.array([wait]))
        assert u[:, mode] @ path.states[0] @ v[:, mode] == pytest.approx(s / 2, abs=1e-8)


@pytest.mark.parametrize(("clock", "pace"), [("paper", 1.0), ("gradient", 2.0)])
def test_clocks_of_the_tied_network_against_saxe(clock, pace):
    # White inputs of variance a: two free layers learn the identity in paper time.
    turn, start = np.linalg.qr(RNG.normal(size=(3, 3)))[0], np.array([1e-3, 0.1, 0.6])
    a, times = 0.7, np.linspace(0.0, 6.0, 13)
    path = flow(Tied(turn @ np.diag(start) @ turn.T, a * np.eye(3)), times, clock=clock)
    modes = np.einsum("ik,tij,jk->tk", turn, path.states, turn)
    exact = strength(1.0, start, pace * a * times[:, None])
    np.testing.assert_allclose(modes, exact, rtol=0, atol=1e-8)


def test_directions_in_which_inputs_do_not_vary_are_not_learned():
    flat = np.diag([1.0, 0.5, 0.0])
    teacher = np.array([[1.0, -2.0, 5.0]])
    w0 = np.array([[0.1, 0.2, 0.3]])
    path = flow(OneLayer(w0, flat, teacher @ flat), np.array([0.0, 1e3]))
    np.testing.assert_allclose(path.states[1], [[1.0, -2.0, 0.3]], atol=1e-12)
    np.testing.assert_allclose(path.losses[1], 0.0, atol=1e-12)
    # By small steps, which compile in a tenth of the time of the flow.
    deep = descend(Deep([np.eye(3), w0], flat, teacher @ flat), 2000, 0.025, record=[2000])
    np.testing.assert_allclose(deep.states[0, 0, :2], [1.0, -2.0], atol=1e-7)
    with pytest.raises(InputError, match=r"it is 0 along directions in which .*; got 5 along one"):
        OneLayer(w0, flat, teacher)


def test_turned_outputs_are_turned_answers():
    weights, _ = drawn(4)
    turn = np.linalg.qr(RNG.normal(size=(2, 2)))[0]
    turned = Deep([*weights[:-1], turn @ weights[-1]], A, turn @ C)
    path = flow(Deep(weights, A, C), TIMES, **TIGHT)
    np.testing.assert_allclose(flow(turned, TIMES, **TIGHT).states, turn @ path.states, atol=1e-8)


def test_many_networks_follow_one_teacher_each_alone():
    many = [drawn(seed)[0] for seed in range(3)]
    stacked = [np.stack(layer) for layer in zip(*many, strict=True)]
    paths = descend(Deep(stacked, A, C), 100, 0.05, record=[0, 10, 100])
    assert paths.losses.shape == (3, 3)
    for i, weights in enumerate(many):
        alone = descend(Deep(weights, A, C), 100, 0.05, record=[0, 10, 100])
        np.testing.assert_allclose(paths.states[i], alone.states, rtol=0, atol=1e-12)
        np.testing.assert_allclose(paths.losses[i], alone.losses, rtol=0, atol=1e-12)


def test_a_narrow_layer_bounds_what_is_learned_of_a_teacher():
    weights = [RNG.normal(size=(1, 4)), RNG.normal(size=(2, 1))]
    path = descend(Deep(weights, A, C), 2, 0.01)
    assert path.notes == (
        "a layer of 1 units bounds the rank of the end-to-end map: 1 direction(s) of the teacher "
        "are never learned",
    )
    # A teacher of one output asks for no more than one unit.
    assert descend(Deep([weights[0], weights[1][:1]], A, C[:1]), 2, 0.01).notes == ()


def test_descent_is_training_on_the_points():
    weights, biases = drawn(5)
    system = Deep(weights, A, C, biases=biases, mean=MEAN, target_mean=TARGET_MEAN)
    path = descend(system, 30, 0.05, record=[30])
    for _ in range(30):
        w, b = slopes(weights, biases)
        weights = [one - 0.05 * g for one, g in zip(weights, w, strict=True)]
        biases = [one - 0.05 * g for one, g in zip(biases, b, strict=True)]
    state, offset = np.eye(4), np.zeros(4)
    for w, b in zip(weights, biases, strict=True):
        state, offset = w @ state, w @ offset + b
    np.testing.assert_allclose(path.states[0], state, rtol=0, atol=1e-12)
    np.testing.assert_allclose(path.offsets[0], offset, rtol=0, atol=1e-12)


@pytest.mark.parametrize("biased", [False, True])
def test_one_layer_descends_as_one_deep_layer(biased):
    w0, b0 = RNG.normal(size=(2, 4)), RNG.normal(size=2)
    more = {"mean": MEAN, "target_mean": TARGET_MEAN} if biased else {}
    one = OneLayer(w0, A, C, **more, **({"bias": b0} if biased else {}))
    deep = Deep([w0], A, C, **more, **({"biases": [b0]} if biased else {}))
    assert stability_limit(one) == stability_limit(deep)
    paths = descend(one, 50, 0.1), descend(deep, 50, 0.1)
    np.testing.assert_array_equal(paths[0].states, paths[1].states)
    # Each step shrinks the gap to the best map by I - eta A.
    w = w0.copy()
    for _ in range(50):
        w = w - 0.1 * (w @ A - C)
    if not biased:
        np.testing.assert_allclose(paths[0].states[-1], w, rtol=0, atol=1e-12)


def sharpness(weights: list[np.ndarray], a: np.ndarray) -> float:
    """Return the largest eigenvalue of the Hessian where the loss is least.

    There it is that of J'J for the maps times the root of A, whose slopes are exact differences.
    """
    flat = np.concatenate([w.ravel() for w in weights])
    ends = np.cumsum([w.size for w in weights])[:-1]
    root = np.linalg.cholesky(a)

    def mapped(theta):
        state = np.eye(len(a))
        for v, w in zip(np.split(theta, ends), weights, strict=True):
            state = v.reshape(w.shape) @ state
        return (state @ root).ravel()

    jacobian = [(mapped(flat + e) - mapped(flat - e)) / 2 for e in np.eye(len(flat))]
    return float(np.linalg.eigvalsh(np.array(jacobian) @ np.array(jacobian).T)[-1])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_no_factorisation_of_a_teacher_is_flatter_than_the_limit(depth):
    best = TEACHER if depth == 1 else np.vstack([TEACHER, TEACHER[:1] - TEACHER[1:]])
    a = A[:4, :4]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        weights = [rng.normal(size=(4, 4)) for _ in range(depth - 1)]
        inverse = np.linalg.inv(np.linalg.multi_dot([np.eye(4), *weights[::-1], np.eye(4)]))
        weights.append(best @ inverse)
        limit = stability_limit(Deep(weights, a, best @ a))
        assert sharpness(weights, a) >= 2 / limit * (1 - 1e-9)


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize(("share", "settles"), [(0.97, True), (1.03, False)])
def test_on_white_inputs_the_limit_is_where_descent_leaves_balanced_layers(depth, share, settles):
    strengths = np.array([3.0, 2.0, 0.5])
    layers, u, v = aligned([(3, 5), *[(3, 3)] * (depth - 2), (4, 3)], strengths)
    teacher = u @ np.diag(strengths) @ v.T
    system = Deep(layers, 1.5 * np.eye(5), 1.5 * teacher)
    assert sharpness(layers, 1.5 * np.eye(5)) == pytest.approx(2 / stability_limit(system))
    step = share * stability_limit(system)
    # The path of a slightly larger start, by steps of its own, which descend would refuse.
    layers = [1.001 * layer for layer in layers]
    for _ in range(600):
        maps = [np.eye(5)]
        for w in layers:
            maps.append(w @ maps[-1])
        back, slope = 1.5 * (maps[-1] - teacher), []
        for w, below in zip(layers[::-1], maps[-2::-1], strict=True):
            slope.append(back @ below.T)
            back = w.T @ back
        layers = [w - step * g for w, g in zip(layers, slope[::-1], strict=True)]
    end = np.linalg.multi_dot(layers[::-1])
    assert (np.abs(end - teacher).max() < 1e-4) == settles


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"cross_covariance": C[:, :3]},
            "second_moment and cross_covariance have equal length along d",
        ),
        ({"cross_covariance": C[:1]}, "from 4 inputs to 1 outputs; got shapes (5, 4), (3, 5), (3"),
        ({"cross_covariance": None}, "from 4 inputs to 4 outputs"),
        (
            {"target_mean": TARGET_MEAN},
            "it goes with cross_covariance and mean; got a target_mean without both; pass all "
            "three, or leave target_mean out",
        ),
        (
            {"biases": drawn(0)[1], "mean": MEAN},
            "it goes with cross_covariance and mean; got no target_mean",
        ),
    ],
)
def test_refusals(change, text):
    with pytest.raises(InputError, match=re.escape(text)):
        Deep(**{"weights": drawn(0)[0], "second_moment": A, "cross_covariance": C, **change})


def test_one_layer_without_a_teacher_is_square():
    with pytest.raises(InputError, match=r"as many outputs as inputs; got initial weights of shap"):
        OneLayer(np.zeros((2, 4)), A)
