"""Item values by closed form and of the solved task."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole

from partwhole_studies.overlap import item_values as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


# Computed independently of this package, to six digits.
def test_errors(data):
    table = [
        (8.437500, 4.897959, 1.666667),
        (2.880000, 1.280000, 0.320000),
        (5.348571, 2.377143, 0.594286),
    ]
    np.testing.assert_allclose(data.error.sel(salience=[0.2, 0.3, 0.4]), table, atol=1e-6)


def test_values_of_anchors_and_of_other_items(data):
    curve = data.value.sel(layout="both", salience=0.3, component="first")
    values = curve.sel(item=[-4, -2, 2])
    np.testing.assert_allclose(values, (-2.4, -1.741935, 1.741935), atol=1e-6)


def test_swapped_saliences_are_noticed(data, monkeypatch):
    right = study.memorization_leak
    monkeypatch.setattr(study, "memorization_leak", lambda s, p: right((1 - s) / 2, p))
    numbers = study.numbers(data)
    assert np.abs(numbers["lines"]).max() > 0.1
    assert np.abs(numbers["errors"]).max() > 0.1
