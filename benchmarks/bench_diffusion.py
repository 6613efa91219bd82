"""Time diffusion models against the arithmetic they cannot do without.

For "small16" and "small32": a step of training (batches of 64), a step of sampling (64 samples),
and the share of a run that asking for samples takes, at 12 checkpoints of 5 prompts, 64 samples and
25 steps in 3,000 steps of training. The floor of a step is its multiply-adds (three times those of
a pass, in training) at the speed of a matrix product of 1,024 rows in the same run. Times are
medians of 5; compilation is left out. There is no target but the share: at most a third.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from partwhole.networks.diffusion import DiffusionModel, diffusion_model, sample
from partwhole.training import Training
from partwhole.training import train as train_network

BATCH, REPEATS, STEPS, SAMPLES = 64, 5, 20, 64
RUN, CHECKPOINTS, PROMPTS, SAMPLING = 3000, 12, 5, 25


def median(work: Callable[[], object]) -> float:
    """Return the median seconds of some calls."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def speed() -> float:
    """Return multiply-adds a second of a matrix product."""
    n = 1024
    x = jnp.asarray(np.random.default_rng(0).normal(size=(n, n)), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    product(x).block_until_ready()
    return n**3 / median(lambda: product(x).block_until_ready())


def multiply_adds(model: DiffusionModel) -> int:
    """Count those of a pass of one sample, of convolutions and of other products."""

    def walk(jaxpr: Any) -> int:
        total = 0
        for equation in jaxpr.eqns:
            made = int(np.prod(equation.outvars[0].aval.shape)) if equation.outvars else 0
            if equation.primitive.name == "conv_general_dilated":
                total += made * int(np.prod(equation.invars[1].aval.shape[:3]))
            elif equation.primitive.name == "dot_general":
                (over, _), _ = equation.params["dimension_numbers"]
                total += made * int(np.prod([equation.invars[0].aval.shape[i] for i in over]))
            for value in equation.params.values():
                inner = getattr(value, "jaxpr", value)
                total += walk(inner) if hasattr(inner, "eqns") else 0
        return total

    def whole(z: jax.Array, c: jax.Array) -> jax.Array:
        return model.noise(z, jnp.zeros(1), model.made(c))

    given = jnp.zeros((1, *model.shape)), jnp.zeros((1, model.condition))
    return walk(jax.make_jaxpr(whole)(*given).jaxpr)


def main() -> None:
    """Print milliseconds for a step beside the floor, and the share of evaluation."""
    rng = np.random.default_rng(0)
    for name in ("small16", "small32"):
        model = diffusion_model(name, condition=4, seed=0)
        images = rng.random((BATCH * 8, *model.shape), dtype=np.float32)
        conditions = rng.random((len(images), 4), dtype=np.float32)
        asked = conditions[:SAMPLES]

        def train(steps: int, m: DiffusionModel = model, x=images, c=conditions) -> None:
            training = Training.published("diffusion", steps=steps, batch=BATCH, clip=1.0)
            runs = train_network(m, (x, c), training, progress=False)
            jax.block_until_ready(runs.networks)

        def draw(steps: int, m: DiffusionModel = model, c: np.ndarray = asked) -> None:
            sample(m, c, steps=steps, seed=0, progress=False)

        for steps in (1, 1 + STEPS):
            train(steps)
            draw(steps)
        step = (median(lambda: train(1 + STEPS)) - median(lambda: train(1))) / STEPS
        drawn = (median(lambda: draw(1 + STEPS)) - median(lambda: draw(1))) / STEPS
        pass_ = multiply_adds(model) / speed()
        floors = 3 * BATCH * pass_, SAMPLES * pass_
        asking = CHECKPOINTS * PROMPTS * SAMPLING * drawn
        print(
            f"{name}: {1e3 * step:.1f} ms a training step, {step / floors[0]:.1f} times the floor; "
            f"{1e3 * drawn:.1f} ms a sampling step, {drawn / floors[1]:.1f} times; samples take "
            f"{asking / (asking + RUN * step):.2f} of a run"
        )


if __name__ == "__main__":
    main()
