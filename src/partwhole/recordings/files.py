"""Recordings from files of NumPy, MATLAB, xarray, Parquet and text."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._delimited import read_numbers
from partwhole._door import door
from partwhole._reading import read_npy
from partwhole._tables import TABLES, TEXT, existing, parquet_table, read_table, readable, text_of
from partwhole.recordings import _containers as containers
from partwhole.recordings._labels import table_of
from partwhole.recordings.building import from_trials
from partwhole.recordings.recording import Recording

RESPONSES = (".npy", ".npz", ".mat", ".nc", ".parquet", *TEXT)
CONDITIONS = (*TABLES, ".mat", ".npy", ".npz")
# The name of an array stands behind that of a file.
NAMED = re.compile(r"(.*\.(?:npz|mat|nc)):(.+)", re.IGNORECASE | re.DOTALL)


@door
def read(
    responses: str | os.PathLike,
    conditions: str | os.PathLike,
    *,
    components: Sequence[str] | None = None,
    groups: Any = None,
    sessions: Any = None,
    times: str | os.PathLike | Float[np.ndarray, " t"] | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
    trial_axis: int = 0,
) -> Recording:
    """Return a recording of a file of responses and a file with a table of conditions.

    Both may be the same file of MATLAB. Files are never executed: pickled objects of Python are
    refused.

    Parameters
    ----------
    responses : path
        A .npy file; an array of a .npz, .mat or .nc file, named behind a colon
        (``session.mat:spikes``, or ``session.mat:data.spikes`` in a struct) unless a single one is
        a matrix; a table of numbers, .parquet, .csv or .tsv (also with .gz), with or without names
        in the first line, whose cells are separated by commas, semicolons, tabs, bars or spaces.
        Files of MATLAB's version 7.3 need the package h5py, those of xarray the package xarray.
    conditions : path
        A table with a row for each trial: .csv or .tsv with names in the first line, .jsonl (each
        also with .gz), or .parquet; columns of one length in a .mat file, in a struct or by
        themselves, or in a .npz file; a .npy file of shape (n,) or (n, C). Labels stay as they
        are: cell arrays of text, numbers, logicals.
    components, groups, sessions, missing, trial_axis : keyword-only
        As in `from_trials`.
    times : path or float array, shape (t,), keyword-only, optional
        Of the third axis of responses, or a file of them, as those of responses are; of .npz, .mat
        and .nc a named array. By default a coordinate of a .nc file, else the indices from 0.

    Returns
    -------
    Recording

    Raises
    ------
    InputError
        For files that are missing, empty, damaged, too large or of another kind; several arrays
        without a name; objects; text among responses or times; and what `from_trials` refuses.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "responses.npy", np.random.default_rng(0).normal(size=(4, 5)))
    >>> _ = (folder / "conditions.csv").write_text("shape;colour\\ndisc;red\\ndisc;blue\\nstar;red\\nstar;blue")
    >>> read(folder / "responses.npy", folder / "conditions.csv")
    Recording(4 trials of 5 neurons, 4 conditions: shape (2) x colour (2))
    """  # noqa: E501
    table = table_of(_conditions(*_located(conditions, "conditions", CONDITIONS)))
    array = _responses(*_located(responses, "responses", RESPONSES), len(table))
    is_file = isinstance(times, str | os.PathLike)
    numbers = _times(*_located(times, "times", RESPONSES)) if is_file else times
    return from_trials(
        array,
        table,
        components=components,
        groups=groups,
        sessions=sessions,
        times=numbers,
        missing=missing,
        trial_axis=trial_axis,
    )


def _located(
    file: str | os.PathLike, role: str, endings: tuple[str, ...]
) -> tuple[Path, str, str | None]:
    """Return an existing file, its ending without .gz, and the name behind a colon."""
    text, name = str(os.fspath(file)), None
    behind_colon = NAMED.fullmatch(text)
    if behind_colon and not os.path.lexists(text):
        text, name = behind_colon.groups()
    path = Path(text)
    ending = existing(path, f"the file of {role}", endings, f"{role} are in a file")
    return path, ending, name


def _responses(path: Path, ending: str, name: str | None, n_trials: int) -> Any:
    """Return an array of responses."""
    if ending in TEXT:
        array, doubtful = read_numbers(text_of(path), path.name, TEXT[ending])
        # A first line 0, 1, 2, ... is a header if it would be a trial too many.
        return array[1:] if doubtful and len(array) == n_trials + 1 else array
    if ending == ".npy":
        return readable(path, read_npy)
    if ending == ".parquet":
        return parquet_table(path)
    if ending == ".npz":
        arrays = containers.archive(path, name)
    else:
        arrays = containers.variables(path) if ending == ".mat" else containers.netcdf(path)
    if name is not None:
        return containers.named(arrays, name, path)
    return containers.single_matrix(arrays, path)


def _times(path: Path, ending: str, name: str | None) -> Any:
    """Return a number for each time."""
    require(
        name is not None or ending not in (".npz", ".mat", ".nc"),
        "times are a named array of a file of arrays",
        f"{path.name} without a name",
        f"write {path.name}:NAME",
    )
    return np.ravel(_responses(path, ending, name, 0))


def _conditions(path: Path, ending: str, name: str | None) -> Any:
    """Return what holds the labels."""
    if ending in TABLES:
        return read_table(path, ending)
    if ending == ".npy":
        return readable(path, read_npy)
    if ending == ".mat":
        return containers.matlab_columns(path, name)
    arrays = containers.archive(path, name)
    return (
        containers.columns(arrays, path) if name is None else containers.named(arrays, name, path)
    )
