"""The leak's closed forms beside the solved task."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole

from partwhole_studies.overlap import leak_slope as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


# Computed independently of this package, to six digits.
def test_slopes_of_the_solved_tasks(data):
    table = [
        (0.111111, 0.428571, 0.666667, 0.818182, 1.0),
        (0.2, 0.6, 0.8, 0.9, 1.0),
        (0.272727, 0.692308, 0.857143, 0.931034, 1.0),
        (0.333333, 0.75, 0.888889, 0.947368, 1.0),
        (0.384615, 0.789474, 0.909091, 0.957447, 1.0),
    ]
    for column in ("first", "second"):
        slopes = data.line.sel(salience=[0.1, 0.3, 0.4, 0.45, 0.5], column=column)
        np.testing.assert_allclose(slopes, table, atol=1e-6)


def test_variants_and_anchors_off_centre(data):
    variants = (0.6, 0.428571, 0.705882, 0.782609, 0.809160, 0.961644)
    np.testing.assert_allclose(data.variants, variants, atol=1e-6)
    lines = data.off_centre.sel(column=["first", "offset", "error"])
    expected = [(0.666667, -1.980952, 6.522585), (0.666667, -0.860215, 2.591224)]
    np.testing.assert_allclose(lines, expected, atol=1e-6)


def test_swapped_saliences_are_noticed(data, monkeypatch):
    def swapped(salience, n_anchors, *, memorization=None):
        top = 1 - 2 * salience if memorization is None else memorization
        return n_anchors * top / (n_anchors * top + salience)

    monkeypatch.setattr(study, "memorization_leak", swapped)
    numbers = study.numbers(data)
    assert np.abs(numbers["law"]).max() > 0.1
    assert np.abs(numbers["variants"]).max() > 0.1
