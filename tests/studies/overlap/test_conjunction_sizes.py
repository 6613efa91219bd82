"""Mean size of each kind of conjunction, from labels, from values, and exactly."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from study_cells import computed

from partwhole_studies.overlap import conjunction_sizes as study

CONFIGS = study.PRESETS["quick"]


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study, CONFIGS))


def test_verdicts(data):
    found = study.claims(data)
    failing = [claim for claim in found if claim.verdict.value == "does not hold"]
    assert all(
        "decision values" in claim.statement or "(exact)" in claim.statement for claim in failing
    )
    assert len(failing) == 5
    assert {claim.verdict.value for claim in found} == {"holds", "does not hold"}


def test_kinds_of_conjunction():
    pairs = np.array([[0, 4], [1, 4]])
    assert study.kind_of((0, 1), pairs).tolist() == [0, 1]
    assert study.kind_of((0, 2), pairs).tolist() == [1, 0]
    assert study.kind_of((1, 2), pairs).tolist() == [2, 2]
    assert study.kind_of((0,), pairs[:, :1]).tolist() == [3, 3]
    assert study.kind_of((0, 1, 2), np.zeros((1, 3), dtype=int)).tolist() == [4]


def test_swapped_saliences_are_noticed(monkeypatch):
    swapped = {name: (b, a) for name, (a, b) in study.REPRESENTATIONS.items()}
    monkeypatch.setattr(study, "REPRESENTATIONS", swapped)
    data = study.gather([(config, study.cell(config)) for config in CONFIGS])
    failing = [
        claim.statement
        for claim in study.claims(data)
        if claim.verdict.value == "does not hold" and "predicted labels" in claim.statement
    ]
    assert len([statement for statement in failing if statement.startswith("Rep. 2")]) >= 3


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
