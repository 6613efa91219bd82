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
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import get_lapack_funcs

from partwhole.limits.costs._cost import DualTerm
from partwhole.limits.fits import OneSided

EPS = float(np.finfo(float).eps)

# From multipliers (n,): the conjugate, the slack's part included.
Term = Callable[[np.ndarray], DualTerm]
# Of the largest pivot: what is smaller belongs to a direction that the Hessian does not see.
LOST = 1e-7
# Of the targets: from this misfit on a Hessian serves as long as each step gains so much.
CLOSE, GAINED = 1e-2, 0.1


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
        sides = np.concatenate([right[:, :, None], tiled], axis=2)
        try:
            solved = np.linalg.solve(hessian, sides)
        except np.linalg.LinAlgError:
            # One that rounding made singular would else end the whole batch.
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
    """Minimise ``term(v) - targets v`` beside the border's columns: Newton's method, damped.

    Steps are cut to where the term's quadratic model may be trusted, and then halved until the
    objective falls. Near the solution one factorisation serves several steps (the chord method),
    down to rounding. Where the Hessian loses rank, as it does where a conjugate is flat, it is
    regularised in proportion to the misfit, so that the last steps are Newton's (Li, Sun & Toh
    2018 do so for the lasso).

    Parameters
    ----------
    term : callable
        The convex part, infinite outside its domain.
    targets : float array, shape (n,)
        Of a size of about 1.
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
    here, solved, steps, before = term(v), False, 0, np.inf
    hessian = factor = None
    (solve_factored,) = get_lapack_funcs(("potrs",), (v,))
    wanted = float(np.abs(targets).max(initial=0.0))
    size = max(wanted, float(np.abs(here.gradient).max(initial=0.0)))

    def objective(at: DualTerm, v: np.ndarray) -> float:
        return at.value + float(border.cost(v[None])[0]) - float(targets @ v)

    while True:
        residual = here.gradient + border.columns @ b - targets
        missing = border.missing(v[None], b[None])[0]
        misfit = max(np.abs(part).max(initial=0.0) for part in (residual, missing))
        # What a full step no longer lowers is rounding.
        rounding = misfit <= 1e-11 * size and misfit > 0.5 * before
        solved = misfit <= tolerance * wanted or rounding
        serves = factor is not None and misfit <= min(CLOSE * wanted, GAINED * before)
        if (solved and not serves) or steps >= max_steps:
            break
        steps += 1
        before = misfit
        if hessian is None or not serves:
            hessian, factor = _regular(here.hessian(), misfit)
        if factor is not None and not len(b):
            direction, shift = solve_factored(factor, -residual, lower=1)[0], b
        else:
            try:
                moved, shifted = border.solve(hessian[None], -residual[None], -missing[None])
            except np.linalg.LinAlgError:
                break
            direction, shift = moved[0], shifted[0]
        if not np.isfinite(direction).all():
            break
        extra = 2.0 * float(border.cost(direction[None])[0])
        decrement = float(direction @ hessian @ direction) + extra
        now = objective(here, v)
        noise = 1e-13 * (abs(here.value) + abs(float(targets @ v)))
        length = min(1.0, here.reach(direction))
        for _ in range(60):
            there = term(v + length * direction)
            lowest = objective(there, v + length * direction)
            if lowest <= now - 0.1 * length * decrement + noise:
                break
            length *= 0.5
        else:
            break
        # Where a conjugate is flat its curvature does not say how far to go: as long as the
        # objective falls, twice as far.
        while factor is None and length >= 1.0 and here.reach(direction) > 2.0 * length:
            beyond = term(v + 2.0 * length * direction)
            lower = objective(beyond, v + 2.0 * length * direction)
            if not lower < lowest - noise:
                break
            length, there, lowest = 2.0 * length, beyond, lower
        v, b, here = v + length * direction, b + length * shift, there
    return DualSolution(v[None], b[None], steps, np.array([solved]), np.zeros(1, dtype=bool))


def _regular(
    hessian: Float[np.ndarray, "n n"], misfit: float
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n n"] | None]:
    """Return the Hessian and its Cholesky factor.

    Where it has lost its rank, a multiple of the identity is added and there is no factor.
    """
    n = len(hessian)
    mean = float(np.trace(hessian)) / n
    hessian = hessian + 1e-15 * n * mean * np.eye(n)
    try:
        factor = np.linalg.cholesky(hessian)
        heights = np.diagonal(factor)
        if heights.min() > LOST * heights.max():
            return hessian, factor
    except np.linalg.LinAlgError:
        pass
    return hessian + min(1.0, misfit) * (mean or 1.0) * np.eye(n), None


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
