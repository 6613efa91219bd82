"""Dimensions of noise-free means against enumerated products, array measures and known truth."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from noisy_recordings import grid, population, record, recording_of, same_recordings, similarities
from scipy.stats import binom

from partwhole._checks import InputError
from partwhole.measures._means import condition_means, joined_groups
from partwhole.measures._squares import moments
from partwhole.measures.dimensions import participation_ratio, shared_dimensions
from partwhole.measures.recorded_dimensions import recorded_dimensions
from partwhole.measures.shared_recordings import shared_recordings
from partwhole.recordings import Recording, from_trials

VALUE = {"rel": 1e-9}


def enumerated(recording, center):
    """Return tr K, its square and tr K² from all products of four different trials or groups."""
    x, index, n = recording.responses, recording.condition_of_trial, recording.n_conditions
    labels = np.arange(len(x)) if recording.groups is None else recording.groups
    trials = [np.flatnonzero(index == c) for c in range(n)]
    gram, hat = x @ x.T, np.eye(n) - (1 / n if center else 0)

    def mean(*conditions):
        values = [
            gram[i, j] * gram[k, m]
            for i, j, k, m in product(*(trials[c] for c in conditions))
            if len({labels[i], labels[j], labels[k], labels[m]}) == 4
        ]
        return np.mean(values)

    trace_squared = square = 0.0
    for c, d, e, f in product(range(n), repeat=4):
        fourfold = mean(c, d, e, f)
        trace_squared += hat[c, d] * hat[e, f] * fourfold
        square += hat[f, c] * hat[d, e] * fourfold
    return np.sum(hat * similarities(recording)), trace_squared, square


def ratio(means):
    centred = means - means.mean(axis=0)
    kernel = centred @ centred.T
    return np.trace(kernel) ** 2 / np.sum(kernel**2)


def small(groups, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    rows = np.array([[0, 0], [0, 1], [1, 1]])
    means = 2.0 + rng.normal(size=(3, 4))
    counts, offset = (5, 1.0) if groups else ([4, 5, 4], None)
    return record(rng, rows, means, counts, noise, offset)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("groups", [False, True])
def test_moments_are_means_over_four_different_trials(groups, center):
    recording = small(groups)
    means = condition_means(recording, center=center)
    trace, trace_squared, square, note = moments(means)
    unit = means.scale**2
    # Sums of 1e3 products, which cancel little.
    assert (unit * trace, unit**2 * trace_squared, unit**2 * square) == pytest.approx(
        enumerated(recording, center), rel=1e-9
    )
    assert note == ""
    if center:
        dimensions = recorded_dimensions(recording)
        assert dimensions.value == pytest.approx(trace_squared / square, **VALUE)
        assert participation_ratio(recording) == dimensions.value


@pytest.mark.parametrize("offset", [None, 0.0])
@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_without_noise_all_are_those_of_arrays(count, offset):
    rng = np.random.default_rng(count)
    rows, means = population(rng, (3, 3), neurons=7)
    clean = record(rng, rows, means, count, noise=0.0, offset=offset)
    for center in (True, False):
        dimensions = recorded_dimensions(clean, center=center)
        exact = participation_ratio(means, center=center)
        assert (dimensions.value, dimensions.uncorrected) == pytest.approx((exact, exact), **VALUE)
        assert dimensions.interval == pytest.approx((exact, exact), rel=1e-6)
    other_rows, other_means = population(rng, (3, 3), neurons=7)
    second = record(rng, other_rows, other_means, count, noise=0.0, offset=offset)
    for space in ("features", "samples"):
        shared = shared_recordings(clean, second, space=space)
        arrays = shared_dimensions(means, other_means, space=space, center=True)
        assert shared.value == pytest.approx(arrays.value, **VALUE)
        assert shared.participation == pytest.approx(arrays.participation, **VALUE)
        assert shared.overlap == pytest.approx(arrays.overlap, **VALUE)
        assert shared.bound == pytest.approx(arrays.bound, **VALUE)
        assert shared.alignment == pytest.approx(arrays.value / arrays.bound, **VALUE)
        assert shared.uncorrected == pytest.approx(shared.alignment, **VALUE)
        assert shared.reliability == pytest.approx((1.0, 1.0), **VALUE)
        assert shared.ceiling == pytest.approx(1.0, **VALUE)


@pytest.mark.parametrize("offset", [None, 1.0])
def test_invariances(offset):
    rng = np.random.default_rng(1)
    rows, means = population(rng, (3, 3), neurons=5)
    recording = record(rng, rows, means, 5, offset=offset)
    x = recording.responses
    before = x.copy()
    value = recorded_dimensions(recording)
    for changed in same_recordings(rng, recording):
        dimensions = recorded_dimensions(changed)
        # 1e3 leaves 1e-13 of a response; its square counts against squares of size 1.
        assert dimensions.value == pytest.approx(value.value, rel=1e-8)
        assert dimensions.interval == pytest.approx(value.interval, rel=1e-8)
        assert dimensions.uncorrected == pytest.approx(value.uncorrected, rel=1e-8)
    np.testing.assert_array_equal(recording.responses, before)


@pytest.mark.parametrize("counts", [2, 3, [2, 3, 5, 2, 4, 3]])
def test_few_trials_of_like_noise_have_little_bias(counts):
    rng = np.random.default_rng(2)
    rows, means = population(rng, (2, 3), neurons=8)
    spread = np.linspace(0.5, 1.5, 8)
    centred = means - means.mean(axis=0)
    kernel = centred @ centred.T
    true = np.array([np.trace(kernel), np.trace(kernel) ** 2, np.sum(kernel**2)])
    estimates = []
    for _ in range(400):
        recording = record(rng, rows, means, counts, noise=spread)
        means_of = condition_means(recording)
        of = moments(means_of)
        unit = means_of.scale**2
        estimates.append([unit * of.trace, unit**2 * of.trace_squared, unit**2 * of.square])
        assert "conditions have fewer than 4 trials" in of.note
    errors = np.std(estimates, axis=0) / np.sqrt(len(estimates))
    # Four standard errors: three numbers in three settings are beyond them once in 1,500 runs.
    np.testing.assert_array_less(np.abs(np.mean(estimates, axis=0) - true), 4.0 * errors)


def test_offsets_of_runs_count_in_products_across_runs_alone():
    rng = np.random.default_rng(3)
    rows, means = population(rng, (3, 3), neurons=40)
    across, within = [], []
    for _ in range(80):
        recording = record(rng, rows, means, 6, noise=0.7, offset=0.0)
        # Offsets of some conditions, which are left when the mean over conditions is taken away.
        offsets = np.where(recording.components[:, :1] == 0, rng.normal(size=(6, 40))[
            recording.groups], 0.0)  # fmt: skip
        responses = recording.responses + offsets
        across.append(participation_ratio(
            recording_of(responses, recording.components, recording.groups)))  # fmt: skip
        within.append(participation_ratio(recording_of(responses, recording.components)))
    # The ratio's bias is about the squared relative error of its parts, below 1 %.
    error = np.std(across) / np.sqrt(len(across))
    assert abs(np.mean(across) - ratio(means)) < 4.0 * error + 0.01 * ratio(means)
    assert abs(np.mean(within) - ratio(means)) > 0.05 * ratio(means)


@pytest.mark.parametrize("count", [2, 3])
def test_few_runs_are_near_and_noted(count):
    rng = np.random.default_rng(3)
    rows, means = population(rng, (3, 3), neurons=40)
    recordings = [record(rng, rows, means, count, noise=0.7, offset=1.0) for _ in range(60)]
    values = [recorded_dimensions(recording) for recording in recordings]
    assert np.mean([dimensions.value for dimensions in values]) == pytest.approx(
        ratio(means), rel=0.05
    )
    assert f"from 4 groups or more that have all conditions; of {count}," in values[0].notes[0]


@pytest.mark.parametrize(
    ("counts", "noise", "offset"), [(10, 1.0, None), (2, 1.0, None), (6, 1.0, 1.0)]
)
def test_intervals_over_trials_cover_the_truth(counts, noise, offset):
    rng = np.random.default_rng(4)
    n = 200
    covered = 0
    for _ in range(n):
        rows, means = population(rng)
        dimensions = recorded_dimensions(record(rng, rows, means, counts, noise, offset))
        covered += dimensions.interval[0] <= ratio(means) <= dimensions.interval[1]
    # Of intervals that cover in 95 % or more, fewer are seen once in 10,000 runs.
    assert covered >= binom.ppf(1e-4, n, 0.95)


def test_intervals_over_neurons_cover_the_mean_over_populations():
    rng = np.random.default_rng(5)
    true = np.mean([ratio(population(rng)[1]) for _ in range(1000)])
    n = 120
    covered = {"trials": 0, "neurons": 0}
    for _ in range(n):
        recording = record(rng, *population(rng), 8)
        for over in covered:
            low, high = recorded_dimensions(recording, over=over).interval
            covered[over] += low <= true <= high
    assert covered["neurons"] >= binom.ppf(1e-4, n, 0.95)
    assert covered["trials"] < 0.9 * n


def product_of_moments(first, second, space):
    """Return tr(AB) from products of two different trials of either recording."""
    n = first.n_conditions
    hat = np.eye(n) - 1 / n
    if space == "samples":
        a, b = (hat @ similarities(recording) @ hat for recording in (first, second))
        return np.sum(a * b)
    moments_of = []
    for recording in (first, second):
        x, index = recording.responses, recording.condition_of_trial
        moment = np.zeros((x.shape[1],) * 2)
        for c, d in product(range(n), repeat=2):
            pairs = [
                np.outer(x[i], x[j])
                for i in np.flatnonzero(index == c)
                for j in np.flatnonzero(index == d)
                if i != j and (recording.groups is None
                               or recording.groups[i] != recording.groups[j])
            ]  # fmt: skip
            moment += hat[c, d] * np.mean(pairs, axis=0)
        moments_of.append(0.5 * (moment + moment.T))
    return np.sum(moments_of[0] * moments_of[1])


@pytest.mark.parametrize("space", ["features", "samples"])
@pytest.mark.parametrize("groups", [False, True])
def test_shared_dimensions_are_ratios_of_enumerated_products(space, groups):
    pair = [small(groups, seed, noise=0.3) for seed in (0, 1)]
    _, _, square_a = enumerated(pair[0], True)
    _, _, square_b = enumerated(pair[1], True)
    traces = [np.sum((np.eye(3) - 1 / 3) * similarities(recording)) for recording in pair]
    overlap = product_of_moments(*pair, space)
    shared = shared_recordings(*pair, space=space)
    expected = overlap * traces[0] * traces[1] / (square_a * square_b)
    assert shared.value == pytest.approx(expected, rel=1e-8)
    assert shared.alignment == pytest.approx(overlap / np.sqrt(square_a * square_b), rel=1e-8)
    assert shared_dimensions(*pair, space=space).alignment == shared.alignment


@pytest.mark.parametrize("space", ["features", "samples"])
def test_two_sessions_of_a_population_are_alike_and_two_populations_are_not(space):
    rng = np.random.default_rng(6)
    n = 60
    same, different, plain, covered = [], [], [], 0
    for _ in range(n):
        rows, means = population(rng)
        stranger = population(rng)[1]
        first, second = (record(rng, rows, means, 10, 1.4) for _ in range(2))
        third = record(rng, rows, stranger, 10, 1.4)
        shared = shared_recordings(first, second, space=space)
        same.append((shared.alignment, shared.value / ratio(means)))
        plain.append(shared.uncorrected)
        arrays = shared_dimensions(means, stranger, space=space, center=True)
        apart = shared_recordings(first, third, space=space)
        different.append(apart.alignment - arrays.value / arrays.bound)
        low, high = apart.alignment_interval
        covered += low <= arrays.value / arrays.bound <= high
    error = np.std(same, axis=0) / np.sqrt(n)
    # Both are ratios, with a bias of about the squared relative error of squares, here .03².
    np.testing.assert_array_less(np.abs(np.mean(same, axis=0) - 1.0), 4.0 * error + 0.005)
    assert abs(np.mean(different)) < 4.0 * np.std(different) / np.sqrt(n) + 0.005
    assert np.mean(plain) < (0.85 if space == "features" else 0.98)
    assert covered >= binom.ppf(1e-4, n, 0.95)


def test_conditions_are_matched_by_their_labels():
    rng = np.random.default_rng(7)
    rows, means = population(rng, (3, 4), neurons=12)
    first, second = (record(rng, rows, means, 4) for _ in range(2))
    plain = shared_recordings(first, second)
    order = np.array([2, 0, 1])
    # The same labels with other numbers, trials in another order, and a condition of its own.
    components = np.column_stack([np.argsort(order)[second.components[:, 0]],
                                  second.components[:, 1]])  # fmt: skip
    components = np.vstack([components, [[3, 0], [3, 0]]])
    responses = np.vstack([second.responses, rng.normal(size=(2, 12))])
    shuffled = rng.permutation(len(responses))
    values = ((*order.tolist(), "new"), tuple(range(4)))
    renamed = Recording(responses[shuffled], components[shuffled], ("a", "b"), values)
    matched = shared_recordings(first, renamed)
    assert matched.alignment == pytest.approx(plain.alignment, **VALUE)
    assert matched.value == pytest.approx(plain.value, **VALUE)
    assert matched.interval == pytest.approx(plain.interval, **VALUE)
    assert matched.n_conditions == 12
    assert matched.notes == ("b: 1 condition left out, not repeated in both recordings",)
    table = matched.to_frame()
    assert table.measure.tolist() == ["shared dimensions", "alignment"]
    assert table.value.tolist() == [matched.value, matched.alignment]


def test_conditions_with_one_trial_are_left_out():
    rng = np.random.default_rng(8)
    rows, means = population(rng, (3, 3), neurons=9)
    recording = record(rng, rows, means, [5, 5, 1, 5, 5, 5, 1, 5, 5])
    counts = np.bincount(recording.condition_of_trial)
    repeated = recording.select(counts[recording.condition_of_trial] > 1)
    dimensions = recorded_dimensions(recording)
    assert dimensions.value == recorded_dimensions(repeated).value
    assert dimensions.n_conditions == 7
    assert dimensions.notes == ("2 conditions with one trial left out",)
    table = dimensions.to_frame()
    assert table.loc[0, ["value", "low", "high"]].tolist() == [
        dimensions.value, *dimensions.interval
    ]  # fmt: skip


def test_neurons_of_several_sessions_are_joined_in_pseudo_trials():
    rng = np.random.default_rng(9)
    rows, means = population(rng, (3, 3), neurons=10)
    index = np.repeat(np.arange(9), 8)
    responses = means[index] + rng.normal(size=(72, 10))
    sessions = np.tile([0, 1], 36)
    responses[sessions == 0, :5] = np.nan
    responses[sessions == 1, 5:] = np.nan
    table = {"a": rows[index, 0], "b": rows[index, 1]}
    recording = from_trials(responses, table, sessions=sessions)
    dimensions = recorded_dimensions(recording, seed=3)
    assert dimensions.value == recorded_dimensions(recording.pseudo_trials(3)).value
    assert 1.0 < dimensions.value < 10.0


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 1000))
def test_joined_groups_have_all_conditions(n_groups, n_conditions, seed):
    rng = np.random.default_rng(seed)
    present = rng.random((n_groups, n_conditions)) < 0.6
    present[rng.integers(n_groups)] = True
    joined = joined_groups(present)
    sets = range(joined.max() + 1)
    assert len(sets) <= 12
    assert all(present[joined == s].any(axis=0).all() for s in sets)
    assert len(sets) >= min(12, int(present.all(axis=1).sum()))


def test_groups_that_lack_conditions_are_joined():
    rng = np.random.default_rng(10)
    rows, means = population(rng, (2, 3))
    recording = record(rng, rows, means, 8, offset=0.0)
    # The first four runs have one half of the conditions, the others the other.
    parts = recording.select(recording.condition_of_trial % 2 == recording.groups // 4)
    dimensions = recorded_dimensions(parts)
    assert dimensions.notes == ("8 groups joined into 4 sets with all conditions",)
    joined = recording_of(parts.responses, parts.components, parts.groups % 4)
    # Which groups are joined is a choice; these are in order.
    assert dimensions.value == pytest.approx(recorded_dimensions(joined).value, **VALUE)


def test_noise_alone_has_no_dimensions():
    rng = np.random.default_rng(11)
    rows = grid(3, 3)
    numbers = [recorded_dimensions(record(rng, rows, np.zeros((9, 5)), 4)) for _ in range(20)]
    unknown = [dimensions for dimensions in numbers if np.isnan(dimensions.value)]
    assert len(unknown) >= 5
    assert np.isnan(unknown[0].interval).all()
    silent = [record(rng, rows, np.zeros((9, 5)), 4) for _ in range(20)]
    pairs = [shared_recordings(*pair) for pair in zip(silent[::2], silent[1::2], strict=True)]
    nothing = [shared for shared in pairs if np.isnan(shared.value)]
    assert len(nothing) >= 5
    assert np.isnan([nothing[0].alignment, *nothing[0].interval, nothing[0].bound]).all()
    assert nothing[0].notes == unknown[0].notes
    assert all(np.isnan(shared.ceiling) or shared.ceiling > 0 for shared in pairs)
    assert unknown[0].notes == ("similarities of conditions are not above their noise: add trials",)


def test_wide_recordings_need_no_matrix_of_neurons():
    rng = np.random.default_rng(12)
    rows = grid(2, 3)
    recording = record(rng, rows, rng.normal(size=(6, 4_000)), 5)
    second = record(rng, rows, rng.normal(size=(6, 4_000)), 5)
    tracemalloc.start()
    recorded_dimensions(recording, over="neurons")
    shared_recordings(recording, second)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 4,000 squared numbers would be 128 MB; the responses of one are 1 MB.
    assert peak < 30 * recording.responses.nbytes


def test_errors_say_rule_got_remedy():
    rng = np.random.default_rng(13)
    rows, means = population(rng, (2, 2), neurons=3)
    good = record(rng, rows, means, 3)
    with pytest.raises(InputError) as caught:
        recorded_dimensions(record(rng, rows, means, [3, 1, 1, 1]))
    assert str(caught.value) == (
        "products of different trials need two conditions or more with two trials each; got 1; "
        "add repeats of conditions"
    )
    with pytest.raises(InputError) as caught:
        recorded_dimensions(recording_of(good.responses, good.components, np.repeat([0, 1], 6)))
    assert str(caught.value) == (
        "products of different groups need two conditions or more with two groups each; got 0; "
        "add repeats of conditions in other groups"
    )
    triangle = np.array([[0, 0], [0, 1], [1, 0]])[[0, 1, 0, 2, 1, 2]]
    with pytest.raises(InputError) as caught:
        recorded_dimensions(
            recording_of(rng.normal(size=(6, 3)), triangle, np.array([0, 0, 1, 1, 2, 2]))
        )
    assert str(caught.value) == (
        "groups can be joined into two sets or more that each have all conditions; got 3 groups of "
        "which no two sets do; leave out conditions that few groups have"
    )
    with pytest.raises(InputError) as caught:
        shared_recordings(good, record(rng, rows, rng.normal(size=(4, 2)), 3))
    assert str(caught.value) == (
        "in feature space both recordings have the same neurons; got 3 and 2; pass "
        'space="samples" for neurons that do not correspond'
    )
    renamed = Recording(good.responses, good.components, ("a", "c"), good.values)
    with pytest.raises(InputError, match="components of the same names, in the same order; got a,"):
        shared_recordings(good, renamed)
    apart = Recording(good.responses, good.components, ("a", "b"), (("x", "y"), (0, 1)))
    with pytest.raises(InputError, match=r"in both recordings, with two .*; got 0; name values"):
        shared_recordings(good, apart)
    with pytest.raises(InputError, match="both are recordings or both arrays; got one of each;"):
        shared_dimensions(good, good.responses)
    with pytest.raises(InputError, match='over is "trials" or "neurons"; got'):
        recorded_dimensions(good, over="units")
