"""The group norm: what weight decay prefers, against Clarabel and against weights themselves."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize

from partwhole import solve
from partwhole._checks import InputError
from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.features.design import as_design, weighted_gram
from partwhole.features.multitask import multitask_design
from partwhole.limits import GroupNorm, Outcome
from partwhole.limits.costs import L1Norm

ROW, COLUMN = np.arange(1, 7)[:, None], np.arange(1, 15)
X = np.sqrt(2) * np.sin(0.7 * ROW * COLUMN + 0.31 * COLUMN**2)
TARGET = np.zeros(14)
TARGET[[0, 1, 8]] = 0.8, -0.4, 0.6
AUX = np.zeros(14)
AUX[:5] = 1, -1, 0.5, 2, -0.25


def test_a_known_auxiliary_task_ends_where_recorded():
    """An auxiliary task seen in full is one row for each feature."""
    design = multitask_design([np.eye(14), X])
    targets = np.concatenate([AUX, X @ TARGET])
    limit = solve((design, targets), cost=GroupNorm(), intercept="none")
    auxiliary, main = limit.coefficients.reshape(14, 2).T
    assert limit.outcome is Outcome.SOLVED
    assert abs(limit.value - 5.162367) < 1e-5
    assert np.abs(auxiliary - AUX).max() <= limit.violation + 1e-12
    assert limit.violation < 1e-5
    expected = (0.785973, -0.401042, 0.005555, -0.040580, -0.053199)
    assert np.abs(main[:5] - expected).max() < 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_two_samples_equal_clarabel(seed):
    rng = np.random.default_rng(seed)
    inputs = [rng.normal(size=(n, 20)) for n in (9, 6)]
    targets = rng.normal(size=15)
    design = multitask_design(inputs)
    limit = solve((design, targets), cost=GroupNorm(), intercept="none")
    beta = cp.Variable((20, 2))
    fits = [inputs[0] @ beta[:, 0] == targets[:9], inputs[1] @ beta[:, 1] == targets[9:]]
    best = cp.Problem(cp.Minimize(cp.sum(cp.norm(beta, axis=1))), fits).solve(solver=cp.CLARABEL)
    assert limit.outcome is Outcome.SOLVED
    assert abs(limit.value - best) < 1e-6 * best
    assert np.abs(limit.coefficients.reshape(20, 2) - beta.value).max() < 1e-4


def test_more_auxiliary_rows_than_features():
    """Rows that say nothing new leave the Hessian singular."""
    rng = np.random.default_rng(0)
    extra = rng.normal(size=(30, 14))
    design = multitask_design([extra, X])
    targets = np.concatenate([extra @ AUX, X @ TARGET])
    limit = solve((design, targets), cost=GroupNorm(), intercept="none")
    assert abs(limit.value - 5.162367) < 1e-4
    assert limit.violation < 1e-4


def test_it_is_the_least_squared_weights():
    """Half the squared weights, least over all that fit: a route without any norm."""
    rng = np.random.default_rng(1)
    inputs = [rng.normal(size=(n, 5)) for n in (3, 2)]
    targets = rng.normal(size=5)
    design = multitask_design(inputs)
    limit = solve((design, targets), cost=GroupNorm(), intercept="none")

    def outputs(flat):
        hidden, readout = flat[:5], flat[5:].reshape(5, 2)
        return design.matrix @ (hidden[:, None] * readout).ravel() - targets

    least_value = min(
        minimize(
            lambda z: 0.5 * z @ z, rng.normal(size=15), method="SLSQP",
            constraints={"type": "eq", "fun": outputs}, options={"maxiter": 2000, "ftol": 1e-12},
        ).fun
        for _ in range(10)
    )  # fmt: skip
    assert abs(limit.value - least_value) < 1e-5 * least_value


def test_conjunction_blocks_with_a_margin_equal_clarabel():
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]])
    labels = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    design = ConjunctionDesign.seen(rows, ((0,), (1,), (0, 1)), (3, 2))
    limit = solve((design, labels), cost=GroupNorm(), fit="margin", intercept="none")
    c = cp.Variable(design.shape[1])
    norm = sum(cp.norm(c[block.columns]) for block in design.blocks)
    fits = [cp.multiply(labels, design.toarray() @ c) >= 1]
    best = cp.Problem(cp.Minimize(norm), fits).solve(solver=cp.CLARABEL)
    assert abs(limit.value - best) < 1e-6 * best


@pytest.mark.parametrize("cost", [GroupNorm(), L1Norm()])
def test_derivatives_of_the_bounds(cost):
    """Central differences, whose error is their step squared, 1e-10."""
    rng = np.random.default_rng(2)
    design = multitask_design([rng.normal(size=(3, 4)), rng.normal(size=(2, 4))])
    v, step = 0.05 * rng.normal(size=5), 1e-5
    bounds = cost.dual(design, v).bounds
    prices, scalings = (rng.uniform(size=bounds.room.shape) for _ in range(2))

    def priced(v):
        return -float(np.sum(prices * cost.dual(design, v).bounds.room))

    assert np.allclose(bounds.outputs(prices), design @ cost.primal(design, v, prices))
    moves = np.array([bounds.slope(e) for e in np.eye(5)])[:, :, 0, 0]
    bend = moves * scalings[:, 0, 0]
    for i, e in enumerate(np.eye(5)):
        up, down = v + step * e, v - step * e
        assert abs((priced(up) - priced(down)) / (2 * step) - bounds.outputs(prices)[i]) < 1e-7
        room = (cost.dual(design, up).bounds.room - cost.dual(design, down).bounds.room) / (
            2 * step
        )
        assert np.abs(room[:, 0, 0] - moves[i]).max() < 1e-7
        slope = cost.dual(design, up).bounds.outputs(prices)
        slope = (slope - cost.dual(design, down).bounds.outputs(prices)) / (2 * step)
        assert (
            np.abs(slope + (bend @ bend.T)[i] - bounds.curvature(prices, scalings)[i]).max() < 1e-6
        )
    direction = rng.normal(size=5)
    edge = v + bounds.reach(direction) * direction
    assert abs(cost.dual(design, edge).bounds.room.min()) < 1e-12
    assert cost.dual(design, v + 0.99 * bounds.reach(direction) * direction).value == 0.0
    assert np.isinf(cost.dual(design, v + 1.01 * bounds.reach(direction) * direction).value)


def test_weighted_products_of_all_features():
    rows = np.array([[0, 0], [0, 1], [1, 0]])
    design = ConjunctionDesign.seen(rows, ((0,), (1,)), (2, 2)).at(np.array([[1, 1], [0, 0]]))
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    dense = design.toarray()
    assert np.array_equal(weighted_gram(design, weights), dense * weights @ dense.T)
    for signed in (weights, -weights):
        gram = weighted_gram(as_design(dense), signed)
        assert np.abs(gram - dense * signed @ dense.T).max() < 1e-12


@pytest.mark.parametrize(
    ("inputs", "got"),
    [([np.ones((2, 3)), np.ones((2, 4))], "tasks in 3 and 4 features"), ([], "no task")],
)
def test_tasks_share_their_features(inputs, got):
    with pytest.raises(InputError) as raised:
        multitask_design(inputs)
    assert str(raised.value) == (
        f"tasks share their features; got {got}; pass one array of inputs for each task, all with "
        "the same columns"
    )
