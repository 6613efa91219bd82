"""Paths through concept space: errors, speed, accuracies, learning times, turns and bumps."""

from __future__ import annotations

from inspect import unwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from partwhole._checks import InputError
from partwhole.measures import swing
from partwhole.measures.concepts import PUBLISHED, RAW, Smoothing, concept_path
from partwhole.measures.concepts._readings import PathOutcome
from partwhole.measures.concepts.turning import initial_heading, turning_point

READINGS = hnp.arrays(
    float,
    st.tuples(st.integers(1, 3), st.integers(2, 9), st.integers(1, 4), st.integers(1, 3)),
    # Numbers that have a square; smaller ones alone are refused.
    elements=st.floats(0, 1).map(lambda x: x if x > 1e-100 else 0.0),
)


def gaussian_weights(n, deviation, truncate):
    """Weights of a Gaussian over n records, those beyond the ends put back mirrored."""
    reach = int(truncate * deviation + 0.5)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    kernel /= kernel.sum()
    weights = np.zeros((n, n))
    for i in range(n):
        for offset, weight in zip(range(-reach, reach + 1), kernel, strict=True):
            j = (i + offset) % (2 * n)
            weights[i, min(j, 2 * n - 1 - j)] += weight
    return weights


def binary(level, images, seed):
    """Draw readings 0 and 1 whose chance is a level of shape (T, C)."""
    chance = np.random.default_rng(seed).uniform(size=(len(level), images, level.shape[1]))
    return (chance < level[:, None]).astype(float)


@given(READINGS, st.booleans())
def test_every_curve_is_what_its_formula_says(readings, smoothed):
    _, n, _, concepts = readings.shape
    steps = np.cumsum(np.arange(1.0, n + 1))
    target = np.arange(concepts) % 2.0
    path = concept_path(steps, readings, target=target, smoothing=PUBLISHED if smoothed else RAW)
    weights = {
        name: gaussian_weights(n, deviation, 6) if smoothed else np.eye(n)
        for name, deviation in (("path", 2.0), ("accuracy", 1.0), ("speed", 1.5))
    }
    means = readings.mean(axis=2)
    by_run = np.einsum("ts,rsc->rtc", weights["path"], means)
    error = ((by_run.mean(axis=0) - target) ** 2).mean(axis=1)
    # Sums of at most some hundred numbers in 0..1.
    close = dict(rtol=0, atol=1e-12)
    np.testing.assert_allclose(path.mean, by_run.mean(axis=0), **close)
    np.testing.assert_allclose(path.error_of_mean, error, **close)
    np.testing.assert_allclose(path.mean_error, ((by_run - target) ** 2).mean(axis=(0, 2)), **close)
    right = 1 - np.abs(means - target)
    np.testing.assert_allclose(
        path.product_accuracy, weights["accuracy"] @ right.prod(axis=2).mean(axis=0), **close
    )
    np.testing.assert_allclose(
        path.additive_accuracy, weights["accuracy"] @ right.mean(axis=(0, 2)), **close
    )
    rate = np.gradient(means.mean(axis=0), steps, axis=0)
    speed = weights["speed"] @ np.sqrt((rate**2).sum(axis=1))
    np.testing.assert_allclose(path.speed, speed, **close)
    # A square of a mean is at most the mean of squares.
    assert (path.error_of_mean <= path.mean_error + 1e-12).all()
    assert (path.mean_error <= path.image_error + 1e-12).all()
    assert (path.product_accuracy <= path.additive_accuracy + 1e-12).all()
    assert path.to_frame().shape == (n, concepts + 7)


def test_published_smoothing_by_name():
    assert Smoothing() == PUBLISHED
    published = (PUBLISHED.path, PUBLISHED.accuracy, PUBLISHED.speed, PUBLISHED.learning)
    assert (*published, PUBLISHED.truncate) == (2.0, 1.0, 1.5, 1.5, 6.0)
    x = np.random.default_rng(0).uniform(size=(6, 2))
    np.testing.assert_array_equal(concept_path(np.arange(6), x, smoothing=RAW).mean, x)


def test_shapes_agree_and_order_does_not_matter():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(3, 8, 5, 2))
    steps = np.arange(8)
    before = x.copy()
    whole = concept_path(steps, x)
    np.testing.assert_array_equal(x, before)
    one = concept_path(steps, x[0])
    np.testing.assert_array_equal(one.mean, whole.by_run[0])
    np.testing.assert_allclose(
        concept_path(steps, x[0].mean(axis=1)).error_of_mean, one.error_of_mean, atol=1e-15
    )
    shuffled = concept_path(steps, x[::-1][:, :, ::-1])
    np.testing.assert_allclose(shuffled.mean_error, whole.mean_error, atol=1e-15)
    swapped = concept_path(steps, x[..., ::-1])
    np.testing.assert_allclose(swapped.mean, whole.mean[:, ::-1], atol=1e-15)
    # Turning every concept's values round turns the target.
    turned = concept_path(steps, 1 - x, target=np.zeros(2))
    np.testing.assert_allclose(turned.error_of_mean, whole.error_of_mean, atol=1e-14)
    single = concept_path(steps, x.astype(np.float32))
    np.testing.assert_allclose(single.mean, whole.mean, atol=1e-6)


def test_runs_that_err_to_both_sides_cancel_only_in_the_error_of_the_mean():
    x = np.zeros((2, 5, 3, 1))
    x[1] = 1.0
    path = concept_path(np.arange(5), x, target=np.array([0.5]), smoothing=RAW)
    assert path.error_of_mean.tolist() == [0.0] * 5
    assert path.mean_error.tolist() == [0.25] * 5
    path = concept_path(np.arange(5), x, smoothing=RAW)
    assert path.error_of_mean.tolist() == [0.25] * 5
    assert path.mean_error.tolist() == [0.5] * 5


def test_learning_times_are_of_the_third_rule():
    steps = np.array([0, 10, 30, 70, 150, 310, 630])
    blue = [0.95, 0.1, 0.95, 0.95, 0.9, 0.95, 0.95]  # at the threshold is not above it
    small = [0.1, 0.2, 0.92, 0.93, 0.91, 0.5, 0.99]
    path = concept_path(steps, np.array([blue, small]).T, smoothing=RAW)
    assert path.learning_times().tolist() == [np.inf, 30.0]
    assert path.learning_times(consecutive=2).tolist() == [30.0, 30.0]
    assert path.learning_times(consecutive=1).tolist() == [0.0, 30.0]
    assert "Learned, right for 3 checkpoints in a row: concept 0 not by the end, 1 at step 30." in (
        path.describe()
    )
    smoothed = concept_path(steps, np.array([blue, small]).T).describe()
    assert smoothed.startswith("1 run, 7 checkpoints, 1 image, 2 concepts, smoothed over neighb")
    assert path.describe().startswith("1 run, 7 checkpoints, 1 image, 2 concepts.")
    lost = concept_path(steps, 1 - np.array([blue, small]).T, target=np.zeros(2), smoothing=RAW)
    assert lost.learning_times().tolist() == [np.inf, 30.0]


def test_a_right_angle_is_found_where_it_is():
    # Along one axis with 8 steps of length 1/8, then along the other.
    leg = np.linspace(0.0, 1.0, 9)
    path = np.concatenate([np.stack([0 * leg, leg], 1), np.stack([leg, 1 + 0 * leg], 1)[1:]])
    steps = np.arange(17.0) ** 2
    found = turning_point(steps, path)
    assert (found.index, found.step) == (8, 64.0)
    assert found.angle == pytest.approx(90.0, abs=1e-9)
    assert found.score == pytest.approx(np.pi / 2 * 3 / 8, rel=1e-12)
    assert found.point.tolist() == [0.0, 1.0]
    assert np.isnan(found.scores[[0, 1, 2, -3, -2, -1]]).all()
    # One record off, the ways are (0, 3)/8 and (2, 1)/8.
    expected = np.arccos(1 / np.sqrt(5)) * np.sqrt(5) / 8
    assert found.scores[7] == pytest.approx(expected, rel=1e-9)
    turned = turning_point(steps, path @ np.array([[0.6, 0.8], [-0.8, 0.6]]))
    np.testing.assert_allclose(turned.scores, found.scores, atol=1e-7)  # arccos near 1
    assert concept_path(steps, path, smoothing=RAW).turning_point().index == 8


def test_nothing_turns_on_a_short_path_or_at_rest():
    rng = np.random.default_rng(0)
    for path in (rng.uniform(size=(6, 2)), np.full((20, 2), 0.5)):
        found = turning_point(np.arange(len(path)), path.astype(float))
        assert found.index == -1
        assert np.isnan([found.step, found.angle, found.score]).all()


@pytest.mark.parametrize("corner", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_the_heading_is_towards_the_corner_it_goes_to(corner):
    rng = np.random.default_rng(1)
    start = np.array([0.5, 0.5])
    way = np.linspace(0, 1, 21)[:, None] * (np.array(corner) - start)
    path = np.clip(start + way * [1.0, 0.8] + 0.01 * rng.standard_normal((21, 2)), 0, 1)
    found = initial_heading(np.arange(21.0), path)
    assert found.corner.tolist() == list(corner)
    assert found.first == 0
    far = np.linalg.norm(path - path[0], axis=1) > 0.2
    assert found.step == np.flatnonzero(far)[0]
    assert found.cosine > 0.97  # the way's slope of .8 alone has .9939
    still = initial_heading(np.arange(21.0), path, radius=3)
    assert still.step == np.inf


def test_a_path_from_a_corner_heads_for_another():
    path = np.linspace(0, 1, 11)[:, None] * np.array([1.0, 0.1, 0.0])
    found = initial_heading(np.arange(11.0), path)
    assert (found.corner.tolist(), found.first) == ([1, 0, 0], 0)
    rest = initial_heading(np.arange(4.0), np.zeros((4, 2)))
    assert np.isfinite(rest.cosine) or np.isnan(rest.cosine)


def swinging(amount, n=30):
    """Return levels of two concepts, of which the first is lost again by an amount."""
    t = np.arange(float(n))
    size = 1 / (1 + np.exp(-(t - 4) / 1.5))
    return np.stack([0.8 - amount * np.exp(-(((t - 15) / 4) ** 2)) + 0.15 * t / n, size], axis=1)


def test_the_bump_is_the_swing_of_the_error():
    level = swinging(0.5)
    steps = np.arange(30) * 100
    path = concept_path(steps, binary(level, 64, 0))
    found = path.bump(seed=3)
    assert found.amplitude == swing(steps, path.error_of_mean).amplitude
    start, end = (
        np.flatnonzero(steps == t)[0] for t in (found.swing.minimum_time, found.swing.maximum_time)
    )
    assert path.error_of_mean[end] - path.error_of_mean[start] == found.amplitude
    # The level is lowest at record 15.
    assert start < 15
    assert abs(end - 15) <= 2
    assert found.clear
    assert 0 < found.low < found.amplitude < found.high
    assert "above the" in found.describe()
    assert path.bump(seed=3).to_frame().equals(found.to_frame())
    assert path.bump(seed=4).noise != found.noise
    wide = path.bump(seed=3, confidence=0.99)
    assert wide.low < found.low
    assert wide.noise > found.noise


def test_noise_alone_is_seldom_a_bump_and_a_bump_is_seen():
    steps = np.arange(30)

    def clear(level, images):
        found = [
            concept_path(steps, binary(level, images, s)).bump(resamples=100, seed=s).clear
            for s in range(40)
        ]
        return sum(found)

    # At a rate of .09, the largest measured on 80 others, more than 9 of 40 come once in 300.
    assert clear(np.full((30, 2), 0.5), 64) <= 9
    assert clear(swinging(0.0), 16) <= 9
    assert clear(swinging(0.5), 64) == 40


def test_more_images_leave_less_noise_and_one_leaves_it_unknown():
    level = np.full((20, 2), 0.6)
    few, many = (concept_path(np.arange(20), binary(level, n, 0)).bump().noise for n in (16, 1024))
    # An error's noise is that of a mean, so an eighth of it; the bootstrap of 16 is loose.
    assert 4 < few / many < 16
    alone = concept_path(np.arange(20), swinging(0.5, 20)).bump()
    assert not alone.clear
    assert np.isnan([alone.noise, alone.low, alone.high]).all()
    assert "single readings" in alone.describe()
    rising = concept_path(np.arange(20), np.linspace(0, 1, 20)[:, None], smoothing=RAW)
    assert rising.bump().describe() == "The error never rises."


def test_refusals_say_rule_got_and_remedy():
    x, steps = np.full((4, 2), 0.5), np.arange(4.0)
    path, bare = concept_path(steps, x), unwrap(concept_path)
    cases = [
        (lambda: concept_path(steps, 3 * x), r"coordinates are in 0..1; got 1.5..1.5; pass proba"),
        (lambda: concept_path(steps, x * np.inf), "in 0..1; got inf..inf; pass"),
        (lambda: concept_path(steps[:0], x[:0]), r"is not empty; got shape \(0,\); pass at"),
        (lambda: concept_path(steps, x[:, 0]), "with images between them .*; got 1 axes; reshape"),
        (lambda: concept_path(steps[:3], x), r"one step for each of the T .*got 3 steps for"),
        (lambda: concept_path(-steps, x), "times increase from record to record; got -0 before"),
        (lambda: bare(steps, x, target=np.ones(3)), r"target has one .*; got shape \(3,\) for 2"),
        (lambda: concept_path(steps, x, target=np.array([2.0, 0])), r"target is in 0..1; got \[2"),
        (lambda: concept_path(steps, x, smoothing=0), "smoothing is a Smoothing; got 0; pass a S"),
        (
            lambda: Smoothing(path=-1),
            r"path is a finite number from 0 to 1e\+06; got -1; pass a number from 0 to 1e\+06, or",
        ),
        (lambda: Smoothing(truncate=0), "truncate is a finite number above 0; got 0; pass"),
        (lambda: path.learning_times(1.5), "at least 0 and below 1; got 1.5; pass a number"),
        (
            lambda: path.learning_times(consecutive=5),
            "among 1..4; got 5; pass consecutive=4 or le",
        ),
        (lambda: path.turning_point(window=0), "window is a whole number of at least 1; got 0; p"),
        (lambda: path.initial_heading(radius=0), "radius is a finite number above 0; got 0; pass"),
        (lambda: initial_heading(steps, np.zeros((4, 17))), "1 to 16 concepts; got 17; pass path"),
        (lambda: path.bump(resamples=9), "resamples is a whole number of at least 100; got 9; p"),
        (lambda: path.bump(confidence=1), "is a finite number above 0 and below 1; got 1; pass"),
        (lambda: path.bump(seed=-1), "seed is a whole number of at least 0; got -1; pass a whole"),
        (lambda: concept_path(steps[:1], x[:1]).speed, "a speed needs 2 checkpoints; got 1; rec"),
    ]
    for refused, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            refused()


def sparse(readings, share, seed):
    """Return readings without a share of the images, both coordinates of each."""
    is_missing = np.random.default_rng(seed).uniform(size=readings.shape[:-1]) < share
    return np.where(is_missing[..., None], np.nan, readings)


STEPS = np.arange(20.0) * 100
BLUE = 0.5 + 0.4 * np.cos(2 * np.pi * STEPS / 1900)
LEVEL = np.stack([BLUE, 1 / (1 + np.exp(3 - STEPS / 100))], axis=1)


def test_images_that_are_abstained_on_are_no_readings():
    """Not of one half, which was followed as data: means are those of the other images."""
    whole = binary(LEVEL, 200, 0)
    readings = sparse(whole, 0.3, 1)
    path = concept_path(STEPS, readings, smoothing=RAW)
    assert path.outcome is PathOutcome.FOLLOWED
    np.testing.assert_allclose(path.mean, np.nanmean(readings, axis=1), atol=1e-12)
    is_missing = np.isnan(readings[..., 0])
    np.testing.assert_allclose(path.abstained, [is_missing.mean(axis=1)])
    each = [np.mean((readings[t, ~is_missing[t]] - 1.0) ** 2) for t in range(len(STEPS))]
    np.testing.assert_allclose(path.image_error, each, atol=1e-12)
    # As many images that are there, alone.
    kept = np.stack([whole[t, ~is_missing[t]][:120] for t in range(len(STEPS))])
    bump, alone = path.bump(), concept_path(STEPS, kept, smoothing=RAW).bump()
    assert bump.clear
    assert alone.clear
    assert bump.noise == pytest.approx(alone.noise, rel=0.35)
    share = f"Abstained on {is_missing.mean():.0%} of the images of 20 checkpoints"
    assert f"{share}, of which 20 are read: followed at every checkpoint." in path.describe()


def test_half_an_image_is_none():
    readings = binary(LEVEL, 50, 0)
    either, both = readings.copy(), readings.copy()
    either[:, :10, 0] = np.nan
    both[:, :10] = np.nan
    one, other = (concept_path(STEPS, part) for part in (either, both))
    np.testing.assert_array_equal(one.mean, other.mean)


def test_checkpoints_that_are_mostly_abstained_on_are_left_out():
    """Of noise, say, before a model has learned shapes; as if they had not been recorded."""
    readings = np.stack([binary(LEVEL, 50, seed) for seed in (0, 1)])
    readings[1, :6] = sparse(readings[1, :6], 0.9, 1)
    path, later = concept_path(STEPS, readings), concept_path(STEPS[6:], readings[:, 6:])
    assert path.outcome is PathOutcome.FOLLOWED_IN_PART
    assert path.steps.tolist() == STEPS[6:].tolist()
    assert path.recorded_steps.tolist() == STEPS.tolist()
    np.testing.assert_array_equal(path.mean, later.mean)
    assert path.bump().amplitude == later.bump().amplitude
    assert path.abstained.shape == (2, 20)
    assert "of which 14 are read: followed at the checkpoints at which at most" in path.describe()
    # Exactly half of them are still read.
    half = readings[0].copy()
    half[0, :25] = np.nan
    assert concept_path(STEPS, half).outcome is PathOutcome.FOLLOWED
    half[0, 25] = np.nan
    assert concept_path(STEPS, half).outcome is PathOutcome.FOLLOWED_IN_PART


@pytest.mark.parametrize("share", [0.72, 0.94, 1.0])
def test_a_path_that_cannot_be_followed_has_no_numbers(share):
    path = concept_path(STEPS, sparse(binary(LEVEL, 200, 0), share, 2))
    assert path.outcome is PathOutcome.NOT_FOLLOWED
    assert not path.is_followed
    curves = ("mean", "error_of_mean", "mean_error", "image_error", "speed", "product_accuracy")
    for curve in (*curves, "additive_accuracy", "concept_accuracy", "error_by_run"):
        assert np.isnan(getattr(path, curve)).all()
    assert np.isnan(path.learning_times()).all()
    bump, turn, heading = path.bump(), path.turning_point(), path.initial_heading()
    assert np.isnan([bump.amplitude, bump.low, bump.noise, turn.step, heading.step]).all()
    assert (bump.clear, turn.index, heading.first) == (False, -1, -1)
    assert bump.describe() == "The error cannot be followed."
    assert f"Abstained on {path.abstained.mean():.0%} of the images" in path.describe()
    assert "of which 0 are read: cannot be followed: at more than half of the" in path.describe()
    assert "rises" not in path.describe()
    assert path.to_frame().drop(columns="step").isna().all(axis=None)
