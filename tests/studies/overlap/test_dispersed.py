"""Dispersed addition, exact and as published, and what the study says of it."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed

from partwhole_studies.overlap import dispersed as study

QUICK = study.PRESETS["quick"]


@pytest.fixture(scope="module")
def cells():
    return computed(study, QUICK)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def verdicts(data):
    return {claim.statement: claim.verdict.value for claim in study.claims(data)}


def test_verdicts(data):
    found = verdicts(data)
    failing = {statement for statement, verdict in found.items() if verdict != "holds"}
    assert {found[statement] for statement in failing} == {"does not hold"}
    assert failing == {
        "The published regression leaks as exact interpolation does: slope with 1 anchor, S = 0.4.",
        "The published regression leaks as exact interpolation does: slope with 2 anchors, S = "
        "0.3.",
        "Where nothing is memorized, S = 1/2, unseen sums are exact: error of the published "
        "regression, first layout.",
    }


def test_the_defect_is_told_with_both_numbers(data):
    claims = [c for c in study.claims(data) if c.verdict == "does not hold"]
    assert [round(c.found, 3) for c in claims] == [0.644, 0.582, 0.154]
    assert all("Exact interpolation finds" in c.note for c in claims)


# Facts computed independently of this package, to six digits.
def test_layouts_of_other_seeds(data):
    found = data.error.sel(salience=0.3, seed=[2, 3, 4])
    np.testing.assert_allclose(found, (8.729431, 3.808967, 2.440217), atol=1e-6)
    seed_0 = study.cell({"part": "layout", "seed": 0, "tube": []})
    assert seed_0["error"][30] == pytest.approx(8.572592, abs=1e-6)


def test_swapped_saliences_are_noticed(monkeypatch):
    right = study.interpolation_sweep
    monkeypatch.setattr(
        study, "interpolation_sweep", lambda task, s: right(task, np.clip(1 - 2 * s, 0, 0.5))
    )
    found = verdicts(study.gather([(config, study.cell(config)) for config in QUICK]))
    broken = [statement for statement, verdict in found.items() if verdict == "does not hold"]
    assert sum("exact interpolation" in statement for statement in broken) >= 5
    assert any("as by ridge regression" in statement for statement in broken)


def test_a_wrong_penalty_is_noticed(monkeypatch):
    right = study._additive_ridge
    monkeypatch.setattr(study, "_additive_ridge", lambda task, penalty: right(task, penalty**2))
    found = verdicts(study.gather([(config, study.cell(config)) for config in QUICK[:5]]))
    (ridge,) = [s for s in found if "as by ridge regression" in s]
    assert found[ridge] == "does not hold"


def test_figure(data):
    assert len(study.figure(data).axes) == 7
