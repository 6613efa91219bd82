"""Invariance and partial exposure, with and without an intercept."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole

from partwhole_studies.overlap import exposure as study

# Margins at saliences .2, .3 and .4, from the 2 x 2 systems solved by hand.
MARGINS = {
    ("invariance", "none"): (1 / 4, 3 / 7, 2 / 3),
    ("invariance", "free"): (1 / 4, 3 / 7, 2 / 3),
    ("partial exposure", "none"): (2 / 23, 9 / 41, 8 / 17),
    ("partial exposure", "free"): (-1 / 11, 1 / 9, 3 / 7),
}


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


@pytest.mark.parametrize(("task", "intercept"), MARGINS)
def test_margins_are_those_solved_by_hand(data, task, intercept):
    margins = data.margin.sel(task=task, intercept=intercept)
    for learner in study.LEARNERS:
        solved = margins.sel(learner=learner).sel(salience=[0.2, 0.3, 0.4], method="nearest")
        np.testing.assert_allclose(solved, MARGINS[task, intercept], atol=1e-9)


def test_a_free_intercept_turns_weak_parts_around(data):
    numbers = study.numbers(data)
    threshold = data.zero.sel(task="partial exposure", intercept="free")
    assert float(threshold) == pytest.approx(0.25, abs=1e-9)
    assert numbers["least_free"] == pytest.approx(-1 / 3, abs=1e-9)
    assert numbers["least_without"] == pytest.approx(0, abs=1e-9)


def test_the_answer_follows_from_the_margins(data):
    numbers = study.numbers(data)
    assert numbers["verdict"] == "both are true but for a tie"
    assert study.numbers(data.assign(margin=data.margin + 1.0))["verdict"] == "both are true"
    assert numbers["free"] == "a part changes its meaning below a salience of 0.25"
    numbers = study.numbers(data.assign(margin=abs(data.margin)))
    assert numbers["free"] == "this is so too"
    assert study.numbers(data.assign(margin=-data.margin))["verdict"] == "both can fail"


def test_a_wrong_exponent_is_noticed(data, monkeypatch):
    monkeypatch.setattr(
        study, "partial_exposure_margin", lambda k, *, intercept: 2 * k / (1 + 2 * k)
    )
    assert np.abs(study.numbers(data)["law"]).max() > 0.1
