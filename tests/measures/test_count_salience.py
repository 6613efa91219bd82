"""Similarity by count: against `salience` by sets, and against loops over pairs."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.measures import salience
from partwhole.measures.count_salience import count_salience


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
