"""Training sets without one combination, and one tiny model that is trained on images."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole_studies.diffusion import concept_models as models
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
        "colour": 0.6, "background": 0.5, "seed": 0, "per_class": 4, "samples": 2, "words": True,
        "classifier": False,
    }  # fmt: skip
    setting = sets.images(config)
    assert setting.samples.shape == (16, 16, 16, 3)
    assert setting.conditions.shape == (16, 3)
    assert [rows.tolist()[0] for rows in setting.prompts.values()][-1] == [2, 4, 6]
    np.testing.assert_array_equal(
        setting.read(setting.samples)[:, 2] > 0.5, [False] * 4 + [True] * 4 + [False] * 8
    )
    kept = {name: config[name] for name in ("colour", "background", "seed")}
    points = sets.points(models.POINTS | kept)
    assert points.samples.shape == (2000, 3)
    assert len(points.prompts) == 8


def test_images_are_read_as_their_conditions_say():
    config = models.IMAGES | {
        "samples": 8, "per_class": 4, "colour": 0.689, "seed": 0, "classifier": False,
    }  # fmt: skip
    setting = sets.images(config)
    readings = setting.read(setting.samples)
    blue, small = setting.conditions[:, 2] > 0.5, setting.conditions[:, 3] < 0.45
    # Sizes vary by three quarters of the way to the other within a class.
    np.testing.assert_array_equal(readings[:, 0] > 0.5, blue)
    assert np.mean((readings[:, 1] > 0.5) == small) > 0.8
    step = setting.over(0.25)[0] - setting.prompts[sets.UNSEEN][0]
    np.testing.assert_allclose(step, [-0.1555, -0.1555, 0.1555, 0])
    assert setting.scores is not None
    assert setting.scores.shape == (1, 4, 2)
    assert setting.scores[0, 0].min() > 0.95


def test_a_model_of_images_is_trained_and_prompted():
    config = models.IMAGES | {
        "colour": 0.137, "seed": 0, "per_class": 8, "samples": 2, "checkpoints": 2, "first": 1,
        "steps": 2, "over": [0.1], "directions": [1.0], "recipe": {"sampling_steps": 2, "batch": 4},
    }  # fmt: skip
    arrays = models.train(config)
    assert arrays["coordinates"].shape == arrays["decoded"].shape == (2, 6, 2, 2)
    assert arrays["scores"].shape == (2, 4, 2)
    assert arrays["pictures"].shape == (2, 2, 16, 16, 3)
    config["guidance"] = [2.0]
    assert models.prompt_names(config)[4:] == ["over 0.1", "direction 1", "guidance 2"]
    setting = sets.images(config | {"classifier": False})
    assert list(models.prompts_of(config, setting)) == models.prompt_names(config)
