"""Samplers against plain NumPy, closed forms and one another."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gaussian_models import best
from programs import looped
from vector_models import vector_model

from partwhole._checks import InputError
from partwhole.flows.gaussian_diffusion import sampled_variance
from partwhole.networks.diffusion import DiffusionModel, diffusion_model, sample
from partwhole.networks.diffusion.sampling import _step
from partwhole.networks.diffusion.schedule import linear_schedule
from partwhole.networks.diffusion.unet import unet


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_the_variance_of_samples_is_the_closed_form_s(scale):
    """Of 16,384 samples it varies by 1.1 %."""
    found = sample(best(scale), np.zeros((1 << 14, 1), np.float32), steps=50, seed=0)
    assert np.var(found) == pytest.approx(sampled_variance(scale, 50), rel=0.03)
    assert abs(np.mean(found)) < 4.0 * np.std(found) / 128.0


def test_a_sample_lies_where_it_was_asked_for():
    asked = np.repeat([[-2.0], [3.0]], 256, axis=0).astype(np.float32)
    model = best(0.1)
    for told in ({"steps": 100}, {"steps": 100, "method": "ddim"}, {"steps": 400, "denoise": True}):
        found = sample(model, asked, seed=1, **told)[:, 0]
        assert np.mean(found[:256]) == pytest.approx(-2.0, abs=0.03)
        assert np.mean(found[256:]) == pytest.approx(3.0, abs=0.03)


def test_one_step_of_each_kind_against_numpy():
    """Also the published numbers of the step from .5 to .49."""
    model, rng = best(0.7, 3), np.random.default_rng(0)
    z, asked = rng.normal(size=(2, 200, 3)).astype(np.float32)
    gamma = {t: -5.0 + 15.0 * t for t in (0.49, 0.5)}
    kept = {t: 1.0 / np.sqrt(1.0 + np.exp(g)) for t, g in gamma.items()}
    added = {t: 1.0 / np.sqrt(1.0 + np.exp(-g)) for t, g in gamma.items()}
    gone = -np.expm1(gamma[0.49] - gamma[0.5])
    assert gone == pytest.approx(0.13929202, abs=1e-8)
    assert kept[0.49] / kept[0.5] == pytest.approx(1.07132816, abs=1e-8)
    assert added[0.49] * np.sqrt(gone) == pytest.approx(0.35660126, abs=1e-8)
    v = kept[0.5] ** 2 * 0.49 + added[0.5] ** 2
    predicted = added[0.5] * (z - kept[0.5] * asked) / v
    given = (
        model, jnp.asarray(z), (jnp.asarray(asked),), None, jax.random.key(0),
        jnp.arange(200, dtype=jnp.int32), jnp.int32(50), jnp.int32(100), jnp.float32(1.0),
    )  # fmt: skip
    mean = kept[0.49] / kept[0.5] * (z - gone * added[0.5] * predicted)
    rest = (np.asarray(_step(*given, method="ancestral")) - mean) / (added[0.49] * np.sqrt(gone))
    # What is left is noise: 600 draws of mean 0 and variance 1, within four standard errors.
    assert abs(rest.mean()) < 4.0 / np.sqrt(600)
    assert abs(rest.var() - 1.0) < 4.0 * np.sqrt(2.0 / 600)
    estimate = (z - added[0.5] * predicted) / kept[0.5]
    expected = kept[0.49] * estimate + added[0.49] * predicted
    np.testing.assert_allclose(_step(*given, method="ddim"), expected, atol=2e-6)


def test_ddim_maps_gaussians_as_the_flow_does():
    """In many steps every z becomes a multiple of the noise it began as."""
    model, n = best(0.5), 50
    found = sample(model, np.zeros((n, 1), np.float32), steps=2000, method="ddim", seed=3)
    begun = sample(model, np.zeros((n, 1), np.float32), steps=1, method="ddim", seed=3)
    # One step keeps a fixed multiple too, which the beginnings are read from.
    ratio = found / begun
    assert np.ptp(ratio) < 1e-3 * abs(ratio[0, 0])
    # The flow keeps quantiles: from a deviation of 1 to that of z at time 0.
    late = 1.0 / np.sqrt(1.0 + np.exp(10.0)), 1.0 / np.sqrt(1.0 + np.exp(-10.0))
    first = 1.0 / np.sqrt(1.0 + np.exp(-5.0)), 1.0 / np.sqrt(1.0 + np.exp(5.0))
    start = np.sqrt(late[0] ** 2 * 0.25 + late[1] ** 2)
    predicted = late[1] / start**2
    once = first[0] * (1.0 - late[1] * predicted) / late[0] + first[1] * predicted
    end = np.sqrt(first[0] ** 2 * 0.25 + first[1] ** 2)
    assert ratio[0, 0] == pytest.approx(end / start / once, rel=2e-3)


def awake():
    model = vector_model()
    rng = np.random.default_rng(1)
    draw = lambda leaf: jnp.asarray(0.2 * rng.normal(size=leaf.shape).astype("f4"))  # noqa: E731
    return eqx.tree_at(lambda each: each.predictor, model, jax.tree.map(draw, model.predictor))


def test_guidance_goes_from_nothing_through_what_is_asked_and_beyond():
    model = awake()
    z = jnp.asarray(np.random.default_rng(0).normal(size=(4, 2)), jnp.float32)
    c = np.ones((4, 2), np.float32)
    asked, without = model.embed(c).parts, model.embed(model.nothing).parts
    rest = (
        jax.random.key(0), jnp.arange(4, dtype=jnp.int32), jnp.int32(10), jnp.int32(20),
    )  # fmt: skip
    step = {
        w: np.asarray(_step(model, z, asked, without, *rest, jnp.float32(w), method="ddim"))
        for w in (0, 1, 3)
    }
    plain = _step(model, z, asked, None, *rest, jnp.float32(1.0), method="ddim")
    empty = tuple(jnp.broadcast_to(part, (4, part.shape[1])) for part in without)
    nothing = _step(model, z, empty, None, *rest, jnp.float32(1.0), method="ddim")
    np.testing.assert_allclose(step[1], plain, atol=1e-5)
    np.testing.assert_allclose(step[0], nothing, atol=1e-5)
    # A step is linear in the prediction.
    np.testing.assert_allclose(step[3], 3.0 * step[1] - 2.0 * step[0], atol=1e-4)


def test_the_noise_of_a_sample_is_its_own():
    model, c = awake(), np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    whole = sample(model, c, steps=4, seed=7)
    assert whole.shape == (300, 2)
    np.testing.assert_allclose(sample(model, c[:10], steps=4, seed=7), whole[:10], atol=1e-5)
    np.testing.assert_allclose(sample(model, model.embed(c), steps=4, seed=7), whole, atol=1e-5)
    assert np.max(np.abs(sample(model, c[:10], steps=4, seed=8) - whole[:10])) > 0.1
    assert len(np.unique(whole[:, 0])) == 300


def test_samples_of_a_compiled_loop_are_those_of_one_step_after_another(monkeypatch):
    network = unet((4, 4, 3), 2, channels=(8,), blocks=1, groups=4, heads=1, seed=0)
    model = DiffusionModel(network, linear_schedule(), None, (4, 4, 3), 2)
    asked = np.ones((5, 2), np.float32)
    one_by_one = sample(model, asked, steps=4, seed=0)
    monkeypatch.setattr("partwhole.networks.diffusion.sampling.has_accelerator", lambda: True)
    # Up to rounding, as parts of a program are computed in another order.
    np.testing.assert_allclose(sample(model, asked, steps=4, seed=0), one_by_one, atol=1e-5)


def test_no_convolution_runs_inside_a_loop():
    """On a CPU it is some 25 times slower there."""
    model = diffusion_model("small16", condition=4, seed=0)
    made = model.embed(np.zeros((2, 4), np.float32)).parts

    def step(z):
        return _step(
            model, z, made, None, jax.random.key(0), jnp.arange(2, dtype=jnp.int32),
            jnp.int32(5), jnp.int32(10), jnp.float32(1.0), method="ancestral",
        )  # fmt: skip

    assert not looped(step, jnp.zeros((2, 16, 16, 3)))


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ({"steps": 0}, "steps"),
        ({"method": "euler"}, 'method is "ancestral" or "ddim"; got \'euler\''),
        ({"guidance": float("nan")}, "guidance is a finite number; got nan"),
        ({"seed": -1}, "seed"),
        ({"conditions": np.zeros((0, 1), np.float32)}, "samples are of at least one condition"),
    ],
)
def test_what_cannot_be_sampled_is_refused(told, rule):
    given = {"conditions": np.zeros((2, 1), np.float32), "seed": 0} | told
    with pytest.raises(InputError, match=rule):
        sample(best(1.0), **given)
