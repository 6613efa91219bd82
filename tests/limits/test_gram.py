"""Kernel machines from similarities: ridge regression, quadratic programs, overlap kernels."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from partwhole import solve, tasks
from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.features.dense_kernels import dense_kernel
from partwhole.limits import (
    Equal,
    Margin,
    Outcome,
    memorization_leak,
)
from partwhole.measures import slope

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(15, 20))
GRAM, Y, SEEN = ROWS @ ROWS.T, RNG.normal(size=15), np.arange(15) % 3 > 0


def test_slack_is_ridge_regression():
    limit = solve((None, Y), GRAM, fit=Equal(0.7), is_train=SEEN, intercept="none")
    machine = KernelRidge(alpha=0.7, kernel="precomputed").fit(GRAM[np.ix_(SEEN, SEEN)], Y[SEEN])
    np.testing.assert_allclose(limit.predictions, machine.predict(GRAM[:, SEEN]), atol=1e-9)


def test_margins_are_those_of_a_quadratic_program():
    labels = np.sign(Y)
    limit = solve((None, labels), GRAM, fit=Margin(), is_train=SEEN, intercept="none")
    c = cp.Variable(20)
    fits = cp.multiply(labels[SEEN], ROWS[SEEN] @ c) >= 1
    cp.Problem(cp.Minimize(cp.sum_squares(c)), [fits]).solve(solver="CLARABEL")
    np.testing.assert_allclose(limit.predictions, ROWS @ c.value, atol=1e-5)


@pytest.mark.parametrize("intercept", ["none", "free"])
def test_as_overlap_kernels(intercept):
    kernel = OverlapKernel.from_salience([0.3])
    task = tasks.symbolic_addition(range(-4, 5), [-2, 2])
    limit = solve(
        (None, task.targets),
        kernel.gram(task.components),
        fit=Equal(),
        intercept=intercept,
        is_train=task.is_train,
    )
    expected = solve(task, kernel, intercept=intercept).predictions
    np.testing.assert_allclose(limit.predictions, expected, atol=1e-9)
    kernel = OverlapKernel.from_salience([0.15, 0.10])
    task = tasks.context_dependence(left_out=3)
    limit = solve(
        (None, task.targets),
        kernel.gram(task.components),
        fit=Margin(),
        intercept=intercept,
        is_train=task.is_train,
    )
    expected = solve(task, kernel, fit="margin", intercept=intercept).predictions
    np.testing.assert_allclose(limit.predictions, expected, atol=1e-6)


@pytest.mark.parametrize(("kind", "published"), [("nngp", 0.743443), ("ntk", 0.589997)])
def test_wide_networks_leak_as_their_saliences_say(kind, published):
    task = tasks.symbolic_addition(range(-4, 5), [0])
    rows = np.concatenate([np.eye(9)[column] for column in task.components.T], axis=1)
    gram = dense_kernel(rows, 1, kind)
    limit = solve((None, task.targets), gram, fit=Equal(), is_train=task.is_train, intercept="none")
    kernel = OverlapKernel.random_network("relu", 2, 1, kind)
    leak = slope(task, limit.predictions)
    assert leak.value == pytest.approx(memorization_leak(kernel.salience[0], 1), abs=1e-7)
    assert leak.value == pytest.approx(published, abs=5e-6)
    assert leak.residual < 1e-7


def test_order_and_size_of_similarities_change_nothing():
    order = RNG.permutation(15)
    for fit, targets in ((Equal(), Y), (Margin(), np.sign(Y))):
        whole = solve((None, targets), GRAM, fit=fit, is_train=SEEN, intercept="none").predictions
        permuted = solve(
            (None, targets[order]),
            GRAM[np.ix_(order, order)],
            fit=fit,
            is_train=SEEN[order],
            intercept="none",
        )
        np.testing.assert_allclose(permuted.predictions, whole[order], atol=1e-6)
        for size in (1e-9, 1e9):
            scaled = solve(
                (None, targets), size * GRAM, fit=fit, is_train=SEEN, intercept="none"
            ).predictions
            np.testing.assert_allclose(scaled, whole, atol=1e-6)


def test_what_no_kernel_fits_is_told():
    gram, seen = np.ones((3, 3)), np.array([True, True, False])
    limit = solve(
        (None, np.array([1.0, -1.0, 0.0])), gram, fit=Margin(), is_train=seen, intercept="none"
    )
    assert limit.outcome is Outcome.INFEASIBLE
    assert np.isnan(limit.predictions).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"learner": GRAM[:, :4]},
            r"a Gram matrix has a row and a column for each of the 15 rows; got shape \(15, 4\); ",
        ),
        ({"is_train": SEEN.astype(int)}, "is_train is an array of booleans .*; got numbers; pass"),
        ({"is_train": np.zeros(15, dtype=bool)}, "some row is trained on; got none; mark rows"),
        (
            {"learner": np.triu(GRAM)},
            "similarities are symmetric; got entries that differ by .*; pass",
        ),
        (
            {"learner": -GRAM},
            "similarities have no negative eigenvalues; got -.* with a largest of .*; check the",
        ),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    options = {"learner": GRAM, "is_train": SEEN, "intercept": "none"}
    with pytest.raises(InputError, match=sentence):
        solve((None, Y), **(options | change))
