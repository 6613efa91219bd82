"""Which tasks are solvable in principle."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from study_cells import computed

from partwhole_studies.overlap import solvable_tasks as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


def test_verdicts(cells):
    found = study.claims(study.gather(cells))
    assert {claim.verdict.value for claim in found} == {"holds"}
    assert len(found) > 30


def test_share_of_a_product_that_is_additive():
    assert study.additive_share(np.arange(-3.0, 5.0)) == pytest.approx(0.086957, abs=1e-6)
    # Products 1, 2, 2, 4: squares about the mean 4.75, of which the contrast 1 has 1/4.
    assert study.additive_share(np.array([1.0, 2.0])) == pytest.approx(1 - 0.25 / 4.75)


def test_a_certificate_stands_beside_every_failure(cells):
    data = study.gather(cells)
    for task in data.task[data.signs == 0].to_numpy():
        sentence = data.sentence.sel(task=task).item()
        assert sentence.startswith("Not solvable: f(")
        assert "targets give 4" in sentence


def test_a_task_out_of_reach_is_noticed(cells, monkeypatch):
    task = "addition, anchor 0"
    monkeypatch.setitem(study.BUILD, task, lambda: study.product_of_values([0]))
    changed = [
        (config, study.cell(config) if config["task"] == task else arrays)
        for config, arrays in cells
    ]
    failing = [
        claim.statement
        for claim in study.claims(study.gather(changed))
        if claim.verdict.value == "does not hold"
    ]
    assert failing == [f"{task}: share of the unseen answers' variance within reach."]


def test_a_wrong_rank_is_noticed(cells, monkeypatch):
    # A design that forgets the constant and single parts has fewer dimensions than was counted.
    right = study.indicators
    monkeypatch.setattr(study, "indicators", lambda task: right(task)[:, :2])
    data = study.gather([(config, study.cell(config)) for config, _ in cells[:2]] + cells[2:])
    failing = [c.statement for c in study.claims(data) if c.verdict.value == "does not hold"]
    assert len(failing) == 1
    assert failing[0].startswith("Ranks agree")


def test_it_draws(cells):
    file = BytesIO()
    study.figure(study.gather(cells)).savefig(file)
    assert file.tell() > 10_000
