"""Three and four concepts: how often the error falls, and mistakes that have to be noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.flows import flow
from partwhole.flows.cholesky_path import cholesky_path
from partwhole.study.declaration import declared
from partwhole_studies.dynamics import multiple_descent as study

SEEDS = 12
CONFIGS = [config for config in study.PRESETS["quick"] if config.get("seed", 0) < SEEDS]
CHECKS = [check.number for check in declared(study).checks]


@pytest.fixture(scope="module")
def cells():
    return computed(study, CONFIGS)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def failed(data):
    checks = declared(study).findings(study.numbers(data)).checks
    return {name for name, check in zip(CHECKS, checks, strict=True) if not check.passed}


def again(cells, config):
    return study.gather([(c, study.cell(c) if c == config else arrays) for c, arrays in cells])


def test_it_is_whole(data):
    require_whole(study, data)


def test_published_counts_need_the_square(data):
    verdict = verdicts(study, data)
    assert verdict["square"] == "holds"
    assert verdict["triple_defined"] == verdict["quadruple_defined"] == "does not hold"


# Computed independently of this package.
def test_start(data):
    stated = [3.695749, 4.094927, 7.022295, 7.022295]
    np.testing.assert_allclose(data.error[:, 0, 0], stated, atol=1e-6)
    plateaus = study.plateaus("quadruple, as run")
    np.testing.assert_allclose(plateaus, [0.5 * (1 + 2.25 + 4.84), 1.625, 0.5])
    assert data.valid.sel(power=2).all()
    assert not data.valid.sel(power=1, setting="quadruple, as run")


def test_a_forgotten_square_is_noticed(cells, monkeypatch):
    def itself(system, times, **options):
        return flow(replace(system, power=1), times, **options)

    monkeypatch.setattr(study, "flow", itself)
    wrong = again(cells, {"setting": "quadruple, as run", "power": 2})
    assert verdicts(study, wrong)["square"] == "does not hold"
    assert {"times", "errors"} <= failed(wrong)


def test_a_wrong_closed_form_is_noticed(cells, monkeypatch):
    def fast(*args, **options):
        return cholesky_path(*args, clock="gradient", **options)

    monkeypatch.setattr(study, "cholesky_path", fast)
    wrong = again(cells, {"setting": "triple, as captioned", "power": 2})
    assert failed(wrong) == {"formula_times"}


def test_a_wrong_plateau_is_noticed(data, monkeypatch):
    right = study.plateaus
    monkeypatch.setattr(study, "plateaus", lambda setting: 0.5 * right(setting))
    assert failed(data) == {"tiny"}


def test_a_training_error_that_rises_is_noticed(data):
    wrong = data.copy(deep=True)
    wrong.training_error[0, 1, 500] += 0.1
    assert failed(wrong) == {"training_rises"}


def test_drawn_starts(data):
    # Seed by seed the same starts at both powers; counts are whole and at least one.
    counts = data.descents.transpose("seed", "drawn", "power").values
    assert counts.shape == (SEEDS, 2, 2)
    assert set(np.unique(counts)) <= {1, 2, 3, 4}
    square, itself = counts.mean(axis=(0, 1))
    assert square > itself
