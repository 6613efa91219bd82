r"""The problem to solve: features x cost x fit, with or without an intercept.

.. math:: \min_{c,\, b}\; R(c) \quad\text{s.t. the outputs}\quad A c + b \quad\text{fit}\quad y.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._types import Real
from partwhole.features.design import Design
from partwhole.limits.costs import Concave, Cost
from partwhole.limits.fits import Fit

Intercept = str | Real


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Features, targets, cost, fit and intercept of a least-cost problem.

    Parameters
    ----------
    design : Design
        A, n training inputs in p features.
    targets : float array, shape (n,) or (n, k)
        y.
    cost : Cost or Concave
        R, the learner's preference among functions that fit.
    fit : Equal, Margin or Tube
        The constraint on the outputs, and its slack.
    intercept : {"free", "none"} or float
        A constant b of cost zero, no constant, or a constant of cost
        :math:`\tfrac12 \lambda b^2`, given by its penalty weight :math:`\lambda > 0`.
    constants : float array, shape (n, q), optional
        Z, if the intercept is :math:`Z b` with q constants; by default a column of ones.

    Raises
    ------
    InputError
        When targets or slack and design differ in length, there is no row, or the intercept is
        not one of these.
    """

    design: Design
    targets: Float[np.ndarray, "n *k"]
    cost: Cost | Concave
    fit: Fit
    intercept: Intercept
    constants: Float[np.ndarray, "n q"] | None = None

    def __post_init__(self) -> None:
        n = self.design.shape[0]
        require(
            len(self.targets) == n,
            "targets must have one row for each row of the design",
            f"{len(self.targets)} for {n} rows",
            "pass the training rows of both",
        )
        require(n > 0, "a fit needs at least one row", "none", "pass the training rows")
        require_intercept(self.intercept)
        require(
            np.ndim(self.fit.slack) == 0 or np.shape(self.fit.slack) == (n,),
            "slack is one number or one for each row",
            f"shape {np.shape(self.fit.slack)} for {n} rows",
            "pass a number",
        )

    @property
    def convex_cost(self) -> Cost:
        """Return the cost, where it is known to be convex."""
        return cast(Cost, self.cost)

    @cached_property
    def slack(self) -> Float[np.ndarray, " n"]:
        """Return the slack of each row."""
        return np.broadcast_to(np.asarray(self.fit.slack, dtype=float), (len(self.targets),))

    @property
    def is_exact(self) -> bool:
        """Return whether some row has no slack."""
        return not bool(np.all(self.slack > 0))

    @property
    def penalty(self) -> float:
        """Return the intercept's penalty weight; 0 for a free one and for none."""
        return 0.0 if isinstance(self.intercept, str) else float(self.intercept)

    @cached_property
    def columns(self) -> Float[np.ndarray, "n q"]:
        """Return Z, the columns of the intercept; none without one."""
        if self.intercept == "none":
            return np.zeros((len(self.targets), 0))
        return np.ones((len(self.targets), 1)) if self.constants is None else self.constants

    def shift(self, constant: np.ndarray | float) -> np.ndarray | float:
        """Return what the intercept adds to the outputs."""
        return constant if self.constants is None else self.columns @ constant

    def constant(self, coefficients: Float[np.ndarray, "q *k"]) -> np.ndarray | float:
        """Return the intercept that has these coefficients of its columns."""
        if self.constants is not None:
            return coefficients
        constant = coefficients.sum(axis=0)
        return float(constant) if self.targets.ndim == 1 else constant

    def paid(self, misfit: Float[np.ndarray, "n *k"], constant: np.ndarray | float) -> float:
        """Return the cost of slack and of a penalised intercept, without that of coefficients."""
        slack = self.slack.reshape(-1, *[1] * (misfit.ndim - 1))
        shares = np.divide(misfit**2, slack, out=np.zeros_like(misfit), where=slack > 0)
        of_constant = 0.5 * self.penalty * float(np.sum(np.square(constant)))
        return 0.5 * float(np.sum(shares)) + of_constant


def require_intercept(intercept: Intercept) -> None:
    """Refuse an intercept that is not 'free', 'none' or a positive penalty weight."""
    require(
        intercept in ("free", "none") if isinstance(intercept, str) else intercept > 0,
        "intercept is 'free', 'none' or a positive penalty weight",
        repr(intercept),
        "choose one of them",
    )
