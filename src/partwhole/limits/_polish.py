r"""Exact rows met to rounding: the last steps from a solver's multipliers to coefficients.

Rows that are nearly alike and nearly met may else reach a value below the least. A norm of groups
has coefficients :math:`c_g = S_g A_g^T v` with prices S of the groups that are used. From an
interior point's v and S, Newton's method solves what holds at the solution, with the rows that
bear on it and the groups in use taken as known:

.. math:: \sum_g S_g A_g A_g^T v + s v + Z b = y \pm \epsilon, \qquad
          \tfrac12 (1 - \|A_g^T v\|^2) = 0, \qquad Z^T v = \lambda b .

Prices are unknowns of their own here, not quotients of what rounding left of a bound. Of other
costs v alone is moved. Derived here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import get_lapack_funcs

from partwhole.features.design import Design, weighted_gram
from partwhole.limits.costs import Cost
from partwhole.limits.costs._cost import Bounds
from partwhole.limits.costs._matrices import left_out
from partwhole.limits.fits import Margin, Tube
from partwhole.limits.solvers.dual_newton import Border

# Of the largest coefficient: the weight at which one of 0 is moved, where the cost is smooth.
EVEN = 1e-3
ROUNDS = 8
CARRIED = 1e-13  # of the largest singular value: directions that a system carries
WELL = 1e-8  # reciprocal condition above which a system is solved as it stands
ROUNDING = 16.0 * float(np.finfo(float).eps)  # of an output, which lacks nothing then
STALLED = 0.5  # of what the nearest point lacks: a round that leaves more gains nothing

# From outputs, slack's part included, what each row lacks; NaN where it may be as it is.
Missing = Callable[[np.ndarray], np.ndarray]


def met(
    design: Design,
    cost: Cost,
    v: np.ndarray,
    prices: np.ndarray | None,
    slack: np.ndarray,
    missing: Missing,
    border: Border,
    constant: float,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return coefficients, multipliers and intercept, moved so that exact rows are met."""
    start = cost.primal(design, v, prices), v, constant
    if prices is None or cost.dual(design, v).bounds is None:
        return _smooth(design, cost, *start, slack, missing, border)
    states = _norm(design, cost, v, prices, slack, missing, border, constant)
    most, nearest = min(states, key=lambda state: state[0])
    if most == 0.0:
        return nearest
    return _smooth(design, cost, *nearest, slack, missing, border)


def _norm(
    design: Design,
    cost: Cost,
    v: np.ndarray,
    prices: np.ndarray,
    slack: np.ndarray,
    missing: Missing,
    border: Border,
    constant: float,
) -> list[tuple[float, tuple[np.ndarray, np.ndarray, float]]]:
    """Return the points of Newton's method, each with the most that a row lacks there."""
    single, first = prices.shape[1] == 1, v
    states, lift = [], border.columns.sum(axis=1)
    for _ in range(ROUNDS):
        bounds = cost.dual(design, v).bounds
        assert bounds is not None
        coefficients = cost.primal(design, v, prices)
        lacks = _beyond_rounding(missing, design @ coefficients + slack * v + lift * constant)
        rows = np.flatnonzero(~np.isnan(lacks))
        most = float(np.abs(lacks[rows]).max(initial=0.0))
        stalled = len(states) > 1 and most > STALLED * min(state[0] for state in states)
        states.append((most, (coefficients, v if single else first, constant)))
        if most == 0.0 or stalled:
            break
        kernel = bounds.curvature(prices, np.zeros_like(prices))[np.ix_(rows, rows)]
        kernel = kernel + np.diag(slack[rows])
        used = np.zeros(0, dtype=int)
        if single:
            room, price = bounds.room[:, 0, 0], prices[:, 0, 0]
            used = np.flatnonzero(price / max(float(price.max()), 1e-300) > 2.0 * np.abs(room))
        q = border.columns.shape[1]
        beside = np.hstack([_seen(bounds, used, prices)[rows], border.columns[rows]])
        missed = border.missing(v[None], np.full((1, q), constant))[0]
        right = np.concatenate([bounds.room[used, 0, 0], -missed])
        corner = np.zeros((len(right), len(right)))
        if q:
            corner[-1, -1] = -border.penalty
        step = _solved(kernel, beside, corner, lacks[rows], right)
        v = np.array(v)
        v[rows] += step[: len(rows)]
        prices = np.array(prices)
        prices[used, 0, 0] += step[len(rows) : len(rows) + len(used)]
        constant += float(step[-1]) if q else 0.0
        if not np.isfinite(step).all() or (single and bool((prices < 0).any())):
            break
    return states


def _seen(bounds: Bounds, used: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Return the outputs of one group's pull each, shape (n, groups in use)."""
    columns = []
    for group in used:
        alone = np.zeros_like(prices)
        alone[group, 0, 0] = 1.0
        columns.append(bounds.outputs(alone))
    n = len(bounds.outputs(0.0 * prices))
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0))


def _solved(
    kernel: np.ndarray, beside: np.ndarray, corner: np.ndarray, lacks: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Solve the bordered system in units in which its columns are about 1.

    By least squares where it is nearly singular, which takes ten times as long.
    """
    sums = np.diagonal(kernel)
    size = 1.0 / np.sqrt(np.where(sums > 0, sums, 1.0))
    lengths = np.abs(beside * size[:, None]).max(axis=0, initial=0.0)
    units = np.concatenate([size, 1.0 / np.where(lengths > 0, lengths, 1.0)])
    system = np.block([[kernel, beside], [beside.T, corner]])
    scaled = units[:, None] * system * units
    wanted = units * np.concatenate([lacks, right])
    if len(scaled) and np.isfinite(scaled).all():
        if not len(right):
            factorise, condition, solve = get_lapack_funcs(("potrf", "pocon", "potrs"), (scaled,))
            factor, failed = factorise(scaled, lower=1)
            if not failed and condition(factor, np.linalg.norm(scaled, 1), uplo="L")[0] > WELL:
                return units * solve(factor, wanted, lower=1)[0]
        factorise, condition, solve = get_lapack_funcs(("getrf", "gecon", "getrs"), (scaled,))
        factor, pivots, _ = factorise(scaled)
        if condition(factor, np.linalg.norm(scaled, 1))[0] > WELL:
            return units * solve(factor, pivots, wanted)[0]
    return units * np.linalg.lstsq(scaled, wanted, rcond=CARRIED)[0]


def _smooth(
    design: Design,
    cost: Cost,
    coefficients: np.ndarray,
    v: np.ndarray,
    constant: float,
    slack: np.ndarray,
    missing: Missing,
    border: Border,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Move coefficients in proportion to their sizes, until rows without slack are met."""
    kernel = weights = None
    lift, least, nearest = border.columns.sum(axis=1), np.inf, (coefficients, constant)
    for _ in range(ROUNDS):
        lacks = _beyond_rounding(missing, design @ coefficients + lift * constant)
        lacks = np.where(slack > 0, np.nan, lacks)
        rows = np.flatnonzero(~np.isnan(lacks))
        most = float(np.abs(lacks[rows]).max(initial=0.0))
        stalled = most > STALLED * least
        if most < least:
            least, nearest = most, (coefficients, constant)
        if most == 0.0 or stalled:
            break
        if kernel is None or weights is None:
            size = np.abs(coefficients)
            weights = np.where(left_out(design, cost), 0.0, size + EVEN * size.max(initial=0.0))
            kernel = weighted_gram(design, weights)
        share = float(np.diagonal(kernel).mean()) * bool(border.columns.shape[1])
        square = kernel[np.ix_(rows, rows)] + share
        nothing = np.zeros((len(rows), 0))
        moved = np.zeros_like(v)
        moved[rows] = _solved(square, nothing, np.zeros((0, 0)), lacks[rows], np.zeros(0))
        constant += share * float(moved.sum())
        coefficients = coefficients + weights * design.adjoint(moved)
    return nearest[0], v, nearest[1]


def _beyond_rounding(missing: Missing, outputs: np.ndarray) -> np.ndarray:
    """Return what rows lack; nothing where that is rounding of their outputs."""
    lacks = missing(outputs)
    return np.where(np.abs(lacks) <= ROUNDING * np.abs(outputs), 0.0, lacks)


def sided(
    targets: np.ndarray, fit: Margin | Tube, v: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return what rows lack: those that bear on the solution, and those that fall short.

    Of a multiplier and of what its row has to spare one is 0, and the larger of the two, each
    relative to the largest, tells which.
    """
    width = float(fit.width) if isinstance(fit, Tube) else 0.0
    shares = np.abs(v) / max(float(np.abs(v).max(initial=0.0)), 1e-300)
    unit = float(np.abs(targets).max())

    def missing(outputs: np.ndarray) -> np.ndarray:
        misfit = fit.misfit(targets, outputs)
        side = np.where(misfit != 0, np.sign(misfit), np.sign(v))
        lacks = targets - side * width - outputs
        bearing = shares * unit > np.abs(lacks)
        return np.where(bearing | (misfit != 0), lacks, np.nan)

    return missing
