"""Closed forms of Gaussian diffusion against quadrature and published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from partwhole._checks import InputError
from partwhole.flows.gaussian_diffusion import gaussian_diffusion_loss, sampled_variance


@pytest.mark.parametrize(("scale", "nats"), [(1.0, 2.5033350), (0.3, 1.3321232), (0.05, 0.1577821)])
def test_published_losses(scale, nats):
    assert gaussian_diffusion_loss(scale) == pytest.approx(nats, abs=1e-6)


@pytest.mark.parametrize("ends", [(-5.0, 10.0), (-2.0, 3.0)])
@pytest.mark.parametrize("scale", [0.0, 0.01, 0.5, 4.0])
def test_the_loss_is_the_integral_of_what_is_left(scale, ends):
    def left(gamma):
        """Return the variance of the noise once z is known, by regression."""
        kept, added = 1.0 / (1.0 + np.exp(gamma)), 1.0 / (1.0 + np.exp(-gamma))
        return 1.0 - added / (kept * scale**2 + added)

    expected = 0.5 * quad(left, *ends, epsabs=1e-12)[0]
    assert gaussian_diffusion_loss(scale, ends) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("scale", "steps", "variance"),
    [
        (1.0, 50, 0.86476387), (1.0, 100, 0.92906813), (1.0, 250, 0.970784),
        (0.3, 50, 0.08384637), (0.3, 100, 0.08968703), (0.3, 250, 0.0934578),
        (0.05, 50, 0.00881488), (0.05, 100, 0.00899255), (0.05, 250, 0.00910203),
    ],
)  # fmt: skip
def test_published_variances(scale, steps, variance):
    # Half a unit of the last digit that is given.
    assert sampled_variance(scale, steps) == pytest.approx(
        variance, abs=6e-7 if steps == 250 else 6e-9
    )


def test_many_steps_reach_the_variance_of_z():
    """The way there is as 1 / steps, so that two numbers of steps tell where it ends."""
    for scale in (0.3, 1.0, 3.0):
        first, second = (sampled_variance(scale, steps) for steps in (20_000, 40_000))
        target = scale**2 / (1.0 + np.exp(-5.0)) + 1.0 / (1.0 + np.exp(5.0))
        # Noise at time 1 is not all of z: what began as other than that is forgotten but for e^-15.
        assert 2.0 * second - first == pytest.approx(target, rel=1e-5)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ((-1.0,), "scale is a finite number of at least 0; got -1.0; pass a number"),
        ((1.0, (3.0, 1.0)), "noise grows in time"),
    ],
)
def test_what_is_none_is_refused(given, rule):
    with pytest.raises(InputError, match=rule):
        gaussian_diffusion_loss(*given)
    scale, *ends = given
    with pytest.raises(InputError, match=rule):
        sampled_variance(scale, 10, *ends)
    with pytest.raises(InputError, match="steps"):
        sampled_variance(1.0, 0)
