"""Similarity by count: against `salience` by sets, and against loops over pairs."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.measures import salience
from partwhole.measures.count_salience import count_salience
from partwhole.recordings import Recording


def sample(seed, repeats=3, noise=0.2):
    rng = np.random.default_rng(seed)
    cells = np.stack(np.unravel_index(np.arange(24), (2, 3, 4)), axis=1)
    rows = np.repeat(cells, rng.integers(1, repeats + 1, size=24), axis=0)
    clean = np.hstack([rng.normal(size=(4, 30))[column] for column in rows.T])
    return clean + noise * rng.normal(size=clean.shape), rows


@pytest.mark.parametrize("self_pairs", [False, True])
def test_it_is_salience_averaged_over_sets_of_a_size(self_pairs):
    features, rows = sample(0)
    by_count = count_salience(features, rows, self_pairs=self_pairs)
    by_set = salience(features, rows, self_pairs=self_pairs)
    # Sums of some thousand products of order 1 in another order.
    np.testing.assert_allclose(by_count.similarity, by_set.similarity, rtol=0, atol=1e-11)
    assert by_count.noise == pytest.approx(by_set.noise, rel=1e-11)
    assert (by_count.n_tuples, by_count.n_available) == (24, 24)


def test_structure_is_the_share_between_counts():
    features, rows = sample(1, repeats=1)
    means, tuples = features - features.mean(axis=0), rows
    pairs = [(i, j) for i in range(24) for j in range(i)]
    inner = np.array([means[i] @ means[j] for i, j in pairs])
    shared = np.array([np.sum(tuples[i] == tuples[j]) for i, j in pairs])
    within = sum(np.sum((inner[shared == k] - inner[shared == k].mean()) ** 2) for k in range(3))
    found = count_salience(features, rows, self_pairs=True)
    assert found.structure == pytest.approx(1.0 - within / np.sum((inner - inner.mean()) ** 2))
    assert found.n_pairs[:3].tolist() == [int(np.sum(shared == k)) for k in range(3)]
    assert np.isnan(found.noise)


def test_twenty_components_are_sampled():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 4, size=(600, 20))
    clean = np.hstack([np.eye(4)[column] for column in rows.T])
    found = count_salience(clean, rows, self_pairs=True, max_tuples=200)
    assert (found.n_tuples, found.n_available) == (200, 600)
    met = found.n_pairs > 0
    # One-hot parts share exactly as much as their components.
    np.testing.assert_allclose(found.similarity[met], np.arange(21)[met], rtol=0, atol=1e-12)
    assert found.structure == pytest.approx(1.0, abs=1e-12)


def recordings():
    features, rows = sample(3, repeats=4)
    names, values = ("a", "b", "c"), (tuple("xy"), tuple("xyz"), tuple("wxyz"))
    rng = np.random.default_rng(3)
    # Every tuple twice in each of three runs.
    complete = np.tile(np.unique(rows, axis=0), (6, 1))
    runs = np.repeat([0, 1, 2], 48)
    signal = sum(rng.normal(size=(4, 20))[column] for column in complete.T)
    responses = signal + rng.normal(size=(3, 20))[runs] + rng.normal(size=signal.shape)
    apart, day = np.vstack([responses, responses]), np.repeat([0, 1], len(responses))
    apart[day == 0, :8] = apart[day == 1, 8:] = np.nan
    both = np.vstack([complete, complete])
    movie = np.stack([features, 2.0 * features], axis=2)
    return {
        "trials": Recording(features, rows, names, values),
        "times": Recording(movie, rows, names, values),
        "groups": Recording(responses, complete, names, values, runs),
        "sessions": Recording(apart, both, names, values, None, day),
        "days and runs": Recording(apart, both, names, values, np.tile(runs, 2) + 3 * day, day),
    }


RECORDINGS = recordings()


@pytest.mark.parametrize("name", RECORDINGS)
def test_of_recordings_it_is_salience_averaged_over_sets_of_a_size(name):
    by_count, by_set = count_salience(RECORDINGS[name]), salience(RECORDINGS[name])
    np.testing.assert_allclose(by_count.similarity, by_set.similarity, rtol=0, atol=1e-11)
    assert by_count.noise == pytest.approx(by_set.noise, rel=1e-11)
    sizes = np.array([bin(overlap).count("1") for overlap in range(8)])
    assert by_count.n_pairs.tolist() == [by_set.n_pairs[sizes == k].sum() for k in range(4)]
    assert by_count.n_tuples == by_set.n_tuples


def test_structure_is_without_offsets_of_groups():
    whole = RECORDINGS["groups"]
    kept = np.random.default_rng(6).random(whole.n_trials) < 0.7
    part = whole.select(kept)
    cells = {
        (run, t): part.responses[(part.groups == run) & (part.condition_of_trial == t)].mean(axis=0)
        for run in range(3)
        for t in part.condition_of_trial[part.groups == run]
    }
    # Offsets and means of conditions together, by least squares on indicators of both.
    design = np.zeros((len(cells), 3 + part.n_conditions))
    for row, (run, t) in zip(design, cells, strict=True):
        row[[run, 3 + t]] = 1.0
    fitted = np.linalg.lstsq(design, np.array(list(cells.values())))[0]
    samples = np.array([mean - fitted[run] for (run, _), mean in cells.items()])
    rows = np.array([part.conditions[t] for _, t in cells])
    expected = count_salience(samples, rows, self_pairs=True).structure
    assert count_salience(part).structure == pytest.approx(expected, rel=1e-12)


def test_structure_of_several_sessions_is_that_of_combined_trials():
    whole = RECORDINGS["sessions"]
    trials = whole.pseudo_trials(2)
    expected = count_salience(trials.responses, trials.components).structure
    assert count_salience(whole, seed=2).structure == pytest.approx(expected, rel=1e-12)


def test_products_across_groups_beside_loops_over_pairs():
    features, rows = sample(3, repeats=4)
    runs = np.random.default_rng(3).integers(0, 3, len(rows))
    names, values = ("a", "b", "c"), (tuple("xy"), tuple("xyz"), tuple("wxyz"))
    whole = count_salience(Recording(features, rows, names, values, runs))
    tuples = [tuple(row) for row in rows.tolist()]
    cells = {
        (run, t): features[[i for i, row in enumerate(tuples) if row == t and runs[i] == run]]
        for run, t in set(zip(runs.tolist(), tuples, strict=True))
    }
    means = {cell: trials.mean(axis=0) for cell, trials in cells.items()}
    squares, distances = [], {0: [], 1: [], 2: []}
    for a, b in combinations(range(3), 2):
        present = [t for t in set(tuples) if (a, t) in means and (b, t) in means]
        squares += [means[a, t] @ means[b, t] for t in present]
        for t, u in combinations(present, 2):
            difference = [means[run, t] - means[run, u] for run in (a, b)]
            shared = int(np.sum(np.array(t) == np.array(u)))
            distances[shared].append(difference[0] @ difference[1])
    steps = [0.5 * np.mean(distances[k]) for k in range(3)]
    np.testing.assert_allclose(whole.similarity[-1] - whole.similarity[:3], steps, atol=1e-11)


def test_offsets_of_groups_change_no_distance():
    whole = RECORDINGS["groups"]
    moved = np.random.default_rng(4).normal(size=(3, whole.n_neurons))[whole.groups]
    shifted = replace(whole, responses=whole.responses + moved)
    steps, of_shifted = (np.diff(count_salience(r).similarity) for r in (whole, shifted))
    np.testing.assert_allclose(of_shifted[:-1], steps[:-1], atol=1e-11)


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((RECORDINGS["groups"],), {"self_pairs": True}, "is no product across groups; got self_p"),
        ((RECORDINGS["trials"], sample(0)[1]), {}, "a recording has its own conditions and groups"),
        ((sample(0)[0],), {}, "components say which tuple each sample shows; got none"),
    ],
)
def test_sentences_of_recordings(arguments, options, sentence):
    with pytest.raises(InputError, match=sentence):
        count_salience(*arguments, **options)


@pytest.mark.parametrize(
    ("features", "rows", "sentence"),
    [
        (np.ones((2, 1)), np.zeros((3, 2), int), "equal length along n; got 2 and 3; pass both"),
        (np.ones((2, 1)), np.zeros((2, 2), int), "pairs need two tuples; got 1; add others"),
        (np.ones((2, 1)), np.eye(2, dtype=int), "needs a tuple with two samples; got one sample"),
    ],
)
def test_sentences(features, rows, sentence):
    with pytest.raises(InputError, match=sentence):
        count_salience(features, rows)
