r"""Linear probing with equalities, in units of the first layer: digits kept at any scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import qr, solve_triangular

from partwhole.features.design import DenseDesign
from partwhole.limits._certificate import ACCURACY
from partwhole.limits.costs import LinearProbing
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.problem import Problem

# Of a feature's largest entry: what arithmetic of a few hundred rows leaves of nothing.
ROUNDING = 1e-13
# Of a feature's size: below it, samples leave next to nothing of a feature to each other, and
# rounding of that counts beside features many decades smaller.
APART = 1e-3
MISFIT = 1e-8  # of a row's terms: more is no rounding
FIXED = "the first layer stays as it is"


def through_scaled_inputs(problem: Problem) -> Limit:
    """Solve for the readout, in units in which the cost is half the squared length."""
    design, targets, cost = problem.design, problem.targets, problem.cost
    assert isinstance(design, DenseDesign)
    assert isinstance(cost, LinearProbing)
    cost.require_features(design)
    inputs, start, scales = design.matrix, cost.start, cost.scales
    scaled = inputs * scales
    missing = targets - inputs @ start
    moved, dual = _shortest(inputs, scales, missing)
    coefficients = start + scales * moved
    rest = missing - scaled @ moved
    size = np.abs(targets) + np.abs(inputs) @ np.maximum(np.abs(start), np.abs(coefficients))
    if (np.abs(rest) > MISFIT * size).any():
        # Rows of one length, so that what is left does not depend on their units.
        nothing, unit = np.full(len(start), np.nan), _units(inputs)
        used, wanted = inputs[:, scales > 0] / unit[:, None], missing / unit
        left = wanted - used @ np.linalg.lstsq(used, wanted)[0]
        violation = float(np.abs(left * unit).max())
        proof = left / unit * unit.max() ** 2  # least squares' own, where units are alike
        return Limit(
            problem, nothing, proof, 0.0, np.inf, np.inf, violation, 1, Outcome.INFEASIBLE,
            (FIXED,),
        )  # fmt: skip
    value = 0.5 * float(moved @ moved)
    pulled = scaled.T @ dual
    gap = value - float(missing @ dual) + 0.5 * float(pulled @ pulled)
    at_start = bool((np.abs(missing) <= ROUNDING * size).all())
    proved = at_start or abs(gap) <= ACCURACY * value
    outcome = Outcome.SOLVED if proved else Outcome.INACCURATE
    violation = float(np.abs(rest).max())
    return Limit(problem, coefficients, dual, 0.0, value, gap, violation, 1, outcome, (FIXED,))


def _shortest(
    inputs: Float[np.ndarray, "n d"],
    sizes: Float[np.ndarray, " d"],
    targets: Float[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " n"]]:
    """Return the shortest solution for inputs times sizes, and its multipliers.

    Sizes may lie many decades apart, as those of learned and unlearned features do. Each feature
    keeps its own digits where the rows are never squared and the largest come first.
    """
    unit = _units(inputs)
    rows, wanted = inputs / unit[:, None], targets / unit
    if len(rows) > len(sizes):
        spanned, rows = np.linalg.qr(rows)
        moved, dual = _in_few_rows(rows, sizes, wanted @ spanned)
        return moved, spanned @ dual / unit
    moved, dual = _in_few_rows(rows, sizes, wanted)
    return moved, dual / unit


def _units(inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """Return the rows' sizes as powers of two, which round nothing, and 1 for a row of zeros."""
    largest = np.abs(inputs).max(axis=1)
    return np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, 1.0))))


def _in_few_rows(
    rows: Float[np.ndarray, "n d"], sizes: Float[np.ndarray, " d"], targets: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " n"]]:
    n, d = rows.shape
    order = np.argsort(-sizes, kind="stable")
    columns = (rows * sizes)[:, order].T
    found: Any = qr(columns, mode="economic", pivoting=True)
    basis, triangle, sample = found
    if bool((np.abs(np.diag(triangle)) <= APART * sizes[order[:n]]).any()):
        return _eliminated(rows, sizes, targets)
    inner = solve_triangular(triangle, targets[sample], trans=1)
    moved, dual = np.empty(d), np.empty(n)
    moved[order], dual[sample] = basis @ inner, solve_triangular(triangle, inner)
    return moved, dual


def _eliminated(
    rows: Float[np.ndarray, "n d"], sizes: Float[np.ndarray, " d"], targets: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " n"]]:
    """Return the same where samples depend on each other, by elimination with complete pivoting.

    The rows are then a triangle times pivots, however far apart, times rows of entries up to 1.
    """
    n, d = rows.shape
    floor = ROUNDING * np.abs(rows).max(axis=0, initial=0.0)
    left, lower = rows.copy(), np.zeros((n, min(n, d)))
    upper, pivots, chosen = [], [], []
    while len(pivots) < min(n, d):
        left[np.abs(left) <= floor] = 0.0
        at, feature = np.unravel_index(np.argmax(np.abs(left) * sizes), left.shape)
        pivot = left[at, feature] * sizes[feature]
        if pivot == 0.0:
            break
        row, part = left[at].copy(), left[:, feature] / left[at, feature]
        upper.append(row * sizes / pivot)
        lower[:, len(pivots)] = part
        pivots.append(pivot)
        chosen.append(at)
        left -= np.outer(part, row)
        left[at] = left[:, feature] = 0.0
    dual = np.zeros(n)
    if not pivots:
        return np.zeros(d), dual
    size, triangle = np.array(pivots), lower[chosen, : len(pivots)]
    inner = solve_triangular(triangle, targets[chosen], lower=True, unit_diagonal=True) / size
    # The smallest first: where their rows hold nothing of large features, the basis doesn't either.
    order = np.argsort(sizes, kind="stable")
    basis, short = np.linalg.qr(np.array(upper[::-1])[:, order].T)
    inner = solve_triangular(short, inner[::-1], trans=1)
    moved = np.empty(d)
    moved[order] = basis @ inner
    inner = solve_triangular(short, inner)[::-1] / size
    dual[chosen] = solve_triangular(triangle, inner, trans=1, lower=True, unit_diagonal=True)
    return moved, dual
