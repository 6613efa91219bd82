r"""Hyperbolic entropy: the penalty of diagonal networks on a coefficient, between L1 and L2.

.. math:: q(z) = 2 - \sqrt{4 + z^2} + z \operatorname{asinh}(z/2), \qquad
          \phi(\beta) = \tfrac{k}{8}\, q(4\beta/k) - \tfrac12 \delta \beta .

Gradient flow of a feature of width k and tilt delta reaches
:math:`\beta = \tfrac{k}{2} \sinh(2s + \delta)` when the integral of its gradient is -s. Of all
coefficients that fit it therefore ends at those of the least :math:`\sum \phi`.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole._door import door
from partwhole._types import Number
from partwhole.limits.penalties._inputs import at_least_zero, together


@door(any_size=("ratio",))
def hyperbolic_entropy(ratio: Number) -> Float[np.ndarray, "..."]:
    r"""Return :math:`q(z) = 2 - \sqrt{4 + z^2} + z \operatorname{asinh}(z/2)`.

    Parameters
    ----------
    ratio : float or float array
        z.

    Returns
    -------
    float array, of the shape of `ratio`
        About :math:`z^2/4` for small z, and :math:`|z| (\ln|z| - 1)` for large z.

    Raises
    ------
    InputError
        For numbers that are not finite.

    Notes
    -----
    Woodworth et al. (COLT 2020), theorem 1; also called hypentropy. Computed as
    :math:`|z| (u - \tanh(u/2))` with :math:`u = \operatorname{asinh}(|z|/2)`, which does not
    cancel near 0; derived here.

    Examples
    --------
    >>> hyperbolic_entropy(2.0).round(8).item()
    0.93432005
    """
    z = np.abs(np.asarray(ratio, dtype=float))
    u = np.arcsinh(0.5 * z)
    return np.asarray(z * (u - np.tanh(0.5 * u)))


@door(any_size=("width",))
def hyperbolic_price(
    coefficient: Number, width: Number, tilt: Number = 0.0
) -> Float[np.ndarray, "..."]:
    r"""Return the marginal price of a coefficient, :math:`\phi'(\beta) = s`.

    .. math:: s = \tfrac12 \left[ \operatorname{asinh}(2\beta/k) - \delta \right]

    Parameters
    ----------
    coefficient : float or float array
        :math:`\beta`.
    width : float or float array
        k, at least 0.
    tilt : float or float array, default 0
        Delta; 0 for a feature whose coefficient starts from 0.

    Returns
    -------
    float array, of the shape to which all arguments broadcast
        Minus the integral of the gradient at which the flow reaches the coefficient. Infinite
        where the width is 0 and the coefficient is not.

    Raises
    ------
    InputError
        For numbers that are not finite, and widths below 0.

    Notes
    -----
    Derived here.

    Examples
    --------
    >>> hyperbolic_price(0.2, np.array([0.158114, 4e-6])).round(4).tolist()
    [0.8291, 6.103]
    """
    beta, k, delta = together(coefficient, at_least_zero("width", width), tilt)
    return np.asarray(0.5 * (log_growth(beta, k) - delta))


def log_growth(coefficient: Number, width: Number) -> np.ndarray:
    r"""Return :math:`u = \operatorname{asinh}(2\beta/k)`, also where the ratio overflows."""
    size = np.abs(coefficient)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = 2.0 * size / width
        asymptote = np.log(4.0) + np.log(size) - np.log(width)
    u = np.where(ratio < 1e300, np.arcsinh(np.minimum(ratio, 1e300)), asymptote)
    return np.asarray(np.copysign(np.where(size > 0, u, 0.0), coefficient))


def coth_excess(h: Number) -> np.ndarray:
    r"""Return :math:`h \coth h - 1`; near 0, where the difference cancels, by its series."""
    square = np.square(h)
    series = square / 3.0 * (1.0 - square / 15.0 * (1.0 - square / 10.5))
    safe = np.where(np.abs(h) < 0.01, 1.0, h)
    return np.where(np.abs(h) < 0.01, series, safe / np.tanh(safe) - 1.0)
