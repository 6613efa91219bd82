"""Reading image networks: layers by name, composites as they are, chunks of one size."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.networks import activations, image_network, mlp, outputs, reading
from partwhole.tasks.images.digits import digit_images

NETWORK = image_network("resnet-small", (8, 12, 2), outputs=2, seed=0)


@pytest.fixture(scope="module")
def composites():
    images, labels = digit_images()
    task = tasks.symbolic_addition(range(-1, 2), [0])
    return tasks.compose_images(task, images, labels, distance=4, seed=0).draw(5)


def test_layers_by_name(composites):
    whole = activations(NETWORK, composites)
    assert len(whole) == len(NETWORK.names)
    mean, out = activations(NETWORK, composites, layers=("mean", "out"))
    np.testing.assert_allclose(mean, whole[NETWORK.names.index("mean")], atol=1e-6)
    np.testing.assert_allclose(out, whole[-1], atol=1e-6)
    np.testing.assert_allclose(outputs(NETWORK, composites), out, atol=1e-6)
    readout = NETWORK.parts[-1]
    by_hand = mean.reshape(len(mean), -1) @ np.asarray(readout.weight).T + np.asarray(readout.bias)
    np.testing.assert_allclose(out, by_hand, atol=1e-5)


@pytest.mark.parametrize("size", [1, 7, 45, 100])
def test_chunks_of_any_size_read_the_same(size, composites, monkeypatch):
    whole = outputs(NETWORK, composites)
    monkeypatch.setattr(reading, "AT_ONCE", size)
    np.testing.assert_allclose(outputs(NETWORK, composites), whole, atol=1e-6)
    np.testing.assert_allclose(outputs(NETWORK, composites[:]), whole, atol=1e-6)


def test_errors_say_rule_got_remedy(composites):
    with pytest.raises(InputError) as caught:
        activations(NETWORK, composites, layers=("relu 4", "out"))
    assert str(caught.value) == (
        "a layer of this network is one of stem, norm, relu, stage 1, block 1, stage 2, block 1, "
        "mean, flat, out; got 'relu 4'; choose from them"
    )
    with pytest.raises(InputError) as caught:
        outputs(NETWORK, np.zeros((3, 8, 8, 2), np.float32))
    assert str(caught.value) == (
        "inputs for this network have shape (n, 8, 12, 2); got shape (3, 8, 8, 2); pass one row "
        "for each"
    )
    with pytest.raises(InputError, match=r"have shape \(n, 2\); got shape \(45, 8, 12, 2\); pass"):
        outputs(mlp(2, seed=0), composites)
    with pytest.raises(InputError, match="a layer of this network is one of output; got 'out'"):
        activations(mlp(2, seed=0), np.zeros((3, 2)), layers=("out",))
