"""What a study declares, and the sentences about what it declares wrongly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from study_variants import variant

from partwhole import study as frame
from partwhole._checks import InputError
from partwhole.study.declaration import read


@pytest.fixture
def write(tmp_path):
    def write(**changes):
        return read(variant(tmp_path, "study", toml=changes).with_suffix(".toml"))

    return write


def numbers(**changes):
    share = frame.Estimate(0.5, 0.48, 0.52, 6)
    few = frame.Estimate(0.5, 0.4, 0.6, 3)
    rest = {"lowest": 0.4, "unknown": math.nan, "edges": 1, "counts": np.zeros((2, 3))}
    return {"share": share, "few": few, **rest} | changes


def test_numbers_fill_sentences_and_claims(write):
    findings = write().findings(numbers())
    assert findings.answer == "After 1,000 throws the share of heads is 0.50, from 0.48 to 0.52."
    verdicts = [claim.verdict.value for claim in findings.claims]
    assert verdicts == [
        "holds", "does not hold", "holds", "inconclusive", "outside its assumptions", "illustration"
    ]  # fmt: skip
    first = findings.claims[0]
    assert (first.paper, first.item, first.n) == ("Bernoulli (1713)", "Part 4", 6)
    assert findings.claims[1].paper == "derived here"
    assert findings.claims[5].paper == "Nobody (1700)"
    (check,) = findings.checks
    assert (check.count, check.largest, check.passed) == (6, 0.0, True)


def test_signs_and_unknown_numbers_are_written_as_they_are_read(write):
    findings = write().findings(numbers(share=frame.Estimate(-0.5, math.nan, 0.52, 1)))
    assert findings.answer == (
        "After 1,000 throws the share of heads is −0.50, from an unknown number to 0.52."
    )


@pytest.mark.parametrize("worst", [2e-9, math.nan, -1.0])
def test_a_check_fails_by_its_largest_difference(write, worst):
    (check,) = write().findings(numbers(counts=np.array([0.0, worst]))).checks
    assert not check.passed


def test_a_reference_may_be_another_number(write):
    declaration = write(
        **{"reference = 0.5\ntolerance = 0.05": 'reference = "lowest"\ntolerance = 0.2'}
    )
    assert declaration.findings(numbers()).claims[0].reference == 0.4


def test_a_claim_beside_an_infinite_number_is_not_decided(write):
    declaration = write(**{"reference = 0.5\ntolerance = 0.05": 'reference = "edges"'})
    assert declaration.findings(numbers(edges=math.inf)).claims[0].verdict.value == "inconclusive"


def test_a_claim_of_other_presets_needs_no_number(write):
    declaration = write(**{'number = "lowest"': 'number = "lowest"\npresets = ["laptop"]'})
    given = numbers()
    assert len(declaration.findings(given, "laptop").claims) == 6
    assert len(declaration.findings(given, "quick").claims) == 5
    del given["lowest"]
    assert len(declaration.findings(given, "quick").claims) == 5
    with pytest.raises(InputError, match=r"got 'lowest' in .*, line 24"):
        declaration.findings(given, "laptop")


def test_the_source_names_the_items_once(write):
    assert write().source == "Bernoulli (1713), Part 4"


RELATION, NAME = 'relation = "at least"', 'number = "lowest"\n'


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (RELATION, 'relation = "above"', "'at least', 'at most'; got 'above' in .*, line 27;"),
        ('paper = "Bernoulli (1713)"\n', "", "has the field paper; got 'none' in .*, line 1;"),
        ("question = ", "questoin = ", "is one of question.*; got 'questoin' in .*, line 1"),
        ("tolerance = 0.01", "tolerance = -0.01", "at least 0; got -0.01 in .*, line 20;"),
        ("tolerance = 0.01", 'tolerance = "x"', "claim is a number; got 'x' in .*, line 20;"),
        (
            'why = "nobody knows"\n',
            "",
            "gives the reason for it in `why`; got 'share' in .*, line 20;",
        ),
        ("applies = false", 'applies = "no"', "is true or false; got 'no' in .*, line 41;"),
        ("[[checks]]", "[checks]", "checks are tables.*; got .* in .*, line"),
        (
            "reference = 0.75",
            "reference =",
            "TOML file beside its module; got .*line 19.*; correct it",
        ),
        (NAME, "", "a claim has the field number; got 'none' in .*, line 24;"),
    ],
)
def test_what_is_declared_wrongly_is_named_with_its_line(write, old, new, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        write(**{old: new})
    assert "\n" not in str(caught.value)


def test_a_number_that_is_declared_and_not_supplied(write):
    given = numbers()
    given["smallest"] = given.pop("lowest")
    rule = r"one that its `numbers` returns; got 'lowest' in .*study.toml, line 24; return it"
    with pytest.raises(InputError, match=rule):
        write().findings(given)


def test_a_number_that_is_supplied_and_not_declared(tmp_path):
    path = variant(tmp_path, "study", {'"edges": 1': '"edges": 1,\n        "spare": 2'})
    line = 1 + next(i for i, line in enumerate(path.read_text().splitlines()) if "spare" in line)
    rule = rf"got 'spare' in .*study.py, line {line}; name it in study.toml, or leave it out"
    with pytest.raises(InputError, match=rule):
        read(path.with_suffix(".toml")).findings(numbers(spare=1.0))
    with pytest.raises(InputError, match=r"got 'typed' in `numbers`; name it in study.toml"):
        read(path.with_suffix(".toml")).findings(numbers(typed=1.0))


def test_a_study_without_its_file(tmp_path):
    path = variant(tmp_path, "bare")
    path.with_suffix(".toml").unlink()
    with pytest.raises(InputError, match=r"in a TOML file beside its module; got no .*bare.toml"):
        read(path.with_suffix(".toml"))
