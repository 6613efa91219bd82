"""Where feature reuse is at its edges: nothing to learn, tiny weights, sizes far apart, no fit."""

import numpy as np
import pytest

from partwhole import solve
from partwhole._checks import InputError
from partwhole.features import DenseDesign
from partwhole.limits import (
    DiagonalWeights,
    Equal,
    GroupNorm,
    HyperbolicEntropy,
    Outcome,
    Quadratic,
)
from partwhole.limits.costs import L1Norm, LinearProbing

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(6, 15)), RNG.normal(size=6)


@pytest.mark.parametrize("cost", [HyperbolicEntropy(0.1), L1Norm(), GroupNorm(), Quadratic()])
def test_features_are_finite(cost):
    broken = X.copy()
    broken[0, 0] = np.nan
    with pytest.raises(InputError) as raised:
        solve((broken, Y), cost=cost, intercept="none")
    assert str(raised.value) == (
        "inputs is an array of finite numbers of shape (n, p); got 1 that is NaN, at (0, 0); "
        "drop or fill missing numbers first"
    )
    with pytest.raises(InputError):
        solve((X, Y), cost=cost, intercept="none").predict(broken)
    with pytest.raises(InputError, match="at least one row; got none"):
        solve((X[:0], Y[:0]), cost=cost, intercept="none")


@pytest.mark.parametrize("size", [0.0, 1e-10])
def test_targets_of_next_to_nothing_with_a_tilt(size):
    """Rounding is that of the start's outputs, of order 1."""
    cost = HyperbolicEntropy(1.0, 0.5)
    limit = solve((X, size * Y), cost=cost, intercept="none")
    assert limit.outcome is Outcome.SOLVED
    assert limit.steps < 30
    assert limit.violation < 1e-13


@pytest.mark.parametrize("cost", [L1Norm(), GroupNorm()])
@pytest.mark.parametrize("size", [1e-8, 1e-3, 1e3, 1e8])
@pytest.mark.parametrize("intercept", ["none", "free"])
def test_norms_know_no_unit(cost, size, intercept):
    """Steps end at 1e-11 of the value, which leaves coefficients some 1e-7."""
    limit, in_units = (
        solve((X, scale * Y), cost=cost, intercept=intercept) for scale in (1.0, size)
    )
    assert in_units.outcome is Outcome.SOLVED
    assert np.abs(in_units.coefficients / size - limit.coefficients).max() < 1e-6
    slack, scaled = (
        solve((X, scale * Y), cost=cost, fit=Equal(0.1 * scale), intercept=intercept)
        for scale in (1.0, size)
    )
    assert np.abs(scaled.coefficients / size - slack.coefficients).max() < 1e-6


@pytest.mark.parametrize("cost", [HyperbolicEntropy(0.1), L1Norm(), GroupNorm(), Quadratic()])
def test_features_that_are_all_zero_fit_nothing(cost):
    limit = solve((np.zeros((3, 4)), np.ones(3)), cost=cost, intercept="none")
    assert limit.outcome is Outcome.INFEASIBLE
    assert limit.violation == 1.0


def test_more_rows_than_features_are_told_at_once():
    rows = RNG.normal(size=(30, 20))
    limit = solve((rows, RNG.normal(size=30)), cost=HyperbolicEntropy(1e-3), intercept="none")
    assert limit.outcome is Outcome.INFEASIBLE
    assert limit.steps == 0


@pytest.mark.parametrize("scale", [1e-3, 1e-6, 1e-10])
def test_linear_probing_with_features_next_to_unlearned(scale):
    """Against the two-step solution in the limit: learned features first, others for the rest."""
    beta = np.zeros(40)
    beta[:5] = 1.0, -1.0, 0.5, 2.0, -0.25
    rows = np.random.default_rng(1).normal(size=(12, 40))
    targets = rows @ np.random.default_rng(2).normal(size=40)
    weights = DiagonalWeights.pretrained(beta, scale).for_finetuning(readout_scale=0.0)
    limit = solve((rows, targets), cost=LinearProbing.of(weights), intercept="none")
    assert limit.outcome is Outcome.SOLVED
    assert np.abs(rows @ limit.coefficients - targets).max() < 1e-8
    assert abs(limit.gap) < 1e-9 * limit.value
    if scale < 1e-5:
        learned, rest = rows[:, :5], rows[:, 5:]
        # Unlearned features are free of cost against learned ones only where these cannot do it.
        inside = np.linalg.lstsq(learned, targets, rcond=None)[0]
        missing = targets - learned @ inside
        unlearned = np.linalg.pinv(rest - learned @ np.linalg.pinv(learned) @ rest) @ missing
        assert np.abs(limit.coefficients[5:] - unlearned).max() < 1e-6


def test_linear_probing_of_what_is_known_already():
    rows, beta = RNG.normal(size=(20, 6)), RNG.normal(size=6)
    weights = DiagonalWeights.pretrained(beta, 1e-3)
    limit = solve((rows, rows @ beta), cost=LinearProbing.of(weights), intercept="none")
    assert limit.outcome is Outcome.SOLVED
    assert np.abs(limit.coefficients - beta).max() < 1e-9
    contradictory = solve(
        (rows, RNG.normal(size=20)), cost=LinearProbing.of(weights), intercept="none"
    )
    assert contradictory.outcome is Outcome.INFEASIBLE
    assert np.isfinite(contradictory.violation)


def test_a_single_problem_needs_no_list():
    costs = [HyperbolicEntropy(0.1), HyperbolicEntropy(1.0)]
    for design in (X, DenseDesign(X)):
        limits = solve((design, Y), cost=costs, intercept="none")
        assert [limit.outcome for limit in limits] == [Outcome.SOLVED] * 2


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: solve(
                (X, Y[:3]),
                cost=LinearProbing.of(DiagonalWeights.constant(15, 1.0)),
                intercept="none",
            ),
            "targets must have one row for each row of the inputs; got 3 for 6 rows; pass both for "
            "the same rows",
        ),
        (
            lambda: HyperbolicEntropy.from_weights(DiagonalWeights.constant(3, 1.0, n_tasks=2)),
            "a cost belongs to the weights of one network and one task; got layers of shapes "
            "(3,), (2, 3), (3,) and (2, 3); make one for each, and pass a list of them to solve",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == sentence
