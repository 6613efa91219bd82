"""Rows left out of gated units, by another solver, and what breaks the claims."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole import solve
from partwhole.features.gates.joint import JointGates
from partwhole.limits import Quadratic
from partwhole.limits.leave_one_out import leave_one_out
from partwhole_studies.gated import leave_one_out as study
from partwhole_studies.gated.digits import digits, gates_of


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


def test_rows_left_out_are_answered_as_another_solver_answers_them(data):
    split = digits(0, 200)
    gates = gates_of(split, 1, 4)
    limit = solve(
        (split.inputs, split.labels), JointGates.of(gates, split.inputs),
        cost=Quadratic(), fit="margin", intercept="none",
    )  # fmt: skip
    of_rows = leave_one_out(limit)
    assert of_rows.error == float(data.error.sel(n=200, thresholds="median", hyperplanes=4, seed=0))
    contexts = gates.contexts(split.inputs)[:, 0]
    for row in np.flatnonzero(of_rows.multipliers * of_rows.squares > 1.0)[::9]:
        others = (contexts == contexts[row]) & (np.arange(200) != row)
        weights = cp.Variable(split.inputs.shape[1])
        fits = cp.multiply(split.labels[others], split.inputs[others] @ weights) >= 1
        cp.Problem(cp.Minimize(cp.sum_squares(weights)), [fits]).solve(solver="CLARABEL")
        margin = split.labels[row] * split.inputs[row] @ weights.value
        # Clarabel's weights are good to about the root of its tolerances.
        assert of_rows.margins[row] == pytest.approx(margin, abs=1e-3)


def test_claims_can_fail(data):
    asked = dict.fromkeys(["apart", "radius", "many"], "holds")
    assert verdicts(study, data) == asked
    other = data.assign(error=data.error + 0.1)
    assert verdicts(study, other)["apart"] == "does not hold"
    other = data.assign(by_radius=data.by_radius / 2.0, by_multiplier=data.by_multiplier / 2.0)
    assert {**verdicts(study, other), "apart": ""} == {
        "apart": "", "radius": "does not hold", "many": "does not hold",
    }  # fmt: skip
