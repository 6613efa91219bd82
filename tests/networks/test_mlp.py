"""Networks against plain NumPy, and the laws they are drawn from."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.networks import MLP, Architecture, activations, mlp, outputs


def by_hand(network: MLP, inputs: np.ndarray) -> list[np.ndarray]:
    found, h = [], inputs
    for place, weight in enumerate(network.weights):
        h = h @ np.asarray(weight, dtype=float).T
        if network.biases is not None:
            h = h + np.asarray(network.biases[place], dtype=float)
        if network.nonlinearity == "relu" and place < len(network.weights) - 1:
            h = np.maximum(h, 0)
        found.append(h)
    return found


@pytest.mark.parametrize("nonlinearity", ["linear", "relu"])
@pytest.mark.parametrize("bias", [True, False])
def test_every_layer_is_what_numpy_gives(nonlinearity, bias):
    network = mlp(3, layers=3, width=5, seed=1, nonlinearity=nonlinearity, bias=bias)
    points = np.random.default_rng(0).standard_normal((7, 3))
    for found, wanted in zip(activations(network, points), by_hand(network, points), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)  # float32
    one = network(jnp.asarray(points[2], dtype=jnp.float32))
    np.testing.assert_allclose(one, outputs(network, points)[2], atol=1e-6)


@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_network_is_one_affine_map(bias):
    many = Architecture(layers=3, width=4, bias=bias).networks(2, seeds=range(5))
    matrix, offset = many.end_to_end()
    points = np.random.default_rng(0).standard_normal((6, 2)).astype(np.float32)
    answers = np.einsum("nij,kj->nki", matrix, points)
    if offset is not None:
        answers = answers + np.asarray(offset)[:, None]
    assert (offset is None) == (not bias)
    np.testing.assert_allclose(outputs(many, points), answers, atol=1e-6)


def test_many_at_once_are_the_ones_drawn_alone():
    built = Architecture(layers=2, width=6, nonlinearity="relu")
    many = built.networks(3, seeds=[4, 9])
    for place, seed in enumerate([4, 9]):
        alone = built.network(3, seed=seed)
        for one, other in zip(jax.tree.leaves(many), jax.tree.leaves(alone), strict=True):
            np.testing.assert_array_equal(one[place], other)


def test_leading_axes_are_kept():
    many = Architecture(layers=2).networks(3, seeds=range(6))
    grid = jax.tree.map(lambda w: w.reshape(2, 3, *w.shape[1:]), many)
    points = np.eye(3)
    found = outputs(grid, points)
    assert found.shape == (2, 3, 3, 3)
    np.testing.assert_allclose(found.reshape(6, 3, 3), outputs(many, points), atol=1e-6)


def test_initial_laws_have_their_moments():
    # 20,000 entries: means within 4 standard errors, spreads within 4 %.
    wide = Architecture(layers=1).network(141, seed=0)
    entries = np.asarray(wide.weights[0]).ravel()
    reach = 141**-0.5
    assert np.abs(entries).max() <= reach
    assert abs(entries.mean()) < 4 * reach / np.sqrt(3 * len(entries))
    assert entries.var() == pytest.approx(1 / (3 * 141), rel=0.04)
    assert wide.biases is not None
    assert 0.5 * reach < np.abs(np.asarray(wide.biases[0])).max() <= reach

    normal = Architecture(layers=1, initial="normal", scale=0.3).network(141, seed=0)
    entries = np.asarray(normal.weights[0]).ravel()
    assert abs(entries.mean()) < 4 * 0.3 / np.sqrt(len(entries))
    assert entries.std() == pytest.approx(0.3, rel=0.04)

    built = Architecture(layers=2, width=1000, bias=False, initial="he", scale=0.5)
    for weight, size, inputs in zip(
        built.network(20, seed=0, outputs=20).weights, [(1000, 20), (20, 1000)], [20, 1000],
        strict=True,
    ):  # fmt: skip
        entries = np.asarray(weight)
        assert entries.shape == size
        assert abs(entries.mean()) < 4 * 0.5 * np.sqrt(2 / inputs) / np.sqrt(entries.size)
        assert entries.std() == pytest.approx(0.5 * np.sqrt(2 / inputs), rel=0.04)

    uniform = Architecture(layers=2, initial="uniform", scale=0.2).network(141, seed=0)
    entries = np.asarray(uniform.weights[1]).ravel()
    assert 0 <= entries.min() <= entries.max() <= 0.2
    assert entries.mean() == pytest.approx(0.1, rel=0.04)
    assert uniform.biases is not None
    assert all(not np.asarray(each).any() for each in uniform.biases)


def test_biases_may_spread_as_their_layer_does():
    told = {"layers": 2, "width": 5000, "initial": "he", "scale": 0.5}
    spread = Architecture(**told, initial_bias="spread").network(18, seed=0, outputs=900)
    assert spread.biases is not None
    for bias, n in zip(spread.biases, (18, 5000), strict=True):
        entries, reach = np.asarray(bias), 0.5 / np.sqrt(n)
        assert 0.98 * reach < np.abs(entries).max() <= reach * (1 + 1e-6)
        # 900 draws: their mean square within 4 standard errors, of .894 / sqrt(900) each.
        assert np.mean(entries**2) == pytest.approx(reach**2 / 3, rel=0.12)
        assert abs(entries.mean()) < 4 * reach / np.sqrt(3 * len(entries))
    plain = Architecture(**told).network(18, seed=0, outputs=900)
    np.testing.assert_array_equal(np.asarray(plain.weights[0]), np.asarray(spread.weights[0]))


def test_fan_in_sets_the_reach_of_each_layer():
    network = mlp(400, layers=2, width=4, seed=0)
    assert np.abs(np.asarray(network.weights[0])).max() <= 0.05
    assert 0.3 < np.abs(np.asarray(network.weights[1])).max() <= 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": 0}, "layers is a whole number of at least 1; got 0; pass a whole"),
        ({"layers": 2.5}, "layers is a whole number of at least 1; got 2.5; pass a whole"),
        ({"width": 0}, "width is a whole number of at least 1; got 0; pass a whole"),
        ({"width": 2.5}, "width is a whole number of at least 1; got 2.5"),
        ({"bias": "no"}, "bias is True or False; got 'no'; choose one of them"),
        ({"initial": ["normal"]}, r'"uniform" or "he"; got a list of 1; choose one'),
        (
            {"initial": "normal", "scale": "0.1"},
            "scale is a finite number or None; got '0.1'; pass",
        ),
        ({"initial": "normal", "scale": np.inf}, "scale is a finite number; got inf; pass one"),
        ({"initial": "normal"}, 'the initial law "normal" needs a scale above 0; got scale None'),
        ({"initial": "uniform", "scale": -1.0}, "needs a scale above 0; got scale -1.0"),
        ({"scale": 0.1}, 'the initial law "framework" has a scale of its own; got scale 0.1'),
        ({"initial_bias": "wide"}, 'initial_bias is "zero" or "spread"; got .wide.; choose'),
        ({"initial_bias": "spread"}, "is of networks with biases, .* got bias=True with .framew"),
        (
            {"initial_bias": "spread", "bias": False, "initial": "he", "scale": 1.0},
            "got bias=False with .he.; leave it out",
        ),
    ],
)
def test_bad_architectures_are_refused(options, message):
    build: Callable = Architecture.__init__
    with pytest.raises(InputError, match=message):
        build(object.__new__(Architecture), **options)


def test_bad_readings_are_refused():
    network = mlp(3, seed=0)
    with pytest.raises(InputError, match=r"network have shape \(n, 3\); got shape \(4, 2"):
        outputs(network, np.zeros((4, 2)))
    with pytest.raises(InputError, match="one matrix from end to end; got a network with relu"):
        mlp(3, 2, seed=0, nonlinearity="relu").end_to_end()
    with pytest.raises(InputError, match="seed is a whole number of at least 0; got -1; pass"):
        mlp(3, seed=-1)
    read: Callable = activations
    for wrong in (np.zeros(3), np.full((2, 3), "a")):
        with pytest.raises(InputError, match=r"have shape \(n, 3\); got shape \(3,|conv"):
            read(network, wrong)
    listed = read(network, [[1, 2, 3]])
    np.testing.assert_array_equal(listed[-1], outputs(network, np.array([[1.0, 2, 3]])))
    draw: Callable = Architecture.networks
    for dimension, seeds, sentence in (
        (2, 3, "seeds is a sequence, each item a whole number or an array .*; got 3; pass"),
        (2, [0.5], r"seeds\[0\] is a whole number; got 0.5; pass one"),
        (2.5, [0], "dimension is a whole number of at least 1; got 2.5; pass"),
    ):
        with pytest.raises(InputError, match=sentence):
            draw(Architecture(), dimension, seeds=seeds)
