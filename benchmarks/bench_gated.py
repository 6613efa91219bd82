"""Time the group norm of gated units: the limit of two layers, against cvxpy with Clarabel.

First, how near training comes to the largest margin of a small data set.

Gaussian inputs with a constant, half-space gates through the origin, two contexts a unit, labels
of a product rule. Both solve to a relative duality gap of 1e-6 or less. The largest problem, 100
units over 2,000 inputs of 785 numbers, has 157,000 coefficients: Clarabel has no room for it.
"""

from __future__ import annotations

import resource
import time

import cvxpy as cp
import numpy as np

from partwhole import solve
from partwhole.features import HalfspaceGates
from partwhole.features.gates.design import GatedDesign
from partwhole.limits import GroupNorm, Limit
from partwhole.networks import GatedNetwork
from partwhole.training import Training, train
from partwhole.training.margin_ascent import ascend_margin
from partwhole.training.stationarity import stationarity


def problem(n: int, d: int, units: int) -> tuple[GatedDesign, np.ndarray]:
    """Return a design and labels that it can separate."""
    rng = np.random.default_rng(0)
    inputs = np.column_stack([rng.normal(size=(n, d - 1)), np.ones(n)])
    labels = np.sign((inputs @ rng.normal(size=d)) * (inputs[:, 0] + 0.3))
    return HalfspaceGates.random(d, n_units=units, seed=1).design(inputs), labels


def limit_of(design: GatedDesign, labels: np.ndarray) -> Limit:
    return solve((design, labels), cost=GroupNorm(), fit="margin", intercept="none")


def clarabel(design: GatedDesign, labels: np.ndarray) -> float:
    """Return the least norm as a cone program."""
    features = design.dense().matrix.reshape(len(labels), design.n_units, -1)
    weights = [cp.Variable(features.shape[2]) for _ in range(design.n_units)]
    outputs = sum(features[:, h] @ weights[h] for h in range(design.n_units))
    norm = sum(cp.norm(each) for each in weights)
    program = cp.Problem(cp.Minimize(norm), [cp.multiply(labels, outputs) >= 1])
    value = program.solve(solver=cp.CLARABEL, tol_gap_rel=1e-6, tol_gap_abs=1e-9, tol_feas=1e-7)
    return float(value)  # pyright: ignore[reportArgumentType]


def against_clarabel(units: int, *, target: float, repeats: int) -> None:
    """Print both times at n = 500, d = 100, and their ratio."""
    design, labels = problem(500, 100, units)
    limit, best = limit_of(design, labels), clarabel(design, labels)
    ours, theirs = [], []
    for _ in range(repeats):
        began = time.perf_counter()
        limit_of(design, labels)
        ours.append(time.perf_counter() - began)
        began = time.perf_counter()
        clarabel(design, labels)
        theirs.append(time.perf_counter() - began)
    ratio = float(np.median(theirs) / np.median(ours))
    print(
        f"n = 500, d = 100, {units} units: {np.median(ours):.3g} s (gap {limit.gap:.0e}, "
        f"{limit.steps} steps), Clarabel {np.median(theirs):.3g} s; values differ by "
        f"{abs(limit.value / best - 1):.0e}; ratio {ratio:.3g} (goal {target:g})"
    )


def flow_on_d1() -> None:
    """Print how near the normalised flow comes to the largest margin of a small data set."""
    stream = np.random.RandomState(1)
    inputs = np.column_stack([stream.randn(24, 6), np.ones(24)])
    labels = np.sign(inputs[:, 0] * inputs[:, 1])
    normals = stream.randn(6, 1, 7)
    normals[..., -1] *= 0.3
    gates = HalfspaceGates(normals, np.zeros((6, 1)))
    limit = solve((inputs, labels), gates, fit="margin", intercept="none")
    starts = [
        GatedNetwork.draw(7, [gates, 1], seed=seed, initial="normal", scale=0.05)
        for seed in range(4)
    ]
    began = time.perf_counter()
    training = Training(steps=60_000, loss="exponential", optimiser="normalised flow")
    runs = train(starts, (inputs, labels), training, progress=False)
    flowed = time.perf_counter() - began
    shares = runs.fraction_of(limit)[:, -1]
    began = time.perf_counter()
    ends = [ascend_margin(each, inputs, labels) for each in runs.networks]
    ascended = time.perf_counter() - began
    short = max(1.0 - stationarity(each, inputs, labels, limit).fraction for each in ends)
    print(
        f"D1, 4 starts: shares of the largest margin {', '.join(f'{s:.4f}' for s in shares)} after "
        f"60,000 steps of the flow in {flowed:.1f} s (goal 0.98); {short:.0e} short after implicit "
        f"steps in {ascended:.1f} s more"
    )


def main() -> None:
    flow_on_d1()
    against_clarabel(10, target=5, repeats=3)
    against_clarabel(50, target=10, repeats=1)
    design, labels = problem(2000, 785, 100)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    limit = limit_of(design, labels)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"n = 2,000, d = 785, 100 units: {limit.outcome.name.lower()}, relative gap "
        f"{limit.gap / limit.value:.0e} in {limit.steps} steps, {seconds:.3g} s (goal 180), "
        f"peak {peak:.2g} GiB (goal 4; {before / 2**20:.2g} before)"
    )


if __name__ == "__main__":
    main()
