"""Units that are close to pretrained ones."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from study_cells import computed

from partwhole.recommendation.methods import SINGLE
from partwhole_studies.reuse import _correlated_claims as weighed
from partwhole_studies.reuse import _relu_runs as runs
from partwhole_studies.reuse import correlated_features as study


@pytest.fixture(scope="module")
def cells():
    short = {"hidden": 60, "epochs": 1_500, "epochs_together": 150, "seeds": [0, 1]}
    configs = [config | short for config in study.PRESETS["quick"]]
    return computed(study, configs)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_verdicts(data):
    found = {claim.statement: claim for claim in study.claims(data)}
    wrong = [words for words, claim in found.items() if claim.verdict.value == "does not hold"]
    # With few samples multi-task learning gains, in the published means too.
    assert all(words.startswith("Multi-task learning gains nothing") for words in wrong)
    theory = [claim for claim in found.values() if claim.source == weighed.HERE]
    assert len(theory) == 10
    assert {claim.verdict.value for claim in theory} == {"holds"}
    assert len(study.ANSWER) < 240


def test_claims_on_small_tasks_need_them_fitted(data):
    """Finetuning that was stopped early says nothing of where it ends."""
    stopped = data.copy(deep=True)
    stopped.magnitudes_left[:] = 0.1
    asked = [c for c in study.claims(stopped) if "hindered" in c.statement]
    assert asked
    assert {c.verdict.value for c in asked} == {"outside its assumptions"}
    assert all("10 % of the variance not yet fitted" in c.note for c in asked)
    ended = data.copy(deep=True)
    ended.magnitudes_left[:] = 0.0
    asked = [c for c in study.claims(ended) if "hindered" in c.statement]
    assert asked
    assert "outside its assumptions" not in {c.verdict.value for c in asked}


def test_cells_are_plain_data(cells):
    for config, arrays in cells:
        assert {type(value) for value in config.values()} <= {str, int, float, list}
        assert all(isinstance(value, np.ndarray) for value in arrays.values())


def test_gather_keeps_each_number_at_its_place(cells, data):
    for config, found in cells:
        part = config["part"]
        magnitude = config["magnitude"] / config["aux_magnitude"]
        laid = data[f"{part}_final"].sel(
            {f"{part}_n": config["n"], f"{part}_correlation": config["correlations"][0]}
        )
        laid = laid.sel({f"{part}_magnitude": magnitude}, method="nearest")
        np.testing.assert_array_equal(laid.transpose(f"{part}_way", f"{part}_seed"), found["final"])


def test_published_errors_are_in_units_of_the_variance():
    unit = runs.VARIANCE / 6
    alone = weighed.published(1.0, SINGLE, 0.8, one_seed=True)
    assert alone[32] == pytest.approx(0.03133 / unit)
    small = weighed.published(0.01, study.ONE, 0.8, one_seed=True)
    assert small[256] == pytest.approx(1.703e-7 / (1e-4 * unit))
    # Single-task errors at 32 samples are of half the variance at all magnitudes.
    for magnitude in (1.0, 0.1, 0.01):
        least = weighed.published(magnitude, SINGLE, 1.0, one_seed=True)[32]
        assert least == pytest.approx(0.55, rel=0.05)


def test_a_scaled_pair_of_tasks_is_learned_alike():
    """Both tasks times m, with steps over m, are the same pair for other first weights."""
    base = runs.SMALL | {"hidden": 60, "seeds": [0, 1], "correlations": [1.0] * 6, "n": 32}
    base |= {"ways": [study.ONE], "threshold": 1e-12, "pretrain_steps": 3000}
    found = [
        runs.learned(
            base | {"magnitude": m, "aux_magnitude": m, "rate": 0.2 / m, "pretrain_rate": 0.2 / m}
        )["final"]
        for m in (1.0, 0.1)
    ]
    # First weights and new readouts are three times as large in units of the tasks' roots.
    assert np.abs(np.log(found[1] / found[0])).max() < np.log(1.5)


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
