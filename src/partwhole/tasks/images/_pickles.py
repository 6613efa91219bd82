"""Reading a pickle of plain data and arrays without executing anything that it names.

A pickle may name any function and have it called. Here the names that arrays need
stand for inert classes of our own, which keep what they are given; any other is refused.
"""

from __future__ import annotations

import io
import pickle
from math import prod
from typing import Any

import numpy as np


class PickleRefusedError(Exception):
    """A pickle that is damaged, or names what is not plain data."""


class _Type:
    """Stand for an array's type."""

    def __init__(self, name: Any = None, *_: object) -> None:
        self.name = name

    def __setstate__(self, state: object) -> None:
        """Byte order and the like say nothing of single bytes."""


class _Array:
    """Stand for an array, until its state is here."""

    values: np.ndarray

    def __setstate__(self, state: tuple) -> None:
        _, shape, kind, by_columns, held = state
        if not isinstance(kind, _Type) or kind.name not in ("u1", b"u1", "uint8", b"uint8"):
            raise PickleRefusedError("an array that is not of bytes")
        if not isinstance(held, bytes) or len(held) != prod(shape):
            raise PickleRefusedError("an array whose entries are not as many as its shape says")
        self.values = np.frombuffer(held, dtype=np.uint8).reshape(
            shape, order="F" if by_columns else "C"
        )


def _bytes(text: str, encoding: str = "latin1") -> bytes:
    """Return bytes that an old protocol wrote as text."""
    if encoding not in ("latin1", "latin-1"):
        raise PickleRefusedError(f"text in {encoding}")
    return text.encode("latin1")


class _Reader(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        match module_name, global_name:
            # Functions are made anew each time, since a pickle may set attributes of what it names.
            case (("numpy.core.multiarray" | "numpy._core.multiarray"), "_reconstruct"):
                return lambda *_: _Array()
            case "_codecs", "encode":
                return lambda text, encoding="latin1": _bytes(text, encoding)
            case "numpy", "ndarray":
                return _Array
            case "numpy", "dtype":
                return _Type
        raise PickleRefusedError(f"the name {module_name}.{global_name}")


def read_pickle(held: bytes) -> dict[str, Any]:
    """Return the entries of a pickled dictionary: plain data, and arrays of bytes.

    Raises
    ------
    PickleRefusedError
        For anything else, with what it is.
    """
    try:
        found = _Reader(io.BytesIO(held), encoding="bytes").load()
    except PickleRefusedError:
        raise
    except Exception as error:  # a damaged pickle raises whatever its bytes lead to
        raise PickleRefusedError(f"{type(error).__name__}: {error}") from error
    if not isinstance(found, dict):
        raise PickleRefusedError(f"a {type(found).__name__}")
    return {
        (key.decode("latin1") if isinstance(key, bytes) else str(key)): (
            value.values if isinstance(value, _Array) and hasattr(value, "values") else value
        )
        for key, value in found.items()
    }
