"""Sign agreement counts ties apart."""

from __future__ import annotations

import pydoc

import numpy as np
import pytest

from partwhole import features, measures, solve, tasks
from partwhole._checks import InputError


def test_right_wrong_and_ties_are_counted():
    found = measures.accuracy(np.array([1.0, -1.0, 1.0, -1.0]), np.array([0.2, 3.0, 0.0, -1e-12]))
    assert (found.right, found.wrong, found.ties) == (1, 1, 2)
    assert found.value == 0.5
    assert found.strict == 0.25


def test_the_tie_width_decides():
    targets, predictions = np.array([1.0]), np.array([1e-12])
    assert measures.accuracy(targets, predictions, tie=0.0).value == 1.0
    assert measures.accuracy(targets, predictions).ties == 1


def test_a_learner_that_returns_zero_is_undecided():
    task = tasks.transitive_equivalence([2, 2], [1, 1])
    kernel = features.OverlapKernel.from_salience([0.3])
    found = solve(task, kernel, intercept="free").test_predictions
    score = measures.accuracy(task.test_targets, found)
    assert (score.ties, score.value, score.strict) == (4, 0.5, 0.0)


def test_no_rows_have_no_accuracy():
    empty = measures.accuracy(np.zeros(0), np.zeros(0))
    assert np.isnan(empty.value)
    assert np.isnan(empty.strict)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([2.0], [1.0]), "targets are labels -1 and +1; got [2.0]; take their signs"),
        (
            ([[1.0, 0.0], [1.0, 1.0]], np.ones((2, 2))),
            "targets are labels -1 and +1, or one-hot rows of classes; got [0.0]; pass "
            "np.eye(k)[classes] for classes 0..k-1",
        ),
        (
            ([1.0], [np.nan]),
            "predictions is an array of numbers of shape (n, ...); got 1 "
            "that is NaN, at 0; drop or fill missing numbers first",
        ),
        (
            ([1.0, 1.0], [[1.0], [1.0]]),
            "predictions have the shape of the targets, (2,); got shape (2, 1); pass one "
            "prediction for each target",
        ),
    ],
)
def test_errors_say_rule_got_remedy(arguments, sentence):
    with pytest.raises(InputError) as caught:
        measures.accuracy(*map(np.array, arguments))
    assert str(caught.value) == sentence
    with pytest.raises(InputError, match=r"tie is a finite number of at least 0; got -1\.0; pass"):
        measures.accuracy(np.ones(1), np.ones(1), tie=-1.0)


def test_a_task_is_not_an_array():
    with pytest.raises(InputError) as caught:
        measures.accuracy(tasks.toys.invariance(), np.ones(2))
    assert str(caught.value) == (
        "targets are an array; got a Task; pass task.test_targets and limit.test_predictions"
    )


def test_lists_are_arrays_enough():
    assert measures.accuracy([1, -1], [0.5, 0.5]).value == 0.5


def test_help_lists_functions_and_classes():
    listed = set(measures.__all__)
    assert {"salience", "contrasts", "additivity", "slope", "accuracy"} <= listed
    text = pydoc.render_doc(measures, renderer=pydoc.plaintext)
    assert all(f"{name}(" in text for name in listed)
