"""A table of which only the header has been read."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from partwhole._checks import InputError
from partwhole.audit.reading.columns import Column, Texts


@dataclass(frozen=True, eq=False)
class Source:
    """Table of which only the header has been read.

    Parameters
    ----------
    name : str
    columns : tuple
        The names of all columns.
    read : callable
        Function of the indices of columns to be read as they are, and of columns to be read as
        numbers, that returns the columns by index.
    remarks : tuple of str
    first_line : int or None
        The first line of a text file below its header.
    lines : int
        The number of lines from there on.
    """

    name: str
    columns: tuple[Hashable, ...]
    read: Callable[[Sequence[int], Sequence[int]], dict[int, Column]]
    remarks: tuple[str, ...] = ()
    first_line: int | None = None
    lines: int = 0

    def line_of_first(self, n_rows: int) -> int | None:
        """Return the line of row 0, None unless each of the rows is one line.

        With blank lines or line breaks in cells there are more lines than rows.
        """
        return self.first_line if self.lines == n_rows else None


@contextmanager
def with_lines(first: int | None) -> Iterator[None]:
    """Add the line of the file to what an error says of a row.

    Parameters
    ----------
    first : int or None
        The line of row 0; None if rows are not lines.

    Examples
    --------
    >>> with with_lines(2):
    ...     raise InputError("a rule; got nothing in row 3 (counted from 0); mend it")
    Traceback (most recent call last):
    ...
    partwhole._checks.InputError: a rule; got nothing in row 3 (line 5 of the file); mend it
    """
    try:
        yield
    except InputError as error:
        if first is None:
            raise
        place = r"row (\d+) \(counted from 0\)"
        text = re.sub(
            place, lambda m: f"row {m[1]} (line {int(m[1]) + first} of the file)", str(error)
        )
        raise InputError(text) from None


def n_rows(column: Column) -> int:
    """Return the number of rows of a column."""
    return len(column.codes if isinstance(column, Texts) else column)
