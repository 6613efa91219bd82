"""Random training sets: published thresholds, a giant component, and counted determination."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from partwhole._checks import InputError
from partwhole.limits import determination
from partwhole.limits.random_splits import (
    critical_ratio,
    critical_rows,
    determined_share,
    dimensions,
)
from partwhole.tasks import Task


@pytest.mark.parametrize(
    ("b", "published"),
    # Thresholds of random systems with b unknowns in a row (Pittel & Sorkin 2016).
    [(3, 0.91794), (4, 0.97677), (5, 0.99244), (6, 0.99738)],
)
def test_the_limit_is_that_of_random_systems(b, published):
    assert critical_ratio(b, 1) == pytest.approx(published, abs=1e-5)
    assert critical_ratio(b, b - 1) == critical_ratio(b, 1)


def test_shadows_of_random_complexes_have_the_same_thresholds():
    # Rows in which a conjunction is: 2.754 and 3.907 in 2 and 3 dimensions (Linial & Peled 2016).
    assert 3 * critical_ratio(3, 2) == pytest.approx(2.754, abs=1e-3)
    assert 4 * critical_ratio(4, 3) == pytest.approx(3.907, abs=1e-3)


def test_many_values_approach_the_limit():
    gaps = []
    for n in (100, 1000, 10_000):
        values = (n,) * 3
        gaps.append(abs(critical_rows(values, 1) / dimensions(values, 1) - critical_ratio(3, 1)))
    # As 1 over the number of values, and rows are whole numbers.
    assert all(gap < 1 / n for gap, n in zip(gaps, (100, 1000, 10_000), strict=True))


@pytest.mark.parametrize("b", range(3, 9))
def test_tables_of_any_size_have_the_limit(b):
    """Combinations of 8 parts of 10,000 values are more than numbers near 1 can tell apart."""
    values = (10_000,) * b
    rows = critical_ratio(b, 1) * dimensions(values, 1)
    assert determined_share(0.999 * rows, values, 1) == 0.0
    share = determined_share(1.001 * rows, values, 1)
    # alpha = 1 - exp(-b r alpha**(b - 1)), and all b conjunctions are tied.
    alpha = share ** (1 / b)
    mean = b * 1.001 * critical_ratio(b, 1)
    assert alpha == pytest.approx(1 - np.exp(-mean * alpha ** (b - 1)), abs=1e-3)
    assert share > 0.6


@pytest.mark.parametrize("ratio", [0.7, 0.9, 1.2])
def test_two_components_are_a_giant_component(ratio):
    """Beside the pairs of values that a random bipartite graph links, whatever their number."""
    n, m = 300, 500
    rows, shares = int(ratio * dimensions((n, m), 1)), []
    for seed in range(20):
        place = np.random.default_rng(seed).choice(n * m, rows, replace=False)
        a, b = np.unravel_index(place, (n, m))
        graph = sparse.csr_array((np.ones(rows), (a, n + b)), shape=(n + m,) * 2)
        label = connected_components(graph, directed=False)[1]
        linked = sum(
            int((label[:n] == piece).sum()) * int((label[n:] == piece).sum())
            for piece in np.unique(label[:n])
        )
        shares.append((linked - rows) / (n * m - rows))
    spread = np.std(shares, ddof=1) / np.sqrt(len(shares))
    # Small components link a share of pairs of the order of 1 over the number of values.
    expected = determined_share(rows, (n, m), 1)
    assert abs(np.mean(shares) - expected) < 4 * spread + 2 / n


@pytest.mark.parametrize(
    ("n_values", "order", "ratio"),
    [((14, 20, 9), 1, 1.4), ((14, 20, 9), 1, 0.7), ((7, 9, 6), 2, 1.3), ((5, 4, 6, 5), 2, 1.5)],
)
def test_components_may_have_other_numbers_of_values(n_values, order, ratio):
    rows = int(ratio * dimensions(n_values, order))
    grid = np.array(list(product(*map(range, n_values))))
    shares = []
    for seed in range(12):
        components = np.random.default_rng(seed).permutation(grid)
        names, values = tuple("abcd"[: len(n_values)]), tuple(tuple(range(n)) for n in n_values)
        is_train = np.arange(len(grid)) < rows
        task = Task(components, np.zeros(len(grid)), is_train, names, values)
        shares.append(determination(task, max_order=order).share)
    spread = np.std(shares, ddof=1) / np.sqrt(len(shares))
    # Loops that the formulas neglect have a share of 1 over the fewest values.
    assert abs(np.mean(shares) - determined_share(rows, n_values, order)) < (
        4 * spread + 0.25 / min(n_values)
    )


def test_dimensions_are_the_rank_of_all_combinations():
    n_values = (3, 4, 2)
    grid = np.array(list(product(*map(range, n_values))))
    for order in (1, 2):
        columns = [np.ones((len(grid), 1))]
        for chosen in (c for k in (1, 2) for c in combinations(range(3), k) if k <= order):
            shape = [n_values[c] for c in chosen]
            codes = np.ravel_multi_index(tuple(grid[:, list(chosen)].T), shape)
            columns.append(np.eye(int(np.prod(shape)))[codes])
        assert dimensions(n_values, order) == np.linalg.matrix_rank(np.hstack(columns))


def test_all_rows_determine_all_and_none_nothing():
    for n_values, order in (((4, 5), 1), ((6, 6, 6), 2), ((30, 3, 2), 1)):
        assert determined_share(np.prod(n_values), n_values, order) > 0.99
        assert determined_share(0, n_values, order) == 0.0
        rows = np.linspace(0, np.prod(n_values), 30)
        shares = [determined_share(r, n_values, order) for r in rows]
        assert shares == sorted(shares)


def test_sentences():
    with pytest.raises(InputError) as error:
        critical_ratio(2, 2)
    assert str(error.value) == (
        "the order is at least 1 and below the number of components; got 2 for 2; pass such as 1 "
        "for two components"
    )
    with pytest.raises(InputError) as error:
        determined_share(31, (5, 6), 1)
    assert str(error.value) == (
        "training has distinct combinations; got 31 rows of 30 combinations; pass at most all of "
        "them"
    )
