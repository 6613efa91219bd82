"""Random and awkward problems for `solve`, each reproducible from its name.

A problem's name is "cost / fit / intercept / kind / seed"; `problem` builds the same problem from
the same name on every machine.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

import numpy as np

from partwhole.features import DenseDesign
from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.features.design import Block, Design
from partwhole.features.gates.design import GatedDesign
from partwhole.limits import Equal, GroupNorm, HyperbolicEntropy, Margin, Quadratic, Tube
from partwhole.limits.costs import ChainNorm, FunctionSpaceL2, L1Norm, NuclearNorm, SchattenNorm

CONVEX = ("quadratic", "l1", "group", "weighted group", "nuclear", "entropy", "function")
CONCAVE = ("chain", "schatten")
COSTS = (*CONVEX, *CONCAVE)
FITS = ("equal", "equal slack", "margin", "margin slack", "tube", "tube slack")
INTERCEPTS = ("none", "free", "penalised")
ORDINARY = ("plain", "sparse teacher", "larger")
AWKWARD = (
    "feature unit",
    "target unit",
    "row unit",
    "column unit",
    "block unit",
    "equal rows",
    "equal rows, other targets",
    "rows 1e-7 apart",
    "rows 1e-7 apart, other targets",
    "rows 1e-10 apart",
    "rows 1e-10 apart, other targets",
    "one row",
    "constant targets",
    "zero row",
    "zero column",
    "zero features",
    "low rank",
    "integers",
    "pixels",
    "large slack",
    "small slack",
    "mixed slack",
    "large penalty",
    "small penalty",
    "small width",
    "large width",
    "conjunctions",
    "block left out",
    "several outputs",
    "several outputs, awkward",
)
KINDS = (*ORDINARY, *AWKWARD)


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem in numbers: what both the library and the oracles are given.

    Parameters
    ----------
    name : str
    cost : str
        One of `COSTS`.
    fit : {"equal", "margin", "tube"}
    matrix : float array, shape (n, p)
    sizes : tuple of int
        Columns of each block.
    targets, slack : float array, shape (n,)
    tube : float
        Width of the tube.
    intercept : {"none", "free"} or float
    weights : float array, shape (G,)
        Of blocks: sigma of the quadratic cost, w of the group norm.
    width, tilt : float array, shape (p,)
        Of the hyperbolic entropy.
    rows, layers : int
        Of the matrix norms and the concave costs.
    gates : tuple, optional
        Inputs, contexts and their number, of a gated design.
    tuples : int array, optional
        Components of a conjunction design.
    one_slack : bool
        Pass the slack as one number.
    posed : Problem, optional
        The problem of several outputs that the library is given in the place of this one.
    """

    name: str
    cost: str
    fit: str
    matrix: np.ndarray
    sizes: tuple[int, ...]
    targets: np.ndarray
    slack: np.ndarray
    tube: float
    intercept: str | float
    weights: np.ndarray
    width: np.ndarray
    tilt: np.ndarray
    rows: int = 1
    layers: int = 3
    gates: tuple[np.ndarray, np.ndarray, int] | None = None
    tuples: np.ndarray | None = None
    one_slack: bool = True
    posed: Problem | None = None

    @property
    def starts(self) -> np.ndarray:
        """Return the first column of each block."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(int)

    @property
    def labels(self) -> np.ndarray:
        """Return the block of each column."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest output of each row."""
        if self.fit == "margin":
            above = np.where(self.targets > 0, 1.0, -np.inf)
            return above, np.where(self.targets > 0, np.inf, -1.0)
        return self.targets - self.tube, self.targets + self.tube

    def design(self) -> Design:
        """Return the design for the library."""
        if self.gates is not None:
            return GatedDesign(*self.gates)
        if self.tuples is not None:
            return conjunction_design(self.tuples)
        blocks = tuple(
            Block(g, int(start), int(start + size))
            for g, (start, size) in enumerate(zip(self.starts, self.sizes, strict=True))
        )
        return DenseDesign(self.matrix, blocks)

    def library_cost(self) -> object:
        """Return the cost for the library."""
        labels = [block.label for block in self.design().blocks]
        return {
            "quadratic": lambda: Quadratic(dict(zip(labels, self.weights.tolist(), strict=True))),
            "l1": L1Norm,
            "group": GroupNorm,
            "weighted group": lambda: GroupNorm(self.weights),
            "nuclear": lambda: NuclearNorm(self.rows),
            "entropy": lambda: HyperbolicEntropy(self.width, self.tilt),
            "function": FunctionSpaceL2,
            "chain": lambda: ChainNorm(self.layers),
            "schatten": lambda: SchattenNorm(self.rows, self.layers),
        }[self.cost]()

    def library_fit(self) -> Equal | Margin | Tube:
        """Return the fit for the library."""
        slack = float(self.slack[0]) if self.one_slack else self.slack
        if self.fit == "tube":
            return Tube(self.tube, slack)
        return (Equal if self.fit == "equal" else Margin)(slack)


SETS = [(0,), (1,), (0, 1)]


def conjunction_design(tuples: np.ndarray) -> ConjunctionDesign:
    """Return the conjunctions of two components of three values."""
    return ConjunctionDesign.seen(tuples, SETS, (3, 3))


def names(count: int, seed: int, costs: tuple[str, ...] = COSTS) -> list[str]:
    """Return the names of many problems: a third ordinary, every combination in turn."""
    rng = np.random.default_rng([seed, 0xF0])
    out = []
    for number in range(count):
        kinds = ORDINARY if rng.random() < 1 / 3 else AWKWARD
        cost, fit = costs[number % len(costs)], FITS[(number // len(costs)) % len(FITS)]
        kind = kinds[rng.integers(len(kinds))]
        intercept = INTERCEPTS[rng.integers(3)]
        out.append(f"{cost} / {fit} / {intercept} / {kind} / {seed * 1_000_000 + number}")
    return out


def problem(name: str) -> Problem:
    """Build the problem of a name."""
    cost, fit, intercept, kind, _ = name.split(" / ")
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if kind == "conjunctions" and cost in ("nuclear", "schatten", "function"):
        kind = "integers"
    if kind.startswith("several") and cost == "function":
        kind = "integers"
    case = _plain(rng, name, cost, fit, intercept, kind)
    return _ROADS.get(kind, lambda rng, case: case)(rng, case)


def _plain(
    rng: np.random.Generator, name: str, cost: str, fit: str, intercept: str, kind: str
) -> Problem:
    larger = kind == "larger"
    n = int(rng.integers(12, 25) if larger else rng.integers(2, 11))
    rows = int(rng.integers(1, 4)) if cost in ("nuclear", "schatten") else 1
    p = max(1, int(n * rng.choice([0.5, 1.0, 2.0, 3.0])))
    gates = tuples = None
    if cost in ("nuclear", "schatten"):
        count = int(rng.integers(1, 4))
        sizes = (rows * max(1, round(p / rows / count)),) * count
    else:
        count = int(rng.integers(1, min(p, 5) + 1))
        cuts = np.sort(rng.choice(np.arange(1, p), count - 1, replace=False))
        sizes = tuple(np.diff([0, *cuts.tolist(), p]).tolist())
        if rng.random() < 0.3:
            sizes = (1,) * p
    if cost == "function":
        units, contexts = int(rng.integers(1, 4)), int(rng.integers(2, 4))
        inputs = rng.normal(size=(n, int(rng.integers(1, 5))))
        gates = (inputs, rng.integers(0, contexts, size=(n, units)), contexts)
        sizes = (contexts * inputs.shape[1],) * units
    if kind == "conjunctions":
        seen = rng.permutation(9)[: int(rng.integers(2, 10))]
        tuples = np.stack([seen // 3, seen % 3], axis=1)
        n = len(tuples)
        design = conjunction_design(tuples)
        sizes = tuple(block.stop - block.start for block in design.blocks)
    p = sum(sizes)
    if gates is not None:
        matrix = GatedDesign(*gates).dense().matrix
    elif tuples is not None:
        matrix = conjunction_design(tuples) @ np.eye(p)
    else:
        matrix = rng.normal(size=(n, p))
    teacher = rng.normal(size=p) * (rng.random(p) < (0.3 if kind == "sparse teacher" else 1.0))
    targets = matrix @ teacher + rng.choice([0.0, 1.0, 3.0])
    if rng.random() < 0.5:
        targets = targets + rng.normal(size=n)
    if tuples is not None:
        targets = tuples.sum(axis=1) - rng.choice([0.0, 2.0]) + 0.0
    if fit.startswith("margin"):
        targets = np.where(targets >= np.median(targets), 1.0, -1.0)
        if rng.random() < 0.3:
            targets = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    soft = fit.endswith("slack")
    slack = np.full(n, 10.0 ** rng.uniform(-2, 1) if soft else 0.0)
    case = Problem(
        name=name,
        cost=cost,
        fit=fit.split()[0],
        matrix=matrix,
        sizes=sizes,
        targets=targets,
        slack=slack,
        tube=float(rng.choice([0.0, 0.1, 0.5])) if fit.startswith("tube") else 0.0,
        intercept=float(10 ** rng.uniform(-1, 1)) if intercept == "penalised" else intercept,
        weights=10 ** rng.uniform(-1, 1, len(sizes)),
        width=np.full(p, 10 ** rng.uniform(-2, 1)),
        tilt=np.full(p, 0.0),
        rows=rows,
        layers=int(rng.integers(3, 5)),
        gates=gates,
        tuples=tuples,
    )
    if rng.random() < 0.5:
        case = replace(case, width=10 ** rng.uniform(-2, 1, p), tilt=rng.normal(size=p))
    return case


def with_matrix(case: Problem, matrix: np.ndarray) -> Problem:
    """Return the problem with other features; gated and conjunction designs keep their rows."""
    if case.gates is None and case.tuples is None:
        return replace(case, matrix=matrix)
    return case


def scaled(case: Problem, factor: float) -> Problem:
    """Return the problem with all features multiplied, where the design has a scale."""
    if case.gates is not None:
        inputs, contexts, count = case.gates
        return replace(case, gates=(factor * inputs, contexts, count), matrix=factor * case.matrix)
    return with_matrix(case, factor * case.matrix)


def taken(case: Problem, rows: np.ndarray) -> Problem:
    """Return the problem of some rows, each as often as it is named."""
    gates = case.gates
    return replace(
        case,
        matrix=case.matrix[rows],
        targets=case.targets[rows],
        slack=case.slack[rows],
        gates=None if gates is None else (gates[0][rows], gates[1][rows], gates[2]),
        tuples=None if case.tuples is None else case.tuples[rows],
    )


def _exponent(rng: np.random.Generator) -> float:
    return float(10.0 ** rng.choice([-12, -8, -6, -3, 3, 5, 6, 8, 12]))


def _feature_unit(rng: np.random.Generator, case: Problem) -> Problem:
    return scaled(case, _exponent(rng))


def _target_unit(rng: np.random.Generator, case: Problem) -> Problem:
    if case.fit == "margin":
        return scaled(case, _exponent(rng))
    factor = _exponent(rng)
    return replace(case, targets=case.targets * factor, tube=case.tube * factor)


def _row_unit(rng: np.random.Generator, case: Problem) -> Problem:
    factors = np.ones(len(case.targets))
    factors[rng.integers(len(factors))] = _exponent(rng)
    case = with_matrix(case, case.matrix * factors[:, None])
    scales = case.fit != "margin" and case.gates is None and case.tuples is None
    return replace(case, targets=case.targets * factors) if scales else case


def _column_unit(rng: np.random.Generator, case: Problem) -> Problem:
    factors = np.ones(case.matrix.shape[1])
    factors[rng.integers(len(factors))] = _exponent(rng)
    return with_matrix(case, case.matrix * factors)


def _block_unit(rng: np.random.Generator, case: Problem) -> Problem:
    factors = np.ones(len(case.sizes))
    factors[rng.integers(len(factors))] = _exponent(rng)
    return with_matrix(case, case.matrix * np.repeat(factors, case.sizes))


def _alike(apart: float, other: bool):
    def build(rng: np.random.Generator, case: Problem) -> Problem:
        n = len(case.targets)
        copied = int(rng.integers(n))
        case = taken(case, np.append(np.arange(n), copied))
        targets = case.targets.copy()
        if apart and case.tuples is None:
            moved = case.matrix.copy()
            step = apart * rng.normal(size=moved.shape[1])
            moved[-1] += step
            if case.gates is None:
                case = replace(case, matrix=moved)
            else:
                inputs = case.gates[0].copy()
                inputs[-1] += apart * rng.normal(size=inputs.shape[1])
                gates = (inputs, *case.gates[1:])
                case = replace(case, gates=gates, matrix=GatedDesign(*gates).dense().matrix)
        if other:
            targets[-1] = -targets[-1] if case.fit == "margin" else targets[-1] + 1.0
        return replace(case, targets=targets)

    return build


def _constant(rng: np.random.Generator, case: Problem) -> Problem:
    level = rng.choice([-1.0, 1.0]) if case.fit == "margin" else rng.choice([-2.0, 0.0, 3.0])
    return replace(case, targets=np.full(len(case.targets), level))


def _zero_row(rng: np.random.Generator, case: Problem) -> Problem:
    kept = np.ones(len(case.targets))
    kept[rng.integers(len(kept))] = 0.0
    return with_matrix(case, case.matrix * kept[:, None])


def _zero_column(rng: np.random.Generator, case: Problem) -> Problem:
    kept = np.ones(case.matrix.shape[1])
    kept[rng.integers(len(kept))] = 0.0
    return with_matrix(case, case.matrix * kept)


def _low_rank(rng: np.random.Generator, case: Problem) -> Problem:
    n, p = case.matrix.shape
    rank = int(rng.integers(1, max(2, min(n, p))))
    matrix = rng.integers(-2, 3, size=(n, rank)) @ rng.integers(-2, 3, size=(rank, p)) + 0.0
    case = with_matrix(case, matrix)
    if case.fit == "margin" or rng.random() < 0.5:
        return case
    return replace(case, targets=case.matrix @ rng.integers(-2, 3, size=p) + 0.0)


def _integers(rng: np.random.Generator, case: Problem) -> Problem:
    case = with_matrix(case, rng.integers(-1, 2, size=case.matrix.shape) + 0.0)
    return case if case.fit == "margin" else replace(case, targets=np.round(case.targets))


def _pixels(rng: np.random.Generator, case: Problem) -> Problem:
    bright = rng.random(case.matrix.shape) < 0.6
    case = with_matrix(case, np.where(bright, rng.integers(0, 256, case.matrix.shape), 0) + 0.0)
    if case.fit == "margin" or rng.random() < 0.5:
        return case
    return replace(case, targets=rng.integers(0, 10, len(case.targets)) + 0.0)


def _slack(low: float, high: float):
    def build(rng: np.random.Generator, case: Problem) -> Problem:
        return replace(case, slack=np.full(len(case.slack), 10.0 ** rng.uniform(low, high)))

    return build


def _mixed_slack(rng: np.random.Generator, case: Problem) -> Problem:
    slack = 10.0 ** rng.uniform(-4, 4, len(case.slack)) * (rng.random(len(case.slack)) < 0.6)
    return replace(case, slack=slack, one_slack=False)


def _left_out(rng: np.random.Generator, case: Problem) -> Problem:
    """Ask that a block be 0: sigma of 0, or an infinite w."""
    weights = case.weights.copy()
    weights[rng.integers(len(weights))] = 0.0 if case.cost == "quadratic" else np.inf
    return replace(case, weights=weights)


def _penalty(exponent: float):
    def build(rng: np.random.Generator, case: Problem) -> Problem:
        return replace(case, intercept=float(10.0 ** (exponent * rng.uniform(0.5, 1.0))))

    return build


def _width(exponent: float):
    def build(rng: np.random.Generator, case: Problem) -> Problem:
        return replace(case, width=case.width * 10.0 ** (exponent * rng.uniform(0.3, 1.0)))

    return build


def _several(rng: np.random.Generator, case: Problem) -> Problem:
    from several import several

    return several(rng, case)


def _several_awkward(rng: np.random.Generator, case: Problem) -> Problem:
    """Return a problem of several outputs from one that is awkward itself."""
    kinds = sorted(set(_ROADS) - {"block left out", "several outputs", "several outputs, awkward"})
    return _several(rng, _ROADS[kinds[rng.integers(len(kinds))]](rng, case))


_ROADS = {
    "feature unit": _feature_unit,
    "target unit": _target_unit,
    "row unit": _row_unit,
    "column unit": _column_unit,
    "block unit": _block_unit,
    "equal rows": _alike(0.0, False),
    "equal rows, other targets": _alike(0.0, True),
    "rows 1e-7 apart": _alike(1e-7, False),
    "rows 1e-7 apart, other targets": _alike(1e-7, True),
    "rows 1e-10 apart": _alike(1e-10, False),
    "rows 1e-10 apart, other targets": _alike(1e-10, True),
    "one row": lambda rng, case: taken(case, np.array([rng.integers(len(case.targets))])),
    "constant targets": _constant,
    "zero row": _zero_row,
    "zero column": _zero_column,
    "zero features": lambda rng, case: scaled(case, 0.0),
    "low rank": _low_rank,
    "integers": _integers,
    "pixels": _pixels,
    "large slack": _slack(3, 8),
    "small slack": _slack(-8, -3),
    "mixed slack": _mixed_slack,
    "large penalty": _penalty(8),
    "small penalty": _penalty(-8),
    "small width": _width(-9),
    "large width": _width(9),
    "block left out": _left_out,
    "several outputs": _several,
    "several outputs, awkward": _several_awkward,
}
