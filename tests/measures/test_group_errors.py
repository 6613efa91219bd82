"""Errors of similarities by overlap over groups: their covariance for known parts of groups."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from partwhole.measures._group_errors import error_variances, group_errors
from partwhole.measures._similarity import Products

COMPLETE = np.array(list(combinations(range(6), 2)))
# Groups that share no conditions have no products.
INCOMPLETE = np.delete(COMPLETE, [1, 6, 11], axis=0)


def products(pairs, half, squared):
    n_rows = len(pairs)
    n_pairs = np.tile([3, 5, 4, 0], (n_rows, 1))
    return Products(half, n_pairs, squared, np.full(n_rows, 7), pairs)


@pytest.mark.parametrize("pairs", [COMPLETE, INCOMPLETE], ids=["complete", "incomplete"])
def test_covariance_is_that_of_parts_of_groups_and_pairs(pairs):
    # 2,000 draws; standard errors are taken from them.
    rng = np.random.default_rng(5)
    mixing, of_pairs = rng.normal(size=(2, 4, 4))
    incidence = np.zeros((len(pairs), 6))
    incidence[np.arange(len(pairs))[:, None], pairs] = 1.0
    # Similarities are a squared length, of 7 tuples, less half a squared distance by overlap.
    kappa = np.array([[-1 / 3, 0, 0, 1 / 7], [0, -1 / 5, 0, 1 / 7], [0, 0, -1 / 4, 1 / 7],
                      [0, 0, 0, 1 / 7]])  # fmt: skip
    alone = np.sum(incidence.sum(axis=0) ** 2) * mixing @ mixing.T
    together = len(pairs) * of_pairs @ of_pairs.T
    estimates = []
    for _ in range(2000):
        parts = incidence @ rng.normal(size=(6, 4)) @ mixing.T
        parts += rng.normal(size=(len(pairs), 4)) @ of_pairs.T
        half = np.column_stack([parts[:, :3], np.zeros(len(pairs))])
        groups, couples, n_groups = error_variances(products(pairs, half, parts[:, 3]))
        estimates.append([groups, couples])
    assert n_groups == 6
    expected = [kappa @ (matrix / len(pairs) ** 2) @ kappa.T for matrix in (alone, together)]
    error = np.std(estimates, axis=0) / np.sqrt(len(estimates))
    off = (np.mean(estimates, axis=0) - expected) / error
    assert np.abs(off).max() < 4.0, off


def test_of_three_groups_all_is_put_down_to_groups():
    rng = np.random.default_rng(6)
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    half, squared = np.zeros((3, 4)), rng.normal(size=3)
    of_groups, of_pairs, _ = error_variances(products(pairs, half, squared))
    # The jackknife: (G - 1) / G of the squared deviations of the one pair without each group.
    jackknife = 2.0 * np.var(squared / 7.0)
    np.testing.assert_allclose(of_groups[3, 3], jackknife, rtol=1e-12)
    assert not of_pairs.any()


def test_what_groups_lack_is_nan():
    rng = np.random.default_rng(7)
    pair = np.array([[0, 1]])
    assert np.isnan(group_errors(products(pair, np.ones((1, 4)), np.ones(1)), 5, rng)).all()
    lacking = products(COMPLETE, rng.normal(size=(15, 4)), rng.normal(size=15))
    lacking.n_pairs[:, 1] = 0
    missing = np.isnan(group_errors(lacking, 5, rng))
    assert missing[:, 1].all()
    assert not missing[:, [0, 2, 3]].any()
