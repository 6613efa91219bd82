"""Layers of image networks against plain NumPy."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import correlate2d
from scipy.special import softmax

from partwhole.networks.images.layers import (
    BatchNorm,
    Drawn,
    Dropout,
    LayerNorm,
    MaxPool,
    MeanPool,
    Pass,
    trained,
    with_statistics,
)
from partwhole.networks.images.transformer import Attention, Embedding

# Sums of some hundred products of order 1 in single precision.
CLOSE = {"rtol": 2e-5, "atol": 2e-5}


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@eqx.filter_jit
def inferred(layer, x):
    """Return what a layer gives in inference; as one program, which compiles faster."""
    return layer(x, Pass())


def on(layer, x, at=None):
    x = jnp.asarray(x)
    return np.asarray(inferred(layer, x) if at is None else layer(x, at))


def drawn(law="he"):
    return Drawn(np.random.default_rng(1), law)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("padding", "mode"), [("SAME", "same"), ("VALID", "valid")])
def test_convolution_is_correlation(stride, padding, mode):
    layer = drawn("framework").conv(3, 2, 4, stride=stride, padding=padding)
    x = draw(2, 7, 9, 2)  # odd sizes: "SAME" pads alike on both sides with stride 2 too
    kernel, bias = np.asarray(layer.kernel), np.asarray(layer.bias)
    expected = np.stack(
        [
            [
                sum(correlate2d(image[..., i], kernel[..., i, o], mode) for i in range(2)) + bias[o]
                for o in range(4)
            ]
            for image in x
        ]
    ).transpose(0, 2, 3, 1)
    np.testing.assert_allclose(on(layer, x), expected[:, ::stride, ::stride], **CLOSE)


def test_pools_by_loops():
    x = draw(2, 7, 6, 3)
    found = on(MaxPool(3, 2, 1), x)
    padded = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)], constant_values=-np.inf)
    assert found.shape == (2, 4, 3, 3)
    for i in range(4):
        for j in range(3):
            window = padded[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
            np.testing.assert_array_equal(found[:, i, j], window.max(axis=(1, 2)))
    means = on(MeanPool(2), x)
    assert means.shape == (2, 3, 3, 3)
    np.testing.assert_allclose(means[:, 2, 1], x[:, 4:6, 2:4].mean(axis=(1, 2)), **CLOSE)
    whole = on(MeanPool(), x)
    np.testing.assert_allclose(whole, x.mean(axis=(1, 2), keepdims=True), **CLOSE)


def norm(c=3):
    return BatchNorm(
        jnp.asarray(draw(c)), jnp.asarray(draw(c, seed=1)), jnp.asarray(draw(c, seed=2)),
        jnp.asarray(draw(c, seed=3) ** 2 + 0.5), 0,
    )  # fmt: skip


def test_batches_normalise_themselves_in_training_only():
    layer, x = norm(), 3.0 + 2.0 * draw(5, 4, 2, 3)
    scale, shift, mean, variance = map(
        np.asarray, (layer.scale, layer.shift, layer.mean, layer.variance)
    )
    still = scale * (x - mean) / np.sqrt(variance + 1e-5) + shift
    np.testing.assert_allclose(on(layer, x), still, **CLOSE)
    rows = x.reshape(-1, 3)
    at = Pass(jax.random.key(0))
    moving = scale * (x - rows.mean(axis=0)) / np.sqrt(rows.var(axis=0) + 1e-5) + shift
    np.testing.assert_allclose(on(layer, x, at), moving, **CLOSE)
    # A tenth of the statistics is replaced; the variance is the unbiased one.
    after = with_statistics(layer, at)
    np.testing.assert_allclose(after.mean, 0.9 * mean + 0.1 * rows.mean(axis=0), **CLOSE)
    new = 0.9 * variance + 0.1 * rows.var(axis=0, ddof=1)
    np.testing.assert_allclose(after.variance, new, **CLOSE)
    np.testing.assert_array_equal(after.scale, scale)


def test_running_statistics_are_not_trained():
    marks = trained(norm())
    assert (marks.scale, marks.shift, marks.mean, marks.variance) == (True, True, False, False)


def test_layers_normalise_each_example():
    layer, x = LayerNorm(jnp.asarray(draw(6)), jnp.asarray(draw(6, seed=1))), draw(2, 3, 6, seed=4)
    spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    expected = (x - x.mean(axis=-1, keepdims=True)) / spread * np.asarray(layer.scale) + np.asarray(
        layer.shift
    )
    np.testing.assert_allclose(on(layer, x), expected, **CLOSE)


def test_dropout_keeps_the_mean_and_rests_in_inference():
    x = np.ones((400, 500), np.float32)
    np.testing.assert_array_equal(on(Dropout(0.2), x), x)
    found = on(Dropout(0.2), x, Pass(jax.random.key(0)))
    assert set(np.unique(found)) == {0.0, np.float32(1.25)}
    # The share of 200,000 draws varies by .0009.
    assert abs((found == 0).mean() - 0.2) < 0.004
    at = Pass(jax.random.key(0))
    first, second = on(Dropout(0.5), x, at), on(Dropout(0.5), x, at)
    assert not np.array_equal(first, second)


def test_attention_by_loops():
    n, t, d, heads, e = 2, 4, 6, 3, 5
    make = drawn("framework")
    layer = Attention(
        heads, make.dense(d, 3 * heads * e, bias=False), make.dense(heads * e, d), Dropout(0.0)
    )
    x = draw(n, t, d)
    inward, outward = np.asarray(layer.inward.weight), np.asarray(layer.outward.weight)
    found = on(layer, x)
    for image, answer in zip(x, found, strict=True):
        q, k, v = (image @ inward.T).reshape(t, 3, heads, e).transpose(1, 2, 0, 3)
        taken = [softmax(q[h] @ k[h].T / np.sqrt(e), axis=1) @ v[h] for h in range(heads)]
        expected = np.concatenate(taken, axis=1) @ outward.T + np.asarray(layer.outward.bias)
        np.testing.assert_allclose(answer, expected, **CLOSE)


def test_patches_are_cut_row_by_row():
    make = drawn()
    x = draw(2, 4, 6, 3)
    layer = Embedding(
        2, make.dense(12, 5, bias=False), jnp.zeros((1, 1, 5)), jnp.zeros((1, 7, 5)), Dropout(0.0)
    )
    found = on(layer, x)
    assert found.shape == (2, 7, 5)
    np.testing.assert_array_equal(found[:, 0], 0.0)
    for place in range(6):
        i, j = divmod(place, 3)
        patch = x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].reshape(2, -1)
        weight = np.asarray(layer.tokens.weight)
        np.testing.assert_allclose(found[:, 1 + place], patch @ weight.T, **CLOSE)


@pytest.mark.parametrize(
    ("law", "spread"),
    [("he", np.sqrt(2 / 450)), ("he, fan out", np.sqrt(2 / 900)), ("framework", 1 / np.sqrt(1350))],
)
def test_laws_of_weights(law, spread):
    layer = drawn(law).conv(3, 50, 100)
    kernel = np.asarray(layer.kernel)
    # A standard deviation from 45,000 draws is known to .4 %.
    assert kernel.std() == pytest.approx(spread, rel=0.02)
    assert abs(kernel.mean()) < 0.03 * spread
    biases = np.asarray(layer.bias)
    assert np.all(biases == 0.0) == (law != "framework")
    assert np.abs(biases).max() <= 1 / np.sqrt(450)
