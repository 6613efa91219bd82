"""Combinations of a split: merged by brute force, from every row of the table."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain

import numpy as np
import pytest

from partwhole.audit.case import AuditTable


def table(rng, n=60, labels=None, weights=None):
    components = rng.integers(0, 3, size=(n, 3))
    if labels is None:
        label, targets = None, rng.integers(0, 3, size=(n, 1)).astype(float)
    else:
        label = rng.integers(0, len(labels), size=n)
        full = 2.0 * np.eye(len(labels))[label] - 1.0
        targets = full[:, 1:] if len(labels) == 2 else full
    split = rng.integers(-1, 3, size=n)
    split[:3] = [0, 1, 2]
    return AuditTable(
        components,
        targets,
        label,
        split,
        np.ones(n) if weights is None else weights,
        ("a", "b", "c"),
        (("x", "y", "z"),) * 3,
        ("y",),
        labels,
        ("train", "near", "far"),
    )


@pytest.mark.parametrize("labels", [None, ("no", "yes"), ("p", "q", "r")])
@pytest.mark.parametrize("seed", range(4))
def test_a_case_merges_rows_as_by_hand(labels, seed):
    rng = np.random.default_rng(seed)
    given = table(rng, labels=labels, weights=rng.uniform(0.5, 2.0, 60))
    case = given.case(2, 2)
    groups = defaultdict(list)
    for part in (0, 2):
        for row in np.flatnonzero(given.split == part):
            groups[part, tuple(given.components[row])].append(row)
    seen = {key for part, key in groups if part == 0}
    wanted = {k: v for k, v in groups.items() if k[0] == 0 or k[1] not in seen}
    assert len(case.task.components) == len(wanted)
    assert case.task.n_train == len(seen)
    assert case.task.is_train[: len(seen)].all()
    targets = case.task.targets.reshape(len(wanted), -1)
    for place, combination in enumerate(case.task.components):
        part = 0 if case.task.is_train[place] else 2
        rows = wanted[part, tuple(combination)]
        weights = given.weights[rows]
        mean = weights @ given.targets[rows] / weights.sum()
        # Averages in another order of summation.
        np.testing.assert_allclose(targets[place], mean, rtol=0, atol=1e-14)
        assert case.weights[place] == pytest.approx(weights.sum(), rel=1e-14)
        assert case.conflict[place] == (len(np.unique(given.targets[rows], axis=0)) > 1)
        if labels:
            count = np.bincount(given.label[rows], weights, len(labels))
            assert case.label[place] == count.argmax()
        everywhere = np.flatnonzero(np.isin(given.split, [0, 2]))
        same = [r for r in everywhere if tuple(given.components[r]) == tuple(combination)]
        assert np.flatnonzero(case.row_combination == place).tolist() == same
    also = [r for key, r in groups.items() if key[0] == 2 and key[1] in seen]
    assert case.also_seen.tolist() == sorted(chain.from_iterable(also))
    assert np.all(case.row_combination[np.isin(given.split, [-1, 1])] == -1)
    held_out = [r for key, r in groups.items() if key[0] == 2 and key[1] not in seen]
    assert case.rows_of(case.held_out).tolist() == sorted(chain.from_iterable(held_out))


def test_evenly_divided_labels_have_no_label():
    given = AuditTable(
        np.array([[0, 0], [0, 1], [0, 1], [1, 1]]),
        np.array([[1.0], [1.0], [-1.0], [-1.0]]),
        np.array([1, 1, 0, 0]),
        np.array([0, 1, 1, 1]),
        np.ones(4),
        ("a", "b"),
        ((0, 1), (0, 1)),
        ("y",),
        ("no", "yes"),
        ("train", "test"),
    )
    case = given.case(1, 1)
    assert case.label.tolist() == [1, -1, 0]
    assert case.conflict.tolist() == [False, True, False]
    assert case.in_words(1) == "(0, 1)"
    assert case.name == "test"
