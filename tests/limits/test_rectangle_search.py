"""Rectangles among many components: found however they divide them, with bounded work."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from partwhole.limits import solvability
from partwhole.limits.proofs import rectangle_search
from partwhole.limits.proofs._budget import Budget
from partwhole.tasks import Task


def planted(n_components: int, n: int, seed: int) -> tuple[Task, np.ndarray]:
    """Return held-out rows of binary components with one rectangle among the first four."""
    rng = np.random.default_rng(seed)
    side = rng.permutation(n_components) < n_components // 2
    corner = rng.integers(0, 2, n_components)
    corners = [
        corner,
        np.where(side, corner, 1 - corner),
        np.where(side, 1 - corner, corner),
        1 - corner,
    ]
    rest = rng.integers(0, 2, (n - 4, n_components))
    held_out = np.unique(np.concatenate([corners, rest]), axis=0)
    train = np.stack([np.zeros(n_components, int), np.ones(n_components, int)])
    held_out = held_out[~(held_out[:, None] == train).all(axis=2).any(axis=1)]
    components = np.concatenate([train, held_out])
    is_train = np.arange(len(components)) < 2
    names = tuple(f"c{i}" for i in range(n_components))
    targets = np.zeros(len(components))
    targets[(components == corners[0]).all(axis=1)] = 1.0
    return Task(components, targets, is_train, names, ((0, 1),) * n_components), side


@pytest.mark.parametrize("seed", range(5))
def test_a_rectangle_is_found_however_it_divides_many_components(seed):
    # The halves of 16 components are the last of 32,767 divisions.
    task, side = planted(16, 24, seed)
    verdict = solvability(task, max_order=1)
    proof = verdict.certificate
    assert verdict.solvable is False
    assert proof is not None
    assert proof.is_rectangle
    assert sorted(map(set, proof.groups), key=min) == sorted(
        [set(np.flatnonzero(side).tolist()), set(np.flatnonzero(~side).tolist())], key=min
    )
    # By hand: every value of every component has weights that add up to 0; the targets' do not.
    corners = task.components[proof.rows]
    assert not (proof.weights @ corners).any()
    assert proof.weights.sum() == 0
    assert proof.weights @ task.targets[proof.rows] == proof.total == 1.0


def test_labels_have_such_rectangles_too():
    task, side = planted(14, 30, 3)
    positive = task.components[task.targets == 1.0][0]
    corners = [
        positive,
        np.where(side, positive, 1 - positive),
        np.where(side, 1 - positive, positive),
        1 - positive,
    ]
    signs = np.where(np.random.default_rng(0).random(len(task.targets)) < 0.5, -1.0, 1.0)
    for corner, sign in zip(corners, (1.0, -1.0, -1.0, 1.0), strict=True):
        signs[(task.components == corner).all(axis=1)] = sign
    labelled = Task(task.components, signs, task.is_train, task.names, task.values)
    proof = solvability(labelled, max_order=1).certificate
    assert proof is not None
    assert proof.is_rectangle
    assert proof.total == 4.0
    assert not (proof.weights @ task.components[proof.rows]).any()


@pytest.mark.parametrize("n", [120, 700])
def test_the_divisions_tried_are_counted(monkeypatch, n):
    rng = np.random.default_rng(0)
    rows = np.unique(rng.integers(0, 2, (n + 20, 20)), axis=0)[:n]
    calls = []
    plain = rectangle_search.Dictionary.of

    def counted(*arguments):
        calls.append(len(arguments[0]))
        return plain(*arguments)

    monkeypatch.setattr(rectangle_search.Dictionary, "of", counted)
    names = tuple(f"c{i}" for i in range(20))
    task = Task(rows, rng.normal(size=n), np.arange(n) < 1, names, ((0, 1),) * 20)
    # No column, so that every contrast would be a proof, and equal targets, so that there is none.
    phi = sparse.csr_array((n, 1))
    assert (
        rectangle_search.find_rectangle(task, np.arange(n), np.ones(n), phi, False, Budget(1e12))
        is None
    )
    # All pairs at once, or two dictionaries for each of the first 400 divisions of 524,287.
    assert calls == ([120 * 119 // 2] if n == 120 else [700] * 800)
    assert (
        rectangle_search.find_rectangle(task, np.arange(n), np.ones(n), phi, n > 632, Budget(0.0))
        is None
    )
    assert len(calls) == (2 if n == 120 else 800)


def test_the_only_rectangle_that_cancels_is_found_behind_many_that_do_not():
    n = 40
    components = np.stack(np.unravel_index(np.arange(n * n), (n, n)), axis=1)
    corners = np.array([38 * n + 7, 38 * n + 21, 39 * n + 7, 39 * n + 21])
    # A column for every row but these four, so that no other contrast is a proof.
    phi = sparse.eye_array(n * n, format="csr")
    kept = np.ones(n * n)
    kept[corners] = 0.0
    phi = sparse.csr_array(sparse.diags_array(kept) @ phi)
    phi.eliminate_zeros()
    y = np.random.default_rng(0).normal(size=n * n)
    y[corners] = [9.0, -9.0, -9.0, 9.0]
    values = (tuple(range(n)),) * 2
    task = Task(components, y, np.arange(n * n) < 1, ("a", "b"), values)
    proof = rectangle_search.find_rectangle(task, np.arange(n * n), y, phi, False, Budget(1e12))
    assert proof is not None
    np.testing.assert_array_equal(proof.rows, corners)
    assert proof.total == 36.0
    phi = sparse.eye_array(n * n, format="csr")
    assert (
        rectangle_search.find_rectangle(task, np.arange(n * n), y, phi, False, Budget(1e12)) is None
    )


def crossings(components, label, phi):
    """Return the rectangles with one label at each diagonal over which every column cancels."""
    found = set()
    rows = range(len(label))
    for i, j in combinations(rows, 2):
        if label[i] != label[j]:
            continue
        for k, m in combinations(rows, 2):
            same = np.sort(components[[i, j]], axis=0) == np.sort(components[[k, m]], axis=0)
            crossed = label[k] == label[m] != label[i] and same.all()
            if crossed and not (phi[[i]] + phi[[j]] - phi[[k]] - phi[[m]]).toarray().any():
                found.add((frozenset((i, j)), frozenset((k, m))))
    return found


@pytest.mark.parametrize("binary", [False, True])
def test_all_labels_at_once_are_searched_wholly(binary):
    rng = np.random.default_rng(0)
    outcomes = []
    for _ in range(60):
        sizes = rng.integers(2, 4, rng.integers(2, 4))
        grid = np.stack(np.unravel_index(np.arange(sizes.prod()), sizes), axis=1)
        components = grid[rng.permutation(len(grid))[:14]]
        n, labels = len(components), 2 if binary else rng.integers(3, 6)
        label = rng.integers(0, labels, n)
        # Columns of some values, as where others are unseen.
        columns = [components[:, c] == v for c, s in enumerate(sizes) for v in range(s)]
        kept = [column for column in columns if rng.random() < 0.7]
        pairs = [components[:, 0] * 3 + components[:, 1] == v for v in range(9)]
        kept += [column for column in pairs if rng.random() < 0.3]
        phi = sparse.csr_array(np.stack(kept or columns, axis=1).astype(float))
        values = tuple(tuple(range(s)) for s in sizes)
        names = tuple("abc"[: len(sizes)])
        task = Task(components, label.astype(float), np.arange(n) < 1, names, values)
        proof = rectangle_search.rectangle_of_labels(
            task, np.arange(n), label, phi, binary, Budget(1e12)
        )
        expected = crossings(components, label, phi)
        assert (proof is None) == (not expected)
        outcomes.append(proof is None)
        if proof is None:
            continue
        # Weights and labels of a proof belong together: +1 for the first label, or for label 1.
        even = 1 if binary else proof.labels[0]
        first = frozenset(proof.rows[proof.weights > 0].tolist())
        second = frozenset(proof.rows[proof.weights < 0].tolist())
        assert (first, second) in expected
        assert (label[list(first)] == even).all()
        assert proof.total == 4.0
        assert len(proof.rows) == 4
    assert 15 < sum(outcomes) < 45
