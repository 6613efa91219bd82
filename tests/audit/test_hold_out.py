"""Random combinations to hold out: which columns are named beside them changes no draw."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from audit_tables import read_table

from partwhole.audit import HoldOut, audit_split

RNG = np.random.default_rng(0)
# Two of three persons are of one group each; an item numbers the pairs of kind and place.
FRAME = pd.DataFrame({"person": RNG.integers(0, 12, 300), "kind": RNG.integers(0, 3, 300)})
FRAME["place"] = RNG.integers(0, 4, 300)
FRAME["y"] = RNG.normal(size=300)
FRAME["a group"] = np.array(list("uvw"))[FRAME["person"] % 3]
FRAME["team"] = np.array(list("lkm"))[FRAME["person"] // 4]
FRAME["an item"] = 4 * (2 - FRAME["kind"]) + FRAME["place"]
FRAME["the person"] = np.array(list("gbkalcjdifhe"))[FRAME["person"]]
PARTS = ["person", "kind", "place"]


def drawn(frame, names, **options):
    table = read_table(frame, names, "y", HoldOut("combinations", 0.3, seed=4), **options)
    return table.split.tolist()


@pytest.mark.parametrize(
    "others",
    [
        ["a group"],
        ["team"],
        ["a group", "team"],
        ["an item"],
        ["the person"],
        ["team", "an item", "the person", "a group"],
    ],
)
def test_columns_that_others_determine_change_no_draw(others):
    without = drawn(FRAME, PARTS)
    assert drawn(FRAME, [*PARTS, *others]) == without
    for names in [*permutations([*PARTS[:2], *others[:2], PARTS[2]])][::5]:
        assert drawn(FRAME, list(names)) == without


def test_rarely_repeated_combinations_are_drawn_alike():
    """A person with a single row determines everything, and yet the group changes no draw."""
    sparse = FRAME.drop_duplicates("person")
    sparse = pd.concat([sparse, FRAME.iloc[-3:]], ignore_index=True)
    assert drawn(sparse, [*PARTS, "a group"]) == drawn(sparse, PARTS)


def test_a_column_that_others_determine_changes_no_verdict():
    """The groups of persons change neither what training determines nor what it lacks."""
    rows = FRAME.drop_duplicates(PARTS).iloc[:90]
    frame = rows.assign(y=np.where(rows["person"] % 2 == rows["kind"] % 2, "no", "yes"))
    ladders = []
    for names in (PARTS, [*PARTS, "a group"], ["a group", *PARTS]):
        rule = HoldOut("combinations", 0.2, seed=0)
        report = audit_split(frame, names, "y", rule, require_order=2, add=0)
        assert report.table.names == tuple(PARTS)
        rungs = report.evidence[0].ladder
        ladders.append([(rung.determined, rung.solvable, rung.lacking) for rung in rungs])
    assert ladders[0] == ladders[1] == ladders[2]


def test_the_order_of_values_changes_no_draw():
    order = {"a group": ["w", "u", "v"]}
    names = ["a group", "kind", "place"]
    assert drawn(FRAME, names, ordered=order) == drawn(FRAME, names)


def test_rows_are_drawn_without_regard_to_columns():
    rule = HoldOut("rows", 0.3, seed=4)
    plain, grouped = (read_table(FRAME, names, "y", rule) for names in (PARTS, [*PARTS, "a group"]))
    assert plain.split.tolist() == grouped.split.tolist()
