r"""Samples of a diffusion model, step by step from noise.

With :math:`c = 1 - e^{\gamma_s - \gamma_t}`, a step from time t to an earlier one s is

.. math:: z_s = \frac{\alpha_s}{\alpha_t}(z_t - c\, \sigma_t \hat\varepsilon)
    + \sigma_s \sqrt{c}\, \varepsilon'

in ancestral sampling (Kingma et al., NeurIPS 2021), with new noise in every step, and
:math:`z_s = \alpha_s \hat x + \sigma_s \hat\varepsilon` with
:math:`\hat x = (z_t - \sigma_t \hat\varepsilon) / \alpha_t` without any (DDIM; Song, Meng & Ermon,
ICLR 2021).
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from partwhole._checks import require
from partwhole._device import has_accelerator, on_device
from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import Count, Real, Seed
from partwhole.networks.diffusion.model import ConditionEmbedding, Conditions, DiffusionModel
from partwhole.networks.diffusion.schedule import noise, signal

Method = Literal["ancestral", "ddim"]
AT_ONCE = 256 * 16 * 16 * 3  # entries of the samples in one call


@door(single=("conditions", "guidance"))
def sample(
    model: DiffusionModel,
    conditions: Conditions | ConditionEmbedding,
    *,
    steps: Count = 50,
    method: Method = "ancestral",
    guidance: Real = 1.0,
    denoise: bool = False,
    seed: Seed,
    progress: bool = True,
) -> Float[np.ndarray, "n *shape"]:
    r"""Draw a sample of a diffusion model for each condition.

    Parameters
    ----------
    model : DiffusionModel
    conditions : float array, shape (n, condition), int array, shape (n, words), or embedding
        `model.embed` returns embeddings, which can be added and scaled.
    steps : int, keyword-only, default 50
        Steps from noise to sample, of equal length in time.
    method : {"ancestral", "ddim"}, keyword-only, default "ancestral"
    guidance : float, keyword-only, default 1
        Classifier-free guidance w: noise is predicted as
        :math:`\hat\varepsilon_\emptyset + w (\hat\varepsilon_c - \hat\varepsilon_\emptyset)`, with
        the predictions without and with the condition. Useful if conditions were dropped in
        training; 0 ignores the condition.
    denoise : bool, keyword-only, default False
        Whether to return the estimate of x at the end. By default, as published, the result is z
        at time 0, in which some noise is left, of the standard deviation `schedule.noise_left`:
        .082 unless training has moved the endpoints.
    seed : int, keyword-only
        Fixes all noise. Sample i gets the same noise for any conditions and any number of
        samples.
    progress : bool, keyword-only, default True
        Whether to show a bar once this takes over two seconds.

    Returns
    -------
    float32 array, shape (n, \*shape)

    Raises
    ------
    InputError
        For conditions that don't fit the model, and options out of range.

    Warns
    -----
    ScheduleWarning
        Where the schedule leaves over a tenth of a sample at time 1: sampling starts from noise
        alone, :math:`\mathcal N(0, 1)`.

    Examples
    --------
    >>> from partwhole.networks.diffusion import diffusion_model
    >>> model = diffusion_model("vector", condition=2, seed=0)
    >>> sample(model, np.zeros((5, 2), np.float32), steps=10, seed=0).shape
    (5, 2)
    """
    embedding = (
        conditions if isinstance(conditions, ConditionEmbedding) else model.embed(conditions)
    )
    require(
        len(embedding) > 0, "samples are of at least one condition", "none", "pass one row, say"
    )
    model.schedule.warn_of_signal(stacklevel=4)
    without = None if guidance == 1.0 else model.embed(model.nothing).parts
    n = len(embedding)
    size = min(n, max(1, AT_ONCE // int(np.prod(model.shape))))
    if len(model.shape) == 1:  # powers of two, so that few sizes are compiled
        size = 1 << (size - 1).bit_length()
    key, samples = jax.random.key(seed), []
    with bar("Sampling", -(-n // size) * steps, shown=progress) as advance:
        for first in range(0, n, size):
            rows = np.minimum(np.arange(first, first + size), n - 1)
            parts = tuple(part[rows] for part in embedding.parts)
            numbers = on_device(np.arange(first, first + size, dtype=np.int32))
            z = _drawn(key, numbers, jnp.int32(0), model.shape)
            inputs = (parts, without, key, numbers)
            ends = (jnp.int32(steps), jnp.float32(guidance))
            if len(model.shape) == 1 or has_accelerator():
                z = _chain(model, z, *inputs, *ends, method=method)
                advance(steps)
            else:  # a convolution in a loop of the compiler is slow on a CPU
                for step in range(steps, 0, -1):
                    z = _step(model, z, *inputs, jnp.int32(step), *ends, method=method)
                    advance(1)
            if denoise:
                z = _denoised(model, z, parts, without, jnp.float32(guidance))
            samples.append(np.asarray(z))
    return np.concatenate(samples)[:n]


@partial(jax.jit, static_argnames="method")
def _step(
    model: DiffusionModel, z: Float[Array, "n *shape"], parts: tuple[Array, ...],
    without: tuple[Array, ...] | None, key: PRNGKeyArray, numbers: Int[Array, " n"],
    step: Int[Array, ""], steps: Int[Array, ""], guidance: Float[Array, ""], *, method: Method,
) -> Float[Array, "n *shape"]:  # fmt: skip
    """Return the samples at time (step - 1) / steps from those at step / steps."""
    late, early = (model.schedule((step - offset) / steps) for offset in (0, 1))
    predicted = _predicted(model, z, late, parts, without, guidance)
    if method == "ddim":
        estimate = (z - noise(late) * predicted) / signal(late)
        return signal(early) * estimate + noise(early) * predicted
    removed = -jnp.expm1(early - late)
    mean = signal(early) / signal(late) * (z - removed * noise(late) * predicted)
    return mean + noise(early) * jnp.sqrt(removed) * _drawn(key, numbers, step, model.shape)


@partial(jax.jit, static_argnames="method")
def _chain(
    model: DiffusionModel, z: Float[Array, "n *shape"], parts: tuple[Array, ...],
    without: tuple[Array, ...] | None, key: PRNGKeyArray, numbers: Int[Array, " n"],
    steps: Int[Array, ""], guidance: Float[Array, ""], *, method: Method,
) -> Float[Array, "n *shape"]:  # fmt: skip
    """Take all steps in one compiled loop; on a CPU for predictors without convolutions."""

    def follow(n_done: Int[Array, ""], z: Array) -> Array:
        step = steps - n_done
        return _step(model, z, parts, without, key, numbers, step, steps, guidance, method=method)

    return jax.lax.fori_loop(jnp.int32(0), steps, follow, z)


@jax.jit
def _denoised(
    model: DiffusionModel, z: Float[Array, "n *shape"], parts: tuple[Array, ...],
    without: tuple[Array, ...] | None, guidance: Float[Array, ""],
) -> Float[Array, "n *shape"]:  # fmt: skip
    """Return the estimate of x at time 0."""
    gamma = model.schedule(jnp.float32(0.0))
    predicted = _predicted(model, z, gamma, parts, without, guidance)
    return (z - noise(gamma) * predicted) / signal(gamma)


def _predicted(
    model: DiffusionModel, z: Float[Array, "n *shape"], gamma: Float[Array, ""],
    parts: tuple[Array, ...], without: tuple[Array, ...] | None, guidance: Float[Array, ""],
) -> Float[Array, "n *shape"]:  # fmt: skip
    """Predict the noise, with guidance unless `without` is None."""
    if without is None:
        return model.noise(z, gamma[None], parts)
    doubled = tuple(
        jnp.concatenate([jnp.broadcast_to(empty, part.shape), part])
        for empty, part in zip(without, parts, strict=True)
    )
    outputs = model.noise(jnp.concatenate([z, z]), gamma[None], doubled)
    unconditioned, conditioned = jnp.split(outputs, 2)
    return unconditioned + guidance * (conditioned - unconditioned)


@partial(jax.jit, static_argnames="shape")
def _drawn(
    key: PRNGKeyArray, numbers: Int[Array, " n"], step: Int[Array, ""], shape: tuple[int, ...]
) -> Float[Array, "n *shape"]:
    """Draw the noise of a step for samples of these numbers."""
    step_key = jax.random.fold_in(key, step)
    return jax.vmap(lambda i: jax.random.normal(jax.random.fold_in(step_key, i), shape))(numbers)
