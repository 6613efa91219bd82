r"""The l1 norm: the limit of hyperbolic entropy for small widths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole.features.design import Design
from partwhole.limits.costs._cost import DualTerm
from partwhole.limits.costs.group_norm import Groups, bounded, priced


@dataclass(frozen=True, eq=False)
class L1Norm:
    r"""Sum of absolute coefficients, :math:`R(c) = \sum_d |c_d|`, which prefers few features.

    Notes
    -----
    Gradient flow in a diagonal network minimises it in the limit of small initial weights, all of
    the same size (Woodworth et al., COLT 2020). For each unit of a coefficient's size
    `HyperbolicEntropy` costs :math:`\tfrac12 \ln(4 |c| / k)` plus a constant, and for small
    widths k this depends little on c.

    Examples
    --------
    >>> from partwhole import solve
    >>> inputs, targets = np.array([[1.0, 2.0]]), np.array([2.0])
    >>> limit = solve((inputs, targets), cost=L1Norm(), intercept="none")
    >>> limit.coefficients.round(6).tolist()
    [0.0, 1.0]
    """

    def value(self, design: Design, coefficients: Float[np.ndarray, " p"]) -> float:
        """Return the sum of absolute coefficients."""
        return float(np.abs(coefficients).sum())

    def dual(self, design: Design, multipliers: Float[np.ndarray, " n"]) -> DualTerm:
        """Return the conjugate, whose domain is where no feature's pull is larger than 1."""
        return bounded(design, multipliers, _columns(design))

    def primal(
        self, design: Design, multipliers: Float[np.ndarray, " n"], prices: np.ndarray | None
    ) -> Float[np.ndarray, " p"]:
        """Return the coefficients: the pull of each feature times its price."""
        return priced(design, multipliers, prices, _columns(design))


def _columns(design: Design) -> Groups:
    """Return groups of one column each."""
    p = design.shape[1]
    return Groups(np.arange(p), p)
