"""The table of test rows: what training says of each, and what would help."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from partwhole.audit import audit_split
from partwhole.cli import main


def audited(train, test, target, **options):
    """Audit combinations of letters, such as "ac"; the target is a function of them."""
    rows = [(*word, target(word), "train") for word in train]
    rows += [(*word, target(word), "test") for word in test]
    names = [*("first", "second", "third")[: len(train[0])], "target", "split"]
    frame = pd.DataFrame(rows, columns=names)
    return audit_split(frame, names[:-2], "target", "split", add=0, **options)


def number(word):
    return float(sum(map(ord, word)))


def test_two_components():
    report = audited(["ac", "ad", "bc", "ef"], ["bd", "bd", "ac", "af", "ag"], number)
    frame = report.rows_to_frame()
    assert list(frame["row"]) == [4, 5, 6, 7, 8]
    assert list(frame["split"]) == ["test"] * 5
    assert list(frame["first"] + frame["second"]) == ["bd", "bd", "ac", "af", "ag"]
    assert list(frame["status"]) == [
        "determined", "determined", "seen", "not determined", "not determined",
    ]  # fmt: skip
    assert list(frame["why"]) == [
        "", "", "", "the training rows leave it open", "no training row has second = g",
    ]  # fmt: skip
    assert list(frame["help"]) == [
        "", "", "", "a training row (a, f)", "a training row with second = g",
    ]  # fmt: skip
    assert np.isnan(frame["prediction"][2])
    assert frame["prediction"][0] == frame["prediction"][1]


@pytest.mark.parametrize("order", [1, 2])
def test_a_conjunction_that_training_lacks(order):
    words = [a + b + c for a in "ab" for b in "cd" for c in "ef"]
    seen = [word for word in words if not word.startswith("ac")]
    frame = audited(seen, ["ace", "acf"], number, require_order=order).rows_to_frame()
    if order == 1:
        assert set(frame["status"]) == {"determined"}
        return
    assert set(frame["status"]) == {"not determined"}
    assert set(frame["why"]) == {"no training row has first = a, second = c"}
    assert set(frame["help"]) == {"a training row with first = a, second = c"}


def test_a_row_that_joins_the_parts_determines_the_other():
    train, target = ["ac", "ad", "bc", "ef"], "af"
    frame = audited(train, [target], number).rows_to_frame()
    assert frame["help"][0] == "a training row (a, f)"
    other = audited([*train, "bf"], [target], number).rows_to_frame()
    assert other["status"][0] == "determined"


def test_a_split_that_holds_nothing_out():
    frame = audited(["ac", "ad", "bc", "ef"], ["ac"], number).rows_to_frame()
    assert list(frame["status"]) == ["seen"]


def test_labels_and_several_splits():
    rows = [("a", "c", "yes", "train"), ("a", "d", "no", "train"), ("b", "c", "yes", "train")]
    rows += [("b", "d", "no", "near"), ("b", "e", "no", "far")]
    frame = pd.DataFrame(rows, columns=["row", "status", "answer", "split"])
    table = audit_split(frame, ["row", "status"], "answer", "split", add=0).rows_to_frame()
    # Components keep their names, whatever these are.
    assert list(table.columns[:7]) == ["row", "split", "row", "status", "status", "why", "help"]
    # Splits are in the order of their names.
    assert list(table["split"]) == ["far", "near"]
    assert list(table.iloc[:, 4]) == ["not determined", "determined"]
    assert table["predicted label"][1] == "no"


def test_the_command_writes_them(tmp_path, capsys):
    rows = ["x,y,z,split", "a,c,1,train", "a,d,2,train", "b,c,2,train", "b,d,3,test"]
    table, output = tmp_path / "table.csv", tmp_path / "rows.csv"
    table.write_text("\n".join(rows) + "\n")
    roles = ["--components", "x", "y", "--target", "z", "--split", "split", "--add", "0"]
    main(["audit", str(table), *roles, "--output", str(output)])
    assert f"OUTPUT: {output}" in capsys.readouterr().out
    written = pd.read_csv(output)
    assert list(written["status"]) == ["determined"]
    assert list(written["row"]) == [3]


def test_labels_of_a_dataset_have_their_names():
    frame = pd.DataFrame({
        "x": list("aabb"), "y": list("cdcd"), "z": [0, 1, 1, 0],
        "split": ["train"] * 3 + ["test"],
    })  # fmt: skip

    kinds = {"x": SimpleNamespace(), "z": SimpleNamespace(names=["no", "yes"])}
    dataset = SimpleNamespace(features=kinds, to_pandas=frame.copy)
    report = audit_split(dataset, ["x", "y"], "z", "split", add=0)
    assert report.table.labels == ("no", "yes")
    assert report.table.label.tolist() == [0, 1, 1, 0]
