"""Errors along learning by theory: each beside descent written out in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.limits import linear_probing
from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import _networks as networks
from partwhole_studies.reuse import _paths as paths
from partwhole_studies.reuse._tables import SCRATCH

TASK = SparseTeachers(dimension=60, active_aux=6, active_main=6, overlap=3)
AT = (0, 5, 20, 50, 150, 600)


def descend(method, sample, rate, times, n_aux):
    """Return the test errors of plain descent on all weights, at times that steps reach."""
    w, v, x, y = (np.array(each) for each in paths.initial(method, sample.auxiliary))
    n = len(sample.targets)
    share = n / (n + n_aux) if method == MULTI else 1.0
    errors, step = [], 0
    for time in times:
        while step < round(time / rate):
            step += 1
            beta = w * v - x * y
            main = beta[1] if method == MULTI else beta
            pull = share * 2 / n * sample.inputs.T @ (sample.targets - sample.inputs @ main)
            if method == MULTI:
                pull = np.stack([(1 - share) * 2 * (sample.auxiliary - beta[0]), pull])
            up, down = rate * pull * v, rate * pull * y
            if method == MULTI:
                up, down = up.sum(axis=0), down.sum(axis=0)
            grow, shrink = rate * pull * w, rate * pull * x
            v, y = v + grow, y - shrink
            if "probing" not in method:
                w, x = w + up, x - down
        beta = w * v - x * y
        errors.append(sample.test_error(beta[1] if method == MULTI else beta))
    return np.array(errors)


@pytest.mark.parametrize("method", [SINGLE, FINETUNING, MULTI])
def test_flows_are_the_limit_of_small_steps(monkeypatch, method):
    monkeypatch.setattr(paths, "N_AUX", 40)
    sample = TASK.sample(3, 16)
    times = paths.RATE * np.array(AT)
    found = paths.learn(method, sample).errors[np.searchsorted(paths.STEPS, AT)]
    coarse, fine = (descend(method, sample, rate, times, 40) for rate in (0.01, 0.005))
    # Descent errs in proportion to its step: twice the fine less the coarse is the limit.
    np.testing.assert_allclose(found, 2 * fine - coarse, rtol=2e-3)
    # What is left shows that the extrapolation is needed, and the test can fail.
    assert np.abs(fine - coarse).max() > 1e-4


@pytest.mark.parametrize("method", [PROBING, SCRATCH])
def test_probing_is_descent_itself(method):
    sample = TASK.sample(3, 16)
    found = paths.learn(method, sample).errors[np.searchsorted(paths.STEPS, AT)]
    expected = descend(method, sample, paths.RATE, paths.RATE * np.array(AT), 0)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_probing_ends_at_the_nearest_readout():
    sample = TASK.sample(1, 16)
    weights = paths.initial(PROBING, sample.auxiliary)
    last = paths.probing_path(weights, sample.inputs, sample.targets, np.array([10**12]))[0]
    end = linear_probing(sample.inputs, sample.targets, weights).coefficients
    np.testing.assert_allclose(last, end, atol=1e-8)


def test_the_least_error_is_read_at_the_published_records():
    early = np.arange(len(paths.STEPS), dtype=float)
    learning = paths.Learning(np.where(paths.STEPS == 20, -1.0, early), True)
    assert (learning.best, learning.best_of_all, learning.last) == (0.0, -1.0, early[-1])
    assert {0, 50, 100, 2000, paths.LONGEST} <= set(paths.STEPS.tolist())


@pytest.mark.parametrize(
    ("method", "rate", "within"),
    [(SINGLE, 0.01, 0.02), (FINETUNING, 0.01, 0.02), (MULTI, 0.1, 0.1)],
)
def test_networks_learn_as_theory_says(monkeypatch, method, rate, within):
    # With fewer features each has a larger part of the error, and asks for smaller steps.
    for module in (paths, networks):
        monkeypatch.setattr(module, "N_AUX", 500)
        monkeypatch.setattr(module, "RATE", rate)
    task = SparseTeachers(dimension=60, active_aux=6, active_main=6, overlap=0)
    found = networks.train(task, 10, method, [4, 5], max_steps=30_000)
    theory = [paths.learn(method, task.sample(seed, 10)) for seed in (4, 5)]
    # Steps are finite, and networks see a sample of the auxiliary task, theory all of it.
    np.testing.assert_allclose(found["last"], [each.last for each in theory], rtol=within)
    np.testing.assert_allclose(found["best"], [each.best for each in theory], rtol=within)


def test_a_probed_network_is_where_theory_has_it():
    sample = TASK.sample(4, 16)
    found = networks.train(TASK, 16, PROBING, [4], max_steps=2000)
    weights = paths.initial(PROBING, sample.auxiliary)
    path = paths.probing_path(weights, sample.inputs, sample.targets, np.array([2000]))
    # Single precision.
    np.testing.assert_allclose(found["last"], sample.test_error(path), rtol=1e-4)
