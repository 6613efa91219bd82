"""Intervals where conditions have unequal trials: those of one with few count as few."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.measures.abstraction import parallelism
from partwhole.measures.dimensions import participation_ratio
from partwhole.measures.marginal_variances import marginal_variances
from partwhole.measures.recorded_dimensions import recorded_dimensions
from partwhole.measures.shared_recordings import shared_recordings
from partwhole.recordings import from_trials

GRID = np.array([[a, b] for a in range(2) for b in range(2)])
MEASURES = {
    "parallelism": lambda recording, level: parallelism(
        recording, repetitions=0, confidence=level
    ).interval[0],
    "dimensions": lambda recording, level: np.log(
        recorded_dimensions(recording, confidence=level).interval
    ),
    "variances": lambda recording, level: marginal_variances(recording, confidence=level).intervals[
        (0,)
    ],
    "shared": lambda recording, level: (
        shared_recordings(recording, recording, confidence=level).interval
    ),
}


@pytest.mark.parametrize("name", MEASURES)
def test_a_condition_with_two_trials_has_the_degrees_of_two_trials(name):
    """Noise of the others is nearly none, so that its single degree of freedom is what counts."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(4, 30)) + rng.normal(size=(2, 30))[GRID[:, 0]]
    index = np.repeat(np.arange(4), [2, 40, 40, 40])
    noise = rng.normal(size=(len(index), 30)) * np.array([0.3, 1e-4, 1e-4, 1e-4])[index, None]
    recording = from_trials(means[index] + noise, GRID[index])
    wide, narrow = (np.ptp(MEASURES[name](recording, level)) for level in (0.95, 0.5))
    # Student's t with one degree of freedom is the tangent of the quantile's angle.
    expected = np.tan(0.475 * np.pi) / np.tan(0.25 * np.pi)
    assert wide / narrow == pytest.approx(expected, rel=0.01)


def test_intervals_of_dimensions_cover_with_unequal_trials():
    grid = np.array([[a, b] for a in range(4) for b in range(4)])
    counts = np.random.default_rng(1).permutation(np.repeat([20, 2], [4, 12]))
    index, covered = np.repeat(np.arange(16), counts), 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        means = rng.normal(size=(4, 60))[grid[:, 0]] + rng.normal(size=(4, 60))[grid[:, 1]]
        means += 0.5 * rng.normal(size=(16, 60))
        noisy = means[index] + 2.0 * rng.normal(size=(len(index), 60))
        low, high = recorded_dimensions(from_trials(noisy, grid[index])).interval
        covered += low <= participation_ratio(means, center=True) <= high
    # Of intervals that cover in 95 %, fewer are seen once in 1,000 runs.
    assert covered >= 51
