"""Spread of readouts between training sets: intervals of accuracies, and notes."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm

from partwhole.measures import held_out_readouts, predict_readout
from partwhole.measures.readouts.spread import accuracy_intervals
from partwhole.recordings import from_trials

GRID = np.array(list(product(range(4), range(4))))
SUMS = GRID.sum(axis=1) - 3.0
CORNER = (GRID >= 2).all(axis=1)


def trials_of(rng, p, repeats, noise):
    parts = [np.sqrt(share) * rng.normal(size=(size, p))
             for share, size in zip((0.4, 0.4, 0.2), (4, 4, 16), strict=True)]  # fmt: skip
    means = parts[0][GRID[:, 0]] + parts[1][GRID[:, 1]] + parts[2]
    index = np.repeat(np.arange(16), repeats)
    return means, means[index] + noise * rng.normal(size=(len(index), p)), index


def test_intervals_of_accuracies_are_those_of_normal_answers():
    # Of two labels shares mix binomial counts over normal means: quantiles by quadrature, within
    # two counts of 40 (512 draws).
    mean, between, within, trials = 0.7, 0.09, 1.0, 40
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    shares = norm.cdf((mean + np.sqrt(between) * points) / np.sqrt(within))
    mass = (weights / weights.sum()) @ binom.pmf(np.arange(trials + 1), trials, shares[:, None])
    ends = np.searchsorted(np.cumsum(mass), [0.025, 0.975]) / trials
    two = accuracy_intervals(
        np.array([[mean], [-mean]]), np.full((2, 1, 1), between), np.full((2, 1, 1), within),
        np.full(2, trials), np.array([1, 0]),
    )  # fmt: skip
    np.testing.assert_allclose(two, [ends, ends], atol=2.0 / trials)
    # The larger of two outputs of opposite sign is the same decision.
    signs = np.array([[-1.0, 1.0]])
    covariance = signs.T @ signs
    several = accuracy_intervals(
        mean * signs, between * covariance[None], within * covariance[None], np.array([trials]),
        np.array([1]),
    )  # fmt: skip
    np.testing.assert_allclose(several[0], ends, atol=3.0 / trials)


def test_measured_accuracies_lie_in_their_intervals():
    # 95 % by construction for fresh trials; predictions rest on the same ones, which helps. Of
    # 32 x 12 rows, correlated within a recording, fewer than .92 would be too few.
    inside = []
    for seed in range(12):
        _, responses, index = trials_of(np.random.default_rng(seed), 40, 10, 2.0)
        readouts = held_out_readouts(from_trials(responses, GRID[index]))
        low, high = np.moveaxis(readouts.accuracy_interval, 2, 0)
        inside.append((low <= readouts.measured_accuracy) & (readouts.measured_accuracy <= high))
        assert np.all(low <= readouts.accuracy + 1e-9)
    assert np.mean(inside) > 0.92
    frame = readouts.to_frame()
    np.testing.assert_array_equal(frame["accuracy of component 0, low"], low[:, 0])


def test_close_to_as_many_neurons_as_trials_the_result_says_so():
    # The fact's case: 200 neurons, 240 training trials, hardly any penalty.
    _, responses, index = trials_of(np.random.default_rng(3), 200, 20, 1.0)
    train = ~CORNER[index]
    readout = predict_readout(responses, GRID[index], SUMS[index], train, ridge=1e-3)
    (note,) = readout.notes
    match = re.search(
        r"vary between training sets by (\S+), .* of the deviation of targets.* 200 features are "
        r"about as many as 240 training trials: with ridge=(\S+) expected errors are (\S+), not",
        note,
    )
    assert match is not None
    spread, ridge, error = (float(text) for text in match.groups())
    variances = readout.between[readout.held_out, 0, 0]
    assert spread == pytest.approx(np.sqrt(variances.mean()), abs=0.01)
    larger = predict_readout(responses, GRID[index], SUMS[index], train, ridge=ridge)
    held_out = larger.held_out
    squares = (larger.predicted - larger.targets)[held_out, 0] ** 2
    squares += larger.between[held_out, 0, 0]
    # Two digits are printed.
    assert error == pytest.approx(np.sqrt(squares.mean()), rel=0.05)
    # Few neurons, or a larger penalty: nothing to say.
    few = predict_readout(responses[:, :20], GRID[index], SUMS[index], train, ridge=1e-3)
    assert (few.notes, larger.notes) == ((), ())
    # Labels have shares, which vary less, but here they do.
    labels = GRID[index, 0]
    by_label = predict_readout(responses, GRID[index], labels, train, ridge=1e-3)
    assert "200 features are about as many as 240 training trials" in by_label.notes[0]
    few = predict_readout(responses[:, :20], GRID[index], labels, train, ridge=1e-3)
    assert few.notes == ()


def test_conditions_held_out_one_by_one_say_so_too():
    # As many neurons as training trials: answers are off by several times the targets' deviation.
    means, responses, index = trials_of(np.random.default_rng(4), 60, 4, 2.0)
    recording = from_trials(responses, GRID[index])
    readouts = held_out_readouts(recording, SUMS[index], ridge=1e-3)
    (note,) = readouts.notes
    assert "60 features are about as many as 60 training trials: with ridge=" in note
    match = re.search(r"ridge=(\S+) expected errors are (\S+), not (\S+)$", note)
    assert match is not None
    ridge, error, now = (float(text) for text in match.groups())
    assert error < 0.5 * now
    better = held_out_readouts(recording, SUMS[index], ridge=ridge)
    assert better.notes == () or "with ridge" not in better.notes[0]

    def off(readouts):
        return np.sqrt(np.mean((readouts.measured - readouts.targets) ** 2))

    assert off(better) < 0.5 * off(readouts)
    # Labels have verdicts for it.
    assert held_out_readouts(recording, ridge=1e-3).notes == ()
    assert means.shape == (16, 60)
