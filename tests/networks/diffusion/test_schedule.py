"""Noise schedules: published values, and endpoints that move."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.networks.diffusion import linear_schedule
from partwhole.networks.diffusion.schedule import noise, signal

# Time, signal, noise and signal over noise squared, of the published schedule before training.
PUBLISHED = [
    (0.0, 0.996648, 0.081810, 148.413),
    (0.25, 0.881646, 0.471911, 3.49034),
    (0.5, 0.275424, 0.961323, 0.0820850),
    (1.0, 0.00673779, 0.999977, 4.54e-5),
]


@pytest.mark.parametrize("learned", [False, True])
def test_published_values(learned):
    schedule = linear_schedule(learned=learned)
    for t, kept, added, ratio in PUBLISHED:
        gamma = schedule(jnp.float32(t))
        # Half a unit of the last printed digit, and some for single precision.
        assert float(signal(gamma)) == pytest.approx(kept, rel=1e-6, abs=6e-7)
        assert float(noise(gamma)) == pytest.approx(added, rel=1e-6, abs=6e-7)
        assert float(jnp.exp(-gamma)) == pytest.approx(ratio, rel=5e-4 if t == 1.0 else 4e-6)


def test_signal_and_noise_share_a_variance_of_one():
    gamma = jnp.linspace(-30.0, 30.0, 61)
    np.testing.assert_allclose(signal(gamma) ** 2 + noise(gamma) ** 2, 1.0, rtol=1e-6)
    exact = 1.0 / np.sqrt(1.0 + np.exp(np.asarray(gamma, float)))
    np.testing.assert_allclose(signal(gamma), exact, rtol=1e-6)


def test_a_fixed_schedule_has_nothing_to_learn():
    assert jax.tree.leaves(eqx.filter(linear_schedule(), eqx.is_inexact_array)) == []
    assert len(jax.tree.leaves(eqx.filter(linear_schedule(learned=True), eqx.is_array))) == 2


def test_the_time_that_is_told_keeps_the_first_endpoints():
    schedule = linear_schedule((-4.0, 6.0), learned=True)
    moved = jax.tree.map(lambda leaf: 2.0 * leaf, schedule)
    np.testing.assert_allclose(moved(jnp.array([0.0, 1.0])), [-8.0, 12.0])
    np.testing.assert_allclose(moved.told(jnp.array([-4.0, 6.0])), [0.0, 1.0])
    # Noise grows whatever the sign of what is learned.
    turned = jax.tree.map(jnp.negative, schedule)
    np.testing.assert_allclose(turned(jnp.array([0.0, 1.0])), [4.0, 14.0])


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, -2.0), (1.0,)])
def test_ends_that_are_none_are_refused(ends):
    with pytest.raises(InputError, match="a schedule goes from less noise to more"):
        linear_schedule(ends)
