"""Reading a pickle of plain data and arrays without executing anything that it names.

Python's own reader calls what a pickle names, and hashes whatever it takes for a key, which nested
tuples can make endless. Here the operations that plain data and arrays of bytes need are carried
out one by one; keys are text, and any other name or operation is refused.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

# Constants: what they stand for is their argument.
_VALUES = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
    "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
}  # fmt: skip
# Text of Python 2, which may be bytes.
_TEXTS = {"STRING", "BINSTRING", "SHORT_BINSTRING"}
_NOTHING = {"PROTO", "FRAME"}
_MAKERS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_MARK = object()


class PickleRefusedError(Exception):
    """Pickle that is damaged, or contains other objects than plain data."""


class _Name:
    """Placeholder of a function or class that arrays need."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Type:
    """Placeholder of an array's type."""

    def __init__(self, name: Any) -> None:
        self.name = name


class _Array:
    """Placeholder of an array until its state is read."""

    values: np.ndarray | None = None


_NAMES = {
    ("numpy.core.multiarray", "_reconstruct"): "array",
    ("numpy._core.multiarray", "_reconstruct"): "array",
    ("_codecs", "encode"): "bytes",
    ("numpy", "ndarray"): "ndarray",
    ("numpy", "dtype"): "type",
}


def read_pickle(data: bytes) -> dict[str, Any]:
    """Return the entries of a pickled dictionary: plain data, and arrays of bytes.

    Raises
    ------
    PickleRefusedError
        For anything else, with what it is.
    """
    try:
        entries = _carried_out(data)
    except PickleRefusedError:
        raise
    except Exception as error:  # a damaged pickle leads to whatever its bytes make of it
        raise PickleRefusedError("a damaged pickle") from error
    if not isinstance(entries, dict):
        raise PickleRefusedError(f"a {type(entries).__name__}")
    return {
        key: value.values if isinstance(value, _Array) else value for key, value in entries.items()
    }


def _carried_out(data: bytes) -> Any:
    stack: list[Any] = []
    memo: dict[int, Any] = {}

    def marked() -> list[Any]:
        """Remove and return the items above the last mark."""
        at = len(stack) - 1
        while stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise PickleRefusedError("a damaged pickle")
        marked_items = stack[at + 1 :]
        del stack[at:]
        return marked_items

    operation: Any
    argument: Any
    for operation, argument, _ in pickletools.genops(io.BytesIO(data)):
        name = operation.name
        if name in _VALUES:
            stack.append(argument)
        elif name in _TEXTS:
            stack.append(argument.encode("latin1"))
        elif name in _MAKERS:
            stack.append(_MAKERS[name]())
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name == "MARK":
            stack.append(_MARK)
        elif name == "POP":
            stack.pop()
        elif name in _TUPLES:
            at = len(stack) - _TUPLES[name]
            stack[at:] = [tuple(stack[at:])]
        elif name == "TUPLE":
            stack.append(tuple(marked()))
        elif name == "LIST":
            stack.append(marked())
        elif name in ("APPEND", "APPENDS"):
            items = [stack.pop()] if name == "APPEND" else marked()
            _of(stack[-1], list).extend(items)
        elif name == "DICT":
            stack.append(_entries(marked()))
        elif name in ("SETITEM", "SETITEMS"):
            items = [stack.pop(-2), stack.pop()] if name == "SETITEM" else marked()
            _of(stack[-1], dict).update(_entries(items))
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            if name == "GLOBAL":
                global_name = tuple(argument.split(" ", 1))
            else:
                global_name = _of(stack.pop(-2), str), _of(stack.pop(), str)
            if global_name not in _NAMES:
                raise PickleRefusedError(f"the name {'.'.join(global_name)}")
            stack.append(_Name(_NAMES[global_name]))
        elif name == "REDUCE":
            arguments = stack.pop()
            stack.append(_called(_of(stack.pop(), _Name).name, _of(arguments, tuple)))
        elif name == "BUILD":
            state = stack.pop()
            _built(stack[-1], _of(state, tuple))
        elif name == "STOP":
            return stack.pop()
        elif name not in _NOTHING:
            raise PickleRefusedError(f"the operation {name}")
    raise PickleRefusedError("a damaged pickle")


def _of(value: Any, kind: type) -> Any:
    """Return a value if it has exactly this type; raise otherwise."""
    if type(value) is not kind:
        raise PickleRefusedError(f"a {type(value).__name__} in place of a {kind.__name__}")
    return value


def _entries(items: list[Any]) -> dict[str, Any]:
    entries = {}
    for key, value in zip(items[::2], items[1::2], strict=True):
        entries[key.decode("latin1") if type(key) is bytes else _of(key, str)] = value
    return entries


def _called(name: str, arguments: tuple[Any, ...]) -> Any:
    if name == "array":
        return _Array()
    if name == "type":
        return _Type(arguments[0])
    if name == "bytes":
        text, encoding = arguments if len(arguments) == 2 else (*arguments, "latin1")
        encoding = encoding.decode("latin1") if type(encoding) is bytes else encoding
        if encoding not in ("latin1", "latin-1"):
            raise PickleRefusedError("text in another encoding than Latin-1")
        return _of(text, str).encode("latin1")
    raise PickleRefusedError(f"a call of {name}")


def _built(target: Any, state: tuple[Any, ...]) -> None:
    if type(target) is _Type:
        return  # byte order and the like say nothing of single bytes
    _, shape, kind, by_columns, data = state
    if type(kind) is not _Type or kind.name not in ("u1", b"u1", "uint8", b"uint8"):
        raise PickleRefusedError("an array that is not of bytes")
    sizes = [_of(size, int) for size in _of(shape, tuple)]
    if len(sizes) > 4 or not all(0 <= size <= len(data) for size in sizes):
        raise PickleRefusedError("an array whose entries are not as many as its shape says")
    if type(data) is not bytes or len(data) != prod(sizes):
        raise PickleRefusedError("an array whose entries are not as many as its shape says")
    _of(target, _Array).values = np.frombuffer(data, dtype=np.uint8).reshape(
        sizes, order="F" if by_columns else "C"
    )
