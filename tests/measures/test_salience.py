"""Saliences by group sums against brute force, planted truth, and the sentences of errors."""

from __future__ import annotations

import re
import tracemalloc
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import LedoitWolf

from partwhole import features, solve, tasks
from partwhole._checks import InputError
from partwhole.features.subsets import mask_of
from partwhole.measures import salience
from partwhole.measures.salience import saliences_over
from partwhole.recordings import Recording, from_trials


def brute_force(features, components, self_pairs, groups=None):
    """Average squared distances over pairs of tuples, from products of single samples."""
    n = len(features)
    tuples = sorted(set(map(tuple, components.tolist())))
    rows = [np.flatnonzero((components == t).all(axis=1)) for t in tuples]
    scatter = [np.sum((features[r] - features[r].mean(axis=0)) ** 2) / (len(r) - 1)
               for r in rows if len(r) > 1]  # fmt: skip
    noise = np.mean(scatter) if scatter else 0.0
    apart = np.ones((n, n), dtype=bool) if self_pairs else ~np.eye(n, dtype=bool)
    gram = features @ features.T
    squares = []
    for of_tuple in rows:
        block, chosen = (m[np.ix_(of_tuple, of_tuple)] for m in (gram, apart))
        squares.append(block[chosen].mean() if chosen.any() else block.mean() - noise)
    n_components = components.shape[1]
    halves: dict[int, list[float]] = {mask: [] for mask in range(1 << n_components)}
    for (i, t), (j, u) in combinations(enumerate(tuples), 2):
        mask = mask_of(c for c in range(n_components) if t[c] == u[c])
        inner = gram[np.ix_(rows[i], rows[j])].mean()
        halves[mask].append(0.5 * (squares[i] + squares[j]) - inner)
    own = np.mean(squares)
    kappa = [own - np.mean(entries) if entries else np.nan for entries in halves.values()]
    kappa[-1] = own
    n_pairs = [len(entries) for entries in halves.values()]
    return np.array(kappa), [*n_pairs[:-1], len(tuples)]


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
    biased = np.array([list(salience(*d, self_pairs=True).saliences.values()) for d in draws[:20]])
    assert biased.mean(axis=0)[-1] > truth[-1] + 0.1


def test_intervals_cover_the_planted_salience():
    # 95 % of 120 is 114; a binomial count falls below 105 with probability 0.001.
    rng = np.random.default_rng(2)
    sigma = np.array([0.2, 0.3, 0.2, 0.3])
    covered = np.zeros(2)
    for _ in range(120):
        data, rows = planted(rng, sigma, (4, 4), (4, 6), 1.0)
        found = salience(data, rows, bootstrap=120, seed=3)
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
    centred = data - data.mean(axis=0)
    similarity, overlap = [], []
    for i, j in combinations(range(len(rows)), 2):
        similarity.append(centred[i] @ centred[j])
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
    one = salience(data, rows, bootstrap=5)
    order = rng.permutation(len(rows))
    two = salience(data[order], rows[order])
    np.testing.assert_allclose(one.kappa, two.kappa, atol=1e-12)
    assert one.structure == pytest.approx(two.structure)
    assert one.noise == pytest.approx(two.noise)
    np.testing.assert_array_equal(data, before[0])
    np.testing.assert_array_equal(rows, before[1])


@pytest.mark.parametrize("offset", [1.0, 30.0, 2.0**20])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_constant_added_to_all_features_changes_no_salience(offset, grouped):
    # Ten of sixteen combinations, so that inner products would depend on the mean.
    rng = np.random.default_rng(6)
    cells = np.array([[a, b] for a in range(4) for b in range(4) if a + b < 4])
    rows = np.repeat(cells, 4, axis=0)
    data = rng.normal(size=(len(rows), 7))
    groups = np.tile(np.arange(4), len(cells)) if grouped else None
    plain = salience(data, rows, groups=groups, bootstrap=20)
    moved = salience(data + offset, rows, groups=groups, bootstrap=20)
    # Features keep 16 digits, of which the offset takes its size squared in no product.
    close = {"rtol": 0, "atol": 1e-12 * offset**1.5}
    np.testing.assert_allclose(list(moved.saliences.values()), list(plain.saliences.values()),
                               **close)  # fmt: skip
    np.testing.assert_allclose(moved.salience_interval, plain.salience_interval, **close)
    assert moved.structure == pytest.approx(plain.structure, abs=1e-12 * offset**1.5)
    assert moved.kappa[0] == pytest.approx(
        plain.kappa[0] + 7 * offset**2 + 2 * offset * np.sum(_tuple_mean(data, rows)), rel=1e-9
    )


def _tuple_mean(data, rows):
    tuples = np.unique(rows, axis=0)
    return np.mean([data[(rows == t).all(axis=1)].mean(axis=0) for t in tuples], axis=0)


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


def test_overlaps_that_no_pair_within_groups_has_are_told():
    # All combinations of two values in three; the first does not change within a group.
    rows = np.array([(run % 2, size) for run in range(4) for size in range(3)] * 2)
    runs = np.repeat([0, 1, 2, 3], 3).tolist() * 2
    found = salience(np.random.default_rng(0).normal(size=(24, 5)), rows, groups=np.array(runs))
    assert np.isnan(found.kappa[0])
    assert found.notes[:2] == (
        "no two conditions that share nothing are in the same two groups: how similar they are is "
        "unknown; groups in which values change would show it",
        "no two conditions that share component 1 and nothing else are in the same two groups: how "
        "similar they are is unknown; groups in which values change would show it",
    )


def test_overlaps_that_no_pair_has_are_told():
    rows = np.repeat([[0, 0], [0, 1]], 2, axis=0)
    found = salience(np.eye(4), rows)
    assert np.isnan(found.kappa[0])
    assert np.isnan(found.kappa[2])
    assert found.notes[:2] == (
        "no two conditions share nothing: how similar they would be is unknown",
        "no two conditions share component 1 and nothing else: how similar they would be is "
        "unknown",
    )
    names, values = ("shape", "size"), (("disc",), ("small", "large"))
    labelled = salience(Recording(np.eye(4), rows, names, values))
    assert labelled.notes[1].startswith("no two conditions share size and nothing else: how")
    with pytest.raises(InputError, match=r"a kernel needs the similarity of every overlap set; "):
        _ = found.kernel


def test_salience_of_a_representation_that_separates_nothing_is_nan():
    found = salience(np.ones((6, 2)), np.repeat([[0], [1], [2]], 2, axis=0))
    assert np.isnan(found.salience[0])
    assert np.isnan(found.structure)
    assert any("no more alike" in note for note in found.notes)


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
NOT_INTEGERS = "components is an array of whole numbers of shape (n, C){}; got {}"
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
        ("ab", "'ab'; pass one of these"),
    ],
    ids=["frame", "strings", "list", "uneven", "flat", "halves", "text"],
)
def test_components_that_are_not_integers_are_refused(components, got):
    if isinstance(components, pd.DataFrame):
        components = components.astype(object)
    with pytest.raises(InputError) as caught:
        salience(np.ones((18, 2)), components)
    # Text is no array of any shape, so that the alternative is named too.
    ending = " or None" if got.endswith("pass one of these") else ""
    assert str(caught.value) == NOT_INTEGERS.format(ending, got)


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
    for interval in (found.centred_interval, found.salience_interval):
        assert np.isnan(interval).all()
    assert np.isnan(list(found.saliences_interval.values())).all()
    assert found.kernels() == []
    assert "no condition has two trials to draw from: there are no intervals" in found.notes
    assert not any("add no spread" in note for note in found.notes)


@pytest.mark.parametrize("options", [{}, {"self_pairs": True}, {"bootstrap": 20}])
def test_notes_are_in_words_of_experiments(options):
    rng = np.random.default_rng(0)
    cells = np.array([[0, 0], [0, 1], [1, 1]])
    notes: list[str] = []
    for counts in ([2, 2, 2], [2, 1, 1], [5, 1, 2], [1, 1, 1]):
        rows = np.repeat(cells, counts, axis=0)
        if max(counts) > 1 or options.get("self_pairs"):
            notes += salience(rng.normal(size=(len(rows), 2)), rows, **options).notes
    assert len(notes) > 2
    assert not any(re.search("tuple|sample|NaN|replicate", note) for note in notes)
    assert "a condition with one trial is taken to have the noise of the others" in notes or (
        "self_pairs" in options
    )


def test_low_structure_is_told():
    # Values 0 and 1 of both components look alike, 2 is another: similarity is no overlap's.
    alike = np.eye(2)[ROWS // 2].reshape(18, 4)
    found = salience(alike, ROWS)
    assert 0.0 < found.structure < 0.5
    assert found.notes == (
        f"structure is {found.structure:.2f}: similarity depends on more than which components "
        "two conditions share; predictions from `kernel` can be far off",
    )
    assert salience(np.eye(3)[ROWS].reshape(18, 6), ROWS).notes == ()


@pytest.mark.parametrize(
    ("data", "components", "reason"),
    [
        (np.eye(6), [[0], [0], [1], [1], [2], [2]], "all pairs of conditions share the same"),
        (np.ones((18, 1)), ROWS, "the similarity of different conditions doesn't vary beyond"),
        (np.eye(4), [[0, 0], [0, 0], [0, 1], [1, 1]], "fewer than two conditions have two trials"),
    ],
    ids=["one overlap", "constant", "one repeat"],
)
def test_missing_structure_says_why(data, components, reason):
    found = salience(data, components)
    assert np.isnan(found.structure)
    assert any(note.startswith(f"structure was not measured: {reason}") for note in found.notes)


def by_pairs_of_groups(data, rows, groups):
    """Average half distances over pairs of tuples and of groups in which both tuples are."""
    n_components = rows.shape[1]
    tuples = np.unique(rows, axis=0)
    mean = {}
    for (t, tuple_), g in product(enumerate(tuples), np.unique(groups)):
        inside = (rows == tuple_).all(axis=1) & (groups == g)
        if inside.any():
            mean[t, g] = data[inside].mean(axis=0)
    halves, own = [[] for _ in range(1 << n_components)], []
    for g, h in combinations(np.unique(groups), 2):
        both = [t for t in range(len(tuples)) if (t, g) in mean and (t, h) in mean]
        if len(both) < 2:
            continue
        own += [mean[t, g] @ mean[t, h] for t in both]
        for t, u in combinations(both, 2):
            mask = mask_of(np.flatnonzero(tuples[t] == tuples[u]).tolist())
            halves[mask].append((mean[t, g] - mean[u, g]) @ (mean[t, h] - mean[u, h]) / 2)
    lead = np.mean(own)
    return np.array([lead - np.mean(h) if h else np.nan for h in halves[:-1]] + [lead])


@pytest.mark.parametrize("complete", [True, False])
def test_groups_give_distances_across_them_alone(complete):
    rng = np.random.default_rng(21)
    rows = np.repeat(list(product(range(3), range(2))), 8, axis=0)
    groups = np.tile(np.repeat(np.arange(4), 2), 6)
    keep = np.ones(48, dtype=bool) if complete else rng.random(48) < 0.6
    data = rng.normal(size=(48, 5)) + 2.0 * rng.normal(size=(6, 5))[rows @ [2, 1]]
    data, rows, groups = data[keep], rows[keep], groups[keep]
    measured = salience(data, rows, groups=groups)
    expected = by_pairs_of_groups(data, rows, groups)
    distances = expected[-1] - expected[:-1]
    np.testing.assert_allclose(measured.centred[-1] - measured.centred[:-1], distances, atol=1e-12)
    # What all samples of a group share changes no distance.
    shifted = data + rng.normal(size=(4, 5))[groups]
    moved = salience(shifted, rows, groups=groups)
    distances = (result.centred[-1] - result.centred[:-1] for result in (measured, moved))
    np.testing.assert_allclose(*distances, atol=1e-12)
    assert moved.structure == pytest.approx(measured.structure) or not complete


def test_offsets_of_runs_bias_saliences_unless_they_are_groups():
    # 400 recordings: the standard error of a mean is near .002; the bias without groups, in 50 of
    # them, .1 and more with one of .01.
    rng = np.random.default_rng(22)
    sigma = np.array([0.0, 0.3, 0.2, 0.3])
    truth = np.array([0.375, 0.25, 0.375])
    plain, across, covered = [], [], np.zeros(3)
    for seed in range(400):
        data, rows = planted(rng, sigma, (4, 4), (5, 5), 1.0)
        order = np.lexsort(rows.T)
        data, rows = data[order], rows[order]
        runs = np.tile(np.arange(5), 16)
        data = data + rng.normal(size=(5, data.shape[1]))[runs] / np.sqrt(data.shape[1])
        if seed < 50:
            plain.append(list(salience(data, rows).saliences.values()))
        result = salience(data, rows, groups=runs, bootstrap=100, seed=seed)
        across.append(list(result.saliences.values()))
        low, high = np.array(list(result.saliences_interval.values())).T
        covered += (low <= truth) & (truth <= high)
    error = np.std(across, axis=0) / 20
    assert np.all(np.abs(np.mean(across, axis=0) - truth) < 4 * error), np.mean(across, axis=0)
    assert abs(np.mean(plain, axis=0) - truth).max() > 0.05
    # 95 % is 380, below 364 with probability .001. Six runs drawn with replacement covered 363.
    assert np.all(covered >= 364), covered


@pytest.mark.parametrize("n_neurons", [10, 80])
@pytest.mark.parametrize("whiten", ["none", "diagonal"])
def test_intervals_of_both_kinds_are_those_of_single_calls(n_neurons, whiten):
    rng = np.random.default_rng(5)
    rows = np.repeat([[a, b] for a in range(3) for b in range(3)], 6, axis=0)
    clean = rng.normal(size=(3, n_neurons))[rows[:, 0]]
    clean += rng.normal(size=(9, n_neurons))[rows @ [3, 1]]
    recording = from_trials(clean + rng.normal(size=clean.shape), rows)
    results = saliences_over(recording, [None, "neurons"], whiten, 40, 3)
    for way, result in zip(("trials", "neurons"), results, strict=True):
        alone = salience(recording, whiten=whiten, resample=way, bootstrap=40, seed=3)
        assert (result.resampled, result.notes) == (way, alone.notes)
        for name in ("centred", "replicates", "noise", "structure", "level"):
            np.testing.assert_allclose(
                getattr(result, name), getattr(alone, name), rtol=1e-9, atol=1e-12
            )


def test_intervals_over_neurons_cover_the_population():
    # Binomial: 95 % of 150 is 142; below 131 with probability .001. Of so few neurons the quantiles
    # of those drawn with replacement cover 87 %.
    rng = np.random.default_rng(23)
    rows = np.repeat(list(product(range(4), range(4))), 4, axis=0)
    covered = {"trials": np.zeros(3), "neurons": np.zeros(3), "both": np.zeros(3)}
    truth = np.array([0.4, 0.4, 0.2])
    for seed in range(150):
        parts = [np.sqrt(share) * rng.normal(size=(size, 8))
                 for share, size in zip(truth, (4, 4, 16), strict=True)]  # fmt: skip
        clean = parts[0][rows[:, 0]] + parts[1][rows[:, 1]] + parts[2][4 * rows[:, 0] + rows[:, 1]]
        data = clean + rng.normal(size=clean.shape)
        recording = from_trials(data, rows)
        results = saliences_over(recording, list(covered), "none", 100, seed, noted=False)
        for result, count in zip(results, covered.values(), strict=True):
            low, high = np.array(list(result.saliences_interval.values())).T
            count += (low <= truth) & (truth <= high)
    assert np.all(covered["neurons"] > 130), covered
    assert np.all(covered["both"] > 130), covered
    assert covered["trials"].min() < 125, covered


def test_one_neuron_and_two_groups_have_no_interval():
    rng = np.random.default_rng(28)
    rows = np.repeat(list(product(range(3), range(3))), 4, axis=0)
    data = rng.normal(size=(9, 1))[3 * rows[:, 0] + rows[:, 1]] + 0.1 * rng.normal(size=(36, 1))
    single = salience(data, rows, resample="neurons", bootstrap=20)
    pair = salience(data, rows, groups=np.tile([0, 0, 1, 1], 9), bootstrap=20)
    for result, note in (
        (single, "a single neuron says nothing of others: there are no intervals over neurons"),
        (pair, "intervals rest on 2 groups: they are wide or missing"),
    ):
        assert note in result.notes
        assert not any("resamplings" in text for text in result.notes)
        assert np.isnan(list(result.saliences_interval.values())).all()


def test_few_trials_say_that_there_is_no_interval():
    rng = np.random.default_rng(24)
    rows = np.repeat(list(product(range(2), range(2))), 2, axis=0)
    for _ in range(20):
        result = salience(rng.normal(size=(8, 4)), rows, bootstrap=50)
        missing = np.isnan(list(result.saliences_interval.values())).any()
        assert missing == any("no interval" in note or "no saliences" in note
                                  for note in result.notes)  # fmt: skip


def test_neurons_of_several_sessions_add_up():
    rng = np.random.default_rng(25)
    rows = np.repeat(list(product(range(3), range(3))), 4, axis=0)
    first, second = rng.normal(size=(36, 5)), rng.normal(size=(36, 3))
    responses = np.full((72, 8), np.nan)
    responses[:36, :5], responses[36:, 5:] = first, second
    recording = Recording(
        responses, np.tile(rows, (2, 1)), ("a", "b"), ((0, 1, 2),) * 2,
        sessions=np.repeat([0, 1], 36),
    )  # fmt: skip
    both = salience(recording, bootstrap=30)
    sums = salience(first, rows).kappa + salience(second, rows).kappa
    np.testing.assert_allclose(both.kappa, sums, atol=1e-12)
    together = salience(np.hstack([first, second]), rows)
    np.testing.assert_allclose(both.kappa, together.kappa, atol=1e-12)
    assert both.noise == pytest.approx(together.noise)
    assert len(both.replicates) == 30
    assert np.isfinite(salience(recording, resample="neurons", bootstrap=30).replicates).all()


def test_whitened_features_are_those_of_the_shrunk_covariance():
    rng = np.random.default_rng(26)
    rows = np.repeat(list(product(range(3), range(3))), 20, axis=0)
    mixing = rng.normal(size=(6, 6))
    parts = rng.normal(size=(2, 3, 6))
    clean = parts[0][rows[:, 0]] + parts[1][rows[:, 1]]
    data = clean + rng.normal(size=clean.shape) @ mixing
    residuals = data - np.repeat(data.reshape(9, 20, 6).mean(axis=1), 20, axis=0)
    shrunk = LedoitWolf(assume_centered=True).fit(residuals).covariance_ * 180 / 171
    values, vectors = np.linalg.eigh(shrunk)
    expected = salience(data @ (vectors / np.sqrt(values)), rows)
    whitened = salience(data, rows, whiten="full")
    np.testing.assert_allclose(whitened.kappa, expected.kappa, rtol=1e-8)
    assert whitened.noise == pytest.approx(expected.noise, rel=1e-8)
    data = clean + np.random.default_rng(27).normal(size=clean.shape) @ mixing
    spread = np.sqrt((mixing**2).sum(axis=0))
    diagonal = salience(data, rows, whiten="diagonal")
    expected = salience(clean / spread, rows, self_pairs=True)
    # Of 180 trials, as measured over seeds: .04.
    np.testing.assert_allclose(diagonal.salience, expected.salience, atol=0.12)
    assert diagonal.noise == pytest.approx(6.0, rel=1e-9)


@pytest.mark.parametrize("groups", [None, np.tile(np.arange(5), 9 * 4)])
def test_neurons_without_noise_have_no_part_in_whitened_saliences(groups):
    rng = np.random.default_rng(28)
    rows = np.repeat(list(product(range(3), range(3))), 20, axis=0)
    data = rng.normal(size=(3, 6))[rows[:, 0]] + rng.normal(size=(180, 6))
    expected = salience(data, rows, groups=groups, whiten="diagonal")
    # Stuck at a number that is no sum of powers of two, and the same in all trials of a tuple.
    without = np.column_stack([np.full(180, 1e6 / 3), 1e5 / 3 + 0.1 * rows.sum(axis=1)])
    whitened = salience(np.hstack([data, without]), rows, groups=groups, whiten="diagonal")
    np.testing.assert_allclose(whitened.salience, expected.salience, rtol=1e-9, atol=1e-12)
    # A large offset is no reason to drop a neuron.
    whitened = salience(data + 1e7, rows, groups=groups, whiten="diagonal")
    np.testing.assert_allclose(whitened.salience, expected.salience, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"groups": np.arange(18) % 2, "self_pairs": True}, "no product across groups; got"),
        ({"resample": "groups"}, "groups are resampled where there are some; got none; pass"),
        ({"groups": np.arange(18) % 2, "resample": "trials"}, "not resampled alone; got resample"),
        ({"groups": np.arange(18) // 2}, "need two tuples that are in the same two groups; got"),
        ({"components": None}, "components say which tuple each sample shows; got none; pass"),
    ],
)  # fmt: skip
def test_groups_and_resampling_that_exclude_one_another(options, sentence):
    arguments = {"features": np.random.default_rng(0).normal(size=(18, 3)), "components": ROWS}
    with pytest.raises(InputError, match=sentence):
        salience(**(arguments | options))


def test_kernels_of_replicates_give_intervals_of_predictions():
    rng = np.random.default_rng(11)
    data, rows = planted(rng, np.array([0.1, 0.35, 0.25, 0.3]), (5, 5), (4, 6), 0.3)
    found = salience(data, rows, bootstrap=40, seed=1)
    kernels = found.kernels()
    assert len(kernels) == 40
    for kernel, kappa in zip(kernels, found.replicates, strict=True):
        np.testing.assert_allclose(kernel.kappa, kappa + found.level, atol=1e-12)
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


def test_many_rows_need_no_matrix_of_pairs():
    # 20,000 samples of 9,000 tuples: a tuples x tuples matrix alone would take 0.6 GB.
    rng = np.random.default_rng(9)
    rows = rng.integers(0, 22, (20_000, 3))
    data = rng.normal(size=(20_000, 10))
    tracemalloc.start()
    found = salience(data, rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.n_tuples > 8_500
    assert peak < 2e8
