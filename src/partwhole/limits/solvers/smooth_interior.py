"""One-sided fits of smooth convex costs, by a primal-dual interior-point method on the dual."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.limits.costs._cost import DualTerm
from partwhole.limits.fits import OneSided
from partwhole.limits.solvers.barrier import barrier
from partwhole.limits.solvers.dual_newton import Border, DualSolution, Term, longest_step, spread


def smooth_interior_point(
    term: Term,
    constraints: OneSided,
    border: Border,
    *,
    max_steps: int,
    tolerance: float,
) -> DualSolution:
    r"""Return the dual solution of a one-sided fit of a smooth convex cost.

    With multipliers x and excesses s of the constraints, Newton steps reduce

    .. math:: \nabla f(x) + Z b - bounds - s, \qquad Z^T x - \lambda b, \qquad x s - \mu

    together, and are halved until the norm of these three falls (Boyd & Vandenberghe 2004,
    section 11.7), while :math:`\mu` goes to 0. If the norm stops falling, which may happen where a
    conjugate is flat, the barrier method is used instead.

    Parameters
    ----------
    term : callable
        The smooth convex function of v.
    constraints : OneSided
        With bounds scaled to a size of about 1.
    border : Border
    max_steps : int, keyword-only
    tolerance : float, keyword-only
        On the products of multipliers and excesses, relative to the objective, and on misfits.

    Returns
    -------
    DualSolution
        For a batch of one.
    """
    n, columns = len(border.columns), border.signed(constraints)
    x = _start(term, constraints, n)
    path = _follow_path(term, constraints, columns, n, x, max_steps=max_steps, tolerance=tolerance)
    if path.solved[0]:
        return path
    by_barrier = barrier(term, constraints, columns, n, x, one_sided=True, max_steps=max_steps)
    return by_barrier if by_barrier.solved[0] else path


def _size(term: Term, constraints: OneSided, n: int) -> float:
    """Return the size of the outputs: of the bounds, or of the outputs at multipliers of 0."""
    at_zero = float(np.abs(term(np.zeros(n)).gradient).max())
    return max(float(np.abs(constraints.bounds).max(initial=0.0)), at_zero) or 1.0


def _start(term: Term, constraints: OneSided, n: int) -> Float[np.ndarray, " m"]:
    """Return positive multipliers whose outputs are not much larger than the bounds."""
    rows, signs = constraints.rows, constraints.signs
    at_zero, size = term(np.zeros(n)).gradient, _size(term, constraints, n)
    # Both signs have the same total, so the multipliers are orthogonal to an intercept.
    x = 1.0 / np.where(signs > 0, max(int(np.sum(signs > 0)), 1), max(int(np.sum(signs < 0)), 1))
    for _ in range(200):
        trial = term(spread(x[None], rows, signs, n)[0])
        if np.isfinite(trial.value) and np.abs(trial.gradient - at_zero).max() <= 10.0 * size:
            break
        x = 0.5 * x
    return x


def _follow_path(
    term: Term,
    constraints: OneSided,
    columns: Border,
    n: int,
    x: Float[np.ndarray, " m"],
    *,
    max_steps: int,
    tolerance: float,
) -> DualSolution:
    """Return the end of the path: the solution, or the point at which it stalls."""
    rows, signs, bounds = constraints.rows, constraints.signs, constraints.bounds
    m, size = len(rows), _size(term, constraints, n)

    def at(x: np.ndarray) -> DualTerm:
        return term(spread(x[None], rows, signs, n)[0])

    current = at(x)
    s, b = np.full(m, size), np.zeros(columns.columns.shape[1])
    solved, steps, stalled = False, 0, 0

    def residuals(at: DualTerm, x: np.ndarray, s: np.ndarray, b: np.ndarray, mu: float):
        misfit = signs * at.gradient[rows] + columns.columns @ b - bounds - s
        return misfit, columns.missing(x[None], b[None])[0], x * s - mu

    mu = float(x @ s) / m
    best = np.inf
    while True:
        misfit, missing, product = residuals(current, x, s, b, 0.0)
        scale = max(1e-300, abs(float(bounds @ x)), abs(current.value))
        worst = max(
            float(x @ s) / scale,
            float(np.abs(misfit).max()) / size,
            float(np.abs(missing).max(initial=0.0)) / max(float(x.sum()), 1e-300),
        )
        stalled = 0 if worst < 0.9 * best else stalled + 1
        best = min(best, worst)
        solved = worst <= tolerance or (worst <= 1e-9 and stalled > 3)
        if solved or steps >= max_steps or stalled > 60:
            break
        steps += 1
        curved = constraints.between(current.hessian())
        curved[np.arange(m), np.arange(m)] += s / x + 1e-15 * np.trace(curved) / m
        mean = float(x @ s) / m
        # Far from the path mu falls slowly, so that the products become even; near it mu falls by
        # up to a thousand times in one step.
        even = float((x * s).min()) / mean
        lag = float(np.abs(misfit).max()) / size / max(mean * m / scale, 1e-300)
        mu = (
            mean
            * (0.5 if even < 1e-3 else max(1e-3, min(0.1, worst)))
            * max(1.0, min(lag, 2.0) / 2.0)
        )
        misfit, missing, product = residuals(current, x, s, b, mu)
        try:
            dx, db = columns.system(curved)(-misfit - product / x, -missing)
        except np.linalg.LinAlgError:
            break
        ds = -(product + s * dx) / x
        if not (np.isfinite(dx).all() and np.isfinite(ds).all()):
            break
        length = float(
            min(longest_step(x[None], dx[None])[0, 0], longest_step(s[None], ds[None])[0, 0])
        )
        length = 1.0 if length == 1.0 else 0.99 * length
        length = min(length, current.reach(spread(dx[None], rows, signs, n)[0]))
        norm = _norm(misfit / size, missing, product)
        for _ in range(50):
            candidate = at(x + length * dx)
            if np.isfinite(candidate.value):
                after = residuals(candidate, x + length * dx, s + length * ds, b + length * db, mu)
                if _norm(after[0] / size, *after[1:]) <= (1.0 - 0.01 * length) * norm + 1e-15:
                    break
            length *= 0.5
        else:
            break
        x, s, b, current = x + length * dx, s + length * ds, b + length * db, candidate
    v = spread(x[None], rows, signs, n)
    return DualSolution(v, b[None], steps, np.array([solved]), np.zeros(1, dtype=bool))


def _norm(*parts: np.ndarray) -> float:
    return float(np.sqrt(sum(float(part @ part) for part in parts)))
