"""Networks on structured identity tasks, many side by side: which way is faster, how many at once.

Linear networks are trained on the second moments of their batches, which gives the same steps as
the samples. The result of a run does not depend, up to rounding, on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.flows.stability import deep_stability_limit
from partwhole.networks import MLP
from partwhole.training.concepts import DrawnSamples
from partwhole.training.engines.batches import Batches
from partwhole.training.engines.moments import Moments
from partwhole.training.following import Report
from partwhole.training.problem import Problem, require_memory
from partwhole.training.results import Trace

# Entries of the largest weight matrix up to which networks are laid side by side, entry by entry.
LANES_UP_TO = 32
AT_ONCE_BYTES = 512 * 2**20
AT_ONCE_RUNS = 512
# Multiplications in one call, some two seconds of work, so that a progress bar moves.
AT_ONCE_WORK = 1e11
# Divergence, in units of the larger of the first loss and the scale of the targets.
DIVERGED = 100.0

# Both have two methods: `data` returns the arrays of one run's sample, batch by batch, and `train`
# trains networks along a leading axis of runs and records after each gap of steps.
Way = Moments | Batches


class Cost(NamedTuple):
    """Cost of one run: bytes of memory, and multiplications for each step."""

    bytes: float
    work: float


def choose(network: MLP) -> Way:
    """Return the way that was fastest for such networks, on two cores of a CPU.

    Microseconds for a step of one network, batches of 128, 24 networks at once (4 of d = 64),
    compilation apart (0.2 to 0.5 s). "Lanes" and "matrices" are those of `Moments`, "mapped" is
    one after another inside one call:

    ===============================  =======  =========  ======  =============
    networks                         lanes    matrices   mapped  samples, vmap
    ===============================  =======  =========  ======  =============
    linear, 4 layers, d=2, width 4   0.05     1.7        3.1
    linear, 3 layers, d=3, width 3   0.05     0.5
    linear, 4 layers, d=4, width 8   0.8      2.3
    linear, 2 layers, d=8, width 8   1.9      0.8
    linear, 4 layers, d=64                    40         43
    ReLU, 4 layers, d=2, width 4                         5.2     1.9
    ReLU, 3 layers, d=3, width 3                         2.9     0.6
    ReLU, 2 layers, d=64                                 28      28
    ===============================  =======  =========  ======  =============
    """
    if network.nonlinearity != "linear":
        return Batches()
    largest = max(m * n for m, n in pairwise(sizes(network)))
    return Moments(lanes=largest <= LANES_UP_TO, bias=network.biases is not None)


def sizes(network: MLP) -> tuple[int, ...]:
    """Return the number of inputs and the width of each layer."""
    return (network.shape[0], *(weight.shape[-2] for weight in network.weights))


def cost(network: MLP, batches: int, batch: int) -> Cost:
    """Estimate the cost of one run with its own number of batches."""
    widths = sizes(network)
    dimension = widths[0]
    entries = sum(m * n for m, n in pairwise(widths))
    if network.nonlinearity != "linear":
        return Cost(12.0 * batches * batch * (dimension + 1), 3.0 * entries * batch)
    columns = dimension + (network.biases is not None)
    return Cost(8.0 * batches * columns**2, (3.0 * entries + dimension * columns) * columns)


def at_once(runs: int, run_cost: Cost, recorded_bytes: float, steps: int) -> int:
    """Return how many runs to train in one call; calls then have nearly equal numbers."""
    most = min(
        AT_ONCE_BYTES / (run_cost.bytes + recorded_bytes),
        AT_ONCE_WORK / (run_cost.work * steps),
        runs,
    )
    calls = -(-runs // max(1, min(AT_ONCE_RUNS, int(most))))
    return -(-runs // calls)


def engine(problem: Problem) -> Callable[..., dict[int, Trace]]:
    """Return a function that trains some of the runs, several in a call."""
    network, stops = problem.networks, problem.stops
    assert isinstance(network, MLP)
    probes = problem.probes
    assert probes is not None
    way = choose(network)
    rows, _ = problem.batches(0) or _whole(problem.count)
    run_cost = cost(network, *rows.shape)
    recorded = 8.0 * len(stops) * probes.shape[0] * (2 * probes.shape[1] + 1)
    require_memory(
        problem.runs * recorded + run_cost.bytes,
        "record fewer steps or probes, or train fewer runs in a call",
    )
    size = at_once(problem.runs, run_cost, recorded, max(1, int(stops[-1])))

    def train_runs(
        runs: Sequence[int],
        rates: Float[np.ndarray, " runs"],
        report: Report,
    ) -> dict[int, Trace]:
        traces: dict[int, Trace] = {}
        with jax.enable_x64(problem.training.dtype == np.float64):
            for start in range(0, len(runs), size):
                part = runs[start : start + size]
                traces |= _train(problem, way, part, rates, size)
                report(len(part) * int(stops[-1]), traces[part[-1]].losses[-1].item())
                for run in part:
                    report.of(run).trace(stops, traces[run], problem.shares)
        return traces

    return train_runs


def _train(
    problem: Problem, way: Way, runs: Sequence[int], rates: Float[np.ndarray, " runs"], size: int
) -> dict[int, Trace]:
    """Train some of the runs in one call."""
    samples, probes, dtype = problem.tasks[0], problem.probes, problem.training.dtype
    assert isinstance(samples, DrawnSamples)
    assert probes is not None
    data, scales = [], {}
    for run in runs:
        inputs, _ = samples.of(run)
        _require_stability(problem, samples, float(rates[run]), run)
        order = problem.batches(run) or _whole(problem.count)
        data.append(way.data(inputs, *order))
        scales[run] = float(np.mean(np.sum(inputs**2, axis=1)))
    # The last call is filled up, because another size would be recompiled.
    filled = [*runs, *[runs[-1]] * (size - len(runs))]
    data += data[-1:] * (size - len(runs))
    network = problem.networks
    several = network.lead != ()
    records = way.train(
        jax.tree.map(
            lambda leaf: np.stack(
                [np.asarray(leaf, dtype)[run] if several else np.asarray(leaf, dtype)
                 for run in filled]
            ),
            network,
        ),
        tuple(np.stack(part) for part in zip(*data, strict=True)),
        # The slope of the squared error is twice that of half of it.
        2.0 * rates[filled],
        np.diff(problem.stops, prepend=0),
        np.broadcast_to(probes, (size, *probes.shape)),
    )  # fmt: skip
    traces = {}
    for place, run in enumerate(runs):
        losses = 2.0 * records.training_loss[place]
        limit = DIVERGED * max(float(losses[0]), scales[run])
        traces[run] = Trace(
            losses[:, None],
            jax.tree.map(lambda leaf, place=place: np.asarray(leaf)[place], records.final),
            int(problem.stops[-1]),
            not losses[-1] <= limit,
            answers=records.outputs[place],
        )
    return traces


def _whole(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(n, dtype=np.int32)[None], np.full((1, n), 1.0 / n)


def _require_stability(problem: Problem, samples: DrawnSamples, rate: float, run: int) -> None:
    """Refuse a rate at which no linear network that has learned its sample is stable."""
    network = problem.networks
    if network.nonlinearity != "linear":
        return
    sample = samples.sample(run)
    mean = sample.mean() if network.biases is not None else None
    highest = 0.5 * deep_stability_limit(sample.second_moment(), network.n_layers, mean=mean)
    require(
        rate < highest,
        f"the learning rate of {network.n_layers} linear layer(s) on this sample lies below the "
        f"stability limit {highest:.4g}",
        f"{rate:g}",
        "take a smaller one",
    )
