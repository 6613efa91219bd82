r"""Primal-dual interior-point method for costs that are norms.

.. math:: \max_v\; \langle y, v\rangle - \tfrac12 \sum_i s_i v_i^2
          \quad\text{with}\quad Q_g(v) \succeq 0, \quad Z^T v = 0,

and, for one-sided fits, :math:`v = \sum_j \pm x_j e_{row(j)}` with :math:`x \ge 0`. The
multipliers of the bounds, the prices :math:`S_g \succeq 0`, give the coefficients; the excess
:math:`e_j` is the amount by which an output exceeds its margin. At the solution all products
:math:`S_g Q_g` and :math:`x_j e_j` are 0. The method follows the path on which
:math:`S_g Q_g = \mu I` and :math:`x_j e_j = \mu`, while :math:`\mu` falls to 0. Steps are those of
Newton's method with the scaling of Nesterov and Todd, and with the choice of :math:`\mu` and the
second-order correction of Mehrotra. Derived here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole.limits.costs._cost import Bounds, DualTerm
from partwhole.limits.fits import OneSided
from partwhole.limits.solvers.barrier import OVERFLOWING, barrier
from partwhole.limits.solvers.dual_newton import Border, DualSolution, spread

DIVERGED = 1e10  # an objective that grows by this factor has no bound
LEAST_EVENNESS = 1e-3  # every product is at least this share of their mean
CANCELLED = 1e6  # equal multipliers whose step is so many times longer have pulls that cancel
LARGEST_LAG = 10.0  # the relative misfit is at most so many times the relative gap
# A step that reduces the misfit by a factor leaves at least this share of the gap times the factor.
LEAST_GAP_SHARE = 0.3
FINEST_TOLERANCE = 1e-11  # smallest tolerance that the steps can reach
SMALLEST_ROOM = 1e-18  # a smaller room, of at most 1/2, is rounding
# A smaller gap and misfit that steps no longer reduce are rounding.
ACCEPTED = 1e-7
PATIENCE = 12  # steps without progress before the path ends


@dataclass(frozen=True, eq=False)
class _Point:
    """Point on the path, or a step along it.

    Parameters
    ----------
    x, excess : float arrays, shape (m,)
        Multipliers of the constraints, and the amounts by which outputs exceed the margins; for
        equalities the excess is empty.
    border : float array, shape (q,)
        Coefficients of the border's columns.
    prices : float array, shape (G, R, R)
        Multipliers of the bounds.
    """

    x: Float[np.ndarray, " m"]
    excess: Float[np.ndarray, " m2"]
    border: Float[np.ndarray, " q"]
    prices: Float[np.ndarray, "G R R"]

    def after(self, step: _Point, length: float) -> _Point:
        return _Point(
            self.x + length * step.x,
            self.excess + length * step.excess,
            self.border + length * step.border,
            self.prices + length * step.prices,
        )


@dataclass(frozen=True, eq=False)
class _Problem:
    """Dual problem of a norm, with its rows as constraints on their outputs."""

    term: Callable[[np.ndarray], DualTerm]
    n: int
    constraints: OneSided
    border: Border
    one_sided: bool

    def multipliers(self, x: np.ndarray) -> np.ndarray:
        return spread(x[None], self.constraints.rows, self.constraints.signs, self.n)[0]

    def signed_outputs(self, outputs: np.ndarray) -> np.ndarray:
        """Return the output of each constraint's row, times the constraint's sign."""
        return self.constraints.signs * outputs[self.constraints.rows]

    def at(self, x: np.ndarray) -> tuple[DualTerm, Bounds]:
        term = self.term(self.multipliers(x))
        assert term.bounds is not None
        return term, term.bounds


def primal_dual(
    term: Callable[[np.ndarray], DualTerm],
    targets: Float[np.ndarray, " n"],
    constraints: OneSided | None,
    border: Border,
    *,
    max_steps: int,
    tolerance: float,
) -> DualSolution:
    """Return the minimum of ``term(v) - targets v`` within the term's bounds, with the border.

    Parameters
    ----------
    term : callable
        The slack's term, smooth and convex, with the bounds of the cost.
    targets : float array, shape (n,)
        Targets of equalities; the bounds of `constraints` replace them for one-sided fits.
    constraints : OneSided or None
    border : Border
    max_steps : int, keyword-only
    tolerance : float, keyword-only
        On the gap relative to the objective, and on the misfit relative to the targets.

    Returns
    -------
    DualSolution
        For a batch of one, with the prices. Not solved where multipliers diverged, as they do if
        no function fits.
    """
    n, one_sided = len(targets), constraints is not None
    rows = constraints or OneSided(np.arange(n), np.ones(n), targets)
    problem = _Problem(term, n, rows, border.signed(rows), one_sided)
    solution = _follow_path(
        problem, max_steps=max_steps, tolerance=max(tolerance, FINEST_TOLERANCE)
    )
    if solution.solved[0]:
        return solution
    start = _start(problem)
    if start is None:
        return solution
    by_barrier = barrier(
        term, rows, problem.border, n, _orthogonal_to_intercept(start.x, problem),
        one_sided=one_sided, max_steps=max_steps,
    )  # fmt: skip
    return by_barrier if by_barrier.solved[0] else solution


def _orthogonal_to_intercept(x: np.ndarray, problem: _Problem) -> np.ndarray:
    """Return multipliers within the bounds that are orthogonal to a free intercept's columns.

    If none of several columns allows it, they stay as they are, and Newton's steps see to it.
    """
    columns = problem.border.columns
    if columns.shape[1] == 0 or problem.border.penalty > 0:
        return x
    if columns.shape[1] > 1:
        y = problem.border.balanced(x)
        wall = problem.at(np.zeros_like(x))[1].reach(problem.multipliers(y)) if y.all() else 0.0
        return y * min(1.0, 0.5 * wall) if wall > 0.0 else x
    column = columns[:, 0]
    if not problem.one_sided:
        y = x - column * float(column @ x) / float(column @ column)
        return y * min(1.0, 0.5 * problem.at(np.zeros_like(x))[1].reach(problem.multipliers(y)))
    up, down = float(x[column > 0] @ column[column > 0]), -float(x[column < 0] @ column[column < 0])
    y = x * np.where(column > 0, min(up, down) / up, min(up, down) / down)
    return y * min(1.0, 0.5 * problem.at(np.zeros_like(x))[1].reach(problem.multipliers(y)))


def _follow_path(problem: _Problem, *, max_steps: int, tolerance: float) -> DualSolution:
    """Return the end of the path: the solution, or the best point before it stalls."""
    rows, border, one_sided = problem.constraints, problem.border, problem.one_sided
    point = _start(problem)
    if point is None:
        _, bounds = problem.at(np.zeros(len(rows.rows)))
        zeros = np.zeros(len(rows.rows))
        has_target = bool(np.any(rows.bounds > 0.0 if one_sided else rows.bounds))
        origin = _Point(zeros, zeros, np.zeros(border.columns.shape[1]), 0.0 * bounds.room)
        return _solution(problem, origin, 0, solved=not has_target)
    first, best, solved, steps = float(np.abs(rows.bounds) @ np.abs(point.x)), np.inf, False, 0
    nearest, since = point, 0
    while steps < max_steps:
        steps += 1
        term_here, bounds = problem.at(point.x)
        newton = _Newton(problem, point, term_here, bounds)
        worst = newton.distance()
        solved = worst <= tolerance or (worst <= ACCEPTED and worst > 0.5 * best)
        since = 0 if worst < 0.9 * best else since + 1
        if worst < best:
            best, nearest = worst, point
        if solved or since > PATIENCE or abs(float(rows.bounds @ point.x)) > DIVERGED * first:
            break
        try:
            step = newton.step()
        except np.linalg.LinAlgError:
            break
        point = newton.along(step)
    return _solution(problem, nearest, steps, solved=solved or best <= ACCEPTED)


def _start(problem: _Problem) -> _Point | None:
    """Return the start: half way to the bounds along the targets; None if there is no bound.

    If the pulls of all targets cancel, only rounding would reach the bounds, at a multiple that
    has no meaning. Uneven multipliers are then used, whose pulls do not cancel.
    """
    row_bounds = problem.constraints.bounds
    unit = float(np.abs(row_bounds).max(initial=0.0))
    x = row_bounds / (unit or 1.0)
    if problem.one_sided:
        # Positive for all constraints, and unequal for the two sides of a tube, whose equal
        # multipliers would cancel.
        x = np.where(x > 0.0, x, 0.5)
    _, bounds = problem.at(np.zeros_like(x))
    uneven = x * (1.0 + 0.5 * np.cos(np.arange(len(x))))
    wall, uneven_wall = (bounds.reach(problem.multipliers(direction)) for direction in (x, uneven))
    if wall > CANCELLED * uneven_wall:
        x, wall = uneven, uneven_wall
    if unit == 0.0 or not np.isfinite(wall):
        return None
    x = 0.5 * wall * x
    _, bounds = problem.at(x)
    whole = np.broadcast_to(np.eye(bounds.room.shape[1]), bounds.room.shape)
    prices = whole * (unit / max(float(np.abs(bounds.outputs(whole)).mean()), 1e-300))
    excess = np.zeros(0)
    if problem.one_sided:
        excess = np.maximum(problem.signed_outputs(bounds.outputs(prices)) - row_bounds, unit)
    return _Point(x, excess, np.zeros(problem.border.columns.shape[1]), prices)


def _solution(problem: _Problem, point: _Point, steps: int, *, solved: bool) -> DualSolution:
    return DualSolution(
        problem.multipliers(point.x)[None],
        point.border[None],
        steps,
        np.array([solved]),
        np.zeros(1, dtype=bool),
        prices=point.prices,
    )


class _Newton:
    """Newton's method at one point of the path: the residuals there, and the next step."""

    def __init__(self, problem: _Problem, point: _Point, term: DualTerm, bounds: Bounds) -> None:
        self.problem, self.point, self.term, self.bounds = problem, point, term, bounds
        outputs = problem.signed_outputs(term.gradient + bounds.outputs(point.prices))
        self.residual = outputs + problem.border.columns @ point.border - problem.constraints.bounds
        if problem.one_sided:
            self.residual = self.residual - point.excess
        self.missing = problem.border.missing(point.x[None], point.border[None])[0]
        self.gap = self._gap(point, bounds)
        products = self._products(point, bounds)
        self.evenness = float(products.min() / max(products.mean(), 1e-300))

    def _gap(self, point: _Point, bounds: Bounds) -> float:
        rows = float(point.x @ point.excess) if self.problem.one_sided else 0.0
        return float(np.sum(point.prices * bounds.room)) + rows

    def distance(self) -> float:
        """Return the largest of gap and misfits, each relative to the size of its terms."""
        return max(self._relative())

    def _relative(self) -> tuple[float, float]:
        row_bounds, x = self.problem.constraints.bounds, self.point.x
        return self.gap / max(abs(float(row_bounds @ x)), 1e-300), max(
            float(np.abs(self.residual).max()) / float(np.abs(row_bounds).max()),
            float(np.abs(self.missing).max(initial=0.0)) / max(float(np.abs(x).max()), 1e-300),
        )

    def reach(self, step: _Point) -> float:
        """Return the multiple of a step at which the first positive quantity reaches 0."""
        return min(
            self.bounds.reach(self.problem.multipliers(step.x)),
            _until_singular(self.point.prices, step.prices),
            _until_zero(self.point.x, step.x) if self.problem.one_sided else np.inf,
            _until_zero(self.point.excess, step.excess),
        )

    def along(self, step: _Point) -> _Point:
        """Return the point after a step, shortened so that it stays near the path.

        No product may become much smaller than the others, and the gap not much smaller than the
        misfit: near the bounds later steps would be too short to remove the misfit. As the room is
        quadratic in v, its products must be computed at the new point.
        """
        length = min(1.0, 0.99 * self.reach(step))
        candidate = self.point
        for _ in range(30):
            candidate = self.point.after(step, length)
            bounds = self.problem.at(candidate.x)[1]
            products = self._products(candidate, bounds)
            mean = float(products.mean())
            even = float(products.min()) >= min(LEAST_EVENNESS, 0.5 * self.evenness) * mean
            # Evenness compares the products; the gap is their sum over all groups and rows.
            if even and self._gap(candidate, bounds) >= LEAST_GAP_SHARE * (1.0 - length) * self.gap:
                break
            length *= 0.7
        return candidate

    def _products(self, point: _Point, bounds: Bounds) -> np.ndarray:
        groups = np.sum(point.prices * bounds.room, axis=(1, 2)) / bounds.room.shape[1]
        return np.concatenate([groups, point.x * point.excess if self.problem.one_sided else []])

    def step(self) -> _Point:
        """Return the step to a smaller mu, with Mehrotra's correction.

        A first step aims at mu = 0 (the predictor). How far it gets determines the mu to aim at,
        and its curvature the correction.
        """
        point, room = self.point, self.bounds.room
        self._factor()
        straight, room_slope = self._step_to(0.0, 0.0, 0.0)
        length = min(1.0, self.reach(straight))
        end = point.after(straight, length)
        bounds = self.problem.at(end.x)[1]
        after = self._gap(end, bounds)
        mu = self.gap / (room.shape[0] * room.shape[1] + len(point.excess))
        gap, misfit = self._relative()
        # A gap much smaller than the misfit leaves no room for the steps that reduce the misfit.
        # Then mu is raised again.
        widened = (
            min(misfit / (LARGEST_LAG * gap), LARGEST_LAG) if misfit > LARGEST_LAG * gap else 0.0
        )
        aim = max(float(np.clip(after / self.gap, 1e-4, 1.0)) ** 3, widened) * mu
        # The correction assumes that the matrices of a group commute, so it needs R = 1.
        bent = 0.0
        if room.shape[1] == 1:
            curved = bounds.room - room - length * room_slope
            bent = (straight.prices * room_slope + point.prices * curved) * self.inverse
        bent_rows = straight.x * straight.excess if self.problem.one_sided else 0.0
        return self._step_to(aim, bent_rows, bent)[0]

    def _factor(self) -> None:
        problem, point = self.problem, self.point
        self.scaling = _scaling(point.prices, self.bounds.room)
        self.inverse = _inverse(self.bounds.room)
        if not np.abs(point.prices).max() < OVERFLOWING:
            raise np.linalg.LinAlgError("prices that are too large")
        with np.errstate(over="ignore", invalid="ignore"):
            curved = self.term.hessian() + self.bounds.curvature(point.prices, self.scaling)
        if not np.isfinite(curved).all():
            raise np.linalg.LinAlgError("a curvature that is no number")
        curved = problem.constraints.between(curved)
        at = np.diag_indices_from(curved)
        curved[at] += 1e-15 * np.trace(curved)
        if problem.one_sided:
            curved[at] += point.excess / point.x
        self.solve = problem.border.system(curved)

    def _step_to(
        self, aim: float, bent_rows: np.ndarray | float, bent: np.ndarray | float
    ) -> tuple[_Point, np.ndarray]:
        """Return the step after which all products equal `aim`, and the slope of the room."""
        problem, point = self.problem, self.point
        priced = aim * self.inverse - point.prices - bent
        right = -self.residual - problem.signed_outputs(self.bounds.outputs(priced))
        if problem.one_sided:
            right = right + (aim - bent_rows) / point.x - point.excess
        direction, border = self.solve(right, -self.missing)
        if not np.isfinite(direction).all():
            raise np.linalg.LinAlgError("a step that is no number")
        room = self.bounds.slope(problem.multipliers(direction))
        prices = priced - self.scaling @ room @ self.scaling
        excess = point.excess
        if problem.one_sided:
            excess = (aim - bent_rows - point.excess * direction) / point.x - point.excess
        return _Point(direction, excess, border, prices), room


def _scaling(prices: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Return W with W Q W = S, the geometric mean of S and the inverse of Q (Nesterov and Todd)."""
    if room.shape[1] == 1:
        return np.sqrt(prices * _inverse(room))
    half, back = _power(room, 0.5), _power(room, -0.5)
    return back @ _power(half @ prices @ half, 0.5) @ back


def _inverse(room: np.ndarray) -> np.ndarray:
    """Return the inverse of the room; large but finite where rounding makes the room 0."""
    if room.shape[1] == 1:
        return 1.0 / np.maximum(room, SMALLEST_ROOM)
    return np.linalg.inv(room)


def _power(matrices: np.ndarray, power: float) -> np.ndarray:
    """Return powers of positive definite matrices."""
    size, basis = np.linalg.eigh(matrices)
    raised = np.maximum(size, 1e-300) ** power
    return (basis * raised[:, None, :]) @ basis.swapaxes(-1, -2)


def _until_zero(x: np.ndarray, dx: np.ndarray) -> float:
    """Return the multiple of dx at which the first entry of x reaches 0."""
    ratio = np.divide(-x, dx, out=np.full_like(x, np.inf), where=dx < 0)
    return float(ratio.min(initial=np.inf))


def _until_singular(matrices: np.ndarray, slopes: np.ndarray) -> float:
    """Return the multiple of the slopes at which the first matrix becomes singular."""
    if matrices.shape[1] == 1:
        return _until_zero(matrices.ravel(), slopes.ravel())
    back = _power(matrices, -0.5)
    least = np.linalg.eigvalsh(back @ slopes @ back)[:, 0]
    return float(np.divide(-1.0, least, out=np.full_like(least, np.inf), where=least < 0).min())
