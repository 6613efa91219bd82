r"""The core: the least-cost function that fits the training set, and the choice of its solver.

.. math:: \min_{c,\, b,\, \xi}\; R(c) + \tfrac12 \sum_i \xi_i^2 / s_i
          \quad\text{such that}\quad A c + b + \xi \quad\text{fits}\quad y,

where to fit means to equal y (`Equal`), to have margin :math:`y_i (\cdot)_i \ge 1` (`Margin`) or
to lie within :math:`\epsilon` of y (`Tube`), and :math:`\xi_i = 0` where the slack
:math:`s_i = 0`. Its dual is

.. math:: \max_v\; \langle y, v\rangle - R^*(A^T v) - \tfrac12 \sum_i s_i v_i^2
          - \epsilon \sum_i |v_i|,

with :math:`R^*` the conjugate of the cost; v is free for `Equal` and has the labels' signs for
`Margin`. A free intercept is a column of cost zero, which requires :math:`\sum v = 0`; a penalised
intercept subtracts :math:`(\sum v)^2 / (2 \lambda)` from the dual. Derived here. Several outputs
are rewritten as one in `outputs`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, cast

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.features.design import Block, DenseDesign, Design, dense_features
from partwhole.features.scaled import ScaledDesign
from partwhole.limits._active_rows import through_active_rows
from partwhole.limits._dual import equalities, inequalities
from partwhole.limits._quadratic import through_columns
from partwhole.limits._reduction import ENTRIES
from partwhole.limits.costs import Concave, Cost, GroupNorm, LinearProbing, Quadratic
from partwhole.limits.costs.group_norm import unweighted
from partwhole.limits.fits import Equal, Tube
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.outputs import of_outputs
from partwhole.limits.probing import through_scaled_inputs
from partwhole.limits.problem import Problem
from partwhole.limits.solvers.majorised import majorised

MEMORY_GIB = 8.0
Solver = Literal["primal", "probing", "touching", "dual"]
AT_REST = 1e-9  # of the largest coefficient: the rounds end when one changes less than this

# From each solver to the types of cost, fit and design that it serves, in the order of preference:
# by default the first solver that serves a problem is used.
SOLVERS: dict[Solver, tuple[type, type, type]] = {
    "primal": (Quadratic, Equal, ConjunctionDesign),
    "probing": (LinearProbing, Equal, DenseDesign),
    "touching": (Concave, object, object),
    "dual": (Cost, object, object),
}
SERVES = {
    "primal": "the quadratic cost and Equal on conjunctions, with slack on every row or none",
    "probing": "LinearProbing and the fit Equal on inputs, without slack or intercept",
    "touching": "costs that are not convex",
    "dual": "convex costs",
}


def least_cost(
    problem: Problem,
    *,
    solver: Solver | None = None,
    max_steps: int = 200,
    tolerance: float = 1e-12,
    start: Float[np.ndarray, "p *k"] | None = None,
) -> Limit:
    """Return the limit of a problem; the arguments are those of `solve`.

    Raises
    ------
    InputError
        When the solver does not serve the problem, or it needs more memory than 8 GiB.
    """
    design, targets, cost, fit = problem.design, problem.targets, problem.cost, problem.fit
    rule, kind = "a start is for costs that are not convex", type(cost).__name__
    require(start is None or isinstance(cost, Concave), rule, kind, "leave start out")
    if targets.ndim > 1 and not (isinstance(fit, Equal) and isinstance(cost, Quadratic)):

        def solve(inner: Problem, start: Float[np.ndarray, " p"] | None) -> Limit:
            options = {"solver": solver, "max_steps": max_steps, "tolerance": tolerance}
            return least_cost(inner, **options, start=start)

        return of_outputs(problem, solve, start)
    private = _private_block(problem)
    if private is not None:
        return _with_block_as_slack(problem, private, solver, max_steps, tolerance)
    if solver is None:
        solver = next(name for name in SOLVERS if _serves(name, problem))
    else:
        require(
            _serves(solver, problem),
            f"the {solver} solver serves {SERVES[solver]}",
            f"{type(cost).__name__}, {type(fit).__name__} and {type(design).__name__}",
            "leave solver out",
        )
    if solver == "primal":
        return through_columns(problem, max_steps, tolerance)
    if solver == "probing":
        return through_scaled_inputs(problem)
    if solver == "touching":
        return _stationary(problem, cast(Concave, cost), start, max_steps)
    if isinstance(cost, GroupNorm) and cost.weights is not None:
        return _with_unit_weights(problem, cost, max_steps, tolerance)
    gibibytes = 4.0 * 8.0 * len(targets) ** 2 / 2**30
    require(
        gibibytes <= MEMORY_GIB,
        f"the dual form may take {MEMORY_GIB:g} GiB",
        f"{len(targets)} rows, which need about {gibibytes:.0f}",
        "take fewer rows; interpolation with nonnegative saliences has no such limit",
    )
    if isinstance(fit, Tube) and fit.width == 0:
        fit = Equal(fit.slack)
        problem = replace(problem, fit=fit)
    if isinstance(fit, Equal):
        return equalities(problem, max_steps, tolerance)
    limit = inequalities(problem, max_steps, tolerance)
    if limit.outcome in (Outcome.SOLVED, Outcome.INFEASIBLE):
        return limit
    second = through_active_rows(problem, limit.multipliers, max_steps, tolerance)
    return second if second is not None and second.outcome is Outcome.SOLVED else limit


def _serves(solver: Solver, problem: Problem) -> bool:
    kinds = SOLVERS[solver]
    if not all(map(isinstance, (problem.cost, problem.fit, problem.design), kinds)):
        return False
    if solver == "primal":
        return not (problem.is_exact and bool(np.any(problem.slack > 0)))
    if solver == "probing":
        return problem.intercept == "none" and not bool(np.any(problem.slack > 0))
    return True


def _private_block(problem: Problem) -> Block | None:
    """Return the block in which no two rows share a column, such as that of full conjunctions."""
    design, cost = problem.design, problem.cost
    if not (isinstance(design, ConjunctionDesign) and isinstance(cost, Quadratic)):
        return None
    for block, index in zip(design.blocks, design.index, strict=True):
        single = block.stop - block.start == len(index) and int(index.min(initial=0)) >= 0
        if single and len(np.unique(index)) == len(index) and cost.weight(block.label) > 0:
            return block
    return None


def _with_block_as_slack(
    problem: Problem, block: Block, solver: Solver | None, max_steps: int, tolerance: float
) -> Limit:
    r"""Return the limit of a problem, solved with slack in place of a block of private columns.

    A feature of weight :math:`\sigma` that only one row has costs :math:`\xi^2 / (2 \sigma)` for
    its contribution :math:`\xi` to that row's output. This is the cost of slack :math:`\sigma`,
    and the feature's coefficient is :math:`\sigma v`.
    """
    design, cost = problem.design, problem.cost
    assert isinstance(design, ConjunctionDesign)
    assert isinstance(cost, Quadratic)
    place = design.blocks.index(block)
    weight, index = cost.weight(block.label), design.index[place]
    inner = replace(
        problem,
        design=design.without(place),
        fit=replace(problem.fit, slack=problem.fit.slack + weight),
    )
    limit = least_cost(inner, solver=solver, max_steps=max_steps, tolerance=tolerance)
    memory = np.empty_like(limit.multipliers)
    memory[index] = weight * limit.multipliers
    before, after = np.split(limit.coefficients, [block.start])
    coefficients = np.concatenate([before, memory, after])
    return replace(limit, problem=problem, coefficients=coefficients)


def _with_unit_weights(
    problem: Problem, cost: GroupNorm, max_steps: int, tolerance: float
) -> Limit:
    """Return the limit of a weighted group norm, in units in which the weights are 1."""
    scaled = unweighted(cost, problem.design)
    assert isinstance(scaled, ScaledDesign)
    n, p = scaled.shape
    inner: Design = scaled
    if n * p <= ENTRIES:
        inner = DenseDesign(dense_features(scaled.design) * scaled.factors, scaled.blocks)
    limit = least_cost(
        replace(problem, design=inner, cost=GroupNorm()), max_steps=max_steps, tolerance=tolerance
    )
    return replace(limit, problem=problem, coefficients=limit.coefficients * scaled.factors)


def _stationary(
    problem: Problem, cost: Concave, start: Float[np.ndarray, " p"] | None, max_steps: int
) -> Limit:
    """Return a stationary point of a cost that is not convex."""
    design, fit = problem.design, problem.fit
    _require_start(start, design)

    def solved(touching: Cost) -> Limit:
        return least_cost(replace(problem, cost=touching))

    def value(limit: Limit) -> float:
        outputs = design @ limit.coefficients + problem.shift(limit.intercept)
        misfit = fit.misfit(problem.targets, outputs)
        return cost.value(design, limit.coefficients) + problem.paid(misfit, limit.intercept)

    limit = majorised(solved, value, design, cost, start, max_steps=max_steps, tolerance=AT_REST)
    return replace(limit, problem=problem)


def _require_start(start: np.ndarray | None, design: Design) -> None:
    """Refuse a start that has the wrong number of coefficients, or only zeros."""
    has_shape = start is None or start.shape == design.shape[1:]
    rule = f"a start is {design.shape[1]} coefficients, not all of them 0"
    received = "none" if start is None else f"shape {start.shape}, {int((start != 0).sum())} not 0"
    require(has_shape and (start is None or start.any()), rule, received, "or leave it out")
