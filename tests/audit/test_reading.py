"""What goes in: every way to give a table says the same, and each row stays in its place."""

from __future__ import annotations

import csv
import gzip
import subprocess
import sys
from collections import defaultdict
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from audit_tables import read_table
from bad_tables import CSV, frame, read

from partwhole import audit_split
from partwhole._checks import InputError
from partwhole.audit.reading.columns import in_order
from partwhole.audit.reading.source import File
from partwhole.audit.reading.splits import HoldOut


def from_csv(text, folder, name="t.csv", **options):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(path, **options)


def entries(table):
    """Return every row's component values, from their numbers."""
    return [
        tuple(values[i] for values, i in zip(table.values, row, strict=True))
        for row in table.components
    ]


AWKWARD = [
    "9" * 40,
    "01",
    "1",
    "NA",
    "None",
    "",
    " ",
    "a,b",
    'say "x"',
    "two\nlines",
    "é",
    "𝛼",
    "9" * 40,
    "\t",
]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.tsv.gz"])
def test_a_file_keeps_every_cell_as_written(name, tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        [*rng.choice(AWKWARD, 2), repr(rng.normal()), rng.choice(["train", "test", "far"])]
        for _ in range(200)
    ]
    path = tmp_path / name
    with (gzip.open if name.endswith("gz") else open)(path, "wt", newline="") as file:
        # The quoted empty text is a value; only an empty cell is missing.
        write = csv.writer(file, "excel-tab" if ".tsv" in name else "excel", quoting=csv.QUOTE_ALL)
        write.writerows([["a", "b", "y", "s"], *rows])
    found = read(path)
    assert found.source == name
    assert entries(found) == [(a, b) for a, b, _, _ in rows]
    assert found.targets[:, 0].tolist() == [float(y) for _, _, y, _ in rows]
    assert found.split_names == ("train", "far", "test")
    assert [found.split_names[i] for i in found.split] == [s for _, _, _, s in rows]


def test_a_frame_a_csv_and_a_parquet_file_of_one_content_agree(tmp_path):
    rng = np.random.default_rng(1)
    n = 300
    given = pd.DataFrame(
        {
            "a": rng.integers(-3, 12, n),
            "b": rng.choice(["v10", "v9", "v1", "w"], n),
            "unused": [[1]] * n,
            "c": rng.choice([0.5, 1.25, 10.0], n),
            "y": rng.choice(["no", "yes", "perhaps"], n),
            "w": rng.uniform(0.5, 2.0, n),
            "f": rng.normal(size=n),
            "g": rng.normal(size=n),
            "s": rng.choice(["train", "test"], n),
        }
    )
    before = given.copy(deep=True)
    given.to_parquet(tmp_path / "t.parquet")
    given.drop(columns="unused").to_csv(tmp_path / "t.csv", index=False)
    np.save(tmp_path / "f.npy", given[["f", "g"]].to_numpy())
    options = {"components": list("abc"), "weights": "w", "features": ["f", "g"]}
    first = read(given, **options)
    others = [
        read(tmp_path / "t.parquet", **options),
        read(str(tmp_path / "t.csv"), **options),
        read(given, **{**options, "features": tmp_path / "f.npy"}),
        read(given.sample(frac=1, random_state=0).sort_index().set_axis(range(n)), **options),
    ]
    pd.testing.assert_frame_equal(given, before)
    assert entries(first) == list(given[list("abc")].itertuples(index=False, name=None))
    assert first.labels == ("no", "perhaps", "yes")
    for other in others:
        assert [[str(v) for v in values] for values in other.values] == [
            [str(v) for v in values] for values in first.values
        ]
        for field in ("components", "targets", "label", "split", "weights", "features"):
            np.testing.assert_array_equal(getattr(other, field), getattr(first, field))
        assert other.names == ("a", "b", "c")
    np.testing.assert_array_equal(first.features, given[["f", "g"]])
    np.testing.assert_array_equal(first.weights, given["w"])


def test_text_is_in_the_order_people_expect():
    wanted = ["-2", "1.5", "9", "10", "a2", "a10", "a10b", "b", "x07y2", "x7y10"]
    shuffled = list(np.random.default_rng(0).permutation(wanted))
    assert [shuffled[i] for i in in_order(shuffled)] == wanted
    digits = "9" * 5000
    assert [len(("a" + digits, "a1")[i]) for i in in_order(["a" + digits, "a1"])] == [2, 5001]
    assert in_order([3, "b", 1]) == [2, 0, 1]
    assert in_order([(1, 2), (0, 5)]) == [1, 0]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pd.Categorical(list("qpqp"), categories=["q", "unused", "p"]), ("q", "p")),
        (pd.array([10, 9, 10, 9], dtype="Int64"), (9, 10)),
        (pd.array([2, 1, 2, 1], dtype="int8[pyarrow]"), (1, 2)),
        (pd.arrays.SparseArray([0, 1, 0, 1]), (0, 1)),
        ([True, False, True, False], (False, True)),
        ([Decimal("10"), Decimal("9.5")] * 2, (Decimal("9.5"), Decimal("10"))),
        ([date(2020, 2, 1), date(2020, 1, 1)] * 2, (date(2020, 1, 1), date(2020, 2, 1))),
        (
            pd.to_datetime(["2020-02-01", "2020-01-01"] * 2),
            (pd.Timestamp("2020-01-01"), pd.Timestamp("2020-02-01")),
        ),
        (pd.Series([10**30, 9] * 2, dtype=object), (9, 10**30)),
        (pd.Series([2, "x"] * 2, dtype=object), (2, "x")),
        (pd.Series([(1, 2), (0, 1)] * 2, dtype=object), ((0, 1), (1, 2))),
        (pd.Series([1j, 2j] * 2, dtype=object), (1j, 2j)),
    ],
    ids=[
        "categories", "nullable", "arrow", "sparse", "booleans", "decimals", "dates", "times",
        "huge integers", "mixed", "tuples", "complex",
    ],
)  # fmt: skip
def test_any_single_value_may_be_a_component(column, values):
    given = frame(b=list("rrss"))
    given["a"] = column
    found = read(given)
    assert found.values[0] == values
    assert [a for a, _ in entries(found)] == list(given["a"])


@pytest.mark.parametrize(
    ("target", "kind", "labels", "targets"),
    [
        ([0, 1, 1, 0], "auto", None, [0, 1, 1, 0]),
        ([0, 1, 1, 0], "labels", (0, 1), [-1, 1, 1, -1]),
        (["0", "1", "1", "0"], "auto", ("0", "1"), [-1, 1, 1, -1]),
        (["0", "1", "1", "0"], "numbers", None, [0, 1, 1, 0]),
        ([False, True, True, False], "auto", (False, True), [-1, 1, 1, -1]),
        ([False, True, True, False], "numbers", None, [0, 1, 1, 0]),
        (pd.array([0, 1, 1, 0], dtype="Int64"), "auto", None, [0, 1, 1, 0]),
        (pd.Categorical(list("nyyn"), categories=["y", "n"]), "auto", ("y", "n"), [1, -1, -1, 1]),
        (pd.Categorical([3, 4, 4, 3]), "auto", (3, 4), [-1, 1, 1, -1]),
        (pd.Categorical([3, 4, 4, 3]), "numbers", None, [3, 4, 4, 3]),
        ([Decimal("0.5"), 2, 1.25, 0], "auto", None, [0.5, 2, 1.25, 0]),
    ],
)
def test_numbers_stay_numbers_and_labels_become_signs(target, kind, labels, targets):
    found = read(frame(y=target), target_kind=kind)
    assert found.labels == labels
    assert found.targets[:, 0].tolist() == targets
    if labels:
        assert [labels[i] for i in found.label] == list(target)
    else:
        assert found.label is None


def test_many_labels_are_one_against_the_rest():
    found = read(frame(y=list("zxyx")))
    assert found.labels == ("x", "y", "z")
    assert found.targets.tolist() == [[-1, -1, 1], [1, -1, -1], [-1, 1, -1], [1, -1, -1]]
    several = read(frame(z=[4, 3, 2, 1]), target=["y", "z"])
    assert several.targets.tolist() == [[0, 4], [1, 3], [1, 2], [2, 1]]
    assert several.target == ("y", "z")


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["0", " 1e0", "1.0", "-2"], None),
        (["no", "yes", "yes", "1 "], "refused"),
        (["no", "yes", "yes", "no"], ("no", "yes")),
        (["nan", "yes", "yes", "inf"], ("inf", "nan", "yes")),
        (["True", "True", "False", "True"], ("False", "True")),
        (["1_0", "1", "2", "3"], "refused"),
    ],
)
def test_a_file_holds_numbers_where_every_cell_reads_as_one(cells, labels, tmp_path):
    lines = [line.split(",") for line in CSV.splitlines()]
    for line, cell in zip(lines[1:], cells, strict=True):
        line[2] = cell
    text = "\n".join(map(",".join, lines))
    if labels == "refused":
        with pytest.raises(InputError, match="numbers or labels, not both"):
            from_csv(text, tmp_path)
    else:
        assert from_csv(text, tmp_path).labels == labels


def test_the_remarks_say_what_was_decided(tmp_path):
    assert read(frame()).remarks == ("Target 'y': read as numbers.",)
    assert read(frame(y=[0, 1, 1, 0])).remarks == (
        "Target 'y' has two values, 0 and 1: read as numbers; to read them as labels, set "
        "target_kind to 'labels'.",
    )
    assert read(frame(y=[0, 1, 1, 2**60])).remarks[-1] == (
        "Targets above 2^53 are rounded to 16 digits."
    )
    # Signs that cannot be seen make other values, as a space at the end does.
    for unseen in ("p\0", "\x01p", "p\u200b", "p\t"):
        pair = " and ".join(map(repr, [(unseen, "p")[i] for i in in_order([unseen, "p"])]))
        assert (
            f"Values {pair} of 'a' count as different."
            in read(frame(a=["p", "p", "q", unseen])).remarks
        )
    text = 'a,b,y,s\n1,NA,u,train\n\n01,r,v,train\n1,"",u,train\n1.0,NA,v,test\n'
    assert from_csv(text, tmp_path).remarks == (
        "Blank lines of the file were skipped; rows count the others.",
        "Values '01' and '1' of 'a' count as different (2 such pairs in all).",
        "In 'b' the text '', 'NA' is a value; only an empty cell is missing.",
        "Target 'y': read as 2 labels, 'u', 'v'.",
    )


def test_texts_that_look_missing_are_named_wherever_they_count():
    # In a table of Python an empty text is an entry, as None and NaN are those that are missing.
    ending = "; only None and NaN are missing."
    for missing in ("refuse", "drop", "value"):
        given = read(frame(a=["", "p", "q", "p"]), missing=missing)
        assert f"In 'a' the text '' is a value{ending}" in given.remarks
        given = read(frame(y=["u", " ", "v", "NA"]), missing=missing)
        assert f"In 'y' the text ' ', 'NA' is a label{ending}" in given.remarks
        given = read(frame(s=["train", "", "test", "train"]), missing=missing)
        assert f"In 's' the text '' is a test split, of 1 row{ending}" in given.remarks
    assert not any("missing" in remark for remark in read(frame()).remarks)
    # Of splits that are not audited nothing is said.
    given = read(frame(s=["train", "", "test", "train"]), test="test")
    assert not any("is a test split" in remark for remark in given.remarks)


def test_texts_that_look_missing_are_named_in_a_file(tmp_path):
    text = "a,b,y,s\n1,p,u,train\n2,q,n/a,train\n1,q,u,null\n2,p,v,null\n1,q,v,test\n"
    ending = "; only an empty cell is missing."
    remarks = from_csv(text, tmp_path).remarks
    assert f"In 'y' the text 'n/a' is a label{ending}" in remarks
    assert f"In 's' the text 'null' is a test split, of 2 rows{ending}" in remarks


@pytest.mark.parametrize("empty", [None, float("nan")])
def test_rows_without_an_entry_of_a_split_are_in_none(empty):
    given = frame()[["a", "b", "y"]]
    for kind in (list, np.array, pd.Series):
        split = ["train", "train", "test", empty]
        if kind is not list:
            split = kind(split, dtype=object)
        rule = "every row needs its entry of the split column; got 1 missing in 'split', the first"
        for missing in ("refuse", "value"):
            with pytest.raises(InputError, match=rule):
                read_table(given, ["a", "b"], "y", split, missing=missing)
        table = read_table(given, ["a", "b"], "y", split, missing="drop")
        assert table.split.tolist() == [0, 0, 1, -1]
        assert "Left out: 1 of 4 rows, which have no entry of the split." in table.remarks


def test_test_splits_are_all_others_or_those_named():
    given = frame(s=["near", "fit", "far", "near"])
    found = read(given, train="fit")
    assert found.split_names == ("fit", "far", "near")
    assert found.split.tolist() == [2, 0, 1, 2]
    one = read(given, train="fit", test="near")
    assert one.split_names == ("fit", "near")
    assert one.split.tolist() == [1, 0, -1, 1]
    assert "Left out: 1 of 4 rows, in splits that were not selected ('far')." in one.remarks
    turned = read(given, train="fit", test=["near", "far"])
    assert turned.split_names == ("fit", "near", "far")
    ordered = frame(s=pd.Categorical(["near", "fit", "far", "near"], ["near", "far", "fit"]))
    assert read(ordered, train="fit").split_names == ("fit", "near", "far")


@pytest.mark.parametrize(
    ("column", "options", "expected"),
    [
        ([True, False, False, True], {}, [0, 1, 1, 0]),
        ([True, False, False, True], {"train": False}, [1, 0, 0, 1]),
        (["true", "false", "false", "true"], {}, [0, 1, 1, 0]),
        (["TRUE", "FALSE", "FALSE", "TRUE"], {"train": False}, [1, 0, 0, 1]),
        (["True", "False", "False", "True"], {"train": "False"}, [1, 0, 0, 1]),
        (pd.array([True, False, False, True], dtype="boolean"), {}, [0, 1, 1, 0]),
        ([0, 1, 1, 2], {"train": 0}, [0, 1, 1, 2]),
        ([0, 1, 1, 2], {"train": "1", "test": 2}, [-1, 0, 0, 1]),
    ],
)
def test_training_rows_are_marked_by_true_or_by_their_entry(column, options, expected, tmp_path):
    given = frame(s=column, b=list("rsrr"))
    assert read(given, **options).split.tolist() == expected
    given.to_csv(tmp_path / "t.csv", index=False)
    assert read(tmp_path / "t.csv", **options).split.tolist() == expected


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_rule_holds_out_its_share(share, seed):
    rng = np.random.default_rng(seed)
    given = pd.DataFrame(rng.integers(0, 4, (400, 3)), columns=list("aby"))
    rows = read_table(given, ["a", "b"], "y", HoldOut("rows", share, seed))
    assert rows.split.sum() == round(share * 400)
    assert rows.split_names == ("train", "test")
    wanted = f"The test split is a random {share} of the combinations, drawn with seed {seed}."
    whole = read_table(given, ["a", "b"], "y", HoldOut(share=share, seed=seed))
    assert wanted in whole.remarks
    sides = defaultdict(set)
    for combination, side in zip(entries(whole), whole.split, strict=True):
        sides[combination].add(side)
    assert all(len(side) == 1 for side in sides.values())
    assert sum(1 in side for side in sides.values()) == round(share * len(sides))
    # A rule on combinations does not look at the order of rows.
    order = rng.permutation(400)
    again = read_table(given.iloc[order], ["a", "b"], "y", HoldOut(share=share, seed=seed))
    np.testing.assert_array_equal(again.split, whole.split[order])
    other = read_table(given, ["a", "b"], "y", HoldOut("rows", share, seed + 1))
    assert (other.split != rows.split).any()


@pytest.mark.parametrize("kind", ["numbers", "labels"])
@pytest.mark.parametrize("seed", range(3))
def test_rows_that_disagree_are_counted_in_each_part(kind, seed):
    rng = np.random.default_rng(seed)
    n = 240
    given = pd.DataFrame(rng.integers(0, 4, (n, 3)), columns=list("abc"))
    given["y"] = (given["a"] * given["b"] + (rng.random(n) < 0.2)) % 3
    given["s"] = rng.choice(["train", "near", "far", "aside"], n)
    found = read_table(given, list("abc"), "y", "s", test=["near", "far"], target_kind=kind)
    seen = defaultdict(set)
    for _, row in given.iterrows():
        seen[row["s"], row["a"], row["b"], row["c"]].add(row["y"])
    count = {
        part: sum(len(y) > 1 for key, y in seen.items() if key[0] == part)
        for part in ("train", "near", "far")
    }
    assert count["train"] > 0
    where = " and ".join(f"{n} of {part!r}" for part, n in count.items() if n)
    assert found.remarks[-1] == (
        f"Combinations whose rows have different targets: {where}; the audit uses their weighted "
        "mean."
    )


def test_rows_of_different_parts_may_disagree_where_they_are_averaged():
    given = frame(b=list("rssr"), a=list("pqpp"), y=[0, 1, 2, 5])
    assert read(given).remarks == ("Target 'y': read as numbers.",)
    # Two test splits have no say in each other.
    apart = frame(b=list("rssr"), a=list("pqpq"), y=[0, 1, 2, 5], s=["train", "train", "x", "y"])
    again = pd.concat([apart, apart.iloc[2:].assign(s=["y", "x"], y=[7, 8])], ignore_index=True)
    assert read(again, duplicates="refuse").remarks == ("Target 'y': read as numbers.",)


LINES = [
    (CSV, 2),
    (CSV.replace("\n", "\r\n"), 2),
    (CSV.replace("\n", "\r"), 2),
    (CSV.rstrip("\n"), 2),
    (CSV + "\n\n", 2),
    ("\n\n" + CSV, 4),
    (
        CSV.replace("a,b,y,s", 'a,b,y,s,"x\ny"')
        .replace("train\n", "train,1\n")
        .replace("test", "test,1"),
        3,
    ),
    (CSV.replace("q,r", "\nq,r"), None),
    (CSV.replace("q,r", '"q\n",r'), None),
    (CSV.replace("q,r", '"q\r",r'), None),
]


@pytest.mark.parametrize("text", range(len(LINES)))
def test_the_first_line_is_known_where_rows_are_lines(text, tmp_path):
    text, first = LINES[text]
    (file,) = from_csv(text, tmp_path).files
    assert file.first_line == first


def test_other_tables_have_no_lines(tmp_path):
    frame().to_parquet(tmp_path / "t.parquet")
    assert read(frame()).files == (File("", len(frame())),)
    (file,) = read(tmp_path / "t.parquet").files
    assert (file.name, file.first_line) == ("t.parquet", None)
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write(CSV)
    (file,) = read(tmp_path / "t.csv.gz").files
    assert (file.name, file.first_line) == ("t.csv.gz", None)


def test_entries_like_that_of_training_are_told():
    given = frame(s=["train", "train", "Train", "train "])
    assert read(given).remarks[0] == (
        "Entries 'Train', 'train ' of 's' (2 rows) do not mark training, which is 'train'; if they "
        "should, write them identically."
    )
    assert len(read(frame()).remarks) == 1


def test_booleans_are_told_unless_training_is_named():
    given = frame(s=[True, True, False, False])
    assert read(given).remarks[0] == (
        "s: True marks training (2 of 4 rows); if it marks the test split, pass train=False "
        "(--train False)."
    )
    for train, expected in ((True, [0, 0, 1, 1]), (False, [1, 1, 0, 0])):
        found = read(given, train=train)
        assert found.split.tolist() == expected
        assert len(found.remarks) == 1


@pytest.mark.parametrize(("n", "own", "told"), [(40, 36, True), (40, 35, False), (20, 20, False)])
def test_a_column_that_names_rows_is_told(n, own, told):
    names = [f"P{i}" for i in range(own)] + ["Q"] * (n - own)
    given = pd.DataFrame(
        {"sku": names, "b": np.arange(n) % 3, "y": np.arange(n), "s": ["train", "test"] * (n // 2)}
    )
    remark = (
        "sku has a different value in nearly every row, so it seems to identify rows rather than "
        "parts; leave it out of the components."
    )
    assert (remark in read(given, ["sku", "b"]).remarks) is told


@pytest.mark.parametrize(
    "text",
    [
        CSV.replace("\n", "\r\n"),
        CSV.replace("\n", "\r"),
        b"\xef\xbb\xbf" + CSV.encode(),
        "\n\n" + CSV + "\n\n",
        CSV.rstrip("\n"),
        CSV.replace("a,b", '"a","b"'),
        CSV.replace("q", "q" * 3_000_000),
    ],
    ids=["CRLF", "CR", "byte order mark", "blank lines", "no last end", "quotes", "long cells"],
)
def test_files_of_many_makes_read_alike(text, tmp_path):
    found = from_csv(text, tmp_path)
    assert [(a[0], b) for a, b in entries(found)] == [
        tuple(pair) for pair in ("pr", "ps", "qr", "qs")
    ]
    assert found.split.tolist() == [0, 0, 0, 1]
    assert found.targets[:, 0].tolist() == [0, 1, 1, 2]


def test_line_breaks_in_cells_may_fall_anywhere_in_a_large_file(tmp_path):
    # Three blocks of Arrow's reader, whose ends fall into cells.
    long = "line\n" * 20
    rows = [f'"{long}{i % 7}",{i % 5},{i},{"test" if i % 5 else "train"}' for i in range(30_000)]
    found = from_csv("a,b,y,s\n" + "\n".join(rows), tmp_path)
    assert [a for a, _ in entries(found)] == [long + str(i % 7) for i in range(30_000)]
    assert found.targets[:, 0].tolist() == list(range(30_000))


def test_long_entries_are_cut_in_remarks_and_sentences(tmp_path):
    text = CSV.replace("q,s", "q" * 5000 + ",s").replace("q,r", "Q" * 5000 + " ,r")
    found = from_csv(text, tmp_path)
    cut = "q" * 60 + "…"
    assert found.remarks[0] == (f"Values '{cut.upper()}' and '{cut}' of 'a' count as different.")
    with pytest.raises(InputError) as caught:
        from_csv(CSV.replace("2,test", "x" * 5000 + ",test"), tmp_path)
    assert len(str(caught.value)) < 300


def test_columns_of_a_frame_may_be_named_by_numbers():
    given = frame().set_axis([0, 1, 2, 3], axis=1)
    found = read(given, [0, "1"], target=2, split=3)
    assert read_table(frame(), frame().columns[:2], "y", "s").names == ("a", "b")
    assert found.names == ("0", "1")


def test_columns_of_features_must_differ_between_rows_in_one_at_least():
    assert read(frame(f=1, g=[1, 1, 2, 1]), features=["f", "g"]).features.shape == (4, 2)
    with pytest.raises(InputError, match="features differ between rows"):
        read(frame(f=1, g=2), features=["f", "g"])


def test_pandas_types_survive_a_parquet_file(tmp_path):
    given = frame(
        a=pd.Categorical(list("ppqq"), ["q", "p"]),
        b=[Decimal("1.5"), Decimal("10"), Decimal("1.5"), Decimal("10")],
        d=[date(2020, 1, day) for day in (2, 1, 1, 2)],
        s=[True, True, True, False],
        y=pd.array([1, 2, 3, 4], dtype="Int64"),
    )
    given.to_parquet(tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet", list("abd"))
    assert found.values == (
        ("q", "p"),
        (Decimal("1.5"), Decimal("10.0")),
        (date(2020, 1, 1), date(2020, 1, 2)),
    )
    assert entries(found) == list(given[list("abd")].itertuples(index=False, name=None))


def test_a_small_file_is_read_without_pandas(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    code = (
        "import sys; from partwhole.audit.reading.table import read_tables; "
        f"read_tables({str(tmp_path / 't.csv')!r}, ['a', 'b'], 'y', 's'); "
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_quotes_within_cells_are_no_open_quotes(tmp_path):
    path = tmp_path / "sizes.csv"
    path.write_text(
        'a,b,y,s\n5" disk,r,0,train\n"two\nlines",r,1,train\n5" disk,s,1,train\n'
        '"two\nlines","an ""s""",2,test\n6" disk,s,3,train\n'
    )
    table = read_table(path, ["a", "b"], "y", "s")
    assert table.values == (('5" disk', '6" disk', "two\nlines"), ('an "s"', "r", "s"))


def test_a_component_that_is_the_same_in_every_row_is_left_out_and_changes_no_verdict():
    rows = [(a, b, a + b, "test" if (a, b) == (2, 2) else "train") for a in range(3)
            for b in range(3)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["a", "b", "y", "split"]).assign(room="lab")
    with_room = audit_split(frame, ["a", "room", "b"], "y", "split", add=0)
    plain = audit_split(frame, ["a", "b"], "y", "split", add=0)
    remark = "Component room is left out: it is the same in every row."
    assert remark in with_room.table.remarks
    assert with_room.verdict == plain.verdict
    assert with_room.table.names == plain.table.names == ("a", "b")
