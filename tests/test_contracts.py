"""What the library offers keeps to the contracts that it checks; what breaks one is told so."""

from __future__ import annotations

import inspect
from dataclasses import replace

import equinox as eqx
import families
import good_calls
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rooms

from partwhole import features, limits, networks, solve, tasks
from partwhole._checks import InputError
from partwhole._contract import CheckFailed
from partwhole.features import conjunctions
from partwhole.features.checking import check_design, check_kernel
from partwhole.features.design import Block
from partwhole.features.gates import joint
from partwhole.features.gates.expected import expected_agreement, expected_relu_agreement
from partwhole.features.multitask import multitask_design
from partwhole.limits import costs
from partwhole.limits.checking import check_cost
from partwhole.limits.costs import Conjugate, ConjugateCost, FunctionSpaceL2
from partwhole.limits.costs.schatten_norm import MatrixMetric
from partwhole.tasks.checking import check_task

RNG = np.random.default_rng(0)
GATES = features.HalfspaceGates(RNG.normal(size=(3, 1, 3)), np.zeros((3, 1)))
GATED = GATES.design(RNG.normal(size=(6, 3)))
DENSE = features.DenseDesign(RNG.normal(size=(7, 8)), (Block("a", 0, 4), Block("b", 4, 8)))

# Of as many inputs as features only one function fits, and no search is made for a cheaper one.
SQUARE = features.DenseDesign(DENSE.matrix[:, :7], (Block("a", 0, 4), Block("b", 4, 7)))


class ElasticNet(ConjugateCost):
    """The conjugate of it alone: flat about 0."""

    def __init__(self, norm=1.0, ridge=1.0):
        self.norm, self.ridge = norm, ridge

    def conjugate(self, design, u):
        excess = np.maximum(np.abs(u) - self.norm, 0.0)
        value = 0.5 * float(np.sum(excess**2)) / self.ridge
        return Conjugate(value, np.sign(u) * excess / self.ridge, (excess > 0) / self.ridge)


class Precision(ConjugateCost):
    """Half c' P c, whose curvature is no diagonal."""

    def __init__(self, covariance):
        self.covariance = covariance

    def conjugate(self, design, u):
        gradient = self.covariance @ u
        return Conjugate(0.5 * float(u @ gradient), gradient, self.covariance)


COSTS = {
    "Quadratic": (limits.Quadratic(), DENSE),
    "Quadratic, weighted": (limits.Quadratic({"a": 0.1, "b": 3.0}), DENSE),
    "L1Norm": (limits.costs.L1Norm(), DENSE),
    "GroupNorm": (limits.GroupNorm(), DENSE),
    "GroupNorm, weighted": (limits.GroupNorm(np.array([0.2, 3.0])), DENSE),
    "GroupNorm, gated": (limits.GroupNorm(), GATED),
    "NuclearNorm": (limits.costs.NuclearNorm(2), DENSE),
    "HyperbolicEntropy": (limits.HyperbolicEntropy(0.1), DENSE),
    "HyperbolicEntropy, lazy": (limits.HyperbolicEntropy(100.0), DENSE),
    "HyperbolicEntropy, tilted": (limits.HyperbolicEntropy(1e-3, 0.4), DENSE),
    "ChainNorm": (costs.ChainNorm(3), DENSE),
    # Of a wide domain, near the middle of which the conjugate is rounding alone.
    "DeepEntropy": (costs.DeepEntropy.from_scale(0.1, depth=6), SQUARE),
    "DeepEntropy, three layers": (costs.DeepEntropy.from_scale(1.0, depth=3), DENSE),
    # A value takes some 25 ms, and the search 170 of them, which three layers take already.
    "DeepEntropy, four layers": (costs.DeepEntropy(*RNG.normal(size=(2, 4, 8))[..., :7]), SQUARE),
    "SchattenNorm": (costs.SchattenNorm(2, 4), DENSE),
    "MatrixMetric": (
        MatrixMetric(np.stack([np.eye(2)] * 2), np.array([[1.0, 1.0], [4.0, 1e-4]]), 2),
        DENSE,
    ),
    "FunctionSpaceL2": (FunctionSpaceL2(), GATED),
    "ConjugateCost": (ElasticNet(), DENSE),
    "LinearProbing": (
        limits.costs.LinearProbing(RNG.normal(size=8), RNG.uniform(0.5, 2.0, 8)),
        DENSE,
    ),
    "ConjugateCost, ridge": (ElasticNet(0.1, 3.0), DENSE),
    "ConjugateCost, precision": (Precision(np.cov(RNG.normal(size=(8, 30)))), DENSE),
}


@pytest.mark.parametrize("name", COSTS)
def test_costs(name):
    check_cost(*COSTS[name])


def test_every_cost_is_checked():
    offered = {
        name
        for name, member in rooms.offered("limits").items()
        if {"value", "dual"} <= set(dir(member)) or {"value", "touching"} <= set(dir(member))
    }
    assert offered - {"Cost", "Concave"} <= {name.partition(",")[0] for name in COSTS}


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("fit", [limits.Equal(0.01), limits.Margin(0.1), limits.Tube(0.1)])
def test_elastic_net_is_that_of_a_cone_solver(fit, scale):
    """In other units of the features, beside Clarabel. Its answers are exact to about 1e-8."""
    import cvxpy as cp

    matrix, norm, ridge = scale * RNG.normal(size=(12, 8)), 0.5 * scale, 0.2 * scale**2
    values = np.sign(matrix[:, 0]) if isinstance(fit, limits.Margin) else matrix[:, 0] / scale
    limit = solve((matrix, values), cost=ElasticNet(norm, ridge), fit=fit, intercept="free")
    assert limit.outcome is limits.Outcome.SOLVED
    # In units of its own the same problem for all scales.
    c, b, slack = cp.Variable(8), cp.Variable(), cp.Variable(12)
    outputs = matrix / scale @ c + b + slack
    cost = 0.5 * cp.norm1(c) + 0.1 * cp.sum_squares(c)
    if np.any(fit.slack):
        cost += 0.5 * cp.sum_squares(slack) / fit.slack
    rules = [] if np.any(fit.slack) else [slack == 0]
    if isinstance(fit, limits.Equal):
        rules.append(outputs == values)
    elif isinstance(fit, limits.Margin):
        rules.append(cp.multiply(values, outputs) >= 1)
    else:
        rules.append(cp.abs(outputs - values) <= fit.width)
    best = cp.Problem(cp.Minimize(cost), rules).solve(solver=cp.CLARABEL)
    assert limit.value == pytest.approx(best, rel=1e-6)


def test_value_from_the_conjugate_is_the_formula():
    """The biconjugate is the cost: to rounding, by a root for each coefficient."""
    coefficients = np.array([0.0, 1e-9, 1.0, -1e6, 3.0, -0.2, 1e-3, 7.0])
    for cost in (limits.HyperbolicEntropy(0.1, 0.3), limits.HyperbolicEntropy(1e-6)):
        direct = cost.value(DENSE, coefficients)
        assert ConjugateCost.value(cost, DENSE, coefficients) == pytest.approx(direct, rel=1e-12)
    elastic = np.abs(coefficients).sum() + 0.5 * coefficients @ coefficients
    assert ElasticNet().value(DENSE, coefficients) == pytest.approx(elastic, rel=1e-12)


def test_a_conjugate_without_the_slope_is_refused():
    class Bounded(ConjugateCost):
        def conjugate(self, design, u):
            return Conjugate(np.sum(np.sqrt(1 + u**2)), u / np.sqrt(1 + u**2), 0 * u + 1)

    with pytest.raises(InputError, match=r"slope of its cost's conjugate .* got 1 of 8 coeff"):
        Bounded().value(DENSE, np.eye(8)[0] * 2.0)


def broken_cost(**methods):
    return type("Broken", (limits.GroupNorm,), methods)()


def other_dual(**changes):
    def dual(self, design, multipliers):
        return replace(limits.HyperbolicEntropy(0.1).dual(design, multipliers), **{
            name: change(design, multipliers) for name, change in changes.items()
        })  # fmt: skip

    return type("Broken", (limits.HyperbolicEntropy,), {"dual": dual})(0.1)


def scribbled(self, design, coefficients):
    coefficients += 1.0
    return float(np.abs(coefficients).sum())


ENTROPY = limits.HyperbolicEntropy(0.1)
BROKEN_COSTS = {
    "value plus dual equals": broken_cost(
        value=lambda self, design, c: 2.0 * limits.GroupNorm().value(design, c)
    ),
    "value plus dual is at least": broken_cost(
        value=lambda self, design, c: 0.5 * limits.GroupNorm().value(design, c)
    ),
    "value leaves its arguments": broken_cost(value=scribbled),
    "value is a float": broken_cost(value=lambda self, design, c: None),
    "value is convex": broken_cost(
        value=lambda self, design, c: limits.GroupNorm().value(design, c) ** 0.5
    ),
    "the gradient is that of the dual's value": other_dual(
        value=lambda design, v: 2.0 * ENTROPY.dual(design, v).value
    ),
    "the gradient of the dual is the outputs": other_dual(
        gradient=lambda design, v: 2.0 * ENTROPY.dual(design, v).gradient
    ),
    "the Hessian is that of the dual's value": other_dual(
        hessian=lambda design, v: lambda: 2.0 * ENTROPY.dual(design, v).hessian()
    ),
    "the Hessian is symmetric": other_dual(
        hessian=lambda design, v: lambda: np.triu(ENTROPY.dual(design, v).hessian())
    ),
    "the Hessian is positive semidefinite": other_dual(
        hessian=lambda design, v: lambda: -ENTROPY.dual(design, v).hessian()
    ),
    "gradient and Hessian have shapes": other_dual(gradient=lambda design, v: np.zeros(3)),
    "is_quadratic is said": other_dual(is_quadratic=lambda design, v: True),
    "reach is a length above 0": other_dual(reach=lambda design, v: lambda direction: 0.0),
}
BOUNDS = {
    "slope is that of the room": ("slope", lambda old: lambda v: 2.0 * old(v)),
    "the outputs of prices": ("outputs", lambda old: lambda prices: 2.0 * old(prices)),
    "curvature holds the second": ("curvature", lambda old: lambda s, w: old(0.5 * s, w)),
    "curvature adds the scaled": ("curvature", lambda old: lambda s, w: old(s, 0.5 * w)),
    "the domain ends where reach": ("reach", lambda old: lambda v: 2.0 * old(v)),
}


@pytest.mark.parametrize("rule", BOUNDS)
def test_broken_bounds_are_told_what_is_wrong(rule):
    name, change = BOUNDS[rule]

    def dual(self, design, multipliers):
        at = limits.GroupNorm().dual(design, multipliers)
        return replace(at, bounds=replace(at.bounds, **{name: change(getattr(at.bounds, name))}))

    with pytest.raises(CheckFailed, match=f"(?m)^- {rule}"):
        check_cost(broken_cost(dual=dual), DENSE)


@pytest.mark.parametrize("rule", BROKEN_COSTS)
def test_broken_costs_are_told_what_is_wrong(rule):
    with pytest.raises(CheckFailed, match=f"(?m)^- {rule}"):
        check_cost(BROKEN_COSTS[rule], DENSE)


def test_broken_concave_costs():
    class Low(costs.ChainNorm):
        def touching(self, design, coefficients, turn=0):
            touching = super().touching(design, coefficients, turn)
            if coefficients is None:
                return touching
            return limits.GroupNorm(0.5 * touching.weights)

    with pytest.raises(CheckFailed, match="a touching cost lies above the cost"):
        check_cost(Low(3), DENSE)


def test_a_broken_way_to_keep_ranks():
    class Doubling(costs.ChainNorm):
        def within(self, design, coefficients, used):
            return 2.0 * coefficients

    with pytest.raises(CheckFailed, match="within leaves coefficients as they are"):
        check_cost(Doubling(3), DENSE)


def test_broken_squares():
    class Longer(limits.Quadratic):
        def features(self, design):
            return 2.0 * super().features(design)

    with pytest.raises(CheckFailed, match="coefficients from other features have their outputs"):
        check_cost(Longer(), DENSE)


def test_what_is_no_cost():
    with pytest.raises(InputError):
        check_cost(object(), DENSE)


DESIGNS = {
    "DenseDesign": DENSE,
    "ConjunctionDesign": conjunctions.ConjunctionDesign.seen(
        good_calls.GRID, [(), (0,), (1,), (0, 1)], [3, 3]
    ),
    "GatedDesign": GATED,
    "GatedDesign, joint": joint.JointGates.of(GATES, GATED.inputs).design(GATED.inputs),
    "GatedDesign, relu": features.ReLUGates(RNG.normal(size=(4, 3)), np.zeros(4)).design(
        GATED.inputs
    ),
    "DenseDesign, multitask": multitask_design([np.eye(3), np.ones((2, 3))]),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_designs(name):
    check_design(DESIGNS[name])


def test_every_design_is_checked():
    offered = {name for name, a in rooms.offered("features").items() if hasattr(a, "adjoint")}
    assert offered - {"Design"} <= {name.partition(",")[0] for name in DESIGNS}


class Design:
    """A design of a user's own."""

    shape, blocks = (7, 8), DENSE.blocks

    def __matmul__(self, coefficients):
        return DENSE @ coefficients

    def adjoint(self, multipliers):
        return DENSE.adjoint(multipliers)

    def gram(self, block, weights=None):
        return DENSE.gram(block, weights)


def test_a_design_of_ones_own():
    check_design(Design())


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("blocks cover", {"blocks": DENSE.blocks[:1]}),
        ("blocks have labels", {"blocks": (Block("a", 0, 4), Block("a", 4, 8))}),
        ("outputs have shape", {"shape": (6, 8)}),
        ("outputs are linear", {"__matmul__": lambda self, c: np.abs(DENSE @ c)}),
        ("adjoint is the product", {"adjoint": lambda self, v: 2.0 * DENSE.adjoint(v)}),
        ("gram holds", {"gram": lambda self, block, weights=None: np.eye(7)}),
        ("gram weights", {"gram": lambda self, block, weights=None: DENSE.gram(block)}),
        ("weighted_gram", {"weighted_gram": lambda self, weights: np.eye(7)}),
    ],
)
def test_broken_designs_are_told_what_is_wrong(rule, fields):
    with pytest.raises(CheckFailed, match=f"(?m)^- {rule}"):
        check_design(type("Broken", (Design,), fields)())


KERNELS = {
    "OverlapKernel": (features.OverlapKernel.from_salience([0.4]), good_calls.GRID),
    "OverlapKernel, 3": (
        features.OverlapKernel.random_network("relu", 3, 2),
        np.stack(np.meshgrid(*[np.arange(3)] * 3), axis=-1).reshape(-1, 3),
    ),
    "dense_kernel": (
        lambda a, b: features.dense_kernels.dense_kernel(a, depth=2, kind="ntk", other=b),
        RNG.normal(size=(9, 4)),
    ),
    "expected_agreement": (
        lambda a, b: expected_agreement(a, b, n_hyperplanes=2),
        RNG.normal(size=(9, 4)),
    ),
    "expected_relu_agreement": (expected_relu_agreement, RNG.normal(size=(9, 4))),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name):
    check_kernel(*KERNELS[name])


@pytest.mark.parametrize(
    ("rule", "kernel"),
    [
        ("the kernel is positive semidefinite", lambda a, b: -(a @ b.T)),
        ("the kernel is symmetric", lambda a, b: a[:, :1] + 0 * b[:, :1].T + a @ b.T),
        ("the kernel of 9 inputs is a finite", lambda a, b: np.full((len(a), len(b)), np.nan)),
        ("the kernel of 9 inputs is a finite", lambda a, b: a @ a.T @ a),
        ("an entry depends on its pair of inputs alone: some", lambda a, b: a @ b.T / len(b)),
        (
            "an entry depends on its pair of inputs alone: inputs in another",
            lambda a, b: (a @ b.T) * np.outer(np.arange(len(a)), np.arange(len(b))),
        ),
    ],
)
def test_broken_kernels_are_told_what_is_wrong(rule, kernel):
    with pytest.raises(CheckFailed, match=f"(?m)^- {rule}"):
        check_kernel(kernel, RNG.normal(size=(9, 4)))


MAKERS = [
    name
    for name, member in rooms.offered("tasks").items()
    if inspect.isfunction(member) and inspect.signature(member).return_annotation == "Task"
]


@pytest.mark.parametrize("name", MAKERS)
def test_tasks(name):
    make, arguments = good_calls.tasks().get(name, (rooms.offered("tasks")[name], {}))
    check_task(lambda: make(**arguments))


TASK = tasks.symbolic_addition(range(-1, 2), [0])


@pytest.mark.parametrize(
    ("rule", "make"),
    [
        ("two calls return the same targets", lambda: replace(TASK, targets=RNG.normal(size=9))),
        ("two calls share no components", lambda: TASK),
        ("components' names differ", lambda: replace(TASK, names=("a", "a"))),
        ("the values of 'first' differ", lambda: replace(TASK, values=((1, 1, 2), (0, 1, 2)))),
        (
            "every value of 'first' has a row",
            lambda: replace(TASK, values=((-1, 0, 1, 2), (-1, 0, 1))),
        ),
        (
            "no combination is seen and held out",
            lambda: replace(TASK, components=TASK.components[[0, 1, 2, 3, 4, 5, 6, 7, 7]]),
        ),
        (
            "rows of one combination have one target",
            lambda: replace(TASK, components=TASK.components[[0, 1, 2, 3, 4, 5, 6, 7, 7]]),
        ),
    ],
)
def test_broken_tasks_are_told_what_is_wrong(rule, make):
    with pytest.raises(CheckFailed, match=f"(?m)^- {rule}"):
        check_task(make)


POINTS = RNG.normal(size=(5, 3))
IMAGES = RNG.random((4, 8, 12, 2))
SEQUENCES = RNG.normal(size=(6, 5, 3))
NETWORKS = {
    "mlp": (networks.mlp(3, layers=3, width=6, nonlinearity="relu", seed=0), POINTS),
    "mlp, linear": (networks.mlp(3, layers=2, width=6, seed=0), POINTS),
    "GatedNetwork": (networks.GatedNetwork.draw(3, [GATES, 4, 1], seed=0), POINTS),
    "GatedNetwork, relu": (
        networks.GatedNetwork.draw(3, [networks.LearnedGates(6), 1], seed=0, bias=True), POINTS
    ),
    "DiagonalWeights": (limits.DiagonalWeights(*RNG.normal(size=(4, 3))), POINTS),
    "recurrent": (families.Recurrent.draw(3, 4, seed=0), SEQUENCES),
    "attention": (families.AttentionOnly.draw(5, 3, seed=0), SEQUENCES),
    **{
        name: (networks.image_network(name, (8, 12, 2), seed=0), IMAGES)
        for name in ("convnet-small", "resnet-small", "vit-small")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name):
    networks.checking.check_network(*NETWORKS[name])


class Sine(eqx.Module):
    """A network of a user's own."""

    weight: jax.Array

    names, shape = ("output",), (3,)

    def contexts(self, inputs):
        return ()

    def layer(self, place, x, contexts):
        return jnp.sin(x @ self.weight.T)

    def partition(self):
        return eqx.partition(self, eqx.is_inexact_array)


class Frozen(Sine):
    def layer(self, place, x, contexts):
        return jnp.sin(x @ jax.lax.stop_gradient(self.weight).T)


class Bare(Sine):
    def partition(self):
        return eqx.partition(self, False)


class Unfinished(Sine):
    def layer(self, place, x, contexts):
        return jnp.log(-jnp.abs(x @ self.weight.T))


class Twofold(Sine):
    names = ("output", "output")


@pytest.mark.parametrize(
    ("rule", "network"),
    [
        ("the slope of the outputs", Frozen(jnp.ones((2, 3)))),
        ("a network has parameters", Bare(jnp.ones((2, 3)))),
        ("names of layers differ; got output, output", Twofold(jnp.ones((3, 3)))),
        ("outputs are finite", Unfinished(jnp.ones((2, 3)))),
        ("a network maps inputs to outputs; got TypeError", Sine(jnp.ones((2, 5)))),
    ],
)
def test_broken_networks_are_told_what_is_wrong(rule, network):
    networks.checking.check_network(Sine(jnp.ones((2, 3))), POINTS)
    with pytest.raises(CheckFailed, match=f"(?m)^- {rule}"):
        networks.checking.check_network(network, POINTS)


def test_an_output_that_sees_its_batch():
    class Normalised(networks.ImageNetwork):
        def layer(self, place, x, contexts=(), /):
            values = super().layer(place, x)
            return values - values.mean() if place == len(self.parts) - 1 else values

    network = networks.image_network("convnet-small", (8, 12, 2), seed=0)
    with pytest.raises(CheckFailed, match=r"(?m)^- an output depends on its own input alone"):
        networks.checking.check_network(
            Normalised(network.parts, network.names, network.shape), IMAGES
        )


def test_all_breaches_are_told_at_once():
    with pytest.raises(CheckFailed) as told:
        check_kernel(lambda a, b: -(a[:, :1] + 0 * b.T[:1]), POINTS)
    lines = str(told.value).splitlines()
    assert lines[0] == "the kernel <lambda> breaks its contract:"
    assert len(lines) == 3
