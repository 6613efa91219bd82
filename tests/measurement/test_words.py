"""What a measurement says where little can be said: noise, one component, nested columns."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from quick_measures import quick

import partwhole as pw
from partwhole._checks import InputError
from partwhole.measurement import measurement as module
from partwhole.measurement.abstraction import few_dimensions
from partwhole.measurement.charts import dots
from partwhole.measurement.notes import (
    followers,
    marks,
    notes_on_columns,
    notes_on_labels,
    notes_on_neurons,
    notes_on_scale,
    notes_on_trials,
    notes_on_width,
)
from partwhole.measurement.readout_words import Verdicts, readout_in_words, verdicts_of
from partwhole.measurement.separation import separation_of
from partwhole.measurement.verdicts import (
    abstraction_in_words,
    grading_in_words,
    headline,
    structure_in_words,
)
from partwhole.measures._confounded import groups_beside_values
from partwhole.measures._means import condition_means
from partwhole.measures.structure_interval import structure_interval

GRID = np.repeat(list(product(range(4), range(4))), 8, axis=0)


def parts(rng, neurons=40, noise=2.0):
    sides = rng.normal(size=(2, 4, neurons))
    means = sides[0, GRID[:, 0]] + sides[1, GRID[:, 1]]
    return means + noise * rng.normal(size=means.shape)


def named(responses, rows=GRID, names=("shape", "colour"), **options):
    return pw.recordings.from_trials(responses, pd.DataFrame(rows, columns=names), **options)


@cache
def of_noise(seed):
    rng = np.random.default_rng(seed)
    return quick(named(rng.normal(size=(len(GRID), 50))), bootstrap=100, held_out="each")


@cache
def of_parts():
    return quick(named(parts(np.random.default_rng(1))), bootstrap=40)


@cache
def without_a_value():
    mask = GRID[:, 0] == 3
    return quick(named(parts(np.random.default_rng(1))), bootstrap=40, held_out=mask)


@cache
def of_one_component():
    rng = np.random.default_rng(2)
    digit = np.repeat(np.arange(5), 8)
    responses = 1.5 * rng.normal(size=(5, 30))[digit] + rng.normal(size=(40, 30))
    return quick(named(responses, digit, ["digit"]), bootstrap=40)


@cache
def nested(seed=2, names=("digit", "parity")):
    rng = np.random.default_rng(seed)
    digit = np.repeat(np.arange(6), 8)
    responses = 1.5 * rng.normal(size=(6, 30))[digit] + rng.normal(size=(48, 30))
    rows = np.column_stack([digit, digit % 2])
    return quick(named(responses, rows, names), bootstrap=40)


def words_of(text):
    return " ".join(re.sub(r"<[^>]*>", " ", text).replace("\xa0", " ").split())


def both_texts(result):
    return words_of(result.describe()), words_of(result.to_html().split("<body", 1)[1])


def test_one_over_the_number_of_values_is_not_called_chance():
    text, page = both_texts(of_parts())
    assert re.search(
        r"shape, one of 4 values: right in \d+ % of trials, predicted \d+ %[;\s]", text
    )
    assert "chance" not in text
    assert "shape, one of 4 values; colour, one of 4 values. One over the number of values" in page
    assert "is not chance: without any information a readout is right less often" in page
    # As here: noise is right in fewer than a quarter of trials.
    shares = [of_noise(seed).held_out.accuracy.mean() for seed in range(3)]
    assert max(shares) < 0.23


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_said_not_to_show_that_conditions_differ(seed):
    result = of_noise(seed)
    total, (low, _) = separation_of(result.saliences)
    assert total <= 0.0 or low <= 0.0
    assert headline(result).startswith("These trials do not show that conditions differ: ")
    assert structure_in_words(result) == ""
    assert not any(note.startswith("structure is ") for note in result.notes)
    for text in both_texts(result):
        assert not re.search(r"\bnan\b|look alike|Shared parts explain|parallelism [−\d]", text)
        assert "–: no share, as what separates conditions is not measurably above 0" in text
        assert "dimensions of condition means are not above their noise" in text
    assert re.search(r"^shape +– ", result.describe(), re.MULTILINE)
    # JSON has none either; those of `measures` are in the object.
    assert json.loads(result.to_json())["saliences"][0]["salience"] is None
    assert (0,) in result.saliences.saliences


def test_the_interval_of_what_separates_conditions_is_that_of_its_replicates():
    result = of_parts().saliences
    total, (low, high) = separation_of(result)
    assert total == pytest.approx(result.centred[-1] - result.centred[0])
    drawn = result.replicates[:, -1] - result.replicates[:, 0]
    np.testing.assert_allclose([low, high], np.quantile(drawn, [0.025, 0.975]))
    assert 0.0 < low < total < high


def test_values_look_alike_only_where_that_is_measured():
    flat = tuple(replace(grading, kind="flat") for grading in of_parts().gradings)
    coarse = replace(of_parts().saliences, structure=-0.78)
    result = replace(of_parts(), saliences=coarse, gradings=flat, structure_interval=(-0.9, 0.32))
    assert structure_in_words(result) == (
        "Shared parts explain only 0 % (0 to 32 %) of how similar conditions are: saliences are "
        "too coarse for this representation."
    )
    assert headline(result).endswith("their similarity depends on more than parts.")
    graded = replace(result, gradings=(replace(flat[0], kind="irregular"),))
    assert "some values look alike" in structure_in_words(graded)
    assert "some look alike" in headline(graded)


WHETHER = "whether saliences describe the representation."


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        ((0.92, 1.04), "explain 97 % (92 to 100 %) of how similar conditions are, so that "
                       "saliences describe the representation."),
        ((0.5, 0.99), "explain 97 % (50 to 99 %) of how similar conditions are: saliences "
                      "describe the representation at least in part."),
        ((0.2, 1.3), "explain 97 % (20 to 100 %) of how similar conditions are: too few trials "
                     f"to say {WHETHER}"),
        ((np.nan, np.nan), "would explain 97 % of how similar conditions are, without an "
                           f"interval: too few trials to say {WHETHER}"),
    ],
)  # fmt: skip
def test_structure_is_said_as_far_as_its_interval_goes(interval, words):
    saliences = replace(of_parts().saliences, structure=0.97)
    result = replace(of_parts(), saliences=saliences, structure_interval=interval)
    assert structure_in_words(result) == f"Shared parts {words}"
    assert "That is a mean" not in headline(result)
    # Whatever the estimate.
    result = replace(result, saliences=replace(saliences, structure=0.3))
    assert "That is a mean" not in headline(result)
    grouped = replace(result, saliences=replace(saliences, resampled="groups"))
    assert ("too few groups to say" in structure_in_words(grouped)) == ("too few" in words)


def test_few_trials_do_not_deny_that_parts_are_all():
    rng = np.random.default_rng(0)
    rows, lower = GRID.reshape(16, 8, 2)[:, :2].reshape(32, 2), 0
    for _ in range(8):
        sides = rng.normal(size=(2, 4, 1000))
        means = sides[0, rows[:, 0]] + sides[1, rows[:, 1]]
        responses = means + 6.0 * rng.normal(size=means.shape)
        recording = named(responses, rows)
        if pw.measures.salience(recording, bootstrap=0).structure >= 0.5:
            continue
        result = quick(recording, bootstrap=40, held_out="none")
        lower += 1
        assert np.isnan(result.structure_interval).all()
        assert json.loads(result.to_json())["structure_interval"] == [None, None]
        assert not any(note.startswith("structure is ") for note in result.notes)
        for text in both_texts(result):
            assert "more than parts" not in text
            assert "too coarse" not in text
    assert lower


def test_the_interval_of_structure_is_kept_and_printed():
    result = of_parts()
    low, high = structure_interval(result.recording)
    assert result.structure_interval == (low, high)
    assert low < result.saliences.structure < high
    assert json.loads(result.to_json())["structure_interval"] == [low, high]
    text, page = both_texts(result)
    ends = f"({100 * low:.0f} to {100 * min(high, 1.0):.0f} %) of how similar conditions are"
    assert ends in text
    assert ends in page
    assert "structure: share of similarity that shared parts explain (0." in page
    whitened = quick(result.recording, bootstrap=40, held_out="none", whiten="diagonal")
    assert whitened.structure_interval == structure_interval(result.recording, whiten="diagonal")


def test_a_parallelism_without_interval_is_not_printed():
    measured = of_parts().abstraction
    assert measured is not None
    assert measured.parallelism is not None
    short = replace(
        measured.parallelism, score=np.array([4.98, 0.9]),
        interval=np.array([[np.nan, np.nan], [0.5, 1.2]]),
    )  # fmt: skip
    first, second, *_ = abstraction_in_words(replace(measured, parallelism=short))
    assert first.startswith("shape: no parallelism, as differences of its values are hardly above")
    assert second.startswith("colour: parallelism 0.9 (0.5 to 1.2; p ≤ ")
    page = replace(of_parts(), abstraction=replace(measured, parallelism=short)).to_html()
    assert "4.98" not in page


def test_one_component_has_nothing_to_combine():
    result = of_one_component()
    assert headline(result) == "With digit alone there is nothing to combine: add a second column."
    for text in both_texts(result):
        assert "Measured here: how its values differ, how many dimensions they use and" in text
        assert "100 % to 100 %" not in text
        assert "salience of" not in text
        assert "right in 0 %" not in text
        assert (
            "digit, one of 5 values: training lacks every value that is held out, so that no "
            "readout can answer with it" in text
        )
    assert "share of right trials predicted and measured" not in result.to_html()


def test_columns_that_follow_from_others_are_said_to():
    result = nested()
    assert headline(result) == (
        "How compositional these responses are cannot be said of parity beside digit, from which "
        "it follows."
    )
    assert (
        "parity follows from digit: no two conditions differ in parity alone, so that these two "
        "cannot be told apart as parts; leave one of them out"
    ) in result.notes
    for text in both_texts(result):
        assert "–: not measured (see notes)" in text
        assert not re.search(r"\bnan\b", text)
    # The other way round, with a third one that is crossed with both, and with itself renamed.
    digit, colour = np.repeat(list(product(range(6), range(2))), 2, axis=0).T
    rows = np.column_stack([digit % 2, colour, digit, digit + 1])
    responses = np.random.default_rng(0).normal(size=(len(rows), 3))
    table = pd.DataFrame(rows, columns=["parity", "colour", "digit", "next"])
    assert followers(pw.recordings.from_trials(responses, table)) == [(0, 2), (3, 2)]
    assert followers(of_parts().recording) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [("run", True), ("Runs", True), ("trial_number", True), ("sessionId", True), ("fold 3", True),
     ("subj", True), ("PART", True), ("sub-run", True), ("colour", False), ("body part", False),
     ("name", False), ("7", False), ("brunt", False)],
)  # fmt: skip
def test_names_of_runs_are_known(name, expected):
    assert marks(name) == expected


def test_a_run_that_was_read_as_a_component_is_noted():
    rows = np.column_stack([GRID[:, 0], np.tile(np.arange(4), 32)])
    trials = named(parts(np.random.default_rng(0)), rows, ("shape", "run"))
    (note,) = notes_on_columns(trials)
    assert note.startswith("run was read as a component of the condition; if it marks runs, ")
    assert all(f"--{option}" in note for option in ("groups", "sessions", "split", "components"))
    assert note in quick(trials, bootstrap=20, held_out="none").notes
    table = pd.DataFrame(rows, columns=["shape", "run"]).assign(colour=GRID[:, 1])
    declared = pw.recordings.from_trials(trials.responses, table, groups="run")
    assert notes_on_columns(declared) == []


def test_a_component_is_answered_where_only_another_lacks_its_value():
    result = without_a_value()
    readouts = result.held_out
    assert readouts is not None
    assert not readouts.determined.any()
    verdicts = verdicts_of(readouts)
    assert verdicts.of(0) == ["not determined"] * 4
    expected = [
        "right" if certainty >= 0.975 else "wrong" if certainty <= 0.025 else "too few trials"
        for certainty in readouts.certainty[:, 1]
    ]
    assert verdicts.of(1) == expected
    assert result.to_frame()["verdict on colour"].tolist() == expected
    rows = json.loads(result.to_json())["held_out"]["rows"]
    assert [row["readouts"][1]["verdict"] for row in rows] == expected
    text = words_of(result.describe())
    assert "shape, one of 4 values: training lacks every value that is held out" in text
    assert re.search(r"colour, one of 4 values: right in [1-9]\d+ % of trials, predicted", text)


def test_shares_leave_out_values_that_training_lacks():
    masks = np.array([GRID[:, 0] == 3, (GRID == [1, 2]).all(axis=1)])
    result = quick(named(parts(np.random.default_rng(1))), bootstrap=20, held_out=masks)
    readouts = result.held_out
    assert readouts is not None
    said = readout_in_words(readouts, verdicts_of(readouts), 0)
    share = round(100 * float(readouts.measured_accuracy[4, 0]))
    assert said.startswith(f"shape, one of 4 values: right in {share} % of trials")
    assert said.endswith("; 4 of 5 cannot be tested, as no training condition has their value")


def test_sums_of_parts_that_are_open_are_not_determined():
    # Two blocks of conditions without a common value, of which one meets the other when held out.
    rows = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1], [2, 2], [2, 3], [3, 2], [3, 3], [0, 2]], 8, 0)
    rng = np.random.default_rng(3)
    sides = rng.normal(size=(2, 4, 30))
    responses = sides[0, rows[:, 0]] + sides[1, rows[:, 1]] + rng.normal(size=(len(rows), 30))
    result = quick(named(responses, rows), bootstrap=20, held_out=(rows == [0, 2]).all(axis=1))
    assert result.held_out is not None
    assert verdicts_of(result.held_out).words == (("not determined", "not determined"),)
    assert "; 1 not determined by the others" in words_of(result.describe())


def test_notes_are_said_once_and_do_not_contradict_each_other():
    few = (GRID < 3).all(axis=1)
    recorded, rows = parts(np.random.default_rng(1))[few], GRID[few]
    run = np.tile(np.arange(8), 9)
    responses = recorded.copy()
    responses[run < 4, 20:] = np.nan
    trials = named(responses, rows, groups=run, sessions=run // 4)
    left_out = (rows == 0).all(axis=1)
    notes = quick(trials, bootstrap=20, held_out=left_out).notes
    assert len(set(notes)) == len(notes)
    assert any(
        note.endswith("what each group adds to all responses was subtracted") for note in notes
    )
    assert not any("take noise as independent, also within a group" in note for note in notes)
    notes = quick(named(recorded, rows, groups=run), bootstrap=20, held_out=left_out).notes
    assert any("take noise as independent, also within a group" in note for note in notes)


def test_the_number_of_dichotomies_is_in_short():
    rows = np.repeat(list(product(range(8), range(5))), 2, axis=0)
    responses = np.random.default_rng(0).normal(size=(len(rows), 10))
    notes = quick(named(responses, rows), bootstrap=20, held_out="none").notes
    assert "100 of 6.9e10 balanced dichotomies drawn at random" in notes


def test_errors_of_measures_speak_of_conditions():
    # Every condition in a single run.
    trials = named(parts(np.random.default_rng(0)), groups=GRID[:, 0])
    with pytest.raises(InputError, match="need two conditions that are in the same two groups"):
        pw.measure(trials, bootstrap=20)


def test_many_sets_are_announced(monkeypatch, capsys):
    monkeypatch.setattr(module, "MANY_SETS", 6)
    few = (GRID < 2).all(axis=1)
    trials = named(parts(np.random.default_rng(0), neurons=10)[few], GRID[few])
    quick(trials, held_out="pairs", bootstrap=20)
    said = "6 pairs of conditions are held out, one at a time: this can take minutes"
    assert said in capsys.readouterr().err
    quick(trials, held_out="pairs", bootstrap=20, progress=False)
    quick(trials, bootstrap=20)
    assert "held out, one at a time" not in capsys.readouterr().err


def test_imprecise_shares_are_noted_only_where_they_are_printed():
    kinds = set()
    for seed, slope in ((0, 0.0), (1, 1.5), (8, 0.0), (8, 3.0)):
        rng = np.random.default_rng(seed)
        line = np.linspace(0.0, slope, 4)[:, None] * rng.normal(size=20)
        sides = rng.normal(size=(4, 20)) + line
        means = sides[GRID[:, 0]] + rng.normal(size=(4, 20))[GRID[:, 1]]
        result = quick(
            named(means + 2.0 * rng.normal(size=means.shape)), bootstrap=20, held_out="none"
        )
        for grading in result.gradings:
            noted = any(
                note.startswith(f"{grading.component}: ") and "shares are imprecise" in note
                for note in result.notes
            )
            explains = "explain" in grading_in_words(grading)
            imprecise = any("shares are imprecise" in note for note in grading.notes)
            assert noted == (explains and imprecise)
            kinds.add((explains, imprecise))
    assert kinds == set(product([False, True], repeat=2))


def test_irregular_differences_are_those_of_these_neurons():
    grading = replace(of_parts().gradings[0], kind="irregular")
    sentence = (
        "shape: in these neurons some values are more alike than others, but not in the order"
    )
    numbers, texts = (0, 1, 2), ("high", "low", "mid", "upper", "very", "x", "y")
    assert grading_in_words(replace(grading, values=numbers)) == f"{sentence} 0, 1, 2"
    # The alphabet is no order of levels: what was taken is said.
    assert grading_in_words(replace(grading, values=texts)) == (
        f"{sentence} high, low, mid, upper, very, x, \u2026 (numbers as labels have an order of "
        "their own)"
    )


@pytest.mark.parametrize("side", [2, 4])
def test_the_page_has_what_saliences_alone_explain_of_each_condition(side):
    keep = (side > GRID).all(axis=1)
    few = named(parts(np.random.default_rng(4))[keep], GRID[keep])
    result = of_parts() if side == 4 else quick(few, bootstrap=20)
    readouts = result.held_out
    assert readouts is not None
    assert readouts.from_saliences is not None
    cells = re.findall(
        r'data-label="shape by saliences"[^>]*>([^<]+)<small>([^<]+)<', result.to_html()
    )
    assert len(cells) == len(readouts.condition)
    for place, (index, cell) in enumerate(
        zip(readouts.recording.conditions[readouts.condition, 0], cells, strict=True)
    ):
        for answers, text in zip((readouts.from_saliences, readouts.predicted), cell, strict=True):
            # Two values have one output, that of the second.
            answer = answers[place, index] if side > 2 else answers[place, 0] * (2 * index - 1)
            assert float(text.replace("−", "-")) == pytest.approx(answer, abs=0.0051)


def test_constant_neurons_are_noted():
    responses = parts(np.random.default_rng(0))
    assert notes_on_neurons(named(responses)) == []
    responses[:, 3] = 0.0
    responses[:, 7] = 2.5
    (note,) = notes_on_neurons(named(responses))
    assert note == (
        "2 neurons have the same response in all trials, the first in column 3 (from 0): leave "
        "out what was not recorded"
    )
    assert note in quick(named(responses), bootstrap=20, held_out="none").notes
    # A neuron that a session lacks is constant only if it is where it was recorded.
    sessions = np.arange(len(GRID)) % 2
    responses[sessions == 0, 7] = np.nan
    responses[sessions == 0, 8] = np.nan
    (note,) = notes_on_neurons(named(responses, sessions=sessions, missing="drop"))
    assert note.startswith("2 neurons have")


def test_components_with_one_value_take_no_part():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(GRID, columns=["shape", "colour"])
    responses = parts(rng)
    with_constant = pw.recordings.from_trials(responses, table.assign(subject="M1"))
    result = quick(with_constant, bootstrap=40)
    note = "subject has one value in all trials and was left out"
    assert result.notes.count(note) == 1
    assert f"- {note}" in result.describe()
    assert result.saliences.saliences == of_parts().saliences.saliences
    assert result.to_frame("all").equals(of_parts().to_frame("all"))
    # Also where it is some of the trials that have one value.
    half = np.arange(len(GRID)) % 2
    table["subject"] = half
    selected = pw.recordings.from_trials(responses, table).select(half == 0)
    result = quick(selected, bootstrap=20, held_out="none")
    assert note in result.notes
    expected = quick(named(responses[half == 0], GRID[half == 0]), bootstrap=20, held_out="none")
    assert result.saliences.saliences == expected.saliences.saliences


@pytest.mark.parametrize(("labels", "said"), [
    ([0.1, 0.3, 0.1 + 0.2],
     "equal to within rounding, 0.3 and 0.30000000000000004: round them"),
    ([float(np.float32(0.1)), 0.1, 7],
     "equal to within rounding, 0.1 and 0.10000000149011612: round them"),
    ([0.0, 1e-17, 1.0], "equal to within rounding, 0.0 and 1e-17: round them"),
    (["Disc ", "disc", "ring"],
     "that differ in blanks or case alone, 'Disc ' and 'disc': are they one value?"),
    (["a b", "A  b", "a b "],
     "that differ in blanks or case alone, 'A  b', 'a b' and 'a b ': are they one value?"),
    (["disc", "disk", "ring"], None), ([1e-3, 1.001e-3, 1.0], None), ([False, True], None),
    (["1", "1.0"], None), ([1, 2, 3], None),
])  # fmt: skip
def test_labels_that_may_be_one_value_are_noted(labels, said):
    codes = np.arange(6 * len(labels)) % len(labels)
    table = {"ori": [labels[i] for i in codes], "half": np.arange(len(codes)) // 3 % 2}
    responses = np.random.default_rng(0).normal(size=(len(codes), 4))
    notes = notes_on_labels(pw.recordings.from_trials(responses, table))
    assert notes == ([] if said is None else [f"ori has values {said}"])


def test_labels_are_printed_with_six_digits_where_these_keep_them_apart():
    rng = np.random.default_rng(0)
    for third, printed in ((0.5, "0.3"), (0.3, "0.30000000000000004")):
        levels = np.array([0.1, 0.1 + 0.2, third])
        table = {"ori": levels[GRID[:, 0] % 3], "colour": GRID[:, 1]}
        trials = pw.recordings.from_trials(parts(rng), table)
        result = quick(trials, bootstrap=20, held_out=(GRID[:, 0] % 3 == 1) & (GRID[:, 1] == 0))
        page = result.to_html()
        assert f"ori: 0.1, {printed}" in page.replace("0.3, 0.30000000000000004", printed)
        assert f"{printed}, 0" in page
        assert ("0.30000000000000004" in page) == (third == 0.3)
        # Frames have labels as they are.
        assert 0.1 + 0.2 in result.to_frame()["ori"].to_numpy()
        assert any("equal to within rounding" in note for note in result.notes) == (third == 0.3)


def test_a_neuron_in_other_units_is_noted():
    responses = parts(np.random.default_rng(0), neurons=10)
    assert notes_on_scale(named(responses), "none") == []
    responses[:, 4] *= 1e4
    (note,) = notes_on_scale(named(responses), "none")
    assert note == (
        "neuron 4 (from 0) has 99 % of the variance of all responses: see whether it is in other "
        "units, or whiten with whiten='diagonal'"
    )
    assert note in quick(named(responses), bootstrap=20, held_out="none").notes
    (note,) = notes_on_scale(named(responses), "diagonal")
    assert note.endswith("see whether it is in other units")
    # One of two neurons has half of it or more in any case.
    assert notes_on_scale(named(responses[:, 4:6]), "none") == []
    # A session that lacks it changes nothing.
    sessions = np.arange(len(GRID)) % 2
    responses[sessions == 0, 7] = np.nan
    (note,) = notes_on_scale(named(responses, sessions=sessions), "none")
    assert note.startswith("neuron 4 (from 0) has 99 %")


def test_trials_far_from_their_condition_are_noted():
    responses = parts(np.random.default_rng(0))
    responses[57] = 1e3
    (note,) = notes_on_trials(named(responses))
    # An offset d of one of eight trials adds 49/64 of its square to its own deviation, and 1/64
    # to those of seven others.
    share = 49 / (49 + 7)
    assert note == (
        f"trial 57 (from 0) has {int(100 * share)} % of the squared deviations from condition "
        "means: is it an artefact?"
    )
    assert note in quick(named(responses), bootstrap=20, held_out="none").notes
    # Of two trials nobody can say which it is.
    pairs = responses[56:58]
    rows = np.repeat(list(product(range(4), range(3))), 2, axis=0)
    few = parts(np.random.default_rng(0))[: len(rows)]
    few[8:10] = pairs
    (note,) = notes_on_trials(named(few, rows))
    assert note.startswith("trials 8 and 9 (from 0) have 99 % of the squared deviations")
    assert note.endswith(": are they artefacts?")
    assert notes_on_trials(named(few[6:14], rows[6:14])) == []


@pytest.mark.parametrize("neurons", [1, 3, 40])
def test_noise_of_few_neurons_has_no_artefacts(neurons):
    rows = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 5, axis=0)
    noted = [
        bool(notes_on_trials(named(np.random.default_rng(seed).normal(size=(20, neurons)), rows)))
        for seed in range(60)
    ]
    # Of 40 neurons in none; of a single one a trial has a fifth in most recordings.
    assert sum(noted) <= (3 if neurons == 1 else 0)


def of_shape(of_pair=0.0, names=("shape", "colour")):
    rng = np.random.default_rng(0)
    means = rng.normal(size=(4, 40))[GRID[:, 0]]
    means = means + of_pair * rng.normal(size=(4, 4, 40))[GRID[:, 0], GRID[:, 1]]
    return named(means + rng.normal(size=means.shape), names=names)


@cache
def of_shape_alone():
    return pw.measure(of_shape(), bootstrap=50, held_out="none")


def test_a_component_that_has_all_is_named():
    result = of_shape_alone()
    measured = result.saliences
    values = (measured.saliences[0,], *measured.saliences_interval[0,])
    share, low, high = (f"{100 * min(value, 1.0):.0f} %" for value in values)
    assert headline(result) == (
        f"shape by itself makes up {share} of what separates conditions ({low} to {high}); "
        "colour has no measurable share."
    )
    both = quick(of_shape(of_pair=0.7), bootstrap=50, held_out="none")
    assert headline(both).endswith("; colour has no measurable share but in combination.")
    assert headline(of_parts()).startswith("Parts by themselves make up ")
    # In training both colours have the same shapes, so that decoders of colour are right by chance.
    general = result.abstraction.generalization
    null = general.null_by_component[:, 1]
    assert null.min() < general.by_component["colour"] < null.max()
    assert "below chance" not in words_of(result.describe())


def test_decoders_of_combinations_are_said_to_be_reversed_in_other_contexts():
    """Neurons of shape, and of shape times colour: a decoder of colour errs in other shapes."""
    rows = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 20, axis=0)
    signs = 2 * rows - 1
    clean = np.repeat(np.stack([signs[:, 0], signs.prod(axis=1)], axis=1), [30, 10], axis=1)
    noisy = clean + np.random.default_rng(0).normal(size=clean.shape)
    result = pw.measure(named(noisy, rows), bootstrap=50, held_out="none")
    general = result.abstraction.generalization
    assert general.by_component["colour"] < 0.05
    three = replace(general, null=0.5 + np.zeros((9, 2)))
    shape, colour, *_ = abstraction_in_words(replace(result.abstraction, generalization=three))
    assert colour.endswith("; p = 1), below chance: what decoders learn is reversed there")
    assert "below chance" not in shape
    # As far as the null reaches, it is chance.
    assert "below chance" not in words_of(result.describe())


def test_pairs_of_values_without_a_context_to_test_in_are_counted():
    """Only the first two shapes share two colours, and only the first two colours two shapes."""
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 2], [2, 3], [3, 3]])
    rows = np.repeat(rows, 6, axis=0)
    trials = named(np.random.default_rng(0).normal(size=(42, 10)), rows)
    result = quick(trials, bootstrap=20, held_out="none")
    assert result.abstraction.generalization.n_splits.tolist() == [2, 2]
    lack = "lack a context in which both were recorded, or others to train decoders in"
    assert f"shape: 5 of 6 pairs of values {lack}" in result.notes
    assert f"colour: 5 of 6 pairs of values {lack}" in result.notes
    assert not [note for note in result.notes if note.endswith("component")]
    # Of three corners of a square no context is left.
    corners = trials.select(np.flatnonzero(rows.sum(axis=1) < 2))
    three = quick(corners, bootstrap=20, held_out="none")
    assert three.abstraction.generalization is None
    assert three.notes[-1] == (
        "generalization across conditions was not measured: two conditions that differ in at most "
        "1 component are held out, one of each side of a dichotomy, and others of both sides "
        "trained on; got none among 3 conditions; add conditions"
    )


def test_long_names_are_whole_in_the_table_and_captions_stay_in_the_picture():
    names = ("identity of the stimulus", "colour of the background")
    result = pw.measure(of_shape(of_pair=0.7, names=names), bootstrap=50, held_out="none")
    page = result.to_html()
    assert f"{names[0]} × {names[1]}</th>" in page
    # Letters of 13 pixels are about 7 wide.
    captions = re.findall(r'<text x="([\d.]+)"[^>]*>(right trials of unseen contexts)<', page)
    assert len(captions) == 1
    for x, words in captions:
        assert float(x) + 3.5 * len(words) < 400
    # Numbers stay with their unit, and p with its number.
    (notes,) = re.findall(r'<ul class="notes">(.*?)</ul>', page, re.DOTALL)
    assert "and 10\N{NO-BREAK SPACE}% of the noise drifted" in notes
    assert "p\N{NO-BREAK SPACE}≤\N{NO-BREAK SPACE}0.01)" in page
    assert not re.search(r"p [=≤]", page.split("<body", 1)[1])


def test_a_sum_of_two_codes_is_decoded_in_unseen_contexts():
    """Two values of two components, one of them coded by far: both are alike in all contexts."""
    rows = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 20, axis=0)
    clean = np.repeat([2.0, 1.0] * rows, 20, axis=1)
    noisy = clean + 0.5 * np.random.default_rng(0).normal(size=clean.shape)
    result = pw.measure(named(noisy, rows), bootstrap=50, held_out="none")
    assert result.abstraction.generalization.by_component == {"shape": 1.0, "colour": 1.0}
    words = words_of(result.describe())
    assert words.count("two of its values are decoded in 100 % of trials of unseen contexts") == 2


@pytest.mark.parametrize(("counts", "said"), [
    ((8, 3, 5, 0), "right at 8, wrong at 3, too few trials to say at 5 of 16"),
    ((16, 0, 0, 0), "right at 16, wrong at 0 of 16"),
    ((0, 0, 16, 0), "right at 0, wrong at 0, too few trials to say at 16 of 16"),
    ((2, 1, 0, 13), "right at 2, wrong at 1 of 16; undecided at 13 of 16 with this ridge "
     "penalty, which a larger one settles"),
])  # fmt: skip
def test_all_verdicts_are_counted(counts, said):
    readouts = of_parts().held_out
    words = np.repeat(["right", "wrong", "too few trials", "penalty too small"], counts)
    verdicts = Verdicts(tuple((word, word) for word in words), np.zeros((16, 2), dtype=bool))
    assert f" %; {said}" in readout_in_words(readouts, verdicts, 0)


def test_the_least_p_that_draws_can_give_is_a_bound():
    result = of_shape_alone()
    general, parallel = result.abstraction.generalization, result.abstraction.parallelism
    # Decoders of shape beat each of 99 draws; those of colour no draw.
    assert (general.by_component["shape"] > general.null_by_component[:, 0]).all()
    assert (parallel.score[0] > parallel.null[:, 0]).all()
    shape, colour = words_of(result.describe()).split("colour: no parallelism")
    assert f"p ≤ {1 / (1 + len(parallel.null)):.2g})" in shape
    assert "p ≤ 0.01)" in shape
    assert "p ≤" not in colour


def test_a_single_neuron_is_one_neuron():
    result = quick(named(parts(np.random.default_rng(0), neurons=1)), bootstrap=20, held_out="none")
    assert repr(result).startswith("Measurement(128 trials of 1 neuron, 16 conditions: ")
    assert result.describe().startswith("128 trials of 1 neuron, 16 conditions: ")


def test_values_that_depend_on_groups_are_noted():
    rng = np.random.default_rng(0)

    def recording(shape, groups, n=64):
        table = pd.DataFrame({"shape": shape, "colour": np.arange(n) % 4})
        return pw.recordings.from_trials(rng.normal(size=(n, 5)), table, groups=groups)

    run = np.repeat(np.arange(8), 8)
    (note,) = groups_beside_values(recording(run % 2, run))
    assert note.startswith("groups are confounded with values of shape, some of which")
    assert groups_beside_values(recording(run % 2, None)) == []
    # Of 100 random assignments some would be below 1 in 10,000 once in 100 such tests.
    alarms = sum(
        len(groups_beside_values(recording(rng.integers(2, size=64), run))) for _ in range(100)
    )
    assert alarms == 0


def test_readouts_that_may_answer_by_the_run_have_no_verdict():
    # No signal, but what trials of a run share; each run has one shape, and all colours.
    rng = np.random.default_rng(3)
    run, colour = np.arange(96) // 12, np.arange(96) % 3
    responses = rng.normal(size=(8, 40))[run] + 0.5 * rng.normal(size=(96, 40))
    table = pd.DataFrame({"shape": run % 2, "colour": colour})
    result = quick(pw.recordings.from_trials(responses, table, groups=run), bootstrap=20)
    assert result.held_out is not None
    assert result.held_out.accuracy[:, 0].mean() > 0.9
    frame = result.to_frame()
    assert set(frame["verdict on shape"]) == {"maybe by group"}
    assert "maybe by group" not in set(frame["verdict on colour"])
    words = " ".join(result.describe().split())
    assert "but values depend on the group: perhaps by what its trials share" in words
    assert "maybe by group" in result.to_html()


def test_shares_that_are_not_as_predicted_are_noted():
    # The gain of a trial multiplies means: its noise has another direction at each condition.
    rng = np.random.default_rng(4)
    rows = np.repeat(list(product(range(3), range(3))), 80, axis=0)
    means = 1.0 + rng.normal(size=(3, 40))[rows[:, 0]] + rng.normal(size=(3, 40))[rows[:, 1]]
    noise = 1.5 * rng.normal(size=means.shape)
    gain = np.exp(1.5 * rng.normal(size=(len(rows), 1)))
    plain, multiplied = (
        quick(pw.recordings.from_trials(factor * means + noise, rows), bootstrap=20)
        for factor in (1.0, gain)
    )
    beginning = "readouts of component 0 are right in "
    assert not any(note.startswith("readouts of component") for note in plain.notes)
    (note,) = [note for note in multiplied.notes if note.startswith(beginning)]
    frame = multiplied.to_frame()
    shares = frame[[f"accuracy of component 0, {kind}" for kind in ("measured", "predicted")]]
    words = [f"{100 * share:.0f} %" for share in shares.mean()]
    assert note.startswith(f"{beginning}{words[0]} of trials and not in the predicted {words[1]}, ")


def test_few_dimensions_question_p_of_parallelism():
    rng = np.random.default_rng(0)
    rows = np.array(list(product(range(4), range(4))))
    index = np.repeat(np.arange(16), 4)

    def notes(means):
        noisy = means[index] + 0.1 * rng.normal(size=(64, 50))
        return few_dimensions(condition_means(pw.recordings.from_trials(noisy, rows[index])))

    (note,) = notes(rng.normal(size=(16, 3)) @ rng.normal(size=(3, 50)))
    assert note.endswith("p of parallelism takes neurons to be unrelated, and is too small where "
                         "they are not")  # fmt: skip
    assert notes(rng.normal(size=(16, 50))) == []


def test_json_and_tables_withhold_what_the_text_withholds():
    result = of_noise(0)
    assert "These trials do not show that conditions differ" in result.describe()
    frame = result.saliences_to_frame()
    assert (
        frame[["salience", "low", "high", "low_population", "high_population"]]
        .isna()
        .to_numpy()
        .all()
    )
    document = json.loads(result.to_json())
    assert document["headline"].startswith("These trials do not show that conditions differ")
    assert all(row["salience"] is None for row in document["saliences"])
    assert document["structure"] is None
    assert document["structure_interval"] == [None, None]
    assert all(
        row["p"] is None and row["score"] is None
        for row, known in zip(
            document["abstraction"]["parallelism"], result.abstraction.has_parallelism, strict=True
        )
        if not known
    )
    assert not result.abstraction.has_parallelism.all()


def band():
    """Return trials of a sum of two parts on a line, of combinations that are near in both."""
    rows = np.repeat([(i, j) for i, j in product(range(5), range(5)) if abs(i - j) < 2], 10, axis=0)
    rng = np.random.default_rng(0)
    means = rows @ rng.normal(size=(2, 60))
    return named(means + rng.normal(size=means.shape), rows, ("a", "b"))


def test_saliences_that_missing_combinations_put_off_are_no_shares():
    measured = quick(band(), bootstrap=100, held_out="none")
    # Nothing but a sum of parts, and yet less than 0 for both together.
    assert measured.saliences.saliences_interval[0, 1][1] < -0.5
    assert headline(measured).startswith(
        "What share parts have of what separates conditions cannot be said: their saliences add up "
        "to 15"
    )
    assert headline(measured).endswith(
        "combinations are missing and values differ by unlike amounts."
    )
    assert any(note.startswith("combinations are missing and some") for note in measured.notes)
    shares = pw.measures.marginal_variances.marginal_variances(band()).shares
    assert abs(shares[0, 1]) < 0.01
    whole = quick(named(parts(np.random.default_rng(1))), bootstrap=100, held_out="none")
    assert headline(whole).startswith("Parts by themselves make up 100 %")
    assert not any(note.startswith("combinations are missing") for note in whole.notes)


def test_trials_of_neurons_of_several_sessions_are_counted_for_each():
    rng = np.random.default_rng(0)
    rows = np.repeat(list(product(range(2), range(2))), 12, axis=0)
    session = np.tile(np.repeat([0, 1, 2], 4), 4)
    responses = np.full((len(rows), 6), np.nan)
    for i in range(3):
        responses[session == i, 2 * i : 2 * i + 2] = rng.normal(size=((session == i).sum(), 2))
    apart = quick(named(responses, rows, sessions=session), bootstrap=20, held_out="none")
    assert "\n4 trials of each condition with each neuron.\n" in apart.describe()
    assert "conditions, 4 trials of each with each neuron" in apart.to_html()
    together = quick(named(rng.normal(size=(48, 6)), rows, sessions=session), bootstrap=20,
                     held_out="none")  # fmt: skip
    assert "\n12 trials of each condition.\n" in together.describe()


def test_structure_that_is_measurably_below_all_is_in_part():
    measured = replace(of_parts(), structure_interval=(0.47, 0.59))
    assert structure_in_words(measured).endswith("describe the representation at most in part.")
    unknown = replace(of_parts(), structure_interval=(0.47, 0.93))
    assert "too few trials to say" in structure_in_words(unknown)


def test_intervals_that_are_wider_than_the_whole_are_noted_and_end_at_the_edge():
    ends = np.array([[0.4, 0.6], [0.3, 0.5]])
    picture = str(dots(["a", "b"], np.array([0.5, 0.4]), ends, np.add(ends, [-28.0, 17.0]),
                       title="Saliences", caption="salience"))  # fmt: skip
    drawn = [float(x) for x in re.findall(r"H([0-9.]+)\" class=\"narrow", picture)]
    starts = [float(x) for x in re.findall(r"M([0-9.]+) [0-9.]+H[0-9.]+\" class=\"nar", picture)]
    # .2 of an axis that is at most three times as long as from 0 to 1.
    assert min(np.subtract(drawn, starts)) > 0.2 * 400 / 3.3
    assert notes_on_width([(0.2, 0.4), (np.nan, np.nan)], "neurons") == []
    assert notes_on_width([(-27.6, 1.0), (0.2, 0.4)], "neurons") == [
        "intervals over neurons reach beyond any share, with a width of up to 29: there are too "
        "few neurons for them"
    ]


def test_a_table_without_shares_has_no_intervals_of_them():
    noise, frame = of_noise(0), of_noise(0).saliences_to_frame()
    assert (
        frame[["salience", "low", "high", "low_population", "high_population"]]
        .isna()
        .to_numpy()
        .all()
    )
    line = next(line for line in noise.describe().splitlines() if line.startswith("shape  "))
    assert line.split() == ["shape", "–", "no", "interval", "no", "interval"]
