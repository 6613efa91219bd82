"""Paths through concept space: cells of points, one tiny run of images, and made-up readings."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed

from partwhole.studies.diffusion import _runs as runs
from partwhole.studies.diffusion import concept_diffusion as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_models_reach_what_they_were_shown(data):
    assert float(study.reached(data).max()) < study.NEAR
    assert float(data.coordinates.min()) >= 0.0
    assert float(data.coordinates.max()) <= 1.0
    assert study.claims(data)[0].verdict.value == "holds"


def test_figures(data):
    assert len(study.figure(data).axes) == 2
    cells = [(c, made_up(c, pictures=True)) for c in study.PRESETS["laptop"]]
    assert len(study.figure(study.gather(cells)).axes) == 3


def test_checkpoints_are_the_published_ones():
    found = runs.checkpoints(500, 20_000, 60)
    assert len(found) == 60
    assert found[:12] == [500, 594, 696, 807, 926, 1053, 1188, 1331, 1482, 1642, 1809, 1985]
    assert found[-3:] == [18874, 19433, 20000]


def test_points_leave_one_corner_out():
    config = study.PRESETS["quick"][0]
    given = runs.points(config)
    apart = 2.0 * np.array([config["colour"], config["size"]])
    corners, counts = np.unique(np.rint(given.samples / apart), axis=0, return_counts=True)
    np.testing.assert_array_equal(np.abs(corners), runs.CORNERS[:3])
    assert counts.tolist() == [config["per_class"]] * 3
    np.testing.assert_allclose(given.unseen, np.tile(apart, (config["samples"], 1)), rtol=1e-6)
    np.testing.assert_allclose(given.over(0.1) - given.unseen, [[0.1, 0.0]] * 200, atol=1e-6)


def test_images_are_read_as_what_they_are_asked_for():
    config = study.PRESETS["laptop"][0] | {"samples": 8, "per_class": 4, "colour": 0.689}
    given = runs.images(config)
    assert given.samples.shape == (12, 16, 16, 3)
    found = given.read(given.samples)
    blue, small = given.conditions[:, 2] > 0.5, given.conditions[:, 3] < 0.45
    # Sizes vary by three quarters of the way to the other within a class.
    np.testing.assert_array_equal(found[:, 0] > 0.5, blue)
    assert np.mean((found[:, 1] > 0.5) == small) > 0.8
    np.testing.assert_allclose(given.over(0.25)[0] - given.unseen[0], [-0.1555, -0.1555, 0.1555, 0])


def test_a_model_of_images_is_trained_and_asked():
    config = study.PRESETS["laptop"][0] | {
        "per_class": 8, "samples": 2, "checkpoints": 2, "first": 1, "steps": 2, "over": [0.1],
        "directions": [1.0], "guidance": [], "recipe": {"sampling_steps": 2, "batch": 4},
    }  # fmt: skip
    found = study.cell(config)
    assert found["steps"].tolist() == [1, 2]
    assert found["coordinates"].shape == (2, 6, 2, 2)
    assert found["pictures"].shape == (2, 2, 16, 16, 3)
    config["guidance"] = [2.0]
    assert runs.names_of(config)[4:] == ["over 0.1", "direction 1", "guidance 2"]
    assert list(runs.prompts_of(config, runs.images(config))) == runs.names_of(config)


def made_up(config, *, blue=None, over=0.1, bump=0.3, still=False, pictures=False):
    """Return readings of a run that goes by way of red and small."""
    rng = np.random.default_rng(config["seed"])
    steps = np.array(runs.checkpoints(config["first"], config["steps"], config["checkpoints"]))
    part = np.linspace(0.0, 1.0, len(steps))
    strength = config["colour"] if blue is None else blue(config["colour"])
    small = 1.0 - np.exp(-12.0 * part)
    there = np.clip(strength * (0.4 + part) - bump * np.exp(-(((part - 0.4) / 0.1) ** 2)), 0, 1)
    paths = [np.tile(corner, (len(steps), 1)) for corner in runs.CORNERS[:3]]
    if still:
        paths[2] = np.full((len(steps), 2), 0.5)
    plain = np.stack([there, small], axis=1)
    names = runs.names_of(config)
    paths += [plain] + [np.clip(plain + np.array([over, 0.0]), 0.0, 1.0)] * (len(names) - 4)
    spread = 0.05 * rng.normal(size=(len(steps), len(names), config["samples"], 2))
    readings = np.clip(np.stack(paths, axis=1)[:, :, None] + spread, 0.0, 1.0)
    found = {"steps": steps, "coordinates": readings, "bits": np.zeros((1, 3))}
    if pictures:
        found["pictures"] = np.full((len(steps), 2, 16, 16, 3), 200, np.uint8)
    return found


def verdicts(**how):
    cells = [(config, made_up(config, **how)) for config in study.PRESETS["laptop"]]
    return [claim.verdict.value for claim in study.claims(study.gather(cells))]


def test_the_published_path_holds_what_is_claimed():
    assert set(verdicts()) == {"holds"}


def test_what_differs_is_noticed():
    learned, order, signal, over, *bumps, _ = range(7)
    assert verdicts(still=True)[learned] == "does not hold"
    assert verdicts(blue=lambda _: 1.6, bump=-0.5)[order] == "does not hold"
    assert verdicts(blue=lambda colour: 0.8 - colour)[signal] == "does not hold"
    assert verdicts(over=-0.2)[over] == "does not hold"
    assert [verdicts(bump=0.0)[k] for k in bumps] == ["does not hold"] * 2
