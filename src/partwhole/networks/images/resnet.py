"""Residual networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Seed
from partwhole.networks.images.layers import (
    BatchNorm,
    Conv,
    Drawn,
    Flatten,
    MaxPool,
    MeanPool,
    Pass,
    ReLU,
)
from partwhole.networks.images.network import (
    ImageNetwork,
    Layer,
    require_shape,
)

ONE = ((1, 1), (1, 1))  # padding as in frameworks, which differs from "SAME" for stride 2


class Block(eqx.Module):
    r"""Residual block of two convolutions, :math:`\max(0, F(x) + s(x))`.

    The skip s is the identity, or a 1 x 1 convolution where size or channels change.
    """

    conv_1: Conv
    norm_1: BatchNorm
    conv_2: Conv
    norm_2: BatchNorm
    skip: tuple[Conv, BatchNorm] | None

    def __call__(self, x: Float[Array, "n h w i"], at: Pass) -> Float[Array, "n k l o"]:
        """Return the sum, rectified."""
        hidden = jax.nn.relu(self.norm_1(self.conv_1(x, at), at))
        hidden = self.norm_2(self.conv_2(hidden, at), at)
        if self.skip is not None:
            conv, norm = self.skip
            x = norm(conv(x, at), at)
        return jax.nn.relu(hidden + x)


@door
def resnet(
    shape: Sequence[int],
    *,
    outputs: Count = 1,
    channels: Sequence[Count] = (16, 32, 64, 128),
    blocks: Sequence[Count] = (2, 2, 2, 2),
    stem: Literal["small images", "ImageNet"] = "small images",
    pool: Count | None = 4,
    seed: Seed,
) -> ImageNetwork:
    """Draw a residual network of basic blocks.

    Parameters
    ----------
    shape : sequence of int
        Height, width and channels of an image.
    outputs : int, keyword-only, default 1
    channels : sequence of int, keyword-only, default (16, 32, 64, 128)
        Channels of each stage; all but the first halve height and width.
    blocks : sequence of int, keyword-only, default (2, 2, 2, 2)
        Blocks of two convolutions in each stage; the default is that of ResNet-18.
    stem : {"small images", "ImageNet"}, keyword-only, default "small images"
        One 3 x 3 convolution; or a 7 x 7 one of stride 2 and a 3 x 3 max-pool of stride 2.
    pool : int or None, keyword-only, default 4
        Side of the windows that are averaged before the readout, without incomplete windows at the
        right and below; None for one mean over all places.
    seed : int, keyword-only

    Returns
    -------
    ImageNetwork
        Its layers are "stem", "norm", "relu", "pool" after ImageNet's stem, "stage 1, block 1",
        ..., "mean", "flat", "out".

    Raises
    ------
    InputError
        For images too small for the stages, stages without channels, numbers below 1 (below 0 for
        the seed), or another stem.

    Notes
    -----
    He, Zhang, Ren & Sun (CVPR 2016). The defaults are the network for composed CIFAR of Lippl &
    Stachenfeld (ICLR 2025), weights by the law of frameworks; with ImageNet's stem, channels of 64
    to 512 and pool None it is the ResNet-18 of Lippl & Lindsey (NeurIPS 2024), whose convolutions
    are drawn by He's law for the number of outputs.
    """
    height, width, depth = require_shape(shape)
    require(
        len(channels) == len(blocks) > 0,
        "every stage has channels and a number of blocks",
        f"{len(channels)} and {len(blocks)}",
        "pass as many of both",
    )
    drawn = Drawn(
        np.random.default_rng([seed, 104]), "framework" if stem == "small images" else "he, fan out"
    )
    readout = Drawn(np.random.default_rng([seed, 105]), "framework")
    names, parts = ["stem", "norm", "relu"], list[Layer]()
    sizes = [height, width]
    if stem == "small images":
        parts += [drawn.conv(3, depth, channels[0], padding=ONE, bias=False)]
    else:
        parts += [drawn.conv(7, depth, channels[0], stride=2, padding=((3, 3), (3, 3)), bias=False)]
        sizes = [_halved(size) for size in sizes]
    parts += [drawn.batch_norm(channels[0]), ReLU()]
    if stem == "ImageNet":
        names.append("pool")
        parts.append(MaxPool(3, 2, 1))
        sizes = [_halved(size) for size in sizes]
    before = channels[0]
    for stage, (units, count) in enumerate(zip(channels, blocks, strict=True)):
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            names.append(f"stage {stage + 1}, block {block + 1}")
            parts.append(_block(drawn, before, units, stride))
            sizes = [_halved(size) if stride == 2 else size for size in sizes]
            before = units
    rows, columns = (1, 1) if pool is None else (sizes[0] // pool, sizes[1] // pool)
    require(
        rows > 0 and columns > 0,
        f"what the last stage leaves has at least {pool} places to a side, which are averaged",
        f"{sizes[0]} x {sizes[1]} of images of {height} x {width}",
        "pass pool=None, or fewer stages",
    )
    names += ["mean", "flat", "out"]
    parts += [MeanPool(pool), Flatten(), readout.dense(rows * columns * before, outputs)]
    return ImageNetwork(tuple(parts), tuple(names), (height, width, depth))


def _halved(size: int) -> int:
    """Return the size that a convolution of stride 2 leaves, with its padding."""
    return (size + 1) // 2


def _block(drawn: Drawn, before: int, units: int, stride: int) -> Block:
    conv_1 = drawn.conv(3, before, units, stride=stride, padding=ONE, bias=False)
    norm_1 = drawn.batch_norm(units)
    conv_2 = drawn.conv(3, units, units, padding=ONE, bias=False)
    norm_2 = drawn.batch_norm(units)
    skip = None
    if stride != 1 or before != units:
        conv = drawn.conv(1, before, units, stride=stride, padding="VALID", bias=False)
        skip = (conv, drawn.batch_norm(units))
    return Block(conv_1, norm_1, conv_2, norm_2, skip)
