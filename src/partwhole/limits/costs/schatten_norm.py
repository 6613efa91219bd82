r"""The quasi-norm of deep linear layers under a gated readout: lower rank than the nuclear norm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._checks import whole
from partwhole._door import door
from partwhole.features.design import Design
from partwhole.limits.costs._cost import DualTerm
from partwhole.limits.costs._matrices import dense_features, matrices
from partwhole.limits.costs.nuclear_norm import NuclearNorm

# Of the largest singular value: a smaller one is the rounding of 0, which a root would magnify.
RANK = 1e-12
FLOOR = 1e-14  # of the largest singular value: so much may one of 0 move
LEAST = 1e-100  # coefficients below which all are 0: powers of them have no digits


@door
@dataclass(frozen=True)
class SchattenNorm:
    r"""Prefer matrices of low rank, more so the deeper: a cost that is not convex for L > 2.

    .. math:: R(c) = \sum_{blocks\ g} \sum_i \sigma_i(C_g)^{2/L}

    with each block's coefficients as a matrix of R rows and :math:`\sigma_i` its singular
    values; one below 1e-12 of the largest counts as 0. With two layers it is `NuclearNorm`.
    `solve` ends at a stationary point near its start.

    Parameters
    ----------
    rows : int
        R: the contexts of a gated readout, say. Columns of a block are ordered row by row.
    n_layers : int
        L, at least 2.

    Raises
    ------
    InputError
        For no rows or fewer layers, and on blocks whose sizes R does not divide, or that differ.

    Notes
    -----
    It is the least sum of squared weights over L with which L - 1 linear layers of at least as
    many units as the rank and a readout of R rows bring about the matrix: each layer then has
    singular values :math:`\sigma_i^{1/L}`. Derived here.

    As :math:`\mathrm{tr}\,(C C^T)^{1/L}` the cost is concave in :math:`C C^T`, so that it lies
    below :math:`\tfrac1L \mathrm{tr}\,(M\, C C^T)` and a constant,
    :math:`M = (C_0 C_0^T)^{1/L - 1}`, which touches it at :math:`C_0`.

    Examples
    --------
    >>> from partwhole import solve
    >>> first_row_and_diagonal = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    >>> data = first_row_and_diagonal, np.array([8.0, 1.0])
    >>> limit = solve(data, cost=SchattenNorm(2, 3), intercept="none")
    >>> limit.coefficients.reshape(2, 2).round(6).tolist(), round(limit.value, 6)
    ([[8.0, 0.0], [0.0, 1.0]], 5.0)
    """

    rows: int
    n_layers: int

    def __post_init__(self) -> None:
        whole("rows", self.rows, 1, "pass the number of contexts of the readout")
        whole("n_layers", self.n_layers, 2, "a single layer has the quadratic cost")

    def value(self, design: Design, coefficients: Float[np.ndarray, " p"]) -> float:
        """Return the sum over blocks and singular values."""
        blocks = matrices(design, coefficients, self.rows)
        size = np.linalg.svd(blocks, compute_uv=False)
        used = size > RANK * size.max(initial=0.0)
        return float((size[used] ** (2.0 / self.n_layers)).sum())

    def touching(
        self, design: Design, coefficients: Float[np.ndarray, " p"] | None, turn: int = 0
    ) -> NuclearNorm | MatrixMetric:
        """Return the quadratic cost that touches this one from above, but for a constant.

        By turns it is in a metric of the rows and of the columns. Where rank is lost, a metric of
        the rows holds the columns' space fixed, and one of the columns moves it.
        """
        if coefficients is None or self.n_layers == 2:
            return NuclearNorm(self.rows)
        blocks = matrices(design, coefficients, self.rows)
        of_columns = turn % 2 == 1
        blocks = blocks.swapaxes(-1, -2) if of_columns else blocks
        basis, used, _ = np.linalg.svd(blocks)
        size = np.zeros(basis.shape[:2])
        size[:, : used.shape[1]] = used
        # What is rounding would cost as much as its root. It may move a little, or rows could not
        # be met at a lower rank.
        largest = float(used.max(initial=0.0))
        size = np.maximum(size, FLOOR * largest) if largest > LEAST else 0.0 * size
        size = size ** (2.0 - 2.0 / self.n_layers) * self.n_layers / 2.0
        return MatrixMetric(basis, size, self.rows, of_columns)

    def within(
        self, design: Design, coefficients: Float[np.ndarray, " p"], used: Float[np.ndarray, " p"]
    ) -> Float[np.ndarray, " p"]:
        """Return the coefficients nearest to these whose blocks have the ranks of others."""
        others = np.linalg.svd(matrices(design, used, self.rows), compute_uv=False)
        kept = others > RANK * others.max(initial=0.0)
        left, size, right = np.linalg.svd(
            matrices(design, coefficients, self.rows), full_matrices=False
        )
        return ((left * np.where(kept, size, 0.0)[:, None, :]) @ right).ravel()


@dataclass(frozen=True, eq=False)
class MatrixMetric:
    r"""Prefer small squares in a metric of the rows of matrices, or of their columns.

    .. math:: R(c) = \tfrac12 \sum_{blocks\ g} \mathrm{tr}\,(C_g^T S_g^{-1} C_g)
              \quad\text{or}\quad \tfrac12 \sum_g \mathrm{tr}\,(C_g S_g^{-1} C_g^T)

    Parameters
    ----------
    axes : float array, shape (G, R, R) or (G, K, K)
        Orthonormal eigenvectors of :math:`S_g`, as columns.
    sizes : float array, shape (G, R) or (G, K)
        Its eigenvalues, above 0 however small, or all of them 0.
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
        blocks = self._turned(matrices(design, coefficients, self.rows))
        squares = ((self.axes.swapaxes(-1, -2) @ blocks) ** 2).sum(axis=-1)
        # All are 0 where all coefficients are.
        quotients = np.divide(squares, self.sizes, out=0.0 * squares, where=self.sizes > 0.0)
        return 0.5 * float(quotients.sum())

    def dual(self, design: Design, multipliers: Float[np.ndarray, " n"]) -> DualTerm:
        """Return half the kernel's quadratic form."""
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
        return self._turned(roots @ self._turned(parts)).reshape(design.shape)

    def from_features(self, design: Design, x: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """Return coefficients of the design from those of `features`."""
        return self._times(np.sqrt(self.sizes), design, x)

    def _factors(self, sizes: Float[np.ndarray, "G m"]) -> Float[np.ndarray, "G m m"]:
        return (self.axes * sizes[:, None, :]) @ self.axes.swapaxes(-1, -2)

    def _times(self, sizes: np.ndarray, design: Design, columns: np.ndarray) -> np.ndarray:
        blocks = self._turned(matrices(design, columns, self.rows))
        return self._turned(self._factors(sizes) @ blocks).ravel()

    def _turned(self, blocks: np.ndarray) -> np.ndarray:
        """Return matrices so that the metric is of their rows, and back."""
        return blocks.swapaxes(-1, -2) if self.of_columns else blocks
