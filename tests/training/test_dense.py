"""Dense networks against plain NumPy, and lazy ones against the theory of random features."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from importlib import import_module

import jax
import numpy as np
import pytest

from partwhole import solve, tasks
from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.limits import memorization_leak
from partwhole.networks import Architecture, outputs
from partwhole.training import Training, train
from partwhole.training.outcome import Outcome

X = np.random.default_rng(0).normal(size=(9, 4))
Y = np.random.default_rng(1).normal(size=(9, 2))


def train_dense(inputs, targets, networks, *, read=None, **options):
    """Train in one call, with what is usual here."""
    training = Training(**({"threshold": 1e-4} | options))
    return train(networks, (inputs, targets), training, read=read)


def start(runs=2, layers=3, outputs=2, scale=0.8, d=4, width=6, **options):
    told = {"initial": "he", "scale": scale} | options
    return Architecture(layers, width, "relu", **told).networks(
        d, seeds=range(runs), outputs=outputs
    )


def numbers(network, run):
    """Return weights and biases of one run in double precision."""
    held = (network.weights, network.biases)
    return tuple([np.asarray(each, dtype=float)[run] for each in kind] for kind in held)


def gradient(weights, biases, x, y, loss):
    """Return the slopes of the loss, layer by layer."""
    layers = [x]
    for place, (w, b) in enumerate(zip(weights, biases, strict=True)):
        h = layers[-1] @ w.T + b
        layers.append(np.maximum(h, 0.0) if place < len(weights) - 1 else h)
    f = layers[-1]
    pull = 2.0 * (f - y) if loss == "squared" else -y / (1.0 + np.exp(y * f))
    pull = pull / len(x)
    by_w, by_b = [], []
    for place in range(len(weights) - 1, -1, -1):
        by_w.insert(0, pull.T @ layers[place])
        by_b.insert(0, pull.sum(axis=0))
        pull = (pull @ weights[place]) * (layers[place] > 0)
    return [*by_w, *by_b]


def plain(network, run, x, y, steps, *, loss="squared", rate=0.02, momentum=0.0, decay=0.0,
          adam=False, shares=None):  # fmt: skip
    weights, biases = numbers(network, run)
    depth = len(weights)
    held = [*weights, *biases]
    first, second = [np.zeros_like(w) for w in held], [np.zeros_like(w) for w in held]
    for step in range(1, steps + 1):
        slopes = gradient(held[:depth], held[depth:], x, y, loss)
        for i, (w, g) in enumerate(zip(list(held), slopes, strict=True)):
            g = g + 2.0 * decay * w
            if adam:
                first[i] = 0.9 * first[i] + 0.1 * g
                second[i] = 0.999 * second[i] + 0.001 * g**2
                root = np.sqrt(second[i] / (1 - 0.999**step)) + 1e-8
                move = first[i] / (1 - 0.9**step) / root
            else:
                first[i] = move = g + momentum * first[i]
            held[i] = w - rate * (1.0 if shares is None else shares[i]) * move
    return held


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"momentum": 0.9},
        {"weight_decay": 0.3},
        {"optimiser": "adam"},
        {"loss": "logistic", "optimiser": "adam"},
        {"loss": "logistic", "learning_rate": 0.3},
    ],
    ids=str,
)
def test_steps_as_in_numpy(options):
    y = np.sign(Y) if options.get("loss") == "logistic" else Y
    told = {"learning_rate": 0.02} | options
    runs = train_dense(X, y, start(), steps=40, threshold=0.0, precision="float64", **told)
    for run in range(2):
        expected = plain(
            start(), run, X, y, 40, loss=told.get("loss", "squared"), rate=told["learning_rate"],
            momentum=told.get("momentum", 0.0), decay=told.get("weight_decay", 0.0),
            adam=told.get("optimiser") == "adam",
        )  # fmt: skip
        found = [*(w for kind in numbers(runs.networks, run) for w in kind)]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-11)


def test_rates_of_the_other_parametrisation():
    runs = train_dense(
        X, Y, start(), steps=5, threshold=0.0, precision="float64", parametrisation="ntk"
    )
    fans = [4, 6, 6]
    shares = [*(2.0 / n for n in fans), *(1.0 / (3.0 * n) for n in fans)]
    expected = plain(start(), 1, X, Y, 5, rate=0.01, shares=shares)
    found = [*(w for kind in numbers(runs.networks, 1) for w in kind)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_records_and_probes():
    probes = np.random.default_rng(2).normal(size=(5, 4))
    runs = train_dense(X, Y, start(3), steps=30, record=10, read=probes, threshold=0.0)
    assert runs.steps.tolist() == [0, 10, 20, 30]
    assert runs.training_loss.shape == (3, 4)
    assert runs.answers.shape == (3, 4, 5, 2)
    np.testing.assert_allclose(runs.answers[:, 0], outputs(start(3), probes), atol=1e-5)
    np.testing.assert_allclose(runs.answers[:, -1], outputs(runs.networks, probes), atol=1e-5)
    first = ((outputs(start(3), X) - Y) ** 2).sum(axis=2).mean(axis=1)
    np.testing.assert_allclose(runs.training_loss[:, 0], first, rtol=1e-5)
    # One run alone does what it does beside others.
    alone = train_dense(X, Y, jax.tree.map(lambda w: w[1:2], start(3)), steps=30, threshold=0.0)
    for one, other in zip(numbers(runs.networks, 1), numbers(alone.networks, 0), strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_samples_of_each_run_s_own():
    x, y = np.stack([X, X[::-1] + 1.0]), np.stack([Y, Y * 2.0])
    runs = train_dense(x, y, start(), steps=20, threshold=0.0, precision="float64")
    expected = plain(start(), 1, x[1], y[1], 20, rate=0.01)
    found = [*(w for kind in numbers(runs.networks, 1) for w in kind)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_ends_and_restarts():
    few = {"record": 10_000}  # an end is found at any step
    runs = train_dense(X, Y * 0.1, start(), steps=50_000, learning_rate=0.05, threshold=1e-3, **few)
    assert set(runs.outcomes) == {Outcome.REACHED_THRESHOLD}
    assert np.all(runs.training_loss[:, -1] <= 1e-3)
    # The step before had not reached it.
    for run in range(2):
        before = train_dense(
            X, Y * 0.1, start(), steps=int(runs.end_steps[run]) - 1, learning_rate=0.05,
            threshold=0.0, **few,
        )  # fmt: skip
        assert before.training_loss[run, -1] > 1e-3
    short = train_dense(X, Y, start(), steps=3)
    assert set(short.outcomes) == {Outcome.REACHED_MAX_STEPS}
    wild = train_dense(X, Y, start(), steps=200, learning_rate=30.0, **few)
    assert set(wild.outcomes) == {Outcome.DIVERGED}
    tamed = train_dense(X, Y, start(), steps=200, learning_rate=30.0, restarts=4, **few)
    assert Outcome.DIVERGED not in tamed.outcomes
    assert np.all(tamed.learning_rates < 30.0)


def one_hot(task):
    return np.concatenate(
        [np.eye(n)[column] for n, column in zip(task.n_values, task.components.T, strict=True)],
        axis=1,
    )


@pytest.fixture
def optimised():
    """Have programs optimised as users have them, for tests that run longer than they compile."""
    name = "jax_disable_most_optimizations"
    usual = jax.config.values[name]
    jax.config.update(name, False)
    yield
    jax.config.update(name, usual)


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize(
    ("anchors", "parametrisation", "kind"),
    [([0], "standard", "nngp"), ([-4, 4], "standard", "nngp"), ([0], "ntk", "ntk")],
)
def test_lazy_networks_do_what_their_kernel_does(anchors, parametrisation, kind):
    """Wide networks at initial scale 1, as the leak of random features or of the tangent kernel.

    Trained readouts outweigh the layer below them some forty times at equal rates, so that random
    features rule; with rates of the tangent parametrisation both layers count. Of three networks
    of 3,000 units slopes vary by about .01.
    """
    task = tasks.symbolic_addition(range(-4, 5), anchors)
    x, seen = one_hot(task), task.is_train
    networks = Architecture(2, 3000, "relu", bias=False, initial="he", scale=1.0).networks(
        18, seeds=range(3), outputs=1
    )
    rate = 4e-4 if parametrisation == "standard" else 0.2
    runs = train_dense(
        x[seen], task.train_targets, networks, steps=60_000, learning_rate=rate,
        parametrisation=parametrisation, threshold=1e-3, read=x, record=60_000,
    )  # fmt: skip
    assert set(runs.outcomes) == {Outcome.REACHED_THRESHOLD}
    sums = task.targets[~seen]
    slopes = runs.answers[:, -1, ~seen, 0] @ sums / (sums @ sums)
    kernel = OverlapKernel.random_network("relu", 2, 1, kind=kind)
    theory = memorization_leak(kernel.salience[0], len(anchors))
    whole = solve(task, kernel, intercept="none").predictions[~seen]
    assert whole @ sums / (sums @ sums) == pytest.approx(theory, abs=1e-9)
    assert slopes.mean() == pytest.approx(theory, abs=0.03)


@pytest.mark.parametrize("rate", [0.05, 30.0], ids=["early ends", "restarts"])
def test_a_bar_of_steps_with_a_loss(rate, monkeypatch):
    module, bars = import_module("partwhole.training.following"), []

    @contextmanager
    def counted(what, total, *, shown):
        bars.append([what, total, 0, shown])

        def advance(done, note):
            bars[-1][2] += done
            notes.append(note)

        yield advance

    notes = []
    monkeypatch.setattr(module, "bar", counted)
    monkeypatch.setattr(module, "REPORTED_EVERY", -1.0)
    monkeypatch.setattr(import_module("partwhole.training.train"), "cores", lambda: 1)
    runs = train_dense(
        X, Y, start(), steps=1000, learning_rate=rate, threshold=0.5, restarts=3
    )  # fmt: skip
    assert bars[0] == ["training 2 networks", 2000, 2000, True]
    assert all(done == total for _, total, done, _ in bars)
    if rate == 0.05:
        assert len(bars) == 1
        assert np.all(runs.end_steps < 1000)
    assert f"loss {runs.training_loss[-1, -1]:.3g}" in notes


GOOD = {"inputs": X, "targets": Y, "networks": start(), "steps": 3}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"inputs": X[:, :3]},
            r"inputs have shape \(n, 4\) or \(2, n, 4\); got shape \(9, 3\); pass a row for each",
        ),
        (
            {"inputs": np.stack([X] * 3), "targets": np.stack([Y] * 3)},
            r"inputs have shape \(n, 4\) or \(2, n, 4\); got shape \(3, 9, 4\); pass a row for ea",
        ),
        (
            {"targets": Y[:, 0]},
            r"targets have shape \(9, 2\) to go with inputs; got shape \(9,\); pass one for ea",
        ),
        (
            {"targets": np.full((9, 2), np.inf)},
            r"data\[1\] is an array of finite numbers; got 18 that are infinite, the first at",
        ),
        (
            {"inputs": X * np.nan},
            r"data\[0\] is an array of finite numbers; .* that are NaN, the first at",
        ),
        (
            {"loss": "logistic"},
            "the loss 'logistic' is of labels -1 and .1; got targets from -1.* to .*; take the lo",
        ),
        (
            {"inputs": X * 1e20},
            r"inputs of training in single precision are of size 1e\+18 at most; got .*e\+20; pas",
        ),
        (
            {"loss": "hinge"},
            'loss is "squared", "logistic", "exponential", "cross entropy" or "bits"; got \'hinge\''
            "; choose one of them",
        ),
        (
            {"optimiser": "adam", "momentum": 0.5},
            'momentum is an option of "sgd"; got it for adam; leave it out',
        ),
        (
            {"read": X[:, :2]},
            r"read has shape \(m, 4\) to go with the networks; got shape \(9, 2\); pass one row",
        ),
        (
            {"networks": jax.tree.map(lambda w: w / 0, start())},
            "initial weights are finite numbers; got NaN or infinity; draw them anew",
        ),
        ({"steps": 0}, "steps is a whole number of at least 1; got 0; pass"),
        ({"epochs": 2}, "training takes so many steps, or so many epochs; got both; pass one of"),
        ({"parametrisation": "mup"}, 'parametrisation is "standard" or "ntk"; got \'mup\'; choo'),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    train: Callable = train_dense  # as where types are not checked
    with pytest.raises(InputError, match=sentence):
        train(**(GOOD | change))
