"""Readouts of more training conditions than features, against many trained ones."""

from __future__ import annotations

import numpy as np
import pytest
from noisy_recordings import grid, population
from sklearn.linear_model import Ridge

from partwhole.measures import held_out_readouts, predict_readout
from partwhole.measures.readouts import LDA
from partwhole.recordings import from_trials

SIDE = 7
GRID = grid(SIDE, SIDE)
TARGETS = np.stack([GRID.sum(axis=1), (GRID[:, 0] - GRID[:, 1]) ** 2], axis=1) / SIDE
HELD_OUT = (GRID[:, 0] + 2 * GRID[:, 1]) % SIDE < 2


def world(seed, p):
    rng = np.random.default_rng(seed)
    return rng, population(rng, (SIDE, SIDE), neurons=p)[1]


def trials(rng, means, counts, noise):
    index = np.repeat(np.arange(len(means)), counts)
    return means[index] + rng.normal(size=(len(index), means.shape[1])) @ noise, index


def ridge_weights(x, y, penalty):
    """Return weights and intercepts, in a tenth of the time of scikit-learn."""
    centre, mean = x.mean(axis=0), y.mean(axis=0)
    centred = x - centre
    moment = centred.T @ centred + penalty * np.eye(x.shape[1])
    weights = np.linalg.solve(moment, centred.T @ (y - mean))
    return weights, mean - centre @ weights


@pytest.mark.parametrize(
    ("p", "counts", "ridge"),
    [(15, 4, 0.3), (15, 2, 20.0), (10, np.arange(49) % 4 + 1, 1.0), (30, 3, 1.0)],
)
def test_variances_are_those_of_trained_readouts(p, counts, ridge):
    """Ratios of sums, mean of 6 worlds: 150 readouts and 12 predictions in each.

    Standard errors of these means are up to .044; terms of the order of 1/n are left out.
    """
    ratios, slopes = [], []
    for seed in range(6):
        rng, means = world(seed, p)
        noise = np.diag(np.linspace(0.5, 1.5, p))
        answers, spread, predicted = [], [], []
        for k in range(150):
            x, index = trials(rng, means, counts, noise)
            train = ~HELD_OUT[index]
            weights, intercept = ridge_weights(x[train], TARGETS[index[train]], ridge)
            answers.append(means @ weights + intercept)
            spread.append(weights.T @ noise**2 @ weights)
            if k == 0:
                readout = Ridge(alpha=ridge).fit(x[train], TARGETS[index[train]])
                np.testing.assert_allclose(answers[0], readout.predict(means), atol=1e-9)
            if k < 12:
                predicted.append(
                    predict_readout(x, GRID[index], TARGETS[index], train, ridge=ridge)
                )
        between = np.mean([one.between for one in predicted], axis=0)
        within = np.mean([one.within for one in predicted], axis=0)
        trained = np.array(answers)
        centred = trained - trained.mean(axis=0)
        covariances = np.einsum("daj,dak->ajk", centred, centred) / 149
        ratios.append([
            *(
                np.trace(between[of].sum(axis=0)) / np.trace(covariances[of].sum(axis=0))
                for of in (HELD_OUT, ~HELD_OUT)
            ),
            np.trace(within) / np.trace(np.mean(spread, axis=0)),
        ])  # fmt: skip
        gaps = np.mean([one.predicted for one in predicted], axis=0) - trained.mean(axis=0)
        slopes.append(
            [np.polyfit(TARGETS[of, 0], gaps[of, 0], 1)[0] for of in (HELD_OUT, ~HELD_OUT)]
        )
    np.testing.assert_allclose(np.mean(ratios, axis=0), 1.0, atol=0.15)
    # Standard errors of mean slopes are up to .019.
    np.testing.assert_allclose(np.mean(slopes, axis=0), 0.0, atol=0.04)


def test_held_out_answers_are_those_of_the_readout_of_these_trials():
    rng, means = world(0, 20)
    x, index = trials(rng, means, np.arange(49) % 3 + 2, 0.8 * np.eye(20))
    train = ~HELD_OUT[index]
    train[::9] = False
    found = predict_readout(x, GRID[index], TARGETS[index], train, ridge=2.0)
    np.testing.assert_allclose(found.predicted[HELD_OUT], found.trained[HELD_OUT], rtol=1e-8)
    assert np.linalg.eigvalsh(found.between).min() >= -1e-12
    readouts = held_out_readouts(from_trials(x, GRID[index]), TARGETS[index])
    np.testing.assert_allclose(readouts.predicted, readouts.measured, rtol=1e-6, atol=1e-8)


def test_accuracies_of_lda_are_those_of_trained_ones():
    """On fresh trials of 12 recordings; the standard error of the mean difference is .013."""
    differences = []
    labels = np.where(GRID.sum(axis=1) >= SIDE - 1, 1.0, -1.0)
    for seed in range(12):
        rng, means = world(seed, 20)
        x, index = trials(rng, means, 5, np.eye(20))
        train = ~HELD_OUT[index]
        lda = LDA(shrinkage=0.01)
        found = predict_readout(x, GRID[index], labels[index], train, classifier=lda)
        readout = lda.train(x[train], labels[index[train], None])
        fresh, of = trials(rng, means, 200, np.eye(20))
        right = np.bincount(of, (readout(fresh)[:, 0] > 0) == (labels[of] > 0)) / 200
        differences.append(np.mean((found.accuracy - right)[HELD_OUT]))
    assert abs(np.mean(differences)) < 0.03


def test_squared_errors_of_single_trials_are_those_of_the_trained_readout():
    """By noise of held-out trials along the weights they differ by .07 in a world, .024 in all."""
    ratios = []
    for seed in range(8):
        rng, means = world(seed, 20)
        x, index = trials(rng, means, 3, np.eye(20))
        train = ~HELD_OUT[index]
        found = predict_readout(x, GRID[index], TARGETS[index, 0], train, ridge=2.0)
        readout = Ridge(alpha=2.0).fit(x[train], TARGETS[index[train], 0])
        spread = (found.between + found.within - found.error)[:, 0, 0]
        expected = (found.predicted[:, 0] - TARGETS[:, 0]) ** 2 + spread
        errors = (readout.predict(x) - TARGETS[index, 0])[~train] ** 2
        ratios.append(expected[HELD_OUT].mean() / errors.mean())
    np.testing.assert_allclose(np.mean(ratios), 1.0, atol=0.03)
