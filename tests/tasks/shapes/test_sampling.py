"""Samples: the laws they follow, what a seed fixes, and how many there are of what."""

from __future__ import annotations

from inspect import unwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from partwhole._checks import InputError
from partwhole.tasks import ConceptSpace, circles
from partwhole.tasks.shapes.labelled import LabelledShapes
from partwhole.tasks.shapes.renderer import clean_images
from partwhole.tasks.shapes.splits import distance_one, leave_out

SPACE = circles(0.6, background_separation=0.4, shapes=("circle", "triangle"))


def small(**options) -> LabelledShapes:
    given = {"counts": 6, "seed": 0, "side": 8} | options
    return circles().sample(**given)


def test_pictures_show_what_is_drawn():
    found = SPACE.sample(3, seed=2, side=16, noise=0.0)
    assert found.images.dtype == np.float32
    np.testing.assert_array_equal(found.classes, np.repeat(np.arange(16), 3))
    np.testing.assert_array_equal(found.components, SPACE.classes[found.classes])
    expected = np.clip(clean_images(found.attributes, 16), 0, 1)
    np.testing.assert_allclose(found.images, expected, atol=3e-7)  # single precision


def test_noise_is_that_asked_for():
    loud, clean = small(counts=200, noise=0.01), small(counts=200, noise=0.0)
    off = (loud.images - clean.images)[(clean.images > 0.05) & (clean.images < 0.95)]
    assert off.std() == pytest.approx(0.01, rel=4 * np.sqrt(0.5 / off.size))  # 4 standard errors


def test_attributes_follow_the_laws():
    space, n = circles(0.4, 0.3), 4000
    attributes, classes = space.draw(n, seed=0)
    _, low, high = space.laws
    drawn = attributes.encoded()[:, 2:]
    for c in range(space.n_classes):
        own = drawn[classes == c]
        for column in range(own.shape[1]):
            ends = low[c, 1 + column], high[c, 1 + column]
            uniform = stats.uniform(ends[0], ends[1] - ends[0])
            # 36 tests: one that holds fails once in 27,000 times.
            assert stats.kstest(own[:, column], uniform.cdf).pvalue > 1e-6
        correlation = np.corrcoef(own.T) - np.eye(own.shape[1])
        assert np.abs(correlation).max() < 5 / np.sqrt(n)
    assert (attributes.kind == 0).all()


def test_without_jitter_all_are_the_means():
    attributes, classes = SPACE.draw(2, seed=0, jitter=False)
    np.testing.assert_array_equal(attributes.encoded(), SPACE.mean_attributes(classes).encoded())
    np.testing.assert_array_equal(
        SPACE.sample(2, seed=0, side=8, jitter=False).conditions(), SPACE.class_conditions(classes)
    )


def test_a_class_does_not_rest_on_what_else_is_drawn():
    whole = small(counts=[6, 3, 4, 5])
    alone = small(counts=[0, 0, 2, 0])
    same = np.flatnonzero(whole.classes == 2)[:2]
    np.testing.assert_array_equal(whole.images[same], alone.images)
    np.testing.assert_array_equal(whole.take(same).conditions(), alone.conditions())
    # Neither do attributes on the picture's size, nor classes on one another.
    np.testing.assert_array_equal(small(side=16).conditions(), small().conditions())
    first, second = small().conditions()[[0, 6]]
    assert first[0] != second[0]


def test_seeds():
    np.testing.assert_array_equal(small().images, small().images)
    for part in ("images", "classes"):
        same = np.array_equal(getattr(small(), part), getattr(small(seed=1), part))
        assert same == (part == "classes")
    assert not np.array_equal(small().conditions(), small(seed=1).conditions())


def test_training_classes_alone():
    seen = leave_out(circles(), "blue small")
    found = small(counts=[5, 0, 2, 9], is_train=seen)
    assert np.bincount(found.classes, minlength=4).tolist() == [5, 0, 2, 0]
    assert found.has("blue").tolist() == [False] * 5 + [True] * 2
    np.testing.assert_array_equal(found.tokens(), [[1, 3]] * 5 + [[2, 3]] * 2)


@given(st.integers(1, 50), st.integers(0, 50), st.integers(0, 50), st.data())
def test_rare_values(per_class, blue, dark, data):
    space = SPACE
    chosen = data.draw(
        st.sampled_from([None, distance_one(space, 0), leave_out(space, "blue dark")])
    )
    seen = np.ones(16, dtype=bool) if chosen is None else chosen
    rare = {}
    for word, most in (("blue", blue), ("dark", dark)):
        if most <= per_class * (space.select(word) & seen).sum():
            rare[word] = most
    found = space.counts(per_class, rare, is_train=chosen)
    assert (found[~seen] == 0).all()
    plain = seen.copy()
    for word, most in rare.items():
        holds = space.select(word) & seen
        plain &= ~holds
        others = [space.select(other) for other in rare if other != word]
        if not any((holds & other).any() for other in others):
            assert found[holds].sum() == most
            assert np.ptp(found[holds]) <= 1
        assert found[holds].sum() <= most
    assert (found[plain] == per_class).all()


def test_split_takes_a_share_of_each_class():
    found = small(counts=[40, 20, 7, 6])
    training, validation = found.split(seed=3)
    assert np.bincount(validation.classes, minlength=4).tolist() == [6, 3, 1, 0]
    assert np.bincount(training.classes, minlength=4).tolist() == [34, 17, 6, 6]
    rows = np.concatenate([training.conditions(), validation.conditions()])
    assert {*map(tuple, rows)} == {*map(tuple, found.conditions())}
    assert not np.array_equal(validation.images, found.split(seed=4)[1].images)
    np.testing.assert_array_equal(validation.images, found.split(seed=3)[1].images)


def test_published_numbers():
    space = circles()
    counts = space.counts(2048, is_train=leave_out(space, 3))
    attributes, classes = space.draw(counts, seed=0)
    found = LabelledShapes(
        np.zeros((len(classes), 4, 4, 3), np.float32), classes, attributes, space
    )
    assert [len(part) for part in found.split(seed=0)] == [5223, 921]


def test_a_picture_has_a_row_for_each_class():
    found = small(counts=[3, 0, 2, 0])
    picture = found.picture(3, gap=2)
    assert picture.shape == (18, 28, 3)
    np.testing.assert_array_equal(picture[:8, 10:18], found.images[1])
    np.testing.assert_array_equal(picture[10:, :8], found.images[3])
    assert (picture[10:, 20:] == 1.0).all()
    assert (picture[8:10] == 1.0).all()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: small(counts=0), "at least one picture is drawn; got none; pass the number"),
        (lambda: small(counts=[1, 2]), r"counts are a whole number, or one for each of the 4 cla"),
        (lambda: small(counts=-1), r"one for each of the 4 classes; got \[-1, -1, -1, -1\]; pass"),
        (lambda: small(seed=-1), "seed is a whole number of at least 0; got -1"),
        (lambda: small(side=2), "side is a whole number of at least 4; got 2; shapes"),
        (
            lambda: circles().draw(1, seed=0, jitter="no"),
            "jitter is True or False; got 'no'; choose one of them",
        ),
        (
            lambda: unwrap(ConceptSpace.draw)(circles(), 1, seed=0, is_train=np.ones(3, bool)),
            r"is_train says of each of the 4 classes whether it is seen; got 3 entries",
        ),
        (
            lambda: circles().counts(5, {"blue": 11}),
            "a rare value has fewer pictures than the others; got 11 that are blue, of 5 in each",
        ),
        (lambda: circles().counts(5, {"green": 1}), "prompts are made of red, blue, big, small"),
        (lambda: circles().counts(0), "per_class is a whole number of at least 1; got 0; pass"),
        (lambda: small().split(1.0, seed=0), "share is .* above 0 and below 1; got 1.0; pass"),
        (lambda: small().picture(0), "per_class is a whole number of at least 1; got 0; pass"),
    ],
)  # fmt: skip
def test_errors(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
