"""Convolutional networks without skips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Seed
from partwhole.networks.images.layers import Drawn, Flatten, MaxPool, ReLU
from partwhole.networks.images.network import (
    ImageNetwork,
    Layer,
    require_shape,
)


@door
def convnet(
    shape: Sequence[int],
    *,
    outputs: Count = 1,
    channels: Sequence[Count] = (32, 32, 64, 64),
    kernel: Count = 5,
    padding: Literal["SAME", "VALID"] = "VALID",
    dense: Sequence[Count] = (512, 1024),
    seed: Seed,
) -> ImageNetwork:
    """Draw a convolutional network.

    Convolutions, each followed by ReLU and then by batch normalisation; one 2 x 2 max-pool after
    the last of them; dense layers with ReLU; a readout.

    Parameters
    ----------
    shape : sequence of int
        Height, width and channels of an image.
    outputs : int, keyword-only, default 1
    channels : sequence of int, keyword-only, default (32, 32, 64, 64)
        Of each convolution.
    kernel : int, keyword-only, default 5
        Pixels to a side.
    padding : {"VALID", "SAME"}, keyword-only, default "VALID"
        Whether maps shrink by kernel - 1 with each convolution, or keep their size.
    dense : sequence of int, keyword-only, default (512, 1024)
        Units of the dense layers.
    seed : int, keyword-only

    Returns
    -------
    ImageNetwork
        Its layers are "conv 1", "relu 1", "norm 1", ..., "pool", "flat", "dense 1", ..., "out".

    Raises
    ------
    InputError
        For images too small for the convolutions, numbers below 1 (below 0 for the seed), or
        another padding.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), the network for composed MNIST; weights by He's law. Layer 11
    there, counted from the pixels, is "relu 4".
    """
    height, width, depth = image_shape = require_shape(shape)
    drawn = Drawn(np.random.default_rng([seed, 103]), "he")
    parts: list[Layer] = []
    names: list[str] = []

    def add(name: str, part: Layer) -> None:
        names.append(name)
        parts.append(part)

    for i, units in enumerate(channels, 1):
        add(f"conv {i}", drawn.conv(kernel, depth, units, padding=padding))
        add(f"relu {i}", ReLU())
        add(f"norm {i}", drawn.batch_norm(units))
        depth = units
    shrunk = 0 if padding == "SAME" else len(channels) * (kernel - 1)
    rows, columns = (height - shrunk) // 2, (width - shrunk) // 2
    require(
        rows > 0 and columns > 0,
        f"{len(channels)} convolutions of {kernel} x {kernel} and a pool take images of at least "
        f"{shrunk + 2} pixels to a side",
        f"{height} x {width}",
        'pass padding="SAME", or use the preset convnet-small',
    )
    add("pool", MaxPool(2, 2))
    add("flat", Flatten())
    inputs = rows * columns * depth
    for i, units in enumerate(dense, 1):
        add(f"dense {i}", drawn.dense(inputs, units))
        add(f"relu {len(channels) + i}", ReLU())
        inputs = units
    add("out", drawn.dense(inputs, outputs))
    return ImageNetwork(tuple(parts), tuple(names), image_shape)
