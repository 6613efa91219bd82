"""Variables of MATLAB's files, of version 7 and before and of version 7.3.

A variable is an array with MATLAB's axes, an array of labels (a cell array, or text by rows), a
mapping (a struct, or columns of an array of structs), or an `Opaque`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from partwhole._checks import InputError, require

Variables = dict[str, Any]
MAX_DEPTH = 16
HDF5 = b"\x89HDF\r\n\x1a\n"  # how such a file begins, before or after MATLAB's own 512 bytes


@dataclass(frozen=True)
class Opaque:
    """A variable that MATLAB alone can read, such as a table or a string array.

    Parameters
    ----------
    kind : str
        MATLAB's class, or "object" where the file does not say.
    """

    kind: str


def read_mat(path: Path) -> Variables:
    """Return the variables of a file, by name."""
    from scipy.io import loadmat

    try:
        with path.open("rb") as file:
            start = file.read(520)
        if HDF5 in (start[:8], start[512:]):
            return _read_hdf5(path)
        loaded = loadmat(path, appendmat=False)
    except InputError:
        raise
    except Exception as error:  # damaged bytes can cause any error
        raise _not_mat(path) from error
    # A variable without a name is what SciPy makes of an object.
    return {str(name): _variable(value) for name, value in loaded.items() if str(name)[:2] != "__"}


def _not_mat(path: Path) -> InputError:
    return InputError(
        "a .mat file holds variables that MATLAB saved; got a damaged file or one of another kind, "
        f"{path.name!r}; save it again"
    )


def _variable(value: Any, depth: int = 0) -> Any:
    from scipy.io.matlab import MatlabFunction, MatlabObject, MatlabOpaque

    if isinstance(value, MatlabOpaque | MatlabFunction | MatlabObject) or depth > MAX_DEPTH:
        return Opaque("object")
    if hasattr(value, "toarray"):  # a sparse matrix
        return value.toarray()
    value = np.asarray(value)
    if value.dtype.names is not None:
        if value.size == 1:
            record = value.reshape(-1)[0]
            return {name: _variable(record[name], depth + 1) for name in value.dtype.names}
        return {
            name: _cells([_variable(entry, depth + 1) for entry in value[name].reshape(-1)])
            for name in value.dtype.names
        }
    if value.dtype == object:
        entries = [_variable(entry, depth + 1) for entry in value.reshape(-1)]
        return _cells(entries).reshape(value.shape)
    if value.dtype.kind == "U":
        return np.char.rstrip(value)
    return value


def _cells(entries: list[Any]) -> np.ndarray:
    """Return the contents of cells: single entries as they are, None for empty ones."""
    cells = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        if isinstance(entry, np.ndarray) and entry.size < 2:
            cells[place] = next(iter(entry.reshape(-1).tolist()), None)
        else:
            cells[place] = entry
    return cells


def _read_hdf5(path: Path) -> Variables:
    require(
        find_spec("h5py") is not None,
        ".mat files of version 7.3 are read with the package h5py",
        f"an installation without it, and {path.name!r}",
        "install h5py, or save with the option -v7 in MATLAB",
    )
    import h5py  # pyright: ignore[reportMissingImports]

    file: Any
    try:
        with h5py.File(path, "r") as file:
            return {name: _of_hdf5(file[name], file.__getitem__) for name in file if name[0] != "#"}
    except InputError:
        raise
    except Exception as error:  # damaged bytes can cause any error
        raise _not_mat(path) from error


def _of_hdf5(item: Any, follow: Callable[[Any], Any], depth: int = 0) -> Any:
    """Return a dataset or group as a variable. The axes of datasets are MATLAB's, reversed."""
    attributes = item.attrs
    kind = attributes.get("MATLAB_class", b"")
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    if "MATLAB_object_decode" in attributes or depth > MAX_DEPTH:
        return Opaque(kind or "object")
    if not hasattr(item, "dtype"):  # a group
        if "MATLAB_sparse" in attributes:
            return _sparse(item, int(attributes["MATLAB_sparse"]))
        return {name: _of_hdf5(item[name], follow, depth + 1) for name in _fields(item)}
    data = np.asarray(item[()])
    if attributes.get("MATLAB_empty", 0):
        shape = tuple(int(length) for length in data.reshape(-1))
        return np.empty(shape, dtype=object) if kind == "cell" else np.empty(shape)
    data = data.T if kind else data  # MATLAB names a class in all that it writes
    if data.dtype == object:  # references: a cell array, or a field of an array of structs
        entries = [_of_hdf5(follow(entry), follow, depth + 1) for entry in data.reshape(-1)]
        return _cells(entries).reshape(data.shape)
    if kind == "char":
        return np.array(["".join(map(chr, row)).rstrip() for row in data.reshape(len(data), -1)])
    if data.dtype.names == ("real", "imag"):
        return data["real"] + 1j * data["imag"]
    return data


def _fields(group: Any) -> list[str]:
    """Return the names of a struct's fields, in MATLAB's order if the file has it."""
    stored = sorted(group)
    letters = group.attrs.get("MATLAB_fields", ())
    ordered = [b"".join(np.asarray(word, dtype="S1").tolist()).decode() for word in letters]
    return ordered if sorted(ordered) == stored else stored


def _sparse(group: Any, n_rows: int) -> np.ndarray:
    """Return a sparse matrix, which is stored by columns, as a full one."""
    from scipy.sparse import csc_array

    starts = np.asarray(group["jc"][()]).astype(np.int64)
    if "data" not in group:  # without entries
        return np.zeros((n_rows, len(starts) - 1))
    parts = (np.asarray(group["data"][()]), np.asarray(group["ir"][()]).astype(np.int64), starts)
    return csc_array(parts, shape=(n_rows, len(starts) - 1)).toarray()
