"""A task's loss against sums over its samples and expectations over its population."""

from __future__ import annotations

import re

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.flows.quadratic_loss import QuadraticLoss, mean_shares


@pytest.mark.parametrize("n", [3, 5, 40])
def test_a_sample_is_its_mean_square_error(n):
    rng = np.random.default_rng(n)
    x, y, beta = rng.normal(size=(n, 5)), rng.normal(size=n), rng.normal(size=(4, 5))
    task = QuadraticLoss.from_sample(x, y)
    assert task.rows is not None
    assert task.rows.shape == (min(n, 5), 5)
    told = ((beta @ x.T - y) ** 2).mean(axis=1)
    np.testing.assert_allclose(task.losses(beta), told, rtol=1e-12)
    assert task(beta[0]) == pytest.approx(told[0], rel=1e-12)
    slope = 2 / n * (beta @ x.T - y) @ x
    np.testing.assert_allclose(task.gradient(beta), slope, rtol=0, atol=1e-12)
    assert (task.n_samples, task.dimension) == (n, 5)
    best = np.linalg.lstsq(x, y)[0]
    assert task.floor == pytest.approx(((x @ best - y) ** 2).mean(), abs=1e-14)


@pytest.mark.parametrize(("n", "d"), [(4, 9), (12, 5), (5, 5)])
def test_samples_that_depend_on_each_other_have_a_least_loss(n, d):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d))  # of rank 3
    y, beta = rng.normal(size=n), rng.normal(size=(4, d))
    task = QuadraticLoss.from_sample(x, y)
    told = ((beta @ x.T - y) ** 2).mean(axis=1)
    np.testing.assert_allclose(task.losses(beta), told, rtol=1e-12)
    slope = 2 / n * (beta @ x.T - y) @ x
    np.testing.assert_allclose(task.gradient(beta), slope, rtol=0, atol=1e-12)
    best = np.linalg.lstsq(x, y)[0]
    least = ((x @ best - y) ** 2).mean()
    assert least > 1e-3
    assert task.floor == pytest.approx(least, rel=1e-10)


@pytest.mark.parametrize(("n", "d"), [(4, 9), (12, 5), (300, 7)])
def test_targets_without_noise_have_a_least_loss_of_0(n, d):
    rng = np.random.default_rng(d)
    x, beta = rng.normal(size=(n, d)), rng.normal(size=d)
    x[1] = x[0]
    assert QuadraticLoss.from_sample(x, x @ beta).floor == 0.0


def test_inputs_of_zero_leave_what_the_targets_are():
    task = QuadraticLoss.from_sample(np.zeros((2, 3)), np.array([1.0, 2.0]))
    assert (task.floor, task(np.ones(3)), task.dimension) == (2.5, 2.5, 3)


def test_a_population_is_its_expected_square_error():
    rng = np.random.default_rng(0)
    root, b, beta = rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=(6, 4))
    m = root @ root.T  # one direction has no variance
    task, gap = QuadraticLoss.from_population(b, m), beta - b
    np.testing.assert_allclose(task.losses(beta), ((gap @ m) * gap).sum(axis=1), rtol=1e-11)
    np.testing.assert_allclose(task.gradient(beta), 2 * gap @ m, rtol=0, atol=1e-12)
    plain = QuadraticLoss.from_population(b)
    spelt = QuadraticLoss.from_population(b, np.eye(4))
    np.testing.assert_allclose(plain.losses(beta), spelt.losses(beta), rtol=1e-12)
    np.testing.assert_allclose(plain.gradient(beta), spelt.gradient(beta), atol=1e-12)
    assert plain.dimension == spelt.dimension == 4
    assert plain.n_samples is None


def test_tasks_weigh_as_many_samples_as_they_have():
    tasks = [QuadraticLoss.from_sample(np.ones((n, 2)), np.ones(n)) for n in (6, 2)]
    assert mean_shares(tasks) == (0.75, 0.25)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: QuadraticLoss.from_sample(np.ones((3, 2)), np.ones(2)), "got 3 and 2; pass both"),
        (
            lambda: QuadraticLoss.from_population(np.ones(2))(np.ones(3)),
            "each of 2 features; got 3",
        ),
        (lambda: QuadraticLoss.from_sample(np.full((1, 2), np.nan), np.ones(1)), "got 2 that are"),
        (
            lambda: QuadraticLoss.from_population(np.ones(2), np.diag([1.0, -1.0])),
            "a second moment has no negative eigenvalue",
        ),
    ],
)
def test_what_is_refused(make, text):
    with pytest.raises(InputError, match=re.escape(text)):
        make()
