r"""Linear probing with equalities, accurate for first-layer weights of any size."""

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

# Entries below this share of a feature's largest are rounding, for a few hundred rows.
ROUNDING = 1e-13
# Pivots below this share of a feature's size show nearly dependent samples. Rounding of a large
# feature would then be as large as features that are many decades smaller.
NEARLY_DEPENDENT = 1e-3
LARGEST_MISFIT = 1e-8  # largest misfit that counts as rounding, relative to a row's terms
FIXED = "the first layer stays as it is"


def through_scaled_inputs(problem: Problem) -> Limit:
    """Return the limit of linear probing, in units in which its cost is half a squared length."""
    design, targets, cost = problem.design, problem.targets, problem.cost
    assert isinstance(design, DenseDesign)
    assert isinstance(cost, LinearProbing)
    cost.require_features(design)
    inputs, start, scales = design.matrix, cost.start, cost.scales
    scaled = inputs * scales
    missing = targets - inputs @ start
    change, dual = _shortest(inputs, scales, missing)
    coefficients = start + scales * change
    residual = missing - scaled @ change
    size = np.abs(targets) + np.abs(inputs) @ np.maximum(np.abs(start), np.abs(coefficients))
    if (np.abs(residual) > LARGEST_MISFIT * size).any():
        # With rows scaled to one size the residual does not depend on their units.
        no_coefficients, unit = np.full(len(start), np.nan), _units(inputs)
        unit_rows, unit_targets = inputs[:, scales > 0] / unit[:, None], missing / unit
        remainder = unit_targets - unit_rows @ np.linalg.lstsq(unit_rows, unit_targets)[0]
        violation = float(np.abs(remainder * unit).max())
        proof = remainder / unit * unit.max() ** 2  # the plain residual, if all units are equal
        return Limit(
            problem, no_coefficients, proof, 0.0, np.inf, np.inf, violation, 1, Outcome.INFEASIBLE,
            (FIXED,),
        )  # fmt: skip
    value = 0.5 * float(change @ change)
    pulled = scaled.T @ dual
    gap = value - float(missing @ dual) + 0.5 * float(pulled @ pulled)
    at_start = bool((np.abs(missing) <= ROUNDING * size).all())
    proved = at_start or abs(gap) <= ACCURACY * value
    outcome = Outcome.SOLVED if proved else Outcome.INACCURATE
    violation = float(np.abs(residual).max())
    return Limit(problem, coefficients, dual, 0.0, value, gap, violation, 1, outcome, (FIXED,))


def _shortest(
    inputs: Float[np.ndarray, "n d"],
    sizes: Float[np.ndarray, " d"],
    targets: Float[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " n"]]:
    """Return the shortest x with ``(inputs * sizes) x = targets``, and its multipliers.

    Sizes may differ by many decades, as those of learned and unlearned features do. Each feature
    keeps its digits if no inner products of rows are formed and large features come first.
    """
    unit = _units(inputs)
    rows, unit_targets = inputs / unit[:, None], targets / unit
    if len(rows) > len(sizes):
        spanned, rows = np.linalg.qr(rows)
        shortest, dual = _in_few_rows(rows, sizes, unit_targets @ spanned)
        return shortest, spanned @ dual / unit
    shortest, dual = _in_few_rows(rows, sizes, unit_targets)
    return shortest, dual / unit


def _units(inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """Return the rows' sizes as powers of two, which cause no rounding; 1 for a row of zeros."""
    largest = np.abs(inputs).max(axis=1)
    return np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, 1.0))))


def _in_few_rows(
    rows: Float[np.ndarray, "n d"], sizes: Float[np.ndarray, " d"], targets: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " n"]]:
    n, d = rows.shape
    order = np.argsort(-sizes, kind="stable")
    columns = (rows * sizes)[:, order].T
    factors: Any = qr(columns, mode="economic", pivoting=True)
    basis, triangle, sample = factors
    if bool((np.abs(np.diag(triangle)) <= NEARLY_DEPENDENT * sizes[order[:n]]).any()):
        return _eliminated(rows, sizes, targets)
    inner = solve_triangular(triangle, targets[sample], trans=1)
    shortest, dual = np.empty(d), np.empty(n)
    shortest[order], dual[sample] = basis @ inner, solve_triangular(triangle, inner)
    return shortest, dual


def _eliminated(
    rows: Float[np.ndarray, "n d"], sizes: Float[np.ndarray, " d"], targets: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " n"]]:
    """Return the same for nearly dependent samples, by elimination with complete pivoting.

    The rows are factored into a triangle, pivots (which may differ by many decades) and rows with
    entries of at most 1.
    """
    n, d = rows.shape
    floor = ROUNDING * np.abs(rows).max(axis=0, initial=0.0)
    remaining, lower = rows.copy(), np.zeros((n, min(n, d)))
    upper, pivots, chosen = [], [], []
    while len(pivots) < min(n, d):
        remaining[np.abs(remaining) <= floor] = 0.0
        at, feature = np.unravel_index(np.argmax(np.abs(remaining) * sizes), remaining.shape)
        pivot = remaining[at, feature] * sizes[feature]
        if pivot == 0.0:
            break
        row, part = remaining[at].copy(), remaining[:, feature] / remaining[at, feature]
        upper.append(row * sizes / pivot)
        lower[:, len(pivots)] = part
        pivots.append(pivot)
        chosen.append(at)
        remaining -= np.outer(part, row)
        remaining[at] = remaining[:, feature] = 0.0
    dual = np.zeros(n)
    if not pivots:
        return np.zeros(d), dual
    size, triangle = np.array(pivots), lower[chosen, : len(pivots)]
    inner = solve_triangular(triangle, targets[chosen], lower=True, unit_diagonal=True) / size
    # Small features come first: where their rows have zeros for large features, the basis has too.
    order = np.argsort(sizes, kind="stable")
    basis, small_triangle = np.linalg.qr(np.array(upper[::-1])[:, order].T)
    inner = solve_triangular(small_triangle, inner[::-1], trans=1)
    shortest = np.empty(d)
    shortest[order] = basis @ inner
    inner = solve_triangular(small_triangle, inner)[::-1] / size
    dual[chosen] = solve_triangular(triangle, inner, trans=1, lower=True, unit_diagonal=True)
    return shortest, dual
