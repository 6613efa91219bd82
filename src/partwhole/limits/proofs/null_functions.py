"""Null functions: sums of conjunctions that are 0 on every training combination.

Random ones are drawn by three routes: from the graph of values seen together, from an
eigendecomposition, or by projection with conjugate gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64
from scipy import sparse

from partwhole._types import Seed
from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.limits.proofs._indicators import as_sparse

# Eigenvalues are those of indicators scaled to unit columns: at most the number of blocks. A path
# of L combinations has one near 1 / L**2, so those of 1,500 conjunctions stay far above this.
NULL_EIGENVALUE = 1e-11
# Of the scaled row's length. Conjugate gradients left up to 1e-9 of it on sparse tables of 100,000
# combinations, an eigendecomposition 1e-13; what is not determined keeps about the root of its
# conjunctions' share of training, 1e-3 for a million combinations.
TOLERANCE = 1e-7
CG_TOLERANCE = 1e-12
# Rounding may keep it from the tolerance; below this its values elsewhere can be believed.
CG_ENOUGH = 1e-10
CG_STEPS = 5000
CG_WORK = 2e10
CG_PROBES = 2


@dataclass(frozen=True, eq=False)
class NullFunctions:
    """Hold random sums of conjunctions that are 0 on every training combination.

    Parameters
    ----------
    design : ConjunctionDesign
        Training's conjunctions of exactly K components.
    coefficients : float array, shape (p, m)
        Of m null functions.
    sizes : float array, shape (p,)
        Training combinations with each conjunction.
    seed : int
        Fixes the coefficients of conjunctions that training lacks, which are free.
    """

    design: ConjunctionDesign
    coefficients: Float[np.ndarray, "p m"]
    sizes: Float[np.ndarray, " p"]
    seed: int

    def __call__(
        self, components: Int[np.ndarray, "n C"]
    ) -> tuple[Float[np.ndarray, "n m"], Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        """Return values, lengths of the scaled rows, and who has an unseen conjunction."""
        m = self.coefficients.shape[1]
        values = np.zeros((len(components), m))
        squares, unseen = np.zeros(len(components)), np.zeros(len(components), dtype=bool)
        blocks = zip(self.design.blocks, self.design.dictionaries, strict=True)
        for number, (block, dictionary) in enumerate(blocks):
            index = dictionary.columns(components)
            missing = np.flatnonzero(index < 0)
            own, size = self.coefficients[block.columns], self.sizes[block.columns]
            values += own[index]
            squares += 1.0 / size[index]
            if len(missing):
                unseen[missing] = True
                # Index -1 met the last column.
                values[missing] -= own[-1]
                squares[missing] += 1.0 - 1.0 / size[-1]
                chosen = components[missing][:, list(dictionary.components)]
                values[missing] += _scattered(chosen, m, self.seed, number)
        return values, np.sqrt(squares), unseen


def _scattered(
    rows: Int[np.ndarray, "n S"], m: int, seed: Seed, number: int
) -> Float[np.ndarray, "n m"]:
    """Return numbers in -1..1 that depend on a row's entries alone, as if drawn for each."""
    # Mixed before the first entry is, lest value 2 of one block be value 3 of the next.
    start = np.full(len(rows), (seed * 1_000_003 + number) % (1 << 63), dtype=np.uint64)
    state = _mixed(start)
    for column in rows.T:
        state = _mixed(state ^ column.astype(np.uint64))
    lanes = _mixed(state[:, None] + np.arange(1, m + 1, dtype=np.uint64))
    return lanes.astype(np.float64) / 2.0**63 - 1.0


def _mixed(state: UInt64[np.ndarray, "*n"]) -> UInt64[np.ndarray, "*n"]:
    """Scramble 64 bits (the SplitMix64 finalizer of Steele, Lea and Flood, 2014)."""
    with np.errstate(over="ignore"):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def vanishing(
    probes: Float[np.ndarray, "h m"], length: Float[np.ndarray, " h"]
) -> Bool[np.ndarray, " h"]:
    """Return whose values are 0 as far as rounding lets one tell."""
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
    """Number the connected components of the graph whose edges join these columns."""
    p = design.shape[1]
    right = right + design.blocks[1].start
    edges = sparse.coo_array((np.ones(len(left), dtype=np.int8), (left, right)), (p, p))
    return sparse.csgraph.connected_components(edges.tocsr(), directed=False)[1]


def _gram(design: ConjunctionDesign) -> Float[np.ndarray, "p p"]:
    """Count the training rows that any two conjunctions share."""
    p = design.shape[1]
    gram = np.zeros((p, p))
    pairs = list(zip(design.blocks, design.index, strict=True))
    for place, (one, i) in enumerate(pairs):
        for other, j in pairs[place:]:
            shape = one.stop - one.start, other.stop - other.start
            count = np.bincount(i.astype(np.int64) * shape[1] + j, minlength=shape[0] * shape[1])
            gram[one.columns, other.columns] = count.reshape(shape)
            gram[other.columns, one.columns] = count.reshape(shape).T
    return gram


def null_basis(
    design: ConjunctionDesign, sizes: Float[np.ndarray, " p"]
) -> Float[np.ndarray, "p d"]:
    """Return an orthonormal basis of the null vectors, columns scaled to unit length."""
    scale = 1.0 / np.sqrt(sizes)
    size, basis = np.linalg.eigh(_gram(design) * scale[:, None] * scale)
    return basis[:, size <= NULL_EIGENVALUE * max(1, len(design.blocks))]


def projected(
    design: ConjunctionDesign,
    sizes: Float[np.ndarray, " p"],
    m: int,
    rng: np.random.Generator,
    deadline: float = float("inf"),
) -> tuple[Float[np.ndarray, "p m"], float]:
    """Project random vectors on the null space by conjugate gradients.

    Returns the vectors, and the largest root mean square of their values over the training rows:
    at most 1e-12 unless steps ran out. Steps are counted, not timed, so that a busy machine gives
    the same answer: at most 5,000 for each vector, and so many that all of them together take
    2e10 multiplications (1,000 for 2,000,000 indicators). The deadline, by `time.monotonic`, is
    for what is slower still.
    """
    n, p = design.shape
    scale = 1.0 / np.sqrt(sizes)
    phi = as_sparse(design)
    phi.data *= scale[phi.indices]
    back = phi.T.tocsr()
    steps = min(CG_STEPS, max(1, int(CG_WORK / (2 * m * max(phi.nnz, 1)))))
    found, worst = np.empty((p, m)), 0.0
    for k in range(m):
        v = rng.normal(size=p)
        value = phi @ v
        unit = float(np.sqrt(n) * np.linalg.norm(v) / np.sqrt(p))
        residual = back @ value
        direction = residual.copy()
        square = float(residual @ residual)
        for _ in range(steps):
            if float(np.linalg.norm(value)) <= CG_TOLERANCE * unit or square == 0:
                break
            if monotonic() > deadline:
                break
            image = phi @ direction
            length = square / float(image @ image)
            v -= length * direction
            value -= length * image
            residual = back @ value
            previous, square = square, float(residual @ residual)
            direction = residual + (square / previous) * direction
        worst = max(worst, float(np.linalg.norm(value)) / unit)
        found[:, k] = v * scale
    return found, worst
