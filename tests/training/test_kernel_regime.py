"""The lazy regime: linear networks exactly, wide ones nearly, and its sentences."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from descents import descend

from partwhole import solve, tasks
from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.features.dense_kernels import dense_kernel
from partwhole.limits import Outcome
from partwhole.networks import Architecture, activations, image_network, outputs
from partwhole.networks.images.convnet import convnet
from partwhole.tasks.images.digits import digit_images
from partwhole.training import kernel_regime

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 8))
Y = RNG.normal(size=12)
SEEN = np.arange(12) < 6


def one_layer():
    return Architecture(1, None, "linear", bias=False).networks(8, seeds=[0], outputs=1)


def first(networks):
    return jax.tree.map(lambda w: jnp.asarray(np.asarray(w)[0]), networks)


def test_a_linear_network_ends_where_its_kernel_says():
    """Its tangent kernel never moves, so gradient descent ends there to rounding."""
    networks = one_layer()
    told = kernel_regime(first(networks), X, Y, SEEN)
    runs = descend(
        X[SEEN], Y[SEEN], networks, steps=100_000, learning_rate=0.02, threshold=1e-16,
        precision="float64", read=X, record=100_000,
    )  # fmt: skip
    np.testing.assert_allclose(told.predictions, runs.answers[0, -1, :, 0], atol=1e-5)
    np.testing.assert_allclose(told.predictions[SEEN], Y[SEEN], atol=1e-5)
    np.testing.assert_allclose(told.kernel, X @ X.T, atol=1e-4)


def test_a_wide_network_nearly():
    built = Architecture(2, 4000, "relu", initial="he", scale=1.0)
    networks = built.networks(8, seeds=[0], outputs=1)
    told = kernel_regime(first(networks), X, Y, SEEN)
    runs = descend(
        X[SEEN],
        Y[SEEN],
        networks,
        steps=20_000,
        learning_rate=2e-4,
        threshold=1e-8,
        read=X,
        record=20_000,
    )
    trained, start = runs.answers[0, -1, :, 0], runs.answers[0, 0, :, 0]
    # What training changes is of order 1; what the kernel's drift changes of it, 1 / sqrt(4000).
    assert np.abs(trained - start)[~SEEN].max() > 0.3
    np.testing.assert_allclose(told.predictions, trained, atol=0.06)


def test_the_readout_alone_is_least_squares():
    network = first(Architecture(2, 50, "relu").networks(8, seeds=[3], outputs=1))
    told = kernel_regime(network, X, Y, SEEN, kind="readout")
    features = np.column_stack([activations(network, X)[0], np.ones(12)])
    start = outputs(network, X)[:, 0]
    found = np.linalg.lstsq(features[SEEN], Y[SEEN] - start[SEEN], rcond=None)[0]
    np.testing.assert_allclose(told.predictions, start + features @ found, atol=1e-6)


def test_margins_are_those_of_a_quadratic_program():
    network = first(Architecture(2, 300, "relu").networks(8, seeds=[1], outputs=1))
    labels = np.sign(Y)
    told = kernel_regime(network, X, labels, SEEN, loss="logistic")
    assert told.limit.outcome is Outcome.SOLVED
    assert (labels * told.predictions)[SEEN].min() == pytest.approx(1.0, abs=1e-6)
    size, basis = np.linalg.eigh(told.kernel)
    features = basis * np.sqrt(np.maximum(size, 0.0))
    c = cp.Variable(12)
    fits = cp.multiply(labels[SEEN], features[SEEN] @ c) >= 1
    cp.Problem(cp.Minimize(cp.sum_squares(c)), [fits]).solve(solver="CLARABEL")
    # Slopes in single precision leave the kernel's smallest directions known to a percent.
    np.testing.assert_allclose(told.predictions, features @ c.value, atol=0.02)


def test_one_hot_inputs_as_the_overlap_theory():
    """A wide readout of random features is the kernel machine of its law."""
    task = tasks.symbolic_addition(range(-4, 5), [0])
    rows = np.concatenate([np.eye(9)[column] for column in task.components.T], axis=1)
    network = first(
        Architecture(2, 60_000, "relu", bias=False, initial="he", scale=1.0).networks(
            18, seeds=[0], outputs=1
        )
    )
    told = kernel_regime(network, rows, task.targets, task.is_train, kind="readout")
    start = outputs(network, rows)[:, 0]
    left = replace(task, targets=task.targets - start)
    kernel = OverlapKernel.random_network("relu", 2, 1, kind="nngp")
    law = start + solve(left, kernel, intercept="none").predictions
    # Entries of the kernel vary by 1 / sqrt(60,000), .4 %; targets go up to 8.
    np.testing.assert_allclose(told.predictions, law, atol=0.15)


def test_wide_networks_like_this_one():
    # One draw of 20,000 units varies by 1 / sqrt(20,000), .7 %; answers are of size 1.
    built = Architecture(2, 20_000, "relu", initial="he", scale=1.0, initial_bias="spread")
    network = built.network(8, seed=2, outputs=1)
    for kind, finite, options in (
        ("ntk", "tangent", {"parametrisation": "ntk"}),
        ("nngp", "readout", {}),
    ):
        told = kernel_regime(network, X, Y, SEEN, kind=kind)
        np.testing.assert_allclose(told.predictions[SEEN], Y[SEEN], atol=1e-9)
        # Wide networks begin at 0 in the mean: beside them, what this one learns of such targets.
        drawn = kernel_regime(network, X, Y, SEEN, kind=finite, **options)
        # Their kernels are one up to its size, which interpolation does not see.
        one, other = (each.kernel / np.trace(each.kernel) for each in (told, drawn))
        np.testing.assert_allclose(one, other, atol=0.03 * one.max())
        learned = drawn.kernel[:, SEEN] @ np.linalg.solve(drawn.kernel[SEEN][:, SEEN], Y[SEEN])
        np.testing.assert_allclose(told.predictions, learned, atol=0.06)


def test_deep_wide_networks_with_biases_of_every_layer():
    # The law of each layer is its own: U(-1/sqrt n, 1/sqrt n) has 1 / (3 n), of weights 1 / 3.
    built = Architecture(3, 2000, "relu", initial="framework")
    network = built.network(8, seed=0, outputs=1)
    law = {"weight_variance": 1 / 3, "bias_variance": (1 / 24, 1 / 6000, 1 / 6000)}
    for kind in ("nngp", "ntk"):
        told = kernel_regime(network, X, Y, SEEN, kind=kind).kernel
        # The readout's 2,000 squares are known to 1 / sqrt(2000), 2.2 %.
        np.testing.assert_allclose(told, dense_kernel(X, 2, kind, **law), rtol=0.06)
    margins = kernel_regime(network, X, np.sign(Y), SEEN, kind="nngp", loss="logistic")
    assert (np.sign(Y) * margins.predictions)[SEEN].min() == pytest.approx(1.0, abs=1e-6)


def test_images():
    images, labels = digit_images()
    task = tasks.symbolic_addition(range(-1, 2), [0])
    composed = tasks.compose_images(task, images, labels, distance=8, seed=0)
    drawn = composed.draw(2)
    # Small, since its slopes take long to compile.
    network = convnet((8, 16, 2), channels=(4,), kernel=3, dense=(20,), seed=0)
    seen = task.is_train[drawn.rows]
    for kind in ("tangent", "readout"):
        told = kernel_regime(network, drawn, drawn.targets, seen, kind=kind)
        np.testing.assert_allclose(told.predictions[seen], drawn.targets[seen], atol=1e-2)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"targets": Y[:5]},
            "inputs and targets have equal length along n; got 12 and 5; pass both for the same n",
        ),
        (
            {"is_train": np.zeros(12, dtype=bool)},
            "targets and is_train have one entry for each input, and some input is trained on; got "
            "12 and 12 for 12, 0 of them trained on; pass arrays of equal length",
        ),
        (
            {"kind": "lazy"},
            'kind is "tangent", "readout", "nngp" or "ntk"; got \'lazy\'; choose one of them',
        ),
        (
            {"kind": "nngp"},
            "kernels of wide networks are those of dense ReLU networks; got linear; take "
            'kind="tangent"',
        ),
        (
            {
                "kind": "ntk",
                "network": image_network("convnet-small", (8, 8, 1), seed=0),
                "inputs": np.zeros((12, 8, 8, 1)),
            },
            "kernels of wide networks are those of dense ReLU networks; got ImageNetwork; take "
            'kind="tangent"',
        ),
        (
            {"kind": "readout", "output": 1},
            "output is one of the network's 1, from 0; got 1; pass 0",
        ),
        (
            {"kind": "readout", "network": one_layer()},
            "a kernel is that of one network; got networks along a leading axis; take one of them",
        ),
        (
            {"is_train": SEEN.astype(int)},
            "is_train is an array of booleans of shape (n,); got numbers; pass a boolean mask, "
            "such as is_train == 1",
        ),
        (
            {"targets": np.where(SEEN, np.nan, Y)},
            "training targets are finite; got 6 that are not; hold those rows out",
        ),
        ({"loss": "hinge"}, 'loss is "squared" or "logistic"; got \'hinge\'; choose one of them'),
        (
            {"kind": "readout"},
            'a readout reads a layer below it; got one layer; take kind="tangent"',
        ),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    given = {"network": first(one_layer()), "inputs": X, "targets": Y, "is_train": SEEN}
    with pytest.raises(InputError) as caught:
        kernel_regime(**(given | change))
    assert str(caught.value) == sentence
