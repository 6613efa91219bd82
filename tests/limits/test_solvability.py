"""Solvability: the facts of G-18 and G-20, an independent program, and certificates by hand."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tasks import tasks as random_tasks
from scipy import sparse
from scipy.optimize import linprog

from partwhole import solve, tasks
from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.limits import solvability
from partwhole.limits.proofs.certificates import Certificate, rectangles
from partwhole.tasks.context import context_substitution


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


def check_certificate(task, verdict):
    """Recompute the proof: seen conjunctions add up to 0, the targets do not."""
    certificate = verdict.certificate
    weights = np.zeros(len(task.targets))
    weights[certificate.rows] = certificate.weights
    held_out = weights[~task.is_train]
    np.testing.assert_array_equal(weights, np.round(weights))
    np.testing.assert_array_equal(indicators(task).T @ held_out, 0.0)
    total = float(weights @ task.targets)
    assert total > 0
    assert abs(total - certificate.total) < 1e-9
    if verdict.kind == "classification":
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
    verdict = solvability(task, kind=kind)
    assert verdict.solvable is solvable
    assert verdict.rank == rank == np.linalg.matrix_rank(indicators(task))
    assert abs(verdict.r_squared - r_squared) < 1e-6
    if not solvable:
        check_certificate(task, verdict)
        assert verdict.certificate.is_rectangle


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
    limit = solve(task, OverlapKernel.from_salience([salience]), fit="margin", intercept="free")
    margins = (limit.predictions * task.targets)[corners]
    across = np.all(y == y[:, :1] * [1, -1, -1, 1], axis=1)
    assert across.any()
    np.testing.assert_allclose(margins[across].sum(axis=1), 0.0, atol=1e-8)


def test_solvable_in_principle_is_not_solved():
    task = tasks.symbolic_addition(anchors=[0])
    assert solvability(task).solvable
    assert solve(task, OverlapKernel.from_salience([0.4]), intercept="free").test_error > 1


def test_three_components_have_rectangles_too():
    """Context substitution: a known context meets new values, and no sum can tell."""
    task = context_substitution()
    verdict = solvability(task)
    assert verdict.solvable is False
    check_certificate(task, verdict)


def test_a_certificate_that_is_no_rectangle():
    """Held-out cells on a hexagon: three rows, three columns, two cells each."""
    rows = np.array([[i, j] for i in range(3) for j in range(3)])
    held_out = np.array([i != j for i, j in rows])
    # The other cells were seen: the hexagon's alternating sum is the only constraint.
    targets = np.array([0.0, 1, 0, 0, 0, 0, 0, 0, 0])
    task = tasks.Task(rows, targets, ~held_out, ("a", "b"), ((0, 1, 2),) * 2)
    verdict = solvability(task)
    assert verdict.solvable is False
    assert not verdict.certificate.is_rectangle
    assert sorted(verdict.certificate.weights) == [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]
    check_certificate(task, verdict)
    signs = replace(task, targets=np.where(targets > 0, 1.0, -1.0))
    assert solvability(signs).solvable  # signs leave more room than numbers


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_scale_and_offset_of_targets_change_nothing(scale, offset):
    task = product([-4])
    shifted = replace(task, targets=(task.targets + offset) * scale)
    verdict = solvability(shifted)
    assert verdict.solvable is False
    assert abs(verdict.r_squared - 0.086957) < 1e-6
    assert solvability(replace(tasks.symbolic_addition(), targets=shifted.targets * 0)).solvable


def test_a_split_that_tests_nothing_says_so():
    task = tasks.associative_inference()
    split = replace(task, is_train=np.arange(16) != 1)
    explanation = solvability(split).explain()
    assert explanation.endswith(
        " Such sums could give any targets at all on this one combination, so this says little of "
        "the targets; hold out more combinations."
    )
    two = replace(task, is_train=~np.isin(np.arange(16), [1, 6]))
    assert "at all on these 2 combinations, so" in solvability(two).explain()
    assert "any targets" not in solvability(tasks.symbolic_addition()).explain()


def test_repeats_that_disagree_certify_themselves():
    task = tasks.associative_inference()
    twice = replace(
        task,
        components=np.concatenate([task.components, task.components[1:2]]),
        targets=np.append(task.targets, -task.targets[1]),
        is_train=np.append(task.is_train, False),
    )
    verdict = solvability(twice)
    assert verdict.solvable is False
    assert sorted(verdict.certificate.rows) == [1, 16]
    assert verdict.explain() == "Not solvable: the held-out combination (A, B) has two targets."
    assert np.isnan(verdict.r_squared)


def test_explanations_can_be_recomputed_by_hand():
    verdict = solvability(tasks.associative_inference())
    assert verdict.explain() == (
        "Not solvable: f(A, B) + f(C, D) - f(A, D) - f(C, B) is 0 for every sum of seen "
        "conjunctions, but the targets give 4; so these weighted margins add up to 0 and can't "
        "all be positive."
    )
    assert solvability(tasks.symbolic_addition()).explain() == (
        "Solvable in principle: some sum of seen conjunctions equals the held-out targets."
    )
    undecided = replace(verdict, solvable=None, certificate=None, seconds=1.0)
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
    two_outputs = replace(task, targets=np.stack([task.targets, product([0]).targets], axis=1))
    verdict = solvability(two_outputs)
    assert verdict.solvable is False
    assert verdict.certificate.is_rectangle


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
            'kind is "auto", "regression" or "classification"; got \'signs\'; choose one of them',
        ),
        (
            lambda: solvability(tasks.symbolic_addition(), kind="classification"),
            "classification needs labels -1 and +1, or one output for each label, +1 for its own; "
            "got targets of shape (81,) in -8..8; ask for one label at a time, or for "
            "kind='regression'",
        ),
        (
            lambda: solvability(
                replace(ALL_SEEN, targets=np.ones((16, 3)), is_train=np.arange(16) > 1)
            ),
            "classification needs labels -1 and +1, or one output for each label, +1 for its own; "
            "got targets of shape (16, 3) in 1..1; ask for one label at a time, or for "
            "kind='regression'",
        ),
        (
            lambda: solvability(tasks.symbolic_addition(), unexplained=2.0),
            "unexplained is a finite number from 0 to 1; got 2.0; pass a number from 0 to 1, or "
            "leave it out for 0",
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
        first_order, second_order = (solvability(task, kind=kind, max_order=k) for k in (1, 2))
        assert (first_order.solvable, second_order.solvable) == (False, True)
        assert (first_order.rank, second_order.rank) == (3, 4)
        assert first_order.certificate.is_rectangle
        assert first_order.certificate.total == 4.0


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
    verdict = solvability(task, kind=kind)
    assert verdict.solvable is False
    assert verdict.certificate.is_rectangle
    assert sorted(verdict.certificate.rows) == [4, 5, 6, 7]
    assert verdict.certificate.total == 4.0
    check_certificate(task, verdict)


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


LEAST_SQUARES = import_module("partwhole.limits.proofs._least_squares")
SEPARATION = import_module("partwhole.limits.proofs.separation")
LABEL_PROOFS = import_module("partwhole.limits.proofs.label_proofs")
CERTIFICATES = import_module("partwhole.limits.proofs.certificates")


@pytest.mark.parametrize(
    "task", [tasks.symbolic_addition(anchors=[0]), product([-4]), tasks.transitive_ordering(7)]
)
def test_large_tasks_are_answered_alike(monkeypatch, task):
    """Past the first limit a Gram matrix stands in; past the next, where no rank is told, steps."""
    dense = solvability(task, kind="regression")
    monkeypatch.setattr(LEAST_SQUARES, "SVD_WORK", 0.0)
    gram = solvability(task, kind="regression")
    monkeypatch.setattr(LEAST_SQUARES, "GRAM_SIDE", 0)
    steps = solvability(task, kind="regression")
    assert gram.rank == dense.rank
    assert steps.rank is None
    assert gram.solvable is steps.solvable is dense.solvable
    assert abs(gram.r_squared - dense.r_squared) < 1e-10
    assert abs(steps.r_squared - dense.r_squared) < 1e-8


@settings(max_examples=40)
@given(random_tasks(components=(2, 4), values=(2, 5)), st.booleans(), st.booleans())
def test_other_least_squares_agree_with_the_first(task, in_range, by_steps):
    if task.n_test == 0:
        return
    if in_range:
        phi = indicators(task)
        weights = np.random.default_rng(0).normal(size=phi.shape[1])
        targets = task.targets.copy()
        targets[~task.is_train] = phi @ weights
        task = replace(task, targets=targets)
    dense = solvability(task)
    assert not in_range or dense.solvable
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LEAST_SQUARES, "SVD_WORK", 0.0)
        patch.setattr(LEAST_SQUARES, "GRAM_SIDE", 0 if by_steps else 1600)
        other = solvability(task)
    assert other.solvable is dense.solvable
    if task.n_test > 1:
        assert abs(other.r_squared - dense.r_squared) < 1e-8


def test_steps_that_run_out_of_time_decide_nothing(monkeypatch):
    monkeypatch.setattr(LEAST_SQUARES, "SVD_WORK", 0.0)
    monkeypatch.setattr(LEAST_SQUARES, "GRAM_SIDE", 0)
    task = tasks.dispersed_addition(seed=1)
    assert solvability(task, kind="regression", time_limit=0.0).solvable is None
    assert solvability(task, kind="regression").solvable is True


def test_part_of_the_variance_may_be_let_go():
    """The product with anchor -4: sums explain 2/23 of it."""
    task = product([-4])
    strict = solvability(task)
    assert strict.solvable is False
    assert abs(strict.unexplained - 21 / 23) < 1e-6
    assert solvability(task, unexplained=0.9).solvable is False
    lenient = solvability(task, unexplained=0.92)
    assert lenient.solvable is True
    assert lenient.certificate is None
    assert "leaves 91 % of the held-out targets' variance, of which 92 % is allowed" in (
        lenient.explain()
    )


def one_output_each(labels, k):
    targets = -np.ones((len(labels), k))
    targets[np.arange(len(labels)), labels] = 1.0
    return targets


@st.composite
def many_labels(draw):
    """Draw a task whose labels are random, or the arg-max of a sum with noise."""
    task = draw(random_tasks(components=(2, 4), values=(2, 5)))
    k = draw(st.integers(3, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = sum(
        rng.normal(size=(n, k))[task.components[:, c]] for c, n in enumerate(task.n_values)
    )
    noise = draw(st.sampled_from([0.0, 0.3, 100.0]))
    labels = (scores + noise * rng.normal(size=scores.shape)).argmax(axis=1)
    order = draw(st.integers(1, task.n_components - 1))
    return replace(task, targets=one_output_each(labels, k)), labels, order


def indicators_up_to(task, order):
    """As `indicators`, with conjunctions of at most K components."""
    train, test = task.train_components.tolist(), task.test_components.tolist()
    columns = [np.ones(len(test))]
    for k in range(1, order + 1):
        for chosen in combinations(range(task.n_components), k):
            for seen in {tuple(row[c] for c in chosen) for row in train}:
                columns.append(
                    np.array([tuple(row[c] for c in chosen) == seen for row in test], float)
                )
    return np.stack(columns, axis=1)


def can_be_told_apart(phi, labels, k):
    """Ask for any W that puts each row's own output ahead by 1: a feasibility program."""
    blocks = []
    for phi_row, label in zip(phi, labels, strict=True):
        for rival in set(range(k)) - {label}:
            block = np.zeros((k, len(phi_row)))
            block[label], block[rival] = -phi_row, phi_row
            blocks.append(block.ravel())
    rows = np.array(blocks)
    program = linprog(
        np.zeros(rows.shape[1]), A_ub=rows, b_ub=-np.ones(len(rows)), bounds=(None, None)
    )
    assert program.status in (0, 2)
    return program.status == 0


def check_label_certificate(task, labels, order, certificate):
    """Write the proof as one matrix, a weight for each row and output, and add it up."""
    phi, held_out = indicators_up_to(task, order), np.flatnonzero(~task.is_train)
    k = task.targets.shape[1]
    weights = np.zeros((len(held_out), k))
    rivals = certificate.rivals or [
        certificate.labels if target > 0 else certificate.labels[::-1]
        for target in certificate.wanted
    ]
    for row, size, (label, rival) in zip(
        certificate.rows, certificate.weights * certificate.wanted, rivals, strict=True
    ):
        assert size > 0
        assert labels[row] == label
        place = np.searchsorted(held_out, row)
        weights[place, label] += size
        weights[place, rival] -= size
    assert abs(certificate.weights @ certificate.wanted - certificate.total) < 1e-9
    np.testing.assert_array_equal(weights, np.round(weights))
    np.testing.assert_array_equal(phi.T @ weights, 0.0)


@pytest.mark.parametrize(("work", "rivals"), [(0.0, 16), (3e5, 16), (0.0, 1)])
def test_many_labels_agree_with_an_independent_program(monkeypatch, work, rivals):
    monkeypatch.setattr(LABEL_PROOFS, "RIVALS", rivals)
    monkeypatch.setattr(SEPARATION, "PROGRAM_WORK", work)
    monkeypatch.setattr(LABEL_PROOFS, "PROGRAM_WORK", work)
    verdicts = []

    @settings(max_examples=40)
    @given(many_labels())
    def agree(case):
        task, labels, order = case
        if not 0 < task.n_test <= 120:
            return
        verdict = solvability(task, max_order=order)
        k = task.targets.shape[1]
        phi = indicators_up_to(task, order)
        assert verdict.solvable is can_be_told_apart(phi, labels[~task.is_train], k)
        if verdict.solvable is False:
            check_label_certificate(task, labels, order, verdict.certificate)
        verdicts.append(verdict.solvable)

    agree()
    assert set(verdicts) == {True, False}


def test_many_labels_take_little_work(monkeypatch):
    """600 labels have 179,700 pairs; only those that two rows have are looked at, in the time."""
    rng = np.random.default_rng(0)
    components = np.stack(np.unravel_index(np.arange(1200), (40, 30)), axis=1)
    labels = rng.permutation(np.concatenate([np.arange(599), np.full(601, 599)]))
    task = tasks.Task(
        components,
        2.0 * (labels[:, None] == np.arange(600)) - 1.0,
        rng.random(1200) < 0.3,
        ("a", "b"),
        (tuple(range(40)), tuple(range(30))),
    )
    sizes = []
    plain = LABEL_PROOFS._contrasts

    def sized(phi, row, label, rival, k):
        sizes.append(len(row))
        return plain(phi, row, label, rival, k)

    monkeypatch.setattr(LABEL_PROOFS, "_contrasts", sized)
    monkeypatch.setattr(LABEL_PROOFS, "PROGRAM_WORK", 0.0)
    monkeypatch.setattr(LABEL_PROOFS, "find_sums", lambda *_: False)
    solvability(task, max_order=1, time_limit=0.5)
    # Each row has 599 rivals; 16 of them and the nearest are the most that enter at first.
    assert sizes
    assert sizes[0] <= 17 * task.n_test


def block_of_labels(labels):
    """Hold out a block with these labels; its values were seen with one other value each."""
    n, m = np.shape(labels)
    inside = [(i, j) for i in range(n) for j in range(m)]
    seen = [(i, m) for i in range(n)] + [(n, j) for j in range(m)]
    every = np.concatenate([np.ravel(labels), np.zeros(len(seen), int)])
    task = tasks.Task(
        np.array(inside + seen),
        one_output_each(every, 3),
        np.arange(len(every)) >= len(inside),
        ("row", "column"),
        (tuple(range(n + 1)), tuple("abcdefg"[: m + 1])),
    )
    return task, every


@pytest.mark.parametrize("work", [0.0, 3e5])
def test_three_labels_that_only_together_can_not_be(monkeypatch, work):
    """Row by row x y z over y z x: any two labels are told apart, the three are not."""
    monkeypatch.setattr(SEPARATION, "PROGRAM_WORK", work)
    monkeypatch.setattr(LABEL_PROOFS, "PROGRAM_WORK", work)
    task, labels = block_of_labels([[0, 1, 2], [1, 2, 0]])
    verdict = solvability(task, max_order=1)
    assert verdict.solvable is False
    certificate = verdict.certificate
    check_label_certificate(task, labels, 1, certificate)
    assert certificate.labels is None
    assert sorted(certificate.rivals) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    np.testing.assert_array_equal(certificate.weights, 1.0)
    assert verdict.explain(labels=["x", "y", "z"]) == (
        "Not solvable: f[x - y](0, a) + f[y - z](0, b) + f[z - x](0, c) + f[y - x](1, a) + "
        "f[z - y](1, b) + f[x - z](1, c) is 0 for every sum of seen conjunctions, with f[a - b] "
        "the output for a minus the output for b, but the targets give 6; so these weighted "
        "margins add up to 0 and can't all be positive."
    )


def test_a_rectangle_of_two_among_three_labels():
    task, labels = block_of_labels([[1, 2, 0], [2, 1, 0]])
    verdict = solvability(task, max_order=1)
    check_label_certificate(task, labels, 1, verdict.certificate)
    assert verdict.certificate.is_rectangle
    assert verdict.certificate.labels == (1, 2)
    assert verdict.explain() == (
        "Not solvable: f(0, a) + f(1, b) - f(0, b) - f(1, a) is 0 for every sum of seen "
        "conjunctions, with f the output for label 1 minus the output for label 2, but the "
        "targets give 4; so these weighted margins add up to 0 and can't all be positive."
    )


@pytest.mark.parametrize("kind", ["auto", "classification"])
def test_classes_of_0_and_1_are_labels(kind):
    task = tasks.symbolic_addition(range(-2, 3), [-1, 1])
    classes = np.eye(3)[np.sign(task.targets).astype(int) + 1]
    one_hot = solvability(replace(task, targets=classes), kind=kind)
    signs = solvability(replace(task, targets=2.0 * classes - 1.0), kind=kind)
    assert one_hot.explain() == signs.explain()
    assert one_hot.kind == "classification"


def test_a_label_that_no_held_out_row_has_is_no_obstacle():
    task, _ = block_of_labels([[1, 1, 2], [1, 2, 2]])
    assert solvability(task, max_order=1).solvable is True


def test_evenly_divided_rows_are_left_out_and_averages_count_as_the_nearer():
    task = tasks.associative_inference()
    unsolved = solvability(task)
    averaged = replace(task, targets=0.25 * task.targets)
    verdict = solvability(averaged, kind="classification")
    np.testing.assert_array_equal(verdict.certificate.rows, unsolved.certificate.rows)
    assert verdict.certificate.total == 4.0
    even = averaged.targets.copy()
    even[verdict.certificate.rows[0]] = 0.0
    divided = solvability(replace(task, targets=even), kind="classification")
    assert divided.solvable is True
    assert divided.remarks == (
        "1 held-out combination is evenly divided between labels and left out of what must be "
        "separated.",
    )
    blocks, _ = block_of_labels([[1, 2, 0], [2, 1, 0]])
    targets = blocks.targets.copy()
    targets[0] = targets[1] = [-1.0, 0.0, 0.0]
    verdict = solvability(replace(blocks, targets=targets), kind="classification", max_order=1)
    assert verdict.solvable is True
    assert verdict.remarks[0].startswith("2 held-out combinations are evenly divided")


def test_repeats_of_many_labels_that_disagree():
    task, labels = block_of_labels([[0, 1], [1, 0]])
    twice = replace(
        task,
        components=np.concatenate([task.components, task.components[:1]]),
        targets=np.concatenate([task.targets, one_output_each(np.array([2]), 3)]),
        is_train=np.append(task.is_train, False),
    )
    verdict = solvability(twice)
    assert sorted(verdict.certificate.rows) == [0, len(labels)]
    assert verdict.explain() == "Not solvable: the held-out combination (0, a) has two targets."


@settings(max_examples=60)
@given(random_tasks(components=(2, 5), values=(2, 4)), st.integers(1, 3), st.booleans())
def test_limited_orders_agree_with_dense_least_squares(task, order, labels):
    """Independent: the rank of the dense columns beside the targets; a program for labels."""
    if not 0 < task.n_test <= 120:
        return
    order = min(order, task.n_components)
    phi = indicators_up_to(task, order)
    if labels:
        task = replace(task, targets=np.where(task.targets > 0, 1.0, -1.0))
        wanted = can_be_told_apart(phi, (task.test_targets > 0).astype(int), 2)
    else:
        rank = np.linalg.matrix_rank(phi, tol=1e-9)
        both = np.column_stack([phi, task.test_targets])
        wanted = bool(np.linalg.matrix_rank(both, tol=1e-9) == rank)
    found = solvability(task, max_order=order)
    assert found.solvable is wanted
    if not wanted:
        weights = np.zeros(len(task.targets))
        weights[found.certificate.rows] = found.certificate.weights
        np.testing.assert_array_equal(weights, np.round(weights))
        np.testing.assert_array_equal(phi.T @ weights[~task.is_train], 0.0)
        assert weights @ task.targets > 0
        assert abs(weights @ task.targets - found.certificate.total) < 1e-9


def test_weights_without_whole_proportions_prove_nothing():
    phi = sparse.csr_array(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]))
    # Of these four rows any a, b, -a - ... adds up to 0; the square root of 2 is no proportion.
    exact = np.array([1.0, -3.5, 1.0, 2.5])
    assert CERTIFICATES.tidy(exact, phi).tolist() == [2.0, -7.0, 2.0, 5.0]
    root = np.sqrt(2.0)
    assert CERTIFICATES.tidy(np.array([1.0, -1.0 - root, 1.0, root]), phi) is None
    # Proportions that are nearly right are none either.
    assert CERTIFICATES.tidy(np.array([1.0, -3.5 + 1e-6, 1.0, 2.5]), phi) is None


def parity(n_components, n_values=3):
    """Hold out all rows of the first two values; each conjunction of two was seen with a third."""
    shape = (n_values,) * n_components
    rows = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
    held_out = (rows < 2).all(axis=1)
    targets = np.where(rows.sum(axis=1) % 2 == 0, 1.0, -1.0)
    names = tuple(f"part {c}" for c in range(n_components))
    return tasks.Task(rows, targets, ~held_out, names, (tuple(range(n_values)),) * n_components)


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("n_components", "order"), [(3, 2), (4, 3), (4, 2), (5, 2)])
def test_parity_is_proved_unsolvable_by_a_box(kind, sign, n_components, order):
    task = parity(n_components)
    task = replace(task, targets=sign * task.targets)
    verdict = solvability(task, kind=kind, max_order=order)
    assert verdict.solvable is False
    certificate = verdict.certificate
    assert not certificate.is_rectangle
    assert len(certificate.groups) == order + 1
    assert len(certificate.rows) == certificate.total == 2 ** (order + 1)
    phi = indicators_up_to(task, order)
    weights = np.zeros(len(task.targets))
    weights[certificate.rows] = certificate.weights
    np.testing.assert_array_equal(phi.T @ weights[~task.is_train], 0.0)
    assert weights @ task.targets == certificate.total
    # Each side of the box changes one group of components and nothing else.
    corners = task.components[certificate.rows]
    for group in certificate.groups:
        assert len(np.unique(corners[:, list(group)], axis=0)) == 2


def test_many_held_out_rows_with_random_labels_are_decided(monkeypatch):
    """1,500 rows, 61 dimensions: by Cover's count no chance of a separating sum."""
    n = 40
    rng = np.random.default_rng(0)
    rows = np.array([[i, j] for i in range(n) for j in range(n)])
    held_out = (rows > 0).all(axis=1)
    labels = rng.integers(3, size=len(rows))
    task = tasks.Task(
        rows, one_output_each(labels, 3), ~held_out, ("a", "b"), (tuple(range(n)),) * 2
    )
    monkeypatch.setattr(SEPARATION, "PROGRAM_WORK", 0.0)
    monkeypatch.setattr(LABEL_PROOFS, "PROGRAM_WORK", 0.0)
    monkeypatch.setattr(LABEL_PROOFS, "_small_proof", lambda *_: None)
    verdict = solvability(task, max_order=1)
    assert verdict.solvable is False
    check_label_certificate(task, labels, 1, verdict.certificate)
    # A vertex: no more rows than dimensions and one.
    assert len(verdict.certificate.rows) <= 2 * n
    scores = rng.normal(size=(n, 3))[rows[:, 0]] + rng.normal(size=(n, 3))[rows[:, 1]]
    separable = replace(task, targets=one_output_each(scores.argmax(axis=1), 3))
    assert solvability(separable, max_order=1).solvable is True
    assert solvability(separable, max_order=1, time_limit=0.0).solvable is None


def test_proofs_of_very_many_rows_are_not_listed(monkeypatch):
    monkeypatch.setattr(import_module("partwhole.limits.proofs.solvability"), "MOST_ROWS", 3)
    verdict = solvability(tasks.associative_inference())
    assert verdict.solvable is False
    assert verdict.certificate is None
    assert verdict.remarks == (
        "The smallest proof that was found takes 4 held-out combinations together; it is not "
        "listed.",
    )
    assert verdict.explain() == (
        "Not solvable: no sum of seen conjunctions separates the held-out labels."
    )
    verdict = solvability(product([-4]))
    assert verdict.explain() == (
        "Not solvable: the best sum of seen conjunctions leaves 91 % of the held-out targets' "
        "variance."
    )


def test_weights_are_written_before_their_terms():
    task = tasks.associative_inference()
    certificate = Certificate(np.array([0, 1, 2]), np.array([-1.0, 2.5, -1.5]), 1.0, False)
    assert certificate.sum_in_words(task) == "2.5 f(A, B) - f(A, A) - 1.5 f(A, C)"


def test_a_residual_proves_without_the_import_of_linear_programs():
    code = """
import sys
import numpy as np
from partwhole.limits.proofs import solvability as module
from partwhole.tasks import Task
# The held-out combinations are a ring of six, in which no four are a rectangle.
rows = np.array([[a, b] for a in range(3) for b in range(3)])
is_train = (rows[:, 0] + 2) % 3 == rows[:, 1]
targets = np.where((rows == 0).all(axis=1), 1.0, 0.0)
task = Task(rows, targets, is_train, ("a", "b"), ((0, 1, 2),) * 2)
module.PROGRAM_ROWS = 0
solved = module.solvability(task, max_order=1)
assert solved.solvable is False
assert sorted(solved.certificate.weights.tolist()) == [-1.0] * 3 + [1.0] * 3
assert solved.certificate.total == 1.0
assert "scipy.optimize" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
