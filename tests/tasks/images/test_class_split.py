"""Splitting of classes: which image is whose, nested draws, and what is refused."""

from __future__ import annotations

from inspect import unwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.tasks.images.class_split import split_classes
from partwhole.tasks.images.digits import digit_images


def numbered(n=60, classes=(7, 3, -1, 12), seed=0):
    """Return images that show their own number, with labels in no order."""
    labels = np.random.default_rng(seed).permutation(np.resize(classes, n))
    return np.arange(float(n)).reshape(n, 1, 1), labels


def shown(split, part):
    return split.samples(part)[0].ravel().astype(int)


@given(st.integers(0, 1000), st.integers(1, 20), st.integers(2, 3))
def test_every_image_is_of_one_set_and_in_the_column_of_its_class(seed, n_main, main_classes):
    images, labels = numbered()
    split = split_classes(
        images, labels, n_main=n_main, main_classes=main_classes, n_test=10, seed=seed
    )
    assert sorted(split.classes.tolist()) == [-1, 3, 7, 12]
    assert split.n_outputs == 4
    sets = {part: shown(split, part) for part in split.parts}
    assert (len(sets["main"]), len(sets["test"])) == (n_main, 10)
    everyone = np.concatenate(list(sets.values()))
    assert len(set(everyone)) == len(everyone)
    own = split.classes[:main_classes]
    np.testing.assert_array_equal(sets["auxiliary"], np.flatnonzero(~np.isin(labels, own)))
    for part, which in sets.items():
        columns = split.samples(part)[1]
        np.testing.assert_array_equal(split.classes[columns], labels[which])
        assert np.all((columns < main_classes) == (part != "auxiliary"))


def test_a_smaller_number_is_a_subset_and_tests_are_the_same():
    given = digit_images()
    few, many = (split_classes(*given, n_main=n, n_test=50, seed=2) for n in (10, 200))
    np.testing.assert_array_equal(few.main, many.main[:10])
    for name in ("classes", "columns", "test", "auxiliary"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name))
    other = split_classes(*given, n_main=10, n_test=50, seed=3)
    assert not np.array_equal(other.classes, few.classes)
    assert few.shape == (8, 8, 1)
    assert few.test_images is few.images


def test_draws_of_all_seeds_are_even():
    images, labels = numbered(8, (0, 1, 2, 3))
    draws = [split_classes(images, labels, n_main=1, n_test=1, seed=s) for s in range(800)]
    for part in ("main", "test"):
        counts = np.bincount([shown(split, part)[0] for split in draws], minlength=8)
        # 100 each, give or take 9.4.
        assert np.abs(counts - 100).max() < 45
    first = np.bincount([split.classes[0] for split in draws], minlength=4)
    assert np.abs(first - 200).max() < 60


def test_test_images_of_their_own():
    images, labels = numbered(40)
    others = 100 + np.arange(20.0).reshape(20, 1, 1)
    answers = np.resize([3, 7, 12, -1], 20)
    splits = [
        split_classes(
            images, labels, n_main=n, n_test=6, test_images=others, test_labels=answers, seed=5
        )
        for n in (5, 20)
    ]
    for split in splits:
        which = shown(split, "test") - 100
        assert len(set(which)) == 6
        np.testing.assert_array_equal(split.classes[split.samples("test")[1]], answers[which])
        assert set(answers[which]) <= set(split.classes[:2])
    # All images of the main classes may train, and the smaller number is nested.
    assert set(labels[shown(splits[1], "main")]) == set(splits[1].classes[:2])
    assert len(set(shown(splits[1], "main"))) == 20
    np.testing.assert_array_equal(splits[0].main, splits[1].main[:5])
    np.testing.assert_array_equal(splits[0].test, splits[1].test)


def test_samples_are_copies():
    images, labels = numbered()
    split = split_classes(images, labels, n_main=3, n_test=3, seed=0)
    before = images.copy()
    for part in split.parts:
        split.samples(part)[0][:] = -1.0
    np.testing.assert_array_equal(images, before)
    assert np.shares_memory(split.images, images)


IMAGES, LABELS = numbered()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"images": IMAGES.astype(int)},
            "images are floating-point, of shape (k, height, width) or (k, height, width, "
            "channels); got shape (60, 1, 1) of int64; divide grey levels by the largest, for "
            "example",
        ),
        (
            {"images": np.where(IMAGES > 3, IMAGES, np.inf)},
            "grey levels of images are finite; got NaN or infinity; leave those images out",
        ),
        (
            {"labels": LABELS.astype(float)},
            "labels are a whole number for each image; got shape (60,) of float64 for 60 images; "
            "number the classes",
        ),
        (
            {"labels": LABELS[:3]},
            "labels are a whole number for each image; got shape (3,) of int64 for 60 images; "
            "number the classes",
        ),
        (
            {"main_classes": 1},
            "main_classes is a whole number of at least 2; got 1; pass a whole number of at least "
            "2, or leave it out for 2",
        ),
        (
            {"main_classes": 4},
            "an auxiliary task has at least one class; got 4 classes, 4 of them the main task's; "
            "pass fewer main_classes, or images of more classes",
        ),
        (
            {"n_main": 0},
            "n_main is a whole number of at least 1; got 0; pass a whole number of at least 1",
        ),
        (
            {"n_test": 2.5},
            "n_test is a whole number of at least 1; got 2.5; pass a whole number of at least 1, "
            "or leave it out for 200",
        ),
        (
            {"seed": -1},
            "seed is a whole number of at least 0; got -1; pass a whole number of at least 0",
        ),
        (
            {"n_main": 21},
            "the main classes have enough images; got 30 for n_main=21 and "
            "n_test=10; request fewer, or pass more images",
        ),
        (
            {"test_images": IMAGES},
            "test images come with their labels; got only one of test_images and test_labels; "
            "pass both, or neither",
        ),
        (
            {"test_images": np.zeros((60, 2, 1)), "test_labels": LABELS},
            "test images have the shape of the others, (1, 1, 1); got (2, 1, 1); cut or pad them",
        ),
        (
            {"test_images": IMAGES, "test_labels": np.full(60, 5)},
            "test images are of the classes of the others; got class 5; leave those images out",
        ),
        (
            {"test_images": IMAGES, "test_labels": LABELS, "n_main": 31},
            "the main classes have enough images; got 30 for n_main=31; request fewer, or pass "
            "more images",
        ),
        (
            {"test_images": IMAGES, "test_labels": LABELS, "n_test": 31},
            "the main classes have enough test images; got 30 for n_test=31; "
            "request fewer, or pass more images",
        ),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    given = {"images": IMAGES, "labels": LABELS, "n_main": 5, "n_test": 10, "seed": 0} | change
    # Arrays are converted at the door.
    bare = change.keys() & {"images", "labels", "test_images"}
    split = unwrap(split_classes) if bare else split_classes
    with pytest.raises(InputError) as caught:
        split(**given)
    assert str(caught.value) == sentence


def test_another_set_of_samples():
    split = split_classes(IMAGES, LABELS, n_main=5, n_test=10, seed=0)
    with pytest.raises(InputError) as caught:
        split.source("training")
    assert str(caught.value) == (
        'part is "main", "test" or "auxiliary"; got \'training\'; choose one of them'
    )
