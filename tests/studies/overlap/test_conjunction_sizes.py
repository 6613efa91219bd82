"""Mean size of each kind of conjunction, from labels, from values, and exactly."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole_studies.overlap import conjunction_sizes as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_it_is_whole(data):
    require_whole(study, data)


def test_published_sizes_are_of_labels(data):
    verdict = verdicts(study, data)
    assert verdict["labels_gap"] == "holds"
    assert verdict["values_gap"] == "does not hold"


def test_kinds_of_conjunction():
    pairs = np.array([[0, 4], [1, 4]])
    assert study.kind_of((0, 1), pairs).tolist() == [0, 1]
    assert study.kind_of((0, 2), pairs).tolist() == [1, 0]
    assert study.kind_of((1, 2), pairs).tolist() == [2, 2]
    assert study.kind_of((0,), pairs[:, :1]).tolist() == [3, 3]
    assert study.kind_of((0, 1, 2), np.zeros((1, 3), dtype=int)).tolist() == [4]


def test_swapped_saliences_are_noticed(cells, monkeypatch):
    swapped = {name: (b, a) for name, (a, b) in study.REPRESENTATIONS.items()}
    monkeypatch.setattr(study, "REPRESENTATIONS", swapped)
    (config, _) = cells[-1]
    wrong = study.gather([*cells[:-1], (config, study.cell(config))])
    assert verdicts(study, wrong)["labels_gap"] == "does not hold"
