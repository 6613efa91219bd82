"""A column as real numbers, or the row of the first cell that is not a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from numbers import Complex, Real
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole.audit.reading.columns import (
    Column,
    Texts,
    as_number,
    factorized,
    is_number_type,
    plain,
    quoted,
    require_none,
)

# Squares of numbers this large, summed over a billion rows, are still finite.
LARGEST = 1e100


def numbers(
    column: Column, name: Hashable, part: str, *, remedy: str = "correct the cell"
) -> Float[np.ndarray, " n"]:
    """Return a column as finite real numbers.

    Parameters
    ----------
    column : Texts, float array or pandas.Series
        Without missing entries.
    name : hashable
    part : str
        The meaning of the numbers, such as "weight".
    remedy : str, keyword-only
        The remedy for an entry that is not a number.

    Returns
    -------
    float array, shape (n,)

    Raises
    ------
    InputError
        If an entry is not a real number, not finite, or larger than 1e100 in absolute value.

    Examples
    --------
    >>> from partwhole.audit.reading.columns import Texts
    >>> numbers(Texts(np.array([1, 0, 1]), ("2.5", "-1")), "y", "target").tolist()
    [-1.0, 2.5, -1.0]
    """
    floats, invalid, entry = _floats(column, name, part)
    if invalid is not None:
        require(
            False,
            f"every {part} is a real number",
            f"{entry} in {name!r}, row {invalid} (counted from 0)",
            remedy,
        )
    missing, infinite = np.isnan(floats), np.isinf(floats)
    cells = f"cell{'s' * (int(missing.sum()) > 1)} of {name!r} without a number"
    entry = _entry(column, missing)
    require_none(missing, f"every row needs its {part}", cells, entry and f", {entry},")
    entry = _entry(column, infinite)
    # What is read as infinite, but has digits, has too many of them.
    is_large = any(sign.isdigit() for sign in entry)
    require_none(
        infinite,
        f"every {part} lies between -1e100 and 1e100" if is_large else f"every {part} is finite",
        f"too large for a number in {name!r}" if is_large else f"infinite in {name!r}",
        entry and f", {entry},",
    )
    beyond = np.abs(floats) > LARGEST
    require_none(
        beyond,
        f"every {part} lies between -1e100 and 1e100, so that its square is finite",
        f"beyond in {name!r}",
        f", {floats[beyond.argmax()]:.3g},",
    )
    return floats


def _entry(column: Column, chosen: Bool[np.ndarray, " n"]) -> str:
    """Return the first of the chosen entries as it was written; empty where this is unknown."""
    if isinstance(column, np.ndarray) or not chosen.any():
        return ""
    row = int(chosen.argmax())
    if isinstance(column, Texts):
        return quoted(column.texts[column.codes[row]])
    entry = column.iloc[row]
    if isinstance(entry, str):
        return quoted(entry)
    if isinstance(entry, int):
        # Python writes no whole number of thousands of digits.
        return f"a whole number of {int(entry.bit_length() * math.log10(2)) + 1:,} digits"
    return ""


def _floats(
    column: Column, name: Hashable, part: str
) -> tuple[Float[np.ndarray, " n"], int | None, str]:
    """Return a column as floats, or the row and text of the first entry that is not a number."""
    if isinstance(column, Texts):
        return _by_code(column.codes, column.texts, column.number)
    if isinstance(column, np.ndarray):
        return column, None, ""
    import pandas as pd

    kind = unfit(column)
    require(
        not kind,
        f"every {part} is a plain number",
        f"{kind} in {name!r}",
        "convert them to real numbers first",
    )
    column = plain(column, name)
    if pd.api.types.is_numeric_dtype(column) and not isinstance(column.dtype, pd.CategoricalDtype):
        return column.to_numpy(dtype=float, na_value=np.nan), None, ""
    codes, values, _ = factorized(column, name)
    return _by_code(codes, values, _as_float)


def _by_code(
    codes: Int[np.ndarray, " n"],
    values: Iterable[Hashable],
    convert: Callable[[Any], float | None],
) -> tuple[Float[np.ndarray, " n"], int | None, str]:
    values = list(values)
    read_as = [convert(value) for value in values]
    no_number = np.array([value is None for value in read_as], dtype=bool)
    floats = np.array([np.nan if value is None else value for value in read_as], dtype=float)
    invalid = no_number[codes]
    row = int(invalid.argmax()) if invalid.any() else None
    return floats[codes], row, "" if row is None else quoted(values[codes[row]])


def _as_float(entry: object) -> float | None:
    if isinstance(entry, str):
        return as_number(entry)
    if not (is_number_type(type(entry)) or isinstance(entry, bool | np.bool_)):
        return None
    try:
        return float(entry)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf if entry > 0 else -math.inf  # type: ignore[operator]
    except (TypeError, ValueError):
        return None


def unfit(column: Column) -> str:
    """Return the kind of entries that are neither numbers nor labels: times, complex numbers."""
    if isinstance(column, Texts):
        return ""
    import pandas as pd

    from partwhole.tasks.table import TIMES

    if isinstance(column.dtype, pd.CategoricalDtype):
        return ""
    if column.dtype == object and any(
        issubclass(kind, Complex) and not issubclass(kind, Real) for kind in set(map(type, column))
    ):
        return "complex numbers"
    kind = pd.api.types.infer_dtype(column, skipna=False)
    return {"complex": "complex numbers", **dict.fromkeys(TIMES, "times")}.get(kind, "")


def is_numbers(column: Column, name: Hashable) -> bool | str:
    """Return whether entries are numbers; if only some are, the text and row of another entry."""
    if isinstance(column, Texts):
        return _all_or_none(
            column.codes, [column.number(text) for text in column.texts], column.texts
        )
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return False
    column = plain(column, name)
    if pd.api.types.is_bool_dtype(column):
        return False
    if pd.api.types.is_numeric_dtype(column):
        return True
    codes, values, _ = factorized(column, name)
    return _all_or_none(
        codes, [None if isinstance(v, bool | str) else _as_float(v) for v in values], values
    )


def _all_or_none(
    codes: Int[np.ndarray, " n"], read_as: Sequence[float | None], values: Sequence[Hashable]
) -> bool | str:
    # Text such as "nan" or "inf" is a number only among numbers.
    if not any(number is not None and math.isfinite(number) for number in read_as):
        return any(is_number_type(type(value)) for value in values)
    no_number = np.array([number is None for number in read_as], dtype=bool)[codes]
    if not no_number.any():
        return True
    row = int(no_number.argmax())
    n_numbers = int((~no_number).sum())
    return (
        f"{quoted(values[codes[row]])} in row {row} (counted from 0) beside {n_numbers:,} numbers"
    )
