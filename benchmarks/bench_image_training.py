"""Time the whole training of an image network against a bare jitted step, and that against torch.

Composed digits of the addition task (one anchor, distance 4), batches of 128, scored at the end on
two other sets in the one case and not at all in the other. "Bare" is a jitted step of the same
network, loss and optimizer on one batch that is already where it is computed with, called in a
loop that waits for nothing. Times are medians of 5, both in turn, compilation left out. The target
of the loop without scoring, data assembly and logging included, is 1.15 times the bare step.

Where torch is installed (it is no dependency), the bare step of each network, small and of its
published size, and of each U-Net also a sampling step without guidance, is then timed in turn with
that of a module of torch with the same weights on the same batch: `channels_last`, Adam with
``fused=True``, as many threads as cores. The target is 1.1 times torch for small networks and 1.5
times for published sizes. Without other jobs run

    python benchmarks/bench_image_training.py

and on a busy machine ``taskset -c 0 python benchmarks/bench_image_training.py``: on one core times
are those of the processor. Names of networks as arguments choose some of them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from partwhole.networks import ImageNetwork, image_network
from partwhole.networks.diffusion import diffusion_model
from partwhole.networks.diffusion.unet import UNet
from partwhole.networks.images.layers import Pass, trained
from partwhole.tasks import compose_images, symbolic_addition
from partwhole.tasks.images.digits import digit_images
from partwhole.training import Training, train

BATCH, STEPS, REPEATS, RATE = 128, 40, 5, 1e-3
NAMES = ("convnet-small", "resnet-small", "vit-small")
# Height, width and channels of two images side by side.
SHAPES = {name: (8, 12, 2) for name in NAMES} | {
    "convnet": (28, 38, 2), "resnet": (32, 32, 6), "vit": (32, 32, 6), "resnet-18": (32, 32, 3),
}  # fmt: skip
UNETS, SAMPLES = ("small16", "small32", "paper"), 64
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
clock = time.process_time if CORES == 1 else time.perf_counter
SECONDS = 10.0  # for each pair
Work = Callable[[], object]


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


@partial(jax.jit, donate_argnums=(0, 1))
def unet_step(
    net: UNet, state: Any, z: jax.Array, times: jax.Array, conditions: jax.Array,
    noise: jax.Array, key: jax.Array,
) -> tuple[UNet, Any]:  # fmt: skip
    """Take a step of Adam on the mean square error of the noise."""

    def loss(net: UNet) -> jax.Array:
        return jnp.mean((net(z, times, net.embed(conditions), Pass(key)) - noise) ** 2)

    moves, state = optax.adam(RATE).update(jax.grad(loss)(net), state)
    return eqx.apply_updates(net, moves), state


@jax.jit
def unet_pass(net: UNet, z: jax.Array, times: jax.Array, conditions: jax.Array) -> jax.Array:
    """Return the predicted noise."""
    return net(z, times, net.embed(conditions), Pass())


def copied(tree: Any) -> Any:
    """Return a tree with arrays of its own, whose memory may be donated."""
    return jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), tree)


def image_steps(name: str, batch: int = BATCH) -> dict[str, tuple[Work, Work]]:
    """Return the step of a network, here and in torch."""
    import torch_networks
    from torch_networks import torch

    network, rng = image_network(name, SHAPES[name], seed=0), np.random.default_rng(0)
    images = rng.normal(size=(batch, *SHAPES[name])).astype(np.float32)
    goal = rng.normal(size=batch).astype(np.float32)
    kept, rest = copied(eqx.partition(network, trained(network)))
    now = [kept, rest, copied(optax.adam(RATE).init(kept))]
    x, y, key = jnp.asarray(images), jnp.asarray(goal), jax.random.key(0)

    def ours() -> None:
        now[:] = step(*now, x, y, key)
        jax.block_until_ready(now)

    module = torch_networks.image_network(network).train()
    adam = torch.optim.Adam(module.parameters(), RATE, fused=True)
    inputs, outputs = torch_networks.images(images), torch_networks.tensor(goal)

    def theirs() -> None:
        adam.zero_grad()
        torch.nn.functional.mse_loss(module(inputs)[:, 0], outputs).backward()
        adam.step()

    return {name: (ours, theirs)}


def unet_steps(name: Any) -> dict[str, tuple[Work, Work]]:
    """Return the steps of training and of sampling of a U-Net, here and in torch."""
    import torch_networks
    from torch_networks import torch

    model, rng = diffusion_model(name, condition=4, seed=0), np.random.default_rng(0)
    net = model.predictor
    assert isinstance(net, UNet)
    z, noise = rng.normal(size=(2, SAMPLES, *model.shape)).astype(np.float32)
    times = rng.random(SAMPLES, dtype=np.float32)
    conditions = rng.random((SAMPLES, 4), dtype=np.float32)
    given = tuple(map(jnp.asarray, (z, times, conditions)))
    now = [copied(net), copied(optax.adam(RATE).init(eqx.filter(net, eqx.is_inexact_array)))]
    e, key = jnp.asarray(noise), jax.random.key(0)

    def ours() -> None:
        now[:] = unet_step(*now, *given, e, key)
        jax.block_until_ready(now)

    def ours_sampling() -> None:
        unet_pass(net, *given).block_until_ready()

    module, still = torch_networks.unet(net).train(), torch_networks.unet(net).eval()
    adam = torch.optim.Adam(module.parameters(), RATE, fused=True)
    tensors = (
        torch_networks.images(z), torch_networks.tensor(times), torch_networks.tensor(conditions)
    )  # fmt: skip
    goal = torch_networks.images(noise)

    def theirs() -> None:
        adam.zero_grad()
        torch.nn.functional.mse_loss(module(*tensors), goal).backward()
        adam.step()

    def theirs_sampling() -> None:
        with torch.no_grad():
            still(*tensors)

    return {
        f"U-Net {name}": (ours, theirs),
        f"U-Net {name}, sampling": (ours_sampling, theirs_sampling),
    }


def seconds(work: Work) -> float:
    """Return the seconds of a call."""
    start = clock()
    work()
    return clock() - start


def beside_torch(names: list[str]) -> None:
    """Print the milliseconds of steps here and in torch, and their ratio."""
    from torch_networks import torch

    torch.set_num_threads(CORES)
    for name in names:
        for label, (ours, theirs) in (
            unet_steps(name) if name in UNETS else image_steps(name)
        ).items():
            first = seconds(ours)
            seconds(theirs)
            rounds = SECONDS / (seconds(ours) + seconds(theirs))
            rows = [
                (seconds(ours), seconds(theirs))
                for _ in range(int(np.clip(rounds, REPEATS, STEPS)))
            ]
            a, b = 1e3 * np.median(rows, axis=0)
            print(
                f"{label}: {a:.1f} ms a step, torch {b:.1f} ms, ratio {a / b:.2f}; compiled and "
                f"first step {first:.1f} s",
                flush=True,
            )


def loops(names: list[str]) -> None:
    """Print the milliseconds of a step within training, and the ratios to a bare one."""
    digits, labels = digit_images()
    task = symbolic_addition(range(-4, 5), [0])
    composed = compose_images(task, digits.astype(np.float32), labels, distance=4, seed=0)
    images = composed.training(BATCH * STEPS // task.n_train + 1)
    sets = {"in": composed.in_distribution(10), "compositional": composed.compositional(10)}
    batch, targets = images[:BATCH], images.targets[:BATCH].astype(np.float32)
    for name in names:
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


def main() -> None:
    """Print milliseconds for a step, and the ratios."""
    names = sys.argv[1:] or [*SHAPES, *UNETS]
    unknown = sorted(set(names) - {*SHAPES, *UNETS})
    if unknown:
        sys.exit(f"names are among {', '.join((*SHAPES, *UNETS))}; got {', '.join(unknown)}")
    loops([name for name in names if name in NAMES])
    if find_spec("torch") is None:
        print("torch is not installed: its steps are left out")
    else:
        beside_torch(names)


if __name__ == "__main__":
    main()
