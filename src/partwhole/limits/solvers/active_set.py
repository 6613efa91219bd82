"""Exact solutions of quadratic one-sided fits by an active-set method.

For a given support (the constraints that hold as equalities) the dual is a linear system.
Constraints whose multiplier is negative leave the support and violated constraints join it, until
nothing changes (Hintermüller, Ito & Kunisch 2003). The fixed point is an exact solution. The
method may not reach one within the rounds allowed; then an interior point gives the solution.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from partwhole.limits.fits import OneSided
from partwhole.limits.solvers.dual_newton import Border, DualSolution, interior_point, spread

ROUNDING = 1e-12


def solve_one_sided(
    hessian: Float[np.ndarray, "B n n"],
    constraints: OneSided,
    border: Border,
    *,
    guess_first: bool = False,
    max_steps: int = 200,
    tolerance: float = 1e-12,
) -> DualSolution:
    """Return the dual solutions of quadratic one-sided fits, exact where a support is confirmed.

    Parameters
    ----------
    hessian : float array, shape (B, n, n)
        Kernel and slack, scaled so that the diagonal is about 1.
    constraints : OneSided
    border : Border
    guess_first : bool, keyword-only, default False
        Try the full support before any interior point. This is fast for many small problems in
        which nearly all constraints hold as equalities.
    max_steps, tolerance : keyword-only
        As in `interior_point`.

    Returns
    -------
    DualSolution
    """
    batch, m = len(hessian), len(constraints.rows)
    solution = None
    rest = np.ones(batch, dtype=bool)
    if guess_first:
        solution = active_set(hessian, constraints, border, np.ones((batch, m), dtype=bool))
        rest = ~solution.solved
    if rest.any():
        inner = interior_point(
            hessian[rest], constraints, border, max_steps=max_steps, tolerance=tolerance
        )
        support = inner.support
        assert support is not None
        exact = active_set(hessian[rest], constraints, border, support)
        keep = (exact.solved & inner.solved)[:, None]
        inner = replace(
            inner,
            multipliers=np.where(keep, exact.multipliers, inner.multipliers),
            border_coefficients=np.where(
                keep, exact.border_coefficients, inner.border_coefficients
            ),
        )
        solution = inner if solution is None else _merged(solution, inner, rest)
    assert solution is not None
    return solution


def _merged(solution: DualSolution, replacement: DualSolution, where: np.ndarray) -> DualSolution:
    """Return the solution of a batch, with the problems at some places replaced."""
    arrays = {}
    for name in ("multipliers", "border_coefficients", "solved", "infeasible"):
        arrays[name] = np.array(getattr(solution, name))
        arrays[name][where] = getattr(replacement, name)
    return DualSolution(steps=solution.steps + replacement.steps, **arrays)


def active_set(
    hessian: Float[np.ndarray, "B n n"],
    constraints: OneSided,
    border: Border,
    support: Bool[np.ndarray, "B m"],
    *,
    max_rounds: int = 20,
) -> DualSolution:
    """Return dual solutions by correcting a support until it is that of an exact solution.

    Parameters
    ----------
    hessian : float array, shape (B, n, n)
    constraints : OneSided
    border : Border
    support : bool array, shape (B, m)
        The first guess.
    max_rounds : int, keyword-only, default 20

    Returns
    -------
    DualSolution
        Solved where the support repeats itself and its linear system was regular.
    """
    rows, signs, bounds = constraints.rows, constraints.signs, constraints.bounds
    batch, m = support.shape
    n, q = border.columns.shape
    signed = constraints.between(hessian)
    signed_columns = border.signed(constraints).columns
    x, b = np.zeros((batch, m)), np.zeros((batch, q))
    solved = np.zeros(batch, dtype=bool)
    unsolved = np.arange(batch)
    support = np.array(support)
    rounds = 0
    while len(unsolved) and rounds < max_rounds:
        rounds += 1
        inside = support[unsolved]
        kernel = signed[unsolved]
        system = np.zeros((len(unsolved), m + q, m + q))
        system[:, :m, :m] = kernel * (inside[:, :, None] & inside[:, None, :])
        system[:, np.arange(m), np.arange(m)] += ~inside
        columns = np.where(inside[:, :, None], signed_columns, 0.0)
        system[:, :m, m:], system[:, m:, :m] = columns, columns.transpose(0, 2, 1)
        system[:, m:, m:] = -border.penalty * np.eye(q)
        right = np.concatenate([np.where(inside, bounds, 0.0), np.zeros((len(unsolved), q))], 1)
        try:
            answer = np.linalg.solve(system, right[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            break
        x[unsolved], b[unsolved] = answer[:, :m], answer[:, m:]
        spare = (
            np.einsum("Bij,Bj->Bi", kernel, answer[:, :m])
            + answer[:, m:] @ signed_columns.T
            - bounds
        )
        size = np.abs(answer).max(axis=1, keepdims=True)
        regular = (np.abs(np.where(inside, spare, 0.0)).max(axis=1) <= 1e-9) & (size[:, 0] < 1e9)
        mended = np.where(inside, answer[:, :m] > -ROUNDING * size, spare < -ROUNDING)
        settled = regular & (mended == inside).all(axis=1)
        solved[unsolved[settled]] = True
        support[unsolved] = mended
        # Systems dominated by rounding are given up, and left to the interior point.
        unsolved = unsolved[regular & ~settled]
    v = spread(x, rows, signs, n)
    return DualSolution(v, b, rounds, solved, np.zeros(batch, dtype=bool), support)
