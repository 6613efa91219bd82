r"""The core: the least-cost function that fits the training set.

.. math:: \min_{c,\, b}\; R(c) \quad\text{s.t. the outputs}\quad A c + b \quad\text{fit}\quad y.

Only three things differ between learners: the features A, the cost R, and the fit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real
from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.features.design import Design, as_design
from partwhole.limits._active_rows import through_active_rows
from partwhole.limits._certificate import Intercept, beside, slack_of
from partwhole.limits._dual import equalities, inequalities
from partwhole.limits._quadratic import through_columns
from partwhole.limits.costs import Concave, Cost, Quadratic
from partwhole.limits.fits import Equal, Fit, Tube
from partwhole.limits.limit import Limit, Outcome
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


@door(empty=("design", "targets"))
def least_cost(
    design: Float[np.ndarray, "n p"] | Design | Sequence[Sequence[Real]],
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
    require(
        len(targets) == n,
        "targets must have one row for each row of the design",
        f"{len(targets)} for {n} rows",
        "pass the training rows of both",
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
    if solver is None:
        solver = next(
            name
            for name, kinds in SOLVERS.items()
            if all(map(isinstance, (cost, fit, design), kinds)) and not (name == "primal" and mixed)
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
        assert isinstance(design, ConjunctionDesign)
        return through_columns(design, targets, cost, fit, intercept, max_steps, tolerance)
    if isinstance(cost, Concave):
        _require_start(start, design)

        def solve(touching: Cost) -> Limit:
            return least_cost(design, targets, touching, fit, intercept=intercept)

        def value(limit: Limit) -> float:
            misfit = fit.misfit(targets, limit.predict(design))
            paid = beside(fit, intercept, misfit, limit.intercept)
            return cost.value(design, limit.coefficients) + paid

        limits = {"max_steps": max_steps, "tolerance": STILL}
        return majorised(solve, value, design, cost, start, **limits)
    gibibytes = 4.0 * 8.0 * n * n / 2**30
    require(
        gibibytes <= MEMORY_GIB,
        f"the dual form may take {MEMORY_GIB:g} GiB",
        f"{n} rows, which need about {gibibytes:.0f}",
        "take fewer rows; interpolation with nonnegative saliences has no such limit",
    )
    if isinstance(fit, Tube) and fit.width == 0:
        fit = Equal(fit.slack)
    if isinstance(fit, Equal):
        return equalities(design, targets, cost, fit, intercept, max_steps, tolerance)
    limit = inequalities(design, targets, cost, fit, intercept, max_steps, tolerance)
    if limit.outcome in (Outcome.SOLVED, Outcome.INFEASIBLE):
        return limit
    other = through_active_rows(
        design, targets, cost, fit, intercept, limit.multipliers, max_steps, tolerance
    )
    return other if other is not None and other.outcome is Outcome.SOLVED else limit


def require_intercept(intercept: Intercept) -> None:
    """Refuse other texts than 'free' and 'none', and penalty weights that are not positive."""
    require(
        intercept in ("free", "none") if isinstance(intercept, str) else intercept > 0,
        "intercept is 'free', 'none' or a positive penalty weight",
        repr(intercept),
        "choose one of them",
    )


def _require_start(start: np.ndarray | None, design: Design) -> None:
    """Refuse a start that is no coefficients of the design."""
    good = start is None or start.shape == design.shape[1:]
    rule = f"a start is {design.shape[1]} coefficients, not all of them 0"
    got = "none" if start is None else f"shape {start.shape}, {int((start != 0).sum())} not 0"
    require(good and (start is None or start.any()), rule, got, "or leave it out")
