"""Which engine trains which networks, and how many at once."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from partwhole.networks import Architecture
from partwhole.training._batches import Batches
from partwhole.training._moments import Moments

# Entries of the largest weight matrix up to which networks are laid side by side, entry by entry.
LANES_UP_TO = 32
AT_ONCE_BYTES = 512 * 2**20
AT_ONCE_RUNS = 512
# Multiplications in one call, some two seconds of work, so that a progress bar moves.
AT_ONCE_WORK = 1e11


# Each has two methods: `data` returns the arrays of one run's sample, batch by batch, and `train`
# trains networks along a leading axis of runs and records after each gap of steps.
Engine = Moments | Batches


class Cost(NamedTuple):
    """Cost of one run for an engine: bytes of memory, and multiplications for each step."""

    bytes: float
    work: float


def choose(architecture: Architecture, dimension: int) -> Engine:
    """Return the engine that was fastest for such networks, on two cores of a CPU.

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
    if architecture.nonlinearity != "linear":
        return Batches()
    largest = max(m * n for m, n in pairwise(architecture.sizes(dimension)))
    return Moments(lanes=largest <= LANES_UP_TO, bias=architecture.bias)


def cost(architecture: Architecture, dimension: int, batches: int, batch: int) -> Cost:
    """Estimate the cost of one run with its own number of batches."""
    entries = sum(m * n for m, n in pairwise(architecture.sizes(dimension)))
    if architecture.nonlinearity != "linear":
        return Cost(12.0 * batches * batch * (dimension + 1), 3.0 * entries * batch)
    columns = dimension + architecture.bias
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
