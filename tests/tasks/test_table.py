"""Tables as tasks: what each type of column means, and the sentences of errors."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import pytest

from partwhole import tasks
from partwhole._checks import InputError


def table(**columns):
    """Return two components, a target and a split over four rows, with columns replaced."""
    given = {"a": list("ppqq"), "b": list("rsrs"), "y": [0.0, 1.0, 2.0, 3.0], "s": ["train"] * 4}
    return pd.DataFrame({**given, **columns})


def read(frame, **options):
    return tasks.from_frame(frame, ["a", "b"], "y", "s", **options)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ([0, 1, 1, 0], [0, 1, 1, 0]),
        (pd.Series([0, 1, 1, 0], dtype=object), [0, 1, 1, 0]),
        (pd.Series([0.5, 2, 1, 0], dtype=object), [0.5, 2, 1, 0]),
        (pd.Series([0, 1, 1, 0], dtype="Int64"), [0, 1, 1, 0]),
        ([Decimal("0.5"), Decimal(2), Decimal(1), Decimal(0)], [0.5, 2, 1, 0]),
        ([Decimal("0.5"), 2, 1.25, Fraction(1, 4)], [0.5, 2, 1.25, 0.25]),
        (["0", "1", "1", "0"], [-1, 1, 1, -1]),
        ([False, True, True, False], [-1, 1, 1, -1]),
        (pd.Series([False, True, True, False], dtype=object), [-1, 1, 1, -1]),
        (pd.Series([False, True, True, False], dtype="boolean"), [-1, 1, 1, -1]),
        (pd.Categorical(["no", "yes", "yes", "no"], categories=["yes", "no"]), [1, -1, -1, 1]),
        (pd.Categorical([0, 1, 1, 0]), [-1, 1, 1, -1]),
    ],
    ids=[
        "0 and 1", "objects", "mixed objects", "nullable", "decimal", "mixed numbers", "text",
        "boolean", "boolean objects", "nullable boolean", "categories", "number categories",
    ],
)  # fmt: skip
def test_numbers_stay_numbers_and_labels_become_signs(target, expected):
    found = read(table(y=target)).targets
    assert found.dtype == float
    assert found.tolist() == expected


def test_object_numbers_are_sorted_as_numbers():
    task = read(table(a=pd.Series([10, 9, 10, 9], dtype=object)))
    assert task.values[0] == (9, 10)
    assert read(table(a=[(1, 2), (0, 1), (1, 2), (0, 1)])).n_values == (2, 2)


@pytest.mark.parametrize(
    ("split", "options", "expected"),
    [
        (["train", "test", "val", "train"], {}, [True, False, False, True]),
        (["train", "test", "val", "train"], {"train": "val"}, [False, False, True, False]),
        ([True, False, False, True], {}, [True, False, False, True]),
        (pd.Series([True, False, False, True], dtype=object), {}, [True, False, False, True]),
        (pd.Series([True, False, False, True], dtype="boolean"), {}, [True, False, False, True]),
        ([True, False, False, True], {"train": False}, [False, True, True, False]),
        (pd.Series([0, 1, 1, 0], dtype=object), {"train": 0}, [True, False, False, True]),
    ],
    ids=["text", "named", "boolean", "objects", "nullable", "turned", "numbers"],
)
def test_all_that_is_not_train_is_held_out(split, options, expected):
    assert read(table(s=split), **options).is_train.tolist() == expected


TIME = "targets are real numbers or labels; got {} in 'y'; convert them to numbers, or to text "
DAYS = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"])


@pytest.mark.parametrize(
    ("target", "got"),
    [
        (DAYS, "times"),
        (DAYS.tz_localize("UTC"), "times"),
        (DAYS - DAYS[0], "times"),
        (DAYS.to_period("D"), "times"),
        ([date(2020, 1, day) for day in (1, 2, 3, 4)], "times"),
        ([1j, 2, 3, 4], "complex numbers"),
        (pd.Series([1j, 2j, 3j, 4j], dtype=object), "complex numbers"),
    ],
    ids=["days", "zoned", "spans", "periods", "dates", "complex", "complex objects"],
)
def test_targets_that_are_neither_numbers_nor_labels_are_refused(target, got):
    with pytest.raises(InputError) as caught:
        read(table(y=target))
    assert str(caught.value) == TIME.format(got) + "to use them as labels"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: tasks.from_frame(table(), ["a", "b"], "a", "s"),
            "each column has one role; got 'a' twice; components a, b, target a, split s; name "
            "it once, or copy the column under another name",
        ),
        (
            lambda: tasks.from_frame(table(), ["a", "s", "s"], "y", "s"),
            "each column has one role; got 's' 3 times; components a, s, s, target y, split s; "
            "name it once, or copy the column under another name",
        ),
        (
            lambda: tasks.from_frame(table(), "ab", "y", "s"),
            "components is a sequence, each item text; got 'ab'; pass ['ab']",
        ),
        (
            lambda: tasks.from_frame(table(), ["a"], [], "s"),
            "target must name a column; got none; name at least one",
        ),
        (
            lambda: read(table(b=[[1], [2], [1], [2]])),
            "every cell holds a single value; got a list in 'b'; spread it over columns, or turn "
            "it into text",
        ),
        (
            lambda: read(table(y=[[1.0, 0.0]] * 4)),
            "every cell holds a single value; got a list in 'y'; spread it over columns, or turn "
            "it into text",
        ),
        (
            lambda: tasks.from_frame("combinations.csv", ["a"], "y", "s"),
            "frame is a pandas table; got str; read it with pandas.read_csv first",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence
