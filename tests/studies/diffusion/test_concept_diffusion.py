"""Paths through concept space: cells of points, one tiny run of images, and made-up readings."""

from __future__ import annotations

import numpy as np
import pytest
from concept_cells import made_up, steps_of
from study_cells import computed

from partwhole_studies.diffusion import _reading as reading
from partwhole_studies.diffusion import _runs as runs
from partwhole_studies.diffusion import concept_diffusion as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_models_reach_what_they_were_shown(data):
    assert float(reading.reached(data).max()) < reading.NEAR
    assert float(data.coordinates.min()) >= 0.0
    assert float(data.coordinates.max()) <= 1.0
    assert study.claims(data)[0].verdict.value == "holds"


def test_figures(data):
    assert len(study.figure(data).axes) == 2
    told = study.gather(cells())
    assert len(study.figure(told).axes) == 3
    assert told.to_netcdf(engine="scipy")  # which has fewer types of numbers


def test_checkpoints_are_the_published_ones():
    found = runs.checkpoints(500, 20_000, 60)
    assert len(found) == 60
    assert found[:12] == [500, 594, 696, 807, 926, 1053, 1188, 1331, 1482, 1642, 1809, 1985]
    assert found[-3:] == [18874, 19433, 20000]


def test_classes_and_their_corners():
    assert list(runs.classes()) == ["red big", "red small", "blue big", "blue small"]
    assert runs.shown() == ["red big", "red small", "blue big"]
    three = runs.classes(3)
    assert three["blue small dark"] == (1, 1, 1)
    assert runs.shown(3) == [name for name, corner in three.items() if sum(corner) < 2]


def test_points_leave_one_corner_out():
    config = study.PRESETS["quick"][0]
    given = runs.points(config)
    apart = 2.0 * np.array([config["colour"], config["size"]])
    corners, counts = np.unique(np.rint(given.samples / apart), axis=0, return_counts=True)
    np.testing.assert_array_equal(np.abs(corners), [[0, 0], [0, 1], [1, 0]])
    assert counts.tolist() == [config["per_class"]] * 3
    unseen = given.asked[runs.UNSEEN]
    np.testing.assert_allclose(unseen, np.tile(apart, (config["samples"], 1)), rtol=1e-6)
    np.testing.assert_allclose(given.over(0.1) - unseen, [[0.1, 0.0]] * 100, atol=1e-6)


@pytest.mark.parametrize("model", ["vector", "small16"])
def test_a_rare_value_and_one_that_is_not_told(model):
    kind = runs.POINTS if model == "vector" else runs.IMAGES
    config = kind | {
        "colour": 0.6, "seed": 1, "per_class": 40, "samples": 3, "rare": 7, "masked": 0.25,
        "classifier": False,
    }  # fmt: skip
    given = runs.points(config) if model == "vector" else runs.images(config)
    assert len(given.samples) == 87
    hidden = given.conditions[:, 0] == runs.NOTHING
    # A quarter of the 80 red ones; of images all three channels are not told.
    assert hidden[:80].sum() == 20
    assert not hidden[80:].any()
    width = 1 if model == "vector" else 3
    np.testing.assert_array_equal(given.conditions[hidden, :width], runs.NOTHING)
    assert (given.conditions[:, -1] > -0.2).all()


def test_three_concepts_and_words():
    config = runs.IMAGES | {
        "colour": 0.6, "background": 0.5, "seed": 0, "per_class": 4, "samples": 2, "words": True,
        "classifier": False,
    }  # fmt: skip
    given = runs.images(config)
    assert given.samples.shape == (16, 16, 16, 3)
    assert given.conditions.shape == (16, 3)
    assert [rows.tolist()[0] for rows in given.asked.values()][-1] == [2, 4, 6]
    assert given.read(given.samples).shape == (16, 3)
    np.testing.assert_array_equal(
        given.read(given.samples)[:, 2] > 0.5, [False] * 4 + [True] * 4 + [False] * 8
    )
    points = runs.points(runs.POINTS | {k: config[k] for k in ("colour", "background", "seed")})
    assert points.samples.shape == (2000, 3)
    assert len(points.asked) == 8


def test_images_are_read_as_what_they_are_asked_for():
    config = study.PRESETS["laptop"][0] | {
        "samples": 8, "per_class": 4, "colour": 0.689, "classifier": False,
    }  # fmt: skip
    given = runs.images(config)
    assert given.samples.shape == (12, 16, 16, 3)
    found = given.read(given.samples)
    blue, small = given.conditions[:, 2] > 0.5, given.conditions[:, 3] < 0.45
    # Sizes vary by three quarters of the way to the other within a class.
    np.testing.assert_array_equal(found[:, 0] > 0.5, blue)
    assert np.mean((found[:, 1] > 0.5) == small) > 0.8
    step = given.over(0.25)[0] - given.asked[runs.UNSEEN][0]
    np.testing.assert_allclose(step, [-0.1555, -0.1555, 0.1555, 0])
    assert given.judged is not None
    assert given.judged.shape == (1, 4, 2)
    assert given.judged[0, 0].min() > 0.95  # a large share of the images is told


def test_a_model_of_images_is_trained_and_asked():
    config = study.PRESETS["laptop"][0] | {
        "per_class": 8, "samples": 2, "checkpoints": 2, "first": 1, "steps": 2, "over": [0.1],
        "directions": [1.0], "recipe": {"sampling_steps": 2, "batch": 4},
    }  # fmt: skip
    found = study.cell(config)
    assert found["steps"].tolist() == [1, 2]
    assert found["coordinates"].shape == found["classified"].shape == (2, 6, 2, 2)
    assert found["judged"].shape == (2, 4, 2)
    assert found["pictures"].shape == (2, 2, 16, 16, 3)
    config["guidance"] = [2.0]
    assert runs.names_of(config)[4:] == ["over 0.1", "direction 1", "guidance 2"]
    given = runs.images(config | {"classifier": False})
    assert list(runs.prompts_of(config, given)) == runs.names_of(config)


def cells(*, blue=None, over=0.1, bump=0.3, still=(), apart=0.0, empty=0.0, even=False, told=0.99):
    """Return runs that go by way of red and small."""
    found = []
    for config in study.PRESETS["laptop"]:
        part = np.linspace(0.0, 1.0, len(steps_of(config)))
        strength = config["colour"] if blue is None else blue(config["colour"])
        there = np.clip(strength * (0.4 + part) - bump * np.exp(-(((part - 0.4) / 0.1) ** 2)), 0, 1)
        plain = np.stack([there, 1.0 - np.exp(-12.0 * part)], axis=1)
        if even:
            plain = np.stack([part, part], axis=1)
        paths = {
            runs.UNSEEN: plain, study.OVERSTATED: np.clip(plain + np.array([over, 0.0]), 0.0, 1.0),
        }  # fmt: skip
        if config["seed"] in still:
            paths["blue big"] = np.full((len(part), 2), 0.5)
        cell = made_up(config, paths)
        cell["coordinates"] = np.clip(cell["coordinates"] + apart, 0.0, 1.0)
        cell["coordinates"][:, :, : int(empty * config["samples"])] = 0.5
        cell["judged"][-1, 0] = told
        cell["pictures"][:] = config["seed"]
        found.append((config, cell))
    return found


def verdicts(**how):
    return [claim.verdict.value for claim in study.claims(study.gather(cells(**how)))]


def test_the_published_path_holds_what_is_claimed():
    assert set(verdicts()) == {"holds"}


def test_what_differs_is_noticed():
    learned, order, signal, over, bump, slows, readers, agree, drawn = range(9)
    assert verdicts(still=(0, 1, 2))[learned] == "does not hold"
    assert verdicts(apart=0.4)[agree] == "does not hold"
    assert verdicts(empty=0.5)[drawn] == "does not hold"
    assert verdicts(empty=0.5)[agree] == "holds"
    assert verdicts(blue=lambda _: 1.6, bump=-0.5)[order] == "does not hold"
    assert verdicts(blue=lambda colour: 0.8 - colour)[signal] == "does not hold"
    assert verdicts(over=-0.2)[over] == "does not hold"
    assert verdicts(bump=0.0)[bump] == "does not hold"
    # Checkpoints are evenly spaced in the root of steps: even moves slow down a little.
    assert verdicts(even=True)[slows] == "does not hold"
    assert verdicts(told=0.85)[readers] == "does not hold"


def test_the_share_of_models_with_a_bump_has_an_interval():
    claim = study.claims(study.gather(cells(still=(1,))))[4]
    assert claim.found == 1.0
    # Wilson's interval of 4 of 4: n / (n + 1.96^2).
    assert claim.interval == pytest.approx((4.0 / (4.0 + 1.959964**2), 1.0), abs=1e-6)
    assert claim.note.startswith("2 of 2 models at 0.137, by ")


def test_samples_are_those_of_a_model_that_learned():
    def strip(still):
        ax = study.figure(study.gather(cells(still=still))).axes[2]
        names = [label.get_text() for label in ax.get_yticklabels()]
        return names, set(np.unique(ax.get_images()[0].get_array()))

    assert strip(()) == (["0.137\nseed 0", "0.689\nseed 0"], {0})
    assert strip((0,)) == (["0.137\nseed 1", "0.689\nseed 1"], {1})
    assert strip((0, 1, 2)) == (["0.137\nnone learned", "0.689\nnone learned"], {255})
