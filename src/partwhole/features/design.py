"""Designs: n inputs in p features, in labelled blocks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door


@door
@dataclass(frozen=True)
class Block:
    """Labelled run of columns: a conjunction set, a unit, all inputs.

    Parameters
    ----------
    label : hashable
    start, stop : int
        Columns start..stop-1.
    """

    label: Hashable
    start: int
    stop: int

    @property
    def columns(self) -> slice:
        """Return the columns as a slice."""
        return slice(self.start, self.stop)


@runtime_checkable
class Design(Protocol):
    """Matrix of n inputs and p features, in any representation.

    Examples
    --------
    >>> design = DenseDesign(np.array([[1.0, 2.0], [0.0, 1.0]]))
    >>> isinstance(design, Design), design.shape, design.gram(design.blocks[0]).tolist()
    (True, (2, 2), [[5.0, 2.0], [2.0, 1.0]])
    """

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return the labelled blocks, which cover the columns in order."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, p)."""
        ...

    def __matmul__(self, coefficients: np.ndarray, /) -> np.ndarray:
        """Map coefficients (p,) or (p, k) to outputs (n,) or (n, k)."""
        ...

    def adjoint(self, multipliers: np.ndarray) -> np.ndarray:
        """Map multipliers (n,) or (n, k) to columns (p,) or (p, k)."""
        ...

    def gram(self, block: Block, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the (n, n) inner products of one block's features, weighted by column."""
        ...


@door(empty=("matrix",))
@dataclass(frozen=True, eq=False)
class DenseDesign:
    """Features as a dense matrix.

    Parameters
    ----------
    matrix : float array, shape (n, p)
    blocks : sequence of Block, optional
        One block "inputs" by default.

    Raises
    ------
    InputError
        When the blocks do not cover the columns in order.

    Examples
    --------
    >>> design = DenseDesign(np.eye(2))
    >>> (design @ np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """

    matrix: Float[np.ndarray, "n p"]
    blocks: tuple[Block, ...] = ()

    def __post_init__(self) -> None:
        if not self.blocks:
            object.__setattr__(self, "blocks", (Block("inputs", 0, self.matrix.shape[1]),))
        edges = [0, *(block.stop for block in self.blocks)]
        require(
            [block.start for block in self.blocks] == edges[:-1]
            and edges[-1] == self.matrix.shape[1],
            "blocks must cover the columns in order",
            f"{[(block.start, block.stop) for block in self.blocks]} "
            f"for {self.matrix.shape[1]} columns",
            "start each block at the end of the previous one",
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, p)."""
        n, p = self.matrix.shape
        return n, p

    def __matmul__(self, coefficients: Float[np.ndarray, "p *k"]) -> Float[np.ndarray, "n *k"]:
        """Return the outputs."""
        return self.matrix @ coefficients

    @door(missing=("multipliers",), empty=("multipliers",), any_size=("multipliers",), shape="n p")
    def adjoint(self, multipliers: Float[np.ndarray, "n *k"]) -> Float[np.ndarray, "p *k"]:
        """Return the transposed matrix times the multipliers."""
        return self.matrix.T @ multipliers

    @door(missing=("weights",), empty=("weights",), any_size=("weights",))
    def gram(
        self, block: Block, weights: Float[np.ndarray, " b"] | None = None
    ) -> Float[np.ndarray, "n n"]:
        """Return the inner products of one block's features, their columns weighted."""
        require_block_weights(block, weights)
        part = self.matrix[:, block.columns]
        return part @ part.T if weights is None else _inner_products(part, weights)


def _inner_products(matrix: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the inner products of rows, with one weight for each column."""
    if np.all(weights >= 0):
        # A product with its own transpose takes half the time.
        matrix = matrix * np.sqrt(weights)
        return matrix @ matrix.T
    return (matrix * weights) @ matrix.T


def require_block_weights(block: Block, weights: np.ndarray | None) -> None:
    """Require a weight for each column of a block."""
    size = block.stop - block.start
    require(
        weights is None or len(weights) == size,
        "weights are one number for each column of the block",
        f"{0 if weights is None else len(weights)} for {size}",
        "pass weights[block.columns]",
    )


@door(empty=("features",))
def as_design(
    features: Float[np.ndarray, "n p"] | Design | Sequence[Sequence[float]],
) -> Design:
    """Return a design as it is, and a matrix as a dense design."""
    if isinstance(features, np.ndarray):
        return DenseDesign(features)
    require(
        hasattr(features, "adjoint"),
        "features are a table of numbers or a design",
        f"one of type {type(features).__name__}",
        "pass an array of shape (n, p)",
    )
    return features  # type: ignore[return-value]


def dense_features(design: Design) -> Float[np.ndarray, "n p"]:
    """Return all columns of a design as a dense matrix."""
    if isinstance(design, DenseDesign):
        return design.matrix
    if hasattr(design, "dense"):
        return design.dense().matrix  # pyright: ignore[reportAttributeAccessIssue]
    return design.adjoint(np.eye(design.shape[0])).T


@door(missing=("weights",), empty=("weights",), any_size=("weights",))
def weighted_gram(design: Design, weights: Float[np.ndarray, " p"]) -> Float[np.ndarray, "n n"]:
    r"""Return :math:`A\,\mathrm{diag}(w) A^T`, the inner products of all features, weighted.

    Parameters
    ----------
    design : Design
        n inputs in p features.
    weights : float array, shape (p,)

    Returns
    -------
    float array, shape (n, n)

    Raises
    ------
    InputError
        For weights that are not one for each feature.
    """
    require(
        len(weights) == design.shape[1],
        f"each of the {design.shape[1]} features has one weight",
        f"{len(weights)} weights",
        "pass np.ones(design.shape[1]) for equal ones",
    )
    if isinstance(design, DenseDesign):
        # One product, however many blocks there are.
        return _inner_products(design.matrix, weights)
    if hasattr(design, "weighted_gram"):
        return design.weighted_gram(weights)  # pyright: ignore[reportAttributeAccessIssue]
    total = np.zeros((design.shape[0],) * 2)
    for block in design.blocks:
        total += design.gram(block, weights[block.columns])
    return total
