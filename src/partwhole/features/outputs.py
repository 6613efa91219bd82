"""Several outputs as one: rows that compare the outputs of an input, a column for each output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from partwhole.features.design import Block, DenseDesign, Design, dense_features, weighted_gram


@dataclass(frozen=True, eq=False)
class OutputsDesign:
    r"""Design of k outputs, whose rows are weighted sums of an input's outputs.

    With coefficients C, shape (p, k), row r has the output
    :math:`\sum_o c_{r o} (A C)_{i_r o}`. A block of the design has the columns of all outputs:
    those of the first, then those of the second.

    Parameters
    ----------
    design : Design
        A, inputs in p features.
    inputs : int array, shape (m,)
        :math:`i_r`, the input of each row.
    contrasts : float array, shape (m, k)
        c: a unit vector for one output, or the difference of two for a comparison.

    Examples
    --------
    >>> inputs, contrasts = np.array([0, 1]), np.array([[1.0, -1.0], [0.0, 1.0]])
    >>> design = OutputsDesign(DenseDesign(np.eye(2)), inputs, contrasts)
    >>> design.dense().matrix.astype(int).tolist()
    [[1, 0, -1, 0], [0, 0, 0, 1]]
    """

    design: Design
    inputs: Int[np.ndarray, " m"]
    contrasts: Float[np.ndarray, "m k"]

    @property
    def n_outputs(self) -> int:
        """Return k."""
        return self.contrasts.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """Return (m, p k)."""
        return len(self.inputs), self.design.shape[1] * self.n_outputs

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return the design's blocks, with the columns of all outputs."""
        return self._blocks

    @cached_property
    def _blocks(self) -> tuple[Block, ...]:
        k = self.n_outputs
        return tuple(Block(b.label, k * b.start, k * b.stop) for b in self.design.blocks)

    @cached_property
    def _places(self) -> Int[np.ndarray, "p k"]:
        """Return the column of each feature and output."""
        k = self.n_outputs
        edges = [(block.start, block.stop) for block in self.design.blocks]
        places = [k * a + np.arange(k * (b - a)).reshape(k, b - a).T for a, b in edges]
        return np.concatenate([np.zeros((0, k), dtype=np.int64), *places])

    def by_output(self, columns: Float[np.ndarray, "pk *j"]) -> Float[np.ndarray, "p k *j"]:
        """Return columns with an axis for the outputs."""
        return columns[self._places]

    def in_order(self, columns: Float[np.ndarray, "p k *j"]) -> Float[np.ndarray, "pk *j"]:
        """Return columns in the order of this design; undoes `by_output`."""
        out = np.empty((self._places.size, *columns.shape[2:]))
        out[self._places] = columns
        return out

    def of_inputs(self, multipliers: Float[np.ndarray, "m *j"]) -> Float[np.ndarray, "n k *j"]:
        """Return the multipliers of the inputs' outputs, from those of the rows."""
        out = np.zeros((self.design.shape[0], self.n_outputs, *multipliers.shape[1:]))
        shape = self.contrasts.shape + (1,) * (multipliers.ndim - 1)
        np.add.at(out, self.inputs, self.contrasts.reshape(shape) * multipliers[:, None])
        return out

    def __matmul__(self, coefficients: Float[np.ndarray, "pk *j"]) -> Float[np.ndarray, "m *j"]:
        """Return the outputs of the rows."""
        columns = self.by_output(coefficients)
        flat = columns.reshape(len(columns), -1)
        outputs = (self.design @ flat).reshape(-1, *columns.shape[1:])
        return np.einsum("mk...,mk->m...", outputs[self.inputs], self.contrasts)

    def adjoint(self, multipliers: Float[np.ndarray, "m *j"]) -> Float[np.ndarray, "pk *j"]:
        """Return the transposed features times the multipliers."""
        weighted = self.of_inputs(multipliers)
        columns = self.design.adjoint(weighted.reshape(len(weighted), -1))
        return self.in_order(columns.reshape(-1, *weighted.shape[1:]))

    def gram(
        self, block: Block, weights: Float[np.ndarray, " b"] | None = None
    ) -> Float[np.ndarray, "m m"]:
        """Return the inner products of one block's features, their columns weighted."""
        place = self.blocks.index(block)
        part = self.design.blocks[place]
        if weights is None:
            gram = self._between_rows(self.design.gram(part))
            return gram * (self.contrasts @ self.contrasts.T)
        k = self.n_outputs
        grams = [self.design.gram(part, each) for each in weights.reshape(k, -1)]
        return self.between(grams)

    def weighted_gram(self, weights: Float[np.ndarray, " pk"]) -> Float[np.ndarray, "m m"]:
        """Return the inner products of all features, their columns weighted."""
        columns = self.by_output(weights).T
        return self.between([weighted_gram(self.design, each) for each in columns])

    def dense(self) -> DenseDesign:
        """Return the design as a matrix."""
        features = dense_features(self.design)[self.inputs]
        columns = features.T[:, None] * self.contrasts.T
        return DenseDesign(np.ascontiguousarray(self.in_order(columns).T), self.blocks)

    def between(self, matrices: Sequence[Float[np.ndarray, "n n"]]) -> Float[np.ndarray, "m m"]:
        """Return a matrix between rows, from one between inputs for each output."""
        total = np.zeros((len(self.inputs),) * 2)
        for column, matrix in zip(self.contrasts.T, matrices, strict=True):
            total += self._between_rows(matrix) * np.multiply.outer(column, column)
        return total

    def _between_rows(self, matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "m m"]:
        return matrix[np.ix_(self.inputs, self.inputs)]
