r"""Layers of image networks, on batches of shape (n, height, width, channels).

A layer is called with its inputs and the current `Pass`. In inference a pass does nothing; in
training it provides noise for dropout and collects the statistics of batch normalisation, from
which the updated network gets its running statistics.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from partwhole._device import on_device
from partwhole.networks.images.windows import Padding, convolve, maximum

MOMENTUM, EPSILON = 0.1, 1e-5  # of batch normalisation, the defaults of frameworks
Network = TypeVar("Network", bound=eqx.Module)


class Pass:
    """One pass through a network, while it is traced.

    Parameters
    ----------
    key : key, default None
        Source of noise in training; None for inference.
    in_batch : bool, keyword-only, default False
        Whether batch normalisation takes the statistics of the batch also in inference.
    short : bool, keyword-only, default False
        Whether convolutions and products of matrices are in bfloat16, and what they return.
    """

    def __init__(
        self, key: PRNGKeyArray | None = None, *, in_batch: bool = False, short: bool = False
    ) -> None:
        self.key, self.in_batch, self.short = key, in_batch or key is not None, short
        self.seen: dict[int, tuple[Array, Array]] = {}

    @property
    def training(self) -> bool:
        """Return whether dropout is active."""
        return self.key is not None

    def narrowed(self, *arrays: Array) -> tuple[Array, ...]:
        """Return arrays in the precision of products."""
        return tuple(array.astype(jnp.bfloat16) for array in arrays) if self.short else arrays

    def next_key(self) -> PRNGKeyArray:
        """Return a key that no other layer of this pass gets."""
        assert self.key is not None
        self.key, subkey = jax.random.split(self.key)
        return subkey


class Conv(eqx.Module):
    """Convolution with kernels of shape (height, width, in, out)."""

    kernel: Float[Array, "h w i o"]
    bias: Float[Array, " o"] | None
    stride: int = eqx.field(static=True, default=1)
    padding: Padding = eqx.field(static=True, default="SAME")

    def __call__(self, x: Float[Array, "n h w i"], at: Pass) -> Float[Array, "n k l o"]:
        """Return the convolved batch."""
        x, kernel = at.narrowed(x, self.kernel)
        outputs = convolve(x, kernel, self.stride, self.padding)
        return outputs if self.bias is None else _plus(outputs, self.bias)


class Dense(eqx.Module):
    """Map of the last axis by a matrix of shape (out, in)."""

    weight: Float[Array, "o i"]
    bias: Float[Array, " o"] | None

    def __call__(self, x: Float[Array, "*n i"], at: Pass) -> Float[Array, "*n o"]:
        """Return the mapped batch."""
        x, weight = at.narrowed(x, self.weight)
        outputs = x @ weight.T
        return outputs if self.bias is None else _plus(outputs, self.bias)


class BatchNorm(eqx.Module):
    r"""Normalisation of each channel over a batch and its places, then scale and shift.

    In inference by running statistics, of which a training pass replaces a tenth by those of its
    batch (the variance without bias); Ioffe & Szegedy (2015), with the constants of frameworks.
    """

    scale: Float[Array, " c"]
    shift: Float[Array, " c"]
    mean: Float[Array, " c"]
    variance: Float[Array, " c"]
    place: int = eqx.field(static=True)  # its number in the network

    def __call__(self, x: Float[Array, "*n c"], at: Pass) -> Float[Array, "*n c"]:
        """Return the normalised batch."""
        mean, variance, dtype = self.mean, self.variance, x.dtype
        x = x.astype(self.scale.dtype)
        if at.in_batch:
            axes = tuple(range(x.ndim - 1))
            mean = jnp.mean(x, axis=axes)
            variance = jnp.var(x, axis=axes)
            count = x.size // x.shape[-1]
            at.seen[self.place] = mean, variance * (count / max(count - 1, 1))
        shape = (1,) * (x.ndim - 1) + (-1,)
        gain = self.scale * jax.lax.rsqrt(variance + EPSILON)
        normalised = (x - mean.reshape(shape)) * gain.reshape(shape) + self.shift.reshape(shape)
        return normalised.astype(dtype)


class LayerNorm(eqx.Module):
    r"""Normalisation of the last axis of each example, then scale and shift.

    :math:`(x - \bar x) / \sqrt{v + \epsilon}`, with the 1e-5 of frameworks; Vision Transformers are
    often published with 1e-6.
    """

    scale: Float[Array, " c"]
    shift: Float[Array, " c"]
    epsilon: float = eqx.field(static=True, default=EPSILON)

    def __call__(self, x: Float[Array, "*n c"], at: Pass) -> Float[Array, "*n c"]:
        """Return the normalised batch."""
        shape, dtype = (1,) * (x.ndim - 1) + (-1,), x.dtype
        x = x.astype(self.scale.dtype)
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        spread = jnp.mean(centred**2, axis=-1, keepdims=True)
        normalised = centred * jax.lax.rsqrt(spread + self.epsilon)
        normalised = normalised * self.scale.reshape(shape) + self.shift.reshape(shape)
        return normalised.astype(dtype)


class Dropout(eqx.Module):
    """Dropout: in training a share of entries is 0, and the others are scaled up."""

    share: float = eqx.field(static=True)

    def __call__(self, x: Float[Array, "*n c"], at: Pass) -> Float[Array, "*n c"]:
        """Return the batch after dropout."""
        if not at.training or self.share == 0.0:
            return x
        mask = jax.random.bernoulli(at.next_key(), 1.0 - self.share, x.shape)
        return jnp.where(mask, x / (1.0 - self.share), 0.0)


class ReLU(eqx.Module):
    """Rectification: negative entries become 0."""

    def __call__(self, x: Float[Array, "*n c"], at: Pass) -> Float[Array, "*n c"]:
        """Return the rectified batch."""
        return jax.nn.relu(x)


class MaxPool(eqx.Module):
    """Maximum of each window."""

    size: int = eqx.field(static=True)
    stride: int = eqx.field(static=True)
    padding: int = eqx.field(static=True, default=0)

    def __call__(self, x: Float[Array, "n h w c"], at: Pass) -> Float[Array, "n k l c"]:
        """Return the pooled batch."""
        return maximum(x, self.size, self.stride, self.padding)


class MeanPool(eqx.Module):
    """Mean of each full window, or of all places; incomplete windows at the end are left out."""

    size: int | None = eqx.field(static=True, default=None)

    def __call__(self, x: Float[Array, "n h w c"], at: Pass) -> Float[Array, "n k l c"]:
        """Return the pooled batch."""
        if self.size is None:
            return x.mean(axis=(1, 2), keepdims=True)
        n, h, w, c = x.shape
        rows, columns = h // self.size, w // self.size
        cut = x[:, : rows * self.size, : columns * self.size]
        return cut.reshape(n, rows, self.size, columns, self.size, c).mean(axis=(2, 4))


class Flatten(eqx.Module):
    """Reshaping of each example to one row."""

    def __call__(self, x: Float[Array, "n *shape"], at: Pass) -> Float[Array, "n d"]:
        """Return the rows."""
        return x.reshape(len(x), -1)


def _plus(outputs: Float[Array, "*n o"], bias: Float[Array, " o"]) -> Float[Array, "*n o"]:
    """Return outputs with biases, in their precision."""
    return outputs + bias.astype(outputs.dtype).reshape((1,) * (outputs.ndim - 1) + (-1,))


def with_statistics(network: Network, at: Pass) -> Network:
    """Return the network with the running statistics after a training pass."""

    def update(node: object) -> object:
        if not isinstance(node, BatchNorm):
            return node
        mean, variance = at.seen[node.place]
        return BatchNorm(
            node.scale,
            node.shift,
            (1.0 - MOMENTUM) * node.mean + MOMENTUM * jax.lax.stop_gradient(mean),
            (1.0 - MOMENTUM) * node.variance + MOMENTUM * jax.lax.stop_gradient(variance),
            node.place,
        )

    return jax.tree.map(update, network, is_leaf=lambda node: isinstance(node, BatchNorm))


def trained(network: eqx.Module) -> eqx.Module:
    """Mark the arrays that gradient descent changes: all but running statistics."""

    def mark(node: object) -> object:
        if not isinstance(node, BatchNorm):
            return eqx.is_inexact_array(node)
        flags = jax.tree.map(lambda _: True, node)
        return eqx.tree_at(lambda norm: (norm.mean, norm.variance), flags, (False, False))

    return jax.tree.map(mark, network, is_leaf=lambda node: isinstance(node, BatchNorm))


def zeros(*shape: int) -> Array:
    """Return zeros in single precision."""
    return on_device(np.zeros(shape), np.float32)


class Drawn:
    """Source of layers, drawn one after another by NumPy: compiling the draws takes longer.

    Parameters
    ----------
    rng : numpy.random.Generator
    law : {"he", "he, fan out", "framework"}
        Of weights: normal of variance 2 / n for n inputs of a unit (He et al., 2015), or for n
        outputs of an input; or uniform within 1 / sqrt(n), biases too, as in frameworks.
    """

    def __init__(
        self, rng: np.random.Generator, law: Literal["he", "he, fan out", "framework"]
    ) -> None:
        self.rng, self.law, self.norms = rng, law, 0

    def conv(
        self, size: int, inputs: int, units: int, *, stride: int = 1,
        padding: Padding = "SAME", bias: bool = True,
    ) -> Conv:  # fmt: skip
        """Draw a convolution with square kernels."""
        fan_in, fan_out = size * size * inputs, size * size * units
        kernel = self._weights((size, size, inputs, units), fan_in, fan_out)
        return Conv(kernel, self._biases(units, fan_in) if bias else None, stride, padding)

    def dense(self, inputs: int, units: int, *, bias: bool = True) -> Dense:
        """Draw a dense layer."""
        weight = self._weights((units, inputs), inputs, units)
        return Dense(weight, self._biases(units, inputs) if bias else None)

    def batch_norm(self, channels: int) -> BatchNorm:
        """Return a normalisation with scale 1 and shift 0."""
        self.norms += 1
        # Separate arrays: training donates their memory.
        scale, shift, mean, variance = (
            on_device(np.full(channels, value), np.float32) for value in (1.0, 0.0, 0.0, 1.0)
        )
        return BatchNorm(scale, shift, mean, variance, self.norms - 1)

    def layer_norm(self, channels: int) -> LayerNorm:
        """Return a normalisation with scale 1 and shift 0."""
        return LayerNorm(on_device(np.ones(channels), np.float32), zeros(channels))

    def normal(self, shape: tuple[int, ...], scale: float) -> Float[Array, "..."]:
        """Draw entries of this standard deviation."""
        return on_device(scale * self.rng.standard_normal(shape), np.float32)

    def _weights(self, shape: tuple[int, ...], fan_in: int, fan_out: int) -> Array:
        if self.law == "framework":
            reach = fan_in**-0.5
            return on_device(self.rng.uniform(-reach, reach, shape), np.float32)
        return self.normal(shape, (2.0 / (fan_in if self.law == "he" else fan_out)) ** 0.5)

    def _biases(self, units: int, fan_in: int) -> Array:
        if self.law == "framework":
            return self._weights((units,), fan_in, units)
        return zeros(units)
