"""Text files of numbers or labels, whose cells are separated by commas or the like."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partwhole._checks import InputError, require

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
# What programs write in the place of a missing number.
MISSING = ["", "NaN", "nan", "NA", "N/A", "NULL", "null", "None"]
# Numbers, but for those with leading zeros, which are names.
WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})", re.ASCII)
# A comma that can't be one of thousands: behind a leading 0, or not before three digits.
DECIMAL_COMMA = re.compile(rb"(?<!\d)0*,\d|,\d{1,2}(?!\d)|,\d{4}")
DECIMAL = re.compile(r"[+-]?(0|[1-9]\d*)?(\.\d*)?([eE][+-]?\d+)?", re.ASCII)


def read_numbers(raw: bytes, name: str, usual: str) -> tuple[np.ndarray, bool]:
    """Return a file's numbers, a row for each line, and whether its first row may be a header.

    A first line that holds text is a header. One that numbers the columns from 0 may be a header
    or a trial; it is returned as a row. A first column without a name that numbers the rows is
    left out.
    """
    separator = _separator(raw, name, usual, numbers=True)
    header, skipped, is_last = _first_line(raw, name, separator)
    width = len(header)
    numbers = all(_is_number(cell, separator) for cell in header)
    counted = [str(place) for place in range(width)]
    # So does pandas write the numbers of its rows and columns.
    is_index = width > 1 and not header[0].strip() and (not numbers or header[1:] == counted[:-1])
    names = is_index or not numbers
    _require_rows(name, names and is_last)
    columns = _columns(raw, name, separator, width, skipped if names else 0, numbers=True)
    array = np.empty((len(columns[0]), width), order="F")
    for place, column in enumerate(columns):
        array[:, place] = column.to_numpy()
    if is_index and _counts(array[:, 0]):
        array = array[:, 1:]
    return array, not names and header == counted


def read_labels(raw: bytes, name: str, usual: str) -> pd.DataFrame:
    """Return a file's columns by their names in the first line, with cells as they are.

    Columns in which every cell is a number are numbers. Empty cells are missing. A first column
    without a name that numbers the rows is left out, and so are empty columns without a name.
    """
    import pandas as pd

    separator = _separator(raw, name, usual, numbers=False)
    header, skipped, is_last = _first_line(raw, name, separator)
    _require_rows(name, is_last)
    header = [cell.strip() for cell in header]
    columns = _columns(raw, name, separator, len(header), skipped, numbers=False)
    labels = {
        place: _labels(*_codes(column))
        for place, column in enumerate(columns)
        if header[place] or column.null_count < len(column)
    }
    if len(labels) > 1 and not header[0] and 0 in labels:
        first = labels[0]
        if first.dtype.kind in "iuf" and _counts(first.to_numpy()):
            del labels[0]
    require(labels, "a table has columns", f"empty cells in {name!r}", "check the file")
    repeated, times = Counter(header[place] for place in labels).most_common(1)[0]
    require(
        times == 1,
        "columns of a table have names of their own",
        f"{repeated!r} {times} times in {name!r}",
        "rename them in its first line",
    )
    return pd.DataFrame({header[place] or "no name": column for place, column in labels.items()})


def _require_rows(name: str, is_bare: bool) -> None:
    rule = "a table has rows below its first line, with names"
    require(not is_bare, rule, f"none in {name!r}", "check the file")


def _counts(column: np.ndarray) -> bool:
    """Return whether a column numbers the rows, from 0 or 1."""
    numbers = np.arange(len(column))
    return np.array_equal(column, numbers) or np.array_equal(column, numbers + 1)


def _is_number(cell: str, separator: str = ",") -> bool:
    # Where commas separate no cells, they may be those of decimals.
    cell = cell.replace(",", ".", 1) if separator != "," else cell
    try:
        float(cell)
    except ValueError:
        return cell.strip() in MISSING
    return True


def _separator(raw: bytes, name: str, usual: str, *, numbers: bool) -> str:
    """Return what separates the cells of the first line: the usual, unless it leaves one cell.

    Of numbers, commas may be those of decimals, and so come after other marks.
    """
    candidates = (";", "|", "\t", ",", " ") if numbers else (usual, ",", ";", "\t", "|")
    line = raw.lstrip(b"\r\n").split(b"\n", 1)[0]
    return next(
        (
            mark
            for mark in candidates
            if mark.encode() in line and len(_first_line(raw, name, mark)[0]) > 1
        ),
        usual,
    )


def _first_line(raw: bytes, name: str, separator: str) -> tuple[list[str], int, bool]:
    """Return the cells of the first line with some, the lines up to it, and if it is the last."""
    text = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", newline="")
    lines = csv.reader(text, delimiter=separator)
    try:
        header = next((line for line in lines if line), [])
        place = lines.line_num
        is_last = next((False for line in lines if line), True)
    except (UnicodeDecodeError, csv.Error) as error:
        raise _not_text(name) from error
    require(header, "a table has rows", f"nothing in {name!r}", "check the file")
    return header, place, is_last


def _not_text(name: str) -> InputError:
    return InputError(
        f"a table of cells is text in UTF-8; got other bytes in {name!r}; save it again as UTF-8"
    )


def _columns(
    raw: bytes, name: str, separator: str, width: int, skipped: int, *, numbers: bool
) -> list[pa.ChunkedArray]:
    """Return a file's columns below its header, as numbers or as indexed text."""
    import pyarrow as pa

    body = raw.rstrip(b"\r\n")
    if not numbers:
        text = pa.dictionary(pa.int32(), pa.string())
        try:
            return _parsed(body, name, separator, width, skipped, range(width), text).columns
        except pa.ArrowInvalid as error:
            raise _no_table(name, error) from error
    number = pa.float64()
    refused: list[pa.ArrowInvalid] = []
    for decimal in "." if separator == "," else ".,":
        try:
            table = _parsed(body, name, separator, width, skipped, range(width), number, decimal)
            require(
                decimal == "." or DECIMAL_COMMA.search(body) is not None,
                "numbers are written with a point, or a comma that can't be one of thousands",
                f"commas before three digits in all of {name!r}",
                "write decimals with a point, and thousands without a mark",
            )
            return table.columns
        except pa.ArrowInvalid as error:
            refused.append(error)
    columns = [re.search(r"In CSV column #(\d+)", str(error)) for error in refused]
    places = [int(column[1]) for column in columns if column is not None]
    if not places:
        raise _no_table(name, refused[0]) from refused[0]
    place = max(places)
    cells = _parsed(body, name, separator, width, skipped, [place], pa.string())[0].to_pylist()
    row = next((i for i, cell in enumerate(cells) if not _is_number(cell or "", separator)), 0)
    raise InputError(
        f"responses are numbers; got {cells[row][:60]!r} in column {place}, row {row} (counted "
        f"from 0, below the names if there are some) of {name!r}; leave columns of text out, or "
        "move them to the conditions"
    ) from refused[0]


def _parsed(
    raw: bytes,
    name: str,
    separator: str,
    width: int,
    skipped: int,
    places: Sequence[int],
    kind: pa.DataType,
    decimal: str = ".",
) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    uneven: list[Any] = []

    def note(row: Any) -> str:
        uneven.append(row)
        return "error"

    text = pa.types.is_string(kind) or pa.types.is_dictionary(kind)
    # By index, because names may repeat.
    names = [str(place) for place in range(width)]
    try:
        return arrow_csv.read_csv(
            pa.BufferReader(raw),
            read_options=arrow_csv.ReadOptions(
                column_names=names, skip_rows=skipped, block_size=len(raw) + 1, use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=separator,
                newlines_in_values=b'"' in raw,
                invalid_row_handler=note,
                # In a single column an empty line is a missing entry.
                ignore_empty_lines=width > 1,
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=[names[place] for place in places],
                column_types={names[place]: kind for place in places},
                null_values=[""] if text else MISSING,
                strings_can_be_null=True,
                decimal_point=decimal,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        if "UTF8" in str(error):
            raise _not_text(name) from error
        if uneven:
            row = uneven[0]
            raise InputError(
                f"every line has as many cells as the first; got {row.actual_columns} for "
                f"{row.expected_columns} in line {row.number} of {name!r}; correct the line, or "
                f"quote cells that contain a {SEPARATORS[separator]}"
            ) from error
        raise


def _no_table(name: str, error: Exception) -> InputError:
    return InputError(
        f"a text file is a table of cells; got {str(error)[:120]!r} from {name!r}; check the file"
    )


def _codes(column: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    """Return the index of each entry among the different ones, -1 if it is missing."""
    whole = column.combine_chunks()
    whole = whole.chunk(0) if hasattr(whole, "chunk") else whole
    codes = whole.indices.to_numpy(zero_copy_only=False)
    codes = np.nan_to_num(codes, nan=-1.0) if codes.dtype.kind == "f" else codes
    return codes.astype(np.int64), whole.dictionary.to_pylist()


def _labels(codes: np.ndarray, texts: list[str]) -> pd.Series:
    """Return a column of numbers if all its entries are, else of text."""
    import pandas as pd

    cells = [text.strip() for text in texts]
    kinds = [_kind(cell) for cell in cells]
    if {"whole", "decimal"} & {*kinds} and "text" not in kinds:
        missing = "missing" in kinds or bool(np.any(codes < 0))
        if "decimal" in kinds or missing:
            numbers = [
                float(cell) if kind != "missing" else np.nan
                for cell, kind in zip(cells, kinds, strict=True)
            ]
            return pd.Series(np.array([*numbers, np.nan])[codes])
        return pd.Series(np.array([int(cell) for cell in cells])[codes])
    return pd.Series(np.array([*cells, None], dtype=object)[codes]).infer_objects()


def _kind(cell: str) -> str:
    if cell in MISSING:
        return "missing"
    if WHOLE.fullmatch(cell):
        return "whole"
    return "decimal" if DECIMAL.fullmatch(cell) and _is_number(cell) else "text"
