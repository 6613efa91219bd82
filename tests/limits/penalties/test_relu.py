"""ReLU units: against facts, a numerical minimum, and JAX's slopes at it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from partwhole._checks import InputError
from partwhole.limits.penalties import relu_penalty

sizes = st.floats(-6, 6).map(lambda power: 10.0**power)
cosines = st.one_of(st.floats(-1, 1), st.sampled_from([-1.0, 0.0, 0.9, 1.0]))
readouts = st.one_of(st.just(0.0), st.floats(-3, 3).map(lambda power: 10.0**power))


def way(m, beta, b, cosine, readout):
    """Return the squared way, as squares of which none is negative."""
    along = m - np.sqrt(b) * cosine
    return (beta / m - readout) ** 2 + along**2 + b * (1 - cosine) * (1 + cosine)


def least(beta, b, cosine, readout):
    """Return the least way and where it is, from a grid of norms and then by golden section.

    The section is good to 1e-10 in the logarithm of the norm, being counted from the grid.
    """
    arguments = (beta, b, cosine, readout)
    marks = np.log([size for size in (np.sqrt(beta), np.sqrt(b), beta, readout) if size > 0])
    grid = np.linspace(marks.min() - 30, marks.max() + 30, 40001)
    i = int(np.argmin(way(np.exp(grid), *arguments)))
    step = grid[1] - grid[0]
    minimum = minimize_scalar(
        lambda beyond: way(np.exp(grid[i]) * np.exp(beyond), *arguments),
        bounds=(-step, step),
        method="bounded",
        options={"xatol": 1e-11},
    )
    return minimum.fun, np.exp(grid[i] + minimum.x)


def test_stated_numbers():
    """E-5."""
    b = np.array([1, 1, 1, 1, 1, 100, 0.01])
    cosine = np.array([1, 0.99, 0.9, 0.5, 0, 0.9, 1])
    profile = relu_penalty(1.0, b, cosine)
    stated = [0.669500, 0.697051, 0.940211, 1.928623, 3.0, 19.012344, 1.807436]
    np.testing.assert_allclose(profile.penalty, stated, atol=2e-6)
    orders = [1.568003, 1.518003, 1.207115, 0.780355, 0.666667, 0.001298, 1.051231]
    np.testing.assert_allclose(profile.order, orders, atol=2e-6)


@given(beta=sizes, b=sizes, cosine=cosines, readout=readouts)
def test_penalty_is_least(beta, b, cosine, readout):
    """Of a grid with refinement: neither below what we found, nor above."""
    found = relu_penalty(beta, b, cosine, readout_scale=readout)
    value, m = least(beta, b, cosine, readout)
    # What 1e-10 in the norm's logarithm is worth; and what the oracle's squares round to.
    missed = 1e-20 * (m**2 + 2 * (beta / m) ** 2) + 1e-29 * (b + readout**2)
    assert abs(found.penalty - value) <= 1e-13 * found.penalty + 5 * missed


@given(beta=sizes, b=sizes, cosine=cosines, readout=readouts)
def test_conservation_law(beta, b, cosine, readout):
    """E-19: all powers sum to 1, R scales as one."""
    found = relu_penalty(beta, b, cosine, readout_scale=readout)
    assume(np.isfinite(found.order))
    # Near the start the powers grow without bound, and so does what rounding makes of them.
    power = 1 + abs(found.order) + abs(found.readout_dependence)
    assert abs(found.degree - 1) < 1e-13 * power
    scaled = relu_penalty(1e5 * beta, 1e5 * b, cosine, readout_scale=np.sqrt(1e5) * readout)
    np.testing.assert_allclose(scaled.penalty, 1e5 * found.penalty, rtol=1e-13 * power)


@jax.jit
@jax.grad
def slopes_of_the_way(logs, m, cosine):
    """Return the slopes of the way's logarithm; logs of beta, b and the squared readout."""
    beta, b, square = jnp.exp(logs)
    before = jnp.sqrt(b)
    away = m**2 + b - 2 * m * before * cosine
    return jnp.log((beta / m - jnp.sqrt(square)) ** 2 + away)


@given(beta=st.floats(0.1, 10), b=st.floats(0.1, 10), cosine=cosines, readout=st.floats(0.01, 0.2))
def test_powers_by_automatic_differentiation(beta, b, cosine, readout):
    """Slopes of the way at the numerical minimum: envelope theorem. The minimum is known to the
    root of rounding, 1e-8, and its slopes are that wrong, over R."""
    _, m = least(beta, b, cosine, readout)
    found = relu_penalty(beta, b, cosine, readout_scale=readout)
    assume(found.penalty > 1e-3)
    with jax.enable_x64(True):
        logs = jnp.asarray(np.log([beta, b, readout**2]))
        slopes = np.asarray(slopes_of_the_way(logs, jnp.asarray(m), jnp.asarray(cosine)))
    powers = (found.order, found.feature_dependence, found.readout_dependence)
    np.testing.assert_allclose(powers, slopes, atol=1e-6 / float(found.penalty))


@pytest.mark.parametrize("readout", [0.3, 0.9, 1.0, 1.0 + 1e-12, 3.0])
def test_three_roots(readout):
    """A readout that has to shrink, and two ways down: the shorter one, by NumPy's roots.

    With p = readout both are equally short, and roots near double ones lose half their digits,
    which the least squares at the root do not notice.
    """
    beta = np.array([1e-3, 1e-2, 0.1, 0.2, 0.249, 0.25, 0.29])
    profile = relu_penalty(beta, 1.0, readout_scale=readout)
    for strength, penalty in zip(beta, profile.penalty, strict=True):
        roots = np.roots([1, -1, 0, readout * strength, -(strength**2)])
        real = roots.real[roots.real > 0]
        expected = way(real, strength, 1.0, 1.0, readout).min()
        assert abs(penalty - expected) < 1e-14


def test_closed_limits():
    """A.8. The next terms of the rich limit are of order b^(3/2) / beta^(1/2)."""
    b, beta = 1.0, 1e12
    for cosine in (1.0, 0.9):
        profile = relu_penalty(beta, b, cosine)
        expected = 2 * beta - 2 * cosine * np.sqrt(b * beta) + b * (1 - cosine**2 / 4)
        # A few roundings of 2 beta, far below the last term.
        np.testing.assert_allclose(profile.penalty, expected, rtol=2e-15)
        assert abs(profile.order - 1 - 0.5 * cosine * np.sqrt(b / beta)) < 1e-12
    # The next term of the lazy limit is smaller by (beta/b)^2: below rounding.
    lazy = relu_penalty(1e-12, 1.0)
    np.testing.assert_allclose(lazy.penalty, 1e-24, rtol=1e-14)
    np.testing.assert_allclose((lazy.order, lazy.feature_dependence), (2, -1), rtol=1e-14)
    turning = relu_penalty(1e-12, 1.0, 0.9)
    np.testing.assert_allclose(turning.penalty, 1 - 0.81, rtol=1e-14)
    np.testing.assert_allclose((turning.order, turning.feature_dependence), (0, 1), atol=1e-14)
    across = relu_penalty(np.array([1e-6, 1.0, 1e6]), 2.0, 0.0)
    np.testing.assert_allclose(across.penalty, 2 * np.array([1e-6, 1.0, 1e6]) + 2, rtol=1e-14)


def test_edges():
    """At 0: what is left of the penalty, and powers from just above."""
    profile = relu_penalty(0.0, np.array([1.0, 1.0, 1.0, 0.0]), np.array([1.0, 0.6, -1.0, 1.0]))
    np.testing.assert_allclose(profile.penalty, [0, 0.64, 1, 0], atol=1e-15)
    np.testing.assert_allclose(profile.order, [2, 0, 0, 1], atol=1e-14)
    np.testing.assert_allclose(profile.feature_dependence, [-1, 1, 1, 0], atol=1e-14)
    started = relu_penalty(0.0, 1.0, readout_scale=np.array([0.1, 2.0]))
    np.testing.assert_allclose(started.penalty, [0.01, 1.0])
    at_start = relu_penalty(2.0, 4.0, readout_scale=1.0)
    assert at_start.penalty == 0
    assert np.isnan(at_start.order)


def test_shapes():
    profile = relu_penalty(np.ones((3, 1)), np.array([0.1, 1.0]), readout_scale=0.1)
    for part in vars(profile).values():
        assert part.shape == (3, 2)
        assert part.dtype == np.float64
    assert relu_penalty(1.0, 1.0).penalty.shape == ()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((-1.0, 1.0), "coefficient is at least 0; got -1; pass its magnitude"),
        ((1.0, -2.0), "pretrained is at least 0; got -2; pass its magnitude"),
        ((1.0, 1.0, 1.5), "cosine is between -1 and 1; got 1.5; divide by the norms"),
    ],
)
def test_refusals(arguments, text):
    with pytest.raises(InputError) as caught:
        relu_penalty(*arguments)
    assert str(caught.value) == text
