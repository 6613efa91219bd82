"""The core on its own: quadratic costs in every fit, and two costs of other kinds.

Tolerances: interpolation 1e-9 and margins 1e-6 beside Clarabel (its own 1e-11 gap gives about
its square root in coefficients); gaps relative to the value.
"""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
from oracles import conic_margin
from scipy.optimize import linprog
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR

from partwhole import solve
from partwhole._checks import InputError
from partwhole.features import DenseDesign
from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.features.design import Block
from partwhole.limits import Equal, GroupNorm, Margin, Outcome, Quadratic, Tube, _quadratic
from partwhole.limits.costs import DualTerm, L1Norm
from partwhole.limits.solvers.sparse_primal import solve_ridge


def problem(seed, n=12, p=30):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(n, p))
    return matrix, rng.normal(size=n), np.where(rng.random(n) > 0.5, 1.0, -1.0)


@pytest.mark.parametrize("intercept", ["none", "free", 0.7])
@pytest.mark.parametrize("slack", [0.0, 0.3])
def test_margin_equals_clarabel(intercept, slack):
    matrix, _, labels = problem(1)
    limit = solve((matrix, labels), cost=Quadratic(), fit=Margin(slack), intercept=intercept)
    value, coefficients, constant = conic_margin(matrix, labels, intercept, slack)
    assert limit.outcome is Outcome.SOLVED
    assert abs(limit.value - value) < 1e-8
    np.testing.assert_allclose(limit.coefficients, coefficients, atol=1e-6)
    assert abs(limit.intercept - constant) < 1e-6
    assert abs(limit.gap) < 1e-10 * (1 + limit.value)
    assert limit.violation < 1e-10
    margins = labels * limit.predict(DenseDesign(matrix))
    assert margins.min() > 1 - slack * np.abs(limit.multipliers).max() - 1e-10


def test_margin_with_and_without_intercept_differ():
    """Two points on a line: the free intercept centres the gap, without one it can't."""
    matrix, labels = np.array([[1.0], [3.0]]), np.array([-1.0, 1.0])
    free = solve((matrix, labels), cost=Quadratic(), fit="margin", intercept="free")
    np.testing.assert_allclose([free.coefficients[0], free.intercept], [1.0, -2.0], atol=1e-10)
    without = solve((matrix, labels), cost=Quadratic(), fit="margin", intercept="none")
    assert without.outcome is Outcome.INFEASIBLE
    v = without.multipliers
    np.testing.assert_allclose(matrix.T @ v / np.abs(v).sum(), 0.0, atol=1e-6)
    assert np.all(labels * v >= 0)
    assert np.isnan(without.coefficients).all()


def test_hard_margin_equals_svc():
    matrix, _, labels = problem(3, n=40, p=60)
    limit = solve((matrix, labels), cost=Quadratic(), fit="margin", intercept="free")
    machine = SVC(kernel="linear", C=1e10, tol=1e-10).fit(matrix, labels)
    np.testing.assert_allclose(limit.coefficients, machine.coef_[0], atol=1e-4)
    assert abs(limit.intercept - machine.intercept_[0]) < 1e-4


@pytest.mark.parametrize("width", [0.0, 0.1, 0.8])
def test_tube_equals_svr(width):
    matrix, targets, _ = problem(4)
    limit = solve((matrix, targets), cost=Quadratic(), fit=Tube(width), intercept="free")
    machine = SVR(kernel="linear", C=1e10, epsilon=width, tol=1e-10).fit(matrix, targets)
    np.testing.assert_allclose(limit.coefficients, machine.coef_[0], atol=1e-4)
    assert np.abs(targets - limit.predict(DenseDesign(matrix))).max() <= width + 1e-9
    assert abs(limit.gap) < 1e-10 * (1 + limit.value)


@pytest.mark.parametrize("intercept", ["none", 2.0])
def test_equal_with_slack_equals_kernel_ridge(intercept):
    matrix, targets, _ = problem(5)
    gram = matrix @ matrix.T + (0.0 if intercept == "none" else 1 / intercept)
    machine = KernelRidge(alpha=0.4, kernel="precomputed").fit(gram, targets)
    limit = solve((matrix, targets), cost=Quadratic(), fit=Equal(0.4), intercept=intercept)
    np.testing.assert_allclose(limit.predict(DenseDesign(matrix)), machine.predict(gram), atol=1e-9)
    assert abs(limit.gap) < 1e-10 * (1 + limit.value)


def test_several_outputs_are_solved_as_each():
    matrix, targets, _ = problem(6)
    two_outputs = np.stack([targets, targets**2], axis=1)
    limit = solve((matrix, two_outputs), cost=Quadratic(), fit=Equal(0.1), intercept="free")
    for k in range(2):
        single = solve(
            (matrix, two_outputs[:, k]), cost=Quadratic(), fit=Equal(0.1), intercept="free"
        )
        np.testing.assert_allclose(limit.coefficients[:, k], single.coefficients, atol=1e-12)


@pytest.mark.parametrize("intercept", ["none", "free", 0.5])
@pytest.mark.parametrize("slack", [0.0, 1e-6, 0.2, "rows"])
def test_primal_equals_dual(intercept, slack):
    rng = np.random.default_rng(0)
    rows = np.unique(rng.integers(0, 5, size=(30, 3)), axis=0)
    sets = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)]
    design = ConjunctionDesign.seen(rows, sets, (5, 5, 5))
    cost = Quadratic({chosen: 0.3 / len(chosen) for chosen in sets})
    targets = rng.normal(size=(len(rows), 2))
    row_slack = rng.random(len(rows)) + 0.1 if slack == "rows" else slack
    limit = {
        solver: solve(
            (design, targets), cost=cost, fit=Equal(row_slack), intercept=intercept, solver=solver
        )
        for solver in ("primal", "dual")
    }
    primal, dual = limit["primal"], limit["dual"]
    np.testing.assert_allclose(primal.coefficients, dual.coefficients, atol=1e-9)
    np.testing.assert_allclose(primal.multipliers, dual.multipliers, atol=1e-7)
    np.testing.assert_allclose(primal.intercept, dual.intercept, atol=1e-9)
    assert abs(primal.gap) < 1e-9 * (1 + primal.value)
    assert abs(dual.gap) < 1e-9 * (1 + dual.value)


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_targets_out_of_reach_are_infeasible(solver):
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    design = ConjunctionDesign.seen(rows, [(0,), (1,)], (2, 2))
    targets = np.array([1.0, -1.0, -1.0, 1.0])
    limit = solve((design, targets), cost=Quadratic(), intercept="free", solver=solver)
    assert limit.outcome is Outcome.INFEASIBLE
    v = limit.multipliers
    np.testing.assert_allclose(design.adjoint(v), 0.0, atol=1e-12)
    assert abs(v @ targets) > 0.1


def test_parts_add_up():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 3, size=(20, 2))
    design = ConjunctionDesign.seen(rows, [(0,), (1,), (0, 1)], (3, 3))
    limit = solve((design, rng.normal(size=20)), cost=Quadratic(), fit=Equal(0.5), intercept="free")
    parts = limit.parts(design)
    assert list(parts) == [(0,), (1,), (0, 1), "intercept"]
    np.testing.assert_allclose(sum(parts.values()), limit.predict(design), atol=1e-12)


@dataclass(frozen=True)
class Quartic:
    """A smooth cost that is not quadratic: sum of c**4 / 4 (no part of the library)."""

    def value(self, design, coefficients):
        return float(np.sum(coefficients**4) / 4)

    def dual(self, design, v):
        pulled = design.adjoint(v)
        root = np.cbrt(pulled)
        curve = 1.0 / (3.0 * np.maximum(root**2, 1e-12))
        hessian = (design.matrix * curve) @ design.matrix.T
        value = float(np.sum(0.75 * root**4))
        return DualTerm(value, design.matrix @ root, lambda: hessian)

    def primal(self, design, v, prices):
        return np.cbrt(design.adjoint(v))


def singletons(matrix):
    blocks = tuple(Block(j, j, j + 1) for j in range(matrix.shape[1]))
    return DenseDesign(matrix, blocks)


def test_a_norm_needs_no_change_in_the_core_equal():
    """Blocks of one column make the group norm the l1 norm: against a linear program."""
    matrix, targets, _ = problem(7, n=8, p=20)
    limit = solve((singletons(matrix), targets), cost=GroupNorm(), intercept="none")
    alone = solve((matrix, targets), cost=L1Norm(), intercept="none")
    assert np.abs(limit.coefficients - alone.coefficients).max() < 1e-9
    doubled = np.concatenate([matrix, -matrix], axis=1)
    best = linprog(np.ones(40), A_eq=doubled, b_eq=targets, method="highs")
    assert limit.outcome is Outcome.SOLVED
    assert abs(limit.value - best.fun) < 1e-6 * best.fun
    assert limit.violation < 1e-6


def test_a_norm_needs_no_change_in_the_core_margin():
    matrix, _, labels = problem(8, n=10, p=20)
    blocks = tuple(Block(j, 4 * j, 4 * j + 4) for j in range(5))
    design = DenseDesign(matrix, blocks)
    limit = solve((design, labels), cost=GroupNorm(), fit="margin", intercept="none")
    c = cp.Variable(20)
    norm = sum(cp.norm(c[4 * j : 4 * j + 4]) for j in range(5))
    best = cp.Problem(cp.Minimize(norm), [cp.multiply(labels, matrix @ c) >= 1]).solve(
        solver=cp.CLARABEL
    )
    assert limit.outcome is Outcome.SOLVED
    assert abs(limit.value - best) < 1e-6 * best


def test_a_smooth_cost_needs_no_change_in_the_core():
    matrix, targets, labels = problem(9, n=6, p=15)
    c = cp.Variable(15)
    for fit, y, constraint in (
        (Equal(), targets, matrix @ c == targets),
        (Margin(), labels, cp.multiply(labels, matrix @ c) >= 1),
    ):
        limit = solve((matrix, y), cost=Quartic(), fit=fit, intercept="none", max_steps=500)
        best = cp.Problem(cp.Minimize(cp.sum(c**4) / 4), [constraint]).solve(solver=cp.CLARABEL)
        assert limit.outcome is Outcome.SOLVED
        assert abs(limit.value - best) < 1e-5 * best


@pytest.mark.parametrize("seed", range(6))
def test_a_smooth_cost_with_unbalanced_labels_and_a_free_intercept(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(7, 15))
    labels = np.where(np.arange(7) < 2, 1.0, -1.0)
    limit = solve(
        (matrix, labels), cost=Quartic(), fit=Margin(0.3), intercept="free", max_steps=500
    )
    best, _ = conic(matrix, labels, 4, Margin(0.3), "free")
    assert limit.outcome is Outcome.SOLVED
    assert abs(limit.value - best) < 1e-5 * (1 + best)


def test_inputs_are_not_modified():
    matrix, targets, _ = problem(10)
    before = matrix.copy(), targets.copy()
    solve((matrix, targets), cost=Quadratic(), fit=Equal(0.1), intercept="free")
    np.testing.assert_array_equal(matrix, before[0])
    np.testing.assert_array_equal(targets, before[1])


def test_too_few_steps_is_an_outcome():
    matrix, _, labels = problem(11)
    limit = solve((matrix, labels), cost=Quadratic(), fit="margin", intercept="free", max_steps=2)
    assert limit.outcome is Outcome.MAX_STEPS
    assert "raise max_steps" in limit.outcome.value


X, Y = np.eye(2), np.ones(2)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: solve((X, np.ones(3)), cost=Quadratic(), intercept="none"),
            "targets must have one row for each row of the inputs; got 3 for 2 rows; pass both for "
            "the same rows",
        ),
        (
            lambda: solve((DenseDesign(X), np.ones(3)), cost=Quadratic(), intercept="none"),
            "targets must have one row for each row of the inputs; got 3 for 2 rows; pass both for "
            "the same rows",
        ),
        (
            lambda: solve((X, Y), cost=Quadratic(), intercept="none").predict(X[:, :1]),
            f"inputs are described in the same {X.shape[1]} columns as the training inputs; got 1; "
            "pass the columns that the limit was solved with",
        ),
        (
            lambda: solve((X, Y), cost=Quadratic(), intercept="some"),
            "intercept is 'free', 'none' or a positive penalty weight; got 'some'; choose one of "
            "them",
        ),
        (
            lambda: solve((X, Y), cost=Quadratic(), intercept=-1.0),
            "intercept is 'free', 'none' or a positive penalty weight; got -1.0; choose one of "
            "them",
        ),
        (
            lambda: solve((X, Y), cost=Quadratic(), intercept="none", solver="magic"),
            'solver is "primal", "probing", "touching" or "dual"; got \'magic\'; choose one of '
            "them",
        ),
        (
            lambda: solve((X, Y), cost=Quadratic(), intercept="none", solver="primal"),
            "the primal solver serves the quadratic cost and Equal on conjunctions, with slack on "
            "every row or none; got Quadratic, Equal and DenseDesign; leave solver out",
        ),
        (
            lambda: solve((X, 2 * Y), cost=Quadratic(), fit="margin", intercept="none"),
            "a margin needs labels -1 and +1; got targets in 2..2; recode labels 0 and 1 as "
            "2 y - 1; for numbers use the fit Equal or Tube",
        ),
        (
            lambda: solve((X, Y), cost=Quadratic(), fit=Equal(np.ones(3)), intercept="none"),
            "slack is one number or one for each row; got shape (3,) for 2 rows; pass a number",
        ),
        (
            lambda: solve(
                (np.ones((20_000, 1)), np.ones(20_000)),
                cost=Quadratic(),
                fit=Equal(1.0),
                intercept="none",
            ),
            "the dual form may take 8 GiB; got 20000 rows, which need about 12; take fewer rows; "
            "interpolation with nonnegative saliences has no such limit",
        ),
        (
            lambda: Equal(-1.0),
            "slack must be nonnegative; got -1..-1; 0 means that the fit is exact",
        ),
        (
            lambda: Tube(-0.1),
            "width is a finite number of at least 0; got -0.1; pass a number of at least 0",
        ),
        (
            lambda: solve(
                (CONJUNCTIONS, Y), cost=Quadratic({(0,): -0.5}), fit=Equal(1.0), intercept="none"
            ),
            "weights must be nonnegative in the primal form; got -0.5 for [(0,)]; use "
            'solver="dual"',
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence


def conic(matrix, y, power, fit, intercept):
    """Solve sum |c|**power / power with Clarabel; return value and constant."""
    c, b, misfit = cp.Variable(matrix.shape[1]), cp.Variable(), cp.Variable(len(y))
    cost = cp.norm1(c) if power == 1 else cp.sum(c**power) / power
    outputs = matrix @ c + b + misfit
    if isinstance(fit, Equal):
        constraints = [outputs == y]
    elif isinstance(fit, Margin):
        constraints = [cp.multiply(y, outputs) >= 1]
    else:
        constraints = [cp.abs(outputs - y) <= fit.width]
    if fit.slack:
        cost += cp.sum_squares(misfit) / (2 * fit.slack)
    else:
        constraints.append(misfit == 0)
    if intercept == "none":
        constraints.append(b == 0)
    elif intercept != "free":
        cost += 0.5 * intercept * cp.square(b)
    value = cp.Problem(cp.Minimize(cost), constraints).solve(solver=cp.CLARABEL)
    return value, b.value


@pytest.mark.parametrize("intercept", ["none", "free", 0.7])
@pytest.mark.parametrize("slack", [0.0, 0.3])
@pytest.mark.parametrize(("cost", "power"), [(Quartic(), 4), (GroupNorm(), 1)])
def test_other_costs_with_slack_and_intercepts_equal_clarabel(cost, power, slack, intercept):
    matrix, targets, _ = problem(9, n=6, p=15)
    for fit in (Equal(slack), Tube(0.3, slack)):
        design = singletons(matrix)
        limit = solve((design, targets), cost=cost, fit=fit, intercept=intercept, max_steps=500)
        best, constant = conic(matrix, targets, power, fit, intercept)
        assert limit.outcome is Outcome.SOLVED
        assert abs(limit.value - best) < 1e-4 * best
        assert abs(limit.intercept - constant) < 1e-3
        assert abs(limit.gap) < 1e-6


@pytest.mark.parametrize("intercept", ["none", "free", 0.7])
def test_a_norm_with_margin_slack_and_intercepts_equals_clarabel(intercept):
    matrix, _, labels = problem(9, n=6, p=15)
    fit = Margin(0.3)
    limit = solve((singletons(matrix), labels), cost=GroupNorm(), fit=fit, intercept=intercept)
    best, constant = conic(matrix, labels, 1, fit, intercept)
    assert limit.outcome is Outcome.SOLVED
    assert abs(limit.value - best) < 1e-6 * best
    assert abs(limit.intercept - constant) < 1e-5
    assert abs(limit.gap) < 1e-6


@pytest.mark.parametrize("intercept", ["none", "free", 0.7])
def test_tube_with_slack_equals_clarabel(intercept):
    matrix, targets, _ = problem(4)
    fit = Tube(0.1, 0.3)
    limit = solve((matrix, targets), cost=Quadratic(), fit=fit, intercept=intercept)
    best, constant = conic(matrix, targets, 2, fit, intercept)
    assert abs(limit.value - best) < 1e-6 * best
    assert abs(limit.intercept - constant) < 1e-5
    assert abs(limit.gap) < 1e-10 * (1 + limit.value)


def test_slack_on_some_rows_only_is_solved_with_it():
    """By hand: (K + diag(s)) v = y with K = A A'."""
    design = ConjunctionDesign.seen(np.array([[0, 0], [0, 1], [1, 0]]), [(0,), (1,)], (2, 2))
    y, slack = np.array([1.0, 2.0, -1.0]), np.array([0.0, 0.5, 0.5])
    gram = design.toarray() @ design.toarray().T
    expected = gram @ np.linalg.solve(gram + np.diag(slack), y)
    limit = solve((design, y), cost=Quadratic(), fit=Equal(slack), intercept="none")
    np.testing.assert_allclose(limit.predict(design), expected, atol=1e-12)
    assert abs(limit.gap) < 1e-12


def test_misfits_are_what_outputs_miss_in_their_direction():
    targets = np.array([1.0, 0.0, -1.0])
    miss = Tube(0.1).misfit(targets, np.array([0.5, 0.05, -0.5]))
    np.testing.assert_allclose(miss, [0.4, 0.0, -0.4], atol=1e-15)
    labels = np.array([1.0, -1.0, 1.0])
    miss = Margin().misfit(labels, np.array([0.25, 0.5, 2.0]))
    np.testing.assert_allclose(miss, [0.75, -1.5, 0.0], atol=1e-15)


def test_an_unfinished_fit_says_its_violation():
    matrix, _, labels = problem(11)
    limit = solve((matrix, labels), cost=Quadratic(), fit="margin", intercept="free", max_steps=2)
    shortfall = np.maximum(0.0, 1.0 - labels * limit.predict(DenseDesign(matrix))).max()
    assert limit.outcome is Outcome.MAX_STEPS
    assert limit.gap > 1e-6 * limit.value
    assert abs(limit.violation - shortfall) < 1e-12


def test_quadratic_value_and_dual_are_conjugate():
    """Fenchel and Young: R(c) + R*(A'v) = <A'v, c> at the c that belongs to v."""
    matrix, v, _ = problem(12)
    design = DenseDesign(matrix, (Block("a", 0, 10), Block("b", 10, 30)))
    cost = Quadratic({"a": 0.5, "b": 2.0})
    c = cost.primal(design, v)
    total = cost.value(design, c) + cost.dual(design, v).value
    assert abs(total - v @ (design @ c)) < 1e-10
    np.testing.assert_allclose(cost.dual(design, v).gradient, design @ c, atol=1e-10)


def test_a_block_of_weight_zero_costs_infinitely_much():
    design, cost = DenseDesign(np.eye(2)), Quadratic({"inputs": 0.0})
    assert cost.value(design, np.array([0.0, 1.0])) == np.inf
    assert cost.value(design, np.zeros(2)) == 0.0


def test_ill_conditioned_columns_are_not_dropped():
    """Weights of 1 and 1e-9: two inputs told apart by the second column alone."""
    matrix = np.array([[1.0, 1e-4], [1.0, -1e-4]])
    limit = solve((matrix, np.array([1.0, -1.0])), cost=Quadratic(), intercept="none")
    np.testing.assert_allclose(limit.coefficients, [0.0, 1e4], rtol=1e-6, atol=1e-6)


def fine_ridge(max_steps):
    """Two blocks of about 2000 columns: past the direct solve, conjugate gradients."""
    rng = np.random.default_rng(0)
    blocks = [rng.integers(0, 2000, size=4000), rng.integers(0, 2000, size=4000)]
    y = rng.normal(size=4000)
    solution = solve_ridge(blocks, [2000] * 2, [0.5, 0.5], y, 1e-3, max_steps=max_steps)
    outputs = solution.intercept + sum(
        solution.coefficients[2000 * k + block] for k, block in enumerate(blocks)
    )
    return solution, outputs


def test_the_primal_solver_says_when_it_ran_out_of_steps_and_how_far_it_is():
    finished, outputs = fine_ridge(5000)
    assert finished.converged
    assert finished.steps > 3
    assert finished.error < 1e-8
    stopped, unfinished = fine_ridge(3)
    assert not stopped.converged
    off = np.abs(unfinished - outputs).max()
    assert off > 1e-6
    # The gap bounds every prediction: sqrt(2 sum sigma gap), with sum sigma = 1.
    assert off <= np.sqrt(2 * stopped.gap)
    value = np.sum(stopped.multipliers**2) * 1e-3 + 2 * np.sum(stopped.coefficients**2)
    best = np.sum(finished.multipliers**2) * 1e-3 + 2 * np.sum(finished.coefficients**2)
    assert best < value <= best + stopped.gap


def test_the_primal_solvers_error_is_in_the_unit_of_the_targets():
    rng = np.random.default_rng(0)
    blocks, y = [rng.integers(0, 2000, size=4000) for _ in range(2)], rng.normal(size=4000)
    unit_scale, thousand = (
        solve_ridge(blocks, [2000] * 2, [0.5, 0.5], c * y, 1e-3, max_steps=3).error
        for c in (1.0, 1000.0)
    )
    assert unit_scale > 0
    assert abs(thousand / unit_scale - 1000.0) < 1e-6


@pytest.mark.parametrize("intercept", ["none", "free"])
def test_large_exact_fits_equal_small_ones(monkeypatch, intercept):
    """Past 4 million entries LSMR stands in for orthonormal rows."""
    rng = np.random.default_rng(3)
    rows = np.unique(rng.integers(0, 6, size=(25, 2)), axis=0)
    design = ConjunctionDesign.seen(rows, [(0,), (1,)], (6, 6))
    targets = design @ rng.normal(size=design.shape[1]) + (intercept == "free")
    cost = Quadratic({(0,): 0.3, (1,): 0.7})
    exact = solve((design, targets), cost=cost, intercept=intercept)
    monkeypatch.setattr(_quadratic, "ENTRIES", 0)
    large = solve((design, targets), cost=cost, intercept=intercept)
    np.testing.assert_allclose(large.coefficients, exact.coefficients, atol=1e-8)
    # Rows depend on each other: their multipliers are one choice of many, what they pull at is not.
    pulls = [design.adjoint(limit.multipliers) for limit in (large, exact)]
    np.testing.assert_allclose(*pulls, atol=1e-7)
    assert abs(large.gap) < 1e-8


CONJUNCTIONS = ConjunctionDesign.seen(np.array([[0, 0], [1, 1]]), [(0,), (1,)], (2, 2))
