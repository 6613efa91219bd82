"""A table of which only the header has been read, and the files that its rows come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from partwhole._checks import InputError
from partwhole.audit.reading.columns import Column, Texts


@dataclass(frozen=True)
class File:
    """A file whose rows come in turn.

    Parameters
    ----------
    path : str
        As it was passed; empty of a table in memory.
    n_rows : int
    first_line : int or None
        The line of its first row, if each row is one line; otherwise None.
    """

    path: str
    n_rows: int
    first_line: int | None = None

    @property
    def name(self) -> str:
        """Return the name without its folder."""
        return Path(self.path).name


def place_of(row: int, files: Sequence[File]) -> tuple[File, int | None] | None:
    """Return the file of a row of the whole table, and its line; None for a table in memory.

    Examples
    --------
    >>> files = [File("train.csv", 4, 2), File("test.csv", 2, 2)]
    >>> file, line = place_of(5, files)
    >>> file.name, line
    ('test.csv', 3)
    """
    for file in files:
        if row < file.n_rows:
            at = None if file.first_line is None else file.first_line + row
            return (file, at) if file.path else None
        row -= file.n_rows
    return None


@dataclass(frozen=True)
class Text:
    """A file as its text has it.

    Parameters
    ----------
    path : str
        As it was passed; empty of a table in memory.
    first_line : int or None
        The first line of a text below its header.
    lines : int
        The number of lines from there on.
    """

    path: str = ""
    first_line: int | None = None
    lines: int = 0

    def with_rows(self, n_rows: int) -> File:
        """Return the file, with the line of its first row if each of its rows is one line.

        With blank lines or line breaks in cells there are more lines than rows.
        """
        return File(self.path, n_rows, self.first_line if self.lines == n_rows else None)


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
    texts : tuple of Text
        The files, of which the rows of the first come before those of the second.
    """

    name: str
    columns: tuple[Hashable, ...]
    read: Callable[[Sequence[int], Sequence[int]], dict[int, Column]]
    remarks: tuple[str, ...] = ()
    texts: tuple[Text, ...] = (Text(),)


@contextmanager
def with_lines(files: Sequence[File]) -> Iterator[None]:
    """Add the line of the file to what an error says of a row.

    Parameters
    ----------
    files : sequence of File
        In whose order rows are counted.

    Examples
    --------
    >>> with with_lines([File("table.csv", 9, 2)]):
    ...     raise InputError("a rule; got nothing in row 3 (counted from 0); mend it")
    Traceback (most recent call last):
    ...
    partwhole._checks.InputError: a rule; got nothing in row 3 (line 5 of the file); mend it
    """
    try:
        yield
    except InputError as error:

        def named(match: re.Match[str]) -> str:
            file, line = place_of(int(match[1]), files) or (None, None)
            if file is None or line is None:
                return match[0]
            return f"row {match[1]} (line {line} of {'the file' if len(files) == 1 else file.name})"

        text = re.sub(r"row (\d+) \(counted from 0\)", named, str(error))
        raise InputError(text) from None


def n_rows(column: Column) -> int:
    """Return the number of rows of a column."""
    return len(column.codes if isinstance(column, Texts) else column)
