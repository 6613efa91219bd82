"""Selection of rows by a slice, a mask or indices."""

from __future__ import annotations

import numpy as np

from partwhole._checks import require


def require_rows(rows: slice | np.ndarray, n: int) -> None:
    """Require a mask of n rows, or indices among them."""
    if isinstance(rows, slice):
        return
    if rows.dtype == bool:
        rule = f"a mask has True or False for each of the {n} rows"
        require(len(rows) == n, rule, f"{len(rows)} of them", "pass one entry for each row")
        return
    lowest, highest = int(rows.min(initial=0)), int(rows.max(initial=-1))
    rule = f"indices of rows lie between 0 and {n - 1}"
    require(-n <= lowest and highest < n, rule, f"{lowest}..{highest}", "count rows from 0")
