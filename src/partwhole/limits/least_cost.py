r"""The core: the least-cost function that fits the training set.

.. math:: \min_{c,\, b}\; R(c) \quad\text{s.t. the outputs}\quad A c + b \quad\text{fit}\quad y.

Only three things differ between learners: the features A, the cost R, and the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real as Number

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._types import Real
from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.features.design import Design, as_design
from partwhole.limits._certificate import Intercept, certified, slack_of
from partwhole.limits._contradiction import contradicts
from partwhole.limits._quadratic import (
    border_of,
    left_over,
    out_of_reach,
    through_columns,
    through_kernel,
)
from partwhole.limits._rows import orthonormal_rows
from partwhole.limits.costs import Concave, Cost, DualTerm, Quadratic
from partwhole.limits.fits import Equal, Fit
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.solvers import active_set, dual_newton, primal_dual
from partwhole.limits.solvers.dual_newton import Border, DualSolution
from partwhole.limits.solvers.majorised import majorised

MEMORY_GIB = 8.0
STILL = 1e-9  # of the largest coefficient: rounds that change less have ended

# Solver: the (cost, fit, design) it serves. The first that serves is taken; all others are dual.
SOLVERS = {
    "primal": (Quadratic, Equal, ConjunctionDesign),
    "touching": (Concave, object, object),
    "dual": (Cost, object, object),
}
SERVES = {
    "primal": "the quadratic cost and the fit Equal on conjunctions",
    "touching": "costs that are not convex",
    "dual": "convex costs",
}


def least_cost(
    design: Design | np.ndarray | Sequence[Sequence[Real]],
    targets: Float[np.ndarray, "n *k"],
    cost: Cost | Concave,
    fit: Fit,
    *,
    intercept: Intercept,
    solver: str | None = None,
    max_steps: int = 200,
    tolerance: float = 1e-12,
    start: Float[np.ndarray, " p"] | None = None,
) -> Limit:
    r"""Find the least-cost function of the features that fits the targets.

    Parameters
    ----------
    design : Design or float array, shape (n, p)
        The features of n inputs.
    targets : float array, shape (n,) or (n, k)
        Several outputs with the quadratic cost and the fit `Equal` only.
    cost : Cost
        What the learner prefers, such as `Quadratic`. With one that is not convex, such as
        `ChainNorm`, the limit is a stationary point.
    fit : Equal, Margin or Tube
        In which sense the targets are met, with what slack.
    intercept : {"free", "none"} or float, keyword-only
        A constant of cost zero, no constant, or one of cost :math:`\tfrac12 \lambda b^2` with
        the penalty weight :math:`\lambda > 0` given.
    solver : {"primal", "touching", "dual"}, keyword-only, optional
        By default the first row of `SOLVERS` that serves.
    max_steps : int, keyword-only, default 200
        At most so many Newton steps (the primal solver scales its own), or rounds of convex
        costs that touch one that is not.
    tolerance : float, keyword-only, default 1e-12
        Relative duality gap to reach.
    start : float array, shape (p,), keyword-only, optional
        Where a cost that is not convex is touched first; blocks of 0 stay 0. By default the
        solution of its convex counterpart with two layers.

    Returns
    -------
    Limit
        With value, multipliers, duality gap and outcome; infeasibility is an outcome.

    Raises
    ------
    InputError
        When targets and design disagree in length, a target is not finite, or the intercept
        or solver is unknown.

    Notes
    -----
    With the rows' slack s, the problem is

    .. math:: \min_{c,\, b,\, \xi}\; R(c) + \tfrac12 \sum_i \xi_i^2 / s_i
              \quad\text{such that}\quad A c + b + \xi \quad\text{fits}\quad y,

    where fits means equals (`Equal`), has margin :math:`y_i (\cdot)_i \ge 1` (`Margin`) or lies
    within :math:`\epsilon` (`Tube`), and :math:`\xi_i = 0` where :math:`s_i = 0`. Its dual is

    .. math:: \max_v\; \langle y, v\rangle - R^*(A^T v) - \tfrac12 \sum_i s_i v_i^2
              - \epsilon \sum_i |v_i|,

    with :math:`R^*` the conjugate of the cost; v is free for `Equal` and has the labels' signs
    for `Margin`. A free intercept is a column of cost zero and asks for :math:`\sum v = 0`; a
    penalised one costs :math:`(\sum v)^2 / (2 \lambda)`. Derived here.

    Examples
    --------
    >>> import numpy as np
    >>> from partwhole.limits import Margin, Quadratic
    >>> limit = least_cost(
    ...     np.array([[1.0], [3.0]]), np.array([-1.0, 1.0]), Quadratic(), Margin(), intercept="free"
    ... )
    >>> round(float(limit.coefficients[0]), 9), round(float(limit.intercept), 9)
    (1.0, -2.0)
    """
    design = as_design(design)
    n = design.shape[0]
    targets = np.asarray(targets, dtype=float)
    require(
        targets.ndim >= 1 and len(targets) == n,
        "targets must have one row for each row of the design",
        f"{len(targets) if targets.ndim else 0} for {n} rows",
        "pass the training rows of both",
    )
    require(
        bool(np.all(np.isfinite(targets))),
        "targets must be finite",
        f"{int(np.sum(~np.isfinite(targets)))} that are not",
        "drop or fill those rows first",
    )
    require(n > 0, "a fit needs at least one row", "none", "pass the training rows")
    require_intercept(intercept)
    require(
        np.ndim(fit.slack) == 0 or np.shape(fit.slack) == (n,),
        "slack is one number or one for each row",
        f"shape {np.shape(fit.slack)} for {n} rows",
        "pass a number",
    )
    require(
        solver is None or solver in SOLVERS,
        f"solver is one of {', '.join(SOLVERS)}",
        repr(solver),
        "or leave it out",
    )
    require(
        targets.ndim == 1 or (isinstance(fit, Equal) and isinstance(cost, Quadratic)),
        "several outputs at once need the quadratic cost and the fit Equal",
        f"targets of shape {targets.shape} with {type(cost).__name__} and {type(fit).__name__}",
        "solve for one output at a time",
    )
    slack = slack_of(fit, n)
    mixed = isinstance(fit, Equal) and bool(np.any(slack == 0) and np.any(slack > 0))
    require(
        solver != "primal" or not mixed,
        "the primal solver takes slack on every row or on none",
        f"{int(np.sum(slack == 0))} of {n} rows without",
        "leave solver out",
    )
    if solver is None and mixed:
        solver = "dual"
    if solver is None:
        solver = next(
            name
            for name, kinds in SOLVERS.items()
            if all(map(isinstance, (cost, fit, design), kinds))
        )
    require(
        all(map(isinstance, (cost, fit, design), SOLVERS[solver])),
        f"the {solver} solver serves {SERVES[solver]}",
        f"{type(cost).__name__}, {type(fit).__name__} and {type(design).__name__}",
        "leave solver out",
    )
    rule, got = "a start is for costs that are not convex", type(cost).__name__
    require(start is None or isinstance(cost, Concave), rule, got, "leave start out")
    if solver == "primal":
        return through_columns(design, targets, cost, fit, intercept, max_steps, tolerance)
    if isinstance(cost, Concave):
        _require_start(start, design)

        def solve(touching: Cost) -> Limit:
            return least_cost(design, targets, touching, fit, intercept=intercept)

        return majorised(solve, design, cost, start, max_steps=max_steps, tolerance=STILL)
    gibibytes = 4.0 * 8.0 * n * n / 2**30
    require(
        gibibytes <= MEMORY_GIB,
        f"the dual form may take {MEMORY_GIB:g} GiB",
        f"{n} rows, which need about {gibibytes:.0f}",
        "take fewer rows; interpolation with nonnegative saliences has no such limit",
    )
    if targets.ndim > 1 or (isinstance(cost, Quadratic) and isinstance(fit, Equal)):
        return through_kernel(design, targets, cost, fit, intercept)
    return _newton(design, targets, cost, fit, intercept, max_steps, tolerance)


def require_intercept(intercept: Intercept) -> None:
    """Refuse what is neither 'free', 'none' nor a positive penalty weight."""
    number = isinstance(intercept, Number) and not isinstance(intercept, bool)
    require(
        intercept in ("free", "none")
        if isinstance(intercept, str)
        else number and 0.0 < float(intercept) < np.inf,
        "intercept is 'free', 'none' or a positive penalty weight",
        repr(intercept),
        "choose one of them",
    )


def _require_start(start: np.ndarray | None, design: Design) -> None:
    """Refuse a start that is no coefficients of the design."""
    good = start is None or (start.shape == design.shape[1:] and bool(np.isfinite(start).all()))
    rule = f"a start is {design.shape[1]} finite coefficients, not all of them 0"
    got = "none" if start is None else f"shape {start.shape}, {int((start != 0).sum())} not 0"
    require(good and (start is None or start.any()), rule, got, "or leave it out")


def _newton(
    design: Design,
    targets: np.ndarray,
    cost: Cost,
    fit: Fit,
    intercept: Intercept,
    max_steps: int,
    tolerance: float,
) -> Limit:
    """Solve any convex cost and fit in the dual."""
    n = design.shape[0]
    first = cost.dual(design, np.zeros(n))
    slack = slack_of(fit, n)
    border = border_of(intercept, n)
    one_sided = fit.one_sided(targets)
    if one_sided is not None and intercept == "free":
        level = fit.constant(targets)
        if level is not None:
            nothing = np.zeros(design.shape[1])
            return certified(
                design, targets, cost, fit, intercept, nothing, level, np.zeros(n), 0,
                Outcome.SOLVED,
            )  # fmt: skip
    if first.is_quadratic and one_sided is not None:
        hessian = (first.hessian() + np.diag(slack))[None]
        scale = float(np.trace(hessian[0])) / n or 1.0
        unit = float(np.abs(one_sided.bounds).max()) or 1.0
        solution = active_set.solve_one_sided(
            hessian / scale,
            replace(one_sided, bounds=one_sided.bounds / unit),
            replace(border, penalty=border.penalty * scale),
            max_steps=max_steps,
            tolerance=tolerance,
        )
        solution = replace(
            solution,
            multipliers=solution.multipliers * (unit / scale),
            border_coefficients=solution.border_coefficients * unit,
        )
        found = _from_dual(design, targets, cost, fit, intercept, solution)
        lost = found.outcome is Outcome.INFEASIBLE and not np.any(slack > 0)
        if lost and not contradicts(design, cost, one_sided, border):
            # Features of very unlike size, of which the kernel lost the smaller.
            solution = replace(solution, infeasible=np.zeros(1, dtype=bool))
            found = _from_dual(design, targets, cost, fit, intercept, solution)
            return replace(found, outcome=Outcome.INACCURATE)
        return found

    hard = not np.any(slack > 0)
    if one_sided is None and hard:
        found = _equalities(design, targets, cost, fit, intercept, border, max_steps, tolerance)
    else:
        term = _with_slack(cost, design, slack)
        if first.bounds is not None:
            solution = primal_dual.primal_dual(
                term, targets, one_sided, border, max_steps=max_steps, tolerance=tolerance
            )
        elif one_sided is None:
            solution = dual_newton.smooth_newton(
                term, targets, border, max_steps=max_steps, tolerance=tolerance
            )
        else:
            # Nearer its boundary a barrier's distance to it, and with it coefficients, lose digits.
            solution = dual_newton.one_sided_newton(
                term, one_sided, border, max_steps=max_steps, tolerance=max(tolerance, 1e-8)
            )
        found = _from_dual(design, targets, cost, fit, intercept, solution)
    if hard and found.outcome is Outcome.MAX_STEPS:
        # Multipliers run off where no coefficients fit; the quadratic cost tells it exactly.
        given = (design, targets, Quadratic(), fit, intercept)
        told = (
            through_kernel(*given) if one_sided is None else _newton(*given, max_steps, tolerance)
        )
        if told.outcome is Outcome.INFEASIBLE:
            return replace(told, steps=found.steps)
    if found.outcome is Outcome.MAX_STEPS and found.steps < max_steps:
        # More steps would not help one that lost its digits.
        return replace(found, outcome=Outcome.INACCURATE)
    return found


def _equalities(
    design: Design,
    targets: np.ndarray,
    cost: Cost,
    fit: Fit,
    intercept: Intercept,
    border: Border,
    max_steps: int,
    tolerance: float,
) -> Limit:
    """Solve equalities, in orthonormal rows where the design is a matrix."""
    n = len(targets)
    if n > design.shape[1]:
        missed = left_over(design, targets, border)
        if missed is not None and out_of_reach(missed, targets, intercept):
            return _infeasible(design, targets, cost, fit, intercept, missed, 0)
    rows = orthonormal_rows(design, targets, border)
    used, wanted, columns = (
        (design, targets, border) if rows is None else (rows.design, rows.targets, rows.border)
    )
    term = _with_slack(cost, used, np.zeros(len(wanted)))
    limits = {"max_steps": max_steps, "tolerance": tolerance}
    if cost.dual(used, np.zeros(len(wanted))).bounds is not None:
        solution = primal_dual.primal_dual(term, wanted, None, columns, **limits)
    else:
        solution = dual_newton.smooth_newton(term, wanted, columns, **limits)
    if rows is None:
        return _from_dual(design, targets, cost, fit, intercept, solution)
    # The rows as solved certify more closely than those given, where these are nearly alike.
    found = _from_dual(used, wanted, cost, fit, "none", solution)
    if columns.columns.size:
        v = rows.multipliers(solution.multipliers[0], n)
        constant = float(solution.border_coefficients[0].sum())
        outcome = Outcome.SOLVED if solution.solved[0] else Outcome.MAX_STEPS
        return certified(
            design, targets, cost, fit, intercept, found.coefficients, constant, v,
            solution.steps, outcome,
        )  # fmt: skip
    missed = targets - design @ found.coefficients - found.intercept
    if len(wanted) < n and out_of_reach(missed, targets, intercept):
        # What was left out as a copy of other rows asks for something else.
        return _infeasible(design, targets, cost, fit, intercept, missed, found.steps)
    return replace(
        found,
        multipliers=rows.multipliers(found.multipliers, n),
        violation=float(np.abs(missed).max()),
    )


def _with_slack(cost: Cost, design: Design, slack: np.ndarray) -> dual_newton.Term:
    """Return the cost's conjugate with the slack's part, as a function of the multipliers."""

    def term(v: np.ndarray) -> DualTerm:
        at = cost.dual(design, v)
        if not slack.any():
            return at
        return replace(
            at,
            value=at.value + 0.5 * float(slack @ v**2),
            gradient=at.gradient + slack * v,
            hessian=lambda: at.hessian() + np.diag(slack),
        )

    return term


def _infeasible(
    design: Design,
    targets: np.ndarray,
    cost: Cost,
    fit: Fit,
    intercept: Intercept,
    rest: np.ndarray,
    steps: int,
) -> Limit:
    nothing = np.zeros(design.shape[1])
    return certified(
        design, targets, cost, fit, intercept, nothing, 0.0, rest, steps, Outcome.INFEASIBLE
    )


def _from_dual(
    design: Design,
    targets: np.ndarray,
    cost: Cost,
    fit: Fit,
    intercept: Intercept,
    solution: DualSolution,
) -> Limit:
    v = solution.multipliers[0]
    constant = float(solution.border_coefficients[0].sum())
    outcome = Outcome.SOLVED if solution.solved[0] else Outcome.MAX_STEPS
    if solution.infeasible[0]:
        outcome = Outcome.INFEASIBLE
    coefficients = cost.primal(design, v, solution.prices)
    return certified(
        design, targets, cost, fit, intercept, coefficients, constant, v, solution.steps, outcome
    )
