"""The U-Net that predicts noise in images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Count, Real, Seed
from partwhole.networks.diffusion.layers import (
    Attention,
    Block,
    Builder,
    Clock,
    GroupNorm,
    Upsample,
)
from partwhole.networks.images.layers import Conv, Pass
from partwhole.networks.images.network import require_shape


class UNet(eqx.Module):
    """Predictor of the noise in images from them, the time and the condition.

    On the way down each level of blocks but the last ends in a convolution that halves height and
    width; a block, attention and a block are at the bottom; on the way up each level but the lowest
    begins with the output of the same level on the way down. The last convolution is 0 initially,
    and its output is added to the input images.

    Parameters
    ----------
    stem : Conv
    clock : Clock
    down, up : tuple of tuples of Block
        Blocks of each level, the finest first in both.
    halve : tuple of Conv
    double : tuple of Upsample
        One for each level but the lowest, the finest first.
    bottom : (Block, Attention, Block)
    norm, head
        Last normalisation and convolution.

    Notes
    -----
    Ho, Jain & Abbeel (NeurIPS 2020). As Yang et al. (ICLR 2025) have it: time and condition enter
    every block.

    Examples
    --------
    A condition enters every block: one on the way down in each of two levels, two at the bottom,
    and one on the way up in each level.

    >>> network = unet((8, 8, 1), 3, channels=(4, 8), blocks=1, groups=2, seed=0)
    >>> [embedding.shape for embedding in network.embed(jnp.ones((1, 3)))]
    [(1, 4), (1, 8), (1, 8), (1, 8), (1, 8), (1, 4)]
    """

    stem: Conv
    clock: Clock
    down: tuple[tuple[Block, ...], ...]
    halve: tuple[Conv, ...]
    bottom: tuple[Block, Attention, Block]
    double: tuple[Upsample, ...]
    up: tuple[tuple[Block, ...], ...]
    norm: GroupNorm
    head: Conv

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return all blocks in the order in which they are computed."""
        return (
            *(block for level in self.down for block in level),
            *(self.bottom[0], self.bottom[2]),
            *(block for level in reversed(self.up) for block in level),
        )

    def embed(self, conditions: Float[Array, "n d"]) -> tuple[Float[Array, "n _"], ...]:
        """Return the embeddings of conditions, one for each block."""
        return tuple(block.embed(conditions) for block in self.blocks)

    def __call__(
        self, z: Float[Array, "n h w c"], told: Float[Array, " t"],
        made: Sequence[Float[Array, "n _"]], at: Pass,
    ) -> Float[Array, "n h w c"]:  # fmt: skip
        """Return the predicted noise.

        Parameters
        ----------
        z : float array, shape (n, h, w, c)
        told : float array, shape (n,) or (1,)
            Times in the units of the schedule, 0 to 1.
        made : sequence of float arrays, shapes (n, units of the block)
            Embeddings of the conditions, from `embed`.
        at : Pass
        """
        time = self.clock(told, at)
        embeddings = iter(made)
        x, skips = self.stem(z, at), []
        for place, level in enumerate(self.down):
            for block in level:
                x = block(x, time, next(embeddings), at)
            if place < len(self.halve):
                skips.append(x)
                x = self.halve[place](x, at)
        first, attention, second = self.bottom
        x = attention(first(x, time, next(embeddings), at), at)
        x = second(x, time, next(embeddings), at)
        for place in reversed(range(len(self.up))):
            if place < len(self.double):
                x = jnp.concatenate([self.double[place](x, at), skips.pop()], axis=-1)
            for block in self.up[place]:
                x = block(x, time, next(embeddings), at)
        return z + self.head(jax.nn.gelu(self.norm(x, at)), at).astype(z.dtype)


@door
def unet(
    shape: Sequence[int],
    condition: Count,
    *,
    channels: Sequence[Count] = (64, 128, 256),
    blocks: Count = 2,
    groups: Count = 8,
    heads: Count = 4,
    dropout: Annotated[Real, Bounds(at_least=0, below=1)] = 0.1,
    clock: Count = 256,
    seed: Seed,
) -> UNet:
    """Draw a U-Net; the defaults are the published one.

    Parameters
    ----------
    shape : sequence of int
        Height, width and channels of an image.
    condition : int
        Length of the condition vector.
    channels : sequence of int, keyword-only, default (64, 128, 256)
        Of each level; all but the first halve height and width.
    blocks : int, keyword-only, default 2
        Of two convolutions each, in each level, on the way down and up.
    groups : int, keyword-only, default 8
        In which channels are normalised.
    heads : int, keyword-only, default 4
        Of the attention at the bottom.
    dropout : float, keyword-only, default 0.1
    clock : int, keyword-only, default 256
        Units of the embedding of the time.
    seed : int, keyword-only

    Raises
    ------
    InputError
        For images that can't be halved so often, and channels not divisible by groups or heads.

    Examples
    --------
    >>> network = unet((8, 8, 3), 4, channels=(8, 16), blocks=2, seed=0)
    >>> len(network.blocks)  # two in each of two levels, down and up, and two at the bottom
    10
    """
    height, width, depth = require_shape(shape)
    require(
        len(channels) > 0 and all(units % groups == 0 for units in channels),
        f"each level has channels, in {groups} groups of one size",
        repr(tuple(channels)),
        "pass multiples of groups",
    )
    require(
        channels[-1] % heads == 0,
        f"the lowest level's channels are shared by {heads} heads",
        f"{channels[-1]}",
        "pass a multiple of heads",
    )
    factor = 2 ** (len(channels) - 1)
    require(
        height % factor == 0 and width % factor == 0,
        f"{len(channels)} levels are for images of a height and width divisible by {factor}",
        f"{height} x {width}",
        "pass fewer channels, or pad the images",
    )
    build = Builder(seed, groups, dropout, condition, clock)
    stem, before = build.drawn.conv(3, depth, channels[0]), channels[0]
    down, halve, double, up = [], [], [], []
    for place, units in enumerate(channels):
        level = [
            build.block(before, units),
            *(build.block(units, units) for _ in range(blocks - 1)),
        ]
        down.append(tuple(level))
        if place + 1 < len(channels):
            halve.append(build.drawn.conv(3, units, units, stride=2, padding=((1, 1), (1, 1))))
        before = units
    bottom = (
        build.block(before, before),
        build.attention(before, heads),
        build.block(before, before),
    )
    for place in reversed(range(len(channels))):
        units, joined = channels[place], before
        if place + 1 < len(channels):
            double.append(build.upsample(before, units))
            joined = 2 * units
        level = [
            build.block(joined, units),
            *(build.block(units, units) for _ in range(blocks - 1)),
        ]
        up.append(tuple(level))
        before = units
    return UNet(
        stem=stem,
        clock=build.clock(),
        down=tuple(down),
        halve=tuple(halve),
        bottom=bottom,
        double=tuple(reversed(double)),
        up=tuple(reversed(up)),
        norm=build.norm(before),
        head=build.silent(before, depth),
    )
