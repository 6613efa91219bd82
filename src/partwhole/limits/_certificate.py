"""What certifies a limit: its value, a bound on how far that is from the least, and misfits.

A solver's word counts for nothing here. A limit is solved if its duality gap and the misfits of
its exact rows are small, and infeasible if multipliers prove that nothing fits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.features.design import DenseDesign, Design
from partwhole.features.gates.design import GatedDesign
from partwhole.features.scaled import ScaledDesign
from partwhole.limits.costs import Cost, Squares
from partwhole.limits.costs._matrices import dense_features
from partwhole.limits.fits import Equal, Margin, Tube
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.problem import Intercept, Problem

EPS = float(np.finfo(float).eps)
ACCURACY = 1e-6  # of the value, by the duality gap of a limit that is solved
MISFIT = 1e-12  # of a row's target, by a row without slack that is met
ROUNDING = 256.0 * EPS  # of the terms that are added up to an output
BLUR = 4.0 * EPS  # of the same terms, as it is felt in a value
HIDDEN = 1e-4  # of a value: rounding of misfits that makes up more of it hides them
# A proof that nothing fits sums to zero in every feature, to this share of what is summed,
VANISHING = 1e-11
# and is rewarded by this share of the terms it is rewarded for, or by as many times what is left of
# the features' sums: so many times larger than usual would coefficients be that fit.
REWARDED = 1e-9
STRONGER = 100.0
LEAST = 1e-12  # share of a reward that is not rounding
HUGE = 1e150  # numbers whose squares overflow are no solution
_INTERCEPT_NOTES = {"free": "intercept free of cost", "none": "no intercept"}


def magnitudes(design: Design) -> Design:
    """Return the design of absolute features, by which rounding is estimated."""
    if isinstance(design, ConjunctionDesign):
        return design
    if isinstance(design, GatedDesign):
        return replace(design, inputs=np.abs(design.inputs))
    if isinstance(design, ScaledDesign):
        return ScaledDesign(magnitudes(design.design), np.abs(design.factors))
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
    turned: float = 0.0,
) -> Limit:
    """Compute value, gap and misfits of a candidate, and say whether it is solved.

    Parameters
    ----------
    coefficients, constant, multipliers
        The candidate: features' coefficients, intercept and dual variables.
    exhausted : bool, keyword-only, default False
        The solver used up its steps; a candidate that is not solved ends as MAX_STEPS then, and
        otherwise as INACCURATE.
    bound : float, keyword-only, optional
        A lower bound on the cost that was computed otherwise; by default that of the multipliers.
    precision : float, keyword-only
        Relative, of the arithmetic by which exact rows entered the bound; that of floats by
        default.
    turned : float, keyword-only, default 0
        What rounding of the rows as they were solved is felt in the value, beside that.
    """
    design, targets, cost, fit = problem.design, problem.targets, problem.cost, problem.fit
    assert isinstance(cost, Cost)
    notes = [intercept_note(problem.intercept)]
    unsolved = Outcome.MAX_STEPS if exhausted else Outcome.INACCURATE
    outputs_axes = [1] * (targets.ndim - 1)
    constant_out = float(constant) if np.ndim(constant) == 0 else np.asarray(constant)
    finite = all((np.abs(part) < HUGE).all() for part in (coefficients, constant, multipliers))
    if not finite:
        nothing = np.zeros_like(coefficients)
        return Limit(
            problem,
            np.where(np.isfinite(coefficients), coefficients, nothing), np.zeros_like(targets),
            constant_out if np.all(np.isfinite(constant)) else 0.0 * np.zeros(targets.shape[1:]),
            np.inf, np.inf, np.inf, steps, unsolved, tuple(notes),
        )  # fmt: skip
    misfit = fit.misfit(targets, design @ coefficients + constant)
    slack = problem.slack.reshape(-1, *outputs_axes)
    soft = np.broadcast_to(slack > 0, misfit.shape)
    wanted = np.ones_like(targets) if isinstance(fit, Margin) else np.abs(targets)
    allowed, summed = allowance(design, wanted, coefficients, constant)
    blur = BLUR * (summed + wanted)
    value = cost.value(design, coefficients) + problem.paid(misfit, constant)
    if problem.paid(blur, 0.0) > HIDDEN * abs(value):
        # So small a slack leaves misfits that rounding hides: they are read off the multipliers.
        paid = np.broadcast_to(slack, misfit.shape) * multipliers
        misfit = np.where(soft & (np.abs(misfit - paid) <= allowed), paid, misfit)
        value = cost.value(design, coefficients) + problem.paid(misfit, constant)
    v, hard = multipliers, np.abs(np.where(soft, 0.0, misfit))
    if bound is None:
        v, conjugate = _within(cost, design, _admissible(problem, multipliers))
        missed = float(np.sum(np.abs(v) * hard))
        charge = conjugate + _charge(problem.slack, problem.intercept, v)
        bound = fit.gain(targets, v) - charge - missed
    gap = value - bound
    felt = np.where(soft, blur, blur * (precision / EPS))
    rounding = turned + float(np.sum(np.abs(v) * felt))
    rounding += BLUR * abs(value)
    met = bool((hard <= allowed).all())
    # A value of rounding alone is 0; any other must stand out of it. A bound that lies above the
    # value bounds nothing: it shows how far rounding moved it.
    close = max(abs(gap), rounding) <= ACCURACY * abs(value)
    if met and not close and np.isfinite(value):
        # Of a cost that is 0 elsewhere than at 0, rounding of the coefficients alone is a cost.
        moved = cost.value(design, (1.0 + BLUR) * coefficients)
        rounding += abs(moved - cost.value(design, coefficients))
    exact = max(abs(value), abs(gap)) <= rounding
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
    wanted: np.ndarray,
    coefficients: np.ndarray,
    constant: np.ndarray | float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return what an exact row may miss, and the sizes of what is added up to its output."""
    sizes = magnitudes(design)
    summed = sizes @ np.abs(coefficients) + np.abs(constant)
    return MISFIT * wanted + ROUNDING * (summed + _usual(sizes, wanted)), summed


def _usual(sizes: Design, wanted: np.ndarray) -> np.ndarray:
    """Return what each row would usually be asked for: its length, times the median of quotients.

    A row with a target of 0 can be met no better than the coefficients' rounding allows.
    """
    lengths = sizes @ np.ones((sizes.shape[1], *wanted.shape[1:]))
    quotients = np.divide(wanted, lengths, out=np.zeros_like(wanted), where=lengths > 0)
    return lengths * np.median(quotients, axis=0)


def dual_bound(
    design: Design,
    targets: np.ndarray,
    cost: Cost,
    slack: np.ndarray,
    coefficients: np.ndarray,
    multipliers: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Return multipliers scaled into the dual, and their lower bound on the cost of equalities.

    What exact rows miss at the coefficients is taken off, as if it had lowered the cost.
    """
    v, conjugate = _within(cost, design, multipliers)
    misfit = np.where(slack > 0, 0.0, targets - design @ coefficients)
    missed = float(np.sum(np.abs(v) * np.abs(misfit)))
    return v, float(np.sum(targets * v)) - missed - conjugate - _charge(slack, "none", v)


def _admissible(problem: Problem, multipliers: np.ndarray) -> np.ndarray:
    """Return multipliers as near to these that have the fit's signs and the intercept's sum."""
    v = np.array(multipliers)
    if isinstance(problem.fit, Margin):
        v = np.where(problem.targets * v > 0, v, 0.0)
    if problem.intercept == "free":
        # What the larger side has too much of is taken from it in proportion: signs stay.
        up, down = np.maximum(v, 0.0), np.maximum(-v, 0.0)
        above, below = np.asarray(up.sum(axis=0)), np.asarray(down.sum(axis=0))
        both = np.asarray(np.minimum(above, below))
        v = up * _ratio(both, above) - down * _ratio(both, below)
    return v


def _ratio(part: np.ndarray | np.floating, whole: np.ndarray | np.floating) -> np.ndarray:
    return np.asarray(np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0))


def _within(cost: Cost, design: Design, v: np.ndarray) -> tuple[np.ndarray, float]:
    """Return multipliers scaled into a norm's bounds, and the cost's conjugate there.

    A quadratic conjugate is computed without the rounding of a Gram matrix.
    """
    if isinstance(cost, Squares):
        return v, 0.5 * float(np.sum(cost.primal(design, v, None) * design.adjoint(v)))
    term = cost.dual(design, v)
    if term.bounds is None:
        return v, term.value
    bounds = cost.dual(design, np.zeros(len(v))).bounds
    assert bounds is not None
    return (v * min(1.0, bounds.reach(v)) if len(v) else v), 0.0


def _charge(slack: np.ndarray, intercept: Intercept, v: np.ndarray) -> float:
    """Return what the dual takes off for slack and penalty."""
    square = 0.5 * float(np.sum(slack @ v**2))
    if isinstance(intercept, str):
        return square
    return square + 0.5 * float(np.sum(v.sum(axis=0) ** 2)) / float(intercept)


def infeasible(problem: Problem, proof: np.ndarray, steps: int) -> Limit | None:
    r"""Return the outcome INFEASIBLE with its proof, or None where the proof does not hold.

    The proof are multipliers v of the exact rows with :math:`A^T v = 0` (and :math:`\sum v = 0`
    beside an intercept) that the fit would reward: no function of the features sees them, and
    one that fits would have to. It holds if every feature's sum vanishes to 1e-11 of what is
    summed, so features of any units count alike, and the reward is 1e-9 of its terms, or 100 times
    what is left of those sums. With several outputs one of them is enough.
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
    left = _ratio(np.abs(design.adjoint(proof)), magnitudes(design).adjoint(size)).max(
        axis=0, initial=0.0
    )
    if problem.intercept != "none":
        left = np.maximum(left, _ratio(np.abs(proof.sum(axis=0)), size.sum(axis=0)))
    columns, wanted = proof.reshape(len(proof), -1), targets.reshape(len(proof), -1)
    width = float(fit.width) if isinstance(fit, Tube) else 0.0
    paid = width * np.abs(columns).sum(axis=0)
    gains = _ratio(
        (wanted * columns).sum(axis=0) - paid, np.abs(wanted * columns).sum(axis=0) + paid
    )
    left = np.atleast_1d(left)
    rewarded = (gains > REWARDED) | (gains > np.maximum(LEAST, STRONGER * left))
    if not ((left <= VANISHING) & rewarded).any():
        return None
    # Of equalities the proof is what least squares leaves, scaled to its largest misfit.
    certificate = proof * largest
    missed = float(np.abs(certificate).max()) if isinstance(fit, Equal) else np.inf
    lost = np.nan if targets.ndim == 1 else np.full(targets.shape[1:], np.nan)
    nothing = np.full((design.shape[1], *targets.shape[1:]), np.nan)
    return Limit(
        problem, nothing, certificate, lost, np.inf, np.inf, missed, steps, Outcome.INFEASIBLE,
        (intercept_note(problem.intercept),),
    )  # fmt: skip


def intercept_note(intercept: Intercept) -> str:
    """Return the assumption on the intercept in words."""
    return _INTERCEPT_NOTES.get(str(intercept), f"intercept at cost {intercept} b^2 / 2")
