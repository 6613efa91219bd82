r"""The Schatten quasi-norm: the cost of weight decay for a gated readout on deep linear layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._checks import whole
from partwhole._door import door
from partwhole._types import Count
from partwhole.features.design import Design, dense_features
from partwhole.limits.costs._cost import DualTerm
from partwhole.limits.costs._matrices import matrices
from partwhole.limits.costs.nuclear_norm import NuclearNorm

# Singular values below this share of the largest count as 0: a root would magnify their rounding.
RANK = 1e-12
# A singular value of 0 has the price of this share of the largest in the touching cost.
FLOOR = 1e-14
LEAST = 1e-100  # smaller singular values all count as 0, because their powers underflow


@door
@dataclass(frozen=True)
class SchattenNorm:
    r"""Quasi-norm of matrices: the deeper, the lower the rank; not convex for L > 2.

    .. math:: R(c) = \sum_{blocks\ g} \sum_i \sigma_i(C_g)^{2/L}

    with each block's coefficients as a matrix of R rows and :math:`\sigma_i` its singular
    values; one below 1e-12 of the largest counts as 0. With two layers it is `NuclearNorm`.
    `solve` returns a stationary point near its start.

    Parameters
    ----------
    rows : int
        R, such as the number of contexts of a gated readout. Columns of a block are ordered row by
        row.
    n_layers : int
        L, at least 2.

    Raises
    ------
    InputError
        For R below 1 or L below 2, and on blocks whose sizes differ, or are not divisible by R.

    Notes
    -----
    It is the least sum of squared weights, divided by L, with which a readout of R rows and L - 1
    linear layers of at least as many units as the rank compute the matrix. Each layer then has
    singular values :math:`\sigma_i^{1/L}`. With k outputs the readout has R k rows. Derived here.

    Because :math:`\mathrm{tr}\,(C C^T)^{1/L}` is concave in :math:`C C^T`, the cost lies below
    :math:`\tfrac1L \mathrm{tr}\,(M\, C C^T)` plus a constant, with
    :math:`M = (C_0 C_0^T)^{1/L - 1}`, and touches it at :math:`C_0`.

    Examples
    --------
    >>> from partwhole import solve
    >>> first_row_and_diagonal = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    >>> data = first_row_and_diagonal, np.array([8.0, 1.0])
    >>> limit = solve(data, cost=SchattenNorm(2, 3), intercept="none")
    >>> limit.coefficients.reshape(2, 2).round(6).tolist(), round(limit.value, 6)
    ([[8.0, 0.0], [0.0, 1.0]], 5.0)
    """

    rows: Count
    n_layers: int

    def __post_init__(self) -> None:
        whole("n_layers", self.n_layers, 2, "a single layer has the quadratic cost")

    def value(self, design: Design, coefficients: Float[np.ndarray, " p"]) -> float:
        """Return the sum over blocks and singular values."""
        blocks = matrices(design, coefficients, self.rows)
        size = np.linalg.svd(blocks, compute_uv=False)
        nonzero = size > RANK * size.max(initial=0.0)
        return float((size[nonzero] ** (2.0 / self.n_layers)).sum())

    def touching(
        self, design: Design, coefficients: Float[np.ndarray, " p"] | None, turn: int = 0
    ) -> NuclearNorm | MatrixMetric:
        """Return the quadratic cost that, up to a constant, touches this one from above.

        Even turns use a metric of the rows, odd turns one of the columns. If the matrix has less
        than full rank, a metric of the rows fixes the space that its columns span; only a metric
        of the columns can change it, and the other way round.
        """
        if coefficients is None or self.n_layers == 2:
            return NuclearNorm(self.rows)
        blocks = matrices(design, coefficients, self.rows)
        of_columns = turn % 2 == 1
        blocks = blocks.swapaxes(-1, -2) if of_columns else blocks
        basis, singular_values, _ = np.linalg.svd(blocks)
        size = np.zeros(basis.shape[:2])
        size[:, : singular_values.shape[1]] = singular_values
        # A singular value of 0 has an infinite price. The floor makes it large but finite, because
        # some change in these directions may be needed to meet the rows.
        largest = float(singular_values.max(initial=0.0))
        size = np.maximum(size, FLOOR * largest) if largest > LEAST else 0.0 * size
        size = size ** (2.0 - 2.0 / self.n_layers) * self.n_layers / 2.0
        return MatrixMetric(basis, size, self.rows, of_columns)

    def within(
        self,
        design: Design,
        coefficients: Float[np.ndarray, " p"],
        reference: Float[np.ndarray, " p"],
    ) -> Float[np.ndarray, " p"]:
        """Return the nearest coefficients whose blocks have at most the ranks of the reference."""
        reference_values = np.linalg.svd(matrices(design, reference, self.rows), compute_uv=False)
        in_rank = reference_values > RANK * reference_values.max(initial=0.0)
        left, size, right = np.linalg.svd(
            matrices(design, coefficients, self.rows), full_matrices=False
        )
        return ((left * np.where(in_rank, size, 0.0)[:, None, :]) @ right).ravel()


@dataclass(frozen=True, eq=False)
class MatrixMetric:
    r"""Quadratic cost of matrices in a metric of their rows, or of their columns.

    .. math:: R(c) = \tfrac12 \sum_{blocks\ g} \mathrm{tr}\,(C_g^T S_g^{-1} C_g)
              \quad\text{or}\quad \tfrac12 \sum_g \mathrm{tr}\,(C_g S_g^{-1} C_g^T)

    Parameters
    ----------
    axes : float array, shape (G, R, R) or (G, K, K)
        Orthonormal eigenvectors of :math:`S_g`, as columns.
    sizes : float array, shape (G, R) or (G, K)
        Its eigenvalues, all above 0 or all 0.
    rows : int
        R, of the blocks as matrices of K columns.
    of_columns : bool, default False
        Whether the metric is of the columns.
    """

    axes: Float[np.ndarray, "G m m"]
    sizes: Float[np.ndarray, "G m"]
    rows: int
    of_columns: bool = False

    def value(self, design: Design, coefficients: Float[np.ndarray, " p"]) -> float:
        """Return half the sum of squares in the metric."""
        blocks = self._transposed(matrices(design, coefficients, self.rows))
        squares = ((self.axes.swapaxes(-1, -2) @ blocks) ** 2).sum(axis=-1)
        # Sizes of 0 belong to coefficients that are all 0; they cost nothing.
        quotients = np.divide(squares, self.sizes, out=0.0 * squares, where=self.sizes > 0.0)
        return 0.5 * float(quotients.sum())

    def dual(self, design: Design, multipliers: Float[np.ndarray, " n"]) -> DualTerm:
        """Return half the quadratic form of the kernel."""
        features = self.features(design)
        return DualTerm.of_kernel(features @ features.T, multipliers)

    def primal(
        self, design: Design, multipliers: Float[np.ndarray, " n"], prices: np.ndarray | None = None
    ) -> Float[np.ndarray, " p"]:
        """Return the coefficients of the kernel machine."""
        return self._times(self.sizes, design, design.adjoint(multipliers))

    def features(self, design: Design) -> Float[np.ndarray, "n p"]:
        r"""Return the features times :math:`S_g^{1/2}`, block by block."""
        parts = dense_features(design).reshape(design.shape[0], len(self.sizes), self.rows, -1)
        roots = self._factors(np.sqrt(self.sizes))
        return self._transposed(roots @ self._transposed(parts)).reshape(design.shape)

    def from_features(self, design: Design, x: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """Return coefficients of the design from those of `features`."""
        return self._times(np.sqrt(self.sizes), design, x)

    def _factors(self, sizes: Float[np.ndarray, "G m"]) -> Float[np.ndarray, "G m m"]:
        """Return the matrices with the metric's eigenvectors and these eigenvalues."""
        return (self.axes * sizes[:, None, :]) @ self.axes.swapaxes(-1, -2)

    def _times(self, sizes: np.ndarray, design: Design, columns: np.ndarray) -> np.ndarray:
        """Return the products of each block with the matrix of these eigenvalues."""
        blocks = self._transposed(matrices(design, columns, self.rows))
        return self._transposed(self._factors(sizes) @ blocks).ravel()

    def _transposed(self, blocks: np.ndarray) -> np.ndarray:
        """Return the matrices, transposed if the metric is one of their columns."""
        return blocks.swapaxes(-1, -2) if self.of_columns else blocks
