"""Locks of cells, between processes of one machine."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def lock(path: Path, *, wait: bool = True, needed: bool = True) -> Iterator[None]:
    """Hold the lock of one cell; the system releases it when the process ends or is killed.

    Where it is not needed, disks that have no locks go without.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BaseException as error:
            if needed or not (isinstance(error, OSError) and error.errno in _NO_LOCKS):
                os.close(descriptor)
                raise
        if _is_at(descriptor, path):
            break
        os.close(descriptor)  # the previous holder removed the file: open the new one
    try:
        yield
    finally:
        with suppress(OSError):  # a lock file that stays does no harm
            path.unlink()
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
