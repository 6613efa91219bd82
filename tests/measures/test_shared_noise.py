"""Noise that trials share is noticed, by the order of trials alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from partwhole.measures import salience
from partwhole.measures._groups import TupleGroups
from partwhole.measures._shared_noise import _Pairs, excess_correlation, notes_on_shared_noise
from partwhole.measures._similarity import Samples
from partwhole.recordings import Recording, from_trials

TUPLES = np.array(list(product(range(4), range(4))))
RUNS = "the first trials of different conditions share about"
NEIGHBOURS = "in the order of rows, neighbouring trials share about"
HIDDEN = (
    "in the order of rows, trials of one condition stand {} than those of others: if it is their "
    "order in time and 10 % of the noise drifted"
)


def trials(rng, of_trial, noise):
    means = sum(0.6 * rng.normal(size=(4, noise.shape[1]))[TUPLES[:, c]] for c in range(2))
    return from_trials(means[of_trial] + noise, TUPLES[of_trial])


def offsets(rng, repeats, size, n_neurons=40):
    """Return the noise of trials sorted by condition, with an offset of each k-th trial."""
    shared = size * rng.normal(size=(repeats, n_neurons))
    return np.tile(shared, (16, 1)) + rng.normal(size=(16 * repeats, n_neurons))


def drifting(rng, n, correlation, n_neurons=40):
    noise = rng.normal(size=(n, n_neurons))
    for k in range(1, n):
        noise[k] = correlation * noise[k - 1] + np.sqrt(1.0 - correlation**2) * noise[k]
    return noise


def share_in(note):
    return float(note.split("about ")[1].split(" %")[0]) / 100.0


def test_sums_over_pairs_are_those_of_single_pairs():
    rng = np.random.default_rng(0)
    index = rng.integers(0, 3, 12)
    rows = np.sort(rng.choice(30, 12, replace=False))
    features = rng.normal(size=(12, 2))
    gram = features @ features.T
    place = [np.sum(index[:i] == index[i]) for i in range(12)]
    pairs = [(i, j) for i in range(12) for j in range(i + 1, 12)]
    next_to = [(i, j) for i, j in pairs if rows[j] - rows[i] == 1]
    together = [(i, j) for i, j in pairs if place[i] == place[j]]
    pairs_of = _Pairs.of(rows, index)
    expected = [sum(gram[pair] for pair in chosen) for chosen in (next_to, together)]
    np.testing.assert_allclose(pairs_of.sums(features), expected, atol=1e-12)
    assert pairs_of.counts.tolist() == [len(next_to), len(together)]
    orders = pairs_of._permuted(5, rng)
    for order in orders:
        assert sorted(order.tolist()) == list(range(12))
        np.testing.assert_array_equal(index[order], index)
    one_by_one = [pairs_of.sums(features[order]) for order in orders]
    np.testing.assert_allclose(pairs_of.sums(features[orders]), one_by_one, atol=1e-12)


@pytest.mark.parametrize("repeats", [2, 5, 10])
def test_runs_that_are_not_declared_are_noticed_with_their_share(repeats):
    # Half of the variance is that of offsets; a share of few runs scatters with them.
    shares = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        recording = trials(rng, np.repeat(np.arange(16), repeats), offsets(rng, repeats, 1.0))
        notes = [note for note in salience(recording).notes if "passes for similarity" in note]
        assert notes[0].startswith(RUNS)
        shares.append(share_in(notes[0]))
        runs = np.tile(np.arange(repeats), 16)
        grouped = Recording(recording.responses, recording.components, recording.names,
                            recording.values, runs)  # fmt: skip
        assert not any("passes for similarity" in note for note in salience(grouped).notes)
    assert abs(np.mean(shares) - 0.5) < 0.06


@pytest.mark.parametrize("blocked", [True, False])
def test_drifts_are_noticed_with_what_they_do_in_this_order(blocked):
    # The mean over 20 recordings has a standard error of .004 for blocks, .002 in random order.
    rng = np.random.default_rng(3)
    of_trial = np.repeat(np.arange(16), 10)
    of_trial = of_trial if blocked else rng.permutation(of_trial)
    steady = trials(np.random.default_rng(4), np.arange(16), np.zeros((16, 40)))
    truth = salience(steady, self_pairs=True)
    ends, shifts = set(), []
    for seed in range(20):
        noise = drifting(np.random.default_rng(seed), 160, 0.5)
        result = salience(trials(np.random.default_rng(4), of_trial, noise), bootstrap=0)
        (note,) = [note for note in result.notes if note.startswith(NEIGHBOURS)]
        ends.add(note.split("noise, ")[1])
        shifts.append(list(result.saliences.values())[-1] - list(truth.saliences.values())[-1])
    if blocked:
        assert ends == {"and it passes for similarity: declare runs or blocks as groups"}
        assert np.mean(shifts) > 0.05
    else:
        assert ends == {"which in this order shifts saliences by no more than 0.01"}
        assert abs(np.mean(shifts)) < 0.01 + 3 * 0.002


@pytest.mark.parametrize("kind", ["normal", "poisson", "unequal", "one direction", "sorted"])
def test_independent_trials_are_left_in_peace(kind):
    # Five deviations above the mean, of three sums: a false alarm in 50 has a chance of .01 if
    # each has one of 2e-4, as 3,200 simulated recordings had.
    alarms = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        counts = rng.integers(2, 9, 16) if kind == "unequal" else np.full(16, 5)
        of_trial = np.repeat(np.arange(16), counts)
        of_trial = of_trial if kind == "sorted" else rng.permutation(of_trial)
        means = rng.normal(size=(16, 20))
        features = means[of_trial] + rng.normal(size=(len(of_trial), 20))
        if kind == "poisson":
            features = rng.poisson(np.exp(means + 1.0)[of_trial]).astype(float)
        elif kind == "one direction":
            features += 2.0 * rng.normal(size=(len(of_trial), 1)) * rng.normal(size=20)
        samples = Samples(features, TUPLES[of_trial], None)
        groups = TupleGroups.of(TUPLES[of_trial])
        alarms += bool(notes_on_shared_noise(samples, groups, 0.0, seed))
    assert alarms == 0


def test_trials_without_repeats_say_nothing():
    rng = np.random.default_rng(5)
    samples = Samples(rng.normal(size=(16, 3)), TUPLES, None)
    assert notes_on_shared_noise(samples, TupleGroups.of(TUPLES), 1.0, 0) == []


def test_the_excess_correlation_of_an_order_is_that_of_single_pairs():
    index = np.random.default_rng(6).integers(0, 3, 12)
    pairs = [(i, j) for i in range(12) for j in range(i + 1, 12)]
    excesses = []
    for span in (1.0, 2.0, 4.0, 8.0):
        of_pairs = {i_j: np.exp((i_j[0] - i_j[1]) / span) for i_j in pairs}
        same, others = (
            np.mean([c for (i, j), c in of_pairs.items() if (index[i] == index[j]) is alike])
            for alike in (np.True_, np.False_)
        )
        excesses.append(same - others)
    assert excess_correlation(index) == pytest.approx(max(excesses, key=abs), abs=1e-14)


def in_order(rng, repeats, order):
    if order == "together":
        return np.repeat(np.arange(16), repeats)
    if order == "blocks":
        return np.concatenate([rng.permutation(16) for _ in range(repeats)])
    return rng.permutation(np.repeat(np.arange(16), repeats))


@pytest.mark.parametrize(
    ("order", "repeats", "where"),
    [("together", 4, "nearer to one another"), ("blocks", 2, "farther apart"), ("random", 4, None)],
)
def test_drifts_that_residuals_hide_are_bounded_by_the_order_of_trials(order, repeats, where):
    # A tenth of the noise drifts over eight trials; the means of 20 recordings have standard errors
    # of .006, and the note has two decimals.
    steady = trials(np.random.default_rng(4), np.arange(16), np.zeros((16, 40)))
    truth = salience(steady, self_pairs=True)
    biases, bounds = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        of_trial = in_order(rng, repeats, order)
        noise = np.sqrt(0.9) * rng.normal(size=(len(of_trial), 40))
        drift = drifting(rng, len(of_trial), np.exp(-1.0 / 8.0))
        noise += np.sqrt(0.1) * drift
        result = salience(trials(np.random.default_rng(4), of_trial, noise))
        biases.append(list(result.saliences.values())[-1] - list(truth.saliences.values())[-1])
        hidden = [note for note in result.notes if "drifted" in note]
        assert all(note.startswith(HIDDEN.format(where)) for note in hidden)
        bounds += [float(note.split("up to ")[1][:4]) for note in hidden]
    if where is None:
        assert not bounds
        assert abs(np.mean(biases)) < 0.015
    else:
        assert len(bounds) > 15
        assert 0.5 * np.mean(bounds) < abs(np.mean(biases)) < np.mean(bounds) + 0.015
