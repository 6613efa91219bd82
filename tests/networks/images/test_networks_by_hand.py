"""Whole image networks in plain NumPy, and their numbers of parameters counted by hand."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf, softmax

from partwhole.networks import ImageNetwork, image_network

# Some ten layers of sums of some hundred products of order 1, in single precision.
CLOSE = {"rtol": 2e-4, "atol": 2e-4}


def drawn(name, shape, outputs):
    """Return a network whose every array is drawn, biases and running statistics too."""
    network = image_network(name, shape, outputs=outputs, seed=0)
    rng = np.random.default_rng(1)

    def moved(path, leaf):
        place = jax.tree_util.keystr(path)
        if place.endswith(".variance"):
            return (0.5 + rng.random(leaf.shape)).astype(np.float32)
        # By NumPy, which compiles nothing.
        return np.asarray(leaf) + np.asarray(0.1 * rng.standard_normal(leaf.shape), np.float32)

    return jax.tree.map(jnp.asarray, jax.tree_util.tree_map_with_path(moved, network))


def conv(layer, x, stride=1):
    """Convolve with as much padding as keeps the size, then keep every stride-th place."""
    kernel = np.asarray(layer.kernel, float)
    side = kernel.shape[0] // 2
    wide = np.pad(x, [(0, 0), (side, side), (side, side), (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(wide, kernel.shape[:2], axis=(1, 2))
    found = np.einsum("nhwiab,abio->nhwo", windows, kernel)[:, ::stride, ::stride]
    return found if layer.bias is None else found + np.asarray(layer.bias)


def norm(layer, x):
    scale, shift, mean, variance = (
        np.asarray(each, float) for each in (layer.scale, layer.shift, layer.mean, layer.variance)
    )
    return scale * (x - mean) / np.sqrt(variance + 1e-5) + shift


def layer_norm(layer, x):
    spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    centred = x - x.mean(axis=-1, keepdims=True)
    return np.asarray(layer.scale) * centred / spread + np.asarray(layer.shift)


def dense(layer, x):
    found = x @ np.asarray(layer.weight, float).T
    return found if layer.bias is None else found + np.asarray(layer.bias)


def relu(x):
    return np.maximum(x, 0.0)


def convnet_by_hand(network, x):
    part = dict(zip(network.names, network.parts, strict=True))
    for i in range(1, 5):
        x = norm(part[f"norm {i}"], relu(conv(part[f"conv {i}"], x)))
    n, h, w, c = x.shape
    x = x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4)).reshape(n, -1)
    return dense(part["out"], relu(dense(part["dense 1"], x)))


def resnet_by_hand(network, x):
    part = dict(zip(network.names, network.parts, strict=True))
    x = relu(norm(part["norm"], conv(part["stem"], x)))
    for stage in (1, 2):
        block, stride = part[f"stage {stage}, block 1"], stage
        hidden = relu(norm(block.norm_1, conv(block.conv_1, x, stride)))
        hidden = norm(block.norm_2, conv(block.conv_2, hidden))
        if block.skip is not None:
            x = norm(block.skip[1], conv(block.skip[0], x, stride))
        x = relu(hidden + x)
    # Windows of 4 x 4, of which an image 12 wide fills one: a third of the columns are left out.
    means = [x[:, :4, at : at + 4].mean(axis=(1, 2)) for at in range(0, x.shape[2] - 3, 4)]
    return dense(part["out"], np.concatenate(means, axis=1))


def vit_by_hand(network, x):
    part = dict(zip(network.names, network.parts, strict=True))
    n, h, w, _ = x.shape
    patches = [
        x[:, i : i + 2, j : j + 2].reshape(n, -1) for i in range(0, h, 2) for j in range(0, w, 2)
    ]
    start = part["embedding"]
    tokens = dense(start.tokens, np.stack(patches, axis=1))
    whole = np.broadcast_to(np.asarray(start.whole), (n, 1, 64))
    x = np.concatenate([whole, tokens], axis=1) + np.asarray(start.positions)
    for i in (1, 2):
        block = part[f"block {i}"]
        q, k, v = np.split(dense(block.attention.inward, layer_norm(block.norm_1, x)), 3, axis=-1)
        taken = []
        for at in (slice(0, 32), slice(32, 64)):
            weights = softmax(q[..., at] @ k[..., at].swapaxes(1, 2) / np.sqrt(32.0), axis=-1)
            taken.append(weights @ v[..., at])
        x = x + dense(block.attention.outward, np.concatenate(taken, axis=-1))
        hidden = dense(block.dense_1, layer_norm(block.norm_2, x))
        hidden = hidden * 0.5 * (1.0 + erf(hidden / np.sqrt(2.0)))
        x = x + dense(block.dense_2, hidden)
    return dense(part["out"], layer_norm(part["first token"].norm, x[:, 0]))


@pytest.mark.parametrize(
    ("name", "by_hand"),
    [
        ("convnet-small", convnet_by_hand),
        ("resnet-small", resnet_by_hand),
        ("vit-small", vit_by_hand),
    ],
)
def test_small_networks_are_what_plain_numpy_makes(name, by_hand):
    network = drawn(name, (8, 12, 2), 3)
    x = np.random.default_rng(0).random((4, 8, 12, 2), dtype=np.float32)
    found = eqx.filter_jit(ImageNetwork.__call__)(network, x)
    np.testing.assert_allclose(found, by_hand(network, x.astype(float)), **CLOSE)


def resnet_count(inputs, channels, blocks, stem, readout):
    """Count 3 x 3 kernels without biases, two numbers a channel of normalisation, and skips."""
    total, before = stem * stem * inputs * channels[0] + 2 * channels[0], channels[0]
    for units, count in zip(channels, blocks, strict=True):
        skip = 0 if before == units else before * units + 2 * units
        total += 9 * units * (before + (2 * count - 1) * units) + 4 * count * units + skip
        before = units
    return total + readout


def vit_count(inputs, tokens, width, depth, inner, hidden, outputs):
    block = 4 * width + 3 * width * inner + (inner + 1) * width
    block += (width + 1) * hidden + (hidden + 1) * width
    whole = (inputs + 1) * width + width + (tokens + 1) * width
    return whole + depth * block + 2 * width + (width + 1) * outputs


@pytest.mark.parametrize(
    ("name", "shape", "outputs", "count"),
    [
        (
            "resnet", (32, 32, 6), 1,
            resnet_count(6, (16, 32, 64, 128), (2, 2, 2, 2), 3, 129),
        ),
        (
            "resnet-18", (32, 32, 3), 100,
            resnet_count(3, (64, 128, 256, 512), (2, 2, 2, 2), 7, 513 * 100),
        ),
        ("vit", (32, 32, 6), 1, vit_count(64 * 6, 16, 256, 4, 6 * 64, 256, 1)),
        ("vit-finetuning", (32, 32, 3), 100, vit_count(48, 64, 384, 7, 384, 1536, 100)),
        (
            "convnet-small", (8, 12, 2), 1,
            9 * (2 * 16 + 16 * 16 + 16 * 32 + 32 * 32) + 3 * 96 + (4 * 6 * 32 + 1) * 64 + 65,
        ),
        ("resnet-small", (8, 16, 2), 1, resnet_count(2, (16, 32), (1, 1), 3, 2 * 32 + 1)),
        ("vit-small", (8, 12, 2), 1, vit_count(8, 24, 64, 2, 64, 128, 1)),
    ],
)  # fmt: skip
def test_numbers_of_parameters_counted_by_hand(name, shape, outputs, count):
    assert image_network(name, shape, outputs=outputs, seed=0).n_parameters == count
