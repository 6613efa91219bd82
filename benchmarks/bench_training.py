"""Time the training of many small networks against a jitted step in a Python loop.

4-layer networks (d = 2, width 4) learn the task with means (2, 4), variances 0.05 and a cluster
at the origin, at rate 0.01 for 40 epochs (4,720 steps), linear and ReLU. The baseline trains one
seed after another, one jitted step of automatic differentiation at a time, on the same batches
from the same weights, so that both end alike. Ours includes drawing the samples and reading the
networks at 200 steps. Medians of 3; the first call of each, with compilation, is told apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from partwhole.networks import MLP, Architecture
from partwhole.tasks import StructuredIdentity
from partwhole.training import Training, train
from partwhole.training.order import batch_order

TASK = StructuredIdentity([2, 4], [0.05, 0.05], origin=True, scales_are="variances")
RATE, EPOCHS, BATCH = 0.01, 40, 128  # the rate of the mean over outputs
SEEDS, SIZES, REPEATS = 24, (6, 12, 24, 48), 3


@jax.jit
def step(network: MLP, batch: jax.Array) -> MLP:
    """Take one step on the published loss."""

    def loss(network: MLP) -> jax.Array:
        return ((jax.vmap(network)(batch) - batch) ** 2).mean()

    gradient = jax.grad(loss)(network)
    return jax.tree.map(lambda w, g: w - RATE * g, network, gradient)


def one_by_one(architecture: Architecture, seeds: range) -> list[MLP]:
    """Train each seed in a Python loop over steps."""
    found = []
    for seed in seeds:
        network = architecture.network(2, seed=seed)
        inputs = TASK.sample(seed).inputs.astype(np.float32)
        order, weights = batch_order(BATCH, seed, len(inputs), EPOCHS, "once")
        batches = [
            jnp.asarray(inputs[rows[share > 0]]) for rows, share in zip(order, weights, strict=True)
        ]
        for _ in range(EPOCHS):
            for batch in batches:
                network = step(network, batch)
        found.append(jax.block_until_ready(network))
    return found


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what a function gives, its first time and the median of later ones."""
    start = time.perf_counter()
    found = work()
    first = time.perf_counter() - start
    later = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        later.append(time.perf_counter() - start)
    return found, first, float(np.median(later))


def main() -> None:
    """Print both times, their ratio, how far the results differ, and times by number of seeds."""
    for nonlinearity in ("linear", "relu"):
        built = Architecture(4, 4, nonlinearity)
        seeds = range(SEEDS)

        def ours(built: Architecture = built, seeds: range = seeds):
            training = Training.published("identity", learning_rate=RATE / 2, seed=list(seeds))
            return train(built.networks(2, seeds=seeds), TASK, training, progress=False)

        def baseline(built: Architecture = built, seeds: range = seeds):
            return one_by_one(built, seeds)

        runs, first, warm = timed(ours)
        loop, loop_first, loop_warm = timed(baseline)
        apart = max(
            float(jnp.abs(mine[place] - theirs).max())
            for place, network in enumerate(loop)
            for mine, theirs in zip(
                jax.tree.leaves(runs.networks), jax.tree.leaves(network), strict=True
            )
        )
        print(
            f"{nonlinearity}, {SEEDS} seeds: {warm:.3f} s (first call {first:.2f} s); one after "
            f"another {loop_warm:.2f} s (first {loop_first:.2f} s); ratio {loop_warm / warm:.1f} "
            f"(first calls {loop_first / first:.1f}); final weights differ by {apart:.1e}"
        )
        for size in SIZES:
            _, first, warm = timed(lambda built=built, size=size: ours(built, range(size)))
            print(
                f"  {size:3d} seeds: {warm:.3f} s, {1e3 * warm / size:.2f} ms each "
                f"(first call {first:.2f} s)"
            )


if __name__ == "__main__":
    main()
