"""Several tables as one: a table for each split."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partwhole._checks import require
from partwhole.audit.reading.columns import Column, Texts
from partwhole.audit.reading.decimals import decimal_mark
from partwhole.audit.reading.source import Source, n_rows

# As which column a source of several tables reads the table of each row.
OF_TABLE = -1


def joined(sources: dict[str, Source]) -> Source:
    """Return several tables as one, the rows of the first before those of the second."""
    require(
        len(sources) > 1,
        "a mapping has a table for training and one or more for test",
        f"{len(sources)}",
        'pass {"train": ..., "test": ...}',
    )
    names = next(iter(sources.values())).columns

    def read_part(part: str, coded: Sequence[int], numeric: Sequence[int]) -> dict[int, Column]:
        source = sources[part]
        as_text = [str(name) for name in source.columns]
        places: dict[int, int] = {}
        for place in [*coded, *numeric]:
            name = str(names[place])
            n = as_text.count(name)
            require(
                n == 1,
                "every table has each named column once",
                f"{n or 'no'} column{'s' * (n > 1)} {name!r} in {part!r}",
                "rename one of them" if n else "add it, or rename another",
            )
            places[place] = as_text.index(name)
        columns = source.read([places[j] for j in coded], [places[j] for j in numeric])
        return {place: columns[where] for place, where in places.items()}

    def read(coded: Sequence[int], numeric: Sequence[int]) -> dict[int, Column]:
        parts = [read_part(part, coded, numeric) for part in sources]
        if any(isinstance(columns[place], Texts) for columns in parts for place in numeric):
            # A cell is not a number: as texts, it can be named.
            parts = [read_part(part, [*coded, *numeric], ()) for part in sources]
        whole = {place: _in_turn([columns[place] for columns in parts]) for place in parts[0]}
        rows = [n_rows(next(iter(columns.values()))) for columns in parts]
        whole[OF_TABLE] = Texts(np.repeat(np.arange(len(rows)), rows), tuple(sources))
        return whole

    files = " and ".join(source.name for source in sources.values())
    remarks = [remark for source in sources.values() for remark in source.remarks]
    remarks.append(f"Rows count through the tables in turn: {', '.join(sources)}.")
    texts = tuple(text for source in sources.values() for text in source.texts)
    return Source(files, names, read, tuple(remarks), texts)


def _in_turn(columns: Sequence[Column]) -> Column:
    """Return columns of several tables as one."""
    if all(isinstance(column, Texts) for column in columns):
        texts = list(dict.fromkeys(text for column in columns for text in column.texts))
        place = {text: i for i, text in enumerate(texts)}
        codes = []
        for column in columns:
            # The entry after the last is that of an empty cell, whose code is -1.
            codes.append(np.array([*(place[text] for text in column.texts), -1])[column.codes])
        marks = {column.decimal for column in columns}
        decimal = "." if marks == {"."} else decimal_mark(texts)
        return Texts(np.concatenate(codes), tuple(texts), decimal)
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)
    require(
        not any(isinstance(column, Texts | np.ndarray) for column in columns),
        "the tables of an audit are all text files, or none is",
        "some of both",
        "save them in one form",
    )
    import pandas as pd

    kinds = [column.dtype for column in columns]
    categories = [kind.categories for kind in kinds if isinstance(kind, pd.CategoricalDtype)]
    if len(categories) == len(kinds) and len({of.dtype for of in categories}) == 1:
        return pd.Series(pd.api.types.union_categoricals(columns, ignore_order=True))
    return pd.concat(columns, ignore_index=True)
