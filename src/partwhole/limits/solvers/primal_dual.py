r"""Primal-dual interior point for costs that are norms.

.. math:: \max_v\; \langle y, v\rangle - \tfrac12 \sum_i s_i v_i^2
          \quad\text{with}\quad Q_g(v) \succeq 0, \quad Z^T v = 0,

and, for one-sided fits, :math:`v = \sum_j \pm x_j e_{row(j)}` with :math:`x \ge 0`. Prices
:math:`S_g \succeq 0` of the bounds give the coefficients, and what outputs have beyond their
margins is the excess e of each x. Along the path to the solution :math:`S_g Q_g = \mu I` and
:math:`x_j e_j = \mu`. Steps are Newton's with the scaling of Nesterov and Todd, aimed and
corrected as Mehrotra predicts. Derived here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole.limits.costs._cost import Bounds, DualTerm
from partwhole.limits.fits import OneSided
from partwhole.limits.solvers.barrier import barrier
from partwhole.limits.solvers.dual_newton import Border, DualSolution, spread

# Multipliers that have grown so far beyond the first that the bounds allowed have no end.
HOPELESS = 1e10
CENTRED = 1e-3  # of the mean product, at least
CANCELLED = 1e6  # times farther than uneven multipliers go: pulls that leave rounding
BEHIND = 10.0  # times the gap, at most, both relative
AHEAD = 0.3  # of what is left of the gap where it shrinks as the misfit does, at least
LEAST = 1e-11  # tolerance
NOTHING = 1e-18  # of a room of 1/2
# Below this a gap or misfit that steps no longer lower is rounding.
NEAR = 1e-7
PATIENCE = 12  # steps that lower nothing


@dataclass(frozen=True, eq=False)
class _Point:
    """Hold where the path stands, or a step along it.

    Parameters
    ----------
    x, excess : float arrays, shape (m,)
        Multipliers of the rows, each in its row's direction, and what their outputs have beyond
        the margins; no excess for equalities.
    border : float array, shape (q,)
    prices : float array, shape (G, R, R)
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
    """Hold the rows as constraints on their outputs."""

    term: Callable[[np.ndarray], DualTerm]
    n: int
    constraints: OneSided
    border: Border
    one_sided: bool

    def multipliers(self, x: np.ndarray) -> np.ndarray:
        return spread(x[None], self.constraints.rows, self.constraints.signs, self.n)[0]

    def seen(self, outputs: np.ndarray) -> np.ndarray:
        """Return outputs as the constraints see them."""
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
    """Minimise ``term(v) - targets v`` within the term's bounds, beside the border's columns.

    Parameters
    ----------
    term : callable
        The slack's part, smooth and convex, with the cost's bounds.
    targets : float array, shape (n,)
        For equality; one-sided fits have their own.
    constraints : OneSided or None
    border : Border
    max_steps : int, keyword-only
    tolerance : float, keyword-only
        On the gap relative to the objective, and on the misfit relative to the targets.

    Returns
    -------
    DualSolution
        For a batch of one, with the prices. Not solved where multipliers ran off, as they do
        when nothing fits.
    """
    n, one_sided = len(targets), constraints is not None
    rows = constraints or OneSided(np.arange(n), np.ones(n), targets)
    problem = _Problem(term, n, rows, border.signed(rows), one_sided)
    found = _followed(problem, max_steps=max_steps, tolerance=max(tolerance, LEAST))
    if found.solved[0]:
        return found
    start = _start(problem)
    if start is None:
        return found
    again = barrier(
        term, rows, problem.border, n, _balanced(start.x, problem), one_sided=one_sided,
        max_steps=max_steps,
    )  # fmt: skip
    return again if again.solved[0] else found


def _balanced(x: np.ndarray, problem: _Problem) -> np.ndarray:
    """Return multipliers of which a free intercept sees nothing, no longer than these."""
    columns = problem.border.columns
    if columns.shape[1] == 0 or problem.border.penalty > 0:
        return x
    sees = columns[:, 0]
    if not problem.one_sided:
        y = x - sees * float(sees @ x) / float(sees @ sees)
        return y * min(1.0, 0.5 * problem.at(np.zeros_like(x))[1].reach(problem.multipliers(y)))
    up, down = float(x[sees > 0] @ sees[sees > 0]), -float(x[sees < 0] @ sees[sees < 0])
    y = x * np.where(sees > 0, min(up, down) / up, min(up, down) / down)
    return y * min(1.0, 0.5 * problem.at(np.zeros_like(x))[1].reach(problem.multipliers(y)))


def _followed(problem: _Problem, *, max_steps: int, tolerance: float) -> DualSolution:
    """Follow the path to the solution, or until it stalls."""
    rows, border, one_sided = problem.constraints, problem.border, problem.one_sided
    point = _start(problem)
    if point is None:
        _, bounds = problem.at(np.zeros(len(rows.rows)))
        nothing = np.zeros(len(rows.rows))
        asked = bool(np.any(rows.bounds > 0.0 if one_sided else rows.bounds))
        found = _Point(nothing, nothing, np.zeros(border.columns.shape[1]), 0.0 * bounds.room)
        return _solution(problem, found, 0, solved=not asked)
    first, best, solved, steps = float(np.abs(rows.bounds) @ np.abs(point.x)), np.inf, False, 0
    kept, since = point, 0
    while steps < max_steps:
        steps += 1
        term_here, bounds = problem.at(point.x)
        newton = _Newton(problem, point, term_here, bounds)
        worst = newton.distance()
        solved = worst <= tolerance or (worst <= NEAR and worst > 0.5 * best)
        since = 0 if worst < 0.9 * best else since + 1
        if worst < best:
            best, kept = worst, point
        if solved or since > PATIENCE or abs(float(rows.bounds @ point.x)) > HOPELESS * first:
            break
        try:
            step = newton.step()
        except np.linalg.LinAlgError:
            break
        point = newton.along(step)
    return _solution(problem, kept, steps, solved=solved or best <= NEAR)


def _start(problem: _Problem) -> _Point | None:
    """Go half way to the bounds along the targets; None where no feature sees them.

    Where their pulls cancel, only rounding would reach the bounds: they are then weighted unevenly.
    """
    wanted = problem.constraints.bounds
    unit = float(np.abs(wanted).max(initial=0.0))
    x = wanted / (unit or 1.0)
    if problem.one_sided:
        x = np.where(x > 0.0, x, 0.5)  # unequal for the two sides of a tube
    _, bounds = problem.at(np.zeros_like(x))
    uneven = x * (1.0 + 0.5 * np.cos(np.arange(len(x))))
    wall, beside = (bounds.reach(problem.multipliers(way)) for way in (x, uneven))
    if wall > CANCELLED * beside:
        x, wall = uneven, beside
    if unit == 0.0 or not np.isfinite(wall):
        return None
    x = 0.5 * wall * x
    _, bounds = problem.at(x)
    whole = np.broadcast_to(np.eye(bounds.room.shape[1]), bounds.room.shape)
    prices = whole * (unit / max(float(np.abs(bounds.outputs(whole)).mean()), 1e-300))
    excess = np.zeros(0)
    if problem.one_sided:
        excess = np.maximum(problem.seen(bounds.outputs(prices)) - wanted, unit)
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
    """Take one step from a point."""

    def __init__(self, problem: _Problem, point: _Point, term: DualTerm, bounds: Bounds) -> None:
        self.problem, self.point, self.term, self.bounds = problem, point, term, bounds
        outputs = problem.seen(term.gradient + bounds.outputs(point.prices))
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
        """Return the gap and the misfits, whichever is largest, relative to what they are of."""
        return max(self._relative())

    def _relative(self) -> tuple[float, float]:
        wanted, x = self.problem.constraints.bounds, self.point.x
        return self.gap / max(abs(float(wanted @ x)), 1e-300), max(
            float(np.abs(self.residual).max()) / float(np.abs(wanted).max()),
            float(np.abs(self.missing).max(initial=0.0)) / max(float(np.abs(x).max()), 1e-300),
        )

    def reach(self, step: _Point) -> float:
        """Return how far a step goes until the first of all that stays positive is not."""
        return min(
            self.bounds.reach(self.problem.multipliers(step.x)),
            _until_singular(self.point.prices, step.prices),
            _until_zero(self.point.x, step.x) if self.problem.one_sided else np.inf,
            _until_zero(self.point.excess, step.excess),
        )

    def along(self, step: _Point) -> _Point:
        """Go along a step as far as no product falls far behind the others or the misfit.

        The room bends: a step to its wall would leave no gap to close the misfit with.
        """
        length = min(1.0, 0.99 * self.reach(step))
        there = self.point
        for _ in range(30):
            there = self.point.after(step, length)
            bounds = self.problem.at(there.x)[1]
            products = self._products(there, bounds)
            mean = float(products.mean())
            even = float(products.min()) >= min(CENTRED, 0.5 * self.evenness) * mean
            # Products of a group are means over its rows, the gap is of all of them.
            if even and self._gap(there, bounds) >= AHEAD * (1.0 - length) * self.gap:
                break
            length *= 0.7
        return there

    def _products(self, point: _Point, bounds: Bounds) -> np.ndarray:
        groups = np.sum(point.prices * bounds.room, axis=(1, 2)) / bounds.room.shape[1]
        return np.concatenate([groups, point.x * point.excess if self.problem.one_sided else []])

    def step(self) -> _Point:
        """Return the step, aimed and corrected by what a step straight to the end would do."""
        point, room = self.point, self.bounds.room
        self._factor()
        straight, moved = self._towards(0.0, 0.0, 0.0)
        length = min(1.0, self.reach(straight))
        there = point.after(straight, length)
        bounds = self.problem.at(there.x)[1]
        after = self._gap(there, bounds)
        mu = self.gap / (room.shape[0] * room.shape[1] + len(point.excess))
        gap, misfit = self._relative()
        # A gap that has run ahead of the misfit leaves no room to close it, and is widened again.
        widened = min(misfit / (BEHIND * gap), BEHIND) if misfit > BEHIND * gap else 0.0
        aim = max(float(np.clip(after / self.gap, 1e-4, 1.0)) ** 3, widened) * mu
        # Matrices of several rows don't commute, and are left without the correction.
        bent = 0.0
        if room.shape[1] == 1:
            curved = bounds.room - room - length * moved
            bent = (straight.prices * moved + point.prices * curved) * self.inverse
        bent_rows = straight.x * straight.excess if self.problem.one_sided else 0.0
        return self._towards(aim, bent_rows, bent)[0]

    def _factor(self) -> None:
        problem, point = self.problem, self.point
        rows, signs = problem.constraints.rows, problem.constraints.signs
        self.scaling = _scaling(point.prices, self.bounds.room)
        self.inverse = _inverse(self.bounds.room)
        with np.errstate(over="ignore", invalid="ignore"):
            curved = self.term.hessian() + self.bounds.curvature(point.prices, self.scaling)
        if not np.isfinite(curved).all():
            raise np.linalg.LinAlgError("a curvature that is no number")
        curved = signs[:, None] * curved[rows][:, rows] * signs
        at = np.diag_indices_from(curved)
        curved[at] += 1e-15 * np.trace(curved)
        if problem.one_sided:
            curved[at] += point.excess / point.x
        self.curved = curved

    def _towards(
        self, aim: float, bent_rows: np.ndarray | float, bent: np.ndarray | float
    ) -> tuple[_Point, np.ndarray]:
        """Solve for the step after which products are `aim`, and how the room moves in it."""
        problem, point = self.problem, self.point
        priced = aim * self.inverse - point.prices - bent
        right = -self.residual - problem.seen(self.bounds.outputs(priced))
        if problem.one_sided:
            right = right + (aim - bent_rows) / point.x - point.excess
        moved, border = problem.border.solve(self.curved[None], right[None], -self.missing[None])
        if not np.isfinite(moved).all():
            raise np.linalg.LinAlgError("a step that is no number")
        room = self.bounds.moved(problem.multipliers(moved[0]))
        prices = priced - self.scaling @ room @ self.scaling
        excess = point.excess
        if problem.one_sided:
            excess = (aim - bent_rows - point.excess * moved[0]) / point.x - point.excess
        return _Point(moved[0], excess, border[0], prices), room


def _scaling(prices: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Return W with W Q W = S, the geometric mean of S and the inverse of Q."""
    if room.shape[1] == 1:
        return np.sqrt(prices * _inverse(room))
    half, back = _power(room, 0.5), _power(room, -0.5)
    return back @ _power(half @ prices @ half, 0.5) @ back


def _inverse(room: np.ndarray) -> np.ndarray:
    """Return the inverse, large but finite where rounding leaves nothing of the room."""
    if room.shape[1] == 1:
        return 1.0 / np.maximum(room, NOTHING)
    return np.linalg.inv(room)


def _power(matrices: np.ndarray, power: float) -> np.ndarray:
    size, basis = np.linalg.eigh(matrices)
    raised = np.maximum(size, 1e-300) ** power
    return (basis * raised[:, None, :]) @ basis.swapaxes(-1, -2)


def _until_zero(x: np.ndarray, dx: np.ndarray) -> float:
    ratio = np.divide(-x, dx, out=np.full_like(x, np.inf), where=dx < 0)
    return float(ratio.min(initial=np.inf))


def _until_singular(matrices: np.ndarray, slopes: np.ndarray) -> float:
    if matrices.shape[1] == 1:
        return _until_zero(matrices.ravel(), slopes.ravel())
    back = _power(matrices, -0.5)
    least = np.linalg.eigvalsh(back @ slopes @ back)[:, 0]
    return float(np.divide(-1.0, least, out=np.full_like(least, np.inf), where=least < 0).min())
