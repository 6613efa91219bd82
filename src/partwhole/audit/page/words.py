"""Numbers, values, conjunctions and row numbers as text on the page."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from jaxtyping import Int

from partwhole._types import Real
from partwhole.audit.case import AuditTable
from partwhole.audit.wording import listed, value_in_words, values_in_words
from partwhole.tasks import Task


def number(value: Real, digits: int = 4) -> str:
    """Return a number to a few significant digits, with a true minus sign.

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
    """Return a number with enough digits for a computation by hand.

    Examples
    --------
    >>> exact(-4.0), exact(1 / 3), exact(12345678.0), exact(-0.0)
    ('−4', '0.333333', '12345678', '0')
    """
    value = value + 0.0  # no minus sign of 0
    whole = float(value).is_integer() and abs(value) < 1e15
    return (f"{value:.0f}" if whole else f"{value:.6g}").replace("-", "−")


def share(value: Real) -> str:
    """Return a share in percent; only 1 is written as 100 % and only 0 as 0 %.

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


def combination(
    of: Task | AuditTable, row: Int[np.ndarray, " C"] | Sequence[int], limit: int | None = None
) -> str:
    """Return a combination as its values, all or the first few.

    Examples
    --------
    >>> from partwhole.tasks import Task
    >>> task = Task(np.eye(2, dtype=int), np.zeros(2), np.array([True, False]), ("shape", "hue"),
    ...             (("circle", "square"), ("red", "blue")))
    >>> combination(task, [1, 0]), combination(task, [1, 0], 1)
    ('(square, red)', '(square and 1 more)')
    """
    words = values_in_words(of.names, of.values, row, 40)
    return f"({', '.join(words) if limit is None else listed(words, limit, ', ')})"


def conjunction(
    names: Sequence[str],
    values: Sequence[Sequence[Hashable]],
    components: Sequence[int],
    value_indices: Sequence[int],
) -> str:
    """Return a conjunction as its components and their values.

    Examples
    --------
    >>> conjunction(["shape", "hue"], [("circle",), ("red", "blue")], [0, 1], [0, 1])
    'shape = circle, hue = blue'
    >>> conjunction(["shape"], [("circle",)], [], [])
    'the constant'
    """
    if not len(components):
        return "the constant"
    pairs = zip(components, value_indices, strict=True)
    return ", ".join(value_in_words(names[c], values[c][i], 30) for c, i in pairs)


def ranges(rows: Int[np.ndarray, " r"], limit: int = 20) -> tuple[str, int]:
    """Return row numbers as ranges, and the number of rows left out.

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
        for a, b in zip(starts[:limit], ends[:limit], strict=True)
    ]
    left = len(rows) - 1 - int(ends[limit - 1]) if len(starts) > limit else 0
    return ", ".join(words), left
