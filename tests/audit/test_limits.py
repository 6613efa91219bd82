"""Bounds of an audit: what is undecided is said to be so, and what splits share is done once."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from audit_tables import table_of

from partwhole.audit import Settings, audit_split
from partwhole.audit.additions import support
from partwhole.audit.judging.judge import judge
from partwhole.audit.prediction import places
from partwhole.audit.prediction.prediction import predict
from partwhole.limits.order_sweep import OrderProblem
from partwhole.limits.solvers import shared_table, sparse_primal


def sums(n_splits=1, labels=False, seed=0):
    """Return sums of two parts of six values; a quarter is held out, in so many splits."""
    rng = np.random.default_rng(seed)
    rows = [(a, b) for a in range(6) for b in range(6)]
    frame = pd.DataFrame(rows, columns=["a", "b"])
    total = frame["a"] - frame["b"]
    frame["y"] = np.where(total > 0, "more", "less") if labels else total
    held_out = (frame["a"] + frame["b"]) % 4 == 3
    names = np.array([f"test {i}" for i in rng.integers(0, n_splits, len(frame))])
    frame["split"] = np.where(held_out, names, "train")
    return frame


def columns_of(rows, values, columns):
    """Return random numbers over so many columns, a third of the rows held out."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {f"c{i}": rng.permutation(np.arange(rows) % values) for i in range(columns)}
    )
    frame["y"] = rng.normal(size=rows)
    frame["split"] = np.where(np.arange(rows) % 3 == 0, "test", "train")
    return frame


@pytest.mark.parametrize("values", [2, 60], ids=["two values", "a value each"])
def test_twenty_columns_take_few_steps(values):
    """Calls are counted: both tables went through subsets of their columns, for minutes."""
    frame, calls = columns_of(120 if values == 2 else 60, values, 20), 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        audit_split(frame, components=[*frame][:20], target="y", split="split")
    finally:
        sys.setprofile(before)
    assert calls < 6e6


@pytest.mark.parametrize("labels", [False, True])
def test_predictions_that_are_not_computed_are_undecided(monkeypatch, labels):
    real = OrderProblem.sweep

    def unfinished(self, kernels, **options):
        return replace(real(self, kernels, **options), converged=np.zeros(len(kernels), bool))

    monkeypatch.setattr(OrderProblem, "sweep", unfinished)
    report = audit_split(sums(labels=labels), ["a", "b"], "y", "split")
    evidence = report.evidence[0]
    assert evidence.prediction is None
    assert evidence.is_better_than_guesses is None
    (finding,) = [one for one in report.findings if one.rule == "not-decided"]
    base = "guessing among the labels" if labels else "the mean of training"
    assert finding.message == (
        f"Whether learners of order 1 do better on test 0 than {base} is not known, because the "
        "predictions did not finish in time. Raise the time limit."
    )
    assert report.headline == "Supported if parts add up (order 1), as far as predictions finished"
    assert report.to_dict()["splits"][0]["prediction"] is None
    for text in (report.to_text(), report.to_html(), report.to_junit(), report.to_sarif()):
        assert "did not finish in" in " ".join(text.split())


@pytest.mark.parametrize("labels", [False, True])
def test_a_range_that_is_known_in_part_condemns_no_split(labels):
    report = audit_split(sums(labels=labels), ["a", "b"], "y", "split")
    evidence = report.evidence[0]
    prediction = evidence.prediction
    rule = "at-chance" if labels else "no-better-than-constant"
    bad = tuple(
        replace(point, error=2 * prediction.constant_error, balanced_accuracy=prediction.chance)
        for point in prediction.points
    )
    for points, unsolved, rules, known in [
        (prediction.points, (), [], True),
        (prediction.points, ("depth 4",), [], True),
        (bad, (), [rule], False),
        (bad, ("depth 4",), ["not-decided"], None),
        # One that is better decides, whatever the others would be.
        ((*bad[:-1], prediction.points[-1]), ("depth 4",), [], True),
    ]:
        one = replace(evidence, prediction=replace(prediction, points=points, unsolved=unsolved))
        assert one.is_better_than_guesses is known
        judged = judge([one], Settings())
        assert [each.rule for each in judged if each.rule in (rule, "not-decided")] == rules


def test_the_point_of_reference_is_computed_first_and_the_rest_as_time_allows(monkeypatch):
    case = table_of(np.random.default_rng(4), (5, 4, 3), 50, labels=3).case(1, 2)
    whole = {point.label: point for point in predict(case).points}
    for module in ("audit.prediction.places", "limits.order_sweep"):
        monkeypatch.setattr(f"partwhole.{module}.COARSE_COLUMNS", 10)
    now = [0.0]

    def clock():
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr("partwhole.limits.order_sweep.process_time", clock)
    prediction = predict(case, deadline=7.5)
    # Each look is a second later: kernels begin at 1, 3 and 5, and one more would end at 8.
    assert [point.label for point in prediction.points] == ["depth 1", "depth 2", "depth 3"]
    assert prediction.unsolved == tuple(f"depth {depth}" for depth in (4, 6, 8, 12, 16, 20))
    assert prediction.remarks[1].startswith(
        "depth 4, depth 6, depth 8, depth 12, depth 16 and depth 20"
    )
    for point in prediction.points:
        np.testing.assert_allclose(point.outputs, whole[point.label].outputs, rtol=0, atol=1e-8)
    assert prediction.points[prediction.reference].label == "depth 1"


def test_conjugate_gradients_stop_at_the_deadline(monkeypatch):
    case = table_of(np.random.default_rng(4), (5, 4, 3), 50, labels=3).case(1, 2)
    for module in ("audit.prediction.places", "limits.order_sweep"):
        monkeypatch.setattr(f"partwhole.{module}.COARSE_COLUMNS", 10)
    monkeypatch.setattr("partwhole.limits.order_sweep.DIRECT_COLUMNS", 10)
    monkeypatch.setattr(sparse_primal, "COARSE_COLUMNS", 10)
    assert predict(case, deadline=-1.0) is None


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("fit", ["regression", "margin"])
def test_splits_together_are_as_each_alone(labels, fit):
    """Splits that overlap, rows that repeat and disagree, and rows that training has."""
    if fit == "margin" and not labels:
        return
    frame = sums(3, labels, seed=5)
    again = frame[frame["split"] == "test 1"].assign(split="test 2")
    flipped = frame[frame["split"] == "train"].iloc[:1].copy()
    flipped["y"] = "more" if labels else 7
    known = frame[frame["split"] == "train"].iloc[3:4].assign(split="test 0")
    # Of a value that training lacks all is open, and combinations to add are looked for.
    new = frame[frame["split"] == "test 0"].iloc[:1].assign(a=frame["a"].max() + 1)
    frame = pd.concat([frame, again, flipped, known, new], ignore_index=True)
    options = {"fit": fit, "target_kind": "labels" if labels else "numbers"}
    together = audit_split(frame, ["a", "b"], "y", "split", **options)
    assert len(together.evidence) == 3
    for one in together.evidence:
        alone = audit_split(frame, ["a", "b"], "y", "split", test=one.case.name, **options)
        other = alone.evidence[0]
        for mine, theirs in zip(one.prediction.points, other.prediction.points, strict=True):
            np.testing.assert_allclose(mine.outputs, theirs.outputs, rtol=0, atol=1e-12)
            assert mine.error == pytest.approx(theirs.error, rel=1e-9)
        np.testing.assert_array_equal(one.determination.determined, other.determination.determined)
        assert one.solvability.solvable is other.solvability.solvable
        assert (one.additions is None) == one.determination.determined.all()
        steps, others = (
            [step.values for step in item.additions.steps] if item.additions else []
            for item in (one, other)
        )
        assert steps == others
        assert bool(steps) == (one.case.name == "test 0")


@pytest.mark.parametrize("n_splits", [1, 12])
def test_training_is_fitted_once_for_all_splits(monkeypatch, n_splits):
    calls = Counter()

    def count(of, name):
        real = getattr(of, name)

        def counted(*given, **options):
            calls[name] += 1
            return real(*given, **options)

        monkeypatch.setattr(of, name, counted)

    count(shared_table, "cho_factor")
    count(import_module("partwhole.limits.proofs.determination"), "null_basis")
    count(support.TrainingInverse, "fill")
    rng = np.random.default_rng(0)
    rows = [(a, b, c) for a in range(4) for b in range(4) for c in range(4)]
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    frame["y"] = frame["a"] * frame["b"] + frame["c"]
    frame["split"] = "train"
    held_out = rng.choice(64, 24, replace=False)
    frame.loc[held_out, "split"] = [f"test {i % n_splits}" for i in range(24)]
    # Training lacks a value, so that each split has combinations to add.
    new = [(4, i % 4, i // 4, 0.0, f"test {i}") for i in range(n_splits)]
    frame = pd.concat([frame, pd.DataFrame(new, columns=frame.columns)], ignore_index=True)
    report = audit_split(frame, ["a", "b", "c"], "y", "split")
    assert len(report.evidence) == n_splits
    assert all(item.additions.steps for item in report.evidence)
    # Null functions of both orders.
    assert calls == {"cho_factor": len(places.DEPTHS), "null_basis": 2, "fill": 1}


def test_many_outputs_take_one_factor_for_each_kernel(monkeypatch):
    """1,700 conjunctions and 40 outputs: no conjugate gradients, output by output."""
    rng = np.random.default_rng(0)
    components = np.unique(rng.integers(0, 24, (3000, 3)), axis=0)
    label = rng.integers(0, 40, len(components))
    frame = pd.DataFrame(components, columns=["a", "b", "c"])
    frame["y"] = [f"label {i}" for i in label]
    frame["split"] = np.where(rng.random(len(frame)) < 0.1, "test", "train")
    calls = []

    def by_steps(*_given, **_options):
        raise AssertionError

    real = shared_table.cho_factor
    monkeypatch.setattr("partwhole.limits.order_sweep.solve_ridge", by_steps)

    def counted(*given, **options):
        calls.append(1)
        return real(*given, **options)

    monkeypatch.setattr(shared_table, "cho_factor", counted)
    report = audit_split(
        frame, ["a", "b", "c"], "y", "split", require_order=2, add=0, time_limit=600
    )
    forecast = report.evidence[0].prediction
    assert len(calls) == len(forecast.points) == len(places.FEWER_DEPTHS)
    assert forecast.unsolved == ()


@contextmanager
def slow_clocks(monkeypatch):
    """Let an hour pass at each look at a clock on the wall."""
    clock = iter(3600.0 * np.arange(1e6))
    for name in ("time.monotonic", "time.perf_counter", "partwhole.audit.audit.monotonic"):
        monkeypatch.setattr(name, lambda: float(next(clock)))
    yield


@contextmanager
def busy_processes(monkeypatch):
    """Let four other processes work."""
    processes = [
        subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(4)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.parametrize("beside", [slow_clocks, busy_processes])
def test_a_machine_that_is_busy_with_something_else_changes_nothing(monkeypatch, beside):
    """Only the processor's own time counts.

    The null functions are found by conjugate gradients, as those of more conjunctions are.
    """
    monkeypatch.setattr("partwhole.limits.proofs.determination.DENSE_COLUMNS", 100)
    rng = np.random.default_rng(3)
    components = np.unique(rng.integers(0, 9, (1200, 4)), axis=0)
    frame = pd.DataFrame(components, columns=list("abcd"))
    frame["y"] = components.sum(axis=1) + components[:, 0] * components[:, 1] / 10.0
    frame["split"] = np.where(rng.random(len(frame)) < 0.1, "test", "train")
    options = {"components": list("abcd"), "target": "y", "split": "split", "add": 0}
    options["require_order"] = 2
    calm = audit_split(frame, **options)
    with beside(monkeypatch):
        busy = audit_split(frame, **options)
    assert calm.evidence[0].determination.method == "probes"
    for report in (calm, busy):
        assert not report.evidence[0].determination.undecided.any()
        assert report.evidence[0].prediction.unsolved == ()
    assert busy.determined == calm.determined
    assert busy.solvable is calm.solvable
    assert [one.message for one in busy.findings] == [one.message for one in calm.findings]


def test_an_answer_of_a_lower_order_is_one_of_the_order(monkeypatch):
    module = import_module("partwhole.audit.noise")
    orders, solve = [], module.solvability

    def counted(task, **options):
        orders.append(options["max_order"])
        return solve(task, **options)

    monkeypatch.setattr(module, "solvability", counted)
    frame = pd.DataFrame(np.indices((3,) * 4).reshape(4, -1).T, columns=list("abcd"))
    frame["y"] = frame["a"] * frame["b"] + frame["c"]
    frame["split"] = np.where(frame.index % 5 == 0, "test", "train")
    report = audit_split(frame, list("abcd"), "y", "split", require_order=3, add=0)
    assert report.evidence[0].solvability.order == 3
    assert report.solvable is True
    assert orders[0] == 2
    assert 3 not in orders
