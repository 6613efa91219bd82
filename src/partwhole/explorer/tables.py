"""Tables that a reader brings: their columns, and which of them are probably what."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from partwhole.audit.reading.columns import Column, Texts
from partwhole.audit.reading.source import n_rows
from partwhole.audit.reading.sources import open_source

MOST_COMPONENTS, MOST_VALUES = 4, 100  # of a first guess
TARGETS = ("target", "answer", "label", "y")


def columns(path: Path) -> tuple[list[str], dict[str, str | list[str]]]:
    """Return the columns of a table, and a first guess of which are components, target and split.

    The split is guessed to be the column of that name, or else one with an entry "train"; the
    target one of a usual name, or else the last column that remains; components the first of few
    values. Columns without a name are left out.

    Raises
    ------
    InputError
        For a file that is no table.
    """
    source = open_source(path)
    entries = source.read(range(len(source.columns)), ())
    cells = {str(name): entries[i] for i, name in enumerate(source.columns) if str(name).strip()}
    values = {name: _entries(column) for name, column in cells.items()}
    names = list(values)
    split = _last(
        [n for n in names if n.casefold() == "split"] or [n for n in names if "train" in values[n]]
    )
    rest = [name for name in names if name != split]
    target = _last([name for name in rest if name.casefold() in TARGETS] or rest)
    # A value in each row names the row.
    parts = [n for n in rest if n != target and 1 < len(values[n]) < n_rows(cells[n])]
    few = [name for name in parts if len(values[name]) <= MOST_VALUES]
    if len(few) < 2:
        few = sorted(sorted(parts, key=lambda name: len(values[name]))[:2], key=names.index)
    return names, {"components": few[:MOST_COMPONENTS], "target": target, "split": split}


def _entries(column: Column) -> set[str]:
    if isinstance(column, Texts):
        return {*column.texts}
    return {*pd.Series(column).astype(str).unique()}


def _last(names: list[str]) -> str:
    return names[-1] if names else ""
