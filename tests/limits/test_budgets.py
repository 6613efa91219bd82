"""What is not computed to the end is undecided, by counts; the clock is an outer bound alone."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse

from partwhole import tasks
from partwhole.limits import solvability
from partwhole.limits.proofs._budget import Budget
from partwhole.limits.proofs.determination import determination, determinations
from partwhole.limits.proofs.label_sums import find_sums

PROOFS = {
    name: import_module(f"partwhole.limits.proofs.{name}")
    for name in (
        "_budget",
        "_least_squares",
        "determination",
        "label_proofs",
        "label_sums",
        "null_functions",
        "separation",
        "solvability",
    )
}


def square(targets: np.ndarray) -> tasks.Task:
    """Hold out most of a square of these targets; every value was seen with one other.

    Of the whole square a single step finds the best sum.
    """
    n = len(targets)
    cells = np.random.default_rng(1).permutation(n * n)[: n * n * 3 // 4]
    inside = np.stack(np.unravel_index(np.sort(cells), (n, n)), axis=1)
    seen = np.array([(i, n) for i in range(n)] + [(n, j) for j in range(n)])
    held_out = targets[inside[:, 0], inside[:, 1]]
    return tasks.Task(
        np.concatenate([inside, seen]),
        np.concatenate([held_out, np.repeat(held_out[:1], 2 * n, axis=0)]),
        np.arange(len(inside) + 2 * n) >= len(inside),
        ("a", "b"),
        (tuple(range(n + 1)),) * 2,
    )


def of_kind(kind: str, solvable: bool) -> tuple[tasks.Task, str]:
    """Return a task whose held-out targets are, or are not, a sum (of noise they are not)."""
    rng = np.random.default_rng(0)
    n, k = 12, {"numbers": 1, "two labels": 1, "labels": 3}[kind]
    scores = rng.normal(size=(n, 1, k)) + rng.normal(size=(1, n, k))
    if not solvable:
        scores = rng.normal(size=(n, n, k))
    if kind == "numbers":
        return square(scores[:, :, 0]), "regression"
    if kind == "two labels":
        return square(np.where(scores[:, :, 0] > 0, 1.0, -1.0)), "classification"
    label = scores.argmax(axis=2)
    return square(2.0 * (label[:, :, None] == np.arange(3)) - 1.0), "classification"


@pytest.fixture
def iterate(monkeypatch):
    """Leave the iterative ways alone: no dense algebra, no small program, no small proof."""
    monkeypatch.setattr(PROOFS["_least_squares"], "SVD_WORK", 0.0)
    monkeypatch.setattr(PROOFS["_least_squares"], "GRAM_SIDE", 0)
    for name in ("separation", "label_proofs"):
        monkeypatch.setattr(PROOFS[name], "PROGRAM_WORK", 0.0)
    for module, name in (
        ("label_proofs", "_rectangle"),
        ("label_proofs", "find_box"),
        ("solvability", "find_rectangle"),
        ("solvability", "find_box"),
    ):
        monkeypatch.setattr(PROOFS[module], name, lambda *_, **__: None)
    # So that labels are not answered by the best sum.
    monkeypatch.setattr(PROOFS["label_proofs"], "_least_gap", lambda *_: -np.inf)


KINDS = pytest.mark.parametrize("kind", ["numbers", "two labels", "labels"])
SOLVABLE = pytest.mark.parametrize("solvable", [True, False])


@KINDS
@SOLVABLE
def test_one_iteration_decides_nothing(monkeypatch, iterate, kind, solvable):
    task, ask = of_kind(kind, solvable)
    assert solvability(task, kind=ask, max_order=1).solvable is solvable
    monkeypatch.setattr(PROOFS["_least_squares"], "CG_STEPS", 1)
    monkeypatch.setattr(PROOFS["separation"], "NEWTON_STEPS", 1)
    monkeypatch.setattr(PROOFS["label_sums"], "STEPS", 1)
    proof = solvability(task, kind=ask, max_order=1)
    assert proof.solvable is None
    assert proof.certificate is None
    assert np.isnan(proof.r_squared)


@KINDS
@SOLVABLE
def test_counted_work_binds_where_the_clock_stands_still(monkeypatch, iterate, kind, solvable):
    task, ask = of_kind(kind, solvable)
    for name in ("_budget", "solvability"):
        monkeypatch.setattr(PROOFS[name], "process_time", lambda: 0.0)
    assert solvability(task, kind=ask, max_order=1).solvable is solvable
    # 300 multiplications.
    assert solvability(task, kind=ask, max_order=1, time_limit=1e-6).solvable is None


@KINDS
@SOLVABLE
def test_the_clock_ends_what_counts_do_not(monkeypatch, iterate, kind, solvable):
    task, ask = of_kind(kind, solvable)
    clock = iter(range(0, 10**9, 3600))
    monkeypatch.setattr(PROOFS["_budget"], "process_time", lambda: float(next(clock)))
    assert solvability(task, kind=ask, max_order=1).solvable is None


@pytest.mark.parametrize("work", [1e3, 1e5, 1e9])
def test_the_same_work_is_done_at_any_speed(monkeypatch, iterate, work):
    task, ask = of_kind("labels", False)
    limit = work / PROOFS["_budget"].RATE
    plain = solvability(task, kind=ask, max_order=1, time_limit=limit)
    # The clock creeps, or stands still.
    for tick in (1e-12, 0.0):
        clock = [0.0]

        def look(clock=clock, tick=tick):
            clock[0] += tick
            return clock[0]

        monkeypatch.setattr(PROOFS["_budget"], "process_time", look)
        repeated = solvability(task, kind=ask, max_order=1, time_limit=limit)
        assert repeated.solvable is plain.solvable


@SOLVABLE
def test_sums_for_labels_are_sums_and_never_where_there_are_none(solvable):
    """Three labels in 108 cells: noise has no sums, by the certificate that the other way finds."""
    task, ask = of_kind("labels", solvable)
    rows = task.components[~task.is_train]
    phi = sparse.csr_array(np.hstack([np.eye(13)[rows[:, c]] for c in (0, 1)]))
    label = task.targets[~task.is_train].argmax(axis=1)
    assert find_sums(phi, label, Budget(1e9)) is solvable
    assert solvability(task, kind=ask, max_order=1).solvable is solvable
    assert not find_sums(phi, label, Budget(0.0))


def test_rows_without_a_feature_have_no_sums():
    phi = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]))
    assert not find_sums(phi, np.array([0, 1, 2]), Budget(1e9))
    assert not find_sums(phi[[1, 1]], np.array([0, 1]), Budget(1e9))
    assert find_sums(phi[[1, 1]], np.array([1, 1]), Budget(1e9))


def test_a_thousand_labels_take_few_steps(monkeypatch):
    """4,000 cells of a square of side 130, labels at random: 43 steps, not a program of 260,000."""
    rng = np.random.default_rng(0)
    cells = rng.choice(130 * 130, 16_000, replace=False)
    components = np.stack(np.unravel_index(cells, (130, 130)), axis=1)
    label = rng.integers(0, 1000, len(cells))
    rows = np.arange(len(cells)) < 4000
    phi = sparse.csr_array(
        (
            np.ones(8000),
            (components[rows] + [0, 130]).ravel(),
            np.arange(0, 8001, 2),
        ),
        shape=(4000, 260),
    )
    monkeypatch.setattr(PROOFS["label_sums"], "STEPS", 150)
    assert find_sums(phi, label[rows], Budget(3e9))


def test_a_part_is_charged_to_the_whole():
    whole = Budget(100.0)
    part = whole.part(0.25)
    part.spend(30.0)
    assert part.over
    assert not whole.over
    assert whole.work == 70.0
    assert whole.part(0.5).work == 35.0
    assert Budget(1.0, deadline=-1.0).over
    assert Budget(1.0, deadline=-1.0).seconds == 0.0


def test_the_clock_leaves_determination_undecided(monkeypatch):
    monkeypatch.setattr(PROOFS["null_functions"], "process_time", lambda: 1.0)
    task = tasks.dispersed_addition(seed=1)
    (determined,) = determinations([task], max_order=1, method="probes", deadline=0.0)
    assert determined.undecided.all()
    assert not determined.determined.any()


@pytest.mark.parametrize("method", ["graph", "dense", "probes"])
def test_tasks_that_share_training_share_its_null_functions(monkeypatch, method):
    whole = tasks.dispersed_addition(seed=1)
    held_out = np.flatnonzero(~whole.is_train)
    parts = []
    for rest in (held_out[::2], held_out[::3]):
        chosen = np.union1d(np.flatnonzero(whole.is_train), rest)
        parts.append(
            replace(
                whole,
                components=whole.components[chosen],
                targets=whole.targets[chosen],
                is_train=whole.is_train[chosen],
            )
        )
    alone = [determination(single, max_order=1, method=method) for single in parts]
    calls = []
    for name in ("on_graph", "null_basis", "projected"):
        real = getattr(PROOFS["determination"], name)

        def counted(*arguments, real=real):
            calls.append(1)
            return real(*arguments)

        monkeypatch.setattr(PROOFS["determination"], name, counted)
    together = determinations(parts, max_order=1, method=method)
    assert len(calls) == 1
    for single, joint in zip(alone, together, strict=True):
        np.testing.assert_array_equal(single.determined, joint.determined)
        np.testing.assert_array_equal(single.probes, joint.probes)
        assert single.free_dimensions == joint.free_dimensions


@pytest.mark.parametrize("seed", range(4))
def test_verdicts_alone_take_fewer_steps_and_are_the_same(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    rows = np.array(list(np.ndindex(4, 4, 4, 3)))
    # Training lacks a pair of values, so that what is held out of it is not determined.
    is_train = (rng.random(len(rows)) < 0.9) & ~((rows[:, 0] == 1) & (rows[:, 1] == 2))
    names, values = tuple("abcd"), (tuple(range(4)),) * 3 + (tuple(range(3)),)
    task = tasks.Task(rows, np.zeros(len(rows)), is_train, names, values)
    module, steps = PROOFS["null_functions"], []
    plain = module.partial_sums

    class Counted:
        def __init__(self, *given):
            self.sums = plain(*given)
            self.n_entries = self.sums.n_entries
            self.adjoint = self.sums.adjoint

        def __matmul__(self, vector):
            steps.append(1)
            return self.sums @ vector

    monkeypatch.setattr(module, "partial_sums", Counted)
    monkeypatch.setattr(module, "STEPS_BETWEEN", 4)
    (dense,) = determinations([task], max_order=2, method="dense")
    assert 0 < dense.determined.sum() < task.n_test
    (whole,) = determinations([task], max_order=2, method="probes")
    n_whole = len(steps)
    (verdicts,) = determinations([task], max_order=2, method="probes", work=1e9)
    assert len(steps) - n_whole < n_whole
    for decided in (whole, verdicts):
        np.testing.assert_array_equal(decided.determined, dense.determined)
        assert not decided.undecided.any()
    (few,) = determinations([task], max_order=2, method="probes", work=4.0)
    np.testing.assert_array_equal(few.undecided, ~few.unseen)
