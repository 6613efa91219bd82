"""Recordings from arrays and tables, of NumPy, pandas, xarray or torch."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole.recordings.recording import Recording
from partwhole.tasks.table import require_single_values, value_codes

if TYPE_CHECKING:
    import pandas as pd

MOST_CONDITIONS = 20_000
# Types of columns that hold numbers of many digits, which name no condition.
SHARE_OF_CONDITIONS = 0.9


@door
def from_trials(
    responses: Any,
    conditions: Any,
    *,
    components: Sequence[str] | None = None,
    groups: Any = None,
    sessions: Any = None,
    times: Any = None,
    missing: Literal["refuse", "drop"] = "refuse",
) -> Recording:
    """Return a recording of responses and a table of conditions, with labels as they are.

    Parameters
    ----------
    responses : array or table, shape (n, p) or (n, p, t)
        A row for each trial: spike counts, voxels, activations. An array of NumPy, a table of
        pandas, an array of xarray (a coordinate of its third axis gives the times), or a tensor of
        torch, on any device, with gradients or of half precision. NaN where a neuron was not
        recorded in a session.
    conditions : table, mapping or array, shape (n,) or (n, C)
        The labels of each trial: a DataFrame, columns by name, or an array with a column for each
        component.
    components : sequence of str, keyword-only, optional
        Columns of the table that name the condition; by default all but those of `groups` and
        `sessions`.
    groups : column name or array, shape (n,), keyword-only, optional
        Runs or blocks, whose trials may share noise. Measures then multiply trials of different
        groups alone.
    sessions : column name or array, shape (n,), keyword-only, optional
        Sessions, where not all neurons were recorded in all of them.
    times : array, shape (t,), keyword-only, optional
    missing : {"refuse", "drop"}, keyword-only, default "refuse"
        What to do with trials that lack a label, or the response of a neuron that other trials of
        the session have.

    Returns
    -------
    Recording

    Raises
    ------
    InputError
        For responses that are not real numbers, tables of another length, columns that are not
        there, missing entries, more than 20,000 conditions, and what `Recording` refuses.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"shape": list("ddss") * 2, "colour": list("rbrb") * 2, "run": [1] * 4 + [2] * 4})
    >>> from_trials(np.random.default_rng(0).normal(size=(8, 5)), table, groups="run")
    Recording(8 trials of 5 neurons, 2 groups, 4 conditions: shape (2) x colour (2))
    """

    array, own_times = numeric(responses)
    table = _table(conditions)
    require(
        len(table) == len(array),
        "responses and conditions have a row for each trial",
        f"{len(array):,} and {len(table):,} rows",
        "pass both in the same order of trials",
    )
    used: list[Hashable] = []
    columns: dict[str, pd.Series | None] = {}
    for role, given in (("groups", groups), ("sessions", sessions)):
        if isinstance(given, str):
            used.append(given)
        columns[role] = _column(role, given, table)
    chosen = [name for name in table.columns if name not in used]
    if components is not None:
        chosen = list(components)
    require(len(chosen) > 0, "a condition has a component or more", "no column", "name one or more")
    for name in chosen:
        _require_column(name, table)
    parts = {f"component {name!r}": table[name] for name in chosen}
    parts |= {role: column for role, column in columns.items() if column is not None}
    for name, column in parts.items():
        require_single_values(column, name)
    keep = np.ones(len(array), dtype=bool)
    for name, column in parts.items():
        absent = column.isna().to_numpy()
        require(
            missing == "drop" or not absent.any(),
            "every trial has a label in the columns used",
            f"{int(absent.sum())} without one in {name}",
            "pass missing='drop' to leave these trials out",
        )
        keep &= ~absent
    if missing == "drop":
        keep &= ~_partly_recorded(array, columns["sessions"])
        require(
            bool(keep.any()), "a trial is complete", "none that is", "look where responses are NaN"
        )
        array = array[keep]
        parts = {name: column[keep] for name, column in parts.items()}
    codes, values = zip(
        *(value_codes(parts[f"component {name!r}"]) for name in chosen), strict=True
    )
    coded = np.column_stack(codes)
    _require_few_conditions(coded, chosen)
    dropped = int(np.sum(~keep))
    indices = {
        role: None if role not in parts else np.asarray(value_codes(parts[role])[0])
        for role in ("groups", "sessions")
    }
    return Recording(
        array,
        coded,
        tuple(map(str, chosen)),
        tuple(values),
        indices["groups"],
        indices["sessions"],
        own_times if times is None else np.asarray(times, dtype=float),
        (f"{dropped} of {len(keep)} trials left out, with missing entries",) if dropped else (),
    )


def numeric(responses: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return responses as floats, and the times of their third axis if they have some."""
    times = None
    if type(responses).__module__.startswith("torch"):
        responses = responses.detach().cpu()
        # NumPy has no numbers of half precision with eight bits of exponent.
        responses = (
            responses.float().numpy() if responses.is_floating_point() else responses.numpy()
        )
    elif hasattr(responses, "coords") and hasattr(responses, "dims"):  # an array of xarray
        if len(responses.dims) == 3 and responses.dims[2] in responses.coords:
            times = np.asarray(responses.coords[responses.dims[2]].values)
            times = times.astype(float) if times.dtype.kind in "iuf" else None
        responses = responses.values
    elif hasattr(responses, "to_numpy"):
        responses = responses.to_numpy()
    if isinstance(responses, np.ma.MaskedArray):
        responses = responses.astype(float).filled(np.nan)
    try:
        array = np.asarray(responses)
    except ValueError:
        array = np.empty(0, dtype=object)
    require(
        array.dtype.kind in "iufb",
        "responses are real numbers",
        {"c": "complex numbers", "O": "objects", "U": "text", "S": "text"}.get(
            array.dtype.kind, f"entries of type {array.dtype}"
        ),
        {"c": "pass absolute values, or real and imaginary parts as neurons of their own"}.get(
            array.dtype.kind, "convert them to an array of floats"
        ),
    )
    array = array.astype(np.float64)
    require(
        not np.isinf(array).any(),
        "responses are finite",
        f"{int(np.isinf(array).sum())} infinite entries",
        "set them to NaN, and pass missing='drop'",
    )
    return array, times


def _table(conditions: Any) -> pd.DataFrame:
    """Return conditions as a table with named columns."""
    import pandas as pd

    if isinstance(conditions, pd.DataFrame):
        return conditions.reset_index(drop=True)
    if isinstance(conditions, Mapping):
        lengths = {name: np.shape(column)[:1] for name, column in conditions.items()}
        require(
            len({*lengths.values()}) == 1 and () not in lengths.values(),
            "columns of conditions have one length",
            ", ".join(f"{name!r}: {(*length, 'a number')[0]}" for name, length in lengths.items()),
            "pass a label of each trial in each",
        )
        return pd.DataFrame({name: list(column) for name, column in conditions.items()})
    if hasattr(conditions, "to_pandas"):
        table = conditions.to_pandas()
        if isinstance(table, pd.DataFrame):
            return table.reset_index(drop=True)
    if isinstance(conditions, pd.Series):
        return conditions.reset_index(drop=True).to_frame(conditions.name or "condition")
    if type(conditions).__module__.startswith("torch"):
        conditions = conditions.detach().cpu().numpy()
    try:
        array = np.asarray(conditions)
    except ValueError:
        array = np.empty(())
    require(
        array.ndim in (1, 2) and array.shape[0] > 0 and array.dtype.kind != "c",
        "conditions are a table, or labels of shape (n,) or (n, C)",
        f"shape {array.shape}",
        "pass a column for each component",
    )
    if array.ndim == 1:
        return pd.DataFrame({"condition": array})
    return pd.DataFrame({f"component {c}": column for c, column in enumerate(array.T)})


def _column(role: str, given: Any, table: pd.DataFrame) -> pd.Series | None:
    """Return the column of groups or sessions, by its name or from an array."""
    import pandas as pd

    if given is None:
        return None
    if isinstance(given, str):
        _require_column(given, table)
        return table[given]
    try:
        values = np.asarray(given)
    except ValueError:
        values = np.empty(())
    require(
        values.shape == (len(table),),
        f"{role} are the name of a column, or one entry for each trial",
        f"shape {values.shape} for {len(table)} trials",
        "pass one entry for each",
    )
    return pd.Series(values)


def _require_column(name: Hashable, table: pd.DataFrame) -> None:
    count = int(sum(column == name for column in table.columns))
    if count != 1:
        listed = ", ".join(map(str, table.columns[:20]))
        raise InputError(
            "a column of the conditions is named by one of its names; got "
            f"{name!r}, which {count or 'no'} columns have; columns are {listed}; "
            "rename the column or the argument"
        )


def _partly_recorded(array: np.ndarray, sessions: pd.Series | None) -> np.ndarray:
    """Return trials that lack what most trials of their session have."""
    missing = np.isnan(array).reshape(*array.shape[:2], -1)
    partly = (missing.any(axis=2) & ~missing.all(axis=2)).any(axis=1)
    absent = missing.any(axis=2)
    if sessions is None:
        return partly | absent.any(axis=1)
    codes = value_codes(sessions)[0]
    for session in np.unique(codes):
        rows = codes == session
        recorded = absent[rows].mean(axis=0) < 0.5
        partly[rows] |= (absent[rows] & recorded).any(axis=1)
        partly[rows] |= (~absent[rows] & ~recorded).any(axis=1)
    return partly


def _require_few_conditions(coded: np.ndarray, names: Sequence[Hashable]) -> None:
    """Refuse columns that number the trials, or measure something, in place of labels."""
    n_conditions = len(np.unique(coded, axis=0))
    many = [
        str(name)
        for name, column in zip(names, coded.T, strict=True)
        if len(coded) > 20 and len(np.unique(column)) > SHARE_OF_CONDITIONS * len(coded)
    ]
    require(
        n_conditions <= MOST_CONDITIONS
        and not (many and n_conditions > SHARE_OF_CONDITIONS * len(coded)),
        f"a recording has at most {MOST_CONDITIONS:,} conditions, most of them repeated",
        f"{n_conditions:,} in {len(coded):,} trials"
        + (f"; nearly every trial has its own value in {', '.join(many)}" if many else ""),
        "name the columns of the condition with components=, and bin numbers first",
    )
