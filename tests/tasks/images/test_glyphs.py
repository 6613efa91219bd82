"""Drawn glyphs: sizes, seeds, and classes that can be told apart."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from partwhole._checks import InputError
from partwhole.tasks.images.glyphs import glyph_images


@pytest.mark.parametrize("size", [6, 16, 33])
def test_grey_levels_and_classes_in_turn(size):
    images, labels = glyph_images(5, 3, size=size, seed=0)
    assert images.shape == (15, size, size)
    assert images.min() == 0.0
    assert 0.8 < images.max() <= 1.0
    assert labels.tolist() == [0, 1, 2, 3, 4] * 3


def test_a_class_does_not_depend_on_how_many_there_are():
    few, many = glyph_images(2, 4, seed=3)[0], glyph_images(7, 4, seed=3)[0]
    np.testing.assert_array_equal(few.reshape(4, 2, 16, 16), many.reshape(4, 7, 16, 16)[:, :2])
    assert not np.array_equal(few, glyph_images(2, 4, seed=4)[0])


def test_without_variation_images_of_a_class_are_the_same():
    images = glyph_images(3, 5, variation=0.0, seed=0)[0].reshape(5, 3, -1)
    np.testing.assert_array_equal(images, np.broadcast_to(images[0], images.shape))
    assert np.abs(images[0, 0] - images[0, 1]).max() > 0.5


def test_classes_can_be_told_apart():
    # 100 alphabets' worth of letters by their nearest neighbour among ten; guessing gives .01.
    images, labels = glyph_images(100, 20, seed=0)
    rows = images.reshape(len(images), -1)
    fitted = KNeighborsClassifier(1).fit(rows[:1000], labels[:1000])
    assert fitted.score(rows[1000:], labels[1000:]) > 0.8


def test_larger_images_show_the_same():
    # A pixel of the smaller image is the mean of four of the larger, but for the edge of the ink.
    small, large = (glyph_images(10, 5, size=size, seed=1)[0] for size in (16, 32))
    shrunk = large.reshape(50, 16, 2, 16, 2).mean(axis=(2, 4))
    assert np.abs(small - shrunk).max() < 0.5
    assert np.abs(small - shrunk).mean() < 0.02


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"size": 5},
            "size is a whole number of at least 6; got 5; strokes cannot be distinguished in fewer "
            "pixels",
        ),
        (
            {"strokes": 13},
            "strokes is a whole number from 1 to 12; got 13; pass a whole number from 1 to 12, or "
            "leave it out for 3",
        ),
        (
            {"strokes": 0},
            "strokes is a whole number from 1 to 12; got 0; pass a whole number from 1 to 12, or "
            "leave it out for 3",
        ),
        (
            {"n_classes": 0},
            "n_classes is a whole number of at least 1; got 0; pass a whole number of at least 1, "
            "or leave it out for 10",
        ),
        (
            {"seed": -1},
            "seed is a whole number of at least 0; got -1; pass a whole number of at least 0",
        ),
        (
            {"per_class": 0},
            "per_class is a whole number of at least 1; got 0; pass a whole number of at least 1, "
            "or leave it out for 100",
        ),
        (
            {"variation": -0.1},
            "variation is a finite number from 0 to 10; got -0.1; pass a number from 0 to 10, or "
            "leave it out for 1",
        ),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    with pytest.raises(InputError) as caught:
        glyph_images(**({"seed": 0} | change))
    assert str(caught.value) == sentence
