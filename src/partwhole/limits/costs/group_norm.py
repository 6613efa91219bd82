r"""The group norm: the cost of weight decay in networks whose units serve several readouts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.features.design import DenseDesign, Design, weighted_gram
from partwhole.features.scaled import ScaledDesign
from partwhole.limits.costs._cost import Bounds, DualTerm

# A squared pull may exceed its bound by this much: a solution lies on its bounds up to rounding.
ROUNDING = 1e-9


@door(infinite=("weights",))
@dataclass(frozen=True, eq=False)
class GroupNorm:
    r"""Sum of the blocks' Euclidean norms, which prefers few blocks.

    .. math:: R(c) = \sum_{blocks\ g} w_g \|c_g\|_2, \qquad
              R^*(A^T v) = 0 \text{ where all } \|A_g^T v\|_2 \le w_g,\ \infty \text{ elsewhere.}

    Parameters
    ----------
    weights : float array, shape (G,), optional
        :math:`w_g > 0`, 1 by default; infinite for blocks that must be 0.

    Raises
    ------
    InputError
        For weights that are not above 0, and on a design with another number of blocks.

    Notes
    -----
    It is the least sum of half the squared weights, :math:`\tfrac12 (w_g^2 + \|v_g\|^2)`, with
    which a hidden unit and its readouts give the block's coefficients :math:`w_g v_g`. Networks
    trained with weight decay therefore minimise it: multi-task learning with a diagonal first
    layer (Lippl & Lindsey, NeurIPS 2024), and gated networks. Gradient flow without weight decay
    does not minimise it.

    With k outputs the coefficients of a block are a matrix of k rows, and its norm is the nuclear
    norm: the least sum for units with the same gates and k readouts, if a gate has as many units
    as the matrix has rank. For blocks of one feature that is the Euclidean norm. Derived here.

    Examples
    --------
    >>> from partwhole import solve
    >>> from partwhole.features.multitask import multitask_design
    >>> inputs = [np.array([[1.0, 0.5]]), np.array([[0.5, 1.0]])]
    >>> data = multitask_design(inputs), np.array([1.0, 0.2])
    >>> limit = solve(data, cost=GroupNorm(), intercept="none")
    >>> np.abs(limit.coefficients.reshape(2, 2)).round(3).tolist()  # one feature serves both
    [[1.0, 0.4], [0.0, 0.0]]
    """

    weights: Float[np.ndarray, " G"] | None = None

    def __post_init__(self) -> None:
        if self.weights is not None:
            positive = bool(np.all(self.weights > 0))
            least = f"{np.min(self.weights):g}" if len(self.weights) else "none"
            require(positive, "weights of blocks are above 0", least, "leave out blocks of no cost")

    def value(self, design: Design, coefficients: Float[np.ndarray, " p"]) -> float:
        """Return the weighted sum of the blocks' norms."""
        norms = np.sqrt(Groups.of(design).sums(coefficients**2))
        if self.weights is None:
            return float(norms.sum())
        return float((norms[norms > 0] * self._block_weights(design)[norms > 0]).sum())

    def dual(self, design: Design, multipliers: Float[np.ndarray, " n"]) -> DualTerm:
        """Return the conjugate, whose domain is where no pull is larger than its block's weight."""
        return bounded(unweighted(self, design), multipliers, Groups.of(design))

    def primal(
        self, design: Design, multipliers: Float[np.ndarray, " n"], prices: np.ndarray | None
    ) -> Float[np.ndarray, " p"]:
        """Return the coefficients: the pull of each block times its price."""
        scaled = unweighted(self, design)
        coefficients = priced(scaled, multipliers, prices, Groups.of(design))
        return coefficients * scaled.factors if isinstance(scaled, ScaledDesign) else coefficients

    def _block_weights(self, design: Design) -> Float[np.ndarray, " G"]:
        assert self.weights is not None
        require(
            len(self.weights) == len(design.blocks),
            f"there is a weight for each of {len(design.blocks)} blocks",
            len(self.weights),
            "leave weights out for 1",
        )
        return self.weights


def unweighted(cost: GroupNorm, design: Design) -> Design:
    """Return the design in whose units all weights of a group norm are 1."""
    if cost.weights is None:
        return design
    weights = cost._block_weights(design)
    return ScaledDesign(design, 1.0 / weights[Groups.of(design).labels])


@dataclass(frozen=True, eq=False)
class Groups:
    """Partition of the columns into groups.

    Parameters
    ----------
    labels : int array, shape (p,)
        The group of each column.
    count : int
        Number of groups.
    """

    labels: Int[np.ndarray, " p"]
    count: int

    @classmethod
    def of(cls, design: Design) -> Groups:
        """Return the groups that are the blocks of a design."""
        sizes = [block.stop - block.start for block in design.blocks]
        return cls(np.repeat(np.arange(len(sizes)), sizes), len(sizes))

    def sums(self, values: Float[np.ndarray, " p"]) -> Float[np.ndarray, " G"]:
        """Return the sum of values over each group."""
        return np.bincount(self.labels, weights=values, minlength=self.count)

    def outputs(
        self, design: Design, coefficients: Float[np.ndarray, " p"]
    ) -> Float[np.ndarray, "n G"]:
        """Return each group's contribution to the outputs."""
        if isinstance(design, ScaledDesign):
            return self.outputs(design.design, coefficients * design.factors)
        if hasattr(design, "block_outputs") and self.count == len(design.blocks):
            return design.block_outputs(coefficients)  # pyright: ignore
        if isinstance(design, DenseDesign):
            starts = np.flatnonzero(np.diff(self.labels, prepend=-1))
            return np.add.reduceat(design.matrix * coefficients, starts, axis=1)
        alone = (design @ np.where(self.labels == g, coefficients, 0.0) for g in range(self.count))
        return np.stack(list(alone), axis=1)


def bounded(design: Design, multipliers: Float[np.ndarray, " n"], groups: Groups) -> DualTerm:
    """Return the conjugate whose domain is where no group's pull is larger than 1."""
    n = design.shape[0]
    pulled = design.adjoint(multipliers)
    room = 1.0 - groups.sums(pulled**2)

    def outputs(prices: np.ndarray) -> np.ndarray:
        return design @ (pulled * prices[:, 0, 0][groups.labels])

    @cache
    def shares() -> np.ndarray:
        return groups.outputs(design, pulled)

    def slope(direction: np.ndarray) -> np.ndarray:
        return -groups.sums(design.adjoint(direction) * pulled)[:, None, None]

    def curvature(prices: np.ndarray, scalings: np.ndarray) -> np.ndarray:
        moves = shares() * scalings[:, 0, 0]
        return weighted_gram(design, prices[:, 0, 0][groups.labels]) + moves @ moves.T

    def reach(direction: np.ndarray) -> float:
        # The smallest positive t with room - 2 t <u, du> - t^2 |du|^2 = 0 in any group, by the
        # form of the quadratic formula that does not cancel.
        along = design.adjoint(direction)
        square, inner = groups.sums(along**2), groups.sums(along * pulled)
        below = inner + np.sqrt(inner**2 + square * np.maximum(room, 0.0))
        walls = np.divide(room, below, out=np.full_like(room, np.inf), where=below > 0)
        return float(walls.min(initial=np.inf))

    inside = bool(np.all(room >= -ROUNDING))
    bounds = Bounds(0.5 * room[:, None, None], outputs, shares, slope, curvature, reach)
    value = 0.0 if inside else np.inf
    return DualTerm(value, np.zeros(n), lambda: np.zeros((n, n)), bounds=bounds)


def priced(
    design: Design,
    multipliers: Float[np.ndarray, " n"],
    prices: np.ndarray | None,
    groups: Groups,
) -> Float[np.ndarray, " p"]:
    """Return the coefficients: the pull of each group times its price."""
    pulled = design.adjoint(multipliers)
    return pulled * (0.0 if prices is None else prices[:, 0, 0][groups.labels])
