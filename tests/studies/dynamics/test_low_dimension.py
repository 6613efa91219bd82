"""Three layers in three dimensions, and what the study says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from study_cells import computed

from partwhole.training import train_identity
from partwhole_studies.dynamics import low_dimension as study

(CONFIG,) = study.PRESETS["quick"]


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def verdicts(data):
    return [claim.verdict.value for claim in study.claims(data)]


def test_verdicts(data):
    # At means 2 and 4 no sample of seed 0 is drawn again, nor any by deviations: nothing to
    # compare.
    assert data.moved.values.tolist() == [[36, 0], [0, 0]]
    assert verdicts(data) == ["holds"] * 13 + ["outside its assumptions"] * 9 + ["holds"] * 4


def test_where_both_runs_are_one_no_sample_differs():
    for network in study.NETWORKS.values():
        narrow = replace(network, scales_are="deviations")
        assert study.clearance(network) < study.NEVER < study.clearance(narrow)
        for seed in range(5):
            full, cut = (narrow.task(truncated=each).sample(seed).inputs for each in (False, True))
            np.testing.assert_array_equal(full, cut)


def test_seeds_paired_wrongly_over_readings_are_noticed(cells):
    (config, arrays), *_ = cells
    shifted = arrays["loss"].copy()
    shifted[1] = np.roll(shifted[1], 1, axis=2)
    found = verdicts(study.gather([(config, arrays | {"loss": shifted})]))
    assert found[-3] == found[-1] == "does not hold"


def test_truncated_samples_differ_in_some_networks_and_seeds_are_paired(data):
    loss = data.loss.sel(task="means 1 and 2", scales="variances")
    full, cut = (loss.sel(samples=each).values for each in study.SAMPLES)
    np.testing.assert_allclose(full[:, 0], cut[:, 0], rtol=1e-6)  # the same initial weights
    assert (full[:, -1] != cut[:, -1]).any()


def test_a_seed_gives_the_same_run_in_a_cell_of_its_own(data):
    part = study.cell(CONFIG | {"seeds": [3]})
    found = data.loss.sel(seed=3).values
    np.testing.assert_allclose(part["loss"][:, :, :, 0], found, rtol=1e-3, atol=1e-5)


def test_runs_are_laid_where_they_belong(data):
    where = [(s, n, t) for s in study.SCALES for n in study.NETWORKS for t in study.SAMPLES]
    tasks = [
        replace(study.NETWORKS[name], scales_are=scales).task(truncated=samples == "truncated")
        for scales, name, samples in where
    ]
    network = study.NETWORKS["means 1 and 2"]
    protocol = network.protocol(CONFIG["epochs"])
    runs = train_identity(tasks, network.architecture, protocol, seeds=[3], progress=False)
    for (scales, name, samples), loss in zip(where, runs.losses[:, 0, :, 0], strict=True):
        found = data.loss.sel(scales=scales, task=name, samples=samples, seed=3).values
        np.testing.assert_allclose(found, loss, rtol=1e-3, atol=1e-5)


def test_a_task_that_changes_what_is_learned_is_noticed(cells):
    (config, arrays), *_ = cells
    changed = arrays["loss"].copy()
    changed[:, :, 1] = np.minimum.accumulate(changed[:, :, 1], axis=-1)
    drawn_again = {"loss": changed, "moved": np.array([[36, 1], [0, 0]])}
    broken = study.gather([(config, arrays | drawn_again)])
    assert verdicts(broken).count("does not hold") >= 4


def test_a_rise_beyond_all_seeds_is_noticed(data, monkeypatch):
    far = {name: ((0, 0.0), (1, 10.0)) for name in study.NETWORKS}
    monkeypatch.setattr(study, "PUBLISHED", far)
    claims = [claim for claim in study.claims(data) if "no outlier" in claim.statement]
    # Of 80 seeds none is as far out: the interval reaches from 0 to .046.
    assert [claim.found for claim in claims] == [0.0, 0.0]


def test_figure(data):
    assert len(study.figure(data).axes) == 4
