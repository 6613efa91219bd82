"""Hyperbolic entropy: against numbers of 60 digits, and what slopes and limits make of it."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.limits.penalties import hyperbolic_entropy, hyperbolic_price
from partwhole.limits.penalties.hyperbolic import coth_excess

# E-1.
STATED = {
    0.01: 2.5000e-5,
    0.5: 0.06218042,
    1.0: 0.24514385,
    2.0: 0.93432005,
    10.0: 14.92634439,
    1000.0: 5909.75427898,
}


def by_decimals(z: float) -> float:
    """Return q(z) from its definition, with enough digits that cancelling costs none."""
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(z)
        root = (4 + exact * exact).sqrt()
        return float(2 - root + exact * ((exact + root) / 2).ln())


def test_stated_numbers():
    """E-1; the first is told with five digits, q being z^2/4 - z^4/192."""
    values = hyperbolic_entropy(np.array([*STATED]))
    np.testing.assert_allclose(values, [*STATED.values()], rtol=2.2e-6)
    np.testing.assert_allclose(values[1:], [*STATED.values()][1:], rtol=1e-6)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_exact_over_thirty_decades(sign):
    """Subtracting tanh(u/2) from u halves the digits of neither: a few units in the last."""
    z = np.logspace(-15, 15, 61)
    np.testing.assert_allclose(
        hyperbolic_entropy(sign * z), [by_decimals(number) for number in z], rtol=2e-15
    )


def test_far_and_near():
    """A.3: the quadratic and the logarithm, where what they leave out is below rounding."""
    tiny, huge = np.array([1e-150, 1e-100, 1e-9]), np.array([1e40, 1e200, 1e300])
    np.testing.assert_allclose(hyperbolic_entropy(tiny), tiny**2 / 4, rtol=1e-15)
    np.testing.assert_allclose(hyperbolic_entropy(huge), huge * (np.log(huge) - 1), rtol=1e-15)
    assert hyperbolic_entropy(0.0) == 0.0


def test_series_near_zero():
    """h coth h - 1 with 60 digits; past the series it loses what 1 loses, and no more is used."""

    def exact(h: float) -> float:
        with localcontext() as context:
            context.prec = 60
            up, down = Decimal(h).exp(), (-Decimal(h)).exp()
            return float(Decimal(h) * (up + down) / (up - down) - 1)

    h = np.array([1e-12, 1e-6, 1e-3, 0.005, 0.00999, -0.00999, 0.0101, -0.3, 2.0, 30.0])
    found, expected = coth_excess(h), np.array([exact(number) for number in h])
    np.testing.assert_allclose(found[:6], expected[:6], rtol=3e-15)
    np.testing.assert_allclose(found[6:], expected[6:], rtol=1e-15, atol=3e-16)
    assert coth_excess(0.0) == 0.0


def test_price_is_the_slope():
    """phi' = s, by central differences of (k/8) q(4 beta/k): error 1e-5 squared, k = 1."""
    width, step = 0.37, 1e-5
    beta = np.linspace(-3, 3, 25)
    ends = [0.125 * width * hyperbolic_entropy(4 * (beta + d) / width) for d in (step, -step)]
    slope = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(hyperbolic_price(beta, width), slope, atol=1e-9)
    np.testing.assert_allclose(hyperbolic_price(beta, width, 0.8), slope - 0.4, atol=1e-9)


def test_price_of_vanishing_widths():
    """Below 1e-300 the ratio overflows and its logarithm does not: s rises by ln 10 / 2."""
    values = hyperbolic_price(1.0, np.array([1e-290, 1e-300, 1e-310, 0.0]))
    # Below 2.2e-308 numbers lose digits: 1e-310 is known to 1e-14.
    np.testing.assert_allclose(np.diff(values[:3]), 5 * np.log(10), rtol=1e-12)
    assert values[3] == np.inf
    assert hyperbolic_price(0.0, 0.0) == 0.0


def test_refusals():
    with pytest.raises(InputError, match=r"^width is at least 0; got -1; pass its magnitude$"):
        hyperbolic_price(1.0, -1.0)
    with pytest.raises(
        InputError,
        match=r"^arguments broadcast against each other; got \(2,\), \(3,\), \(\); align",
    ):
        hyperbolic_price(np.ones(2), np.ones(3))
