"""Where gated networks end: recorded values, Clarabel, and sums over all joint contexts."""

from dataclasses import replace
from importlib import import_module
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from gated_data import d0, d1, drawn, schematic
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole import solve
from partwhole._checks import InputError
from partwhole.features import DenseDesign, HalfspaceGates, ReLUGates
from partwhole.features.gates.design import GatedDesign
from partwhole.features.gates.joint import JointGates, seen_share
from partwhole.limits import Equal, GroupNorm, Margin, Outcome, Quadratic
from partwhole.limits.costs import ChainNorm, FunctionSpaceL2, NuclearNorm

X, Y, GATES = d1()
D1 = GATES.design(X)


def ended(design, labels, cost):
    limit = solve((design, labels), cost=cost, fit="margin", intercept="none")
    assert limit.outcome is Outcome.SOLVED
    return limit


def norms(limit, units):
    return np.linalg.norm(limit.coefficients.reshape(units, -1), axis=1)


def test_the_data_are_those_recorded():
    recorded = (1.624345, -0.611756, -0.528172, -1.072969, 0.865408, -2.301539, 1)
    np.testing.assert_allclose(X[0], recorded, atol=5e-7)
    assert Y.sum() == 2
    assert D1.agreement().mean() == pytest.approx(3.048611, abs=5e-7)


def test_two_layers_of_own_gates():
    limit = ended(D1, Y, GroupNorm())
    assert limit.value == pytest.approx(2.97485384, rel=1e-6)
    published = (0.60945, 0.10357, 0, 0, 1.79776, 0.46408)
    np.testing.assert_allclose(norms(limit, 6), published, atol=1e-4)
    # The certificate: no unit is pulled by more than 1, active ones by just that.
    pulls = np.linalg.norm(D1.adjoint(limit.multipliers).reshape(6, -1), axis=1)
    np.testing.assert_allclose(pulls, (1, 1, 0.69385, 0.64958, 1, 1), atol=1e-4)
    assert np.abs(limit.multipliers).sum() == pytest.approx(limit.value, rel=1e-8)
    assert int(np.sum(np.abs(limit.multipliers) > 1e-6)) == 11


def test_a_second_data_set():
    inputs, labels, gates = d0()
    design = gates.design(inputs)
    limit = ended(design, labels, GroupNorm())
    assert limit.value == pytest.approx(13.22021976, rel=1e-6)
    assert int(np.sum(norms(limit, 8) > 1e-6)) == 7
    pulls = np.linalg.norm(design.adjoint(limit.multipliers).reshape(8, -1), axis=1)
    assert pulls.min() == pytest.approx(0.9676, abs=1e-4)


def test_squared_norms_of_units_of_functions_and_of_joint_contexts():
    assert 2 * ended(D1, Y, Quadratic()).value == pytest.approx(2.28516835, rel=1e-6)
    assert 2 * ended(D1, Y, FunctionSpaceL2()).value == pytest.approx(85.17336, rel=1e-5)
    joint = JointGates.of(GATES, X)
    assert joint.n_contexts == 17
    alone = ended(joint.design(X), Y, Quadratic())
    assert 2 * alone.value == pytest.approx(8.36906738, rel=1e-6)
    # Each joint context is a support vector machine of its own.
    codes = joint.contexts(X).ravel()
    values = [
        ended(DenseDesign(X[codes == c]), Y[codes == c], Quadratic()).value for c in range(17)
    ]
    assert sum(values) == pytest.approx(alone.value, rel=1e-9)


def test_the_schematic():
    inputs, labels, gates = schematic()
    design = gates.design(inputs)
    limit = ended(design, labels, GroupNorm())
    assert limit.value == pytest.approx(7.665719, rel=1e-5)
    np.testing.assert_allclose(norms(limit, 2), (3.080523, 4.585195), rtol=1e-5)
    assert int(np.sum(np.abs(limit.multipliers) > 1e-6)) == 9
    assert 2 * ended(design, labels, Quadratic()).value == pytest.approx(30.268285, rel=1e-5)
    assert 2 * ended(design, labels, FunctionSpaceL2()).value == pytest.approx(73.273028, rel=1e-5)
    joint = JointGates.of(gates, inputs).design(inputs)
    assert 2 * ended(joint, labels, Quadratic()).value == pytest.approx(58.053628, rel=1e-5)
    linear = solve((inputs, labels), cost=Quadratic(), fit="margin", intercept="none")
    assert linear.outcome is Outcome.INFEASIBLE


def test_frozen_relu_gates():
    gates = ReLUGates(GATES.normals[:, 0])
    assert ended(gates.design(X), Y, GroupNorm()).value == pytest.approx(4.94825164, rel=1e-6)


def test_a_gated_readout_on_a_linear_layer():
    normals = np.random.RandomState(5).randn(1, 3, 7)
    gates = HalfspaceGates(normals, np.zeros((1, 3)))
    limit = ended(gates.design(X), Y, NuclearNorm(8))
    assert limit.value == pytest.approx(6.8291683, rel=1e-5)
    sizes = np.linalg.svd(limit.coefficients.reshape(8, 7), compute_uv=False)
    np.testing.assert_allclose(sizes, (4.2234, 1.9981, 0.6077, 0, 0, 0, 0), atol=2e-4)


def test_units_twice_over_change_nothing():
    double = HalfspaceGates(np.tile(GATES.normals, (2, 1, 1)), np.tile(GATES.thresholds, (2, 1)))
    assert ended(double.design(X), Y, GroupNorm()).value == pytest.approx(2.97485384, rel=1e-6)


def test_without_a_unit_that_started_at_zero():
    units = np.delete(np.arange(6), 4)
    gates = HalfspaceGates(GATES.normals[units], GATES.thresholds[units])
    assert ended(gates.design(X), Y, GroupNorm()).value == pytest.approx(4.53420086, rel=1e-6)


def test_groups_mixed_up_between_units_are_another_problem():
    """The published grouping: contexts of different units in one group."""
    matrix = D1.dense().matrix.reshape(24, 6, 2, 7)
    mixed = matrix.reshape(24, 12, 7).reshape(24, 2, 6, 7).swapaxes(1, 2).reshape(24, -1)
    limit = ended(DenseDesign(mixed, D1.blocks), Y, GroupNorm())
    assert limit.value == pytest.approx(3.323620, rel=1e-5)
    back = limit.coefficients.reshape(6, 2, 7).swapaxes(0, 1).reshape(6, 2, 7)
    assert GroupNorm().value(D1, back.ravel()) == pytest.approx(3.502096, rel=1e-4)
    # On random numbers the two can hardly be told apart.
    draw = np.random.RandomState(1).randn(785, 3, 4)
    assert np.sqrt((draw**2).sum(axis=(0, 2))).sum() == pytest.approx(168.40712, abs=1e-4)


def test_the_function_space_norm_is_the_sum_over_all_joint_contexts():
    stream = np.random.RandomState(1)
    stream.randn(785, 3, 4)
    weights = stream.randn(3, 2, 4)
    design = GatedDesign(np.ones((1, 4)), np.zeros((1, 3), dtype=int), 2)
    total = sum(
        float(np.sum(sum(weights[h, c] for h, c in enumerate(joint)) ** 2))
        for joint in product(range(2), repeat=3)
    )
    assert 2 * FunctionSpaceL2().value(design, weights.ravel()) == pytest.approx(total, rel=1e-12)
    assert total == pytest.approx(52.1328, abs=1e-4)


def test_free_intercept_and_none():
    stream = np.random.RandomState(0)
    inputs = stream.randn(500, 100)
    labels = np.sign(inputs @ stream.randn(100))
    for intercept, value in (("none", 35.104075), ("free", 34.717456)):
        limit = solve((inputs, labels), cost=Quadratic(), fit="margin", intercept=intercept)
        assert 2 * limit.value == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("fit", ["margin", "equal"])
@pytest.mark.parametrize("seed", range(3))
def test_norms_of_matrices_equal_clarabel(fit, seed):
    rng = np.random.default_rng(seed)
    inputs, contexts = rng.normal(size=(14, 5)), rng.integers(0, 3, size=(14, 2))
    design = GatedDesign(inputs, contexts, 3)
    matrix = design.dense().matrix
    blocks = [cp.Variable((3, 5)) for _ in range(2)]
    flat = cp.hstack([cp.reshape(block, (15,), order="C") for block in blocks])
    if fit == "margin":
        targets = np.sign(rng.normal(size=14))
        row_fit, constraints = Margin(), [cp.multiply(targets, matrix @ flat) >= 1]
    else:
        targets = rng.normal(size=14)
        row_fit, constraints = Equal(), [matrix @ flat == targets]
    for cost, norm in (
        (NuclearNorm(3), sum(cp.normNuc(block) for block in blocks)),
        (GroupNorm(), sum(cp.norm(block, "fro") for block in blocks)),
    ):
        limit = solve((design, targets), cost=cost, fit=row_fit, intercept="none")
        best = cp.Problem(cp.Minimize(norm), constraints).solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
        )
        assert limit.outcome is Outcome.SOLVED
        # Matrices are solved to some 1e-8, where their scaling is rounding.
        assert limit.value == pytest.approx(best, rel=2e-7)


def test_bounds_of_matrices_against_differences():
    """Central differences, whose error is their step squared, 1e-10."""
    rng = np.random.default_rng(3)
    design = GatedDesign(rng.normal(size=(6, 4)), rng.integers(0, 3, size=(6, 2)), 3)
    cost, v, step = NuclearNorm(3), 0.05 * rng.normal(size=6), 1e-5
    bounds = cost.dual(design, v).bounds
    roots = rng.normal(size=(2, 2, 3, 3))
    prices, scalings = roots @ roots.swapaxes(-1, -2)

    def at(v):
        return cost.dual(design, v).bounds

    moves = np.array([bounds.slope(e) for e in np.eye(6)])
    for i, e in enumerate(np.eye(6)):
        up, down = at(v + step * e), at(v - step * e)
        slope = -np.sum(prices * (up.room - down.room)) / (2 * step)
        assert abs(slope - bounds.outputs(prices)[i]) < 1e-7
        assert np.abs((up.room - down.room) / (2 * step) - moves[i]).max() < 1e-7
        bend = (up.outputs(prices) - down.outputs(prices)) / (2 * step)
        products = np.einsum("gab,gbc,jgcd,gda->j", moves[i], scalings, moves, scalings)
        assert np.abs(bend + products - bounds.curvature(prices, scalings)[i]).max() < 1e-6
    direction = rng.normal(size=6)
    edge = at(v + bounds.reach(direction) * direction).room
    assert abs(np.linalg.eigvalsh(edge).min()) < 1e-12
    assert cost.dual(design, v + 0.99 * bounds.reach(direction) * direction).value == 0.0
    assert np.isinf(cost.dual(design, v + 1.01 * bounds.reach(direction) * direction).value)


@given(st.integers(0, 10_000))
@settings(max_examples=5, deadline=None)
def test_invariants(seed):
    inputs, labels, gates = drawn(seed, 14, 4, 4, 1)
    design, rng = gates.design(inputs), np.random.default_rng(seed)
    limit = solve((design, labels), cost=GroupNorm(), fit="margin", intercept="none")
    if limit.outcome is not Outcome.SOLVED:
        assert limit.outcome is Outcome.INFEASIBLE
        return
    order = rng.permutation(4)
    turned = HalfspaceGates(gates.normals[order], gates.thresholds[order])
    assert ended(turned.design(inputs), labels, GroupNorm()).value == pytest.approx(limit.value)
    # Thresholds are 0: larger inputs are in the same contexts.
    larger = ended(gates.design(3 * inputs), labels, GroupNorm())
    assert 3 * larger.value == pytest.approx(limit.value)
    fewer = ended(gates.design(inputs[:10]), labels[:10], GroupNorm())
    assert fewer.value <= limit.value * (1 + 1e-8)
    square = np.sqrt(2 * ended(design, labels, Quadratic()).value)
    assert square <= limit.value * (1 + 1e-8)
    assert limit.value <= 2 * square * (1 + 1e-8)
    joint = JointGates.of(gates, inputs).design(inputs)
    apart = ended(joint, labels, Quadratic()).value
    assert apart <= ended(design, labels, FunctionSpaceL2()).value * (1 + 1e-8)


@pytest.mark.parametrize("seed", [27, 60, 65])
def test_inputs_that_can_hardly_be_separated(seed):
    """Norms of 80 to 3,000 where inputs are of size 1: the interior path stalls."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 160))
    points = rng.uniform(-1, 1, size=(n, 2))
    inputs = np.column_stack([points, np.ones(n)])
    if seed % 2:
        labels = np.sign(points[:, 0] * points[:, 1])
    else:
        labels = np.where(np.abs(points).sum(axis=1) > 1, 1.0, -1.0)
    if seed % 4 == 0:
        _, _, gates = schematic()
    else:
        units, k = (10, 1) if seed % 4 == 3 else (5, 2)
        gates = HalfspaceGates.random(3, n_units=units, n_hyperplanes=k, seed=seed)
    design = gates.design(inputs)
    limit = ended(design, labels, GroupNorm())
    features = design.dense().matrix.reshape(n, gates.n_units, -1)
    weights = [cp.Variable(features.shape[2]) for _ in range(gates.n_units)]
    outputs = sum(features[:, h] @ unit for h, unit in enumerate(weights))
    program = cp.Problem(
        cp.Minimize(sum(cp.norm(unit) for unit in weights)), [cp.multiply(labels, outputs) >= 1]
    )
    best = program.solve(solver=cp.CLARABEL)
    # Both stop at a gap of some 1e-8 to 1e-6 of the value.
    assert limit.value == pytest.approx(best, rel=2e-6)
    assert abs(limit.gap) <= 1e-6 * limit.value
    assert limit.violation < 1e-6


def test_a_limit_tells_its_certificate():
    limit = solve((X, Y), GATES, fit="margin", intercept="none")
    assert limit.outcome is Outcome.SOLVED
    np.testing.assert_allclose(limit.block_norms, norms(limit, 6), rtol=1e-12)
    assert limit.active.tolist() == [0, 1, 4, 5]
    assert len(limit.support) == 11
    np.testing.assert_allclose(limit.pulls[limit.active], 1.0, atol=1e-6)
    assert limit.pulls.max() < 1 + 1e-6
    assert limit.design.occupied.sum(axis=1).tolist() == [24] * 6
    assert (Y * limit.predict(X)).min() == pytest.approx(1.0, abs=1e-8)
    # Weights are sums of the support's inputs, in the units that are pulled by 1.
    table = limit.blocks_to_frame()
    assert table["block"].tolist() == list(range(6))
    assert table["active"].tolist() == [True, True, False, False, True, True]
    assert (limit.design.occupied > 0).sum(axis=1).tolist() == [2] * 6
    assert limit.describe().splitlines()[1] == (
        "11 of 24 rows have a multiplier; 4 of 6 blocks take part."
    )


def test_matrices_of_four_rows_beside_few_inputs():
    """The path's gap counts each row of a group, or steps beside few inputs come to nothing."""
    inputs = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    labels = np.array([-1.0, 1.0, -1.0])
    contexts = np.array([[-1, -1, 0, 1, 1], [-1, 0, 2, 2, 3], [-1, -1, 0, 1, 1]])
    design = GatedDesign(inputs, contexts, 4)
    limit = ended(design, labels, NuclearNorm(4))
    flat = cp.Variable(40)
    norm = sum(cp.normNuc(cp.reshape(flat[8 * h : 8 * h + 8], (4, 2), order="C")) for h in range(5))
    constraints = [cp.multiply(labels, design.dense().matrix @ flat) >= 1]
    best = cp.Problem(cp.Minimize(norm), constraints).solve(solver=cp.CLARABEL)
    # Clarabel stops at 1e-8.
    assert limit.value == pytest.approx(best, rel=1e-6)


def test_the_margin_told_is_the_one_reached():
    """One step is none that separates: its outputs, not those wished for, give its margin."""
    limit = solve((X, Y), GATES, fit="margin", intercept="none", max_steps=1)
    assert limit.outcome is Outcome.MAX_STEPS
    margin = float((Y * limit.predict(X)).min()) / limit.block_norms.sum()
    assert limit.normalised_margin == pytest.approx(margin, rel=1e-9)
    whole = solve((X, Y), GATES, fit="margin", intercept="none")
    assert limit.normalised_margin < whole.normalised_margin
    assert np.isnan(
        solve(
            (X, Y), GATES, cost=GroupNorm(np.full(6, 2.0)), fit="margin", intercept="none"
        ).normalised_margin
    )
    assert np.isnan(
        solve(
            (X, Y), GATES, cost=Quadratic({0: 2.0}), fit="margin", intercept="none"
        ).normalised_margin
    )


def test_a_path_that_stalls_does_not_ask_for_more_steps(monkeypatch):
    module = import_module("partwhole.limits._dual")
    whole = module.primal_dual

    def stalled(*arguments, **options):
        solution = whole(*arguments, **options)
        return replace(solution, multipliers=0.5 * solution.multipliers, steps=15)

    monkeypatch.setattr(module, "primal_dual", stalled)
    outer = import_module("partwhole.limits.least_cost")
    monkeypatch.setattr(outer, "through_active_rows", lambda *arguments: None)
    assert (
        solve((X, Y), GATES, fit="margin", intercept="none", max_steps=15).outcome
        is Outcome.MAX_STEPS
    )
    assert (
        solve((X, Y), GATES, fit="margin", intercept="none", max_steps=16).outcome
        is Outcome.INACCURATE
    )


def test_unseen_contexts_answer_zero_and_are_counted():
    rng = np.random.default_rng(5)
    new_inputs = rng.normal(size=(60, 7))
    joint = JointGates.of(GATES, X)
    alone = solve((X, Y), joint, cost=Quadratic(), fit="margin", intercept="none")
    unseen = joint.contexts(new_inputs)[:, 0] < 0
    assert unseen.any()
    assert (alone.predict(new_inputs)[unseen] == 0).all()
    np.testing.assert_array_equal(
        seen_share(joint, alone.design, new_inputs), np.where(unseen, 0.0, 1.0)
    )
    fine = HalfspaceGates.random(7, n_units=2, n_hyperplanes=5, seed=3)
    limit = solve((X, Y), fine, fit="margin", intercept="none")
    is_seen = [np.isin(fine.contexts(new_inputs)[:, h], fine.contexts(X)[:, h]) for h in range(2)]
    share = seen_share(fine, limit.design, new_inputs)
    np.testing.assert_allclose(share, np.mean(is_seen, axis=0))
    assert (limit.predict(new_inputs)[share == 0] == 0).all()
    assert f"{int((limit.design.occupied == 0).sum())} of 64 contexts have no" in limit.describe()


def test_what_cannot_be_separated_is_an_outcome():
    inputs = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    gates = HalfspaceGates.random(2, n_units=3)
    for cost in (GroupNorm(), Quadratic(), NuclearNorm(2), FunctionSpaceL2()):
        limit = solve(
            (inputs, np.array([1.0, -1.0, 1.0])), gates, cost=cost, fit="margin", intercept="none"
        )
        assert limit.outcome is Outcome.INFEASIBLE
        assert limit.describe().endswith(
            "no function of these features fits the rows; the multipliers of 2 of them certify it; "
            "allow slack, or add features, or drop rows that contradict others."
        )
        assert limit.normalised_margin == 0.0
        assert np.isnan(limit.predict(inputs)).all()


@pytest.mark.parametrize(("labels", "got"), [([0.0, 1.0], "0..1"), ([1.0, 2.0], "1..2")])
def test_labels_are_two_classes(labels, got):
    with pytest.raises(InputError) as raised:
        solve(
            (np.eye(2), np.array(labels)),
            HalfspaceGates.random(2, n_units=1),
            fit="margin",
            intercept="none",
        )
    assert str(raised.value) == (
        f"a margin needs labels -1 and +1; got targets in {got}; recode labels 0 and 1 as 2 y - 1; "
        "for numbers use the fit Equal or Tube"
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"max_steps": 0},
            "max_steps is a whole number of at least 1; got 0; pass a whole number of at least 1, "
            "or leave it out for 200",
        ),
        (
            {"cost": ChainNorm(3), "start": np.ones((2, 6, 7))},
            "a start has the shape (units, contexts, inputs), (6, 2, 7); got (2, 6, 7); or leave "
            "it out",
        ),
    ],
)
def test_what_a_limit_is_asked_of(given, sentence):
    with pytest.raises(InputError) as raised:
        solve((X, Y), GATES, fit="margin", intercept="none", **given)
    assert str(raised.value) == sentence


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: NuclearNorm(4).value(D1, np.zeros(84)),
            "blocks are matrices of 4 rows, all of one size; got blocks of 14 columns; pass rows "
            "that divide their size",
        ),
        (
            lambda: NuclearNorm(0),
            "rows is a whole number of at least 1; got 0; pass a whole number of at least 1",
        ),
        (
            lambda: FunctionSpaceL2().kernel(DenseDesign(np.eye(2))),
            "the function-space norm is of gated units; got DenseDesign; pass gates.design(inputs)",
        ),
        (
            lambda: FunctionSpaceL2().kernel(ReLUGates(GATES.normals[:, 0]).design(X)),
            "every unit has a context for every input; got units that are off; use half-space "
            "gates, or GroupNorm",
        ),
        (
            lambda: FunctionSpaceL2().kernel(
                HalfspaceGates.random(7, n_units=300, n_hyperplanes=4).design(X)
            ),
            "there are at most 2^1000 joint contexts; got 2^1200; take fewer units; Quadratic() "
            "is the norm of their weights",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == sentence


@pytest.mark.parametrize(
    ("scale", "cost"),
    [*((scale, Quadratic()) for scale in (1.0, 1e-3, 1e-5, 1e-6, 1e-7, 1e-9)), (1e-7, GroupNorm())],
)
def test_small_inputs_beside_a_constant_are_not_called_inseparable(scale, cost):
    # Their directions vanish in a kernel's squares; a linear program would tell them apart.
    gates = HalfspaceGates.random(6, n_units=3, n_hyperplanes=1, seed=0)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        inputs = np.column_stack([scale * rng.normal(size=(20, 5)), np.ones(20)])
        labels = np.sign(inputs @ np.append(rng.normal(size=5), 0.0))
        limit = solve((inputs, labels), gates, cost=cost, fit="margin", intercept="none")
        assert limit.outcome in (Outcome.SOLVED, Outcome.INACCURATE)
        assert limit.outcome is Outcome.SOLVED or scale < 1e-3
        # The first input again, with the other label: nothing separates these.
        inputs, labels = np.vstack([inputs, inputs[0]]), np.append(labels, -labels[0])
        assert (
            solve((inputs, labels), gates, cost=cost, fit="margin", intercept="none").outcome
            is Outcome.INFEASIBLE
        )
