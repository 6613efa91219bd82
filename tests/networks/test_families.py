"""Every reader takes every family of networks, those of a user's own too."""

from __future__ import annotations

from functools import cache

import equinox as eqx
import families
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.features import HalfspaceGates
from partwhole.limits import DiagonalWeights
from partwhole.measures import salience
from partwhole.measures.dimensions import participation_ratio
from partwhole.networks import (
    GatedNetwork,
    LearnedGates,
    activations,
    load_network,
    mlp,
    outputs,
    save_network,
    tangent_kernel,
)
from partwhole.networks.gated_classifier import GatedClassifier
from partwhole.networks.images.convnet import convnet
from partwhole.networks.layer_dimensions import layer_dimensions
from partwhole.networks.layer_salience import layer_saliences
from partwhole.training import kernel_regime

RNG = np.random.default_rng(0)
COMPONENTS = np.array([[a, b] for a in range(2) for b in range(3)])
SEQUENCES, POINTS = RNG.normal(size=(6, 5, 3)), RNG.normal(size=(6, 3))
GATES = HalfspaceGates(RNG.normal(size=(4, 1, 3)), np.zeros((4, 1)))
NETWORKS = {
    "recurrent": (families.Recurrent.draw(3, 4, seed=0), SEQUENCES),
    "attention": (families.AttentionOnly.draw(5, 3, seed=0), SEQUENCES),
    "gated": (GatedNetwork.draw(3, [GATES, 1], seed=0), POINTS),
    "units": (GatedNetwork.draw(3, [GATES], seed=0, bias=True), POINTS),
    "chains": (GatedNetwork.draw(3, [GATES, 4, 1], seed=0, parallel=True), POINTS),
    "learned gates": (GatedNetwork.draw(3, [LearnedGates(6), 2, 1], seed=0), POINTS),
    "gated labels": (GatedClassifier.draw(3, [GATES, 3], seed=0), POINTS),
    "diagonal": (DiagonalWeights(*RNG.normal(size=(4, 3)).astype(np.float32)), POINTS),
    "dense": (mlp(3, layers=3, width=4, nonlinearity="relu", seed=0), POINTS),
}
EVERY = pytest.mark.parametrize("name", NETWORKS)


@cache
def computed(name):
    """Return the slopes of the answers and what each layer gives, compiled as one program."""
    network, inputs = NETWORKS[name]
    kept, rest = network.partition()
    contexts = network.contexts(inputs)

    def answers(kept):
        x, layers = jnp.asarray(inputs, jnp.float32), []
        for place in range(len(network.names)):
            x = eqx.combine(kept, rest).layer(place, x, contexts)
            layers.append(x)
        return x[:, 0], layers

    return jax.tree.map(np.asarray, jax.jit(jax.jacrev(answers, has_aux=True))(kept))


def by_hand(name):
    """Return what each layer gives, by calls one after another."""
    return computed(name)[1]


@EVERY
def test_layers_are_read_by_name(name):
    network, inputs = NETWORKS[name]
    layers = by_hand(name)
    read = activations(network, inputs)
    assert len(read) == len(network.names)
    for one, other in zip(read, layers, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(outputs(network, inputs), read[-1])
    first, last = network.names[0], network.names[-1]
    chosen = activations(network, inputs, layers=[last, first])
    np.testing.assert_array_equal(chosen[0], read[-1])
    np.testing.assert_array_equal(chosen[1], read[0])
    if isinstance(network, GatedNetwork):
        np.testing.assert_allclose(network.predict(inputs), read[-1][:, 0], rtol=1e-6)


@EVERY
def test_the_tangent_kernel_is_that_of_its_jacobian(name):
    network, inputs = NETWORKS[name]
    leaves = jax.tree.leaves(computed(name)[0])
    slopes = np.concatenate([np.asarray(leaf, float).reshape(6, -1) for leaf in leaves], axis=1)
    kernel = tangent_kernel(network, inputs)
    np.testing.assert_allclose(kernel, slopes @ slopes.T, rtol=1e-4, atol=1e-5)


@EVERY
def test_saliences_and_dimensions_of_layers(name):
    network, inputs = NETWORKS[name]
    saliences = layer_saliences(network, inputs, COMPONENTS, self_pairs=True)
    assert saliences.layers == ("input", *network.names)
    dimensions = layer_dimensions(network, network, inputs)
    for place, layer in enumerate(by_hand(name)):
        rows = layer.reshape(6, -1)
        measured = salience(rows, COMPONENTS, self_pairs=True)
        found = saliences[network.names[place]].salience
        np.testing.assert_allclose(found, measured.salience, rtol=1e-3, atol=1e-3)
        ratio = participation_ratio(rows)
        assert dimensions.before[place] == pytest.approx(ratio, rel=1e-4)


@EVERY
def test_saved_networks_come_back(name, tmp_path):
    network, inputs = NETWORKS[name]
    save_network(network, tmp_path / "network.npz")
    again = load_network(tmp_path / "network.npz", kinds=[type(network)])
    assert jax.tree.structure(again) == jax.tree.structure(network)
    for one, other in zip(*map(jax.tree.leaves, (again, network)), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(outputs(again, inputs), outputs(network, inputs))


def test_a_file_names_no_class_that_was_not_asked_for(tmp_path):
    save_network(NETWORKS["recurrent"][0], tmp_path / "network.npz")
    with pytest.raises(InputError) as caught:
        load_network(tmp_path / "network.npz")
    assert str(caught.value) == (
        "a network is made of the library's classes, or of those in kinds; got "
        "families.Recurrent; pass kinds=[Recurrent]"
    )


@EVERY
def test_kernel_regimes(name):
    network, inputs = NETWORKS[name]
    targets, seen = RNG.normal(size=6), np.arange(6) < 3
    lazy = kernel_regime(network, inputs, targets, seen)
    np.testing.assert_allclose(lazy.predictions[seen], targets[seen], rtol=1e-3, atol=1e-3)
    if name != "units":
        kernel = kernel_regime(network, inputs, targets, seen, kind="readout").kernel
        features = by_hand(name)[-2].reshape(6, -1).astype(float)
        bias = 1.0 if name == "dense" else 0.0
        np.testing.assert_allclose(kernel, features @ features.T + bias, rtol=1e-4, atol=1e-6)


def test_a_readout_of_images_has_its_bias():
    network = convnet((8, 8, 1), channels=(4,), kernel=3, dense=(5,), seed=0)
    images, seen = RNG.random((5, 8, 8, 1)), np.arange(5) < 3
    kernel = kernel_regime(network, images, np.ones(5), seen, kind="readout").kernel
    features = activations(network, images, layers=["relu 2"])[0].astype(float)
    np.testing.assert_allclose(kernel, features @ features.T + 1.0, rtol=1e-5)


def test_a_sum_of_units_is_no_readout():
    network, inputs = NETWORKS["units"]
    with pytest.raises(InputError, match="the last layer has parameters; got 'output' without"):
        kernel_regime(network, inputs, np.ones(6), np.ones(6, bool), kind="readout")


@pytest.mark.parametrize("lead", [(), (4,)])
@pytest.mark.parametrize("tasks", [(), (2,)])
def test_diagonal_weights_answer_by_their_coefficients(lead, tasks):
    hidden, readout = RNG.normal(size=(2, *lead, 3)), RNG.normal(size=(2, *lead, *tasks, 3))
    weights = DiagonalWeights(hidden[0], readout[0], hidden[1], readout[1])
    coefficients = weights.coefficients.reshape(*lead, -1, 3)
    expected = POINTS @ np.swapaxes(coefficients, -1, -2)
    np.testing.assert_allclose(outputs(weights, POINTS), expected, rtol=0, atol=1e-12)
    assert weights.n_outputs == expected.shape[-1]
