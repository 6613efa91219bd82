"""The renderer against a pixel-by-pixel drawing, SciPy's filter and the published numbers."""

from __future__ import annotations

import tracemalloc
from inspect import unwrap

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from partwhole._checks import InputError
from partwhole.tasks import circles
from partwhole.tasks.shapes import renderer as module
from partwhole.tasks.shapes.attributes import ShapeAttributes
from partwhole.tasks.shapes.renderer import clean_images, render_shapes, shape_masks
from partwhole.tasks.shapes.sensitivity import pixel_distances


def some(n=7, seed=0, kind=None) -> ShapeAttributes:
    rng = np.random.default_rng(seed)
    return ShapeAttributes(
        kind=rng.integers(0, 2, n) if kind is None else np.full(n, kind),
        position=rng.uniform(-0.5, 0.5, (n, 2)),
        colour=rng.random((n, 3)),
        size=rng.uniform(0.1, 0.8, n),
        background=rng.random((n, 3)),
    )


def drawn_by_pixel(one: ShapeAttributes, side: int) -> np.ndarray:
    """Ask of each grid point of each shape whether it is inside, by distance or by corners."""
    points = np.linspace(-1.0, 1.0, side)
    masks = np.zeros((len(one), side, side))
    for i in range(len(one)):
        area = np.pi * one.size[i] ** 2
        reach = np.sqrt(4.0 * area / np.sqrt(3.0)) / np.sqrt(3.0)  # centre to corner
        turns = np.pi + 2.0 * np.pi * np.arange(3) / 3.0  # the first corner lies above
        corners = one.position[i] + reach * np.stack([np.cos(turns), np.sin(turns)], axis=1)
        for r, x in enumerate(points):
            for c, y in enumerate(points):
                p = np.array([x, y])
                if one.kind[i] == 0:
                    masks[i, r, c] = np.hypot(*(p - one.position[i])) < one.size[i]
                else:
                    edges = np.roll(corners, -1, axis=0) - corners
                    turned = edges[:, 0] * (p - corners)[:, 1] - edges[:, 1] * (p - corners)[:, 0]
                    masks[i, r, c] = (turned > 0).all() or (turned < 0).all()
    return masks


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("side", [8, 17, 32])
def test_masks_are_those_of_single_pixels(kind, side):
    one = some(5, seed=side, kind=kind)
    np.testing.assert_array_equal(shape_masks(one, side, blur=0), drawn_by_pixel(one, side))


@pytest.mark.parametrize("blur", [None, 0.3, 2.5])
@pytest.mark.parametrize("side", [8, 32])
def test_blur_is_the_filter_of_scipy(blur, side):
    one = some()
    deviation = side / 32 if blur is None else blur
    for hard, found in zip(
        shape_masks(one, side, blur=0), shape_masks(one, side, blur=blur), strict=True
    ):
        expected = gaussian_filter(hard, deviation, mode="reflect", truncate=4.0)
        np.testing.assert_allclose(found, expected, atol=1e-14)  # rounding


def test_published_pixels_and_peak():
    means = circles().mean_attributes()
    hard, blurred = shape_masks(means, 32, blur=0), shape_masks(means, 32)
    assert hard.sum(axis=(1, 2)).tolist() == [316, 52, 316, 52]
    np.testing.assert_allclose(blurred.sum(axis=(1, 2)), [316, 52, 316, 52], atol=1e-2)
    assert blurred[1].max() == pytest.approx(0.99918, abs=5e-6)


@pytest.mark.parametrize(
    ("separation", "small", "big", "size"),
    [
        (0.100, 0.000248, 0.001829, 0.036917),
        (0.137, 0.000466, 0.003432, 0.038413),
        (0.247, 0.001513, 0.011157, 0.043709),
        (0.358, 0.003179, 0.023437, 0.050341),
        (0.468, 0.005433, 0.040053, 0.058190),
        (0.579, 0.008316, 0.061306, 0.067397),
        (0.689, 0.011776, 0.086812, 0.077797),
        (0.800, 0.015876, 0.117037, 0.089580),
    ],
)
def test_published_pixel_distances(separation, small, big, size):
    table = pixel_distances(circles(separation))
    found = {(row.first, row.second): row.mse for row in table.itertuples()}
    red, blue = ("red {} circle", "blue {} circle")
    for pair, expected in (
        ((red.format("small"), blue.format("small")), small),
        ((red.format("big"), blue.format("big")), big),
        ((red.format("big"), red.format("small")), size),
        ((blue.format("big"), blue.format("small")), size),
    ):
        assert found[pair] == pytest.approx(expected, abs=2e-6)  # the stated tolerance


def test_triangles_have_the_circles_area_and_point_up():
    one = ShapeAttributes(
        kind=np.array([0, 1]), position=np.zeros((2, 2)), colour=np.ones((2, 3)),
        size=np.full(2, 0.5), background=np.zeros((2, 3)),
    )  # fmt: skip
    round_one, angular = shape_masks(one, 400, blur=0)
    # Counting pixels errs by a part of the edge's: 4 pixels to a hundred of the radius.
    assert angular.sum() == pytest.approx(round_one.sum(), rel=0.01)
    rows = np.flatnonzero(angular.any(axis=1))
    width = angular.sum(axis=1)[rows]
    assert width[0] < width[-1]
    assert (np.diff(width) >= 0).all()


def test_x_runs_along_the_rows():
    one = ShapeAttributes(
        kind=np.array([0]), position=np.array([[0.5, -0.5]]), colour=np.ones((1, 3)),
        size=np.array([0.2]), background=np.zeros((1, 3)),
    )  # fmt: skip
    (mask,) = shape_masks(one, 33)
    assert np.unravel_index(mask.argmax(), mask.shape) == pytest.approx((24, 8), abs=3)
    weights = mask / mask.sum()
    assert weights.sum(axis=1) @ np.linspace(-1, 1, 33) == pytest.approx(0.5, abs=1e-9)
    assert weights.sum(axis=0) @ np.linspace(-1, 1, 33) == pytest.approx(-0.5, abs=1e-9)


def test_colours_are_mixed_by_the_mask():
    one = some()
    masks = shape_masks(one, 16)
    expected = np.einsum("nij,nc->nijc", masks, one.colour)
    expected += np.einsum("nij,nc->nijc", 1.0 - masks, one.background)
    np.testing.assert_allclose(clean_images(one, 16), expected, atol=1e-14)
    drawn = render_shapes(one, 16, noise=0.0, seed=0)
    assert drawn.dtype == np.float32
    np.testing.assert_allclose(drawn, expected, atol=3e-7)  # single precision


def test_noise_is_normal_and_cut_off():
    one = some(40, seed=3)
    noise = 0.01
    inner = (clean_images(one, 16) > 0.05) & (clean_images(one, 16) < 0.95)
    off = (render_shapes(one, 16, noise=noise, seed=1) - clean_images(one, 16))[inner] / noise
    # 4 standard errors of mean, variance and share beyond two deviations.
    n = off.size
    assert n > 20_000
    assert abs(off.mean()) < 4 / np.sqrt(n)
    assert abs(off.var() - 1) < 4 * np.sqrt(2 / n)
    assert abs((np.abs(off) > 2).mean() - 0.0455) < 4 * np.sqrt(0.0455 / n)
    loud = render_shapes(one, 16, noise=2.0, seed=1)
    assert (loud.min(), loud.max()) == (0.0, 1.0)


def test_seeds_and_turns(monkeypatch):
    one = some(9)
    found = render_shapes(one, 16, seed=4)
    np.testing.assert_array_equal(found[:4], render_shapes(one.take(slice(4)), 16, seed=4))
    assert not np.array_equal(found, render_shapes(one, 16, seed=5))
    monkeypatch.setattr(module, "AT_ONCE", 2 * 16**2)
    np.testing.assert_array_equal(found, render_shapes(one, 16, seed=4))


def test_memory_is_that_of_the_pictures():
    one = some(4000)
    tracemalloc.start()
    images = render_shapes(one, 32, seed=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < images.nbytes + 10 * 2**20


def test_attributes_are_taken_and_encoded():
    one = some()
    part = one.take(np.array([5, 0]))
    assert len(part) == 2
    np.testing.assert_array_equal(part.encoded(), one.encoded()[[5, 0]])
    assert one.encoded()[2].tolist() == [
        *np.eye(2)[one.kind[2]], *one.position[2], *one.colour[2], one.size[2], *one.background[2],
    ]  # fmt: skip


def changed(**columns):
    one = some(2)
    names = ("kind", "position", "colour", "size", "background")
    given = {name: getattr(one, name) for name in names} | columns
    return unwrap(ShapeAttributes.__init__)(object.__new__(ShapeAttributes), **given)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"size": np.array([0.5])}, r"size has a row for each of the 2 shapes, \(2,\); got shape"),
        ({"kind": np.array([0, 2])}, r"a kind is 0, a circle, or 1, a triangle; got \[2\]; number"),
        ({"size": np.array([0.0, 0.5])}, r"size lies in 0\.\.1, above 0; got 0\.0; positions"),
        ({"colour": np.full((2, 3), 1.5)}, r"colour lies in 0\.\.1; got 1\.5; positions"),
        ({"position": np.full((2, 2), np.nan)}, r"position lies in -1\.\.1; got nan; positions"),
    ],
)
def test_unfit_attributes_are_refused(columns, sentence):
    with pytest.raises(InputError, match=sentence):
        changed(**columns)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"side": 3},
            "side is a whole number of at least 4; got 3; shapes cannot",
        ),
        (
            {"blur": -1.0},
            "blur is a standard deviation in pixels, from 0 to the side of the image; got -1.0 ",
        ),
        (
            {"noise": -1.0},
            "noise is a finite number from 0 to 1e.06; got -1.0; pass a number from 0",
        ),
        ({"seed": -1}, "seed is a whole number of at least 0; got -1; pass a whole number"),
    ],
)
def test_unfit_options_are_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        render_shapes(some(), **({"side": 8, "seed": 0} | options))
