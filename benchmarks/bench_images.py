"""Time the assembly of composite images against indexing a table for each sample.

Batches of 128 of the addition task (one anchor, 20,000 training composites): images as large as
MNIST's and CIFAR's, two components side by side with channels of their own. The baseline keeps a
frame with a row for each sample, looks it up, pads each picture and stacks them, as loaders of one
sample at a time do; it assembles few samples, whose time is scaled. Times are the least of 5, both
ways timed in turn. The target is 20 times faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from partwhole.tasks import compose_images, symbolic_addition
from partwhole.tasks.images.composites import Composites
from partwhole.training.images.assembly import Layout, Samples, assemble

BATCH, TOTAL, FEW, REPEATS = 128, 20_000, 512, 5
SIZES = {
    "28 x 28 x 1": (28, 1, (0, 10, 20)),
    "32 x 32 x 3": (32, 3, (0,)),
    "8 x 8 x 1": (8, 1, (4,)),
}


def table(composites: Composites) -> pd.DataFrame:
    """Return a frame with a row for each sample: the images that show it, and its target."""
    shown = {f"image_{c}": column for c, column in enumerate(composites.image_index.T)}
    return pd.DataFrame(shown | {"target": composites.targets})


def one_by_one(composites: Composites, frame: pd.DataFrame, order: np.ndarray) -> np.ndarray:
    """Assemble samples by looking each up."""
    found, distance = [], composites.distance
    for sample in order:
        row = frame.iloc[sample]
        parts = [
            np.pad(
                composites.images[int(row[f"image_{c}"])],
                [(0, 0), (c * distance, (1 - c) * distance), (0, 0)],
                mode="edge",
            )
            for c in range(2)
        ]
        found.append(np.concatenate(parts, axis=-1))
    return np.stack(found)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Print microseconds for each sample, and the ratio."""
    task = symbolic_addition(range(-4, 5), [0])
    rng = np.random.default_rng(0)
    for name, (side, channels, distances) in SIZES.items():
        images = rng.random((3_000, side, side, channels), dtype=np.float32)
        labels = np.arange(3_000) % 10
        for distance in distances:
            composed = compose_images(task, images, labels, distance=distance, seed=0)
            composites = composed.training(TOTAL // task.n_train)
            frame, order = table(composites), rng.permutation(len(composites))
            few = order[:FEW]
            assert np.array_equal(one_by_one(composites, frame, few[:8]), composites[few[:8]])

            def ours(composites: Composites = composites, order: np.ndarray = order) -> None:
                for first in range(0, len(order), BATCH):
                    composites[order[first : first + BATCH]]

            def theirs(
                composites: Composites = composites,
                frame: pd.DataFrame = frame,
                few: np.ndarray = few,
            ) -> None:
                one_by_one(composites, frame, few)

            samples, layout = Samples.of(composites)
            batches = [
                jnp.asarray(order[first : first + BATCH], jnp.int32)
                for first in range(0, len(order) - BATCH, BATCH)
            ]
            compiled = jax.jit(assemble, static_argnames="layout")

            def in_a_step(
                samples: Samples = samples,
                layout: Layout = layout,
                batches: list[jax.Array] = batches,
                compiled: Callable[..., jax.Array] = compiled,
            ) -> None:
                # A batch is let go before the next, as in training: memory that is new is slow.
                for which in batches:
                    compiled(samples, which, layout=layout).block_until_ready()

            in_a_step()
            each = [
                (
                    timed(in_a_step) / (BATCH * len(batches)),
                    timed(ours) / len(order),
                    timed(theirs) / FEW,
                )
                for _ in range(REPEATS)
            ]
            a, b, c = (1e6 * min(times) for times in zip(*each, strict=True))
            print(
                f"{name}, distance {distance}: in a step {a:.2f} µs a sample, NumPy {b:.2f}, table "
                f"{c:.0f}; ratios {c / a:.0f} and {c / b:.0f}"
            )


if __name__ == "__main__":
    main()
