"""Splits and the concept graph against walks from class to class."""

from __future__ import annotations

from collections import deque
from inspect import unwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.tasks import ConceptSpace, circles
from partwhole.tasks.shapes.concept import Concept
from partwhole.tasks.shapes.graph import concept_graph, hamming_distance
from partwhole.tasks.shapes.splits import adversarial_split, distance_one, leave_out

FIELDS = ("x", "y", "size", "kind")


def lattice(*n_values: int) -> ConceptSpace:
    """Return a space of so many values in each concept; the fourth can have two alone."""
    concepts = []
    for name, n in zip(FIELDS, n_values, strict=False):
        means = [i if name == "kind" else (i + 1) / 10 for i in range(n)]
        words = [f"{name}{i}" for i in range(n)]
        concepts.append(Concept.around(name, dict(zip(words, means, strict=True))))
    return ConceptSpace(tuple(concepts))


lattices = st.lists(st.integers(2, 4), min_size=2, max_size=3).map(lambda n: lattice(*n))


def steps_from(space, starts, allowed):
    """Return the least number of single changes to each class, by walking; -1 if there is none."""
    rows = [tuple(row) for row in space.classes.tolist()]
    found = dict.fromkeys(starts, 0)
    waiting = deque(starts)
    while waiting:
        here = waiting.popleft()
        for c, n in enumerate(space.n_values):
            for value in range(n):
                other = rows.index((*rows[here][:c], value, *rows[here][c + 1 :]))
                if other not in found and allowed[other]:
                    found[other] = found[here] + 1
                    waiting.append(other)
    return np.array([found.get(i, -1) for i in range(len(rows))])


@given(lattices, st.data())
def test_distances_are_lengths_of_walks(space, data):
    flags = data.draw(st.lists(st.booleans(), min_size=space.n_classes, max_size=space.n_classes))
    is_train = np.array(flags)
    if not is_train.any():
        is_train[0] = True
    graph = concept_graph(space)
    starts = np.flatnonzero(is_train).tolist()
    expected = steps_from(space, starts, np.ones(space.n_classes, dtype=bool))
    np.testing.assert_array_equal(graph.distances_from(is_train), expected)
    pieces = graph.pieces(is_train)
    assert (pieces == -1).tolist() == (~is_train).tolist()
    assert {*pieces[is_train].tolist()} == {*range(pieces.max() + 1)}
    for start in starts:
        reached = steps_from(space, [start], is_train) >= 0
        np.testing.assert_array_equal(reached, pieces == pieces[start])


@given(lattices)
def test_edges_are_single_changes(space):
    graph = concept_graph(space)
    pairs = {tuple(edge) for edge in graph.edges.tolist()}
    assert len(pairs) == len(graph.edges)
    for i, one in enumerate(space.classes):
        for j, other in enumerate(space.classes):
            assert ((i, j) in pairs) == (i < j and sum(one != other) == 1)
    for (i, j), c in zip(graph.edges, graph.concepts, strict=True):
        assert space.classes[i, c] != space.classes[j, c]
    each = np.array(space.n_values)
    assert len(graph.edges) == space.n_classes * (each - 1).sum() // 2


def test_hamming_distance_counts():
    found = hamming_distance(np.array([[0, 1, 2], [1, 1, 1]]), np.array([[0, 1, 2], [0, 2, 1]]))
    assert found.tolist() == [[0, 2], [2, 2]]


def test_distances_of_the_published_cube():
    space = circles(background_separation=0.6)
    found = concept_graph(space).distances_from(distance_one(space, 0))
    by_word = {"".join(map(str, row)): int(d) for row, d in zip(space.classes, found, strict=True)}
    assert by_word == {
        "000": 0, "001": 0, "010": 0, "100": 0, "011": 1, "101": 1, "110": 1, "111": 2,
    }  # fmt: skip


@given(lattices, st.data())
def test_distance_one(space, data):
    centre = data.draw(st.integers(0, space.n_classes - 1))
    found = distance_one(space, centre)
    assert found.sum() == 1 + sum(n - 1 for n in space.n_values)
    differing = (space.classes != space.classes[centre]).sum(axis=1)
    np.testing.assert_array_equal(found, differing <= 1)
    np.testing.assert_array_equal(found, distance_one(space, space.label(centre)))


@pytest.mark.parametrize(
    ("combinations", "held"),
    [
        ("blue small", [3]),
        (3, [3]),
        (["blue", "small"], [3]),
        ([("blue", "small")], [3]),
        (["small blue circle", "red big"], [0, 3]),
        ([0, "blue small"], [0, 3]),
        ("blue", [2, 3]),
        ([["blue"], ["small"]], [1, 2, 3]),
    ],
)
def test_leave_out(combinations, held):
    found = leave_out(circles(), combinations)
    assert np.flatnonzero(~found).tolist() == held


@given(lattices, st.data())
def test_adversarial_sets_have_no_neighbours(space, data):
    target = data.draw(st.integers(0, space.n_classes - 1))
    found = adversarial_split(space, target)
    graph = concept_graph(space)
    assert not found[graph.edges].all(axis=1).any()
    assert graph.pieces(found).max() == found.sum() - 1
    assert not found[target]
    assert (space.classes[found] == space.classes[target]).any(axis=0).all()
    assert 2 <= found.sum() <= distance_one(space, target).sum()


def test_adversarial_numbers():
    cube = circles(background_separation=0.6)
    assert adversarial_split(cube, 7).sum() == distance_one(cube, 7).sum() == 4
    assert cube.classes[adversarial_split(cube, 7)].sum(axis=1).tolist() == [0, 2, 2, 2]
    assert np.flatnonzero(adversarial_split(circles(), "blue small")).tolist() == [1, 2]
    many = lattice(2, 2, 2, 2)
    assert adversarial_split(many, 0).sum() == distance_one(many, 0).sum() == 5
    assert adversarial_split(many, 0, n_train=8).sum() == 8
    assert adversarial_split(many, 0, n_train=4).sum() == 4
    # Two classes are enough for the target's values when they are chosen for that.
    assert many.classes[adversarial_split(many, 15, n_train=2)].tolist() == [
        [0, 1, 1, 1], [1, 0, 0, 0],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: leave_out(circles(), []), "some classes are held out and some are seen; got 0 of"),
        (lambda: leave_out(circles(), ""), "some classes are held out .* got 4 of 4 held out; na"),
        (lambda: leave_out(circles(), "green"), "prompts are made of red, blue, big, small"),
        (lambda: adversarial_split(lattice(3), 0), "an adversarial split needs two concepts"),
        (lambda: adversarial_split(circles(), 0, n_train=3), "2 classes differ pairwise in two"),
        (lambda: adversarial_split(circles(), 0, n_train=1), "each value of the target is seen"),
        (lambda: adversarial_split(circles(), 0, n_train=0), "n_train is a whole number of at"),
        (
            lambda: concept_graph(circles()).pieces(np.zeros(4, dtype=bool)),
            "is_train marks at least one of 4 classes; got 0 of 4; pass what leave_out returns",
        ),
        (
            lambda: unwrap(hamming_distance)(np.zeros((1, 2), int), np.zeros((1, 3), int)),
            r"classes that are compared have the same concepts; got shapes \(1, 2\) and \(1, 3\)",
        ),
    ],
)
def test_errors(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
