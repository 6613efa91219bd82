"""Time the theory of feature reuse: the exact limit, the published grid, a recommendation.

The limit is timed against gradient descent, jitted and in double precision, that ends within 1e-4
of the same coefficients in relative distance. Descent with a finite step ends elsewhere than the
flow, so that its step is the largest of 0.1, 0.05, 0.02, ... with which it gets that near; only
that run is timed, without compiling. The grid is that of the published table of overlaps: 4
overlaps, 6 sample sizes, 6 seeds; single-task learning, finetuning and linear probing.
"""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpy as np

from partwhole import solve
from partwhole.limits import DiagonalWeights, HyperbolicEntropy, Limit
from partwhole.recommendation import predict_losses, recommend
from partwhole.tasks import SparseTeachers

NEAR, SEED, MOST = 1e-4, 0, 4_000_000
STEPS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


@jax.jit
def descend(weights, inputs, targets, end, rate, most):
    """Return the steps of gradient descent until it is near its end, and how near it is."""

    def beta(w):
        return w[0] * w[1] - w[2] * w[3]

    def away(w):
        return jnp.linalg.norm(beta(w) - end) / jnp.linalg.norm(end)

    def step(_, w):
        slope = 2.0 / len(targets) * ((inputs @ beta(w) - targets) @ inputs)
        return w - rate * slope * jnp.stack([w[1], w[0], -w[3], -w[2]])

    def going(carry):
        at, w = carry
        return (away(w) > NEAR) & (at < most) & jnp.isfinite(away(w))

    def onward(carry):
        at, w = carry
        return at + 100, jax.lax.fori_loop(0, 100, step, w)

    at, w = jax.lax.while_loop(going, onward, (0, weights))
    return at, away(w)


def limit_against_descent(n: int, overlap: int, method: str) -> None:
    """Print the time of the exact limit, that of descent, and the ratio."""
    sample = SparseTeachers(overlap=overlap).sample(SEED, n)
    if method == "finetuning":
        start = DiagonalWeights.pretrained(sample.auxiliary, 1e-3)
        start = start.for_finetuning(readout_scale=1e-3)
    else:
        start = DiagonalWeights.constant(1000, 1e-3)
    cost = HyperbolicEntropy.from_weights(start)

    def solved() -> Limit:
        return solve((sample.inputs, sample.targets), cost=cost, intercept="none")

    limit, taken = solved(), []
    for _ in range(7):
        began = time.perf_counter()
        solved()
        taken.append(time.perf_counter() - began)
    exact = float(np.median(taken))

    given = [jnp.asarray(each) for each in (np.stack(start), sample.inputs, sample.targets)]
    end = jnp.asarray(limit.coefficients)
    descend(*given, end, 0.1, 100)[1].block_until_ready()
    for rate in STEPS:
        began = time.perf_counter()
        steps, gap = descend(*given, end, rate, MOST)
        gap.block_until_ready()
        loop = time.perf_counter() - began
        if float(gap) <= NEAR:
            break
        print(f"  (steps of {rate:g} end {float(gap):.1e} away)")
    else:
        print(f"{method}, overlap {overlap}, n = {n}: no descent came within {NEAR:g}")
        return
    print(
        f"{method}, overlap {overlap}, n = {n}: exact {1e3 * exact:.1f} ms, descent with steps of "
        f"{rate:g} {loop:.2f} s ({int(steps)} steps): ratio {loop / exact:.0f} (target 100)"
    )


def main() -> None:
    """Print every figure."""
    with jax.enable_x64(True):
        for n in (64, 128, 256):
            for overlap, method in ((40, "finetuning"), (40, "single-task")):
                limit_against_descent(n, overlap, method)
    began = time.perf_counter()
    for overlap in (0, 20, 30, 40):
        predict_losses(
            SparseTeachers(overlap=overlap),
            (16, 32, 64, 128, 256, 512),
            methods=("single-task", "finetuning", "linear probing"),
            rescalings=(1.0,),
            progress=False,
        )
    print(f"published grid, 432 losses: {time.perf_counter() - began:.1f} s (target 15)")
    for n in (32, 64, 256):
        began = time.perf_counter()
        advice = recommend(overlap=20, n_main=n, progress=False)
        taken = time.perf_counter() - began
        print(f"recommend, n = {n}: {advice.choice.label}, {taken:.1f} s (target 10)")


if __name__ == "__main__":
    main()
