"""Learning times and learned models, of paths whose numbers are known."""

from __future__ import annotations

import numpy as np
import xarray as xr

from partwhole_studies.diffusion import concept_readings as readings
from partwhole_studies.diffusion.training_sets import classes

STEPS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_times_are_those_of_the_last_crossing():
    paths = [
        [0, 0.6, 0.9, 0.1, 0.3, 0.7], [0.6, 0.7, 0.7, 0.8, 0.6, 0.9], [0, 0, 0.9, 0.9, 0.9, 0.4],
        [0, 0.6, 0.9, np.nan, 0.3, 0.7],
    ]  # fmt: skip
    data = xr.DataArray(paths, dims=("run", "step"), coords={"step": STEPS})
    np.testing.assert_allclose(readings.settled(data), [5.5, 1.0, np.inf, np.nan])


def test_ratios_are_capped_and_leave_out_unknown_times():
    data = xr.Dataset(coords={"step": STEPS})
    second = xr.DataArray([6.0, np.inf, 3.0, np.nan], dims="seed")
    first = xr.DataArray([3.0, 2.0, np.inf, 1.0], dims="seed")
    ratio = readings.later(second, first, data)
    assert ratio.n == 3
    # Ratios 2, 6 / 2 and 3 / 6.
    np.testing.assert_allclose(ratio.value, 3.0 ** (1 / 3))


def test_only_models_near_the_corners_count_as_learned():
    steps, concepts = [1.0, 2.0], ["colour", "size"]
    corners = np.array([[0, 0], [0, 1], [1, 0], [0.5, 0.5]])
    values = np.tile(corners[:, None], (2, 2, 1, 5, 1))
    values[1, 1, 2, :, 0] = 0.7  # the second model is .3 from blue and big at the end
    data = xr.Dataset(
        {"coordinates": (("seed", "step", "prompt", "sample", "concept"), values)},
        coords={
            "step": steps, "concept": concepts, "seed": [0, 1],
            "prompt": ["red big", "red small", "blue big", "blue small"],
        },
    )  # fmt: skip
    kept = readings.learned(data)
    assert readings.counts(kept) == {"learned": 1, "models": 2, "kind": "points"}
    assert readings.counts(readings.learned(data, ["red small"]))["learned"] == 2
    accuracy = readings.accuracy(kept, "blue small")
    np.testing.assert_allclose(accuracy, [[0.25, 0.25], [np.nan, np.nan]])


def test_samples_that_two_readers_take_for_different_values_are_counted():
    step, names = np.arange(1, 5), list(classes())
    alike = np.ones((3, 4, 4, 2))  # seed, step, class, concept
    alike[:, 2:, 1, 0] = 0.7
    alike[:, :2] = 0.0  # early
    coords = {"step": step, "prompt": names, "concept": ["colour", "size"]}
    data = xr.Dataset({"alike": (["seed", "step", "prompt", "concept"], alike)}, coords)
    assert "up to 30% of late samples" in readings.differences(data)
    assert readings.differences(data.drop_vars("alike")) == ""
