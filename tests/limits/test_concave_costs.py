"""Costs that are not convex: their values over weights, and stationary points against descent."""

import cvxpy as cp
import numpy as np
import pytest
from gated_data import d1
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from partwhole import solve
from partwhole._checks import InputError
from partwhole.features import DenseDesign, HalfspaceGates
from partwhole.features.design import Block
from partwhole.features.gates.design import GatedDesign
from partwhole.features.scaled import ScaledDesign
from partwhole.limits import Equal, GroupNorm, Margin, Outcome, Quadratic
from partwhole.limits.costs import ChainNorm, NuclearNorm, SchattenNorm

X, Y, GATES = d1()
D1 = GATES.design(X)
SIZES = np.array([0.5, 1.0, 2.0, 0.25])


def singles(matrix):
    """Return a design in which each column is a block."""
    matrix = np.atleast_2d(matrix)
    return DenseDesign(matrix, tuple(Block(i, i, i + 1) for i in range(matrix.shape[1])))


@pytest.mark.parametrize(
    ("n_layers", "mixed", "chained"),
    [(2, 7.5, 7.5), (3, 7.241170, 10.842636), (4, 7.745967, 14.485281)],
)
def test_the_least_weights_that_bring_units_about(n_layers, mixed, chained):
    """Minimised over what layers give to each unit; layers that mix units share it."""
    design = singles(np.ones(4))

    def mixing(logs):
        top = np.exp(logs)  # the upper layers' product, whose own least squares are known
        readout = (n_layers - 1) * np.sum(top**2) ** (1 / (n_layers - 1))
        return readout + np.sum(SIZES**2 / top**2)

    least_value = minimize(mixing, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).fun
    assert least_value == pytest.approx(mixed, rel=1e-6)
    value = GroupNorm().value(design, SIZES)
    assert n_layers * value ** (2 / n_layers) == pytest.approx(least_value, rel=1e-6)

    def alone(logs):
        factors = np.exp(logs.reshape(n_layers - 1, 4))
        return np.sum(factors**2) + np.sum((SIZES / factors.prod(axis=0)) ** 2)

    start = np.zeros(4 * (n_layers - 1))
    least_value = minimize(alone, start, method="BFGS", options={"gtol": 1e-9}).fun
    assert least_value == pytest.approx(chained, rel=1e-6)
    assert n_layers * ChainNorm(n_layers).value(design, SIZES) == pytest.approx(
        least_value, rel=1e-6
    )


@given(st.integers(0, 10_000), st.integers(2, 4))
@settings(max_examples=10)
def test_no_layers_bring_a_matrix_about_with_smaller_weights(seed, n_layers):
    rng = np.random.default_rng(seed)
    layers = [rng.normal(size=(4, 4)) for _ in range(n_layers - 1)] + [rng.normal(size=(3, 4))]
    whole = layers[0]
    for each in layers[1:]:
        whole = each @ whole
    design = DenseDesign(np.zeros((1, 12)))
    value = SchattenNorm(3, n_layers).value(design, whole.ravel())
    assert value <= sum(np.sum(each**2) for each in layers) / n_layers * (1 + 1e-12)
    # Reached by layers that share the singular values evenly.
    left, size, right = np.linalg.svd(whole, full_matrices=False)
    root = size ** (1 / n_layers)
    shared = np.sum((left * root) ** 2) + np.sum((root[:, None] * right) ** 2)
    shared += (n_layers - 2) * np.sum(root**2)
    assert value == pytest.approx(shared / n_layers, rel=1e-12)


def test_with_two_layers_they_are_the_convex_ones():
    group = solve((D1, Y), cost=ChainNorm(2), fit="margin", intercept="none")
    assert group.value == pytest.approx(2.97485384, rel=1e-6)
    gates = HalfspaceGates(np.random.RandomState(5).randn(1, 3, 7), np.zeros((1, 3)))
    nuclear = solve((X, Y), gates, cost=SchattenNorm(8, 2), fit="margin", intercept="none")
    assert nuclear.outcome is Outcome.STATIONARY
    assert nuclear.value == pytest.approx(6.8291683, rel=1e-6)
    schatten = solve(
        (D1, Y), cost=SchattenNorm(1, 3), fit="margin", intercept="none", max_steps=2000
    )
    chain = solve((D1, Y), cost=ChainNorm(3), fit="margin", intercept="none", max_steps=2000)
    assert schatten.value == pytest.approx(chain.value, rel=1e-6)


@pytest.mark.parametrize("fit", ["equal", "margin"])
def test_of_two_columns_the_best_by_search(fit):
    """One row and two blocks: the solutions are on a line, which is searched."""
    design, target = singles([[1.0, 1.2]]), np.array([1.0])
    share = np.linspace(0.0, 1.0, 20_001)
    costs = share ** (2 / 3) + ((1 - share) / 1.2) ** (2 / 3)
    fit_object = Equal() if fit == "equal" else Margin()
    limit = solve((design, target), cost=ChainNorm(3), fit=fit_object, intercept="none")
    assert limit.outcome is Outcome.STATIONARY
    assert limit.value == pytest.approx(costs.min(), rel=1e-9)
    # The other end is stationary too, from a start near it.
    start = np.array([0.99, 0.01 / 1.2])
    limit_from_start = solve(
        (design, target), cost=ChainNorm(3), fit=fit_object, intercept="none", start=start
    )
    np.testing.assert_allclose(limit_from_start.coefficients, [1.0, 0.0], atol=1e-9)
    assert limit_from_start.value > limit.value


@pytest.mark.parametrize("seed", range(3))
def test_no_small_move_costs_less(seed):
    """At a stationary point directions that keep the fit change the cost to second order."""
    rng = np.random.default_rng(seed)
    design = GatedDesign(rng.normal(size=(12, 4)), rng.integers(0, 2, size=(12, 5)), 2)
    targets = rng.normal(size=12)
    matrix = design.dense().matrix
    for cost in (ChainNorm(3), SchattenNorm(2, 3)):
        limit = solve((design, targets), cost=cost, intercept="none", max_steps=5000)
        assert limit.outcome is Outcome.STATIONARY
        assert limit.violation < 1e-8
        coefficients = limit.coefficients
        blocks = coefficients.reshape(5, 8)
        in_use = np.repeat(np.linalg.norm(blocks, axis=1) > 1e-7, 8)
        null = np.linalg.svd(matrix * in_use)[2][np.linalg.matrix_rank(matrix * in_use) :]
        for _ in range(10):
            direction = in_use * (rng.normal(size=len(null)) @ null)
            direction *= np.linalg.norm(coefficients) / np.linalg.norm(direction)
            values = [
                cost.value(design, coefficients + step * direction) for step in (-1e-4, 0.0, 1e-4)
            ]
            slope = (values[2] - values[0]) / 2e-4
            # Central differences leave the square of the step; where a singular value is near
            # 0 the slope along a direction that lifts it is that of its power 2/3.
            assert abs(slope) < 2e-2 * values[1] or min(values) == values[1]


@pytest.mark.parametrize("matrices", [False, True], ids=["blocks", "matrices"])
@pytest.mark.parametrize("fit", [Equal(), Margin(), Equal(0.1)], ids=["equal", "margin", "slack"])
@given(st.integers(0, 10**6))
@settings(max_examples=4)
def test_multipliers_are_the_slope_of_the_cost(matrices, fit, seed):
    r"""Where a block is in use, :math:`A_g^T v` is the cost's derivative there.

    Descent moves coefficients by up to 1e-7 in its last round; their slope is then known to 1e-5.
    """
    rng, power = np.random.default_rng(seed), 2.0 / 3.0
    x, y = rng.normal(size=(5, 12)), rng.choice([-1.0, 1.0], 5)
    design = DenseDesign(x, (Block("one", 0, 6), Block("two", 6, 12)))
    cost = SchattenNorm(2, 3) if matrices else ChainNorm(3)
    limit = solve((design, y), cost=cost, fit=fit, intercept="none", max_steps=2000)
    assert limit.outcome is Outcome.STATIONARY
    slope = (x.T @ limit.multipliers).reshape(2, 2, 3)
    blocks = limit.coefficients.reshape(2, 2, 3)
    for pull, block in zip(slope, blocks, strict=True):
        left, size, right = np.linalg.svd(block if matrices else block.reshape(1, 6))
        used = size > 1e-5
        if used.any():
            left, right = left[:, : len(size)][:, used], right[: len(size)][used]
            found = left.T @ (pull if matrices else pull.reshape(1, 6)) @ right.T
            np.testing.assert_allclose(
                found, np.diag(power * size[used] ** (power - 1.0)), atol=1e-5 * found.max()
            )


def test_weights_of_blocks_against_clarabel():
    rng = np.random.default_rng(0)
    design = GatedDesign(rng.normal(size=(14, 5)), rng.integers(0, 2, size=(14, 4)), 2)
    weights, targets = np.array([0.5, 1.0, 3.0, np.inf]), np.sign(rng.normal(size=14))
    limit = solve((design, targets), cost=GroupNorm(weights), fit="margin", intercept="none")
    blocks = [cp.Variable(10) for _ in range(3)]
    matrix = design.dense().matrix
    flat = cp.hstack([*blocks, np.zeros(10)])
    cost = sum(float(w) * cp.norm(block) for w, block in zip(weights[:3], blocks, strict=True))
    best = cp.Problem(cp.Minimize(cost), [cp.multiply(targets, matrix @ flat) >= 1]).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )
    assert limit.value == pytest.approx(best, rel=1e-7)
    assert (limit.coefficients[30:] == 0).all()


def test_a_scaled_design_is_its_matrix():
    rng = np.random.default_rng(1)
    design = GatedDesign(rng.normal(size=(6, 3)), rng.integers(0, 2, size=(6, 2)), 2)
    factors = rng.normal(size=12)
    scaled, matrix = ScaledDesign(design, factors), design.dense().matrix * factors
    c, v, w = rng.normal(size=(12, 2)), rng.normal(size=(6, 2)), rng.random(12)
    np.testing.assert_allclose(scaled @ c, matrix @ c, atol=1e-12)
    np.testing.assert_allclose(scaled.adjoint(v), matrix.T @ v, atol=1e-12)
    np.testing.assert_allclose(scaled.weighted_gram(w), (matrix * w) @ matrix.T, atol=1e-12)
    first = scaled.blocks[0]
    part = matrix[:, :6]
    np.testing.assert_allclose(scaled.gram(first), part @ part.T, atol=1e-12)
    expected = (part * w[:6]) @ part.T
    np.testing.assert_allclose(scaled.gram(first, w[:6]), expected, atol=1e-12)
    assert scaled.shape == (6, 12)


def test_what_no_function_fits_is_infeasible():
    design = singles([[1.0, 0.0], [1.0, 0.0]])
    for cost in (ChainNorm(3), SchattenNorm(1, 3)):
        limit = solve((design, np.array([1.0, -1.0])), cost=cost, fit="margin", intercept="none")
        assert limit.outcome is Outcome.INFEASIBLE


def test_rounds_that_run_out_say_so():
    limit = solve((D1, Y), cost=ChainNorm(3), fit="margin", intercept="none", max_steps=2)
    assert limit.outcome is Outcome.MAX_STEPS
    assert limit.steps == 2


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: ChainNorm(1),
            "n_layers is a whole number of at least 2; got 1; a single layer has the quadratic "
            "cost",
        ),
        (
            lambda: SchattenNorm(0, 2),
            "rows is a whole number of at least 1; got 0; pass a whole number of at least 1",
        ),
        (
            lambda: GroupNorm(np.array([1.0, 0.0])),
            "weights of blocks are above 0; got 0; leave out blocks of no cost",
        ),
        (
            lambda: GroupNorm(np.ones(3)).value(D1, np.ones(84)),
            "there is a weight for each of 6 blocks; got 3; leave weights out for 1",
        ),
        (
            lambda: solve(
                (D1, Y), cost=ChainNorm(3), fit="margin", intercept="none", start=np.zeros(84)
            ),
            "a start is 84 coefficients, not all of them 0; got shape (84,), 0 not 0; or "
            "leave it out",
        ),
        (
            lambda: solve(
                (D1, Y), cost=GroupNorm(), fit="margin", intercept="none", start=np.ones(84)
            ),
            "a start is for costs that are not convex; got GroupNorm; leave start out",
        ),
        (
            lambda: solve(
                (D1, Y), cost=ChainNorm(3), fit="margin", intercept="none", solver="dual"
            ),
            "the dual solver serves convex costs; got ChainNorm, Margin and GatedDesign; leave "
            "solver out",
        ),
        (
            lambda: solve(
                (D1, Y), cost=Quadratic(), fit="margin", intercept="none", solver="touching"
            ),
            "the touching solver serves costs that are not convex; got Quadratic, Margin and "
            "GatedDesign; leave solver out",
        ),
        (
            lambda: SchattenNorm(4, 3).value(D1, np.zeros(84)),
            "blocks are matrices of 4 rows, all of one size; got blocks of 14 columns; pass rows "
            "that divide their size",
        ),
        (
            lambda: NuclearNorm(4).value(D1, np.zeros(84)),
            "blocks are matrices of 4 rows, all of one size; got blocks of 14 columns; pass rows "
            "that divide their size",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == sentence


def test_no_rounds_are_refused():
    with pytest.raises(InputError) as raised:
        solve((D1, Y), cost=ChainNorm(3), fit="margin", intercept="none", max_steps=0)
    assert str(raised.value) == (
        "max_steps is a whole number of at least 1; got 0; pass a whole number of at least 1, "
        "or leave it out for 200"
    )
