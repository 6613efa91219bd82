"""Folds and columns of labels, audited together, against an audit of each by itself."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, ShuffleSplit

import partwhole as pw


def table(seed=0, n=70):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"shape": rng.choice(list("abcd"), n), "colour": rng.choice(list("rgbyk"), n),
         "size": rng.choice(list("sml"), n)}
    )  # fmt: skip
    number = frame["shape"].map("abcd".index) + frame["size"].map("sml".index) / 2
    frame["sum"] = number + (frame["colour"] == "k") * rng.normal(size=n)
    frame["kind"] = np.where(frame["shape"].isin(["a", "b"]), "first", "second")
    frame["warm"] = np.where(rng.random(n) < 0.2, "odd", frame["colour"].isin(["r", "y"]))
    frame["split"] = np.where((frame["shape"] == "a") & (frame["colour"] != "r"), "test", "train")
    return frame


COMPONENTS = ["shape", "colour", "size"]


def same(one, other):
    """Compare the evidence of two audits of the same split."""
    assert np.array_equal(one.case.held_out, other.case.held_out)
    np.testing.assert_array_equal(one.case.task.components, other.case.task.components)
    np.testing.assert_array_equal(one.case.task.targets, other.case.task.targets)
    np.testing.assert_array_equal(one.determination.determined, other.determination.determined)
    assert one.solvability.solvable == other.solvability.solvable
    assert [(r.order, r.determined, r.solvable) for r in one.ladder] == [
        (r.order, r.determined, r.solvable) for r in other.ladder
    ]
    assert one.shortcuts == other.shortcuts
    assert (one.additions is None) == (other.additions is None)
    if one.additions is not None:
        assert [step.values for step in one.additions.steps] == [
            step.values for step in other.additions.steps
        ]
    for a, b in zip(one.prediction.points, other.prediction.points, strict=True):
        np.testing.assert_allclose(a.outputs, b.outputs, rtol=1e-12)


@pytest.mark.parametrize("splitter", [KFold(3), ShuffleSplit(2, test_size=0.3, random_state=0)])
def test_folds_are_audits_of_each_fold(splitter):
    frame = table()
    report = pw.audit_split(frame, COMPONENTS, "sum", splitter, noise=10.0)
    folds = list(splitter.split(frame))
    assert [e.case.name for e in report.evidence] == [f"fold {i + 1}" for i in range(len(folds))]
    for evidence, fold in zip(report.evidence, folds, strict=True):
        alone = pw.audit_split(frame, COMPONENTS, "sum", fold, noise=10.0)
        same(evidence, alone.evidence[0])
        mine = [f for f in report.findings if f.split == evidence.case.name]
        theirs = [f for f in alone.findings if f.split == "test"]
        assert [(f.rule, f.rows.tolist()) for f in mine] == [
            (f.rule, f.rows.tolist()) for f in theirs
        ]
    assert report.determined == min(e.determination.share for e in report.evidence)


def test_columns_of_labels_are_audits_of_each():
    frame = table()
    report = pw.audit_split(frame, COMPONENTS, ["kind", "sum", "warm"], "split")
    names = [e.case.name for e in report.evidence]
    assert names == ["test (sum)", "test (kind)", "test (warm)"]
    for evidence, target in zip(report.evidence, ("sum", "kind", "warm"), strict=True):
        alone = pw.audit_split(frame, COMPONENTS, target, "split")
        same(evidence, alone.evidence[0])
        assert evidence.case.table.labels == alone.table.labels
    remarks = " ".join(report.table.remarks)
    assert "shape alone gives kind in every row" in remarks
    conflicts = [f for f in report.findings if f.rule == "conflicting-duplicates"]
    assert any("rows that differ in warm" in f.message for f in conflicts)
    assert not any("rows that differ in kind" in f.message for f in conflicts)


def test_columns_of_numbers_stay_together():
    frame = table().assign(other=lambda f: f["sum"] ** 2)
    report = pw.audit_split(frame, COMPONENTS, ["sum", "other"], "split")
    assert [e.case.name for e in report.evidence] == ["test"]
    assert report.evidence[0].case.task.targets.shape[1] == 2


def test_folds_and_labels_appear_in_every_output(tmp_path):
    frame = table()
    report = pw.audit_split(frame, COMPONENTS, ["kind", "warm"], KFold(2))
    names = [f"fold {i} ({target})" for i in (1, 2) for target in ("kind", "warm")]
    assert [e.case.name for e in report.evidence] == names
    content = json.loads(report.to_json())
    assert content["target"] == ["kind", "warm"]
    assert content["labels"] is None
    assert [split["target"] for split in content["splits"]] == [["kind"], ["warm"]] * 2
    assert next(split["labels"] for split in content["splits"]) == ["first", "second"]
    assert [split["train"] for split in content["splits"]] == [
        f"training of fold {i}" for i in (1, 1, 2, 2)
    ]
    suites = [suite.get("name") for suite in ElementTree.fromstring(report.to_junit())]
    assert suites[:4] == names
    assert set(suites[4:]) <= {"training of fold 1", "training of fold 2"}
    page, text = report.to_html(), report.to_text()
    for name in names:
        assert name in page
        assert name in text
    assert "training of fold 2 (training, 35 rows)" in page
    assert "kind (labels first, second); warm (labels" in " ".join(text.split())
    rows = report.rows_to_frame()
    assert rows["split"].value_counts().to_dict() == dict.fromkeys(names, 35)
    assert json.loads(report.to_sarif())["runs"][0]["results"]


def test_margins_need_labels_in_every_column():
    with pytest.raises(ValueError, match="fit 'margin' is for labels; got numbers"):
        pw.audit_split(table(), COMPONENTS, ["kind", "sum"], "split", fit="margin")
