"""Parallelism against enumerated products, overlap similarities, closed forms and known truth."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from noisy_recordings import grid, population, record, recording_of, same_recordings, similarities
from scipy.stats import binom, t

from partwhole._checks import InputError
from partwhole.measures import salience
from partwhole.measures.abstraction import parallelism
from partwhole.recordings import Recording, from_trials


def contexts_of(recording, c):
    """Return lists of (condition, condition) by pair of values, one for every shared context."""
    rows = recording.conditions.tolist()
    for u, v in combinations(sorted({row[c] for row in rows}), 2):
        pairs = []
        for i, first in enumerate(rows):
            second = [*first[:c], v, *first[c + 1 :]]
            if first[c] == u and second in rows:
                pairs.append((i, rows.index(second)))
        yield pairs


def enumerated(recording, c):
    """Return the score from products of different trials, by loops over pairs of contexts."""
    k = similarities(recording)
    inner = squares = 0.0
    for pairs in contexts_of(recording, c):
        for (i, j), (f, g) in combinations(pairs, 2):
            inner += k[j, g] - k[j, f] - k[i, g] + k[i, f]
            for a, b in ((i, j), (f, g)):
                squares += 0.5 * (k[a, a] + k[b, b] - 2 * k[a, b])
    return inner / squares if squares > 0 else np.nan


def published(recording, c):
    """Return the mean cosine of differences of condition means, in different contexts."""
    index = recording.condition_of_trial
    means = [recording.responses[index == t].mean(axis=0) for t in range(index.max() + 1)]
    cosines = []
    for pairs in contexts_of(recording, c):
        for (i, j), (f, g) in combinations(pairs, 2):
            x, y = means[j] - means[i], means[g] - means[f]
            cosines.append(x @ y / np.sqrt((x @ x) * (y @ y)))
    return np.mean(cosines)


def of_grid(means, n_values):
    """Return the score of the first of two components, of means without noise."""
    first, second = np.triu_indices(n_values[0], 1)
    by_value = means.reshape(*n_values, -1)
    vectors = by_value[second] - by_value[first]
    squares = np.sum(vectors**2)
    return (np.sum(vectors.sum(axis=1) ** 2) - squares) / ((n_values[1] - 1) * squares)


def from_overlap(kappa, n_values, c):
    """Return the score from mean similarities by overlap set, of a complete grid.

    Contexts that share exactly the other components O are a share of all pairs of contexts; their
    products are gains in similarity by sharing c.
    """
    n = len(n_values)
    rest = (2**n - 1) & ~(1 << c)
    length = kappa[rest | 1 << c] - kappa[rest]
    total = pairs = 0.0
    for shared in range(2**n):
        if shared >> c & 1 or shared == rest:
            continue
        count = np.prod([n_values[j] - 1 for j in range(n) if j != c and not shared >> j & 1])
        total += count * (kappa[shared | 1 << c] - kappa[shared])
        pairs += count
    return total / (pairs * length)


@pytest.mark.parametrize("offset", [None, 1.0])
def test_scores_are_ratios_of_enumerated_products(offset):
    rng = np.random.default_rng(0)
    # Three components, with combinations that are missing.
    rows = grid(3, 2, 3)[[0, 1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 13, 15, 16, 17]]
    means = 3.0 + rng.normal(size=(len(rows), 6)) + 2.0 * rng.normal(size=(3, 6))[rows[:, 0]]
    counts = 3 if offset else rng.integers(2, 5, len(rows))
    recording = record(rng, rows, means, counts, 0.5, offset)
    measured = parallelism(recording, repetitions=0)
    for c in range(3):
        # Sums of a hundred products of size 10.
        assert measured.score[c] == pytest.approx(enumerated(recording, c), rel=1e-10)
        assert measured.plug_in[c] == pytest.approx(published(recording, c), rel=1e-10)
        assert measured.n_contexts[c] == max(map(len, contexts_of(recording, c)))


@pytest.mark.parametrize("n_values", [(4, 3), (2, 3, 2), (2, 2, 2, 2)])
def test_complete_grids_have_the_score_of_their_overlap_similarities(n_values):
    rng = np.random.default_rng(1)
    rows = grid(*n_values)
    means = rng.normal(size=(len(rows), 9)) + 3.0 * rng.normal(size=(n_values[0], 9))[rows[:, 0]]
    recording = record(rng, rows, means, 3)
    kappa = salience(recording).kappa
    measured = parallelism(recording, repetitions=0)
    expected = [from_overlap(kappa, n_values, c) for c in range(len(n_values))]
    present = ~np.isnan(measured.score)
    assert present[0]
    np.testing.assert_allclose(measured.score[present], np.array(expected)[present], rtol=1e-9)
    if len(n_values) == 2:
        assert measured.score[0] == pytest.approx(
            (kappa[1] - kappa[0]) / (kappa[3] - kappa[2]), rel=1e-9
        )


@pytest.mark.parametrize(
    ("second", "score", "cosine"),
    [
        ((1.0, 0.0), 1.0, 1.0),
        ((0.0, 1.0), 0.0, 0.0),
        ((-1.0, 0.0), -1.0, -1.0),
        ((0.6, 0.8), 0.6, 0.6),
        # Parallel vectors of lengths 1 and 2: 2 / (1/2 (1 + 4)).
        ((2.0, 0.0), 0.8, 1.0),
    ],
)
def test_two_coding_vectors(second, score, cosine):
    rows = grid(2, 2)
    means = np.zeros((4, 3))
    means[:, 2] = [0.0, 5.0, 0.0, 5.0]
    means[2, :2] += (1.0, 0.0)
    means[3, :2] += second
    clean = record(np.random.default_rng(0), rows, means, 2, noise=0.0)
    measured = parallelism(clean, repetitions=0)
    assert measured.score[0] == pytest.approx(score, abs=1e-12)
    assert measured.plug_in[0] == pytest.approx(cosine, abs=1e-12)
    assert measured.interval[0] == pytest.approx((score, score), abs=1e-6)


def test_sums_are_parallel_and_independent_codes_are_not():
    rng = np.random.default_rng(2)
    rows = grid(4, 3)
    parts = rng.normal(size=(4, 50))[rows[:, 0]] + rng.normal(size=(3, 50))[rows[:, 1]]
    sums = parallelism(record(rng, rows, parts, 2, noise=0.0), repetitions=19)
    assert sums.score == pytest.approx([1.0, 1.0], abs=1e-12)
    assert sums.p.tolist() == [0.05, 0.05]
    # Cosines of 1,000 neurons have a standard deviation of .03, and are averaged.
    codes = parallelism(record(rng, rows, rng.normal(size=(12, 1000)), 2, noise=0.1))
    assert np.all(np.abs(codes.score) < 0.06)
    assert np.all(codes.p > 0.01)


def test_noise_as_large_as_the_signal_leaves_the_score_and_lowers_the_cosine():
    """A world of 4 x 4 conditions with the parallelism of the published table, .738.

    Orthogonal codes with squared lengths a and ab, in p neurons, and noise of the same variance as
    the signal in m trials: |d|² is 2 (a + ab), to which means add 2 noise / m.
    """
    rng = np.random.default_rng(3)
    a, ab = 0.4, 0.4 / 0.738 - 0.4
    n_neurons, m, signal = 60, 8, 0.8 + 0.4 / 0.738 - 0.4
    rows = grid(4, 4)
    codes = np.linalg.qr(rng.normal(size=(n_neurons, 24)))[0].T
    means = np.sqrt(a) * (codes[rows[:, 0]] + codes[4 + rows[:, 1]]) + np.sqrt(ab) * codes[8:]
    noise = np.sqrt(signal / n_neurons)
    runs = [
        parallelism(record(rng, rows, means, m, noise), repetitions=0) for _ in range(60)
    ]  # fmt: skip
    scores = np.array([run.score for run in runs])
    error = scores.std() / np.sqrt(scores.size)
    assert abs(scores.mean() - 0.738) < 4.0 * error < 0.03
    plug_in = np.mean([run.plug_in for run in runs])
    # Lengths scatter by a tenth, so that the mean of ratios is that of means within a hundredth.
    lowered = 0.738 * (a + ab) / (a + ab + signal / m)
    assert 0.60 < lowered < 0.61
    assert plug_in == pytest.approx(lowered, abs=0.01)


@pytest.mark.parametrize("offset", [None, 1.0])
def test_invariances(offset):
    rng = np.random.default_rng(4)
    rows, means = population(rng, (3, 3), neurons=7)
    recording = record(rng, rows, means, 4, 0.5, offset)
    x, groups = recording.responses, recording.groups
    before = x.copy()
    measured = parallelism(recording, repetitions=9)
    for i, changed in enumerate(same_recordings(rng, recording)):
        again_measured = parallelism(changed, repetitions=9)
        # 1e3 leaves 1e-13 of a response, and squares of size 1 are compared.
        assert again_measured.score == pytest.approx(measured.score, rel=1e-8)
        assert again_measured.plug_in == pytest.approx(measured.plug_in, rel=1e-8)
        assert again_measured.interval == pytest.approx(measured.interval, rel=1e-7)
        if i != 2:  # a rotation into more neurons has another null
            assert again_measured.null == pytest.approx(measured.null, rel=1e-7)
    swapped = recording_of(x, recording.components[:, ::-1], groups)
    assert parallelism(swapped).score[::-1] == pytest.approx(measured.score, rel=1e-10)
    np.testing.assert_array_equal(recording.responses, before)


def test_offsets_of_runs_leave_no_bias():
    rng = np.random.default_rng(5)
    rows, means = population(rng, (2, 3), neurons=30)
    truth = parallelism(record(rng, rows, means, 2, noise=0.0), repetitions=0).score[0]
    across = []
    for _ in range(60):
        recording = record(rng, rows, means, 4, 0.5, offset=0.0)
        # An offset of one value in every run is shared noise of its conditions.
        shared = rng.normal(size=(4, 30))[recording.groups] * (recording.components[:, :1] == 0)
        moved = recording_of(recording.responses + shared, recording.components, recording.groups)
        across.append(parallelism(moved, repetitions=0).score[0])
    # The bias of a ratio is about the squared relative error of its parts, here .15.
    assert abs(np.mean(across) - truth) < 4.0 * np.std(across) / np.sqrt(60) + 0.02


@pytest.mark.parametrize(
    ("n_values", "counts", "noise", "offset"),
    [((2, 2), 10, 1.0, None), ((4, 4), 12, 1.0, 1.0)],
)
def test_intervals_cover_the_truth(n_values, counts, noise, offset):
    rng = np.random.default_rng(6)
    n, covered = 80, 0
    for _ in range(n):
        rows, means = population(rng, n_values)
        truth = of_grid(means, n_values)
        low, high = parallelism(record(rng, rows, means, counts, noise, offset),
                                repetitions=0).interval.T  # fmt: skip
        covered += low[0] <= truth <= high[0]
    clean = parallelism(record(rng, rows, means, 2, noise=0.0), repetitions=0)
    assert truth == pytest.approx(clean.score[0])
    # Of intervals that cover in 93 to 97 %, fewer or more are seen once in 10,000 runs.
    assert binom.ppf(1e-4, n, 0.93) <= covered <= binom.ppf(1 - 1e-4, n, 0.97)


@pytest.mark.parametrize(("noise", "offset"), [(0.5, None), (2.0, None), (2.0, 1.0)])
def test_standard_errors_are_those_of_repeated_recordings(noise, offset):
    rng = np.random.default_rng(12)
    rows, means = population(rng, (3, 3), neurons=40)
    runs = [
        parallelism(record(rng, rows, means, 12, noise, offset), repetitions=0, confidence=0.5)
        for _ in range(90)
    ]
    degrees = 11 if offset else 9 * 11
    widths = np.array([np.ptp(run.interval[0]) / 2 for run in runs]) / t.ppf(0.75, degrees)
    # A variance of 90 scores has a relative error of .15.
    variance = np.var([run.score[0] for run in runs])
    assert np.mean(widths**2) == pytest.approx(variance, rel=3 * 0.15)


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_codes_at_random_have_uniform_p_values(spread):
    """Whatever the gains of neurons, here log-normal ones."""
    rng = np.random.default_rng(7)
    p = []
    for seed in range(60):
        means = rng.normal(size=(4, 30)) * np.exp(spread * rng.normal(size=30))
        recording = record(rng, grid(2, 2), means, 6)
        p.append(parallelism(recording, repetitions=19, seed=seed).p[0])
    # The mean of 20 equal steps is .525; its standard error .037, and .05 is exceeded in 5 %.
    assert np.mean(p) == pytest.approx(0.525, abs=4 * 0.037)
    assert np.sum(np.array(p) <= 0.05) <= binom.ppf(1 - 1e-4, 60, 0.05)


def test_incomplete_designs_and_weak_codes_are_noted():
    rng = np.random.default_rng(8)
    rows = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 2]])
    means = rng.normal(size=(3, 8))[rows[:, 1]]
    recording = record(rng, rows, means, [4, 4, 4, 4, 4, 1], noise=0.1)
    measured = parallelism(recording, repetitions=5)
    # Component a has values that differ by noise alone; b has two values in two contexts.
    assert measured.notes[0] == "1 condition with one trial left out"
    assert measured.n_contexts.tolist() == [2, 2]
    assert measured.score[1] == pytest.approx(1.0, abs=0.1)
    assert any(note.startswith("coding vectors of 'a' are") for note in measured.notes)
    assert np.isnan(measured.interval[0]).all()
    lonely = record(rng, rows[:3], rng.normal(size=(3, 8)), 4)
    line = recording_of(
        np.vstack([lonely.responses, lonely.responses + 1.0]),
        np.vstack([np.column_stack([lonely.components, [0] * 12]),
                   np.column_stack([lonely.components, [1] * 12])]),
    )  # fmt: skip
    alone = parallelism(line, repetitions=3)
    assert np.isnan(alone.score[0])
    assert np.isnan(alone.p[0])
    assert "no two values of 'a' share two contexts: it has no score" in alone.notes
    table = alone.to_frame()
    assert table.columns.tolist() == [
        "component", "contexts", "score", "low", "high", "plug-in", "p", "repetitions",
    ]  # fmt: skip
    assert table.contexts.tolist() == [0, 2, 3]


def test_neurons_that_never_vary_change_nothing():
    rng = np.random.default_rng(9)
    recording = record(rng, *population(rng, (3, 3), neurons=8), 3)
    silent = np.hstack([recording.responses, np.full((27, 50), 7.0)])
    measured = parallelism(recording)
    again_measured = parallelism(recording_of(silent, recording.components))
    assert again_measured.score == pytest.approx(measured.score, rel=1e-9)
    assert again_measured.null == pytest.approx(measured.null, rel=1e-9)


def test_sessions_become_pseudo_trials():
    rng = np.random.default_rng(10)
    rows, means = population(rng, (3, 3), neurons=60)
    index = np.repeat(np.arange(9), 20)
    responses = means[index] + 0.5 * rng.normal(size=(180, 60))
    sessions = np.tile([0, 1], 90)
    responses[sessions == 0, :30] = np.nan
    responses[sessions == 1, 30:] = np.nan
    table = {"a": rows[index, 0], "b": rows[index, 1]}
    recording = from_trials(responses, table, sessions=sessions)
    measured = parallelism(recording, seed=3)
    pseudo = parallelism(recording.pseudo_trials(3), seed=3)
    np.testing.assert_array_equal(measured.score, pseudo.score)
    truth = parallelism(record(rng, rows, means, 2, noise=0.0), repetitions=0)
    # Standard errors are near .02.
    assert measured.score == pytest.approx(truth.score, abs=0.1)


def bad_recordings():
    rng = np.random.default_rng(11)
    line_of_four = grid(4)
    yield (
        Recording(
            rng.normal(size=(8, 3)), np.repeat(line_of_four, 2, axis=0), ("a",), ((0, 1, 2, 3),)
        ),
        (
            "parallelism compares contexts, the values of a second component; got a single "
            "component; name another column of the conditions"
        ),
    )
    line = np.array([[0, 0], [0, 1], [1, 1]])
    yield (
        record(rng, line, rng.normal(size=(3, 4)), 2),
        (
            "two values of a component were shown in two contexts, the same other components; got "
            "3 repeated conditions without; add conditions"
        ),
    )
    yield (
        record(rng, grid(2, 2), rng.normal(size=(4, 4)), 1),
        (
            "products of different trials need two conditions or more with two trials each; got 0; "
            "add repeats of conditions"
        ),
    )
    yield (
        record(rng, grid(32, 32), rng.normal(size=(1024, 2)), 1),
        ("parallelism compares up to 1,000 conditions with one another; got 1,024; select fewer"),
    )


@pytest.mark.parametrize(("recording", "sentence"), list(bad_recordings()))
def test_errors(recording, sentence):
    with pytest.raises(InputError) as refusal:
        parallelism(recording)
    assert str(refusal.value) == sentence
