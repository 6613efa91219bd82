r"""The published triangles: isosceles, as high as wide, larger than the circle, pointing right.

Both triangles have the side :math:`a = \sqrt{4 \pi / \sqrt 3}\, r` for a circle of radius r.

=================  ===================================  ==============================
                   this library's, by default           published, `published_triangles`
=================  ===================================  ==============================
form               equilateral of side a                isosceles, base and height a
area               that of the circle                   :math:`2 / \sqrt 3` = 1.155 times it
points             up, against the rows                 right, along the columns
centre             its centroid                         :math:`\sqrt 3\, a / 6` from the base,
                                                        .12 r towards the base from the centroid
=================  ===================================  ==============================

The published code takes the side of the equilateral triangle of the circle's area, and makes it
the height as well; an equilateral triangle of that side is only :math:`\sqrt 3 / 2` as high.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._door import door
from partwhole._types import Real, Seed
from partwhole.tasks.shapes.attributes import ShapeAttributes
from partwhole.tasks.shapes.labelled import LabelledShapes
from partwhole.tasks.shapes.renderer import AT_ONCE, INRADIUS, NO_BLUR, Noise, grid, spread
from partwhole.tasks.shapes.sampling import NOISE
from partwhole.tasks.shapes.space import ConceptSpace

#: Base and height of a published triangle, in radii of the circle of its size.
SIDE = float(np.sqrt(4.0 * np.pi / np.sqrt(3.0)))


class PublishedTriangleSpace(ConceptSpace):
    """Concept space whose triangles are the published ones, made by `published_triangles`.

    Parameters
    ----------
    concepts, free, noun
        As in `ConceptSpace`.
    """

    @door
    def sample(
        self,
        counts: int | np.integer | Int[np.ndarray, " k"] | Sequence[int],
        *,
        seed: Seed,
        side: int = 32,
        is_train: Bool[np.ndarray, " k"] | None = None,
        jitter: bool = True,
        blur: Real | None = None,
        noise: Noise = 1e-3,
    ) -> LabelledShapes:
        """Draw pictures, class by class, triangles as published.

        Parameters
        ----------
        counts, seed, side, is_train, jitter, blur, noise
            As in `ConceptSpace.sample`. With the same seed attributes and noise are the same as
            there, and only triangles differ.

        Returns
        -------
        LabelledShapes
        """
        shapes = ConceptSpace.sample(
            self, counts, seed=seed, side=side, is_train=is_train, jitter=jitter, blur=blur,
            noise=noise,
        )  # fmt: skip
        for c in np.unique(shapes.classes[shapes.attributes.kind == 1]):
            rng = np.random.default_rng([seed, NOISE, int(c)])
            for part in _parts(shapes.classes == c, side):
                attributes = shapes.attributes.take(part)
                masks = published_masks(attributes, side, blur=blur)
                drawn = mixed(attributes, masks).astype(np.float32)
                if noise:
                    drawn += np.float32(noise) * rng.standard_normal(drawn.shape, dtype=np.float32)
                np.clip(drawn, 0.0, 1.0, out=shapes.images[part])
        return shapes

    def describe(self) -> str:
        """Return what `ConceptSpace.describe` does, and which triangles are drawn."""
        drawn = "triangles: published, base = height, 1.155 of the circle's area, pointing right"
        return f"{ConceptSpace.describe(self)}\n{drawn}"


@door
def published_triangles(space: ConceptSpace) -> PublishedTriangleSpace:
    r"""Return a concept space with the published triangles in place of equilateral ones.

    For the radius r of a circle of that size a published triangle has base and height
    :math:`a = \sqrt{4 \pi / \sqrt 3}\, r`, so :math:`2 / \sqrt 3`, 15 % more, of the circle's
    area. It points along the columns, to the right: with :math:`d_x, d_y` the offsets along rows
    and columns from its place, a pixel is inside where

    .. math:: d_y > -\tfrac{\sqrt 3}{6} a \quad \text{and} \quad
        d_y + 2 |d_x| < \big(1 - \tfrac{\sqrt 3}{6}\big) a.

    Its tip lies 1.92 r from its place, so that larger triangles are cut off by the picture's edge.

    Parameters
    ----------
    space : ConceptSpace
        With triangles among its shapes, as ``circles(shapes=("circle", "triangle"))``.

    Returns
    -------
    PublishedTriangleSpace
        The same concepts, conditions and splits; `sample`, `pixel_distances` and `concept_signal`
        have these triangles.

    Notes
    -----
    Measures are those of the published code of Park et al. (NeurIPS 2024). `circles` and
    `render_shapes` draw equilateral triangles of the circle's area, which point up.

    Examples
    --------
    >>> from partwhole.tasks import circles
    >>> from partwhole.tasks.shapes.triangles import published_masks, published_triangles
    >>> space = published_triangles(circles(shapes=("circle", "triangle")))
    >>> space.sample(8, seed=0, side=16).images.shape
    (64, 16, 16, 3)
    >>> small = space.mean_attributes([1, 5])  # a circle and a triangle
    >>> areas = published_masks(small, 800, blur=0).sum(axis=(1, 2))
    >>> round(float(areas[1] / areas[0]), 2)
    1.15
    """
    return PublishedTriangleSpace(space.concepts, space.free, space.noun)


@door
def published_masks(
    attributes: ShapeAttributes, side: int, *, blur: Real | None = None
) -> Float[np.ndarray, "n side side"]:
    """Return how much of each pixel a shape covers, triangles as published.

    Parameters
    ----------
    attributes, side, blur
        As in `shape_masks`, of which circles are the same.

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
    >>> from partwhole.tasks.shapes.triangles import published_masks
    >>> both = circles(shapes=("circle", "triangle")).mean_attributes([1, 5])
    >>> abs(published_masks(both, 32) - shape_masks(both, 32)).max(axis=(1, 2)).round(1).tolist()
    [0.0, 0.6]
    """
    from scipy.ndimage import gaussian_filter

    deviation, points = spread(side, blur), grid(side)
    down, right = (points - attributes.position[:, axis, None] for axis in (0, 1))
    down, right = down[:, :, None], right[:, None, :]
    size = attributes.size[:, None, None]
    is_round = down**2 + right**2 < size**2
    edge = INRADIUS * size
    is_angular = (right > -edge) & (right + 2.0 * np.abs(down) < SIDE * size - edge)
    hard = np.where((attributes.kind == 0)[:, None, None], is_round, is_angular).astype(float)
    if deviation < NO_BLUR:
        return hard
    return gaussian_filter(hard, (0.0, deviation, deviation), mode="reflect", truncate=4.0)


def mixed(
    attributes: ShapeAttributes, masks: Float[np.ndarray, "n side side"]
) -> Float[np.ndarray, "n side side 3"]:
    """Return pictures without noise, from masks of shapes and their colours."""
    background = attributes.background[:, None, None, :]
    return background + masks[..., None] * (attributes.colour[:, None, None, :] - background)


def _parts(is_chosen: Bool[np.ndarray, " n"], side: int) -> Iterator[slice]:
    """Yield slices of the one run of rows that are chosen, few enough pixels at once."""
    first, last = np.flatnonzero(is_chosen)[[0, -1]]
    chunk = max(1, AT_ONCE // side**2)
    for start in range(int(first), int(last) + 1, chunk):
        yield slice(start, min(start + chunk, int(last) + 1))
