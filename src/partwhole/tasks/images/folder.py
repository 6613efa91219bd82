"""Pictures in a folder, with a table of their attributes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Int

from partwhole._checks import InputError, require, whole
from partwhole._door import door
from partwhole._progress import bar
from partwhole._tables import TABLES, existing, read_table
from partwhole._types import Positive
from partwhole.tasks.images._decoding import (
    ENDINGS,
    Header,
    read_header,
    read_levels,
    require_pillow,
)
from partwhole.tasks.images._rendered import require_memory
from partwhole.tasks.images.attribute_space import AttributeSpace
from partwhole.tasks.images.labelled_images import LabelledImages
from partwhole.tasks.table import require_single_values, value_codes

if TYPE_CHECKING:
    import pandas as pd

FEW = 10  # labels: a column of so many need not repeat them
LARGEST_SIDE = 8192
CHANNELS = (1, 3, 4)


@door
def from_folder(
    folder: Path | str,
    table: Any,
    *,
    concepts: Sequence[str],
    file: str = "file",
    size: int | tuple[int, int] | None = None,
    channels: int | None = None,
    unlisted: Literal["refuse", "leave out"] = "refuse",
    memory: Positive = 8.0,
    progress: bool = True,
) -> LabelledImages:
    """Read pictures from a folder, and their attributes from a table with a row for each.

    Parameters
    ----------
    folder : Path or str
        With files of PNG or JPEG, also in folders below it.
    table : path or pandas.DataFrame
        A .csv or .tsv file with names in the first line, .jsonl (each also with .gz), or .parquet;
        or the table itself.
    concepts : sequence of str, keyword-only
        Its columns of attributes, the first one varying slowest in the order of classes. Labels
        stay as they are, in the order of categories, else sorted.
    file : str, keyword-only, default "file"
        The column of names of files, as they are below the folder: ``disc/red-1.png``.
    size : int or pair of int, keyword-only, default None
        Height and width of the pictures, or both in one. Each is cut to these proportions about its
        middle, and a pixel is then the mean over the area that it covers. None takes the size that
        all files have.
    channels : {1, 3, 4}, keyword-only, default None
        Grey levels, red, green and blue, or these and opacity; None for what all files have.
        Colours become grey by .299 red + .587 green + .114 blue, and with 1 or 3 channels what is
        transparent is laid over white.
    unlisted : {"refuse", "leave out"}, keyword-only, default "refuse"
        What becomes of pictures in the folder that the table does not name.
    memory : float, keyword-only, default 8.0
        The GiB that the pictures may take, at 4 bytes a number; known from the files' headers
        before any picture is decoded.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    LabelledImages
        In the order of the table, levels in 0..1.

    Raises
    ------
    InputError
        For a folder without pictures, a table without these columns, rows without a file and files
        without a row, pictures that are damaged, animated or of several sizes or numbers of
        channels, attributes that are missing, constant or continuous, or labels that differ only in
        capitals, and too little memory.
    MissingExtraError
        If Pillow is not installed.

    Notes
    -----
    Grey levels of 16 bits are read in full; of colours of 16 bits, Pillow reads the upper 8, so
    that levels are right to 1/255. Palettes become colours. Profiles of colour and gamma are not
    applied.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from partwhole.tasks.shapes.pictures import save_picture
    >>> folder, rows = Path(tempfile.mkdtemp()), []
    >>> for name, level in [("a.png", 0.2), ("b.png", 0.4), ("c.png", 0.6), ("d.png", 1.0)]:
    ...     place = save_picture(folder / name, np.full((4, 4), level), scale=1)
    >>> attributes = pd.DataFrame(
    ...     {"file": list("abcd"), "tone": ["dark", "dark", "light", "light"], "set": [1, 2, 1, 2]}
    ... )
    >>> attributes["file"] += ".png"
    >>> pictures = from_folder(folder, attributes, concepts=["tone", "set"], channels=1)
    >>> print(pictures.describe())
    4 pictures of 4 x 4 x 1: tone (2) x set (2), 0.0 MiB
    4 of 4 combinations have pictures, 1 to 1 of each
    >>> pictures.images.mean(axis=(1, 2, 3)).round(3).tolist()
    [0.20000000298023224, 0.4000000059604645, 0.6000000238418579, 1.0]
    """
    require_pillow("from_folder")
    require(
        channels in (None, *CHANNELS),
        "channels are 1 for grey levels, 3 for colours, or 4 for colours with opacity",
        repr(channels),
        "pass one of these, or leave it out",
    )
    root = Path(folder)
    require(
        root.is_dir(),
        "pictures are in a folder that exists",
        repr(str(root)),
        "check the path",
    )
    frame = _frame(table, concepts, file)
    names = _files(root, list(frame[file]), unlisted)
    space, components = _labels(frame, concepts)
    headers = [read_header(root / name, name) for name in names]
    n_channels = _common_channels(headers, names) if channels is None else int(channels)
    height, width = _common_size(headers, names) if size is None else _asked(size)
    shape = height, width, n_channels
    remedy = "pass size, channels=1 or fewer rows, or raise memory"
    require_memory(len(names), shape, memory, remedy)
    images = np.empty((len(names), *shape), dtype=np.float32)
    with bar("pictures", len(names), shown=progress) as advance:
        for image, name in zip(images, names, strict=True):
            image[...] = read_levels(root / name, name, (height, width), n_channels)
            advance(1)
    return LabelledImages(images, components, space, frame)


def _frame(table: Any, concepts: Sequence[str], file: str) -> pd.DataFrame:
    """Return the table, with its rows numbered, once its columns are there."""
    import pandas as pd

    require(
        isinstance(table, str | Path | pd.DataFrame),
        "attributes are a table, or the name of its file",
        type(table).__name__,
        "pass a pandas.DataFrame, or attributes.csv, say",
    )
    if not isinstance(table, pd.DataFrame):
        path = Path(table)
        rule = "attributes are in a file"
        table = read_table(path, existing(path, "the file of attributes", TABLES, rule))
    require(len(concepts) > 0, "concepts name a column", "none", "name one or more")
    columns = list(table.columns)
    for name in (file, *concepts):
        times = sum(column == name for column in columns)
        require(
            times == 1,
            "the column of files and those of concepts are columns of the table",
            f"{name!r}, which {times or 'no'} columns have; columns are "
            f"{', '.join(map(str, columns[:20]))}",
            "rename the column or the argument",
        )
    roles = [file, *concepts]
    require(
        len(set(roles)) == len(roles),
        "each column has one role",
        ", ".join(roles),
        "name each once",
    )
    require(len(table) > 0, "a table has rows", "none", "check the file")
    return table.reset_index(drop=True)


def _files(root: Path, column: Sequence[Any], unlisted: str) -> list[str]:
    """Return the name of each row's picture, once rows and files belong to each other."""
    there = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.suffix.lower() in ENDINGS and not path.name.startswith(".") and path.is_file()
    }
    require(
        there,
        f"a folder has pictures that end in {', '.join(ENDINGS)}",
        f"none in {str(root)!r}",
        "check the path",
    )
    missing = np.flatnonzero(
        [name is None or name != name or not str(name).strip() for name in column]
    )
    require(
        len(missing) == 0,
        "each row of the table names its picture",
        f"{len(missing):,} without a name, the first in row {missing[0] if len(missing) else 0} "
        "(counted from 0)",
        "fill in the names, or drop those rows",
    )
    names = [str(name).strip() for name in column]
    lost = [name for name in names if name not in there]
    if lost:
        raise InputError(_lost(root, lost, there))
    seen: set[str] = set()
    twice = next((name for name in names if name in seen or seen.add(name)), None)
    require(
        twice is None, "each picture has one row", f"two or more of {twice!r}", "drop the others"
    )
    extra = sorted(there - seen)
    require(
        unlisted == "leave out" or not extra,
        "each picture of the folder has a row in the table",
        f"{len(extra):,} without one, {extra[0] if extra else ''!r} the first",
        "add rows, or pass unlisted='leave out'",
    )
    return names


def _lost(root: Path, lost: Sequence[str], there: set[str]) -> str:
    """Return the sentence on rows whose picture is not in the folder."""
    name, n_others = lost[0], len(lost) - 1
    ending = Path(name).suffix.lower()
    if (root / name).is_file() and ending not in ENDINGS:
        return (
            f"pictures end in {', '.join(ENDINGS)}; got {name!r}; save it in one of these forms, "
            "or leave its row out"
        )
    in_lower = {entry.casefold(): entry for entry in there}
    near = in_lower.get(name.casefold()) or next(
        (entry for entry in map(f"{name}{{}}".format, ENDINGS) if entry in there), None
    )
    near = near or next((entry for entry in sorted(there) if Path(entry).name == name), None)
    others = f" and {n_others:,} more" if n_others else ""
    remedy = f"did you mean {near!r}?" if near else "check the names, or leave those rows out"
    return f"each row's picture is in the folder; got no file {name!r}{others} there; {remedy}"


def _labels(
    frame: pd.DataFrame, concepts: Sequence[str]
) -> tuple[AttributeSpace, Int[np.ndarray, "n C"]]:
    """Return the space of the table's attributes, and the index of each row's labels."""
    import pandas as pd

    labels, columns = {}, []
    for name in concepts:
        column = pd.Series(frame[name])
        require_single_values(column, name)
        missing = np.flatnonzero(column.isna())
        require(
            len(missing) == 0,
            "each row has a label of each concept",
            f"{len(missing):,} missing in {name!r}, the first in row "
            f"{missing[0] if len(missing) else 0} (counted from 0)",
            "fill them in, or drop those rows",
        )
        codes, values = value_codes(column)
        numeric = pd.api.types.is_float_dtype(column)
        require(
            len(values) <= max(FEW, len(column) // 2),
            "a concept has labels that recur",
            f"{len(values):,} different {'numbers' if numeric else 'labels'} in {len(column):,} "
            f"rows of {name!r}",
            "put numbers into bins with pandas.cut" if numeric else "name another column",
        )
        labels[name] = values
        columns.append(codes)
    return AttributeSpace(labels), np.stack(columns, axis=1)


def _asked(size: int | tuple[int, int]) -> tuple[int, int]:
    height, width = (size, size) if isinstance(size, int | np.integer) else size
    for name, side in (("height", height), ("width", width)):
        whole(name, side, 1, "pass size=32, say")
        rule = f"a picture that is asked for has at most {LARGEST_SIDE} pixels to a side"
        require(side <= LARGEST_SIDE, rule, side, "pass a smaller size")
    return int(height), int(width)


def _common_size(headers: Sequence[Header], names: Sequence[str]) -> tuple[int, int]:
    """Return the size that all pictures have."""
    first = headers[0].height, headers[0].width
    unlike = [i for i, header in enumerate(headers) if (header.height, header.width) != first]
    require(
        not unlike,
        "pictures have one size",
        f"{first[0]} x {first[1]} in {names[0]!r} and "
        f"{headers[unlike[0]].height} x {headers[unlike[0]].width} in {names[unlike[0]]!r}, "
        f"{len(unlike):,} of {len(names):,} unlike the first"
        if unlike
        else "",
        "pass the size that they are to have, size=32, say",
    )
    return first


def _common_channels(headers: Sequence[Header], names: Sequence[str]) -> int:
    """Return the number of channels that all pictures have."""
    first = headers[0].channels
    differing = next((i for i, header in enumerate(headers) if header.channels != first), 0)
    require(
        differing == 0,
        "pictures have as many channels, or are brought to one number of them",
        f"{first} in {names[0]!r} and {headers[differing].channels} in {names[differing]!r}",
        "pass channels=3 for colours, or channels=1 for grey levels",
    )
    return first
