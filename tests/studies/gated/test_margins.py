"""Margins along training against told limits, and where chains and ReLU networks end."""

from __future__ import annotations

from io import BytesIO

import cvxpy as cp
import numpy as np
import pytest
from study_cells import computed

from partwhole.features import HalfspaceGates
from partwhole.limits import Quadratic, gated_limit
from partwhole.training import normalised_flow
from partwhole_studies.gated import _drawn as drawn
from partwhole_studies.gated import _margins_claims as weighed
from partwhole_studies.gated import margins as study

X, Y, GATES = drawn.draw("D1")
ON_THE_WAY = "After 5,000 steps of the flow a chain's cost is within 5 % of its limit's"


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def others(data):
    found = [(claim, claim.verdict.value) for claim in study.claims(data)]
    return [(c.statement, c.reference, verdict) for c, verdict in found if verdict != "holds"]


def test_verdicts(data):
    assert len(study.claims(data)) == 9
    way, one, two = others(data)
    assert way[0].startswith(ON_THE_WAY)
    assert (one[1], two[1]) == (2.455, 2.343)
    assert {each[2] for each in (way, one, two)} == {"does not hold"}


def test_limits_of_chains_are_stationary_by_another_solver(data):
    """A limit of the concave cost is the least of the group norm that touches it there."""
    groups = weighed.alike(data.chains_outputs.values, data.chains_value.values)
    assert len(groups) >= 2
    assert sorted(run for runs in groups for run in runs) == list(range(6))
    matrix = GATES.design(X).dense().matrix
    for runs in groups:
        units = data.chains_units.values[runs[0]]
        there = np.flatnonzero(units > 1e-6 * units.max())
        prices = 2.0 / 3.0 * units[there] ** (-1.0 / 3.0)
        blocks = [cp.Variable(14) for _ in there]
        whole = sum(matrix[:, 14 * h : 14 * h + 14] @ each
                    for h, each in zip(there, blocks, strict=True))  # fmt: skip
        cost = sum(p * cp.norm(each) for p, each in zip(prices, blocks, strict=True))
        cp.Problem(cp.Minimize(cost), [cp.multiply(Y, whole) >= 1]).solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
        )
        found = np.array([np.linalg.norm(each.value) for each in blocks])
        # Clarabel's weights are good to about the root of its tolerances.
        np.testing.assert_allclose(found, units[there], rtol=1e-4)
        value = float((found ** (2.0 / 3.0)).sum())
        assert float(data.chains_value[runs[0]]) == pytest.approx(value, rel=1e-4)


def test_the_cheapest_chain_is_one_machine_in_each_context(data):
    one = HalfspaceGates(GATES.normals[[4]], GATES.thresholds[[4]])
    value = 2.0 * gated_limit(one, X, Y, Quadratic()).limit.value
    assert float(data.chains_value.min()) == pytest.approx(value ** (1.0 / 3.0), rel=1e-6)


def test_runs_of_one_limit_are_told_from_others():
    outputs = np.array([[1.0, 2.0], [1.0, 1.0], [1.0, 2.0001], [1.0, 1.5]])
    found = weighed.alike(outputs, np.array([2.0, 1.0, 2.0, 3.0]))
    assert found == [[1], [0, 2], [3]]


def test_a_unit_at_zero_and_a_bound_that_is_too_low(cells, monkeypatch):
    dead = study._case("dead", 1, 2000, records=10, ascend=True)
    data = study.gather([*cells, *computed(study, [dead])])
    assert len(study.claims(data)) == 12
    found = {claim.statement: claim for claim in study.claims(data)}
    words = "Implicit steps end there, at a stationary point that is not the best: share."
    assert found[words].verdict.value == "holds"
    monkeypatch.setitem(weighed.LARGEST, "far", 0.9 * weighed.LARGEST["far"])
    assert any(words.startswith("No network ever has a larger") for words, *_ in others(data))


def test_learned_gates_end_at_their_edges():
    """Where a gate may be partly open, most of what is not stationary goes."""
    config = study._case("relu", 1, 20_000, records=5)
    (_, told), = computed(study, [config])  # fmt: skip
    assert told["flow_margins"][0, -1] < told["largest"][0]
    flow = normalised_flow(
        [study._start("relu", GATES, 0)], X, Y, max_steps=20_000, record=[20_000], progress=False
    )
    network = flow.networks[0]
    outputs = Y * network.predict(X)
    root = np.sqrt(outputs.min())
    hidden = np.asarray(network.weights[0])[:, 0] / root
    readout = np.asarray(network.weights[1])[0, 0] / root
    sums = X @ hidden.T
    sizes = np.linalg.norm(hidden, axis=1) * np.linalg.norm(X, axis=1)[:, None]
    left = {}
    for name, edge in (("frozen", np.zeros_like(sums)), ("edges", np.abs(sums) < 1e-3 * sizes)):
        many, some = cp.Variable(24, nonneg=True), cp.Variable((24, study.HIDDEN), nonneg=True)
        every = cp.reshape(many, (24, 1), order="C") @ np.ones((1, study.HIDDEN))
        sure = (edge == 0).astype(float)
        asked = [
            some <= every,
            cp.multiply(sure, some) == cp.multiply(sure * (sums >= 0), every),
            many @ (outputs / outputs.min() - 1.0) <= 1e-2 * cp.sum(many),
        ]
        apart = [hidden[h] - readout[h] * (cp.multiply(Y, some[:, h]) @ X)
                 for h in range(study.HIDDEN)]  # fmt: skip
        apart.append(readout - cp.multiply(Y, many) @ np.maximum(sums, 0.0))
        problem = cp.Problem(cp.Minimize(cp.norm(cp.hstack(apart))), asked)
        problem.solve(solver=cp.CLARABEL)
        left[name] = problem.value / np.sqrt((hidden**2).sum() + (readout**2).sum())
    assert left["frozen"] > 0.2
    assert told["residual"][0] > 0.2
    assert left["edges"] < 0.25 * left["frozen"]


def test_cells_are_plain_data(cells):
    for config, arrays in cells:
        assert {type(value) for value in config.values()} <= {str, int, bool, list}
        assert all(isinstance(value, np.ndarray) for value in arrays.values())


@pytest.mark.slow
def test_verdicts_of_every_case():
    data = study.gather(computed(study, study.PRESETS["laptop"]))
    found = others(data)
    assert len(study.claims(data)) == 35
    assert [verdict for *_, verdict in found].count("outside its assumptions") == 1
    assert [words.split(":")[0] for words, _, verdict in found if verdict == "does not hold"] == [
        "After 60,000 steps of the flow a chain's cost is within 5 % of its limit's",
        "A cost of chains that was recorded after 60,000 steps, from another start, is a limit.",
        "A cost of chains that was recorded after 60,000 steps, from another start, is a limit.",
        "With those gates frozen it is at a stationary point",
        "Few sums end at the edge of their gate",
    ]
    assert len(found) == 6


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
