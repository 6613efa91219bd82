"""Gated networks against plain sums, against their features, and what they conserve."""

import jax
import numpy as np
import pytest
from gated_data import d1
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.features import HalfspaceGates, ReLUGates
from partwhole.features.gates.joint import JointGates
from partwhole.limits import GroupNorm, Quadratic
from partwhole.limits.costs import ChainNorm, NuclearNorm, SchattenNorm
from partwhole.networks import GatedNetwork, LearnedGates
from partwhole.networks.gated import flipped_gates
from partwhole.networks.paths import architecture_cost, conserved, path_weights

X, _, GATES = d1()
OTHER = HalfspaceGates.random(7, n_units=5, n_hyperplanes=2, seed=4)
READOUT = HalfspaceGates.random(7, n_units=1, n_hyperplanes=3, seed=5)
RELU = ReLUGates.random(7, n_units=6, seed=6)


def answered(network, inputs):
    """Return the outputs by loops over inputs and units."""
    found = []
    for x in inputs:
        z = x
        for place, (weight, gates) in enumerate(zip(network.weights, network.gates, strict=True)):
            weight = np.asarray(weight, dtype=float)
            told = []
            for unit, own in enumerate(weight):
                feeds = z
                if network.parallel and 0 < place < len(network.weights) - 1:
                    feeds = z[unit : unit + 1]
                if gates is None:
                    told.append(own[0] @ feeds)
                elif isinstance(gates, LearnedGates):
                    told.append(max(0.0, own[0] @ feeds))
                else:
                    context = gates.contexts(x[None])[0, unit]
                    told.append(0.0 if context < 0 else own[context] @ feeds)
            z = np.array(told)
        found.append(z.sum() + (0.0 if network.bias is None else float(network.bias)))
    return np.array(found)


@pytest.mark.parametrize(
    ("layers", "parallel"),
    [
        ([GATES], False),
        ([GATES, 1], False),
        ([GATES, 5, 1], False),
        ([GATES, GATES, 1], True),
        ([GATES, 6, 6, 1], True),
        ([9, READOUT], False),
        ([9, 9, READOUT], False),
        ([GATES, OTHER, 1], False),
        ([RELU, OTHER, READOUT], False),
        ([LearnedGates(8), 1], False),
        ([LearnedGates(8), LearnedGates(4), 1], False),
        ([LearnedGates(6), LearnedGates(6), 1], True),
        ([JointGates.of(GATES, X[:9])], False),
    ],
)
def test_outputs_are_sums_over_units(layers, parallel):
    network = GatedNetwork.draw(7, layers, seed=1, initial="normal", parallel=parallel)
    np.testing.assert_allclose(network.predict(X), answered(network, X), rtol=2e-5, atol=1e-5)


def test_a_bias_is_added_once():
    network = GatedNetwork.draw(7, [GATES, 1], seed=0, bias=True)
    biased = GatedNetwork(network.weights, network.gates, jax.numpy.asarray(0.5, "float32"))
    np.testing.assert_allclose(biased.predict(X), network.predict(X) + 0.5, rtol=1e-5)


COSTS = [
    ([GATES], False, Quadratic()),
    ([GATES, 1], False, GroupNorm()),
    ([RELU, 3, 4, 1], False, GroupNorm()),
    ([GATES, 1], True, GroupNorm()),
    ([GATES, 6, 1], True, ChainNorm(3)),
    ([8, READOUT], False, NuclearNorm(8)),
    ([8, 8, READOUT], False, SchattenNorm(8, 3)),
]


@pytest.mark.parametrize(("layers", "parallel", "cost"), COSTS)
def test_paths_give_the_outputs_and_never_cost_more_than_the_weights(layers, parallel, cost):
    network = GatedNetwork.draw(7, layers, seed=2, initial="normal", parallel=parallel)
    gates, told = architecture_cost(network)
    assert type(told) is type(cost)
    assert getattr(told, "rows", 0) == getattr(cost, "rows", 0)
    assert getattr(told, "n_layers", 0) == getattr(cost, "n_layers", 0)
    design, paths = gates.design(X), path_weights(network)
    np.testing.assert_allclose(design @ paths.ravel(), network.predict(X), rtol=5e-5, atol=1e-5)
    n_layers, value = network.n_layers, told.value(design, paths.ravel())
    if isinstance(told, Quadratic):
        least = 2 * value
    else:
        least = value if hasattr(told, "n_layers") else value ** (2 / n_layers)
    assert least <= network.squared_norm / n_layers * (1 + 1e-6)


@pytest.mark.parametrize(("layers", "parallel", "cost"), COSTS)
def test_outputs_grow_with_the_power_of_the_layers(layers, parallel, cost):
    network = GatedNetwork.draw(7, layers, seed=3, parallel=parallel)
    larger = GatedNetwork(
        tuple(2 * each for each in network.weights), network.gates, None, parallel
    )
    np.testing.assert_array_equal(larger.predict(X), 2.0**network.n_layers * network.predict(X))
    assert larger.squared_norm == pytest.approx(4 * network.squared_norm)


@given(st.integers(0, 1000))
@settings(max_examples=5)
def test_scaling_a_unit_up_below_and_down_above_changes_nothing(seed):
    """What `conserved` is conserved for."""
    rng = np.random.default_rng(seed)
    network = GatedNetwork.draw(7, [LearnedGates(5), OTHER, 1], seed=seed)
    scale = np.exp(rng.normal(size=5)).astype("float32")
    first, second, last = network.weights
    turned = GatedNetwork(
        (first * scale[:, None, None], second / scale[None, None], last), network.gates
    )
    np.testing.assert_allclose(turned.predict(X), network.predict(X), rtol=1e-4, atol=1e-5)
    told = conserved(network)
    assert [each.shape for each in told] == [(5,), (5,)]
    below, above = (np.asarray(each, dtype=float) ** 2 for each in (first, second))
    np.testing.assert_allclose(told[0], above.sum((0, 1)) - below.sum((1, 2)), rtol=1e-12)


def test_signs_and_places_of_units_change_nothing():
    network = GatedNetwork.draw(7, [GATES, 1], seed=0)
    first, readout = network.weights
    turned = GatedNetwork(
        (first.at[2].multiply(-1), readout.at[0, 0, 2].multiply(-1)), network.gates
    )
    np.testing.assert_allclose(turned.predict(X), network.predict(X), rtol=1e-5, atol=1e-6)
    order = np.array([3, 1, 0, 2, 5, 4])
    gates = HalfspaceGates(GATES.normals[order], GATES.thresholds[order])
    moved = GatedNetwork((first[order], readout[:, :, order]), (gates, None))
    np.testing.assert_allclose(moved.predict(X), network.predict(X), rtol=1e-5, atol=1e-6)


def test_relu_networks_are_networks_with_their_own_gates():
    network = GatedNetwork.draw(7, [LearnedGates(8), 1], seed=0, initial="he")
    frozen = network.with_frozen_gates()
    np.testing.assert_allclose(frozen.predict(X), network.predict(X), rtol=1e-5, atol=1e-6)
    hidden, readout = (np.asarray(each, dtype=float) for each in network.weights)
    relu = np.maximum(0, X @ hidden[:, 0].T) @ readout[0, 0]
    np.testing.assert_allclose(network.predict(X), relu, rtol=1e-5, atol=1e-6)
    signs = np.where(X @ hidden[:, 0].T >= 0, 0, -1)
    assert (network.open_gates(X)[0] == signs).all()
    assert (frozen.open_gates(X)[0] == signs).all()
    # Weights move, gates stay.
    moved = GatedNetwork((-frozen.weights[0], frozen.weights[1]), frozen.gates)
    np.testing.assert_allclose(moved.predict(X), -network.predict(X), rtol=1e-5, atol=1e-6)
    assert flipped_gates(frozen, moved, X) == (0.0, 0.0)
    turned = GatedNetwork((-network.weights[0], network.weights[1]), network.gates)
    assert flipped_gates(network, turned, X) == (1.0, 0.0)


def test_gates_of_deeper_layers_are_read_from_what_feeds_them():
    network = GatedNetwork.draw(7, [LearnedGates(8), LearnedGates(4), 1], seed=0, initial="he")
    hidden, second, _ = (np.asarray(each, dtype=float)[:, 0] for each in network.weights)
    sums = np.maximum(0, X @ hidden.T) @ second.T
    assert (network.open_gates(X)[1] == np.where(sums >= 0, 0, -1)).all()
    assert network.open_gates(X)[2].shape == (24, 1)


def test_gates_are_leaves_of_the_network():
    network = GatedNetwork.draw(7, [GATES, 1], seed=0)
    leaves = jax.tree.leaves(network)
    assert any(leaf is GATES.normals for leaf in leaves)
    shifted = jax.tree.map(lambda leaf: leaf + 1, network)
    np.testing.assert_array_equal(shifted.gates[0].thresholds, GATES.thresholds + 1)


def test_draws():
    for seed in (0, 1):
        one, two = (GatedNetwork.draw(7, [GATES, 3, 1], seed=seed) for _ in range(2))
        for a, b in zip(one.weights, two.weights, strict=True):
            np.testing.assert_array_equal(a, b)
    first, second, last = (np.asarray(each, dtype=float) for each in one.weights)
    np.testing.assert_allclose(first.reshape(12, 7).T @ first.reshape(12, 7), np.eye(7), atol=1e-6)
    np.testing.assert_allclose(second[:, 0] @ second[:, 0].T, np.eye(3), atol=1e-6)
    assert np.sum(last**2) == pytest.approx(1.0, rel=1e-6)
    assert GatedNetwork.draw(7, [GATES, np.int64(1)], seed=0).n_layers == 2
    wide = GatedNetwork.draw(100, [400, 1], seed=0, initial="he", scale=0.5)
    # 40,000 draws: their variance is known to 3 sqrt(2 / 40,000) = 2 %.
    assert np.var(np.asarray(wide.weights[0])) == pytest.approx(0.25 * 2 / 100, rel=0.03)


SENTENCES = [
    (lambda: GatedNetwork.draw(7, [], seed=0), "a network has at least one layer, and gates or"),
    (
        lambda: GatedNetwork.draw(7, [GATES, True], seed=0),
        "layers[1] is a whole number of at least 1; got True; pass a whole number",
    ),
    (
        lambda: GatedNetwork.draw(3, [GATES, 1], seed=0),
        "these gates are for inputs of 7 numbers; got shape (0, 3)",
    ),
    (
        lambda: GatedNetwork.draw(7, [GATES, 5, 1], seed=0, parallel=True),
        "parallel chains have as many units in every layer but the last, which has one; got 6, "
        "5, 1",
    ),
    (lambda: LearnedGates(0), "n_units is a whole number of at least 1; got 0"),
    (
        lambda: GatedNetwork.draw(7, [GATES, 1], seed=0).predict(X[:, :3]),
        "inputs are points in the network's 7 dimensions; got shape (24, 3)",
    ),
    (
        lambda: GatedNetwork.draw(7, [GATES, 1], seed=0).predict(np.where(X > 2, np.nan, X)),
        f"inputs is an array of finite numbers of shape (n, d); got {(X > 2).sum()} that are NaN",
    ),
    (
        lambda: GatedNetwork.draw(7, [LearnedGates(3), 1], seed=0).open_gates(np.inf * X[:1]),
        "inputs is an array of finite numbers of shape (n, d); got 7 that are infinite, the first",
    ),
    (
        lambda: GatedNetwork.draw.__func__(GatedNetwork, 7, [GATES, 1], seed=0, parallel="no"),
        "parallel is True or False; got 'no'; choose one of them",
    ),
    (
        lambda: architecture_cost(GatedNetwork.draw(7, [GATES, 1], seed=0, bias=True)),
        "a cost in terms of paths is of a homogeneous network; got a bias",
    ),
    (
        lambda: architecture_cost(GatedNetwork.draw(7, [LearnedGates(3), 1], seed=0)),
        "a cost in terms of paths is of frozen gates; got gates that are learned; pass "
        "network.with_frozen_gates()",
    ),
    (
        lambda: path_weights(GatedNetwork.draw(7, [GATES, OTHER, 1], seed=0)),
        "a cost in terms of paths is known with gates in the first layer, or in a readout of "
        "one unit; got gates in layers 1, 2 of 3, 1 units in the last; follow the normalised flow "
        "from several starts instead",
    ),
    (
        lambda: architecture_cost(GatedNetwork.draw(7, [3, READOUT], seed=0)),
        "the cost of a gated readout is known with at least 7 units in every layer; got 3; take "
        "wider layers",
    ),
    (
        lambda: GatedNetwork.draw(
            7, [LearnedGates(3), LearnedGates(3), 1], seed=0
        ).with_frozen_gates(),
        "learned gates are frozen in the first layer; got some in layer 2; freeze a network "
        "with one hidden layer of them",
    ),
    (
        lambda: flipped_gates(*[GatedNetwork.draw(7, [GATES, 1], seed=0)] * 2, X[:0]),
        "inputs is an array of finite numbers of shape (n, d), and is not empty; got shape (0, 7)",
    ),
    (
        lambda: flipped_gates(
            GatedNetwork.draw(7, [GATES, 1], seed=0), GatedNetwork.draw(7, [GATES], seed=0), X
        ),
        "gates are compared between networks of one shape; got layers ((6, 2, 7), (1, 1, 6)) "
        "and ((6, 2, 7),); pass a network and what it became",
    ),
]


@pytest.mark.parametrize(("call", "sentence"), SENTENCES)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value).startswith(sentence)
