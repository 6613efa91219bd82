"""Three layers in three dimensions, with and without samples near the unseen combination."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole_studies.dynamics import low_dimension as study
from partwhole_studies.dynamics import small_networks as small

(CONFIG,) = study.PRESETS["quick"]


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_it_is_whole(data):
    require_whole(study, data)


def test_only_one_task_has_samples_near_the_unseen_combination(data):
    assert data.moved.values.tolist() == [[36, 0], [0, 0]]


def test_where_one_run_serves_as_both_no_sample_differs():
    for network in study.NETWORKS.values():
        narrow = replace(network, scales_are="deviations")
        assert study.clearance(network) < study.NEVER < study.clearance(narrow)
        for seed in range(5):
            full, cut = (narrow.task(truncated=t).sample(seed).inputs for t in (False, True))
            np.testing.assert_array_equal(full, cut)


def test_runs_are_laid_where_they_belong(data):
    where = [(s, n, t) for s in study.SCALES for n in study.NETWORKS for t in study.SAMPLES]
    tasks = [
        replace(study.NETWORKS[name], scales_are=scales).task(truncated=samples == "truncated")
        for scales, name, samples in where
    ]
    network = study.NETWORKS["means 1 and 2"]
    for (scales, name, samples), task in zip(where, tasks, strict=True):
        loss = network.train(task, CONFIG["epochs"], [3]).concepts.losses[0, :, 0]
        laid = data.loss.sel(scales=scales, task=name, samples=samples, seed=3)
        np.testing.assert_allclose(laid, loss, rtol=1e-3, atol=1e-5)


def test_deviations_in_place_of_variances_hardly_change_the_rise(data):
    task = "means 1 and 2"
    change = study.rises(data, task, scales="deviations") - study.rises(data, task)
    assert abs(change.mean()) < small.CLEAR


def test_seeds_paired_wrongly_are_noticed(data):
    rolled = data.loss.copy(deep=True)
    truncated = {"samples": "truncated", "scales": "variances"}
    rolled.loc[truncated] = rolled.loc[truncated].roll(seed=1)
    assert verdicts(study, data.assign(loss=rolled))["truncated"] != "holds"


def test_samples_that_cause_the_rise_are_noticed(data):
    changed = data.loss.copy(deep=True)
    flat = np.minimum.accumulate(changed.sel(samples="truncated").transpose(..., "step").values, -1)
    order = changed.sel(samples="truncated").transpose(..., "step").dims
    changed.loc[{"samples": "truncated"}] = flat.transpose(
        [order.index(dim) for dim in changed.sel(samples="truncated").dims]
    )
    wrong = data.assign(loss=changed)
    assert verdicts(study, wrong)["truncated"] == "does not hold"
    assert study.numbers(wrong)["verdict"] == "In part"
