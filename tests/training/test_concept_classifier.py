"""Classifiers of concepts: right on what they have not seen, calibrated, and refused."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.networks import outputs
from partwhole.networks.images.convnet import convnet
from partwhole.tasks.shapes.concept import Concept
from partwhole.training import Training, train_concept_classifier

SHORT = Training(loss="cross entropy", optimiser="adam", learning_rate=1e-3, batch=32, epochs=3)


@pytest.fixture(scope="module")
def space():
    """Return three colours of two sizes, a concept having fewer values than the other."""
    red, green, blue = (tuple(0.9 if i == k else 0.1 for i in range(3)) for k in range(3))
    colour = Concept.around("colour", {"red": red, "green": green, "blue": blue}, jitter=0.05)
    size = Concept.around("size", {"big": 0.7, "small": 0.35}, jitter=0.05)
    return tasks.ConceptSpace((colour, size))


@pytest.fixture(scope="module")
def classifier(space):
    shown = space.sample(100, side=8, seed=0, noise=0.05)
    return train_concept_classifier(shown.images, shown.components, training=SHORT, seed=0)


def test_new_images_are_told_apart(space, classifier):
    new = space.sample(50, side=8, seed=1, noise=0.05)
    found = classifier.probabilities(new.images)
    assert found.shape == (300, 2, 3)
    np.testing.assert_allclose(found.sum(axis=2), 1.0, atol=1e-6)
    right = found.argmax(axis=2) == new.components
    # Three standard errors of 300 images below all but one in fifty.
    assert np.all(right.mean(axis=0) > 0.98 - 3 * np.sqrt(0.02 * 0.98 / 300))
    # What it says of itself comes from images that it was not trained on.
    counts = classifier.calibration.counts.sum(axis=1)
    np.testing.assert_array_equal(counts, [90 * 3] * 2)
    assert np.all(classifier.calibration.accuracy > 0.95)


def test_coordinates_are_probabilities_of_a_corner(space, classifier):
    new = space.sample(2, side=8, seed=1)
    corner = space.classes[space.index("blue small")]
    logits = np.asarray(outputs(classifier.network, new.images), float).reshape(12, 2, 3)
    for c in range(2):
        expected = 1.0 / np.exp(logits[:, c] - logits[:, c, [corner[c]]]).sum(axis=1)
        found = classifier.coordinates(new.images, corner)[:, c]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_same_seed_gives_the_same_classifier(space, classifier):
    shown = space.sample(100, side=8, seed=0, noise=0.05)
    again = train_concept_classifier(shown.images, shown.components, training=SHORT, seed=0)
    np.testing.assert_array_equal(
        again.probabilities(shown.images), classifier.probabilities(shown.images)
    )


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ({"held_out": 1.0}, "held_out is a finite number above 0 and below 1; got 1.0"),
        ({"held_out": 0.001}, "some images train and some calibrate; got 0 of 20 held out"),
        ({"components": np.zeros((3, 2), int)}, "images and components have equal length along n"),
        ({"components": np.full((20, 2), -1)}, "components are values numbered from 0"),
        ({"network": convnet((8, 8, 3), outputs=5, channels=(4,), kernel=3, seed=0)},
         "2 concepts share a network's outputs evenly, at least 1 each; got 5 outputs"),
        ({"seed": -1}, "seed"),
    ],
)  # fmt: skip
def test_what_is_none_is_refused(told, rule):
    given = {"components": np.zeros((20, 2), int), "seed": 0} | told
    with pytest.raises(InputError) as caught:
        train_concept_classifier(np.zeros((20, 8, 8, 3)), given.pop("components"), **given)
    assert rule in str(caught.value)


def test_corners_that_are_none_are_refused(classifier):
    for corner in ([0], [0, 3], [-1, 0]):
        with pytest.raises(InputError, match="a corner has a value from 0 to 2 of each of 2"):
            classifier.coordinates(np.zeros((1, 8, 8, 3), np.float32), np.array(corner))


def test_images_without_numbers_have_no_coordinates(classifier):
    """Units that are off hide NaN, so that an answer would look like any other."""
    with pytest.raises(
        InputError, match=r"images is an array of finite numbers .* 192 that are NaN"
    ):
        classifier.coordinates(np.full((1, 8, 8, 3), np.nan, np.float32), np.array([0, 1]))
