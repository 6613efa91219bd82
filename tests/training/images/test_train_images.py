"""Training of image networks: against plain NumPy, interrupted and resumed, and refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from importlib import import_module

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from programs import looped

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.networks import Architecture, ImageNetwork, image_network, outputs
from partwhole.networks.images.convnet import convnet
from partwhole.networks.images.layers import Dense, Flatten
from partwhole.networks.images.resnet import resnet
from partwhole.tasks.images.digits import digit_images
from partwhole.training import Training, train
from partwhole.training.images.goals import judged
from partwhole.training.images.problem import checked_image_problem
from partwhole.training.images.step import Kind
from partwhole.training.outcome import Outcome

module = import_module("partwhole.training.images.train")


def linear(k=1, seed=0):
    """Return a network that is one linear map of 2 x 3 x 1 pixels."""
    weight = 0.3 * np.random.default_rng(seed).normal(size=(k, 6))
    bias = jnp.full(k, 0.1, jnp.float32)
    layer = Dense(jnp.asarray(weight, jnp.float32), bias)
    return ImageNetwork((Flatten(), layer), ("flat", "out"), (2, 3, 1))


def settings(**changes):
    """Return a training by Adam, in batches of 128 at most."""
    return Training(**({"optimiser": "adam", "learning_rate": 1e-3, "batch": 128} | changes))


def loop_of(network, data, training):
    """Return the loop of a run."""
    problem = checked_image_problem(network, data, training, None, None, None)
    rate, seed = float(problem.rates[0]), problem.seeds[0]
    return module.Loop(network, problem.sets["training"], training, rate, seed)


def problem(n=20, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2, 3, 1)).astype(np.float32), rng.normal(size=n)


def plain(x, y, weight, bias, training, steps):
    """Train the linear map in NumPy, on all samples at once."""
    rows = np.column_stack([x.reshape(len(x), -1), np.ones(len(x))])
    w = np.append(weight, bias)
    first, second = np.zeros_like(w), np.zeros_like(w)
    for step in range(1, steps + 1):
        f = rows @ w
        pull = 2.0 * (f - y) if training.loss == "squared" else -y / (1.0 + np.exp(y * f))
        slope = rows.T @ pull / len(rows) + 2.0 * training.weight_decay * w
        if training.optimiser == "sgd":
            first = slope + training.momentum * first
            w = w - training.learning_rate * first
            continue
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        move = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        w = w - training.learning_rate * move
    return w


@pytest.mark.parametrize(
    "training",
    [
        settings(optimiser="sgd", learning_rate=0.05, epochs=30),
        settings(optimiser="sgd", learning_rate=0.02, momentum=0.9, epochs=30),
        settings(loss="logistic", optimiser="sgd", learning_rate=0.3, weight_decay=0.05, epochs=30),
        settings(learning_rate=0.03, epochs=30),
        settings(loss="logistic", learning_rate=0.03, weight_decay=0.025, epochs=30),
    ],
    ids=["sgd", "momentum", "decay", "adam", "adam and decay"],
)
def test_all_samples_at_once_as_in_numpy(training):
    x, y = problem()
    y = np.sign(y) if training.loss == "logistic" else y
    network = linear()
    runs = train(network, (x, y), training)
    layer, end = network.parts[1], runs.network(0).parts[1]
    expected = plain(x, y, np.asarray(layer.weight)[0], 0.1, training, 30)
    weights = np.append(np.asarray(end.weight), np.asarray(end.bias))
    # Thirty steps in single precision.
    np.testing.assert_allclose(weights, expected, atol=3e-5)
    answers = x.reshape(20, -1) @ expected[:-1] + expected[-1]
    np.testing.assert_allclose(runs.outputs["training"][0, :, 0], answers, atol=2e-4)
    scores = runs.scores["training"]
    assert runs.training_loss[0, -1] == scores.loss[0, -1]
    if training.loss == "squared":
        assert scores.accuracy is None
        relative = np.mean((answers - y) ** 2) / y.var()
        assert scores.error[0, -1] == pytest.approx(relative, rel=1e-3)
    else:
        assert scores.error is None
        assert scores.accuracy[0, -1] == np.mean(np.sign(answers) == y)
        loss = np.log1p(np.exp(-y * answers)).mean()
        assert scores.loss[0, -1] == pytest.approx(loss, rel=1e-4)


def test_a_transformation_of_optax_is_the_optimiser():
    data, training = problem(), settings(optimiser="sgd", learning_rate=0.05, epochs=5)
    own = replace(training, optimiser=optax.sgd(0.05), learning_rate=None)
    by_name, by_optax = (train(linear(), data, one) for one in (training, own))
    assert same(by_name.network(0), by_optax.network(0))
    assert by_optax.learning_rates is None


@pytest.mark.parametrize(
    ("options", "transformation"),
    [
        (
            {"optimiser": "adamw", "weight_decay": 0.3, "learning_rate": 0.02},
            optax.adamw(0.02, weight_decay=0.3),
        ),
        # The slope of the decay is not clipped.
        (
            {"optimiser": "sgd", "weight_decay": 0.3, "learning_rate": 0.02},
            optax.chain(optax.add_decayed_weights(0.6), optax.sgd(0.02)),
        ),
    ],
    ids=["adamw", "sgd"],
)
def test_clipped_gradients_and_their_decay_are_those_of_optax(options, transformation):
    data, training = problem(), settings(**options, clip=0.05, batch=7, epochs=3)
    clipped = optax.chain(optax.clip_by_global_norm(0.05), transformation)
    own = settings(optimiser=clipped, learning_rate=None, batch=7, epochs=3)
    by_name, by_optax, free = (
        train(linear(), data, one).network(0)
        for one in (training, own, replace(training, clip=None))
    )
    assert same(by_name, by_optax)
    assert not same(by_name, free)


def test_several_networks_are_each_as_alone():
    data, training = problem(), settings(epochs=4, batch=8, record=1, seed=3)
    several = train([linear(), linear(seed=1)], data, training, read=data[0][:5])
    for run, seed in enumerate((3, 4)):
        alone = train(linear(seed=run), data, replace(training, seed=seed), read=data[0][:5])
        assert same(several.network(run), alone.network(0))
        np.testing.assert_array_equal(several.answers[run], alone.answers[0])
        np.testing.assert_array_equal(several.epoch_loss[run], alone.epoch_loss[0])
    assert several.steps.tolist() == [0, 2, 4, 6, 8]
    np.testing.assert_allclose(
        several.answers[0, 0], outputs(linear(), data[0][:5]), atol=1e-6
    )  # the network before training is read, too


def test_batches_as_in_numpy():
    # The order is the run's own; what it does with it is not.
    x, y = problem(11)
    training = settings(optimiser="sgd", learning_rate=0.05, epochs=3, batch=4, seed=5)
    runs = train(linear(), (x, y), training)
    loop = loop_of(linear(), (x, y), training)
    w = np.append(np.asarray(linear().parts[1].weight), 0.1)
    rows = np.column_stack([x.reshape(11, -1), np.ones(11)])
    losses = []
    for epoch in range(3):
        order = np.asarray(loop._order(epoch))
        assert len(order) == len(set(order)) == 8
        for which in order.reshape(2, 4):
            rest = rows[which] @ w - y[which]
            losses.append(np.mean(rest**2))
            w = w - 0.05 * 2.0 * rows[which].T @ rest / 4
    end = runs.network(0).parts[1]
    np.testing.assert_allclose(np.append(end.weight, end.bias), w, atol=1e-5)
    by_epoch = np.mean(np.reshape(losses, (3, 2)), axis=1)
    np.testing.assert_allclose(runs.epoch_loss[0], by_epoch, rtol=1e-5)
    orders = [tuple(np.asarray(loop._order(epoch)).tolist()) for epoch in range(6)]
    assert len(set(orders)) == 6
    assert {i for order in orders for i in order} == set(range(11))


def test_classes():
    x, _ = problem(60)
    classes = np.argmax(x.reshape(60, -1)[:, :3], axis=1)
    training = settings(loss="cross entropy", learning_rate=0.5, epochs=50, batch=60)
    runs = train(linear(3), (x, classes), training)
    assert runs.scores["training"].accuracy[0, -1] == 1.0
    assert runs.has_learned.tolist() == [True]
    assert runs.outputs["training"].shape == (1, 60, 3)


@cache
def drawn():
    """Return a convolutional network, its images, and others of unseen combinations."""
    images, labels = digit_images()
    task = tasks.symbolic_addition(range(-1, 2), [0])
    composed = tasks.compose_images(task, images, labels, distance=8, seed=0)
    # With every kind of layer but one of each: compiling a step takes longer than all others.
    network = convnet((8, 16, 2), channels=(8,), kernel=3, dense=(8,), seed=0)
    return network, composed.training(20), composed.compositional(5)


def small(**changes):
    """Return what a small run of a convolutional network is made of."""
    network, images, unseen = drawn()
    changes = {"epochs": 4, "batch": 16, "crop": 1, "flip": True, "seed": 3} | changes
    return network, images, settings(record=2, **changes), {"test": {"unseen": unseen}}


@pytest.fixture(scope="module")
def whole():
    network, images, training, rest = small()
    return train(network, images, training, **rest)


def leaves(network):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_array))]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(leaves(one), leaves(other), strict=True))


def test_a_run_and_its_table(whole):
    network, images, _, _ = small()
    assert whole.outcomes == (Outcome.RAN_ALL_STEPS,)
    assert whole.steps.tolist() == [0, 12, 24]
    assert whole.end_steps.tolist() == [24]
    assert whole.epoch_loss.shape == (1, 4)
    assert whole.epoch_loss[0, -1] < whole.epoch_loss[0, 0]
    frame = whole.scores_to_frame()
    assert frame.columns.tolist() == ["run", "samples", "step", "loss", "error"]
    assert frame.samples.tolist() == ["training"] * 3 + ["unseen"] * 3
    assert whole.to_frame().outcome.tolist() == ["ran_all_steps"]
    # The network that was given is as it was, and the answers are those of the trained one.
    drawn_again = convnet((8, 16, 2), channels=(8,), kernel=3, dense=(8,), seed=0)
    assert same(network, drawn_again)
    answers = outputs(whole.network(0), images)
    np.testing.assert_allclose(answers, whole.outputs["training"][0], atol=1e-5)


def test_the_same_seed_gives_the_same_bits_and_another_does_not(whole):
    network, images, training, rest = small()
    assert same(train(network, images, training, **rest).network(0), whole.network(0))
    other = train(network, images, replace(training, seed=4), **rest)
    assert not same(other.network(0), whole.network(0))


def interrupt(monkeypatch, steps, file, network, images, training, rest):
    """Train for so many steps, each of which leaves a checkpoint, and break off."""
    step, taken = module.take_step, []

    def broken(*given, **named):
        if len(taken) == steps:
            raise KeyboardInterrupt
        taken.append(1)
        return step(*given, **named)

    monkeypatch.setattr(module, "SAVED_EVERY", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(module, "take_step", broken)
        with pytest.raises(KeyboardInterrupt):
            train(network, images, training, checkpoint=file, **rest)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """Return the checkpoints of a run as they are after each step, of 0 to 23."""
    network, images, training, rest = small()
    file, kept = tmp_path_factory.mktemp("stopped") / "run.npz", []
    step = module.take_step

    def copied(*given, **named):
        kept.append(file.read_bytes() if file.exists() else b"")
        return step(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SAVED_EVERY", 0.0)
        patch.setattr(module, "take_step", copied)
        train(network, images, training, checkpoint=file, **rest)
    return kept


@pytest.mark.parametrize("steps", [1, 6, 7, 12, 23])  # 6 to an epoch; scores after two
def test_a_run_that_stops_at_any_step_resumes_bit_by_bit(
    steps, whole, stopped, tmp_path, monkeypatch
):
    network, images, training, rest = small()
    file, step, taken = tmp_path / "run.npz", module.take_step, []
    file.write_bytes(stopped[steps])

    def counted(*given, **named):
        taken.append(1)
        return step(*given, **named)

    monkeypatch.setattr(module, "take_step", counted)
    resumed = train(network, images, training, checkpoint=file, **rest)
    assert len(taken) == 24 - steps
    assert same(resumed.network(0), whole.network(0))
    np.testing.assert_array_equal(resumed.epoch_loss, whole.epoch_loss)
    np.testing.assert_array_equal(resumed.steps, whole.steps)
    for name in ("training", "unseen"):
        np.testing.assert_array_equal(resumed.outputs[name], whole.outputs[name])
        np.testing.assert_array_equal(resumed.scores[name].loss, whole.scores[name].loss)
    assert list(tmp_path.iterdir()) == [file]


def alike(one, other):
    """Return whether weights and records of two runs are the same bits."""
    pairs = [(one.epoch_loss, other.epoch_loss), (one.steps, other.steps)]
    pairs += [(one.answers, other.answers), (one.end_steps, other.end_steps)]
    for name in one.scores:
        pairs += [(one.outputs[name], other.outputs[name])]
        pairs += [(one.scores[name].loss, other.scores[name].loss)]
    return same(one.network(0), other.network(0)) and all(np.array_equal(*p) for p in pairs)


@pytest.mark.parametrize(
    "options",
    [{"record": 2}, {"record": [0, 3]}, {"record": None}, {"record": 1, "threshold": True}],
    ids=["regular", "few", "none", "threshold"],
)
def test_a_run_that_has_ended_goes_on_bit_by_bit(options, whole, tmp_path):
    """Of 4 epochs, then of 4 again, and then of 7, as of 7 at once; or it has reached its end."""
    network, images, training, rest = small()
    rest |= {"read": np.random.default_rng(0).random((3, 8, 16, 2))}
    file, has_end = tmp_path / "run.npz", "threshold" in options
    if has_end:
        options = options | {"threshold": float(whole.epoch_loss[0, 2])}

    def run(epochs, **checkpoint):
        return train(
            network, images, replace(training, epochs=epochs, **options), **rest, **checkpoint
        )

    first = run(4, checkpoint=file)
    assert alike(run(4, checkpoint=file), first)
    assert alike(run(7, checkpoint=file), run(7))
    reached = np.argmax(whole.epoch_loss[0] <= whole.epoch_loss[0, 2]) + 1
    assert len(first.epoch_loss[0]) == (reached if has_end else 4)


def test_a_run_of_fewer_or_other_epochs_is_refused(tmp_path, monkeypatch):
    network, images, training, rest = small()
    file = tmp_path / "run.npz"
    interrupt(monkeypatch, 14, file, network, images, training, rest)  # in the third epoch
    for epochs, sentence in (
        (2, f"or more; got 3 in {file} for 2; train for more epochs, or name another file"),
        (3, None),
    ):
        shorter = replace(training, epochs=epochs)
        if sentence is None:
            resumed = train(network, images, shorter, checkpoint=file, **rest)
            assert alike(resumed, train(network, images, shorter, **rest))
            continue
        with pytest.raises(InputError) as caught:
            train(network, images, shorter, checkpoint=file, **rest)
        assert str(caught.value).endswith(sentence)
    with pytest.raises(InputError) as caught:
        train(network, images, replace(training, record=[1]), checkpoint=file, **rest)
    assert str(caught.value) == (
        "a run that goes on records the epochs that its checkpoint has recorded; got [0, 2, 3] in "
        f"{file} for [1]; pass these to record, and any after 3, or name another file"
    )


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """Return the checkpoint of a run after its first step."""
    file = tmp_path_factory.mktemp("begun") / "run.npz"
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, 1, file, *small())
    return file.read_bytes()


@pytest.mark.parametrize(
    "kind", ["truncated", "text", "another network file", "seed", "rate", "data", "sets"]
)
def test_checkpoints_of_something_else_are_refused(kind, begun, tmp_path):
    network, images, training, rest = small()
    file = tmp_path / "run.npz"
    file.write_bytes(begun)
    rule = "a checkpoint is a whole file that training wrote; got "
    if kind == "truncated":
        file.write_bytes(file.read_bytes()[:-2000])
    elif kind == "text":
        file.write_text("nothing")
    elif kind == "another network file":
        np.savez(file, told=np.array("{}"), leaf_0=np.zeros(3))
    else:
        rule = (
            "a run resumes from a checkpoint of the same network, settings, seed and samples; got "
        )
        if kind == "seed":
            training = replace(training, seed=9)
        elif kind == "rate":
            training = replace(training, learning_rate=0.5)
        elif kind == "sets":
            rest = {"test": {"others": rest["test"]["unseen"]}}
        else:
            images = images.take(np.arange(len(images))[::-1].copy())
    kept = file.read_bytes()
    with pytest.raises(InputError) as caught:
        train(network, images, training, checkpoint=file, **rest)
    assert str(caught.value).startswith(rule + str(file))
    assert str(caught.value).endswith("; remove it to begin anew, or name another file")
    assert file.read_bytes() == kept


def test_divergence_and_a_stop_are_told():
    x, y = problem()
    wild = settings(optimiser="sgd", learning_rate=50.0, epochs=40)
    runs = train(linear(), (x, y), wild)
    assert runs.outcomes == (Outcome.DIVERGED,)
    assert not runs.has_learned.any()
    assert runs.epoch_loss.shape[1] < 40
    # A run that diverges starts again at a tenth of its rate.
    again = train(linear(), (x, y), replace(wild, restarts=3))
    assert again.outcomes == (Outcome.RAN_ALL_STEPS,)
    assert again.learning_rates[0] < 1.0
    y = x.reshape(20, -1) @ np.arange(6.0)
    calm = settings(learning_rate=0.1, epochs=4000, threshold=1e-3, record=100)
    runs = train(linear(), (x, y), calm)
    assert runs.outcomes == (Outcome.REACHED_THRESHOLD,)
    assert runs.epoch_loss[0, -1] <= 1e-3 < runs.epoch_loss[0, -2]
    assert runs.end_steps[0] == runs.epoch_loss.shape[1]
    # Records after the end repeat it.
    late = runs.steps >= runs.end_steps[0]
    assert len(set(runs.training_loss[0, late])) == 1
    assert runs.has_learned.all()
    short = train(linear(), (x, y), replace(calm, epochs=2))
    assert short.outcomes == (Outcome.REACHED_MAX_STEPS,)


@pytest.mark.parametrize("loss", ["squared", "logistic", "cross entropy"])
def test_outputs_that_are_no_numbers_are_not_right(loss):
    """NaN is no largest output, and so no class 0."""
    goal = {"squared": [0.5] * 4, "logistic": [1.0] * 4, "cross entropy": [0] * 4}[loss]
    scores = judged(np.full((4, 1), np.nan), np.array(goal), loss, slice(0, 1))
    assert all(np.isnan(score) for score in scores.values())


def test_a_checkpoint_of_another_transformation_is_refused(tmp_path, monkeypatch):
    network, images, rest = linear(), problem(), {}
    file = tmp_path / "run.npz"
    own = settings(epochs=4, batch=8, optimiser=optax.sgd(0.01), learning_rate=None)
    interrupt(monkeypatch, 3, file, network, images, own, rest)
    other = replace(own, optimiser=optax.sgd(10.0))
    with pytest.raises(InputError, match="a run goes on by an optimiser that takes the same steps"):
        train(network, images, other, checkpoint=file, **rest)
    resumed = train(network, images, own, checkpoint=file, **rest)
    assert same(resumed.network(0), train(network, images, own, **rest).network(0))


def test_test_losses_are_those_of_the_set_named_test():
    x, y = problem()
    one, named = (train(linear(), (x, y), settings(epochs=1), test=test)
                  for test in ((x, y), {"new": (x, y)}))  # fmt: skip
    assert one.final_loss[0] == one.scores["test"].loss[0, -1]
    with pytest.raises(InputError) as caught:
        _ = named.final_loss
    assert str(caught.value) == (
        "a test loss needs something to test on; got sets of other names; read scores by name"
    )


def test_a_loss_far_above_small_targets_is_no_divergence():
    """The first loss counts too: a network may begin far above its targets."""
    x, y = problem()
    runs = train(linear(), (x, 1e-6 * y), settings(epochs=2))
    assert runs.outcomes == (Outcome.RAN_ALL_STEPS,)


def test_no_convolution_runs_inside_a_loop():
    """On a CPU it is some 25 times slower there."""
    _, images, training, _ = small()
    for network in (
        convnet(images.shape, channels=(8,), kernel=3, dense=(8,), seed=0),
        resnet(images.shape, channels=(8, 8), blocks=(1, 1), pool=None, seed=0),
    ):
        loop = loop_of(network, images, training)
        assert loop.layout.crop == 1

        def step(state, loop=loop):
            return module.take_step(
                state, loop.samples, loop.goal, loop._order(0), loop.key,
                kind=Kind.of(loop.training, 1e-3), layout=loop.layout, batch=16,
            )  # fmt: skip

        assert not looped(step, loop.state)
        which = jnp.arange(4, dtype=jnp.int32)
        assert not looped(partial(module._answer, layout=loop.layout), network, loop.samples, which)

    def scanned(network, x):
        return jax.lax.scan(lambda c, _: (c + network(x).sum(), None), 0.0, None, length=3)

    assert looped(scanned, network, jnp.zeros((2, 8, 16, 2)))


def test_the_loss_is_reported_along_the_way(monkeypatch):
    reports = []

    class Bar:
        def __init__(self, what, total, *, shown):
            self.total, self.done = total, 0

        def __enter__(self):
            return self.advance

        def advance(self, done, note=""):
            self.done += done
            assert self.done <= self.total
            reports.append(note)

        def __exit__(self, *_):
            return None

    following = import_module("partwhole.training.following")
    monkeypatch.setattr(following, "bar", Bar)
    monkeypatch.setattr(following, "REPORTED_EVERY", 0.0)
    monkeypatch.setattr(module, "REPORTED_EVERY", 0.0)
    x, y = problem()
    runs = train(linear(), (x, y), settings(epochs=5))
    assert reports[-1] == f"loss {runs.epoch_loss[0, -1]:.3g}"
    # Within an epoch, the mean of its batches so far.
    reports.clear()
    still = settings(optimiser="sgd", learning_rate=1e-9, epochs=2, batch=8)
    train(linear(), (x, y), still)
    loop = loop_of(linear(), (x, y), still)
    rows = np.column_stack([x.reshape(20, -1), np.ones(20)])
    gaps = rows @ np.append(np.asarray(linear().parts[1].weight), 0.1) - y
    expected = []
    for epoch in range(2):
        first, second = (
            np.mean(gaps[which] ** 2) for which in np.reshape(loop._order(epoch), (2, 8))
        )
        expected += [first, (first + second) / 2.0]
    losses = [float(report.removeprefix("loss ")) for report in reports]
    np.testing.assert_allclose(losses, expected, rtol=6e-3)  # three digits are shown


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"data": problem()[0]},
            "data of image networks is composites, or a pair of images and targets; got a list of "
            "20; pass (images, targets)",
        ),
        (
            {"data": (problem()[0], np.ones(3))},
            "targets are one for each of some images; got 3 for 20 images; pass arrays of equal "
            "length",
        ),
        (
            {"data": (problem()[0], np.full(20, np.nan))},
            "data[1] is an array of finite numbers; got 20 that are NaN, the first at 0; drop or "
            "fill missing numbers first",
        ),
        (
            {"training": settings(loss="logistic", epochs=1)},
            "with the loss 'logistic' targets are labels -1 and +1; got -2 to 1; take the loss "
            "'squared' for numbers",
        ),
        (
            {"training": settings(loss="cross entropy", epochs=1)},
            "with the loss 'cross entropy' targets are classes numbered from 0; got shape (20,), "
            "whole numbers from -2 to 1; take the loss 'squared' for numbers, or 'logistic' for "
            "labels -1 and +1",
        ),
        (
            {
                "training": settings(loss="cross entropy", epochs=1),
                "data": (problem()[0], np.arange(20)),
            },
            "targets are classes below 1, the number of the network's outputs; got class 19; draw "
            "a network with an output for each class",
        ),
        (
            {"data": (problem()[0], np.ones((20, 2)))},
            "targets have a number for each image and each of 1 outputs of the network; got shape "
            "(20, 2); draw a network with outputs for them",
        ),
        (
            {"networks": linear(2)},
            "targets have a number for each image and each of 2 outputs of the network; got shape "
            "(20,); draw a network with outputs for them",
        ),
        (
            {"networks": [linear(), linear(2)]},
            "networks that train together take images of one shape and have as many outputs; got "
            "shape (2, 3, 1) and 1 outputs, shape (2, 3, 1) and 2 outputs; train them in several "
            "calls",
        ),
        (
            {"test": {"new": (np.full((1, 2, 3, 1), np.nan, np.float32), np.ones(1))}},
            "test['new'][0] is an array of finite numbers; got 6 that are NaN, the first at "
            "(0, 0, 0, 0); drop or fill missing numbers first",
        ),
        (
            {"test": {"training": (problem()[0], np.ones(20))}},
            "the training samples are scored under the name 'training', others under names of "
            "their own; got 'training' in test; name the set otherwise",
        ),
        (
            {"checkpoint": "no such folder/run.npz"},
            "a checkpoint is written in a folder that is there; got no such folder/run.npz; make "
            "the folder first",
        ),
        (
            {"networks": [linear(), linear(seed=1)], "checkpoint": "run.npz"},
            "a checkpoint is that of one network; got 2 networks; train them in several calls, "
            "with a file for each",
        ),
        (
            {"data": (np.ones((20, 3, 3, 1), np.float32), np.ones(20))},
            "images for this network have height, width and channels (2, 3, 1); got (3, 3, 1); "
            "draw a network for their shape",
        ),
        (
            {"read": np.ones((20, 3, 3, 1), np.float32)},
            "images to read for this network have height, width and channels (2, 3, 1); got "
            "(3, 3, 1); draw a network for their shape",
        ),
        (
            {"training": settings(epochs=1, restarts=2), "checkpoint": "run.npz"},
            "a checkpoint is that of a training without restarts; got 2 restarts; leave one of "
            "them out",
        ),
        (
            {"data": (problem()[0], np.full(20, 1e20))},
            "targets of training in single precision are of size 1e+18 at most; got 1e+20; rescale "
            "them to order 1",
        ),
        (
            {"networks": jax.tree.map(lambda leaf: leaf * np.nan, linear())},
            "initial weights are finite numbers; got NaN or infinity; draw them anew",
        ),
        (
            {"training": settings(epochs=1, record=0)},
            "record is a whole number of at least 1; got 0; pass 5 for every 5 epochs",
        ),
        (
            {"training": Training(steps=3)},
            "image networks train for epochs, all parameters, in single precision; got steps; "
            "pass epochs=100, say",
        ),
        (
            {"training": settings(epochs=1, precision="float64")},
            "image networks train for epochs, all parameters, in single precision; got double "
            "precision; leave it out",
        ),
        (
            {"teachers": np.ones(3)},
            "the test of image networks is samples, since their true function has no formula; got "
            "teachers; pass test=",
        ),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    arguments = {
        "networks": linear(), "data": (problem()[0], np.tile([-2.0, 1.0], 10)),
        "training": settings(epochs=1),
    }  # fmt: skip
    with pytest.raises(InputError) as caught:
        train(**(arguments | change))
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"training": settings(epochs=1, crop=1)},
            "crop and flip are of image networks, a checkpoint is of these or of a diffusion "
            "model; got crop or flip for MLP; leave it out",
        ),
        (
            {"checkpoint": "run.npz"},
            "crop and flip are of image networks, a checkpoint is of these or of a diffusion "
            "model; got a checkpoint for MLP; leave it out",
        ),
        (
            {"test": {"new": (np.ones((1, 6)), np.ones(1))}},
            "composites, and tests by name, are of image networks; got a dict as test for MLP; "
            "pass one pair (inputs, targets)",
        ),
        (
            {"test": small()[1]},
            "composites, and tests by name, are of image networks; got a Composites as test for "
            "MLP; pass one pair (inputs, targets)",
        ),
        (
            {"data": small()[1]},
            "composites, and tests by name, are of image networks; got a Composites as data for "
            "MLP; pass one pair (inputs, targets)",
        ),
    ],
)
def test_other_networks_have_no_options_of_images(change, sentence):
    network = Architecture(2, 3, "relu").networks(6, seeds=[0], outputs=1)
    arguments = {"training": settings(epochs=1), "data": (np.ones((4, 6)), np.ones(4))}
    with pytest.raises(InputError) as caught:
        train(network, **(arguments | change))
    assert str(caught.value) == sentence


def test_composites_bring_their_targets():
    network, images, training, _ = small()
    with pytest.raises(InputError) as caught:
        train(network, (images, images.targets), training)
    assert str(caught.value).startswith("data is a pair (an array of finite numbers, an array of")
    assert str(caught.value).endswith("; got a tuple of 2; pass one of these")


def test_published_settings():
    convnet = Training.published("convnet")
    assert (convnet.optimiser, convnet.learning_rate, convnet.momentum) == ("sgd", 1e-4, 0.9)
    assert (convnet.batch, convnet.epochs, convnet.crop, convnet.flip) == (128, 100, 0, False)
    resnet, vit = (Training.published(name, loss="logistic") for name in ("resnet", "vit"))
    assert (resnet.optimiser, resnet.learning_rate, resnet.epochs) == ("adam", 1e-3, 100)
    assert (vit.learning_rate, vit.epochs, vit.crop, vit.flip) == (1e-4, 200, 4, True)
    assert vit.loss == "logistic"
    own = Training.published("convnet", optimiser=optax.adamw(1e-3), steps=5)
    assert (own.momentum, own.learning_rate, own.epochs) == (0.0, None, None)
    assert Training.published("convnet", optimiser="adam").learning_rate == 1e-4
    with pytest.raises(InputError, match=r"network is .* \"vit-finetuning\", .*; got 'alexnet'"):
        Training.published("alexnet")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"loss": "hinge"}, "loss is .*; got 'hinge'; choose one of them"),
        ({"crop": -1}, "crop is a whole number of at least 0; got -1; pass a whole number"),
        ({"flip": "no"}, "flip is True or False; got 'no'; choose one of them"),
        (
            {"optimiser": optax.polyak_sgd(), "learning_rate": None},
            "a transformation of optax turns slopes alone into updates; got one that needs more, ",
        ),
    ],
)
def test_settings_that_do_not_exist(change, sentence):
    with pytest.raises(InputError, match=sentence):
        settings(epochs=1, **change)


@pytest.mark.parametrize("place", ["images", "images of test", "images to read"])
def test_levels_of_8_bits_are_refused(place):
    """As training data, as a test and as probes; standardised pixels are none."""
    network = image_network("convnet-small", (8, 8, 1), outputs=1, seed=0)
    x, y = np.zeros((3, 8, 8, 1)), np.zeros((3, 1))
    x[0, 0, 0], levels = -9.0, np.zeros_like(x)
    levels[1, 0, 0] = 255.0
    names = ("images", "images of test", "images to read")
    images, test, read = (levels if name == place else x for name in names)
    checked_image_problem(network, (x, y), settings(epochs=1), x, (x, y), None)
    with pytest.raises(InputError) as caught:
        train(network, (images, y), settings(epochs=1), read=read, test=(test, y))
    assert str(caught.value) == (
        f"{place} have pixels from 0 to 1, or standardised ones up to 10 in size; got 0 to 255; "
        "divide levels of 0..255 by 255"
    )
