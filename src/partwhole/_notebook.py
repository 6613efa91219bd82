"""What notebooks show of a result: a line, some text and the first rows of its table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partwhole.page import Html, join, tag

if TYPE_CHECKING:
    import pandas as pd

ROWS, COLUMNS = 8, 10  # of a table; more are counted
CELL = "text-align: left; padding: 0.1em 0.8em 0.1em 0"


def card(result: Any, text: str, table: pd.DataFrame | None = None) -> str:
    """Return a result as HTML.

    Parameters
    ----------
    result : object
        Its repr is the first line.
    text : str
        Lines below.
    table : DataFrame, optional
    """
    lines = [tag("p", tag("code", repr(result)))]
    if text:
        lines.append(tag("p", [[line, tag("br")] for line in text.splitlines()]))
    return str(tag("div", lines, None if table is None else _table(table)))


def _table(table: pd.DataFrame) -> Html:
    shown = table.iloc[:ROWS, :COLUMNS]
    head = tag("tr", [tag("th", name, scope="col", style=CELL) for name in shown.columns])
    rows = [
        tag("tr", [tag("td", _cell(value), style=CELL) for value in row])
        for row in shown.itertuples(index=False)
    ]
    n, p = table.shape
    left_out = ", ".join(
        f"{whole - part:,} more {kind}"
        for whole, part, kind in ((n, len(rows), "rows"), (p, shown.shape[1], "columns"))
        if whole > part
    )
    return join(
        tag("div", tag("table", tag("thead", head), tag("tbody", rows)), style="overflow-x: auto"),
        tag("p", left_out) if left_out else None,
    )


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
