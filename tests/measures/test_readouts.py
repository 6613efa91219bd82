"""Predicted readouts against trained ones: by simulation, in limits, and on estimated noise."""

from __future__ import annotations

import numpy as np
import pytest
from noisy_recordings import grid, population
from sklearn.covariance import ledoit_wolf
from sklearn.linear_model import LinearRegression, Ridge

import partwhole as pw
from partwhole._checks import InputError
from partwhole.measures.readouts.equivalent import answers_of, ridge_answers
from partwhole.measures.readouts.means import MeasuredMeans
from partwhole.measures.readouts.noise import NoiseSpectrum

VALUES = np.linspace(-1.5, 1.5, 4)
GRID = grid(4, 4)
CORNER = (GRID >= 2).all(axis=1)
SUMS = VALUES[GRID].sum(axis=1)


def world(seed, p, *, correlated=False):
    """Means of a 4 x 4 grid: shares .4 and .4 of parts, .2 of conjunctions; noise as large."""
    rng = np.random.default_rng(seed)
    _, means = population(rng, neurons=p)
    covariance = np.eye(p)
    if correlated:
        factors = rng.normal(size=(p, max(1, p // 10)))
        shared = factors @ factors.T
        covariance = 0.5 * covariance + 0.5 * p * shared / np.trace(shared)
    return rng, means, covariance


def trials(rng, means, covariance, m):
    index = np.repeat(np.arange(len(means)), m)
    noise = rng.normal(size=(len(index), means.shape[1])) @ np.linalg.cholesky(covariance).T
    return means[index] + noise, index


# Neurons, training trials of each of 12 conditions, correlated noise, ridge; with them the largest
# mean difference of answers from the equivalent, whose error is of the order of 1 / trials.
SETTINGS = [
    (20, 20, False, 1e-3, 0.03),
    (60, 20, False, 30.0, 0.03),
    (200, 5, False, 1e-3, 0.04),
    (20, 20, True, 1e-3, 0.03),
]


@pytest.mark.parametrize(("p", "m", "correlated", "ridge", "tolerance"), SETTINGS)
def test_answers_of_known_noise_are_those_of_trained_readouts(p, m, correlated, ridge, tolerance):
    """Means over 8 worlds of 40 readouts each; ratios of variances have standard errors of .04."""
    differences, between, within = [], [], []
    for seed in range(8):
        rng, means, covariance = world(seed, p, correlated=correlated)
        answers, spread = [], []
        for _ in range(40):
            x, index = trials(rng, means, covariance, m)
            used = ~CORNER[index]
            readout = Ridge(alpha=ridge).fit(x[used], SUMS[index[used]])
            answers.append(readout.predict(means))
            spread.append(readout.coef_ @ covariance @ readout.coef_)
        expected = ridge_answers(
            means,
            NoiseSpectrum.of_matrix(covariance),
            np.where(CORNER, 0, m),
            SUMS[:, None],
            ridge,
        )
        differences.append(np.mean(answers, axis=0) - expected.mean[:, 0])
        spread_of = np.var(answers, axis=0, ddof=1)
        between.append(
            [spread_of[of].sum() / expected.between[of].sum() for of in (CORNER, ~CORNER)]
        )
        within.append(np.mean(spread) / expected.within.item())
    differences = np.array(differences)
    assert np.abs(differences.mean(axis=0)).max() < tolerance
    np.testing.assert_allclose(np.mean(between, axis=0), 1.0, atol=0.12)
    assert np.mean(within) == pytest.approx(1.0, abs=0.05)


def test_variances_solve_the_equations_of_whole_matrices():
    """With matrices of trials x trials and features x features, and unequal numbers of trials."""
    rng, means, covariance = world(0, 20, correlated=True)
    counts = np.where(CORNER, 0, rng.integers(1, 9, 16))
    described = MeasuredMeans.of(means, NoiseSpectrum.of_matrix(covariance)).training(counts)
    answers, scalars = answers_of(described, counts, SUMS[:, None], 0.3)
    d, d_tilde = scalars.d, scalars.d_tilde
    of_trial = np.repeat(np.arange(16), counts)
    n = len(of_trial)
    centred = means - means[of_trial].mean(axis=0)
    x, y = centred[of_trial], SUMS[of_trial] - SUMS[of_trial].mean()
    noise_alone = 0.3 * np.eye(20) + d_tilde * covariance
    features = np.linalg.inv(noise_alone + x.T @ x / (1 + d))
    inverse = np.linalg.inv(noise_alone)
    centring = np.eye(n) - 1 / n
    resolvent = np.linalg.inv((1 + d) * np.eye(n) + x @ inverse @ x.T) @ centring
    assert d == pytest.approx(np.trace(covariance @ features))
    assert d_tilde == pytest.approx(np.trace(resolvent))
    weights = features @ x.T @ y / (1 + d)
    spread = features @ covariance @ features
    inside = np.trace(x @ spread @ x.T) / (1 + d) ** 2
    both = np.trace(covariance @ spread)
    # Of the answers to a trial, and of the sum of squared residuals, in units of (1 + d)^2.
    within, residual = np.linalg.solve(
        [[1 - inside, -both], [-np.sum(resolvent**2), 1 - inside]],
        [weights @ covariance @ weights, np.sum((resolvent @ y) ** 2)],
    )
    np.testing.assert_allclose(answers.within.item(), within)
    pull = (centred @ features @ x.T / (1 + d)) ** 2
    between = residual * np.einsum("ap,pq,aq->a", centred, spread, centred)
    between += within * (pull.sum(axis=1) + 1 / n)
    np.testing.assert_allclose(answers.between[:, 0, 0], between)
    np.testing.assert_allclose(answers.mean[:, 0], centred @ weights + SUMS[of_trial].mean())


# The acceptance settings of recordings: neurons, training trials, correlated noise, and the largest
# error by condition, of means over 8 recordings of the root mean square over held-out conditions.
RECORDINGS = [
    (20, 240, False, 0.2),
    (60, 240, False, 0.2),
    (200, 60, False, 0.2),
    (1000, 60, False, 0.1),
    (20, 240, True, 0.2),
    (200, 240, True, 0.4),  # nearly as many neurons as trials
]


@pytest.mark.parametrize(("p", "n", "correlated", "largest"), RECORDINGS)
def test_answers_are_predicted_from_trials_alone(p, n, correlated, largest):
    errors, gaps = [], []
    for seed in range(8):
        rng, means, covariance = world(seed, p, correlated=correlated)
        x, index = trials(rng, means, covariance, n // 12)
        found = pw.measures.predict_readout(x, GRID[index], SUMS[index], ~CORNER[index], ridge=1e-3)
        np.testing.assert_array_equal(found.conditions, GRID)
        used = ~CORNER[index]
        readout = Ridge(alpha=1e-3).fit(x[used], SUMS[index[used]])
        trained = np.bincount(index, readout.predict(x))[CORNER] / (n // 12)
        np.testing.assert_allclose(found.trained[CORNER, 0], trained, rtol=1e-6, atol=1e-8)
        assert np.isnan(found.trained[~CORNER]).all()
        at_means = readout.predict(means)[CORNER]
        errors.append(np.sqrt(np.mean((found.predicted[CORNER, 0] - at_means) ** 2)))
        gaps.append(np.mean(found.predicted[CORNER, 0] - at_means))
    assert np.mean(errors) < largest
    # Three standard errors of eight, and the equivalent's own error: the target, 2, over trials.
    assert abs(np.mean(gaps)) < 3 * np.std(gaps, ddof=1) / np.sqrt(8) + 2.0 / n


def test_with_little_noise_it_is_the_ridge_of_means():
    rng, means, _ = world(0, 12)
    counts = np.where(CORNER, 0, rng.integers(1, 9, 16))
    noise = NoiseSpectrum.of_matrix(1e-12 * np.eye(12))
    found = ridge_answers(means, noise, counts, np.stack([SUMS, SUMS**2], 1), 0.7)
    exact = Ridge(alpha=0.7).fit(means, np.stack([SUMS, SUMS**2], 1), sample_weight=counts)
    np.testing.assert_allclose(found.mean, exact.predict(means), atol=1e-8)
    assert found.between.max() < 1e-8


def test_with_many_features_noise_is_a_ridge_of_its_trace():
    """The limit in which every other direction has noise, to an error of n / p."""
    p, m, sd = 100_000, 3, 0.02
    rng = np.random.default_rng(1)
    means = np.zeros((16, p))
    means[:, :40] = rng.normal(size=(16, 40))
    noise = NoiseSpectrum(np.zeros((0, p)), np.zeros(0), sd**2)
    found = ridge_answers(means, noise, np.where(CORNER, 0, m), SUMS[:, None], 0.5)
    kernel, used = means @ means.T, ~CORNER
    # Kernel ridge with a free intercept, by its linear system.
    system = np.ones((13, 13))
    system[:12, :12] = kernel[np.ix_(used, used)] + (0.5 + p * sd**2) / m * np.eye(12)
    system[12, 12] = 0.0
    solution = np.linalg.solve(system, np.append(SUMS[used], 0.0))
    exact = kernel[:, used] @ solution[:12] + solution[12]
    np.testing.assert_allclose(found.mean[:, 0], exact, atol=5e-3)


@pytest.mark.parametrize("p", [12, 60])
def test_without_a_penalty_it_is_least_squares(p):
    gaps = []
    for seed in range(6):
        rng, means, covariance = world(seed, p)
        x, index = trials(rng, means, covariance, 3)
        used = ~CORNER[index]
        found = pw.measures.predict_readout(x, GRID[index], SUMS[index], used, ridge=0)
        # scikit-learn's least squares has the smallest norm, too.
        readout = LinearRegression().fit(x[used], SUMS[index[used]])
        trained = np.bincount(index, readout.predict(x))[CORNER] / 3
        np.testing.assert_allclose(found.trained[CORNER, 0], trained, rtol=1e-6, atol=1e-8)
        gaps.append(np.mean(found.predicted[CORNER, 0] - readout.predict(means)[CORNER]))
    assert abs(np.mean(gaps)) < 3 * np.std(gaps, ddof=1) / np.sqrt(6) + 0.02


@pytest.mark.parametrize(("n", "p"), [(80, 15), (30, 200)])
def test_noise_is_that_of_ledoit_and_wolf(n, p):
    rng = np.random.default_rng(0)
    residuals = rng.normal(size=(n, p)) * rng.uniform(0.5, 3.0, p)
    found = NoiseSpectrum.of_residuals(residuals, n - 7)
    whole = (found.directions.T * (found.variances - found.rest)) @ found.directions
    whole += found.rest * np.eye(p)
    expected = ledoit_wolf(residuals, assume_centered=True)[0] * n / (n - 7)
    np.testing.assert_allclose(whole, expected, rtol=1e-9, atol=1e-9)
    assert found.spectrum.mean_variance == pytest.approx(np.trace(expected) / p)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_accuracy_is_that_of_trained_readouts(n_labels):
    """By 20 readouts of 8 worlds, each on 100 fresh trials of each condition."""
    label = GRID.sum(axis=1) * n_labels // 7
    y = np.where(np.eye(n_labels)[label] > 0, 1.0, -1.0)
    y = y[:, 1:] if n_labels == 2 else y
    predicted, measured = [], []
    for seed in range(8):
        rng, means, covariance = world(seed, 40)
        x, index = trials(rng, means, covariance, 10)
        found = pw.measures.predict_readout(x, GRID[index], y[index], ~CORNER[index], ridge=5.0)
        predicted.append(found.accuracy)
        shares = []
        for _ in range(20):
            x, index = trials(rng, means, covariance, 10)
            used = ~CORNER[index]
            readout = Ridge(alpha=5.0).fit(x[used], y[index[used]])
            fresh, of = trials(rng, means, covariance, 100)
            answers = readout.predict(fresh).reshape(len(fresh), -1)
            choice = answers[:, 0] > 0 if n_labels == 2 else answers.argmax(axis=1)
            shares.append(np.bincount(of, choice == label[of]) / 100)
        measured.append(np.mean(shares, axis=0))
    predicted, measured = np.array(predicted), np.array(measured)
    # Overall to two points; of a single condition in one recording to its sampling error.
    assert predicted.mean() == pytest.approx(measured.mean(), abs=0.02)
    assert predicted[:, CORNER].mean() == pytest.approx(measured[:, CORNER].mean(), abs=0.04)
    assert np.sqrt(np.mean((predicted - measured) ** 2)) < 0.1


def recording(seed=0, p=30, m=6):
    rng, means, covariance = world(seed, p)
    x, index = trials(rng, means, covariance, m)
    return x, GRID[index], SUMS[index], ~CORNER[index]


def test_offsets_rotations_and_the_order_of_trials_change_nothing():
    x, rows, y, used = recording()
    found = pw.measures.predict_readout(x, rows, y, used)
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    order = rng.permutation(len(x))
    for other in (
        pw.measures.predict_readout(x + 50.0, rows, y, used),
        pw.measures.predict_readout(x @ turn, rows, y, used),
        pw.measures.predict_readout(x[order], rows[order], y[order], used[order]),
        # The default penalty is in the features' own units.
        pw.measures.predict_readout(10.0 * x, rows, y, used),
    ):
        np.testing.assert_allclose(other.predicted, found.predicted, rtol=1e-6)
        np.testing.assert_allclose(other.deviation, found.deviation, rtol=1e-6)
        np.testing.assert_allclose(other.trained, found.trained, rtol=1e-6)
    plain, larger = (
        pw.measures.predict_readout(scale * x, rows, y, used, ridge=scale**2)
        for scale in (1.0, 10.0)
    )
    np.testing.assert_allclose(larger.predicted, plain.predicted, rtol=1e-6)
    variance = float(np.mean(np.var(x, axis=0)))
    stated = pw.measures.predict_readout(x, rows, y, used, ridge=variance)
    np.testing.assert_array_equal(stated.predicted, found.predicted)


def test_conditions_are_found_in_any_order():
    rng, means, covariance = world(0, 20)
    noisy, index = trials(rng, means, covariance, 4)
    shuffled = rng.permutation(16)
    readout = pw.measures.predict_readout(noisy, GRID[index], SUMS[index], ~CORNER[index])
    rows = readout.rows_of(GRID[shuffled])
    np.testing.assert_array_equal(readout.targets[rows, 0], SUMS[shuffled])
    with pytest.raises(InputError, match="are the 16 that have trials; got 2 others; leave them"):
        readout.rows_of(np.array([[0, 0], [0, 4], [4, 0]]))


def test_a_frame_has_a_row_for_each_condition():
    x, rows, y, used = recording()
    found = pw.measures.predict_readout(x, rows, np.stack([y, -y], 1), used)
    frame = found.to_frame()
    assert len(frame) == 16
    assert frame["training trials"].tolist() == np.where(CORNER, 0, 6).tolist()
    np.testing.assert_allclose(frame["predicted 0"], -frame["predicted 1"])
    assert "4 held out" in repr(found)


REFUSED = {
    "one trial each": (
        lambda x, rows, y, used: (x[::6], rows[::6], y[::6], used[::6]),
        "the noise of trials shows in conditions with several of them; got 16 trials of 16 "
        "conditions; add trials",
    ),
    "one training condition": (
        lambda x, rows, y, used: (x, rows, y, (rows == 0).all(axis=1)),
        "a readout is trained on two conditions or more; got 1; mark trials of others in is_train",
    ),
    "two targets": (
        lambda x, rows, y, used: (x, rows, y + (np.arange(len(y)) == 7), used),
        r"all trials of a condition have one target; got \[-1.0\] in trial 7, and others; average",
    ),
    "no noise": (
        lambda x, rows, y, used: (np.repeat(x[::6], 6, axis=0), rows, y, used),
        "trials of a condition differ; got the same features in all of them; pass single trials",
    ),
    "negative values": (
        lambda x, rows, y, used: (x, rows - 1, y, used),
        "components are value indices from 0; got -1; renumber them",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_predicted_is_refused(name):
    change, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        pw.measures.predict_readout(*change(*recording()))


def test_accuracies_are_of_labels():
    found = pw.measures.predict_readout(*recording())
    with pytest.raises(InputError, match="accuracies are of labels, targets of -1 and \\+1"):
        _ = found.accuracy
