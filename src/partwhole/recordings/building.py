"""Recordings from arrays and tables, of NumPy, pandas, xarray or torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Bool, Float

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole.recordings._labels import column_of, labels_of, require_columns, table_of
from partwhole.recordings._numbers import numeric
from partwhole.recordings.recording import Recording
from partwhole.tasks.table import require_single_values, value_codes

if TYPE_CHECKING:
    import pandas as pd

MOST_CONDITIONS = 20_000
# Above this share of trials with a value of its own, a column numbers the trials or measures
# something; with so few trials it may still name conditions.
SHARE_OF_CONDITIONS = 0.9
FEW_TRIALS = 20


@door
def from_trials(
    responses: Any,
    conditions: Any,
    *,
    components: Sequence[str] | None = None,
    groups: Any = None,
    sessions: Any = None,
    times: Float[np.ndarray, " t"] | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
    trial_axis: int = 0,
) -> Recording:
    """Return a recording of responses and a table of conditions, with labels as they are.

    Parameters
    ----------
    responses : array or table, shape (n, p) or (n, p, t)
        A row for each trial: spike counts, voxels, activations. An array of NumPy, a table of
        pandas, polars or Arrow, an array of xarray (a coordinate of its third axis gives the
        times), a sparse matrix, or a tensor of torch, on any device, with gradients or of half
        precision. NaN where a neuron was not recorded in a session.
    conditions : table, mapping or array, shape (n,) or (n, C)
        The labels of each trial: a table, columns by name, a list of rows, or an array with a
        column for each component. Categories keep their order, other values are sorted. Dates
        become text.
    components : sequence of str, keyword-only, optional
        Columns of the table that name the condition; by default all but those of `groups` and
        `sessions`. Columns with one value in all trials are left out, and noted.
    groups : column name or array, shape (n,), keyword-only, optional
        Runs or blocks, whose trials may share noise. Measures then multiply trials of different
        groups alone.
    sessions : column name or array, shape (n,), keyword-only, optional
        Sessions, where not all neurons were recorded in all of them.
    times : float array, shape (t,), keyword-only, optional
    missing : {"refuse", "drop"}, keyword-only, default "refuse"
        What to do with trials that lack a label, or the response of a neuron that most trials of
        the session have. Responses of neurons that most trials of a session lack are dropped too.
    trial_axis : int, keyword-only, default 0
        The axis of responses that counts the trials, often the last in MATLAB. The others keep
        their order: neurons, then times.

    Returns
    -------
    Recording

    Raises
    ------
    InputError
        For responses that are not real numbers, tables of another length, columns that are not
        there or have one name, labels that are lists, complex or infinite, missing entries,
        columns with a value of its own in nearly every trial, more than 20,000 conditions, and what `Recording` refuses.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"shape": list("ddss") * 2, "colour": list("rbrb") * 2, "run": [1] * 4 + [2] * 4})
    >>> from_trials(np.random.default_rng(0).normal(size=(8, 5)), table, groups="run")
    Recording(8 trials of 5 neurons, 2 groups, 4 conditions: shape (2) x colour (2))
    """  # noqa: E501
    is_dataset = hasattr(responses, "data_vars")  # of xarray
    rule, remedy = "responses are a DataArray", "choose one of its variables"
    require(not is_dataset, rule, "a Dataset", remedy)
    array, own_times = numeric(responses, trial_axis)
    table = table_of(conditions)
    _require_trials(array.shape, len(table), trial_axis)
    _require_one_order(responses, conditions)
    parts = _roles(table, components, {"groups": groups, "sessions": sessions})
    array, parts, notes = _complete(array, parts, missing)
    notes += _passed_twice(parts)
    parts, constant = _varying(parts)
    notes += constant
    chosen = [name for role, name in parts if role == "component"]
    codes, values = zip(*(value_codes(parts["component", name]) for name in chosen), strict=True)
    coded = np.column_stack(codes)
    _require_few_conditions(coded, chosen)
    others = {role: value_codes(parts[role, ""]) for role, name in parts if not name}
    group, group_values = others.get("groups", (None, ()))
    session, session_values = others.get("sessions", (None, ()))
    return Recording(
        array,
        coded,
        tuple(chosen),
        tuple(values),
        group,
        session,
        own_times if times is None else times,
        notes,
        group_values,
        session_values,
    )


def _require_one_order(responses: Any, conditions: Any) -> None:
    """Refuse two tables of pandas with the same names of rows in another order."""
    import pandas as pd

    frames = (pd.DataFrame, pd.Series)
    if not (isinstance(responses, frames) and isinstance(conditions, frames)):
        return
    ours, theirs = responses.index, conditions.index
    apart = len(ours) == len(theirs) and not ours.equals(theirs)
    require(
        not (apart and ours.is_unique and len(ours.symmetric_difference(theirs)) == 0),
        "responses and conditions have their trials in one order",
        "the same index in two orders",
        "pass conditions.loc[responses.index], or reset both indices",
    )


def _require_trials(shape: tuple[int, ...], n_conditions: int, trial_axis: int) -> None:
    """Require as many trials as conditions, and name the axis that has as many."""
    if shape[0] == n_conditions:
        return
    # Here trials come first; as they were passed, `trial_axis` did.
    lengths = [*shape[1:]]
    place = trial_axis % len(shape)
    lengths.insert(place, shape[0])
    others = [axis for axis, length in enumerate(lengths) if length == n_conditions]
    raise InputError(
        "responses and conditions have a row for each trial; "
        f"got {shape[0]:,} trials along axis {place} of responses of shape {tuple(lengths)}, and "
        f"{n_conditions:,} conditions; "
        + (
            f"pass trial_axis={others[0]}, which has {n_conditions:,}"
            if others
            else "pass both in the same order of trials"
        )
    )


def _roles(
    table: pd.DataFrame, components: Sequence[str] | None, others: dict[str, Any]
) -> dict[tuple[str, str], pd.Series]:
    """Return columns by role and, of components, by name."""
    used = {given for given in others.values() if isinstance(given, str)}
    names = [name for name in table.columns if name not in used]
    chosen = names if components is None else list(components)
    rule = "a condition has a component or more"
    require(len(chosen) > 0, rule, "no column", "name one or more")
    require_columns(chosen, table)
    require(
        len({*chosen}) == len(chosen),
        "components are different columns",
        ", ".join(map(repr, chosen)),
        "name a column once",
    )
    for name, column in table[chosen].items():
        require_single_values(column, name)
    parts = {("component", name): labels_of(table[name], f"component {name!r}") for name in chosen}
    for role, given in others.items():
        column = column_of(role, given, table)
        if column is not None:
            parts[role, ""] = labels_of(column, role)
    return parts


def _passed_twice(parts: dict[tuple[str, str], pd.Series]) -> tuple[str, ...]:
    """Return a note for each component that is the same column as the groups or the sessions."""
    others = {role: column.to_numpy() for (role, name), column in parts.items() if not name}
    return tuple(
        f"component {name!r} is the same as the {role}: if it is none, pass {role}={name!r}"
        for (part, name), column in parts.items()
        for role, array in others.items()
        if part == "component" and np.array_equal(column.to_numpy(), array)
    )


def _varying(
    parts: dict[tuple[str, str], pd.Series],
) -> tuple[dict[tuple[str, str], pd.Series], tuple[str, ...]]:
    """Return columns without components of a single value, and a note for each of these.

    No two conditions differ in them. If no component has more, all are kept, for the error.
    """
    is_constant = {
        part: part[0] == "component" and column.nunique() == 1 for part, column in parts.items()
    }
    n_components = sum(role == "component" for role, _ in parts)
    if sum(is_constant.values()) == n_components:
        return parts, ()
    kept = {part: column for part, column in parts.items() if not is_constant[part]}
    return kept, tuple(one_value(name) for (_, name), alone in is_constant.items() if alone)


def one_value(name: str) -> str:
    """Return that a component was left out, as all trials have one value of it."""
    return f"{name} has one value in all trials and was left out"


def _complete(
    array: np.ndarray, parts: dict[tuple[str, str], pd.Series], missing: str
) -> tuple[np.ndarray, dict[tuple[str, str], pd.Series], tuple[str, ...]]:
    """Return the trials that are complete, and a note if some are not."""
    keep = np.ones(len(array), dtype=bool)
    for (role, name), column in parts.items():
        present = column.notna().to_numpy(dtype=bool)
        require(
            missing == "drop" or present.all(),
            "every trial has a label in the columns used",
            f"{int((~present).sum())} without one in {f'{role} {name!r}' if name else role}",
            "pass missing='drop' to leave these trials out",
        )
        keep &= present
    if missing != "drop":
        return array, parts, ()
    is_nan, notes = np.reshape(np.isnan(array), (*array.shape[:2], -1)), []
    missing_in = np.any(is_nan, axis=2)
    recorded = _recorded(missing_in, parts.get(("sessions", "")))
    few = ~recorded.any(axis=0) & ~missing_in.all(axis=0)
    require(
        not few.any(),
        "a neuron has responses in half of the trials of a session, or more",
        f"{int(few.sum())} with fewer, the first number {int(few.argmax())}",
        "leave these neurons out, or name the sessions",
    )
    keep &= ~(missing_in & recorded).any(axis=1)
    is_complete = bool(keep.any() and recorded.any())
    require(is_complete, "a trial is complete", "none that is", "look where responses are NaN")
    if not keep.all():
        notes.append(f"{int(np.sum(~keep))} of {len(keep)} trials left out, with missing entries")
        array, recorded, is_nan = array[keep], recorded[keep], is_nan[keep]
        parts = {part: column.loc[keep] for part, column in parts.items()}
    scarce = np.logical_not(np.all(is_nan, axis=2) | recorded)
    if scarce.any():
        n = int(scarce.any(axis=0).sum())
        notes.append(
            f"responses of {n:,} neuron{'s' * (n > 1)} left out, in sessions of which most trials "
            "lack them"
        )
        array = array.copy()
        array[scarce] = np.nan
    return array, parts, tuple(notes)


def _recorded(
    absent: Bool[np.ndarray, "n p"], sessions: pd.Series | None
) -> Bool[np.ndarray, "n p"]:
    """Return which neurons most trials of each trial's session have."""
    codes = np.zeros(len(absent), int) if sessions is None else value_codes(sessions)[0]
    recorded = np.empty_like(absent)
    for session in np.unique(codes):
        rows = codes == session
        recorded[rows] = np.mean(absent[rows], axis=0) <= 0.5
    return recorded


def _require_few_conditions(coded: np.ndarray, names: Sequence[str]) -> None:
    """Refuse columns that number the trials, or measure something, in place of labels."""
    n = len(coded)
    lengths = [len(np.unique(column)) for column in coded.T]
    most = SHARE_OF_CONDITIONS * n
    if n <= FEW_TRIALS or np.prod(np.array(lengths, dtype=float)) <= min(most, MOST_CONDITIONS):
        return
    n_conditions = len(np.unique(coded, axis=0))
    many = [repr(name) for name, length in zip(names, lengths, strict=True) if length > most]
    where = f"column{'s' * (len(many) > 1)} {', '.join(many)}"
    remedy = "leave such columns out of components=, or bin their numbers first"
    if len(many) == 1:
        remedy = "leave it out of components=, or bin its numbers first"
    if len(many) == len(names):
        where = "only columns" if len(many) > 1 else f"only column {many[0]}"
        remedy = (
            "if these are the responses, pass them first, else name the columns of the condition "
            "with components="
        )
    require(
        not many or n_conditions <= most,
        "a condition has two trials or more",
        f"{where} with a value of its own in nearly every trial",
        remedy,
    )
    require(
        n_conditions <= MOST_CONDITIONS,
        f"a recording has at most {MOST_CONDITIONS:,} conditions",
        f"{n_conditions:,} in {n:,} trials",
        "name the columns of the condition with components=, or bin numbers first",
    )
