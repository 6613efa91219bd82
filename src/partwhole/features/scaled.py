"""A design with scaled features, which represent the weights of a cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole.features.design import Block, Design, weighted_gram


@dataclass(frozen=True, eq=False)
class ScaledDesign:
    r"""Design with each feature scaled: :math:`A\,\mathrm{diag}(r)`.

    Parameters
    ----------
    design : Design
    factors : float array, shape (p,)
        r.

    Examples
    --------
    >>> from partwhole.features import DenseDesign
    >>> scaled = ScaledDesign(DenseDesign(np.eye(2)), np.array([2.0, 0.5]))
    >>> (scaled @ np.ones(2)).tolist()
    [2.0, 0.5]
    """

    design: Design
    factors: Float[np.ndarray, " p"]

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, p)."""
        return self.design.shape

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return the design's blocks."""
        return self.design.blocks

    def __matmul__(self, coefficients: Float[np.ndarray, "p *k"]) -> Float[np.ndarray, "n *k"]:
        """Return the outputs."""
        return self.design @ (coefficients.T * self.factors).T

    def adjoint(self, multipliers: Float[np.ndarray, "n *k"]) -> Float[np.ndarray, "p *k"]:
        """Return the transposed features times the multipliers."""
        return (self.design.adjoint(multipliers).T * self.factors).T

    def gram(
        self, block: Block, weights: Float[np.ndarray, " b"] | None = None
    ) -> Float[np.ndarray, "n n"]:
        """Return the inner products of one block's features, their columns weighted."""
        squares = self.factors[block.columns] ** 2
        return self.design.gram(block, squares if weights is None else squares * weights)

    def weighted_gram(self, weights: Float[np.ndarray, " p"]) -> Float[np.ndarray, "n n"]:
        """Return the inner products of all features, their columns weighted."""
        return weighted_gram(self.design, weights * self.factors**2)
