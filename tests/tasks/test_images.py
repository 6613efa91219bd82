"""Composite images from tiny synthetic pictures."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.tasks.images import class_assignment, compose_images, digit_images


def pictures(n_classes=4, each=6, height=3, width=4):
    """Return pictures whose every pixel names its image: image i holds i + column / 100."""
    labels = np.tile(np.arange(n_classes), each)
    images = np.arange(len(labels))[:, None, None] + np.arange(width)[None, None, :] / 100.0
    return np.repeat(images, height, axis=1), labels


def single(n_values=4):
    """Return a task of one component: composites are the pictures themselves."""
    return tasks.Task(
        np.arange(n_values)[:, None], np.zeros(n_values), np.arange(n_values) < 2,
        ("only",), (tuple(range(n_values)),),
    )  # fmt: skip


@pytest.mark.parametrize("distance", [0, 1, 7])
@pytest.mark.parametrize("n_components", [2, 3])
def test_canvas_and_rows(distance, n_components):
    images, labels = pictures()
    task = tasks.symbolic_addition(range(-1, 2), [0], n_components=n_components)
    found, rows = compose_images(task, images, labels, 5, distance=distance, seed=0)
    assert found.shape == (5 * 3**n_components, 3, 4 + distance * (n_components - 1))
    np.testing.assert_array_equal(rows, np.repeat(np.arange(3**n_components), 5))


def test_classes_show_values_and_single_pictures_pass_unchanged():
    images, labels = pictures()
    found, rows = compose_images(single(), images, labels, 8, distance=3, seed=1)
    shown = np.floor(found[:, 0, 0]).astype(int)
    np.testing.assert_array_equal(found, images[shown])
    (assigned,) = class_assignment(single(), 4, seed=1)
    np.testing.assert_array_equal(labels[shown], assigned[rows])


def test_maximum_with_edge_padding():
    # Two classes with one picture each; the components' pictures are known.
    images = np.array([[[0.1, 0.2, 0.3]], [[0.25, 0.05, 0.15]]])
    labels = np.array([0, 1])
    task = tasks.invariance()
    found, rows = compose_images(task, images, labels, 1, distance=2, seed=0)
    left, right = class_assignment(task, 2, seed=0)
    for composite, row in zip(found, rows, strict=True):
        a, b = task.components[row]
        first = images[left[a], 0][[0, 1, 2, 2, 2]]
        second = images[right[b], 0][[0, 0, 0, 1, 2]]
        np.testing.assert_array_equal(composite[0], np.maximum(first, second))
    added, _ = compose_images(task, images, labels, 1, distance=2, combine="sum", seed=0)
    assert np.all(added >= found)
    assert np.any(added > found)


def test_training_and_held_out_tuples_draw_from_disjoint_pools():
    images, labels = pictures()
    for seed in range(5):
        found, rows = compose_images(
            single(), images, labels, 60, distance=0, disjoint=True, seed=seed
        )
        again, _ = compose_images(
            single(), images, labels, 60, distance=0, disjoint=True, seed=seed, draw=1
        )
        shown = np.floor(np.concatenate([found, again])[:, 0, 0]).astype(int)
        # The same classes for both splits: give every value the other split's role as well.
        flipped = single()
        flipped = tasks.Task(
            flipped.components, flipped.targets, ~flipped.is_train, flipped.names, flipped.values
        )
        other, _ = compose_images(flipped, images, labels, 60, distance=0, disjoint=True, seed=seed)
        others = np.floor(other[:, 0, 0]).astype(int)
        for row in range(4):
            one = set(shown[np.tile(rows, 2) == row])
            two = set(others[rows == row])
            assert len(one) == len(two) == 3
            assert not one & two


def test_seeds_and_draws():
    images, labels = digit_images()
    task = tasks.symbolic_addition(range(-4, 5), [0])
    one, _ = compose_images(task, images, labels, 2, distance=4, seed=0)
    same, _ = compose_images(task, images, labels, 2, distance=4, seed=0)
    drawn, _ = compose_images(task, images, labels, 2, distance=4, seed=0, draw=1)
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, drawn)
    classes = [class_assignment(task, 10, seed=seed) for seed in range(40)]
    assert len({tuple(c[0].tolist()) for c in classes}) == 40
    # All ten classes serve, the last one too, and components differ.
    assert {int(value) for c in classes for value in c[0]} == set(range(10))
    assert any(not np.array_equal(first, second) for first, second in classes)
    assert all(len(set(part.tolist())) == 9 for c in classes for part in c)


def test_balanced_draws_use_every_picture_equally():
    images, labels = pictures()
    found, rows = compose_images(single(), images, labels, 12, distance=0, balanced=True, seed=0)
    shown = np.floor(found[:, 0, 0]).astype(int)
    for row in range(4):
        assert sorted(np.unique(shown[rows == row], return_counts=True)[1]) == [2] * 6
    free, _ = compose_images(single(), images, labels, 12, distance=0, seed=0)
    assert len(np.unique(np.bincount(np.floor(free[:, 0, 0]).astype(int)))) > 1


def test_components_can_share_their_classes():
    task = tasks.symbolic_addition(range(-4, 5), [0])
    first, second = class_assignment(task, 10, seed=3, same_classes=True)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, class_assignment(task, 10, seed=3)[0])
    # Superimposed at distance 0, (a, b) and (b, a) then look alike.
    images, labels = np.eye(10)[:, None, :], np.arange(10)
    found, _ = compose_images(task, images, labels, 1, distance=0, same_classes=True, seed=3)
    grid = found.reshape(9, 9, -1)
    np.testing.assert_array_equal(grid, grid.transpose(1, 0, 2))


def test_digits_are_the_bundled_ones():
    images, labels = digit_images()
    assert images.shape == (1797, 8, 8)
    assert (images.min(), images.max()) == (0.0, 1.0)
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"per_tuple": 0}, "per_tuple counts composites from 1; got 0; ask for some"),
        ({"distance": -1}, "distance is at least 0 pixels; got -1; use 0 to superimpose"),
        ({"combine": "mean"}, "combine is one of maximum, sum; got 'mean'; choose one of them"),
        (
            {"labels": np.zeros(24, dtype=int)},
            "every value of a component needs a class of its own; got 4 values and 1 classes; "
            "pass images of more classes",
        ),
        (
            {"labels": np.full(24, 1)},
            "every class needs at least 1 images; got one with 0; number the classes without gaps",
        ),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    images, labels = pictures()
    arguments = {"images": images, "labels": labels, "per_tuple": 1, "distance": 0, "seed": 0}
    with pytest.raises(InputError) as caught:
        compose_images(single(), **{**arguments, **change})
    assert str(caught.value) == sentence
