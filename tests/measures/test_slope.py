"""Slopes and item values of held-out predictions."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole import features, limits, measures, tasks
from partwhole._checks import InputError


@pytest.mark.parametrize(
    ("anchors", "salience", "expected"), [([0], 0.4, 2 / 3), ([-2, 2], 0.3, 0.6)]
)
def test_slope_of_the_leak(anchors, salience, expected):
    task = tasks.symbolic_addition(range(-4, 5), anchors)
    kernel = features.OverlapKernel.from_salience([salience])
    predictions = limits.interpolate(task, kernel, intercept="free").predictions
    found = measures.slope(task, predictions)
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.intercept == pytest.approx(0.0, abs=1e-9)
    assert found.residual < 1e-9
    assert found.n == task.n_test


def test_asymmetric_anchors_add_an_offset():
    # G-6: slope .666667, intercept -1.980952.
    task = tasks.symbolic_addition(range(-4, 5), [-4])
    kernel = features.OverlapKernel.from_salience([0.4])
    predictions = limits.interpolate(task, kernel, intercept="free").predictions
    found = measures.slope(task, predictions)
    assert (found.value, found.intercept) == pytest.approx((2 / 3, -1.980952), abs=1e-6)
    values = measures.item_values(task, predictions)
    for items in values:
        assert np.isnan(items[0])
        line = 2 / 3 * np.arange(-3, 5) - 1.980952 / 2
        np.testing.assert_allclose(items[1:], line, atol=1e-6)


def test_items_add_up_to_the_predictions():
    rng = np.random.default_rng(0)
    task = tasks.symbolic_addition(range(-2, 3), [0], n_components=3)
    parts = rng.normal(size=(3, 5))
    predictions = np.sum([parts[c][task.components[:, c]] for c in range(3)], axis=0)
    values = measures.item_values(task, predictions)
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
    found = measures.slope(tasks.partial_exposure(), np.ones(4))
    assert np.isnan(found.value)
    assert found.n == 1


def test_errors_say_rule_got_remedy():
    task = tasks.partial_exposure()
    for verb in (measures.slope, measures.item_values):
        with pytest.raises(InputError, match="predictions must have one entry for each row"):
            verb(task, np.ones(3))
        with pytest.raises(InputError, match=r"got an array of shape \(4, 1\); pass limit"):
            verb(task, np.ones((4, 1)))
    twofold = tasks.Task(task.components, np.ones((4, 2)), task.is_train, task.names, task.values)
    with pytest.raises(InputError, match=r"slopes are read for one output; got targets of shape"):
        measures.slope(twofold, np.ones(4))
