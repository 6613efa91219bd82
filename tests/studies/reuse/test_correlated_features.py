"""Units that are close to pretrained ones."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.recommendation.methods import SINGLE
from partwhole.study import published
from partwhole_studies.reuse import correlated_features as study
from partwhole_studies.reuse import relu_networks as runs


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


def test_networks_that_do_not_fit_their_samples_are_left_out(data):
    """Finetuning that was stopped early says nothing of where it ends."""
    stopped = data.assign(left=data.left + 2 * study.UNFITTED)
    assert study.numbers(stopped)["gain_small"].n == 0
    assert verdicts(study, stopped)["gain_small"] == "illustration"
    ended = data.assign(left=0 * data.left)
    assert study.numbers(ended)["gain_small"].n == data.seed.size


def test_published_errors_are_in_units_of_the_variance():
    paper = published(study.__file__, ["part", "correlation", "magnitude", "way", "n"]).error
    alone = paper.sel(part="magnitudes", correlation=study.FAR, way=SINGLE, n=32)
    assert float(alone.sel(magnitude=1)) == pytest.approx(0.028637 / (0.3355 / 6), rel=1e-4)
    # Single-task errors at 32 samples are of half the variance at all magnitudes.
    np.testing.assert_allclose(alone, 0.5, rtol=0.08)


def test_published_errors_fall_with_correlation():
    """Of small main tasks, up to 512 samples; with 1,024 those at .8 and .9 exchange places."""
    paper = published(study.__file__, ["part", "correlation", "magnitude", "way", "n"]).error
    small = paper.sel(part="magnitudes", magnitude=0.01, way=study.TUNED).dropna("n")
    small = small.sortby("correlation").sel(n=slice(32, 512))
    assert small.correlation.values.tolist() == [study.FAR, *study.NEAR]
    assert (small.diff("correlation") < 0).all()


def test_every_task_of_a_pair_has_its_own_magnitude_and_correlation():
    for config in study.PRESETS["paper"]:
        ratio = config["magnitude"] / config["aux_magnitude"]
        assert min(abs(ratio - size) for size in study.MAGNITUDES) < 1e-12
        assert len(set(config["correlations"])) == 1
    trained = {
        (config["correlations"][0], way)
        for config in study.PRESETS["paper"]
        if config["part"] == "magnitudes"
        for way in config["ways"]
    }
    assert trained == {(study.FAR, way) for way in study.ALL} | {
        (near, study.TUNED) for near in study.NEAR
    }


def test_the_dependence_changes_sign():
    """Of a strong unit r, in one direction the penalty falls as 1 / r, in others it rises as r."""
    np.testing.assert_allclose(study.dependence(1e6, 1.0), -1, atol=1e-3)
    np.testing.assert_allclose(study.dependence(1e6, 0.8), 1, atol=1e-3)


def test_a_scaled_pair_of_tasks_is_learned_alike():
    """Both tasks times m, with steps over m, are the same pair for other first weights."""
    base = runs.SMALL | {"hidden": 60, "seeds": [0, 1], "correlations": [1.0] * 6, "n": 32}
    base |= {"ways": [study.TUNED], "threshold": 1e-12, "pretrain_steps": 3000}
    errors = [
        runs.learned(
            base | {"magnitude": m, "aux_magnitude": m, "rate": 0.2 / m, "pretrain_rate": 0.2 / m}
        )["final"]
        for m in (1.0, 0.1)
    ]
    # First weights and new readouts are three times as large in units of the tasks' roots.
    assert np.abs(np.log(errors[1] / errors[0])).max() < np.log(1.5)


def test_exchanged_ways_are_noticed(data):
    order = data.way.values.tolist()
    i, j = order.index(SINGLE), order.index(study.TUNED)
    order[i], order[j] = order[j], order[i]
    exchanged = data.sel(way=order).assign_coords(way=data.way.values)
    gains = [study.numbers(errors)["tuned_gain"].value for errors in (data, exchanged)]
    assert gains[0] < 1 < gains[1]
