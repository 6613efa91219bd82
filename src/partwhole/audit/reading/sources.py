"""Sources of a table: a CSV, JSON Lines or Parquet file, or a table of any library."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partwhole._checks import InputError, require
from partwhole.audit.reading.columns import Column, Texts
from partwhole.audit.reading.decimals import with_decimal_mark
from partwhole.audit.reading.joined import joined
from partwhole.audit.reading.json_lines import not_json_lines
from partwhole.audit.reading.quotes import require_closed
from partwhole.audit.reading.source import Source, Text

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": ","}
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", ":": "colon", " ": "space"}
# These occur in names too: they separate cells if the first row has as many as the header.
IN_NAMES = (":", " ")
# In columns that are aligned by spaces: those at an end of a line, and all but one between cells.
SPACES = re.compile(rb"^ +| +(?=\r?$)| +( )", re.MULTILINE)
LINES = (".jsonl", ".ndjson")
# Size of a table's file, unpacked, of which memory holds several copies.
MOST_BYTES = 1 << 29
MOST_ROWS = 5_000_000
MOST_COLUMNS = 10_000
CHUNK = 1 << 20
ONE_BLOCK = 1 << 20  # bytes that Arrow parses at once
BATCH = 1 << 13
SMALLER = "audit a part of it, or give a DataFrame"


def open_source(table: Any, role: str = "table") -> Source:
    """Return a path, a table or a mapping of tables as a `Source`; raise for anything else."""
    if isinstance(table, str | Path) or hasattr(table, "__fspath__"):
        return _open_file(Path(table))
    if isinstance(table, Mapping):
        names = [str(name) for name in table]
        rule = "each table of a mapping has a name of its own"
        require(len({*names}) == len(names), rule, f"{names}", "rename one of them")
        return joined({str(name): open_source(part, str(name)) for name, part in table.items()})
    require(
        type(table).__name__ != "LazyFrame",
        "the table of an audit holds its rows",
        "a LazyFrame, whose rows have yet to be read",
        "pass table.collect()",
    )
    import pandas as pd
    import pyarrow as pa

    if isinstance(table, pd.DataFrame):
        return _open_frame(table, role)
    try:
        if hasattr(table, "__arrow_c_stream__"):
            return _open_arrow(pa.table(table), role)
        if hasattr(table, "to_pandas"):
            return _open_frame(_with_names(table), role)
        # A dataset of Arrow.
        if hasattr(table, "to_table") and isinstance(read := table.to_table(), pa.Table):
            return _open_arrow(read, role)
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"a table has plain columns; got {str(error)[:120]!r} from one of type "
            f"{type(table).__name__}; turn it into a DataFrame"
        ) from error
    parts = table if isinstance(table, list | tuple) else ()
    several = parts and all(isinstance(part, str) or hasattr(part, "columns") for part in parts)
    raise InputError(
        "the table is a path, or a table of pandas, polars, Arrow or datasets; got one of type "
        f"{type(table).__name__}; "
        + (
            "pass several as {'train': ..., 'test': ...}"
            if several
            else "save it as CSV or Parquet, or turn it into a DataFrame"
        )
    )


def is_of_columns(table: Mapping[Hashable, Any]) -> bool:
    """Return whether a mapping is of names to columns, and not to tables."""
    import pandas as pd

    columns = (list, tuple, np.ndarray, pd.Series)
    return bool(table) and all(isinstance(part, columns) for part in table.values())


def frame_of_columns(table: Mapping[Hashable, Any]) -> pd.DataFrame:
    """Return a mapping of names to columns as a DataFrame, whatever the index of a column."""
    import pandas as pd

    lengths = {name: len(column) for name, column in table.items()}
    require(
        len({*lengths.values()}) == 1,
        "columns have an entry for each row",
        ", ".join(f"{length:,} in {str(name)!r}" for name, length in [*lengths.items()][:5]),
        "fill the short ones",
    )
    columns = {
        name: column.reset_index(drop=True) if isinstance(column, pd.Series) else column
        for name, column in table.items()
    }
    try:
        return pd.DataFrame(columns)
    except ValueError as error:
        raise InputError(
            "a mapping of columns has one entry for each row; "
            f"got one that pandas refuses: {str(error)[:120]}; split arrays into columns"
        ) from error


def _with_names(table: Any) -> pd.DataFrame:
    """Return a dataset as a DataFrame, with the names of its labels in the place of numbers."""
    import pandas as pd

    frame = table.to_pandas()
    for column, kind in (getattr(table, "features", None) or {}).items():
        if names := getattr(kind, "names", None):
            codes = frame[column].fillna(-1).to_numpy(dtype=int)
            frame[column] = pd.Categorical.from_codes(codes, names)
    return frame


def existing_file(path: Path, role: str) -> Path:
    """Return the path of an existing file; raise if it is missing or a folder."""
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except (OSError, ValueError):
        is_folder = is_there = False
    require(not is_folder, f"{role} is a file", f"the folder {str(path)!r}", "name a file in it")
    require(is_there, f"{role} must exist", f"no file {str(path)!r}", "check the path")
    return path


def _open_file(path: Path) -> Source:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    kind = (suffixes[-2:-1] if zipped else suffixes[-1:]) or [""]
    existing_file(path, "the table")
    require(
        kind[0] in DELIMITERS or kind[0] in LINES or (kind[0] == ".parquet" and not zipped),
        "the table's name ends in .csv, .tsv, .txt, .jsonl (each also with .gz) or .parquet",
        repr(path.name),
        "save it in one of these forms",
    )
    if kind[0] == ".parquet":
        return _open_parquet(path)
    raw = _bounded(path, zipped)
    if kind[0] in LINES:
        source = _open_lines(raw, path.name)
    else:
        source = _open_csv(raw, path.name, DELIMITERS[kind[0]])
    (text,) = source.texts
    # Lines of a compressed file cannot be cited.
    first = None if zipped else text.first_line
    return replace(source, texts=(replace(text, path=str(path), first_line=first),))


def _bounded(path: Path, zipped: bool) -> bytes:
    """Return a file's bytes, unpacked; raise as soon as there are too many."""
    chunks, size = [], 0
    try:
        with path.open("rb") as packed, gzip.open(packed) if zipped else packed as file:
            while chunk := file.read(CHUNK):
                chunks.append(chunk)
                size += len(chunk)
                if size > MOST_BYTES:
                    break
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(
            f"a .gz file is complete and compressed by gzip; got other data in {path.name!r}; "
            "compress it again"
        ) from error
    except OSError as error:
        raise InputError(
            f"the table must be readable; got {error.strerror} for {path.name!r}; check its "
            "permissions"
        ) from error
    _require_size(size, path.name)
    return b"".join(chunks)


def _require_size(size: int, name: str) -> None:
    require(
        size <= MOST_BYTES,
        f"a table's file has at most {MOST_BYTES >> 20} MiB, unpacked",
        f"more in {name!r}",
        SMALLER,
    )


def _require_few(limit: int, count: int, unit: str, name: str) -> None:
    require(
        count <= limit,
        f"a table's file has at most {limit:,} {unit}",
        f"{count:,} in {name!r}",
        SMALLER,
    )


def _open_csv(raw: bytes, name: str, delimiter: str) -> Source:
    delimiter = _separator(raw, name, delimiter)
    if delimiter == " ":
        raw = _unaligned(raw)
    header, skipped, first_row = _header(raw, name, delimiter)
    require(header, "the table has a header", f"nothing in {name!r}", "check the file")
    nul = raw.find(b"\0")
    require(
        nul < 0,
        "a CSV file is text in UTF-8 without NUL bytes",
        f"one in line {_line_ends(raw[: max(nul, 0)]) + 1} of {name!r}",
        "correct the line, or save the file again as UTF-8",
    )
    _require_columns(header, name)
    _require_few(MOST_COLUMNS, len(header), "columns", name)
    require(
        bool(first_row),
        "the table has rows below its header",
        f"only a header in {name!r}",
        "check the file",
    )

    # Before the rows are counted: behind an open quote all of them are one cell.
    require_closed(raw, delimiter, name, len(header))

    def read(coded: Sequence[int], numeric: Sequence[int]) -> dict[int, Column]:
        import pyarrow as pa

        try:
            table = _arrow(raw, delimiter, len(header), skipped, coded, numeric, name)
        except pa.ArrowInvalid:
            # Some cell is not a number: read as text, the cell can be named.
            table = _arrow(raw, delimiter, len(header), skipped, [*coded, *numeric], (), name)
        columns = {place: _column(table[str(place)]) for place in [*coded, *numeric]}
        floats = [columns[place] for place in numeric if isinstance(columns[place], np.ndarray)]
        if any(np.isinf(column).any() for column in floats):  # as text, the cell can be named
            return read([*coded, *numeric], ())
        in_quotes = delimiter == ","
        return {
            place: with_decimal_mark(column, in_quotes=in_quotes)
            for place, column in columns.items()
        }

    body = raw.strip()
    blank = b"\n\n" in body or b"\n\r\n" in body
    remarks = ("Blank lines of the file were skipped; rows count the others.",) if blank else ()
    lines = _line_ends(raw.rstrip(b"\r\n")) + 1 - skipped
    _require_few(MOST_ROWS, lines, "lines", name)
    return Source(name, tuple(header), read, remarks, (Text("", skipped + 1, lines),))


def _require_columns(header: list[str], name: str) -> None:
    require(
        len(header) > 1,
        "cells are separated by commas, semicolons, tabs, bars, colons or spaces",
        f"a single column, {header[0][:60]!r}, in {name!r}",
        "save it with commas",
    )


def _separator(raw: bytes, name: str, usual: str) -> str:
    """Return what separates the cells of a header: the usual, unless that leaves a single cell."""

    def separates(mark: str) -> bool:
        header, _, row = _header(_unaligned(raw) if mark == " " else raw, name, mark)
        return len(header) > 1 and (mark not in IN_NAMES or len(row or header) == len(header))

    return next(filter(separates, (usual, *SEPARATORS)), usual)


def _unaligned(raw: bytes) -> bytes:
    """Return text without the spaces that align its columns."""
    return raw if b'"' in raw else SPACES.sub(rb"\1", raw)


def _line_ends(raw: bytes) -> int:
    ends = raw.count(b"\n")
    if b"\r" in raw:
        ends += raw.count(b"\r") - raw.count(b"\r\n")
    return ends


def _header(raw: bytes, name: str, delimiter: str) -> tuple[list[str], int, list[str]]:
    """Return a CSV file's header, its number of lines, and the row below it, empty if none is."""
    text = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", newline="")
    lines = csv.reader(text, delimiter=delimiter)
    try:
        header = next((line for line in lines if line), [])
        skipped = lines.line_num
        return header, skipped, next((line for line in lines if line), [])
    except UnicodeDecodeError as error:
        raise _not_text(name) from error
    except csv.Error as error:
        raise InputError(
            f"the header is a line of column names; got {error} in {name!r}; check the file"
        ) from error


def _not_text(name: str) -> InputError:
    return InputError(
        f"a CSV file is text in UTF-8; got other bytes in {name!r}; save it again as UTF-8"
    )


def _arrow(
    raw: bytes,
    delimiter: str,
    width: int,
    skipped: int,
    coded: Sequence[int],
    numeric: Sequence[int],
    name: str,
) -> pa.Table:
    """Return columns of a CSV file; a remaining ArrowInvalid means a cell that is not a number."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    ragged: list[Any] = []

    def note(row: Any) -> str:
        ragged.append(row)
        return "error"

    def parse(**reading: Any) -> pa.Table:
        ragged.clear()
        # A process that ends while a thread of Arrow's does may be aborted (apache/arrow#34314).
        reading = {"use_threads": len(raw) > ONE_BLOCK} | reading
        return arrow_csv.read_csv(
            pa.BufferReader(raw),
            read_options=arrow_csv.ReadOptions(
                # By index, because names may repeat.
                column_names=[str(place) for place in range(width)],
                skip_rows=skipped,
                **reading,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=b'"' in raw,
                invalid_row_handler=note,
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=[str(place) for place in [*coded, *numeric]],
                column_types={
                    **{str(place): pa.dictionary(pa.int32(), pa.string()) for place in coded},
                    **{str(place): pa.float64() for place in numeric},
                },
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    try:
        try:
            return parse()
        except pa.ArrowInvalid as error:
            if "straddl" in str(error):  # a cell longer than a block
                return parse(block_size=len(raw) + 1)
            if not ragged:
                raise
            return parse(use_threads=False)  # so that the line's number is known
    except pa.ArrowInvalid as error:
        if "UTF8" in str(error):
            raise _not_text(name) from error
        if ragged:
            row = ragged[0]
            raise InputError(
                f"every row has as many cells as the header; got {row.actual_columns} for "
                f"{row.expected_columns} in line {row.number} of {name!r}; correct the line, or "
                f"quote cells that contain a {SEPARATORS[delimiter]}"
            ) from error
        if "conversion error to double" in str(error):
            raise
        raise InputError(
            f"a CSV file is a table of cells; got {str(error)[:120]!r} from {name!r}; check the "
            "file"
        ) from error


def _column(column: pa.ChunkedArray) -> Column:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column.to_numpy()
    chunks = column.unify_dictionaries().chunks
    codes = [np.zeros(0, dtype=np.int64), *(_indices(chunk.indices) for chunk in chunks)]
    texts = chunks[0].dictionary.to_pylist() if chunks else []
    return Texts(np.concatenate(codes), tuple(texts))


def _indices(indices: pa.Array) -> np.ndarray:
    """Return Arrow's indices, -1 for missing entries."""
    # Arrow's to_numpy imports pandas, which takes longer than reading a small table.
    if indices.null_count:
        return np.nan_to_num(indices.to_numpy(zero_copy_only=False), nan=-1.0).astype(np.int64)
    return np.from_dlpack(indices).astype(np.int64)


def _open_parquet(path: Path) -> Source:
    import pyarrow as pa
    from pyarrow import parquet

    def unreadable(error: Exception) -> InputError:
        return InputError(
            f"a .parquet file holds a table of plain columns; got something else in "
            f"{path.name!r} ({type(error).__name__}); write it again"
        )

    try:
        with parquet.ParquetFile(path) as opened:
            names = tuple(opened.schema_arrow.names)
            n_rows = opened.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise unreadable(error) from error
    _require_few(MOST_COLUMNS, len(names), "columns", path.name)
    _require_few(MOST_ROWS, n_rows, "rows", path.name)

    def read(coded: Sequence[int], numeric: Sequence[int]) -> dict[int, Column]:
        places = [*coded, *numeric]
        try:
            # Anew each time: columns that nobody named are read only if they are needed.
            with parquet.ParquetFile(path) as file:
                columns = [names[place] for place in places]
                schema = pa.schema([file.schema_arrow.field(place) for place in places])
                batches, size = [], 0
                for batch in file.iter_batches(BATCH, columns=columns):
                    batches.append(batch.select(columns))
                    size += batch.nbytes
                    _require_size(size, path.name)
                table = pa.Table.from_batches(batches, batches[0].schema if batches else schema)
                frame = table.to_pandas(ignore_metadata=True)
                del batches, table
                # Arrow keeps what is free for itself otherwise, half as much again as the table.
                pa.default_memory_pool().release_unused()
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise unreadable(error) from error
        return {place: frame[names[place]] for place in places}

    return Source(path.name, names, read, texts=(Text(str(path)),))


def _open_lines(raw: bytes, name: str) -> Source:
    """Open a file of JSON Lines: an object in each line, with the columns as its names."""
    import pyarrow as pa
    from pyarrow import json

    require(raw.strip(), "the table has rows", f"nothing in {name!r}", "check the file")
    block = json.ReadOptions(block_size=max(len(raw), 1))
    try:
        table = json.read_json(pa.BufferReader(raw), read_options=block)
    except pa.ArrowException as error:
        raise not_json_lines(str(error), name) from error
    _require_few(MOST_COLUMNS, table.num_columns, "columns", name)
    _require_few(MOST_ROWS, table.num_rows, "rows", name)
    lines = _line_ends(raw.rstrip(b"\r\n")) + 1
    return replace(_open_arrow(table, name), texts=(Text("", 1, lines),))


def _open_arrow(table: pa.Table, name: str) -> Source:
    def read(coded: Sequence[int], numeric: Sequence[int]) -> dict[int, Column]:
        return {place: table.column(place).to_pandas() for place in [*coded, *numeric]}

    return Source(name, tuple(table.column_names), read)


def _open_frame(frame: pd.DataFrame, name: str) -> Source:
    require(
        frame.columns.nlevels == 1,
        "each column has a single name",
        f"columns of {frame.columns.nlevels} levels",
        "flatten them first",
    )

    def read(coded: Sequence[int], numeric: Sequence[int]) -> dict[int, Column]:
        return {place: frame.iloc[:, place] for place in [*coded, *numeric]}

    return Source(name, tuple(frame.columns), read)
