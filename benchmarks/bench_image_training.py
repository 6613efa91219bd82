"""Time the whole training of an image network against a bare jitted step.

Composed digits of the addition task (one anchor, distance 4), batches of 128, scored at the end on
two other sets in the one case and not at all in the other. "Bare" is a jitted step of the same
network, loss and optimizer on one batch that is already where it is computed with, called in a
loop that waits for nothing. Times are medians of 5, both in turn, compilation left out. The target
of the loop without scoring, data assembly and logging included, is 1.15 times the bare step.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from partwhole.networks import ImageNetwork, image_network
from partwhole.networks.images.layers import trained
from partwhole.tasks import compose_images, symbolic_addition
from partwhole.tasks.images.digits import digit_images
from partwhole.training import Training, train

BATCH, STEPS, REPEATS, RATE = 128, 40, 5, 1e-3
NAMES = ("convnet-small", "resnet-small", "vit-small")


@partial(jax.jit, donate_argnums=(0, 1, 2))
def step(
    kept: ImageNetwork, rest: ImageNetwork, state: Any, images: jax.Array, targets: jax.Array,
    key: jax.Array,
) -> tuple[ImageNetwork, ImageNetwork, Any]:  # fmt: skip
    """Take a step of Adam on the mean square error."""

    def loss(kept: ImageNetwork) -> tuple[jax.Array, ImageNetwork]:
        outputs, after = eqx.combine(kept, rest).in_training(images, key)
        return jnp.mean((outputs[:, 0] - targets) ** 2), eqx.partition(after, trained(after))[1]

    slopes, after = jax.grad(loss, has_aux=True)(kept)
    moves, state = optax.adam(RATE).update(slopes, state)
    return eqx.apply_updates(kept, moves), after, state


def bare(network: ImageNetwork, images: np.ndarray, targets: np.ndarray) -> float:
    """Return seconds for a step."""
    kept, rest = jax.tree.map(jnp.array, eqx.partition(network, trained(network)))
    state = jax.tree.map(jnp.array, optax.adam(RATE).init(kept))
    x, y, key = jnp.asarray(images), jnp.asarray(targets), jax.random.key(0)
    kept, rest, state = step(kept, rest, state, x, y, key)
    jax.block_until_ready(kept)
    start = time.perf_counter()
    for _ in range(STEPS):
        kept, rest, state = step(kept, rest, state, x, y, key)
    jax.block_until_ready(kept)
    return (time.perf_counter() - start) / STEPS


def main() -> None:
    """Print milliseconds for a step, and the ratios."""
    digits, labels = digit_images()
    task = symbolic_addition(range(-4, 5), [0])
    composed = compose_images(task, digits.astype(np.float32), labels, distance=4, seed=0)
    images = composed.training(BATCH * STEPS // task.n_train + 1)
    sets = {"in": composed.in_distribution(10), "compositional": composed.compositional(10)}
    batch, targets = images[:BATCH], images.targets[:BATCH].astype(np.float32)
    for name in NAMES:
        network = image_network(name, images.shape, seed=0)

        def whole(epochs: int, scored: bool, network: ImageNetwork = network) -> float:
            training = Training(
                optimiser="adam", learning_rate=RATE, epochs=epochs, batch=BATCH,
                record=1 if scored else None,
            )  # fmt: skip
            start = time.perf_counter()
            train(network, images, training, test=sets if scored else None, progress=False)
            return time.perf_counter() - start

        steps = len(images) // BATCH
        # One training for both lengths would be compiled once; two are, so each is warmed up.
        for epochs in (1, 3):
            whole(epochs, False)
            whole(epochs, True)
        rows = []
        for _ in range(REPEATS):
            one = bare(network, batch, targets)
            # What a run costs beside its epochs (marks, the final scores) cancels.
            rows.append(
                (
                    one,
                    (whole(3, False) - whole(1, False)) / (2 * steps),
                    (whole(3, True) - whole(1, True)) / (2 * steps),
                )
            )
        a, b, c = (1e3 * float(np.median(each)) for each in zip(*rows, strict=True))
        print(
            f"{name}: bare {a:.1f} ms a step, loop {b:.1f} ms, ratio {b / a:.2f}; scored after "
            f"every epoch {c:.1f} ms, ratio {c / a:.2f}"
        )


if __name__ == "__main__":
    main()
