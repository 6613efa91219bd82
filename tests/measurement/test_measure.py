"""`measure` against the measures that it puts side by side, its text, JSON, frames and page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from itertools import product

import numpy as np
import pandas as pd
import pytest
from quick_measures import few_repetitions, quick

import partwhole as pw
from partwhole._checks import InputError
from partwhole.cli import main
from partwhole.cli.measure import measure as measure_files
from partwhole.measurement.abstraction import generalization_of, shattering_of
from partwhole.measurement.readout_words import verdicts_of
from partwhole.measurement.verdicts import grading_in_words, headline, structure_in_words
from partwhole.measures import salience
from partwhole.measures.abstraction import ccgp, parallelism, shattering_dimensionality
from partwhole.measures.graded_similarity import graded_similarity
from partwhole.measures.readouts import held_out_readouts
from partwhole.measures.recorded_dimensions import recorded_dimensions


def recording(*, shape=(3, 3), neurons=30, repeats=8, noise=1.5, times=0, alike=False, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.array(list(product(*map(range, shape))))
    means = sum(rng.normal(size=(n, neurons))[rows[:, c]] for c, n in enumerate(shape))
    if alike:
        means = rng.normal(size=(2, neurons))[rows.min(axis=1) // 2]
    index = np.repeat(np.arange(len(rows)), repeats)
    responses = means[index]
    if times:
        responses = responses[:, :, None] * np.linspace(0.0, 1.0, times)
    responses = responses + noise * rng.normal(size=responses.shape)
    table = pd.DataFrame({
        "shape": np.array(["disc", "star", "ring"])[rows[index, 0]],
        "colour": np.array(["red", "blue", "green"])[rows[index, 1]],
        "run": np.tile(np.arange(repeats), len(rows)),
    })  # fmt: skip
    return responses, table


def trials_of(**options):
    responses, table = recording(**options)
    return pw.recordings.from_trials(responses, table, components=["shape", "colour"])


@cache
def plain():
    return pw.measure(pw.recordings.from_trials(*recording(), groups="run"), bootstrap=50)


def test_measures_are_those_of_their_functions():
    trials = pw.recordings.from_trials(*recording(), groups="run")
    saliences = salience(trials, bootstrap=50)
    # Here sums are by neuron first.
    np.testing.assert_allclose(plain().saliences.replicates, saliences.replicates, rtol=1e-12)
    assert plain().saliences.resampled == "groups"
    neurons = salience(trials, resample="neurons", bootstrap=50)
    np.testing.assert_array_equal(plain().population.replicates, neurons.replicates)
    readouts = held_out_readouts(trials, saliences=saliences)
    assert plain().held_out is not None
    np.testing.assert_array_equal(plain().held_out.predicted, readouts.predicted)
    np.testing.assert_allclose(plain().held_out.from_saliences, readouts.from_saliences, rtol=1e-10)


def test_geometry_is_that_of_its_functions():
    trials = pw.recordings.from_trials(*recording(), groups="run")
    dimensions = recorded_dimensions(trials)
    assert plain().dimensions is not None
    assert plain().dimensions.value == dimensions.value
    assert [grading.component for grading in plain().gradings] == ["shape", "colour"]
    assert plain().gradings[1].p_flat == graded_similarity(trials, "colour").p_flat
    document = json.loads(plain().to_json())
    assert document["dimensions"]["value"] == pytest.approx(dimensions.value)
    assert [grading["kind"] for grading in document["gradings"]] == [
        grading.kind for grading in plain().gradings
    ]
    words = " ".join(read(plain().to_html()).words)
    assert f"use {round(dimensions.value, 1):g} dimensions" in words
    assert f"use {round(dimensions.value, 1):g} dimensions" in plain().describe()


def test_abstraction_is_that_of_its_functions():
    trials = pw.recordings.from_trials(*recording(), groups="run")
    measured = plain().abstraction
    assert measured is not None
    assert measured.parallelism is not None
    np.testing.assert_array_equal(measured.parallelism.score, parallelism(trials).score)
    general = ccgp(trials, dichotomies="components", differing=1, repetitions=99)
    assert measured.generalization is not None
    assert measured.generalization.by_component == general.by_component
    assert measured.shattering is not None
    shattered = shattering_dimensionality(trials, repetitions=0, max_dichotomies=100)
    assert measured.shattering.value == shattered.value
    assert shattered.notes[-1] in plain().notes
    document = json.loads(plain().to_json())["abstraction"]
    assert [row["score"] for row in document["parallelism"]] == measured.parallelism.score.tolist()
    assert document["ccgp"][1]["accuracy"] == general.by_component["colour"]
    assert document["shattering"]["accuracy"] == measured.shattering.value
    # Means are sums of parts, so that the same direction leads from value to value everywhere.
    low, high = measured.parallelism.interval[0]
    assert low < 1.0 < high
    assert f"shape: parallelism {measured.parallelism.score[0]:.2g} (" in plain().describe()
    assert "The same in all contexts?" in plain().to_html()


def test_decoders_that_would_take_long_are_left_out(monkeypatch):
    monkeypatch.setattr("partwhole.measurement.abstraction.LARGEST", 1e4)
    result = quick(trials_of(), bootstrap=20)
    assert result.abstraction is not None
    assert result.abstraction.generalization is result.abstraction.shattering is None
    assert [note.split()[-3] for note in result.notes if "as they would take long" in note] == [
        "measures.abstraction.ccgp", "measures.abstraction.shattering_dimensionality",
    ]  # fmt: skip
    assert json.loads(result.to_json())["abstraction"]["ccgp"] is None
    assert "right trials of unseen contexts" not in result.to_html()


def test_of_large_recordings_fewer_contexts_are_held_out(monkeypatch):
    # Of 2 x 6 conditions two values of the first component have 6 contexts, those of the second 2.
    rows = np.repeat([[a, b] for a in range(2) for b in range(6)], 4, axis=0)
    trials = pw.recordings.from_trials(np.random.default_rng(0).normal(size=(48, 10)), rows)
    # Trials and places of the null, times squared neurons, and a system of equations for each.
    monkeypatch.setattr("partwhole.measurement.abstraction.REPETITIONS", 9)
    pairs = [(48, 12)] + 15 * [(16, 4)]
    work = sum((n + 9 * few) * 10**2 + 9 * few**3 for n, few in pairs)
    monkeypatch.setattr("partwhole.measurement.abstraction.LARGEST", 4.5 * work)
    result = pw.measure(trials, bootstrap=20, held_out="none")
    assert result.abstraction is not None
    assert result.abstraction.generalization is not None
    assert result.abstraction.generalization.n_splits.tolist() == [4] + 15 * [2]
    drawn = "up to 4 contexts are held out for two values, drawn at random"
    assert drawn in result.notes
    monkeypatch.setattr("partwhole.measurement.abstraction.LARGEST", 6.5 * work)
    whole = pw.measure(trials, bootstrap=20, held_out="none")
    assert whole.abstraction.generalization.n_splits.tolist() == [6] + 15 * [2]
    assert not [note for note in whole.notes if "contexts are held out" in note]


def test_values_along_a_line_are_said_to_be():
    rng = np.random.default_rng(4)
    rows = np.repeat(list(product(range(6), range(2))), 10, axis=0)
    line, colour = rng.normal(size=40), rng.normal(size=(2, 40))
    responses = rows[:, :1] * line + colour[rows[:, 1]] + rng.normal(size=(len(rows), 40))
    trials = pw.recordings.from_trials(responses, {"number": rows[:, 0], "colour": rows[:, 1]})
    result = quick(trials, bootstrap=20, held_out="none")
    assert [grading.kind for grading in result.gradings] == ["ordered"]
    assert "number: values near one another are more alike, as on a line" in result.describe()


@pytest.mark.parametrize(("frequency", "nearest"), [(1, 1), (3, 4), (5, 2)])
def test_values_around_a_circle_are_near_those_that_are(frequency, nearest):
    # Residues of 11 at this frequency: steps of `nearest` lead almost around the circle.
    rng = np.random.default_rng(5)
    rows = np.repeat(list(product(range(11), range(2))), 10, axis=0)
    angle = 2.0 * np.pi * frequency * rows[:, 0] / 11
    clean = np.stack([np.cos(angle), np.sin(angle), rows[:, 1]], axis=1) @ rng.normal(size=(3, 30))
    responses = clean + 0.5 * rng.normal(size=clean.shape)
    trials = pw.recordings.from_trials(responses, {"residue": rows[:, 0], "side": rows[:, 1]})
    grading = graded_similarity(trials, "residue")
    assert (grading.kind, grading.nearest_steps) == ("circular", nearest)
    alike = "near one another" if nearest == 1 else f"{nearest} steps apart"
    assert f"values {alike} are more alike, as on a circle" in grading_in_words(grading)


def test_an_order_that_many_others_equal_is_said_to_be_one():
    grading = replace(
        plain().gradings[0], kind="circular", circular=0.8, p_circular=0.333, values=(1, 2, 3, 4)
    )
    assert grading_in_words(grading) == (
        "shape: some values are more alike than others, perhaps as on a circle (steps around it "
        "explain 80 %, but 33 % of all orders of the values explain as much)"
    )
    # The order of text is that of the alphabet.
    assert grading_in_words(replace(grading, values=("disc", "kite", "ring", "star"))) == (
        "shape: some values are more alike than others, in no order that these trials show"
    )


def test_frames_have_rows_for_conditions_and_for_sets():
    frame = plain().to_frame()
    assert len(frame) == 9
    assert frame["shape"].tolist() == ["disc"] * 3 + ["ring"] * 3 + ["star"] * 3
    assert set(frame["verdict on shape"]) <= {"right", "wrong", "too few trials"}
    assert list(frame) == [
        "shape", "colour", "trials",
        *(f"accuracy of shape, {kind}"
          for kind in ("predicted", "low", "high", "measured", "chance")),
        "verdict on shape",
        *(f"accuracy of colour, {kind}"
          for kind in ("predicted", "low", "high", "measured", "chance")),
        "verdict on colour",
    ]  # fmt: skip
    readouts = plain().held_out
    assert readouts is not None
    whole = plain().to_frame("all")
    assert list(whole)[: len(frame.columns) + 1] == ["set", *frame]
    words = ("verdict on", "saliences alone predict another answer on")
    of_parts = (f"{before} {part}" for part in ("shape", "colour") for before in words)
    assert set(whole) == {*readouts.to_frame(), *of_parts}
    pd.testing.assert_frame_equal(whole[list(frame)], frame)
    with pytest.raises(InputError, match='columns is "main" or "all"; got \'short\''):
        plain().to_frame("short")  # pyright: ignore[reportArgumentType]
    saliences = plain().saliences_to_frame()
    assert saliences["components"].tolist() == ["shape", "colour", "shape x colour"]
    assert (saliences["low"] <= saliences["high"]).all()
    assert saliences["salience"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("remembered", [0.0, 2.5])
def test_where_saliences_miss_an_answer_they_are_said_to(remembered):
    """One conjunction is far from the sum of its parts, which an overlap kernel cannot say."""
    rng = np.random.default_rng(0)
    rows = np.array(list(product(range(3), range(3))) * 20)
    means = rng.normal(size=(3, 60))[rows[:, 0]] + rng.normal(size=(3, 60))[rows[:, 1]]
    means[(rows == 0).all(axis=1)] += remembered * rng.normal(size=60)
    trials = pw.recordings.from_trials(means + rng.normal(size=means.shape), rows)
    result = quick(trials, bootstrap=20)
    frame, readouts = result.to_frame("all"), result.held_out
    for part in range(2):
        outputs = slice(3 * part, 3 * part + 3)
        right = readouts.targets[:, outputs] > 0
        apart = np.abs(readouts.from_saliences - readouts.predicted)[:, outputs][right]
        expected = apart > 1.959964 * readouts.deviation[:, outputs][right]
        column = frame[f"saliences alone predict another answer on component {part}"]
        np.testing.assert_array_equal(column, expected)
        assert column.any() == (remembered > 0.0)
        rows = json.loads(result.to_json())["held_out"]["rows"]
        flags = [row["readouts"][part]["saliences_predict_another_answer"] for row in rows]
        assert flags == expected.tolist()
    words = " ".join(result.describe().split())
    assert ("saliences alone predict another answer at" in words) == (remembered > 0.0)
    assert ("≠" in result.to_html().split("By saliences")[0]) == (remembered > 0.0)


def test_the_representation_is_the_headline_in_a_line():
    share = plain().saliences.saliences[0,] + plain().saliences.saliences[1,]
    # Saliences add up to 1, so that the interval is that of the pair, from the other side.
    ends = 1.0 - np.array(plain().saliences.saliences_interval[0, 1])[::-1]
    low, high = (f"{100 * min(end, 1.0):.0f} %" for end in ends)
    assert repr(plain()) == (
        "Measurement(72 trials of 30 neurons, 9 conditions: Parts by themselves make up "
        f"{100 * min(share, 1.0):.0f} % of what separates conditions ({low} to {high}).)"
    )


def test_headlines_say_what_limits_them():
    noise = quick(trials_of(noise=300.0, repeats=2), bootstrap=40, held_out="none")
    assert headline(noise).startswith("These trials do not show that conditions differ: ")
    coarse = replace(plain(), structure_interval=(0.2, 0.4))
    assert headline(coarse).endswith("That is a mean over values of which some look alike.")


def test_what_was_chosen_is_kept():
    result = quick(trials_of(times=3), window=(0.0, 1.0), whiten="diagonal", bootstrap=30,
                   seed=4)  # fmt: skip
    document = json.loads(result.to_json())
    assert document["settings"] == {
        "held_out": "each", "classifier": "ridge", "ridge": None, "whiten": "diagonal",
        "window": [0.0, 1.0], "bootstrap": 30, "seed": 4,
    }  # fmt: skip
    words = " ".join(read(result.to_html()).words)
    assert "in units of each neuron's noise, averaged from 0 to 1; 30 resamplings, seed 4" in words
    assert "with intervals over trials. Over their sum" in words


def test_pairs_of_too_many_conditions_are_refused_at_once(monkeypatch):
    rows = np.repeat(list(product(range(15), range(14))), 2, axis=0)
    trials = pw.recordings.from_trials(np.random.default_rng(0).normal(size=(420, 3)), rows)
    monkeypatch.setattr("partwhole.measurement.measurement.salience", None)
    with pytest.raises(InputError, match="at most 20,000 pairs; got 21,945 pairs of 210 condi"):
        pw.measure(trials, held_out="pairs")


def test_json_is_what_was_measured():
    document = json.loads(plain().to_json())
    assert document["trials"] == 72
    assert [entry["name"] for entry in document["components"]] == ["shape", "colour"]
    assert document["saliences"][0]["salience"] == pytest.approx(
        plain().saliences.saliences[(0,)], abs=0
    )
    rows = document["held_out"]["rows"]
    assert rows[0]["condition"] == ["disc", "blue"]
    assert rows[0]["readouts"][1]["component"] == "colour"
    assert document["time_course"] is None
    broken = quick(trials_of(noise=1e3), bootstrap=20, held_out="none")
    assert None in json.loads(broken.to_json())["saliences"][0]["interval"]


class Reader(HTMLParser):
    """Collects identifiers, links and words."""

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag == "a":
            self.links.append(attributes["href"])
        assert not attributes.get("src", "data:").startswith("http")

    def handle_data(self, data):
        self.words.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    return reader


def test_the_page_says_what_the_text_says(tmp_path):
    path = tmp_path / "page.html"
    html = plain().to_html(path)
    assert path.read_text("utf-8") == html
    reader = read(html)
    words = " ".join(" ".join(reader.words).split())
    assert re.search(r"Parts by themselves make up \d+ % of what separates conditions", words)
    assert all(link.removeprefix("#") in reader.ids for link in reader.links)
    assert len(reader.ids) == len(set(reader.ids))
    assert "disc, blue" in words
    assert "over groups of trials" in words
    assert "Over time" not in words
    assert 'path d="M' in html
    assert "NaN" not in html
    assert not re.search(r'="[^"]*\bnan\b', html)


def test_labels_cannot_break_the_page():
    responses, table = recording()
    table = table.rename(columns={"shape": "<b>shape</b>", "colour": "colour\u202e"})
    table.iloc[:24, 0] = "<script>alert(1)</script>"
    html = quick(pw.recordings.from_trials(responses, table, groups="run"), bootstrap=20)
    page = html.to_html()
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert "\u202e" not in page


@pytest.mark.parametrize("whiten", ["diagonal", "full"])
def test_whitening_changes_saliences_and_no_readout(whiten):
    trials = pw.recordings.from_trials(*recording(), groups="run")
    whitened = quick(trials, whiten=whiten, bootstrap=50).held_out
    assert whitened is not None
    assert plain().held_out is not None
    np.testing.assert_array_equal(whitened.predicted, plain().held_out.predicted)
    # Predictions from saliences are of the responses that are read out, in their units.
    np.testing.assert_allclose(whitened.from_saliences, plain().held_out.from_saliences, atol=1e-9)


def test_time_has_a_course_and_a_window():
    responses, table = recording(times=6)
    trials = pw.recordings.from_trials(responses, table, groups="run", times=np.arange(6) / 10)
    result = quick(trials, window=(0.3, 0.5), bootstrap=40, held_out="none")
    course = result.time_course
    assert course is not None
    at_end = salience(trials.at(5), bootstrap=40)
    total = at_end.centred[-1] - at_end.centred[0]
    shares = course.parts[5] / course.parts[5].sum()
    np.testing.assert_allclose(shares, list(at_end.saliences.values()), rtol=1e-9)
    assert course.parts[5].sum() == pytest.approx(total)
    # Without a signal at the first time, its parts are within the intervals around 0.
    assert np.all((course.low[0] <= 0.0) | (course.parts[0] < 0.2 * course.parts[5].max()))
    window = salience(pw.recordings.from_trials(
        responses[:, :, 3:].mean(axis=2), table, groups="run"))  # fmt: skip
    np.testing.assert_allclose(result.saliences.kappa, window.kappa)
    assert "Over time" in result.to_html()
    assert "Parts of the squared distance between conditions over time" in result.describe()


def test_what_cannot_be_said_is_said():
    noise = quick(trials_of(noise=300.0, seed=3), bootstrap=20)
    assert "too few trials to say at 9 of 9" in " ".join(noise.describe().split())
    alike = quick(trials_of(alike=True, noise=0.3), bootstrap=20, held_out="none")
    assert "saliences are too coarse for this representation" in alike.describe()
    triangle = recording(noise=0.5)
    keep = ~((triangle[1]["shape"] == "star") & (triangle[1]["colour"] != "red")).to_numpy()
    result = quick(
        pw.recordings.from_trials(triangle[0][keep], triangle[1][keep], groups="run"), bootstrap=20
    )
    frame = result.to_frame()
    only = frame[frame["shape"] == "star"]
    assert only["verdict on shape"].tolist() == ["not determined"]
    assert "cannot be tested, as no other condition has" in " ".join(result.describe().split())


def test_a_trial_of_each_condition_is_refused_with_the_likely_reason():
    with pytest.raises(InputError) as caught:
        pw.measure(pw.recordings.from_trials(*recording()))
    assert str(caught.value) == (
        "a recording is measured by conditions with two trials or more; got one trial of each of "
        "72 conditions of shape x colour x run; add trials, or leave columns that number runs or "
        "trials out of components; of responses without noise, in Python measures.salience with "
        "self_pairs=True has the saliences"
    )


def test_shares_above_one_are_said_to_be_all():
    grading = replace(plain().gradings[0], kind="ordered", ordered=1.37, circular=1.2,
                      p_ordered=0.01, p_circular=0.01)  # fmt: skip
    assert grading_in_words(grading).endswith("as on a line (steps along it explain 100 %)")
    grading = replace(grading, kind="circular")
    assert grading_in_words(grading).endswith("as on a circle (steps around it explain 100 %)")
    result = replace(plain(), saliences=replace(plain().saliences, structure=1.02),
                     structure_interval=(0.98, 1.06))  # fmt: skip
    assert structure_in_words(result).startswith("Shared parts explain 100 % (98 to 100 %) of how")


def test_offsets_of_runs_are_no_signal_in_trials_of_several_sessions():
    # Runs differ more than conditions do. With their offsets, dimensions were a tenth of these.
    grid = np.array([[a, b] for a in range(4) for b in range(3)])
    shares = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        means = rng.normal(size=(4, 60))[grid[:, 0]] + rng.normal(size=(3, 60))[grid[:, 1]]
        rows = np.tile(np.arange(12), 12)
        run, day = np.arange(144) // 12, np.arange(144) // 72
        responses = means[rows] + 2.0 * rng.normal(size=(12, 60))[run]
        responses += 1.0 * rng.normal(size=responses.shape)
        responses[day == 0, 30:] = responses[day == 1, :30] = np.nan
        trials = pw.recordings.from_trials(responses, grid[rows], groups=run, sessions=day)
        measured = quick(trials, held_out="none", bootstrap=20).dimensions
        centred = means - means.mean(axis=0)
        products = centred @ centred.T
        shares.append(measured.value * np.sum(products**2) / np.trace(products) ** 2)
    assert np.mean(shares) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("groups", [None, "run"])
def test_what_is_of_pseudo_trials_is_said(groups):
    responses, table = recording()
    day = table["run"] // 4
    responses[day == 0, 20:] = responses[day == 1, :10] = np.nan
    trials = pw.recordings.from_trials(
        responses, table, components=["shape", "colour"], groups=groups, sessions=day
    )
    said = "which combine trials of one condition from different sessions"
    (note,) = [note for note in quick(trials, bootstrap=20).notes if said in note]
    assert note.endswith("what each group adds to all responses was subtracted") == bool(groups)
    assert not any(said in note for note in plain().notes)


def test_verdicts_follow_the_certainty():
    readouts = plain().held_out
    assert readouts is not None
    for row in range(9):
        certainty = readouts.certainty[row, 0]
        expected = "right" if certainty >= 0.975 else "wrong" if certainty <= 0.025 else (
            "too few trials")  # fmt: skip
        assert verdicts_of(readouts).words[row][0] == expected


def test_a_penalty_that_is_too_small_is_said_to_be():
    result = quick(trials_of(shape=(3, 3), neurons=70, repeats=8, noise=2.3), bootstrap=20)
    readouts = result.held_out
    assert readouts is not None
    assert readouts.larger_certainty is not None
    frame, small = result.to_frame(), 0
    words = " ".join(result.describe().split())
    for j, name in enumerate(readouts.labels):
        expected = (
            readouts.determined
            & (np.abs(readouts.certainty[:, j] - 0.5) < 0.475)
            & (readouts.larger_certainty[:, j] >= 0.975)
        )
        assert (frame[f"verdict on {name}"] == "penalty too small").tolist() == expected.tolist()
        assert expected.any()
        match = re.search(
            rf"{name}, one of 3 values: right in .*?; undecided at (\d) of 9 with this ridge ",
            words,
        )
        assert match is not None
        assert int(match[1]) == expected.sum()
        small += int(expected.sum())
    assert result.notes[-1] == (
        "70 neurons are about as many as 64 training trials, where readouts with a small penalty "
        f"do worst: of answers that are open with ridge={readouts.ridge:.2g}, {small} would be "
        f"right with ridge={readouts.larger_ridge:.3g}"
    )
    saved = json.loads(result.to_json())["held_out"]
    assert saved["larger_ridge"] == readouts.larger_ridge
    certainty = [[part["larger_certainty"] for part in row["readouts"]] for row in saved["rows"]]
    np.testing.assert_array_equal(certainty, readouts.larger_certainty)
    assert "penalty too small" in " ".join(read(result.to_html()).words)


def test_few_groups_are_not_called_few_trials():
    responses, table = recording()
    keep = table["run"].isin([0, 1]).to_numpy()
    few = pw.recordings.from_trials(responses[keep], table[keep], groups="run")
    assert "from so few groups: parts by" in repr(quick(few, bootstrap=20, held_out="none"))


def test_two_conditions_have_no_readouts():
    responses, table = recording()
    keep = (table["shape"] == "disc").to_numpy() & (table["colour"] != "red").to_numpy()
    few = pw.recordings.from_trials(responses[keep], table[keep], groups="run")
    result = quick(few, bootstrap=20)
    assert result.held_out is None
    assert any("readouts of held-out conditions are left out" in note for note in result.notes)
    with pytest.raises(InputError, match="has a row for each held-out condition; got a measure"):
        result.to_frame()
    assert json.loads(result.to_json())["held_out"] is None
    result.to_html()


def test_pairs_are_named_with_their_partner():
    result = quick(trials_of(shape=(2, 2)), held_out="pairs", bootstrap=20)
    frame = result.to_frame()
    assert len(frame) == 12
    assert frame["set"].value_counts().tolist() == [2] * 6
    assert "with disc, blue" in " ".join(read(result.to_html()).words)
    assert "of two conditions held out" in result.describe()


def test_the_command_says_what_to_do_in_its_options(tmp_path, capsys):
    np.save(tmp_path / "r.npy", np.random.default_rng(0).normal(size=(8, 5)))
    lines = ["shape,colour", *["disc,red", "disc,blue", "star,red", "star,"] * 2]
    (tmp_path / "c.csv").write_text("\n".join(lines))
    with pytest.raises(SystemExit) as ended:
        main(["measure", str(tmp_path / "r.npy"), str(tmp_path / "c.csv")])
    assert ended.value.code == 2
    sentence = capsys.readouterr().err
    assert sentence.endswith("pass --missing drop to leave these trials out\n")


def test_a_split_is_held_out_in_sets(tmp_path, capsys):
    responses, table = recording()
    corner = (table["shape"] != "disc") & (table["colour"] != "red")
    edge = (table["shape"] == "disc") & (table["colour"] == "green")
    trials = pw.recordings.from_trials(responses, table, components=["shape", "colour"])
    masks = np.array([corner, edge])
    result = quick(trials, held_out=masks, bootstrap=20)
    direct = held_out_readouts(trials, held_out=masks)
    np.testing.assert_array_equal(result.held_out.predicted, direct.predicted)
    assert "set 1" in " ".join(read(result.to_html()).words)
    assert "of a set of conditions held out" in result.describe()
    # The same from files.
    table["part"] = np.where(corner, "corner", np.where(edge, "edge", "train"))
    np.save(tmp_path / "responses.npy", responses)
    table.to_csv(tmp_path / "conditions.csv", index=False)
    paths = [str(tmp_path / name) for name in ("responses.npy", "conditions.csv")]
    output = tmp_path / "held-out.csv"
    for components in ((), ("shape", "colour")):
        with few_repetitions():
            measure_files(
                *paths, components=components, groups="run", split="part", output=output,
                bootstrap=20,
            )  # fmt: skip
        frame = pd.read_csv(output)
        assert len(frame) == 5
        assert set(frame.columns) >= {"set", "shape", "colour"}
        assert "part" not in frame
        assert sorted(frame["set"].value_counts()) == [1, 4]
    assert "shape (3) x colour (3)" in capsys.readouterr().out
    with pytest.raises(InputError, match="a split has training trials and others; got the entr"):
        measure_files(*paths, split="part", groups="run", train="fit")
    table.assign(part="train").to_csv(tmp_path / "conditions.csv", index=False)
    with pytest.raises(InputError) as error:
        measure_files(*paths, split="part", groups="run")
    assert str(error.value) == (
        "a split has training trials and others; got one entry in all trials of 'part'; name "
        "another column by --split"
    )


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_and_offsets_change_no_verdict(factor):
    responses, table = recording()
    moved = quick(
        pw.recordings.from_trials(factor * (responses + 7.0), table, groups="run"), bootstrap=50
    )
    unscaled, scaled = plain().to_frame("all"), moved.to_frame("all")
    numbers = [c for c in unscaled if unscaled[c].dtype == float]
    np.testing.assert_allclose(scaled[numbers], unscaled[numbers], rtol=1e-5, atol=1e-5)
    assert scaled["verdict on shape"].tolist() == unscaled["verdict on shape"].tolist()
    np.testing.assert_allclose(
        moved.saliences_to_frame().iloc[:, 2:], plain().saliences_to_frame().iloc[:, 2:], atol=1e-7
    )


def test_a_window_is_of_responses_over_time():
    with pytest.raises(InputError) as error:
        pw.measure(trials_of(), window=(0.0, 1.0))
    shape = trials_of().responses.shape
    assert str(error.value) == (
        f"a window is of responses over time; got responses of shape {shape}; leave window out"
    )


def test_decoders_of_very_many_conditions_are_left_out():
    """Of 290 conditions, systems of equations at each place of a null take minutes."""
    rng = np.random.default_rng(0)
    conditions = rng.integers(0, 2, size=(300, 12))
    responses = rng.normal(size=(300, 20)) + conditions @ rng.normal(size=(12, 20))
    recording = pw.recordings.from_trials(responses, conditions)
    for measured, note in (part(recording, 0) for part in (generalization_of, shattering_of)):
        assert measured is None
        assert "are left out, as they would take long" in note[0]


@pytest.mark.parametrize("graded", [True, False])
def test_readouts_of_graded_values_are_right_as_often_as_predicted(graded):
    """Tuning curves of eight orientations, or eight values without an order."""
    rng = np.random.default_rng(1)
    conditions = np.array(list(product(range(8), range(2))) * 10)
    angle = 2 * np.pi * conditions[:, 0] / 8
    peaks = rng.uniform(0, 2 * np.pi, 60)
    tuned = np.exp(2 * np.cos(angle[:, None] - peaks) - 2)
    free = 0.4 * rng.normal(size=(8, 60))[conditions[:, 0]]
    context = 0.4 * rng.normal(size=(2, 60))[conditions[:, 1]]
    responses = (tuned if graded else free) + context + rng.normal(size=(160, 60))
    result = quick(pw.recordings.from_trials(responses, conditions), bootstrap=20)
    table = result.to_frame()
    predicted, measured = (
        table[f"accuracy of component 0, {kind}"].mean() for kind in ("predicted", "measured")
    )
    # Sixteen conditions of ten trials have a sampling error of .04.
    assert abs(predicted - measured) < 0.1


def test_sources_of_error_are_in_the_text_and_on_the_page():
    readouts = plain().held_out
    assert readouts is not None
    error = np.sqrt(np.mean((readouts.predicted - readouts.measured) ** 2))
    of_test = np.diagonal(readouts.within, axis1=1, axis2=2) / readouts.n_trials[:, None]
    said = (
        "Sources of error of answers, root mean square: sampling of training trials [\\d.]+, "
        f"sampling of test trials {np.sqrt(np.mean(of_test)):.2g}, sampling of neurons [\\d.]+, "
        "predictions from saliences in place of all means [\\d.]+; measured answers are off from "
        f"predicted ones by {error:.2g}"
    )
    assert re.search(said, " ".join(plain().describe().split()))
    assert re.search(said, " ".join(" ".join(read(plain().to_html()).words).split()))
    # Where no readout can answer there is no error either.
    rows = np.repeat(np.arange(4), 6)
    one = pw.recordings.from_trials(np.random.default_rng(0).normal(size=(24, 5)), rows)
    assert "Sources of error" not in quick(one, bootstrap=20).describe()


def test_predictions_that_are_the_measured_answers_are_said_to_be():
    rows = np.repeat(list(product(range(4), range(4))), 3, axis=0)
    noisy = np.random.default_rng(0).normal(size=(len(rows), 5)) + rows.sum(axis=1)[:, None]
    text = " ".join(quick(pw.recordings.from_trials(noisy, rows)).describe().split())
    assert "predicted mean answers are the measured ones, as training conditions outnumber" in text
    assert "e−" not in text


def test_scores_stand_beside_those_of_shuffled_means():
    words = " ".join(plain().describe().split())
    general, shattered = plain().abstraction.generalization, plain().abstraction.shattering
    after = "where each neuron's condition means are shuffled"
    for name, share in zip(general.names, general.null_by_component.mean(axis=0), strict=True):
        assert re.search(rf"{name}: .*? unseen contexts \({100 * share:.0f} % {after}; p", words)
    assert (
        f"Over splits of the conditions into two halves, decoders are right in "
        f"{100 * shattered.value:.0f} % of trials (shattering dimensionality; "
        f"{100 * shattered.chance:.0f} % with labels of trials permuted, "
        f"{100 * shattered.ceiling:.0f} % {after})"
    ) in words
