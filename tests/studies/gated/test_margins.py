"""Margins along training against limits computed elsewhere, and where chains and ReLUs end."""

from __future__ import annotations

import cvxpy as cp
import gated_data
import numpy as np
import pytest
from descents import followed
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole import solve
from partwhole.features import HalfspaceGates
from partwhole.limits import Quadratic
from partwhole.networks import GatedNetwork, LearnedGates
from partwhole_studies.gated import margins as study

X, Y, GATES = gated_data.d1()


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


# Computed independently of this package: the least group norm, and what its units cost chains.
def test_the_limit_of_two_layers(data):
    np.testing.assert_allclose(data.two_layers_largest, 1 / 2.97485384, rtol=1e-6)
    assert float(data.chains_group_cost) == pytest.approx(3.017, abs=1e-3)


def test_limits_of_chains_are_stationary_by_another_solver(data):
    """A limit of the concave cost is the least of the group norm that touches it there."""
    groups = study.limits_of_chains(data)
    assert sorted(run for runs in groups for run in runs) == list(range(6))
    matrix = GATES.design(X).dense().matrix
    for runs in groups:
        units = data.chains_units.values[runs[0]]
        present = np.flatnonzero(units > 1e-6 * units.max())
        prices = 2.0 / 3.0 * units[present] ** (-1.0 / 3.0)
        blocks = [cp.Variable(14) for _ in present]
        outputs = sum(matrix[:, 14 * h : 14 * h + 14] @ block
                      for h, block in zip(present, blocks, strict=True))  # fmt: skip
        cost = sum(p * cp.norm(block) for p, block in zip(prices, blocks, strict=True))
        cp.Problem(cp.Minimize(cost), [cp.multiply(Y, outputs) >= 1]).solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
        )
        norms = np.array([np.linalg.norm(block.value) for block in blocks])
        # Clarabel's weights are good to about the root of its tolerances.
        np.testing.assert_allclose(norms, units[present], rtol=1e-4)
        value = float((norms ** (2.0 / 3.0)).sum())
        assert float(data.chains_cost[runs[0]]) == pytest.approx(value, rel=1e-4)


def test_the_cheapest_chain_is_a_single_unit(data):
    unit = HalfspaceGates(GATES.normals[[4]], GATES.thresholds[[4]])
    value = 2.0 * solve((X, Y), unit, cost=Quadratic(), fit="margin", intercept="none").value
    assert float(data.chains_cost.min()) == pytest.approx(value ** (1.0 / 3.0), rel=1e-6)


def test_equal_limits_are_counted_once(data):
    outputs = np.array([[1.0, 2.0], [1.0, 1.0], [1.0, 2.0001], [1.0, 1.5]])
    runs = data[["chains_outputs", "chains_cost"]].isel(chains_run=range(4), chains_point=[0, 1])
    runs["chains_outputs"][:] = outputs
    runs["chains_cost"][:] = [2.0, 1.0, 2.0, 3.0]
    assert study.limits_of_chains(runs) == [[1], [0, 2], [3]]


def test_descent_approaches_the_margin_like_one_over_the_logarithm_of_the_steps(data):
    """The rate of Lyu & Li (ICLR 2020), from 10,000 steps."""
    steps = data.two_layers_descent_steps.values
    late = steps >= 10_000
    shortfall = np.log(1.0 - study.shares(data, "two_layers", "descent")[:, late])
    slopes = np.polyfit(np.log(np.log(steps[late])), shortfall.T, 1)[0]
    # The logarithm of the steps grows by only a quarter.
    assert slopes.mean() == pytest.approx(-1.0, abs=0.15)


def test_what_breaks_the_claims_is_noticed(data):
    low = study.numbers(data.assign(two_layers_largest=0.9 * data.two_layers_largest))
    assert np.abs(low["bound"]).max() > 0.01
    assert verdicts(study, data.assign(ReLU_edges=0 * data.ReLU_edges))["edges"] == "holds"


def test_stationary_points_reach_the_largest_margin():
    config = study.PRESETS["quick"][0] | {"seeds": [0], "flow": 2000, "descents": False}
    ((_, arrays),) = computed(study, [config | {"ascend": True}])
    assert float(arrays["ended"][0]) == pytest.approx(1 / 2.97485384, rel=1e-6)


def test_relu_networks_end_at_the_edges_of_their_gates(data):
    """Where a gate may be partly open, most of what is not stationary vanishes."""
    start = GatedNetwork.draw(7, [LearnedGates(30), 1], seed=0, initial="he", scale=0.3)
    flow = followed([start], X, Y, steps=20_000, record=[20_000])
    network = flow.networks[0]
    outputs = Y * network.predict(X)
    root = np.sqrt(outputs.min())
    hidden = np.asarray(network.weights[0])[:, 0] / root
    readout = np.asarray(network.weights[1])[0, 0] / root
    sums = X @ hidden.T
    sizes = np.linalg.norm(hidden, axis=1) * np.linalg.norm(X, axis=1)[:, None]
    left = {}
    for name, edge in (("frozen", np.zeros_like(sums)), ("edges", np.abs(sums) < 1e-3 * sizes)):
        many, some = cp.Variable(24, nonneg=True), cp.Variable((24, 30), nonneg=True)
        every = cp.reshape(many, (24, 1), order="C") @ np.ones((1, 30))
        sure = (edge == 0).astype(float)
        rules = [
            some <= every,
            cp.multiply(sure, some) == cp.multiply(sure * (sums >= 0), every),
            many @ (outputs / outputs.min() - 1.0) <= 1e-2 * cp.sum(many),
        ]
        apart = [hidden[h] - readout[h] * (cp.multiply(Y, some[:, h]) @ X) for h in range(30)]
        apart.append(readout - cp.multiply(Y, many) @ np.maximum(sums, 0.0))
        problem = cp.Problem(cp.Minimize(cp.norm(cp.hstack(apart))), rules)
        problem.solve(solver=cp.CLARABEL)
        left[name] = problem.value / np.sqrt((hidden**2).sum() + (readout**2).sum())
    assert left["frozen"] > 0.2
    assert left["edges"] < 0.25 * left["frozen"]
    assert float(data.ReLU_edges[0]) == pytest.approx(
        (np.abs(sums) < 1e-4 * sizes).mean(), abs=0.05
    )
