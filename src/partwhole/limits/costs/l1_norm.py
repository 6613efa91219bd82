r"""The l1 norm: where hyperbolic entropy goes as its widths vanish."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole.features.design import Design
from partwhole.limits.costs._cost import DualTerm
from partwhole.limits.costs.group_norm import Groups, bounded, priced


@dataclass(frozen=True, eq=False)
class L1Norm:
    r"""Prefer few features: the sum of absolute coefficients, :math:`R(c) = \sum_d |c_d|`.

    Notes
    -----
    The end of gradient flow in a diagonal network whose initial weights vanish, all at one rate
    (Woodworth et al., COLT 2020): per unit of size, `HyperbolicEntropy` costs
    :math:`\tfrac12 \ln(4 |c| / k)` and a constant, which the widths decide where they are small.

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
        """Return the domain in which no feature is pulled by more than 1."""
        return bounded(design, multipliers, _columns(design))

    def primal(
        self, design: Design, multipliers: Float[np.ndarray, " n"], prices: np.ndarray | None
    ) -> Float[np.ndarray, " p"]:
        """Return the coefficients: what pulls at each feature, times its price."""
        return priced(design, multipliers, prices, _columns(design))


def _columns(design: Design) -> Groups:
    """Take every column as a group of its own."""
    p = design.shape[1]
    return Groups(np.arange(p), p)
