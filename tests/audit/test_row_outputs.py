"""The table of test rows: what training says of each, and what would help."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from partwhole.audit import audit_split
from partwhole.audit.outputs.fixes import NOWHERE
from partwhole.cli import main
from partwhole.tasks import Task


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
        "", "", "", f"a training row (b, f){NOWHERE}", f"a training row (b, g){NOWHERE}",
    ]  # fmt: skip
    assert np.isnan(frame["prediction"][2])
    assert frame["prediction"][0] == frame["prediction"][1]


def test_predictions_have_the_names_of_labels_or_of_columns():
    words = [a + b for a in "abc" for b in "def"]
    frame = audited(words[:-1], words[-1:], lambda word: f"is {word[0]}").rows_to_frame()
    names = ["prediction is a", "prediction is b", "prediction is c", "predicted label"]
    assert list(frame)[-4:] == names
    assert frame.iloc[0][names[:3]].astype(float).idxmax() == "prediction is c"
    assert frame["predicted label"][0] == "is c"
    data = pd.DataFrame([(*word, ord(word[0]), ord(word[1])) for word in words])
    data.columns = ["first", "second", "left", "right"]
    data["split"] = ["train"] * 8 + ["test"]
    report = audit_split(data, ["first", "second"], ["left", "right"], "split", add=0)
    assert list(report.rows_to_frame())[-2:] == ["prediction left", "prediction right"]


def test_a_label_that_training_lacks_is_named_beside_what_is_predicted():
    labels = {"ac": "no", "ad": "yes", "bc": "yes", "bd": "new", "be": "no"}
    frame = audited(["ac", "ad", "bc"], ["bd", "be"], labels.get).rows_to_frame()
    assert list(frame["status"]) == ["determined", "not determined"]
    assert list(frame["why"]) == [
        "no training row has the label new", "no training row has second = e",
    ]  # fmt: skip


def test_no_label_is_predicted_where_nothing_was_computed():
    report = audited(["ac", "ad", "bc"], ["bd"], lambda word: "no" if word == "ac" else "yes")
    assert report.rows_to_frame()["predicted label"][0] == "yes"
    frame = replace(report.evidence[0], prediction=None).to_frame()
    assert list(frame["predicted label"]) == [None]
    assert np.isnan(frame["prediction"][0])


@pytest.mark.parametrize(("n", "columns"), [(20, 20), (21, 0)])
def test_of_many_labels_only_the_predicted_one_is_listed(n, columns):
    words = [chr(97 + a) + b for a in range(n) for b in "AB"]
    frame = audited(words[:-1], words[-1:], lambda word: f"is {word[0]}").rows_to_frame()
    assert sum(name.startswith("prediction ") for name in frame) == columns
    assert frame["predicted label"][0] == f"is {words[-1][0]}"


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
    assert frame["help"][0] == f"a training row (b, f){NOWHERE}"
    other = audited([*train, "bf"], [target], number).rows_to_frame()
    assert other["status"][0] == "determined"


def test_what_helps_is_looked_for_in_the_time():
    train, target = ["ac", "ad", "bc", "ef", "gh"], ["af", "ah"]
    report = audited(train, target, number)
    assert report.rows_to_frame()["help"].tolist() == [
        f"a training row (b, f){NOWHERE}", f"a training row (b, h){NOWHERE}"
    ]  # fmt: skip
    # The first search takes it all.
    late = report.rows_to_frame(time_limit=1e-9)["help"]
    assert late[0] == f"a training row (b, f){NOWHERE}"
    assert late[1] == (
        "a training row (a, h): this combination itself; others were not looked for in the time"
    )
    assert report.rows_to_frame(time_limit=0)["help"].str.endswith("in the time").all()


def test_values_that_only_test_has_are_no_help():
    # Training knows one third part. With another one a row has a new pair (b, y), and helps less.
    train, target = ["axu", "byu"], ["ayu", "bxu", "bxv"]
    frame = audited(train, target, number, require_order=2).rows_to_frame()
    assert frame["help"][0] == "a training row (a, y, u): this combination itself"


def proposed(text, letters):
    """Return the combinations that a help proposes, of these letters of each component."""
    suffix = f"(: this combination itself|{NOWHERE})?"
    plain = re.fullmatch(rf"a training row \(([a-z, ]+)\){suffix}", text)
    if plain:
        return [plain[1].replace(", ", "")]
    values = re.fullmatch("a training row with (.*)", text)[1]
    places = {"first": 0, "second": 1, "third": 2}
    chosen = list(letters)
    for part in values.split(", "):
        name, value = part.split(" = ")
        chosen[places[name]] = value
    return ["".join(word) for word in product(*chosen)]


def helped(train, test, order):
    """Require that every help determines its row, and return the helps."""
    frame = audited(train, test, number, require_order=order).rows_to_frame()
    letters = [sorted({word[c] for word in train}) for c in range(len(train[0]))]
    helps = []
    for word, status, text in zip(test, frame["status"], frame["help"], strict=True):
        assert bool(text) == (status == "not determined")
        if not text:
            continue
        helps.append(text)
        for added in proposed(text, letters):
            # Beside another test row, so that one is held out where the row itself is added.
            rest = [word, *(row for row in test if row != added)]
            if added in rest[:1]:
                assert text.endswith("this combination itself") or " with " in text
                continue
            again = audited([*train, added], rest, number, require_order=order).rows_to_frame()
            assert again["status"][0] == "determined", (word, text, added)
    return helps


def test_a_proposed_row_determines_the_test_row():
    words = ["".join(word) for word in product("pqr", "xyz", "uvw")]
    train = [word for word in words if word[0] != "p"]
    helps = helped([*train, "pxu"], [w for w in words if w[0] == "p" and w != "pxu"], 2)
    assert helps[2] == "a training row (p, y, u): this combination itself"
    # With every pair of p and the third part, any row with (p, y) determines (p, y, v).
    helps = helped([*train, "pxu", "pxv", "pxw"], ["pyv", "pzu"], 2)
    assert helps[0] == "a training row with first = p, second = y"


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_proposed_rows_determine_test_rows_of_random_splits(seed, order):
    words = ["".join(word) for word in product(*("abc", "defg", "hij")[: order + 1])]
    drawn = np.random.default_rng(seed).permutation(words).tolist()
    n = len(words) // 3
    assert helped(drawn[:n], drawn[n : n + 5], order)


def test_several_conjunctions_that_training_lacks_are_named():
    train = ["ace", "ade", "bce", "bcf"]
    frame = audited(train, ["adf"], number, require_order=2).rows_to_frame()
    assert frame["why"][0] == (
        "no training row has first = a, third = f; none has second = d, third = f"
    )
    assert frame["help"][0] == "a training row (a, d, f): this combination itself"


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


def test_the_tested_rows_are_selected_a_few_times_alone(monkeypatch):
    # Selecting them takes as long as the table is, so that once for each row took hours.
    selected, original = [], Task.test_components
    counting = property(lambda task: selected.append(1) or original.fget(task))
    numbers = []
    for n in (6, 12):
        pairs = list(product(range(n), range(n)))
        test = [pair for pair in pairs if sum(pair) < n]
        report = audited([pair for pair in pairs if sum(pair) >= n], test, sum)
        monkeypatch.setattr(Task, "test_components", counting)
        selected.clear()
        assert len(report.rows_to_frame()) == len(test)
        monkeypatch.undo()
        numbers.append(len(selected))
    assert numbers[0] == numbers[1]
