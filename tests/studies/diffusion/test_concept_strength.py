"""How strongly concepts show, against the recorded table and plain sums over pixels."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole_studies.diffusion import concept_strength as study


@pytest.fixture(scope="module")
def data():
    return study.gather([(config, study.cell(config)) for config in study.PRESETS["quick"]])


@pytest.mark.parametrize(
    ("colour", "recorded"),
    [
        (0.137, (0.000466, 0.003432, 0.038413)),
        (0.358, (0.003179, 0.023437, 0.050341)),
        (0.689, (0.011776, 0.086812, 0.077797)),
        (0.8, (0.015876, 0.117037, 0.089580)),
    ],
)
def test_distances_are_the_recorded_ones(data, colour, recorded):
    np.testing.assert_allclose(data.distance.sel(colour=colour), recorded, atol=2e-6)


def test_pictures_are_those_whose_distances_they_are(data):
    shown = data.pictures.sel(colour=0.468).values
    plain = [((shown[0] - shown[2]) ** 2).mean(), ((shown[0] - shown[1]) ** 2).mean()]
    found = data.distance.sel(colour=0.468, pair=["big", "size"])
    np.testing.assert_allclose(found, plain, rtol=1e-9)


def test_claims_hold_and_others_do_not(data):
    assert [claim.verdict.value for claim in study.claims(data)] == ["holds"] * 4
    cubic = data.assign(distance=data.distance**1.5)
    assert study.claims(cubic)[0].verdict.value == "does not hold"
    assert study.claims(cubic)[1].verdict.value == "does not hold"
    faint = data.distance.where(data.pair == "size", 0.5 * data.distance)
    assert study.claims(data.assign(distance=faint))[2].verdict.value == "does not hold"
    strong = data.distance.where(data.pair != "small", 8.0 * data.distance)
    assert study.claims(data.assign(distance=strong))[3].verdict.value == "does not hold"


def test_it_draws(data):
    assert len(study.figure(data).axes) == 2
