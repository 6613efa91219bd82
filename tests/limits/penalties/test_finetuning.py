"""Penalties of finetuning: against the weights that gradient flow starts from, and JAX's slopes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.limits.diagonal import DiagonalWeights
from partwhole.limits.penalties import (
    finetuning_penalty,
    finetuning_price,
    hyperbolic_entropy,
    hyperbolic_price,
)
from partwhole.limits.penalties._widths import elasticities, widths

FORMULAS = ("exact", "published")
LEARNED = 1 / np.sqrt(40)

sizes = st.floats(-5, 5).map(lambda power: 10.0**power)
signs = st.sampled_from([-1.0, 1.0])
starts = st.fixed_dictionaries(
    {
        "readout_scale": st.floats(-3, 0.5).map(lambda power: 10.0**power),
        "init_scale": st.floats(-3, 0.5).map(lambda power: 10.0**power),
        "rescale": st.floats(-1, 1).map(lambda power: 10.0**power),
    }
)


def by_weights(logs, signs, c, formula):
    """Return R from the four initial weights of a feature; logs of |beta|, |b|, gamma^2, alpha^2.

    Independent of widths and tilts in closed form: A and B are the sums of squares that
    gradient flow multiplies by exp(2s) and exp(-2s).
    """
    sizes = jnp.exp(logs)
    beta, b = signs * sizes[:2]
    gamma = jnp.sqrt(sizes[2])
    square = sizes[3]
    if formula == "exact":
        total = jnp.sqrt(b**2 + 4 * square**2)
        larger = jnp.sqrt(0.5 * (total + jnp.abs(b)))
        plus, minus = larger, square / larger
        plus, minus = jnp.where(b > 0, plus, minus), jnp.where(b > 0, minus, plus)
    else:
        plus = minus = jnp.sqrt(jnp.abs(b))
    plus, minus = c * plus, c * minus
    A = (plus + gamma) ** 2 + (minus - gamma) ** 2
    B = (plus - gamma) ** 2 + (minus + gamma) ** 2
    k = jnp.sqrt(A * B)
    begin = (A - B) / 4

    def phi(x):
        u = jnp.arcsinh(2 * x / k)
        return 0.5 * (x * u - jnp.sqrt(x**2 + k**2 / 4)) - 0.25 * x * jnp.log(A / B)

    return 4 * (phi(beta) - phi(begin))


value_and_slopes = jax.jit(jax.value_and_grad(by_weights), static_argnums=3)


@pytest.mark.parametrize("formula", FORMULAS)
@given(beta=sizes, b=sizes, sign=st.tuples(signs, signs), start=starts)
def test_value_and_powers_by_automatic_differentiation(formula, beta, b, sign, start):
    """R, order and all three dependences. The oracle subtracts: its digits are R's over what
    it subtracts, and what B loses where one pathway is nearly undone by the readout."""
    c = start["rescale"]
    logs = np.log([beta, b, start["readout_scale"] ** 2, start["init_scale"] ** 2])
    found = finetuning_penalty(sign[0] * beta, sign[1] * b, **start, formula=formula)
    with jax.enable_x64(True):
        arguments = (jnp.asarray(logs), jnp.asarray(sign), jnp.asarray(c))
        value, slopes = value_and_slopes(*arguments, formula)
        value, slopes = float(value), np.asarray(slopes)
    k, delta = widths(sign[1] * b, **start, formula=formula)
    terms = beta * (1 + abs(np.arcsinh(2 * beta / k)) + abs(delta)) + k * np.cosh(delta)
    lost = 1e-14 * terms * np.exp(2 * abs(delta))
    assert abs(found.penalty - value) <= lost
    powers = np.array(
        [
            found.order,
            found.feature_dependence,
            found.readout_dependence,
            found.init_dependence,
        ]
    )
    np.testing.assert_allclose(powers * found.penalty, slopes, rtol=0, atol=10 * lost)


@given(b=sizes, sign=signs, start=starts, s=st.floats(-4, 4))
def test_price_is_what_the_gradient_adds_up_to(b, sign, start, s):
    """Gradient flow under a gradient that adds up to -s, weight by weight: hidden and readout
    turn into each other as cosh and sinh. Rounding is that of the larger pathway."""
    weights = DiagonalWeights.pretrained(np.array([sign * b]), start["init_scale"])
    w = weights.for_finetuning(rescale=start["rescale"], readout_scale=start["readout_scale"])
    up, across = np.cosh(s), np.sinh(s)
    moved = DiagonalWeights(
        w.hidden_plus * up + w.readout_plus * across,
        w.readout_plus * up + w.hidden_plus * across,
        w.hidden_minus * up - w.readout_minus * across,
        w.readout_minus * up - w.hidden_minus * across,
    )
    k, delta = widths(sign * b, **start, formula="exact")
    size = sum(abs(part) for part in moved)[0] ** 2
    beta = moved.coefficients[0]
    slope = 1 / np.hypot(2 * beta, k)
    found = finetuning_price(beta, sign * b, **start)
    assert abs(found - s) <= 1e-14 * (10 + abs(delta) + size * slope)


@pytest.mark.parametrize("formula", FORMULAS)
@given(power=st.floats(-6, 0.5), side=signs, b=sizes, sign=signs, start=starts)
def test_penalty_sums_up_prices(formula, power, side, b, sign, start):
    """R is four times the area under the price, also where R's own terms cancel.

    Gauss's rule of 40 points is exact here; a price is known to 1e-16 of the tilt at most.
    """
    k, delta = widths(sign * b, **start, formula=formula)
    begin, reach = 0.5 * k * np.sinh(delta), side * k * 10.0**power
    nodes, weights = np.polynomial.legendre.leggauss(40)
    between = begin + 0.5 * reach * (nodes + 1)
    prices = finetuning_price(between, sign * b, **start, formula=formula)
    found = finetuning_penalty(begin + reach, sign * b, **start, formula=formula)
    rtol = 1e-13 + 2e-15 / 10.0**power
    np.testing.assert_allclose(found.penalty, 2 * reach * (weights @ prices), rtol=rtol)
    slope = 4 * finetuning_price(begin + reach, sign * b, **start, formula=formula)
    np.testing.assert_allclose(found.order * found.penalty, slope * (begin + reach), rtol=rtol)


@given(b=sizes, sign=signs, start=starts)
def test_tilt_is_bounded(b, sign, start):
    """By asinh 1; reached where the readout's square is half the rescaled coefficient."""
    assert abs(widths(sign * b, **start, formula="exact").tilt) <= np.arcsinh(1.0)
    most = widths(b, readout_scale=np.sqrt(b / 2), init_scale=0, rescale=1, formula="exact")
    np.testing.assert_allclose(most.tilt, np.arcsinh(1.0), rtol=1e-15)


@given(b=sizes, sign=signs, start=starts)
def test_penalty_is_least_where_finetuning_starts(b, sign, start):
    weights = DiagonalWeights.pretrained(np.array([sign * b]), start["init_scale"])
    begin = weights.for_finetuning(
        rescale=start["rescale"], readout_scale=start["readout_scale"]
    ).coefficients[0]
    k, delta = widths(sign * b, **start, formula="exact")
    # Both are differences of pathways: known to the rounding of the larger.
    largest = start["rescale"] * start["readout_scale"] * max(np.sqrt(b), start["init_scale"])
    assert abs(0.5 * k * np.sinh(delta) - begin) <= 2e-15 * (4 * largest + abs(begin))
    around = finetuning_penalty(begin + k * np.array([-1.0, 0.0, 1.0]), sign * b, **start)
    assert around.penalty[1] <= 1e-20 * around.penalty.max()
    assert (around.penalty[[0, 2]] > 0).all()


@pytest.mark.parametrize("formula", FORMULAS)
@given(beta=sizes, b=sizes, sign=st.tuples(signs, signs), start=starts, t=sizes)
def test_conservation_law(formula, beta, b, sign, start, t):
    """E-19, with gamma and alpha: R scales as one, and the powers sum to 1."""
    found = finetuning_penalty(sign[0] * beta, sign[1] * b, **start, formula=formula)
    larger = {
        "readout_scale": np.sqrt(t) * start["readout_scale"],
        "init_scale": np.sqrt(t) * start["init_scale"],
        "rescale": start["rescale"],
    }
    scaled = finetuning_penalty(t * sign[0] * beta, t * sign[1] * b, **larger, formula=formula)
    # Near the start the powers grow without bound, and so does what rounding makes of them.
    power = 1 + abs(found.order)
    np.testing.assert_allclose(scaled.penalty, t * found.penalty, rtol=1e-13 * power)
    assert abs(found.degree - 1) <= 1e-14 * power


@given(beta=sizes, b=sizes)
def test_conservation_law_without_scales(beta, b):
    """E-19: order + feature dependence = 1, between rich and lazy."""
    found = finetuning_penalty(beta, b)
    assert abs(found.order + found.feature_dependence - 1) < 1e-13
    assert 1 <= found.order <= 2


def test_stated_orders():
    """E-3."""
    b = np.array([1e-3, 1e-2, 0.1, 1, 10, 100])
    profile = finetuning_penalty(1.0, b, formula="published")
    stated = [1.151320, 1.229801, 1.432339, 1.886663, 1.998342, 1.999983]
    np.testing.assert_allclose(profile.order, stated, atol=1e-6)
    # With one pathway left, the width of a learned feature is half of what was published.
    exact = finetuning_penalty(1.0, 2 * b)
    np.testing.assert_allclose(exact.order, profile.order, rtol=1e-14)
    np.testing.assert_allclose(exact.penalty, profile.penalty, rtol=1e-14)


def test_published_penalty():
    """E-4, to the digits told; and its definition."""
    beta, b = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1]), np.array([1e-3, 1, 1e3] * 2)
    penalty = finetuning_penalty(beta, b, readout_scale=1e-3, formula="published").penalty
    stated = [13.2018074, 0.9343192, 9.99999916e-4, 0.8614606, 9.991682e-3, 1.0e-5]
    np.testing.assert_allclose(penalty, stated, rtol=1e-6)
    size = b + 1e-6
    np.testing.assert_allclose(penalty, size * hyperbolic_entropy(2 * beta / size), rtol=1e-14)


def test_widths_and_tilts():
    """E-7."""
    k, delta = widths(
        np.array([LEARNED, 0.0]), readout_scale=1e-3, init_scale=1e-3, rescale=1, formula="exact"
    )
    np.testing.assert_allclose(k, [0.158113883, 4.0e-6], rtol=1e-9)
    np.testing.assert_allclose(delta, [5.03e-3, 0.0], rtol=1e-3)


@pytest.mark.parametrize(
    ("c", "pretrained", "fresh", "price_old", "price_new"),
    [
        (1.0, 0.158114, 4e-6, 0.8291, 6.1030),
        (0.1, 1.58114e-3, 4e-8, 3.1132, 8.4056),
        (0.01, 1.58114e-5, 4e-10, 5.4158, 10.7082),
        (0.001, 1.58114e-7, 4e-12, 7.7184, 13.0108),
    ],
)
def test_price_list(c, pretrained, fresh, price_old, price_new):
    """A.5: half the last digit told; the readout is rescaled with the first layer."""
    k, delta = widths(
        np.array([LEARNED, 0.0]),
        readout_scale=c * 1e-3,
        init_scale=1e-3,
        rescale=c,
        formula="exact",
    )
    np.testing.assert_allclose(k, [pretrained, fresh], rtol=5e-6)
    np.testing.assert_allclose(hyperbolic_price(0.2, k), [price_old, price_new], atol=5e-5)
    # The tilt takes half of itself off, whatever the coefficient: 0.3 % of the first price.
    paid = finetuning_price(
        0.2, np.array([LEARNED, 0.0]), readout_scale=c * 1e-3, init_scale=1e-3, rescale=c
    )
    np.testing.assert_allclose(hyperbolic_price(0.2, k) - paid, delta / 2, atol=1e-14)


def test_widths_where_subtraction_would_fail():
    """Of a network from scratch; and over 24 decades, against sums of squares without one."""
    scratch = widths(0.0, readout_scale=0.0, init_scale=0.1, rescale=0.3, formula="exact")
    np.testing.assert_allclose(scratch, (2 * 0.09 * 0.01, 0.0), rtol=1e-15)
    b = np.logspace(-12, 12, 25)
    k, delta = widths(b, readout_scale=1.0, init_scale=1e-9, rescale=1.0, formula="exact")
    np.testing.assert_allclose(k, np.sqrt(b**2 + 4), rtol=1e-15)
    # Alpha is nothing here: the other pathway is empty, and P + R = (sqrt(b) + 1)^2 + 1.
    upper, lower = (np.sqrt(b) + 1) ** 2 + 1, (np.sqrt(b) - 1) ** 2 + 1
    usual = (b > 1e-6) & (b < 1e6)
    np.testing.assert_allclose(delta[usual], 0.5 * np.log(upper / lower)[usual], rtol=1e-9)
    np.testing.assert_allclose(delta[~usual], (2 * np.sqrt(b) / np.hypot(b, 2))[~usual], rtol=1e-5)
    np.testing.assert_array_equal(
        widths(-b, readout_scale=1.0, init_scale=1e-9, rescale=1.0, formula="exact").tilt, -delta
    )


def test_widths_of_weights():
    """Against A and B of the weights themselves, where they lose no digits."""
    b = np.array([2.0, -0.3, 0.05, 0.0])
    w = DiagonalWeights.pretrained(b, 0.2).for_finetuning(rescale=0.7, readout_scale=0.4)
    A = (w.hidden_plus + w.readout_plus) ** 2 + (w.hidden_minus - w.readout_minus) ** 2
    B = (w.hidden_plus - w.readout_plus) ** 2 + (w.hidden_minus + w.readout_minus) ** 2
    k, delta = widths(b, readout_scale=0.4, init_scale=0.2, rescale=0.7, formula="exact")
    np.testing.assert_allclose(k, np.sqrt(A * B), rtol=1e-14)
    np.testing.assert_allclose(delta, 0.5 * np.log(A / B), rtol=1e-13, atol=1e-15)


def test_lazy_and_rich_limits():
    """A.3, A.5: what the limits leave out is a fraction (beta/k)^2/3, or (k/beta)^2."""
    b, gamma = 0.5, 1e-3
    kappa = b + gamma**2
    tiny, large = 1e-6 * b, 1e8 * b
    scales = {"readout_scale": gamma, "formula": "published"}
    lazy = finetuning_penalty(tiny, b, **scales)
    np.testing.assert_allclose(lazy.penalty, tiny**2 / kappa, rtol=1e-11)
    np.testing.assert_allclose((lazy.order, lazy.feature_dependence), (2, -1), atol=1e-5)
    rich = finetuning_penalty(large, b, **scales)
    expected = 2 * large * (np.log(2 * large / kappa) - 1) + 2 * kappa
    np.testing.assert_allclose(rich.penalty, expected, rtol=1e-14)
    np.testing.assert_allclose(rich.order, 1 + 1 / (np.log(2 * large / kappa) - 1), rtol=1e-8)


def test_edges():
    """No weight to grow from: infinitely dear, and rich. No coefficient: lazy."""
    infinite = finetuning_penalty(np.array([1.0, 0.0]), 0.0)
    assert infinite.penalty.tolist() == [np.inf, 0.0]
    assert infinite.order.tolist() == [1.0, 1.0]
    assert infinite.degree.tolist() == [1.0, 1.0]
    # The limit of small coefficients beside a smaller width: of order 1 + 1 / ln(4 beta / k).
    finite = finetuning_penalty(1e-250, 0.0, init_scale=1e-145)
    assert abs(finite.order - 1.0) < 0.02
    still = finetuning_penalty(0.0, 0.5, init_scale=0.1)
    assert (still.penalty, still.order) == (0.0, 2.0)
    assert abs(still.degree - 1) < 1e-15
    tilted = finetuning_penalty(0.0, 0.5, readout_scale=0.1)
    assert tilted.penalty > 0
    assert abs(tilted.order) < 1e-14


def test_elasticities_sum():
    """Widths scale as one, tilts not at all."""
    b = np.array([[-2.0], [0.0], [1e-8]])
    gamma = np.array([0.0, 1e-5, 3.0])
    for formula in FORMULAS:
        derivatives = elasticities(
            b, readout_scale=gamma, init_scale=0.01, rescale=2.0, formula=formula
        )
        total = derivatives.width.sum(axis=0)
        empty = (formula == "published") & (b == 0) & (gamma == 0)
        np.testing.assert_allclose(total, np.where(empty, 0.0, 1.0), atol=1e-15)
        np.testing.assert_allclose(derivatives.tilt.sum(axis=0), 0.0, atol=1e-15)


def test_shapes_and_types():
    beta, b = np.linspace(-1, 1, 4)[:, None], np.array([0.0, 0.5, 2.0])
    copies = beta.copy(), b.copy()
    profile = finetuning_penalty(beta, b, readout_scale=0.1, rescale=np.full((2, 1, 1), 0.3))
    for part in vars(profile).values():
        assert part.shape == (2, 4, 3)
        assert part.dtype == np.float64
    assert finetuning_price(beta, b, readout_scale=0.1).shape == (4, 3)
    np.testing.assert_array_equal(beta, copies[0])
    np.testing.assert_array_equal(b, copies[1])
    alone = finetuning_penalty(float(beta[2, 0]), 0.5, readout_scale=0.1, rescale=0.3)
    assert alone.penalty == profile.penalty[0, 2, 1]


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"readout_scale": -0.1}, "readout_scale is at least 0; got -0.1; pass its magnitude"),
        ({"rescale": 0.0}, "rescale is above 0; got 0; pass 1 to leave weights as they are"),
        (
            {"formula": "paper"},
            'formula is "exact" or "published"; got \'paper\'; choose one of them',
        ),
    ],
)
def test_refusals(changed, text):
    for function in (finetuning_penalty, finetuning_price):
        with pytest.raises(InputError) as caught:
            function(1.0, 1.0, **changed)
        assert str(caught.value) == text
