"""The noise of each condition, and what readouts are predicted to make of it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from partwhole.measures import held_out_readouts
from partwhole.measures.readouts.condition_noise import noise_of_conditions
from partwhole.recordings import from_trials

GRID = np.array(list(product(range(4), range(4))))


def residuals_of(seed, variances, trials, *, correlated=False):
    """Return residuals of 30 neurons around the means of trials, and their conditions."""
    rng = np.random.default_rng(seed)
    index = np.repeat(np.arange(len(variances)), trials)
    noise = np.sqrt(variances[index])[:, None] * rng.normal(size=(len(index), 30))
    if correlated:
        noise = noise @ np.diag(np.linspace(0.2, 3.0, 30))
    means = np.stack([noise[index == t].mean(axis=0) for t in range(len(variances))])
    return noise - means[index], index


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("trials", [2, 8])
def test_even_noise_stays_even(trials, correlated):
    """Squares over 60 recordings, beside those of the variances as they are measured."""
    left, raw = [], []
    for seed in range(60):
        residuals, index = residuals_of(seed, np.ones(16), trials, correlated=correlated)
        variances = np.bincount(index, (residuals**2).sum(axis=1))
        left.append(np.mean((noise_of_conditions(residuals, index) - 1.0) ** 2))
        raw.append(np.var(variances / variances.mean()))
    assert np.mean(left) < 0.15 * np.mean(raw)


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("trials", [2, 3, 8])
def test_uneven_noise_is_known_better_than_as_measured_or_even(trials, correlated):
    errors = []
    for seed in range(60):
        variances = np.exp(0.5 * np.random.default_rng(seed).normal(size=16))
        residuals, index = residuals_of(seed, variances, trials, correlated=correlated)
        truth = variances / variances.mean()
        squares = np.bincount(index, (residuals**2).sum(axis=1))
        estimates = noise_of_conditions(residuals, index), squares / squares.mean(), 1.0
        errors.append([np.mean((estimate - truth) ** 2) for estimate in estimates])
    drawn, measured, even = np.mean(errors, axis=0)
    assert drawn < min(measured, even)


def test_many_trials_show_the_variance_of_each_condition():
    variances = np.array([0.2, 1.0, 3.0, 1.0])
    residuals, index = residuals_of(0, variances, 400)
    scales = noise_of_conditions(residuals, index)
    # 12,000 numbers a condition: the standard error of a variance is 1.3 %.
    np.testing.assert_allclose(scales, variances / variances.mean(), rtol=0.05)
    np.testing.assert_allclose(noise_of_conditions(1e-6 * residuals, index), scales, rtol=1e-9)


def test_a_single_trial_says_nothing_of_its_noise():
    residuals, index = residuals_of(0, np.array([1.0, 9.0]), 50)
    alone = np.vstack([residuals, np.zeros((1, 30))])
    scales = noise_of_conditions(alone, np.append(index, 2))
    np.testing.assert_allclose(scales, [*noise_of_conditions(residuals, index), 1.0])
    quiet = np.append(np.zeros(50, dtype=int), 1)
    assert noise_of_conditions(np.vstack([residuals[:50], np.zeros((1, 30))]), quiet).tolist() == [
        1.0, 1.0
    ]  # fmt: skip


def recorded(seed, deviations, trials=20, neurons=60):
    """Return a recording of 4 x 4 conditions with the given noise, and another of the same."""
    rng = np.random.default_rng(seed)
    parts = (rng.normal(size=(4, neurons))[column] for column in GRID.T)
    means = sum(np.sqrt(0.5) * part for part in parts)
    rows = np.repeat(np.arange(16), trials)
    for _ in range(2):
        noise = deviations[rows][:, None] * rng.normal(size=(len(rows), neurons))
        yield from_trials(means[rows] + noise, GRID[rows])


def test_accuracies_follow_the_noise_of_their_condition():
    """Loud conditions have nine times the noise variance of quiet ones, in two recordings."""
    loud = np.arange(16) % 3 == 0
    deviations = np.where(loud, 4.5, 1.5)
    for seed in range(2):
        recording, _ = recorded(seed, deviations, trials=60)
        readouts = held_out_readouts(recording)
        for which in (loud, ~loud):
            predicted = readouts.accuracy[which].mean()
            assert predicted == pytest.approx(readouts.measured_accuracy[which].mean(), abs=0.06)
        within = np.einsum("rkk->r", readouts.within)
        assert within[loud].mean() == pytest.approx(9.0 * within[~loud].mean(), rel=0.2)


@pytest.mark.parametrize(("neurons", "trials"), [(40, 16), (100, 5)])
def test_intervals_hold_the_answers_of_another_recording(neurons, trials):
    """Of 1,024 answers in 8 recordings; their errors are shared, so that coverage varies by .02.

    Answers of the other recording are scikit-learn's, to readouts with the same penalty.
    """
    inside = []
    for seed in range(8):
        recording, another = recorded(seed, np.full(16, 2.0), trials, neurons)
        first = held_out_readouts(recording)
        index = another.condition_of_trial
        labels = np.hstack([2.0 * np.eye(4)[column] - 1.0 for column in GRID[index].T])
        answers = []
        for condition in first.condition:
            of = index == condition
            fit = Ridge(alpha=first.ridge).fit(another.responses[~of], labels[~of])
            answers.append(fit.predict(another.responses[of]).mean(axis=0))
        low, high = np.moveaxis(first.interval, -1, 0)
        inside.append(np.mean((low <= answers) & (answers <= high)))
    assert 0.9 < np.mean(inside) < 0.99


def test_predictions_that_are_the_measured_answers_vary_as_much():
    recording, _ = recorded(0, np.full(16, 2.0), neurons=6)
    readouts = held_out_readouts(recording)
    np.testing.assert_allclose(readouts.predicted, readouts.measured, atol=1e-6)
    assert readouts.prediction_variance == pytest.approx(1.0)
    reach = readouts.interval[..., 1] - readouts.predicted
    np.testing.assert_allclose(reach, 1.96 * np.sqrt(2.0) * readouts.deviation, rtol=1e-4)
    frame = readouts.to_frame()
    name = readouts.outputs[0]
    np.testing.assert_allclose(frame[f"{name}, high"], readouts.interval[:, 0, 1])
