"""Tied flows and descents against a plain fixed-step integration, closed forms and the facts.

Facts hold to the tolerances they are recorded with. Two integrations of one path agree to 1e-7:
the flow asks for 1e-9 a step, the plain one has an error of (a h)^4, 1e-8 here.
"""

from __future__ import annotations

from inspect import unwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dynamics_oracles import (
    CENTRAL,
    FAIL,
    QUAD_CODE,
    TRIPLE_CAPTION,
    TRIPLE_CODE,
    Published,
    alternates,
    crossing,
    drawup,
    extrema,
    probe_loss,
    rk4,
    two_concepts,
    two_signals,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.flows import FlowOutcome, Tied, descend, flow
from partwhole.flows.stability import stability_limit
from partwhole.flows.tied import PositivityWarning

TWO, SIGNALS = np.array([3.0, 1.0]), np.diag(two_signals(3, 1))
SHORT = np.linspace(0.0, 4.0, 11)
seeds = st.integers(0, 2**32 - 1)


def fine(last: float) -> np.ndarray:
    """Return 3,201 times, as many everywhere so that each dimension is compiled once."""
    return np.linspace(0.0, last, 3201)


def spread(last: float) -> np.ndarray:
    return np.concatenate([[0.0], np.geomspace(0.05, last, 3200)])


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Return an initial matrix and signals of three concepts, and the generator."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(3, 3)) * rng.uniform(0.05, 0.4)
    return u @ u.T, np.diag(rng.uniform(0.2, 2.0, size=3)), rng


def matches(found: list[tuple], told: list[tuple], time: float, value: float) -> None:
    assert len(found) == len(told)
    assert found[0][0] == "min"
    assert alternates(found)
    np.testing.assert_allclose([each[1] for each in found], [each[0] for each in told], 0, time)
    np.testing.assert_allclose([each[2] for each in found], [each[1] for each in told], 0, value)


def test_recorded_trajectory():
    at = [160, 320, 640, 1600]
    path = flow(Tied(two_concepts(0.01, 0.5), SIGNALS), fine(10.0))
    np.testing.assert_allclose(path.times[at], [0.5, 1.0, 2.0, 5.0], rtol=1e-12)
    told = [
        (0.4746732, 0.0365548, 0.0152229),
        (0.9873617, 0.0232212, 0.0209520),
        (0.9999898, 0.0028610, 0.0538795),
        (1.000000, 8e-7, 0.5372377),
    ]
    found = path.states[at][:, [0, 0, 1], [0, 1, 1]]
    np.testing.assert_allclose(found, told, rtol=0, atol=2e-6)
    losses = [1.5678267, 0.4135979, 0.4394923, 0.1070733]
    np.testing.assert_allclose(path.probe_losses(TWO)[at], losses, rtol=0, atol=2e-6)


@pytest.mark.parametrize("clock", ["paper", "gradient"])
def test_recorded_swing(clock):
    pace = 2.0 if clock == "gradient" else 1.0
    times = fine(10.0) / pace
    loss = flow(Tied(two_concepts(0.01, 0.5), SIGNALS), times, clock=clock).probe_losses(TWO)
    told = [(0.8453 / pace, 0.400980), (1.660 / pace, 0.444947)]
    matches(extrema(times, loss), told, 0.005 / pace, 2e-5)
    assert drawup(loss) == pytest.approx(0.0439678, abs=2e-5)
    assert drawup(loss) / 0.5 == pytest.approx(0.0879356, abs=4e-5)


def test_recorded_swing_from_a_small_start():
    path = flow(Tied(two_concepts(1e-3, 0.5), SIGNALS), fine(10.0))
    told = [(1.160, 0.469901), (2.250, 0.489369)]
    matches(extrema(path.times, path.probe_losses(TWO)), told, 0.005, 5e-5)
    (peak,) = extrema(path.times, path.states[:, 0, 1])
    assert peak[1:] == (pytest.approx(0.870, abs=0.005), pytest.approx(0.01455, abs=5e-5))


RHO = {
    0.0: [],
    -0.5: [],
    0.5: [(2.535, 0.453752), (3.225, 0.458303)],
    0.9: [(2.405, 0.426489), (4.335, 0.467114)],
    0.99: [(2.390, 0.420320), (5.660, 0.486456)],
}


@pytest.mark.parametrize("rho", RHO)
def test_the_swing_needs_rows_of_one_direction(rho):
    path = flow(Tied(two_concepts(1e-3, rho), np.diag(two_signals(2, 1))), fine(12.0))
    found = extrema(path.times, path.probe_losses(np.array([2.0, 1.0])))
    if RHO[rho]:
        matches(found, RHO[rho], 0.01, 5e-5)
    else:
        assert found == []


def test_the_determinant_tells_the_weak_clock():
    w0, a = two_concepts(1e-3, 0.9), two_signals(2, 1)
    path = flow(Tied(w0, np.diag(a)), fine(16.0))
    volume = np.linalg.slogdet(path.states)[1]
    taken = np.einsum("i,tii->t", a, path.states)
    area = np.concatenate([[0.0], np.cumsum(0.5 * (taken[1:] + taken[:-1]) * 0.005)])
    gap = volume - volume[0] - 2 * path.times * a.sum() + 2 * area
    assert np.abs(gap).max() < 2e-5
    assert crossing(path.times, path.states[:, 1, 1]) == pytest.approx(8.5167, abs=0.003)


RUNS: list[tuple[Published, int, np.ndarray, list[tuple], float, float]] = [
    (CENTRAL, 2, fine(12.0), [(2.5344, 0.183454), (4.3507, 0.252828)], 0.002, 1e-5),
    (CENTRAL, 1, fine(12.0), [(3.2518, 0.031715), (3.6171, 0.032439)], 0.002, 1e-5),
    (
        TRIPLE_CAPTION,
        2,
        spread(60.0),
        [(1.0604, 1.165620), (2.3454, 1.376923), (7.0905, 0.415061), (15.9298, 0.474602)],
        0.003,
        2e-5,
    ),
    (
        TRIPLE_CAPTION,
        1,
        spread(60.0),
        [(1.7948, 0.835800), (2.3037, 0.859090), (5.1472, 0.279438), (7.6288, 0.321726)],
        0.003,
        2e-5,
    ),
    (TRIPLE_CODE, 1, spread(60.0), [(3.8384, 0.146440), (5.0340, 0.169434)], 0.003, 2e-5),
    (
        QUAD_CODE,
        2,
        spread(100.0),
        [
            *((1.0768, 1.363531), (1.4068, 1.478187), (2.2394, 1.215839), (3.6996, 1.313153)),
            *((11.5269, 0.371160), (25.6986, 0.453346)),
        ],
        0.003,
        5e-5,
    ),
    (
        QUAD_CODE,
        1,
        spread(100.0),
        [(2.0582, 0.512312), (3.1554, 0.636368), (6.4446, 0.219370), (9.2036, 0.252656)],
        0.003,
        5e-5,
    ),
]


@pytest.mark.parametrize(("run", "power", "times", "told", "time", "value"), RUNS)
def test_recorded_descents(run, power, times, told, time, value):
    path = flow(Tied(run.w0, np.diag(run.a), power), times)
    assert path.outcome is FlowOutcome.REACHED
    matches(extrema(times, path.probe_losses(run.means)), told, time, value)
    training = path.losses
    assert (np.diff(training) <= 1e-9).all()


@pytest.mark.parametrize(("power", "told"), [(2, (1.8857, 7.3199)), (1, (2.2467, 3.5140))])
def test_recorded_half_times(power, told):
    path = flow(Tied(CENTRAL.w0, np.diag(CENTRAL.a), power), fine(12.0))
    found = [crossing(path.times, path.states[:, k, k]) for k in (1, 0)]
    np.testing.assert_allclose(found, told, rtol=0, atol=0.002)


def test_the_published_recurrence_and_its_figure():
    path = descend(Tied(CENTRAL.w0, np.diag(CENTRAL.a), 2), 2000, 0.01, on="matrix")
    assert path.outcome is FlowOutcome.REACHED
    loss = path.probe_losses(CENTRAL.means)[1:]  # records are taken after each update
    low = int(loss[:400].argmin())
    high = low + int(loss[low:1000].argmax())
    assert (low, high) == (pytest.approx(254, abs=1), pytest.approx(440, abs=1))
    np.testing.assert_allclose(loss[[low, high]], [0.180955, 0.254629], rtol=0, atol=2e-5)
    assert loss[1999] == pytest.approx(7.47397e-4, abs=2e-5)


CENTRAL_DESCENT = {
    2: ((254, 0.182292), (436, 0.252855), 7.1195e-4),
    1: ((324, 0.031225), (364, 0.032210), None),
}


@pytest.mark.parametrize("power", CENTRAL_DESCENT)
def test_recorded_descent_on_the_factor(power):
    path = descend(Tied(CENTRAL.w0, np.diag(CENTRAL.a), power), 2000, 0.01)
    loss = path.probe_losses(CENTRAL.means)  # records are taken before each update
    found = extrema(np.arange(len(loss), dtype=float), loss)
    (low, least), (high, most), last = CENTRAL_DESCENT[power]
    assert [each[1] for each in found] == [pytest.approx(low, abs=1), pytest.approx(high, abs=1)]
    np.testing.assert_allclose([each[2] for each in found], [least, most], rtol=0, atol=2e-5)
    if last is not None:
        assert loss[1999] == pytest.approx(last, abs=2e-5)


def test_the_published_failure_is_the_step_and_not_the_task():
    a = np.diag(FAIL.a)
    with pytest.warns(PositivityWarning, match=r"at update \d+, so what follows is an artefact"):
        path = descend(Tied(FAIL.w0, a, 2), 17_500, 0.01, on="matrix")
    assert path.outcome is FlowOutcome.DIVERGED
    assert not np.isfinite(path.states[-1]).all()
    least = np.linalg.eigvalsh(path.states[1:100])[:, 0]  # after update 0, 1, ...
    first = int(np.argmax(least < 0))
    assert first == pytest.approx(31, abs=1)
    assert path.notes[0].startswith(f"W is not positive semidefinite from update {first + 1} on")
    assert path.states[10_000, 0, 0] == pytest.approx(-0.018943, rel=0.02)
    exact = flow(Tied(FAIL.w0, a, 2), spread(200.0))
    assert crossing(exact.times, exact.states[:, 0, 0]) == pytest.approx(144.038, abs=0.05)
    steps = descend(Tied(FAIL.w0, a, 2), 17_500, 0.01)
    assert crossing(steps.times, steps.states[:, 0, 0]) == pytest.approx(144.06, abs=0.1)


def test_a_recurrence_that_is_stopped_in_time_is_not_positive():
    with pytest.warns(PositivityWarning):
        path = descend(Tied(FAIL.w0, np.diag(FAIL.a), 2), 400, 0.01, on="matrix")
    assert path.outcome is FlowOutcome.NOT_POSITIVE


def test_one_step_on_the_matrix_takes_volume_away():
    w, a, step = np.array([[0.02, 0.0195], [0.0195, 0.0195]]), np.array([9.0, 1.0]), 0.01
    linear = w + step * (np.diag(a) @ w + w @ np.diag(a))
    formula = (1 + 2 * step * 9) * (1 + 2 * step) * np.linalg.det(w)
    formula -= w[0, 1] ** 2 * step**2 * (9 - 1) ** 2
    assert np.linalg.det(w) == pytest.approx(9.75e-6, abs=1e-10)
    assert np.linalg.det(linear) == pytest.approx(9.3015e-6, abs=1e-10)
    assert formula == pytest.approx(9.3015e-6, abs=1e-10)
    # A step of the library is the linear one, less terms of second order in W.
    small = 1e-6
    after = descend(Tied(small * w, np.diag(a)), 1, step, on="matrix").states[1]
    np.testing.assert_allclose(after / small, linear, rtol=1e-6)


@pytest.mark.parametrize("width", [2, 3, 5])
def test_any_factor_of_a_matrix_gives_its_path(width):
    rng = np.random.default_rng(width)
    u, a = 0.2 * rng.normal(size=(3, width)), np.diag([2.0, 1.0, 0.5])
    path = flow(Tied(u @ u.T, a), SHORT)
    np.testing.assert_allclose(path.states, rk4(u, a, 0.01, 400)[::40], rtol=0, atol=1e-7)


def test_a_second_moment_need_not_be_diagonal():
    w0, a, rng = drawn(5)
    q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    a_turned, w_turned = q @ a @ q.T, q @ w0 @ q.T
    turned = flow(Tied((w_turned + w_turned.T) / 2, (a_turned + a_turned.T) / 2), SHORT)
    straight = flow(Tied(w0, a), SHORT)
    np.testing.assert_allclose(q.T @ turned.states @ q, straight.states, rtol=0, atol=1e-7)


@given(seeds)
@settings(max_examples=20)
def test_states_stay_what_a_network_can_be(seed):
    w0, a, _ = drawn(seed)
    path = flow(Tied(w0, a), SHORT)
    np.testing.assert_array_equal(path.states, np.swapaxes(path.states, 1, 2))
    assert np.linalg.eigvalsh(path.states).min() >= -1e-12
    np.testing.assert_allclose(path.states[0], w0, rtol=0, atol=1e-12)
    assert (np.diff(path.losses) <= 1e-9).all()


@given(seeds, st.floats(-8.0, 8.0), st.sampled_from([1.0, 30.0]))
@settings(max_examples=20)
def test_stronger_signals_are_faster_time(seed, decades, longer):
    w0, a, _ = drawn(seed)
    strength = 10.0**decades
    one = flow(Tied(w0, a), longer * SHORT)
    other = flow(Tied(w0, strength * a), longer * SHORT / strength)
    assert other.outcome is FlowOutcome.REACHED
    np.testing.assert_allclose(one.states, other.states, rtol=0, atol=1e-7)


def test_two_records_far_apart():
    """Nothing but the start says where to begin: a first step that overflows is made smaller."""
    for size in (1e-4, 1.0, 1e4, 1e8):
        a = size * np.array([[9.5, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 2.0]])
        path = flow(Tied(100.0 * np.eye(3), a), np.array([0.0, 30.0 / size]))
        np.testing.assert_allclose(path.states[-1], np.eye(3), rtol=0, atol=1e-8)


@given(seeds)
@settings(max_examples=20)
def test_relabelled_and_mirrored_concepts_have_the_same_loss(seed):
    w0, a, rng = drawn(seed)
    mu, order = rng.normal(size=3), rng.permutation(3)
    sign = np.diag(rng.choice([-1.0, 1.0], size=3))
    expected = flow(Tied(w0, a), SHORT).probe_losses(mu)
    mirrored = flow(Tied(sign @ w0 @ sign, a), SHORT).probe_losses(sign @ mu)
    swap = np.ix_(order, order)
    relabelled = flow(Tied(w0[swap], a[swap]), SHORT).probe_losses(mu[order])
    np.testing.assert_allclose(mirrored, expected, rtol=0, atol=1e-7)
    np.testing.assert_allclose(relabelled, expected, rtol=0, atol=1e-7)


@given(seeds)
@settings(max_examples=20)
def test_diagonal_starts_are_logistic_curves_and_monotone(seed):
    _, a, rng = drawn(seed)
    size = rng.uniform(0.01, 0.9, size=3)
    path = flow(Tied(np.diag(size), a), SHORT)
    grown = np.exp(2 * np.outer(SHORT, np.diagonal(a)))
    logistic = size * grown / (1 - size + size * grown)
    np.testing.assert_allclose(np.diagonal(path.states, axis1=1, axis2=2), logistic, atol=1e-7)
    assert np.abs(path.states[:, ~np.eye(3, dtype=bool)]).max() == 0
    assert (np.diff(path.probe_losses(np.array([3.0, 2.0, 1.0]))) <= 1e-9).all()


def test_nothing_comes_of_nothing():
    path = flow(Tied(np.zeros((3, 3)), np.diag([2.0, 1.0, 0.5])), SHORT)
    np.testing.assert_array_equal(path.states, 0.0)
    assert path.notes == (
        "the initial matrix lacks rank: concepts 1, 2, 3 (counted from 1) are never learned",
    )


def test_a_start_without_rank_stays_on_the_plateau_and_says_so():
    path = flow(Tied(0.01 * np.ones((2, 2)), SIGNALS), fine(64.0))
    assert path.outcome is FlowOutcome.REACHED
    losses = path.probe_losses(TWO)[[100, 250, 1000, 3000]]  # at times 2, 5, 20 and 60
    np.testing.assert_allclose(losses[:2], [0.480248, 0.499951], rtol=0, atol=2e-6)
    np.testing.assert_allclose(losses[2:], 0.5, rtol=0, atol=2e-6)
    assert path.notes == (
        "the initial matrix lacks rank: concept 2 (counted from 1) is never learned",
    )
    q = np.array([[0.6, -0.8], [0.8, 0.6]])
    turned = flow(Tied(0.01 * np.ones((2, 2)), q @ SIGNALS @ q.T), fine(64.0))
    assert turned.notes == ("the initial matrix lacks rank: 1 direction(s) are never learned",)


def test_true_gradient_flow_is_exactly_twice_as_fast():
    w0, a, _ = drawn(1)
    paper, true = flow(Tied(w0, a), SHORT), flow(Tied(w0, a), SHORT / 2, clock="gradient")
    np.testing.assert_array_equal(paper.states, true.states)
    assert (paper.clock, true.clock) == ("paper", "gradient")


def test_gradient_descent_of_automatic_differentiation_is_the_descent():
    w0, a = two_concepts(0.1, 0.5), np.diag([2.0, 0.5])
    path = descend(Tied(w0, a), 50, 0.02)
    with jax.enable_x64(True):
        fixed = jnp.asarray(a)

        def loss(u: jax.Array) -> jax.Array:
            gap = u @ u.T - jnp.eye(2, dtype=u.dtype)
            return 0.5 * jnp.trace(gap @ fixed @ gap)

        slope = jax.jit(jax.grad(loss))
        u = jnp.asarray(np.linalg.cholesky(w0))
        for _ in range(50):
            u = u - 0.01 * slope(u)
        expected = np.asarray(u @ u.T)
    np.testing.assert_allclose(path.states[-1], expected, rtol=0, atol=1e-12)


def test_small_steps_approach_the_flow():
    w0, a, _ = drawn(2)
    end = flow(Tied(w0, a), SHORT).states[-1]  # to time 4
    apart = [np.abs(descend(Tied(w0, a), n, 4.0 / n).states[-1] - end).max() for n in (400, 800)]
    assert apart[0] < 0.02
    assert apart[1] / apart[0] == pytest.approx(0.5, abs=0.02)  # an error of first order


def test_squared_signals_are_their_own_second_moment():
    w0, a, _ = drawn(3)
    squared = flow(Tied(w0, a @ a), SHORT)
    np.testing.assert_array_equal(flow(Tied(w0, a, 2), SHORT).states, squared.states)


FEW = 256  # steps, which suffice for short times


def several() -> np.ndarray:
    return np.stack([drawn(seed)[0] for seed in range(4)]).reshape(2, 2, 3, 3)


def test_many_at_once_are_each_alone():
    starts, a, b = several(), np.diag([2.0, 1.0, 0.5]), np.diag([1.0, 1.0, 0.1])
    shared = flow(Tied(starts, a), SHORT, max_steps=FEW)
    assert shared.outcome is FlowOutcome.REACHED
    assert shared.states.shape == (2, 2, len(SHORT), 3, 3)
    own = flow(Tied(starts, np.stack([[a, b], [b, a]])), SHORT, max_steps=FEW)
    for i, j in np.ndindex(2, 2):
        alone = flow(Tied(starts[i, j], a), SHORT).states
        np.testing.assert_allclose(shared.states[i, j], alone, rtol=0, atol=1e-10)
        alone = flow(Tied(starts[i, j], a if i == j else b), SHORT).states
        np.testing.assert_allclose(own.states[i, j], alone, rtol=0, atol=1e-10)


def test_the_plain_integration_gives_the_same_figure():
    # The oracle itself is held to the recorded numbers, so that tests by it mean something.
    states = rk4(TRIPLE_CAPTION.u0, TRIPLE_CAPTION.signals(2), 0.01, 900)
    found = extrema(0.01 * np.arange(901), probe_loss(states, TRIPLE_CAPTION.means))
    matches(found, [(1.0604, 1.165620), (2.3454, 1.376923), (7.0905, 0.415061)], 0.003, 2e-5)


def test_arguments_are_left_alone_and_so_is_the_setting_of_jax():
    w0, a, _ = drawn(4)
    given_w, given_a, given_times = w0.copy(), a.copy(), SHORT.copy()
    before = jax.config.jax_enable_x64
    states = flow(Tied(w0, a), SHORT).states
    descend(Tied(w0, a), 3, 0.1)
    assert states.dtype == np.float64
    assert jax.config.jax_enable_x64 == before
    assert jnp.zeros(1).dtype == (jnp.float64 if before else jnp.float32)
    for now, then in ((w0, given_w), (a, given_a), (SHORT, given_times)):
        np.testing.assert_array_equal(now, then)


def test_running_out_of_steps_is_an_outcome():
    path = flow(Tied(several(), np.diag([2.0, 1.0, 0.5])), 1e5 * SHORT, max_steps=FEW)
    assert path.outcome is FlowOutcome.MAX_STEPS
    assert "raise max_steps" in path.outcome.value
    assert path.notes == ("4 of 4 flows ran out of steps, the first at 0",)
    assert np.isfinite(path.states[:, :, 0]).all()
    assert np.isnan(path.states[:, :, -1]).all()


EYE = np.eye(2) / 10
LOPSIDED = np.array([[0.1, 0.05], [0.0, 0.1]])
INDEFINITE = np.array([[0.1, 0.2], [0.2, 0.1]])
FLOW_REFUSALS = [
    ((LOPSIDED, EYE, SHORT), r"the initial matrix is symmetric; got entries that differ by 0\.05"),
    (
        (INDEFINITE, EYE, SHORT),
        r"tied network is positive semidefinite; got an eigenvalue of -0\.1; pass U @ U\.T of a f",
    ),
    (
        (EYE, np.stack([EYE, EYE]), SHORT),
        r"has the shape of the states, \(2, 2\), or of one of them; got shape \(2, 2, 2\); pass",
    ),
    ((EYE, LOPSIDED, SHORT), r"the second moment is symmetric; got entries that differ by 0\.05"),
    ((EYE, INDEFINITE, SHORT), r"a second moment has no negative eigenvalue; got -0\.1; pass E"),
    ((EYE, EYE, np.array([-1.0, 1.0])), r"times start at 0 or later and increase; got -1 first"),
    ((EYE, EYE, np.array([1.0, 0.5])), r"start at 0 or later and increase; got times that don't"),
    ((EYE, EYE, np.array([0.0, 1.0, 1.0])), r"and increase; got times that don't; sort them"),
]


@pytest.mark.parametrize(("passed", "sentence"), FLOW_REFUSALS)
def test_flows_refuse_in_a_sentence(passed, sentence):
    # Stacks that don't fit are refused past the checks of types.
    with pytest.raises(InputError, match=sentence):
        flow(past_type_checks(*passed[:2]), passed[2])


def past_type_checks(w0: np.ndarray, second_moment: np.ndarray) -> Tied:
    system = object.__new__(Tied)
    unwrap(Tied.__init__)(system, w0, second_moment)
    return system


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"power": 3}, r"power is 1 or 2; got 3; choose one of them"),
        ({"clock": "steps"}, r'clock is "paper" or "gradient"; got .steps.; choose one of them'),
        (
            {"rtol": 0.0},
            r"rtol is a finite number above 0 and below 1; got 0\.0; pass a number above 0 "
            r"and below 1",
        ),
    ],
)
def test_flows_refuse_options_in_a_sentence(options, sentence):
    power = options.pop("power", 1)
    with pytest.raises(InputError, match=sentence):
        flow(Tied(EYE, EYE, power), SHORT, **options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"step_size": 0.25}, r"between 0 and the stability limit 0\.25 of this system; got 0\.25"),
        ({"step_size": 0.1, "power": 2}, r"stability limit 0\.0625 of this system; got 0\.1; take"),
        ({"step_size": 0.0}, r"lies between 0 and the stability limit .*; got 0; take a smaller"),
        (
            {"steps": 0},
            r"steps is a whole number of at least 1; got 0; pass a whole number of at least 1",
        ),
        ({"on": "both"}, r'on is "factor" or "matrix"; got .both.; choose one'),
    ],
)
def test_descents_refuse_in_a_sentence(options, sentence):
    power = options.pop("power", 1)
    with pytest.raises(InputError, match=sentence):
        descend(Tied(EYE, np.diag([4.0, 0.5]), power), **{"steps": 10, "step_size": 0.1, **options})


@pytest.mark.parametrize(("share", "settles"), [(0.98, True), (1.02, False)])
def test_the_stability_limit_is_where_descent_leaves_the_identity(share, settles):
    a = np.diag([4.0, 0.5])
    near = np.eye(2) - 1e-3 * np.array([[1.0, 0.5], [0.5, 1.0]])
    u, step = np.linalg.cholesky(near), share * stability_limit(Tied(near, a))
    for _ in range(200):
        w = u @ u.T
        u = u + step * (a - 0.5 * (a @ w + w @ a)) @ u
    moved = abs((u @ u.T)[0, 0] - 1)
    assert (moved < 1e-4) == settles


@pytest.mark.parametrize("start", [1e-12, 1e-20, 1e-30])
def test_small_starts_are_followed_to_relative_accuracy(start):
    """Beside the logistic curves of a diagonal start; tolerances are 1e-9 for each step."""
    times = np.log(1 / start) / 2 * np.array([0.25, 0.5, 1.0])
    grown = start * np.exp(2 * np.outer(times, [2.0, 1.0, 0.5]))
    path = flow(Tied(start * np.eye(3), np.diag([2.0, 1.0, 0.5])), times)
    found = np.diagonal(path.states, axis1=1, axis2=2)
    np.testing.assert_allclose(found, grown / (1 - start + grown), rtol=1e-7)
