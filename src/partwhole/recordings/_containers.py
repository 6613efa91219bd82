"""Files of several arrays: archives of NumPy, MATLAB's files and NetCDF files."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from partwhole._checks import InputError, require
from partwhole._reading import UnreadableError, npz_names, read_npz
from partwhole._tables import readable
from partwhole.recordings._labels import series_of
from partwhole.recordings._matlab import Opaque, read_mat

MOST_UNPACKED = 1 << 36  # bytes of an archive
LISTED = 12  # names in a sentence


def archive(path: Path, name: str | None) -> dict[str, Any]:
    """Return the named array of an archive, or all that hold no objects."""
    names = readable(path, npz_names)
    chosen = [name] if name is not None and name in names else [*names]
    if len(chosen) == 1:
        return readable(path, read_npz, limit=MOST_UNPACKED, names=chosen)
    arrays: dict[str, Any] = {}
    for member in chosen:
        try:
            arrays |= read_npz(path, limit=MOST_UNPACKED, names=[member])
        except UnreadableError as error:
            arrays[member] = Opaque(str(error))
    return arrays


def variables(path: Path) -> dict[str, Any]:
    """Return MATLAB's variables, those in structs by the names of struct and field."""
    return flat(read_mat(path))


def flat(tree: Mapping[str, Any], lead: str = "") -> dict[str, Any]:
    """Return the leaves of a tree of mappings, with dots between names."""
    leaves: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            leaves |= flat(value, f"{lead}{name}.")
        else:
            leaves[lead + name] = value
    return leaves


def netcdf(path: Path) -> dict[str, Any]:
    """Return the arrays of a NetCDF file, with their coordinates."""
    require(
        find_spec("xarray") is not None,
        ".nc files are read with the package xarray",
        f"an installation without it, and {path.name!r}",
        "install xarray, or save an .npy file",
    )
    import xarray as xr

    try:
        with xr.open_dataset(path) as dataset:
            return {str(name): array.load() for name, array in dataset.data_vars.items()}
    except Exception as error:  # damaged bytes can cause any error
        text = " ".join(str(error).split())
        raise InputError(
            f"a .nc file is one that xarray can read; got {text[:80]!r} from {path.name!r}; "
            "install h5netcdf for NetCDF of version 4, or save an .npy file"
        ) from error


def single_matrix(arrays: Mapping[str, Any], path: Path) -> Any:
    """Return the only matrix of numbers among arrays, or the only array."""
    matrices = {name: value for name, value in arrays.items() if _is_matrix(value)}
    if len(arrays) == 1 and not matrices:
        matrices = dict(arrays)
    require(
        len(matrices) == 1,
        "a file holds a single matrix of numbers, or one is named",
        f"{_listed(arrays)} in {path.name!r}",
        f"name it, as in {path.name}:{next(iter(matrices or arrays), 'responses')}",
    )
    ((name, matrix),) = matrices.items()
    _require_array(matrix, name)
    return matrix


def named(arrays: Mapping[str, Any], name: str, path: Path) -> Any:
    """Return the array of a name."""
    require(
        name in arrays,
        "the name behind the colon is that of an array of the file",
        f"{name!r}, of {_listed(arrays)} in {path.name!r}",
        "choose one of these",
    )
    _require_array(arrays[name], name)
    return arrays[name]


def columns(arrays: Mapping[str, Any], path: Path) -> Any:
    """Return the columns of labels among arrays, which have one length, or the only array."""
    for name, value in arrays.items():
        _require_array(value, name)
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    several = {name: value for name, value in arrays.items() if np.size(value) > 1}
    series = {name: series_of(value) for name, value in several.items() if np.ndim(value) < 3}
    vectors = {name: column for name, column in series.items() if column is not None}
    require(
        len({len(column) for column in vectors.values()}) == 1,
        "columns of conditions have one length",
        f"{_listed(arrays)} in {path.name!r}",
        "put them in a struct, or name an array behind a colon",
    )
    return vectors


def matlab_columns(path: Path, name: str | None) -> Any:
    """Return the labels of a file of MATLAB: its only struct, the named, or all its columns."""
    tree: Any = read_mat(path)
    if name is None:
        structs = [value for value in tree.values() if isinstance(value, Mapping)]
        return columns(flat(structs[0] if len(structs) == 1 else tree), path)
    inside = tree
    for part in name.split("."):
        inside = inside.get(part) if isinstance(inside, Mapping) else None
    if isinstance(inside, Mapping):
        return columns(flat(inside), path)
    return named(flat(tree), name, path)


def _is_matrix(value: Any) -> bool:
    shape, kind = np.shape(value), getattr(getattr(value, "dtype", None), "kind", "")
    return len(shape) in (2, 3) and sum(length > 1 for length in shape) > 1 and kind in "iufc"


def _listed(arrays: Mapping[str, Any]) -> str:
    words = [
        f"{name} ({value.kind})"
        if isinstance(value, Opaque)
        else f"{name} ({' x '.join(map(str, np.shape(value))) or 'a number'})"
        for name, value in list(arrays.items())[:LISTED]
    ]
    more = [f"{len(arrays) - LISTED} more"] * (len(arrays) > LISTED)
    return ", ".join([*words, *more]) or "none"


def _require_array(value: Any, name: str) -> None:
    require(
        not isinstance(value, Opaque),
        "a variable is an array, a cell array or a struct",
        f"{name!r}, of the kind {getattr(value, 'kind', '')}",
        "in MATLAB save table2struct(t, 'ToScalar', true), cellstr(s) or double(x) in its place, "
        "or name another variable behind a colon",
    )
