r"""The least cost by Clarabel, in units in which the numbers are of size 1.

Columns, rows and the objective are rescaled first: with :math:`\tilde A = E A D` (largest entries
of 1) and M the largest of the scaled bounds, :math:`c = M D \tilde c`, so that a quadratic cost
becomes :math:`M^2 D^2 / (2 \sigma)`, a norm :math:`M \|D_g \tilde c_g\|`, a slack
:math:`E^2 s / M^2`. A solution is believed as far as its bounds say: the objective at its
coefficients from above, `formulas.lower_bound` at its multipliers from below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import clarabel
import numpy as np
from exact import orthonormal, repaired
from feasibility import equilibrated
from formulas import LONG, joint_weights, lower_bound, row_sizes, total
from problems import Problem
from scipy import sparse

GOOD = 1e-8  # relative distance of the bounds at which no other attempt is made


@dataclass(frozen=True, eq=False)
class Optimum:
    """The least cost, between two bounds, and where it is reached."""

    below: float
    above: float
    coefficients: np.ndarray
    intercept: float
    multipliers: np.ndarray

    @property
    def width(self) -> float:
        """Return the relative distance of the bounds."""
        if not np.isfinite(self.above):
            return np.inf
        return abs(self.above - self.below) / max(abs(self.above), abs(self.below), 1e-300)

    def tightened(self, second: Optimum) -> Optimum:
        """Return the tighter of both bounds, each with its point."""
        upper = min((self, second), key=lambda optimum: optimum.above)
        lower = max((self, second), key=lambda optimum: optimum.below)
        return Optimum(
            lower.below, upper.above, upper.coefficients, upper.intercept, lower.multipliers
        )


class Program:
    """A conic program in the making: variables by name, rows by cone."""

    def __init__(self) -> None:
        self.size = 0
        self.linear: list[tuple[int, float]] = []
        self.square: list[tuple[np.ndarray, np.ndarray]] = []
        self.cones: list[tuple[Any, list[tuple[list[int], list[float]]], np.ndarray]] = []

    def variables(self, count: int) -> np.ndarray:
        """Add variables and return their numbers."""
        self.size += count
        return np.arange(self.size - count, self.size)

    def cone(self, kind: Any, rows: list[tuple[list[int], list[float]]], right: np.ndarray) -> int:
        """Ask that right - rows x lie in a cone; return the number of this condition."""
        self.cones.append((kind, rows, np.asarray(right, dtype=float)))
        return len(self.cones) - 1

    def solve(self, **options: float) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the variables and the multipliers of each condition."""
        hessian = sparse.csc_matrix((self.size, self.size))
        for where, block in self.square:
            entries = sparse.coo_matrix(block)
            hessian = hessian + sparse.csc_matrix(
                (entries.data, (where[entries.row], where[entries.col])), (self.size, self.size)
            )
        linear = np.zeros(self.size)
        for where, number in self.linear:
            linear[where] += number
        right = np.concatenate([side for _, _, side in self.cones])
        count, index, column, data = 0, [], [], []
        for _, rows, _side in self.cones:
            for columns, entries in rows:
                index += [count] * len(columns)
                column += [int(j) for j in columns]
                data += [float(entry) for entry in entries]
                count += 1
        matrix = sparse.csc_matrix((data, (index, column)), (count, self.size))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = 400
        for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
            setattr(settings, name, 1e-11)
        for name, number in options.items():
            setattr(settings, name, number)
        kinds = [kind for kind, _, _ in self.cones]
        solver = clarabel.DefaultSolver(
            sparse.triu(hessian, format="csc"), linear, matrix, right, kinds, settings
        )
        solved = solver.solve()
        stops = np.cumsum([len(side) for _, _, side in self.cones])
        return np.array(solved.x), np.split(np.array(solved.z), stops[:-1])


def least(problem: Problem, floor: float = 0.0) -> Optimum:
    """Return the least cost of a feasible problem, by the tightest of several attempts."""
    best = constant(problem)
    if best is not None:
        return best
    for road in (_scalings, _newton, _on_bounds):
        for optimum in road(problem, best):
            best = optimum if best is None else best.tightened(optimum)
            if best.width < GOOD or best.above - best.below < 0.1 * floor:
                return best
    assert best is not None
    return best


def _scalings(problem: Problem, _: Optimum | None) -> Iterator[Optimum]:
    """Attempt it with rows, columns and the objective in several units."""
    objective = 1.0
    for attempt in range(8):
        optimum = _attempt(problem, objective, columns_by_cost=attempt % 2 == 1, reach=attempt // 4)
        yield optimum
        size = optimum.above if np.isfinite(optimum.above) and optimum.above > 0 else optimum.below
        objective = size if size > 0 else objective


def _newton(problem: Problem, best: Optimum | None) -> Iterator[Optimum]:
    r"""Minimise a hyperbolic entropy by the quadratic costs that agree with it at a point.

    With :math:`\sinh a = 2 c / k`, :math:`R' = \tfrac12 (a - \delta)` and
    :math:`R'' = 1 / (k \cosh a)`.
    """
    if problem.cost != "entropy" or best is None:
        return
    k, tilt = problem.width, problem.tilt
    quadratic = replace(problem, cost="quadratic", sizes=(1,) * len(k))
    for c, b in ((0.5 * k * np.sinh(tilt), None), (best.coefficients, best.intercept)):
        current, constant, objective = c.astype(LONG), b, 1.0
        for _step in range(40):
            a = np.arcsinh(2 * current / k)
            curve = (k * np.cosh(a)).astype(float)
            # (c - m)^2 / (2 k cosh a), with its middle m where the slope is that of R.
            middle = current - curve * (a - tilt) / 2
            shift = problem.matrix.astype(LONG) @ middle
            model = replace(quadratic, weights=curve)
            step = _attempt(model, objective, columns_by_cost=False, reach=0, shift=shift)
            if not np.isfinite(step.above):
                break
            objective = step.above if step.above > 0 else objective
            candidate, level = step.coefficients + middle, step.intercept
            optimum = Optimum(
                float(max(LONG(0), lower_bound(problem, step.multipliers))),
                float(total(problem, candidate, level)),
                candidate,
                level,
                step.multipliers,
            )
            yield optimum
            if constant is None:
                current, constant = candidate, level
                continue
            value = total(problem, current, float(constant))
            share = 1.0
            while share > 1e-6:
                mixed = (1 - share) * current + share * candidate
                mixed_level = (1 - share) * constant + share * level
                if total(problem, mixed, float(mixed_level)) < value:
                    break
                share /= 2
            if share <= 1e-6:
                break
            current, constant = mixed, mixed_level


def _on_bounds(problem: Problem, best: Optimum | None) -> Iterator[Optimum]:
    """Take rows without slack that seem to be on their bounds as equalities, and drop the others.

    Where multipliers and rows agree with the guess, bounds from both sides meet.
    """
    if best is None:
        return
    hard = problem.slack == 0
    strength = np.abs(best.multipliers) * row_sizes(problem, best.coefficients, best.intercept)
    for share in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9):
        on = hard & (strength > share * strength.max(initial=0.0))
        tied = np.where(on, np.sign(best.multipliers), 0.0)
        for by_cost in (False, True):
            objective = best.below if best.below > 0 else 1.0
            yield _attempt(problem, objective, columns_by_cost=by_cost, reach=0, tied=tied)


def constant(problem: Problem) -> Optimum | None:
    """Return the optimum of cost 0, if a free constant beside the features of cost 0 is one."""
    if problem.intercept != "free":
        return None
    c = np.zeros(problem.matrix.shape[1])
    if problem.cost == "entropy":
        c = 0.5 * problem.width * np.sinh(problem.tilt)
    low, high = (side - problem.matrix @ c for side in problem.bounds())
    if low.max() > high.min():
        return None
    ends = [end for end in (low.max(), high.min()) if np.isfinite(end)]
    b = float(np.mean(ends))
    return Optimum(0.0, 0.0, c, b, np.zeros(len(low)))


def _attempt(
    problem: Problem,
    objective: float,
    *,
    columns_by_cost: bool,
    reach: int,
    tied: np.ndarray | None = None,
    shift: np.ndarray | None = None,
) -> Optimum:
    """Solve a problem once; rows may be tied to a bound, and bounds be moved by a shift."""
    n, p = problem.matrix.shape
    whole = problem.matrix
    if problem.intercept != "none":
        whole = np.hstack([whole, np.ones((n, 1))])
    rounds = 20 if reach == 0 else 1
    columns = equilibrated(whole, rounds)[2]
    if columns_by_cost:
        columns = np.ones(whole.shape[1])
        if problem.cost in ("quadratic", "entropy"):
            by_block = problem.weights[problem.labels] if problem.cost == "quadratic" else None
            columns[:p] = np.sqrt(problem.width if by_block is None else by_block)
    conic_rows = _rows(problem, whole, columns, tied, shift)
    scaled, low, high = conic_rows.matrix, conic_rows.low, conic_rows.high
    finite = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
    size = float(np.abs(finite).max(initial=0.0)) or 1.0
    program = Program()
    c = program.variables(p)
    lists: list[tuple[list[int], list[float]]] = []
    for row in scaled:
        columns_in_use = np.flatnonzero(row[:p])
        lists.append((columns_in_use.tolist(), row[columns_in_use].tolist()))
    if problem.intercept != "none":
        b = int(program.variables(1)[0])
        for i, row in enumerate(scaled):
            lists[i][0].append(b)
            lists[i][1].append(row[p])
        if problem.intercept != "free":
            curve = float(problem.intercept) * (size * columns[p]) ** 2 / objective
            program.square.append((np.array([b]), np.array([[curve]])))
    for i in np.flatnonzero(conic_rows.slack):
        curve = size**2 / (conic_rows.slack[i] * objective)
        xi = int(program.variables(1)[0])
        lists[i][0].append(xi)
        lists[i][1].append(1 / np.sqrt(curve) if curve > 1 else 1.0)
        program.square.append((np.array([xi]), np.array([[min(curve, 1.0)]])))
    _add_cost(program, problem, c, columns[:p], size, objective)
    sides: list[tuple[int, np.ndarray, float]] = []
    equal = low == high
    if equal.any():
        rows = [lists[i] for i in np.flatnonzero(equal)]
        where = program.cone(clarabel.ZeroConeT(len(rows)), rows, low[equal] / size)
        sides.append((where, np.flatnonzero(equal), -1.0))
    for side, sign in ((low, 1.0), (high, -1.0)):
        places = np.flatnonzero(np.isfinite(side) & ~equal)
        if len(places):
            rows = [(lists[i][0], [-sign * entry for entry in lists[i][1]]) for i in places]
            right = -sign * side[places] / size
            where = program.cone(clarabel.NonnegativeConeT(len(places)), rows, right)
            sides.append((where, places, sign))
    x, duals = program.solve()
    intercept = float(size * columns[p] * x[p]) if problem.intercept != "none" else 0.0
    v = np.zeros(len(scaled))
    for where, places, sign in sides:
        v[places] += sign * duals[where]
    v = conic_rows.turn.T @ (v * (objective / size))
    return bounded(problem, size * columns[:p] * x[c], intercept, v.astype(float), columns, shift)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of size 1 that say what those given say: they are `turn` times these."""

    matrix: np.ndarray
    low: np.ndarray
    high: np.ndarray
    slack: np.ndarray
    turn: np.ndarray


def _rows(
    problem: Problem,
    whole: np.ndarray,
    columns: np.ndarray,
    sides: np.ndarray | None,
    shift: np.ndarray | None,
) -> Rows:
    """Return equalities without slack as orthonormal rows, all others divided by their size."""
    matrix = whole.astype(LONG) * columns
    low, high = (side.astype(LONG) for side in problem.bounds())
    if shift is not None:
        low, high = low - shift, high - shift
    if sides is not None:
        low, high = np.where(sides < 0, high, low), np.where(sides > 0, low, high)
    tied = (low == high) & (problem.slack == 0)
    largest = np.abs(matrix).max(axis=1, initial=0)
    unit = 1 / np.where(largest > 0, largest, 1)
    turn = np.diag(unit)[~tied]
    rows, lows, highs = turn @ matrix, (low * unit)[~tied], (high * unit)[~tied]
    slack = (problem.slack * unit**2)[~tied]
    if tied.any():
        basis, mixed = orthonormal(matrix[tied])
        spread = np.zeros((len(basis), len(low)), dtype=LONG)
        spread[:, tied] = mixed
        right = mixed @ low[tied]
        rows, turn = np.vstack([rows, basis]), np.vstack([turn, spread])
        lows, highs = np.append(lows, right), np.append(highs, right)
        slack = np.append(slack, np.zeros(len(basis)))
    return Rows(*(array.astype(float) for array in (rows, lows, highs, slack)), turn)


def bounded(
    problem: Problem,
    coefficients: np.ndarray,
    intercept: float,
    v: np.ndarray,
    columns: np.ndarray,
    shift: np.ndarray | None,
) -> Optimum:
    """Return what a primal and a dual point say about the least cost.

    The primal point is first moved, in the units of the columns, until it meets all rows.
    """
    if not (np.all(np.isfinite(coefficients)) and np.isfinite(intercept)):
        coefficients, intercept = np.zeros(len(coefficients)), 0.0
    if not np.all(np.isfinite(v)):
        v = np.zeros(len(v))
    c, b, meets = repaired(problem, coefficients, intercept, columns, shift)
    above = total(problem, c, float(b), shift) if meets else LONG(np.inf)
    below = max(LONG(0), lower_bound(problem, v))
    return Optimum(float(below), float(above), c, float(b), v)


@cache
def _triangle(size: int) -> dict[tuple[int, int], tuple[int, float]]:
    """Return place and factor of each entry in Clarabel's triangle, by columns."""
    places = {}
    for j in range(size):
        for i in range(j + 1):
            places[i, j] = (len(places), 1.0 if i == j else float(np.sqrt(2.0)))
    return places


def _add_cost(
    program: Program,
    problem: Problem,
    c: np.ndarray,
    columns: np.ndarray,
    size: float,
    objective: float,
) -> None:
    """Add R(M D c) / objective."""
    factor = size / objective
    match problem.cost:
        case "quadratic":
            curve = size * factor * columns**2 / problem.weights[problem.labels]
            program.square.append((c, np.diag(curve)))
        case "function":
            joint = joint_weights(problem) * columns
            program.square.append((c, size * factor * joint.T @ joint))
        case "l1":
            _add_norms(program, [c[j : j + 1] for j in range(len(c))], columns, columns * factor)
        case "group":
            _add_blocks(program, problem, c, columns, np.full(len(problem.sizes), factor))
        case "weighted group":
            _add_blocks(program, problem, c, columns, problem.weights * factor)
        case "nuclear":
            for start, width in zip(problem.starts, problem.sizes, strict=True):
                part = slice(start, start + width)
                _add_nuclear(program, problem.rows, c[part], columns[part], factor)
        case "entropy":
            _add_entropy(program, problem, c, columns * size, objective)
        case other:
            raise ValueError(f"{other} is not convex")


def _add_blocks(
    program: Program, problem: Problem, c: np.ndarray, columns: np.ndarray, prices: np.ndarray
) -> None:
    parts = [slice(s, s + k) for s, k in zip(problem.starts, problem.sizes, strict=True)]
    largest = np.array([columns[part].max() for part in parts])
    ratios = np.concatenate([columns[part] / top for part, top in zip(parts, largest, strict=True)])
    _add_norms(program, [c[part] for part in parts], ratios, prices * largest)


def _add_norms(
    program: Program, groups: list[np.ndarray], ratios: np.ndarray, prices: np.ndarray
) -> None:
    """Add the sum of prices times norms, entries of a group in given ratios."""
    for group, cost in zip(groups, prices, strict=True):
        top = int(program.variables(1)[0])
        program.linear.append((top, float(cost)))
        if len(group) == 1:
            j = int(group[0])
            rows = [([j, top], [1.0, -1.0]), ([j, top], [-1.0, -1.0])]
            program.cone(clarabel.NonnegativeConeT(2), rows, np.zeros(2))
            continue
        rows = [([top], [-1.0]), *(([int(j)], [-float(ratios[j])]) for j in group)]
        program.cone(clarabel.SecondOrderConeT(len(rows)), rows, np.zeros(len(rows)))


def _add_nuclear(
    program: Program, r: int, c: np.ndarray, columns: np.ndarray, factor: float
) -> None:
    """Add half the trace of a positive semidefinite matrix with the block beside its diagonal."""
    width = len(c) // r
    places = _triangle(r + width)
    whole = program.variables(len(places))
    top = float(columns.max())
    for i in range(r + width):
        program.linear.append((int(whole[places[i, i][0]]), 0.5 * top * factor))
    rows = [([int(j)], [-1.0]) for j in whole]
    program.cone(clarabel.PSDTriangleConeT(r + width), rows, np.zeros(len(rows)))
    ties = []
    for i in range(r):
        for j in range(width):
            place, root = places[i, r + j]
            column = i * width + j
            ties.append(([int(whole[place]), int(c[column])], [1 / root, -columns[column] / top]))
    program.cone(clarabel.ZeroConeT(len(ties)), ties, np.zeros(len(ties)))


def _add_entropy(
    program: Program, problem: Problem, c: np.ndarray, units: np.ndarray, objective: float
) -> None:
    r"""Add the hyperbolic entropy, as two relative entropies.

    Its conjugate is a sum of two exponentials, so that it is the least of
    :math:`\tfrac12 p (\ln(4 p / k) - \delta - 1) + \tfrac12 q (\ln(4 q / k) + \delta - 1)` over
    p - q = c. In units of r, :math:`p = r P`, :math:`P \ln P \le t`.
    """
    for j, k, tilt, unit in zip(c, problem.width, problem.tilt, units, strict=True):
        r = max(unit, k / 4 * np.exp(abs(tilt)))
        pair = program.variables(2)
        rows = [([int(j), int(pair[0]), int(pair[1])], [-unit / r, 1.0, -1.0])]
        program.cone(clarabel.ZeroConeT(1), rows, np.zeros(1))
        for part, lean in zip(pair, (tilt, -tilt), strict=True):
            top = int(program.variables(1)[0])
            price = r / (2 * objective)
            program.linear.append((top, price))
            program.linear.append((int(part), price * (np.log(4 * r / k) - lean - 1)))
            # P exp(-t / P) <= 1: (-t, P, 1) in the exponential cone.
            rows = [([top], [1.0]), ([int(part)], [-1.0]), ([], [])]
            program.cone(clarabel.ExponentialConeT(), rows, np.array([0.0, 0.0, 1.0]))
