"""Which rows are taken: a slice, a mask or indices."""

from __future__ import annotations

import numpy as np

from partwhole._checks import require


def require_rows(which: slice | np.ndarray, n: int) -> None:
    """Require a mask of n rows, or indices among them."""
    if isinstance(which, slice):
        return
    if which.dtype == bool:
        rule = f"a mask has True or False for each of the {n} rows"
        require(len(which) == n, rule, f"{len(which)} of them", "compare what all rows have")
        return
    least, most = int(which.min(initial=0)), int(which.max(initial=-1))
    rule = f"indices of rows lie between 0 and {n - 1}"
    require(-n <= least and most < n, rule, f"{least}..{most}", "count rows from 0")
