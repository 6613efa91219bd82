"""The flow on several tasks against the flow on one, a general integrator, and convex problems."""

from __future__ import annotations

import re

import cvxpy as cp
import numpy as np
import pytest
from reuse_oracles import AUXILIARY, MAIN, draw, least_group_norm, x1, x14
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from partwhole._checks import InputError
from partwhole.flows import Diagonal, FlowOutcome, _many_tasks, flow
from partwhole.flows._stabilised import stabilised_steps
from partwhole.flows.conserved import conserved
from partwhole.flows.quadratic_loss import QuadraticLoss
from partwhole.limits.diagonal import DiagonalWeights

X, XA = x14(), x1()
Y, YA = X @ MAIN, XA @ AUXILIARY


def drawn(seed: int, k: int = 2, d: int = 6) -> tuple[DiagonalWeights, list]:
    rng = np.random.default_rng(seed)
    w, x = 0.5 * rng.normal(size=(2, d))
    v, y = 0.5 * rng.normal(size=(2, k, d))
    tasks = [(rng.normal(size=(n, d)), rng.normal(size=n)) for n in (9, 3, 4)[:k]]
    return DiagonalWeights(w, v, x, y), tasks


def unpacked(theta: np.ndarray, k: int, d: int) -> DiagonalWeights:
    w, v, x, y = np.split(theta, np.cumsum([d, k * d, d]))
    return DiagonalWeights(w, v.reshape(k, d), x, y.reshape(k, d))


def packed(weights: DiagonalWeights) -> np.ndarray:
    return np.concatenate([each.ravel() for each in weights])


def loss_over_samples(theta: np.ndarray, tasks: list, k: int, d: int) -> float:
    beta = unpacked(theta, k, d).coefficients
    errors = [x @ b - y for (x, y), b in zip(tasks, beta, strict=True)]
    return float((np.concatenate(errors) ** 2).mean())


def velocity(theta: np.ndarray, tasks: list, k: int, d: int) -> np.ndarray:
    now = unpacked(theta, k, d)
    n = sum(len(y) for _, y in tasks)
    push = np.array(
        [-2 / n * x.T @ (x @ b - y) for (x, y), b in zip(tasks, now.coefficients, strict=True)]
    )
    w, v, x, y = now
    return packed(
        DiagonalWeights((push * v).sum(axis=0), push * w, -(push * y).sum(axis=0), -push * x)
    )


def test_the_oracle_is_the_gradient_of_one_mean_over_all_samples():
    weights, tasks = drawn(0)
    theta, slope = packed(weights), []
    for i in range(len(theta)):
        nudge = 1e-6 * (np.arange(len(theta)) == i)
        up, down = (loss_over_samples(theta + s * nudge, tasks, 2, 6) for s in (1, -1))
        slope.append((up - down) / 2e-6)
    np.testing.assert_allclose(velocity(theta, tasks, 2, 6), -np.array(slope), atol=1e-8)


@pytest.mark.parametrize(("seed", "k"), [(0, 2), (1, 2), (2, 3)])
def test_the_path_is_that_of_a_general_integrator(seed, k):
    weights, tasks = drawn(seed, k)
    times = np.array([0.0, 0.5, 2.0, 20.0])
    theta = solve_ivp(
        lambda _, now: velocity(now, tasks, k, 6),
        (0, 20),
        packed(weights),
        method="DOP853",
        t_eval=times,
        rtol=1e-11,
        atol=1e-13,
    ).y.T
    path = flow(Diagonal(weights, tasks=tasks), times)
    assert path.outcome is FlowOutcome.REACHED
    # Steps of order 2 and an error of 1e-7 each, some thousands of them.
    ours = np.array([packed(DiagonalWeights(*(e[t] for e in path.weights))) for t in range(4)])
    np.testing.assert_allclose(ours, theta, rtol=0, atol=2e-5)
    told = [loss_over_samples(now, tasks, k, 6) for now in ours]
    np.testing.assert_allclose(path.losses, told, rtol=1e-10)
    assert path.system.task_losses(path.states).shape == (4, k)


def test_errors_fall_with_the_tolerance_as_of_order_2():
    weights, tasks = drawn(3)
    times = np.array([10.0])
    exact = flow(Diagonal(weights, tasks=tasks), times, rtol=1e-8, atol=1e-11)
    gaps = []
    for rtol in (1e-3, 1e-5):
        path = flow(Diagonal(weights, tasks=tasks), times, rtol=rtol, atol=1e-3 * rtol)
        gaps.append(np.abs(path.states - exact.states).max())
    # The error of a step is of third order in it and that of the path of second: 100^(2/3) = 22.
    assert 10 < gaps[0] / gaps[1] < 50


def test_one_task_is_the_flow_on_one_task():
    pretrained = DiagonalWeights.pretrained(AUXILIARY, 0.01)
    w, v, x, y = pretrained.for_finetuning(rescale=0.3, readout_scale=0.1)
    times = np.array([0.0, 10.0, 100.0])
    alone = flow(Diagonal(DiagonalWeights(w, v, x, y), X, Y), times)
    shared = flow(Diagonal(DiagonalWeights(w, v[None], x, y[None]), tasks=[(X, Y)]), times)
    # As above.
    np.testing.assert_allclose(shared.states[:, 0], alone.states[:, 0], atol=2e-6)


def test_small_weights_do_not_end_at_the_least_group_norm():
    start = DiagonalWeights.constant(14, 0.01, n_tasks=2)
    path = flow(Diagonal(start, tasks=[(XA, YA), (X, Y)]), until=1e-14, rtol=1e-6, atol=1e-9)
    end = path.states[-1]
    least = least_group_norm(X, Y, AUXILIARY)
    value = np.hypot(least, AUXILIARY).sum()
    assert value == pytest.approx(5.162367, abs=1e-6)
    np.testing.assert_allclose(
        least[:5], [0.785973, -0.401042, 0.005555, -0.040580, -0.053199], atol=2e-5
    )
    np.testing.assert_allclose(end[0], AUXILIARY, atol=1e-5)
    assert np.hypot(end[1], AUXILIARY).sum() == pytest.approx(5.175427, abs=2e-6)
    away = np.linalg.norm(end[1] - least) / np.linalg.norm(least)
    assert away == pytest.approx(0.1153, abs=5e-5)


def test_products_of_the_pathways_are_conserved():
    weights, tasks = drawn(1)
    w, v, x, y = weights
    kept = conserved(weights, many_tasks=True)
    np.testing.assert_allclose(kept[0], w**2 - (v**2).sum(axis=0), atol=1e-15)
    np.testing.assert_allclose(kept[2], w * x + (v * y).sum(axis=0), atol=1e-15)
    # Their rate of change is 0 whatever moves the weights.
    speed = unpacked(velocity(packed(weights), tasks, 2, 6), 2, 6)
    ahead, behind = (
        conserved(
            DiagonalWeights(*(a + s * b for a, b in zip(weights, speed, strict=True))),
            many_tasks=True,
        )
        for s in (1.0, -1.0)
    )
    np.testing.assert_allclose(ahead - behind, 0, atol=1e-13)
    assert np.abs(ahead - kept).max() > 1e-3  # a straight step does break them


def test_a_population_is_a_sample_with_its_second_moment():
    weights, _ = drawn(2)
    rng = np.random.default_rng(5)
    x, b, main = rng.normal(size=(30, 6)), rng.normal(size=6), rng.normal(size=(3, 6))
    tasks = [(x, x @ b), (main, main @ b)]
    times = np.array([0.0, 1.0, 10.0])
    sampled = flow(Diagonal(weights, tasks=tasks, shares=(0.7, 0.3)), times, rtol=1e-5)
    whole = QuadraticLoss.from_population(b, x.T @ x / 30)
    known = flow(Diagonal(weights, tasks=[whole, tasks[1]], shares=(0.7, 0.3)), times, rtol=1e-5)
    np.testing.assert_allclose(known.states, sampled.states, atol=1e-8)
    np.testing.assert_allclose(known.losses, sampled.losses, atol=1e-8)


def test_a_thousand_features_fit_both_tasks():
    task = draw(1, 32, overlap=20)
    auxiliary = QuadraticLoss.from_population(task.auxiliary)
    path = flow(
        Diagonal(
            DiagonalWeights.constant(1000, 1e-3, n_tasks=2),
            tasks=[auxiliary, (task.inputs, task.targets)],
            shares=(32 / 33, 1 / 33),
        ),
        until=1e-10,
        rtol=1e-6,
        atol=1e-9,
    )
    assert path.outcome is FlowOutcome.FITTED
    assert path.losses[-1] == pytest.approx(
        path.system.task_losses(path.states)[-1] @ [32 / 33, 1 / 33], rel=1e-12
    )
    end = path.states[-1]
    assert ((end[0] - task.auxiliary) ** 2).sum() <= 33 / 32 * 1e-10
    assert ((task.inputs @ end[1] - task.targets) ** 2).mean() <= 33e-10
    assert path.states.shape == (2, 2, 1000)
    table = path.to_frame()
    assert table.columns[:3].tolist() == ["time", "loss", "w1,1"]
    np.testing.assert_array_equal(table["w2,7"], path.states[:, 1, 6])


def test_weight_decay_is_the_group_norm():
    rng = np.random.default_rng(0)
    d, decay, n = 5, 0.05, 11
    tasks = [(rng.normal(size=(7, d)), rng.normal(size=7)), (rng.normal(size=(4, d)), np.ones(4))]

    def objective(theta):
        value = loss_over_samples(theta, tasks, 2, d) / 2 + decay / 2 * theta @ theta
        return value, -velocity(theta, tasks, 2, d) / 2 + decay * theta

    found = min(
        minimize(
            objective,
            rng.normal(size=6 * d),
            jac=True,
            method="BFGS",
            options={"gtol": 1e-10, "maxiter": 20_000},
        ).fun
        for _ in range(5)
    )
    beta = cp.Variable((2, d))
    errors = [cp.sum_squares(x @ beta[t] - y) for t, (x, y) in enumerate(tasks)]
    norm = cp.sum(cp.norm(beta, axis=0))
    problem = cp.Problem(cp.Minimize(sum(errors) / (2 * n) + decay * norm))
    assert found == pytest.approx(problem.solve(solver=cp.CLARABEL), rel=1e-6)


def test_a_loss_that_is_not_reached_is_told():
    weights, tasks = drawn(0)
    early = flow(Diagonal(weights, tasks=tasks), until=1.0, max_time=1e-3)
    assert early.outcome is FlowOutcome.NOT_FITTED
    few = flow(Diagonal(weights, tasks=tasks), np.array([100.0]), max_steps=20)
    assert few.outcome is FlowOutcome.MAX_STEPS
    assert len(few.times) == 1
    assert 0 < few.times[-1] < 100
    wild = DiagonalWeights(*(np.full_like(each, 1e150) for each in weights))
    with np.errstate(over="ignore", invalid="ignore"):
        assert flow(Diagonal(wild, tasks=tasks), np.array([1.0])).outcome is FlowOutcome.STUCK


@pytest.mark.parametrize("bound", [50, 2000])
def test_work_is_bounded_by_gradients(bound, monkeypatch):
    """Steps of a stiff flow take up to 400 each, so that few of them may take long."""
    calls = 0

    def counted(velocity, *given, **options):
        def one(state):
            nonlocal calls
            calls += 1
            return velocity(state)

        return stabilised_steps(one, *given, **options)

    monkeypatch.setattr(_many_tasks, "stabilised_steps", counted)
    task = QuadraticLoss.from_population(np.array([1e4, 1.0, 0.0]))
    start = DiagonalWeights.constant(3, 1e-3, n_tasks=1)
    path = flow(Diagonal(start, tasks=[task], shares=(1.0,)), until=1e-20, max_gradients=bound)
    assert path.outcome is FlowOutcome.MAX_GRADIENTS
    assert "ran out of gradient evaluations" in path.describe()
    assert path.times[-1] > 0
    # One step more, with its look at the fastest rate.
    assert bound <= calls < bound + 450
    # How far it got is on the path that is taken without a bound.
    free = flow(Diagonal(start, tasks=[task], shares=(1.0,)), path.times)
    np.testing.assert_allclose(path.states, free.states, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"tasks": drawn(0)[1][:1]}, "the network has a readout for each task, 2; got 1 tasks"),
        (
            {"tasks": [drawn(0)[1][0], (np.ones((2, 5)), np.ones(2))]},
            "tasks have as many features as the network, 6; got 6, 5",
        ),
        ({"shares": (1.0,)}, "shares are 2 numbers above 0, one for each task; got 1"),
        ({"shares": (1.0, 0.0)}, "shares are 2 numbers above 0"),
        ({"max_gradients": 0}, "max_gradients is a whole number of at least 1; got 0; pass"),
        (
            {"tasks": [np.ones((3, 6)), np.ones((2, 6))]},
            "tasks[0] is a pair (an array of finite numbers, an array of finite numbers); got 3",
        ),
        (
            {"tasks": [QuadraticLoss.from_population(np.ones(6)), drawn(0)[1][1]]},
            "and a population has none; got 1 of 2 tasks given by their population; pass shares=",
        ),
        ({"rtol": -1.0}, "rtol is a finite number above 0 and below 1; got -1.0; pass a number"),
        (
            {"weights": DiagonalWeights(*2 * (np.zeros(6), np.zeros((2, 6))))},
            "a flow starts at weights of which some are not 0; got zeros alone",
        ),
        ({"times": None}, "got neither"),
        ({"times": None, "until": 1e-9}, "no coefficients come nearer to all targets at once"),
        ({"weights": DiagonalWeights.constant(6, 1.0)}, "a readout for each task, 1; got 2 tasks"),
    ],
)
def test_what_is_refused(change, text):
    weights, tasks = drawn(0)
    system = {"weights": weights, "tasks": tasks}
    options = {"times": np.array([0.0, 1.0])}
    for name, value in change.items():
        (system if name in ("weights", "tasks", "shares") else options)[name] = value
    with pytest.raises(InputError, match=re.escape(text)):
        flow(Diagonal(**system), **options)
