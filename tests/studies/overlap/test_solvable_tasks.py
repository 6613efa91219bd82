"""Which tasks are solvable in principle."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole_studies.overlap import solvable_tasks as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def with_cells_of(tasks, cells):
    return [(c, study.cell(c) if c["task"] in tasks else arrays) for c, arrays in cells]


def test_it_is_whole(data):
    require_whole(study, data)


def test_share_of_a_product_that_is_additive():
    assert study.additive_share(np.arange(-3.0, 5.0)) == pytest.approx(0.086957, abs=1e-6)
    # Products 1, 2, 2, 4: squares about the mean 4.75, of which the contrast 1 has 1/4.
    assert study.additive_share(np.array([1.0, 2.0])) == pytest.approx(1 - 0.25 / 4.75)


def test_share_of_an_ordering(data):
    share = data.r_squared.sel(task="ordering of 7 items")
    assert float(share) == pytest.approx(0.882494, abs=1e-6)


def test_a_certificate_stands_beside_every_failure(data):
    beyond = data.task[data.signs == 0].to_numpy()
    equivalence = ("equivalence, 2 + 2 items", "equivalence, 2 + 3 items", "associative inference")
    assert {*beyond} == {"context substitution", *equivalence}
    for task in beyond:
        sentence = data.sentence.sel(task=task).item()
        assert sentence.startswith("Not solvable: f(")
        assert "targets give 4" in sentence


def test_a_task_out_of_reach_is_noticed(cells, monkeypatch):
    task = "addition, anchor 0"
    monkeypatch.setitem(study.BUILD, task, lambda: study.product_of_values([0]))
    wrong = study.gather(with_cells_of([task], cells))
    assert verdicts(study, wrong)["least_share"] == "does not hold"


def test_a_wrong_rank_is_noticed(cells, monkeypatch):
    # A design that forgets the constant and single parts has fewer dimensions than was counted.
    right = study.indicators
    monkeypatch.setattr(study, "indicators", lambda task: right(task)[:, :2])
    wrong = study.gather(with_cells_of(["addition, anchor 0"], cells))
    assert np.abs(study.numbers(wrong)["ranks"]).max() > 0
