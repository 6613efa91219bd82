"""Shattering dimensionality against decoders by least squares, closed forms and noise alone."""

from __future__ import annotations

import numpy as np
import plain_decoders as plain
import pytest
from noisy_recordings import grid, population, record, recording_of
from scipy.stats import binom, ortho_group

from partwhole._checks import InputError
from partwhole.measures._rows import coordinates
from partwhole.measures.abstraction import ccgp, shattering_dimensionality
from partwhole.measures.abstraction.cross_validation import folds_of, permuted_accuracy
from partwhole.measures.abstraction.decoder import Places
from partwhole.measures.abstraction.nulls import p_values, permuted_labels
from partwhole.recordings import from_trials


@pytest.mark.parametrize("ridge", [0.2, 2.0])
@pytest.mark.parametrize(
    ("n_values", "neurons"), [((2, 2), 4), ((2, 3), 30), ((5,), 6), ((2, 2, 2), 3)]
)
def test_accuracy_is_that_of_least_squares(n_values, neurons, ridge):
    rng = np.random.default_rng(0)
    rows = grid(*n_values)
    # As many groups as folds, which are then the groups.
    recording = record(rng, rows, rng.normal(size=(len(rows), neurons)), 4, 1.5, offset=0.0)
    keep = rng.permutation(4 * len(rows))[: 4 * len(rows) - 2]
    recording = recording.select(np.sort(keep))
    measured = shattering_dimensionality(recording, folds=4, ridge=ridge, repetitions=0)
    x, index = recording.responses, recording.condition_of_trial
    rho = plain.penalty(x, index, ridge)
    expected = [
        plain.cross_validated(x, index, recording.groups, labels, rho) for labels in measured.labels
    ]
    # Shares of a few trials: equal but for rounding, if no answer is 0 to it.
    np.testing.assert_allclose(measured.accuracy, expected, atol=1e-12)
    assert measured.value == pytest.approx(np.mean(expected), abs=1e-12)
    sides = {plain.sides_of(labels) for labels in measured.labels}
    assert len(sides) == measured.n_dichotomies == len(measured.labels)
    if len(rows) % 2 == 0:
        assert sides == plain.halves(len(rows))
    for labels, c in zip(measured.labels, measured.component, strict=True):
        of_one = [len(set(column[labels > 0])) == len(set(column[labels < 0])) == 1
                  for column in recording.conditions.T]  # fmt: skip
        assert (c >= 0) == any(of_one)
        assert c < 0 or of_one[c]
    assert np.isnan([measured.chance, measured.ceiling, measured.p]).all()


@pytest.mark.parametrize("neurons", [5, 50])
def test_permuted_labels_are_those_of_least_squares(neurons):
    rng = np.random.default_rng(1)
    recording = record(rng, grid(2, 2), rng.normal(size=(4, neurons)), [5, 6, 5, 7])
    x, index = recording.responses, recording.condition_of_trial
    fold = folds_of(index, None, 3, rng)
    indices = np.stack([index, *(permuted_labels(index, fold, rng) for _ in range(3))])
    labels = np.array([[-1, -1, 1, 1], [1, -1, -1, 1]])
    accuracies = permuted_accuracy(Places(x, coordinates(x), index), indices, fold, labels, 0.7)
    for of_trial, row in zip(indices, accuracies, strict=True):
        rho = plain.penalty(x, of_trial, 0.7)
        expected = [plain.cross_validated(x, of_trial, fold, side, rho) for side in labels]
        np.testing.assert_allclose(row, expected, atol=1e-12)
    for of_trial in indices:
        for part in range(3):
            kept = np.bincount(index[fold == part], minlength=4)
            np.testing.assert_array_equal(np.bincount(of_trial[fold == part], minlength=4), kept)


def test_folds_are_even_and_keep_groups_together():
    rng = np.random.default_rng(2)
    index = np.repeat(np.arange(7), rng.integers(4, 9, 7))
    fold = folds_of(rng.permutation(index), None, 4, rng)
    assert np.ptp(np.bincount(fold)) <= 1
    ordered = np.sort(index)
    fold = folds_of(ordered, None, 4, rng)
    for t in range(7):
        assert np.ptp(np.bincount(fold[ordered == t], minlength=4)) <= 1
    groups = rng.integers(0, 9, 60) * 5
    fold = folds_of(np.zeros(60, dtype=int), groups, 3, rng)
    assert all(len(set(fold[groups == g])) == 1 for g in groups)
    assert set(fold) == {0, 1, 2}


def test_codes_of_all_conditions_are_shattered_and_sums_are_not():
    rng = np.random.default_rng(3)
    rows = grid(2, 2)
    whole = shattering_dimensionality(record(rng, rows, np.eye(4), 10, noise=0.01))
    assert whole.value == 1.0
    assert whole.p == pytest.approx(1 / 101)
    sums = np.hstack([np.eye(2)[rows[:, 0]], np.eye(2)[rows[:, 1]]])
    plane = shattering_dimensionality(record(rng, rows, sums, 200, noise=0.01), repetitions=20)
    assert plane.accuracy[plane.component >= 0].tolist() == [1.0, 1.0]
    # No line separates exclusive or: of 800 answers that hang on noise, half are right.
    exclusive = plane.accuracy[plane.component < 0].item()
    assert exclusive == pytest.approx(0.5, abs=0.1)
    assert plane.ceiling > plane.value
    assert plane.chance == pytest.approx(0.5, abs=0.05)
    table = plane.to_frame()
    assert table.columns.tolist() == [
        "dichotomy", "component", "accuracy", "chance", "ceiling", "p", "repetitions",
    ]  # fmt: skip
    assert sorted(table.component) == ["", "a", "b"]
    assert table.accuracy.mean() == plane.value


def test_a_ridge_without_digits_is_the_least_one():
    rng = np.random.default_rng(6)
    recording = record(rng, grid(2, 2), rng.normal(size=(4, 30)), 4)
    for measure, name in ((shattering_dimensionality, "accuracy"), (ccgp, "score")):
        least, less = (measure(recording, ridge=ridge, repetitions=3) for ridge in (1e-8, 1e-300))
        np.testing.assert_array_equal(getattr(least, name), getattr(less, name))


def test_noise_alone_has_uniform_p_values():
    rng = np.random.default_rng(4)
    p = []
    for seed in range(40):
        recording = record(rng, grid(2, 2), np.zeros((4, 20)), 10)
        measured = shattering_dimensionality(recording, folds=3, repetitions=19, seed=seed)
        p.append(measured.p)
        assert 0.3 < measured.chance < 0.7
    # The mean of 20 equal steps is .525, and ties count as higher.
    assert np.mean(p) == pytest.approx(0.54, abs=4 * 0.29 / np.sqrt(40))
    assert np.sum(np.array(p) <= 0.05) <= binom.ppf(1 - 1e-4, 40, 0.05)


def test_invariances():
    rng = np.random.default_rng(5)
    recording = record(rng, *population(rng, (2, 3), neurons=8), 5, offset=0.5)
    x, groups = recording.responses, recording.groups
    measured = shattering_dimensionality(recording, repetitions=3)
    order = rng.permutation(len(x))
    again = [
        recording_of(x + 100.0, recording.components, groups),
        recording_of(-1e-30 * x, recording.components, groups),
        recording_of(x @ ortho_group.rvs(8, random_state=0), recording.components, groups),
        recording_of(x[order], recording.components[order], groups[order]),
        recording_of(x[..., None] + [-1.0, 1.0], recording.components, groups),
    ]
    for changed in again:
        again_measured = shattering_dimensionality(changed, repetitions=3)
        np.testing.assert_allclose(again_measured.accuracy, measured.accuracy, atol=1e-12)
    repeated = shattering_dimensionality(recording, repetitions=3)
    np.testing.assert_array_equal(repeated.permuted, measured.permuted)
    np.testing.assert_array_equal(repeated.moved, measured.moved)


def test_conditions_in_one_fold_and_sessions_are_noted():
    rng = np.random.default_rng(6)
    recording = record(rng, grid(2, 2), rng.normal(size=(4, 5)), [1, 6, 6, 6])
    measured = shattering_dimensionality(recording, repetitions=2)
    assert measured.notes == ("1 condition left out, with trials in a single fold",)
    assert measured.n_dichotomies == 3
    index = np.repeat(np.arange(4), 10)
    responses = 3.0 * np.eye(4)[index] @ rng.normal(size=(4, 40)) + rng.normal(size=(40, 40))
    sessions = np.tile([0, 1], 20)
    responses[sessions == 0, :20] = np.nan
    responses[sessions == 1, 20:] = np.nan
    joined = from_trials(responses, {"a": index}, sessions=sessions)
    measured = shattering_dimensionality(joined, repetitions=9)
    assert "trials combine neurons of several sessions" in measured.notes[-1]
    assert measured.value > 0.95
    lonely = record(rng, grid(2, 2), rng.normal(size=(4, 5)), 1)
    for recording, remedy in [
        (lonely, "add trials"),
        (recording_of(lonely.responses, lonely.components, np.arange(4)),
         "add groups, or leave them out"),
    ]:  # fmt: skip
        with pytest.raises(InputError) as refusal:
            shattering_dimensionality(recording)
        assert str(refusal.value) == (
            f"two conditions or more have trials in several folds; got 0; {remedy}"
        )


def test_p_values_count_the_measurement():
    null = np.array([[0.1, np.nan], [0.5, 0.2], [0.7, 0.9]])
    np.testing.assert_allclose(p_values(np.array([0.5, 0.9]), null), [3 / 4, 2 / 3])
    assert np.isnan(p_values(np.array([np.nan, 0.1]), null)[0])
    assert np.isnan(p_values(np.array(0.5), np.empty(0)))
