"""Layers of noise predictors, on batches of shape (n, height, width, channels)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from partwhole._device import on_device
from partwhole._types import Real
from partwhole.networks.images.layers import EPSILON, Conv, Dense, Drawn, Dropout, Pass, zeros

SINUSOID = 64  # waves that encode the time
LONGEST, FINEST = 10_000.0, 1_000.0  # of the sinusoids' periods, and times go from 0 to FINEST


class GroupNorm(eqx.Module):
    """Normalisation of groups of channels over all places of an example, then scale and shift.

    Wu & He (ECCV 2018). On rows (n, c) a group is normalised over its own entries.
    """

    scale: Float[Array, " c"]
    shift: Float[Array, " c"]
    groups: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, "n *places c"], at: Pass) -> Float[Array, "n *places c"]:
        """Return the normalised batch."""
        n, c, dtype = len(x), x.shape[-1], x.dtype
        x = x.astype(self.scale.dtype)

        def over_group(values: Float[Array, "n p c"]) -> Float[Array, "n 1 c"]:
            # Places first, then channels: a mean over both axes at once is slow on CPU.
            grouped = jnp.mean(values, axis=1).reshape(n, self.groups, c // self.groups)
            means = jnp.mean(grouped, axis=2, keepdims=True)
            return jnp.broadcast_to(means, grouped.shape).reshape(n, 1, c)

        rows = x.reshape(n, -1, c)
        centred = rows - over_group(rows)
        gain = self.scale[None, None] * jax.lax.rsqrt(over_group(centred**2) + EPSILON)
        return (centred * gain + self.shift[None, None]).reshape(x.shape).astype(dtype)


class Upsample(eqx.Module):
    """Transposed 2 x 2 convolution of stride 2, which doubles height and width.

    Its windows don't overlap, so it is one matrix, which maps every place to four places.
    """

    dense: Dense  # (4 o, i)
    bias: Float[Array, " o"]

    def __call__(self, x: Float[Array, "n h w i"], at: Pass) -> Float[Array, "n k l o"]:
        """Return the larger batch."""
        n, h, w, _ = x.shape
        quarters = self.dense(x, at).reshape(n, h, w, 2, 2, -1)
        image = jnp.transpose(quarters, (0, 1, 3, 2, 4, 5)).reshape(n, 2 * h, 2 * w, -1)
        return image + self.bias.astype(image.dtype)[None, None, None]


class Attention(eqx.Module):
    """Self-attention between all places of an image, with a skip.

    Scaled dot products of several heads (Vaswani et al., NeurIPS 2017), without biases.
    """

    gathered: Dense  # queries, keys and values: (3 c, c)
    out: Dense
    heads: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, "n h w c"], at: Pass) -> Float[Array, "n h w c"]:
        """Return the sum of the batch and the attended values."""
        n, h, w, c = x.shape
        size = c // self.heads
        projected = self.gathered(x, at).reshape(n, h * w, 3, self.heads, size)
        query, key, value = jnp.transpose(projected, (2, 0, 3, 1, 4))
        likeness = (query * size**-0.5) @ jnp.swapaxes(key, -1, -2)
        top = jax.lax.stop_gradient(jnp.max(likeness, axis=-1, keepdims=True))
        # One product gives the weighted values and the sum of weights, which divides them.
        ones = jnp.ones_like(value[..., :1])
        sums = jnp.exp(likeness - top) @ jnp.concatenate([value, ones], axis=-1)
        attended = jnp.transpose(sums[..., :-1] / sums[..., -1:], (0, 2, 1, 3))
        return x + self.out(attended.reshape(x.shape), at)


class Clock(eqx.Module):
    """Embedding of the time: its sines and cosines, through two layers."""

    first: Dense
    second: Dense

    def __call__(self, times: Float[Array, " n"], at: Pass) -> Float[Array, "n t"]:
        """Return the embeddings of times from 0 to 1."""
        periods = LONGEST ** (jnp.arange(SINUSOID // 2) / (SINUSOID // 2))
        angles = FINEST * times[:, None] / periods[None, :].astype(times.dtype)
        waves = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=1)
        return self.second(jax.nn.gelu(self.first(waves, at)), at)


class Two(eqx.Module):
    """Two dense layers with a GELU between them."""

    first: Dense
    second: Dense

    def __call__(self, rows: Float[Array, "n i"], at: Pass) -> Float[Array, "n o"]:
        """Return the mapped rows."""
        return self.second(jax.nn.gelu(self.first(rows, at)), at)


class Block(eqx.Module):
    r"""Residual block of two convolutions, with inputs for the time and the condition.

    .. math:: s(x) + C_2\, \phi\!\left(C_1 \phi(x) + m_t(\text{time}) + m_c(\text{condition})\right)

    :math:`\phi` normalises groups of channels and applies a GELU, dropout comes before the second
    convolution, which is initialised to 0; the skip s is the identity, or a 1 x 1 convolution where
    the number of channels changes. The embedding of the condition, :math:`m_c`, is passed in: it is
    the same at all times (`embed`).
    """

    norm_1: GroupNorm
    conv_1: Conv
    time: Two
    condition: Two
    norm_2: GroupNorm
    dropout: Dropout
    conv_2: Conv
    skip: Conv | None

    def embed(self, conditions: Float[Array, "n d"]) -> Float[Array, "n o"]:
        """Return the embeddings of conditions."""
        return self.condition(conditions, Pass())

    def __call__(
        self, x: Float[Array, "n h w i"], time_features: Float[Array, "m t"],
        embedding: Float[Array, "n o"], at: Pass,
    ) -> Float[Array, "n h w o"]:  # fmt: skip
        """Return the sum."""
        hidden = self.conv_1(jax.nn.gelu(self.norm_1(x, at)), at)
        (embedding,) = at.narrowed(embedding)
        hidden = hidden + (self.time(time_features, at) + embedding)[:, None, None, :]
        hidden = self.dropout(jax.nn.gelu(self.norm_2(hidden, at)), at)
        return self.conv_2(hidden, at) + (x if self.skip is None else self.skip(x, at))


class Builder:
    """Source of the layers of a noise predictor, drawn one after another.

    Parameters
    ----------
    seed : int
    groups : int
        Groups of channels that are normalised together.
    dropout : float
        Share of entries that each block drops in training.
    condition : int
        Length of the condition vector.
    clock : int
        Units of the embedding of the time.
    """

    def __init__(self, seed: int, groups: int, dropout: Real, condition: int, clock: int) -> None:
        self.drawn = Drawn(np.random.default_rng([seed, 108]), "framework")
        self.groups, self.dropout = groups, float(dropout)
        self.condition, self.time_units = condition, clock

    def norm(self, channels: int) -> GroupNorm:
        """Return a normalisation with scale 1 and shift 0."""
        return GroupNorm(on_device(np.ones(channels), np.float32), zeros(channels), self.groups)

    def two(self, inputs: int, hidden: int, outputs: int) -> Two:
        """Draw two dense layers."""
        return Two(self.drawn.dense(inputs, hidden), self.drawn.dense(hidden, outputs))

    def of_time(self, units: int) -> Two:
        """Draw the layers of a block for the time."""
        return self.two(self.time_units, units, units)

    def of_condition(self, units: int) -> Two:
        """Draw the layers of a block for the condition."""
        return self.two(self.condition, units, units)

    def clock(self) -> Clock:
        """Draw the embedding of the time."""
        return Clock(
            self.drawn.dense(SINUSOID, self.time_units),
            self.drawn.dense(self.time_units, self.time_units),
        )

    def block(self, before: int, channels: int) -> Block:
        """Draw a block."""
        return Block(
            norm_1=self.norm(before),
            conv_1=self.drawn.conv(3, before, channels),
            time=self.of_time(channels),
            condition=self.of_condition(channels),
            norm_2=self.norm(channels),
            dropout=Dropout(self.dropout),
            conv_2=self.silent(channels, channels),
            skip=None if before == channels else self.drawn.conv(1, before, channels),
        )

    def silent(self, before: int, channels: int) -> Conv:
        """Return a 3 x 3 convolution whose weights and biases are 0."""
        kernel = zeros(3, 3, before, channels)
        return Conv(kernel, zeros(channels))

    def upsample(self, before: int, channels: int) -> Upsample:
        """Draw a transposed convolution."""
        dense = self.drawn.dense(before, 4 * channels, bias=False)
        return Upsample(dense, zeros(channels))

    def attention(self, channels: int, heads: int) -> Attention:
        """Draw the heads."""
        return Attention(
            self.drawn.dense(channels, 3 * channels, bias=False),
            self.drawn.dense(channels, channels, bias=False),
            heads,
        )
