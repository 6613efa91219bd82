"""Convolutions and maxima over windows, in forms that are fast where they run.

On an accelerator they are XLA's. Its CPU code is slow for some shapes, which are computed here in
other forms; the results are the same up to rounding. Which form goes with which shape was measured
with jaxlib 0.10 on one core of an AMD EPYC with AVX-512, as milliseconds before and after:

- Kernels of 1 x 1 are one matrix product (gradient of 16 x 16 places, 256 to 128 channels: 46, 15).
- A map without padding gets a row of zeros, whose outputs are left out: XLA's code for no padding
  at all is slow (24 x 34 places, 32 to 32 channels, 5 x 5: 177, 41).
- Few outputs of few inputs are computed for several neighbouring places at once, as more outputs of
  a wider kernel (32 x 32 places, 6 to 16 channels, 3 x 3: 12, 4).
- Maps smaller than the kernel are gathered into patches, for one product: XLA would exchange maps
  and kernels, and then compute without vector instructions (2 x 2 places, 256 channels: 182, 7).
- The gradient of the kernel is a sum over blocks of the batch, each small enough for the cache
  (20 x 30 places, 32 to 64 channels, 5 x 5: 204, 68).
- A maximum over windows is a chain of comparisons, whose gradient is a selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Literal

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

Padding = Literal["SAME", "VALID"] | Sequence[tuple[int, int]]
Sides = tuple[tuple[int, int], tuple[int, int]]  # rows above and below, columns left and right

AXES = ("NHWC", "HWIO", "NHWC")
NO_SIDES = ((0, 0), (0, 0))
ENOUGH = 32  # inputs or outputs for which a product is fast
AT_ONCE, AT_MOST = 32, 8  # images in a block of the batch, unless blocks would be more


def convolve(
    x: Float[Array, "n h w i"], kernel: Float[Array, "a b i o"], stride: int, padding: Padding
) -> Float[Array, "n k l o"]:
    r"""Return :math:`y_{kl} = \sum_{ab} x_{sk + a, sl + b} K_{ab}` for stride s, as XLA defines it.

    Parameters
    ----------
    x : float array, shape (n, h, w, i)
    kernel : float array, shape (a, b, i, o)
    stride : int
        Along height and width.
    padding : {"SAME", "VALID"} or two pairs of int
        Zeros above and below, left and right.
    """
    size = kernel.shape[:2]
    if isinstance(padding, str):
        strides = (stride, stride)
        padding = jax.lax.padtype_to_pads(x.shape[1:3], size, strides, padding)
    above, left = padding
    sides = (above[0], above[1]), (left[0], left[1])
    is_empty = min(_places(x.shape[1:3], size, stride, sides)) < 1
    if jax.default_backend() != "cpu" or is_empty:
        return _plain(x, kernel, stride, sides)
    if size == (1, 1) and sides == NO_SIDES:
        return x[:, ::stride, ::stride] @ kernel[0, 0]
    if _is_tiny(x.shape[1:3], size, stride, sides):
        return _by_patches(x, kernel, stride, sides)
    return _by_windows(x, kernel, stride, sides)


def _plain(x: Array, kernel: Array, stride: int, sides: Sides) -> Array:
    return jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), sides, dimension_numbers=AXES
    )  # fmt: skip


def _places(places: Sequence[int], size: Sequence[int], stride: int, sides: Sides) -> list[int]:
    """Return the height and width of the outputs."""
    around = zip(places, size, sides, strict=True)
    return [(n + sum(side) - k) // stride + 1 for n, k, side in around]


def _is_tiny(places: Sequence[int], size: Sequence[int], stride: int, sides: Sides) -> bool:
    """Return whether inputs or outputs have fewer places than the kernel."""
    counts = _places(places, size, stride, sides)
    return min(prod(places), prod(counts)) < prod(size)


def _by_patches(x: Array, kernel: Array, stride: int, sides: Sides) -> Array:
    """Convolve by one product with the patches, of those places of the kernel that meet a map."""
    places = x.shape[1:3]
    counts = _places(places, kernel.shape[:2], stride, sides)
    met, around = [], []
    for k, count, size, (low, _) in zip(places, counts, kernel.shape[:2], sides, strict=True):
        first, last = max(0, low - (count - 1) * stride), min(size, k + low)
        met.append((first, last))
        around.append((low - first, (count - 1) * stride + last - k - low, 0))
    (a, b), (c, d) = met
    kernel = kernel[a:b, c:d]
    none = (0, 0, 0)
    padded = jax.lax.pad(x, jnp.zeros((), x.dtype), (none, *around, none))
    height, width = (stride * (count - 1) + 1 for count in counts)
    patches = [
        padded[:, row : row + height : stride, column : column + width : stride]
        for row, column in product(range(b - a), range(d - c))
    ]
    return jnp.concatenate(patches, axis=-1) @ kernel.reshape(-1, kernel.shape[-1])


@partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def _by_windows(x: Array, kernel: Array, stride: int, sides: Sides) -> Array:
    """Convolve; each gradient has a form of its own, set by the map that it is the transpose of."""
    return _forward(x, kernel, stride, sides)


@partial(_by_windows.defjvp, symbolic_zeros=True)
def _changes(stride: int, sides: Sides, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x, kernel), (dx, dkernel) = primals, tangents
    y = _by_windows(x, kernel, stride, sides)
    changes = []
    if not isinstance(dx, SymbolicZero):
        changes.append(_of_inputs(dx, kernel, stride, sides, y))
    if not isinstance(dkernel, SymbolicZero):
        changes.append(_of_kernel(x, dkernel, stride, sides))
    return y, sum(changes[1:], changes[0]) if changes else jnp.zeros_like(y)


def _of_inputs(dx: Array, kernel: Array, stride: int, sides: Sides, y: Array) -> Array:
    """Convolve changes of the inputs; the transpose convolves slopes with the mirrored kernel."""
    size = kernel.shape[:2]
    if stride > 1 or any(
        side > k - 1 for pair, k in zip(sides, size, strict=True) for side in pair
    ):
        return _framed(dx, kernel, stride, sides)
    mirrored = jnp.swapaxes(kernel[::-1, ::-1], 2, 3)
    (top, bottom), (left, right) = (
        (k - 1 - low, k - 1 - high) for k, (low, high) in zip(size, sides, strict=True)
    )

    def slopes(of_outputs: Array) -> Array:
        return _forward(of_outputs, mirrored, 1, ((top, bottom), (left, right)))

    return jax.linear_transpose(slopes, jax.ShapeDtypeStruct(y.shape, y.dtype))(dx)[0]


def _of_kernel(x: Array, dkernel: Array, stride: int, sides: Sides) -> Array:
    """Convolve with a change of the kernel, block by block; the transpose sums over blocks."""
    size = max(AT_ONCE, -(-len(x) // AT_MOST))
    blocks = [x[first : first + size] for first in range(0, len(x), size)]
    parts = [_framed(block, dkernel, stride, sides) for block in blocks]
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts)


def _forward(x: Array, kernel: Array, stride: int, sides: Sides) -> Array:
    """Convolve; with few outputs, those of several neighbours along a row are one pixel's."""
    inputs, units = kernel.shape[2:]
    rows, columns = _places(x.shape[1:3], kernel.shape[:2], stride, sides)
    joined = 2 if 2 * units >= ENOUGH else 4
    if stride > 1 or max(inputs, units) >= ENOUGH or columns < 2 * joined:
        return _framed(x, kernel, stride, sides)
    shifted = [
        jnp.pad(kernel, ((0, 0), (place, joined - 1 - place), (0, 0), (0, 0)))
        for place in range(joined)
    ]
    groups = -(-columns // joined)
    missing = groups * joined - columns
    left, right = sides[1]
    y = jax.lax.conv_general_dilated(
        x, jnp.concatenate(shifted, axis=3), (1, joined), (sides[0], (left, right + missing)),
        dimension_numbers=AXES,
    )  # fmt: skip
    return y.reshape(len(x), rows, groups * joined, units)[:, :, :columns]


def _framed(x: Array, kernel: Array, stride: int, sides: Sides) -> Array:
    """Convolve; a map without padding gets a row of zeros below, whose outputs are left out."""
    if sides != NO_SIDES:
        return _plain(x, kernel, stride, sides)
    rows = _places(x.shape[1:3], kernel.shape[:2], stride, sides)[0]
    return _plain(x, kernel, stride, ((0, stride), (0, 0)))[:, :rows]


def maximum(
    x: Float[Array, "n h w c"], size: int, stride: int, padding: int
) -> Float[Array, "n k l c"]:
    """Return the maximum of each window; the slope goes to the first place that has it.

    Parameters
    ----------
    x : float array, shape (n, h, w, c)
    size, stride, padding : int
        Along height and width; padded places are never the maximum.
    """
    side = (padding, padding)
    if jax.default_backend() != "cpu":
        around = ((0, 0), side, side, (0, 0))
        window, strides = (1, size, size, 1), (1, stride, stride, 1)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, strides, around)
    height, width = (
        stride * (count - 1) + 1
        for count in _places(x.shape[1:3], (size, size), stride, (side, side))
    )
    padded = jnp.pad(x, ((0, 0), side, side, (0, 0)), constant_values=-jnp.inf) if padding else x
    best: Array | None = None
    for row, column in product(range(size), range(size)):
        at = padded[:, row : row + height : stride, column : column + width : stride]
        # What isn't a number stays, as in XLA's maximum.
        best = at if best is None else jnp.where((at > best) | (at != at), at, best)
    assert best is not None
    return best
