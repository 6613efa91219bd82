"""Distances behind saliences beside the crossnobis distances of rsatoolbox, and loops over runs.

Distances of rsatoolbox are divided by the number of channels. Tolerances are those of rounding in
sums over channels and runs.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from noisy_recordings import grid
from rsatoolbox.data.noise import prec_from_residuals
from rsatoolbox.rdm import calc_rdm

from partwhole.features.subsets import mask_of
from partwhole.measures import salience
from partwhole.recordings import Recording

# rsatoolbox fills descriptors that are whole numbers with NaN before it sets them.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
ROUNDING = {"rtol": 1e-9, "atol": 1e-9}


def runs_of(rng, n_values, n_runs, repeats, neurons) -> Recording:
    """Return all conditions equally often in all runs, with an offset of each run."""
    rows = grid(*n_values)
    parts = [rng.normal(size=(size, neurons)) for size in n_values]
    means = np.sum([part[column] for part, column in zip(parts, rows.T, strict=True)], axis=0)
    mixing = rng.normal(size=(neurons, neurons)) / np.sqrt(neurons)
    index = np.tile(np.repeat(np.arange(len(rows)), repeats), n_runs)
    runs = np.repeat(np.arange(n_runs), len(rows) * repeats)
    noise = rng.normal(size=(len(index), neurons)) @ mixing
    offsets = rng.normal(size=(n_runs, neurons))
    order = rng.permutation(len(index))
    responses = 3.0 + means[index] + offsets[runs] + noise
    values = tuple(tuple(f"{chr(97 + c)}{i}" for i in range(n)) for c, n in enumerate(n_values))
    names = tuple(f"part {c}" for c in range(len(n_values)))
    return Recording(responses[order], rows[index][order], names, values, groups=runs[order])


def crossnobis(recording, **options) -> np.ndarray:
    """Return squared distances of rsatoolbox, in the recording's order of conditions."""
    dataset = recording.to_rsatoolbox()
    rdms = calc_rdm(dataset, "crossnobis", "condition", cv_descriptor="groups", **options)
    place = {str(name): i for i, name in enumerate(rdms.pattern_descriptors["condition"])}
    order = [place[recording.label(i)] for i in range(recording.n_conditions)]
    return rdms.get_matrices()[0][np.ix_(order, order)] * recording.n_neurons


def by_loops(recording, precision) -> np.ndarray:
    """Return mean products of differences between two conditions in two different runs."""
    index, groups, n = recording.condition_of_trial, recording.groups, recording.n_conditions
    mean = {
        (run, c): recording.responses[(groups == run) & (index == c)].mean(axis=0)
        for run, c in product(np.unique(groups), range(n))
    }
    distances = np.zeros((n, n))
    for c, d in combinations(range(n), 2):
        products = [
            (mean[r, c] - mean[r, d]) @ precision @ (mean[s, c] - mean[s, d])
            for r, s in combinations(np.unique(groups), 2)
        ]
        distances[c, d] = distances[d, c] = np.mean(products)
    return distances


def by_overlap(recording, distances) -> list[float]:
    """Return the mean distance of different conditions with exactly each overlap."""
    rows = recording.conditions
    sums: dict[int, list[float]] = {mask: [] for mask in range((1 << rows.shape[1]) - 1)}
    for c, d in combinations(range(len(rows)), 2):
        sums[mask_of(np.flatnonzero(rows[c] == rows[d]).tolist())].append(distances[c, d])
    return [float(np.mean(entries)) for entries in sums.values()]


def distances_of(recording, **options) -> np.ndarray:
    """Return twice the differences of similarities: mean squared distances by overlap."""
    kappa = salience(recording, **options).kappa
    return 2.0 * (kappa[-1] - kappa[:-1])


@pytest.mark.parametrize(
    ("n_values", "n_runs", "repeats", "neurons"),
    [((3, 4), 5, 1, 30), ((2, 3), 2, 3, 4), ((2, 2, 3), 3, 2, 50)],
)
def test_mean_distances_by_overlap_are_those_of_crossnobis(n_values, n_runs, repeats, neurons):
    recording = runs_of(np.random.default_rng(31), n_values, n_runs, repeats, neurons)
    theirs = crossnobis(recording)
    np.testing.assert_allclose(theirs, by_loops(recording, np.eye(neurons)), **ROUNDING)
    np.testing.assert_allclose(distances_of(recording), by_overlap(recording, theirs), **ROUNDING)


def test_the_distance_of_every_two_conditions_is_that_of_crossnobis():
    recording = runs_of(np.random.default_rng(32), (3, 3), 4, 2, 20)
    theirs = crossnobis(recording)
    for c, d in combinations(range(recording.n_conditions), 2):
        pair = recording.select(np.isin(recording.condition_of_trial, [c, d]))
        (distance,) = set(distances_of(pair)[salience(pair).n_pairs[:-1] > 0])
        assert distance == pytest.approx(theirs[c, d], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("whiten", "method"), [("diagonal", "diag"), ("full", "shrinkage_eye")])
@pytest.mark.parametrize("neurons", [8, 90])
def test_whitened_distances_are_those_of_crossnobis_with_the_precision(whiten, method, neurons):
    recording = runs_of(np.random.default_rng(33), (3, 3), 4, 2, neurons)
    x, n, n_runs = recording.responses, recording.n_conditions, 4
    cell = recording.condition_of_trial * n_runs + recording.groups
    average = np.stack([x[cell == i].mean(axis=0) for i in range(n * n_runs)])
    average = average.reshape(n, n_runs, -1)
    # Noise is what sums of a condition and a run leave; these take n + runs - 1 degrees of freedom.
    fitted = average.mean(axis=1)[:, None] + average.mean(axis=0)[None] - average.mean(axis=(0, 1))
    residuals = x - fitted[recording.condition_of_trial, recording.groups]
    degrees = len(x) - n - n_runs + 1
    precision = prec_from_residuals(residuals, dof=degrees, method=method)
    theirs = crossnobis(recording, noise=precision)
    np.testing.assert_allclose(theirs, by_loops(recording, precision), **ROUNDING)
    ours = distances_of(recording, whiten=whiten)
    # Precisions of 90 neurons from 61 degrees of freedom: inverting costs a few digits.
    np.testing.assert_allclose(ours, by_overlap(recording, theirs), rtol=1e-7)


def test_blocks_of_neurons_add_up():
    rng = np.random.default_rng(34)
    first, second = (runs_of(rng, (3, 3), 3, 2, p) for p in (6, 11))
    responses = np.full((108, 17), np.nan)
    responses[:54, :6], responses[54:, 6:] = first.responses, second.responses
    recording = Recording(
        responses,
        np.vstack([first.components, second.components]),
        first.names,
        first.values,
        groups=np.concatenate([first.groups, second.groups + 3]),
        sessions=np.repeat([0, 1], 54),
    )
    distances = distances_of(recording)
    datasets = sorted(recording.to_rsatoolbox(), key=lambda dataset: dataset.n_channel)
    for part, dataset in zip((first, second), datasets, strict=True):
        np.testing.assert_array_equal(dataset.measurements, part.responses)
    theirs = [by_overlap(part, crossnobis(part)) for part in (first, second)]
    np.testing.assert_allclose(distances, np.sum(theirs, axis=0), **ROUNDING)
