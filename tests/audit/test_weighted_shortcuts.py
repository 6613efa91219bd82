"""Shortcuts of counted rows against those of the rows themselves, and groups of two numbers."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from partwhole import audit_split
from partwhole._checks import InputError

# Rows of Waterbirds by bird, place and part, as published.
COUNTS = pd.DataFrame(
    [("land", "land", 3498, "train"), ("land", "water", 184, "train"),
     ("water", "land", 56, "train"), ("water", "water", 1057, "train"),
     ("land", "land", 2255, "test"), ("land", "water", 2255, "test"),
     ("water", "land", 642, "test"), ("water", "water", 642, "test")],
    columns=["bird", "place", "n", "split"],
)  # fmt: skip
COUNTS["y"] = np.where(COUNTS["bird"] == "water", "waterbird", "landbird")
ROWS = COUNTS.loc[COUNTS.index.repeat(COUNTS["n"])].drop(columns="n")


def audited(frame, **options):
    return audit_split(frame, ["bird", "place"], "y", "split", add=0, **options)


def said(report):
    return [(item.rule, item.message) for item in report.findings if item.rule != "not-held-out"]


@pytest.mark.parametrize("parts", [1, 2])
def test_counts_of_rows_are_rows(parts):
    rows = audited(ROWS)
    frame = (
        COUNTS
        if parts == 1
        else pd.concat(
            [COUNTS.assign(n=COUNTS["n"] // 2), COUNTS.assign(n=COUNTS["n"] - COUNTS["n"] // 2)]
        )
    )
    counted = audited(frame, weights="n")
    assert {rule for rule, _ in said(counted)} == {"shortcut", "group-imbalance"}
    assert said(counted) == said(rows)


def test_groups_of_two_numbers_are_those_of_labels():
    numbers = audited(ROWS.assign(y=(ROWS["bird"] == "water").astype(int)))
    (group,) = [item for item in numbers.findings if item.rule == "group-imbalance"]
    (labelled,) = [item for item in audited(ROWS).findings if item.rule == "group-imbalance"]
    words = labelled.message.replace("'landbird'", "'0'").replace("'waterbird'", "'1'")
    assert group.message == words
    np.testing.assert_array_equal(group.rows, labelled.rows)
    (shortcut,) = [item for item in numbers.findings if item.rule == "shortcut"]
    assert "it rises by 0." in shortcut.message
    rare = json.loads(numbers.to_json())["splits"][0]["shortcuts"][0]["rare"]
    assert {entry["label"] for entry in rare} <= {0.0, 1.0}


def test_numbers_counted_are_rows():
    rows = ROWS.assign(y=(ROWS["bird"] == "water") + 0.5 * (ROWS["place"] == "water"))
    counts = COUNTS.assign(y=(COUNTS["bird"] == "water") + 0.5 * (COUNTS["place"] == "water"))
    assert said(audited(counts, weights="n")) == said(audited(rows))


def test_few_counted_rows_are_as_alike_to_training_as_the_rows():
    cells = [(bird, place) for bird in range(4) for place in range(4)]
    counts = pd.DataFrame(cells, columns=["bird", "place"])
    counts["y"] = [0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
    counts["n"] = [4, 4, 5, 1, 4, 5, 1, 3, 3, 5, 2, 4, 5, 3, 3, 4]
    counts["split"] = ["test" if cell in ((0, 0), (0, 1)) else "train" for cell in cells]
    rows = counts.loc[counts.index.repeat(counts["n"])].drop(columns="n")
    assert said(audited(counts, weights="n")) == said(audited(rows))


def test_entries_in_another_order_are_refused():
    table = ROWS.reset_index(drop=True)
    split = table["split"].sample(frac=1.0, random_state=0)
    with pytest.raises(InputError, match="got the same index in another order; pass split"):
        audit_split(table, ["bird", "place"], "y", split)
    audit_split(table, ["bird", "place"], "y", split.loc[table.index], add=0)


def test_hashed_labels_that_no_output_gives_have_json():
    rng = np.random.default_rng(0)
    cells = [(a, b) for a in range(40) for b in range(40)]
    frame = pd.DataFrame(cells, columns=["bird", "place"])
    frame["y"] = [f"label {k}" for k in rng.permutation(1600)]
    held_out = (frame["bird"] > 30) & (frame["place"] > 30)
    frame["split"] = np.where(held_out, "test", "train")
    assert audited(frame).solvable
    parity = (frame["bird"] + frame["place"]) % 2
    frame["y"] = np.where(held_out, parity.map({0: "even", 1: "odd"}), frame["y"])
    report = audited(frame)
    assert report.table.hashed is not None
    assert report.solvable is False
    (error,) = [item for item in report.errors if item.rule == "not-solvable"]
    named = re.search(r"f the output for (\w+) minus the output for (\w+)", error.message)
    assert named is not None
    assert {*named.groups()} == {"even", "odd"}
    assert "label?" in report.to_html()
    (split,) = json.loads(report.to_json())["splits"]
    assert "target" not in split["solvability"]["certificate"]
