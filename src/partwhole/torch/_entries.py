"""Arrays of a state dict and their places in a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Reshape = Callable[[np.ndarray], np.ndarray]
COUNTER = "num_batches_tracked"  # of batch normalisation, which no network of partwhole needs


@dataclass(frozen=True)
class Layout:
    """The order of an array's axes in torch and here: functions from one to the other."""

    to_ours: Reshape
    to_torch: Reshape


@dataclass(frozen=True)
class Entry:
    """An array of a state dict.

    Parameters
    ----------
    name : str
        In the state dict.
    path : tuple of int and str
        From the network's parts to the array, by index or attribute.
    layout : Layout
    """

    name: str
    path: tuple[int | str, ...]
    layout: Layout

    def of(self, network: Any) -> Any:
        """Return the array in a network, or None if the network does without it."""
        value = network.parts
        for step in self.path:
            value = value[step] if isinstance(step, int) else getattr(value, step)
        return value


PLAIN = Layout(lambda array: array, lambda array: array)
# Kernels are (out, in, height, width) in torch, and (height, width, in, out) here.
CONV = Layout(
    lambda kernel: kernel.transpose(2, 3, 1, 0), lambda kernel: kernel.transpose(3, 2, 0, 1)
)


def patches(side: int) -> Layout:
    """Return the layout of a convolution of patches, here a matrix of (out, height width in)."""
    return Layout(
        lambda kernel: kernel.transpose(0, 2, 3, 1).reshape(len(kernel), -1),
        lambda matrix: matrix.reshape(len(matrix), side, side, -1).transpose(0, 3, 1, 2),
    )
