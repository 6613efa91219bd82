"""Dispersed addition, exact and as published."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.limits.sweeps import interpolation_sweep
from partwhole.tasks import dispersed_addition
from partwhole_studies.overlap import dispersed as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_it_is_whole(data):
    require_whole(study, data)


def test_the_published_regression_does_not_interpolate(data):
    assert verdicts(study, data)["tube_error"] == "does not hold"
    assert float(data.tube_error.sel(seed=1, tube=0.5)) == pytest.approx(0.1539, abs=5e-3)


def test_the_more_salient_items_are_the_steeper_their_values(data):
    curves = data.item_value.mean("seed").transpose("item", "few")
    slopes = np.polyfit(study.VALUES, curves, 1)[0]
    assert np.all(np.diff([0, *slopes, 1]) > 0)


# Computed independently of this package, to six digits.
def test_layouts_of_other_seeds(data):
    errors = data.error.sel(salience=0.3, seed=[2, 3, 4])
    np.testing.assert_allclose(errors, (8.729431, 3.808967, 2.440217), atol=1e-6)
    seed_0 = study.cell({"part": "layout", "seed": 0, "tube": []})
    assert seed_0["error"][30] == pytest.approx(8.572592, abs=1e-6)


def test_a_wrong_penalty_is_noticed():
    task = dispersed_addition(study.VALUES, 2, seed=1)
    solved = interpolation_sweep(task, np.array([0.3]))[0]
    for penalty, equal in ((0.4 / 0.3, True), ((0.4 / 0.3) ** 2, False)):
        assert np.allclose(study.additive_ridge(task, penalty), solved, atol=1e-10) == equal
