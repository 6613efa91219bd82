"""Published triangles against their corners: counted area, direction, and what else stays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import dblquad

from partwhole.tasks import circles
from partwhole.tasks.shapes import triangles as module
from partwhole.tasks.shapes.attributes import ShapeAttributes
from partwhole.tasks.shapes.renderer import shape_masks
from partwhole.tasks.shapes.sensitivity import concept_signal, pixel_distances, smooth_masks
from partwhole.tasks.shapes.splits import leave_out
from partwhole.tasks.shapes.triangles import published_masks, published_triangles

SPACE = circles(0.6, shapes=("circle", "triangle"))
PUBLISHED = published_triangles(SPACE)


def attributes(kind, size, position=(0.0, 0.0)) -> ShapeAttributes:
    n = len(kind)
    return ShapeAttributes(
        kind=np.array(kind), position=np.tile(np.array(position, float), (n, 1)),
        colour=np.ones((n, 3)), size=np.full(n, size), background=np.zeros((n, 3)),
    )  # fmt: skip


def corners(position, size):
    """Return base and tip: the side of the equilateral triangle of a circle's area, and its foot.

    In rows and columns. The base lies to the left, by the radius of the circle inside that
    equilateral triangle; the triangle is as high as its base is long.
    """
    side = np.sqrt(np.pi * size**2 / (np.sqrt(3.0) / 4.0))
    x, y = position
    left = y - side / (2.0 * np.sqrt(3.0))
    return np.array([[x - side / 2, left], [x + side / 2, left], [x, left + side]])


def is_inside(points: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Return which points lie on one side of all three edges."""
    edges = np.roll(of, -1, axis=0) - of
    away = points[..., None, :] - of
    turned = edges[:, 0] * away[..., 1] - edges[:, 1] * away[..., 0]
    return (turned > 0).all(axis=-1) | (turned < 0).all(axis=-1)


@pytest.mark.parametrize("side", [8, 17, 32])
def test_masks_are_those_of_corners(side):
    rng = np.random.default_rng(side)
    pixels = np.stack(np.meshgrid(*[np.linspace(-1, 1, side)] * 2, indexing="ij"), axis=-1)
    for _ in range(8):
        position, size = rng.uniform(-0.5, 0.5, 2), rng.uniform(0.1, 0.8)
        (found,) = published_masks(attributes([1], size, position), side, blur=0)
        np.testing.assert_array_equal(found, is_inside(pixels, corners(position, size)))


def test_area_is_fifteen_percent_above_the_circles():
    both = attributes([0, 1], 0.4)
    circle, published = published_masks(both, 401, blur=0).sum(axis=(1, 2))
    # Counting errs by a part of the edge's pixels, here about 1 to 100 of the area.
    assert published / circle == pytest.approx(2.0 / np.sqrt(3.0), rel=0.01)
    assert shape_masks(both, 401, blur=0)[1].sum() / circle == pytest.approx(1.0, rel=0.01)
    # With base b and height h counted: b h / 2, base = height.
    (mask,) = published_masks(both.take([1]), 401, blur=0)
    height, base = (np.ptp(np.flatnonzero(mask.any(axis=axis))) / 200 for axis in (0, 1))
    assert base == pytest.approx(height, abs=0.02)
    assert height == pytest.approx(np.sqrt(4.0 * np.pi / np.sqrt(3.0)) * 0.4, abs=0.02)


def test_direction_is_along_the_columns():
    (published,) = published_masks(attributes([1], 0.4, (0.1, -0.1)), 401, blur=0)
    (equilateral,) = shape_masks(attributes([1], 0.4, (0.1, -0.1)), 401, blur=0)
    points = np.linspace(-1, 1, 401)

    def reach(mask, axis):
        """Return how far a shape reaches on both sides of its centroid, along an axis."""
        weights = mask.sum(axis=1 - axis)
        centroid, where = weights @ points / weights.sum(), points[weights > 0]
        return centroid - where[0], where[-1] - centroid

    # The tip is twice as far from the centroid as the base is; sideways both ends are.
    left, right = reach(published, 1)
    assert right / left == pytest.approx(2.0, rel=0.02)
    assert np.divide(*reach(published, 0)) == pytest.approx(1.0, rel=0.02)
    up, down = reach(equilateral, 0)
    assert up / down == pytest.approx(2.0, rel=0.02)
    # The place of a published triangle is not its centroid, that of an equilateral one is.
    for mask, expected in ((equilateral, (0.1, -0.1)), (published, (0.1, -0.1 + 0.12 * 0.4))):
        centroid = [mask.sum(axis=1 - axis) @ points / mask.sum() for axis in (0, 1)]
        np.testing.assert_allclose(centroid, expected, atol=0.003)


@pytest.mark.parametrize("blur", [None, 0.0, 2.5])
def test_circles_are_those_of_the_renderer(blur):
    rng = np.random.default_rng(0)
    some = attributes([0] * 5, 0.4, rng.uniform(-0.5, 0.5, 2))
    found, expected = (draw(some, 16, blur=blur) for draw in (published_masks, shape_masks))
    np.testing.assert_allclose(found, expected, atol=1e-14)  # rounding


def test_blurred_masks_are_integrals():
    size, x, y, side = 0.3, 0.13, -0.22, 16
    one = attributes([1], size, (x, y))
    (found,) = smooth_masks(one, side, published=True)
    points, s = np.linspace(-1, 1, side), side / 32 * 2 / (side - 1)
    base, _, tip = corners((0.0, 0.0), size)
    half = lambda v: 0.5 * (tip[1] - v)  # noqa: E731
    for r, c in ((8, 6), (10, 5), (5, 7)):

        def kernel(u, v, at=(points[r] - x, points[c] - y)):
            return np.exp(-0.5 * ((u - at[0]) ** 2 + (v - at[1]) ** 2) / s**2) / (2 * np.pi * s**2)

        expected, _ = dblquad(kernel, base[1], tip[1], lambda v: -half(v), half, epsabs=1e-9)
        assert found[r, c] == pytest.approx(expected, abs=1e-7)
    # Every 32nd point of a grid 32 times as fine, with the same blur in grid units.
    (fine,) = published_masks(one, 32 * (side - 1) + 1, blur=32 * side / 32)
    np.testing.assert_allclose(fine[::32, ::32], found, atol=0.01)


def test_samples_differ_in_triangles_alone(monkeypatch):
    usual, published = (space.sample(5, seed=3, side=16) for space in (SPACE, PUBLISHED))
    is_angular = usual.has("triangle")
    np.testing.assert_array_equal(usual.images[~is_angular], published.images[~is_angular])
    assert (usual.images[is_angular] != published.images[is_angular]).any(axis=(1, 2, 3)).all()
    np.testing.assert_array_equal(usual.attributes.encoded(), published.attributes.encoded())
    np.testing.assert_array_equal(usual.conditions(), published.conditions())
    # With the same noise: where pictures are clean but for it, and not cut off.
    clean = [space.sample(5, seed=3, side=16, noise=0.0) for space in (SPACE, PUBLISHED)]
    inner = np.all([(np.abs(part.images - 0.5) < 0.45) for part in clean], axis=0)
    noise = [part.images - of.images for part, of in zip((usual, published), clean, strict=True)]
    np.testing.assert_allclose(noise[0][inner], noise[1][inner], atol=2e-7)  # single precision
    assert np.std(noise[1][inner]) == pytest.approx(1e-3, rel=0.05)
    monkeypatch.setattr(module, "AT_ONCE", 2 * 16**2)
    np.testing.assert_array_equal(published.images, PUBLISHED.sample(5, seed=3, side=16).images)


def test_pictures_mix_the_colours():
    clean = PUBLISHED.sample(2, seed=1, side=16, noise=0.0, is_train=leave_out(SPACE, "circle"))
    of = clean.attributes
    masks = published_masks(of, 16)
    expected = np.einsum("nij,nc->nijc", masks, of.colour)
    expected += np.einsum("nij,nc->nijc", 1.0 - masks, of.background)
    np.testing.assert_allclose(clean.images, expected, atol=3e-7)  # single precision
    assert clean.split(0.5, seed=0)[1].space == PUBLISHED


def test_the_space_says_which_triangles_it_has():
    assert PUBLISHED != SPACE
    assert published_triangles(PUBLISHED) == PUBLISHED
    assert PUBLISHED.names == SPACE.names
    assert PUBLISHED.describe().splitlines()[:-1] == SPACE.describe().splitlines()
    assert PUBLISHED.describe().endswith(
        "triangles: published, base = height, 1.155 of the circle's area, pointing right"
    )


def test_distances_and_signals_are_of_these_triangles():
    means, side = SPACE.mean_attributes(), 16
    usual, table = (pixel_distances(space, side) for space in (SPACE, PUBLISHED))
    masks = published_masks(means, side)
    for row in table[table.distance == 1].itertuples():
        first, second = (PUBLISHED.index(label) for label in (row.first, row.second))
        pictures = [
            masks[k][..., None] * means.colour[k] + (1 - masks[k][..., None]) * means.background[k]
            for k in (first, second)
        ]
        assert row.mse == pytest.approx(np.mean((pictures[0] - pictures[1]) ** 2), rel=1e-9)
    is_round = ~(table["first"] + table["second"]).str.contains("triangle")
    np.testing.assert_allclose(usual.mse[is_round], table.mse[is_round], rtol=1e-9)
    assert (abs(usual.mse[~is_round] / table.mse[~is_round] - 1) > 1e-3).all()
    signals = concept_signal(PUBLISHED, side).set_index(["concept", "at"]).signal
    colours = table[table.concepts == "colour"].set_index("first").mse
    np.testing.assert_allclose(
        [signals["colour", at] ** 2 for at in colours.index], colours, rtol=1e-9
    )
    # The size's signal is the limit of differences of finely drawn pictures.
    at, step, fine = PUBLISHED.index("triangle red small"), 0.05, 64 * (side - 1) + 1
    towards = SPACE.mean_attributes([PUBLISHED.index("triangle red big")]).size[0]
    size = means.size[at]
    ahead, behind = (
        published_masks(attributes([1], size + sign * step * (towards - size)), fine, blur=32.0)
        for sign in (1, -1)
    )
    change = (ahead - behind)[0, ::64, ::64, None] / (2 * step)
    expected = np.sqrt(np.mean((change * (means.colour[at] - means.background[at])) ** 2))
    assert signals["size", "triangle red small"] == pytest.approx(expected, rel=0.03)
