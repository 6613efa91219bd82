"""The interval of structure covers that of noise-free means, and says where there is none."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.measures import salience
from partwhole.measures._offsets import group_offsets
from partwhole.measures.structure_interval import _parts_of, structure_interval
from partwhole.recordings import from_trials

GRID = np.array(list(product(range(4), range(4))))


def means_of(rng, n_neurons=60, conjunction=0.6, graded=False):
    distance = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    mix = np.linalg.cholesky(np.exp(-distance)) if graded else np.eye(4)
    parts = sum((mix @ rng.normal(size=(4, n_neurons)))[column] for column in GRID.T)
    return parts + conjunction * rng.normal(size=(16, n_neurons))


def noisy(rng, means, repeats, noise, rows=GRID):
    of_trial = np.repeat(np.arange(len(rows)), repeats)
    responses = means[of_trial]
    return responses + noise * rng.normal(size=responses.shape), rows[of_trial]


def structure_of(means, rows=GRID):
    return salience(means, rows, self_pairs=True, bootstrap=0).structure


@pytest.mark.parametrize(
    ("n_neurons", "repeats", "noise", "graded"),
    [(60, 5, 1.5, False), (200, 4, 2.0, True), (30, 10, 2.0, False)],
)
def test_intervals_cover_the_structure_without_noise(n_neurons, repeats, noise, graded):
    rng, n = np.random.default_rng(3), 40
    covered = lacking = 0
    for _ in range(n):
        means = means_of(rng, n_neurons, graded=graded)
        low, high = structure_interval(from_trials(*noisy(rng, means, repeats, noise)))
        lacking += np.isnan(low)
        covered += low <= structure_of(means) <= high
    given = n - lacking
    assert given > 0.9 * n
    # 95 % less three standard errors.
    assert covered > (0.95 - 3.0 * np.sqrt(0.95 * 0.05 / given)) * given


def test_intervals_are_no_wider_than_estimates_vary():
    rng = np.random.default_rng(4)
    means = means_of(rng, 200)
    # Most of the variance is of products of noise, which a plain jackknife counts four times.
    recordings = [from_trials(*noisy(rng, means, 6, 3.0)) for _ in range(60)]
    estimates = [salience(recording, bootstrap=0).structure for recording in recordings]
    # Widths vary by a tenth.
    widths = [high - low for low, high in map(structure_interval, recordings[:12])]
    ratio = np.median(widths) / np.std(estimates)
    assert 3.4 < ratio < 5.2


@pytest.mark.parametrize("repeats", [np.arange(16) % 4 + 4, 8])
def test_changes_are_those_of_recordings_without_a_trial(repeats):
    rng = np.random.default_rng(5)
    responses, rows = noisy(rng, means_of(rng, 25), repeats, 1.5)
    parts = _parts_of(from_trials(responses, rows), "none")
    assert parts is not None
    estimate = salience(from_trials(responses, rows), bootstrap=0).structure
    assert parts.value[0] / parts.value[1] == pytest.approx(estimate)
    without, left = [], range(0, len(rows), 5)
    for trial in left:
        kept = np.arange(len(rows)) != trial
        without.append(salience(from_trials(responses[kept], rows[kept]), bootstrap=0).structure)
    changed = parts.value + parts.changes[list(left)]
    exact, approximate = np.array(without) - estimate, changed[:, 0] / changed[:, 1] - estimate
    np.testing.assert_allclose(approximate, exact, atol=0.05 * np.abs(exact).max())


@pytest.mark.parametrize(
    "change", [lambda x: 1e-9 * x, lambda x: 1e6 * x, lambda x: x + 100.0, lambda x: x[:, ::-1]]
)
def test_intervals_have_no_unit_and_no_offset(change):
    rng = np.random.default_rng(6)
    responses, rows = noisy(rng, means_of(rng), 5, 2.0)
    interval = structure_interval(from_trials(responses, rows))
    assert interval[0] < interval[1]
    changed = structure_interval(from_trials(change(responses), rows))
    np.testing.assert_allclose(changed, interval, rtol=1e-6)


def test_more_neurons_than_trials_and_three_components():
    rng = np.random.default_rng(7)
    rows = np.array(list(product(range(3), repeat=3)))
    means = np.sum([rng.normal(size=(3, 900))[column] for column in rows.T], axis=0)
    means += 0.5 * rng.normal(size=means.shape)
    low, high = structure_interval(from_trials(*noisy(rng, means, 4, 2.0, rows)))
    assert low < structure_of(means, rows) < high
    assert high - low < 0.1


def test_a_part_of_the_conditions_stands_for_all():
    rng = np.random.default_rng(8)
    rows = np.array(list(product(range(10), range(10))))
    means = sum(rng.normal(size=(10, 40))[column] for column in rows.T)
    few, many = (
        np.diff(structure_interval(from_trials(*noisy(rng, means, n, 3.0, rows))))[0]
        for n in (9, 12)
    )
    # Products of all trials, then of those of a half of the conditions.
    assert 0.6 < many / few < 1.0


def test_recordings_without_noise_have_no_width():
    means = means_of(np.random.default_rng(9))
    interval = structure_interval(from_trials(np.repeat(means, 3, axis=0), GRID.repeat(3, axis=0)))
    np.testing.assert_allclose(interval, structure_of(means), rtol=1e-6)


def test_too_few_trials_have_no_interval():
    rng = np.random.default_rng(10)
    means = means_of(rng)
    repeats = np.full(16, 4)
    repeats[5] = 2
    for counts in (repeats, 2):
        recording = from_trials(*noisy(rng, means, counts, 1.0))
        assert np.isfinite(salience(recording, bootstrap=0).structure)
        assert np.isnan(structure_interval(recording)).all()
    # Structure leaves out a condition with a single trial.
    repeats[5] = 1
    low, high = structure_interval(from_trials(*noisy(rng, means, repeats, 1.0)))
    assert low < high


def test_noise_and_single_components_have_no_interval():
    rng = np.random.default_rng(11)
    for _ in range(20):
        recording = from_trials(*noisy(rng, 0.0 * means_of(rng), 5, 1.0))
        assert np.isnan(structure_interval(recording)).all()
    rows = np.repeat(np.arange(5), 6)[:, None]
    alone = from_trials(rng.normal(size=(5, 20))[rows[:, 0]] + rng.normal(size=(30, 20)), rows)
    assert np.isnan(structure_interval(alone)).all()


def test_groups_are_left_out_as_a_whole():
    rng, covered, alone = np.random.default_rng(12), 0, 0
    group, rows = np.tile(np.arange(6), 16), np.repeat(np.arange(16), 6)
    for _ in range(30):
        means = means_of(rng)
        noise = rng.normal(size=(96, 60)) + rng.normal(size=(6, 60))[group]
        recording = from_trials(means[rows] + noise, GRID[rows], groups=group)
        low, high = structure_interval(recording)
        covered += low <= structure_of(means) <= high
        alone += np.isnan(structure_interval(from_trials(
            means[rows] + noise, GRID[rows], groups=group % 2))).all()  # fmt: skip
    assert covered >= 25
    assert alone == 30


def test_several_sessions_have_the_interval_of_their_pseudo_trials():
    rng = np.random.default_rng(13)
    responses, rows = noisy(rng, means_of(rng), 10, 1.0)
    session = np.tile([0, 1], 80)
    responses[session == 0, :30] = np.nan
    responses[session == 1, 30:] = np.nan
    recording = from_trials(responses, rows, sessions=session)
    low, high = structure_interval(recording)
    assert low < salience(recording, bootstrap=0).structure < high
    assert (low, high) == structure_interval(recording.pseudo_trials())


def test_whitened_intervals_are_of_whitened_structure():
    rng = np.random.default_rng(14)
    responses, rows = noisy(rng, means_of(rng), 10, 0.5)
    responses[:, 0] *= 30.0
    recording = from_trials(responses, rows)
    low, high = structure_interval(recording, whiten="diagonal")
    assert low < salience(recording, bootstrap=0, whiten="diagonal").structure < high
    assert salience(recording, bootstrap=0).structure < low


def test_arrays_are_refused():
    with pytest.raises(InputError, match=re.escape("recording is a Recording; got ")) as error:
        structure_interval(np.zeros((4, 3)))  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def test_conditions_that_runs_lack_are_no_offset_of_theirs():
    # A fifth of the trials rejected, runs with offsets: the mean of twelve structures has a
    # standard error of .02, where conditions that all runs have by chance were the origin it is
    # .45 too low.
    apart, covered = [], 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        means = means_of(rng)
        runs, conditions = np.divmod(np.arange(128), 16)
        responses = means[conditions] + rng.normal(size=(8, 60))[runs]
        responses = responses + 1.5 * rng.normal(size=responses.shape)
        kept = rng.random(128) >= 0.2
        recording = from_trials(responses[kept], GRID[conditions[kept]], groups=runs[kept])
        truth = structure_of(means)
        low, high = structure_interval(recording)
        apart.append(salience(recording).structure - truth)
        covered += low <= truth <= high
    assert abs(np.mean(apart)) < 0.06
    assert covered >= 10


def test_offsets_are_those_that_were_added_whatever_conditions_a_group_lacks():
    rng = np.random.default_rng(0)
    offsets, means = rng.normal(size=(5, 3)), rng.normal(size=(6, 3))
    counts = rng.integers(0, 4, size=(5, 6)).astype(float)
    cells = np.where(counts[..., None] > 0, means + offsets[:, None], np.nan)
    fitted = group_offsets(cells, counts)
    np.testing.assert_allclose(fitted - fitted[0], offsets - offsets[0], atol=1e-12)
    # Groups that share no condition with others keep what sets them apart.
    blocked = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    fitted = group_offsets(np.broadcast_to(offsets[:3, None], (3, 3, 3)), blocked)
    np.testing.assert_allclose(fitted[2], 0.0, atol=1e-12)
    np.testing.assert_allclose(fitted[0] - fitted[1], offsets[0] - offsets[1], atol=1e-12)


@pytest.mark.parametrize("lacking", [0.0, 0.2])
def test_structure_of_groups_is_that_of_a_fit_of_offsets(lacking):
    rng = np.random.default_rng(15)
    # A triangle of conditions: the centre is that of sums of parts.
    triangle = GRID[GRID[:, 0] + GRID[:, 1] < 5]
    runs, conditions = np.divmod(np.arange(6 * len(triangle)), len(triangle))
    responses = rng.normal(size=(len(runs), 30)) + means_of(rng, 30)[conditions]
    responses = responses + 2.0 * rng.normal(size=(6, 30))[runs]
    kept = rng.random(len(runs)) >= lacking
    responses, runs, conditions = responses[kept], runs[kept], conditions[kept]
    indicators = np.hstack([np.eye(6)[runs], np.eye(len(triangle))[conditions]])
    offsets = np.linalg.lstsq(indicators, responses)[0][:6]
    grouped = from_trials(responses, triangle[conditions], groups=runs)
    aligned = from_trials(responses - offsets[runs], triangle[conditions])
    assert salience(grouped).structure == pytest.approx(salience(aligned).structure)


def test_sessions_are_combined_without_what_runs_add():
    rng = np.random.default_rng(16)
    means = means_of(rng)
    runs, conditions = np.divmod(np.arange(160), 16)
    responses = means[conditions] + rng.normal(size=(160, 60))
    responses += 3.0 * rng.normal(size=(10, 60))[runs]
    day = runs // 5
    responses[day == 0, :30] = responses[day == 1, 30:] = np.nan
    recording = from_trials(responses, GRID[conditions], groups=runs, sessions=day)
    low, high = structure_interval(recording)
    assert low < structure_of(means) < high
    assert low < salience(recording).structure < high
