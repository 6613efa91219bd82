"""The group norm: against facts, the weights it stands for, and JAX's slopes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from partwhole._checks import InputError
from partwhole.limits.penalties import multitask_penalty

sizes = st.floats(-6, 6).map(lambda power: 10.0**power)


def test_stated_orders():
    """E-2."""
    b = np.array([1e-3, 1e-2, 0.1, 1, 10, 100])
    profile = multitask_penalty(1.0, b)
    stated = [1.001000, 1.010000, 1.099504, 1.707107, 1.995037, 1.999950]
    np.testing.assert_allclose(profile.order, stated, atol=1e-6)
    np.testing.assert_allclose(profile.feature_dependence, 1 - profile.order, atol=1e-15)


@jax.jit
@jax.value_and_grad
def log_penalty(logs):
    """Return the group norm less |b|, over the sum so that it does not cancel."""
    beta, b = jnp.exp(logs)
    return 2 * logs[0] - jnp.log(jnp.sqrt(beta**2 + b**2) + b)


@given(beta=sizes, b=sizes)
def test_powers_by_automatic_differentiation(beta, b):
    """In logarithms."""
    with jax.enable_x64(True):
        value, slopes = log_penalty(jnp.asarray(np.log([beta, b])))
        value, slopes = float(value), np.asarray(slopes)
    found = multitask_penalty(beta, -b)
    assert abs(np.log(found.penalty) - value) < 1e-13
    np.testing.assert_allclose((found.order, found.feature_dependence), slopes, atol=1e-13)


@given(beta=sizes, b=sizes, t=sizes)
def test_conservation_law(beta, b, t):
    """E-19."""
    found = multitask_penalty(beta, b)
    assert abs(found.degree - 1) < 1e-14
    assert 1 <= found.order <= 2
    np.testing.assert_allclose(
        multitask_penalty(t * beta, t * b).penalty, t * found.penalty, rtol=1e-14
    )


@pytest.mark.parametrize(("beta", "b"), [(0.3, 1.0), (2.0, -0.1), (1.0, 0.0)])
def test_least_weights(beta, b):
    """Half the squares of a hidden weight w and two readouts, at the w that makes them least.

    A minimum by values is good to the root of rounding in w, and to rounding in its value.
    """

    def least(*coefficients):
        if not any(coefficients):
            return 0.0
        rest = sum(part**2 for part in coefficients)
        return minimize_scalar(
            lambda log_w: 0.5 * (np.exp(2 * log_w) + rest * np.exp(-2 * log_w)), (-1.0, 1.0)
        ).fun

    penalty = multitask_penalty(beta, b).penalty
    np.testing.assert_allclose(penalty, least(beta, b) - least(b), rtol=1e-12)


def test_limits():
    """Lazy beside a large auxiliary coefficient, rich beside a small one; no cancelling."""
    profile = multitask_penalty(np.array([1e-12, 1.0, 0.0, 0.0]), np.array([1.0, 1e-12, 1.0, 0.0]))
    np.testing.assert_allclose(profile.penalty, [5e-25, 1 - 1e-12, 0, 0], rtol=1e-15)
    np.testing.assert_allclose(profile.order, [2, 1, 2, 1], atol=1e-11)


def test_refusals():
    with pytest.raises(InputError, match=r"^arguments broadcast against each other; got"):
        multitask_penalty(np.ones(2), np.ones(3))
