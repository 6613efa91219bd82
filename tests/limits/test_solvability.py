"""Solvability: the facts of G-18 and G-20, an independent program, and certificates by hand."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from random_tasks import tasks as random_tasks

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.limits import Certificate, interpolate, max_margin, rectangles, solvability


def product(anchors):
    task = tasks.symbolic_addition(anchors=anchors)
    values = np.arange(-4.0, 5.0)
    return replace(task, targets=values[task.components[:, 0]] * values[task.components[:, 1]])


def indicators(task):
    """Write the seen conjunctions on the held-out rows, one by one."""
    train, test = task.train_components.tolist(), task.test_components.tolist()
    columns = [np.ones(len(test))]
    for k in range(1, task.n_components + 1):
        for chosen in combinations(range(task.n_components), k):
            for seen in {tuple(row[c] for c in chosen) for row in train}:
                columns.append(
                    np.array([tuple(row[c] for c in chosen) == seen for row in test], float)
                )
    return np.stack(columns, axis=1)


def check_certificate(task, found):
    """Recompute the proof: seen conjunctions add up to 0, the targets do not."""
    certificate = found.certificate
    weights = np.zeros(len(task.targets))
    weights[certificate.rows] = certificate.weights
    held_out = weights[~task.is_train]
    np.testing.assert_allclose(indicators(task).T @ held_out, 0.0, atol=1e-8)
    total = float(weights @ task.targets)
    assert total > 0
    assert abs(total - certificate.total) < 1e-9
    if found.kind == "classification":
        assert np.all(weights * task.targets >= 0)


# G-20: rank, best R squared, solvable
FACTS = [
    (tasks.symbolic_addition(anchors=[0]), "regression", 15, 1.0, True),
    (tasks.symbolic_addition(anchors=[-4, 4]), "regression", 13, 1.0, True),
    (tasks.dispersed_addition(seed=1), "regression", 17, 1.0, True),
    (tasks.context_dependence(1), "classification", 2, 1.0, True),
    (tasks.context_dependence(2), "classification", 6, 1.0, True),
    (tasks.context_dependence(3), "classification", 10, 1.0, True),
    (product([0]), "regression", 15, 0.0, False),
    (product([-4]), "regression", 15, 0.086957, False),
    (product([-4, 4]), "regression", 13, 0.0, False),
    (product([-2, 2]), "regression", 13, 0.0, False),
    (tasks.transitive_ordering(7), "regression", 13, 0.882494, False),
    (tasks.transitive_ordering(7), "classification", 13, 0.882494, True),
    (tasks.transitive_equivalence([2, 3], [1, 1]), "classification", 5, 0.2, False),
    (tasks.transitive_equivalence([2, 2], [1, 1]), "classification", 3, 0.0, False),
    (tasks.transitive_equivalence([5, 5], [4, 4]), "classification", 3, 0.0, False),
    (tasks.transitive_equivalence([5, 5], [1, 1]), "classification", 15, 0.0, False),
]


@pytest.mark.parametrize(("task", "kind", "rank", "r_squared", "solvable"), FACTS)
def test_facts(task, kind, rank, r_squared, solvable):
    found = solvability(task, kind=kind)
    assert found.solvable is solvable
    assert found.rank == rank == np.linalg.matrix_rank(indicators(task))
    assert abs(found.r_squared - r_squared) < 1e-6
    if not solvable:
        check_certificate(task, found)
        assert found.certificate.is_rectangle


@settings(max_examples=40)
@given(random_tasks(components=(2, 4), values=(2, 4), labels=True))
def test_classification_agrees_with_an_independent_program(task):
    if task.n_test == 0:
        return
    found = solvability(task)
    phi = indicators(task)
    w, t = cp.Variable(phi.shape[1]), cp.Variable()
    constraints = [cp.multiply(task.test_targets, phi @ w) >= t, cp.abs(w) <= 1, t <= 1]
    best = cp.Problem(cp.Maximize(t), constraints).solve(solver=cp.CLARABEL)
    assert found.solvable is (best > 1e-6)
    if not found.solvable:
        check_certificate(task, found)


@settings(max_examples=40)
@given(random_tasks(components=(2, 4), values=(2, 4)))
def test_regression_agrees_with_dense_least_squares(task):
    if task.n_test == 0:
        return
    found = solvability(task)
    phi = indicators(task)
    residual = task.test_targets - phi @ np.linalg.lstsq(phi, task.test_targets, rcond=None)[0]
    assert found.solvable is bool(np.abs(residual).max() < 1e-8)
    if not found.solvable:
        check_certificate(task, found)


@pytest.mark.parametrize("salience", [0.05, 0.3, 0.49])
def test_no_kernel_solves_what_is_not_solvable(salience):
    task = tasks.transitive_equivalence([4, 3], [2, 1])
    corners = rectangles(task)
    y = task.targets[corners]
    found = max_margin(task, OverlapKernel.from_salience([salience]), intercept="free")
    margins = (found.predictions * task.targets)[corners]
    across = np.all(y == y[:, :1] * [1, -1, -1, 1], axis=1)
    assert across.any()
    np.testing.assert_allclose(margins[across].sum(axis=1), 0.0, atol=1e-8)


def test_solvable_in_principle_is_not_solved():
    task = tasks.symbolic_addition(anchors=[0])
    assert solvability(task).solvable
    assert interpolate(task, OverlapKernel.from_salience([0.4]), intercept="free").test_error > 1


def test_three_components_have_rectangles_too():
    """Context substitution: a known context meets new values, and no sum can tell."""
    task = tasks.context_substitution()
    found = solvability(task)
    assert found.solvable is False
    check_certificate(task, found)


def test_a_certificate_that_is_no_rectangle():
    """Held-out cells on a hexagon: three rows, three columns, two cells each."""
    rows = np.array([[i, j] for i in range(3) for j in range(3)])
    held_out = np.array([i != j for i, j in rows])
    # The other cells were seen: the hexagon's alternating sum is the only constraint.
    targets = np.array([0.0, 1, 0, 0, 0, 0, 0, 0, 0])
    task = tasks.Task(rows, targets, ~held_out, ("a", "b"), ((0, 1, 2),) * 2)
    found = solvability(task)
    assert found.solvable is False
    assert not found.certificate.is_rectangle
    assert sorted(found.certificate.weights) == [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]
    check_certificate(task, found)
    signs = replace(task, targets=np.where(targets > 0, 1.0, -1.0))
    assert solvability(signs).solvable  # signs leave more room than numbers


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_scale_and_offset_of_targets_change_nothing(scale, offset):
    task = product([-4])
    moved = replace(task, targets=(task.targets + offset) * scale)
    found = solvability(moved)
    assert found.solvable is False
    assert abs(found.r_squared - 0.086957) < 1e-6
    assert solvability(replace(tasks.symbolic_addition(), targets=moved.targets * 0)).solvable


def test_a_split_that_tests_nothing_says_so():
    task = tasks.associative_inference()
    one = replace(task, is_train=np.arange(16) != 1)
    assert "tests nothing in this respect" in solvability(one).explain()
    assert "tests nothing" not in solvability(tasks.symbolic_addition()).explain()


def test_repeats_that_disagree_certify_themselves():
    task = tasks.associative_inference()
    twice = replace(
        task,
        components=np.concatenate([task.components, task.components[1:2]]),
        targets=np.append(task.targets, -task.targets[1]),
        is_train=np.append(task.is_train, False),
    )
    found = solvability(twice)
    assert found.solvable is False
    assert sorted(found.certificate.rows) == [1, 16]
    assert found.explain() == "Not solvable: the held-out combination (A, B) has two targets."
    assert np.isnan(found.r_squared)


def test_explanations_can_be_recomputed_by_hand():
    found = solvability(tasks.associative_inference())
    assert found.explain() == (
        "Not solvable: f(A, B) + f(C, D) - f(A, D) - f(C, B) is 0 for every sum of seen "
        "conjunctions, but the targets give 4; so these weighted margins add up to 0 and can't "
        "all be positive."
    )
    assert solvability(tasks.symbolic_addition()).explain() == (
        "Solvable in principle: some sum of seen conjunctions equals the held-out targets."
    )
    undecided = replace(found, solvable=None, certificate=None, seconds=1.0)
    assert undecided.explain() == "Not decided within 1.0 s; allow more with time_limit."


def test_no_time_is_not_decided():
    """Without rectangles (each row and column holds two held-out cells) the program must run."""
    n = 40
    rows = np.array([[i, j] for i in range(n) for j in range(n)])
    held_out = np.isin((rows[:, 1] - rows[:, 0]) % n, (0, 1))
    labels = np.where(np.random.default_rng(0).random(n * n) > 0.5, 1.0, -1.0)
    task = tasks.Task(rows, labels, ~held_out, ("a", "b"), (tuple(range(n)),) * 2)
    assert solvability(task, time_limit=0.0).solvable is None
    assert solvability(task).solvable is True


def test_order_can_be_limited():
    task = tasks.context_dependence(3)
    assert solvability(task, max_order=2).solvable
    assert solvability(task, max_order=1).solvable is True  # the held-out labels follow context
    assert solvability(task, max_order=1).order == 1


def test_several_outputs_need_all_to_be_in_range():
    task = tasks.symbolic_addition(anchors=[0])
    both = replace(task, targets=np.stack([task.targets, product([0]).targets], axis=1))
    found = solvability(both)
    assert found.solvable is False
    assert found.certificate.is_rectangle


ALL_SEEN = replace(tasks.associative_inference(), is_train=np.ones(16, bool))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: solvability(ALL_SEEN),
            "solvability is asked of held-out rows; got none; hold some out",
        ),
        (
            lambda: solvability(ALL_SEEN, kind="signs"),
            "kind is 'auto', 'regression' or 'classification'; got 'signs'; choose one of them",
        ),
        (
            lambda: solvability(tasks.symbolic_addition(), kind="classification"),
            "classification needs one output with labels -1 and +1; got targets of shape (81,) "
            "in -8..8; ask for one label at a time, or for kind='regression'",
        ),
        (
            lambda: rectangles(tasks.context_dependence(3)),
            "rectangles are listed for two components; got 3; use solvability(task)",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence


def test_order_decides_where_pairs_are_needed():
    """XOR of two components, the third's value new: pairs were seen, no sum of single ones is it.

    On the four held-out rows single values span 1, the first and the second: rank 3; pairs 4.
    """
    rows = np.array([[i, j, k] for k in range(2) for i in range(2) for j in range(2)])
    targets = np.where(rows[:, 0] == rows[:, 1], 1.0, -1.0)
    task = tasks.Task(rows, targets, rows[:, 2] == 0, ("a", "b", "c"), ((0, 1),) * 3)
    for kind in ("classification", "regression"):
        one, two = (solvability(task, kind=kind, max_order=k) for k in (1, 2))
        assert (one.solvable, two.solvable) == (False, True)
        assert (one.rank, two.rank) == (3, 4)
        assert one.certificate.is_rectangle
        assert one.certificate.total == 4.0


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_two_settings_of_two_components_make_a_rectangle(kind):
    """Halves (0, 0), (1, 1) were each seen beside (2, 2) only; no two rows differ in one place."""
    halves = [(0, 0), (1, 1)]
    unseen = [[*a, *b] for a in halves for b in halves]
    seen = [[*a, 2, 2] for a in halves] + [[2, 2, *b] for b in halves]
    task = tasks.Task(
        np.array(seen + unseen),
        np.array([1.0, -1, 1, -1, 1, -1, -1, 1]),
        np.arange(8) < 4,
        ("a", "b", "c", "d"),
        ((0, 1, 2),) * 4,
    )
    found = solvability(task, kind=kind)
    assert found.solvable is False
    assert found.certificate.is_rectangle
    assert sorted(found.certificate.rows) == [4, 5, 6, 7]
    assert found.certificate.total == 4.0
    check_certificate(task, found)


def test_repeats_may_disagree_in_any_output():
    task = tasks.associative_inference()
    targets = np.stack([task.targets, task.targets], axis=1)
    twice = replace(
        task,
        components=np.concatenate([task.components, task.components[1:2]]),
        targets=np.concatenate([targets, [[task.targets[1], -3.0]]]),
        is_train=np.append(task.is_train, False),
    )
    certificate = solvability(twice, kind="regression").certificate
    assert sorted(certificate.rows) == [1, 16]
    assert certificate.total == 4.0  # 1 - (-3)


@pytest.mark.parametrize(
    "task", [tasks.symbolic_addition(anchors=[0]), product([-4]), tasks.transitive_ordering(7)]
)
def test_large_tasks_are_answered_alike(monkeypatch, task):
    """Past the dense limit LSMR stands in; only the rank is not told."""
    dense = solvability(task, kind="regression")
    monkeypatch.setattr(import_module("partwhole.limits.solvability"), "DENSE_WORK", 0.0)
    sparse = solvability(task, kind="regression")
    assert sparse.rank is None
    assert sparse.solvable is dense.solvable
    assert abs(sparse.r_squared - dense.r_squared) < 1e-8


def test_weights_are_written_before_their_terms():
    task = tasks.associative_inference()
    certificate = Certificate(np.array([0, 1, 2]), np.array([-1.0, 2.5, -1.5]), 1.0, False)
    assert certificate.sum_in_words(task) == "2.5 f(A, B) - f(A, A) - 1.5 f(A, C)"
