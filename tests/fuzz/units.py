r"""The same problem said otherwise, with what becomes of its answer.

**Units.** Features times f and targets (and a tube's width) times t make
:math:`c' = (t/f)\, c`, :math:`b' = t\, b`, :math:`\xi' = t\, \xi`, and the cost
:math:`R'(c') = \rho\, R(c)` with :math:`\rho = (t/f)^d` for a cost of degree d: 2 for quadratic
costs, 1 for norms, 2 / L for the concave costs of L layers. The hyperbolic entropy
:math:`\sum k / 4\, \phi(2 c / k)` has degree 1 if its widths become :math:`k' = (t/f)\, k`; a tilt
has no unit. All terms of the objective grow by the same :math:`\rho` if
:math:`s' = t^2 s / \rho` and :math:`\lambda' = \rho \lambda / t^2`. A margin has t = 1.

**A block's unit.** Block g of features times :math:`f_g` makes :math:`c_g' = c_g / f_g`; a
quadratic cost is the same with :math:`\sigma_g' = \sigma_g / f_g^2`, a weighted group norm with
:math:`w_g' = f_g w_g`.

**A row's unit.** Without an intercept an equality times r is the same, with slack
:math:`s' = r^2 s`.

**A row said twice** is the same without slack, and with twice the slack for both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from problems import CONCAVE, Problem, scaled, taken


@dataclass(frozen=True, eq=False)
class Change:
    """A problem said otherwise: the value it should have, and its coefficients, if known."""

    problem: Problem
    value: float = 1.0
    coefficients: Callable[[np.ndarray], np.ndarray] | None = None


def degree(problem: Problem) -> float:
    """Return the power of the coefficients' unit by which the cost grows."""
    if problem.cost in CONCAVE:
        return 2.0 / problem.layers
    return 2.0 if problem.cost in ("quadratic", "function") else 1.0


def in_units(problem: Problem, feature: float, target: float) -> Change | None:
    """Return the problem with features and targets in other units."""
    if problem.tuples is not None:
        feature = 1.0
    if problem.fit == "margin":
        target = 1.0
    ratio = target / feature
    rho = ratio ** degree(problem)
    intercept = problem.intercept
    changed = replace(
        scaled(problem, feature),
        targets=problem.targets * target,
        tube=problem.tube * target,
        slack=problem.slack * (target**2 / rho),
        width=problem.width * ratio,
        intercept=intercept if isinstance(intercept, str) else intercept * (rho / target**2),
    )
    return Change(changed, rho, lambda c: ratio * c)


def in_block_units(problem: Problem, factors: np.ndarray) -> Change | None:
    """Return the problem with each block's features in another unit."""
    if problem.cost not in ("quadratic", "weighted group") or problem.tuples is not None:
        return None
    weights = (
        problem.weights / factors**2 if problem.cost == "quadratic" else problem.weights * factors
    )
    columns = factors[problem.labels]
    changed = replace(problem, matrix=problem.matrix * columns, weights=weights)
    return Change(changed, 1.0, lambda c: c / columns)


def in_row_units(problem: Problem, factors: np.ndarray) -> Change | None:
    """Return the problem with each equality in another unit."""
    dense = problem.gates is None and problem.tuples is None
    if problem.fit != "equal" or problem.intercept != "none" or not dense:
        return None
    changed = replace(
        problem,
        matrix=problem.matrix * factors[:, None],
        targets=problem.targets * factors,
        slack=problem.slack * factors**2,
        one_slack=False,
    )
    return Change(changed, 1.0, lambda c: c)


def with_rows(problem: Problem, order: np.ndarray) -> Change:
    """Return the problem with its rows in another order, or said more than once."""
    times = np.bincount(order, minlength=len(problem.targets))
    changed = taken(replace(problem, slack=problem.slack * times, one_slack=False), order)
    return Change(changed, 1.0, lambda c: c)


def mirrored(problem: Problem) -> Change | None:
    """Return the problem with all targets, and tilts, of the other sign."""
    changed = replace(problem, targets=-problem.targets, tilt=-problem.tilt)
    return Change(changed, 1.0, lambda c: -c)


def change(problem: Problem, kind: str, rng: np.random.Generator) -> Change | None:
    """Return a random change of a kind; None where the problem has none."""

    def factors(count: int, reach: float) -> np.ndarray:
        return 10.0 ** rng.uniform(-reach, reach, count)

    n = len(problem.targets)
    if problem.posed is not None:
        return None
    match kind:
        case "features":
            return in_units(problem, float(factors(1, 12)[0]), 1.0)
        case "targets":
            return in_units(problem, 1.0, float(factors(1, 12)[0]))
        case "both":
            return in_units(problem, *(float(factor) for factor in factors(2, 6)))
        case "blocks":
            return in_block_units(problem, factors(len(problem.sizes), 8))
        case "rows":
            return in_row_units(problem, factors(n, 8))
        case "order":
            return with_rows(problem, rng.permutation(n))
        case "twice":
            return with_rows(problem, np.append(np.arange(n), rng.integers(n)))
        case "mirror":
            return mirrored(problem)
    raise ValueError(kind)


CHANGES = ("features", "targets", "both", "blocks", "rows", "order", "twice", "mirror")
