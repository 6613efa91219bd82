"""Certificates of limits: the value, a lower bound on the least cost, and the misfits.

No report of a solver is trusted. A limit counts as solved if its duality gap and the misfits of
its exact rows are small, and as infeasible if multipliers prove that no function fits. All three
are computed here from the candidate alone, with an estimate of their rounding errors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.features.design import DenseDesign, Design, dense_features
from partwhole.features.gates.design import GatedDesign
from partwhole.features.outputs import OutputsDesign
from partwhole.features.scaled import ScaledDesign
from partwhole.limits.costs import Cost, Squares
from partwhole.limits.fits import Equal, Margin, Tube
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.problem import Intercept, Problem
from partwhole.limits.solvers.dual_newton import Border

EPS = float(np.finfo(float).eps)
ACCURACY = 1e-6  # largest duality gap of a solved limit, relative to its value
MISFIT = 1e-12  # largest misfit of a row without slack, relative to its target
OUTPUT_ROUNDING = 256.0 * EPS  # largest rounding error of an output, relative to its terms
VALUE_ROUNDING = 4.0 * EPS  # typical rounding error of an output, as it enters the value
HIDING_SHARE = 1e-4  # of a value: a larger share of rounding hides the cost of misfits
# In a proof that no function fits, every feature's sum vanishes to this share of its terms, and the
# reward is this share of its own terms, or so many times the remainder of the features' sums. In
# the second case coefficients that fit would be at least that many times larger than usual.
VANISHING_SUM = 1e-11
LEAST_REWARD = 1e-9
REWARD_OVER_REMAINDER = 100.0
REWARD_ROUNDING = 1e-12  # a smaller reward, relative to its terms, is rounding
OVERFLOWING = 1e150  # candidates with larger numbers are rejected: their squares overflow
_INTERCEPT_NOTES = {"free": "intercept free of cost", "none": "no intercept"}


def magnitudes(design: Design) -> Design:
    """Return the design of absolute features, which gives the sizes of the terms of outputs."""
    if isinstance(design, ConjunctionDesign):
        return design
    if isinstance(design, GatedDesign):
        return replace(design, inputs=np.abs(design.inputs))
    if isinstance(design, ScaledDesign):
        return ScaledDesign(magnitudes(design.design), np.abs(design.factors))
    if isinstance(design, OutputsDesign):
        return replace(design, design=magnitudes(design.design), contrasts=np.abs(design.contrasts))
    return DenseDesign(np.abs(dense_features(design)), design.blocks)


def certified(
    problem: Problem,
    coefficients: np.ndarray,
    constant: np.ndarray | float,
    multipliers: np.ndarray,
    steps: int,
    *,
    exhausted: bool = False,
    bound: float | None = None,
    precision: float = EPS,
    row_rounding: float = 0.0,
) -> Limit:
    """Return the limit of a candidate: its value, gap and misfits, and whether it is solved.

    Parameters
    ----------
    coefficients, constant, multipliers
        The candidate: coefficients of the features, intercept and dual variables.
    exhausted : bool, keyword-only, default False
        Whether the solver used all its steps. A candidate that is not solved then has the outcome
        MAX_STEPS, and otherwise INACCURATE.
    bound : float, keyword-only, optional
        A lower bound on the least cost, if the caller has a better one than that of the
        multipliers.
    precision : float, keyword-only
        Relative precision of the arithmetic by which exact rows entered the bound; by default
        that of floats.
    row_rounding : float, keyword-only, default 0
        Error of the value from the rounding of the rewritten rows, see `Reduction.rounding`.
    """
    design, targets, cost, fit = problem.design, problem.targets, problem.convex_cost, problem.fit
    notes = [intercept_note(problem.intercept)]
    unsolved = Outcome.MAX_STEPS if exhausted else Outcome.INACCURATE
    outputs_axes = [1] * (targets.ndim - 1)
    constant_out = float(constant) if np.ndim(constant) == 0 else np.asarray(constant)
    finite = all(
        (np.abs(part) < OVERFLOWING).all() for part in (coefficients, constant, multipliers)
    )
    if not finite:
        zeros = np.zeros_like(coefficients)
        return Limit(
            problem,
            np.where(np.isfinite(coefficients), coefficients, zeros), np.zeros_like(targets),
            constant_out if np.all(np.isfinite(constant)) else 0.0 * np.zeros(np.shape(constant)),
            np.inf, np.inf, np.inf, steps, unsolved, tuple(notes),
        )  # fmt: skip
    shift = problem.shift(constant)
    misfit = fit.misfit(targets, design @ coefficients + shift)
    slack = problem.slack.reshape(-1, *outputs_axes)
    soft = np.broadcast_to(slack > 0, misfit.shape)
    target_sizes = np.ones_like(targets) if isinstance(fit, Margin) else np.abs(targets)
    allowed, summed = allowance(design, target_sizes, coefficients, shift)
    output_rounding = VALUE_ROUNDING * (summed + target_sizes)
    value = cost.value(design, coefficients) + problem.paid(misfit, constant)
    if problem.paid(output_rounding, 0.0) > HIDING_SHARE * abs(value):
        # With very little slack a misfit is a small difference of large numbers, and its square
        # over the slack would be mostly rounding. At a solution the misfit is slack times
        # multiplier, which has all its digits; it is used where both agree up to rounding.
        implied = np.broadcast_to(slack, misfit.shape) * multipliers
        misfit = np.where(soft & (np.abs(misfit - implied) <= allowed), implied, misfit)
        value = cost.value(design, coefficients) + problem.paid(misfit, constant)
    v, hard = multipliers, np.abs(np.where(soft, 0.0, misfit))
    if bound is None:
        v, conjugate = _into_bounds(cost, design, _dual_feasible(problem, multipliers))
        violation_cost = float(np.sum(np.abs(v) * hard))
        charge = conjugate + 0.5 * float(np.sum(problem.slack @ v**2))
        if problem.penalty:
            charge += 0.5 * float(np.sum((problem.columns.T @ v) ** 2)) / problem.penalty
        bound = fit.gain(targets, v) - charge - violation_cost
    # Rounding may put the bound above the value; then their distance estimates the rounding.
    gap = abs(value - bound)
    # How far rounding may have moved the value: errors of exact rows count with their multipliers,
    # which are the derivatives of the least cost in the targets.
    row_errors = np.where(soft, output_rounding, output_rounding * (precision / EPS))
    rounding = row_rounding + float(np.sum(np.abs(v) * row_errors))
    rounding += VALUE_ROUNDING * abs(value)
    met = bool((hard <= allowed).all())
    # A value that rounding alone explains counts as 0, and needs no accuracy relative to itself;
    # any other value must be large compared with its rounding.
    close = max(gap, rounding) <= ACCURACY * abs(value)
    if met and not close and np.isfinite(value):
        # A cost may vanish at coefficients other than 0 (those at the start of training). Near
        # them, rounding of the coefficients alone can produce all of the cost.
        perturbed = cost.value(design, (1.0 + VALUE_ROUNDING) * coefficients)
        rounding += abs(perturbed - cost.value(design, coefficients))
    exact = max(abs(value), gap) <= rounding
    solved = met and np.isfinite(value) and (exact or close)
    outcome = Outcome.SOLVED if solved else unsolved
    if not np.all(slack > 0):
        notes.append("rows without slack are fitted to the violation stated")
    return Limit(
        problem, coefficients, v, constant_out, value, gap, float(hard.max(initial=0.0)), steps,
        outcome, tuple(notes),
    )  # fmt: skip


def allowance(
    design: Design,
    target_sizes: np.ndarray,
    coefficients: np.ndarray,
    constant: np.ndarray | float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the misfit allowed to each exact row, and the total size of its output's terms."""
    sizes = magnitudes(design)
    summed = sizes @ np.abs(coefficients) + np.abs(constant)
    return MISFIT * target_sizes + OUTPUT_ROUNDING * (
        summed + _typical_outputs(sizes, target_sizes)
    ), summed


def _typical_outputs(sizes: Design, target_sizes: np.ndarray) -> np.ndarray:
    """Return the typical output of each row: its length times the median target per length.

    A row with a target of 0 can be met no better than the rounding of the coefficients allows,
    so its allowance is that of a row with a typical target.
    """
    lengths = sizes @ np.ones((sizes.shape[1], *target_sizes.shape[1:]))
    quotients = np.divide(target_sizes, lengths, out=np.zeros_like(target_sizes), where=lengths > 0)
    return lengths * np.median(quotients, axis=0)


def dual_bound(
    design: Design,
    targets: np.ndarray,
    cost: Cost,
    slack: np.ndarray,
    coefficients: np.ndarray,
    multipliers: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Return multipliers in the dual's domain, and their lower bound on the cost of equalities.

    The misfits of exact rows at the coefficients are subtracted, times their multipliers: so much
    could they have lowered the cost.
    """
    v, conjugate = _into_bounds(cost, design, multipliers)
    misfit = np.where(slack > 0, 0.0, targets - design @ coefficients)
    violation_cost = float(np.sum(np.abs(v) * np.abs(misfit)))
    of_slack = 0.5 * float(np.sum(slack @ v**2))
    return v, float(np.sum(targets * v)) - violation_cost - conjugate - of_slack


def _dual_feasible(problem: Problem, multipliers: np.ndarray) -> np.ndarray:
    """Return the multipliers with the signs that the fit needs, and a sum of 0 if b is free."""
    v = np.array(multipliers)
    if isinstance(problem.fit, Margin):
        v = np.where(problem.targets * v > 0, v, 0.0)
    if problem.intercept == "free" and problem.constants is not None:
        return Border(problem.columns).balanced(v)
    if problem.intercept == "free":
        # The side of larger total is scaled down to the other, so no multiplier changes its sign.
        up, down = np.maximum(v, 0.0), np.maximum(-v, 0.0)
        above, below = np.asarray(up.sum(axis=0)), np.asarray(down.sum(axis=0))
        common = np.asarray(np.minimum(above, below))
        v = up * _ratio(common, above) - down * _ratio(common, below)
    return v


def _ratio(part: np.ndarray | np.floating, whole: np.ndarray | np.floating) -> np.ndarray:
    """Return part / whole, and 0 where the whole is 0."""
    return np.asarray(np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0))


def _into_bounds(cost: Cost, design: Design, v: np.ndarray) -> tuple[np.ndarray, float]:
    """Return multipliers in the domain of the conjugate, and its value there.

    Outside the bounds of a norm the conjugate is infinite and gives no lower bound, so the
    multipliers are scaled down until they meet the bounds. A quadratic conjugate is computed from
    the features, because a Gram matrix would lose half of their digits.
    """
    if isinstance(cost, Squares):
        return v, 0.5 * float(np.sum(cost.primal(design, v, None) * design.adjoint(v)))
    term = cost.dual(design, v)
    if term.bounds is None:
        return v, term.value
    bounds = cost.dual(design, np.zeros(len(v))).bounds
    assert bounds is not None
    return (v * min(1.0, bounds.reach(v)) if len(v) else v), 0.0


def infeasible(problem: Problem, proof: np.ndarray, steps: int) -> Limit | None:
    r"""Return the limit INFEASIBLE with its proof, or None where the proof does not hold.

    A proof consists of multipliers v of the exact rows with :math:`A^T v = 0`, and
    :math:`\sum v = 0` if there is an intercept, whose reward in the fit is positive. The outputs
    of every function then have :math:`\langle v, f \rangle = 0`, whereas outputs that fit would
    have a positive product. The proof holds if every feature's sum vanishes to 1e-11 of its terms,
    which does not depend on the features' units, and if the reward is 1e-9 of its terms or 100
    times the remainder of those sums. If there are several outputs, a proof for one is enough.
    """
    design, targets, fit = problem.design, problem.targets, problem.fit
    proof = np.where(problem.slack.reshape(-1, *[1] * (targets.ndim - 1)) > 0, 0.0, proof)
    if isinstance(fit, Margin):
        proof = np.where(targets * proof > 0, proof, 0.0)
    largest = np.abs(proof).max(axis=0, initial=0.0)
    if not np.isfinite(largest).all() or not largest.any():
        return None
    proof = np.divide(proof, largest, out=np.zeros_like(proof), where=largest > 0)
    size = np.abs(proof)
    remainder = _ratio(np.abs(design.adjoint(proof)), magnitudes(design).adjoint(size)).max(
        axis=0, initial=0.0
    )
    columns = problem.columns
    remainder = np.maximum(
        remainder,
        _ratio(np.abs(columns.T @ proof), np.abs(columns).T @ size).max(axis=0, initial=0.0),
    )
    proofs, target_columns = proof.reshape(len(proof), -1), targets.reshape(len(proof), -1)
    width = float(fit.width) if isinstance(fit, Tube) else 0.0
    paid = width * np.abs(proofs).sum(axis=0)
    gains = _ratio(
        (target_columns * proofs).sum(axis=0) - paid,
        np.abs(target_columns * proofs).sum(axis=0) + paid,
    )
    remainder = np.atleast_1d(remainder)
    rewarded = (gains > LEAST_REWARD) | (
        gains > np.maximum(REWARD_ROUNDING, REWARD_OVER_REMAINDER * remainder)
    )
    if not ((remainder <= VANISHING_SUM) & rewarded).any():
        return None
    # For equalities the proof is the residual of least squares, so its size is a violation too.
    certificate = proof * largest
    violation = float(np.abs(certificate).max()) if isinstance(fit, Equal) else np.inf
    no_intercept = problem.constant(np.full((columns.shape[1] or 1, *targets.shape[1:]), np.nan))
    no_coefficients = np.full((design.shape[1], *targets.shape[1:]), np.nan)
    return Limit(
        problem, no_coefficients, certificate, no_intercept, np.inf, np.inf, violation, steps,
        Outcome.INFEASIBLE, (intercept_note(problem.intercept),),
    )  # fmt: skip


def intercept_note(intercept: Intercept) -> str:
    """Return the assumption about the intercept in words."""
    if isinstance(intercept, str):
        return _INTERCEPT_NOTES[intercept]
    return f"intercept at cost {float(intercept)} b^2 / 2"
