"""Dual maps of activations: closed forms, the Hermite series, and plain quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf as erf_of
from scipy.special import ndtr

from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.features.activations import by_series, erf, gelu, tanh
from partwhole.features.random_networks import gaussian, relu

DELTA = np.array([0.0, 1e-14, 1e-9, 1e-4, 0.1, 0.49, 0.51, 0.9, 1.0, 1.5, 2.0])
FUNCTIONS = {
    "erf": (erf, erf_of),
    "gelu": (gelu, lambda z: z * ndtr(z)),
    "tanh": (tanh, np.tanh),
}


def expected(function, similarity):
    """Return the mean product of an activation at two normal inputs, by Gauss and Hermite."""
    z, weights = np.polynomial.hermite_e.hermegauss(140)
    weights = weights / weights.sum()
    other = similarity * z[:, None] + np.sqrt(1.0 - similarity**2) * z[None, :]
    return float(weights @ (function(z)[:, None] * function(other)) @ weights)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_maps_are_those_of_quadrature(name):
    dual, function = FUNCTIONS[name]
    similarities = np.array([1.0, 0.95, 0.5, 0.0, -0.5, -0.95])
    products = [expected(function, x) / expected(function, 1.0) for x in similarities]
    # 140 nodes are good to 1e-11 for tanh, whose poles are nearest.
    np.testing.assert_allclose(1.0 - dual().fall(1.0 - similarities), products, atol=2e-11)


@pytest.mark.parametrize(
    ("closed", "function"),
    [(erf(), erf_of), (gaussian(), lambda z: np.exp(-(z**2))),
     (gaussian(0.3), lambda z: np.exp(-0.3 * z**2))],
)  # fmt: skip
def test_the_series_is_the_closed_form(closed, function):
    series = by_series(function)
    np.testing.assert_allclose(series.fall(DELTA), closed.fall(DELTA), rtol=1e-11, atol=1e-16)
    np.testing.assert_allclose(series.slope(DELTA), closed.slope(DELTA), atol=1e-11)
    np.testing.assert_allclose(
        series.flattening(DELTA), closed.flattening(DELTA), rtol=1e-6, atol=1e-14
    )


def test_the_series_of_sines_and_powers_is_known():
    # sin: sinh(x) / sinh(1); the third Hermite polynomial: x**3.
    sine, cubic = by_series(np.sin), by_series(lambda z: z**3 - 3.0 * z)
    x = 1.0 - DELTA
    np.testing.assert_allclose(1.0 - sine.fall(DELTA), np.sinh(x) / np.sinh(1.0), atol=1e-12)
    np.testing.assert_allclose(1.0 - cubic.fall(DELTA), x**3, atol=1e-10)
    assert sine.chi == pytest.approx(1.0 / np.tanh(1.0), abs=1e-11)
    assert cubic.chi == pytest.approx(3.0, abs=1e-9)


def test_slopes_at_identity_are_those_of_derivatives():
    z = np.linspace(-12.0, 12.0, 200_001)
    density = np.exp(-(z**2) / 2.0)
    for dual, function in FUNCTIONS.values():
        squares = density @ np.gradient(function(z), z) ** 2
        # Differences of steps of 1.2e-4 are good to 1e-8.
        assert dual().chi == pytest.approx(squares / (density @ function(z) ** 2), rel=1e-7)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_saliences_are_those_of_sampled_layers(name):
    dual, function = FUNCTIONS[name]
    kernel = OverlapKernel.random_network(dual(), 2, depth=1)
    rng = np.random.default_rng(0)
    # Two components of two values, one-hot, of unit norm; 400,000 random features.
    inputs = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]) / np.sqrt(2.0)
    features = function(inputs @ rng.normal(size=(4, 400_000)))
    gram = features @ features.T / len(features.T)
    top, one, none = np.trace(gram) / 4, (gram[0, 1] + gram[0, 2]) / 2, gram[0, 3]
    share = (one - none) / (top - none)
    # The standard error of a share is .0012 at most.
    assert share == pytest.approx(kernel.salience[0], abs=0.006)


def test_kinks_need_a_tolerance_that_is_said():
    with pytest.raises(InputError, match=r"leave out at most 1e-09 .*; got 1.1e-05 after 400"):
        by_series(lambda z: np.maximum(z, 0.0))
    rough = by_series(lambda z: np.maximum(z, 0.0), tolerance=1e-4)
    np.testing.assert_allclose(rough.fall(DELTA), relu().fall(DELTA), atol=2e-5)
    with pytest.raises(InputError, match="after 40 terms; raise terms or tolerance"):
        by_series(np.tanh, terms=40)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda z: 0.0 * z, "an activation is not 0 everywhere; got one that is"),
        (np.log, "returns a finite number for each input between -12 and 12; got nan at -12"),
        (lambda z: 1.0, r"between -12 and 12; got shape \(\) for"),
    ],
)
def test_what_is_no_activation_is_refused(function, sentence):
    with np.errstate(all="ignore"), pytest.raises(InputError, match=sentence):
        by_series(function)
