"""Leave-one-out errors of largest margins: by hand, by other fits, and against their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole import solve
from partwhole._checks import InputError
from partwhole.features import HalfspaceGates, OverlapKernel
from partwhole.features.gates.joint import JointGates
from partwhole.limits import GroupNorm, Outcome, Quadratic
from partwhole.limits.leave_one_out import leave_one_out
from partwhole.tasks.toys import invariance

MARGIN = {"cost": Quadratic(), "fit": "margin", "intercept": "none"}


def gated(seed, n=30, d=4, hyperplanes=2):
    """Return inputs, labels that a gated unit can learn, joint gates and the largest margin."""
    rng = np.random.default_rng(seed)
    inputs = np.column_stack([rng.normal(size=(n, d)), np.ones(n)])
    gates = HalfspaceGates(rng.normal(size=(1, hyperplanes, d + 1)), np.zeros((1, hyperplanes)))
    joint = JointGates.of(gates, inputs)
    teacher = rng.normal(size=(2**hyperplanes, d + 1))
    labels = np.sign(np.sum(teacher[gates.contexts(inputs)[:, 0]] * inputs, axis=1))
    return inputs, labels, joint, solve((inputs, labels), joint, **MARGIN)


def test_two_orthogonal_rows_by_hand():
    # w = (1, -1): each row has a multiplier of 1, and none says anything of the other.
    of_rows = leave_one_out(solve((np.eye(2), np.array([1.0, -1.0])), **MARGIN))
    np.testing.assert_allclose(of_rows.margins, 0.0, atol=1e-12)
    np.testing.assert_allclose(of_rows.multipliers, 1.0, atol=1e-6)
    assert of_rows.block.tolist() == [0, 1]
    assert of_rows.error == of_rows.by_multiplier == of_rows.by_support == 1.0
    assert of_rows.by_radius == pytest.approx(1.0, abs=1e-6)


def test_rows_on_a_line_by_hand():
    # w = 1/2 by the row at 2 alone, which others at 3 and 4 leave at 2/3 once it is left out.
    of_rows = leave_one_out(solve((np.array([[2.0], [3.0], [4.0]]), np.ones(3)), **MARGIN))
    np.testing.assert_allclose(of_rows.multipliers, [0.25, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(of_rows.margins, [2.0 / 3.0, 1.5, 2.0], atol=1e-6)
    assert of_rows.error == 0.0
    assert of_rows.by_support == of_rows.by_multiplier == pytest.approx(1.0 / 3.0)
    assert of_rows.by_radius == pytest.approx(1.0 / 3.0, abs=1e-6)
    assert of_rows.to_frame().square.tolist() == [4.0, 9.0, 16.0]


@pytest.mark.parametrize("seed", range(4))
def test_margins_are_those_of_fits_without_each_row(seed):
    # The solver's gap is below 1e-6 of the value; margins move with its root at most.
    inputs, labels, joint, limit = gated(seed)
    of_rows = leave_one_out(limit)
    assert of_rows.margins is not None
    for row in range(len(labels)):
        others = np.arange(len(labels)) != row
        without = solve((inputs[others], labels[others]), joint, **MARGIN)
        margin = labels[row] * without.predict(inputs[[row]])[0]
        # Of rows that their bound calls right, the answer by all rows stands in.
        if of_rows.multipliers[row] * of_rows.squares[row] >= 1.0 - 1e-6:
            assert of_rows.margins[row] == pytest.approx(margin, abs=1e-4)
        else:
            assert margin > 0.0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(8, 40), st.integers(0, 3))
def test_no_bound_is_below_the_error(seed, n, hyperplanes):
    limit = gated(seed, n, hyperplanes=hyperplanes)[-1]
    of_rows = leave_one_out(limit)
    products = of_rows.multipliers * of_rows.squares
    assert of_rows.error <= of_rows.by_multiplier <= of_rows.by_support
    assert of_rows.by_multiplier <= products.mean() + 1e-6 <= of_rows.by_radius + 2e-6
    # Blocks are the contexts that training has rows of.
    contexts = limit.problem.design.contexts[:, 0]
    pairs = {*zip(of_rows.block.tolist(), contexts.tolist(), strict=True)}
    assert len(pairs) >= len({*contexts.tolist()}) == len({context for _, context in pairs})
    assert len(pairs) == len({block for block, _ in pairs})


def test_a_ball_around_the_rows_of_a_context_bounds_nothing():
    # One row: its ball has the radius 0, and without it nothing is known of its context.
    inputs = np.array([[1.0, 0.2, 1.0], [0.9, 0.1, 1.0], [-1.0, 0.3, 1.0]])
    gates = HalfspaceGates(np.array([[[1.0, 0.0, 0.0]]]), np.zeros((1, 1)))
    joint = JointGates.of(gates, inputs)
    of_rows = leave_one_out(solve((inputs, np.array([1.0, 1.0, -1.0])), joint, **MARGIN))
    assert of_rows.margins is not None
    alone = of_rows.block == of_rows.block[2]
    assert alone.sum() == 1
    assert of_rows.margins[2] == 0.0
    assert (of_rows.multipliers * of_rows.squares)[2] == pytest.approx(1.0, abs=1e-6)


def test_units_do_not_change_what_is_wrong():
    inputs, labels, joint, limit = gated(7)
    small = solve((1e-5 * inputs, labels), joint, **MARGIN)
    np.testing.assert_allclose(
        leave_one_out(small).margins, leave_one_out(limit).margins, atol=1e-5
    )


def test_kernels_have_errors_too():
    task = invariance()
    limit = solve(task, OverlapKernel.from_salience([0.3]), fit="margin", intercept="none")
    of_rows = leave_one_out(limit, refit=False)
    assert of_rows.margins is None
    assert np.isnan(of_rows.error)
    assert of_rows.to_frame().margin.isna().all()
    assert leave_one_out(limit).error <= of_rows.by_multiplier


X, Y = np.array([[1.0, 0.5], [-0.5, 1.0], [0.3, -1.0]]), np.array([1.0, -1.0, 1.0])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"fit": "equal"}, "bounds on leave-one-out errors are of the cost Quadratic and a margin"),
        ({"cost": GroupNorm()}, "bounds on leave-one-out errors are of the cost Quadratic"),
        ({"intercept": "free"}, "bounds on leave-one-out errors are of one output without an"),
    ],
)
def test_other_limits_are_refused(options, sentence):
    limit = solve((X, Y), **(MARGIN | options))
    with pytest.raises(InputError, match=sentence):
        leave_one_out(limit)


def test_a_limit_that_is_none_is_refused():
    limit = solve((np.ones((2, 1)), np.array([1.0, -1.0])), **MARGIN)
    assert limit.outcome is Outcome.INFEASIBLE
    with pytest.raises(InputError, match="are of a limit that is solved; got no function of"):
        leave_one_out(limit)
