"""Forty kinds of bad input to the command: each its own sentence, status 2, nothing written."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from partwhole.cli import main

GOOD = "a,b,y,s\np,r,0,train\np,s,1,train\nq,r,1,train\nq,s,2,test\n"
PLAIN = ("--components", "a", "b", "--target", "y", "--split", "s")


def swap(column, *entries):
    """Return the good table with other entries in one column."""
    rows = [line.split(",") for line in GOOD.splitlines()]
    place = rows[0].index(column)
    for row, entry in zip(rows[1:], entries, strict=True):
        row[place] = entry
    return "\n".join(",".join(row) for row in rows) + "\n"


def with_features(array):
    """Return what saves an array beside the good table, and asks for it."""

    def prepare():
        np.save("f.npy", array)
        return GOOD

    return prepare, (*PLAIN, "--features", "f.npy")


KINDS = {
    "no such file": (None, PLAIN),
    "empty file": ("", PLAIN),
    "heading only": ("a,b,y,s\n", PLAIN),
    "ragged row": (GOOD + "p,r\n", PLAIN),
    "not utf-8": (GOOD.encode().replace(b"q", b"\xff"), PLAIN),
    "garbled gzip": (lambda: Path("t.csv.gz").write_bytes(b"\x1f\x8bno") and GOOD, PLAIN),
    "column twice": (GOOD.replace("a,b,y,s", "a,a,y,s"), PLAIN),
    "missing component": (GOOD, ("--components", "a", "colour", *PLAIN[3:])),
    "missing target": (GOOD, (*PLAIN[:4], "yy", *PLAIN[5:])),
    "missing split": (GOOD, (*PLAIN[:6], "splt")),
    "missing weights": (GOOD, (*PLAIN, "--weights", "w")),
    "one component": (GOOD, ("--components", "a", *PLAIN[3:])),
    "component twice": (GOOD, ("--components", "a", "a", *PLAIN[3:])),
    "target as split": (GOOD, (*PLAIN[:4], "s", *PLAIN[5:])),
    "bins of text": (GOOD, (*PLAIN, "--bins", "a=2")),
    "several values of a column that is no component": (GOOD, (*PLAIN, "--multi-hot", "c")),
    "a vocabulary of one column": (GOOD, (*PLAIN, "--tied", "a")),
    "a vocabulary shared twice": (GOOD, (*PLAIN, "--tied", "a+b", "b+a")),
    "bins without a number": (GOOD, (*PLAIN, "--bins", "a")),
    "component of one value": (swap("b", "r", "r", "r", "r"), PLAIN),
    "missing entry": (swap("b", "r", "", "r", "s"), PLAIN),
    "missing number": (swap("y", "0", "", "1", "2"), PLAIN),
    "not a number": (swap("y", "0", "nan", "1", "2"), PLAIN),
    "infinite": (swap("y", "0", "inf", "1", "2"), PLAIN),
    "number among labels": (swap("y", "0", "one", "1", "2"), PLAIN),
    "target that never varies": (swap("y", "1", "1", "1", "1"), PLAIN),
    "one label": (swap("y", "no", "no", "no", "no"), PLAIN),
    "huge target": (swap("y", "0", "1e300", "1", "2"), PLAIN),
    "no training rows": (swap("s", "fit", "fit", "fit", "test"), PLAIN),
    "no test rows": (swap("s", *["train"] * 4), PLAIN),
    "missing split entry": (swap("s", "train", "train", "train", ""), PLAIN),
    "unknown test split": (GOOD, (*PLAIN, "--test", "tset")),
    "training as test": (GOOD, (*PLAIN, "--test", "train")),
    "two targets refused": (
        GOOD + "p,r,5,train\n",
        (*PLAIN, "--duplicates", "refuse"),
    ),
    "negative weight": (
        GOOD.replace("a,b,y,s", "a,b,y,s")
        .replace("\n", ",w\n", 1)
        .replace("train\n", "train,1\n")
        .replace("test\n", "test,-1\n"),
        (*PLAIN, "--weights", "w"),
    ),
    "weight of text": (
        GOOD.replace("\n", ",w\n", 1)
        .replace("train\n", "train,much\n")
        .replace("test\n", "test,1\n"),
        (*PLAIN, "--weights", "w"),
    ),
    "share out of range": (GOOD, (*PLAIN[:5], "--hold-out", "rows", "--share", "1.5")),
    "no rule and no split": (GOOD, PLAIN[:5]),
    "order too high": (GOOD, (*PLAIN, "--require-order", "2")),
    "margin of numbers": (GOOD, (*PLAIN, "--fit", "margin")),
    "features of other length": with_features(np.zeros((3, 2))),
    "features that are not finite": with_features(np.array([[0.0], [1.0], [np.nan], [2.0]])),
    "features of text": with_features(np.array([["a"], ["b"], ["c"], ["d"]])),
    "features of three axes": with_features(np.zeros((4, 2, 2))),
    "features of objects": with_features(np.array([[None]] * 4, dtype=object)),
    "features that are not there": (GOOD, (*PLAIN, "--features", "none.npy")),
    "negative time limit": (GOOD, (*PLAIN, "--time-limit", "-1")),
    "negative additions": (GOOD, (*PLAIN, "--add", "-1")),
    "settings of another kind": (
        lambda: Path("c.toml").write_text("[thresholds]\ncoverage = 'x'\n") and GOOD,
        (*PLAIN, "--config", "c.toml"),
    ),
    "page in a folder that is not there": (GOOD, (*PLAIN, "--html", "none/a.html")),
}


def refused(kind, folder, monkeypatch, capsys):
    """Run the command on one kind of bad input; return its sentence."""
    content, options = KINDS[kind]
    here = folder / kind.replace(" ", "-")
    here.mkdir()
    monkeypatch.chdir(here)
    if callable(content):
        content = content()
    table = Path("t.csv.gz" if kind == "garbled gzip" else "t.csv")
    if content is not None and kind != "garbled gzip":
        table.write_bytes(content.encode() if isinstance(content, str) else content)
    before = {path: path.read_bytes() for path in here.rglob("*")}
    outputs = () if "--html" in options else ("--html", "a.html")
    with pytest.raises(SystemExit) as left:
        main(["audit", str(table), *options, *outputs, "--json", "a.json", "--sarif", "a.sarif"])
    out, told = capsys.readouterr()
    assert left.value.code == 2, kind
    assert out == ""
    assert told.startswith("partwhole: ")
    # One line: the rule, what was got, the remedy.
    assert told.count("\n") == 1
    assert told.count("; ") >= 2 or kind == "no such file", told
    assert {path: path.read_bytes() for path in here.rglob("*")} == before
    return told


def test_forty_kinds_have_forty_sentences(tmp_path, monkeypatch, capsys):
    told = {kind: refused(kind, tmp_path, monkeypatch, capsys) for kind in KINDS}
    assert len(told) >= 40
    assert len(set(told.values())) == len(told)


def test_the_good_table_is_good(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.csv.gz").write_bytes(gzip.compress(GOOD.encode()))
    main(["audit", "t.csv.gz", *PLAIN, "--json", "a.json"])
    assert Path("a.json").exists()
