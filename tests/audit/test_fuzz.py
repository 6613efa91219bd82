"""Tables of any making end in an audit or in one sentence, never in a traceback."""

from __future__ import annotations

import csv
import datetime
import json
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
from audit_tables import read_table
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.audit import audit_split
from partwhole.audit.case import AuditTable
from partwhole.audit.reading.splits import HoldOut

TIMES = st.one_of(
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.datetimes(timezones=st.just(datetime.UTC)),
)
ODD = st.one_of(
    st.none(),
    st.just(pd.NA),
    st.just(pd.NaT),
    st.booleans(),
    st.integers(),
    st.integers(min_value=10**18, max_value=10**400),
    st.floats(),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.binary(max_size=3),
    st.text(max_size=4),
    st.text(st.characters(), max_size=2),  # lone surrogates too
    st.lists(st.integers(), max_size=2),
    st.tuples(st.integers(0, 1), st.text(max_size=1)),
    st.frozensets(st.integers(0, 2)),
    TIMES,
    st.sampled_from(["", " ", "nan", "inf", "1e999", "-0", "01", "1_0", "<b>&\"'", "\x00", "\n"]),
    st.sampled_from([Decimal("sNaN"), Decimal("Infinity"), Fraction(1, 3), np.float32(0.1)]),
)
KINDS = [
    st.sampled_from("pqr"),
    st.sampled_from(["01", "1", "1.0", "é", "</script>", "a,b", 'say "x"', "two\nlines"]),
    st.integers(0, 2),
    st.booleans(),
    st.floats(-1e3, 1e3, allow_subnormal=False),
    st.sampled_from([10**30, 10**30 + 1, 0]),
    st.sampled_from(["train", "test"]),
    TIMES,
]
DTYPES = [None, object, "category", "string", "Int64", "float32", "boolean"]


@st.composite
def tables(draw):
    """Draw a table and the arguments it is read with; many are as they should be."""
    n = draw(st.sampled_from([0, 1, 2, *[12] * 20]))
    names, columns = ["a", "b", "c", "y", "s", "w"], {}
    good = {
        "a": st.sampled_from("pqr"),
        "b": st.integers(0, 2),
        "c": st.sampled_from("uv"),
        "y": draw(st.sampled_from([st.floats(-9, 9), st.sampled_from(["no", "yes"])])),
        "s": st.sampled_from(["train", "train", "test"]),
        "w": st.floats(0.5, 2.0),
    }
    spoilt = draw(st.sampled_from([(), *names, *names, ("a", "y"), ("b", "s"), ("c", "w")]))
    for name in names:
        cells = draw(st.sampled_from([*KINDS, ODD])) if name in spoilt else good[name]
        entries = draw(st.lists(cells, min_size=n, max_size=n))
        if name in spoilt and n and draw(st.booleans()):
            entries[draw(st.integers(0, n - 1))] = draw(ODD)
        columns[name] = entries
    if "s" not in spoilt and n >= 2:
        columns["s"][:2] = ["train", "test"]
    arguments = {
        "components": draw(st.sampled_from([["a", "b"], ["a", "b", "c"]])),
        "target": "y",
        "split": draw(st.sampled_from(["s", "s", HoldOut(), HoldOut("rows", 0.5, 3)])),
        "target_kind": draw(st.sampled_from(["auto", "auto", "auto", "labels", "numbers"])),
        "weights": draw(st.sampled_from([None, "w"])),
    }
    flaws = [{"components": ["a"]}, {"target": "a"}, {"split": "z"}, {"duplicates": "refuse"}]
    arguments |= draw(st.sampled_from([*[{}] * 20, *flaws]))
    twice = draw(st.sampled_from([*[None] * 12, "a", "w"]))
    dtypes = {name: draw(st.sampled_from(DTYPES)) for name in spoilt}
    return columns, twice, dtypes, arguments


def as_frame(columns, twice, dtypes):
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    for name in columns:
        try:
            dtype = dtypes.get(name)
            given = frame[name]
            frame[name] = given.infer_objects() if dtype is None else given.astype(dtype)
        except (TypeError, ValueError, ArithmeticError, RuntimeWarning, DeprecationWarning):
            pass  # pandas itself does not hold these cells so
    return frame if twice is None else pd.concat([frame, frame[[twice]]], axis=1)


def as_file(path, columns, twice):
    names = [*columns, *([] if twice is None else [twice])]
    with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
        write = csv.writer(file)
        write.writerow(names)
        write.writerows(zip(*(columns[name] for name in names), strict=True))
    return path


def ends_well(act, count):
    """Run, counting what was accepted and each sentence's rule; a sentence has three parts."""
    try:
        act()
        count["accepted"] += 1
    except InputError as error:
        text = str(error)
        assert "; got " in text
        assert "Traceback" not in text
        count[text.partition(";")[0]] += 1


def test_any_table_is_read_or_refused_in_a_sentence(tmp_path):
    count: Counter[str] = Counter()

    def one(drawn, in_a_file):
        columns, twice, dtypes, arguments = drawn
        table = as_file(tmp_path / "t.csv", columns, twice) if in_a_file else None
        table = as_frame(columns, twice, dtypes) if table is None else table
        found = read_table(table, **arguments)
        assert isinstance(found, AuditTable)
        n = len(columns["a"])
        assert len(found.components) == len(found.targets) == len(found.split) == n
        assert np.isfinite(found.targets).all()
        assert {0, 1} <= set(found.split.tolist())
        for column, cells, values in zip(
            found.components.T, map(columns.get, found.names), found.values, strict=True
        ):
            assert column.min() >= 0
            if in_a_file:
                # What the csv module writes, and it writes None as an empty cell.
                assert [values[i] for i in column] == [str(cell) for cell in cells]

    # About a third of the tables are accepted; draws depend on which modules are loaded.
    @settings(max_examples=200)
    @given(tables(), st.booleans())
    def run(drawn, in_a_file):
        ends_well(lambda: one(drawn, in_a_file), count)

    run()
    # The fuzz is worth its time only if it reaches both ends.
    assert count["accepted"] > 50
    assert len(count) > 15


def test_any_table_is_audited_or_refused_in_a_sentence(tmp_path):
    count: Counter[str] = Counter()

    def one(drawn, in_a_file):
        columns, twice, dtypes, arguments = drawn
        table = as_file(tmp_path / "t.csv", columns, twice) if in_a_file else None
        table = as_frame(columns, twice, dtypes) if table is None else table
        report = audit_split(table, **arguments, add=1, time_limit=1.0)
        assert report.verdict in ("supported", "unsupported")
        json.loads(report.to_json())
        page = report.to_html()
        assert page.count("</html>") == 1
        assert all((report.to_text(), report.to_sarif(), report.to_junit()))
        assert len(report.to_frame()) == len(report.findings)
        page.encode()

    @settings(max_examples=30)
    @given(tables(), st.booleans())
    def run(drawn, in_a_file):
        ends_well(lambda: one(drawn, in_a_file), count)

    run()
    assert count["accepted"] > 2
