"""Exact solutions of quadratic one-sided fits: guess the support, solve, mend the guess.

For a given support the dual is linear. Constraints whose multiplier comes out negative leave it,
violated ones join, until nothing changes (a primal-dual active-set method; Hintermüller, Ito &
Kunisch 2003). A fixed point is an exact solution; there need not be one within the rounds allowed,
so an interior point stands behind.
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
    """Solve quadratic one-sided fits, exactly where the support can be settled.

    Parameters
    ----------
    hessian : float array, shape (B, n, n)
        Kernel and slack, scaled so that the diagonal is about 1.
    constraints : OneSided
    border : Border
    guess_first : bool, keyword-only, default False
        Try the full support before any interior point: quick for many small problems whose
        constraints nearly all hold as equalities.
    max_steps, tolerance : keyword-only
        As in `interior_point`.

    Returns
    -------
    DualSolution
    """
    batch, m = len(hessian), len(constraints.rows)
    found = None
    rest = np.ones(batch, dtype=bool)
    if guess_first:
        found = active_set(hessian, constraints, border, np.ones((batch, m), dtype=bool))
        rest = ~found.solved
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
        found = inner if found is None else _merged(found, inner, rest)
    assert found is not None
    return found


def _merged(one: DualSolution, other: DualSolution, where: np.ndarray) -> DualSolution:
    """Put the other's problems into their places in the batch."""
    arrays = {}
    for name in ("multipliers", "border_coefficients", "solved", "infeasible"):
        arrays[name] = np.array(getattr(one, name))
        arrays[name][where] = getattr(other, name)
    return DualSolution(steps=one.steps + other.steps, **arrays)


def active_set(
    hessian: Float[np.ndarray, "B n n"],
    constraints: OneSided,
    border: Border,
    support: Bool[np.ndarray, "B m"],
    *,
    max_rounds: int = 20,
) -> DualSolution:
    """Mend a guessed support until it is that of an exact solution.

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
    signed = signs[:, None] * hessian[:, rows][:, :, rows] * signs
    seen = border.signed(constraints).columns
    x, b = np.zeros((batch, m)), np.zeros((batch, q))
    solved = np.zeros(batch, dtype=bool)
    open_ones = np.arange(batch)
    support = np.array(support)
    rounds = 0
    while len(open_ones) and rounds < max_rounds:
        rounds += 1
        inside = support[open_ones]
        kernel = signed[open_ones]
        system = np.zeros((len(open_ones), m + q, m + q))
        system[:, :m, :m] = kernel * (inside[:, :, None] & inside[:, None, :])
        system[:, np.arange(m), np.arange(m)] += ~inside
        columns = np.where(inside[:, :, None], seen, 0.0)
        system[:, :m, m:], system[:, m:, :m] = columns, columns.transpose(0, 2, 1)
        system[:, m:, m:] = -border.penalty * np.eye(q)
        right = np.concatenate([np.where(inside, bounds, 0.0), np.zeros((len(open_ones), q))], 1)
        try:
            answer = np.linalg.solve(system, right[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            break
        x[open_ones], b[open_ones] = answer[:, :m], answer[:, m:]
        spare = np.einsum("Bij,Bj->Bi", kernel, answer[:, :m]) + answer[:, m:] @ seen.T - bounds
        size = np.abs(answer).max(axis=1, keepdims=True)
        regular = (np.abs(np.where(inside, spare, 0.0)).max(axis=1) <= 1e-9) & (size[:, 0] < 1e9)
        mended = np.where(inside, answer[:, :m] > -ROUNDING * size, spare < -ROUNDING)
        done = regular & (mended == inside).all(axis=1)
        solved[open_ones[done]] = True
        support[open_ones] = mended
        # A system that rounding rules can't be mended here.
        open_ones = open_ones[regular & ~done]
    v = spread(x, rows, signs, n)
    return DualSolution(v, b, rounds, solved, np.zeros(batch, dtype=bool), support)
