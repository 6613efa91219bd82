"""The structured identity task: moments, samples, rotations, truncation and probes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from inspect import unwrap
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.stats import norm

from partwhole._checks import InputError
from partwhole.tasks.structured_identity import StructuredIdentity

PAPER = StructuredIdentity(means=[1, 2], scales=[0.05, 0.05])
PUBLISHED = StructuredIdentity([1, 2], [0.05, 0.05], origin=True, scales_are="variances")
TRUNCATED = replace(PUBLISHED, truncation=0.5)


def tasks():
    """Return tasks of one to four concepts, with every option that moves the moments."""
    concept = st.tuples(st.floats(-3, 3), st.floats(0, 2))

    def build(concepts, beyond, origin, noise, scales_are):
        means, scales = zip(*concepts, strict=True)
        return StructuredIdentity(
            means,
            scales,
            dimension=len(means) + beyond,
            origin=origin,
            noise=noise if beyond else 0.0,
            scales_are=scales_are,
        )

    return st.builds(
        build,
        st.lists(concept, min_size=1, max_size=4),
        st.integers(0, 2),
        st.booleans(),
        st.floats(0, 1),
        st.sampled_from(["deviations", "variances"]),
    )


# Moments


@pytest.mark.parametrize(
    ("task", "signals"),
    [
        # Acceptance values to 1e-7: the text's convention, and that of the published runs.
        (PAPER, (0.5025, 2.0025)),
        (PUBLISHED, (0.3833333, 1.3833333)),
        # The published matrix figures; in the first the spread of the third axis is kept.
        (StructuredIdentity([1, 1.5], [0.05] * 2, 3, noise=0.05), (0.5025, 1.1275, 0.0025)),
        (StructuredIdentity([3, 1], [0.05, 0.05]), (4.5025, 0.5025)),
    ],
)
def test_stated_second_moments(task, signals):
    np.testing.assert_allclose(task.second_moment(), np.diag(signals), atol=1e-7)
    np.testing.assert_allclose(task.signals, signals, atol=1e-7)


def test_the_number_of_clusters_is_a_named_option():
    assert PUBLISHED.n_clusters == 3
    np.testing.assert_array_equal(PUBLISHED.second_moment(clusters=3), PUBLISHED.second_moment())
    np.testing.assert_allclose(
        replace(PAPER, origin=True).second_moment(clusters=2), PAPER.second_moment(), atol=1e-15
    )


@pytest.mark.parametrize("task", [PAPER, PUBLISHED])
def test_samples_have_the_population_moments(task):
    sample = task.sample(seed=0)
    found = sample.second_moment()
    off = found - np.diag(np.diag(found))
    # Acceptance tolerances at 5000 samples in each cluster.
    np.testing.assert_allclose(np.diag(found), task.signals, rtol=0.03)
    assert np.abs(off).max() < 0.02
    assert np.abs(off).max() > 0
    # Four standard errors of the mean.
    np.testing.assert_allclose(
        sample.mean(), task.mean(), atol=4 * np.sqrt(task.variances.max() / task.n_samples)
    )


@given(tasks())
def test_moments_are_averages_over_clusters(task):
    second = np.mean([np.outer(c, c) + np.diag(task.variances) for c in task.centres], axis=0)
    np.testing.assert_allclose(task.second_moment(), second, atol=1e-12)
    np.testing.assert_allclose(task.mean(), task.probe / task.n_clusters, atol=1e-12)


@given(tasks(), st.randoms(use_true_random=False))
def test_relabelled_concepts_relabel_the_moments(task, random):
    order = list(range(task.n_concepts))
    random.shuffle(order)
    relabelled = replace(
        task, means=[task.means[p] for p in order], scales=[task.scales[p] for p in order]
    )
    axes = [*order, *range(task.n_concepts, task.n_dimensions)]
    np.testing.assert_allclose(
        relabelled.second_moment(), task.second_moment()[np.ix_(axes, axes)], atol=1e-15
    )
    np.testing.assert_array_equal(relabelled.probe, task.probe[axes])


def test_moments_give_the_stated_path_of_a_one_layer_network_with_bias():
    # Published network: 118 batches of an epoch, learning rate .1; outputs to 1e-4.
    task = replace(PUBLISHED, dimension=64)
    batches = math.ceil(task.n_samples / 128)
    epoch = 2 * 0.1 * batches / task.n_dimensions
    mean = task.mean()[:, None]
    moment = np.block([[task.second_moment(), mean], [mean.T, np.ones((1, 1))]])
    for epochs, expected in ((10, (0.6252, 1.8621)), (40, (0.9323, 1.9747))):
        learned = (np.eye(65) - expm(-moment * epoch * epochs))[:64]
        np.testing.assert_allclose((learned @ np.append(task.probe, 1.0))[:2], expected, atol=1e-4)
        free = task.probe * (1 - np.exp(-task.signals * epoch * epochs))
        without = {10: (0.7567, 1.9878), 40: (0.9965, 2.0000)}[epochs]
        np.testing.assert_allclose(free[:2], without, atol=1e-4)


def test_truncated_moments_come_from_a_sample():
    for ask in (TRUNCATED.second_moment, TRUNCATED.mean, lambda: TRUNCATED.signals):
        with pytest.raises(InputError, match=r"only from a sample; got truncation 0\.5; use"):
            ask()
    # Few samples are affected, so the moments barely move.
    np.testing.assert_allclose(
        np.diag(TRUNCATED.sample(0).second_moment()), PUBLISHED.signals, rtol=0.03
    )


# Samples


def test_published_sets_have_their_sizes():
    sample = PUBLISHED.sample(seed=0)
    assert len(sample.inputs) == PUBLISHED.n_samples == 15_000
    assert replace(PUBLISHED, dimension=64).sample(seed=0).inputs.shape == (15_000, 64)


def test_clusters_lie_where_they_should():
    task = StructuredIdentity([1, -2, 3], [0, 0.1, 0.2], 5, samples=4000, origin=True, noise=0.3)
    sample = task.sample(seed=3)
    assert sample.inputs.shape == (16_000, 5)
    assert np.bincount(sample.clusters).tolist() == [4000] * 4
    for cluster, centre in enumerate(task.centres):
        rows = sample.inputs[sample.clusters == cluster]
        deviations = np.array([0, 0.1, 0.2, 0.3, 0.3])
        # Five standard errors: means, then deviations.
        assert np.all(np.abs(rows.mean(axis=0) - centre) <= 5 * deviations / np.sqrt(4000))
        np.testing.assert_allclose(rows.std(axis=0), deviations, rtol=5 / np.sqrt(8000))
    np.testing.assert_array_equal(task.centres[:3, :3], np.diag([1, -2, 3]))
    np.testing.assert_array_equal(task.centres[3], 0)
    np.testing.assert_array_equal(task.probe, [1, -2, 3, 0, 0])


def test_clusters_and_noise_are_drawn_independently():
    task = StructuredIdentity([1, 2], [1, 1], 4, samples=4000, noise=1.0)
    sample = task.sample(seed=0)
    residuals = (sample.inputs - task.centres[sample.clusters]).reshape(2, 4000, 4)
    flat = np.concatenate(list(residuals), axis=1)
    correlations = np.corrcoef(flat.T) - np.eye(8)
    assert np.abs(correlations).max() < 5 / np.sqrt(4000)


def test_same_seed_same_sample_and_options_leave_the_rest_alone():
    task = replace(PAPER, dimension=4, samples=50)
    first = task.sample(seed=1).inputs
    np.testing.assert_array_equal(first, task.sample(seed=1).inputs)
    assert not np.array_equal(first, task.sample(seed=2).inputs)
    noisy = replace(task, noise=0.3).sample(seed=1).inputs
    np.testing.assert_array_equal(noisy[:, :2], first[:, :2])
    assert np.all(noisy[:, 2:] != 0)
    np.testing.assert_array_equal(replace(task, origin=True).sample(seed=1).inputs[:100], first)
    longer = replace(task, samples=80).sample(seed=1)
    np.testing.assert_array_equal(longer.inputs[longer.clusters == 1][:50], first[50:])
    wide = replace(task, scales=[0.05, 0.1]).sample(seed=1)
    centres = task.centres[wide.clusters]
    np.testing.assert_allclose(wide.inputs - centres, (first - centres) * [1, 2, 1, 1], atol=1e-12)


# Rotation


def test_rotation_turns_inputs_and_is_undone():
    task = replace(PAPER, dimension=6, rotation=4, samples=20, noise=0.1)
    plain, turned = replace(task, rotation=None).sample(seed=0), task.sample(seed=0)
    assert not np.allclose(plain.inputs, turned.inputs)
    before = turned.inputs.copy()
    np.testing.assert_allclose(task.to_concepts(turned.inputs), plain.inputs, atol=1e-12)
    np.testing.assert_allclose(turned.second_moment(), plain.second_moment(), atol=1e-12)
    np.testing.assert_allclose(turned.mean(), plain.mean(), atol=1e-12)
    np.testing.assert_array_equal(turned.inputs, before)
    np.testing.assert_allclose(task.rotation_matrix @ task.rotation_matrix.T, np.eye(6), atol=1e-12)
    # One point, or any stack of them; concept p is seen along row p.
    np.testing.assert_allclose(task.to_inputs(np.eye(6)[1]), task.rotation_matrix[1])
    stack = np.arange(36.0).reshape(2, 3, 6)
    np.testing.assert_allclose(task.to_concepts(task.to_inputs(stack)), stack, atol=1e-12)


def test_points_may_be_a_list_of_numbers():
    turned = replace(PAPER, rotation=4)
    for task in (PAPER, turned):
        for turn in (StructuredIdentity.to_inputs, StructuredIdentity.to_concepts):
            bare: Callable = unwrap(turn)  # as where types are not checked
            for listed in ([1, 2], [[1, 2], [3, 4]]):
                found = bare(task, listed)
                assert found.dtype == float
                np.testing.assert_array_equal(found, turn(task, np.array(listed, dtype=float)))
            for wrong in ("a point", [[1, 2], [3]], 5):
                with pytest.raises(InputError, match="points lie in the task's 2 dimensions; got"):
                    bare(task, wrong)


def test_without_rotation_points_pass_as_a_copy():
    points = np.ones((3, 2))
    for turn in (PAPER.to_inputs, PAPER.to_concepts):
        found = turn(points)
        np.testing.assert_array_equal(found, points)
        assert not np.shares_memory(found, points)
    np.testing.assert_array_equal(PAPER.rotation_matrix, np.eye(2))


def test_rotations_are_uniform_over_the_orthogonal_group():
    n, d = 800, 3
    drawn = np.array([replace(PAPER, dimension=d, rotation=r).rotation_matrix for r in range(n)])
    # Uniform: entries of mean 0 and mean square 1/d (variance 4/45 at d = 3), traces of mean 0
    # and variance 1, and as many reflections as proper rotations; five standard errors each.
    assert np.abs(drawn.mean(axis=0)).max() < 5 / np.sqrt(d * n)
    assert np.abs((drawn**2).mean(axis=0) - 1 / d).max() < 5 * np.sqrt(4 / 45 / n)
    assert abs(np.trace(drawn, axis1=1, axis2=2).mean()) < 5 / np.sqrt(n)
    assert abs((np.linalg.det(drawn) > 0).mean() - 0.5) < 2.5 / np.sqrt(n)


# Truncation


@pytest.mark.parametrize("rotation", [None, 7])
def test_truncation_leaves_no_sample_inside_and_clusters_whole(rotation):
    task = replace(TRUNCATED, rotation=rotation)
    cut = task.sample(seed=0)
    full = replace(task, truncation=None).sample(seed=0)
    probe = task.to_inputs(task.probe)
    inside = np.linalg.norm(full.inputs - probe, axis=1) < 0.5
    assert 10 < inside.sum() < 300
    assert np.linalg.norm(cut.inputs - probe, axis=1).min() >= 0.5
    assert np.bincount(cut.clusters).tolist() == [5000] * 3
    np.testing.assert_array_equal(cut.inputs[~inside], full.inputs[~inside])
    # The test cluster is not truncated.
    test = task.to_inputs(task.test_cluster(500, seed=0))
    assert (np.linalg.norm(test - probe, axis=1) < 0.5).any()


def test_redrawn_samples_follow_the_law_outside():
    # One concept: its cluster lies on the probe, and x - 1 is a normal beyond 3/2.
    task = StructuredIdentity([1], [1], samples=20_000, truncation=1.5)
    z = task.sample(seed=0).inputs[:, 0] - 1
    expected = 1 + 1.5 * norm.pdf(1.5) / norm.sf(1.5)
    # Five standard errors, with the deviation of z^2 taken from the sample.
    assert np.mean(z**2) == pytest.approx(expected, abs=5 * np.std(z**2) / np.sqrt(20_000))
    assert abs(np.mean(z)) < 5 * np.std(z) / np.sqrt(20_000)


def test_a_truncation_that_less_than_one_of_100_draws_survive_is_refused():
    # A cluster on the probe, of which the share beyond the radius is 2 sf(r): .0164 and .0051.
    for radius, share in ((2.4, 0.0164), (2.8, 0.0051)):
        assert 2 * norm.sf(radius) == pytest.approx(share, abs=5e-5)
    StructuredIdentity([1], [1], truncation=2.4)
    with pytest.raises(InputError, match=r"radius 2.8, which 0\.[3-9]% of the draws of cluster 0"):
        StructuredIdentity([1], [1], truncation=2.8)


@pytest.mark.parametrize(("scale", "radius"), [(0.0, 2.5), (0.05, 10), (0.05, 1.2)])
def test_a_truncation_that_empties_a_cluster_is_refused(scale, radius):
    sentence = r"room for every cluster to be sampled; got radius .*, which 0\.0% of the draws of c"
    with pytest.raises(InputError, match=sentence):
        StructuredIdentity([1, 2], [scale, scale], truncation=radius)


# Probes


@pytest.mark.parametrize(("s", "pairs"), [(1, 1), (2, 5), (3, 19), (4, 65)])
def test_combinations_and_their_order(s, pairs):
    task = StructuredIdentity(np.arange(1.0, s + 1), np.zeros(s), dimension=s + 1)
    found = task.combinations()
    assert found.binary.tolist() == [list(v) for v in product((0, 1), repeat=s)]
    np.testing.assert_array_equal(found.points[:, :s], found.binary * np.arange(1.0, s + 1))
    np.testing.assert_array_equal(found.points[0], 0)
    np.testing.assert_array_equal(found.points[-1], task.probe)
    below = [
        [u, v]
        for u, v in product(range(2**s), repeat=2)
        if u != v and all(found.binary[u] <= found.binary[v])
    ]
    assert found.pairs.tolist() == below
    assert len(found.pairs) == pairs == 3**s - 2**s


def test_scaled_and_negative_probes():
    task = StructuredIdentity([1, 2, 3], [0.1] * 3, dimension=4)
    np.testing.assert_array_equal(task.scaled_probe(2), [2, 4, 6, 0])
    np.testing.assert_array_equal(task.negative_probe(0, 2), [-1, 2, -3, 0])
    np.testing.assert_array_equal(task.probe, [1, 2, 3, 0])


def test_random_probes_are_uniform_in_direction():
    task = StructuredIdentity([1, 2, 2], [0.1] * 3, dimension=5)
    probes = task.random_probes(4000, seed=0)
    np.testing.assert_allclose(np.linalg.norm(probes, axis=1), 3.0, rtol=1e-12)
    np.testing.assert_array_equal(probes[:, 3:], 0)
    # Uniform on the sphere of radius 3: coordinates of mean 0 and second moment 9/3.
    assert np.abs(probes.mean(axis=0)).max() < 5 * np.sqrt(3 / 4000)
    moment = probes[:, :3].T @ probes[:, :3] / 4000
    assert np.abs(moment - 3 * np.eye(3)).max() < 5 * 9 * np.sqrt(4 / 45 / 4000)
    np.testing.assert_array_equal(probes[:10], task.random_probes(10, seed=0))
    assert not np.array_equal(probes[:10], task.random_probes(10, seed=1))


@pytest.mark.parametrize("scales_are", ["deviations", "variances"])
def test_test_cluster_is_spread_around_the_probe(scales_are):
    task = StructuredIdentity([1, 2], [0.04, 0.25], 3, noise=0.09, scales_are=scales_are)
    root = np.sqrt if scales_are == "variances" else np.asarray
    for scales, expected in ((None, [0.04, 0.25, 0.09]), ([0.0, 1.0], [0.0, 1.0, 0.09])):
        points = task.test_cluster(4000, seed=0, scales=scales)
        deviations = root(np.array(expected))
        assert np.all(np.abs(points.mean(axis=0) - task.probe) <= 5 * deviations / np.sqrt(4000))
        np.testing.assert_allclose(points.std(axis=0), deviations, rtol=5 / np.sqrt(8000))
    # Not the training noise over again.
    train = replace(task, samples=4000).sample(seed=0).inputs[:4000] - task.centres[0]
    test = task.test_cluster(4000, seed=0) - task.probe
    assert abs(np.corrcoef(train[:, 0], test[:, 0])[0, 1]) < 5 / np.sqrt(4000)


# The object


def test_any_sequence_is_taken_and_not_kept():
    means = np.array([1.0, 2.0])
    task = StructuredIdentity(means, (0.05, 0.05))
    means[0] = 9.0
    assert task.means == (1.0, 2.0)
    assert task == PAPER
    assert hash(task) == hash(PAPER)
    assert task.dimension == task.n_dimensions == 2
    task.probe[:] = task.centres[:] = task.variances[:] = 0.0
    np.testing.assert_array_equal(task.probe, [1, 2])
    with pytest.raises(ValueError, match="read-only"):
        task.rotation_matrix[0, 0] = 2.0
    with pytest.raises(FrozenInstanceError):
        task.samples = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_description_names_every_option_that_is_on():
    text = replace(TRUNCATED, dimension=3, noise=0.04, rotation=0).describe()
    assert "2 concepts in 3 dimensions, rotated" in text
    assert "15000 samples in 3 clusters, one for each concept and one at the origin" in text
    assert "concept 1: mean 1, deviation 0.2236\n" in text
    assert "noise of deviation 0.2 along 1 further dimension\n" in text
    assert "nearer than 0.5 to the test point are drawn again" in text
    assert "signal" not in text.replace("signals are known only", "")
    plain = StructuredIdentity([1], [0.5], samples=10).describe().splitlines()
    assert plain == [
        "structured identity: 1 concept in 1 dimension",
        "10 samples in 1 cluster, one for each concept",
        "concept 1: mean 1, deviation 0.5, signal 1.25",
        "tested at the sum of the means, never seen: (1)",
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"means": []}, "a task has at least one concept; got no means; pass one mean for each"),
        (
            {"means": [1]},
            "every concept has a mean and a scale; got 1 means and 2 scales; pass one mean and one "
            "scale for each concept",
        ),
        (
            {"means": [1, math.nan]},
            "means are a list of finite numbers; got [1, nan]; pass one number for each concept",
        ),
        (
            {"scales": [math.inf, 1]},
            "scales are a list of finite numbers; got [inf, 1]; pass one number for each concept",
        ),
        (
            {"scales": [0.1, -0.1]},
            "scales are at least 0; got -0.1; pass standard deviations, or variances with "
            "scales_are='variances'",
        ),
        (
            {"dimension": 1},
            "dimension is a whole number of at least 2; got 1; leave it None for the number of "
            "concepts",
        ),
        (
            {"samples": 0},
            "samples is a whole number of at least 1; got 0; pass a whole number of at least 1, or "
            "leave it out for 5000",
        ),
        (
            {"rotation": True},
            "rotation is a whole number of at least 0; got True; pass a whole number of at least 0",
        ),
        ({"origin": "no"}, "origin is True or False; got 'no'; choose one of them"),
        (
            {"samples": 2.5},
            "samples is a whole number of at least 1; got 2.5; pass a whole number",
        ),
        ({"noise": "0.1"}, "noise is a finite number of at least 0; got '0.1'; pass a number"),
        ({"truncation": 0.0}, "truncation is a finite number above 0; got 0.0; pass a number"),
        ({"truncation": math.nan}, "truncation is a finite number above 0; got nan; pass a"),
        ({"noise": -1.0}, "noise is a finite number of at least 0; got -1.0; pass a number"),
        (
            {"noise": 0.1},
            "noise acts on the axes beyond the concepts; got dimension 2 for 2 concepts; raise "
            "dimension, or leave noise out",
        ),
    ],
)
def test_tasks_that_make_no_sense_are_refused(change, sentence):
    # Lists are refused entry by entry at the door.
    bare = change.keys() & {"means", "scales"}
    init = StructuredIdentity.__init__
    build: Callable = unwrap(init) if bare else init
    given = {field.name: getattr(PAPER, field.name) for field in fields(PAPER)} | change
    with pytest.raises(InputError) as caught:
        build(object.__new__(StructuredIdentity), **given)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda task: task.sample(seed=-1), "seed is a whole number of at least 0; got -1; pass a"),
        (lambda task: task.second_moment(clusters=0), "clusters is a whole number of at least 1"),
        (lambda task: task.to_inputs(np.ones(3)), r"points lie in the task's 2 dimensions; got sh"),
        (lambda task: task.to_concepts(np.ones((2, 1))), r"got shape \(2, 1\); pass one point, or"),
        (lambda task: task.scaled_probe(math.inf), "factor is a finite number; got inf; pass"),
        (lambda task: task.negative_probe(), r"are among 0\.\.1, each once; got none; name"),
        (lambda task: task.negative_probe(0, 0), "each once; got 0, 0; name at least one"),
        (
            lambda task: unwrap(StructuredIdentity.negative_probe)(task, 1.0),
            r"among 0\.\.1, each once; got 1\.0; name",
        ),
        (lambda task: task.negative_probe(True), r"each once; got True; name at least one"),
        (lambda task: task.negative_probe(-1), r"the concepts to flip are among 0\.\.1, .* got -1"),
        (lambda task: task.random_probes(0, seed=0), "n is a whole number of at least 1; got 0"),
        (lambda task: task.test_cluster(3, seed=-2), "seed is a whole number of at least 0; got"),
        (
            lambda task: task.test_cluster(3, seed=0, scales=[1.0]),
            r"has 2 scales of at least 0, one for each concept; got \[1\.0\]; leave them out",
        ),
        (
            lambda _: StructuredIdentity([1.0] * 13, [1.0] * 13).combinations(),
            "listed for at most 12 concepts; got 13; use a task with fewer",
        ),
    ],
)
def test_questions_that_make_no_sense_are_refused(ask, sentence):
    with pytest.raises(InputError, match=sentence):
        ask(PAPER)
