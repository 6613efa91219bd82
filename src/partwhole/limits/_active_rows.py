r"""Inequalities as equalities of the rows that bear on the solution.

Inner products lose half of the digits of rows that are nearly alike; equalities, in orthonormal
rows, keep them. At the solution of

.. math:: \min_{c,\, b,\, \xi}\; R(c) + \tfrac12 \sum_i \xi_i^2 / s_i
          \quad\text{such that}\quad A c + b + \xi \quad\text{fits}\quad y

some rows lie at an edge of what fits, and the others could be left out. With those rows as
equalities, a multiplier of the wrong sign says that its row does not belong to them, and a row
that falls short that it does. When neither is left, the equalities' lower bound is one of the
inequalities. Rows are exchanged all at once, and one by one, the first first, where a guess
repeats itself (Murty 1974). Derived here.
"""

from __future__ import annotations

import numpy as np

from partwhole.features.design import DenseDesign
from partwhole.limits._certificate import EPS, allowance, certified
from partwhole.limits._dual import equalities
from partwhole.limits._reduction import ENTRIES
from partwhole.limits.costs import Cost, Quadratic, Squares
from partwhole.limits.costs._matrices import dense_features
from partwhole.limits.fits import Equal, Margin, Tube
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.problem import Problem

BEARS = 1e-9  # of the largest multiplier: a smaller one is taken for 0 at first
NOTHING = 1e-12  # of the largest multiplier: one of the wrong sign that is rounding
STEPS = 4  # of the solver's, for which a guess of the rows that bear counts


def through_active_rows(
    problem: Problem,
    multipliers: np.ndarray,
    max_steps: int,
    tolerance: float,
) -> Limit | None:
    """Solve a one-sided fit from a guess of its multipliers; None where no rows agree.

    Parameters
    ----------
    multipliers : float array, shape (n,)
        Those whose signs give the first guess; a second one begins without any row.
    """
    design, targets, cost, fit = problem.design, problem.targets, problem.cost, problem.fit
    assert isinstance(cost, Cost)
    assert not isinstance(fit, Equal)
    n, p = design.shape
    features = cost.features(design) if isinstance(cost, Squares) else dense_features(design)
    if n * p > ENTRIES or features is None:
        return None
    blocks, kind = (design.blocks, cost) if not isinstance(cost, Squares) else ((), Quadratic())
    inner = DenseDesign(features, blocks)
    slack, width = problem.slack, float(fit.width) if isinstance(fit, Tube) else 0.0
    wanted = np.ones(n) if isinstance(fit, Margin) else np.abs(targets)

    def solved(sides: np.ndarray) -> tuple[Limit | None, np.ndarray]:
        rows, v = np.flatnonzero(sides), np.zeros(n)
        if not len(rows):
            return None, v
        active = DenseDesign(inner.matrix[rows], inner.blocks)
        edges = targets[rows] - sides[rows] * width
        equal = Problem(active, edges, kind, Equal(slack[rows]), problem.intercept)
        limit = equalities(equal, max_steps, tolerance)
        v[rows] = limit.multipliers
        return limit, v

    size = np.abs(multipliers).max(initial=0.0)
    guess = np.where(np.abs(multipliers) > BEARS * size, np.sign(multipliers), 0.0)
    if isinstance(fit, Margin):
        guess = np.where(guess == targets, guess, 0.0)
    for sides, last in ((guess, multipliers), (np.zeros(n), np.zeros(n))):
        before, singly, steps = set(), False, 0
        for _ in range(max_steps // STEPS):
            limit, v = solved(sides)
            if limit is None:
                c, constant, bound = kind.primal(inner, np.zeros(n), None), 0.0, 0.0
            elif limit.outcome is Outcome.INFEASIBLE:
                sides = _fewer(sides, last, v)
                if sides is None:
                    break
                continue
            else:
                c, constant, bound = limit.coefficients, limit.intercept, limit.value - limit.gap
                steps += limit.steps
            misfit = fit.misfit(targets, inner @ c + constant)
            short = (sides == 0) & (np.abs(misfit) > allowance(inner, wanted, c, constant)[0])
            wrong = v * sides < -NOTHING * np.abs(v).max(initial=0.0)
            if not (wrong | short).any():
                whole = cost.from_features(design, c) if isinstance(cost, Squares) else c
                candidate = (problem, whole, constant, v, steps)
                if (v * sides < 0).any():
                    return certified(*candidate)
                # The equalities' certificate has counted the rounding of their exact rows.
                precision = 0.0 if limit is None or limit.outcome is Outcome.SOLVED else EPS
                return certified(*candidate, bound=bound, precision=precision)
            singly = singly or sides.tobytes() in before
            before.add(sides.tobytes())
            changed = np.flatnonzero(wrong | short)[: 1 if singly else None]
            sides, last = np.array(sides), np.where(wrong, 0.0, v)
            sides[changed] = np.where(short[changed], np.sign(misfit[changed]), 0.0)
    return None


def _fewer(sides: np.ndarray, v: np.ndarray, proof: np.ndarray) -> np.ndarray | None:
    """Leave out the row whose multiplier is the first to vanish where others run off.

    Along the proof that rows contradict one another the dual grows without end, unless a
    multiplier changes its sign.
    """
    falls = proof * sides < 0
    if not falls.any():
        return None
    lengths = np.divide(np.abs(v), np.abs(proof), out=np.full(len(v), np.inf), where=falls)
    sides = np.array(sides)
    sides[int(lengths.argmin())] = 0.0
    return sides
