"""Cost of deep diagonal networks: against gradient flow, closed forms and two layers."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import gamma

from partwhole import solve
from partwhole._checks import InputError
from partwhole.limits import DiagonalWeights, HyperbolicEntropy, Margin, Outcome
from partwhole.limits.costs import DeepEntropy
from partwhole.limits.costs._product_flow import ProductFlow
from partwhole.limits.costs.deep_entropy import pretrained_weights

ROW, COLUMN = np.arange(1, 5)[:, None], np.arange(1, 13)
X = np.sqrt(2) * np.sin(0.7 * ROW * COLUMN + 0.31 * COLUMN**2)
TARGET = np.zeros(12)
TARGET[[0, 1, 8]] = 0.8, -0.4, 0.6
Y = X @ TARGET
AUX = np.zeros(12)
AUX[:4] = 1.0, -1.0, 0.5, -0.25


def solved(cost, inputs=X, targets=Y):
    limit = solve((inputs, targets), cost=cost, intercept="none")
    assert limit.outcome is Outcome.SOLVED
    return limit.coefficients


def without(weights, layer):
    """Return the product of all layers but one."""
    return np.delete(weights, layer, axis=-2).prod(axis=-2)


def flowed(plus, minus, inputs=X, targets=Y, *, end=3e4):
    """Gradient flow on half the squared error, in all weights of both pathways, to the end."""
    start = np.stack([plus, minus])

    def velocity(_, flat):
        weights = flat.reshape(start.shape)
        coefficients = weights[0].prod(axis=0) - weights[1].prod(axis=0)
        slope = inputs.T @ (inputs @ coefficients - targets)
        others = np.stack([without(weights, layer) for layer in range(len(plus))], axis=1)
        return (np.array([-1.0, 1.0])[:, None, None] * slope * others).ravel()

    run = solve_ivp(velocity, (0, end), start.ravel(), method="LSODA", rtol=1e-11, atol=1e-14)
    weights = run.y[:, -1].reshape(start.shape)
    coefficients = weights[0].prod(axis=0) - weights[1].prod(axis=0)
    assert np.abs(inputs @ coefficients - targets).max() < 1e-10
    return weights, coefficients


def initial(kind, depth, rng):
    """Return weights of both pathways: any, equal, with equal smallest ones, or with a zero."""
    plus, minus = 0.4 * np.abs(rng.normal(size=(2, depth, 12))) + 0.05
    if kind == "signs":
        plus, minus = rng.normal(size=(2, depth, 12))
    if kind == "equal layers":
        plus[:], minus[:] = plus[0], minus[0]
    if kind == "equal hidden layers":
        plus[:-1], minus[:-1] = plus[0], minus[0]
    if kind == "readout of zeros":
        plus[-1] = minus[-1] = 0.0
    return plus, minus


KINDS = ["positive", "signs", "equal layers", "equal hidden layers", "readout of zeros"]


@pytest.mark.parametrize(
    ("kind", "depth"), [*product(KINDS, [2, 3, 4]), ("signs", 5), ("equal hidden layers", 5)]
)
def test_gradient_flow_ends_at_the_least_cost(kind, depth):
    """The tolerance is that of the integration, whose relative error is 1e-11 a step."""
    plus, minus = initial(kind, depth, np.random.default_rng(depth))
    _, coefficients = flowed(plus, minus)
    assert solved(DeepEntropy(plus, minus)) == pytest.approx(coefficients, abs=2e-9)


def test_two_layers_are_the_hyperbolic_entropy():
    rng = np.random.default_rng(0)
    w, v, m, u = rng.normal(size=(4, 12))
    two = HyperbolicEntropy.from_weights(DiagonalWeights(w, v, m, u))
    deep = DeepEntropy(np.stack([w, v]), np.stack([m, u]))
    coefficients = solved(two)
    assert solved(deep) == pytest.approx(coefficients, abs=1e-12)
    design = solve((X, Y), cost=deep, intercept="none").problem.design
    assert deep.value(design, coefficients) == pytest.approx(
        two.value(design, coefficients), rel=1e-9
    )
    tuned, expected = (
        finetune(AUX, readout_scale=1e-3, init_scale=1e-2, rescale=0.3)
        for finetune in (
            partial(DeepEntropy.after_finetuning, depth=2),
            HyperbolicEntropy.after_finetuning,
        )
    )
    assert solved(tuned) == pytest.approx(solved(expected), abs=1e-12)


@pytest.mark.parametrize("depth", [3, 4, 7])
def test_from_equal_weights_it_is_the_cost_of_woodworth_et_al(depth):
    """COLT 2020, theorem 3: the slope of the conjugate is alpha^D h_D(alpha^(D-2) (D-2) u)."""
    scale, power = 0.2, -depth / (depth - 2.0)
    plus = ProductFlow.of(np.full((depth, 9), scale))
    z = np.linspace(-0.99, 0.99, 9)
    u = z / (scale ** (depth - 2) * (depth - 2))
    coefficients = plus.at(u).product - plus.at(-u).product
    assert coefficients == pytest.approx(
        scale**depth * ((1.0 - z) ** power - (1.0 + z) ** power), rel=1e-10, abs=1e-15
    )


def test_flows_of_three_and_four_layers_have_closed_forms():
    """With all larger weights equal, b is a tangent of s, or s is an algebraic function of b."""
    large, small = np.full(7, 0.8), np.linspace(0.0, 0.6, 7)
    root = np.sqrt(large**2 - small**2)
    s = np.linspace(-0.6, 0.6, 7)
    b = root * np.tan(root * s + np.arctan(small / root))
    moved = ProductFlow.of(np.stack([large, large, small])).at(s)
    assert moved.product == pytest.approx(b * (b**2 + root**2), rel=1e-12)
    assert moved.integral == pytest.approx(0.5 * (b**2 - small**2), rel=1e-12, abs=1e-15)
    sine = root**2 * s + small / large
    b = root * sine / np.sqrt(1.0 - sine**2)
    moved = ProductFlow.of(np.stack([large, small, large, large])).at(s)
    assert moved.product == pytest.approx(b * (b**2 + root**2) ** 1.5, rel=1e-12)


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_pretraining_and_finetuning_by_gradient_flow(depth):
    alpha, gamma_, c = 0.1, 0.03, 0.5
    start = np.full((depth, 12), alpha)
    inputs = np.eye(12)
    weights, coefficients = flowed(start, start, inputs, AUX)
    assert coefficients == pytest.approx(AUX, abs=1e-10)
    pathways = pretrained_weights(AUX, depth=depth, init_scale=alpha)
    for pathway, expected in zip(weights, pathways, strict=True):
        assert pathway == pytest.approx(np.tile(expected, (depth, 1)), abs=1e-8)
    tuned = c * weights
    tuned[:, -1] = gamma_
    _, coefficients = flowed(*tuned)
    scales = {"readout_scale": gamma_, "init_scale": alpha, "rescale": c}
    cost = DeepEntropy.after_finetuning(AUX, depth=depth, **scales)
    assert solved(cost) == pytest.approx(coefficients, abs=1e-8)


def test_the_shrinking_weight_stops_at_a_share_of_its_start():
    for depth in (3, 4, 6):
        plus, minus = pretrained_weights(np.array([1e30, -1e30]), depth=depth, init_scale=1e-3)
        assert [minus[0], plus[1]] == pytest.approx([1e-3 * 2 ** (-1 / (depth - 2))] * 2, rel=1e-12)
        assert plus**depth - minus**depth == pytest.approx([1e30, -1e30], rel=1e-12)


@pytest.mark.parametrize("depth", [3, 4, 5])
def test_the_price_of_a_large_coefficient_is_a_power_of_its_weights(depth):
    """The integral over all b, which is a beta function: derived here."""
    scale, size = 1e-3, 0.5
    weights = np.full((depth, 2), scale)
    weights[:-1, 0] = size
    weights[-1, 0] = 0.0
    price = ProductFlow.of(weights).ends[1]
    learned = np.sqrt(np.pi) * gamma(depth / 2 - 1) / (2 * gamma((depth - 1) / 2))
    assert price == pytest.approx(
        [learned * size ** (2.0 - depth), scale ** (2.0 - depth) / (depth - 2)], rel=1e-12
    )


def test_coefficients_scale_with_a_power_of_the_weights():
    rng = np.random.default_rng(3)
    plus, minus = initial("signs", 4, rng)
    small = solved(DeepEntropy(0.1 * plus, 0.1 * minus), X, 1e-4 * Y)
    assert small == pytest.approx(1e-4 * solved(DeepEntropy(plus, minus)), rel=1e-8, abs=1e-16)


def test_products_are_infinite_from_the_end_of_their_flow_on():
    flow = ProductFlow.of(np.array([[0.5, -0.5], [0.5, 0.5], [0.5, 0.5]]))
    low, high = flow.ends
    assert low.tolist() == [-np.inf, pytest.approx(-2.0)]
    assert high.tolist() == [pytest.approx(2.0), np.inf]
    for share, finite in ((0.999999, True), (1.000001, False)):
        moved = flow.at(share * np.array([2.0, -2.0]))
        for part in moved:
            assert np.isfinite(part).tolist() == [finite, finite]
        assert np.sign(moved.product).tolist() == [1.0, -1.0]


def test_margins_have_this_cost_too():
    cost, labels = DeepEntropy.from_scale(0.3, depth=3), np.sign(Y)
    limit = solve((X, labels), cost=cost, fit=Margin(), intercept="none")
    assert limit.outcome is Outcome.SOLVED
    fitted = X @ limit.coefficients
    assert (labels * fitted).min() == pytest.approx(1.0, abs=1e-7)
    equal = solve((X, fitted), cost=cost, intercept="none")
    assert equal.coefficients == pytest.approx(limit.coefficients, abs=1e-6)


@pytest.mark.parametrize(
    ("plus", "minus", "words"),
    [
        (np.ones(1), np.ones(1), r"in 2 to 12 layers; got shapes \(1,\) and \(1,\)"),
        ([1e-13, 1.0], [1e13, 0.0], "of a size from 1e-12 to 1e\\+12; got 2 that are not"),
        ([0.0, 0.0, 1.0], [1.0, 1.0, 1.0], "nothing is learned; got 1 pathway"),
        ([1.0, 1.0, 1.0], [-1.0, 1.0, 1.0], "both sides of 0; got 1 that cannot"),
    ],
)
def test_weights_that_cannot_learn_are_refused(plus, minus, words):
    with pytest.raises(InputError, match=words):
        DeepEntropy(np.array(plus), np.array(minus))


def test_weights_for_another_number_of_features_are_refused():
    cost = DeepEntropy(np.ones((3, 5)), np.ones((3, 5)))
    with pytest.raises(InputError, match="weights are one or one for each feature; got 5 for 12"):
        solve((X, Y), cost=cost, intercept="none")
