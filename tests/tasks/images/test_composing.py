"""Composite images from tiny synthetic pictures, whose every pixel names its image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from inspect import unwrap

import numpy as np
import pytest

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.tasks import Task, compose_images
from partwhole.tasks.images.composing import ComposedImages, class_assignment
from partwhole.tasks.images.digits import digit_images


def pictures(n_classes=4, each=6, height=3, width=4):
    """Return pictures of one channel: image i holds i + column / 100."""
    labels = np.tile(np.arange(n_classes), each)
    images = np.arange(len(labels))[:, None, None] + np.arange(width)[None, None, :] / 100.0
    return np.repeat(images, height, axis=1), labels


def single(n_values=4, is_train=None):
    """Return a task of one component: composites are the pictures themselves."""
    seen = np.arange(n_values) < 2 if is_train is None else np.asarray(is_train)
    return Task(
        np.arange(n_values)[:, None], np.arange(n_values) * 1.0, seen,
        ("only",), (tuple(range(n_values)),),
    )  # fmt: skip


def composed(task=None, **options) -> ComposedImages:
    given = {"distance": 0, "seed": 0} | options
    return compose_images(single() if task is None else task, *pictures(), **given)


def which(found):
    """Return the image behind each composite of one component."""
    return np.floor(found[:][:, 0, 0, 0]).astype(int)


@pytest.mark.parametrize("distance", [0, 1, 7])
@pytest.mark.parametrize("n_components", [2, 3])
@pytest.mark.parametrize(("combine", "channels"), [("channels", 2), ("maximum", 1), ("sum", 1)])
def test_canvas_and_rows(distance, n_components, combine, channels):
    task = tasks.symbolic_addition(range(-1, 2), [0], n_components=n_components)
    found = composed(task, distance=distance, combine=combine).draw(5)
    wide = 4 + distance * (n_components - 1)
    assert found.shape == (3, wide, n_components if channels == 2 else 1)
    assert found[:].shape == (len(found), *found.shape)
    np.testing.assert_array_equal(found.rows, np.repeat(np.arange(3**n_components), 5))
    np.testing.assert_array_equal(found.targets, task.targets[found.rows])
    np.testing.assert_array_equal(found.components, task.components[found.rows])


def test_classes_show_values_and_single_pictures_pass_unchanged():
    images, labels = pictures()
    found = compose_images(single(), images, labels, distance=3, seed=1).draw(8)
    shown = which(found)
    np.testing.assert_array_equal(found[:][..., 0], images[shown])
    (assigned,) = class_assignment(single(), 4, seed=1)
    np.testing.assert_array_equal(labels[shown], assigned[found.rows])


@pytest.mark.parametrize("distance", [0, 2, 9])
@pytest.mark.parametrize("channels", [1, 3])
def test_each_composite_by_padding_its_pictures(distance, channels):
    # Another route: pad each picture on its own, then lay them together.
    rng = np.random.default_rng(0)
    images, labels = rng.random((24, 3, 4, channels)), np.tile(np.arange(4), 6)
    task = tasks.symbolic_addition(range(-1, 2), [0], n_components=3)
    for combine, meet in (
        ("channels", lambda parts: np.concatenate(parts, axis=-1)),
        ("maximum", lambda parts: np.max(parts, axis=0)),
        ("sum", lambda parts: np.sum(parts, axis=0)),
    ):
        drawn = compose_images(
            task, images, labels, distance=distance, combine=combine, seed=0
        ).draw(2)
        for found, shown in zip(drawn[:], drawn.image_index, strict=True):
            parts = [
                np.pad(images[i], [(0, 0), (c * distance, (2 - c) * distance), (0, 0)], mode="edge")
                for c, i in enumerate(shown)
            ]
            np.testing.assert_allclose(found, meet(parts), rtol=1e-15)


def test_composites_are_assembled_as_they_are_asked_for():
    found = composed(tasks.symbolic_addition(range(-1, 2), [0]), distance=2).draw(3)
    everything = found[:]
    order = np.array([4, 0, 4, 26])
    np.testing.assert_array_equal(found[order], everything[order])
    np.testing.assert_array_equal(found[5:9], everything[5:9])
    np.testing.assert_array_equal(found[found.rows == 3], everything[9:12])
    some = found.take(order)
    np.testing.assert_array_equal(some[:], everything[order])
    np.testing.assert_array_equal(some.targets, found.targets[order])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_composites_have_the_type_of_their_images(kind):
    images, labels = pictures()
    found = compose_images(single(), images.astype(kind), labels, distance=0, seed=0).draw(1)
    assert found[:].dtype == kind


def test_one_composite_at_a_time():
    found = composed(tasks.symbolic_addition(range(-1, 2), [0]), distance=2).draw(2)
    everything = found[:]
    np.testing.assert_array_equal(found[3], everything[3])
    np.testing.assert_array_equal(found[np.int64(-1)], everything[-1])
    # Loops and NumPy take them one by one, to the last.
    np.testing.assert_array_equal(list(found), everything)
    np.testing.assert_array_equal(np.asarray(found), everything)


def test_neither_images_nor_composites_change_one_another():
    images, labels = pictures()
    kept = images.copy()
    found = compose_images(single(), images, labels, distance=0, combine="maximum", seed=0).draw(2)
    found[:][...] = -1.0
    np.testing.assert_array_equal(images, kept)


def test_lists_serve_as_arrays():
    images, labels = pictures()
    compose: Callable = unwrap(compose_images)
    listed = compose(single(), images.tolist(), labels.tolist(), distance=0, seed=2).draw(3)
    np.testing.assert_array_equal(listed[:], composed(seed=2).draw(3)[:])


@pytest.mark.parametrize(("share", "each"), [(0.29, 29), (0.58, 58), (0.999, 99), (5000, 100)])
def test_how_many_images_train(share, each):
    # .29 * 100 and .58 * 100 are below 29 and 58 in binary.
    whole = compose_images(
        single(), np.zeros((400, 2, 2)), np.arange(400) % 4, distance=0, training_images=share,
        seed=0,
    )  # fmt: skip
    assert whole.training_images.tolist() == [each] * 4
    assert len(whole.pool("training")) == 4 * each
    assert len(whole.pool("held out")) == 400 - 4 * each


@pytest.mark.parametrize(("training_images", "each"), [(0.5, 3), (0.4, 2), (4, 4)])
def test_pools_are_apart_wherever_an_image_stands(training_images, each):
    labels = pictures()[1]
    for seed in range(5):
        whole = composed(training_images=training_images, seed=seed)
        training, held_out = whole.pool("training"), whole.pool("held out")
        assert sorted([*training, *held_out]) == list(range(24))
        assert np.bincount(labels[training]).tolist() == [each] * 4
        # Every tuple is seen here, then none of them but the first: pools stay what they are.
        for seen in ([True] * 4, [True, False, False, False]):
            other = composed(single(4, seen), training_images=training_images, seed=seed)
            assert set(which(other.training(60))) <= set(training)
            assert set(which(other.recombined(60))) <= set(training)
            assert set(which(other.in_distribution(60))) <= set(held_out)
            if not all(seen):
                assert set(which(other.compositional(60))) <= set(held_out)
        assert set(which(whole.draw(60))) == set(range(24))


def test_components_may_have_different_numbers_of_values():
    task = tasks.context_dependence(left_out=1)
    images, labels = pictures(n_classes=7)
    drawn = compose_images(task, images, labels, distance=4, seed=0).compositional(2)
    assert drawn[:].shape == (4, 3, 12, 3)


def test_what_each_kind_of_sample_shows():
    whole = composed()
    seen, rest = [0, 0, 0, 1, 1, 1], [2, 2, 2, 3, 3, 3]
    assert whole.training(3).rows.tolist() == seen
    assert whole.recombined(3).rows.tolist() == seen
    assert whole.in_distribution(3).rows.tolist() == seen
    assert whole.compositional(3).rows.tolist() == rest
    assert which(whole.training(30)).tolist() != which(whole.recombined(30)).tolist()


def test_draws_of_a_row_do_not_depend_on_others():
    whole = composed(seed=3)
    everything, two = which(whole.draw(9)), which(whole.draw(9, rows=np.array([3, 1])))
    np.testing.assert_array_equal(two, everything.reshape(4, 9)[[3, 1]].ravel())
    last = which(whole.draw(9, rows=np.array([-1])))
    np.testing.assert_array_equal(last, everything.reshape(4, 9)[3])
    assert len(whole.draw(9, rows=np.array([], dtype=int))) == 0


def test_seeds_and_draws():
    images, labels = digit_images()
    task = tasks.symbolic_addition(range(-4, 5), [0])

    def drawn(seed=0, draw=0):
        return (
            compose_images(task, images, labels, distance=4, seed=seed)
            .draw(2, draw=draw)
            .image_index
        )

    np.testing.assert_array_equal(drawn(), drawn())
    assert not np.array_equal(drawn(), drawn(draw=1))
    assert not np.array_equal(drawn(), drawn(seed=1))
    classes = [class_assignment(task, 10, seed=seed) for seed in range(40)]
    assert len({tuple(c[0].tolist()) for c in classes}) == 40
    # All ten classes serve, the last one too, and components differ.
    assert {int(value) for c in classes for value in c[0]} == set(range(10))
    assert any(not np.array_equal(first, second) for first, second in classes)
    assert all(len(set(part.tolist())) == 9 for c in classes for part in c)


def test_the_published_assignment_uses_the_first_classes_only():
    task = tasks.context_dependence(left_out=3)
    drawn = [class_assignment(task, 10, seed=seed, assign="first") for seed in range(40)]
    for parts in drawn:
        assert [sorted(part.tolist()) for part in parts] == [[0, 1], [*range(6)], [*range(6)]]
    assert len({tuple(parts[1].tolist()) for parts in drawn}) > 20
    assert any(parts[1].tolist() != parts[2].tolist() for parts in drawn)


def test_balanced_draws_use_every_picture_equally():
    found = composed().draw(12, balanced=True)
    for row in range(4):
        counts = np.unique(which(found)[found.rows == row], return_counts=True)[1]
        assert counts.tolist() == [2] * 6
    assert len(np.unique(np.bincount(which(composed().draw(12))))) > 1


def test_components_can_share_their_classes():
    task = tasks.symbolic_addition(range(-4, 5), [0])
    first, second = class_assignment(task, 10, seed=3, assign="same")
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, class_assignment(task, 10, seed=3)[0])
    # Superimposed at distance 0, (a, b) and (b, a) then look alike.
    found = compose_images(
        task, np.eye(10)[:, None, :], np.arange(10), distance=0, combine="maximum",
        assign="same", seed=3,
    ).draw(1)  # fmt: skip
    grid = found[:].reshape(9, 9, -1)
    np.testing.assert_array_equal(grid, grid.transpose(1, 0, 2))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"distance": -1},
            "distance is a whole number of at least 0; got -1; pass a whole number of at least 0",
        ),
        (
            {"distance": 0.5},
            "distance is a whole number of at least 0; got 0.5; pass a whole number of at least 0",
        ),
        (
            {"combine": "mean"},
            'combine is "channels", "maximum" or "sum"; got \'mean\'; choose one of them',
        ),
        (
            {"assign": "none"},
            'assign is "every", "first" or "same"; got \'none\'; choose one of them',
        ),
        (
            {"training_images": 1.0},
            "training_images is a number of images of each class, or a share of them between 0 "
            "and 1; got 1.0; pass 200 or 0.5, say",
        ),
        (
            {"labels": np.zeros(24, dtype=int)},
            "every value of a component needs a separate class; got 4 values and 1 classes; "
            "pass images of more classes",
        ),
        (
            {"labels": np.full(24, 1)},
            "every class from 0 to the last needs images; got none of class 0; number the classes "
            "without gaps",
        ),
        (
            {"labels": np.arange(3)},
            "labels are a whole number for each image; got shape (3,) of int64 for 24 images; "
            "number the classes",
        ),
        (
            {"labels": np.arange(24.0)},
            "labels are a whole number for each image; got shape (24,) of float64 for 24 images; "
            "number the classes",
        ),
        (
            {"labels": np.arange(24) - 1},
            "classes are numbered from 0; got label -1; number them without gaps",
        ),
        (
            {"seed": -1},
            "seed is a whole number of at least 0; got -1; pass a whole number of at least 0",
        ),
        (
            {"seed": True},
            "seed is a whole number of at least 0; got True; pass a whole number of at least 0",
        ),
        (
            {"images": np.full((24, 3, 4), np.nan)},
            "grey levels of images are finite; got NaN or infinity; leave those images out",
        ),
        (
            {"images": np.ones((24, 3, 0))},
            "images are floating-point, of shape (k, height, width) or (k, height, width, "
            "channels); got shape (24, 3, 0) of float64; divide grey levels by the largest, for "
            "example",
        ),
        (
            {"images": np.ones((24, 3, 4), dtype=np.uint8)},
            "images are floating-point, of shape (k, height, width) or (k, height, width, "
            "channels); got shape (24, 3, 4) of uint8; divide grey levels by the largest, for "
            "example",
        ),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    images, labels = pictures()
    arguments = {"images": images, "labels": labels, "distance": 1, "seed": 0}
    # Arrays are converted at the door.
    bare = change.keys() & {"images", "labels"}
    compose: Callable = unwrap(compose_images) if bare else compose_images
    with pytest.raises(InputError) as caught:
        compose(single(), **(arguments | change))
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"rows": np.ones(3, dtype=bool)},
            "rows are numbers below 4, the rows of the task, or a bool for each; got shape (3,) of "
            "bool; pass task.is_train, say",
        ),
        (
            {"rows": np.array([0, 4])},
            "rows are numbers below 4, the rows of the task, or a bool for each; got 0 to 4; pass "
            "task.is_train, say",
        ),
        (
            {"draw": -1},
            "draw is a whole number of at least 0; got -1; pass a whole number of at least 0, or "
            "leave it out for 0",
        ),
        ({"balanced": "no"}, "balanced is True or False; got 'no'; choose one of them"),
    ],
)
def test_errors_of_draws(options, sentence):
    with pytest.raises(InputError) as caught:
        composed().draw(2, **options)
    assert str(caught.value) == sentence


def test_errors_of_class_assignment():
    with pytest.raises(InputError) as caught:
        class_assignment(single(), 0, seed=0)
    assert str(caught.value) == (
        "n_classes is a whole number of at least 1; got 0; pass a whole number of at least 1"
    )
    with pytest.raises(InputError, match="seed is a whole number of at least 0; got -3; pass a"):
        class_assignment(single(), 4, seed=-3)


def test_permutations_of_classes_are_even():
    # Of 3 values and 4 classes, each of 24 assignments is drawn 2400 / 24 = 100 times, give or
    # take 9.8; the two components are drawn apart, so that they agree in a 24th: 100 times.
    task = tasks.symbolic_addition(range(-1, 2), [0])
    drawn = [class_assignment(task, 4, seed=seed) for seed in range(2400)]
    for component in range(2):
        counts = Counter(tuple(each[component].tolist()) for each in drawn)
        assert len(counts) == 24
        assert max(abs(count - 100) for count in counts.values()) < 45
    assert abs(sum(np.array_equal(*each) for each in drawn) - 100) < 45


def test_a_pool_without_images_is_told():
    with pytest.raises(InputError) as caught:
        composed(training_images=6).compositional(3)
    assert str(caught.value) == (
        "every class that is shown needs an image that is held out; got class 0 of 6 images, 6 of "
        "them for training; pass more images, or change training_images"
    )
    with pytest.raises(InputError, match=r"an image that is for training; got class 0 of 6 images"):
        composed(training_images=0.1).training(3)
    with pytest.raises(InputError, match="per_tuple is a whole number of at least 1; got 0; pass"):
        composed().training(0)


@pytest.mark.parametrize("seed", range(3))
def test_classes_are_drawn_apart_from_the_rows_of_dispersed_addition(seed):
    # With as many classes as values both are permutations, which one stream would make equal.
    task = tasks.dispersed_addition(range(9), 1, seed=seed)
    partners = task.is_train.reshape(9, 9).argmax(axis=1)
    assert sorted(partners.tolist()) == list(range(9))
    first, second = class_assignment(task, 9, seed=seed)
    assert first.tolist() != partners.tolist() != second.tolist()
    # A seed alone is the same stream as that of the seed and 0.
    alone = np.random.default_rng([seed, 0]).permutation(9)
    assert alone.tolist() == partners.tolist()
