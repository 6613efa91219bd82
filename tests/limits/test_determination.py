"""Determination: against the null space of the dense design, and every equation by arithmetic."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tasks import tasks as random_tasks

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.limits import determination, solvability
from partwhole.limits.proofs.boxes import box_groups, groupings
from partwhole.limits.proofs.determination import Determination
from partwhole.tasks import Task


def all_indicators(task, order):
    """Write every conjunction of at most K components, seen or not, as a dense column."""
    blocks = []
    for k in range(order + 1):
        for chosen in combinations(range(task.n_components), k):
            code = np.zeros(len(task.components), dtype=int)
            for c in chosen:
                code = code * task.n_values[c] + task.components[:, c]
            _, code = np.unique(code, return_inverse=True)
            blocks.append(np.eye(code.max() + 1)[code])
    return np.hstack(blocks)


def null_rows(task, order):
    """Project held-out rows on the design's null space, by a dense factorisation.

    Singular values of these small tables of 0 and 1 are 0 (to 1e-13) or above 1e-3, so any
    cut between tells them apart.
    """
    dense = all_indicators(task, order)
    _, size, right = np.linalg.svd(dense[task.is_train], full_matrices=False)
    right, held_out = right[: int(np.sum(size > 1e-8 * size[0]))], dense[~task.is_train]
    return dense, held_out - held_out @ right.T @ right


def methods(task, order):
    return (
        ["graph", "dense", "probes"]
        if (task.n_components, order) == (2, 1)
        else [
            "dense",
            "probes",
        ]
    )


@st.composite
def cases(draw):
    task = draw(random_tasks(components=(2, 6), values=(2, 4)))
    return task, draw(st.integers(1, task.n_components - 1))


@settings(max_examples=70)
@given(cases())
def test_every_method_agrees_with_a_dense_null_space(case):
    task, order = case
    if task.n_test == 0:
        return
    _, inside = null_rows(task, order)
    wanted = np.linalg.norm(inside, axis=1) < 1e-8
    for method in methods(task, order):
        found = determination(task, max_order=order, method=method)
        assert found.method == method
        np.testing.assert_array_equal(found.determined, wanted)
        assert np.all((found.probes == 0).all(axis=1) == wanted)
        if found.free_dimensions is not None:
            assert found.free_dimensions == np.linalg.matrix_rank(inside, tol=1e-8)
        assert abs(found.share - wanted.mean()) < 1e-12


@settings(max_examples=60)
@given(cases())
def test_probes_are_values_of_null_functions(case):
    """They lie in the span of the held-out rows' null space, and are 0 throughout training."""
    task, order = case
    if task.n_test == 0:
        return
    _, inside = null_rows(task, order)
    rank = np.linalg.matrix_rank(inside, tol=1e-8)
    for method in methods(task, order):
        found = determination(task, max_order=order, method=method, n_probes=5)
        assert found.probes.shape == (task.n_test, 5)
        np.testing.assert_array_equal(found.values(task.train_components), 0.0)
        np.testing.assert_array_equal(found.values(task.test_components), found.probes)
        both = np.hstack([inside, found.probes])
        assert np.linalg.matrix_rank(both, tol=1e-7) == rank
        assert np.linalg.matrix_rank(found.probes, tol=1e-8) == min(rank, 5)


@settings(max_examples=40)
@given(cases())
def test_adding_a_combination_keeps_the_null_functions_that_vanish_there(case):
    """Eliminating with a row's largest probe gives what computing anew gives."""
    task, order = case
    if task.n_test < 2:
        return
    found = determination(task, max_order=order, n_probes=6)
    free = np.flatnonzero(~found.determined)
    if len(free) == 0:
        return
    one = free[len(free) // 2]
    row = found.probes[one]
    pivot = int(np.abs(row).argmax())
    left = found.probes - np.outer(found.probes[:, pivot] / row[pivot], row)
    scale = np.linalg.norm(found.probes, axis=1) + 1e-300
    is_train = task.is_train.copy()
    is_train[np.flatnonzero(~task.is_train)[one]] = True
    again = determination(replace(task, is_train=is_train), max_order=order)
    others = np.arange(len(left)) != one
    vanishes = np.linalg.norm(left, axis=1) < 1e-6 * scale
    np.testing.assert_array_equal((vanishes | found.determined)[others], again.determined)


@settings(max_examples=40)
@given(cases())
def test_ambiguities_and_derivations_by_arithmetic(case):
    task, order = case
    if task.n_test == 0:
        return
    dense, _ = null_rows(task, order)
    found = determination(task, max_order=order)
    held_out = np.flatnonzero(~task.is_train)
    for i in range(0, task.n_test, 1 + task.n_test // 4):
        ambiguity, derivation = found.ambiguity(i), found.derivation(i)
        if found.determined[i]:
            assert ambiguity is None
            if derivation is not None:
                assert np.all(task.is_train[derivation.rows])
                made = derivation.weights @ dense[derivation.rows]
                np.testing.assert_allclose(made, dense[held_out[i]], atol=1e-12)
                assert derivation.in_words(task).startswith("f(")
        else:
            assert derivation is None
            if ambiguity is not None:
                value = sum(
                    weight * np.all(task.components[:, list(chosen)] == values, axis=1)
                    for chosen, values, weight in ambiguity.terms
                )
                np.testing.assert_allclose(value[task.is_train], 0.0, atol=1e-12)
                np.testing.assert_allclose(value[held_out[i]], 1.0, atol=1e-12)
                assert "changes by 1" in ambiguity.in_words(task)


def grid_task(shape, held_out, names=None):
    rows = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
    is_held_out = (rows[:, None] == np.array(held_out)[None]).all(axis=2).any(axis=1)
    return Task(
        rows,
        np.zeros(len(rows)),
        ~is_held_out,
        names or tuple(f"part {c}" for c in range(len(shape))),
        tuple(tuple(f"{'abcdef'[c]}{i}" for i in range(n)) for c, n in enumerate(shape)),
    )


def islands():
    """Two blocks of two by two, of which only the crosses between them are held out."""
    across = [(i, j) for i in range(4) for j in range(4) if i // 2 != j // 2]
    return grid_task((4, 4), across, ("shape", "colour"))


def test_two_islands_are_one_step_apart():
    decision = determination(islands(), max_order=1)
    assert decision.share == 0.0
    assert decision.free_dimensions == 1
    assert not decision.unseen.any()
    assert repr(decision) == "Determination(0 of 8 held-out combinations determined at order 1)"
    # (a0, b2): both islands have four values; that of a0 is used.
    assert decision.ambiguity(0).in_words(decision.task) == (
        "add 1 where shape is a0 or a1, subtract 1 where colour is b0 or b1: no training "
        "combination changes, (a0, b2) changes by 1"
    )
    bridged = replace(islands(), is_train=islands().is_train | (np.arange(16) == 2))
    decision = determination(bridged, max_order=1)
    assert decision.share == 1.0
    assert decision.free_dimensions == 0


def test_islands_that_no_held_out_combination_joins_are_not_counted():
    task = islands()
    apart = Task(
        np.concatenate([task.components, [[4, 4]]]),
        np.zeros(17),
        np.append(task.is_train, True),
        task.names,
        tuple((*values, "other") for values in task.values),
    )
    for method in ("graph", "dense"):
        assert determination(apart, max_order=1, method=method).free_dimensions == 1


def test_ambiguities_of_more_rows_than_are_asked_at_once(monkeypatch):
    """Six training rows at a time; the function found must be 0 on all of them."""
    monkeypatch.setattr(import_module("partwhole.limits.proofs.ambiguity"), "ROWS_AT_ONCE", 6)
    rows = np.stack(np.unravel_index(np.arange(125), (5, 5, 5)), axis=1)
    # Blocks of low and of high values, joined nowhere; every single value was seen.
    low = rows < 3
    is_train = low.all(axis=1) | (~low).all(axis=1)
    task = Task(rows, np.zeros(125), is_train, ("a", "b", "c"), (tuple(range(5)),) * 3)
    decision = determination(task, max_order=1)
    assert not decision.determined.any()
    for i in range(0, task.n_test, 9):
        terms = decision.ambiguity(i).terms
        value = sum(
            weight * np.all(rows[:, list(chosen)] == values, axis=1)
            for chosen, values, weight in terms
        )
        np.testing.assert_array_equal(value[is_train], 0.0)
        assert value[~is_train][i] == 1.0


def test_an_equation_of_three_combinations():
    decision = determination(grid_task((2, 2), [(1, 1)]), max_order=1)
    assert decision.derivation(0).in_words(decision.task) == (
        "f(a1, b1) = f(a1, b0) - f(a0, b0) + f(a0, b1)"
    )


def test_a_box_of_seven_combinations():
    decision = determination(grid_task((2, 2, 2), [(1, 1, 1)]), max_order=2)
    derivation = decision.derivation(0)
    assert decision.determined.tolist() == [True]
    assert sorted(derivation.weights) == [-1.0] * 3 + [1.0] * 4
    rows = decision.task.components[derivation.rows]
    # Parity: one or three values changed take a plus, two a minus.
    np.testing.assert_array_equal(derivation.weights, np.where((2 - rows.sum(1)) % 2 == 0, 1, -1))


def test_an_unseen_value_says_so():
    task = grid_task((3, 3), [(2, j) for j in range(3)])
    decision = determination(task, max_order=1)
    assert decision.unseen.all()
    assert decision.free_dimensions == 1
    assert decision.ambiguity(1).terms == (((0,), (2,), 1.0),)
    assert decision.ambiguity(1).in_words(task) == (
        "add 1 where part 0 is a2: no training combination changes, (a2, b1) changes by 1"
    )


def test_an_unseen_pair_says_so():
    task = grid_task((2, 2, 2), [(1, 1, 0), (1, 1, 1)])
    decision = determination(task, max_order=2)
    assert decision.unseen.all()
    assert (
        decision.ambiguity(0)
        .in_words(task)
        .startswith("add 1 where part 0 and part 1 are a1 and b1:")
    )
    # Without that pair the two are alike up to what training settles.
    assert decision.free_dimensions == 1
    assert determination(task, max_order=1).share == 1.0


def test_long_chains_are_followed():
    """A path through 2 x 300 values: one combination closes it, by 599 others."""
    n = 300
    i = np.arange(n)
    rows = np.concatenate([np.stack([i, i], 1), np.stack([i[:-1], i[1:]], 1), [[n - 1, 0]]])
    task = Task(
        rows,
        np.zeros(2 * n),
        np.arange(2 * n) < 2 * n - 1,
        ("a", "b"),
        (tuple(range(n)),) * 2,
    )
    for method in ("graph", "dense", "probes"):
        assert determination(task, max_order=1, method=method).determined.all()
    derivation = determination(task, max_order=1).derivation(0)
    assert len(derivation.rows) == 2 * n - 1
    assert derivation.weights.sum() == 1.0
    cut = replace(task, is_train=task.is_train & (np.arange(2 * n) != 7))
    for method in ("graph", "dense", "probes"):
        assert not determination(cut, max_order=1, method=method).determined.any()


def test_large_tables_need_no_enumeration():
    """60 x 60 x 60 values, 12,321 conjunctions; the method is chosen, and each row explained.

    A third of the grid was seen. Its last planes were not, so exactly their rows lack a pair.
    """
    rng = np.random.default_rng(0)
    rows = np.stack(np.unravel_index(np.arange(60**3), (60, 60, 60)), axis=1)
    is_train = (rng.random(len(rows)) < 1 / 3) & (rows[:, 0] < 59)
    task = Task(rows, np.zeros(len(rows)), is_train, ("a", "b", "c"), (tuple(range(60)),) * 3)
    decision = determination(task, max_order=2)
    assert decision.method == "probes"
    assert decision.remarks == ()
    np.testing.assert_array_equal(decision.unseen, task.test_components[:, 0] == 59)
    np.testing.assert_array_equal(decision.determined, ~decision.unseen)
    # A box proves the other verdict: every pair occurs often.
    assert decision.derivation(0) is not None


@pytest.mark.parametrize(("name", "value"), [("CG_STEPS", 1), ("CG_WORK", 1.0)])
def test_what_stopped_early_is_not_decided(monkeypatch, name, value):
    task = tasks.dispersed_addition(seed=1)
    whole = determination(task, max_order=1, method="probes")
    assert whole.determined.any()
    assert not whole.undecided.any()
    assert whole.remarks == ()
    monkeypatch.setattr(import_module("partwhole.limits.proofs.null_functions"), name, value)
    decision = determination(task, max_order=1, method="probes")
    assert decision.undecided.all()
    assert not decision.determined.any()
    assert repr(decision).endswith(f"determined at order 1, {task.n_test} not decided)")
    (remark,) = decision.remarks
    assert remark.startswith("The last step of conjugate gradients left an error of ")
    assert remark.endswith(
        f"; whether {task.n_test} of the held-out combinations are determined is not decided."
    )


def test_an_unseen_value_is_decided_without_any_step(monkeypatch):
    monkeypatch.setattr(import_module("partwhole.limits.proofs.null_functions"), "CG_STEPS", 1)
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]])
    task = Task(rows, np.zeros(5), np.arange(5) < 3, ("a", "b"), ((0, 1, 2), (0, 1)))
    decision = determination(task, max_order=1, method="probes")
    assert decision.unseen.tolist() == [False, True]
    assert decision.undecided.tolist()[1] is False
    assert decision.determined.tolist()[1] is False


def test_a_busy_machine_gives_the_same_answer(monkeypatch):
    """No clock decides: where every look at one is an hour later, nothing changes."""
    task = tasks.dispersed_addition(seed=2)
    before = determination(task, max_order=1, method="probes")
    clock = iter(range(0, 10**9, 3600))
    monkeypatch.setattr("time.process_time", lambda: float(next(clock)))
    module = import_module("partwhole.limits.proofs.determination")
    monkeypatch.setattr(module, "process_time", lambda: float(next(clock)))
    after = determination(task, max_order=1, method="probes")
    np.testing.assert_array_equal(after.determined, before.determined)
    np.testing.assert_array_equal(after.probes, before.probes)


def test_repeats_of_training_rows_change_nothing():
    task = tasks.symbolic_addition(anchors=[0])
    twice = replace(
        task,
        components=np.concatenate([task.components, task.train_components]),
        targets=np.concatenate([task.targets, task.train_targets]),
        is_train=np.concatenate([task.is_train, np.ones(task.n_train, bool)]),
    )
    for method in ("graph", "dense", "probes"):
        assert determination(twice, max_order=1, method=method).determined.all()
    assert determination(twice, max_order=1).derivation(0) is not None


def test_the_constant_alone_is_always_determined():
    decision = determination(islands(), max_order=0)
    assert decision.determined.all()
    assert decision.derivation(0).in_words(decision.task) == "f(a0, b2) = f(a0, b0)"
    full = determination(islands(), max_order=5)
    assert full.order == 2
    assert not full.determined.any()


def test_nothing_held_out():
    task = replace(islands(), is_train=np.ones(16, bool))
    decision = determination(task, max_order=1)
    assert np.isnan(decision.share)
    assert decision.free_dimensions == 0
    assert isinstance(decision, Determination)


def test_seeds_repeat_and_differ():
    first, repeated, second = (
        determination(islands(), max_order=1, seed=s).probes for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, repeated)
    assert not np.allclose(first, second)


def test_groups_of_a_box_are_counted_by_stirling():
    """Ways to divide 5 components into 3 groups: the Stirling number 25."""
    assert len(set(groupings(tuple(range(5)), 3))) == 25
    assert len(list(box_groups(5, 2))) == 10 + 25
    assert all(
        sorted(c for g in groups for c in g) == list(range(5))
        for groups in groupings(tuple(range(5)), 3)
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"max_order": -1},
            "max_order is a whole number of at least 0; got -1; pass a whole number of at least 0",
        ),
        (
            {"max_order": 1, "n_probes": 0},
            "n_probes is a whole number of at least 1; got 0; pass a whole number of at least 1",
        ),
        (
            {"max_order": 2, "method": "graph"},
            'the method "graph" is for two components at order 1; got 2 components at order 2; '
            "leave it out",
        ),
        (
            {"max_order": 1, "method": "net"},
            'method is "auto", "graph", "dense" or "probes"; got \'net\'; choose one of them',
        ),
    ],
)
def test_sentences(options, sentence):
    with pytest.raises(InputError) as caught:
        determination(islands(), **options)
    assert str(caught.value) == sentence


def test_words_of_another_task_are_refused():
    held_out = tasks.context_dependence(3)
    added = tasks.symbolic_addition([-1.0, 0.0, 1.0, 2.0], [0.0])
    smaller = tasks.symbolic_addition([0.0, 1.0], [0.0])
    unsolvable = solvability(tasks.associative_inference())
    for words in (
        determination(held_out, max_order=2).ambiguity(0).in_words,
        determination(added, max_order=1).derivation(0).in_words,
        unsolvable.certificate.sum_in_words,
    ):
        with pytest.raises(
            InputError, match="task must be the one that the proof is of; got a task"
        ):
            words(smaller)


def test_a_result_keeps_no_index_of_training_rows():
    table = tasks.symbolic_addition(anchors=[0])
    functions = determination(table, max_order=1).null_functions
    assert [len(index) for index in functions.design.index] == [0, 0]
