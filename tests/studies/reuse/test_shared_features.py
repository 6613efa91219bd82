"""Shared features: theory, networks and published errors side by side."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.recommendation.methods import FINETUNING, MULTI, SINGLE
from partwhole.study import published
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import diagonal_runs as runs
from partwhole_studies.reuse import shared_features as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_it_is_whole(data):
    require_whole(study, data)


def test_published_errors_are_minima(data):
    verdict = verdicts(study, data)
    assert verdict["least"] == verdict["none"] == verdict["all"] == "holds"
    # Half of the features shared: better by the least error, not where learning ends.
    assert verdict["half"] == "does not hold"


def test_finetuning_ends_where_another_solver_has_it(data):
    # Means of seeds 0 to 5 at 32, 64 and 128 samples.
    known = {
        40: (0.277167, 3.44317e-4, 1.29043e-7),
        30: (0.816656, 0.479522, 0.0480064),
        20: (1.25525, 0.855687, 0.443304),
        0: (2.14002, 1.66128, 1.18273),
    }
    for overlap, means in known.items():
        ends = data.end.sel(overlap=overlap, learner=FINETUNING, n=[32, 64, 128]).mean("seed")
        np.testing.assert_allclose(ends, means, rtol=1e-3)


@pytest.mark.parametrize(
    ("overlap", "learner", "n"),
    [(40, FINETUNING, 128), (40, FINETUNING, 256), (20, FINETUNING, 256), (40, SINGLE, 256)],
)
def test_small_published_errors_are_those_of_theory(data, overlap, learner, n):
    means = published(study.__file__, ["overlap", "learner", "n"], set="overlap").error
    at = {"overlap": overlap, "learner": learner, "n": n}
    ratio = float(means.sel(at) / data.end.sel(at).mean("seed"))
    # Reruns with six other seeds have come within a factor of 4.
    assert 1 / 4 < ratio < 4


@pytest.mark.slow
def test_an_end_is_the_least_cost_by_another_route(data):
    # The cost of single-task learning, minimised with its constraints by a general solver.
    sample = SparseTeachers().sample(0, 16)
    width = 4e-6
    free = np.linalg.svd(sample.inputs)[2][16:].T
    begin = np.linalg.lstsq(sample.inputs, sample.targets, rcond=None)[0]

    def cost(z):
        beta = begin + free @ z
        price = 0.5 * np.arcsinh(2 * beta / width)
        return np.sum(beta * price - 0.5 * np.hypot(beta, width / 2)), free.T @ price

    solved = minimize(cost, np.zeros(984), jac=True, method="L-BFGS-B", options={"maxiter": 6000})
    expected = sample.test_error(begin + free @ solved.x)
    end = float(data.end.sel(overlap=40, learner=SINGLE, n=16, seed=0))
    # A general solver comes this near: the cost is all but flat along some directions.
    assert end == pytest.approx(expected, rel=0.02)


def test_published_means():
    means = published(study.__file__, ["overlap", "learner", "n"], set="overlap").error
    assert means.shape == (4, 4, 6)
    assert means.sel(overlap=40, learner=MULTI, n=64) == 0.001351
    assert means.sel(overlap=20, learner=FINETUNING, n=128) == 0.4129
    sparse = published(study.__file__, ["active", "learner", "n"], set="sparsity").error
    # With 16 samples all are near the error of answering 0.
    np.testing.assert_allclose((sparse.active * sparse).sel(n=16), 1, rtol=0.05)


def test_a_wrong_start_is_noticed(cells, monkeypatch):
    def large(method, auxiliary, rescale=1.0):
        weights = initial(method, auxiliary, rescale)
        return weights._replace(readout_plus=100 * weights.readout_plus)

    initial = runs.initial
    monkeypatch.setattr(runs, "initial", large)
    changed = [
        (config, study.cell(config) if config["part"] == "paths" and config["n"] == 32 else arrays)
        for config, arrays in cells
        if config["methods"] != [MULTI]
    ]
    assert np.abs(study.numbers(study.gather(changed))["networks"]).max() > 0.1


def test_sparser_tasks_are_learned_from_fewer_samples(data):
    errors = data.sparse_end.sel(shared="none", learner=SINGLE, n=64).mean("seed")
    relative = errors.active * errors
    assert relative.sel(active=5) < relative.sel(active=20)


def test_exchanged_learners_are_noticed(data):
    wrong = data.assign_coords(learner=data.learner[::-1].values)
    assert verdicts(study, wrong)["none"] != "holds"
