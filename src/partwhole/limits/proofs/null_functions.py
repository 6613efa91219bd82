"""Null functions: sums of conjunctions that are 0 on every training combination.

Random null functions are drawn by one of three methods: from the graph of values seen together, by
an eigendecomposition, or by projection with conjugate gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64
from scipy import sparse

from partwhole._types import Seed
from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.limits.proofs._indicators import as_sparse
from partwhole.limits.proofs._partial_sums import partial_sums
from partwhole.tasks import Task

# Largest eigenvalue that counts as 0, for indicators scaled to unit columns, whose eigenvalues are
# at most the number of blocks. A path of L combinations has an eigenvalue near 1 / L**2, so the
# smallest nonzero ones of 1,500 conjunctions are far above this.
NULL_EIGENVALUE = 1e-11
# Largest value that counts as 0, relative to the scaled row's length. Conjugate gradients leave up
# to 1e-9 on sparse tables of 100,000 combinations, an eigendecomposition 1e-13. At an undetermined
# row the value is about the root of its conjunctions' share of training, 1e-3 for a million
# combinations.
TOLERANCE = 1e-7
CG_TOLERANCE = 1e-12
# Rounding may prevent a function from reaching the tolerance; if its values on training are below
# this, its values elsewhere are still accurate.
CG_ENOUGH = 1e-10
CG_STEPS = 5000
CG_WORK = 2e10
CG_PROBES = 2
# Every so many steps the values at the combinations asked for are computed; that of a vector counts
# as 0 below the tolerance, with which the verdict is found.
STEPS_BETWEEN, EARLY = 32, 1e-8


@dataclass(frozen=True, eq=False)
class NullFunctions:
    """Random sums of conjunctions that are 0 on every training combination.

    Parameters
    ----------
    design : ConjunctionDesign
        The columns of the seen conjunctions of exactly K components; without rows.
    coefficients : float array, shape (p, m)
        Coefficients of m null functions.
    sizes : float array, shape (p,)
        Number of training combinations with each conjunction.
    seed : int
        Determines the coefficients of unseen conjunctions, which may have any value.
    """

    design: ConjunctionDesign
    coefficients: Float[np.ndarray, "p m"]
    sizes: Float[np.ndarray, " p"]
    seed: int

    def __call__(
        self, components: Int[np.ndarray, "n C"]
    ) -> tuple[Float[np.ndarray, "n m"], Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        """Return values, lengths of the scaled rows, and which rows have an unseen conjunction."""
        m = self.coefficients.shape[1]
        values = np.zeros((len(components), m))
        squares, unseen = np.zeros(len(components)), np.zeros(len(components), dtype=bool)
        blocks = zip(self.design.blocks, self.design.dictionaries, strict=True)
        for number, (block, dictionary) in enumerate(blocks):
            index = dictionary.columns(components)
            missing = np.flatnonzero(index < 0)
            block_coefficients, size = self.coefficients[block.columns], self.sizes[block.columns]
            values += block_coefficients[index]
            squares += 1.0 / size[index]
            if len(missing):
                unseen[missing] = True
                # The index -1 of an unseen conjunction added the last column; this is undone.
                values[missing] -= block_coefficients[-1]
                squares[missing] += 1.0 - 1.0 / size[-1]
                chosen = components[missing][:, list(dictionary.components)]
                values[missing] += _scattered(chosen, m, self.seed, number)
        return values, np.sqrt(squares), unseen


def _scattered(
    rows: Int[np.ndarray, "n S"], m: int, seed: Seed, number: int
) -> Float[np.ndarray, "n m"]:
    """Return pseudorandom numbers in -1..1 that depend only on a row's entries."""
    # The seed is mixed before the first entry; otherwise value 2 of a block and value 3 of the
    # next would have the same state.
    start = np.full(len(rows), (seed * 1_000_003 + number) % (1 << 63), dtype=np.uint64)
    state = _mixed(start)
    for column in rows.T:
        state = _mixed(state ^ column.astype(np.uint64))
    lanes = _mixed(state[:, None] + np.arange(1, m + 1, dtype=np.uint64))
    return lanes.astype(np.float64) / 2.0**63 - 1.0


def _mixed(state: UInt64[np.ndarray, "*n"]) -> UInt64[np.ndarray, "*n"]:
    """Return 64 scrambled bits (the SplitMix64 finalizer of Steele, Lea and Flood, 2014)."""
    with np.errstate(over="ignore"):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def vanishing(
    probes: Float[np.ndarray, "h m"], length: Float[np.ndarray, " h"]
) -> Bool[np.ndarray, " h"]:
    """Return which rows have values of 0, up to rounding."""
    return np.sqrt(np.mean(probes**2, axis=1)) <= TOLERANCE * length


def on_graph(
    design: ConjunctionDesign, m: int, rng: np.random.Generator
) -> Float[np.ndarray, "p m"]:
    """Return null vectors constant on each graph component: plus on one side, minus on the other.

    Two components of the task are the sides of a graph whose edges are the training rows; a sum
    f(a) + g(c) that is 0 on every edge is h on one side and -h on the other of each connected
    component of the graph.
    """
    part = graph_components(design.index[0], design.index[1], design)
    height = rng.normal(size=(int(part.max()) + 1, m))[part]
    height[design.blocks[1].columns] *= -1.0
    return height


def graph_components(
    left: Int[np.ndarray, " n"], right: Int[np.ndarray, " n"], design: ConjunctionDesign
) -> Int[np.ndarray, " p"]:
    """Return the connected component of each column, in the graph whose edges are these rows."""
    p = design.shape[1]
    right = right + design.blocks[1].start
    edges = sparse.coo_array((np.ones(len(left), dtype=np.int8), (left, right)), (p, p))
    return sparse.csgraph.connected_components(edges.tocsr(), directed=False)[1]


def _gram(design: ConjunctionDesign) -> Float[np.ndarray, "p p"]:
    """Return the number of training rows that contain both conjunctions, for each pair."""
    p = design.shape[1]
    gram = np.zeros((p, p))
    pairs = list(zip(design.blocks, design.index, strict=True))
    for place, (row_block, i) in enumerate(pairs):
        for column_block, j in pairs[place:]:
            shape = row_block.stop - row_block.start, column_block.stop - column_block.start
            count = np.bincount(i.astype(np.int64) * shape[1] + j, minlength=shape[0] * shape[1])
            gram[row_block.columns, column_block.columns] = count.reshape(shape)
            gram[column_block.columns, row_block.columns] = count.reshape(shape).T
    return gram


def null_basis(
    design: ConjunctionDesign, sizes: Float[np.ndarray, " p"]
) -> Float[np.ndarray, "p d"]:
    """Return an orthonormal basis of the null vectors of indicators scaled to unit columns."""
    scale = 1.0 / np.sqrt(sizes)
    size, basis = np.linalg.eigh(_gram(design) * scale[:, None] * scale)
    return basis[:, size <= NULL_EIGENVALUE * max(1, len(design.blocks))]


@dataclass(frozen=True)
class Stops:
    """Reasons for which conjugate gradients end before their values on training are 0.

    Parameters
    ----------
    work : float, optional
        Multiplications for all vectors together, by default 2e10, and at most 5,000 steps for each.
        They are counted, not timed, so that the answer does not depend on the load of the machine.
    deadline : float, default infinity
        By `time.process_time`; it stops even slower computations.
    at : int array, shape (r, C), optional
        Combinations whose verdicts alone are asked for: a vector that is 0 at all of them is not
        continued, nor is one that converges too slowly for the work.
    """

    work: float | None = None
    deadline: float = float("inf")
    at: Int[np.ndarray, "r C"] | None = None


def projected(
    design: ConjunctionDesign,
    task: Task,
    sizes: Float[np.ndarray, " p"],
    m: int,
    rng: np.random.Generator,
    stops: Stops,
) -> tuple[Float[np.ndarray, "p m"], float]:
    """Return random vectors, projected on the null space by conjugate gradients.

    The second value is the largest root mean square of their values over the training rows: at
    most 1e-12 unless one of the stops ended a vector.
    """
    n, p = design.shape
    scale = 1.0 / np.sqrt(sizes)
    phi = partial_sums(design, task.train_components, task.n_values)
    work = CG_WORK if stops.work is None else stops.work
    steps = min(CG_STEPS, max(1, int(work / (2 * m * max(phi.n_entries, 1)))))
    asked = None if stops.at is None else _scaled_rows(design.at(stops.at), scale)
    null_vectors, worst = np.empty((p, m)), 0.0
    for k in range(m):
        v = rng.normal(size=p)
        value = phi @ (scale * v)
        unit = float(np.sqrt(n) * np.linalg.norm(v) / np.sqrt(p))
        residual = scale * phi.adjoint(value)
        direction = residual.copy()
        square = float(residual @ residual)
        logs: list[float] = []
        for _ in range(steps):
            left = float(np.linalg.norm(value)) / unit
            if left <= CG_TOLERANCE or square == 0 or process_time() > stops.deadline:
                break
            logs.append(float(np.log(left)))
            if asked is not None and len(logs) % STEPS_BETWEEN == 0:
                is_settled = np.abs(asked @ v).max(initial=0.0) <= EARLY
                if is_settled or _steps_needed(logs) > steps:
                    break
            image = phi @ (scale * direction)
            length = square / float(image @ image)
            v -= length * direction
            value -= length * image
            residual = scale * phi.adjoint(value)
            previous, square = square, float(residual @ residual)
            direction = residual + (square / previous) * direction
        worst = max(worst, float(np.linalg.norm(value)) / unit)
        null_vectors[:, k] = v * scale
    return null_vectors, worst


def _steps_needed(logs: list[float]) -> float:
    """Return the steps to the tolerance at the rate of the second half of those so far."""
    half = len(logs) // 2
    fall = (logs[half] - logs[-1]) / (len(logs) - 1 - half)
    return len(logs) + (logs[-1] - np.log(CG_TOLERANCE)) / fall if fall > 0 else float("inf")


def _scaled_rows(design: ConjunctionDesign, scale: Float[np.ndarray, " p"]) -> sparse.csr_array:
    """Return the scaled rows without an unseen conjunction, each divided by its length."""
    rows = as_sparse(design)
    rows = rows[np.diff(rows.indptr) == len(design.index)]
    rows.data = scale[rows.indices]
    length = np.sqrt((rows * rows).sum(axis=1))
    rows.data /= np.repeat(length, len(design.index))
    return rows
