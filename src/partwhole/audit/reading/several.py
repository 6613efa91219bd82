"""Columns of several values: lists of attributes, and columns that share one vocabulary.

Each value becomes a component of its own. Of a column with several values in a cell it says whether
the cell contains the value; of columns with a shared vocabulary, in how many of them it stands. A
sum of these components is that of a learner with one embedding for each value, whatever its column
or its place; but each number of columns is a value of its own, so that to stand in two of them need
not add twice as much (`partwhole.audit.occurrences` has the sums in which it does). Derived here.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from partwhole._checks import require
from partwhole.audit.occurrences import Occurrences
from partwhole.audit.reading.columns import Column, Texts, listing, missing_in, near, quoted
from partwhole.audit.reading.source import n_rows

SEPARATORS = ("|", ";", ",", " ")
MOST_VALUES = 100

Columns = list[tuple[Column, Hashable]]


@dataclass(frozen=True, eq=False)
class _Entries:
    """Values in the cells of a column: value `texts[value[i]]` stands in row `row[i]`."""

    row: Int[np.ndarray, " e"]
    value: Int[np.ndarray, " e"]
    texts: tuple[str, ...]


def spread(
    columns: Columns,
    multi_hot: Sequence[Hashable],
    tied: Sequence[Sequence[Hashable]],
    remarks: list[str],
) -> Columns:
    """Return the components, with one for each value of the columns of several values.

    Parameters
    ----------
    columns : list of (column, name)
        The components; remarks are appended to `remarks`.
    multi_hot : sequence of column names
        Components with a list in each cell, or texts separated by bars, semicolons, commas or
        spaces: whichever of these occurs first in this order. An empty cell has no value.
    tied : sequence of sequences of column names
        Groups of two or more components with the same vocabulary. An empty cell has no value.

    Returns
    -------
    list of (column, name)
        The others as they are, then the new ones.

    Raises
    ------
    InputError
        If a name is no component or is named twice, there are more than 100 values, or a column of
        a shared vocabulary has no value of the others.

    Examples
    --------
    >>> cells = Texts(np.array([0, 1, 0]), ("red|wet", "wet"))
    >>> for column, name in spread([(cells, "attributes")], ["attributes"], [], []):
    ...     name, column.codes.tolist(), column.texts
    ('attributes: red', [1, 0, 1], ('no red', 'red'))
    ('attributes: wet', [1, 1, 1], ('no wet', 'wet'))
    """
    names = [str(name) for _, name in columns]
    groups = [[str(name) for name in group] for group in tied]
    _check(names, [str(name) for name in multi_hot], groups)
    by_name = dict(zip(names, (column for column, _ in columns), strict=True))
    n = n_rows(columns[0][0])
    new: Columns = []
    for name in map(str, multi_hot):
        entries, separator = _listed(by_name[name], name)
        new += _components(name, entries, n, counted=False)
        between = f", separated by {separator!r}," if separator else ""
        remarks.append(f"The cells of {name!r}{between} have {len(entries.texts)} values.")
    for group in groups:
        parts = [_single(by_name[name], name) for name in group]
        _require_shared(group, parts)
        entries = _together(parts)
        new += _components("/".join(group), entries, n, counted=True)
        remarks.append(
            f"{listing(group)} share {len(entries.texts)} values; where one stands does not count."
        )
    replaced = {*map(str, multi_hot), *(name for group in groups for name in group)}
    kept = [pair for pair, name in zip(columns, names, strict=True) if name not in replaced]
    require_two(len(kept) + len(new))
    return kept + new


def occurrences(
    coded: Int[np.ndarray, "n C"],
    values: Sequence[Sequence[Hashable]],
    names: Sequence[str],
    tied: Sequence[Sequence[Hashable]],
) -> Occurrences | None:
    """Return how often shared values occur, if any does several times in a row."""
    groups = ["/".join(map(str, group)) for group in tied]
    codes, is_count = coded.copy(), np.zeros(len(names), dtype=bool)
    for c, name in enumerate(names):
        group = next((group for group in groups if name.startswith(f"{group}: ")), None)
        if group is not None:
            text = name.removeprefix(f"{group}: ")
            times = [times_of(str(value), text) for value in values[c]]
            codes[:, c], is_count[c] = np.array(times)[coded[:, c]], True
    several = codes[:, is_count].max(initial=0) > 1
    return Occurrences(codes, is_count) if several else None


def times_of(value: str, text: str) -> int:
    """Return how often a text occurs by the value of its component.

    Examples
    --------
    >>> times_of("no red", "red"), times_of("red", "red"), times_of("2 x red", "red")
    (0, 1, 2)
    """
    if value in (text, f"no {text}"):
        return int(value == text)
    return int(value.removesuffix(f" x {text}"))


def require_two(n_components: int) -> None:
    """Raise unless columns of several values leave two components."""
    require(
        n_components >= 2,
        "a combination has at least two components",
        f"{n_components}, of columns with several values",
        "name further columns",
    )


def _check(names: list[str], multi_hot: list[str], groups: list[list[str]]) -> None:
    used: set[str] = set()
    for group in groups:
        require(
            len(group) >= 2,
            "a shared vocabulary is that of two or more components",
            listing(group) or "none",
            "name the others too, or leave it out",
        )
    for name in [*multi_hot, *(name for group in groups for name in group)]:
        require(
            name in names,
            "columns of several values and of shared vocabularies are components",
            f"{quoted(name)}, components are {listing(names)}",
            near(name, names, "name it in components too"),
        )
        require(
            name not in used,
            "a component has several values or shares a vocabulary, once",
            f"{quoted(name)} twice",
            "name it once",
        )
        used.add(name)


def _listed(column: Column, name: str) -> tuple[_Entries, str]:
    """Return the values in cells of several, and what separates them in texts."""
    absent = missing_in(column, name)
    if isinstance(column, Texts):
        cells, index = list(column.texts), column.codes
    else:
        cells = ["" if empty else cell for cell, empty in zip(column, absent, strict=True)]
        index = np.arange(len(cells))
    separator = ""
    if all(isinstance(cell, str) for cell in cells):
        separator = next((mark for mark in SEPARATORS if any(mark in c for c in cells)), "")
    values: dict[str, int] = {}
    items: list[list[int]] = []
    for cell in cells:
        parts = cell.split(separator) if separator else [cell]
        if not isinstance(cell, str):
            is_list = isinstance(cell, list | tuple | set | frozenset | np.ndarray)
            parts = list(cell) if is_list else [cell]
        texts = (str(part).strip() for part in parts)
        items.append(
            [values.setdefault(text, len(values)) for text in dict.fromkeys(texts) if text]
        )
        _require_few(values, name)
    lengths = np.array([*(len(item) for item in items), 0])[index]
    start = np.cumsum([0, *(len(item) for item in items)])[:-1]
    flat = np.array([value for item in items for value in item], dtype=np.int64)
    row = np.repeat(np.arange(len(index)), lengths)
    first = np.append(start, 0)[index]
    within = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return _Entries(row, flat[np.repeat(first, lengths) + within], tuple(values)), separator


def _single(column: Column, name: str) -> _Entries:
    """Return the values of a column with one in each cell."""
    if isinstance(column, Texts):
        row = np.flatnonzero(column.codes >= 0)
        return _Entries(row, column.codes[row], column.texts)
    row = np.flatnonzero(~missing_in(column, name))
    cells = column[row].tolist() if isinstance(column, np.ndarray) else column.iloc[row].tolist()
    values: dict[str, int] = {}
    codes = [values.setdefault(str(cell), len(values)) for cell in cells]
    return _Entries(row, np.array(codes, dtype=np.int64), tuple(values))


def _require_shared(group: Sequence[str], parts: Sequence[_Entries]) -> None:
    """Refuse a column that has no value in common with the others of its vocabulary."""
    for i, (name, entries) in enumerate(zip(group, parts, strict=True)):
        others = {text for j, part in enumerate(parts) if j != i for text in part.texts}
        require(
            not others.isdisjoint(entries.texts),
            "columns of a shared vocabulary have values in common",
            f"none of {quoted(name)} in {listing([n for n in group if n != name])}",
            "leave it out of the vocabulary",
        )


def _together(columns: Sequence[_Entries]) -> _Entries:
    texts = list(dict.fromkeys(text for entries in columns for text in entries.texts))
    place = {text: i for i, text in enumerate(texts)}
    values = [np.array([place[t] for t in e.texts], dtype=np.int64)[e.value] for e in columns]
    row = np.concatenate([entries.row for entries in columns])
    return _Entries(row, np.concatenate(values), tuple(texts))


def _components(name: str, entries: _Entries, n: int, *, counted: bool) -> Columns:
    """Return a component for each value: in how many columns it stands, or whether it does."""
    _require_few(entries.texts, name)
    counts = np.zeros((len(entries.texts), n), dtype=np.int64)
    np.add.at(counts, (entries.value, entries.row), 1)
    if not counted:
        counts = np.minimum(counts, 1)
    most = int(counts.max(initial=1))
    return [
        (Texts(counts[i], _words(entries.texts[i], most)), f"{name}: {entries.texts[i]}")
        for i in np.argsort(entries.texts).tolist()
    ]


def _words(text: str, most: int) -> tuple[str, ...]:
    """Return the values of a component: without a text, with it, and with it several times."""
    return (f"no {text}", text, *(f"{k} x {text}" for k in range(2, most + 1)))


def _require_few(values: Sequence[str] | dict[str, int], name: str) -> None:
    require(
        len(values) <= MOST_VALUES,
        f"columns of several values have at most {MOST_VALUES} distinct ones",
        f"more in {quoted(name)}",
        "leave it out, or keep the values that matter",
    )
