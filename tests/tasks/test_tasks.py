"""Tasks as the facts state them: sizes, layouts, labels, tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.tasks.context import context_substitution, stimulus_composition

SIZES = [
    (tasks.symbolic_addition(anchors=[0]), 17, 64),
    (tasks.symbolic_addition(anchors=[-4]), 17, 64),
    (tasks.symbolic_addition(anchors=[-4, 4]), 32, 49),
    (tasks.symbolic_addition(anchors=[-2, 2]), 32, 49),
    (tasks.dispersed_addition(seed=1), 18, 63),
    (tasks.context_dependence(3), 54, 18),
    (tasks.context_dependence(2), 64, 8),
    (tasks.context_dependence(1), 70, 2),
    (tasks.transitive_equivalence([2, 2], [1, 1]), 12, 4),
    (tasks.transitive_equivalence([5, 5], [1, 1]), 36, 64),
    (tasks.transitive_equivalence([5, 5], [4, 4]), 96, 4),
    (tasks.transitive_ordering(7), 12, 30),
    (tasks.symbolic_addition(range(-2, 3), [0], n_components=3), 61, 64),
]


@pytest.mark.parametrize(("task", "seen", "held_out"), SIZES)
def test_sizes(task, seen, held_out):
    assert (task.n_train, task.n_test) == (seen, held_out)


def test_tuples_are_in_row_major_order():
    rows = tasks.symbolic_addition(range(3), [0]).components
    assert rows.tolist() == [[i, j] for i in range(3) for j in range(3)]


# First seen column of each row's pair, modulo 9, as the published layouts draw them.
@pytest.mark.parametrize(
    ("seed", "first"),
    [
        (0, [4, 5, 2, 6, 3, 8, 7, 0, 1]),
        (1, [7, 0, 1, 4, 2, 5, 8, 6, 3]),
        (2, [2, 7, 6, 5, 8, 3, 4, 0, 1]),
        (3, [7, 0, 2, 1, 4, 6, 5, 3, 8]),
        (4, [0, 1, 2, 8, 6, 7, 3, 4, 5]),
    ],
)
def test_dispersed_layouts(seed, first):
    seen = tasks.dispersed_addition(seed=seed).is_train.reshape(9, 9)
    expected = [{start, (start + 1) % 9} for start in first]
    assert [set(np.flatnonzero(row)) for row in seen] == expected


@pytest.mark.parametrize("per_row", [1, 2, 3, 9])
def test_dispersed_rows_and_columns_are_even(per_row):
    seen = tasks.dispersed_addition(range(9), per_row, seed=7).is_train.reshape(9, 9)
    assert set(seen.sum(axis=0)) == set(seen.sum(axis=1)) == {per_row}


def test_separate_anchors_and_values():
    task = tasks.symbolic_addition([[0, 1], [10, 20, 30]], [[0], [10, 30]])
    assert task.n_values == (2, 3)
    unseen = task.test_components
    assert unseen.tolist() == [[1, 1]]
    assert task.test_targets.tolist() == [21.0]


def test_cd3_training_labels_are_biased_by_context():
    task = tasks.context_dependence(3)
    context = task.train_components[:, 0]
    positive = [int((task.train_targets[context == c] > 0).sum()) for c in (0, 1)]
    assert positive == [18, 9]


def test_context_makes_its_feature_decide():
    task = tasks.context_dependence(1)
    for (context, *features), target in zip(task.components, task.targets, strict=True):
        assert target == (1.0 if features[context] >= 3 else -1.0)


def test_named_variants_are_context_dependence():
    plain = stimulus_composition(2)
    general = tasks.context_dependence([{1: [0], 2: [1]}], 1)
    np.testing.assert_array_equal(plain.is_train, general.is_train)
    np.testing.assert_array_equal(plain.targets, general.targets)
    four = stimulus_composition(4)
    assert (four.n_values, four.n_test) == ((4, 4, 4), 16)
    substitution = context_substitution()
    held_out = substitution.test_components
    assert set(held_out[:, 0]) == {0, 2}
    assert np.all(np.isin(held_out[:, 1], (0, 3)) | np.isin(held_out[:, 2], (0, 3)))


def test_equivalence_labels_and_test_pairs():
    task = tasks.transitive_equivalence([2, 2], [1, 1])
    assert task.test_components.tolist() == [[1, 1], [1, 3], [3, 1], [3, 3]]
    assert task.test_targets.tolist() == [1.0, -1.0, -1.0, 1.0]


def test_associative_inference_holds_out_the_stated_pairs():
    task = tasks.associative_inference()
    assert task.test_components.tolist() == [[0, 1], [0, 3], [2, 1], [2, 3]]


def test_ordering_with_exceptions():
    task = tasks.transitive_ordering(7, exceptions=[(0, 4)])
    rows = {tuple(row): k for k, row in enumerate(task.components.tolist())}
    assert task.targets[rows[0, 4]] == -1.0
    assert task.targets[rows[4, 0]] == 1.0
    assert task.is_train[rows[0, 4]]
    assert task.is_train[rows[4, 0]]
    assert (1, 3) not in rows  # strictly between, not trained
    assert (1, 2) in rows  # a trained neighbour stays
    assert (0, 3) in rows  # shares an end, so it is not strictly between


def test_describe_draws_seen_and_unseen():
    drawn = tasks.transitive_ordering(3).describe().splitlines()
    assert drawn[0] == "transitive ordering: 2 components, 4 combinations seen, 2 held out"
    assert drawn[3:] == [" 0     #  .", " 1  #     #", " 2  .  #"]
    assert "over feature 2" in tasks.context_dependence(3).describe()
    assert "+ some of each" in tasks.context_dependence(3).describe()


def test_table_round_trip():
    task = tasks.context_dependence(2)
    again = tasks.from_frame(task.to_frame(), list(task.names), "target", "split")
    np.testing.assert_array_equal(again.components, task.components)
    np.testing.assert_array_equal(again.targets, task.targets)
    np.testing.assert_array_equal(again.is_train, task.is_train)


@pytest.mark.parametrize(
    "colours",
    [
        pd.Categorical(["red", "blue", "red", "blue"], categories=["red", "green", "blue"]),
        pd.array(["red", "blue", "red", "blue"], dtype="string"),
        np.array([2, 1, 2, 1]),
        np.array([True, False, True, False]),
        pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-02", "2020-01-01"]),
        pd.array([(1, "x"), (0, "y"), (1, "x"), (0, "y")], dtype=object),
    ],
    ids=["categorical", "string", "int", "bool", "dates", "tuples"],
)
def test_any_category_type(colours):
    frame = pd.DataFrame(
        {
            "shape": list("ccss"),
            "colour": colours,
            "label": ["no", "yes", "yes", "no"],
            "seen": [True, True, True, False],
        }
    )
    before = frame.copy(deep=True)
    task = tasks.from_frame(frame, ["shape", "colour"], "label", "seen")
    assert task.n_values == (2, 2)
    column = task.components[:, 1]
    assert column[0] == column[2] != column[1] == column[3]
    assert task.targets.tolist() == [-1.0, 1.0, 1.0, -1.0]
    assert task.n_test == 1
    pd.testing.assert_frame_equal(frame, before)


def test_many_labels_become_outputs():
    frame = pd.DataFrame({"a": [0, 1, 2], "b": [0, 0, 0], "y": list("xyz"), "s": ["train"] * 3})
    task = tasks.from_frame(frame, ["a", "b"], "y", "s")
    np.testing.assert_array_equal(task.targets, 2 * np.eye(3) - 1)


def test_values_of_mixed_types_keep_their_order_of_appearance():
    frame = pd.DataFrame({"a": [1, "x", 1], "y": [0.0, 1.0, 2.0], "s": ["train"] * 3})
    assert tasks.from_frame(frame, ["a"], "y", "s").values == ((1, "x"),)


FRAME = pd.DataFrame(
    {"a": ["p", "q"], "b": ["r", None], "y": [1.0, 2.0], "s": ["train", "test"], "one": ["k", "k"]}
)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: tasks.symbolic_addition(anchors=[7]),
            "anchors must be among the values; got 7, values are -4..4; choose from the values",
        ),
        (
            lambda: tasks.symbolic_addition(values=[1, 1], anchors=[1]),
            "values must be distinct; got 2 entries, 1 different ones; name each once",
        ),
        (
            lambda: tasks.symbolic_addition(n_components=0),
            "n_components is a whole number of at least 1; got 0; pass a whole number of at least "
            "1, or leave it out for 2",
        ),
        (
            lambda: tasks.symbolic_addition([[0, 1], [0, 1], [0, 1]], [0]),
            "values must be one list, or one list for each of the 2 components; got 3 entries, "
            "3 of them lists; pass a flat list to share it",
        ),
        (
            lambda: tasks.dispersed_addition(range(5), 6),
            "per_row must lie in 1..5, the number of values; got 6; choose the number of partners "
            "of each item",
        ),
        (
            lambda: tasks.context_dependence(4),
            "left_out must lie in 1..3, the values in each half; got 4; or pass conjunctions "
            "{component: value indices}",
        ),
        (
            lambda: tasks.context_dependence([{3: [0]}]),
            "a left-out conjunction names components by position; got component 3 of 3; use "
            "positions from 0",
        ),
        (
            lambda: tasks.context_dependence(1, relevant_feature=[0, 2]),
            "relevant_feature names feature 0 or 1 for each context; got [0, 2]; for two "
            "contexts pass (0, 1)",
        ),
        (
            lambda: tasks.context_dependence([{0: [0, 1]}]),
            "a task needs at least one training combination; got none; mark the seen combinations "
            "in is_train",
        ),
        (
            lambda: stimulus_composition(3),
            "stimulus composition has 2 or 4 contexts; got 3; use context_dependence for other "
            "numbers",
        ),
        (
            lambda: tasks.transitive_equivalence([2], [3]),
            "a class can't have more anchors than items; got sizes [2], anchors [3]; lower the "
            "anchors",
        ),
        (
            lambda: tasks.transitive_equivalence([2, 2], [1]),
            "anchors are a number for each class; got 2 classes and 1 numbers of anchors; "
            "pass lists of equal length",
        ),
        (
            lambda: tasks.transitive_ordering(1),
            "n_items is a whole number of at least 2; got 1; pass a whole number of at least 2, or "
            "leave it out for 7",
        ),
        (
            lambda: tasks.transitive_ordering(5, exceptions=[(1, 5)]),
            "an exception is a pair of different items in 0..4; got (1, 5); name two ranks",
        ),
        (
            lambda: tasks.from_frame(FRAME, ["a", "z"], "y", "s"),
            "components, target and split must each name one column of the table; got 'z', which "
            "no columns have; columns are a, b, y, s, one; rename the column or the argument",
        ),
        (
            lambda: tasks.from_frame(FRAME, ["a", "b"], "y", "s"),
            "every row needs a value in the columns used; got 1 missing in 'b'; drop or fill "
            "those rows first",
        ),
        (
            lambda: tasks.from_frame(FRAME, ["a"], "y", "s", train="fit"),
            "the split column must mark training rows, as 'fit' or with booleans; got no such "
            "row; entries are test, train; name the entry with train=",
        ),
        (
            lambda: tasks.from_frame(FRAME, ["a"], "one", "s"),
            "a target of labels needs at least two of them; got only 'k'; check the target column",
        ),
        (
            lambda: tasks.from_frame(FRAME, [], "y", "s"),
            "components must name a column; got none; name at least one",
        ),
        (
            lambda: tasks.Task(
                np.array([[0], [2]]), np.zeros(2), np.ones(2, bool), ("a",), ((0, 1),)
            ),
            "components must hold indices into the values of 'a'; got indices 0..2 for 2 values; "
            "number the values from 0",
        ),
        (
            lambda: tasks.Task(
                np.array([[0], [1]]), np.array([0.0, np.nan]), np.ones(2, bool), ("a",), ((0, 1),)
            ),
            "targets is an array of finite numbers of shape (n, ...); got 1 that is NaN, at 1; "
            "drop or fill missing numbers first",
        ),
        (
            lambda: tasks.Task(ROWS, np.zeros(2), np.ones(2, bool), ("a", "b"), ((0, 1),)),
            "every component needs a name and its values; got 1 components, 2 names, 1 lists; "
            "pass one name and one list of values for each column of components",
        ),
        (
            lambda: tasks.context_dependence(1, 0),
            "values_per_half is a whole number of at least 1; got 0; pass a whole number of at "
            "least 1, or leave it out for 3",
        ),
        (
            lambda: tasks.from_frame(
                pd.DataFrame([[0, 1, 0.0, "train"]], columns=["a", "a", "y", "s"]), ["a"], "y", "s"
            ),
            "components, target and split must each name one column of the table; got 'a', which "
            "2 columns have; columns are a, a, y, s; rename the column or the argument",
        ),
        (
            lambda: tasks.transitive_ordering(5, exceptions=[(2, 2)]),
            "an exception is a pair of different items in 0..4; got (2, 2); name two ranks",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence


def test_values_and_labels_are_numbered_in_sorted_order():
    frame = pd.DataFrame({"a": ["q", "p"], "y": ["yes", "no"], "s": ["train"] * 2})
    task = tasks.from_frame(frame, ["a"], "y", "s")
    assert task.values == (("p", "q"),)
    assert task.components.tolist() == [[1], [0]]
    assert task.targets.tolist() == [1.0, -1.0]


@pytest.mark.parametrize("left_out", [1, 2, 3])
def test_context_dependence_leaves_out_first_values_of_one_and_of_the_other_half(left_out):
    task = tasks.context_dependence(left_out)
    told = [[c, i, 3 + j] for c in (0, 1) for i in range(left_out) for j in range(left_out)]
    assert task.test_components.tolist() == told


def test_stimulus_composition_in_four_contexts():
    """Contexts 0, 1 ask for feature 1, contexts 2, 3 for feature 2, of four values each."""
    task = stimulus_composition(4)
    for (context, *features), target in zip(task.components, task.targets, strict=True):
        assert target == (1.0 if features[context // 2] >= 2 else -1.0)
    told = [[c, i, j] for c in range(4) for i in (0, 1) for j in (2, 3)]
    assert task.test_components.tolist() == told


def test_pairs_that_share_either_end_with_an_exception_stay():
    rows = tasks.transitive_ordering(7, exceptions=[(0, 4)]).components.tolist()
    assert [2, 4] in rows
    assert [0, 2] in rows
    assert [1, 3] not in rows


def test_an_exception_within_another_is_seen():
    task = tasks.transitive_ordering(7, exceptions=[(0, 5), (1, 4)])
    rows = {tuple(row): k for k, row in enumerate(task.components.tolist())}
    assert task.is_train[[rows[1, 4], rows[4, 1]]].all()
    assert task.targets[[rows[1, 4], rows[4, 1]]].tolist() == [-1.0, 1.0]
    assert (1, 3) not in rows


def test_toys_as_told():
    """Lippl & Stachenfeld's figure: (A, x) = -1, (B, x) = +1; one corner, (+, +), unseen."""
    toy = tasks.toys.invariance()
    assert toy.train_components.tolist() == [[0, 0], [1, 0]]
    assert toy.train_targets.tolist() == [-1.0, 1.0]
    toy = tasks.toys.partial_exposure()
    assert toy.test_components.tolist() == [[1, 1]]
    assert toy.test_targets.tolist() == [1.0]


def test_every_output_is_a_column_of_the_table():
    task = tasks.toys.invariance()
    both = replace(task, targets=np.stack([task.targets, 3.0 * task.targets], axis=1))
    frame = both.to_frame()
    assert frame["target_0"].tolist() == task.targets.tolist()
    assert frame["target_1"].tolist() == (3.0 * task.targets).tolist()


def test_components_after_the_eighth_are_numbered():
    names = tasks.symbolic_addition(range(2), [0], n_components=9).names
    assert names[7:] == ("eighth", "component 9")


def test_describe_of_one_component_is_a_single_column():
    drawn = tasks.symbolic_addition(range(3), [1], n_components=1).describe().splitlines()
    assert drawn[0] == "symbolic addition: 1 component, 1 combinations seen, 2 held out"
    assert [line.split() for line in drawn[3:6]] == [["0", "."], ["1", "#"], ["2", "."]]
    assert drawn[6:] == ["never seen: first 0", "never seen: first 2"]


def test_describe_counts_combinations_and_rows():
    """Two repeats of every combination are rows, not combinations."""
    task = tasks.associative_inference()
    twice = replace(
        task,
        components=np.repeat(task.components, 2, axis=0),
        targets=np.repeat(task.targets, 2),
        is_train=np.repeat(task.is_train, 2),
    )
    heading = twice.describe().splitlines()[0]
    assert heading.endswith("12 combinations (24 rows) seen, 4 (8 rows) held out")
    assert repr(twice).endswith("4 x 4 values, 24 rows seen, 8 held out)")


ROWS = np.array([[0], [1]])
