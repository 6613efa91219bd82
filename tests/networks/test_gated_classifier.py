"""Gated networks for several labels, beside the limit of their margins."""

from __future__ import annotations

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

import partwhole as pw
from partwhole._checks import InputError
from partwhole.features import HalfspaceGates
from partwhole.networks import GatedNetwork, LearnedGates, outputs
from partwhole.networks.gated_classifier import GatedClassifier

GATES = HalfspaceGates.random(3, n_units=8)
RNG = np.random.default_rng(0)
INPUTS = np.c_[RNG.normal(size=(24, 2)), np.ones(24)]
LABELS = np.digitize(INPUTS[:, 0] * INPUTS[:, 1], [-0.3, 0.3])
ONE_HOT = np.eye(3)[LABELS]


@cache
def limit():
    return pw.solve((INPUTS, ONE_HOT), GATES, fit="margin", intercept="none")


def of_weights(first, readout):
    weights = (jnp.asarray(first, jnp.float32), jnp.asarray(readout, jnp.float32)[:, None])
    return GatedClassifier(GatedNetwork(weights, (GATES, None)))


@cache
def optimum():
    """Return the weights of the limit: a unit's block of coefficients is of rank one here."""
    blocks = limit().coefficients.reshape(8, 2, 3, 3)
    first, readout = np.zeros((8, 2, 3)), np.zeros((3, 8))
    for unit, block in enumerate(blocks):
        left, sizes, right = np.linalg.svd(block.reshape(6, 3), full_matrices=False)
        assert sizes[1:].max() <= 1e-6 * max(sizes[0], 1.0)
        first[unit] = np.sqrt(sizes[0]) * left[:, 0].reshape(2, 3)
        readout[:, unit] = np.sqrt(sizes[0]) * right[0]
    return first, readout


def normalised_margin(network):
    """Return the smallest margin over other labels, of a network of squared norm 1."""
    answers = outputs(network, INPUTS)
    own = answers[np.arange(24), LABELS]
    others = np.where(ONE_HOT == 1.0, -np.inf, answers).max(axis=1)
    return float((own - others).min()) / network.squared_norm


def test_the_limit_is_a_network():
    """Half of the squared norm of balanced weights is the sum of their blocks' nuclear norms."""
    network = of_weights(*optimum())
    # Single precision.
    assert network.squared_norm == pytest.approx(2.0 * limit().value, rel=1e-5)
    assert normalised_margin(network) == pytest.approx(0.5 / limit().value, rel=1e-5)
    np.testing.assert_allclose(outputs(network, INPUTS), limit().predict(INPUTS), atol=1e-5)
    np.testing.assert_array_equal(network.predict(INPUTS), LABELS)


@pytest.mark.parametrize("seed", range(5))
def test_no_network_has_a_larger_margin(seed):
    first, readout = optimum()
    rng = np.random.default_rng(seed)
    for size in (0.01, 0.1, 1.0):
        near = of_weights(
            first + size * rng.normal(size=first.shape),
            readout + size * rng.normal(size=readout.shape),
        )
        assert normalised_margin(near) < 0.5 / limit().value
    drawn = GatedClassifier.draw(3, [GATES, 3], seed=seed)
    assert normalised_margin(drawn) < 0.5 / limit().value


def test_cross_entropy_approaches_it():
    first, readout = optimum()
    rng = np.random.default_rng(0)
    start = of_weights(
        0.3 * first + 0.1 * rng.normal(size=first.shape),
        0.3 * readout + 0.1 * rng.normal(size=readout.shape),
    )
    margins, trained = [normalised_margin(start)], start
    for steps in (2_000, 20_000):
        training = pw.Training(steps=steps, loss="cross entropy", learning_rate=2.0)
        runs = pw.train(start, (INPUTS, LABELS), training, progress=False)
        trained = runs.network(0)
        margins.append(normalised_margin(trained))
    assert runs.training_loss[0, -1] < 1e-4
    np.testing.assert_array_equal(trained.predict(INPUTS), LABELS)
    # Of the limit's, which it nears as slowly as the logarithm of time grows.
    shares = np.array(margins) * 2.0 * limit().value
    assert shares[0] < 0.0
    assert 0.75 < shares[1] < shares[2] < 1.0


def test_units_are_those_of_the_network_and_the_sum_is_its_answer():
    network = GatedClassifier.draw(3, [LearnedGates(5), 4, 3], seed=1, initial="he")
    summed = network.units.predict(INPUTS)
    answers = outputs(network, INPUTS)
    assert answers.shape == (24, 3)
    np.testing.assert_allclose(answers.sum(axis=1), summed, rtol=1e-5, atol=1e-6)
    assert (network.names, network.n_outputs, network.shape) == (
        ("layer 1", "layer 2", "output"), 3, (3,)
    )  # fmt: skip
    np.testing.assert_array_equal(network.predict(INPUTS), answers.argmax(axis=1))
    assert network.predict(np.zeros((0, 3))).shape == (0,)


def test_sentences():
    single = GatedNetwork.draw(3, [GATES, 1], seed=0)
    biased = GatedNetwork.draw(3, [GATES, 3], seed=0, bias=True)
    chains = GatedNetwork.draw(3, [GATES, 8, 1], seed=0, parallel=True)
    for units, sentence in (
        (
            single,
            "a classifier has an output for each of two labels or more; got one unit in the last "
            "layer; use GatedNetwork for labels -1 and +1",
        ),
        (
            biased,
            "units of a classifier have no bias and are no parallel chains; got a bias; let a "
            "constant coordinate of the inputs stand for biases",
        ),
        (
            chains,
            "units of a classifier have no bias and are no parallel chains; got parallel chains; "
            "let a constant coordinate of the inputs stand for biases",
        ),
    ):
        with pytest.raises(InputError) as caught:
            GatedClassifier(units)
        assert str(caught.value) == sentence
