"""What certifies a solution: its value, the duality gap, and what rows miss."""

from __future__ import annotations

import numpy as np

from partwhole._types import Real
from partwhole.features.design import Design
from partwhole.limits.costs import Cost, Quadratic
from partwhole.limits.fits import Equal, Fit
from partwhole.limits.limit import Limit, Outcome

Intercept = str | Real
# Where the two sides of the duality gap agree less than this, something has lost its digits.
ACCURACY = 1e-6
MISSED = 1e-5  # of the largest target, by a row that is to be met
_INTERCEPT_NOTES = {"free": "intercept free of cost", "none": "no intercept"}


def slack_of(fit: Fit, n: int) -> np.ndarray:
    """Return the slack of each row."""
    return np.broadcast_to(np.asarray(fit.slack, dtype=float), (n,))


def _dual_value(
    cost: Cost, design: Design, targets: np.ndarray, fit: Fit, intercept: Intercept, v: np.ndarray
) -> float:
    """Return the dual objective; quadratic costs are summed over outputs without a Gram matrix."""
    if isinstance(cost, Quadratic):
        pulled = design.adjoint(v)
        conjugate = sum(
            0.5 * cost.weight(block.label) * float(np.sum(pulled[block.columns] ** 2))
            for block in design.blocks
        )
    else:
        conjugate = cost.dual(design, v).value
    slack = slack_of(fit, len(targets))
    square = 0.5 * float(np.sum(slack @ v**2))
    penalty = (
        0.5 * float(np.sum(v.sum(axis=0) ** 2)) / float(intercept)
        if not isinstance(intercept, str)
        else 0.0
    )
    return fit.gain(targets, v) - conjugate - square - penalty


def certified(
    design: Design,
    targets: np.ndarray,
    cost: Cost,
    fit: Fit,
    intercept: Intercept,
    coefficients: np.ndarray,
    constant: np.ndarray | float,
    multipliers: np.ndarray,
    steps: int,
    outcome: Outcome,
) -> Limit:
    """Compute the value reached, the duality gap and the violation, and put the limit together."""
    notes = [_INTERCEPT_NOTES.get(str(intercept), f"intercept at cost {intercept} b^2 / 2")]
    if outcome is Outcome.INFEASIBLE:
        nothing = np.full_like(coefficients, np.nan)
        lost = np.nan if targets.ndim == 1 else np.full(targets.shape[1:], np.nan)
        # Of equalities the certificate is what least squares leaves.
        missed = float(np.abs(multipliers).max()) if isinstance(fit, Equal) else np.inf
        return Limit(
            nothing, multipliers, lost, np.inf, np.inf, missed, steps, outcome, tuple(notes)
        )
    misfit = fit.misfit(targets, design @ coefficients + constant)
    slack = slack_of(fit, len(targets)).reshape(-1, *[1] * (targets.ndim - 1))
    soft = np.broadcast_to(slack > 0, misfit.shape)
    value = cost.value(design, coefficients) + 0.5 * float(
        np.sum(np.divide(misfit**2, slack, out=np.zeros_like(misfit), where=soft))
    )
    if not isinstance(intercept, str):
        value += 0.5 * float(intercept) * float(np.sum(np.square(constant)))
    gap = value - _dual_value(cost, design, targets, fit, intercept, multipliers)
    violation = float(np.abs(np.where(soft, 0.0, misfit)).max(initial=0.0))
    size = abs(value) + float(np.sum(np.abs(targets * multipliers)))
    largest = float(np.abs(targets).max(initial=0.0))
    squares = isinstance(cost, Quadratic) or not isinstance(fit, Equal)
    floor = 1e-8 * largest**2 if squares else 0.0
    rounding = 1e-12 * abs(value)
    missable = max(MISSED * largest, 1e-9 * float(np.abs(coefficients).max(initial=0.0)))
    well = abs(gap) <= max(ACCURACY * size, floor, rounding) and violation <= missable
    if outcome is Outcome.SOLVED and size > 0 and not well:
        outcome = Outcome.INACCURATE
    if not np.all(slack > 0):
        notes.append("rows without slack are fitted to the violation stated")
    intercept_out = float(constant) if np.ndim(constant) == 0 else np.asarray(constant)
    return Limit(
        coefficients,
        multipliers,
        intercept_out,
        value,
        gap,
        violation,
        steps,
        outcome,
        tuple(notes),
    )
