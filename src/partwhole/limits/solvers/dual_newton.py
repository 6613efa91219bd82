r"""Damped Newton method on the dual, for convex costs and all fits.

.. math:: \max_v\; \langle y, v\rangle - R^*(A^T v) - \tfrac12 \sum_i s_i v_i^2
          \quad\text{with}\quad Z^T v = 0,

with v free for equalities, and :math:`v = \sum_j \pm x_j e_{row(j)}` with :math:`x \ge 0` for
one-sided fits. Columns of cost zero (a free intercept) appear only as the condition
:math:`Z^T v = 0`, whose multiplier is the intercept; with a penalty
:math:`\tfrac12 \lambda b^2` the condition is :math:`Z^T v = \lambda b`. Derived here; the
interior-point steps follow Mehrotra's predictor-corrector.

Solutions and quadratic problems have a leading batch axis B, so that many problems of the same
size are solved at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import get_lapack_funcs

from partwhole.limits.costs._cost import DualTerm
from partwhole.limits.fits import OneSided

EPS = float(np.finfo(float).eps)

# From multipliers (n,) to the conjugate plus the slack's term.
Term = Callable[[np.ndarray], DualTerm]
# From the right-hand side, and that of the border, to a step of both.
Solve = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
# Relative to the largest pivot: a Hessian with a smaller one has lost rank.
SMALLEST_PIVOT = 1e-7
# A Hessian is used again (the chord method) while the misfit is below the first number, relative
# to the targets, and each step reduces it to at most the second.
CHORD_MISFIT, CHORD_GAIN = 1e-2, 1e-2


@dataclass(frozen=True, eq=False)
class DualSolution:
    """Solution of the dual problem, for each problem of a batch.

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
        Multipliers of the bounds of a norm.
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
    """Columns outside the features, whose coefficients are multipliers of the dual's conditions.

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
        """Return the border with one signed row for each one-sided constraint."""
        return Border(constraints.signs[:, None] * self.columns[constraints.rows], self.penalty)

    def cost(self, v: np.ndarray) -> np.ndarray:
        """Return ``|Z' v|^2 / (2 lambda)``, the conjugate of the penalty; 0 without a penalty."""
        if self.penalty == 0.0:
            return np.zeros(len(v))
        return np.sum((v @ self.columns) ** 2, axis=1) / (2.0 * self.penalty)

    def missing(self, v: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return ``Z' v - lambda b``, which is 0 at a solution; shape (B, q)."""
        return v @ self.columns - self.penalty * b

    def balanced(self, v: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return multipliers with Z' v = 0, each changed by the smallest share of itself.

        They keep their signs; where that is not possible they are all 0.
        """
        factors, weighted = np.ones(len(v)), (self.columns * v[:, None]).T
        for _ in range(2):
            factors = factors - np.linalg.lstsq(weighted, weighted @ factors, rcond=1e-12)[0]
        return v * factors if (factors >= 0).all() else np.zeros_like(v)

    def system(self, hessian: Float[np.ndarray, "n n"]) -> Solve:
        """Return the solution of [H Z; Z' -lambda] (d, e) = (right, right_border), factored once.

        H is positive semidefinite up to rounding. If it is singular, it is regularised slightly.
        """
        (factorise,) = get_lapack_funcs(("potrf",), (hessian,))
        factor, failed = factorise(hessian.T, lower=1)
        if not failed:
            return self.around(_by_cholesky(factor))
        factorise, solve = get_lapack_funcs(("getrf", "getrs"), (hessian,))
        factor, pivots, singular = factorise(hessian)
        if singular:
            ridge = 1e-12 * np.diagonal(hessian).max() * np.eye(len(hessian))
            factor, pivots, singular = factorise(hessian + ridge)
            if singular:
                raise np.linalg.LinAlgError("a Hessian that is singular")
        return self.around(lambda right: solve(factor, pivots, right)[0])

    def around(self, solve: Callable[[np.ndarray], np.ndarray]) -> Solve:
        """Return the solution of the system with the border, given that of H d = right."""
        columns, q = self.columns, self.columns.shape[1]
        if q == 0:
            return lambda right, right_border: (solve(right), np.zeros(0))
        through = solve(columns)
        complement = columns.T @ through + self.penalty * np.eye(q)

        def bordered(right: np.ndarray, right_border: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            direction = solve(right)
            shift = np.linalg.solve(complement, columns.T @ direction - right_border)
            return direction - through @ shift, shift

        return bordered

    def systems(self, hessians: Float[np.ndarray, "B n n"]) -> Solve:
        """Return the solutions of `system` for a batch; that of one is factored once."""
        if len(hessians) > 1:
            return lambda right, right_border: self._solved(hessians, right, right_border)
        solve = self.system(hessians[0])

        def alone(right: np.ndarray, right_border: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            direction, shift = solve(right[0], right_border[0])
            return direction[None], shift[None]

        return alone

    def _solved(
        self, hessian: np.ndarray, right: np.ndarray, right_border: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        q = self.columns.shape[1]
        tiled = np.broadcast_to(self.columns, (len(right), *self.columns.shape))
        sides = np.concatenate([right[:, :, None], tiled], axis=2)
        try:
            solved = np.linalg.solve(hessian, sides)
        except np.linalg.LinAlgError:
            # If rounding made one Hessian of the batch singular, all are regularised slightly.
            largest = np.diagonal(hessian, axis1=1, axis2=2).max(axis=1)
            ridge = 1e-12 * largest[:, None, None] * np.eye(hessian.shape[1])
            solved = np.linalg.solve(hessian + ridge, sides)
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
    """Return the minimum of ``term(v) - targets v`` with the border, by damped Newton steps.

    Steps are limited to the range in which the term's quadratic model is accurate, and halved until
    the objective falls. Near the solution one factorisation is used for several steps (the chord
    method), down to rounding. Where the Hessian loses rank, because the conjugate is flat, it is
    regularised in proportion to the misfit, so that the last steps are those of Newton's method
    (Li, Sun & Toh 2018 use this for the lasso).

    Parameters
    ----------
    term : callable
        A convex function, infinite outside its domain.
    targets : float array, shape (n,)
        Scaled to a size of about 1.
    border : Border
    max_steps : int, keyword-only
    tolerance : float, keyword-only
        On the misfit relative to the targets.

    Returns
    -------
    DualSolution
        For a batch of one.
    """
    n = len(targets)
    v, b = np.zeros(n), np.zeros(border.columns.shape[1])
    current, solved, steps, before = term(v), False, 0, np.inf
    hessian = solve = None
    is_flat = False
    largest_target = float(np.abs(targets).max(initial=0.0))
    size = max(largest_target, float(np.abs(current.gradient).max(initial=0.0)))

    def objective(at: DualTerm, v: np.ndarray) -> float:
        return at.value + float(border.cost(v[None])[0]) - float(targets @ v)

    while True:
        residual = current.gradient + border.columns @ b - targets
        missing = border.missing(v[None], b[None])[0]
        misfit = max(np.abs(part).max(initial=0.0) for part in (residual, missing))
        # A small misfit that a step hardly reduces consists of rounding.
        rounding = misfit <= 1e-11 * size and misfit > 0.5 * before
        solved = misfit <= tolerance * largest_target or rounding
        serves = (
            solve is not None
            and not is_flat
            and misfit <= min(CHORD_MISFIT * largest_target, CHORD_GAIN * before)
        )
        if (solved and not serves) or steps >= max_steps:
            break
        steps += 1
        before = misfit
        try:
            if hessian is None or solve is None or not serves:
                hessian, factor = _regularised(current.hessian(), misfit)
                is_flat = factor is None
                solve = (
                    border.system(hessian)
                    if factor is None
                    else border.around(_by_cholesky(factor))
                )
            direction, shift = solve(-residual, -missing)
        except np.linalg.LinAlgError:
            break
        if not np.isfinite(direction).all():
            break
        extra = 2.0 * float(border.cost(direction[None])[0])
        decrement = float(direction @ hessian @ direction) + extra
        value = objective(current, v)
        noise = 1e-13 * (abs(current.value) + abs(float(targets @ v)))
        # A step of the chord method is short, so it is tried whole; a longer one is limited.
        length = 1.0 if serves else min(1.0, current.reach(direction))
        for _ in range(60):
            candidate = term(v + length * direction)
            lowest = objective(candidate, v + length * direction)
            if lowest <= value - 0.1 * length * decrement + noise:
                break
            length *= 0.5
        else:
            break
        # Where a conjugate is flat its curvature does not say how far to go: as long as the
        # objective falls, twice as far.
        while is_flat and length >= 1.0 and current.reach(direction) > 2.0 * length:
            farther = term(v + 2.0 * length * direction)
            lower = objective(farther, v + 2.0 * length * direction)
            if not lower < lowest - noise:
                break
            length, candidate, lowest = 2.0 * length, farther, lower
        v, b, current = v + length * direction, b + length * shift, candidate
    return DualSolution(v[None], b[None], steps, np.array([solved]), np.zeros(1, dtype=bool))


def _by_cholesky(factor: Float[np.ndarray, "n n"]) -> Callable[[np.ndarray], np.ndarray]:
    """Return the solution of H d = right, given the lower Cholesky factor of H."""
    (solve,) = get_lapack_funcs(("potrs",), (factor,))
    return lambda right: solve(factor, right, lower=1)[0]


def _regularised(
    hessian: Float[np.ndarray, "n n"], misfit: float
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n n"] | None]:
    """Return the Hessian and its Cholesky factor.

    If the Hessian has lost rank, a multiple of the identity is added and the factor is None.
    """
    n, hessian = len(hessian), hessian.copy()
    mean = float(np.trace(hessian)) / n
    hessian[np.diag_indices(n)] += 1e-15 * n * mean
    (factorise,) = get_lapack_funcs(("potrf",), (hessian,))
    factor, failed = factorise(hessian.T, lower=1)
    heights = np.diagonal(factor)
    if not failed and heights.min() > SMALLEST_PIVOT * heights.max():
        return hessian, factor
    return hessian + min(1.0, misfit) * (mean or 1.0) * np.eye(n), None


def interior_point(
    hessian: Float[np.ndarray, "B n n"],
    constraints: OneSided,
    border: Border,
    *,
    max_steps: int = 200,
    tolerance: float = 1e-12,
) -> DualSolution:
    """Return the dual solutions of quadratic one-sided fits by Mehrotra's predictor-corrector.

    Parameters
    ----------
    hessian : float array, shape (B, n, n)
        Kernel and slack, scaled so that the diagonal is about 1.
    constraints : OneSided
        The same for the whole batch.
    border : Border
    max_steps : int, keyword-only, default 200
    tolerance : float, keyword-only, default 1e-12
        On the complementarity gap relative to the objective, and on the residuals.

    Returns
    -------
    DualSolution
        Infeasible where multipliers diverge along a null direction of the kernel.
    """
    rows, signs, bounds = constraints.rows, constraints.signs, constraints.bounds
    batch, n, m = len(hessian), len(border.columns), len(rows)
    border = border.signed(constraints)
    signed = constraints.between(hessian)
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
        # Outputs of large multipliers that cancel have a rounding error that no step can reduce.
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
        # EPS is as large as the kernel's own rounding, without which it might be singular.
        curved[:, np.arange(m), np.arange(m)] += s / x + EPS
        solve = border.systems(curved)
        dx, db = solve(-residual - s, -residual_border)
        ds = -s - s / x * dx
        after_x, after_s = x + longest_step(x, dx) * dx, s + longest_step(s, ds) * ds
        after = np.einsum("Bm,Bm->B", after_x, after_s) / m
        target = np.clip(after / mu, 1e-4, 1.0) ** 3 * mu
        aim = (target[:, None] - x * s - dx * ds) / x
        dx, db = solve(-residual + aim, -residual_border)
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
    """Return the multiplier of each row: the signed sum over its constraints."""
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
