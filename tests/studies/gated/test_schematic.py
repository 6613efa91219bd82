"""The published schematic against Clarabel, and a joint context that is left out."""

from __future__ import annotations

from io import BytesIO

import cvxpy as cp
import gated_data
import numpy as np
import pytest
from study_cells import computed

from partwhole.features import GatedDesign
from partwhole.limits import GroupNorm, Quadratic
from partwhole_studies.gated import _drawn as drawn
from partwhole_studies.gated import schematic as study

OPEN = tuple(
    f"And is right there more often than a coin ({name}): share of 16 points."
    for name in ("group", "l2", "function l2")
)


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def others(data):
    found = {claim.statement: claim.verdict.value for claim in study.claims(data)}
    return {words: verdict for words, verdict in found.items() if verdict != "holds"}


def least(inputs, labels, gates, cost):
    """Return weights of a sum of units by Clarabel, shape (H, C, d)."""
    design = gates.design(inputs)
    weights = cp.Variable(12)
    sides = cp.multiply(labels, design.dense().matrix @ weights) >= 1
    units = [cp.norm(weights[6 * h : 6 * h + 6]) for h in range(2)]
    aim = sum(units) if cost == "group" else cp.sum_squares(weights)
    cp.Problem(cp.Minimize(aim), [sides]).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )
    return np.asarray(weights.value).reshape(2, 2, 3)


def answers(weights, points, gates):
    own = gates.contexts(points)
    return sum((weights[h][own[:, h]] * points).sum(axis=1) for h in range(2))


def test_the_data_are_those_recorded():
    pairs = [(drawn.schematic(), gated_data.schematic())]
    pairs += [(drawn.draw("D1"), gated_data.d1()), (drawn.draw("D0"), gated_data.d0())]
    for ours, (inputs, labels, gates) in pairs:
        np.testing.assert_array_equal(ours.inputs, inputs)
        np.testing.assert_array_equal(ours.labels, labels)
        np.testing.assert_array_equal(ours.gates.normals, gates.normals)
        np.testing.assert_array_equal(ours.gates.thresholds, gates.thresholds)


def test_verdicts(data):
    assert len(study.claims(data)) == 25
    assert others(data) == dict.fromkeys(OPEN, "inconclusive")


def test_trained_networks_end_in_the_limit(cells):
    trained = {"part": "trained", "seeds": [0, 1, 2], "max_steps": 5000}
    data = study.gather([*cells, *computed(study, [trained])])
    found = {claim.statement: claim for claim in study.claims(data)}
    assert len(found) == 30
    for words in (
        "No trained network has a larger margin than the limit: largest share of it.",
        "Followed to their stationary points, networks have the limit's margin: least share.",
        "At the end they decide as the limit does: least share of the square.",
    ):
        assert found[words].verdict.value == "holds"
    # Margins from weights alone: half the squared norm at margin 1.
    told = least(*drawn.schematic(), "group")
    size = sum(np.linalg.norm(each) for each in told)
    np.testing.assert_allclose(data.ended * size, 1.0, rtol=1e-6)


def test_the_map_is_that_of_another_solver(data):
    inputs, labels, gates = drawn.schematic()
    for cost in ("group", "l2"):
        weights = least(inputs, labels, gates, cost)
        told = answers(weights, study.grid(), gates).reshape(study.SIDE, study.SIDE)
        # Clarabel's weights are good to about the root of its tolerances.
        np.testing.assert_allclose(data.answers.sel(norm=cost), told, atol=1e-4)
        norms = np.linalg.norm(weights.reshape(2, 6), axis=1)
        np.testing.assert_allclose(data.unit_norms.sel(sum_norm=cost), norms, atol=1e-4)
    whole = data.parts.sum("unit")
    np.testing.assert_allclose(whole, data.answers.sel(norm="group"), atol=1e-12)


def test_a_context_left_out_is_answered_as_by_another_solver(data):
    inputs, labels, gates = drawn.schematic()
    place = gates.contexts(inputs) @ [2, 1]
    for name in ("group", "l2"):
        for out in range(4):
            weights = least(inputs[place != out], labels[place != out], gates, name)
            right = labels[place == out] * answers(weights, inputs[place == out], gates)
            assert np.abs(right).min() > 1e-3
            assert int(data.counts.sel(norm=name, told="right")[out]) == int((right > 0).sum())


def test_points_follow_the_rule():
    points, labels = drawn.by_rule(3, 500, 0.2)
    beyond = np.abs(points[:, 0]) + np.abs(points[:, 1]) - 1.0
    assert (np.sign(beyond) == labels).all()
    assert np.abs(beyond).min() > 0.2
    assert points.shape == (500, 3)


def test_cells_are_plain_data(cells):
    for config, arrays in cells:
        assert {type(value) for value in config.values()} <= {str, int, float, list}
        assert all(isinstance(value, np.ndarray) for value in arrays.values())


def test_another_norm_is_noticed(cells, monkeypatch):
    monkeypatch.setattr(study, "COSTS", (Quadratic(), GroupNorm(), *study.COSTS[2:]))
    changed = [(cells[0][0], study.cell(cells[0][0])), *cells[1:]]
    wrong = others(study.gather(changed))
    assert "Least sum of unit norms at margin 1, on the sixteen points." in wrong
    assert "Under the group norm, unit 1 has the norm told." in wrong


def test_answers_that_do_not_add_up_are_noticed(cells, monkeypatch):
    kept = GatedDesign.__matmul__

    def scaled(self, coefficients):
        found = kept(self, coefficients)
        return (
            found * np.where(self.inputs[:, 0] > 0, 1.5, 1.0) if len(found) > 100 else found
        )  # the grid

    monkeypatch.setattr(GatedDesign, "__matmul__", scaled)
    changed = [(config, study.cell(config)) if config["part"] == "left out" else (config, found)
               for config, found in cells]  # fmt: skip
    wrong = others(study.gather(changed))
    assert any("answers there as two other contexts add up to" in words for words in wrong)


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
