"""Blocks of coefficients as matrices."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.features.design import DenseDesign, Design


def matrices(
    design: Design, columns: Float[np.ndarray, " p"], rows: int
) -> Float[np.ndarray, "G R K"]:
    """Return each block as a matrix of so many rows."""
    sizes = {block.stop - block.start for block in design.blocks}
    require(
        len(sizes) == 1 and min(sizes) % rows == 0,
        f"blocks are matrices of {rows} rows, all of one size",
        f"blocks of {', '.join(str(size) for size in sorted(sizes))} columns",
        "pass rows that divide their size",
    )
    return columns.reshape(len(design.blocks), rows, -1)


def dense_features(design: Design) -> Float[np.ndarray, "n p"]:
    """Return all columns."""
    if isinstance(design, DenseDesign):
        return design.matrix
    if hasattr(design, "dense"):
        return design.dense().matrix  # pyright: ignore[reportAttributeAccessIssue]
    return design.adjoint(np.eye(design.shape[0])).T
