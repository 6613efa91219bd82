"""The oracles agree with each other, and the judge finds what is wrong: no library in here."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from concave import descent
from conic import least
from exact import orthonormal
from feasibility import feasible
from formulas import lower_bound, total, unit_of_cost, without_left_out
from judge import Verdict, judge_limit
from linear import least_squares, newton_dual
from problems import CONVEX, FITS, INTERCEPTS, KINDS, problem
from scipy.integrate import quad
from scipy.optimize import minimize
from units import CHANGES, change

from partwhole.limits import Limit, Outcome
from partwhole.limits.problem import Problem as Posed

ROUTES = {"quadratic": least_squares, "entropy": newton_dual}


@pytest.mark.parametrize("cost", ROUTES)
@pytest.mark.parametrize("fit", ["equal", "equal slack"])
def test_clarabel_agrees_with_linear_algebra_and_with_newton(cost, fit):
    """Of each kind two; at features of size 1e-12 Newton's steps underflow, and it is left out."""
    compared = 0
    for number, kind in enumerate(2 * KINDS):
        if cost == "entropy" and "unit" in kind:
            continue
        name = f"{cost} / {fit} / {INTERCEPTS[number % 3]} / {kind} / {number}"
        one = without_left_out(problem(name))
        if feasible(one) is not True:
            continue
        floor = 1e-11 * unit_of_cost(one)
        best, other = least(one, floor), ROUTES[cost](one)
        assert abs(best.above - other) <= 1e-7 * abs(other) + floor, one.name
        assert abs(best.below - other) <= 1e-7 * abs(other) + floor, one.name
        compared += 1
    assert compared > 30


@pytest.mark.parametrize("cost", ["l1", "group", "weighted group", "nuclear", "function"])
def test_bounds_meet_for_norms_too(cost):
    """Bounds from both sides, of a primal and a dual point, leave no room for a wrong optimum."""
    for number in range(24):
        kind, fit = ("plain", "integers")[number % 2], FITS[number % 6]
        one = problem(f"{cost} / {fit} / {INTERCEPTS[number % 3]} / {kind} / {number}")
        if feasible(one) is True:
            floor = 1e-11 * unit_of_cost(one)
            best = least(one, floor)
            assert best.above - best.below <= 1e-7 * best.above + floor, one.name


def test_the_entropy_is_the_integral_that_defines_it():
    one = problem("entropy / equal / none / plain / 0")
    p = one.matrix.shape[1]
    one = replace(one, width=np.linspace(0.1, 3, p), tilt=np.linspace(-2, 2, p))
    c = np.linspace(-4, 5, p)
    whole = 0.0
    for end, k, tilt in zip(c, one.width, one.tilt, strict=True):
        start = 0.5 * k * np.sinh(tilt)
        whole += quad(lambda b, k=k, t=tilt: 0.5 * (np.arcsinh(2 * b / k) - t), start, end)[0]
    alone = replace(one, targets=one.matrix @ c)
    assert float(total(alone, c, 0.0)) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("cost", CONVEX)
def test_lower_bounds_are_below_any_point_that_fits(cost):
    rng = np.random.default_rng(0)
    for number in range(12):
        one = problem(f"{cost} / {FITS[1::2][number % 3]} / none / plain / {number}")
        v = rng.normal(size=len(one.targets))
        for _ in range(5):
            c = rng.normal(size=one.matrix.shape[1])
            assert lower_bound(one, v) <= total(one, c, 0.0)


@pytest.mark.parametrize("number", range(12))
def test_a_changed_problem_has_the_changed_value(number):
    """The unit changes, which the library is asked to follow, hold for the oracle."""
    rng = np.random.default_rng(number)
    for kind in CHANGES:
        cost, fit = CONVEX[number % 7], FITS[number % 6]
        one = problem(f"{cost} / {fit} / {INTERCEPTS[number % 3]} / plain / {number}")
        changed = change(one, kind, rng)
        if changed is None or feasible(one) is not True:
            continue
        best = least(one)
        c = best.coefficients
        moved = changed.coefficients(c)
        unit = np.abs(changed.problem.targets).max() / np.abs(one.targets).max()
        sign = -1.0 if kind == "mirror" else 1.0
        value = total(changed.problem, moved, sign * unit * best.intercept)
        assert float(value) == pytest.approx(changed.value * best.above, rel=1e-9), kind


def test_orthonormal_rows_span_the_rows():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(4, 7))
    matrix = np.vstack([matrix, matrix[0] + 1e-10 * rng.normal(size=7), matrix[1], 0 * matrix[0]])
    basis, turn = orthonormal(matrix)
    assert basis.shape == (5, 7)
    np.testing.assert_allclose((basis @ basis.T).astype(float), np.eye(5), atol=1e-15)
    np.testing.assert_allclose((turn @ matrix).astype(float), basis.astype(float), atol=1e-8)
    assert np.linalg.matrix_rank(np.vstack([matrix, basis.astype(float)]), tol=1e-12) == 5


def rank(matrix: np.ndarray) -> int:
    """Return the rank of the very numbers given, by elimination with fractions."""
    rows = [[Fraction(float(entry)) for entry in row] for row in matrix]
    count = 0
    for column in range(matrix.shape[1]):
        pivot = next((i for i in range(count, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[count], rows[pivot] = rows[pivot], rows[count]
        for i in range(count + 1, len(rows)):
            factor = rows[i][column] / rows[count][column]
            pairs = zip(rows[i], rows[count], strict=True)
            rows[i] = [one - factor * other for one, other in pairs]
        count += 1
    return count


@pytest.mark.parametrize("intercept", ["none", "free"])
def test_feasible_equalities_are_those_whose_rank_says_so(intercept):
    answers = set()
    for number in range(60):
        kind = ("integers", "low rank", "equal rows, other targets", "equal rows")[number % 4]
        one = problem(f"quadratic / equal / {intercept} / {kind} / {number}")
        matrix = one.matrix
        if intercept == "free":
            matrix = np.column_stack([matrix, np.ones(len(matrix))])
        truth = rank(matrix) == rank(np.column_stack([matrix, one.targets]))
        verdict = feasible(one)
        # Targets may be consistent but for their own rounding.
        assert verdict is truth or (verdict is True and kind == "equal rows"), one.name
        answers.add(truth)
    assert answers == {True, False}


@pytest.mark.parametrize("fit", ["margin", "tube"])
@pytest.mark.parametrize("intercept", ["none", "free"])
def test_feasible_inequalities_are_those_that_clarabel_meets(fit, intercept):
    answers = []
    for number in range(40):
        kind = ("integers", "low rank", "equal rows, other targets", "plain")[number % 4]
        one = problem(f"quadratic / {fit} / {intercept} / {kind} / {number}")
        if fit == "tube" and one.tube == 0:
            continue
        low, high = one.bounds()
        c, b = cp.Variable(one.matrix.shape[1]), cp.Variable()
        out = one.matrix @ c + (b if intercept == "free" else 0.0)
        finite = (np.isfinite(low), np.isfinite(high))
        rows = [low[finite[0]] <= out[finite[0]]] if finite[0].any() else []
        rows += [out[finite[1]] <= high[finite[1]]] if finite[1].any() else []
        cost = cp.sum_squares(c)
        truth = bool(np.isfinite(cp.Problem(cp.Minimize(cost), rows).solve(solver=cp.CLARABEL)))
        # Targets 1 apart in a tube of width 1/2 are on the very edge.
        assert feasible(one) in (truth, None), one.name
        answers.append(feasible(one))
    assert answers.count(None) <= 0.2 * len(answers)
    assert {True, False} <= set(answers)


def test_rows_that_fractions_tell_apart_are_not_called_contradictory():
    """Three independent rows, two of them 1e-10 apart, can have any outputs."""
    tube = problem("l1 / tube / none / rows 1e-10 apart, other targets / 11000145")
    (a, b, c), (d, e, f), (g, h, i) = ([Fraction(x) for x in row[:3]] for row in tube.matrix)
    assert a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) != 0
    assert feasible(tube) is not False


def posed(one):
    """Return a problem as the library holds it."""
    return Posed(one.design(), one.targets, one.library_cost(), one.library_fit(), one.intercept)


@pytest.mark.parametrize(
    ("name", "spoil", "verdict"),
    [
        ("quadratic / equal / free / plain / 3", {}, Verdict.RIGHT),
        ("quadratic / equal / free / plain / 3", {"value": 1.00001}, Verdict.WRONG),
        ("quadratic / equal / free / plain / 3", {"coefficients": 1.0001}, Verdict.WRONG),
        ("l1 / tube / penalised / plain / 5", {}, Verdict.RIGHT),
        ("l1 / tube / penalised / plain / 5", {"intercept": 1.001}, Verdict.WRONG),
        ("l1 / tube / penalised / plain / 5", {"gap": -0.01}, Verdict.WRONG),
        ("group / margin slack / none / plain / 7", {}, Verdict.RIGHT),
        ("group / margin slack / none / plain / 7", {"coefficients": 1.01}, Verdict.WRONG),
        ("entropy / equal slack / free / plain / 2", {"outcome": 0}, Verdict.FALSE_INFEASIBLE),
        ("entropy / equal slack / free / plain / 2", {"outcome": 1}, Verdict.GAVE_UP),
    ],
)
def test_the_judge_finds_what_is_wrong(name, spoil, verdict):
    """The oracle's own optimum is right; spoilt it is not."""
    one = problem(name)
    best = least(one)
    limit = Limit(
        posed(one),
        best.coefficients.astype(float), best.multipliers, float(best.intercept), best.above,
        0.0, 0.0, 1, Outcome.SOLVED,
    )  # fmt: skip
    for field, factor in spoil.items():
        if field == "outcome":
            limit = replace(limit, outcome=(Outcome.INFEASIBLE, Outcome.MAX_STEPS)[factor])
        elif field == "gap":
            limit = replace(limit, gap=factor * limit.value)
        else:
            limit = replace(limit, **{field: getattr(limit, field) * factor})
        if field == "coefficients":
            value = float(total(one, limit.coefficients, limit.intercept))
            limit = replace(limit, value=value)
    assert judge_limit(one, limit).verdict is verdict


@pytest.mark.parametrize("number", range(6))
def test_descent_ends_where_gradient_descent_on_weights_ends(number):
    r"""With :math:`c_g = \|w_g\|^{L-1} w_g` the cost is :math:`\sum \|w_g\|^2`, which is smooth."""
    one = problem(f"chain / equal slack / none / plain / {number}")
    matrix, targets, slack, labels = one.matrix, one.targets, one.slack, one.labels
    layers = one.layers

    def coefficients(w):
        return w * np.sqrt(np.bincount(labels, w**2))[labels] ** (layers - 1)

    def objective(w):
        misfit = targets - matrix @ coefficients(w)
        pull = matrix.T @ (misfit / slack)
        norms = np.sqrt(np.bincount(labels, w**2))[labels]
        along = np.bincount(labels, w * pull)[labels]
        back = norms ** (layers - 1) * pull
        back += (layers - 1) * norms ** (layers - 3.0) * w * along
        return np.sum(w**2) + np.sum(misfit**2 / slack) / 2, 2 * w - back

    start = 1.0 + np.random.default_rng(number).random(len(labels))
    options = {"maxiter": 100_000, "maxfun": 100_000, "gtol": 1e-10, "ftol": 1e-15}
    ended = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    c = coefficients(ended.x)
    here = float(total(one, c, 0.0))
    assert here == pytest.approx(ended.fun, rel=1e-9)
    assert here - descent(one, c, 0.0) <= 1e-6 * here
    if np.any(np.abs(c) > 1e-6):
        away = 1.05 * c
        there = float(total(one, away, 0.0))
        assert there - descent(one, away, 0.0) >= 0.5 * (there - here) > 0
