"""Trained diagonal networks against plain loops, closed forms and convex limits."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from descents import descend

from partwhole._checks import InputError
from partwhole.limits.diagonal import DiagonalWeights
from partwhole.training.engines import diagonal
from partwhole.training.engines.diagonal import Moment, Rows, prepare
from partwhole.training.outcome import Outcome

D = 6
SINGLE, DOUBLE = np.dtype("float32"), np.dtype("float64")


def problem(runs: int, n: int, d: int = D, seed: int = 0, noise: float = 0.0):
    rng = np.random.default_rng(seed)
    inputs = rng.standard_normal((runs, n, d))
    teachers = rng.standard_normal((runs, d)) * (rng.random((runs, d)) < 0.5)
    targets = np.einsum("rnd,rd->rn", inputs, teachers)
    return inputs, targets + noise * rng.standard_normal((runs, n)), teachers


# Two records and the end, as many as there are in most tests: training is compiled once for them.
FEW = [0, 2]


def start(runs: int, seed: int = 1, lead: tuple[int, ...] = ()) -> DiagonalWeights:
    rng = np.random.default_rng(seed)
    sizes = ((), lead, (), lead)
    return DiagonalWeights(*(0.5 * rng.standard_normal((runs, *size, D)) for size in sizes))


def plain(samples, weights, steps, rate, *, decay=0.0, readout_only=False, batches=None):
    """Take steps in NumPy on one mean square over the samples of all tasks."""
    hp, rp, hm, rm = (np.array(each, dtype=float) for each in weights)
    rp, rm = np.atleast_2d(rp), np.atleast_2d(rm)
    task = np.concatenate([np.full(len(y), t) for t, (_, y) in enumerate(samples)])
    x, y = np.concatenate([x for x, _ in samples]), np.concatenate([y for _, y in samples])
    for step in range(steps):
        rows = np.arange(len(y)) if batches is None else batches[step]
        by_hp, by_hm = 2 * decay * hp, 2 * decay * hm
        by_rp, by_rm = 2 * decay * rp, 2 * decay * rm
        for i in rows:
            t = task[i]
            gap = x[i] @ (hp * rp[t] - hm * rm[t]) - y[i]
            pull = 2 * gap * x[i] / len(rows)
            by_hp, by_hm = by_hp + pull * rp[t], by_hm - pull * rm[t]
            by_rp[t] += pull * hp
            by_rm[t] -= pull * hm
        if not readout_only:
            hp, hm = hp - rate * by_hp, hm - rate * by_hm
        rp, rm = rp - rate * by_rp, rm - rate * by_rm
    return hp * rp - hm * rm


@pytest.mark.parametrize("n", [4, 20])
@pytest.mark.parametrize(
    ("options", "precision", "tolerance"),
    [
        ({}, "float64", 1e-12),
        ({}, "float32", 2e-6),
        ({"trained": "readout"}, "float64", 1e-12),
        ({"weight_decay": 0.05}, "float64", 1e-12),
        ({"weight_decay": 0.05}, "float32", 2e-6),
    ],
    ids=["all", "all, single", "readout", "decay", "decay, single"],
)
def test_steps_are_those_of_a_plain_loop(options, n, precision, tolerance):
    # 20 samples of 6 features over 24 steps are read from their second moment, 4 are not.
    (x, y, b), weights = problem(3, n, noise=0.3), start(3)
    kind = Moment if n == 20 else Rows
    assert isinstance(prepare(x[0], y[0], 24, DOUBLE), kind)
    runs = descend(
        x, y, weights, steps=24, learning_rate=0.02, threshold=0.0, teachers=b,
        precision=precision, record=FEW, **options,
    )  # fmt: skip
    assert runs.steps.tolist() == [0, 2, 24]
    for run in range(3):
        own = DiagonalWeights(*(each[run] for each in weights))
        for place, step in enumerate(runs.steps):
            beta = plain(
                [(x[run], y[run])], own, step, 0.02,
                decay=options.get("weight_decay", 0.0), readout_only="trained" in options,
            )[0]  # fmt: skip
            # Numbers of order one to ten, so that single precision keeps six digits or more.
            assert runs.training_loss[run, place] == pytest.approx(
                np.mean((x[run] @ beta - y[run]) ** 2), rel=20 * tolerance, abs=tolerance
            )
            assert runs.test_loss[run, place] == pytest.approx(
                ((beta - b[run]) ** 2).sum(), rel=20 * tolerance, abs=tolerance
            )
        np.testing.assert_allclose(runs.networks.coefficients[run], beta, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(runs.task_loss, runs.training_loss)


def test_tasks_weigh_as_much_as_they_have_samples():
    (x1, y1, b1), (x2, y2, b2) = problem(2, 20, seed=3, noise=0.3), problem(2, 4, seed=4)
    weights = start(2, lead=(2,))
    runs = descend(
        [x1, x2], [y1, y2], weights, steps=24, learning_rate=0.02, threshold=0.0,
        teachers=[b1, b2], precision="float64",
    )  # fmt: skip
    assert runs.networks.coefficients.shape == (2, 2, D)
    for run in range(2):
        own = DiagonalWeights(*(each[run] for each in weights))
        beta = plain([(x1[run], y1[run]), (x2[run], y2[run])], own, 24, 0.02)
        np.testing.assert_allclose(runs.networks.coefficients[run], beta, rtol=0, atol=1e-12)
        squares = [
            (x @ b - y) ** 2
            for x, y, b in ((x1[run], y1[run], beta[0]), (x2[run], y2[run], beta[1]))
        ]
        np.testing.assert_allclose(
            runs.task_loss[run, :, -1], [each.mean() for each in squares], rtol=1e-10
        )
        assert runs.training_loss[run, -1] == pytest.approx(
            np.concatenate(squares).mean(), rel=1e-10
        )
        wanted = ((beta - [b1[run], b2[run]]) ** 2).sum(axis=1)
        np.testing.assert_allclose(runs.test_loss[run, :, -1], wanted, rtol=1e-10)
    frame = runs.to_frame()
    assert frame.task.tolist() == [0, 1, 0, 1]
    np.testing.assert_array_equal(frame.final_loss, runs.final_loss.ravel())


def test_batches_are_drawn_anew_for_each_epoch_from_the_seed():
    (x, y, _), weights = problem(2, 7), start(2)
    given = {"steps": 9, "learning_rate": 0.02, "batch": 3, "threshold": 0.0}
    runs = descend(x, y, weights, seed=[5, 8], precision="float64", **given)
    for run, seed in enumerate((5, 8)):
        rng = np.random.default_rng([seed, 101])
        orders = [rng.permutation(7) for _ in range(3)]
        batches = [order[at : at + 3] for order in orders for at in (0, 3, 6)]
        own = DiagonalWeights(*(each[run] for each in weights))
        beta = plain([(x[run], y[run])], own, 9, 0.02, batches=batches)[0]
        np.testing.assert_allclose(runs.networks.coefficients[run], beta, rtol=0, atol=1e-12)
    again = descend(x, y, weights, seed=[5, 8], precision="float64", **given)
    np.testing.assert_array_equal(runs.networks.coefficients, again.networks.coefficients)
    other = descend(x, y, weights, seed=[5, 9], precision="float64", **given)
    np.testing.assert_array_equal(runs.networks.coefficients[0], other.networks.coefficients[0])
    assert np.abs(runs.networks.coefficients[1] - other.networks.coefficients[1]).max() > 1e-4


def test_a_batch_of_all_samples_is_plain_descent():
    x, y, _ = problem(2, 4)
    given = {
        "steps": 20, "learning_rate": 0.02, "precision": "float64", "threshold": 0.0,
        "record": FEW,
    }  # fmt: skip
    whole = descend(x, y, start(2), **given)
    batches = descend(x, y, start(2), batch=100, seed=range(2), **given)
    np.testing.assert_allclose(
        whole.networks.coefficients, batches.networks.coefficients, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(whole.training_loss, batches.training_loss, rtol=1e-10)


@pytest.mark.parametrize("n", [4, 20])
def test_a_run_alone_is_the_run_among_others(n):
    (x, y, b), weights = problem(5, n), start(5)
    given = {"steps": 300, "learning_rate": 0.02, "threshold": 1e-4, "record": FEW}
    many = descend(x, y, weights, teachers=b, **given)
    assert len({*many.end_steps}) > 1  # each ends at its own step
    for run in (3, 0):
        own = slice(run, run + 1)
        alone = descend(
            x[own], y[own], DiagonalWeights(*(each[own] for each in weights)),
            teachers=b[own], **given,
        )  # fmt: skip
        np.testing.assert_array_equal(
            alone.networks.coefficients[0], many.networks.coefficients[run]
        )
        np.testing.assert_array_equal(alone.test_loss[0], many.test_loss[run])
        assert alone.end_steps[0] == many.end_steps[run]


def test_the_second_moment_is_left_alone_where_it_would_blur():
    x, y, _ = problem(1, 20)
    assert isinstance(prepare(x[0], y[0], 24, SINGLE), Moment)
    assert isinstance(prepare(x[0], y[0], 23, SINGLE), Rows)  # fewer than four steps a feature
    assert isinstance(prepare(x[0, :5], y[0, :5], 10**6, SINGLE), Rows)
    near = x[0].copy()
    near[:, 1] = near[:, 0] + 1e-4 * near[:, 1]
    assert isinstance(prepare(near, y[0], 10**6, SINGLE), Rows)


def test_what_flow_conserves_drifts_in_proportion_to_the_learning_rate():
    (x, y, _), weights = problem(1, 4), start(1)
    drifts = []
    for halvings in range(4):
        runs = descend(
            x, y, weights, steps=2000 * 2**halvings, learning_rate=0.02 / 2**halvings,
            threshold=0.0, precision="float64", record=FEW,
        )  # fmt: skip
        for hidden, readout in (("hidden_plus", "readout_plus"), ("hidden_minus", "readout_minus")):
            kept = [
                getattr(each, hidden) ** 2 - getattr(each, readout) ** 2
                for each in (weights, runs.networks)
            ]
            drifts.append(np.abs(kept[1] - kept[0]).max())
    found = np.array(drifts).reshape(4, 2)
    assert found[0].max() < 0.1
    # Halved with the learning rate, up to terms of the next order.
    np.testing.assert_allclose(found[2] / found[3], 2.0, rtol=0.05)


# Deterministic samples of 14 features, and what was learned before.
ROW, COLUMN = np.arange(1, 7)[:, None], np.arange(1, 15)
X14 = np.sqrt(2) * np.sin(0.7 * ROW * COLUMN + 0.31 * COLUMN**2)
LEARNED = np.array([1, -1, 0.5, 2, -0.25, *[0.0] * 9])
TRUE = np.zeros(14)
TRUE[[0, 1, 8]] = 0.8, -0.4, 0.6
Y14 = X14 @ TRUE


def end_of_flow(weights: DiagonalWeights, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Solve for the coefficients at which gradient flow from these weights ends.

    Along it w + v and w - v of a pathway grow as the exponential of x's part in the multipliers.
    """
    hp, rp, hm, rm = weights
    a, b = (hp + rp) ** 2 + (hm - rm) ** 2, (hp - rp) ** 2 + (hm + rm) ** 2

    def beta(multipliers: np.ndarray) -> np.ndarray:
        s = x.T @ multipliers
        return (a * np.exp(2 * s) - b * np.exp(-2 * s)) / 4

    def pull(_: float, multipliers: np.ndarray) -> np.ndarray:
        return y - x @ beta(multipliers)

    near = scipy.integrate.solve_ivp(pull, (0, 1e3), np.zeros(len(y)), method="LSODA").y[:, -1]
    found = scipy.optimize.root(lambda v: pull(0.0, v), near, tol=1e-13)
    assert np.abs(x @ beta(found.x) - y).max() < 1e-11
    return beta(found.x)


@pytest.mark.parametrize(("readout_scale", "rescale"), [(0.1, 1.0), (0.1, 0.3), (1.0, 1.0)])
def test_small_steps_end_where_flow_does(readout_scale, rescale):
    weights = DiagonalWeights.pretrained(LEARNED, 0.01)
    weights = weights.for_finetuning(rescale=rescale, readout_scale=readout_scale)
    wanted = end_of_flow(weights, X14, Y14)
    apart = []
    for rate in (4e-3, 2e-3):
        runs = descend(
            X14[None], Y14[None], weights, steps=2_000_000, learning_rate=rate,
            threshold=1e-18, precision="float64", record=2_000_000,
        )  # fmt: skip
        assert runs.outcomes[0] is Outcome.REACHED_THRESHOLD
        apart.append(
            np.linalg.norm(runs.networks.coefficients[0] - wanted) / np.linalg.norm(wanted)
        )
    assert apart[0] < 0.02
    # What is left is of the first order in the learning rate.
    assert apart[0] / apart[1] == pytest.approx(2.0, rel=0.05)


def test_a_trained_readout_is_the_nearest_solution_in_the_hidden_layers_units():
    weights = DiagonalWeights.pretrained(LEARNED, 0.01).for_finetuning(readout_scale=0.1)
    runs = descend(
        X14[None], Y14[None], weights, steps=400_000, learning_rate=0.3, threshold=1e-22,
        trained="readout", precision="float64", test=(X14[::2], Y14[::2]),
    )  # fmt: skip
    size = weights.hidden_plus**2 + weights.hidden_minus**2
    first = weights.coefficients
    apart = np.linalg.solve((X14 * size) @ X14.T, Y14 - X14 @ first)
    wanted = first + size * (X14.T @ apart)
    np.testing.assert_allclose(runs.networks.coefficients[0], wanted, atol=1e-8)
    np.testing.assert_array_equal(runs.networks.hidden_plus[0], weights.hidden_plus)
    errors = (X14[::2] @ first - Y14[::2]) ** 2
    assert runs.test_loss[0, 0] == pytest.approx(errors.mean(), rel=1e-12)


def test_weight_decay_ends_at_the_least_group_norm():
    decay = 1e-2
    (x1, y1, _), (x2, y2, _) = problem(1, 12, seed=5), problem(1, 4, seed=6)
    runs = descend(
        [x1, x2], [y1, y2], DiagonalWeights.constant(D, 0.3, n_tasks=2), steps=400_000,
        learning_rate=0.02, weight_decay=decay, threshold=0.0, precision="float64",
    )  # fmt: skip
    beta = cp.Variable((2, D))
    squares = cp.sum_squares(x1[0] @ beta[0] - y1[0]) + cp.sum_squares(x2[0] @ beta[1] - y2[0])
    norms = cp.sum(cp.norm(beta, 2, axis=0))
    least = cp.Problem(cp.Minimize(squares / 16 / 2 + decay * norms)).solve(solver=cp.CLARABEL)
    found = runs.networks.coefficients[0]
    norm = np.linalg.norm(found, axis=0).sum()
    # Half the loss that is descended, as the Lagrangian of the least group norm is written.
    theta = sum(float((each**2).sum()) for each in runs.networks)
    half = runs.training_loss[0, -1] / 2
    assert half + decay * norm == pytest.approx(least, rel=1e-6)  # the solver's own accuracy
    assert half + decay * theta / 2 == pytest.approx(least, rel=1e-6)
    np.testing.assert_allclose(found, beta.value, atol=1e-4)


def two_teachers(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw what was learned, a main task without overlap, and its samples: 40 of 1,000 features."""
    rng = np.random.default_rng(seed)
    place, signs = rng.permutation(1000), np.sign(rng.random(40) - 0.5)
    learned, main = np.zeros((2, 1000))
    learned[place[:40]] = main[place[40:80]] = signs / np.sqrt(40)
    inputs = rng.standard_normal((n, 1000))
    return learned, main, inputs / np.sqrt((inputs**2).mean(axis=1, keepdims=True))


def test_the_best_loss_hides_the_harm_that_the_final_loss_shows():
    drawn = [two_teachers(seed, 32) for seed in range(100, 106)]
    learned, main, x = (np.stack(each) for each in zip(*drawn, strict=True))
    weights = DiagonalWeights.pretrained(learned, 1e-3).for_finetuning(readout_scale=1e-3)
    runs = descend(
        x,
        np.einsum("rnd,rd->rn", x, main),
        weights,
        teachers=main,
        steps=20_000,
        record=50,
        threshold=1e-10,
    )
    assert set(runs.outcomes) == {Outcome.REACHED_THRESHOLD}
    # Before the first step the network answers nearly 0, and the squares of the teacher sum to 1.
    np.testing.assert_allclose(runs.best_loss, 1.0, rtol=0.01)
    assert (runs.best_step == 0).all()
    assert runs.final_loss.mean() == pytest.approx(2.389, rel=0.03)  # of published settings
    # Flow ends at 2.366, a percent lower; the solver here shares nothing with training.
    alone = DiagonalWeights(*(each[5] for each in weights))
    exact = end_of_flow(alone, x[5], x[5] @ main[5])
    assert runs.final_loss[5] == pytest.approx(((exact - main[5]) ** 2).sum(), rel=0.03)


def test_a_run_ends_at_its_first_step_below_the_threshold():
    x, y, b = problem(1, 4)
    given = {"learning_rate": 0.02, "precision": "float64", "teachers": b}
    every = descend(x, y, start(1), steps=5000, threshold=0.0, record=1, **given)
    below = int(np.argmax(every.training_loss[0] <= 1e-3))
    runs = descend(x, y, start(1), steps=5000, threshold=1e-3, record=50, **given)
    assert runs.end_steps[0] == below > 50
    assert runs.steps.tolist() == [*range(0, 5001, 50)]
    np.testing.assert_array_equal(
        runs.training_loss[0, runs.steps > below], every.training_loss[0, below]
    )
    assert runs.final_loss[0] == every.test_loss[0, below]
    assert every.best_step[0] == every.test_loss[0].argmin()
    assert every.best_loss[0] == every.test_loss[0].min()
    assert runs.best_step[0] <= below


def test_outcomes_say_how_far_a_run_came_and_what_to_do():
    x, y, b = problem(2, 4)
    runs = descend(x, y, start(2), steps=3, learning_rate=0.02, record=FEW, threshold=1e-10)
    assert runs.outcomes == (Outcome.REACHED_MAX_STEPS,) * 2
    assert runs.messages[1].startswith("run 1 ran all steps and stayed above the threshold; train ")
    assert (
        f"(step 3, training loss {runs.training_loss[1, -1]:.3g}, threshold 1e-10)"
        in (runs.messages[1])
    )
    with pytest.raises(InputError, match="a test loss needs something to test on; got neither tea"):
        _ = runs.final_loss
    assert "final_loss" not in runs.to_frame()
    ahead = DiagonalWeights.pretrained(b, 1e-3)
    done = descend(x, y, ahead, steps=3, threshold=1e-3, teachers=b, record=FEW)
    assert done.outcomes == (Outcome.REACHED_THRESHOLD,) * 2
    assert done.end_steps.tolist() == [0, 0]
    assert done.to_frame().outcome.tolist() == ["reached_threshold"] * 2


@pytest.mark.parametrize("batches", [{}, {"batch": 2, "seed": range(2)}])
def test_a_run_that_diverges_is_told_and_started_anew_if_asked(batches):
    x, y, b = problem(2, 4)
    x[1] *= 0.01
    y[1] *= 0.01  # stable at a rate at which the other is not
    given = {"steps": 400, "learning_rate": 2.0, "teachers": b, "record": FEW, **batches}
    runs = descend(x, y, start(2), **given)
    assert runs.outcomes[0] is Outcome.DIVERGED
    assert runs.outcomes[1] is Outcome.RAN_ALL_STEPS
    assert "take a smaller learning rate, or restarts=3" in runs.messages[0]
    assert runs.best_loss[0] <= runs.test_loss[0, 0]
    again = descend(x, y, start(2), restarts=3, **given)
    assert Outcome.DIVERGED not in again.outcomes
    assert again.learning_rates[0] in (0.2, 0.02, 0.002)
    assert again.learning_rates[1] == 2.0
    direct = descend(x, y, start(2), **{**given, "learning_rate": float(again.learning_rates[0])})
    np.testing.assert_array_equal(again.networks.coefficients[0], direct.networks.coefficients[0])
    np.testing.assert_array_equal(again.networks.coefficients[1], runs.networks.coefficients[1])


def test_inputs_are_left_as_they_were():
    x, y, b = problem(2, 20)
    weights = start(2)
    before = [each.copy() for each in (x, y, b, *weights)]
    descend(x, y, weights, steps=50, learning_rate=0.02, teachers=b, record=FEW)
    for now, then in zip((x, y, b, *weights), before, strict=True):
        np.testing.assert_array_equal(now, then)


GOOD = {
    "inputs": np.ones((2, 3, D)),
    "targets": np.ones((2, 3)),
    "networks": DiagonalWeights.constant(D, 0.1),
    "steps": 3,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"inputs": np.ones((3, 5))},
            r"inputs have shape \(n, 6\) or \(runs, n, 6\); got shape \(3, 5\); pass a row for",
        ),
        (
            {"inputs": np.full((2, 3, D), np.nan)},
            r"data\[0\] is an array of finite numbers; got 36 that are NaN",
        ),
        (
            {"inputs": "none"},
            "data is a pair .an array of finite numbers, .*; got a tuple of 2; pass one of these",
        ),
        (
            {"targets": np.ones((3, 2))},
            r"targets have shape \(2, 3, 1\) or \(2, 3\) to go with inputs; got shape \(3, 2\); pa",
        ),
        (
            {"teachers": np.ones(D)},
            r"teachers have shape \(2, 6\) to go with the inputs; got shape \(6,\); pass one in ea",
        ),
        (
            {"test": (np.ones((4, 5)), np.ones(4))},
            r"test inputs have shape \(n, 6\) or \(2, n, 6\); got shape \(4, 5\); pass a row",
        ),
        (
            {"test": (np.ones((4, D)), np.ones(5))},
            r"test targets have shape \(4, 1\) or \(4,\) to go with test inputs; got shape \(5,\)",
        ),
        (
            {"test": (np.ones((4, D)), np.ones(4)), "teachers": np.ones((2, D))},
            "a test is teachers, or a pair of inputs and targets; got both kinds; pass teachers=",
        ),
        (
            {"networks": DiagonalWeights.constant(D, 0.1, n_tasks=3)},
            r"weights readout_plus have shape \(6,\) or \(2, 6\); got shape \(3, 6\); start from",
        ),
        ({"steps": 0}, "steps is a whole number of at least 1; got 0"),
        ({"learning_rate": -1}, "learning_rate is a finite number above 0; got -1; pass"),
        ({"threshold": -1.0}, "threshold is a finite number of at least 0; got -1.0; pass"),
        ({"weight_decay": np.inf}, "weight_decay is a finite number of at least 0; got inf"),
        ({"trained": "hidden"}, 'trained is "all" or "readout"; got \'hidden\'; choose one of'),
        (
            {"precision": "half"},
            'precision is "float32", "float64" or "bfloat16"; got \'half\'; choose',
        ),
        ({"batch": 0}, "batch is a whole number of at least 1; got 0; pass"),
        ({"batch": 2, "seed": [0]}, r"takes a seed for each of 2 runs; got 1; pass range\(2\)"),
        ({"restarts": -1}, "restarts is a whole number of at least 0; got -1; pass"),
        ({"record": "epochs"}, "record is \"geometric\"; got 'epochs'; choose one of them"),
        ({"record": 0}, "record is a whole number of at least 1; got 0; pass 50 for every 50"),
        ({"record": 2.5}, "record is a whole number; got 2.5; pass one"),
        ({"record": [2, 9]}, "steps to record are whole numbers that increase, from 0 to 3; got"),
        (
            {"optimiser": "adam"},
            "trained are diagonal networks on squares, by sgd; .*; got DiagonalWeights, the loss "
            "'squared', adam; leave out what is of other networks",
        ),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        descend(**{**GOOD, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": [], "targets": []}, "data is a pair of inputs and targets, or a list of pair"),
        (
            {"teachers": [np.ones((2, D))]},
            "if there are any, teachers; got 2 tasks and 1 with teachers; pass lists of one length",
        ),
        (
            {"inputs": [np.ones((2, 3, D)), np.ones((2, 3, 5))]},
            r"inputs have shape \(n, 6\) or \(2, n, 6\); got shape \(2, 3, 5\); pass a row for",
        ),
        (
            {"inputs": [np.ones((2, 3, D)), np.ones((3, 3, D))]},
            r"inputs have shape \(n, 6\) or \(2, n, 6\); got shape \(3, 3, 6\); pass a row for",
        ),
        (
            {"networks": DiagonalWeights.constant(D, 0.1)},
            r"weights readout_plus have shape \(2, 6\) or \(2, 2, 6\); got shape \(6,\); start fr",
        ),
    ],
)
def test_tasks_that_do_not_fit_together_are_refused(change, message):
    good = {
        "inputs": [np.ones((2, 3, D))] * 2,
        "targets": [np.ones((2, 3))] * 2,
        "networks": DiagonalWeights.constant(D, 0.1, n_tasks=2),
        "steps": 3,
    }
    with pytest.raises(InputError, match=message):
        descend(**{**good, **change})


def test_records_beyond_memory_are_refused_at_once(monkeypatch):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("training began")

    monkeypatch.setattr(diagonal, "_all_samples", never)
    x, y = np.ones((1, 1, 100_000), dtype=np.float32), np.ones((1, 1), dtype=np.float32)
    message = "training takes up to 8 GiB beside the samples; got about .*; record fewer steps"
    with pytest.raises(InputError, match=message):
        descend(x, y, DiagonalWeights.constant(100_000, 0.1), steps=10**5, record=1)


@pytest.mark.parametrize("name", ["inputs", "targets"])
def test_samples_that_overflow_in_single_precision_are_refused(name):
    good = {**GOOD, "inputs": np.ones((2, 4, D)), "targets": np.ones((2, 4)), "record": FEW}
    large = {**good, name: 1e19 * good[name]}
    message = (
        rf"{name} of training in single precision are of size 1e\+18 at most; got 1e\+19; pass "
        'precision="float64", or rescale inputs and targets to order 1'
    )
    with pytest.raises(InputError, match=message):
        descend(**large)
    # In double precision the rate is what there is to blame.
    rate = 1e-40 if name == "inputs" else 1e-3
    double = descend(**large, precision="float64", learning_rate=rate)
    assert np.isfinite(double.training_loss[:, 0]).all()
