"""Invariance and partial exposure, with and without an intercept."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from study_cells import computed

from partwhole_studies.overlap import exposure as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_verdicts(data):
    others = [claim for claim in study.claims(data) if claim.verdict.value != "holds"]
    assert len(others) == 1
    assert others[0].statement.endswith("margin is at least 0 (free intercept).")
    assert others[0].verdict.value == "does not hold"
    assert others[0].found == pytest.approx(-1 / 3)


def test_every_stated_value_is_claimed(data):
    stated = [claim for claim in study.claims(data) if claim.statement.startswith("Margin of")]
    assert len(stated) == 3 * len(study.STATED)
    values = [claim.reference for claim in stated if "invariance" in claim.statement]
    assert values == [0.25, 0.428571, 0.666667] * 2


def test_both_learners_agree(data):
    one, other = data.margin.transpose("learner", ...)
    assert float(abs(one - other).max()) < 1e-6


def test_a_wrong_exponent_is_noticed(data, monkeypatch):
    def wrong(salience, *, intercept="none"):
        return 2 * salience / (1 + 2 * salience)

    monkeypatch.setattr(study, "partial_exposure_margin", wrong)
    failing = [claim for claim in study.claims(data) if claim.verdict.value == "does not hold"]
    assert len([claim for claim in failing if "Closed form" in claim.statement]) == 2


def test_swapped_saliences_are_noticed(data, monkeypatch):
    def swapped(salience):
        return (1 - 2 * salience) / (2 * salience + 1e-12)

    monkeypatch.setattr(study, "invariance_margin", swapped)
    failing = [claim for claim in study.claims(data) if claim.verdict.value == "does not hold"]
    assert len([claim for claim in failing if "agree: invariance" in claim.statement]) == 2


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000


def test_no_marker_hides_another(data):
    for ax in study.figure(data).axes:
        drawn = [line.get_xydata() for line in ax.lines if line.get_marker() in ("o", "D")]
        points = np.concatenate(drawn)
        assert len(drawn) == 4
        assert len(np.unique(points[:, 0].round(6))) == len(points) == data.sizes["salience"]
