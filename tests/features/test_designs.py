"""Designs: index form equals the dense matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tasks import tasks

from partwhole._checks import InputError
from partwhole.features import DenseDesign
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets
from partwhole.features.design import Block, as_design


@given(tasks(components=(2, 4), values=(2, 6)), st.integers(0, 2**32 - 1))
def test_index_form_equals_dense(task, seed):
    rng = np.random.default_rng(seed)
    sets = conjunction_sets(task.n_components, task.n_components - 1)
    seen = ConjunctionDesign.seen(task.train_components, sets, task.n_values)
    every = seen.at(task.components)
    dense = every.toarray()
    c, v = rng.normal(size=(dense.shape[1], 2)), rng.normal(size=(dense.shape[0], 2))
    np.testing.assert_allclose(every @ c, dense @ c, atol=1e-12)
    np.testing.assert_allclose(every.adjoint(v), dense.T @ v, atol=1e-12)
    np.testing.assert_allclose(every @ c[:, 0], dense @ c[:, 0], atol=1e-12)
    for block in every.blocks:
        part = dense[:, block.columns]
        np.testing.assert_array_equal(every.gram(block), part @ part.T)


@given(tasks(components=(2, 4), values=(2, 6)))
def test_columns_are_the_seen_conjunctions(task):
    chosen = (0, task.n_components - 1)
    design = ConjunctionDesign.seen(task.train_components, [chosen], task.n_values)
    seen = {tuple(row) for row in task.train_components[:, list(chosen)].tolist()}
    assert {tuple(row) for row in design.dictionaries[0].values().tolist()} == seen
    known = design.at(task.components).index[0] >= 0
    told = [tuple(row) in seen for row in task.components[:, list(chosen)].tolist()]
    assert known.tolist() == told


def test_many_values_need_no_table():
    """Past 2**24 possible pairs the sorted codes serve."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 50_000, size=(300, 2))
    design = ConjunctionDesign.seen(rows, [(0, 1)], (50_000, 50_000))
    again = design.at(np.concatenate([rows, rows + 1]))
    np.testing.assert_array_equal(again.index[0][:300], design.index[0])
    assert design.dictionaries[0].size == len(np.unique(rows, axis=0))


def test_codes_past_62_bits_are_folded():
    """Twelve components of 1,000 values; the dense route compares whole rows."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 1000, size=(200, 12))
    rows = rows[np.concatenate([np.arange(200), [3, 7]])]
    design = ConjunctionDesign.seen(rows, [tuple(range(12))], (1000,) * 12)
    dictionary = design.dictionaries[0]
    assert dictionary.size == 200
    np.testing.assert_array_equal(dictionary.values()[design.index[0]], rows)
    other = rows.copy()
    other[:, 2] = (other[:, 2] + 1) % 1000
    np.testing.assert_array_equal(design.at(rows).index[0], design.index[0])
    np.testing.assert_array_equal(design.at(other).index[0], -1)


def test_values_never_heard_of_are_unseen():
    """[0, 5] must not be taken for [1, 2], whose code with three values each is also 5."""
    design = ConjunctionDesign.seen(np.array([[1, 2], [0, 0]]), [(0, 1), (1,)], (3, 3))
    assert [index.tolist() for index in design.at(np.array([[0, 5], [0, -1]])).index] == [
        [-1, -1],
        [-1, -1],
    ]


def test_the_constant_is_the_empty_conjunction():
    design = ConjunctionDesign.seen(np.zeros((3, 2), int), [()], (1, 1))
    assert design.toarray().tolist() == [[1.0]] * 3


def test_matrices_are_designs():
    assert as_design([[1.0, 2.0]]).shape == (1, 2)
    design = DenseDesign(np.ones((2, 3)), (Block("a", 0, 1), Block("b", 1, 3)))
    assert design.gram(design.blocks[1]).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert as_design(design) is design


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: DenseDesign(np.ones((2, 3)), (Block("a", 0, 1), Block("b", 2, 3))),
            "blocks must cover the columns in order; got [(0, 1), (2, 3)] for 3 columns; start "
            "each block at the end of the previous one",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence


def test_codes_beyond_31_bits_give_their_values_back():
    rows = np.random.default_rng(0).integers(0, 50_000, size=(300, 2))
    design = ConjunctionDesign.seen(rows, [(0, 1)], (50_000, 50_000))
    np.testing.assert_array_equal(design.dictionaries[0].values(), np.unique(rows, axis=0))
