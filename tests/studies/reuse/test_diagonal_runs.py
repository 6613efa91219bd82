"""Errors along learning by theory: each beside descent written out in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole import solve
from partwhole.limits.costs import LinearProbing
from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import diagonal_runs as runs
from partwhole_studies.reuse.diagonal_runs import SCRATCH

TASK = SparseTeachers(dimension=60, active_aux=6, active_main=6, overlap=3)
AT = (0, 5, 20, 50, 150, 600)


def descend(method, sample, rate, times, n_aux):
    """Return the test errors of plain descent on all weights, at times that steps reach."""
    w, v, x, y = (np.array(each) for each in runs.initial(method, sample.auxiliary))
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
    monkeypatch.setattr(runs, "N_AUX", 40)
    sample = TASK.sample(3, 16)
    times = runs.RATE * np.array(AT)
    found = runs.learn(method, sample).errors[np.searchsorted(runs.STEPS, AT)]
    coarse, fine = (descend(method, sample, rate, times, 40) for rate in (0.01, 0.005))
    # Descent errs in proportion to its step: twice the fine less the coarse is the limit.
    np.testing.assert_allclose(found, 2 * fine - coarse, rtol=2e-3)
    # What is left shows that the extrapolation is needed, and the test can fail.
    assert np.abs(fine - coarse).max() > 1e-4


@pytest.mark.parametrize("method", [PROBING, SCRATCH])
def test_probing_is_descent_itself(method):
    sample = TASK.sample(3, 16)
    found = runs.learn(method, sample).errors[np.searchsorted(runs.STEPS, AT)]
    expected = descend(method, sample, runs.RATE, runs.RATE * np.array(AT), 0)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_probing_ends_at_the_nearest_readout():
    sample = TASK.sample(1, 16)
    weights = runs.initial(PROBING, sample.auxiliary)
    last = runs.probing_path(weights, sample.inputs, sample.targets, np.array([10**12]))[0]
    end = solve(
        (sample.inputs, sample.targets), cost=LinearProbing.of(weights), intercept="none"
    ).coefficients
    np.testing.assert_allclose(last, end, atol=1e-8)


def test_the_least_error_is_read_at_the_published_records():
    early = np.arange(len(runs.STEPS), dtype=float)
    learning = runs.Learning(np.where(runs.STEPS == 20, -1.0, early), True)
    assert (learning.best, learning.last) == (0.0, early[-1])
    assert {0, 50, 100, 2000, runs.LONGEST} <= set(runs.STEPS.tolist())


@pytest.mark.parametrize(
    ("method", "rate", "within"),
    [(SINGLE, 0.01, 0.02), (FINETUNING, 0.01, 0.02), (MULTI, 0.1, 0.1)],
)
def test_networks_learn_as_theory_says(monkeypatch, method, rate, within):
    # With fewer features each has a larger part of the error, and asks for smaller steps.
    monkeypatch.setattr(runs, "N_AUX", 500)
    monkeypatch.setattr(runs, "RATE", rate)
    task = SparseTeachers(dimension=60, active_aux=6, active_main=6, overlap=0)
    found = runs.train(task, 10, method, [4, 5], max_steps=30_000)
    theory = [runs.learn(method, task.sample(seed, 10)) for seed in (4, 5)]
    # Steps are finite, and networks see a sample of the auxiliary task, theory all of it.
    np.testing.assert_allclose(found["last"], [each.last for each in theory], rtol=within)
    np.testing.assert_allclose(found["best"], [each.best for each in theory], rtol=within)


def test_a_probed_network_is_where_theory_has_it():
    sample = TASK.sample(4, 16)
    found = runs.train(TASK, 16, PROBING, [4], max_steps=2000)
    weights = runs.initial(PROBING, sample.auxiliary)
    path = runs.probing_path(weights, sample.inputs, sample.targets, np.array([2000]))
    # Single precision.
    np.testing.assert_allclose(found["last"], sample.test_error(path), rtol=1e-4)


def test_probing_without_pretraining_was_published_before_its_end():
    # Published, at overlap 20 and 512 samples, mean of six seeds: .6538.
    sample = SparseTeachers(overlap=20).sample(0, 512)
    weights = runs.initial(SCRATCH, sample.auxiliary)
    end = solve(
        (sample.inputs, sample.targets), cost=LinearProbing.of(weights), intercept="none"
    ).coefficients
    assert runs.learn(SCRATCH, sample).last == pytest.approx(0.6538, rel=0.1)
    assert sample.test_error(end) < 0.55


def test_a_table_has_every_learner_and_size():
    methods = {"methods": ["a", "b"], "seeds": [0, 1]}
    cells = [
        (methods | {"sizes": [8]}, {"end": np.arange(4.0).reshape(2, 1, 2)}),
        ({"learner": "c", "n": 16, "seeds": [0]}, {"best": np.array([5.0])}),
    ]
    table = runs.run_table(cells, {"end": "", "best": ""}, ["learner", "n", "seed"])
    assert table.end.sel(learner="b", n=8).values.tolist() == [2.0, 3.0]
    assert table.best.sel(learner="c", n=16, seed=0) == 5.0
    assert np.isnan(table.end.sel(learner="c")).all()
