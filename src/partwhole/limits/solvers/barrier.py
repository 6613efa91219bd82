r"""Any convex cost by a logarithmic barrier: slower than the primal-dual paths, and sure.

.. math:: \max_v\; \langle y, v\rangle - f(v)
          + \mu \sum_g \log\det Q_g(v) + \mu \sum_j \log x_j \quad\text{with}\quad Z^T v = 0,

for a falling :math:`\mu`, with f the smooth part (the slack's, or all of a smooth conjugate) and
:math:`Q_g` the bounds of a norm. The barrier is self-concordant and every point on the way lies
within the bounds, so that Newton's method converges from any start (Nesterov & Nemirovskii 1994).
At a minimum the prices :math:`\mu Q_g^{-1}` give coefficients that fit, and the duality gap is
:math:`\mu` times the number of terms.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.limits.costs._cost import DualTerm
from partwhole.limits.fits import OneSided
from partwhole.limits.solvers.dual_newton import Border, DualSolution, Term, spread

FALL = 0.1  # of the barrier's weight, from one minimum to the next
GAP = 1e-10  # of the objective
CENTRED = 1e-4  # of the weight: the decrement of a minimum
ROUNDING = 1e-15  # of the objective: a decrement below it is rounding
NEAR = 1e-7  # of the objective: the gap of a minimum that is kept
HOPELESS = 1e10


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
    """Minimise ``term(v) - bounds x`` within the term's bounds.

    Parameters
    ----------
    term : callable
        The smooth part, with the bounds of a cost that has some.
    rows : OneSided
        The rows as constraints on their outputs; of equalities the signs are free.
    border : Border
        As the constraints see it.
    n : int
        Number of multipliers v.
    start : float array, shape (m,)
        A point within the bounds, above 0 for one-sided fits.
    one_sided : bool, keyword-only
    max_steps : int, keyword-only

    Returns
    -------
    DualSolution
        For a batch of one, with the bounds' prices; not solved where multipliers ran off.
    """
    signs, bounds = rows.signs, rows.bounds
    # Within the border's columns: multipliers that an intercept does not see.
    x, b = np.array(start), np.zeros(border.columns.shape[1])

    def at(x: np.ndarray) -> DualTerm:
        return term(spread(x[None], rows.rows, signs, n)[0])

    def objective(x: np.ndarray, here: DualTerm, mu: float) -> float:
        logs = 0.0
        if here.bounds is not None:
            sign, size = np.linalg.slogdet(here.bounds.room)
            if (sign <= 0).any():
                return np.inf
            logs += float(size.sum())
        if not np.isfinite(here.value) or (one_sided and not (x > 0).all()):
            return np.inf
        if one_sided:
            logs += float(np.log(x).sum())
        return here.value - float(bounds @ x) + float(border.cost(x[None])[0]) - mu * logs

    here = at(x)
    terms = len(x) if one_sided else 0
    if here.bounds is not None:
        terms += here.bounds.room.shape[0] * here.bounds.room.shape[1]
    first = abs(float(bounds @ x)) + abs(here.value)
    mu, steps, solved, centred = max(first, 1e-300) / terms, 0, False, False
    kept = (x, b, _prices(here, mu))
    while steps < max_steps:
        steps += 1
        total = max(abs(float(bounds @ x)), abs(here.value), 1e-300)
        if not centred:
            # Multipliers may have far to go; a weight that grows with them keeps steps long.
            mu = max(mu, total / terms)
        prices = _prices(here, mu)
        outputs, curved = here.gradient, here.hessian()
        if here.bounds is not None and prices is not None:
            outputs = outputs + here.bounds.outputs(prices)
            curved = curved + here.bounds.curvature(prices, prices / np.sqrt(mu))
        slope = signs * outputs[rows.rows] - bounds
        curved = signs[:, None] * curved[rows.rows][:, rows.rows] * signs
        diagonal = np.diag_indices_from(curved)
        curved[diagonal] += 1e-15 * np.trace(curved) / len(x)
        if one_sided:
            slope = slope - mu / x
            curved[diagonal] += mu / x**2
        missing = border.missing(x[None], b[None])[0]
        try:
            moved, shifted = border.solve(
                curved[None], -(slope + border.columns @ b)[None], -missing[None]
            )
        except np.linalg.LinAlgError:
            break
        direction = moved[0]
        if not np.isfinite(direction).all():
            break
        decrement = float(direction @ curved @ direction) + 2.0 * float(border.cost(moved)[0])
        b = b + shifted[0]
        if decrement <= CENTRED * mu:
            kept, centred = (x, b, prices), True
            solved = mu * terms <= NEAR * total
            if mu * terms <= GAP * total:
                break
            mu *= FALL
            continue
        if centred and decrement <= ROUNDING * total:
            break  # rounding leaves no nearer minimum
        onward = spread(direction[None], rows.rows, signs, n)[0]
        wall = np.inf if here.bounds is None else here.bounds.reach(onward)
        if one_sided:
            down = direction < 0
            wall = min(wall, float((-x[down] / direction[down]).min(initial=np.inf)))
        length = min(1.0, 0.99 * wall, here.reach(onward))
        now, noise = objective(x, here, mu), 1e-14 * total
        for _ in range(60):
            there = at(x + length * direction)
            after = objective(x + length * direction, there, mu)
            if after <= now - 0.1 * length * decrement + noise:
                break
            length *= 0.5
        else:
            break
        x, here = x + length * direction, there
        if abs(float(bounds @ x)) > HOPELESS * max(first, 1e-300):
            break
    x, b, prices = kept
    return DualSolution(
        spread(x[None], rows.rows, signs, n), b[None], steps, np.array([solved]),
        np.zeros(1, dtype=bool), prices=prices,
    )  # fmt: skip


def _prices(here: DualTerm, mu: float) -> Float[np.ndarray, "G R R"] | None:
    """Return the prices of the bounds that belong to a weight of the barrier."""
    return None if here.bounds is None else mu * np.linalg.inv(here.bounds.room)
