"""A number in parts that are as equal as may be."""

from __future__ import annotations

from collections.abc import Sequence


def even_parts(most: Sequence[int], total: int) -> list[int]:
    """Return numbers that add up to a total, as equal as their largest values allow; else none.

    Examples
    --------
    >>> even_parts([2, 9, 9], 11), even_parts([2, 3], 6)
    ([2, 5, 4], [])
    """
    if sum(most) < total:
        return []
    parts, rest = [0] * len(most), total
    open_ = list(range(len(most)))
    while rest:
        share, more = divmod(rest, len(open_))
        for place, i in enumerate(list(open_)):
            added = min(most[i] - parts[i], share + (place < more))
            parts[i] += added
            rest -= added
            if parts[i] == most[i]:
                open_.remove(i)
    return parts
