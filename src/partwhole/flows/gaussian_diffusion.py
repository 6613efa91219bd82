r"""Diffusion of Gaussian samples with the best prediction of their noise, in closed form.

For :math:`x \sim N(0, s^2)` in each dimension and :math:`z = \alpha x + \sigma \varepsilon`, the
best prediction of the noise is linear,

.. math:: E[\varepsilon | z] = \frac{\sigma z}{v}, \quad v = \alpha^2 s^2 + \sigma^2

What it leaves, and what a sampler makes of it in finitely many steps, hold a trained model to
account. Derived here, in the notation of Kingma, Salimans, Poole & Ho (NeurIPS 2021).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, NonNegative, Real

ENDS = (-5.0, 10.0)


@door
def gaussian_diffusion_loss(scale: NonNegative, ends: Sequence[Real] = ENDS) -> float:
    r"""Return the least diffusion loss of Gaussian samples, per dimension.

    .. math:: \frac12 \int \gamma'(t)\, E|\varepsilon - E[\varepsilon | z_t]|^2 dt
        = \frac12 \ln \frac{1 + s^2 e^{-\gamma_0}}{1 + s^2 e^{-\gamma_1}}

    Whatever the schedule between its ends: the integral is over :math:`\gamma`.

    Parameters
    ----------
    scale : float
        Standard deviation s of a sample.
    ends : pair of float, default (-5, 10)
        :math:`\gamma_0` and :math:`\gamma_1`, the log of noise over signal at times 0 and 1.

    Returns
    -------
    float
        In nats; over ln 2 in bits.

    Examples
    --------
    >>> round(gaussian_diffusion_loss(1.0), 6)
    2.503335
    """
    s, (first, last) = _checked(scale, ends)
    with np.errstate(divide="ignore"):
        log = 2.0 * np.log(s)
    return float(0.5 * (np.logaddexp(0.0, log - first) - np.logaddexp(0.0, log - last)))


@door
def sampled_variance(scale: NonNegative, steps: Count, ends: Sequence[Real] = ENDS) -> float:
    r"""Return the variance of what ancestral sampling gives, with the best prediction of noise.

    A step of a linear schedule maps :math:`z_t` to :math:`\frac{\alpha_s}{\alpha_t}\left(1 -
    \frac{c \sigma_t^2}{v_t}\right) z_t` and adds a variance :math:`\sigma_s^2 c`, with
    :math:`c = 1 - e^{\gamma_s - \gamma_t}`. It begins at 1 and falls short of
    :math:`\alpha_0^2 s^2 + \sigma_0^2`, the less so the more steps there are.

    Parameters
    ----------
    scale : float
        Standard deviation s of a sample.
    steps : int
        Of equal length in time.
    ends : pair of float, default (-5, 10)

    Returns
    -------
    float
        Of z at time 0.

    Examples
    --------
    >>> [round(sampled_variance(1.0, steps), 6) for steps in (50, 100, 250)]
    [0.864764, 0.929068, 0.970784]
    """
    s, (first, last) = _checked(scale, ends)
    gamma = np.linspace(first, last, steps + 1)
    signal, noise = 1.0 / (1.0 + np.exp(gamma)), 1.0 / (1.0 + np.exp(-gamma))  # squared
    shed = -np.expm1(gamma[:-1] - gamma[1:])
    factors = (
        signal[:-1] / signal[1:] * (1.0 - shed * noise[1:] / (signal[1:] * s**2 + noise[1:])) ** 2
    )
    variance = 1.0
    for factor, added in zip(factors[::-1], (noise[:-1] * shed)[::-1], strict=True):
        variance = factor * variance + added
    return float(variance)


def _checked(scale: NonNegative, ends: Sequence[Real]) -> tuple[float, tuple[float, float]]:
    require(
        len(ends) == 2 and ends[0] < ends[1],
        "noise grows in time, ends[0] < ends[1]",
        repr(tuple(ends)),
        "pass (-5, 10), say",
    )
    return float(scale), (float(ends[0]), float(ends[1]))
