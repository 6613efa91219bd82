"""Image networks: shapes, numbers of parameters, and passes."""

from __future__ import annotations

from inspect import unwrap

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.networks import ImageNetwork, image_network
from partwhole.networks.images.convnet import convnet
from partwhole.networks.images.layers import Pass, trained
from partwhole.networks.images.presets import NETWORKS
from partwhole.networks.images.resnet import resnet
from partwhole.networks.images.transformer import vision_transformer
from partwhole.networks.network import each_layer


def shapes(network, n=2):
    x = jax.ShapeDtypeStruct((n, *network.shape), jnp.float32)
    found = jax.eval_shape(lambda net, x: list(each_layer(net, x, ())), network, x)
    return dict(zip(network.names, [layer.shape for layer in found], strict=True))


def test_the_published_convnet():
    network = image_network("convnet", (28, 28, 2), seed=0)
    # Counted by hand: kernels and biases, two numbers a channel of normalisation, dense layers.
    kernels = 25 * (2 * 32 + 32 * 32 + 32 * 64 + 64 * 64) + 2 * 32 + 2 * 64
    dense = (6 * 6 * 64 + 1) * 512 + 513 * 1024 + 1025
    assert network.n_parameters == kernels + 2 * (2 * 32 + 2 * 64) + dense
    found = shapes(network)
    assert [found[f"relu {i}"] for i in range(1, 5)] == [
        (2, 24, 24, 32), (2, 20, 20, 32), (2, 16, 16, 64), (2, 12, 12, 64)
    ]  # fmt: skip
    # The pool follows the fourth convolution, and layer 11 from the pixels is its ReLU.
    assert found["pool"] == (2, 6, 6, 64)
    assert network.names.index("relu 4") + 1 == 11
    wide = image_network("convnet", (28, 48, 2), seed=0)
    assert shapes(wide)["flat"] == (2, 6 * 16 * 64)


@pytest.mark.parametrize(
    ("network", "parameters"),
    [
        # Numbers that everybody gets: ResNet-18 on ImageNet, and its variant for CIFAR-10.
        (
            lambda: resnet((224, 224, 3), outputs=1000, channels=(64, 128, 256, 512),
                           stem="ImageNet", pool=None, seed=0),
            11_689_512,
        ),
        (
            lambda: resnet((32, 32, 3), outputs=10, channels=(64, 128, 256, 512), seed=0),
            11_173_962,
        ),
        # ViT-B/16 has 86,567,656, of which queries, keys and values have 12 x 2,304 biases.
        (
            lambda: vision_transformer((224, 224, 3), outputs=1000, patch=16, width=768, depth=12,
                                       heads=12, hidden=3072, seed=0),
            86_567_656 - 12 * 2304,
        ),
    ],
)  # fmt: skip
def test_known_numbers_of_parameters(network, parameters):
    assert network().n_parameters == parameters


def test_published_networks_of_cifar():
    small = image_network("resnet", (32, 32, 6), seed=0)
    found = shapes(small)
    assert found["stage 1, block 2"] == (2, 32, 32, 16)
    assert found["stage 4, block 2"] == (2, 4, 4, 128)
    assert found["flat"] == (2, 128)
    imagenet = shapes(image_network("resnet-18", (32, 32, 3), outputs=100, seed=0))
    assert imagenet["pool"] == (2, 8, 8, 64)
    assert imagenet["stage 4, block 2"] == (2, 1, 1, 512)
    assert imagenet["out"] == (2, 100)
    tokens = shapes(image_network("vit-finetuning", (32, 32, 3), outputs=100, seed=0))
    assert tokens["embedding"] == (2, 65, 384)
    assert sum(name.startswith("block") for name in tokens) == 7
    vit = image_network("vit", (32, 32, 6), seed=0)
    inner, d, h = 6 * 64, 256, 256
    block = 4 * d + 3 * d * inner + (inner + 1) * d + (d + 1) * h + (h + 1) * d
    assert vit.n_parameters == (64 * 6 + 1) * d + d + 17 * d + 4 * block + 2 * d + d + 1


@pytest.mark.parametrize("name", [name for name in NETWORKS if name.endswith("small")])
def test_small_networks_take_digits_side_by_side(name):
    for wide in (8, 12, 16):
        network = image_network(name, (8, wide, 2), outputs=3, seed=0)
        assert shapes(network)["out"] == (2, 3)
        assert network.n_parameters < 100_000
    if name == "convnet-small":
        found = shapes(network)
        assert [found[f"conv {i}"][3] for i in range(1, 5)] == [16, 16, 32, 32]
        assert found["conv 4"][1:3] == (8, 16)
        assert found["pool"][1:3] == (4, 8)
        assert found["dense 1"] == (2, 64)


def key(seed):
    """Return a key of the kind whose bits are the quickest to compile."""
    return jax.random.key(seed, impl="unsafe_rbg")


def tiny_vit():
    return vision_transformer(
        (8, 8, 2), patch=4, width=8, depth=1, heads=2, head_width=4, hidden=16, dropout=0.1, seed=0
    )


@pytest.mark.parametrize("name", ["convnet-small", "resnet-small", "with dropout"])
def test_passes(name):
    network = tiny_vit() if name == "with dropout" else image_network(name, (8, 8, 2), seed=0)
    x, others = np.random.default_rng(0).random((2, 6, 8, 8, 2), dtype=np.float32)
    answer = eqx.filter_jit(ImageNetwork.__call__)
    still = np.asarray(answer(network, x))
    # In inference an example's answer does not depend on its batch; 1e-5 is single precision.
    for kept in (slice(None, 3), slice(3, None)):
        beside = 2.0 * others
        beside[kept] = x[kept]
        found = np.asarray(answer(network, beside))
        np.testing.assert_allclose(found[kept], still[kept], atol=1e-5)
    run = eqx.filter_jit(ImageNetwork.in_training)
    outputs, after = run(network, x, key(0))
    again, _ = run(network, x, key(0))
    np.testing.assert_array_equal(outputs, again)
    other, _ = run(network, x, key(1))
    assert np.array_equal(outputs, other) == (name != "with dropout")
    # Training changes running statistics and nothing else; what it trains is the rest.
    parts = [eqx.partition(each, trained(network)) for each in (network, after)]
    for before, now in zip(*(jax.tree.leaves(part[0]) for part in parts), strict=True):
        np.testing.assert_array_equal(before, now)
    moved = [
        not np.array_equal(before, now)
        for before, now in zip(*(jax.tree.leaves(part[1]) for part in parts), strict=True)
    ]
    assert moved == [True] * {"convnet-small": 8, "resnet-small": 12, "with dropout": 0}[name]


@pytest.mark.parametrize("name", ["convnet-small", "resnet-small", "vit-small"])
def test_every_parameter_has_a_slope(name):
    network = image_network(name, (8, 8, 2), outputs=3, seed=0)
    x = np.random.default_rng(0).random((16, 8, 8, 2), dtype=np.float32)
    kept, rest = eqx.partition(network, trained(network))

    def loss(kept):
        outputs, _ = eqx.combine(kept, rest).in_training(x, key(0))
        return jnp.mean(outputs**2) + jnp.mean(outputs[:, 0])

    slopes = jax.tree.leaves(jax.jit(jax.grad(loss))(kept))
    assert len(slopes) == len(jax.tree.leaves(kept))
    assert all(np.abs(slope).max() > 0 for slope in slopes)


@pytest.mark.parametrize("kind", [np.float16, np.float64])
@pytest.mark.parametrize("name", ["convnet", "vit"])
def test_images_of_any_precision(name, kind):
    # Small, since each kind of layer is compiled by itself, for every shape.
    network = (
        tiny_vit()
        if name == "vit"
        else convnet((8, 8, 2), channels=(4,), kernel=3, dense=(), seed=0)
    )
    # Multiples of 1/16, as digits are, have the same value in every precision.
    x = np.random.default_rng(0).integers(0, 17, (2, 8, 8, 2)) / 16.0
    found = network(x.astype(kind))
    assert found.dtype == jnp.float32
    np.testing.assert_array_equal(found, network(x.astype(np.float32)))


def test_seeds():
    def leaves(seed):
        return jax.tree.leaves(image_network("convnet-small", (8, 8, 2), seed=seed))

    assert all(np.array_equal(a, b) for a, b in zip(leaves(0), leaves(0), strict=True))
    assert not np.array_equal(leaves(0)[0], leaves(1)[0])


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (
            lambda: image_network("alexnet", (8, 8, 1), seed=0),
            "a network is one of convnet, resnet, vit, convnet-small, resnet-small, vit-small, "
            "resnet-18, vit-finetuning; got 'alexnet'; or draw one by convnet, resnet or "
            "vision_transformer",
        ),
        (
            lambda: image_network("convnet", (8, 8, 1), seed=0),
            "4 convolutions of 5 x 5 and a pool take images of at least 18 pixels to a side; got "
            '8 x 8; pass padding="SAME", or use the preset convnet-small',
        ),
        (
            lambda: image_network("resnet", (8, 8, 1), seed=0),
            "what the last stage leaves has at least 4 places to a side, which are averaged; got "
            "1 x 1 of images of 8 x 8; pass pool=None, or fewer stages",
        ),
        (
            lambda: image_network("vit-small", (8, 13, 1), seed=0),
            "patches of 2 x 2 pixels divide an image; got 8 x 13; choose another distance, or "
            "another patch",
        ),
        (
            lambda: image_network("convnet-small", (8, 8, 1), seed=0)(np.zeros((2, 8, 9, 1))),
            "images for this network have shape (n, 8, 8, 1); got shape (2, 8, 9, 1); draw a "
            "network for their shape",
        ),
        (
            lambda: image_network("vit-small", (8, 8, 1), seed=0)(
                np.zeros((0, 8, 8, 1), np.float32)
            ),
            "images for this network have shape (n, 8, 8, 1); got shape (0, 8, 8, 1); pass some "
            "images",
        ),
        (
            lambda: unwrap(ImageNetwork._pass)(
                image_network("vit-small", (8, 8, 1), seed=0),
                np.zeros((2, 8, 8, 1), np.uint8),
                Pass(),
            ),
            "images are floating-point; got uint8; divide grey levels by their largest, say",
        ),
        (
            lambda: image_network("convnet-small", (8, 8, 1), outputs=0, seed=0),
            "outputs is a whole number of at least 1; got 0; pass a whole number of at least 1, or "
            "leave it out for 1",
        ),
        (
            lambda: image_network("resnet-small", (8, 8, 1), outputs=0, seed=0),
            "outputs is a whole number of at least 1; got 0; pass a whole number of at least 1, or "
            "leave it out for 1",
        ),
        (
            lambda: image_network("vit-small", (8, 8, 1), outputs=0, seed=0),
            "outputs is a whole number of at least 1; got 0; pass a whole number of at least 1, or "
            "leave it out for 1",
        ),
        (
            lambda: convnet((28, 28, 1), channels=(8, 0), seed=0),
            "channels[1] is a whole number of at least 1; got 0; pass a whole number of at least 1",
        ),
        (
            lambda: resnet((32, 32, 1), pool=0, seed=0),
            "pool is a whole number of at least 1; got 0; pass a whole number of at least 1, or "
            "leave it out for 4",
        ),
        (
            lambda: vision_transformer((8, 8, 1), patch=-2, seed=0),
            "patch is a whole number of at least 1; got -2; pass a whole number of at least 1, or "
            "leave it out for 8",
        ),
        (
            lambda: convnet((28, 28, 1), padding="same", seed=0),
            'padding is "SAME" or "VALID"; got \'same\'; choose one of them',
        ),
        (
            lambda: resnet((32, 32, 1), stem="imagenet", seed=0),
            'stem is "small images" or "ImageNet"; got \'imagenet\'; choose one of them',
        ),
        (
            lambda: vision_transformer((8, 8, 1), initial="xavier", seed=0),
            'initial is "framework" or "he"; got \'xavier\'; choose one of them',
        ),
        (
            lambda: convnet((28, 28, 1), seed=-1),
            "seed is a whole number of at least 0; got -1; pass a whole number of at least 0",
        ),
        (
            lambda: resnet((32, 32, 1), seed=-1),
            "seed is a whole number of at least 0; got -1; pass a whole number of at least 0",
        ),
        (
            lambda: vision_transformer((8, 8, 1), seed=-1),
            "seed is a whole number of at least 0; got -1; pass a whole number of at least 0",
        ),
        (
            lambda: vision_transformer((8, 8, 1), dropout=1.0, seed=0),
            "dropout is a finite number of at least 0 and below 1; got 1.0; pass a number of at "
            "least 0 and below 1, or leave it out for 0.1",
        ),
        (
            lambda: resnet((32, 32, 3), channels=(16,), blocks=(2, 2), seed=0),
            "every stage has channels and a number of blocks; got 1 and 2; pass as many of both",
        ),
        (
            lambda: convnet((28, 28), seed=0),
            "the shape of an image is its height, width and channels; got (28, 28); pass "
            "composites.shape, say",
        ),
    ],
)
def test_errors_say_rule_got_remedy(build, sentence):
    with pytest.raises(InputError) as caught:
        build()
    assert str(caught.value) == sentence
