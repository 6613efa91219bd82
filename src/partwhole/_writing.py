"""Files that are written whole or not at all, and are on the disk when the call returns."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np

_REMEDIES = {
    errno.ENOENT: "make its folder",
    errno.ENOSPC: "free space on its disk",
    errno.EDQUOT: "free space, or ask for more",
    errno.EACCES: "name a folder that may be written to",
    errno.EPERM: "name a folder that may be written to",
    errno.EROFS: "name a folder that may be written to",
}


class WriteError(OSError):
    """A file that could not be written, with the cause and the remedy; nothing is half-written."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn a failure of the system into one sentence that names the file or folder.

    Raises
    ------
    WriteError
        In place of any other `OSError`.
    """
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "check its disk")
        failure = WriteError(
            f"a result is written whole or not at all; got {error.strerror or error} at {path}; "
            f"{remedy} and try again"
        )
        failure.errno = error.errno
        raise failure from error


def write_all(files: Mapping[Path, bytes]) -> None:
    """Write files whole: all under temporary names first, then renamed.

    A file that is replaced keeps its permissions, and a link stays a link. Temporary files of an
    earlier attempt, whose process was killed, are removed.

    Parameters
    ----------
    files : mapping of Path to bytes
        The bytes of each file; the folders exist.

    Raises
    ------
    WriteError
        When one can't be written; the files are replaced only after all have been written.
    """
    waiting: list[tuple[Path, Path, BinaryIO]] = []
    try:
        for path, content in files.items():
            with naming(path):
                place = path.resolve()
                _sweep(place)
                temporary, file = _temporary(place)
                waiting.append((temporary, place, file))
                if place.exists():
                    os.chmod(temporary, place.stat().st_mode & 0o777)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for temporary, place, file in list(waiting):
            with naming(place):
                os.replace(temporary, place)
                del waiting[0]
                file.close()
                sync(place.parent)
    finally:
        for temporary, _, file in waiting:
            with suppress(OSError):
                temporary.unlink()
            with suppress(OSError):
                file.close()


def npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return arrays as the bytes of an .npz archive, which is not compressed.

    Examples
    --------
    >>> from partwhole._reading import read_npz
    >>> read_npz(io.BytesIO(npz({"file": np.arange(3)})))
    {'file': array([0, 1, 2])}
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return file.getvalue()


def sync(folder: Path) -> None:
    """Make the names in a folder survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary(place: Path) -> tuple[Path, BinaryIO]:
    """Open a new file beside another, locked for as long as it is open."""
    while True:
        path = place.with_name(f".{place.name[:40]}.{secrets.token_hex(4)}.partial")
        file = path.open("xb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Before it was locked another process may have removed it as a leftover.
            if path.exists():
                return path, file
        except BaseException:
            path.unlink(missing_ok=True)
            file.close()
            raise
        file.close()


def _sweep(place: Path) -> None:
    """Remove temporary files beside another whose process has ended."""
    start = f".{place.name[:40]}."
    for name in os.listdir(place.parent):
        if not (name.startswith(start) and name.endswith(".partial")):
            continue
        path = place.with_name(name)
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
