"""Matrices whose size says that they take longer than the time limit are not built."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from partwhole.audit import audit_split
from partwhole.audit import costs as costs_module
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets

NAMES = ["a", "b", "c", "d"]


def sums(labels: bool = False) -> pd.DataFrame:
    """Return sums of four parts of four values; an eighth is held out."""
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*[range(4)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    frame = pd.DataFrame(grid, columns=NAMES)
    total = frame.sum(axis=1)
    frame["y"] = np.where(total > 6, "more", "less") if labels else total
    return frame.assign(split=np.where(rng.random(len(frame)) < 0.125, "test", "train"))


@pytest.fixture
def slow_machine(monkeypatch):
    """Let every entry of a matrix count as a second, and refuse all that are built."""
    for name in ("OF_PROBES", "OF_PAIRS", "OF_PREDICTIONS", "OF_ANSWERS"):
        monkeypatch.setattr(costs_module, name, 1.0)

    def refuse(*_given, **_options):
        raise AssertionError

    return refuse


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_no_matrix_is_begun_that_takes_too_long(monkeypatch, slow_machine, labels, order):
    monkeypatch.setattr(costs_module, "determinations", slow_machine)
    for place in ("noise.solvability", "audit.predict_splits", "training_fit.best_sum"):
        monkeypatch.setattr(f"partwhole.audit.{place}", slow_machine)
    report = audit_split(sums(labels), NAMES, "y", "split", require_order=order)
    (evidence,) = report.evidence
    n = len(evidence.case.held_out)
    assert report.verdict == "undecided"
    assert evidence.prediction is None
    assert evidence.solvability.solvable is None
    assert evidence.determination.undecided.sum() == n
    assert not evidence.determination.determined.any()
    assert np.isnan(evidence.determination.values(evidence.case.task.components)).all()
    assert [(rung.order, rung.undecided) for rung in evidence.ladder] == [(order, n)]
    assert {f.rule for f in report.findings if f.rule != "shortcut"} == {"not-decided"}
    assert set(report.rows_to_frame()["status"]) == {"undecided"}
    for text in (report.to_text(), report.to_html(), report.to_sarif(), report.to_json()):
        assert "takes longer than" in " ".join(text.split())


def test_with_time_enough_they_are_begun(slow_machine):
    frame = sums()
    report = audit_split(frame, NAMES, "y", "split", time_limit=1e9)
    assert report.verdict == "supported"
    assert report.evidence[0].determination.determined.all()


@pytest.mark.parametrize("order", [1, 2, 3])
def test_seconds_go_with_the_entries_that_are_built(order):
    case = audit_split(sums(), NAMES, "y", "split", add=0).evidence[0].case
    task = case.task
    sets = conjunction_sets(4, order)
    exact = [s for s in sets if len(s) == order]
    built = ConjunctionDesign.seen(task.train_components, exact, task.n_values)
    entries = sum(len(index) for index in built.index)
    held_out = task.n_test * len(exact)
    expected = (entries + held_out) / costs_module.OF_ANSWERS
    assert costs_module.seconds_to_solve(task, order) == pytest.approx(expected)
    whole = len(task.components) * (len(sets) - 1) / costs_module.OF_PREDICTIONS
    assert costs_module.seconds_to_predict(task, order) == pytest.approx(whole)
    # Of few conjunctions each pair of blocks is counted.
    pairs = entries * (len(exact) + 1) / 2 / costs_module.OF_PAIRS
    assert costs_module.seconds_to_determine(task, order) == pytest.approx(pairs)
