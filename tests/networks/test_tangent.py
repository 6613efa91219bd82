"""Tangent kernels: finite differences, blocks of any size, and the law of wide networks."""

from __future__ import annotations

import tracemalloc
from functools import partial

import equinox as eqx
import jax
import numpy as np
import pytest

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.measures.drift import kernel_drift
from partwhole.networks import Architecture, image_network, mlp, outputs, tangent, tangent_kernel
from partwhole.networks.images.convnet import convnet
from partwhole.networks.images.layers import trained
from partwhole.networks.images.resnet import resnet
from partwhole.tasks.images.digits import digit_images

X = np.random.default_rng(0).normal(size=(7, 4))


def dense(outputs=2, width=9, bias=True, seed=0):
    built = Architecture(3, width, "relu", bias=bias, initial="framework")
    return built.network(4, seed=seed, outputs=outputs)


def by_differences(network, read, output):
    """Return the kernel from outputs at parameters moved one at a time."""
    kept, rest = (
        eqx.partition(network, trained(network)) if read is not outputs else (network, None)
    )
    leaves, shape = jax.tree.flatten(kept)
    rows = []
    for i, leaf in enumerate(leaves):
        flat = np.asarray(leaf, dtype=np.float64).ravel()
        for k in range(len(flat)):
            ends = []
            for move in (1e-2, -1e-2):
                moved = flat.copy()
                moved[k] += move
                changed = list(leaves)
                changed[i] = jax.numpy.asarray(moved.reshape(leaf.shape), leaf.dtype)
                both = jax.tree.unflatten(shape, changed)
                ends.append(read(both if rest is None else eqx.combine(both, rest))[:, output])
            rows.append((ends[0] - ends[1]) / 2e-2)
    slopes = np.array(rows, dtype=float)
    return slopes.T @ slopes


@pytest.mark.parametrize("output", [0, 1])
def test_slopes_of_a_smooth_network_are_differences(output):
    # A linear network of three layers: its output is smooth, so differences err by 1e-4 of it.
    network = Architecture(3, 5, "linear", initial="framework").network(4, seed=0, outputs=2)
    found = tangent_kernel(network, X, output=output)
    expected = by_differences(network, lambda net: outputs(net, X), output)
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


def test_a_linear_layer_has_the_kernel_of_its_inputs():
    np.testing.assert_allclose(
        tangent_kernel(mlp(4, seed=0), X), X @ X.T + 1.0, rtol=1e-5, atol=1e-5
    )


def test_two_layers_by_hand():
    network = Architecture(2, 30, "relu", initial="framework").network(4, seed=1, outputs=1)
    (w, v), (b, _) = (
        [np.asarray(each, dtype=float) for each in kind]
        for kind in (network.weights, network.biases)
    )
    a = X @ w.T + b
    h, on = np.maximum(a, 0.0), a > 0
    gates = (on * v[0] ** 2) @ on.T
    expected = h @ h.T + 1.0 + gates * (X @ X.T + 1.0)
    np.testing.assert_allclose(tangent_kernel(network, X), expected, rtol=1e-5, atol=1e-5)
    shares = (2 / 30) * h @ h.T + 1 / 90 + gates * ((2 / 4) * X @ X.T + 1 / 12)
    found = tangent_kernel(network, X, parametrisation="ntk")
    np.testing.assert_allclose(found, shares, rtol=1e-5, atol=1e-5)


def test_blocks_of_any_size_and_a_second_set_give_the_same(monkeypatch):
    network, other = dense(), X[:5] + 1.0
    whole, across = tangent_kernel(network, X), tangent_kernel(network, X, other)
    joined = tangent_kernel(network, np.concatenate([X, other]))
    np.testing.assert_allclose(joined[:7, :7], whole, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(joined[:7, 7:], across, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(whole, whole.T)
    row = 4 * sum(leaf.size for leaf in jax.tree.leaves(network))
    # Blocks of one row, of two with one left over, and of all others with two left over.
    for rows in (1, 2, 5):
        memory = (8 * 49 + 8 * rows**2 + 2 * rows * row + 1) / 2**30
        found = tangent_kernel(network, X, memory_gib=memory)
        np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-6)
        found = tangent_kernel(network, X, other, memory_gib=memory)
        np.testing.assert_allclose(found, across, rtol=1e-5, atol=1e-6)


def test_memory_is_estimated_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(tangent, "_slopes", None)  # nothing is computed
    with pytest.raises(InputError) as caught:
        tangent_kernel(dense(), X, memory_gib=1e-6)
    assert str(caught.value) == (
        "the tangent kernel of 7 and 7 inputs and two rows of slopes fit into memory_gib; got "
        "1e-06, but they take 1.5e-06; pass fewer inputs, or more memory_gib if the machine has it"
    )
    with pytest.raises(InputError, match=r"of 200000 and 200000 inputs .* they take 3e\+02; pass"):
        tangent_kernel(dense(), np.zeros((200_000, 4)))


def test_no_more_memory_is_taken_than_allowed():
    # Slopes of images lie in NumPy's memory, which is counted.
    network = image_network("convnet-small", (8, 8, 1), outputs=1, seed=0)
    images = np.random.default_rng(0).normal(size=(12, 8, 8, 1))
    row = 4 * sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(network, trained(network))))
    allowed = 8 * 12**2 + 8 * 3**2 + 2 * 3 * row + 1
    found = tangent_kernel(network, images, memory_gib=allowed / 2**30)
    tracemalloc.start()
    try:
        again = tangent_kernel(network, images, memory_gib=allowed / 2**30)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found, again)
    # Two blocks of three rows; Python's own objects take less than one more row.
    assert 6 * row < taken < allowed + row


@pytest.mark.parametrize(
    "draw",
    [
        partial(convnet, channels=(4, 6), kernel=3, dense=(5,)),
        partial(resnet, channels=(4, 6), blocks=(1, 1)),
    ],
    ids=["convnet", "resnet"],
)
def test_image_networks(draw):
    images, labels = digit_images()
    task = tasks.symbolic_addition(range(-1, 2), [0])
    composed = tasks.compose_images(task, images, labels, distance=8, seed=0)
    drawn = composed.draw(1).take(np.arange(4))
    # With biases other than 0, at which black pixels are on the edge of every ReLU.
    network = draw((8, 16, 2), outputs=2, seed=0)
    kept, rest = eqx.partition(network, trained(network))
    rng = np.random.default_rng(0)

    def noise(w):
        return rng.normal(size=w.shape).astype(np.float32)

    kept = jax.tree.map(
        lambda w: jax.numpy.asarray(np.asarray(w) + np.float32(0.1) * noise(w)), kept
    )
    network = eqx.combine(kept, rest)
    found = tangent_kernel(network, drawn, output=1)
    np.testing.assert_allclose(found, tangent_kernel(network, drawn[:], output=1), rtol=1e-5)
    # Another route: slopes along one random direction, by differences.
    along = jax.tree.map(noise, kept)

    @jax.jit
    def told(net):
        return eqx.combine(net, rest)(drawn[:])[:, 1]

    slopes = jax.jit(jax.jacobian(told))(kept)
    rows = np.concatenate(
        [np.asarray(leaf, dtype=float).reshape(4, -1) for leaf in jax.tree.leaves(slopes)], axis=1
    )
    np.testing.assert_allclose(found, rows @ rows.T, rtol=1e-4)
    direction = np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(along)])
    step, back = (
        jax.tree.map(lambda w, a, by=by: np.asarray(w) + np.float32(by) * a, kept, along)
        for by in (1e-4, -1e-4)
    )
    difference = (np.asarray(told(step)) - np.asarray(told(back))) / 2e-4
    np.testing.assert_allclose(rows @ direction, difference, rtol=0.05, atol=0.1)


def test_wide_networks_have_the_kernel_of_the_recursion():
    """In the tangent parametrisation saliences are those of the bias-free recursion.

    Of 20,000 units entries vary by about 1 / sqrt(20,000), .7 %.
    """
    rows = np.concatenate([np.repeat(np.eye(3), 3, axis=0), np.tile(np.eye(3), (3, 1))], axis=1)
    network = Architecture(2, 20_000, "relu", bias=False, initial="he", scale=1.0).network(
        6, seed=0, outputs=1
    )
    found = tangent_kernel(network, rows, parametrisation="ntk")
    shared = (rows @ rows.T).round().astype(int)
    kappa = np.array([found[shared == k].mean() for k in range(3)])
    salience = (kappa[1] - kappa[0]) / (kappa[2] - kappa[0])
    law = OverlapKernel.random_network("relu", 2, 1, kind="ntk")
    assert salience == pytest.approx(law.salience[0], abs=0.01)


def test_drift():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    kernel = root @ root.T
    assert kernel_drift(kernel, 7.0 * kernel) == pytest.approx(0.0, abs=1e-15)
    other = np.outer(root[0], root[0])
    expected = 1.0 - np.sum(kernel * other) / np.sqrt(np.sum(kernel**2) * np.sum(other**2))
    assert kernel_drift(kernel, other) == pytest.approx(expected, rel=1e-12)
    assert kernel_drift(kernel * 1e200, other * 1e-200) == pytest.approx(expected, rel=1e-12)
    assert kernel_drift(kernel, -kernel) == pytest.approx(2.0)
    # So small a turn is known to all its digits.
    turned = kernel + 1e-8 * np.eye(5)
    assert kernel_drift(kernel, turned) > 0
    assert np.isnan(kernel_drift(kernel, 0 * kernel))
    with pytest.raises(InputError, match=r"shape \(4, 5\)|equal length"):
        kernel_drift(kernel, kernel[:4])
    with pytest.raises(InputError, match="after is an array of finite numbers"):
        kernel_drift(kernel, kernel * np.nan)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"inputs": X[:, :3]}, r"inputs for this network have shape \(n, 4\); got shape \(7, 3"),
        ({"output": 2}, "output is one of the network's 2, from 0; got 2; pass 0"),
        ({"output": -1}, "output is a whole number of at least 0; got -1; pass a whole number"),
        ({"memory_gib": 0}, "memory_gib is a finite number above 0; got 0; pass"),
        ({"parametrisation": "mup"}, 'parametrisation is "standard" or "ntk"; got \'mup\'; choo'),
        (
            {"network": Architecture(2, 3, "relu").networks(4, seeds=[0, 1])},
            "a kernel is that of one network; got networks along a leading axis; take one",
        ),
        (
            {
                "network": image_network("convnet-small", (8, 8, 1), seed=0),
                "parametrisation": "ntk",
            },
            "rates of the tangent parametrisation are those of dense networks; got ImageNetwork; l",
        ),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    with pytest.raises(InputError, match=sentence):
        tangent_kernel(**({"network": dense(), "inputs": X} | change))
