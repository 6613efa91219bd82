"""Bits per dimension against the closed form of Gaussian samples."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gaussian_models import best

from partwhole._checks import InputError
from partwhole.flows.gaussian_diffusion import gaussian_diffusion_loss
from partwhole.networks.diffusion import diffusion_model
from partwhole.networks.images.layers import Pass
from partwhole.training.diffusion.bits import LEAST, BitsOutcome, bits_per_dimension, terms


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_the_best_prediction_costs_what_the_closed_form_says(scale):
    size, n = 20, 500
    x = scale * np.random.default_rng(0).normal(size=(n, size)).astype(np.float32)
    found = bits_per_dimension(best(scale, size), x, np.zeros((n, size), np.float32), seed=0)
    expected = gaussian_diffusion_loss(scale) / np.log(2.0)
    # Four standard errors, and 1 % for the 10,000 numbers that the samples are.
    assert found.diffusion == pytest.approx(expected, abs=4 * found.error + 0.01 * expected)
    assert found.error < 0.02 * found.diffusion
    late = 1.0 / (1.0 + np.exp(-10.0))
    latent = 0.5 * (late + (1.0 - late) * np.mean(x**2) - np.log(late) - 1.0) / np.log(2.0)
    assert found.latent == pytest.approx(latent, abs=2e-7)
    # z at time 0 over its signal is a sample and noise of e^(-5/2), read with a scale of .001:
    # noise that is drawn, a hundred thousand times.
    noise = np.exp(-2.5) * np.random.default_rng(1).normal(size=100_000)
    drawn = np.mean(0.5 * (noise / 1e-3) ** 2 + 0.5 * np.log(2.0 * np.pi * 1e-6)) / np.log(2.0)
    assert found.reconstruction == pytest.approx(drawn, rel=4.0 * np.sqrt(2.0 / 100_000))
    assert found.total == found.diffusion + found.latent + found.reconstruction


def test_the_published_floor():
    assert pytest.approx(-8.64003622, abs=1e-8) == LEAST


def test_a_prediction_that_is_not_the_best_costs_more():
    x = np.random.default_rng(0).normal(size=(500, 20)).astype(np.float32)
    c = np.zeros((500, 20), np.float32)
    right = bits_per_dimension(best(1.0, 20), x, c, seed=0)
    wrong = bits_per_dimension(best(0.3, 20), x, c, seed=0)
    assert wrong.diffusion > right.diffusion + 10 * right.error
    assert wrong.latent == right.latent


def test_times_are_spread_evenly_over_a_batch():
    """A model that predicts nothing loses the variance of the noise at every time, so that what is
    left of randomness is that of the noise alone; one that answers with the time shows them."""
    model = diffusion_model("vector", condition=2, size=2, ends=(-1.0, 1.0), seed=0)

    class Told:
        def embed(self, conditions):
            return (conditions,)

        def __call__(self, z, told, made, at):
            seen.append(told)
            return z

    seen = []
    object.__setattr__(model, "predictor", Told())
    terms(model, jnp.ones((8, 2)), jnp.zeros((8, 2)), jax.random.key(0), Pass())
    times = np.sort(np.asarray(seen[0]))
    np.testing.assert_allclose(np.diff(times), 1.0 / 8.0, atol=1e-6)
    assert 0.0 <= times[0] < 1.0 / 8.0


def test_a_bound_above_what_samples_are_stored_in_says_nothing():
    """With the published endpoint, whatever the model; with one as low as the noise, something."""
    x = np.random.default_rng(0).normal(size=(500, 20)).astype(np.float32)
    c = np.zeros((500, 20), np.float32)
    loose = bits_per_dimension(best(1.0, 20), x, c, seed=0)
    assert loose.reconstruction > 4_800.0
    assert loose.outcome is BitsOutcome.LOOSE
    assert "above the 32 bits in which each number of a sample is stored" in loose.describe()
    assert "compare diffusion terms, or train with schedule='learned'" in loose.describe()
    assert replace(loose, reconstruction=-5.0).outcome is BitsOutcome.INFORMATIVE
    assert replace(loose, diffusion=np.nan).outcome is BitsOutcome.NOT_A_NUMBER
    assert replace(loose, latent=np.inf).outcome is BitsOutcome.NOT_A_NUMBER


def test_levels_of_8_bits_are_refused():
    model = diffusion_model("small16", condition=2, seed=0)
    with pytest.raises(InputError) as caught:
        bits_per_dimension(model, np.full((1, 16, 16, 3), 255.0), np.zeros((1, 2)), seed=0)
    assert str(caught.value) == (
        "samples that are images have pixels from 0 to 1, or standardised ones up to 10 in size; "
        "got 0 to 255; divide levels of 0..255 by 255"
    )
