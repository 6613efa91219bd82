"""Losses: one number for a batch of outputs and targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

Loss = Literal["squared", "logistic", "exponential", "cross entropy", "bits"]
LABELS = ("logistic", "exponential")  # the losses of labels -1 and +1


def squared(outputs: Float[Array, "n k"], targets: Float[Array, "n *k"]) -> Float[Array, ""]:
    r"""Return :math:`\frac1n \sum_i |f(x_i) - y_i|^2`."""
    return jnp.mean(jnp.sum((outputs - targets.reshape(outputs.shape)) ** 2, axis=-1))


def logistic(outputs: Float[Array, "n k"], targets: Float[Array, "n *k"]) -> Float[Array, ""]:
    r"""Return :math:`\frac1n \sum_i \log(1 + e^{-y_i f(x_i)})` for labels -1 and +1.

    Stable at margins of any size.
    """
    return jnp.mean(jnp.sum(jax.nn.softplus(-outputs * targets.reshape(outputs.shape)), axis=-1))


def exponential(outputs: Float[Array, "n k"], targets: Float[Array, "n *k"]) -> Float[Array, ""]:
    r"""Return :math:`\frac1n \sum_i e^{-y_i f(x_i)}` for labels -1 and +1."""
    return jnp.mean(jnp.sum(jnp.exp(-outputs * targets.reshape(outputs.shape)), axis=-1))


def cross_entropy(outputs: Float[Array, "n k"], targets: Int[Array, "n *q"]) -> Float[Array, ""]:
    r"""Return :math:`-\frac1n \sum_i \sum_q \log p_{q, y_{iq}}(x_i)` for classes numbered from 0.

    One question, targets of shape (n,), or several, of shape (n, q), which share the outputs
    evenly, one after another.
    """
    answers = outputs.reshape(*targets.shape, -1)
    losses = optax.softmax_cross_entropy_with_integer_labels(answers, targets)
    return jnp.mean(jnp.sum(losses.reshape(len(losses), -1), axis=1))


# "bits" is of a model and its noise, not of outputs: see `training.diffusion.bits`.
LOSSES: dict[str, Callable[..., Float[Array, ""]]] = {
    "squared": squared,
    "logistic": logistic,
    "exponential": exponential,
    "cross entropy": cross_entropy,
}
