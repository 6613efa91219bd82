"""Time the training of 1,000 diagonal networks against a jitted step in a Python loop.

Networks of d = 1,000 features learn n = 256 samples of their own for 1,000 steps at rate 0.1, in
single precision. Ours includes recording 2 steps and the test loss; drawing the samples, 50
networks at a time, is told apart. The baselines train a few networks, and their times are scaled:
"step loop" is one jitted step of automatic differentiation, called from Python for one network
after another; "map" is `jax.lax.map` over networks of a scan over steps, by its `batch_size`;
"scan" is one such scan after another. Times are the least of 5, ours on the same few networks
too; all ways are timed in turn, so that other work on the machine hinders each alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from partwhole.limits.diagonal import DiagonalWeights
from partwhole.training import Training, train

DIMENSION, SAMPLES, STEPS, RATE, ACTIVE = 1000, 256, 1000, 0.1, 40
NETWORKS, AT_ONCE, FEW, REPEATS, SIZES = 1000, 50, 16, 5, (2, 4, 8, 16)
START = DiagonalWeights.constant(DIMENSION, 1e-3)

Weights = tuple[jax.Array, ...]


def loss(weights: Weights, inputs: jax.Array, targets: jax.Array) -> jax.Array:
    """Return the mean square error."""
    plus, out_plus, minus, out_minus = weights
    return jnp.mean((inputs @ (plus * out_plus - minus * out_minus) - targets) ** 2)


@jax.jit
def step(weights: Weights, inputs: jax.Array, targets: jax.Array) -> Weights:
    """Take one step by automatic differentiation."""
    slopes = jax.grad(loss)(weights, inputs, targets)
    return jax.tree.map(lambda w, g: w - RATE * g, weights, slopes)


def first() -> Weights:
    """Return the initial weights in single precision."""
    return tuple(jnp.asarray(each, jnp.float32) for each in START)


def step_loop(inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Train one network after another, one call for each step."""
    found = []
    for x, y in zip(jnp.asarray(inputs), jnp.asarray(targets), strict=True):
        weights = first()
        for _ in range(STEPS):
            weights = step(weights, x, y)
        found.append(jax.block_until_ready(weights))
    return np.stack([np.asarray(w[0] * w[1] - w[2] * w[3]) for w in found])


def scanned(weights: Weights, inputs: jax.Array, targets: jax.Array) -> jax.Array:
    """Train one network in one scan; the slope is written as ours is."""

    def body(now: Weights, _: None) -> tuple[Weights, None]:
        plus, out_plus, minus, out_minus = now
        gap = inputs @ (plus * out_plus - minus * out_minus) - targets
        move = (2.0 * RATE / SAMPLES) * (gap @ inputs)
        return (
            plus - move * out_plus,
            out_plus - move * plus,
            minus + move * out_minus,
            out_minus + move * minus,
        ), None

    (plus, out_plus, minus, out_minus), _ = jax.lax.scan(body, weights, None, length=STEPS)
    return plus * out_plus - minus * out_minus


@partial(jax.jit, static_argnames="size")
def mapped(inputs: jax.Array, targets: jax.Array, weights: Weights, size: int | None) -> jax.Array:
    """Train networks by a chunked map over scans."""
    return jax.lax.map(lambda data: scanned(weights, *data), (inputs, targets), batch_size=size)


def in_chunks(inputs: np.ndarray, targets: np.ndarray, size: int | None) -> np.ndarray:
    """Train by the chunked map; None for one scan after another."""
    return np.asarray(mapped(jnp.asarray(inputs), jnp.asarray(targets), first(), size))


def ours(inputs: np.ndarray, targets: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    """Train all networks by the public function."""
    training = Training(steps=STEPS, learning_rate=RATE, record=STEPS)
    runs = train(START, (inputs, targets), training, teachers=teachers, progress=False)
    return runs.networks.coefficients


def draw(networks: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs of mean square 1, targets and teachers with 40 active features."""
    rng = np.random.default_rng(seed)
    inputs = rng.standard_normal((networks, SAMPLES, DIMENSION), dtype=np.float32)
    inputs /= np.sqrt((inputs**2).mean(axis=-1, keepdims=True))
    teachers = np.zeros((networks, DIMENSION))
    teachers[:, :ACTIVE] = rng.choice([-1.0, 1.0], (networks, ACTIVE)) / np.sqrt(ACTIVE)
    targets = (inputs @ teachers[..., None].astype(np.float32))[..., 0]
    return inputs, targets, teachers


def main() -> None:
    """Print times for each network, ratios to ours, and how far results differ."""
    inputs, targets, teachers = draw(FEW, 0)
    ways: dict[str, Callable[[], np.ndarray]] = {
        "ours": lambda: ours(inputs, targets, teachers),
        "step loop": lambda: step_loop(inputs[:3], targets[:3]),
        "scan": lambda: in_chunks(inputs, targets, None),
    }
    for size in SIZES:
        ways[f"map, batch_size={size}"] = lambda size=size: in_chunks(inputs, targets, size)
    found = {name: work() for name, work in ways.items()}  # compiles
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(REPEATS):
        for name, work in ways.items():
            began = time.perf_counter()
            work()
            taken[name].append((time.perf_counter() - began) / len(found[name]))
    least = {name: min(each) for name, each in taken.items()}
    for name, each in least.items():
        apart = float(np.abs(found[name] - found["ours"][: len(found[name])]).max())
        print(
            f"{name:18s} {1e3 * each:7.2f} ms a network ({len(found[name])} of them), "
            f"{each / least['ours']:5.2f} times ours; coefficients differ by {apart:.1e}"
        )
    best = min(each for name, each in least.items() if name not in ("ours", "step loop"))
    print(f"ours / best of scan and map: {least['ours'] / best:.2f}")

    drawing = training = 0.0
    for start in range(0, NETWORKS, AT_ONCE):
        began = time.perf_counter()
        data = draw(AT_ONCE, start)
        drawn = time.perf_counter()
        ours(*data)
        drawing, training = drawing + drawn - began, training + time.perf_counter() - drawn
    scaled = NETWORKS * least["step loop"]
    print(
        f"{NETWORKS:,} networks: {training:.1f} s, and {drawing:.1f} s of drawing; the step loop, "
        f"scaled from 3, {scaled:.1f} s; ratio {scaled / training:.1f}"
    )
    bytes_read = 2 * 4 * SAMPLES * DIMENSION * STEPS * NETWORKS
    print(f"each step reads the samples twice: {bytes_read / training / 1e9:.0f} GB/s in all")


if __name__ == "__main__":
    main()
