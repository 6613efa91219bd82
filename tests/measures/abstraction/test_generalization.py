"""CCGP against decoders by least squares, closed forms and codes at random."""

from __future__ import annotations

import numpy as np
import plain_decoders as plain
import pytest
from noisy_recordings import grid, population, record, recording_of
from scipy.stats import binom, norm, ortho_group

from partwhole._checks import InputError
from partwhole.measures.abstraction import ccgp
from partwhole.measures.abstraction.decoder import Places
from partwhole.measures.abstraction.dichotomies import (
    balanced_labels,
    component_dichotomies,
    held_out_sets,
)
from partwhole.measures.abstraction.generalization import _rotated
from partwhole.measures.abstraction.nulls import permuted_means
from partwhole.measures.abstraction.splits import splits_of, transfer
from partwhole.recordings import from_trials


def scale(recording):
    return np.std(recording.responses, axis=0).max()


@pytest.mark.parametrize("ridge", [0.3, 2.0])
@pytest.mark.parametrize(
    ("n_values", "neurons", "counts"),
    [((2, 2, 2), 5, 4), ((2, 3), 4, [3, 5, 2, 6, 4, 3]), ((2, 2), 40, 5), ((5,), 4, 3)],
)
def test_scores_of_all_dichotomies_are_those_of_least_squares(n_values, neurons, counts, ridge):
    rng = np.random.default_rng(0)
    rows = grid(*n_values)
    recording = record(rng, rows, rng.normal(size=(len(rows), neurons)), counts, 1.5)
    measured = ccgp(recording, ridge=ridge, repetitions=0)
    x, index = recording.responses, recording.condition_of_trial
    rho = plain.penalty(x, index, ridge)
    for labels, score, count in zip(
        measured.labels, measured.score, measured.n_splits, strict=True
    ):
        expected, n_splits = plain.generalization(x, index, labels, rho)
        # Shares of a few trials: equal but for rounding, if no answer is 0 to it.
        assert score == pytest.approx(expected, abs=1e-12)
        assert count == n_splits
    balanced = np.all(measured.labels != 0, axis=1)
    sides = [plain.sides_of(labels) for labels in measured.labels[balanced]]
    assert len(set(sides)) == len(sides)
    halves = plain.halves(len(rows))
    assert halves == set(sides) & halves
    assert all(measured.component[balanced][sides.index(pair)] >= 0 for pair in {*sides} - halves)
    assert measured.n_dichotomies == len(halves)
    for c in range(len(n_values)):
        for labels in measured.labels[measured.component == c]:
            low, high = (recording.conditions[labels == side, c] for side in (-1, 1))
            assert len(set(low)) == len(set(high)) == 1
            left_out = recording.conditions[labels == 0, c]
            assert not {*low, *high} & {*left_out}


@pytest.mark.parametrize("size", [2, 3])
def test_several_conditions_are_held_out_together(size):
    rng = np.random.default_rng(1)
    recording = record(rng, grid(2, 4), rng.normal(size=(8, 6)), 3)
    measured = ccgp(recording, dichotomies="components", held_out=size, repetitions=0)
    x, index = recording.responses, recording.condition_of_trial
    # Pairs of values of b have two conditions on each side.
    assert measured.component.tolist() == [0]
    assert measured.notes == ("6 dichotomies left out, with too few conditions to hold some out",)
    rho = plain.penalty(x, index)
    expected = plain.generalization(x, index, measured.labels[0], rho, size)
    assert (measured.score[0], measured.n_splits[0]) == pytest.approx(expected, abs=1e-12)


def test_pairs_that_differ_in_few_components_are_held_out():
    rng = np.random.default_rng(13)
    rows = np.delete(grid(2, 3, 2), [1, 7], axis=0)
    recording = record(rng, rows, rng.normal(size=(len(rows), 6)), 3)
    x, index = recording.responses, recording.condition_of_trial
    rho = plain.penalty(x, index)
    for differing in (1, 2):
        measured = ccgp(
            recording, dichotomies="components", differing=differing, repetitions=0, max_splits=99
        )
        assert measured.component.tolist() == [0, 1, 1, 1, 2]
        for labels, score, count in zip(
            measured.labels, measured.score, measured.n_splits, strict=True
        ):
            scores = []
            for first in np.flatnonzero(labels < 0):
                for second in np.flatnonzero(labels > 0):
                    if np.sum(rows[first] != rows[second]) <= differing:
                        held = np.isin(index, [first, second])
                        train = ~held & (labels[index] != 0)
                        fit = plain.decoder(x[train], index[train], labels, rho)
                        right = plain.correct(x[held], index[held], labels, *fit)
                        scores.append(np.mean([*right.values()]))
            assert count == len(scores)
            assert score == pytest.approx(np.mean(scores), abs=1e-12)
    # As many components as there are: any pair.
    anywhere, everywhere = (ccgp(recording, differing=most, repetitions=0) for most in (None, 3))
    np.testing.assert_array_equal(anywhere.n_splits, everywhere.n_splits)
    np.testing.assert_allclose(anywhere.score, everywhere.score, atol=1e-12)
    drawn = ccgp(recording, differing=3, max_splits=4, repetitions=0)
    assert drawn.n_splits.max() == 4
    again = ccgp(recording, differing=3, max_splits=4, repetitions=0)
    np.testing.assert_array_equal(drawn.score, again.score)


def test_dichotomies_without_near_pairs_are_left_out():
    rng = np.random.default_rng(14)
    # Values of the first component share no value of the second, but those of the second do.
    rows = np.array([[0, 0], [0, 1], [1, 2], [1, 3], [2, 2], [2, 3], [3, 2]])
    recording = record(rng, rows, rng.normal(size=(7, 6)), 3)
    measured = ccgp(recording, dichotomies="components", differing=1, repetitions=0)
    near = "with too few conditions to hold some out that differ in at most 1 component"
    assert measured.notes == (f"10 dichotomies left out, {near}",)
    assert measured.component.tolist() == [0, 1]
    with pytest.raises(InputError) as caught:
        ccgp(recording.select(np.isin(recording.components[:, 0], [0, 1])), differing=1,
             dichotomies="components")  # fmt: skip
    assert str(caught.value) == (
        "two conditions that differ in at most 1 component are held out, one of each side of a "
        "dichotomy, and others of both sides trained on; got none among 4 conditions; add "
        "conditions"
    )
    with pytest.raises(InputError) as caught:
        ccgp(recording, differing=1, held_out=2)
    assert str(caught.value) == (
        "differing is of two conditions that are held out together, one of each side; got "
        "held_out=2; leave one of them out"
    )


def test_equal_numbers_of_trials_make_it_ridge_regression_on_labels():
    rng = np.random.default_rng(2)
    recording = record(rng, grid(2, 2), rng.normal(size=(4, 6)), 10)
    x, index = recording.responses, recording.condition_of_trial
    labels, rho = np.array([-1, -1, 1, 1]), plain.penalty(x, index)
    train = np.isin(index, [0, 2])
    weights, intercept = plain.decoder(x[train], index[train], labels, rho)
    centre = x[train].mean(axis=0)
    moment = (x[train] - centre).T @ (x[train] - centre) / 20 + rho * np.eye(6)
    expected = np.linalg.solve(moment, (x[train] - centre).T @ labels[index[train]] / 20)
    np.testing.assert_allclose(weights, expected, rtol=1e-9)
    assert intercept == pytest.approx(-centre @ expected, abs=1e-9)


@pytest.mark.parametrize("neurons", [5, 60])
def test_permuted_means_have_the_scores_of_trials_moved_there(neurons):
    rng = np.random.default_rng(3)
    recording = record(rng, grid(2, 3), rng.normal(size=(6, neurons)), [3, 4, 3, 5, 3, 4])
    listed = component_dichotomies(recording)
    splits, n_splits = splits_of(listed, 1, 64, 0)
    (clouds,) = Places.of(recording).clouds(1.0, 3, np.random.default_rng(4))
    scores = transfer(clouds, listed.labels, splits) / n_splits
    measured = ccgp(recording, dichotomies="components", repetitions=0)
    np.testing.assert_allclose(scores[0], measured.score, atol=1e-12)
    for places, row in zip(clouds.positions, scores, strict=True):
        moved = places[clouds.index] + clouds.deviations
        expected = [
            plain.generalization(moved, clouds.index, labels, clouds.ridge)[0]
            for labels in listed.labels
        ]
        np.testing.assert_allclose(row, expected, atol=1e-12)
    x, index = recording.responses, recording.condition_of_trial
    means = np.array([x[index == t].mean(axis=0) for t in range(6)]) / scale(recording)
    means -= means.mean(axis=0)
    drawn = permuted_means(means, 3, np.random.default_rng(4))
    deviations = x / scale(recording) - means[index]
    deviations -= deviations.mean(axis=0)
    for places, permuted in zip(clouds.positions[1:], drawn, strict=True):
        np.testing.assert_allclose(np.sort(permuted, axis=0), np.sort(means, axis=0))
        # The same products between means, and with the noise of trials.
        np.testing.assert_allclose(places @ places.T, permuted @ permuted.T, atol=1e-10)
        np.testing.assert_allclose(
            places @ clouds.deviations.T, permuted @ deviations.T, atol=1e-10
        )


def test_sums_generalize_and_exclusive_or_turns_around():
    rng = np.random.default_rng(5)
    rows = grid(2, 2)
    codes = np.linalg.qr(rng.normal(size=(20, 2)))[0].T
    means = np.outer(rows[:, 0], 2.0 * codes[0]) + np.outer(rows[:, 1], codes[1])
    measured = ccgp(record(rng, rows, means, 6, noise=0.001), repetitions=19)
    # Of four ways to hold out, two train on conditions that differ in both components: there the
    # longer coding vector decides. In exclusive or, what is alike in training differs in test.
    assert measured.score.tolist() == [1.0, 0.5, 0.0]
    assert measured.by_component == {"a": 1.0, "b": 0.5}
    assert measured.component.tolist() == [0, 1, -1]
    assert measured.texts[:2] == ("0 / 1", "0 / 1")
    assert measured.texts[2] in ("0, 1; 1, 0", "0, 0; 1, 1")
    assert measured.p[2] == 1.0
    # With four values of the second component, the first decides everywhere.
    rows = grid(2, 4)
    means = np.outer(rows[:, 0], 2.0 * codes[0]) + 0.5 * rng.normal(size=(4, 20))[rows[:, 1]]
    abstract = ccgp(record(rng, rows, means, 6, noise=0.001), repetitions=19)
    assert abstract.by_component["a"] == 1.0
    assert abstract.p_by_component["a"] == 0.05


def test_accuracy_of_known_means_in_closed_form():
    """With isotropic noise the weights lie along the coding vector of the training conditions."""
    rng = np.random.default_rng(6)
    n, angle = 2000, np.pi / 3
    rows, means = grid(2, 2), np.zeros((4, 3))
    means[2, :2] = means[0, :2] + (1.5, 0.0)
    means[1] += (0.0, 0.0, 2.0)
    means[3] = means[1] + (1.5 * np.cos(angle), 1.5 * np.sin(angle), 0.0)
    measured = ccgp(record(rng, rows, means, n), dichotomies="components", repetitions=0)
    expected = []
    ways = [((0, 2), (1, 3)), ((1, 3), (0, 2)), ((0, 3), (1, 2)), ((1, 2), (0, 3))]
    for train, test in ways:
        weights = means[train[1]] - means[train[0]]
        midpoint = 0.5 * (means[train[0]] + means[train[1]])
        for side, t in zip((-1, 1), test, strict=True):
            along = side * (means[t] - midpoint) @ weights / np.linalg.norm(weights)
            expected.append(norm.cdf(along))
    # Of 16,000 answers, and weights that scatter by 1 / sqrt(2000) about the means' difference.
    assert measured.by_component["a"] == pytest.approx(np.mean(expected), abs=0.02)


def test_invariances():
    rng = np.random.default_rng(7)
    recording = record(rng, *population(rng, (2, 3), neurons=8), 4)
    x = recording.responses
    measured = ccgp(recording, repetitions=5)
    turn = ortho_group.rvs(8, random_state=0)
    order = rng.permutation(len(x))
    again = [
        recording_of(x + 100.0, recording.components),
        recording_of(-1e-30 * x, recording.components),
        recording_of(np.hstack([x @ turn, np.full((24, 30), 2.0)]), recording.components),
        recording_of(x[order], recording.components[order]),
        recording_of(x[..., None] + [-1.0, 1.0], recording.components),
    ]
    for changed in again:
        # Shares of trials, which rounding changes only where an answer is 0 to it.
        np.testing.assert_allclose(ccgp(changed, repetitions=0).score, measured.score, atol=1e-12)
    first = ccgp(recording, repetitions=5)
    np.testing.assert_array_equal(first.null, measured.null)
    assert first.null.shape == (5, len(first.score))


@pytest.mark.parametrize(
    ("null", "differing", "recordings", "repetitions", "level"),
    [
        ("neurons", None, 100, 39, 0.05),
        ("neurons", 1, 100, 39, 0.05),
        ("rotation", None, 40, 9, 0.1),
    ],
)
def test_codes_at_random_have_uniform_p_values(null, differing, recordings, repetitions, level):
    rng = np.random.default_rng(8)
    p = []
    for seed in range(recordings):
        # Neurons differ in their mean rates, which say nothing of conditions.
        recording = record(rng, grid(2, 2), rng.normal(size=(4, 20)) + np.arange(20.0), 6)
        measured = ccgp(
            recording,
            dichotomies="components",
            differing=differing,
            null=null,
            repetitions=repetitions,
            seed=seed,
        )
        p.append(measured.p_by_component["a"])
    # Ties count as higher, so that the mean is rather above one half.
    error = np.sqrt(1 / 12 / recordings)
    assert 0.5 - 4 * error < np.mean(p) < 0.56 + 4 * error
    assert np.sum(np.array(p) <= level) <= binom.ppf(1 - 1e-4, recordings, level)


def test_rotated_clouds_keep_their_shape():
    """Neurons of a condition are permuted alike in all of its trials, each condition in its way."""
    rng = np.random.default_rng(12)
    recording = record(rng, grid(2, 2), rng.normal(size=(4, 30)), 6)
    turned = _rotated(recording, rng)
    index = recording.condition_of_trial
    orders = []
    for condition in range(4):
        before, after = (r.responses[index == condition] for r in (recording, turned))
        before, after = (x - x.mean(axis=0) for x in (before, after))
        orders.append(np.abs(after[0][:, None] - before[0]).argmin(axis=1))
        np.testing.assert_allclose(after, before[:, orders[-1]], atol=1e-12)
    assert len({tuple(order) for order in orders}) == 4
    # A code that conditions share is abstract: no turned one generalises as well.
    shared = record(rng, grid(2, 4), 2.0 * rng.normal(size=(2, 30))[grid(2, 4)[:, 0]], 6)
    measured = ccgp(shared, dichotomies="components", null="rotation", repetitions=19)
    assert measured.p_by_component["a"] == 1 / 20


def test_permuted_labels_say_whether_trials_tell_of_conditions_at_all():
    # Of noise alone p-values are 1, 2, ... 5 fifths alike; of 60 the standard error is .037.
    rng = np.random.default_rng(11)
    rows = np.repeat([[a, b] for a in range(2) for b in range(2)], 8, axis=0)
    values = []
    for _ in range(60):
        noise = from_trials(rng.normal(size=(32, 5)), rows)
        drawn = ccgp(noise, dichotomies="components", null="labels", repetitions=4)
        values.append(drawn.p_by_component["component 0"])
    assert abs(np.mean(values) - 0.6) < 4 * 0.037
    # With a code of one component none of 19 permutations decodes as well. Within runs their
    # spread is another than across them, as what the trials of a run share stays with it.
    runs = np.tile(np.arange(8), 4)
    parts = rng.normal(size=(2, 20))[rows[:, 0]] + rng.normal(size=(8, 20))[runs]
    coded = from_trials(parts + 0.3 * rng.normal(size=(32, 20)), rows, groups=runs)
    plain = from_trials(coded.responses, rows)
    within, across = (
        ccgp(recording, dichotomies="components", null="labels", repetitions=19)
        for recording in (coded, plain)
    )
    np.testing.assert_array_equal(within.score, across.score)
    assert within.p_by_component["component 0"] == 1 / 20
    assert within.null.std() != across.null.std()


def test_one_trial_a_condition():
    rng = np.random.default_rng(9)
    rows = grid(2, 4)
    means = 3.0 * rng.normal(size=(2, 30))[rows[:, 0]] + rng.normal(size=(8, 30))
    measured = ccgp(record(rng, rows, means, 1, noise=0.0), repetitions=19)
    assert measured.notes[-1] == "one trial of every condition: the noise of trials is unknown"
    assert measured.by_component["a"] == 1.0
    assert measured.p_by_component["a"] <= 0.1


def test_drawn_dichotomies_and_splits():
    labels = balanced_labels(16, 50, 0)
    assert len({plain.sides_of(row) for row in labels}) == 50
    assert np.all(labels.sum(axis=1) == 0)
    # So many that they are drawn without a list of all.
    many = balanced_labels(30, 40, 0)
    assert len({plain.sides_of(row) for row in many}) == 40
    assert np.all(many.sum(axis=1) == 0)
    odd = balanced_labels(5, 100, 0)
    assert len({plain.sides_of(row) for row in odd}) == 10
    assert set(np.abs(odd.sum(axis=1))) == {1}
    sets = held_out_sets(labels[0], 2, 20, 1)
    assert len(set(sets)) == 20
    assert all(labels[0, list(held)].sum() == 0 and len(set(held)) == 4 for held in sets)
    rng = np.random.default_rng(10)
    recording = record(rng, grid(4, 4), rng.normal(size=(16, 5)), 2)
    measured = ccgp(recording, max_dichotomies=7, max_splits=3, repetitions=2)
    assert measured.notes == ("7 of 6,435 balanced dichotomies drawn at random",)
    assert measured.n_splits.tolist() == [3] * 19
    table = measured.to_frame()
    assert table.columns.tolist() == [
        "dichotomy", "component", "ccgp", "splits", "null mean", "null deviation", "p",
        "repetitions",
    ]  # fmt: skip
    assert table.component.tolist() == ["a"] * 6 + ["b"] * 6 + [""] * 7
    assert table.dichotomy[0] == "0 / 1"
    assert table.dichotomy[18].count(";") == 7


def test_sessions_become_pseudo_trials():
    rng = np.random.default_rng(11)
    rows, means = population(rng, (2, 2), (1.0, 0.3, 0.0), neurons=40)
    index = np.repeat(np.arange(4), 10)
    responses = means[index] + 0.3 * rng.normal(size=(40, 40))
    sessions = np.tile([0, 1], 20)
    responses[sessions == 0, :20] = np.nan
    responses[sessions == 1, 20:] = np.nan
    table = {"a": rows[index, 0], "b": rows[index, 1]}
    measured = ccgp(from_trials(responses, table, sessions=sessions), repetitions=0)
    assert "trials combine neurons of several sessions, without correlations" in measured.notes[-1]
    assert measured.by_component["a"] == 1.0
    assert np.isnan(measured.p).all()


def test_error():
    recording = record(np.random.default_rng(12), grid(2, 2), np.eye(4), 3)
    with pytest.raises(InputError) as refusal:
        ccgp(recording, held_out=2)
    assert str(refusal.value) == (
        "both sides of a dichotomy have more conditions than are held out; got 4 conditions, 2 of "
        "each side held out; hold out fewer, or add conditions"
    )


def blocked(rng, signal, offset=1.0, neurons=40):
    """Eight runs, each with one value of a and both of b, whose trials share an offset."""
    run = np.repeat(np.arange(8), 8)
    rows = np.column_stack([run % 2, np.tile(np.arange(2), 32)])
    responses = rng.normal(size=(64, neurons)) + offset * rng.normal(size=(8, neurons))[run]
    responses += signal * rng.normal(size=(2, neurons))[rows[:, 0]]
    return recording_of(responses, rows, run)


def test_what_trials_of_a_run_share_is_no_signal():
    options = {"dichotomies": "components", "differing": 1, "repetitions": 19}
    scores, small = [], 0
    for seed in range(10):
        measured = ccgp(blocked(np.random.default_rng(seed), 0.0), seed=seed, **options)
        scores.append(measured.by_component["a"])
        small += measured.p_by_component["a"] <= 0.05
    # Accuracies of single recordings scatter by about .1; with a run's other trials they are .9.
    assert abs(np.mean(scores) - 0.5) < 4 * 0.1 / np.sqrt(10)
    assert small <= binom.ppf(1 - 1e-3, 10, 0.05)
    # A code that is as long as offsets of four runs are together is decoded in runs unseen.
    measured = ccgp(blocked(np.random.default_rng(0), 2.0), **options)
    assert measured.by_component["a"] > 0.9
    assert "confounded with groups" in measured.notes[-1]


def test_values_of_one_run_have_no_score():
    recording = blocked(np.random.default_rng(0), 1.0)
    rows = recording.components.copy()
    rows[:, 0] = recording.groups == 3
    alone = recording_of(recording.responses, rows, recording.groups)
    measured = ccgp(alone, dichotomies="components", differing=1, repetitions=9)
    assert np.isnan(measured.by_component["a"])
    assert np.isfinite(measured.by_component["b"])
    assert measured.notes[0] == (
        "values of 'a' need two groups each to be told from groups, and it has no score in unseen "
        "contexts: record every value in several groups"
    )
