"""Blocks and designs as matrices, and the columns that a cost excludes."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from partwhole._checks import require
from partwhole.features.design import Design
from partwhole.limits.costs._cost import Cost

TINY = 1e-100  # a coefficient whose square is no rounding to 0


def matrices(
    design: Design, columns: Float[np.ndarray, " p"], rows: int
) -> Float[np.ndarray, "G R K"]:
    """Return each block of columns as a matrix of the given number of rows."""
    sizes = {block.stop - block.start for block in design.blocks}
    require(
        len(sizes) == 1 and min(sizes) % rows == 0,
        f"blocks are matrices of {rows} rows, all of one size",
        f"blocks of {', '.join(str(size) for size in sorted(sizes))} columns",
        "pass rows that divide their size",
    )
    return columns.reshape(len(design.blocks), rows, -1)


def excluded_columns(design: Design, cost: Cost) -> Bool[np.ndarray, " p"]:
    """Return which columns belong to blocks whose coefficients the cost forces to 0.

    Coefficients as small as these have an infinite cost for no other reason, not even in a cost of
    a bounded domain. A cost that is NaN excludes nothing.
    """
    p = design.shape[1]
    excluded = np.zeros(p, dtype=bool)
    if np.isfinite(cost.value(design, np.ones(p))):
        return excluded
    for block in design.blocks:
        alone = np.zeros(p)
        alone[block.columns] = TINY
        excluded[block.columns] = np.isposinf(cost.value(design, alone))
    return excluded
