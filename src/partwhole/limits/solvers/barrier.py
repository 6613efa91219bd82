r"""Norms by a logarithmic barrier: slower than the primal-dual path, and sure.

.. math:: \max_v\; \langle y, v\rangle - \tfrac12 \sum_i s_i v_i^2
          + \mu \sum_g \log\det Q_g(v) + \mu \sum_j \log x_j \quad\text{with}\quad Z^T v = 0,

for a falling :math:`\mu`. The barrier is self-concordant and every point on the way lies within
the bounds, so that Newton's method converges from any start (Nesterov & Nemirovskii 1994). At a
minimum the prices :math:`\mu Q_g^{-1}` give coefficients that fit, and the duality gap is
:math:`\mu` times the number of terms.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.limits.costs._cost import Bounds, DualTerm
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
        The slack's part, smooth and convex, with the cost's bounds.
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
        For a batch of one, with the prices; not solved where multipliers ran off.
    """
    signs, bounds = rows.signs, rows.bounds
    # Within the border's columns: multipliers that an intercept does not see.
    x, b = np.array(start), np.zeros(border.columns.shape[1])

    def at(x: np.ndarray) -> tuple[DualTerm, Bounds]:
        here = term(spread(x[None], rows.rows, signs, n)[0])
        assert here.bounds is not None
        return here, here.bounds

    def objective(x: np.ndarray, here: DualTerm, mu: float) -> float:
        assert here.bounds is not None
        sign, size = np.linalg.slogdet(here.bounds.room)
        if not np.isfinite(here.value) or (sign <= 0).any() or (one_sided and not (x > 0).all()):
            return np.inf
        logs = float(size.sum()) + (float(np.log(x).sum()) if one_sided else 0.0)
        return here.value - float(bounds @ x) + float(border.cost(x[None])[0]) - mu * logs

    here, room = at(x)
    terms = room.room.shape[0] * room.room.shape[1] + (len(x) if one_sided else 0)
    first = abs(float(bounds @ x)) + abs(here.value)
    mu, steps, solved, centred = max(first, 1e-300) / terms, 0, False, False
    kept = (x, b, mu * np.linalg.inv(room.room))
    while steps < max_steps:
        steps += 1
        total = max(abs(float(bounds @ x)), abs(here.value), 1e-300)
        if not centred:
            # Multipliers may have far to go; a weight that grows with them keeps steps long.
            mu = max(mu, total / terms)
        inverse = np.linalg.inv(room.room)
        prices = mu * inverse
        slope = signs * (here.gradient + room.outputs(prices))[rows.rows] - bounds
        curved = here.hessian() + room.curvature(prices, np.sqrt(mu) * inverse)
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
            kept, centred = (x, b, mu * inverse), True
            solved = mu * terms <= NEAR * total
            if mu * terms <= GAP * total:
                break
            mu *= FALL
            continue
        if centred and decrement <= ROUNDING * total:
            break  # rounding leaves no nearer minimum
        wall = room.reach(spread(direction[None], rows.rows, signs, n)[0])
        if one_sided:
            down = direction < 0
            wall = min(wall, float((-x[down] / direction[down]).min(initial=np.inf)))
        length = min(1.0, 0.99 * wall)
        now, noise = objective(x, here, mu), 1e-14 * total
        for _ in range(60):
            there, there_room = at(x + length * direction)
            after = objective(x + length * direction, there, mu)
            if after <= now - 0.1 * length * decrement + noise:
                break
            length *= 0.5
        else:
            break
        x, here, room = x + length * direction, there, there_room
        if abs(float(bounds @ x)) > HOPELESS * max(first, 1e-300):
            break
    x, b, prices = kept
    return DualSolution(
        spread(x[None], rows.rows, signs, n), b[None], steps, np.array([solved]),
        np.zeros(1, dtype=bool), prices=prices,
    )  # fmt: skip
