"""Readers of files from any source: sizes are checked before memory is taken, damage is reported.

`read_npz`, `read_npy` and `read_whole` raise one error, `UnreadableError`, whose text describes the
file and stands after "got" in the caller's sentence.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import cast

import numpy as np

# Numbers, booleans and text, by NumPy's letters: no objects, no records, no times.
KINDS = "biufcUS"
_PIECE = 1 << 20
_HEADER = 4096
_MAGIC = re.compile(rb"\x93NUMPY([\x01-\x03])\x00", re.DOTALL)
_DESCRIBED = re.compile(
    rf"\{{\s*'descr':\s*'([<>|=]?[{KINDS}][1-9]\d{{0,8}})',\s*'fortran_order':\s*(True|False),"
    r"\s*'shape':\s*\(((?:\d{1,19}L?,\s?)*(?:\d{1,19}L?)?)\),?\s*\}\s*",
    re.ASCII,
)
# Deflate makes at most 1032 bytes of one.
_DEFLATE = 1032


class UnreadableError(ValueError):
    """A file that is damaged, too large or of another kind; the text says which."""


def npz_names(file: Path | io.BufferedIOBase) -> tuple[str, ...]:
    """Return the names of an archive's arrays, in its order.

    Parameters
    ----------
    file : Path or binary file

    Returns
    -------
    tuple of str

    Raises
    ------
    UnreadableError
        For anything but an archive.
    """
    with _opened(file) as raw, zipfile.ZipFile(_Bounded(raw)) as archive:
        return tuple(member.filename.removesuffix(".npy") for member in archive.infolist())


def read_npz(
    file: Path | io.BufferedIOBase,
    *,
    limit: int | None = None,
    names: Collection[str] | None = None,
) -> dict[str, np.ndarray]:
    """Read the arrays of an .npz archive.

    Parameters
    ----------
    file : Path or binary file
        The archive; an open file is left open.
    limit : int, default None
        Largest size of the unpacked archive, in bytes; None is the size of the file, which an
        archive that is not compressed never exceeds.
    names : collection of str, default None
        The arrays to read, None for all; what else is in the archive is not looked at.

    Returns
    -------
    dict of str to numpy.ndarray
        In the order of the archive.

    Raises
    ------
    UnreadableError
        For anything but an archive of arrays of numbers, booleans and text.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> np.savez(file, y=np.arange(3))
    >>> read_npz(file)
    {'y': array([0, 1, 2])}
    >>> np.savez_compressed(file, y=np.zeros(10**6))
    >>> read_npz(file, limit=10**6)
    Traceback (most recent call last):
    ...
    partwhole._reading.UnreadableError: 8,000,128 bytes unpacked, of at most 1,000,000
    """
    arrays: dict[str, np.ndarray] = {}
    with _opened(file) as raw, zipfile.ZipFile(_Bounded(raw)) as archive:
        size = raw.seek(0, os.SEEK_END)
        members = [
            member for member in archive.infolist()
            if names is None or member.filename.removesuffix(".npy") in names
        ]  # fmt: skip
        unpacked = sum(member.file_size for member in members)
        _require_at_most(unpacked, size if limit is None else limit)
        for member in members:
            packed, whole = member.compress_size, member.file_size
            name = member.filename.removesuffix(".npy")
            if name == member.filename or name in arrays:
                raise UnreadableError(f"an archive with a member {member.filename[:60]!r}")
            stored = member.compress_type == zipfile.ZIP_STORED
            if not stored and member.compress_type != zipfile.ZIP_DEFLATED:
                raise UnreadableError(f"an archive packed by method {member.compress_type}")
            if packed > size or whole > (packed if stored else _DEFLATE * packed):
                raise UnreadableError("a damaged archive, whose sizes contradict each other")
            with cast(io.BufferedIOBase, archive.open(member)) as inner:
                arrays[name] = _array(inner, whole)
    return arrays


def read_npy(file: Path | io.BufferedIOBase, *, limit: int | None = None) -> np.ndarray:
    """Read the array of an .npy file.

    Parameters
    ----------
    file : Path or binary file
    limit : int, default None
        Largest size of the file in bytes; None is no limit.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    UnreadableError
        For anything but one array of numbers, booleans or text.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(3))
    >>> read_npy(file)
    array([0, 1, 2])
    """
    with _opened(file) as raw:
        size = raw.seek(0, os.SEEK_END)
        if limit is not None:
            _require_at_most(size, limit)
        raw.seek(0)
        return _array(raw, size)


def read_whole(path: Path, *, limit: int) -> bytes:
    """Read the bytes of a file, unpacked if its name ends in .gz.

    Parameters
    ----------
    path : Path
    limit : int
        Largest size of the unpacked file, in bytes.

    Returns
    -------
    bytes

    Raises
    ------
    UnreadableError
        For a larger file, a damaged gzip file, and one that can't be read.
    """
    with _opened(path) as raw:
        if path.suffix.lower() != ".gz":
            _require_at_most(os.fstat(raw.fileno()).st_size, limit)
            return _pieces(raw, limit)
        with gzip.GzipFile(fileobj=raw) as inner:
            return _pieces(inner, limit)


def _pieces(file: io.BufferedIOBase, limit: int) -> bytes:
    pieces, size = [], 0
    while piece := file.read(_PIECE):
        size += len(piece)
        if size > limit:
            raise UnreadableError(f"more than {limit:,} bytes unpacked")
        pieces.append(piece)
    return b"".join(pieces)


def _require_at_most(size: int, limit: int) -> None:
    if size > limit:
        raise UnreadableError(f"{size:,} bytes unpacked, of at most {limit:,}")


@contextmanager
def _opened(file: Path | io.BufferedIOBase) -> Iterator[io.BufferedIOBase]:
    """Open a plain file, and turn every error that its bytes cause into one class of error."""
    try:
        if not isinstance(file, Path):
            yield file
            return
        # A pipe could keep its reader waiting for ever.
        if not file.is_file():
            raise UnreadableError(_kind_of_path(file))
        with file.open("rb") as raw:
            yield raw
    except UnreadableError:
        raise
    except MemoryError as error:
        raise UnreadableError("more than memory can hold") from error
    except Exception as error:  # damaged bytes can cause any error
        denied = isinstance(error, PermissionError)
        text = "a file that may not be read" if denied else "a damaged file or one of another kind"
        raise UnreadableError(text) from error


class _Bounded(io.RawIOBase):
    """A file that is read in bounded pieces; `zipfile` reads a directory of any size at once."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._file = file

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        if size is not None and size > _PIECE:
            raise UnreadableError("an archive of too many members")
        return self._file.read(_PIECE if size is None or size < 0 else size)


def _array(file: io.BufferedIOBase, size: int) -> np.ndarray:
    """Read an array of .npy format, whose header and entries take `size` bytes."""
    magic = _MAGIC.fullmatch(file.read(8))
    if magic is None:
        raise UnreadableError("no array")
    wide = 2 if magic[1] == b"\x01" else 4
    length = int.from_bytes(file.read(wide), "little")
    if length > _HEADER:
        raise UnreadableError(f"an array with a header of {length:,} bytes")
    header = _DESCRIBED.fullmatch(file.read(length).decode("latin1"))
    if header is None:
        raise UnreadableError("an array that is not of numbers, booleans or text")
    dtype = np.dtype(header[1])
    shape = tuple(int(length) for length in re.findall(r"\d+", header[3]))
    count = prod(shape)
    if count * dtype.itemsize != size - 8 - wide - length:
        raise UnreadableError("an array whose number of entries is not that of its shape")
    flat = np.empty(count, dtype)
    room = memoryview(flat.view(np.uint8))  # pyright: ignore[reportArgumentType]
    while len(room):
        piece = file.read(min(len(room), _PIECE))
        if not piece:
            raise UnreadableError("an array that ends early")
        room[: len(piece)] = piece
        room = room[len(piece) :]
    if dtype.kind == "b" and count and flat.view(np.uint8).max() > 1:
        raise UnreadableError("booleans that are neither true nor false")
    if dtype.kind == "U" and count and flat.view(f"{dtype.byteorder}u4").max() > 0x10FFFF:
        raise UnreadableError("text with code points beyond Unicode")
    return flat.reshape(shape, order="F" if header[2] == "True" else "C")


def _kind_of_path(path: Path) -> str:
    """Return what is at a path that is no plain file."""
    return "a folder" if path.is_dir() else "no plain file" if path.exists() else "no file"
