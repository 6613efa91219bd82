"""Rescaling before finetuning: sparse and dense main tasks, reused and new features."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole import solve
from partwhole.flows import Diagonal, FlowOutcome, flow
from partwhole.limits import HyperbolicEntropy, Outcome
from partwhole.study import published
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import rescaling as study

# Mean losses of the limit over seeds 0 to 5, computed independently of this package: 5 reused
# features, whose variance is 1/5, for a rescaling and a number of samples.
LOSSES = {
    (1.0, 16): 0.113364,
    (1.0, 32): 0.0229548,
    (0.1, 16): 0.0770895,
    (0.1, 32): 4.6993e-4,
    (0.01, 16): 0.096283,
    (0.01, 32): 2.3749e-5,
}


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


@pytest.mark.parametrize(("c", "n"), LOSSES)
def test_limits_are_those_computed_independently(data, c, n):
    losses = data.limit.sel(task="5 reused", rescale=c, n=n, seed=slice(0, 5))
    assert float(losses.mean()) / 5 == pytest.approx(LOSSES[c, n], rel=2e-3)


@pytest.mark.parametrize(
    ("features", "c"), [(study.REUSED, 0.1), (study.SINGLE, 0.1), (study.REUSED, 1e-4)]
)
def test_the_limit_is_the_end_of_a_flow(features, c):
    config = {
        "features": features, "active": 5, "rescale": c, "n": 16, "seeds": [0], "trained": 0,
    }  # fmt: skip
    limit = study.cell(config)["limit"]
    sample = SparseTeachers(active_main=5, overlap=5, main_scale="1/a").sample(0, 16)
    path = flow(
        Diagonal(study.start(config, sample.auxiliary), sample.inputs, sample.targets), until=1e-14
    )
    assert path.outcome is FlowOutcome.FITTED
    error = 5 * float(sample.test_error(path.end.coefficients))
    # Integrated to a training loss of 1e-14, in steps of relative accuracy 1e-6 or better.
    np.testing.assert_allclose(limit, error, rtol=1e-4)


@pytest.mark.parametrize("features", [study.REUSED, study.NEW, study.SINGLE])
def test_limits_of_the_smallest_weights_are_certified(features):
    """Weights of single-task learning are 1e-11 there."""
    config = {"features": features, "rescale": study.RESCALINGS[-1]}
    assert config["rescale"] == 1e-4
    task = SparseTeachers(active_main=5, overlap=0 if features == study.NEW else 5)
    for n in (16, 128):
        sample = task.sample(0, n)
        cost = HyperbolicEntropy.from_weights(study.start(config, sample.auxiliary))
        limit = solve((sample.inputs, sample.targets), cost=cost, intercept="none")
        assert limit.outcome is Outcome.SOLVED
        assert limit.gap <= 1e-9 * limit.value


def test_single_task_weights_are_scaled_as_published():
    weights = study.start({"features": study.SINGLE, "rescale": 0.1}, np.zeros(2))
    np.testing.assert_allclose(weights.hidden_plus, 0.1**2 * 1e-3)
    np.testing.assert_allclose(weights.readout_minus, 0.1 * 1e-3)


def test_crossings_are_those_of_a_power_law():
    sizes = np.array([16, 32, 64, 128])
    assert study.crossing(sizes, 40.0 / sizes**2.0) == pytest.approx(np.sqrt(4000.0))
    assert np.isnan(study.crossing(sizes, 1e4 / sizes**2.0))


def test_published_losses_of_new_features_are_those_of_an_untrained_network(data):
    paper = published(study.__file__, ["task", "rescale", "n"]).loss
    assert float(paper.sel(task="5 new", rescale=1.0, n=32)) == pytest.approx(1, abs=0.01)
    assert verdicts(study, data)["new_at_end"] == "does not hold"


def test_losses_of_new_and_reused_features_part_further_though_samples_do_not(data):
    gaps = [
        np.log(data.limit.sel(task="5 new", n=32) / data.limit.sel(task="5 reused", n=32))
        .sel(rescale=c)
        .mean()
        for c in (1.0, 0.001)
    ]
    assert gaps[1] > gaps[0]
    assert verdicts(study, data)["gain_ratio"] != "does not hold"


def test_sparse_tasks_with_entries_of_one_size_come_first_without_rescaling(data):
    dense, sparse = (study.samples_needed(data, f"{a} {study.SAME}", 1.0) for a in (40, 5))
    assert study.ratio(dense, sparse).low > 1


def test_without_rescaling_sparse_tasks_do_not_come_first(data):
    same = data.limit.sel(rescale=1.0, drop=True)
    unscaled = data.assign(limit=same.expand_dims(rescale=data.rescale).transpose(*data.limit.dims))
    assert verdicts(study, unscaled)["sparse_first"] != "holds"
