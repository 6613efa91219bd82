"""How much concepts change images, against a recorded table and plain sums over pixels."""

from __future__ import annotations

import numpy as np
import pytest
from study_rules import require_whole, verdicts

from partwhole_studies.diffusion import concept_strength as study


@pytest.fixture(scope="module")
def data():
    return study.gather([(config, study.cell(config)) for config in study.PRESETS["quick"]])


def test_it_is_whole(data):
    require_whole(study, data)


# Computed independently of this package, to six digits.
@pytest.mark.parametrize(
    ("colour", "distances"),
    [
        (0.137, (0.000466, 0.003432, 0.038413)),
        (0.358, (0.003179, 0.023437, 0.050341)),
        (0.689, (0.011776, 0.086812, 0.077797)),
        (0.8, (0.015876, 0.117037, 0.089580)),
    ],
)
def test_distances_are_the_recorded_ones(data, colour, distances):
    np.testing.assert_allclose(data.distance.sel(colour=colour), distances, atol=2e-6)


def test_distances_are_those_of_the_pictures(data):
    pictures = data.pictures.sel(colour=0.468).values
    plain = [((pictures[0] - pictures[k]) ** 2).mean() for k in (2, 1)]
    distances = data.distance.sel(colour=0.468, change=["big", "size"])
    np.testing.assert_allclose(distances, plain, rtol=1e-9)


def test_another_exponent_is_noticed(data):
    cubic = data.assign(distance=data.distance**1.5)
    numbers = study.numbers(cubic)
    np.testing.assert_allclose(numbers["exponents"], 1.0)
    assert np.abs(numbers["signal"]).max() > 0.01


def test_swapped_distances_are_noticed(data):
    faint = data.distance.where(data.change == "size", 0.5 * data.distance)
    assert verdicts(study, data.assign(distance=faint))["crossing"] == "does not hold"
    strong = data.distance.where(data.change != "small", 8.0 * data.distance)
    assert verdicts(study, data.assign(distance=strong))["small_ratio"] == "does not hold"
