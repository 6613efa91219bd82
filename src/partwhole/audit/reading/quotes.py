"""A quote of a CSV file that is not closed, and the line in which it opens."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from partwhole._checks import require

# A last line, which is a row of its own unless a quote before it is open.
END = "\x00end"


def require_closed(raw: bytes, delimiter: str, name: str, width: int) -> None:
    """Refuse a text in which a quote opens and none closes it.

    Parameters
    ----------
    raw : bytes
        In UTF-8.
    delimiter : str
    name : str
        Of the file.
    width : int
        The number of cells of a row. A row of several lines and other cells is refused, too: its
        quote is closed by that of another cell. So is one that has more text behind its quote.

    Raises
    ------
    InputError
    """
    mark = re.escape(delimiter.encode())
    opened = rb'(?:\A|[\r\n]|%s)"[^"\r\n]*(?:""[^"\r\n]*)*(?:[\r\n]|\Z)' % mark
    # Most files have no quote, or no cell of several lines, which is soon known.
    is_suspect = b'"' in raw and re.search(opened, raw)
    line = _unclosed(raw, delimiter, width) if is_suspect else None
    require(
        line is None,
        "every quote of a CSV file is closed",
        f"one that opens in line {line} of {name!r} and is not",
        "close it, or leave it out",
    )


def _unclosed(raw: bytes, delimiter: str, width: int) -> int | None:
    """Return the first line of the first row with an open quote; None without one."""
    text = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", errors="replace", newline="")
    lines: list[str] = []

    def noted() -> Iterator[str]:
        for line in text:
            lines.append(line)
            yield line
        yield "\n"
        yield END

    # Everything behind an open quote is one cell.
    limit = csv.field_size_limit(len(raw) + len(END) + 2)
    try:
        start, rows = 1, csv.reader(noted(), delimiter=delimiter)
        for row in rows:
            is_open = bool(row) and row[-1].endswith(END) and row != [END]
            is_long = rows.line_num > start
            if is_open or (is_long and (len(row) != width or not _is_strict(lines, delimiter))):
                return start
            start = rows.line_num + 1
            lines.clear()
    except csv.Error:
        return None
    finally:
        csv.field_size_limit(limit)
    return None


def _is_strict(lines: list[str], delimiter: str) -> bool:
    """Return whether in a row every quote at the end of a cell closes one at its beginning."""
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        return False
    return True
