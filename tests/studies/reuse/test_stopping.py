"""The least error along learning beside the last."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE
from partwhole_studies.reuse import diagonal_runs as runs
from partwhole_studies.reuse import stopping as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_it_is_whole(data):
    require_whole(study, data)


def test_published_errors_are_the_least_and_not_the_last(data):
    numbers = study.numbers(data)
    # Of a published mean of six seeds, measured with 10,000 inputs.
    assert numbers["best"].value == pytest.approx(numbers["published"], abs=0.04)
    assert numbers["hurts"].low > 1
    assert verdicts(study, data)["last"] == "does not hold"


def test_errors_are_those_of_descent_with_the_same_seeds(data):
    # Plain gradient descent with steps of .1, seeds 100 to 105, and exact ends.
    means = data[["best", "last"]].mean("seed")
    apart, half = means.sel(overlap=0, n=32), means.sel(overlap=20, n=64)
    assert float(apart["last"].sel(learner=FINETUNING)) == pytest.approx(2.3660, rel=1e-3)
    assert float(apart["last"].sel(learner=PROBING)) == pytest.approx(5.153, rel=1e-3)
    assert float(apart["last"].sel(learner=SINGLE)) == pytest.approx(1.025, rel=0.01)
    assert float(half["last"].sel(learner=FINETUNING)) == pytest.approx(0.91353, rel=1e-3)
    assert float(half.best.sel(learner=FINETUNING)) == pytest.approx(0.8235, rel=0.03)
    assert float(half["last"].sel(learner=PROBING)) == pytest.approx(1.363, rel=0.05)


def test_without_shared_features_the_least_error_is_at_the_start(data):
    tuned = data.sel(overlap=0, n=32, learner=[FINETUNING, PROBING]).dropna("seed", how="all")
    # Readouts of .001 let a little of the pretrained coefficients through.
    start = 1 + 40 * 1e-6 * (1 / np.sqrt(40) - 2e-6)
    np.testing.assert_allclose(tuned.errors.sel(step=0), start, atol=1e-9)
    np.testing.assert_array_equal(tuned.best, tuned.errors.sel(step=0))


def test_a_larger_readout_is_noticed(cells, monkeypatch):
    monkeypatch.setattr(runs, "SCALE", 0.05)
    changed = [
        (config, study.cell(config))
        if config["part"] == "paths"
        and (config["overlap"], config["n"]) == (0, 32)
        and config["learner"] != MULTI
        else (config, arrays)
        for config, arrays in cells
    ]
    assert np.abs(study.numbers(study.gather(changed))["networks"]).max() > 0.1


def test_exchanged_readings_are_noticed(data):
    exchanged = data.rename(best="last", last="best")
    assert verdicts(study, exchanged)["hidden"] == "does not hold"
    assert verdicts(study, exchanged)["last"] == "holds"
