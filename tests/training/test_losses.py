"""Losses against NumPy, also where exponentials overflow."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax

from partwhole.training.losses import LOSSES


def test_squared():
    outputs, targets = np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([[0.0, 2.0], [2.0, 1.0]])
    assert float(LOSSES["squared"](jnp.asarray(outputs), jnp.asarray(targets))) == 4.5
    one = LOSSES["squared"](jnp.asarray([[3.0], [1.0]]), jnp.asarray([1.0, 1.0]))
    assert float(one) == 2.0


def test_logistic_at_margins_of_any_size():
    outputs, labels = jnp.asarray([[2.0], [-0.5]]), jnp.asarray([1.0, 1.0])
    expected = np.log1p(np.exp([-2.0, 0.5])).mean()
    assert float(LOSSES["logistic"](outputs, labels)) == pytest.approx(expected, rel=1e-6)
    for size in (1e4, 1e30):
        value, slope = jax.value_and_grad(LOSSES["logistic"])(
            jnp.asarray([[size]]), jnp.asarray([-1.0])
        )
        assert float(value) == pytest.approx(size, rel=1e-6)
        assert float(slope[0, 0]) == 1.0


def test_cross_entropy():
    outputs = np.random.default_rng(0).normal(size=(5, 7))
    classes = np.array([0, 6, 3, 3, 1])
    expected = -log_softmax(outputs, axis=1)[np.arange(5), classes].mean()
    found = LOSSES["cross entropy"](jnp.asarray(outputs), jnp.asarray(classes, dtype=jnp.int32))
    assert float(found) == pytest.approx(expected, rel=1e-6)


def test_cross_entropy_of_several_questions_is_the_sum_over_them():
    outputs = np.random.default_rng(0).normal(size=(5, 6))
    classes = np.array([[0, 2], [1, 1], [2, 0], [0, 0], [1, 2]])
    expected = 0.0
    for q in range(2):
        logs = log_softmax(outputs[:, 3 * q : 3 * q + 3], axis=1)
        expected -= logs[np.arange(5), classes[:, q]].mean()
    found = LOSSES["cross entropy"](jnp.asarray(outputs), jnp.asarray(classes, dtype=jnp.int32))
    assert float(found) == pytest.approx(expected, rel=1e-6)
