"""Glyphs: drawn characters, with any number of classes and any size."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import whole
from partwhole._door import door
from partwhole._types import Bounds, Count, Real, Seed

POINTS = 9  # along a stroke, joined by straight lines
PEN = 0.12  # half the width of a stroke, where the image is 2 wide
AT_ONCE = 2**21  # distances of pixels to lines


@door
def glyph_images(
    n_classes: Count = 10,
    per_class: Count = 100,
    *,
    size: int = 16,
    strokes: Annotated[int, Bounds(at_least=1, at_most=12)] = 3,
    variation: Annotated[Real, Bounds(at_least=0, at_most=10)] = 1.0,
    seed: Seed,
) -> tuple[Float[np.ndarray, "n size size"], Int[np.ndarray, " n"]]:
    r"""Draw characters of invented alphabets, each image in a different handwriting.

    A class is a set of strokes: curves :math:`(1-t)^2 a + 2t(1-t) b + t^2 c` between two points of
    a 3 by 3 grid, bent towards a third place. Its images turn, stretch, slant and shift it, move
    its control points and change the width of the pen.

    Parameters
    ----------
    n_classes : int, default 10
    per_class : int, default 100
        Images of each.
    size : int, keyword-only, default 16
        Pixels to a side, at least 6.
    strokes : int, keyword-only, default 3
        Of each class, at most 12.
    variation : float, keyword-only, default 1
        How much images of a class differ, at least 0: at 1 by turns of .1 radians, stretches and
        slants of .1, shifts of .06 and control points of .06 of half the side, each the standard
        deviation of a normal law; at 0 they are all the same.
    seed : int, keyword-only
        At least 0. Fixes classes and images; a class does not depend on how many others there are.

    Returns
    -------
    images : float array, shape (n, size, size)
        Grey levels 0..1, bright on dark.
    labels : int array, shape (n,)
        Classes from 0, in turn.

    Raises
    ------
    InputError
        For counts below 1, too small a size, too many strokes, or a variation or seed below 0.

    Examples
    --------
    >>> images, labels = glyph_images(40, 2, size=12, seed=0)
    >>> images.shape, labels[:42].tolist() == [*range(40), 0, 1]
    ((80, 12, 12), True)
    """
    whole("size", size, 6, "strokes cannot be distinguished in fewer pixels")
    images = np.empty((per_class, n_classes, size, size))
    for k in range(n_classes):
        rng = np.random.default_rng([seed, 3, k])
        lines, pen = _written(rng, _skeleton(rng, strokes), per_class, float(variation))
        chunk = max(1, AT_ONCE // (size**2 * lines.shape[1]))
        for first in range(0, per_class, chunk):
            part = slice(first, first + chunk)
            images[part, k] = _inked(lines[part], pen[part], size)
    return images.reshape(-1, size, size), np.tile(np.arange(n_classes), per_class)


def _skeleton(rng: np.random.Generator, strokes: int) -> Float[np.ndarray, "strokes 3 2"]:
    """Draw a class: where each stroke begins, bends and ends."""
    grid = np.stack(np.meshgrid(*[[-0.55, 0.0, 0.55]] * 2), axis=-1).reshape(-1, 2)
    pairs = np.stack(np.triu_indices(len(grid), 1), axis=1)
    begin, end = grid[rng.choice(pairs, strokes, replace=False)].swapaxes(0, 1)
    bend = 0.5 * (begin + end) + 0.35 * rng.standard_normal(begin.shape)
    return np.stack([begin, bend, end], axis=1)


def _written(
    rng: np.random.Generator, skeleton: Float[np.ndarray, "strokes 3 2"], n: int, variation: float
) -> tuple[Float[np.ndarray, "n lines 2 2"], Float[np.ndarray, " n"]]:
    """Write a class in n hands: the lines of each, and half the width of its pen."""
    shifted = skeleton + 0.06 * variation * rng.standard_normal((n, *skeleton.shape))
    across, down, slant, turn = 0.1 * variation * rng.standard_normal((4, n))
    cosine, sine = np.cos(turn), np.sin(turn)
    rotation = np.array([[cosine, -sine], [sine, cosine]])
    stretched = np.array([[np.exp(across), slant], [np.zeros(n), np.exp(down)]])
    hand = np.einsum("ijn,jkn->nik", rotation, stretched)
    shift = 0.06 * variation * rng.standard_normal((n, 1, 1, 2))
    shifted = np.einsum("nik,nspk->nspi", hand, shifted) + shift
    t = np.linspace(0.0, 1.0, POINTS)
    weights = np.stack([(1 - t) ** 2, 2 * t * (1 - t), t**2], axis=1)
    curves = np.einsum("tp,nspi->nsti", weights, shifted)
    lines = np.stack([curves[:, :, :-1], curves[:, :, 1:]], axis=3).reshape(n, -1, 2, 2)
    return lines, PEN * np.exp(0.1 * variation * rng.standard_normal(n))


def _inked(
    lines: Float[np.ndarray, "n lines 2 2"], pen: Float[np.ndarray, " n"], size: int
) -> Float[np.ndarray, "n size size"]:
    """Return how much of each pixel ink covers, by the distance of its centre to the lines."""
    centre = (np.arange(size) + 0.5) * 2.0 / size - 1.0
    pixels = np.stack(np.meshgrid(centre, centre), axis=-1).reshape(-1, 1, 2)
    begin, along = lines[:, None, :, 0], (lines[:, :, 1] - lines[:, :, 0])[:, None]
    square = np.maximum(np.sum(along**2, axis=-1), 1e-12)
    at = np.clip(np.sum((pixels - begin) * along, axis=-1) / square, 0.0, 1.0)
    away = np.sum((pixels - begin - at[..., None] * along) ** 2, axis=-1).min(axis=-1)
    cover = (pen[:, None] - np.sqrt(away)) * size / 2.0 + 0.5
    return np.clip(cover, 0.0, 1.0).reshape(-1, size, size)
