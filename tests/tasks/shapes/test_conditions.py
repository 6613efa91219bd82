"""What models are told: numbers and words, with parts hidden or overstated."""

from __future__ import annotations

from inspect import unwrap
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.tasks import ConceptSpace, circles
from partwhole.tasks.shapes.altered import published_over_prompts
from partwhole.tasks.shapes.concept import Concept

SPACE = circles(0.6, background_separation=0.4, shapes=("circle", "triangle"))
MEANS = circles().mean_attributes()
PLACES = ConceptSpace((
    Concept.around("size", {"small": 0.2, "medium": 0.4, "big": 0.6}),
    Concept.around("place", {"left": -0.4, "right": 0.4}, field="y"),
))  # fmt: skip


def test_published_conditions_of_two_by_two():
    space = circles(0.8)
    found = space.class_conditions(layout="published")
    expected = np.zeros((4, 11))
    expected[:, 4:7] = [[0.9, 0.1, 0.1]] * 2 + [[0.1, 0.1, 0.9]] * 2
    expected[:, 7] = [0.65, 0.25, 0.65, 0.25]
    np.testing.assert_allclose(found, expected, atol=1e-15)
    np.testing.assert_array_equal(space.class_conditions(), found[:, 4:8])


@pytest.mark.parametrize(("space", "width"), [(SPACE, 9), (PLACES, 2), (circles(), 4)])
def test_layouts_agree_and_tell_what_was_drawn(space, width):
    attributes, _ = space.draw(5, seed=1)
    vector = space.conditions(attributes)
    published = space.conditions(attributes, layout="published")
    assert vector.shape == (len(attributes), width)
    told = (published != 0).any(axis=0)
    np.testing.assert_array_equal(published[:, told], vector[:, (vector != 0).any(axis=0)])
    np.testing.assert_array_equal(published[:, told], attributes.encoded()[:, told])
    for name, columns in (("kind", [0, 1]), ("y", [3]), ("background", [8, 9, 10])):
        assert told[columns].all() == told[columns].any() == (name in space.fields)


def test_vectors_keep_the_published_order_whatever_the_concepts_have():
    turned = ConceptSpace(PLACES.concepts[::-1])
    one = PLACES.class_conditions([PLACES.index("big left")])
    other = turned.class_conditions([turned.index("big left")])
    assert one.tolist() == other.tolist() == [[-0.4, 0.6]]


@pytest.mark.parametrize("space", [SPACE, PLACES])
def test_tokens_are_words_in_any_order(space):
    named = {index: word for word, index in space.vocabulary.items()}
    assert sorted(named) == list(range(1, 1 + sum(space.n_values)))  # 0 is kept for no word
    rows = space.tokens(range(space.n_classes))
    for i, row in enumerate(rows):
        assert [named[index] for index in row] == space.label(i).split()[: len(row)]
    label = space.label(space.n_classes - 1).split()
    for words in permutations(label):
        assert space.tokens(" ".join(words)).tolist() == [rows[-1].tolist()]
    assert space.tokens(np.array([1])).tolist() == space.tokens(1).tolist() == [rows[1].tolist()]


def test_words_that_are_not_there():
    assert circles().tokens(["", "circle", "small", "small small"]).tolist() == [
        [0, 0], [0, 0], [0, 4], [0, 4],
    ]  # fmt: skip


@given(
    st.floats(0, 1), st.floats(0, 1), st.integers(0, 3), st.sampled_from(["vector", "published"])
)
def test_masks_hide_one_concept_in_a_share_of_rows(low, high, seed, layout):
    space = circles(0.6, background_separation=0.4)
    low, high = sorted((low, high))
    attributes, classes = space.draw(6, seed=0)
    told = space.conditions(attributes, layout=layout)
    before, red = told.copy(), space.select("red")[classes]
    columns = {"vector": slice(0, 3), "published": slice(4, 7)}[layout]
    hidden = []
    for share in (low, high):
        masked = space.mask_conditions(told, "colour", rows=red, share=share, value=-1.0, seed=seed)
        changed = masked != told
        rows = changed.any(axis=1)
        assert rows.sum() == int(np.floor(share * red.sum() + 0.5))
        assert not rows[~red].any()
        assert (masked[rows, columns] == -1.0).all()
        rest = np.delete(changed, np.arange(told.shape[1])[columns], axis=1)
        assert not rest.any()
        hidden.append(rows)
    assert not (hidden[0] & ~hidden[1]).any()
    np.testing.assert_array_equal(told, before)


def test_masks_of_tokens_and_of_several_concepts():
    space = SPACE
    tokens = space.tokens(range(space.n_classes))
    found = space.mask_conditions(tokens, ["shape", "size"], rows=np.array([3, 4]))
    expected = tokens.copy()
    expected[[3, 4]] = tokens[[3, 4]] * [0, 1, 0, 1]
    np.testing.assert_array_equal(found, expected)
    numbers = space.mask_conditions(space.class_conditions(), ["shape", "size"])
    assert (numbers[:, [0, 1, 5]] == 0).all()
    np.testing.assert_array_equal(numbers[:, [2, 3, 4]], space.class_conditions()[:, [2, 3, 4]])
    # The vector's columns are in the published order, whatever the concepts have.
    assert PLACES.mask_conditions(PLACES.class_conditions(), "size")[0].tolist() == [-0.4, 0.0]


def test_seeds_choose_other_rows():
    space = circles()
    told = space.class_conditions(list(range(4)) * 10)
    one, other = (space.mask_conditions(told, "size", share=0.5, seed=seed) for seed in (0, 1))
    assert not np.array_equal(one, other)


def test_published_over_prompts():
    expected = [
        [0.4, 0.4, 0.6, 0.3], [0.35, 0.35, 0.65, 0.3], [0.25, 0.25, 0.75, 0.3],
        [0.15, 0.15, 0.85, 0.3], [0.05, 0.05, 0.95, 0.3],
    ]  # fmt: skip
    np.testing.assert_allclose(published_over_prompts(), expected, atol=1e-15)
    for amounts_are, amounts in (
        ("further", [0.0, 0.05, 0.15, 0.25, 0.35]),
        ("from the middle", [0.1, 0.15, 0.25, 0.35, 0.45]),
    ):
        found = circles(0.2).over_prompts("blue small", amounts, amounts_are=amounts_are)
        np.testing.assert_allclose(found[:, :3], np.array(expected)[:, :3], atol=1e-12)
        np.testing.assert_allclose(found[:, 3], 0.25, atol=1e-15)


@pytest.mark.parametrize("amounts_are", ["further", "from the middle", "multiples"])
@pytest.mark.parametrize("concept", ["colour", "size", "background"])
def test_over_prompts_move_one_concept_within_its_range(amounts_are, concept):
    space = circles(0.4, background_separation=0.4)
    base = space.class_conditions([5], layout="published")[0]
    columns = {"colour": slice(4, 7), "size": slice(7, 8), "background": slice(8, 11)}[concept]
    found = space.over_prompts(
        5, [0.0, 0.2, 0.5, 9.0], concept=concept, amounts_are=amounts_are, layout="published"
    )
    rest = np.delete(found - base, np.arange(11)[columns], axis=1)
    assert not rest.any()
    assert (found >= 0).all()
    assert (found <= 1).all()
    if amounts_are != "from the middle":
        np.testing.assert_array_equal(found[0], base)
    assert {*found[3, columns].tolist()} <= {0.0, 1.0} | {*base[columns].tolist()}
    vector = space.over_prompts(5, [0.0, 0.2, 0.5, 9.0], concept=concept, amounts_are=amounts_are)
    np.testing.assert_array_equal(vector, found[:, 4:])


def test_multiples_go_on_from_the_other_values():
    found = circles(0.4).over_prompts("blue small", [0.5], amounts_are="multiples")
    np.testing.assert_allclose(found, [[0.1, 0.3, 0.9, 0.25]], atol=1e-15)
    found = PLACES.over_prompts("big left", [0.5], concept="size", amounts_are="multiples")
    np.testing.assert_allclose(found, [[-0.4, 0.75]], atol=1e-15)  # .6 + .5 (.6 - .3)
    found = PLACES.over_prompts("big left", [0.25, 2.0], concept="place")
    np.testing.assert_allclose(found, [[-0.65, 0.6], [-1.0, 0.6]], atol=1e-15)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: circles().tokens("green"), "prompts are made of red, blue, big, small and circle"),
        (lambda: circles().tokens("red blue"), "a prompt names one colour; got red blue; leave"),
        (lambda: circles().tokens([4]), r"classes are numbered 0\.\.3; got 4; or name"),
        (
            lambda: unwrap(ConceptSpace.tokens)(circles(), ["red", 1]),
            "prompts are all texts or all numbers of classes; got 1 texts among 2; turn numbers",
        ),
        (
            lambda: circles().conditions(MEANS, layout="long"),
            'layout is "vector" or "published"; got .long.; choose one of them',
        ),
        (
            lambda: circles().mask_conditions(np.zeros((2, 5)), "size"),
            r"conditions have 4 columns, or 11 in the published layout; got shape \(2, 5\)",
        ),
        (
            lambda: circles().mask_conditions(np.zeros((2, 4), dtype=int), "size"),
            r"tokens have 2 columns, one for each concept; got shape \(2, 4\); pass the result",
        ),
        (
            lambda: circles().mask_conditions(circles().tokens([0]), "size", value=-1),
            "the value of a masked concept is 0 for tokens; got -1; pass 0",
        ),
        (lambda: circles().mask_conditions(np.zeros((2, 4)), "hue"), "the concepts are colour, s"),
        (
            lambda: circles().mask_conditions(np.zeros((2, 4)), "size", share=1.5, seed=0),
            r"share is a finite number from 0 to 1; got 1\.5; pass a number from 0 to 1",
        ),
        (
            lambda: circles().mask_conditions(np.zeros((2, 4)), "size", share=0.5),
            "rows are chosen by a seed; got share 0.5 without one; pass seed",
        ),
        (lambda: SPACE.over_prompts(0, [0.1], concept="shape"), "a kind can't be overstated; got"),
        (lambda: circles().over_prompts(0, [np.inf]), r"amounts\[0\] is a finite number; got inf"),
        (lambda: circles().over_prompts("blue", [0.1]), "a class is identified by a word of each"),
        (
            lambda: PLACES.over_prompts("medium left", [0.1], concept="size"),
            "an overstated value of size differs from the middle value; got 'medium', which",
        ),
        (
            lambda: circles().over_prompts(0, [0.1], amounts_are="more"),
            'amounts_are is "further", "from the middle" or "multiples"; got .more.; choose',
        ),
    ],
)  # fmt: skip
def test_errors(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
