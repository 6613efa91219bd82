"""Any table as a task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from decimal import Decimal
from numbers import Real as RealNumber
from typing import TYPE_CHECKING

import numpy as np

from partwhole._checks import require
from partwhole._door import door
from partwhole.tasks._task import Task

if TYPE_CHECKING:
    import pandas as pd

# What pandas calls columns of times, which are neither numbers nor labels until one says which.
TIMES = ("date", "datetime", "datetime64", "timedelta", "timedelta64", "period", "time", "interval")


@door
def from_frame(
    frame: pd.DataFrame,
    components: Sequence[str],
    target: str | Sequence[str],
    split: str,
    *,
    train: Hashable = "train",
    title: str = "",
) -> Task:
    """Return a task from a table with one row for each combination (or observation).

    Parameters
    ----------
    frame : pandas.DataFrame
        The table; it is not modified.
    components : sequence of str
        Columns that name each row's component values, of any category type. The order of the
        values is that of the categories, else sorted, else that of appearance.
    target : str or sequence of str
        Numbers are taken as they are, 0 and 1 too; several columns are several outputs. A
        column of two labels (text, booleans or categories) becomes -1 and +1 in sorted order;
        one of more becomes an output for each label, +1 for the label and -1 for the others.
    split : str
        Column that says which rows are seen: True, or equal to `train`. Every other row counts
        as held out, whatever its entry.
    train : hashable, keyword-only, default "train"
        The entry of `split` that marks training rows; a column of booleans marks them with
        True unless `train` is False.
    title : str, keyword-only, default ""
        A name for people.

    Returns
    -------
    Task
        The rows in the table's order; duplicates are kept.

    Raises
    ------
    InputError
        When `frame` is not a table, a column is missing, repeated or named for two parts, an
        entry is missing or a list, a target is neither a real number nor a label, or no row is
        for training.

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
    import pandas as pd

    require(
        isinstance(frame, pd.DataFrame),
        "frame is a pandas table",
        type(frame).__name__,
        "read it with pandas.read_csv first",
    )
    targets = [target] if isinstance(target, str) else list(target)
    components = list(components)
    require(len(components) >= 1, "components must name a column", "none", "name at least one")
    require(len(targets) >= 1, "target must name a column", "none", "name at least one")
    all_columns = [*components, *targets, split]
    name, times = Counter(all_columns).most_common(1)[0]
    require(
        times == 1,
        "each column has one role",
        f"{name!r} {'twice' if times == 2 else f'{times} times'}; "
        f"components {', '.join(map(str, components))}, target {', '.join(map(str, targets))}, "
        f"split {split}",
        "name it once, or copy the column under another name",
    )
    for name in all_columns:
        n_columns = int(sum(column == name for column in frame.columns))
        require(
            n_columns == 1,
            "components, target and split must each name one column of the table",
            f"{name!r}, which {n_columns or 'no'} columns have; columns are "
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
    column: dict[str, pd.Series] = {name: _inferred(frame[name]) for name in all_columns}  # type: ignore[misc]
    coded = [value_codes(column[name]) for name in components]
    outputs = [_targets(column[name]) for name in targets]
    return Task(
        np.stack([codes for codes, _ in coded], axis=1),
        outputs[0] if len(outputs) == 1 else np.column_stack(outputs),
        _training_rows(column[split], train),
        tuple(map(str, components)),
        tuple(values for _, values in coded),
        title,
    )


def require_single_values(column: pd.Series, name: Hashable) -> None:
    """Raise if an entry of a column of objects holds several values."""
    for entry in column if column.dtype == object else ():
        try:
            hash(entry)
        except TypeError:
            require(
                False,
                "every cell holds a single value",
                f"a {type(entry).__name__} in {name!r}",
                "spread it over columns, or turn it into text",
            )


def _inferred(column: pd.Series) -> pd.Series:
    """Return a column of objects with the type of its entries, which must be single values."""
    require_single_values(column, column.name)
    return column.infer_objects() if column.dtype == object else column


def value_codes(column: pd.Series) -> tuple[np.ndarray, tuple[Hashable, ...]]:
    """Return a column's values as numbers: category order, else sorted, else by appearance."""
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
    """Return numbers unchanged, and labels as -1 and +1."""
    import pandas as pd

    kind = pd.api.types.infer_dtype(column, skipna=False)
    unfit = {"complex": "complex numbers", **dict.fromkeys(TIMES, "times")}.get(kind)
    require(
        unfit is None,
        "targets are real numbers or labels",
        f"{unfit} in {column.name!r}",
        "convert them to numbers, or to text to use them as labels",
    )
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return column.to_numpy(dtype=float, copy=True)
    if column.dtype == object and all(map(_is_number, column)):
        return np.array([float(entry) for entry in column])
    codes, values = value_codes(column)
    require(
        len(values) >= 2,
        "a target of labels needs at least two of them",
        f"only {values[0] if values else None!r}",
        "check the target column",
    )
    if len(values) == 2:
        return 2.0 * codes - 1.0
    return 2.0 * np.eye(len(values))[codes] - 1.0


def _is_number(entry: object) -> bool:
    return isinstance(entry, RealNumber | Decimal) and not isinstance(entry, bool | np.bool_)


def _training_rows(column: pd.Series, train: Hashable) -> np.ndarray:
    import pandas as pd

    if pd.api.types.is_bool_dtype(column):
        is_train = column.to_numpy(dtype=bool) != (train is False)
    else:
        is_train = np.asarray([entry == train for entry in column], dtype=bool)
    require(
        bool(is_train.any()),
        f"the split column must mark training rows, as {train!r} or with booleans",
        "no such row; entries are " + ", ".join(sorted({str(entry) for entry in column})[:5]),
        "name the entry with train=",
    )
    return is_train
