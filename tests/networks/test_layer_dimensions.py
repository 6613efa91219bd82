"""Dimensions of layers: against whole passes, and what the choice of statistics means."""

from __future__ import annotations

from importlib import import_module

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.measures.dimensions import participation_ratio, shared_dimensions
from partwhole.networks import Architecture, ImageNetwork, activations, image_network
from partwhole.networks.images.layers import BatchNorm, Drawn, Dropout, Flatten, Pass, trained
from partwhole.networks.layer_dimensions import layer_dimensions
from partwhole.tasks.images.digits import digit_images

reading = import_module("partwhole.networks.reading")
IMAGES = digit_images()[0][:40, :, :, None].astype(np.float32)


def moved(network, seed=1):
    """Return the network with other parameters and other running statistics."""
    rng = np.random.default_rng(seed)

    def move(leaf):
        # By NumPy, which compiles nothing.
        change = 0.1 * np.abs(rng.normal(size=leaf.shape)).astype(np.float32)
        return jnp.asarray(np.asarray(leaf) + change)

    return jax.tree.map(lambda leaf: move(leaf) if eqx.is_inexact_array(leaf) else leaf, network)


BEFORE = moved(image_network("resnet-small", (8, 8, 1), outputs=4, seed=0), seed=0)
AFTER = moved(BEFORE)
MANY = Architecture(3, 9, "relu").networks(5, seeds=[0, 1], outputs=2)
DENSE = jax.tree.map(lambda leaf: leaf[0], MANY)
ROWS = np.random.default_rng(0).normal(size=(20, 5))


def counted(before, after, center=False):
    """Return participation ratios before and after and shared dimensions, layer by layer."""
    rows = []
    for a, b in zip(before, after, strict=True):
        a, b = (np.asarray(each).reshape(len(each), -1) for each in (a, b))
        rows.append((
            participation_ratio(a, center=center), participation_ratio(b, center=center),
            shared_dimensions(a, b, center=center).value,
        ))  # fmt: skip
    return np.array(rows)


@eqx.filter_jit
def in_training(network):
    """Return what all layers give in training, and the statistics that were seen."""
    at = Pass(jax.random.key(0))
    return network._pass(IMAGES, at), at.seen


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("at_once", [7, 256])
def test_in_inference_as_whole_passes(center, at_once, monkeypatch):
    monkeypatch.setattr(reading, "AT_ONCE", at_once)
    found = layer_dimensions(BEFORE, AFTER, IMAGES, center=center)
    expected = counted(activations(BEFORE, IMAGES), activations(AFTER, IMAGES), center)
    assert found.layers == BEFORE.names
    table = np.column_stack([found.before, found.after, found.shared])
    # Rounding of single precision, in layers computed in one program or in many.
    np.testing.assert_allclose(table, expected, rtol=1e-4)
    assert np.all(found.shared <= np.sqrt(found.before * found.after) * (1 + 1e-12))


def test_in_batches_as_a_pass_in_training():
    found = layer_dimensions(BEFORE, AFTER, IMAGES, statistics="batch")
    expected = counted(*(in_training(each)[0] for each in (BEFORE, AFTER)))
    table = np.column_stack([found.before, found.after, found.shared])
    np.testing.assert_allclose(table, expected, rtol=1e-4)
    usual = layer_dimensions(BEFORE, AFTER, IMAGES)
    assert np.abs(usual.before - found.before).max() > 0.1


def test_batch_statistics_are_those_that_running_ones_come_to():
    # Normalised by the statistics of these very images, inference is the pass in training.
    network, seen = BEFORE, in_training(BEFORE)[1]

    def settled(node):
        if not isinstance(node, BatchNorm):
            return node
        mean, variance = seen[node.place]
        return BatchNorm(node.scale, node.shift, mean, variance, node.place)

    fixed = jax.tree.map(settled, network, is_leaf=lambda node: isinstance(node, BatchNorm))
    inferred = layer_dimensions(fixed, fixed, IMAGES).before
    batch = layer_dimensions(network, network, IMAGES, statistics="batch").before
    # Running variances are without bias: 1/159 and less of them, for 40 images of 2 x 2 places.
    np.testing.assert_allclose(inferred, batch, rtol=0.01)


def test_rescaling_changes_nothing_ahead_of_batch_normalisation():
    kept, rest = eqx.partition(BEFORE, trained(BEFORE))
    scaled = eqx.combine(
        jax.tree.map(lambda leaf: jnp.asarray(0.25 * np.asarray(leaf)), kept), rest
    )
    layers = ["stem", "norm", "relu"]
    by_batch = layer_dimensions(BEFORE, scaled, IMAGES, layers=layers, statistics="batch")
    # EPSILON beside the variance is felt in the fifth digit of weak channels.
    np.testing.assert_allclose(by_batch.before, by_batch.after, rtol=1e-2)
    running = layer_dimensions(BEFORE, scaled, IMAGES, layers=layers)
    assert np.abs(running.before[1:] / running.after[1:] - 1).max() > 0.1
    assert running.before[0] == pytest.approx(running.after[0], rel=1e-5)


def test_dropout_is_off_and_without_batch_normalisation_there_is_no_choice():
    drawn = Drawn(np.random.default_rng(0), "he")
    parts = (Flatten(), drawn.dense(64, 8), Dropout(0.5), drawn.dense(8, 4))
    before = ImageNetwork(parts, ("flat", "hidden", "dropout", "out"), (8, 8, 1))
    after = moved(before)
    either = [
        layer_dimensions(before, after, IMAGES, statistics=each) for each in ("inference", "batch")
    ]
    for name in ("before", "after", "shared"):
        np.testing.assert_allclose(*(getattr(each, name) for each in either), rtol=1e-5)
    expected = counted(activations(before, IMAGES), activations(after, IMAGES))
    np.testing.assert_allclose(either[0].shared, expected[:, 2], rtol=1e-4)


def test_layers_in_the_order_asked_for_and_composites():
    images, labels = digit_images()
    task = tasks.symbolic_addition(range(-1, 2), [0])
    composed = tasks.compose_images(task, images, labels, distance=0, combine="sum", seed=0)
    shown = composed.training(8)
    assert len(shown) == len(IMAGES)  # for which layers are compiled
    found = layer_dimensions(BEFORE, AFTER, shown, layers=("out", "stem"))
    whole = layer_dimensions(BEFORE, AFTER, np.asarray(shown[:], np.float32))
    np.testing.assert_array_equal(found.shared, whole.shared[[-1, 0]])
    frame = found.to_frame()
    assert frame.columns.tolist() == ["layer", "before", "after", "shared"]
    assert frame.layer.tolist() == ["out", "stem"]
    np.testing.assert_array_equal(frame.after, found.after)


@pytest.mark.parametrize("center", [False, True])
def test_dense_networks_by_their_second_moments(center):
    after = moved(DENSE)
    found = layer_dimensions(DENSE, after, ROWS, center=center)
    assert found.layers == ("layer 1", "layer 2", "output")
    a = b = ROWS
    for place in range(3):
        pair = []
        for network, x in ((DENSE, a), (after, b)):
            w, c = np.asarray(network.weights[place], float), network.biases[place]
            x = x @ w.T + np.asarray(c, float)
            pair.append(np.maximum(x, 0.0) if place < 2 else x)
        a, b = pair
        one, other = (each - each.mean(axis=0) if center else each for each in pair)
        one, other = (each.T @ each / np.sum(each**2) for each in (one, other))
        before, now = 1 / np.trace(one @ one), 1 / np.trace(other @ other)
        expected = [before, now, before * now * np.trace(one @ other)]
        table = [found.before[place], found.after[place], found.shared[place]]
        np.testing.assert_allclose(table, expected, rtol=1e-4)
    chosen = layer_dimensions(DENSE, after, ROWS, layers=["output", "layer 1"], center=center)
    np.testing.assert_array_equal(chosen.shared, found.shared[[2, 0]])


def silent():
    return eqx.tree_at(lambda net: net.parts[0].kernel, BEFORE, np.zeros((3, 3, 1, 16), np.float32))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"after": image_network("resnet-small", (8, 8, 1), outputs=3, seed=0)},
            "before and after are one network at two times; got networks of different layers or "
            "sizes; pass a network and what training made of it",
        ),
        (
            {"layers": ["stem", "relu 4"]},
            "a layer of this network is one of stem, norm, relu, stage 1, block 1, stage 2, block "
            "1, mean, flat, out; got 'relu 4'; choose from them",
        ),
        (
            {"layers": []},
            "a layer of this network is one of stem, norm, relu, stage 1, block 1, stage 2, block "
            "1, mean, flat, out; got none; choose from them",
        ),
        (
            {"inputs": IMAGES[:, 1:]},
            "inputs for this network have shape (n, 8, 8, 1); got shape (40, 7, 8, 1); pass one "
            "row for each",
        ),
        (
            {"statistics": "running"},
            'statistics is "inference" or "batch"; got \'running\'; choose one of them',
        ),
        (
            {"before": DENSE, "after": BEFORE},
            "before and after are one network at two times; got networks of different layers or "
            "sizes; pass a network and what training made of it",
        ),
        (
            {"before": DENSE, "after": DENSE, "inputs": ROWS, "layers": ["layer 3"]},
            "a layer of this network is one of layer 1, layer 2, output; got 'layer 3'; choose "
            "from them",
        ),
        (
            {"before": MANY, "after": MANY, "inputs": ROWS},
            "layers are those of one network; got networks along a leading axis; take one of them",
        ),
        ({"center": "no"}, "center is True or False; got 'no'; choose one of them"),
        (
            {"after": silent()},
            "in layer 'stem', before (a) and after (b), features are not all zero; got b of shape "
            "(40, 1024) without another number; look whether the layer's units are all silent",
        ),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    given = {"before": BEFORE, "after": AFTER, "inputs": IMAGES} | change
    with pytest.raises(InputError) as caught:
        layer_dimensions(**given)
    assert str(caught.value) == sentence
