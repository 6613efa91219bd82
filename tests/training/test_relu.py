"""Trained ReLU networks against plain loops, and ridge regression against scikit-learn."""

from __future__ import annotations

from importlib import import_module
from itertools import islice

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from descents import descend
from sklearn.linear_model import Ridge

from partwhole._checks import InputError
from partwhole.networks import MLP, Architecture, mlp, outputs
from partwhole.tasks.relu_teachers import ReLUTeachers
from partwhole.training.engines import two_layers
from partwhole.training.engines.two_layers import expected_error, layouts_of
from partwhole.training.order import batch_order
from partwhole.training.outcome import Outcome
from partwhole.training.relu_probing import kernel, relu_probing

D, H = 3, 7
TEACHERS = ReLUTeachers(dimension=D, units_aux=2, correlations=[1])


def problem(runs: int, n: int, n_aux: int = 0, n_test: int = 0):
    drawn = [TEACHERS.sample(seed, n, n_aux, n_test) for seed in range(runs)]

    def each(name: str):
        found = [getattr(sample, name) for sample in drawn]
        return np.stack(found) if isinstance(found[0], np.ndarray) else found

    return each


def start(runs: int, k: int = 1, scale: float = 0.7) -> MLP:
    built = Architecture(2, H, "relu", bias=False, initial="he", scale=scale)
    return built.networks(D, seeds=range(runs), outputs=k)


def of(network: MLP, run: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.asarray(each, dtype=float)[run] for each in network.weights)


def plain(samples, weights, steps, rate, *, decay=0.0, readout_only=False, batches=None):
    """Take steps in NumPy, sample by sample; batches are lists of rows with their parts."""
    w, v = (each.copy() for each in weights)
    task = np.concatenate([np.full(len(y), t) for t, (_, y) in enumerate(samples)])
    x, y = np.concatenate([x for x, _ in samples]), np.concatenate([y for _, y in samples])
    everything = [(row, 1 / len(y)) for row in range(len(y))]
    for step in range(steps):
        by_w, by_v = 2 * decay * w, 2 * decay * v
        for i, part in everything if batches is None else batches[step]:
            into, t = w @ x[i], task[i]
            active = into > 0
            pull = 2 * part * (v[t] @ (active * into) - y[i])
            by_v[t] += pull * active * into
            by_w = by_w + np.outer(pull * v[t] * active, x[i])
        if not readout_only:
            w = w - rate * by_w
        v = v - rate * by_v
    return w, v


def answers(weights, x) -> np.ndarray:
    return np.maximum(x @ weights[0].T, 0) @ weights[1].T


@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize(
    "options", [{}, {"trained": "readout"}, {"weight_decay": 0.05}], ids=["all", "readout", "decay"]
)
def test_steps_are_those_of_a_plain_loop(options, precision, tolerance):
    each, networks = problem(2, 9, n_test=11), start(2)
    x, y = each("inputs"), each("targets")
    runs = descend(
        x, y, networks, steps=30, learning_rate=0.05, threshold=0.0, record=[0, 7],
        test=(each("test_inputs"), each("test_targets")),
        precision=precision, **options,
    )  # fmt: skip
    assert runs.steps.tolist() == [0, 7, 30]
    assert runs.networks.weights[0].dtype == precision
    for run in range(2):
        weights = of(networks, run)
        for place, step in enumerate(runs.steps):
            weights = plain(
                [(x[run], y[run])], of(networks, run), step, 0.05,
                decay=options.get("weight_decay", 0.0), readout_only="trained" in options,
            )  # fmt: skip
            gap = answers(weights, x[run])[:, 0] - y[run]
            off = answers(weights, each("test_inputs")[run])[:, 0] - each("test_targets")[run]
            # Numbers of order one.
            assert runs.training_loss[run, place] == pytest.approx((gap**2).mean(), rel=tolerance)
            assert runs.test_loss[run, place] == pytest.approx((off**2).mean(), rel=tolerance)
        for one, other in zip(of(runs.networks, run), weights, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(runs.task_loss, runs.training_loss)


def test_tasks_weigh_as_much_as_they_have_samples():
    each, networks = problem(2, 4, n_aux=10), start(2, 2)
    x, y = [each("aux_inputs"), each("inputs")], [each("aux_targets"), each("targets")]
    teachers = [each("auxiliary"), each("main")]
    runs = descend(
        x, y, networks, steps=25, learning_rate=0.05, threshold=0.0, teachers=teachers,
        precision="float64",
    )  # fmt: skip
    for run in range(2):
        samples = [(x[t][run], y[t][run]) for t in range(2)]
        w, v = plain(samples, of(networks, run), 25, 0.05)
        np.testing.assert_allclose(of(runs.networks, run)[0], w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(of(runs.networks, run)[1], v, rtol=0, atol=1e-12)
        squares = [(answers((w, v), a)[:, t] - b) ** 2 for t, (a, b) in enumerate(samples)]
        wanted = [one.mean() for one in squares]
        np.testing.assert_allclose(runs.task_loss[run, :, -1], wanted, rtol=1e-10)
        assert runs.training_loss[run, -1] == pytest.approx(
            np.concatenate(squares).mean(), rel=1e-10
        )
        exact = [teachers[t][run].test_error(w, v[t]) for t in range(2)]
        np.testing.assert_allclose(runs.final_loss[run], exact, rtol=1e-10)
    assert runs.to_frame().task.tolist() == [0, 1, 0, 1]


def test_batches_are_drawn_anew_for_each_epoch_from_the_seed(monkeypatch):
    monkeypatch.setattr(two_layers, "BATCHES_AHEAD", 5)  # laid out more than once
    each, networks = problem(2, 7), start(2)
    x, y = each("inputs"), each("targets")
    given = {"steps": 19, "learning_rate": 0.05, "batch": 3, "threshold": 0.0, "record": [2, 8]}
    runs = descend(x, y, networks, seed=[5, 8], precision="float64", **given)
    for run, seed in enumerate((5, 8)):
        rng = np.random.default_rng([seed, 101])
        orders = [rng.permutation(7) for _ in range(7)]
        taken = [order[at : at + 3] for order in orders for at in (0, 3, 6)]
        batches = [[(row, 1 / len(rows)) for row in rows] for rows in taken]
        wanted = plain([(x[run], y[run])], of(networks, run), 19, 0.05, batches=batches)
        np.testing.assert_allclose(of(runs.networks, run)[0], wanted[0], rtol=0, atol=1e-12)
    again = descend(x, y, networks, seed=[5, 8], precision="float64", **given)
    np.testing.assert_array_equal(runs.networks.weights[0], again.networks.weights[0])
    other = descend(x, y, networks, seed=[5, 9], precision="float64", **given)
    np.testing.assert_array_equal(runs.networks.weights[0][0], other.networks.weights[0][0])
    assert np.abs(runs.networks.weights[0][1] - other.networks.weights[0][1]).max() > 1e-4


def test_batches_of_one_task_are_those_of_any_network():
    rows, parts = batch_order(3, 2, 7, 4)
    layouts = next(layouts_of(np.ones((7, 1)), 3, seed=2, shuffle="every epoch"))
    np.testing.assert_array_equal(layouts[0][:12], rows)
    np.testing.assert_allclose(layouts[1][:12], parts, rtol=1e-15)
    again = layouts_of(np.ones((7, 1)), 3, seed=2, shuffle="once")
    for _ in range(3):
        np.testing.assert_array_equal(next(again)[0], rows[:3])


def test_in_a_batch_the_mean_of_each_task_has_the_tasks_weight():
    own = np.repeat(np.eye(2), [8, 4], axis=0)
    each, networks = problem(1, 4, n_aux=8), start(1, 2)
    x, y = [each("aux_inputs"), each("inputs")], [each("aux_targets"), each("targets")]
    runs = descend(
        x, y, networks, steps=9, learning_rate=0.05, threshold=0.0, batch=5, seed=[4],
        precision="float64",
    )  # fmt: skip
    rng = np.random.default_rng([4, 101])
    batches = []
    for order in [rng.permutation(12) for _ in range(3)]:
        for at in (0, 5, 10):
            rows = order[at : at + 5]
            aux = (rows < 8).sum()
            parts = {True: (8 / 12) / max(aux, 1), False: (4 / 12) / max(len(rows) - aux, 1)}
            batches.append([(row, parts[bool(row < 8)]) for row in rows])
    wanted = plain([(a[0], b[0]) for a, b in zip(x, y, strict=True)], of(networks, 0), 9, 0.05,
                   batches=batches)  # fmt: skip
    np.testing.assert_allclose(of(runs.networks, 0)[0], wanted[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(of(runs.networks, 0)[1], wanted[1], rtol=0, atol=1e-12)
    for _, parts in islice(layouts_of(own, 100, seed=0), 1):  # one batch of all samples
        np.testing.assert_allclose(parts, 1 / 12, rtol=1e-12)


@pytest.mark.parametrize("options", [{}, {"batch": 4}])
def test_a_run_alone_is_the_run_among_others(options):
    each, networks = problem(4, 9), start(4)
    seeds = (lambda runs: {"seed": runs}) if options else (lambda runs: {})
    given = {"steps": 400, "learning_rate": 0.1, "threshold": 3e-2, "record": 40, **options}
    x, y, main = each("inputs"), each("targets"), each("main")
    many = descend(x, y, networks, teachers=main, **given, **seeds(range(4)))
    assert len({*many.end_steps}) > 1  # each ends at its own step
    for run in (3, 0):
        own = slice(run, run + 1)
        network = jax.tree.map(lambda each, own=own: each[own], networks)
        alone = descend(x[own], y[own], network, teachers=main[own], **given, **seeds([run]))
        np.testing.assert_array_equal(alone.networks.weights[0][0], many.networks.weights[0][run])
        np.testing.assert_array_equal(alone.test_loss[0], many.test_loss[run])
        assert alone.end_steps[0] == many.end_steps[run]


def test_a_run_ends_at_its_first_step_below_the_threshold():
    each, networks = problem(1, 9), start(1)
    x, y, given = each("inputs"), each("targets"), {"learning_rate": 0.1, "precision": "float64"}
    given["teachers"] = each("main")
    every = descend(x, y, networks, steps=500, threshold=0.0, record=1, **given)
    limit = float(every.training_loss[0, 123] * 1.0000001)
    below = int(np.argmax(every.training_loss[0] <= limit))
    runs = descend(x, y, networks, steps=500, threshold=limit, record=50, **given)
    assert runs.outcomes == (Outcome.REACHED_THRESHOLD,)
    assert runs.end_steps[0] == below > 50
    np.testing.assert_array_equal(
        runs.training_loss[0, runs.steps > below], every.training_loss[0, below]
    )
    assert runs.final_loss[0] == every.test_loss[0, below]
    assert every.best_step[0] == every.test_loss[0].argmin()
    assert every.best_loss[0] == every.test_loss[0].min()
    assert f"step {below}, training loss" in runs.messages[0]


@pytest.mark.parametrize("batches", [{}, {"batch": 4, "seed": range(2)}])
def test_a_run_that_diverges_is_told_and_started_anew_if_asked(batches):
    each, networks = problem(2, 9), start(2)
    x, y = each("inputs").copy(), each("targets").copy()
    x[1] *= 0.01
    y[1] *= 0.01  # stable at a rate at which the other is not
    given = {"steps": 200, "learning_rate": 20.0, "teachers": each("main"), "record": 20, **batches}
    runs = descend(x, y, networks, **given)
    assert runs.outcomes[0] is Outcome.DIVERGED
    assert runs.outcomes[1] is not Outcome.DIVERGED
    assert "take a smaller learning rate, or restarts=3" in runs.messages[0]
    assert runs.best_loss[0] <= runs.test_loss[0, 0]
    again = descend(x, y, networks, restarts=3, **given)
    assert Outcome.DIVERGED not in again.outcomes
    assert again.learning_rates[0] < 20
    assert again.learning_rates[1] == 20
    direct = descend(x, y, networks, **{**given, "learning_rate": float(again.learning_rates[0])})
    np.testing.assert_array_equal(again.networks.weights[0][0], direct.networks.weights[0][0])
    np.testing.assert_array_equal(again.networks.weights[0][1], runs.networks.weights[0][1])


def test_the_quick_expected_error_is_the_teachers_own():
    rng = np.random.default_rng(0)
    teacher = ReLUTeachers().teachers(3).main
    hidden, readout = rng.standard_normal((40, 15)), rng.standard_normal(40)
    hidden[0] = 0.0  # a unit that is switched off
    hidden[1] = 2 * teacher.hidden[0]
    hidden[2] = -teacher.hidden[0]
    found = expected_error(teacher, hidden, readout)
    assert found == pytest.approx(teacher.test_error(hidden, readout), rel=1e-12)
    assert np.isnan(expected_error(teacher, hidden, np.nan * readout))


@pytest.mark.parametrize("features", ["hidden", "tangent"])
def test_the_kernel_is_that_of_the_features_automatic_differentiation_gives(features):
    network = mlp(D, 2, H, seed=1, nonlinearity="relu", bias=False)
    network = MLP((network.weights[0], network.weights[1][:1]), None, "relu")
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, D)).astype(np.float32) for n in (5, 4))
    slopes = jax.jit(jax.vmap(jax.grad(lambda net, x: net(x)[0]), (None, 0)))
    by = slopes(network, jnp.asarray(np.concatenate([a, b]))).weights
    kept = by if features == "tangent" else by[1:]
    columns = np.concatenate([np.asarray(each).reshape(9, -1) for each in kept], 1)
    found = columns[:5], columns[5:]
    hidden, readout = (np.asarray(each, dtype=float) for each in network.weights)
    wanted = kernel(hidden, readout[0], a.astype(float), b.astype(float), features)
    np.testing.assert_allclose(found[0] @ found[1].T, wanted, rtol=1e-5, atol=1e-6)  # float32


@pytest.mark.parametrize("n", [5, 14])  # fewer and more samples than units
@pytest.mark.parametrize("intercept", [False, True])
def test_probing_is_ridge_regression_on_hidden_units(n, intercept):
    each, networks = problem(2, n, n_test=50), start(2)
    x, y, at, wanted = map(each, ("inputs", "targets", "test_inputs", "test_targets"))
    ridges = np.logspace(-3, 2, 6)
    found = relu_probing(networks, x, y, intercept=intercept, ridges=ridges, test=(at, wanted))
    for run in range(2):
        units, test = (np.maximum(points[run] @ of(networks, run)[0].T, 0) for points in (x, at))
        for place, ridge in enumerate(ridges):
            model = Ridge(ridge, fit_intercept=intercept, solver="svd").fit(units, y[run])
            losses = [
                ((model.predict(a) - b[run]) ** 2).mean() for a, b in ((units, y), (test, wanted))
            ]
            assert found.training_loss[run, place] == pytest.approx(losses[0], rel=1e-7)
            assert found.test_loss[run, place] == pytest.approx(losses[1], rel=1e-7)
            alone = []
            for i in range(n):
                model.fit(np.delete(units, i, 0), np.delete(y[run], i))
                alone.append((model.predict(units[i : i + 1])[0] - y[run, i]) ** 2)
            assert found.left_out_loss[run, place] == pytest.approx(np.mean(alone), rel=1e-7)
    chosen = found.left_out_loss.argmin(axis=1)
    np.testing.assert_array_equal(found.chosen_ridge, ridges[chosen])
    np.testing.assert_array_equal(found.chosen_loss, found.test_loss[[0, 1], chosen])
    np.testing.assert_array_equal(found.best_loss, found.test_loss.min(axis=1))
    np.testing.assert_array_equal(found.best_ridge, ridges[found.test_loss.argmin(axis=1)])
    assert (found.to_frame().oracle_best_loss <= found.to_frame().chosen_loss).all()


def test_inputs_are_left_as_they_were_and_results_are_networks():
    each, networks = problem(2, 9), start(2)
    x, y = each("inputs"), each("targets")
    before = [x.copy(), y.copy(), *(np.array(w) for w in networks.weights)]
    runs = descend(x, y, networks, steps=5)
    for now, then in zip((x, y, *networks.weights), before, strict=True):
        np.testing.assert_array_equal(now, then)
    gap = outputs(runs.network(1), x[1])[:, 0] - y[1]
    assert runs.training_loss[1, -1] == pytest.approx((gap**2).mean(), rel=1e-5)  # float32
    with pytest.raises(InputError, match="a test loss needs something to test on; got neither"):
        _ = runs.final_loss


GOOD = {
    "inputs": np.ones((2, 4, D)),
    "targets": np.ones((2, 4)),
    "networks": start(2),
    "steps": 3,
}
FEW = [ReLUTeachers(dimension=D, units_aux=1, correlations=[1]).teachers(0).main]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"inputs": np.ones((4, 2))},
            r"inputs have shape \(n, 3\) or \(2, n, 3\); got shape \(4, 2\); pass a row for each",
        ),
        (
            {"networks": start(3)},
            r"inputs have shape \(n, 3\) or \(3, n, 3\); got shape \(2, 4, 3\); pass a row for",
        ),
        (
            {"networks": start(2, 2)},
            r"targets have shape \(2, 4, 2\) to go with inputs; got shape \(2, 4\); pass one for",
        ),
        (
            {"networks": mlp(D, 2, seed=0, width=2), "targets": np.ones((2, 4, 3)),
             "trained": "readout"},
            "two-layer ReLU networks without biases on squares, .*; got MLP, the loss 'squared', "
            "sgd, a readout alone; leave out",
        ),
        (
            {"networks": jax.tree.map(lambda w: w / 0, start(2))},
            "weights are finite numbers; got NaN or",
        ),
        ({"teachers": FEW}, "teachers are one ReLUTeacher in 3 dimensions for each of 2 runs; got"),
        ({"teachers": FEW * 2, "test": (np.ones((4, D)), np.ones(4))}, "got both kinds"),
        ({"batch": 2, "seed": [3]}, "takes a seed for each of 2 runs; got 1; pass range"),
        ({"learning_rate": 0}, "learning_rate is a finite number above 0; got 0; pass"),
    ],
)  # fmt: skip
def test_bad_training_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        descend(**{**GOOD, **change})


def test_a_penalty_at_the_edge_of_its_grid_is_told():
    # Fewer samples than hidden units: with more, no penalty is as good as a little of it.
    each, networks = problem(2, 6, n_test=20), start(2)
    x, y = map(each, ("inputs", "targets"))
    wide = relu_probing(networks, x, y, ridges=np.logspace(-12, 6, 60))
    inner = int(np.flatnonzero(wide.ridges == wide.chosen_ridge[0])[0])
    assert 0 < inner < 59
    assert not wide.at_edge[0]
    assert wide.messages[0] == ""
    for kept, side in ((wide.ridges[inner:][::-1], "least"), (wide.ridges[: inner + 1], "largest")):
        found = relu_probing(networks, x, y, ridges=kept)
        assert found.at_edge[0]
        assert found.to_frame().at_edge[0]
        assert found.messages[0] == (
            f"the penalty chosen, {wide.chosen_ridge[0]:.3g}, is the {side} of those given; pass "
            "ridges that go on beyond it, or inputs and targets of order 1"
        )
    alone = relu_probing(networks, x, y, ridges=[1.0])
    assert not alone.at_edge.any()


def test_bad_tasks_and_probing_are_refused():
    probe = relu_probing
    x, y = GOOD["inputs"], GOOD["targets"]
    with pytest.raises(InputError, match=r"or \(2, n, 3\); got shape \(3, 4, 3\); pass a row"):
        descend([x, np.ones((3, 4, D))], [y, np.ones((3, 4))], start(2, 2), steps=3)
    with pytest.raises(InputError, match='features is "hidden" or "tangent"; got \'all\'; choose'):
        probe(start(2), x, y, features="all")
    with pytest.raises(InputError, match="ridges are one or more numbers above 0; got \\[0"):
        probe(start(2), x, y, ridges=[0.0, 1.0])
    with pytest.raises(InputError, match="a test loss needs something to test on; got no test sam"):
        _ = relu_probing(start(2), x, y).best_loss
    with pytest.raises(InputError, match="from two samples or more; got one; pass more, or int"):
        probe(start(2), x[:, :1], y[:, :1], intercept=True)


@pytest.mark.parametrize("tested", [False, True])
def test_probing_beyond_memory_is_refused_at_once(monkeypatch, tested):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("probing began")

    module = import_module("partwhole.training.relu_probing")  # the name is also the function's
    monkeypatch.setattr(module, "kernel", never)
    n, m = (10_000, 200_000) if tested else (40_000, 100)
    message = (
        "training takes up to 8 GiB beside the samples; got about .*; pass fewer samples, test"
    )
    with pytest.raises(InputError, match=message):
        relu_probing(
            start(1),
            np.broadcast_to(1.0, (1, n, D)),
            np.broadcast_to(1.0, (1, n)),
            test=(np.broadcast_to(1.0, (m, D)), np.broadcast_to(1.0, (m,))),
        )
