"""Norms by squares whose weights are solved for, against the interior path."""

from dataclasses import replace

import numpy as np
import pytest

from partwhole.features import GatedDesign
from partwhole.limits import GroupNorm, Margin, Tube, least_cost
from partwhole.limits.solvers.dual_newton import Border
from partwhole.limits.solvers.reweighting import reweighted


def drawn(seed):
    rng = np.random.default_rng(seed)
    design = GatedDesign(rng.normal(size=(14, 5)), rng.integers(0, 3, size=(14, 2)), 3)
    return design, np.sign(rng.normal(size=14)), rng.normal(size=14)


def solved(design, targets, cost, fit, border):
    slack = np.broadcast_to(np.asarray(fit.slack, dtype=float), (14,))

    def term(v):
        at = cost.dual(design, v)
        return replace(at, gradient=slack * v, hessian=lambda: np.diag(slack))

    constraints = fit.one_sided(targets)
    found = reweighted(term, constraints, border, max_rounds=3000)
    assert found.solved[0]
    v = found.multipliers[0]
    coefficients = cost.primal(design, v, found.prices)
    constant = found.border_coefficients[0]
    outputs = design @ coefficients + border.columns @ constant + slack * v
    missed = constraints.bounds - constraints.signs * outputs[constraints.rows]
    extra = 0.5 * slack @ v**2 + 0.5 * border.penalty * np.sum(constant**2)
    return cost.value(design, coefficients) + extra, missed.max()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("slack", [0.0, 0.3])
@pytest.mark.parametrize("intercept", ["none", "free", 2.0])
def test_margins_are_those_of_the_interior_path(seed, slack, intercept):
    cost = GroupNorm()
    design, labels, _ = drawn(seed)
    fit = Margin(slack)
    limit = least_cost(design, labels, cost, fit, intercept=intercept)
    columns = np.ones((14, int(intercept != "none")))
    penalty = 0.0 if isinstance(intercept, str) else intercept
    value, missed = solved(design, labels, cost, fit, Border(columns, penalty))
    # Rounds end within a millionth of the value; the program's own rounding is far below.
    assert value == pytest.approx(limit.value, rel=2e-6)
    assert missed < 1e-6


def test_tubes_too():
    cost = GroupNorm()
    design, _, targets = drawn(5)
    fit = Tube(0.2)
    limit = least_cost(design, targets, cost, fit, intercept="none")
    value, missed = solved(design, targets, cost, fit, Border(np.zeros((14, 0))))
    assert value == pytest.approx(limit.value, rel=2e-6)
    assert missed < 1e-6


def test_what_nothing_separates_is_not_solved():
    design = GatedDesign(np.ones((2, 1)), np.zeros((2, 1), dtype=int), 1)
    found = reweighted(
        lambda v: GroupNorm().dual(design, v), Margin().one_sided(np.array([1.0, -1.0])),
        Border(np.zeros((2, 0))), max_rounds=50,
    )  # fmt: skip
    assert not found.solved[0]
