"""Products with indicators through partial sums: the products of the indicators themselves."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.limits.proofs._budget import Budget
from partwhole.limits.proofs._indicators import as_sparse
from partwhole.limits.proofs._least_squares import best_sum, best_sum_of
from partwhole.limits.proofs._partial_sums import partial_sums


def design_of(rows, n_values, order):
    sets = tuple(combinations(range(rows.shape[1]), order))
    return ConjunctionDesign.seen(rows, sets, n_values)


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("n", [1, 7, 300])
def test_products_are_those_of_the_indicators(order, n):
    n_values = (2, 3, 2, 4, 2)
    rng = np.random.default_rng(order)
    rows = rng.integers(0, n_values, size=(n, 5))
    design = design_of(rows, n_values, order)
    sums = partial_sums(design, rows, n_values)
    # Whole numbers have exact sums.
    v, w = rng.integers(-99, 99, design.shape[1]), rng.integers(-99, 99, n)
    dense = design.toarray()
    np.testing.assert_array_equal(sums @ v.astype(float), dense @ v)
    np.testing.assert_array_equal(sums.adjoint(w.astype(float)), dense.T @ w)


def test_rows_that_share_values_of_larger_sets_take_fewer_products():
    n_values = (2,) * 12
    rows = np.stack(np.unravel_index(np.arange(4096), n_values), axis=1)
    design = design_of(rows, n_values, 2)
    sums = partial_sums(design, rows, n_values)
    assert sums.n_entries < 4096 * 66 / 2
    target = np.random.default_rng(0).normal(size=(4096, 1))
    best = best_sum_of(sums, target, Budget(1e9))
    exact = best_sum(as_sparse(design), target, Budget(1e9))
    # The constant, each of 12 components, and each of their pairs.
    assert exact.rank == 1 + 12 + 66
    np.testing.assert_allclose(best.residual, exact.residual, atol=1e-6)
