"""One trainer for every family: any optimiser, batches, what is read, and what no engine does."""

from __future__ import annotations

import equinox as eqx
import families
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from descents import descend

from partwhole._checks import InputError
from partwhole.features import HalfspaceGates
from partwhole.limits import DiagonalWeights
from partwhole.networks import Architecture, GatedNetwork, LearnedGates, outputs
from partwhole.training import Training, train
from partwhole.training.engines import diagonal, gated, layered, two_layers
from partwhole.training.order import batch_order
from partwhole.training.outcome import Outcome
from partwhole.training.problem import checked_problem
from partwhole.training.train import _engine

RNG = np.random.default_rng(0)
POINTS, SEQUENCES = RNG.normal(size=(12, 3)), RNG.normal(size=(12, 5, 3))
Y = RNG.normal(size=12)
GATES = HalfspaceGates(RNG.normal(size=(4, 1, 3)), np.zeros((4, 1)))
DENSE = Architecture(3, 5, "relu").networks(3, seeds=[0, 1], outputs=1)
NETWORKS = {
    "recurrent": ([families.Recurrent.draw(3, 4, seed=seed) for seed in (0, 1)], SEQUENCES),
    "attention": ([families.AttentionOnly.draw(5, 3, seed=seed) for seed in (0, 1)], SEQUENCES),
    "gated": ([GatedNetwork.draw(3, [GATES, 1], seed=seed) for seed in (0, 1)], POINTS),
    "learned gates": ([GatedNetwork.draw(3, [LearnedGates(5), 1], seed=s) for s in (0, 1)], POINTS),
    "dense": (DENSE, POINTS),
}


def answers_of(network, x, contexts):
    """Return the outputs, layer by layer."""
    for place in range(len(network.names)):
        x = network.layer(place, x, contexts)
    return x[:, 0]


@eqx.filter_jit
def stepped(kept, state, rest, data, batch, transformation):
    """Return the parameters after a step, and the state; compiled once for networks of a kind."""
    (x, contexts, y), (rows, parts) = data, batch

    def loss(kept):
        gaps = answers_of(eqx.combine(kept, rest), x, contexts) - y
        return jnp.sum(parts * gaps[rows] ** 2)

    with jax.numpy_dtype_promotion("standard"):
        moves, state = transformation.update(jax.grad(loss)(kept), state, kept)
    return eqx.apply_updates(kept, moves), state


def plain(network, inputs, targets, transformation, steps, batches=None):
    """Take the steps of a transformation by automatic differentiation, one after another."""
    kept, rest = network.partition()
    x, y = (jnp.asarray(rows, jnp.float32) for rows in (inputs, targets))
    data, state = (x, network.contexts(inputs), y), transformation.init(kept)
    for step in range(steps):
        rows, parts = (
            (np.arange(len(inputs)), np.full(len(inputs), 1 / len(inputs)))
            if batches is None
            else (batches[0][step], batches[1][step])
        )
        batch = jnp.asarray(rows), jnp.asarray(parts, jnp.float32)
        kept, state = stepped(kept, state, rest, data, batch, transformation)
    return eqx.combine(kept, rest)


DECAYED = {
    "adamw": ({"optimiser": "adamw"}, optax.adamw(0.02, weight_decay=0.3)),
    # The slope of the decay is not clipped.
    "sgd": (
        {"optimiser": "sgd", "momentum": 0.5},
        optax.chain(optax.add_decayed_weights(0.6), optax.sgd(0.02, momentum=0.5)),
    ),
}
CLIPPED = {
    kind: optax.chain(optax.clip_by_global_norm(0.1), transformation)
    for kind, (_, transformation) in DECAYED.items()
}
# Of optimisers with a family on all samples: one object, for which its steps are compiled once.
KINDS = {
    "recurrent": "adamw", "attention": "adamw", "gated": "sgd", "learned gates": "sgd",
    "dense": "sgd",
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_every_family_takes_the_steps_of_any_optimiser(name):
    networks, x = NETWORKS[name]
    optimiser = CLIPPED[KINDS[name]]
    training = Training(steps=7, optimiser=optimiser, record=[0, 3])
    before = [np.array(leaf) for leaf in jax.tree.leaves(networks)]
    runs = train(networks, (x, Y), training, read=x[:4], test=(x[:4], Y[:4]), progress=False)
    # Networks are left as they are.
    for leaf, copy in zip(jax.tree.leaves(networks), before, strict=True):
        np.testing.assert_array_equal(leaf, copy)
    assert runs.steps.tolist() == [0, 3, 7]
    assert runs.outcomes == (Outcome.RAN_ALL_STEPS,) * 2
    assert runs.times is None
    assert runs.learning_rates is None
    for run in range(2):
        start = networks[run] if isinstance(networks, list) else jax.tree.map(
            lambda w, r=run: w[r], networks
        )  # fmt: skip
        expected = outputs(plain(start, x, Y, optimiser, 7), x)[:, 0]
        ended = outputs(runs.network(run), x)[:, 0]
        np.testing.assert_allclose(ended, expected, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(runs.answers[run, -1, :, 0], ended[:4], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(runs.answers[run, 0], outputs(start, x[:4]), atol=1e-6)
        gap = np.mean((ended - Y) ** 2)
        assert runs.training_loss[run, -1] == pytest.approx(gap, rel=1e-4)
        assert runs.final_loss[run] == pytest.approx(np.mean((ended[:4] - Y[:4]) ** 2), rel=1e-4)


SGD = optax.sgd(0.05)  # one object, for which steps are compiled once


def first_slope(name, batch):
    """Return the norm of the first slope of a run of seed 0."""
    networks, x = NETWORKS[name]
    start = networks[0] if isinstance(networks, list) else jax.tree.map(lambda w: w[0], networks)
    batches = None if batch is None else batch_order(batch, 0, len(x), 1)
    ended = plain(start, x, Y, SGD, 1, batches)
    pairs = zip(*(jax.tree.leaves(each.partition()[0]) for each in (start, ended)), strict=True)
    return np.linalg.norm([np.linalg.norm(np.subtract(a, b)) for a, b in pairs]) / 0.05


# Each optimiser on all samples and in batches, and with each family.
@pytest.mark.parametrize(
    ("name", "batch", "kind"),
    [
        ("recurrent", None, "adamw"), ("recurrent", 5, "sgd"), ("gated", 5, "adamw"),
        ("gated", None, "sgd"), ("dense", 5, "adamw"), ("dense", None, "sgd"),
    ],
)  # fmt: skip
def test_clipped_gradients_and_their_decay_are_those_of_optax(name, batch, kind):
    (networks, x), (options, _) = NETWORKS[name], DECAYED[kind]
    few = {"steps": 6, "batch": batch, "record": [0]}
    by_name = Training(**few, learning_rate=0.02, weight_decay=0.3, clip=0.1, **options)
    runs, own = (
        train(networks, (x, Y), training, read=x, progress=False)
        for training in (by_name, Training(**few, optimiser=CLIPPED[kind]))
    )
    np.testing.assert_allclose(runs.answers, own.answers, rtol=1e-4, atol=1e-6)
    assert first_slope(name, batch) > 2 * 0.1  # it is clipped
    assert runs.times is None  # a clipped step is shorter than its rate
    assert runs.learning_rates.tolist() == [0.02, 0.02]


@pytest.mark.parametrize("name", ["recurrent", "gated", "dense"])
def test_every_family_is_trained_in_batches(name):
    networks, x = NETWORKS[name]
    training = Training(epochs=2, batch=5, learning_rate=0.05, seed=[3, 8])
    runs = train(networks, (x, Y), training, progress=False)
    assert runs.steps[-1] == 6
    batches = batch_order(5, 8, 12, 2)
    start = networks[1] if isinstance(networks, list) else jax.tree.map(lambda w: w[1], networks)
    expected = outputs(plain(start, x, Y, SGD, 6, batches), x)
    np.testing.assert_allclose(outputs(runs.network(1), x), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(runs.times[1], 0.05 * runs.steps)
    threshold = float(runs.training_loss[1, 3]) * 1.0001
    training = Training(epochs=2, batch=5, learning_rate=0.05, seed=[3, 8], threshold=threshold,
                        record=1)  # fmt: skip
    again = train(networks, (x, Y), training, progress=False)
    first = int(np.argmax(again.training_loss[1] <= threshold))
    assert again.end_steps[1] == again.steps[first]
    assert again.outcomes[1] is Outcome.REACHED_THRESHOLD


def test_readings_of_all_engines_are_answers_of_the_networks():
    labels, y = np.sign(Y), Y[None]
    two = Architecture(2, 5, "relu", bias=False).networks(3, seeds=[0, 1], outputs=1)
    weights = DiagonalWeights.constant(3, 0.3)
    for networks, data, options in (
        (weights, (POINTS[None], y), {}),
        (two, (POINTS, Y), {"batch": 4}),
        (two, (POINTS, Y), {}),
        (NETWORKS["gated"][0], (POINTS, labels), {"loss": "logistic"}),
        (NETWORKS["gated"][0], (POINTS, labels), {"loss": "logistic", "optimiser": "adam"}),
    ):
        runs = descend(*data, networks, read=POINTS[:4], steps=9, record=[0], **options)
        ended = runs.network(0)
        if isinstance(ended, DiagonalWeights):
            expected = POINTS[:4] @ ended.coefficients[:, None]
        else:
            expected = outputs(ended, POINTS[:4])
        np.testing.assert_allclose(runs.answers[0, -1], expected, rtol=1e-4, atol=1e-5)


TWO = Architecture(2, 5, "relu", bias=False).networks(3, seeds=[0, 1], outputs=1)
LABELS = {"loss": "logistic"}


@pytest.mark.parametrize(
    ("engine", "networks", "options"),
    [
        (diagonal, DiagonalWeights.constant(3, 0.1), {}),
        (layered, TWO, {}),
        (two_layers, TWO, {"batch": 3}),
        (two_layers, TWO, {"trained": "readout"}),
        (layered, TWO, {"batch": 3, "optimiser": "adam"}),
        (layered, DENSE, {"batch": 3}),
        (layered, TWO, {"batch": 3, "clip": 1.0}),
        (layered, NETWORKS["gated"][0], LABELS | {"clip": 1.0}),
        (gated, NETWORKS["gated"][0], LABELS),
        (gated, NETWORKS["gated"][0], {"optimiser": "normalised flow", "loss": "exponential"}),
        (layered, NETWORKS["gated"][0], LABELS | {"weight_decay": 0.1}),
        (layered, NETWORKS["recurrent"][0], {}),
    ],
)
def test_engines_are_chosen_by_the_table(engine, networks, options):
    x = SEQUENCES if networks is NETWORKS["recurrent"][0] else POINTS
    y = np.sign(Y) if options.get("loss") else Y
    problem = checked_problem(networks, (x, y), Training(steps=3, **options), None, None, None)
    assert _engine(problem).start is engine.engine


@pytest.mark.parametrize(
    ("networks", "options", "sentence"),
    [
        (DENSE, {"trained": "readout"}, "got MLP, the loss 'squared', sgd, a readout alone; leave"),
        (DENSE, {"late_factor": 0.5}, "got MLP, the loss 'squared', sgd, a late factor; leave out"),
        (
            DENSE, {"optimiser": "normalised flow"},
            "got MLP, the loss 'squared', normalised flow; leave out what is of other networks",
        ),
        (
            DENSE, {"optimiser": "normalised flow", "restarts": 2},
            'restarts is an option of "sgd", "adam" and "adamw"; got it for normalised flow; leave',
        ),
        (
            DENSE, {"optimiser": optax.sgd(0.1), "learning_rate": 0.1},
            'learning_rate is an option of "sgd", "adam" and "adamw"; got it for a transformation '
            "of optax; leave it out",
        ),
        (
            DENSE, {"optimiser": "normalised flow", "precision": "float32"},
            "the normalised flow is of all samples, in double precision; got float32; leave it out",
        ),
        (
            DiagonalWeights.constant(3, 0.1), {"clip": 0.5},
            "got DiagonalWeights, the loss 'squared', sgd, a clipped gradient; leave out",
        ),
        (
            NETWORKS["gated"][0],
            {"optimiser": "normalised flow", "loss": "exponential", "clip": 1.0},
            "got GatedNetwork, the loss 'exponential', normalised flow, a clipped gradient; leave",
        ),
        (DENSE, {"steps": None}, "training takes so many steps, or so many epochs; got neither"),
        (
            DENSE, {"optimiser": "rmsprop"},
            "optimiser is .*; got 'rmsprop'; ",
        ),
    ],
)  # fmt: skip
def test_what_no_engine_does_is_said(networks, options, sentence):
    with pytest.raises(InputError, match=sentence):
        train(
            networks, (POINTS, np.sign(Y) if "loss" in options else Y),
            Training(**({"steps": 3} | options)),
        )  # fmt: skip
