"""Saliences by group sums against brute force, planted truth, and the sentences of errors."""

from __future__ import annotations

import tracemalloc
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from partwhole import features, solve, tasks
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
        (
            (np.full((2, 2), np.nan), np.array([[0], [1]])),
            "got 4 that are NaN, the first at (0",
        ),
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


ROWS = np.repeat(list(product(range(3), range(3))), 2, axis=0)
NOT_INTEGERS = "components is an array of whole numbers of shape (n, C); got {}"
NOT_A_TABLE = "features is an array of finite numbers of shape (n, p)"


@pytest.mark.parametrize(
    ("components", "got"),
    [
        (pd.DataFrame({"a": list("pq") * 9}), "entries of type str; pass numbers alone"),
        (np.array([["p", "q"]] * 18), "text; number its values from 0 first"),
        ([["p", "q"]] * 18, "text; number its values from 0 first"),
        ([[0], [1, 2]], "rows of different lengths, or numbers too large; pass rows of one length"),
        (ROWS[:, 0], "shape (18,); pass shape (n, C)"),
        (ROWS / 2.0, "12 that are not whole; round, drop or fill them first"),
        ("ab", "'ab'; pass an array or a list"),
    ],
    ids=["frame", "strings", "list", "uneven", "flat", "halves", "text"],
)
def test_components_that_are_not_integers_are_refused(components, got):
    if isinstance(components, pd.DataFrame):
        components = components.astype(object)
    with pytest.raises(InputError) as caught:
        salience(np.ones((18, 2)), components)
    assert str(caught.value) == NOT_INTEGERS.format(got)


@pytest.mark.parametrize(
    ("data", "got"),
    [
        (np.ones(18), "; got shape (18,); pass shape (n, p)"),
        (np.ones((18, 0)), ", and is not empty; got shape (18, 0); pass at least one"),
        (np.ones((18, 2, 2)), "; got shape (18, 2, 2); pass shape (n, p)"),
        (np.ones((18, 2)) * 1j, "; got complex numbers; pass the real part or the absolute values"),
        ([["x", "y"]] * 18, "; got text; convert the text to numbers first"),
    ],
    ids=["flat", "empty", "images", "complex", "text"],
)
def test_features_that_are_no_table_of_numbers_are_refused(data, got):
    with pytest.raises(InputError) as caught:
        salience(data, ROWS)
    assert str(caught.value) == NOT_A_TABLE + got


@pytest.mark.parametrize("kind", ["uint8", "int8", "int32", "uint64", "list", "frame"])
def test_any_integers_and_array_likes_will_do(kind):
    data = np.random.default_rng(0).normal(size=(18, 3))
    expected = salience(data, ROWS).kappa
    if kind == "list":
        found = salience(data.tolist(), ROWS.tolist())
    elif kind == "frame":
        found = salience(pd.DataFrame(data), pd.DataFrame(ROWS))
    else:
        found = salience(data, ROWS.astype(kind))
    np.testing.assert_array_equal(found.kappa, expected)
    # Beyond what a byte holds when squared or coded: 200 values of two components.
    wide = np.stack([np.arange(400) // 2 % 200, np.arange(400) // 4 % 200], axis=1)
    if kind == "uint8":
        data = np.random.default_rng(0).normal(size=(400, 3))
        small, large = salience(data, wide.astype(kind)), salience(data, wide)
        np.testing.assert_array_equal(small.kappa, large.kappa)


def test_without_repeats_there_is_no_interval():
    data = np.random.default_rng(0).normal(size=(9, 3))
    found = salience(data, ROWS[::2], self_pairs=True, bootstrap=20)
    for interval in (found.kappa_interval, found.salience_interval):
        assert np.isnan(interval).all()
    assert np.isnan(list(found.saliences_interval.values())).all()
    assert found.kernels() == []
    assert "no tuple has two samples to draw from: intervals are NaN" in found.notes
    assert not any("add no spread" in note for note in found.notes)


def test_low_structure_is_told():
    # Values 0 and 1 of both components look alike, 2 is another: similarity is no overlap's.
    alike = np.eye(2)[ROWS // 2].reshape(18, 4)
    found = salience(alike, ROWS)
    assert 0.0 < found.structure < 0.5
    assert found.notes == (
        f"structure is {found.structure:.2f}: similarity depends on more than the overlap; "
        "predictions from `kernel` can be far off",
    )
    assert salience(np.eye(3)[ROWS].reshape(18, 6), ROWS).notes == ()


@pytest.mark.parametrize(
    ("data", "components", "reason"),
    [
        (np.eye(6), [[0], [0], [1], [1], [2], [2]], "all pairs of tuples share the same"),
        (np.ones((18, 1)), ROWS, "the similarity of different tuples doesn't vary beyond its"),
        (np.eye(4), [[0, 0], [0, 0], [0, 1], [1, 1]], "fewer than two tuples have two samples"),
    ],
    ids=["one overlap", "constant", "one repeat"],
)
def test_missing_structure_says_why(data, components, reason):
    found = salience(data, components)
    assert np.isnan(found.structure)
    assert any(note.startswith(f"structure is NaN: {reason}") for note in found.notes)


def test_a_huge_offset_is_told_and_centring_mends_it():
    rng = np.random.default_rng(10)
    clean = np.eye(3)[ROWS].reshape(18, 6) + rng.normal(0, 0.01, (18, 6))
    far = clean + 2.0**20
    noted = salience(far, ROWS).notes
    assert any("pass centre=True to take the features' common offset away" in n for n in noted)
    for data, centre in ((far, True), (clean, False), (clean, True)):
        found = salience(data, ROWS, centre=centre)
        assert not any("centre=True" in note for note in found.notes)
        assert found.salience == pytest.approx([0.5, 0.0], abs=0.01)
    # A smaller offset leaves saliences, but drowns the structure.
    near = salience(clean + 1000.0, ROWS)
    assert near.salience == pytest.approx([0.5, 0.0], abs=0.01)
    assert near.structure < 0.5
    assert near.notes[-1].endswith("may hide it, look again with centre=True")


def test_kernels_of_replicates_give_intervals_of_predictions():
    rng = np.random.default_rng(11)
    data, rows = planted(rng, np.array([0.1, 0.35, 0.25, 0.3]), (5, 5), (4, 6), 0.3)
    found = salience(data, rows, bootstrap=40, seed=1)
    kernels = found.kernels()
    assert len(kernels) == 40
    for kernel, kappa in zip(kernels, found.replicates, strict=True):
        np.testing.assert_allclose(kernel.kappa, kappa, atol=1e-12)
    lows, highs = found.saliences_interval[(0,)]
    drawn = np.quantile([kernel.saliences[(0,)] for kernel in kernels], [0.025, 0.975])
    np.testing.assert_allclose(drawn, (lows, highs))
    task = tasks.symbolic_addition(range(5), [0])
    answers = [
        solve(task, kernel.nonnegative(), intercept="free").predictions[-1] for kernel in kernels
    ]
    truth = features.OverlapKernel(2, np.array([0.1, 0.35, 0.25, 0.3]))
    expected = solve(task, truth, intercept="free").predictions[-1]
    low, high = np.quantile(answers, [0.025, 0.975])
    assert low < expected < high
    assert salience(data, rows).kernels() == []


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"bootstrap": -1}, "bootstrap is a whole number of at least 0; got -1; pass a whole"),
        ({"confidence": 1.0}, "confidence is a finite number above 0 and below 1; got 1.0; pass a"),
    ],
)
def test_options_out_of_range_are_refused(option, sentence):
    with pytest.raises(InputError, match=sentence):
        salience(np.eye(4), np.repeat([[0], [1]], 2, axis=0), **option)


def test_a_hundred_thousand_rows_need_no_matrix_of_pairs():
    # 10^5 samples of 24,000 tuples: a tuples x tuples matrix alone would take 4.6 GB.
    rng = np.random.default_rng(9)
    rows = rng.integers(0, 30, (100_000, 3))
    data = rng.normal(size=(100_000, 10))
    tracemalloc.start()
    found = salience(data, rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.n_tuples > 20_000
    assert peak < 1e9
