"""Readings of several outputs: copies of one output read as the one, in whatever order."""

from __future__ import annotations

import sys
from dataclasses import fields, replace

import numpy as np
import pytest

from partwhole import measures, tasks
from partwhole.measures.accuracy import Accuracy
from partwhole.measures.additivity import conjunction_coefficients
from partwhole.measures.slope import item_values

RNG = np.random.default_rng(0)
TASK = tasks.symbolic_addition(range(-4, 5), [-2, 2])
ANSWERS = 0.7 * TASK.targets + 0.3 * RNG.normal(size=81)
LABELS = tasks.context_dependence(3)
SIGNED = LABELS.targets * RNG.normal(1.0, 1.0, size=len(LABELS.targets))


def copied(values, k=3):
    return np.stack([values] * k, axis=1)


def numbers(result):
    """Return every number of a result that does not name a single output."""
    values = [getattr(result, field.name) for field in fields(result) if field.name != "by_output"]
    values = [list(v.values()) if isinstance(v, dict) else v for v in values]
    return np.hstack([np.ravel(v) for v in values if not isinstance(v, (str, tuple))]).astype(float)


READINGS = {
    "slope": measures.slope,
    "additivity": measures.additivity,
    "additivity of items": lambda task, f: measures.additivity(task, f, 1),
    "contrasts": measures.contrasts,
    "accuracy": lambda task, f: measures.accuracy(task.test_targets, f[~task.is_train]),
}


@pytest.mark.parametrize("name", READINGS)
@pytest.mark.parametrize(("task", "answers"), [(TASK, ANSWERS), (LABELS, SIGNED)])
def test_copies_of_an_output_read_as_the_one(name, task, answers):
    if name == "accuracy" and task is TASK:
        task, answers = replace(TASK, targets=np.sign(TASK.targets + 0.5)), np.sign(answers)
    reading = READINGS[name]
    single = reading(task, answers)
    threefold = reading(replace(task, targets=copied(task.targets)), copied(answers))
    if isinstance(single, Accuracy):
        assert (threefold.value, threefold.strict) == (single.value, single.strict)
        assert 0.0 < single.value < 1.0 or task.n_test == single.right
        return
    np.testing.assert_allclose(numbers(threefold), numbers(single), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["slope", "additivity", "contrasts"])
def test_the_order_of_outputs_does_not_matter(name):
    targets = TASK.targets[:, None] * [1.0, -2.0, 0.5] + RNG.normal(size=(81, 3))
    answers = targets + RNG.normal(size=(81, 3))
    order = [2, 0, 1]
    first = READINGS[name](replace(TASK, targets=targets), answers)
    second = READINGS[name](replace(TASK, targets=targets[:, order]), answers[:, order])
    np.testing.assert_allclose(numbers(second), numbers(first), rtol=1e-9, atol=1e-12)


def test_shares_pool_the_squares_of_all_outputs():
    # An additive output of variance a and one without an additive part, of variance b.
    held_out = ~TASK.is_train
    product = (TASK.components - 4.0).prod(axis=1)
    both = np.stack([TASK.targets, product], axis=1)
    squares = np.var(both[held_out], axis=0)
    shares = [measures.additivity(TASK, output) for output in both.T]
    pooled = measures.additivity(TASK, both)
    expected = sum(share.value * s for share, s in zip(shares, squares, strict=True))
    assert pooled.value == pytest.approx(expected / squares.sum(), rel=1e-9)
    assert shares[1].value < pooled.value < shares[0].value
    assert shares[1].rectangles < pooled.rectangles < shares[0].rectangles
    parts = measures.contrasts(replace(TASK, targets=both), both * [0.5, 1.0])
    assert parts.slope[(0,)] == pytest.approx(0.5, abs=1e-9)
    assert parts.remainder_slope == pytest.approx(1.0, abs=1e-9)


def test_large_tables_are_fitted_output_by_output(monkeypatch):
    monkeypatch.setattr(sys.modules["partwhole.measures.additivity"], "DENSE_LIMIT", 0)
    both = np.stack([ANSWERS, TASK.components.prod(axis=1).astype(float)], axis=1)
    iterative = measures.additivity(TASK, both).value
    monkeypatch.undo()
    assert iterative == pytest.approx(measures.additivity(TASK, both).value, rel=1e-9)


def test_items_and_coefficients_are_those_of_each_output():
    both = np.stack([ANSWERS, -2.0 * TASK.targets], axis=1)
    for together, *single in zip(
        item_values(TASK, both), *(item_values(TASK, output) for output in both.T), strict=True
    ):
        np.testing.assert_allclose(together, np.stack(single, axis=1), atol=1e-12)
    terms = conjunction_coefficients(TASK, both)
    single = [conjunction_coefficients(TASK, output) for output in both.T]
    np.testing.assert_allclose(terms.intercept, [each.intercept for each in single], atol=1e-12)
    for components, coefficients in terms.coefficients.items():
        alone = [term.coefficients[components] for term in single]
        np.testing.assert_allclose(coefficients, np.stack(alone, axis=1), atol=1e-12)
        assert terms.mean_size[components] == pytest.approx(np.mean(np.abs(alone)))
    frame = terms.to_frame()
    assert list(frame.columns[-2:]) == ["coefficient_0", "coefficient_1"]
    np.testing.assert_allclose(
        frame["coefficient_1"], single[1].to_frame()["coefficient"], atol=1e-12
    )


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_two_classes_are_a_sign(low):
    labels = np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    answers = np.array([2.0, -1.0, -0.5, 1e-10, 0.0])
    high = 1.0

    def columns(sign):
        return low + (high - low) * np.stack([1.0 + sign, 1.0 - sign], axis=1) / 2.0

    signs = measures.accuracy(labels, answers)
    assert signs == Accuracy(right=2, wrong=1, ties=2)
    assert measures.accuracy(columns(labels), columns(answers)) == signs


def test_classes_by_the_largest_prediction():
    classes = RNG.integers(4, size=200)
    outputs = np.eye(4)[classes] + 0.7 * RNG.normal(size=(200, 4))
    score = measures.accuracy(np.eye(4)[classes], outputs)
    assert score.right == np.sum(outputs.argmax(axis=1) == classes)
    assert 0 < score.wrong == 200 - score.right
    silent = measures.accuracy(np.eye(3), np.zeros((3, 3)))
    assert (silent.ties, silent.value, silent.strict) == (3, 0.5, 0.0)
    infinite = measures.accuracy(np.eye(2), np.array([[np.inf, 0.0], [np.inf, np.inf]]))
    assert infinite == Accuracy(right=1, wrong=0, ties=1)
