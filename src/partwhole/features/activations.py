r"""Dual maps of smooth activations: erf, GELU, tanh, and any other by its Hermite series.

For a standard normal z and normalised Hermite polynomials :math:`h_j`, an activation
:math:`\varphi` has the coefficients :math:`a_j = \mathrm{E}\, \varphi(z)\, h_j(z)`, and its dual
map is the power series

.. math:: k(x) = \sum_j w_j x^j, \qquad w_j = a_j^2 / \sum_i a_i^2

(Daniely, Frostig & Singer, NeurIPS 2016). In distances from identity, :math:`x = 1 - \delta`, no
term of :math:`1 - k = \sum_j w_j (1 - x^j)` cancels. The map of erf is known in closed form
(Williams, Neural Computation 1998): :math:`k \propto \arcsin(2x / 3)`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Positive
from partwhole.features.random_networks import DualActivation

# Standard deviations to which expectations are summed, and steps of one; beyond it a normal density
# is below 1e-31.
WIDTH, STEPS = 12.0, 200
# Inputs of erf's arcsine at identity.
_TOP = 2.0 / 3.0


def erf() -> DualActivation:
    r"""Return the error function: :math:`k \propto \arcsin(2x/3)`, chi = 1.226.

    Examples
    --------
    >>> round(erf().chi, 4)
    1.2257
    """
    largest = float(np.arcsin(_TOP))

    def inside(delta: np.ndarray) -> np.ndarray:
        return _TOP * (1.0 - delta)

    def fall(delta: np.ndarray) -> np.ndarray:
        # sin(A - B) from a difference of squares keeps the digits of small distances.
        b = inside(delta)
        sums = _TOP * np.sqrt(1.0 - b**2) + b * np.sqrt(1.0 - _TOP**2)
        near = delta < 0.5
        sine = np.divide(_TOP**2 * delta * (2.0 - delta), sums, out=np.zeros_like(sums), where=near)
        return np.where(near, np.arcsin(sine), largest - np.arcsin(b)) / largest

    def slope(delta: np.ndarray) -> np.ndarray:
        return _TOP / np.sqrt(1.0 - inside(delta) ** 2) / largest

    return DualActivation("erf", fall, slope)


@cache
def gelu() -> DualActivation:
    r"""Return GELU, :math:`z\,\Phi(z)` with the normal distribution function, chi = 1.072.

    Examples
    --------
    >>> round(gelu().chi, 3)
    1.072
    """
    from scipy.special import ndtr

    return by_series(lambda z: z * ndtr(z), name="gelu")


@cache
def tanh() -> DualActivation:
    """Return the hyperbolic tangent, chi = 1.178.

    Examples
    --------
    >>> round(tanh().chi, 3)
    1.178
    """
    return by_series(np.tanh, name="tanh")


@door
def by_series(
    activation: Callable[[np.ndarray], np.ndarray],
    *,
    name: str = "activation",
    terms: Count = 400,
    tolerance: Positive = 1e-9,
) -> DualActivation:
    """Return the dual map of any smooth activation, by its Hermite series.

    Parameters
    ----------
    activation : callable, (n,) -> (n,)
        Finite for inputs between -12 and 12.
    name : str, keyword-only, default "activation"
    terms : int, keyword-only, default 400
        Of the series.
    tolerance : float, keyword-only, default 1e-9
        Share of the mean square that the terms may leave out. Activations with a kink need a larger
        one: 400 terms of ReLU leave out 1.1e-5 of it, and 1.3 % of its slope at identity.

    Returns
    -------
    DualActivation

    Raises
    ------
    InputError
        For an activation that is 0 or not finite, and one of which the terms leave out more.

    Examples
    --------
    >>> from partwhole.features import OverlapKernel
    >>> sine = by_series(np.sin, name="sine")
    >>> OverlapKernel.random_network(sine, 2, depth=1).salience.round(4).tolist()
    [0.4434, 0.1132]
    """
    z = np.linspace(-WIDTH, WIDTH, int(2 * WIDTH * STEPS) + 1)
    weights = np.exp(-(z**2) / 2.0) / np.sqrt(2.0 * np.pi) / STEPS
    values = np.asarray(activation(z), dtype=float)
    rule = "an activation returns a finite number for each input between -12 and 12"
    remedy = "look at its formula"
    require(values.shape == z.shape, rule, f"shape {values.shape} for {z.shape}", remedy)
    finite = np.isfinite(values)
    require(
        bool(finite.all()), rule, f"{values[np.argmin(finite)]} at {z[np.argmin(finite)]:g}", remedy
    )
    square = float(weights @ values**2)
    require(square > 0.0, "an activation is not 0 everywhere", "one that is", "look at its formula")
    series = _hermite(z, values * weights, terms) ** 2 / square
    left = 1.0 - float(series.sum())
    require(
        left <= tolerance,
        f"the terms of a Hermite series leave out at most {tolerance:g} of an activation",
        f"{left:.1e} after {terms:,} terms",
        "raise terms or tolerance, or pass a DualActivation in closed form",
    )
    series /= series.sum()
    powers = np.arange(terms + 1.0)

    def fall(delta: np.ndarray) -> np.ndarray:
        return _falls(delta, powers) @ series

    def slope(delta: np.ndarray) -> np.ndarray:
        return (1.0 - _falls(delta, powers[:-1])) @ (powers * series)[1:]

    def slope_fall(delta: np.ndarray) -> np.ndarray:
        return _falls(delta, powers[:-1]) @ (powers * series)[1:]

    return DualActivation(name, fall, slope, slope_fall)


def _hermite(
    z: Float[np.ndarray, " n"], weighted: Float[np.ndarray, " n"], terms: int
) -> Float[np.ndarray, " j"]:
    """Return sums of normalised Hermite polynomials with weights, by their recurrence."""
    before, current = np.zeros_like(z), np.ones_like(z)
    sums = np.empty(terms + 1)
    for j in range(terms + 1):
        sums[j] = weighted @ current
        after = (z * current - np.sqrt(j) * before) / np.sqrt(j + 1.0)
        before, current = current, after
    return sums


def _falls(
    delta: Float[np.ndarray, " n"], powers: Float[np.ndarray, " j"]
) -> Float[np.ndarray, "n j"]:
    """Return 1 - (1 - delta)**j, without loss of digits for small distances."""
    near = np.minimum(delta, 0.5)[:, None]
    small = -np.expm1(powers * np.log1p(-near))
    return np.where(delta[:, None] <= 0.5, small, 1.0 - (1.0 - delta[:, None]) ** powers)
