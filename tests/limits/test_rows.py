"""Equalities say the same however long their rows are, how alike, and how often they are said."""

import numpy as np
import pytest

from partwhole import solve
from partwhole.features.design import as_design
from partwhole.limits import GroupNorm, HyperbolicEntropy, Outcome
from partwhole.limits.costs import L1Norm

RNG = np.random.default_rng(1)
X = RNG.standard_normal((10, 30))
TEACHER = RNG.standard_normal(30) * (RNG.random(30) < 0.2)
OTHER = RNG.standard_normal(30)
COSTS = [HyperbolicEntropy(1e-3), HyperbolicEntropy(0.3, 0.5), L1Norm(), GroupNorm()]


def solved(inputs, targets, cost, intercept="none"):
    return solve((inputs, targets), cost=cost, intercept=intercept)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("apart", [1e-4, 1e-7, 1e-9])
def test_rows_that_are_nearly_alike(cost, apart):
    """Two rows say what one of them and their difference say; the targets' rounding remains.

    It is 1e-16 against a difference of `apart`, and coefficients feel it some ten times.
    """
    plain = solved(np.vstack([X, OTHER]), np.append(X @ TEACHER, OTHER @ TEACHER), cost)
    dependent = np.vstack([X, X[0] + apart * OTHER])
    limit = solved(dependent, dependent @ TEACHER, cost)
    assert limit.outcome is Outcome.SOLVED
    assert np.abs(limit.coefficients - plain.coefficients).max() < 1e-9 + 3e-15 / apart
    assert limit.violation < 1e-10
    assert np.abs(dependent @ limit.coefficients - dependent @ TEACHER).max() < 1e-10


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("intercept", ["none", "free", 0.7])
def test_an_equality_divided_by_a_number_is_the_same(cost, intercept):
    targets = X @ TEACHER + (0.0 if intercept == "none" else 3.0)
    plain = solved(X, targets, cost, intercept)
    if intercept == "none":
        # An intercept is the same in every row, so that rows can't be divided beside it.
        sizes = 10.0 ** RNG.uniform(-6, 6, 10)
        limit = solved(X * sizes[:, None], targets * sizes, cost)
        assert limit.outcome is Outcome.SOLVED
        assert np.abs(limit.coefficients - plain.coefficients).max() < 1e-9
        assert np.allclose(limit.multipliers * sizes, plain.multipliers, rtol=1e-5, atol=1e-7)
    assert plain.outcome is Outcome.SOLVED
    assert abs(plain.gap) < 1e-9
    # The multipliers are those of the rows as given: their pull is what the cost answers to.
    repeated = cost.dual(as_design(X), plain.multipliers)
    assert np.isfinite(repeated.value)


@pytest.mark.parametrize("cost", [L1Norm(), GroupNorm()])
@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e3, 1e6])
def test_norms_know_no_unit_of_the_inputs(cost, unit):
    plain, limit = solved(X, X @ TEACHER, cost), solved(unit * X, X @ TEACHER, cost)
    assert limit.outcome is Outcome.SOLVED
    assert np.abs(unit * limit.coefficients - plain.coefficients).max() < 1e-8
    assert limit.value * unit == pytest.approx(plain.value, rel=1e-9)


@pytest.mark.parametrize("cost", COSTS)
def test_rows_said_twice(cost):
    twice, targets = np.vstack([X, X[:3]]), np.append(X @ TEACHER, (X @ TEACHER)[:3])
    plain, limit = solved(X, X @ TEACHER, cost), solved(twice, targets, cost)
    assert limit.outcome is Outcome.SOLVED
    assert np.abs(limit.coefficients - plain.coefficients).max() < 1e-9
    assert limit.multipliers.shape == (13,)
    contradicted = solved(twice, targets + 0.1 * (np.arange(13) > 9), cost)
    assert contradicted.outcome is Outcome.INFEASIBLE
    # Least squares leaves half of the difference to each of two copies.
    assert contradicted.violation == pytest.approx(0.05)
