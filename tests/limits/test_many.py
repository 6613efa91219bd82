"""Many problems at once: several learners or costs on the same rows."""

import numpy as np
import pandas as pd
import pytest

from partwhole import solve, tasks
from partwhole._checks import InputError
from partwhole.features import DenseDesign, HalfspaceGates, OverlapKernel
from partwhole.features.order_kernel import OrderKernel
from partwhole.limits import Equal, HyperbolicEntropy, Outcome

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 9))
Y = RNG.normal(size=4)
COST = HyperbolicEntropy(0.1)
GATES = HalfspaceGates.random(9, n_units=2, seed=0)


@pytest.mark.parametrize(
    ("design", "targets"),
    [
        (X, Y),
        (DenseDesign(X), Y),
        (pd.DataFrame(X), pd.Series(Y)),
        (X.tolist(), Y.tolist()),
        (list(X), list(Y)),
    ],
)
def test_one_problem_in_any_dress(design, targets):
    expected = solve((X, Y), cost=COST, intercept="none").coefficients
    (limit,) = solve((design, targets), cost=[COST], intercept="none")
    np.testing.assert_allclose(limit.coefficients, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("workers", [1, 2, None])
def test_several_costs(kind, workers):
    costs = [HyperbolicEntropy(width) for width in (100.0, 1e-9)]
    limits = solve((X, Y), cost=kind(costs), intercept="none", workers=workers)
    assert len(limits) == 2
    for limit, cost in zip(limits, costs, strict=True):
        alone = solve((X, Y), cost=cost, intercept="none")
        np.testing.assert_array_equal(limit.coefficients, alone.coefficients)
    assert limits.outcomes == (Outcome.SOLVED, Outcome.SOLVED)
    np.testing.assert_allclose(limits.predictions, np.stack([Y, Y]), rtol=1e-9)


def test_several_gates_are_solved_one_by_one():
    labels, held_out = np.sign(X[:, 0]), np.arange(4) == 3
    gates = [HalfspaceGates.random(9, n_units=3, seed=seed) for seed in (1, 2)]
    limits = solve((X, labels), gates, fit="margin", intercept="none", is_train=~held_out)
    for place, limit in enumerate(limits):
        alone = solve((X[:3], labels[:3]), gates[place], fit="margin", intercept="none")
        np.testing.assert_allclose(limits.test_predictions[place], alone.predict(X[3:]))
        np.testing.assert_allclose(limit.value, alone.value)


@pytest.mark.parametrize("fit", ["equal", "margin"])
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_a_reduction_answers_as_each_kernel_alone(fit, intercept):
    """Of which "free" is by exchangeable tuples or one eigendecomposition, "none" is not."""
    task = tasks.context_dependence(3) if fit == "margin" else tasks.dispersed_addition(seed=1)
    saliences = [[0.1, 0.05], [0.1, 0.08]] if fit == "margin" else [[0.1], [0.3], [0.49]]
    kernels = [OverlapKernel.from_salience(s) for s in saliences]
    limits = solve(task, kernels, fit=fit, intercept=intercept)
    for place, kernel in enumerate(kernels):
        alone = solve(task, kernel, fit=fit, intercept=intercept)
        np.testing.assert_allclose(
            limits.test_predictions[place], alone.test_predictions, atol=1e-7
        )
        np.testing.assert_allclose(limits[place].predictions, alone.predictions)
        np.testing.assert_allclose(limits.predictions[place], alone.predictions)
        np.testing.assert_allclose(limits.test_error[place], alone.test_error, rtol=1e-6)
        np.testing.assert_allclose(limits.test_margins[place], alone.test_margins, atol=1e-6)
    assert set(limits.outcomes) == {Outcome.SOLVED}
    assert limits.to_frame().outcome.tolist() == ["solved"] * len(kernels)
    assert repr(limits) == f"Limits({len(kernels)} learners, {task.n_test} held-out rows)"


def test_a_ridge_is_in_units_of_each_kernel():
    """A kernel of twice the size with the same ridge is not the same learner."""
    task = tasks.dispersed_addition(seed=1)
    kernels = [OverlapKernel.from_salience([0.3], scale=scale) for scale in (1.0, 2.0)]
    limits = solve(task, kernels, fit=Equal(slack=0.1), intercept="free")
    for place, kernel in enumerate(kernels):
        alone = solve(task, kernel, fit=Equal(slack=0.1), intercept="free")
        np.testing.assert_allclose(
            limits.test_predictions[place], alone.test_predictions, atol=1e-9
        )
    assert np.abs(np.diff(limits.test_predictions, axis=0)).max() > 1e-3


def test_orders_are_swept_and_solved_alike():
    task = tasks.dispersed_addition(seed=1)
    kernels = [OrderKernel.from_salience(s) for s in (0.1, 0.3)]
    limits = solve(task, kernels, intercept="free")
    for place in (0, 1):
        np.testing.assert_allclose(
            limits.test_predictions[place], limits[place].test_predictions, atol=1e-7
        )


def test_a_kernel_that_separates_nothing_is_infeasible_among_others():
    task = tasks.context_dependence(1)
    kernels = [OverlapKernel.from_salience([1 / 3, 0.0]), OverlapKernel.from_salience([0.1, 0.05])]
    limits = solve(task, kernels, fit="margin", intercept="free")
    assert limits.outcomes == (Outcome.INFEASIBLE, Outcome.SOLVED)
    assert np.isnan(limits.test_predictions[0]).all()


def test_places_count_from_both_ends():
    limits = solve((X, Y), cost=[COST, HyperbolicEntropy(1.0)], intercept="none")
    assert limits[-1] is limits[1]
    assert limits[:1] == (limits[0],)
    with pytest.raises(IndexError, match="there are 2 limits; got 2"):
        limits[2]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"cost": []}, "a sequence holds at least one learner or cost; got none; pass a learner"),
        (
            {"learner": [GATES] * 3, "cost": [COST, COST]},
            "there are as many learners as costs, or a single one for all; got 3 and 2; pass seq",
        ),
        ({"cost": [COST], "workers": 0}, "workers is a whole number of at least 1; got 0; pass"),
    ],
)
def test_errors_say_rule_got_remedy(given, sentence):
    with pytest.raises(InputError, match=sentence):
        solve((X, Y), **({"intercept": "none"} | given))
