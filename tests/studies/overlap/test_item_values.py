"""Item values by closed form and off the solved task, and what the study says of them."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed

from partwhole.features import OverlapKernel
from partwhole_studies.overlap import item_values as study

QUICK = study.PRESETS["quick"]


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study, QUICK))


def verdicts(data):
    return [claim.verdict.value for claim in study.claims(data)]


def test_verdicts(data):
    assert verdicts(data) == ["holds"] * 14


# Facts computed independently of this package, to six digits.
def test_errors(data):
    found = data.error.sel(salience=[0.2, 0.3, 0.4])
    table = [
        (8.437500, 4.897959, 1.666667),
        (2.880000, 1.280000, 0.320000),
        (5.348571, 2.377143, 0.594286),
    ]
    np.testing.assert_allclose(found, table, atol=1e-6)


def test_anchors_beside_other_items(data):
    curve = data.value.sel(layout="both", salience=0.3, component="first")
    at = dict(zip(study.VALUES, curve.values, strict=True))
    assert at[2] == pytest.approx(1.741935, abs=1e-6)
    assert at[-2] == pytest.approx(-1.741935, abs=1e-6)
    assert at[-4] == pytest.approx(-2.4, abs=1e-6)


def test_swapped_saliences_are_noticed(monkeypatch):
    def swapped(salience):
        (single,) = salience
        return OverlapKernel(2, np.array([0.0, 1 - 2 * single, 1 - 2 * single, single]))

    with monkeypatch.context() as broken:
        broken.setattr(study.OverlapKernel, "from_salience", swapped)
        cells = [(config, study.cell(config)) for config in QUICK]
    found = verdicts(study.gather(cells))
    assert found.count("does not hold") >= 12


def test_figure(data):
    assert len(study.figure(data).axes) == 3
