r"""Damped Newton method on the dual, for every convex cost and fit.

.. math:: \max_v\; \langle y, v\rangle - R^*(A^T v) - \tfrac12 \sum_i s_i v_i^2
          \quad\text{with}\quad Z^T v = 0,

v free for equality, :math:`v = \sum_j \pm x_j e_{row(j)}` with :math:`x \ge 0` for one-sided
fits. Columns of cost zero (a free intercept) appear only as :math:`Z^T v = 0`, whose multiplier
is the intercept; with a penalty :math:`\tfrac12 \lambda b^2` it is :math:`Z^T v = \lambda b`.
Derived here; the interior-point steps follow Mehrotra's predictor-corrector.

Solutions and quadratic problems carry a leading batch axis B: many of one size are solved at
once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.limits.costs._cost import DualTerm
from partwhole.limits.fits import OneSided

EPS = float(np.finfo(float).eps)

# From multipliers (n,): the conjugate, the slack's part included.
Term = Callable[[np.ndarray], DualTerm]
# The same with a barrier's weight.
Weighted = Callable[[np.ndarray, float], DualTerm]


@dataclass(frozen=True, eq=False)
class DualSolution:
    """Hold multipliers and the intercept, for each problem of a batch.

    Parameters
    ----------
    multipliers : float array, shape (B, n)
    border_coefficients : float array, shape (B, q)
        Coefficients of the border's columns.
    steps : int
    solved, infeasible : bool arrays, shape (B,)
    support : bool array, shape (B, m), optional
        Which constraints of a one-sided fit hold as equalities.
    prices : float array, shape (G, R, R), optional
        Of a norm's bounds.
    """

    multipliers: Float[np.ndarray, "B n"]
    border_coefficients: Float[np.ndarray, "B q"]
    steps: int
    solved: Bool[np.ndarray, " B"]
    infeasible: Bool[np.ndarray, " B"]
    support: Bool[np.ndarray, "B m"] | None = None
    prices: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Border:
    """Hold the columns beside the features whose coefficients are multipliers of the dual.

    Parameters
    ----------
    columns : float array, shape (n, q)
        Z; a column of ones for an intercept, or none at all.
    penalty : float
        Its cost lambda; 0 for a free intercept.
    """

    columns: Float[np.ndarray, "n q"]
    penalty: float = 0.0

    def signed(self, constraints: OneSided) -> Border:
        """Return the columns as one-sided constraints see them."""
        return Border(constraints.signs[:, None] * self.columns[constraints.rows], self.penalty)

    def cost(self, v: np.ndarray) -> np.ndarray:
        """Return ``|Z' v|^2 / (2 lambda)``, the penalty's dual; 0 where v must be orthogonal."""
        if self.penalty == 0.0:
            return np.zeros(len(v))
        return np.sum((v @ self.columns) ** 2, axis=1) / (2.0 * self.penalty)

    def missing(self, v: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return ``Z' v - lambda b``, which is 0 at a solution; shape (B, q)."""
        return v @ self.columns - self.penalty * b

    def solve(
        self, hessian: np.ndarray, right: np.ndarray, right_border: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Solve [H Z; Z' -lambda] (d, e) = (right, right_border) in a batch, by its complement."""
        q = self.columns.shape[1]
        tiled = np.broadcast_to(self.columns, (len(right), *self.columns.shape))
        solved = np.linalg.solve(hessian, np.concatenate([right[:, :, None], tiled], axis=2))
        direction, through = solved[:, :, 0], solved[:, :, 1:]
        if q == 0:
            return direction, np.zeros((len(right), 0))
        complement = np.einsum("nq,Bnr->Bqr", self.columns, through) + self.penalty * np.eye(q)
        over = direction @ self.columns - right_border
        shift = np.linalg.solve(complement, over[:, :, None])[:, :, 0]
        return direction - np.einsum("Bnq,Bq->Bn", through, shift), shift


def smooth_newton(
    term: Term,
    targets: Float[np.ndarray, " n"],
    border: Border,
    *,
    max_steps: int,
    tolerance: float,
) -> DualSolution:
    """Minimise ``term(v) - targets v`` for a smooth term: `damped_newton` without a barrier."""

    def alone(v: np.ndarray, weight: float) -> DualTerm:
        return term(v)

    limits = {"max_steps": max_steps, "tolerance": tolerance}
    return damped_newton(alone, targets, border, has_barrier=False, **limits)


def damped_newton(
    term: Weighted,
    targets: Float[np.ndarray, " n"],
    border: Border,
    *,
    start: Float[np.ndarray, " n"] | None = None,
    has_barrier: bool,
    max_steps: int,
    tolerance: float,
) -> DualSolution:
    """Minimise ``term(v) - targets v`` beside the border's columns.

    Newton steps are cut to where the term's quadratic model may be trusted, and then halved
    until the objective falls; a barrier's weight falls from 1 each time its minimum is near,
    and the last minimum is found closely.

    Parameters
    ----------
    term : callable
        The convex part, infinite outside its domain.
    targets : float array, shape (n,)
    border : Border
    start : float array, shape (n,), keyword-only, optional
        A point of the domain; 0 by default.
    has_barrier : bool, keyword-only
        Whether the term depends on the barrier weight.
    max_steps : int, keyword-only
    tolerance : float, keyword-only
        On the misfit relative to the targets; with a barrier, on its share of the gap.

    Returns
    -------
    DualSolution
        For a batch of one.
    """
    n, weight = len(targets), 1.0 if has_barrier else 0.0
    v = np.zeros(n) if start is None else np.array(start)
    b = np.zeros(border.columns.shape[1])
    here, solved, steps, before, last_decrement = term(v, weight), False, 0, np.inf, np.inf
    wanted = float(np.abs(targets).max(initial=0.0))
    size = max(wanted, float(np.abs(here.gradient).max(initial=0.0)))
    while steps < max_steps:
        steps += 1
        residual = here.gradient + border.columns @ b - targets
        missing = border.missing(v[None], b[None])[0]
        misfit = max(np.abs(each).max(initial=0.0) for each in (residual, missing))
        # What a full step no longer lowers is rounding.
        rounding = misfit <= 1e-9 * size and misfit > 0.5 * before
        if not has_barrier and (misfit <= tolerance * wanted or rounding):
            solved = True
            break
        before = misfit
        hessian = here.hessian()
        hessian = hessian + 1e-15 * np.trace(hessian) * np.eye(n)
        try:
            moved, shifted = border.solve(hessian[None], -residual[None], -missing[None])
        except np.linalg.LinAlgError:
            break
        direction, shift = moved[0], shifted[0]
        decrement = float(direction @ hessian @ direction) + 2.0 * float(border.cost(moved)[0])

        def objective(at: DualTerm, v: np.ndarray) -> float:
            return at.value + float(border.cost(v[None])[0]) - float(targets @ v)

        now = objective(here, v)
        noise = 1e-13 * (abs(here.value) + abs(float(targets @ v)))
        length = min(1.0, here.reach(direction))
        for _ in range(60):
            there = term(v + length * direction, weight)
            if objective(there, v + length * direction) <= now - 0.1 * length * decrement + noise:
                break
            length *= 0.5
        else:
            break
        v, b, here = v + length * direction, b + length * shift, there
        if has_barrier:
            last = weight * n <= tolerance
            still = decrement > 0.5 * last_decrement
            near = 1e-9 if still else 1e-14
            centred = decrement <= (near if last else 1e-3) * weight
            last_decrement = decrement
            solved = centred and last
            if solved:
                break
            if centred:
                weight *= 0.2
                here = term(v, weight)
    return DualSolution(v[None], b[None], steps, np.array([solved]), np.zeros(1, dtype=bool))


def one_sided_newton(
    term: Term,
    constraints: OneSided,
    border: Border,
    *,
    max_steps: int,
    tolerance: float,
) -> DualSolution:
    """Solve one-sided fits for any convex cost: signs become a logarithmic barrier.

    Parameters
    ----------
    term : callable
        The smooth part in v.
    constraints : OneSided
    border : Border
    max_steps, tolerance : keyword-only
        As in `damped_newton`.

    Returns
    -------
    DualSolution
        For a batch of one.
    """
    rows, signs, bounds = constraints.rows, constraints.signs, constraints.bounds
    n, m = len(border.columns), len(rows)

    def signed(x: np.ndarray, weight: float) -> DualTerm:
        if not np.all(x > 0):
            return DualTerm(np.inf, np.zeros(m), lambda: np.zeros((m, m)))
        at = term(spread(x[None], rows, signs, n)[0])

        def hessian() -> np.ndarray:
            curved = signs[:, None] * at.hessian()[rows][:, rows] * signs
            curved[np.arange(m), np.arange(m)] += weight / x**2
            return curved

        def reach(direction: np.ndarray) -> float:
            edge = float(longest_step(x[None], direction[None])[0, 0])
            whole = 1.0 if edge == 1.0 else 0.99 * edge
            return min(whole, at.reach(spread(direction[None], rows, signs, n)[0]))

        value = at.value - weight * float(np.log(x).sum())
        return DualTerm(value, signs * at.gradient[rows] - weight / x, hessian, reach)

    # Equal shares of both signs are orthogonal to an intercept.
    share = np.where(signs > 0, max(int(np.sum(signs > 0)), 1), max(int(np.sum(signs < 0)), 1))
    start = (1.0 + np.abs(bounds).max()) / share
    # v = 0 lies in every domain, so a small enough start does too.
    while not np.isfinite(signed(start, 1.0).value):
        start = 0.5 * start
    found = damped_newton(
        signed,
        bounds,
        border.signed(constraints),
        start=start,
        has_barrier=True,
        max_steps=max_steps,
        tolerance=tolerance,
    )
    return replace(found, multipliers=spread(found.multipliers, rows, signs, n))


def interior_point(
    hessian: Float[np.ndarray, "B n n"],
    constraints: OneSided,
    border: Border,
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
    border : Border
    max_steps : int, keyword-only, default 200
    tolerance : float, keyword-only, default 1e-12
        On the complementarity gap relative to the objective, and on the residuals.

    Returns
    -------
    DualSolution
        Infeasible where multipliers run off along a direction that the kernel does not see.
    """
    rows, signs, bounds = constraints.rows, constraints.signs, constraints.bounds
    batch, n, m = len(hessian), len(border.columns), len(rows)
    border = border.signed(constraints)
    signed = signs[:, None] * hessian[:, rows][:, :, rows] * signs
    weight = np.abs(signed)
    size = 1.0 + np.abs(bounds).max()
    x, s = np.full((batch, m), size / m), np.ones((batch, m))
    b = np.zeros((batch, border.columns.shape[1]))
    solved, infeasible = np.zeros(batch, dtype=bool), np.zeros(batch, dtype=bool)
    steps = 0
    for _ in range(max_steps):
        steps += 1
        pulled = np.einsum("Bij,Bj->Bi", signed, x)
        residual = pulled + b @ border.columns.T - bounds - s
        residual_border = border.missing(x, b)
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
            & (np.abs(residual_border).max(axis=1, initial=0.0) <= 1e-9 * total)
            & (total > 1e4 * size)
            & ~solved
        )
        active = ~(solved | infeasible)
        if not active.any():
            break
        curved = signed.copy()
        # As much as rounding: without it, a kernel that lost digits may be singular.
        curved[:, np.arange(m), np.arange(m)] += s / x + EPS
        dx, db = border.solve(curved, -residual - s, -residual_border)
        ds = -s - s / x * dx
        after_x, after_s = x + longest_step(x, dx) * dx, s + longest_step(s, ds) * ds
        after = np.einsum("Bm,Bm->B", after_x, after_s) / m
        target = np.clip(after / mu, 1e-4, 1.0) ** 3 * mu
        aim = (target[:, None] - x * s - dx * ds) / x
        dx, db = border.solve(curved, -residual + aim, -residual_border)
        ds = aim - s / x * dx
        step_x, step_s = 0.995 * longest_step(x, dx), 0.995 * longest_step(s, ds)
        move = active[:, None]
        x = np.where(move, x + step_x * dx, x)
        s = np.where(move, s + step_s * ds, s)
        b = np.where(move, b + step_s * db, b)
    v = spread(x, rows, signs, n)
    return DualSolution(v, b, steps, solved, infeasible, x > s)


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
