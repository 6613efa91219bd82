"""Training of image networks: against plain NumPy, killed and resumed, and refused."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from importlib import import_module

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from killed import killed_beside
from programs import looped

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.networks import ImageNetwork, convnet, image_network, outputs
from partwhole.networks.images.layers import Dense, Flatten
from partwhole.tasks.images.digits import digit_images
from partwhole.training import Outcome, Recipe, train_images
from partwhole.training.images.assembly import Samples

module = import_module("partwhole.training.images.train")


def linear(k=1, seed=0):
    """Return a network that is one linear map of 2 x 3 x 1 pixels."""
    weight = 0.3 * np.random.default_rng(seed).normal(size=(k, 6))
    bias = jnp.full(k, 0.1, jnp.float32)
    layer = Dense(jnp.asarray(weight, jnp.float32), bias)
    return ImageNetwork((Flatten(), layer), ("flat", "out"), (2, 3, 1))


def problem(n=20, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2, 3, 1)).astype(np.float32), rng.normal(size=n)


def plain(x, y, weight, bias, recipe, steps):
    """Train the linear map in NumPy, on all samples at once."""
    rows = np.column_stack([x.reshape(len(x), -1), np.ones(len(x))])
    w = np.append(weight, bias)
    first, second = np.zeros_like(w), np.zeros_like(w)
    for step in range(1, steps + 1):
        f = rows @ w
        pull = 2.0 * (f - y) if recipe.loss == "squared" else -y / (1.0 + np.exp(y * f))
        slope = rows.T @ pull / len(rows) + recipe.weight_decay * w
        if recipe.optimizer == "sgd":
            first = slope + recipe.momentum * first
            w = w - recipe.learning_rate * first
            continue
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        move = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        w = w - recipe.learning_rate * move
    return w


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(loss="squared", optimizer="sgd", learning_rate=0.05, epochs=30),
        Recipe(loss="squared", optimizer="sgd", learning_rate=0.02, momentum=0.9, epochs=30),
        Recipe(loss="logistic", optimizer="sgd", learning_rate=0.3, weight_decay=0.1, epochs=30),
        Recipe(loss="squared", learning_rate=0.03, epochs=30),
        Recipe(loss="logistic", learning_rate=0.03, weight_decay=0.05, epochs=30),
    ],
    ids=["sgd", "momentum", "decay", "adam", "adam and decay"],
)
def test_all_samples_at_once_as_in_numpy(recipe):
    x, y = problem()
    y = np.sign(y) if recipe.loss == "logistic" else y
    network = linear()
    run = train_images(network, x, recipe, targets=y, seed=0)
    layer, end = network.parts[1], run.network.parts[1]
    expected = plain(x, y, np.asarray(layer.weight)[0], 0.1, recipe, 30)
    found = np.append(np.asarray(end.weight), np.asarray(end.bias))
    # Thirty steps in single precision.
    np.testing.assert_allclose(found, expected, atol=3e-5)
    answers = x.reshape(20, -1) @ expected[:-1] + expected[-1]
    np.testing.assert_allclose(run.outputs["training"][:, 0], answers, atol=2e-4)
    scores = run.scores["training"]
    if recipe.loss == "squared":
        assert scores.accuracy is None
        assert scores.error[-1] == pytest.approx(np.mean((answers - y) ** 2) / y.var(), rel=1e-3)
    else:
        assert scores.error is None
        assert scores.accuracy[-1] == np.mean(np.sign(answers) == y)
        assert scores.loss[-1] == pytest.approx(np.log1p(np.exp(-y * answers)).mean(), rel=1e-4)


def test_batches_as_in_numpy():
    # The order is the run's own; what it does with it is not.
    x, y = problem(11)
    recipe = Recipe(loss="squared", optimizer="sgd", learning_rate=0.05, epochs=3, batch=4)
    run = train_images(linear(), x, recipe, targets=y, seed=5)
    loop = module.Loop(linear(), *Samples.of(x), y.astype(np.float32), recipe, 5)
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
    end = run.network.parts[1]
    np.testing.assert_allclose(np.append(end.weight, end.bias), w, atol=1e-5)
    np.testing.assert_allclose(run.training_loss, np.mean(np.reshape(losses, (3, 2)), 1), rtol=1e-5)
    orders = [tuple(np.asarray(loop._order(epoch)).tolist()) for epoch in range(6)]
    assert len(set(orders)) == 6
    assert {i for order in orders for i in order} == set(range(11))


def test_classes():
    x, _ = problem(60)
    classes = np.argmax(x.reshape(60, -1)[:, :3], axis=1)
    recipe = Recipe(loss="cross entropy", learning_rate=0.1, epochs=150, batch=60)
    run = train_images(linear(3), x, recipe, targets=classes, seed=0)
    assert run.scores["training"].accuracy[-1] == 1.0
    assert run.has_learned
    assert run.outputs["training"].shape == (60, 3)


def small(**change):
    """Return what a small run of a convolutional network is made of."""
    images, labels = digit_images()
    task = tasks.symbolic_addition(range(-1, 2), [0])
    composed = tasks.compose_images(task, images, labels, distance=8, seed=0)
    told = {"loss": "squared", "epochs": 4, "batch": 16, "crop": 1, "flip": True} | change
    return (
        # With every kind of layer but one of each: compiling a step takes longer than all others.
        convnet((8, 16, 2), channels=(8,), kernel=3, dense=(8,), seed=0),
        composed.training(20),
        Recipe(**told),
        {"evaluate": {"unseen": composed.compositional(5)}, "every": 2, "seed": 3},
    )


@pytest.fixture(scope="module")
def whole():
    network, images, recipe, rest = small()
    return train_images(network, images, recipe, **rest)


def leaves(network):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_array))]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(leaves(one), leaves(other), strict=True))


def test_a_run_and_its_table(whole):
    network, images, _, _ = small()
    assert whole.outcome is Outcome.RAN_ALL_STEPS
    assert whole.recorded.tolist() == [2, 4]
    assert whole.training_loss.shape == (4,)
    assert whole.training_loss[-1] < whole.training_loss[0]
    frame = whole.to_frame()
    assert frame.columns.tolist() == ["samples", "epoch", "loss", "error"]
    assert frame.samples.tolist() == ["training"] * 2 + ["unseen"] * 2
    # The network that was given is as it was, and the answers are those of the trained one.
    assert same(network, small()[0])
    found = outputs(whole.network, images)
    np.testing.assert_allclose(found, whole.outputs["training"], atol=1e-5)


def test_the_same_seed_gives_the_same_bits_and_another_does_not(whole):
    network, images, recipe, rest = small()
    assert same(train_images(network, images, recipe, **rest).network, whole.network)
    other = train_images(network, images, recipe, **(rest | {"seed": 4}))
    assert not same(other.network, whole.network)


def interrupt(monkeypatch, steps, file, network, images, recipe, rest):
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
            train_images(network, images, recipe, checkpoint=file, **rest)


@pytest.mark.parametrize("steps", [1, 5, 6, 7, 12, 18, 23])  # 6 to an epoch; scores after two
def test_a_run_that_stops_at_any_step_resumes_bit_by_bit(steps, whole, tmp_path, monkeypatch):
    network, images, recipe, rest = small()
    file = tmp_path / "run.npz"
    interrupt(monkeypatch, steps, file, network, images, recipe, rest)
    assert file.exists()
    found = train_images(network, images, recipe, checkpoint=file, **rest)
    assert same(found.network, whole.network)
    np.testing.assert_array_equal(found.training_loss, whole.training_loss)
    np.testing.assert_array_equal(found.recorded, whole.recorded)
    for name in ("training", "unseen"):
        np.testing.assert_array_equal(found.outputs[name], whole.outputs[name])
        np.testing.assert_array_equal(found.scores[name].loss, whole.scores[name].loss)
    assert list(tmp_path.iterdir()) == []


KILLED = """
import sys
sys.path[:0] = [{folder!r}]
import time
from importlib import import_module
module = import_module("partwhole.training.images.train")
module.SAVED_EVERY = 0.0
from test_train_images import small
step = module.take_step
def slowly(*given, **named):
    time.sleep(0.05)
    return step(*given, **named)
module.take_step = slowly
network, images, recipe, rest = small()
module.train_images(network, images, recipe, checkpoint={file!r}, **rest)
"""


def test_a_killed_process_resumes_bit_by_bit(whole, tmp_path):
    file = tmp_path / "run.npz"
    killed_beside(KILLED.format(folder=os.path.dirname(__file__), file=str(file)), file)
    network, images, recipe, rest = small()
    found = train_images(network, images, recipe, checkpoint=file, **rest)
    assert same(found.network, whole.network)


@pytest.mark.parametrize(
    "kind", ["truncated", "text", "another network file", "seed", "recipe", "data", "sets"]
)
def test_checkpoints_of_something_else_are_refused(kind, tmp_path, monkeypatch):
    network, images, recipe, rest = small()
    file = tmp_path / "run.npz"
    interrupt(monkeypatch, 1, file, network, images, recipe, rest)
    rule = "a checkpoint is a whole file that training wrote; got "
    if kind == "truncated":
        file.write_bytes(file.read_bytes()[:-2000])
    elif kind == "text":
        file.write_text("nothing")
    elif kind == "another network file":
        np.savez(file, told=np.array("{}"), leaf_0=np.zeros(3))
    else:
        rule = "a run goes on from a checkpoint of the same network, recipe, seed and samples; got "
        if kind == "seed":
            rest = rest | {"seed": 9}
        elif kind == "recipe":
            recipe = replace(recipe, learning_rate=0.5)
        elif kind == "sets":
            rest = rest | {"evaluate": {"others": rest["evaluate"]["unseen"]}}
        else:
            images = images.take(np.arange(len(images))[::-1].copy())
    kept = file.read_bytes()
    with pytest.raises(InputError) as caught:
        train_images(network, images, recipe, checkpoint=file, **rest)
    assert str(caught.value).startswith(rule + str(file))
    assert str(caught.value).endswith("; remove it to begin anew, or name another file")
    assert file.read_bytes() == kept


def test_divergence_and_a_stop_are_told():
    x, y = problem()
    wild = Recipe(loss="squared", optimizer="sgd", learning_rate=50.0, epochs=40)
    run = train_images(linear(), x, wild, targets=y, seed=0)
    assert run.outcome is Outcome.DIVERGED
    assert not run.has_learned
    assert len(run.training_loss) < 40
    y = x.reshape(20, -1) @ np.arange(6.0)
    calm = Recipe(loss="squared", learning_rate=0.1, epochs=4000, stop_loss=1e-3)
    run = train_images(linear(), x, calm, targets=y, seed=0)
    assert run.outcome is Outcome.REACHED_THRESHOLD
    assert run.training_loss[-1] < 1e-3 <= run.training_loss[-2]
    assert run.has_learned


def test_no_convolution_runs_inside_a_loop():
    """On a CPU it is some 25 times slower there."""
    for name in ("convnet-small", "resnet-small"):
        _, images, recipe, _ = small()
        network = image_network(name, images.shape, seed=0)
        samples, layout = Samples.of(images)
        layout = layout._replace(crop=1, flip=True)
        goal = images.targets.astype(np.float32)
        loop = module.Loop(network, samples, layout, goal, recipe, 0)

        def step(state, loop=loop, layout=layout, recipe=recipe):
            return module.take_step(
                state, loop.samples, loop.goal, loop._order(0), loop.key,
                recipe=recipe, layout=layout, batch=16,
            )  # fmt: skip

        assert not looped(step, loop.state)
        which = jnp.arange(4, dtype=jnp.int32)
        assert not looped(partial(module._answer, layout=layout), network, samples, which)

    def scanned(network, x):
        return jax.lax.scan(lambda c, _: (c + network(x).sum(), None), 0.0, None, length=3)

    assert looped(scanned, network, jnp.zeros((2, 8, 16, 2)))


def test_notes_beside_the_bar(monkeypatch):
    notes = []

    class Bar:
        def __init__(self, what, total, *, shown):
            self.total, self.done = total, 0

        def __enter__(self):
            return self.advance

        def advance(self, done, note=""):
            self.done += done
            assert self.done <= self.total
            notes.append(note)

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(module, "bar", Bar)
    monkeypatch.setattr(module, "TOLD_EVERY", 0.0)
    x, y = problem()
    recipe = Recipe(loss="squared", epochs=5)
    run = train_images(linear(), x, recipe, targets=y, seed=0)
    assert notes[-1] == f"loss {run.training_loss[-1]:.3g}"
    # Within an epoch, the mean of its batches so far.
    notes.clear()
    still = Recipe(loss="squared", optimizer="sgd", learning_rate=1e-9, epochs=2, batch=8)
    run = train_images(linear(), x, still, targets=y, seed=0)
    loop = module.Loop(linear(), *Samples.of(x), y.astype(np.float32), still, 0)
    rows = np.column_stack([x.reshape(20, -1), np.ones(20)])
    gaps = rows @ np.append(np.asarray(linear().parts[1].weight), 0.1) - y
    expected = []
    for epoch in range(2):
        first, second = (
            np.mean(gaps[which] ** 2) for which in np.reshape(loop._order(epoch), (2, 8))
        )
        expected += [first, (first + second) / 2.0]
    found = [float(note.removeprefix("loss ")) for note in notes]
    np.testing.assert_allclose(found, expected, rtol=6e-3)  # three digits are shown


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"targets": None},
            "targets are one for each of some images; got none; pass arrays of equal length",
        ),
        (
            {"targets": np.ones(3)},
            "images and targets have equal length along n; got 20 and 3; pass both for the same n",
        ),
        (
            {"targets": np.full(20, np.nan)},
            "targets is an array of finite numbers of shape (n, ...); got 20 that are NaN, the "
            "first at 0; drop or fill missing numbers first",
        ),
        (
            {"recipe": Recipe(loss="logistic")},
            "with the loss 'logistic' targets are labels -1 and +1; got -2 to 1; take the loss "
            "'squared' for numbers",
        ),
        (
            {"recipe": Recipe(loss="cross entropy")},
            "with the loss 'cross entropy' targets are classes numbered from 0; got shape (20,) of "
            "float64; take the loss 'squared' for numbers, or 'logistic' for labels -1 and +1",
        ),
        (
            {"recipe": Recipe(loss="cross entropy"), "targets": np.arange(20)},
            "targets are classes below 1, the number of the network's outputs; got class 19; draw "
            "a network with an output for each class",
        ),
        (
            {"targets": np.ones((20, 2))},
            "targets have a number for each image and each of 1 outputs of the network; got shape "
            "(20, 2); draw a network with outputs for them",
        ),
        (
            {"network": linear(2)},
            "targets have a number for each image and each of 2 outputs of the network; got shape "
            "(20,); draw a network with outputs for them",
        ),
        (
            {"images": np.full((20, 2, 3, 1), np.inf, np.float32)},
            "images is an array of finite numbers of shape (n, h, w, c); got 120 that are "
            "infinite, the first at (0, 0, 0, 0); drop or limit infinite numbers first",
        ),
        (
            {"evaluate": {"new": (np.full((1, 2, 3, 1), np.nan, np.float32), np.ones(1))}},
            "evaluate['new'][0] is an array of finite numbers of shape (_, h, w, c); got 6 that "
            "are NaN, the first at (0, 0, 0, 0); drop or fill missing numbers first",
        ),
        (
            {"evaluate": {"training": (problem()[0], np.ones(20))}},
            "the samples that are trained on are scored under the name 'training', others under "
            "names of their own; got 'training' in evaluate; name the set otherwise",
        ),
        ({"seed": -1}, "seed is a whole number of at least 0; got -1; pass 0, say"),
        (
            {"checkpoint": "no such folder/run.npz"},
            "a checkpoint is written in a folder that is there; got no such folder/run.npz; make "
            "the folder first",
        ),
        (
            {"images": np.ones((20, 3, 3, 1), np.float32)},
            "images for this network have height, width and channels (2, 3, 1); got (3, 3, 1); "
            "draw a network for their shape",
        ),
        (
            {"every": 0},
            "every is a whole number of at least 1; got 0; leave it out to score at the end only",
        ),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    x, _ = problem()
    given = {
        "network": linear(), "images": x, "recipe": Recipe(loss="squared"),
        "targets": np.tile([-2.0, 1.0], 10), "seed": 0,
    }  # fmt: skip
    with pytest.raises(InputError) as caught:
        train_images(**(given | change))
    assert str(caught.value) == sentence


def test_composites_bring_their_targets():
    network, images, recipe, _ = small()
    with pytest.raises(InputError) as caught:
        train_images(network, images, recipe, targets=images.targets, seed=0)
    assert str(caught.value) == (
        "composites bring their own targets; got targets beside them; leave them out"
    )
