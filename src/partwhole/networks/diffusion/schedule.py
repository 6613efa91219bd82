r"""Noise at each time of diffusion, from 0 (almost none) to 1 (almost only noise).

With the log of noise over signal :math:`\gamma(t) = \gamma_0 + |w| t`,

.. math:: z_t = \alpha x + \sigma \varepsilon, \quad
    \alpha^2 = \frac{1}{1 + e^\gamma}, \quad \sigma^2 = \frac{1}{1 + e^{-\gamma}} = 1 - \alpha^2

(Kingma, Salimans, Poole & Ho, NeurIPS 2021). The endpoints are learned with the network or fixed.
Samples are drawn from noise alone at time 1, where :math:`\alpha` is to be small; a loss with
learned endpoints doesn't see to that.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real

ENDS = (-5.0, 10.0)
MOST_SIGNAL = 0.1  # of a sample, at time 1


class ScheduleWarning(UserWarning):
    """Sampling that starts from noise alone, at a time at which the schedule leaves a signal."""


def signal(gamma: Float[Array, "*n"]) -> Float[Array, "*n"]:
    r"""Return :math:`\alpha = (1 + e^\gamma)^{-1/2}`, the scale of the sample."""
    return jnp.sqrt(jax.nn.sigmoid(-gamma))


def noise(gamma: Float[Array, "*n"]) -> Float[Array, "*n"]:
    r"""Return :math:`\sigma = (1 + e^{-\gamma})^{-1/2}`, the standard deviation of the noise."""
    return jnp.sqrt(jax.nn.sigmoid(gamma))


class LinearSchedule(eqx.Module):
    r"""Schedule with a linear log of noise over signal, :math:`\gamma(t) = \gamma_0 + |w| t`.

    Parameters
    ----------
    ends : pair of float
        :math:`\gamma(0)` and :math:`\gamma(1)` before training. A network gets the time in
        their units, also after training has moved the endpoints.
    learned : _Endpoints or None
        The current endpoints if training moves them; None if those of `ends` stay fixed.

    Examples
    --------
    >>> schedule = linear_schedule()
    >>> gamma = schedule(jnp.array([0.0, 0.25, 0.5, 1.0]))
    >>> [round(float(each), 4) for each in signal(gamma)]
    [0.9966, 0.8816, 0.2754, 0.0067]
    """

    ends: tuple[float, float] = eqx.field(static=True)
    learned: _Endpoints | None

    def __call__(self, t: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """Return the log of noise over signal at times from 0 to 1."""
        return self.first + self.slope * t

    @property
    def first(self) -> Float[Array, ""]:
        r"""Return :math:`\gamma(0)`."""
        return jnp.float32(self.ends[0]) if self.learned is None else self.learned.first

    @property
    def slope(self) -> Float[Array, ""]:
        r"""Return :math:`\gamma'`, which is the same at all times."""
        if self.learned is None:
            return jnp.float32(self.ends[1] - self.ends[0])
        return jnp.abs(self.learned.slope)

    @property
    def noise_left(self) -> float:
        r"""Return :math:`\sigma(0)`, the deviation of the noise on samples at time 0."""
        return float(noise(self.first))

    @property
    def signal_left(self) -> float:
        r"""Return :math:`\alpha(1)`, the scale of a sample at time 1, where sampling starts."""
        return float(signal(self.first + self.slope))

    def warn_of_signal(self, *, stacklevel: int = 2) -> None:
        """Warn where sampling starts from noise alone although over a tenth of a sample is left."""
        if self.signal_left > MOST_SIGNAL:
            warnings.warn(signal_in_words(self.signal_left), ScheduleWarning, stacklevel=stacklevel)

    def told(self, gamma: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """Return the time that a network gets, 0 and 1 at the endpoints before training."""
        return (gamma - self.ends[0]) / (self.ends[1] - self.ends[0])


def signal_in_words(signal_left: float) -> str:
    """Return the rule for the signal at time 1, what it is, and the remedy."""
    return (
        f"a schedule leaves at most {MOST_SIGNAL:g} of a sample at time 1, where sampling starts "
        f"from noise alone; got {signal_left:.2f}, so that samples are not those that the model "
        "learned; train with schedule='fixed', or read the samples with this in mind"
    )


class _Endpoints(NamedTuple):
    """Learned endpoints of a schedule: the first, and the difference from it to the last."""

    first: Float[Array, ""]
    slope: Float[Array, ""]


@door
def linear_schedule(ends: Sequence[Real] = ENDS, *, learned: bool = False) -> LinearSchedule:
    """Return a linear schedule.

    Parameters
    ----------
    ends : pair of float, default (-5, 10)
        The log of noise over signal at times 0 and 1.
    learned : bool, keyword-only, default False
        Whether training moves the endpoints, as published.

    Raises
    ------
    InputError
        For ends that are not two growing numbers.

    Examples
    --------
    The scale of a sample at time 1, where sampling starts from noise alone, with a last endpoint
    of 10 and of 5:

    >>> [round(linear_schedule((-5, last)).signal_left, 4) for last in (10, 5)]
    [0.0067, 0.0818]
    """
    require(
        len(ends) == 2 and ends[0] < ends[1],
        "a schedule goes from less noise to more, ends[0] < ends[1]",
        tuple(ends),
        "pass (-5, 10), say",
    )
    first, last = float(ends[0]), float(ends[1])
    moving = _Endpoints(jnp.float32(first), jnp.float32(last - first)) if learned else None
    return LinearSchedule((first, last), moving)
