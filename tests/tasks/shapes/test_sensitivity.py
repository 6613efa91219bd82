"""Concept signals against integrals along the edge, fine pixels and pixel distances."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import dblquad

from partwhole._checks import InputError
from partwhole.tasks import ConceptSpace, circles
from partwhole.tasks.shapes.attributes import ShapeAttributes
from partwhole.tasks.shapes.concept import Concept
from partwhole.tasks.shapes.renderer import shape_masks
from partwhole.tasks.shapes.sensitivity import concept_signal, pixel_distances, smooth_masks

SIDE = 16


def shape(kind, size, x=0.0, y=0.0) -> ShapeAttributes:
    return ShapeAttributes(
        kind=np.array([kind]), position=np.array([[x, y]]), colour=np.ones((1, 3)),
        size=np.array([size]), background=np.zeros((1, 3)),
    )  # fmt: skip


def around_the_edge(one: ShapeAttributes, side: int, moving=False) -> np.ndarray:
    """Return a circle's derivative in its radius, or in its place as it moves rightwards.

    It is the blur's kernel, integrated along the edge, times how fast that moves outwards.
    """
    points, deviation = np.linspace(-1, 1, side), side / 32 * 2 / (side - 1)
    angles = 2 * np.pi * np.arange(2000) / 2000
    edge = one.position[0] + one.size[0] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    apart = (edge[:, 0] - points[:, None]) ** 2, (edge[:, 1] - points[:, None]) ** 2
    kernel = np.exp(-0.5 * (apart[0][:, None, :] + apart[1][None, :, :]) / deviation**2)
    speed = np.ones(2000) if not moving else np.sin(angles)
    return (kernel @ speed) * one.size[0] / (2000 * deviation**2)


def signal(space, **options):
    table = concept_signal(space, SIDE, **options)
    return {(row.concept, row.at): row.signal for row in table.itertuples()}


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("size", [0.1, 0.45])
def test_smooth_masks_are_integrals(kind, size):
    one = shape(kind, size, 0.13, -0.22)
    (found,) = smooth_masks(one, SIDE)
    points, s = np.linspace(-1, 1, SIDE), SIDE / 32 * 2 / (SIDE - 1)
    reach = np.sqrt(4 * np.pi * size**2 / np.sqrt(3)) / np.sqrt(3)  # centre to corner
    if kind == 0:
        ends, half = (-size, size), lambda u: np.sqrt(max(size**2 - u**2, 0.0))
    else:
        ends, half = (-reach, reach / 2), lambda u: (u + reach) / np.sqrt(3)
    for r, c in ((8, 6), (10, 5), (5, 7)):

        def kernel(v, u, at=(points[r] - 0.13, points[c] + 0.22)):
            return np.exp(-0.5 * ((u - at[0]) ** 2 + (v - at[1]) ** 2) / s**2) / (2 * np.pi * s**2)

        expected, _ = dblquad(kernel, *ends, lambda u: -half(u), half, epsabs=1e-9)
        assert found[r, c] == pytest.approx(expected, abs=1e-7)  # the rule at a circle's root ends


@pytest.mark.parametrize("kind", [0, 1])
def test_smooth_masks_are_the_limit_of_fine_pixels(kind):
    # Every 32nd point of a grid 32 times as fine, with the same blur in grid units.
    one, fine = shape(kind, 0.3, 0.1, 0.2), 32 * (SIDE - 1) + 1
    hard = shape_masks(one, fine, blur=32 * SIDE / 32)[0, ::32, ::32]
    # An edge along a row of pixels is off by half a fine one, times the kernel's density across.
    half, deviation = 0.5 * 2 / (fine - 1), SIDE / 32 * 2 / (SIDE - 1)
    most = half / (np.sqrt(2 * np.pi) * deviation)
    np.testing.assert_allclose(smooth_masks(one, SIDE)[0], hard, atol=1.1 * most)


def test_size_signal_is_that_of_the_edge():
    space = circles(0.4, 0.3)
    found = signal(space)
    means = space.mean_attributes()
    for i in range(space.n_classes):
        one = means.take(np.array([i]))
        contrast = (one.colour - one.background)[0]
        change = 0.3 * around_the_edge(one, SIDE)[..., None] * contrast
        expected = np.sqrt(np.mean(change**2))
        # Central differences at step .001 err by (.0003 / blur's .067)^2 / 6 or so.
        assert found["size", space.label(i)] == pytest.approx(expected, rel=1e-5)


def test_differences_converge_with_the_square_of_the_step():
    space = circles()
    best = signal(space, step=1e-4)["size", "red small circle"]
    errors = [
        abs(signal(space, step=step)["size", "red small circle"] - best)
        for step in (0.1, 0.05, 0.025)
    ]
    for coarse, fine in pairwise(errors):
        assert coarse / fine == pytest.approx(4.0, rel=0.15)  # the next order at these steps


@pytest.mark.parametrize("separation", [0.1, 0.4, 0.8])
def test_colour_signal_is_the_pixel_distance(separation):
    space = circles(separation, background_separation=separation)
    found = concept_signal(space, SIDE)
    table = pixel_distances(space, SIDE)
    mse = {(row.first, row.second): row.mse for row in table.itertuples()}
    linear = found[found.concept != "size"]
    assert len(linear) == 16
    for row in linear.itertuples():
        concept = space.concept(row.concept)
        other = [row.towards if w in concept.words else w for w in row.at.split()]
        pair = sorted((space.index(row.at), space.index(" ".join(other))))
        expected = mse[space.label(pair[0]), space.label(pair[1])]
        assert row.signal**2 == pytest.approx(expected, rel=1e-9)
    # In proportion to the separation, whatever the step.
    unit = signal(circles(0.2, background_separation=separation), step=0.1)
    ratio = signal(space)["colour", "red big light circle"] / unit["colour", "red big light circle"]
    assert ratio == pytest.approx(separation / 0.2, rel=1e-9)


def test_places_move_pictures_and_kinds_have_no_derivative():
    space = ConceptSpace((
        Concept.around("place", {"left": -0.2, "right": 0.2}, field="y"),
        Concept.around("row", {"top": -0.2, "bottom": 0.2}, field="x"),
        Concept.around("shape", {"round": 0, "angular": 1}, field="kind"),
    ))  # fmt: skip
    found = signal(space)
    left, top = (found[name, "left top round shape"] for name in ("place", "row"))
    assert left == pytest.approx(top, rel=1e-9)  # the picture turned over
    change = around_the_edge(shape(0, 0.45, -0.2, -0.2), SIDE, moving=True)
    expected = 0.4 * (0.9 - 0.5) * np.sqrt(np.mean(change**2))  # way times contrast
    assert left == pytest.approx(expected, rel=1e-5)  # the second order of the step
    assert all(np.isnan(each) for (name, _), each in found.items() if name == "shape")


def test_tables_name_every_pair():
    space = circles(background_separation=0.4)
    signals, distances = concept_signal(space, SIDE), pixel_distances(space, SIDE)
    assert len(signals) == 24
    assert len(distances) == 28
    far = distances[distances.distance == 3]
    assert far.concepts.tolist() == ["colour + size + background"] * 4
    assert signals.concept.tolist() == ["colour"] * 8 + ["size"] * 8 + ["background"] * 8
    several = ConceptSpace((Concept.around("size", {"a": 0.2, "b": 0.4, "c": 0.6}),))
    rows = concept_signal(several, SIDE)
    assert list(zip(rows["at"], rows.towards, strict=True)) == [
        ("a shape", "b"), ("a shape", "c"), ("b shape", "a"), ("b shape", "c"), ("c shape", "a"),
        ("c shape", "b"),
    ]  # fmt: skip
    # The way to a value twice as far is twice as long.
    assert rows.signal[1] == pytest.approx(2 * rows.signal[0], rel=1e-4)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: concept_signal(circles(), step=0.2), "step is .* above 0 and at most 0.1; got"),
        (lambda: concept_signal(circles(), blur=0), "a blur of at least 0.1 pixels; got 0; leave"),
        (lambda: concept_signal(circles(), 2), "side is a whole number of at least 4; got 2"),
        (lambda: pixel_distances(circles(), 2), "side is a whole number of at least 4; got 2"),
    ],
)
def test_errors(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
