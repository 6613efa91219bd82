r"""Loss of a diffusion model: an upper bound on the bits per dimension of its samples.

.. math:: \underbrace{\tfrac12 \gamma' |\varepsilon - \hat\varepsilon(z_t)|^2}_{\text{diffusion}}
    + \underbrace{\tfrac12 \sum (\sigma_1^2 + \alpha_1^2 x^2 - \ln \sigma_1^2 - 1)}_{\text{latent}}
    - \underbrace{\ln N(x; z_0 / \alpha_0, s^2)}_{\text{reconstruction}}

in nats, at a random time t, where s = .001 is the noise on the samples (Kingma, Salimans, Poole &
Ho, NeurIPS 2021). As :math:`z_0 / \alpha_0` is the sample and noise of a variance
:math:`e^{\gamma_0}`, the last term is its expectation here,
:math:`\tfrac12 (e^{\gamma_0} / s^2 + \ln 2 \pi s^2)` in each dimension, where published code draws
that noise. With a fixed schedule only the first term has gradients, and its weight is the same at
all times.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Seed
from partwhole.networks.diffusion import DiffusionModel
from partwhole.networks.diffusion.model import Conditions
from partwhole.networks.diffusion.schedule import noise, signal
from partwhole.networks.images.layers import Pass
from partwhole.training.images.goals import require_pixels

DATA_NOISE = 1e-3
AT_ONCE = 256
# Lower bound for any sample: the normalisation of the reconstruction term.
MOST = 32.0  # bits of a number in single precision
LEAST = float(np.log(2.0 * np.pi * DATA_NOISE**2) / (2.0 * np.log(2.0)))


class Terms(NamedTuple):
    """The three terms in bits per dimension, of one sample or averaged."""

    diffusion: Float[Array, "*n"]
    latent: Float[Array, "*n"]
    reconstruction: Float[Array, "*n"]


def terms(
    model: DiffusionModel, x: Float[Array, "n *shape"], conditions: Array, key: PRNGKeyArray,
    at: Pass,
) -> Terms:  # fmt: skip
    """Return the terms of each sample, at times spread evenly over the batch."""
    for_times, for_noise = jax.random.split(key)
    n = len(x)
    spread = jax.random.uniform(for_times) + jnp.arange(n, dtype=jnp.float32) / n
    gamma = model.schedule(spread % 1.0)
    drawn_noise = jax.random.normal(for_noise, x.shape)
    z = _rows(signal(gamma), x) * x + _rows(noise(gamma), x) * drawn_noise
    noise_error = drawn_noise - model.noise(z, gamma, model.made(conditions), at)
    first, last = model.schedule(jnp.float32(0.0)), model.schedule(jnp.float32(1.0))
    variance, data_share = jax.nn.sigmoid(last), jax.nn.sigmoid(-last)
    to_bits = 1.0 / np.log(2.0)
    return Terms(
        0.5 * model.schedule.slope * to_bits * _mean(noise_error**2),
        0.5 * to_bits * (variance - jax.nn.log_sigmoid(last) - 1.0 + data_share * _mean(x**2)),
        jnp.full(n, 0.5 * to_bits * jnp.exp(first) / DATA_NOISE**2 + LEAST),
    )


def _rows(values: Float[Array, " n"], like: Array) -> Array:
    return values.reshape((-1,) + (1,) * (like.ndim - 1))


def _mean(values: Float[Array, "n *shape"]) -> Float[Array, " n"]:
    return jnp.mean(values.reshape(len(values), -1), axis=1)


class BitsOutcome(Enum):
    """What a bound on the bits per dimension says; the value names the remedy."""

    INFORMATIVE = "the bound is below the 32 bits of a number in single precision"
    LOOSE = (
        "the bound is above the 32 bits in which each number of a sample is stored, and says "
        "nothing of it: mostly the reconstruction of samples to a noise of .001 from a schedule "
        "that leaves far more; compare diffusion terms, or train with schedule='learned'"
    )
    NOT_A_NUMBER = "the bound is not a finite number; the model has diverged, or samples are huge"


@dataclass(frozen=True, kw_only=True)
class BitsPerDimension:
    """Bits per dimension of samples under a diffusion model: an upper bound.

    Parameters
    ----------
    diffusion, latent, reconstruction : float
        The three terms of the bound.
    error : float
        Standard error of the first term over the drawn noise, for these samples. The other terms
        are exact.
    """

    diffusion: float
    latent: float
    reconstruction: float
    error: float

    @property
    def total(self) -> float:
        """Return the sum of the three."""
        return self.diffusion + self.latent + self.reconstruction

    @property
    def outcome(self) -> BitsOutcome:
        """Return whether the bound says anything: it is to be below 32 bits."""
        if not np.isfinite(self.total):
            return BitsOutcome.NOT_A_NUMBER
        return BitsOutcome.LOOSE if self.total > MOST else BitsOutcome.INFORMATIVE

    def describe(self) -> str:
        """Return the three terms, their sum, and what it says."""
        return (
            f"{self.total:.4g} bits per dimension: diffusion {self.diffusion:.4g} (standard error "
            f"{self.error:.2g}), latent {self.latent:.3g}, reconstruction "
            f"{self.reconstruction:.4g}; {self.outcome.value}."
        )


@door(single=("samples", "conditions"))
def bits_per_dimension(
    model: DiffusionModel,
    samples: Float[np.ndarray, "n *shape"],
    conditions: Conditions,
    *,
    draws: Annotated[int, Bounds(at_least=2)] = 16,
    seed: Seed,
) -> BitsPerDimension:
    """Return the bits per dimension of samples under a diffusion model.

    Parameters
    ----------
    model : DiffusionModel
    samples : float array, shape (n, height, width, channels) or (n, length)
        Images from 0 to 1; vectors of any size.
    conditions : float array, shape (n, condition), or int array, shape (n, words)
        Condition of each sample.
    draws : int, keyword-only, default 16
        Number of noise draws for each sample, at times spread evenly.
    seed : int, keyword-only

    Returns
    -------
    BitsPerDimension
        With its `outcome`: with the fixed endpoint -5 the reconstruction alone is 4,852 bits, which
        says nothing of the samples.

    Raises
    ------
    InputError
        For samples or conditions that don't fit the model or each other.

    Examples
    --------
    The bound of an untrained model, whose schedule leaves little noise at time 0:

    >>> from partwhole.networks.diffusion import diffusion_model
    >>> model = diffusion_model("vector", condition=2, ends=(-13.0, 5.0), seed=0)
    >>> samples = np.random.default_rng(0).normal(size=(64, 2))
    >>> bits = bits_per_dimension(model, samples, np.zeros((64, 2)), seed=0)
    >>> bits.outcome.name, round(bits.total, 1), round(bits.reconstruction, 1)
    ('INFORMATIVE', 9.4, -7.0)
    """
    x, checked_conditions = map(jnp.asarray, checked_samples(model, samples, conditions))
    size = min(len(x), AT_ONCE)
    key, draw_means = jax.random.key(seed), []
    for draw in range(draws):
        parts = []
        for first in range(0, len(x), size):
            rows = np.minimum(np.arange(first, first + size), len(x) - 1)
            part = _read(
                model,
                x[rows],
                checked_conditions[rows],
                jax.random.fold_in(key, draw),
                jnp.int32(first),
            )
            parts.append(np.stack(part)[:, : len(x) - first])
        draw_means.append(np.concatenate(parts, axis=1).mean(axis=1))
    means = np.array(draw_means, float)
    error = means[:, 0].std(ddof=1) / np.sqrt(draws)
    return BitsPerDimension(
        **dict(zip(Terms._fields, map(float, means.mean(axis=0)), strict=True)),
        error=float(error),
    )


def checked_samples(
    model: DiffusionModel, samples: Float[np.ndarray, "n *shape"], conditions: Conditions
) -> tuple[Float[np.ndarray, "n *shape"], np.ndarray]:
    """Validate samples and conditions for a model; return them as it takes them."""
    require(
        samples.shape[1:] == model.shape and len(samples) > 0,
        f"samples of this model have shape {('n', *model.shape)}".replace("'", ""),
        f"{samples.shape}",
        "draw a model for their shape",
    )
    if len(model.shape) == 3:
        require_pixels(samples, "samples that are images")
    checked = model.checked(conditions)
    require(
        len(checked) == len(samples),
        "there is a condition for each sample",
        f"{len(checked)} for {len(samples)}",
        "pass as many",
    )
    return np.asarray(samples, np.float32), checked


@eqx.filter_jit
def _read(
    model: DiffusionModel, x: Array, conditions: Array, key: PRNGKeyArray, first: Array
) -> Terms:
    return terms(model, x, conditions, jax.random.fold_in(key, first), Pass())
