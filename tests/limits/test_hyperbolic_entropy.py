"""Hyperbolic entropy: against gradient flow, linear programs, constrained minimisation, figures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import null_space
from scipy.optimize import linprog, minimize

from partwhole import solve
from partwhole._checks import InputError
from partwhole.limits import DiagonalWeights, Equal, HyperbolicEntropy, Margin, Outcome, Tube
from partwhole.limits.costs import L1Norm, LinearProbing

ROW, COLUMN = np.arange(1, 7)[:, None], np.arange(1, 15)
X = np.sqrt(2) * np.sin(0.7 * ROW * COLUMN + 0.31 * COLUMN**2)
TARGET = np.zeros(14)
TARGET[[0, 1, 8]] = 0.8, -0.4, 0.6
Y = X @ TARGET
AUX = np.zeros(14)
AUX[:5] = 1, -1, 0.5, 2, -0.25


def solved(inputs, targets, cost, fit=None, **options):
    limit = solve((inputs, targets), cost=cost, fit=fit or Equal(), intercept="none", **options)
    assert limit.outcome is Outcome.SOLVED
    return limit.coefficients


def flowed(weights, inputs, targets):
    """Gradient flow on half the squared error, in all four weights, to the end."""
    d = inputs.shape[1]

    def velocity(_, flat):
        w, v, m, u = flat.reshape(4, d)
        slope = inputs.T @ (inputs @ (w * v - m * u) - targets)
        return np.concatenate([-slope * v, -slope * w, slope * u, slope * m])

    start = np.concatenate([np.asarray(layer, dtype=float) for layer in weights])
    run = solve_ivp(velocity, (0, 2e4), start, method="LSODA", rtol=1e-11, atol=1e-14)
    w, v, m, u = run.y[:, -1].reshape(4, d)
    assert np.abs(inputs @ (w * v - m * u) - targets).max() < 1e-10
    return w * v - m * u


def drawn(seed, n, *, active=40, overlap=40, amplitude=None):
    """Sparse teachers and inputs of a thousand features, drawn as the fact sheet says."""
    rng = np.random.default_rng(seed)
    order, signs = rng.permutation(1000), np.sign(rng.random(40) - 0.5)
    auxiliary, main = np.zeros(1000), np.zeros(1000)
    auxiliary[order[:40]] = signs / np.sqrt(40)
    support = np.concatenate([order[:overlap], order[40 : 40 + active - overlap]])
    main[support] = signs[:active] * (amplitude or 1 / np.sqrt(active))
    inputs = rng.standard_normal((n, 1000))
    inputs /= np.sqrt((inputs**2).mean(axis=1, keepdims=True))
    return auxiliary, main, inputs


@pytest.mark.parametrize("seed", range(3))
def test_flow_from_any_weights_ends_there(seed):
    """The flow's own error is that of its tolerances, 1e-11 a step."""
    rng = np.random.default_rng(seed)
    inputs, targets = rng.normal(size=(5, 12)), rng.normal(size=5)
    weights = DiagonalWeights(*rng.normal(size=(4, 12)))
    exact = solved(inputs, targets, HyperbolicEntropy.from_weights(weights))
    assert np.abs(exact - flowed(weights, inputs, targets)).max() < 1e-6


@pytest.mark.parametrize(("scale", "width"), [(1.0, 4.0), (0.3, 0.36)])
def test_weights_that_are_all_alike_have_a_width_of_four_squares(scale, width):
    """The fact sheet says twice the square; the flow itself decides."""
    weights = DiagonalWeights.constant(14, scale)
    coefficients = flowed(weights, X, Y)
    cost = HyperbolicEntropy.from_weights(weights)
    assert np.allclose(cost.width, width, rtol=1e-12)
    assert np.abs(solved(X, Y, HyperbolicEntropy(width)) - coefficients).max() < 1e-7
    assert np.abs(solved(X, Y, HyperbolicEntropy(width / 2)) - coefficients).max() > 1e-3


# (E-15 lists these beside the scale alpha for which k = 2 alpha^2.)
@pytest.mark.parametrize(
    ("scale", "norm"),
    [(10, 1.731136), (1, 1.710661), (0.01, 1.258564), (1e-4, 1.256426), (1e-8, 1.256348)],
)
def test_norms_between_lazy_and_rich(scale, norm):
    limit = solved(X, Y, HyperbolicEntropy(2.0 * scale**2))
    assert abs(np.abs(limit).sum() - norm) < 1e-5


def test_ends_are_the_minimum_norms():
    doubled = np.concatenate([X, -X], axis=1)
    least = linprog(np.ones(28), A_eq=doubled, b_eq=Y, method="highs").fun
    assert abs(least - 1.256348) < 1e-6
    assert abs(np.abs(solved(X, Y, L1Norm())).sum() - least) < 1e-6
    # The weights of sizes are equal up to one over the logarithm of the width.
    assert abs(np.abs(solved(X, Y, HyperbolicEntropy(1e-18))).sum() - least) < 1e-6
    # Beyond coefficients of order 1 the cost is b^2 / 2k, up to (b/k)^2.
    lazy = solved(X, Y, HyperbolicEntropy(1e6))
    assert np.abs(lazy - np.linalg.pinv(X) @ Y).max() < 1e-9


FINETUNED = {
    (0.1, 0.01, 1.0): (
        (0.778422, -0.391884, 0.016939, -0.043478, -0.070754, -0.000328, 0.003535, -0.023750),
        0.367379,
    ),
    (0.1, 0.01, 0.3): ((0.759994, -0.391462, 0.010481, 0.009149, -0.020228), 0.364661),
    (1.0, 1e-3, 1.0): ((0.761201, -0.515487, 0.209090, 0.876468), 1.713369),
}


@pytest.mark.parametrize(("setting", "found"), FINETUNED.items())
def test_finetuning_ends_where_recorded(setting, found):
    readout, init, rescale = setting
    weights = DiagonalWeights.pretrained(AUX, init).for_finetuning(
        rescale=rescale, readout_scale=readout
    )
    cost = HyperbolicEntropy.after_finetuning(
        AUX, readout_scale=readout, init_scale=init, rescale=rescale
    )
    general = HyperbolicEntropy.from_weights(weights)
    assert np.allclose(cost.width, general.width, rtol=1e-10)
    assert np.allclose(cost.tilt, general.tilt, rtol=1e-9, atol=1e-12)
    assert np.allclose(cost.start, weights.coefficients, rtol=1e-9, atol=1e-12)
    exact = solved(X, Y, cost)
    coefficients, error = found
    assert np.abs(exact[: len(coefficients)] - coefficients).max() < 1e-5
    assert abs(np.sum((exact - TARGET) ** 2) - error) < 1e-5
    assert np.abs(exact - flowed(weights, X, Y)).max() < 1e-6


@pytest.mark.parametrize(
    ("setting", "published", "untilted"),
    [((0.1, 0.01, 0.3), 0.0236, 0.0299), ((1.0, 1e-3, 1.0), 0.8050, None)],
)
def test_how_far_off_the_published_penalty_is(setting, published, untilted):
    readout, init, rescale = setting
    options = {"readout_scale": readout, "init_scale": init, "rescale": rescale}
    cost = HyperbolicEntropy.after_finetuning(AUX, **options)
    exact = solved(X, Y, cost)

    def off(reference):
        return np.linalg.norm(solved(X, Y, reference) - exact) / np.linalg.norm(exact)

    paper = HyperbolicEntropy.after_finetuning(AUX, **options, formula="published")
    assert abs(off(paper) - published) < 1e-3
    if untilted is not None:
        assert abs(off(HyperbolicEntropy(cost.width)) - untilted) < 1e-3


def test_rescaling_both_layers_is_rescaling_the_targets():
    rescaled = HyperbolicEntropy.after_finetuning(
        AUX, readout_scale=0.03, init_scale=0.01, rescale=0.3
    )
    plain = HyperbolicEntropy.after_finetuning(AUX, readout_scale=0.1, init_scale=0.01)
    assert np.allclose(rescaled.width / plain.width, 0.09, rtol=1e-12)
    assert np.abs(solved(X, 0.09 * Y, rescaled) - 0.09 * solved(X, Y, plain)).max() < 1e-9


def test_linear_probing_ends_where_recorded():
    weights = DiagonalWeights.pretrained(AUX, 0.01).for_finetuning(readout_scale=0.1)
    limit = solve((X, Y), cost=LinearProbing.of(weights), intercept="none")
    expected = (0.820892, -0.332210, 0.072747, -0.221263, -0.261625)
    assert limit.outcome is Outcome.SOLVED
    assert np.abs(limit.coefficients[:5] - expected).max() < 1e-5
    # Where readouts end that start small and move far less than the hidden layer is large.
    scale = weights.hidden_plus**2 + weights.hidden_minus**2
    lazy = HyperbolicEntropy(1e6 * scale, np.arcsinh(2e-6 * weights.coefficients / scale))
    assert np.abs(limit.coefficients - solved(X, Y, lazy)).max() < 1e-6


@pytest.mark.parametrize(
    ("overlap", "losses"),
    [
        (40, (0.277167, 3.44317e-4, 1.29043e-7)),
        (30, (0.816656, 0.479522, 0.0480064)),
        (20, (1.25525, 0.855687, 0.443304)),
        (0, (2.14002, 1.66128, 1.18273)),
    ],
)
def test_a_thousand_features_after_pretraining(overlap, losses):
    for n, expected in zip((32, 64, 128), losses, strict=True):
        draws = [drawn(seed, n, overlap=overlap) for seed in range(6)]
        costs = [
            HyperbolicEntropy.after_finetuning(aux, readout_scale=1e-3, init_scale=1e-3)
            for aux, _, _ in draws
        ]
        limits = [
            solve((x, x @ b), cost=cost, intercept="none")
            for cost, (_, b, x) in zip(costs, draws, strict=True)
        ]
        errors = [
            np.sum((limit.coefficients - b) ** 2)
            for limit, (_, b, _) in zip(limits, draws, strict=True)
        ]
        assert abs(np.mean(errors) / expected - 1) < 1e-3


def test_a_thousand_features_from_scratch():
    """The recorded losses belong to widths of 2e-6."""
    for n, expected in zip((32, 64, 128), (1.04502, 1.01360, 0.736836), strict=True):
        losses = []
        for seed in range(6):
            _, main, inputs = drawn(seed, n)
            limit = solved(inputs, inputs @ main, HyperbolicEntropy(2e-6))
            losses.append(np.sum((limit - main) ** 2))
        assert abs(np.mean(losses) / expected - 1) < 1e-3


@pytest.mark.parametrize(
    ("rescale", "n", "expected"),
    [
        (1, 16, 0.113364), (1, 32, 0.0229548), (0.1, 16, 0.0770895),
        (0.1, 32, 4.6993e-4), (0.01, 16, 0.096283), (0.01, 32, 2.3749e-5),
    ],
)  # fmt: skip
def test_rescaling_and_few_features(rescale, n, expected):
    losses = []
    for seed in range(6):
        auxiliary, main, inputs = drawn(seed, n, active=5, overlap=5, amplitude=0.2)
        cost = HyperbolicEntropy.after_finetuning(
            auxiliary, readout_scale=rescale * 1e-3, init_scale=1e-3, rescale=rescale
        )
        losses.append(np.sum((solved(inputs, inputs @ main, cost) - main) ** 2))
    assert abs(np.mean(losses) / expected - 1) < 2e-3


def test_value_is_the_integral_of_the_price():
    width, tilt = np.array([1e-3, 0.5, 2.0]), np.array([0.0, -1.5, 3.0])
    cost = HyperbolicEntropy(width, tilt)
    design = np.zeros((1, 3))
    from partwhole.features.design import as_design

    for end in np.array([[0.3, -0.7, 5.0], [-2.0, 1e-5, -4.0]]):
        total = 0.0
        for k, lean, first, last in zip(width, tilt, cost.start, end, strict=True):
            points = np.linspace(first, last, 200_001)
            total += np.trapezoid(0.5 * (np.arcsinh(2 * points / k) - lean), points)
        # The trapezoid's error at the sharpest bend, k = 1e-3.
        assert abs(cost.value(as_design(design), end) - total) < 1e-6


@pytest.mark.parametrize("fit", [Equal(), Equal(0.3), Margin(), Margin(0.2), Tube(0.1)])
@pytest.mark.parametrize("intercept", ["none", "free", 0.7])
def test_every_fit_equals_constrained_minimisation(fit, intercept):
    """The primal, by sequential quadratic programming, which stops at 1e-6 of its value."""
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(5, 8))
    targets = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    cost = HyperbolicEntropy(rng.uniform(0.2, 2.0, 8), rng.normal(size=8))
    limit = solve((inputs, targets), cost=cost, fit=fit, intercept=intercept)
    from partwhole.features.design import as_design

    design, slack = as_design(inputs), float(np.asarray(fit.slack))

    def parts(z):
        return z[:8], z[8] if intercept != "none" else 0.0, z[9:14] if slack else np.zeros(5)

    def total(z):
        c, b, miss = parts(z)
        price = 0.5 * intercept * b**2 if isinstance(intercept, float) else 0.0
        return cost.value(design, c) + price + (miss @ miss / (2 * slack) if slack else 0.0)

    def outputs(z):
        c, b, miss = parts(z)
        return inputs @ c + b + miss

    kinds = {
        Equal: [{"type": "eq", "fun": lambda z: outputs(z) - targets}],
        Margin: [{"type": "ineq", "fun": lambda z: targets * outputs(z) - 1}],
        Tube: [{"type": "ineq", "fun": lambda z: 0.1 - outputs(z) + targets},
               {"type": "ineq", "fun": lambda z: outputs(z) - targets + 0.1}],
    }  # fmt: skip
    best = minimize(total, np.zeros(14), constraints=kinds[type(fit)], method="SLSQP",
                    options={"maxiter": 1000, "ftol": 1e-13})  # fmt: skip
    assert best.success
    assert limit.outcome is Outcome.SOLVED
    assert abs(limit.value - best.fun) < 1e-6 * (1 + abs(best.fun))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(-12, 4))
def test_the_end_is_stationary(seed, power):
    """What is left of the marginal prices across the rows seen is rounding, relative to them."""
    rng = np.random.default_rng(seed)
    inputs, targets = rng.normal(size=(6, 15)), rng.normal(size=6)
    width, tilt = 10.0**power * rng.uniform(0.1, 10, 15), rng.normal(size=15)
    found = solved(inputs, targets, HyperbolicEntropy(width, tilt))
    price = 0.5 * (np.arcsinh(2 * found / width) - tilt)
    assert np.abs(inputs @ found - targets).max() < 1e-9 * np.abs(targets).max()
    assert np.abs(null_space(inputs).T @ price).max() < 1e-7 * np.abs(price).max()


def test_permuted_features_permute_the_answer_and_inputs_stay():
    order = np.random.default_rng(0).permutation(14)
    width = np.linspace(0.1, 1, 14)
    before = X.copy(), Y.copy(), width.copy()
    limit = solved(X, Y, HyperbolicEntropy(width))
    permuted = solved(X[:, order], Y, HyperbolicEntropy(width[order]))
    assert np.abs(limit[order] - permuted).max() < 1e-10
    assert all(np.array_equal(a, b) for a, b in zip(before, (X, Y, width), strict=True))


def test_more_rows_than_features():
    rng = np.random.default_rng(3)
    inputs, beta = rng.normal(size=(20, 6)), rng.normal(size=6)
    assert np.abs(solved(inputs, inputs @ beta, HyperbolicEntropy(1e-3)) - beta).max() < 1e-9
    cost = HyperbolicEntropy(1e-3)
    limit = solve((inputs, rng.normal(size=20)), cost=cost, intercept="none")
    assert limit.outcome is Outcome.INFEASIBLE
    assert "no function of these features fits" in limit.outcome.value
    assert np.abs(inputs.T @ limit.multipliers).max() < 1e-9


def test_too_few_steps_say_how_far_they_got():
    limit = solve((X, Y), cost=HyperbolicEntropy(1e-6), intercept="none", max_steps=3)
    assert limit.outcome is Outcome.MAX_STEPS
    assert limit.steps == 3
    assert limit.gap > 1e-6 * limit.value
    assert np.isfinite(limit.coefficients).all()


def test_blocks_and_conjunctions_serve_as_designs():
    from partwhole.features import DenseDesign
    from partwhole.features.conjunctions import ConjunctionDesign
    from partwhole.features.design import Block

    rows = np.array([[0, 0], [0, 1], [1, 0]])
    design = ConjunctionDesign.seen(rows, ((0,), (1,), (0, 1)), (2, 2))
    targets, cost = np.array([1.0, 2.0, 0.5]), HyperbolicEntropy(0.3)
    dense = solved(design.toarray(), targets, cost)
    assert np.abs(solved(design, targets, cost) - dense).max() < 1e-10
    halves = DenseDesign(X, (Block("left", 0, 7), Block("right", 7, 14)))
    assert np.abs(solved(halves, Y, cost) - solved(X, Y, cost)).max() < 1e-10


def test_many_at_once_are_each_alone():
    costs = [HyperbolicEntropy(width) for width in (1e-4, 0.1, 10.0)]
    limits = solve((X, Y), cost=costs, intercept="none")
    for cost, limit in zip(costs, limits, strict=True):
        assert np.abs(limit.coefficients - solved(X, Y, cost)).max() < 1e-12


def weights_without_a_width():
    return DiagonalWeights(*np.array([[1.0], [1.0], [1.0], [-1.0]]))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: HyperbolicEntropy(0.0),
            "widths are numbers above 0, one or one for each feature; got 0.0; begin from "
            "weights above 0, or take the cost L1Norm, the limit of small widths",
        ),
        (
            lambda: HyperbolicEntropy(np.array([1.0, -1.0, 0.0])),
            "widths are numbers above 0, one or one for each feature; got 2 of 3 that are "
            "not, 1 axes; begin from weights above 0, or take the cost L1Norm, the limit of "
            "small widths",
        ),
        (
            lambda: HyperbolicEntropy(1.0, 300.0),
            "tilts are numbers of a size below 300, one or one for each feature; got 1 that are "
            "not, 0 axes; 0 begins from a coefficient of 0",
        ),
        (
            lambda: solve((X, Y), cost=HyperbolicEntropy(np.ones(3)), intercept="none"),
            "widths and tilts are one number or one for each feature; got 3 for 14 features; "
            "give as many as the design has columns",
        ),
        (
            lambda: HyperbolicEntropy.from_weights(weights_without_a_width()),
            "widths are numbers above 0, one or one for each feature; got 1 of 1 that are "
            "not, 1 axes; begin from weights above 0, or take the cost L1Norm, the limit of "
            "small widths",
        ),
        (
            lambda: DiagonalWeights.constant(3, 0.0),
            "the scale of initial weights is above 0; got 0.0; take a small one, "
            "such as 0.001; from weights of zero nothing is learned",
        ),
        (
            lambda: DiagonalWeights.constant(3, 1.0).for_finetuning(rescale=0, readout_scale=0.1),
            "a rescaling is above 0; got 0; take 1 to leave weights as they are; "
            "to forget them altogether, train from scratch",
        ),
        (
            lambda: DiagonalWeights.constant(3, 1.0).for_finetuning(readout_scale=-1.0),
            "readout_scale is a finite number of at least 0; got -1.0; pass a number of at least 0",
        ),
        (
            lambda: solve(
                (X, Y), cost=LinearProbing.of(DiagonalWeights.constant(3, 1.0)), intercept="none"
            ),
            "linear probing of 3 features takes inputs in as many; got 14; pass the inputs in the "
            "network's features",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == sentence
