"""Designed splits: determined by linear algebra, no smaller by search, and audited as asked."""

from __future__ import annotations

import io
import subprocess
import sys
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from partwhole import audit_split
from partwhole._checks import InputError
from partwhole.audit import design_split
from partwhole.audit.designing.trials import Trial, _in_order
from partwhole.audit.wording import percent
from partwhole.cli import main


def indicators(rows, n_values, order):
    """Return a column for each conjunction of at most so many values of the whole grid."""
    columns = []
    for size in range(order + 1):
        for chosen in combinations(range(rows.shape[1]), size):
            shape = [n_values[c] for c in chosen]
            codes = np.ravel_multi_index(tuple(rows[:, list(chosen)].T), shape) if size else 0
            columns.append(np.eye(int(np.prod(shape)))[np.broadcast_to(codes, len(rows))])
    return np.hstack(columns)


@cache
def drawn(seed):
    """Return factors and options drawn at random, and their design unless it is refused."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    factors = {name: int(v) for name, v in zip("abcd"[:n], rng.integers(2, 5, n), strict=True)}
    options = {
        "require_order": int(rng.integers(1, n)),
        "test_share": float(rng.uniform(0.05, 0.4)),
        "seed": seed,
    }
    if rng.random() < 0.4 and factors["b"] >= factors["a"]:
        share = float(rng.uniform(0.75, 0.95))
        options["shortcut"] = {"b": share}
    try:
        return factors, options, design_split(factors, **options)
    except InputError:
        return factors, options, None


@pytest.mark.parametrize("seed", range(8))
def test_training_spans_the_test_at_its_order_and_nothing_beyond(seed):
    factors, options, design = drawn(seed)
    if design is None:
        return
    n_values, order = tuple(factors.values()), options["require_order"]
    assert not {tuple(row) for row in design.train.tolist()} & {
        tuple(row) for row in design.test.tolist()
    }
    phi, tested = (indicators(rows, n_values, order) for rows in (design.train, design.test))
    rank = np.linalg.matrix_rank(phi)
    assert np.linalg.matrix_rank(np.vstack([phi, tested])) == rank
    assert np.linalg.matrix_rank(tested) <= design.lower_bound <= len(design.train)
    for i in range(len(design.test)):
        rows, weights = design.derivation(i)
        np.testing.assert_array_equal(weights @ phi[rows], tested[i])
        assert len(rows) == design.terms[i]
    beyond, above = (indicators(rows, n_values, order + 1) for rows in (design.train, design.test))
    rank = np.linalg.matrix_rank(beyond)
    for row in above:
        assert np.linalg.matrix_rank(np.vstack([beyond, row])) == rank + 1


def test_no_smaller_training_set_determines_as_many_as_the_bound_says():
    """All subsets are tried, on a grid of 3 x 3 with two combinations held out."""
    design = design_split({"a": 3, "b": 3}, test_share=0.25, seed=1)
    grid = np.stack(np.unravel_index(np.arange(9), (3, 3)), axis=1)
    tested = indicators(design.test, (3, 3), 1)
    held_out = {tuple(row) for row in design.test.tolist()}
    others = np.array([row for row in grid.tolist() if tuple(row) not in held_out])
    smallest = None
    for size in range(1, len(others) + 1):
        for chosen in combinations(range(len(others)), size):
            phi = indicators(others[list(chosen)], (3, 3), 1)
            if np.linalg.matrix_rank(np.vstack([phi, tested])) == np.linalg.matrix_rank(phi):
                smallest = size
                break
        if smallest:
            break
    assert design.lower_bound <= smallest <= len(design.train)


def test_all_free_combinations_are_needed_where_they_are_as_many_as_dimensions():
    design = design_split({"a": 3, "b": 4}, test_share=0.5, seed=0)
    assert len(design.train) == design.lower_bound == 6
    assert "No training set is smaller." in design.describe()


@pytest.mark.parametrize("seed", range(8))
def test_the_audit_finds_what_was_designed(seed):
    factors, options, design = drawn(seed)
    if design is None:
        return
    order, frame = options["require_order"], design.to_frame()
    report = audit_split(frame, list(factors), "target", "split", require_order=order, add=0)
    assert report.verdict == "supported"
    assert report.table.n_components == len(factors)
    rungs = {rung.order: rung for rung in report.evidence[0].ladder}
    assert rungs[order].share == 1.0
    if order + 1 in rungs:
        assert rungs[order + 1].determined == 0
    if "shortcut" in options:
        train = frame[frame["split"] == "train"]
        with_target = train["b"].str[2:].astype(int) % factors["a"] == train["target"].str[
            2:
        ].astype(int)
        for _, share in with_target.groupby(train["target"]).mean().items():
            assert share == pytest.approx(options["shortcut"]["b"], abs=0.06)


def test_the_command_writes_what_the_audit_reads(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = "design --factors shape:3 colour:3 size:2 --require-order 2 --test-share 0.2"
    main([*words.split(), "--budget", "16", "--output", "a.csv"])
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("14 training combinations determine 4 held-out ones for learners of")
    assert set(pd.read_csv("a.csv").columns) == {
        "shape", "colour", "size", "target", "split", "terms"
    }  # fmt: skip
    main(words.split())
    text = capsys.readouterr().out
    assert text == (tmp_path / "a.csv").read_text()
    ask = [
        "audit",
        "-",
        "--components",
        "shape",
        "colour",
        "size",
        "--target",
        "target",
        "--split",
        "split",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "partwhole", *ask, "--require-order", "2", "--sarif", "a.sarif"],
        input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip
    # The command is a module too.
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Supported if pairs interact (order 2).")
    assert "standard-input.csv: 18 rows; " in done.stdout
    assert "artifactLocation" not in (tmp_path / "a.sarif").read_text()
    assert pd.read_csv(io.StringIO(text)).query("split == 'train'")["terms"].eq(0).all()


def test_a_summary_counts_one_in_the_singular():
    design = design_split({"a": 2, "b": 2})
    assert design.describe().startswith(
        "3 training combinations determine 1 held-out one for learners of order 1. They differ "
        "from (a 1, b 1) in at most 1 component; each"
    )


def misleading(report):
    """Return the names of the shortcuts in each test split, the strongest first."""
    return [
        [
            tuple(report.table.names[c] for c in item.components)
            for item in evidence.shortcuts
            if item.misleads
        ]
        for evidence in report.evidence
    ]


@pytest.mark.parametrize(
    ("factors", "options"),
    [
        ({"answer": 2, "colour": 8}, {"shortcut": {"colour": 0.9}}),
        (
            {"a": 2, "b": 4, "c": 6},
            {"require_order": 2, "test_share": 0.2, "seed": 6, "shortcut": {"b": 0.95}},
        ),
        (
            {"a": 4, "b": 5, "c": 2},
            {"require_order": 2, "test_share": 0.1, "seed": 9, "shortcut": {"b": 0.95}},
        ),
        (
            {"a": 3, "b": 6, "c": 5, "d": 3},
            {"require_order": 3, "test_share": 0.1, "seed": 25, "shortcut": {"b": 0.9}},
        ),
        ({"a": 3, "b": 4, "c": 3}, {"grades": 3, "shortcut": {"b": 0.9}}),
    ],
)
def test_the_audit_names_the_shortcut_that_was_asked_for_first(factors, options):
    """Splits near a reference have one label, or other shortcuts, where all but one interact."""
    design, order = design_split(factors, **options), options.get("require_order", 1)
    frame = design.to_frame()
    report = audit_split(frame, list(factors), "target", "split", require_order=order, add=0)
    (asked,) = options["shortcut"]
    misled = misleading(report)
    assert [names[0] for names in misled] == [(asked,)] * options.get("grades", 1)
    assert {names for split in misled for names in split} - {(asked,)} == set(design.others)
    # Shares that were asked for are of other rows than accuracies, and both are said.
    found = [next(item for item in e.shortcuts if item.misleads) for e in report.evidence]
    words = design.describe()
    assert (
        f"{asked} goes with {design.target} in about {100 * options['shortcut'][asked]:.0f} %"
        in (words)
    )
    for share in (min(i.train for i in found), max(i.test for i in found)):
        assert percent(share) in words
    n_labels = next(iter(factors.values()))
    for _, split in frame[frame["split"] != "train"].groupby("split"):
        counts = split["target"].value_counts().tolist()
        assert sum(min(n, 2) for n in counts) == min(len(split), 2 * n_labels)


def test_a_budget_comes_before_a_shortcut_that_leads():
    factors, options = {"a": 2, "b": 5, "c": 5}, {"test_share": 0.2, "shortcut": {"b": 0.8}}
    assert len(design_split(factors, seed=6, **options).train) == 9
    design = design_split(factors, seed=6, budget=8, **options)
    assert len(design.train) == 8
    report = audit_split(design.to_frame(), list(factors), "target", "split", add=0)
    assert ("b",) in misleading(report)[0]


def test_a_shortcut_that_was_not_asked_for_is_named():
    factors = {"a": 6, "b": 3, "c": 3, "d": 5}
    design = design_split(factors, require_order=3, test_share=0.2, seed=10)
    report = audit_split(
        design.to_frame(), list(factors), "target", "split", require_order=3, add=0
    )
    (shortcut,) = misleading(report)
    others = (("b", "c", "d"), ("b", "c"), ("c", "d"), ("b", "d"))
    assert tuple(shortcut) == design.others == others
    assert design.describe().endswith(
        " An audit of these rows finds 4 shortcuts that were not asked for: b, c and d together; b "
        "and c together; c and d together and 1 more."
    )
    assert "shortcut" not in design_split({"a": 4, "b": 5}).describe()


def test_a_design_as_small_without_a_shortcut_is_chosen():
    """Around a reference, held-out combinations have none of its values."""
    factors = {"a": 4, "b": 4, "c": 3}
    design = design_split(factors, require_order=2, test_share=0.2, seed=6)
    assert len(design.train) == 26
    assert design.others == ()
    assert not (design.test != design.reference).all()
    report = audit_split(
        design.to_frame(), list(factors), "target", "split", require_order=2, add=0
    )
    assert misleading(report) == [[]]


SENTENCES = [
    (
        ({"a": 2, "b": 2, "c": 5}, {"test_share": 0.08, "shortcut": {"b": 0.55}}),
        "a test split with a shortcut has each label twice where it can, and an audit of it finds "
        "the shortcut; got no such split of 2 held-out combinations in 16 trials; hold out a "
        "larger share, give factors more values, or raise the share of the shortcut",
    ),
    (
        ({"a": 3, "b": 3}, {"budget": 4, "test_share": 0.4}),
        "the smallest training set found has 5 combinations, and at least ",
    ),
    (({"a": 3}, {}), "a split has two or more factors; got 1; name another factor"),
    (
        ({"a": 3, "b": 1}, {}),
        "a factor has two or more distinct values; got 1 for 'b'; pass their number or a list",
    ),
    (
        ({"a": 3, "b": 3}, {"require_order": 2}),
        "require_order is below the number of factors; got 2 for 2; choose from 1 to 1",
    ),
    (
        ({"a": 3, "split": 3}, {}),
        "columns target, split and terms are of the table itself; got a factor 'split'; rename it",
    ),
    (
        ({"a": 3, "b": 3}, {"test_share": 0.9}),
        "of 9 combinations at most those can be held out that training does not need; got 8 of",
    ),
    (({"a": 3, "b": 3}, {"target": "c"}), "the target is one of the factors; got 'c'; name one"),
    (
        ({"a": 3, "b": 2}, {"shortcut": {"b": 0.9}}),
        "a shortcut has as many values as the target, or more; got 2 for 3 targets; name another",
    ),
    (
        ({"a": 3, "b": 3}, {"shortcut": {"b": 0.2}}),
        "the share of a shortcut is above that of chance, 0.333, and at most 0.99; got 0.2; pass",
    ),
    (
        ({"a": 3, "b": 3}, {"shortcut": {"a": 0.9}}),
        "a shortcut is a factor other than the target; got 'a'; name one of b",
    ),
    (
        ({"a": 1000, "b": 1000}, {}),
        "factors have at most 200,000 combinations; got 1,000,000; pass fewer factors or values",
    ),
]


@pytest.mark.parametrize(("call", "sentence"), SENTENCES)
def test_requests_are_refused_in_one_sentence(call, sentence):
    factors, options = call
    with pytest.raises(InputError) as error:
        design_split(factors, **options)
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("design", "a design needs factors; got none; use --factors shape:3 colour:8"),
        (
            "design --factors shape colour:8",
            "factors are a name and a count, such as shape:3; got 'shape'; write NAME:COUNT",
        ),
        (
            "design --factors shape:3 colour:2 shape:4",
            "each factor has a name of its own; got 'shape' twice; rename one of them",
        ),
        (
            "design --factors a:3 b:3 --shortcut b",
            "a shortcut is a factor and a share, such as colour=0.9; got 'b'; write NAME=SHARE",
        ),
    ],
)
def test_the_command_refuses_in_one_sentence(words, sentence, capsys):
    with pytest.raises(SystemExit) as error:
        main(words.split())
    assert error.value.code == 2
    assert capsys.readouterr().err == f"partwhole: {sentence}\n"


class Keyed(Trial):
    """A trial with numbers for keys, which an audit may raise, and a list of those audited."""

    is_audited = property(lambda trial: vars(trial)["raised"] is not None)
    least_key = property(lambda trial: vars(trial)["least"])

    @property
    def key(self):
        (a, _, b), raised = self.least_key, vars(self)["raised"]
        if raised is None:
            return self.least_key
        vars(self)["audited"].add(self)
        return (a, raised, b)


def test_trials_come_in_order_though_few_are_audited():
    """Trials of equal keys come as they were tried."""
    rng = np.random.default_rng(0)
    n_audited = 0
    for _ in range(100):
        audited, trials = set(), [object.__new__(Keyed) for _ in range(40)]
        for trial in trials:
            raised = float(rng.integers(3)) if rng.random() < 0.7 else None
            least = (float(rng.integers(3)), 0.0, float(rng.integers(2)))
            vars(trial).update(least=least, raised=raised, audited=audited)
        first = next(_in_order(trials))
        assert all(trial.least_key <= first.key for trial in audited)
        n_audited += len(audited)
        expected = sorted(trials, key=lambda trial: trial.key)
        assert first is expected[0]
        assert list(_in_order(trials)) == expected
    assert n_audited < 0.5 * 100 * 40 * 0.7
