"""Every rule: triggered and not triggered by the smallest tables, and its rows by brute force."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from split_tables import cross, random_table, rows, shortcut, total

from partwhole._checks import InputError
from partwhole.audit import Settings, UnsupportedSplit, audit_split
from partwhole.audit.judging.judge import judge
from partwhole.audit.judging.rows import MOST_SHORTCUTS, MOST_UNSEEN
from partwhole.audit.outputs.lines import one_line
from partwhole.audit.outputs.rule_table import rule_table
from partwhole.audit.predictions_in_words import representation_name
from partwhole.audit.rules import RULES, Finding
from partwhole.audit.settings import EXAMPLE
from partwhole.audit.wording import percent, printable

COLUMNS = ["first", "second"]


def audit(frame: pd.DataFrame, **options):
    return audit_split(frame, COLUMNS, "target", "split", add=0, **options)


def found(report, rule: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.rule == rule]


def sign(a: int, b: int) -> str:
    return "yes" if a + b > 0 else "no"


def opposite(a: int, b: int) -> str:
    return "no" if a + b > 0 else "yes"


def birds(train: float, test: float) -> pd.DataFrame:
    """Return birds whose place goes with their kind in these shares of training and test."""
    lines = [
        (kind, kind if i < share * 100 else "land" if kind == "water" else "water", kind, part)
        for part, share in (("train", train), ("test", test))
        for kind in ("land", "water")
        for i in range(100)
    ]
    return pd.DataFrame(lines, columns=["first", "second", "target", "split"])


def exchanged(wrong: bool) -> pd.DataFrame:
    """Return shapes in colours of their own; where `wrong`, one is held out with another label."""
    lines = [
        (shape, colour, "yes" if shape < 3 else "no", "train")
        for shape in range(6)
        for colour in range(4)
    ]
    lines += [(shape, 4, "yes" if (shape < 3) != (wrong and shape == 0) else "no", "test")
              for shape in range(6)]  # fmt: skip
    lines += [(6, 4, "yes", "train"), (7, 4, "no", "train"), (6, 0, "yes", "train")]
    return pd.DataFrame(lines, columns=["first", "second", "target", "split"])


def fringe() -> pd.DataFrame:
    """Return shapes of three names, of which two exchange their colours in test."""
    lines = [
        (
            shape,
            colour,
            "abc"[shape],
            "test" if (shape, colour > 2) in ((0, 1), (1, 0)) else "train",
        )
        for shape in range(3)
        for colour in range(6)
    ]
    return pd.DataFrame(lines, columns=["first", "second", "target", "split"])


CASES = {
    "unseen-value": (
        rows("a x 1 train", "b x 2 train", "a y 2 train", "c y 3 test", target=float),
        rows("a x 1 train", "b x 2 train", "a y 2 train", "b y 3 test", target=float),
        {},
    ),
    "unseen-label": (
        rows("a x no train", "b x no train", "a y yes train", "b y hi test"),
        rows("a x no train", "b x no train", "a y yes train", "b y yes test"),
        {},
    ),
    "not-solvable": (
        cross(total, lambda a, b: a * b, range(-1, 2)),
        cross(total, values=range(-1, 2)),
        {},
    ),
    "not-determined": (
        rows("a x 1 train", "b y 2 train", "a y 3 test", target=float),
        rows("a x 1 train", "b y 2 train", "b x 0 train", "a y 3 test", target=float),
        {},
    ),
    "at-chance": (cross(sign, opposite), cross(sign), {}),
    "no-better-than-constant": (cross(total, lambda a, b: -a - b), cross(total), {}),
    "shortcut": (shortcut(True), shortcut(False), {}),
    "spurious-correlation": (birds(0.95, 0.95), birds(0.5, 0.5), {}),
    "group-imbalance": (birds(0.95, 0.5), birds(0.8, 0.5), {}),
    "salience-limit": (fringe(), cross(sign), {}),
    "failed-value": (exchanged(True), exchanged(False), {}),
    "not-held-out": (
        rows("a x 1 train", "b x 2 train", "a y 3 train", "b y 4 test", "a x 1 test", target=float),
        rows("a x 1 train", "b x 2 train", "a y 3 train", "b y 4 test", target=float),
        {},
    ),
    "thin-coverage": (cross(total), cross(total), {"coverage": 1}),
    "conflicting-duplicates": (
        rows(
            "a x 1 train", "b x 2 train", "b x 3 train", "a y 3 train", "b y 4 test", target=float
        ),
        rows(
            "a x 1 train", "b x 2 train", "b x 2 train", "a y 3 train", "b y 4 test", target=float
        ),
        {},
    ),
}


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_is_broken_by_one_table_and_not_by_its_neighbour(rule):
    broken, kept, thresholds = CASES[rule]
    report = audit(broken)
    assert len(found(report, rule)) >= 1
    for finding in found(report, rule):
        assert finding.severity == RULES[rule].severity
        assert finding in (report.errors if RULES[rule].severity == "error" else report.warnings)
    assert found(audit(kept, settings=Settings(**thresholds)), rule) == []


def test_all_rules_have_a_case():
    assert set(CASES) | {"strong-leak", "not-decided"} == set(RULES)


def admissions() -> pd.DataFrame:
    """Return combinations with rows of both answers, most of them "no" in test."""
    most = {"A": "yes", "B": "no", "C": "no", "D": "no"}
    entries = []
    for a in "mfx":
        for d, label in most.items():
            test = a == "m" and d in "CD"
            common = "no" if test else label
            rare = {"yes": "no", "no": "yes"}[common]
            entries += [(a, d, common, 3.0, test), (a, d, rare, 1.0 if d in "AC" else 0.5, test)]
    frame = pd.DataFrame(entries, columns=["who", "where", "answer", "weight", "test"])
    return frame.assign(split=np.where(frame.pop("test"), "test", "train"))


def test_right_answers_of_one_label_are_not_at_chance():
    frame = admissions()
    report = audit_split(frame, ["who", "where"], "answer", "split", weights="weight", add=0)
    (evidence,) = report.evidence
    prediction = evidence.prediction
    point = prediction.points[prediction.reference]
    assert point.balanced_accuracy == prediction.chance == prediction.balanced_ceiling == 0.5
    assert point.accuracy == prediction.ceiling == 6.0 / 7.5
    assert evidence.is_better_than_guesses
    assert not found(report, "at-chance")
    assert "commonest label of each combination: 50 %" in " ".join(report.to_text().split())


def test_wrong_answers_of_one_label_are_at_chance():
    frame = admissions()
    opposite = {"yes": "no", "no": "yes"}
    changed = (frame["split"] == "train") & frame["where"].isin(["C", "D"])
    frame.loc[changed, "answer"] = frame.loc[changed, "answer"].map(opposite)
    report = audit_split(frame, ["who", "where"], "answer", "split", weights="weight", add=0)
    assert found(report, "at-chance")


def test_a_leak_is_strong_below_the_slope_of_theory():
    # One anchor: predictions are S / (1 - S) times the targets (Lippl & Stachenfeld, ICLR 2025,
    # proposition 5.1); the reference is S = 0.425.
    slope = 0.425 / 0.575
    frame = cross(total)
    assert found(audit(frame, settings=Settings(leak_slope=slope - 1e-6)), "strong-leak") == []
    (leak,) = found(audit(frame, settings=Settings(leak_slope=slope + 1e-6)), "strong-leak")
    assert f"change by {slope:.3g} where the targets change by 1" in leak.message
    assert leak.rows.tolist() == np.flatnonzero(frame["split"] == "test").tolist()


def test_labels_that_training_lacks_are_found_one_by_one():
    frame = rows(
        "a x no train",
        "b x yes train",
        "a y no train",
        "b y hi test",
        "b y yes test",
        "c y hi test",
        "c x oh test",
        "a x oh test",
    )
    told = found(audit(frame), "unseen-label")
    assert [(one.subject, one.rows.tolist()) for one in told] == [
        ("target = hi", [3, 5]),
    ]
    assert told[0].message.startswith(
        "label 'hi' occurs in 2 held-out combinations of test but in no training row"
    )


def test_many_unseen_labels_are_one_finding():
    for many in (MOST_UNSEEN, MOST_UNSEEN + 1):
        lines = [f"c w{i} yes train" for i in range(MOST_UNSEEN + 1)]
        lines += [f"{'ab'[i % 2]} w{i} l{i} test" for i in range(many)]
        told = found(audit(rows("a x yes train", "b x no train", *lines)), "unseen-label")
        assert len(told) == (many if many == MOST_UNSEEN else 1)
    assert told[0].subject == "target"
    assert told[0].rows.tolist() == list(range(8, 8 + MOST_UNSEEN + 1))
    assert told[0].message == (
        "6 labels occur in held-out combinations but in no training row, such as 'l0', 'l1', 'l2'. "
        "No learner can predict them in the 6 rows of test that have them, so that at most 0 % of "
        "held-out rows can be right. Add training rows with these labels, or remove their rows "
        "from the test split."
    )


def test_no_learner_predicts_labels_of_rows_with_unseen_values_either():
    lines = [f"c w{i} yes train" for i in range(MOST_UNSEEN + 1)]
    lines += [f"{'ab'[i % 2]} w{i} l{i} test" for i in range(MOST_UNSEEN + 1)]
    # More rows: of a value and a label that training lacks, of training, and one that can be right.
    lines += ["z x other test", "b x yes test", "a w0 yes test"]
    finding = found(audit(rows("a x yes train", "b x no train", *lines)), "unseen-label")[0]
    assert (
        "in the 6 rows of test that have them, so that, with those of unseen values, at most"
        in (finding.message)
    )
    assert "at most 12 % of held-out rows can be right" in finding.message


def test_many_unseen_values_of_a_component_are_one_finding():
    grid = [f"a v{i} 1 train" for i in range(3)] + [f"b v{i} 2 train" for i in range(3)]
    for many in (MOST_UNSEEN, MOST_UNSEEN + 1):
        lines = [f"{part} w{i} 3 test" for part in "ab" for i in range(many)]
        findings = found(audit(rows(*grid, *lines, target=float)), "unseen-value")
        assert len(findings) == 1
    (finding,) = findings
    assert finding.subject == "second"
    assert finding.rows.tolist() == list(range(6, 18))
    assert finding.message.startswith(
        "6 values of second occur in held-out combinations but in no training row, such as w0, w1, "
        "w2. They occur in 12 rows of test"
    )


def test_many_unseen_values_of_two_components_are_a_finding_each():
    grid = [f"{a} v{i} 1 train" for a in "ab" for i in range(3)]
    lines = [f"a w{i} 3 test" for i in range(4)] + [f"{c} v0 2 test" for c in "cd"]
    findings = found(audit(rows(*grid, *lines, target=float)), "unseen-value")
    assert [finding.subject for finding in findings] == ["first", "second"]
    assert findings[0].message.startswith(
        "2 values of first occur in held-out combinations but in no training row: c, d. They occur "
        "in 2 rows of test"
    )
    assert findings[1].message.startswith(
        "4 values of second occur in held-out combinations but in no training row: w0, w1, w2, w3."
    )
    assert findings[1].rows.tolist() == [6, 7, 8, 9]
    single = found(audit(rows(*grid, *lines[:4], lines[4], target=float)), "unseen-value")
    assert [finding.subject for finding in single] == ["first = c", "second"]


def test_no_rule_advises_a_lower_order():
    told = [rule.remedy for rule in RULES.values()]
    for order in (1, 2):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            frame = pd.DataFrame(rng.integers(0, 4, (60, 4)), columns=list("abcy"))
            frame["s"] = rng.choice(["train", "test"], 60)
            report = audit_split(frame, list("abc"), "y", "s", require_order=order, add=0)
            told += [one.message for one in report.findings] + [report.to_text()]
    assert not [text for text in told if "lower the order" in " ".join(text.split())]


def test_repeats_with_another_target_are_counted():
    frame = rows(
        "a x 1 train",
        "a x 2 train",
        "b x 2 train",
        "a y 3 train",
        "b y 4 test",
        "a x 1 test",
        "a x 5 test",
        "b x 1 test",
        target=float,
    )
    (one,) = found(audit(frame), "not-held-out")
    assert "(a, x); 2 of them with a target that training does not give it. " in one.message
    assert one.message.endswith("Report rows with seen and with unseen combinations apart.")
    (one,) = found(audit(frame.drop(index=4)), "not-held-out")
    assert "apart" not in one.message
    (one,) = found(audit(frame.drop(index=[6, 7])), "not-held-out")
    assert "another target" not in one.message
    # The second output alone may differ.
    frame["more"] = [0.0] * 7 + [1.0]
    frame["target"] = 1.0
    report = audit_split(frame, COLUMNS, ["target", "more"], "split", add=0)
    (one,) = found(report, "not-held-out")
    assert "; 1 of them with a target that training does not give it" in one.message


def test_what_the_best_sum_leaves_is_told():
    frame = cross(total, lambda a, b: a + b + 0.01 * a * b)
    (one,) = found(audit(frame), "not-solvable")
    # Of (a + b + ab / 100) on a, b in -2, -1, 1, 2: the products' variance 2.5**2, the sums' 5.
    left = 6.25e-4 / (5.0 + 6.25e-4)
    assert (
        f"The best such learner leaves {100 * left:.3g} % of the variance of their targets "
        "unexplained; the threshold 'unexplained' allows up to 0.0001 %. If the remainder is "
        "noise, pass its standard deviation as noise (--noise), or 'estimate'."
    ) in one.message
    (evidence,) = audit(frame).evidence
    unlisted = replace(evidence, solvability=replace(evidence.solvability, certificate=None))
    (one,) = [one for one in judge([unlisted], Settings()) if one.rule == "not-solvable"]
    assert one.message.count(" leaves ") == 1
    assert (
        "variance. The threshold 'unexplained' allows up to 0.0001 %. If the remainder"
        in one.message
    )
    (one,) = found(audit(cross(sign, lambda a, b: sign(a * b, 0))), "not-solvable")
    assert "variance" not in one.message


def test_rows_that_disagree_may_be_noise():
    frame = CASES["conflicting-duplicates"][0]
    reason = "this is expected: say how noisy (--noise with a number, or estimate), or silence the"
    for table in (frame, frame.astype({"target": str})):
        (finding,) = found(audit(table), "conflicting-duplicates")
        assert reason in finding.message
        assert found(audit(table, noise=0.0), "conflicting-duplicates")
        for noise in (0.1, "estimate"):
            assert not found(audit(table, noise=noise), "conflicting-duplicates")


def test_learners_and_places_are_named():
    report = audit(CASES["at-chance"][0])
    (one,) = found(report, "at-chance")
    kernels = (
        "over S = 0 to S = 0.5 (S: the share of each component in how similar two inputs are; the "
        "whole combination has the rest)"
    )
    assert f"{kernels}; guessing among the labels reaches 50 %" in one.message
    (leak,) = found(report, "strong-leak")
    assert leak.message.startswith("At about one hidden ReLU layer (S = 0.425), outputs for ")
    frame = cross(sign, opposite).assign(third=0)
    frame = pd.concat([frame, frame.assign(third=1)], ignore_index=True)
    for order, cut in ((1, True), (2, False)):
        report = audit_split(
            frame, [*COLUMNS, "third"], "target", "split", require_order=order, add=0, seed=0
        )
        (leak,) = found(report, "strong-leak")
        assert leak.message.startswith("At one hidden ReLU layer (depth 1), ")
        words = (
            "depth 1 to depth 20 of a random ReLU network"
            + " that generalises by single parts alone (order 1) and memorizes whatever depends on "
            "more" * cut
        )
        text = " ".join(report.to_text().split())
        assert f"{words}: " in text
        assert ("--require-order 2 makes the next one count." in text) is cut
        (one,) = found(report, "at-chance")
        assert f"over {words}; guessing" in one.message


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("labels", [True, False])
def test_a_single_wrong_combination_says_nothing_of_others(labels, repeats):
    # Labels are "yes" where parts are equal, and one such combination is held out.
    cells = [(a, b) for a in range(3) for b in range(3)]
    answers = ("no", "yes") if labels else (0.0, 1.0)
    lines = [(a, b, answers[a == b], "test" if (a, b) == (0, 0) else "train") for a, b in cells]
    report = audit(
        pd.DataFrame(lines + lines[:1] * (repeats - 1), columns=[*COLUMNS, "target", "split"])
    )
    rule = "at-chance" if labels else "no-better-than-constant"
    (one,) = found(report, rule)
    words = "(0, 0) alone is held out, and a single combination says nothing of others."
    assert words in one.message
    assert one.message.endswith("or hold out more.")
    assert "guessing" not in one.message
    end = "wrong" if labels else "no better than by the mean of training"
    assert f"the only held-out combination is predicted {end}" in " ".join(report.to_text().split())
    more = [(*row[:3], "test") if row[:2] == (1, 1) else row for row in lines]
    report = audit(pd.DataFrame(more, columns=[*COLUMNS, "target", "split"]))
    assert not any("single combination" in item.message for item in report.findings)


def test_a_place_is_named_by_what_is_known_of_it():
    report = audit(cross(total))
    points = {point.position: point for point in report.evidence[0].prediction.points}
    assert representation_name(points[0.4]) == "S = 0.4"
    assert representation_name(points[0.425]) == "about one hidden ReLU layer (S = 0.425)"
    assert (
        representation_name(replace(points[0.4], position=3.0, label="depth 3"))
        == "3 hidden ReLU layers (depth 3)"
    )
    assert (
        representation_name(replace(points[0.4], position=float("nan")))
        == "the measured representation"
    )


@pytest.mark.parametrize(
    ("rule", "test", "apart"),
    [(sign, sign, True), (sign, opposite, False)],
    ids=["right more often", "wrong more often"],
)
def test_outputs_of_labels_are_told_by_how_far_apart_they_lie(rule, test, apart):
    report = audit(cross(rule, test), settings=Settings(leak_slope=10.0))
    prediction = report.evidence[0].prediction
    slope = prediction.points[prediction.reference].leak_slope
    (leak,) = found(report, "strong-leak")
    told = (
        f"outputs for correct and wrong labels of test lie {slope:.3g} times as far apart as in "
        "training (the threshold, leak_slope, is 10)"
        if apart
        else "outputs for test are higher for wrong labels than for correct ones, by "
        f"{-slope:.3g} of how far apart these are in training (the threshold, leak_slope, is 10)"
    )
    assert told in leak.message


def test_a_leak_that_leaves_every_label_right_is_none():
    settings = Settings(leak_slope=10.0)
    lines = [f"{item} {colour}" for item in "abcd" for colour in "xy"]
    frame = rows(
        *(f"{line} {line[-1]} {'test' if line in ('c y', 'd x') else 'train'}" for line in lines)
    )
    right = audit(frame, settings=settings)
    point = right.evidence[0].prediction.points[right.evidence[0].prediction.reference]
    assert point.accuracy == 1.0
    assert found(right, "strong-leak") == []
    assert len(found(audit(cross(sign, opposite), settings=settings), "strong-leak")) == 1


def test_what_is_not_decided_is_an_error_but_not_called_unsupported():
    report = audit(CASES["not-solvable"][0])
    assert report.solvable is False
    (evidence,) = report.evidence
    open_ = replace(evidence, solvability=replace(evidence.solvability, solvable=None))
    findings = judge([open_], Settings())
    assert [item.severity for item in findings if item.rule == "not-decided"] == ["error"]
    assert not [one for one in findings if one.rule == "not-solvable"]
    undecided = tuple(item for item in findings if item.rule == "not-decided")
    report = replace(report, evidence=(open_,), findings=undecided)
    assert report.solvable is None
    assert report.verdict == "undecided"
    assert report.headline.startswith(
        "Not decided if parts add up (order 1): whether such learners can give the held-out answers"
    )
    with pytest.raises(UnsupportedSplit, match="It was not decided whether the split is supported"):
        report.raise_if_unsupported()


def test_a_proof_names_its_rows_and_can_be_recomputed():
    frame = CASES["not-solvable"][0]
    report = audit(frame)
    (finding,) = found(report, "not-solvable")
    four = frame.iloc[finding.rows]
    assert len(four) == 4
    # The corners of a rectangle, whose alternating sum of targets is not 0.
    signed = np.sign(four["first"] * four["second"]) * four["target"]
    assert abs(signed.sum()) == 4
    assert "= 4. The best such learner" in finding.message
    assert "raise the order" not in finding.message


def test_thresholds_move_the_line():
    frame = CASES["not-determined"][0]
    assert audit(frame).verdict == "unsupported"
    assert found(audit(frame, settings=Settings(determined=0.0)), "not-determined") == []
    assert found(audit(shortcut(True), settings=Settings(shortcut_effect=0.6)), "shortcut") == []
    one = audit(shortcut(True)).evidence[0].shortcuts[0]
    # All combinations of a colour have one label in training and the other in test.
    assert (one.train, one.test, one.guess) == (1.0, 0.0, 0.5)


def test_rounding_to_four_digits_is_no_interaction():
    rng = np.random.default_rng(0)
    worth = rng.normal(size=(2, 9))
    frame = cross(lambda a, b: round(worth[0, a] + worth[1, b], 3), values=range(-4, 5))
    assert audit(frame).solvable is True
    assert audit(frame, settings=Settings(unexplained=0.0)).solvable is False


def test_unexplained_variance_is_allowed_by_its_threshold():
    frame = cross(total, lambda a, b: a + b + 0.01 * a * b)
    held_out = frame[frame["split"] == "test"]
    one_hot = pd.get_dummies(held_out[COLUMNS].astype(str)).to_numpy(dtype=float)
    y = held_out["target"].to_numpy(dtype=float)
    rest = y - one_hot @ np.linalg.lstsq(one_hot, y, rcond=None)[0]
    share = float(rest @ rest / np.sum((y - y.mean()) ** 2))
    assert len(found(audit(frame), "not-solvable")) == 1
    for factor, solvable in ((0.99, False), (1.01, True)):
        report = audit(frame, settings=Settings(unexplained=share * factor))
        assert report.solvable is solvable
        text = " ".join(report.to_text().split())
        explanation = report.to_dict()["splits"][0]["solvability"]["explanation"]
        for words in (text, explanation):
            # Three digits at most.
            assert all(
                len(digits.replace(".", "").lstrip("0")) <= 3
                for digits in re.findall(r"([0-9.]+) %", words)
            )
        if solvable:
            assert f"{100 * share * factor:.3g} % is allowed" in text
            assert f"{100 * share * factor:.3g} % is allowed" in explanation


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_those_of_a_naive_search(seed):
    frame = random_table(seed, labels=seed % 2 == 0)
    report = audit(frame, settings=Settings(coverage=2))
    train = frame[frame["split"] == "train"]
    seen = set(zip(train["first"], train["second"], strict=True))
    pairs = zip(frame["first"], frame["second"], strict=True)
    repeated = np.array([pair in seen for pair in pairs])
    for split in ("near", "far"):
        here = [one for one in report.findings if one.split == split]
        test = frame["split"] == split
        rule_rows = {rule: [one for one in here if one.rule == rule] for rule in RULES}

        also = np.flatnonzero(test & repeated).tolist()
        assert [one.rows.tolist() for one in rule_rows["not-held-out"]] == ([also] if also else [])

        held_out = frame[test & ~repeated]
        unseen = {
            f"{name} = {value}": held_out.index[held_out[name] == value].tolist()
            for name in COLUMNS
            for value in sorted(set(held_out[name]) - set(train[name]))
        }
        told = {one.subject: one.rows.tolist() for one in rule_rows["unseen-value"]}
        assert told == unseen

        others = set(held_out["target"]) - set(train["target"]) if seed % 2 == 0 else set()
        told = {one.subject: one.rows.tolist() for one in rule_rows["unseen-label"]}
        assert told == {
            f"target = {other}": held_out.index[held_out["target"] == other].tolist()
            for other in others
        }

        once = train.drop_duplicates(COLUMNS)
        thin = held_out.index[
            sum(
                (held_out[name].map(once[name].value_counts()) == 1).astype(int) for name in COLUMNS
            )
            > 0
        ].tolist()
        assert [one.rows.tolist() for one in rule_rows["thin-coverage"]] == ([thin] if thin else [])

        differ = held_out.groupby(COLUMNS)["target"].transform("nunique") > 1
        conflict = held_out.index[differ].tolist()
        told = [one.rows.tolist() for one in rule_rows["conflicting-duplicates"]]
        assert told == ([conflict] if conflict else [])

        # Two components at order 1: a row of one-hot values in the row space of training's.
        everyone = pd.get_dummies(frame[COLUMNS].astype(str)).to_numpy(dtype=float)
        basis = np.linalg.svd(everyone[train.index])[2][
            : np.linalg.matrix_rank(everyone[train.index])
        ]
        left = everyone - everyone @ basis.T @ basis
        open_ = [i for i in held_out.index if np.abs(left[i]).max() > 1e-9]
        # Those with values that training lacks have a rule of their own, unless all have.
        seen = {i for i in held_out.index if all(
            held_out.loc[i, name] in set(train[name]) for name in COLUMNS)}  # fmt: skip
        open_ = [i for i in open_ if i in seen] if seen else open_
        told = [one.rows.tolist() for one in rule_rows["not-determined"]]
        assert told == ([open_] if open_ else [])
    in_training = [one for one in report.findings if one.split == "train"]
    differ = train.groupby(COLUMNS)["target"].transform("nunique") > 1
    conflict = train.index[differ].tolist()
    assert [one.rows.tolist() for one in in_training] == ([conflict] if conflict else [])


def test_many_shortcuts_are_summed_up():
    report = audit(shortcut(True))
    (evidence,) = report.evidence
    one = evidence.shortcuts[0]
    many = replace(evidence, shortcuts=(one,) * (MOST_SHORTCUTS + 3))
    told = [finding for finding in judge([many], Settings()) if finding.rule == "shortcut"]
    assert len(told) == MOST_SHORTCUTS + 1
    assert told[-1].message == (
        "3 more shortcuts in test (with the share of training that each gives the right answer "
        "in, and of test): second 100 %, in test 0 %; second 100 %, in test 0 %; second 100 %, "
        "in test 0 %."
    )
    assert told[-1].rows.tolist() == told[0].rows.tolist()


def test_shortcuts_of_numbers_after_the_first_have_shares_of_training():
    report = audit(shortcut(True).assign(target=lambda f: 1.0 * (f["target"] == "yes")))
    (evidence,) = report.evidence
    first = evidence.shortcuts[0]
    many = replace(evidence, shortcuts=(first,) * (MOST_SHORTCUTS + 1))
    findings = [finding for finding in judge([many], Settings()) if finding.rule == "shortcut"]
    assert findings[-1].message == (
        "1 more shortcut in test (with the share of training that each explains): second 100 %."
    )


def test_a_pair_that_misleads_is_named_together():
    lines = [(a, b, c) for a in range(2) for b in range(2) for c in range(3)] * 30
    frame = pd.DataFrame(lines, columns=[*COLUMNS, "third"])
    frame["split"] = np.where(np.arange(len(frame)) // 12 % 3 > 0, "train", "test")
    swapped = (frame["first"] + frame["second"] + (frame["split"] == "test")) % 2
    for target, words in (
        (
            swapped.map({0: "no", 1: "yes"}),
            "first and second together give the right target in 100 % of training rows (weighted "
            "so that each label is as frequent as in test) and in 0 % of test, where always "
            "answering the commonest label is right in 50 %.",
        ),
        (
            1.0 * swapped,
            "first and second together explain 100 % of the variance of target in training; in "
            "test, where they predict that target rises by 1, it falls by 1",
        ),
    ):
        report = audit_split(
            frame.assign(target=target), [*COLUMNS, "third"], "target", "split", add=0
        )
        (finding,) = found(report, "shortcut")
        assert finding.message.startswith(words)
        assert finding.subject == "first and second"
        assert " A learner that relies on first and second is misled. " in finding.message
        assert "in which their values have other targets" in finding.message
        assert finding.message.endswith(" what first and second together predict.")


def test_a_shortcut_is_told_in_shares():
    told = [one.message for one in found(audit(shortcut(True)), "shortcut")]
    assert told == [
        "second alone gives the right target in 100 % of training rows (weighted so that each "
        "label is as frequent as in test) and in 0 % of test, where always answering the commonest "
        "label is right in 50 %. For example, second = 0 ('no' in 100 % of its training rows, 0 % "
        "of its test rows). A learner that relies on second is misled. Add training rows in which "
        "its values have other targets; or, if the split is meant to test this, keep it and report "
        "in how many test rows your network answers what second alone predicts."
    ]


def test_a_shortcut_says_which_rows_its_shares_are_of():
    data = pd.DataFrame(
        [(a, b, c) for a in range(3) for b in range(4) for c in range(2)],
        columns=["shape", "colour", "size"],
    )
    # Cubes have colours 0 and 1, cylinders 2 and 3, balls any; test has the others.
    test = (data["shape"] < 2) & (data["shape"] != data["colour"] // 2)
    data["what"] = data["shape"].map(("cube", "cylinder", "ball").__getitem__)
    data["split"] = np.where(test, "test", "train")
    (finding,) = found(audit_split(data, list(data)[:3], "what", "split", add=0), "shortcut")
    lacking = "right in 50 %. Training rows with 'ball', a label that test lacks, do not count. For"
    assert lacking in finding.message
    # The cone is a label that training lacks; a row of training is repeated in test.
    more = [(3, 0, 0, "cone", "test"), (0, 0, 0, "cube", "test")]
    data = pd.concat([data, pd.DataFrame(more, columns=list(data))])
    (finding,) = found(audit_split(data, list(data)[:3], "what", "split", add=0), "shortcut")
    assert (
        " In test this counts the 8 held-out rows whose label training has. Training rows with "
        "'ball', a label that these rows lack, do not count."
    ) in finding.message


def test_a_silenced_rule_is_kept_with_its_reason_and_does_not_count():
    frame = CASES["unseen-value"][0]
    settings = Settings(
        silence={"unseen-value": "new shapes come next week", "not-determined": "as above"}
    )
    report = audit(frame, settings=settings)
    assert audit(frame).verdict == "unsupported"
    assert [one.silenced for one in found(report, "unseen-value")] == ["new shapes come next week"]
    assert not {one.rule for one in report.errors} & set(settings.silence)
    assert "Silenced: new shapes come next week" in report.to_text()


def test_findings_come_errors_first_and_unseen_values_one_by_one():
    report = audit(random_table(3))
    order = list(RULES)
    places = [order.index(one.rule) for one in report.findings]
    assert places == sorted(places)


def test_the_rule_table_names_every_rule_and_threshold():
    text = rule_table(Settings(coverage=7, silence={"shortcut": "balanced\nby design"}))
    for rule in RULES.values():
        assert f"{rule.id}  ({rule.severity})\n" in text
    assert "coverage = 7" in text
    assert "shortcut_effect = 0.1" in text
    assert "Silenced:  balanced\\nby design" in text
    assert max(map(len, text.splitlines())) <= 100
    assert text.replace("\n    ", "\n").endswith(f"\n{EXAMPLE}")


def test_names_are_printed_on_one_line():
    assert printable("a\x1b[31mb\n") == "a\\x1b[31mb\\n"
    assert printable(" a") == "' a'"
    assert len(printable("x" * 1000)) <= 60
    assert one_line("é—中") == "é—中"
    assert [percent(x) for x in (0.995, 0.9949, 0.005, 0.0049)] == [">99 %", "99 %", "0 %", "<1 %"]


def test_a_shortcut_of_a_single_colour_is_told_for_labels_and_numbers():
    data = pd.DataFrame(
        [(a, b, c) for a in range(3) for b in ("red", "blue", "green") for c in range(3)],
        columns=["shape", "colour", "size"],
    )
    data["split"] = np.where((data["colour"] == "red") & (data["shape"] > 0), "test", "train")
    data["what"] = data["shape"].map({0: "cube", 1: "cylinder", 2: "sphere"}.__getitem__)
    parts = ["shape", "colour", "size"]
    report = audit_split(data, parts, "what", "split", add=0)
    (finding,) = found(report, "shortcut")
    assert finding.message.startswith(
        "colour alone gives the right what in 100 % of training rows (of those with values of "
        "test) and in 0 % of test, where always answering the commonest label is right in 50 %. "
        "For example, colour = red ('cube' in 100 % of its training rows, 0 % of its test rows). "
    )
    assert report.headline.endswith(
        "Shortcut: colour alone is right in 100 % of training (rows with values of test) and 0 % "
        "of test"
    )
    report = audit_split(data, parts, "shape", "split", add=0)
    (finding,) = found(report, "shortcut")
    assert finding.message.startswith(
        "colour alone explains 100 % of how shape differs from the mean of training there (in rows "
        "with the values of test); in test, where it predicts a difference of 1, shape differs "
        "from that mean by -0.75. For example, colour = red (mean 0 in training, 1.5 in test). "
    )
    assert report.headline.endswith(
        "Shortcut: colour alone explains 100 % of training (rows with values of test), but not test"
    )
    assert "100 %*" in report.to_html()


def test_a_rule_of_ones_own_stands_in_every_output():
    grid = [f"{a} v{i} {i} train" for a in "ab" for i in range(3)]
    report = audit(rows(*grid, "c v0 2 train", "c v1 1 test", target=float))
    added = Finding("my-rule", "error", "Row 3 is odd.", np.array([3]), "test", "")
    report = replace(report, findings=(added, *report.findings))
    assert report.verdict == "unsupported"
    assert "my-rule" in report.to_text()
    page = report.to_html()
    assert "<code>my-rule</code>" in page
    assert "A rule of your own." in page
    log = json.loads(report.to_sarif())["runs"][0]
    index = log["results"][0]["ruleIndex"]
    assert log["tool"]["driver"]["rules"][index]["id"] == log["results"][0]["ruleId"] == "my-rule"
    (suite,) = ElementTree.fromstring(report.to_junit())
    assert suite.get("tests") == str(len(RULES) + 1)
    failed = [case for case in suite if case.find("failure") is not None]
    assert failed[-1].get("name") == "my-rule"
    assert suite.get("failures") == str(len(failed))


def test_a_correlation_that_the_test_shares_stands_in_the_headline():
    report = audit(birds(0.95, 0.95))
    assert report.headline == (
        "No combination is held out: training has all of them. Spurious correlation: second alone "
        "is right in 95 % of training, and test cannot show whether a learner relies on it"
    )
    assert "Spurious correlation" not in audit(birds(0.5, 0.5)).headline


def test_warnings_of_chosen_rules_fail_a_build():
    report = audit(birds(0.95, 0.5))
    assert report.verdict == "supported"
    report.raise_if_unsupported()
    with pytest.raises(UnsupportedSplit) as caught:
        report.raise_if_unsupported(fail_on=["not-held-out"])
    lines = str(caught.value).splitlines()
    assert lines[0] == "Warnings that fail (fail_on):"
    assert [line.split(" ")[0] for line in lines[1:]] == ["not-held-out"]
    report.raise_if_unsupported(fail_on=["thin-coverage"])
    with pytest.raises(InputError, match="got 'shortcuts'; the nearest is shortcut"):
        report.raise_if_unsupported(fail_on=["shortcuts"])
    for fail_on, style, opening in (
        (["not-held-out"], "fails", "✗ Fails on warnings of not-held-out, as asked (fail_on)"),
        (["thin-coverage"], "open", "No combination is held out"),
    ):
        page = report.to_html(fail_on=fail_on)
        (heading,) = re.findall(rf'<h1 class="{style}">(.*?)</h1>', page, re.DOTALL)
        assert opening in " ".join(re.sub("<[^>]*>", "", heading).split())


def test_the_headline_says_which_value_is_predicted_wrong():
    roles = (["first", "second"], "target", "split")
    wrong, right = (audit_split(exchanged(of), *roles, add=0).headline for of in (True, False))
    assert ", but held-out combinations with first = 0 are predicted wrong" in wrong
    assert "predicted wrong" not in right
