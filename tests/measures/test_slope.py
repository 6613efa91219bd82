"""Slopes and item values of held-out predictions."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from partwhole import features, measures, solve, tasks
from partwhole._checks import InputError
from partwhole.measures.slope import item_values


@pytest.mark.parametrize(
    ("anchors", "salience", "expected"), [([0], 0.4, 2 / 3), ([-2, 2], 0.3, 0.6)]
)
def test_slope_of_the_leak(anchors, salience, expected):
    task = tasks.symbolic_addition(range(-4, 5), anchors)
    kernel = features.OverlapKernel.from_salience([salience])
    predictions = solve(task, kernel, intercept="free").predictions
    found = measures.slope(task, predictions)
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.intercept == pytest.approx(0.0, abs=1e-9)
    assert found.residual < 1e-9
    assert found.n == task.n_test


def test_asymmetric_anchors_add_an_offset():
    # G-6: slope .666667, intercept -1.980952.
    task = tasks.symbolic_addition(range(-4, 5), [-4])
    kernel = features.OverlapKernel.from_salience([0.4])
    predictions = solve(task, kernel, intercept="free").predictions
    found = measures.slope(task, predictions)
    assert (found.value, found.intercept) == pytest.approx((2 / 3, -1.980952), abs=1e-6)
    values = item_values(task, predictions)
    for items in values:
        assert np.isnan(items[0])
        line = 2 / 3 * np.arange(-3, 5) - 1.980952 / 2
        np.testing.assert_allclose(items[1:], line, atol=1e-6)


def test_items_add_up_to_the_predictions():
    rng = np.random.default_rng(0)
    task = tasks.symbolic_addition(range(-2, 3), [0], n_components=3)
    parts = rng.normal(size=(3, 5))
    predictions = np.sum([parts[c][task.components[:, c]] for c in range(3)], axis=0)
    values = item_values(task, predictions)
    rows = task.test_components
    rebuilt = sum(values[c][rows[:, c]] for c in range(3))
    np.testing.assert_allclose(rebuilt, predictions[~task.is_train], atol=1e-10)


def test_a_line_leaves_its_residual():
    task = tasks.symbolic_addition(range(-4, 5), [0])
    wave = np.where(task.components[:, 0] % 2, 0.1, -0.1)
    found = measures.slope(task, task.targets + wave)
    x, y = task.test_targets, (task.targets + wave)[~task.is_train]
    line = np.polynomial.Polynomial.fit(x, y, 1).convert()
    assert (found.intercept, found.value) == pytest.approx(tuple(line.coef))
    assert found.residual == pytest.approx(np.sqrt(np.mean((y - line(x)) ** 2)))


def test_targets_that_do_not_vary_have_no_slope():
    found = measures.slope(tasks.toys.partial_exposure(), np.ones(4))
    assert np.isnan(found.value)
    assert found.n == 1


@pytest.mark.parametrize("verb", [measures.slope, item_values])
@pytest.mark.parametrize(
    ("predictions", "said"),
    [
        (np.ones(3), "; got shape (3,); pass "),
        (np.ones((4, 1, 1)), "; got shape (4, 1, 1); pass "),
        (np.array([0.0, 0.0, 0.0, np.nan]), "got 1 that is NaN, at 3; drop or fill missing"),
    ],
)
def test_errors_say_rule_got_remedy(verb, predictions, said):
    with pytest.raises(InputError, match=re.escape(said)):
        verb(tasks.toys.partial_exposure(), predictions)


def test_outputs_share_a_slope_and_have_intercepts_of_their_own():
    task = tasks.symbolic_addition(range(-4, 5), [0])
    twofold = replace(task, targets=np.stack([task.targets, 2.0 * task.targets], axis=1))
    line = measures.slope(twofold, 0.5 * twofold.targets + [1.0, 4.0])
    assert (line.value, line.intercept) == pytest.approx((0.5, 2.5))
    assert line.by_output == pytest.approx((0.5, 0.5))
    assert line.residual == pytest.approx(0.0, abs=1e-12)
    # Squares of the second output's targets are four times as large.
    mixed = measures.slope(twofold, twofold.targets * [1.0, 0.5])
    assert (mixed.value, *mixed.by_output) == pytest.approx((0.6, 1.0, 0.5))
    constant = replace(task, targets=np.stack([task.targets, np.ones(81)], axis=1))
    line = measures.slope(constant, 0.5 * constant.targets)
    assert line.value == pytest.approx(0.5)
    assert np.isnan(line.by_output[1])


def test_predictions_have_the_shape_of_the_targets():
    task = tasks.symbolic_addition(range(-4, 5), [0])
    twofold = replace(task, targets=np.stack([task.targets, -task.targets], axis=1))
    with pytest.raises(InputError) as caught:
        measures.slope(twofold, task.targets)
    assert str(caught.value) == (
        "predictions have the shape of the task's targets, (81, 2); got shape (81,); pass one "
        "prediction for each target, such as limit.predictions"
    )
    with pytest.raises(InputError) as caught:
        item_values(twofold, np.ones(3))
    assert str(caught.value) == (
        "predictions have a row for each of the task's 81 rows; got shape (3,); pass shape (81,) "
        "or (81, k), such as limit.predictions"
    )


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_answers_of_low_precision_are_read_in_double(kind):
    # Halves of -8..8 are exact in any precision; 1e-30 squared is 0 in single precision.
    task = tasks.symbolic_addition(range(-4, 5), [0])
    answers = (0.5 * task.targets).astype(kind)
    assert measures.slope(task, answers) == measures.slope(task, 0.5 * task.targets)
    for found, items in zip(item_values(task, answers), task.values, strict=True):
        np.testing.assert_allclose(
            found, np.where(np.array(items) == 0, np.nan, 0.5 * np.array(items)), atol=1e-12
        )
    wave = np.where(task.components[:, 0] % 2, 1e-30, -1e-30).astype(np.float32)
    assert 0.0 < measures.slope(task, wave).residual < 2e-30
