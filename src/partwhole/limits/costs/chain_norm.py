r"""The quasi-norm of parallel chains: deeper ones prefer fewer units than the group norm does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._checks import whole
from partwhole._door import door
from partwhole.features.design import Design
from partwhole.limits.costs.group_norm import GroupNorm, Groups

# A block with smaller outputs, relative to those of the largest block, counts as 0 and stays 0.
SMALLEST_SHARE = 1e-9


@door
@dataclass(frozen=True)
class ChainNorm:
    r"""Quasi-norm of parallel chains: the deeper, the fewer blocks; not convex for L > 2.

    .. math:: R(c) = \sum_{blocks\ g} \|c_g\|_2^{2/L}

    With two layers it is `GroupNorm`. Setting a block to 0 is always stationary, so that there
    are many stationary points; `solve` returns one near its start.

    Parameters
    ----------
    n_layers : int
        L, at least 2.

    Raises
    ------
    InputError
        For fewer than two layers.

    Notes
    -----
    It is the least sum of squared weights, divided by L, with which H chains of L layers (each
    unit has one input, the unit below it) compute the blocks' coefficients. Each of the L factors
    of a chain then has norm :math:`\|c_g\|^{1/L}`. Derived here. Layers that mix units have the
    group norm instead. With k outputs a block is a matrix of k rows, with the cost `SchattenNorm`.

    The cost lies below the group norm with weights :math:`\tfrac{2}{L} \|c_g\|^{2/L - 1}`, which
    touches it at c.

    Examples
    --------
    >>> from partwhole import solve
    >>> from partwhole.features import DenseDesign
    >>> from partwhole.features.design import Block
    >>> design = DenseDesign(np.array([[1.0, 1.2]]), (Block(0, 0, 1), Block(1, 1, 2)))
    >>> limit = solve((design, np.array([1.2])), cost=ChainNorm(3), intercept="none")
    >>> limit.outcome.name, limit.coefficients.round(6).tolist(), round(limit.value, 6)
    ('STATIONARY', [0.0, 1.0], 1.0)
    """

    n_layers: int

    def __post_init__(self) -> None:
        whole("n_layers", self.n_layers, 2, "a single layer has the quadratic cost")

    def value(self, design: Design, coefficients: Float[np.ndarray, " p"]) -> float:
        """Return the sum over blocks."""
        return float((Groups.of(design).sums(coefficients**2) ** (1.0 / self.n_layers)).sum())

    def touching(
        self, design: Design, coefficients: Float[np.ndarray, " p"] | None, turn: int = 0
    ) -> GroupNorm:
        """Return the weighted group norm that touches this cost from above at coefficients."""
        if coefficients is None:
            return GroupNorm()
        power = 2.0 / self.n_layers
        norms = np.sqrt(Groups.of(design).sums(coefficients**2))
        in_use = _in_use(design, coefficients)
        weights = np.full(len(norms), np.inf)
        weights[in_use] = power * norms[in_use] ** (power - 1.0)
        return GroupNorm(weights)

    def within(
        self,
        design: Design,
        coefficients: Float[np.ndarray, " p"],
        reference: Float[np.ndarray, " p"],
    ) -> Float[np.ndarray, " p"]:
        """Return the coefficients with 0 for the blocks that the reference does not use."""
        return np.where(_in_use(design, reference)[Groups.of(design).labels], coefficients, 0.0)


def _in_use(design: Design, coefficients: np.ndarray) -> np.ndarray:
    """Return which blocks have coefficients other than 0, and outputs that are not rounding."""
    groups = Groups.of(design)
    outputs = np.abs(groups.outputs(design, coefficients)).max(axis=0, initial=0.0)
    return (groups.sums(coefficients**2) > 0.0) & (
        outputs > SMALLEST_SHARE * outputs.max(initial=0.0)
    )
