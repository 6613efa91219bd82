"""Folds from any iterator of pairs, and masks that are not written as booleans."""

from __future__ import annotations

from itertools import repeat

import numpy as np
import pandas as pd
import pytest
from audit_tables import read_table
from sklearn.model_selection import KFold

from partwhole._checks import InputError
from partwhole.audit import audit_split
from partwhole.audit.reading.table import read_tables

ROLES = (["shape", "colour"], "y")
FRAME = pd.DataFrame({
    "shape": np.repeat(list("pqr"), 4), "colour": list("uvwx") * 3, "y": np.arange(12.0)
})  # fmt: skip
MASK = np.array([1, 1, 0, 1] * 3)
FOLDS = list(KFold(3).split(FRAME))


@pytest.mark.parametrize(
    "folds",
    [
        lambda: KFold(3).split(FRAME),
        lambda: iter(FOLDS),
        lambda: zip(*zip(*FOLDS, strict=True), strict=True),
        lambda: ([train.tolist(), test.tolist()] for train, test in FOLDS),
    ],
    ids=["generator", "iterator", "zip", "lists"],
)
def test_any_iterator_of_pairs_has_the_folds_of_an_audit(folds):
    tables = read_tables(FRAME, *ROLES, folds())
    assert [table.split_names[1] for table in tables] == ["fold 1", "fold 2", "fold 3"]
    for table, (_, test) in zip(tables, FOLDS, strict=True):
        assert np.flatnonzero(table.split == 1).tolist() == test.tolist()
    report = audit_split(FRAME, *ROLES, folds(), add=0)
    assert [item.case.name for item in report.evidence] == ["fold 1", "fold 2", "fold 3"]


def used_up():
    folds = KFold(3).split(FRAME)
    list(folds)
    return folds


OF_FOLDS = (
    "an iterator given as the split yields folds, pairs of row numbers of training and test; got "
)
OF_NUMBERS = (
    "a mask marks training rows by True, and row numbers are those of training and of test; got 12 "
    "numbers that are 0 or 1; write a mask as booleans, such as numpy.array(mask, dtype=bool), or "
    "name the entry of training with train="
)
OF_TWO = (
    "a split of two arrays has the row numbers of training and of test; got for {} a mask, which "
    "has an entry for each row; pass one mask of the training rows alone, as booleans"
)
REFUSED = {
    "nothing more": (
        used_up,
        OF_FOLDS + "one that yields nothing, or nothing more; make it anew, or pass a list",
    ),
    "entries": (
        lambda: iter(["train", "test"] * 6),
        OF_FOLDS + "one that yields entries of type str; pass a list if it has an entry for each "
        "row",
    ),
    "a single array": (
        lambda: iter((MASK == 1).tolist()),
        OF_FOLDS + "one that yields entries of type bool; pass a list if it has an entry for each "
        "row",
    ),
    "too few rows for its folds": (
        lambda: KFold(3).split(FRAME[:2]),
        OF_FOLDS + "one that fails with 'Cannot have number of splits n_splits=3 greater than the "
        "number of samples: n_samples=2.'; pass the list of its folds",
    ),
    "without end": (
        lambda: repeat(FOLDS[0]),
        "an audit has at most 50 test splits; got an iterator of more folds; pass fewer folds",
    ),
    "a mask of numbers": (lambda: MASK, OF_NUMBERS),
    "a list of numbers": (MASK.tolist, OF_NUMBERS),
    "a series of numbers": (lambda: pd.Series(MASK), OF_NUMBERS),
    "a mask of floats": (lambda: MASK.astype(float), OF_NUMBERS),
    "two masks of numbers": (lambda: (MASK, 1 - MASK), OF_TWO.format("training")),
    "two masks": (lambda: (MASK == 1, MASK == 0), OF_TWO.format("training")),
    "rows and a mask": (lambda: ([0, 1, 2], (1 - MASK).tolist()), OF_TWO.format("test")),
    "folds of masks": (lambda: iter([(MASK, 1 - MASK)] * 2), OF_TWO.format("training")),
}


@pytest.mark.parametrize(("split", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_fold_and_no_mask_is_refused(split, sentence):
    with pytest.raises(InputError) as caught:
        read_table(FRAME, *ROLES, split())
    assert str(caught.value) == sentence


def test_numbers_are_entries_where_training_is_named():
    table = read_table(FRAME, *ROLES, MASK, train=1)
    assert table.split.tolist() == (1 - MASK).tolist()
    # Two rows are rows 0 and 1.
    pair = pd.DataFrame({"shape": ["p", "q"], "colour": ["u", "v"], "y": [0.0, 1.0]})
    assert read_table(pair, *ROLES, ([1], [0])).split.tolist() == [1, 0]


def test_a_table_that_is_not_read_yet_is_refused():
    class LazyFrame:
        def collect(self):
            return FRAME

    with pytest.raises(InputError) as caught:
        read_table(LazyFrame(), *ROLES, MASK == 1)
    assert str(caught.value) == (
        "the table of an audit holds its rows; got a LazyFrame, whose rows have yet to be read; "
        "pass table.collect()"
    )
