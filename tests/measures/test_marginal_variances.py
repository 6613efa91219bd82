"""Marginal variances against enumerated products, least-squares fits, saliences and known truth."""

from __future__ import annotations

from functools import reduce
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from noisy_recordings import grid, population, record, recording_of, similarities
from scipy.stats import binom

from partwhole._checks import InputError
from partwhole.features.subsets import kernel_spectrum, mask_of, moebius
from partwhole.measures import salience
from partwhole.measures.marginal_variances import marginal_variances


def sets(n_components):
    return [s for k in range(1, n_components + 1) for s in combinations(range(n_components), k)]


def projection(n_values, chosen):
    """Return the projection of a complete design as a product over components."""
    parts = [
        np.eye(n) - 1 / n if c in chosen else np.full((n, n), 1 / n) for c, n in enumerate(n_values)
    ]
    return reduce(np.kron, parts)


@pytest.mark.parametrize("offset", [None, 1.0])
@pytest.mark.parametrize("n_values", [(3, 2), (2, 2, 3)])
def test_variances_are_means_over_products_of_different_trials(n_values, offset):
    rng = np.random.default_rng(0)
    rows = grid(*n_values)
    counts = 3 if offset else rng.integers(2, 5, len(rows))
    recording = record(rng, rows, rng.normal(size=(len(rows), 5)), counts, offset=offset)
    products = similarities(recording)
    parts = marginal_variances(recording)
    assert list(parts.shares) == sets(len(n_values))
    everything = np.trace(products) - products.sum() / len(rows)
    assert parts.total == pytest.approx(everything / len(rows), rel=1e-9)
    for chosen in parts.shares:
        variance = np.sum(projection(n_values, chosen) * products) / len(rows)
        assert parts.variances[chosen] == pytest.approx(variance, rel=1e-9)
        assert parts.shares[chosen] == pytest.approx(variance / parts.total, rel=1e-9)
        assert parts.dof[chosen] == np.prod([n_values[c] - 1 for c in chosen])
    assert sum(parts.shares.values()) == pytest.approx(1.0, abs=1e-9)
    assert (parts.complete, parts.confounded) == (True, 0.0)


@pytest.mark.parametrize("n_values", [(4, 4), (2, 3, 4)])
def test_saliences_say_the_same_in_other_units(n_values):
    rng = np.random.default_rng(1)
    rows = grid(*n_values)
    recording = record(rng, rows, 3.0 + rng.normal(size=(len(rows), 6)), 4)
    measured = salience(recording.responses, recording.components)
    spectrum = kernel_spectrum(moebius(measured.kappa), n_values)
    parts = marginal_variances(recording)
    for chosen, variance in parts.variances.items():
        multiplicity = parts.dof[chosen]
        assert variance == pytest.approx(
            multiplicity * spectrum[mask_of(chosen)] / len(rows), rel=1e-8
        )


def test_shares_of_an_overlap_kernel():
    """Saliences of .4, .4 and .2 on a 4 x 4 grid are shares of .43, .43 and .14."""
    rows = grid(4, 4)
    one_hot = [np.eye(4)[rows[:, 0]], np.eye(4)[rows[:, 1]], np.eye(16)]
    weighted = [np.sqrt(s) * part for s, part in zip([0.4, 0.4, 0.2], one_hot, strict=True)]
    recording = record(np.random.default_rng(0), rows, np.hstack(weighted), 2, noise=0.0)
    shares = marginal_variances(recording).shares
    # 3 x (.4 x 4 + .2) and 9 x .2 of their sum, 12.6.
    assert [shares[(0,)], shares[(1,)]] == pytest.approx([5.4 / 12.6] * 2)
    assert shares[(0, 1)] == pytest.approx(1.8 / 12.6)
    assert [round(share, 2) for share in shares.values()] == [0.43, 0.43, 0.14]


def fitted(rows, y, columns):
    """Return the fit of y by indicators of some sets of components."""
    parts = [np.ones((len(rows), 1))]
    for chosen in columns:
        index = np.unique(rows[:, list(chosen)], axis=0, return_inverse=True)[1].ravel()
        parts.append(np.eye(index.max() + 1)[index])
    design = np.hstack(parts)
    return design @ np.linalg.lstsq(design, y, rcond=None)[0]


@given(st.integers(0, 10_000), st.sampled_from([(4, 4), (2, 3, 3)]))
def test_incomplete_designs_are_nested_fits(seed, n_values):
    rng = np.random.default_rng(seed)
    rows = grid(*n_values)
    rows = rows[rng.random(len(rows)) < 0.7]
    if len(np.unique(rows, axis=0)) < 3:
        return
    means = rng.normal(size=(len(rows), 4))
    parts = marginal_variances(record(rng, rows, means, 2, noise=0.0))
    total = np.sum((means - means.mean(axis=0)) ** 2)
    every = sets(len(n_values))
    for chosen in every:
        without = [s for s in every if not set(chosen) <= set(s)]
        added = fitted(rows, means, [*without, chosen]) - fitted(rows, means, without)
        share = np.sum(added**2) / total
        assert parts.shares.get(chosen, 0.0) == pytest.approx(share, abs=1e-8)
    assert parts.total == pytest.approx(total / len(rows), rel=1e-9)
    if not parts.complete:
        assert parts.confounded == pytest.approx(1 - sum(parts.shares.values()), abs=1e-12)


def test_incomplete_designs_have_no_bias():
    rng = np.random.default_rng(2)
    rows, means = population(rng, (4, 4))
    triangle = rows.sum(axis=1) < 4
    rows, means = rows[triangle], means[triangle]
    true = marginal_variances(record(rng, rows, means, 2, noise=0.0))
    estimates = [
        list(marginal_variances(record(rng, rows, means, 3)).variances.values()) for _ in range(100)
    ]
    error = np.std(estimates, axis=0) / np.sqrt(len(estimates))
    difference = np.mean(estimates, axis=0) - list(true.variances.values())
    np.testing.assert_array_less(np.abs(difference), 4.0 * error)


@pytest.mark.parametrize(
    ("counts", "noise", "offset"), [(10, 1.0, None), (2, 1.0, None), (6, 1.0, 1.0)]
)
def test_intervals_over_trials_cover_the_truth(counts, noise, offset):
    rng = np.random.default_rng(3)
    n = 120
    covered = np.zeros(3)
    for _ in range(n):
        rows, means = population(rng)
        true = marginal_variances(record(rng, rows, means, 2, noise=0.0)).shares
        parts = marginal_variances(record(rng, rows, 5.0 + means, counts, noise, offset))
        covered += [low <= true[chosen] <= high for chosen, (low, high) in parts.intervals.items()]
    # Of intervals that cover in 94 %, fewer are seen once in 10,000 runs.
    assert covered.min() >= binom.ppf(1e-4, n, 0.94)


def test_intervals_over_neurons_cover_the_mean_over_populations():
    rng = np.random.default_rng(4)
    true = np.mean([
        list(marginal_variances(record(rng, *population(rng), 2, noise=0.0)).shares.values())
        for _ in range(150)
    ], axis=0)  # fmt: skip
    n = 80
    covered = {"trials": np.zeros(3), "neurons": np.zeros(3)}
    for _ in range(n):
        recording = record(rng, *population(rng), 10)
        for over in covered:
            intervals = np.array(list(marginal_variances(recording, over=over).intervals.values()))
            covered[over] += (intervals[:, 0] <= true) & (true <= intervals[:, 1])
    assert covered["neurons"].min() >= binom.ppf(1e-4, n, 0.94)
    assert covered["trials"][:2].max() < 0.6 * n


@pytest.mark.parametrize("offset", [None, 0.5])
def test_noise_is_the_variance_of_a_trial(offset):
    rng = np.random.default_rng(5)
    rows, means = population(rng)
    recording = record(rng, rows, means, 100, 1.5, offset)
    parts = marginal_variances(recording)
    true = 60 * (1.5**2 + (offset or 0) ** 2)
    # 16 x 99 x 60 squares; of offsets 100 x 60.
    assert parts.noise == pytest.approx(true, rel=0.02)
    assert parts.noise_share == pytest.approx(true / (true + parts.total), rel=0.02)


def test_scale_and_offset():
    rng = np.random.default_rng(6)
    rows, means = population(rng, (3, 3), neurons=8)
    recording = record(rng, rows, means, 3)
    changed = recording_of(50.0 - 10.0 * recording.responses, recording.components)
    first, second = marginal_variances(recording), marginal_variances(changed)
    for chosen, share in first.shares.items():
        assert second.shares[chosen] == pytest.approx(share, rel=1e-9)
        assert second.intervals[chosen] == pytest.approx(first.intervals[chosen], rel=1e-9)
        assert second.variances[chosen] == pytest.approx(100 * first.variances[chosen], rel=1e-9)
    assert second.noise == pytest.approx(100 * first.noise, rel=1e-9)


def test_components_with_one_value_have_no_part():
    rng = np.random.default_rng(7)
    rows, means = population(rng, (3, 3), neurons=8)
    wide = np.column_stack([rows, np.zeros(9, dtype=int)])
    parts = marginal_variances(record(rng, wide, means, 3))
    assert list(parts.shares) == [(0,), (1,), (0, 1)]
    frame = parts.to_frame()
    assert frame.components.tolist() == ["a", "b", "a x b"]
    assert frame.order.tolist() == [1, 1, 2]
    assert frame.share.tolist() == list(parts.shares.values())
    assert frame.low.tolist() == [low for low, _ in parts.intervals.values()]


def test_noise_alone_has_no_shares():
    rng = np.random.default_rng(8)
    parts = [marginal_variances(record(rng, grid(3, 3), np.zeros((9, 5)), 3)) for _ in range(20)]
    empty = [part for part in parts if not part.total > 0]
    assert len(empty) >= 3
    assert np.isnan(list(empty[0].shares.values())).all()
    assert np.isnan(list(empty[0].intervals.values())).all()
    assert empty[0].notes == (
        "differences between conditions are not above their noise: add trials",
    )


def test_errors_say_rule_got_remedy():
    rng = np.random.default_rng(9)
    many = np.array([[0] * 11, [1] * 11])
    with pytest.raises(InputError) as caught:
        marginal_variances(record(rng, many, rng.normal(size=(2, 3)), 2))
    assert str(caught.value) == (
        "marginal variances are for at most 10 components, as all their sets count; got 11; name "
        "fewer in components="
    )
    rows = grid(50, 41)[:-1]
    with pytest.raises(InputError) as caught:
        marginal_variances(record(rng, rows, rng.normal(size=(2049, 2)), 2))
    assert str(caught.value) == (
        "an incomplete design has at most 2,000 conditions; got 2,049; leave out conditions of "
        "values that others lack, or components"
    )
