"""Errors, accuracies, slopes and worst values, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from audit_tables import table_of

from partwhole.audit.case import AuditTable
from partwhole.audit.prediction.prediction import predict
from partwhole.audit.prediction.scoring import Scorer


@pytest.mark.parametrize("labels", [None, 2, 3, 5])
def test_scores_equal_plain_loops(labels):
    rng = np.random.default_rng(7)
    outputs = 2 if labels is None else 1
    table = table_of(rng, (3, 4, 2), 60, labels=labels, outputs=outputs, weights=True)
    case = table.case(1, 2)
    found = predict(case)
    task, held, w = case.task, case.held_out, case.weights[case.held_out]
    for point in (found.points[0], found.points[11]):
        error = slope = norm = 0.0
        y, f = task.targets[held].reshape(len(held), -1), point.outputs.reshape(len(held), -1)
        y_mean, f_mean = (w @ y) / w.sum(), (w @ f) / w.sum()
        for i in range(len(held)):
            for k in range(y.shape[1]):
                error += w[i] * (y[i, k] - f[i, k]) ** 2 / (w.sum() * y.shape[1])
                slope += w[i] * (y[i, k] - y_mean[k]) * (f[i, k] - f_mean[k])
                norm += w[i] * (y[i, k] - y_mean[k]) ** 2
        assert abs(point.error - error) < 1e-12
        assert abs(point.leak_slope - slope / norm) < 1e-12
        if labels is None:
            assert np.isnan([point.accuracy, point.balanced_accuracy, found.chance]).all()
            continue
        right, of = dict.fromkeys(range(labels), 0.0), dict.fromkeys(range(labels), 0.0)
        places, best, of_rows = dict(zip(held.tolist(), range(len(held)), strict=True)), {}, {}
        for row in range(len(table.split)):
            place = case.row_combination[row]
            if table.split[row] != 1 or place not in places:
                continue
            i, label, weight = places[place], table.label[row], table.weights[row]
            scores = [-f[i, 0], f[i, 0]] if labels == 2 else list(f[i])
            top = [k for k in range(labels) if scores[k] >= max(scores) - 1e-9]
            right[label] += weight * (label in top) / len(top)
            of[label] += weight
            of_rows[i, label] = of_rows.get((i, label), 0.0) + weight
            known = label in table.label[table.split == 0]
            best[i] = max(best.get(i, 0.0), of_rows[i, label] if known else 0.0)
        assert found.ceiling == pytest.approx(sum(best.values()) / sum(of.values()))
        assert found.commonest == pytest.approx(max(of.values()) / sum(of.values()))
        present = [k for k in of if of[k]]
        assert abs(point.accuracy - sum(right.values()) / sum(of.values())) < 1e-12
        balanced = np.mean([right[k] / of[k] for k in present])
        assert abs(point.balanced_accuracy - balanced) < 1e-12
        assert found.chance == 1.0 / len(present)
    constant = case.task.train_targets.mean(axis=0)
    error = np.average(
        ((case.task.targets[held] - constant) ** 2).reshape(len(held), -1).mean(axis=1), weights=w
    )
    assert abs(found.constant_error - error) < 1e-12


def judge_of(targets, label, labels, weights=None):
    n = len(targets)
    table = AuditTable(
        np.array([[i] for i in range(n)]),
        np.asarray(targets, dtype=float).reshape(n, -1),
        None if label is None else np.asarray(label),
        np.array([0] + [1] * (n - 1)),
        np.ones(n) if weights is None else np.asarray(weights, dtype=float),
        ("item",),
        (tuple(range(n)),),
        ("y",),
        labels,
        ("train", "test"),
    )
    return Scorer(table.case(1, 0))


def test_ties_count_by_their_share():
    two = judge_of([1, 1, -1, 1], [1, 1, 0, 1], ("no", "yes"))
    assert two.accuracies(np.array([1e-10, 2e-9, 2e-9])) == (0.5, 0.375)
    assert two.ties(np.array([1e-10, 2e-9, 2e-9])) == 1
    onehot = 2.0 * np.eye(3)[[0, 0, 1, 2]] - 1.0
    three = judge_of(onehot, [0, 0, 1, 2], ("a", "b", "c"))
    tied = np.array([[0.5, 0.5 - 1e-10, 0.0], [0.5, 0.5, 0.5], [0.5, 0.5, 0.0]])
    np.testing.assert_allclose(three.accuracies(tied), (5 / 18, 5 / 18))
    assert three.chance == 1 / 3
    assert three.ties(tied) == 3


def test_one_label_in_the_test_split():
    one = judge_of([1, 1, 1], [1, 1, 1], ("no", "yes"))
    assert one.chance == 0.5
    assert one.accuracies(np.array([1.0, -1.0])) == (0.5, 0.5)
    assert np.isnan(one.slope(np.array([1.0, -1.0])))


def test_weights_count():
    judge = judge_of([1, 1, -1], [1, 1, 0], ("no", "yes"), [1, 3, 1])
    assert judge.accuracies(np.array([1.0, 1.0])) == (0.75, 0.5)
    assert judge.error(np.array([1.0, 1.0])) == 1.0


@pytest.mark.parametrize("labels", [None, 2, 4])
def test_worst_items_equal_plain_loops(labels):
    table = table_of(np.random.default_rng(8), (9, 4, 5), 150, labels=labels, weights=True)
    case = table.case(1, 2)
    found = predict(case)
    outputs = found.points[found.reference].outputs
    judge = Scorer(case)
    errors = judge.errors(outputs)
    right = None if labels is None else judge.right(outputs)
    held = case.task.test_components
    w = case.weights[case.held_out]
    every = []
    for c, n in enumerate(case.task.n_values):
        for v in range(n):
            mine = held[:, c] == v
            if not mine.any():
                continue
            accuracy = np.nan
            if right is not None:
                accuracy = np.average(right[mine], weights=w[mine])
            error = np.average(errors[mine], weights=w[mine])
            n_train = np.sum(case.task.train_components[:, c] == v)
            every.append((c, v, mine.sum(), n_train, error, accuracy))
    every.sort(key=lambda row: -row[4] if labels is None else (row[5], -row[4]))
    assert len(found.worst) == 10
    for item, (c, v, n_test, n_train, error, accuracy) in zip(found.worst, every[:10], strict=True):
        assert (item.component, item.value, item.n_test, item.n_train) == (c, v, n_test, n_train)
        np.testing.assert_allclose(item.error, error)
        np.testing.assert_allclose(item.accuracy, accuracy)


def with_unseen_label():
    """Return a case: training has labels a and b of three; the column decides the label."""
    labels, names = np.array([0, 0, 1, 0, 2, 2, 1]), ("a", "b", "c")
    return AuditTable(
        np.array([[0, 0], [1, 0], [0, 1], [2, 0], [2, 2], [1, 2], [1, 1]]),
        2.0 * np.eye(3)[labels] - 1.0,
        labels,
        np.array([0, 0, 0, 1, 1, 1, 1]),
        np.ones(7),
        ("row", "column"),
        ((0, 1, 2), (0, 1, 2)),
        ("y",),
        names,
        ("train", "test"),
    ).case(1, 1)


def test_a_label_that_training_lacks_is_no_guess_and_makes_no_value_the_worst():
    judge = Scorer(with_unseen_label())
    assert judge.ceiling == 0.5
    assert judge.commonest == 0.25
    right = np.array([[1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [0.0, 1.0, -1.0]])
    order = [[(2, 0), (2, 2), (1, 2), (1, 1)].index(tuple(c)) for c in judge.components.tolist()]
    listed = [(item.component, item.value, item.accuracy) for item in judge.worst(right[order])]
    assert listed == [(1, 0, 1.0), (1, 1, 1.0)]
    wrong = right[order][:, [1, 0, 2]]
    assert {(item.component, item.value) for item in judge.worst(wrong)} == {
        (0, 1), (0, 2), (1, 0), (1, 1),
    }  # fmt: skip


def test_the_slope_of_tiny_targets():
    judge = judge_of(np.array([1.0, 2.0, 4.0]) * 1e-149, None, None)
    assert judge.slope(np.array([1.0, 2.0]) * 1e-149) == pytest.approx(0.5)


def test_a_slope_of_rounding_is_zero():
    judge = judge_of(np.array([1.0, 2.0, 4.0]), None, None)
    assert judge.slope(np.array([2.07e-29, -1e-29])) == 0.0
    assert judge.slope(np.array([1e-6, 2e-6])) == pytest.approx(5e-7)
