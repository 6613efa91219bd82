"""Many problems at once: what counts as one problem and what as several."""

import numpy as np
import pandas as pd
import pytest

from partwhole._checks import InputError
from partwhole.features import DenseDesign
from partwhole.limits import Equal, HyperbolicEntropy, least_cost, least_costs

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 9))
Y = RNG.normal(size=4)
COST = HyperbolicEntropy(0.1)


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
    wanted = least_cost(X, Y, COST, Equal(), intercept="none").coefficients
    (limit,) = least_costs(design, targets, COST, Equal(), intercept="none")
    np.testing.assert_allclose(limit.coefficients, wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.stack, list, tuple])
def test_several_problems(kind):
    both = kind([X, 2 * X]), kind([Y, 3 * Y])
    limits = least_costs(*both, COST, Equal(), intercept="none")
    assert len(limits) == 2
    wanted = least_cost(2 * X, 3 * Y, COST, Equal(), intercept="none").coefficients
    np.testing.assert_allclose(limits[1].coefficients, wanted, rtol=1e-12)
    lists = least_costs([X.tolist(), X.tolist()], [Y.tolist()], COST, Equal(), intercept="none")
    assert len(lists) == 2


def test_nothing_to_solve_is_told():
    with pytest.raises(InputError, match="there are as many designs, targets and costs, or a sing"):
        least_costs([], [], COST, Equal(), intercept="none")
