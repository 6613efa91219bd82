r"""Damped Newton method on the dual, for every convex cost and fit.

.. math:: \max_v\; \langle y, v\rangle - R^*(A^T v) - \tfrac12 \sum_i s_i v_i^2
          \quad\text{with}\quad Z^T v = 0,

v free for equality, :math:`v = \sum_j \pm x_j e_{row(j)}` with :math:`x \ge 0` for one-sided
fits. Columns of cost zero (a free intercept) appear only as :math:`Z^T v = 0`, whose multiplier
is the intercept. Derived here; the interior-point steps follow Mehrotra's predictor-corrector.

Arrays carry a leading batch axis B: many problems of one size are solved at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.limits.fits import OneSided

EPS = float(np.finfo(float).eps)

# From multipliers (B, n): value (B,), gradient (B, n) and Hessian (B, n, n) of the smooth part,
# the slack included, at a barrier weight.
Term = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class DualSolution:
    """Hold multipliers and the intercept, for each problem of a batch.

    Parameters
    ----------
    multipliers : float array, shape (B, n)
    zero_coefficients : float array, shape (B, q)
        Coefficients of the columns of cost zero.
    barrier : float array, shape (B,)
        The last barrier weight.
    steps : int
    solved, infeasible : bool arrays, shape (B,)
    support : bool array, shape (B, m), optional
        Which constraints of a one-sided fit hold as equalities.
    """

    multipliers: Float[np.ndarray, "B n"]
    zero_coefficients: Float[np.ndarray, "B q"]
    barrier: Float[np.ndarray, " B"]
    steps: int
    solved: Bool[np.ndarray, " B"]
    infeasible: Bool[np.ndarray, " B"]
    support: Bool[np.ndarray, "B m"] | None = None


def _bordered_solve(
    hessian: np.ndarray, border: np.ndarray, right: np.ndarray, right_zero: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve [H Z; Z' 0] (d, e) = (right, right_zero) in a batch, by the Schur complement."""
    q = border.shape[1]
    stacked = np.concatenate(
        [right[:, :, None], np.broadcast_to(border, (len(right), *border.shape))], axis=2
    )
    solved = np.linalg.solve(hessian, stacked)
    direction, through = solved[:, :, 0], solved[:, :, 1:]
    if q == 0:
        return direction, np.zeros((len(right), 0))
    schur = np.einsum("nq,Bnr->Bqr", border, through)
    shift = np.linalg.solve(schur, (direction @ border - right_zero)[:, :, None])[:, :, 0]
    return direction - np.einsum("Bnq,Bq->Bn", through, shift), shift


def damped_newton(
    term: Term,
    targets: Float[np.ndarray, "B n"],
    zero_columns: Float[np.ndarray, "n q"],
    *,
    start: Float[np.ndarray, "B n"] | None = None,
    has_barrier: bool,
    max_steps: int,
    tolerance: float,
) -> DualSolution:
    """Minimise ``term(v) - targets v`` over v orthogonal to the columns of cost zero.

    Newton steps are halved until the objective falls; a barrier's weight falls from 1 each time
    its minimum is near, and the last minimum is found closely.

    Parameters
    ----------
    term : callable
        The convex part, infinite outside its domain.
    targets : float array, shape (B, n)
    zero_columns : float array, shape (n, q)
    start : float array, shape (B, n), keyword-only, optional
        A point of the domain; 0 by default.
    has_barrier : bool, keyword-only
        Whether the term depends on the barrier weight.
    max_steps : int, keyword-only
    tolerance : float, keyword-only
        On the Newton decrement relative to the targets, and on the barrier's share of the gap.

    Returns
    -------
    DualSolution
    """
    batch, n = targets.shape
    v = np.zeros((batch, n)) if start is None else np.array(start)
    b = np.zeros((batch, zero_columns.shape[1]))
    weight = np.ones(batch) if has_barrier else np.zeros(batch)
    scale = 1.0 + np.abs(targets).max(axis=1)
    solved = np.zeros(batch, dtype=bool)
    steps = 0
    for _ in range(max_steps):
        steps += 1
        value, gradient, hessian = term(v, weight)
        residual = gradient + b @ zero_columns.T - targets
        hessian = hessian + 1e-15 * np.trace(hessian, axis1=1, axis2=2)[:, None, None] * np.eye(n)
        direction, shift = _bordered_solve(hessian, zero_columns, -residual, -(v @ zero_columns))
        decrement = np.einsum("Bn,Bnm,Bm->B", direction, hessian, direction)
        length = np.ones(batch)
        objective = value - np.einsum("Bn,Bn->B", targets, v)
        for _ in range(60):
            trial = v + length[:, None] * direction
            risen = term(trial, weight)[0] - np.einsum("Bn,Bn->B", targets, trial)
            worse = ~(risen <= objective - 0.1 * length * decrement + 1e-13 * (1 + abs(objective)))
            if not worse.any():
                break
            length[worse] *= 0.5
        v = v + length[:, None] * direction
        b = b + length[:, None] * shift
        last = weight * n <= tolerance
        near = np.where(last, 1e-10, 1e-3) * weight if has_barrier else (tolerance * scale) ** 2
        centred = decrement <= near
        solved = centred & (last if has_barrier else True)
        if solved.all():
            break
        if has_barrier:
            weight = np.where(centred & ~last, 0.2 * weight, weight)
    return DualSolution(v, b, weight, steps, solved, np.zeros(batch, dtype=bool))


def one_sided_newton(
    term: Term,
    constraints: OneSided,
    zero_columns: Float[np.ndarray, "n q"],
    *,
    max_steps: int,
    tolerance: float,
) -> DualSolution:
    """Solve one-sided fits for any convex cost: signs become a logarithmic barrier.

    Parameters
    ----------
    term : callable
        The smooth part, or a barrier, in v.
    constraints : OneSided
    zero_columns : float array, shape (n, q)
    max_steps, tolerance : keyword-only
        As in `damped_newton`.

    Returns
    -------
    DualSolution
    """
    rows, signs, bounds = constraints.rows, constraints.signs, constraints.bounds
    n, m = len(zero_columns), len(rows)

    def signed(x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        value, gradient, hessian = term(spread(x, rows, signs, n), weight)
        if not np.all(x > 0):
            return np.full(len(x), np.inf), np.zeros_like(x), np.zeros((len(x), m, m))
        value = value - weight * np.log(x).sum(axis=1)
        gradient = signs * gradient[:, rows] - weight[:, None] / x
        hessian = signs[:, None] * hessian[:, rows][:, :, rows] * signs
        hessian[:, np.arange(m), np.arange(m)] += weight[:, None] / x**2
        return value, gradient, hessian

    start = np.full((1, m), (1.0 + np.abs(bounds).max()) / m)
    # v = 0 lies in every domain, so a small enough start does too.
    while not np.isfinite(signed(start, np.ones(1))[0][0]):
        start = 0.5 * start
    found = damped_newton(
        signed,
        bounds[None],
        signs[:, None] * zero_columns[rows],
        start=start,
        has_barrier=True,
        max_steps=max_steps,
        tolerance=tolerance,
    )
    return replace(found, multipliers=spread(found.multipliers, rows, signs, n))


def interior_point(
    hessian: Float[np.ndarray, "B n n"],
    constraints: OneSided,
    zero_columns: Float[np.ndarray, "n q"],
    *,
    max_steps: int = 200,
    tolerance: float = 1e-12,
) -> DualSolution:
    """Solve one-sided fits of quadratic costs, a batch at once: Mehrotra's predictor-corrector.

    Parameters
    ----------
    hessian : float array, shape (B, n, n)
        Kernel and slack, scaled so that the diagonal is about 1.
    constraints : OneSided
        Shared by the batch.
    zero_columns : float array, shape (n, q)
    max_steps : int, keyword-only, default 200
    tolerance : float, keyword-only, default 1e-12
        On the complementarity gap relative to the objective, and on the residuals.

    Returns
    -------
    DualSolution
        Infeasible where multipliers run off along a direction that the kernel does not see.
    """
    rows, signs, bounds = constraints.rows, constraints.signs, constraints.bounds
    batch, n, m = len(hessian), len(zero_columns), len(rows)
    border = signs[:, None] * zero_columns[rows]
    signed = signs[:, None] * hessian[:, rows][:, :, rows] * signs
    weight = np.abs(signed)
    size = 1.0 + np.abs(bounds).max()
    x, s = np.full((batch, m), size / m), np.ones((batch, m))
    b = np.zeros((batch, zero_columns.shape[1]))
    solved, infeasible = np.zeros(batch, dtype=bool), np.zeros(batch, dtype=bool)
    steps = 0
    for _ in range(max_steps):
        steps += 1
        pulled = np.einsum("Bij,Bj->Bi", signed, x)
        residual = pulled + b @ border.T - bounds - s
        residual_zero = x @ border
        gap = np.einsum("Bm,Bm->B", x, s)
        mu = gap / m
        # Large multipliers that cancel leave rounding in the outputs; no step can lower it.
        rounding = 4.0 * EPS * m * np.einsum("Bij,Bj->Bi", weight, x).max(axis=1)
        solved = (gap <= tolerance * (1.0 + np.abs(x @ bounds))) & (
            np.abs(residual).max(axis=1) <= tolerance * size + rounding
        )
        total = x.sum(axis=1)
        infeasible = (
            (np.einsum("Bm,Bm->B", x, pulled) <= 1e-13 * total**2)
            & (x @ bounds >= 1e-6 * total)
            & (np.abs(residual_zero).max(axis=1, initial=0.0) <= 1e-9 * total)
            & (total > 1e4 * size)
            & ~solved
        )
        active = ~(solved | infeasible)
        if not active.any():
            break
        curved = signed.copy()
        curved[:, np.arange(m), np.arange(m)] += s / x
        dx, db = _bordered_solve(curved, border, -residual - s, -residual_zero)
        ds = -s - s / x * dx
        after_x, after_s = x + longest_step(x, dx) * dx, s + longest_step(s, ds) * ds
        after = np.einsum("Bm,Bm->B", after_x, after_s) / m
        target = np.clip(after / mu, 1e-4, 1.0) ** 3 * mu
        aim = (target[:, None] - x * s - dx * ds) / x
        dx, db = _bordered_solve(curved, border, -residual + aim, -residual_zero)
        ds = aim - s / x * dx
        step_x, step_s = 0.995 * longest_step(x, dx), 0.995 * longest_step(s, ds)
        move = active[:, None]
        x = np.where(move, x + step_x * dx, x)
        s = np.where(move, s + step_s * ds, s)
        b = np.where(move, b + step_s * db, b)
    v = spread(x, rows, signs, n)
    return DualSolution(v, b, np.zeros(batch), steps, solved, infeasible, x > s)


def spread(
    x: Float[np.ndarray, "B m"],
    rows: Int[np.ndarray, " m"],
    signs: Float[np.ndarray, " m"],
    n: int,
) -> Float[np.ndarray, "B n"]:
    """Add up the signed multipliers of each row."""
    out = np.zeros((len(x), n))
    for start in range(0, len(rows), n):
        part = slice(start, start + n)
        out[:, rows[part]] += x[:, part] * signs[part]
    return out


def longest_step(
    x: Float[np.ndarray, "B m"], direction: Float[np.ndarray, "B m"]
) -> Float[np.ndarray, "B 1"]:
    """Return the longest step up to 1 that keeps x nonnegative."""
    ratio = np.divide(-x, direction, out=np.full_like(x, np.inf), where=direction < 0)
    return np.minimum(1.0, ratio.min(axis=1, keepdims=True))
