"""Concept signal: the renderer's sensitivity to a concept, and pixel distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Real
from partwhole.tasks.shapes.attributes import (
    COLUMNS,
    Field,
    ShapeAttributes,
    from_columns,
    to_columns,
)
from partwhole.tasks.shapes.graph import concept_graph
from partwhole.tasks.shapes.renderer import INRADIUS, grid, shape_masks, spread
from partwhole.tasks.shapes.triangles import (
    SIDE,
    PublishedTriangleSpace,
    mixed,
    published_masks,
)

if TYPE_CHECKING:
    import pandas as pd

    from partwhole.tasks.shapes.space import ConceptSpace

NODES, NODES_PER_BLUR = 48, 10  # of the quadrature: more where the blur is finer
LEAST_BLUR = 0.1  # in pixels


@door
def concept_signal(
    space: ConceptSpace,
    side: int = 32,
    *,
    blur: Real | None = None,
    step: Annotated[Real, Bounds(above=0, at_most=0.1)] = 1e-3,
) -> pd.DataFrame:
    r"""Return the concept signal: the change of pictures with a concept, at each class mean.

    Concept i moves the mean attributes of a class towards those of another value, the coordinate
    :math:`z_i` going from 0 to 1 on the way. Its signal there is

    .. math:: \sigma_i = \Big(\mathrm{mean}\, |\partial G / \partial z_i|^2\Big)^{1/2},

    over pixels and channels of the picture :math:`G = m c + (1 - m) b`. In colours G is linear,
    and the derivative is that of the drawn picture itself, so that :math:`\sigma_i^2` is the pixel
    distance. The mask m is drawn by hard pixels and has no derivative in size and place: it is
    taken of `smooth_masks`, its limit for many pixels, by central differences.

    Parameters
    ----------
    space : ConceptSpace
    side : int, default 32
        Pixels to a side.
    blur : float, keyword-only, default None
        In pixels, above 0 for derivatives in size and place; None for side / 32.
    step : float, keyword-only, default 0.001
        Of the central differences, in units of z; the error is of its second order.

    Returns
    -------
    pandas.DataFrame
        A row for each class and neighbour: concept, at (the class), towards (the value) and
        signal, which is NaN for kinds: no shape lies between a circle and a triangle.

    Raises
    ------
    InputError
        For a step that is not in 0..0.1, above 0, or a blur of 0 where it is not enough.

    Notes
    -----
    Park et al. (NeurIPS 2024) define the signal as the sensitivity of the data to a concept,
    and vary it by the separation of its values.

    Examples
    --------
    >>> from partwhole.tasks import circles
    >>> from partwhole.tasks.shapes.sensitivity import concept_signal
    >>> concept_signal(circles(0.358)).round(4)
      concept                 at towards  signal
    0  colour     red big circle    blue  0.1531
    1  colour   red small circle    blue  0.0564
    2  colour    blue big circle     red  0.1531
    3  colour  blue small circle     red  0.0564
    4    size     red big circle   small  0.4014
    5    size   red small circle     big  0.2509
    6    size    blue big circle   small  0.4014
    7    size  blue small circle     big  0.2509
    """
    import pandas as pd

    spread(side, blur)
    graph = concept_graph(space)
    means = space.mean_attributes()
    columns = to_columns(means)
    published = isinstance(space, PublishedTriangleSpace)
    pixels = _masks_of(space)(means, side, blur=blur)[..., None]
    rows = []
    pair = np.concatenate([graph.edges, graph.edges[:, ::-1]])
    concepts = np.tile(graph.concepts, 2)
    for e in np.lexsort((pair[:, 1], pair[:, 0], concepts)):
        (first, second), c = pair[e], concepts[e]
        name: Field = space.fields[c]
        class_index = columns[[first]]
        away = np.zeros_like(class_index)
        away[:, COLUMNS[name]] = (columns[[second]] - class_index)[:, COLUMNS[name]]
        if name == "kind":
            change = np.array(np.nan)
        elif name == "colour":
            change = pixels[first] * away[0, COLUMNS["colour"]]
        elif name == "background":
            change = (1.0 - pixels[first]) * away[0, COLUMNS["background"]]
        else:
            ends = np.concatenate([class_index + step * away, class_index - step * away])
            ahead, behind = smooth_masks(from_columns(ends), side, blur=blur, published=published)
            contrast = means.colour[first] - means.background[first]
            change = ((ahead - behind) / (2.0 * step))[..., None] * contrast
        rows.append(
            (
                space.names[c], space.label(first),
                space.words[c][space.classes[second, c]], float(np.sqrt(np.mean(change**2))),
            )
        )  # fmt: skip
    return pd.DataFrame(rows, columns=["concept", "at", "towards", "signal"])


def smooth_masks(
    attributes: ShapeAttributes, side: int, *, blur: Real | None = None, published: bool = False
) -> Float[np.ndarray, "n side side"]:
    r"""Return blurred masks in the limit of many pixels, smooth in size and place.

    The mask of `shape_masks` adds up a Gaussian over the grid points inside the shape; this is the
    integral over the shape S itself, at pixel g with the blur's deviation s in grid units,

    .. math:: m(g) = \int_S \frac{1}{2 \pi s^2} e^{-|p - g|^2 / 2 s^2} dp
        = \int \varphi_s(u - g_x) \big[\Phi_s(v_+(u) - g_y) - \Phi_s(v_-(u) - g_y)\big] du,

    with the shape from :math:`v_-(u)` to :math:`v_+(u)` in row u, by Gauss-Legendre quadrature.
    Nothing is reflected at the picture's edges.

    Parameters
    ----------
    attributes : ShapeAttributes
        Kind, position and size count.
    side : int
        Pixels to a side, at least 4.
    blur : float, keyword-only, default None
        Standard deviation in pixels, above 0; None for side / 32.
    published : bool, keyword-only, default False
        Whether triangles are those of `published_triangles`; there S is taken column by column.

    Returns
    -------
    float array, shape (n, side, side)

    Raises
    ------
    InputError
        For too small a side or a blur that is not above 0.

    Notes
    -----
    Derived here.

    Examples
    --------
    >>> import numpy as np
    >>> from partwhole.tasks import circles
    >>> from partwhole.tasks.shapes.sensitivity import smooth_masks
    >>> mass = smooth_masks(circles().mean_attributes([0, 1]), 32).sum(axis=(1, 2))
    >>> (mass / (np.pi * 15.5**2)).round(6).tolist()  # the radii squared, in pixels
    [0.4225, 0.0625]
    """
    width = spread(side, blur)
    require(
        width >= LEAST_BLUR,
        f"images that are smooth in size and position have a blur of at least {LEAST_BLUR} pixels",
        f"{width:g}",
        "leave blur None for side / 32",
    )
    deviation = width * 2.0 / (side - 1)
    points = grid(side)
    masks = np.empty((len(attributes), side, side))
    for i, (kind, (x, y), size) in enumerate(
        zip(attributes.kind, attributes.position, attributes.size, strict=True)
    ):
        nodes, weights = np.polynomial.legendre.leggauss(
            NODES + int(NODES_PER_BLUR * size / deviation)
        )
        along, across = x, y
        if kind == 0:
            # By the angle: the width then vanishes at both ends without a root.
            angle = 0.5 * np.pi * nodes
            u, half = size * np.sin(angle), size * np.cos(angle)
            weights = 0.5 * np.pi * weights * half
        elif published:
            along, across, height = y, x, SIDE * size
            u = 0.5 * height * (1.0 + nodes) - INRADIUS * size
            half, weights = 0.25 * height * (1.0 - nodes), 0.5 * height * weights
        else:
            inner = INRADIUS * size
            u = inner * (1.5 * nodes - 0.5)
            half, weights = (u + 2.0 * inner) / np.sqrt(3.0), 1.5 * inner * weights
        lines = np.exp(-0.5 * ((along + u - points[:, None]) / deviation) ** 2)
        lines *= weights / (np.sqrt(2.0 * np.pi) * deviation)
        ends = (across + side_of * half[:, None] - points for side_of in (1.0, -1.0))
        upper, lower = (ndtr(end / deviation) for end in ends)
        mask = lines @ (upper - lower)
        masks[i] = mask.T if published and kind == 1 else mask
    return masks


def _masks_of(space: ConceptSpace) -> Callable[..., Float[np.ndarray, "n side side"]]:
    """Return what draws the masks of a space's pictures."""
    return published_masks if isinstance(space, PublishedTriangleSpace) else shape_masks


@door
def pixel_distances(
    space: ConceptSpace, side: int = 32, *, blur: Real | None = None
) -> pd.DataFrame:
    """Return the pixel distances of the pictures of class means, centred and without noise.

    Parameters
    ----------
    space : ConceptSpace
    side : int, default 32
        Pixels to a side.
    blur : float, keyword-only, default None
        As in `render_shapes`.

    Returns
    -------
    pandas.DataFrame
        A row for each pair of classes: first, second, distance (in how many concepts they
        differ), concepts (which) and mse, the mean squared difference over pixels and channels.

    Examples
    --------
    >>> from partwhole.tasks import circles
    >>> from partwhole.tasks.shapes.sensitivity import pixel_distances
    >>> table = pixel_distances(circles(0.358))
    >>> table[table.distance == 1].drop(columns="distance").round(6)
                  first             second concepts       mse
    0    red big circle   red small circle     size  0.050341
    1    red big circle    blue big circle   colour  0.023437
    4  red small circle  blue small circle   colour  0.003179
    5   blue big circle  blue small circle     size  0.050341
    """
    import pandas as pd

    means = space.mean_attributes()
    images = mixed(means, _masks_of(space)(means, side, blur=blur))
    graph = concept_graph(space)
    rows = []
    for first in range(space.n_classes):
        for second in range(first + 1, space.n_classes):
            differing = np.flatnonzero(space.classes[first] != space.classes[second])
            rows.append(
                (
                    space.label(first), space.label(second), int(graph.distances[first, second]),
                    " + ".join(space.names[c] for c in differing),
                    float(np.mean((images[first] - images[second]) ** 2)),
                )
            )  # fmt: skip
    return pd.DataFrame(rows, columns=["first", "second", "distance", "concepts", "mse"])
