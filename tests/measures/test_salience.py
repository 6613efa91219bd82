"""Saliences by group sums against brute force, planted truth, and the sentences of errors."""

from __future__ import annotations

import tracemalloc
from itertools import combinations, product

import numpy as np
import pytest

from partwhole import features
from partwhole._checks import InputError
from partwhole.features.subsets import mask_of
from partwhole.measures import salience


def brute_force(features, components, self_pairs):
    """Average inner products over pairs, from the n x n matrix, and the noise-corrected square."""
    gram = features @ features.T
    tuples = sorted(set(map(tuple, components.tolist())))
    rows = [np.flatnonzero((components == t).all(axis=1)) for t in tuples]
    n_components = components.shape[1]
    found: dict[int, list[float]] = {mask: [] for mask in range(1 << n_components)}
    for (i, t), (j, u) in combinations(enumerate(tuples), 2):
        mask = mask_of(c for c in range(n_components) if t[c] == u[c])
        found[mask].append(gram[np.ix_(rows[i], rows[j])].mean())
    for own in rows:
        block = gram[np.ix_(own, own)]
        if self_pairs:
            found[len(found) - 1].append(block.mean())
        elif len(own) > 1:
            off = block.sum() - np.trace(block)
            found[len(found) - 1].append(off / (len(own) * (len(own) - 1)))
    kappa = [np.mean(entries) if entries else np.nan for entries in found.values()]
    return np.array(kappa), [len(entries) for entries in found.values()]


def planted(rng, sigma, n_values, repeats, noise):
    """Return features sqrt(sigma_S) one-hot(z_S) for all S, plus independent noise."""
    rows = np.array(list(product(*map(range, n_values))))
    columns = []
    for mask in range(len(sigma)):
        chosen = [c for c in range(len(n_values)) if mask >> c & 1]
        _, index = np.unique(rows[:, chosen], axis=0, return_inverse=True)
        columns.append(np.sqrt(sigma[mask]) * np.eye(index.max() + 1)[index.ravel()])
    clean = np.hstack(columns)
    counts = rng.integers(repeats[0], repeats[1] + 1, len(rows))
    which = np.repeat(np.arange(len(rows)), counts)
    which = rng.permutation(which)
    seen = clean[which]
    return seen + noise * rng.normal(size=seen.shape) / np.sqrt(seen.shape[1]), rows[which]


@pytest.mark.parametrize("n_components", [1, 2, 3, 4])
@pytest.mark.parametrize("self_pairs", [False, True])
@pytest.mark.parametrize("width", [3, 200])
def test_equals_the_average_over_all_pairs(n_components, self_pairs, width):
    rng = np.random.default_rng(n_components)
    components = rng.integers(0, 3, (60, n_components))
    data = rng.normal(1.0, 1.0, (60, width))
    kappa, n_pairs = brute_force(data, components, self_pairs)
    found = salience(data, components, self_pairs=self_pairs)
    np.testing.assert_allclose(found.kappa, kappa, rtol=1e-10, atol=1e-10 * width)
    assert found.n_pairs.tolist() == n_pairs
    sizes = [mask.bit_count() for mask in range(len(kappa))]
    for k in range(n_components + 1):
        chosen = np.array(sizes) == k
        expected = np.average(kappa[chosen], weights=np.array(n_pairs)[chosen])
        assert found.similarity[k] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_noise_is_the_trace_of_the_covariance_within_tuples():
    rng = np.random.default_rng(0)
    components = rng.integers(0, 2, (40, 2))
    data = rng.normal(size=(40, 5))
    traces = [
        np.trace(np.cov(data[(components == t).all(axis=1)].T))
        for t in np.unique(components, axis=0)
    ]
    assert salience(data, components).noise == pytest.approx(np.mean(traces))


def test_planted_saliences_come_back_where_self_pairs_are_off():
    rng = np.random.default_rng(1)
    sigma = np.array([0.2, 0.3, 0.2, 0.3])
    draws = [planted(rng, sigma, (5, 6), (2, 5), 1.0) for _ in range(60)]
    found = np.array([list(salience(*draw).saliences.values()) for draw in draws])
    truth = sigma[1:] / sigma[1:].sum()
    error = found.std(axis=0) / np.sqrt(len(draws))
    assert np.all(error < 0.01)
    assert np.all(np.abs(found.mean(axis=0) - truth) < 4 * error)
    biased = np.array([list(salience(*d, self_pairs=True).saliences.values()) for d in draws])
    assert biased.mean(axis=0)[-1] > truth[-1] + 0.1


@pytest.mark.parametrize("centre", [False, True])
def test_intervals_cover_the_planted_salience(centre):
    # 95 % of 120 is 114; a binomial count falls below 105 with probability 0.001.
    rng = np.random.default_rng(2)
    sigma = np.array([0.2, 0.3, 0.2, 0.3])
    covered = np.zeros(2)
    for _ in range(120):
        data, rows = planted(rng, sigma, (4, 4), (4, 6), 1.0)
        found = salience(data, rows, centre=centre, bootstrap=120, seed=3)
        low, high = found.salience_interval.T
        truth = np.array([0.25, 0.3]) / 0.8
        covered += (low <= truth) & (truth <= high)
    assert np.all(covered >= 105), covered
    assert np.all(covered < 120), covered


def test_structure_is_one_for_overlap_features_however_noisy_and_lower_for_others():
    rng = np.random.default_rng(3)
    sigma = np.array([0.0, 0.3, 0.2, 0.3])
    exact, rows = planted(rng, sigma, (5, 5), (3, 5), 0.0)
    assert salience(exact, rows).structure == pytest.approx(1.0, abs=1e-9)
    noisy = [planted(rng, sigma, (5, 5), (3, 5), 1.0) for _ in range(40)]
    scores = np.array([salience(*draw).structure for draw in noisy])
    assert abs(scores.mean() - 1.0) < 4 * scores.std() / np.sqrt(40)
    # Classes 0 and 1 of the first component look alike: overlap no longer tells similarity.
    similar = exact.copy()
    similar[:, 1] += similar[:, 2]
    assert salience(similar, rows).structure < 0.9


def test_structure_equals_the_explained_share_of_pair_similarity_without_noise():
    rng = np.random.default_rng(4)
    rows = np.array(list(product(range(3), range(3), range(2))))
    data = rng.normal(1.0, 1.0, (len(rows), 6))
    similarity, overlap = [], []
    for i, j in combinations(range(len(rows)), 2):
        similarity.append(data[i] @ data[j])
        overlap.append(mask_of(np.flatnonzero(rows[i] == rows[j]).tolist()))
    similarity, overlap = np.array(similarity), np.array(overlap)
    fitted = np.zeros_like(similarity)
    for mask in np.unique(overlap):
        fitted[overlap == mask] = similarity[overlap == mask].mean()
    expected = fitted.var() / similarity.var()
    assert salience(data, rows, self_pairs=True).structure == pytest.approx(expected)
    # Two equal samples of each tuple: no noise, so the correction changes nothing.
    twice = salience(np.repeat(data, 2, axis=0), np.repeat(rows, 2, axis=0))
    assert twice.structure == pytest.approx(expected)


def test_order_of_rows_is_irrelevant_and_input_is_kept():
    rng = np.random.default_rng(5)
    data, rows = planted(rng, np.array([0.1, 0.2, 0.3, 0.4]), (4, 3), (1, 4), 1.0)
    before = data.copy(), rows.copy()
    one = salience(data, rows, centre=True, bootstrap=5)
    order = rng.permutation(len(rows))
    two = salience(data[order], rows[order], centre=True)
    np.testing.assert_allclose(one.kappa, two.kappa, atol=1e-12)
    assert one.structure == pytest.approx(two.structure)
    assert one.noise == pytest.approx(two.noise)
    np.testing.assert_array_equal(data, before[0])
    np.testing.assert_array_equal(rows, before[1])


def test_centring_on_a_full_balanced_grid_leaves_saliences():
    rng = np.random.default_rng(6)
    rows = np.repeat(list(product(range(4), range(3))), 3, axis=0)
    data = rng.normal(size=(len(rows), 7))
    plain, centred = salience(data, rows), salience(data, rows, centre=True)
    shift = plain.kappa - centred.kappa
    np.testing.assert_allclose(shift, shift[0], atol=1e-12)
    assert not np.allclose(shift[0], 0.0)


def test_saliences_of_components_differ_when_planted_so():
    rng = np.random.default_rng(7)
    data, rows = planted(rng, np.array([0.0, 0.5, 0.1, 0.4]), (6, 6), (4, 4), 0.0)
    found = salience(data, rows)
    assert found.saliences == pytest.approx({(0,): 0.5, (1,): 0.1, (0, 1): 0.4})
    assert found.salience == pytest.approx([0.3, 0.4])
    assert found.kernel.saliences == pytest.approx(found.saliences)
    assert found.count_kernel.salience == pytest.approx(found.salience)


def test_ideal_random_network_features_have_the_analytic_salience():
    # G-12: one ReLU layer, S(1; 2) = .426422; 40,000 units leave an error of a few 1e-3.
    rng = np.random.default_rng(8)
    rows = np.array(list(product(range(4), range(4))))
    one_hot = np.hstack([np.eye(4)[rows[:, 0]], np.eye(4)[rows[:, 1]]])
    hidden = np.maximum(one_hot @ rng.normal(size=(8, 40_000)), 0.0)
    expected = features.OverlapKernel.random_network("relu", 2, depth=1).salience
    assert salience(hidden, rows, self_pairs=True).salience == pytest.approx(expected, abs=0.01)


def test_overlaps_that_no_pair_has_are_told():
    rows = np.repeat([[0, 0], [0, 1]], 2, axis=0)
    found = salience(np.eye(4), rows)
    assert np.isnan(found.kappa[0])
    assert np.isnan(found.kappa[2])
    assert "no two tuples share exactly nothing: that similarity is NaN" in found.notes
    with pytest.raises(InputError, match=r"a kernel needs the similarity of every overlap set; "):
        _ = found.kernel


def test_salience_of_a_representation_that_separates_nothing_is_nan():
    found = salience(np.ones((6, 2)), np.repeat([[0], [1], [2]], 2, axis=0))
    assert np.isnan(found.salience[0])
    assert np.isnan(found.structure)
    assert any("no more similar" in note for note in found.notes)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((np.full((2, 2), np.nan), np.array([[0], [1]])), "features must be finite; got 4 that"),
        ((np.ones((3, 2)), np.zeros((3, 2), int)), "saliences compare at least two tuples; got 1"),
        ((np.ones((2, 2)), np.array([[-1], [1]])), "components are value indices from 0; got -1"),
        (
            (np.eye(2), np.array([[0], [1]])),
            "the similarity of identical tuples needs a tuple with two samples; got one sample "
            "for each of 2 tuples; add repeats, or pass self_pairs=True",
        ),
    ],
)
def test_errors_say_rule_got_remedy(arguments, sentence):
    with pytest.raises(InputError) as caught:
        salience(*arguments)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"bootstrap": -1}, "bootstrap counts replicates; got -1; use 0 for none"),
        ({"confidence": 1.0}, "confidence lies between 0 and 1; got 1.0; use 0.95"),
    ],
)
def test_options_out_of_range_are_refused(option, sentence):
    with pytest.raises(InputError, match=sentence):
        salience(np.eye(4), np.repeat([[0], [1]], 2, axis=0), **option)


def test_a_hundred_thousand_rows_need_no_matrix_of_pairs():
    # 10^5 samples of 24,000 tuples: a tuples x tuples matrix alone would take 4.6 GB.
    rng = np.random.default_rng(9)
    rows = rng.integers(0, 30, (100_000, 3))
    data = rng.normal(size=(100_000, 100))
    tracemalloc.start()
    found = salience(data, rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.n_tuples > 20_000
    assert peak < 1e9
