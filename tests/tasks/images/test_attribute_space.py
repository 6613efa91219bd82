"""Spaces of one's own attributes do what spaces of shapes do, with a renderer of one's own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from partwhole._checks import InputError
from partwhole.tasks import circles
from partwhole.tasks.images import AttributeSpace
from partwhole.tasks.shapes.graph import concept_graph
from partwhole.tasks.shapes.renderer import render_shapes
from partwhole.tasks.shapes.splits import adversarial_split, distance_one, leave_out

THREE = {"shape": ["disc", "star"], "colour": ["red", "light blue", "grey"], "size": [1, 2]}


def refusal(call, *values, **options) -> str:
    with pytest.raises(InputError) as caught:
        call(*values, **options)
    return str(caught.value)


@pytest.fixture
def space():
    return AttributeSpace(THREE)


def drawn(shape, colour, size, rng):
    """Return a picture whose levels say what was asked for, with noise in one pixel."""
    labels = [THREE["shape"].index(shape), THREE["colour"].index(colour), size]
    return np.array([[*labels, 4.0 * rng.random()]])[..., None] / 4


# --- the same as a space of shapes


@pytest.fixture(params=[False, True], ids=["two concepts", "three concepts"])
def both(request):
    shapes = circles(0.8, background_separation=0.8 if request.param else None)
    return shapes, AttributeSpace(dict(zip(shapes.names, shapes.words, strict=True)))


def test_classes_words_and_tokens_are_those_of_a_space_of_shapes(both):
    shapes, space = both
    assert (space.names, space.words, space.n_values) == (
        shapes.names,
        shapes.words,
        shapes.n_values,
    )
    assert space.vocabulary == shapes.vocabulary
    np.testing.assert_array_equal(space.classes, shapes.classes)
    assert [f"{space.label(k)} circle" for k in range(space.n_classes)] == [
        shapes.label(k) for k in range(shapes.n_classes)
    ]
    for asked in (0, "blue", "small blue", ("small", "blue"), ""):
        np.testing.assert_array_equal(space.select(asked), shapes.select(asked))
    for asked in ("blue small", ["blue", "small red", ""], [3, 0], 2, range(4), np.arange(3)):
        np.testing.assert_array_equal(space.tokens(asked), shapes.tokens(asked))


def test_splits_and_graph_are_those_of_a_space_of_shapes(both):
    shapes, space = both
    for split, asked in (
        (leave_out, "blue small"),
        (leave_out, [0, 3]),
        (distance_one, 0),
        (adversarial_split, 0),
    ):
        np.testing.assert_array_equal(split(space, asked), split(shapes, asked))
    np.testing.assert_array_equal(concept_graph(space).edges, concept_graph(shapes).edges)


def test_the_task_is_that_of_a_space_of_shapes_with_labels_for_targets(both):
    shapes, space = both
    is_train = leave_out(shapes, "blue small")
    task, of_shapes = space.task(is_train), shapes.task(is_train)
    np.testing.assert_array_equal(task.components, of_shapes.components)
    assert (task.names, task.values) == (of_shapes.names, of_shapes.values)
    np.testing.assert_array_equal(task.targets, of_shapes.one_hot())


def test_a_renderer_that_draws_circles_draws_those_of_the_space_of_shapes(both):
    shapes, space = both
    means = shapes.mean_attributes()

    def draw(*labels):
        *words, _ = labels
        return render_shapes(means.take([shapes.index(words)]), 12, noise=0, seed=0)[0]

    pictures = space.render(draw, 2, seed=0)
    expected = shapes.sample(2, side=12, jitter=False, noise=0.0, seed=0)
    np.testing.assert_array_equal(pictures.images, expected.images)
    np.testing.assert_array_equal(pictures.components, expected.components)
    np.testing.assert_array_equal(pictures.tokens(), expected.tokens())


# --- labels as they are


def test_words_of_labels():
    space = AttributeSpace({"left part": [1, 2], "right": [2, 3.5], "is new": [True, False]})
    assert space.words == (("1", "left-part=2"), ("right=2", "3.5"), ("True", "False"))
    assert space.index("3.5 1 False") == space.index([1, 3.5, False]) == 3
    assert space.values == ((1, 2), (2, 3.5), (True, False))
    assert space.task(np.arange(8) > 0).values == space.values


def test_labels_of_numpy_and_pandas_are_plain():
    column = pd.Series(["b", "a"])
    space = AttributeSpace({"a": np.arange(2), "b": column, "c": ("x y", "z")})
    assert space.values == ((0, 1), ("b", "a"), ("x y", "z"))
    assert all(type(label) is int for label in space.values[0])
    assert space.label(1) == "0 b z"
    assert space.select(["x y"]).sum() == 4


def test_a_space_says_what_it_has(space):
    assert space.describe() == (
        "3 concepts, 12 classes\nshape: disc, star\ncolour: red, light-blue, grey\nsize: 1, 2"
    )
    many = AttributeSpace({"letter": [f"l{i}" for i in range(20)]})
    assert many.describe().endswith("l10, l11 and 8 more")


SPACES = {
    "none": ({}, "a space has at least one concept; got none; name its labels"),
    "one label": (
        {"shape": ["disc"]},
        "a concept has two labels or more; got 1 of 'shape', 'disc'; leave out a concept that "
        "never changes",
    ),
    "twice": (
        {"shape": ["disc", "disc"]},
        "labels of a concept differ in more than capitals and blanks; got 'disc' and 'disc' in "
        "'shape'; write one label in one way",
    ),
    "capitals": (
        {"shape": ["disc", "Disc"]},
        "labels of a concept differ in more than capitals and blanks; got 'disc' and 'Disc' in "
        "'shape'; write one label in one way",
    ),
    "blanks": (
        {"colour": ["light blue", " light-blue "]},
        "labels of a concept differ in more than capitals and blanks; got 'light blue' and "
        "' light-blue ' in 'colour'; write one label in one way",
    ),
    "a word of two labels": (
        {"a": [1, 2], "b": [1, 3], "c": ["a=1", "x"]},
        "each label has a word of its own; got 5 words for 6 labels; leave '=' out of labels",
    ),
    "NaN": (
        {"shape": ["disc", float("nan")]},
        "labels are text, numbers or booleans, none of them missing or empty; got nan in 'shape'; "
        "fill it in, or drop those rows",
    ),
    "empty": (
        {"shape": ["disc", " "]},
        "labels are text, numbers or booleans, none of them missing or empty; got ' ' in 'shape'; "
        "fill it in, or drop those rows",
    ),
    "lists": (
        {"shape": ["disc", ["star"]]},
        "labels are text, numbers or booleans, none of them missing or empty; got ['star'] in "
        "'shape'; fill it in, or drop those rows",
    ),
}


@pytest.mark.parametrize(("labels", "sentence"), SPACES.values(), ids=SPACES)
def test_labels_that_are_refused(labels, sentence):
    assert refusal(AttributeSpace, labels) == sentence


def test_names_of_combinations_that_are_refused(space):
    words = "disc, star, red, light-blue, grey, 1, 2"
    rule = f"prompts are made of {words}; got"
    assert refusal(space.select, "light blue disc") == f"{rule} 'light'; use these words"
    assert refusal(space.tokens, ["disc", "Star"]) == f"{rule} 'Star'; use these words"
    assert refusal(space.select, "disc star") == (
        "a prompt names one shape; got disc star; leave one of the words out"
    )
    assert refusal(space.index, "disc red") == (
        "a class is identified by a word of each concept, shape, colour, size; got 'disc red', "
        "which matches 2 classes; name one word of each"
    )
    number = "classes are numbered 0..11; got 12; or name the class in words"
    assert refusal(space.select, 12) == refusal(space.tokens, [3, 12]) == number
    assert refusal(space.tokens, ["disc", 2]) == "prompts[1] is text; got 2; pass text"
    assert refusal(leave_out, "circles", "disc").startswith("space is")


# --- renderers


def test_a_renderer_is_called_with_the_labels_of_each_class(space):
    pictures = space.render(drawn, 3, seed=0)
    assert (len(pictures), pictures.shape) == (36, (1, 4, 1))
    assert pictures.images.dtype == np.float32
    levels = np.rint(4 * pictures.images[:, 0, :3, 0]).astype(int)
    np.testing.assert_array_equal(levels - [0, 0, 1], pictures.components)
    assert pictures.table.columns.tolist() == ["shape", "colour", "size"]
    assert pictures.table.iloc[-1].tolist() == ["star", "grey", 2]
    np.testing.assert_array_equal(pictures.classes, np.repeat(np.arange(12), 3))


def test_more_pictures_begin_with_the_fewer_and_other_classes_do_not_matter(space):
    few, many = (space.render(drawn, n, seed=3) for n in (2, 5))
    is_train = leave_out(space, "star grey")
    some = space.render(drawn, 5, is_train=is_train, seed=3)
    for k in range(12):
        all_of_them = many.images[many.classes == k]
        np.testing.assert_array_equal(few.images[few.classes == k], all_of_them[:2])
        seen = some.images[some.classes == k]
        np.testing.assert_array_equal(seen, all_of_them if is_train[k] else all_of_them[:0])
    by_new_seed = space.render(drawn, 2, seed=4)
    assert not np.array_equal(by_new_seed.images, few.images)
    assert len(np.unique(few.images[:, 0, 3])) == len(few)


def test_classes_may_have_different_numbers_of_pictures(space):
    counts = np.arange(12)
    np.testing.assert_array_equal(space.render(drawn, counts, seed=0).counts, counts)


def test_grey_pictures_and_masks_get_a_channel(space):
    for renderer in (lambda *_: np.eye(3), lambda *_: np.eye(3) > 0, lambda *_: np.eye(3).tolist()):
        pictures = space.render(renderer, 1, seed=0)
        np.testing.assert_array_equal(pictures.images[0, :, :, 0], np.eye(3))


ARRAY = "a renderer returns an array of floats of shape (height, width), or with channels last; got"
RENDERERS = {
    "none": (lambda *_: None, f"{ARRAY} NoneType for 'disc red 1'; return such an array"),
    "text": (lambda *_: "disc", f"{ARRAY} str for 'disc red 1'; return such an array"),
    "ragged": (
        lambda *_: [[0.0], [0.0, 1.0]],
        f"{ARRAY} list for 'disc red 1'; return such an array",
    ),
    "one axis": (
        lambda *_: np.zeros(9),
        f"{ARRAY} shape (9,) of float64 for 'disc red 1'; return such an array",
    ),
    "a batch": (
        lambda *_: np.zeros((1, 3, 3, 3)),
        f"{ARRAY} shape (1, 3, 3, 3) of float64 for 'disc red 1'; return such an array",
    ),
    "empty": (
        lambda *_: np.zeros((0, 3)),
        f"{ARRAY} shape (0, 3) of float64 for 'disc red 1'; return such an array",
    ),
    "levels of 8 bits": (
        lambda *_: np.zeros((3, 3), np.uint8),
        f"{ARRAY} shape (3, 3) of uint8 for 'disc red 1'; divide levels of 8 bits by 255",
    ),
    "NaN": (
        lambda *_: np.array([[0.0, np.nan], [np.inf, 1.0]]),
        "a renderer returns finite numbers; got 2 of 4 that are NaN or infinite for 'disc red 1'; "
        "correct the renderer for these values",
    ),
    "above 1": (
        lambda *_: np.array([[0.0, 255.0]]),
        "a renderer returns levels in 0..1; got 0..255 for 'disc red 1'; clip them, or divide by "
        "the largest",
    ),
    "below 0": (
        lambda *_: np.array([[-1.0, 1.0]]),
        "a renderer returns levels in 0..1; got -1..1 for 'disc red 1'; clip them, or divide by "
        "the largest",
    ),
    "another shape later": (
        lambda shape, *_: np.zeros((3, 3 if shape == "disc" else 4)),
        "a renderer returns pictures of one shape; got (3, 4, 1) for 'star red 1' after (3, 3, 1); "
        "return all in the same height, width and channels",
    ),
}


@pytest.mark.parametrize(("renderer", "sentence"), RENDERERS.values(), ids=RENDERERS)
def test_renderers_that_are_refused(space, renderer, sentence):
    assert refusal(space.render, renderer, 2, seed=0) == sentence


def test_what_a_renderer_raises_is_left_as_it_is(space):
    with pytest.raises(ZeroDivisionError):
        space.render(lambda *_: 1 / 0, 1, seed=0)


def test_counts_and_memory_that_are_refused(space):
    counts = "counts are a whole number, or one for each of the 12 classes; got"
    assert refusal(space.render, drawn, [1, 2], seed=0) == f"{counts} [1, 2]; pass 64, say"
    assert refusal(space.render, drawn, -1, seed=0).startswith(f"{counts} shape (12,)")
    none = "at least one picture is drawn; got none; pass the number of them"
    assert refusal(space.render, drawn, 0, seed=0) == none
    is_train = np.ones(3, bool)
    assert refusal(space.render, drawn, 1, is_train=is_train, seed=0) == (
        "is_train says of each of the 12 classes whether it is seen; got 3 entries; pass the "
        "result of leave_out, for example"
    )
    # 12 pictures of 4 numbers of 4 bytes.
    assert refusal(space.render, drawn, 1, seed=0, memory=191 / 2**30) == (
        "pictures may take 1.77883e-07 GiB; got 1.79e-07 GiB for 12 of 1 x 4 x 1; draw fewer or "
        "smaller, or raise memory"
    )
    assert len(space.render(drawn, 1, seed=0, memory=192 / 2**30)) == 12
