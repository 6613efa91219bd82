"""Classifiers in place of ridge readouts: those of the measure itself, in any unit."""

from __future__ import annotations

import json
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from quick_measures import few_repetitions, quick

import partwhole as pw
from partwhole._checks import InputError
from partwhole.cli import main
from partwhole.measurement import classifiers
from partwhole.measures.readouts import LDA, SVM, held_out_readouts
from partwhole.recordings.files import RESPONSES

ROWS = np.repeat(list(product(range(2), repeat=2)), 6, axis=0)


def responses(unit=1.0):
    rng = np.random.default_rng(0)
    means = np.eye(2)[ROWS].reshape(len(ROWS), -1) @ rng.normal(size=(4, 12))
    return unit * (means + 1.5 * rng.normal(size=means.shape))


def measured(classifier, unit=1.0, **options):
    recording = pw.recordings.from_trials(responses(unit), ROWS)
    return quick(recording, classifier=classifier, bootstrap=20, progress=False, **options)


@pytest.mark.parametrize(("name", "words"), [
    ("lda", "Linear discriminants (LDA with a shrinkage of 0.1) of a condition held out"),
    ("svm", "Linear support vector machines (C = "),
])  # fmt: skip
def test_readouts_are_those_of_the_classifier_in_any_unit(name, words):
    c = 1.0 / np.var(responses(), axis=0).mean()
    kind = LDA(shrinkage=0.1) if name == "lda" else SVM(C=c)
    recording = pw.recordings.from_trials(responses(), ROWS)
    alone = held_out_readouts(recording, classifier=kind)
    result = measured(name)
    np.testing.assert_allclose(result.held_out.accuracy, alone.accuracy, rtol=1e-9)
    np.testing.assert_array_equal(result.held_out.measured_accuracy, alone.measured_accuracy)
    larger = measured(name, unit=1e3, held_out=(ROWS == 0).all(axis=1)).held_out
    np.testing.assert_allclose(larger.accuracy, alone.accuracy[:1], rtol=1e-6)
    np.testing.assert_array_equal(larger.measured_accuracy, alone.measured_accuracy[:1])
    assert words in " ".join(result.describe().split())
    page = result.to_html()
    assert words.split(" of a condition")[0] in page
    assert "The penalty is too small where" not in page
    document = json.loads(result.to_json())
    assert document["settings"]["classifier"] == name
    assert document["held_out"]["ridge"] is None


def test_ridge_readouts_are_called_so():
    result = measured("ridge")
    assert "Ridge readouts of a condition held out, trained on all others:" in result.describe()
    assert "The penalty is too small where" in result.to_html()


def test_the_command_takes_a_classifier(tmp_path, capsys):
    np.save(tmp_path / "responses.npy", responses())
    pd.DataFrame(ROWS, columns=["a", "b"]).to_csv(tmp_path / "table.csv", index=False)
    files = [str(tmp_path / "responses.npy"), str(tmp_path / "table.csv")]
    with few_repetitions():
        main(["measure", *files, "--classifier", "svm", "--bootstrap", "20"])
    assert "Linear support vector machines (C = " in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["measure", *files, "--held-out", "none", "--output", str(tmp_path / "rows.csv")])
    assert capsys.readouterr() == (
        "",
        "partwhole: --output has a row for each held-out condition; got --held-out none; leave one "
        "of them out\n",
    )


@pytest.mark.parametrize(("classifier", "options", "sentence"), [
    ("lda", {"ridge": 1.0},
     "ridge is the penalty of ridge readouts; got ridge=1.0 with classifier='lda'; leave one of "
     "them out"),
    ("lda", {"held_out": ROWS[:, 0] == 1},
     "a classifier is trained on trials of every label; got none of some label where set 0 is held "
     "out; hold out fewer conditions together, or leave classifier out"),
])  # fmt: skip
def test_what_cannot_be_trained_is_refused_before_anything_is_measured(
    classifier, options, sentence, monkeypatch
):
    monkeypatch.setattr("partwhole.measurement.measurement.side_by_side", None)
    with pytest.raises(InputError) as error:
        measured(classifier, **options)
    assert str(error.value) == sentence


def test_machines_of_three_values_or_without_scikit_learn_are_refused(monkeypatch):
    rows = np.repeat(list(product(range(3), range(2))), 3, axis=0)
    noise = np.random.default_rng(1).normal(size=(18, 5))
    recording = pw.recordings.from_trials(noise, pd.DataFrame(rows, columns=["shape", "colour"]))
    with pytest.raises(InputError) as error:
        pw.measure(recording, classifier="svm")
    assert str(error.value) == (
        'classifier="svm" separates two values of each component; got more of shape; use '
        'classifier="lda"'
    )
    monkeypatch.setattr(classifiers, "find_spec", lambda _: None)
    with pytest.raises(InputError) as error:
        measured("svm")
    assert str(error.value) == (
        'classifier="svm" needs scikit-learn; got a Python without it; run pip install '
        '"partwhole[digits]", or use classifier="lda"'
    )


@pytest.mark.parametrize(("options", "sentence"), [
    (["--classifier", "lda", "--ridge", "2"],
     "ridge is the penalty of ridge readouts; got --ridge 2.0 with --classifier lda; leave one of "
     "them out"),
    (["--classifier", "svm"],
     "--classifier svm separates two values of each component; got more of a; use --classifier "
     "lda"),
    (["--window", "0", "1"],
     "a window is of responses over time; got responses of shape (18, 5); leave --window out"),
])  # fmt: skip
def test_errors_of_the_command_name_options(options, sentence, tmp_path, capsys):
    rows = np.repeat(list(product(range(3), range(2))), 3, axis=0)
    np.save(tmp_path / "responses.npy", np.random.default_rng(1).normal(size=(18, 5)))
    pd.DataFrame(rows, columns=["a", "b"]).to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(SystemExit):
        main(["measure", str(tmp_path / "responses.npy"), str(tmp_path / "table.csv"), *options])
    assert capsys.readouterr().err == f"partwhole: {sentence}\n"


def test_notes_of_the_command_name_options(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = np.repeat(list(product(range(2), range(2))), 6, axis=0)
    noise = rng.normal(size=(24, 20, 3))
    noise[:, 2] *= 1e4
    np.save(tmp_path / "responses.npy", noise)
    table = pd.DataFrame(rows, columns=["a", "b"]).assign(run=np.arange(24) % 4)
    table.assign(block=table["run"]).to_csv(tmp_path / "table.csv", index=False)
    files = [str(tmp_path / "responses.npy"), str(tmp_path / "table.csv")]
    with few_repetitions():
        main(["measure", *files, "--groups", "run", "--components", "a", "b", "--bootstrap", "20",
              "--json", str(tmp_path / "all.json")])  # fmt: skip
    notes = json.loads((tmp_path / "all.json").read_text())["notes"]
    text = " ".join(capsys.readouterr().out.split())
    for note in (
        "all but the time course is an average over 3 times (0 to 2); choose others with --window "
        "START STOP",
        "neuron 2 (from 0) has 99 % of the variance of all responses: see whether it is in other "
        "units, or whiten with --whiten diagonal",
    ):
        assert note in notes
        assert note in text
    assert not any(re.search(r"\b(ridge|window|whiten)=", note) for note in notes)


def test_the_help_lists_the_formats_that_are_read(capsys):
    with pytest.raises(SystemExit):
        main(["measure", "--help"])
    text = " ".join(re.sub(r"[│╭╮╰╯─]", " ", capsys.readouterr().out).split())
    responses, conditions = text.split("File with a row for")[1:3]
    assert all(ending in responses for ending in RESPONSES)
    assert all(ending in conditions.split("--")[0] for ending in (".tsv", ".npz", ".jsonl"))
