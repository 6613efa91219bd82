r"""Polishing: from a solver's multipliers to coefficients that meet exact rows up to rounding.

Nearly dependent rows need it: if such rows are missed by a little, coefficients may be much smaller
and their value may lie below the least cost. A group norm has coefficients
:math:`c_g = S_g A_g^T v` with prices S, which are positive for the groups in use. An interior
point gives v and S approximately. Newton's method then solves the conditions of the solution, for
the rows that bind and the groups in use as the interior point shows them:

.. math:: \sum_g S_g A_g A_g^T v + s v + Z b = y \pm \epsilon, \qquad
          \tfrac12 (1 - \|A_g^T v\|^2) = 0, \qquad Z^T v = \lambda b .

Prices are unknowns here. An interior point computes them as a quotient by the remaining room
:math:`1 - \|A_g^T v\|^2`, of which rounding leaves few digits at the solution. For other costs
only the coefficients are corrected. Derived here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import get_lapack_funcs

from partwhole.features.design import DenseDesign, Design, weighted_gram
from partwhole.limits.costs import Cost
from partwhole.limits.costs._matrices import excluded_columns
from partwhole.limits.fits import Margin, Tube
from partwhole.limits.solvers.dual_newton import Border

# Coefficients are corrected in proportion to their size, plus this share of the largest.
SMALLEST_WEIGHT = 1e-3
ROUNDS = 8
SMALLEST_SINGULAR = 1e-13  # of the largest singular value: directions below it are left out
WELL_CONDITIONED = 1e-8  # reciprocal condition above which a system is solved by a factorisation
# A misfit is rounding below this share of the output, or of the sum of the output's terms.
ROUNDING = 16.0 * float(np.finfo(float).eps)
STALLING_SHARE = 0.5  # rounds end when one leaves more than this share of the smallest misfit

# From outputs (with slack's part) to what each row lacks; NaN for rows that need not be met.
Missing = Callable[[np.ndarray], np.ndarray]


def polish(
    design: Design,
    cost: Cost,
    v: np.ndarray,
    prices: np.ndarray | None,
    slack: np.ndarray,
    missing: Missing,
    border: Border,
    constants: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coefficients, multipliers and constants, corrected so that exact rows are met."""
    start = cost.primal(design, v, prices), v, constants
    if prices is None or cost.dual(design, v).bounds is None:
        return _meet_by_size(design, cost, *start, slack, missing, border)
    states = _newton_states(design, cost, v, prices, slack, missing, border, constants)
    largest_lack, nearest = min(states, key=lambda state: state[0])
    if largest_lack == 0.0:
        return nearest
    return _meet_by_size(design, cost, *nearest, slack, missing, border)


def _newton_states(
    design: Design,
    cost: Cost,
    v: np.ndarray,
    prices: np.ndarray,
    slack: np.ndarray,
    missing: Missing,
    border: Border,
    constants: np.ndarray,
) -> list[tuple[float, tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    """Return the points of Newton's method for a norm, each with its largest misfit.

    Blocks that are matrices of several rows (`single` is False) have no simple condition for the
    groups in use; their prices stay as they are, and the solver's multipliers are kept.
    """
    single, first = prices.shape[1] == 1, v
    states, q = [], border.columns.shape[1]
    for _ in range(ROUNDS):
        bounds = cost.dual(design, v).bounds
        assert bounds is not None
        coefficients = cost.primal(design, v, prices)
        outputs = design @ coefficients + slack * v + border.columns @ constants
        lacks = _beyond_rounding(missing, outputs)
        rows = np.flatnonzero(~np.isnan(lacks))
        largest_lack = float(np.abs(lacks[rows]).max(initial=0.0))
        stalled = len(states) > 1 and largest_lack > STALLING_SHARE * min(
            state[0] for state in states
        )
        states.append((largest_lack, (coefficients, v if single else first, constants)))
        if largest_lack == 0.0 or stalled:
            break
        kernel = bounds.curvature(prices, np.zeros_like(prices))[np.ix_(rows, rows)]
        kernel = kernel + np.diag(slack[rows])
        active_groups = np.zeros(0, dtype=int)
        if single:
            room, price = bounds.room[:, 0, 0], prices[:, 0, 0]
            active_groups = np.flatnonzero(
                price / max(float(price.max()), 1e-300) > 2.0 * np.abs(room)
            )
        border_columns = np.hstack(
            [bounds.shares()[np.ix_(rows, active_groups)], border.columns[rows]]
        )
        missed = border.missing(v[None], constants[None])[0]
        right = np.concatenate([bounds.room[active_groups, 0, 0], -missed])
        corner = np.zeros((len(right), len(right)))
        ends = np.arange(len(active_groups), len(right))
        corner[ends, ends] = -border.penalty
        step = _solve_bordered(kernel, border_columns, corner, lacks[rows], right)
        v = np.array(v)
        v[rows] += step[: len(rows)]
        prices = np.array(prices)
        prices[active_groups, 0, 0] += step[len(rows) : len(rows) + len(active_groups)]
        constants = constants + step[len(step) - q :]
        if not np.isfinite(step).all() or (single and bool((prices < 0).any())):
            break
    return states


def _solve_bordered(
    kernel: np.ndarray,
    border_columns: np.ndarray,
    corner: np.ndarray,
    lacks: np.ndarray,
    right: np.ndarray,
) -> np.ndarray:
    """Return the solution of the system [kernel Z; Z' corner], scaled to columns of about 1.

    Nearly singular systems are solved by least squares, which takes ten times as long.
    """
    sums = np.diagonal(kernel)
    size = 1.0 / np.sqrt(np.where(sums > 0, sums, 1.0))
    lengths = np.abs(border_columns * size[:, None]).max(axis=0, initial=0.0)
    units = np.concatenate([size, 1.0 / np.where(lengths > 0, lengths, 1.0)])
    system = np.block([[kernel, border_columns], [border_columns.T, corner]])
    scaled = units[:, None] * system * units
    scaled_right = units * np.concatenate([lacks, right])
    if len(scaled) and np.isfinite(scaled).all():
        if not len(right):
            factorise, condition, solve = get_lapack_funcs(("potrf", "pocon", "potrs"), (scaled,))
            factor, failed = factorise(scaled, lower=1)
            if (
                not failed
                and condition(factor, np.linalg.norm(scaled, 1), uplo="L")[0] > WELL_CONDITIONED
            ):
                return units * solve(factor, scaled_right, lower=1)[0]
        factorise, condition, solve = get_lapack_funcs(("getrf", "gecon", "getrs"), (scaled,))
        factor, pivots, _ = factorise(scaled)
        if condition(factor, np.linalg.norm(scaled, 1))[0] > WELL_CONDITIONED:
            return units * solve(factor, pivots, scaled_right)[0]
    return units * np.linalg.lstsq(scaled, scaled_right, rcond=SMALLEST_SINGULAR)[0]


def _meet_by_size(
    design: Design,
    cost: Cost,
    coefficients: np.ndarray,
    v: np.ndarray,
    constants: np.ndarray,
    slack: np.ndarray,
    missing: Missing,
    border: Border,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coefficients changed in proportion to their sizes, so that exact rows are met.

    Of all corrections that meet the rows, the smallest relative to the sizes changes the cost
    little: coefficients of 0 stay near 0, and those of left-out blocks exactly 0.
    """
    kernel = weights = None
    columns, least, nearest = border.columns, np.inf, (coefficients, constants)
    for _ in range(ROUNDS):
        lacks = _beyond_rounding(missing, design @ coefficients + columns @ constants)
        lacks = np.where(slack > 0, np.nan, lacks)
        rows = np.flatnonzero(~np.isnan(lacks))
        largest_lack = float(np.abs(lacks[rows]).max(initial=0.0))
        stalled = largest_lack > STALLING_SHARE * least
        if largest_lack < least:
            least, nearest = largest_lack, (coefficients, constants)
        if largest_lack == 0.0 or stalled:
            break
        if kernel is None or weights is None:
            if isinstance(design, DenseDesign):
                terms = np.abs(design.matrix) @ np.abs(coefficients)
                if np.all(np.abs(lacks[rows]) <= ROUNDING * terms[rows]):
                    break
            size = np.abs(coefficients)
            weights = np.where(
                excluded_columns(design, cost), 0.0, size + SMALLEST_WEIGHT * size.max(initial=0.0)
            )
            kernel = weighted_gram(design, weights)
        share = float(np.diagonal(kernel).mean())
        square = kernel[np.ix_(rows, rows)] + share * columns[rows] @ columns[rows].T
        no_columns = np.zeros((len(rows), 0))
        row_step = np.zeros_like(v)
        row_step[rows] = _solve_bordered(
            square, no_columns, np.zeros((0, 0)), lacks[rows], np.zeros(0)
        )
        constants = constants + share * columns.T @ row_step
        coefficients = coefficients + weights * design.adjoint(row_step)
    return nearest[0], v, nearest[1]


def _beyond_rounding(missing: Missing, outputs: np.ndarray) -> np.ndarray:
    """Return what rows lack, and 0 where this is rounding of their outputs."""
    lacks = missing(outputs)
    return np.where(np.abs(lacks) <= ROUNDING * np.abs(outputs), 0.0, lacks)


def missing_of_inequalities(
    targets: np.ndarray, fit: Margin | Tube, v: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function of what rows lack: the rows that bind, and those that fall short.

    At a solution either the multiplier of a row is 0 or its spare margin is (complementarity).
    Which of them is decided by the larger of the two, relative to their largest values.
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
