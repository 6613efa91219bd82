"""Transfer between two tasks of classes: against steps by hand, modes that agree, and refusals."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from programs import primitives

from partwhole._checks import InputError
from partwhole.networks import ImageNetwork, image_network, outputs
from partwhole.networks.images.convnet import convnet
from partwhole.networks.images.layers import BatchNorm, Dense, Drawn, Flatten, ReLU, trained
from partwhole.tasks.images.class_split import split_classes
from partwhole.tasks.images.digits import digit_images
from partwhole.training import Training, train
from partwhole.training.images.assembly import Layout, Samples
from partwhole.training.images.problem import ScoredSet
from partwhole.training.images.step import Kind
from partwhole.training.images.transfer import train_transfer
from partwhole.training.images.two_tasks import Half, TwoTasks
from partwhole.training.outcome import Outcome

module = import_module("partwhole.training.images.train")
transfer = import_module("partwhole.training.images.transfer")
DIGITS, LABELS = digit_images()


def small_split(n_main=6, per_class=12, n_test=4, seed=0):
    """Return few digits of five classes, two of them the main task's."""
    kept = np.concatenate([np.flatnonzero(each == LABELS)[:per_class] for each in range(5)])
    return split_classes(DIGITS[kept], LABELS[kept], n_main=n_main, n_test=n_test, seed=seed)


SPLIT = small_split()


def dense(units, seed=0):
    """Return a network without convolutions, which are slow to compile, but with statistics."""
    drawn = Drawn(np.random.default_rng(seed), "he")
    first, norm, last = (
        drawn.dense(64, units, bias=False), drawn.batch_norm(units), drawn.dense(units, 5)
    )  # fmt: skip
    parts = (Flatten(), first, norm, ReLU(), last)
    return ImageNetwork(parts, ("flat", "dense", "norm", "relu", "out"), (8, 8, 1))


NETWORK = dense(6)


def leaves(network):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_array))]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(leaves(one), leaves(other), strict=True))


def close(one, other, atol=2e-6):
    for a, b in zip(leaves(one), leaves(other), strict=True):
        # A few steps in single precision.
        np.testing.assert_allclose(a, b, atol=atol)


def settings(**changes):
    """Return a training on classes, by Adam in batches of 128 at most."""
    usual = {"loss": "cross entropy", "optimiser": "adam", "learning_rate": 1e-3, "batch": 128}
    return Training(**(usual | {"epochs": 100} | changes))


def by_hand(network, made, epochs):
    """Take optax's steps: each is a list of (weight, images, columns), passed as one batch.

    Return the network and the mean of the losses of each task, in each epoch.
    """
    kept, rest = eqx.partition(network, trained(network))
    state = made.init(kept)

    @jax.jit
    def step(kept, rest, state, batches):
        def loss(kept):
            full = eqx.combine(kept, rest)
            joined = jnp.concatenate([x for _, x, _ in batches])
            answers, after = full.in_training(joined, jax.random.key(0))
            total, each, at = 0.0, [], 0
            for weight, x, columns in batches:
                rows = jax.nn.log_softmax(answers[at : at + len(x)])
                each.append(-jnp.mean(rows[jnp.arange(len(x)), columns]))
                total, at = total + weight * each[-1], at + len(x)
            return total, (jnp.stack(each), eqx.partition(after, trained(after))[1])

        (_, (each, rest)), slopes = jax.value_and_grad(loss, has_aux=True)(kept)
        with jax.numpy_dtype_promotion("standard"):
            moves, state = made.update(slopes, state, kept)
        return eqx.apply_updates(kept, moves), rest, state, each

    told = []
    for steps in epochs:
        seen = []
        for batches in steps:
            given = [(jnp.float32(w), jnp.asarray(x, jnp.float32), c) for w, x, c in batches]
            kept, rest, state, each = step(kept, rest, state, given)
            seen += np.asarray(each).tolist()
        told.append(seen)
    return eqx.combine(kept, rest), np.array(told)


OPTIMISERS = {
    "sgd": (
        {"optimiser": "sgd", "learning_rate": 0.1, "momentum": 0.9},
        optax.sgd(0.1, momentum=0.9),
    ),
    "adam": (
        {"optimiser": "adam", "learning_rate": 0.01, "weight_decay": 0.005},
        optax.chain(optax.add_decayed_weights(0.01), optax.adam(0.01)),
    ),
}


def test_published_multitask_by_hand():
    # The other optimiser is that of the tests in batches, and of the corrected protocol.
    options, rule = OPTIMISERS["adam"]
    training = settings(epochs=2, batch=40, seed=1, **options)
    # All images of a task in a batch: one step for each task.
    runs = train_transfer(NETWORK, SPLIT, training, mode="multitask", protocol="published")
    steps = [[(1.0, *SPLIT.samples("main"))], [(1.0, *SPLIT.samples("auxiliary"))]]
    expected, losses = by_hand(NETWORK, rule, [steps] * 2)
    close(runs.network(0), expected)
    np.testing.assert_allclose(runs.epoch_loss[0], losses.T, rtol=1e-5)


BATCHED = settings(epochs=2, batch=8, seed=4, **OPTIMISERS["sgd"][0])
SPLIT_BATCHED = small_split(n_main=10)


def published(**named):
    return train_transfer(
        NETWORK, SPLIT_BATCHED, BATCHED, mode="multitask", protocol="published", **named
    )


@pytest.fixture(scope="module")
def whole():
    return published()


def test_published_batches_and_weight_by_hand(whole):
    # 10 main images make a batch of 8, and 36 auxiliary ones 4; the weight counts fractions.
    halves = tuple(
        Half(Samples.of(images)[0], jnp.asarray(columns, jnp.int32))
        for images, columns in (SPLIT_BATCHED.samples("main"), SPLIT_BATCHED.samples("auxiliary"))
    )
    course = TwoTasks(halves, Kind.of(BATCHED, 0.1), 8, Layout(), 4, None, False)
    assert (course.batches, course.per_epoch) == ((1, 4), 5)
    assert course.auxiliary_weight == pytest.approx((10 / 8) / (36 / 8), rel=1e-15)
    epochs = []
    for epoch in range(2):
        orders = [np.asarray(order) for order in course.order(epoch)]
        assert [len(set(order)) for order in orders] == [len(order) for order in orders] == [8, 32]
        steps = []
        for part, order, weight in zip(
            ("main", "auxiliary"), orders, (1.0, course.auxiliary_weight), strict=True
        ):
            images, columns = SPLIT_BATCHED.samples(part)
            steps += [[(weight, images[w], columns[w])] for w in order.reshape(-1, 8)]
        epochs.append(steps)
    expected, losses = by_hand(NETWORK, OPTIMISERS["sgd"][1], epochs)
    # Ten steps of .1 with momentum, in single precision.
    close(whole.network(0), expected, atol=1e-5)
    main, auxiliary = whole.epoch_loss[0]
    np.testing.assert_allclose(main, losses[:, 0], rtol=1e-4)
    np.testing.assert_allclose(auxiliary, losses[:, 1:].mean(axis=1), rtol=1e-4)


def test_published_weights():
    # 49,000 auxiliary images in batches of 128.
    halves = tuple(Half(Samples(jnp.zeros((1, 1, 1, 1)), jnp.zeros((n, 1), jnp.int32)),
                        jnp.zeros(n, jnp.int32)) for n in (10, 49_000))  # fmt: skip
    for n, expected in ((10, 0.0026), (1000, 0.0204)):
        main = halves[0]._replace(goal=jnp.zeros(n, jnp.int32))
        training = Training.published("resnet-18")
        kind = Kind.of(training, 1e-3)
        course = TwoTasks((main, halves[1]), kind, training.batch, Layout(), 0, None, False)
        assert course.auxiliary_weight == pytest.approx(expected, abs=5e-5)


def test_corrected_multitask_by_hand():
    options, rule = OPTIMISERS["sgd"]
    training = settings(epochs=2, batch=40, seed=1, **options)
    runs = train_transfer(NETWORK, SPLIT, training, mode="multitask", auxiliary_weight=0.3)
    both = [(1.0, *SPLIT.samples("main")), (0.3, *SPLIT.samples("auxiliary"))]
    expected, losses = by_hand(NETWORK, rule, [[both]] * 2)
    close(runs.network(0), expected)
    np.testing.assert_allclose(runs.epoch_loss[0], losses.T, rtol=1e-5)
    # The training loss weighs tasks by their samples.
    both = runs.task_loss[0, :, -1]
    n = np.array([len(SPLIT.samples(name)[1]) for name in runs.trained_on])
    assert runs.training_loss[0, -1] == pytest.approx(n @ both / n.sum(), rel=1e-6)
    np.testing.assert_array_equal(both[0], runs.scores["main"].loss[0, -1])


def test_the_shorter_task_starts_over_in_new_orders():
    halves = tuple(
        Half(
            Samples(jnp.zeros((1, 1, 1, 1)), jnp.zeros((n, 1), jnp.int32)), jnp.zeros(n, jnp.int32)
        )
        for n in (10, 36)
    )
    training = settings(batch=4)
    course = TwoTasks(halves, Kind.of(training, 1e-3), 4, Layout(), 0, 1.0, True)
    assert (course.batches, course.per_epoch, course.stopping) == ((9, 9), 9, 2)
    main, auxiliary = (np.asarray(order) for order in course.order(0))
    assert sorted(auxiliary) == list(range(36))
    # 8 of the 10 in each pass: four whole ones and half of a fifth.
    passes = np.split(main, [8, 16, 24, 32])
    assert [len(set(each)) for each in passes] == [8, 8, 8, 8, 4]
    assert len({tuple(each) for each in passes}) == 5
    assert not np.array_equal(course.order(1)[0], main)
    # The first pass is that of a run on the main task alone.
    scored = ScoredSet(halves[0].samples, Layout(), np.zeros(10, np.int32))
    loop = module.Loop(NETWORK, scored, training, 1e-3, 0)
    np.testing.assert_array_equal(loop._order(0), main[:8])


def test_modes_of_one_task_are_training_on_it():
    # As many images of each task, so that a step is compiled once for both.
    split = replace(SPLIT_BATCHED, auxiliary=SPLIT_BATCHED.auxiliary[::3][:10])
    for mode, part in (("singletask", "main"), ("pretraining", "auxiliary")):
        images, columns = split.samples(part)
        assert len(images) == 10
        runs = train_transfer(NETWORK, split, BATCHED, mode=mode)
        plain = train(NETWORK, (images.astype(np.float32), columns), BATCHED)
        assert same(runs.network(0), plain.network(0))
        assert runs.trained_on == (part,)
        np.testing.assert_array_equal(runs.epoch_loss, plain.epoch_loss)
        np.testing.assert_array_equal(runs.outputs[part], plain.outputs["training"])
    again = train_transfer(NETWORK, split, BATCHED, mode="finetuning")
    alone = train_transfer(NETWORK, split, BATCHED, mode="singletask")
    # With c = 1 finetuning goes on where the network was.
    assert same(again.network(0), alone.network(0))
    assert same(again.start, NETWORK)


@pytest.mark.parametrize("name", ["resnet-small", "vit-small", "convnet-small"])
def test_every_parameter_is_rescaled_and_no_running_statistics(name):
    network = image_network(name, (8, 8, 1), outputs=5, seed=0)
    before = jax.tree.map(lambda leaf: np.asarray(leaf) + 0.5, network)
    after = transfer._rescaled(before, 0.25)
    nodes = jax.tree.leaves(before, is_leaf=lambda node: isinstance(node, BatchNorm))
    stays = {id(leaf) for n in nodes if isinstance(n, BatchNorm) for leaf in (n.mean, n.variance)}
    assert (len(stays) > 0) == (name != "vit-small")
    for one, other in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        np.testing.assert_array_equal(other, one * (1.0 if id(one) in stays else 0.25))


def test_finetuning_begins_with_the_rescaled_network():
    rescaled = transfer._rescaled(NETWORK, 0.25)
    runs = train_transfer(NETWORK, SPLIT_BATCHED, BATCHED, mode="finetuning", rescale=0.25)
    assert same(runs.start, rescaled)
    assert not same(runs.start, NETWORK)
    alone = train_transfer(rescaled, SPLIT_BATCHED, BATCHED, mode="singletask")
    assert same(runs.network(0), alone.network(0))
    assert not same(runs.network(0), rescaled)


def test_no_convolution_runs_inside_a_loop():
    """On a CPU it is some 25 times slower there."""
    network = convnet((8, 8, 1), outputs=5, channels=(3,), kernel=3, dense=(), seed=0)
    halves = tuple(
        Half(Samples.of(images.astype(np.float32))[0], jnp.asarray(columns, jnp.int32))
        for images, columns in (SPLIT.samples("main"), SPLIT.samples("auxiliary"))
    )
    layout = Layout(crop=1, flip=True)
    for together in (True, False):
        course = TwoTasks(halves, Kind.of(BATCHED, 0.1), 8, layout, 0, None, together)
        scored = ScoredSet(halves[0].samples, layout, np.asarray(halves[0].goal))
        loop = module.Loop(network, scored, BATCHED, 0.1, 0, course)
        traced = jax.make_jaxpr(lambda state, loop=loop: loop.course.step(
            state, loop._order(0), loop.key, 0
        ))(loop.state)  # fmt: skip
        found = list(primitives(traced.jaxpr))
        assert ("conv_general_dilated", False) in found
        assert ("conv_general_dilated", True) not in found


def flat(bias):
    """Return a network that answers a constant, but for what little it sees."""
    layer = Dense(jnp.zeros((5, 64), jnp.float32), jnp.asarray(bias, jnp.float32))
    return ImageNetwork((Flatten(), layer), ("flat", "out"), (8, 8, 1))


STILL = settings(optimiser="sgd", learning_rate=1e-6, epochs=2, threshold=2.0)


@pytest.mark.parametrize("protocol", ["corrected", "published"])
def test_which_losses_end_training(protocol):
    # The main loss is log 2 and the auxiliary one about 5 more.
    network = flat([5.0, 5.0, 0.0, 0.0, 0.0])
    runs = train_transfer(network, SPLIT, STILL, mode="multitask", protocol=protocol)
    main, auxiliary = runs.epoch_loss[0]
    assert main[0] < 2.0 < auxiliary[0]
    if protocol == "published":
        assert runs.outcomes == (Outcome.REACHED_THRESHOLD,)
        assert len(main) == 1
    else:
        assert runs.outcomes == (Outcome.REACHED_MAX_STEPS,)
        assert len(main) == 2
        # Both are log 5.
        runs = train_transfer(flat(np.zeros(5)), SPLIT, STILL, mode="multitask")
        assert runs.outcomes == (Outcome.REACHED_THRESHOLD,)


def test_accuracy_among_all_columns_and_among_those_of_the_task():
    # Column 4 is above all others; of the main task's columns the second is.
    network = flat([1.0, 2.0, 0.0, 0.0, 4.0])
    # Classes of unequal size, so that no accuracy is another's.
    columns = SPLIT.columns.copy()
    columns[SPLIT.auxiliary[:9]] = [2, 2, 2, 3, 3, 4, 4, 4, 4]
    split = replace(SPLIT, columns=columns)
    runs = train_transfer(network, split, replace(STILL, record=[1, 2]), mode="multitask")
    assert runs.steps.tolist() == [1, 2]
    main, other = split.samples("main")[1], split.samples("auxiliary")[1]
    assert np.all(runs.scores["main"].accuracy == 0.0)
    assert 0.0 < np.mean(main == 1) != 0.5
    assert len(set(np.bincount(other)[2:])) == 3
    np.testing.assert_array_equal(runs.scores["main"].task_accuracy, np.mean(main == 1))
    for name in ("accuracy", "task_accuracy"):
        np.testing.assert_array_equal(getattr(runs.scores["auxiliary"], name), np.mean(other == 4))
    frame = runs.scores_to_frame()
    columns = ["run", "samples", "step", "loss", "accuracy", "task_accuracy"]
    assert frame.columns.tolist() == columns
    assert frame.samples.tolist() == ["main"] * 2 + ["test"] * 2 + ["auxiliary"] * 2
    answers = outputs(runs.network(0), split.samples("test")[0])
    np.testing.assert_allclose(runs.outputs["test"][0], answers, atol=1e-6)
    assert not runs.has_learned.any()
    assert runs.to_frame().task.tolist() == [0, 1]


def test_both_tasks_are_learned():
    split = small_split(n_main=20, per_class=30, n_test=30)
    training = settings(learning_rate=1e-2, epochs=60, batch=32, threshold=1e-2)
    runs = train_transfer(dense(32), split, training, mode="multitask")
    assert runs.outcomes == (Outcome.REACHED_THRESHOLD,)
    assert runs.has_learned.all()
    assert runs.epoch_loss[0, :, -1].max() <= 1e-2 < runs.epoch_loss[0, :, -2].max()
    assert runs.scores["test"].accuracy[0, -1] > 0.8


def test_an_interrupted_run_of_two_tasks_resumes_bit_by_bit(whole, tmp_path, monkeypatch):
    joint = import_module("partwhole.training.images.two_tasks")
    file, step = tmp_path / "run.npz", joint.take_joint_step
    # An epoch is a step on the main task and four on the other: break off within each.
    for steps in (1, 5, 8):
        taken = []

        def broken(*given, steps=steps, taken=taken, **named):
            if len(taken) == steps:
                raise KeyboardInterrupt
            taken.append(1)
            return step(*given, **named)

        with monkeypatch.context() as patch:
            patch.setattr(module, "SAVED_EVERY", 0.0)
            patch.setattr(joint, "take_joint_step", broken)
            with pytest.raises(KeyboardInterrupt):
                published(checkpoint=file)
        with pytest.raises(InputError, match="a run resumes from a checkpoint of the same"):
            train_transfer(NETWORK, SPLIT_BATCHED, BATCHED, mode="multitask", checkpoint=file)
        resumed = published(checkpoint=file)
        assert same(resumed.network(0), whole.network(0))
        np.testing.assert_array_equal(resumed.epoch_loss, whole.epoch_loss)
        file.unlink()


def test_published_settings():
    resnet, vit = (Training.published(name) for name in ("resnet-18", "vit-finetuning"))
    assert (resnet.optimiser, resnet.learning_rate, resnet.momentum) == ("sgd", 1e-3, 0.9)
    # As published, 5e-5 times the weights are added to their gradients.
    assert (vit.optimiser, vit.learning_rate, 2.0 * vit.weight_decay) == ("adam", 1e-3, 5e-5)
    for training in (resnet, vit):
        assert (training.loss, training.batch, training.epochs, training.threshold) == (
            "cross entropy", 128, 1000, 1e-2
        )  # fmt: skip
        assert (training.crop, training.flip) == (0, False)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"mode": "probing"},
            'mode is "pretraining", "finetuning", "multitask" or "singletask"; got \'probing\'; '
            "choose one of them",
        ),
        (
            {"mode": "multitask", "protocol": "paper"},
            'protocol is "corrected" or "published"; got \'paper\'; choose one of them',
        ),
        (
            {"protocol": "published"},
            "protocol is of multitask, the other modes have one only; got 'published' for "
            "'singletask'; leave it out",
        ),
        (
            {"rescale": 0.5},
            "rescale is of finetuning; got 0.5 for 'singletask'; leave it out",
        ),
        (
            {"mode": "finetuning", "rescale": 0.0},
            "c is a finite number above 0; got 0.0; pass a number above 0",
        ),
        (
            {"auxiliary_weight": 0.5},
            "auxiliary_weight is of multitask, corrected; got 0.5 for 'singletask', corrected; "
            "leave it out",
        ),
        (
            {"mode": "multitask", "protocol": "published", "auxiliary_weight": 0.5},
            "auxiliary_weight is of multitask, corrected; got 0.5 for 'multitask', published; "
            "leave it out",
        ),
        (
            {"mode": "multitask", "auxiliary_weight": 0},
            "auxiliary_weight is a number above 0, up to 1e+06; got 0; pass 1, or "
            'mode="singletask" for none of it',
        ),
        (
            {"training": settings(loss="squared")},
            "classes are learned by the loss 'cross entropy'; got 'squared'; pass "
            "loss='cross entropy'",
        ),
        (
            {"network": convnet((9, 8, 1), outputs=5, channels=(1,), kernel=3, seed=0)},
            "images for this network have height, width and channels (9, 8, 1); got (8, 8, 1); "
            "draw a network for their shape",
        ),
        (
            {"network": convnet((8, 8, 1), outputs=2, channels=(1,), kernel=3, seed=0)},
            "the network has an output for each of 5 classes; got 2; draw one with "
            "outputs=split.n_outputs",
        ),
        (
            {"training": Training(steps=3, loss="cross entropy")},
            "image networks train for epochs, all parameters, in single precision; got steps; "
            "pass epochs=100, say",
        ),
        (
            {"split": replace(SPLIT, test_images=np.nan * SPLIT.images)},
            "test images are finite; got NaN or infinity; drop those rows",
        ),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    arguments = {
        "network": NETWORK, "split": SPLIT, "training": settings(), "mode": "singletask",
    }  # fmt: skip
    with pytest.raises(InputError) as caught:
        train_transfer(**(arguments | change))
    assert str(caught.value) == sentence


def test_levels_of_8_bits_are_refused():
    levels = replace(SPLIT_BATCHED, images=255.0 * SPLIT_BATCHED.images)
    with pytest.raises(InputError) as caught:
        train_transfer(NETWORK, levels, BATCHED, mode="multitask")
    assert str(caught.value).startswith("images have pixels from 0 to 1, or standardised ones up")
    assert str(caught.value).endswith("; divide levels of 0..255 by 255")
