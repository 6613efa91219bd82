r"""Any convex cost by a logarithmic barrier: slower than primal-dual steps, but reliable.

.. math:: \max_v\; \langle y, v\rangle - f(v)
          + \mu \sum_g \log\det Q_g(v) + \mu \sum_j \log x_j \quad\text{with}\quad Z^T v = 0,

for a falling weight :math:`\mu`, with f the smooth part (that of slack, or a smooth conjugate) and
:math:`Q_g` the bounds of a norm. The barrier is self-concordant and all iterates lie within the
bounds, so that Newton's method converges from any start (Nesterov & Nemirovskii 1994). At the
maximum for a given :math:`\mu` the prices :math:`\mu Q_g^{-1}` give coefficients that fit, and the
duality gap is :math:`\mu` times the number of logarithms.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.limits.costs._cost import DualTerm
from partwhole.limits.fits import OneSided
from partwhole.limits.solvers.dual_newton import Border, DualSolution, Term, spread

WEIGHT_FACTOR = 0.1  # by which the barrier's weight falls from one minimum to the next
GAP = 1e-10  # relative duality gap at which the solver ends
CENTRED = 1e-4  # relative to the weight: a point of a smaller decrement counts as the minimum
ROUNDING = 1e-15  # relative to the objective: a smaller decrement is rounding
ACCEPTED_GAP = 1e-7  # relative duality gap of a minimum that still counts as solved
DIVERGED = 1e10  # an objective that grows by this factor has no bound
OVERFLOWING = 1e150  # the path ends where prices are larger: their squares overflow


def barrier(
    term: Term,
    rows: OneSided,
    border: Border,
    n: int,
    start: Float[np.ndarray, " m"],
    *,
    one_sided: bool,
    max_steps: int,
) -> DualSolution:
    """Return the minimum of ``term(v) - bounds x`` within the term's bounds.

    Parameters
    ----------
    term : callable
        The smooth part, with the bounds of the cost if it is a norm.
    rows : OneSided
        The rows as constraints on their outputs; for equalities all signs are 1.
    border : Border
        With one row for each constraint.
    n : int
        Number of multipliers v.
    start : float array, shape (m,)
        A point within the bounds, above 0 for one-sided fits.
    one_sided : bool, keyword-only
    max_steps : int, keyword-only

    Returns
    -------
    DualSolution
        For a batch of one, with the bounds' prices; not solved where multipliers diverged.
    """
    signs, bounds = rows.signs, rows.bounds
    x, b = np.array(start), np.zeros(border.columns.shape[1])

    def at(x: np.ndarray) -> DualTerm:
        return term(spread(x[None], rows.rows, signs, n)[0])

    def objective(x: np.ndarray, dual_term: DualTerm, mu: float) -> float:
        logs = 0.0
        if dual_term.bounds is not None:
            sign, size = np.linalg.slogdet(dual_term.bounds.room)
            if (sign <= 0).any():
                return np.inf
            logs += float(size.sum())
        if not np.isfinite(dual_term.value) or (one_sided and not (x > 0).all()):
            return np.inf
        if one_sided:
            logs += float(np.log(x).sum())
        return dual_term.value - float(bounds @ x) + float(border.cost(x[None])[0]) - mu * logs

    current = at(x)
    terms = len(x) if one_sided else 0
    if current.bounds is not None:
        terms += current.bounds.room.shape[0] * current.bounds.room.shape[1]
    first = abs(float(bounds @ x)) + abs(current.value)
    mu, steps, solved, centred = max(first, 1e-300) / terms, 0, False, False
    centred_point = (x, b, _prices(current, mu))
    while steps < max_steps:
        steps += 1
        total = max(abs(float(bounds @ x)), abs(current.value), 1e-300)
        if not centred:
            # Far from the solution the objective may still grow by orders of magnitude. A weight
            # that grows with it keeps iterates away from the bounds, where steps are short.
            mu = max(mu, total / terms)
        prices = _prices(current, mu)
        if prices is not None and not np.abs(prices).max() < OVERFLOWING:
            break
        outputs, curved = current.gradient, current.hessian()
        if current.bounds is not None and prices is not None:
            outputs = outputs + current.bounds.outputs(prices)
            curved = curved + current.bounds.curvature(prices, prices / np.sqrt(mu))
        slope = signs * outputs[rows.rows] - bounds
        curved = rows.between(curved)
        diagonal = np.diag_indices_from(curved)
        curved[diagonal] += 1e-15 * np.trace(curved) / len(x)
        if one_sided:
            slope = slope - mu / x
            curved[diagonal] += mu / x**2
        missing = border.missing(x[None], b[None])[0]
        try:
            direction, shift = border.system(curved)(-(slope + border.columns @ b), -missing)
        except np.linalg.LinAlgError:
            break
        if not np.isfinite(direction).all():
            break
        decrement = float(direction @ curved @ direction) + 2.0 * float(
            border.cost(direction[None])[0]
        )
        b = b + shift
        if decrement <= CENTRED * mu:
            centred_point, centred = (x, b, prices), True
            solved = mu * terms <= ACCEPTED_GAP * total
            if mu * terms <= GAP * total:
                break
            mu *= WEIGHT_FACTOR
            continue
        if centred and decrement <= ROUNDING * total:
            break  # rounding allows no better minimum
        onward = spread(direction[None], rows.rows, signs, n)[0]
        wall = np.inf if current.bounds is None else current.bounds.reach(onward)
        if one_sided:
            down = direction < 0
            wall = min(wall, float((-x[down] / direction[down]).min(initial=np.inf)))
        length = min(1.0, 0.99 * wall, current.reach(onward))
        value, noise = objective(x, current, mu), 1e-14 * total
        for _ in range(60):
            candidate = at(x + length * direction)
            after = objective(x + length * direction, candidate, mu)
            if after <= value - 0.1 * length * decrement + noise:
                break
            length *= 0.5
        else:
            break
        x, current = x + length * direction, candidate
        if abs(float(bounds @ x)) > DIVERGED * max(first, 1e-300):
            break
    x, b, prices = centred_point
    return DualSolution(
        spread(x[None], rows.rows, signs, n), b[None], steps, np.array([solved]),
        np.zeros(1, dtype=bool), prices=prices,
    )  # fmt: skip


def _prices(dual_term: DualTerm, mu: float) -> Float[np.ndarray, "G R R"] | None:
    """Return the prices of the bounds for a weight of the barrier; None without bounds."""
    return None if dual_term.bounds is None else mu * np.linalg.inv(dual_term.bounds.room)
