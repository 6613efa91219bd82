"""Tables and splits as people have them: every form says what the plain CSV file says."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest
from audit_tables import read_table
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    PredefinedSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from partwhole._checks import InputError
from partwhole.audit import HoldOut, audit_split
from partwhole.audit.reading.source import File
from partwhole.cli import main

ROLES = (["shape", "colour"], "label")
GRID = [(s, c) for s in range(4) for c in range(4) for _ in range(2)]
FRAME = pd.DataFrame({
    "shape": [f"s{s}" for s, _ in GRID],
    "colour": [f"c{c}" for _, c in GRID],
    "label": ["low" if s + c < 3 else "high" for s, c in GRID],
    "split": ["train" if 0 in (s, c) or s == c else "test" for s, c in GRID],
})  # fmt: skip
SEEN = (FRAME["split"] == "train").to_numpy()


class Capsule:
    """A table of a library that gives its columns by the Arrow interface alone."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Convertible:
    """A table that turns into a DataFrame."""

    def to_pandas(self):
        return FRAME


def as_lines(frame):
    return "".join(json.dumps(row) + "\n" for row in frame.to_dict("records"))


def written(folder, name, text):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def alike(one, other):
    """Require two tables to be one, but for their names and remarks."""
    np.testing.assert_array_equal(one.components, other.components)
    np.testing.assert_array_equal(one.targets, other.targets)
    np.testing.assert_array_equal(one.split, other.split)
    assert one.split_names == other.split_names
    assert [list(map(str, v)) for v in one.values] == [list(map(str, v)) for v in other.values]


PLAIN = read_table(FRAME, *ROLES, "split")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
@pytest.mark.parametrize("mark", [",", ";", "\t", "|", ":", " "])
def test_cells_have_any_of_six_separators(tmp_path, name, mark):
    path = written(tmp_path, name, FRAME.to_csv(index=False, sep=mark))
    alike(read_table(path, *ROLES, "split"), PLAIN)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_cells_in_aligned_columns(tmp_path, end):
    frame = FRAME.astype(str).map(lambda cell: cell.replace(" ", "_"))
    lines = frame.to_string(index=False).split("\n")
    path = written(tmp_path, "t.txt", end.join(f"{line}  " for line in lines))
    alike(read_table(path, *ROLES, "split"), read_table(frame, *ROLES, "split"))


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.jsonl.gz"])
def test_lines_of_json(tmp_path, name):
    path = written(tmp_path, name, as_lines(FRAME))
    table = read_table(path, *ROLES, "split")
    alike(table, PLAIN)
    (file,) = table.files
    assert file == File(str(path), len(FRAME), None if name.endswith(".gz") else 1)


@pytest.mark.parametrize(
    "table",
    [
        pa.Table.from_pandas(FRAME),
        pa.Table.from_pandas(FRAME).to_reader(),
        Capsule(pa.Table.from_pandas(FRAME)),
        Convertible(),
        pyarrow.dataset.dataset(pa.Table.from_pandas(FRAME)),
    ],
    ids=["table", "reader", "capsule", "convertible", "dataset"],
)
def test_tables_of_other_libraries(table):
    alike(read_table(table, *ROLES, "split"), PLAIN)


def in_two(frame=FRAME):
    return {name: frame[frame["split"] == name].drop(columns="split") for name in ("train", "test")}


@pytest.mark.parametrize("form", ["frames", "files", "marks", "lines", "arrow"])
def test_a_table_for_each_split(tmp_path, form):
    parts = in_two()
    tables = {
        "frames": lambda: parts,
        "files": lambda: {
            name: written(tmp_path, f"{name}.csv", part.to_csv(index=False))
            for name, part in parts.items()
        },
        "marks": lambda: {
            name: written(
                tmp_path, f"{name}.csv",
                part[part.columns[:: 1 if name == "train" else -1]].to_csv(
                    index=False, sep="," if name == "train" else ";"
                ),
            )
            for name, part in parts.items()
        },
        "lines": lambda: {
            name: written(tmp_path, f"{name}.jsonl", as_lines(part)) for name, part in parts.items()
        },
        "arrow": lambda: {name: pa.Table.from_pandas(part) for name, part in parts.items()},
    }[form]()  # fmt: skip
    table = read_table(tables, *ROLES)
    order = np.concatenate([np.flatnonzero(SEEN), np.flatnonzero(~SEEN)])
    alike(table, read_table(FRAME.iloc[order], *ROLES, "split"))
    assert "Rows count through the tables in turn: train, test." in table.remarks


def test_a_table_for_each_of_several_test_splits():
    parts = in_two()
    halves = {"easy": parts["test"].iloc[:6], "hard": parts["test"].iloc[6:]}
    table = read_table({"seen": parts["train"], **halves}, *ROLES, train="seen")
    assert table.split_names == ("seen", "easy", "hard")
    alone = read_table({"seen": parts["train"], **halves}, *ROLES, train="seen", test="hard")
    assert alone.split_names == ("seen", "hard")
    assert np.sum(alone.split == -1) == 6


@pytest.mark.parametrize(
    "split",
    [
        SEEN,
        SEEN.tolist(),
        pd.Series(SEEN, index=range(100, 132)),
        FRAME["split"],
        FRAME["split"].to_numpy(),
        (np.flatnonzero(SEEN), np.flatnonzero(~SEEN)),
        [(np.flatnonzero(SEEN), np.flatnonzero(~SEEN))],
        PredefinedSplit(np.where(SEEN, -1, 0)),
    ],
    ids=["mask", "list", "series", "entries", "array", "rows", "fold", "splitter"],
)
def test_a_split_beside_the_table(split):
    alike(read_table(FRAME.drop(columns="split"), *ROLES, split), PLAIN)


def test_rows_that_a_split_does_not_name_are_left_out():
    table = read_table(FRAME, *ROLES, (np.flatnonzero(SEEN), np.flatnonzero(~SEEN)[:4]))
    assert np.sum(table.split == 1) == 4
    assert any(remark.startswith("Left out: 8 of 32 rows") for remark in table.remarks)


def test_a_splitter_of_one_split_draws_it():
    splitter = GroupShuffleSplit(1, random_state=0)

    class Grouped:
        def get_n_splits(self):
            return 1

        def split(self, rows):
            return splitter.split(rows, groups=np.arange(len(rows)) // 2)

    table = read_table(FRAME, *ROLES, Grouped())
    train, test = next(splitter.split(FRAME, groups=np.arange(32) // 2))
    np.testing.assert_array_equal(np.flatnonzero(table.split == 0), np.sort(train))
    np.testing.assert_array_equal(np.flatnonzero(table.split == 1), np.sort(test))


@pytest.mark.parametrize("form", ["frame", "csv", "numbers"])
def test_a_splitter_receives_the_target(tmp_path, form):
    frame = FRAME.drop(columns="split")
    if form == "numbers":
        frame = frame.assign(label=(frame["label"] == "low") * 7)
    path = written(tmp_path, "t.csv", frame.to_csv(index=False))
    splitter = StratifiedKFold(2, shuffle=True, random_state=3)
    report = audit_split(path if form == "csv" else frame, *ROLES, splitter, add=0)
    folds = list(splitter.split(frame, frame["label"]))
    assert len(report.tables) == len(folds) == 2
    for table, (train, test) in zip(report.tables, folds, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(table.split == 0), np.sort(train))
        np.testing.assert_array_equal(np.flatnonzero(table.split == 1), np.sort(test))


def test_a_splitter_receives_several_targets():
    class Asking:
        def get_n_splits(self):
            return 1

        def split(self, rows, y):
            assert y.shape == (len(rows), 2)
            assert y[:, 1].tolist() == list(range(32))
            return [(np.flatnonzero(SEEN), np.flatnonzero(~SEEN))]

    frame = FRAME.assign(amount=np.arange(32))
    audit_split(frame, ["shape", "colour"], ["label", "amount"], Asking(), add=0)


def test_warnings_of_a_splitter_are_remarks():
    frame = FRAME.assign(label=["rare", "rare", *FRAME["label"][2:]])
    report = audit_split(frame, *ROLES, StratifiedKFold(3), add=0)
    assert any(
        remark.startswith("StratifiedKFold: The least populated class in y has only 2 members")
        for remark in report.table.remarks
    )


NUMBERS = FRAME.assign(
    label=[s + c / 4 for s, c, *_ in zip(*np.divmod(np.arange(32) // 2, 4), strict=True)],
    weight=np.linspace(0.5, 2.0, 32),
)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_decimal_commas(tmp_path, mark):
    commas = written(tmp_path, "t.csv", NUMBERS.to_csv(index=False, sep=mark, decimal=","))
    points = written(tmp_path, "p.csv", NUMBERS.to_csv(index=False))
    given = read_table(commas, *ROLES, "split", weights="weight")
    plain = read_table(points, *ROLES, "split", weights="weight")
    alike(given, plain)
    assert given.labels is None
    np.testing.assert_array_equal(given.weights, plain.weights)
    remark = "Commas in 'weight', 'label' mark decimals: '0,548387"
    assert any(text.startswith(remark) for text in given.remarks)
    labels = read_table(commas, *ROLES, "split", target_kind="labels")
    assert "0,25" in labels.labels
    bins = read_table(commas, ["shape", "weight"], "label", "split", bins={"weight": 4})
    assert bins.values[1][0].startswith("0.5 to ")


def test_decimal_commas_of_two_files_and_whole_numbers(tmp_path):
    train = NUMBERS[NUMBERS["split"] == "train"]
    test = NUMBERS[NUMBERS["split"] == "test"].assign(label=np.arange(np.sum(~SEEN)))
    parts = {"train": train, "test": test}
    paths = {
        name: written(tmp_path, f"{name}.csv", part.to_csv(index=False, sep=";", decimal=","))
        for name, part in parts.items()
    }
    alike(read_table(paths, *ROLES), read_table(parts, *ROLES))


def test_decimal_commas_in_quotes(tmp_path):
    given = read_table(
        written(tmp_path, "t.csv", NUMBERS.to_csv(index=False, decimal=",")),
        *ROLES,
        "split",
        weights="weight",
    )
    plain = read_table(NUMBERS, *ROLES, "split", weights="weight")
    alike(given, plain)
    np.testing.assert_allclose(given.weights, plain.weights, rtol=1e-12)
    remark = "Commas in 'weight', 'label' mark decimals: '0,548387"
    assert any(text.startswith(remark) for text in given.remarks)


@pytest.mark.parametrize(
    "cells", [["1,2", "x"], ["1,2,3", "2,3,1"], ["1,250", "22,500"], [",5", "1,5"]]
)
def test_other_commas_in_quotes_remain_labels(tmp_path, cells):
    frame = FRAME.assign(label=np.tile(cells, 16))
    table = read_table(written(tmp_path, "t.csv", frame.to_csv(index=False)), *ROLES, "split")
    assert table.labels is not None
    assert {*table.labels} == {*cells}
    assert not any("decimals" in remark for remark in table.remarks)


@pytest.mark.parametrize("cells", [["a,b", "c,d"], ["1,2", "x"], ["1,2,3", "2,3,1"]])
def test_commas_of_labels_are_no_decimals(tmp_path, cells):
    frame = FRAME.assign(label=np.tile(cells, 16))
    table = read_table(
        written(tmp_path, "t.csv", frame.to_csv(index=False, sep=";")), *ROLES, "split"
    )
    assert table.labels == tuple(sorted(cells))


@pytest.mark.parametrize(
    "cells", [["1,250", "22,500"], ["1.250,5", "2,5"], ["1.250", "2,5"], ["1,250.5", "2,500"]]
)
def test_commas_that_may_separate_thousands_are_refused(tmp_path, cells):
    frame = FRAME.assign(label=np.tile(cells, 16))
    path = written(tmp_path, "t.csv", frame.to_csv(index=False, sep=";"))
    sentence = (
        r"a comma in a number marks its decimals; got '[0-9.,]+' in 'label', whose commas or "
        "points may separate thousands; write numbers without separators of thousands, or read a "
        "target as labels"
    )
    with pytest.raises(InputError, match=sentence):
        read_table(path, *ROLES, "split")
    assert len(read_table(path, *ROLES, "split", target_kind="labels").labels) == 2


HOLES = FRAME.astype(object)
HOLES.loc[[3, 20], "colour"] = None
HOLES.loc[7, "label"] = None


@pytest.mark.parametrize("form", ["csv", "frame", "jsonl", "categories"])
def test_rows_with_missing_entries_are_dropped(tmp_path, form):
    table = {
        "csv": lambda: written(tmp_path, "t.csv", HOLES.to_csv(index=False)),
        "frame": lambda: HOLES,
        "jsonl": lambda: written(tmp_path, "t.jsonl", as_lines(HOLES)),
        "categories": lambda: HOLES.astype("category"),
    }[form]()
    given = read_table(table, *ROLES, "split", missing="drop")
    kept = np.setdiff1d(np.arange(32), [3, 7, 20])
    whole = read_table(FRAME.iloc[kept], *ROLES, "split")
    np.testing.assert_array_equal(given.split[kept], whole.split)
    np.testing.assert_array_equal(given.components[kept], whole.components)
    np.testing.assert_array_equal(given.targets[kept], whole.targets)
    assert given.split[[3, 7, 20]].tolist() == [-1, -1, -1]
    assert "Left out: 3 of 32 rows, which have missing entries." in given.remarks


def test_numbers_with_missing_entries_are_dropped(tmp_path):
    numbers = FRAME.assign(label=np.arange(32.0), weight=np.linspace(1.0, 2.0, 32))
    numbers.loc[5, "label"] = np.nan
    numbers.loc[9, "weight"] = np.nan
    for table in (numbers, written(tmp_path, "t.csv", numbers.to_csv(index=False))):
        given = read_table(table, *ROLES, "split", weights="weight", missing="drop")
        assert given.split[[5, 9]].tolist() == [-1, -1]
        assert np.isfinite(given.targets).all()
    report = audit_split(numbers, *ROLES, "split", weights="weight", missing="drop", add=0)
    rows = numbers.drop(index=[5, 9])
    other = audit_split(rows, *ROLES, "split", weights="weight", add=0)
    assert report.determined == other.determined
    points = [one.evidence[0].prediction.points[-1].outputs for one in (report, other)]
    np.testing.assert_allclose(points[0], points[1], atol=1e-9)


@pytest.mark.parametrize("form", ["csv", "frame", "categories"])
def test_a_missing_component_is_a_value(tmp_path, form):
    holes = HOLES.drop(index=7).reset_index(drop=True)
    table = {
        "csv": lambda: written(tmp_path, "t.csv", holes.to_csv(index=False)),
        "frame": lambda: holes,
        "categories": lambda: holes.astype("category"),
    }[form]()
    given = read_table(table, *ROLES, "split", missing="value")
    assert "(missing)" in given.values[1]
    place = given.values[1].index("(missing)")
    assert np.flatnonzero(given.components[:, 1] == place).tolist() == [3, 19]
    assert "2 missing entries of 'colour' count as a value." in given.remarks
    named = holes.assign(colour=holes["colour"].replace("c0", "(missing)"))
    assert "((missing))" in read_table(named, *ROLES, "split", missing="value").values[1]


def test_a_rule_holds_out_of_the_rows_that_are_kept():
    given = read_table(HOLES, *ROLES, HoldOut("rows", share=0.5), missing="drop")
    assert np.sum(given.split == 1) == round(0.5 * 29)


def test_the_command_takes_a_file_for_each_split(tmp_path, capsys):
    parts = in_two()
    paths = [
        str(written(tmp_path, f"{name}.csv", part.to_csv(index=False)))
        for name, part in parts.items()
    ]
    roles = ["--components", "shape", "colour", "--target", "label", "--add", "0"]
    assert audit_split(parts, *ROLES, add=0).verdict == "supported"
    main(["audit", "--train", paths[0], "--test", paths[1], *roles])
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("Supported")
    assert "train.csv and test.csv: 32 rows" in printed
    with pytest.raises(SystemExit) as ended:
        main(["audit", "--train", paths[0], *roles])
    assert ended.value.code == 2
    assert "got --train " in (said := capsys.readouterr().err)
    assert "without --test; name a file for each test split" in said


REFUSED = {
    "no split": (
        lambda: read_table(FRAME, *ROLES),
        "an audit needs a split; got none; name a column, or pass a HoldOut, a mask, row numbers "
        "or two tables",
    ),
    "one table": (
        lambda: read_table({"train": FRAME}, *ROLES),
        'a mapping has a table for training and one or more for test; got 1; pass {"train": ..., '
        '"test": ...}',
    ),
    "two splits": (
        lambda: read_table(in_two(), *ROLES, "split"),
        "several tables are the split; got another, 'split'; leave it out, or pass one table",
    ),
    "another column": (
        lambda: read_table({**in_two(), "test": FRAME.drop(columns="colour")}, *ROLES),
        "every table has each named column once; got no column 'colour' in 'test'; add it, or "
        "rename another",
    ),
    "folds": (
        lambda: read_table(FRAME, *ROLES, [([0, 1], [2])] * 51),
        "an audit has at most 50 test splits; got 51 folds; pass fewer folds",
    ),
    "a short mask": (
        lambda: read_table(FRAME, *ROLES, SEEN[:5]),
        "a split has an entry for each row of the table; got shape (5,) for 32 rows; pass a mask "
        "of the rows, or two arrays of row numbers as a tuple",
    ),
    "all training": (
        lambda: read_table(FRAME, *ROLES, np.ones(32, dtype=bool)),
        "a mask marks rows of training and leaves rows for test; got one side alone; mark training "
        "rows by True",
    ),
    "names of a mask": (
        lambda: read_table(FRAME, *ROLES, SEEN, train="seen"),
        "train and test name entries of a split column; got a mask, which marks training by True; "
        "leave them out, or name a column in split",
    ),
    "a splitter of groups": (
        lambda: read_table(FRAME, *ROLES, GroupKFold(3)),
        "a splitter makes its folds from the rows and their target alone; got GroupKFold, which "
        "needs the group of each row; pass the list of its folds, list(splitter.split(X, y, "
        "groups)), as the split",
    ),
    "a splitter of labels and groups": (
        lambda: read_table(FRAME, *ROLES, StratifiedGroupKFold(3)),
        "a splitter makes its folds from the rows and their target alone; got StratifiedGroupKFold,"
        " which needs the group of each row; pass the list of its folds",
    ),
    "a splitter of labels without any": (
        lambda: read_table(FRAME, ["shape", "colour"], None, StratifiedShuffleSplit(1)),
        "a splitter makes its folds from the rows and their target alone; got "
        "StratifiedShuffleSplit, which needs a target, and none is named; pass the list",
    ),
    "a splitter of labels for numbers": (
        lambda: read_table(
            FRAME.assign(label=np.arange(32.0) / 3), *ROLES, StratifiedKFold(3)
        ),
        "a splitter makes its folds from the rows and their target alone; got StratifiedKFold, "
        "which says \"Supported target types are: ('binary', 'multiclass'). Got 'continuous'",
    ),
    "ragged lists": (
        lambda: read_table(FRAME, *ROLES, [[1, 2], [3], [4]]),
        "a split has an entry for each row of the table; got shape (0, 0) for 32 rows; pass a mask "
        "of the rows, or two arrays of row numbers as a tuple",
    ),
    "names alike": (
        lambda: read_table({1: FRAME, "1": FRAME}, *ROLES),
        "each table of a mapping has a name of its own; got ['1', '1']; rename one of them",
    ),
    "three arrays": (
        lambda: read_table(FRAME, *ROLES, (np.arange(3), np.arange(3), np.arange(3))),
        "row numbers are those of training and those of test; got 3 arrays; pass (train, test)",
    ),
    "rows beyond": (
        lambda: read_table(FRAME, *ROLES, (np.arange(3), np.array([40]))),
        "the rows of test are numbers from 0 to 31; got 40 to 40; pass an array of whole numbers",
    ),
    "rows of text": (
        lambda: read_table(FRAME, *ROLES, (np.array([0.5]), np.array([4]))),
        "the rows of training are numbers from 0 to 31; got shape (1,) of float64; pass an array "
        "of whole numbers",
    ),
    "a row twice": (
        lambda: read_table(FRAME, *ROLES, (np.arange(3), np.arange(2, 5))),
        "a row is of training or of test; got row 2 in both; take it out of one of them",
    ),
    "nothing left": (
        lambda: read_table(
            FRAME.assign(shape=[None if i % 2 else "a" for i in range(32)],
                         colour=["b" if i % 2 else None for i in range(32)]),
            *ROLES, "split", missing="drop",
        ),
        "some row has no missing entry; got missing ones in each of 32 rows; leave out columns "
        "that are mostly empty",
    ),
    "a mixture": (
        lambda: read_table(FRAME, *ROLES, "split", missing="guess"),
        "missing is \"refuse\", \"drop\" or \"value\"; got 'guess'; choose one of them",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_one_sentence(name):
    call, sentence = REFUSED[name]
    with pytest.raises(InputError) as error:
        call()
    assert str(error.value).startswith(sentence)
    assert str(error.value).count(";") >= 2


def test_categories_of_two_kinds_are_joined():
    parts = in_two()
    kinds = {
        name: part.assign(shape=part["shape"].astype("category")) for name, part in parts.items()
    }
    numbers = parts["test"].assign(shape=pd.Categorical(np.arange(len(parts["test"]))))
    assert read_table(kinds, *ROLES).values[0] == ("s0", "s1", "s2", "s3")
    assert len(read_table({**kinds, "test": numbers}, *ROLES).values[0]) == 4 + len(numbers)


def test_files_that_are_no_tables(tmp_path):
    path = written(tmp_path, "e.jsonl", "\n")
    with pytest.raises(InputError, match=r"the table has rows; got nothing in 'e.jsonl'"):
        read_table(path, *ROLES, "split")
    parts = in_two()
    mixed = {
        "train": written(tmp_path, "train.csv", parts["train"].to_csv(index=False)),
        "test": parts["test"],
    }
    with pytest.raises(InputError, match="are all text files, or none is; got some of both"):
        read_table(mixed, *ROLES)


AGES = pd.DataFrame({
    "age": [20, 21, 22, 30, 31, 31, 44, 50, 60, 61, 70, 80],
    "sex": list("mfmfmfmfmfmf"),
    "pay": np.arange(12.0) % 5,
    "split": ["train"] * 9 + ["test"] * 3,
})  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "frame"])
def test_numbers_in_bins(tmp_path, form):
    path = written(tmp_path, "t.csv", AGES.to_csv(index=False))
    table = path if form == "csv" else AGES
    given = read_table(table, ["age", "sex"], "pay", "split", bins={"age": 3})
    assert given.values[0] == ("20 to 30", "31 to 50", "60 to 80")
    assert np.bincount(given.components[:, 0]).tolist() == [4, 4, 4]
    assert "The numbers of 'age' are in 3 bins." in given.remarks
    expected = pd.qcut(AGES["age"], 3, labels=False)
    np.testing.assert_array_equal(given.components[:, 0], expected)


def test_equal_numbers_share_a_bin():
    frame = AGES.assign(age=[1] * 8 + [2, 3, 4, 5])
    given = read_table(frame, ["age", "sex"], "pay", "split", bins={"age": 4})
    assert given.values[0] == ("1", "2", "3 to 5")


@pytest.mark.parametrize("missing", ["drop", "value"])
def test_bins_leave_missing_numbers_missing(missing):
    frame = AGES.assign(age=AGES["age"].astype(float).where(AGES.index != 4))
    given = read_table(frame, ["age", "sex"], "pay", "split", bins={"age": 2}, missing=missing)
    if missing == "drop":
        assert given.split[4] == -1
        assert given.values[0] == ("20 to 44", "50 to 80")
    else:
        assert given.values[0][given.components[4, 0]] == "(missing)"


@pytest.mark.parametrize(
    ("bins", "sentence"),
    [
        ({"agee": 3}, "bins are of components; got 'agee', components are 'age', 'sex'; did you"),
        ({"age": 1}, "the number of bins is a whole number from 2 to 1,000; got 1 for 'age'; pass"),
        ({"age": True}, "bins['age'] is a whole number; got True; pass one whole number"),
        ({"sex": 3}, "every component in bins is a real number; got 'm' in 'sex', row 0"),
    ],
)
def test_bins_that_are_none(bins, sentence):
    with pytest.raises(InputError) as error:
        read_table(AGES, ["age", "sex"], "pay", "split", bins=bins)
    assert str(error.value).startswith(sentence)


def test_bins_of_the_command(tmp_path, capsys):
    path = written(tmp_path, "t.csv", AGES.to_csv(index=False))
    roles = ["--components", "age", "sex", "--target", "pay", "--split", "split", "--add", "0"]
    main(["audit", str(path), *roles, "--bins", "age=3"])
    assert "age (3)" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["audit", str(path), *roles, "--bins", "age"])
    assert ended.value.code == 2
    assert "bins are a component and a number, such as age=10; got 'age'" in capsys.readouterr().err


def test_a_component_may_be_the_target():
    report = audit_split(FRAME, ["shape", "colour"], "shape", "split", add=0)
    assert report.verdict == "supported"
    assert report.determined == 1.0
    assert report.table.labels == ("s0", "s1", "s2", "s3")


def test_many_numbers_as_values_are_pointed_out(tmp_path):
    frame = pd.DataFrame({
        "age": np.repeat(np.arange(18, 40), 2), "sex": ["m", "f"] * 22, "pay": np.arange(44.0),
        "split": ["train"] * 40 + ["test"] * 4,
    })  # fmt: skip
    remark = (
        "age has 22 numbers as values, which have nothing in common; if they are quantities, bins "
        "put them in groups (--bins age=10), and learners to which near ones are alike are "
        "predicted with --ordered age."
    )
    assert remark in read_table(frame, ["age", "sex"], "pay", "split").remarks
    # Also where some are missing: these have no place in an order, but bins leave them apart.
    remark = remark.split(", and learners")[0] + "."
    gaps = frame.assign(age=frame["age"].astype("Int64").mask(frame["age"] == 20))
    gaps.to_csv(tmp_path / "t.csv", index=False)
    roles = (["age", "sex"], "pay", "split")
    for table in (gaps, gaps.astype({"age": float}), tmp_path / "t.csv"):
        read = read_table(table, *roles, missing="value")
        assert remark.replace("22", "21") in read.remarks
        in_bins = read_table(table, *roles, missing="value", bins={"age": 4})
        assert not any("numbers as values" in text for text in in_bins.remarks)
        assert len(in_bins.values[0]) == 5
    for other in (
        read_table(frame, ["age", "sex"], "pay", "split", bins={"age": 4}),
        read_table(frame[frame["age"] > 30], ["age", "sex"], "pay", "split"),
        read_table(
            frame.assign(age="a" + frame["age"].astype(str)), ["age", "sex"], "pay", "split"
        ),
    ):
        assert not any("numbers as values" in text for text in other.remarks)


def test_without_a_target_the_report_says_what_training_determines(tmp_path):
    grid = [(a, b, c) for a in "pqr" for b in "xyz" for c in "kl"]
    frame = pd.DataFrame(grid, columns=["a", "b", "c"])
    frame["split"] = ["test" if row[:2] == ("p", "x") else "train" for row in grid]
    report = audit_split(frame, ["a", "b", "c"], split="split")
    assert report.headline == (
        "Supported if parts add up (order 1). Not if pairs interact (order 2): training lacks "
        "(a = p, b = x)"
    )
    frame["y"] = np.arange(18.0)
    asked = audit_split(frame, ["a", "b", "c"], "y", "split")
    for mine, theirs in zip(report.evidence[0].ladder, asked.evidence[0].ladder, strict=True):
        assert (mine.determined, mine.lacking) == (theirs.determined, theirs.lacking)
    assert report.findings == ()
    assert report.evidence[0].prediction is None
    assert report.evidence[0].is_better_than_guesses is not None
    assert report.rows_to_frame().columns.tolist() == [
        "row", "split", "a", "b", "c", "status", "why", "help"
    ]  # fmt: skip
    for text in (report.to_text(), report.to_html()):
        assert "Predicted" not in text.split("Rules and settings")[0]
    assert json.loads(report.to_json())["target"] == []
    frame.drop(columns="y").to_csv(tmp_path / "t.csv", index=False)
    main(f"audit {tmp_path / 't.csv'} --components a b c --split split".split())


@pytest.mark.parametrize(
    ("labels", "solvable"), [("pairs", True), ("largest", True), ("parity", False)]
)
def test_many_labels_are_hashed(monkeypatch, labels, solvable):
    """Whether they can be answered does not depend on how many there are."""
    grid = [(a, b, c) for a in range(3) for b in range(3) for c in range(3)]
    frame = pd.DataFrame(grid, columns=["a", "b", "c"])
    frame["split"] = ["test" if c == 2 and max(a, b) < 2 else "train" for a, b, c in grid]
    # Of all three components no sum of pairs is an indicator, but the largest output can be right.
    words = {"pairs": "{0}{1}", "largest": "{0}{1}{2}", "parity": "{3}"}[labels]
    of_test = [words.format(a, b, c, (a + b) % 2) for a, b, c in grid]
    frame["y"] = np.where(frame["split"] == "test", of_test, [f"{a}{b}" for a, b, _ in grid])
    order = 1 if labels == "parity" else 2
    plain = audit_split(frame, ["a", "b", "c"], "y", "split", require_order=order, add=0)
    monkeypatch.setattr("partwhole.audit.reading.targets.MOST_LABELS", 5)
    report = audit_split(frame, ["a", "b", "c"], "y", "split", require_order=order, add=0)
    assert report.solvable is plain.solvable is solvable
    assert report.table.labels is None
    assert report.table.target == ("y",)
    assert report.table.targets.shape[1] == 8
    assert report.evidence[0].prediction is None
    assert not {item.rule for item in report.findings} & {"shortcut", "no-better-than-constant"}
    assert "too many for one output each: each is hashed to 8 numbers" in report.to_text().replace(
        "\n    ", " "
    )
    assert {*(report.table.hashed or ())} == {*frame["y"]}
    # The numbers depend on the label's text alone.
    again = audit_split(frame.iloc[::-1], ["a", "b", "c"], "y", "split", require_order=order, add=0)
    np.testing.assert_array_equal(again.table.targets[::-1], report.table.targets)


def test_random_combinations_do_not_depend_on_the_order_of_columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 5, (60, 3)), columns=["a", "b", "c"])
    frame["y"] = rng.normal(size=60)
    tests = []
    for names in (["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]):
        report = audit_split(frame, names, "y", HoldOut("combinations", 0.3, seed=4), add=0)
        tests.append(np.flatnonzero(report.table.split == 1).tolist())
    assert tests[0] == tests[1] == tests[2]
