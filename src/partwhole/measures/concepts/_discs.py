"""A disc blurred by a Gaussian: its profile, its slopes, and the search for the best one."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy.special import i0e, i1e

# In blurs: further than EDGE from the rim a pixel is in or out; at LARGE it is all but straight.
EDGE, LARGE, STEP = 6.0, 16.0, 0.05


def disc_mask(
    distance: Float[np.ndarray, "n p"], radius: Float[np.ndarray, " n"], blur: float
) -> Float[np.ndarray, "n p"]:
    r"""Return blurred discs at distances from their centres, all in one unit of length.

    With :math:`v = d / s` and :math:`u = \rho / s` for a blur of deviation s,

    .. math:: m(v, u) = \int_0^u t \, e^{-(t^2 + v^2)/2} I_0(t v) \, dt.
    """
    u, v = np.broadcast_arrays((radius / blur)[:, None], distance / blur)
    # The mask is one half at about v = u - 1 / (2 u), so a large disc's profile only moves.
    bend = 0.5 / np.maximum(u, LARGE) - 0.5 / LARGE
    rim = np.clip(v - u + bend, -EDGE, EDGE)
    place = np.stack([np.minimum(u, LARGE) / STEP, (rim + EDGE) / STEP])
    from scipy.ndimage import map_coordinates

    return map_coordinates(_profile(), place, order=1, mode="nearest")


def disc_slopes(
    distance: Float[np.ndarray, "n p"], radius: Float[np.ndarray, " n"], blur: float
) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, "n p"]]:
    r"""Return what the mask changes by with the radius and with the distance.

    .. math::
        \partial_u m = u \, e^{-(u-v)^2/2} \bar I_0(uv), \qquad
        \partial_v m = -u \, e^{-(u-v)^2/2} \bar I_1(uv)

    with the exponentially scaled Bessel functions.
    """
    u, v = np.broadcast_arrays((radius / blur)[:, None], distance / blur)
    at_edge = np.abs(v - u) < EDGE
    slope = u[at_edge] / blur * np.exp(-0.5 * (v - u)[at_edge] ** 2)
    by_radius, by_distance = np.zeros_like(v), np.zeros_like(v)
    by_radius[at_edge] = slope * i0e((u * v)[at_edge])
    by_distance[at_edge] = -slope * i1e((u * v)[at_edge])
    return by_radius, by_distance


@lru_cache(maxsize=1)
def _profile() -> Float[np.ndarray, "u w"]:
    """Tabulate the mask by its radius u and the signed distance w = v - u from the rim."""
    u = np.arange(0.0, LARGE + STEP / 2, STEP)[:, None]
    v = np.arange(0.0, LARGE + EDGE + STEP / 2, STEP)
    density = u * np.exp(-0.5 * (u - v) ** 2) * i0e(u * v)
    from scipy.integrate import cumulative_trapezoid

    table = np.clip(cumulative_trapezoid(density, dx=STEP, axis=0, initial=0.0), 0.0, 1.0)
    # One step in both, so that v = u + w is a point of the grid; below 0 there is no distance.
    offsets = np.arange(round(2 * EDGE / STEP) + 1) - round(EDGE / STEP)
    column = np.maximum(np.arange(len(u))[:, None] + offsets, 0)
    return np.take_along_axis(table, column, axis=1)


@lru_cache(maxsize=4)
def disc_templates(
    side: int, blur: float, min_radius: float, max_radius: float
) -> tuple[Float[np.ndarray, "k 3"], Float[np.ndarray, "k p"]]:
    """Return discs of many radii and centres, in pixels, and their masks centred and of norm 1.

    Radii grow by half, and centres are half a radius apart but not less than a pixel, so that
    one of the discs covers most of any disc within the bounds.
    """
    intervals = max(1, round(np.log(max_radius / min_radius) / np.log(1.5)))
    radii = np.geomspace(min_radius, max_radius, intervals + 1)
    visible, templates = [], []
    for radius in radii:
        n = max(3, int(np.ceil((side - 1) / max(1.0, 0.5 * radius))) + 1)
        line = np.linspace(0.0, side - 1.0, n)
        x, y = np.meshgrid(line, line, indexing="ij")
        discs = np.stack([x.ravel(), y.ravel(), np.full(n * n, radius)], axis=1)
        mask = disc_mask(distances(discs, side)[0], discs[:, 2], blur)
        mask -= mask.mean(axis=1, keepdims=True)
        norm = np.sqrt(np.einsum("kp,kp->k", mask, mask))
        # A disc that covers all of the image, or none of it, is not seen.
        seen = norm > 0.3
        visible.append(discs[seen])
        templates.append((mask[seen] / norm[seen, None]).astype(np.float32))
    return np.concatenate(visible), np.concatenate(templates)


def distances(
    discs: Float[np.ndarray, "n 3"], side: int
) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, "n 2 p"]]:
    """Return every pixel's distance from each disc's centre, and the offset from it."""
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij")).reshape(2, -1)
    offset = grid[None] - discs[:, :2, None]
    return np.sqrt((offset**2).sum(axis=1)), offset
