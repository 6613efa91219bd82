"""The quadratic cost: kernel machines, ridge regression, gradient descent on a linear readout."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.features.design import Design, dense_features
from partwhole.limits.costs._cost import DualTerm


@door
@dataclass(frozen=True, eq=False)
class Quadratic:
    r"""Weighted sum of squared coefficients, with one weight for each block.

    .. math:: R(c) = \tfrac12 \sum_{blocks\ S} \|c_S\|^2 / \sigma_S,
              \qquad R^*(A^T v) = \tfrac12 v^T K v, \quad K = \sum_S \sigma_S A_S A_S^T.

    Parameters
    ----------
    weights : mapping from block label to float, optional
        :math:`\sigma_S`; 1 for blocks that are not in the mapping. With the weights of an overlap
        kernel this is the minimum-norm learner of that kernel.

    Notes
    -----
    A negative weight (a salience slightly below 0, admissible while K stays positive
    semidefinite) is allowed in the dual form only.

    Examples
    --------
    Two equal features share an output in proportion to their weights:

    >>> from partwhole import solve
    >>> from partwhole.features import DenseDesign
    >>> from partwhole.features.design import Block
    >>> design = DenseDesign(np.ones((1, 2)), (Block("part", 0, 1), Block("whole", 1, 2)))
    >>> limit = solve((design, np.ones(1)), cost=Quadratic({"part": 3.0}), intercept="none")
    >>> limit.coefficients.round(6).tolist()
    [0.75, 0.25]
    """

    weights: Mapping[Hashable, float] = field(default_factory=dict)

    def weight(self, label: Hashable) -> float:
        """Return a block's weight."""
        return float(self.weights.get(label, 1.0))

    def value(self, design: Design, coefficients: Float[np.ndarray, "p *k"]) -> float:
        """Return the cost of coefficients; infinite if a block of weight 0 is not 0."""
        total = 0.0
        for block in design.blocks:
            square = float(np.sum(coefficients[block.columns] ** 2))
            if square > 0.0:
                weight = self.weight(block.label)
                total += 0.5 * square / weight if weight else np.inf
        return total

    def kernel(self, design: Design) -> Float[np.ndarray, "n n"]:
        """Return K, the weighted sum of the blocks' inner products."""
        n = design.shape[0]
        total = np.zeros((n, n))
        for block in design.blocks:
            weight = self.weight(block.label)
            if weight != 0.0:
                total += weight * design.gram(block)
        return total

    def dual(self, design: Design, multipliers: Float[np.ndarray, " n"]) -> DualTerm:
        """Return half the quadratic form of the kernel."""
        return DualTerm.of_kernel(self.kernel(design), multipliers)

    def primal(
        self,
        design: Design,
        multipliers: Float[np.ndarray, "n *k"],
        prices: np.ndarray | None = None,
    ) -> Float[np.ndarray, "p *k"]:
        r"""Return :math:`c_S = \sigma_S A_S^T v`, the weighted sums of the rows' multipliers."""
        coefficients = design.adjoint(multipliers)
        for block in design.blocks:
            coefficients[block.columns] *= self.weight(block.label)
        return coefficients

    def features(self, design: Design) -> Float[np.ndarray, "n p"] | None:
        r"""Return :math:`A\,\mathrm{diag}(\sqrt\sigma)`; None where a weight is negative."""
        roots = self._roots(design)
        return None if roots is None else dense_features(design) * roots

    def from_features(
        self, design: Design, x: Float[np.ndarray, "p *k"]
    ) -> Float[np.ndarray, "p *k"]:
        """Return coefficients of the design from those of `features`."""
        roots = self._roots(design)
        assert roots is not None
        return (x.T * roots).T

    def _roots(self, design: Design) -> Float[np.ndarray, " p"] | None:
        """Return the square root of each column's weight; None where a weight is negative."""
        weights = np.array([self.weight(block.label) for block in design.blocks])
        if (weights < 0).any():
            return None
        return np.repeat(np.sqrt(weights), [b.stop - b.start for b in design.blocks])

    def require_nonnegative(self, design: Design) -> None:
        """Refuse negative weights."""
        negative = [b.label for b in design.blocks if self.weight(b.label) < 0]
        require(
            not negative,
            "weights must be nonnegative in the primal form",
            f"{self.weight(negative[0]) if negative else 0:g} for {negative[:1]}",
            'use solver="dual"',
        )


def require_blocks(cost: Quadratic, design: Design) -> None:
    """Refuse weights of blocks that a design has not."""
    labels = [block.label for block in design.blocks]
    unknown = [label for label in cost.weights if label not in labels]
    require(
        not unknown,
        "weights are those of the design's blocks",
        f"{unknown[:1]}, blocks are {labels[:6]}",
        "name blocks by their labels",
    )
