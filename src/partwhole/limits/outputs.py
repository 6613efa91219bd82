r"""Several outputs: one problem for each, or one problem in rows that compare them.

Outputs are problems of their own where the cost has no term between them. A cost of weights that
outputs share sees the coefficients of all outputs as one vector or matrix (`_Merged`). Classes,
one-hot targets of 0 and 1, are compared: cross-entropy of a softmax ends at

.. math:: \min R(C) \quad\text{such that}\quad f_{y_i}(x_i) - f_j(x_i) \ge 1
          \quad\text{for all } j \ne y_i

(Soudry et al., JMLR 2018; as a fit: Crammer & Singer, JMLR 2001). Each comparison is a row with
the target 1, and its multipliers :math:`v_{ij}` give the outputs
:math:`\alpha_i = \sum_j v_{ij} (e_{y_i} - e_j)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import null_space

from partwhole._checks import require
from partwhole.features.design import Block, DenseDesign, Design, dense_features
from partwhole.features.outputs import OutputsDesign
from partwhole.features.scaled import ScaledDesign
from partwhole.limits._reduction import ENTRIES
from partwhole.limits.costs import ChainNorm, Concave, Cost, GroupNorm, NuclearNorm, SchattenNorm
from partwhole.limits.costs._cost import Squares
from partwhole.limits.costs._over_outputs import SquaresOverOutputs, SumOverOutputs
from partwhole.limits.costs.group_norm import unweighted
from partwhole.limits.fits import Margin
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.problem import Problem
from partwhole.tasks._labels import are_classes

# Solves a problem of one output from a start.
Solve = Callable[[Problem, Any], Limit]

OWN = "each output has weights of its own"
SHARED = "the outputs share hidden units, of which there are enough for any coefficients"
CLASSES = "classes are compared: cross-entropy of a softmax"
ABSENT = "a class without inputs has the highest constant output that is 1 below every right one"
# The outcome of several problems is that of the worst.
WORST = (
    Outcome.INFEASIBLE, Outcome.MAX_STEPS, Outcome.INACCURATE, Outcome.STATIONARY, Outcome.SOLVED,
)  # fmt: skip


def of_outputs(problem: Problem, solve: Solve, start: np.ndarray | None) -> Limit:
    """Return the limit of a problem with targets of shape (n, k).

    Parameters
    ----------
    problem : Problem
    solve : callable
        Solves a problem of one output from a start.
    start : float array, shape (p, k), or None

    Returns
    -------
    Limit
        With coefficients (p, k), multipliers (n, k) and intercept (k,).

    Raises
    ------
    InputError
        For a start of another shape, targets of a margin that are no labels, and classes with a
        cost that is not convex and not that of an architecture.
    """
    targets, cost = problem.targets, problem.cost
    shape = (problem.design.shape[1], targets.shape[1])
    require(
        start is None or start.shape == shape,
        f"a start has coefficients of shape {shape}",
        "none" if start is None else start.shape,
        "or leave it out",
    )
    of_labels = isinstance(problem.fit, Margin)
    classes = of_labels and are_classes(targets) and targets.min() == 0.0
    require(
        not of_labels or classes or bool((np.abs(targets) == 1.0).all()),
        "margins of several outputs need labels -1 and +1, or classes as one-hot rows of 0 and 1",
        f"targets in {targets.min():g}..{targets.max():g}",
        "recode the targets; for numbers use the fit Equal or Tube",
    )
    shares = isinstance(cost, GroupNorm | NuclearNorm | ChainNorm | SchattenNorm)
    if not classes and not shares:
        return _one_by_one(problem, solve, start)
    require(
        shares or not isinstance(cost, Concave),
        "classes need a convex cost, ChainNorm or SchattenNorm",
        type(cost).__name__,
        "pass labels -1 and +1 for one class against the rest",
    )
    notes = [SHARED if shares else OWN, *([CLASSES] if classes else [])]
    if not classes:
        return _in_rows(problem, _Rows.apart(targets), solve, start, notes)
    # A free constant of a class without inputs may be as low as it takes, at no cost.
    present = np.ones(targets.shape[1], dtype=bool)
    if problem.intercept == "free":
        present[:] = targets.any(axis=0)
    if present.sum() < 2:
        present[np.argmin(present)] = True
    rows = _Rows.compared(targets, present)
    if present.all():
        return _in_rows(problem, rows, solve, start, notes)
    limit = _in_rows(problem, rows, solve, start, [*notes, ABSENT])
    intercept = np.array(limit.intercept)
    outputs = problem.design @ limit.coefficients + intercept
    intercept[~present] = np.sum(targets * outputs, axis=1).min() - 1.0
    return replace(limit, intercept=intercept)


def _one_by_one(problem: Problem, solve: Solve, start: np.ndarray | None) -> Limit:
    """Return the limit of outputs that have nothing in common, solved one after the other."""
    limits = []
    for place, column in enumerate(problem.targets.T):
        one = replace(problem, targets=np.ascontiguousarray(column))
        limits.append(solve(one, None if start is None else start[:, place]))
    outcome = min((limit.outcome for limit in limits), key=WORST.index)
    coefficients = np.stack([limit.coefficients for limit in limits], axis=1)
    multipliers = np.stack([limit.multipliers for limit in limits], axis=1)
    if outcome is Outcome.INFEASIBLE:
        # The proof consists of the multipliers of the outputs that no function fits.
        unfit = [limit.outcome is outcome for limit in limits]
        coefficients, multipliers = np.nan * coefficients, np.where(unfit, multipliers, 0.0)
    notes = dict.fromkeys((OWN, *(note for limit in limits for note in limit.assumptions)))
    return Limit(
        problem, coefficients, multipliers,
        np.array([limit.intercept for limit in limits]) + 0.0 * coefficients[:1].sum(axis=0),
        sum(limit.value for limit in limits), sum(limit.gap for limit in limits),
        max(limit.violation for limit in limits), max(limit.steps for limit in limits),
        outcome, tuple(notes),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows that are weighted sums of outputs.

    Parameters
    ----------
    inputs : int array, shape (m,)
        The input of each row.
    contrasts : float array, shape (m, k)
        The weights of its outputs.
    targets : float array, shape (m,)
    constants : float array, shape (k, q)
        Orthonormal directions of the intercept on which rows depend.
    """

    inputs: Int[np.ndarray, " m"]
    contrasts: Float[np.ndarray, "m k"]
    targets: Float[np.ndarray, " m"]
    constants: Float[np.ndarray, "k q"]

    @classmethod
    def apart(cls, targets: Float[np.ndarray, "n k"]) -> _Rows:
        """Return a row for each input and output."""
        n, k = targets.shape
        return cls(
            np.repeat(np.arange(n), k), np.tile(np.eye(k), (n, 1)), targets.ravel(), np.eye(k)
        )

    @classmethod
    def compared(cls, targets: Float[np.ndarray, "n k"], present: Bool[np.ndarray, " k"]) -> _Rows:
        """Return a row for each input and each of these classes that is not its own."""
        k = targets.shape[1]
        inputs, rivals = np.nonzero((targets == 0.0) & present)
        units = np.eye(k)
        contrasts = targets[inputs] - units[rivals]
        # The same constant for all outputs changes no comparison.
        directions = np.zeros((k, int(present.sum()) - 1))
        directions[present] = null_space(np.ones((1, int(present.sum()))))
        return cls(inputs, contrasts, np.ones(len(inputs)), directions)


@dataclass(frozen=True, eq=False)
class _Merged:
    """Features and cost of all outputs as those of one.

    Parameters
    ----------
    design : Design
        Of one output, in units in which blocks have weights of 1.
    cost : Cost or Concave
        On the coefficients of all outputs, ordered as in `OutputsDesign`.
    columns : int array, shape (p,)
        Where the problem's features are among those of the design.
    factors : float array, shape (p,)
        From coefficients of the design to those of the problem.
    """

    design: Design
    cost: Cost | Concave
    columns: Int[np.ndarray, " p"]
    factors: Float[np.ndarray, " p"]

    @classmethod
    def of(cls, design: Design, cost: Cost | Concave, k: int) -> _Merged:
        """Return features and cost of k outputs.

        Units with the same gates in front of k linear readouts compute any matrix
        :math:`C_g = V_g W_g`, and their weights cost its nuclear norm. A gate in front of one
        input has a matrix of one column, and its norm is the Euclidean one.
        """
        p = design.shape[1]
        columns, factors = np.arange(p), np.ones(p)
        sizes = [block.stop - block.start for block in design.blocks]
        if isinstance(cost, GroupNorm):
            scaled = unweighted(cost, design)
            if isinstance(scaled, ScaledDesign):
                factors = scaled.factors
            design, cost = scaled, GroupNorm() if _of_vectors(sizes, k) else NuclearNorm(k)
        elif isinstance(cost, ChainNorm):
            cost = cost if _of_vectors(sizes, k) else SchattenNorm(k, cost.n_layers)
        elif isinstance(cost, NuclearNorm | SchattenNorm):
            return cls(design, replace(cost, rows=k * cost.rows), columns, factors)
        elif isinstance(cost, Squares):
            return cls(design, SquaresOverOutputs(cost), columns, factors)
        else:
            assert isinstance(cost, Cost)
            return cls(design, SumOverOutputs(cost), columns, factors)
        if isinstance(cost, NuclearNorm | SchattenNorm) and len(set(sizes)) > 1:
            # Matrices of one size, filled up with features that are 0.
            starts = max(sizes) * np.arange(len(sizes))
            columns = np.concatenate(
                [start + np.arange(size) for start, size in zip(starts, sizes, strict=True)]
            )
            matrix = np.zeros((design.shape[0], max(sizes) * len(sizes)))
            matrix[:, columns] = dense_features(design)
            blocks = [
                Block(block.label, start, start + max(sizes))
                for block, start in zip(design.blocks, starts.tolist(), strict=True)
            ]
            design = DenseDesign(matrix, tuple(blocks))
        return cls(design, cost, columns, factors)


def _of_vectors(sizes: list[int], k: int) -> bool:
    """Return whether the blocks of all outputs are single rows or columns."""
    return k == 1 or max(sizes) == 1


def _in_rows(
    problem: Problem, rows: _Rows, solve: Solve, start: np.ndarray | None, notes: Sequence[str]
) -> Limit:
    """Return the limit of a problem in rows that are weighted sums of outputs."""
    k = problem.targets.shape[1]
    merged = _Merged.of(problem.design, problem.cost, k)
    design = OutputsDesign(merged.design, rows.inputs, rows.contrasts)
    if start is not None:
        whole = np.zeros((merged.design.shape[1], k))
        whole[merged.columns] = start
        start = design.in_order(whole)
    constants = None if problem.intercept == "none" else rows.contrasts @ rows.constants
    by_output = isinstance(merged.cost, SumOverOutputs) or math.prod(design.shape) > ENTRIES
    inner = Problem(
        design if by_output else design.dense(), rows.targets, merged.cost,
        replace(problem.fit, slack=problem.slack[rows.inputs]), problem.intercept, constants,
    )  # fmt: skip
    limit = solve(inner, start)
    directions = np.ones((k, 1)) if constants is None else rows.constants
    return replace(
        limit,
        problem=problem,
        coefficients=design.by_output(limit.coefficients)[merged.columns] * merged.factors[:, None],
        multipliers=design.of_inputs(limit.multipliers),
        intercept=directions @ np.atleast_1d(limit.intercept),
        assumptions=(*notes, *limit.assumptions),
    )
