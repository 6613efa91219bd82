"""Cells with several values, and columns that share a vocabulary, against explicit indicators."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from audit_tables import read_table

from partwhole._checks import InputError
from partwhole.audit import audit_split
from partwhole.audit.headline import headline
from partwhole.audit.reading.table import read_tables
from partwhole.limits.proofs.determination import determination

RNG = np.random.default_rng(0)
ATTRIBUTES = ("red", "wet", "old")
HAS = RNG.random((40, 3)) < 0.5
ITEMS = [[name for name, has in zip(ATTRIBUTES, row, strict=True) if has] for row in HAS]
FRAME = pd.DataFrame({
    "noun": RNG.choice(["cup", "jug", "pan"], 40),
    "y": HAS @ np.array([1.0, 2.0, 4.0]),
    "split": np.where(np.arange(40) < 25, "train", "test"),
})  # fmt: skip
FLAGS = FRAME.assign(**{
    name: np.where(column, "yes", "no") for name, column in zip(ATTRIBUTES, HAS.T, strict=True)
})  # fmt: skip
VERBS = ["walk", "run", "jump", "look"]


def in_lines(folder):
    path = folder / "table.jsonl"
    rows = [row | {"at": at} for row, at in zip(FRAME.to_dict("records"), ITEMS, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def in_text(mark):
    def write(folder):
        path = folder / "table.csv"
        FRAME.assign(at=[mark.join(items) for items in ITEMS]).to_csv(path, index=False)
        return path

    return write


FORMS = {
    "lists": lambda _: FRAME.assign(at=ITEMS),
    "tuples": lambda _: FRAME.assign(at=[tuple(items) for items in ITEMS]),
    "arrays": lambda _: FRAME.assign(at=[np.array(items, dtype=object) for items in ITEMS]),
    "missing where there is none": lambda _: FRAME.assign(at=[items or None for items in ITEMS]),
    "JSON Lines": in_lines,
    "bars": in_text("|"),
    "semicolons": in_text(" ; "),
    "commas": in_text(","),
    "spaces": in_text(" "),
}


@pytest.mark.parametrize("form", FORMS)
def test_cells_with_several_values_are_a_column_of_yes_and_no_for_each(form, tmp_path):
    listed = audit_split(FORMS[form](tmp_path), ["noun", "at"], "y", "split", multi_hot=["at"])
    flags = audit_split(FLAGS, ["noun", *sorted(ATTRIBUTES)], "y", "split")
    assert listed.table.names == ("noun", *(f"at: {name}" for name in sorted(ATTRIBUTES)))
    for c, name in enumerate(sorted(ATTRIBUTES), start=1):
        values = np.array(listed.table.values[c])[listed.table.components[:, c]]
        words = np.where(FLAGS[name] == "yes", name, f"no {name}")
        np.testing.assert_array_equal(values, words)
    assert (listed.verdict, listed.solvable) == (flags.verdict, flags.solvable)


def test_one_column_of_several_values_is_enough():
    table = read_table(FRAME.assign(at=ITEMS), ["at"], "y", "split", multi_hot=["at"])
    assert table.n_components == 3


def test_a_value_in_every_row_is_left_out():
    items = [[*items, "thing"] for items in ITEMS]
    table = read_table(FRAME.assign(at=items), ["at"], "y", "split", multi_hot=["at"])
    assert "at: thing" not in table.names
    assert "Component at: thing is left out: it is the same in every row." in table.remarks


def commands(held_out):
    """Two verbs, whose target adds up what each is worth wherever it stands."""
    worth = dict(zip(VERBS, [1.0, 3.0, 10.0, 30.0], strict=True))
    rows = [(a, b, worth[a] + worth[b]) for a, b in product(VERBS, VERBS) if a != b]
    frame = pd.DataFrame(rows, columns=["first", "second", "y"])
    return frame.assign(split=["test" if held_out(a, b) else "train" for a, b, _ in rows])


def test_a_value_that_training_has_in_one_column_is_known_in_the_other():
    frame = commands(lambda _, b: b == "jump")
    roles = (["first", "second"], "y", "split")
    apart = audit_split(frame, *roles)
    assert (apart.verdict, apart.determined) == ("unsupported", 0.0)
    shared = audit_split(frame, *roles, tied=[["first", "second"]])
    assert {*shared.table.values[0]} == {"no jump", "jump"}
    # Where a word stands does not count: "run jump" is "jump run", which training has.
    assert len(shared.evidence[0].case.held_out) == 0
    frame = commands(lambda a, b: {a, b} == {"jump", "look"})
    shared = audit_split(frame, *roles, tied=[["first", "second"]])
    assert (shared.verdict, shared.determined) == ("supported", 1.0)
    (evidence,) = shared.evidence
    derivation = evidence.determination.derivation(0)
    task = evidence.case.task
    assert derivation.weights @ task.targets[derivation.rows] == pytest.approx(40.0, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_shared_values_are_determined_as_ranks_of_indicators_of_counts_say(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.choice(list("abcde"), (30, 3)), columns=["p", "q", "r"])
    frame["y"] = rng.normal(size=30)
    frame["split"] = np.where(rng.random(30) < 0.4, "train", "test")
    report = audit_split(frame, ["p", "q", "r"], "y", "split", tied=[["p", "q", "r"]], add=0)
    counts = np.array(
        [[list(row).count(v) for v in "abcde"] for row in frame[["p", "q", "r"]].values]
    )
    one_hot = (counts[:, :, None] == np.arange(4)).reshape(30, -1).astype(float)
    train = one_hot[(frame["split"] == "train").to_numpy()]
    rank = np.linalg.matrix_rank(train)
    answers = report.rows_to_frame().set_index("row")["status"]
    for row, status in answers.items():
        same = np.linalg.matrix_rank(np.vstack([train, one_hot[row]])) == rank
        assert (status in ("seen", "determined")) == same


def rank(rows):
    """Rank of whole numbers by elimination in fractions."""
    rows = [[Fraction(int(x)) for x in row] for row in rows]
    n_pivots = 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(n_pivots, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[n_pivots], rows[pivot] = rows[pivot], rows[n_pivots]
        for i in range(n_pivots + 1, len(rows)):
            factor = rows[i][column] / rows[n_pivots][column]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[n_pivots], strict=True)]
        n_pivots += 1
    return n_pivots


@pytest.mark.parametrize("seed", range(6))
def test_sums_of_shared_embeddings_are_determined_as_exact_ranks_of_counts_say(seed):
    rng = np.random.default_rng(seed)
    n_columns = 2 + seed % 2
    columns = ["p", "q", "r"][:n_columns]
    # In every third table v occurs only beside u, so that one of the two is left out.
    words = rng.choice(list("abcde"), (24, n_columns))
    if seed % 3 == 0:
        words[:4, :2], words[4, :2] = ["u", "v"], ["u", "u"]
    frame = pd.DataFrame(words, columns=columns)
    frame["place"] = rng.choice(["in", "on"], 24)
    frame["y"] = rng.normal(size=24)
    frame["split"] = np.where((np.arange(24) < 5) | (rng.random(24) < 0.4), "train", "test")
    (table,) = read_tables(frame, [*columns, "place"], "y", "split", tied=[columns])
    case = table.case(1, 1)
    counts = np.array([[list(row).count(v) for v in "abcdeuv"] for row in frame[columns].values])
    place = (frame["place"] == "in").to_numpy()[:, None]
    terms = np.hstack([np.ones((24, 1), dtype=int), counts, place])
    train = terms[(frame["split"] == "train").to_numpy()]
    held_out = [np.flatnonzero(case.row_combination == c)[0] for c in case.held_out]
    expected = [rank([*train, terms[row]]) == rank(train) for row in held_out]
    assert case.determined_by_counts.tolist() == expected
    # What is determined with a value for every count is so where twice is two times once.
    assert case.determined_by_counts[determination(case.task, max_order=1).determined].all()


def test_twice_is_two_times_once_for_learners_that_add_up_embeddings():
    worth = dict(zip(VERBS, [1.0, 3.0, 10.0, 30.0], strict=True))
    rows = [(a, b, worth[a] + worth[b]) for a, b in product(VERBS, VERBS)]
    frame = pd.DataFrame(rows, columns=["first", "second", "y"])
    frame["split"] = np.where(frame["first"] == frame["second"], "test", "train")
    report = audit_split(frame, ["first", "second"], "y", "split", tied=[["first", "second"]])
    messages = {finding.rule: finding.message for finding in report.errors}
    assert (report.verdict, len(report.errors)) == ("unsupported", 2)
    assert messages["unseen-value"] == (
        "2 x jump, 2 x look, 2 x run, 2 x walk: these occur in 4 held-out combinations of test (4 "
        "rows) but in no training row, so training cannot show what a value contributes that "
        "stands in several of the columns. Add such rows to training, or remove them from test. If "
        "your learner adds up one embedding for each value, twice is two times once: training then "
        "determines 4 of these combinations. The finding does not apply to it; silence the rule "
        "with that reason."
    )
    assert messages["not-determined"].endswith(
        "If your learner adds up one embedding for each value, so that twice is two times once, "
        "training determines 4 of these 4 as well."
    )
    # Two pairs of values that never meet leave each value open: walk + run is known, not walk.
    apart = frame[frame["first"].isin(["walk", "run"]) == frame["second"].isin(["walk", "run"])]
    report = audit_split(apart, ["first", "second"], "y", "split", tied=[["first", "second"]])
    assert not any("embedding" in finding.message for finding in report.errors)


REFUSED = {
    "no component": ({"multi_hot": ["y"]}, "are components; got 'y', components are 'noun', 'at'"),
    "named twice": ({"multi_hot": ["at"], "tied": [["at", "noun"]]}, "once; got 'at' twice"),
    "apart": (
        {"tied": [["noun", "at"]]},
        "columns of a shared vocabulary have values in common; got none of 'noun' in 'at'; leave",
    ),
    "alone": ({"tied": [["at"]]}, "that of two or more components; got 'at'; name the others too"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_bad_columns_are_refused_in_a_sentence(kind):
    options, sentence = REFUSED[kind]
    with pytest.raises(InputError, match=sentence):
        read_table(FRAME.assign(at="red"), ["noun", "at"], "y", "split", **options)


def test_too_many_values_are_refused():
    many = FRAME.assign(at=[[f"v{5 * i + j}" for j in range(5)] for i in range(40)])
    with pytest.raises(InputError, match="at most 100 distinct ones; got more in 'at'"):
        read_table(many, ["noun", "at"], "y", "split", multi_hot=["at"])
    with pytest.raises(InputError, match="at least two components; got 0, of columns with several"):
        read_table(FRAME.assign(at=None), ["at"], "y", "split", multi_hot=["at"])


def test_yes_and_no_are_named_in_the_headline():
    frame = FLAGS.assign(
        y=HAS @ [1.0, 2.0, 0.0], split=np.where(HAS[:, 0] & HAS[:, 1], "test", "train")
    )
    sentences = headline(audit_split(frame, ["noun", "red", "wet"], "y", "split", add=0))
    assert any("(red = yes, wet = yes)" in sentence for sentence in sentences)
