"""Tables of conditions, with labels as they are, from what people hold them in."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partwhole._checks import InputError, require
from partwhole.recordings._tensors import is_tensor, tensor_to_numpy
from partwhole.tasks.table import TIMES, require_single_values

if TYPE_CHECKING:
    import pandas as pd

RULE = "conditions are a table, or labels of shape (n,) or (n, C)"
REMEDY = "pass a column for each component"
READ = "pass the names of files to partwhole.recordings.read"


def table_of(conditions: Any) -> pd.DataFrame:
    """Return conditions as a table, whose columns have text for names."""
    import pandas as pd

    require(
        not isinstance(conditions, str | bytes | Path), RULE, f"the text {str(conditions)!r}", READ
    )
    if not isinstance(conditions, pd.DataFrame | pd.Series) and hasattr(conditions, "to_pandas"):
        # Of a Dataset, the attribute is its variable of that name.
        shape = getattr(conditions, "shape", ())
        require(not isinstance(shape, tuple) or len(shape) <= 2, RULE, f"shape {shape}", REMEDY)
        conditions = conditions.to_pandas()
    if isinstance(conditions, Mapping):
        table = _of_columns(conditions)
    elif isinstance(conditions, pd.DataFrame):
        require(
            conditions.columns.nlevels == 1,
            "a column of the conditions has a single name",
            f"columns of {conditions.columns.nlevels} levels",
            "flatten them first",
        )
        table = conditions
    elif isinstance(conditions, pd.Series):
        name = "condition" if conditions.name is None else conditions.name
        table = conditions.reset_index(drop=True).to_frame(name)
    else:
        table = _of_rows(conditions)
    return table.set_axis([str(name) for name in table.columns], axis=1)


def _of_columns(columns: Mapping[Any, Any]) -> pd.DataFrame:
    import pandas as pd

    series = {name: series_of(column) for name, column in columns.items()}
    lengths = {name: None if column is None else len(column) for name, column in series.items()}
    require(
        len({*lengths.values()}) == 1 and None not in lengths.values(),
        "columns of conditions have one length",
        ", ".join(
            f"{name!r}: {'no column' if length is None else f'{length:,}'}"
            for name, length in lengths.items()
        )
        or "no column",
        "pass a label of each trial in each",
    )
    return pd.DataFrame(series)


def _of_rows(conditions: Any) -> pd.DataFrame:
    """Return the table of an array or list of labels, or of rows of labels."""
    import pandas as pd

    if isinstance(conditions, list | tuple) and conditions:
        if all(isinstance(row, Mapping) for row in conditions):
            return pd.DataFrame(list(conditions))
        if all(isinstance(row, list | tuple | np.ndarray) and np.ndim(row) for row in conditions):
            widths = sorted({len(row) for row in conditions})
            require(len(widths) == 1, RULE, f"rows of {widths[0]} to {widths[-1]} labels", REMEDY)
            # A column of its own type each: NumPy would turn all of them into text.
            rows = pd.DataFrame([list(row) for row in conditions])
            if len(rows.columns) > 1:
                return _numbered(dict(rows.items()))
            conditions = rows.iloc[:, 0]
    column = series_of(conditions)
    if column is not None:
        return column.to_frame("condition")
    array = as_labels(conditions)
    names = array.dtype.names
    if names and array.ndim == 1:
        return pd.DataFrame({name: series_of(array[name]) for name in names})
    is_matrix = array.ndim == 2 and array.size > 0 and array.dtype.kind != "V"
    require(is_matrix, RULE, f"shape {array.shape}", REMEDY)
    return _numbered(dict(enumerate(series_of(column) for column in array.T)))


def _numbered(columns: Mapping[Any, Any]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({f"component {c}": column for c, column in columns.items()})


def series_of(values: Any) -> pd.Series | None:
    """Return labels in one column, row or list as a column, or None if they are something else."""
    import pandas as pd

    if not isinstance(values, pd.Series) and hasattr(values, "to_pandas"):
        values = values.to_pandas()
    if isinstance(values, pd.Series):
        return values.reset_index(drop=True)
    if isinstance(values, pd.Index | pd.api.extensions.ExtensionArray):
        return pd.Series(values)
    if isinstance(values, list | tuple | range):
        # NumPy would turn numbers and missing entries among text into text.
        return pd.Series(list(values))
    array = as_labels(values)
    if array.ndim == 2 and 1 in array.shape:  # a column or row of MATLAB
        array = array.reshape(-1)
    if array.ndim != 1 or array.dtype.kind == "V":
        return None
    if isinstance(array, np.ma.MaskedArray):
        hidden, array = np.ma.getmaskarray(array), array.data.astype(object)
        array[hidden] = None
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "replace")
    # Pandas numbers no entries of another byte order or of more than 64 bits.
    kind = np.dtype(float) if array.dtype.char == "g" else array.dtype.newbyteorder("=")
    return pd.Series(np.ascontiguousarray(array, dtype=kind)).infer_objects()


def as_labels(values: Any) -> np.ndarray:
    """Return values as an array of NumPy, without axes if they are none."""
    if is_tensor(values):
        return tensor_to_numpy(values)
    try:
        return np.asanyarray(values)
    except ValueError:
        return np.empty(())


def labels_of(column: Any, name: str) -> Any:
    """Return a column of labels: text, numbers, booleans or categories; dates as text."""
    import pandas as pd

    require_single_values(column, name)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column
    kind = pd.api.types.infer_dtype(column, skipna=True)
    require(
        kind != "complex",
        "labels are text, numbers, booleans or categories",
        f"complex numbers in {name}",
        "convert them to text",
    )
    if kind in TIMES:
        return column.astype(str).where(column.notna(), None)
    if pd.api.types.is_float_dtype(column):
        infinite = int(np.isinf(column.to_numpy(dtype=float, na_value=np.nan)).sum())
        remedy = "set them to NaN, and pass missing='drop'"
        require(not infinite, "labels are finite", f"{infinite} infinite in {name}", remedy)
    return column


def require_columns(names: Sequence[Hashable], table: pd.DataFrame) -> None:
    """Require that each of some names is that of one column."""
    for name in names:
        count = int(sum(column == name for column in table.columns))
        if count != 1:
            listed = ", ".join(map(str, table.columns[:20]))
            near = [] if count else get_close_matches(str(name), map(str, table.columns), 1)
            remedy = f"did you mean {near[0]!r}?" if near else "rename the column or the argument"
            if "," in str(name):
                remedy = "name columns one by one, without commas"
            raise InputError(
                "a column of the conditions is named by one of its names; got "
                f"{name!r}, which {count or 'no'} columns have; columns are {listed}; "
                f"{remedy}"
            )


def column_of(role: str, given: Any, table: pd.DataFrame) -> Any:
    """Return the column of groups or sessions, by its name or from an array."""
    if given is None:
        return None
    if isinstance(given, str):
        require_columns([given], table)
        return table[given]
    column = series_of(given)
    require(
        column is not None and len(column) == len(table),
        f"{role} are the name of a column, or one entry for each trial",
        f"shape {np.shape(as_labels(given))}" if column is None else f"{len(column)} entries",
        f"pass one for each of {len(table)} trials",
    )
    return column
