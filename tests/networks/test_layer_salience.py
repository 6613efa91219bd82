"""Saliences layer by layer, against the measure on activations and networks of infinite width."""

from __future__ import annotations

import sys

import jax
import numpy as np
import pytest

from partwhole import features, measures, tasks
from partwhole._checks import InputError
from partwhole.networks import Architecture, activations, image_network, mlp
from partwhole.networks.images.convnet import convnet
from partwhole.networks.layer_salience import LayerSaliences, layer_saliences
from partwhole.networks.reading import layer_by_layer
from partwhole.tasks.images.digits import digit_images

ROWS = np.array([[a, b] for a in range(4) for b in range(4)])
ONE_HOT = np.hstack([np.eye(4)[ROWS[:, 0]], np.eye(4)[ROWS[:, 1]]])


@pytest.fixture(scope="module")
def composites():
    images, labels = digit_images()
    task = tasks.symbolic_addition(range(-1, 2), [0])
    return tasks.compose_images(task, images, labels, distance=4, seed=0).draw(5)


@pytest.fixture(scope="module")
def network(composites):
    # Small, since reading is compiled for every layer.
    return convnet(composites.shape, channels=(4, 6), kernel=3, dense=(5,), seed=0)


def same(found, direct):
    """Require equal numbers of two measurements; activations are in single precision."""
    scale = np.abs(direct.kappa).max()
    np.testing.assert_allclose(found.kappa, direct.kappa, atol=1e-5 * scale)
    np.testing.assert_allclose(found.salience, direct.salience, atol=1e-4)
    assert found.structure == pytest.approx(direct.structure, abs=1e-4)
    np.testing.assert_allclose(found.salience_interval, direct.salience_interval, atol=1e-4)


def test_an_mlp_is_measured_on_its_activations():
    network = mlp(8, layers=3, width=30, seed=1, nonlinearity="relu")
    rng = np.random.default_rng(0)
    rows = np.repeat(ROWS, 3, axis=0)
    inputs = np.repeat(ONE_HOT, 3, axis=0) + rng.normal(0, 0.3, (48, 8))
    options = {"bootstrap": 20, "confidence": 0.9, "seed": 7}
    found = layer_saliences(network, inputs, rows, **options)
    assert found.layers == ("input", "layer 1", "layer 2", "output")
    expected = [inputs, *activations(network, inputs)]
    for layer, values in zip(found.layers, expected, strict=True):
        same(found[layer], measures.salience(values, rows, **options))
    assert found["layer 1"].confidence == 0.9
    plain = layer_saliences(network, inputs, rows, self_pairs=True)
    same(plain["layer 2"], measures.salience(expected[2], rows, self_pairs=True))


@pytest.mark.parametrize("depth", [1, 2])
def test_wide_random_networks_have_the_saliences_of_theory(depth):
    width = 2000
    architecture = Architecture(
        layers=3, width=width, nonlinearity="relu", bias=False, initial="he", scale=1.0
    )
    network = architecture.network(8, seed=0)
    layers = ["input", f"layer {depth}"]
    found = layer_saliences(network, ONE_HOT, ROWS, layers=layers, self_pairs=True)
    theory = features.OverlapKernel.random_network("relu", 2, depth)
    # Over draws, saliences scatter by at most .2 / sqrt(width); layers differ by .05.
    tolerance = 5 * 0.2 / np.sqrt(width)
    np.testing.assert_allclose(found[layers[1]].salience, theory.salience, atol=tolerance)
    np.testing.assert_allclose(found["input"].salience, [0.5, 0.0], atol=1e-12)


def test_a_convolutional_network_layer_by_layer(network, composites):
    found = layer_saliences(network, composites, bootstrap=3)
    assert found.layers == ("input", *network.names)
    pixels = composites[:].reshape(len(composites), -1)
    same(found["input"], measures.salience(pixels, composites.components, bootstrap=3))
    for layer, values in zip(network.names, activations(network, composites), strict=True):
        flat = values.reshape(len(values), -1)
        same(found[layer], measures.salience(flat, composites.components, bootstrap=3))
    images = layer_saliences(network, composites[:], composites.components, layers=["relu 2"])
    same(images["relu 2"], layer_saliences(network, composites, layers=["relu 2"])["relu 2"])


def test_layers_are_computed_one_after_another(network, composites, monkeypatch):
    yielded = []

    def counting(network, inputs):
        for name, layer in layer_by_layer(network, inputs):
            yielded.append(name)
            yield name, layer

    monkeypatch.setattr(sys.modules[LayerSaliences.__module__], "layer_by_layer", counting)
    found = layer_saliences(network, composites, layers=("pool", "input", "relu 1"))
    assert yielded == list(network.names[: network.names.index("pool") + 1])
    assert found.layers == ("pool", "input", "relu 1")


def test_frame_has_a_row_for_each_layer_and_order():
    network = mlp(8, layers=2, width=30, seed=1, nonlinearity="relu")
    found = layer_saliences(network, ONE_HOT, ROWS, self_pairs=True)
    frame = found.to_frame()
    assert frame["layer"].tolist() == ["input"] * 2 + ["layer 1"] * 2 + ["output"] * 2
    assert frame["order"].tolist() == [1, 2] * 3
    assert frame["salience"].tolist()[2:4] == found["layer 1"].salience.tolist()
    assert frame["structure"].iloc[0] == pytest.approx(1.0)
    assert frame[["low", "high"]].isna().all(axis=None)


def test_errors_say_rule_got_remedy(composites):
    network = mlp(8, layers=2, width=30, seed=1, nonlinearity="relu")
    with pytest.raises(InputError) as caught:
        layer_saliences(network, ONE_HOT, ROWS, layers=["layer 1", "layer 2"])
    assert str(caught.value) == (
        "a layer of this network is one of input, layer 1, output; got 'layer 2'; choose from them"
    )
    with pytest.raises(InputError, match="one of input, layer 1, output; got none; choose"):
        layer_saliences(network, ONE_HOT, ROWS, layers=[])
    with pytest.raises(InputError) as caught:
        layer_saliences(network, ONE_HOT)
    assert str(caught.value) == (
        "components say which tuple each input shows; got none; pass a row for each input"
    )
    images = image_network("convnet-small", composites.shape, seed=0)
    with pytest.raises(InputError) as caught:
        layer_saliences(images, composites, composites.components)
    assert str(caught.value) == (
        "composites know their components; got components beside them; leave components out"
    )
    many = Architecture(layers=2, width=5).networks(8, seeds=range(3))
    with pytest.raises(InputError) as caught:
        layer_saliences(many, ONE_HOT, ROWS)
    assert str(caught.value) == (
        "layers are those of one network; got networks along a leading axis; take one of them"
    )
    one = jax.tree.map(lambda w: w[1], many)
    assert layer_saliences(one, ONE_HOT, ROWS, self_pairs=True).layers[-1] == "output"
    with pytest.raises(InputError, match=r"needs a tuple with two samples.*pass self_pairs=True"):
        layer_saliences(network, ONE_HOT, ROWS)
