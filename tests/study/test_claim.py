"""A verdict follows from the numbers, and from nothing else."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.study.claim import Claim, Verdict, tally


def claim(found, reference=1.0, tolerance=0.1, **rest):
    return Claim("A number.", "a paper", reference, found, tolerance, **rest)


@pytest.mark.parametrize(
    ("relation", "found", "verdict"),
    [
        ("equal", 1.05, "holds"),
        ("equal", 1.11, "does not hold"),
        ("equal", 0.89, "does not hold"),
        ("at least", 5.0, "holds"),
        ("at least", 0.91, "holds"),
        ("at least", 0.89, "does not hold"),
        ("at most", -5.0, "holds"),
        ("at most", 1.09, "holds"),
        ("at most", 1.11, "does not hold"),
        ("equal", math.nan, "inconclusive"),
        ("at least", math.inf, "holds"),
    ],
)
def test_a_number(relation, found, verdict):
    assert claim(found, relation=relation).verdict == verdict


@pytest.mark.parametrize(
    ("relation", "holding"), [("equal", [3]), ("at least", [3, 4]), ("at most", [2, 3])]
)
def test_without_a_tolerance_the_reference_is_the_bound(relation, holding):
    found = [Claim("A count.", "counting", 3, n, relation=relation).verdict for n in (2, 3, 4)]
    assert [n for n, verdict in zip((2, 3, 4), found, strict=True) if verdict == "holds"] == holding


@pytest.mark.parametrize(
    ("relation", "interval", "verdict"),
    [
        ("equal", (0.95, 1.05), "holds"),
        ("equal", (0.95, 1.15), "inconclusive"),
        ("equal", (0.5, 1.5), "inconclusive"),
        ("equal", (1.15, 1.2), "does not hold"),
        ("equal", (0.1, 0.2), "does not hold"),
        ("at least", (0.95, 9.0), "holds"),
        ("at least", (0.5, 9.0), "inconclusive"),
        ("at least", (0.5, 0.6), "does not hold"),
        ("at most", (-9.0, 1.05), "holds"),
        ("at most", (-9.0, 1.5), "inconclusive"),
        ("at most", (1.4, 1.5), "does not hold"),
        ("equal", (math.nan, 1.0), "inconclusive"),
    ],
)
def test_an_interval(relation, interval, verdict):
    assert claim(1.0, interval=interval, relation=relation).verdict == verdict


def test_outside_its_assumptions_nothing_is_decided():
    assert claim(1.0, applies=False).verdict is Verdict.OUTSIDE
    assert claim(math.nan, applies=False).verdict is Verdict.OUTSIDE


FINITE = st.floats(-1e6, 1e6)


def test_few_samples_illustrate_and_decide_nothing():
    few = claim(1.0, interval=(0.99, 1.01), n=4)
    assert few.verdict is Verdict.ILLUSTRATION
    assert claim(1.0, interval=(0.99, 1.01), n=5).verdict is Verdict.HOLDS
    assert claim(1.0, n=5).verdict is Verdict.ILLUSTRATION
    assert claim(1.0, math.nan).verdict is Verdict.OPEN


def test_a_published_number_outside_the_interval_is_remarked():
    remark = "The published number lies outside our 95 % interval."
    assert claim(1.04, interval=(1.02, 1.06), item="Figure 1").remark == remark
    assert claim(1.04, interval=(0.98, 1.06), item="Figure 1").remark == ""
    assert claim(1.04, interval=(1.02, 1.06)).remark == ""


@given(found=FINITE, reference=FINITE, tolerance=st.floats(0, 1e6), low=FINITE, high=FINITE)
def test_a_wider_interval_never_turns_a_verdict_around(found, reference, tolerance, low, high):
    sure = claim(found, reference, tolerance, interval=(found, found)).verdict
    assert sure == claim(found, reference, tolerance).verdict
    wide = claim(found, reference, tolerance, interval=(min(low, found), max(high, found)))
    assert wide.verdict in {sure, Verdict.OPEN}


@given(found=FINITE, reference=FINITE, tolerance=st.floats(0, 1e6))
def test_equal_means_at_least_and_at_most(found, reference, tolerance):
    held = {
        relation: claim(found, reference, tolerance, relation=relation).verdict is Verdict.HOLDS
        for relation in ("equal", "at least", "at most")
    }
    assert held["equal"] == (held["at least"] and held["at most"])


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"tolerance": -1},
            "tolerance is a finite number of at least 0; got -1; "
            "pass a number of at least 0, or leave it out for 0",
        ),
        (
            {"relation": "above"},
            'relation is "equal", "at least" or "at most"; got \'above\'; choose one of them',
        ),
        (
            {"reference": math.inf},
            "a claim's reference is a finite number, or NaN if it is not known; got inf; "
            "state the number that the source claims",
        ),
        (
            {"interval": (2.0, 1.0)},
            "an interval names its low end first; got (2.0, 1.0); swap its ends",
        ),
    ],
)
def test_what_a_claim_refuses(fields, sentence):
    with pytest.raises(InputError) as caught:
        claim(1.0, **fields)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("holds", "fails", "open_", "outside", "words"),
    [
        (32, 0, 0, 0, "32 claims: all hold"),
        (1, 0, 0, 0, "1 claim: it holds"),
        (39, 2, 0, 0, "41 claims: 39 hold, 2 do not"),
        (0, 1, 0, 0, "1 claim: 1 does not hold"),
        (
            253, 35, 16, 1,
            "305 claims: 253 hold, 35 do not, 16 inconclusive, 1 outside its assumptions",
        ),
        (0, 0, 0, 2, "2 claims: 2 outside their assumptions"),
        (0, 0, 0, 0, "0 claims"),
    ],
)  # fmt: skip
def test_a_tally_says_what_became_of_the_claims(holds, fails, open_, outside, words):
    claims = [claim(1.0)] * holds + [claim(2.0)] * fails + [claim(math.nan)] * open_
    assert tally([*claims, *[claim(1.0, applies=False)] * outside]) == words
