"""Distinct values of a column: their numbering, their order, and their text in messages."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int

from partwhole._checks import InputError, require
from partwhole.tasks.table import require_single_values

if TYPE_CHECKING:
    import pandas as pd

DIGITS = re.compile("([0-9]+)")
COMPONENT_VALUES, SPLIT_ENTRY = "component values", "entry of the split column"
LOOKS_MISSING = frozenset({"na", "n/a", "nan", "none", "null", "nil", "?", "-", "#n/a"})


@dataclass(frozen=True, eq=False)
class Texts:
    """Column of text as written: the index of each row among the distinct entries.

    Parameters
    ----------
    codes : int array, shape (n,)
        -1 for an empty cell.
    texts : tuple of str
    decimal : str, default "."
        What marks decimals where texts are numbers: a point or a comma; empty if it is not clear.
    """

    codes: Int[np.ndarray, " n"]
    texts: tuple[str, ...]
    decimal: str = "."

    def number(self, text: str) -> float | None:
        """Return the number that a text of the column represents, None if it represents none."""
        return as_number(text.replace(",", ".") if self.decimal == "," else text)


# Texts; or floats with NaN for missing cells; or a pandas Series if pandas read the table.
Column = Any


def missing_in(column: Column, name: Hashable) -> Bool[np.ndarray, " n"]:
    """Return which entries of a column are missing."""
    if isinstance(column, Texts):
        return column.codes < 0
    if isinstance(column, np.ndarray):
        return np.isnan(column)
    try:
        return column.isna().to_numpy(dtype=bool)
    except InvalidOperation as error:
        raise InputError(
            f"decimals are numbers or missing; got a signalling NaN in {name!r}; leave it empty"
        ) from error


def require_whole(column: Column, name: Hashable, part: str) -> None:
    """Raise unless a column has no missing entries; name their number and the first."""
    missing = missing_in(column, name)
    remedy = "correct those rows, or set missing (--missing) to 'drop'"
    remedy += " or 'value'" if part == COMPONENT_VALUES else ""
    if missing.all():
        remedy = "name another column, or leave this one out"
    require_none(missing, f"every row needs its {part}", f"missing in {name!r}", remedy=remedy)


def filled(column: Column, missing: Bool[np.ndarray, " n"]) -> Column:
    """Return a column with some entry of its own in the place of missing ones."""
    first = int((~missing).argmax())
    if isinstance(column, Texts):
        return replace(column, codes=np.where(missing, column.codes[first], column.codes))
    if isinstance(column, np.ndarray):
        return np.where(missing, column[first], column)
    return column.mask(missing, column.iloc[first])


def with_missing_value(column: Column, missing: Bool[np.ndarray, " n"]) -> Column:
    """Return a column in which a missing entry is a value."""
    if not missing.any():
        return column
    if isinstance(column, Texts):
        text = _unlike(column.texts)
        codes = np.where(missing, len(column.texts), column.codes)
        return Texts(codes, (*column.texts, text))
    text = _unlike(set(map(str, column[~missing])))
    if hasattr(column, "cat"):
        return column.cat.add_categories([text]).fillna(text)
    return column.astype(object).mask(missing, text)


def is_missing_value(value: Hashable) -> bool:
    """Return whether a value has the name of missing entries.

    Examples
    --------
    >>> is_missing_value("(missing)"), is_missing_value("((missing))"), is_missing_value("none")
    (True, True, False)
    """
    text = str(value)
    depth = text.count("(")
    return depth > 0 and text == "(" * depth + "missing" + ")" * depth


def _unlike(texts: Collection[str]) -> str:
    """Return a name of missing entries that is no entry itself."""
    text = "(missing)"
    while text in texts:
        text = f"({text})"
    return text


def require_none(
    invalid: Bool[np.ndarray, " n"],
    rule: str,
    fault: str,
    example: str = "",
    remedy: str = "correct or drop those rows",
) -> None:
    if invalid.any():
        row = int(invalid.argmax())
        require(
            False,
            rule,
            f"{int(invalid.sum()):,} {fault}, the first{example} in row {row} (counted from 0)",
            remedy,
        )


def numbered(column: Column, name: Hashable) -> tuple[Int[np.ndarray, " n"], tuple[Hashable, ...]]:
    """Return the number of each row's value, and the values in order.

    Categories keep their order and numbers are sorted by size. Text is in natural order: numbers
    by size first, then text, in which runs of digits are compared by size.
    """
    if isinstance(column, Texts):
        codes, values, ordered = column.codes, list(column.texts), False
    else:
        codes, values, ordered = factorized(column, name)
    _require_writable(values, name)
    if ordered:
        return codes, tuple(values)
    order = in_order(values)
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values))
    return rank[codes], tuple(values[i] for i in order)


def _require_writable(values: Iterable[object], name: Hashable) -> None:
    for value in values:
        is_raw = isinstance(value, bytes | bytearray | memoryview)
        if is_raw or not is_writable(value):
            require(
                False,
                "values are text, numbers, dates or booleans",
                f"{'raw bytes' if is_raw else 'a value that cannot be written'} in {name!r}",
                "decode them to text",
            )


def factorized(column: pd.Series, name: Hashable) -> tuple[np.ndarray, list[Hashable], bool]:
    """Return a pandas column's codes and values, and whether the column itself orders them."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.remove_unused_categories()
        return column.cat.codes.to_numpy(dtype=np.int64), column.cat.categories.tolist(), True
    column = plain(column, name)
    codes, values = pd.factorize(column)
    return codes.astype(np.int64), list(values.tolist()), False


def plain(column: pd.Series, name: Hashable) -> pd.Series:
    """Return a column of objects with the type of its entries, which must be single values."""
    import pandas as pd

    if isinstance(column.dtype, pd.ArrowDtype):
        column = column.astype(object)
    if column.dtype != object:
        return column
    try:
        require_single_values(column, name)
    except InputError:
        is_several = any(isinstance(entry, list | set | np.ndarray) for entry in column)
        require(
            not is_several,
            "every cell holds a single value",
            f"a list in {name!r}",
            "spread it over columns, or name a component in multi_hot (--multi-hot) too",
        )
        raise
    # Checked before pandas infers types, which fails for text that UTF-8 cannot encode.
    _require_writable((entry for entry in column if isinstance(entry, str)), name)
    kinds = set(map(type, column))
    require(
        not (kinds & {bool, np.bool_} and any(map(is_number_type, kinds))),
        "a column holds booleans or numbers, not both, because True equals 1",
        f"both in {name!r}",
        "write them as text",
    )
    return column.infer_objects()


def is_number_type(kind: type) -> bool:
    return issubclass(kind, Real | Decimal) and not issubclass(kind, bool | np.bool_)


def in_order(values: Sequence[Hashable]) -> list[int]:
    """Return the indices that sort values; text in natural order.

    Examples
    --------
    >>> in_order(["b", "a10", "a9", "10", "9"])
    [4, 3, 2, 1, 0]
    """
    places = range(len(values))
    if not any(isinstance(value, str) for value in values):
        try:
            return sorted(places, key=values.__getitem__)  # type: ignore[arg-type]
        except TypeError:
            pass
    keys = [natural(str(value)) for value in values]
    return sorted(places, key=keys.__getitem__)


def natural(text: str) -> tuple[Any, ...]:
    """Return the sort key of natural order: ``9`` before ``10`` before ``a9`` before ``a10``."""
    number = as_number(text)
    if number is not None and math.isfinite(number):
        return (0, number, text)
    pieces = DIGITS.split(text)
    # Pairs (length, digits) compare numbers of any length without converting them to int.
    pieces[1::2] = [(len(run.lstrip("0")), run.lstrip("0")) for run in pieces[1::2]]  # type: ignore[misc]
    return (1, pieces, text)


def as_number(text: str) -> float | None:
    """Return the number that a text represents, None if it represents no number."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def near_duplicates(values: Sequence[Hashable]) -> list[tuple[Hashable, Hashable]]:
    """Return pairs of values that differ only in signs that cannot be seen, capitals or format.

    Such signs are spaces at the ends and control characters; the format is that of a number.

    Examples
    --------
    >>> near_duplicates(["red", "Red ", "1", "01", "blue", "blue\\x00"])
    [('red', 'Red '), ('1', '01'), ('blue', 'blue\\x00')]
    """
    first: dict[object, Hashable] = {}
    pairs = []
    for value in values:
        text = str(value)
        if not text.isprintable():
            text = "".join(" " if sign.isspace() else sign for sign in text if _is_seen(sign))
        text = text.strip()
        number = as_number(text)
        key = text.casefold() if number is None or not math.isfinite(number) else number
        if key in first:
            pairs.append((first[key], value))
        else:
            first[key] = value
    return pairs


def _is_seen(sign: str) -> bool:
    return sign.isprintable() or sign.isspace()


def looks_missing(values: Iterable[Hashable]) -> list[str]:
    """Return the texts that often mark a missing entry."""
    return [
        value
        for value in values
        if isinstance(value, str) and (value.strip().lower() in LOOKS_MISSING or not value.strip())
    ]


def counted_as_written(names: Sequence[str], texts: str, role: str, column: Column) -> str:
    """Return the remark that texts which often mark a missing entry are entries like others."""
    missing = "an empty cell is" if isinstance(column, Texts) else "None and NaN are"
    return f"In {listing(names)} the text {texts} is {role}; only {missing} missing."


def is_writable(value: object) -> bool:
    """Return whether UTF-8 can encode a value's text."""
    try:
        str(value).encode("utf-8")
    except ValueError:  # lone surrogates, and integers of thousands of digits
        return False
    return True


def quoted(entry: object, limit: int = 60) -> str:
    """Return an entry for a message: text in quotes, long entries shortened.

    Examples
    --------
    >>> quoted("x" * 100, limit=5), quoted(3)
    ("'xxxxx…'", '3')
    """
    text = str(entry)
    text = text if len(text) <= limit else text[:limit] + "…"
    return repr(text) if isinstance(entry, str) else text


def listing(entries: Sequence[Hashable], limit: int = 8) -> str:
    """Return the first entries and the number of the others."""
    ending = f" and {len(entries) - limit:,} more" if len(entries) > limit else ""
    return ", ".join(quoted(str(entry)) for entry in entries[:limit]) + ending


def near(text: str, texts: Sequence[str], otherwise: str) -> str:
    """Return a remedy that suggests the entry most similar to a text, else another remedy.

    Examples
    --------
    >>> near("color", ["shape", "colour"], "name one of them")
    "did you mean 'colour'?"
    """
    by_lower = {candidate.strip().lower(): candidate for candidate in texts[:1000]}
    matches = difflib.get_close_matches(text.strip().lower(), by_lower, n=1)
    return f"did you mean {quoted(by_lower[matches[0]])}?" if matches else otherwise
