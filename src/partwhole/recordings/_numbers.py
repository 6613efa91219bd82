"""Responses as floats, from arrays and tables of NumPy, pandas, xarray and torch."""

from __future__ import annotations

from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from partwhole._checks import InputError, require
from partwhole.recordings._labels import READ
from partwhole.recordings._tensors import is_tensor, tensor_to_numpy

RULE = "responses are real numbers"
FLOATS = "convert them to an array of floats"
NO_NUMBERS = {
    "c": (
        "complex numbers",
        "pass absolute values, or real and imaginary parts as neurons of their own",
    ),
    "b": ("True and False", "pass numbers, such as responses.astype(float)"),
    "U": ("text", FLOATS),
    "S": ("text", FLOATS),
    "m": ("durations", "divide by a unit first, such as np.timedelta64(1, 's')"),
    "M": ("dates", "subtract a date and divide by a unit first"),
    "V": ("records of several fields", "pass one field as numbers"),
}


def numeric(responses: Any, trial_axis: int = 0) -> tuple[np.ndarray, np.ndarray | None]:
    """Return responses as floats with trials first, and the times of their third axis, if any."""
    require(
        not isinstance(responses, str | bytes | Path), RULE, f"the text {str(responses)!r}", READ
    )
    labelled = hasattr(responses, "coords") and hasattr(responses, "dims")  # of xarray
    array = _real(_as_array(responses))
    require(
        -array.ndim <= trial_axis < array.ndim,
        "trial_axis is an axis of responses",
        f"{trial_axis} for shape {array.shape}",
        "count axes from 0",
    )
    times = None
    if labelled and array.ndim == 3:
        names = [*responses.dims]
        names.insert(0, names.pop(trial_axis))
        if names[2] in responses.coords:
            times = np.asarray(responses.coords[names[2]].values)
            times = times.astype(float) if times.dtype.kind in "iuf" else None
    return np.moveaxis(array, trial_axis, 0), times


def _as_array(responses: Any) -> Any:
    import pandas as pd

    if is_tensor(responses):
        return tensor_to_numpy(responses)
    if isinstance(responses, list | tuple):
        return [tensor_to_numpy(row) if is_tensor(row) else row for row in responses]
    if isinstance(responses, np.ma.MaskedArray):
        is_number = responses.dtype.kind in "iuf"
        hidden, data = np.ma.getmaskarray(responses), responses.data
        return np.where(hidden, np.nan, data) if is_number else data
    if hasattr(responses, "toarray"):  # a sparse matrix of SciPy
        return responses.toarray()
    if not isinstance(responses, pd.DataFrame | pd.Series):
        if hasattr(responses, "coords"):
            return responses.values
        if hasattr(responses, "to_pandas"):
            responses = responses.to_pandas()
    if isinstance(responses, pd.DataFrame):
        return _of_table(responses)
    return responses.to_numpy() if hasattr(responses, "to_numpy") else responses


def _of_table(table: Any) -> np.ndarray:
    """Return the numbers of a table's columns, which may have missing entries."""
    import pandas as pd

    array = np.empty(table.shape)
    for place, name in enumerate(table.columns):
        column = table.iloc[:, place]
        numbers = pd.api.types.is_numeric_dtype(column) and column.dtype.kind in "iuf"
        if not numbers:
            column = column.infer_objects()
            numbers = column.dtype.kind in "iuf"
        require(
            numbers,
            RULE,
            f"{pd.api.types.infer_dtype(column)} in column {name!r}",
            "leave it out, or move it to the conditions",
        )
        array[:, place] = column.to_numpy(dtype=float, na_value=np.nan)
    return array


def _real(responses: Any) -> np.ndarray:
    try:
        array = np.asarray(responses)
    except ValueError:
        rows = "rows of different lengths"
        raise InputError(f"{RULE}; got {rows}; pass rows of one length") from None
    if array.dtype == object and array.size:
        array = _unboxed(array)
    words, remedy = NO_NUMBERS.get(array.dtype.kind, (f"entries of type {array.dtype}", FLOATS))
    require(array.dtype.kind in "iuf", RULE, words, remedy)
    return array.astype(np.float64, copy=False)


def _unboxed(array: np.ndarray) -> np.ndarray:
    """Return an array of Python's numbers as floats; None is missing."""
    entries = array.ravel().tolist()
    strange = next(
        (
            entry
            for entry in entries
            if entry is not None and (isinstance(entry, bool) or not isinstance(entry, Real))
        ),
        None,
    )
    require(strange is None, RULE, f"objects, such as a {type(strange).__name__}", FLOATS)
    try:
        numbers = [np.nan if entry is None else float(entry) for entry in entries]
    except OverflowError:
        large = "a whole number too large for 64 bits"
        raise InputError(f"{RULE}; got {large}; pass them in a larger unit") from None
    return np.array(numbers).reshape(array.shape)
