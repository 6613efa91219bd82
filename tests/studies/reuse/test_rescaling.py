"""Rescaling before finetuning: sparse and dense tasks, what is reused, and what it costs."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from study_cells import computed

from partwhole.flows import Ending, diagonal_flow
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import _rescaling_claims as weighed
from partwhole_studies.reuse import rescaling as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def verdicts(data):
    return {claim.statement: claim.verdict.value for claim in study.claims(data)}


def test_verdicts(data):
    open_ones = [text for text, verdict in verdicts(data).items() if verdict != "holds"]
    # What eight seeds leave open: entries of one size, the gain by reuse, and a ratio of 2.5 that
    # is claimed to be at least 2.
    assert len(open_ones) <= 4
    starts = ("At c = 0.1 sparse tasks come first", "Reuse gains less")
    assert all("one size" in text or text.startswith(starts) for text in open_ones)
    wrong = [text for text, verdict in verdicts(data).items() if verdict == "does not hold"]
    assert len(wrong) == 1
    assert "read from the losses" in wrong[0]
    assert len(study.ANSWER) < 240


def test_the_answer_has_the_numbers_found(data):
    for active, c in ((5, 1.0), (5, 0.01), (40, 1.0), (40, 0.01)):
        needed, _ = weighed.samples_needed(data, active, c)
        assert f"{needed:.0f}" in study.ANSWER


def test_cells_are_plain_data():
    for config in study.PRESETS["quick"]:
        assert {type(value) for value in config.values()} <= {str, int, float, list}
    few = study.PRESETS["quick"][0] | {"seeds": [0, 1], "trained": 1, "max_steps": 300}
    found = study.cell(few)
    assert set(found) == {"theory", "missed", "final", "best", "left"}
    assert (found["best"] <= found["final"]).all()
    assert found["missed"] < 1e-8


@pytest.mark.parametrize("learner", study.LEARNERS)
def test_the_limit_is_the_end_of_a_flow(learner):
    config = {
        "learner": learner,
        "features": "reused",
        "entries": "1/a",
        "active": 5,
        "rescale": 0.1,
        "n": 16,
        "seeds": [0],
        "trained": 0,
        "max_steps": 1,
    }
    found = study.cell(config)["theory"]
    sample = SparseTeachers(active_main=5, overlap=5, main_scale="1/a").sample(0, 16)
    path = diagonal_flow(
        study.start(config, sample.auxiliary), sample.inputs, sample.targets, until=1e-14
    )
    assert path.outcome is Ending.FITTED
    error = 5 * float(sample.test_error(path.coefficients[-1]))
    # Integrated to a training loss of 1e-14, in steps of relative accuracy 1e-6 or better.
    np.testing.assert_allclose(found, error, rtol=1e-4)


def test_single_task_weights_are_scaled_as_published():
    config = {"learner": "single-task", "rescale": 0.1}
    weights = study.start(config, np.zeros(2))
    np.testing.assert_allclose(weights.hidden_plus, 0.1**2 * 1e-3)
    np.testing.assert_allclose(weights.readout_minus, 0.1 * 1e-3)


def test_crossings_are_those_of_a_power_law():
    sizes = np.array([16, 32, 64, 128])
    assert weighed.crossing(sizes, 40.0 / sizes**2.0, 0.01) == pytest.approx(np.sqrt(4000.0))
    assert np.isnan(weighed.crossing(sizes, 40.0 / sizes**2.0, 1e-6))


def test_published_losses_start_at_the_variance():
    # A learner of new features that has learned nothing has a loss of 1 / a.
    for losses in weighed.FINETUNING.values():
        assert {len(each) for each in losses.values()} == {len(weighed.SIZES)}
    for active in study.ACTIVE:
        assert weighed.told(("new", active), 1.0)[16] == pytest.approx(1, abs=0.01)


def test_without_rescaling_the_signature_is_missed(data):
    """Networks that were not rescaled contradict what is claimed of c < 1."""
    same = data.theory.sel(rescale=1.0, drop=True)
    changed = data.assign(
        theory=same.expand_dims(rescale=data.rescale).transpose(*data.theory.dims)
    )
    told = verdicts(changed)
    missed = [text for text, verdict in told.items() if verdict == "does not hold"]
    assert sum("sparse tasks come first" in text for text in missed) == 3
    assert sum("does harm" in text for text in missed) == 2
    assert sum(text.startswith("Mean test loss") for text in missed) == 4
    assert any(text.startswith("Published losses") for text in missed)


def test_a_shifted_price_is_noticed(monkeypatch, data):
    prices = weighed.PRICES | {0.1: (1.58114e-3, 4e-8, 3.1132, 8.5)}
    monkeypatch.setattr(weighed, "PRICES", prices)
    assert [v for t, v in verdicts(data).items() if "entry of .2" in t].count("does not hold") == 1


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
