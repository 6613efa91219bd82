"""Dispersed sums of composed images: networks that were trained, and kernel machines."""

from __future__ import annotations

import numpy as np
import pytest
from image_scores import scored
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole_studies.images import dispersed_images as study
from partwhole_studies.network_tasks import make_task

SALIENCES = {0: 0.3, 4: 0.4, 8: 0.45}


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def synthetic(preset, answered=SALIENCES, measured=SALIENCES, noise=0.0):
    """Return cells of networks that answer as kernel machines do, and what is measured in them."""
    cells = []
    for config in study.PRESETS[preset]:
        answer = study.answers(config["task"], answered[config["distance"]])
        rng = np.random.default_rng([config["seed"], config["distance"]])
        salience = np.array([measured[config["distance"]], 0.0])
        cell = {
            "answered": answer + noise * rng.normal(size=len(answer)),
            "predicted": answer,
            "salience": np.broadcast_to(salience, (2, len(study.PLACES), 2)),
            "learned": np.array(True),
        }
        cells.append((config, cell | scored(0.0, 0.1, 0.4)))
    return cells


def test_it_is_whole(data):
    require_whole(study, data)


def test_a_network_errs_where_it_is_expected_to(data):
    assert data.attrs["not_learned"] == "none of 1"
    assert float(data.pattern.squeeze()) > 0.8


def test_kernel_machines_are_recognised_by_their_answers():
    data = study.gather(synthetic("laptop"))
    require_whole(study, data)
    for name in ("implied", "salience"):
        assert np.allclose(data[name].mean(["task", "seed"]).squeeze().T, list(SALIENCES.values()))
    np.testing.assert_allclose(data.pattern, 1.0)
    np.testing.assert_allclose(data.theory.sel(stage="before", place="late"), data.error)
    np.testing.assert_allclose(data.readout, data.error)
    assert set(verdicts(study, data).values()) == {"holds"}


def test_answers_are_those_of_ridge_regression_on_single_items():
    task = make_task("dispersed 1")
    columns = np.hstack([np.eye(9)[task.components[:, c]] for c in (0, 1)] + [np.ones((81, 1))])
    seen = columns[task.is_train]
    # The published equality: at salience S a penalty of (1 - 2 S) / S, the intercept free.
    penalty = np.diag([0.4 / 0.3] * 18 + [0.0])
    weights = np.linalg.solve(seen.T @ seen + penalty, seen.T @ task.train_targets)
    expected = (columns @ weights)[~task.is_train]
    np.testing.assert_allclose(
        study.answers("dispersed 1", 0.3)[~task.is_train], expected, atol=1e-9
    )


def test_other_saliences_than_measured_are_noticed():
    data = study.gather(synthetic("laptop", measured={0: 0.45, 4: 0.47, 8: 0.49}))
    numbers = study.numbers(data)
    assert numbers["implied"].value == pytest.approx(np.mean(list(SALIENCES.values())))
    assert numbers["measured"].value == pytest.approx(0.47)
    assert numbers["predicted"].value < 0.5 * data.error.mean()


@pytest.mark.parametrize(("number", "changed"), [
    ("gain", {"answered": {0: 0.45, 4: 0.4, 8: 0.3}}),
    ("pattern", {"noise": 20.0}),
])  # fmt: skip
def test_errors_that_grow_and_errors_elsewhere_are_noticed(number, changed):
    data = study.gather(synthetic("laptop", **changed))
    assert verdicts(study, data)[number] == "does not hold"


def test_scores_stand_at_their_epochs():
    error = study.gather(synthetic("quick")).along.squeeze(drop=True)
    assert error.epoch.values.tolist() == [1, 5]
    assert error.sel(epoch=5).values.tolist() == [0.0, 0.1, 0.4]


def test_networks_that_did_not_learn_are_left_out():
    cells = synthetic("quick")
    cells[0][1]["learned"] = np.array(False)
    data = study.gather(cells)
    assert data.attrs["not_learned"] == "1 of 1"
    assert data.error.isnull().all()
    assert data.along.isnull().all()
    study.figure(data)
