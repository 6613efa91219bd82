"""The published schematic against Clarabel, and a joint context that is left out."""

from __future__ import annotations

import cvxpy as cp
import gated_data
import numpy as np
import pytest
from study_cells import computed
from study_rules import failed_checks, require_whole

from partwhole.limits import GroupNorm, Quadratic
from partwhole_studies.gated import point_sets
from partwhole_studies.gated import schematic as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def clarabel(inputs, labels, gates, cost):
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
    sides = gates.contexts(points)
    return sum((weights[h][sides[:, h]] * points).sum(axis=1) for h in range(2))


def test_it_is_whole(data):
    require_whole(study, data)


def test_the_data_are_those_recorded():
    pairs = [(point_sets.schematic(), gated_data.schematic())]
    pairs += [(point_sets.random_points("D1"), gated_data.d1())]
    pairs += [(point_sets.random_points("D0"), gated_data.d0())]
    for ours, (inputs, labels, gates) in pairs:
        np.testing.assert_array_equal(ours.inputs, inputs)
        np.testing.assert_array_equal(ours.labels, labels)
        np.testing.assert_array_equal(ours.gates.normals, gates.normals)
        np.testing.assert_array_equal(ours.gates.thresholds, gates.thresholds)


# Computed independently of this package; sums of squares are twice the cost.
def test_costs_and_units_of_the_limits(data):
    costs = data.value * [1.0, 2.0, 2.0, 2.0]
    np.testing.assert_allclose(costs, (7.665719, 30.268285, 73.273028, 58.053628), rtol=1e-6)
    np.testing.assert_allclose(data.unit_norms[0], (3.080523, 4.585195), rtol=1e-6)
    assert data.support.sel(norm="group").sum() == 9


def test_the_points_at_the_margin_determine_the_function(data):
    """The note of a claim: 12 weights, of which a plane can move from one unit to the other."""
    inputs, _, gates = gated_data.schematic()
    matrix = gates.design(inputs).dense().matrix
    held = matrix[data.support.sel(norm="group").values == 1]
    assert np.linalg.matrix_rank(held) == np.linalg.matrix_rank(matrix) == 9


def test_the_map_is_that_of_another_solver(data):
    inputs, labels, gates = gated_data.schematic()
    for place, cost in enumerate(("group", "l2")):
        weights = clarabel(inputs, labels, gates, cost)
        expected = answers(weights, study.grid(), gates).reshape(study.SIDE, study.SIDE)
        # Clarabel's weights are good to about the root of its tolerances.
        np.testing.assert_allclose(data.answers.sel(norm=cost), expected, atol=1e-4)
        norms = np.linalg.norm(weights.reshape(2, 6), axis=1)
        np.testing.assert_allclose(data.unit_norms[place], norms, atol=1e-4)
    np.testing.assert_allclose(data.parts.sum("unit"), data.answers.sel(norm="group"), atol=1e-12)


def test_a_context_left_out_is_answered_as_by_another_solver(data):
    inputs, labels, gates = gated_data.schematic()
    place = gates.contexts(inputs) @ [2, 1]
    for norm in ("group", "l2"):
        for out in range(4):
            weights = clarabel(inputs[place != out], labels[place != out], gates, norm)
            expected = answers(weights, inputs[place == out], gates)
            np.testing.assert_allclose(data.left_out.sel(norm=norm)[out], expected, atol=1e-3)


def test_joint_contexts_answer_exactly_0_where_they_have_no_data(data):
    assert (data.left_out.sel(norm="joint contexts") == 0).all()


def test_trained_networks_reach_the_limit(cells):
    trained = {"part": "trained", "seeds": [0, 1, 2], "max_steps": 5000}
    data = study.gather([*cells, *computed(study, [trained])])
    np.testing.assert_allclose(data.margin * 7.665719, 1.0, rtol=1e-6)
    assert study.numbers(data)["duality"].shape == (4,)


def test_points_follow_the_rule():
    points, labels = point_sets.square_rule(3, 500, 0.2)
    beyond = np.abs(points[:, 0]) + np.abs(points[:, 1]) - 1.0
    assert (np.sign(beyond) == labels).all()
    assert np.abs(beyond).min() > 0.2
    assert points.shape == (500, 3)


def test_another_norm_is_noticed(cells, monkeypatch):
    monkeypatch.setattr(study, "COSTS", study.COSTS | {"group": Quadratic(), "l2": GroupNorm()})
    wrong = study.gather([(cells[0][0], study.cell(cells[0][0])), *cells[1:]])
    assert np.abs(study.numbers(wrong)["duality"]).max() > 0.1


def test_swapped_data_are_noticed(data):
    shifted = data.assign(answers=data.answers + 0.01 * (data.norm == "l2"))
    assert failed_checks(study, shifted) == ["apart"]
