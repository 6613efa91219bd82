"""Transitive equivalence on composed images: above chance, where overlap kernels cannot be."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from image_scores import scored
from study_cells import computed
from study_rules import require_whole

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole_studies.images import equivalence_images as study
from partwhole_studies.network_tasks import make_task


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def right_answers(config):
    return 2.0 * make_task(config["task"]).targets


@cache
def answers(name):
    kernel = OverlapKernel.from_salience([0.3])
    return solve(make_task(name), kernel, fit="margin", intercept="free").predictions


def of_kernel(config):
    task = make_task(config["task"])
    # Kernels answer 0 to unseen pairs; with a part that is additive answers have any size.
    items = np.random.default_rng(config["seed"]).normal(size=study.ITEMS)
    return answers(config["task"]) + items[task.components].sum(axis=1)


def synthetic(preset, answer_of=right_answers):
    cells = []
    for config in study.PRESETS[preset]:
        task, answer = make_task(config["task"]), answer_of(config)
        right = np.mean((answer * task.targets)[~task.is_train] > 0)
        cell = {"answered": answer, **scored(1.0, 0.9, right)}
        cells.append((config, cell | {"learned": np.array(True)}))
    return cells


def test_it_is_whole(data):
    require_whole(study, data)


def test_networks_learn_and_do_what_no_kernel_can(data):
    assert data.attrs["not_learned"] == "none of 1"
    assert np.all(data.contrast > 0.5)


def test_kernel_machines_have_no_contrast():
    assert float(study.gather(synthetic("laptop", of_kernel)).contrast.max()) < 1e-9


def test_right_answers_have_the_largest_contrast():
    data = study.gather(synthetic("laptop"))
    require_whole(study, data)
    # A contradictory rectangle of answers of one size has a contrast of four of them.
    np.testing.assert_allclose(data.contrast, 4.0)
    assert np.all(data.right.sel(pairs="unseen") == 1.0)


def test_squared_loss_stands_beside_the_logistic_one():
    assert study.numbers(study.gather(synthetic("laptop")))["squares"].value == 1.0

    def wrong(config):
        task = make_task(config["task"])
        return np.where(task.is_train, task.targets, -task.targets)

    numbers = study.numbers(study.gather(synthetic("laptop", wrong)))
    assert (numbers["squares"].value, numbers["squares"].n) == (0.0, 5)


def test_answers_are_laid_out_by_item():
    answer = study.gather(synthetic("quick")).answer.squeeze(drop=True)
    same = np.arange(10) // 5
    np.testing.assert_array_equal(answer, np.where(same[:, None] == same, 2.0, -2.0))


def test_networks_that_did_not_learn_are_left_out():
    cells = synthetic("quick")
    cells[0][1]["learned"] = np.array(False)
    data = study.gather(cells)
    assert data.attrs["not_learned"] == "1 of 1"
    assert np.isnan(data.right).all()
    study.figure(data)
