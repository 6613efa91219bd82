"""The analytic decoder on discs drawn here, whose truth is known."""

from __future__ import annotations

from inspect import unwrap

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.special import chndtr

from partwhole._checks import InputError
from partwhole.measures.concepts import calibration, decode_shapes
from partwhole.measures.concepts._discs import disc_mask, disc_slopes
from partwhole.measures.concepts.coordinates import between

NOISE = 0.08  # what generated images keep


def discs(n, side, colour, size, *, seed, noise=NOISE, jitter=0.0, place=0.5):
    """Draw blurred discs of about one colour and size; return images and their truth."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(-1.0, 1.0, side)
    position = rng.uniform(-place, place, (n, 2))
    colour = np.asarray(colour) + jitter * rng.uniform(-1, 1, (n, 3))
    size = np.full(n, size) + jitter * rng.uniform(-1, 1, n)
    background = rng.uniform(0.8, 1.0, (n, 3))
    row, column = ((grid - position[:, i, None]) ** 2 for i in (0, 1))
    inside = (row[:, :, None] + column[:, None, :] < size[:, None, None] ** 2).astype(float)
    mask = gaussian_filter(inside, (0, side / 32, side / 32))[..., None]
    images = mask * colour[:, None, None] + (1 - mask) * background[:, None, None]
    images += noise * rng.standard_normal(images.shape)
    return images, position, colour, size, background


def two_colours(separation):
    half = separation / 2
    return (0.5 + half, 0.5 - half, 0.5 - half), (0.5 - half, 0.5 - half, 0.5 + half)


def root_mean_square(error):
    return float(np.sqrt((error**2).mean()))


def test_the_blurred_disc_is_the_law_of_a_distance():
    # The blurred mask is the probability that a normal point around the pixel is in the disc,
    # whose squared distance follows a noncentral chi-square law.
    distance, radius = np.linspace(0.0, 30.0, 301), np.array([0.3, 1.5, 4.0, 9.0])
    given = np.broadcast_to(distance, (4, 301)).copy()
    exact = chndtr((radius[:, None] / 0.5) ** 2, 2.0, (given / 0.5) ** 2)
    # A table with steps of .05 in both directions: a quarter of the square, times curvatures < 1.
    np.testing.assert_allclose(disc_mask(given, radius, 0.5), exact, atol=6e-4)
    by_radius, by_distance = disc_slopes(given, radius, 0.5)
    step = 1e-4

    def change(dr, dd):
        return chndtr(((radius[:, None] + dr) / 0.5) ** 2, 2.0, ((given + dd) / 0.5) ** 2)

    # Central differences of the exact law, whose own error is the square of the step.
    np.testing.assert_allclose(
        by_radius, (change(step, 0) - change(-step, 0)) / (2 * step), atol=1e-6
    )
    found = (change(0, step) - change(0, -step))[:, 1:] / (2 * step)
    np.testing.assert_allclose(by_distance[:, 1:], found, atol=1e-6)


# Root mean squares allowed: pixel size is .13 at side 16 and .065 at 32; the hard rim of a drawn
# disc moves its best radius by a tenth of a pixel, noise adds to it.
@pytest.mark.parametrize(
    ("side", "size", "noise", "radius_error", "colour_error"),
    [
        (32, 0.65, 1e-3, 0.008, 0.003),
        (32, 0.25, 1e-3, 0.008, 0.015),
        (32, 0.65, NOISE, 0.008, 0.012),
        (32, 0.25, NOISE, 0.012, 0.06),
        (16, 0.65, NOISE, 0.016, 0.03),
        (16, 0.25, NOISE, 0.03, 0.15),
        (64, 0.25, NOISE, 0.006, 0.03),
        (8, 0.65, NOISE, 0.05, 0.08),
    ],
)
def test_it_recovers_what_was_drawn(side, size, noise, radius_error, colour_error):
    n = 40
    images, position, colour, sizes, background = discs(
        n, side, (0.3, 0.4, 0.7), size, seed=side, noise=noise, jitter=0.04
    )
    before = images.copy()
    found = decode_shapes(images)
    np.testing.assert_array_equal(images, before)
    assert found.is_shape.all()
    assert root_mean_square(found.size - sizes) < radius_error
    assert root_mean_square(found.position - position) < 1.5 * radius_error
    assert root_mean_square(found.colour - colour) < colour_error
    # Almost all pixels are background: noise over the root of their number, and the rim.
    assert root_mean_square(found.background - background) < 0.001 + 0.15 / side
    np.testing.assert_allclose(found.area, np.pi * found.size**2 / 4)
    if side >= 16 and noise == NOISE:
        # Read off by a median of 3 (side - 2)^2 second differences, some at the rim.
        assert found.noise.mean() == pytest.approx(noise, rel=0.1)


@pytest.mark.parametrize("side", [16, 32])
@pytest.mark.parametrize("separation", [0.137, 0.247, 0.8])
def test_it_tells_the_published_classes_apart(side, separation):
    colours = two_colours(separation)
    images, truth = [], []
    for c, colour in enumerate(colours):
        for s, size in enumerate((0.65, 0.25)):
            images.append(discs(15, side, colour, size, seed=10 * c + s)[0])
            truth += [[c, s]] * 15
    values = {"colour": colours, "size": (0.65, 0.25)}
    found = decode_shapes(np.concatenate(images))
    coordinates = found.coordinates(values, unsure=np.nan)
    told = calibration(coordinates, np.array(truth))
    # Of 600 drawn likewise none was wrong.
    assert told.accuracy.tolist() == [1.0, 1.0]
    assert told.abstained.tolist() == [0.0, 0.0]
    logistic = calibration(found.coordinates(values, law="logistic"), np.array(truth))
    assert (logistic.brier <= told.brier).all()


def test_it_abstains_where_there_is_not_one_shape():
    side, rng = 32, np.random.default_rng(0)
    white = rng.standard_normal((8, side, side, 3))
    blobs = gaussian_filter(rng.standard_normal((8, side, side, 3)), (0, 4, 4, 0))
    blobs = 0.5 + 0.2 * blobs / blobs.std(axis=(1, 2, 3), keepdims=True)
    first = discs(8, side, (0.7, 0.3, 0.3), 0.35, seed=1, noise=0, place=0)[0]
    second = np.roll(discs(8, side, (0.2, 0.2, 0.8), 0.35, seed=2, noise=0, place=0)[0], 12, 1)
    apart = np.roll(first, -12, axis=1)
    two = np.where((second < 0.79).any(-1, keepdims=True), second, apart) + NOISE * white
    edge = np.where(np.arange(side)[:, None, None] < side // 2, 0.2, 0.9) + NOISE * white
    for images in (0.5 + 0.3 * white, 0.9 + NOISE * white, blobs, two, edge):
        found = decode_shapes(images)
        assert not found.is_shape.any()
        assert found.abstained == 1.0
        assert not found.confidence.any()
        assert np.isnan(found.coordinates({"size": (0.65, 0.25)})).all()
    assert not decode_shapes(np.full((1, 16, 16, 3), 0.4)).is_shape.any()
    # An even change of brightness is like the edge of a disc as large as can be.
    slope = np.linspace(0.2, 0.9, 16)[:, None, None] + NOISE * white[:, :16, :16]
    assert decode_shapes(slope).is_shape.sum() <= 1
    # Noise explains what it is told to explain, and nothing stands out from this much of it.
    one = discs(8, side, (0.3, 0.3, 0.7), 0.25, seed=3)[0]
    assert decode_shapes(one, noise=NOISE).is_shape.all()
    assert not decode_shapes(one, noise=1e-3).is_shape.any()
    assert not decode_shapes(one, noise=2.0).is_shape.any()


def test_nothing_near_the_fit_is_nearer_to_the_image():
    images, *_ = discs(4, 32, (0.3, 0.4, 0.7), 0.4, seed=6)
    found = decode_shapes(images)
    assert (found.colour > 0).all()
    assert (found.colour < 1).all()
    rows, columns = np.meshgrid(np.arange(32), np.arange(32), indexing="ij")

    def loss(image, row, column, radius):
        distance = np.hypot(rows - row, columns - column).reshape(1, -1)
        mask = disc_mask(distance, np.array([radius]), 1.0)[0]
        design = np.stack([mask, 1 - mask], axis=1)
        left = image.reshape(-1, 3) - design @ np.linalg.lstsq(design, image.reshape(-1, 3))[0]
        return (left**2).sum()

    for image, place, size in zip(images, found.position, found.size, strict=True):
        best = np.array([*(place + 1), size]) * 31 / 2
        least = loss(image, *best)
        # Steps of a fiftieth of a pixel; the fit ended at steps of a thousandth.
        for way in np.concatenate([np.eye(3), -np.eye(3)]):
            assert loss(image, *(best + 0.02 * way)) > least


def test_a_disc_of_a_pixel_keeps_a_colour_that_can_be():
    images, position, *_ = discs(40, 16, (0.3, 0.3, 0.7), 0.11, seed=7)
    found = decode_shapes(images)
    assert ((found.colour >= 0) & (found.colour <= 1)).all()
    assert (found.size >= 0.05).all()
    # Noise has a better disc elsewhere in some.
    seen = found.is_shape
    assert seen.mean() > 0.4
    assert root_mean_square(found.position[seen] - position[seen]) < 0.1


def test_leading_axes_and_rows_before_columns():
    images, position, *_ = discs(6, 16, (0.3, 0.3, 0.7), 0.4, seed=4, noise=0.01)
    flat = decode_shapes(images)
    np.testing.assert_array_equal(flat.confidence, flat.explained)
    found = decode_shapes(images.reshape(2, 3, 16, 16, 3))
    np.testing.assert_array_equal(found.position.reshape(6, 2), flat.position)
    assert found.size.shape == (2, 3)
    assert found.coordinates({"size": (0.5, 0.3), "position": ((-1, 0), (1, 0))}).shape == (2, 3, 2)
    turned = decode_shapes(images.swapaxes(1, 2))
    # The search breaks ties between centres by their order, the steps end within 1e-3 pixels.
    np.testing.assert_allclose(turned.position, flat.position[:, ::-1], atol=2e-3)
    assert flat.to_frame().shape == (6, 13)
    alone = decode_shapes(images[0])
    assert alone.is_shape.shape == ()
    assert len(alone.to_frame()) == 1
    np.testing.assert_allclose(alone.position, position[0], atol=0.02)  # .15 of a pixel


def test_the_place_between_two_values():
    rng = np.random.default_rng(0)
    first, second = rng.uniform(size=(2, 3))
    shares = np.array([-0.5, 0.0, 0.3, 0.5, 1.0, 1.7])
    points = first + shares[:, None] * (second - first)
    # What is at right angles to the way between the means does not count.
    aside = np.cross(second - first, [1.0, 0.0, 0.0])
    found = between(points + 0.2 * aside, first, second)
    np.testing.assert_allclose(found, np.clip(shares, 0, 1), atol=1e-12)
    np.testing.assert_allclose(between(points, second, first), 1 - found, atol=1e-12)
    logistic = between(points, first, second, law="logistic", spread=0.5)
    # Bayes' rule for two equally frequent normal laws about 0 and 1.
    densities = np.exp(-0.5 * (shares - np.array([[0.0], [1.0]])) ** 2 / 0.5**2)
    np.testing.assert_allclose(logistic, densities[1] / densities.sum(axis=0), rtol=1e-9)


def test_refusals_say_rule_got_and_remedy():
    image = np.full((16, 16, 3), 0.5)
    found = decode_shapes(image)
    bare, open_between = unwrap(decode_shapes), unwrap(between)
    cases = [
        (lambda: bare(np.zeros((16, 12, 3))), r"equal width .*; got shape \(16, 12, 3\); move"),
        (lambda: bare(np.zeros((16, 16, 1))), r"3 channels .*; got shape \(16, 16, 1\); move"),
        (lambda: decode_shapes(np.zeros((4, 4, 3))), "sides are of 8 pixels or more; got 4; ren"),
        (lambda: decode_shapes(np.zeros((0, 8, 8, 3))), r"there is an image to decode; got shape"),
        (lambda: decode_shapes(np.full((8, 8, 3), np.nan)), "got 192 that are NaN, the first at "),
        (lambda: bare(np.ones((8, 8, 3), np.uint8)), "fractions of 0..1; got uint8; divide levels"),
        (lambda: decode_shapes(image, sizes=(0.5, 0.1)), r"least radius above 0 and a larger one"),
        (
            lambda: decode_shapes(image, blur=0),
            "blur is None or a deviation above 0, at most ",
        ),
        (lambda: decode_shapes(image, noise=-1.0), "noise is None or a deviation above 0, at most"),
        (lambda: decode_shapes(image, least_explained=2), "explained is .* from 0 to 1; got 2;"),
        (lambda: found.coordinates({}), "name one concept or more; got none; pass"),
        (lambda: found.coordinates({"hue": (0, 1)}), r"among colour, size, .*; got \['hue'\]; re"),
        (lambda: found.coordinates({"size": (0, 1)}, unsure=2), "NaN or in 0..1; got 2; use 0.5"),
        (lambda: open_between(np.zeros((2, 3)), 0, 1), r"entries of the attribute; got shapes \(1"),
        (lambda: between(np.zeros((2, 1)), 1, 1), r"means differ, and are finite; got \[1.0\] an"),
        (
            lambda: between(np.zeros((2, 1)), 0, 1, spread=0),
            "spread is a finite number of at least 1e-06; got 0; pass a number of at least 1e-06",
        ),
        (lambda: between(np.zeros((2, 1)), 0, 1, law="x"), 'law is "linear" or "logistic"; got'),
    ]
    for refused, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            refused()
