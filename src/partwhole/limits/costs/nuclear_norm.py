r"""The nuclear norm: the cost of weight decay for a gated readout on a linear layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._door import door
from partwhole._types import Count
from partwhole.features.design import Design, dense_features
from partwhole.limits.costs._cost import Bounds, DualTerm
from partwhole.limits.costs._matrices import matrices
from partwhole.limits.costs.group_norm import ROUNDING


@door
@dataclass(frozen=True, eq=False)
class NuclearNorm:
    r"""Sum of the blocks' singular values, which prefers matrices of low rank.

    .. math:: R(c) = \sum_{blocks\ g} \|C_g\|_*, \qquad
              R^*(A^T v) = 0 \text{ where no } A_g^T v \text{ has a singular value above } 1,\
              \infty \text{ elsewhere,}

    with each block's coefficients as a matrix of R rows. With one row it is `GroupNorm`.

    Parameters
    ----------
    rows : int
        R, such as the number of contexts of a gated readout. Columns of a block are ordered row by
        row.

    Raises
    ------
    InputError
        On blocks whose sizes differ, or are not divisible by R.

    Notes
    -----
    It is the least sum of half the squared weights with which a readout V and a first layer W
    give :math:`C = V W`, if there are at least as many units as the rank. Gradient descent on
    exponential losses therefore minimises it in a linear layer under a gated readout, and in two
    layers with the same gates (Lippl, Abbott & Chung, 2022; derived here). With k outputs the
    readout has R k rows.

    Examples
    --------
    >>> from partwhole import solve
    >>> first_row_and_diagonal = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    >>> data = first_row_and_diagonal, np.array([2.0, 1.0])
    >>> limit = solve(data, cost=NuclearNorm(2), intercept="none")
    >>> limit.coefficients.reshape(2, 2).round(6).tolist(), round(limit.value, 6)
    ([[2.0, 0.0], [0.0, 1.0]], 3.0)
    """

    rows: Count

    def value(self, design: Design, coefficients: Float[np.ndarray, " p"]) -> float:
        """Return the sum of the blocks' singular values."""
        blocks = matrices(design, coefficients, self.rows)
        return float(np.linalg.svd(blocks, compute_uv=False).sum())

    def dual(self, design: Design, multipliers: Float[np.ndarray, " n"]) -> DualTerm:
        """Return the conjugate, whose domain is where no pull has a singular value above 1."""
        n = design.shape[0]
        pulled = matrices(design, design.adjoint(multipliers), self.rows)
        whole_room = np.eye(self.rows) - pulled @ pulled.swapaxes(-1, -2)

        def outputs(prices: np.ndarray) -> np.ndarray:
            return design @ (prices @ pulled).ravel()

        def shares() -> np.ndarray:
            features = dense_features(design).reshape(n, *pulled.shape)
            return np.einsum("ngrc,grc->ng", features, pulled)

        def slope(direction: np.ndarray) -> np.ndarray:
            product = matrices(design, design.adjoint(direction), self.rows) @ pulled.swapaxes(
                -1, -2
            )
            return -0.5 * (product + product.swapaxes(-1, -2))

        def curvature(prices: np.ndarray, scalings: np.ndarray) -> np.ndarray:
            features = dense_features(design).reshape(n, *pulled.shape)
            priced = (_root(prices) @ features).reshape(n, -1)
            products = features @ pulled.swapaxes(-1, -2)
            half = _root(scalings)
            moves = half @ (-0.5 * (products + products.swapaxes(-1, -2))) @ half
            moves = moves.reshape(n, -1)
            return priced @ priced.T + moves @ moves.T

        def reach(direction: np.ndarray) -> float:
            along = matrices(design, design.adjoint(direction), self.rows)
            return min(
                _distance_to_bound(block, block_slope)
                for block, block_slope in zip(pulled, along, strict=True)
            )

        least = float(np.linalg.eigvalsh(whole_room)[:, 0].min(initial=1.0))
        bounds = Bounds(0.5 * whole_room, outputs, shares, slope, curvature, reach)
        value = 0.0 if least >= -ROUNDING else np.inf
        return DualTerm(value, np.zeros(n), lambda: np.zeros((n, n)), bounds=bounds)

    def primal(
        self, design: Design, multipliers: Float[np.ndarray, " n"], prices: np.ndarray | None
    ) -> Float[np.ndarray, " p"]:
        """Return the coefficients: the prices times the pull of each block."""
        pulled = matrices(design, design.adjoint(multipliers), self.rows)
        return (0.0 * pulled if prices is None else prices @ pulled).ravel()


def _root(matrices: np.ndarray) -> np.ndarray:
    """Return the square roots of positive semidefinite matrices."""
    size, basis = np.linalg.eigh(matrices)
    return (basis * np.sqrt(np.maximum(size, 0.0))[:, None, :]) @ basis.swapaxes(-1, -2)


def _distance_to_bound(block: np.ndarray, along: np.ndarray) -> float:
    r"""Return the smallest t > 0 at which M = block + t along has a singular value of 1.

    Up to this t the matrix :math:`\begin{pmatrix} I & M \\ M^T & I \end{pmatrix}` is positive
    definite. It is linear in t, so t follows from a single eigenvalue problem.
    """
    basis = np.linalg.qr(np.concatenate([block, along]).T)[0]  # the span of both matrices' rows
    block, along = block @ basis, along @ basis
    r, k = block.shape
    dilation, slope = np.eye(r + k), np.zeros((r + k, r + k))
    dilation[:r, r:], dilation[r:, :r] = block, block.T
    slope[:r, r:], slope[r:, :r] = along, along.T
    size, axes = np.linalg.eigh(dilation)
    whitening = axes / np.sqrt(np.maximum(size, 1e-300))
    least = float(np.linalg.eigvalsh(whitening.T @ slope @ whitening)[0])
    return -1.0 / least if least < 0.0 else np.inf
