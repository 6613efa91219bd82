"""Lay the arrays of cells, and published numbers, out as one dataset."""

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
    """Lay the arrays of cells out over what their configurations differ in.

    Parameters
    ----------
    cells : list of (configuration, arrays)
        As `gather` receives them.
    variables : mapping of str to str
        The dimensions of each array within its cell, parted by spaces: ``"learner salience"``, or
        ``""`` for a single number.
    over : sequence of str, default none
        Keys of the configurations that become dimensions, before those within a cell. An array has
        those of them that the configurations of its cells have. Their coordinates are in the order
        in which the cells name them; where a combination has no cell, the number is NaN.
    coords : mapping, default none
        Coordinates of the dimensions within a cell.
    labels : mapping of str to str, default none
        What a variable or coordinate is, with its unit: the label of its axis in figures.

    Returns
    -------
    xarray.Dataset

    Raises
    ------
    InputError
        If an array isn't laid out, a variable is in no cell, or two cells are at one place.

    Examples
    --------
    >>> cells = [({"seed": s}, {"loss": np.array([1.0, s])}) for s in range(3)]
    >>> data = layout(cells, {"loss": "step"}, over=["seed"], coords={"step": [0, 10]})
    >>> data.loss.dims, data.loss.sel(seed=2, step=10).item()
    (('seed', 'step'), 2.0)
    """
    arrays = {name for _, held in cells for name in held}
    _require_alike(arrays, variables)
    laid = {name: _laid(name, within.split(), over, cells) for name, within in variables.items()}
    # A variable may be at places where another has no cell: all places are kept.
    data = xr.Dataset(laid, {name: list(values) for name, values in (coords or {}).items()})
    # In the order of the cells, not of the first variable that has them.
    data = data.reindex({key: _values(key, cells) for key in over if key in data.dims})
    for name, label in (labels or {}).items():
        data[name].attrs["long_name"] = label
    return data


def _laid(name: str, within: list[str], over: Sequence[str], cells: Cells) -> xr.DataArray:
    holding = [(config, held[name]) for config, held in cells if name in held]
    keys = [key for key in over if key in holding[0][0]]
    coords = {key: _values(key, holding) for key in keys}
    shape = tuple(len(values) for values in coords.values())
    places = [tuple(coords[key].index(config[key]) for key in keys) for config, _ in holding]
    require(
        len(set(places)) == len(places),
        f"the cells of {name} differ in what they are laid out over",
        f"two alike over {', '.join(keys) or 'nothing'}",
        "name another key of their configurations in `over`",
    )
    stacked = np.stack([np.asarray(values) for _, values in holding])
    whole = len(places) == np.prod(shape, dtype=int)
    sizes = (*shape, *stacked.shape[1:])
    laid = np.empty(sizes, stacked.dtype) if whole else np.full(sizes, np.nan)
    for place, values in zip(places, stacked, strict=True):
        laid[place] = values
    return xr.DataArray(laid, coords=coords, dims=[*keys, *within])


def _values(key: str, cells: Iterable[tuple[Mapping[str, Any], Any]]) -> list[Any]:
    return list(dict.fromkeys(config[key] for config, _ in cells if key in config))


def _require_alike(arrays: set[str], variables: Mapping[str, str]) -> None:
    left = sorted(arrays - variables.keys())
    rule = "every array of a cell is laid out"
    require(not left, rule, f"{', '.join(left)} left over", "name its dimensions in `variables`")
    absent = sorted(variables.keys() - arrays)
    rule = "a variable is an array of a cell"
    require(not absent, rule, ", ".join(absent), f"the cells have {', '.join(sorted(arrays))}")


def published(study: str | Path, over: Sequence[str], **rows: Any) -> xr.Dataset:
    """Read a study's published numbers from the CSV file beside its module.

    Lines that begin with ``#`` are comments: where the numbers come from and how they were read.

    Parameters
    ----------
    study : str or path
        The study's file, ``__file__``.
    over : sequence of str
        Columns that become dimensions, with their coordinates in the order of the file; the other
        columns are variables.
    **rows
        Only the rows in which a column has this value; the column is then left out, and so are
        those that are empty in all of these rows.

    Returns
    -------
    xarray.Dataset

    Raises
    ------
    InputError
        If the file is absent, lacks a column or a row, or has two rows at one place.
    """
    path = Path(study).with_suffix(".csv")
    rule = "published numbers are in a file beside the study"
    require(path.is_file(), rule, f"no {path}", "write it")
    frame = pd.read_csv(path, comment="#", skipinitialspace=True)
    absent = [name for name in [*over, *rows] if name not in frame]
    rule = "published numbers have the columns that are asked for"
    require(not absent, rule, f"{path} without {', '.join(absent)}", "add them")
    for name, value in rows.items():
        frame = frame.loc[frame[name] == value].drop(columns=name)
    rule = "published numbers have rows with what is asked for"
    require(len(frame) > 0, rule, f"{path} without {rows}", "add them")
    frame = frame.dropna(axis="columns", how="all").set_index(list(over))
    twice = frame.index[frame.index.duplicated()].tolist()
    rule = "published numbers have one row at each place"
    require(not twice, rule, f"{path} with {twice[:1]} twice", "leave one")
    order = {name: frame.index.unique(name).tolist() for name in over}
    return frame.to_xarray().reindex(order)
