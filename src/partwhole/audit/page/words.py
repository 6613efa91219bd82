"""How the page writes numbers, values, conjunctions and row numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from jaxtyping import Int

from partwhole._types import Real
from partwhole.audit.wording import shown


def number(value: Real, digits: int = 4) -> str:
    """Write a number to a few significant digits, with a true minus sign.

    Examples
    --------
    >>> number(-0.66666), number(1e-9), number(120601), number(float("nan"))
    ('−0.6667', '1e−09', '120,601', '–')
    """
    if math.isnan(value):
        return "–"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    return f"{value:.{digits}g}".replace("-", "−")


def exact(value: Real) -> str:
    """Write a number with the digits that it takes to compute with it by hand.

    Examples
    --------
    >>> exact(-4.0), exact(1 / 3), exact(12345678.0)
    ('−4', '0.333333', '12345678')
    """
    whole = float(value).is_integer() and abs(value) < 1e15
    return (f"{value:.0f}" if whole else f"{value:.6g}").replace("-", "−")


def share(value: Real) -> str:
    """Write a share in per cent; only what is all is called 100 %, only nothing 0 %.

    Examples
    --------
    >>> share(0.62489), share(0.99999), share(1.0), share(1e-6)
    ('62.5 %', 'more than 99.9 %', '100 %', 'less than 0.1 %')
    """
    if math.isnan(value):
        return "–"
    if 0.0 < value < 0.001:
        return "less than 0.1 %"
    if 0.999 < value < 1.0:
        return "more than 99.9 %"
    return f"{100 * value:.1f}".removesuffix(".0") + " %"


def count(n: int, one: str, many: str = "") -> str:
    """Write how many there are of something.

    Examples
    --------
    >>> count(1, "row"), count(12000, "row"), count(2, "match", "matches")
    ('1 row', '12,000 rows', '2 matches')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def combination(
    values: Sequence[Sequence[Hashable]],
    row: Int[np.ndarray, " C"] | Sequence[int],
    most: int | None = None,
) -> str:
    """Write a combination as its values, all or the first few.

    Examples
    --------
    >>> combination([("circle", "square"), ("red", "blue")], [1, 0])
    '(square, red)'
    >>> combination([("circle", "square"), ("red", "blue")], [1, 0], 1)
    '(square and 1 more)'
    """
    words = [shown(of[i], 40) for of, i in zip(values, row, strict=True)]
    return f"({', '.join(words) if most is None else listed(words, most, ', ')})"


def conjunction(
    names: Sequence[str],
    values: Sequence[Sequence[Hashable]],
    components: Sequence[int],
    chosen: Sequence[int],
) -> str:
    """Write a conjunction as its components and their values.

    Examples
    --------
    >>> conjunction(["shape", "hue"], [("circle",), ("red", "blue")], [0, 1], [0, 1])
    'shape = circle, hue = blue'
    >>> conjunction(["shape"], [("circle",)], [], [])
    'the constant'
    """
    if not len(components):
        return "the constant"
    pairs = zip(components, chosen, strict=True)
    return ", ".join(f"{shown(names[c], 30)} = {shown(values[c][i], 30)}" for c, i in pairs)


def listed(items: Sequence[str], most: int = 8, last: str = " and ") -> str:
    """Join words into a list, and say how many are left out.

    Examples
    --------
    >>> listed(["a", "b", "c"], 3), listed(["a", "b", "c", "d"], 2)
    ('a, b and c', 'a, b and 2 more')
    """
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most:,} more"
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])}{last}{items[-1]}"


def ranges(rows: Int[np.ndarray, " r"], most: int = 300) -> tuple[str, int]:
    """Write row numbers as ranges; return them and how many rows they leave out.

    Examples
    --------
    >>> ranges(np.array([3, 4, 5, 9]))
    ('3–5, 9', 0)
    """
    rows = np.unique(rows)
    starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
    ends = np.append(starts[1:], len(rows)) - 1
    words = [
        f"{rows[a]}" if a == b else f"{rows[a]}–{rows[b]}"
        for a, b in zip(starts[:most], ends[:most], strict=True)
    ]
    left = len(rows) - 1 - int(ends[most - 1]) if len(starts) > most else 0
    return ", ".join(words), left
