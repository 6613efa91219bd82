"""Concept spaces: their classes, words and laws, and the published ones by their numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.measures.concepts import decode_shapes
from partwhole.tasks import ConceptSpace, circles
from partwhole.tasks.shapes.concept import Concept, Law
from partwhole.tasks.shapes.published import CONCEPT_SIGNALS, CONCEPT_SIGNALS_SHOWN
from partwhole.tasks.shapes.splits import leave_out

PLACE = Concept.around("place", {"left": -0.4, "middle": 0.0, "right": 0.4}, field="y")
SIZE = Concept.around("size", {"small": 0.2, "medium": 0.4, "big": 0.6, "huge": 0.8}, jitter=0.05)
SHAPE = Concept.around("shape", {"circle": 0, "triangle": 1}, field="kind")
EVERY = circles(0.6, background_separation=0.4, shapes=("circle", "triangle"))


@pytest.mark.parametrize(
    "space", [circles(), EVERY, ConceptSpace((SIZE,)), ConceptSpace((PLACE, SHAPE, SIZE))]
)
def test_classes_are_every_combination_in_order(space):
    expected = list(product(*(range(n) for n in space.n_values)))
    assert [tuple(row) for row in space.classes.tolist()] == expected
    assert space.n_classes == len(expected)
    for i, row in enumerate(expected):
        words = [words[value] for words, value in zip(space.words, row, strict=True)]
        assert space.label(i) == " ".join([*words, space.noun]).strip()
        assert space.index(" ".join(reversed(words))) == space.index(words) == space.index(i) == i


def test_published_numbers_of_two_by_two():
    space = circles(0.4, 0.4)
    assert space.names == ("colour", "size")
    assert space.classes.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]  # 2 * colour + size
    mean, low, high = space.laws
    expected = {
        "red": ([0.7, 0.3, 0.3], 0.05), "blue": ([0.3, 0.3, 0.7], 0.05),
    }  # fmt: skip
    for word, (centre, jitter) in expected.items():
        rows = space.select(word)
        np.testing.assert_allclose(mean[rows, 3:6], [centre] * 2, atol=1e-15)
        np.testing.assert_allclose(low[rows, 3:6], np.array([centre] * 2) - jitter, atol=1e-15)
        np.testing.assert_allclose(high[rows, 3:6], np.array([centre] * 2) + jitter, atol=1e-15)
    for word, ends in {"big": (0.65, 0.5, 0.8), "small": (0.25, 0.1, 0.4)}.items():
        found = np.array([each[space.select(word), 6] for each in (mean, low, high)])
        np.testing.assert_allclose(found, np.array(ends)[:, None] * np.ones(2), atol=1e-15)
    assert low[:, 6].min() == 0.1  # cut off there, not a rounding error below
    assert set(mean[:, 7:].ravel()) == {0.9}
    np.testing.assert_allclose([low[:, 7:].min(), high[:, 7:].max()], [0.8, 1.0], atol=1e-15)
    assert (mean[:, :3] == 0).all()
    assert low[0, 1:3].tolist() == [-0.5, -0.5]
    assert high[0, 1:3].tolist() == [0.5, 0.5]


@given(st.sampled_from(CONCEPT_SIGNALS), st.floats(0.01, 0.4), st.floats(0.01, 0.8))
def test_separations_are_those_asked_for(colour, size, background):
    space = circles(colour, size, background_separation=background)
    mean, low, high = space.laws
    assert (low <= mean).all()
    assert (mean <= high).all()
    red, blue = (mean[space.index(f"{word} big light"), 3:6] for word in ("red", "blue"))
    np.testing.assert_allclose(red - blue, [colour, 0, -colour], atol=1e-12)
    big, small = (mean[space.index(f"red {word} light"), 6] for word in ("big", "small"))
    assert big - small == pytest.approx(size, abs=1e-12)
    light, dark = (mean[space.index(f"red big {word}"), 7:] for word in ("light", "dark"))
    np.testing.assert_allclose(light - dark, [background] * 3, atol=1e-12)
    np.testing.assert_allclose((high - low)[:, 3:6], colour / 4, atol=1e-12)


def test_a_radius_is_cut_off_below():
    law = Law.about(0.25, 0.2, lowest=0.1)
    assert (law.low, law.high) == ((0.1,), (0.45,))


def test_published_sweep():
    expected = (
        0.1, 0.137, 0.174, 0.211, 0.247, 0.284, 0.321, 0.358, 0.395, 0.432, 0.468, 0.505, 0.542,
        0.579, 0.616, 0.653, 0.689, 0.726, 0.763, 0.8,
    )  # fmt: skip
    assert expected == CONCEPT_SIGNALS
    assert np.array_equal(CONCEPT_SIGNALS, np.round(np.linspace(0.1, 0.8, 20), 3))
    assert CONCEPT_SIGNALS_SHOWN == (0.137, 0.247, 0.358, 0.468, 0.579, 0.689)


def test_shapes_and_free_fields():
    assert circles(shapes=("triangle",)).mean_attributes().kind.tolist() == [1] * 4
    assert EVERY.mean_attributes().kind.tolist() == [0] * 8 + [1] * 8
    space = ConceptSpace((SIZE,), {"colour": Law.about((1.0, 0.0, 0.0))}, noun="")
    means = space.mean_attributes([3, 0])
    assert means.size.tolist() == [0.8, 0.2]
    assert means.colour.tolist() == [[1.0, 0.0, 0.0]] * 2
    assert "colour (1, 0, 0)" in space.describe()
    both = ConceptSpace((PLACE, SHAPE, SIZE))
    assert both.mean_attributes([both.index("right triangle huge")]).position.tolist() == [[0, 0.4]]
    assert "shape: circle, triangle" in both.describe()


def test_words_choose_classes():
    space = ConceptSpace((PLACE, SHAPE, SIZE))
    assert space.select("").all()
    for words in (["left"], ["triangle", "small"], ["medium", "circle", "right", "shape"]):
        expected = [set(words) <= {*space.label(i).split()} for i in range(space.n_classes)]
        assert space.select(words).tolist() == expected
    assert np.flatnonzero(space.select(5)).tolist() == [5]
    assert space.concept("size") is SIZE


def test_spaces_are_compared_by_what_they_are():
    assert circles() == circles()
    assert hash(circles()) == hash(circles())
    assert circles() != circles(0.3)
    assert circles() != circles(shapes=("triangle",))


def test_what_is_shared_can_not_be_written_to():
    space = circles()
    for array in (space.classes, *space.laws):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_task_targets_rest_on_one_concept_each():
    space = ConceptSpace((PLACE, SHAPE, SIZE))
    task = space.task(leave_out(space, "right triangle huge"))
    assert task.names == ("place", "shape", "size")
    assert task.values == space.words
    assert task.targets.shape == (24, 4)  # kind one-hot, y, size
    assert task.n_test == 1
    # Sums of what each concept's value is worth give all targets, the held-out one's too.
    inputs = task.one_hot()
    weights, *_ = np.linalg.lstsq(inputs[task.is_train], task.train_targets, rcond=None)
    np.testing.assert_allclose(inputs @ weights, task.targets, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: circles(0.9), "colour_separation is .* above 0 and at most 0.8; got 0.9;"),
        (lambda: circles(0.4, 0.0), "size_separation is .* above 0 and at most 0.4; got 0.0"),
        (lambda: circles(background_separation=np.nan), "background_separation is a finite"),
        (lambda: circles(shapes=("square",)), r"shapes are 'circle', 'triangle' or both"),
        (lambda: ConceptSpace(()), "a space has at least one concept; got none; make one by"),
        (lambda: ConceptSpace((SIZE, SIZE)), "every name of a space belongs to one concept; got"),
        (
            lambda: ConceptSpace(
                (SIZE, Concept.around("width", {"a": 0.1, "b": 0.2}, field="size"))
            ),
            "every field of a space belongs to one concept; got 'size' more than once; rename",
        ),
        (
            lambda: ConceptSpace((SIZE, Concept.around("x", {"small": 0.1, "b": 0.2}))),
            "every word of a space belongs to one concept; got 'small' more than once",
        ),
        (
            lambda: ConceptSpace((SIZE,), {"size": Law.about(0.3)}),
            "a free field is one that no concept decides; got 'size'; choose from kind, x",
        ),
        (
            lambda: ConceptSpace((SIZE,), {"x": Law.about(0.3, 2.0, highest=3.0)}),
            r"the law of the free field 'x' lies in -1\.\.1 with its mean between its ends; got",
        ),
        (lambda: Concept.around("hue", {"a": 0.1, "b": 0.2}), "a concept is one of the fields"),
        (lambda: Concept.around("size", {"a": 0.1}), "the concept 'size' has two or more"),
        (lambda: Concept.around("size", {"a b": 0.1, "c": 0.2}), "are words without blanks; got"),
        (lambda: Concept.around("colour", {"a": 0.1, "b": 0.2}), "has 3 numbers for its colour"),
        (lambda: Concept.around("size", {"a": 0.0, "b": 0.2}), r"above 0, with its mean between"),
        (lambda: Concept.around("size", {"a": 0.1, "b": 0.2}, jitter=-1.0), "of at least 0; got"),
        (lambda: Concept.around("kind", {"a": 0, "b": 1}, jitter=0.1), "a kind does not vary"),
        (lambda: Concept.around("kind", {"a": 0, "b": 0.5}), "is 0, a circle, or 1, a triangle"),
        (lambda: Concept("size", ("a", "b"), (Law.about(0.1),), "size"), "value .* has a law"),
        (
            lambda: circles().index("blue"),
            "a class is identified by a word of each concept, colour, s",
        ),
        (lambda: circles().index(4), r"classes are numbered 0\.\.3; got 4; or name the class"),
        (lambda: circles().select("red blue"), "a prompt names one colour; got red blue; leave"),
        (
            lambda: circles().select("green"),
            "prompts are made of red, blue, big, small and circle; got 'green'; use these words",
        ),
        (lambda: circles().concept("hue"), "the concepts are colour, size; got 'hue'; name one"),
        (lambda: circles().mean_attributes([4]), r"classes are numbered 0\.\.3; got 4"),
    ],
)
def test_errors(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


def test_a_field_that_is_none_is_refused():
    with pytest.raises(InputError, match='field is "kind", "x", "y", "colour", "size" or "backgr'):
        Concept("a", ("b", "c"), (Law.about(0), Law.about(1)), "hue")


def test_ends_are_those_of_every_concept():
    """In their order, so that a decoder has a column for each, places too; and it refuses kinds."""
    concepts = (
        Concept.around("across", {"left": -0.4, "right": 0.4}, field="y"),
        Concept.around("size", {"small": 0.25, "big": 0.5}),
        Concept.around("down", {"up": -0.3, "middle": 0.0, "low": 0.3}, field="x"),
    )
    space = ConceptSpace(concepts)
    ends = {name: [float(end) for end in pair] for name, pair in space.ends().items()}
    assert ends == {"y": [-0.4, 0.4], "size": [0.25, 0.5], "x": [-0.3, 0.3]}
    shown = space.sample(1, side=24, jitter=False, seed=0)
    coordinates = decode_shapes(shown.images).coordinates(space.ends())
    np.testing.assert_allclose(coordinates, space.classes / [1.0, 1.0, 2.0], atol=0.05)
    kinds = ConceptSpace((SHAPE, concepts[1])).ends()
    assert [int(end) for end in kinds["kind"]] == [0, 1]
    with pytest.raises(InputError) as caught:
        decode_shapes(shown.images).coordinates(kinds)
    assert str(caught.value) == (
        "concepts are among colour, size, background, position, x, y; got ['kind']; read kinds by "
        "a classifier of concepts"
    )
