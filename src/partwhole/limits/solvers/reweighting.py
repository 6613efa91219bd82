r"""Norms by squares whose weights are solved for: slow and sure.

.. math:: \|C\|_* = \min_{S \succ 0} \tfrac12 \mathrm{tr}\,(C^T S^{-1} C) + \tfrac12 \mathrm{tr}\,S,

which :math:`S = (C C^T)^{1/2}` attains. So rounds of a quadratic program, which knows no bounds,
and of new weights lower the norm until its certificate closes. Weights of several rows that lose
rank may lose the program's digits first: then it is not solved.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partwhole.limits.costs._cost import DualTerm
from partwhole.limits.fits import OneSided
from partwhole.limits.solvers.active_set import solve_one_sided
from partwhole.limits.solvers.dual_newton import Border, DualSolution

GAP = 1e-9  # of the value
CERTIFIABLE = 1e-6


def reweighted(
    term: Callable[[np.ndarray], DualTerm],
    constraints: OneSided,
    border: Border,
    *,
    max_rounds: int,
) -> DualSolution:
    """Maximise ``bounds of the constraints times x - term(v)`` within the term's bounds.

    Parameters
    ----------
    term : callable
        The slack's part, with the cost's bounds.
    constraints : OneSided
    border : Border
    max_rounds : int, keyword-only

    Returns
    -------
    DualSolution
        For a batch of one, with the prices: the best of the rounds by its gap. Solved within a
        millionth of the value, or not.
    """
    nothing = np.zeros(len(border.columns))
    bounds = term(nothing).bounds
    assert bounds is not None
    whole = np.broadcast_to(np.eye(bounds.room.shape[1]), bounds.room.shape)
    weights, slack = whole, term(nothing).hessian()
    best = DualSolution(
        nothing[None], np.zeros((1, border.columns.shape[1])), 0, np.zeros(1, dtype=bool),
        np.zeros(1, dtype=bool), prices=0.0 * whole,
    )  # fmt: skip
    least = np.inf
    for rounds in range(1, max_rounds + 1):
        kernel = bounds.curvature(weights, 0.0 * weights) + slack
        scale = float(np.trace(kernel)) / len(kernel)
        if not scale > 0.0:
            break
        scaled = Border(border.columns, border.penalty * scale)
        squared = solve_one_sided(kernel[None] / scale, constraints, scaled)
        if not squared.solved[0]:
            break
        v = squared.multipliers[0] / scale
        # What pulls at each group, by the room that is left of 1.
        pulled = whole - 2.0 * term(v).bounds.room  # pyright: ignore[reportOptionalMemberAccess]
        strongest = float(np.sqrt(np.linalg.eigvalsh(pulled).max()))
        after = _root(weights @ pulled @ weights)
        squares = 0.5 * float(v @ slack @ v) + float(border.cost(v[None])[0])
        value = float(np.trace(after, axis1=1, axis2=2).sum()) + squares
        fair = min(1.0, 1.0 / strongest)
        held = np.maximum(constraints.signs * v[constraints.rows], 0.0)
        told = fair * float(constraints.bounds @ held)
        gap = (value - told + fair**2 * squares) / max(value, 1e-300)
        if gap < least:
            least = gap
            best = DualSolution(
                fair * v[None], squared.border_coefficients, rounds,
                np.array([gap <= CERTIFIABLE]), np.zeros(1, dtype=bool), prices=weights / fair,
            )  # fmt: skip
        if gap <= GAP:
            break
        weights = after
    return best


def _root(matrices: np.ndarray) -> np.ndarray:
    size, basis = np.linalg.eigh(matrices)
    return (basis * np.sqrt(np.maximum(size, 0.0))[:, None, :]) @ basis.swapaxes(-1, -2)
