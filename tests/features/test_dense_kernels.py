"""Kernels of wide dense networks: drawn networks, the recursion for one-hot inputs, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.features.dense_kernels import dense_kernel

X = np.random.default_rng(0).normal(size=(6, 4))


def grid(n, components):
    """Return one-hot rows of all tuples, and how many components two of them share."""
    places = np.stack(np.meshgrid(*[np.arange(n)] * components, indexing="ij"), -1)
    places = places.reshape(-1, components)
    rows = np.concatenate([np.eye(n)[column] for column in places.T], axis=1)
    return rows, (places[:, None] == places).sum(axis=2)


@pytest.mark.parametrize("depth", [0, 1, 2, 5, 20])
@pytest.mark.parametrize("kind", ["nngp", "ntk"])
@pytest.mark.parametrize("components", [2, 3])
def test_one_hot_inputs_have_the_saliences_of_the_overlap_kernel(depth, kind, components):
    rows, shared = grid(3, components)
    found = dense_kernel(rows, depth, kind)
    kappa = np.array([found[shared == k].mean() for k in range(components + 1)])
    for k in range(components + 1):
        np.testing.assert_allclose(found[shared == k], kappa[k], rtol=1e-10)
    law = OverlapKernel.random_network("relu", components, depth, kind)
    told = np.array([law.similarity[k] for k in range(components + 1)])
    # Both up to size and what all tuples share; angles near 0 keep half of the digits.
    np.testing.assert_allclose(
        (kappa - kappa[0]) / (kappa[-1] - kappa[0]), (told - told[0]) / (told[-1] - told[0]),
        atol=1e-6,
    )  # fmt: skip


def test_drawn_networks():
    """Outputs of 4,000 networks of 100 units: entries are known to about 3 %."""
    # A law of its own for every layer.
    v, b, rng = (1.7, 2.2, 0.8), (0.3, 0.0, 0.6), np.random.default_rng(1)
    outputs = []
    for _ in range(4000):
        h = X
        for layer in (0, 1):
            weights = rng.normal(size=(h.shape[1], 100)) * np.sqrt(v[layer] / h.shape[1])
            h = np.maximum(h @ weights + np.sqrt(b[layer]) * rng.normal(size=100), 0.0)
        readout = rng.normal(size=100) * np.sqrt(v[2] / 100)
        outputs.append(h @ readout + np.sqrt(b[2]) * rng.normal())
    drawn = np.cov(np.array(outputs).T, bias=True)
    expected = dense_kernel(X, 2, weight_variance=v, bias_variance=b)
    np.testing.assert_allclose(drawn, expected, atol=0.1 * expected.max())
    assert np.abs(drawn - expected).mean() < 0.03 * expected.max()


def test_two_layers_by_hand():
    k = 2.0 / 4 * X @ X.T
    size = np.sqrt(np.diag(k))
    angle = np.arccos(np.clip(k / np.outer(size, size), -1, 1))
    np.fill_diagonal(angle, 0.0)
    moment = np.outer(size, size) * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
    np.testing.assert_allclose(dense_kernel(X, 1), moment, rtol=1e-12)
    tangent = moment + (np.pi - angle) / np.pi * k
    np.testing.assert_allclose(dense_kernel(X, 1, "ntk"), tangent, rtol=1e-12)


def test_a_second_set_size_and_inputs_of_zero():
    z = np.vstack([X[2], np.zeros(4), -3.0 * X[0]])
    both = dense_kernel(np.vstack([X, z]), 3, "ntk", bias_variance=0.1)
    np.testing.assert_allclose(
        dense_kernel(X, 3, "ntk", other=z, bias_variance=0.1), both[:6, 6:], rtol=1e-7
    )
    # Without biases the kernel grows with its inputs, and an input of zero has none.
    plain = dense_kernel(X, 3, other=z)
    np.testing.assert_allclose(dense_kernel(1e-6 * X, 3, other=1e6 * z), plain, rtol=1e-9)
    np.testing.assert_array_equal(plain[:, 1], 0.0)
    assert np.isfinite(both).all()
    assert np.linalg.eigvalsh(both).min() > -1e-12 * np.linalg.eigvalsh(both).max()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"depth": -1},
            "depth is a whole number of at least 0; got -1; pass a whole number of at le",
        ),
        ({"kind": "gp"}, 'kind is "nngp" or "ntk"; got .gp.; choose one of them'),
        ({"weight_variance": 0}, "above 0, one number or 2; got 0; pass 2, which keeps the size"),
        ({"weight_variance": (1.0, 2.0, 1.0)}, r"one number or 2; got \(1.0, 2.0, 1.0\); pass 2"),
        ({"bias_variance": (0.0, -1)}, r"is at least 0, one number or 2; got \(0.0, -1\); pass 0"),
        ({"other": X[:, :2]}, "inputs and other have equal length along d; got 4 and 2; pass both"),
        (
            {"inputs": X * np.nan},
            "inputs is an array of finite numbers .* 24 that are NaN, the",
        ),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    with pytest.raises(InputError, match=sentence):
        dense_kernel(**({"inputs": X, "depth": 1} | change))
