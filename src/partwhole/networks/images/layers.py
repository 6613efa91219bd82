r"""Layers of image networks, on batches of shape (n, height, width, channels).

A layer is called with what goes in and the `Pass` it is part of. In inference a pass does nothing;
in training it hands out noise for dropout and keeps what batch normalisation saw, from which the
network that comes next gets its running statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

MOMENTUM, EPSILON = 0.1, 1e-5  # of batch normalisation, as frameworks have them
Padding = Literal["SAME", "VALID"] | Sequence[tuple[int, int]]
Network = TypeVar("Network", bound=eqx.Module)


class Pass:
    """One way through a network; lives while it is traced.

    Parameters
    ----------
    key : key, default None
        Noise of training; None is inference.
    in_batch : bool, keyword-only, default False
        Whether batches normalise themselves without it too.
    """

    def __init__(self, key: PRNGKeyArray | None = None, *, in_batch: bool = False) -> None:
        self.key, self.in_batch = key, in_batch or key is not None
        self.seen: dict[int, tuple[Array, Array]] = {}

    @property
    def training(self) -> bool:
        """Return whether dropout drops."""
        return self.key is not None

    def next_key(self) -> PRNGKeyArray:
        """Return noise that nobody else of this pass gets."""
        assert self.key is not None
        self.key, given = jax.random.split(self.key)
        return given


class Conv(eqx.Module):
    """Convolve with kernels of shape (height, width, in, out)."""

    kernel: Float[Array, "h w i o"]
    bias: Float[Array, " o"] | None
    stride: int = eqx.field(static=True, default=1)
    padding: Padding = eqx.field(static=True, default="SAME")

    def __call__(self, x: Float[Array, "n h w i"], at: Pass) -> Float[Array, "n k l o"]:
        """Return the convolved batch."""
        found = jax.lax.conv_general_dilated(
            x, self.kernel, (self.stride, self.stride), self.padding,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )  # fmt: skip
        return found if self.bias is None else found + self.bias[None, None, None]


class Dense(eqx.Module):
    """Map the last axis by a matrix of shape (out, in)."""

    weight: Float[Array, "o i"]
    bias: Float[Array, " o"] | None

    def __call__(self, x: Float[Array, "*n i"], at: Pass) -> Float[Array, "*n o"]:
        """Return the mapped batch."""
        found = x @ self.weight.T
        return (
            found if self.bias is None else found + self.bias.reshape((1,) * (x.ndim - 1) + (-1,))
        )


class BatchNorm(eqx.Module):
    r"""Normalise each channel over a batch and its places, then scale and shift it.

    In inference by running statistics, of which a training pass replaces a tenth by its own
    (the variance without bias); Ioffe & Szegedy (2015), with the constants of frameworks.
    """

    scale: Float[Array, " c"]
    shift: Float[Array, " c"]
    mean: Float[Array, " c"]
    variance: Float[Array, " c"]
    place: int = eqx.field(static=True)  # its number in the network

    def __call__(self, x: Float[Array, "*n c"], at: Pass) -> Float[Array, "*n c"]:
        """Return the normalised batch."""
        mean, variance = self.mean, self.variance
        if at.in_batch:
            axes = tuple(range(x.ndim - 1))
            mean = jnp.mean(x, axis=axes)
            variance = jnp.var(x, axis=axes)
            count = x.size // x.shape[-1]
            at.seen[self.place] = mean, variance * (count / max(count - 1, 1))
        shape = (1,) * (x.ndim - 1) + (-1,)
        gain = self.scale * jax.lax.rsqrt(variance + EPSILON)
        return (x - mean.reshape(shape)) * gain.reshape(shape) + self.shift.reshape(shape)


class LayerNorm(eqx.Module):
    """Normalise the last axis of each example, then scale and shift it."""

    scale: Float[Array, " c"]
    shift: Float[Array, " c"]

    def __call__(self, x: Float[Array, "*n c"], at: Pass) -> Float[Array, "*n c"]:
        """Return the normalised batch."""
        shape = (1,) * (x.ndim - 1) + (-1,)
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        spread = jnp.mean(centred**2, axis=-1, keepdims=True)
        found = centred * jax.lax.rsqrt(spread + EPSILON)
        return found * self.scale.reshape(shape) + self.shift.reshape(shape)


class Dropout(eqx.Module):
    """Set a share of entries to 0 in training, and scale up the others."""

    share: float = eqx.field(static=True)

    def __call__(self, x: Float[Array, "*n c"], at: Pass) -> Float[Array, "*n c"]:
        """Return what is left."""
        if not at.training or self.share == 0.0:
            return x
        kept = jax.random.bernoulli(at.next_key(), 1.0 - self.share, x.shape)
        return jnp.where(kept, x / (1.0 - self.share), 0.0)


class ReLU(eqx.Module):
    """Set what is negative to 0."""

    def __call__(self, x: Float[Array, "*n c"], at: Pass) -> Float[Array, "*n c"]:
        """Return what is left."""
        return jax.nn.relu(x)


class MaxPool(eqx.Module):
    """Take the largest entry of each window."""

    size: int = eqx.field(static=True)
    stride: int = eqx.field(static=True)
    padding: int = eqx.field(static=True, default=0)

    def __call__(self, x: Float[Array, "n h w c"], at: Pass) -> Float[Array, "n k l c"]:
        """Return the pooled batch."""
        side = (self.padding, self.padding)
        around = ((0, 0), side, side, (0, 0))
        window, strides = (1, self.size, self.size, 1), (1, self.stride, self.stride, 1)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, strides, around)


class MeanPool(eqx.Module):
    """Take the mean of each window, or of all places; what is left over at the end is dropped."""

    size: int | None = eqx.field(static=True, default=None)

    def __call__(self, x: Float[Array, "n h w c"], at: Pass) -> Float[Array, "n k l c"]:
        """Return the pooled batch."""
        if self.size is None:
            return x.mean(axis=(1, 2), keepdims=True)
        n, h, w, c = x.shape
        high, wide = h // self.size, w // self.size
        cut = x[:, : high * self.size, : wide * self.size]
        return cut.reshape(n, high, self.size, wide, self.size, c).mean(axis=(2, 4))


class Flatten(eqx.Module):
    """Lay all entries of an example in one row."""

    def __call__(self, x: Float[Array, "n *shape"], at: Pass) -> Float[Array, "n d"]:
        """Return the rows."""
        return x.reshape(len(x), -1)


def with_statistics(network: Network, at: Pass) -> Network:
    """Return the network with the running statistics that a training pass leaves."""

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
    """Mark the arrays that training changes by slopes: all but running statistics."""

    def mark(node: object) -> object:
        if not isinstance(node, BatchNorm):
            return eqx.is_inexact_array(node)
        every = jax.tree.map(lambda _: True, node)
        return eqx.tree_at(lambda norm: (norm.mean, norm.variance), every, (False, False))

    return jax.tree.map(mark, network, is_leaf=lambda node: isinstance(node, BatchNorm))


class Drawn:
    """Draw layers one after another; NumPy draws, since compiling draws takes longer.

    Parameters
    ----------
    rng : numpy.random.Generator
    law : {"he", "he, fan out", "framework"}
        Of weights: normal of variance 2 / n for n inputs of a unit (He et al., 2015), or for n
        units it goes out to; or uniform within 1 / sqrt(n), biases too, as frameworks do.
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
        """Return a layer that only normalises yet."""
        self.norms += 1
        # Each array of its own: training gives their memory away.
        scale, shift, mean, variance = (
            jnp.full(channels, value, jnp.float32) for value in (1.0, 0.0, 0.0, 1.0)
        )
        return BatchNorm(scale, shift, mean, variance, self.norms - 1)

    def layer_norm(self, channels: int) -> LayerNorm:
        """Return a layer that only normalises yet."""
        return LayerNorm(jnp.ones(channels, jnp.float32), jnp.zeros(channels, jnp.float32))

    def normal(self, shape: tuple[int, ...], scale: float) -> Float[Array, "..."]:
        """Draw entries of this standard deviation."""
        return jnp.asarray(scale * self.rng.standard_normal(shape), jnp.float32)

    def _weights(self, shape: tuple[int, ...], fan_in: int, fan_out: int) -> Array:
        if self.law == "framework":
            reach = fan_in**-0.5
            return jnp.asarray(self.rng.uniform(-reach, reach, shape), jnp.float32)
        return self.normal(shape, (2.0 / (fan_in if self.law == "he" else fan_out)) ** 0.5)

    def _biases(self, units: int, fan_in: int) -> Array:
        if self.law == "framework":
            return self._weights((units,), fan_in, units)
        return jnp.zeros(units, jnp.float32)
