"""Any table as a task."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from partwhole._checks import require
from partwhole.tasks._task import Task

if TYPE_CHECKING:
    import pandas as pd


def from_frame(
    frame: pd.DataFrame,
    components: Sequence[str],
    target: str | Sequence[str],
    split: str,
    *,
    train: Hashable = "train",
    title: str = "",
) -> Task:
    """Read a task from a table with one row for each combination (or observation).

    Parameters
    ----------
    frame : pandas.DataFrame
        The table; it is not modified.
    components : sequence of str
        Columns that name each row's component values, of any category type. The order of the
        values is that of the categories, else sorted, else that of appearance.
    target : str or sequence of str
        Numbers are taken as they are, several columns as several outputs. A column of two
        other labels becomes -1 and +1 in sorted order; one of more becomes an output for each
        label, +1 for the label and -1 for the others.
    split : str
        Column that says which rows are seen: booleans, or equal to `train`.
    train : hashable, keyword-only, default "train"
        The entry of `split` that marks training rows, when it is not boolean.
    title : str, keyword-only, default ""
        A name for people.

    Returns
    -------
    Task
        The rows in the table's order; duplicates are kept.

    Raises
    ------
    InputError
        When a column is missing or repeated, an entry is missing, or no row is for training.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame(
    ...     {"shape": list("ccss"), "colour": list("rbrb"), "label": [0.0, 1.0, 1.0, 2.0],
    ...      "split": ["train", "train", "train", "test"]}
    ... )
    >>> from_frame(table, ["shape", "colour"], "label", "split").n_values
    (2, 2)
    """
    targets = [target] if isinstance(target, str) else list(target)
    components = list(components)
    require(len(components) >= 1, "components must name a column", "none", "name at least one")
    for name in [*components, *targets, split]:
        found = int(sum(column == name for column in frame.columns))
        require(
            found == 1,
            "components, target and split must each name one column of the table",
            f"{name!r}, which {found or 'no'} columns bear; columns are "
            f"{', '.join(map(str, frame.columns))}",
            "rename the column or the argument",
        )
        missing = int(np.sum(frame[name].isna().to_numpy()))
        require(
            missing == 0,
            "every row needs a value in the columns used",
            f"{missing} missing in {name!r}",
            "drop or fill those rows first",
        )
    column: dict[str, pd.Series] = {name: frame[name] for name in [*components, *targets, split]}  # type: ignore[misc]
    coded = [_codes(column[name]) for name in components]
    outputs = [_targets(column[name]) for name in targets]
    return Task(
        np.stack([codes for codes, _ in coded], axis=1),
        outputs[0] if len(outputs) == 1 else np.column_stack(outputs),
        _training_rows(column[split], train),
        tuple(map(str, components)),
        tuple(values for _, values in coded),
        title,
    )


def _codes(column: pd.Series) -> tuple[np.ndarray, tuple[Hashable, ...]]:
    """Number a column's values: category order, else sorted, else in order of appearance."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.remove_unused_categories()
        return column.cat.codes.to_numpy(dtype=int), tuple(column.cat.categories.tolist())
    entries = column.to_numpy()
    try:
        codes, values = pd.factorize(entries, sort=True)
    except TypeError:
        codes, values = pd.factorize(entries)
    return codes.astype(int), tuple(np.asarray(values).tolist())


def _targets(column: pd.Series) -> np.ndarray:
    """Take numbers as they are and turn labels into -1 and +1."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return column.to_numpy(dtype=float)
    codes, values = _codes(column)
    require(
        len(values) >= 2,
        "a target of labels needs at least two of them",
        f"only {values[0] if values else None!r}",
        "check the target column",
    )
    if len(values) == 2:
        return 2.0 * codes - 1.0
    return 2.0 * np.eye(len(values))[codes] - 1.0


def _training_rows(column: pd.Series, train: Hashable) -> np.ndarray:
    import pandas as pd

    if pd.api.types.is_bool_dtype(column):
        chosen = column.to_numpy(dtype=bool)
    else:
        chosen = np.asarray([entry == train for entry in column], dtype=bool)
    require(
        bool(chosen.any()),
        f"the split column must mark training rows, as {train!r} or with booleans",
        "no such row; entries are " + ", ".join(sorted({str(entry) for entry in column})[:5]),
        "name the entry with train=",
    )
    return chosen
