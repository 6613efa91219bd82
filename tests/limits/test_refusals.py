"""What `solve` refuses in one sentence, and what it must not refuse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from partwhole import measures, solve
from partwhole._checks import InputError
from partwhole.features.checking import check_design
from partwhole.features.dense_kernels import dense_kernel
from partwhole.features.design import Block, DenseDesign
from partwhole.limits import Equal, GroupNorm, HyperbolicEntropy, Margin, Outcome, Quadratic, Tube
from partwhole.limits.checking import check_cost
from partwhole.limits.costs import L1Norm
from partwhole.limits.costs.conjugate_cost import Conjugate, ConjugateCost
from partwhole.tasks import context_dependence, dispersed_addition, symbolic_addition
from partwhole.tasks.relations import transitive_equivalence, transitive_ordering

RNG = np.random.default_rng(0)
INPUTS, TARGETS = RNG.normal(size=(4, 6)), RNG.normal(size=4)


class Box(ConjugateCost):
    """Half the square of coefficients up to 0.5; infinite beyond."""

    def conjugate(self, design, u):
        c = np.clip(u, -0.5, 0.5)
        inside = (np.abs(u) < 0.5).astype(float)
        return Conjugate(float(np.sum(u * c - 0.5 * c**2)), c, inside)

    def value(self, design, coefficients):
        inside = np.abs(coefficients).max(initial=0.0) <= 0.5 + 1e-12
        return 0.5 * float(coefficients @ coefficients) if inside else np.inf


class NotANumber(GroupNorm):
    """A group norm with an error: its value is no number."""

    def value(self, design, coefficients):
        return np.nan


class ElasticNet(ConjugateCost):
    """The absolute values at a price, and half the squares at another."""

    def __init__(self, price: float, square: float) -> None:
        self.price, self.square = price, square

    def conjugate(self, design, u):
        excess = np.maximum(np.abs(u) - self.price, 0.0)
        curvature = (excess > 0.0) / self.square
        value = 0.5 * float(np.sum(excess**2)) / self.square
        return Conjugate(value, np.sign(u) * excess / self.square, curvature)


@pytest.mark.parametrize("one", [1, np.int64(1), np.float32(1)])
def test_slack_may_be_a_whole_number(one):
    for fit, same in ((Equal(one), Equal(1.0)), (Tube(one, one), Tube(1.0, 1.0))):
        limit, expected = (solve((INPUTS, TARGETS), fit=f, intercept="none") for f in (fit, same))
        assert limit.value == expected.value
    assert solve((INPUTS, np.sign(TARGETS)), fit=Margin(one), intercept="none").value > 0.0
    with pytest.raises(InputError, match=r"slack must be nonnegative; got -1\.\.-1; 0 means"):
        Equal(-one)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_cost_of_a_bounded_domain_leaves_no_block_out(unit):
    """The problem fits with coefficients of at most 0.4."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        inputs = rng.normal(size=(3, 6)) * unit
        targets = inputs @ rng.uniform(-0.4, 0.4, size=6)
        for max_steps in (5, 200):
            limit = solve((inputs, targets), cost=Box(), intercept="none", max_steps=max_steps)
            assert limit.outcome is not Outcome.INFEASIBLE


def test_a_cost_that_is_no_number_proves_nothing_infeasible():
    limit = solve((INPUTS, TARGETS), cost=NotANumber(), intercept="none")
    assert limit.outcome is Outcome.INACCURATE


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e3, 1e5, 1e9])
@pytest.mark.parametrize("fit", [Equal(), Equal(0.01), Tube(0.1)])
def test_a_flat_conjugate_is_solved_in_any_unit(unit, fit):
    """Coefficients shrink as features grow; so prices grow with them."""
    limit = solve((unit * INPUTS, TARGETS), cost=ElasticNet(unit, unit**2), fit=fit,
                  intercept="none")  # fmt: skip
    plain = solve((INPUTS, TARGETS), cost=ElasticNet(1.0, 1.0), fit=fit, intercept="none")
    assert limit.outcome is plain.outcome is Outcome.SOLVED
    assert limit.value == pytest.approx(plain.value, rel=1e-9)


@pytest.mark.parametrize(
    ("intercept", "exponents"),
    [("none", (-12, -8, 8)), ("free", (-12, -4, 8)), (1.0, (-12, 4, 8))],
)
@pytest.mark.parametrize("fit", [Equal(), Equal(0.1), Margin(), Margin(0.1), Tube(0.1)])
@pytest.mark.parametrize("name", ["quadratic", "l1", "group", "entropy"])
def test_one_column_may_be_of_any_size(name, fit, intercept, exponents):
    """Rows that one column of 1e8 makes nearly parallel keep the digits of the others.

    The largest and the smallest with each intercept, of those between another.
    """
    rng = np.random.default_rng(5)
    blocks = tuple(Block(i, 3 * i, 3 * i + 3) for i in range(4))
    costs = {"quadratic": Quadratic(), "l1": L1Norm(), "group": GroupNorm()}
    for exponent in exponents:
        inputs, targets = rng.normal(size=(6, 12)), rng.normal(size=6) + 1.0
        inputs[:, 0] *= 10.0**exponent
        targets = np.sign(targets) if isinstance(fit, Margin) else targets
        cost = costs.get(name, HyperbolicEntropy(0.1))
        data = DenseDesign(inputs, blocks) if name == "group" else inputs
        limit = solve((data, targets), cost=cost, fit=fit, intercept=intercept)
        assert limit.outcome is Outcome.SOLVED, exponent


BAD_SOLVES = [
    (lambda: solve((INPUTS, TARGETS[:, None, None]), intercept="none"),
     r"targets have one axis, or two for several outputs; got shape \(4, 1, 1\); flatten"),
    (lambda: solve((INPUTS, TARGETS), lambda a, b: (a @ b.T) * 1j, intercept="none"),
     "got complex numbers"),
    (lambda: solve((INPUTS, TARGETS), lambda a, b: np.ma.masked_array(a @ b.T, mask=np.eye(4)),
                   intercept="none"), "got 4 masked"),
    (lambda: solve((INPUTS, TARGETS), lambda a, b: (a @ b.T).astype(str), intercept="none"),
     "got text"),
    (lambda: solve((INPUTS, TARGETS), lambda a, b: "x", intercept="none"), "got 'x'"),
    (lambda: solve((np.ma.masked_array(INPUTS, mask=INPUTS > 1), TARGETS), lambda a, b: a @ b.T,
                   intercept="none"), "inputs of a kernel are an array; got a masked one"),
    (lambda: solve(([[1.0], [1.0, 2.0], [1.0], [1.0]], TARGETS), lambda a, b: a @ b.T,
                   intercept="none"), "got rows of different lengths; pass rows of one length"),
    (lambda: solve((None, TARGETS), INPUTS @ INPUTS.T, intercept="none").predict(
        np.ma.masked_array(np.eye(4), mask=np.eye(4))), "got 4 masked"),
    (lambda: solve((None, TARGETS), INPUTS @ INPUTS.T, intercept="none").predict(1j * np.eye(4)),
     "got complex numbers"),
    (lambda: solve((INPUTS, TARGETS), intercept="none", tolerance=0.0),
     "tolerance is a finite number above 0 and below 1; got 0.0"),
    (lambda: solve((INPUTS, TARGETS), intercept="none", tolerance=1e300),
     "tolerance is a finite number"),
    (lambda: solve((None, TARGETS), np.eye(4), intercept="none", rounding=1.0),
     r"rounding is a finite number from 0 to 0\.1; got 1\.0"),
    (lambda: solve((INPUTS, TARGETS), "overlap", intercept="none"),
     "or None for the inputs themselves; got 'overlap'; pass OverlapKernel.from_salience"),
    (lambda: solve((INPUTS, TARGETS), {}, intercept="none"), "got a dict of 0"),
    (lambda: solve((INPUTS, TARGETS), [1, 2], intercept="none"), "a learner is an overlap or order "
     "kernel, a Gram matrix, gates, a callable"),
    (lambda: solve((csr_array(INPUTS), TARGETS), intercept="none"), "pass its .toarray()"),
    (lambda: solve((INPUTS, TARGETS), intercept=1e300),
     "the size of intercept is at most 1e150; got 1e.300; pass"),
    (lambda: solve((INPUTS, TARGETS), intercept="none", workers=-1), "workers is a whole number"),
    (lambda: solve((INPUTS, TARGETS), intercept="none", solver="x"), 'solver is "primal", "probin'),
    (lambda: solve((INPUTS, TARGETS), cost=GroupNorm, intercept="none"),
     "cost must be an instance of a cost; got <class"),
    (lambda: solve((INPUTS, TARGETS), cost=Quadratic({"unknown": 2.0}), intercept="none"),
     r"weights are those of the design's blocks; got \['unknown'\], blocks are \['inputs'\]"),
    (lambda: dispersed_addition(seed=-1), "seed is a whole number of at least 0; got -1"),
    (lambda: check_cost(Quadratic(), seed=-1), "seed is a whole number of at least 0; got -1"),
    (lambda: check_design(DenseDesign(np.eye(2)), seed=-1), "seed is a whole number of at least 0"),
    (lambda: measures.salience(np.eye(4), symbolic_addition(range(2), [0]).components, seed=-1),
     "seed is a whole number of at least 0"),
    (lambda: symbolic_addition(range(10), [0], n_components=30),
     "a task lists at most 1,666,666 combinations of 30 components; got"),
    (lambda: symbolic_addition(range(10**8), [0]), "a task lists at most 25,000,000 combinations"),
    (lambda: context_dependence(1, values_per_half=10**4), "a task lists at most 16,666,666"),
    (lambda: transitive_equivalence((10**9, 2), (1, 1)), "a task lists at most 25,000,000"),
    (lambda: transitive_ordering(10**7), "a task lists at most 25,000,000"),
    (lambda: transitive_ordering(7, (1, 99)),
     r"distances of 7 items are 1\.\.6; got train_distances \[1, 99\]; name distances in rank"),
    (lambda: context_dependence([{0: [9]}], values_per_half=3),
     r"names values of component 0 by their index; got \[9\]; use indices up to 1"),
    (lambda: dense_kernel(np.eye(3), 2000, weight_variance=3.0),
     "a kernel is of finite numbers; got numbers beyond 1e308 after 2000 layers; pass fewer"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "sentence"), BAD_SOLVES)
def test_what_is_refused_is_refused_in_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)
