"""Linear probing against exact arithmetic, whose rational numbers know no rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from partwhole import solve
from partwhole.limits import DiagonalWeights, Limit, Outcome
from partwhole.limits.costs import LinearProbing

D, LEARNED, ZERO = 30, 5, Fraction(0)
RNG = np.random.default_rng(0)
MAIN = np.zeros(D)
MAIN[2:7] = 0.375
NORMAL = RNG.standard_normal((8, D))
# Of the five learned features two follow from the others, and half of the samples have none.
DEPENDENT = RNG.integers(-1, 2, (8, D)).astype(float)
DEPENDENT[::2, :LEARNED] = 0.0
DEPENDENT[:, 1] = -DEPENDENT[:, 0]
DEPENDENT[:, 3] = DEPENDENT[:, 2] + DEPENDENT[:, 0]


def pretrained(scale: float) -> DiagonalWeights:
    beta = np.zeros(D)
    beta[:LEARNED] = 0.25
    return DiagonalWeights.pretrained(beta, scale).for_finetuning(readout_scale=0.0)


def exact(rows: np.ndarray, targets: np.ndarray, weights: DiagonalWeights) -> np.ndarray:
    """Solve D X' (X D X')^-1 y by elimination on fractions."""
    size = [Fraction(a) ** 2 + Fraction(b) ** 2 for a, b in zip(*hidden(weights), strict=True)]
    x = [[Fraction(value) for value in row] for row in rows.tolist()]
    n = len(x)
    left = [
        [sum((a * s * b for a, s, b in zip(left_row, size, row, strict=True)), ZERO) for row in x]
        + [Fraction(target)]
        for left_row, target in zip(x, targets.tolist(), strict=True)
    ]
    for i in range(n):
        best = max(range(i, n), key=lambda row, i=i: abs(left[row][i]))
        left[i], left[best] = left[best], left[i]
        for row in set(range(n)) - {i}:
            part = left[row][i] / left[i][i]
            left[row] = [a - part * b for a, b in zip(left[row], left[i], strict=True)]
    dual = [left[i][n] / left[i][i] for i in range(n)]
    return np.array(
        [
            float(s * sum((row[k] * nu for row, nu in zip(x, dual, strict=True)), ZERO))
            for k, s in enumerate(size)
        ]
    )


def proved(limit: Limit) -> bool:
    """Return whether the multipliers prove the value, as the outcome must say."""
    close = bool(abs(limit.gap) <= 1e-6 * limit.value)
    assert limit.outcome is (Outcome.SOLVED if close else Outcome.INACCURATE)
    return close


def hidden(weights: DiagonalWeights) -> tuple[list[float], list[float]]:
    return weights.hidden_plus.tolist(), weights.hidden_minus.tolist()


@pytest.mark.parametrize("rows", [NORMAL, DEPENDENT], ids=["normal", "dependent"])
@pytest.mark.parametrize("scale", [1e-2, 1e-5, 1e-8, 1e-12, 1e-20, 1e-80])
def test_coefficients_keep_their_digits_however_small_the_weights(rows, scale):
    targets = rows @ MAIN
    weights = pretrained(scale)
    limit = solve((rows, targets), cost=LinearProbing.of(weights), intercept="none")
    assert proved(limit) or scale < 1e-12  # of smaller weights multipliers prove nothing
    # Rounding of some hundred operations on coefficients up to 1; a thousand times that where
    # learned features depend on each other within a factor of a thousand of the weights.
    close = 1e-14 if scale < 1e-3 else 1e-12
    np.testing.assert_allclose(
        limit.coefficients, exact(rows, targets, weights), rtol=0, atol=close
    )


@pytest.mark.parametrize("scale", [1e-3, 1e-12, 1e-20])
@pytest.mark.parametrize("spread", [0.0, 6.0])
def test_samples_that_repeat_change_nothing_and_contradictions_are_told(scale, spread):
    weights = pretrained(scale)
    once = solve((NORMAL, NORMAL @ MAIN), cost=LinearProbing.of(weights), intercept="none")
    units = 10.0 ** np.linspace(-spread, spread, 13)[:, None]
    rows = units * np.vstack([NORMAL, 2 * NORMAL[:3], NORMAL[3:5] + NORMAL[:2]])
    targets = rows @ MAIN
    repeated = solve((rows, targets), cost=LinearProbing.of(weights), intercept="none")
    assert proved(repeated) or scale < 1e-12  # of smaller weights multipliers prove nothing
    np.testing.assert_allclose(repeated.coefficients, once.coefficients, rtol=0, atol=1e-14)
    targets[-1] += 1e-3 * units[-1, 0]
    assert (
        solve((rows, targets), cost=LinearProbing.of(weights), intercept="none").outcome
        is Outcome.INFEASIBLE
    )


@pytest.mark.parametrize("scale", [1e-3, 1e-20])
def test_more_samples_than_features_leave_no_choice(scale):
    weights = pretrained(scale)
    rows = RNG.standard_normal((60, D))
    targets = rows @ MAIN
    limit = solve((rows, targets), cost=LinearProbing.of(weights), intercept="none")
    np.testing.assert_allclose(limit.coefficients, MAIN, rtol=0, atol=1e-14)
    targets[7] += 0.1
    contradictory = solve((rows, targets), cost=LinearProbing.of(weights), intercept="none")
    assert contradictory.outcome is Outcome.INFEASIBLE
    # No feature sees the certificate, and the fit would have to.
    assert (
        np.abs(rows.T @ contradictory.multipliers).max() < 1e-12
    )  # rounding of targets of order 1
    assert targets @ contradictory.multipliers > 1e-3
    # With two features alike, the learned one of them takes it all where weights are tiny.
    rows[:, 20] = rows[:, 3]
    limit = solve((rows, rows @ MAIN), cost=LinearProbing.of(weights), intercept="none")
    assert proved(limit) or scale < 1e-12  # of smaller weights multipliers prove nothing
    share = 2 * scale**2 / (2 * scale**2 + np.hypot(0.25, 2 * scale**2))
    np.testing.assert_allclose(limit.coefficients[20], 0.375 * share, rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize("scale", [1e-3, 1.0])
@pytest.mark.parametrize("rows", [NORMAL, DEPENDENT, np.vstack([NORMAL, NORMAL[:2]])])
def test_multipliers_are_those_of_the_coefficients(rows, scale):
    weights = pretrained(scale)
    limit = solve((rows, rows @ MAIN), cost=LinearProbing.of(weights), intercept="none")
    size = np.hypot(weights.hidden_plus, weights.hidden_minus) ** 2
    np.testing.assert_allclose(size * (rows.T @ limit.multipliers), limit.coefficients, atol=1e-9)
    assert abs(limit.gap) < 1e-9 * limit.value


def test_weights_may_be_lists():
    weights = pretrained(0.01)
    lists = DiagonalWeights(*(layer.tolist() for layer in weights))
    probed = solve((NORMAL, NORMAL @ MAIN), cost=LinearProbing.of(lists), intercept="none")
    limit = solve((NORMAL, NORMAL @ MAIN), cost=LinearProbing.of(weights), intercept="none")
    np.testing.assert_array_equal(probed.coefficients, limit.coefficients)


@pytest.mark.parametrize("unit", [1e-10, 1e-3, 1.0, 1e7])
def test_rows_that_contradict_each_other_do_so_in_any_unit(unit):
    weights = DiagonalWeights.pretrained(np.array([1.0, 0.1]), init_scale=1e-3)
    weights = weights.for_finetuning(readout_scale=0.0)
    rows, targets = (
        np.array([[1.0, 2.0], [unit, 0.0], [unit, 0.0]]),
        np.array([1.0, unit, 3 * unit]),
    )
    limit = solve((rows, targets), cost=LinearProbing.of(weights), intercept="none")
    assert limit.outcome is Outcome.INFEASIBLE
    proof = limit.multipliers
    assert np.abs(rows.T @ proof).max() <= 1e-9 * np.abs(rows * proof[:, None]).max()
    assert proof @ targets > 0.1 * np.abs(proof * targets).sum()
    assert (
        solve((rows[:2], targets[:2]), cost=LinearProbing.of(weights), intercept="none").outcome
        is Outcome.SOLVED
    )


def test_a_row_of_zeros_asks_for_what_nothing_gives():
    weights = DiagonalWeights.pretrained(np.array([1.0]), init_scale=1e-3)
    weights = weights.for_finetuning(readout_scale=0.0)
    limit = solve(
        (np.array([[1.0], [0.0]]), np.array([1.0, 5.0])),
        cost=LinearProbing.of(weights),
        intercept="none",
    )
    assert limit.outcome is Outcome.INFEASIBLE
