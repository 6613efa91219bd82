"""Time the training of many ReLU networks against a jitted step, one network after another.

Networks of 15 inputs and 1,000 hidden units learn from pairs of teachers, in single precision, at
rate 0.001 from weights at half the usual scale. The baseline takes one jitted step of automatic
differentiation at a time, on the same batches from the same weights; "vmap" is that gradient in a
compiled loop for all networks side by side. All three end alike, up to rounding. Milliseconds for
a step of one network, the better of two; compiling is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from partwhole.networks import MLP, Architecture
from partwhole.tasks.relu_teachers import ReLUTeachers
from partwhole.training import Training, train
from partwhole.training.engines.two_layers import layouts_of

RUNS, RATE = 6, 1e-3
BUILT = Architecture(2, 1000, "relu", bias=False, initial="he", scale=0.5)
# Samples of the main task, of the auxiliary one, samples in a batch, steps.
CASES = (
    (16, 0, None, 4000),
    (64, 0, None, 2000),
    (128, 0, None, 1000),
    (512, 0, 128, 1000),
    (0, 1024, None, 200),
    (64, 1024, 128, 500),
    (64, 1024, None, 100),
)


def loss(network: MLP, x: jax.Array, y: jax.Array, own: jax.Array, parts: jax.Array) -> jax.Array:
    """Return the weighted mean square error of a batch, each sample read by its own output."""
    answers = jax.nn.relu(x @ network.weights[0].T) @ network.weights[1].T
    return (parts * ((answers * own).sum(axis=1) - y) ** 2).sum()


def stepped(network: MLP, *batch: jax.Array) -> MLP:
    """Take one step."""
    slope = jax.grad(loss)(network, *batch)
    return jax.tree.map(lambda w, g: w - RATE * g, network, slope)


step = jax.jit(stepped)


@partial(jax.jit, static_argnames="steps")
@partial(jax.vmap, in_axes=(0, 0, 0, None, 0, 0, None))
def side_by_side(network, x, y, own, rows, parts, steps):
    """Take all steps, batches following each other in turn."""

    def body(at: jax.Array, now: MLP) -> MLP:
        taken = rows[at % len(rows)]
        return stepped(now, x[taken], y[taken], own[taken], parts[at % len(rows)])

    return jax.lax.fori_loop(0, steps, body, network)


def best(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a function gives and the shorter of two times."""
    taken, found = [], None
    for _ in range(2):
        start = time.perf_counter()
        found = jax.block_until_ready(work())
        taken.append(time.perf_counter() - start)
    return found, min(taken)


def main() -> None:
    """Print a line for each case."""
    for n, n_aux, batch, steps in CASES:
        sizes = [size for size in (n_aux, n) if size > 0]
        drawn = [ReLUTeachers().sample(seed, n, n_aux) for seed in range(RUNS)]
        xs = [np.stack([s.aux_inputs for s in drawn]), np.stack([s.inputs for s in drawn])]
        ys = [np.stack([s.aux_targets for s in drawn]), np.stack([s.targets for s in drawn])]
        xs, ys = ([each for each in kind if each.shape[1] > 0] for kind in (xs, ys))
        start = BUILT.networks(15, seeds=range(RUNS), outputs=len(sizes))

        def ours(most: int, xs=xs, ys=ys, start=start, steps=steps, batch=batch) -> MLP:
            training = Training(steps=most, learning_rate=RATE, record=steps, batch=batch)
            tasks = list(zip(xs, ys, strict=True))
            return train(start, tasks, training, progress=False).networks

        own = np.repeat(np.eye(len(sizes), dtype=np.float32), sizes, axis=0)
        x, y = (np.concatenate(kind, axis=1).astype(np.float32) for kind in (xs, ys))
        if batch is None:
            rows = np.broadcast_to(np.arange(sum(sizes)), (RUNS, 1, sum(sizes)))
            parts = np.full(rows.shape, 1 / sum(sizes), dtype=np.float32)
        else:
            found = [next(layouts_of(own, batch, seed)) for seed in range(RUNS)]
            rows, parts = (np.stack(list(kind)) for kind in zip(*found, strict=True))
            parts = parts.astype(np.float32)
        own = jnp.asarray(own)

        def loop(most: int, x=x, y=y, own=own, rows=rows, parts=parts, start=start) -> list[MLP]:
            ends = []
            for run in range(RUNS):
                network = jax.tree.map(lambda w, run=run: w[run], start)
                batches = [
                    tuple(jnp.asarray(each) for each in (x[run][at], y[run][at], own[at], part))
                    for at, part in zip(rows[run], parts[run], strict=True)
                ]
                for at in range(most):
                    network = step(network, *batches[at % len(batches)])
                ends.append(jax.block_until_ready(network))
            return ends

        def beside(x=x, y=y, own=own, rows=rows, parts=parts, start=start, steps=steps) -> MLP:
            return side_by_side(start, x, y, own, rows, parts, steps)

        for compiling in (partial(ours, 2), partial(loop, 2), beside):
            jax.block_until_ready(compiling())
        mine, quick = best(lambda ours=ours, steps=steps: ours(steps))
        theirs, slow = best(lambda loop=loop, steps=steps: loop(steps))
        laid, wide = best(beside)
        apart = max(
            float(jnp.abs(one - other[run]).max())
            for ends in (theirs, [jax.tree.map(lambda w, r=r: w[r], laid) for r in range(RUNS)])
            for run, network in enumerate(ends)
            for one, other in zip(chain(network.weights), chain(mine.weights), strict=True)
        )
        quick, slow, wide = (1e3 * each / steps / RUNS for each in (quick, slow, wide))
        print(
            f"{' and '.join(map(str, sizes))} samples, batch {batch or 'of all'}: {quick:.3f} ms, "
            f"step loop {slow:.3f} ({slow / quick:.1f}x), vmap {wide:.3f} ({wide / quick:.1f}x); "
            f"weights differ by up to {apart:.0e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
