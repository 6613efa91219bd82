"""Searches for a learning rate: against plain NumPy, the curvature, and training itself."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from descents import descend
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.networks import Architecture, ImageNetwork
from partwhole.networks.images.convnet import convnet
from partwhole.networks.images.layers import Dense, Flatten
from partwhole.tasks.images.digits import digit_images
from partwhole.training import Training, train
from partwhole.training._rate_search import RateOutcome, search
from partwhole.training.images.problem import checked_image_problem
from partwhole.training.learning_rate import search_learning_rate
from partwhole.training.outcome import Outcome

module = import_module("partwhole.training.learning_rate")
images_module = import_module("partwhole.training.images.train")

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(9, 4)), RNG.normal(size=9)
ONE = np.ones(1)


SEARCH = ("lowest", "highest", "steps", "at_most", "progress")


def search_rates(inputs, targets, networks, **options):
    """Search in one call."""
    search = {name: options.pop(name) for name in SEARCH if name in options}
    return search_learning_rate(networks, (inputs, targets), Training(steps=1, **options), **search)


def linear(runs=2, d=4, bias=True):
    return Architecture(1, bias=bias).networks(d, seeds=range(runs), outputs=1)


def relu(runs=2, d=4, width=20, scale=1.0):
    made = Architecture(2, width, "relu", initial="he", scale=scale)
    return made.networks(d, seeds=range(runs), outputs=1)


def same(one, other):
    """Say whether all numbers of two networks are the same, without compiling anything."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def measured(w, rows, y, loss):
    """Return the loss of a linear map and its slope."""
    f = rows @ w
    if loss == "squared":
        return np.mean((f - y) ** 2), 2.0 * rows.T @ (f - y) / len(y)
    margins = y * f
    return np.mean(np.log1p(np.exp(-margins))), -rows.T @ (y / (1.0 + np.exp(margins))) / len(y)


def walked(
    w, batches, rates, *, loss="squared", momentum=0.0, decay=0.0, adam=False, shares=ONE,
    decoupled=0.0,
):  # fmt: skip
    """Return the losses of a linear map before each step and after the last."""
    first, second, losses = np.zeros_like(w), np.zeros_like(w), []
    for step, rate in enumerate([*rates, 0.0], 1):
        rows, y = batches(step - 1)
        value, slope = measured(w, rows, y, loss)
        losses.append(value)
        slope = slope + decay * w
        if adam:
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            move = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        else:
            first = move = slope + momentum * first
        w = w - rate * shares * (move + decoupled * w)
    return np.array(losses)


def decays(training):
    """Return whether steps are Adam's, and the decay in or beside the slope."""
    adam, beside = training.optimiser != "sgd", training.optimiser == "adamw"
    decay = training.weight_decay * (1.0 if beside else 2.0)
    return {"adam": adam, "decoupled" if beside else "decay": decay}


def smoothed(losses, beta):
    weights = beta ** np.maximum(np.subtract.outer(np.arange(len(losses)), range(len(losses))), 0)
    return np.tril(weights) @ losses


def ruled(walk, rates, beta=0.0, at_most=np.inf):
    """Search by the rule as it is written down."""
    untrained = smoothed(walk(0.0 * rates), beta)
    with np.errstate(all="ignore"):  # of what diverges
        curve = smoothed(walk(rates), beta) / untrained
        best, place, steepest = curve[0], 0, -np.inf
        for t in range(1, len(curve)):
            before, best = best, min(best, curve[t])
            if not curve[t] <= 4.0 * best:
                break
            if before - best > steepest:
                steepest, place = before - best, t

        def end(rate):
            tried = smoothed(walk(0.0 * rates + rate), beta) / untrained
            return tried[-1] if tried.max() <= 4.0 and tried[-1] < 1.0 else np.inf

        most = min(rates[-1], at_most)
        rate = min(rates[place - 1], most)
        sound = np.isfinite(end(2.0 * rate))
        while not np.isfinite(end(2.0 * rate)):
            rate /= 2.0
        # Without `at_most` or `highest` in the way, doubles of doubles.
        larger = [rate]
        while sound and larger[-1] < most and np.isfinite(end(2.0 * min(2.0 * larger[-1], most))):
            larger.append(min(2.0 * larger[-1], most))
        ends = [end(each) for each in larger] if len(larger) > 1 else [0.0]
    return curve[1:], rates[place - 1], larger[int(np.argmin(ends))]


@pytest.mark.parametrize(
    "options",
    [
        {"momentum": 0.9},
        {"optimiser": "adam"},
        {"optimiser": "adamw", "weight_decay": 0.3},
        {"weight_decay": 0.3},
        {"parametrisation": "ntk", "lowest": 1e-4},
        {"loss": "logistic", "highest": 1000.0},
        {"at_most": 1e-3, "steps": 37},
    ],
    ids=str,
)
def test_the_rule_in_numpy(options):
    y = np.sign(Y) if options.get("loss") == "logistic" else Y
    options = {"steps": 40} | options
    # Two networks in the first case, one elsewhere.
    start = linear(2 if "momentum" in options else 1)
    found = search_rates(X, y, start, precision="float64", **options)
    rows = np.column_stack([X, np.ones(9)])
    rates = np.geomspace(
        options.get("lowest", 1e-6), options.get("highest", 10.0), options["steps"]
    )
    weights, biases = jax.tree.leaves(start)
    for run in range(len(weights)):
        w = np.append(weights[run, 0], biases[run]).astype(float)

        def walk(rates, w=w):
            return walked(
                w, lambda _: (rows, y), rates, loss=options.get("loss", "squared"),
                momentum=options.get("momentum", 0.0), **decays(Training(steps=1, **{
                    name: options[name] for name in ("optimiser", "weight_decay") if name in options
                })),
                shares=np.array([0.5] * 4 + [1 / 12]) if "parametrisation" in options else ONE,
            )  # fmt: skip

        curve, steepest, rate = ruled(walk, rates, at_most=options.get("at_most", np.inf))
        # What diverges doubles what rounding left; before, the two agree to rounding.
        sane = np.maximum.accumulate(curve) < 100.0
        np.testing.assert_allclose(found.losses[run][sane], curve[sane], rtol=1e-6, atol=1e-9)
        assert found.steepest[run] == pytest.approx(steepest)
        assert found.suggestions[run] == pytest.approx(rate)
        first = measured(w, rows, y, options.get("loss", "squared"))[0]
        np.testing.assert_allclose(found.untrained_losses[run], first)
        np.testing.assert_allclose(found.raw_losses[run] / first, found.losses[run])


def by_hand(curve, tried, at_most=None):
    """Search where losses along the growing rate, and at a constant one, are these."""
    rates = np.geomspace(1.0, 512.0, 10)

    def walk(steps):
        if not steps.any():
            return np.full(11, 2.0)
        return 2.0 * np.array(curve if steps[0] < steps[-1] else tried(steps[0]), dtype=float)

    return search(walk, rates, at_most, 0.0)


def test_what_counts_as_divergence_and_as_a_trial_that_learns():
    swing = list(SWING)
    fine, late = [0.5] * 11, [0.5] * 10 + [1.5]
    # Up to fourfold is a swing; after more, nothing counts.
    found = by_hand(swing, lambda _: fine)
    assert (round(found.steepest), found.outcome) == (2, RateOutcome.FOUND)
    swing[7] = 1.9
    found = by_hand(swing, lambda _: fine)
    assert (round(found.steepest), found.outcome) == (128, RateOutcome.NEVER_DIVERGED)
    # A trial is at twice the rate, and fails where it ends higher or goes astray.
    for bad in (late, [1.0, 4.1, *fine[2:]], [1.0, np.nan, *fine[2:]]):
        found = by_hand(swing, lambda rate, bad=bad: bad if rate > 20.0 else fine)
        assert found.suggestion == pytest.approx(8.0)
        # It was halved because larger rates go astray: no reason to look for them.
        assert found.outcome is RateOutcome.FOUND
        assert by_hand(swing, lambda _, bad=bad: bad).outcome is RateOutcome.UNSTABLE
    # The steepest fall at the lowest rate: better ones may lie below, unless larger ones are.
    steep = [1.0, 0.3, *swing[2:]]
    found = by_hand(steep, lambda _: fine)
    assert (round(found.suggestion), found.outcome) == (1, RateOutcome.AT_LOWEST)
    found = by_hand(steep, lambda rate: fine if rate < 2.0 else [0.4] * 11)
    assert (round(found.suggestion), found.outcome) == (2, RateOutcome.FOUND)


SWING = [1.0, 0.9, 0.7, 0.6, 2.3, 0.55, 0.5, 2.1, 0.01, 0.01, 0.01]


@pytest.mark.parametrize(
    ("ends", "at_most", "expected"),
    [
        # At 2 the loss falls most steeply; the double of 16 is the last to be sound.
        ({2: 0.9, 4: 0.5, 8: 0.4, 16: 0.3, 32: 0.2}, None, 16.0),
        ({2: 0.9, 4: 0.5, 8: 0.2, 16: 0.3, 32: 0.1}, None, 8.0),
        ({2: 0.9, 4: 0.95, 8: 0.4, 16: 0.5}, None, 8.0),
        ({2: 0.3, 4: 0.3, 8: 0.3}, None, 2.0),
        ({2: 0.9, 4: 0.5, 8: 0.4, 11: 0.3, 16: 0.2, 22: 0.1}, 11.0, 11.0),
        ({2: 0.9, 4: 0.5, 8: 0.4, 11: 0.3, 16: 0.2}, 11.0, 8.0),
        ({2 * 2**k: 0.9 - 0.1 * k for k in range(10)}, None, 512.0),
        ({1: 0.5, 2: 0.7}, None, 1.0),
    ],
)
def test_larger_rates_are_tried_as_far_as_they_are_sound(ends, at_most, expected):
    def tried(rate):
        return [1.0] * 10 + [ends.get(round(rate), 1.5)]

    found = by_hand(SWING, tried, at_most)
    assert round(found.steepest) == 2
    assert found.suggestion == pytest.approx(expected)
    assert found.outcome is RateOutcome.FOUND


def test_an_offset_does_not_hold_the_suggestion_back():
    """Most of the loss is an offset, whose curvature is nine times that of all else."""
    rng = np.random.default_rng(3)
    # As many rows as elsewhere: training and the search are compiled once for all.
    rest = np.linalg.qr(rng.normal(size=(9, 3)))[0] * 9**0.5
    x = np.column_stack([np.full(9, 3.0), rest - rest.mean(axis=0)])
    y = x @ np.array([3.0, 0.3, -0.3, 0.3])
    start = jax.tree.map(jnp.zeros_like, linear(1, 4, bias=False))
    found = search_rates(x, y, start, precision="float64")
    curvature = np.linalg.eigvalsh(2.0 * x.T @ x / 9)[-1]
    assert found.steepest[0] < found.suggestion < 2.0 / curvature
    slow, fast = (
        descend(
            x, y, start, steps=100, learning_rate=float(rate), threshold=0.0, record=100,
            precision="float64",
        ).training_loss[0, -1]
        for rate in (found.steepest[0], found.suggestion)
    )  # fmt: skip
    assert fast < 1e-3 * slow


def problems(seed, runs=2, n=9, d=4):
    """Return linear problems of many scales and conditions, and the largest curvature of each."""
    rng = np.random.default_rng(seed)
    columns = 10.0 ** -rng.uniform(0.0, 2.0, size=(runs, 1, d))
    scales = 10.0 ** rng.uniform(-2.0, 2.0, size=(runs, 1, 1))
    x = rng.normal(size=(runs, n, d)) * columns * scales
    y = rng.normal(size=(runs, n)) if rng.random() < 0.5 else x.sum(axis=2) / scales[:, 0]
    return x, y, np.linalg.eigvalsh(2.0 * np.swapaxes(x, 1, 2) @ x / n)[:, -1]


WIDE = {"lowest": 1e-9, "highest": 1e7, "steps": 50}


@settings(max_examples=5)
@given(st.integers(0, 10**6))
def test_suggestions_lie_below_what_the_curvature_allows(seed):
    x, y, curvature = problems(seed)
    start = linear(bias=False)
    found = search_rates(x, y, start, precision="float64", **WIDE)
    assert set(found.outcomes) == {RateOutcome.FOUND}
    assert np.all(found.suggestions < 2.0 / curvature)
    runs = descend(
        x, y, start, steps=3000, learning_rate=found.suggestions, threshold=0.0, record=3000,
        precision="float64",
    )  # fmt: skip
    assert np.all(runs.training_loss[:, -1] < runs.training_loss[:, 0])


def test_the_steepest_fall_alone_suggests_rates_that_diverge():
    """The first input has a hundred times the second's size, and no part in the loss to speak of.

    The rates on the way have brought its share to nothing, so that it isn't seen to grow.
    """
    # With rows and columns of zeros, training and the search are of the shape they have elsewhere.
    x = np.zeros((9, 4))
    x[:2, :2] = np.diag([10.0, 0.5]) * 4.5**0.5
    y = x @ np.array([0.01, 10.0, 0.0, 0.0])
    start = jax.tree.map(jnp.zeros_like, linear(1, bias=False))
    found = search_rates(x, y, start, precision="float64", highest=1e3)
    limit = 2.0 / 100.0
    assert found.steepest[0] > limit > found.suggestion
    at = {"steps": 3000, "threshold": 0.0, "record": 3000, "precision": "float64"}
    wild = descend(x, y, start, learning_rate=found.steepest, **at)
    assert wild.outcomes[0] is Outcome.DIVERGED
    calm = descend(x, y, start, learning_rate=found.suggestions, **at)
    assert calm.training_loss[0, -1] < calm.training_loss[0, 0]


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"optimiser": "adam"}], ids=str)
@pytest.mark.parametrize("size", [0.01, 100.0])
def test_training_at_the_suggestion_works(size, options):
    start = relu(1)
    found = search_rates(X * size, Y, start, **WIDE, **options)
    assert RateOutcome.NEVER_FELL not in found.outcomes
    runs = descend(
        X * size, Y, start, steps=2000, learning_rate=found.suggestions, threshold=0.0,
        record=2000, **options,
    )  # fmt: skip
    assert Outcome.DIVERGED not in runs.outcomes
    assert np.all(runs.training_loss[:, -1] < runs.training_loss[:, 0])


def test_each_run_is_searched_as_if_alone_and_left_as_it_is():
    x, y = np.stack([X, 3.0 * X]), np.stack([Y, Y[::-1]])
    start, kept = relu(), relu()
    found = search_rates(x, y, start, steps=50)
    assert same(start, kept)
    for run in range(2):
        one = jax.tree.map(lambda w, r=run: w[r : r + 1], start)
        alone = search_rates(x[run], y[run], one, steps=50)
        np.testing.assert_array_equal(alone.losses[0], found.losses[run])
        assert alone.suggestion == found.suggestions[run]


def outcome(change, y=Y, start=None):
    start = linear(1) if start is None else start
    return search_rates(X, y, start, **({"precision": "float64", "steps": 50} | change))


def test_outcomes_and_their_sentences():
    good = outcome({})
    assert good.outcomes == (RateOutcome.FOUND,)
    low = outcome({"highest": float(good.steepest[0]) / 3.0})
    assert low.outcomes == (RateOutcome.NEVER_DIVERGED,)
    assert low.steepest[0] == pytest.approx(low.rates[-1])
    capped = outcome({"at_most": 1e-9})
    assert (capped.outcomes, capped.suggestion) == ((RateOutcome.FOUND,), 1e-9)
    # Nothing to be seen; too much at once; nothing to be learned.
    still = outcome({"lowest": 1e-12, "highest": 1e-10})
    wild = outcome({"lowest": 100.0, "highest": 1e6})
    zero = jax.tree.map(jnp.zeros_like, linear(1))
    for found in (still, wild, outcome({}, 0.0 * Y, zero)):
        assert found.outcomes == (RateOutcome.NEVER_FELL,)
        assert np.isnan(found.suggestions[0])
        with pytest.raises(InputError) as caught:
            _ = found.suggestion
        assert str(caught.value) == (
            "a suggestion is a rate that makes the loss fall; got none; lower `lowest` or raise "
            "`highest`, as messages and losses tell"
        )
    assert good.messages == (
        f"run 0 found a learning rate (suggestion {good.suggestion:.3g}, steepest fall at "
        f"{good.steepest[0]:.3g}, rates from 1e-06 to 10)",
    )
    with pytest.raises(InputError) as caught:
        _ = search_rates(X, Y, linear(3), steps=10, precision="float64").suggestion
    assert str(caught.value) == (
        "one suggestion is that of a search for one network; got 3 networks; read suggestions, "
        "which has one for each"
    )


def test_the_table():
    found = search_rates(X, Y, linear(2), steps=10, precision="float64")
    row = found.to_frame().loc[13].to_dict()
    assert row == {
        "run": 1, "learning_rate": found.rates[3], "raw_loss": found.raw_losses[1, 3],
        "untrained_loss": found.untrained_losses[1, 3], "loss": found.losses[1, 3],
        "suggestion": found.suggestions[1], "outcome": found.outcomes[1].name.lower(),
    }  # fmt: skip


def pictures(n=22, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2, 3, 1)).astype(np.float32)
    return x, x.reshape(n, -1) @ np.arange(6.0) + rng.normal(size=n)


PIXELS = 0.3 * RNG.normal(size=6).astype(np.float32)


def linear_image():
    layer = Dense(jnp.asarray(PIXELS[None]), jnp.full(1, 0.1, jnp.float32))
    return ImageNetwork((Flatten(), layer), ("flat", "out"), (2, 3, 1))


@pytest.mark.parametrize(
    ("training", "beta"),
    [
        (Training(epochs=1, seed=3, batch=5), None),  # .8
        (Training(epochs=1, seed=3, momentum=0.9, batch=5), 0.5),
        (Training(epochs=1, seed=3, optimiser="adam", batch=5, weight_decay=0.1), 0.8),
        (Training(epochs=1, seed=3, optimiser="adamw", batch=5, weight_decay=0.1), 0.8),
        (Training(epochs=1, seed=3, loss="logistic"), 0.0),
    ],
)
def test_the_rule_in_numpy_on_batches(training, beta):
    x, y = pictures()
    y = np.sign(y) if training.loss == "logistic" else y
    found = search_learning_rate(linear_image(), (x, y), training, steps=40, smoothing=beta)
    loop = loop_of(linear_image(), (x, y), training)
    beta = 0.8 if beta is None else beta
    rows = np.column_stack([x.reshape(22, -1), np.ones(22)]).astype(float)

    def batch(step):
        epoch, turn = divmod(step, loop.per_epoch)
        which = np.asarray(loop._order(epoch)).reshape(loop.per_epoch, -1)[turn]
        return rows[which], y[which]

    def walk(rates):
        return walked(
            np.append(PIXELS, 0.1), batch, rates, loss=training.loss, momentum=training.momentum,
            **decays(training),
        )  # fmt: skip

    curve, steepest, rate = ruled(walk, np.geomspace(1e-6, 1.0, 40), beta)
    sane = np.maximum.accumulate(curve) < 100.0
    # Forty steps in single precision.
    np.testing.assert_allclose(found.losses[0][sane], curve[sane], rtol=1e-3, atol=1e-4)
    assert found.steepest[0] == pytest.approx(steepest)
    assert found.suggestion == pytest.approx(rate)
    np.testing.assert_allclose(found.untrained_losses[0], walk(np.zeros(40))[1:], rtol=1e-5)


def test_hard_batches_are_no_rise():
    x, y = pictures()
    y[::4] *= 100.0
    training = Training(epochs=1, batch=2)
    found = search_learning_rate(linear_image(), (x, y), training, lowest=1e-9, highest=1e-7)
    assert found.raw_losses.max() > 100.0 * found.raw_losses.min()
    np.testing.assert_allclose(found.losses, 1.0, atol=0.05)
    assert np.all(np.diff(found.losses[0]) < 1e-3)


def convolutional():
    digits, labels = digit_images()
    task = tasks.symbolic_addition(range(-1, 2), [0])
    composed = tasks.compose_images(task, digits, labels, distance=8, seed=0)
    # Small, since compiling a step takes longer than all others.
    network = convnet((8, 16, 2), channels=(4,), kernel=3, dense=(), seed=0)
    return (
        network,
        composed.training(12),
        Training(epochs=8, momentum=0.9, batch=16, flip=True),
    )


def loop_of(network, data, training):
    """Return the loop of a run in which the rate is 1."""
    problem = checked_image_problem(network, data, training, None, None, None)
    scored = problem.sets["training"]
    return images_module.Loop(network, scored, training, 1.0, problem.seeds[0])


def test_a_convolutional_network_learns_at_its_suggestion():
    network, images, training = convolutional()
    found = search_learning_rate(network, images, training, steps=20)
    assert found.outcomes[0] in (RateOutcome.FOUND, RateOutcome.NEVER_DIVERGED)
    again = search_learning_rate(network, images, training, steps=20)
    np.testing.assert_array_equal(found.losses, again.losses)
    other = search_learning_rate(network, images, replace(training, seed=1), steps=10)
    assert not np.array_equal(found.untrained_losses[:, :10], other.untrained_losses)
    assert same(network, convolutional()[0])
    runs = train(network, images, replace(training, learning_rate=found.suggestion))
    assert runs.epoch_loss[0, -1] < 0.5 * runs.epoch_loss[0, 0]
    # Shares of a step are steps at that rate.
    loop = loop_of(network, images, training)
    state, losses = loop.state, []
    for epoch in range(8):
        for _ in range(loop.per_epoch):
            state, loss = module._take_share(
                state, jnp.asarray(found.suggestion, jnp.float32), loop.samples, loop.goal,
                loop._order(epoch), loop.key, kind=loop.kind, layout=loop.layout, batch=16,
            )  # fmt: skip
            losses.append(float(loss))
    # In single precision, of a network with kinks.
    means = np.reshape(losses, (8, -1)).mean(axis=1)
    np.testing.assert_allclose(means, runs.epoch_loss[0], rtol=2e-3)


def test_no_convolution_runs_inside_a_loop():
    network, images, training = convolutional()
    loop = loop_of(network, images, training)

    def step(state):
        return module._take_share(
            state, jnp.ones(()), loop.samples, loop.goal, loop._order(0), loop.key,
            kind=loop.kind, layout=loop.layout, batch=16,
        )  # fmt: skip

    text = str(jax.make_jaxpr(step)(loop.state))
    assert "conv_general_dilated[" in text
    assert not any(loop in text for loop in ("while[", "scan["))


def test_a_bar_for_each_run_of_steps(monkeypatch):
    bars = []

    @contextmanager
    def counted(what, total, *, shown):
        bars.append([total, 0, shown])

        def advance(done, note=""):
            bars[-1][1] += done

        yield advance

    monkeypatch.setattr(module, "bar", counted)
    search_learning_rate(linear_image(), pictures(), Training(epochs=1), steps=10, progress=False)
    assert len(bars) >= 3
    assert all(each == [11, 11, False] for each in bars)


def test_a_learning_rate_for_each_run():
    rates = np.array([0.01, 0.03])
    few = {"steps": 50, "threshold": 0.0, "record": 5}
    runs = descend(X, Y, relu(), learning_rate=rates, **few)
    for run in range(2):
        alone = descend(
            X, Y, jax.tree.map(lambda w, r=run: w[r : r + 1], relu()),
            learning_rate=float(rates[run]), **few,
        )  # fmt: skip
        np.testing.assert_array_equal(alone.training_loss[0], runs.training_loss[run])
    np.testing.assert_array_equal(runs.learning_rates, rates)
    # Restarts change the rates of the run, and not those that were given.
    given = 1e4 * rates
    wild = descend(X, Y, relu(), learning_rate=given, restarts=4, **few)
    assert np.all(wild.learning_rates < given)
    np.testing.assert_array_equal(given, 1e4 * rates)


RATES = "learning rates are one positive number, or one for each of 2 runs; got "
REMEDY = "; pass 0.1, say, or an array of as many as there are runs"


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ([0.1, -0.5], "numbers from -0.5 to 0.1"),
        ([0.1] * 3, "shape (3,)"),
    ],
)
def test_learning_rates_that_are_none(given, got):
    with pytest.raises(InputError) as caught:
        descend(X, Y, relu(), steps=3, learning_rate=np.array(given))
    assert str(caught.value) == RATES + got + REMEDY


SPAN = "lowest and highest are learning rates from 1e-30 to 1e+30, the lower one first; got "
ENDS = "; pass 1e-6 and 1, say"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"lowest": 0}, SPAN + "0 and 1" + ENDS),
        ({"highest": 0}, SPAN + "1e-06 and 0" + ENDS),
        (
            {"training": Training(steps=1), "data": [(X, Y), (X, Y)]},
            "a learning rate is searched for networks of one task; got 2 tasks; pass one pair "
            "(inputs, targets)",
        ),
        ({"steps": 9}, "steps is a whole number of at least 10; got 9; pass 100, say"),
        (
            {"at_most": 0.0},
            "at_most is a learning rate of at least 1e-30; got 0.0; leave it out for no bound",
        ),
        (
            {"smoothing": 1.0},
            "smoothing is a finite number of at least 0 and below 1; got 1.0; pass a number of at "
            "least 0 and below 1",
        ),
        (
            {"data": (np.ones((22, 3, 3, 1), np.float32), np.ones(22))},
            "images for this network have height, width and channels (2, 3, 1); got (3, 3, 1); "
            "draw a network for their shape",
        ),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    dense = {"networks": relu(), "data": (X, Y), "training": Training(steps=1), "highest": 1}
    images = {"networks": linear_image(), "data": pictures(), "training": Training(epochs=1)}
    of_images = change.keys() & {"smoothing", "data"} and "training" not in change
    arguments = images if of_images else dense
    with pytest.raises(InputError) as caught:
        search_learning_rate(**(arguments | change))
    assert str(caught.value) == sentence
