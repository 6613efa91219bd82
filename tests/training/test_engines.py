"""Every engine takes the steps of plain stochastic gradient descent, written out here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from partwhole.networks import MLP, Architecture, outputs
from partwhole.tasks import StructuredIdentity
from partwhole.training.engines.batches import Batches
from partwhole.training.engines.moments import Moments
from partwhole.training.engines.side_by_side import at_once, choose, cost
from partwhole.training.order import batch_order

TASK = StructuredIdentity([1, 2], [0.3, 0.2], dimension=3, samples=50, origin=True, rotation=1)
# 150 samples: four batches of 32 and one of 22.
BATCH, EPOCHS, RATE = 32, 4, 0.02
KEPT = np.array([0, 1, 7, 20])


@contextmanager
def precision(bits: int) -> Iterator[None]:
    with jax.enable_x64(bits == 64):
        yield


def half_squared(network: MLP, batch: jax.Array, shares: jax.Array) -> jax.Array:
    return 0.5 * shares @ ((jax.vmap(network)(batch) - batch) ** 2).sum(axis=1)


@jax.jit
def stepped(network: MLP, batch: jax.Array, shares: jax.Array) -> MLP:
    gradient = jax.grad(half_squared)(network, batch, shares)
    return jax.tree.map(lambda w, g: w - RATE * g, network, gradient)


def plain(network: MLP, inputs: np.ndarray, shuffle: str, seed: int) -> dict[int, MLP]:
    """Return the network at every step, by automatic differentiation."""
    n, dtype = len(inputs), network.weights[0].dtype
    rng = np.random.default_rng([seed, 101])
    order = rng.permutation(n)

    found, step = {0: network}, 0
    for epoch in range(EPOCHS):
        if shuffle == "every epoch" and epoch > 0:
            order = rng.permutation(n)
        for start in range(0, n, BATCH):
            batch, shares = np.zeros((BATCH, inputs.shape[1])), np.zeros(BATCH)
            rows = order[start : start + BATCH]
            # Of one size, for which a step is compiled; what fills it up has no share.
            batch[: len(rows)], shares[: len(rows)] = inputs[rows], 1 / len(rows)
            network = stepped(network, jnp.asarray(batch, dtype), jnp.asarray(shares, dtype))
            step += 1
            found[step] = network
    return found


def engines(architecture: Architecture) -> list:
    if architecture.nonlinearity != "linear":
        return [Batches()]
    return [Batches(), *(Moments(lanes, architecture.bias) for lanes in (True, False))]


@pytest.mark.parametrize(
    ("bits", "architecture", "shuffle"),
    [
        (64, Architecture(3, 4), "once"),
        (32, Architecture(3, 4), "once"),
        (64, Architecture(2, 4, bias=False), "every epoch"),
        (64, Architecture(1), "once"),
        (64, Architecture(3, 4, "relu"), "once"),
    ],
)
def test_engines_take_the_steps_of_plain_descent(architecture, shuffle, bits):
    tolerance = 1e-10 if bits == 64 else 1e-5
    seeds, probes = (0, 5), np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0]])
    inputs = [TASK.sample(seed).inputs for seed in seeds]
    with precision(bits):
        dtype = jnp.float64 if bits == 64 else jnp.float32
        # By NumPy, which compiles nothing.
        networks = jax.tree.map(
            lambda w: jnp.asarray(np.asarray(w), dtype), architecture.networks(3, seeds=seeds)
        )
        alone = [
            jax.tree.map(lambda w, run=run: jnp.asarray(np.asarray(w)[run]), networks)
            for run in range(2)
        ]
        paths = [plain(*each, shuffle, s) for *each, s in zip(alone, inputs, seeds, strict=True)]
        for engine in engines(architecture):
            data = [
                engine.data(points, *batch_order(BATCH, seed, 150, EPOCHS, shuffle))
                for points, seed in zip(inputs, seeds, strict=True)
            ]
            found = engine.train(
                networks,
                tuple(np.stack(part) for part in zip(*data, strict=True)),
                np.full(2, RATE),
                np.diff(KEPT, prepend=0),
                np.stack([probes, probes]),
            )
            for run, path in enumerate(paths):
                assert max(path) == 20
                for place, step in enumerate(KEPT):
                    both = outputs(path[step], np.concatenate([probes, inputs[run]]))
                    np.testing.assert_allclose(
                        found.outputs[run, place], both[:2], rtol=0, atol=tolerance
                    )
                    gap = both[2:] - inputs[run]
                    assert found.training_loss[run, place] == pytest.approx(
                        0.5 * (gap**2).sum(axis=1).mean(), abs=tolerance
                    )
                for mine, wanted in zip(
                    jax.tree.leaves(found.final), jax.tree.leaves(path[20]), strict=True
                ):
                    np.testing.assert_allclose(mine[run], wanted, rtol=0, atol=tolerance)


def test_a_rotated_network_learns_the_rotated_task_alike():
    straight = StructuredIdentity([1, 2], [0.3, 0.2], dimension=3, samples=50, origin=True)
    r, engine = TASK.rotation_matrix, Moments(lanes=False, bias=True)
    with precision(64):
        network = jax.tree.map(
            lambda w: jnp.asarray(np.asarray(w), jnp.float64),
            Architecture(1).networks(3, seeds=[0]),
        )
        assert network.biases is not None
        turned = MLP(
            (jnp.asarray(r.T @ np.asarray(network.weights[0][0]) @ r)[None],),
            (jnp.asarray(np.asarray(network.biases[0][0]) @ r)[None],),
            "linear",
        )
        answers = []
        for task, start in ((straight, network), (TASK, turned)):
            data = engine.data(task.sample(0).inputs, *batch_order(BATCH, 0, 150, EPOCHS))
            found = engine.train(
                start,
                tuple(part[None] for part in data),
                np.array([0.1]),
                np.diff(KEPT, prepend=0),
                task.to_inputs(task.probe)[None, None],
            )
            answers.append(task.to_concepts(found.outputs))
    np.testing.assert_allclose(*answers, rtol=0, atol=1e-12)


def test_the_engine_is_chosen_by_the_size_of_the_layers():
    assert choose(Architecture(4, 4).network(2, seed=0)) == Moments(lanes=True, bias=True)
    wide = Architecture(2, bias=False).network(64, seed=0)
    assert choose(wide) == Moments(lanes=False, bias=False)
    assert choose(Architecture(4, 4, "relu").networks(2, seeds=[0])) == Batches()


def test_calls_are_of_nearly_equal_size():
    small = cost(Architecture(4, 4).networks(2, seeds=[0, 1]), 118, 128)
    assert at_once(24, small, 1e4, 4720) == 24
    assert at_once(1200, small, 1e4, 4720) == 400
    wide = cost(Architecture(4).network(64, seed=0), 118, 128)
    assert 1 <= at_once(24, wide, 1e5, 4720) < 24
    # However large one run is, it is trained.
    assert at_once(3, wide._replace(bytes=1e12), 1e5, 4720) == 1
