"""Functions of an estimated covariance against those of the truth and of whole matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.features.subsets import overlap_sets
from partwhole.measures.readouts import held_out_readouts, predict_readout
from partwhole.measures.readouts.equivalent import answers_of, answers_without
from partwhole.measures.readouts.means import Trials
from partwhole.measures.readouts.noise import NoiseSpectrum
from partwhole.measures.readouts.resolvent import Between, Estimate, Known, Spectrum
from partwhole.recordings import from_trials


def whole_functions(covariance, kappa):
    """Return R, R Sigma R and R Sigma R Sigma R."""
    r = np.linalg.inv(covariance + kappa * np.eye(len(covariance)))
    return np.stack([r, r @ covariance @ r, r @ covariance @ r @ covariance @ r])


def world(seed, p, spread=1.0):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(p, p)))[0]
    variances = np.exp(spread * rng.normal(size=p))
    return rng, (turn * variances) @ turn.T, rng.normal(size=(3, p)) / np.sqrt(p)


def between(functions, noise, rows):
    along = rows @ noise.directions.T
    beside = rows @ rows.T - along @ along.T
    return functions.of(Between(functions.inverse, along, beside))


@pytest.mark.parametrize("kappa", [1e-3, 1.0, 1e6])
def test_functions_of_a_known_covariance_are_those_of_matrices(kappa):
    _, covariance, rows = world(0, 12)
    noise = NoiseSpectrum.of_matrix(covariance)
    functions = Known(noise.spectrum).at(kappa)
    expected = whole_functions(covariance, kappa)
    np.testing.assert_allclose(
        between(functions, noise, rows), rows @ expected @ rows.T, rtol=1e-8, atol=1e-300
    )
    np.testing.assert_allclose(functions.traces, np.trace(expected, axis1=1, axis2=2), rtol=1e-6)
    of_noise = np.trace(covariance @ expected, axis1=1, axis2=2)
    np.testing.assert_allclose(functions.noise_traces, of_noise, rtol=1e-8)


def test_one_variance_beside_a_few_directions():
    noise = NoiseSpectrum(np.eye(7)[:2], np.array([3.0, 0.5]), 1.5)
    covariance = np.diag([3.0, 0.5] + 5 * [1.5])
    rows = np.random.default_rng(0).normal(size=(3, 7))
    functions = Known(noise.spectrum).at(0.3)
    expected = whole_functions(covariance, 0.3)
    np.testing.assert_allclose(between(functions, noise, rows), rows @ expected @ rows.T)
    np.testing.assert_allclose(functions.traces, np.trace(expected, axis1=1, axis2=2))


# Features, degrees of freedom, kappa: fewer and more features, large and small penalties.
ESTIMATES = [(60, 200, 0.3), (60, 200, 0.01), (150, 200, 0.5), (200, 60, 30.0), (300, 100, 20.0)]


@pytest.mark.parametrize(("p", "degrees", "kappa"), ESTIMATES)
def test_functions_of_estimates_are_those_of_the_truth(p, degrees, kappa):
    """Means over 100 estimates, to four standard errors and the order of 1 / degrees."""
    rng, covariance, rows = world(1, p)
    root = np.linalg.cholesky(covariance)
    entries, traces, of_noise = [], [], []
    for _ in range(100):
        noise = NoiseSpectrum.unbiased(rng.normal(size=(degrees, p)) @ root.T, degrees)
        functions = Estimate(noise.spectrum, degrees).at(kappa)
        entries.append(between(functions, noise, rows))
        traces.append(functions.traces)
        of_noise.append(functions.noise_traces)
    expected = whole_functions(covariance, kappa)
    truth = rows @ expected @ rows.T
    scale = np.sqrt(np.einsum("caa,cbb->cab", truth, truth))
    error = np.std(entries, axis=0) / np.sqrt(100)
    assert np.all(np.abs(np.mean(entries, axis=0) - truth) < 4 * error + 2 / degrees * scale)
    np.testing.assert_allclose(
        np.mean(traces, axis=0), np.trace(expected, axis1=1, axis2=2), rtol=2 / degrees
    )
    of_truth = np.trace(covariance @ expected, axis1=1, axis2=2)
    np.testing.assert_allclose(np.mean(of_noise, axis=0), of_truth, rtol=4 / degrees)


@pytest.mark.parametrize(("p", "degrees", "kappa"), ESTIMATES)
def test_estimates_on_both_sides_are_larger_by_the_inflation(p, degrees, kappa):
    rng, covariance, rows = world(2, p)
    root = np.linalg.cholesky(covariance)
    sides, inflations = [], []
    for _ in range(64):
        residuals = rng.normal(size=(degrees, p)) @ root.T
        noise = NoiseSpectrum.unbiased(residuals, degrees)
        functions = Estimate(noise.spectrum, degrees).at(kappa)
        along = np.vstack([rows, np.eye(p)]) @ noise.directions.T
        beside = np.vstack([rows, np.eye(p)])
        beside = beside @ beside.T - along @ along.T
        r = functions.of(Between(functions.inverse, along, beside))[0][:3, 3:]
        sides.append(r @ covariance @ r.T)
        inflations.append(functions.inflation)
    truth = rows @ whole_functions(covariance, kappa)[1] @ rows.T
    expected = np.mean(inflations) * np.diag(truth)
    error = np.std(sides, axis=0).diagonal() / 8
    assert np.all(np.abs(np.diag(np.mean(sides, axis=0)) - expected) < 4 * error + 0.02 * expected)


@pytest.mark.parametrize("p", [50, 100, 400])
def test_below_the_edge_functions_go_on_without_a_jump(p):
    rng, covariance, rows = world(3, p)
    residuals = rng.normal(size=(60, p)) @ np.linalg.cholesky(covariance).T
    noise = NoiseSpectrum.unbiased(residuals, 60)
    estimate = Estimate(noise.spectrum, 60)
    edge = estimate._edge[0]
    below, above = (estimate.at(edge * (1.0 + step)) for step in (-1e-7, 1e-7))
    for name in ("traces", "noise_traces"):
        # Of the third the slope of R alone is known.
        np.testing.assert_allclose(getattr(below, name)[:2], getattr(above, name)[:2], rtol=1e-5)
    np.testing.assert_allclose(
        between(below, noise, rows)[:2], between(above, noise, rows)[:2], rtol=1e-5
    )
    for kappa in edge * np.array([0.5, 1e-2, 1e-6]):
        functions = estimate.at(kappa)
        assert (np.diff(functions.noise_traces) < 0).all()
        assert 0 < functions.noise_traces[0] < p


def test_noise_of_one_variance_goes_on_exactly():
    """With more features than degrees of freedom, to the sampling of the variance."""
    rng = np.random.default_rng(4)
    p, degrees, variance = 400, 200, 2.5
    noise = NoiseSpectrum.unbiased(np.sqrt(variance) * rng.normal(size=(degrees, p)), degrees)
    functions = Estimate(noise.spectrum, degrees).at(1e-3)
    expected = [variance**j / (variance + 1e-3) ** (j + 1) for j in range(3)]
    np.testing.assert_allclose(functions.traces / p, expected, rtol=0.02)


@pytest.mark.parametrize(("p", "n"), [(20, 60), (80, 60)])
def test_squares_that_are_removed_leave_those_of_the_others(p, n):
    rng, covariance, rows = world(5, p)
    residuals = rng.normal(size=(n, p)) @ np.linalg.cholesky(covariance).T
    whole = NoiseSpectrum.unbiased(residuals, n)
    along = residuals @ whole.directions.T
    removed = Spectrum(
        whole.variances * n / (n - 7), 0.0, max(p - n, 0), along[:7] / np.sqrt(n - 7)
    )
    left = NoiseSpectrum.unbiased(residuals[7:], n - 7)
    assert removed.mean_variance == pytest.approx(left.spectrum.mean_variance)
    for kappa in (1e-3, 0.1, 10.0, 1e4):
        a, b = (Estimate(spectrum, n - 7).at(kappa) for spectrum in (removed, left.spectrum))
        np.testing.assert_allclose(a.traces, b.traces, rtol=1e-7)
        np.testing.assert_allclose(a.noise_traces, b.noise_traces, rtol=1e-6)
        np.testing.assert_allclose(between(a, whole, rows), between(b, left, rows), rtol=1e-6)


def recording(p, m=6, seed=0, noise=1.5):
    rng = np.random.default_rng(seed)
    rows = np.repeat([[a, b] for a in range(3) for b in range(3)], m, axis=0)
    means = rng.normal(size=(3, p))[rows[:, 0]] + rng.normal(size=(3, p))[rows[:, 1]]
    return from_trials(means + noise * rng.normal(size=means.shape), rows)


@pytest.mark.parametrize("p", [12, 45, 200])
def test_held_out_sets_are_those_of_a_predicted_readout(p):
    """One removes squares of residuals, the other may decompose those that are left."""
    measured = recording(p)
    values = measured.components.sum(axis=1).astype(float)
    sets = held_out_readouts(measured, values, ridge=3.0)
    index = measured.condition_of_trial
    for row in range(3):
        readout = predict_readout(measured, targets=values, is_train=index != row, ridge=3.0)
        np.testing.assert_allclose(sets.predicted[row], readout.predicted[row], rtol=1e-7)
        np.testing.assert_allclose(sets.between[row], readout.between[row], rtol=1e-6)


def test_noise_is_that_of_training_conditions():
    """Held-out conditions whose trials vary ten times as much change no prediction."""
    measured = recording(30)
    index = measured.condition_of_trial
    louder = measured.responses.copy()
    mean = louder[index == 0].mean(axis=0)
    louder[index == 0] = mean + 10.0 * (louder[index == 0] - mean)
    values = measured.components.sum(axis=1).astype(float)
    plain, loud = (
        predict_readout(x, measured.components, values, index != 0, ridge=3.0)
        for x in (measured.responses, louder)
    )
    np.testing.assert_allclose(loud.predicted, plain.predicted, rtol=1e-8)


def test_single_trials_are_predicted_with_the_noise_of_all_conditions():
    measured = recording(30)
    index = measured.condition_of_trial
    _, first = np.unique(index, return_index=True)
    chosen = (index == 0) | np.isin(np.arange(len(index)), first)
    values = measured.components.sum(axis=1).astype(float)
    readout = predict_readout(
        measured.responses[chosen], measured.components[chosen], values[chosen],
        (index != 0)[chosen], ridge=3.0,
    )  # fmt: skip
    assert np.isfinite(readout.predicted).all()


def test_without_a_solution_noise_is_shrunk():
    """Somewhat more features than degrees of freedom, 40, and hardly any penalty."""
    measured = recording(46, m=6)
    trials = Trials.of(measured.responses, measured.condition_of_trial, measured.conditions)
    counts = np.where(np.arange(9) == 0, 0, trials.counts)
    y = measured.conditions.sum(axis=1)[:, None].astype(float)
    described = trials.training(counts)
    assert described.shrunk is not None
    shrunk = described.shrunk()
    assert isinstance(shrunk.covariance, Known)
    noise = NoiseSpectrum.of_residuals(trials.residuals[measured.condition_of_trial != 0], 40)
    assert shrunk.spectrum.mean_variance == pytest.approx(noise.spectrum.mean_variance)
    for ridge in (1e-9, 1e-3):
        with pytest.raises(InputError, match="raise ridge, or add trials"):
            answers_of(replace(described, shrunk=None), counts, y, ridge)
        answers, _ = answers_of(described, counts, y, ridge)
        expected, _ = answers_of(shrunk, counts, y, ridge)
        np.testing.assert_array_equal(answers.mean, expected.mean)
        np.testing.assert_array_equal(answers.between, expected.between)
    # With a penalty the estimate itself has a solution.
    answers, _ = answers_of(described, counts, y, 10.0)
    alone, _ = answers_of(replace(described, shrunk=None), counts, y, 10.0)
    np.testing.assert_array_equal(answers.mean, alone.mean)


def test_products_by_overlap_have_functions_on_average_over_rotations():
    rng, covariance, _ = world(6, 30)
    trials = Trials.of(*_trials(rng, covariance))
    kernel = np.array([0.1, 0.5, 0.5, 1.0])
    products = kernel[overlap_sets(trials.conditions, trials.conditions)]
    counts = trials.counts
    training = trials.training(counts)
    functions = training.covariance.at(0.7)
    of_overlap = training.by_overlap(products).at(0.7)
    centring = np.eye(9) - counts / counts.sum()
    expected = centring @ products @ centring.T
    np.testing.assert_allclose(of_overlap.grams[1], expected * functions.traces[1] / 30)


def _trials(rng, covariance):
    conditions = np.array([[a, b] for a in range(3) for b in range(3)])
    index = np.repeat(np.arange(9), 8)
    noise = rng.normal(size=(72, 30)) @ np.linalg.cholesky(covariance).T
    return rng.normal(size=(9, 30))[index] + noise, index, conditions


@pytest.mark.parametrize(("p", "share"), [(60, 0.1), (60, 0.9), (200, 3.0), (200, 0.2)])
def test_a_resolvent_leads_to_the_functions_that_its_kappa_has(p, share):
    """Above the edge and below it, where kappa is some share of the edge."""
    rng, covariance, rows = world(7, p)
    noise = NoiseSpectrum.unbiased(rng.normal(size=(80, p)) @ np.linalg.cholesky(covariance).T, 80)
    estimate = Estimate(noise.spectrum, 80)
    for kappa in (share * estimate._edge[0], 10 * share):
        at = estimate.at(kappa)
        through = estimate.through(noise.spectrum.shifted(at.shift))
        assert through.kappa == pytest.approx(kappa, rel=1e-9)
        assert through.shift == pytest.approx(at.shift)
        np.testing.assert_allclose(through.traces, at.traces, rtol=1e-7)
        np.testing.assert_allclose(through.noise_traces, at.noise_traces, rtol=1e-7)
        np.testing.assert_allclose(
            between(through, noise, rows), between(at, noise, rows), rtol=1e-6
        )
        two = estimate.at(kappa, 2)
        np.testing.assert_array_equal(two.traces, at.traces[:2])
        np.testing.assert_array_equal(between(two, noise, rows), between(at, noise, rows)[:2])


def test_threads_and_one_thread_give_the_same_answers():
    measured = recording(30)
    trials = Trials.of(measured.responses, measured.condition_of_trial, measured.conditions)
    y = measured.conditions.sum(axis=1)[:, None].astype(float)

    def read(members, answers):
        return np.stack([of.mean[members] for of in answers])

    products = np.eye(9) + 0.3
    answers = [
        list(answers_without(trials, np.eye(9, dtype=bool), trials.counts, y, 1.0, read, *options))
        for options in ((products, 1), (products, 3), (None, 2))
    ]
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(np.array(answers[0])[:, :1], answers[2])
