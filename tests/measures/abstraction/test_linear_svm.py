"""CCGP, parallelism and decoding by their definitions, with linear support vector machines.

Bernardi et al. (Cell 2020) define them for two values of each component: linear support vector
machines, the same number of trials of every condition, drawn anew from those that there are, and
for CCGP the mean over all ways of holding out one condition of each side. What is here is slow and
follows these definitions; it shares no code with the package.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from noisy_recordings import grid, record
from sklearn.svm import SVC

from partwhole.measures.abstraction import ccgp, parallelism, shattering_dimensionality

NEURONS = 40
# The definitions leave the penalty of the machine open.
PENALTIES = (1.0, 0.01, 0.001)


def factorised(rng, n_components, lengths=None):
    """Return corners of a box with these half edges, along orthogonal directions."""
    rows = grid(*[2] * n_components)
    codes = np.linalg.qr(rng.normal(size=(NEURONS, n_components)))[0].T
    lengths = np.sqrt(NEURONS / n_components) if lengths is None else np.array(lengths)[:, None]
    return rows, (2.0 * rows - 1.0) @ (lengths * codes)


def unstructured(rng, n_components):
    rows = grid(*[2] * n_components)
    return rows, rng.normal(size=(len(rows), NEURONS))


def balanced(rng, index, conditions, m):
    """Return trials drawn with replacement, m of each of these conditions; all if m is None."""
    if m is None:
        return np.flatnonzero(np.isin(index, conditions))
    return np.concatenate([rng.choice(np.flatnonzero(index == t), m) for t in conditions])


def machine(x, labels, penalty):
    return SVC(kernel="linear", C=penalty).fit(x, labels)


def generalization(recording, labels, penalty=1.0, differing=None, m=None, resamplings=1):
    """Return the mean accuracy on held-out conditions over all ways of holding out a pair."""
    rng = np.random.default_rng(0)
    x, index, rows = recording.responses, recording.condition_of_trial, recording.conditions
    scores = []
    for a, b in product(np.flatnonzero(labels < 0), np.flatnonzero(labels > 0)):
        if differing is not None and np.sum(rows[a] != rows[b]) > differing:
            continue
        trained = [t for t in np.flatnonzero(labels) if t not in (a, b)]
        for _ in range(resamplings):
            train = balanced(rng, index, trained, m)
            fit = machine(x[train], labels[index[train]], penalty)
            right = fit.predict(x) == labels[index]
            scores += [np.mean(right[index == t]) for t in (a, b)]
    return np.mean(scores)


def decoding(recording, labels, penalty=1.0, folds=5):
    """Return the cross-validated accuracy: every fold has trials of all conditions."""
    x, index = recording.responses, recording.condition_of_trial
    fold = np.empty(len(x), dtype=int)
    for t in range(recording.n_conditions):
        of_condition = np.flatnonzero(index == t)
        fold[of_condition] = np.arange(len(of_condition)) % folds
    right = np.zeros(len(x))
    for left_out in range(folds):
        test = fold == left_out
        fit = machine(x[~test], labels[index[~test]], penalty)
        right[test] = fit.predict(x[test]) == labels[index[test]]
    return right.mean()


def mean_cosine(means, rows, component):
    """Return the mean cosine of differences between two values in two different contexts."""
    others = np.delete(rows, component, axis=1)
    vectors = []
    for context in np.unique(others, axis=0):
        low, high = means[(others == context).all(axis=1)]
        vectors.append((high - low) / np.linalg.norm(high - low))
    products = np.array(vectors) @ np.array(vectors).T
    n = len(products)
    return (products.sum() - n) / (n * (n - 1))


def errors_of(differences):
    return np.std(differences, axis=0, ddof=1) / np.sqrt(len(differences))


@pytest.mark.parametrize(("n_components", "differing"), [(2, 1), (3, 1), (3, None)])
def test_sums_of_parts_generalize_to_all_held_out_pairs(n_components, differing):
    rng = np.random.default_rng(0)
    rows, means = factorised(rng, n_components)
    recording = record(rng, rows, means, 10, noise=0.2)
    measured = ccgp(recording, dichotomies="components", differing=differing, repetitions=0)
    assert measured.score.tolist() == [1.0] * n_components
    for labels in measured.labels:
        assert generalization(recording, labels, differing=differing) == 1.0
    # Every component has a decoder of its own, and the score of noise-free parallel vectors.
    assert shattering_dimensionality(recording, repetitions=0).accuracy.max() == 1.0
    scores = parallelism(recording, repetitions=0).score
    # Of squared lengths of 4 x 40 / components, each with a standard error of about .2 x 12 / 10.
    np.testing.assert_allclose(scores, 1.0, atol=4 * 0.24 / (160 / n_components))


def test_of_two_contexts_the_longer_code_decides_where_both_components_change():
    """All ways of holding out train on conditions that differ in both components, in half of them.

    What the machine then learns of the shorter code is overruled by the longer one.
    """
    rng = np.random.default_rng(1)
    recording = record(rng, *factorised(rng, 2, (4.0, 2.0)), 10, noise=0.1)
    anywhere, in_context = (
        ccgp(recording, dichotomies="components", differing=differing, repetitions=0)
        for differing in (None, 1)
    )
    assert anywhere.score.tolist() == [1.0, 0.5]
    assert in_context.score.tolist() == [1.0, 1.0]
    for measured, differing in ((anywhere, None), (in_context, 1)):
        for labels, score in zip(measured.labels, measured.score, strict=True):
            assert generalization(recording, labels, differing=differing) == score


@pytest.mark.parametrize("differing", [None, 1])
@pytest.mark.parametrize(("n_components", "seeds"), [(2, 30), (3, 8)])
def test_without_structure_decoders_are_at_chance(n_components, seeds, differing):
    """A held-out condition has no relation to the boundary: right by half, on average."""
    scores = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        recording = record(rng, *unstructured(rng, n_components), 6)
        measured = ccgp(recording, dichotomies="components", differing=differing, repetitions=0)
        machines = [generalization(recording, row, 0.01, differing) for row in measured.labels]
        scores.append([measured.score.mean(), np.mean(machines)])
    # Four standard errors, from how scores scatter over codes.
    assert np.all(np.abs(np.mean(scores, axis=0) - 0.5) < 4.0 * errors_of(scores))


@pytest.mark.parametrize(
    ("world", "n_components", "noise", "differing"),
    [(factorised, 3, noise, None) for noise in (1.0, 2.0, 4.0)]
    + [(factorised, 2, noise, None) for noise in (2.0, 4.0)]
    + [(factorised, 3, 4.0, 1), (factorised, 2, 2.0, 1)]
    + [(unstructured, 3, 2.0, None), (unstructured, 2, 4.0, None)],
)
def test_scores_are_those_of_machines_with_the_penalty_that_decodes_best(
    world, n_components, noise, differing
):
    """CCGP and cross-validated accuracy of components, paired over recordings.

    Decoders that weigh noise differently differ: with the penalty that decodes best on average, by
    .0143 at most, in means over 60 recordings of three components or 200 of two. Beside that stand
    four standard errors of the paired differences here. With the usual penalty of 1 machines
    overfit where noise is large, and are below by up to .0653.
    """
    ours, recordings, decoded = [], [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        recording = record(rng, *world(rng, n_components), 15, noise)
        general = ccgp(recording, dichotomies="components", differing=differing, repetitions=0)
        shattered = shattering_dimensionality(recording, repetitions=0)
        of_component = shattered.component >= 0
        ours.append([shattered.accuracy[of_component].mean(), general.score.mean()])
        recordings.append((recording, general.labels))
        decoded.append([
            np.mean([decoding(recording, row, c) for row in general.labels]) for c in PENALTIES
        ])  # fmt: skip
    best = PENALTIES[np.mean(decoded, axis=0).argmax()]
    apart = {}
    for c in {best, PENALTIES[0]}:
        generalized = [
            np.mean([generalization(recording, row, c, differing) for row in labels])
            for recording, labels in recordings
        ]
        theirs = np.stack([np.array(decoded)[:, PENALTIES.index(c)], generalized], axis=1)
        apart[c] = np.array(ours) - theirs
    differences, of_usual = apart[best], apart[PENALTIES[0]]
    assert np.all(np.abs(differences.mean(axis=0)) < 0.015 + 4.0 * errors_of(differences))
    assert np.all(of_usual.mean(axis=0) > -0.015 - 4.0 * errors_of(of_usual))
    assert np.all(of_usual.mean(axis=0) < 0.066 + 4.0 * errors_of(of_usual))


def test_conditions_count_alike_however_many_trials_they_have():
    """Trials drawn in equal numbers, beside weights of conditions: paired over recordings."""
    differences = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        counts = rng.permutation([6, 40, 8, 30])
        recording = record(rng, *factorised(rng, 2, (6.0, 3.0)), counts, 2.0)
        measured = ccgp(recording, dichotomies="components", differing=1, repetitions=0)
        machines = [
            generalization(recording, row, 0.001, 1, m=20, resamplings=5) for row in measured.labels
        ]
        differences.append(measured.score - machines)
    assert np.all(np.abs(np.mean(differences, axis=0)) < 0.015 + 4.0 * errors_of(differences))


@pytest.mark.parametrize("world", [factorised, unstructured])
def test_the_published_parallelism_is_the_mean_cosine_of_measured_means(world):
    rng = np.random.default_rng(2)
    rows, means = world(rng, 3)
    recording = record(rng, rows, means, 10, noise=2.0)
    index = recording.condition_of_trial
    measured_means = np.array([recording.responses[index == t].mean(axis=0) for t in range(8)])
    published = [mean_cosine(measured_means, rows, c) for c in range(3)]
    measured = parallelism(recording, repetitions=0)
    np.testing.assert_allclose(measured.plug_in, published, rtol=1e-9)
    true = np.array([mean_cosine(means, rows, c) for c in range(3)])
    low, high = measured.interval.T
    assert np.all((low < true) & (true < high))
