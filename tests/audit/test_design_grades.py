"""Graded test splits and certificates, checked by linear algebra and by ten lines of a stranger."""

from __future__ import annotations

import copy
import json
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from design_round_trip import proves

from partwhole import audit_split
from partwhole._checks import InputError
from partwhole.audit import design_split
from partwhole.audit.designing import certificate as certificates
from partwhole.audit.designing.bound import lower_bound, rank_modulo
from partwhole.audit.designing.grades import windows
from partwhole.cli import main


def indicators(rows, n_values, order):
    """Return a column for each conjunction of exactly so many values."""
    columns = []
    for chosen in combinations(range(rows.shape[1]), order):
        sizes = [n_values[c] for c in chosen]
        codes = np.ravel_multi_index(tuple(rows[:, list(chosen)].T), sizes)
        columns.append(np.eye(int(np.prod(sizes)))[codes])
    return np.hstack(columns)


REQUESTS = [
    ({"a": 4, "b": 5}, {"grades": 3}),
    ({"a": 3, "b": 4, "c": 3}, {"grades": 3, "shortcut": {"b": 0.9}}),
    ({"a": 3, "b": 8, "c": 2}, {"grades": 2, "require_order": 2, "shortcut": {"b": 0.9}}),
    ({"a": 3, "b": 3, "c": 3, "d": 2}, {"grades": 3, "require_order": 2, "test_share": 0.15}),
]


@cache
def requested(i):
    """Return factors and options, and their design."""
    factors, options = REQUESTS[i]
    return factors, options, design_split(factors, **options)


@pytest.mark.parametrize("i", range(len(REQUESTS)))
def test_grades_are_what_least_squares_amplifies(i):
    factors, options, design = requested(i)
    n_values, order = tuple(factors.values()), options.get("require_order", 1)
    train, test = (indicators(rows, n_values, order) for rows in (design.train, design.test))
    assert np.linalg.matrix_rank(train) == len(train)
    # With independent rows the weights are unique: the answer of the pseudoinverse is theirs.
    weights = test @ np.linalg.pinv(train)
    np.testing.assert_allclose(weights @ train, test, atol=1e-9)
    np.testing.assert_allclose(np.sum(weights**2, axis=1), design.noise_gain, rtol=1e-9)
    np.testing.assert_array_equal(np.sum(np.abs(weights) > 1e-9, axis=1), design.terms)
    gains = [design.noise_gain[design.grade == k + 1] for k in range(options["grades"])]
    for easier, harder in pairwise(gains):
        assert easier.max() < harder.min()
    assert np.linalg.matrix_rank(test) <= design.lower_bound <= len(train)
    assert design.lower_bound <= len(train)


def test_noise_in_training_answers_is_amplified_as_the_grades_say():
    """A least-squares fit of answers that are noise alone, many times."""
    _, _, design = requested(0)
    train, test = (indicators(rows, (4, 5), 1) for rows in (design.train, design.test))
    noise = np.random.default_rng(0).normal(size=(len(train), 40_000))
    answers = test @ np.linalg.lstsq(train, noise, rcond=None)[0]
    np.testing.assert_allclose(answers.var(axis=1), design.noise_gain, rtol=0.05)


@pytest.mark.parametrize("i", range(len(REQUESTS)))
def test_the_audit_judges_each_grade_by_itself(i):
    factors, options, design = requested(i)
    frame, order = design.to_frame(), options.get("require_order", 1)
    report = audit_split(frame, list(factors), "target", "split", require_order=order, add=0)
    assert report.verdict == "supported"
    names = [f"test-{k + 1}" for k in range(options["grades"])]
    assert [evidence.case.name for evidence in report.evidence] == names
    for evidence, name in zip(report.evidence, names, strict=True):
        rungs = {rung.order: rung for rung in evidence.ladder}
        assert rungs[order].determined == rungs[order].held_out == (frame["split"] == name).sum()
        if order + 1 in rungs:
            assert rungs[order + 1].determined == 0


def test_grades_are_equally_large_where_noise_levels_part_them():
    design = design_split({"a": 8, "b": 8}, grades=3)
    assert sorted(np.bincount(design.grade)[1:].tolist()) == [6, 6, 7]
    # All that is free is held out, and a tree of three and eight has at most six far pairs.
    design = design_split({"a": 3, "b": 8, "c": 2}, require_order=2, grades=2)
    assert np.bincount(design.grade)[1:].tolist() == [8, 6]
    assert set(design.noise_gain.tolist()) == {7, 11}


def test_windows_of_noise_levels():
    of_grades = windows(np.array([3, 3, 5, 5, 5, 5, 9, 9]), 4, 2)
    assert of_grades is not None
    assert [(places.tolist(), size) for places, size in of_grades[1]] == [
        ([0, 1], 2), ([2, 3, 4, 5], 2)
    ]  # fmt: skip
    assert windows(np.array([3, 3, 3, 3]), 2, 2) is None
    # Two of the first level at most: three and two rather than none.
    of_grades = windows(np.array([3, 3, 5, 5, 5]), 5, 2)
    assert of_grades is not None
    assert [size for _, size in of_grades[1]] == [2, 3]


def test_a_small_training_set_takes_factors_together():
    """A partition of eight factors needs fewer than every factor by itself, as linear algebra."""
    factors = dict.fromkeys("abcdefgh", 2)
    design = design_split(factors, require_order=2, test_share=0.02, seed=0)
    assert any(len(block) > 1 for block in design.blocks)
    train, test = (indicators(rows, (2,) * 8, 2) for rows in (design.train, design.test))
    for i in range(len(test)):
        rows, weights = design.derivation(i)
        np.testing.assert_array_equal(weights @ train[rows], test[i])
        assert len(rows) == design.terms[i]
    # Each of five needs 37 combinations near the reference, of which 8 and 1 at least are shared.
    assert len(design.train) < 28
    assert " counted as one)" in design.describe()


def certified(seed=0, grades=2):
    design = design_split({"a": 4, "b": ["x", "y", "z"], "c": 3}, grades=grades, seed=seed)
    return json.loads(json.dumps(design.certificate()))


@pytest.mark.parametrize("grades", [1, 2])
def test_a_certificate_is_a_proof_and_a_corrupted_one_is_none(grades):
    certificate = certified(grades=grades)
    assert proves(certificate)
    rng = np.random.default_rng(0)
    for _ in range(60):
        wrong = copy.deepcopy(certificate)
        entry = wrong["held_out"][rng.integers(len(wrong["held_out"]))]
        at = int(rng.integers(len(entry["weights"])))
        kind = int(rng.integers(5))
        if kind == 0:
            entry["weights"][at] += int(rng.choice([-1, 1]))
        elif kind == 1:
            entry["train"][at] = (entry["train"][at] + 1) % len(wrong["train"])
        elif kind == 2:
            factor = int(rng.integers(3))
            values = wrong["factors"]["abc"[factor]]
            others = [v for v in values if v != entry["combination"][factor]]
            entry["combination"][factor] = others[0]
        elif kind == 3:
            del entry["weights"][at], entry["train"][at]
        else:
            wrong["train"][entry["train"][at]] = entry["combination"]
        assert not proves(wrong), kind
    if grades == 2:
        for entry in certificate["held_out"]:
            entry["split"] = {"test-1": "test-2", "test-2": "test-1"}[entry["split"]]
        assert not proves(certificate)


def test_reasons_of_the_bound_name_what_gives_it():
    def reason(factors, **options):
        design = design_split(factors, **options)
        return design.certificate()["lower_bound_reason"], design

    text, _ = reason({"a": 3, "b": 8, "c": 2}, require_order=2)
    assert text.startswith("the combinations that are not held out are as many as sums of order 2")
    text, design = reason({"a": 2, "b": 2, "c": 2}, test_share=0.1)
    assert text.startswith("weights under which all sums of order 1 vanish are on at least 4 ")
    assert design.lower_bound == 3
    text, design = reason({"a": 4, "b": 4, "c": 4}, test_share=0.3)
    assert text == "the held-out combinations span 10 dimensions, all that sums of order 1 have"
    assert design.lower_bound == 10


def test_the_bound_of_conjunctions_names_their_factors():
    test = np.array([(i, i) for i in range(4)])
    bound, reason = lower_bound(test, ("a", "b"), (5, 5), 1, 8, np.ones((4, 8), dtype=np.int64))
    assert bound == 4
    assert reason == "training has each of the 4 values of a that held-out ones have"


def test_the_rank_modulo_a_prime_is_that_of_whole_numbers():
    rng = np.random.default_rng(0)
    for rank in (1, 3, 6):
        left, right = rng.integers(-3, 4, size=(9, rank)), rng.integers(-3, 4, size=(rank, 7))
        assert rank_modulo(left @ right) == np.linalg.matrix_rank(left @ right)
    assert rank_modulo(np.zeros((3, 2), dtype=np.int64)) == 0


def test_values_without_rows_are_named():
    design = design_split({"shape": 4, "colour": 8, "size": 2}, grades=3, seed=0)
    frame = design.to_frame()
    (unused,) = {f"colour {i}" for i in range(8)} - set(frame["colour"])
    assert f" Nothing held out has {unused}, so training needs no" in design.describe()
    whole = design_split({"shape": 4, "colour": 5}, grades=3, seed=0)
    assert set(whole.to_frame()["colour"]) == {f"colour {i}" for i in range(5)}
    assert "Nothing held out" not in whole.describe()


def test_the_command_says_how_to_audit_the_design(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = "design --factors a:3 b:4 c:2 --require-order 2 --test-share 0.2 --output a.csv"
    main(words.split())
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("To audit")]
    assert line.endswith(" --require-order 2")
    main(line.removeprefix("To audit it: partwhole ").split())
    assert "Supported if pairs interact (order 2)" in capsys.readouterr().out


def test_the_command_writes_grades_and_a_certificate_or_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = "design --factors shape:4 colour:5 --grades 3 --output a.csv --certificate a.json"
    main(words.split())
    assert "test-3: 2 held out, of 7 terms and noise gain 7." in capsys.readouterr().err
    frame, certificate = pd.read_csv("a.csv"), json.loads((tmp_path / "a.json").read_text())
    assert proves(certificate)
    assert set(frame["split"]) == {"train", "test-1", "test-2", "test-3"}
    held_out = [entry["combination"] for entry in certificate["held_out"]]
    rows = frame[frame["split"] != "train"]
    assert rows[["shape", "colour"]].to_numpy().tolist() == held_out
    assert rows["noise_gain"].tolist() == [e["noise_gain"] for e in certificate["held_out"]]
    for name in ("a.csv", "a.json"):
        (tmp_path / name).unlink()
    monkeypatch.setattr(certificates, "MOST_WEIGHTS", 17)
    for entry, sentence in [
        (words, "a certificate has at most 17 weights; got 30 for 6 held-out combinations; hold"),
        (
            words.replace("a.json", "no/a.json"),
            "--certificate lies in a folder that exists; got no/a.json; make the folder, or name",
        ),
        (
            words.replace("a.json", "a.csv"),
            "--certificate is a separate file; got a.csv, which is --output; name another file",
        ),
    ]:
        with pytest.raises(SystemExit) as error:
            main(entry.split())
        assert error.value.code == 2
        assert capsys.readouterr().err.startswith(f"partwhole: {sentence}")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("factors", "options", "sentence"),
    [
        (
            {"a": 3, "b": 3},
            {"grades": 4},
            "each grade has a held-out combination or more; got 4 grades of 3 held out; hold out",
        ),
        (
            {"a": 3, "b": 8, "c": 2},
            {"grades": 3, "require_order": 2},
            "every noise gain in a grade is above those in the grade before; got no such training "
            "set for 3 grades of 14 held-out combinations in 16 trials; ask for fewer grades or",
        ),
        (
            {"a": 5, "b": 5},
            {"grades": 2, "shortcut": {"b": 0.9}},
            "every noise gain in a grade is above those in the grade before, and training, whose "
            "weights are unique, shows the shortcut; got no such training set for 2 grades of 8 ",
        ),
        (
            {"a": 3, "noise_gain": 3},
            {"grades": 2},
            "columns target, split, terms and noise_gain are of the table itself; got a factor",
        ),
        (
            {"a": 100, "b": 100},
            {"grades": 2, "test_share": 0.5},
            "graded splits have at most 500,000 weights, of each held-out combination one for each",
        ),
    ],
)
def test_requests_of_grades_are_refused_in_one_sentence(factors, options, sentence):
    with pytest.raises(InputError) as error:
        design_split(factors, **options)
    assert str(error.value).startswith(sentence)


def test_values_of_a_certificate_are_told_apart():
    design = design_split({"a": [1, "1"], "b": [2.5, np.float64(3.5)]}, test_share=0.25)
    assert design.certificate()["factors"] == {"a": [1, "1"], "b": [2.5, 3.5]}
    design = design_split({"a": [(1, 2), "(1, 2)"], "b": 3}, test_share=0.2)
    with pytest.raises(InputError, match="values in a certificate are told apart by their text"):
        design.certificate()


def test_training_has_no_more_for_a_shortcut_than_kinds_that_its_sums_lack():
    """Each combination that no sum uses is the only one with its target that goes, or does not."""
    n_more = 0
    requests = [
        ({"a": 3, "b": 5, "c": 4}, {"test_share": 0.1}),
        ({"a": 3, "b": 5, "c": 4}, {"grades": 2}),
        ({"a": 2, "b": 5, "c": 4}, {"test_share": 0.12, "grades": 2}),
    ]
    for factors, options in requests:
        design = design_split(factors, shortcut={"b": 0.9}, seed=0, **options)
        used = {row for i in range(len(design.test)) for row in design.derivation(i)[0].tolist()}
        kinds = [(a, b % factors["a"] == a) for a, b, _ in design.train.tolist()]
        for row in set(range(len(design.train))) - used:
            n_more += 1
            assert kinds.count(kinds[row]) == 1
    assert n_more > 0


def test_of_as_small_designs_that_without_other_shortcuts_is_chosen(monkeypatch):
    def gain():
        designs = [
            design_split({"a": 3, "b": 4, "c": 4}, shortcut={"b": 0.9}, seed=seed)
            for seed in range(2)
        ]
        tables = [design.to_frame().query("split == 'train'") for design in designs]
        shares = [pd.crosstab(table["a"], table["c"], normalize="index") for table in tables]
        return np.mean([share.max(axis=0).sum() for share in shares])

    chosen = gain()
    monkeypatch.setattr("partwhole.audit.designing.trials._unasked", lambda *_: 0.0)
    assert chosen < gain()


def test_a_design_whose_grades_are_predicted_at_chance_gives_way(monkeypatch):
    """Learners that memorise a part add up too little in long sums of few training answers."""
    factors, options = {"a": 5, "b": 2, "c": 2}, {"test_share": 0.45, "grades": 3, "seed": 405}

    def verdict():
        frame = design_split(factors, **options).to_frame()
        return audit_split(frame, list(factors), "target", "split", add=0).verdict

    assert verdict() == "supported"
    monkeypatch.setattr("partwhole.audit.designing.trials.is_learnable", lambda _: True)
    assert verdict() == "unsupported"
