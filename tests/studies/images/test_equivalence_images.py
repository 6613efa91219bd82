"""Transitive equivalence on composed images: above chance, where overlap kernels cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed

from partwhole.features import OverlapKernel
from partwhole.limits import max_margin
from partwhole_studies.images import _runs as runs
from partwhole_studies.images import equivalence_images as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


def test_networks_learn_and_no_claim_fails(cells):
    data = study.gather(cells)
    assert data.attrs["not_learned"] == 0
    assert "does not hold" not in {c.verdict.value for c in study.claims(data)}


def made_up(config, answer):
    task = runs.make_task(config["task"])
    right = (1.0 + np.sign(answer * task.targets)) / 2.0
    return {
        "answered": answer,
        "quality": np.array([1.0, 0.9, right[~task.is_train].mean()]),
        "learned": np.array(True),
        "salience": np.zeros((2, 4, 2)),
    }


def of_kernel(config):
    task = runs.make_task(config["task"])
    limit = max_margin(task, OverlapKernel.from_salience([0.3]), intercept="free")
    # Kernels answer 0 to unseen pairs: an additive part of the items' own shows any size is 0.
    own = np.random.default_rng(config["seed"]).normal(size=10)
    return limit.predictions + own[task.components].sum(axis=1)


def test_no_kernel_machine_does_what_is_claimed():
    cells = [(config, made_up(config, of_kernel(config))) for config in study.PRESETS["laptop"]]
    data = study.gather(cells)
    assert float(data.contrast.max()) < 1e-9
    found = [c.verdict.value for c in study.claims(data)]
    assert found[-1] == "does not hold"


def test_right_answers_do():
    cells = [
        (config, made_up(config, 2.0 * runs.make_task(config["task"]).targets))
        for config in study.PRESETS["laptop"]
    ]
    data = study.gather(cells)
    # A contradictory rectangle of answers of one size has a contrast of four of them.
    np.testing.assert_allclose(data.contrast, 4.0)
    assert {c.verdict.value for c in study.claims(data)} == {"holds"}


def test_figure(cells):
    data = study.gather(cells)
    assert len(study.figure(data).axes) == data.sizes["distance"] + data.sizes["task"]
