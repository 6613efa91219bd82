"""Tables from files of text, of JSON Lines and of Parquet, with labels as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwhole._checks import InputError, require
from partwhole._delimited import read_labels
from partwhole._reading import UnreadableError, read_whole

if TYPE_CHECKING:
    import pandas as pd

TEXT = {".csv": ",", ".tsv": "\t"}
LINES = (".jsonl", ".ndjson")
TABLES = (*TEXT, ".parquet", *LINES)
ZIPPED = (*TEXT, *LINES)
MOST_TEXT = 1 << 30  # bytes of a file of text, unpacked, of which memory holds several copies


def existing(path: Path, role: str, endings: Sequence[str], rule: str) -> str:
    """Return the ending of a file that exists and has entries, without .gz.

    Parameters
    ----------
    path : Path
    role : str
        What the file is, for the sentences: "the file of conditions".
    endings : sequence of str
        Those that are read.
    rule : str
        The rule that a folder breaks.

    Raises
    ------
    InputError
        For a folder, another ending, a file that does not exist, and an empty one.
    """
    *earlier, ending = ["", *(suffix.lower() for suffix in path.suffixes)]
    if ending == ".gz" and earlier[-1] in ZIPPED:
        ending = earlier[-1]
    try:
        is_folder, size = path.is_dir(), path.stat().st_size
    except (OSError, ValueError):
        is_folder, size = False, -1
    place = repr(str(path))
    require(not is_folder, rule, f"the folder {place}", "name a file in it")
    known = f"{role} ends in {', '.join(endings[:-1])} or {endings[-1]}"
    require(ending in endings, known, repr(path.name), "save it in one of these forms")
    require(size >= 0, f"{role} exists", f"no file {place}", "check the path")
    require(size > 0, f"{role} has entries", f"{place}, empty", "save it again")
    return ending


def read_table(path: Path, ending: str) -> pd.DataFrame:
    """Return the table of a file whose ending is one of `TABLES`, as `existing` returns it."""
    if ending == ".parquet":
        return parquet_table(path)
    raw = text_of(path)
    return read_labels(raw, path.name, TEXT[ending]) if ending in TEXT else _lines(raw, path.name)


def readable(path: Path, reader: Callable[..., Any], **options: Any) -> Any:
    """Return what a reader of `partwhole._reading` does, with its errors in one sentence."""
    try:
        return reader(path, **options)
    except UnreadableError as error:
        objects = "not of numbers, booleans or text" in str(error)
        remedy = "save arrays of floats, not of objects" if objects else "save it again"
        raise InputError(
            f"a file holds numbers, booleans or text; got {error}, in {path.name!r}; {remedy}"
        ) from error


def text_of(path: Path) -> bytes:
    """Return the bytes of a file of text, unpacked."""
    return readable(path, read_whole, limit=MOST_TEXT)


def parquet_table(path: Path) -> pd.DataFrame:
    """Return the table of a file of Parquet."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        names = parquet.read_schema(path).names
        repeated = next((name for name in names if names.count(name) > 1), None)
        rule = "the columns of a table have names of their own"
        require(repeated is None, rule, f"several {repeated!r} in {path.name!r}", "rename them")
        return parquet.read_table(path).to_pandas()
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(
            "a .parquet file holds a table of plain columns; got something else in "
            f"{path.name!r} ({type(error).__name__}); write it again"
        ) from error


def _lines(raw: bytes, name: str) -> pd.DataFrame:
    """Return the table of a file of JSON Lines."""
    import pandas as pd

    rows = []
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        require(
            isinstance(row, dict),
            "a .jsonl file holds an object in each line",
            f"something else in line {number} of {name!r}",
            'write lines such as {"shape": "disc", "colour": "red"}',
        )
        rows.append(row)
    require(rows, "a table has rows", f"none in {name!r}", "check the file")
    return pd.DataFrame(rows)
