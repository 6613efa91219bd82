"""Where multi-task learning ends: independent solvers, and what breaks the claims."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.flows import Diagonal, flow
from partwhole.limits import DiagonalWeights
from partwhole_studies.reuse import multitask_bias as study
from partwhole_studies.reuse import multitask_ends as ends


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


def test_gradient_flow_does_not_end_at_the_least_group_norm(data):
    verdict = verdicts(study, data)
    assert verdict["far"] == "does not hold"
    assert verdict["decayed"] == "holds"


def test_a_task_written_as_formulas():
    # Both numbers and the distance were computed by other programs.
    row, column = np.arange(1, 41)[:, None], np.arange(1, 15)[None]
    inputs = [
        np.sqrt(2) * np.sin(0.37 * row * column + 0.11 * column**2 + 0.5 * row),
        np.sqrt(2) * np.sin(0.7 * row * column + 0.31 * column**2)[:6],
    ]
    auxiliary, main = np.zeros((2, 14))
    auxiliary[:5] = 1, -1, 0.5, 2, -0.25
    main[[0, 1, 8]] = 0.8, -0.4, 0.6
    tasks = [(inputs[0], inputs[0] @ auxiliary), (inputs[1], inputs[1] @ main)]
    system = Diagonal(DiagonalWeights.constant(14, 0.01, n_tasks=2), tasks=tasks)
    path = flow(system, until=1e-14, rtol=1e-6, atol=1e-9)
    end = path.states[-1, 1]
    least = ends.least_group_norm(inputs[1], inputs[1] @ main, auxiliary)
    assert ends.group_norm(least, auxiliary) == pytest.approx(5.162367, abs=1e-4)
    assert ends.group_norm(end, auxiliary) == pytest.approx(5.175427, abs=1e-4)
    assert ends.distance(end, least) == pytest.approx(0.1153, abs=2e-4)


def test_least_group_norm_is_clarabels(data):
    inputs, targets, auxiliary = ends.task_pair(ends.samples(4, [0]), 0)
    beta = cp.Variable(ends.DIMENSION)
    cost = cp.sum(cp.norm(cp.vstack([auxiliary, beta]), axis=0))
    cp.Problem(cp.Minimize(cost), [inputs[1] @ beta == targets[1]]).solve(solver=cp.CLARABEL)
    ours = data.least.sel(overlap=4, scale=1e-2, seed=0).values
    # Both are interior-point methods, with gaps of 1e-8: its root.
    np.testing.assert_allclose(ours, np.asarray(beta.value), atol=1e-4)


def test_least_decay_is_clarabels():
    inputs, targets, _ = ends.task_pair(ends.samples(4, [1]), 0)
    beta = cp.Variable((2, ends.DIMENSION))
    rows = sum(map(len, targets))
    missed = [
        cp.sum_squares(x @ beta[t] - y)
        for t, (x, y) in enumerate(zip(inputs, targets, strict=True))
    ]
    objective = sum(missed) / (2 * rows) + 1e-2 * cp.sum(cp.norm(beta, axis=0))
    expected = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    value, coefficients = ends.least_decay(inputs, targets, 1e-2)
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(coefficients, np.asarray(beta.value), atol=1e-4)


@pytest.mark.slow
def test_the_flow_is_good_enough():
    rough, fine = (ends.flow_ends(4, [0, 2], 1e-3, rtol) for rtol in (1e-4, 1e-6))
    away = [ends.distance(*pair) for pair in zip(rough["ends"], fine["ends"], strict=True)]
    # A tenth of the tolerance of the claim.
    assert max(away) < 1e-3
    assert max(rough["loss"]) < 1.01 * ends.FITTED


def test_an_end_at_the_least_group_norm_is_noticed(data):
    wrong = data.assign(ends=data.least)
    assert verdicts(study, wrong)["far"] == "holds"
    assert np.max(study.numbers(wrong)["descent"]) > 0.05


def test_weight_decay_that_ends_elsewhere_is_noticed(data):
    wrong = data.assign(decayed=1.02 * data.decayed, decayed_excess=data.decayed_excess + 1e-4)
    assert verdicts(study, wrong)["decayed"] == "does not hold"
    assert np.max(study.numbers(wrong)["minima"]) > 1e-6
