r"""Inequalities solved as equalities of the rows that bind (an active-set method).

Interior points work on inner products, which lose half of the digits of nearly dependent rows;
equalities in orthonormal rows keep them. At the solution of

.. math:: \min_{c,\, b,\, \xi}\; R(c) + \tfrac12 \sum_i \xi_i^2 / s_i
          \quad\text{such that}\quad A c + b + \xi \quad\text{fits}\quad y

some rows bind: their outputs lie at an edge of what fits, and the other rows could be dropped.
The binding rows are solved as equalities. A multiplier of the wrong sign shows that its row does
not bind, and a row that falls short must be added. When there is neither, the lower bound of the
equalities is one of the inequalities. All such rows are exchanged at once; after a guess repeats
itself they are exchanged one by one, the first in order (Murty 1974). Derived here.
"""

from __future__ import annotations

import numpy as np

from partwhole.features.design import DenseDesign, dense_features
from partwhole.features.outputs import OutputsDesign
from partwhole.limits._certificate import EPS, allowance, certified
from partwhole.limits._dual import equalities
from partwhole.limits._reduction import ENTRIES
from partwhole.limits.costs import Quadratic, Squares
from partwhole.limits.fits import Equal, Margin, Tube
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.problem import Problem

ZERO_AT_FIRST = (
    1e-9  # of the largest multiplier: rows with a smaller one are not in the first guess
)
ROUNDED_SIGN = 1e-12  # of the largest multiplier: a smaller one of the wrong sign is rounding
STEPS_PER_GUESS = 4  # each guess of the binding rows counts as so many solver steps


def through_active_rows(
    problem: Problem,
    multipliers: np.ndarray,
    max_steps: int,
    tolerance: float,
) -> Limit | None:
    """Return the limit of a one-sided fit from a guess of its binding rows, or None.

    Parameters
    ----------
    multipliers : float array, shape (n,)
        Approximate multipliers; their signs give the first guess. A second search starts without
        any binding row.
    """
    design, targets, cost, fit = problem.design, problem.targets, problem.convex_cost, problem.fit
    assert not isinstance(fit, Equal)
    if isinstance(design, OutputsDesign) and not isinstance(cost, Squares):
        return None
    n, p = design.shape
    features = cost.features(design) if isinstance(cost, Squares) else dense_features(design)
    if n * p > ENTRIES or features is None:
        return None
    blocks, kind = (design.blocks, cost) if not isinstance(cost, Squares) else ((), Quadratic())
    inner = DenseDesign(features, blocks)
    slack, width = problem.slack, float(fit.width) if isinstance(fit, Tube) else 0.0
    target_sizes = np.ones(n) if isinstance(fit, Margin) else np.abs(targets)

    def solved(sides: np.ndarray) -> tuple[Limit | None, np.ndarray]:
        rows, v = np.flatnonzero(sides), np.zeros(n)
        if not len(rows):
            return None, v
        active = DenseDesign(inner.matrix[rows], inner.blocks)
        edges = targets[rows] - sides[rows] * width
        constants = None if problem.constants is None else problem.constants[rows]
        equal = Problem(active, edges, kind, Equal(slack[rows]), problem.intercept, constants)
        limit = equalities(equal, max_steps, tolerance)
        v[rows] = limit.multipliers
        return limit, v

    size = np.abs(multipliers).max(initial=0.0)
    guess = np.where(np.abs(multipliers) > ZERO_AT_FIRST * size, np.sign(multipliers), 0.0)
    if isinstance(fit, Margin):
        guess = np.where(guess == targets, guess, 0.0)
    for sides, previous in ((guess, multipliers), (np.zeros(n), np.zeros(n))):
        before, singly, steps = set(), False, 0
        for _ in range(max_steps // STEPS_PER_GUESS):
            limit, v = solved(sides)
            if limit is None:
                c, bound = kind.primal(inner, np.zeros(n), None), 0.0
                constant = problem.constant(np.zeros(problem.columns.shape[1]))
            elif limit.outcome is Outcome.INFEASIBLE:
                sides = _without_first_to_vanish(sides, previous, v)
                if sides is None:
                    break
                continue
            else:
                c, constant, bound = limit.coefficients, limit.intercept, limit.value - limit.gap
                steps += limit.steps
            shift = problem.shift(constant)
            misfit = fit.misfit(targets, inner @ c + shift)
            falls_short = (sides == 0) & (
                np.abs(misfit) > allowance(inner, target_sizes, c, shift)[0]
            )
            wrong_sign = v * sides < -ROUNDED_SIGN * np.abs(v).max(initial=0.0)
            if not (wrong_sign | falls_short).any():
                whole = cost.from_features(design, c) if isinstance(cost, Squares) else c
                candidate = (problem, whole, constant, v, steps)
                if (v * sides < 0).any():
                    return certified(*candidate)
                # The certificate of the equalities already includes the rounding of exact rows.
                precision = 0.0 if limit is None or limit.outcome is Outcome.SOLVED else EPS
                return certified(*candidate, bound=bound, precision=precision)
            singly = singly or sides.tobytes() in before
            before.add(sides.tobytes())
            changed = np.flatnonzero(wrong_sign | falls_short)[: 1 if singly else None]
            sides, previous = np.array(sides), np.where(wrong_sign, 0.0, v)
            sides[changed] = np.where(falls_short[changed], np.sign(misfit[changed]), 0.0)
    return None


def _without_first_to_vanish(
    sides: np.ndarray, v: np.ndarray, proof: np.ndarray
) -> np.ndarray | None:
    """Return the sides without the row whose multiplier vanishes first along the proof.

    The equalities contradict one another, and their dual grows without bound along the proof. For
    inequalities it may grow only until a multiplier reaches 0: this row then stops to bind.
    """
    falls = proof * sides < 0
    if not falls.any():
        return None
    lengths = np.divide(np.abs(v), np.abs(proof), out=np.full(len(v), np.inf), where=falls)
    sides = np.array(sides)
    sides[int(lengths.argmin())] = 0.0
    return sides
