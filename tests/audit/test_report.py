"""The report: its verdict, its text, and what the audit refuses."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from html import unescape
from importlib import import_module
from time import sleep

import audit_samples
import numpy as np
import pandas as pd
import pytest
from split_tables import cross, random_table, rows, total

import partwhole
from partwhole import features, solve
from partwhole._checks import InputError
from partwhole._progress import bar
from partwhole.audit import HoldOut, Settings, UnsupportedSplit, audit_split
from partwhole.audit.judging.judge import judge
from partwhole.audit.prediction.representation import measure
from partwhole.audit.report import MOST_LISTED
from partwhole.tasks import from_frame

COLUMNS = ["first", "second"]
BLOCKS = rows("a x 1 train", "b y 2 train", "a y 3 test", target=float)


def three(values: int = 3) -> pd.DataFrame:
    grid = np.array(np.meshgrid(*[np.arange(values)] * 3)).reshape(3, -1).T
    frame = pd.DataFrame(grid, columns=["a", "b", "c"])
    frame["target"] = frame["a"] + frame["b"] * frame["c"]
    frame["split"] = np.where(grid.sum(axis=1) % 3 == 0, "test", "train")
    return frame


def test_a_supported_split():
    report = audit_split(cross(total), COLUMNS, "target", "split", add=0)
    assert report.verdict == "supported"
    assert report.headline == "Supported if parts add up (order 1)"
    assert (report.solvable, report.determined, report.errors) == (True, 1.0, ())
    report.raise_if_unsupported()
    assert repr(report) == (
        "AuditReport(supported at order 1: 0 errors, 1 warning; solvable True, determined 1)"
    )


def test_the_headline_says_what_the_verdict_leaves_open():
    bad = cross(total, lambda a, b: a * b)
    report = audit_split(bad, COLUMNS, "target", "split", add=0)
    assert report.headline == (
        "Not supported if parts add up (order 1): they do not add up to the targets"
    )
    text = flat(report)
    assert text.startswith(f"{report.headline}. 2 errors, 2 warnings. table: 25 rows;")
    assert report.to_dict()["headline"] == report.headline
    silence = dict.fromkeys(["not-solvable", "no-better-than-constant"], "we test a network")
    hushed = audit_split(bad, COLUMNS, "target", "split", add=0, settings=Settings(silence=silence))
    assert hushed.verdict == "supported"
    assert hushed.headline == ("Supported if parts add up (order 1), with 2 errors silenced")
    (evidence,) = report.evidence
    open_ = replace(evidence, solvability=replace(evidence.solvability, solvable=None))
    assert replace(report, evidence=(open_,)).headline.startswith("Not supported if ")
    hopeful = replace(report, evidence=(replace(evidence, prediction=None),), findings=())
    start = "Supported if parts add up (order 1), as far as predictions finished"
    assert hopeful.headline == start
    # What is not decided and silenced is no prediction that did not finish.
    silenced = replace(hushed, evidence=(open_,)).headline
    assert silenced == "Supported if parts add up (order 1), with 2 errors silenced"
    seen = bad.assign(split="train")
    seen.loc[len(seen)] = [0, 0, 0, "test"]
    nothing = audit_split(seen, COLUMNS, "target", "split", add=0)
    assert (nothing.verdict, nothing.headline) == (
        "supported",
        "No combination is held out: training has all of them",
    )


def test_an_unsupported_split_raises_with_a_line_for_each_error():
    report = audit_split(BLOCKS, COLUMNS, "target", "split")
    assert report.determined == 0.0
    with pytest.raises(UnsupportedSplit) as error:
        report.raise_if_unsupported()
    first, *lines = str(error.value).splitlines()
    assert first == f"The split is not supported at order 1: {len(report.errors)} errors."
    assert [line.split(" (test): ")[0] for line in lines] == [one.rule for one in report.errors]
    many = replace(report, findings=report.findings[:1] * (MOST_LISTED + 2))
    with pytest.raises(UnsupportedSplit, match=r"\nand 2 more in report\.errors$"):
        many.raise_if_unsupported()


def test_the_verdict_is_that_of_the_worst_split():
    far = cross(total, lambda a, b: a * b).query("split == 'test'").assign(split="far")
    frame = pd.concat([cross(total), far], ignore_index=True)
    report = audit_split(frame, COLUMNS, "target", "split", add=0)
    assert [one.case.name for one in report.evidence] == ["far", "test"]
    assert [one.solvability.solvable for one in report.evidence] == [False, True]
    assert report.solvable is False
    assert {one.split for one in report.errors} == {"far"}
    only = audit_split(frame, COLUMNS, "target", "split", test="test", add=0)
    assert only.verdict == "supported"


def test_where_nothing_is_held_out_nothing_is_said_of_it():
    frame = rows("a x 1 train", "b y 2 train", "a y 0 train", "a x 1 test", target=float)
    report = audit_split(frame, COLUMNS, "target", "split")
    assert report.solvable is None
    assert np.isnan(report.determined)
    assert [one.rule for one in report.findings] == ["not-held-out"]
    assert report.verdict == "supported"
    assert "No combination is held out" in report.to_text()


def test_predictions_are_those_of_the_kernel_machine():
    frame = cross(total, lambda a, b: a * b)
    report = audit_split(frame, COLUMNS, "target", "split", add=0)
    (evidence,) = report.evidence
    kernel = features.OverlapKernel.from_salience([0.425])
    limit = solve(evidence.case.task, kernel, intercept="free")
    point = evidence.prediction.points[evidence.prediction.reference]
    assert point.label == "S = 0.425"
    np.testing.assert_allclose(point.outputs, limit.test_predictions, atol=1e-8)


def test_features_add_the_measured_point():
    frame = three()
    one_hot = np.hstack([np.eye(3)[frame[name]] for name in "abc"])
    report = audit_split(frame, list("abc"), "target", "split", features=one_hot, add=0)
    prediction = report.evidence[0].prediction
    assert prediction is not None
    assert np.isnan(prediction.points[-1].position)
    # One-hot components and nothing else: a third each.
    np.testing.assert_allclose(prediction.points[-1].salience, [1 / 3], atol=1e-12)
    said = " ".join(report.table.remarks)
    assert "Saliences are measured on 27 rows of 27 combinations" in said
    assert "the noise cannot be measured and is set to 0" in said


def test_a_kernel_takes_the_place_of_features(tmp_path):
    frame = three()
    rng = np.random.default_rng(0)
    one_hot = np.hstack([np.eye(3)[frame[name]] for name in "abc"])
    noisy = one_hot + 0.1 * rng.normal(size=one_hot.shape)
    roles = (frame, list("abc"), "target", "split")
    by_features = audit_split(*roles, features=noisy, add=0)
    similarities = noisy @ noisy.T
    np.save(tmp_path / "kernel.npy", similarities)
    for kernel in (similarities, tmp_path / "kernel.npy"):
        report = audit_split(*roles, kernel=kernel, add=0)
        points = [one.evidence[0].prediction.points[-1] for one in (by_features, report)]
        np.testing.assert_allclose(points[1].salience, points[0].salience, atol=1e-9)
        np.testing.assert_allclose(points[1].outputs, points[0].outputs, atol=1e-7)


def test_a_given_overlap_kernel_is_the_measured_point():
    kernel = features.OverlapKernel.from_salience({(0,): 0.3, (1,): 0.45})
    report = audit_split(cross(total), COLUMNS, "target", "split", kernel=kernel, add=0)
    (evidence,) = report.evidence
    point = evidence.prediction.points[evidence.prediction.reference]
    limit = solve(evidence.case.task, kernel, intercept="free")
    np.testing.assert_allclose(point.outputs, limit.test_predictions, atol=1e-8)
    assert "The measured point is the given kernel." in report.table.remarks


def test_features_that_cannot_be_measured_are_said():
    frame = cross(total)
    same = np.zeros((len(frame), 2))
    same[:, 0] = np.where(frame["first"] == 0, 1.0, 0.0)
    report = audit_split(frame, COLUMNS, "target", "split", features=same, add=0)
    assert report.evidence[0].prediction is not None
    assert any("aliences are measured" in one or "left out" in one for one in report.table.remarks)


@pytest.mark.parametrize("order", [1, 2])
def test_the_order_is_that_asked_for(order):
    report = audit_split(three(), list("abc"), "target", "split", require_order=order, add=0)
    assert report.order == order
    # a + b c is a sum of pairs, and not of single components.
    assert report.solvable is (order == 2)
    terms = {1: "value", 2: "value and each pair of values"}[order]
    assert f"A learner of order {order} adds up one number for each {terms}. " in flat(report)


REFUSED = {
    "features and kernel": (
        {"features": np.ones((2, 1)), "kernel": np.eye(2)},
        "a representation is given by features or by a kernel; got both; leave out one of them",
    ),
    "rows of a kernel": (
        {"kernel": np.ones((2, 3))},
        "kernel is an array of finite numbers of shape (n, n); got shape (2, 3); pass shape (n, n)",
    ),
    "many rows of a kernel": (
        {"kernel": np.zeros((4001, 4001))},
        "a kernel has a row and a column for each row of the table, at most 4,000; got shape "
        "(4001, 4001); pass features of the rows instead",
    ),
    "components of a kernel": (
        {"kernel": features.OverlapKernel.from_salience([0.1, 0.1])},
        "a kernel has as many components as the table; got 3 for 2; build it with that number",
    ),
    "order 0": (
        {"require_order": 0},
        "require_order is at least 1 and below the number of "
        "components; got 0 for 2 components; use 1",
    ),
    "order 2": (
        {"require_order": 2},
        "require_order is at least 1 and below the number of "
        "components; got 2 for 2 components; use 1",
    ),
    "fit": ({"fit": "svm"}, 'fit is "regression" or "margin"; got \'svm\'; choose one of them'),
    "margin of numbers": (
        {"fit": "margin"},
        "fit 'margin' is for labels; got numbers; use fit 'regression'",
    ),
    "add": (
        {"add": -1},
        "add is a whole number of at least 0; got -1; pass a whole number of at least 0, "
        "or leave it out for 5",
    ),
    "time": (
        {"time_limit": -1.0},
        "time_limit is a finite number of at least 0; got -1.0; pass a number of at least 0, "
        "or leave it out for 10",
    ),
    "endless": (
        {"time_limit": float("nan")},
        "time_limit is a finite number of at least 0; got nan; pass a number of at least 0, "
        "or leave it out for 10",
    ),
    "seed": (
        {"seed": -1},
        "seed is a whole number of at least 0; got -1; pass a whole number of at least 0, "
        "or leave it out for 0",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_are_refused_in_one_sentence(name):
    options, sentence = REFUSED[name]
    with pytest.raises(InputError) as error:
        audit_split(cross(total), COLUMNS, "target", "split", **options)
    assert str(error.value) == sentence


def test_an_order_of_too_many_sets_is_refused():
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(30)]
    frame = pd.DataFrame(rng.integers(0, 2, (40, 30)), columns=names)
    frame["target"] = rng.normal(size=40)
    frame["split"] = ["train"] * 30 + ["test"] * 10
    with pytest.raises(InputError) as error:
        audit_split(frame, names, "target", "split", require_order=10)
    assert str(error.value) == (
        "an audit covers at most 5,000 sets of components; got 53,009,102 sets of at most "
        "10 of 30 components; choose a smaller order, which concerns other learners, or name "
        "fewer components"
    )


def test_twelve_components_are_no_trouble():
    rng = np.random.default_rng(1)
    names = [f"c{i}" for i in range(12)]
    frame = pd.DataFrame(rng.integers(0, 3, (300, 12)), columns=names)
    frame["target"] = frame.sum(axis=1).astype(float)
    frame["split"] = np.where(np.arange(300) < 250, "train", "test")
    report = audit_split(frame, names, "target", "split", add=2)
    assert report.determined == 1.0
    assert report.solvable is True


def test_a_rule_draws_the_split():
    frame = cross(total).drop(columns="split")
    report = audit_split(frame, COLUMNS, "target", HoldOut("combinations", 0.2, 3), add=0)
    (evidence,) = report.evidence
    assert len(evidence.case.held_out) == 5
    again = audit_split(frame, COLUMNS, "target", HoldOut("combinations", 0.2, 3), add=0)
    np.testing.assert_array_equal(again.table.split, report.table.split)


def test_what_is_added_first_settles_what_it_says():
    frame = pd.DataFrame(
        [
            (a, b, a + b, "train" if (a < 2) == (b < 2) else "test")
            for a in range(4)
            for b in range(4)
        ],
        columns=["first", "second", "target", "split"],
    )
    report = audit_split(frame, COLUMNS, "target", "split", add=1)
    (evidence,) = report.evidence
    assert evidence.additions is not None
    (step,) = evidence.additions.steps
    assert report.determined == 0.0
    (finding,) = [one for one in report.findings if one.rule == "not-determined"]
    assert "would raise the share to 100 %" in finding.message
    added = frame.copy()
    added.loc[(added["first"] == step.values[0]) & (added["second"] == step.values[1]), "split"] = (
        "train"
    )
    assert (
        audit_split(added, COLUMNS, "target", "split", add=0).determined == step.determined == 1.0
    )


def test_the_input_is_not_changed():
    frame = random_table(0)
    before = frame.copy()
    audit_split(frame, COLUMNS, "target", "split")
    pd.testing.assert_frame_equal(frame, before)


def test_the_order_of_rows_is_no_matter():
    frame = random_table(1, labels=True)
    mixed = frame.sample(frac=1.0, random_state=0)
    one = audit_split(frame, COLUMNS, "target", "split", add=0)
    other = audit_split(mixed.reset_index(drop=True), COLUMNS, "target", "split", add=0)
    assert (one.verdict, one.solvable, one.determined) == (
        other.verdict,
        other.solvable,
        other.determined,
    )
    places = mixed.index.to_numpy()
    assert [(f.rule, f.split, f.subject, sorted(f.rows)) for f in one.findings] == [
        (f.rule, f.split, f.subject, sorted(places[f.rows])) for f in other.findings
    ]


def test_text_is_narrow_and_prints_no_codes():
    frame = random_table(2, labels=True).astype({"first": str})
    frame["first"] = frame["first"].replace({"1": "x" * 300, "2": "\x1b[31mred\nline\u202e"})
    frame = frame.rename(columns={"second": "a name\twith " + "blanks " * 20})
    columns = [frame.columns[0], frame.columns[1]]
    report = audit_split(frame, columns, "target", "split", settings=Settings(coverage=50))
    text = report.to_text()
    assert max(map(len, text.splitlines())) <= 100
    assert not set(text) & {"\x1b", "\t", "\u202e"}
    assert " ".join(text.split()).startswith(f"{report.headline}. ")
    for one in report.evidence:
        assert f"Test split {one.case.name}\n" in text


def test_text_says_how_many_findings_it_leaves_out():
    lines = [f"n{i} y l train" for i in range(30)] + [f"n{i} x l{i} t{i}" for i in range(30)]
    frame = rows("a x l train", "b x m train", "a y l train", *lines)
    report = audit_split(frame, COLUMNS, "target", "split", add=0)
    assert sum(one.rule == "unseen-label" for one in report.findings) == 30
    text = report.to_text()
    assert text.count("ERROR  unseen-label") == 20
    assert "10 more findings of unseen-label not listed here" in text


OPEN = "others that fit it equally well may answer differently"


def test_text_says_what_is_open_and_which_proof_there_is():
    assert OPEN in flat(audit_split(BLOCKS, COLUMNS, "target", "split"))
    report = audit_split(cross(total, lambda a, b: a * b), COLUMNS, "target", "split")
    assert OPEN not in flat(report)
    assert "the finding not-solvable gives the proof." in flat(report)
    (one,) = report.evidence
    unlisted = replace(one, solvability=replace(one.solvability, certificate=None))
    assert "gives the proof" not in flat(replace(report, evidence=(unlisted,)))


def test_text_says_how_far_features_can_be_trusted():
    report = audit_split(cross(total), COLUMNS, "target", "split", add=0)
    (one,) = report.evidence
    assert "Measured features" not in flat(report)
    for structure, cautious in ((0.66, True), (0.95, False)):
        found = replace(one.prediction, structure=structure, noise=0.09)
        # As where the measured point had to be left out: there is nothing to trust.
        hidden = replace(one, prediction=found)
        assert "Measured features" not in flat(replace(report, evidence=(hidden,)))
        point = replace(found.points[-1], label="measured", position=float("nan"))
        measured = replace(one, prediction=replace(found, points=(*found.points, point)))
        text = flat(replace(report, evidence=(measured,)))
        assert (
            f"Measured features: the overlap explains {100 * structure:.0f} % of the variance of "
            "similarity; the noise of single rows is 0.09 of the similarity gained by sharing all "
            "components."
        ) in text
        assert ("The slope and the order of the outputs are more reliable." in text) is cautious


def test_what_is_held_out_is_moved_and_the_rest_added():
    lines = ["a x 1 train", "b y 2 train", "a y 3 test", "b x 4 aside"]
    report = audit_split(rows(*lines, target=float), COLUMNS, "target", "split", test="test")
    (one,) = report.evidence
    step = one.additions.steps[0]
    for held_out in (True, False):
        added = replace(one.additions, steps=(replace(step, held_out=held_out),))
        told = replace(one, additions=added)
        text = flat(replace(report, evidence=(told,)))
        (finding,) = [one for one in judge([told], Settings()) if one.rule == "not-determined"]
        assert (" (held out: move it into training); determined 0 % -> 100 %" in text) is held_out
        assert ("Moving (" in finding.message) is held_out
        assert (") from the test split into training would" in finding.message) is held_out
        assert ("Adding (" in finding.message) is not held_out
        (split,) = replace(report, evidence=(told,)).to_dict()["splits"]
        assert split["additions"]["steps"][0]["held_out"] is held_out


def test_small_shares_of_additions_are_counts():
    pairs = [(a, b) for a in range(36) for b in range(36)]
    train = [pair for pair in pairs if pair[0] == pair[1]]
    lines = [(*pair, float(sum(pair)), "train" if pair in train else "test") for pair in pairs]
    frame = pd.DataFrame(lines, columns=[*COLUMNS, "target", "split"])
    report = audit_split(frame, COLUMNS, "target", "split", add=2, seed=0)
    text, page = flat(report), " ".join(unescape(re.sub("<[^>]+>", " ", report.to_html())).split())
    # By hand: two of 36 blocks are joined by one more, and so on.
    assert "determined 0 -> 2 of 1,260" in text
    assert "determined 2 -> 6 of 1,260" in text
    assert "0 → 2 of 1,260" in page
    (finding,) = [item for item in report.findings if item.rule == "not-determined"]
    assert "would raise the determined ones to 2 of 1,260." in finding.message


def test_a_finding_without_rows_counts_none():
    report = audit_split(BLOCKS, COLUMNS, "target", "split")
    finding_of_none = replace(report.findings[0], rows=np.zeros(0, dtype=np.int64))
    for finding, words in ((finding_of_none, "(test)"), (report.findings[0], "(test; ")):
        heading = replace(report, findings=(finding,)).to_text()
        assert f"{finding.rule}  {words}" in heading
        assert " 0 rows" not in heading


def flat(report) -> str:
    return " ".join(report.to_text().split())


def test_the_frame_has_a_row_for_each_finding():
    report = audit_split(BLOCKS, COLUMNS, "target", "split")
    frame = report.to_frame()
    assert frame["rule"].tolist() == [one.rule for one in report.findings]
    assert frame["row_count"].tolist() == [len(rows) for rows in frame["rows"]]


def test_the_face_of_the_package_has_the_audit():
    assert partwhole.audit_split is audit_split
    assert partwhole.audit.audit_split is audit_split
    assert "audit_split" in dir(partwhole)
    (evidence,) = audit_samples.faulty().evidence
    parts = [evidence, *vars(evidence).values(), evidence.prediction.points[0]]
    names = {type(part).__name__ for part in parts}
    assert names >= {"Evidence", "Case", "Prediction", "Point", "Additions", "Coverage"}
    assert not names & set(partwhole.audit.__all__)


@pytest.mark.parametrize(("interaction", "solvable"), [(0.0, True), (1.0, False)])
def test_noise_of_repeats_is_no_proof(interaction, solvable):
    rng = np.random.default_rng(0)
    frame = cross(lambda a, b: a + b + interaction * a * b)
    frame = frame.loc[frame.index.repeat(6)].reset_index(drop=True)
    frame["target"] = frame["target"] + 0.1 * rng.normal(size=len(frame))
    report = audit_split(frame, COLUMNS, "target", "split", add=0)
    assert report.solvable is solvable
    (evidence,) = report.evidence
    assert evidence.solvability is not None
    (remark,) = evidence.solvability.remarks
    assert remark.endswith("so this share still counts as solvable.") is solvable
    assert remark.endswith("% is more.") is not solvable
    assert ("not-solvable" in {one.rule for one in report.errors}) is not solvable


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("patience", "seen"), [(0.0, True), (60.0, False)])
def test_a_bar_is_shown_when_a_terminal_has_waited_long_enough(monkeypatch, patience, seen):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("partwhole._progress.PATIENCE", patience)
    with bar("", 3, shown=True) as advance:
        advance(1, "[counting]")
        for _ in range(200):
            if not seen or "[counting]" in terminal.getvalue():
                break
            sleep(0.01)
        advance(1, "judging")
    assert ("[counting]" in terminal.getvalue()) is seen
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    with bar("", 1, shown=True) as advance:
        advance(1, "counting")
    assert plain.getvalue() == ""


def test_noise_between_rows_of_a_combination_is_measured():
    rng = np.random.default_rng(0)
    frame = three()
    frame = frame.loc[frame.index.repeat(30)].reset_index(drop=True)
    one_hot = np.hstack([np.eye(3)[frame[name]] for name in "abc"])
    noisy = one_hot + 0.1 * rng.normal(size=one_hot.shape)
    report = audit_split(frame, list("abc"), "target", "split", features=noisy, add=0)
    measured = measure(report.table, 1)
    assert measured is not None
    # Nine features of variance 0.01, beside a lead of 3: all three parts against none.
    assert measured.noise == pytest.approx(0.03, rel=0.1)
    prediction = report.evidence[0].prediction
    assert prediction is not None
    np.testing.assert_allclose(prediction.points[-1].salience, [1 / 3], atol=0.01)


def test_what_was_not_decided_is_told_as_such(monkeypatch):
    module = import_module("partwhole.limits.proofs.null_functions")
    monkeypatch.setattr(module, "CG_STEPS", 1)
    monkeypatch.setattr(import_module("partwhole.limits.proofs.determination"), "DENSE_COLUMNS", 0)
    rows = [(a, b, c) for a in range(3) for b in range(3) for c in range(3)]
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    frame["y"] = frame["a"] + frame["b"] + frame["c"]
    frame["split"] = ["test" if sum(row) % 3 == 0 else "train" for row in rows]
    report = audit_split(frame, ["a", "b", "c"], "y", "split", add=0)
    rules = [one.rule for one in report.findings]
    assert "not-decided" in rules
    assert "not-determined" not in rules
    start = "Not decided if parts add up (order 1): whether training determines 9 of 9 answers"
    assert report.headline.startswith(start)
    assert report.verdict == report.to_dict()["verdict"] == "undecided"
    (split,) = report.to_dict()["splits"]
    assert split["determination"]["undecided_count"] == 9
    assert split["determination"]["undetermined_count"] == 0
    text = " ".join(report.to_text().split())
    # Nothing is told of a share that was not decided: neither as it is nor after additions.
    assert "Determined: 0 % to 100 % of held-out combinations (0 of 9; 9 not decided)." in text
    assert "Raise the time limit, choose a smaller order, or audit fewer rows." in text
    assert "0 % to 100 % (9 not decided)" in report.to_html()
    more = audit_split(frame, ["a", "b", "c"], "y", "split", add=3)
    assert more.evidence[0].additions.steps == ()
    assert "No addition was looked for, as it was not decided" in " ".join(more.to_text().split())
    assert (
        "It is not known whether training determines 9 of 9 held-out combinations"
        in report.to_html()
    )
    assert report.evidence[0].to_frame()["determined"].tolist() == [None] * 9


JARGON = (
    "seen conjunction",
    "sum of conjunctions",
    "sums of conjunctions",
    "such sum",
    "leak slope",
    "S(1; 2)",
    "least-norm",
    "misleading association",
)


@pytest.mark.parametrize("sample", ["sums", "faulty", "products", "votes", "scenes", "one_label"])
def test_text_and_page_are_without_jargon(sample):
    report = getattr(audit_samples, sample)()
    page = unescape(re.sub("<[^>]+>", " ", report.to_html().partition('id="rules"')[0]))
    for text in (flat(report), " ".join(page.split())):
        lower = text.lower()
        assert [word for word in JARGON if word.lower() in lower] == []


def test_the_text_ends_its_additions_where_all_is_determined():
    report = audit_samples.faulty()
    steps = report.evidence[0].additions.steps
    n_needed = 1 + [step.determined for step in steps].index(1.0)
    assert n_needed < len(steps)
    # Those that settle nothing more are left out.
    lines = report.to_text().partition("to training first")[2].split("\n\n")[0].splitlines()
    items = [line for line in lines if line.startswith("  - ")]
    assert len(items) == n_needed
    assert "-> 100 %" in " ".join(items[-1].split()) + lines[-1]


@pytest.mark.parametrize(("strength", "doubted"), [(2.0, True), (0.0, False)])
def test_a_supported_split_that_is_predicted_little_better_than_guessed_says_so(strength, doubted):
    rng = np.random.default_rng(31)
    a, b, c = (axis.ravel() for axis in np.meshgrid(range(4), range(4), range(3), indexing="ij"))
    parts = [rng.normal(size=k) for k in (4, 4, 3)]
    pairs = strength * rng.normal(size=(4, 4))
    scores = 0.3 * (parts[0][a] + parts[1][b] + parts[2][c]) + pairs[a, b]
    is_train = rng.random(48) < 0.85
    table = pd.DataFrame({"a": a, "b": b, "c": c, "label": np.where(scores > 0, "yes", "no")})
    table["split"] = np.where(is_train, "train", "test")
    report = audit_split(table, ["a", "b", "c"], "label", "split", add=0)
    assert report.verdict == "supported"
    prediction = report.evidence[0].prediction
    assert prediction is not None
    point = prediction.points[prediction.reference]
    # One hidden ReLU layer, but for its conjunctions of two parts.
    kernel = features.order_kernel.OrderKernel.random_network(3, 1, 1)
    task = from_frame(table, ["a", "b", "c"], "label", "split")
    right = float((solve(task, kernel, intercept="free").test_margins > 0).mean())
    assert point.accuracy == pytest.approx(right)
    common = table["label"][~is_train].value_counts(normalize=True).max()
    words = (
        f"but such learners are predicted right in {right:.0%} of rows (the commonest label: "
        f"{common:.0%})"
    ).replace("%", " %")
    assert (words in report.headline) == doubted
