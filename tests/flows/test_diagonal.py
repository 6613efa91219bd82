"""The flow on one task against its exact limit, the flow of the weights, and gradient descent.

Where the loss is brought to 1e-18 the residual is 1e-9, and so is what the coefficients lack to
their limit, up to the inputs' condition (2.7) and the published digits (5e-7).
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from reuse_oracles import AUXILIARY, MAIN, draw, least_entropy, width_and_tilt, x14
from scipy.integrate import solve_ivp
from scipy.optimize import linprog

from partwhole._checks import InputError
from partwhole.flows import Diagonal, FlowOutcome, flow
from partwhole.flows._one_task import Growth
from partwhole.flows.conserved import conserved, drift
from partwhole.limits.diagonal import DiagonalWeights

X = x14()
Y = X @ MAIN
# Readout scale, initial scale of pretraining and rescaling: coefficients, and squared error.
SHEET = {
    (0.1, 0.01, 1.0): (
        "0.778422 -0.391884 0.016939 -0.043478 -0.070754 -0.000328 0.003535 -0.023750 0.001351 "
        "0.022637 0.010659 0.001981 0.008109 -0.003330",
        0.367379,
    ),
    (0.1, 0.01, 0.3): ("0.759994 -0.391462 0.010481 0.009149 -0.020228", 0.364661),
    (1.0, 1e-3, 1.0): ("0.761201 -0.515487 0.209090 0.876468", 1.713369),
}


def finetuned(readout_scale: float, init_scale: float, rescale: float) -> DiagonalWeights:
    pretrained = DiagonalWeights.pretrained(AUXILIARY, init_scale)
    return pretrained.for_finetuning(rescale=rescale, readout_scale=readout_scale)


def drawn(seed: int, n: int = 4, d: int = 9) -> tuple[DiagonalWeights, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    weights = DiagonalWeights(*(0.5 * rng.normal(size=(4, d))))
    return weights, rng.normal(size=(n, d)), rng.normal(size=n)


def velocity(theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return minus the gradient of the mean square error in the four weights of each feature."""
    w, v, u, r = theta.reshape(4, -1)
    push = -2 / len(y) * x.T @ (x @ (w * v - u * r) - y)
    return np.concatenate([push * v, push * w, -push * r, -push * u])


@cache
def finetuned_path(setting: tuple[float, float, float]):
    """Return the flow to where the targets are fitted."""
    return flow(Diagonal(finetuned(*setting), X, Y), until=1e-18)


@pytest.mark.parametrize("setting", list(SHEET))
def test_finetuning_ends_at_the_published_coefficients(setting):
    path = finetuned_path(setting)
    told, error = SHEET[setting]
    expected = np.array(told.split(), dtype=float)
    end = path.end.coefficients
    assert path.outcome is FlowOutcome.FITTED
    np.testing.assert_allclose(end[: len(expected)], expected, rtol=0, atol=1e-6)
    assert ((end - MAIN) ** 2).sum() == pytest.approx(error, abs=1e-6)
    np.testing.assert_allclose(
        end, least_entropy(X, Y, *width_and_tilt(*finetuned(*setting))), rtol=0, atol=1e-8
    )


@pytest.mark.parametrize(
    ("setting", "published", "without_tilt"),
    [((0.1, 0.01, 0.3), 0.0236, 0.0299), ((1.0, 1e-3, 1.0), 0.8050, None)],
)
def test_how_far_the_published_penalty_is_off(setting, published, without_tilt):
    gamma, _, c = setting
    end = finetuned_path(setting).end.coefficients
    width, tilt = width_and_tilt(*finetuned(*setting))

    def off(width):
        return np.linalg.norm(least_entropy(X, Y, width, 0 * tilt) - end) / np.linalg.norm(end)

    assert off(2 * (c**2 * np.abs(AUXILIARY) + gamma**2)) == pytest.approx(published, abs=5e-5)
    if without_tilt is not None:
        assert off(width) == pytest.approx(without_tilt, abs=5e-5)


def test_rescaling_weights_and_targets_rescales_the_answer():
    small, large = finetuned(0.03, 0.01, 0.3), finetuned(0.1, 0.01, 1.0)
    ratio = width_and_tilt(*small)[0] / width_and_tilt(*large)[0]
    np.testing.assert_allclose(ratio, 0.09, rtol=1e-12)
    one = flow(Diagonal(small, X, 0.09 * Y), until=0.09**2 * 1e-21, rtol=1e-10)
    other = flow(Diagonal(large, X, Y), until=1e-21, rtol=1e-10)
    gap = one.end.coefficients - 0.09 * other.end.coefficients
    assert np.abs(gap).max() < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_both_routes_take_the_same_path(seed):
    weights, x, y = drawn(seed)
    times = np.array([0.0, 0.2, 1.0, 5.0])
    path = flow(Diagonal(weights, x, y), times)
    slow = solve_ivp(
        lambda _, theta: velocity(theta, x, y),
        (0, 5),
        np.concatenate(weights),
        method="DOP853",
        t_eval=times,
        rtol=1e-11,
        atol=1e-13,
    ).y.T.reshape(4, 4, -1)
    assert path.outcome is FlowOutcome.REACHED
    np.testing.assert_array_equal(path.times, times)
    # Steps of a relative error of 1e-8, some hundreds of them.
    np.testing.assert_allclose(np.stack(path.weights, axis=1), slow, rtol=0, atol=2e-6)
    losses = ((path.states[:, 0] @ x.T - y) ** 2).mean(axis=1)
    np.testing.assert_allclose(path.losses, losses, rtol=1e-10, atol=1e-20)


def test_the_flow_conserves_what_descent_lets_drift():
    weights, x, y = drawn(3)
    path = flow(Diagonal(weights, x, y), np.linspace(0, 20, 41))
    assert drift(path) < 1e-11
    drifts = []
    for step in (2e-2, 2e-3):
        theta = np.concatenate(weights)
        for _ in range(round(20 / step)):
            theta = theta + step * velocity(theta, x, y)
        now = conserved(DiagonalWeights(*theta.reshape(4, -1)), many_tasks=False)
        drifts.append(np.abs(now - conserved(weights, many_tasks=False))[:2].max())
    assert drifts[0] > 1e-4
    # Each step breaks the law by the square of its length.
    assert drifts[0] / drifts[1] == pytest.approx(10, rel=0.3)


def test_the_growth_of_one_feature_is_the_hyperbolic_sine():
    weights, *_ = drawn(5)
    growth, s = Growth.of(weights), np.random.default_rng(0).normal(size=(7, 9))
    width, tilt = width_and_tilt(*weights)
    expected = width / 2 * np.sinh(2 * s + tilt)
    np.testing.assert_allclose(growth.coefficients(s), expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(growth.weights(s).coefficients, expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(growth.slope(s), width * np.cosh(2 * s + tilt), rtol=1e-11)


@pytest.mark.parametrize(
    ("width", "told"),
    [(200.0, 1.731136), (2.0, 1.710661), (2e-4, 1.258564), (2e-8, 1.256426), (2e-12, 1.256352)],
)
def test_training_from_scratch_ends_between_least_squares_and_least_sum(width, told):
    # Four equal weights have a width of four times their square.
    start = DiagonalWeights.constant(14, np.sqrt(width / 4))
    end = flow(Diagonal(start, X, Y), until=1e-20).end.coefficients
    assert np.abs(end).sum() == pytest.approx(told, abs=1e-6)
    least = linprog(np.ones(28), A_eq=np.hstack([X, -X]), b_eq=Y).fun
    assert least == pytest.approx(1.256348, abs=1e-6)
    assert np.abs(end).sum() >= least
    if width == 200:
        # Wider than any coefficient by 200, so that its cost is quadratic to 1e-4.
        np.testing.assert_allclose(end, np.linalg.pinv(X) @ Y, rtol=0, atol=1e-4)


def test_a_thousand_features_end_at_the_exact_limit():
    task = draw(2, 32)
    weights = DiagonalWeights.pretrained(task.auxiliary, 1e-3).for_finetuning(readout_scale=1e-3)
    path = flow(Diagonal(weights, task.inputs, task.targets), until=1e-16)
    exact = least_entropy(task.inputs, task.targets, *width_and_tilt(*weights))
    np.testing.assert_allclose(path.end.coefficients, exact, rtol=0, atol=1e-6)


def test_more_samples_than_features_are_fitted_as_well_as_can_be():
    weights, _, _ = drawn(1, d=3)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    path = flow(Diagonal(weights, x, y), np.array([0.0, 200.0]))
    best, squares, *_ = np.linalg.lstsq(x, y)
    np.testing.assert_allclose(path.end.coefficients, best, rtol=0, atol=1e-7)
    assert path.losses[-1] == pytest.approx(squares[0] / 20, rel=1e-10)
    losses = ((path.states[:, 0] @ x.T - y) ** 2).mean(axis=1)
    np.testing.assert_allclose(path.losses, losses, rtol=1e-12)


def test_the_loss_asked_for_ends_the_path_where_it_is_reached():
    weights, x, y = drawn(2)
    times = np.linspace(0, 30, 301)
    free = flow(Diagonal(weights, x, y), times)
    stopped = flow(Diagonal(weights, x, y), times, until=1e-6)
    first = np.flatnonzero(free.losses <= 1e-6)[0]
    assert stopped.outcome is FlowOutcome.FITTED
    np.testing.assert_allclose(stopped.states[:-1, 0], free.states[:first, 0], atol=1e-6)
    assert times[first - 1] < stopped.times[-1] <= times[first]
    # Twelve halvings of a step.
    assert 0.99e-6 < stopped.losses[-1] <= 1e-6
    short = flow(Diagonal(weights, x, y), until=1e-6)
    np.testing.assert_allclose(short.times, [0.0, stopped.times[-1]])


def test_a_loss_that_is_not_reached_is_told():
    weights, x, y = drawn(2)
    early = flow(Diagonal(weights, x, y), until=1e-12, max_time=0.5)
    assert early.outcome is FlowOutcome.NOT_FITTED
    assert early.times.tolist() == [0.0, 0.5]
    assert not early.ended_well
    assert re.fullmatch(
        r"At gradient time 0\.5, with a training loss of [\d.]+: reached the last time before the "
        r"training loss asked for; raise max_time or the last time, or ask for a larger loss\.",
        early.describe(),
    )
    few = flow(Diagonal(weights, x, y), np.array([0.0, 1.0, 50.0]), max_steps=30)
    assert few.outcome is FlowOutcome.MAX_STEPS
    assert 0.0 < few.times[-1] < 50.0
    assert np.isfinite(few.states[:, 0]).all()


def test_targets_that_nothing_fits_are_told_before_the_flow():
    weights, x, _ = drawn(2)
    twins, y = np.vstack([x[0], x[0], x[1]]), np.array([0.0, 1.0, 2.0])
    # Each of the two targets of one input is 1/2 off at best, of three samples.
    text = (
        "until is a training loss above the least that is possible, 0.167; got 0.001; ask for a "
        "larger loss; no coefficients come nearer to all targets at once"
    )
    with pytest.raises(InputError, match=re.escape(text)):
        flow(Diagonal(weights, twins, y), until=1e-3)
    path = flow(Diagonal(weights, twins, y), until=0.5 / 3 + 1e-12)
    assert path.outcome is FlowOutcome.FITTED
    beta = path.end.coefficients
    np.testing.assert_allclose(twins @ beta, [0.5, 0.5, 2.0], rtol=0, atol=1e-5)
    # A sample that comes twice counts twice, and no more.
    one, two = np.sqrt(4 / 3), np.sqrt(2 / 3)
    once = flow(
        Diagonal(weights, np.vstack([one * x[0], two * x[1]]), np.array([one * 0.5, two * 2.0])),
        until=1e-12,
    )
    np.testing.assert_allclose(beta, once.end.coefficients, rtol=0, atol=1e-5)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_weights_that_leave_one_sign_go_to_zero_where_the_target_has_the_other(sign):
    w, none = np.array([0.5]), np.zeros(1)
    pathway = (w, -w, none, none) if sign > 0 else (none, none, w, -w)
    start, x, y = DiagonalWeights(*pathway), np.ones((1, 1)), np.array([sign])
    until = flow(Diagonal(start, x, y), until=1e-6)
    assert until.outcome is FlowOutcome.NOT_FITTED
    times = np.array([0.0, 1.0, 1e6])
    path = flow(Diagonal(start, x, y), times)
    assert path.outcome is FlowOutcome.REACHED
    for each in (until, path):
        assert each.end.coefficients == pytest.approx(0.0, abs=1e-6)
        assert each.losses[-1] == pytest.approx(1.0, abs=1e-6)
        assert all(np.isfinite(weight).all() for weight in each.weights)
    # The conserved w^2 - v^2 is 0, so that |beta| obeys an equation of its own.
    slow = solve_ivp(
        lambda _, b: -4 * b * (1 + b), (0, 1), [0.25], method="DOP853", rtol=1e-11, atol=1e-13
    ).y[0, -1]
    assert path.states[1, 0, 0] == pytest.approx(-sign * slow, rel=1e-6)


def test_an_integrator_that_fails_is_told():
    x, y = np.full((1, 2), 1e150), np.array([1e150])
    path = flow(Diagonal(DiagonalWeights.constant(2, 1.0), x, y), np.array([0.0, 1.0]))
    assert path.outcome is FlowOutcome.STUCK
    assert path.times.tolist() == [0.0]


def test_a_start_that_fits_is_the_end():
    weights, x, _ = drawn(4)
    path = flow(Diagonal(weights, x, x @ weights.coefficients), until=1e-12)
    assert path.outcome is FlowOutcome.FITTED
    assert path.times.tolist() == [0.0]
    start = flow(Diagonal(weights, x, np.ones(4)), np.array([0.0]))
    assert start.outcome is FlowOutcome.REACHED
    np.testing.assert_allclose(start.states[0, 0], weights.coefficients, atol=1e-14)


def test_the_table_holds_the_path():
    weights, x, y = drawn(4)
    path = flow(Diagonal(weights, x, y), np.array([0.0, 1.0]))
    table = path.to_frame()
    assert table.columns.tolist() == ["time", "loss", *(f"w1{d}" for d in range(1, 10))]
    np.testing.assert_array_equal(table["w13"], path.states[:, 0, 2])


def test_order_of_samples_and_features_does_not_matter_and_inputs_stay():
    weights, x, y = drawn(6)
    kept = x.copy(), y.copy(), [each.copy() for each in weights]
    times = np.array([0.5, 3.0])
    path = flow(Diagonal(weights, x, y), times)
    rows, columns = np.random.default_rng(0).permutation(4), np.random.default_rng(1).permutation(9)
    turned = DiagonalWeights(*(each[columns] for each in weights))
    other = flow(Diagonal(turned, x[rows][:, columns], y[rows]), times)
    np.testing.assert_allclose(other.states[:, 0], path.states[:, 0, columns], atol=1e-6)
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(y, kept[1])
    for one, before in zip(weights, kept[2], strict=True):
        np.testing.assert_array_equal(one, before)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"inputs": np.ones((4, 5))}, "tasks have as many features as the network, 9; got 5"),
        ({"times": None}, "to given times, or until a training loss; got neither"),
        ({"times": np.array([1.0, 0.5])}, "times start at 0 or later and increase"),
        (
            {"until": 0.0},
            "until is a training loss above the least that is possible, 0; got 0.0; ask for a "
            "larger loss, such as 1e-12; the flow comes near 0, but not to it",
        ),
        (
            {"rtol": 0.0},
            "rtol is a finite number above 0 and below 1; got 0.0; pass a number above 0 "
            "and below 1",
        ),
        ({"rtol": 1.0}, "rtol is a finite number above 0 and below 1; got 1.0; pass a number"),
        (
            {"weights": DiagonalWeights(*np.zeros((4, 9)))},
            "a flow starts at weights of which some are not 0; got zeros alone; start from "
            "DiagonalWeights.constant(d, 0.001), say; from weights of zero nothing is learned",
        ),
        ({"max_time": 0.0}, "max_time is a number above 0; got 0.0; pass a number above 0"),
        ({"max_steps": 0}, "max_steps is a whole number of at least 1"),
        (
            {"weights": DiagonalWeights.constant(9, 1.0, n_tasks=2)},
            "the network has a readout for each task, 2; got 1 tasks; make initial weights by "
            "DiagonalWeights.constant(d, scale, n_tasks=k)",
        ),
        (
            {"weights": DiagonalWeights(*np.ones((4, 3, 9)))},
            "a flow starts at one network, with hidden weights of shape (d,) and readouts of shape "
            "(d,), or (k, d) for k tasks; got shapes (3, 9) and (3, 9); call it once for each",
        ),
        (
            {"weights": DiagonalWeights(*np.full((4, 9), np.inf))},
            "initial weights are finite",
        ),
    ],
)
def test_what_is_refused(change, text):
    weights, x, y = drawn(0)
    system = {"weights": weights, "inputs": x, "targets": y}
    options = {"times": np.array([0.0, 1.0])}
    for name, value in change.items():
        (system if name in system else options)[name] = value
    with pytest.raises(InputError, match=re.escape(text)):
        flow(Diagonal(**system), **options)


@pytest.mark.parametrize(
    ("scale", "seed"),
    [(1e-8, 3), (1e-12, 1), (1e-16, 0), (1e-30, 5), (1e-100, 0), (1e-100, 3)],
)
def test_weights_as_small_as_numbers_are_followed_to_the_fit(scale, seed):
    """No step tries weights beyond all numbers, and no solver warns.

    The end costs no more than the fit of least l1 norm, and has no smaller one.
    """
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(3 + seed % 4, 12)), rng.normal(size=3 + seed % 4)
    path = flow(Diagonal(DiagonalWeights.constant(12, scale), x, y), until=1e-16)
    assert path.outcome is FlowOutcome.FITTED
    end = path.end.coefficients
    np.testing.assert_allclose(x @ end, y, atol=1e-7)
    found = linprog(np.ones(24), A_eq=np.hstack([x, -x]), b_eq=y).x
    sparse = found[:12] - found[12:]

    def cost(beta):
        z = beta / scale**2
        return scale**2 / 4 * np.sum(2 - np.hypot(2, z) + z * np.arcsinh(z / 2))

    assert cost(end) <= cost(sparse) * (1 + 1e-6)
    assert np.abs(end).sum() >= np.abs(sparse).sum() * (1 - 1e-6)
