"""Errors of similarities by overlap: their covariance by hand, and intervals of few trials."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from partwhole.measures import salience
from partwhole.measures._groups import TupleGroups
from partwhole.measures._similarity import Samples
from partwhole.measures._trial_errors import error_covariance

TRIANGLE = np.array([t for t in product(range(3), range(3)) if sum(t) < 4])
COUNTS = np.array([2, 3, 4, 5, 6, 3, 2, 4])


def coefficients(tuples):
    """Return for each overlap the symmetric matrix A whose tr(M' A M) is the similarity."""
    n = len(tuples)
    forms = []
    for overlap in range(4):
        form = np.eye(n) / n
        pairs = [
            (t, u)
            for t, u in combinations(range(n), 2)
            if sum(int(tuples[t, c] == tuples[u, c]) << c for c in range(2)) == overlap
        ]
        for t, u in pairs:
            apart = np.zeros(n)
            apart[t], apart[u] = 1.0, -1.0
            form -= np.outer(apart, apart) / (2.0 * len(pairs))
        forms.append(form)
    return forms


def exact_covariance(means, tuples, noise, counts, self_pairs):
    """Return the covariance of the similarities for normal noise, from their quadratic forms."""
    forms = coefficients(tuples)
    square = np.trace(noise @ noise)
    single = counts if self_pairs else counts - 1.0
    out = np.zeros((4, 4))
    for (i, a), (j, b) in product(enumerate(forms), repeat=2):
        along = [4.0 * (a @ means)[t] @ noise @ (b @ means)[t] / m for t, m in enumerate(counts)]
        of_two = a * b / np.outer(counts, counts)
        of_one = np.diag(a) * np.diag(b) / (counts * single)
        np.fill_diagonal(of_two, of_one)
        out[i, j] = sum(along) + 2.0 * square * of_two.sum()
    return out


@pytest.mark.parametrize("self_pairs", [False, True])
@pytest.mark.parametrize("scale", [0.5, 4.0])
def test_covariance_is_that_of_the_quadratic_forms(self_pairs, scale):
    # Means over 300 recordings; standard errors are taken from them.
    rng = np.random.default_rng(3)
    means = rng.normal(size=(8, 12))
    root = scale * rng.normal(size=(12, 12)) / 4.0
    expected = exact_covariance(means, TRIANGLE, root @ root.T, COUNTS, self_pairs)
    index = np.repeat(np.arange(8), COUNTS)
    groups = TupleGroups.of(TRIANGLE[index])
    estimates = []
    for _ in range(300):
        data = means[index] + rng.normal(size=(len(index), 12)) @ root.T
        samples = Samples(data, TRIANGLE[index], None)
        first_order, of_two, of_one, _ = error_covariance(samples, groups, self_pairs=self_pairs)
        estimates.append(first_order + np.diag(of_two) + of_one @ of_one.T)
    error = np.std(estimates, axis=0) / np.sqrt(300)
    off = (np.mean(estimates, axis=0) - expected) / error
    assert np.abs(off).max() < 4.0, off


@pytest.mark.parametrize(("trials", "noise"), [(2, 0.3), (10, 3.0)])
def test_intervals_of_few_noisy_trials_are_neither_too_wide_nor_too_narrow(trials, noise):
    # 95 % of 250 is 238; binomial counts leave 226 to 246 with probability .002. Products of two
    # noises, if they counted twice, would make it 249 and more; normal deviations, whose variance
    # two trials tell badly, 227.
    rng = np.random.default_rng(8)
    tuples = np.array(list(product(range(4), range(4))))
    parts = [np.sqrt(share) * rng.normal(size=(size, 60))
             for share, size in zip((0.4, 0.4, 0.2), (4, 4, 16), strict=True)]  # fmt: skip
    means = parts[0][tuples[:, 0]] + parts[1][tuples[:, 1]] + parts[2]
    truth = np.array(list(salience(means, tuples, self_pairs=True).saliences.values()))
    rows, covered = np.repeat(tuples, trials, axis=0), np.zeros(3)
    for seed in range(250):
        data = np.repeat(means, trials, axis=0) + noise * rng.normal(size=(16 * trials, 60))
        result = salience(data, rows, bootstrap=200, seed=seed)
        low, high = np.array(list(result.saliences_interval.values())).T
        covered += (low <= truth) & (truth <= high)
    assert np.all((covered >= 226) & (covered <= 246)), covered


def test_trials_without_noise_have_no_errors():
    rows = np.repeat(list(product(range(3), range(3))), 2, axis=0)
    means = np.random.default_rng(9).normal(size=(9, 5))
    result = salience(np.repeat(means, 2, axis=0), rows, bootstrap=20)
    np.testing.assert_allclose(result.replicates, np.tile(result.centred, (20, 1)), rtol=1e-12)
