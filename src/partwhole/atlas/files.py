"""Files of published benchmarks: text by lines, large JSON by parts, plain pickles of lists."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from partwhole._checks import InputError, require

PIECE = 1 << 20
# Torch writes this number before the objects of its older format.
MAGIC = 0x1950A86A20F9469CFC6C
_SPACE = " \t\r\n"
_OF_NUMBERS = "0123456789+-.eE"


def walk(folder: Path) -> tuple[Path, ...]:
    """Return all files of a folder and its subfolders, in alphabetical order."""
    require(
        folder.is_dir(),
        "an atlas is made of a folder with published benchmarks",
        folder,
        "name a folder that exists",
    )
    paths, visited = [], set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        folders.sort()
        real = os.path.realpath(parent)
        if real in visited:  # a link to a folder above it, or to one that was seen
            folders.clear()
            continue
        visited.add(real)
        paths += [Path(parent, name) for name in sorted(names)]
    return tuple(paths)


def named(files: Sequence[Path], *names: str) -> Iterator[Path]:
    """Yield the files with one of these names; a star stands for any characters."""
    for path in files:
        if any(path.match(name) for name in names):
            yield path


def first_line(path: Path) -> str:
    """Return the first line of a file, empty if it can't be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline(PIECE).strip()
    except OSError:
        return ""


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file that are not blank, with their numbers from 1."""
    try:
        with path.open(encoding="utf-8") as file:
            for i, line in enumerate(file, 1):
                if line.strip():
                    yield i, line.rstrip("\r\n")
    except UnicodeDecodeError:
        raise InputError(
            f"{path.name} is text in UTF-8; got other bytes; unpack it or save it as text"
        ) from None


def json_items(path: Path, *keys: str) -> Iterator[tuple[str, Any]]:
    """Yield the entries of arrays in a JSON file without reading the whole of it.

    Parameters
    ----------
    path : Path
        The file is an array, or an object with arrays under the keys.
    *keys : str
        The way to the arrays: the key of one array, or of an object that has several.

    Yields
    ------
    (str, entry)
        The key of the array, empty if the file is an array, and the next of its entries.

    Raises
    ------
    InputError
        If the file is not JSON.
    """
    with path.open(encoding="utf-8") as file:
        try:
            yield from _descend(_Json(file), list(keys), "")
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise InputError(
                f"{path.name} is JSON; got other text, or a part of it; unpack or copy it again"
            ) from None


class _Json:
    """A position in JSON text, of which a piece at a time is in memory."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.text, self.at = file, "", 0
        self.decoder = json.JSONDecoder()

    def more(self) -> bool:
        """Read on; return whether there was more."""
        piece = self.file.read(max(PIECE, len(self.text) - self.at))
        self.text, self.at = self.text[self.at :] + piece, 0
        return bool(piece)

    def peek(self) -> str:
        """Return the next sign that is not a space, empty at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _SPACE:
                self.at += 1
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]

    def take(self, signs: str) -> str:
        """Move behind the next sign, which is one of these."""
        sign = self.peek()
        if not sign or sign not in signs:
            raise json.JSONDecodeError("another sign", self.text, self.at)
        self.at += 1
        return sign

    def value(self) -> Any:
        """Return the next value."""
        self.peek()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text, self.at)
            except json.JSONDecodeError:
                if not self.more():
                    raise
                continue
            # A number may go on in the next piece.
            rest = self.text[end : end + 1]
            is_cut = isinstance(value, int | float) and (not rest or rest in _OF_NUMBERS)
            if is_cut and self.more():
                continue
            self.at = end
            return value


def _descend(reader: _Json, keys: list[str], key: str) -> Iterator[tuple[str, Any]]:
    if reader.peek() == "[":
        reader.take("[")
        while reader.peek() != "]":
            yield key, reader.value()
            if reader.peek() != "]":
                reader.take(",")
        reader.take("]")
        return
    reader.take("{")
    while reader.peek() != "}":
        key = reader.value()
        reader.take(":")
        is_asked = not keys or key == keys[0]
        if is_asked and reader.peek() in "[{":
            yield from _descend(reader, keys[1:], key)
        else:
            reader.value()
        if reader.peek() != "}":
            reader.take(",")
    reader.take("}")


class _PlainUnpickler(pickle.Unpickler):
    """A reader of pickled lists, dicts, text and numbers, which runs nothing."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        raise pickle.UnpicklingError(f"an object of {module_name}.{global_name}")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("a tensor")


def read_pickle(path: Path) -> Any:
    """Return the lists and dicts in a file that ``torch.save`` or ``pickle.dump`` wrote.

    Raises
    ------
    InputError
        If the file holds objects of any class, which it could make do anything.
    """
    rule = f"{path.name} holds plain lists, dicts and text, written by torch.save"
    remedy = "use the lists of pairs beside it"
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                member = next(n for n in archive.namelist() if n.endswith("data.pkl"))
                with archive.open(member) as file:
                    return _PlainUnpickler(file).load()
        with path.open("rb") as file:
            value = _PlainUnpickler(file).load()
            if value == MAGIC:
                for _ in ("protocol", "system"):
                    _PlainUnpickler(file).load()
                value = _PlainUnpickler(file).load()
            return value
    except pickle.UnpicklingError as error:
        raise InputError(f"{rule}; got {error}; {remedy}") from None
    except (StopIteration, EOFError, zipfile.BadZipFile, ValueError, IndexError, KeyError):
        raise InputError(f"{rule}; got something else; {remedy}") from None
