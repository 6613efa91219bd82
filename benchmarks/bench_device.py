"""Time training steps at published sizes on the device that JAX finds, and count their operations.

Every network at the size and batch of its paper, a jitted step with Adam on data that is already on
the device: in float32 (whose products an accelerator takes in TF32), called from Python; ten steps
in a compiled loop; all parameters in one row; copies of the weights in bfloat16 over weights in
float32; and several networks at once by `jax.vmap`, each with its own data. Operations are XLA's
count for a step. The baseline is the single network in float32 in the same run: ratios say how much
longer a step takes, and for several networks how much longer for each. Beside it stand the seconds
until it is compiled. The difference is that of losses after 30 steps from the same start, over the
loss. Times are medians of 5 stretches of 10 steps.

    python benchmarks/bench_device.py [NETWORK ...] [--only VARIANT ...]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from partwhole.networks import image_network
from partwhole.networks.diffusion import diffusion_model
from partwhole.networks.images.layers import trained

# Of images as published: height, width and channels of two side by side.
IMAGES = {
    "convnet": ((28, 38, 2), 128),
    "resnet": ((32, 32, 6), 128),
    "vit": ((32, 32, 6), 128),
    "resnet-18": ((32, 32, 3), 128),
    "vit-finetuning": ((32, 32, 3), 128),
    "convnet-small": ((8, 12, 2), 128),
    "resnet-small": ((8, 12, 2), 128),
    "vit-small": ((8, 12, 2), 128),
}
MODELS: dict[Any, int] = {"paper": 64, "small32": 64, "small16": 64}
TOGETHER = (4, 16)
VARIANTS = ("loop", "row", "bfloat16", *map(str, TOGETHER))
STRETCH, REPEATS, COMPARED = 10, 5, 30
Step = Callable[..., tuple[Any, Any, Any, jax.Array]]


def halved(tree: Any) -> Any:
    """Return a tree with its numbers in bfloat16."""
    return jax.tree.map(lambda x: x.astype(jnp.bfloat16) if eqx.is_inexact_array(x) else x, tree)


def image_loss(short: bool) -> Callable[..., tuple[jax.Array, Any]]:
    """Return the mean square error of an image network, and its state afterwards."""

    def loss(kept: Any, rest: Any, images: jax.Array, targets: jax.Array, key: jax.Array) -> Any:
        network = eqx.combine(kept, rest)
        used = (halved(network), halved(images)) if short else (network, images)
        outputs, after = used[0].in_training(used[1], key)
        state = eqx.partition(after, trained(after))[1]
        error = jnp.mean((outputs[:, 0].astype(jnp.float32) - targets) ** 2)
        return error, jax.tree.map(lambda new, old: new.astype(old.dtype), state, rest)

    return loss


def model_loss(short: bool) -> Callable[..., tuple[jax.Array, Any]]:
    """Return the mean square error of the noise that a diffusion model predicts."""

    def loss(kept: Any, rest: Any, images: jax.Array, conditions: jax.Array, key: jax.Array) -> Any:
        model = eqx.combine(kept, rest)
        noise = jax.random.normal(key, images.shape)
        share = jnp.linspace(0.05, 0.95, len(images)).reshape(-1, 1, 1, 1)
        z = jnp.sqrt(1.0 - share) * images + jnp.sqrt(share) * noise
        if short:
            model, z, conditions = halved((model, z, conditions))
        made = model.noise(z, share.ravel().astype(z.dtype), model.made(conditions))
        return jnp.mean((made.astype(jnp.float32) - noise) ** 2), rest

    return loss


def step_of(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Return a step of Adam."""

    def step(kept: Any, rest: Any, state: Any, x: jax.Array, y: jax.Array, key: jax.Array) -> Any:
        (value, rest), slopes = jax.value_and_grad(loss, has_aux=True)(kept, rest, x, y, key)
        moves, state = optax.adam(1e-3).update(slopes, state)
        return eqx.apply_updates(kept, moves), rest, state, value

    return step


def looped(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a stretch of steps in a compiled loop."""

    def stretch(kept: Any, rest: Any, state: Any, x: Any, y: Any, key: Any) -> Any:
        def body(_: Any, carried: Any) -> Any:
            return step(*carried[:3], x, y, key)

        return jax.lax.fori_loop(0, STRETCH, body, (kept, rest, state, jnp.zeros(())))

    return stretch


def in_a_row(loss: Callable[..., Any], kept: Any) -> tuple[Callable[..., Any], jax.Array]:
    """Return the loss of parameters in one row, and the row."""
    leaves, tree = jax.tree.flatten(kept)
    ends = np.cumsum([leaf.size for leaf in leaves])

    def of_row(row: jax.Array, *others: Any) -> Any:
        parts = jnp.split(row, ends[:-1])
        shaped = [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
        return loss(jax.tree.unflatten(tree, shaped), *others)

    return of_row, jnp.concatenate([leaf.ravel() for leaf in leaves])


def compiled(step: Callable[..., Any], given: tuple) -> tuple[Step, float, float]:
    """Return a compiled step that reuses what it is handed, its operations, and the seconds."""
    start = time.perf_counter()
    ready = jax.jit(step, donate_argnums=(0, 1, 2)).lower(*given).compile()
    seconds = time.perf_counter() - start
    # As for a CPU: on a GPU convolutions are calls whose operations are not counted.
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), given)
    with jax.default_device(jax.devices("cpu")[0]):
        counted = jax.jit(step).lower(*shapes).cost_analysis()
    return ready, float((counted or {}).get("flops", np.nan)), seconds


def timed(step: Step, given: tuple, calls: int = STRETCH) -> tuple[float, float]:
    """Return median seconds for a step, and the mean loss after some steps."""
    kept, rest, state, x, y, key = jax.tree.map(jnp.array, given)
    value = jnp.zeros(())
    for _ in range(COMPARED * calls // STRETCH):
        kept, rest, state, value = step(kept, rest, state, x, y, key)
    loss, times = float(jnp.mean(value)), []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(calls):
            kept, rest, state, value = step(kept, rest, state, x, y, key)
        jax.block_until_ready(value)
        times.append((time.perf_counter() - start) / STRETCH)
    return float(np.median(times)), loss


def row(
    name: str, loss: Callable[[bool], Callable[..., Any]], start: tuple, batch: int, only: list[str]
) -> None:
    """Print a line of the table, a part as soon as it is known."""
    step = step_of(loss(False))
    ready, operations, seconds = compiled(step, start)
    single, value = timed(ready, start)
    print(f"{name}, batch {batch}: {1e3 * single:.2f} ms", end="", flush=True)
    print(f", {operations / 1e9:.1f} Gflop, {operations / single / 1e12:.2f} Tflop/s", end="")
    print(f", compiled in {seconds:.0f} s", end="", flush=True)
    if "loop" in only:
        stretch, _, seconds = compiled(looped(step), start)
        print(f"; loop {timed(stretch, start, 1)[0] / single:.2f} ({seconds:.0f} s)", end="")
    if "row" in only:
        of_row, parameters = in_a_row(loss(False), start[0])
        given = (parameters, start[1], optax.adam(1e-3).init(parameters), *start[3:])
        of_rows = step_of(of_row)
        in_row = timed(compiled(of_rows, given)[0], given)[0]
        print(f"; row {in_row / single:.2f}", end="", flush=True)
        if "loop" in only:
            both = timed(compiled(looped(of_rows), given)[0], given, 1)[0]
            print(f", both {both / single:.2f}", end="", flush=True)
    if "bfloat16" in only:
        short = step_of(loss(True))
        time_of, short_value = timed(compiled(short, start)[0], start)
        off = abs(short_value - value) / value
        print(f"; bfloat16 {time_of / single:.2f} (loss {off:.1%} off)", end="", flush=True)
        if "loop" in only:
            both = timed(compiled(looped(short), start)[0], start, 1)[0]
            print(f", in a loop {both / single:.2f}", end="", flush=True)
    for count in TOGETHER:
        if f"{count}" not in only:
            continue
        many = (
            jax.tree.map(lambda x, n=count: jnp.broadcast_to(x, (n, *x.shape)), start[:-1]),
            jax.random.split(start[-1], count),
        )
        given = (*many[0], many[1])
        together = timed(compiled(jax.vmap(step), given)[0], given)[0]
        print(f"; {count} at once {together / single / count:.2f} each", end="", flush=True)
    print(flush=True)


def main(names: list[str], only: list[str]) -> None:
    """Print a line for every network, or for those that are named."""
    device = jax.devices()[0]
    print(f"{device.device_kind} ({device.platform}), jax {jax.__version__}", flush=True)
    rng, key = np.random.default_rng(0), jax.random.key(0)
    for name, (shape, batch) in IMAGES.items():
        if names and name not in names:
            continue
        network = image_network(name, shape, outputs=1, seed=0)
        kept, rest = eqx.partition(network, trained(network))
        x = jnp.asarray(rng.normal(size=(batch, *shape)), jnp.float32)
        y = jnp.asarray(rng.normal(size=batch), jnp.float32)
        state = optax.adam(1e-3).init(kept)
        row(name, image_loss, (kept, rest, state, x, y, key), batch, only)
    for name, batch in MODELS.items():
        if names and name not in names:
            continue
        model = diffusion_model(name, condition=4, seed=0)
        kept, rest = eqx.partition(model, eqx.is_inexact_array)
        x = jnp.asarray(rng.random((batch, *model.shape)), jnp.float32)
        y = jnp.asarray(rng.random((batch, 4)), jnp.float32)
        state = optax.adam(1e-3).init(kept)
        row(f"U-Net {name}", model_loss, (kept, rest, state, x, y, key), batch, only)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--only", nargs="*", default=list(VARIANTS), choices=VARIANTS)
    arguments = parser.parse_args()
    main(arguments.networks, arguments.only)
