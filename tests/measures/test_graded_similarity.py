"""Graded similarity against enumerated products, fits of distances and codes that are known."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from noisy_recordings import grid, pair_means, population, record, recording_of
from scipy.spatial.distance import cdist
from scipy.stats import binom

from partwhole._checks import InputError
from partwhole.measures import salience
from partwhole.measures._graded import NestedShares, value_contrasts
from partwhole.measures.graded_similarity import graded_similarity
from partwhole.recordings import Recording

PAIRS = np.array(list(combinations(range(6), 2)))


def code(kind, n_values, n_contexts=2):
    """Return conditions and means whose distances by the first component are known.

    All but "random" are orthonormal codes mixed by a root of the kernel of the values.
    """
    steps = np.abs(np.subtract.outer(np.arange(n_values), np.arange(n_values)))
    line = np.arange(n_values) - 0.5 * (n_values - 1)
    kernel = {
        "flat": np.eye(n_values),
        "ordered": np.exp(-0.5 * steps),
        "line": np.outer(line, line) / n_values,
        "circular": np.exp(-1.0 * np.minimum(steps, n_values - steps)),
    }[kind]
    sizes, directions = np.linalg.eigh(kernel)
    # Symmetric: eigenvectors of equal eigenvalues differ from processor to processor.
    root = directions * np.sqrt(np.maximum(sizes, 0.0)) @ directions.T
    rows = grid(n_values, n_contexts)
    means = np.hstack([
        2.0 * root[rows[:, 0]], np.eye(n_contexts)[rows[:, 1]], np.eye(len(rows))
    ])  # fmt: skip
    return rows, means


@pytest.mark.parametrize("offset", [None, 1.0])
def test_distances_are_means_over_products_of_different_trials(offset):
    rng = np.random.default_rng(0)
    rows = grid(3, 2, 2)[:-1]
    counts = 3 if offset else rng.integers(2, 5, len(rows))
    recording = record(rng, rows, rng.normal(size=(len(rows), 4)), counts, offset=offset)
    graded = graded_similarity(recording, "a")
    place = {tuple(row): c for c, row in enumerate(recording.conditions.tolist())}
    for v, w in combinations(range(3), 2):
        distances = []
        for context in [(0, 0), (0, 1), (1, 0), (1, 1)]:
            if (v, *context) in place and (w, *context) in place:
                c, d = place[(v, *context)], place[(w, *context)]
                terms = [pair_means(recording, *pair) for pair in ((c, c), (d, d), (c, d))]
                distances.append(terms[0] + terms[1] - 2 * terms[2])
        assert graded.distances[v, w] == pytest.approx(np.mean(distances), rel=1e-9)
        assert graded.distances[w, v] == graded.distances[v, w]
    assert np.diagonal(graded.distances).tolist() == [0.0] * 3


def test_without_noise_distances_and_similarities_are_those_of_means():
    rng = np.random.default_rng(1)
    rows, means = population(rng, (5, 3), neurons=9)
    recording = record(rng, rows, 7.0 + means, 2, noise=0.0)
    by_value = means.reshape(5, 3, -1)
    graded = graded_similarity(recording, 0)
    expected = np.mean((by_value[:, None] - by_value[None]) ** 2, axis=2).sum(axis=-1)
    np.testing.assert_allclose(graded.distances, expected, rtol=1e-9, atol=1e-12)
    averaged = graded_similarity(recording, 0, others="averaged")
    centred = by_value.mean(axis=1) - means.mean(axis=0)
    np.testing.assert_allclose(averaged.similarity, centred @ centred.T, atol=1e-10)


@pytest.mark.parametrize("n_values", [4, 6])
def test_shares_are_those_of_fits_of_distances(n_values):
    rng = np.random.default_rng(2)
    rows = grid(n_values, 2)
    recording = record(rng, rows, rng.normal(size=(len(rows), 9)), 2, noise=0.0)
    graded = graded_similarity(recording, "a")
    table = graded.to_frame()
    y = table.distance.to_numpy()
    for name, count in (
        ("ordered", table.steps.to_numpy()),
        ("circular", table.around.to_numpy()),
    ):
        columns = np.equal.outer(count, np.unique(count)).astype(float)
        residual = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
        share = 1 - np.sum(residual**2) / np.sum((y - y.mean()) ** 2)
        assert getattr(graded, name) == pytest.approx(share, rel=1e-9)
        assert graded.intervals[name] == pytest.approx((share, share), abs=1e-9)
        every = [relabelled(graded.distances, np.array(order)) for order in
                 permutations(range(n_values))]  # fmt: skip
        as_much = np.mean([explained(d, name) >= explained(graded.distances, name) - 1e-12
                           for d in every])  # fmt: skip
        assert getattr(graded, f"p_{name}") == pytest.approx(as_much)
    assert graded.variation == pytest.approx(y.std() / y.mean(), rel=1e-9)
    means = [y[table.steps == k].mean() for k in range(1, n_values)]
    np.testing.assert_allclose(graded.by_steps, means, rtol=1e-12)


def relabelled(distances, order):
    return distances[np.ix_(order, order)]


def explained(distances, name):
    n = len(distances)
    i, j = np.triu_indices(n, 1)
    y, count = distances[i, j], j - i
    count = np.minimum(count, n - count) if name == "circular" else count
    classes = [y[count == k] for k in np.unique(count)]
    return sum(len(c) * (c.mean() - y.mean()) ** 2 for c in classes) / np.sum((y - y.mean()) ** 2)


@pytest.mark.parametrize("kind", ["ordered", "circular", "line"])
@pytest.mark.parametrize("offset", [None, 1.0])
def test_kinds_of_codes(kind, offset):
    """Shares are means over 12 recordings: their standard errors are at most .05."""
    rng = np.random.default_rng(3)
    all_graded = [
        graded_similarity(record(rng, *code(kind, 6), 20, 0.5, offset), "a") for _ in range(12)
    ]
    kinds = [graded.kind for graded in all_graded]
    assert kinds.count("ordered" if kind == "line" else kind) >= 11
    graded = all_graded[0]
    assert graded.rises
    # The codes are functions of steps.
    assert np.mean([graded.ordered for graded in all_graded]) == pytest.approx(1.0, abs=0.14)
    in_one_context = code(kind, 6)[1][::2]
    true = explained(cdist(in_one_context, in_one_context, "sqeuclidean"), "circular")
    clean = graded_similarity(record(rng, *code(kind, 6), 2, 0.0), "a")
    assert clean.circular == pytest.approx(true, abs=1e-9)
    assert np.mean([graded.circular for graded in all_graded]) == pytest.approx(true, abs=0.14)
    # Its standard deviation is up to 16 % of it, that of means 5 %.
    variation = np.mean([graded.variation for graded in all_graded])
    assert variation == pytest.approx(clean.variation, rel=0.13)
    # `structure` only says that it is no overlap kernel.
    recording = record(rng, *code(kind, 6), 20, 0.5)
    flat = record(rng, *code("flat", 6), 20, 0.5)
    assert (
        salience(recording.responses, recording.components).structure
        < salience(flat.responses, flat.components).structure
    )


def test_an_irregular_code_is_in_no_order():
    rng = np.random.default_rng(4)
    rows, means = population(rng, (8, 2), (0.6, 0.2, 0.2), neurons=10)
    graded = graded_similarity(record(rng, rows, means, 50, 0.3), "a")
    assert graded.kind == "irregular"
    assert graded.p_flat < 1e-6
    assert graded.p_ordered > 0.05


@pytest.mark.parametrize(("counts", "noise", "offset"), [(10, 1.0, None), (2, 1.5, None),
                                                         (6, 1.0, 1.0)])  # fmt: skip
def test_flat_codes_are_rejected_at_most_as_often_as_stated(counts, noise, offset):
    rng = np.random.default_rng(5)
    n = 120
    kinds = [
        graded_similarity(record(rng, *code("flat", 6), counts, noise, offset), "a")
        for _ in range(n)
    ]
    rejected = sum(graded.kind != "flat" for graded in kinds)
    assert rejected <= binom.ppf(1 - 1e-4, n, 0.05)
    flat = next(graded for graded in kinds if graded.kind == "flat")
    assert np.isnan([flat.ordered, flat.circular, flat.p_ordered, *flat.intervals["ordered"]]).all()
    assert "do not differ beyond noise: they have no shares" in flat.notes[-1]


@pytest.mark.parametrize("n_runs", [3, 6])
def test_without_effects_values_of_few_groups_are_rejected_at_most_as_often_as_stated(n_runs):
    rng = np.random.default_rng(12)
    n, rows = 60, grid(3, 3)
    kinds = [
        graded_similarity(record(rng, rows, np.zeros((9, 20)), n_runs, 1.0, 2.0), "a").kind
        for _ in range(n)
    ]
    assert n - kinds.count("flat") <= binom.ppf(0.99, n, 0.05)


def test_exactly_equal_trials_leave_no_doubt():
    rows, means = code("ordered", 4)
    rng = np.random.default_rng(13)
    assert graded_similarity(record(rng, rows, means, 2, 0.0), "a").p_flat == 0.0
    assert graded_similarity(record(rng, rows, means, 3, 0.0, 1.0), "a").p_flat < 1e-12


def test_names_of_labels_do_not_decide_whether_values_differ():
    rng = np.random.default_rng(14)
    # Values lie on a weak line: the trend alone shows it.
    rows, means = code("line", 6)
    recordings = [record(rng, rows, 0.5 * means, 6, 1.0) for _ in range(12)]
    as_numbers = [graded_similarity(recording, "a") for recording in recordings]
    decided = [g.p_trend < 0.025 and g.p_flat >= 0.05 for g in as_numbers]
    assert any(decided)
    order = ("a", "b", "c", "d", "e", "f")
    renamed = ("c", "f", "a", "e", "b", "d")
    for recording, number, by_trend in zip(recordings, as_numbers, decided, strict=True):
        first, second = (
            graded_similarity(named(recording, labels), "a") for labels in (order, renamed)
        )
        assert np.isnan([first.p_trend, second.p_trend]).all()
        assert first.p_flat == pytest.approx(second.p_flat) == pytest.approx(number.p_flat)
        assert (first.kind == "flat") == (second.kind == "flat") == (first.p_flat >= 0.05)
        # An order that is given is that of the values, as that of numbers is.
        given = graded_similarity(named(recording, renamed), "a", order=renamed)
        assert given.p_trend == pytest.approx(number.p_trend)
        assert given.kind == number.kind
        assert not by_trend or given.kind != "flat" == first.kind


def named(recording, labels):
    """Return the recording with text for numbers, listed by the alphabet as tables list it."""
    listed = tuple(sorted(labels))
    components = recording.components.copy()
    components[:, 0] = np.array([listed.index(label) for label in labels])[components[:, 0]]
    values = (listed, *recording.values[1:])
    return Recording(
        recording.responses, components, recording.names, values, groups=recording.groups
    )


@pytest.mark.parametrize(("counts", "offset"), [(2, None), (6, None), (6, 1.0)])
def test_the_covariance_of_distances_is_that_over_recordings(counts, offset):
    # Two groups leave one degree of freedom, and no estimate of noise alone.
    rng = np.random.default_rng(6)
    from partwhole.measures import graded_similarity as module
    from partwhole.measures._means import condition_means

    rows, means = code("ordered", 4)
    drawn, stated = [], []
    for _ in range(300):
        recording = record(rng, rows, means, counts, 1.0, offset)
        of = condition_means(recording)
        contrasts, pair = value_contrasts(of.conditions, 0, [0, 1, 2, 3], "equal")
        y, cautious, excess = module._distances(of, contrasts, pair)
        covariance = cautious - excess
        drawn.append(of.scale**2 * y)
        stated.append(of.scale**4 * covariance)
    actual, mean = np.cov(np.array(drawn).T), np.mean(stated, axis=0)
    # A variance of 300 draws has a relative error of 8 %, their sum over 6 pairs less.
    assert np.trace(mean) == pytest.approx(np.trace(actual), rel=0.15)
    centring = np.eye(6) - 1 / 6
    assert np.trace(centring @ mean) == pytest.approx(np.trace(centring @ actual), rel=0.15)


def test_intervals_cover_the_share():
    rng = np.random.default_rng(7)
    n = 100
    clean = graded_similarity(record(rng, *code("ordered", 5), 2, 0.0), "a")
    covered = np.zeros(2)
    for _ in range(n):
        graded = graded_similarity(record(rng, *code("ordered", 5), 50, 0.5), "a")
        assert graded.notes == ()
        for i, name in enumerate(("ordered", "circular")):
            low, high = graded.intervals[name]
            covered[i] += low <= getattr(clean, name) <= high
    # Of intervals that cover in 93 %, fewer are seen once in 10,000 runs.
    assert covered.min() >= binom.ppf(1e-4, n, 0.93)


def test_imprecise_shares_are_noted():
    rng = np.random.default_rng(7)
    graded = graded_similarity(record(rng, *code("ordered", 5), 20, 1.0), "a")
    assert graded.kind != "flat"
    assert "times its standard error: shares are imprecise" in graded.notes[0]


def test_constants_and_orders():
    rng = np.random.default_rng(8)
    recording = record(rng, *code("circular", 6), 10, 0.3)
    graded = graded_similarity(recording, "a")
    far = recording_of(recording.responses + 100.0, recording.components)
    np.testing.assert_allclose(graded_similarity(far, "a").distances, graded.distances, atol=1e-9)
    order = [3, 1, 0, 2, 5, 4]
    turned = graded_similarity(recording, 0, order=order)
    np.testing.assert_array_equal(turned.distances, relabelled(graded.distances, order))
    assert turned.values == tuple(order)
    assert turned.kind != "circular"
    assert graded.circular == pytest.approx(
        graded_similarity(recording, 0, order=[2, 3, 4, 5, 0, 1]).circular, rel=1e-9
    )
    some = graded_similarity(recording, 0, order=[0, 2, 4])
    np.testing.assert_allclose(some.distances, relabelled(graded.distances, [0, 2, 4]))


def test_pairs_without_conditions_are_missing():
    rng = np.random.default_rng(9)
    rows = np.array([[0, 0], [1, 0], [2, 0], [2, 1], [3, 1]])
    recording = record(rng, rows, rng.normal(size=(5, 6)), 5, 0.3)
    graded = graded_similarity(recording, "a")
    assert np.isnan(graded.distances[[0, 1], 3]).all()
    assert np.isfinite(graded.distances[[0, 0, 1, 2], [1, 2, 2, 3]]).all()
    assert graded.notes[0] == (
        "2 of 6 pairs of values have no two conditions that differ in them alone"
    )
    assert graded.to_frame().distance.isna().sum() == 2
    assert np.isfinite(graded.by_steps[:2]).all()
    assert np.isnan(graded.by_steps[2])


def test_many_values_have_orders_drawn():
    rng = np.random.default_rng(10)
    nested = NestedShares(
        rng.random(28), np.zeros((28, 28)), np.zeros((28, 28)),
        np.array(list(combinations(range(8), 2))), 8, 10,
    )  # fmt: skip
    first, second = nested.orders(0), nested.orders(0)
    assert first == second
    assert 0 < first["ordered"] <= 1


def test_errors_say_rule_got_remedy():
    rng = np.random.default_rng(11)
    rows, means = population(rng, (3, 2), neurons=4)
    good = record(rng, rows, means, 3)
    cases = [
        (("c",), {}, "a component is named, or counted from 0; got 'c'; choose from a, b"),
        ((2,), {}, "a component is named, or counted from 0; got 2; choose from a, b"),
        (
            ("b",), {},
            "differences between distances are of 3 to 64 values; got 2; choose a component with "
            "more",
        ),
        (
            ("a",), {"order": [0, 1, 7]},
            "order lists values of 'a', once each; got 7; choose from 0, 1, 2",
        ),
        (
            ("a",), {"order": [0, 1, 1]},
            "order lists values of 'a', once each; got some of them twice; choose from 0, 1, 2",
        ),
    ]  # fmt: skip
    for arguments, options, sentence in cases:
        with pytest.raises(InputError) as caught:
            graded_similarity(good, *arguments, **options)
        assert str(caught.value) == sentence
    parts = good.select(good.condition_of_trial != 5)
    with pytest.raises(InputError) as caught:
        graded_similarity(parts, "a", others="averaged")
    assert str(caught.value) == (
        "means over other components need all combinations of these with the values; got 1 of 6 "
        'that are not repeated; pass others="equal", or leave out values that lack some'
    )
    diagonal = np.array([[0, 0], [1, 1], [2, 2]])
    with pytest.raises(InputError) as caught:
        graded_similarity(record(rng, diagonal, means[:3], 3), "a")
    assert str(caught.value) == (
        "distances of values need conditions that differ in this component alone; got none that "
        "are repeated; add conditions with equal values of the others"
    )
    labelled = Recording(good.responses, good.components, ("a", "b"), (("x", "y", "z"), (0, 1)))
    assert graded_similarity(labelled, "a").values == ("x", "y", "z")
