"""Datasets from the arrays of cells, and from published numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from partwhole._checks import require
from partwhole.study.execution import Cells


def layout(
    cells: Cells,
    variables: Mapping[str, str],
    *,
    over: Sequence[str] = (),
    coords: Mapping[str, Iterable[Any]] | None = None,
    labels: Mapping[str, str] | None = None,
) -> xr.Dataset:
    """Combine the arrays of cells in one dataset, over the keys in which configurations differ.

    Parameters
    ----------
    cells : list of (configuration, arrays)
        As `gather` receives them.
    variables : mapping of str to str
        The dimensions of each array within its cell, separated by spaces: ``"learner salience"``,
        or ``""`` for a single number.
    over : sequence of str, default none
        Keys of the configurations that become dimensions, before those within a cell. An array has
        the dimensions whose keys are in the configurations of its cells. Coordinates are in the
        order of the cells; the number of a combination without a cell is NaN.
    coords : mapping, default none
        Coordinates of the dimensions within a cell.
    labels : mapping of str to str, default none
        Long name of a variable or coordinate, with its unit: the label of its axis in figures.

    Returns
    -------
    xarray.Dataset

    Raises
    ------
    InputError
        If an array has no entry in `variables`, a variable is in no cell, or two cells have the
        same coordinates.

    Examples
    --------
    >>> cells = [({"seed": s}, {"loss": np.array([1.0, s])}) for s in range(3)]
    >>> data = layout(cells, {"loss": "step"}, over=["seed"], coords={"step": [0, 10]})
    >>> data.loss.dims, data.loss.sel(seed=2, step=10).item()
    (('seed', 'step'), 2.0)
    """
    names = {name for _, arrays in cells for name in arrays}
    _require_same_names(names, variables)
    laid = {name: _laid(name, within.split(), over, cells) for name, within in variables.items()}
    # Variables may have different coordinates; the dataset has the union.
    data = xr.Dataset(laid, {name: list(values) for name, values in (coords or {}).items()})
    # In the order of the cells, not of the first variable.
    data = data.reindex({key: _values(key, cells) for key in over if key in data.dims})
    for name, label in (labels or {}).items():
        data[name].attrs["long_name"] = label
    return data


def _laid(name: str, within: list[str], over: Sequence[str], cells: Cells) -> xr.DataArray:
    entries = [(config, arrays[name]) for config, arrays in cells if name in arrays]
    keys = [key for key in over if key in entries[0][0]]
    coords = {key: _values(key, entries) for key in keys}
    shape = tuple(len(values) for values in coords.values())
    places = [tuple(coords[key].index(config[key]) for key in keys) for config, _ in entries]
    require(
        len(set(places)) == len(places),
        f"the cells of {name} differ in the keys of `over`",
        f"two that agree in {', '.join(keys) or 'no key at all'}",
        "name another key of their configurations in `over`",
    )
    stacked = np.stack([np.asarray(values) for _, values in entries])
    complete = len(places) == np.prod(shape, dtype=int)
    sizes = (*shape, *stacked.shape[1:])
    laid = np.empty(sizes, stacked.dtype) if complete else np.full(sizes, np.nan)
    for place, values in zip(places, stacked, strict=True):
        laid[place] = values
    return xr.DataArray(laid, coords=coords, dims=[*keys, *within])


def _values(key: str, cells: Iterable[tuple[Mapping[str, Any], Any]]) -> list[Any]:
    return list(dict.fromkeys(config[key] for config, _ in cells if key in config))


def _require_same_names(names: set[str], variables: Mapping[str, str]) -> None:
    extra = sorted(names - variables.keys())
    rule = "every array of a cell has its dimensions in `variables`"
    require(not extra, rule, f"none for {', '.join(extra)}", "add them")
    absent = sorted(variables.keys() - names)
    rule = "a variable is an array of a cell"
    require(not absent, rule, ", ".join(absent), f"the cells have {', '.join(sorted(names))}")


def published(study: str | Path, over: Sequence[str], **rows: Any) -> xr.Dataset:
    """Read a study's published numbers from the CSV file beside its module.

    Lines that begin with ``#`` are comments: the origin of the numbers and how they were read.

    Parameters
    ----------
    study : str or path
        The study's file, ``__file__``.
    over : sequence of str
        Columns that become dimensions, with their coordinates in the order of the file; the other
        columns are variables.
    **rows
        Select the rows in which a column has this value; the column is then dropped, and so are
        columns that are empty in all selected rows.

    Returns
    -------
    xarray.Dataset

    Raises
    ------
    InputError
        If the file is absent, lacks a column or a row, or has two rows with the same coordinates.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     rows = "# Table 1", "network, depth, slope", "conv, 1, .6", "conv, 2, .8", "lazy, 1, .4"
    ...     _ = Path(folder, "leak.csv").write_text("\\n".join(rows))
    ...     published(Path(folder, "leak.py"), ["depth"], network="conv").slope.values.tolist()
    [0.6, 0.8]
    """
    path = Path(study).with_suffix(".csv")
    rule = "published numbers are in a file beside the study"
    require(path.is_file(), rule, f"no {path}", "write it")
    frame = pd.read_csv(path, comment="#", skipinitialspace=True)
    absent = [name for name in [*over, *rows] if name not in frame]
    rule = "published numbers have the columns that the study reads"
    require(not absent, rule, f"{path} without {', '.join(absent)}", "add them")
    for name, value in rows.items():
        frame = frame.loc[frame[name] == value].drop(columns=name)
    rule = "published numbers have the rows that the study reads"
    require(len(frame) > 0, rule, f"{path} without {rows}", "add them")
    frame = frame.dropna(axis="columns", how="all").set_index(list(over))
    twice = frame.index[frame.index.duplicated()].tolist()
    rule = "published numbers have one row for each combination of coordinates"
    require(not twice, rule, f"{path} with {twice[:1]} twice", "remove one")
    order = {name: frame.index.unique(name).tolist() for name in over}
    return frame.to_xarray().reindex(order)
