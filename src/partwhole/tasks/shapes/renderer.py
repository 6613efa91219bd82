"""Drawing shapes: a hard mask, blurred, between two colours, with a little noise."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

import numpy as np
from jaxtyping import Float

from partwhole._checks import is_finite, require, whole
from partwhole._door import door
from partwhole._types import Bounds, Real, Seed
from partwhole.tasks.shapes.attributes import ShapeAttributes

AT_ONCE = 2**16  # pixels, which stay in the cache; larger sets are drawn in turns
NO_BLUR = 0.02  # in pixels: the weight of the next pixel is then 0 in double precision
MOST_NOISE = 1e6
Noise = Annotated[Real, Bounds(at_least=0, at_most=MOST_NOISE)]
# From the centre to an edge of the equilateral triangle of a circle's area, in its radii.
INRADIUS = float(np.sqrt(np.pi / (3.0 * np.sqrt(3.0))))


@door
def render_shapes(
    attributes: ShapeAttributes,
    side: int,
    *,
    blur: Real | None = None,
    noise: Noise = 1e-3,
    seed: Seed,
) -> Float[np.ndarray, "n side side 3"]:
    r"""Draw pictures of one shape each.

    With colour c, background b, the blurred mask m of `shape_masks` and standard normal z,

    .. math:: G = \mathrm{clip}(m c + (1 - m) b + \mathrm{noise} \cdot z,\ 0,\ 1).

    Pictures are upright: rows run downwards. Triangles are equilateral, have the circle's area, and
    point upwards; the published ones are in `partwhole.tasks.shapes.triangles`.

    Parameters
    ----------
    attributes : ShapeAttributes
    side : int
        Pixels to a side, at least 4.
    blur : float, keyword-only, default None
        Standard deviation of the blur, in pixels; None for the published one, side / 32. At 0
        edges stay hard.
    noise : float, keyword-only, default 0.001
        Standard deviation of the noise of each channel of each pixel.
    seed : int, keyword-only
        Fixes the noise; the first pictures do not depend on how many follow.

    Returns
    -------
    float32 array, shape (n, side, side, 3)
        Red, green and blue in 0..1.

    Raises
    ------
    InputError
        For too small a side, or a blur or noise out of range.

    Notes
    -----
    Park et al. (NeurIPS 2024). Their code draws on the same grid and calls the axis of the rows x.

    Examples
    --------
    >>> from partwhole.tasks import circles
    >>> from partwhole.tasks.shapes.renderer import render_shapes
    >>> means = circles().mean_attributes()
    >>> images = render_shapes(means, 32, seed=0)
    >>> images.shape, images[1, 16, 16].round(1).tolist()  # a small red circle
    ((4, 32, 32, 3), [0.699999988079071, 0.30000001192092896, 0.30000001192092896])
    """
    return render(attributes, side, blur, noise, (seed,))


def render(
    attributes: ShapeAttributes,
    side: int,
    blur: Real | None,
    noise: Real,
    stream: Sequence[int],
    out: Float[np.ndarray, "n side side 3"] | None = None,
) -> Float[np.ndarray, "n side side 3"]:
    """Draw pictures with noise from a random stream, into `out` if it is given."""
    rng = np.random.default_rng(list(stream))
    smoothing = _smoothing(side, blur)
    images = np.empty((len(attributes), side, side, 3), dtype=np.float32) if out is None else out
    chunk = max(1, AT_ONCE // side**2)
    for first in range(0, len(attributes), chunk):
        part = slice(first, first + chunk)
        drawn = _mixed(attributes.take(part), smoothing, np.float32)
        if noise:
            drawn += np.float32(noise) * rng.standard_normal(drawn.shape, dtype=np.float32)
        np.clip(drawn, 0.0, 1.0, out=images[part])
    return images


def clean_images(
    attributes: ShapeAttributes, side: int, *, blur: Real | None = None
) -> Float[np.ndarray, "n side side 3"]:
    """Draw pictures without noise, in float64."""
    return _mixed(attributes, _smoothing(side, blur), np.float64)


def shape_masks(
    attributes: ShapeAttributes, side: int, *, blur: Real | None = None
) -> Float[np.ndarray, "n side side"]:
    r"""Return how much of each pixel a shape covers.

    The hard mask is 1 at the grid points, `side` of them evenly from -1 to 1 along both axes,
    that lie inside the shape: for a circle at (x, y) where
    :math:`(g_x - x)^2 + (g_y - y)^2 < \mathrm{size}^2`. It is blurred by a Gaussian that is cut off
    at four standard deviations and reflected at the picture's edges.

    Parameters
    ----------
    attributes : ShapeAttributes
        Kind, position and size count.
    side : int
        Pixels to a side, at least 4.
    blur : float, keyword-only, default None
        Standard deviation in pixels; None for side / 32, 0 for the hard mask.

    Returns
    -------
    float array, shape (n, side, side)
        In 0..1.

    Raises
    ------
    InputError
        For too small a side, or a negative blur.

    Examples
    --------
    >>> from partwhole.tasks import circles
    >>> from partwhole.tasks.shapes.renderer import shape_masks
    >>> means = circles().mean_attributes()
    >>> shape_masks(means, 32, blur=0).sum(axis=(1, 2)).tolist()  # big and small, of two colours
    [316.0, 52.0, 316.0, 52.0]
    """
    return _blurred(attributes, _smoothing(side, blur))


def grid(side: int) -> Float[np.ndarray, " side"]:
    """Return the positions of the pixels of a side."""
    return np.linspace(-1.0, 1.0, side)


def spread(side: int, blur: Real | None) -> float:
    """Return the blur in pixels, after validation of side and blur."""
    whole("side", side, 4, "shapes cannot be distinguished in fewer pixels")
    require(
        blur is None or (is_finite(blur) and 0 <= blur <= side),
        "blur is a standard deviation in pixels, from 0 to the side of the image",
        f"{blur!r} for a side of {side}",
        "leave it None for side / 32",
    )
    return side / 32.0 if blur is None else float(blur)


def _smoothing(side: int, blur: Real | None) -> Float[np.ndarray, "side side"]:
    return _smoothing_of(side, spread(side, blur))


@lru_cache(maxsize=8)
def _smoothing_of(side: int, deviation: float) -> Float[np.ndarray, "side side"]:
    """Return the blur along one axis as a matrix: products with it are faster than filters."""
    identity = np.eye(side)
    if deviation < NO_BLUR:
        return identity
    from scipy.ndimage import gaussian_filter1d

    return gaussian_filter1d(identity, deviation, axis=0, mode="reflect", truncate=4.0)


def _mixed(
    attributes: ShapeAttributes, smoothing: Float[np.ndarray, "side side"], kind: type
) -> Float[np.ndarray, "n side side 3"]:
    """Return b + m (c - b), of a type of floating-point numbers."""
    mask = _blurred(attributes, smoothing)[..., None].astype(kind)
    background = attributes.background[:, None, None, :].astype(kind)
    images = mask * (attributes.colour[:, None, None, :].astype(kind) - background)
    images += background
    return images


def _blurred(
    attributes: ShapeAttributes, smoothing: Float[np.ndarray, "side side"]
) -> Float[np.ndarray, "n side side"]:
    points = grid(len(smoothing))
    down, right = (points - attributes.position[:, axis, None] for axis in (0, 1))
    size = attributes.size[:, None, None]
    inside = down[:, :, None] ** 2 + right[:, None, :] ** 2 < size**2
    angular = np.flatnonzero(attributes.kind == 1)
    if len(angular):
        edge = INRADIUS * size[angular]
        below, horizontal = down[angular, :, None], np.abs(right[angular, None, :])
        slanted = 0.5 * (np.sqrt(3.0) * horizontal - below)
        inside[angular] = (below < edge) & (slanted < edge)
    return smoothing @ inside.astype(float) @ smoothing.T
