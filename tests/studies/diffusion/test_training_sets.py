"""Training sets without one combination, and one tiny model that is trained on images."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from partwhole.networks.diffusion import presets
from partwhole_studies.diffusion import concept_models as models
from partwhole_studies.diffusion import image_readers
from partwhole_studies.diffusion import training_sets as sets


def test_checkpoints_are_the_published_ones():
    steps = models.checkpoints(500, 20_000, 60)
    assert len(steps) == 60
    assert steps[:12] == [500, 594, 696, 807, 926, 1053, 1188, 1331, 1482, 1642, 1809, 1985]
    assert steps[-3:] == [18874, 19433, 20000]


def test_classes_and_their_corners():
    assert list(sets.classes()) == ["red big", "red small", "blue big", "blue small"]
    assert sets.train_classes() == ["red big", "red small", "blue big"]
    three = sets.classes(3)
    assert three["blue small dark"] == (1, 1, 1)
    assert sets.train_classes(3) == [name for name, corner in three.items() if sum(corner) < 2]


def test_points_leave_one_corner_out():
    config = models.POINTS | {"colour": 0.137, "seed": 0}
    setting = sets.points(config)
    sides = 2.0 * np.array([config["colour"], config["size"]])
    corners, counts = np.unique(np.rint(setting.samples / sides), axis=0, return_counts=True)
    np.testing.assert_array_equal(np.abs(corners), [[0, 0], [0, 1], [1, 0]])
    assert counts.tolist() == [config["per_class"]] * 3
    unseen = setting.prompts[sets.UNSEEN]
    np.testing.assert_allclose(unseen, np.tile(sides, (config["samples"], 1)), rtol=1e-6)
    np.testing.assert_allclose(setting.over(0.1) - unseen, [[0.1, 0.0]] * 100, atol=1e-6)


@pytest.mark.parametrize("model", ["vector", "small16"])
def test_a_rare_value_and_masked_conditions(model):
    kind = models.POINTS if model == "vector" else models.IMAGES
    config = kind | {
        "colour": 0.6, "seed": 1, "per_class": 40, "samples": 3, "rare": 7, "masked": 0.25,
        "classifier": False,
    }  # fmt: skip
    setting = sets.points(config) if model == "vector" else sets.images(config)
    assert len(setting.samples) == 87
    masked = setting.conditions[:, 0] == sets.MASK
    # A quarter of the 80 red ones; of images all three channels are masked.
    assert masked[:80].sum() == 20
    assert not masked[80:].any()
    width = 1 if model == "vector" else 3
    np.testing.assert_array_equal(setting.conditions[masked, :width], sets.MASK)
    assert (setting.conditions[:, -1] > -0.2).all()


def test_three_concepts_and_words():
    config = models.IMAGES | {
        "colour": 0.6, "further": {"background": 0.5}, "seed": 0, "per_class": 4, "samples": 2,
        "words": True, "classifier": False,
    }  # fmt: skip
    setting = sets.images(config)
    assert setting.samples.shape == (16, 16, 16, 3)
    assert setting.conditions.shape == (16, 3)
    assert [rows.tolist()[0] for rows in setting.prompts.values()][-1] == [2, 4, 6]
    read, _ = image_readers.readers(config, setting.readers, 16, np.array([1e-3]))
    np.testing.assert_array_equal(
        read(setting.samples)[:, 2] > 0.5, [False] * 4 + [True] * 4 + [False] * 8
    )
    kept = {name: config[name] for name in ("colour", "further", "seed")}
    points = sets.points(models.POINTS | kept)
    assert points.samples.shape == (2000, 3)
    assert len(points.prompts) == 8


SIX = {"background": 0.5, "kind": 0.4, "row": 0.5, "column": 0.6}


def test_six_concepts():
    config = models.IMAGES | {
        "colour": 0.8, "further": SIX, "seed": 0, "per_class": 4, "samples": 2, "words": True,
        "classifier": False,
    }  # fmt: skip
    setting, space = sets.images(config), sets.space_of(config)
    assert space.fields == ("colour", "size", "background", "kind", "x", "y")
    assert len(setting.samples) == 7 * 4
    assert len(setting.prompts) == 64
    assert [rows.tolist()[0] for rows in setting.prompts.values()][-1] == [2, 4, 6, 8, 10, 12]
    assert space.label(63) == list(sets.classes(6))[-1] == "blue small dark triangle lower right"
    first, last = (space.mean_attributes([k]) for k in (0, 63))
    assert (last.kind - first.kind).tolist() == [1]
    np.testing.assert_allclose(last.position - first.position, [[0.5, 0.6]])
    read, scores = image_readers.readers(config, space, 16, np.array([1e-3]))
    readings, kinds = read(space.sample(1, side=16, jitter=False, seed=0).images), [0, 1, 2, 4, 5]
    # The decoder abstains on kinds, and reads discs.
    np.testing.assert_array_equal(readings[:, 3], image_readers.UNSURE)
    is_disc = space.classes[:, 3] == 0
    assert (abs(readings - space.classes)[is_disc][:, kinds] < 0.25).mean() > 0.95
    assert np.isnan(scores[0, 0, 3])
    points = sets.points(models.POINTS | {"colour": 0.8, "further": SIX, "seed": 0})
    corners = np.unique(np.rint(points.samples / [1.6, 0.8, 1.0, 0.8, 1.0, 1.2]), axis=0)
    assert np.abs(corners).sum(axis=1).max() == 1
    assert len(corners) == 7


def test_initial_weights_are_scaled_without_biases_and_gains():
    model = presets.diffusion_model("small16", condition=4, seed=0)
    scaled = models.scaled(model, 0.1)
    for before, after in zip(jax.tree.leaves(model), jax.tree.leaves(scaled), strict=True):
        factor = 0.1 if np.ndim(before) > 1 else 1.0
        np.testing.assert_allclose(after, factor * np.asarray(before), rtol=1e-6)


def test_images_are_read_as_their_conditions_say():
    config = models.IMAGES | {
        "samples": 8, "per_class": 4, "colour": 0.689, "seed": 0, "classifier": False,
    }  # fmt: skip
    setting = sets.images(config)
    read, scores = image_readers.readers(config, setting.readers, 16, np.array([1e-3]))
    readings = read(setting.samples)
    blue, small = setting.conditions[:, 2] > 0.5, setting.conditions[:, 3] < 0.45
    # Sizes vary by three quarters of the way to the other within a class.
    np.testing.assert_array_equal(readings[:, 0] > 0.5, blue)
    assert np.mean((readings[:, 1] > 0.5) == small) > 0.8
    step = setting.over(0.25)[0] - setting.prompts[sets.UNSEEN][0]
    np.testing.assert_allclose(step, [-0.1555, -0.1555, 0.1555, 0])
    assert scores.shape == (1, 4, 2)
    assert scores[0, 0].min() > 0.95


def test_readers_see_the_noise_that_is_left_on_samples():
    """At a few levels over those of all steps, and scored at that of the last one."""
    config = models.IMAGES | {"per_class": 16, "colour": 0.689, "seed": 0, "classifier": False}
    space = sets.images(config).readers
    steady, falling = np.full(5, 0.082), np.geomspace(0.082, 0.0018, 60)
    np.testing.assert_array_equal(image_readers.noise_levels(steady), [0.082])
    levels = image_readers.noise_levels(falling)
    assert (len(levels), levels[0], levels[-1]) == (8, falling[-1], falling[0])
    np.testing.assert_array_equal(
        image_readers.noise_levels(np.array([0.1, np.nan, 0.2, np.nan]))[[0, -1]], [0.1, 0.2]
    )
    images, components, known = image_readers.noisy(space, 16, 16, levels, 0)
    assert (len(images), len(components)) == (4 * 16, 4 * 16)
    assert {name: rows.shape for name, rows in known.items()} == {
        "colour": (64, 3),
        "size": (64, 1),
    }
    np.testing.assert_array_equal(known["size"][:, 0] < 0.45, components[:, 1] == 1)
    for k, level in enumerate(levels):  # a part for each
        part = space.sample(2, side=16, noise=float(level), seed=k)
        np.testing.assert_array_equal(images.reshape(8, -1, 16, 16, 3)[k], part.images)
    once = space.sample(16, side=16, noise=0.082, seed=0)
    np.testing.assert_array_equal(
        image_readers.noisy(space, 16, 16, steady[:1], 0).images, once.images
    )


def test_samples_that_are_no_numbers_are_not_read():
    samples = np.zeros((2, 3, 4, 4, 3), np.float16)
    samples[0, 1, 0, 0, 0] = np.nan
    means = image_readers.read_all(lambda images: images.mean(axis=(1, 2)), samples)
    np.testing.assert_array_equal(np.isnan(means).any(axis=-1), [[False, True, False], [False] * 3])
    samples[:] = np.nan
    assert np.isnan(image_readers.read_all(lambda x: x.mean(axis=(1, 2)), samples)).all()


def test_a_model_of_images_is_trained_and_prompted(monkeypatch):
    config = models.IMAGES | {
        "colour": 0.137, "seed": 0, "per_class": 8, "samples": 2, "checkpoints": 2, "first": 1,
        "steps": 2, "over": [0.1], "directions": [1.0], "recipe": {"sampling_steps": 2, "batch": 4},
    }  # fmt: skip
    noise, trained = [], []
    own, train_network = models.readers, models.train_network

    def watched(config, space, side, noise_left):
        noise.append(noise_left.tolist())
        return own(config, space, side, noise_left)

    def kept(*given, **options):
        trained.append(train_network(*given, **options))
        return trained[-1]

    one_level = 16, presets.SMALL | {"channels": (8,)}
    monkeypatch.setitem(presets.SIZES, "small16", one_level)
    monkeypatch.setattr(models, "readers", watched)
    monkeypatch.setattr(models, "train_network", kept)
    arrays = models.train(config)
    left = (1.0 + np.exp(5.0)) ** -0.5  # at the first endpoint of the published schedule, -5
    np.testing.assert_allclose(noise.pop(), [left] * 2, rtol=1e-6)
    np.testing.assert_allclose(arrays["noise_left"], [left] * 2, rtol=1e-6)
    np.testing.assert_allclose(arrays["signal_left"], [(1.0 + np.exp(10.0)) ** -0.5] * 2, rtol=1e-6)
    # What is read of a model does not depend on how it was trained.
    monkeypatch.setattr(models, "train_network", lambda *given, **options: trained[0])
    models.train(config | {"recipe": config["recipe"] | {"denoise": True}, "classifier": False})
    assert noise == [[1e-3] * 2]
    for reading in ("coordinates", "decoded", "regressed"):
        assert arrays[reading].shape == (2, 6, 2, 2)
    assert arrays["scores"].shape == (3, 4, 2)
    assert arrays["pictures"].shape == (2, 2, 16, 16, 3)
    config["guidance"] = [2.0]
    assert models.prompt_names(config)[4:] == ["over 0.1", "direction 1", "guidance 2"]
    setting = sets.images(config | {"classifier": False})
    assert list(models.prompts_of(config, setting)) == models.prompt_names(config)
